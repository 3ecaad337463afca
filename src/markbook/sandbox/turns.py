"""Attempts in many turns: a program and the benchmark's own judge, each in a worker of its own, turn by turn.

An attempt is a generator. It yields what its two workers are to do next and gets what became of it, until it returns its
result. A program and a judge that talk to one another are joined by two pipes between the workers.
"""

from __future__ import annotations

import itertools
import os
import selectors
import socket
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeVar

from markbook.sandbox.job import wall_limits
from markbook.sandbox.program import Executed, ProgramRun, in_python, on_wire, read_executed
from markbook.sandbox.worker import Stopped, Worker, WorkerLost, WorkerPool

T = TypeVar("T")
_GRACE = 30.0
"""Seconds beyond every limit of a turn after which its worker counts as lost."""


class WorkerRole(StrEnum):
    """Which of the workers."""

    PROGRAM = "program"
    JUDGE = "judge"
    PYTHON = "Python"
    """It runs programs in Python as an exam does: each is forked, behind the walls of `guest`, and no interpreter starts."""


_JOINED = (WorkerRole.PROGRAM, WorkerRole.JUDGE)


@dataclass(frozen=True, slots=True)
class Turn:
    """What the workers of a seat are to do next."""

    program: ProgramRun | None = None
    judge: ProgramRun | None = None
    python: ProgramRun | None = None
    """One text and one phase without a command."""
    stops: Callable[[Executed], bool] | None = None
    """Where the two are joined: whether what the judge said ends the program, which may still run."""

    def of(self, side: WorkerRole) -> ProgramRun | None:
        """Return what one of them is to do."""
        return {WorkerRole.PROGRAM: self.program, WorkerRole.JUDGE: self.judge, WorkerRole.PYTHON: self.python}[side]


Found = dict[WorkerRole, list[Executed]]
"""What became of a turn, by side."""
Steps = Generator[Turn, Found, T]


@dataclass(frozen=True, slots=True)
class Lost:
    """An attempt whose worker was lost twice."""

    side: WorkerRole


class Seat(Generic[T]):
    """A worker for programs and one for judges."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.holds = ""
        """The name of the judge that the judges' worker has built; the attempts say."""
        self.key = ""
        self.begin: Callable[[Seat[T]], Steps[T]] | None = None
        self.steps: Steps[T] | None = None
        self.tries = 0
        self.turn = Turn()
        self.found: Found = {}
        self.waits: set[WorkerRole] = set()
        self.ends: dict[WorkerRole, tuple[int, ...]] = {}
        """Descriptors for a worker that is still to receive them."""
        self.stops: dict[WorkerRole, int] = {}
        """Closed to stop the program on that side."""

    def close_pipes(self) -> None:
        """Close what is open of the pipes between the two."""
        for descriptor in (*itertools.chain.from_iterable(self.ends.values()), *self.stops.values()):
            os.close(descriptor)
        self.ends, self.stops = {}, {}

    def stop(self, side: WorkerRole) -> None:
        """End the program on one side."""
        descriptor = self.stops.pop(side, None)
        if descriptor is not None:
            os.close(descriptor)


Attempts = Iterable[tuple[str, Callable[[Seat[T]], Steps[T]]]]


