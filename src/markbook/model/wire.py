"""The HTTP client under every provider's own: each request is counted as it goes out, and none leaves for elsewhere."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from markbook.model.faults import NotFollowed
from markbook.plugins import need


@dataclass(slots=True)
class Trip:
    """The HTTP requests of one try to get an answer."""

    most: int
    """How many there may be."""
    sent: int = 0
    origin: tuple[str, str, int | None] | None = None
    method: str = ""


TRIP: ContextVar[Trip | None] = ContextVar("markbook_trip", default=None)
"""The try that this task is in."""


def http_client(seconds: float) -> Any:
    """Return a client that follows a server's redirects within that server, each counted as a request.

    Raises:
        ExtraMissingError: the extra `judge` is not installed.
    """
    http = need("httpx2", extra="judge")
    # The deadline of a request as a whole is the asker's; the client's own is for silence on the line.
    return http.AsyncClient(timeout=http.Timeout(seconds), follow_redirects=True, event_hooks={"request": [_count]})


async def _count(request: Any) -> None:
    trip = TRIP.get()
    if trip is None:
        return
    origin = (request.url.scheme, request.url.host, request.url.port)
    if trip.origin is None:
        trip.origin, trip.method = origin, request.method
    elif trip.origin != origin:
        where = f"{request.url.scheme}://{request.url.host}"
        raise NotFollowed(f"a redirect to another server, {where}, is not followed: name it yourself if it is meant")
    elif trip.method != request.method:
        raise NotFollowed("a redirect that drops the question is not followed: is the address right?")
    if trip.sent >= trip.most:
        raise NotFollowed(f"after {trip.sent} requests there is only another redirect: is the address right?")
    trip.sent += 1
