"""Summaries of a run of tasks: each metric's mean with its interval, and the records that are written."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, NotRequired, Self, TypedDict

from markbook.datasets.user_code import ForeignError
from markbook.judge.assess import PanelAgreement
from markbook.measurements import SIGNIFICANCE, MissingRecord
from markbook.results.compare import differences
from markbook.results.files import FilesView
from markbook.results.pairs import estimate_pairs, judge_pairs
from markbook.results.sheet import Cell, Policy, Sheet, make_cell
from markbook.results.stopping import StoppedRecord
from markbook.results.summary import count_missing, summarise_cells, summarise_rows, worst_end
from markbook.runs.tasks.scorers import UNBOUNDED, Aggregation
from markbook.stats.intervals import NARROW, mean_of_means
from markbook.types import Direction, Interval, Measurement, Metric, Missing, MissingKind, Summary, SummaryRecord

# What a run of tasks publishes, as its readers find it in `results.jsonl` and `summary.json`.


class TestedRecord(TypedDict):
    """What the tests said of an answer."""

    passed: bool
    verdict: str
    error: str
    detail: str
    fault: str
    why: NotRequired[dict[str, object]]


class BillRecord(TypedDict, total=False):
    """How a reply ended and what it took, as far as its server said."""

    finish: str
    input_tokens: int
    output_tokens: int
    cost: float


class TaskAnswer(BillRecord):
    """One answer under one filter pipeline: a line of `results.jsonl`."""

    task: str
    id: str
    doc_id: int
    doc: Mapping[str, object]
    index: int
    pipeline: str
    model: str
    prompt: str
    system: str
    references: list[str]
    reply: str | None
    text: str | None
    """None is an answer that nobody gave."""
    metrics: dict[str, float | None]
    missing: dict[str, MissingRecord]
    source: str
    turns: NotRequired[list[list[str]]]
    likelihoods: NotRequired[list[list[object]]]
    tests: NotRequired[TestedRecord]
    stats: NotRequired[dict[str, dict[str, object]]]


class TaskRecord(TypedDict):
    """The numbers of one task."""

    alias: str
    version: str
    context: str
    base: str
    rows: int
    ids: NotRequired[str]
    rows_rejected: int
    answers: int
    answers_rejected: int
    answers_unknown: int
    metrics: dict[str, SummaryRecord]
    panels: NotRequired[dict[str, PanelAgreement]]


class GroupSummaryRecord(SummaryRecord):
    """A metric over the tasks of a group."""

    tasks: list[str]


class GroupRecord(TypedDict):
    """The numbers of several tasks under one name."""

    alias: str
    version: str
    tasks: list[str]
    metrics: dict[str, GroupSummaryRecord]


class TasksSummary(TypedDict):
    """The content of `summary.json`."""

    schema: int
    model: str
    profile: str
    tasks: dict[str, TaskRecord]
    groups: dict[str, GroupRecord]
    comparisons: list[Mapping[str, object]]
    stopped: NotRequired[StoppedRecord]


TasksView = FilesView[TaskAnswer, TasksSummary]
"""A finished run of tasks."""


# From a task's measurements to its numbers: per metric and per group.

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
    """Set where the number over all rows is not their mean."""
    measurements: Sequence[Sequence[Measurement]] = ()
    """Then those of each row's answers."""
    aggregation: Aggregation | None = None
    """Set where scorers gave what is summed up in another way than by its mean."""
    raws: Sequence[object] = ()

    @property
    def is_mean(self) -> bool:
        """Whether the number over all rows is their mean."""
        return self.metric is None and self.aggregation is None


def row_mark(measurements: Sequence[Measurement], limits: tuple[float, float]) -> Cell:
    """Return the mean over the answers to one row that have a value, with how many have none."""
    return make_cell([measurement.result for measurement in measurements], limits)


def main_metric(view: TasksView) -> tuple[str, str, Direction]:
    """Return the run's main metric as its rows name it, the pipeline it is of (empty if any), and which way is better."""
    tasks = view.summary["tasks"]
    name = next((key for record in tasks.values() for key in record["metrics"]), "")
    record = next((record["metrics"][name] for record in tasks.values() if name in record["metrics"]), None)
    own, _, pipeline = name.partition(",")
    return own, pipeline, Summary.from_record(record).direction if record is not None else "higher"


