"""JSON as other programs write it: what no count or time can be becomes None instead of an error."""

from __future__ import annotations

import json
from typing import Any


def integer(digits: str) -> int | None:
    """Return a JSON integer, None for one that no count or time can be: Python refuses to convert the longest."""
    return int(digits) if len(digits) <= 40 else None


def no_number(_name: str) -> None:
    """Stand in for NaN and the infinities, which are no JSON."""


BAD = object()
"""What `decoded` returns for text that is no JSON value."""

DECODER = json.JSONDecoder(parse_constant=no_number, parse_int=integer)
"""Made once: `json.loads` with options makes one for every text."""


def decode_json(text: str) -> Any:
    """Return the JSON value of a text, `BAD` if it is none (or nested too deeply); NaN, infinities and absurd integers become None."""
    try:
        return DECODER.decode(text)
    except (ValueError, RecursionError):
        return BAD
