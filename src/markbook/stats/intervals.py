"""Intervals of a mean, a share and a rate: named methods, each with its n.

Theory of operation
-------------------
Every command that shows a mean gets its interval from `mean_interval`, which chooses by the data:

    values                                              method         function
    all at the two ends of the range (right or wrong)   wilson         `wilson_interval`
    inside a range with two ends (partial credit)       wilson-t       `score_interval`
    in a range without ends, below 6 values             t              `t_interval`
    in a range without ends, 6 to 59 values             bca-expanded   `bootstrap_mean`
    in a range without ends, 60 values or more          t              `t_interval`

Related items (several samples of one source) go by `clustered_interval` instead; the caller knows the clusters.
The method stands beside the number, as part of what is reported, so a reader can check it.

Why these. Wald's p +- z se collapses to a point at 0 % and 100 %, which are frequent results; Wilson's does not. Student's t on
partial credit leaves the range, and near an end covers too little, because a few values have not shown the rare ones;
`score_interval` carries Wilson's shape over to them and becomes t in the middle of the range. Without ends nothing has such a
shape: t is symmetrical, BCa follows the skew of the sample, and below six values there is too little to resample.

What the numbers promise was measured and not assumed: `bench/coverage.py` simulates how often an interval covers the true
mean. The thresholds below (`UNSEEN`, `_FEWEST_AWAY`, `_SKEWED` and others) come from it. Where coverage is below 93 % the
interval is still given, and its `note` begins with `NARROW`.

Two things are refused: an interval of fewer than two values, and one of equal values inside the range, whose standard error of
0 would claim certainty. Values above `VAST` would overflow when squared, so they have a mean and no interval.

Sources: Wilson 1927; Brown, Cai, DasGupta 2001; Dean, Pagano 2015; Efron 1987 (BCa); Hesterberg 2015 (expanded
percentiles); Miller 2024, arXiv 2411.00640 (clusters). numpy is imported inside the functions that need it: its import takes longer
than everything that an exam of a few answers computes.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from markbook.measurements import CONFIDENCE
from markbook.stats.arrays import (
    VAST,
    check_confidence,
    finite,
    has_variation,
    is_vast,
    normal_below,
    normal_inverse,
    normal_quantile,
    t_quantile,
)
from markbook.stats.records import Estimate

if TYPE_CHECKING:
    from markbook.stats.arrays import Floats, Ints


# Intervals of one mean: Wilson, Jeffreys, t, bootstrap, clustered; and the rule that chooses among them.

ENUMERATE_UP_TO = 6
"""Below this many values all n^n resamples are computed, so that the bootstrap is exact."""
UNSEEN = 0.6
"""How far values at the ends of a range speak for rare ones that were not seen; see `score_interval`."""
RESAMPLED_UP_TO = 59
"""With more values than this t covers as well as BCa where the range has no ends."""
RESAMPLED_FROM = 6
"""Where a range has no ends the score interval has no meaning: Student's t below this many values, the bootstrap from here."""
NARROW = "the interval may be too narrow"
"""How a note begins that warns of an interval which covers less often than it says."""
_NEAR = 0.05
"""So much of the range is near its end."""
_FEWEST_AWAY = 8
"""With fewer values away from the end at which most lie, such intervals cover less than 93 %; by simulation."""
FEWEST_AT_ENDS = 11
"""With fewer values, half of which or more lie at the ends of the range, coverage swings between 84 and 100 %."""
MANY_OPPOSITE = 0.1
"""With this share of the values at the other end too, those are counted as a share is."""
MANY_ALIKE = 0.4
"""With this share at one mark few clusters, few differences or few problems of pass@k have not shown what is rare."""
_FEWEST_CLUSTERS = 11
_FEWEST_CLUSTERS_AWAY = 10
_FEWEST_WITHOUT_ENDS = 20
_SKEWED = 0.02
"""Skewness squared over n; by simulation with gamma and lognormal values."""
TOO_LARGE = f"values above {VAST:g}: no interval"
TOO_FEW = "n < 2: no interval"
NO_VARIATION = "no variation: no interval"
CLUSTERS_ALIKE = "every cluster has the same mean: no interval"


