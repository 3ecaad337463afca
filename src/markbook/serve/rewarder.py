"""Rewards for training, from this machine's own sandboxes or from a server's."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from markbook.errors import IncompleteError, UsageError
from markbook.plugins import need
from markbook.programs.sandboxes import BoxSettings
from markbook.runs.exam.grading import ErrorPolicy
from markbook.runs.options import make_options
from markbook.serve.items import BenchmarkShelf, Defaults, read_item
from markbook.serve.pool import Pool, PoolSettings
from markbook.serve.records import Busy, Order, Reward, make_reward
from markbook.serve.work_queue import Ticket
from markbook.types import Missing, MissingKind

# Rewards from a server: its address, its token, and what is tried again.

_log = logging.getLogger(__name__)

_BATCH = 64
"""Items of one request."""
_AT_ONCE = 8
"""Requests under way at a time."""
_WAIT = 1.0
"""Seconds before a request is repeated where the server does not say."""
_JSON = {"Content-Type": "application/json"}
_MARGIN = 15.0
"""Seconds beyond the deadline after which no answer is expected any more."""
_NOTICED = 0.5
"""Seconds of waiting from which on a server is told of it."""


class Remote:
    """A client of `markbook serve`."""

    def __init__(self, url: str, token: str, benchmark: str, timeout: float, policy: ErrorPolicy | None = None) -> None:
        """Set up, asking nothing.

        Raises:
            ExtraMissingError: httpx is not installed.
            UsageError: it is not an address.
        """
        if not url.startswith(("http://", "https://")):
            raise UsageError(f"url={url!r} is not an address of a server", hint="such as http://127.0.0.1:8080")
        self._httpx = need("httpx", extra="serve")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._options = {"base_url": url.rstrip("/"), "headers": headers, "trust_env": False}
        self._benchmark = benchmark
        self._timeout = timeout
        self._policy = {} if policy is None else {"error_policy": policy}
        self._client: Any = None
        self._is_reached = True

    async def open(self) -> None:
        """Open it."""
        self._client = self._httpx.AsyncClient(**self._options)

    async def close(self) -> None:
        """Close its connections."""
        await self._client.aclose()

    async def stream(self, items: Sequence[Mapping[str, object]], seconds: float) -> Numbered:
        """Yield rewards in batches, as these are answered."""
        began = asyncio.get_running_loop().time()
        until = began + seconds
        turns = asyncio.Semaphore(_AT_ONCE)

        async def batch(start: int) -> list[tuple[int, Reward]]:
            async with turns:
                part = [self._whole(item) for item in items[start : start + _BATCH]]
                return [
                    (start + index, reward) for index, reward in enumerate(await self._ask_server(part, began, until))
                ]

        tasks = [asyncio.create_task(batch(start)) for start in range(0, len(items), _BATCH)]
        try:
            for done in asyncio.as_completed(tasks):
                for pair in await done:
                    yield pair
        finally:
            for task in tasks:
                task.cancel()

    def _whole(self, item: Mapping[str, object]) -> dict[str, object]:
        named = {} if "tests" in item or "benchmark" in item or not self._benchmark else {"benchmark": self._benchmark}
        return {"timeout": self._timeout, **named, **item}

    async def _ask_server(self, items: list[dict[str, object]], began: float, until: float) -> list[Reward]:
        """Return the rewards of a batch; a server that cannot be reached or is busy is asked again until it is too late."""
        loop = asyncio.get_running_loop()
        why = "the server was not asked in time"
        while (remaining := until - loop.time()) > 0:
            waited = {"waited": already} if (already := loop.time() - began) >= _NOTICED else {}
            body = _body({"items": items, "deadline": remaining, "detail": True, **waited, **self._policy})
            try:
                got = await self._client.post("/v1/mark", content=body, headers=_JSON, timeout=remaining + _MARGIN)
            except self._httpx.TransportError as error:
                why, wait = f"the server cannot be reached: {type(error).__name__}: {error}", _WAIT
                if (
                    self._is_reached
                ):  # said once: a server that is started anew is asked again, a wrong address for nothing
                    self._is_reached = False
                    _log.warning("%s: %s; asking again for %.0f seconds", self._options["base_url"], why, remaining)
            else:
                self._is_reached = True
                if got.status_code == 200:
                    return _rewards(got.text, items)
                try:
                    why = str(got.json()["error"])
                except (ValueError, KeyError, TypeError):
                    why = f"status {got.status_code}"
                if got.status_code == 400 and "'deadline'" in why:
                    until = min(until, loop.time() + _most(why))
                    continue
                if got.status_code == 413 and len(items) > 1:  # more than this server takes at once
                    half = len(items) // 2
                    first = await self._ask_server(items[:half], began, until)
                    return [*first, *await self._ask_server(items[half:], began, until)]
                if got.status_code not in (429, 502, 503, 504):
                    raise UsageError(f"the server refuses: {why}")
                wait = _wait(got.headers.get("retry-after", ""))
            await asyncio.sleep(min(wait, max(0.0, until - loop.time())))
        missing = Missing(MissingKind.UNAVAILABLE, why)
        return [Reward(str(item.get("id", "")), None, missing, message=why) for item in items]


def _body(value: object) -> bytes:
    """Return what is sent.

    Raises:
        UsageError: it is not JSON: a number that is none, half a character, a type of somebody's own.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise UsageError(f"the items cannot be sent: {error}") from None


