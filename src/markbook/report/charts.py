"""Charts of rows: a name a row, with marks along a line of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from markbook.report.drawing import (
    GREY,
    PALETTE,
    WIDE,
    AxisScale,
    Picture,
    Rows,
    both,
    bottom_axis,
    colours_of,
    document,
    labels_of,
    legend,
    mark,
    range_of,
    width_of,
    words,
)

_STEP = 22.0
"""Between two rows, in pixels."""
_NAME = 19.0
"""What a name takes above its row on a narrow screen."""
_AXIS = 42.0
_VERDICTS = {"distinguishable": PALETTE[1], "not distinguishable": GREY}
_VIRIDIS = (
    "440154",
    "482475",
    "414487",
    "355f8d",
    "2a788e",
    "21918c",
    "22a884",
    "44bf70",
    "7ad151",
    "bddf26",
    "fde725",
)


@dataclass(frozen=True, slots=True)
class _Lines:
    """Where each row lies: its name before it on a wide screen, above it on a narrow one."""

    labels: Sequence[str]
    width: float
    step: float
    top: float

    @property
    def is_wide(self) -> bool:
        return self.width == WIDE

    @property
    def left(self) -> float:
        return max(map(width_of, self.labels), default=0.0) + 12 if self.is_wide else 8.0

    @property
    def right(self) -> float:
        """Return where the marks end: they keep some room, however long the names are."""
        return max(self.width, self.left + 200) - 14

    @property
    def need(self) -> float:
        """Return how wide the whole is with its names."""
        return self.right + 14 if self.is_wide else max(map(width_of, self.labels), default=0.0)

    @property
    def pitch(self) -> float:
        return self.step if self.is_wide else self.step + _NAME

    @property
    def bottom(self) -> float:
        return self.top + self.pitch * len(self.labels)

    def middle(self, row: int) -> float:
        """Return the height of a row's marks."""
        return self.top + self.pitch * (row + 1) - self.step / 2

    def names(self) -> str:
        if self.is_wide:
            return "".join(words(self.left - 6, self.middle(at), name, "end") for at, name in enumerate(self.labels))
        return "".join(words(0, self.top + self.pitch * at + 11, name) for at, name in enumerate(self.labels))


def _spans(
    rows: Rows, order: Sequence[str], title: str, domain: Sequence[float] | None, colour: Callable[[Any], str],
    entries: Sequence[tuple[str, str]] = (),
) -> Picture:  # fmt: skip
    """Return a point with its interval in each row."""
    labels = labels_of(order)
    low, high = domain or range_of(row[end] for row in rows for end in ("low", "high") if row[end] is not None)

    def draw(width: float) -> str:
        key = legend(entries, width)
        lines = _Lines([labels[name] for name in order], width, _STEP, key.height + 6)
        scale = AxisScale(low, high, lines.left, lines.right)
        parts = [key.svg, bottom_axis(scale, lines.top, lines.bottom, title), lines.names()]
        if low <= 0 < high:
            x = scale(0)
            parts.append(mark("line", x1=x, x2=x, y1=lines.top, y2=lines.bottom, stroke="currentColor"))
        for row in rows:
            if row["value"] is None:
                continue
            y, paint = lines.middle(order.index(row["name"])), colour(row)
            ends = {"x1": scale(row["low"]), "x2": scale(row["high"]), "y1": y, "y2": y}
            parts.append(mark("line", **ends, stroke=paint, stroke_width=3, stroke_opacity="0.55"))
            parts.append(mark("circle", cx=scale(row["value"]), cy=y, r=5, fill=paint))
        return document(width, lines.bottom + _AXIS, parts, grown=max(key.width, lines.need))

    return both(draw)


def intervals(rows: Rows, order: Sequence[str], title: str, domain: Sequence[float] | None = (0, 100)) -> Picture:
    """Return points with their intervals, one row a name; rows have name, value, low, high."""
    return _spans(rows, order, title, domain, lambda _row: PALETTE[0])


def forest(rows: Rows, order: Sequence[str], title: str) -> Picture:
    """Return differences with intervals around a line at 0; rows have name, value, low, high, verdict."""
    verdicts = {row["verdict"] for row in rows}
    entries = [(verdict, colour) for verdict, colour in _VERDICTS.items() if verdict in verdicts]
    return _spans(rows, order, title, None, lambda row: _VERDICTS[row["verdict"]], entries)


