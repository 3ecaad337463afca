"""What became of the tests of a program that goes in turns, and what they come to together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markbook.runs.programs.failures import Raw
from markbook.sandbox.outcomes import clean
from markbook.sandbox.program import Executed
from markbook.stdio.checkers import Checked, Result
from markbook.stdio.scoring import Group, grade, largest
from markbook.types import ErrorKind, Sample, Test, TestResult, Verdict

NOT_RUN = TestResult(
    passed=False,
    verdict=Verdict.SEPARATED,
    error_type="NotRun",
    error_message="not run: an earlier test failed",
    result="-",
)
KINDS: Mapping[Result, tuple[ErrorKind | None, str]] = {
    "WA": (None, "WrongAnswer"),
    "TLE": (ErrorKind.TIMEOUT, "TimeoutError"),
    "MLE": (ErrorKind.OTHER, "MemoryError"),
    "RTE": (ErrorKind.OTHER, "RuntimeError"),
    "OLE": (ErrorKind.OTHER, "OutputLimitError"),
    "CE": (ErrorKind.SYNTAX, "CompileError"),
    "JE": (None, "JudgeError"),
}
LIMITS: Mapping[Result, str] = {"TLE": "cpu", "MLE": "memory", "OLE": "output"}


@dataclass(frozen=True, slots=True)
class JudgedTest:
    """What became of one test."""

    checked: Checked
    rule: str = ""
    limit: str = ""
    seconds: float = 0.0
    wall: float = 0.0
    ran: Executed | None = None
    """Until it is known why it failed."""
    why: Raw | None = None


def score_tests(sample: Sample, found: Mapping[int, JudgedTest], fault: str) -> tuple[float | None, str]:
    """Return the share, 0..1, of what a problem's tests are worth where that is not the share passed, or why there is none."""
    group = sample.group
    if fault:
        return None, fault
    if group is None:
        return shares(sample.tests, {index: judged.checked for index, judged in found.items()}), ""
    checked = {str(index): judged.checked for index, judged in found.items()}
    return share(group, checked, is_judged=sample.judge is not None)


def shares(tests: Sequence[Test], checks: Mapping[int, Checked]) -> float | None:
    """Return the share of the points of tests that judges gave; None where none of them spoke of shares."""
    if all(checked.points is None and checked.multiplier is None for checked in checks.values()):
        return None
    worth = [1.0 if test.points is None else test.points for test in tests]
    earned = [_share(checks[index], most) * most for index, most in enumerate(worth) if index in checks]
    total = math.fsum(worth)
    return min(1.0, math.fsum(earned) / total) if total else None


def _share(checked: Checked, most: float) -> float:
    """Return the share, 0..1, of a test's points that an output earned."""
    if checked.result != "AC":
        return 0.0
    if checked.points is not None:
        return min(1.0, max(0.0, checked.points / most)) if most else 0.0
    return 1.0 if checked.multiplier is None else checked.multiplier


def share(group: Group, found: Mapping[str, Checked], *, is_judged: bool) -> tuple[float | None, str]:
    """Return the share of what a group is worth, or why there is none."""
    graded, most = grade(group, found), largest(group, is_judged=is_judged)
    if graded.fault:
        return None, graded.fault
    if not most:
        return (1.0 if graded.result == "AC" else 0.0), ""
    return min(1.0, max(0.0, graded.score / most)), ""


def result_of(tested: JudgedTest) -> TestResult:
    """Return a test's result as every report shows it."""
    checked = tested.checked
    if checked.result == "AC":
        return TestResult(passed=True, verdict=Verdict.SEPARATED, result="AC", rule=tested.rule)
    return TestResult(
        passed=False,
        verdict=Verdict.SEPARATED,
        error_type=KINDS[checked.result][1],
        error_message=clean(checked.message),
        result=checked.result,
        rule=tested.rule,
    )
