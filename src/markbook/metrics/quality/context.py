"""What a problem's own context asks of the code, as far as a program can check it.

A context such as "Use descriptive variable names, add type hints, include docstrings for all functions. Maximum line
length 80 characters." becomes one point a rule. A rule that is stated as not wanted ("no docstrings needed") is
dropped, and a rule that the answer could not have kept (a type hint, where the answer is only a function's body) is
listed as not judged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markbook.metrics.quality import points
from markbook.metrics.quality.facts import Place
from markbook.metrics.quality.points import ParsedCode, Point, PointLimits

MAX_CONTEXT = 20_000
"""Characters of the context that are read for rules."""

_SENTENCE = re.compile(r"[^.;\n]+(?:\.\d[^.;\n]*)*")
_NOT_WANTED = re.compile(r"\b(?:no|not|without|don't|never|omit|skip|optional|unnecessary)\b(?:(?!\bbut\b)[^,]){0,24}$")
_WAIVED = re.compile(r"^[^,]{0,16}\b(?:not (?:needed|required|necessary)|optional|unnecessary)\b")
_LENGTH = (
    re.compile(r"\blines?\b[^,]{0,60}?\b(\d{2,3})\b"),
    re.compile(r"\b(\d{2,3})[- ](?:char|col)\w*"),
)
_EVERY = re.compile(r"\b(?:all|every|each)\b")
_SNAKE = re.compile(r"_*[a-z0-9][a-z0-9_]*|_+")
_CAMEL = re.compile(r"_*[a-z][A-Za-z0-9]*|_+")
_PASCAL = re.compile(r"_*[A-Z][A-Za-z0-9]*")
_UPPER = re.compile(r"_*[A-Z][A-Z0-9_]*")

Check = Callable[[ParsedCode, PointLimits], Point]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What became of the rules of one context."""

    points: tuple[Point, ...]
    not_judged: tuple[str, ...]
    """Rules that the answer could not have kept or broken."""


def _every_docstring(answer: ParsedCode, limits: PointLimits) -> Point:
    """Every definition has a docstring."""
    missing = [(line, f"{name} has none") for line, name, has in answer.facts.documentable if not has]
    if not answer.facts.documentable:
        return points.docstring(answer, limits)
    if missing:
        return Point("docstring", passed=False, line=missing[0][0], evidence=missing[0][1])
    return points.docstring(answer, limits)


def _every_hint(answer: ParsedCode, limits: PointLimits) -> Point:
    """Every parameter and return value has a hint."""
    facts = answer.facts
    if facts.hinted < facts.hintable:
        return Point("hints", passed=False, evidence=f"{facts.hinted} of {facts.hintable} are hinted")
    return points.hints(answer, limits)


def _check_spelling(name: str, pattern: re.Pattern[str], kinds: Sequence[str], *, variables: bool) -> Check:
    """Return a check that names of these kinds are spelled in one way."""

    def check(answer: ParsedCode, limits: PointLimits) -> Point:  # noqa: ARG001 - one shape for all points
        constants = {word for _, word, kind in answer.facts.defined if kind == "constant"}
        judged: list[Place] = [(line, word) for line, word, kind in answer.facts.defined if kind in kinds]
        if variables:
            judged += [(line, word) for line, word in answer.facts.names if word not in constants]
        if "function" in kinds:
            judged = [(line, word) for line, word in judged if not word.startswith("__")]
        wrong = [(line, word) for line, word in sorted(judged) if not pattern.fullmatch(word)]
        if wrong:
            return Point(name, passed=False, line=wrong[0][0], evidence=wrong[0][1])
        return Point(name, passed=True, vacuous=not judged, evidence=f"{len(judged)} names")

    return check


def _context_manager(answer: ParsedCode, limits: PointLimits) -> Point:  # noqa: ARG001
    places = answer.facts.withs
    if not places:
        return Point("context_manager", passed=False, evidence="none")
    return Point("context_manager", passed=True, line=places[0][0], evidence=places[0][1])


