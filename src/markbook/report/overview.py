"""A run's numbers under flat names, for loggers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markbook.results.kind import Results


def numbers(results: Results) -> dict[str, float]:
    """Return every number of the overview under a flat name, for loggers that take such; missing ones are left out."""
    found: dict[str, float] = {}
    record = results.overview()
    _collect("", record.get("models", record.get("summary", {})), found)
    return found


def _collect(name: str, value: Any, found: dict[str, float]) -> None:
    if isinstance(value, Mapping):
        for key, part in value.items():
            _collect(f"{name}/{key}" if name else str(key), part, found)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        found[name] = float(value)
