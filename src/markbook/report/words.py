"""Numbers as pages write them."""

from __future__ import annotations

from collections.abc import Mapping

from markbook.text.table import NOTHING
from markbook.types import Interval, Summary


def number(value: float | None) -> str:
    """Return a value with three decimals, or a dash."""
    return NOTHING if value is None else f"{value:.3f}"


def interval_text(interval: Interval | None) -> str:
    """Return an interval with its method, or a dash."""
    return NOTHING if interval is None else f"{span_text((interval.low, interval.high))} {interval.method}"


def ends_of(summary: Summary) -> dict[str, float]:
    """Return the ends of a summary's interval for a chart; nothing without one."""
    found = summary.interval
    return {} if found is None else {"low": round(found.low, 4), "high": round(found.high, 4)}


def span_text(span: tuple[float, float] | None) -> str:
    """Return two ends, or a dash."""
    return NOTHING if span is None else f"[{span[0]:.3f}, {span[1]:.3f}]"


def missing_text(found: Mapping[str, int]) -> str:
    """Return what is missing by kind."""
    return ", ".join(f"{count} {kind}" for kind, count in sorted(found.items())) or "none"
