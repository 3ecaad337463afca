"""When the next request may go out, and whether any may."""

from __future__ import annotations

import asyncio
import random
import time

from markbook.types import Missing, MissingKind

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