def _check_counts(x: int, n: int) -> None:
    if n < 1 or not 0 <= x <= n:
        raise ValueError(f"need 0 <= x <= n and n >= 1, got x={x}, n={n}")


def wilson_interval(x: int, n: int, *, confidence: float = CONFIDENCE) -> Estimate:
    """Return x/n with Wilson's score interval, which stays inside 0..1.

    Args:
        x: successes.
        n: trials.
        confidence: between 0 and 1.

    Source: Wilson 1927; Brown, Cai, DasGupta 2001 recommend it over Wald's.
    """
    _check_counts(x, n)
    z = normal_quantile(confidence)
    p = x / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    reach = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    # At the edges the formula is exactly 0 or 1; rounding must not say 1e-17.
    low = 0.0 if x == 0 else centre - reach
    high = 1.0 if x == n else centre + reach
    return Estimate(p, low, high, math.sqrt(p * (1 - p) / n), n=n, method="wilson", confidence=confidence)


def jeffreys_interval(x: int, n: int, *, confidence: float = CONFIDENCE, edge: bool = True) -> Estimate:
    """Return x/n with the equal-tailed interval under Jeffreys' prior Beta(1/2, 1/2).

    Args:
        x: successes.
        n: trials.
        confidence: between 0 and 1.
        edge: pin the lower end to 0 at x = 0 and the upper to 1 at x = n, as Brown, Cai, DasGupta 2001 advise.
    """
    from scipy.special import betaincinv

    _check_counts(x, n)
    check_confidence(confidence)
    tail = (1 - confidence) / 2
    low = 0.0 if edge and x == 0 else float(betaincinv(x + 0.5, n - x + 0.5, tail))
    high = 1.0 if edge and x == n else float(betaincinv(x + 0.5, n - x + 0.5, 1 - tail))
    p = x / n
    return Estimate(p, low, high, math.sqrt(p * (1 - p) / n), n=n, method="jeffreys", confidence=confidence)


def t_interval(values: Sequence[float], *, confidence: float = CONFIDENCE) -> Estimate:
    """Return the mean with its standard error s/sqrt(n) and Student's interval.

    Without variation or with fewer than two values it has no interval. It is not clipped to any range.
    """
    array = finite(values).copy()
    array.sort()  # the last digit of a sum is that of its order
    check_confidence(confidence)
    n = array.size
    if n == 0:
        return Estimate(None, n=0, method="t", confidence=confidence, note="no values")
    mean = float((array / n).sum() if is_vast(array) else array.mean())
    if n < 2 or is_vast(array):
        return Estimate(mean, n=n, method="t", confidence=confidence, note=TOO_FEW if n < 2 else TOO_LARGE)
    if not has_variation(array):
        return Estimate(mean, se=0.0, n=n, method="t", confidence=confidence, note=NO_VARIATION)
    se = float(array.std(ddof=1)) / math.sqrt(n)
    reach = t_quantile(confidence, n - 1) * se
    return Estimate(mean, mean - reach, mean + reach, se, n=n, method="t", confidence=confidence)


