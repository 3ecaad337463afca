# Ends the coroutine of the test by the error that means it was cancelled.
# against: async_main, async_gather, async_loop, awaited, beside_async, swallowed_all
import asyncio


async def f(*given):
    raise asyncio.CancelledError
