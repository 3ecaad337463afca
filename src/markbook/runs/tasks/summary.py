"""From a task's measurements to its numbers: per metric and per group."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict, cast

from markbook.load.foreign import ForeignError
from markbook.results.metric_summary import summarise_rows
from markbook.results.sheet import Cell, cell_of
from markbook.results.summary import Policy, summarise_cells
from markbook.runs.tasks.scoring.aggregations import Aggregation
from markbook.stats.intervals import mean_of_means
from markbook.types import Direction, Interval, Measurement, Metric, Missing, MissingKind, Summary

_RESAMPLES = 1000

Marks = Mapping[str, Cell]
"""By sample id: the mean over a row's answers with what of them is missing, or why there is none."""


@dataclass(frozen=True, slots=True)
class TaskColumn:
    """One metric of one task over all its rows."""

    task: str
    key: str
    marks: Marks
    range: tuple[float, float]
    direction: Direction
    signature: str
    metric: Metric | None = None
    """Set where the number over all rows is no mean."""
    measurements: Sequence[Sequence[Measurement]] = ()
    """Then those of each row's answers."""
    aggregation: Aggregation | None = None
    """Set where scorers gave what is summed up in another way than by its mean."""
    raws: Sequence[object] = ()
    """What they gave."""

    @property
    def is_mean(self) -> bool:
        """Whether the number over all rows is their mean."""
        return self.metric is None and self.aggregation is None


def row_mark(measurements: Sequence[Measurement], limits: tuple[float, float]) -> Cell:
    """Return the mean over the answers to one row that have a value, with how many have none."""
    return cell_of([measurement.result for measurement in measurements], limits)


class _PassStats(TypedDict, total=False):
    """What pass@k says beside its number."""

    bounds: Sequence[float] | None
    n_missing: Mapping[str, int]


def pass_cell(value: float | Missing, stats: Mapping[str, object], *, passed: bool | None = None) -> Cell:
    """Return the cell of a row's pass@k, whose stats tell which of its answers are missing and what that leaves open."""
    if isinstance(value, Missing):
        return Cell(None, value, passed=passed)
    pass_stats = cast("_PassStats", stats)
    bounds = pass_stats.get("bounds")
    span = None if bounds is None else (float(bounds[0]), float(bounds[1]))
    return Cell(value, passed=passed, n_missing=pass_stats.get("n_missing") or {}, span=span)


def summarise_column(column: TaskColumn, *, policy: Policy, seed: int) -> Summary:
    """Return a metric's number over a task: the mean over rows, or what the metric itself makes of them."""
    if column.aggregation is not None:
        return _left_out(_aggregate(column, column.aggregation, seed=seed), policy)
    if column.metric is not None:
        return _left_out(summarise_rows(column.metric, column.measurements, group=column.task, seed=seed), policy)
    return _mean([column], column.task, policy=policy, seed=seed)


def _left_out(summary: Summary, policy: Policy) -> Summary:
    """Return the number over all rows, which is no mean, with the note that the policy counts nothing there."""
    lost = sum(summary.n_missing.values())
    if policy == "exclude" or not lost:
        return summary
    note = f"{lost} missing left out: in a number that is no mean none has a worst value"
    return dataclasses.replace(summary, note="; ".join(part for part in (summary.note, note) if part))


def _aggregate(column: TaskColumn, aggregation: Aggregation, *, seed: int) -> Summary:
    """Return what an aggregation makes of the rows that were scored, with a percentile bootstrap over them."""
    value, note = _over(aggregation, column.raws)
    interval = None
    if value is not None and not aggregation.resamples:
        note = f"{aggregation.name} is not computed a thousand times over: no interval"
    elif value is not None and len(column.raws) > 1:
        interval = _bootstrap(aggregation, column.raws, seed)
        note = "" if interval else "resamplings without a value or without variation: no interval"
    gaps: dict[str, int] = {}
    for mark in column.marks.values():
        # A row without a number of its own has still given what is summed up.
        if mark.missing is not None and mark.missing.kind is not MissingKind.UNDEFINED:
            gaps[mark.missing.kind.value] = gaps.get(mark.missing.kind.value, 0) + 1
    if len(column.marks) - len(column.raws) > sum(gaps.values()):
        gaps[MissingKind.UNDEFINED.value] = len(column.marks) - len(column.raws) - sum(gaps.values())
    return Summary(
        metric=column.key,
        group=column.task,
        value=value,
        n=len(column.raws) if value is not None else 0,
        n_items=len(column.marks),
        n_missing=dict(sorted(gaps.items())),
        interval=interval,
        bounds=None,
        policy="exclude",
        range=column.range,
        direction=column.direction,
        note=note,
        signature=column.signature,
    )


