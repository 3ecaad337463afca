"""Results of a run of tasks: a column for each scorer, and the files made of them."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

from markbook.config import TaskGroup
from markbook.files.spool import Spool
from markbook.judge.assess import PanelAgreement
from markbook.judge.metric import LOST_SAMPLES, JudgeMetric
from markbook.results.files import SCHEMA
from markbook.results.sheet import Cell, make_cell
from markbook.runs.tasks.grading import MarkedAnswer
from markbook.runs.tasks.metrics import result_keys
from markbook.runs.tasks.plan import Filtered, Plan, TaskPlan, is_of_metric
from markbook.runs.tasks.scorers import NOTHING_SAID, ScoreNames
from markbook.runs.tasks.summaries import (
    BillRecord,
    GroupRecord,
    GroupSummaryRecord,
    TaskAnswer,
    TaskColumn,
    TaskRecord,
    TasksSummary,
    compare_contexts,
    pass_cell,
    row_mark,
    summarise_column,
    summarise_group,
)
from markbook.runs.tasks.task_options import TaskOptions
from markbook.types import Measurement, Missing

# Cells of one metric, 8 bytes each where they are bare numbers.


class Marks(Mapping[str, Cell]):
    """Cells by sample id, most of which are a bare number."""

    def __init__(self, places: dict[str, int]) -> None:
        """Take where each sample's cell is; the mapping is shared by the columns of a task."""
        self._places = places
        self._values = array("d")
        self._others: dict[int, Cell] = {}

    def add(self, cell: Cell) -> None:
        """Take the next sample's cell."""
        # Most cells are a number and nothing else; only the others cost an object.
        if cell.value is None or cell != Cell(cell.value):
            self._others[len(self._values)] = cell
        # The number holds the row's place in the array; whether there is one says `_others`.
        self._values.append(0.0 if cell.value is None else cell.value)

    def __getitem__(self, sample: str) -> Cell:
        index = self._places[sample]
        return self._others.get(index) or Cell(self._values[index])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._values)


# What scorers gave of a task's rows, taken piece by piece: a name that comes late is there for the earlier rows too.


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
        """Start with no rows; `places` says where each sample's cell is, also in the task's other columns, which have the names `but`."""
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
                # A column has a cell for every row: those that went by before the name came are filled up with why
                # they lack it.
                column.marks.add(make_cell([self._lacking[number].get(index, NOTHING_SAID)], limits))
        return column

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


# One task's marks under one filter pipeline, taken piece by piece: 8 bytes a row and metric, whatever the rows hold.


@dataclass(slots=True)
class _Metric:
    """What is kept of one metric."""

    marks: Marks
    signature: str = ""
    """The first that a value was signed with."""
    measurements: list[list[Measurement]] = field(default_factory=list)
    """Those of each row's answers; only where the number over all rows is not their mean."""


class Columns:
    """Takes the marks of one task under one pipeline."""

    def __init__(self, plan: TaskPlan, filtered: Filtered) -> None:
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
            marks_taken = self._metrics[bound.key]
            keeps = not bound.metric.averages or (isinstance(bound.metric, JudgeMetric) and not bound.is_criterion)
            for rows in by_sample.values():
                measurements = [row.measurements[bound.key] for row in rows]
                marks_taken.marks.add(row_mark(measurements, bound.metric.range))
                if keeps:
                    marks_taken.measurements.append(measurements)
                # Only a metric that was run knows all of its signature, such as a model's digest.
                values = (measurement for measurement in measurements if measurement.value is not None)
                marks_taken.signature = marks_taken.signature or next(
                    filter(None, (value.signature for value in values)), ""
                )
        for key, column in self._passes.items():
            for rows in by_sample.values():
                first = rows[0].measurements[key]
                column.marks.add(pass_cell(first.result, first.stats))
                column.signature = column.signature or first.signature
        if self._plan.scorers:
            self.scores.add([rows[0] for rows in by_sample.values()])

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


# What a run of tasks leaves behind: one row an answer, and the numbers.

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True)


