"""Groups of tests and what they are worth, by the versions of the problem package format.

In `legacy` and `2023-07-draft` each group is graded by flags: how its verdict and its score come out of those of its tests and
groups. In `2025-09` a group has a most that it is worth, and an aggregation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

from markbook.stdio.checkers import Checked, Result

Verdicts = Literal["worst_error", "first_error", "always_accept"]
Scores = Literal["sum", "avg", "min", "max"]
Aggregation = Literal["pass-fail", "sum", "min"]
_WORST: Sequence[Result] = ("JE", "CE", "RTE", "MLE", "OLE", "TLE", "WA", "AC")
_VERDICTS = ("worst_error", "first_error", "always_accept")
_SCORES = ("sum", "avg", "min", "max")


@dataclass(frozen=True, slots=True)
class Group:
    """Tests that are graded together."""

    name: str = ""
    """With slashes, such as `secret/group1`; empty for all of them."""
    tests: tuple[str, ...] = ()
    """Names, in order."""
    groups: tuple[Group, ...] = ()
    on_reject: Literal["break", "continue"] = "break"
    verdicts: Verdicts = "worst_error"
    scores: Scores = "sum"
    accept_if_any_accepted: bool = False
    ignore_sample: bool = False
    accept_score: float = 1.0
    reject_score: float = 0.0
    low: float = -math.inf
    high: float = math.inf
    aggregation: Aggregation | None = None
    """Of 2025-09; None for the older versions."""
    most: float | None = None
    """What a group of 2025-09 is worth; None where nothing bounds it."""
    require_pass: tuple[str, ...] = ()
    """Groups that have to be accepted whole for this one to count."""

    @property
    def all_tests(self) -> Iterator[str]:
        """Yield the names of its tests and of those of its groups, in order."""
        yield from self.tests
        for group in self.groups:
            yield from group.all_tests


@dataclass(frozen=True, slots=True)
class Graded:
    """What a group came to."""

    result: Result
    score: float
    fault: str = ""
    """Why the grading itself is wrong: a score outside the range that the package promises."""


def with_flags(group: Group, flags: str) -> Group:
    """Return a group with the flags of the default grader.

    Raises:
        ValueError: a flag is unknown.
    """
    for flag in flags.split():
        if flag in _VERDICTS:
            group = replace(group, verdicts=cast("Verdicts", flag))
        elif flag in _SCORES:
            group = replace(group, scores=cast("Scores", flag))
        elif flag in ("accept_if_any_accepted", "ignore_sample"):
            group = replace(group, **{flag: True})  # type: ignore[arg-type]  # fields of that name and type
        else:
            raise ValueError(f"the default grader has no flag {flag[:40]!r}")
    return group


def grade(group: Group, checks: Mapping[str, Checked]) -> Graded:
    """Return what a group comes to.

    Args:
        group: the group, usually all of a problem.
        checks: what became of each test that was run; behind a rejection that breaks a group none need have been.
    """
    return _modern(group, checks, {}) if group.aggregation is not None else _classic(group, checks)


def next_test(group: Group, checks: Mapping[str, Checked]) -> str | None:
    """Return the test to run next, None where no further one could change anything.

    Args:
        group: the group, usually all of a problem.
        checks: what became of each test that was run.
    """
    for part in group.groups:
        if group.ignore_sample and part.name == "sample":
            continue
        if (name := next_test(part, checks)) is not None:
            return name
        if _ends(group, grade(part, checks)):
            return None
    for name in group.tests:
        if name not in checks:
            return name
        if checks[name].result != "AC" and _breaks(group):
            return None
    return None


def _breaks(group: Group) -> bool:
    return group.on_reject == "break" if group.aggregation is None else group.aggregation != "sum"


def _ends(group: Group, part: Graded) -> bool:
    """Whether a part settles what its group comes to: under `min` one that is rejected with points does not."""
    return part.result != "AC" and _breaks(group) and not (group.aggregation == "min" and part.score > 0)


def largest(group: Group, *, is_judged: bool) -> float | None:
    """Return the most that a group can score; None where nothing bounds it.

    Args:
        group: the group, usually all of a problem.
        is_judged: whether a validator may give a test any score.
    """
    if group.aggregation is None:
        if math.isfinite(group.high):
            return group.high
        counted = [part for part in group.groups if not (group.ignore_sample and part.name == "sample")]
        parts = [largest(part, is_judged=is_judged) for part in counted]
        parts += [None if is_judged else group.accept_score] * len(group.tests)
    else:
        if group.most is not None:
            return group.most
        parts = [largest(part, is_judged=is_judged) for part in group.groups if part.name != "sample"]
        parts += [None] * len(group.tests)
    limits_known = [part for part in parts if part is not None]
    if len(limits_known) < len(parts) or not parts:
        return None
    if group.aggregation is None:
        return _AGGREGATED[group.scores](limits_known)
    return min(limits_known) if group.aggregation == "min" else math.fsum(limits_known)


def rename_tests(group: Group, names: Mapping[str, str]) -> Group:
    """Return a group whose tests have other names."""
    inner = tuple(rename_tests(part, names) for part in group.groups)
    return replace(group, tests=tuple(names[name] for name in group.tests), groups=inner)


def _classic(group: Group, checks: Mapping[str, Checked]) -> Graded:
    parts: list[Graded] = []
    for part in _classic_parts(group, checks):
        parts.append(part)
        if part.result != "AC" and group.on_reject == "break":
            break
    if not parts:
        return Graded("AC", 0.0)
    result = _result(group, [part.result for part in parts])
    scores = [part.score for part in parts]
    score = _AGGREGATED[group.scores](scores)
    fault = next((part.fault for part in parts if part.fault), "")
    if not fault and not group.low <= score <= group.high:
        fault = f"{group.name or 'the problem'} scores {score:g}, outside of its range"
    return Graded("JE" if fault else result, score, fault)


def _classic_parts(group: Group, checks: Mapping[str, Checked]) -> Iterator[Graded]:
    for inner in group.groups:
        if not (group.ignore_sample and inner.name == "sample"):
            yield _classic(inner, checks)
    for name in group.tests:
        checked = checks.get(name)
        if checked is None:
            return
        usual = group.accept_score if checked.result == "AC" else group.reject_score
        yield Graded(checked.result, usual if checked.points is None else checked.points)


def _result(group: Group, results: Sequence[Result]) -> Result:
    if group.verdicts == "always_accept" or (group.accept_if_any_accepted and "AC" in results):
        return "AC"
    if group.verdicts == "first_error":
        return next((result for result in results if result != "AC"), "AC")
    return min(results, key=_WORST.index)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


_AGGREGATED: Mapping[Scores, Callable[[Sequence[float]], float]] = {
    "sum": math.fsum,
    "avg": _mean,
    "min": min,
    "max": max,
}


def _modern(group: Group, checks: Mapping[str, Checked], graded_by_name: dict[str, Graded]) -> Graded:
    inner: list[Graded] = []
    ended: list[Graded] = []
    for part in group.groups:
        if ended and not _was_run(part, checks):
            graded_by_name[part.name] = Graded("WA", 0.0)
            continue
        lacking = [
            name for name in part.require_pass if name not in graded_by_name or graded_by_name[name].result != "AC"
        ]
        graded = Graded("WA", 0.0) if lacking else _modern(part, checks, graded_by_name)
        graded_by_name[part.name] = graded
        if part.name != "sample":  # it is worth nothing, and a group may require it
            inner.append(graded)
        if _ends(group, graded):
            ended.append(graded)
    tests = [checks[name] for name in group.tests if name in checks]
    ran_all = len(tests) == len(group.tests)
    results: list[Result] = [
        *(test.result for test in tests),
        *(graded_part.result for graded_part in (*inner, *ended)),
    ]
    result: Result = min(results, key=_WORST.index) if results else "AC"
    if not ran_all and result == "AC":
        result = "JE"
    if result == "JE":
        fault = next((graded_part.fault for graded_part in inner if graded_part.fault), "a test has no verdict")
        return Graded("JE", 0.0, fault)
    score = _from_groups(group, inner) if inner else 0.0 if ended else _from_tests(group, tests, ran_all=ran_all)
    if group.most is not None and score > group.most + 1e-9:
        return Graded("JE", score, f"{group.name or 'the problem'} scores {score:g}, more than {group.most:g}")
    return Graded(result, score)


def _was_run(group: Group, checks: Mapping[str, Checked]) -> bool:
    return any(name in checks for name in group.tests) or any(_was_run(part, checks) for part in group.groups)


def _from_groups(group: Group, parts: Sequence[Graded]) -> float:
    scores = [part.score for part in parts]
    if group.aggregation == "min":
        return min(scores)
    if group.aggregation == "pass-fail":
        return (group.most or 0.0) if all(part.result == "AC" for part in parts) else 0.0
    return math.fsum(scores)


def _from_tests(group: Group, tests: Sequence[Checked], *, ran_all: bool) -> float:
    most = group.most
    if group.aggregation == "pass-fail":
        return (most or 0.0) if ran_all and all(checked.result == "AC" for checked in tests) else 0.0
    if not tests:
        return 0.0
    per_test = most if group.aggregation == "min" or most is None else most / len(group.tests)
    scores = [_worth(checked, per_test) for checked in tests] + [0.0] * (not ran_all)
    return min(scores) if group.aggregation == "min" else math.fsum(scores)


def _worth(checked: Checked, most: float | None) -> float:
    """Return what a test earns: the validator's points, or its share of the most that it is worth."""
    if checked.result != "AC":
        return 0.0
    if checked.points is not None:
        return checked.points
    return (most or 0.0) * (1.0 if checked.multiplier is None else checked.multiplier)
