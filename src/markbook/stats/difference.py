"""Two models: paired and unpaired differences, exact tests, many comparisons, and what n items can show.

Theory of operation
-------------------
Two models that answered the same items are compared item by item: the items' difficulty, which is most of the variance of a
score, cancels out of the differences. All that is needed of a pair is the vector of differences a[i] - b[i], shape (n,).

- `paired_difference` gives its mean, standard error and interval. The error is that of the differences; `stats` has beside
  it what two bare means would say (`se_unpaired`), to show what pairing gained.
- `sign_flip_test` gives p. If the two models are alike, each difference might as well have had the other sign; p is the share
  of all 2^m sign patterns of the m non-zero differences whose sum is as far from 0 as the observed one. Up to
  `EXACT_FLIPS` of them every pattern is computed, and differences of one size need only be counted, which makes the test
  McNemar's (`mcnemar_exact`). No distribution is assumed, and items on which both agree carry no information.
- `tango_interval` is that where each item is right or wrong: t covers 83 to 93 % where few items differ, most of them to
  one side. It is Wilson's interval for pairs, and leaves out 0 where McNemar's statistic says so.
- Without common items there is `newcombe_difference`, from the two Wilson intervals.

Several comparisons at once are several chances to be wrong: `holm` bounds the chance of any false claim, `benjamini_hochberg`
the share of false claims. `markbook.stats.power` says what a comparison of this size could have shown.

Related items are not independent, so sign flips of single items would claim too much: with `clusters` the error is CR2 and the
test is t with its degrees of freedom.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from markbook.measurements import CONFIDENCE, SIGNIFICANCE
from markbook.stats.arrays import (
    check_confidence,
    finite,
    has_variation,
    normal_inverse,
    normal_quantile,
    t_quantile,
    t_two_sided,
)
from markbook.stats.intervals import NO_VARIATION, TOO_FEW, clustered_standard_error, wilson_interval
from markbook.stats.records import Estimate

if TYPE_CHECKING:
    from markbook.stats.arrays import Floats

EXACT_FLIPS = 16
"""Up to this many non-zero differences all 2^n sign flips are computed."""
_TIE = 1e-12


def _pair(a: Sequence[float], b: Sequence[float]) -> tuple[Floats, Floats]:
    first, second = finite(a, "a"), finite(b, "b")
    if first.size != second.size:
        raise ValueError(f"a has {first.size} items and b has {second.size}: a paired method needs the same items")
    return first, second


def paired_difference(
    a: Sequence[float],
    b: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Return mean(a - b) over the same items, with standard error, t interval and p.

    `stats` has sd (of the differences), correlation (absent where a side does not vary), se_unpaired (what two
    bare means would say), n_better, n_worse, n_equal; where any differ size, the mean of |a - b| over those that do,
    is_one_size, 1 where it is the same for all of them, and skew, the skewness of those that do, or of the clusters' sums.

    Args:
        a: scores of one model.
        b: scores of the other, item by item.
        clusters: which cluster each item belongs to; the error is then CR2 (`clustered_standard_error`), and there is none where the
            clusters have no error: fewer than two of them, or all with the same mean.
        confidence: between 0 and 1.
    """
    import numpy as np

    first, second = _pair(a, b)
    check_confidence(confidence)
    gaps = first - second
    gaps[np.abs(gaps) <= _TIE] = 0.0  # rounding, such as that of .3 - .1 - .2, is not a difference
    n = gaps.size
    if n == 0:
        return Estimate(None, n=0, method="paired-t", confidence=confidence, note="no common items")
    mean = float(gaps.mean())
    stats = _counts(first, second, gaps)
    if n < 2:
        return Estimate(mean, n=n, method="paired-t", confidence=confidence, note=TOO_FEW, stats=stats)
    if clusters is not None:
        estimate = clustered_standard_error(list(gaps), clusters, correction="CR2", confidence=confidence)
        stats["n_clusters"] = estimate.stats["n_clusters"]
        sums: dict[Hashable, float] = {}
        for name, gap in zip(clusters, gaps, strict=True):
            sums[name] = sums.get(name, 0.0) + float(gap) - mean
        stats["skew"] = _skewness(finite([*sums.values()]))
        clustered_p = None
        if estimate.low is None or estimate.se is None or estimate.value is None:
            estimate = replace(estimate, se=None)  # clusters that say nothing of the error have none, not one of 0
        else:
            stats["degrees"] = estimate.stats["degrees"]
            clustered_p = t_two_sided(estimate.value / estimate.se, stats["degrees"])
        return replace(estimate, p=clustered_p, method="paired-cr2", stats=stats)
    if not has_variation(gaps):
        note = "no variation in the differences: no interval"
        return Estimate(mean, se=0.0, n=n, method="paired-t", confidence=confidence, note=note, stats=stats)
    se = stats["sd"] / math.sqrt(n)
    reach = t_quantile(confidence, n - 1) * se
    p = t_two_sided(mean / se, n - 1)
    return Estimate(mean, mean - reach, mean + reach, se, p, n=n, method="paired-t", confidence=confidence, stats=stats)


