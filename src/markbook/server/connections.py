"""Connections on which no request comes: closed, so that nobody keeps others out by holding many of them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from uvicorn.protocols.http.h11_impl import RequestResponseCycle


def impatient(seconds: float) -> type[H11Protocol]:
    """Return uvicorn's protocol, but that it closes a connection on which none was answered for twice that long at most."""

    class Impatient(H11Protocol):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self._look: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
            super().connection_made(transport)
            self._look = self.loop.call_later(seconds, self._close_idle, None)

        def connection_lost(self, exc: Exception | None) -> None:
            if self._look is not None:
                self._look.cancel()
            super().connection_lost(exc)

        def _close_idle(self, before: RequestResponseCycle | None) -> None:
            """Close it if it waits for a request now and did so the last time, for the same one.

            One that is silent between two requests is uvicorn's own to close.
            """
            now = self.cycle
            waits = self.timeout_keep_alive_task is None and (now is None or now.response_complete)
            if waits and now is before:
                self.transport.close()
            else:
                self._look = self.loop.call_later(seconds, self._close_idle, now)

    return Impatient
