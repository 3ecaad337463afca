"""Running the server until it is told to end, and ending it so that nobody is left without an answer."""

from __future__ import annotations

import asyncio
import errno
import math
import resource
import signal
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import uvicorn
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from markbook.errors import DataError, OutputError, UsageError
from markbook.installed import version
from markbook.report.html import render_template
from markbook.serve.guard import HEADERS, GuardedApp, Refused, as_json, impatient, refusal
from markbook.serve.items import BenchmarkShelf
from markbook.serve.marking import Figures, Marking, Scoring, ServerSettings
from markbook.serve.pool import Pool
from markbook.serve.records import RewardRecord
from markbook.serve.requests import component_schemas
from markbook.serve.run_code import ProgramAnswer, ProgramRunner
from markbook.text.schema import make_schema

if TYPE_CHECKING:
    from starlette.requests import Request


# The page that shows load.


def page(pool: Pool, figures: Figures) -> str:
    """Return it, renewed by the browser every two seconds."""
    counts = pool.counts
    rows = [
        ("Isolation level", pool.level.value),
        ("Workers", len(pool.lanes)),
        ("Running", pool.running),
        ("Waiting", f"{pool.waiting} of {pool.settings.queue}"),
        ("Verdicts a second, last half minute", f"{pool.rate():.1f}"),
        ("Half of the items within", _seconds(figures.quantile(0.5))),
        ("99 of 100 items within", _seconds(figures.quantile(0.99))),
        *((f"Items: {name}", count) for name, count in sorted(counts.items())),
    ]
    return render_template("serve.html.j2", rows=rows)


def _seconds(value: float | None) -> str:
    return "no item yet" if value is None else f"{value:g} s" if math.isfinite(value) else "more than 300 s"


# What the server offers, as OpenAPI: the requests from the models that check them, the responses from what is declared here.


class Rewards(TypedDict):
    """The rewards of a batch."""

    results: list[RewardRecord]


class Scores(TypedDict):
    """For each text its id and, by metric, the value or why there is none."""

    results: list[dict[str, Any]]


class Numbers(TypedDict):
    """Rewards as OpenRLHF takes them."""

    rewards: list[float]
    scores: list[float]
    extra_logs: dict[str, list[float]]


class Refusal(TypedDict):
    """What is wrong."""

    error: str


_RESPONSES = (Rewards, Scores, ProgramAnswer, Numbers, Refusal)


def document(version: str) -> dict[str, object]:
    """Return it."""
    responses = {record.__name__: make_schema(record.__name__, record) for record in _RESPONSES}
    for schema in responses.values():
        schema.pop("$schema", None)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Markbook's reward server", "version": version},
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {**component_schemas(), **responses},
        },
        # one of the two is enough: whether a token is wanted is for the settings of the server
        "security": [{"token": []}, {}],
        "paths": {
            "/v1/mark": _post("Mark a batch of programs by their tests.", "MarkRequest", "Rewards"),
            "/v1/score": _post("Measure texts by metrics.", "ScoreRequest", "Scores"),
            "/run_code": _post("Run one program, as SandboxFusion does.", "RunCodeRequest", "ProgramAnswer"),
            "/get_reward": _post("Reward queries, as OpenRLHF asks for it.", "RewardRequest", "Numbers"),
            "/health": _get("Whether it takes work."),
            "/metrics": _get("Its figures, for Prometheus."),
        },
    }


def _post(words: str, request_schema: str, response_schema: str) -> dict[str, object]:
    def shape(name: str) -> dict[str, object]:
        return {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}

    refused = {"description": "A sentence that says what is wrong.", "content": shape("Refusal")}
    busy = {**refused, "headers": {"Retry-After": {"schema": {"type": "integer"}}}}
    codes = ("400", "401", "403", "408", "413", "415", "421")
    return {
        "post": {
            "summary": words,
            "requestBody": {"required": True, "content": shape(request_schema)},
            "responses": {
                "200": {"description": "Done.", "content": shape(response_schema)},
                **dict.fromkeys(codes, refused),
                "429": busy,
                "503": busy,
            },
        }
    }


def _get(words: str) -> dict[str, object]:
    return {"get": {"summary": words, "responses": {"200": {"description": "It."}}}}


# The application: what is answered where.

if TYPE_CHECKING:
    Endpoint = Callable[[Request], Awaitable[Response]]

_MARKED = frozenset(("/v1/mark", "/get_reward"))
"""What asks for verdicts, and so for room in the queue."""


