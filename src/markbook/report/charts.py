"""Vega-Lite specifications as plain dictionaries: data inside, no expression made of foreign words.

Colours are told apart in light and dark, and by people who see few of them; text takes the page's own colour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markbook.text import terminal

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
PALETTE = ("#2a78b8", "#c46a00", "#00855f", "#b4568e", "#7a6ad8", "#c0392b", "#777777", "#8a6d1d")
GREY = "#858585"
WIDTH = 560
_ROW = 22
LABEL = 44
"""Characters of a name in a chart. The renderer's own limit is off: it would cut an emoji in two and fail."""

Rows = Sequence[Mapping[str, Any]]


def _labels(rows: Rows) -> dict[str, str]:
    """Return what to draw for each foreign word: short, one line, and without the NUL that would abort the renderer."""
    labels: dict[str, str] = {}
    taken: set[str] = set()
    for word in dict.fromkeys(value for row in rows for value in row.values() if isinstance(value, str)):
        label, number = terminal(word, limit=LABEL), 2
        while label in taken:
            label, number = f"{terminal(word, limit=LABEL - 5)} #{number}", number + 1
        taken.add(label)
        labels[word] = label
    return labels


def _relabelled(part: Any, labels: Mapping[str, str]) -> Any:
    """Return a part of a specification with the foreign words in its data and orders replaced by their labels."""
    if isinstance(part, Mapping):
        return {
            key: [labels.get(one, one) if isinstance(one, str) else one for one in value]
            if key in ("sort", "domain") and isinstance(value, list)
            else _relabelled(value, labels)
            for key, value in part.items()
        }
    return [_relabelled(one, labels) for one in part] if isinstance(part, list) else part


def _spec(rows: Rows, **body: Any) -> dict[str, Any]:
    labels = _labels(rows)
    rows = [{key: labels.get(one, one) if isinstance(one, str) else one for key, one in row.items()} for row in rows]
    body = _relabelled(body, labels)
    words = [str(row[name]) for row in rows for name in ("name", "line", "group") if name in row]
    longest = round(1.4 * min(34, max(map(len, words), default=8)))
    text = {f"{part}Color": "currentColor" for part in ("label", "title", "domain", "tick", "grid")}
    return {
        "$schema": SCHEMA,
        "data": {"values": [dict(row) for row in rows]},
        "background": None,
        # The page's font may be wider than the one the labels were measured with.
        "padding": {"left": 8 + longest, "right": 24, "top": 5, "bottom": 5},
        **body,
        "config": {
            "aria": False,
            "font": "Arial, Helvetica, sans-serif",
            "axis": {**text, "gridOpacity": 0.15, "labelFontSize": 12, "titleFontSize": 12, "labelLimit": 0},
            "legend": {
                "labelColor": "currentColor", "titleColor": "currentColor", "labelFontSize": 12, "titleFontSize": 12,
                "labelLimit": 0, "orient": "top", "columns": 3, "columnPadding": 36,
            },
            "header": {"labelColor": "currentColor", "titleColor": "currentColor"},
            "view": {"stroke": None},
            "range": {"category": list(PALETTE)},
        },
    }  # fmt: skip


def _name(field: str, order: Sequence[str], **more: Any) -> dict[str, Any]:
    return {"field": field, "type": "nominal", "sort": list(order), "title": None, **more}


def _number(field: str, title: str | None, domain: Sequence[float] | None = None, **more: Any) -> dict[str, Any]:
    encoding: dict[str, Any] = {"field": field, "type": "quantitative", "title": title, **more}
    if domain is not None:
        encoding["scale"] = {"domain": list(domain), "nice": False}
    return encoding


