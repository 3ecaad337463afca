"""Measuring one piece of a task's answers, here or in a worker. Light to import: every worker does so first."""

from __future__ import annotations

from collections.abc import Sequence

from markbook import plugins
from markbook.metrics.measure import measure_together
from markbook.types import Attempt, Item, Measurement, Metric, Missing, Sample

Row = tuple[str, str, tuple[str, ...], str, int, str | None]
"""What travels of an answer: sample, text, references, model, index, context."""
Found = tuple["float | None", "Missing | None", "dict[str, object] | None", str]
"""What travels back: value, reason, stats, and the signature where it says more than the metric's own."""


def warm() -> None:
    """Import what the first piece will need."""
    import numpy  # noqa: F401, ICN001 - imported for its effect: it is the slowest part


def measure_piece(metrics: Sequence[Metric], rows: Sequence[Row]) -> list[list[Found]]:
    """Measure a piece in a worker; plain values come and go."""
    items = [
        Item(Sample(name, references=references, context=context), Attempt(name, text, model, index))
        for name, text, references, model, index, context in rows
    ]
    columns = zip(metrics, measure_together(metrics, items), strict=True)
    return [[_plain(measurement, metric.signature) for measurement in column] for metric, column in columns]


def _plain(measurement: Measurement, usual_signature: str) -> Found:
    signature = "" if measurement.signature == usual_signature else measurement.signature
    return measurement.value, measurement.missing, dict(measurement.stats) if measurement.stats else None, signature


def prepare_reports() -> None:
    """Do what takes the report's renderer long and needs no run."""
    prepare = getattr(plugins.create("reports", "html"), "prepare", None)
    if prepare is not None:
        prepare()
