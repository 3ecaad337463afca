"""What asking a model may cost and did cost: prices, budgets and accounts.

Theory of operation
-------------------
A server bills after it has answered, and many requests are under way at once. A check of what was spent so far would let all of
them out together and find the limit exceeded when their bills come. So money is set aside before a request and counted after it:

1. `Budget.hold` computes from the question's `Weight` the most that one request may cost: all that is sent, at two bytes a token
   (fewer than tokenizers need for most texts), plus the longest reply that it allows. Only if this fits beside what was spent and what is set
   aside for requests under way does the request go out. Where it would fit if those cost less than they may, `hold` waits for
   them; where it cannot fit even then, it says so and the question ends as missing, with `budget` as the reason.
2. `Budget.settle` puts the bill in the place of what was set aside. Where no bill came (the connection broke, the server
   states no usage), all that was set aside counts as spent: a request that was sent may have been billed in full. Only one
   that surely never arrived is free. `settle` stands in a `finally` (`asker.Asker`), so a cancelled request is settled too.

So what is spent plus what is set aside stays within the limit, as long as no server bills more than this estimate.
A resumed run hands in what it spent before: the limit is that of the run and not of the process.

All of it runs in one event loop and `hold` does not wait between its test and its reservation; so it needs no lock. The
event that wakes the waiting is replaced at each bill, so that nobody misses one or is woken twice by the same.

An `Account` tells what is known from what is feared: `cost` holds known bills only, `cost_at_most` counts unknown ones at their
dearest, and without a price both are unknown, which run.json writes as null and not as 0.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, field
from typing import TypedDict

from markbook.errors import UsageError

# What a model's tokens cost.

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens."""

    input: float
    output: float
    cached: float | None = None
    """For what the server had read before; None where that costs as much as the rest."""

    def of(self, read: float, written: float, cached: float = 0) -> float:
        """Return what these tokens cost, `cached` of those read at their own price."""
        n_cached = min(cached, read) if self.cached is not None else 0
        return ((read - n_cached) * self.input + n_cached * (self.cached or 0.0) + written * self.output) / _MILLION


def parse_price(text: str) -> Price:
    """Return the price that `IN/OUT` or `IN/OUT/CACHED` states, in dollars for a million tokens.

    >>> parse_price("0.15/0.6")
    Price(input=0.15, output=0.6, cached=None)

    Raises:
        UsageError: it is not two or three numbers from 0 up.
    """
    try:
        stated = [float(part) for part in text.split("/")]
    except ValueError:
        stated = []
    if len(stated) not in (2, 3) or not all(number >= 0 and math.isfinite(number) for number in stated):
        raise UsageError(f"{text!r} is not a price", hint="IN/OUT in dollars for a million tokens, such as 0.15/0.6")
    return Price(*stated)


def listed_price(provider: str, name: str) -> Price | None:
    """Return the price of a model in the table that comes with the extra `judge`; None where it has none."""
    try:
        from genai_prices import Usage, calc_price
    except ModuleNotFoundError:
        return None
    try:
        read = calc_price(Usage(input_tokens=_MILLION, output_tokens=0), model_ref=name, provider_id=provider)
        written = calc_price(Usage(input_tokens=0, output_tokens=_MILLION), model_ref=name, provider_id=provider)
        usage = Usage(input_tokens=_MILLION, cache_read_tokens=_MILLION, output_tokens=0)
        cached = calc_price(usage, model_ref=name, provider_id=provider)
    except (LookupError, ValueError):
        return None
    return Price(float(read.total_price), float(written.total_price), float(cached.total_price))


_BYTES_PER_TOKEN = 2.0
"""For the estimate before a request; on the low side, so that the budget errs towards not spending."""
_ENVELOPE = 64
"""Tokens that a protocol adds to what is asked."""
_OUTPUT_TOKENS = 4096
"""What a reply without a limit is taken to hold at most."""
_MOST_TOKENS = 10**12
"""No reply holds so many: a larger count is a fault of the server's, and a sum of money could not hold it."""


def count_tokens(stated: object) -> int:
    """Return how many tokens a server says that it read or wrote; what it does not say, or cannot be, counts as nothing."""
    return stated if type(stated) is int and 0 < stated <= _MOST_TOKENS else 0


class AccountRecord(TypedDict):
    """An account as run.json holds it."""

    requests: int
    replayed: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    cost_at_most: float | None
    requests_without_price: int
    saved_by_cassette: float
    latency_seconds: float
    faults: dict[str, int]


@dataclass(frozen=True, slots=True)
class Weight:
    """What decides the dearest outcome of a question."""

    size: int
    """UTF-8 bytes of all that is sent."""
    max_tokens: int | None = None
    """The limit of a reply, None where there is none."""
    answers: int = 1
    """How many replies it asks for."""

    def at(self, price: Price) -> float:
        """Return the most that one request may cost."""
        return price.of(self.size / _BYTES_PER_TOKEN + _ENVELOPE, self.answers * (self.max_tokens or _OUTPUT_TOKENS))


class Budget:
    """A request goes out only if its dearest outcome still fits."""

    def __init__(self, limit: float | None, price: Price | None, spent: float = 0.0) -> None:
        self.limit = limit
        self.price = price
        self.spent = spent
        """US dollars at most: what is unknown counts at its dearest."""
        self._held = 0.0
        self._changed = asyncio.Event()

    async def hold(self, weight: Weight) -> float | None:
        """Set aside the most that a request may cost, and return it; None if that cannot fit any more.

        Where it fits only if the requests under way cost less than they may, wait for them.
        """
        if self.price is None:
            return 0.0
        most = weight.at(self.price)
        while self.limit is not None and self.spent + self._held + most > self.limit:
            if not self._held or self.spent + most > self.limit:
                return None
            await self._changed.wait()  # then everything is computed again: others may have been quicker
        self._held += most
        return most

    def settle(self, reserved: float, cost: float | None) -> float:
        """Replace what was set aside by what it did cost, and return that; unknown counts as all of it."""
        self._held = max(0.0, self._held - reserved)  # rounding may leave the difference below 0
        spent = reserved if cost is None else cost
        self.spent += spent
        self._changed.set()
        self._changed = asyncio.Event()
        return spent


@dataclass(slots=True)
class Account:
    """What a model has cost, apart from what the judged agents did."""

    requests: int = 0
    replayed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    """US dollars spent on requests whose cost is known."""
    cost_at_most: float | None = 0.0
    """US dollars at most, requests of unknown cost at their dearest; None where no price is known."""
    unpriced: int = 0
    """Requests of unknown cost: without a price, or without an end."""
    saved: float = 0.0
    """What the replayed answers cost when they were recorded."""
    seconds: float = 0.0
    faults: dict[str, int] = field(default_factory=dict)

    def add(self, cost: float | None, at_most: float | None) -> None:
        """Count what one request cost."""
        self.cost += cost or 0.0
        self.unpriced += cost is None
        self.cost_at_most = None if self.cost_at_most is None or at_most is None else self.cost_at_most + at_most

    def as_record(self) -> AccountRecord:
        """Return it for run.json: unknown cost is null, not 0."""
        priced = self.requests == 0 or self.unpriced < self.requests
        return AccountRecord(
            requests=self.requests,
            replayed=self.replayed,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cost=self.cost if priced else None,
            cost_at_most=self.cost_at_most,
            requests_without_price=self.unpriced,
            saved_by_cassette=self.saved,
            latency_seconds=round(self.seconds, 3),
            faults=dict(sorted(self.faults.items())),
        )
