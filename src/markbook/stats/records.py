"""What the statistics return: small frozen records with a method's name beside every number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypedDict

from markbook.measurements import CONFIDENCE, IntervalRecord
from markbook.types import Interval


class EstimateRecord(TypedDict):
    """An `Estimate` as JSON."""

    value: float | None
    n: int
    interval: IntervalRecord | None
    note: str


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its error: what does not apply is None, and `note` says why."""

    value: float | None
    """The estimate itself, None where it is undefined (never 0 in its place)."""
    low: float | None = None
    """Lower end of the interval; None when there is none."""
    high: float | None = None
    """Upper end of the interval."""
    se: float | None = None
    """Standard error, in the unit of the value."""
    p: float | None = None
    """Two-sided p of the hypothesis that the value is 0, where the method tests one."""
    n: int = 0
    """Items that went in (pairs, for a paired method)."""
    method: str = ""
    """Such as `wilson`, `t`, `bca`, `cluster-cr2`."""
    confidence: float = CONFIDENCE
    note: str = ""
    """Why something is None, or what a reader has to know."""
    stats: Mapping[str, float] = field(default_factory=dict)
    """What else the method found (standard deviation, number of clusters, ...)."""

    @property
    def interval(self) -> Interval | None:
        """The interval, where there is one."""
        if self.low is None or self.high is None:
            return None
        return Interval(self.low, self.high, self.method, self.confidence)

    def to_record(self) -> EstimateRecord:
        """Return the number beside its n and its interval, as JSON."""
        interval = self.interval
        return {
            "value": self.value,
            "n": self.n,
            "interval": None if interval is None else interval.to_record(),
            "note": self.note,
        }

    def __float__(self) -> float:
        if self.value is None:
            raise ValueError(f"{self.method}: no value ({self.note})")
        return self.value


@dataclass(frozen=True, slots=True)
class Ranking:
    """Bradley-Terry strengths: log-odds units, centred on 0, higher is stronger."""

    value: tuple[float | None, ...]
    """One strength a model, in the order of the win matrix; None where it is unbounded."""
    se: tuple[float | None, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    covariance: tuple[tuple[float, ...], ...]
    """Of the centred strengths; empty where they are unbounded."""
    rank_probability: tuple[tuple[float, ...], ...]
    """[model][rank], rank 0 the strongest: drawn from the normal approximation; empty where unbounded."""
    method: str
    confidence: float = CONFIDENCE
    note: str = ""

    def difference(self, first: int, second: int) -> Estimate:
        """Return strength(first) - strength(second) with its standard error, interval and p (normal)."""
        from markbook.stats.arrays import normal_quantile, normal_two_sided

        first_value, second_value = self.value[first], self.value[second]
        if first_value is None or second_value is None:
            return Estimate(None, method=self.method, note=self.note)
        c = self.covariance
        se = float((c[first][first] + c[second][second] - 2 * c[first][second]) ** 0.5)
        reach = normal_quantile(self.confidence) * se
        gap = first_value - second_value
        p = normal_two_sided(gap / se) if se > 0 else None
        return Estimate(gap, gap - reach, gap + reach, se, p, method=self.method, confidence=self.confidence)


@dataclass(frozen=True, slots=True)
class WeightSensitivity:
    """How much a composite's ranking hangs on its weights."""

    value: tuple[float, ...]
    """The composite of each model under the stated weights, normalised to sum 1."""
    ranks: tuple[int, ...]
    """The rank of each model under the stated weights, 0 the best, ties by position."""
    rank_probability: tuple[tuple[float, ...], ...]
    """[model][rank] when any weights are as likely as any others: Dirichlet(1, ..., 1)."""
    rank_probability_near: tuple[tuple[float, ...], ...]
    """[model][rank] for weights near the stated ones: Dirichlet(50 w)."""
    kendall_tau: float | None
    """Mean rank correlation between the stated ranking and the ranking under any weights; None for one model."""
    draws: int
    seed: int
    method: str = "dirichlet"
