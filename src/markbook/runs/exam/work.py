"""An exam's work: answers are run and graded, once more on fresh data where asked, and until enough is known.

Theory of operation
-------------------
`mark_answers` first puts into the journal what the reports need of the inputs (problems, models, faults), so that they
need nothing but the journal later. Where a model is asked, its replies become `answers.jsonl` and are read like any file
of answers. Then jobs go to the box (a sandbox of this machine, a compiler's runner, or an engine's workers) one by one as it
takes them, and outcomes come back in any order; each is graded, shown to the watcher and written as a row under
(model, problem, number of the attempt). A resumed run skips the keys that are there and counts their rows first.

Memory is flat: only jobs under way are held, no outcome is kept after its row. An exam that stops early (`SequentialExam`)
runs problem by problem in a drawn order and keeps a tally of each model, for the decision is about whole problems; the
drawn order and the end are in the journal, so a resumed run decides as one that never broke off.

`run_fresh` splits a job into one for each test beside the usual one, and joins the outcomes by their keys. A difference
between the two is a flag (`order`), not an error: which of the two is right cannot be known.

At the end `ExamResults` reads the journal as any later reader does: a report cannot show what was not written down.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from markbook.programs.sandboxes import RemoteSandbox
from markbook.runs.exam.grading import Mark, Tally, exam_sheet, mark
from markbook.runs.exam.plan import ExamPlan
from markbook.runs.exam.results import ExamResults
from markbook.runs.exam.view import ANSWERS, FAULT, KEPT, MODEL, OUTCOME, SAMPLE, STOPPED, attempt_record, sample_record
from markbook.runs.kind import Machines, Progress, Start, Watcher, WorkEnd
from markbook.sandbox import Job, Sandbox
from markbook.sandbox.job import LOST
from markbook.store import RunWriter
from markbook.types import Attempt, Key, Outcome, ProblemType, Sample

if TYPE_CHECKING:
    from markbook.programs.executions import JobExecutor
    from markbook.programs.marker import MixedBox
    from markbook.results.stopping import Marks, StoppedRecord, Stopping

# Every test of a function problem with a freshly loaded solution of its own, beside the usual run of all in one.

ORDER = "order"
"""The flag of an answer whose tests come out otherwise when each has a solution of its own: one that counts calls, say."""
_WHOLE = "whole"


@dataclass(slots=True)
class _Under:
    """A job under way, in parts."""

    job: Job
    waits: int
    outcomes: dict[str, Outcome] = field(default_factory=dict)


def run_fresh(box: JobExecutor, jobs: Iterable[Job]) -> Iterator[tuple[Job, Outcome]]:
    """Execute every job once with its tests together, and once more test by test; yield what the latter come to.

    Where the two differ the outcome is flagged. A problem with one test, and a program that reads and writes, whose tests
    have processes of their own anyway, are executed once.
    """
    under: dict[str, _Under] = {}
    for part, outcome in box.run(_parts(jobs, under)):
        key, _, test_index = part.key.rpartition("#")
        pending = under[key]
        pending.outcomes[test_index] = outcome
        if len(pending.outcomes) == pending.waits:
            del under[key]
            yield pending.job, _together(pending)


def _parts(jobs: Iterable[Job], under: dict[str, _Under]) -> Iterator[Job]:
    singles_by_id: dict[str, tuple[Sample, list[Sample]]] = {}
    for number, job in enumerate(jobs):
        key, sample = str(number), job.sample
        # The number stands for the job until all its parts are back, for its own key may hold the sign that parts are
        # split by.
        pending = under[key] = _Under(job, 1)
        # A program that reads and writes has a process for each test anyway.
        if len(sample.tests) > 1 and sample.problem_type is not ProblemType.STDIN and job.code.strip():
            # Made once a problem, not once an answer: many answers share them.
            if sample.id not in singles_by_id or singles_by_id[sample.id][0] is not sample:
                tests = enumerate(sample.tests)
                singles = [replace(sample, id=f"{sample.id}#{index}", tests=(test,)) for index, test in tests]
                singles_by_id[sample.id] = (sample, singles)
            pending.waits += len(sample.tests)
            for index, single in enumerate(singles_by_id[sample.id][1]):
                yield replace(job, key=f"{key}#{index}", sample=single)
        yield replace(job, key=f"{key}#{_WHOLE}")


def _together(pending: _Under) -> Outcome:
    """Return what the tests come to that had a solution each."""
    outcome = pending.outcomes.pop(_WHOLE)
    singles = [pending.outcomes[str(index)] for index in range(len(pending.outcomes))]
    if not singles:
        return outcome
    from markbook.trace import add_known  # late: only where tests run apart from one another

    tests = tuple(single.tests[0] for single in singles)
    # The first test that raised speaks for the attempt, as the first error does where all tests share a solution.
    bad = next((single for single in singles if single.error is not None), None)
    # A solution that keeps state between calls passes or fails by what ran before it.
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
        # Levels go from A, the best, to D: the largest is the weakest, and that is what the attempt ran under.
        isolation=max(single.isolation for single in singles),
        flags=tuple(dict.fromkeys([*flags, ORDER] if differs else flags)),
        seconds=add_known(outcome.seconds for outcome in (outcome, *singles)),
        wall_seconds=add_known(outcome.wall_seconds for outcome in (outcome, *singles)),
    )


class SequentialExam:
    """The attempts of an exam in the order in which they are run, and the marks of those that were."""

    def __init__(self, plan: ExamPlan, journal: RunWriter) -> None:
        self._plan, self._journal = plan, journal
        self._samples = plan.benchmark.samples
        self._places = {sample.id: index for index, sample in enumerate(self._samples)}
        self._tallies = {model: Tally(model, self._samples, plan.options.error_policy) for model in plan.models}
        for model, tally in self._tallies.items():
            # Samples that nobody answered count 0 in the decision too, or an exam would stop on a score that its end has not.
            if any(lacking := plan.answers.lacking(model)):
                tally.lacking = array("I", lacking)

    def add(self, model: str, task: str, outcome: Outcome, grade: Mark) -> None:
        """Count an attempt that is graded."""
        self._tallies[model].add(self._places[task], outcome, grade)

    def until_enough(self, stop: Stopping, run: Callable[[Iterable[Attempt]], None]) -> StoppedRecord:
        """Run attempts, problem by problem in the drawn order, until enough is seen; return what there is to say.

        `run` runs those of these attempts that were not run yet, and adds their outcomes here.
        """
        attempts: dict[str, list[Attempt]] = defaultdict(list)
        for model in self._plan.models:
            for attempt in self._plan.answers.attempts(model):
                attempts[attempt.sample_id].append(attempt)

        from markbook.results.stopping import until_enough

        def step(batch: Sequence[str]) -> Marks:
            # All models at a problem before the next one: the decision is about problems that all of them have done.
            run(attempt for task in batch for attempt in attempts[task])
            return exam_sheet(list(self._tallies.values())).marks  # a problem without an attempt has 0

        record = until_enough(stop, self._journal, len(self._samples), step)
        # Reports read how the exam ended from the journal, as they read everything else.
        self._journal.add(STOPPED, (0,), record)
        self._journal.commit()
        return record


UNSOUND = "unsound"
"""The topic of problems that nobody solved and whose own solution fails their tests too."""


def mark_answers(plan: ExamPlan, journal: RunWriter, machines: Machines, watch: Watcher) -> WorkEnd:
    """Ask what is not asked yet, run the answers that are not run yet, and say how the exam stands."""
    box = machines.box
    assert box is not None
    answered = None
    if plan.questions is not None:
        from markbook.runs.exam.questions import ask

        answered = ask(plan.questions, plan.answers, journal, watch)
    grades: dict[Key, Mark] = {}
    unsolved = _mark_attempts(plan, journal, box, watch, grades, answered.lacking if answered else frozenset())
    if not isinstance(box, RemoteSandbox):  # others run elsewhere and do not say
        if box.duplicates:
            watch.on_note(f"{box.duplicates} answers were exact duplicates of others and took their outcome")
        if box.reused:
            watch.on_note(f"{box.reused} answers took the outcome that they had in an earlier run")
    for words in plan.unavailable:
        watch.on_note(f"warning: {words}")
    # Whether the problem's own solution passes, of those that no answer solved: elsewhere somebody has shown that the tests
    # can be passed.
    limits = plan.options.limits()
    jobs = [
        Job(f"own:{problem.id}", problem.references[0], problem, limits) for problem in unsolved if problem.references
    ]
    unsound: dict[str, str] = {}
    for job, outcome in box.run(jobs) if jobs else ():
        if LOST not in outcome.flags and not mark(job.sample, outcome).all_passed:
            failed = next((number for number, test in enumerate(outcome.tests) if not test.passed), 0)
            why = outcome.error_type or (outcome.tests[failed].error_type if outcome.tests else "") or "AssertionError"
            unsound[job.sample.id] = f"test {failed}: {why}"
    unsound = dict(sorted(unsound.items()))
    for task_id, detail in unsound.items():
        what = "nobody solved it, and the benchmark's own solution fails it too"
        watch.on_note(f"warning: {task_id}: {what} ({detail}); see --check-benchmark", topic=UNSOUND)
    usage = {} if answered is None else {"usage": answered.usage}
    results = ExamResults(journal, {**journal.facts, **usage}, grades)
    extra: dict[str, Any] = {"own_solution_fails": unsound} if unsound else {}
    if results.stop_record:
        extra["stopped"] = {name: value for name, value in results.stop_record.items() if name != "samples"}
    facts = {"isolation": results.isolation, "attempts": results.n_planned, **extra, **usage}
    if answered is not None and answered.reasons:
        facts["unanswered"] = answered.reasons
    # The documented files have no word for an answer that is still to come: they would show it as absent.
    if answered is not None and answered.lacking:
        return WorkEnd(status="incomplete", facts=facts, results=results, withheld=("documented",))
    return WorkEnd(facts=facts, results=results)


def _mark_attempts(
    plan: ExamPlan,
    writer: RunWriter,
    box: Sandbox | MixedBox | RemoteSandbox,
    watch: Watcher,
    grades: dict[Key, Mark],
    lacking: frozenset[str],
) -> list[Sample]:
    """Run what is not run yet, and return the problems that some answer tried and none solved.

    `grades` takes up the grades, as many as stay decoded when the journal is read. `lacking` are problems that wait
    for an answer of the model that is asked: theirs are run when all are there, because only then is it known which
    is which.
    """
    # What the reports need of the inputs is put into the journal, so that they need nothing else.
    answers = plan.answers
    for index, sample in enumerate(plan.benchmark.samples):
        writer.add(SAMPLE, (index,), sample_record(sample))
    for model in plan.models:
        planned = plan.count_planned(model)
        source = answers.source(model) if plan.questions is None else ANSWERS
        about = {"source": source, "attempts": sum(planned), "planned": planned}
        absent = answers.lacking(model) if plan.questions is None else ()
        writer.add(MODEL, (model,), {**about, "lacking": absent} if any(absent) else about)
    for number, fault in enumerate(plan.faults):
        writer.add(FAULT, (number,), asdict(fault))
    writer.commit()
    samples = {sample.id: sample for sample in plan.benchmark.samples}
    tried, solved = Counter[str](), Counter[str]()
    marking = None if plan.stop is None else SequentialExam(plan, writer)

    def grade_outcome(key: Key, outcome: Outcome) -> Mark:
        model, task = str(key[0]), str(key[1])
        grade = mark(samples[task], outcome)
        if len(grades) < KEPT:
            grades[key] = grade
        tried[task] += 1
        solved[task] += grade.all_passed
        if marking is not None:
            marking.add(model, task, outcome, grade)
        return grade

    # What was run before the break counts first, or the counts of solved problems would begin anew.
    for row in writer.rows(OUTCOME) if writer.is_resumed else ():
        grade_outcome(row.key, Outcome.from_record(row.data))
    words = (
        f"{plan.benchmark.name}: {len(plan.benchmark.samples)} problems, {plan.attempts} answers of "
        f"{len(plan.models)} model{'s' if len(plan.models) != 1 else ''}, isolation level {box.level.value}"
    )
    watch.on_start(writer.folder, Start(plan.attempts, tried.total(), solved.total(), words))

    def run(attempts: Iterable[Attempt]) -> None:
        # Holds only what is under way: the generator of jobs adds to it, and each outcome takes its own out.
        running: dict[str, Attempt] = {}
        jobs = _jobs(writer, plan, attempts, running)
        for job, outcome in run_fresh(box, jobs) if plan.options.fresh_tests else box.run(jobs):
            attempt = running.pop(job.key)
            key = (attempt.model, attempt.sample_id, attempt.index)
            grade = grade_outcome(key, outcome)
            trouble = outcome.error_words if outcome.error else ""
            name = f"{attempt.model} {attempt.sample_id} [{attempt.index}]"
            watch.did(Progress(name, grade.all_passed, trouble, f"{grade.passed} of {grade.total} passed"))
            # Not remembered: `was_there` asks for rows of earlier runs only, and a key of this one is never added
            # twice.
            writer.add(OUTCOME, key, attempt_record(attempt, outcome), remember=False)

    if plan.stop is None or marking is None:
        attempts = (attempt for model in plan.models for attempt in plan.answers.attempts(model))
        run(attempt for attempt in attempts if attempt.sample_id not in lacking)
    else:
        from markbook.results.stopping import describe_stop

        for line in describe_stop(marking.until_enough(plan.stop, run)):
            watch.on_note(line)
    return [sample for sample in plan.benchmark.samples if tried[sample.id] and not solved[sample.id]]


def _jobs(writer: RunWriter, plan: ExamPlan, attempts: Iterable[Attempt], running: dict[str, Attempt]) -> Iterator[Job]:
    """Yield a job for each of these attempts that was not run yet."""
    samples: Mapping[str, Sample] = {sample.id: sample for sample in plan.benchmark.samples}
    limits = plan.options.limits()
    numbers = {model: number for number, model in enumerate(plan.models)}
    for attempt in attempts:
        # By the journal as it was when the run began: rows of this run cannot come twice, and are not kept in memory.
        if writer.was_there(OUTCOME, (attempt.model, attempt.sample_id, attempt.index)):
            continue
        # The model by its number: its name may hold a colon, as `openai:gpt-4o` does, and the key would no longer be
        # unique.
        key = f"{numbers[attempt.model]}:{attempt.sample_id}:{attempt.index}"
        running[key] = attempt
        sample = samples[attempt.sample_id]
        if attempt.language:
            sample = replace(sample, language=attempt.language)
        yield Job(key, attempt.text, sample, limits, plan.options.all_tests, model=attempt.model)
