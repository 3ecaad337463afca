"""A difference that may be looked at after every sample: bets against it, and the means that no bet has ruined.

Theory of operation
-------------------
An ordinary p that is computed after each sample is sooner or later below 0.05 by chance. These methods hold at every look at once.

Against "the mean is m or less" a gambler stakes a share s of the capital on each difference. If the claim is true the capital
is a supermartingale: it does not grow on average. By Ville's inequality it ever reaches 1/a with probability a at most,
whenever anybody looks and for whatever reason the sampling stops. A large capital is therefore evidence against the claim
(an e-value), and the means m that no gambler has ruined form a confidence sequence.

The best share is not known beforehand, so the capital is spread over `SHARES` fixed ones and the wealth of all is averaged; the
mean of supermartingales is one again. Two sides are bet on, with half of the error each. Wealth is kept as a logarithm, because
it is a product of as many factors as there are samples. The end of an interval is the mean at which the capital reaches the
limit: capital falls with m, so bisection finds it (`_furthest`).

What would break the promise: samples in an order that depends on their results, and differences outside the stated range. The
second raises; the first is for the caller to keep, who asks the items in an order that was drawn before.

Source: Waudby-Smith, Ramdas 2024, Estimating means of bounded random variables by betting, JRSS B 86(1), arXiv
2010.09686: the hedged capital, each side betting a mixture of fixed shares ("diversified" bets; Cover's universal portfolio).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from markbook.measurements import CONFIDENCE, SIGNIFICANCE
from markbook.stats.arrays import check_confidence, finite
from markbook.stats.records import Estimate

if TYPE_CHECKING:
    from markbook.stats.arrays import Floats


SHARES = 40
"""How many fixed shares each side's capital is spread over: the middles of as many equal parts of 0..1."""
_STEPS = 60


def anytime_difference(gaps: Sequence[float], *, width: float = 1.0, confidence: float = CONFIDENCE) -> Estimate:
    """Return the mean of paired differences with an interval that holds at every look at once.

    It may be asked after every sample, and sampling may stop because of what it says. `stats` has `e_value` (of no
    difference; 1 / (1 - confidence) or more rejects it) and `decided_at`, the first sample after which 0 lay outside,
    where there was one. The samples have to come in an order that does not depend on them.

    Args:
        gaps: first - second, in the order in which they came.
        width: of the metric's range; a difference lies within -width..width.
        confidence: that the interval holds the true mean at all times.

    Raises:
        ValueError: a difference lies outside the range.
    """
    import numpy as np

    check_confidence(confidence)
    array = finite(gaps)
    if not (math.isfinite(width) and width > 0):
        raise ValueError(f"the width of the range must be a positive number, got {width}")
    scaled = array / width
    if array.size and float(np.abs(scaled).max()) > 1 + 1e-12:
        raise ValueError(f"a difference lies outside {-width:g}..{width:g}")
    if not array.size:
        return Estimate(None, n=0, method="betting", confidence=confidence, note="no common items")
    scaled = np.clip(scaled, -1.0, 1.0)
    limit = math.log(2 / (1 - confidence))
    # Half of the error for each side, hence log(2 / alpha).
    low, high = -_furthest(-scaled, limit), _furthest(scaled, limit)
    up, down = _capital_path(scaled), _capital_path(-scaled)
    stats = {"e_value": float(np.exp(min(700.0, np.logaddexp(up[-1], down[-1]) - math.log(2))))}
    decided = np.flatnonzero(np.maximum(up, down) >= limit)
    if decided.size:
        stats["decided_at"] = float(decided[0] + 1)
    mean = float(array.mean())
    ends = min(mean, width * low), max(mean, width * high)
    return Estimate(mean, *ends, n=array.size, method="betting", confidence=confidence, stats=stats)


def anytime_mean(
    values: Sequence[float], *, limits: tuple[float, float] = (0.0, 1.0), confidence: float = CONFIDENCE
) -> Estimate:
    """Return the mean of values within a range with an interval that holds at every look at once.

    Args:
        values: in the order in which they came.
        limits: the two ends of their range.
        confidence: that the interval holds the true mean at all times.

    Raises:
        ValueError: a value lies outside the range, or an end is open.
    """
    low, high = limits
    estimate = anytime_difference([2 * value - low - high for value in values], width=high - low, confidence=confidence)

    def unscale(end: float | None) -> float | None:
        return None if end is None else (end + low + high) / 2

    value, low_end, high_end = map(unscale, (estimate.value, estimate.low, estimate.high))
    return replace(estimate, value=value, low=low_end, high=high_end, note=estimate.note and "no items", stats={})


def _shares() -> Floats:
    import numpy as np

    shares: Floats = (np.arange(SHARES) + 0.5) / SHARES
    return shares


def _capital_path(scaled: Floats) -> Floats:
    """Return the log of the capital after each sample that bets on a mean above 0: shape (samples,)."""
    import numpy as np

    # Each share is a gambler of its own, shape (samples, shares); their mean capital, not their mean log, is what counts.
    logs = np.cumsum(np.log1p(np.outer(scaled, _shares())), axis=0)
    path: Floats = np.logaddexp.reduce(logs, axis=1) - math.log(SHARES)
    return path


def _furthest(scaled: Floats, limit: float) -> float:
    """Return the largest mean that is not refuted from above, by bisection."""
    import numpy as np

    values, counts = np.unique(scaled, return_counts=True)
    times = counts.astype(np.float64)
    low, high = -1.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        # The log of the capital at the end that bets on a mean below `middle`, with which it grows; how often each value
        # came is enough, for the order does not matter at the end.
        capital = math.inf
        if middle < 1:
            logs = times @ np.log1p(np.outer((middle - values) / (1 - middle), _shares()))
            capital = float(np.logaddexp.reduce(logs) - math.log(SHARES))
        if capital < limit:
            low = middle
        else:
            high = middle
    return high


