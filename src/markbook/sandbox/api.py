"""Executing code against tests from a program or a notebook, without setting anything up."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Sequence

from markbook.errors import UsageError
from markbook.sandbox.controller import Sandbox
from markbook.sandbox.job import Job
from markbook.text.claimless import program_fault
from markbook.types import Limits, Outcome, ProblemType, Sample, Test

_LOCK = threading.Lock()
_IDLE: dict[tuple[str, bool], list[Sandbox]] = {}


def run_tests(
    code: str,
    tests: Sequence[Test] | str,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    *,
    entry_point: str = "",
    canonical: str = "",
    isolation: str = "auto",
    separate: bool = True,
) -> Outcome:
    """Return what became of each test of one solution.

    Safe to call from several threads; each call in progress has a worker of its own, kept for the next.

    Args:
        code: the complete source of the solution.
        tests: the tests, or the text of one test program: assert statements, or what unittest or pytest would run, or a
            `check(candidate)`.
        limits: what the solution may use.
        entry_point: the name that the solution must define; `func` means it in assertions.
        canonical: a right solution, by which is decided how each test can be kept apart from the candidate.
        isolation: `auto`, `strict` or `weak`, as for `Sandbox`.
        separate: keep tests and candidate in different processes.

    Raises:
        EnvironmentUnfitError: this machine cannot isolate the code well enough.
        UsageError: a test program would pass whatever is tested.
    """
    sample = _sample(tests, entry_point, canonical)
    box = _take(isolation, separate=separate)
    try:
        ((_, outcome),) = box.run([Job("", code, sample, limits)])
    except BaseException:
        box.close()
        raise
    with _LOCK:
        _IDLE[isolation, separate].append(box)
    return outcome


async def arun_tests(
    code: str,
    tests: Sequence[Test] | str,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    *,
    entry_point: str = "",
    canonical: str = "",
    isolation: str = "auto",
    separate: bool = True,
) -> Outcome:
    """Do what `run_tests` does, in a thread, so that the event loop goes on."""
    import asyncio  # its import takes as long as that of the whole sandbox

    return await asyncio.to_thread(
        run_tests,
        code,
        tests,
        limits,
        entry_point=entry_point,
        canonical=canonical,
        isolation=isolation,
        separate=separate,
    )


def _sample(tests: Sequence[Test] | str, entry_point: str, canonical: str) -> Sample:
    if isinstance(tests, str):
        tests_given: tuple[Test, ...] = (Test(program=tests),)
    else:
        tests_given = tuple(tests)
    for test in tests_given:
        if test.program and (fault := program_fault(test.program, entry_point)):
            raise UsageError(f"the tests: {fault}")
    reads = bool(tests_given) and all(test.stdin is not None for test in tests_given)
    return Sample(
        "",
        tests=tests_given,
        entry_point=entry_point,
        references=(canonical,) if canonical else (),
        problem_type=ProblemType.STDIN if reads else None,
    )


def _take(isolation: str, *, separate: bool) -> Sandbox:
    with _LOCK:
        idle = _IDLE.setdefault((isolation, separate), [])
        if idle:
            return idle.pop()
    return Sandbox(workers=1, isolation=isolation, separate=separate, dedupe=False)  # type: ignore[arg-type]  # checked there


@atexit.register
def _close_all() -> None:
    with _LOCK:
        for boxes in _IDLE.values():
            for box in boxes:
                box.close()
            boxes.clear()
