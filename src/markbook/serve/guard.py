"""Who may ask and how much: token, Host, origin, size and time of a request, before anything reads it."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from uvicorn.protocols.http.h11_impl import H11Protocol

from markbook.files import jsonl
from markbook.serve.work_queue import limit_of_one

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send
    from uvicorn.protocols.http.h11_impl import RequestResponseCycle


# Answers as the server sends them.

HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
}


def as_json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a value as JSON."""
    data = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    return Response(data, status, {**HEADERS, **(headers or {})}, "application/json")


def refusal(refused: Refused) -> Response:
    """Return a sentence that says what is wrong."""
    return as_json({"error": refused.message}, refused.status, refused.headers)


# Connections on which no request comes: closed, so that nobody keeps others out by holding many of them.


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


_NAME = 64
"""Characters of a client's name."""
OPEN = frozenset(("/health",))
"""What is answered without a token: whether the server lives."""
_TOO_MUCH = 429
_OF_STRANGERS = 1 << 20
"""Bytes that are taken in of a body whose sender may not ask."""


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's own and nobody else's."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class Refused(Exception):
    """A request that is answered with a status and a sentence."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


@dataclass(frozen=True, slots=True)
class Guard:
    """What a request has to be like."""

    token: str = ""
    """Empty on the loopback interface: then the Host has to name it, against pages that point a name of theirs here."""
    body: int = 64 << 20
    """Bytes of a request's body."""
    seconds: float = 60.0
    """How long a body may take to arrive; a connection without a request is closed after twice that long at most."""
    at_once: int = 2048
    """Requests that are answered at the same time, of one client at most three quarters."""

    def check(self, path: str, headers: dict[str, str]) -> None:
        """Hold a request's headers to the rules.

        Raises:
            Refused: they do not keep them.
        """
        if self.token:
            authorization = headers.get("authorization", "")
            scheme, _, token = authorization.partition(" ")
            # in constant time, so that no caller learns from the delay how many characters were right
            is_right = hmac.compare_digest(token.strip().encode(), self.token.encode()) and scheme.lower() == "bearer"
            if path not in OPEN and not is_right:
                what = "a wrong token" if authorization else "no token"
                message = f"{what}: send the header 'Authorization: Bearer ...' with what the server's token file holds"
                raise Refused(401, message, WWW_Authenticate="Bearer")
        else:
            # a page may point a name of its own at this machine, and ask as if it came from here; it cannot own the number
            named = _split_address("//" + headers.get("host", ""))
            if named is None or not is_loopback((named.hostname or "").rstrip(".")):
                raise Refused(421, "this server answers to 127.0.0.1 and localhost only: name it so in the address")
        if (origin := headers.get("origin")) is not None:
            page = _split_address(origin)
            if page is None or page.netloc.lower() != headers.get("host", "").lower():
                raise Refused(403, "a page of another site may not ask this server")

    async def json(self, request: Request, *, may_halve: bool = False) -> dict[str, object]:
        """Return the object that a request's body holds; whoever takes half characters in it looks for them.

        Raises:
            Refused: it is of another type, too big, too slow or no JSON object.
        """
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        # a page of another site can send a form or plain text without being asked, but not this type
        if kind != "application/json":
            raise Refused(
                415, f"the body is {kind[:80] or 'of no named type'!r}: send 'Content-Type: application/json'"
            )
        # what is packed may have any size once it is unpacked
        if (packed := request.headers.get("content-encoding", "identity")).lower() != "identity":
            raise Refused(415, f"the body is packed by {packed[:40]!r}: send it as it is, without 'Content-Encoding'")
        try:
            length = int(request.headers.get("content-length", "0"))
        except ValueError:
            raise Refused(400, "the Content-Length is not a number") from None
        if length > self.body:
            raise Refused(413, f"the body has {length} bytes; at most {self.body} are taken: send fewer items at once")
        try:
            async with asyncio.timeout(self.seconds):
                data = await self._read(request)
        except TimeoutError:
            raise Refused(408, f"the body did not arrive within {self.seconds:g} s") from None
        except ClientDisconnect:
            raise Refused(499, "the caller left") from None
        return read_object(data, may_halve=may_halve)

    async def pass_over(self, receive: Receive, most: int) -> None:
        """Take in a body of so many bytes at most and keep nothing of it.

        Whoever still sends when an answer comes hears of a closed connection instead.
        """
        size = 0
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.seconds):
                while size <= most:
                    message = await receive()
                    size += len(message.get("body", b""))
                    if not message.get("more_body"):
                        return

    async def _read(self, request: Request) -> bytes:
        data = bytearray()
        async for chunk in request.stream():
            data += chunk
            # the header need not tell the truth, and a body in chunks has none
            if len(data) > self.body:
                raise Refused(413, f"the body has more than {self.body} bytes: send fewer items at once")
        return bytes(data)


