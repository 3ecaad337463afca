"""What the examiner sent, as the record that the pipeline reads."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from markbook.types import ErrorKind, Isolation, Outcome, Sample, TestResult, Verdict
from markbook.why import Why, why_of

if TYPE_CHECKING:
    from markbook.sandbox.guest.wire_records import RawTest, WorkerAnswer

LOST = "crash"
"""The flag of an outcome whose worker was lost again and again: it says nothing of the attempt."""
_OF_THE_MACHINE = ("wall", "processes", "file")
"""Limits that depend on what else the machine does, or on how full it is."""
MESSAGE_LENGTH = 300
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}")
_KINDS = {
    "n": ErrorKind.NAME,
    "s": ErrorKind.SYNTAX,
    "t": ErrorKind.TIMEOUT,
    "o": ErrorKind.OTHER,
    "m": ErrorKind.OTHER,
}
_FILE_ERRORS = ("[Errno 27]", "[Errno 28]")
_PROCESS_ERRORS = ("can't start new thread", "[Errno 11]")


def may_be_remembered(outcome: Outcome) -> bool:
    """Whether another run of the same job would end alike; all that keep outcomes ask here."""
    return outcome.limit not in _OF_THE_MACHINE and LOST not in outcome.flags and not outcome.benchmark_fault


def clean(text: object) -> str:
    """Return a message without memory addresses, on one cut line, the same in every run."""
    scrubbed = _ADDRESS.sub("0x...", str(text))
    return scrubbed[:MESSAGE_LENGTH].encode("utf-8", "replace").decode("utf-8")


_PLAIN = frozenset(("p", "v"))
_PASSED: dict[str, TestResult] = {
    verdict: TestResult(passed=True, verdict=verdict) for verdict in Verdict if verdict != Verdict.FLAGGED
}
"""What most results are."""


def test_result(raw: RawTest) -> TestResult:
    """Return one test's record."""
    return _result(raw, raw.get("v", Verdict.IN_PROCESS))


def _result(raw: RawTest, verdict: str) -> TestResult:
    passed = raw.get("p") is True
    if passed and verdict in _PASSED and raw.keys() <= _PLAIN:
        return _PASSED[verdict]
    return TestResult(
        passed=passed and verdict != Verdict.FLAGGED,
        verdict=Verdict(verdict),
        error_type="" if passed else clean(raw.get("t", "")),
        error_message="" if passed else clean(raw.get("m", "")),
        own_operator=bool(raw.get("own")),
        # what a part says of itself comes from where the test ran; how far that is to be trusted is said of the whole
        parts=tuple(_result(part, verdict) for part in raw.get("parts", ())),
        result=str(raw.get("result", "")),
        rule=str(raw.get("rule", "")),
    )


def outcome(record: WorkerAnswer, isolation: Isolation) -> Outcome:
    """Return the outcome of one attempt from the examiner's record of it."""
    tests = record["tests"]
    first = record.get("error") or next((raw for raw in tests if not raw.get("p") and raw.get("k") in _KINDS), None)
    hit = record.get("hit") or _limit(first)
    return Outcome(
        tests=tuple(test_result(raw) for raw in tests),
        error=_KINDS.get(first.get("k", "o"), ErrorKind.OTHER) if first else None,
        error_type=clean(first.get("t", "")) if first else "",
        error_message=clean(first.get("m", "")) if first else "",
        limit=clean(hit),
        benchmark_fault=clean(record.get("fault", "")),
        isolation=isolation,
        flags=tuple(map(clean, record.get("flags", ()))),
        seconds=_seconds(record.get("cpu")),
        wall_seconds=_seconds(record.get("wall")),
        why=why_said(record.get("why")),
    )


def _seconds(value: float | None) -> float | None:
    """Return a time that the examiner says.

    Raises:
        ValueError: it is none.
    """
    if value is not None and not (type(value) in (int, float) and 0 <= value < math.inf):
        raise ValueError("not a time")
    return None if value is None else float(value)


_WHY = {"tests": "failures", "out": "stdout", "err": "stderr", "again": "is_again"}
_FAILURE = {"op": "operator", "err": "printed"}


def why_said(explanation: object) -> Why | None:
    """Return why tests failed, as the examiner and the solution's own process say it: checked, and without addresses."""
    if not isinstance(explanation, dict):
        return None
    fields = {_WHY.get(str(name), str(name)): _scrub(value) for name, value in explanation.items()}
    tests = fields.get("failures")
    fields["failures"] = [
        {_FAILURE.get(name, name): value for name, value in test.items()}
        for test in (tests if isinstance(tests, list) else ())
        if isinstance(test, dict)
    ]
    return why_of(fields)


def _scrub(value: object) -> object:
    if isinstance(value, str):
        return _ADDRESS.sub("0x...", value)
    if isinstance(value, list):
        return [_scrub(item) for item in value]
    return {name: _scrub(item) for name, item in value.items()} if isinstance(value, dict) else value


def _limit(first: RawTest | None) -> str:
    if first is None:
        return ""
    message = str(first.get("m", ""))
    if first.get("k") == "m":
        return "memory"
    if message.startswith(_FILE_ERRORS):
        return "file"
    if message.startswith(_PROCESS_ERRORS):
        return "processes"
    return ""


def all_failed(
    sample: Sample,
    error: ErrorKind,
    *,
    message: str,
    isolation: Isolation,
    verdict: Verdict = Verdict.IN_PROCESS,
    **more: Any,
) -> Outcome:
    """Return the outcome of an attempt none of whose tests could run to its end."""
    failed = TestResult(passed=False, verdict=verdict, error_type=str(error), error_message=message)
    return Outcome(
        tests=(failed,) * len(sample.tests),
        error=error,
        error_type=more.pop("error_type", str(error)),
        error_message=message,
        isolation=isolation,
        **more,
    )
