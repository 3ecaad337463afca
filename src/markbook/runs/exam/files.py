"""The files that an exam leaves: its rows, the documented ones, and those of the harness."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Annotated, Any, NotRequired, TypedDict

from markbook.report.words import folder_names, harness_date, harness_stamp
from markbook.results.kind import Case, Content, Value
from markbook.runs.exam.grading import Tally, counted_tests, get_group, reasons
from markbook.runs.exam.score_tables import (
    as_json,
    comparison_record,
    comparison_text,
    error_record,
    head_notes,
    percent,
    score_record,
    summary_text,
)
from markbook.runs.exam.view import ExamView, MarkedAttempt
from markbook.types import TestResult, Verdict, digest_text
from markbook.why import Failure

# `test_results.jsonl`: one row an attempt, in benchmark order.


class TestDetail(TypedDict):
    """One test of an attempt."""

    test_index: int
    passed: bool
    verdict: Annotated[str, "How the verdict came about; docs/sandbox.md says what each promises."]
    error_type: str | None
    error_message: str | None
    result: NotRequired[Annotated[str, "Of a program that reads and writes: AC, WA, TLE, MLE, RTE, OLE, CE or JE."]]
    rule: NotRequired[str | None]
    own_operator: NotRequired[bool]
    why: NotRequired[dict[str, Any]]


class ResultRow(TypedDict):
    """One attempt: a row of test_results.jsonl."""

    task_id: str
    category: str | None
    total_tests: int
    tests_passed: int
    all_tests_passed: bool
    error_type: Annotated[str | None, "The kind of error, or how the first failed test failed."]
    test_details: list[TestDetail]
    model: str
    sample: Annotated[int, "Which of the model's attempts at the problem, from 0."]
    complexity: Any
    object_type: str | None
    error_message: str | None
    score: Annotated[float | None, "In percent, under the run's error policy."]
    score_zero: float | None
    score_partial: float | None
    isolation: Annotated[str, "The level under which it ran: A, B, C or D."]
    extraction: Annotated[str | None, "How the code was found in the reply."]
    answer_form: str | None
    limit: NotRequired[str]
    flags: NotRequired[list[str]]
    benchmark_fault: NotRequired[str]
    why: NotRequired[dict[str, Any]]


def result_row(attempt: MarkedAttempt) -> str:
    """Return one line of the file; the scores are null where nothing can be said of the answer."""
    sample, outcome, got = attempt.sample, attempt.outcome, attempt.mark
    failed = next((test for test in outcome.tests if not test.passed), None)
    how_failed = (failed.error_type or "AssertionError") if failed else None  # which is not an error
    details = zip(counted_tests(sample, outcome), reasons(sample, outcome), strict=True)
    record: ResultRow = {
        "task_id": sample.id,
        "category": get_group(sample, "topic") or None,
        "total_tests": got.total,
        "tests_passed": got.passed,
        "all_tests_passed": got.all_passed,
        "error_type": outcome.error.value if outcome.error else how_failed,
        "test_details": [test_detail(number, test, failure) for number, (test, failure) in enumerate(details)],
        "model": attempt.measurement.model,
        "sample": attempt.index,
        "complexity": sample.meta.get("complexity"),
        "object_type": sample.problem_type,
        "error_message": outcome.error_words if outcome.error else None,
        "score": percent(attempt.measurement.value),
        "score_zero": None if got.missing else percent(got.zero),
        "score_partial": None if got.missing else percent(got.partial),
        "isolation": outcome.isolation.value,
        "extraction": attempt.data.get("step"),
        "answer_form": attempt.data.get("form"),
    }
    if outcome.limit:
        record["limit"] = outcome.limit
    if outcome.flags:
        record["flags"] = list(outcome.flags)
    if outcome.benchmark_fault:
        record["benchmark_fault"] = outcome.benchmark_fault
    if outcome.why:
        about_all = {name: value for name, value in outcome.why.to_record().items() if name != "failures"}
        ended = (
            [failure.to_record() for failure in outcome.why.failures if failure.part < 0] if sample.is_program else []
        )
        record["why"] = about_all | ({"ended": ended} if ended else {})
    return json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"


def test_detail(number: int, test: TestResult, failure: Failure | None) -> TestDetail:
    """Return what a row says of one test."""
    record: TestDetail = {
        "test_index": number,
        "passed": test.passed,
        "verdict": test.verdict.value,
        "error_type": test.error_type or None,
        "error_message": test.error_message or None,
    }
    if test.result:
        record["result"] = test.result
        record["rule"] = test.rule or None
    if test.own_operator:
        record["own_operator"] = True
    if failure is not None and not test.passed:
        record["why"] = {name: value for name, value in failure.to_record().items() if name not in ("test", "part")}
    return record


# An exam in a few numbers.


def overview(view: ExamView) -> dict[str, object]:
    """Return what the exam is and its main numbers as plain JSON: every value beside its n and what is missing."""
    return {
        "schema": 1,
        "command": "exam",
        "config": dict(view.config),
        "isolation": view.isolation,
        **({"stopped": dict(view.stop_record)} if view.stop_record else {}),
        "models": {model: _exam(view, model) for model in view.tallies},
    }


def _exam(view: ExamView, model: str) -> dict[str, object]:
    tally = view.tallies[model]
    record: dict[str, Any] = {
        "exam_score": tally.exam_score().to_record(),
        "attempted_score": tally.attempted_score().to_record(),
        "error_rate": tally.error_rate,
        "errors": dict(sorted(tally.errors.items())),
        "attempts": tally.n_evaluated,
        "separated_share": tally.separated_share,
        "unchecked": tally.unchecked,
        "unchecked_share": tally.unchecked_share,
    }
    for k in tally.pass_ks():
        record[f"pass@{k}"] = tally.pass_at(k).to_record()
    return record


# An exam's attempts for other programs: one flat row each, and one test case each.


def exam_rows(view: ExamView) -> Iterator[dict[str, Value]]:
    """Yield one flat row an attempt: model by model, in benchmark order. Scores are 0..1."""
    for model in view.tallies:
        for attempt in view.attempts(model):
            got, outcome = attempt.mark, attempt.outcome
            yield {
                "model": model,
                "task_id": attempt.sample.id,
                "sample": attempt.index,
                "topic": get_group(attempt.sample, "topic") or None,
                "complexity": get_group(attempt.sample, "complexity") or None,
                "problem_type": get_group(attempt.sample, "problem_type") or None,
                "score": attempt.measurement.value,
                "score_zero": None if got.missing else got.zero,
                "score_partial": None if got.missing else got.partial,
                "tests_passed": got.passed,
                "total_tests": got.total,
                "all_tests_passed": got.all_passed,
                "error": outcome.error.value if outcome.error else None,
                "error_type": outcome.error_type or None,
                "error_message": outcome.error_message or None,
                "limit": outcome.limit or None,
                "isolation": outcome.isolation.value,
                "verdict": verdict.value if (verdict := outcome.weakest) else None,
                "unchecked": sum(test.verdict == Verdict.UNCHECKED for test in counted_tests(attempt.sample, outcome)),
                "flags": ",".join(outcome.flags) or None,
                "code": str(attempt.data.get("code") or ""),
            }


def exam_cases(view: ExamView) -> Iterator[Case]:
    """Yield one case an attempt, and a skipped one for each problem that a model did not attempt."""
    for model, tally in view.tallies.items():
        for attempt in view.attempts(model):
            yield _exam_case(model, attempt, several=tally.n_evaluated > tally.n_answered)
        for index, sample in enumerate(tally.samples):
            if not tally.attempts[index] and not tally.unjudged[index]:
                yield Case(model, sample.id, "skipped", "absent: no attempt, scores 0")


def _exam_case(model: str, attempt: MarkedAttempt, *, several: bool) -> Case:
    got, outcome = attempt.mark, attempt.outcome
    name = f"{attempt.sample.id} [{attempt.index}]" if several else attempt.sample.id
    verdict = outcome.weakest.value if outcome.weakest else ""
    about: dict[str, Any] = {"verdict": verdict, "seconds": outcome.seconds}
    if got.missing is not None:
        return Case(model, name, "error", got.missing.kind.value, got.missing.detail, **about)
    if got.error is not None:
        return Case(model, name, "error", got.error.value, outcome.error_words, **about)
    if got.all_passed:
        return Case(model, name, "passed", **about)
    failed = [at for at, test in enumerate(counted_tests(attempt.sample, outcome)) if not test.passed]
    tests = ", ".join(map(str, failed[:50]))
    return Case(model, name, "failure", f"{got.passed} of {got.total} tests passed", f"failed: {tests}", **about)


# The exam's documented files, from its journal.

DocumentedContent = str | bytes | Iterable[str]


def documented() -> Callable[[ExamView], Mapping[str, DocumentedContent]]:
    """Return the renderer of the documented files: the factory of the report plugin `documented`."""
    return exam_files


def exam_files(view: ExamView) -> Mapping[str, DocumentedContent]:
    """Return every documented file of an exam by its path in the run folder.

    Four a model, the comparison of several, and the times, which differ from run to run, in a file of their own.
    """
    benchmark = str(view.config.get("benchmark_name", "benchmark"))
    notes = head_notes(view.config)
    files: dict[str, DocumentedContent] = {}
    for model, folder in folder_names(view.models).items():
        tally = view.tallies[model]
        files[f"{folder}/test_results.jsonl"] = map(result_row, view.attempts(model))
        files[f"{folder}/test_results_errors.json"] = as_json(error_record(tally))
        files[f"{folder}/test_results_score.json"] = as_json(
            score_record(tally, isolation=view.isolation, faults=view.faults)
        )
        files[f"{folder}/evaluation_summary.md"] = summary_text(
            tally, isolation=view.isolation, benchmark=benchmark, notes=notes
        )
    if len(view.models) > 1:
        tallies = list(view.tallies.values())
        files["model_comparison.json"] = as_json(comparison_record(tallies))
        files["model_comparison_summary.md"] = comparison_text(tallies, benchmark=benchmark, notes=notes)
    files["timings.jsonl"] = _timings(view)
    return files


def _timings(view: ExamView) -> Iterator[str]:
    for model in view.models:
        for attempt in view.attempts(model):
            record = {
                "model": model,
                "task_id": attempt.sample.id,
                "sample": attempt.index,
                "cpu_seconds": attempt.outcome.seconds,
                "wall_seconds": attempt.outcome.wall_seconds,
            }
            yield json.dumps(record, ensure_ascii=False) + "\n"


# An exam in lm-evaluation-harness's own files: the benchmark is the task, a problem is a row, code is the reply.

PIPELINE = "none"


def harness_files(view: ExamView, started: object) -> Mapping[str, Content]:
    """Return `results_<date>.json` and `samples_<benchmark>_<date>.jsonl`, by path; of several models in a folder for each.

    `exam_score` counts absent problems as 0, and `n_scored` says how many problems have an answer. A problem without an
    answer has no row among the samples. The date is when the exam began.
    """
    task = str(view.config.get("benchmark_name") or "benchmark")
    name = folder_names([task])[task]
    several, stamp = len(view.models) > 1, harness_stamp(started)
    files: dict[str, Content] = {}
    for model, folder in folder_names(view.models).items():
        prefix = f"{folder}/" if several else ""
        results = _results(view, view.tallies[model], task) | {"date": harness_date(started)}
        files[f"{prefix}results{stamp}.json"] = (
            json.dumps(results, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        )
        files[f"{prefix}samples_{name}{stamp}.jsonl"] = _samples(view, view.tallies[model])
    return files


def _results(view: ExamView, tally: Tally, task: str) -> dict[str, object]:
    metrics = _metrics(tally)
    names = [key.partition(",")[0] for key in metrics if key.endswith(f",{PIPELINE}") and "_stderr" not in key]
    count = len(tally.samples)
    return {
        "results": {task: {"alias": task, **metrics}},
        "group_subtasks": {},
        "configs": {task: {"task": task, "output_type": "generate_until", "repeats": max(tally.attempts, default=0)}},
        "versions": {task: None},
        "n-shot": {task: 0},
        "higher_is_better": {task: {name: True for name in names if not name.endswith("_interval")}},
        "n-samples": {task: {"original": count, "effective": count}},
        "config": {"model": tally.model, "limit": None, "random_seed": view.config.get("seed")},
        "model_name": tally.model,
        "model_source": "markbook",
        "markbook": {"profile": view.config.get("profile"), "error_policy": tally.policy, "note": view.partial_note()},
    }


def _metrics(tally: Tally) -> dict[str, object]:
    """Return the exam score and pass@k under the harness's names."""
    score = tally.exam_score()
    metrics: dict[str, Any] = {f"exam_score,{PIPELINE}": score.value, f"exam_score_stderr,{PIPELINE}": "N/A"}
    if score.interval is not None:
        metrics[f"exam_score_interval,{PIPELINE}"] = [score.interval.low, score.interval.high]
    scored = {"exam_score": tally.n_answered}
    for k in tally.pass_ks():
        estimate = tally.pass_at(k)
        metrics[f"pass@{k},{PIPELINE}"] = estimate.value
        metrics[f"pass@{k}_stderr,{PIPELINE}"] = "N/A" if estimate.se is None else estimate.se
        if estimate.low is not None and estimate.high is not None:
            metrics[f"pass@{k}_interval,{PIPELINE}"] = [estimate.low, estimate.high]
        scored[f"pass@{k}"] = tally.n_answered
    return {**metrics, "n_scored": scored}