def intervals(
    rows: Rows, order: Sequence[str], title: str, domain: Sequence[float] | None = (0, 100)
) -> dict[str, Any]:
    """Return points with their intervals, one row a name; rows have name, value, low, high."""
    y = _name("name", order)
    return _spec(
        rows,
        width=WIDTH,
        height={"step": _ROW},
        layer=[
            {
                "mark": {"type": "rule", "color": PALETTE[0], "strokeWidth": 3, "opacity": 0.55},
                "encoding": {"y": y, "x": _number("low", title, domain), "x2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 80, "color": PALETTE[0], "opacity": 1},
                "encoding": {"y": y, "x": _number("value", title, domain)},
            },
        ],
    )


def heat_map(rows: Rows, columns: Sequence[str], lines: Sequence[str], title: str) -> dict[str, Any]:
    """Return a map of 0..100 values; rows have column, line, value and shown."""
    x = _name("column", columns, axis={"orient": "top", "labelAngle": -30 if len(columns) > 3 else 0})
    y = _name("line", lines)
    return _spec(
        rows,
        width={"step": max(44, min(120, WIDTH // max(1, len(columns))))},
        height={"step": _ROW},
        layer=[
            {
                "mark": {"type": "rect"},
                "encoding": {
                    "x": x,
                    "y": y,
                    "color": {
                        "field": "value",
                        "type": "quantitative",
                        "title": title,
                        "scale": {"domain": [0, 100], "scheme": "viridis"},
                    },
                },
            },
            {
                "mark": {"type": "text", "fontSize": 12},
                "encoding": {
                    "x": x,
                    "y": y,
                    "text": {"field": "shown", "type": "nominal"},
                    "color": {
                        "condition": [
                            {"test": "datum.value === null", "value": "currentColor"},
                            {"test": "datum.value > 55", "value": "#000000"},
                        ],
                        "value": "#ffffff",
                    },
                },
            },
        ],
    )


def curves(
    rows: Rows, series: Sequence[str], *, x_title: str, y_title: str, band: bool, x_order: Sequence[str]
) -> dict[str, Any]:
    """Return one line a series over ordered steps; rows have series, x, value, low, high.

    `band` draws the intervals as bands, otherwise as bars.
    """
    x = {"field": "x", "type": "ordinal", "sort": list(x_order), "title": x_title, "axis": {"labelAngle": 0}}
    colour = {"field": "series", "type": "nominal", "sort": list(series), "title": None}
    spread = {"type": "area", "opacity": 0.18} if band else {"type": "rule", "opacity": 0.5, "strokeWidth": 2}
    offset = {} if band else {"xOffset": {"field": "series", "type": "nominal", "sort": list(series)}}
    value = _number("value", y_title, (0, 100))
    point = {"type": "point", "filled": True, "size": 60, "opacity": 1}
    return _spec(
        rows,
        width=WIDTH,
        height=260,
        layer=[
            {
                "mark": spread,
                "encoding": {
                    "x": x,
                    "y": _number("low", y_title, (0, 100)),
                    "y2": {"field": "high"},
                    "color": colour,
                    **offset,
                },
            },
            {
                "mark": {"type": "line", "strokeWidth": 2, "opacity": 1 if band else 0.35},
                "encoding": {"x": x, "y": value, "color": colour, **offset},
            },
            {"mark": point, "encoding": {"x": x, "y": value, "color": colour, **offset}},
        ],
    )


def forest(rows: Rows, order: Sequence[str], title: str) -> dict[str, Any]:
    """Return differences with intervals around a line at 0; rows have name, value, low, high, verdict."""
    colour = {
        "field": "verdict",
        "type": "nominal",
        "title": None,
        "scale": {"domain": ["distinguishable", "not distinguishable"], "range": [PALETTE[1], GREY]},
    }
    y = _name("name", order, axis={"labelLimit": 0})
    return _spec(
        rows,
        width=WIDTH - 100,
        height={"step": _ROW},
        layer=[
            {"mark": {"type": "rule", "color": "currentColor", "opacity": 0.6}, "encoding": {"x": {"datum": 0}}},
            {
                "mark": {"type": "rule", "strokeWidth": 3, "opacity": 0.6},
                "encoding": {"y": y, "x": _number("low", title), "x2": {"field": "high"}, "color": colour},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 80, "opacity": 1},
                "encoding": {"y": y, "x": _number("value", title), "color": colour},
            },
        ],
    )


def stacked(rows: Rows, order: Sequence[str], kinds: Sequence[str], title: str) -> dict[str, Any]:
    """Return stacked bars; rows have name, kind, value, place (of the kind)."""
    return _spec(
        rows,
        width=WIDTH,
        height={"step": _ROW},
        mark={"type": "bar"},
        encoding={
            "y": _name("name", order),
            "x": _number("value", title, stack="zero"),
            "color": {"field": "kind", "type": "nominal", "sort": list(kinds), "title": None},
            "order": {"field": "place", "type": "quantitative"},
        },
    )


def bars(
    rows: Rows, groups: Sequence[str], series: Sequence[str], title: str, domain: Sequence[float]
) -> dict[str, Any]:
    """Return horizontal bars by group, one colour a series; rows have group, series, value."""
    order = {"field": "series", "type": "nominal", "sort": list(series), "title": None}
    step = 20 if len(series) == 1 else 13 * len(series) + 8
    return _spec(
        rows,
        width=WIDTH,
        height={"step": step},
        mark={"type": "bar"},
        encoding={
            "y": _name("group", groups),
            "yOffset": order,
            "x": _number("value", title, domain),
            "color": order,
        },
    )


def scatter(rows: Rows, order: Sequence[str], *, x_title: str, y_title: str) -> dict[str, Any]:
    """Return one point a name with its vertical interval; rows have name, x, value, low, high."""
    colour = {"field": "name", "type": "nominal", "sort": list(order), "title": None}
    x = _number("x", x_title)
    return _spec(
        rows,
        width=WIDTH,
        height=280,
        layer=[
            {
                "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.5},
                "encoding": {"x": x, "y": _number("low", y_title, (0, 100)), "y2": {"field": "high"}, "color": colour},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
                "encoding": {"x": x, "y": _number("value", y_title, (0, 100)), "color": colour},
            },
        ],
    )


def graph(nodes: Rows, edges: Rows, *, width: int = WIDTH, height: int = 320) -> dict[str, Any]:
    """Return a drawn graph; nodes have name, x, y, size; edges x, y, x2, y2, weight (positions 0..1)."""
    labels = _labels(nodes)
    nodes = [{**node, "name": labels[str(node["name"])]} for node in nodes]
    plain = {"axis": None, "scale": {"domain": [-0.08, 1.08], "nice": False}}
    x = {"field": "x", "type": "quantitative", **plain}
    y = {"field": "y", "type": "quantitative", **plain}
    return _spec(
        [],
        width=width,
        height=height,
        layer=[
            {
                "data": {"values": [dict(edge) for edge in edges]},
                "mark": {"type": "rule", "color": GREY, "opacity": 0.7},
                "encoding": {
                    "x": x, "y": y, "x2": {"field": "x2"}, "y2": {"field": "y2"},
                    "strokeWidth": {"field": "weight", "type": "quantitative", "scale": {"range": [1, 6]}, "legend": None},
                },
            },
            {
                "data": {"values": [dict(node) for node in nodes]},
                "mark": {"type": "point", "filled": True, "color": PALETTE[0], "opacity": 1},
                "encoding": {
                    "x": x, "y": y,
                    "size": {"field": "size", "type": "quantitative", "scale": {"range": [120, 900]}, "legend": None},
                },
            },
            {
                "data": {"values": [dict(node) for node in nodes]},
                "mark": {"type": "text", "dy": -18, "fontSize": 12, "color": "currentColor"},
                "encoding": {"x": x, "y": y, "text": {"field": "name", "type": "nominal"}},
            },
        ],
    )  # fmt: skip
