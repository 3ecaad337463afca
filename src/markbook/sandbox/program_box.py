"""Executing programs in isolation: compilers and what they make, interpreters with a text. No event loop, no threads."""

from __future__ import annotations

import itertools
import selectors
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from markbook.sandbox.box import WorkerBox
from markbook.sandbox.guest.walls.isolation import inside
from markbook.sandbox.job import wall_limits
from markbook.sandbox.program import Executed, ProgramRun, on_wire, read_executed
from markbook.sandbox.worker import Interpreter, Stopped, Worker, WorkerLost
from markbook.sandbox.worker_pool import WorkerPool
from markbook.types import Isolation

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
        """Set up, starting nothing.

        Args:
            folders: what programs may read and run: the toolchains.
            workers: how many run at once; one per usable core when None.
            isolation: `auto` refuses below level B, `strict` below A, `weak` nothing.
            at_most: leave out the layers above this level.
            pinned: give each worker a processor of its own.
            stop: a descriptor; once it is readable, what runs is ended and so are the workers, until the next run.
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
            if self._waiting and not worker.jobs:
                self._give(worker, *self._waiting.popleft())

    def _give(self, worker: Worker, run: ProgramRun, tries: int) -> None:
        try:
            worker.give((run, tries), on_wire(run, next(self._numbers)))
        except WorkerLost:
            self._lost(worker)

    def _collect(self) -> None:
        with selectors.DefaultSelector() as selector:
            busy = [worker for worker in self._worker_pool.workers if worker.jobs]
            for worker in busy:
                selector.register(worker.sock, selectors.EVENT_READ, worker)
            if self.stop is not None:
                selector.register(self.stop, selectors.EVENT_READ, None)
            patience = min(map(_deadline, busy)) - time.monotonic()
            events = selector.select(max(0.0, patience))
        if any(key.data is None for key, _ in events):
            self._end()
            raise Stopped
        for key, _ in events:
            self._read(key.data)
        if not events:
            for worker in busy:
                if time.monotonic() > _deadline(worker):
                    self._lost(worker)

    def _end(self) -> None:
        """End what runs and forget what waits."""
        self.close()
        self._waiting.clear()
        self._done.clear()

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
