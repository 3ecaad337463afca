"""Grades of an exam: of one attempt, and of a model over all problems.

Theory of operation
-------------------
`mark` is the one place where an outcome becomes a score. The score is the share of the problem's tests that passed, 0..1.
Under the documented error policy `zero` an attempt that raised an error scores 0 whatever passed; under `partial` it keeps
its share. Both are kept, whichever decides. What the problem's own judge could not judge has no score but a reason.

`Tally` adds up one model's grades. A problem scores the mean over the model's attempts at it; a problem without an attempt
scores 0 (the exam rule) in `exam_score` and is left out in `attempted_score`; one whose answers could not be judged counts
in neither. It keeps arrays with one entry a problem, not the attempts, so its size does not depend on their number:
attempts, right (uint32, shape (problems,)), zero and partial (sums of scores, float64, shape (problems,)).
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from markbook.results.alignment import digest
from markbook.results.sheet import Cell, Sheet
from markbook.results.summary import summarise_values
from markbook.runs.exam.exam_options import ErrorPolicy
from markbook.stats import Estimate, pass_at_k_summary
from markbook.types import (
    BASE_TESTS,
    ErrorKind,
    Missing,
    MissingKind,
    Outcome,
    ProblemType,
    Sample,
    Summary,
    Test,
    TestResult,
    Verdict,
)
from markbook.why import Failure

EXAM_SCORE = "exam_score"
"""The metric that every attempt of an exam is measured by."""
Grouping = Literal["topic", "complexity", "problem_type"]

GROUPINGS: tuple[Grouping, ...] = ("topic", "complexity", "problem_type")
JUDGE_FAILED = "JE"
"""The result of a test whose own judge failed: nobody is charged for it."""
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
    base_passed: bool | None = None
    """Whether the tests of the benchmark that this one extends all passed; None where it extends none."""

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

    def score(self, policy: ErrorPolicy) -> float | None:
        """Return the score under a policy, 0..1; None where it says nothing of the answer (`missing` has the reason)."""
        if self.missing is not None:
            return None
        return self.zero if policy == "zero" else self.partial


def counted_tests(sample: Sample, outcome: Outcome) -> Sequence[TestResult]:
    """Return the results that a reader wants to see: single asserts where a program has them, else the tests."""
    if sample.is_program:
        return [part for test in outcome.tests for part in (test.parts or (test,))]
    return outcome.tests


def mark(sample: Sample, outcome: Outcome) -> Mark:
    """Return what an attempt comes to.

    A problem that reads and writes may have points for each test, or groups of tests whose share its own judge gives.
    There an error ends one test, and what other tests earned stays earned. Elsewhere an error zeroes the attempt, and the
    tests of a program stand or fall together.
    """
    judged = not outcome.benchmark_fault and all(test.result != JUDGE_FAILED for test in outcome.tests)
    missing = None if judged else NOT_JUDGED
    total, passed, error = len(outcome.tests), outcome.passed, outcome.error
    # The problem's own judge gave the points, and it alone knows how its groups of tests weigh.
    if outcome.score is not None:
        return Mark(total, passed, error, False, outcome.score == 1.0, outcome.score, missing)
    reads = sample.problem_type is ProblemType.STDIN
    if reads and any(test.points is not None for test in sample.tests):
        points = [test.points or 0.0 for test in sample.tests]
        earned = [worth for worth, test in zip(points, outcome.tests, strict=True) if test.passed]
        available = math.fsum(points)
        # a test without points is worth nothing; where none has any, all of them must pass
        worth = math.fsum(earned) / available if available else float(len(earned) == len(points))
        return Mark(total, passed, error, False, outcome.is_right, worth, missing)
    # Such tests stand or fall together, so there is one that counts.
    if reads or sample.is_program:
        total, passed = 1, int(outcome.is_right)
    base = sample.meta.get(BASE_TESTS)
    base_passed = all(test.passed for test in outcome.tests[:base]) if isinstance(base, int) else None
    return Mark(total, passed, error, error is not None, outcome.is_right, missing=missing, base_passed=base_passed)


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


def get_group(sample: Sample, grouping: Grouping) -> str:
    """Return the name of a sample's group; empty if the benchmark does not say."""
    value = sample.problem_type if grouping == "problem_type" else sample.meta.get(grouping)
    if value is None or value == "":
        return ""
    return f"level_{value}" if grouping == "complexity" else str(value)


