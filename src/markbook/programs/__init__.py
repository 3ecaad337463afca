"""Programs in any language: built, run test by test, compared or judged, remembered, and why they failed."""

from __future__ import annotations

import os
import secrets
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markbook.errors import EnvironmentUnfitError
from markbook.sandbox import Job, Sandbox
from markbook.sandbox.job import LOST
from markbook.types import Isolation, Limits, ProblemType, Sample, Test

if TYPE_CHECKING:
    from markbook.programs.executions import JobExecutor

# Which way a problem's answers go. An exam in Python asks this too, and loads nothing of other languages for it.


def goes_in_turns(sample: Sample) -> bool:
    """Whether a problem's answers are marked here: one that reads and writes, and wants more than Python and a rule."""
    if sample.problem_type is not ProblemType.STDIN:
        return False
    return bool(sample.language or sample.judge is not None or sample.group is not None)


def program_language(sample: Sample) -> str:
    """Return the language in which a problem's answers are built and run; empty for Python as the examiner meets it."""
    return sample.language or ("python" if goes_in_turns(sample) else "")


def languages_for(sample: Sample) -> tuple[str, ...]:
    """Return every language that marking a problem's answers takes, sorted: theirs, and that of a right one for its judge."""
    names = {program_language(sample)} - {""}
    if sample.judge is not None and sample.references:
        names.add(sample.canonical_language or "python")
    return tuple(sorted(names))


# Whether this machine tells right programs from wrong ones, found out before any answer is marked.
#
# Where isolation stands on Linux's own layers (levels A and B), the sandbox tests itself as it starts. Anywhere else a
# missing feature of the system could make every right answer fail, which would look like bad marks. So there a few
# programs of our own are run first: the right ones must pass all their tests, the empty and the wrong ones none.

_LIMITS = Limits(seconds=10.0)


@dataclass(frozen=True, slots=True)
class _Exercise:
    """A problem of our own with a right solution and wrong ones."""

    kind: str
    right: str
    wrong: tuple[str, ...]
    tests: tuple[Test, ...]

    def sample(self) -> Sample:
        kind = None if self.kind == "program" else ProblemType(self.kind)
        return Sample(self.kind, references=(self.right,), tests=self.tests, entry_point="f", problem_type=kind)


EXERCISES = (
    _Exercise(
        "function",
        "def f(items):\n    return {name: sorted(values) for name, values in items.items()}\n",
        ("def f(items):\n    return items\n", "def f(items):\n    raise ValueError(items)\n"),
        (Test(setup="given = {'a': [2, 1]}", assertion="func(given) == {'a': [1, 2]}"),),
    ),
    _Exercise(
        "class",
        "class f:\n    def __init__(self, start):\n        self.total = start\n\n    def add(self, more):\n"
        "        self.total += more\n        return self.total\n",
        (
            "class f:\n    def __init__(self, start):\n        self.total = 0\n\n    def add(self, more):\n        return None\n",
        ),
        (Test(assertion="cls(1).add(2) == 3"), Test(assertion="cls('a').add('b') == 'ab'")),
    ),
    _Exercise(
        "program",
        "def f(n):\n    return [i * i for i in range(n)]\n",
        ("def f(n):\n    return list(range(n + 1))\n",),
        (Test(program="assert f(3) == [0, 1, 4]\nassert f(2) == [0, 1]\n"),),
    ),
)


def ensure_marks(box: Sandbox) -> None:
    """Start a sandbox and see to it that it marks rightly; where its isolation is Linux's own it has seen to that itself.

    Raises:
        EnvironmentUnfitError: this machine isolates solutions too little, or marks them wrongly.
    """
    box.start()
    if box.level > Isolation.B or sys.platform != "linux":
        check_marks(box)


def refuse_unsupported() -> None:
    """Say at once what this system lacks to run solutions at all.

    Raises:
        EnvironmentUnfitError: it cannot fork a process, as Windows cannot.
    """
    if not hasattr(os, "fork"):
        raise EnvironmentUnfitError(
            f"solutions cannot be run on {sys.platform}: its processes do not fork",
            hint="use Linux, or Windows' subsystem for it; `markbook score` and `markbook trace` work here",
        )


def ensure_fits(box: JobExecutor, limits: Limits) -> None:
    """See to it that a program of our own, which does no harm, outlives these limits: else they end the worker itself.

    Raises:
        EnvironmentUnfitError: its worker was lost twice, as that of every answer would be.
    """
    exercise = EXERCISES[0]
    code = f"# {secrets.token_hex(8)}\n{exercise.right}"  # not a verdict that is kept
    for _, outcome in box.run([Job("limits", code, exercise.sample(), limits)]):
        if LOST in outcome.flags:
            raise EnvironmentUnfitError(
                f"a known program cannot run here within {limits.seconds:g} s and {limits.memory_bytes >> 20} MiB: its "
                "worker is lost",
                hint="nothing was marked; ask for other limits, or see `markbook doctor`",
            )


def check_marks(box: Sandbox) -> None:
    """Run programs of our own and compare with what they deserve: right ones all, empty and wrong ones nothing.

    Raises:
        EnvironmentUnfitError: they did not get it; names the first that did not.
    """
    jobs = []
    new = f"# {secrets.token_hex(8)}\n"  # so that no verdict of another run is taken for one of this machine
    for exercise in EXERCISES:
        sample = exercise.sample()
        jobs.append(Job(f"right {exercise.kind}", new + exercise.right, sample, _LIMITS))
        jobs.append(Job(f"empty {exercise.kind}", "", sample, _LIMITS))
        jobs += [
            Job(f"wrong {exercise.kind} {number}", new + code, sample, _LIMITS)
            for number, code in enumerate(exercise.wrong, start=1)
        ]
    outcomes = {job.key: outcome for job, outcome in box.run(jobs)}
    faults = []
    for job in jobs:
        outcome = outcomes[job.key]
        passed, total = outcome.passed, len(outcome.tests)
        expected = total if job.key.startswith("right") else 0
        if not total or passed != expected or (outcome.error is not None and expected):
            why = f": {outcome.error_type or outcome.error} {outcome.error_message}".rstrip() if outcome.error else ""
            faults.append(f"the {job.key}, which passed {passed} of {total} tests instead of {expected}{why}")
    if faults:
        level = "" if sys.platform == "linux" else f" on {sys.platform}"
        raise EnvironmentUnfitError(
            f"the sandbox marks wrongly here (isolation level {box.level}{level}): {len(faults)} of {len(jobs)} known "
            f"programs, first {faults[0]}",
            hint="nothing was marked; `markbook doctor` says what this machine lacks",
        )