class MarkCollector:
    """Collects a run's marks."""

    def __init__(self, plan: Plan, options: TaskOptions) -> None:
        self._plan = plan
        self._options = options
        self._taken: dict[tuple[str, str], Columns] = {}
        self._lines: Spool[str] = Spool()
        self._broken: Counter[str] = Counter()
        self._answered: Counter[str] = Counter()
        self.answers = 0

    def add(self, plan: TaskPlan, filtered: Filtered, marked: Sequence[MarkedAnswer]) -> None:
        """Take the marks of the next rows of a task under a filter pipeline."""
        self._get_columns(plan, filtered).add(marked)
        is_first = filtered is plan.pipelines[0]
        parts = {bound.key for bound in plan.metrics if bound.is_criterion}
        for answer in marked:
            is_answered = answer.answer.reply.missing is None
            self.answers += is_answered
            # Once an answer, not once a pipeline that marks it.
            self._answered[plan.task.name] += is_answered and is_first
            for key, measurement in answer.measurements.items():
                if measurement.missing is not None and measurement.missing.kind.is_ours and key not in parts:
                    # Without a rubric's criteria: a judge that was not reached is one gap, not one a criterion.
                    self._broken[f"{plan.task.name}: {measurement.missing.kind.value}"] += 1
            for bound in plan.metrics:
                # A gap too, as in a run of reviews; a score that rests on fewer samples stands all the same.
                if isinstance(bound.metric, JudgeMetric) and bound.key in answer.measurements:
                    lost = bound.metric.count_lost([answer.measurements[bound.key]])
                    self._broken += Counter({f"{plan.task.name}: {LOST_SAMPLES}": lost})
            self._lines.append(_ENCODER.encode(_row(plan, filtered, answer)) + "\n")

    def names(self, plan: TaskPlan, filtered: Filtered) -> ScoreNames:
        """Return the names under which a task's scorers have spoken so far."""
        return self._get_columns(plan, filtered).scores.names

    def _get_columns(self, plan: TaskPlan, filtered: Filtered) -> Columns:
        column_key = (plan.task.name, filtered.pipeline.name)
        if column_key not in self._taken:
            self._taken[column_key] = Columns(plan, filtered)
        return self._taken[column_key]

    def finish(self) -> None:
        """Take no more rows."""
        for (task, _), columns in self._taken.items():
            columns.scores.finish()
            for index in range(columns.rows if columns.scores.is_late else 0):
                for _name, why in columns.scores.iterate_missed(index):
                    if why.kind.is_ours:
                        self._broken[f"{task}: {why.kind.value}"] += 1

    @cached_property
    def columns(self) -> list[TaskColumn]:
        """The marks of each task by each metric, once all rows are taken."""
        return [column for columns in self._taken.values() for column in columns.columns()]

    def count_broken(self) -> dict[str, int]:
        """Return how many values are missing for a reason that lies in the run, by `task: kind`."""
        return dict(sorted(self._broken.items()))

    def rows(self) -> Iterator[str]:
        """Yield `results.jsonl`: one line an answer, in the order of tasks and rows."""
        late = {column_key: columns.scores for column_key, columns in self._taken.items() if columns.scores.is_late}
        last_rows: dict[tuple[str, str], tuple[int, str]] = {}
        for line in self._lines:
            # Names that came after a row was written are put in at its first answer; lines without such are as they were.
            row = json.loads(line) if late else {}
            column_key = (row.get("task", ""), row.get("pipeline", ""))
            number, last = last_rows.get(column_key, (-1, ""))
            if column_key not in late or row["id"] == last:
                yield line
                continue
            last_rows[column_key] = number + 1, row["id"]
            for name, why in late[column_key].iterate_missed(number + 1):
                row["metrics"][name], row["missing"][name] = None, why.to_record()
            yield _ENCODER.encode(row) + "\n"

    def summary(self, model: str) -> TasksSummary:
        """Return `summary.json`."""
        options, tasks = self._options, {}
        for plan in self._plan.tasks:
            name = plan.task.name
            record: TaskRecord = {
                "alias": plan.alias,
                "version": plan.task.version,
                "context": plan.mode,
                "base": plan.base,
                "rows": len(plan.samples),
                "ids": "field" if plan.task.data.id_field else "place",
                "rows_rejected": len(plan.rows.rejections),
                "answers": self._answered[name],
                "answers_rejected": len(plan.answers.rejections) if plan.answers else 0,
                "answers_unknown": len(plan.answers.unknown) if plan.answers else 0,
                "metrics": {
                    column.key: summarise_column(column, policy=options.missing, seed=options.seed).to_record()
                    for column in self.columns
                    if column.task == name
                },
            }
            panels: dict[str, PanelAgreement] = {}
            for filtered in plan.pipelines:
                if (columns := self._taken.get((name, filtered.pipeline.name))) is not None:
                    panels |= columns.agreement()
            tasks[name] = record | {"panels": panels} if panels else record
        return {
            "schema": SCHEMA,
            "model": model,
            "profile": options.profile,
            "tasks": tasks,
            "groups": {group.name: self._group(group, names) for group, names in self._plan.groups},
            "comparisons": [
                gap.to_record()
                for gap in compare_contexts(self._match_contexts(), policy=options.missing, seed=options.seed)
            ],
        }

    def _group(self, group: TaskGroup, names: Sequence[str]) -> GroupRecord:
        metrics: dict[str, GroupSummaryRecord] = {}
        for aggregate in group.aggregates:
            for key in result_keys(aggregate.metric):
                by_name: dict[str, list[TaskColumn]] = {}
                for column in self.columns:
                    if column.task in names and is_of_metric(column.key, (key,), aggregate.pipelines):
                        by_name.setdefault(column.key, []).append(column)
                for name, columns in by_name.items():
                    summary = summarise_group(
                        group.name,
                        columns,
                        weight_by_size=aggregate.weight_by_size,
                        policy=self._options.missing,
                        seed=self._options.seed,
                    )
                    metrics[name] = {**summary.to_record(), "tasks": [column.task for column in columns]}
        return {"alias": group.alias, "version": group.version, "tasks": list(names), "metrics": metrics}

    def _match_contexts(self) -> list[tuple[TaskColumn, TaskColumn, tuple[str, str]]]:
        """Return the columns of each metric in two context modes of a task, the fuller first, with the modes."""
        order = {"full": 0, "minimal": 1, "none": 2}
        plans = sorted(self._plan.tasks, key=lambda plan: order[plan.mode])
        matches: list[tuple[TaskColumn, TaskColumn, tuple[str, str]]] = []
        for base in dict.fromkeys(plan.base for plan in self._plan.tasks):
            variants = [plan for plan in plans if plan.base == base]
            for index, first in enumerate(variants):
                for second in variants[index + 1 :]:
                    # Another mode may have had to leave out rows: a paired difference is over the same rows only.
                    if [sample.row for sample in first.samples] != [sample.row for sample in second.samples]:
                        continue
                    others = {column.key: column for column in self.columns if column.task == second.task.name}
                    matches += [
                        (column, others[column.key], (first.mode, second.mode))
                        for column in self.columns
                        if column.task == first.task.name and column.key in others
                    ]
        return matches


