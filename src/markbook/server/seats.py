"""Who runs a program next: so many at once, and the clients have their turns one after the other."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import Generic, TypeVar

from markbook.server.guard import Refused

_Seat = TypeVar("_Seat")


class SeatQueue(Generic[_Seat]):
    """Seats, and those who wait for one. Its methods are called in one event loop."""

    def __init__(self, seats: Iterable[_Seat], *, of_one: int, most: int) -> None:
        """Take the seats; so many of one client may wait, and so many in all."""
        self._free = list(seats)
        self._count = len(self._free)
        self._of_one, self._most = of_one, most
        self._waiting: OrderedDict[str, deque[asyncio.Future[_Seat]]] = OrderedDict()
        """Whose turn it is comes first."""

    @property
    def is_idle(self) -> bool:
        """Whether every seat is free and nobody waits."""
        return len(self._free) == self._count and not self._waiting

    def want(self, client: str) -> asyncio.Future[_Seat]:
        """Return what will be a seat; give it up by `leave`, or give the seat back.

        Raises:
            Refused: too many wait.
        """
        own = len(self._waiting.get(client, ()))
        if own >= self._of_one or sum(map(len, self._waiting.values())) >= self._most:
            raise Refused(429, f"{own} programs of yours wait already", Retry_After="1")
        seat_future: asyncio.Future[_Seat] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(seat_future)
        self._hand_out()
        return seat_future

    def give_back(self, seat: _Seat) -> None:
        """Take a seat back for the next."""
        self._free.append(seat)
        self._hand_out()

    def leave(self, client: str, wanted: asyncio.Future[_Seat]) -> None:
        """Give up what was wanted, or what has just been got."""
        waiting = self._waiting.get(client, ())
        if wanted in waiting:
            self._waiting[client].remove(wanted)
            if not waiting:
                del self._waiting[client]
        if not wanted.done():
            wanted.cancel()
        elif not wanted.cancelled() and wanted.exception() is None:
            self.give_back(wanted.result())

    def refuse_all(self, refused: Refused) -> None:
        """Refuse everybody who waits."""
        for waiting in self._waiting.values():
            for seat_future in waiting:
                if not seat_future.done():
                    seat_future.set_exception(refused)
        self._waiting.clear()

    def _hand_out(self) -> None:
        while self._free and self._waiting:
            client, waiting = next(iter(self._waiting.items()))
            seat_future = waiting.popleft()
            if waiting:
                self._waiting.move_to_end(client)
            else:
                del self._waiting[client]
            if not seat_future.done():
                seat_future.set_result(self._free.pop())