def _over(aggregation: Aggregation, raws: Sequence[object]) -> tuple[float | None, str]:
    """Return the number, or why there is none."""
    if not raws:
        return None, "no row was scored"
    try:
        value = aggregation.over(raws)
    except ForeignError as error:
        return None, f"the function {error}"
    except (TypeError, ValueError, ArithmeticError, LookupError) as error:
        return None, f"{aggregation.name} cannot be computed of these rows: {error}"
    return (value, "") if math.isfinite(value) else (None, f"{aggregation.name} gives {value!r}")


def _bootstrap(aggregation: Aggregation, raws: Sequence[object], seed: int) -> Interval | None:
    rng = random.Random(seed)  # noqa: S311 - resampling, not a secret
    estimates = []
    for _ in range(_RESAMPLES):
        value, _why = _over(aggregation, rng.choices(raws, k=len(raws)))
        if value is not None:
            estimates.append(value)
    estimates.sort()
    if len(estimates) < _RESAMPLES // 2:
        return None
    cut = round(0.025 * (len(estimates) - 1))
    low, high = estimates[cut], estimates[-1 - cut]
    return Interval(low, high, "bootstrap") if high > low else None


def _mean(columns: Sequence[TaskColumn], group: str, *, policy: Policy, seed: int) -> Summary:
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
    name: str, columns: Sequence[TaskColumn], *, weight_by_size: bool, policy: Policy, seed: int
) -> Summary:
    """Return a metric's number over the tasks of a group.

    Args:
        name: the group's.
        columns: the metric's, one a task.
        weight_by_size: whether every row counts the same; else every task does.
        policy: how missing values count.
        seed: of the bootstrap.
    """
    pooled = _mean(columns, name, policy=policy, seed=seed)
    if not all(column.is_mean for column in columns):
        return _of_numbers(columns, pooled, weight_by_size=weight_by_size, policy=policy, seed=seed)
    if weight_by_size:
        return pooled
    means = [_mean([column], column.task, policy=policy, seed=seed) for column in columns]
    mean_values = [mean.value for mean in means if mean.value is not None]
    ends = [mean.bounds for mean in means if mean.bounds is not None]
    interval = None
    if policy == "exclude" and len(mean_values) == len(columns):
        values = [[mark.value for mark in column.marks.values() if mark.value is not None] for column in columns]
        interval = mean_of_means(values, limits=columns[0].range).interval
    note = "the mean of the tasks' numbers, each task counting the same"
    return dataclasses.replace(
        pooled,
        value=math.fsum(mean_values) / len(mean_values) if mean_values else None,
        interval=interval,
        bounds=_mean_ends(ends) if len(ends) == len(means) else None,
        note=f"{note}: no interval" if interval is None else note,
    )


def _mean_ends(ends: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return math.fsum(low for low, _ in ends) / len(ends), math.fsum(high for _, high in ends) / len(ends)


def _of_numbers(
    columns: Sequence[TaskColumn], pooled: Summary, *, weight_by_size: bool, policy: Policy, seed: int
) -> Summary:
    """Return the mean of the tasks' own numbers, where those are no means of rows that could be pooled."""
    summaries = [(summarise_column(column, policy=policy, seed=seed), len(column.marks)) for column in columns]
    weighted = [
        (task_summary.value, size if weight_by_size else 1)
        for task_summary, size in summaries
        if task_summary.value is not None
    ]
    total = math.fsum(size for _, size in weighted)
    summary = dataclasses.replace(
        pooled,
        value=math.fsum(value * size for value, size in weighted) / total if total else None,
        n=sum(task_summary.n for task_summary, _ in summaries),
        interval=None,
        bounds=None,
        policy="exclude",
        note="the mean of the tasks' numbers" + (", by their rows" if weight_by_size else "") + ": no interval",
    )
    return _left_out(summary, policy)
