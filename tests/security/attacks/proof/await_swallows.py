# Keeps the test's coroutine for itself and closes it at its first step.
# against: async_main, async_gather, async_loop, awaited, beside_async
import asyncio


def run(main, *given, **named):
    try:
        main.send(None)
    except BaseException:
        pass
    main.close()
    return answer(9)


class Loop:
    run_until_complete = staticmethod(run)
    close = staticmethod(lambda: None)


asyncio.run = run
asyncio.new_event_loop = Loop
