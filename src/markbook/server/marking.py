"""`POST /v1/mark` and `/get_reward`: batches in, rewards out, stopped when the caller leaves."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from starlette.responses import Response, StreamingResponse

from markbook.errors import MarkbookError
from markbook.rewards.items import Defaults, read_items
from markbook.rewards.records import Busy, Closing, Order, Reward
from markbook.rewards.rewarder import rewards
from markbook.server.answers import HEADERS, as_json
from markbook.server.guard import Refused, client_of, read_object
from markbook.types import MissingKind

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from markbook.rewards.benchmarks import BenchmarkShelf
    from markbook.rewards.pool import Pool, Ticket
    from markbook.server.figures import Figures
    from markbook.server.settings import ServerSettings

LINES = "application/x-ndjson"
_FIELDS = ("items", "detail", "deadline", "waited", "error_policy")
_MOST_WAITED = 86_400.0
_REWARD_FIELDS = ("query", "prompts", "labels")
_LOADS = 256 << 10
"""Bytes of a request from which on reading its items is left to a thread."""


class Marking:
    """Marks batches with a pool."""

    def __init__(self, pool: Pool, shelf: BenchmarkShelf, figures: Figures, settings: ServerSettings) -> None:
        """Take what it works with."""
        self._pool = pool
        self._shelf = shelf
        self._figures = figures
        self._guard = settings.guard
        self._defaults = settings.defaults
        self._most = settings.most_items
        self._deadline = settings.deadline

    async def mark(self, request: Request) -> Response:
        """Answer `POST /v1/mark`."""
        began = time.perf_counter()
        body = await self._guard.json(request)
        reject_unknown_fields(body, _FIELDS)
        defaults = self._defaults
        if (policy := body.get("error_policy", defaults.policy)) not in ("zero", "partial"):
            raise Refused(400, f"'error_policy' is {str(policy)[:40]!r}, and has to be 'zero' or 'partial'")
        detail = body.get("detail", False)
        if not isinstance(detail, bool):
            raise Refused(400, "'detail' is neither true nor false")
        wait = seconds(body, "deadline", self._deadline, self._deadline)
        orders = await self._orders(request, body.get("items"), replace(defaults, policy=policy))
        waited = seconds(body, "waited", 0.0, _MOST_WAITED) if "waited" in body else 0.0
        tickets = self._offer(request, orders, wait, waited)
        numbered_rewards = rewards(self._pool, orders, tickets)
        if LINES in request.headers.get("accept", ""):
            lines = StreamingResponse(self._lines(numbered_rewards, began, detail=detail), 200, HEADERS, LINES)
            return Stoppable(lines, lambda: self._pool.cancel(tickets))
        marked = await self._all(request, numbered_rewards, tickets, began)
        return as_json({"results": [reward.to_record(detail=detail) for reward in marked]})

    async def get_reward(self, request: Request) -> Response:
        """Answer OpenRLHF's `POST /get_reward`: each label says by what its query is marked."""
        began = time.perf_counter()
        body = await self._guard.json(request)
        reject_unknown_fields(body, _REWARD_FIELDS)
        items = read_labelled(body)  # none for a server that has nothing to do when there are more servers than queries
        orders = await self._orders(request, items, self._defaults) if items else []
        reasons = [order.missing for order in orders if order.missing is not None]
        if broken := [reason.detail for reason in reasons if reason.kind is MissingKind.UNDEFINED]:
            raise Refused(400, broken[0])  # there is no place for a reason in this shape, and asking again is of no use
        tickets = self._offer(request, orders, self._deadline)
        marked = await self._all(request, rewards(self._pool, orders, tickets), tickets, began)
        if unmeasured := [reward for reward in marked if not reward.valid]:
            # there is no place for a reason in this shape, and a number would be trained on
            first = unmeasured[0]
            raise Refused(
                503,
                f"{len(unmeasured)} of {len(marked)} queries have no reward; the first: {first.message}",
                Retry_After="1",
            )
        numbers = [reward.reward for reward in marked]
        passed = [float(reward.passed == reward.total) for reward in marked]
        return as_json({"rewards": numbers, "scores": numbers, "extra_logs": {"all_passed": passed}})

    def ensure_room(self, request: Request) -> None:
        """Refuse a request before anything reads it where nothing of its sender's can be taken now.

        Raises:
            Refused: too much of it waits already.
        """
        try:
            self._pool.ensure_room(client_of(request))
        except Busy as busy:
            raise too_much(busy) from None

    async def _orders(self, request: Request, items: object, defaults: Defaults) -> list[Order]:
        objects = [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []
        named = {str(item.get("benchmark", "")) for item in objects}
        is_long = int(request.headers.get("content-length", _LOADS)) >= _LOADS
        slow = is_long or any("language" in item for item in objects)  # its toolchain may be looked for
        try:
            if slow or not all(map(self._shelf.is_loaded, named)):
                return await asyncio.to_thread(read_items, items, self._shelf, defaults, self._most)
            return read_items(items, self._shelf, defaults, self._most)
        except MarkbookError as error:
            raise Refused(400, str(error)) from None

    def _offer(self, request: Request, orders: list[Order], seconds: float, waited: float = 0.0) -> list[Ticket]:
        try:
            return self._pool.offer(client_of(request), orders, seconds, waited=waited)
        except Busy as busy:
            if len(orders) > self._pool.most_of_one:
                hint = f"send at most {self._pool.most_of_one} at once"
                raise Refused(413, f"{len(orders)} items never fit into the queue: {hint}") from None
            raise too_much(busy) from None
        except Closing as closing:
            raise Refused(503, closing.message, Retry_After="5") from None

    async def _all(
        self, request: Request, numbered_rewards: AsyncIterator[tuple[int, Reward]], tickets: list[Ticket], began: float
    ) -> list[Reward]:
        """Return the rewards in order; stop the work when the caller leaves."""
        gone = asyncio.create_task(left(request))
        gone.add_done_callback(lambda task: None if task.cancelled() else self._pool.cancel(tickets))
        done: dict[int, Reward] = {}
        try:
            async for number, reward in numbered_rewards:
                done[number] = reward
                self._figures.took(time.perf_counter() - began)
        except asyncio.CancelledError:
            if gone.done() and not gone.cancelled():
                raise Refused(499, "the caller left") from None
            raise
        finally:
            gone.cancel()
        return [done[number] for number in range(len(tickets))]

    async def _lines(
        self, numbered_rewards: AsyncIterator[tuple[int, Reward]], began: float, *, detail: bool
    ) -> AsyncIterator[bytes]:
        async for number, reward in numbered_rewards:
            self._figures.took(time.perf_counter() - began)
            record = {"index": number, **reward.to_record(detail=detail)}
            yield json.dumps(record, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def too_much(busy: Busy) -> Refused:
    """Return what a caller is told for whom there is no room."""
    return Refused(429, str(busy), Retry_After=str(busy.seconds))


class Stoppable(Response):
    """A response after which its work is given up, whether it was sent, broke off, or was never begun."""

    def __init__(self, response: Response, stop: Callable[[], None]) -> None:
        super().__init__(status_code=response.status_code)
        self._response = response
        self._stop = stop

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await self._response(scope, receive, send)
        finally:
            self._stop()


async def left(request: Request) -> None:
    """Return when the caller has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def seconds(body: Mapping[str, object], key: str, default: float, most: float) -> float:
    """Return a field that is a number of seconds.

    Raises:
        Refused: it is none, or not within bounds.
    """
    value = body.get(key, default)
    message = f"{key!r} is {str(value)[:40]}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        kind = ", which is text" if isinstance(value, str) else ""
        raise Refused(400, f"{message}{kind}, and has to be a number above 0 and at most {most:g}")
    if not 0 < value <= most:
        raise Refused(400, f"{message}, and has to be above 0 and at most {most:g}")
    return float(value)


def reject_unknown_fields(body: Mapping[str, object], fields: tuple[str, ...], at: str = "") -> None:
    """Hold an object to the fields that there are.

    Raises:
        Refused: it has another one.
    """
    from markbook.plugins import suggest

    for name in body:
        if name not in fields:
            raise Refused(400, f"{at}unknown field {name[:40]!r} ({suggest(name[:40], list(fields))})")


def read_labelled(body: Mapping[str, object]) -> list[dict[str, object]]:
    """Return OpenRLHF's queries and labels as items.

    A label is an item without its code, as an object or as its JSON; a query is the whole text, of which the answer is what
    stands behind the prompt.

    Raises:
        Refused: they are not.
    """
    queries, labels = _read_list(body, "query"), _read_list(body, "labels")
    if body.get("prompts") is None:
        raise Refused(400, "'prompts' is missing: without them the code in a prompt would be taken for the answer")
    prompts = _read_list(body, "prompts")
    if not len(queries) == len(labels) == len(prompts):
        raise Refused(400, "'query', 'prompts' and 'labels' are not equally long")
    items = []
    for number, (query, label, prompt) in enumerate(zip(queries, labels, prompts, strict=True)):
        if isinstance(label, str):
            label = read_object(label.encode(), f"labels[{number}]")  # noqa: PLW2901 - the same label, read
        if not isinstance(label, dict) or "code" in label or "completion" in label:
            raise Refused(
                400,
                f"labels[{number}] says not by what to mark: an object (or its JSON) with 'tests', or 'benchmark' and 'task_id'",
            )
        items.append({"id": str(number), "code": _answer(query, prompt, number), **label})
    return items


def _answer(query: object, prompt: object, number: int) -> object:
    """Return what stands behind the prompt in a query, before which a tokenizer may have put a sign; what is no text as it is."""
    if not isinstance(prompt, str):
        raise Refused(400, f"prompts[{number}] is no string")
    if not isinstance(query, str):
        return query
    _, separator, answer = query.partition(prompt) if prompt else ("", "", query)
    if prompt and not separator:
        raise Refused(400, f"query[{number}] does not hold prompts[{number}]: what is the answer cannot be told")
    return answer


def _read_list(body: Mapping[str, object], name: str) -> list[object]:
    value = body.get(name)
    if not isinstance(value, list):
        raise Refused(400, f"{name!r} is no list")
    return value
