"""How similar human reviews of one paper are to one another: what a generated review can be held to."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markbook.runs.reviews.scoring.formulas import Best, choose_reference, combine
from markbook.types import Missing


@dataclass(frozen=True, slots=True)
class Spread:
    """Where values lie."""

    n: int
    median: float
    low: float
    high: float

    def as_record(self) -> dict[str, float | int]:
        """Return it as JSON."""
        return {"n": self.n, "median": self.median, "min": self.low, "max": self.high}


@dataclass(frozen=True, slots=True)
class Yardstick:
    """Human against human."""

    papers: int
    """Papers with at least two human reviews."""
    reviews: int
    pairs: Mapping[str, Spread]
    """Every two reviews of a paper, by similarity."""
    best: Mapping[str, Spread]
    """Each review against its closest other one."""
    best_of_paper: Mapping[str, Spread]
    """The closest two reviews of each paper."""
    combined: tuple[float, ...]
    """For each review, the combined similarity to its closest other one; empty if a similarity is missing."""
    most_possible: float | None
    """The largest combined score if the semantic part were 1 everywhere; None where it is measured or not used."""

    def success_rate(self, threshold: float) -> float | None:
        """Return the share of human reviews that would count as a success."""
        return sum(value >= threshold for value in self.combined) / len(self.combined) if self.combined else None


def measure_yardstick(
    papers: Iterable[tuple[int, Sequence[Mapping[str, float | Missing]]]], weights: Mapping[str, float]
) -> Yardstick:
    """Return the yardstick of many papers.

    Args:
        papers: for each, how many human reviews it has and their similarities in the order (0,1), (0,2), (1,2), ...
        weights: of the combined score.
    """
    pairs: dict[str, list[float]] = {name: [] for name in weights}
    best: dict[str, list[float]] = {name: [] for name in weights}
    tops: dict[str, list[float]] = {name: [] for name in weights}
    combined: list[float] = []
    ceilings: list[float] = []
    counted = reviews = 0
    for count, rows in papers:
        counted += 1
        reviews += count
        at = dict(zip(itertools.combinations(range(count), 2), rows, strict=True))
        for name in weights:
            values = [value for row in rows if not isinstance(value := row[name], Missing)]
            pairs[name] += values
            tops[name] += [max(values)] if values else []
        for one in range(count):
            others = [at[min(one, other), max(one, other)] for other in range(count) if other != one]
            chosen = choose_reference(others, weights)
            if not isinstance(chosen, Best):
                continue
            closest = others[chosen.reference]
            for name in weights:
                value = closest[name]
                best[name] += [] if isinstance(value, Missing) else [value]
            whole = combine(closest, weights)
            combined += [] if isinstance(whole, Missing) else [whole]
            ceiling = combine({**closest, "semantic": 1.0}, weights)
            ceilings += [] if isinstance(ceiling, Missing) else [ceiling]
    open_semantic = "semantic" in weights and not pairs["semantic"] and ceilings
    return Yardstick(
        counted,
        reviews,
        _spreads(pairs),
        _spreads(best),
        _spreads(tops),
        tuple(combined),
        max(ceilings) if open_semantic else None,
    )


def percentile(values: Sequence[float], percent: float) -> float:
    """Return a percentile by linear interpolation between order statistics (type 7).

    >>> percentile([1.0, 2.0, 3.0, 4.0], 50)
    2.5
    """
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _spreads(columns: Mapping[str, Sequence[float]]) -> dict[str, Spread]:
    return {
        name: Spread(len(values), statistics.median(values), min(values), max(values))
        for name, values in columns.items()
        if values
    }
