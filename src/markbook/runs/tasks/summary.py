"""From a task's measurements to its numbers: per metric, per group, and between context modes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markbook.results.measured import summarise_with
from markbook.results.sheet import Cell, cell_of
from markbook.results.summary import Policy, range_record, summarise_cells
from markbook.types import Direction, Measurement, Metric, Missing, Summary

Marks = Mapping[str, Cell]
"""By sample id: the mean over a row's answers with what of them is missing, or why there is none."""


@dataclass(frozen=True, slots=True)
class Column:
    """One metric of one task over all its rows."""

    task: str
    key: str
    marks: Marks
    range: tuple[float, float]
    direction: Direction
    signature: str
    metric: Metric | None = None
    """Set where the number over all rows is no mean."""
    measurements: Sequence[Measurement] = ()


def row_mark(measurements: Sequence[Measurement], limits: tuple[float, float]) -> Cell:
    """Return the mean over the answers to one row that have a value, with how many have none."""
    return cell_of([_value(one) for one in measurements], limits)


def _value(one: Measurement) -> float | Missing:
    if one.value is not None:
        return one.value
    assert one.missing is not None
    return one.missing


def pass_cell(value: float | Missing, stats: Mapping[str, Any], *, passed: bool | None = None) -> Cell:
    """Return the cell of a row's pass@k, whose stats tell which of its answers are missing and what that leaves open."""
    if isinstance(value, Missing):
        return Cell(None, value, passed=passed)
    bounds = stats.get("bounds")
    span = None if bounds is None else (float(bounds[0]), float(bounds[1]))
    return Cell(value, passed=passed, n_missing=stats.get("n_missing") or {}, span=span)


def summarise_column(column: Column, *, policy: Policy, seed: int) -> Summary:
    """Return a metric's number over a task: the mean over rows, or what the metric itself makes of them."""
    if column.metric is not None:
        chosen: Policy = "exclude"
        return summarise_with(column.metric, column.measurements, group=column.task, policy=chosen, seed=seed)
    return _mean([column], column.task, policy=policy, seed=seed)


def _mean(columns: Sequence[Column], group: str, *, policy: Policy, seed: int) -> Summary:
    first = columns[0]
    summary = summarise_cells(
        [mark for column in columns for mark in column.marks.values()],
        metric=first.key,
        group=group,
        range=first.range,
        direction=first.direction,
        policy=policy,
        seed=seed,
    )
    # A foreign metric states no range, and without one there is no worst and no best case.
    bounds = summary.bounds if math.isfinite(first.range[1] - first.range[0]) else None
    return dataclasses.replace(summary, signature=first.signature, bounds=bounds)


def summarise_group(
    name: str, columns: Sequence[Column], *, weight_by_size: bool, policy: Policy, seed: int
) -> Summary:
    """Return a metric's number over the tasks of a group.

    Args:
        name: the group's.
        columns: the metric's, one a task.
        weight_by_size: whether every row counts the same; else every task does, and then there is no interval.
        policy: how missing values count.
        seed: of the bootstrap.
    """
    pooled = _mean(columns, name, policy=policy, seed=seed)
    if weight_by_size:
        return pooled
    means = [_mean([column], column.task, policy=policy, seed=seed).value for column in columns]
    known = [mean for mean in means if mean is not None]
    return dataclasses.replace(
        pooled,
        value=math.fsum(known) / len(known) if known else None,
        interval=None,
        bounds=None,
        note="the mean of the tasks' numbers, each task counting the same: no interval",
    )


def compare_columns(first: Column, second: Column) -> dict[str, Any]:
    """Return the paired difference first - second over the rows that both have a value for."""
    from markbook.stats import minimum_detectable_effect, paired_difference

    shared = [
        (mark, other)
        for sample, mark in first.marks.items()
        if mark.value is not None and (other := second.marks.get(sample)) is not None and other.value is not None
    ]
    a = [mark.value for mark, _ in shared if mark.value is not None]
    b = [other.value for _, other in shared if other.value is not None]
    found = paired_difference(a, b)
    spread = found.stats.get("sd")
    effect = minimum_detectable_effect(len(shared), spread).value if spread and len(shared) > 1 else None
    return {
        "metric": first.key,
        "first": first.task,
        "second": second.task,
        "direction": first.direction,
        "difference": found.value,
        "low": found.low,
        "high": found.high,
        "confidence": found.confidence,
        "p": found.p,
        "n": found.n,
        "n_left_out": len({*first.marks, *second.marks}) - len(shared),
        "n_partial": sum(mark.is_partial or other.is_partial for mark, other in shared),
        "method": found.method,
        "minimum_detectable_effect": effect,
        "note": found.note,
    }


def adjust(comparisons: list[dict[str, Any]]) -> None:
    """Put Holm's p over the whole family beside each p, and say in words what may be concluded."""
    from markbook.stats import holm

    for record, adjusted in zip(comparisons, holm([each["p"] for each in comparisons]), strict=True):
        record["p_adjusted"] = adjusted
        record["family"] = len(comparisons)
        if adjusted is None:
            record["verdict"] = "no error can be estimated" if record["difference"] else "equal on every row"
        elif adjusted >= 1 - record["confidence"]:
            record["verdict"] = "not distinguishable"
        else:
            better = (record["difference"] > 0) == (record["direction"] == "higher")
            record["verdict"] = f"{record['first' if better else 'second']} is better"


def summary_record(summary: Summary, limits: tuple[float, float]) -> dict[str, Any]:
    """Return a summary as JSON, with the range of the metric; an end that is infinite is null."""
    interval = summary.interval
    return {
        "value": summary.value,
        "n": summary.n,
        "n_items": summary.n_items,
        "n_partial": summary.n_partial,
        "n_missing": dict(summary.n_missing),
        "interval": None
        if interval is None
        else {
            "low": interval.low,
            "high": interval.high,
            "method": interval.method,
            "confidence": interval.confidence,
        },
        "bounds": None if summary.bounds is None else list(summary.bounds),
        "direction": summary.direction,
        "range": range_record(limits),
        "policy": summary.policy,
        "note": summary.note,
        "signature": summary.signature,
    }
