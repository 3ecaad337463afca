"""What a run of tasks leaves behind: one row an answer, and the numbers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from markbook.config import TaskGroup
from markbook.files.spool import Spool
from markbook.judge.cases import PanelAgreement
from markbook.model import ModelReply
from markbook.results.files_view import SCHEMA
from markbook.runs.tasks.columns import Columns
from markbook.runs.tasks.contexts import ContextGap, adjust_gaps, context_gap
from markbook.runs.tasks.marks import MarkedAnswer
from markbook.runs.tasks.options import TaskOptions
from markbook.runs.tasks.plan import Filtered, Plan, TaskPlan
from markbook.runs.tasks.published import (
    AnswerRow,
    BillRecord,
    GroupRecord,
    GroupSummaryRecord,
    TaskRecord,
    TasksSummary,
)
from markbook.runs.tasks.scoring.metrics import result_keys
from markbook.runs.tasks.scoring.score_columns import ScoreColumns, complete_row
from markbook.runs.tasks.scoring.scorers import ScoreNames
from markbook.runs.tasks.summary import TaskColumn, summarise_column, summarise_group
from markbook.stats.power import Differences
from markbook.types import Sample

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
        self._columns_of(plan, filtered).add(marked)
        is_first = filtered is plan.pipelines[0]
        parts = {bound.key for bound in plan.metrics if bound.is_criterion}
        for answer in marked:
            is_answered = answer.answer.reply.missing is None
            self.answers += is_answered
            self._answered[plan.task.name] += is_answered and is_first
            for key, measurement in answer.measurements.items():
                if measurement.missing is not None and measurement.missing.kind.is_ours and key not in parts:
                    self._broken[f"{plan.task.name}: {measurement.missing.kind.value}"] += 1
            self._lines.append(_ENCODER.encode(_row(plan, filtered, answer)) + "\n")

    def names(self, plan: TaskPlan, filtered: Filtered) -> ScoreNames:
        """Return the names under which a task's scorers have spoken so far."""
        return self._columns_of(plan, filtered).scores.names

    def _columns_of(self, plan: TaskPlan, filtered: Filtered) -> Columns:
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

    @property
    def broken(self) -> dict[str, int]:
        """How many values are missing for a reason that lies in the run, by `task: kind`."""
        return dict(sorted(self._broken.items()))

    def rows(self) -> Iterator[str]:
        """Yield `results.jsonl`: one line an answer, in the order of tasks and rows."""
        late = {column_key: columns.scores for column_key, columns in self._taken.items() if columns.scores.is_late}
        return self._complete_lines(late) if late else iter(self._lines)

    def _complete_lines(self, late: Mapping[tuple[str, str], ScoreColumns]) -> Iterator[str]:
        """Yield the lines with the names that came after them, at each row's first answer."""
        last_rows: dict[tuple[str, str], tuple[int, str]] = {}
        for line in self._lines:
            row = json.loads(line)
            column_key = (row["task"], row["pipeline"])
            number, last = last_rows.get(column_key, (-1, ""))
            if column_key not in late or row["id"] == last:
                yield line
                continue
            last_rows[column_key] = number + 1, row["id"]
            yield _ENCODER.encode(complete_row(row, late[column_key].iterate_missed(number + 1))) + "\n"

    def summary(self, model: str) -> TasksSummary:
        """Return `summary.json`."""
        tasks = {task.task.name: self._task(task) for task in self._plan.tasks}
        return {
            "schema": SCHEMA,
            "model": model,
            "profile": self._options.profile,
            "tasks": tasks,
            "groups": {group.name: self._group(group, names) for group, names in self._plan.groups},
            "comparisons": [gap.to_record() for gap in adjust_gaps(self._context_gaps())],
        }

    def _task(self, plan: TaskPlan) -> TaskRecord:
        options = self._options
        columns = [column for column in self.columns if column.task == plan.task.name]
        samples = plan.samples
        record: TaskRecord = {
            "alias": plan.alias,
            "version": plan.task.version,
            "context": plan.mode,
            "base": plan.base,
            "rows": len(samples),
            "ids": "field" if plan.task.data.id_field else "place",
            "rows_rejected": len(plan.rows.rejections),
            "answers": self._answered[plan.task.name],
            "answers_rejected": len(plan.answers.rejections) if plan.answers else 0,
            "answers_unknown": len(plan.answers.unknown) if plan.answers else 0,
            "metrics": {
                column.key: summarise_column(column, policy=options.missing, seed=options.seed).to_record()
                for column in columns
            },
        }
        if panels := self._panels(plan):
            record["panels"] = panels
        return record

    def _panels(self, plan: TaskPlan) -> dict[str, PanelAgreement]:
        """Return how well the judges of a panel agree, by metric; nothing where one judges alone."""
        agreements: dict[str, PanelAgreement] = {}
        for filtered in plan.pipelines:
            if (columns := self._taken.get((plan.task.name, filtered.pipeline.name))) is not None:
                agreements |= columns.agreement()
        return agreements

    def _group(self, group: TaskGroup, names: Sequence[str]) -> GroupRecord:
        options = self._options
        metrics: dict[str, GroupSummaryRecord] = {}
        for aggregate in group.aggregates:
            for key in result_keys(aggregate.metric):
                matching = self._matching(key, aggregate.pipelines, names)
                for full_key, columns in matching.items():
                    summary = summarise_group(
                        group.name,
                        columns,
                        weight_by_size=aggregate.weight_by_size,
                        policy=options.missing,
                        seed=options.seed,
                    )
                    metrics[full_key] = {**summary.to_record(), "tasks": [column.task for column in columns]}
        return {"alias": group.alias, "version": group.version, "tasks": list(names), "metrics": metrics}

    def _matching(self, key: str, pipelines: Sequence[str], names: Sequence[str]) -> dict[str, list[TaskColumn]]:
        """Return a group metric's columns by their name in results."""
        columns: dict[str, list[TaskColumn]] = {}
        for column in self.columns:
            own, _, pipeline = column.key.partition(",")
            if own == key and column.task in names and (not pipelines or not pipeline or pipeline in pipelines):
                columns.setdefault(column.key, []).append(column)
        return columns

    def _context_gaps(self) -> list[tuple[ContextGap, Differences | None]]:
        """Return the paired differences between the context modes of each task, fuller minus less."""
        order = {"full": 0, "minimal": 1, "none": 2}
        plans = sorted(self._plan.tasks, key=lambda plan: order[plan.mode])
        gaps: list[tuple[ContextGap, Differences | None]] = []
        for base in dict.fromkeys(plan.base for plan in self._plan.tasks):
            variants = [plan for plan in plans if plan.base == base]
            for index, first in enumerate(variants):
                for second in variants[index + 1 :]:
                    if _same_rows(first.samples, second.samples):
                        gaps += self._differences(first, second)
        return gaps

    def _differences(self, first: TaskPlan, second: TaskPlan) -> list[tuple[ContextGap, Differences | None]]:
        others = {column.key: column for column in self.columns if column.task == second.task.name}
        return [
            context_gap(column, others[column.key], (first.mode, second.mode))
            for column in self.columns
            if column.task == first.task.name and column.key in others
        ]


