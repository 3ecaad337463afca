"""Numbers in what people read and write: the one place that decides how a value, a percentage and an interval look.

Terminal, Markdown, HTML and sites show one score alike: 43.9 with [21.4, 66.7] where the range is 0..1 (points of 100),
0.44 with [0.21, 0.67] in any other range, and `NOTHING` where a value is missing. An interval has the digits of its value.
Only documented files (`runs.exam.score_tables`) and gates (`results.gates`) have two decimals of a percent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from markbook.measurements import CONFIDENCE, Interval

PERCENT = "Scores from 0 to 1 are shown as 0 to 100."
NOTHING = "\u2013"
"""Shown where a value is missing; never 0."""
DIGITS = 2
"""Decimals of a value that is not a percentage."""


def read_number(text: str) -> float:
    """Return a number in ASCII digits; `1_0` and the digits of other scripts, which Python reads, are none.

    Raises:
        ValueError: it is not a number.
    """
    if "_" in text or not text.isascii():
        raise ValueError(f"{text!r} is not a number")
    return float(text)


def format_number(value: float | None, digits: int = DIGITS, *, signed: bool = False) -> str:
    """Return a value, with `signed` also the sign of one above 0."""
    if value is None:
        return NOTHING
    return f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"


def format_interval(low: float | None, high: float | None, digits: int = DIGITS, *, signed: bool = False) -> str:
    """Return two ends."""
    if low is None or high is None:
        return NOTHING
    return f"[{format_number(low, digits, signed=signed)}, {format_number(high, digits, signed=signed)}]"


def format_percent(share: float | None, digits: int = 1) -> str:
    """Return a share of 0..1 in percent."""
    return NOTHING if share is None else f"{format_number(100 * share, digits)} %"


def format_level(intervals: Iterable[Interval | Mapping[str, Any] | None] = (), usual: float = CONFIDENCE) -> str:
    """Return the confidence of the intervals (or their records) that a table shows, `95 %`; without any the usual one."""
    # A folder of an earlier run may hold another level than today's: its own intervals say which.
    levels = {item.confidence if isinstance(item, Interval) else item["confidence"] for item in intervals if item}
    return " or ".join(f"{100 * level:g} %" for level in sorted(levels or {usual}))


def format_p(p: float | None) -> str:
    """Return a p for people: never 0."""
    if p is None:
        return NOTHING
    return "<.0001" if p < 0.0001 else format_number(p, 4).lstrip("0") if p < 0.99995 else "1"


def format_sum(value: float | None, counts: tuple[int, int], parts: str, form: str = ",") -> str:
    """Return a sum; a least value where some parts are unknown. `counts` is how many are known, of how many."""
    text = "unknown" if value is None else f"{value:{form}}"
    if counts[0] == counts[1] or value is None:
        return text
    return f"at least {text} ({counts[0]} of {counts[1]} {parts} known)"


class Scale:
    """How a metric's numbers are written: a 0..1 range in points of 100, any other as it is."""

    def __init__(self, *limits: object, digits: int | None = None) -> None:
        """Set the scale of a metric with these ranges, one for each part of a page; `digits` only where a documented file has others."""
        is_share = bool(limits) and all(ends in ((0.0, 1.0), [0.0, 1.0]) for ends in limits)
        self.factor, usual = (100.0, 1) if is_share else (1.0, DIGITS)
        self.digits = usual if digits is None else digits

    def value(self, number: float | None) -> str:
        """Return a value."""
        return format_number(self._scale(number), self.digits)

    def gap(self, number: float | None) -> str:
        """Return a difference, with its sign."""
        return format_number(self._scale(number), self.digits, signed=True)

    def spread(self, low: float | None, high: float | None) -> str:
        """Return an interval."""
        return format_interval(self._scale(low), self._scale(high), self.digits)

    def interval(self, interval: Interval | Mapping[str, Any] | None, *, signed: bool = False) -> str:
        """Return an interval, of its record too; of a difference `signed`."""
        if interval is None:
            return NOTHING
        ends = interval.to_record() if isinstance(interval, Interval) else interval
        return format_interval(self._scale(ends["low"]), self._scale(ends["high"]), self.digits, signed=signed)

    def with_interval(self, number: float | None, interval: Interval | None, *, signed: bool = False) -> str:
        """Return a value and, if there is one, its interval in one cell; of a difference `signed`."""
        value = self.gap(number) if signed else self.value(number)
        return value if number is None or interval is None else f"{value} {self.interval(interval, signed=signed)}"

    def _scale(self, number: float | None) -> float | None:
        return None if number is None else self.factor * number
