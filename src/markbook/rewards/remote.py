"""Rewards from a server: its address, its token, and what is tried again."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from markbook.errors import IncompleteError, UsageError
from markbook.plugins import need
from markbook.rewards.records import Reward
from markbook.rewards.rewarder import Numbered
from markbook.runs.exam.marks import ErrorPolicy
from markbook.types import Missing, MissingKind

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
            UsageError: it is no address.
        """
        if not url.startswith(("http://", "https://")):
            raise UsageError(f"url={url!r} is no address of a server", hint="such as http://127.0.0.1:8080")
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
                why = _read_error(got)
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
        UsageError: it is no JSON: a number that is none, half a character, a type of somebody's own.
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


def _read_error(answer: Any) -> str:
    try:
        return str(answer.json()["error"])
    except (ValueError, KeyError, TypeError):
        return f"status {answer.status_code}"


def _rewards(text: str, items: Sequence[Mapping[str, object]]) -> list[Reward]:
    """Return what a server has answered.

    Raises:
        IncompleteError: it is no answer to these items.
    """
    try:
        rewards = [Reward.from_record(record) for record in json.loads(text)["results"]]
    except (ValueError, KeyError, TypeError) as error:
        raise IncompleteError(f"the server's answer cannot be read: {error}") from error
    if len(rewards) != len(items):
        raise IncompleteError(f"the server answered {len(rewards)} of {len(items)} items")
    return rewards