def _split_address(address: str) -> SplitResult | None:
    try:
        return urlsplit(address)
    except ValueError:
        return None


def read_object(data: bytes, what: str = "the body", *, may_halve: bool = False) -> dict[str, object]:
    """Return the object that some JSON holds.

    Raises:
        Refused: it is not JSON, or none that everybody reads alike.
    """
    try:
        text = data.decode("utf-8")
        value = jsonl.parse_json(text, finite=False)
        if not may_halve and jsonl.may_be_halved(text):
            jsonl.check_whole(value)
    except UnicodeDecodeError as error:
        raise Refused(400, f"{what} is not UTF-8: byte {error.start}") from None
    except UnicodeEncodeError:  # what is executed and answered has to be written as UTF-8
        raise Refused(400, f"{what}: a text holds half a character (a lone surrogate such as \\ud800)") from None
    except RecursionError:
        raise Refused(400, f"{what} is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise Refused(400, f"{what} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except ValueError as error:
        raise Refused(400, f"{what} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise Refused(400, f"{what} is not a JSON object")
    return value


class GuardedApp:
    """The guard in front of an application."""

    def __init__(self, app: ASGIApp, guard: Guard, admit: Callable[[Request], None]) -> None:
        """Put a guard in front of an application, which is asked what is not refused.

        `admit` raises `Refused` where a request that is as it has to be finds no room; its body is not looked at
        then, since under load a refusal has to cost little.
        """
        self._app = app
        self._guard = guard
        self._admit = admit
        self._under_way: Counter[str] = Counter()
        """By client."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request by its headers or for want of room, or hand it on."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        request = Request(scope)
        client = identify_client(request)
        headers: dict[str, str] = {}
        for raw, value in scope["headers"]:
            # what stands there twice is joined, so that no reader takes another one than this guard
            name, text = raw.decode("latin-1").lower(), value.decode("latin-1")
            headers[name] = f"{headers[name]},{text}" if name in headers else text
        try:
            self._guard.check(scope["path"], headers)
            most, count = self._guard.at_once, self._under_way.total()
            is_full = count >= most or self._under_way[client] >= limit_of_one(most)
            if scope["path"] not in OPEN and is_full:
                message = f"as many requests as are answered at once are under way: {count}"
                raise Refused(_TOO_MUCH, message, Retry_After="1")
            self._admit(request)
        except Refused as refused:
            # a client that still sends when it is answered sees a reset connection instead of the sentence
            if "expect" not in headers:  # else nothing is sent before it is asked for
                most = self._guard.body if refused.status == _TOO_MUCH else _OF_STRANGERS
                await self._guard.pass_over(receive, most)
            return await refusal(refused)(scope, receive, send)
        self._under_way[client] += 1
        try:
            return await self._app(scope, receive, send)
        finally:
            self._under_way[client] -= 1
            if not self._under_way[client]:
                # clients name themselves, so the names of those that have gone are not kept
                del self._under_way[client]


def identify_client(request: Request) -> str:
    """Return the name under which a caller has its turns: the one that it gives itself, or its address."""
    named = request.headers.get("x-markbook-client", "")[:_NAME]
    return named or (request.client.host if request.client else "")
