"""The little that all statistics share: checked arrays and quantiles. numpy comes in here, late; scipy does not."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# Student's t without scipy, whose import costs a third of a second: more than the marking of a hundred answers.
#
# The tail is the regularised incomplete beta function by its continued fraction (Lentz), the quantile is Newton's from
# the normal one. Both agree with scipy to 12 digits.

_MANY = 60.0
"""Half the degrees from which on the ratio of gamma functions is taken from its series: differences of large
logarithms would cost digits."""


def t_two_sided(t: float, degrees: float) -> float:
    """Return the probability that Student's t is at least as far from 0 as t."""
    if math.isinf(t):
        return 0.0
    square = t * t
    x, rest = degrees / (degrees + square), square / (degrees + square)
    if not rest:
        return 1.0
    a = degrees / 2
    # x**a * rest**(1/2) / B(a, 1/2); the powers through log1p, because x is near 1 where the degrees are many
    front = math.exp(-a * math.log1p(square / degrees)) * math.sqrt(rest / math.pi) * _gamma_ratio(a)
    # either form holds; the first loses digits where x is near 1, the second where little is left of 1
    if (square > 10) if a >= _MANY else (x < (a + 1) / (a + 2.5)):
        return front * _fraction(a, 0.5, x) / a
    return 1 - 2 * front * _fraction(0.5, a, rest)


@functools.lru_cache(maxsize=512)  # a table of many rows asks for the same few again and again
def quantile(tail: float, start: float, degrees: float) -> float:
    """Return the t that is exceeded in size with this probability.

    Args:
        tail: in both directions together, above 0 and below 1.
        start: the normal quantile, which is never larger; from there Newton's steps only grow.
        degrees: of freedom.
    """
    t = start
    scale = math.sqrt(degrees * math.pi) / _gamma_ratio(degrees / 2)
    for _ in range(200):
        density = math.exp(-(degrees + 1) / 2 * math.log1p(t * t / degrees)) / scale
        step = (t_two_sided(t, degrees) - tail) / (2 * density)
        t += step
        if step <= 1e-15 * t:
            break
    return t


def _gamma_ratio(a: float) -> float:
    """Return gamma(a + 1/2) / gamma(a)."""
    if a < _MANY:
        return math.gamma(a + 0.5) / math.gamma(a)
    inverse = 1 / (8 * a)
    return math.sqrt(a) * (
        1 - inverse * (1 - inverse / 2 * (1 + 5 * inverse * (1 - 21 / 20 * inverse * (1 + 19 * inverse))))
    )


def _fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function; I(x) is x**a (1-x)**b / (a B(a, b)) times it."""
    tiny = 1e-300
    c, d = 1.0, 1 / ((1 - (a + b) * x / (a + 1)) or tiny)
    fraction = d
    for m in range(1, 10_000):
        for top in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            c, d = (1 + top / c) or tiny, 1 / ((1 + top * d) or tiny)
            fraction *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return fraction


if TYPE_CHECKING:
    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

VAST = 1e150
"""Above this squares, of which all errors are made, come near what a float holds."""


def is_missing(value: object) -> bool:
    """Whether this stands for no value: None, NaN, or a marker that is neither true nor false, as pandas' NA."""
    if value is None:
        return True
    if isinstance(value, str | list | tuple):
        return False
    try:
        return bool(value != value)  # noqa: PLR0124 - what NaN is known by, whoever made it
    except TypeError:
        return True
    except ValueError:  # an array compares cell by cell
        return False


def finite(values: Sequence[float] | Floats, what: str = "values") -> Floats:
    """Return the values as a one-dimensional array.

    Raises:
        ValueError: a value is not a finite number; a missing value has to be left out by the caller, who counts it.
    """
    import numpy as np

    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{what}: expected one dimension, got {array.ndim}")
    if not np.isfinite(array).all():
        raise ValueError(f"{what}: every value must be a finite number; leave missing ones out and count them")
    return array


def is_vast(array: Floats) -> bool:
    """Whether the values are so large that sums of them or of their squares may be more than a float holds."""
    import numpy as np

    return bool(array.size) and float(np.abs(array).max()) > VAST


def check_confidence(confidence: float) -> None:
    """Refuse a confidence that is not strictly between 0 and 1."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")


def normal_below(z: float) -> float:
    """Return the probability that a standard normal is at most z."""
    return math.erfc(-z / math.sqrt(2)) / 2


def normal_inverse(p: float) -> float:
    """Return the z below which a standard normal lies with this probability; infinite where that is 0 or 1."""
    from statistics import NormalDist

    if p in (0, 1):
        return math.inf if p else -math.inf
    return NormalDist().inv_cdf(p)


def normal_quantile(confidence: float) -> float:
    """Return z such that a standard normal lies within -z..z with this probability."""
    check_confidence(confidence)
    return normal_inverse((1 + confidence) / 2)


def normal_two_sided(z: float) -> float:
    """Return the probability that a standard normal is at least as far from 0 as z."""
    return math.erfc(abs(z) / math.sqrt(2))


def t_quantile(confidence: float, degrees: float) -> float:
    """Return t such that Student's t lies within -t..t with this probability."""
    check_confidence(confidence)
    above = (1 + confidence) / 2
    return quantile(2 * (1 - above), normal_inverse(above), degrees)


def has_variation(array: Floats) -> bool:
    """Say whether the values differ by more than rounding."""
    import numpy as np

    if array.size == 0:
        return False
    scale = float(np.abs(array).max())
    return bool(np.ptp(array) > max(1e-12 * scale, 1e-150))  # below that, squares vanish
