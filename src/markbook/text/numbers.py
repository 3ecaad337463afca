"""Numbers in what people and tools write."""

from __future__ import annotations


def read_number(text: str) -> float:
    """Return a number in ASCII digits; `1_0` and the digits of other scripts, which Python reads, are none.

    Raises:
        ValueError: it is no number.
    """
    if "_" in text or not text.isascii():
        raise ValueError(f"{text!r} is no number")
    return float(text)
