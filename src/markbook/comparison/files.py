"""Sheets of runs of tasks and reviews."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markbook.aggregate.files_view import FilesView
from markbook.aggregate.sheet import Cell, Sheet
from markbook.errors import UsageError
from markbook.plugins import suggest
from markbook.types import Direction, Missing, MissingKind

COMPOSITE = "composite.composite_score"


def task_sheet(view: FilesView, metric: str | None, *, name: str) -> Sheet:
    """Return one metric's marks on the rows of all tasks that have it; a row's mark is the mean over its answers.

    Args:
        view: the run.
        metric: its name in results, such as `bleu`; the first of the run's metrics if none.
        name: what to call a model that the answers do not name.

    Raises:
        UsageError: no task of the run has this metric.
    """
    tasks: Mapping[str, Any] = view.summary["tasks"]
    known = list(dict.fromkeys(key for record in tasks.values() for key in record["metrics"]))
    chosen = metric or next(iter(known), "")
    if chosen not in known:
        raise UsageError(f"the run has no metric {chosen!r}", hint=suggest(chosen, known))
    directions: set[Direction] = {
        record["metrics"][chosen]["direction"] for record in tasks.values() if chosen in record["metrics"]
    }
    own, _, pipeline = chosen.partition(",")
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    meta: dict[str, Mapping[str, str]] = {}
    several = len(tasks) > 1
    for row in view.rows():
        if own not in row["metrics"] or pipeline not in ("", row["pipeline"]):
            continue
        sample = f"{row['task']}/{row['id']}" if several else str(row["id"])
        found.setdefault(str(row["model"] or name), {}).setdefault(sample, []).append(row)
        if several:
            meta[sample] = {"topic": str(row["task"])}
    marks = {model: {sample: _row_cell(rows, own) for sample, rows in cells.items()} for model, cells in found.items()}
    return Sheet(chosen, marks, direction=directions.pop(), meta=meta)


def _row_cell(rows: Sequence[Mapping[str, Any]], metric: str) -> Cell:
    values = [float(row["metrics"][metric]) for row in rows if row["metrics"][metric] is not None]
    tests = [bool(row["tests"]["passed"]) for row in rows if row.get("tests")]
    passed = all(tests) if tests else None
    if values:
        return Cell(sum(values) / len(values), passed=passed)
    return Cell(None, _reason((rows[0].get("missing") or {}).get(metric)), passed=passed)


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
