"""What a review run shows of time and of the agents' traces."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from markbook.report import planes
from markbook.report.page import Chart, Section
from markbook.runs.reviews.scoring.records import Numbers, ReviewRow, ReviewsView, Tier
from markbook.stats.intervals import mean_interval
from markbook.text import Table
from markbook.text.numbers import NOTHING, format_number

GRAPHS_SHOWN = 4
EDGES_SHOWN = 40
_SCORES: tuple[tuple[Tier, str], ...] = (
    ("composite", "composite_score"),
    ("tier1", "overall_score"),
    ("tier1", "cosine_score"),
)


def time_sections(view: ReviewsView, systems: Sequence[str]) -> list[Section]:
    """Return score against time by system: the composite, or the first number of tier 1 that any review has."""
    rows = [(row["system"], _slim(row)) for row in view.rows()]
    field = next(
        (
            field_pair
            for field_pair in _SCORES
            if any(row[field_pair[0]].get(field_pair[1]) is not None for _, row in rows)
        ),
        None,
    )
    if field is None or not any(row["tier1"].get("execution_time") is not None for _, row in rows):
        return []
    tier, name = field
    lines, cells = [], []
    for system in systems:
        mine = [row for owner, row in rows if owner == system]
        times = [float(seconds) for row in mine if (seconds := row["tier1"].get("execution_time")) is not None]
        marks = [float(value) for row in mine if (value := row[tier].get(name)) is not None]
        if not times or not marks:
            lines.append((system, NOTHING, NOTHING, str(len(times)), str(len(marks))))
            continue
        estimate = mean_interval([min(1.0, max(0.0, mark)) for mark in marks])
        seconds = math.fsum(times) / len(times)
        value = math.fsum(marks) / len(marks)
        lines.append((system, f"{seconds:.2f}", format_number(value), str(len(times)), str(len(marks))))
        low, high = (
            (estimate.low, estimate.high) if estimate.low is not None and estimate.high is not None else (value, value)
        )
        cells.append({"name": system, "x": seconds, "value": 100 * value, "low": 100 * low, "high": 100 * high})
    label = f"{tier} {name}"
    headers = ("System", "Mean seconds", f"Mean {label}", "Reviews with a time", "Reviews with a score")
    table = Table("Score and time", headers, tuple(lines), frozenset({1, 2, 3, 4}))
    picture = planes.scatter(cells, list(systems), x_title="Mean seconds a review", y_title=f"{label}, 0 to 100")
    chart = Chart(picture, "Mean score of each system against its mean time") if cells else None
    return [Section("time", "Score against time", "Up and to the left is better.", (table,), chart)]


def _slim(row: ReviewRow) -> dict[str, Numbers]:
    """Return of a row what the section needs, so that a large run's page does not hold all of them."""
    slim: dict[str, Numbers] = {"tier1": {"execution_time": row["tier1"].get("execution_time")}}
    for tier, name in _SCORES:
        slim.setdefault(tier, {})[name] = row[tier].get(name)
    return slim


def graph_sections(view: ReviewsView) -> list[Section]:
    """Return who addressed whom, one section a system, over all its traces; nothing without traces."""
    steps: dict[str, Counter[str]] = {}
    edges: dict[str, Counter[tuple[str, str]]] = {}
    for key, data in view.read_journal("tier3"):
        graph = data.get("graph")
        if not graph or not graph["agents"]:
            continue
        system = str(key[1])
        steps.setdefault(system, Counter()).update(graph["agents"])
        counts = {(str(sender), str(two)): int(count) for sender, two, count in graph["edges"]}
        edges.setdefault(system, Counter()).update(counts)
    sections = []
    for number, system in enumerate(list(steps)[:GRAPHS_SHOWN], start=1):
        sections.append(_graph(f"agents-{number}", system, steps[system], edges[system]))
    return sections


def _graph(name: str, system: str, steps: Counter[str], edges: Counter[tuple[str, str]]) -> Section:
    """Return a system's agents on a circle, thicker lines for more messages."""
    edges_shown = edges.most_common(EDGES_SHOWN)
    agents = list(dict.fromkeys([*steps, *(agent for pair, _ in edges_shown for agent in pair)]))[:EDGES_SHOWN]
    turn = 2 * math.pi / max(1, len(agents))
    positions = {
        agent: (0.5 + 0.42 * math.sin(turn * at), 0.5 + 0.42 * math.cos(turn * at)) for at, agent in enumerate(agents)
    }
    nodes = [{"name": agent, "x": x, "y": y, "size": max(1, steps[agent])} for agent, (x, y) in positions.items()]
    lines = [
        {
            "x": positions[sender][0],
            "y": positions[sender][1],
            "x2": positions[two][0],
            "y2": positions[two][1],
            "weight": count,
        }
        for (sender, two), count in edges_shown
        if sender in positions and two in positions
    ]
    table = Table(
        title=f"Who addressed whom: {system}",
        headers=("From", "To", "Times", "Steps of the first"),
        rows=tuple((sender, two, str(count), str(steps[sender])) for (sender, two), count in edges_shown),
        numeric=frozenset({2, 3}),
        note=f"The {EDGES_SHOWN} most frequent of {len(edges)}." if len(edges) > EDGES_SHOWN else "",
    )
    alt = f"Graph of the agents of {system}: {len(agents)} agents, {len(edges)} connections"
    lead = "Larger points did more steps, thicker lines passed more messages; over all traces of the system."
    return Section(name, f"Agents: {system}", lead, (table,), Chart(planes.graph(nodes, lines), alt))
