"""Doing once for all that came at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from markbook.errors import StorageError


class SharedCalls:
    """Puts off what many want done, and does it once for all of them."""

    def __init__(self, act: Callable[[], None]) -> None:
        """Take what is done."""
        self._act = act
        self._is_due = False

    def soon(self) -> None:
        """Do it before anything else is waited for: at the end of this turn of the event loop, without one at once.

        Raises:
            StorageError: without an event loop, what was done raised it.
        """
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._act()
            return
        if not self._is_due:
            self._is_due = True
            loop.call_soon(self._now)

    def _now(self) -> None:
        self._is_due = False
        try:
            self._act()
        except StorageError:
            return  # nobody waits here to be told: the journal keeps it, and raises it again at the next row