_VERDICTS = frozenset(
    ("acc", "acc_bytes", "acc_mutual_info", "acc_norm", "all_of", "contains", "exact_match", "json_schema", "length",
     "not_contains", "numeric", "one_of", "regex")
)  # fmt: skip
"""Metrics by which an answer is right (1) or wrong (0)."""


def question(row: TaskAnswer) -> str:
    """Return what a reader sees of what was asked: all that the model was told, and the right answers."""
    references = map("Reference: {}".format, row["references"])
    return "\n\n".join(filter(None, (join_prompt(row), *references)))


def join_prompt(row: TaskAnswer) -> str:
    """Return what the model was told before it answered."""
    return "\n\n".join(filter(None, (row.get("system"), row.get("prompt"))))


def is_right(row: TaskAnswer, metric: str) -> bool | None:
    """Whether an answer is right: as its tests ended if it has any, else by a metric of right and wrong; None by any other."""
    if (tests := row.get("tests")) is not None:
        return bool(tests["passed"])
    value = row["metrics"].get(metric) if metric in _VERDICTS else None
    return None if value not in (0, 1) else value == 1


def pass_cell(value: float | Missing, stats: Mapping[str, Any], *, passed: bool | None = None) -> Cell:
    """Return the cell of a row's pass@k, whose stats tell which of its answers are missing and what that leaves open."""
    if isinstance(value, Missing):
        return Cell(None, value, passed=passed)
    bounds = stats.get("bounds")
    span = None if bounds is None else (float(bounds[0]), float(bounds[1]))
    return Cell(value, passed=passed, n_missing=stats.get("n_missing") or {}, span=span)


def summarise_column(column: TaskColumn, *, policy: Policy, seed: int) -> Summary:
    """Return a metric's number over a task: the mean over rows, or what the metric itself makes of them."""
    if column.aggregation is not None:
        return _left_out(_aggregate(column, column.aggregation, seed=seed), policy)
    if column.metric is not None:
        return _left_out(summarise_rows(column.metric, column.measurements, group=column.task, seed=seed), policy)
    return _mean([column], column.task, policy=policy, seed=seed)


def _left_out(summary: Summary, policy: Policy) -> Summary:
    """Return the number over all rows, which is not a mean, with the note that the policy counts nothing there."""
    lost = sum(summary.n_missing.values())
    if policy == "exclude" or not lost:
        return summary
    note = f"{lost} missing left out: in a number that is not a mean none has a worst value"
    return replace(summary, note="; ".join(part for part in (summary.note, note) if part))


def _aggregate(column: TaskColumn, aggregation: Aggregation, *, seed: int) -> Summary:
    """Return what an aggregation makes of the rows that were scored, with a percentile bootstrap over them."""
    value, note = _over(aggregation, column.raws)
    interval = None
    if value is not None and not aggregation.resamples:
        note = f"{aggregation.name} is not computed a thousand times over: no interval"
    elif value is not None and len(column.raws) > 1:
        # Python's own generator draws any objects: what scorers gave need not be numbers.
        rng, raws = random.Random(seed), list(column.raws)  # noqa: S311 - resampling, not a secret
        with suppress(TypeError, ValueError):  # objects of the user's own have no order
            raws.sort(key=lambda raw: json.dumps(raw, default=float))
        samples = (rng.choices(raws, k=len(raws)) for _ in range(_RESAMPLES))
        estimates = sorted(drawn for sample in samples if (drawn := _over(aggregation, sample)[0]) is not None)
        # Where more than half of the samples have no number, the others do not show how it varies.
        if len(estimates) >= _RESAMPLES // 2:
            # Half of the error off at each end: the percentile interval.
            tail = round(SIGNIFICANCE / 2 * (len(estimates) - 1))
            low, high = estimates[tail], estimates[-1 - tail]
            interval = Interval(low, high, "bootstrap") if high > low else None
        note = "" if interval else "resamplings without a value or without variation: no interval"
    reasons = (mark.missing.kind for mark in column.marks.values() if mark.missing is not None)
    # A row without a number of its own has still given what is summed up.
    gaps = Counter(kind.value for kind in reasons if kind is not MissingKind.UNDEFINED)
    if (others := len(column.marks) - len(column.raws) - gaps.total()) > 0:
        gaps[MissingKind.UNDEFINED.value] = others
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
        is_number = math.isfinite(value)
    except ForeignError as error:
        return None, f"the function {error}"
    except (TypeError, ValueError, ArithmeticError, LookupError) as error:
        return None, f"{aggregation.name} cannot be computed of these rows: {error}"
    return (value, "") if is_number else (None, f"{aggregation.name} gives {value!r}")


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
    # A foreign metric states no range, and only a range has a worst and a best case.
    bounds = summary.bounds if math.isfinite(first.range[1] - first.range[0]) else None
    return replace(summary, signature=first.signature, bounds=bounds)


