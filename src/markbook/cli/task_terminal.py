"""What a run of tasks shows on a terminal, and the gates that a user may set."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import click

from markbook.cli.terminal import RunTerminal, output_console
from markbook.report.words import costs
from markbook.results.compare import Baseline
from markbook.results.gates import Gate, GateMark, check_gates
from markbook.runs.kind import Planned
from markbook.runs.tasks.plan import Plan, group_keys, planned_signatures
from markbook.runs.tasks.sections import tables
from markbook.runs.tasks.summaries import TasksSummary
from markbook.runs.tasks.work import TasksPlan
from markbook.store import Run
from markbook.text import terminal
from markbook.types import Direction, read_range

_MAX_NAMED = 1000


class TaskTerminal(RunTerminal):
    """Progress of a run of tasks."""

    command = "run"
    names_reasons = True

    def __init__(
        self, *, verbose: bool = False, gates: Sequence[Gate] = (), baseline: Baseline | None = None, model: str = ""
    ) -> None:
        super().__init__(verbose=verbose, gates=gates, baseline=baseline)
        self._model = model
        self.metric: str | None = None
        """What a run is held against its baseline by: its first metric."""
        self.marks: list[GateMark] = []
        """What the gates may be about."""

    def on_plan(self, plan: Planned) -> None:
        """Say what was skipped; refuse a gate that nothing can pass, and a baseline that nothing can be held against.

        Raises:
            UsageError: no task has a gate's metric; the baseline lacks the run's, or a counterpart of a model.
        """
        assert isinstance(plan, TasksPlan)
        self.marks = planned_marks(plan.plan)
        check_gates(self._gates, self.marks)
        if self._baseline is not None:
            # The first metric is the run's main one; the baseline is read by it, whatever its own main one is.
            main = next(iter(self.marks), None)
            self.metric = main.names[0] if main else None
            signatures = planned_signatures(plan.plan.tasks, self.metric, plan.options) if self.metric else {}
            tables = [task.answers.attempts for task in plan.plan.tasks if task.answers is not None]
            attempts = (attempt for table in tables for several in table.values() for attempt in several)
            models = [self._model] if self._model else list(dict.fromkeys(attempt.model for attempt in attempts))
            self._baseline.check(models, main, signatures=signatures, policy=plan.options.missing)
        for warning in plan.plan.warnings:
            self._say(f"warning: {warning}", limit=500)
        if self._verbose:
            for rejection in plan.plan.rejections[:_MAX_NAMED]:
                self._say(f"  {rejection.at}: {rejection.reason}", limit=500)


def show_run(run: Run, summary: TasksSummary, *, as_json: bool) -> None:
    """Print the results on stdout."""
    usage = run.manifest.get("usage")
    if as_json:
        record = {"folder": str(run.folder), "status": run.status, "usage": usage, **summary}
        click.echo(json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False))
        return
    console = output_console()
    for table in tables(summary):
        console.print(table.rich())
    for who, words in costs(run.manifest):
        click.echo(f"{terminal(who, limit=60)}: {words}")
    click.echo(f"{run.folder}")


def planned_marks(plan: Plan) -> list[GateMark]:
    """Return what gates may be about, before it has values: by metric, or by task and metric."""
    marks = []
    for task in plan.tasks:
        bounds = [(bound.key, bound.metric.range, bound.metric.direction) for bound in task.metrics]
        passes: list[tuple[str, tuple[float, float], Direction]] = [
            (key, (0.0, 1.0), "higher") for key in (task.passes.keys if task.passes else ())
        ]
        scored = [
            (score.key, score.range, score.direction) for scorer in task.scorers for score in scorer.known.values()
        ]
        for filtered in task.pipelines:
            for name, limits, direction in [*bounds, *passes, *scored]:
                key = task.key(name, filtered.pipeline)
                label = f"{task.task.name}/{key}"
                marks.append(GateMark(label, (key, label), range=limits, direction=direction))
    # A group's numbers go by the group's name and the metric's: the metric's alone means each task's.
    by_label = {mark.label: mark for mark in marks}
    for group, names in plan.groups:
        plans = [task for task in plan.tasks if task.task.name in names]
        for key in dict.fromkeys(key for aggregate in group.aggregates for key in group_keys(aggregate, plans)):
            label = f"{group.name}/{key}"
            like = next((mark for name in names if (mark := by_label.get(f"{name}/{key}")) is not None), None)
            if like is not None and label not in by_label:
                # A group's number has the range and direction of its tasks' numbers of the same name.
                marks.append(replace(like, label=label, names=(label,)))
    return marks


def with_values(marks: Sequence[GateMark], summary: TasksSummary) -> list[GateMark]:
    """Return the marks with what a finished run found."""
    values_found = {
        f"{task}/{key}": metric
        for task, record in summary["tasks"].items()
        for key, metric in record["metrics"].items()
    }
    groups = {
        f"{group}/{key}": metric["value"]
        for group, record in summary["groups"].items()
        for key, metric in record["metrics"].items()
    }
    # A task that has the name of a group wins, as it does among the planned marks.
    values = groups | {label: metric["value"] for label, metric in values_found.items()}
    valued = [replace(mark, value=values[mark.label]) for mark in marks if mark.label in values]
    labels = {mark.label for mark in valued}
    # What a function of a task's own calls its numbers is known only now.
    return valued + [
        GateMark(
            label, (label.partition("/")[2], label), metric["value"], read_range(metric["range"]), metric["direction"]
        )
        for label, metric in values_found.items()
        if label not in labels
    ]
