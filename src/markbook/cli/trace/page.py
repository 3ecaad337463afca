"""A trace as one HTML page: its steps with what was said and done, the graph beside them, numbers in groups. No script.

Every word of the trace goes through `visible` and the template's autoescape.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from markbook.metrics.graph import balance, centrality, paths, tools
from markbook.metrics.graph.all_metrics import METRICS, PRIMARY
from markbook.metrics.graph.paths import GraphMetric
from markbook.report.item import describe_steps, order_steps
from markbook.text import terminal
from markbook.text.format import NOTHING, format_number, format_sum
from markbook.types import Measurement

if TYPE_CHECKING:
    from markbook.cli.trace.terminal import TraceSum
    from markbook.trace import Trace


# The numbers of a trace's page by what they are about.

_GROUPS: tuple[tuple[str, Sequence[GraphMetric]], ...] = (
    ("Whole run", PRIMARY),
    ("Tools", tools.METRICS),
    ("Path", paths.METRICS),
    ("Messages", balance.COMMUNICATION_METRICS),
    ("Agent graph", centrality.METRICS),
    ("Load balance", balance.METRICS),
)


def group_metrics(metrics: Mapping[str, Measurement]) -> list[dict[str, object]]:
    """Return the numbers by what they are about; those that cannot be had once for each reason."""
    about = {metric.name: metric for metric in METRICS}
    groups, grouped_names = [], set()
    for title, members in _GROUPS:
        names = [metric.name for metric in members if metric.name in metrics]
        grouped_names.update(names)
        groups.append(_group(title, {name: metrics[name] for name in names}, about))
    rest = {name: metric for name, metric in metrics.items() if name not in grouped_names}
    return [*groups, _group("Across runs", rest, about)] if rest else groups


def _group(title: str, metrics: Mapping[str, Measurement], about: Mapping[str, GraphMetric]) -> dict[str, object]:
    rows: list[dict[str, object]] = []
    missing: dict[str, list[str]] = {}
    for name, measurement in metrics.items():
        if measurement.missing is not None:
            missing.setdefault(terminal(measurement.missing.detail, limit=300), []).append(name)
            continue
        metric = about.get(name)
        rows.append({
            "name": name, "value": format_number(measurement.value), "n": measurement.stats.get("n", 1),
            "better": {"higher": "↑ higher", "lower": "↓ lower"}[metric.direction] if metric else "",
            "meaning": metric.meaning if metric else "",
        })  # fmt: skip
    return {"title": title, "rows": rows, "missing": [(why, ", ".join(names)) for why, names in missing.items()]}


_NODES = 60
_EDGES = 300
_RUNS = 200
_STEP_TEXT = 4_000_000
"""Characters of the steps of all runs of a page: the runs that come after them are listed without their steps."""
_STEP_MARKUP = 250
"""Characters that a step takes besides its texts."""
_SIZE = 420
_RING = 150


class RunPages:
    """The steps of each run in words, as many as a page can hold; the run that is asked for stands first.

    `label_at` is the address that `markbook label --reasons` printed; empty for a page without links to it.
    """

    def __init__(self, label_at: str = "") -> None:
        self.shown: list[dict[str, object]] = []
        self._label_at = label_at
        self._room = _STEP_TEXT

    def add(self, run: Trace, number: int, *, is_wanted: bool) -> None:
        """Describe a run, if there is room for it or it is the one that is asked for."""
        if not is_wanted and (len(self.shown) >= _RUNS or self._room <= 0):
            return
        steps = describe_steps(run)
        self._room -= sum(_STEP_MARKUP + sum(len(text) for _, text in step.texts) for step in steps)
        failed = sum(step.ok is False for step in run.steps)
        ended = {True: "It succeeded", False: "It failed", None: "The log does not say whether it succeeded"}[
            run.success
        ]
        calls = f"{failed} of {run.tool_calls:,} tool calls failed" if run.tool_calls else "no tool was called"
        about = {
            "number": number, "name": terminal(run.id, limit=80), "ended": ended, "calls": calls, "steps": steps,
            "left": len(order_steps(run)[1]) - len(steps), "label_at": find_link(self._label_at, run.id),
            "failures": [
                (f"run-{number}-step-{at}", f"{step.what} {step.at}".strip())
                for at, step in enumerate(steps, start=1) if step.is_failed
            ][:12],
        }  # fmt: skip
        self.shown.insert(0 if is_wanted else len(self.shown), about)


def render_page(total: TraceSum, pages: RunPages) -> str:
    """Return the page of a file and the steps of its runs."""
    from markbook.report.html import policy, read_part, render_template, style, trust

    looks = style() + read_part("trace.css")
    return render_template(
        "trace.html.j2", **view(total), shown=pages.shown, with_steps={run["number"] for run in pages.shown},
        style=trust(looks), policy=policy(looks, ""),
    )  # fmt: skip


def find_link(address: str, name: str) -> str:
    """Return the address where a trace is labelled; empty without a server on this machine."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    # The address goes into a page as a link: only our own server on this machine may stand there.
    if parts.scheme != "http" or parts.hostname not in ("127.0.0.1", "localhost"):
        return ""
    return urlunsplit(
        ("http", parts.netloc, "/find", urlencode([*parse_qsl(parts.query), ("id", name)], errors="replace"), "")
    )


