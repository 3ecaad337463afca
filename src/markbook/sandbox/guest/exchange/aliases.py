"""Containers of which both sides hold a copy: noticing where one of them changes and the other one does not.

Within one conversation what a call changes in its arguments is written back. Afterwards each side has a container of
its own. An honest solution that keeps what it was given, or hands out what it goes on changing, then behaves otherwise
than it would beside the test; such a test is decided there.
"""

from __future__ import annotations

import sys
from collections import deque
from operator import is_

from .containers import MUTABLE, contents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .values import Transfer

_MOST = 20_000
"""Items that are kept in mind; what crosses after so many is not watched."""
_LOOKED_AT = 64
"""Containers that are looked at a call, the newest first, then those whose turn it is."""


class Crossed:
    """The containers that crossed in one test and that somebody on this side still holds."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[Any, list[Any]]] = {}
        """Each with what it held when both sides agreed on it."""
        self.late = False
        """Whether the other side said that one has changed there since."""
        self._turns: deque[int] = deque()
        """Their keys, in the order in which they are looked at."""
        self._size = 0

    def add(self, transfer: Transfer) -> None:
        """Watch the containers of a conversation, on which both sides agree now."""
        for value in transfer.numbered:
            if type(value) in MUTABLE:
                items, key = contents(value), id(value)
                if key not in self.known:
                    if self._size + len(items) >= _MOST:
                        continue
                    self._turns.appendleft(key)
                self._note(value, items)

    def _note(self, value: Any, items: list[Any]) -> None:
        entry = self.known.get(id(value))
        self._size += len(items) + 1 - (len(entry[1]) + 1 if entry else 0)
        self.known[id(value)] = (value, items)

    def has_changed(self, transfer: Transfer | None) -> bool:
        """Return whether one has changed on this side that is no part of this conversation.

        What nobody holds any more can be neither changed nor seen from now on, and is forgotten. Of very many, some are
        looked at by each call.
        """
        current = transfer.index if transfer is not None else {}
        has_changed = False
        for _ in range(min(len(self._turns), _LOOKED_AT)):
            key = self._turns.popleft()
            is_held = _references(self.known, key) > _ALONE
            value, before = self.known[key]
            if key not in current and not _same(now := contents(value), before):
                self._note(value, now)
                has_changed = True
            if is_held:
                self._turns.append(key)
            else:
                self._size -= len(self.known.pop(key)[1]) + 1
        return has_changed

    def changed_there(self) -> bool:
        """Return whether one has changed on the other side that the test still holds here, if only perhaps."""
        if not self.late:
            return False
        within = _within(self.known)
        return any(_references(self.known, key) > _ALONE + within.get(key, 0) for key in self.known)


def _same(now: list[Any], before: list[Any]) -> bool:
    return len(now) == len(before) and all(map(is_, now, before))


def _within(watched: dict[int, tuple[Any, list[Any]]]) -> dict[int, int]:
    """Return how many references to each object come from what watched containers hold, or held."""
    counts: dict[int, int] = {}
    for value, before in watched.values():
        for item in (*before, *contents(value)):
            counts[id(item)] = counts.get(id(item), 0) + 1
    return counts


def _references(watched: dict[int, tuple[Any, list[Any]]], key: int) -> int:
    """Return how many references there are to a watched container, with those that come from watching it."""
    value, _ = watched[key]
    return sys.getrefcount(value)


_ALONE = _references({0: ([], [])}, 0)
"""How many there are to one that nobody else holds."""
