"""A finished run of tasks, read back for reports and comparisons."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from markbook.aggregate.sheet import Cell, Sheet
from markbook.errors import DataError, UsageError
from markbook.types import Missing, MissingKind


class Folder(Protocol):
    """What the view needs of a run."""

    def read(self, name: str) -> str:
        """Return the text of a report."""
        ...


@dataclass
class TaskView:
    """A run of tasks as its published files tell it."""

    run: Folder
    manifest: Mapping[str, Any]
    """What run.json holds."""

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Return `summary.json`."""
        found: dict[str, Any] = json.loads(self.run.read("summary.json"))
        return found

    @property
    def tasks(self) -> list[str]:
        """The names of the tasks, in the order of the results."""
        return list(dict.fromkeys(row["task"] for row in self.rows()))

    def rows(self, task: str = "") -> Iterator[dict[str, Any]]:
        """Yield the rows of `results.jsonl`, those of one task if it is named."""
        for line in self.run.read("results.jsonl").split("\n"):
            if line:
                row = json.loads(line)
                if not task or row["task"] == task:
                    yield row

    def sheet(self, metric: str, task: str = "") -> Sheet:
        """Return one metric's marks for a comparison: a row's mark is the mean over its answers.

        Args:
            metric: its name in results, such as `bleu` or `pass@1`.
            task: one task; all tasks that have the metric if empty, their rows told apart by the task's name.

        Raises:
            UsageError: no task of the run has this metric.
        """
        chosen = {
            name: record["metrics"][metric]
            for name, record in self.summary["tasks"].items()
            if metric in record["metrics"] and task in ("", name)
        }
        if not chosen:
            known = sorted({key for record in self.summary["tasks"].values() for key in record["metrics"]})
            raise UsageError(f"the run has no metric {metric!r}", hint=f"it has {', '.join(known)}")
        own, _, pipeline = metric.partition(",")
        found: dict[str, dict[str, list[dict[str, Any]]]] = {}
        for row in self.rows():
            if row["task"] in chosen and pipeline in ("", row["pipeline"]) and own in row["metrics"]:
                name = row["id"] if len(chosen) == 1 else f"{row['task']}/{row['id']}"
                found.setdefault(row["model"] or "model", {}).setdefault(name, []).append(row)
        marks = {model: {name: _cell(rows, own) for name, rows in several.items()} for model, several in found.items()}
        direction = next(iter(chosen.values()))["direction"]
        return Sheet(metric, marks, direction=direction)


def task_view(run: Any) -> TaskView:
    """Return the view of a run.

    Raises:
        DataError: it was made by another command, or has not published its results yet.
    """
    if run.command != "run":
        raise DataError(f"this run was made by `markbook {run.command}`", at=str(run.folder))
    return TaskView(run, run.manifest)


def _cell(rows: list[dict[str, Any]], metric: str) -> Cell:
    values = [row["metrics"][metric] for row in rows if row["metrics"][metric] is not None]
    costs = [row["cost"] for row in rows if row.get("cost") is not None]
    cost = sum(costs) if len(costs) == len(rows) else None
    tests = [row["tests"]["passed"] for row in rows if "tests" in row]
    passed = all(tests) if tests else None
    if values:
        return Cell(sum(values) / len(values), passed=passed, cost=cost)
    reason = rows[0]["missing"][metric]
    return Cell(None, Missing(MissingKind(reason["kind"]), reason["detail"]), passed=passed, cost=cost)
