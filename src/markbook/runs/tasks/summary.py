"""From a task's measurements to its numbers: per metric and per group."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markbook.results.measured import summarise_with
from markbook.results.sheet import Cell, cell_of
from markbook.results.summary import Policy, summarise_cells
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
    return cell_of([measurement.result for measurement in measurements], limits)


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
