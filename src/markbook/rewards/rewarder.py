"""Rewards for training, from this machine's own sandboxes or from a server's."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from markbook.errors import UsageError
from markbook.rewards.benchmarks import BenchmarkShelf
from markbook.rewards.items import Defaults, read_item
from markbook.rewards.pool import Pool, PoolSettings, Ticket
from markbook.rewards.records import Busy, Order, Reward, reward_of
from markbook.runs.exam.marks import ErrorPolicy
from markbook.runs.options import options_of
from markbook.runs.sandboxes import BoxSettings
from markbook.types import Missing, MissingKind

_TURN = 0.05
"""Seconds after which a full pool of one's own is asked again."""
_AT_ONCE = 1024
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
            from markbook.rewards.remote import Remote

            self._source = Remote(url, token, os.fspath(benchmark), timeout, error_policy)
        else:
            box = options_of(BoxSettings, {"adaptive": True, **options}, "Rewarder")
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
        for start in range(0, len(orders), _AT_ONCE):
            part = orders[start : start + _AT_ONCE]
            tickets = await self._offer(part, began, seconds)
            if tickets is None:
                missing = Missing(MissingKind.TIMEOUT, f"there was no room for it within {seconds:g} s")
                for number, order in enumerate(part, start):
                    yield number, reward_of(order, missing)
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
            yield number, reward_of(orders[number], tickets[number].future.result())
    finally:
        pool.cancel(tickets)