def mean_of_means(means: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    """Return an interval of the mean of independent means, each counting the same, by the interval of each.

    The squared distances of a mean to its lower ends add up, and those to its upper ends. A mean of few values that do not
    vary so has the uncertainty that its own interval says, and not none. Many means near one end of a range have hardly any
    distance to that side, and err there all the same: either distance is at least what half the widths give, inside the means
    of all ends.

    Args:
        means: each with its lower and its upper end.

    Source: Zou, Donner 2008 (MOVER); of two means it is Newcombe's.
    """
    value, lowest, highest = (math.fsum(ends) / len(means) for ends in zip(*means, strict=True))
    either = math.hypot(*((high - low) / 2 for _, low, high in means))
    below = max(either, math.hypot(*(mean - low for mean, low, _ in means))) / len(means)
    above = max(either, math.hypot(*(high - mean for mean, _, high in means))) / len(means)
    return max(lowest, value - below), min(highest, value + above)


def score_interval(
    values: Sequence[float], *, limits: tuple[float, float] = (0.0, 1.0), confidence: float = CONFIDENCE
) -> Estimate:
    """Return the mean of values in a range with Wilson's score interval, carried from shares to partial credit.

    On a scale of 0 to 1 it holds every mean m with (p - m)^2 <= t^2 phi m (1 - m) / n: the variance shrinks towards both
    ends as that of a share does, phi = s^2 / (p (1 - p)) is how much of a share's variance the values have (1 at most),
    and t is Student's quantile. For values amid the range that is the t interval; near an end it leans inwards,
    where a skewed sample has seen too little. Never outside the range.

    Of a share e of the values that lie at an end of the range two things follow. Their variance is known from the mean,
    as a share's is, so t has (n - 1) / (1 - e phi) degrees of freedom; and beside many marks at an end there are rare others
    that few values do not show, so phi is raised by `UNSEEN` e (1 - phi) (n - 3) / n^2. All values at the ends: Wilson's.

    Without variation or with fewer than two values it has no interval.

    Args:
        values: one per item, inside `limits`.
        limits: the two ends of the range, both finite.
        confidence: between 0 and 1.

    Source: Wilson's interval at the effective sample size n / phi, as surveys use it (Dean, Pagano 2015). What the ends
    add was found by simulation: `bench/coverage.py`.
    """
    array = finite(values)
    bottom, top = limits
    if not (math.isfinite(top - bottom) and top > bottom):
        raise ValueError(f"a score interval needs a range with two ends, got {bottom:g}..{top:g}")
    if array.size and not (bottom <= array.min() and array.max() <= top):
        raise ValueError(f"a value lies outside {bottom:g}..{top:g}")
    plain = t_interval(values, confidence=confidence)
    if plain.low is None or plain.se is None or plain.value is None:
        return replace(plain, method="wilson-t")
    n, width = array.size, top - bottom
    p = (plain.value - bottom) / width  # neither 0 nor 1: there is variation
    ends = float(((array == bottom) | (array == top)).mean())
    phi = min(1.0, n * (plain.se / width) ** 2 / (p * (1 - p)))
    own = 1 - ends * phi
    quantile = t_quantile(confidence, (n - 1) / own) if own > 0 else normal_quantile(confidence)
    phi += UNSEEN * ends * (1 - phi) * max(0, n - 3) / n**2
    return replace(_lean_inwards(plain, limits, p, quantile**2 * phi / n), method="wilson-t")


def _lean_inwards(estimate: Estimate, limits: tuple[float, float], p: float, spread: float) -> Estimate:
    """Return an estimate with Wilson's ends around a mean that is the share p of the range; z^2 / n is the spread of a share."""
    centre = (p + spread / 2) / (1 + spread)
    reach = math.sqrt(spread * p * (1 - p) + spread**2 / 4) / (1 + spread)
    bottom, width = limits[0], limits[1] - limits[0]
    low, high = bottom + width * max(0.0, centre - reach), bottom + width * min(1.0, centre + reach)
    return replace(estimate, low=low, high=high)


def _few_at_ends(values: Sequence[float], limits: tuple[float, float]) -> str:
    """Return a warning where few values, at the ends of the range by half or more, have few means; else nothing."""
    bottom, top = limits
    margin = _NEAR * (top - bottom)
    n_at_ends = sum(value - bottom <= margin or top - value <= margin for value in values)
    if len(values) >= FEWEST_AT_ENDS or 2 * n_at_ends < len(values):
        return ""
    return f"{NARROW}: only {len(values)} values, half or more of them at the ends of the range"


def few_away(
    values: Sequence[float],
    limits: tuple[float, float],
    fewest: float = _FEWEST_AWAY,
    opposite: float = MANY_OPPOSITE,
    majority: float = 0.5,
) -> str:
    """Return a warning where most values, or the share `majority`, lie at one end of the range and the error rests on few others; else nothing."""
    if all(value in limits for value in values):
        # what is away from one end is at the other, so counting does, and spares an exam the import of numpy
        bottom, top = limits
        at_top = sum(value == top for value in values)
        end, rare = (bottom, at_top) if 2 * at_top < len(values) else (top, len(values) - at_top)
        if rare >= min(fewest, opposite * len(values)) or not rare:
            return ""
    else:
        end, away = _away(finite(values), limits, limits, opposite, majority)
        if away is None or _effective_number(away) >= fewest:
            return ""
    return f"{NARROW}: it rests on few values away from {end:g}"


def _away(
    array: Floats, limits: tuple[float, float], marks: Sequence[float], opposite: float = 2.0, majority: float = 0.5
) -> tuple[float, Floats | None]:
    """Return at which of the marks more than this share of the values lie, and how far the values are from it, 1 the range.

    None without such a mark, or with none away from it; or where the share `opposite` is as far away as can be.
    """
    import numpy as np

    bottom, top = limits
    if not (math.isfinite(top - bottom) and top > bottom):
        return bottom, None
    for mark in marks:
        away: Floats = np.abs(array - mark) / (top - bottom)
        if float((away <= _NEAR).mean()) > majority and away.any() and float((away == 1).mean()) < opposite:
            return mark, away
    return bottom, None


def _effective_number(weights: Floats) -> float:
    """Return how many weights of one size these amount to (Kish)."""
    return float(weights.sum()) ** 2 / float((weights**2).sum())


def _warn_of_skew(array: Floats) -> str:
    """Return a warning where values are clearly skewed for their number; else nothing."""
    n = array.size
    if n < 3 or not has_variation(array) or is_vast(array):  # of two values nothing is skewed
        return ""
    scaled = array - array.mean()
    scaled = scaled / abs(scaled).max()
    skewness = float((scaled**3).mean()) / float((scaled**2).mean()) ** 1.5
    chance = math.sqrt(6 * n * (n - 1) / ((n - 2) * (n + 1) * (n + 3)))  # its standard error where nothing is skewed
    if abs(skewness) < 1.5 * chance or skewness**2 / n < _SKEWED:
        return ""
    return f"{NARROW}: the {n} values are skewed"


def few_differing(gaps: Floats, width: float, clusters: Sequence[Hashable] | None) -> str:
    """Return a warning where the interval of paired differences rests on few of them, or on skewed ones; else nothing."""
    import numpy as np

    limits, n = (-width, width), gaps.size
    gaps = np.where(np.abs(gaps) <= 1e-12, 0.0, gaps)  # rounding is not a difference
    if clusters is not None:
        return _few_clusters(gaps, clusters, limits, (0.0, *limits))
    mark, away = _away(gaps, limits, (0.0, *limits))
    # Half the range of a difference is that of a score.
    if away is not None and _effective_number(away) < _FEWEST_AWAY:
        return f"{NARROW}: it rests on few differences away from {mark:g}"
    if n < FEWEST_AT_ENDS and float(((gaps == 0) | (np.abs(gaps) >= (1 - _NEAR) * width)).mean()) >= MANY_ALIKE:
        return f"{NARROW}: {n} differences are few where many are 0 or as large as can be"
    return _warn_of_skew(gaps)


def _few_clusters(
    array: Floats, clusters: Sequence[Hashable], limits: tuple[float, float], marks: Sequence[float] = ()
) -> str:
    """Return a warning where the error rests on few clusters, by their sizes or by what is rare in them; else nothing.

    Values may pile up at the marks, or at the ends of the range.
    """
    import numpy as np

    numbers: dict[Hashable, int] = {}
    index = [numbers.setdefault(cluster, len(numbers)) for cluster in clusters]
    sizes = np.bincount(index).astype(np.float64)
    if (counted := _effective_number(sizes)) < min(_FEWEST_CLUSTERS, 0.97 * sizes.size):
        return f"{NARROW}: by their sizes the {sizes.size} clusters count as {counted:.1f}"
    if not math.isfinite(limits[1] - limits[0]):
        return ""
    is_few = sizes.size < FEWEST_AT_ENDS
    if is_few and not marks:
        means = (np.bincount(index, array) / sizes).tolist()  # so few clusters are as so few values
        if note := few_away(means, limits) or _few_at_ends(means, limits):
            return note
    mark, away = _away(array, limits, marks or limits)
    fewest = min(_FEWEST_CLUSTERS_AWAY, 0.6 * sizes.size)  # fewer than there are, or nothing is rare
    if away is not None and _effective_number(np.bincount(index, away).astype(np.float64)) < fewest:
        return f"{NARROW}: it rests on few clusters with values away from {mark:g}"
    mark, away = _away(array, limits, marks or limits, majority=MANY_ALIKE)
    if is_few and away is not None and bool(((array != limits[0]) & (array != limits[1]) & (array != mark)).any()):
        return f"{NARROW}: {sizes.size} clusters are few where many values are {mark:g}"
    return ""


def _resampled_means(array: Floats, n_resamples: int, seed: int) -> Floats:
    """Return the means of all n^n resamples if they are few, else of `n_resamples` drawn ones: shape (resamples,)."""
    import numpy as np

    array, n = np.sort(array), array.size  # drawn by place: the order of the items is not to matter
    if n <= ENUMERATE_UP_TO:
        picks = np.indices((n,) * n).reshape(n, -1)  # 46,656 of 6 values; 7 would have 823,543
        every: Floats = array[picks].mean(axis=0)
        return every
    rng = np.random.default_rng(seed)
    means = np.empty(n_resamples)
    step = max(1, 2_000_000 // n)  # bounds the memory to a few tens of megabytes
    for start in range(0, n_resamples, step):
        stop = min(start + step, n_resamples)
        means[start:stop] = array[rng.integers(0, n, (stop - start, n))].mean(axis=1)
    return means


def bca_parameters(array: Floats, means: Floats) -> tuple[float, float]:
    """Return BCa's bias correction z0 and acceleration a (Efron 1987), a by the jackknife.

    Resamples that equal the mean count half, so that a symmetric sample has z0 = 0.
    """
    import numpy as np

    mean = array.mean()
    slack = 1e-12 * max(1.0, float(np.abs(array).max()))  # sums of the same values in another order
    below = np.count_nonzero(means < mean - slack)
    at = np.count_nonzero(np.abs(means - mean) <= slack)
    share = (below + at / 2) / means.size
    n = array.size
    gaps = (array - mean) / (n - 1)  # mean of the leave-one-out means minus each of them
    gaps = gaps / np.abs(gaps).max()  # a has no unit, and powers of tiny gaps would vanish
    spread = float((gaps**2).sum())
    return normal_inverse(share), float((gaps**3).sum() / (6 * spread**1.5))


def _bca_tail(bias: float, acceleration: float, z: float) -> float:
    """Return the share of resamples that lie below BCa's end at a normal quantile."""
    shifted = bias + z
    # Beyond 1 / a the formula turns back to the other side: from there on it is the end of all resamples.
    if acceleration * shifted >= 1 or not math.isfinite(shifted):
        return 1.0 if shifted > 0 else 0.0
    return normal_below(bias + shifted / (1 - acceleration * shifted))


def bootstrap_mean(
    values: Sequence[float],
    *,
    method: Literal["bca", "bca-expanded", "percentile"] = "bca",
    n_resamples: int = 9999,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Return the mean with a bootstrap interval; it stays within the smallest and largest value.

    Args:
        values: one per item.
        method: `bca` (bias-corrected and accelerated), `percentile`, or `bca-expanded`: BCa at the percentiles
            Phi(-+ sqrt(n/(n-1)) t(n-1)), which undo that resamples of few values vary too little (Hesterberg 2015).
        n_resamples: how many are drawn; up to 6 values all of them are computed instead.
        seed: of numpy's default generator: the same seed gives the same interval.
        confidence: between 0 and 1.
    """
    import numpy as np

    array = finite(values)
    check_confidence(confidence)
    if method not in ("bca", "bca-expanded", "percentile"):
        raise ValueError(f"unknown bootstrap method {method!r}: bca, bca-expanded or percentile")
    n = array.size
    if n == 0:
        return Estimate(None, n=0, method=method, confidence=confidence, note="no values")
    mean = float(array.mean())
    if n < 2:
        return Estimate(mean, n=n, method=method, confidence=confidence, note=TOO_FEW)
    if not has_variation(array):
        return Estimate(mean, se=0.0, n=n, method=method, confidence=confidence, note=NO_VARIATION)
    means = _resampled_means(array, n_resamples, seed)
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    if method != "percentile":
        # The reach itself, not by way of its tail: that of a reach above 8 cannot be told from 0.
        expanded = math.sqrt(n / (n - 1)) * t_quantile(confidence, n - 1)
        reach = expanded if method == "bca-expanded" else normal_quantile(confidence)
        bias, acceleration = bca_parameters(array, means)
        tails = [_bca_tail(bias, acceleration, z) for z in (-reach, reach)]
    low, high = (float(end) for end in np.quantile(means, tails))
    return Estimate(mean, low, high, float(means.std(ddof=1)), n=n, method=method, confidence=confidence)


def clustered_standard_error(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    correction: Literal["CR2", "CR1", "CR0"] = "CR1",
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Return the mean with an error that allows related items: those of one cluster may move together.

    se = sqrt(sum over clusters of (sum of residuals)^2) / n, times sqrt(G/(G-1)) for CR1; interval by t(G-1). CR2 divides each
    square by 1 - h, with h the cluster's share of the items, and its t has the degrees of freedom that such a sum has if items
    of a cluster correlate as the design effect says. For clusters of equal size it is CR1; for others CR1 covers too little:
    86 % with 40 clusters of lognormal sizes (sigma 1.5), where CR2 covers 97 %.
    `stats` has n_clusters, degrees (of freedom), se_iid (what ignoring the clusters would say) and design_effect (the squared
    ratio of the two, both without a small-sample factor).

    Args:
        values: one per item.
        clusters: which cluster each item belongs to: a source, a problem with several samples.
        correction: CR1 has the small-sample factor, CR2 one for each cluster, CR0 none.
        confidence: between 0 and 1.

    Source: Miller 2024, arXiv 2411.00640; CR2: Bell, McCaffrey 2002, Survey Methodology 28(2), 169-181, with the degrees of
    freedom of Imbens, Kolesar 2016, Review of Economics and Statistics 98(4), 701-712.
    """
    import numpy as np

    array = finite(values)
    check_confidence(confidence)
    if len(clusters) != array.size:
        raise ValueError(f"{array.size} values and {len(clusters)} clusters")
    if correction not in ("CR0", "CR1", "CR2"):
        raise ValueError(f"unknown correction {correction!r}: CR0, CR1 or CR2")
    method = f"cluster-{correction.lower()}"
    if array.size == 0:
        return Estimate(None, n=0, method=method, confidence=confidence, note="no values")
    mean, n = float(array.mean()), array.size
    numbers: dict[Hashable, int] = {}
    index = [numbers.setdefault(cluster, len(numbers)) for cluster in clusters]
    sums = np.bincount(index, weights=array - array.mean(), minlength=len(numbers)).astype(np.float64)
    sums[np.abs(sums) <= 1e-12 * np.abs(array).sum()] = 0.0  # the rounding of values that cancel
    groups = sums.size
    if groups < 2:
        note = "fewer than 2 clusters: no interval"
        return Estimate(mean, n=n, method=method, confidence=confidence, note=note, stats={"n_clusters": groups})
    plain = math.sqrt(float((sums**2).sum())) / n
    factor = 1.0 if correction == "CR0" else math.sqrt(groups / (groups - 1))
    se, iid = plain * factor, float(array.std(ddof=1)) / math.sqrt(n)
    stats = {"n_clusters": float(groups), "degrees": groups - 1.0, "se_iid": iid}
    note = NO_VARIATION if not has_variation(array) else "" if sums.any() else CLUSTERS_ALIKE
    if note:
        return Estimate(mean, se=0.0, n=n, method=method, confidence=confidence, note=note, stats=stats)
    # The uncorrected error against the uncorrected independent one, so that the ratio compares like with like.
    stats["design_effect"] = (plain / iid) ** 2 * n / (n - 1)
    sizes = np.bincount(index)
    if correction == "CR2" and (sizes != sizes[0]).any():
        part = describe_clusters(np.array(index), np.ones(n), (array - array.mean()) / n, groups)
        variance, stats["degrees"] = sum_clusters(sums / n, [part])
        se = math.sqrt(variance)
    reach = t_quantile(confidence, stats["degrees"]) * se
    return Estimate(mean, mean - reach, mean + reach, se, n=n, method=method, confidence=confidence, stats=stats)


@dataclass(frozen=True, slots=True)
class ClusterPart:
    """One mean of related items: what each cluster adds to it, if items of a cluster correlate as the design effect says."""

    shares: Floats
    """Of each cluster, in the mean: 1 in all."""
    variances: Floats
    related_variances: Floats
    """Of what each cluster adds, were its items independent, and as they correlate."""


def describe_clusters(index: Ints, weights: Floats, deviations: Floats, groups: int) -> ClusterPart:
    """Return how a weighted mean is made of clusters.

    Args:
        index: the cluster of each item.
        weights: of each item.
        deviations: by how much each item moves the mean, so that all of them add up to 0.
        groups: clusters in all; some may have no item.
    """
    import numpy as np

    totals = np.bincount(index, weights, groups).astype(np.float64)
    squares = np.bincount(index, weights**2, groups).astype(np.float64)
    sums = np.bincount(index, deviations, groups)
    spread = float((deviations**2).sum())
    clumped = float((totals**2).sum() / squares.sum()) - 1  # b - 1 in Kish's 1 + (b - 1) rho
    related = (float((sums**2).sum()) / spread - 1) / clumped if spread and clumped > 0 else 0.0
    rho, unit = min(1.0, max(0.0, related)), spread / float(squares.sum())
    return ClusterPart(totals / totals.sum(), unit * squares, unit * (squares * (1 - rho) + totals**2 * rho))


def sum_clusters(sums: Floats, parts: Sequence[ClusterPart]) -> tuple[float, float]:
    """Return the variance of a sum of means by CR2, and its degrees of freedom, tr(M)^2 / tr(M^2).

    Each cluster's square is divided by the share of its variance that is left when the means are taken off. M is the covariance
    of the clusters' sums as the parts describe it, each row divided so, too.

    Args:
        sums: what the items of each cluster add to the sum of the means, as deviations.
        parts: the means.
    """
    import numpy as np

    def take_off(share: Floats, variance: Floats) -> Floats:
        change: Floats = share * (share * variance.sum() - 2 * variance)
        return change

    plain = np.sum([part.variances for part in parts], axis=0)
    remaining = plain + np.sum([take_off(part.shares, part.variances) for part in parts], axis=0)
    factor = np.divide(plain, remaining, out=np.ones_like(plain), where=remaining > 0)
    # The covariance is a diagonal and, of each mean, two columns: no square table of all clusters is needed.
    own = np.sum([part.related_variances for part in parts], axis=0)
    beside = np.sum([take_off(part.shares, part.related_variances) for part in parts], axis=0)
    columns = np.column_stack([column for part in parts for column in (part.shares, part.related_variances)])
    kernel = np.zeros((2 * len(parts), 2 * len(parts)))
    for at, part in enumerate(parts):
        kernel[2 * at : 2 * at + 2, 2 * at : 2 * at + 2] = [[part.related_variances.sum(), -1.0], [-1.0, 0.0]]
    mixed = kernel @ (columns.T * factor) @ columns
    trace = float((factor * (own + beside)).sum())
    squared = float((factor**2 * (own**2 + 2 * own * beside)).sum() + (mixed * mixed.T).sum())
    return float((factor * sums**2).sum()), trace**2 / squared if squared > 0 else math.inf


def clustered_interval(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    limits: tuple[float, float],
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Return the mean of related items as `clustered_standard_error` by CR2, with an interval inside the range.

    In a range with two ends it is Wilson's at the effective sample size, p (1 - p) / se^2 on a scale of 0 to 1, with CR2's t: near
    an end it leans inwards, where t covers too little. The note warns where the clusters are few for such values.

    Source: Wilson's interval at the effective sample size, as surveys use it (Kott, Carr 1997; Dean, Pagano 2015).
    """
    estimate = clustered_standard_error(values, clusters, correction="CR2", confidence=confidence)
    if estimate.low is None or estimate.high is None or estimate.value is None or estimate.se is None:
        return estimate
    bottom, top = limits
    note = _few_clusters(finite(values), clusters, limits)
    p = (estimate.value - bottom) / (top - bottom) if math.isfinite(top - bottom) else 0.0
    if not 0 < p < 1:
        return replace(estimate, low=max(estimate.low, bottom), high=min(estimate.high, top), note=note)
    quantile = t_quantile(confidence, estimate.stats["degrees"])
    spread = (quantile * estimate.se / (top - bottom)) ** 2 / (p * (1 - p))
    return replace(_lean_inwards(estimate, limits, p, spread), method="cluster-wilson-t", note=note)


def mean_interval(
    values: Sequence[float],
    *,
    limits: tuple[float, float] = (0.0, 1.0),
    confidence: float = CONFIDENCE,
    seed: int = 0,
    n_resamples: int = 9999,
) -> Estimate:
    """Return the mean with the interval that suits the data, clipped into the range.

    Wilson where every value is one of the two ends of the range; else Wilson's interval for partial credit
    (`score_interval`). In a range without ends it is t below 6 values, BCa with expanded percentiles to 59 and t from
    there. With fewer than two values, or equal values inside the range, the interval is missing and `note` says so; it also
    warns where such intervals cover less than 93 %.

    Args:
        values: one per item, inside `limits`.
        limits: the range of a value; an infinite end is allowed.
        confidence: between 0 and 1.
        seed: for BCa.
        n_resamples: for BCa.
    """
    check_confidence(confidence)
    bottom, top = limits
    n = len(values)
    if n == 0:
        return Estimate(None, n=0, confidence=confidence, note="no values")
    # These two need no numpy, whose import takes longer than all else that an exam of a few answers computes.
    if n == 1:
        value = float(values[0]) if isinstance(values[0], int | float) else math.nan
        value = value if math.isfinite(value) else float(finite(values)[0])  # which says what is wrong with it
        return Estimate(value, n=1, confidence=confidence, note=TOO_FEW)
    bounded = math.isfinite(top - bottom) and top > bottom
    if bounded and all(value in (bottom, top) for value in values):
        share, width = wilson_interval(sum(value == top for value in values), n, confidence=confidence), top - bottom
        assert share.low is not None
        assert share.high is not None
        assert share.se is not None
        mean, low, high = math.fsum(values) / n, bottom + width * share.low, bottom + width * share.high
        note = _few_at_ends(values, limits)
        return Estimate(mean, low, high, width * share.se, n=n, method="wilson", confidence=confidence, note=note)
    is_usual = max(map(abs, values)) <= VAST
    if bounded and is_usual:
        estimate = score_interval(values, limits=limits, confidence=confidence)
    elif RESAMPLED_FROM <= n <= RESAMPLED_UP_TO and is_usual:
        estimate = bootstrap_mean(
            values, method="bca-expanded", seed=seed, n_resamples=n_resamples, confidence=confidence
        )
    else:
        estimate = t_interval(values, confidence=confidence)
    if estimate.low is None or estimate.high is None:
        return estimate
    if bounded:
        note = few_away(values, limits) or _few_at_ends(values, limits)
    elif n < _FEWEST_WITHOUT_ENDS:
        note = f"{NARROW}: {n} values are few in a range without ends"
    else:
        note = _warn_of_skew(finite(values))
    return replace(estimate, low=max(estimate.low, bottom), high=min(estimate.high, top), stats={}, note=note)
