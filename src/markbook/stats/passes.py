"""pass@k: the chance that at least one of k attempts is right."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markbook.stats.arrays import finite
from markbook.stats.intervals import few_away, mean_interval
from markbook.stats.records import Estimate

_EXACT_N = 1000
_FEWEST_AWAY = 32
"""With k > 1 the problems away from an end are rarer and farther from one another than marks are; by simulation."""


def _share(n: int, c: int, k: int) -> float:
    """Return 1 - C(n-c, k)/C(n, k)."""
    if n - c < k:
        return 1.0
    if n <= _EXACT_N:
        ways = math.comb(n, k)
        return (ways - math.comb(n - c, k)) / ways
    # 1 - prod(1 - k/i): the binomials of a large n have thousands of digits.
    return -math.expm1(math.fsum(math.log1p(-k / i) for i in range(n - c + 1, n + 1)))


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
    ns: Sequence[int], cs: Sequence[int], k: int, *, confidence: float = 0.95, seed: int = 0
) -> Estimate:
    """Return the mean pass@k over problems with its error over problems and interval inside 0..1.

    The error over problems includes the sampling noise within each. There is no value if any problem has fewer
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
    se = _error_over_problems(shares)
    note = estimate.note or (few_away(finite(shares), (0.0, 1.0), _FEWEST_AWAY) if k > 1 and len(ns) > 1 else "")
    return Estimate(
        estimate.value,
        estimate.low,
        estimate.high,
        se,
        n=len(ns),
        method=estimate.method,
        confidence=confidence,
        note=note,
        stats=stats,
    )


def _error_over_problems(shares: Sequence[float]) -> float | None:
    """Return s/sqrt(n) whatever method made the interval, so that errors of different k compare."""
    n = len(shares)
    if n < 2:
        return None
    mean = math.fsum(shares) / n
    return math.sqrt(math.fsum((share - mean) ** 2 for share in shares) / (n - 1) / n)
