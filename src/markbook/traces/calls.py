"""Which call an answer belongs to: what the readers of logs share whose answers stand apart from their calls."""

from __future__ import annotations

from collections import defaultdict, deque


class OpenCalls:
    """The calls of one run that wait for an answer. One id or name may stand for several: the oldest is answered first."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[int]] = defaultdict(deque)
        self._nameless: deque[int] = deque()
        self._answered: set[int] = set()
        self._last: dict[str, int] = {}

    def add(self, place: int, identity: str, name: str) -> None:
        """Note the call at a place among the steps; one without an id is found by its tool's name."""
        self._waiting[identity or name].append(place)
        if not identity:
            self._nameless.append(place)

    def answer(self, identity: str, name: str) -> int | None:
        """Return the place of the call that an answer is for; the oldest without an id where it says neither id nor name."""
        for key in (identity, name):
            if key and (index := self._oldest(self._waiting.get(key))) is not None:
                self._last[key] = index
                return index
        return None if identity or name else self._oldest(self._nameless)

    def find_answered(self, key: str) -> int | None:
        """Return the place of the call of this id or name that was answered last: some tools answer twice."""
        return self._last.get(key)

    def _oldest(self, places: deque[int] | None) -> int | None:
        while places:
            index = places.popleft()
            if index not in self._answered:
                self._answered.add(index)
                return index
        return None
