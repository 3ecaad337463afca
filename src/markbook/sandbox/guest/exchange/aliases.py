"""Containers of which both sides hold a copy: noticing where one of them changes and the other one does not.

Within one conversation what a call changes in its arguments is written back. Afterwards each side has a container of
its own. An honest solution that keeps what it was given, or hands out what it goes on changing, then behaves otherwise
than it would beside the test; such a test is decided there.
"""

from __future__ import annotations

import sys
from operator import is_

from .containers import MUTABLE, contents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .values import Transfer

_MOST = 20_000
"""Items that are kept in mind; what crosses after so many is not watched."""
_OWN_REFERENCES = 3
"""References to a container that come from watching it."""


class Crossed:
    """The containers that crossed in one test, as one side knows them."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[Any, list[Any]]] = {}
        """Each with what it held when both sides agreed on it."""
        self.late = False
        """Whether the other side said that one has changed there since."""
        self._size = 0

    def add(self, transfer: Transfer) -> None:
        """Watch the containers of a conversation, on which both sides agree now."""
        for value in transfer.numbered:
            if type(value) in MUTABLE:
                held = contents(value)
                if id(value) not in self.known:
                    self._size += len(held) + 1
                    if self._size > _MOST:
                        return
                self.known[id(value)] = (value, held)

    def changed(self, transfer: Transfer | None) -> bool:
        """Return whether one has changed on this side that is no part of this conversation."""
        if not self.known:
            return False
        current = transfer.index if transfer is not None else {}
        found = False
        for key, (value, before) in self.known.items():
            if key not in current and not _same(contents(value), before):
                self.known[key] = (value, contents(value))
                found = True
        return found

    def changed_there(self) -> bool:
        """Return whether one has changed on the other side that the test still holds here, if only perhaps."""
        if not self.late:
            return False
        within: dict[int, int] = {}
        for value, before in self.known.values():
            for item in (*before, *contents(value)):
                within[id(item)] = within.get(id(item), 0) + 1
        return any(
            sys.getrefcount(value) > _OWN_REFERENCES + within.get(key, 0) for key, (value, _) in self.known.items()
        )


def _same(now: list[Any], before: list[Any]) -> bool:
    return len(now) == len(before) and all(map(is_, now, before))