# The sign-flip test, looked at after every sample of a number that is fixed beforehand.
#
# If two systems are alike, each difference is as likely to be turned as not, whatever its size and whichever samples
# differ. So the distribution of the sum is known exactly at every step, and an error of `alpha` can be spent along the way:
# by step t of N, alpha (t/N)^1.5 in all. Where the sum lies further out than this leaves open, the test has decided. No
# approximation is made, and the same p is not spent twice: over all looks together the error is alpha at most.
#
# Sources: Lan, DeMets 1983, Biometrika 70(3), discrete sequential boundaries; Kim, DeMets 1987, Biometrika 74(1), the power
# family of spending functions; Armitage, McPherson, Rowe 1969, JRSS A 132(2), the recursion over the steps of a walk.

POWER = 1.5
"""Of the share of the samples that is seen: 1 decides earlier and more seldom, 3 later and more often."""
_GRID = 64
"""Sizes of differences are counted in as many parts of the range: any counting keeps the error, as signs decide."""
_SLACK = 1e-12


class SequentialSigns:
    """Takes differences in their order, and knows after each whether the sum is decided."""

    def __init__(self, planned: int, *, width: float = 1.0, alpha: float = SIGNIFICANCE) -> None:
        """Begin.

        Args:
            planned: how many samples there will be if nothing is decided before.
            width: of the metric's range; a difference lies within -width..width.
            alpha: the chance to decide, at any look, where nothing differs.

        Raises:
            ValueError: a number that cannot be.
        """
        import numpy as np

        check_confidence(1 - alpha)
        if planned < 1 or not (math.isfinite(width) and width > 0):
            raise ValueError(f"need a sample at least and a positive width, got {planned} and {width}")
        self.planned = planned
        self.alpha = alpha
        self.seen = 0
        self.decided_at: int | None = None
        self.sum = 0
        """Of the differences, in parts of the range."""
        self._width = width
        self._spent = 0.0
        self._unit = _GRID
        self._mass: Floats = np.ones(1)
        """How likely each sum is, undecided as yet, from the lowest to the highest in steps of the unit."""

    def add(self, gap: float | None) -> bool:
        """Take the next difference, None where a sample has none, and return whether it is decided.

        Raises:
            ValueError: it lies outside the range, or more come than were planned.
        """
        if self.decided_at is not None:
            return True
        if self.seen >= self.planned:
            raise ValueError(f"more samples were added than the {self.planned} that were planned")
        self.seen += 1
        if gap is not None:
            if not abs(gap) <= self._width * (1 + _SLACK):
                raise ValueError(f"a difference lies outside {-self._width:g}..{self._width:g}")
            step = round(abs(gap) / self._width * _GRID)
            if step:
                self._walk(step)
                self.sum += step if gap > 0 else -step
        if self._is_outside():
            self.decided_at = self.seen
        return self.decided_at is not None

    def _walk(self, step: int) -> None:
        """Spread what is not decided one step to either side."""
        import numpy as np

        # The sums are counted in the coarsest unit that fits all steps so far: all-or-nothing marks need one place a step.
        unit = math.gcd(self._unit, step)
        if unit != self._unit:
            finer = np.zeros((self._mass.size - 1) * (self._unit // unit) + 1)
            finer[:: self._unit // unit] = self._mass
            self._mass, self._unit = finer, unit
        reach = 2 * (step // unit)
        spread = np.zeros(self._mass.size + reach)
        spread[: self._mass.size] += self._mass / 2
        spread[reach:] += self._mass / 2
        self._mass = spread

    def _is_outside(self) -> bool:
        """Spend what may be spent by now on the outermost sums, and return whether this one is among them."""
        import numpy as np

        allowed = self.alpha * (self.seen / self.planned) ** POWER - self._spent
        tails = 2 * np.cumsum(self._mass[::-1])
        half = self._mass.size // 2
        cut = min(int(np.searchsorted(tails, allowed * (1 + _SLACK), side="right")), half)
        if not cut:
            return False
        # Only what was taken is spent, not what was allowed: sums are lumps, and the rest serves later looks.
        self._spent += float(tails[cut - 1])
        self._mass = self._mass[cut:-cut]
        return abs(self.sum) > (half - cut) * self._unit


def sequential_sign_test(
    gaps: Sequence[float], planned: int, *, width: float = 1.0, confidence: float = CONFIDENCE
) -> Estimate:
    """Return the mean of paired differences, and after which sample they were decided to be none of chance.

    `stats` has `decided_at`, where there was one. The samples have to come in an order that does not depend on them.

    Args:
        gaps: first - second, in the order in which they came.
        planned: how many there were to be if nothing was decided.
        width: of the metric's range.
        confidence: 1 less the chance to decide, at any look, where nothing differs.

    Raises:
        ValueError: a difference lies outside the range, or there are more than planned.
    """
    array = finite(gaps)
    if array.size > planned:
        raise ValueError(f"{planned} samples were planned and {array.size} have come")
    test = SequentialSigns(planned, width=width, alpha=1 - confidence)
    for gap in array:
        if test.add(float(gap)):
            break
    stats = {} if test.decided_at is None else {"decided_at": float(test.decided_at)}
    mean = float(array.mean()) if array.size else None
    note = "" if array.size else "no common items"
    return Estimate(mean, n=array.size, method="sequential-signs", confidence=confidence, note=note, stats=stats)