class _Node(TypedDict):
    """An agent's circle in the picture of who called whom."""

    name: str
    label: str
    full: str
    calls: int
    x: float
    y: float


def view(total: TraceSum) -> dict[str, object]:
    """Return what the template lays out, every foreign word made plain."""
    nodes = _nodes(total)
    ends = {True: "succeeded", False: "failed", None: "without an outcome in the log"}
    outcomes = [f"{total.outcomes[success]:,} {words}" for success, words in ends.items() if total.outcomes[success]]
    columns = ("id", "task", "success", "agents", "tool_calls", "messages", "input_tokens", "output_tokens", "seconds")
    run_rows = [
        [_format_cell(run[column], partial.get(column)) for column in columns]
        for run, partial in zip(total.runs[:_RUNS], total.partial, strict=False)
        if total.count > 1
    ]
    return {
        "name": terminal(total.name),
        "headline": f"{total.count:,} runs: {', '.join(outcomes)}." if total.count > 1 else "",
        "runs": total.count,
        "profile": total.profile,
        "counts": _counts(total),
        "caveats": [f"{count} not understood: {terminal(why)}" for why, count in total.unrecognised.most_common(50)]
        + [terminal(note) for note in total.all_notes[:50]],
        "size": _SIZE,
        "nodes": nodes,
        "edges": _edges(total, {node["name"]: node for node in nodes}),
        "left_out": max(0, len(total.agents) - _NODES),
        "edge_rows": [
            (terminal(sender, limit=80), terminal(other, limit=80), count)
            for (sender, other), count in total.edges.most_common(_EDGES)
        ],
        "groups": group_metrics(total.metrics),
        "run_heads": ("Run", "Task", "Outcome", "Agents", "Tool calls", "Messages", "Tokens in", "Tokens out", "Duration, s"),
        "run_rows": run_rows,
        "runs_left": total.count - len(run_rows) if run_rows else 0,
        "edges_left": max(0, len(total.edges) - _EDGES),
    }  # fmt: skip


def _format_cell(cell: Any, counts: tuple[int, int] | None = None) -> str:
    if cell is None:
        return NOTHING
    if isinstance(cell, bool):
        return "succeeded" if cell else "failed"
    if counts is not None:
        return format_sum(cell, counts, "model calls")
    return format_number(cell, 1) if isinstance(cell, float) else terminal(str(cell), limit=80)


def _counts(total: TraceSum) -> list[tuple[str, str]]:
    assert total.first is not None
    return [
        ("Format", total.first.format),
        ("Runs", f"{total.count:,}"),
        ("Agents", f"{len(total.agents):,}"),
        ("Tool calls", f"{total.tool_calls:,}"),
        ("Messages", f"{total.messages:,}"),
        ("Tokens in", total.say_total("input_tokens")),
        ("Tokens out", total.say_total("output_tokens")),
        ("Cost", "unknown" if total.cost is None else f"${total.cost:.4f}"),
        ("Duration, s", total.say_total("seconds", ",.1f")),
    ]


def _nodes(total: TraceSum) -> list[_Node]:
    names = list(total.agents)[:_NODES]
    nodes: list[_Node] = []
    for at, name in enumerate(names):
        # A quarter turn back, so that the first agent stands at the top.
        turn = 2 * math.pi * at / max(1, len(names)) - math.pi / 2
        # An agent alone stands in the middle.
        ring = _RING if len(names) > 1 else 0
        calls = sum(count for (agent, _), count in total.tools.items() if agent == name)
        nodes.append({
            "name": name, "label": terminal(name, limit=24), "full": terminal(name, limit=200), "calls": calls,
            "x": round(_SIZE / 2 + ring * math.cos(turn), 1), "y": round(_SIZE / 2 + ring * math.sin(turn), 1),
        })  # fmt: skip
    return nodes


def _edges(total: TraceSum, positions: dict[str, _Node]) -> list[dict[str, object]]:
    most = max(total.edges.values(), default=1)
    edges: list[dict[str, object]] = []
    for (sender, other), count in total.edges.most_common(_EDGES):
        if sender not in positions or other not in positions:
            continue
        start, end = positions[sender], positions[other]
        dx, dy = end["x"] - start["x"], end["y"] - start["y"]
        # An agent that addresses itself has no way to go, and nothing may be divided by 0.
        far = math.hypot(dx, dy) or 1.0
        # Bend to the right of the way, so that an edge and its reverse do not lie on each other; stop at the circle.
        bend = 0.12 * far
        edges.append({
            "x1": start["x"], "y1": start["y"], "count": count, "width": round(1 + 5 * count / most, 2),
            "x2": round(end["x"] - 26 * dx / far, 1), "y2": round(end["y"] - 26 * dy / far, 1),
            "cx": round((start["x"] + end["x"]) / 2 - bend * dy / far, 1),
            "cy": round((start["y"] + end["y"]) / 2 + bend * dx / far, 1),
            "title": f"{terminal(sender, limit=80)} to {terminal(other, limit=80)}: {count}",
        })  # fmt: skip
    return edges
