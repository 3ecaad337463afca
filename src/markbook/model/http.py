"""One request to a model's server, the client for it, and which kind of failure came back."""

from __future__ import annotations

import asyncio
import json
import re
import ssl
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from http import HTTPStatus
from itertools import islice
from typing import Any, Self
from urllib.parse import quote, urljoin, urlsplit

from markbook.plugins import need
from markbook.text import redact
from markbook.types import MissingKind

# What an error of a model server means for the next step: whether it is retried (`classify_fault`), and after what wait.
# A timeout is the asker's (`Asker._send`), a reply that does not count its reader's: each raises a `RequestFault` itself.

_RETRIED = frozenset({408, 409, 425, 429})
_FATAL = frozenset({401, 402, 403, 404})
_UNSUPPORTED = frozenset({400, 415, 422})
"""What servers say to a way of asking that they do not know."""
_ASKED_FOR = ("tool", "response_format", "json_schema", "structured")
"""Words by which a server that answers 404 means the way of asking and not the model."""
_PAY_FIRST = ("insufficient_quota", "billing_hard_limit", "billing_not_active", "credit balance is too low")
"""Words by which a server means that nothing will be answered until somebody pays."""
_NEVER_SENT = frozenset({"ConnectError", "ConnectTimeout", "ProxyError", "UnsupportedProtocol", "InvalidURL", "PoolTimeout"})  # fmt: skip
"""Exceptions of HTTP clients, of whichever package, after which the server has seen nothing."""
_MAX_DETAIL = 300
_MOST_COMPLAINTS = 3


@dataclass(eq=False, repr=False)
class RequestFault(Exception):
    """A request that brought no answer that counts."""

    detail: str
    _: KW_ONLY
    kind: MissingKind = MissingKind.UNAVAILABLE
    is_retryable: bool = True
    """Whether the same question may be asked once more."""
    wait: float | None = None
    """How many seconds the server asked us to wait."""
    fatal: bool = False
    """Whether no other question can succeed either: a refused key, an unknown model, an empty account."""
    unsupported: bool = False
    """Whether the server may not know this way of asking."""
    is_free: bool = True
    """Whether the request surely cost nothing; one that was sent and brought no bill may have cost all it could."""
    is_reply: bool = False
    """Whether the model did answer, and the answer does not count."""


class BadStatus(Exception):
    """A reply with a status that is not a success."""

    def __init__(self, status: int, body: object, headers: Mapping[str, str]) -> None:
        super().__init__(f"status {status}")
        self.status_code = status
        self.body = body
        """As JSON where it is some, else as text."""
        self.headers = headers


class Unreached(Exception):
    """The server has seen nothing: no connection came about."""


class Garbled(Exception):
    """What came back is not HTTP or not an answer, or not all of it came."""


class NotFollowed(Exception):
    """A redirect that is not followed."""


def classify_fault(error: Exception) -> RequestFault:
    """Return what became of a request; the server's own words are cut, as a report will show them."""
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and not any(cause is earlier for earlier in chain):  # a chain may go in a circle
        chain.append(cause)
        cause = cause.__cause__ or cause.__context__
    stopped = next((exception for exception in chain if isinstance(exception, NotFollowed)), None)
    if stopped is not None:
        return RequestFault(str(stopped), is_retryable=False, fatal=True)
    if isinstance(error, Unreached | Garbled):
        return RequestFault(redact(str(error))[:_MAX_DETAIL], is_free=isinstance(error, Unreached))
    detail = redact(f"{type(error).__name__}: {error}")[:_MAX_DETAIL]
    if isinstance(error, BadStatus) or _is_theirs(error, "ModelHTTPError"):
        # The exception's own words are longer, and its class says no more than the status.
        status, body = int(getattr(error, "status_code", 0)), getattr(error, "body", None)
        words = body  # the server's own, out of the body of its error
        for key in ("error", "message"):
            words = words.get(key, words) if isinstance(words, dict) else words
        text = words if isinstance(words, str) else json.dumps(words, default=str)
        detail = redact(f"status {status}: {text}")[:_MAX_DETAIL]
        headers = getattr(error, "headers", None) or {}
        if not headers:
            headers = getattr(getattr(error.__cause__, "response", None), "headers", None) or {}
        wait = parse_retry_after(headers.get("retry-after"), datetime.now(UTC))
        text = json.dumps(body, default=str).casefold()
        if any(words in text for words in _PAY_FIRST):
            return RequestFault(detail, is_retryable=False, fatal=True)
        if status in _RETRIED or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return RequestFault(detail, wait=wait)
        if status == HTTPStatus.NOT_FOUND and any(word in text for word in _ASKED_FOR):
            return RequestFault(detail, is_retryable=False, unsupported=True)
        is_redirect = HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST
        return RequestFault(
            detail, is_retryable=False, fatal=status in _FATAL or is_redirect, unsupported=status in _UNSUPPORTED
        )
    if _is_theirs(error, "UserError"):
        return RequestFault(detail, is_retryable=False, fatal=True)
    if (reason := _unreadable(chain)) is not None:
        return RequestFault(redact(f"the server's reply cannot be read: {reason}")[:_MAX_DETAIL], is_free=False)
    return RequestFault(detail, is_free=any(type(exception).__name__ in _NEVER_SENT for exception in chain))


