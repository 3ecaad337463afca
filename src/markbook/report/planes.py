"""Charts of two directions: curves over steps, points with a place of their own, and graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markbook.report.drawing import (
    GREY,
    PALETTE,
    AxisScale,
    Picture,
    Rows,
    both,
    bottom_axis,
    colours_of,
    document,
    labels_of,
    left_axis,
    legend,
    mark,
    plain,
    range_of,
    width_of,
    words,
)

_HEIGHT = 260.0
_LEFT, _RIGHT, _TOP = 34.0, 14.0, 30.0
_BELOW = 42.0


def curves(
    rows: Rows, series: Sequence[str], *, x_title: str, y_title: str, band: bool, x_order: Sequence[str]
) -> Picture:
    """Return one line a series over ordered steps; rows have series, x, value, low, high.

    `band` draws the intervals as bands, otherwise as bars.
    """
    labels, colours = labels_of(series, x_order), colours_of(series)
    lines = {name: [row for row in rows if row["series"] == name and row["value"] is not None] for name in series}

    def draw(width: float) -> str:
        key = legend([(labels[name], colours[name]) for name in series], width)
        up = AxisScale(0.0, 100.0, key.height + _TOP + _HEIGHT, key.height + _TOP)
        column = (width - _LEFT - _RIGHT) / max(1, len(x_order))
        gap = 0.0 if band else min(10.0, 0.7 * column / max(1, len(series)))
        parts = [
            key.svg,
            left_axis(up, _LEFT, width - _RIGHT, y_title),
            _steps([labels[x] for x in x_order], column, up.start),
        ]
        parts.append(words((_LEFT + width - _RIGHT) / 2, up.start + 30, x_title, "middle"))
        for number, name in enumerate(series):
            aside = gap * (number - (len(series) - 1) / 2)
            spots = [(_LEFT + column * (x_order.index(row["x"]) + 0.5) + aside, row) for row in lines[name]]
            parts.append(_curve(spots, up, colours[name], band=band))
        return document(width, up.start + _BELOW, parts, grown=key.width)

    return both(draw)


def _steps(labels: Sequence[str], column: float, bottom: float) -> str:
    """Return the names of the steps, as many as there is room for."""
    widest = max(map(width_of, labels), default=1.0) + 6
    every = max(1, -int(-widest // column))
    return "".join(
        words(_LEFT + column * (at + 0.5), bottom + 12, label, "middle")
        for at, label in enumerate(labels)
        if at % every == 0
    )


def _curve(spots: Sequence[tuple[float, Any]], up: AxisScale, colour: str, *, band: bool) -> str:
    line = " ".join(f"{plain(x)},{plain(up(row['value']))}" for x, row in spots)
    parts = []
    if band and len(spots) > 1:
        over = [f"{plain(x)},{plain(up(row['high']))}" for x, row in spots]
        under = [f"{plain(x)},{plain(up(row['low']))}" for x, row in reversed(spots)]
        parts.append(mark("polygon", points=" ".join(over + under), fill=colour, fill_opacity="0.18"))
    else:
        parts += [_upright(x, row, up, colour) for x, row in spots]
    parts.append(
        mark(
            "polyline", points=line, fill="none", stroke=colour, stroke_width=2, stroke_opacity="1" if band else "0.35"
        )
    )
    parts += [mark("circle", cx=x, cy=up(row["value"]), r=4, fill=colour) for x, row in spots]
    return "".join(parts)


def _upright(x: float, row: Any, up: AxisScale, colour: str) -> str:
    """Return an interval as a bar."""
    ends = {"y1": up(row["low"]), "y2": up(row["high"])}
    return mark("line", x1=x, x2=x, **ends, stroke=colour, stroke_width=2, stroke_opacity="0.5")


def scatter(rows: Rows, order: Sequence[str], *, x_title: str, y_title: str) -> Picture:
    """Return one point a name with its vertical interval; rows have name, x, value, low, high."""
    labels, colours = labels_of(order), colours_of(order)
    low, high = range_of(float(row["x"]) for row in rows)

    def draw(width: float) -> str:
        key = legend([(labels[name], colours[name]) for name in order], width)
        up = AxisScale(0.0, 100.0, key.height + _TOP + _HEIGHT, key.height + _TOP)
        along = AxisScale(low, high, _LEFT, width - _RIGHT)
        parts = [key.svg, left_axis(up, _LEFT, width - _RIGHT, y_title), bottom_axis(along, up.end, up.start, x_title)]
        for row in rows:
            x, colour = along(float(row["x"])), colours[row["name"]]
            parts.append(_upright(x, row, up, colour))
            parts.append(mark("circle", cx=x, cy=up(row["value"]), r=5, fill=colour))
        return document(width, up.start + _BELOW, parts, grown=key.width)

    return both(draw)


def graph(nodes: Rows, edges: Rows) -> Picture:
    """Return a drawn graph; nodes have name, x, y, size; edges x, y, x2, y2, weight (positions 0..1)."""
    labels = labels_of(node["name"] for node in nodes)
    heaviest = max((float(edge["weight"]) for edge in edges), default=1.0)
    largest = max((float(node["size"]) for node in nodes), default=1.0)

    def draw(width: float) -> str:
        across, up = AxisScale(0.0, 1.0, width / 2 - 160, width / 2 + 160), AxisScale(0.0, 1.0, 335.0, 15.0)
        grown = max(map(width_of, labels.values()), default=0.0)
        parts = []
        for edge in edges:
            ends = {"x1": across(edge["x"]), "y1": up(edge["y"]), "x2": across(edge["x2"]), "y2": up(edge["y2"])}
            thick = 1 + 5 * edge["weight"] / heaviest
            parts.append(mark("line", **ends, stroke=GREY, stroke_width=thick, stroke_opacity="0.7"))
        for node in nodes:
            x, y, r = across(node["x"]), up(node["y"]), 6 + 11 * (node["size"] / largest) ** 0.5
            parts.append(mark("circle", cx=x, cy=y, r=r, fill=PALETTE[0]))
            label = labels[str(node["name"])]
            room = width_of(label) / 2
            parts.append(words(max(room, min(x, width - room)), y - r - 8, label, "middle"))
        return document(width, 345.0, parts, grown=grown)

    return both(draw)
