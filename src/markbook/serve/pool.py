"""An async pool of sandboxes: orders in, outcomes or reasons out, bounded, fair, and never a number that nobody measured.

Theory of operation
-------------------
An *order* is code to mark. Its caller gets a *ticket*: a future that ends in an outcome or in the reason why there is none
(`Missing`), always, and at most at its deadline. Equal orders (the same code, tests and limits, by digest) share one piece of
*work*, which has the tickets of all who wait for it. Work waits in the queue until one of the *lanes* takes it: threads, each
with a sandbox of one worker (`sandbox_thread`), or with a place on an engine's workers.

    offer -> cache? -> the same work under way? -> queue -> lane -> _land -> every ticket, and the cache

What crosses between threads. All state of the pool is used in the event loop only. Two things cross: the queue, which has a
lock of its own (`work_queue`), and outcomes, which a lane hands over by `call_soon_threadsafe`. So no method here takes a lock,
and a batch is admitted as a whole or not at all.

Bounds. The queue takes so much and no more; one client may have three quarters of it, so that there is room for another.
What does not fit is refused at once with the seconds after which to ask again: a caller that waits unseen would make every
deadline meaningless. Clients have their turns one after the other; a lane takes up to 16 attempts at one task in
a row, for which its worker has the task prepared.

Leaving. A ticket that is cancelled or late leaves its work. Work without tickets is dropped from the queue, or ended in its
lane if it runs; work that somebody else waits for goes on. What is late by its own running (most of the wait, and at least two
seconds) is out of time, a verdict on the code; what is late by waiting is `Missing`: a number for it would be trained on.

The cache holds outcomes that would be the same again (`sandbox.job.may_be_remembered`). Closing answers what
is left as `unavailable`, so that no caller waits for ever.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from markbook.installed import count_processors
from markbook.programs import ensure_marks, refuse_unsupported
from markbook.programs.sandboxes import BoxSettings
from markbook.sandbox.job import all_failed, digest, may_be_remembered, task_name
from markbook.serve.records import Busy, Closing, Order
from markbook.serve.sandbox_thread import EngineSandboxes, SandboxThread
from markbook.serve.work_queue import SharedWork, State, Ticket, WorkQueue
from markbook.types import ErrorKind, Isolation, Missing, MissingKind, Outcome

_AT_ONCE = 64
"""Pieces of work given to an engine at a time; it runs as many of them at once as it has processors."""
_RECENT = 30.0
"""Seconds over which the present rate is taken."""
_OWN_SHARE, _OWN_LEAST = 0.5, 2.0
"""What runs at its deadline is out of time if it ran for this share of its caller's wait, and for so many seconds."""
_MANY = 64
"""Tests with which a verdict counts for two in the cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSettings:
    """How a pool is set up."""

    box: BoxSettings = field(default_factory=BoxSettings)
    """`workers` is how many pieces of work run at once; one a core when None."""
    engine: str = "local"
    """Where they run: in sandboxes of this machine, or of an engine's workers."""
    queue: int = 4096
    """Pieces of work that may wait."""
    cache: int = 65536
    """Verdicts that are remembered by the content of what was marked; 0 remembers none."""
    most_jobs: int = 20_000
    """Pieces of work after which a worker is replaced."""
    most_bytes: int = 1 << 30
    """Resident memory beyond which a worker is replaced."""


