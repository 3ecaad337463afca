"""Runs attacks: each program of a folder against every shape that it names, in one sandbox, honest answers in between.

A program is one file. Its first line says what it tries; lines `# key: value` follow:

- `against`: shapes or groups of shapes (`shapes.GROUPS`), between commas.
- `attempts`: how often each is tried in turn (1); one pass among them is a forgery.
- `canonical`: `with`, `without` or `both` (`both`).
- `parts`: files of `parts/` that go before it.
- `holds`: what must hold besides that nothing passes: `next` (all honest answers that follow get their marks), `files`
  (`MARKER`, a file of the user's, keeps its content and its metadata).

It is appended to the wrong answer of the shape, so it may define anew what is there.
"""

from __future__ import annotations

import os
import resource
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))  # also when this file is run by itself

from attacks.shapes import GIVEN, GROUPS, SHAPES, Shape  # noqa: E402

from markbook.sandbox import Job, Sandbox  # noqa: E402
from markbook.sandbox.worker import Layer, Worker, reduce_level  # noqa: E402
from markbook.types import Isolation, Limits, Outcome  # noqa: E402

RULES = ("wall", "proof", "plain", "beside", "neighbours")
LIMITS = Limits(seconds=0.6, wall_seconds=1.5, memory_bytes=1 << 30)
HONEST = Limits(seconds=0.6, wall_seconds=60.0, memory_bytes=1 << 30)
"""Those of honest answers, which are not to fail because the machine is busy."""
WRITES = """
import os, tempfile

def f(n):
    with tempfile.TemporaryDirectory() as folder, open(os.path.join(folder, "x"), "w+") as file:
        file.write(str(n))
        return [k * k for k in range(n)]
"""
"""An honest answer that uses the scratch folder."""
_SCRATCH = """import os
SCRATCH = os.getcwd()
if "markbook-" not in SCRATCH and os.path.exists(MARKER):
    raise SystemExit("this is the folder of all programs: the sandbox does not stand, and nothing more is tried")
"""
"""What stands before a program that changes its scratch folder."""
_MEMORY = 400 << 20
"""Bytes that an idle worker may hold: it begins with 40 MiB, and numpy takes as much again in each of two processes."""
_CONTROLS = ("equal", "counter", "mapping", "check", "drawn", "async_main", "class", "items", "beside", "split")


@dataclass(frozen=True)
class Program:
    """One attack."""

    name: str
    rule: str
    text: str
    shapes: tuple[str, ...]
    attempts: int = 1
    canonicals: tuple[bool, ...] = (True, False)
    holds: tuple[str, ...] = ()
    only: frozenset[tuple[str, bool]] | None = None
    """Which of its cases are run; None for all."""
    limits: Limits = LIMITS

    def cases(self) -> list[tuple[str, bool]]:
        """Return each shape that it is tried against, with its right answer given (True) or without."""
        every = [(name, known) for name in self.shapes for known in self.canonicals if known or not SHAPES[name].proof]
        return every if self.only is None else [case for case in every if case in self.only]

    def code(self, shape: Shape, marker: str) -> str:
        """Return the whole solution."""
        scratch = _SCRATCH if "SCRATCH" in self.text else ""
        return f"MARKER = {marker!r}\n{scratch}{GIVEN}{shape.wrong}\n{self.text}"


@dataclass
class Found:
    """What became of the programs that were run."""

    forged: list[str] = field(default_factory=list)
    """`program against shape, with or without canonical: label` of every pass that claims to be one."""
    unchecked: list[str] = field(default_factory=list)
    """Passes that say of themselves that nothing proves them."""
    disturbed: list[str] = field(default_factory=list)
    """Honest answers that lost marks, by the program before them."""
    aborted: list[str] = field(default_factory=list)
    """Programs that ended the run."""
    changed: list[str] = field(default_factory=list)
    """Programs that changed a file of the user's."""
    attempts: int = 0


