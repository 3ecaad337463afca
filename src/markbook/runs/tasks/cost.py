"""What a run of tasks shows of cost: each task's score against what its answers cost."""

from __future__ import annotations

import math
from typing import Any

from markbook.report import planes
from markbook.report.page import Chart, Section
from markbook.runs.tasks.published import AnswerRow, TasksView
from markbook.text import Table
from markbook.text.numbers import NOTHING, format_number
from markbook.types import Summary


def cost_sections(view: TasksView) -> list[Section]:
    """Return score against cost by task; nothing where no answer's price is known.

    An unknown price is unknown, not 0: it is left out of the mean, counted, and a task without any is not drawn.
    """
    costs = _costs(view)
    if not any(cost is not None for task_costs in costs.values() for cost in task_costs):
        return []
    lines, cells = [], []
    for task, record in view.summary["tasks"].items():
        task_costs = costs.get(task, [])
        known_costs = [cost for cost in task_costs if cost is not None]
        metric, first = next(iter(record["metrics"].items()))
        summary = Summary.from_record(first)
        value, interval = summary.value, summary.interval
        mean = math.fsum(known_costs) / len(known_costs) if known_costs else None
        lines.append(
            (task, NOTHING if mean is None else format_number(1000 * mean, 4), NOTHING if not known_costs else format_number(math.fsum(known_costs), 4),
             f"{len(known_costs)} of {len(task_costs)}", metric + ("" if summary.direction == "higher" else " (lower is better)"),
             format_number(value))
        )  # fmt: skip
        if mean is not None and value is not None and 0 <= value <= 1:
            low, high = (interval.low, interval.high) if interval else (value, value)
            cells.append({"name": task, "x": 1000 * mean, "value": 100 * value, "low": 100 * low, "high": 100 * high})
    headers = ("Task", "US$ for 1,000 answers", "US$ in all", "Price known", "Metric", "Value")
    note = "Each task's first metric. Answers without a known price are left out of the means, not counted as free."
    table = Table("Score and cost", headers, tuple(lines), frozenset({1, 2, 3, 5}), note=note)
    order = [str(cell["name"]) for cell in cells]
    picture = planes.scatter(cells, order, x_title="US$ for 1,000 answers", y_title="Value, 0 to 100")
    chart = Chart(picture, "Value of each task against the mean cost of its answers") if cells else None
    return [Section("cost", "Score against cost", "Further to the left is cheaper.", (table,), chart)]


def _costs(view: TasksView) -> dict[str, list[float | None]]:
    """Return the cost of each answer by task, None where its price is unknown; an answer marked twice costs once."""
    costs: dict[str, dict[tuple[Any, Any], float | None]] = {}
    for row in view.rows():
        if row.get("reply") is not None:
            costs.setdefault(str(row["task"]), {})[row["id"], row["index"]] = _cost(row)
    return {task: list(costs.values()) for task, costs in costs.items()}


def _cost(row: AnswerRow) -> float | None:
    cost = row.get("cost")
    return None if cost is None else float(cost)
