"""The attempts of an exam in the order in which they are run, once more on fresh data, and until enough is known."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

from markbook.programs.marker import MixedBox
from markbook.programs.sandboxes import RemoteSandbox
from markbook.results.stopping import Marks, StoppedRecord, describe_stop, until_enough
from markbook.runs.exam.exam_options import ExamOptions
from markbook.runs.exam.grading import Tally, mark
from markbook.runs.exam.plan import ExamPlan, ExamStop, exam_sheet
from markbook.runs.exam.results import ExamResults
from markbook.runs.exam.view import ANSWERS, FAULT, MODEL, OUTCOME, SAMPLE, STOPPED, attempt_record, sample_record
from markbook.runs.kind import Progress, Start, Watcher, WorkEnd
from markbook.runs.machines import Machines
from markbook.sandbox import Job, Sandbox
from markbook.sandbox.job import LOST
from markbook.store import RunWriter
from markbook.types import Attempt, Outcome, ProblemType, Sample

# Every test of a function problem with a freshly loaded solution of its own, beside the usual run of all in one.

ORDER = "order"
"""The flag of an answer whose tests come out otherwise when each has a solution of its own: one that counts calls, say."""
_WHOLE = "whole"


class Box(Protocol):
    """What executes jobs."""

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Outcome]]:
        """Execute every job; yield each with its outcome, in no promised order."""
        ...


@dataclass(slots=True)
class _Under:
    """A job under way, in parts."""

    job: Job
    waits: int
    found: dict[str, Outcome] = field(default_factory=dict)


def run_fresh(box: Box, jobs: Iterable[Job]) -> Iterator[tuple[Job, Outcome]]:
    """Execute every job once with its tests together, and once more test by test; yield what the latter come to.

    Where the two differ the outcome is flagged. A problem with one test, and a program that reads and writes, whose tests
    have processes of their own anyway, are executed once.
    """
    under: dict[str, _Under] = {}
    for part, outcome in box.run(_parts(jobs, under)):
        key, _, test_index = part.key.rpartition("#")
        pending = under[key]
        pending.found[test_index] = outcome
        if len(pending.found) == pending.waits:
            del under[key]
            yield pending.job, _together(pending)


def _parts(jobs: Iterable[Job], under: dict[str, _Under]) -> Iterator[Job]:
    singles_by_id: dict[str, tuple[Sample, list[Sample]]] = {}
    for number, job in enumerate(jobs):
        key, sample = str(number), job.sample
        pending = under[key] = _Under(job, 1)
        if len(sample.tests) > 1 and sample.problem_type is not ProblemType.STDIN and job.code.strip():
            if sample.id not in singles_by_id or singles_by_id[sample.id][0] is not sample:
                singles_by_id[sample.id] = (sample, _singles(sample))
            pending.waits += len(sample.tests)
            for index, single in enumerate(singles_by_id[sample.id][1]):
                yield replace(job, key=f"{key}#{index}", sample=single)
        yield replace(job, key=f"{key}#{_WHOLE}")


def _singles(sample: Sample) -> list[Sample]:
    return [replace(sample, id=f"{sample.id}#{index}", tests=(test,)) for index, test in enumerate(sample.tests)]


def _together(pending: _Under) -> Outcome:
    """Return what the tests come to that had a solution each."""
    outcome = pending.found.pop(_WHOLE)
    singles = [pending.found[str(index)] for index in range(len(pending.found))]
    if not singles:
        return outcome
    tests = tuple(single.tests[0] for single in singles)
    bad = next((single for single in singles if single.error is not None), None)
    differs = [test.passed for test in tests] != [test.passed for test in outcome.tests]
    flags = [flag for outcome in (outcome, *singles) for flag in outcome.flags]
    return replace(
        outcome,
        tests=tests,
        error=bad.error if bad else None,
        error_type=bad.error_type if bad else "",
        error_message=bad.error_message if bad else "",
        limit=next((single.limit for single in singles if single.limit), ""),
        benchmark_fault=next((single.benchmark_fault for single in singles if single.benchmark_fault), ""),
        isolation=max(single.isolation for single in singles),
        flags=tuple(dict.fromkeys([*flags, ORDER] if differs else flags)),
        seconds=_sum(outcome.seconds for outcome in (outcome, *singles)),
        wall_seconds=_sum(outcome.wall_seconds for outcome in (outcome, *singles)),
    )


def _sum(values: Iterable[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return sum(numbers) if numbers else None


# The attempts of an exam in the order in which they are run, and the marks of those that were.


class ExamSoFar:
    """The attempts of an exam in the order in which they are run, and the marks of those that were."""

    def __init__(self, plan: ExamPlan, journal: RunWriter) -> None:
        """Take up what a resumed run had marked."""
        self._plan, self._journal = plan, journal
        self._samples = plan.benchmark.samples
        self._places = {sample.id: index for index, sample in enumerate(self._samples)}
        self._tallies = {model: self._tally(model) for model in plan.models}
        for row in journal.rows(OUTCOME):
            self.add(str(row.key[0]), str(row.key[1]), Outcome.from_record(row.data))

    def _tally(self, model: str) -> Tally:
        tally = Tally(model, self._samples, self._plan.options.error_policy)
        lacking = self._plan.answers.lacking(model)
        if any(lacking):
            tally.lacking = array("I", lacking)
        return tally

    def add(self, model: str, task: str, outcome: Outcome) -> None:
        """Count an attempt."""
        self._tallies[model].add(self._places[task], outcome)

    def until_enough(self, stop: ExamStop, run: Callable[[Iterable[Attempt]], None]) -> StoppedRecord:
        """Run attempts, problem by problem in the drawn order, until enough is seen; return what there is to say.

        Args:
            stop: what decides.
            run: runs those of these attempts that were not run yet, and adds their outcomes here.
        """
        attempts: dict[str, list[Attempt]] = defaultdict(list)
        for model in self._plan.models:
            for attempt in self._plan.answers.attempts(model):
                attempts[attempt.sample_id].append(attempt)

        def step(batch: Sequence[str]) -> Marks:
            run(attempt for task in batch for attempt in attempts[task])
            return exam_sheet(list(self._tallies.values())).marks  # a problem without an attempt has 0

        record: StoppedRecord = {
            "metric": "exam_score",
            **until_enough(stop.stopping, self._journal, len(self._samples), step),
        }
        self._journal.add(STOPPED, (0,), record)
        self._journal.commit()
        return record


def all_attempts(plan: ExamPlan) -> Iterator[Attempt]:
    """Yield every attempt, model by model."""
    for model in plan.models:
        yield from plan.answers.attempts(model)


# The exam from a benchmark and answers to marks and reports.

UNSOUND = "unsound"
"""The topic of problems that nobody solved and whose own solution fails their tests too."""


def mark_answers(plan: ExamPlan, journal: RunWriter, machines: Machines, watch: Watcher) -> WorkEnd:
    """Ask what is not asked yet, run the answers that are not run yet, and say how the exam stands."""
    box = machines.box
    assert box is not None
    answered = None
    if plan.questions is not None:
        from markbook.runs.exam.plan import ask

        answered = ask(plan, plan.questions, journal, watch)
    unsolved = _hold(plan, journal, box, watch, answered.lacking if answered else frozenset())
    if not isinstance(box, RemoteSandbox):  # others run elsewhere and do not say
        if box.duplicates:
            watch.on_note(f"{box.duplicates} answers were exact duplicates of others and took their outcome")
        if box.reused:
            watch.on_note(f"{box.reused} answers took the outcome that they had in an earlier run")
    for words in plan.unavailable:
        watch.on_note(f"warning: {words}")
    unsound = _find_unsound(box, unsolved, plan.options)
    for task_id, detail in unsound.items():
        what = "nobody solved it, and the benchmark's own solution fails it too"
        watch.on_note(f"warning: {task_id}: {what} ({detail}); see --check-benchmark", topic=UNSOUND)
    manifest = plan.manifest
    results = ExamResults(journal, {"command": manifest.command, "config": manifest.config})
    extra: dict[str, Any] = {"own_solution_fails": unsound} if unsound else {}
    if results.stop_record:
        extra["stopped"] = {name: value for name, value in results.stop_record.items() if name != "samples"}
    facts = {"isolation": results.isolation, "attempts": results.n_planned, **extra}
    if answered is not None:
        facts |= {"usage": answered.usage, **({"unanswered": answered.reasons} if answered.reasons else {})}
    if answered is not None and answered.lacking:
        return WorkEnd(status="incomplete", facts=facts, results=results, withheld=("documented",))
    return WorkEnd(facts=facts, results=results)


def _hold(
    plan: ExamPlan,
    writer: RunWriter,
    box: Sandbox | MixedBox | RemoteSandbox,
    watch: Watcher,
    lacking: frozenset[str] = frozenset(),
) -> list[Sample]:
    """Run what is not run yet, and return the problems that some answer tried and none solved.

    Args:
        plan: what is to be done.
        writer: of the run.
        box: runs the answers.
        watch: is told of each.
        lacking: problems that wait for an answer of the model that is asked: theirs are run when all are there, because
            only then is it known which is which.
    """
    _record_inputs(writer, plan)
    tried, solved = _solved_before(writer, plan) if writer.is_resumed else (Counter[str](), Counter[str]())
    watch.on_start(writer.folder, Start(plan.attempts, tried.total(), solved.total(), _about(plan, box)))
    marking = None if plan.stop is None else ExamSoFar(plan, writer)

    def run(attempts: Iterable[Attempt]) -> None:
        running: dict[str, Attempt] = {}
        jobs = _jobs(writer, plan, attempts, running)
        for job, outcome in run_fresh(box, jobs) if plan.options.fresh_tests else box.run(jobs):
            attempt = running.pop(job.key)
            result = mark(job.sample, outcome)
            tried[attempt.sample_id] += 1
            solved[attempt.sample_id] += result.all_passed
            trouble = f"{outcome.error_type}: {outcome.error_message}" if outcome.error else ""
            name = f"{attempt.model} {attempt.sample_id} [{attempt.index}]"
            watch.did(Progress(name, result.all_passed, trouble, f"{result.passed} of {result.total} passed"))
            key = (attempt.model, attempt.sample_id, attempt.index)
            writer.add(OUTCOME, key, attempt_record(attempt, outcome), remember=False)
            if marking is not None:
                marking.add(attempt.model, attempt.sample_id, outcome)

    if plan.stop is None or marking is None:
        run(attempt for attempt in all_attempts(plan) if attempt.sample_id not in lacking)
    else:
        for line in describe_stop(marking.until_enough(plan.stop, run)):
            watch.on_note(line)
    return [sample for sample in plan.benchmark.samples if tried[sample.id] and not solved[sample.id]]


def _about(plan: ExamPlan, box: Sandbox | MixedBox | RemoteSandbox) -> str:
    models = len(plan.models)
    return (
        f"{plan.benchmark.name}: {len(plan.benchmark.samples)} problems, {plan.attempts} answers of "
        f"{models} model{'s' if models != 1 else ''}, isolation level {box.level.value}"
    )


def _find_unsound(
    box: Sandbox | MixedBox | RemoteSandbox, unsolved: Sequence[Sample], options: ExamOptions
) -> dict[str, str]:
    """Return the problems whose own solution does not pass their tests, with what it fails at.

    Only those that no answer solved are tried: elsewhere somebody has shown that the tests can be passed.
    """
    jobs = [
        Job(f"own:{sample.id}", sample.references[0], sample, options.limits())
        for sample in unsolved
        if sample.references
    ]
    unsound: dict[str, str] = {}
    for job, outcome in box.run(jobs) if jobs else ():
        if LOST not in outcome.flags and not mark(job.sample, outcome).all_passed:
            failed = next((number for number, test in enumerate(outcome.tests) if not test.passed), 0)
            why = outcome.error_type or (outcome.tests[failed].error_type if outcome.tests else "") or "AssertionError"
            unsound[job.sample.id] = f"test {failed}: {why}"
    return dict(sorted(unsound.items()))


def _solved_before(writer: RunWriter, plan: ExamPlan) -> tuple[Counter[str], Counter[str]]:
    """Return how many attempts at each problem a resumed run had marked, and how many of them passed every test."""
    samples = {sample.id: sample for sample in plan.benchmark.samples}
    tried: Counter[str] = Counter()
    solved: Counter[str] = Counter()
    for row in writer.rows(OUTCOME):
        name = str(row.key[1])
        tried[name] += 1
        solved[name] += mark(samples[name], Outcome.from_record(row.data)).all_passed
    return tried, solved


def _jobs(writer: RunWriter, plan: ExamPlan, attempts: Iterable[Attempt], running: dict[str, Attempt]) -> Iterator[Job]:
    """Yield a job for each of these attempts that was not run yet."""
    samples: Mapping[str, Sample] = {sample.id: sample for sample in plan.benchmark.samples}
    limits = plan.options.limits()
    numbers = {model: number for number, model in enumerate(plan.models)}
    for attempt in attempts:
        if writer.was_there(OUTCOME, (attempt.model, attempt.sample_id, attempt.index)):
            continue
        key = f"{numbers[attempt.model]}:{attempt.sample_id}:{attempt.index}"
        running[key] = attempt
        sample = samples[attempt.sample_id]
        if attempt.language:
            sample = replace(sample, language=attempt.language)
        yield Job(key, attempt.text, sample, limits, plan.options.all_tests, model=attempt.model)


def _record_inputs(writer: RunWriter, plan: ExamPlan) -> None:
    """Put what the reports need of the inputs into the journal, so that they need nothing else."""
    answers = plan.answers
    for index, sample in enumerate(plan.benchmark.samples):
        writer.add(SAMPLE, (index,), sample_record(sample))
    for model in plan.models:
        planned = plan.count_planned(model)
        source = answers.source(model) if plan.questions is None else ANSWERS
        about = {"source": source, "attempts": sum(planned), "planned": planned}
        lacking = answers.lacking(model) if plan.questions is None else ()
        writer.add(MODEL, (model,), {**about, "lacking": lacking} if any(lacking) else about)
    for number, fault in enumerate(plan.faults):
        writer.add(FAULT, (number,), asdict(fault))
    writer.commit()
