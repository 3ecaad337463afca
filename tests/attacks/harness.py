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
import stat
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))  # also when this file is run by itself

from attacks.shapes import GIVEN, GROUPS, SHAPES, SQUARES, Shape  # noqa: E402

from markbook.sandbox import Job, Sandbox  # noqa: E402
from markbook.types import Isolation, Limits, Outcome  # noqa: E402

RULES = ("wall", "proof", "plain", "beside", "neighbours")
LIMITS = Limits(seconds=0.6, wall_seconds=1.5, memory_bytes=1 << 30)
WRITES = """
import os, tempfile

def f(n):
    with tempfile.TemporaryDirectory() as folder, open(os.path.join(folder, "x"), "w+") as file:
        file.write(str(n))
        return [k * k for k in range(n)]
"""
"""An honest answer that uses the scratch folder."""
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

    def code(self, shape: Shape, marker: str) -> str:
        """Return the whole solution."""
        return f"MARKER = {marker!r}\n{GIVEN}{shape.wrong}\n{self.text}"


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

    def __init__(self, level: Isolation) -> None:
        self.level = level
        self.found = Found()
        self._box: Sandbox | None = None
        self._samples = {(name, known): shape.sample(canonical=known) for name, shape in SHAPES.items() for known in (True, False)}
        self._turn = 0

    def __enter__(self) -> Range:
        return self

    def __exit__(self, *error: object) -> None:
        if self._box is not None:
            self._box.close()

    @property
    def box(self) -> Sandbox:
        """The sandbox that is open."""
        if self._box is None:
            self._box = Sandbox(workers=1, isolation="weak", at_most=self.level, dedupe=False)
            self._box.start()
        return self._box

    def run(self, program: Program, modules: tuple[str, ...] = ()) -> None:
        """Run a program against those of its shapes that need these modules, and honest answers after it."""
        tried = [
            (SHAPES[name], known)
            for name in program.shapes
            if SHAPES[name].modules == modules
            for known in program.canonicals
            if known or not SHAPES[name].proof
        ]
        if not tried:
            return
        with tempfile.NamedTemporaryFile(prefix="markbook-marker-") as file:
            file.write(b"kept")
            file.flush()
            before = _looks(file.name)
            try:
                for _ in range(program.attempts):
                    self._attack(program, tried, file.name)
                self._control(program)
            except Exception as error:
                self.found.aborted.append(f"{program.name}: {type(error).__name__}")
                try:
                    self.__exit__()
                except Exception as also:
                    self.found.aborted.append(f"{program.name}, closing: {type(also).__name__}")
                self._box = None
            if _looks(file.name) != before:
                self.found.changed.append(program.name)

    def _attack(self, program: Program, tried: list[tuple[Shape, bool]], marker: str) -> None:
        jobs = []
        for shape, known in tried:
            key = f"{program.name} against {shape.name}, {'with' if known else 'without'} canonical"
            jobs.append(Job(key, program.code(shape, marker), self._samples[shape.name, known], LIMITS))
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
        names = _CONTROLS if "next" in program.holds else (_CONTROLS[self._turn % len(_CONTROLS)],)
        self._turn += 1
        jobs = [Job(name, SHAPES[name].right, self._samples[name, True], LIMITS) for name in names]
        if "next" in program.holds:
            jobs.append(Job("writes", WRITES, self._samples["equal", True], LIMITS))
        for job, outcome in self.box.run(jobs):
            if not all(result.passed for result in outcome.tests):
                self.found.disturbed.append(f"{program.name} then {job.key}: {outcome.error_type} {outcome.error_message}")


def _looks(path: str) -> tuple[object, ...]:
    seen = os.stat(path)
    return stat.S_IMODE(seen.st_mode), seen.st_uid, seen.st_mtime_ns, os.listxattr(path), Path(path).read_bytes()


def run(level: Isolation, chosen: list[Program]) -> Found:
    """Run programs at one level, those against packages that are slow to fork with last."""
    with Range(level) as made:
        if made.box.level != level:
            raise LookupError(f"this machine reaches level {made.box.level} at most")
        for modules in ((), ("numpy",)):
            for program in chosen:
                made.run(program, modules)
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