def _wait(header: str) -> float:
    """Return after how many seconds a server wants to be asked again; a proxy may name a time of day instead."""
    try:
        return max(0.0, float(header))
    except ValueError:
        return _WAIT


def _most(why: str) -> float:
    """Return the longest deadline that a server says it takes."""
    try:
        return float(why.rpartition(" ")[2])
    except ValueError:
        raise UsageError(f"the server refuses: {why}") from None


def _rewards(text: str, items: Sequence[Mapping[str, object]]) -> list[Reward]:
    """Return what a server has answered.

    Raises:
        IncompleteError: it is not an answer to these items.
    """
    try:
        rewards = [Reward.from_record(record) for record in json.loads(text)["results"]]
    except (ValueError, KeyError, TypeError) as error:
        raise IncompleteError(f"the server's answer cannot be read: {error}") from error
    if len(rewards) != len(items):
        raise IncompleteError(f"the server answered {len(rewards)} of {len(items)} items")
    return rewards


_TURN = 0.05
"""Seconds after which a full pool of one's own is asked again."""
_REWARDER_AT_ONCE = 1024
"""Items handed to a pool of one's own together."""
Numbered = AsyncIterator[tuple[int, Reward]]
"""Rewards with the numbers of their items, as they come."""


class _Source(Protocol):
    """Where rewards come from."""

    async def open(self) -> None: ...
    async def close(self) -> None: ...
    def stream(self, items: Sequence[Mapping[str, object]], seconds: float) -> Numbered: ...