def programs(rule: str) -> list[Program]:
    """Return the programs of one folder."""
    return [read(path) for path in sorted((HERE / rule).glob("*.py"))]


def read(path: Path) -> Program:
    """Return the program in a file."""
    text = path.read_text(encoding="utf-8")
    header: dict[str, str] = {}
    for line in text.splitlines()[1:]:
        if not line.startswith("# ") or ": " not in line:
            break
        key, _, value = line[2:].partition(": ")
        header[key] = value
    parts = [(HERE / "parts" / f"{name}.py").read_text() for name in _listed(header.get("parts", ""))]
    names = [shape for name in _listed(header["against"]) for shape in GROUPS.get(name, [name])]
    canonicals = {"with": (True,), "without": (False,), "both": (True, False)}[header.get("canonical", "both")]
    return Program(
        path.stem, path.parent.name, "\n".join([*parts, text]), tuple(dict.fromkeys(names)),
        int(header.get("attempts", "1")), canonicals, tuple(_listed(header.get("holds", ""))),
    )  # fmt: skip


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def is_forged(outcome: Outcome) -> bool:
    """Whether an attempt with a wrong answer has a test that is said to be passed and proved."""
    return any(result.passed and result.verdict.value != "unchecked" for result in outcome.tests)


class Range:
    """A sandbox in which attacks are run one after the other; it is made anew where one of them ends it."""

    def __init__(self, level: Isolation, controls: int = len(_CONTROLS)) -> None:
        self.level = level
        self._controls = controls
        self.found = Found()
        self._box: Sandbox | None = None
        self._samples = {
            (name, known): shape.sample(canonical=known) for name, shape in SHAPES.items() for known in (True, False)
        }
        self._turn = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._box is not None:
            self._box.close()

    @property
    def box(self) -> Sandbox:
        """The sandbox that is open."""
        if self._box is None:
            wanted = (
                "strict" if self.level == Isolation.A else "auto"
            )  # never less: these are no programs to run without
            self._box = Sandbox(workers=1, isolation=wanted, at_most=self.level, dedupe=False)
            self._box.start()
        if any(reduce_level(self.level, layers_of(worker)) != self.level for worker in self._box._worker_pool.workers):
            raise SystemExit(f"a worker is below level {self.level}: the attacks are not run")
        return self._box

    def run(self, program: Program, modules: tuple[str, ...] = ()) -> None:
        """Run a program against those of its shapes that need these modules, and honest answers after it."""
        tried = [(SHAPES[name], known) for name, known in program.cases() if SHAPES[name].modules == modules]
        if not tried:
            return
        with tempfile.NamedTemporaryFile(prefix="markbook-marker-") as file:
            file.write(b"kept")
            file.flush()
            with suppress(OSError):
                os.utime(os.devnull)  # a time that an earlier program has set there is no news of this one
            before = _looks(file.name)
            try:
                for _ in range(program.attempts):
                    self._attack(program, tried, file.name)
                self._control(program)
            except Exception as error:  # noqa: BLE001 - whatever ends a run is what is looked for
                self.found.aborted.append(f"{program.name}: {type(error).__name__}")
                self._close(program)
            if _looks(file.name) != before:
                self.found.changed.append(program.name)

    def _close(self, program: Program) -> None:
        try:
            if self._box is not None:
                self._box.close()
        except Exception as error:  # noqa: BLE001 - as above
            self.found.aborted.append(f"{program.name}, closing: {type(error).__name__}")
        self._box = None

    def _attack(self, program: Program, tried: list[tuple[Shape, bool]], marker: str) -> None:
        jobs = []
        for shape, known in tried:
            key = f"{program.name} against {shape.name}, {'with' if known else 'without'} canonical"
            jobs.append(Job(key, program.code(shape, marker), self._samples[shape.name, known], program.limits))
        self.found.attempts += len(jobs)
        heard = 0
        for job, outcome in self.box.run(jobs):
            heard += 1
            labels = "+".join(result.verdict.value for result in outcome.tests if result.passed)
            if is_forged(outcome):
                self.found.forged.append(f"{job.key}: {labels}")
            elif labels:
                self.found.unchecked.append(job.key)
        if heard != len(jobs):
            raise LookupError(f"{len(jobs) - heard} attempts without an outcome")

    def _control(self, program: Program) -> None:
        count = self._controls if "next" in program.holds else 1
        names = [_CONTROLS[(self._turn + at) % len(_CONTROLS)] for at in range(count)]
        self._turn += count
        jobs = [Job(name, SHAPES[name].right, self._samples[name, True], HONEST) for name in names]
        if "next" in program.holds:
            jobs.append(Job("writes", WRITES, self._samples["equal", True], HONEST))
        lost = [
            f"{program.name} then {job.key}: {outcome.error_type} {outcome.error_message}"
            for job, outcome in self.box.run(jobs)
            if not all(result.passed for result in outcome.tests)
        ]
        held = sum(_memory(worker.pid) for worker in self.box._worker_pool.workers)
        if held > _MEMORY:
            lost.append(f"{program.name} leaves {held >> 20} MiB in the worker")
        self.found.disturbed += lost
        if lost:  # what comes next is to be blamed for its own deeds only
            self._close(program)


