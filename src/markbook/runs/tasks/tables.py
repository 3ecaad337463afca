"""A task run's numbers as tables: the same words in the terminal, in Markdown and in HTML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markbook.text.table import NOTHING, Table


def tables(summary: Mapping[str, Any]) -> list[Table]:
    """Return the tables of a `summary.json`: one a task, the groups, the comparisons."""
    found = [_task(name, record) for name, record in summary["tasks"].items()]
    groups = [row for name, record in summary["groups"].items() for row in _group(name, record)]
    if groups:
        headers = ("group", "metric", "value", "interval", "rows", "over")
        found.append(Table("Groups", headers, tuple(groups), frozenset({2, 4})))
    if summary["comparisons"]:
        found.append(_comparisons(summary["comparisons"]))
    return found


def summary_text(summary: Mapping[str, Any]) -> str:
    """Return `summary.md`."""
    return "# Tasks\n\n" + "\n".join(table.markdown() for table in tables(summary))


def number(value: float | None) -> str:
    """Return a value with four decimals, or the sign for nothing."""
    return NOTHING if value is None else f"{value:.4f}"


def _task(name: str, record: Mapping[str, Any]) -> Table:
    metrics = record["metrics"]
    is_whole = not any(found["n_missing"] for found in metrics.values())
    rows = tuple(_metric(key, found, record["rows"], is_whole=is_whole) for key, found in metrics.items())
    parts = [f"{record['rows']} rows, {record['answers']} answers"]
    for key, words in (
        ("rows_rejected", "rows could not be used"),
        ("answers_rejected", "answers could not be used"),
        ("answers_unknown", "answers to unknown rows"),
    ):
        if record[key]:
            parts.append(f"{record[key]} {words}")
    title = record["alias"] or name
    title = title if title == name else f"{title} ({name})"
    headers = ("metric", "value", "interval", "method", "scored", *(() if is_whole else ("missing", "bounds")))
    return Table(title, headers, rows, frozenset({1}), "; ".join(parts))


def _metric(key: str, found: Mapping[str, Any], rows: int, *, is_whole: bool) -> tuple[str, ...]:
    interval, bounds = found["interval"], found["bounds"]
    cells = (
        key if found["direction"] == "higher" else f"{key} (lower is better)",
        number(found["value"]),
        NOTHING if interval is None else f"{interval['low']:.3f} to {interval['high']:.3f}",
        NOTHING if interval is None else interval["method"],
        f"{found['n']} of {rows}",
    )
    if is_whole:
        return cells
    missing = ", ".join(f"{count} {kind}" for kind, count in found["n_missing"].items())
    return (*cells, missing or NOTHING, f"{bounds[0]:.3f} to {bounds[1]:.3f}" if missing and bounds else NOTHING)


def _interval(interval: Mapping[str, Any] | None) -> str:
    return NOTHING if interval is None else f"{interval['low']:.3f} to {interval['high']:.3f} ({interval['method']})"


def _group(name: str, record: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return [
        (
            record["alias"] or name,
            key,
            number(found["value"]),
            _interval(found["interval"]),
            str(found["n"]),
            f"{len(found['tasks'])} of {len(record['tasks'])} tasks",
        )
        for key, found in record["metrics"].items()
    ]


def _comparisons(records: list[Mapping[str, Any]]) -> Table:
    rows = tuple(
        (
            f"{each['first']} - {each['second']}",
            each["metric"],
            NOTHING if each["difference"] is None else f"{each['difference']:+.4f}",
            NOTHING if each["low"] is None else f"{each['low']:+.4f} to {each['high']:+.4f}",
            NOTHING if each["p_adjusted"] is None else f"{each['p_adjusted']:.3g}",
            str(each["n"]),
            each["verdict"],
        )
        for each in records
    )
    headers = ("difference", "metric", "paired mean", "interval", "p (Holm)", "rows", "verdict")
    note = f"p is adjusted over all {len(records)} comparisons of this table."
    return Table("Context modes compared, row by row", headers, rows, frozenset({2, 4, 5}), note)
