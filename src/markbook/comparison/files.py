"""Sheets of runs of tasks and reviews."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markbook.aggregate.alignment import digest
from markbook.aggregate.files_view import FilesView
from markbook.aggregate.sheet import Cell, Sheet, cell_of
from markbook.aggregate.task_summary import pass_cell, range_of
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
    records = [record["metrics"][chosen] for record in tasks.values() if chosen in record["metrics"]]
    directions: set[Direction] = {record["direction"] for record in records}
    own, _, pipeline = chosen.partition(",")
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    meta: dict[str, Mapping[str, str]] = {}
    several = len(tasks) > 1
    digests: dict[str, str] = {}
    by_place = all(record.get("ids", "place") == "place" for record in tasks.values())
    for row in view.rows():
        if own not in row["metrics"] or pipeline not in ("", row["pipeline"]):
            continue
        sample = f"{row['task']}/{row['id']}" if several else str(row["id"])
        found.setdefault(str(row["model"] or name), {}).setdefault(sample, []).append(row)
        by_place = by_place and str(row["id"]) == str(row["doc_id"])
        if several:
            meta[sample] = {"topic": str(row["task"])}
        if sample not in digests:
            digests[sample] = digest([row["task"], row["doc"]] if several else row["doc"])
    limits = _limits(records, found, own)
    marks = {
        model: {sample: _row_cell(rows, own, limits) for sample, rows in cells.items()}
        for model, cells in found.items()
    }
    return Sheet(chosen, marks, range=limits, direction=directions.pop(), meta=meta, digests=digests, by_place=by_place)


def _limits(
    records: Sequence[Mapping[str, Any]], found: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]], metric: str
) -> tuple[float, float]:
    """Return the metric's range; of a run that does not state it 0..1, or none if a value lies outside."""
    stated = [range_of(record["range"]) for record in records if "range" in record]
    if stated:
        return min(low for low, _ in stated), max(high for _, high in stated)
    cells = (rows for samples in found.values() for rows in samples.values())
    values = [value for rows in cells for row in rows if (value := row["metrics"][metric]) is not None]
    inside = all(0.0 <= value <= 1.0 for value in values)
    return (0.0, 1.0) if inside else (-math.inf, math.inf)


def _row_cell(rows: Sequence[Mapping[str, Any]], metric: str, limits: tuple[float, float]) -> Cell:
    tests = [bool(row["tests"]["passed"]) for row in rows if row.get("tests")]
    passed = all(tests) if tests else None
    values = [_value(row["metrics"][metric], (row.get("missing") or {}).get(metric)) for row in rows]
    if metric.startswith("pass@"):
        return pass_cell(values[0], (rows[0].get("stats") or {}).get(metric) or {}, passed=passed)
    return cell_of(values, limits, passed=passed)


def _value(value: float | None, reason: Mapping[str, str] | None) -> float | Missing:
    return _reason(reason) if value is None else float(value)


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
    values = {
        system: {paper: [_tier_value(row[tier], field) for row in rows] for paper, rows in papers.items()}
        for system, papers in found.items()
    }
    # The document's formulas leave 0..1, so there the range is what was seen.
    seen = [one for papers in values.values() for rows in papers.values() for one in rows if isinstance(one, float)]
    limits = (min([0.0, *seen]), max([1.0, *seen]))
    absent = Cell(None, Missing(MissingKind.ABSENT, "nobody reviewed the paper"))
    every = list(
        dict.fromkeys([*view.summary.get("paper_ids", ()), *(one for papers in found.values() for one in papers)])
    )
    marks = {
        system: {paper: cell_of(papers[paper], limits) if paper in papers else absent for paper in every}
        for system, papers in values.items()
    }
    return Sheet(chosen, marks, range=limits, digests=_paper_digests(every, view.manifest.get("inputs", {})))


def _paper_digests(papers: Sequence[str], inputs: Mapping[str, str]) -> dict[str, str]:
    """Return what the files of each paper are known by; nothing for one that shares its file with others."""
    files: dict[str, list[str]] = {}
    for name, content in sorted(inputs.items()):
        kind, _, path = name.partition("/")
        base = path.rpartition("/")[2]
        ends = [at for at, sign in enumerate(base) if sign == "."] if kind == "papers" else []
        for end in ends:
            files.setdefault(base[:end], []).append(content)
    return {paper: digest(files[paper]) for paper in papers if paper in files}


def _tier_value(tier: Mapping[str, Any], field: str) -> float | Missing:
    return _value(tier.get(field), tier.get("missing", {}).get(field))


def _reason(found: Mapping[str, str] | None) -> Missing:
    """Return the row's reason for a missing value."""
    if found is None:
        return Missing(MissingKind.ABSENT, "the row gives no reason")
    return Missing(MissingKind(found["kind"]), found.get("detail", ""))
