"""The few things that charts are drawn with, as SVG: words, marks, axes with round numbers, legends.

Every chart is drawn twice, for wide and for narrow screens, so that its words have the size of the page's everywhere.
Colours are told apart in light and dark, and by people who see few of them; words take the page's own colour.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from markbook.text import terminal

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
    """Return a whole drawing.

    Args:
        width: the one it was asked for.
        height: of what was drawn.
        parts: what was drawn.
        grown: how wide it became where it could not keep to its width; the reader then scrolls.
    """
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
    return f"<text {position}{more}>{escape(terminal(text))}</text>"


def width_of(text: str) -> float:
    """Return how wide words are, a little more rather than less."""
    return _SLACK * SIZE / 1000 * sum(map(_advance, text))


def _advance(letter: str) -> int:
    at = ord(letter) - 32
    if 0 <= at < len(_WIDTHS):
        return _WIDTHS[at]
    if unicodedata.combining(letter):
        return 0
    return 1000 if unicodedata.east_asian_width(letter) in "WF" or ord(letter) > 0xFFFF else 650


def labels_of(*lists: Iterable[object]) -> dict[str, str]:
    """Return what to draw for each foreign word: short, one line, unlike the others."""
    labels: dict[str, str] = {}
    labels_used: set[str] = set()
    for word in dict.fromkeys(str(word_) for many in lists for word_ in many):
        label, number = terminal(word, limit=LABEL), 2
        while label in labels_used:
            label, number = f"{terminal(word, limit=LABEL - 5)} #{number}", number + 1
        labels_used.add(label)
        labels[word] = label.translate(_NOT_XML)
    return labels


def colours_of(series: Sequence[str]) -> dict[str, str]:
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

    def __call__(self, value: float) -> float:
        """Return where a number lies."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    @property
    def ticks(self) -> list[float]:
        """Round numbers within the range, one for 45 pixels or more."""
        step = _step(self.high - self.low, abs(self.end - self.start) / 45)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [at * step for at in range(first, last + 1)]


def _step(span: float, most: float) -> float:
    """Return the smallest of 1, 2, 5, 10, 20, ... that divides a range into at most so many parts."""
    rough = span / max(1.0, most)
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))


def range_of(values: Iterable[float]) -> tuple[float, float]:
    """Return a range with round ends that holds 0 and every value."""
    numbers = [0.0, *values]
    low, high = min(numbers), max(numbers)
    if high - low < 1e-300:
        return 0.0, 1.0
    step = _step(high - low, 5)
    return math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step


def tick_words(value: float) -> str:
    """Return a tick's number."""
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
    """Return what each colour stands for, in as many lines as it takes; a label without a colour stands alone.

    Args:
        entries: labels with their colours.
        width: of the drawing.
    """
    parts: list[str] = []
    x, y, widest = 4.0, 10.0, 0.0
    for label, colour in entries:
        need = 18 + width_of(label)
        if x > 4 and x + need > width:
            x, y = 4.0, y + 20
        if colour:
            parts.append(mark("circle", cx=x + 5, cy=y, r=5, fill=colour))
        parts.append(words(x + 15 if colour else x, y, label))
        widest = max(widest, x + need)
        x += need + 16
    return Legend("".join(parts), widest, y + 16 if parts else 0.0)
