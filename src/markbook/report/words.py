"""Summaries as pages write them; how a number looks is decided by `markbook.text.numbers`."""

from __future__ import annotations

from collections.abc import Mapping

from markbook.text.numbers import NOTHING, format_interval
from markbook.types import Interval, Summary


def interval_text(interval: Interval | None) -> str:
    """Return an interval with its method, or a dash."""
    return NOTHING if interval is None else f"{format_interval(interval.low, interval.high)} {interval.method}"


def ends_of(summary: Summary) -> dict[str, float]:
    """Return the ends of a summary's interval for a chart; nothing without one."""
    interval = summary.interval
    return {} if interval is None else {"low": round(interval.low, 4), "high": round(interval.high, 4)}


def missing_text(counts: Mapping[str, int]) -> str:
    """Return what is missing by kind."""
    return ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())) or "none"
