"""Token vectors of texts that were read already: a reference of many pairs goes through the network once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence

from markbook.metrics.semantic.encoders import Array

_MOST_BYTES = 256 << 20

Windows = Sequence[tuple[int, Array]]
"""Where each piece of a text starts, and the unit vectors of its tokens."""


class VectorCache:
    """The texts read last, up to a number of bytes; safe to use from several threads."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        """Start empty."""
        self._most = most_bytes
        self._held = 0
        self._kept: OrderedDict[Hashable, Windows] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: Hashable) -> Windows | None:
        """Return what is kept of a text, and keep it longer."""
        with self._lock:
            windows = self._kept.get(key)
            if windows is not None:
                self._kept.move_to_end(key)
            return windows

    def keep(self, key: Hashable, windows: Windows) -> None:
        """Keep a text's vectors; the ones that were not asked for the longest time make room."""
        with self._lock:
            if key in self._kept:
                return
            self._kept[key] = windows
            self._held += _bytes(windows)
            while self._held > self._most:
                _, gone = self._kept.popitem(last=False)
                self._held -= _bytes(gone)


def _bytes(windows: Windows) -> int:
    return sum(int(vectors.nbytes) for _, vectors in windows)
