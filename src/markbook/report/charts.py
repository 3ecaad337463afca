"""Charts as SVG: scatter, bars with intervals, curves, graphs."""

from __future__ import annotations

import itertools
import math
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from markbook.text import keep_order, terminal
from markbook.text.format import Scale
from markbook.types import Summary

# The few things that charts are drawn with, as SVG: words, marks, axes with round numbers, legends.
#
# Every chart is drawn twice, for wide and for narrow screens, so that its words have the size of the page's everywhere.
# Colours are told apart in light and dark, and by people who see few of them; words take the page's own colour.

PALETTE = ("#2a78b8", "#c46a00", "#00855f", "#b4568e", "#7a6ad8", "#c0392b", "#777777", "#8a6d1d")
GREY = "#858585"
WIDE, NARROW = 960.0, 350.0
SIZE = 12
"""Of the letters, in pixels."""
LABEL = 60
"""Characters of a name in a chart."""

Rows = Sequence[Mapping[str, Any]]

_ADVANCES = (
    "278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 278 278 "
    "584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 722 667 611 722 667 944 "
    "667 667 611 278 278 278 469 556 333 556 556 500 556 556 278 556 556 222 222 500 222 833 556 556 556 556 333 500 "
    "278 556 500 722 500 500 500 334 260 334 584"
)
_WIDTHS = tuple(map(int, _ADVANCES.split()))
"""How wide Helvetica's letters are from the space on, in thousandths of their size; Arial has the same."""
_SLACK = 1.15
"""The reader's font may be wider."""
_NOT_XML = {0xFFFE: "\ufffd", 0xFFFF: "\ufffd"}


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart, drawn for two widths of screen."""

    wide: str
    narrow: str


def both(draw: Callable[[float], str]) -> Picture:
    """Return what a chart looks like in either width."""
    return Picture(draw(WIDE), draw(NARROW))


def document(width: float, height: float, parts: Iterable[str], *, grown: float = 0.0) -> str:
    """Return a whole drawing; `grown` is how wide it became where it could not keep to its width: the reader then scrolls."""
    kind = "wide" if width == WIDE else "narrow"
    full = max(width, grown)
    kind += " long" if full > width else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{kind}" width="{plain(full)}" height="{plain(height)}" '
        f'viewBox="0 0 {plain(full)} {plain(height)}" font-family="Arial, Helvetica, sans-serif" font-size="{SIZE}" '
        f'fill="currentColor" aria-hidden="true" focusable="false">{"".join(parts)}</svg>'
    )


def plain(value: float) -> str:
    """Return a length with a tenth of a pixel, which is all that can be seen."""
    return f"{value:.1f}".removesuffix(".0")


def mark(kind: str, **attributes: float | str) -> str:
    """Return a mark: `mark("line", x1=0, stroke_width=2)`."""
    attributes_text = (
        f'{name.replace("_", "-")}="{value if isinstance(value, str) else plain(value)}"'
        for name, value in attributes.items()
    )
    return f"<{kind} {' '.join(attributes_text)}/>"


def words(x: float, y: float, text: str, anchor: str = "start", **attributes: float | str) -> str:
    """Return words whose middle stands at this height."""
    more = "".join(
        f' {name}="{value if isinstance(value, str) else plain(value)}"' for name, value in attributes.items()
    )
    position = f'x="{plain(x)}" y="{plain(y + 0.35 * SIZE)}"' + (
        f' text-anchor="{anchor}"' if anchor != "start" else ""
    )
    # Names are foreign text: `terminal` takes out control characters and `escape` the markup.
    return f"<text {position}{more}>{escape(keep_order(terminal(text)))}</text>"


def text_width(text: str) -> float:
    """Return how wide words are, a little more rather than less."""
    width = 0
    for letter in text:
        at = ord(letter) - 32
        if 0 <= at < len(_WIDTHS):
            width += _WIDTHS[at]
        elif not unicodedata.combining(letter):  # an accent stands above the letter before it
            width += 1000 if unicodedata.east_asian_width(letter) in "WF" or ord(letter) > 0xFFFF else 650
    return _SLACK * SIZE / 1000 * width


def shorten_labels(*lists: Iterable[object]) -> dict[str, str]:
    """Return what to draw for each foreign word: short, one line, unlike the others."""
    labels: dict[str, str] = {}
    labels_used: set[str] = set()
    for word in dict.fromkeys(str(word_) for many in lists for word_ in many):
        label, number = terminal(word, limit=LABEL), 2
        # Two long names may be alike in all the characters that are shown.
        while label in labels_used:
            label, number = f"{terminal(word, limit=LABEL - 5)} #{number}", number + 1
        labels_used.add(label)
        labels[word] = label.translate(_NOT_XML)
    return labels


def assign_colours(series: Sequence[str]) -> dict[str, str]:
    """Return a colour for each series."""
    return {name: PALETTE[at % len(PALETTE)] for at, name in enumerate(series)}


# scales


@dataclass(frozen=True, slots=True)
class AxisScale:
    """From numbers to places along a line."""

    low: float
    high: float
    start: float
    end: float
    least: float = 0.0
    """Between two ticks: 1 where things are counted."""

    def __call__(self, value: float) -> float:
        """Return where a number lies."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    @property
    def ticks(self) -> list[float]:
        """Round numbers within the range, one for 45 pixels or more."""
        step = max(self.least, _step(self.high - self.low, abs(self.end - self.start) / 45))
        # A tick that rounding puts just outside the range still belongs to it.
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [at * step for at in range(first, last + 1)]


