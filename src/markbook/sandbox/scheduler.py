"""Feeding the workers: which job runs when, what it is told, and what becomes of it whatever happens to its worker.

Theory of operation. Jobs come in as a stream, are looked at `_WINDOW` at a time, and wait in a `JobQueue`. A job goes
through at most four steps:

1. *Known already?* An equal job under way lends its outcome (a twin); a verdict kept from an earlier run is taken over.
2. *Calibration.* The first job of a problem waits until the reference has run and has shown how the tests can be kept apart
   (the `SamplePlan`); the other jobs of that problem wait for the same.
3. *Apart.* Each attempt runs apart from its tests.
4. *Beside.* A test that this does not decide has to go into the solution's process, with what it expects. No check can show
   that this leaves no mark for a later attempt. So such tests wait in `_later` until no attempt of the problem is left to
   run apart.

What crosses to a worker is one record per job, and one comes back; both are checked here. Every problem and model has an
examiner of its own (`guest.examination.pristine`). The scheduler decides where one ends: a worker is given another problem's
tests, or another model's answers, only when it has answered all that it was given before.

Why it is safe: an examiner answers for the jobs that it was given, by their tokens, and in a form that is checked, or its
worker is lost. A lost worker is replaced, and the job that was first in it runs once more, alone, in a worker that was never given
anything else. If that is lost too, the outcome says so (`LOST`) instead of claiming a failure. No outcome of one job
depends on which worker ran it or on what else ran there.
"""

from __future__ import annotations

import heapq
import itertools
import math
import secrets
import selectors
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from markbook.sandbox import job as jobs
from markbook.sandbox.guest.wire import PROMPT_SECONDS
from markbook.sandbox.job import LOST, Job, all_failed, may_be_remembered, outcome
from markbook.sandbox.record_store import RecordStore
from markbook.sandbox.worker import Stopped, Worker, WorkerLost, WorkerPool
from markbook.types import ErrorKind, Outcome, ProblemType, Sample, Verdict

if TYPE_CHECKING:
    from markbook.sandbox.guest.wire_records import PlanRecord, WorkerAnswer


# What earlier jobs have shown: how each problem's tests are kept apart, how long it takes, and what came of it.


@dataclass(frozen=True, slots=True)
class SamplePlan:
    """How the tests of one sample are kept apart from the candidate, found with its canonical solution."""

    record: PlanRecord | None
    """What the examiner is told; None where every test runs beside the candidate without being looked at."""
    seconds: float | None = None
    """CPU seconds that the canonical solution needed."""
    compiled: str = ""
    """The tests as an examiner has compiled them, which every later one of this sample is spared; empty if there is nothing."""


@dataclass
class Findings:
    """What earlier jobs have shown."""

    kept_plans: RecordStore
    cached_verdicts: RecordStore
    identity: str
    """What the kept ones depend on beside the job; see `record_store.identity`."""
    plans: dict[str, SamplePlan] = field(default_factory=dict)
    tasks: dict[int, tuple[Sample, SampleJobs]] = field(default_factory=dict)
    """By the sample's `id()`, with the sample itself: the number of one that has gone may be another's."""
    seconds: dict[str, float] = field(default_factory=dict)
    """CPU time of the last attempt at a sample, by the sample's id."""
    duplicates: int = 0
    reused: int = 0
    sequence: Iterator[int] = field(default_factory=itertools.count)

    def plan(self, task: SampleJobs) -> SamplePlan | None:
        """Return the plan for a task, found now or in an earlier run."""
        if task.name not in self.plans:
            sample_plan = self.kept_plans.get(jobs.digest(self.identity, task.name, task.canonical))
            if sample_plan is not None:
                self.plans[task.name] = SamplePlan(**sample_plan)
        return self.plans.get(task.name)

    def learn(self, task: SampleJobs, plan: SamplePlan, *, keep: bool) -> None:
        """Note the plan for a task, and if it is to be kept, for later runs too."""
        self.plans[task.name] = plan
        if keep:
            self.kept_plans.put(jobs.digest(self.identity, task.name, task.canonical), asdict(plan))

    def forget(self, most: int) -> None:
        """Keep only the latest so many plans and times in memory."""
        for table in (self.plans, self.seconds):
            for name in list(itertools.islice(table, max(0, len(table) - most))):
                del table[name]

    def close(self) -> None:
        """Write what is to be kept."""
        self.kept_plans.close()
        self.cached_verdicts.close()


