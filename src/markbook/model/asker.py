"""Asking one model patiently: what all its questions share, and the one loop that gets an answer or a reason.

A question costs at most `1 + retries` HTTP requests, whatever went wrong and whoever the provider is. Waiting for a turn
(the rate, a pause that the server asked for, back-off, room in the budget) is not part of a request's deadline.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from markbook.model.budget import Account, Budget, Weight, count_tokens
from markbook.model.http import TRIP, RequestFault, Trip, classify_fault
from markbook.option import Patience
from markbook.types import Missing, MissingKind

# When the next request may go out, and whether any may.

FIRST_WAIT = 0.5
_LONGEST_WAIT = 30.0
LONGEST_PAUSE = 300.0
"""A server that asks for a longer pause is one to come back to with --resume."""
MOST_FAILURES = 10
"""After so many questions in a row without any answer the server counts as down."""


class Pace:
    """Keeps to a number of requests a minute, and to the pauses that a server asks for: those hold for all."""

    def __init__(self, per_minute: float | None) -> None:
        self._gap = 60.0 / per_minute if per_minute else 0.0
        self._next = 0.0
        # Whoever waits for the next turn holds the door. One that gives up has taken none yet, so none is lost.
        self._door = asyncio.Lock()

    def go_on_from(self, other: Pace) -> None:
        """Keep to the turn that another one has given last."""
        self._next = other._next

    async def turn(self) -> None:
        """Return when the next request may start."""
        if not self._gap and self._next <= time.monotonic():
            return
        async with self._door:
            while (remaining := self._next - time.monotonic()) > 0:  # noqa: ASYNC110 - the moment may move while we wait
                await asyncio.sleep(remaining)
            self._next = time.monotonic() + self._gap

    def close_for(self, seconds: float) -> None:
        """Let nobody start for so long."""
        self._next = max(self._next, time.monotonic() + seconds)


def backoff(attempt: int) -> float:
    """Return how long to wait before the next try, in seconds: doubling, with jitter so that not all come at once."""
    return min(FIRST_WAIT * 2.0**attempt, _LONGEST_WAIT) * random.uniform(0.5, 1.0)  # noqa: S311 - no secret


class Breaker:
    """Stops asking a server that is down or refuses us, instead of failing a thousand times."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._failures = 0
        self.missing: Missing | None = None
        """Why nothing is asked any more; None as long as something is."""

    def count_answer(self) -> None:
        """Count a question that was answered, well or not: the server is there."""
        self._failures = 0

    def count_failure(self, missing: Missing, *, fatal: bool) -> Missing:
        """Count a question that brought nothing; return why, from now on the same for all if this was the last."""
        self._failures += 1
        if self.missing is None and (fatal or self._failures >= MOST_FAILURES):
            detail = f"{self._model} is not asked any more: {missing.detail}"
            self.missing = Missing(MissingKind.UNAVAILABLE, detail)
        return self.missing or missing


T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Question(Protocol[T_co]):
    """Something to ask."""

    @property
    def weight(self) -> Weight:
        """What decides the most that one request may cost."""

    def ready(self) -> AbstractAsyncContextManager[None]:
        """Return what a try is made within; entering it may wait."""

    async def send(self) -> Any:
        """Send it once and return a response whose `usage` tells its tokens as pydantic-ai does."""

    def read(self, response: Any) -> T_co:
        """Return what a response holds, or raise a `RequestFault` where it does not count."""

    def adapt(self, fault: RequestFault, /) -> bool:
        """Return whether the question will be put in another way, as a gift: the request does not count."""


@dataclass(slots=True)
class QuestionEnd(Generic[T]):
    """The end of one question: a value, or the reason why there is none, and what it took."""

    value: T | None = None
    missing: Missing | None = None
    is_lasting: bool = False
    """Whether asking again later would bring the same: an answer or a misbehaving model, not a server that is down."""
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0
    """US dollars over all requests; None if that of one is not known."""
    cost_at_most: float | None = 0.0
    """The same with requests of unknown cost at their dearest; None where no price is known."""
    seconds: float = 0.0
    """From its turn to be taken up to its end, waiting included."""
    replayed: bool = False
    """Whether the value is one that was recorded in another run."""

    def spend(self, cost: float | None, at_most: float | None) -> None:
        """Add what one request cost."""
        self.cost = None if self.cost is None or cost is None else self.cost + cost
        self.cost_at_most = None if self.cost_at_most is None or at_most is None else self.cost_at_most + at_most