def _step(span: float, most: float) -> float:
    """Return the smallest of 1, 2, 5, 10, 20, ... that divides a range into at most so many parts."""
    rough = span / max(1.0, most)
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))


def round_range(values: Iterable[float]) -> tuple[float, float]:
    """Return a range with round ends that holds 0 and every value."""
    numbers = [0.0, *values]
    low, high = min(numbers), max(numbers)
    # Where all values are 0 the range has no width, and places along it would be divided by zero.
    if high - low < 1e-300:
        return 0.0, 1.0
    step = _step(high - low, 5)
    return math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step


def tick_words(value: float) -> str:
    """Return a tick's number."""
    # Adding 0 turns minus zero into zero, so that no tick reads minus zero.
    return f"{round(value, 12) + 0.0:g}".replace("-", "\u2212")


def bottom_axis(scale: AxisScale, top: float, bottom: float, title: str) -> str:
    """Return lines at round numbers from top to bottom, the numbers below, and the title below these; 40 high."""
    parts = []
    for tick in scale.ticks:
        x = scale(tick)
        parts.append(mark("line", x1=x, x2=x, y1=top, y2=bottom, stroke="currentColor", stroke_opacity="0.15"))
        parts.append(words(x, bottom + 12, tick_words(tick), "middle"))
    parts.append(mark("line", x1=scale.start, x2=scale.end, y1=bottom, y2=bottom, stroke="currentColor"))
    parts.append(words((scale.start + scale.end) / 2, bottom + 30, title, "middle"))
    return "".join(parts)


def left_axis(scale: AxisScale, start: float, right: float, title: str) -> str:
    """Return lines at round numbers from left to right, the numbers before them, and the title on top."""
    parts = [words(start, scale.end - 16, title)]
    for tick in scale.ticks:
        y = scale(tick)
        parts.append(mark("line", x1=start, x2=right, y1=y, y2=y, stroke="currentColor", stroke_opacity="0.15"))
        parts.append(words(start - 6, y, tick_words(tick), "end"))
    parts.append(mark("line", x1=start, x2=start, y1=scale.start, y2=scale.end, stroke="currentColor"))
    return "".join(parts)


@dataclass(frozen=True, slots=True)
class Legend:
    """What each colour stands for, as it was laid out."""

    svg: str
    width: float
    height: float


