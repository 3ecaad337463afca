"""`POST /v1/score`: texts by metrics, as `markbook score` has them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from markbook import plugins
from markbook.errors import MarkbookError
from markbook.metrics.measure import ALIASES, expand, measure
from markbook.server.answers import as_json
from markbook.server.guard import Refused
from markbook.server.marking import reject_unknown_fields

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from markbook.server.guard import Guard

_FIELDS = ("metrics", "items")
_ITEM_FIELDS = ("id", "candidate", "reference", "references")
_MOST_ITEMS = 1024
_MOST_TEXT = 64 << 10
"""Characters of one text: some metrics take time by its square."""
_MOST_ID = 200
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
        body = await self._guard.json(request)
        reject_unknown_fields(body, _FIELDS)
        names = _names(body.get("metrics"))
        items = _items(body.get("items"))
        if self._waiting >= _MOST_WAITING:
            raise Refused(429, f"{self._waiting} requests for scores wait already", Retry_After="1")
        self._waiting += 1
        try:
            async with self._turn:
                rows = await asyncio.to_thread(_measure_items, names, items)
        except MarkbookError as error:
            raise Refused(400, str(error)) from None
        finally:
            self._waiting -= 1
        return as_json({"results": rows})


def _names(value: object) -> list[str]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise Refused(400, "'metrics' is no name or list of names of metrics")
    if len(names) > _MOST_METRICS:
        raise Refused(400, f"{len(names)} metrics are too many at once: at most {_MOST_METRICS}")
    there = [*plugins.names("metrics"), *ALIASES]  # a name of another form would import what it names
    for name in names:
        if name not in there:
            raise Refused(400, f"unknown metric {name[:40]!r} ({plugins.suggest(name[:40], there)})")
    return expand(names)


def _items(value: object) -> list[Mapping[str, object]]:
    if not isinstance(value, list) or not value:
        raise Refused(400, "'items' is no list, or empty")
    if len(value) > _MOST_ITEMS:
        raise Refused(400, f"{len(value)} items are too many at once: at most {_MOST_ITEMS}")
    for number, item in enumerate(value):
        if not isinstance(item, Mapping):
            raise Refused(400, f"items[{number}]: it is no object")
        reject_unknown_fields(item, _ITEM_FIELDS, f"items[{number}]: ")
        name = item.get("id", number)
        if isinstance(name, bool) or not isinstance(name, str | int) or len(str(name)) > _MOST_ID:
            raise Refused(400, f"items[{number}]: 'id' is neither a short string nor a whole number")
        if "reference" in item and "references" in item:
            raise Refused(400, f"items[{number}]: it has 'reference' and 'references': an item has one of them")
        if "candidate" not in item or not isinstance(item["candidate"], str | None):
            raise Refused(400, f"items[{number}]: 'candidate' is missing, or neither a string nor null")
        if any(len(text) > _MOST_TEXT for text in [item["candidate"] or "", *_references(item, number)]):
            raise Refused(400, f"items[{number}]: a text has more than {_MOST_TEXT} characters")
    return value


def _references(item: Mapping[str, object], number: int) -> list[str]:
    value = item.get("references", item.get("reference"))
    texts = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise Refused(400, f"items[{number}]: its references are neither a string nor a list of strings")
    return texts


def _measure_items(names: list[str], items: list[Mapping[str, object]]) -> list[dict[str, object]]:
    candidates = [item["candidate"] for item in items]
    references = [_references(item, number) for number, item in enumerate(items)]
    measured = measure(names, candidates, references)
    rows: list[dict[str, Any]] = [{"id": item.get("id", number)} for number, item in enumerate(items)]
    for name, measurements in measured.items():
        for row, measurement in zip(rows, measurements, strict=True):
            missing = None if measurement.missing is None else measurement.missing.kind.value
            row[name] = {"value": measurement.value, "valid": measurement.missing is None, "reason": missing}
    return rows
