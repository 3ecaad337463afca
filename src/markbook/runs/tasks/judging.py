"""Judges in a run of tasks: what the user says of them, and their answers in the run's journal."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from markbook.judge.client import Judged, to_record
from markbook.judge.metric import JudgeMetric, Memory
from markbook.model.cassette import Cassette
from markbook.runs.kind import Watcher
from markbook.runs.tasks.options import TaskOptions
from markbook.store import RunWriter

if TYPE_CHECKING:
    from markbook.runs.tasks.plan import Plan, TaskPlan

JUDGEMENT, GAP = "judgement", "judgement_gap"
"""The kinds of journal row: an answer that stands, and one that a resumed run asks for again."""
_OPTIONS = {
    "judges": "models",
    "judge_url": "base_url",
    "cassette": "cassette",
    "judge_samples": "samples",
    "judge_max_cost": "max_cost",
    "judge_price": "price",
    "judge_temperature": "temperature",
    "judge_mode": "mode",
    "judge_token_weights": "token_weights",
    "judge_retries": "retries",
    "judge_timeout": "seconds",
    "judge_per_minute": "per_minute",
    "judge_workers": "workers",
}
"""Of a run of tasks, and of the metric."""
_EVERY = 20


def judging_options(options: TaskOptions) -> dict[str, object]:
    """Return what the user says of the judges, by the metric's own names."""
    values = {name: getattr(options, name) for name in _OPTIONS}
    return {_OPTIONS[name]: value for name, value in values.items() if value not in (None, "", ())}


def judges_of(tasks: Sequence[TaskPlan]) -> Iterator[tuple[str, JudgeMetric]]:
    """Yield every rubric before its judges in the tasks, by `task/key`."""
    for task in tasks:
        for bound in task.metrics:
            if isinstance(bound.metric, JudgeMetric) and not bound.metric.is_part:
                yield f"{task.task.name}/{bound.key}", bound.metric


class JournalMemory(Memory):
    """What judges have said in this run: each answer is in the journal the moment it comes."""

    def __init__(self, writer: RunWriter, cassette: Cassette | None, watch: Watcher) -> None:
        super().__init__()
        self.cassette = cassette
        self._writer, self._watch = writer, watch
        self._known = {str(row.key[0]): row.data for row in writer.rows(JUDGEMENT)}
        self._spent: dict[str, float] = defaultdict(float)
        for row in itertools.chain(writer.rows(JUDGEMENT), writer.rows(GAP)):
            self._spent[str(row.data["model"])] += row.data.get("paid") or 0.0
        self._count = 0

    def find(self, key: str) -> Mapping[str, object] | None:
        """Return the kept answer of a call."""
        return self._known.get(key)

    def keep(self, key: str, model: str, judged: Judged) -> None:
        """Write an answer down."""
        paid = 0.0 if judged.replayed else judged.cost_at_most
        record = {**to_record(judged), "model": model, "paid": paid}
        self._spent[model] += paid or 0.0
        if judged.is_lasting:
            self._known[key] = record
        self._writer.add(JUDGEMENT if judged.is_lasting else GAP, (key,), record)
        self._writer.commit()

    def spent(self) -> Mapping[str, float]:
        """Return what each judge has cost in the run, however often it was resumed."""
        return dict(self._spent)

    def tick(self) -> None:
        """Say now and then how far it is."""
        self._count += 1
        if self._count % _EVERY == 0:
            self._watch.on_note(f"judges: {self._count} answers")


@contextmanager
def judge_memory(plan: Plan, writer: RunWriter, watch: Watcher) -> Iterator[tuple[Plan, Memory | None]]:
    """Yield the plan with one memory and one cassette for all its judges; the cassette is whole if all was answered."""
    judges = [metric for _, metric in judges_of(plan.tasks)]
    if not judges:
        yield plan, None
        return
    path = next((metric.plan.cassette for metric in judges if metric.plan.cassette is not None), None)
    memory = JournalMemory(writer, None if path is None else Cassette(Path(path)), watch)
    yield replace(plan, tasks=tuple(_with(task, memory) for task in plan.tasks)), memory
    if memory.cassette is not None:
        memory.cassette.close(is_complete=memory.is_complete)


def _with(task: TaskPlan, memory: Memory) -> TaskPlan:
    metrics = [
        replace(bound, metric=bound.metric.remembering(memory)) if isinstance(bound.metric, JudgeMetric) else bound
        for bound in task.metrics
    ]
    return replace(task, metrics=tuple(metrics))