def legend(entries: Iterable[tuple[str, str]], width: float) -> Legend:
    """Return what each colour stands for, in as many lines as it takes; a label without a colour stands alone."""
    parts: list[str] = []
    x, y, widest = 4.0, 10.0, 0.0
    for label, colour in entries:
        need = 18 + text_width(label)
        # A label that is too long for any line stands on one of its own.
        if x > 4 and x + need > width:
            x, y = 4.0, y + 20
        if colour:
            parts.append(mark("circle", cx=x + 5, cy=y, r=5, fill=colour))
        parts.append(words(x + 15 if colour else x, y, label))
        widest = max(widest, x + need)
        x += need + 16
    return Legend("".join(parts), widest, y + 16 if parts else 0.0)


# Charts of rows: a name a row, with marks along a line of numbers.

_STEP = 22.0
"""Between two rows, in pixels."""
_NAME = 19.0
"""What a name takes above its row on a narrow screen."""
_AXIS = 42.0
_MODELS = 40
"""Models in the chart of a comparison."""
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
        return max(map(text_width, self.labels), default=0.0) + 12 if self.is_wide else 8.0

    @property
    def right(self) -> float:
        """Return where the marks end: they keep some room, however long the names are."""
        return max(self.width, self.left + 200) - 14

    @property
    def need(self) -> float:
        """Return how wide the whole is with its names."""
        return self.right + 14 if self.is_wide else max(map(text_width, self.labels), default=0.0) + self.left + 5

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
        return "".join(
            words(self.left + 5, self.top + self.pitch * at + 11, name) for at, name in enumerate(self.labels)
        )


def _spans(
    rows: Rows, order: Sequence[str], title: str, domain: Sequence[float] | None, colour: Callable[[Any], str],
    entries: Sequence[tuple[str, str]] = (),
) -> Picture:  # fmt: skip
    """Return a point with its interval in each row."""
    labels = shorten_labels(order)
    low, high = domain or round_range(row[end] for row in rows for end in ("low", "high") if row[end] is not None)

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
            if row["low"] is not None and row["high"] is not None:  # else a point says all that is known
                ends = {"x1": scale(row["low"]), "x2": scale(row["high"]), "y1": y, "y2": y}
                parts.append(mark("line", **ends, stroke=paint, stroke_width=3, stroke_opacity="0.85"))
            parts.append(mark("circle", cx=scale(row["value"]), cy=y, r=5, fill=paint))
        return document(width, lines.bottom + _AXIS, parts, grown=max(key.width, lines.need))

    return both(draw)


def intervals(rows: Rows, order: Sequence[str], title: str, domain: Sequence[float] | None = (0, 100)) -> Picture:
    """Return points with their intervals, one row a name; rows have name, value, low, high."""
    return _spans(rows, order, title, domain, lambda _row: PALETTE[0])


def draw_summaries(summaries: Iterable[tuple[str, Summary]]) -> Picture | None:
    """Return the scores of the first models with their intervals; None where none has a score, or their scale has no ends."""
    rows: dict[str, dict[str, float | str]] = {}
    for model, summary in itertools.islice(summaries, _MODELS):
        factor = Scale(summary.range).factor
        if summary.value is not None:
            low, high = (summary.interval.low, summary.interval.high) if summary.interval else (summary.value,) * 2
            row = {"value": factor * summary.value, "low": factor * low, "high": factor * high}
            rows.setdefault(model, {"name": model, **row})
    if not rows:
        return None
    domain = (factor * summary.range[0], factor * summary.range[1]) if max(map(abs, summary.range)) < 1e6 else None
    return intervals(list(rows.values()), list(rows), summary.metric, domain)


def forest(rows: Rows, order: Sequence[str], title: str) -> Picture:
    """Return differences with intervals around a line at 0; rows have name, value, low, high, verdict."""
    verdicts = {row["verdict"] for row in rows}
    entries = [(verdict, colour) for verdict, colour in _VERDICTS.items() if verdict in verdicts]
    return _spans(rows, order, title, None, lambda row: _VERDICTS[row["verdict"]], entries)


