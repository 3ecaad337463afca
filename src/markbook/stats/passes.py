"""pass@k and pass^k: the chance that one of k attempts at a problem is right, and that all of k are.

Both are estimated from n attempts of which c are right, without bias, by counting: of the C(n, k) ways to draw k of the
attempts, C(n-c, k) hold none that is right and C(c, k) hold only right ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from markbook.measurements import CONFIDENCE
from markbook.stats.intervals import FEWEST_AT_ENDS, MANY_ALIKE, MANY_OPPOSITE, NARROW, few_away, mean_interval
from markbook.stats.records import Estimate

_EXACT_N = 1000
_FEWEST_AWAY = 32
"""With k > 1 the problems away from an end are rarer and farther from one another than marks are; by simulation."""
_SHOWS_RARE = 200
"""Among so many problems a rare one that several tries do not solve is nearly always seen (`bench/coverage.py`)."""


def _share(n: int, c: int, k: int) -> float:
    """Return 1 - C(n-c, k)/C(n, k)."""
    if n - c < k:
        return 1.0
    if n <= _EXACT_N:
        ways = math.comb(n, k)
        return (ways - math.comb(n - c, k)) / ways
    return -math.expm1(_log_all_pass(n, n - c, k))


def _all_pass(n: int, c: int, k: int) -> float:
    """Return C(c, k)/C(n, k)."""
    if c < k:
        return 0.0
    # Not 1 - `_share`: a small chance would lose its digits.
    return math.comb(c, k) / math.comb(n, k) if n <= _EXACT_N else math.exp(_log_all_pass(n, c, k))


def _log_all_pass(n: int, c: int, k: int) -> float:
    """Return the logarithm of C(c, k)/C(n, k), c >= k, as that of prod(1 - k/i): the binomials of a large n have thousands of digits."""
    return math.fsum(math.log1p(-k / i) for i in range(c + 1, n + 1))


def _check(n: int, c: int, k: int) -> None:
    if k < 1 or n < 0 or not 0 <= c <= n:
        raise ValueError(f"need k >= 1 and 0 <= c <= n, got n={n}, c={c}, k={k}")


def pass_at_k(n: int, c: int, k: int) -> Estimate:
    """Return the unbiased pass@k of one problem: 1 - C(n-c, k)/C(n, k); no value where k > n.

    Args:
        n: attempts.
        c: right ones among them.
        k: how many may be tried.

    Source: Chen et al. 2021, arXiv 2107.03374.
    """
    _check(n, c, k)
    if k > n:
        return Estimate(None, n=n, method="pass@k", note=f"undefined: {n} attempts, and pass@{k} needs {k}")
    return Estimate(_share(n, c, k), n=n, method="pass@k")


def pass_at_k_summary(
    ns: Sequence[int], cs: Sequence[int], k: int, *, confidence: float = CONFIDENCE, seed: int = 0
) -> Estimate:
    """Return the mean pass@k over problems with its error over problems and interval inside 0..1.

    The error over problems includes the sampling noise within each. It has no value if any problem has fewer
    than k attempts; `stats["n_undefined"]` counts those.

    Args:
        ns: attempts, one entry a problem.
        cs: right ones, one entry a problem.
        k: how many may be tried.
        confidence: between 0 and 1.
        seed: of what is drawn; nothing is, in a range with ends.
    """
    if len(ns) != len(cs):
        raise ValueError(f"{len(ns)} attempt counts and {len(cs)} right counts")
    for n, c in zip(ns, cs, strict=True):
        _check(n, c, k)
    undefined = sum(n < k for n in ns)
    stats = {"n_undefined": float(undefined)}
    if undefined or not ns:
        note = f"undefined: {undefined} of {len(ns)} problems have fewer than {k} attempts" if ns else "no problems"
        return Estimate(None, n=len(ns), method="pass@k", confidence=confidence, note=note, stats=stats)
    shares = [_share(n, c, k) for n, c in zip(ns, cs, strict=True)]
    estimate = mean_interval(shares, confidence=confidence, seed=seed)
    # s/sqrt(n) whatever method made the interval, so that errors of different k compare.
    se = None
    if len(shares) > 1:
        mean = math.fsum(shares) / len(shares)
        se = math.sqrt(math.fsum((share - mean) ** 2 for share in shares) / (len(shares) - 1) / len(shares))
    note = estimate.note
    if k > 1 and len(ns) > 1 and (not note or note.startswith(NARROW)):
        # Problems that are all alike have not shown the rare ones that several tries do not solve.
        is_alike = len(set(shares)) == 1 and len(ns) < _SHOWS_RARE
        alike = f"{NARROW}: all {len(ns)} problems have the same pass@{k}" if is_alike else ""
        few = f"{NARROW}: {len(ns)} problems are few for pass@{k}" if len(ns) < FEWEST_AT_ENDS else ""
        # Of fewer than 40 problems it takes more than three tenths that fail to show how many of the others nearly do.
        opposite = MANY_OPPOSITE if len(ns) >= 40 else 3 * MANY_OPPOSITE
        # Among so few a draw of hard problems hides how near to the end the others lie, the more so the more may be tried.
        majority = MANY_ALIKE if k > 2 and len(ns) < 40 else 0.5
        note = few_away(shares, (0.0, 1.0), _FEWEST_AWAY, opposite, majority) or alike or few or note
    return replace(estimate, se=se, p=None, n=len(ns), confidence=confidence, note=note, stats=stats)


def pass_hat_k(counts: Sequence[tuple[int, int]], k: int) -> float | None:
    """Return pass^k: the mean chance that all of k attempts pass, C(c, k)/C(n, k); None if a problem has fewer than k.

    >>> pass_hat_k([(4, 3), (4, 0)], 2)
    0.25

    Args:
        counts: of each problem its attempts n, and how many of them passed.
        k: how many must pass.

    Source: Yao et al. 2024, arXiv 2406.12045.
    """
    if not counts or k < 1 or any(n < k for n, _ in counts):
        return None
    return math.fsum(_all_pass(n, c, k) for n, c in counts) / len(counts)


def pass_hat_k_summary(counts: Sequence[tuple[int, int]], k: int, *, seed: int = 0) -> Estimate:
    """Return pass^k as `pass_hat_k` does, with its interval over the problems."""
    if pass_hat_k(counts, k) is None:
        return Estimate(None, note=f"an item has fewer than {k} repeats")
    return mean_interval([_all_pass(n, c, k) for n, c in counts], seed=seed)


def standard_error(n: int, c: int, k: int, *, every: bool = False) -> float:
    """Return the standard error of pass@k (or pass^k) of one problem whose attempts pass with the chance c/n.

    The root of the estimator's variance over c ~ Binomial(n, c/n), summed exactly up to 1,000 attempts; beyond, the
    first-order term |d/dp| * sqrt(p(1-p)/n).
    """
    chance = c / n
    if c in (0, n):
        return 0.0
    if every:
        chance, c = 1 - chance, n - c  # pass^k is 1 - pass@k of failing
    if n > _EXACT_N:
        return k * (1 - chance) ** (k - 1) * math.sqrt(chance * (1 - chance) / n)
    # The chance of each number of right attempts, by logarithms: C(1000, 500) is more than a float holds.
    logs = [math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) for i in range(n + 1)]
    weights = [math.exp(log + i * math.log(chance) + (n - i) * math.log1p(-chance)) for i, log in enumerate(logs)]
    values = [_share(n, i, k) for i in range(n + 1)]
    centre = math.fsum(weight * value for weight, value in zip(weights, values, strict=True))
    return math.sqrt(math.fsum(weight * (value - centre) ** 2 for weight, value in zip(weights, values, strict=True)))
