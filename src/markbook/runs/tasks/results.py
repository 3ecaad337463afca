"""What a run of tasks leaves behind: one row an answer, and the numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from markbook.judge.metric import JudgeMetric
from markbook.results.files_view import SCHEMA
from markbook.runs.tasks.contexts import ContextGap, adjusted, context_gap
from markbook.runs.tasks.marks import MarkedAnswer
from markbook.runs.tasks.metrics import result_keys
from markbook.runs.tasks.options import TaskOptions
from markbook.runs.tasks.plan import Filtered, Plan, TaskPlan
from markbook.runs.tasks.summary import Column, pass_cell, row_mark, summarise_column, summarise_group
from markbook.types import Measurement, Sample

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True)


class Results:
    """Collects a run's marks."""

    def __init__(self, plan: Plan, options: TaskOptions) -> None:
        self._plan = plan
        self._options = options
        self._marked: list[tuple[TaskPlan, Filtered, list[MarkedAnswer]]] = []
        self.columns: list[Column] = []
        self.answers = 0

    def add(self, plan: TaskPlan, filtered: Filtered, marked: list[MarkedAnswer]) -> None:
        """Take the marks of one task under one filter pipeline."""
        self._marked.append((plan, filtered, marked))
        self.answers += sum(each.answer.reply.missing is None for each in marked)
        by_sample: dict[str, list[MarkedAnswer]] = {}
        for each in marked:
            by_sample.setdefault(each.answer.sample.id, []).append(each)
        for bound in plan.metrics:
            several = {sample: [each.measurements[bound.key] for each in rows] for sample, rows in by_sample.items()}
            own = None if bound.metric.averages else bound.metric
            self.columns.append(
                Column(
                    plan.task.name,
                    plan.key(bound.key, filtered.pipeline),
                    {sample: row_mark(found, bound.metric.range) for sample, found in several.items()},
                    bound.metric.range,
                    bound.metric.direction,
                    _signature(bound.metric.signature, several.values()),
                    own,
                    [one for found in several.values() for one in found] if own is not None else (),
                )
            )
        self._add_scores(plan, filtered, [rows[0] for rows in by_sample.values()])
        for name in plan.passes.keys if plan.passes else ():
            first = {sample: rows[0].measurements[name] for sample, rows in by_sample.items()}
            marks = {sample: pass_cell(found.result, found.stats) for sample, found in first.items()}
            signature = next(iter(first.values())).signature
            self.columns.append(
                Column(plan.task.name, plan.key(name, filtered.pipeline), marks, (0.0, 1.0), "higher", signature)
            )

    def _add_scores(self, plan: TaskPlan, filtered: Filtered, rows: Sequence[MarkedAnswer]) -> None:
        """Take what scorers gave of whole rows, under the names that came."""
        for scorer in plan.scorers:
            taken = {bound.key for bound in plan.metrics} | set(plan.passes.keys if plan.passes else ())
            names = scorer.found(dict.fromkeys(key for each in rows for key in each.measurements if key not in taken))
            for name in names:
                scored = scorer.scored(name)
                marks = {each.answer.sample.id: row_mark([each.measurements[name]], scored.range) for each in rows}
                self.columns.append(
                    Column(
                        plan.task.name,
                        plan.key(name, filtered.pipeline),
                        marks,
                        scored.range,
                        scored.direction,
                        scored.signature,
                        aggregation=scored.aggregation,
                        raws=[each.raws[name] for each in rows if name in each.raws] if scored.aggregation else (),
                    )
                )

    @property
    def broken(self) -> dict[str, int]:
        """How many values are missing for a reason that lies in the run, by `task: kind`."""
        found: dict[str, int] = {}
        for plan, _filtered, marked in self._marked:
            for each in marked:
                for one in each.measurements.values():
                    if one.missing is not None and one.missing.kind.is_ours:
                        name = f"{plan.task.name}: {one.missing.kind.value}"
                        found[name] = found.get(name, 0) + 1
        return dict(sorted(found.items()))

    def rows(self) -> Iterator[str]:
        """Yield `results.jsonl`: one line an answer, in the order of tasks and rows."""
        for plan, filtered, marked in self._marked:
            for each in marked:
                yield _ENCODER.encode(_row(plan, filtered, each)) + "\n"

    def summary(self, model: str) -> dict[str, Any]:
        """Return `summary.json`."""
        tasks = {each.task.name: self._task(each) for each in self._plan.tasks}
        return {
            "schema": SCHEMA,
            "model": model,
            "profile": self._options.profile,
            "tasks": tasks,
            "groups": {group.name: self._group(group, names) for group, names in self._plan.groups},
            "comparisons": [gap.to_record() for gap in adjusted(self._context_gaps())],
        }

    def _task(self, plan: TaskPlan) -> dict[str, Any]:
        options = self._options
        columns = [column for column in self.columns if column.task == plan.task.name]
        samples = plan.samples
        answered = sum(
            each.answer.reply.missing is None
            for other, filtered, marked in self._marked
            if other is plan and filtered is plan.pipelines[0]
            for each in marked
        )
        return {
            "alias": plan.alias,
            "version": plan.task.version,
            "context": plan.mode,
            "base": plan.base,
            "rows": len(samples),
            "ids": "field" if plan.task.data.id_field else "place",
            "rows_rejected": len(plan.rows.rejections),
            "answers": answered,
            "answers_rejected": len(plan.answers.rejections) if plan.answers else 0,
            "answers_unknown": len(plan.answers.unknown) if plan.answers else 0,
            "metrics": {
                column.key: summarise_column(column, policy=options.missing, seed=options.seed).to_record()
                for column in columns
            },
            **({"panels": panels} if (panels := self._panels(plan)) else {}),
        }

    def _panels(self, plan: TaskPlan) -> dict[str, Any]:
        """Return how well the judges of a panel agree, by metric; nothing where one judges alone."""
        found: dict[str, Any] = {}
        for other, filtered, marked in self._marked:
            for bound in plan.metrics if other is plan else ():
                if isinstance(bound.metric, JudgeMetric):
                    agreement = bound.metric.agreement([each.measurements[bound.key] for each in marked])
                    if agreement is not None:
                        found[plan.key(bound.key, filtered.pipeline)] = agreement
        return found

    def _group(self, group: Any, names: Sequence[str]) -> dict[str, Any]:
        options = self._options
        metrics: dict[str, Any] = {}
        for wanted in group.aggregates:
            for key in result_keys(wanted.metric):
                matching = self._matching(key, wanted.pipelines, names)
                for full_key, columns in matching.items():
                    summary = summarise_group(
                        group.name,
                        columns,
                        weight_by_size=wanted.weight_by_size,
                        policy=options.missing,
                        seed=options.seed,
                    )
                    metrics[full_key] = {**summary.to_record(), "tasks": [column.task for column in columns]}
        return {"alias": group.alias, "version": group.version, "tasks": list(names), "metrics": metrics}

    def _matching(self, key: str, pipelines: Sequence[str], names: Sequence[str]) -> dict[str, list[Column]]:
        """Return a group metric's columns by their name in results."""
        found: dict[str, list[Column]] = {}
        for column in self.columns:
            own, _, pipeline = column.key.partition(",")
            if own == key and column.task in names and (not pipelines or not pipeline or pipeline in pipelines):
                found.setdefault(column.key, []).append(column)
        return found

    def _context_gaps(self) -> list[ContextGap]:
        """Return the paired differences between the context modes of each task, fuller minus less."""
        order = {"full": 0, "minimal": 1, "none": 2}
        plans = sorted(self._plan.tasks, key=lambda each: order[each.mode])
        found: list[ContextGap] = []
        for base in dict.fromkeys(each.base for each in self._plan.tasks):
            variants = [each for each in plans if each.base == base]
            for place, first in enumerate(variants):
                for second in variants[place + 1 :]:
                    if _same_rows(first.samples, second.samples):
                        found += self._differences(first, second)
        return found

    def _differences(self, first: TaskPlan, second: TaskPlan) -> list[ContextGap]:
        others = {column.key: column for column in self.columns if column.task == second.task.name}
        return [
            context_gap(column, others[column.key], (first.mode, second.mode))
            for column in self.columns
            if column.task == first.task.name and column.key in others
        ]