def _skewness(values: Floats) -> float:
    """Return the third moment over the standard deviation's cube; 0 of values that do not vary."""
    if not has_variation(values):
        return 0.0
    apart = values - values.mean()
    apart /= abs(apart).max()  # first: cubes of tiny gaps would vanish
    return float((apart**3).mean() / (apart**2).mean() ** 1.5)


def _counts(first: Floats, second: Floats, gaps: Floats) -> dict[str, float]:
    """Return what is said of the pairs beside the mean difference; spreads from two pairs on."""
    n, better, worse = gaps.size, int((gaps > 0).sum()), int((gaps < 0).sum())
    counts = {"n_better": float(better), "n_worse": float(worse), "n_equal": float(n - better - worse)}
    sizes = abs(gaps[gaps != 0])
    if sizes.size:
        counts |= {"size": float(sizes.mean()), "is_one_size": float(not has_variation(sizes))}
        counts["skew"] = _skewness(gaps[gaps != 0])
    if n < 2:
        return counts
    counts["sd"] = float(gaps.std(ddof=1)) if has_variation(gaps) else 0.0  # equal gaps differ by their rounding
    counts["se_unpaired"] = math.sqrt((float(first.var(ddof=1)) + float(second.var(ddof=1))) / n)
    if has_variation(first) and has_variation(second):
        import numpy as np

        # Scaled to 1 first: a correlation has no unit, and squares of tiny gaps would vanish.
        first_scaled, second_scaled = first - first.mean(), second - second.mean()
        first_scaled /= np.abs(first_scaled).max()
        second_scaled /= np.abs(second_scaled).max()
        counts["correlation"] = float(
            (first_scaled * second_scaled).sum()
            / math.sqrt(float((first_scaled * first_scaled).sum()) * float((second_scaled * second_scaled).sum()))
        )
    return counts


def equal_differences_p(n: int) -> float:
    """Return the exact sign-flip p of n differences that are all the same and not 0: two of the 2^n signs are as far off.

    A t test has no p here, for nothing varies; never 0, however many there are.
    """
    return max(2.0 ** (1 - n), sys.float_info.min)


