"""A run of tasks that stops when it has seen enough: which of its metrics decides, and the plan of a part of its rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from markbook.errors import UsageError
from markbook.results.alignment import digest
from markbook.results.kind import Results as Finished
from markbook.results.sheet import Cell, Sheet
from markbook.results.stopping import StoppedRecord, Stopping, parse_rule
from markbook.runs.stopping import Marks, identity_of, open_against, until_enough
from markbook.runs.tasks.options import TaskOptions
from markbook.runs.tasks.plan import Plan, TaskPlan, planned_signatures
from markbook.runs.tasks.results import MarkCollector
from markbook.store import RunWriter
from markbook.types import Direction, Missing, MissingKind, Sample

_TO_COME = Cell(None, Missing(MissingKind.ABSENT, "not asked yet"))


@dataclass(frozen=True, slots=True)
class TaskStop:
    """What decides when a run of tasks has seen enough."""

    stopping: Stopping
    model: str
    """What the run's model is called."""
    metric: str
    """Whose marks decide."""
    identity: dict[str, Any]
    """What run.json holds of it."""


def plan_stop(plan: Plan, options: TaskOptions) -> TaskStop | None:
    """Return what decides when to stop; None where nobody asked for it.

    Raises:
        UsageError: no moment to stop is said or can be told, or the baseline is marked by other metrics.
        DataError: the baseline is no run, or shares no row with this one, or was measured differently.
    """
    baseline = open_against(options.against, options.stop_when)
    if not options.stop_when:
        return None
    if len(options.contexts) > 1:
        raise UsageError("context modes are compared row by row, so all of them need all rows")
    metric, limits, direction, baseline_sheet = _deciding(plan, baseline)
    if baseline_sheet is not None and options.allow_different_measures:
        baseline_sheet = dataclasses.replace(baseline_sheet, signatures={})
    model = (
        options.model
        or next((model_name for task_plan in plan.tasks for model_name in _models(task_plan)), "")
        or "answers"
    )
    own = _sheet(plan, model, metric, limits, direction)
    stopping = Stopping(parse_rule(options.stop_when), own, baseline_sheet, seed=options.seed)
    return TaskStop(stopping, model, metric, identity_of(stopping, baseline_sheet))


def _models(plan: TaskPlan) -> list[str]:
    read = plan.answers.attempts if plan.answers is not None else {}
    return [attempt.model for several in read.values() for attempt in several]


def _deciding(plan: Plan, baseline: Finished | None) -> tuple[str, tuple[float, float], Direction, Sheet | None]:
    """Return the first metric that both have, its range and direction, and the baseline's marks by it."""
    metrics_known: dict[str, tuple[tuple[float, float], Direction]] = {}
    for task_plan in plan.tasks:
        for filtered in task_plan.pipelines:
            metrics_known |= {
                task_plan.key(b.key, filtered.pipeline): (b.metric.range, b.metric.direction) for b in task_plan.metrics
            }
            for name in task_plan.passes.keys if task_plan.passes else ():
                metrics_known[task_plan.key(name, filtered.pipeline)] = (0.0, 1.0), "higher"
    for metric, (limits, direction) in metrics_known.items():
        if baseline is None:
            return metric, limits, direction, None
        try:
            return metric, limits, direction, baseline.sheet(metric)
        except UsageError:
            continue
    own = ", ".join(metrics_known) or "none that can decide"
    other = "nothing" if baseline is None else f"{baseline.sheet(None).metric!r}"
    raise UsageError(f"the tasks are marked by {own}, the baseline by {other}: nothing that both have")


def _name_rows(plan: Plan) -> list[tuple[str, TaskPlan, Sample]]:
    """Return the rows by the names that comparisons give them."""
    several = len(plan.tasks) > 1
    return [
        (f"{task_plan.task.name}/{sample.id}" if several else sample.id, task_plan, sample)
        for task_plan in plan.tasks
        for sample in task_plan.samples
    ]


def _sheet(plan: Plan, model: str, metric: str, limits: tuple[float, float], direction: Direction) -> Sheet:
    """Return the rows that there will be, as `task_sheet` will name them."""
    several = len(plan.tasks) > 1
    digests = {}
    by_place = all(not task_plan.task.data.id_field for task_plan in plan.tasks)
    for name, task_plan, sample in _name_rows(plan):
        assert sample.row is not None  # a task's samples are made of its rows
        digests[name] = digest([task_plan.task.name, sample.row.record] if several else sample.row.record)
        by_place = by_place and sample.id == str(sample.row.place)
    marks = {model: dict.fromkeys(digests, _TO_COME)}
    signatures = planned_signatures(plan.tasks, metric)
    return Sheet(metric, marks, limits, direction, digests=digests, by_place=by_place, signatures=signatures)


def subset_plan(plan: Plan, names: Collection[str]) -> Plan:
    """Return the plan of these rows only; a task without any is left out."""
    chosen: dict[str, list[Sample]] = {}
    for name, task_plan, sample in _name_rows(plan):
        if name in names:
            chosen.setdefault(task_plan.task.name, []).append(sample)
    tasks = [
        dataclasses.replace(
            task_plan, rows=dataclasses.replace(task_plan.rows, samples=tuple(chosen[task_plan.task.name]))
        )
        for task_plan in plan.tasks
        if task_plan.task.name in chosen
    ]
    return dataclasses.replace(plan, tasks=tuple(tasks))


def ask_until_enough(
    stop: TaskStop, plan: Plan, journal: RunWriter, mark: Callable[[Plan], MarkCollector]
) -> tuple[Plan, StoppedRecord]:
    """Return the plan of the rows that it took, and what is to be said of the end.

    Args:
        stop: what decides.
        plan: of all rows.
        journal: of the run.
        mark: asks and marks the rows of a plan.
    """
    marks: dict[str, Cell] = {}
    several = len(plan.tasks) > 1

    def step(batch: Sequence[str]) -> Marks:
        for column in mark(subset_plan(plan, set(batch))).columns:
            if column.key == stop.metric:
                marks.update({f"{column.task}/{row}" if several else row: cell for row, cell in column.marks.items()})
        return {stop.model: marks}

    record: StoppedRecord = {"metric": stop.metric, **until_enough(stop.stopping, journal, len(plan), step)}
    return subset_plan(plan, set(record["samples"])), record
