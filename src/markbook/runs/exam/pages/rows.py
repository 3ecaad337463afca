"""`test_results.jsonl`: one row an attempt, in benchmark order."""

from __future__ import annotations

import json
from typing import Annotated, Any, NotRequired, TypedDict

from markbook.runs.exam.marks import counted_tests, group_of, reasons
from markbook.runs.exam.pages.scores import percent
from markbook.runs.exam.view import MarkedAttempt
from markbook.types import Outcome, Sample, TestResult
from markbook.why import Failure, Why


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
    details = zip(counted_tests(sample, outcome), reasons(sample, outcome), strict=True)
    record: ResultRow = {
        "task_id": sample.id,
        "category": group_of(sample, "topic") or None,
        "total_tests": got.total,
        "tests_passed": got.passed,
        "all_tests_passed": got.all_passed,
        "error_type": _error_type(outcome),
        "test_details": [test_detail(number, test, failure) for number, (test, failure) in enumerate(details)],
        "model": attempt.measurement.model,
        "sample": attempt.index,
        "complexity": sample.meta.get("complexity"),
        "object_type": sample.problem_type,
        "error_message": _message(outcome),
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
        record["why"] = about_all | _whole(outcome.why, sample)
    return json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"


def _error_type(outcome: Outcome) -> str | None:
    """Return the kind of error, or how the first failed test failed (which is no error)."""
    if outcome.error:
        return outcome.error.value
    failed = next((test for test in outcome.tests if not test.passed), None)
    return failed.error_type or "AssertionError" if failed else None


def _message(outcome: Outcome) -> str | None:
    if not outcome.error:
        return None
    return f"{outcome.error_type}: {outcome.error_message}" if outcome.error_type else outcome.error_message


def _whole(why: Why, sample: Sample) -> dict[str, object]:
    """Return what ended a test as a whole and belongs to none of its assertions."""
    ended = [failure.to_record() for failure in why.failures if failure.part < 0] if sample.is_program else []
    return {"ended": ended} if ended else {}


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
