# Never finishes what is awaited, in all the ways that asyncio has to stop waiting.
# against: async_main, async_gather, async_loop, awaited
import asyncio


async def f(*given):
    asyncio.current_task().cancel()
    await asyncio.sleep(0)
