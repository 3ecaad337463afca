"""A difference that may be looked at after every sample: bets against it, and the means that no bet has ruined.

Against "the mean is m or less" a gambler stakes a share s of the capital on each difference; if the claim is true the
capital is a supermartingale, and by Ville's inequality it ever reaches 1/a with probability a at most, whenever anybody
looks and for whatever reason the sampling stops. What no bet refutes is a confidence sequence.

Source: Waudby-Smith, Ramdas 2024, Estimating means of bounded random variables by betting, JRSS B 86(1), arXiv
2010.09686: the hedged capital, each side betting a mixture of fixed shares ("diversified" bets; Cover's universal portfolio).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from markbook.stats.arrays import check_confidence, finite
from markbook.stats.records import Estimate

if TYPE_CHECKING:
    from markbook.stats.arrays import Floats

SHARES = 40
"""How many fixed shares each side's capital is spread over: the middles of as many equal parts of 0..1."""
_STEPS = 60


def anytime_difference(gaps: Sequence[float], *, width: float = 1.0, confidence: float = 0.95) -> Estimate:
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
    values: Sequence[float], *, limits: tuple[float, float] = (0.0, 1.0), confidence: float = 0.95
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

    note = estimate.note and "no items"
    return replace(
        estimate,
        value=unscale(estimate.value),
        low=unscale(estimate.low),
        high=unscale(estimate.high),
        note=note,
        stats={},
    )


def _shares() -> Floats:
    import numpy as np

    shares: Floats = (np.arange(SHARES) + 0.5) / SHARES
    return shares


def _capital_path(scaled: Floats) -> Floats:
    """Return the log of the capital after each sample that bets on a mean above 0."""
    import numpy as np

    logs = np.cumsum(np.log1p(np.outer(scaled, _shares())), axis=0)
    path: Floats = np.logaddexp.reduce(logs, axis=1) - math.log(SHARES)
    return path


def _capital(values: Floats, times: Floats, m: float) -> float:
    """Return the log of the capital at the end that bets on a mean below m: it grows with m.

    Args:
        values: the different ones that came.
        times: how often each of them came; the order does not matter at the end.
        m: the mean.
    """
    import numpy as np

    logs = times @ np.log1p(np.outer((m - values) / (1 - m), _shares()))
    return float(np.logaddexp.reduce(logs) - math.log(SHARES))


def _furthest(scaled: Floats, limit: float) -> float:
    """Return the largest mean that is not refuted from above, by bisection."""
    import numpy as np

    values, counts = np.unique(scaled, return_counts=True)
    times = counts.astype(np.float64)
    low, high = -1.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle < 1 and _capital(values, times, middle) < limit:
            low = middle
        else:
            high = middle
    return high