def _row(plan: TaskPlan, filtered: Filtered, marked: MarkedAnswer) -> TaskAnswer:
    answer = marked.answer
    reply, row_asked = answer.reply, answer.sample.row
    assert row_asked is not None  # a task's samples are made of its rows
    measurements = marked.measurements.items()
    row: TaskAnswer = {
        "task": plan.task.name,
        "id": answer.sample.id,
        "doc_id": row_asked.place,
        "doc": row_asked.record,
        "index": answer.index,
        "pipeline": filtered.pipeline.name,
        "model": answer.model,
        "prompt": answer.sample.input,
        "system": answer.sample.system,
        "references": list(answer.sample.references),
        "reply": None if reply.missing else reply.raw or reply.text,
        "text": None if reply.missing else answer.text,
        "metrics": {key: measurement.value for key, measurement in measurements},
        "missing": {
            key: measurement.missing.to_record() for key, measurement in measurements if measurement.missing is not None
        },
        "source": answer.sample.source.rpartition("/")[2],
    }
    if reply.missing is None:  # what a question that was not answered took is in run.json
        bill = {name: getattr(reply, name) for name in BillRecord.__annotations__}
        row = {**row, **cast("BillRecord", {name: value for name, value in bill.items() if value not in (None, "")})}
    if turns := plan.rows.turns.get(answer.sample.id):
        row["turns"] = [list(turn) for turn in turns]
    if reply.missing is None and answer.sample.id in plan.rows.weighings:
        row["likelihoods"] = json.loads(answer.text)
    if marked.tested is not None:
        row["tests"] = marked.tested.to_record()
    stats = {key: dict(measurement.stats) for key, measurement in measurements if measurement.stats}
    if stats:
        row["stats"] = stats
    return row