def stack_bars(rows: Rows, order: Sequence[str], kinds: Sequence[str], title: str) -> Picture:
    """Return stacked bars; rows have name, kind, value, place (of the kind)."""
    labels, colours = shorten_labels(order, kinds), assign_colours(kinds)
    ordered = sorted(rows, key=lambda row: row["place"])
    totals = [sum(row["value"] for row in rows if row["name"] == name) for name in order]
    low, high, least = *round_range(totals), float(all(isinstance(total, int) for total in totals))

    def draw(width: float) -> str:
        key = legend([(labels[kind], colours[kind]) for kind in kinds], width)
        lines = _Lines([labels[name] for name in order], width, _STEP, key.height + 6)
        scale = AxisScale(low, high, lines.left, lines.right, least)
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
    labels, colours = shorten_labels(groups, series), assign_colours(series)
    step = 20.0 if len(series) == 1 else 13.0 * len(series) + 8
    thick = 14.0 if len(series) == 1 else 12.0

    def draw(width: float) -> str:
        key = legend([(labels[name], colours[name]) for name in series], width)
        lines = _Lines([labels[group] for group in groups], width, step, key.height + 6)
        scale = AxisScale(domain[0], domain[1], lines.left, lines.right)
        parts = [key.svg, bottom_axis(scale, lines.top, lines.bottom, title), lines.names()]
        for row in rows:
            # A bar begins at 0, or where 0 is not on the axis at the end that is nearer to it.
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
    labels = shorten_labels(columns, lines)
    names = [labels[column] for column in columns]

    def draw(width: float) -> str:
        margin = max(map(text_width, (labels[line] for line in lines)), default=0.0) + 12 if width == WIDE else 0.0
        longest = max(map(text_width, names), default=0.0)
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
                along = min(max(value, 0.0), 100.0) / 100 * (len(_VIRIDIS) - 1)
                at = min(int(along), len(_VIRIDIS) - 2)
                ends = [(int(_VIRIDIS[at][i : i + 2], 16), int(_VIRIDIS[at + 1][i : i + 2], 16)) for i in (0, 2, 4)]
                paint = "#" + "".join(f"{round(low + (high - low) * (along - at)):02x}" for low, high in ends)
                parts.append(mark("rect", x=x, y=y - _STEP / 2, width=cell, height=_STEP, fill=paint))
                # The colours grow lighter with the value, so the letters on them turn dark.
                ink = {"fill": "#000000" if value > 55 else "#ffffff"}
            parts.append(words(x + cell / 2, y, str(row["shown"]), "middle", **ink))
        return document(width, grid.bottom + 6, parts, grown=max(key.width, grid.need, margin + cell * len(columns)))

    return both(draw)


# Charts of two directions: curves over steps, points with a place of their own, and graphs.

_HEIGHT = 260.0
_LEFT, _RIGHT, _TOP = 34.0, 14.0, 30.0
_BELOW = 42.0


