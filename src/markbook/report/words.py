"""Numbers as pages write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markbook.text.table import NOTHING


def number(value: float | None) -> str:
    """Return a value with three decimals, or a dash."""
    return NOTHING if value is None else f"{value:.3f}"


def interval_text(found: Any, method: str | None = "") -> str:
    """Return an interval given as a pair or as a record, with its method where that is known; or a dash."""
    if not found:
        return NOTHING
    low, high = (found["low"], found["high"]) if isinstance(found, Mapping) else found
    method = found.get("method", "") if isinstance(found, Mapping) else method
    return f"[{low:.3f}, {high:.3f}] {method or ''}".rstrip()


def missing_text(found: Mapping[str, int]) -> str:
    """Return what is missing by kind."""
    return ", ".join(f"{count} {kind}" for kind, count in sorted(found.items())) or "none"
