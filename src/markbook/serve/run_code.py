"""SandboxFusion's shapes: a program as its clients send it, and what became of it in its words."""

from __future__ import annotations

import asyncio
import base64
import binascii
import functools
import importlib
import logging
import math
import re
import sys
import threading
import time
import types
import unicodedata
from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Generic, Literal, TypedDict, TypeVar

from markbook.errors import EnvironmentUnfitError, UsageError
from markbook.languages import Toolchain
from markbook.languages.toolchain import whole
from markbook.programs.executions import build_limits
from markbook.sandbox import Stopped
from markbook.sandbox.program import Executed, Phase, ProgramRun, ProgramSandbox
from markbook.sandbox.turns import Lost, Seats, Steps, Turn, WorkerRole
from markbook.sandbox.worker import Interpreter, WorkerPool
from markbook.serve.guard import Guard, Refused, as_json, identify_client
from markbook.serve.items import toolchain
from markbook.serve.marking import left
from markbook.serve.pool import Pool, PoolSettings
from markbook.serve.requests import MAX_CODE, RunCodeRequest, check
from markbook.serve.sandbox_thread import Bell
from markbook.types import Isolation, Limits

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

_MOST_FILES = 64
_MOST_NAME = 255
"""Bytes of a file's name, without those of its folders: as many as file systems take."""
_MEMORY = 2 << 30
_FOLDERS = ("/usr", "/bin", "/lib", "/lib64", "/etc/alternatives", "/etc/ld.so.cache")
"""What a program in Python may read beside its own files."""
_MAIN = ".markbook-main.py"
"""What a program in Python is called beside the caller's files."""


class PhaseAnswer(TypedDict):
    """What became of one phase."""

    status: str
    execution_time: float
    return_code: int | None
    stdout: str
    stderr: str


class ProgramAnswer(TypedDict):
    """What became of a program."""

    status: str
    message: str
    compile_result: PhaseAnswer | None
    run_result: PhaseAnswer | None
    executor_pod_name: None
    files: dict[str, str]


@dataclass(frozen=True, slots=True)
class ProgramRequest:
    """A program that somebody wants run."""

    run: ProgramRun
    language: str
    folders: tuple[str, ...]
    """What it may read beside its own files."""
    builds: bool
    """Whether its first phase is that of a compiler."""
    is_forked: bool = False
    """Whether it is in Python and the same without an interpreter's start; see `only_computes`."""


def read_program(body: Mapping[str, object], python: str) -> ProgramRequest:
    """Return the program of a request.

    Raises:
        Refused: it is too long.
        UsageError: a field is missing or wrong.
    """
    code = body.get("code")
    if isinstance(code, str) and len(code) > MAX_CODE:
        raise Refused(413, f"'code' has {len(code)} characters; at most {MAX_CODE} are taken")
    fields = check(RunCodeRequest, body)
    tool = toolchain(fields.language)
    running = fields.run_timeout
    memory = _MEMORY if fields.memory == -1 else int(fields.memory) << 20
    names = [] if fields.fetch_files is None else fields.fetch_files
    if not isinstance(names, list) or len(names) > _MOST_FILES:
        raise UsageError(f"'fetch_files' is not a list of at most {_MOST_FILES} paths")
    texts = fields.files or {}
    if len(texts) > _MOST_FILES:
        raise UsageError(f"{len(texts)} files are too many: at most {_MOST_FILES}")
    files: dict[str, bytes] = {}
    for name, text in texts.items():
        if text is None:  # SandboxFusion's clients send null for a file that is not there
            continue
        try:
            files[_read_path(name, "files")] = base64.b64decode(text, validate=True)
        except (TypeError, ValueError, binascii.Error):
            raise UsageError(f"files: {name[:40]!r} is not a base64") from None
    phase = Phase(
        (python, "-B", f"{{build}}/{_MAIN}"),
        Limits(seconds=running, wall_seconds=running, memory_bytes=memory),
        (fields.stdin or "").encode(),
        builds=True,  # its text is interpreted: it may write beside it, and files are fetched from there
        environment=_PLAIN,
        fetches=tuple(_read_path(name, "fetch_files") for name in names),
    )
    if tool is None:
        named = dict.fromkeys([*_FOLDERS, sys.base_prefix, sys.prefix, str(Path(python).parent.parent)])
        # never the root of the file system, which is what the interpreter's folder may come to
        folders = tuple(folder for folder in named if folder.strip("/.") and Path(folder).exists())
        run = ProgramRun("", {**files, _MAIN: fields.code.encode()}, (phase,))
        is_forked = not (files or phase.fetches) and only_computes(fields.code)
        program_request = ProgramRequest(run, "", folders, builds=False, is_forked=is_forked)
    else:
        program_request = _elsewhere(fields.code, files, phase, tool, fields.compile_timeout)
    names_taken = program_request.run.files
    for name in names_taken:
        if both := next((str(path) for path in PurePosixPath(name).parents if str(path) in names_taken), ""):
            raise UsageError(f"files: {both!r} is a file and a folder of another")
    return program_request


