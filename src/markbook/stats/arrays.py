"""The little that all statistics share: checked arrays and quantiles. numpy comes in here, late; scipy does not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from markbook.stats import student

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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


def finite(values: Sequence[float], what: str = "values") -> Floats:
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
    return student.quantile(2 * (1 - above), normal_inverse(above), degrees)


def t_two_sided(t: float, degrees: float) -> float:
    """Return the probability that Student's t is at least as far from 0 as t."""
    return student.two_sided(t, degrees)


def has_variation(array: Floats) -> bool:
    """Say whether the values differ by more than rounding."""
    import numpy as np

    if array.size == 0:
        return False
    scale = float(np.abs(array).max())
    return bool(np.ptp(array) > max(1e-12 * scale, 1e-150))  # below that, squares vanish
