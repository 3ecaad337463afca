"""Rows as callers keep them (lists, data frame columns, arrays), taken by position."""

from __future__ import annotations

from collections.abc import Mapping, Set as AbstractSet

from markbook.errors import UsageError

_TO_LIST = ("to_pylist", "to_list", "tolist")
"""How the columns of pyarrow, of polars and pandas, and numpy's arrays become lists."""


def as_rows(values: object, what: str) -> list[object]:
    """Return a column's values by position, whatever its index says; a cell that is a column itself becomes a list.

    Args:
        values: a list, tuple, iterator, numpy array, or a column of pandas, polars or pyarrow.
        what: what it is called, for the message.

    Raises:
        UsageError: one text, a mapping or a data frame, where the rows would be letters, keys or column names; a
            set, which has no order; no collection at all.
    """
    if isinstance(values, str | bytes):
        raise UsageError(f"{what} is one text", hint="pass a list, also for a single row")
    if isinstance(values, Mapping | AbstractSet) or hasattr(values, "columns"):
        raise UsageError(f"{what} is a {type(values).__name__}", hint="pass a list or one column")
    rows = values if isinstance(values, list | tuple) else _to_list(values)
    if not isinstance(rows, list | tuple):
        try:
            rows = list(rows)  # type: ignore[call-overload]  # what cannot be iterated is told just below
        except TypeError:
            raise UsageError(f"{what} is of type {type(values).__name__}", hint="pass a list") from None
    return [row if type(row) is str else _to_list(row) for row in rows]


def _to_list(values: object) -> object:
    """Return a column as the list of what stands in it, anything else as it is."""
    for name in _TO_LIST:
        convert = getattr(values, name, None)
        if callable(convert):
            return convert()
    return values
