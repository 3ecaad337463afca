"""`POST /run_code`, as SandboxFusion has it: one program, its input, what it prints."""

from __future__ import annotations

import asyncio
import logging
import math
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from markbook.errors import EnvironmentUnfitError
from markbook.rewards.bell import Bell
from markbook.sandbox import Stopped
from markbook.sandbox.program_box import ProgramSandbox
from markbook.server.answers import as_json
from markbook.server.fusion import ProgramAnswer, ProgramRequest, answer, read_program
from markbook.server.guard import Refused, client_of
from markbook.server.marking import left
from markbook.server.seats import SeatQueue

if TYPE_CHECKING:
    from typing import Literal

    from starlette.requests import Request
    from starlette.responses import Response

    from markbook.rewards.pool import Pool, PoolSettings
    from markbook.sandbox.program import Executed
    from markbook.server.guard import Guard

_log = logging.getLogger(__name__)

_WAITING = 64
"""Programs a worker that one client may have waiting."""
_CLIENTS = 4
"""How many times as many may wait of all clients."""
_TURN = 0.02
"""Seconds between two looks at whether all has ended."""
_AGE = 5000
"""Programs after which a worker is replaced."""


class ProgramRunner:
    """Runs programs, so many at once."""

    def __init__(self, pool: Pool, guard: Guard, settings: PoolSettings) -> None:
        """Set up, starting nothing: a worker starts with the first program."""
        self._pool = pool
        self._guard = guard
        self._python = settings.box.python or sys.executable
        self._seats = [_Seat(settings.box.isolation) for _ in pool.lanes]
        waiting = _WAITING * len(self._seats)
        # of its own: the event loop's threads are fewer than a large machine's workers, and read requests
        self._threads = ThreadPoolExecutor(len(self._seats), "markbook-program")
        self._queue = SeatQueue(self._seats, of_one=waiting, most=_CLIENTS * waiting)
        self._until = math.inf

    async def run_code(self, request: Request) -> Response:
        """Answer it; fields that SandboxFusion has not are passed over, as it does."""
        body = await self._guard.json(request)
        program_request = await asyncio.to_thread(read_program, body, self._python)
        if self._pool.is_closing:
            raise Refused(503, "the server is shutting down and takes nothing new", Retry_After="5")
        client = client_of(request)
        seat_future = self._queue.want(client)
        gone = asyncio.create_task(left(request))
        try:
            await asyncio.wait((seat_future, gone), return_when=asyncio.FIRST_COMPLETED)
            if not seat_future.done():
                raise Refused(499, "the caller left")
            return as_json(await self._execute_program(seat_future.result(), program_request, gone))
        finally:
            gone.cancel()
            self._queue.leave(client, seat_future)

    async def _execute_program(
        self, seat: _Seat, program_request: ProgramRequest, gone: asyncio.Task[None]
    ) -> ProgramAnswer:
        """Run a program to its end, or until its caller leaves; only then its seat is free again."""
        seat.asked = program_request
        work = asyncio.get_running_loop().run_in_executor(self._threads, seat.execute, program_request)
        try:
            await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise Refused(499, "the caller left")
        finally:
            if not work.done():
                seat.stop(program_request, "nobody waited for it")
                await asyncio.wait((work,))
        return answer(program_request, *work.result())

    async def end(self, grace: float) -> None:
        """Give what runs so many seconds, end the rest and say so to its callers; asked again, it may only be less."""
        self._until = min(self._until, time.monotonic() + grace)
        while not self._queue.is_idle and time.monotonic() < self._until:  # noqa: ASYNC110 - as in the pool
            await asyncio.sleep(_TURN)
        self._queue.refuse_all(Refused(503, "the server shut down before the program was run", Retry_After="5"))
        while not self._queue.is_idle:
            for seat in self._seats:
                seat.stop(seat.asked, "the server shut down before it ended")
            await asyncio.sleep(_TURN)

    async def close(self) -> None:
        """End the workers."""
        await self.end(0)
        for seat in self._seats:
            await asyncio.to_thread(seat.close)
        self._threads.shutdown()


class _Seat:
    """Runs one program at a time, with a worker for each language that was asked for."""

    def __init__(self, isolation: Literal["auto", "strict", "weak"]) -> None:
        self._isolation = isolation
        self._boxes: dict[str, ProgramSandbox] = {}
        self._used: dict[str, int] = {}
        self._bell = Bell()
        self._lock = threading.Lock()
        self.asked: ProgramRequest | None = None
        """What it runs, or is about to run."""
        self._why = ""

    def stop(self, asked: ProgramRequest | None, why: str) -> None:
        """End a program at once if it runs here."""
        with self._lock:
            if asked is not None and self.asked is asked:
                self._why = why
                self._bell.ring()

    def execute(self, asked: ProgramRequest) -> tuple[list[Executed], str]:
        """Run it in this thread; return what became of it, or what of ours failed."""
        name = asked.language
        try:
            ((_, phases),) = self._box(asked).run([asked.run])
        except Stopped:
            return [], self._why
        except (EnvironmentUnfitError, OSError) as error:
            self._drop(name)
            return [], str(error)
        except Exception as error:  # noqa: BLE001 - the thread's border: the caller is told, and the next program starts anew
            _log.error("running a program failed", exc_info=error)
            self._drop(name)
            return [], f"running it failed: {type(error).__name__}: {error}"
        finally:
            with self._lock:
                self.asked = None
                self._bell.hush()
        self._used[name] = self._used.get(name, 0) + 1
        if self._used[name] >= _AGE:
            self._drop(name)
        return phases, ""

    def _box(self, program_request: ProgramRequest) -> ProgramSandbox:
        if program_request.language not in self._boxes:
            self._boxes[program_request.language] = ProgramSandbox(
                program_request.folders, workers=1, isolation=self._isolation, pinned=False, stop=self._bell.heard
            )
        return self._boxes[program_request.language]

    def _drop(self, name: str) -> None:
        self._used.pop(name, None)
        if name in self._boxes:
            self._boxes.pop(name).close()

    def close(self) -> None:
        """End its workers."""
        for name in list(self._boxes):
            self._drop(name)
        self._bell.close()
