"""`test_results.jsonl`: one row an attempt, in benchmark order."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from markbook.runs.exam.marks import ErrorPolicy, counted_tests, group_of, mark, reasons
from markbook.runs.exam.scores import percent
from markbook.types import Outcome, Sample, TestResult
from markbook.why import Failure, Why


def result_row(
    model: str, sample: Sample, index: int, outcome: Outcome, policy: ErrorPolicy, about: Mapping[str, Any]
) -> str:
    """Return one line of the file.

    Args:
        model: its name.
        sample: the problem.
        index: which of the model's attempts at the problem.
        outcome: what the sandbox saw.
        policy: which score is the score.
        about: how the solution's text came about (`step`, `form`).
    """
    got = mark(sample, outcome)
    details = zip(counted_tests(sample, outcome), reasons(sample, outcome), strict=True)
    record: dict[str, Any] = {
        "task_id": sample.id,
        "category": group_of(sample, "topic") or None,
        "total_tests": got.total,
        "tests_passed": got.passed,
        "all_tests_passed": got.all_passed,
        "error_type": _error_type(outcome),
        "test_details": [test_detail(number, test, failure) for number, (test, failure) in enumerate(details)],
        "model": model,
        "sample": index,
        "complexity": sample.meta.get("complexity"),
        "object_type": sample.problem_type,
        "error_message": _message(outcome),
        "score": percent(got.score(policy)),
        "score_zero": percent(got.zero),
        "score_partial": percent(got.partial),
        "isolation": outcome.isolation.value,
        "extraction": about.get("step"),
        "answer_form": about.get("form"),
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


def _whole(why: Why, sample: Sample) -> dict[str, Any]:
    """Return what ended a test as a whole and belongs to none of its assertions."""
    ended = [one.to_record() for one in why.failures if one.part < 0] if sample.is_program else []
    return {"ended": ended} if ended else {}


def test_detail(number: int, test: TestResult, failure: Failure | None) -> dict[str, Any]:
    """Return what a row says of one test."""
    record: dict[str, Any] = {
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
