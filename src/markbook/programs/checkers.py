"""How what a program printed is compared and scored: tokens, lines, numbers, or a checker program of the problem's own."""

from __future__ import annotations

import hashlib
import math
import re
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

# The benchmark's own program that judges outputs: what it is made of, and how it is called.

Convention = Literal["testlib", "icpc", "function"]


@dataclass(frozen=True, slots=True)
class Judge:
    """A checker, an output validator or an interactor, as source."""

    language: str
    files: tuple[tuple[str, bytes], ...]
    """Names and contents."""
    convention: Convention
    """How it is called and what its end means; `function` is a Python file that defines `check`."""
    flags: tuple[str, ...] = ()
    """Further words of its command."""
    is_interactive: bool = False
    """Whether it talks to the program while that runs."""
    passes: int = 1
    """How often the program may be run on one test."""
    is_scripted: bool = False
    """Whether its files bring the scripts `build` and `run` by which it is made and started."""
    others: tuple[Judge, ...] = ()
    """Further ones: all have to accept what a program printed, and the last says how much it is worth."""

    @property
    def all(self) -> tuple[Judge, ...]:
        """This one and the others."""
        return (self, *self.others)

    @property
    def languages(self) -> set[str]:
        """The languages that they are built and run in."""
        return {judge.language for judge in self.all}

    @property
    def name(self) -> str:
        """A name for its files, and those of the others: what has it is built alike."""
        total = hashlib.blake2b(digest_size=16)
        for judge in self.all:
            total.update(repr((judge.language, judge.convention, judge.is_scripted, len(judge.files))).encode())
            for name, content in judge.files:
                total.update(f"{len(name)}:{len(content)}:{name}".encode("utf-8", "surrogatepass") + content)
        return total.hexdigest()


FUNCTION = '''"""Calls `check` of a benchmark with what a program read, printed, and was to print."""

import json
import sys
import traceback

sys.path.insert(0, sys.argv[1])
texts = [open(name, encoding="utf-8", errors="surrogateescape", newline="").read() for name in sys.argv[2:5]]
try:
    from checker import check

    found = check(*texts)
    if isinstance(found, (list, tuple)) and len(found) == 2:
        found = [found[0], str(found[1])[:300]]
    said = {"returned": found}
    text = json.dumps(said)
except BaseException as error:
    text = json.dumps({"raised": f"{type(error).__name__}: {error}"[:300]})
with open("feedback/returned.json", "w", encoding="utf-8") as file:
    file.write(text)
'''
"""The program around a checker that is a function."""


# What a checker or an output validator says by its exit status and its files, and how each is called.
#
# A checker is a program of the benchmark. It reads hostile output, so what it says is bounded, and whatever is not a verdict is
# `JE`: a fault of the judge's, unless the judge is known to be right elsewhere. Then the output broke it.

Result = Literal["AC", "WA", "TLE", "MLE", "RTE", "OLE", "CE", "JE"]
MESSAGE_LENGTH = 300
ICPC_ACCEPTED, ICPC_REJECTED = 42, 43
_POINTS = re.compile(r"\s*(?:points\s+)?([+-]?[0-9]{1,30}(?:\.[0-9]{0,30})?)(?![\w.])")
_TESTLIB: Mapping[int, Result] = {0: "AC", 1: "WA", 2: "WA", 3: "JE", 4: "WA", 8: "WA"}
"""Right, wrong, badly presented, the judge's fault, something behind the end, an end too early."""
_TESTLIB_POINTS = (5, 7)


@dataclass(frozen=True, slots=True)
class Checked:
    """What a checker says of one output."""

    result: Result
    message: str = ""
    points: float | None = None
    """The points that it gives itself; None where it gives none."""
    multiplier: float | None = None
    """The share, 0..1, of a test's points that it gives; None where it does not say."""
    next_input: bytes | None = None
    """What the program is to read in a further pass; None if this was the last."""
    is_own_fault: bool = False
    """Whether a judge that failed says itself that no output is to blame, or met none."""


def testlib(status: int, output_bytes: bytes) -> Checked:
    """Return what a checker of testlib's conventions says by its exit status (negative for a signal) and standard error."""
    message = clean_message(output_bytes)
    if status in _TESTLIB_POINTS:
        match = _POINTS.match(message)
        if match is None:
            return Checked("JE", f"the checker gives points and does not say how many: {message}"[:MESSAGE_LENGTH])
        points = float(match[1])
        return Checked("AC" if points > 0 else "WA", message, points=points)
    if status in _TESTLIB:
        result = _TESTLIB[status]
        return Checked(result, message, is_own_fault=result == "JE")
    return _fault(status, message)


def icpc(status: int, feedback: Mapping[str, bytes] | None = None, *, passes_left: int = 0) -> Checked:
    """Return what an output validator of the ICPC's conventions says by its exit status (negative for a signal) and feedback files."""
    files = feedback or {}
    message = clean_message(files.get("judgemessage.txt", b""))
    if status not in (ICPC_ACCEPTED, ICPC_REJECTED):
        return _fault(status, message)
    numbers: dict[str, float | None] = {}
    for name in ("score.txt", "score_multiplier.txt"):
        numbers[name] = None
        if name in files:
            try:
                number = float(files[name][:100].decode("ascii").strip())
            except (UnicodeDecodeError, ValueError):
                number = math.nan
            numbers[name] = number
            if not math.isfinite(number):
                return Checked(
                    "JE", f"the validator's {name} is not a number: {clean_message(files[name])}"[:MESSAGE_LENGTH]
                )
    if status == ICPC_REJECTED:
        return Checked("WA", message, numbers["score.txt"])
    multiplier = numbers["score_multiplier.txt"]
    if multiplier is not None and not 0 <= multiplier <= 1:
        return Checked("JE", f"the validator multiplies by {multiplier:g}, which is not between 0 and 1")
    following = files.get("nextpass.in")
    if following is not None and passes_left <= 0:
        return Checked("JE", "the validator wants another pass, and the problem allows no more")
    return Checked("AC", message, numbers["score.txt"], multiplier, following)


