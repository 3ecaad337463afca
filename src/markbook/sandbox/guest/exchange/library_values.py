"""Values of classes that are imported only where they are met: decimals, fractions, arrays, dates and times."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PARTS = frozenset((type(None), bool, str, float, int))


class Malformed(Exception):
    """What arrived is no value."""


class Uncrossable(Malformed):
    """An honest value that cannot be made here: it is to be seen where it is."""


def text_of(form: list[Any], at: int = 1) -> str:
    """Return the text at a place of a wire form.

    Raises:
        Malformed: there is none.
    """
    if len(form) <= at or type(form[at]) is not str:
        raise Malformed("no text")
    text: str = form[at]
    return text


def get_late(form: list[Any]) -> Any:
    """Return a value of a class that is imported only where it is met."""
    kind, parts = text_of(form), form[2:]
    if any(type(part) not in _PARTS for part in parts):
        raise Malformed("no parts")
    if kind == "Decimal":
        import decimal

        return decimal.Decimal(text_of(form, 2))
    if kind == "Fraction":
        import fractions

        return fractions.Fraction(int(text_of(form, 2), 16), int(text_of(form, 3), 16))
    if kind == "array":
        import array

        return array.array(text_of(form, 2), bytes.fromhex(text_of(form, 3)))
    import datetime as dt

    if kind not in ("date", "datetime", "time", "timedelta"):
        raise Malformed("no such class")
    zone = None
    if kind in ("datetime", "time"):
        *parts, fold, aware = parts
        zone = dt.UTC if aware else None
        return getattr(dt, kind)(*parts, tzinfo=zone, fold=fold)
    return getattr(dt, kind)(*parts)


LATE = {
    "decimal": ("Decimal",),
    "fractions": ("Fraction",),
    "array": ("array",),
    "datetime": ("date", "datetime", "time", "timedelta"),
}
"""The classes by module."""


def put_late(value: Any, kind: type) -> Any:
    """Return the wire form of a value of such a class; None for what only has the name, or a zone that is not UTC."""
    name = kind.__name__
    if getattr(sys.modules.get(kind.__module__), name, None) is not kind:
        return None
    if name == "Decimal":
        return ["v", name, str(value)]
    if name == "Fraction":
        return ["v", name, hex(value.numerator), hex(value.denominator)]
    if name == "array":
        return ["v", name, value.typecode, value.tobytes().hex()]
    if name == "timedelta":
        return ["v", name, value.days, value.seconds, value.microseconds]
    if name == "date":
        return ["v", name, value.year, value.month, value.day]
    zone = value.tzinfo
    if zone is not None and zone is not sys.modules["datetime"].timezone.utc:
        return None
    clock = (value.hour, value.minute, value.second, value.microsecond, value.fold, zone is not None)
    return ["v", name, *((value.year, value.month, value.day) if name == "datetime" else ()), *clock]
