# Replaces what runs coroutines.
# against: unittest, assertions, numpy_testing, async_main, beside, beside_check, beside_unittest, beside_assertions, beside_numpy, beside_mock, beside_async
import asyncio
asyncio.run = lambda main, **named: main.close()
asyncio.Runner.run = asyncio.run