def python_function(returned: object) -> Checked:
    """Return what a checker that is a function says by what it returns: a truth, a share of 0..1, and perhaps a message."""
    message = ""
    if isinstance(returned, list | tuple) and len(returned) == 2:
        message = clean_message(str(returned[1]).encode("utf-8", "replace"))
        returned = returned[0]
    if isinstance(returned, bool):
        return Checked("AC" if returned else "WA", message)
    if isinstance(returned, int | float) and 0 <= returned <= 1:
        return Checked("AC" if returned > 0 else "WA", message, multiplier=float(returned))
    return Checked("JE", "the checker returned neither a truth nor a share between 0 and 1")


def interactive(validator: Checked, program: Result, *, validator_first: bool, validator_hung: bool = False) -> Checked:
    """Return whose fault it is that an interactive run ended; `AC` is a program against which by itself nothing is to be said.

    `validator_first`: the validator ended first, so what befalls the program after that is the end of its pipe;
    `validator_hung`: a limit ended the validator, for which the program may have waited.
    """
    if validator.result == "JE" and (validator_first or program == "AC" or validator_hung):
        return validator  # else it was the program's end that broke it
    if validator_first and validator.result == "WA":
        return validator  # whatever the program did after that
    if program != "AC":
        return Checked(program)
    return validator


def broken_by_output(failed: Checked) -> Checked:
    """Return what is to be said of an output that a judge could not take which takes what is known to be right."""
    what = "the judge ended in an error on this output and takes a right one"
    return Checked("WA", f"{what}: {failed.message}"[:MESSAGE_LENGTH])


def clean_message(output_bytes: bytes) -> str:
    """Return the first line of what a checker said, cut, without control characters."""
    line = output_bytes[: 4 * MESSAGE_LENGTH].decode("utf-8", "replace").strip().partition("\n")[0]
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in line[:MESSAGE_LENGTH])


def _fault(status: int, message: str) -> Checked:
    how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
    return Checked("JE", f"the checker {how}, which is not a verdict: {message}".rstrip(": ")[:MESSAGE_LENGTH])


# Groups of tests and what they are worth, by the versions of the problem package format.
#
# In `legacy` and `2023-07-draft` each group is graded by flags: how its verdict and its score come out of those of its tests and
# groups. In `2025-09` a group has a most that it is worth, and an aggregation.

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
    """Return what a group comes to by its tests that were run; behind a rejection that breaks a group none need have been."""
    return _modern(group, checks, {}) if group.aggregation is not None else _classic(group, checks)


def next_test(group: Group, checks: Mapping[str, Checked]) -> str | None:
    """Return the test of a group to run next, None where no further one could change anything."""
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
    """Return the most that a group can score; None where nothing bounds it, as where a validator may give a test any score."""
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
    results = [part.result for part in parts]
    if group.verdicts == "always_accept" or (group.accept_if_any_accepted and "AC" in results):
        result: Result = "AC"
    elif group.verdicts == "first_error":
        result = next((result for result in results if result != "AC"), "AC")
    else:
        result = min(results, key=_WORST.index)
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


_AGGREGATED: Mapping[Scores, Callable[[Sequence[float]], float]] = {
    "sum": math.fsum,
    "avg": statistics.fmean,
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
    if not inner:
        score = 0.0 if ended else _from_tests(group, tests, ran_all=ran_all)
    elif group.aggregation == "pass-fail":
        score = (group.most or 0.0) if all(part.result == "AC" for part in inner) else 0.0
    else:
        scores = [part.score for part in inner]
        score = min(scores) if group.aggregation == "min" else math.fsum(scores)
    if group.most is not None and score > group.most + 1e-9:
        return Graded("JE", score, f"{group.name or 'the problem'} scores {score:g}, more than {group.most:g}")
    return Graded(result, score)


def _was_run(group: Group, checks: Mapping[str, Checked]) -> bool:
    return any(name in checks for name in group.tests) or any(_was_run(part, checks) for part in group.groups)


def _from_tests(group: Group, tests: Sequence[Checked], *, ran_all: bool) -> float:
    most = group.most
    if group.aggregation == "pass-fail":
        return (most or 0.0) if ran_all and all(checked.result == "AC" for checked in tests) else 0.0
    if not tests:
        return 0.0
    per_test = most if group.aggregation == "min" or most is None else most / len(group.tests)
    scores = [0.0] * (not ran_all)
    for checked in tests:  # the validator's points, else its share of the most that the test is worth
        share = 1.0 if checked.multiplier is None else checked.multiplier
        earned = (per_test or 0.0) * share if checked.points is None else checked.points
        scores.append(earned if checked.result == "AC" else 0.0)
    return min(scores) if group.aggregation == "min" else math.fsum(scores)