def curves(
    rows: Rows, series: Sequence[str], *, x_title: str, y_title: str, band: bool, x_order: Sequence[str],
    domain: tuple[float, float] = (0.0, 100.0),
) -> Picture:  # fmt: skip
    """Return one line a series over ordered steps; rows have series, x, value, low, high.

    `band` draws the intervals as bands, otherwise as bars. A row with `breaks` is not joined to the one before it.
    """
    labels, colours = shorten_labels(series, x_order), assign_colours(series)
    lines = {name: [row for row in rows if row["series"] == name and row["value"] is not None] for name in series}

    def draw(width: float) -> str:
        key = legend([(labels[name], colours[name]) for name in series], width)
        up = AxisScale(*domain, key.height + _TOP + _HEIGHT, key.height + _TOP)
        margin = max(_LEFT, *(text_width(tick_words(tick)) + 10 for tick in up.ticks))
        column = (width - margin - _RIGHT) / max(1, len(x_order))
        gap = 0.0 if band else min(10.0, 0.7 * column / max(1, len(series)))
        # the steps are named as far as there is room
        every = max(1, -int(-(max((text_width(labels[x]) for x in x_order), default=1.0) + 6) // column))
        parts = [key.svg, left_axis(up, margin, width - _RIGHT, y_title)]
        parts += [
            words(margin + column * (at + 0.5), up.start + 12, labels[x], "middle")
            for at, x in enumerate(x_order)
            if at % every == 0
        ]
        parts.append(words((margin + width - _RIGHT) / 2, up.start + 30, x_title, "middle"))
        for number, name in enumerate(series):
            aside = gap * (number - (len(series) - 1) / 2)
            spots = [(margin + column * (x_order.index(row["x"]) + 0.5) + aside, row) for row in lines[name]]
            parts.append(_curve(spots, up, colours[name], band=band))
        return document(width, up.start + _BELOW, parts, grown=key.width)

    return both(draw)


def _curve(spots: Sequence[tuple[float, Any]], up: AxisScale, colour: str, *, band: bool) -> str:
    parts = []
    if band and len(spots) > 1:
        over = [f"{plain(x)},{plain(up(row['high']))}" for x, row in spots]
        under = [f"{plain(x)},{plain(up(row['low']))}" for x, row in reversed(spots)]
        parts.append(mark("polygon", points=" ".join(over + under), fill=colour, fill_opacity="0.18"))
    else:
        parts += [_upright(x, row, up, colour) for x, row in spots]
    opacity = "1" if band else "0.5"
    starts = [at for at, (_, row) in enumerate(spots) if at == 0 or row.get("breaks")]
    for start, end in zip(starts, (*starts[1:], len(spots)), strict=True):
        line = " ".join(f"{plain(x)},{plain(up(row['value']))}" for x, row in spots[start:end])
        parts.append(mark("polyline", points=line, fill="none", stroke=colour, stroke_width=2, stroke_opacity=opacity))
    parts += [mark("circle", cx=x, cy=up(row["value"]), r=4, fill=colour) for x, row in spots]
    return "".join(parts)


def _upright(x: float, row: Any, up: AxisScale, colour: str) -> str:
    """Return an interval as a bar."""
    ends = {"y1": up(row["low"]), "y2": up(row["high"])}
    return mark("line", x1=x, x2=x, **ends, stroke=colour, stroke_width=2, stroke_opacity="0.85")


def scatter(rows: Rows, order: Sequence[str], *, x_title: str, y_title: str) -> Picture:
    """Return one point a name with its vertical interval; rows have name, x, value, low, high."""
    labels, colours = shorten_labels(order), assign_colours(order)
    low, high = round_range(float(row["x"]) for row in rows)

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
    labels = shorten_labels(node["name"] for node in nodes)
    heaviest = max((float(edge["weight"]) for edge in edges), default=1.0)
    largest = max((float(node["size"]) for node in nodes), default=1.0)

    def draw(width: float) -> str:
        across, up = AxisScale(0.0, 1.0, width / 2 - 160, width / 2 + 160), AxisScale(0.0, 1.0, 335.0, 15.0)
        grown = max(map(text_width, labels.values()), default=0.0)
        parts = []
        for edge in edges:
            ends = {"x1": across(edge["x"]), "y1": up(edge["y"]), "x2": across(edge["x2"]), "y2": up(edge["y2"])}
            thick = 1 + 5 * edge["weight"] / heaviest
            parts.append(mark("line", **ends, stroke=GREY, stroke_width=thick, stroke_opacity="0.85"))
        for node in nodes:
            # The circle's area and not its radius grows with the size.
            x, y, r = across(node["x"]), up(node["y"]), 6 + 11 * (node["size"] / largest) ** 0.5
            side = 1 if node["y"] < 0.5 else -1  # outside of the circle, where no line runs
            parts.append(mark("circle", cx=x, cy=y, r=r, fill=PALETTE[0]))
            label = labels[str(node["name"])]
            room = text_width(label) / 2
            parts.append(words(max(room, min(x, width - room)), min(y + (r + 8) * side, 338.0), label, "middle"))
        return document(width, 345.0, parts, grown=grown)

    return both(draw)
