"""JSON by the letter of its standard: no NaN, no infinity, and no key that stands twice, of which the last would win."""

from __future__ import annotations

import json
import math
import re
from itertools import accumulate
from typing import NoReturn

DEEPEST = 950
"""Levels of nesting that are read. Python's own limit differs between its versions, from some hundreds to 60,000."""
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_BRACKET = re.compile(r"[][{}]")
_STEP = {"[": 1, "{": 1, "]": -1, "}": -1}
_MOST_DIGITS = 4_300
"""Python's own limit."""


def no_constant(name: str) -> NoReturn:
    """Refuse NaN and the infinities, which Python's parser takes."""
    raise ValueError(f"{name} is no JSON number")


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return record


class TooManyDigits(ValueError):  # noqa: N818 - what is wrong, in words
    """An integer is longer than Python converts: JSON all the same."""


def _integer(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise TooManyDigits(f"an integer of {len(digits)} digits cannot be read")
    return int(digits)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:20]} is out of range")
    return value


def check_depth(text: str) -> None:
    """Hold that a JSON text, which has been parsed, is nested no deeper than `DEEPEST`.

    Raises:
        RecursionError: it is, as Python's parser raises it at its own limit.
    """
    if text.count("[") + text.count("{") <= DEEPEST:
        return
    brackets = _BRACKET.findall(_STRING.sub("", text))
    if max(accumulate(map(_STEP.__getitem__, brackets)), default=0) > DEEPEST:
        raise RecursionError(f"nested deeper than {DEEPEST} levels")


def parse_json(text: str) -> object:
    """Return the JSON value of a text.

    Raises:
        ValueError: it is none, or `TooManyDigits`.
        RecursionError: it is nested too deeply.
    """
    value: object = json.loads(
        text, parse_constant=no_constant, parse_int=_integer, parse_float=_finite, object_pairs_hook=_once
    )
    check_depth(text)
    return value