def beside(sample: Sample) -> PlanRecord:
    """Return the plan by which every test of a sample runs in the candidate's process."""
    return {"tests": [None] * len(sample.tests), "pins": {}, "sure": True}


# Jobs that wait: what imports little first, then the longest, and those of one sample and model by one worker.
#
# Each sample and model has an examiner of its own, which costs milliseconds, and compiles the tests. So a worker stays with
# the jobs of one sample and model until none is left, goes on with what is most like them, and takes over another worker's
# when it has no work of its own.

Priority = tuple[int, float, int]
"""How heavy the modules are that it imports (-1: it calibrates), minus the expected seconds, and when it came."""
_Key = tuple[int, str, str]
"""How heavy, whose tests, and whose answers: the jobs that stay together."""


class SampleJobs(NamedTuple):
    """What jobs of one sample have in common."""

    text: str
    """The tests, as the examiner reads them."""
    name: str
    """A digest of the text and of the canonical solution: how tests are kept apart was found out with that one."""
    canonical: str
    weight: int = 0
    """How heavy the modules are that the tests import."""
    imports: tuple[str, ...] = ()
    """Those of them that are worth loading before tests run beside a solution."""


@dataclass(eq=False)
class QueuedJob:
    """A job on its way."""

    priority: tuple[int, float, int]
    """What calibrates first; then what imports little, the longest first; then as it came."""
    job: Job
    task: SampleJobs
    digest: str = ""
    """The same for equal jobs."""
    token: str = ""
    """What its answer has to begin with, so that a stray write to the worker's socket is none."""
    tries: int = 0
    twins: list[Job] = field(default_factory=list)
    """Jobs that are exactly the same and get the same outcome."""
    modules: list[str] = field(default_factory=list)
    """What its worker loads before it."""
    weight: int = 0
    """How heavy these are."""
    later: dict[str, Any] | None = None
    """What has become of it apart, where some of its tests are still to run beside it."""
    calibrates: bool = False
    """Whether this is a canonical solution, run to see how the tests that others wait for can be kept apart."""
    runs_prompt: bool = False
    """Whether its examiner is yet to find out what the prompt's code makes."""

    @property
    def is_program(self) -> bool:
        """Whether its solution is a program that reads and writes: always apart from what it is to print."""
        return self.job.sample.problem_type is ProblemType.STDIN

    def __lt__(self, other: QueuedJob) -> bool:
        return self.priority < other.priority


class JobQueue:
    """Jobs in groups, each the work of one worker as long as there is other work for the others."""

    def __init__(self) -> None:
        self._groups: dict[_Key, list[QueuedJob]] = {}
        self._current: dict[int, _Key] = {}
        """What each worker took last."""
        self._owners: dict[_Key, int | None] = {}
        self._last: dict[str, int] = {}
        """The worker that last took a job of a task."""
        self._queues: defaultdict[int | None, list[tuple[Priority, _Key]]] = defaultdict(list)
        """The first job of each group, by the group's owner; one that has been overtaken or taken stays until met."""
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def reserve(self, worker: int, task: str) -> None:
        """Let a worker begin with the jobs of a task that it was at before."""
        self._last[task] = worker

    def push(self, entry: QueuedJob) -> None:
        """Let a job wait."""
        key = (entry.priority[0], entry.task.name, entry.job.model)
        if key not in self._groups:
            self._groups[key] = []
            self._owners[key] = self._last.get(entry.task.name)
        group = self._groups[key]
        heapq.heappush(group, entry)
        self._size += 1
        # only a new first job is put into the queue: those behind it come up when `pop` takes the first
        if group[0] is entry:
            heapq.heappush(self._queues[self._owners[key]], (entry.priority, key))

    def pop(self, worker: int, *, stays: bool = False) -> QueuedJob | None:
        """Return the next job for a worker: of its own samples or new ones, and only then of another's; None if there is none.

        `stays`: only one that its examiner may have, too.
        """
        key = self._current.get(worker)
        if key is None or self._owners.get(key) != worker:
            key = None if stays else self._next(worker)
        if key is None:
            return None
        self._current[worker] = key
        group = self._groups[key]
        entry = heapq.heappop(group)
        self._size -= 1
        self._last[key[1]] = worker
        if group:
            self._owners[key] = worker
            heapq.heappush(self._queues[worker], (group[0].priority, key))
        else:
            del self._groups[key], self._owners[key]
        return entry

    def _next(self, worker: int) -> _Key | None:
        if worker not in self._current and (reserved := self._front(worker)):
            return reserved[1]
        fronts = [front for owner in (worker, None) if (front := self._front(owner))]
        fronts = fronts or [front for owner in list(self._queues) if (front := self._front(owner))]
        # the lightest come before even the worker's own sample: what is once loaded makes every later fork dearer
        last = self._current.get(worker, (0, "", ""))[1]
        return min(fronts, key=lambda front: (front[1][0], front[1][1] != last, front))[1] if fronts else None

    def least_weight(self) -> int:
        """Return how heavy the modules are that the lightest of them imports; none waiting counts as the heaviest."""
        return min((front[0][0] for owner in list(self._queues) if (front := self._front(owner))), default=1 << 30)

    def _front(self, owner: int | None) -> tuple[Priority, _Key] | None:
        queue = self._queues[owner]
        while queue:
            priority, key = queue[0]
            group = self._groups.get(key)
            # a heap has no cheap removal: an entry that does not describe its group any more goes when it comes up
            if group and group[0].priority == priority and self._owners[key] == owner:
                return queue[0]
            heapq.heappop(queue)
        return None


