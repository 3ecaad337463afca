"""Rewards for training, from this machine's own sandboxes or from a server's."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, Self

from markbook.errors import IncompleteError, UsageError
from markbook.option import TIME_LIMIT
from markbook.plugins import need
from markbook.programs.sandboxes import BoxSettings
from markbook.runs.exam.exam_options import ErrorPolicy
from markbook.runs.options import make_options
from markbook.serve.items import BenchmarkShelf, Defaults, read_item, without_nulls
from markbook.serve.pool import Pool, PoolSettings
from markbook.serve.records import Busy, Order, Reward, make_reward
from markbook.serve.requests import find_half
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
_DEADLINE = re.compile(r"'deadline' is .* at most ([0-9.e+]+)$")
"""How a server says the longest deadline of a request that it takes."""
_ITEM = re.compile(r"^items\[(\d+)\]")
_NOTICED = 0.5
"""Seconds of waiting from which on a server is told of it."""


@dataclass(slots=True)
class _Server:
    """One of the servers that share the work."""

    url: str
    client: Any = None
    is_reached: bool = True
    under_way: int = 0
    rests_until: float = 0.0
    """It is not asked before: it was busy, or could not be reached."""


class Remote:
    """A client of `markbook serve`, on one machine or several that share the work."""

    def __init__(
        self, urls: Sequence[str], token: str, benchmark: str, timeout: float, policy: ErrorPolicy | None = None
    ) -> None:
        """Set up, asking nothing.

        Raises:
            ExtraMissingError: httpx is not installed.
            UsageError: one is not an address.
        """
        for url in urls:
            if not url.startswith(("http://", "https://")):
                raise UsageError(f"url={url!r} is not an address of a server", hint="such as http://127.0.0.1:8080")
        self._httpx = need("httpx", extra="serve")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._servers = [_Server(url.rstrip("/")) for url in urls]
        self._benchmark = benchmark
        self._timeout = timeout
        self._policy = {} if policy is None else {"error_policy": policy}

    async def open(self) -> None:
        """Open it."""
        for server in self._servers:
            # without the environment: a proxy or a `.netrc` that is set there is not meant for this server
            server.client = self._httpx.AsyncClient(base_url=server.url, headers=self._headers, trust_env=False)

    async def close(self) -> None:
        """Close its connections."""
        for server in self._servers:
            if server.client is not None:
                await server.client.aclose()

    async def stream(self, items: Sequence[Mapping[str, object]], seconds: float) -> Numbered:
        """Yield rewards in batches, as these are answered."""
        began = asyncio.get_running_loop().time()
        turns = asyncio.Semaphore(_AT_ONCE * len(self._servers))
        completed = [self._complete(item, number) for number, item in enumerate(items)]

        async def mark_batch(start: int) -> list[tuple[int, Reward]]:
            async with turns:
                batch = completed[start : start + _BATCH]
                return list(enumerate(await self._ask_servers(batch, start, began, began + seconds), start))

        tasks = [asyncio.create_task(mark_batch(start)) for start in range(0, len(items), _BATCH)]
        try:
            for task in asyncio.as_completed(tasks):
                for pair in await task:
                    yield pair
        finally:
            for task in tasks:
                task.cancel()
            # where several batches are refused, the first refusal is told, and the others are not lost unseen
            await asyncio.gather(*tasks, return_exceptions=True)

    def _complete(self, item: Mapping[str, object], number: int) -> dict[str, object]:
        """Return an item with what holds for this rewarder, marked as on this machine; UsageError if it is not an object."""
        if not isinstance(item, Mapping):
            raise UsageError("it is not an object", at=f"items[{number}]")
        fields = without_nulls(item)
        named = (
            {} if "tests" in fields or "benchmark" in fields or not self._benchmark else {"benchmark": self._benchmark}
        )
        # the server counts the items of one request, its caller those of all
        return {"id": f"items[{number}]", "timeout": self._timeout, **named, **fields}

    async def _ask_servers(
        self, items: list[dict[str, object]], start: int, began: float, until: float
    ) -> list[Reward]:
        """Return the rewards of a batch; a server that cannot be reached or is busy is asked again until it is too late."""
        loop = asyncio.get_running_loop()
        why = "the server was not asked in time"
        while (remaining := until - (now := loop.time())) > 0:
            free = [server for server in self._servers if server.rests_until <= now]
            # among those that may be asked, the one with the least to do; else the first that may be
            server = min(free or self._servers, key=attrgetter("under_way" if free else "rests_until"))
            if server.rests_until > now:
                await asyncio.sleep(min(server.rests_until - now, remaining))
                continue
            waited = {"waited": now - began} if now - began >= _NOTICED else {}
            try:
                value = {"items": items, "deadline": remaining, "detail": True, **waited, **self._policy}
                # half a character goes as its escape: the server says of its item that nobody can mark it
                body = json.dumps(value, ensure_ascii=False, allow_nan=False).encode(errors="backslashreplace")
            except (ValueError, TypeError, RecursionError) as error:
                raise UsageError(f"the items cannot be sent: {error}") from None
            server.under_way += 1
            try:
                got = await server.client.post("/v1/mark", content=body, headers=_JSON, timeout=remaining + _MARGIN)
            except self._httpx.TransportError as error:
                why = f"the server cannot be reached: {type(error).__name__}: {error}"
                if server.is_reached:  # said once: one that is started anew is asked again, a wrong address for nothing
                    _log.warning("%s: %s; asking again for %.0f seconds", server.url, why, remaining)
                server.is_reached, server.rests_until = False, loop.time() + _WAIT
                continue
            finally:
                server.under_way -= 1
            server.is_reached = True
            if got.status_code == 200:
                return _read_rewards(got.text, items, start)
            try:
                why = str(got.json()["error"])
            except (ValueError, KeyError, TypeError):
                why = f"status {got.status_code}"
            if got.status_code == 413 and len(items) > 1:  # more than this server takes at once
                half = len(items) // 2
                first = await self._ask_servers(items[:half], start, began, until)
                return [*first, *await self._ask_servers(items[half:], start + half, began, until)]
            longest = _DEADLINE.match(why)  # of the request: that of an item is the caller's to mend
            if got.status_code == 400 and longest:
                # it takes no longer deadline, so the next round asks for one that it takes
                until = min(until, loop.time() + float(longest[1]))
            elif got.status_code in (429, 502, 503, 504):
                # a server that names no time at all is still not asked without a pause
                server.rests_until = loop.time() + max(_TURN, _wait(got.headers.get("retry-after", "")))
            else:
                raise UsageError(f"the server refuses: {_renumber(why, start)}")
        missing = Missing(MissingKind.UNAVAILABLE, why)
        return [Reward(_name(item, at), None, missing, message=why) for at, item in enumerate(items, start)]


def _name(item: Mapping[str, object], at: int) -> str:
    """Return what an item is called in its reward: its id, or its place where that cannot be written."""
    return f"items[{at}]" if find_half(str(item["id"])) else str(item["id"])


def _renumber(message: str, start: int) -> str:
    """Return a server's sentence about an item of a request with the item's number among all that were asked for."""
    return _ITEM.sub(lambda match: f"items[{int(match[1]) + start}]", message)


def _wait(header: str) -> float:
    """Return after how many seconds a server wants to be asked again; a proxy may name a time of day instead."""
    try:
        return max(0.0, float(header))
    except ValueError:
        return _WAIT


def _read_rewards(text: str, items: Sequence[Mapping[str, object]], start: int) -> list[Reward]:
    """Return what a server has answered; IncompleteError if that is not an answer to these items."""
    try:
        rewards = [Reward.from_record(record) for record in json.loads(text)["results"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise IncompleteError(f"the server's answer cannot be read: {error}") from error
    if len(rewards) != len(items):
        raise IncompleteError(f"the server answered {len(rewards)} of {len(items)} items")
    for number, (reward, item) in enumerate(zip(rewards, items, strict=True)):
        if reward.id != _name(item, number):
            raise IncompleteError(f"the server answered {reward.id!r:.60} where {item['id']!r:.60} was asked")
        if reward.missing is not None:
            missing = replace(reward.missing, detail=_renumber(reward.missing.detail, start))
            message = _renumber(reward.message, start)
            rewards[number] = replace(reward, id=_name(item, number + start), missing=missing, message=message)
    return rewards


_TURN = 0.05
"""Seconds after which a full pool of one's own is asked again."""
_REWARDER_AT_ONCE = 1024
"""Items handed to a pool of one's own together."""
Numbered = AsyncIterator[tuple[int, Reward]]
"""Rewards with the numbers of their items, as they come."""


