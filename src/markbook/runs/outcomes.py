"""An outcome as JSON values: what journals and the verdicts that are kept from run to run hold of an attempt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict, cast

from markbook.types import ErrorKind, Isolation, Outcome, TestResult, Verdict
from markbook.why import why_of


class OutcomeRecord(TypedDict):
    """An outcome as JSON values."""

    tests: list[list[Any]]
    """Of each test: whether it passed, its verdict, the error's type and message, its operator, its parts, its stream."""
    error: str | None
    error_type: str
    error_message: str
    limit: str
    benchmark_fault: str
    isolation: str
    flags: list[str]
    seconds: float | None
    wall_seconds: float | None
    score: NotRequired[float]
    why: NotRequired[Mapping[str, object]]


def outcome_record(outcome: Outcome) -> OutcomeRecord:
    """Return an outcome as JSON values."""
    record: OutcomeRecord = {
        "tests": [_test_record(result) for result in outcome.tests],
        "error": outcome.error.value if outcome.error else None,
        "error_type": outcome.error_type,
        "error_message": outcome.error_message,
        "limit": outcome.limit,
        "benchmark_fault": outcome.benchmark_fault,
        "isolation": outcome.isolation.value,
        "flags": list(outcome.flags),
        "seconds": outcome.seconds,
        "wall_seconds": outcome.wall_seconds,
    }
    if outcome.score is not None:
        record["score"] = outcome.score
    if outcome.why:
        record["why"] = outcome.why.to_record()
    return record


def as_outcome_record(recorded: Mapping[str, object]) -> OutcomeRecord:
    """Return a journal's row of an attempt as what was written there."""
    return cast("OutcomeRecord", recorded)


def outcome_of(recorded: Mapping[str, object]) -> Outcome:
    """Return the outcome that a record was made of."""
    record = as_outcome_record(recorded)
    return Outcome(
        tests=tuple(_test_result(test) for test in record["tests"]),
        error=ErrorKind(record["error"]) if record["error"] else None,
        error_type=record["error_type"],
        error_message=record["error_message"],
        limit=record["limit"],
        benchmark_fault=record["benchmark_fault"],
        isolation=Isolation(record["isolation"]),
        flags=tuple(record["flags"]),
        seconds=record["seconds"],
        wall_seconds=record["wall_seconds"],
        score=record.get("score"),
        why=why_of(record.get("why")),
    )


def _test_record(result: TestResult) -> list[Any]:
    # A list and not an object: a run has many of these, and their keys would be most of the journal.
    parts = [_test_record(part) for part in result.parts]
    stream = [result.result, result.rule] if result.result else []
    return [
        int(result.passed),
        result.verdict.value,
        result.error_type,
        result.error_message,
        int(result.own_operator),
        parts,
        *stream,
    ]


def _test_result(record: Sequence[Any]) -> TestResult:
    passed, verdict, error_type, message, own, parts, *stream = record
    results = tuple(_test_result(part) for part in parts)
    return TestResult(bool(passed), Verdict(verdict), error_type, message, bool(own), results, *stream)
