"""Markbook marks what language models and agents produce: code, text, and whole agent runs.

Nothing heavy is imported until a name is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markbook.aggregate.measured import summarise as summarise
    from markbook.errors import MarkbookError as MarkbookError
    from markbook.metrics.measure import measure as measure
    from markbook.types import (
        Attempt as Attempt,
        Measurement as Measurement,
        Missing as Missing,
        Outcome as Outcome,
        Sample as Sample,
        Summary as Summary,
    )

_HOMES = {
    "Attempt": "markbook.types",
    "MarkbookError": "markbook.errors",
    "Measurement": "markbook.types",
    "Missing": "markbook.types",
    "Outcome": "markbook.types",
    "Sample": "markbook.types",
    "Summary": "markbook.types",
    "measure": "markbook.metrics.measure",
    "summarise": "markbook.aggregate.measured",
}
"""Where each public name lives; it is imported from there at first use."""

__all__ = [
    "Attempt",
    "MarkbookError",
    "Measurement",
    "Missing",
    "Outcome",
    "Sample",
    "Summary",
    "__version__",
    "measure",
    "summarise",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("markbook")
    if name not in _HOMES:
        raise AttributeError(f"module 'markbook' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
