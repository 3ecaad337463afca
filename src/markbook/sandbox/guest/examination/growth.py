"""How much memory the examiner holds that it did not hold when it began."""

from __future__ import annotations

import os
import resource

_MOST = 512 << 20
"""Bytes by which an examiner may grow before another takes its place."""


class Growth:
    """The growth of the process that makes it; made before the process goes where there is no `/proc`."""

    def __init__(self, limit: int) -> None:
        """Note what the process holds now, and how much address space it will be allowed."""
        self._limit = limit
        self._page = resource.getpagesize()
        try:
            self._file = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._file = -1
        self._begun = self._held()[1]

    def _held(self) -> tuple[int, int]:
        """Return bytes of address space and of memory; where the kernel does not say, the most that there ever were."""
        if self._file < 0:
            return 0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        space, memory = os.pread(self._file, 64, 0).split()[:2]
        return int(space) * self._page, int(memory) * self._page

    def is_too_much(self) -> bool:
        """Whether later attempts might feel it: two microseconds to find out."""
        space, memory = self._held()
        return memory - self._begun > _MOST or space > self._limit // 2
