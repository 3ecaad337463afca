"""The application: what is answered where."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from markbook.installed import version
from markbook.rewards.benchmarks import BenchmarkShelf
from markbook.rewards.pool import Pool
from markbook.server.answers import HEADERS, as_json, refusal
from markbook.server.figures import Figures
from markbook.server.guard import GuardedApp, Refused
from markbook.server.marking import Marking
from markbook.server.openapi import document
from markbook.server.page import page
from markbook.server.programs import ProgramRunner
from markbook.server.scoring import Scoring
from markbook.server.settings import ServerSettings

if TYPE_CHECKING:
    from starlette.requests import Request

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
        """Refuse what is to be marked while nothing more of its sender's can wait.

        Raises:
            Refused: there is no room.
        """
        path = request.scope["path"]
        if path in _MARKED:
            try:
                self._marking.ensure_room(request)
            except Refused as refused:
                self.figures.requests[path, refused.status] += 1
                raise

    def _route(self, path: str, endpoint: Endpoint, method: str) -> Route:
        async def answer(request: Request) -> Response:
            try:
                response = await endpoint(request)
            except Refused as refused:
                response = refusal(refused)
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
