"""One program to execute in phases: what is given, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import NotRequired, TypedDict, cast

from markbook.sandbox.job import wall_limits
from markbook.types import Limits

BUILD, WORK = "{build}", "{work}"
"""What stands in commands for the folder of a program's files, and for the empty one in which each of its runs begins."""
EVERY = "*"
"""Among the names of programs: every file of that folder."""
_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": WORK,
    "TMPDIR": WORK,
    "LANG": "C.UTF-8",
    "TZ": "UTC",
}


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
                raise ValueError(f"{name!r} is no name of a file of the program's own")


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
    return {
        "id": number,
        "files": {name: data.decode("latin-1") for name, data in run.files.items()},
        "phases": [_phase(phase) for phase in run.phases],
        "drop": list(run.drop),
        "programs": list(run.programs),
        "goes_on": run.goes_on,
        "stays": run.stays,
    }


def _phase(phase: Phase) -> dict[str, object]:
    limits = phase.limits
    sleeping, busy = wall_limits(limits)
    numbers = [limits.memory_bytes, limits.file_bytes, limits.processes, limits.output_bytes]
    return {
        "argv": list(phase.argv),
        "environment": {**_ENVIRONMENT, **phase.environment},
        "builds": phase.builds,
        "stdin": phase.stdin.decode("latin-1"),
        "work": {name: data.decode("latin-1") for name, data in phase.work.items()},
        "takes": phase.takes,
        "fetches": list(phase.fetches),
        "linked": phase.is_linked,
        "limits": [limits.seconds, sleeping, busy, *numbers],
    }


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


def read_executed(said: Mapping[str, object]) -> Executed:
    """Return what a worker says of a phase."""
    record = cast("_ExecutedRecord", said)
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
