"""Sheets of runs of tasks and reviews."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markbook.aggregate.files_view import FilesView
from markbook.aggregate.sheet import Cell, Sheet
from markbook.aggregate.task_view import TaskView
from markbook.errors import UsageError
from markbook.plugins import suggest
from markbook.types import Missing, MissingKind

COMPOSITE = "composite.composite_score"


def task_sheet(view: TaskView, metric: str | None) -> Sheet:
    """Return one metric's marks on the rows of all tasks that have it.

    Args:
        view: the run.
        metric: its name in results, such as `bleu`; the first of the run's metrics if none.

    Raises:
        UsageError: no task of the run has this metric.
    """
    known = [key for record in view.summary["tasks"].values() for key in record["metrics"]]
    return view.sheet(metric or next(iter(known), ""))


def review_sheet(view: FilesView, metric: str | None) -> Sheet:
    """Return one number's marks by system and paper; a paper with several reviews of a system has their mean.

    Args:
        view: the run.
        metric: such as `tier1.cosine_score`; the composite if none.

    Raises:
        UsageError: a review has no such number.
    """
    chosen = metric or COMPOSITE
    systems: Mapping[str, Any] = view.summary["systems"]
    known = list(dict.fromkeys(key for record in systems.values() for key in record["metrics"]))
    if chosen not in known:
        raise UsageError(f"a review has no number {chosen!r}", hint=suggest(chosen, known))
    tier, _, field = chosen.partition(".")
    found: dict[str, dict[str, list[dict[str, Any]]]] = {system: {} for system in systems}
    for row in view.rows():
        found[row["system"]].setdefault(str(row["paper_id"]), []).append(row)
    marks = {
        system: {paper: _tier_cell(rows, tier, field) for paper, rows in papers.items()}
        for system, papers in found.items()
    }
    return Sheet(chosen, marks)


def _tier_cell(rows: Sequence[Mapping[str, Any]], tier: str, field: str) -> Cell:
    values = [float(row[tier][field]) for row in rows if row[tier].get(field) is not None]
    if values:
        return Cell(sum(values) / len(values))
    return Cell(None, _reason(rows[0][tier].get("missing", {}).get(field)))


def _reason(found: Mapping[str, str] | None) -> Missing:
    """Return the row's reason for a missing value."""
    if found is None:
        return Missing(MissingKind.ABSENT, "the row gives no reason")
    return Missing(MissingKind(found["kind"]), found.get("detail", ""))
