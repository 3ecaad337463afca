"""Programs that are run as they are: what is asked, what came out, and the sandbox that runs them."""

from __future__ import annotations

import itertools
import selectors
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal, NotRequired, TypedDict, cast

from markbook.sandbox.controller import WorkerBox
from markbook.sandbox.guest.walls.isolation import inside
from markbook.sandbox.job import limits_on_wire, preload, wall_limits
from markbook.sandbox.worker import Interpreter, Stopped, Worker, WorkerLost, WorkerPool
from markbook.types import Isolation, Limits

# One program to execute in phases: what is given, and what became of it.

BUILD, WORK = "{build}", "{work}"
"""What stands in commands for the folder of a program's files, and for the empty one in which each of its runs begins."""
EVERY = "*"
"""Among the names of programs: every file of that folder."""
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": WORK, "TMPDIR": WORK, "LANG": "C.UTF-8", "TZ": "UTC"}


@dataclass(frozen=True, slots=True)
class Phase:
    """One command of a program run."""

    argv: tuple[str, ...]
    """The program, by its absolute path, and its arguments."""
    limits: Limits = field(default_factory=Limits)
    """`memory_bytes` is what its processes may hold, each and together; addresses may be reserved without end."""
    stdin: bytes = b""
    builds: bool = False
    """Whether it may write to the program's files: what comes behind runs only where this ends with 0."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Beside a plain one; nothing of the user's reaches a program."""
    work: Mapping[str, bytes] = field(default_factory=dict)
    """Files that lie in `{work}` when it begins, by names below it."""
    takes: str = ""
    """The folder below `{work}` whose files are wanted when it has ended; empty if none is."""
    fetches: tuple[str, ...] = ()
    """Files below the folder in which it runs that are wanted when it has ended."""
    is_linked: bool = False
    """Whether it reads from and writes to a program in another worker; see `seats`."""


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """Files, and the commands to execute with them; nothing of one run is there in the next."""

    key: str
    """The caller's own name for it."""
    files: Mapping[str, bytes]
    """What is written to `{build}` first, by plain names."""
    phases: tuple[Phase, ...]
    """Those that build come first. Each later one begins with an empty `{work}` and cannot change `{build}`."""
    drop: tuple[str, ...] = ()
    """Files that are removed once everything is built."""
    programs: tuple[str, ...] = ()
    """Files that a compiler makes and that are to be run; `*` is every file of its folder."""
    goes_on: bool = False
    """Whether it finds `{build}` as the run before it left it, in the same worker."""
    stays: bool = False
    """Whether it leaves `{build}` to one that goes on."""

    def __post_init__(self) -> None:
        """Hold that no name leads out of the folder.

        Raises:
            ValueError: one does.
        """
        paths = ((*phase.work, *([phase.takes] if phase.takes else []), *phase.fetches) for phase in self.phases)
        names = (name for some in paths for name in some)
        for name in (*self.files, *self.drop, *self.programs, *names):
            path = PurePosixPath(name)
            if not name or path.is_absolute() or ".." in path.parts or "\0" in name:
                raise ValueError(f"{name!r} is not a name of a file of the program's own")


@dataclass(frozen=True, slots=True)
class Executed:
    """What became of one phase."""

    status: int | None
    """What it exited with; None where a signal ended it."""
    signal: int
    """The signal that ended it, 0 if none did."""
    limit: str
    """The limit that was hit: cpu, wall, memory, output, file, processes; `stopped` by the caller; empty if none."""
    stdout: bytes
    stderr: bytes
    """Its first 64 KiB."""
    seconds: float
    """CPU time of all its processes."""
    wall_seconds: float
    memory_bytes: int
    """The most that was seen resident."""
    refused: str = ""
    """Why the program could not even be started."""
    ended: float = 0.0
    """When it ended, by the monotonic clock of this machine."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """What it left of the files that were wanted."""

    @property
    def is_good(self) -> bool:
        """Whether it ended by itself and with 0."""
        return self.status == 0 and not self.limit


def on_wire(run: ProgramRun, number: int) -> dict[str, object]:
    """Return a run as the worker takes it."""
    phases: list[dict[str, object]] = []
    for phase in run.phases:
        limits = phase.limits
        numbers = [limits.memory_bytes, limits.file_bytes, limits.processes, limits.output_bytes]
        record = {
            "argv": list(phase.argv),
            "environment": {**_ENVIRONMENT, **phase.environment},
            "builds": phase.builds,
            # a record is JSON and holds no bytes: each of them crosses as the character of its number
            "stdin": phase.stdin.decode("latin-1"),
            "work": {name: data.decode("latin-1") for name, data in phase.work.items()},
            "takes": phase.takes,
            "fetches": list(phase.fetches),
            "linked": phase.is_linked,
            "limits": [limits.seconds, *wall_limits(limits), *numbers],
        }
        phases.append(record)
    return {
        "id": number,
        "files": {name: data.decode("latin-1") for name, data in run.files.items()},
        "phases": phases,
        "drop": list(run.drop),
        "programs": list(run.programs),
        "goes_on": run.goes_on,
        "stays": run.stays,
    }


def in_python(run: ProgramRun) -> dict[str, object]:
    """Return a run of one text in Python and one phase as an examiner takes it, which has it run without an interpreter's start."""
    (text,), (phase,) = run.files.values(), run.phases
    code, stdin = text.decode("utf-8", "surrogatepass"), phase.stdin.decode("latin-1")
    modules, limits = preload(code)[1], limits_on_wire(phase.limits)
    return {"id": "", "code": code, "stdin": stdin, "limits": limits, "preload": modules}


