"""Running the server until it is told to end, and ending it so that nobody is left without an answer."""

from __future__ import annotations

import asyncio
import errno
import resource
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path

import uvicorn

from markbook.errors import DataError, OutputError, UsageError
from markbook.server.app import Service
from markbook.server.connections import impatient
from markbook.server.settings import ServerSettings

_CONNECTIONS = 16384
"""Connections that are held open at most, of as many descriptors as this process may have."""
_BACKLOG = 2048
_MARGIN = 5.0
"""Seconds beyond the grace after which open connections are closed."""
_ENDS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_SHORT = 16
"""Characters that a token has at least."""


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's own and nobody else's."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def read_token(path: Path) -> str:
    """Return the token that a file holds.

    Raises:
        DataError: it cannot be read.
        UsageError: it holds none that is long enough.
    """
    try:
        token = path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError("the token cannot be read", at=str(path)) from error
    if len(token) < _SHORT or not token.isprintable() or " " in token:
        raise UsageError(f"a token has {_SHORT} visible characters or more", at=str(path), hint="openssl rand -hex 32")
    return token


def _unusable(address: str, error: OSError | OverflowError) -> OutputError:
    is_taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
    hint = "--port names another, 0 a free one" if is_taken else ""
    return OutputError(f"{address} cannot be used: {error}", hint=hint)


def bind(host: str, port: int) -> socket.socket:
    """Return a socket at an address.

    Raises:
        OutputError: it cannot be had.
    """
    sock = None
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # asyncio sends small pieces at once (TCP_NODELAY) only where the protocol is named; else an answer waits for the
        # client's delayed acknowledgement of its head, 40 ms.
        sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
    except (OSError, OverflowError) as error:
        if sock is not None:
            sock.close()
        raise _unusable(f"{host}:{port}", error) from error
    return sock


def _most_connections() -> int:
    """Return how many may be open: half of the descriptors, since sandboxes need some too."""
    return max(64, min(_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2))


def _listen(sock: socket.socket) -> None:
    """Listen at an address that was free a moment ago.

    Raises:
        OutputError: another process began to, meanwhile.
    """
    try:
        sock.listen(_BACKLOG)
    except OSError as error:
        host, port = sock.getsockname()[:2]
        raise _unusable(f"{host}:{port}", error) from error


class _Server(uvicorn.Server):
    """A server that first lets the pool finish what it has taken."""

    def __init__(self, service: Service, grace: float, seconds: float) -> None:
        config = uvicorn.Config(
            service.app,
            http=impatient(seconds),
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="off",
            limit_concurrency=_most_connections(),  # beyond it a caller hears 503, and its connection is closed
            timeout_keep_alive=75,
            timeout_graceful_shutdown=int(grace + _MARGIN),
            ws="none",
            proxy_headers=False,
        )
        super().__init__(config)
        self._pool = service.pool
        self._programs = service.programs
        self._grace = grace
        self._draining: list[asyncio.Future[tuple[None, None]]] = []

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take SIGTERM, Ctrl-C and the end of the terminal for a wish to end."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        # under nohup the end of the terminal is to be passed over
        ends = [number for number in _ENDS if signal.getsignal(number) is not signal.SIG_IGN]
        for number in ends:
            loop.add_signal_handler(number, self.drain)
        try:
            yield
        finally:
            for number in ends:
                loop.remove_signal_handler(number)

    def drain(self) -> None:
        """Take nothing new and finish; asked a second time, end at once."""
        self.should_exit = True
        grace = 0.0 if self._draining else self._grace
        ends = asyncio.gather(self._pool.close(grace), self._programs.end(grace))
        if self._draining:  # a caller who does not read is not waited for either
            asyncio.get_running_loop().call_later(_MARGIN, setattr, self, "force_exit", True)
        self._draining.append(ends)


async def serve(
    settings: ServerSettings, sock: socket.socket, *, grace: float, ready: Callable[[_Server], None] | None = None
) -> None:
    """Serve until told to end.

    Args:
        settings: of the server.
        sock: where it listens.
        grace: seconds that what was taken may still need when the server is told to end.
        ready: is called once work is taken.

    Raises:
        EnvironmentUnfitError: this machine cannot isolate the code well enough.
    """
    service = Service(settings)
    server = _Server(service, grace, settings.guard.seconds)
    try:
        await service.pool.start()
        _listen(sock)  # whoever reads the address may come before uvicorn listens
        if ready is not None:
            ready(server)
        await server.serve(sockets=[sock])
    finally:
        await service.pool.close()
        await service.programs.close()
        sock.close()
