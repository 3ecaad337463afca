"""Room on Python's stack: how deep a text may be nested is decided by our limit, not by how deep the caller stands."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_lock = threading.Lock()
_users = 0
_before = 0


@contextmanager
def room_for(calls: int) -> Iterator[None]:
    """Let so many calls stand within one another from here on; the limit is the whole process's, so the last to leave sets it back."""
    global _users, _before  # noqa: PLW0603 - there is one limit
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - no other way to count
    depth = 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    with _lock:
        if not _users:
            _before = sys.getrecursionlimit()
        _users += 1
        sys.setrecursionlimit(max(sys.getrecursionlimit(), depth + calls))
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                sys.setrecursionlimit(_before)
