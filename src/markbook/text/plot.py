"""A chart in characters: values with their intervals along one line each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from markbook.text.escape import terminal
from markbook.text.table import Table
from markbook.types import digest_text

# Numbers in what people read and write: the one place that decides how a value, a percentage and an interval look.
#
# Terminal, Markdown, HTML and sites show one score alike: 43.9 with [21.4, 66.7] where the range is 0..1 (points of 100),
# 0.439 with [0.214, 0.667] in any other range, and `NOTHING` where there is no value. An interval has the digits of its value.
# Files whose format is documented have numbers of their own: 0..100, rounded to two decimals.

NOTHING = "\u2013"
"""Shown where there is no value; never 0."""
DIGITS = 3
"""Decimals of a value that is not a percentage."""


def read_number(text: str) -> float:
    """Return a number in ASCII digits; `1_0` and the digits of other scripts, which Python reads, are none.

    Raises:
        ValueError: it is not a number.
    """
    if "_" in text or not text.isascii():
        raise ValueError(f"{text!r} is not a number")
    return float(text)


def format_number(value: float | None, digits: int = DIGITS, *, signed: bool = False) -> str:
    """Return a value, with `signed` also the sign of one above 0."""
    if value is None:
        return NOTHING
    return f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"


def format_interval(low: float | None, high: float | None, digits: int = DIGITS, *, signed: bool = False) -> str:
    """Return two ends."""
    if low is None or high is None:
        return NOTHING
    return f"[{format_number(low, digits, signed=signed)}, {format_number(high, digits, signed=signed)}]"


def format_percent(share: float | None, digits: int = 1) -> str:
    """Return a share of 0..1 in percent."""
    return NOTHING if share is None else f"{format_number(100 * share, digits)} %"


def format_p(p: float | None) -> str:
    """Return a p for people: never 0."""
    if p is None:
        return NOTHING
    return "<.0001" if p < 0.0001 else format_number(p, 4).lstrip("0") if p < 0.99995 else "1"


class Scale:
    """How a metric's numbers are written: a 0..1 range in points of 100, any other as it is."""

    def __init__(self, limits: tuple[float, float], digits: int | None = None) -> None:
        """Set the scale; `digits` only where a documented file has others."""
        self.factor, usual = (100.0, 1) if limits == (0.0, 1.0) else (1.0, DIGITS)
        self.digits = usual if digits is None else digits

    def value(self, number: float | None) -> str:
        """Return a value."""
        return format_number(self._scaled(number), self.digits)

    def gap(self, number: float | None) -> str:
        """Return a difference, with its sign."""
        return format_number(self._scaled(number), self.digits, signed=True)

    def spread(self, low: float | None, high: float | None) -> str:
        """Return an interval."""
        return format_interval(self._scaled(low), self._scaled(high), self.digits)

    def with_spread(self, number: float | None, low: float | None, high: float | None) -> str:
        """Return a value and, if there is one, its interval in one cell."""
        if number is None or low is None or high is None:
            return self.value(number)
        return f"{self.value(number)} {self.spread(low, high)}"

    def gap_spread(self, low: float | None, high: float | None) -> str:
        """Return an interval of a difference."""
        return format_interval(self._scaled(low), self._scaled(high), self.digits, signed=True)

    def with_gap_spread(self, number: float | None, low: float | None, high: float | None) -> str:
        """Return a difference and, if there is one, its interval in one cell."""
        if number is None or low is None or high is None:
            return self.gap(number)
        return f"{self.gap(number)} {self.gap_spread(low, high)}"

    def _scaled(self, number: float | None) -> float | None:
        return None if number is None else self.factor * number


WIDTH = 40


@dataclass(frozen=True, slots=True)
class Spot:
    """One value with its interval."""

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None


def plot(title: str, spots: Sequence[Spot], ends: tuple[float, float], *, width: int = WIDTH) -> Table:
    """Return a table whose last column draws each value as a dot on its interval, between the two ends of a scale.

    >>> print(plot("Score", [Spot("a", 0.5, 0.25, 0.75)], (0, 1), width=9).rows[0][2])
      |-o-|
    """
    rows = tuple((spot.name, format_number(spot.value), _draw_spot(spot, ends, width)) for spot in spots)
    scale = f"{ends[0]:g}".ljust(width - len(f"{ends[1]:g}")) + f"{ends[1]:g}"
    return Table(title, ("", "Value", scale), rows, frozenset({1}))


def _draw_spot(spot: Spot, ends: tuple[float, float], width: int) -> str:
    if spot.value is None:
        return ""
    cells = [" "] * width
    low = spot.value if spot.low is None else spot.low
    high = spot.value if spot.high is None else spot.high
    first, last = (_place(end, ends, width) for end in (low, high))
    for index in range(first, last + 1):
        cells[index] = "-"
    cells[first] = cells[last] = "|"
    cells[_place(spot.value, ends, width)] = "o"
    return "".join(cells).rstrip()


def _place(value: float, ends: tuple[float, float], width: int) -> int:
    share = (value - ends[0]) / (ends[1] - ends[0])
    return round(min(1.0, max(0.0, share)) * (width - 1))


# Foreign words and tables in LaTeX: nothing in them is a command.

_FOREIGN = re.compile(r"[^A-Za-z0-9@_.:-]+")
_SIGNS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "\u2212": "$-$", "\u2013": "--", "[": "{[}", "]": "{]}", "@": "{@}",
    "`": r"\textasciigrave{}", "'": r"\textquotesingle{}", "-": "{-}",
}  # fmt: skip
_SIGN = re.compile("|".join(map(re.escape, _SIGNS)))


def latex(text: str) -> str:
    """Return words as one line of LaTeX that says them and does nothing (needs `textcomp` and `fontenc` T1)."""
    return _SIGN.sub(lambda match: _SIGNS[match.group()], terminal(text))


def latex_table(table: Table, label: str) -> str:
    """Return a table for a paper; it needs the package booktabs.

    Args:
        table: finished cells.
        label: to refer to it by; where it holds more than plain letters, digits and hyphens, a digest stands for the rest.
    """
    columns = "".join("r" if at in table.numeric else "l" for at in range(len(table.headers)))
    note = f" {latex(table.note)}" if table.note else ""
    lines = [
        r"\begin{table}[t]", r"\centering\small", rf"\caption{{{latex(table.title)}.{note}}}", rf"\label{{tab:{_label(label)}}}",
        rf"\begin{{tabular}}{{{columns}}}", r"\toprule", _row(table.headers), r"\midrule", *map(_row, table.rows),
        r"\bottomrule", r"\end{tabular}", r"\end{table}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _label(name: str) -> str:
    """Return a label that is not a command, whatever a metric is called; names that differ get labels that differ."""
    plain = _FOREIGN.sub("-", name)
    return plain if plain == name else f"{plain.strip('-')[:60]}-{digest_text(name)[:8]}"


def _row(cells: Sequence[str]) -> str:
    return " & ".join(map(latex, cells)) + r" \\"
