"""How often a comparison finds a true difference: the power of the tests that decide, and what follows for its size.

Theory of operation
-------------------
A comparison is decided by a test (`markbook.stats.difference`), so its power is the power of that very test, in three cases:

- All-or-nothing marks differ by one size or not at all. Given how many items differ, the sign-flip test counts how many of them
  differ to which side, so its power is a sum over binomial tails and exact (`sign_power`). The sum runs over the number m of
  differing items; `_Tail` carries P(X <= k) along while m and k grow by one, so that all of it takes one pass.
- Marks with partial credit go by the t test, which sign flips come close to (`t_power`). Where only a few items differ the
  flips are coarse: m differing items have no p below 2^(1-m). Then the power is summed over how many items differ
  (`_power_of_few`), each held below what flips can reach.
- Related items go by the t test over their clusters.

Differences that lean to one side make t's power lean too: those that lie far off against the mean lower it and raise the standard
deviation at once. `t_power` allows for it by the correlation of the two. `detectable_difference` takes the side that is harder to
show, and gives nothing where the differences are too lopsided for this.

`_power` chooses. Power grows with the difference and with the number of items, so `detectable_difference` and `items_to_show`
find the point where it crosses the wanted power by bisection. `_power` never sees data, only a `Differences` record: how the
paired differences of two models vary. Taking a larger difference for granted can imply that more items differ
than did in the data; `_power` raises that share where it must, since the result would be impossible otherwise.

t's power is a mixture of normals over the distribution of the standard deviation, integrated by Simpson's rule: scipy has the
noncentral t, but importing it takes a third of a second.

Sources: exact power of McNemar's test, Duffy 1984, Biometrics 40(4); the noncentral t as a mixture of normals; the correlation of
mean and variance is skew / sqrt(n) for unit variances (Cramer 1946, 27.4).
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace

from markbook.measurements import SIGNIFICANCE
from markbook.stats.arrays import normal_below, normal_inverse, normal_quantile, t_quantile

POWER = 0.8
"""The chance to show a difference that is there, wherever one has to be chosen."""
_SIGNS_UP_TO = 2_000
"""With more items than this the tails of signs are those of the normal distribution, and counting them takes long."""
_FEW = 50
"""Below so many differing items it matters how many of the items differ, and how coarse the p values of their signs are."""
_POINTS = 64
_LOPSIDED = 0.5
"""From such a skewness on, over the root of the number of differences, their power is not known: one far off has about .8."""
_NORMAL_FROM = 1_000
"""From so many degrees of freedom on the standard deviation is as good as known."""


@dataclass(frozen=True, slots=True)
class Differences:
    """How the paired differences of two models vary, as far as the power of a test depends on it."""

    n: int
    """Items that both have a value for."""
    mean: float
    sd: float
    """From item to item, as the standard error sqrt(n) says it; of related items as their clusters vary."""
    differing: float = 1.0
    """The share of items on which the two differ."""
    size: float = 0.0
    """The mean size of a difference where there is one; above 0."""
    is_one_size: bool = False
    """Whether all differences are of that size, as those of all-or-nothing marks are."""
    largest: float = math.inf
    """What two marks of one item can differ by at most."""
    clusters: float | None = None
    """Of related items; None where they are not."""
    skew: float = 0.0
    """The skewness of the differences where there is one, of related items of their clusters' sums."""

    @property
    def is_lopsided(self) -> bool:
        """Whether a few differences lie so far off to one side that what could be shown is not known."""
        return not (self.is_one_size and self.clusters is None) and self.lean >= _LOPSIDED

    @property
    def lean(self) -> float:
        """The skewness over the root of the number of differences, or of clusters."""
        return abs(self.skew) / math.sqrt(self.clusters or max(1.0, self.n * self.differing))