def _unreadable(chain: Sequence[BaseException]) -> str | None:
    """Return what a client could not read in a reply; None for another kind of error."""
    for error in chain:
        if type(error).__name__ == "ValidationError" and callable(complaints := getattr(error, "errors", None)):
            listed = ((".".join(map(str, complaint["loc"])), complaint["msg"]) for complaint in complaints())
            return "; ".join(f"{at or 'as a whole'}: {words}" for at, words in islice(listed, _MOST_COMPLAINTS))
    if isinstance(chain[0], IndexError | KeyError | TypeError | AttributeError):
        return f"a part is missing or of another kind ({chain[0]})"
    return None


def _is_theirs(error: Exception, name: str) -> bool:
    """Whether an exception is one of pydantic-ai's of this name; where that is not imported, none is."""
    exceptions = sys.modules.get("pydantic_ai.exceptions")
    return exceptions is not None and isinstance(error, getattr(exceptions, name))


def parse_retry_after(stated: object, now: datetime) -> float | None:
    """Return the seconds that a Retry-After header asks for, from 0 up; None if it says nothing usable."""
    if not isinstance(stated, str):
        return None
    with suppress(ValueError):
        seconds = float(stated)
        return seconds if 0 <= seconds < float("inf") else None
    try:
        moment = parsedate_to_datetime(stated)
    except (ValueError, OverflowError):  # a year of twenty digits
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())


# What holds for every HTTP client: each request is counted as it goes out, and none leaves for elsewhere.


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
    return http.AsyncClient(
        timeout=http.Timeout(seconds), follow_redirects=True, event_hooks={"request": [_count]}, verify=_tls()
    )


@cache
def _tls() -> ssl.SSLContext:
    """Return what clients check certificates with: made once, since reading the machine's authorities takes 30 ms."""
    context: ssl.SSLContext = need("httpx2", extra="judge").create_ssl_context()
    return context


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


# A small HTTP/1.1 client for one server: JSON goes out, bytes come back, over as many connections as are needed.
#
# It exists for its cost: .05 ms of CPU a request, where aiohttp 3.14 takes .11 to .13 ms and httpx2 .75 to .85 ms. A run needs
# .33 to .38 ms a reply in all (with aiohttp .47 to .50), which decides whether one core handles 2,500 replies a second. It
# also imports nothing that is large, and reads what aiohttp refuses: white space before a chunk's extension, and the same
# length stated twice. What it does not speak (proxies, compression, a login in the address) is for the general clients.
#
# `HttpClient` keeps idle connections and follows redirects; a `_Connection` carries at most one request; its `_Reader` turns bytes
# into one `Response`. Whatever a server sends is bounded (head, chunk line, body) before it is kept, and whatever is not exactly
# one well-formed response ends the connection: bytes behind it would otherwise be taken for the answer to the next question.

_MOST_HEAD = 1 << 16
_MOST_BODY = 64 << 20
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_DROPS_THE_BODY = frozenset({301, 302, 303})
_BODILESS = frozenset({204, 304})
_STATUS = re.compile("[1-5][0-9]{2}")
_TURNS_TO_CLOSE = 3
"""After so many turns of the event loop an aborted connection is closed, with TLS too."""


