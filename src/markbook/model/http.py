"""A small HTTP/1.1 client for one server: JSON goes out, bytes come back, over as many connections as are needed.

It exists for its cost: a tenth of a millisecond a request, where the general clients take three to fifteen times that.
What it does not speak (proxies, compression, a login in the address) is for those. Whatever a server sends is bounded.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self
from urllib.parse import quote, urljoin, urlsplit

from markbook.model.faults import Garbled, Unreached
from markbook.model.wire import TRIP, follow

_MOST_HEAD = 1 << 16
_MOST_BODY = 64 << 20
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_DROPS_THE_BODY = frozenset({301, 302, 303})
_BODILESS = frozenset({204, 304})
_WORST_STATUS = 599
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
            raise ValueError(f"{url!r} is no address of a server")
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
        """Take bytes; return the response once it is whole.

        Raises:
            Garbled: this is no HTTP, or more than is taken.
        """
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
        """Return the response when the connection ends: one without a length ends so.

        Raises:
            Garbled: it is not whole.
        """
        if self._body_at < 0 or self._chunks is not None or self._length is not None:
            raise Garbled("the connection broke off before the reply was whole")
        return self._whole(self._bytes[self._body_at :])

    def _whole(self, body: bytearray) -> Response:
        return Response(self._status, self._headers, bytes(body))

    def _head(self, head: bytes, body_at: int) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        words = first.split(" ", 2)
        if len(words) < 2 or words[0] not in ("HTTP/1.1", "HTTP/1.0") or not _is_status(words[1]):
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
                self.keeps = (
                    self.keeps and bytes(self._bytes[start:]) == b"\r\n"
                )  # else trailers: nothing here reads them
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


def _is_status(word: str) -> bool:
    return len(word) == 3 and word.isascii() and word.isdecimal() and 100 <= int(word) <= _WORST_STATUS


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
            Garbled: what came back is no HTTP.
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