def stack_bars(rows: Rows, order: Sequence[str], kinds: Sequence[str], title: str) -> Picture:
    """Return stacked bars; rows have name, kind, value, place (of the kind)."""
    labels, colours = labels_of(order, kinds), colours_of(kinds)
    ordered = sorted(rows, key=lambda row: row["place"])
    totals = [sum(row["value"] for row in rows if row["name"] == name) for name in order]
    low, high = range_of(totals)

    def draw(width: float) -> str:
        key = legend([(labels[kind], colours[kind]) for kind in kinds], width)
        lines = _Lines([labels[name] for name in order], width, _STEP, key.height + 6)
        scale = AxisScale(low, high, lines.left, lines.right)
        parts = [key.svg, bottom_axis(scale, lines.top, lines.bottom, title), lines.names()]
        for at, name in enumerate(order):
            reached = 0.0
            for row in ordered:
                if row["name"] == name and row["value"]:
                    bar = {"x": scale(reached), "width": scale(row["value"]) - scale(0.0), "height": _STEP - 6}
                    parts.append(mark("rect", **bar, y=lines.middle(at) - _STEP / 2 + 3, fill=colours[row["kind"]]))
                    reached += row["value"]
        return document(width, lines.bottom + _AXIS, parts, grown=max(key.width, lines.need))

    return both(draw)


def bars(rows: Rows, groups: Sequence[str], series: Sequence[str], title: str, domain: Sequence[float]) -> Picture:
    """Return horizontal bars by group, one colour a series; rows have group, series, value, and low and high where known."""
    labels, colours = labels_of(groups, series), colours_of(series)
    step = 20.0 if len(series) == 1 else 13.0 * len(series) + 8
    thick = 14.0 if len(series) == 1 else 12.0

    def draw(width: float) -> str:
        key = legend([(labels[name], colours[name]) for name in series], width)
        lines = _Lines([labels[group] for group in groups], width, step, key.height + 6)
        scale = AxisScale(domain[0], domain[1], lines.left, lines.right)
        parts = [key.svg, bottom_axis(scale, lines.top, lines.bottom, title), lines.names()]
        for row in rows:
            start, end = sorted((scale(min(max(0.0, domain[0]), domain[1])), scale(row["value"])))
            offset = (series.index(row["series"]) - (len(series) - 1) / 2) * (thick + 1)
            y = lines.middle(groups.index(row["group"])) + offset - thick / 2
            parts.append(mark("rect", x=start, y=y, width=end - start, height=thick, fill=colours[row["series"]]))
            if row.get("low") is not None:
                ends = {"x1": scale(row["low"]), "x2": scale(row["high"]), "y1": y + thick / 2, "y2": y + thick / 2}
                parts.append(mark("line", **ends, stroke="currentColor", stroke_width=1.5))
        return document(width, lines.bottom + _AXIS, parts, grown=max(key.width, lines.need))

    return both(draw)


def heat_map(rows: Rows, columns: Sequence[str], lines: Sequence[str], title: str) -> Picture:
    """Return a map of 0..100 values; rows have column, line, value and shown."""
    labels = labels_of(columns, lines)
    names = [labels[column] for column in columns]

    def draw(width: float) -> str:
        margin = max(map(width_of, (labels[line] for line in lines)), default=0.0) + 12 if width == WIDE else 0.0
        longest = max(map(width_of, names), default=0.0)
        cell = max(44.0, min(max(120.0, longest + 8), (width - margin) / max(1, len(columns))))
        is_level = longest <= cell - 4
        # Names that are wider than their columns get numbers, and a list of these above: slanted ones are hard to read.
        heads = names if is_level else [str(at + 1) for at in range(len(names))]
        entries = [] if is_level else [(f"{at + 1}  {name}", "") for at, name in enumerate(names)]
        key = legend(entries, width)
        grid = _Lines([labels[line] for line in lines], width, _STEP, key.height + 46)
        parts = [words(margin, 10 + key.height, f"{title}, 0 to 100"), key.svg, grid.names()]
        parts += [words(margin + cell * (at + 0.5), key.height + 34, head, "middle") for at, head in enumerate(heads)]
        for row in rows:
            x, y = margin + cell * columns.index(row["column"]), grid.middle(lines.index(row["line"]))
            value, ink = row["value"], {}
            if value is not None:
                parts.append(mark("rect", x=x, y=y - _STEP / 2, width=cell, height=_STEP, fill=_viridis(value)))
                ink = {"fill": "#000000" if value > 55 else "#ffffff"}
            parts.append(words(x + cell / 2, y, str(row["shown"]), "middle", **ink))
        return document(width, grid.bottom + 6, parts, grown=max(key.width, grid.need, margin + cell * len(columns)))

    return both(draw)


def _viridis(value: float) -> str:
    """Return the colour of a value from 0 to 100."""
    position = min(max(value, 0.0), 100.0) / 100 * (len(_VIRIDIS) - 1)
    at = min(int(position), len(_VIRIDIS) - 2)
    pairs = ((int(_VIRIDIS[at][i : i + 2], 16), int(_VIRIDIS[at + 1][i : i + 2], 16)) for i in (0, 2, 4))
    return "#" + "".join(f"{round(first_part + (two - first_part) * (position - at)):02x}" for first_part, two in pairs)
