"""The sandbox: jobs in, outcomes out, whatever the code in them tries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from markbook.sandbox.box import WorkerBox
from markbook.sandbox.findings import Findings
from markbook.sandbox.job import Job
from markbook.sandbox.record_store import NOTHING_KEPT, Keep, RecordStore, identity
from markbook.sandbox.scheduler import Rules, Scheduler
from markbook.sandbox.worker import Interpreter
from markbook.sandbox.worker_pool import WorkerPool
from markbook.types import Isolation, Outcome


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
        keep: Keep = NOTHING_KEPT,
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
            adaptive: lower each sample's CPU limit to 20 times what its canonical solution needed, at least 3 s.
            explain: run an attempt that fails once more after its verdict, to see why.
            at_most: leave out the layers above this level, to see what a lesser machine would do.
            keep: what outlives this sandbox and is there for the next.
            pinned: give each worker a processor of its own; where several sandboxes share a machine, each begins at another.
            first: the place of the first worker's processor among the usable ones.
        """
        interpreter = Interpreter(python)
        self._worker_pool = WorkerPool(
            count=workers, isolation=isolation, interpreter=interpreter, at_most=at_most, pinned=pinned, first=first
        )
        self._rules = Rules(separate=separate, dedupe=dedupe, adaptive=adaptive, explain=explain)
        self._known = Findings(
            RecordStore(keep.plans), RecordStore(keep.verdicts), identity(interpreter) if keep != NOTHING_KEPT else ""
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

        The outcomes do not depend on the number of workers or on the order.

        Args:
            jobs: may be made while others run.
            stop: a descriptor; once it is readable, what runs is ended and so are the workers, until the next run.

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
        for worker in list(self._worker_pool.workers):
            for entry in worker.jobs[:1]:
                if not entry.calibrates:
                    since_by_key[entry.job.key] = worker.since
        return since_by_key

    @property
    def pids(self) -> list[int]:
        """The process of each worker that runs."""
        return [worker.pid for worker in self._worker_pool.workers]
