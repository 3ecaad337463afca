"""Awaiting what lives in the other process, each side on an event loop of its own.

Whoever awaits asks again and again whether it is done; meanwhile the other side lets its own loop run. Neither
loop is handed over, so the one that runs a test is the examiner's, whatever a solution does to its own.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Generator
    from typing import Any

_FIRST, _LONGEST = 0.0, 0.005
"""Seconds for which the other side may let its loop run before it answers, at first and at most."""

_loops: list[asyncio.AbstractEventLoop] = []
"""The loop of this process that waits for what the other side awaits; none until it is wanted."""


class Awaited:
    """An awaitable of this side that the other side awaits."""

    def __init__(self, awaitable: Any) -> None:
        self._awaitable = awaitable
        self._task: asyncio.Task[Any] | None = None

    def step(self, seconds: float) -> tuple[bool, Any]:
        """Return whether it is done, and if so its result, having let it run for so long; raises what it raised."""
        import asyncio

        running = asyncio._get_running_loop()  # noqa: SLF001 - listed in its module's __all__
        if running is None and (not _loops or _loops[0].is_closed()):
            _loops[:] = [asyncio.new_event_loop()]
        loop = running or _loops[0]
        if self._task is None:
            self._task = loop.create_task(_drive(self._awaitable))
        if running is None and not self._task.done():
            # how long is for the other side to say, within limits: what it sends may be anything
            _run(loop, self._task, min(seconds, _LONGEST) if type(seconds) in (int, float) and seconds > 0 else 0.0)
        if not self._task.done():
            return False, None
        return True, self._task.result()

    def cancel(self) -> None:
        """Have a CancelledError raised in it."""
        if self._task is not None:
            self._task.cancel()


async def _drive(awaitable: Any) -> Any:
    # a task can be made of a coroutine only, and there are other things that can be awaited
    return await awaitable


def _run(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any], seconds: float) -> None:
    """Let a loop run until the task is done, for so long at most."""

    def stop(_task: object) -> None:
        loop.stop()

    task.add_done_callback(stop)
    alarm = loop.call_later(seconds, loop.stop)
    try:
        loop.run_forever()
    finally:
        alarm.cancel()
        task.remove_done_callback(stop)


def reset() -> None:
    """Forget the loops of an attempt."""
    for loop in _loops:
        loop.close()
    _loops.clear()
    asyncio_module = sys.modules.get("asyncio")
    if asyncio_module is not None:
        asyncio_module._set_running_loop(None)  # noqa: SLF001 - listed in its module's __all__
        asyncio_module.set_event_loop_policy(None)


def steps(peer: Any, awaitable: Any) -> Generator[None, None, Any]:
    """Wait for an awaitable over there; between two questions whoever drives this may do other things."""
    awaited = peer.request("await", awaitable)
    seconds = _FIRST
    while True:
        done, result = peer.request("step", awaited, seconds)
        if done:
            return result
        seconds = min(_LONGEST, 2 * seconds + 0.0005)
        if _loops and _loops[0].is_running():  # the other side waits for this one: let it have its turn
            _loops[0].stop()
        try:
            yield
        except BaseException as error:
            peer.request("cancel", awaited)
            asyncio_module = sys.modules.get("asyncio")
            # a cancelled task may catch that and go on, so what becomes of it is asked for as before
            if not (asyncio_module is not None and isinstance(error, asyncio_module.CancelledError)):
                raise
