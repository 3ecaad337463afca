"""The sandbox: jobs in, outcomes out, whatever the code in them tries."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from markbook.errors import UsageError
from markbook.sandbox.job import Job
from markbook.sandbox.record_store import NO_CACHE, CacheFiles, RecordStore, identity
from markbook.sandbox.scheduler import Findings, Rules, Scheduler
from markbook.sandbox.worker import Interpreter, Layer, WorkerPool
from markbook.testcode.programs import program_fault
from markbook.types import Isolation, Limits, Outcome, ProblemType, Sample, Test

# What every sandbox is, whatever it executes: workers that start on entry and end on exit, at one level of isolation.


class WorkerBox:
    """Isolated workers as a context manager."""

    _worker_pool: WorkerPool

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def level(self) -> Isolation:
        """The level of isolation that was reached."""
        return self._worker_pool.level

    def layers(self) -> list[Layer]:
        """Return the isolation layer by layer, as the workers found it."""
        self.start()
        return list(self._worker_pool.layers)

    def start(self, most: int | None = None) -> None:
        """Start the workers, at most so many; does nothing if they run.

        Raises:
            EnvironmentUnfitError: the isolation that this machine allows is below what was asked for.
        """
        self._worker_pool.start(most)

    def close(self) -> None:
        """End the workers and everything in them."""
        self._worker_pool.close()


class Sandbox(WorkerBox):
    """Executes attempts in isolated workers; they start on entry and end on exit."""

    def __init__(  # noqa: PLR0913 - all by name, each with a default
        self,
        *,
        workers: int | None = None,
        isolation: Literal["auto", "strict", "weak"] = "auto",
        python: Path | None = None,
        separate: bool = True,
        dedupe: bool = True,
        adaptive: bool = False,
        explain: bool = False,
        at_most: Isolation = Isolation.A,
        cache: CacheFiles = NO_CACHE,
        pinned: bool = True,
        first: int = 0,
    ) -> None:
        """Set up, starting nothing.

        Args:
            workers: how many attempts run at once; one per usable core when None.
            isolation: `auto` refuses below level B, `strict` below A, `weak` nothing.
            python: the interpreter whose environment the candidates see; the running one when None.
            separate: keep tests and candidate in different processes wherever that gives the right verdict.
            dedupe: run exactly equal jobs once.
            adaptive: lower each sample's CPU limit to 20 times what its canonical solution and tests needed, at least 3 s.
            explain: run an attempt that fails once more after its verdict, to see why.
            at_most: leave out the layers above this level, to see what a lesser machine would do.
            cache: what outlives this sandbox and is there for the next.
            pinned: give each worker a processor of its own; where several sandboxes share a machine, each begins at another.
            first: the place of the first worker's processor among the usable ones.
        """
        interpreter = Interpreter(python)
        self._worker_pool = WorkerPool(
            count=workers, isolation=isolation, interpreter=interpreter, at_most=at_most, pinned=pinned, first=first
        )
        self._rules = Rules(separate=separate, dedupe=dedupe, adaptive=adaptive, explain=explain)
        self._known = Findings(
            RecordStore(cache.plans), RecordStore(cache.verdicts), identity(interpreter) if cache != NO_CACHE else ""
        )

    @property
    def duplicates(self) -> int:
        """How many jobs shared the outcome of an equal one."""
        return self._known.duplicates

    @property
    def reused(self) -> int:
        """How many jobs got the outcome of an earlier run."""
        return self._known.reused

    def begin(self, most: int | None = 1) -> None:
        """Let workers start while the caller prepares the jobs, at most so many of them."""
        self._worker_pool.begin(most)

    def close(self) -> None:
        """End the workers and everything in them."""
        super().close()
        self._known.close()

    def run(self, jobs: Iterable[Job], *, stop: int | None = None) -> Iterator[tuple[Job, Outcome]]:
        """Execute every job; yield each with its outcome as it completes, longest expected first.

        The outcomes do not depend on the number of workers or on the order, and jobs may be made while others run.
        `stop` is a descriptor; once it is readable, what runs is ended and so are the workers, until the next run.

        Raises:
            EnvironmentUnfitError: the workers cannot be started.
            Stopped: `stop` became readable.
        """
        self.start()
        yield from Scheduler(self._worker_pool, self._rules, self._known, jobs, stop=stop).results()

    def forget(self, most: int) -> None:
        """Keep in memory only what the latest so many samples have shown: for a sandbox that never ends."""
        self._known.forget(most)

    @property
    def running(self) -> dict[str, float]:
        """Since when (`time.monotonic`) each job has been running that a worker is at, by key; for any thread to ask."""
        since_by_key: dict[str, float] = {}
        # a copy: the thread that runs the jobs may be replacing a worker at this moment
        for worker in list(self._worker_pool.workers):
            for entry in worker.jobs[:1]:
                if not entry.calibrates:
                    since_by_key[entry.job.key] = worker.since
        return since_by_key

    @property
    def pids(self) -> list[int]:
        """The process of each worker that runs."""
        return [worker.pid for worker in self._worker_pool.workers]


# Executing code against tests from a program or a notebook, without setting anything up.

_LOCK = threading.Lock()
_IDLE: dict[tuple[str, bool], list[Sandbox]] = {}
if hasattr(os, "register_at_fork"):
    # they are the parent's: a child that ran there, or ended them with itself, would take their folders away from it
    os.register_at_fork(after_in_child=_IDLE.clear)


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
    if isinstance(tests, str):
        tests_given: tuple[Test, ...] = (Test(program=tests),)
    else:
        tests_given = tuple(tests)
    for test in tests_given:
        if test.program and (fault := program_fault(test.program, entry_point)):
            raise UsageError(f"the tests: {fault}")
    reads = bool(tests_given) and all(test.stdin is not None for test in tests_given)
    sample = Sample(
        "",
        tests=tests_given,
        entry_point=entry_point,
        references=(canonical,) if canonical else (),
        problem_type=ProblemType.STDIN if reads else None,
    )
    with _LOCK:
        idle = _IDLE.setdefault((isolation, separate), [])
        box = idle.pop() if idle else None
    if box is None:  # not under the lock: a sandbox takes a while to start
        box = Sandbox(workers=1, isolation=isolation, separate=separate, dedupe=False)  # type: ignore[arg-type]  # checked there
    try:
        ((_, outcome),) = box.run([Job("", code, sample, limits)])
    # its worker may be in the middle of something: the next caller is not to get that one's answer
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


@atexit.register
def _close_all() -> None:
    with _LOCK:
        for boxes in _IDLE.values():
            for box in boxes:
                box.close()
            boxes.clear()
