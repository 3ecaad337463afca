"""Compiled code as bytes without slices, which the one version of `marshal` that says nothing of sharing does not know."""

from __future__ import annotations

import marshal
from types import CodeType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MARKED = "slices"
"""What a message begins with in which slices were taken out; behind it comes their mark, and then what it says."""


def taken_out(value: Any, mark: str) -> Any:
    """Return the same with each slice as a tuple that begins with the mark."""
    if isinstance(value, slice):
        return (mark, value.start, value.stop, value.step)
    if isinstance(value, CodeType):
        return value.replace(co_consts=taken_out(value.co_consts, mark))
    return type(value)(taken_out(item, mark) for item in value) if type(value) in (tuple, list) else value


def read(payload: bytes) -> Any:
    """Return what bytes of the examiner's say."""
    value = marshal.loads(payload)  # noqa: S302 - from the examiner
    if type(value) is tuple and value[0] == MARKED:
        return _put_back(value[2], value[1])
    return value


def _put_back(value: Any, mark: str) -> Any:
    if isinstance(value, CodeType):
        return value.replace(co_consts=_put_back(value.co_consts, mark))
    if type(value) is tuple and value[:1] == (mark,):
        return slice(*value[1:])
    return type(value)(_put_back(item, mark) for item in value) if type(value) in (tuple, list) else value