def detectable_difference(differences: Differences, *, alpha: float = SIGNIFICANCE) -> float | None:
    """Return the smallest true mean difference that so many such items show with `POWER`, in the unit of `sd`.

    Of skewed differences it is that to the side that is harder to show. None where no difference can be shown, as even if all
    items differed the test could not reach its level, and where the differences are too lopsided to say.

    Args:
        differences: how the differences vary; a larger true difference is taken to make more items differ where it must.
        alpha: what p has to be below, for one pair.
    """
    if differences.is_lopsided:
        return None
    most = differences.size if differences.is_one_size and differences.clusters is None else differences.largest
    top = min(most, (normal_quantile(1 - alpha) + normal_inverse(POWER)) * differences.sd / math.sqrt(differences.n))
    while _power(differences, differences.n, top, alpha) < POWER:
        if top >= min(most, 100 * differences.sd):
            return None
        top = min(most, 1.5 * top)
    low, high = 0.0, top
    while high - low > 1e-4 * top:
        middle = (low + high) / 2
        if _power(differences, differences.n, middle, alpha) >= POWER:
            high = middle
        else:
            low = middle
    return high


def items_to_show(differences: Differences, gap: float, *, alpha: float = SIGNIFICANCE, most: int) -> int | None:
    """Return how many items like these show a mean difference with `POWER`; None if more than `most` are needed.

    Args:
        differences: how the differences vary, from item to item.
        gap: the true mean difference, above 0.
        alpha: what p has to be below, for one pair.
        most: where to stop looking.
    """
    # To the side that was seen a long tail does no harm.
    if differences.skew * differences.mean > 0:
        differences = replace(differences, skew=0.0)
    # Doubling first: the power is asked a few times more than the logarithm of the answer, and not once an item.
    low, high = 1, 2
    while _power(differences, high, gap, alpha) < POWER:
        low, high = high, 2 * high
        if low > most:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        if _power(differences, middle, gap, alpha) < POWER:
            low = middle
        else:
            high = middle
    return high if high <= most else None


def _power(differences: Differences, n: int, gap: float, alpha: float) -> float:
    """Return the chance that n such items show this mean difference."""
    lean = differences.lean * math.sqrt(differences.n / n)
    if differences.clusters is not None:
        degrees = differences.clusters * n / differences.n - 1
        return t_power(degrees, gap * math.sqrt(n) / differences.sd, alpha, lean) if degrees >= 1 else 0.0
    if differences.is_one_size and n <= _SIGNS_UP_TO:
        # If all differ by one size, the mean says by how much those to one side outnumber the others.
        surplus = gap / differences.size
        differing = min(1.0, max(differences.differing, surplus))
        return sign_power(n, (differing + surplus) / 2, max(0.0, differing - surplus) / 2, alpha)
    if gap > differences.differing * differences.largest:
        return sign_power(n, min(1.0, gap / differences.largest), 0.0, alpha)  # then more items differ, by all they can
    if differences.is_one_size:
        sd = math.sqrt(max(1e-12, differences.differing * differences.size**2 - gap**2))
        return t_power(n - 1, gap * math.sqrt(n) / sd, alpha)
    if n * differences.differing > _FEW:
        power = t_power(n - 1, gap * math.sqrt(n) / differences.sd, alpha, lean)
    else:
        power = _power_of_few(differences, n, gap, alpha)
    # Where most are alike and the others differ to one side, a smaller difference has some to the other: no more is shown than by signs.
    if gap < abs(differences.mean) and differences.differing <= 0.5 and n <= _SIGNS_UP_TO:
        up, down = (differences.differing + sign * gap / differences.size for sign in (1, -1))
        power = min(power, sign_power(n, up / 2, down / 2, alpha))
    return power


def _power_of_few(differences: Differences, n: int, gap: float, alpha: float) -> float:
    """Return the power where only a few of the items differ: by how many of them do."""
    share = min(1.0, differences.differing)
    # Of a smaller difference the spread over all items is as large.
    mean = min(abs(differences.mean), gap)
    sd = math.sqrt(max(1e-12 * differences.size**2, (differences.sd**2 + mean**2) / share - (mean / share) ** 2))
    effect = gap / share / sd
    counts = range((2 + math.floor(-math.log2(alpha))), n + 1)  # of fewer differences no p is below alpha
    parts = []
    for m in counts:
        chance = _binomial(n, m, share)
        if chance <= 1e-6:
            continue
        # p is a multiple of 1 / steps; so many of these are below alpha.
        steps = 2.0 ** (m - 1)
        below = math.ceil(alpha * steps) - 1
        level, lean = (below if below == 1 else below - 0.5) / steps, abs(differences.skew) / math.sqrt(m)
        reached = t_power(m - 1, effect * math.sqrt(m), level, lean)
        # Where only the smallest p will do, all m differences must have one sign; a long tail against the mean makes that rarer.
        tail = abs(differences.skew) / 6 * max(0.0, effect**2 - 1) * math.exp(-(effect**2) / 2) / math.sqrt(2 * math.pi)
        parts.append(chance * (min((normal_below(effect) - tail) ** m, reached) if below == 1 else reached))
    return math.fsum(parts)


