"""What one attempt could learn of another by the state of the process and of the folder that both come from.

The first part lays out the memory of a process that is forked often, so that its children write to few pages of it. A child
that asks for memory is given a hole that an older object left, and has to have the page of that hole copied: one page and
more for every size. Once the holes are filled, new objects lie side by side. The second part gives the folder for files
back as it was, and makes counters of the kernel noisy.
"""

from __future__ import annotations

import ctypes
import gc
import os
import stat

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
    library = ctypes.CDLL(None)
    if getattr(library, "malloc_trim", None) is not None:  # only the GNU library has it
        library.malloc_trim(0)
        # these return addresses, which ctypes would cut down to an int
        library.sbrk.restype = library.malloc.restype = ctypes.c_size_t
        end = library.sbrk(ctypes.c_ssize_t(0))
        for size in _BLOCKS:
            # until one lies beyond all that was there before
            while (block := library.malloc(ctypes.c_size_t(size))) and block + size <= end:
                pass
            library.free(ctypes.c_void_p(block))
    for size in _SIZES:
        for number in range(_MOST // size):
            # the smallest bytes object takes 33 bytes, so objects and floats fill the places below
            if size == 16:
                filler: Any = object()
            elif size == 32:
                filler = float(number)
            else:
                filler = bytes(size - bytes.__basicsize__)
            if id(filler) % _POOL == _HEADER:  # the first of a new pool: nothing older has a hole left
                break
            _kept.append(filler)
    # what is frozen is never written to by a collection, so its pages stay shared with the children
    gc.freeze()
    gc.disable()


# What one attempt could leave in the folder that the next one writes to, besides files.
#
# Files are removed, and memory is a copy. There are still the mode, the times and the attributes of the folder itself,
# given back after every attempt, and the counters of processes and of inodes: what of them can be seen is made noisy before
# an attempt that tests run beside.

_PROCESSES = 8
_FILES = 32


class ScratchFolder:
    """The folder that attempts write to, as it was before the first of them."""

    def __init__(self, path: str) -> None:
        self._path = path
        status = os.stat(path)
        self._mode = stat.S_IMODE(status.st_mode)
        self._is_ours = status.st_uid == os.geteuid()  # else nobody can change its mode and attributes
        self._attributes = set(os.listxattr(path))

    def renew(self) -> None:
        """Make it a folder that was changed just now, whether anybody changed it or not, in all else as it was.

        Raises:
            OSError: something of it cannot be given back.
        """
        status = os.stat(self._path)
        if self._is_ours:
            if stat.S_IMODE(status.st_mode) != self._mode:
                os.chmod(self._path, self._mode)
            for attribute in os.listxattr(self._path):
                if attribute not in self._attributes:
                    os.removexattr(self._path, attribute)
        os.utime(self._path)
        if os.stat(self._path).st_mtime_ns <= status.st_mtime_ns:  # where times are only said to be changed
            _make_files(self._path, 1)


def blur(folder: str) -> None:
    """Move the counters of process and inode numbers by amounts that nobody can guess."""
    processes, files = os.urandom(2)
    for _ in range(processes % _PROCESSES):
        try:  # of a program that is not there: unlike a fork it copies nothing of what this process has loaded
            os.posix_spawn("", ["none"], {})
        except OSError:
            continue
    _make_files(folder, 1 + files % _FILES)


def _make_files(folder: str, count: int) -> None:
    for _ in range(count):
        name = f"{folder}/{os.urandom(8).hex()}"
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        os.unlink(name)
