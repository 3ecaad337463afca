"""The controller: feeds the workers, settles every outcome, and survives whatever happens to them."""

from __future__ import annotations

import heapq
import itertools
import math
import os
import selectors
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from markbook.errors import EnvironmentUnfitError
from markbook.sandbox import job as jobs
from markbook.sandbox.job import Job
from markbook.sandbox.outcomes import all_failed, outcome
from markbook.sandbox.worker import Interpreter, Worker, WorkerLost
from markbook.types import ErrorKind, Isolation, Outcome, Sample

_WINDOW = 2048
"""How many jobs are looked at ahead, to take the longest first; memory does not grow beyond it."""
_AHEAD = 2
"""Jobs given to a worker at once, so that it never waits for the next."""
ADAPTIVE_FACTOR = 20.0
"""How many times the canonical solution's CPU time an attempt may use where the limit adapts."""
_GRACE = 30.0
"""Seconds beyond every limit of a job after which its worker counts as lost."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of the isolation, as it was found by trying."""

    name: str
    ok: bool
    detail: str = ""
    """The errno and what was attempted, where it failed."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How the tests of one sample are kept apart from the candidate, found with its canonical solution."""

    record: dict[str, Any] | None
    """What the examiner is told; None where every test runs beside the candidate without being looked at."""
    seconds: float | None = None
    """CPU seconds that the canonical solution needed."""


@dataclass(order=True)
class _Entry:
    priority: tuple[float, int]
    job: Job = field(compare=False)
    task: str = field(compare=False)
    digest: str = field(compare=False, default="")
    tries: int = field(compare=False, default=0)
    twins: list[Job] = field(compare=False, default_factory=list)
    """Jobs that are exactly the same and get the same outcome."""
    calibrates: bool = field(compare=False, default=False)
    """Whether this is a canonical solution, run to see how the tests that others wait for can be kept apart."""


class Sandbox:
    """Executes attempts in isolated workers. A context manager; the workers start on entry and end on exit."""

    def __init__(
        self,
        *,
        workers: int | None = None,
        isolation: Literal["auto", "strict", "weak"] = "auto",
        python: Path | None = None,
        separate: bool = True,
        dedupe: bool = True,
        adaptive: bool = False,
        at_most: Isolation = Isolation.A,
        pinned: bool = True,
    ) -> None:
        """Set up, starting nothing.

        Args:
            workers: how many attempts run at once; one per usable core when None.
            isolation: `auto` refuses below level B, `strict` below A, `weak` nothing.
            python: the interpreter whose environment the candidates see; the running one when None.
            separate: keep tests and candidate in different processes wherever that gives the right verdict.
            dedupe: run exactly equal jobs once.
            adaptive: lower each sample's CPU limit to 20 times what its canonical solution needed, at least 1 s.
            at_most: leave out the layers above this level, to see what a lesser machine would do.
            pinned: give each worker a processor of its own; not where several sandboxes share a machine.
        """
        self._processors = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        self._count = workers or max(1, len(self._processors) or (os.cpu_count() or 1))
        if not pinned:
            self._processors = []
        self._isolation = isolation
        self._interpreter = Interpreter(python)
        self._separate = separate
        self._dedupe = dedupe
        self._adaptive = adaptive
        self._at_most = at_most
        self._workers: list[Worker] = []
        self._layers: list[Layer] = []
        self._seconds: dict[str, float] = {}
        self._plans: dict[str, Plan] = {}
        self._sequence = itertools.count()
        self.level = self._target = Isolation.D
        self.duplicates = 0
        """How many jobs shared the outcome of an equal one."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        """Start the workers; does nothing if they run.

        Raises:
            EnvironmentUnfitError: the isolation that this machine allows is below what was asked for.
        """
        if self._workers:
            return
        for level in (level for level in Isolation if level >= self._at_most):
            self._target = self.level = level
            first = self._worker(0)
            try:
                hello = first.greet()
            except WorkerLost as error:
                hello = {"unfit": str(error), "layers": [{"name": "start", "ok": False, "detail": str(error)}]}
            self._layers = [Layer(layer["name"], layer["ok"], layer["detail"]) for layer in hello["layers"]]
            if "unfit" not in hello:
                break
            first.close()
        else:
            raise EnvironmentUnfitError("the sandbox's workers do not start", hint="markbook doctor says more")
        self._workers = [first]
        self.level = reached(level, self._layers)
        self._refuse_below()
        self._workers += [self._worker(number) for number in range(1, self._count)]
        try:
            for worker in self._workers[1:]:
                worker.greet()
        except WorkerLost as error:
            self.close()
            raise EnvironmentUnfitError(f"a worker of the sandbox does not start: {error}") from None

    def _refuse_below(self) -> None:
        least = {"strict": Isolation.A, "auto": Isolation.B, "weak": Isolation.D}[self._isolation]
        if self.level <= least:
            return
        failed = "; ".join(f"{layer.name} ({layer.detail})" for layer in self._layers if not layer.ok)
        self.close()
        raise EnvironmentUnfitError(
            f"isolation level {least} is wanted and this machine allows {self.level}: {failed or 'not Linux'}",
            hint="--isolation weak runs the code all the same; only for code that you trust",
        )

    def close(self) -> None:
        """End the workers and everything in them."""
        for worker in self._workers:
            worker.close()
        self._workers = []

    def layers(self) -> list[Layer]:
        """Return the isolation layer by layer, as the workers found it."""
        self.start()
        return list(self._layers)

    def run(self, jobs_: Iterable[Job]) -> Iterator[tuple[Job, Outcome]]:
        """Execute every job; yield each with its outcome as it completes, longest expected first.

        The outcomes do not depend on the number of workers or on the order.

        Raises:
            EnvironmentUnfitError: the workers cannot be started.
        """
        self.start()
        yield from _Run(self, jobs_).results()

    def _worker(self, number: int) -> Worker:
        processor = self._processors[number % len(self._processors)] if self._processors else None
        return Worker(self._interpreter, self._target, number=number, processor=processor)

    def _replace(self, worker: Worker) -> Worker:
        worker.close()
        made = self._worker(worker.number)
        self._workers[self._workers.index(worker)] = made
        made.greet()
        return made


def reached(target: Isolation, layers: list[Layer]) -> Isolation:
    """Return the level that these layers amount to."""
    good = {layer.name for layer in layers if layer.ok}
    bad = {layer.name for layer in layers if not layer.ok}
    if "seccomp" not in good or "limits" not in good or "self-test" in bad:
        return Isolation.D
    files = "landlock" in good or "private root" in good
    if not files:
        return Isolation.C
    whole = {"namespaces", "private root", "landlock", "capabilities", "no new privileges"}
    return Isolation.A if target == Isolation.A and whole <= good else Isolation.B


def beside(sample: Sample) -> dict[str, Any]:
    """Return the plan by which every test of a sample runs in the candidate's process."""
    return {"tests": [None] * len(sample.tests), "pins": {}, "sure": True}