_PLAIN = {"PYTHONIOENCODING": "utf-8", "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
_COPYING = ("/bin/sh", "-c", 'cp -R "$0/." . && exec "$@"', "{build}/.given")
"""Puts the caller's files where a program that was compiled begins."""


_COMPUTING = {
    "array", "bisect", "cmath", "collections", "copy", "dataclasses", "decimal", "enum", "fractions", "functools", "heapq",
    "itertools", "math", "numbers", "operator", "re", "statistics", "string", "sys", "time", "typing",
}  # fmt: skip
_OF_SYS = ("exit", "maxsize", "setrecursionlimit", "stderr", "stdin", "stdout")
_IMPORT = re.compile(r"^[ \t]*+(?:import ([\w, ]++)|from (\w++) import ([\w, *]++))$", re.MULTILINE)
_LOOKING_AROUND = re.compile(
    r"\b(?:breakpoint|builtins|dir|eval|exec|getattr|globals|help|import|io|locals|open|os|vars)\b|(?<!\bre\.)\bcompile\b"
    rf"|\b__(?!(?:class|init|main|name)__)|\bsys\b(?!\.(?:{'|'.join(_OF_SYS)})\b)"
    r"|\bstd(?:in|out|err)\.(?!(?:buffer|flush|(?:read|write)(?:lines?)?)\b)|\A(?:.*\n)?[ \t\f]*#.*coding[:=]"
)
"""What could tell a program in what process and folder it runs, or lead to it; and what names an encoding."""


@functools.cache
def _list_public(module: str) -> frozenset[str]:
    """Return what a module is there for: no other modules, but for those that are the same as their only part."""
    members = vars(importlib.import_module(module))
    values = {name for name, value in members.items() if name[0] != "_" and not isinstance(value, types.ModuleType)}
    return frozenset({"*", *members.get("__all__", values)})


@functools.cache
def _list_modules() -> re.Pattern[str]:
    """Return a pattern of attributes by which modules lead to others: what those hold is not only for computing."""
    members = (pair for module in _COMPUTING for pair in vars(importlib.import_module(module)).items())
    names = {name for name, value in members if isinstance(value, types.ModuleType)} - _COMPUTING
    return re.compile(rf"\.\s*(?:{'|'.join(names)})\b")


def only_computes(code: str) -> bool:
    """Whether a program only computes, as far as its text shows: then it does the same wherever it runs."""
    for modules, module, names in _IMPORT.findall(code):
        imported = {name.split()[0] for name in (modules or module).split(",") if name.strip()}
        if not imported <= _COMPUTING or (modules and " as " in f" {modules} "):
            return False
        members = {name.split()[0] for name in names.split(",") if name.strip()}
        if module and not members.issubset(_OF_SYS if module == "sys" else _list_public(module)):
            return False
    rest = _IMPORT.sub("", code)
    # Python reads its names in the form NFKC
    is_plain = code.isascii() or unicodedata.is_normalized("NFKC", code)
    return is_plain and not (_LOOKING_AROUND.search(rest) or _list_modules().search(rest))


def _elsewhere(
    code: str, own_files: Mapping[str, bytes], phase: Phase, tool: Toolchain, compiling: float
) -> ProgramRequest:
    """Return a program in another language: what a compiler makes may only be run where it cannot be changed any more."""
    language = tool.language
    program = whole(tool, code)
    files = {**own_files, **program.files}
    command = program.run
    if program.programs and own_files:
        files |= {f".given/{name}": data for name, data in own_files.items()}
        command = (*_COPYING, *command)
    phases = []
    if program.build:
        bounds = replace(build_limits(language), seconds=compiling, wall_seconds=compiling)
        phases.append(Phase(program.build, bounds, builds=True, environment=program.build_environment))
    limits = replace(phase.limits, processes=max(phase.limits.processes, language.processes))
    is_text = not program.programs
    phases.append(replace(phase, argv=command, limits=limits, builds=is_text, environment=program.environment))
    run = ProgramRun("", files, tuple(phases), programs=program.programs)
    return ProgramRequest(run, language.name, tool.folders, builds=bool(program.build))


def _read_path(name: object, at: str) -> str:
    """Return a file's name that stays in its folder; UsageError for any other."""
    # `_MAIN` is ours, and not the caller's to replace
    is_good = isinstance(name, str) and 0 < len(name) <= 255 and name.isprintable() and name != _MAIN
    parts = name.split("/") if isinstance(name, str) else []
    if not is_good or any(part in ("", ".", "..") or len(part.encode()) > _MOST_NAME for part in parts):
        raise UsageError(f"{at}: {str(name)[:40]!r} is not a plain path within the program's own folder")
    return str(name)


def answer(program: ProgramRequest, phases: Sequence[Executed], fault: str = "") -> ProgramAnswer:
    """Return what became of a program, in SandboxFusion's words."""
    if not phases:
        return _answer("SandboxError", fault or "the worker was lost twice while the program ran")
    if refused := next((phase.refused for phase in phases if phase.refused), ""):
        return _answer("SandboxError", refused)
    compiled = _phase(phases[0]) if program.builds else None
    # the phase behind the compiler's: as an index a bool is 0 or 1
    ran = phases[program.builds : program.builds + 1]
    last = ran[0] if ran else phases[0]
    files = {name: base64.b64encode(data).decode() for name, data in last.files.items()}
    message = f"the {'program' if ran else 'compiler'} hit its limit: {last.limit}" if last.limit else ""
    status = "Success" if ran and last.is_good else "Failed"
    return _answer(status, message, compiled, _phase(last) if ran else None, files)


def _phase(phase: Executed) -> PhaseAnswer:
    is_late = phase.limit in ("cpu", "wall")
    return {
        "status": "TimeLimitExceeded" if is_late else "Finished",
        "execution_time": round(phase.wall_seconds, 6),
        # a signal as a negative number, as `subprocess` has it
        "return_code": None if is_late else (phase.status if phase.status is not None else -phase.signal),
        "stdout": phase.stdout.decode("utf-8", "replace"),
        "stderr": phase.stderr.decode("utf-8", "replace"),
    }


def _answer(
    status: str,
    message: str,
    compiled: PhaseAnswer | None = None,
    ran: PhaseAnswer | None = None,
    files: dict[str, str] | None = None,
) -> ProgramAnswer:
    return {
        "status": status,
        "message": message,
        "compile_result": compiled,
        "run_result": ran,
        "executor_pod_name": None,
        "files": files or {},
    }


# Who runs a program next: so many at once, and the clients have their turns one after the other.

_Seat = TypeVar("_Seat")


class SeatQueue(Generic[_Seat]):
    """Seats, and those who wait for one. Its methods are called in one event loop."""

    def __init__(self, seats: Iterable[_Seat], *, of_one: int, most: int) -> None:
        """Take the seats; so many of one client may wait, and so many in all."""
        self._free = list(seats)
        self._count = len(self._free)
        self._of_one, self._most = of_one, most
        self._waiting: OrderedDict[str, deque[asyncio.Future[_Seat]]] = OrderedDict()
        """Whose turn it is comes first."""

    @property
    def is_idle(self) -> bool:
        """Whether every seat is free and nobody waits."""
        return len(self._free) == self._count and not self._waiting

    def want(self, client: str) -> asyncio.Future[_Seat]:
        """Return what will be a seat; give it up by `leave`, or give the seat back.

        Raises:
            Refused: too many wait.
        """
        own = len(self._waiting.get(client, ()))
        if own >= self._of_one or sum(map(len, self._waiting.values())) >= self._most:
            waiting = sum(map(len, self._waiting.values()))
            raise Refused(429, f"{own} programs of yours wait already, {waiting} of all", Retry_After="1")
        seat_future: asyncio.Future[_Seat] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(seat_future)
        self._hand_out()
        return seat_future

    def give_back(self, seat: _Seat) -> None:
        """Take a seat back for the next."""
        self._free.append(seat)
        self._hand_out()

    def leave(self, client: str, seat_future: asyncio.Future[_Seat]) -> None:
        """Give up the wait for a seat, or what has just been got."""
        waiting = self._waiting.get(client, ())
        if seat_future in waiting:
            self._waiting[client].remove(seat_future)
            if not waiting:
                del self._waiting[client]
        if not seat_future.done():
            seat_future.cancel()
        elif not seat_future.cancelled() and seat_future.exception() is None:
            self.give_back(seat_future.result())

    def refuse_all(self, refused: Refused) -> None:
        """Refuse everybody who waits."""
        for waiting in self._waiting.values():
            for seat_future in waiting:
                if not seat_future.done():
                    seat_future.set_exception(refused)
        self._waiting.clear()

    def _hand_out(self) -> None:
        while self._free and self._waiting:
            client, waiting = next(iter(self._waiting.items()))
            seat_future = waiting.popleft()
            if waiting:
                # its next turn comes after those of everybody else
                self._waiting.move_to_end(client)
            else:
                del self._waiting[client]
            if not seat_future.done():
                seat_future.set_result(self._free.pop())


# `POST /run_code`, as SandboxFusion has it: one program, its input, what it prints.

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
        self._seats = [_ProgramsSeat(settings.box.isolation) for _ in pool.lanes]
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
        client = identify_client(request)
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
        self, seat: _ProgramsSeat, program_request: ProgramRequest, gone: asyncio.Task[None]
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
                await asyncio.wait((work,))  # the seat is given back by our caller: its worker must have ended by then
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


def run_in_python(run: ProgramRun) -> Steps[list[Executed]]:
    """Run a program that only computes. Only an interpreter says how one failed, and what else it wrote to standard error."""
    (phase,) = run.phases
    ran = (yield Turn(python=replace(run, phases=(replace(phase, argv=()),))))[WorkerRole.PYTHON]
    is_sure = ran[0].is_good or ran[0].limit in ("cpu", "wall", "output")
    # an interpreter refuses to print what is not UTF-8
    if is_sure and not ran[0].stderr and ran[0].stdout.decode("utf-8", "replace").encode() == ran[0].stdout:
        return ran
    return (yield Turn(program=run))[WorkerRole.PROGRAM]


class _ProgramsSeat:
    """Runs one program at a time, with a worker for each language that was asked for."""

    def __init__(self, isolation: Literal["auto", "strict", "weak"]) -> None:
        self._isolation = isolation
        self._boxes: dict[str, ProgramSandbox] = {}
        self._pythons: WorkerPool | None = None
        self._used: dict[str, int] = {}
        self._bell = Bell()
        self._lock = threading.Lock()
        self.asked: ProgramRequest | None = None
        """What it runs, or is about to run."""
        self._why = ""

    def stop(self, program: ProgramRequest | None, why: str) -> None:
        """End a program at once if it runs here."""
        with self._lock:
            # under the lock, or the ring could hit the program that comes next
            if program is not None and self.asked is program:
                self._why = why
                self._bell.ring()

    def execute(self, program: ProgramRequest) -> tuple[list[Executed], str]:
        """Run it in this thread; return what became of it, or what of ours failed."""
        name = program.language
        try:
            phases = self._run(program)
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
                # a ring for this program is not for the next one to hear
                self.asked = None
                self._bell.hush()
        self._used[name] = self._used.get(name, 0) + 1
        if self._used[name] >= _AGE:
            self._drop(name)
        return phases, ""

    def _run(self, program: ProgramRequest) -> list[Executed]:
        box = self._box(program)
        if not program.is_forked:
            ((_, phases),) = box.run([program.run])
            return phases
        if self._pythons is None:
            python = Path(program.run.phases[0].argv[0])
            interpreter = Interpreter(None if str(python) == sys.executable else python)
            self._pythons = WorkerPool(
                count=1, isolation=self._isolation, interpreter=interpreter, at_most=Isolation.A, pinned=False
            )
        seats: Seats[list[Executed]] = Seats(box.worker_pool, None, self._pythons, self._bell.heard)
        ((_, ran),) = seats.run([("", lambda _seat: run_in_python(program.run))])
        return [] if isinstance(ran, Lost) else ran

    def _box(self, program_request: ProgramRequest) -> ProgramSandbox:
        if program_request.language not in self._boxes:
            self._boxes[program_request.language] = ProgramSandbox(
                program_request.folders, workers=1, isolation=self._isolation, pinned=False, stop=self._bell.heard
            )
        return self._boxes[program_request.language]

    def _drop(self, name: str) -> None:
        self._used.pop(name, None)
        if not name and self._pythons is not None:
            self._pythons.close()
        if name in self._boxes:
            self._boxes.pop(name).close()

    def close(self) -> None:
        """End its workers."""
        for name in list(self._boxes):
            self._drop(name)
        self._bell.close()