class Rewarder:
    """Marks code by an exam's rules, asynchronously: `async with Rewarder(...) as rewarder`.

    Each reward is a number, or None with its reason: what was not measured is never 0.
    """

    def __init__(
        self,
        *,
        url: str = "",
        token: str = "",
        benchmark: str | os.PathLike[str] = "",
        seconds: float = 600.0,
        timeout: float = 60.0,
        error_policy: ErrorPolicy | None = None,
        **options: Any,
    ) -> None:
        """Set up, starting nothing.

        Args:
            url: of a server (`markbook serve`) that does the work; without it sandboxes of this machine do.
            token: of that server.
            benchmark: a file, or with `url` a name, by whose tasks items without tests are marked.
            seconds: how long a call waits for its items; what still waits for its turn then has the reason `timeout`, and
                what took most of that by itself is out of time.
            timeout: CPU seconds of a program where its item does not say.
            error_policy: `zero`: code that raises scores 0; `partial`: it keeps the tests that it passed, and each test of an
                item that reads and writes counts. None for the server's own, `zero` on this machine.
            **options: of the sandboxes of this machine: `workers`, `isolation`, `python`, `separate`, `adaptive` (as an
                exam: each problem's limit is 20 times what its canonical solution needs, at least 3 s).

        Raises:
            UsageError: an option that does not exist, or one that only a server has.
        """
        self._seconds = seconds
        self._is_open = False
        self._source: _Source
        if url:
            if options:
                raise UsageError(f"{next(iter(options))!r} is for sandboxes of this machine", hint="leave out url")

            self._source = Remote(url, token, os.fspath(benchmark), timeout, error_policy)
        else:
            box = make_options(BoxSettings, {"adaptive": True, **options}, "Rewarder")
            self._source = _Local(Pool(PoolSettings(box=box)), benchmark, timeout, error_policy or "zero")

    async def __aenter__(self) -> Self:
        await self._source.open()
        self._is_open = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._source.close()

    async def mark(self, items: Sequence[Mapping[str, object]]) -> list[Reward]:
        """Return the reward of each item, in their order.

        Args:
            items: each with `code` (or `completion`) and `tests`, or `benchmark` and `task_id`; see docs/serve.md.

        Raises:
            UsageError: an item cannot be honoured; none was run.
        """
        rewards_by_number = {number: reward async for number, reward in self.stream(items)}
        return [rewards_by_number[number] for number in range(len(items))]

    async def stream(self, items: Sequence[Mapping[str, object]]) -> Numbered:
        """Yield each item's number with its reward, as they are marked; leaving early stops the rest."""
        if not self._is_open:
            raise UsageError("the rewarder has not been started", hint="async with Rewarder(...) as rewarder:")
        if not items:
            return
        async for pair in self._source.stream(items, self._seconds):
            yield pair


class _Local:
    """Rewards from a pool of one's own."""

    def __init__(
        self, pool: Pool, benchmark: str | os.PathLike[str], timeout: float, policy: ErrorPolicy = "zero"
    ) -> None:
        path = Path(benchmark) if benchmark else None
        self._pool = pool
        self._shelf = BenchmarkShelf(None, *([path] if path else []))
        self._defaults = Defaults(timeout=timeout, benchmark=path.name if path else "", policy=policy)

    async def open(self) -> None:
        if self._defaults.benchmark:
            await asyncio.to_thread(self._shelf.load, self._defaults.benchmark)
        await self._pool.start()

    async def close(self) -> None:
        await self._pool.close()

    async def stream(self, items: Sequence[Mapping[str, object]], seconds: float) -> Numbered:
        orders = [read_item(item, f"items[{number}]", self._shelf, self._defaults) for number, item in enumerate(items)]
        began = asyncio.get_running_loop().time()
        for start in range(0, len(orders), _REWARDER_AT_ONCE):
            part = orders[start : start + _REWARDER_AT_ONCE]
            tickets = await self._offer(part, began, seconds)
            if tickets is None:
                missing = Missing(MissingKind.TIMEOUT, f"there was no room for it within {seconds:g} s")
                for number, order in enumerate(part, start):
                    yield number, make_reward(order, missing)
                continue
            async for number, reward in rewards(self._pool, part, tickets):
                yield start + number, reward

    async def _offer(self, orders: Sequence[Order], began: float, seconds: float) -> list[Ticket] | None:
        """Return the tickets of orders; None if there is no room for them in time."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                waited = loop.time() - began
                return self._pool.offer("", orders, max(0.001, seconds - waited), waited=waited)
            except Busy:
                if loop.time() > began + seconds:
                    return None
                await asyncio.sleep(_TURN)


async def rewards(pool: Pool, orders: Sequence[Order], tickets: Sequence[Ticket]) -> Numbered:
    """Yield the numbers of orders with their rewards as they come; what is left when the caller leaves is not run."""
    done: asyncio.Queue[int] = asyncio.Queue()

    def on_landing(number: int) -> Any:
        return lambda _: done.put_nowait(number)

    for number, ticket in enumerate(tickets):
        ticket.future.add_done_callback(on_landing(number))
    try:
        for _ in tickets:
            number = await done.get()
            yield number, make_reward(orders[number], tickets[number].future.result())
    finally:
        pool.cancel(tickets)
