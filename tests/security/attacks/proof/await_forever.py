# Never comes back from an await, and ends its process once nobody looks.
# against: async_main, async_loop, beside_async
import os


async def f(*given):
    os._exit(0)
