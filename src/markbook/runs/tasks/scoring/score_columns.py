"""What scorers gave of a task's rows, taken piece by piece: a name that comes late is there for the earlier rows too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from markbook.results.sheet import Cell, cell_of
from markbook.runs.tasks.scoring.cells import Marks
from markbook.runs.tasks.scoring.scorers import NOTHING_SAID, ScoreNames
from markbook.runs.tasks.summary import TaskColumn, row_mark
from markbook.types import Missing

if TYPE_CHECKING:
    from markbook.runs.tasks.marks import MarkedAnswer
    from markbook.runs.tasks.plan import Filtered, TaskPlan


@dataclass(slots=True)
class _Kept:
    """One name's marks."""

    marks: Marks
    late: int
    """So many rows had gone by when the name first came."""
    raws: list[object] = field(default_factory=list)


class ScoreColumns:
    """Takes the scores of one task's rows under one pipeline."""

    def __init__(self, plan: TaskPlan, filtered: Filtered, places: dict[str, int], *, but: AbstractSet[str]) -> None:
        """Start with no rows.

        Args:
            plan: the task's.
            filtered: the pipeline.
            places: where each sample's cell is, also in the task's other columns.
            but: names that those have.
        """
        self.names = ScoreNames(plan.scorers, but)
        self._plan, self._filtered, self._places = plan, filtered, places
        self._rows = 0
        self._kept: list[dict[str, _Kept]] = [{} for _ in plan.scorers]
        self._lacking: list[dict[int, Missing]] = [{} for _ in plan.scorers]
        """Of each scorer the rows of which it had nothing to say at all."""

    def add(self, rows: Sequence[MarkedAnswer]) -> None:
        """Take the next rows, each by its first answer."""
        for number, scorer in enumerate(self._plan.scorers):
            for index, answer in enumerate(rows, self._rows):
                if (why := answer.lacking[number]) is not None:
                    self._lacking[number][index] = why
            for name in self.names.of(number):
                scored = scorer.get_scored(name)
                column = self._of(number, name)
                for answer in rows:
                    column.marks.add(row_mark([answer.measurements[name]], scored.range))
                if scored.aggregation is not None:
                    column.raws += [answer.raws[name] for answer in rows if name in answer.raws]
        self._rows += len(rows)

    def _of(self, number: int, name: str) -> _Kept:
        column = self._kept[number].get(name)
        if column is None:
            column = self._kept[number][name] = _Kept(Marks(self._places), self._rows)
            limits = self._plan.scorers[number].get_scored(name).range
            for index in range(self._rows):
                column.marks.add(self._nothing(number, index, limits))
        return column

    def _nothing(self, number: int, index: int, limits: tuple[float, float]) -> Cell:
        return cell_of([self._lacking[number].get(index, NOTHING_SAID)], limits)

    def finish(self) -> None:
        """Take no more rows: a function that never said a name speaks under those of the task file."""
        self.names.finish()
        for number in range(len(self._plan.scorers)):
            for name in self.names.of(number):
                self._of(number, name)

    @property
    def is_late(self) -> bool:
        """Whether a name came when rows had gone by."""
        return any(column.late for columns in self._kept for column in columns.values())

    def iterate_missed(self, index: int) -> Iterator[tuple[str, Missing]]:
        """Yield the names that had not come when a row went by, each with the reason why the row lacks it."""
        for number, columns in enumerate(self._kept):
            for name, column in columns.items():
                if index < column.late:
                    yield name, self._lacking[number].get(index, NOTHING_SAID)

    def columns(self) -> list[TaskColumn]:
        """Return a column for each name."""
        task, pipeline = self._plan.task.name, self._filtered.pipeline
        task_columns = []
        for scorer, columns in zip(self._plan.scorers, self._kept, strict=True):
            for name, column in columns.items():
                scored = scorer.get_scored(name)
                task_columns.append(
                    TaskColumn(
                        task, self._plan.key(name, pipeline), column.marks, scored.range, scored.direction,
                        scored.signature, aggregation=scored.aggregation, raws=column.raws,
                    )
                )  # fmt: skip
        return task_columns


def complete_row(row: Mapping[str, object], missed: Iterator[tuple[str, Missing]]) -> dict[str, object]:
    """Return a published row with the names that came after it."""
    metrics, missing = row["metrics"], row["missing"]
    assert isinstance(metrics, dict)
    assert isinstance(missing, dict)
    for name, why in missed:
        metrics[name], missing[name] = None, why.to_record()
    return {**row, "metrics": metrics, "missing": missing}
