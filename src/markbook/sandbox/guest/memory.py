"""The memory of a process that is forked often, so laid out that its children write to few pages of it.

A child that asks for memory is given a hole that an older object left, and has to have the page of that hole copied: one
page and more for every size. Once the holes are filled, new objects lie side by side.
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
_MOST = 1 << 19
"""Bytes for one size at most: another allocator's holes may have no end."""
_BLOCKS = (*(1 << power for power in range(16, 10, -1)), *range(1032, 0, -16))
"""Bytes of what fills the holes of the C library's allocator, which larger objects come from, the largest first."""
_kept: list[Any] = []


def settle() -> None:
    """Clear away what nobody holds and fill the holes; what there is now stays for as long as the process does."""
    gc.collect()
    _fill_holes()
    gc.freeze()
    gc.disable()


def _fill_holes() -> None:
    library = ctypes.CDLL(None)
    if getattr(library, "malloc_trim", None) is not None:  # only the GNU library has it
        library.malloc_trim(0)
        library.sbrk.restype = library.malloc.restype = ctypes.c_size_t
        end = library.sbrk(ctypes.c_ssize_t(0))
        for size in _BLOCKS:
            # until one lies beyond all that was there before
            while (block := library.malloc(ctypes.c_size_t(size))) and block + size <= end:
                pass
            library.free(ctypes.c_void_p(block))
    for size in _SIZES:
        _fill(size)


def _fill(size: int) -> None:
    for number in range(_MOST // size):
        if size == 16:
            number_object: Any = object()
        elif size == 32:
            number_object = float(number)
        else:
            number_object = bytes(size - bytes.__basicsize__)
        if id(number_object) % _POOL == _HEADER:  # the first of a new pool: nothing older has a hole left
            return
        _kept.append(number_object)
