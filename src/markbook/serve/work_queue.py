"""What waits to be marked: bounded, one client after the other, the attempts at one task side by side."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from markbook.serve.records import Order
from markbook.types import Missing, Outcome

_STREAK = 16
"""Attempts at one task that a lane takes in a row while others of the same client wait."""
_PLENTY = 2
"""How much is left for each lane when one takes several pieces at once, for each piece that it takes."""


def limit_of_one(most: int) -> int:
    """Return how much of all that there is room for one client may have, so that there is room for another."""
    return max(1, int(most * 0.75))


@dataclass(eq=False, slots=True)
class Ticket:
    """One caller's claim to the outcome of an order."""

    order: Order
    future: asyncio.Future[Outcome | Missing]
    work: SharedWork | None = None
    since: float = field(default_factory=time.monotonic)
    """From when on its caller has waited."""


class State(Enum):
    """Where a piece of work is."""

    WAITS = 1
    RUNS = 2
    OVER = 3


@dataclass(eq=False, slots=True)
class SharedWork:
    """Some code to run once, for all who wait for it."""

    key: str
    """The same for the same code, tests and limits."""
    task: str
    """The same for attempts at the same task."""
    client: str
    order: Order
    tickets: list[Ticket] = field(default_factory=list)
    state: State = State.WAITS
    lane: int = -1


class _Client:
    """What one client has waiting: by task; the task whose turn it is comes first."""

    def __init__(self) -> None:
        self.tasks: OrderedDict[str, deque[SharedWork]] = OrderedDict()
        self.count = 0

    def add(self, work: SharedWork) -> None:
        self.tasks.setdefault(work.task, deque()).append(work)
        self.count += 1

    def take(self, task: str) -> SharedWork:
        """Return the oldest of a task, or where that has none, of the task whose turn it is, which becomes the last one."""
        name = task
        if name not in self.tasks:
            name = next(iter(self.tasks))
            self.tasks.move_to_end(name)
        waiting = self.tasks[name]
        work = waiting.popleft()
        if not waiting:
            del self.tasks[name]
        self.count -= 1
        return work

    def remove(self, work: SharedWork) -> None:
        waiting = self.tasks[work.task]
        waiting.remove(work)
        if not waiting:
            del self.tasks[work.task]
        self.count -= 1


class WorkQueue:
    """Work that waits, taken by lanes in other threads."""

    def __init__(self, most: int) -> None:
        """Take at most so much work."""
        self._most = most
        self.of_one = limit_of_one(most)
        """How much one client may have waiting."""
        self._clients: OrderedDict[str, _Client] = OrderedDict()
        """Whose turn it is comes first."""
        self._last: dict[int, tuple[str, int]] = {}
        """The task that each lane took last, and how many of it in a row."""
        self._changed = threading.Condition()
        self._closed = False
        self.waiting = 0

    def room(self, client: str) -> int:
        """Return how much more a client may hand in now."""
        with self._changed:
            own = self._clients[client].count if client in self._clients else 0
            return max(0, min(self._most - self.waiting, self.of_one - own))

    def put(self, works: Sequence[SharedWork]) -> None:
        """Let work wait."""
        with self._changed:
            for work in works:
                work.state = State.WAITS
                self._clients.setdefault(work.client, _Client()).add(work)
            self.waiting += len(works)
            # no more lanes than there are pieces: others would wake for nothing
            self._changed.notify(len(works))

    def take(self, lane: int, most: int = 1) -> list[SharedWork]:
        """Wait for work and return it, several pieces where plenty waits for every lane; none when there will be none."""
        with self._changed:
            while not self._clients:
                if self._closed:
                    return []
                self._changed.wait()
            # one piece at a time near the end: a lane with several would keep others idle
            count = self.waiting // (_PLENTY * max(1, len(self._last)))
            return [self._next(lane) for _ in range(max(1, min(most, count)))]

    def _next(self, lane: int) -> SharedWork:
        name, client = next(iter(self._clients.items()))
        task, streak = self._last.get(lane, ("", 0))
        # a worker has its last task prepared, but a client's other tasks must not wait for the end of a long one
        work = client.take(task if streak < _STREAK else "")
        self._last[lane] = (work.task, streak + 1 if work.task == task else 1)
        # The next client has its turn.
        if client.count:
            self._clients.move_to_end(name)
        else:
            del self._clients[name]
        self.waiting -= 1
        work.state, work.lane = State.RUNS, lane
        return work

    def join(self, work: SharedWork, client: str) -> None:
        """Let work that another client waits for too wait among those of the one that has less waiting."""
        with self._changed:
            if work.state is not State.WAITS or client == work.client:
                return
            owner = self._clients[work.client]
            own = self._clients[client].count if client in self._clients else 0
            # the work comes sooner among those of the client that has less waiting, and both get its outcome then
            if own + 1 < owner.count:
                owner.remove(work)
                self._clients.setdefault(client, _Client()).add(work)
                work.client = client

    def drop(self, work: SharedWork) -> None:
        """Take back work that nobody waits for any more; does nothing if a lane has it."""
        with self._changed:
            if work.state is not State.WAITS:
                return
            work.state = State.OVER
            client = self._clients[work.client]
            client.remove(work)
            self.waiting -= 1
            if not client.count:
                del self._clients[work.client]

    def close(self) -> None:
        """Have lanes end once nothing waits."""
        with self._changed:
            self._closed = True
            # each lane has to see for itself that nothing comes any more
            self._changed.notify_all()
