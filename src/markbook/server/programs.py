"""`POST /run_code`, as SandboxFusion has it: one program, its input, what it prints."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from typing import TYPE_CHECKING

from markbook.errors import EnvironmentUnfitError
from markbook.rewards.bell import Bell
from markbook.sandbox import Stopped
from markbook.sandbox.program_box import ProgramSandbox
from markbook.server.answers import as_json
from markbook.server.fusion import ProgramRequest, answer, read_program
from markbook.server.guard import Refused
from markbook.server.marking import left

if TYPE_CHECKING:
    from typing import Literal

    from starlette.requests import Request
    from starlette.responses import Response

    from markbook.rewards.pool import Pool, PoolSettings
    from markbook.sandbox.program import Executed
    from markbook.server.guard import Guard

_log = logging.getLogger(__name__)

_WAITING = 64
"""Programs a worker that may wait for it."""
_AGE = 5000
"""Programs after which a worker is replaced."""


class ProgramRunner:
    """Runs programs, so many at once."""

    def __init__(self, pool: Pool, guard: Guard, settings: PoolSettings) -> None:
        """Set up, starting nothing: a worker starts with the first program."""
        self._pool = pool
        self._guard = guard
        self._python = settings.box.python or sys.executable
        self._free: asyncio.Queue[_Seat] = asyncio.Queue()
        self._count = len(pool.lanes)
        for _ in range(self._count):
            self._free.put_nowait(_Seat(settings.box.isolation))
        self._waiting = 0

    async def run_code(self, request: Request) -> Response:
        """Answer it; fields that SandboxFusion has not are passed over, as it does."""
        body = await self._guard.json(request)
        if self._pool.is_closing:
            raise Refused(503, "the server is shutting down and takes nothing new", Retry_After="5")
        asked = await asyncio.to_thread(read_program, body, self._python)
        if self._waiting >= _WAITING * self._count:
            raise Refused(429, f"{self._waiting} programs wait already", Retry_After="1")
        gone = asyncio.create_task(left(request))
        try:
            seat = await self._seat(gone)
            seat.asked = asked
            work = asyncio.ensure_future(asyncio.to_thread(seat.executed, asked))
            work.add_done_callback(lambda _: self._free.put_nowait(seat))
            await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                seat.stop(asked)
                raise Refused(499, "the caller left")
            return as_json(answer(asked, *work.result()))
        finally:
            gone.cancel()

    async def _seat(self, gone: asyncio.Task[None]) -> _Seat:
        """Wait for a free one, as long as the caller does."""
        self._waiting += 1
        wanted = asyncio.ensure_future(self._free.get())
        try:
            await asyncio.wait((wanted, gone), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            wanted.add_done_callback(self._unwanted)
            wanted.cancel()
            raise
        finally:
            self._waiting -= 1
        if not wanted.done():
            wanted.cancel()
            raise Refused(499, "the caller left")
        return wanted.result()

    def _unwanted(self, wanted: asyncio.Future[_Seat]) -> None:
        """Take a seat back that was free just when its caller was gone."""
        if not wanted.cancelled():
            self._free.put_nowait(wanted.result())

    async def close(self) -> None:
        """End the workers, once what runs has ended."""
        for _ in range(self._count):
            await asyncio.to_thread((await self._free.get()).close)


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

    def stop(self, asked: ProgramRequest) -> None:
        """End a program at once if it runs here."""
        with self._lock:
            if self.asked is asked:
                self._bell.ring()

    def executed(self, asked: ProgramRequest) -> tuple[list[Executed], str]:
        """Run it in this thread; return what became of it, or what of ours failed."""
        name = asked.language
        try:
            ((_, found),) = self._box(asked).run([asked.run])
        except Stopped:
            return [], "nobody waited for it"
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
        return found, ""

    def _box(self, asked: ProgramRequest) -> ProgramSandbox:
        if asked.language not in self._boxes:
            self._boxes[asked.language] = ProgramSandbox(
                asked.folders, workers=1, isolation=self._isolation, pinned=False, stop=self._bell.heard
            )
        return self._boxes[asked.language]

    def _drop(self, name: str) -> None:
        self._used.pop(name, None)
        if name in self._boxes:
            self._boxes.pop(name).close()

    def close(self) -> None:
        """End its workers."""
        for name in list(self._boxes):
            self._drop(name)
        self._bell.close()