PASS_AT = (1, 5, 10, 100)
"""The k for which pass@k is reported, as far as there are attempts."""
NOT_RUN = "-"
"""The result of a test that was not run because an earlier one failed."""
EXAMPLES = 3
"""So many examples of each error kind are kept."""


@dataclass(slots=True)
class Tally:
    """Counts one model's attempts; 32 bytes a problem, whatever the number of attempts."""

    model: str
    samples: Sequence[Sample]
    policy: ErrorPolicy = "zero"
    seed: int = 0
    """For the bootstrap of small groups."""
    attempts: array[int] = field(init=False)
    lacking: array[int] = field(init=False)
    """How many samples of a problem, beside its attempts, nobody answered: each scores 0, as an absent problem does."""
    unjudged: array[int] = field(init=False)
    """How many answers to a problem could not be judged, by no fault of theirs: as if nobody had been asked."""
    right: array[int] = field(init=False)
    base_right: array[int] = field(init=False)
    """How many attempts passed the tests of the benchmark that this one extends; none where it extends none."""
    zero: array[float] = field(init=False)
    partial: array[float] = field(init=False)
    errors: Counter[str] = field(default_factory=Counter)
    errors_by: dict[Grouping, dict[str, Counter[str]]] = field(default_factory=dict)
    attempts_by: dict[Grouping, Counter[str]] = field(default_factory=dict)
    examples: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    grades: Counter[str] = field(default_factory=Counter)
    """fully_correct, partially_correct, incorrect, and one a kind of error: they add up to the attempts."""
    verdicts: Counter[str] = field(default_factory=Counter)
    """How the single verdicts came about."""
    flags: Counter[str] = field(default_factory=Counter)
    limits: Counter[str] = field(default_factory=Counter)
    results: Counter[str] = field(default_factory=Counter)
    """Of programs that read and write: how many single tests got AC, WA and so on; `-` was not run."""
    _found: dict[tuple[Any, ...], Summary] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Summaries of what was counted so far: several reports ask for the same ones, and a bootstrap takes its time."""

    def __post_init__(self) -> None:
        size = len(self.samples)
        self.attempts, self.right, self.base_right = (array("I", [0] * size) for _ in range(3))
        self.lacking, self.unjudged = array("I", [0] * size), array("I", [0] * size)
        self.zero, self.partial = array("d", [0.0] * size), array("d", [0.0] * size)

    def add(self, index: int, outcome: Outcome, grade: Mark | None = None) -> Mark:
        """Count one attempt at the problem in this place, and return its mark, which is `grade` where the caller has it."""
        # Summaries of what was counted before are no longer true.
        self._found.clear()
        sample = self.samples[index]
        grade = mark(sample, outcome) if grade is None else grade
        tests = counted_tests(sample, outcome)
        self.verdicts.update(result.verdict.value for result in tests if result.result != NOT_RUN)
        self.results.update(result.result for result in tests if result.result)
        # The problem's own judge failed: neither an attempt nor an absent one, whatever the tests say.
        if grade.missing is not None:
            self.unjudged[index] += 1
            return grade
        # Totals and counts apart: the mean is made when it is asked for, under whichever policy.
        self.attempts[index] += 1
        self.right[index] += grade.all_passed
        self.base_right[index] += bool(grade.base_passed)
        self.zero[index] += grade.zero
        self.partial[index] += grade.partial
        for grouping in GROUPINGS:
            group = get_group(sample, grouping)
            if group:
                self.attempts_by.setdefault(grouping, Counter())[group] += 1
                if grade.error:
                    self.errors_by.setdefault(grouping, {}).setdefault(group, Counter())[grade.error.value] += 1
        if grade.error:
            kind = grade.error.value
            self.errors[kind] += 1
            self.grades[kind] += 1
            examples = self.examples.setdefault(kind, [])
            if len(examples) < EXAMPLES:
                examples.append({"task_id": sample.id, "message": outcome.error_words})
        elif grade.all_passed:
            self.grades["fully_correct"] += 1
        else:
            self.grades["partially_correct" if grade.passed else "incorrect"] += 1
        self.flags.update(outcome.flags)
        if outcome.limit:
            self.limits[outcome.limit] += 1
        return grade

    @property
    def n_evaluated(self) -> int:
        """How many attempts were marked."""
        return sum(self.attempts)

    @property
    def n_answered(self) -> int:
        """How many problems have an attempt."""
        return sum(1 for count in self.attempts if count)

    @property
    def error_rate(self) -> float | None:
        """Errors over attempts, 0..1; None without attempts. Absent answers are in neither."""
        return sum(self.errors.values()) / self.n_evaluated if self.n_evaluated else None

    @property
    def separated_share(self) -> float | None:
        """The share of single verdicts that came from separate processes; None without a verdict."""
        count = sum(self.verdicts.values())
        return self.verdicts[Verdict.SEPARATED.value] / count if count else None

    @property
    def n_unchecked(self) -> int:
        """How many single verdicts passed beside the solution with nothing to show that they are not forged."""
        return self.verdicts[Verdict.UNCHECKED.value]

    @property
    def unchecked_share(self) -> float | None:
        """Their share of all single verdicts; None without any."""
        count = sum(self.verdicts.values())
        return self.n_unchecked / count if count else None

    def problem_score(self, index: int, policy: ErrorPolicy | None = None) -> float | None:
        """Return the mean score of the samples of a problem, 0..1, those nobody answered at 0; None without an attempt."""
        total = self.zero if (policy or self.policy) == "zero" else self.partial
        # the mean of many thirds may exceed 1 by one rounding
        return min(1.0, total[index] / self.tries(index)) if self.attempts[index] else None

    def cell(self, index: int) -> Cell:
        """Return a problem's score as comparisons read it: 0 if nobody tried, a reason if no answer could be judged.

        It is passed if every attempt passed all its tests.
        """
        if not self._counts(index):
            return Cell(None, NOT_JUDGED, passed=False)
        return Cell(self.problem_score(index) or 0.0, passed=0 < self.tries(index) == self.right[index])

    def tries(self, index: int) -> int:
        """Return how many samples of a problem were asked for: its attempts and those that nobody answered."""
        return self.attempts[index] + self.lacking[index]

    def groups(self, grouping: Grouping) -> list[str]:
        """Return the groups that the benchmark has, sorted."""
        return sorted({group for sample in self.samples if (group := get_group(sample, grouping))})

    def places(self, grouping: Grouping, group: str) -> list[int]:
        """Return the problems of a group."""
        return [index for index, sample in enumerate(self.samples) if get_group(sample, grouping) == group]

    def exam_score(
        self, places: Sequence[int] | None = None, *, group: str = "total", policy: ErrorPolicy | None = None
    ) -> Summary:
        """Return the exam score: the mean over all problems, the absent ones at 0."""
        return self._summary(EXAM_SCORE, places, group, policy, absent_counts=True)

    def attempted_score(self, places: Sequence[int] | None = None, *, group: str = "total") -> Summary:
        """Return the mean over the problems that have an attempt."""
        return self._summary("attempted_score", places, group, None, absent_counts=False)

    def _summary(
        self, metric: str, places: Sequence[int] | None, group: str, policy: ErrorPolicy | None, *, absent_counts: bool
    ) -> Summary:
        # Without the group: the same problems have the same numbers, whatever they are called.
        key = metric, None if places is None else tuple(places), policy or self.policy
        if key in self._found:
            return replace(self._found[key], group=group)
        chosen = [index for index in (range(len(self.samples)) if places is None else places) if self._counts(index)]
        scores = [self.problem_score(index, policy) for index in chosen]
        values = [score for score in scores if score is not None]
        summary = summarise_values(
            values,
            metric=metric,
            n_missing={"absent": len(scores) - len(values)},
            policy="exam" if absent_counts else "exclude",
            seed=self.seed,
        )
        lost = (len(self.samples) if places is None else len(places)) - len(chosen)
        if lost:
            words = f"{lost} problems whose own judge failed count for nobody"
            summary = replace(summary, note=f"{summary.note}; {words}" if summary.note else words)
        partial = [index for index in chosen if self.attempts[index] and self.lacking[index]]
        if partial and summary.bounds is not None:
            # Samples that nobody answered score 0 and may have been right: only the upper bound moves.
            low, high = summary.bounds
            high += math.fsum(self.lacking[index] / self.tries(index) for index in partial) / len(scores)
            words = f"{len(partial)} problems have samples that nobody answered, which score 0"
            note = f"{summary.note}; {words}" if summary.note else words
            summary = replace(summary, n_partial=len(partial), bounds=(low, min(1.0, high)), note=note)
        self._found[key] = summary
        return replace(summary, group=group)

    def passes(self) -> Iterator[tuple[str, Estimate]]:
        """Yield each pass@k by its name, and `base_pass@k` of the tests of the benchmark that this one extends (EvalPlus' base)."""
        has_base = all(sample.meta.get(BASE_TESTS) for sample in self.samples) and bool(self.samples)
        most = max((self.tries(index) for index in range(len(self.samples)) if self.attempts[index]), default=0)
        for k in (k for k in PASS_AT if k <= most):
            yield f"pass@{k}", self.pass_at(k)
            if has_base:
                yield f"base_pass@{k}", self.pass_at(k, base=True)

    def pass_at(self, k: int, *, base: bool = False) -> Estimate:
        """Return pass@k over the benchmark's problems, 0..1; a problem without an attempt counts as unsolved.

        It has no value if a problem has attempts, but fewer than k. `base`: the tests of the benchmark that this one
        extends are enough.
        """
        # Problems that nobody could judge are in neither the numerator nor the denominator.
        places = [index for index in range(len(self.samples)) if self._counts(index)]
        # k attempts that all failed for a problem without any: absent is unsolved, and does not hide pass@k of the others.
        counts = [self.tries(index) if self.attempts[index] else k for index in places]
        right = self.base_right if base else self.right
        return pass_at_k_summary(counts, [right[index] for index in places], k, seed=self.seed)

    def _counts(self, index: int) -> bool:
        """Whether a problem says anything: not where every answer to it could not be judged."""
        return bool(self.attempts[index] or not self.unjudged[index])


def exam_sheet(tallies: Sequence[Tally]) -> Sheet:
    """Return the sheet of an exam: a problem's score is the mean over the attempts, 0 if there is none.

    All tallies are over the same problems.
    """
    marks = {
        tally.model: {sample.id: tally.cell(index) for index, sample in enumerate(tally.samples)} for tally in tallies
    }
    samples = tallies[0].samples if tallies else ()
    names = [field.name for field in fields(Test)]
    return Sheet(
        metric=EXAM_SCORE,
        marks=marks,
        meta={
            sample.id: {grouping: group for grouping in GROUPINGS if (group := get_group(sample, grouping))}
            for sample in samples
        },
        digests={
            sample.id: digest([sample.input, [{name: getattr(test, name) for name in names} for test in sample.tests]])
            for sample in samples
        },
    )


def exam_signatures(config: Mapping[str, object]) -> Mapping[str, str]:
    """Return what an exam's scores are measured by, of what run.json says of it."""
    parts = [f"errors:{config.get('error_policy', 'zero')}", f"extract:{config.get('extract', 'auto')}"]
    parts += [f"{name}:{config[name]}" for name in ("timeout", "adaptive", "memory_mb") if name in config]
    parts += ["fresh tests"] if config.get("fresh_tests") else []
    return {"": "|".join((EXAM_SCORE, *parts))}