def sign_flip_ps(gaps: Floats, *, n_resamples: int = 100_000, seed: int = 0) -> list[float]:
    """Return the sign-flip p of each column of an items x pairs array; the drawn signs are shared by the columns.

    Two-sided by |sum|, ties within 1e-12 of the scale counted as extreme; drawn p's are (hits + 1)/(draws + 1).
    """
    import numpy as np

    n, pairs = gaps.shape
    observed = np.abs(gaps.sum(axis=0))
    scale = np.maximum(np.abs(gaps).sum(axis=0), 1.0)
    results: list[float | None] = [None] * pairs
    drawn = []
    for column in range(pairs):
        moving = gaps[:, column][gaps[:, column] != 0]
        if moving.size <= EXACT_FLIPS:
            every = np.zeros(1)
            for gap in moving:  # all 2^m signed sums, doubling as it goes
                every = np.concatenate((every + gap, every - gap))
            results[column] = float(np.mean(np.abs(every) >= observed[column] - _TIE * scale[column]))
        else:
            drawn.append(column)
    if drawn:
        hits = np.zeros(len(drawn), dtype=np.int64)
        step = max(1, 4_000_000 // n)  # signs held at a time: 32 MB
        # by size, so that neither the order of the items nor which model comes first moves a drawn p
        part, target, slack = np.sort(np.abs(gaps[:, drawn]), axis=0), observed[drawn], _TIE * scale[drawn]
        for count, start in enumerate(range(0, n_resamples, step)):
            draws = min(step, n_resamples - start)
            # A generator a chunk: chunk `count` of a seed is the same however many chunks there are.
            rng = np.random.default_rng([seed, count])
            bits = np.unpackbits(rng.integers(0, 256, (draws, (n + 7) // 8), dtype=np.uint8), axis=1, count=n)
            sums = np.abs((bits.astype(np.float64) * 2 - 1) @ part)
            hits += (sums >= target - slack).sum(axis=0)
        for column, hit in zip(drawn, hits, strict=True):
            # The observed signs are one of the patterns: a drawn p is never 0.
            results[column] = float((hit + 1) / (n_resamples + 1))
    return [p for p in results if p is not None]


def sign_flip_test(
    a: Sequence[float], b: Sequence[float], *, n_resamples: int = 100_000, seed: int = 0, confidence: float = CONFIDENCE
) -> Estimate:
    """Return mean(a - b) with the p of the sign-flip permutation test: exact to 16 differing items, drawn above.

    For all-or-nothing scores it equals the exact McNemar test. It gives no interval.

    Args:
        a: scores of one model.
        b: scores of the other, item by item.
        n_resamples: how many sign patterns are drawn where there are too many to compute.
        seed: of the drawing.
        confidence: carried into the record only.
    """
    import numpy as np

    first, second = _pair(a, b)
    if first.size == 0:
        return Estimate(None, n=0, method="sign-flip", confidence=confidence, note="no common items")
    gaps = first - second
    gaps[np.abs(gaps) <= _TIE] = 0.0
    p = sign_flip_ps(gaps[:, None], n_resamples=n_resamples, seed=seed)[0]
    exact = int(np.count_nonzero(gaps)) <= EXACT_FLIPS
    method = "sign-flip-exact" if exact else "sign-flip"
    note = "" if exact else f"{n_resamples} drawn sign patterns, seed {seed}"
    return Estimate(float(gaps.mean()), p=p, n=gaps.size, method=method, confidence=confidence, note=note)


def mcnemar_exact(only_a: int, only_b: int) -> Estimate:
    """Return the exact two-sided McNemar test on the items that one model alone got right.

    p = min(1, 2 P(X <= min)), X ~ Binomial(only_a + only_b, 1/2); 1 where the models never differ. `value` is
    only_a - only_b, in items; `stats["p_mid"]` is the mid-p variant, less conservative.

    Args:
        only_a: items that a got right and b wrong.
        only_b: items that b got right and a wrong.
    """
    if only_a < 0 or only_b < 0:
        raise ValueError(f"counts cannot be negative: {only_a}, {only_b}")
    n, least = only_a + only_b, min(only_a, only_b)
    gap = float(only_a - only_b)
    if n == 0:
        note = "the two never differ"
        return Estimate(gap, p=1.0, n=0, method="mcnemar-exact", note=note, stats={"p_mid": 1.0})
    ways, total = 1, 1  # of the n items, those that fall to one side: C(n, i), and their sum up to i
    for i in range(least):
        ways = ways * (n - i) // (i + 1)
        total += ways
    below = total / 2**n
    mid = 1.0 if only_a == only_b else min(1.0, (2 * total - ways) / 2**n)
    return Estimate(gap, p=min(1.0, 2 * below), n=n, method="mcnemar-exact", stats={"p_mid": mid})


@functools.lru_cache(maxsize=4096)  # models that are alike differ by the same few counts again and again
def tango_interval(only_a: int, only_b: int, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the ends of Tango's score interval of (only_a - only_b)/n, the difference of two paired shares, inside -1..1.

    It holds every difference d with (only_a - only_b - n d)^2 <= z^2 n (2 q + d (1 - d)), where q is the most likely share of
    `only_b` if the difference is d: the larger root of 2 n q^2 + ((2 n - only_a + only_b) d - only_a - only_b) q = only_b d (1 - d).

    Args:
        only_a: items that a got right and b wrong.
        only_b: items that b got right and a wrong.
        n: all items.
        confidence: between 0 and 1.

    Source: Tango 1998, Statistics in Medicine 17, 891-908.
    """
    z = normal_quantile(confidence)

    def find_low(plus: int, minus: int) -> float:
        low, high = -1.0, (plus - minus) / n
        for _ in range(45):  # halves the width of 2 to less than what a difference is rounded to
            d = (low + high) / 2
            b, c = (2 * n - plus + minus) * d - plus - minus, -minus * d * (1 - d)
            q = (math.sqrt(max(0.0, b * b - 8 * n * c)) - b) / (4 * n)
            if (plus - minus - n * d) ** 2 > z * z * n * max(0.0, 2 * q + d * (1 - d)):
                low = d
            else:
                high = d
        return low

    return find_low(only_a, only_b), -find_low(only_b, only_a)


def newcombe_difference(x1: int, n1: int, x2: int, n2: int, *, confidence: float = CONFIDENCE) -> Estimate:
    """Return x1/n1 - x2/n2 for different items, with Newcombe's interval from the two Wilson intervals.

    Source: Newcombe 1998, method 10. It stays inside -1..1.
    """
    first_interval = wilson_interval(x1, n1, confidence=confidence)
    second_interval = wilson_interval(x2, n2, confidence=confidence)
    # Each end takes from either side the reach that points its way: squared and added, as errors of independent shares.
    p1, p2 = x1 / n1, x2 / n2
    assert first_interval.low is not None
    assert first_interval.high is not None
    assert second_interval.low is not None
    assert second_interval.high is not None
    gap = p1 - p2
    low = gap - math.hypot(p1 - first_interval.low, second_interval.high - p2)
    high = gap + math.hypot(first_interval.high - p1, p2 - second_interval.low)
    se = math.sqrt(p1 * (1 - p1) / n1 + p2 * (1 - p2) / n2)
    return Estimate(gap, low, high, se, n=n1 + n2, method="newcombe", confidence=confidence)


def _rank_known(p: Sequence[float | None]) -> list[tuple[float, int]]:
    known_p = [(value, index) for index, value in enumerate(p) if value is not None]
    if any(not 0 <= value <= 1 for value, _ in known_p):
        raise ValueError("every p must lie between 0 and 1")
    return sorted(known_p)


def holm(p: Sequence[float | None]) -> list[float | None]:
    """Return p's adjusted by Holm: each "different" claim then holds for the family as a whole.

    None (no test was possible) stays None and does not count towards the family.
    """
    adjusted: list[float | None] = [None] * len(p)
    ordered_p = _rank_known(p)
    running = 0.0
    for rank, (value, index) in enumerate(ordered_p):
        running = max(running, min(1.0, value * (len(ordered_p) - rank)))
        adjusted[index] = running
    return adjusted


def benjamini_hochberg(p: Sequence[float | None]) -> list[float | None]:
    """Return p's adjusted by Benjamini and Hochberg: the share of false claims among those made, for exploring.

    None stays None and does not count.
    """
    adjusted: list[float | None] = [None] * len(p)
    ordered_p = _rank_known(p)
    running = 1.0
    for rank in range(len(ordered_p), 0, -1):
        value, index = ordered_p[rank - 1]
        running = min(running, value * len(ordered_p) / rank)
        adjusted[index] = running
    return adjusted


def _check_power(alpha: float, power: float) -> None:
    if not 0 < alpha < power < 1:
        raise ValueError(f"need 0 < alpha < power < 1, got alpha={alpha}, power={power}")


def minimum_detectable_effect(
    n: int, sd: float, *, alpha: float = SIGNIFICANCE, power: float = 0.8, method: Literal["normal", "t"] = "normal"
) -> Estimate:
    """Return the smallest mean paired difference that n items show with this power (two-sided).

    normal: (z(1 - alpha/2) + z(power)) sd / sqrt(n). t: solved with the noncentral t, slightly larger.

    Args:
        n: items, at least 2.
        sd: standard deviation of the paired differences, in the unit of the answer.
        alpha: significance level.
        power: the chance to see an effect of this size.
        method: `normal` or `t`.
    """
    if n < 2 or not math.isfinite(sd) or sd < 0:
        raise ValueError(f"need n >= 2 and a finite sd >= 0, got n={n}, sd={sd}")
    _check_power(alpha, power)
    if method not in ("normal", "t"):
        raise ValueError(f"unknown method {method!r}: normal or t")
    effect = (normal_quantile(1 - alpha) + normal_inverse(power)) / math.sqrt(n)
    if method == "t":
        from scipy.special import nctdtr

        critical = t_quantile(1 - alpha, n - 1)
        low, high = 0.0, 8 * effect + 8
        for _ in range(200):
            middle = (low + high) / 2
            shift = middle * math.sqrt(n)
            reached = 1 - float(nctdtr(n - 1, shift, critical)) + float(nctdtr(n - 1, shift, -critical))
            # Far out the lower tail underflows to nan in some versions; there the power is 1 for all purposes.
            if not reached < power:
                high = middle
            else:
                low = middle
        effect = (low + high) / 2
    stats = {"alpha": alpha, "power": power, "sd": sd}
    return Estimate(effect * sd, n=n, method=f"mde-{method}", confidence=1 - alpha, stats=stats)


def items_needed(effect: float, sd: float, *, alpha: float = SIGNIFICANCE, power: float = 0.8) -> int:
    """Return how many paired items show a difference of this size with this power (normal approximation).

    Raises:
        ValueError: an effect that is not above 0 and finite, a negative or infinite sd, a power that is not between alpha
            and 1.
    """
    if not (0 < effect < math.inf and 0 <= sd < math.inf):
        raise ValueError(f"need a finite effect above 0 and a finite sd of 0 or more, got {effect} and {sd}")
    _check_power(alpha, power)
    root = (normal_quantile(1 - alpha) + normal_inverse(power)) * sd / effect
    return max(2, math.ceil(root * root))


__all__ = [
    "NO_VARIATION",
    "benjamini_hochberg",
    "holm",
    "items_needed",
    "mcnemar_exact",
    "minimum_detectable_effect",
    "newcombe_difference",
    "paired_difference",
    "sign_flip_ps",
    "sign_flip_test",
]