def find_other_scale(columns: Sequence[TaskColumn], limits: tuple[float, float]) -> str:
    """Return why the tasks' numbers are not pooled: another direction or range; empty where they are of one scale."""
    by_direction = {column.direction: column.task for column in columns}
    if len(by_direction) > 1:
        return f"no value: more is better in {by_direction['higher']}, less in {by_direction['lower']}"
    stating = next((column.task for column in columns if column.range == limits), "")
    for column in columns:
        if column.range not in (limits, UNBOUNDED):
            low, high = column.range
            return (
                f"no value: {column.task} lies in {low:g}..{high:g}, and {stating} lies in {limits[0]:g}..{limits[1]:g}"
            )
        values = (mark.value for mark in column.marks.values() if mark.value is not None)
        if (value := next((value for value in values if not limits[0] <= value <= limits[1]), None)) is not None:
            return f"no value: {column.task} gives {value:g}, and {stating} lies in {limits[0]:g}..{limits[1]:g}"
    return ""


def say_other_measures(metric: str, signatures: Mapping[str, str]) -> str:
    """Return how the first two tasks that measure a metric in different ways do so; empty where all measure it alike."""
    return differences([(task, Sheet(metric, {}, signatures={"": own})) for task, own in signatures.items()])


def summarise_group(
    name: str, columns: Sequence[TaskColumn], *, weight_by_size: bool, policy: Policy, seed: int
) -> Summary:
    """Return a metric's number over the tasks of a group, a column each; without `weight_by_size` every task counts the same.

    Where the tasks measure it by other options or versions, as bleu does with another tokenizer, the note says so.
    """
    # A function of a task's own states no range: the others' is taken for it, where its numbers lie in it.
    limits = next((column.range for column in columns if column.range != UNBOUNDED), UNBOUNDED)
    reason = find_other_scale(columns, limits)
    has_worst = policy != "exclude" and math.isfinite(worst_end(limits, columns[0].direction))
    for column in columns if not reason else ():
        # The others' mean is another number. Where a metric is not of a task's kind, as without a right answer, it has none.
        gaps = {kind for mark in column.marks.values() for kind in mark.gaps}
        is_empty = all(mark.value is None for mark in column.marks.values()) and not (has_worst and column.is_mean)
        if is_empty and gaps != {MissingKind.UNDEFINED.value}:
            reason = f"no value: {column.task} has none"
    if reason:
        counts = _mean([replace(column, range=UNBOUNDED) for column in columns], name, policy=policy, seed=seed)
        return replace(counts, value=None, n=0, interval=None, bounds=None, note=reason)
    columns = [replace(column, range=limits) for column in columns]
    # Counts of rows and gaps are those of all rows together, whatever the value is made of.
    pooled = _mean(columns, name, policy=policy, seed=seed)
    differing = say_other_measures(columns[0].key, {column.task: column.signature for column in columns})
    signature = " / ".join(dict.fromkeys(column.signature for column in columns if column.signature))
    pooled = replace(pooled, signature=signature, note="; ".join(filter(None, (pooled.note, differing))))
    if not all(column.is_mean for column in columns):
        summaries = [(summarise_column(column, policy=policy, seed=seed), len(column.marks)) for column in columns]
        weighted = [
            (task_summary.value, size if weight_by_size else 1)
            for task_summary, size in summaries
            if task_summary.value is not None
        ]
        total = math.fsum(size for _, size in weighted)
        note = "the mean of the tasks' numbers" + (", by their rows" if weight_by_size else "") + ": no interval"
        summary = replace(
            pooled,
            value=math.fsum(value * size for value, size in weighted) / total if total else None,
            n=sum(task_summary.n for task_summary, _ in summaries),
            interval=None,
            bounds=None,
            policy="exclude",
            note="; ".join(filter(None, (note, differing))),
        )
        return _left_out(summary, policy)
    if weight_by_size:
        return pooled
    means = [_mean([column], column.task, policy=policy, seed=seed) for column in columns]
    mean_values = [mean.value for mean in means if mean.value is not None]
    ends = [mean.bounds for mean in means if mean.bounds is not None]
    bounds = None
    # One task without bounds leaves the mean of all without any.
    if len(ends) == len(means):
        lows, highs = zip(*ends, strict=True)
        bounds = math.fsum(lows) / len(ends), math.fsum(highs) / len(ends)
    interval = None
    with_ends = [
        (mean.value, mean.interval.low, mean.interval.high)
        for mean in means
        if mean.value is not None and mean.interval is not None
    ]
    if len(with_ends) == len(means):
        low, high = mean_of_means(with_ends)
        interval = Interval(low, high, "mover")
    note = "the mean of the tasks' numbers, each task counting the same"
    without = [mean.group for mean in means if mean.interval is None]
    if without:
        note = f"{note}: no interval, as {', '.join(without)} has none"
    # What the policy did with missing values holds for these means too; the other notes are of the pooled interval.
    narrow = [f"{mean.group}: {mean.note}" for mean in means if mean.note.startswith(NARROW)]
    notes = note, *narrow, *(part for part in pooled.note.split("; ") if " missing " in part)
    return replace(
        pooled,
        value=math.fsum(mean_values) / len(mean_values) if mean_values else None,
        interval=interval,
        bounds=bounds,
        note="; ".join(filter(None, (*notes, differing))),
    )


