"""A chart in characters: values with their intervals along one line each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markbook.text.numbers import format_number
from markbook.text.table import Table

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