def _samples(view: ExamView, tally: Tally) -> Iterator[str]:
    """Yield a row for each problem that has answers of which something can be said, with all of these."""
    indices = {sample.id: number for number, sample in enumerate(tally.samples)}
    for name, several in groupby(view.attempts(tally.model), key=lambda attempt: attempt.sample.id):
        attempts = [attempt for attempt in several if attempt.measurement.missing is None]
        if attempts:
            yield _row(indices[name], attempts)


def _row(doc_id: int, attempts: Sequence[MarkedAttempt]) -> str:
    sample = attempts[0].sample
    scores = [attempt.measurement.value or 0.0 for attempt in attempts]
    doc = {"task_id": sample.id, "problem": sample.input, "entry_point": sample.entry_point}
    codes = [str(attempt.data.get("code", "")) for attempt in attempts]
    target = "\n".join(test.assertion or test.program or test.pattern for test in sample.tests)
    record = {
        "doc_id": doc_id,
        "doc": doc,
        "target": target,
        "arguments": {"gen_args_0": {"arg_0": sample.input, "arg_1": {}}},
        "resps": [codes],
        "filtered_resps": codes,
        "filter": PIPELINE,
        "metrics": ["exam_score", "pass@1"],
        "doc_hash": digest_text(json.dumps(doc, indent=2, ensure_ascii=False)),
        "prompt_hash": digest_text(sample.input),
        "target_hash": digest_text(target),
        "exam_score": sum(scores) / len(scores),
        "pass@1": sum(attempt.mark.all_passed for attempt in attempts) / len(attempts),
    }
    return json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"
