"""One task's marks under one filter pipeline, taken piece by piece: 8 bytes a row and metric, whatever the rows hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from markbook.judge.cases import PanelAgreement
from markbook.judge.metric import JudgeMetric
from markbook.runs.tasks.scoring.cells import Marks
from markbook.runs.tasks.scoring.score_columns import ScoreColumns
from markbook.runs.tasks.summary import TaskColumn, pass_cell, row_mark
from markbook.types import Measurement

if TYPE_CHECKING:
    from markbook.runs.tasks.marks import MarkedAnswer
    from markbook.runs.tasks.plan import Filtered, TaskPlan
    from markbook.runs.tasks.scoring.metrics import Bound


@dataclass(slots=True)
class _Metric:
    """What is kept of one metric."""

    marks: Marks
    signature: str = ""
    """The first that a value was signed with."""
    measurements: list[list[Measurement]] = field(default_factory=list)
    """Those of each row's answers; only where the number over all rows is no mean of theirs."""


class Columns:
    """Takes the marks of one task under one pipeline."""

    def __init__(self, plan: TaskPlan, filtered: Filtered) -> None:
        """Start with no rows."""
        self._plan, self._filtered = plan, filtered
        self._places: dict[str, int] = {}
        self._metrics = {bound.key: _Metric(Marks(self._places)) for bound in plan.metrics}
        self._passes = {key: _Metric(Marks(self._places)) for key in (plan.passes.keys if plan.passes else ())}
        self.scores = ScoreColumns(plan, filtered, self._places, but={*self._metrics, *self._passes})

    @property
    def rows(self) -> int:
        """How many rows were taken."""
        return len(self._places)

    def add(self, marked: Sequence[MarkedAnswer]) -> None:
        """Take the marks of the next rows; all answers to a row come together."""
        by_sample: dict[str, list[MarkedAnswer]] = {}
        for answer in marked:
            by_sample.setdefault(answer.answer.sample.id, []).append(answer)
        for sample in by_sample:
            self._places[sample] = len(self._places)
        for bound in self._plan.metrics:
            self._take(bound, by_sample)
        for key, column in self._passes.items():
            for rows in by_sample.values():
                first = rows[0].measurements[key]
                column.marks.add(pass_cell(first.result, first.stats))
                column.signature = column.signature or first.signature
        if self._plan.scorers:
            self.scores.add([rows[0] for rows in by_sample.values()])

    def _take(self, bound: Bound, by_sample: Mapping[str, Sequence[MarkedAnswer]]) -> None:
        column = self._metrics[bound.key]
        keeps = not bound.metric.averages or (isinstance(bound.metric, JudgeMetric) and not bound.is_criterion)
        for rows in by_sample.values():
            measurements = [row.measurements[bound.key] for row in rows]
            column.marks.add(row_mark(measurements, bound.metric.range))
            if keeps:
                column.measurements.append(measurements)
            if not column.signature:
                # Only a metric that was run knows all of its signature, such as a model's digest.
                column.signature = next(
                    (
                        measurement.signature
                        for measurement in measurements
                        if measurement.value is not None and measurement.signature
                    ),
                    "",
                )

    def columns(self) -> list[TaskColumn]:
        """Return a column for each metric, in the task's order."""
        task, pipeline = self._plan.task.name, self._filtered.pipeline
        columns = []
        for bound in self._plan.metrics:
            column, metric = self._metrics[bound.key], bound.metric
            own = None if metric.averages else metric
            columns.append(
                TaskColumn(
                    task, self._plan.key(bound.key, pipeline), column.marks, metric.range, metric.direction,
                    column.signature or metric.signature, own, column.measurements if own is not None else (),
                )
            )  # fmt: skip
        columns += self.scores.columns()
        for key, column in self._passes.items():
            name = self._plan.key(key, pipeline)
            columns.append(TaskColumn(task, name, column.marks, (0.0, 1.0), "higher", column.signature))
        return columns

    def agreement(self) -> dict[str, PanelAgreement]:
        """Return how well the judges of a panel agree, by metric; nothing where one judges alone."""
        agreements: dict[str, PanelAgreement] = {}
        for bound in self._plan.metrics:
            if isinstance(bound.metric, JudgeMetric) and not bound.is_criterion:
                agreement = bound.metric.agreement(
                    [measurement for row in self._metrics[bound.key].measurements for measurement in row]
                )
                if agreement is not None:
                    agreements[self._plan.key(bound.key, self._filtered.pipeline)] = agreement
        return agreements