# Between the context modes of a task: each metric's paired difference over the rows that both have a value for.


@dataclass(frozen=True, slots=True)
class ContextGap:
    """One metric under two context modes of a task; every difference is first - second."""

    metric: str
    first: str
    """The name of the task in its fuller context."""
    second: str
    contexts: tuple[str, str]
    direction: Direction
    difference: float | None
    """The mean over the rows; None where they share none."""
    interval: Interval | None
    p: float | None
    n: int
    n_left_out: int
    n_partial: int
    minimum_detectable_effect: float | None
    note: str
    p_adjusted: float | None = None
    """Holm's, over the whole family."""
    family: int = 1
    """How many differences p is adjusted over."""
    verdict: str = ""

    def to_record(self) -> dict[str, object]:
        """Return it as JSON."""
        return asdict(self) | {"contexts": list(self.contexts)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Return what `to_record` was made of."""
        first, second = record["contexts"]
        interval = None if record["interval"] is None else Interval.from_record(record["interval"])
        return cls(**{**record, "contexts": (first, second), "interval": interval})


def compare_contexts(
    matches: Sequence[tuple[TaskColumn, TaskColumn, tuple[str, str]]], *, policy: Policy, seed: int
) -> list[ContextGap]:
    """Return the paired differences first - second of columns in two context modes, tested and judged as `compare` does it."""
    sheets = [
        count_missing(
            Sheet(first.key, {first.task: first.marks, second.task: second.marks}, first.range, first.direction), policy
        )
        for first, second, _ in matches
    ]
    estimated = estimate_pairs([(sheet, sheet.models) for sheet in sheets], seed=seed)
    pairs = {
        (sheet.metric, pair.first, pair.second): pair
        for (sheet, _), pair in zip(estimated, judge_pairs(estimated), strict=True)
    }
    gaps = []
    for first, second, contexts in matches:
        pair = pairs.get((first.key, first.task, second.task))
        gap = ContextGap(
            metric=first.key, first=first.task, second=second.task, contexts=contexts, direction=first.direction,
            difference=None, interval=None, p=None, n=0, n_left_out=len({*first.marks, *second.marks}), n_partial=0,
            minimum_detectable_effect=None, note="", family=len(pairs), verdict="no row has a value in both",
        )  # fmt: skip
        if pair is not None:
            difference, verdict = pair.difference, pair.verdict()
            if difference.stats["n_equal"] == pair.n:
                verdict = "equal on every row"
            elif difference.interval is None:
                verdict = "no error can be estimated"
            gap = replace(
                gap, difference=difference.value, interval=difference.interval, p=pair.p, p_adjusted=pair.p_adjusted, n=pair.n,
                n_left_out=pair.n_missing, n_partial=pair.n_partial, minimum_detectable_effect=pair.mde,
                note=difference.note, verdict=verdict,
            )  # fmt: skip
        gaps.append(gap)
    return gaps
