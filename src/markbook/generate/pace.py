"""When the next request may go out, and whether it may at all."""

from __future__ import annotations

import asyncio
import random
import time

from markbook.generate.records import Request
from markbook.prices import Price
from markbook.types import Missing, MissingKind

_FIRST_WAIT = 0.5
_LONGEST_WAIT = 30.0
_CHARS_PER_TOKEN = 2.0
"""For the estimate before a request; on the low side, so that the budget errs towards not spending."""
_OUTPUT_TOKENS = 4096
"""What a reply without a limit is taken to cost at most."""
_MAX_FAILURES = 10
"""After so many questions in a row without any answer the server counts as down."""


class Pace:
    """Keeps to a number of requests a minute, and to the pauses that a server asks for: those hold for all."""

    def __init__(self, per_minute: float | None) -> None:
        self._gap = 60.0 / per_minute if per_minute else 0.0
        self._next = 0.0
        self._closed_until = 0.0

    async def turn(self) -> None:
        """Return when the next request may start."""
        if self._gap:
            now = time.monotonic()
            start = max(now, self._next)
            self._next = start + self._gap
            await asyncio.sleep(start - now)
        while (left := self._closed_until - time.monotonic()) > 0:  # noqa: ASYNC110 - the end may move while we wait
            await asyncio.sleep(left)

    def close_for(self, seconds: float) -> None:
        """Let nobody start for so long."""
        self._closed_until = max(self._closed_until, time.monotonic() + seconds)


def backoff(attempt: int) -> float:
    """Return how long to wait before the next try, in seconds: doubling, with jitter so that not all come at once."""
    return min(_FIRST_WAIT * 2.0**attempt, _LONGEST_WAIT) * random.uniform(0.5, 1.0)  # noqa: S311 - no secret


class Budget:
    """What may be spent; a request goes out only if its dearest outcome still fits."""

    def __init__(self, limit: float | None, price: Price | None, spent: float) -> None:
        self.limit = limit
        self.price = price
        self.spent = spent
        self._reserved = 0.0

    def reserve(self, request: Request) -> float | None:
        """Set aside what a request may cost, and return it; None if that no longer fits."""
        if self.limit is None or self.price is None:
            return 0.0
        read = (len(request.prompt) + len(request.system)) / _CHARS_PER_TOKEN + 64
        most = self.price.of(read, request.settings.max_tokens or _OUTPUT_TOKENS)
        if self.spent + self._reserved + most > self.limit:
            return None
        self._reserved += most
        return most

    def settle(self, reserved: float, cost: float | None) -> None:
        """Replace what was set aside by what it did cost; unknown counts as all of it."""
        self._reserved -= reserved
        self.spent += reserved if cost is None else cost


class Breaker:
    """Stops asking a server that is down or refuses the key, instead of failing a thousand times."""

    def __init__(self) -> None:
        self._failures = 0
        self.missing: Missing | None = None

    def note(self, missing: Missing | None, *, fatal: bool) -> None:
        """Count a question's end."""
        if missing is None:
            self._failures = 0
            return
        self._failures += 1
        if fatal or self._failures >= _MAX_FAILURES:
            self.missing = self.missing or Missing(MissingKind.UNAVAILABLE, f"not asked any more: {missing.detail}")
