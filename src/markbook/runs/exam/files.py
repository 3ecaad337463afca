"""The files that an exam leaves: its rows, the documented ones, and those of the harness."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Annotated, Any, NotRequired, TypedDict

from markbook.report.words import folder_names, harness_date, harness_stamp
from markbook.results.kind import Content
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
from markbook.types import TestResult, digest_text
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
        "model": attempt.model,
        "sample": attempt.index,
        "complexity": sample.meta.get("complexity"),
        "object_type": sample.problem_type,
        "error_message": outcome.error_words if outcome.error else None,
        "score": percent(attempt.score),
        "score_zero": None if got.missing else percent(got.zero),
        "score_partial": None if got.missing else percent(got.partial),
        "isolation": outcome.isolation.value,
        "extraction": attempt.step,
        "answer_form": attempt.form,
    }
    if outcome.limit:
        record["limit"] = outcome.limit
    if outcome.flags:
        record["flags"] = list(outcome.flags)
    if outcome.benchmark_fault:
        record["benchmark_fault"] = outcome.benchmark_fault
    if outcome.why:
        about_all = {name: value for name, value in outcome.why.to_record().items() if name != "failures"}
        # Each assert has its own reason in `test_details`; what is left is how the program as a whole ended.
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


# The exam's documented files, from its journal.


def exam_files(view: ExamView) -> Mapping[str, Content]:
    """Return every documented file of an exam by its path in the run folder.

    Four a model, the comparison of several, and the times, which differ from run to run, in a file of their own.
    """
    benchmark = str(view.config.get("benchmark_name", "benchmark"))
    notes = head_notes(view.config)
    files: dict[str, Content] = {}
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
    # A file of its own: all others are the same, byte for byte, whenever the journal is rendered.
    files["timings.jsonl"] = (
        json.dumps(
            {
                "model": model,
                "task_id": attempt.sample.id,
                "sample": attempt.index,
                "cpu_seconds": attempt.outcome.seconds,
                "wall_seconds": attempt.outcome.wall_seconds,
            },
            ensure_ascii=False,
        )
        + "\n"
        for model in view.models
        for attempt in view.attempts(model)
    )
    return files


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
        tally = view.tallies[model]
        score, count = tally.exam_score(), len(tally.samples)
        # "N/A" is the harness's word for a number whose standard error is not stated.
        metrics: dict[str, Any] = {f"exam_score,{PIPELINE}": score.value, f"exam_score_stderr,{PIPELINE}": "N/A"}
        if score.interval is not None:
            metrics[f"exam_score_interval,{PIPELINE}"] = [score.interval.low, score.interval.high]
        names = ["exam_score"]
        for metric, estimate in tally.passes():
            names.append(metric)
            metrics[f"{metric},{PIPELINE}"] = estimate.value
            metrics[f"{metric}_stderr,{PIPELINE}"] = "N/A" if estimate.se is None else estimate.se
            if estimate.low is not None and estimate.high is not None:
                metrics[f"{metric}_interval,{PIPELINE}"] = [estimate.low, estimate.high]
        # The harness has no word for it, and readers must see how many problems a mean is over.
        metrics["n_scored"] = dict.fromkeys(names, tally.n_answered)
        repeats = max(tally.attempts, default=0)
        results = {
            "results": {task: {"alias": task, **metrics}},
            "group_subtasks": {},
            "configs": {task: {"task": task, "output_type": "generate_until", "repeats": repeats}},
            "versions": {task: None},
            "n-shot": {task: 0},
            "higher_is_better": {task: dict.fromkeys(names, True)},
            "n-samples": {task: {"original": count, "effective": count}},
            "config": {"model": model, "limit": None, "random_seed": view.config.get("seed")},
            "model_name": model,
            "model_source": "markbook",
            "markbook": {
                "profile": view.config.get("profile"),
                "error_policy": tally.policy,
                "note": view.partial_note(),
            },
            "date": harness_date(started),
        }
        files[f"{prefix}results{stamp}.json"] = as_json(results)
        files[f"{prefix}samples_{name}{stamp}.jsonl"] = _samples(view, tally)
    return files


def _samples(view: ExamView, tally: Tally) -> Iterator[str]:
    """Yield a row for each problem that has answers of which something can be said, with all of these."""
    indices = {sample.id: number for number, sample in enumerate(tally.samples)}
    for name, several in groupby(view.attempts(tally.model), key=lambda attempt: attempt.sample.id):
        attempts = [attempt for attempt in several if attempt.score is not None]
        if not attempts:
            continue
        sample = attempts[0].sample
        scores = [attempt.score or 0.0 for attempt in attempts]
        doc = {"task_id": sample.id, "problem": sample.input, "entry_point": sample.entry_point}
        codes = [attempt.code for attempt in attempts]
        target = "\n".join(test.assertion or test.program or test.pattern for test in sample.tests)
        record = {
            "doc_id": indices[name],
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
        yield json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"