_WINDOW = 2048
"""How many jobs are looked at ahead, to take the longest first; memory does not grow beyond it."""
_MOST_LATER = 20_000
"""So many jobs are held back until no attempt at their sample is left to run apart; of more, as far as is known."""
_AHEAD = 2
"""Jobs given to a worker at once, so that it never waits for the next."""
_FEW = 4
"""Waiting jobs a worker by which the end is near."""
ADAPTIVE_FACTOR, ADAPTIVE_LEAST = 20.0, 3.0
"""How many times the canonical solution's CPU time an attempt may use where the limit adapts, and how much at least."""
_WORTH_A_START = 200
"""Jobs for which it pays to start a worker anew: a millisecond each beside a fifth of a second."""
_GRACE = 30.0
"""Seconds beyond every limit of a job after which its worker counts as lost."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How jobs are run, whatever they are; see `Sandbox`."""

    separate: bool
    dedupe: bool
    adaptive: bool
    explain: bool = False


class Scheduler:
    """One pass over a stream of jobs."""

    def __init__(
        self,
        worker_pool: WorkerPool,
        rules: Rules,
        findings: Findings,
        jobs_: Iterable[Job],
        *,
        stop: int | None = None,
    ) -> None:
        self._worker_pool = worker_pool
        self._stop = stop
        """A descriptor that becomes readable when the pass is to end at once."""
        self._rules = rules
        self._known = findings
        self._source = iter(jobs_)
        self._waiting = JobQueue()
        self._alone: list[QueuedJob] = []
        """Jobs whose worker was lost, to be run once more with nothing beside them in their worker."""
        self._open: dict[str, QueuedJob] = {}
        self._held: dict[str, list[QueuedJob]] = {}
        """Jobs by the task whose calibration they wait for."""
        self._apart: defaultdict[str, int] = defaultdict(int)
        """By task how many jobs are still to run apart, or are at it."""
        self._later: defaultdict[str, list[QueuedJob]] = defaultdict(list)
        """By task the jobs with tests that are to run beside the solution, after all that run apart."""
        self._done: list[tuple[Job, Outcome]] = []
        self._exhausted = False
        self._selector = selectors.DefaultSelector()

    def results(self) -> Iterator[tuple[Job, Outcome]]:
        """Yield each job with its outcome as it completes."""
        for worker in self._worker_pool.workers:
            if worker.group and worker.group[1] and not worker.has_mixed:
                self._waiting.reserve(worker.number, worker.group[0])
            else:  # what comes now may be of others than what came before, or is to run apart first
                worker.group = None
            self._selector.register(worker.sock, selectors.EVENT_READ, worker)
        if self._stop is not None:
            self._selector.register(self._stop, selectors.EVENT_READ, None)
        try:
            while True:
                self._refill()
                self._release()
                self._feed()
                finished, self._done = self._done, []
                yield from finished
                if not any(worker.jobs for worker in self._worker_pool.workers):
                    if self._exhausted and not (
                        self._waiting or self._alone or self._done or self._held or self._later
                    ):
                        return
                    continue
                self._collect()
        finally:
            self._selector.close()
            # a worker that still runs something would answer into the next pass, which has never heard of that job
            if any(worker.jobs for worker in self._worker_pool.workers):
                self._worker_pool.close()  # left early: what runs is of no use to anybody

    def _refill(self) -> None:
        while not self._exhausted and len(self._waiting) + len(self._done) < _WINDOW:
            job = next(self._source, None)
            if job is None:
                self._exhausted = True
                return
            self._add(job)

    def _add(self, job: Job) -> None:
        if not job.code.strip():
            failed = all_failed(
                job.sample, ErrorKind.NO_COMPLETION, message="the solution is empty", isolation=self._worker_pool.level
            )
            self._done.append((job, failed))
            return
        task = self._task(job)
        # with the model: equal answers of two models are two attempts, each by an examiner of its own
        digest = jobs.digest(job.code, task.name, repr(jobs.limits_for(job)), "all" if job.meets_all else "", job.model)
        twin = self._open.get(digest) if self._rules.dedupe else None
        if twin is not None:
            self._known.duplicates += 1
            twin.twins.append(job)
            return
        verdicts = self._known.cached_verdicts
        verdict = verdicts.get(self._verdict_key(task, digest)) if verdicts.is_used else None
        if verdict is not None:
            self._known.reused += 1
            self._done.append((job, outcome(verdict, self._worker_pool.level)))
            return
        # of a sample that never ran only the length of its code is known, which weighs little beside a measured time
        expected = self._known.seconds.get(job.sample.id, len(job.code) * 1e-7)
        weight, modules = jobs.preload(job.code)
        entry = QueuedJob(
            (weight, -expected, next(self._known.sequence)), job, task, digest, modules=modules, weight=weight
        )
        if self._rules.dedupe:
            self._open[digest] = entry
        self._queue(entry)

    def _verdict_key(self, task: SampleJobs, digest: str) -> str:
        ways = repr((self._worker_pool.level, self._rules.separate, self._rules.adaptive, self._rules.explain))
        return jobs.digest(self._known.identity, digest, task.canonical, ways)

    def _release(self) -> None:
        """Let tests run beside solutions where no attempt of their sample is left to run apart from them."""
        if not self._later or not (self._exhausted or sum(map(len, self._later.values())) >= _MOST_LATER):
            # a job that is still to come may have to run apart, and then it must not find traces of the tests
            return
        for name in [name for name in self._later if not self._apart[name]]:
            for entry in self._later.pop(name):
                self._waiting.push(entry)

    def _queue(self, entry: QueuedJob) -> None:
        """Let a job run, after the calibration of its task where that is to be done first."""
        task = entry.task
        self._apart[task.name] += 1
        needs_plan = not entry.is_program and (self._rules.separate or (self._rules.adaptive and task.canonical))
        if not needs_plan or self._known.plan(task) is not None:
            self._waiting.push(entry)
        elif task.name in self._held:
            self._held[task.name].append(entry)
        else:
            self._held[task.name] = [entry]
            # under the key of nobody: its outcome is for the plan alone and is never handed to the caller
            job = Job("", task.canonical, entry.job.sample, entry.job.limits)
            weight, modules = jobs.preload(task.canonical)
            priority = (weight, -math.inf, next(self._known.sequence))
            first = QueuedJob(priority, job, task, modules=modules, weight=weight, calibrates=True)
            self._waiting.push(first)

    def _calibrate(self, task: SampleJobs, plan: SamplePlan, *, keep: bool) -> None:
        self._known.learn(task, plan, keep=keep)
        for waiting in self._held.pop(task.name):
            self._waiting.push(waiting)

    def _task(self, job: Job) -> SampleJobs:
        tasks = self._known.tasks
        task_known = tasks.get(id(job.sample))
        if task_known is not None and task_known[0] is job.sample:
            return task_known[1]
        if len(tasks) > _WINDOW:
            tasks.clear()
        text = jobs.task_text(job.sample)
        canonical = job.sample.references[0] if job.sample.references else ""
        weight, modules = jobs.preload(jobs.code_of_tests(job.sample))
        task = SampleJobs(text, jobs.digest(text, canonical), canonical, weight, tuple(modules))
        if job.sample.id:  # a benchmark's, which others hold too: tests of one job's own would fill the memory
            tasks[id(job.sample)] = (job.sample, task)
        return task

    def _feed(self) -> None:
        workers = len(self._worker_pool.workers)
        few = workers > 1 and len(self._waiting) <= _FEW * workers
        ahead = 1 if few else _AHEAD  # at the end nothing is to wait for one worker while another has nothing to do
        for candidate in list(self._worker_pool.workers):
            worker = self._replace_worker(candidate) if self._is_too_heavy(candidate) else candidate
            if self._alone and not worker.jobs:
                self._give(worker if worker.is_fresh else self._replace_worker(worker), self._alone.pop())
                continue
            while len(worker.jobs) < ahead and not (worker.jobs and worker.jobs[0].tries):
                # nothing waits behind a job on its second try: a worker lost again was lost by that job alone
                entry = self._waiting.pop(worker.number, stays=bool(worker.jobs))
                if entry is None or not self._give(worker, entry):
                    break

    def _is_too_heavy(self, worker: Worker) -> bool:
        """Whether an idle worker has loaded packages that make every fork dearer, and many jobs need none of them."""
        if worker.weight < jobs.HEAVY or worker.jobs or len(self._waiting) < _WORTH_A_START:
            return False
        return jobs.LIGHT <= self._waiting.least_weight() < jobs.HEAVY  # below: nobody knows what is held for those

    def _replace_worker(self, worker: Worker) -> Worker:
        self._selector.unregister(worker.sock)
        replacement = self._worker_pool.replace(worker)
        self._selector.register(replacement.sock, selectors.EVENT_READ, replacement)
        return replacement

    def _examine_anew(self, worker: Worker, modules: Sequence[str] = ()) -> None:
        self._selector.unregister(worker.sock)
        try:
            worker.examine_anew(modules)
        finally:
            self._selector.register(worker.sock, selectors.EVENT_READ, worker)

    def _give(self, worker: Worker, entry: QueuedJob) -> bool:
        plan = self._known.plans.get(entry.task.name)
        limits = jobs.limits_for(entry.job)
        # drawn each time that it is given: no answer that was made before can be the one to this
        entry.token = secrets.token_hex(8)
        if self._rules.adaptive and plan is not None and plan.seconds is not None:
            limits = replace(limits, seconds=min(limits.seconds, max(ADAPTIVE_LEAST, ADAPTIVE_FACTOR * plan.seconds)))
        record: dict[str, Any] = {"id": entry.token, "code": entry.job.code, "limits": jobs.limits_on_wire(limits)}
        if entry.modules:
            record["preload"] = entry.modules
            worker.weight = max(worker.weight, entry.weight)
        if entry.task.imports:
            record["imports"] = list(entry.task.imports)
        if self._rules.explain and not entry.calibrates and not entry.tries:
            record["explain"] = True  # not of one whose worker was lost: that is not to happen again
        if entry.is_program:
            record["all"] = entry.job.meets_all
        elif entry.calibrates:
            record["calibrate"] = True
        elif self._rules.separate and plan is not None:
            record["plan"] = plan.record
            record.update({"defers": True} if entry.later is None else {"later": entry.later})
        group = (entry.task.name, None if entry.calibrates else entry.job.model)
        try:
            # a worker that has only run the canonical solution has seen no model's answer, so any one model may have it
            if worker.group not in (group, (entry.task.name, None)):
                self._examine_anew(worker, entry.task.imports)
                record["task"] = entry.task.text
                if plan is not None:
                    record["compiled"] = plan.compiled
            entry.runs_prompt = bool(entry.job.sample.prompt_code) and "task" in record and not record.get("compiled")
            worker.group = group
            worker.give(entry, record)
        except WorkerLost:
            # `give` notes a job before it writes: without that note nothing was sent, and the job waits again
            if entry not in worker.jobs:
                self._waiting.push(entry)
            self._lost(worker)
            return False
        return True

    def _collect(self) -> None:
        waits = [self._deadline(worker) - time.monotonic() for worker in self._worker_pool.workers if worker.jobs]
        events = self._selector.select(max(0.0, min(waits)))
        if any(key.data is None for key, _ in events):
            raise Stopped
        for key, _ in events:
            worker: Worker = key.data
            try:
                for record in worker.read():
                    spent = record.pop("spent", False)
                    self._settle(worker, record)
                    if spent:
                        self._spent(worker)
                        break
            # what a worker sends is not to be trusted: these are what a malformed record makes the lines above raise
            except (WorkerLost, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
                self._lost(worker)
        if not events:
            for worker in list(self._worker_pool.workers):
                if worker.jobs and time.monotonic() > self._deadline(worker):
                    self._lost(worker)

    @staticmethod
    def _deadline(worker: Worker) -> float:
        job: Job = worker.jobs[0].job
        prompt_seconds = PROMPT_SECONDS if worker.jobs[0].runs_prompt else 0.0
        return worker.since + jobs.wall_limits(jobs.limits_for(job))[1] * job.most_tests + prompt_seconds + _GRACE

    def _settle(self, worker: Worker, record: WorkerAnswer) -> None:
        entry: QueuedJob = worker.jobs[0]
        # tests may be put off once, and never by a calibration; any other answer has a verdict for each test
        if record["id"] != entry.token or (
            entry.calibrates or entry.later is not None
            if "later" in record
            else len(record["tests"]) != len(entry.job.sample.tests)
        ):
            raise WorkerLost("an answer to another question")
        if "later" in record:
            worker.since = time.monotonic()
            worker.jobs.pop(0)
            entry.later = record["later"]
            self._apart[entry.task.name] -= 1
            self._later[entry.task.name].append(entry)
            return
        result = outcome(record, self._worker_pool.level)
        # what the tests import is loaded only for tests that run beside a solution
        if any(result.verdict != Verdict.SEPARATED for result in result.tests):
            worker.weight = max(worker.weight, entry.task.weight)
            worker.has_mixed = True
        plan = record["plan"] if entry.calibrates and "plan" in record else None
        if plan is not None and len(plan["tests"]) != len(entry.job.sample.tests):
            raise WorkerLost("a plan for another sample")
        if not isinstance(compiled := record.get("compiled", ""), str):
            raise WorkerLost("compiled tests that are not text")
        worker.since = time.monotonic()  # before the next is the first: others may look at both
        worker.jobs.pop(0)
        if entry.calibrates:
            sample_plan = SamplePlan(plan or beside(entry.job.sample), result.seconds, compiled)
            self._calibrate(entry.task, sample_plan, keep=plan is not None and not result.limit)
            return
        if self._known.cached_verdicts.is_used and may_be_remembered(result):
            self._known.cached_verdicts.put(self._verdict_key(entry.task, entry.digest), record)
        self._finish(entry, result)

    def _spent(self, worker: Worker) -> None:
        """Let another examiner have what one has been given that is not to be asked again."""
        for entry in worker.jobs:
            self._waiting.push(entry)
        worker.jobs = []
        self._examine_anew(worker)

    def _finish(self, entry: QueuedJob, outcome: Outcome) -> None:
        if entry.later is None:
            # one that comes back from `_later` was counted when it was put there
            self._apart[entry.task.name] -= 1
        if outcome.seconds is not None:
            self._known.seconds[entry.job.sample.id] = outcome.seconds
        self._open.pop(entry.digest, None)
        self._done += [(job, outcome) for job in (entry.job, *entry.twins)]

    def _lost(self, worker: Worker) -> None:
        """Replace a worker; run what it had under way once more, alone, and then call it a crash.

        What ran into the examiner's alarm would do so again: it fails by the time limit at once.
        """
        jobs = worker.jobs
        worker.jobs = []
        self._replace_worker(worker)
        # only the first of them was run: it may be what the worker was lost by, and is believed in another one alone
        for entry in jobs[1:]:
            self._waiting.push(entry)
        for entry in jobs[:1]:
            if not (entry.tries or worker.alarmed):
                entry.tries = 1
                self._alone.append(entry)
            elif entry.calibrates:
                self._calibrate(entry.task, SamplePlan(beside(entry.job.sample)), keep=False)
            else:
                self._finish(entry, self._out_of_time(entry) if worker.alarmed else self._crash(entry))

    def _crash(self, entry: QueuedJob) -> Outcome:
        return all_failed(
            entry.job.sample,
            ErrorKind.OTHER,
            message="the worker was lost twice while it ran",
            isolation=self._worker_pool.level,
            error_type="Crash",
            flags=(LOST,),
        )

    def _out_of_time(self, entry: QueuedJob) -> Outcome:
        plan = self._known.plans.get(entry.task.name)
        apart = (
            any(way is not None for way in plan.record["tests"])
            if plan is not None and plan.record is not None
            else entry.is_program
        )
        return all_failed(
            entry.job.sample,
            ErrorKind.TIMEOUT,
            message="the time limit was reached",
            isolation=self._worker_pool.level,
            verdict=Verdict.SEPARATED if apart else Verdict.IN_PROCESS,
            limit="cpu",
        )