class Service:
    """A pool and the application in front of it."""

    def __init__(self, settings: ServerSettings) -> None:
        """Set up, starting nothing.

        Raises:
            DataError: the folder of benchmarks cannot be read.
        """
        self.pool = Pool(settings.pool)
        self.figures = Figures()
        guard = settings.guard
        shelf = BenchmarkShelf(settings.benchmarks)
        marking = Marking(self.pool, shelf, self.figures, settings)
        scoring = Scoring(guard)
        self.programs = ProgramRunner(self.pool, guard, settings.pool)
        routes = [
            self._route("/v1/mark", marking.mark, "POST"),
            self._route("/v1/score", scoring.score, "POST"),
            self._route("/run_code", self.programs.run_code, "POST"),
            self._route("/get_reward", marking.get_reward, "POST"),
            self._route("/health", self._health, "GET"),
            self._route("/metrics", self._metrics, "GET"),
            self._route("/openapi.json", _openapi, "GET"),
            self._route("/", self._page, "GET"),
        ]
        inner = Starlette(routes=routes, exception_handlers={404: _answer_unknown, 405: _wrong_method})
        self.app = GuardedApp(inner, guard, self._admit)
        self._marking = marking

    def _admit(self, request: Request) -> None:
        """Refuse what is to be marked while the queue is full of its sender's."""
        path = request.scope["path"]
        if path in _MARKED:
            try:
                self._marking.ensure_room(request)
            # counted here, because the route that counts its answers is not reached
            except Refused as refused:
                self.figures.requests[path, refused.status] += 1
                raise

    def _route(self, path: str, endpoint: Endpoint, method: str) -> Route:
        async def answer(request: Request) -> Response:
            try:
                response = await endpoint(request)
            except Refused as refused:
                response = refusal(refused)
            except UsageError as error:  # a field of the request is unknown, missing or wrong
                response = refusal(Refused(400, str(error)))
            self.figures.requests[path, response.status_code] += 1
            return response

        return Route(path, answer, methods=[method])

    async def _health(self, _request: Request) -> Response:
        if self.pool.is_closing:
            return as_json({"status": "closing"}, 503)
        return as_json({"status": "ok", "isolation": self.pool.level.value, "version": version(), "time": time.time()})

    async def _metrics(self, _request: Request) -> Response:
        return PlainTextResponse(self.figures.text(self.pool), 200, HEADERS, "text/plain; version=0.0.4")

    async def _page(self, _request: Request) -> Response:
        return HTMLResponse(page(self.pool, self.figures), 200, HEADERS)


async def _openapi(_request: Request) -> Response:
    return as_json(document(version()))


async def _answer_unknown(request: Request, _error: Exception) -> Response:
    return as_json({"error": f"there is nothing at {request.scope['path'][:80]!r}: see /openapi.json"}, 404)


async def _wrong_method(request: Request, error: Exception) -> Response:
    headers = getattr(error, "headers", None)
    return as_json({"error": f"{request.method} is not for {request.scope['path'][:80]!r}"}, 405, headers)


_CONNECTIONS = 16384
"""Connections that are held open at most, of as many descriptors as this process may have."""
_BACKLOG = 2048
_MARGIN = 5.0
"""Seconds beyond the grace after which open connections are closed."""
_ENDS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_SHORT = 16
"""Characters that a token has at least."""


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
    # what stands in a header has neither spaces nor control characters
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
        # else a server that is started again finds its address taken by connections that have ended
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
    except (OSError, OverflowError) as error:
        if sock is not None:
            sock.close()
        raise _unusable(f"{host}:{port}", error) from error
    return sock


def _listen(sock: socket.socket) -> None:
    """Listen at an address that was free a moment ago; OutputError if another process began to, meanwhile."""
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
            # half of the descriptors, since sandboxes need some too; beyond it a caller hears 503 and is cut off
            limit_concurrency=max(64, min(_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)),
            timeout_keep_alive=75,
            timeout_graceful_shutdown=int(grace + _MARGIN),
            ws="none",
            # else a header that anybody can send would say whose address it is, and so whose turn
            proxy_headers=False,
        )
        super().__init__(config)
        self._pool = service.pool
        self._programs = service.programs
        self._grace = grace
        self.draining: list[asyncio.Future[tuple[None, None]]] = []

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take SIGTERM, Ctrl-C and the end of the terminal for a wish to end."""
        # a loop takes signals in the main thread only
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
        grace = 0.0 if self.draining else self._grace
        ends = asyncio.gather(self._pool.close(grace), self._programs.end(grace))
        if self.draining:  # a caller who does not read is not waited for either
            asyncio.get_running_loop().call_later(_MARGIN, setattr, self, "force_exit", True)
        self.draining.append(ends)


async def serve(
    settings: ServerSettings, sock: socket.socket, *, grace: float, ready: Callable[[_Server], None] | None = None
) -> None:
    """Serve until told to end; what was taken may then still need `grace` seconds. `ready` is called once work is taken.

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
        # else its end is told as an error that nobody saw
        await asyncio.gather(*server.draining, return_exceptions=True)
        sock.close()
