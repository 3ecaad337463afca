# Computes with asyncio.
# separated: pass
# beside: pass
import asyncio


async def square(k):
    await asyncio.sleep(0)
    return k * k


async def main(n):
    return list(await asyncio.gather(*map(square, range(n))))


def f(n):
    return asyncio.run(main(n))
