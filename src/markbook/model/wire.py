"""What holds for every HTTP client: each request is counted as it goes out, and none leaves for elsewhere."""

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
    follow(TRIP.get(), (request.url.scheme, request.url.host, request.url.port), request.method)


def follow(trip: Trip | None, origin: tuple[str, str, int | None], method: str) -> None:
    """Count a request that is about to go out.

    Raises:
        NotFollowed: it would leave the server, drop the question, or be one too many.
    """
    if trip is None:
        return
    if trip.origin is None:
        trip.origin, trip.method = origin, method
    elif trip.origin != origin:
        where = f"{origin[0]}://{origin[1]}"
        raise NotFollowed(f"a redirect to another server, {where}, is not followed: name it yourself if it is meant")
    elif trip.method != method:
        raise NotFollowed("a redirect that drops the question is not followed: is the address right?")
    if trip.sent >= trip.most:
        raise NotFollowed(f"after {trip.sent} requests there is only another redirect: is the address right?")
    trip.sent += 1