def t_power(degrees: float, shift: float, alpha: float, lean: float = 0.0) -> float:
    """Return the chance that a two-sided t test has a p below alpha.

    Args:
        degrees: of freedom.
        shift: the true mean over its standard error, 0 or more.
        alpha: the level.
        lean: the correlation of mean and variance, negative: the skewness over the root of the number of values, against the mean.
    """
    critical = t_quantile(1 - alpha, degrees)
    # Near its mean t has the variance 1 + shift lean: a mean below its expectation comes with a larger standard error.
    shift = critical + (shift - critical) / math.sqrt(1 + shift * lean)
    if degrees >= _NORMAL_FROM:
        return normal_below(shift - critical) + normal_below(-shift - critical)
    # Over s, the standard deviation seen over the true one: degrees s^2 is chi-squared.
    reach = 8 / math.sqrt(2 * degrees)
    low, high = max(1e-6, 1 - reach), 1 + reach
    total = weight = 0.0
    for at in range(_POINTS + 1):
        s = low + (high - low) * at / _POINTS
        density = math.exp((degrees - 1) * math.log(s) - degrees * (s * s - 1) / 2)
        density *= 1 if at in (0, _POINTS) else 4 if at % 2 else 2  # Simpson's rule
        weight += density
        total += density * (normal_below(shift - critical * s) + normal_below(-shift - critical * s))
    return total / weight


@functools.lru_cache(maxsize=4096)
def sign_power(n: int, plus: float, minus: float, alpha: float) -> float:
    """Return the chance that the exact sign-flip (McNemar) test of n items has a p below alpha.

    Args:
        n: items.
        plus: the chance that an item differs to one side.
        minus: to the other side; the rest does not differ.
        alpha: the level.
    """
    differing = plus + minus
    if differing <= 0:
        return 0.0
    middle, reach = n * differing, 8 * math.sqrt(n * differing * (1 - min(1.0, differing))) + 8
    even, up, down = _Tail(0.5), _Tail(plus / differing), _Tail(minus / differing)
    k, power = -1, 0.0  # fewest to one side, of m that differ, up to which the test rejects
    for m in range(1, min(n, math.ceil(middle + reach)) + 1):
        for tail in (even, up, down):
            tail.add_trial(m - 1, k)
        if 2 * (even.value + even.next(m, k)) < alpha:
            for tail in (even, up, down):
                tail.add_success(m, k)
            k += 1
        if k >= 0 and m >= middle - reach:
            power += _binomial(n, m, differing) * (up.value + down.value)
    return min(1.0, power)


class _Tail:
    """P(X <= k) of a binomial X of m trials, while m and k grow by one at a time."""

    __slots__ = ("_at", "_chance", "value")

    def __init__(self, chance: float) -> None:
        self._chance = chance
        self.value = 0.0
        self._at = 0.0
        """P(X = k)."""

    def add_trial(self, m: int, k: int) -> None:
        """Go from m trials to m + 1."""
        self.value -= self._chance * self._at
        self._at *= (m + 1) * (1 - self._chance) / (m + 1 - k)

    def next(self, m: int, k: int) -> float:
        """Return P(X = k + 1)."""
        if k < 0:
            return float((1 - self._chance) ** m)
        return 0.0 if self._chance >= 1 else self._at * (m - k) / (k + 1) * self._chance / (1 - self._chance)

    def add_success(self, m: int, k: int) -> None:
        """Go from k to k + 1."""
        self._at = self.next(m, k)
        self.value += self._at


def _binomial(n: int, m: int, chance: float) -> float:
    """Return the probability of m successes in n trials."""
    if chance >= 1:
        return float(m == n)
    # By logarithms: the factorials of a few hundred items are more than a float holds.
    ways = math.lgamma(n + 1) - math.lgamma(m + 1) - math.lgamma(n - m + 1)
    return math.exp(ways + m * math.log(chance) + (n - m) * math.log1p(-chance))
