"""The memory of a process that is forked often, so laid out that its children write to few pages of it.

A child that asks for a small object is given a hole that an older one left, and has to have the page of that hole
copied: one page and more for every size. Once the holes are filled, new objects of a size lie side by side.
"""

from __future__ import annotations

import ctypes
import gc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_POOL, _HEADER = 1 << 14, 48
"""Bytes of what CPython's allocator takes for objects of one size, and of its own account at the beginning of it."""
_SIZES = range(16, 513, 16)
_MOST = 1 << 16
"""Bytes for one size at most: another allocator's holes may have no end."""

_kept: list[Any] = []


def settle() -> None:
    """Clear away what nobody holds and fill the holes; what there is now stays for as long as the process does."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # only the GNU library has it
    if trim is not None:
        trim(0)
    for size in _SIZES:
        _fill(size)
    gc.freeze()
    gc.disable()


def _fill(size: int) -> None:
    for number in range(_MOST // size):
        if size == 16:
            made: Any = object()
        elif size == 32:
            made = float(number)
        else:
            made = bytes(size - bytes.__basicsize__)
        if id(made) % _POOL == _HEADER:  # the first of a new pool: nothing older has a hole left
            return
        _kept.append(made)
