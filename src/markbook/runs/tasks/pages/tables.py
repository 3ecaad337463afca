"""A task run's numbers as tables: the same words in the terminal, in Markdown and in HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from markbook.results.stopping import words_of
from markbook.results.summary import warnings_of
from markbook.runs.tasks.contexts import ContextGap
from markbook.text.numbers import NOTHING, format_interval, format_number, format_p
from markbook.text.table import Table
from markbook.types import Interval, Summary

if TYPE_CHECKING:
    from markbook.runs.tasks.published import GroupRecord, TaskRecord, TasksSummary


def tables(summary: TasksSummary) -> list[Table]:
    """Return the tables of a `summary.json`: one a task, the groups, the comparisons."""
    tables = [_task(name, record) for name, record in summary["tasks"].items()]
    groups = [row for name, record in summary["groups"].items() for row in _group(name, record)]
    if groups:
        headers = ("group", "metric", "value", "interval", "rows", "over")
        tables.append(Table("Groups", headers, tuple(groups), frozenset({2, 4})))
    if summary["comparisons"]:
        tables.append(_comparisons([ContextGap.from_record(record) for record in summary["comparisons"]]))
    panels = panel_rows(summary["tasks"])
    if panels:
        headers = ("task", "metric", "Krippendorff's alpha", "interval", "rated", "judges")
        tables.append(Table("Agreement between judges", headers, tuple(panels), frozenset({2, 4})))
    return tables


def panel_rows(tasks: Mapping[str, TaskRecord]) -> list[tuple[str, ...]]:
    """Return how far the judges of each panel agree: task, metric, alpha, interval, ratings, who."""
    rows: list[tuple[str, ...]] = []
    for task, record in tasks.items():
        for metric, panel in (record.get("panels") or {}).items():
            ends = panel["interval"]
            between = NOTHING if ends is None else format_interval(ends["low"], ends["high"])
            rows.append(
                (task, metric, format_number(panel["value"]), between, str(panel["n"]), ", ".join(panel["judges"]))
            )
    return rows


def summary_text(summary: TasksSummary) -> str:
    """Return `summary.md`."""
    stopped = "".join(f"{line}\n\n" for line in words_of(summary["stopped"])) if "stopped" in summary else ""
    return f"# Tasks\n\n{stopped}" + "\n".join(table.markdown() for table in tables(summary))


def _task(name: str, record: TaskRecord) -> Table:
    metrics = {key: Summary.from_record(metric) for key, metric in record["metrics"].items()}
    is_whole = not any(metric.n_missing for metric in metrics.values())
    rows = tuple(_metric(key, summary, record["rows"], is_whole=is_whole) for key, summary in metrics.items())
    parts = [f"{record['rows']} rows, {record['answers']} answers"]
    for count, words in (
        (record["rows_rejected"], "rows could not be used"),
        (record["answers_rejected"], "answers could not be used"),
        (record["answers_unknown"], "answers to unknown rows"),
    ):
        if count:
            parts.append(f"{count} {words}")
    if warning := warnings_of((key, summary.note) for key, summary in metrics.items()):
        parts.append(warning)
    title = record["alias"] or name
    title = title if title == name else f"{title} ({name})"
    headers = ("metric", "value", "interval", "method", "scored", *(() if is_whole else ("missing", "bounds")))
    return Table(title, headers, rows, frozenset({1}), "; ".join(parts))


def _metric(key: str, summary: Summary, rows: int, *, is_whole: bool) -> tuple[str, ...]:
    interval, bounds = summary.interval, summary.bounds
    cells = (
        key if summary.direction == "higher" else f"{key} (lower is better)",
        format_number(summary.value),
        NOTHING if interval is None else format_interval(interval.low, interval.high),
        NOTHING if interval is None else interval.method,
        f"{summary.n} of {rows}",
    )
    if is_whole:
        return cells
    missing = ", ".join(f"{count} {kind}" for kind, count in summary.n_missing.items())
    return (*cells, missing or NOTHING, format_interval(*bounds) if missing and bounds else NOTHING)


def _interval(interval: Interval | None) -> str:
    return NOTHING if interval is None else f"{format_interval(interval.low, interval.high)} ({interval.method})"


def _group(name: str, record: GroupRecord) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for key, metric in record["metrics"].items():
        summary = Summary.from_record(metric)
        over = f"{len(metric['tasks'])} of {len(record['tasks'])} tasks"
        rows.append(
            (
                record["alias"] or name,
                key,
                format_number(summary.value),
                _interval(summary.interval),
                str(summary.n),
                over,
            )
        )
    return rows


def _comparisons(gaps: Sequence[ContextGap]) -> Table:
    rows = tuple(
        (
            f"{gap.first} - {gap.second}",
            gap.metric,
            format_number(gap.difference, signed=True),
            NOTHING if gap.interval is None else format_interval(gap.interval.low, gap.interval.high, signed=True),
            format_p(gap.p_adjusted),
            str(gap.n),
            gap.verdict,
        )
        for gap in gaps
    )
    headers = ("difference", "metric", "paired mean", "interval", "p (Holm)", "rows", "verdict")
    note = f"p is adjusted over all {len(gaps)} comparisons of this table."
    return Table("Context modes compared, row by row", headers, rows, frozenset({2, 4, 5}), note)