def layers_of(worker: Worker) -> list[Layer]:
    """Return the layers of isolation that a worker says it has."""
    return [Layer(layer["name"], layer["ok"], layer["detail"]) for layer in worker.hello["layers"]]


def _memory(pid: int) -> int:
    """Return the bytes of memory that a process and those below it hold."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        below = [
            int(word) for file in Path(f"/proc/{pid}/task").glob("*/children") for word in file.read_text().split()
        ]
    except OSError:  # it has just ended
        return 0
    return pages * resource.getpagesize() + sum(map(_memory, below))


def _looks(path: str) -> tuple[object, ...]:
    seen = Path(path).stat()
    content = Path(path).read_bytes()
    return stat.S_IMODE(seen.st_mode), seen.st_uid, seen.st_mtime_ns, os.listxattr(path), content


@contextmanager
def temporary() -> Iterator[str]:
    """Have the workers' scratch folders, and what an attack finds around them, in a folder of our own."""
    kept, folder = tempfile.tempdir, tempfile.mkdtemp(prefix="markbook-attacks-")
    tempfile.tempdir = folder
    try:
        yield folder
    finally:
        tempfile.tempdir = kept
        subprocess.run(["rm", "-rf", folder], check=False)  # what is left there may be too deep for Python


def run(level: Isolation, chosen: list[Program], controls: int = len(_CONTROLS)) -> Found:
    """Run programs at one level, those against packages that are slow to fork with last.

    After one that must leave its neighbours alone come so many honest answers, in turn.
    """
    with temporary() as folder:
        with Range(level, controls) as made:
            for modules in ((), ("numpy",)):
                for program in chosen:
                    made.run(program, modules)
        made.found.disturbed += [f"{path.name} is left behind" for path in Path(folder).iterdir()]
    return made.found


def main() -> None:
    """Print what becomes of the programs: `harness.py [LEVEL [RULE-or-program ...]]`."""
    level = Isolation(sys.argv[1] if len(sys.argv) > 1 else "A")
    wanted = set(sys.argv[2:])
    for rule in RULES:
        chosen = [p for p in programs(rule) if not wanted or rule in wanted or p.name in wanted]
        if not chosen:
            continue
        found = run(level, chosen)
        print(f"== {rule}: {len(chosen)} programs, {found.attempts} attempts at level {level}")
        for name in ("forged", "unchecked", "disturbed", "aborted", "changed"):
            lines = getattr(found, name)
            print(f"{name}: {len(lines)}", *(f"  {line}" for line in lines), sep="\n", flush=True)


if __name__ == "__main__":
    main()
