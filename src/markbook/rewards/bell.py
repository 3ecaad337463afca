"""Telling a thread that waits for a worker that nobody wants its work any more."""

from __future__ import annotations

import contextlib
import os


class Bell:
    """A pipe: rung by one thread, heard by another that selects on it."""

    def __init__(self) -> None:
        self.heard, self._rung = os.pipe()
        """The descriptor that becomes readable."""
        for descriptor in (self.heard, self._rung):
            os.set_blocking(descriptor, False)

    def ring(self) -> None:
        """Make it readable."""
        with contextlib.suppress(BlockingIOError):  # then it is
            os.write(self._rung, b"x")

    def hush(self) -> None:
        """Make it wait for the next ring."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.heard, 1 << 16)

    def close(self) -> None:
        """Give both ends back."""
        for descriptor in (self.heard, self._rung):
            os.close(descriptor)