class _ExecutedRecord(TypedDict):
    """What a worker says of a phase; bytes are text in Latin-1."""

    exit: int | None
    signal: int
    hit: str
    out: str
    err: str
    cpu: float
    wall: float
    memory: int
    refused: str
    ended: float
    files: NotRequired[dict[str, str]]


def read_executed(answer: Mapping[str, object]) -> Executed:
    """Return what a worker says of a phase."""
    record = cast("_ExecutedRecord", answer)
    return Executed(
        status=record["exit"],
        signal=record["signal"],
        limit=record["hit"],
        stdout=record["out"].encode("latin-1"),
        stderr=record["err"].encode("latin-1"),
        seconds=record["cpu"],
        wall_seconds=record["wall"],
        memory_bytes=record["memory"],
        refused=record["refused"],
        ended=record["ended"],
        files={name: text.encode("latin-1") for name, text in record.get("files", {}).items()},
    )


# Executing programs in isolation: compilers and what they make, interpreters with a text. No event loop, no threads.

_GRACE = 30.0
"""Seconds beyond every limit of a run after which its worker counts as lost."""
Done = tuple[ProgramRun, list[Executed]]
"""A run with what became of its phases, as far as they were executed; none of them where its worker was lost twice."""


class ProgramSandbox(WorkerBox):
    """Executes program runs in isolated workers."""

    def __init__(
        self,
        folders: Sequence[str],
        *,
        workers: int | None = None,
        isolation: Literal["auto", "strict", "weak"] = "auto",
        at_most: Isolation = Isolation.A,
        pinned: bool = True,
        stop: int | None = None,
    ) -> None:
        """Set up, starting nothing; `workers`, `isolation`, `at_most` and `pinned` are those of `Sandbox`, `stop` that of its `run`.

        `folders` is what programs may read and run: the toolchains.
        """
        self.stop = stop
        self._worker_pool = WorkerPool(
            count=workers,
            isolation=isolation,
            interpreter=Interpreter(),
            at_most=at_most,
            pinned=pinned,
            main="runner",
            folders=tuple(folders),
        )
        self._waiting: deque[tuple[ProgramRun, int]] = deque()
        self._numbers = itertools.count()
        self._done: deque[Done] = deque()

    @property
    def worker_pool(self) -> WorkerPool:
        """Its workers, for whoever uses them in turns while nothing runs here."""
        return self._worker_pool

    @property
    def workers(self) -> int:
        """How many run at once."""
        return len(self._worker_pool.workers)

    def seen_at(self, path: str) -> str:
        """Return where programs find a folder that they may read; known once the workers have started."""
        return inside(path) if self.level is Isolation.A else path

    def submit(self, run: ProgramRun) -> None:
        """Let a run wait for a worker."""
        self._waiting.append((run, 0))

    @property
    def is_busy(self) -> bool:
        """Whether anything waits, runs, or has not been taken."""
        return bool(self._waiting or self._done or any(worker.jobs for worker in self._worker_pool.workers))

    def next_done(self) -> Done:
        """Wait for the next run to be done, and return it.

        Raises:
            IndexError: nothing was submitted.
            Stopped: whoever wanted it does not any more.
        """
        self.start()
        while not self._done:
            self._feed()
            if not any(worker.jobs for worker in self._worker_pool.workers):
                if self._done or self._waiting:
                    continue  # a worker had died while it was idle: what it was given waits for the next one
                raise IndexError("nothing was submitted")
            self._collect()
        self._feed()
        return self._done.popleft()

    def run(self, runs: Iterable[ProgramRun]) -> Iterator[Done]:
        """Execute every run; yield each as it is done. Two a worker are read ahead."""
        self.start()
        source = iter(runs)
        ahead = 2 * self.workers
        for program_run in itertools.islice(source, ahead):
            self.submit(program_run)
        while self.is_busy:
            yield self.next_done()
            for program_run in itertools.islice(source, 1):
                self.submit(program_run)

    def _feed(self) -> None:
        for worker in list(self._worker_pool.workers):
            if not self._waiting or worker.jobs:
                continue
            run, tries = self._waiting.popleft()
            try:
                worker.give((run, tries), on_wire(run, next(self._numbers)))
            except WorkerLost:
                self._lost(worker)

    def _collect(self) -> None:
        # made anew each time, because workers may have been replaced since the last
        with selectors.DefaultSelector() as selector:
            busy = [worker for worker in self._worker_pool.workers if worker.jobs]
            for worker in busy:
                selector.register(worker.sock, selectors.EVENT_READ, worker)
            if self.stop is not None:
                selector.register(self.stop, selectors.EVENT_READ, None)
            patience = min(map(_deadline, busy)) - time.monotonic()
            events = selector.select(max(0.0, patience))
        if any(key.data is None for key, _ in events):
            self.close()
            self._waiting.clear()
            self._done.clear()
            raise Stopped
        for key, _ in events:
            self._read(key.data)
        if not events:
            for worker in busy:
                if time.monotonic() > _deadline(worker):
                    self._lost(worker)

    def _read(self, worker: Worker) -> None:
        try:
            for record in worker.read():
                phases = [read_executed(phase) for phase in record["phases"]]
                run, _ = worker.jobs.pop(0)
                self._done.append((run, phases))
        except (WorkerLost, KeyError, TypeError, ValueError, IndexError):
            self._lost(worker)

    def _lost(self, worker: Worker) -> None:
        """Replace a worker and run what it had under way once more."""
        pending, worker.jobs = worker.jobs, []
        self._worker_pool.replace(worker)
        for run, tries in pending:
            if tries:
                self._done.append((run, []))
            else:
                self._waiting.appendleft((run, 1))


def _deadline(worker: Worker) -> float:
    run: ProgramRun = worker.jobs[0][0]
    return worker.since + sum(wall_limits(phase.limits)[1] for phase in run.phases) + _GRACE
