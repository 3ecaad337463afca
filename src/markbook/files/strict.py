"""JSON by the letter of its standard: no NaN, no infinity, and no key that stands twice, of which the last would win."""

from __future__ import annotations

import json
from typing import NoReturn


def no_constant(name: str) -> NoReturn:
    """Refuse NaN and the infinities, which Python's parser takes."""
    raise ValueError(f"{name} is no JSON number")


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return record


def parsed(text: str) -> object:
    """Return the JSON value of a text.

    Raises:
        ValueError: it is none.
        RecursionError: it is nested too deeply.
    """
    return json.loads(text, parse_constant=no_constant, object_pairs_hook=_once)