def _same_rows(first: Sequence[Sample], second: Sequence[Sample]) -> bool:
    """Whether two tasks ask about the same rows: only then a difference is paired."""
    return [sample.row for sample in first] == [sample.row for sample in second]


def _row(plan: TaskPlan, filtered: Filtered, marked: MarkedAnswer) -> AnswerRow:
    answer = marked.answer
    reply, row_asked = answer.reply, answer.sample.row
    assert row_asked is not None  # a task's samples are made of its rows
    measurements = marked.measurements.items()
    row: AnswerRow = {
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
        row = {**row, **_bill(reply)}
    if turns := plan.rows.turns.get(answer.sample.id):
        row["turns"] = [list(turn) for turn in turns]
    if reply.missing is None and answer.sample.id in plan.rows.weighings:
        row["likelihoods"] = json.loads(answer.text)
    if marked.tested is not None:
        row["tests"] = marked.tested.as_record()
    stats = {key: dict(measurement.stats) for key, measurement in measurements if measurement.stats}
    if stats:
        row["stats"] = stats
    return row


def _bill(reply: ModelReply) -> BillRecord:
    """Return how a reply ended and what it took, as far as its server said."""
    bill: BillRecord = {}
    if reply.finish:
        bill["finish"] = reply.finish
    if reply.input_tokens is not None:
        bill["input_tokens"] = reply.input_tokens
    if reply.output_tokens is not None:
        bill["output_tokens"] = reply.output_tokens
    if reply.cost is not None:
        bill["cost"] = reply.cost
    return bill
