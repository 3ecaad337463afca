"""The exam from a benchmark and answers to marks and reports."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Unpack

from markbook.results.stopping import words_of
from markbook.runs.conductor import conduct
from markbook.runs.exam import Exam
from markbook.runs.exam.early_end import ExamSoFar, all_attempts
from markbook.runs.exam.finished import ExamResults
from markbook.runs.exam.marks import mark
from markbook.runs.exam.plan import REPORTS, ExamOptions, ExamPlan, ExamSettings
from markbook.runs.exam.view import ANSWERS, FAULT, MODEL, OUTCOME, SAMPLE, attempt_record, sample_record
from markbook.runs.fresh import run_fresh
from markbook.runs.kind import Ended, Start, Step, Watcher
from markbook.runs.machines import Machines
from markbook.runs.options import options_of
from markbook.runs.outcomes import outcome_of
from markbook.runs.programs.marker import MixedBox
from markbook.runs.sandboxes import RemoteSandbox
from markbook.sandbox import Job, Sandbox
from markbook.sandbox.outcomes import LOST
from markbook.store import Run, RunWriter
from markbook.types import Attempt, Sample

UNSOUND = "unsound"
"""The topic of problems that nobody solved and whose own solution fails their tests too."""


def exam(
    benchmark: str | os.PathLike[str],
    solutions: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    output: str | os.PathLike[str] | None = None,
    *,
    model: str | None = None,
    base_url: str = "",
    resume: str | os.PathLike[str] | None = None,
    watcher: Watcher | None = None,
    reports: Sequence[str] = REPORTS,
    **options: Unpack[ExamSettings],
) -> Run:
    """Mark models' solutions against a benchmark's tests, like an exam, and write the documented reports.

    The run that comes back has `scores`, `score(model)`, `failures()`, `to_pandas()` and `to_polars()`.

    Args:
        benchmark: a benchmark file or folder; see `markbook list loaders` for the formats.
        solutions: one or more files or folders of answers; none where a model is asked.
        output: where the run folder is made; `generated` by default.
        model: `PROVIDER:NAME` to ask for the answers instead.
        base_url: where its server is, if not at the provider's own address.
        resume: a run folder to go on with instead; every other argument must be what it was.
        watcher: is told of progress.
        reports: the report plugins that the finished run is given; `markbook report` makes others later.
        **options: `timeout`, `workers`, `samples`, `max_cost` and so on: the options of `markbook exam`, each with its type in
            `markbook.runs.exam.plan.ExamSettings`.

    Returns:
        The finished run; its folder holds the reports. Its status is `incomplete` if the model left questions unanswered.

    Raises:
        DataError: nothing can be marked; nothing was written.
        EnvironmentUnfitError: the machine cannot isolate the solutions well enough.
        IncompleteError: the model answered nothing.
        OutputError: the output cannot be written; nothing was run.
        StorageError: the disk failed during the run, which can be resumed.
        UnknownOptionError: an option that does not exist.
        UsageError: neither answers nor a model, or both; a model that cannot be asked.
    """
    sources = (solutions,) if isinstance(solutions, str | os.PathLike) else tuple(solutions)
    named = {"benchmark": benchmark, "solutions": sources, "model": model, "base_url": base_url, "resume": resume}
    request = options_of(ExamOptions, {**options, **named, "reports": reports, "output": output or "generated"}, "exam")
    return conduct(Exam(), request, watcher)


def mark_answers(plan: ExamPlan, journal: RunWriter, machines: Machines, watch: Watcher) -> Ended:
    """Ask what is not asked yet, run the answers that are not run yet, and say how the exam stands."""
    box = machines.box
    assert box is not None
    answered = None
    if plan.questions is not None:
        from markbook.runs.exam.asking import ask

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
        return Ended(status="incomplete", facts=facts, results=results, withheld=("documented",))
    return Ended(facts=facts, results=results)


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
            watch.did(Step(name, result.all_passed, trouble, f"{result.passed} of {result.total} passed"))
            key = (attempt.model, attempt.sample_id, attempt.index)
            writer.add(OUTCOME, key, attempt_record(attempt, outcome), remember=False)
            if marking is not None:
                marking.add(attempt.model, attempt.sample_id, outcome)

    if plan.stop is None or marking is None:
        run(attempt for attempt in all_attempts(plan) if attempt.sample_id not in lacking)
    else:
        for line in words_of(marking.until_enough(plan.stop, run)):
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
        solved[name] += mark(samples[name], outcome_of(row.data)).all_passed
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