class Pool:
    """Marks orders in sandboxes of this machine. Its methods are called in one event loop."""

    def __init__(self, settings: PoolSettings = PoolSettings()) -> None:
        self.settings = settings
        self._remote = None if settings.engine == "local" else EngineSandboxes(settings.engine, settings.box)
        processors = count_processors()
        count = settings.box.workers or (_AT_ONCE if self._remote else processors)
        self._desk = WorkQueue(settings.queue)
        self.lanes = [
            SandboxThread(
                number,
                self._desk,
                settings.box,
                self._heard,
                pinned=count >= processors,  # a few would crowd those that a pool beside it takes too
                most_jobs=settings.most_jobs,
                most_bytes=settings.most_bytes,
                remote=self._remote,
            )
            for number in range(count)
        ]
        self._works: dict[str, SharedWork] = {}
        self._cache: OrderedDict[str, Outcome] = OrderedDict()
        self._cached = 0
        """What the cache holds, by weight."""
        self._landed: deque[tuple[SharedWork, Outcome | Missing]] = deque()
        """What lanes have handed over and the event loop has not seen."""
        self._is_landing = False
        """Whether the event loop has been told to look at it."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closing = False
        self._ending: asyncio.Future[None] | None = None
        self._until = math.inf
        """Until when what is under way may still end, once it is closing."""
        self._ends: deque[float] = deque(maxlen=1000)
        """When the latest pieces of work ended."""
        self.counts: Counter[str] = Counter()
        """What became of tickets: `measured`, `cached`, and the kinds of reason."""

    async def start(self) -> None:
        """Start the workers.

        Raises:
            EnvironmentUnfitError: a machine cannot isolate the code well enough, or marks wrongly.
            ExtraMissingError: the engine's package is not installed.
        """
        self._loop = asyncio.get_running_loop()
        if self._remote is not None:
            self._remote.start()  # in this thread: engines may see to the signals of their process
        else:
            refuse_unsupported()
            for lane in self.lanes:
                await asyncio.to_thread(ensure_marks, lane.box)
        for lane in self.lanes:
            lane.start()

    @property
    def level(self) -> Isolation:
        """The level of isolation that was reached."""
        return self.lanes[0].box.level if self._remote is None else self._remote.level

    @property
    def waiting(self) -> int:
        """How many pieces of work wait."""
        return self._desk.waiting

    @property
    def running(self) -> int:
        """How many pieces of work run."""
        return sum(work.state is State.RUNS for work in self._works.values())

    @property
    def most_of_one(self) -> int:
        """How much one client may have waiting."""
        return self._desk.of_one

    @property
    def is_closing(self) -> bool:
        """Whether it takes nothing new."""
        return self._closing

    def rate(self) -> float:
        """Return how many pieces of work ended a second of late."""
        since = time.monotonic() - _RECENT
        recent = [end for end in self._ends if end > since]
        # over a second at least, or two ends close to one another would make any rate
        return len(recent) / max(1.0, time.monotonic() - recent[0]) if recent else 0.0

    def offer(self, client: str, orders: Sequence[Order], seconds: float, *, waited: float = 0.0) -> list[Ticket]:
        """Take orders, all or none, and return a ticket for each; the clients have their turns one after the other.

        `seconds` is how long they are waited for, where an order does not say; after that they are `timeout`, or out
        of time where running took more of it than waiting. `waited` is how many their caller has waited already, such
        as for room.

        Raises:
            Busy: too much waits already.
            Closing: the pool ends.
        """
        assert self._loop is not None
        if self._closing:
            raise Closing("the server is shutting down and takes nothing new")
        keys = [_key(order) for order in orders]
        # equal orders of a batch are one piece of work and need one place
        new = {key for key, _ in keys if key not in self._cache and key not in self._works}
        room = self._desk.room(client)
        if len(new) > room:
            self.counts["refused"] += len(orders)
            raise self._busy(f"{len(new)} items do not fit", room)
        since = time.monotonic() - waited
        tickets = [Ticket(order, self._loop.create_future(), since=since) for order in orders]
        works = [self._admit(client, ticket, *key) for ticket, key in zip(tickets, keys, strict=True)]
        self._desk.put([work for work in works if work is not None])
        self._set_deadlines(tickets, seconds)
        return tickets

    def ensure_room(self, client: str) -> None:
        """Find out whether anything can be taken, before a request is read at some cost.

        Raises:
            Busy: too much waits already.
        """
        if not (room := self._desk.room(client)):
            self.counts["refused"] += 1
            raise self._busy("nothing can be taken now", room)

    def _busy(self, what: str, room: int) -> Busy:
        waiting = self._desk.waiting
        seconds_on = max(1, min(60, math.ceil(waiting / max(self.rate(), 1.0))))
        return Busy(f"{what}: {waiting} wait already, and there is room for {room}", seconds_on)

    def _admit(self, client: str, ticket: Ticket, key: str, task: str) -> SharedWork | None:
        """Answer a ticket from the cache, or let it share work under way; else return new work."""
        if ticket.order.missing is not None:
            self._answer(ticket, ticket.order.missing)
            return None
        cached = self._cache.get(key)
        if cached is not None:
            # so that what was wanted last goes last
            self._cache.move_to_end(key)
            self.counts["cached"] += 1
            ticket.future.set_result(cached)
            return None
        work = self._works.get(key)
        is_new = work is None
        if work is None:
            work = self._works[key] = SharedWork(key, task, client, ticket.order)
        else:
            self._desk.join(work, client)
        ticket.work = work
        work.tickets.append(ticket)
        return work if is_new else None

    def _set_deadlines(self, tickets: Sequence[Ticket], seconds: float) -> None:
        assert self._loop is not None
        by_time: dict[float, list[Ticket]] = {}
        for ticket in tickets:
            if not ticket.future.done():
                own = ticket.order.seconds
                by_time.setdefault(seconds if own is None else min(own, seconds), []).append(ticket)
        # one timer for all that end at the same time: a batch of a thousand would else set a thousand
        for wait, group in by_time.items():
            handle = self._loop.call_later(wait, self._expire, group, wait)
            countdown = iter(range(len(group) - 1))

            def on_landing(
                _: object, handle: asyncio.TimerHandle = handle, countdown: Iterator[int] = countdown
            ) -> None:
                if next(countdown, None) is None:  # the last one: nothing of a batch stays once it is answered
                    handle.cancel()

            for ticket in group:
                ticket.future.add_done_callback(on_landing)

    def _expire(self, tickets: Sequence[Ticket], seconds: float) -> None:
        for ticket in tickets:
            if not ticket.future.done():
                self._answer(ticket, self._late(ticket, seconds))
                self._leave(ticket)

    def _late(self, ticket: Ticket, seconds: float) -> Outcome | Missing:
        """Return what a ticket comes to at its deadline: out of time if most of that was its own, else nobody knows."""
        work, now = ticket.work, time.monotonic()
        since = self.lanes[work.lane].since(work) if work is not None and work.state is State.RUNS else None
        # the work may have been running for others before this ticket came
        ran = 0.0 if since is None else now - max(since, ticket.since)
        if ran < max(_OWN_LEAST, _OWN_SHARE * (now - ticket.since)):
            return Missing(MissingKind.TIMEOUT, f"not marked within its deadline of {seconds:g} s")
        return all_failed(
            ticket.order.sample,
            ErrorKind.TIMEOUT,
            message=f"it was still running at its deadline of {seconds:g} s",
            isolation=self.level,
            limit="wall",
            wall_seconds=ran,
        )

    def cancel(self, tickets: Sequence[Ticket]) -> None:
        """Give tickets up: what nobody else waits for is not run, and ended if it runs."""
        for ticket in tickets:
            if not ticket.future.done():
                ticket.future.cancel()
                self.counts["cancelled"] += 1
                self._leave(ticket)

    def _leave(self, ticket: Ticket) -> None:
        work = ticket.work
        if work is None or ticket not in work.tickets:
            return
        work.tickets.remove(ticket)
        if work.tickets:
            return  # somebody else waits for the same code
        # the same code may have been handed in again meanwhile, as new work under this key
        if self._works.get(work.key) is work:
            del self._works[work.key]
        self._desk.drop(work)
        if work.state is State.RUNS:
            self.lanes[work.lane].stop(work)

    def _answer(self, ticket: Ticket, outcome: Outcome | Missing) -> None:
        if not ticket.future.done():
            self.counts[outcome.kind.value if isinstance(outcome, Missing) else "measured"] += 1
            ticket.future.set_result(outcome)

    def _heard(self, work: SharedWork, outcome: Outcome | Missing) -> None:
        """Hand an outcome from a lane's thread to the event loop."""
        assert self._loop is not None
        self._landed.append((work, outcome))
        if not self._is_landing:  # else what has just been put there is met by the look that is still to come
            self._is_landing = True
            self._loop.call_soon_threadsafe(self._land_all)

    def _land_all(self) -> None:
        self._is_landing = False  # before the look: what is handed over during it asks for another one
        while self._landed:
            self._land(*self._landed.popleft())

    def _land(self, work: SharedWork, outcome: Outcome | Missing) -> None:
        self._ends.append(time.monotonic())
        if self._works.get(work.key) is work:
            del self._works[work.key]
        is_new = self.settings.cache and work.key not in self._cache
        if is_new and isinstance(outcome, Outcome) and may_be_remembered(outcome):
            self._cache[work.key] = outcome
            self._cached += _weight(outcome)
            while self._cached > self.settings.cache:
                self._cached -= _weight(self._cache.popitem(last=False)[1])
        tickets, work.tickets = work.tickets, []
        for ticket in tickets:
            self._answer(ticket, outcome)

    async def close(self, grace: float = 0.0) -> None:
        """Take nothing new, give what is under way so many seconds, and end; what is left is `unavailable`.

        Asked again, it may only be less.
        """
        self._closing = True
        self._until = min(self._until, time.monotonic() + grace)
        if self._ending is None:
            # whoever closes it waits for the same end: there is one
            self._ending = asyncio.ensure_future(self._end())
        await self._ending

    async def _end(self) -> None:
        while self._works and time.monotonic() < self._until:  # noqa: ASYNC110 - once in its life; an event would be kept for it
            await asyncio.sleep(0.02)
        # copies, because `_leave` takes from both
        for work in list(self._works.values()):
            for ticket in list(work.tickets):
                self._answer(ticket, Missing(MissingKind.UNAVAILABLE, "the server shut down before it was marked"))
                self._leave(ticket)
        self._desk.close()
        for lane in self.lanes:
            await asyncio.to_thread(lane.join)
        if self._remote is not None:
            self._remote.close()


def _weight(outcome: Outcome) -> int:
    """Return for how many verdicts one counts in the cache: memory goes by what is said of each test."""
    return 1 + sum(1 + len(test.parts) for test in outcome.tests) // _MANY


_task_names: OrderedDict[int, tuple[object, str]] = OrderedDict()


def _key(order: Order) -> tuple[str, str]:
    """Return what names an order's content, and what names its task."""
    # Not the policy, by which the outcome is read later or the sample differs, nor the isolation, one for the whole pool.
    sample = order.sample
    sample_and_name = _task_names.get(id(sample))
    # with the object itself, because the id of one that has gone may be another's now
    if sample_and_name is None or sample_and_name[0] is not sample:
        sample_and_name = (sample, task_name(sample))
        if sample.id:  # a benchmark's: an item's own tests are a new sample each time
            _task_names[id(sample)] = sample_and_name
            if len(_task_names) > _TASKS:
                _task_names.popitem(last=False)
    return digest(order.code, sample_and_name[1], repr(order.limits)), sample_and_name[1]


_TASKS = 4096
"""Samples whose names are remembered: the tasks of a benchmark come again and again."""