class _Run:
    """One pass over a stream of jobs."""

    def __init__(self, sandbox: Sandbox, jobs_: Iterable[Job]) -> None:
        self._box = sandbox
        self._source = iter(jobs_)
        self._waiting: list[_Entry] = []
        self._alone: list[_Entry] = []
        """Jobs whose worker was lost, to be run once more with nothing beside them in their worker."""
        self._open: dict[str, _Entry] = {}
        self._held: dict[str, list[_Entry]] = {}
        """Jobs by the task whose calibration they wait for."""
        self._done: list[tuple[Job, Outcome]] = []
        self._texts: dict[int, tuple[object, str]] = {}
        self._exhausted = False
        self._selector = selectors.DefaultSelector()

    def results(self) -> Iterator[tuple[Job, Outcome]]:
        for worker in self._box._workers:
            self._selector.register(worker.sock, selectors.EVENT_READ, worker)
        try:
            while True:
                self._refill()
                self._feed()
                yield from self._take_done()
                if not any(worker.jobs for worker in self._box._workers):
                    if self._exhausted and not (self._waiting or self._alone or self._done or self._held):
                        return
                    continue
                self._collect()
        finally:
            self._selector.close()
            if any(worker.jobs for worker in self._box._workers):
                self._box.close()  # left early: what runs is of no use to anybody

    def _take_done(self) -> list[tuple[Job, Outcome]]:
        found, self._done = self._done, []
        return found

    def _refill(self) -> None:
        while not self._exhausted and len(self._waiting) + len(self._done) < _WINDOW:
            job = next(self._source, None)
            if job is None:
                self._exhausted = True
                return
            self._add(job)

    def _add(self, job: Job) -> None:
        if not job.code.strip():
            self._done.append(
                (
                    job,
                    all_failed(
                        job.sample,
                        ErrorKind.NO_COMPLETION,
                        message="the solution is empty",
                        isolation=self._box.level,
                    ),
                )
            )
            return
        task = self._task(job)
        digest = ""
        if self._box._dedupe:
            digest = jobs.digest(job.code, task, repr(job.limits))
            twin = self._open.get(digest)
            if twin is not None:
                self._box.duplicates += 1
                twin.twins.append(job)
                return
        known = self._box._seconds.get(job.sample.id)
        expected = known if known is not None else len(job.code) * 1e-7
        entry = _Entry((-expected, next(self._box._sequence)), job, task, digest)
        if digest:
            self._open[digest] = entry
        self._queue(entry)

    def _queue(self, entry: _Entry) -> None:
        """Let a job run, after the calibration of its task where that is to be done first."""
        plans, task = self._box._plans, jobs.digest(entry.task)
        canonical = entry.job.sample.references[0] if entry.job.sample.references else ""
        wanted = self._box._separate or (self._box._adaptive and canonical)
        if not wanted or task in plans:
            heapq.heappush(self._waiting, entry)
        elif task in self._held:
            self._held[task].append(entry)
        else:
            self._held[task] = [entry]
            job = Job("", canonical, entry.job.sample, entry.job.limits)
            first = _Entry((-math.inf, next(self._box._sequence)), job, entry.task, task, calibrates=True)
            heapq.heappush(self._waiting, first)

    def _calibrated(self, entry: _Entry, record: dict[str, Any] | None, seconds: float | None) -> None:
        self._box._plans[entry.digest] = Plan(record, seconds)
        for held in self._held.pop(entry.digest):
            heapq.heappush(self._waiting, held)

    def _task(self, job: Job) -> str:
        known = self._texts.get(id(job.sample))
        if known is not None and known[0] is job.sample:
            return known[1]
        if len(self._texts) > _WINDOW:
            self._texts.clear()
        text = jobs.task_text(job.sample)
        self._texts[id(job.sample)] = (job.sample, text)
        return text

    def _feed(self) -> None:
        for worker in list(self._box._workers):
            if self._alone and not worker.jobs:
                self._give(worker, self._alone.pop())
                continue
            while self._waiting and len(worker.jobs) < _AHEAD and not (worker.jobs and worker.jobs[0].tries):
                if not self._give(worker, heapq.heappop(self._waiting)):
                    break

    def _give(self, worker: Worker, entry: _Entry) -> bool:
        plan = self._box._plans.get(jobs.digest(entry.task))
        limits = entry.job.limits
        if self._box._adaptive and plan is not None and plan.seconds is not None:
            limits = replace(limits, seconds=min(limits.seconds, max(1.0, ADAPTIVE_FACTOR * plan.seconds)))
        record: dict[str, Any] = {
            "id": entry.priority[1],
            "code": entry.job.code,
            "task": entry.task,
            "limits": jobs.limits_on_wire(limits),
        }
        if entry.calibrates:
            record["calibrate"] = True
        elif self._box._separate and plan is not None:
            record["plan"] = plan.record
        try:
            worker.give(entry, record)
        except WorkerLost:
            self._lost(worker)
            return False
        return True

    def _collect(self) -> None:
        events = self._selector.select(self._patience())
        for key, _ in events:
            worker: Worker = key.data
            try:
                records = worker.read()
                for record in records:
                    self._settle(worker, record)
            except (WorkerLost, KeyError, TypeError, ValueError, IndexError):
                self._lost(worker)
        if not events:
            for worker in list(self._box._workers):
                if worker.jobs and time.monotonic() > self._deadline(worker):
                    self._lost(worker)

    @staticmethod
    def _deadline(worker: Worker) -> float:
        return worker.since + jobs.wall_limits(worker.jobs[0].job.limits)[1] + _GRACE

    def _patience(self) -> float:
        waits = [self._deadline(worker) - time.monotonic() for worker in self._box._workers if worker.jobs]
        return max(0.0, min(waits))

    def _settle(self, worker: Worker, record: dict[str, Any]) -> None:
        entry: _Entry = worker.jobs[0]
        if record["id"] != entry.priority[1] or len(record["tests"]) != len(entry.job.sample.tests):
            raise WorkerLost("an answer to another question")
        found = outcome(record, self._box.level)
        plan = record["plan"] if entry.calibrates and "plan" in record else None
        worker.jobs.pop(0)
        worker.since = time.monotonic()
        if entry.calibrates:
            self._calibrated(entry, plan or beside(entry.job.sample), found.seconds)
        else:
            self._finish(entry, found)

    def _finish(self, entry: _Entry, found: Outcome) -> None:
        if found.seconds is not None:
            self._box._seconds[entry.job.sample.id] = found.seconds
        self._open.pop(entry.digest, None)
        self._done.append((entry.job, found))
        self._done.extend((twin, found) for twin in entry.twins)

    def _lost(self, worker: Worker) -> None:
        """Replace a worker; run what it had under way once more, alone, and then call it a crash."""
        held = worker.jobs
        worker.jobs = []
        self._selector.unregister(worker.sock)
        made = self._box._replace(worker)
        self._selector.register(made.sock, selectors.EVENT_READ, made)
        for position, entry in enumerate(held):
            if position:
                heapq.heappush(self._waiting, entry)
            elif entry.tries and entry.calibrates:
                self._calibrated(entry, beside(entry.job.sample), None)
            elif entry.tries:
                self._finish(
                    entry,
                    all_failed(
                        entry.job.sample,
                        ErrorKind.OTHER,
                        message="the worker was lost twice while it ran",
                        isolation=self._box.level,
                        error_type="Crash",
                        flags=("crash",),
                    ),
                )
            else:
                entry.tries = 1
                self._alone.append(entry)