@dataclass(frozen=True, slots=True)
class Response:
    """What a server sent."""

    status: int
    headers: Mapping[str, str]
    """By their names in lower case."""
    body: bytes


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens."""

    scheme: str
    host: str
    port: int
    path: str

    @classmethod
    def parse(cls, url: str) -> Self:
        """Return the parts of an http or https address.

        Raises:
            ValueError: it has none of them.
        """
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is not an address of a server")
        port = parts.port or (443 if parts.scheme == "https" else 80)
        host = parts.hostname.encode(
            "idna"
        ).decode()  # a UnicodeError, of a part that no name can have, is a ValueError
        path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
        return cls(parts.scheme, host, port, path + (f"?{parts.query}" if parts.query else ""))

    @property
    def origin(self) -> str:
        """The server alone, as a person writes it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    @property
    def server(self) -> tuple[str, str, int | None]:
        """What tells one server from another."""
        return self.scheme, self.host, self.port


class _Reader:
    """One response as its bytes come in."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._status = 0
        self._headers: dict[str, str] = {}
        self._body_at = -1
        self._length: int | None = None
        self._chunks: bytearray | None = None
        self.keeps = True
        """Whether the connection may be used again."""

    def feed(self, data: bytes) -> Response | None:
        """Take bytes; return the response once it is whole. `Garbled` if this is not HTTP, or more than is taken."""
        self._bytes += data
        while self._body_at < 0:
            end = self._bytes.find(b"\r\n\r\n")
            if end < 0:
                if len(self._bytes) > _MOST_HEAD:
                    raise Garbled("the head of the reply does not end")
                return None
            self._head(bytes(self._bytes[:end]), end + 4)
        if self._chunks is not None:
            return self._whole(self._chunks) if self._dechunk() else None
        size = len(self._bytes) - self._body_at
        if size > _MOST_BODY:
            raise Garbled("the reply is larger than 64 MiB")
        if self._length is None or size < self._length:
            return None
        self.keeps = self.keeps and size == self._length
        return self._whole(self._bytes[self._body_at : self._body_at + self._length])

    def end(self) -> Response:
        """Return the response when the connection ends, as one without a length ends; `Garbled` if it is not whole."""
        if self._body_at < 0 or self._chunks is not None or self._length is not None:
            raise Garbled("the connection broke off before the reply was whole")
        return self._whole(self._bytes[self._body_at :])

    def _whole(self, body: bytearray) -> Response:
        return Response(self._status, self._headers, bytes(body))

    def _head(self, head: bytes, body_at: int) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        words = first.split(" ", 2)
        if len(words) < 2 or words[0] not in ("HTTP/1.1", "HTTP/1.0") or not _STATUS.fullmatch(words[1]):
            raise Garbled("the reply is no HTTP")
        if words[1][0] == "1":
            del self._bytes[:body_at]  # such as 100: the reply comes behind it
            return
        self._status = int(words[1])
        for line in lines:
            name, colon, value = line.partition(":")
            if not colon or not name or name != name.strip():
                raise Garbled("a header of the reply is none")
            key, value = name.lower(), value.strip()
            if key == "content-length" and self._headers.get(key, value) != value:
                raise Garbled("the reply has two lengths")
            self._headers[key] = value
        self._framing(is_new=words[0] == "HTTP/1.1")
        self._body_at = body_at

    def _framing(self, *, is_new: bool) -> None:
        headers = self._headers
        connection_header = headers.get("connection", "").lower()
        self.keeps = "close" not in connection_header if is_new else "keep-alive" in connection_header
        coding, length = headers.get("transfer-encoding", "").lower(), headers.get("content-length")
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise Garbled("the reply is compressed, which was not asked for")
        if self._status in _BODILESS:
            self._length = 0
        elif coding:
            if coding != "chunked":
                raise Garbled(f"the reply comes in an unknown coding, {coding[:40]!r}")
            self._chunks = bytearray()
        elif length is not None:
            if not length.isascii() or not length.isdecimal() or int(length[:12]) > _MOST_BODY:
                raise Garbled(f"the reply states an impossible length, {length[:40]!r}")
            self._length = int(length)
        else:
            self.keeps = False

    def _dechunk(self) -> bool:
        """Move whole chunks over; return whether the last one came."""
        assert self._chunks is not None
        while (line_end := self._bytes.find(b"\r\n", self._body_at)) >= 0:
            size_text = bytes(self._bytes[self._body_at : line_end]).split(b";", 1)[0].strip()
            try:
                size = int(size_text, 16) if size_text.isalnum() and len(size_text) <= 8 else -1
            except ValueError:
                size = -1
            if size < 0 or len(self._chunks) + size > _MOST_BODY:
                raise Garbled("a chunk of the reply states an impossible length")
            start = line_end + 2
            if size == 0:
                if len(self._bytes) < start + 2:
                    return False
                # else trailers: nothing here reads them
                self.keeps = self.keeps and bytes(self._bytes[start:]) == b"\r\n"
                return True
            if len(self._bytes) < start + size + 2:
                break
            self._chunks += self._bytes[start : start + size]
            self._body_at = start + size + 2
        if line_end < 0 and len(self._bytes) - self._body_at > _MOST_HEAD:
            raise Garbled("a chunk of the reply states no length")
        # What was moved is not kept twice.
        del self._bytes[: self._body_at]
        self._body_at = 0
        return False


class _Connection(asyncio.Protocol):
    """One connection, with at most one request on it."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[Response] | None = None
        self._reader = _Reader()
        self.is_open = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._waiting is None:
            self.close()  # nobody asked
            return
        try:
            response = self._reader.feed(data)
        except Garbled as error:
            self._fail(error)
            self.close()
            return
        if response is not None:
            self._finish(response)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        if self._waiting is None:
            return
        try:
            self._finish(self._reader.end())
        except Garbled as error:
            self._fail(error if exc is None else Garbled(f"the connection broke: {exc}"))

    async def exchange(self, request: bytes) -> Response:
        """Send a request and return what comes back; given up, the connection is closed."""
        assert self._transport is not None
        self._reader = _Reader()
        waiting: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._waiting = waiting
        self._transport.write(request)
        try:
            return await waiting
        except BaseException:
            self.close()
            raise
        finally:
            self._waiting = None

    def close(self) -> None:
        """Close at once."""
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    def _finish(self, response: Response) -> None:
        self.is_open = self.is_open and self._reader.keeps
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(response)

    def _fail(self, error: Garbled) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(error)