@dataclass(slots=True)
class Seats(Generic[T]):
    """Runs attempts, as many at once as there are workers for programs."""

    programs: WorkerPool
    judges: WorkerPool | None
    """None where no attempt wants one."""
    pythons: WorkerPool | None = None
    """As above."""
    stop: int | None = None
    """A descriptor; once it is readable, what runs is ended and so are the workers."""
    _selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector, init=False)
    _done: deque[tuple[str, T | Lost]] = field(default_factory=deque, init=False)

    def run(self, attempts: Attempts[T]) -> Iterator[tuple[str, T | Lost]]:
        """Yield each attempt's key with what it returned, as they are done.

        Raises:
            Stopped: whoever wanted them does not any more.
        """
        worker_pools = self._pools().values()
        for worker_pool in worker_pools:
            worker_pool.start()
        source = iter(attempts)
        count = min(len(worker_pool.workers) for worker_pool in worker_pools)
        seats: list[Seat[T]] = [Seat(number) for number in range(count)]
        for seat in seats:
            for side in self._pools():
                self._selector.register(self._worker(seat, side).sock, selectors.EVENT_READ, (seat, side))
        if self.stop is not None:
            self._selector.register(self.stop, selectors.EVENT_READ)
        try:
            while True:
                for seat in seats:
                    while seat.steps is None and (upcoming := next(source, None)) is not None:
                        seat.tries = 0
                        seat.key, seat.begin = upcoming
                        seat.steps = seat.begin(seat)
                        self._advance(seat, None)
                while self._done:
                    yield self._done.popleft()
                if all(seat.steps is None for seat in seats):
                    return
                self._collect(seats)
        finally:
            self._selector.close()
            for seat in seats:
                seat.close_pipes()
            if any(seat.waits for seat in seats):
                for worker_pool in worker_pools:
                    worker_pool.close()  # left early: what runs is of no use to anybody

    def _pools(self) -> dict[WorkerRole, WorkerPool]:
        pools = {WorkerRole.PROGRAM: self.programs, WorkerRole.JUDGE: self.judges, WorkerRole.PYTHON: self.pythons}
        return {side: worker_pool for side, worker_pool in pools.items() if worker_pool is not None}

    def _worker_pool(self, side: WorkerRole) -> WorkerPool:
        return self._pools()[side]

    def _worker(self, seat: Seat[T], side: WorkerRole) -> Worker:
        return self._worker_pool(side).workers[seat.number]

    def _advance(self, seat: Seat[T], executed_by_role: Found | None) -> None:
        assert seat.steps is not None
        try:
            turn = next(seat.steps) if executed_by_role is None else seat.steps.send(executed_by_role)
        except StopIteration as end:
            self._done.append((seat.key, end.value))
            seat.steps = None
            return
        seat.turn, seat.found = turn, {}
        seat.waits = {side for side in self._pools() if turn.of(side) is not None}
        if turn.stops is not None and len(seat.waits) == len(_JOINED):
            # what one side writes the other reads; a third pipe each, whose end stops the program on that side
            (to_program, from_judge), (to_judge, from_program) = os.pipe(), os.pipe()
            seat.ends = {WorkerRole.PROGRAM: (to_program, from_program), WorkerRole.JUDGE: (to_judge, from_judge)}
            for side in _JOINED:
                stop, seat.stops[side] = os.pipe()
                seat.ends[side] += (stop,)
        # a set of texts has another order in each process
        for side in sorted(seat.waits):
            run = turn.of(side)
            assert run is not None
            worker = self._worker(seat, side)
            try:
                if side is not WorkerRole.PYTHON:
                    worker.give(run, on_wire(run, 0))
                    continue
                self._selector.unregister(worker.sock)
                try:
                    if not run.goes_on:  # no answer is run by a process that has seen another one
                        worker.examine_anew()
                finally:
                    self._selector.register(worker.sock, selectors.EVENT_READ, (seat, side))
                worker.give(run, in_python(run))
            except WorkerLost:
                self._lost(seat, side)
                return  # the attempt has begun anew, and both sides have theirs: given twice, answers would be a turn late

    def _collect(self, seats: list[Seat[T]]) -> None:
        busy = [(seat, side) for seat in seats for side in seat.waits]
        patience = min(self._deadline(seat, side) for seat, side in busy) - time.monotonic()
        events = self._selector.select(max(0.0, patience))
        if any(key.data is None for key, _ in events):
            raise Stopped
        for key, _ in events:
            seat, side = key.data
            if side in seat.waits:
                self._read(seat, side)
        if not events:
            for seat, side in busy:
                if side in seat.waits and time.monotonic() > self._deadline(seat, side):
                    self._lost(seat, side)

    def _deadline(self, seat: Seat[T], side: WorkerRole) -> float:
        run = seat.turn.of(side)
        assert run is not None
        limits = [wall_limits(phase.limits)[1] for phase in run.phases]
        return self._worker(seat, side).since + sum(limits) + _GRACE

    def _read(self, seat: Seat[T], side: WorkerRole) -> None:
        worker = self._worker(seat, side)
        try:
            for record in worker.read():
                if record.get("awaits"):
                    # it is given its ends of the pipes, and none is kept: whoever reads is to see their end
                    ends = seat.ends.pop(side)
                    try:
                        socket.send_fds(worker.sock, [b"."], list(ends))
                    finally:
                        for descriptor in ends:
                            os.close(descriptor)
                    continue
                phases = [read_executed(phase) for phase in record["phases"]]
                if side not in seat.waits:
                    return  # nobody asked
                worker.jobs.clear()
                self._take_answer(seat, side, phases)
        except (WorkerLost, KeyError, TypeError, ValueError, IndexError, OSError):
            if side in seat.waits:
                self._lost(seat, side)

    def _take_answer(self, seat: Seat[T], side: WorkerRole, phases: list[Executed]) -> None:
        seat.found[side] = phases
        seat.waits.discard(side)
        if seat.waits:
            if side is WorkerRole.JUDGE and seat.turn.stops is not None and phases and seat.turn.stops(phases[-1]):
                seat.stop(WorkerRole.PROGRAM)
            return
        seat.close_pipes()
        self._advance(seat, seat.found)

    def _lost(self, seat: Seat[T], side: WorkerRole) -> None:
        """Replace the workers of a seat, and begin its attempt once more; the second time it is given up."""
        seat.close_pipes()
        waiting, seat.waits = seat.waits, set()
        # the other side too, where it is still at it: its answer would be one to a turn that is not there any more
        for role in {side, *waiting}:
            worker = self._worker(seat, role)
            self._selector.unregister(worker.sock)
            replacement = self._worker_pool(role).replace(worker)
            self._selector.register(replacement.sock, selectors.EVENT_READ, (seat, role))
            if role is WorkerRole.JUDGE:
                seat.holds = ""
        assert seat.steps is not None
        assert seat.begin is not None
        seat.steps.close()
        seat.steps = None
        seat.tries += 1
        if seat.tries > 1:
            self._done.append((seat.key, Lost(side)))
        else:
            seat.steps = seat.begin(seat)
            self._advance(seat, None)
