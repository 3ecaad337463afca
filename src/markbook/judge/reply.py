"""What of a judge's reply counts: one JSON object, whole, with numbers from 1 to 5. Everything else is a violation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markbook.files import strict
from markbook.judge.rubrics import HIGHEST, LOWEST, Criterion, Rubric

REPLY_CAP = 200_000
"""The longest reply that is looked at, in characters."""
REASON_CAP = 2_000
QUOTES_CAP = 5
_WHOLE_BLOCK = re.compile(r"```(?:json)?\s*(\{.*\})\s*```", re.DOTALL)


class Violation(ValueError):  # noqa: N818 - what a judge did, not what a program did
    """The reply is not the structure that was asked for; the judge is asked again."""


@dataclass(frozen=True, slots=True)
class CriterionMark:
    """A judge's word on one criterion."""

    score: float
    """On the rubric's scale, as the judge gave it."""
    reason: str = ""
    quotes: tuple[str, ...] = ()
    grade: str = ""
    """The grade that the score stands for; empty where it is a mark."""


def parse_object(payload: str) -> dict[str, object]:
    """Return the object that a reply is; a Markdown code block counts only if it is the whole reply.

    A score is never dug out of prose, nor out of JSON that prose quotes: that JSON may be the judged text's own.

    Raises:
        Violation: the reply is anything but one object, or has a key twice, NaN or an infinity.
    """
    text = payload.strip()
    if not text:
        raise Violation("the reply is empty")
    if len(text) > REPLY_CAP:
        raise Violation(f"the reply is longer than {REPLY_CAP} characters")
    if block := _WHOLE_BLOCK.fullmatch(text):
        text = block.group(1)
    try:
        record = strict.parse_json(text)
    except (ValueError, RecursionError) as error:
        raise Violation(f"the reply is no JSON object: {error}") from error
    if not isinstance(record, dict):
        raise Violation("the reply is JSON and no object")
    return record


def parse_marks(payload: str, rubric: Rubric) -> dict[str, CriterionMark]:
    """Return one mark a criterion of the rubric.

    Raises:
        Violation: as `parse_object`; also a criterion that is missing, no number, or outside the scale.
    """
    record = parse_object(payload)
    return {criterion.name: _mark(record, criterion, rubric.scale_for(criterion)) for criterion in rubric.criteria}


def mark_number(value: object, name: str, scale: tuple[int, int] = (LOWEST, HIGHEST)) -> float:
    """Return a mark on a scale.

    Raises:
        Violation: it is no number (a string of digits is none either) or outside the scale.
    """
    low, high = scale
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Violation(f"{name} is {_short(value)}, not a number from {low} to {high}")
    # NaN compares as false; a huge integer would overflow as a float.
    if not low <= value <= high:
        raise Violation(f"{name} is {_short(value)}, outside {low} to {high}")
    return float(value)


def quotes_found(quotes: Sequence[str], texts: Sequence[str]) -> int:
    """Return how many quotes stand in one of the judged texts, white space and case aside."""
    bodies = [_plain(text) for text in texts]
    return sum(any(words in body for body in bodies) for quote in quotes if (words := _plain(quote)))


def _mark(record: Mapping[str, object], criterion: Criterion, scale: tuple[int, int]) -> CriterionMark:
    name = criterion.name
    if name not in record:
        raise Violation(f"the reply has no {name}")
    reason = record.get(f"{name}_reason")
    quotes = record.get(f"{name}_quotes")
    listed = quotes if isinstance(quotes, list) else []
    score, grade = (
        _graded(record[name], criterion) if criterion.grades else (mark_number(record[name], name, scale), "")
    )
    return CriterionMark(
        score,
        _clean_words(reason) if isinstance(reason, str) else "",
        tuple(_clean_words(quote) for quote in listed[:QUOTES_CAP] if isinstance(quote, str)),
        grade,
    )


def _graded(value: object, criterion: Criterion) -> tuple[float, str]:
    """Return the score that a grade stands for, and the grade as the rubric spells it."""
    for grade, score in criterion.grades:
        if value == grade:
            return score, grade
    names = ", ".join(grade for grade, _ in criterion.grades)
    raise Violation(f"{criterion.name} is {_short(value)}, not one of {names}")


def _clean_words(text: str) -> str:
    """Return a judge's words as they are kept: cut, and without the half surrogate pairs that no file can hold."""
    return text[:REASON_CAP].encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold().strip(" .…\"'“”")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:39] + "…"
