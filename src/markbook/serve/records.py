"""What is asked and what is answered: an order to mark some code, and its reward."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NotRequired, TypedDict

from markbook.errors import MarkbookError, UsageError
from markbook.runs.exam.exam_options import ErrorPolicy
from markbook.runs.exam.files import TestDetail, test_detail
from markbook.runs.exam.grading import counted_tests, mark
from markbook.sandbox.job import LOST
from markbook.types import Limits, Missing, MissingKind, Outcome, Sample, TestResult, Verdict


class Busy(MarkbookError):
    """The pool has as much waiting as it may; `seconds` later there will be room."""

    exit_code = 3

    def __init__(self, message: str, seconds: int) -> None:
        super().__init__(message, hint=f"try again in {seconds} s")
        self.seconds = seconds


class Closing(MarkbookError):
    """The pool ends and takes nothing new."""

    exit_code = 3


@dataclass(frozen=True, slots=True)
class Order:
    """Some code to mark."""

    id: str
    """The caller's own name for it."""
    code: str
    """The complete program: assembled, fences removed."""
    sample: Sample
    limits: Limits = field(default_factory=Limits)
    policy: ErrorPolicy = "zero"
    seconds: float | None = None
    """How long its caller waits for it; None for as long as for the request."""
    missing: Missing | None = None
    """Why there is nothing to mark, such as a model that gave no answer at all."""


class UnmarkableError(UsageError):
    """An item that nobody can mark: its tests are broken, its task is unknown, or it holds half a character. The others of its batch are none the worse."""


class RewardRecord(TypedDict):
    """A reward as JSON."""

    id: str
    reward: float | None
    valid: bool
    reason: str | None
    passed: int | None
    total: int | None
    error: str | None
    message: str
    separated: float | None
    unchecked: int
    isolation: str
    tests: NotRequired[list[TestDetail]]


@dataclass(frozen=True, slots=True)
class Reward:
    """A number that an exam would give, or the reason why there is none."""

    id: str
    reward: float | None
    """The share of tests that passed, 0..1, by the exam's rule; None where nothing was measured."""
    missing: Missing | None = None
    """Why there is none; None beside a number."""
    passed: int | None = None
    total: int | None = None
    error: str | None = None
    """One of the exam's five kinds; None if the code ran."""
    message: str = ""
    """The error in words, or what is missing."""
    separated: float | None = None
    """The share of the tests whose verdict came from another process than the code's."""
    unchecked: int = 0
    """Tests that passed with nothing to show that the pass is not forged."""
    isolation: str = ""
    tests: tuple[TestResult, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether it is a verdict on the code, to be trained on."""
        return self.reward is not None

    def to_record(self, *, detail: bool = False) -> RewardRecord:
        """Return it as JSON; with `detail` each test's verdict too."""
        record: RewardRecord = {
            "id": self.id,
            "reward": self.reward,
            "valid": self.valid,
            "reason": None if self.missing is None else self.missing.kind.value,
            "passed": self.passed,
            "total": self.total,
            "error": self.error,
            "message": self.message,
            "separated": self.separated,
            "unchecked": self.unchecked,
            "isolation": self.isolation,
        }
        if detail:
            record["tests"] = [test_detail(number, test, None) for number, test in enumerate(self.tests)]
        return record

    @classmethod
    def from_record(cls, record: RewardRecord) -> Reward:
        """Return what `to_record` was made of, as another machine sent it.

        Raises:
            ValueError: it holds what no reward does, such as neither a number nor a reason.
        """
        value, reason = record.get("reward"), record.get("reason")
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
        # exactly one of the two: both sides of `is` are a bool
        if is_number is (reason is not None) or (not is_number and value is not None):
            raise ValueError(f"a reward is a number or has a reason, not {value!r} and {reason!r}")
        missing = None if reason is None else Missing(MissingKind(reason), str(record.get("message", "")))
        return cls(
            id=str(record["id"]),
            reward=None if value is None else float(value),
            missing=missing,
            passed=record.get("passed"),
            total=record.get("total"),
            error=record.get("error"),
            message=str(record.get("message", "")),
            separated=record.get("separated"),
            unchecked=int(record.get("unchecked", 0)),
            isolation=str(record.get("isolation", "")),
            tests=tuple(
                TestResult(
                    passed=test["passed"] is True,
                    verdict=Verdict(test["verdict"]),
                    error_type=test.get("error_type") or "",
                    error_message=test.get("error_message") or "",
                    own_operator=bool(test.get("own_operator")),
                )
                for test in record.get("tests", ())
            ),
        )


def make_reward(order: Order, outcome: Outcome | Missing) -> Reward:
    """Return what an outcome is worth by the exam's rule; what is not a verdict on the code has none."""
    if isinstance(outcome, Missing):
        return Reward(order.id, None, outcome, message=outcome.detail)
    got, isolation = mark(order.sample, outcome), outcome.isolation.value
    missing = got.missing
    # what says nothing of the code has no number, whatever the exam's rule makes of it
    if LOST in outcome.flags:
        missing = Missing(MissingKind.UNAVAILABLE, outcome.error_message)
    elif outcome.benchmark_fault:
        missing = Missing(MissingKind.UNDEFINED, f"a test is broken: {outcome.benchmark_fault}")
    elif not outcome.tests:
        missing = Missing(MissingKind.UNDEFINED, "there is no test")
    if missing is not None:
        return Reward(order.id, None, missing, message=missing.detail, isolation=isolation)
    test_results = tuple(counted_tests(order.sample, outcome))
    apart = sum(test.verdict is Verdict.SEPARATED for test in test_results)
    return Reward(
        id=order.id,
        reward=got.score(order.policy),
        passed=got.passed,
        total=got.total,
        error=outcome.error.value if outcome.error else None,
        message=outcome.error_words,
        separated=apart / len(test_results) if test_results else None,
        unchecked=sum(test.verdict is Verdict.UNCHECKED for test in test_results),
        isolation=isolation,
        tests=test_results,
    )
