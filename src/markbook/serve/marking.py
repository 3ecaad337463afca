"""`POST /v1/mark` and `/get_reward`: batches in, rewards out, stopped when the caller leaves."""

from __future__ import annotations

import asyncio
import json
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.responses import Response, StreamingResponse

from markbook import plugins
from markbook.errors import MarkbookError, UsageError, suggest
from markbook.metrics.measure import ALIASES, expand, measure
from markbook.row_keys import ITEM_KEYS
from markbook.serve import requests
from markbook.serve.guard import HEADERS, Guard, Refused, as_json, identify_client, read_object
from markbook.serve.items import BenchmarkShelf, Defaults, read_items, with_prompt
from markbook.serve.pool import Pool, PoolSettings
from markbook.serve.records import Busy, Closing, Order, Reward, UnmarkableError
from markbook.serve.rewarder import rewards
from markbook.serve.work_queue import Ticket
from markbook.types import MissingKind, names_python

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send


# What the server counts, as Prometheus reads it.

_EDGES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)


class Figures:
    """Requests by path and status, and how long items took."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self._slots = [0] * (len(_EDGES) + 1)
        self._sum = 0.0

    def took(self, seconds: float) -> None:
        """Count an answered item, from the arrival of its request to its reward."""
        self._slots[bisect_left(_EDGES, seconds)] += 1
        self._sum += seconds

    def text(self, pool: Pool) -> str:
        """Return all of it."""
        level = f'{{level="{pool.level.value}"}}'
        kinds = [(f'{{result="{name}"}}', count) for name, count in sorted(pool.counts.items())]
        why: Counter[str] = Counter()
        for lane in pool.lanes:
            why.update(lane.replaced)
        replaced = [(f'{{why="{name}"}}', count) for name, count in sorted(why.items())]
        request_counts = [
            (f'{{path="{path}",status="{status}"}}', count) for (path, status), count in sorted(self.requests.items())
        ]
        lines = (
            *_metric("markbook_items_waiting", "gauge", "Items in the queue.", [("", pool.waiting)]),
            *_metric("markbook_items_running", "gauge", "Items in a sandbox.", [("", pool.running)]),
            *_metric("markbook_workers", "gauge", "Items that run at once.", [("", len(pool.lanes))]),
            *_metric("markbook_isolation", "gauge", "The level of isolation.", [(level, 1)]),
            *_metric("markbook_items_total", "counter", "Items by what became of them.", kinds),
            *_metric("markbook_workers_replaced_total", "counter", "Workers that were replaced.", replaced),
            *_metric("markbook_requests_total", "counter", "Requests.", request_counts),
            *self._histogram(),
        )
        return "".join(f"{line}\n" for line in lines)

    def _histogram(self) -> Iterator[str]:
        name = "markbook_item_seconds"
        total = 0
        yield f"# HELP {name} Seconds from a request's arrival to an item's reward."
        yield f"# TYPE {name} histogram"
        for edge, count in zip((*map(str, _EDGES), "+Inf"), self._slots, strict=True):
            # a bucket of Prometheus counts all that is below its edge
            total += count
            yield f'{name}_bucket{{le="{edge}"}} {total}'
        yield f"{name}_sum {self._sum:.6f}"
        yield f"{name}_count {total}"

    def quantile(self, share: float) -> float | None:
        """Return the edge below which this share of the items lies, None without items."""
        total = sum(self._slots)
        cumulative = 0
        for edge, count in zip((*_EDGES, float("inf")), self._slots, strict=True):
            cumulative += count
            if total and cumulative >= share * total:
                return edge
        return None


def _metric(name: str, kind: str, words: str, values: Sequence[tuple[str, float]]) -> Iterator[str]:
    yield f"# HELP {name} {words}"
    yield f"# TYPE {name} {kind}"
    for labels, value in values:
        yield f"{name}{labels} {value}"


# How a server is set up.


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """How a server is set up."""

    pool: PoolSettings = field(default_factory=PoolSettings)
    guard: Guard = field(default_factory=Guard)
    defaults: Defaults = field(default_factory=Defaults)
    benchmarks: Path | None = None
    """The folder whose benchmarks items may name; nothing else of this machine can be named."""
    most_items: int = 1024
    deadline: float = 600.0
    """Seconds that a request is worked for at most."""


LINES = "application/x-ndjson"
_LOADS = 256 << 10
"""Bytes of a request from which on reading its items is left to a thread."""


class Marking:
    """Marks batches with a pool."""

    def __init__(self, pool: Pool, shelf: BenchmarkShelf, figures: Figures, settings: ServerSettings) -> None:
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
        body = await self._guard.json(request, may_halve=True)  # which concerns one item: what it says is checked
        batch = requests.check(
            requests.MarkRequest, {"deadline": self._deadline, **body}, bounds={"deadline": self._deadline}
        )
        defaults = self._defaults
        if "error_policy" in body:
            defaults = replace(defaults, policy=batch.error_policy)
        orders = await self._orders(request, batch.items, defaults)
        tickets = self._offer(request, orders, batch.deadline, batch.waited)
        numbered_rewards = rewards(self._pool, orders, tickets)
        if LINES in request.headers.get("accept", ""):
            lines = StreamingResponse(self._lines(numbered_rewards, began, detail=batch.detail), 200, HEADERS, LINES)
            return Stoppable(lines, lambda: self._pool.cancel(tickets))
        marked = await self._all(request, numbered_rewards, tickets, began)
        return as_json({"results": [reward.to_record(detail=batch.detail) for reward in marked]})

    async def get_reward(self, request: Request) -> Response:
        """Answer OpenRLHF's `POST /get_reward`: each label says by what its query is marked."""
        began = time.perf_counter()
        body = await self._guard.json(request)
        # none for a server that has nothing to do when there are more servers than queries
        items = read_labelled(requests.check(requests.RewardRequest, body))
        orders = await self._orders(request, items, self._defaults) if items else []
        # this shape has no place for a reason, and asking again is of no use
        reasons = [order.missing for order in orders if order.missing is not None]
        if broken := [reason.detail for reason in reasons if reason.kind is MissingKind.UNDEFINED]:
            raise Refused(400, broken[0])
        tickets = self._offer(request, orders, self._deadline)
        marked = await self._all(request, rewards(self._pool, orders, tickets), tickets, began)
        if unmeasured := [reward.missing for reward in marked if reward.missing is not None]:
            # a number would be trained on; asking again helps where ours failed, not where a test proved to be broken
            final = [missing for missing in unmeasured if not missing.kind.is_ours]
            words = f"{len(unmeasured)} of {len(marked)} queries have no reward; the first: {(final or unmeasured)[0].detail}"
            raise Refused(400, words) if final else Refused(503, words, Retry_After="1")
        numbers = [reward.reward for reward in marked]
        passed = [float(reward.passed == reward.total) for reward in marked]
        return as_json({"rewards": numbers, "scores": numbers, "extra_logs": {"all_passed": passed}})

    def ensure_room(self, request: Request) -> None:
        """Refuse a request before anything reads it where nothing of its sender's can be taken now.

        Raises:
            Refused: too much of it waits already.
        """
        try:
            self._pool.ensure_room(identify_client(request))
        except Busy as busy:
            raise too_much(busy) from None

    async def _orders(self, request: Request, items: object, defaults: Defaults) -> list[Order]:
        objects = [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []
        named = {str(item.get("benchmark", "")) for item in objects}
        # of unknown length it is taken for a long one
        is_long = int(request.headers.get("content-length", _LOADS)) >= _LOADS
        # another language's toolchain may be looked for
        slow = is_long or not all(names_python(str(item.get("language") or "")) for item in objects)
        try:
            if slow or not all(map(self._shelf.is_loaded, named)):
                return await asyncio.to_thread(read_items, items, self._shelf, defaults, self._most)
            return read_items(items, self._shelf, defaults, self._most)
        except MarkbookError as error:
            raise Refused(400, str(error)) from None

    def _offer(self, request: Request, orders: list[Order], seconds: float, waited: float = 0.0) -> list[Ticket]:
        try:
            return self._pool.offer(identify_client(request), orders, seconds, waited=waited)
        except Busy as busy:
            # asking again would be of no use: there will never be so much room
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
        # the rewards' iterator ends by the cancelled tickets, and the sandboxes are free for others at once
        gone.add_done_callback(lambda task: None if task.cancelled() else self._pool.cancel(tickets))
        done: dict[int, Reward] = {}
        try:
            async for number, reward in numbered_rewards:
                done[number] = reward
                self._figures.took(time.perf_counter() - began)
        except asyncio.CancelledError:
            if gone.done() and not gone.cancelled():
                # the number that nginx has for this; nobody is there to read it
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
    """Return what a caller is told when the queue is full."""
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


def read_labelled(body: requests.RewardRequest) -> list[dict[str, object]]:
    """Return OpenRLHF's queries and labels as items.

    A label is an item without its code, as an object or as its JSON; a query is the whole text, of which the answer is what
    stands behind the prompt, and may complete it.

    Raises:
        Refused: they are not.
    """
    if body.prompts is None:
        raise Refused(400, "'prompts' is missing: without them the code in a prompt would be taken for the answer")
    if not len(body.query) == len(body.labels) == len(body.prompts):
        raise Refused(400, "'query', 'prompts' and 'labels' are not equally long")
    items = []
    for number, (query, text, prompt) in enumerate(zip(body.query, body.labels, body.prompts, strict=True)):
        label = read_object(text.encode(), f"labels[{number}]") if isinstance(text, str) else text
        if not isinstance(label, dict) or any(key in label for key in ITEM_KEYS):
            raise Refused(
                400,
                f"labels[{number}] says not by what to mark: an object (or its JSON) with 'tests', or 'benchmark' and 'task_id'",
            )
        if not isinstance(prompt, str):
            raise Refused(400, f"prompts[{number}] is not a string")
        answer = query
        if isinstance(query, str) and prompt:
            # a tokenizer may have put a sign before the prompt, so that the query does not begin with it
            _, separator, answer = query.partition(prompt)
            if not separator:
                raise Refused(
                    400, f"query[{number}] does not hold prompts[{number}]: where its answer begins is unknown"
                )
        items.append(with_prompt({"id": str(number), "completion": answer, **label}, prompt))
    return items


# `POST /v1/score`: texts by metrics, as `markbook score` has them.

_MOST_ITEMS = 1024
_MOST_TEXT = 64 << 10
"""Characters of one text: some metrics take time by its square."""
_MOST_METRICS = 16
_MOST_WAITING = 8


class Scoring:
    """Measures texts, one request after the other, beside the event loop."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._turn = asyncio.Semaphore(1)
        self._waiting = 0

    async def score(self, request: Request) -> Response:
        """Answer it."""
        body = await self._guard.json(request, may_halve=True)  # as in `mark`
        texts = requests.check(requests.ScoreRequest, body)
        if len(texts.metrics) > _MOST_METRICS:
            raise Refused(400, f"{len(texts.metrics)} metrics are too many at once: at most {_MOST_METRICS}")
        there = [*plugins.names("metrics"), *ALIASES]  # a name of another form would import what it names
        for name in texts.metrics:
            if name not in there:
                raise Refused(400, f"unknown metric {name[:40]!r} ({suggest(name[:40], there)})")
        items, broken = _read_items(texts.items)
        if self._waiting >= _MOST_WAITING:
            raise Refused(429, f"{self._waiting} requests for scores wait already", Retry_After="1")
        self._waiting += 1
        try:
            async with self._turn:
                candidates, references = [item.candidate for item in items], [item.against for item in items]
                measured = await asyncio.to_thread(measure, expand(texts.metrics), candidates, references)
        except MarkbookError as error:
            raise Refused(400, str(error)) from None
        finally:
            self._waiting -= 1
        rows: list[dict[str, Any]] = [{"id": item.id} for item in items]
        for name, measurements in measured.items():
            for number, (row, measurement) in enumerate(zip(rows, measurements, strict=True)):
                kind = None if measurement.missing is None else measurement.missing.kind
                missing = MissingKind.UNDEFINED.value if number in broken else kind and kind.value
                row[name] = {"value": measurement.value, "valid": measurement.missing is None, "reason": missing}
        return as_json({"results": rows})


def _read_items(values: Sequence[object]) -> tuple[list[requests.ScoreItem], set[int]]:
    """Return the items, and the numbers of those that hold half a character: they have no text."""
    if len(values) > _MOST_ITEMS:
        raise Refused(400, f"{len(values)} items are too many at once: at most {_MOST_ITEMS}")
    items, broken = [], set()
    for number, value in enumerate(values):
        at = f"items[{number}]"
        if not isinstance(value, Mapping):
            raise UsageError("it is not an object", at=at)
        try:
            item = requests.check(requests.ScoreItem, {"id": number, **value}, at)
        except UnmarkableError:
            own = value.get("id", number)
            item = requests.ScoreItem(id=number if requests.find_half(str(own)) else own, candidate=None)
            broken.add(number)
        if "reference" in value and "references" in value:
            raise UsageError("it has 'reference' and 'references': an item has one of them", at=at)
        if any(len(text) > _MOST_TEXT for text in (item.candidate or "", *item.against)):
            raise UsageError(f"a text has more than {_MOST_TEXT} characters", at=at)
        items.append(item)
    return items, broken