class HttpClient:
    """Posts to one server. Made and used within one event loop."""

    def __init__(self, address: Address, headers: Mapping[str, str]) -> None:
        """Take where and with which headers; nothing is opened."""
        self.address = address
        self._idle: list[_Connection] = []
        host = address.origin.partition("://")[2]
        all_headers = {"Host": host, "Accept": "application/json", "Accept-Encoding": "identity", **headers}
        self._head = "".join(f"{name}: {value}\r\n" for name, value in all_headers.items()).encode("ascii")
        self._tls = ssl.create_default_context() if address.scheme == "https" else None

    async def post(self, path: str, body: bytes) -> Response:
        """Return what the server says to a body of JSON; redirects within it are followed, each one more request.

        Raises:
            Unreached: no connection came about.
            Garbled: what came back is not HTTP.
            NotFollowed: a redirect leads elsewhere, or drops the question, or there are too many.
        """
        trip = TRIP.get()
        while True:
            follow(trip, self.address.server, "POST")
            response = await self._once(path, body)
            if response.status not in _REDIRECTS or "location" not in response.headers:
                return response
            target = urljoin(f"{self.address.origin}{path}", response.headers["location"])
            try:
                there = Address.parse(target)
            except ValueError:
                return response
            if there.server != self.address.server or response.status in _DROPS_THE_BODY:
                follow(trip, there.server, "GET" if response.status in _DROPS_THE_BODY else "POST")
                return response
            path = there.path

    async def _once(self, path: str, body: bytes) -> Response:
        line = f"POST {path} HTTP/1.1\r\n".encode("ascii")
        length = b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        connection = await self._connection()
        response = await connection.exchange(b"".join((line, self._head, length, body)))
        if connection.is_open:
            self._idle.append(connection)
        else:
            connection.close()
        return response

    async def _connection(self) -> _Connection:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open:
                return connection
        address = self.address
        try:
            _, fresh = await asyncio.get_running_loop().create_connection(
                _Connection, address.host, address.port, ssl=self._tls
            )
        except OSError as error:
            raise Unreached(f"no server answers at {address.origin}: {error.strerror or error}") from error
        return fresh

    async def close(self) -> None:
        """Close every connection that is idle, and wait until those that were given up are closed too."""
        while self._idle:
            self._idle.pop().close()
        for _ in range(_TURNS_TO_CLOSE):
            await asyncio.sleep(0)
