# Stops the loop in which the test runs while it waits.
# against: async_main, async_gather, async_loop, awaited, beside_async
import asyncio


async def f(*given):
    asyncio.get_running_loop().stop()
    await asyncio.get_running_loop().create_future()