def _signature(own: str, rows: Iterable[Sequence[Measurement]]) -> str:
    """Return what the values were signed with: only a metric that was run knows all of it, such as a model's digest."""
    return next((one.signature for row in rows for one in row if one.value is not None and one.signature), own)


def _same_rows(first: Sequence[Sample], second: Sequence[Sample]) -> bool:
    """Whether two tasks ask about the same rows: only then a difference is paired."""
    return [each.row for each in first] == [each.row for each in second]


def _row(plan: TaskPlan, filtered: Filtered, marked: MarkedAnswer) -> dict[str, Any]:
    answer = marked.answer
    reply, asked = answer.reply, answer.sample.row
    assert asked is not None  # a task's samples are made of its rows
    values: dict[str, float | None] = {}
    missing: dict[str, dict[str, str]] = {}
    for key, one in marked.measurements.items():
        values[key] = one.value
        if one.missing is not None:
            missing[key] = one.missing.to_record()
    row: dict[str, Any] = {
        "task": plan.task.name,
        "id": answer.sample.id,
        "doc_id": asked.place,
        "doc": asked.record,
        "index": answer.index,
        "pipeline": filtered.pipeline.name,
        "model": answer.model,
        "prompt": answer.sample.input,
        "system": answer.sample.system,
        "references": list(answer.sample.references),
        "reply": None if reply.missing else reply.raw or reply.text,
        "text": None if reply.missing else answer.text,
        "metrics": values,
        "missing": missing,
        "source": answer.sample.source.rpartition("/")[2],
    }
    for name in ("finish", "input_tokens", "output_tokens", "cost"):
        # A question that was not answered has a bill in run.json, not a row of numbers.
        if reply.missing is None and getattr(reply, name) not in (None, ""):
            row[name] = getattr(reply, name)
    if turns := plan.rows.turns.get(answer.sample.id):
        row["turns"] = [list(turn) for turn in turns]
    if reply.missing is None and answer.sample.id in plan.rows.weighings:
        row["likelihoods"] = json.loads(answer.text)
    if marked.tested is not None:
        row["tests"] = marked.tested.as_record()
    stats = {key: dict(one.stats) for key, one in marked.measurements.items() if one.stats}
    if stats:
        row["stats"] = stats
    return row
