"""What one attempt of an exam scores: the one place where an outcome becomes a number.

The score is the share of the problem's tests that passed; under the documented error policy `zero`, an attempt that
raised an error scores 0 whatever passed. Both scores are kept, whichever policy decides. What the problem's own judge
could not judge has no score, but a reason.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from markbook.runs.outcomes import OutcomeRecord
from markbook.types import (
    ErrorKind,
    Measurement,
    Missing,
    MissingKind,
    Outcome,
    ProblemType,
    Sample,
    TestResult,
)
from markbook.why import Failure

EXAM_SCORE = "exam_score"
"""The metric that every attempt of an exam is measured by."""
ErrorPolicy = Literal["zero", "partial"]
Grouping = Literal["topic", "complexity", "problem_type"]

GROUPINGS: tuple[Grouping, ...] = ("topic", "complexity", "problem_type")
JUDGE_FAILED = "JE"
"""The result of a test whose own judge failed: nobody is charged for it."""
_RESULT = 6
"""Where a test of the journal has its result, if it has one."""
NOT_JUDGED = Missing(MissingKind.FAILED, "the problem's own judge failed, which counts for nobody")


@dataclass(frozen=True, slots=True)
class Mark:
    """What one attempt came to: the facts that its score is made of."""

    total: int
    """Tests that count; a benchmark whose tests stand or fall together has one."""
    passed: int
    error: ErrorKind | None
    raised: bool
    """Whether an error zeroes it under the documented policy."""
    all_passed: bool
    worth: float | None = None
    """The share of the points that were earned, where tests are worth points."""
    missing: Missing | None = None
    """Why it says nothing of the answer; None where it does."""

    @property
    def partial(self) -> float:
        """The share of tests that passed, or of their points, 0..1, also if an error was raised."""
        if self.worth is not None:
            return self.worth
        return self.passed / self.total if self.total else 0.0

    @property
    def zero(self) -> float:
        """The same, but 0 if an error was raised."""
        return 0.0 if self.raised else self.partial

    def score(self, policy: ErrorPolicy) -> float:
        """Return the score under a policy, 0..1."""
        return self.zero if policy == "zero" else self.partial

    def measurement(self, policy: ErrorPolicy, sample_id: str = "", index: int = 0, model: str = "") -> Measurement:
        """Return it as every metric gives what it measured: a value, or the reason why there is none."""
        return Measurement(
            EXAM_SCORE,
            None if self.missing else self.score(policy),
            self.missing,
            sample_id=sample_id,
            index=index,
            model=model,
            stats={"passed": self.passed, "total": self.total},
            signature=f"{EXAM_SCORE}|errors:{policy}|v1",
        )


@dataclass(frozen=True, slots=True)
class Grading:
    """How a problem's tests become one score."""

    together: bool
    """Whether they stand or fall together."""
    points: tuple[float, ...] = ()
    """What each is worth, where they are worth points; an error then ends one test, and what others earned stays earned."""

    def mark(
        self, passed: Sequence[bool], error: ErrorKind | None, share: float | None = None, *, judged: bool = True
    ) -> Mark:
        """Return what an attempt comes to.

        Args:
            passed: whether it passed each test.
            error: the kind of error that it raised, if any.
            share: of the problem's worth, where its groups of tests say so.
            judged: whether the problem's own judge did its work.
        """
        missing = None if judged else NOT_JUDGED
        passes_all = bool(passed) and all(passed) and error is None
        if share is not None:
            return Mark(len(passed), sum(passed), error, False, share == 1.0, share, missing)
        if self.points:
            return Mark(len(passed), sum(passed), error, False, passes_all, self._worth(passed), missing)
        if self.together:
            return Mark(1, int(passes_all), error, error is not None, passes_all, missing=missing)
        return Mark(len(passed), sum(passed), error, error is not None, passes_all, missing=missing)

    def _worth(self, passed: Sequence[bool]) -> float:
        """Return the share of a problem's points that were earned; a test without any is worth none."""
        earned = [worth for worth, is_earned in zip(self.points, passed, strict=True) if is_earned]
        total = math.fsum(self.points)
        return math.fsum(earned) / total if total else float(len(earned) == len(self.points))


def grading_of(sample: Sample) -> Grading:
    """Return how a problem is graded."""
    reads = sample.problem_type is ProblemType.STDIN
    has_points = reads and any(test.points is not None for test in sample.tests)
    points = tuple(test.points or 0.0 for test in sample.tests) if has_points else ()
    return Grading(sample.is_program or reads, points)


def counted_tests(sample: Sample, outcome: Outcome) -> Sequence[TestResult]:
    """Return the results that a reader wants to see: single asserts where a program has them, else the tests."""
    if sample.is_program:
        return [part for test in outcome.tests for part in (test.parts or (test,))]
    return outcome.tests


def mark(sample: Sample, outcome: Outcome) -> Mark:
    """Return what an outcome comes to."""
    judged = not outcome.benchmark_fault and all(test.result != JUDGE_FAILED for test in outcome.tests)
    passed = [test.passed for test in outcome.tests]
    return grading_of(sample).mark(passed, outcome.error, outcome.score, judged=judged)


def mark_of_record(grading: Grading, record: OutcomeRecord) -> Mark:
    """Return the same of an outcome as the journal keeps it, without making one: for lists of many."""
    tests = record["tests"]
    judged = not record["benchmark_fault"] and all(JUDGE_FAILED not in test[_RESULT:] for test in tests)
    error = ErrorKind(record["error"]) if record["error"] else None
    return grading.mark([bool(test[0]) for test in tests], error, record.get("score"), judged=judged)


def reasons(sample: Sample, outcome: Outcome) -> Sequence[Failure | None]:
    """Return beside each counted test why it failed, as far as that is known."""
    why = outcome.why
    if why is None:
        return [None] * len(counted_tests(sample, outcome))
    if not sample.is_program:
        return [why.of(at) for at in range(len(outcome.tests))]
    return [
        why.of(at, part)
        for at, test in enumerate(outcome.tests)
        for part in (range(len(test.parts)) if test.parts else (-1,))
    ]


def group_of(sample: Sample, grouping: Grouping) -> str:
    """Return the name of a sample's group; empty if the benchmark does not say."""
    value = sample.problem_type if grouping == "problem_type" else sample.meta.get(grouping)
    if value is None or value == "":
        return ""
    return f"level_{value}" if grouping == "complexity" else str(value)
