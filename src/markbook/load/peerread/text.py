"""Reading one JSON file of a paper or review, and mending text that was encoded twice."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markbook.errors import DataError
from markbook.files.content import SPACE, whole
from markbook.files.jsonl import Rejection, parse_object
from markbook.files.limits import MAX_VALUE

_HUGE = 1e15
"""No score, and no time in seconds, is this large; an integer beyond a float's range would overflow."""

_HIGH = "\u20ac\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u017d\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u017e\u0178"
"""What Windows-1252 shows for the bytes 0x80-0x9f, as far as it defines them."""
_TO_BYTE = {ord(char): byte[0] for char in _HIGH if (byte := char.encode("cp1252"))}
_DOUBLE = re.compile(f"[\u00c2-\u00f4][\u0080-\u00bf{re.escape(_HIGH)}]{{1,3}}")


@dataclass(frozen=True, slots=True)
class DigestedObject:
    """One JSON object of a file and the digest of its bytes."""

    record: Mapping[str, Any]
    digest: str


def read_object(path: Path) -> DigestedObject | Rejection:
    """Return the JSON object that a file holds, or why there is none; never raises for what lies in the file."""
    digest = hashlib.sha256()
    try:
        content = whole(path, digest, limit=MAX_VALUE)
    except DataError as error:
        return Rejection(str(path), error.message)
    line = parse_object(content.strip(SPACE), str(path))
    return line if isinstance(line, Rejection) else DigestedObject(line.record, digest.hexdigest())


def mend(text: str) -> tuple[str, int]:
    r"""Return the text with doubly encoded UTF-8 undone, and how many places were mended.

    Only sequences that are whole UTF-8 characters read as Latin-1 or Windows-1252 are touched, so ordinary accented
    text stays as it is.

    >>> mend("the \u00e2\u0080\u009centity\u00e2\u0080\u009d pair")
    ('the “entity” pair', 2)
    >>> mend("na\u00efve caf\u00e9")
    ('naïve café', 0)
    """
    count = 0

    def undo(match: re.Match[str]) -> str:
        nonlocal count
        garbled = match.group(0)
        raw = bytes(_TO_BYTE.get(ord(char), ord(char) if ord(char) < 256 else 0) for char in garbled)
        for length in range(len(raw), 1, -1):
            try:
                mended = raw[:length].decode("utf-8")
            except UnicodeDecodeError:
                continue
            if len(mended) == 1:
                count += 1
                return mended + garbled[length:]
        return garbled

    return _DOUBLE.sub(undo, text), count


def as_text(value: object) -> str:
    """Return a string value stripped; anything else is no text."""
    return value.strip() if isinstance(value, str) else ""


def as_number(value: object) -> float | None:
    """Return a score that is a number or spells one (`"4"`, `"4: accept"`); None for words, booleans and nothing.

    >>> as_number("4"), as_number("3: borderline"), as_number(7), as_number("Accept"), as_number(True)
    (4.0, 3.0, 7.0, None, None)
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if abs(value) < _HUGE else None
    if isinstance(value, str) and (match := re.match(r"\s*(\d{1,3}(?:\.\d{1,6})?)\s*(?:$|[:/(\-])", value)):
        return float(match.group(1))
    return None


def read_scale(value: object) -> tuple[float, float] | None:
    """Return the lowest and the highest mark of a scale, given as `[1, 6]` or `"1-6"`; None if it is none.

    >>> read_scale([1, 6]), read_scale("1-10"), read_scale([6, 1])
    ((1.0, 6.0), (1.0, 10.0), None)
    """
    ends = value.split("-") if isinstance(value, str) else value
    if not isinstance(ends, list | tuple) or len(ends) != 2:
        return None
    low, high = map(as_number, ends)
    return (low, high) if low is not None and high is not None and low < high else None
