"""A number near another one: `numeric`."""

from __future__ import annotations

import decimal
import re
from decimal import Decimal
from functools import partial
from typing import Literal

from markbook.errors import ConfigError
from markbook.metrics.checks.bounded import Helper
from markbook.metrics.checks.check import Check, build_signature
from markbook.metrics.pairs import Score, missing_undefined

_NUMBER = re.compile(
    r"(?<![\w.,])[-+\u2212]?(?:(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?(?!\w|[.,][0-9])"
)
"""Nothing that a letter, a digit or a further point sticks to: no version, no date with points, no `2nd`."""
_LONGEST = 400
_PICKS = ("only", "first", "last")
_EXACT = decimal.Context(prec=60, traps=[])


def numeric(
    *,
    value: float | None = None,
    absolute: float = 0.0,
    relative: float = 0.0,
    pick: Literal["only", "first", "last"] = "only",
) -> Check:
    """Return 1 if the answer's number is near enough to the right one, else 0; higher is better.

    Near enough: |answer - right| is at most `absolute`, or at most `relative` times |right|; computed in decimals, so
    that 1.1 is within .1 of 1. An answer without a number is wrong. Missing: no reference, or one that is no number.

    Args:
        value: the right number; without it the references, of which any will do.
        absolute: the distance that is allowed.
        relative: the same as a share of the right number.
        pick: which number of the answer counts: `only` (there must be exactly one), `first`, `last`.

    Raises:
        ConfigError: a value or tolerance that is no number, or a negative tolerance.
    """
    if pick not in _PICKS:
        raise ConfigError(f"numeric: pick must be one of {', '.join(_PICKS)}, not {pick!r:.40}")
    for name, tolerance in (("absolute", absolute), ("relative", relative)):
        if _decimal(tolerance) is None or tolerance < 0:
            raise ConfigError(f"numeric: {name} must be a number from 0 up, not {tolerance!r:.40}")
    right = None if value is None else _decimal(value)
    if value is not None and right is None:
        raise ConfigError(f"numeric: value must be a number, not {value!r:.40}")
    options = {"value": "references" if value is None else value, "absolute": absolute, "relative": relative}
    holds = partial(_near, right=right, absolute=Decimal(str(absolute)), relative=Decimal(str(relative)), pick=pick)
    return Check("numeric", build_signature("numeric", {**options, "pick": pick}), holds, needs_reference=value is None)


def _near(
    answer: str,
    references: tuple[str, ...],
    _helper: Helper,
    *,
    right: Decimal | None,
    absolute: Decimal,
    relative: Decimal,
    pick: str,
) -> Score:
    references_given = [right] if right is not None else [_whole(text) for text in references]
    right_numbers = [reference_number for reference_number in references_given if reference_number is not None]
    if not right_numbers:
        return missing_undefined(f"the reference {references[0]!r:.60} is no number"), {}
    numbers = numbers_in(answer)
    if not numbers:
        return 0.0, {"why": "the answer has no number"}
    if pick == "only" and len(set(numbers)) > 1:
        return 0.0, {"why": f"the answer has {len(numbers)} numbers"}
    number = numbers[0] if pick == "first" else numbers[-1]
    is_near = any(_is_near(number, right_number, absolute, relative) for right_number in right_numbers)
    return float(is_near), {"number": str(number)}


def _is_near(number: Decimal, right: Decimal, absolute: Decimal, relative: Decimal) -> bool:
    gap = _EXACT.abs(_EXACT.subtract(number, right))
    return bool(gap <= absolute or gap <= _EXACT.multiply(relative, _EXACT.abs(right)))


def numbers_in(text: str) -> list[Decimal]:
    """Return the numbers of a text in order: signs, decimals, exponents, commas between groups of three.

    >>> numbers_in("from -1,200.5 to 3e2, in 2nd place")
    [Decimal('-1200.5'), Decimal('3E+2')]
    """
    numbers = []
    for match in _NUMBER.finditer(text):
        written = match.group().replace(",", "").replace("\u2212", "-")
        number = _decimal(written) if len(written) <= _LONGEST else None
        if number is not None:
            numbers.append(number)
    return numbers


def _whole(text: str) -> Decimal | None:
    """Return the number that a text is; None if it is none or more than one."""
    numbers = numbers_in(text)
    return numbers[0] if len(set(numbers)) == 1 else None


def _decimal(value: object) -> Decimal | None:
    """Return a finite number, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = Decimal(str(value))
    except decimal.InvalidOperation:
        return None
    return number if number.is_finite() else None