class Asker:
    """What the questions to one model share. Made and used within one event loop."""

    def __init__(self, model: str, patience: Patience, budget: Budget, before: Asker | None = None) -> None:
        """Take the limits; nothing is asked.

        `before` is who asked this model so far, in another event loop: its pace and its verdict on the server go on.
        """
        self.patience = patience
        self.budget = budget
        self.account = Account()
        self.pace = Pace(patience.per_minute)
        self.breaker = Breaker(model)
        if before is not None:
            self.pace.go_on_from(before.pace)
            self.breaker = before.breaker
        self._gate = asyncio.Semaphore(patience.concurrency)

    async def ask(self, question: Question[T]) -> QuestionEnd[T]:
        """Return what became of a question."""
        async with self._gate:
            ended: QuestionEnd[T] = QuestionEnd()
            start = time.monotonic()
            await self._ask(question, ended)
            ended.seconds = time.monotonic() - start if ended.requests else 0.0
        self.account.seconds += ended.seconds
        return ended

    async def _ask(self, question: Question[T], ended: QuestionEnd[T]) -> None:
        # Requests that only found out how the server wants to be asked are not counted against the retries.
        counted = 0
        while (stop := self.breaker.missing) is None:
            reserved = await self.budget.hold(question.weight)
            if reserved is None:
                stop = Missing(MissingKind.BUDGET, f"the budget of ${self.budget.limit:g} would be exceeded")
                break
            before = ended.requests
            try:
                ended.value = await self._once(question, ended, reserved, self.patience.retries + 1 - counted)
            except RequestFault as fault:
                if ended.requests > before:
                    name = re.split("[,:] ", fault.detail, maxsplit=1)[0]
                    if fault.is_reply:
                        name = "violation"
                    elif fault.kind is MissingKind.TIMEOUT:
                        name = "timeout"
                    self.account.faults[name] = self.account.faults.get(name, 0) + 1
                is_adapted = question.adapt(fault)
                counted += 0 if is_adapted else ended.requests - before
                if is_adapted or await self._again(fault, counted):
                    continue
                missing = Missing(fault.kind, fault.detail)
                if fault.is_reply:
                    ended.missing, ended.is_lasting = missing, True
                    self.breaker.count_answer()
                else:
                    ended.missing = self.breaker.count_failure(missing, fatal=fault.fatal)
                return
            ended.is_lasting = True
            self.breaker.count_answer()
            return
        ended.missing = stop

    async def _once(self, question: Question[T], ended: QuestionEnd[T], reserved: float, most: int) -> T:
        """Make one try; every request and token is counted whether or not it helped."""
        cost: float | None = 0.0
        try:
            async with question.ready():
                await self.pace.turn()
                # The server may have been given up while this question waited for its turn.
                if (stop := self.breaker.missing) is not None:
                    raise RequestFault(stop.detail, kind=stop.kind, is_retryable=False)
                cost = None  # until the bill is there
                try:
                    response = await self._send(question, ended, Trip(most))
                except RequestFault as fault:
                    cost = 0.0 if fault.is_free and self.budget.price is not None else None
                    raise
            cost = self._read_bill(response, ended)
        finally:
            at_most: float | None = self.budget.settle(reserved, cost)
            at_most = at_most if cost is not None or self.budget.price is not None else None
            ended.spend(cost, at_most)
            if cost is None or cost > 0:
                self.account.add(cost, at_most)
        return question.read(response)

    async def _send(self, question: Question[T], ended: QuestionEnd[T], trip: Trip) -> Any:
        token = TRIP.set(trip)
        try:
            async with asyncio.timeout(self.patience.seconds):
                return await question.send()
        except TimeoutError as error:
            detail = f"no answer within {self.patience.seconds:g} s"
            raise RequestFault(detail, kind=MissingKind.TIMEOUT, is_free=False) from error
        except Exception as error:  # the border of one request: clients fail in many ways, IndexError among them
            raise classify_fault(error) from error
        finally:
            TRIP.reset(token)
            ended.requests += max(1, trip.sent)
            self.account.requests += max(1, trip.sent)

    def _read_bill(self, response: Any, ended: QuestionEnd[T]) -> float | None:
        """Count a response's tokens and return what they cost; None if tokens or price are unknown."""
        read, written = count_tokens(response.usage.input_tokens), count_tokens(response.usage.output_tokens)
        ended.input_tokens += read
        ended.output_tokens += written
        self.account.input_tokens += read
        self.account.output_tokens += written
        if self.budget.price is None or not (read or written):
            return None
        return self.budget.price.of(read, written, count_tokens(getattr(response.usage, "cache_read_tokens", 0)))

    async def _again(self, fault: RequestFault, counted: int) -> bool:
        """Wait before asking again; return False if it cannot help."""
        if fault.wait is not None and fault.wait > LONGEST_PAUSE:
            fault.fatal = True
            fault.detail = f"the server asks for a pause of {fault.wait:.0f} s, try again then: {fault.detail}"
            return False
        if fault.wait is not None:
            self.pace.close_for(fault.wait)
        if not fault.is_retryable or counted > self.patience.retries:
            return False
        if not fault.is_reply:
            await asyncio.sleep(backoff(counted - 1) if fault.wait is None else fault.wait)
        return True
