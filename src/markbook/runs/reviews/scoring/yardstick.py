"""How similar human reviews of one paper are to one another: what a generated review can be held to."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from markbook.runs.reviews.scoring.formulas import Best, choose_reference, combine
from markbook.runs.reviews.scoring.records import SpreadRecord
from markbook.types import Missing

Similarity = Mapping[str, float | Missing]
"""How similar two reviews are, by the name of the measure."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Where values lie."""

    n: int
    median: float
    low: float
    high: float

    def as_record(self) -> SpreadRecord:
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


def measure_yardstick(papers: Iterable[tuple[int, Sequence[Similarity]]], weights: Mapping[str, float]) -> Yardstick:
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
        for name in weights:
            values = _drop_missing(row[name] for row in rows)
            pairs[name] += values
            tops[name] += [max(values)] if values else []
        for closest in _closest(count, rows, weights):
            for name in weights:
                best[name] += _drop_missing([closest[name]])
            combined += _drop_missing([combine(closest, weights)])
            ceilings += _drop_missing([combine({**closest, "semantic": 1.0}, weights)])
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


def _closest(count: int, rows: Sequence[Similarity], weights: Mapping[str, float]) -> Iterator[Similarity]:
    """Yield, for each review of a paper that has one, the similarities to its closest other review."""
    at = dict(zip(itertools.combinations(range(count), 2), rows, strict=True))
    for review in range(count):
        others = [at[min(review, other), max(review, other)] for other in range(count) if other != review]
        chosen = choose_reference(others, weights)
        if isinstance(chosen, Best):
            yield others[chosen.reference]


def _drop_missing(values: Iterable[float | Missing]) -> list[float]:
    return [value for value in values if not isinstance(value, Missing)]


def percentile(values: Sequence[float], percent: float) -> float:
    """Return a percentile by linear interpolation between order statistics (type 7).

    >>> percentile([1.0, 2.0, 3.0, 4.0], 50)
    2.5
    """
    ordered = sorted(values)
    rank = (len(ordered) - 1) * percent / 100
    below = int(rank)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (rank - below)


def _spreads(columns: Mapping[str, Sequence[float]]) -> dict[str, Spread]:
    return {
        name: Spread(len(values), statistics.median(values), min(values), max(values))
        for name, values in columns.items()
        if values
    }