_RULES: tuple[tuple[re.Pattern[str], Check, bool], ...] = (
    (re.compile(r"descriptive|meaningful (?:variable )?names"), points.names, True),
    (
        re.compile(r"snake[_ -]?case|pep[ -]?8 nam"),
        _check_spelling("snake_case", _SNAKE, ("function",), variables=True),
        True,
    ),
    (
        re.compile(r"(?<!upper )\bcamel[_ -]?case"),
        _check_spelling("camel_case", _CAMEL, ("function",), variables=True),
        True,
    ),
    (
        re.compile(r"pascal[_ -]?case|capwords|upper ?camel"),
        _check_spelling("pascal_case", _PASCAL, ("class",), variables=False),
        True,
    ),
    (
        re.compile(r"upper[_ ]?(?:snake[_ ]?)?case|all[_ -]caps"),
        _check_spelling("upper_case", _UPPER, ("constant",), variables=False),
        True,
    ),
    (re.compile(r"(?:4|four)[- ]spaces?|indent\w* (?:of|with) (?:4|four)"), points.indentation, True),
    (re.compile(r"error[- ]handling|try[-/ ]*(?:and )?except|handle (?:all )?exceptions"), points.errors, True),
    (re.compile(r"validat(?:e|ed|ion)|sanitiz|bounds check"), points.validation, True),
    (re.compile(r"hard-?coded|credentials"), points.credentials, False),
    (re.compile(r"\beval\b|\bexec\b"), points.unsafe_calls, False),
    (re.compile(r"comprehension"), points.comprehension, True),
    (re.compile(r"generator"), points.generator, True),
    (re.compile(r"built-?in"), points.built_ins, True),
    (re.compile(r"nested loop"), points.nested_loops, False),
    (re.compile(r"context manager"), _context_manager, True),
)
"""What is looked for, how it is checked, and whether a negation before it drops the rule (False: it is a ban)."""


def judge(context: str, answer: ParsedCode, limits: PointLimits) -> Verdicts:
    """Return one point a rule that the context states and that can be checked."""
    points: dict[str, Point] = {}
    not_judged: list[str] = []
    for match in _SENTENCE.finditer(context[:MAX_CONTEXT].lower()):
        for check, needs_head in _read_checks(match[0]):
            point = check(answer, limits)
            if needs_head and answer.is_body:
                not_judged.append(point.id)
            else:
                points.setdefault(point.id, point)
    return Verdicts(tuple(points.values()), tuple(dict.fromkeys(not_judged)))


def _read_checks(sentence: str) -> list[tuple[Check, bool]]:
    """Return the checks that one sentence asks for, and whether each needs the function's head to be there."""
    every = _EVERY.search(sentence) is not None
    stated: list[tuple[Check, bool]] = []
    length = _stated_length(sentence)
    if length:
        stated.append((lambda answer, _: points.lines(answer, PointLimits(line_length=length)), False))
    if _is_required(sentence, re.compile(r"type[- ](?:hint|annotation)|annotat")):
        stated.append((_every_hint if every else points.hints, True))
    if _is_required(sentence, re.compile(r"docstring|\bdocument (?:all|every|each|your|public)")):
        stated.append((_every_docstring if every else points.docstring, True))
    for pattern, check, droppable in _RULES:
        if _is_required(sentence, pattern) if droppable else pattern.search(sentence):
            stated.append((check, False))
    return stated


def _stated_length(sentence: str) -> int | None:
    for pattern in _LENGTH:
        match = pattern.search(sentence)
        if match and 40 <= int(match[1]) <= 400 and "line" in sentence:
            return int(match[1])
    return None


def _is_required(sentence: str, pattern: re.Pattern[str]) -> bool:
    """Tell whether the sentence asks for it, and does not say that it is not needed."""
    match = pattern.search(sentence)
    if match is None:
        return False
    return not _NOT_WANTED.search(sentence[: match.start()]) and not _WAIVED.search(sentence[match.end() :])
