"""The spans of one huge document, one at a time, in flat memory."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from markbook.files.stream import Damaged, EndOfInput, JsonReader, array
from markbook.types import Record

DESCEND = frozenset({
    "resourceSpans", "resource_spans", "scopeSpans", "scope_spans", "instrumentationLibrarySpans", "spans",
    "batches",
})  # fmt: skip
"""The arrays that are walked into; everything else is decoded as one value. Tempo calls `resourceSpans` `batches`."""
_LINE = re.compile(r'\n(?=\{\s{0,8}"resource_?[sS]pans")')
"""Where a line begins that holds an OTLP object."""


Found = tuple[Record, Record]
"""A span, and what stands around it: `resource`, `scope`."""


def spans(chunks: Iterator[str], problems: Counter[str]) -> Iterator[Found]:
    """Yield every span with what stands around it (`resource`, `scope`), from one document, a line each, or an array.

    A flat object without any span array is yielded as a span itself. A damaged place is counted and the reading goes
    on at the next line.
    """
    reader = JsonReader(chunks)
    while reader.peek():
        try:
            if reader.peek() == "[":
                for value in array(reader):
                    if isinstance(value, dict):
                        yield from inside(value, {})
                    else:
                        problems["not an object"] += 1
            else:
                yield from _object(reader, {}, problems)
        except EndOfInput:
            problems["cut off in the middle"] += 1
            if not reader.skip_to(_LINE):
                return
        except Damaged:
            problems["damaged JSON: read on at the next line"] += 1
            if not reader.skip_to(_LINE):
                return


def _object(reader: JsonReader, around: dict[str, object], problems: Counter[str], depth: int = 0) -> Iterator[Found]:
    reader.take("{")
    own: dict[str, object] = {}
    walked = False
    while reader.peek() != "}":
        key = reader.value() if reader.peek() == '"' else _fail()
        reader.take(":")
        if key in DESCEND and reader.peek() == "[":
            walked = True
            yield from _walk(reader, key, around | own, problems, depth)
        else:
            own[key] = reader.value()
        if reader.peek() != "}":
            reader.take(",")
    reader.take("}")
    if not depth and not walked:
        yield from inside(own, around)


def _walk(
    reader: JsonReader, key: str, around: dict[str, object], problems: Counter[str], depth: int
) -> Iterator[Found]:
    reader.take("[")
    while reader.peek() != "]":
        if key != "spans" and reader.peek() == "{":
            # Levels are named (resource, scope, spans), so this goes three deep whatever the file says.
            if depth > len(DESCEND):
                _fail()
            yield from _object(reader, around, problems, depth + 1)
        else:
            value = reader.value()
            if isinstance(value, dict):
                yield value, around
            else:
                problems["not an object"] += 1
        if reader.peek() != "]":
            reader.take(",")
    reader.take("]")


def inside(made: Record, around: dict[str, object], depth: int = 0) -> Iterator[Found]:
    """Yield the spans of a decoded value, which may be an OTLP object or a span."""
    arrays = {key: value for key in DESCEND if isinstance(value := made.get(key), list)}
    answer = made.get("trace")
    if isinstance(answer, dict) and not arrays and not depth:  # Tempo's answer to a query
        yield from inside(answer, around, 1)
        return
    if not arrays or depth > len(DESCEND):
        yield made, around
        return
    own = {key: value for key, value in made.items() if key not in DESCEND}
    for key, items in arrays.items():
        for item in items:
            if isinstance(item, dict):
                yield from [(item, around | own)] if key == "spans" else inside(item, around | own, depth + 1)


def _fail() -> Any:
    raise Damaged
