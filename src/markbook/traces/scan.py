"""JSON as a stream: the elements of arrays inside one huge document, one at a time, in flat memory."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from markbook.traces.source import MAX_VALUE, integer, no_number

DESCEND = frozenset({
    "resourceSpans", "resource_spans", "scopeSpans", "scope_spans", "instrumentationLibrarySpans", "spans",
    "batches",
})  # fmt: skip
"""The arrays that are walked into; everything else is decoded as one value. Tempo calls `resourceSpans` `batches`."""
_LINE = re.compile(r'\n\{\s{0,8}"resource_?[sS]pans"')
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder(parse_constant=no_number, parse_int=integer)


class _EndOfInput(Exception):  # noqa: N818 - a signal inside this module, no error of anybody's
    """The text ended inside a value."""


class _Damaged(Exception):  # noqa: N818 - as above
    """The text is no JSON here."""


class _Reader:
    """A window on the text that grows where a value needs it and forgets what was read."""

    def __init__(self, chunks: Iterator[str]) -> None:
        self._chunks = chunks
        self._text = ""
        self._at = 0
        self._ended = False

    def _grow(self) -> bool:
        """Double the unread text, at least by a chunk, so that a long value is decoded a few times only."""
        if self._ended:
            return False
        pieces = [self._text[self._at :]]
        wanted = max(1, len(pieces[0]))
        self._at = 0
        while wanted > 0:
            piece = next(self._chunks, None)
            if piece is None:
                self._ended = True
                break
            pieces.append(piece)
            wanted -= len(piece)
        self._text = "".join(pieces)
        return len(pieces) > 1

    def peek(self) -> str:
        """Return the next character that is no space; empty at the end."""
        while True:
            match = _SPACE.match(self._text, self._at)
            assert match is not None
            self._at = match.end()
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._grow():
                return ""

    def take(self, expected: str) -> None:
        found = self.peek()
        if not found:
            raise _EndOfInput
        if found not in expected:
            raise _Damaged
        self._at += 1

    def value(self) -> Any:
        """Decode the next value whole."""
        self.peek()
        while True:
            try:
                made, end = _DECODER.raw_decode(self._text, self._at)
            except RecursionError:
                raise _Damaged from None
            except ValueError:
                if len(self._text) - self._at > MAX_VALUE:
                    raise _Damaged from None
            else:
                # A number at the very end of the window may go on in the next chunk.
                if end < len(self._text) or self._ended or isinstance(made, dict | list | str):
                    self._at = end
                    return made
            if not self._grow():
                raise _EndOfInput

    def find_next_line(self) -> bool:
        """Go to the next line that begins an OTLP object; False if there is none."""
        while True:
            found = _LINE.search(self._text, self._at)
            if found:
                self._at = found.start() + 1
                return True
            self._at = max(self._at, len(self._text) - 64)
            if not self._grow():
                return False


def elements(chunks: Iterator[str], problems: Counter[str]) -> Iterator[Any]:
    """Yield the elements of a top-level array; what is behind a damaged place is counted and left."""
    reader = _Reader(chunks)
    try:
        yield from _array(reader)
    except _EndOfInput:
        problems["cut off in the middle"] += 1
    except _Damaged:
        problems["damaged JSON: the rest was not read"] += 1


def values(chunks: Iterator[str]) -> Iterator[Any]:
    """Yield values that follow one another, as far as they are whole."""
    reader = _Reader(chunks)
    try:
        while reader.peek():
            yield reader.value()
    except (_EndOfInput, _Damaged):
        return


def _array(reader: _Reader) -> Iterator[Any]:
    reader.take("[")
    while reader.peek() != "]":
        yield reader.value()
        if reader.peek() != "]":
            reader.take(",")
    reader.take("]")


def spans(chunks: Iterator[str], problems: Counter[str]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield every span with what stands around it (`resource`, `scope`), from one document, a line each, or an array.

    A flat object without any span array is yielded as a span itself. A damaged place is counted and the reading goes
    on at the next line.
    """
    reader = _Reader(chunks)
    while reader.peek():
        try:
            if reader.peek() == "[":
                for made in _array(reader):
                    if isinstance(made, dict):
                        yield from inside(made, {})
                    else:
                        problems["not an object"] += 1
            else:
                yield from _object(reader, {}, problems, is_top=True)
        except _EndOfInput:
            problems["cut off in the middle"] += 1
            if not reader.find_next_line():
                return
        except _Damaged:
            problems["damaged JSON: read on at the next line"] += 1
            if not reader.find_next_line():
                return


def _object(
    reader: _Reader, around: dict[str, Any], problems: Counter[str], *, is_top: bool = False
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    reader.take("{")
    own: dict[str, Any] = {}
    walked = False
    while reader.peek() != "}":
        key = reader.value() if reader.peek() == '"' else _fail()
        reader.take(":")
        if key in DESCEND and reader.peek() == "[":
            walked = True
            yield from _walk(reader, key, around | own, problems)
        else:
            own[key] = reader.value()
        if reader.peek() != "}":
            reader.take(",")
    reader.take("}")
    if is_top and not walked:
        yield from inside(own, around)


def _walk(
    reader: _Reader, key: str, around: dict[str, Any], problems: Counter[str]
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    reader.take("[")
    while reader.peek() != "]":
        if key != "spans" and reader.peek() == "{":
            # Levels are named (resource, scope, spans), so this goes three deep whatever the file says.
            if around.get("depth", 0) > len(DESCEND):
                _fail()
            yield from _object(reader, around | {"depth": around.get("depth", 0) + 1}, problems)
        else:
            made = reader.value()
            if isinstance(made, dict):
                yield made, around
            else:
                problems["not an object"] += 1
        if reader.peek() != "]":
            reader.take(",")
    reader.take("]")


def inside(
    made: dict[str, Any], around: dict[str, Any], depth: int = 0
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield the spans of a decoded value, which may be an OTLP object or a span."""
    arrays = [key for key in DESCEND if isinstance(made.get(key), list)]
    if isinstance(made.get("trace"), dict) and not arrays and not depth:  # Tempo's answer to a query
        yield from inside(made["trace"], around, 1)
        return
    if not arrays or depth > len(DESCEND):
        yield made, around
        return
    own = {key: value for key, value in made.items() if key not in DESCEND}
    for key in arrays:
        for item in made[key]:
            if isinstance(item, dict):
                yield from [(item, around | own)] if key == "spans" else inside(item, around | own, depth + 1)


def _fail() -> Any:
    raise _Damaged
