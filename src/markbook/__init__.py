"""Markbook evaluates the output of language models and agents: code, text, and whole agent runs.

Nothing heavy is imported until a name is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markbook.errors import MarkbookError as MarkbookError
    from markbook.metrics.graph import trace_metrics as trace_metrics
    from markbook.metrics.measure import measure
    from markbook.results.compare import compare
    from markbook.results.comparison import Comparison
    from markbook.results.summary import summarise
    from markbook.runs.api import exam, review, run_task
    from markbook.store import Run as Run, open_run as open_run
    from markbook.testing import assert_marks as assert_marks
    from markbook.traces import read_trace
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
    "Comparison": "markbook.results.comparison",
    "MarkbookError": "markbook.errors",
    "Measurement": "markbook.types",
    "Missing": "markbook.types",
    "Outcome": "markbook.types",
    "Run": "markbook.store",
    "Sample": "markbook.types",
    "Summary": "markbook.types",
    "assert_marks": "markbook.testing",
    "compare": "markbook.results.compare",
    "exam": "markbook.runs.api",
    "measure": "markbook.metrics.measure",
    "open_run": "markbook.store",
    "read_trace": "markbook.traces",
    "review": "markbook.runs.api",
    "run_task": "markbook.runs.api",
    "summarise": "markbook.results.summary",
    "trace_metrics": "markbook.metrics.graph",
}
"""Where each public name lives; it is imported from there at first use."""

__all__ = [
    "Attempt",
    "Comparison",
    "MarkbookError",
    "Measurement",
    "Missing",
    "Outcome",
    "Run",
    "Sample",
    "Summary",
    "__version__",
    "assert_marks",
    "compare",
    "exam",
    "measure",
    "open_run",
    "read_trace",
    "review",
    "run_task",
    "summarise",
    "trace_metrics",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from markbook.installed import version

        return version()
    if name not in _HOMES:
        raise AttributeError(f"module 'markbook' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
