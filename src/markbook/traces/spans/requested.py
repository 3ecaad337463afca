"""The tool calls that a model's reply asks for, wherever a framework's log puts them."""

from __future__ import annotations

from collections import deque
from itertools import islice

from markbook.traces.plain import name_of, record
from markbook.types import Record

_DEEPEST = 8
_MOST = 2_000
"""How many values are looked at."""


def requested_in(output: object) -> list[Record]:
    """Return name, id and arguments of the calls in the first list called `tool_calls` that names any.

    LangChain nests the reply in `generations`, `messages`, `kwargs`; the calls have `args`, or a `function` with
    `arguments`.
    """
    waiting: deque[tuple[object, int]] = deque([(output, 0)])
    looked = 0
    while waiting and looked < _MOST:
        value, depth = waiting.popleft()
        looked += 1
        if depth > _DEEPEST:
            continue
        if isinstance(value, dict):
            records = _calls(value.get("tool_calls"))
            if records:
                return records
            waiting.extend(
                (inner, depth + 1) for inner in islice(value.values(), _MOST) if isinstance(inner, dict | list)
            )
        elif isinstance(value, list):
            # The last message is the reply.
            waiting.extend((inner, depth + 1) for inner in value[:-_MOST:-1] if isinstance(inner, dict | list))
    return []


def _calls(value: object) -> list[Record]:
    records: list[Record] = []
    for call in value if isinstance(value, list) else []:
        call_record = record(call)
        function = record(call_record.get("function"))
        name = name_of(call_record.get("name")) or name_of(function.get("name"))
        if name:
            arguments = call_record.get("args", call_record.get("arguments", function.get("arguments")))
            records.append({"name": name, "id": call_record.get("id"), "arguments": arguments})
    return records
