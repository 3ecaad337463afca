"""A trace as one HTML page: agents as nodes, messages as weighted edges, the timeline underneath. No script, no network.

Every word of the trace goes through `visible` and the template's autoescape.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markbook.errors import OutputError
from markbook.text import terminal
from markbook.trace import StepKind

if TYPE_CHECKING:
    from markbook.cli.trace_views.totals import TraceSum

_NODES = 60
_EDGES = 300
_BARS = 400
_SIZE = 520
_RING = 190
_WIDTH = 900
_ROW = 18


def write_page(total: TraceSum, path: Path) -> None:
    """Write the page.

    Raises:
        OutputError: the file cannot be written.
    """
    from jinja2 import Environment, PackageLoader

    house = Environment(
        loader=PackageLoader("markbook.cli.trace_views", "."), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    text = house.get_template("page.html.j2").render(view(total))
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise OutputError(f"the page cannot be written: {error.strerror}", at=str(path)) from error


def view(total: TraceSum) -> dict[str, Any]:
    """Return what the template lays out, every foreign word made plain."""
    assert total.first is not None
    nodes = _nodes(total)
    return {
        "name": terminal(total.name),
        "format": total.first.format,
        "runs": total.count,
        "profile": total.profile,
        "counts": [
            ("agents", len(total.agents)),
            ("tool calls", total.tool_calls),
            ("messages", total.messages),
            ("tokens in", "unknown" if total.input_tokens is None else total.input_tokens),
            ("tokens out", "unknown" if total.output_tokens is None else total.output_tokens),
        ],
        "caveats": [f"{count} not understood: {terminal(why)}" for why, count in total.unrecognised.most_common(50)]
        + [terminal(note) for note in list(total.notes)[:50]],
        "size": _SIZE,
        "nodes": nodes,
        "edges": _edges(total, {node["name"]: node for node in nodes}),
        "left_out": max(0, len(total.agents) - _NODES),
        "edge_rows": [
            (terminal(one, limit=80), terminal(other, limit=80), count)
            for (one, other), count in total.edges.most_common(_EDGES)
        ],
        "metrics": [
            (name, "" if found.value is None else f"{found.value:.4g}", found.stats.get("n", int(found.value is not None)),
             "" if found.missing is None else f"{found.missing.kind}: {terminal(found.missing.detail)}")
            for name, found in total.metrics.items()
        ],
        **_timeline(total),
    }  # fmt: skip


def _nodes(total: TraceSum) -> list[dict[str, Any]]:
    names = list(total.agents)[:_NODES]
    made = []
    for at, name in enumerate(names):
        turn = 2 * math.pi * at / max(1, len(names)) - math.pi / 2
        ring = _RING if len(names) > 1 else 0
        calls = sum(count for (agent, _), count in total.tools.items() if agent == name)
        made.append({
            "name": name, "label": terminal(name, limit=24), "full": terminal(name, limit=200), "calls": calls,
            "x": round(_SIZE / 2 + ring * math.cos(turn), 1), "y": round(_SIZE / 2 + ring * math.sin(turn), 1),
        })  # fmt: skip
    return made


def _edges(total: TraceSum, place: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    most = max(total.edges.values(), default=1)
    made = []
    for (one, other), count in total.edges.most_common(_EDGES):
        if one not in place or other not in place:
            continue
        start, end = place[one], place[other]
        dx, dy = end["x"] - start["x"], end["y"] - start["y"]
        far = math.hypot(dx, dy) or 1.0
        # Bend to the right of the way, so that an edge and its reverse do not lie on each other; stop at the circle.
        bend = 0.12 * far
        made.append({
            "x1": start["x"], "y1": start["y"], "count": count, "width": round(1 + 5 * count / most, 2),
            "x2": round(end["x"] - 26 * dx / far, 1), "y2": round(end["y"] - 26 * dy / far, 1),
            "cx": round((start["x"] + end["x"]) / 2 - bend * dy / far, 1),
            "cy": round((start["y"] + end["y"]) / 2 + bend * dx / far, 1),
            "title": f"{terminal(one, limit=80)} to {terminal(other, limit=80)}: {count}",
        })  # fmt: skip
    return made


def _timeline(total: TraceSum) -> dict[str, Any]:
    assert total.first is not None
    timed = [step for step in total.first.steps if step.start is not None and step.seconds is not None][:_BARS]
    if not timed:
        return {"bars": [], "bars_height": 0, "bars_width": _WIDTH, "bars_left": len(total.first.steps)}
    begin = min(step.start for step in timed if step.start is not None)
    span = max(step.end for step in timed if step.end is not None) - begin or 1.0
    bars = []
    for row, step in enumerate(timed):
        assert step.start is not None
        width = max(1.0, (step.seconds or 0.0) / span * _WIDTH)
        bars.append({
            "x": round((step.start - begin) / span * _WIDTH, 1), "y": row * _ROW, "width": round(width, 1),
            "kind": "failed" if step.ok is False else step.kind.value,
            "label": terminal(f"{step.agent}: {step.name}" + (f" to {step.target}" if step.target else ""), limit=90),
            "title": terminal(f"{step.kind.value} {step.name} {step.seconds:.3f} s {step.error}", limit=300),
        })  # fmt: skip
    left = len([step for step in total.first.steps if step.kind is not StepKind.MESSAGE]) - len(timed)
    return {"bars": bars, "bars_height": len(bars) * _ROW, "bars_width": _WIDTH, "bars_left": max(0, left)}
