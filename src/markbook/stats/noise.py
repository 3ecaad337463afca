"""How much a result moves when nothing changes: flips between identical runs, and what follows from them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from markbook.stats.arrays import normal_inverse, normal_quantile
from markbook.stats.intervals import mean_interval
from markbook.stats.power import POWER
from markbook.types import CONFIDENCE, SIGNIFICANCE, Interval

_TIE = 1e-12
_SPLITS = 200


@dataclass(frozen=True, slots=True)
class Noise:
    """What repeats of the same items say of the noise; None where there are too few to say it."""

    n_items: int
    """Items with two values or more."""
    n_values: int
    mixed: float | None
    """The share of items whose repeats are not all equal."""
    flip: float | None
    """The chance that two runs differ on an item: the mean over items of the share of differing pairs."""
    within: float | None
    """The mean variance of an item's repeats (n - 1), in the metric's unit squared."""
    single_run: float | None
    """The standard error of one run's mean that comes from repeating alone; None where nothing was seen to vary."""
    difference: float | None
    """What two single runs of the same system must differ by before repeating alone does not explain it; None likewise."""
    reliability: float | None
    """Split-half reliability of the items' means, stepped up to all repeats (Spearman 1910, Brown 1910); None where no half
    varies between the items, or nothing was seen to vary."""
    confidence: float = CONFIDENCE
    intervals: Mapping[str, Interval | None] = field(default_factory=dict)
    """Of `mixed`, `flip` and `reliability`, over the items; None where these are too few."""
    largest_within: float | None = None
    """The largest `within` that repeats leave open of which none was seen to vary; None where some were, or without a range."""
    largest_difference: float | None = None
    """What `difference` is at most then."""

    def to_record(self) -> dict[str, object]:
        """Return plain JSON values."""
        record = {name: getattr(self, name) for name in self.__slots__ if name != "intervals"}
        return {
            **record,
            "intervals": {name: interval and interval.to_record() for name, interval in self.intervals.items()},
        }


def estimate_noise(items: Sequence[Sequence[float]], *, seed: int = 0, width: float = math.inf) -> Noise:
    """Return the noise of items from their repeats.

    That none of n items varied does not show that none ever does: up to the upper end u of the interval of 0 in n items may,
    about 3 / n. Two values differ by the range at most, so their variance is at most u width^2 / 2.

    Args:
        items: the values of each item, one a run; items with one value count for nothing.
        seed: of the halves that are drawn.
        width: of the values' range.
    """
    several = sorted(sorted(values) for values in items if len(values) >= 2)  # halves are drawn by place
    count = sum(map(len, several))
    if not several:
        return Noise(0, 0, None, None, None, None, None, None)
    variances = []
    for values in several:
        mean = math.fsum(values) / len(values)
        variances.append(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
    within = math.fsum(variances) / len(several)
    standard_error = math.sqrt(within / len(several))
    mixed = mean_interval([float(max(v) - min(v) > _TIE) for v in several])
    flip = mean_interval([_differing(values) for values in several], seed=seed)
    halves, n = _halves(several, seed), len(several)
    # How many times as many repeats there are as a half has: more than two where an odd one is left over.
    steps = sum(map(len, several)) / sum(len(values) // 2 for values in several)
    reliable = None
    if halves is not None and n >= 4 and abs(halves) < 1:
        # Fisher's z of the halves' correlation, both ends stepped up as the value itself is.
        reach = normal_quantile(CONFIDENCE) / math.sqrt(n - 3)
        low, high = (_project_reliability(math.tanh(math.atanh(halves) + side), steps) for side in (-reach, reach))
        reliable = Interval(low, high, "fisher-z", CONFIDENCE)
    difference = normal_quantile(CONFIDENCE) * math.sqrt(2) * standard_error
    is_still = not mixed.value
    largest = mixed.high * width**2 / 2 if is_still and mixed.high is not None and width < math.inf else None
    largest_difference = (
        None if largest is None else min(width, normal_quantile(CONFIDENCE) * math.sqrt(2 * largest / n))
    )
    reliability = None if halves is None or is_still else _project_reliability(halves, steps)
    intervals = {"mixed": mixed.interval, "flip": flip.interval, "reliability": reliable}
    return Noise(
        n, count, mixed.value, flip.value, within,
        None if is_still else standard_error,
        None if is_still else difference,
        reliability, CONFIDENCE, intervals, largest, largest_difference,
    )  # fmt: skip


def _differing(values: Sequence[float]) -> float:
    """Return the share of an item's pairs of repeats that differ."""
    n = len(values)
    ordered = sorted(values)  # equal values then stand together, and need no comparison of every pair
    same, run = 0, 1
    for before, after in itertools.pairwise(ordered):
        run = run + 1 if after - before <= _TIE else 1
        same += run - 1
    return 1 - same / (n * (n - 1) / 2)


def repeats_needed(within: float, n_items: int, difference: float) -> int:
    """Return how many repeats of every item each of two systems needs, so that this difference shows in 80 % of cases.

    Only the noise of repeating is counted: the items are those of the benchmark, and both systems answer all of them.

    Args:
        within: the mean variance of an item's repeats.
        n_items: how many items there are.
        difference: between the means over these items.
    """
    if n_items < 1 or not difference > 0 or within < 0:
        raise ValueError(f"need items, a positive difference and a variance, got {n_items}, {difference}, {within}")
    reach = normal_quantile(1 - SIGNIFICANCE) + normal_inverse(POWER)
    return max(1, math.ceil(2 * within / n_items * (reach / difference) ** 2 - _TIE))


def _project_reliability(r: float, steps: float) -> float:
    """Return the reliability of so many times the repeats; what is not above 0 has nothing to step up."""
    return steps * r / (1 + (steps - 1) * r) if r > 0 else r


def _halves(items: Sequence[Sequence[float]], seed: int) -> float | None:
    """Return the mean correlation of the items' means in two halves of their repeats, over drawn halves."""
    import numpy as np

    if len(items) < 3:
        return None
    rng = np.random.default_rng(seed)
    correlations = []
    for _ in range(_SPLITS):
        halves = np.empty((len(items), 2))
        for at, values in enumerate(items):
            # An odd one is left out of both halves: halves of unlike size would not correlate alike.
            drawn = rng.permutation(len(values))
            half = len(values) // 2
            halves[at] = (
                np.mean([values[i] for i in drawn[:half]]),
                np.mean([values[i] for i in drawn[half : 2 * half]]),
            )
        if halves[:, 0].std() > _TIE and halves[:, 1].std() > _TIE:
            correlations.append(float(np.corrcoef(halves[:, 0], halves[:, 1])[0, 1]))
    if not correlations:
        return None
    return float(np.mean(correlations))