class Rewarder:
    """Marks code by an exam's rules, asynchronously: `async with Rewarder(...) as rewarder`.

    Each reward is a number, or None with its reason: what was not measured is never 0.
    """

    def __init__(
        self,
        *,
        url: str | Sequence[str] = "",
        token: str = "",
        benchmark: str | os.PathLike[str] = "",
        seconds: float = 600.0,
        timeout: float = TIME_LIMIT,
        error_policy: ErrorPolicy | None = None,
        **options: Any,
    ) -> None:
        """Set up, starting nothing.

        Args:
            url: of a server (`markbook serve`) that does the work, or of several that share it; without it sandboxes of
                this machine do.
            token: of that server, or of all of them.
            benchmark: a file, or with `url` a name, by whose tasks items without tests are marked.
            seconds: how long a call waits for its items; what still waits for its turn then has the reason `timeout`, and
                what took most of that by itself is out of time.
            timeout: CPU seconds of a program where its item does not say.
            error_policy: `zero`: code that raises scores 0; `partial`: it keeps the tests that it passed, and each test of an
                item that reads and writes counts. None for the server's own, `zero` on this machine.
            **options: of the sandboxes of this machine: `workers`, `isolation`, `python`, `separate`, `adaptive` (as an
                exam: each problem's limit is 20 times what its canonical solution needs, at least 3 s).

        Raises:
            UsageError: an option that does not exist, or one that only a server has, or an empty list of servers.
        """
        if not (url or url is None or isinstance(url, str)):
            raise UsageError("url names no server", hint="leave it out for sandboxes of this machine")
        self._seconds = seconds
        self._is_open = False
        self._source: Remote | _Local
        if url:
            if options:
                raise UsageError(f"{next(iter(options))!r} is for sandboxes of this machine", hint="leave out url")
            urls = (url,) if isinstance(url, str) else tuple(url)
            self._source = Remote(urls, token, os.fspath(benchmark), timeout, error_policy)
        else:
            box = make_options(BoxSettings, {"adaptive": True, **options}, "Rewarder")
            self._source = _Local(Pool(PoolSettings(box=box)), benchmark, timeout, error_policy or "zero")

    async def __aenter__(self) -> Self:
        try:
            await self._source.open()
        except BaseException:  # what has been started of it is ended: nobody else could
            await self._source.close()
            raise
        self._is_open = True
        return self

    async def __aexit__(self, *_: object) -> None:
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
        """Return the tickets of orders; None if they find no room in time."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                waited = loop.time() - began
                return self._pool.offer("rewarder", orders, max(0.001, seconds - waited), waited=waited)
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
