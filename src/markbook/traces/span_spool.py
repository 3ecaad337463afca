"""Spans on disk until their run is complete: a child is exported before its parent, and runs interleave.

The spool is a temporary SQLite database that the system removes by itself; SQLite keeps a bounded part of it in memory.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from markbook.errors import StorageError
from markbook.files.stream import Damaged, EndOfInput, JsonReader, array
from markbook.traces.plain import call_list
from markbook.traces.spans import MODEL, TOOL, Role, Span
from markbook.types import Record

MAX_SPANS = 200_000
"""Spans of one run that are turned into steps. Totals count the rest too, and the trace says how many were left."""
_BATCH = 2_000
_COLUMNS = (
    "trace", "id", "parent", "label", "kind", "agent", "name", "target", "start", "stop", "ok", "arguments", "result",
    "text", "error", "tokens_in", "tokens_out", "tokens_cached", "tokens_written", "cost", "requested", "scope", "conversation",
)  # fmt: skip


@contextmanager
def open_spool(path: Path) -> Iterator[SpanSpool]:
    """Give a spool for the spans of a file and remove it in the end.

    Raises:
        StorageError: the folder for temporary files cannot take them.
    """
    try:
        spool = SpanSpool()
        try:
            yield spool
        finally:
            spool.close()
    except sqlite3.Error as error:
        raise StorageError(
            f"the spans cannot be kept on disk while they are read: {error}",
            at=str(path),
            hint="is the folder for temporary files full? TMPDIR names another",
        ) from error


class SpanSpool:
    """All spans of one file, given back run by run."""

    def __init__(self) -> None:
        # An empty name is a private database on disk, deleted when it is closed.
        self._base = sqlite3.connect("", isolation_level=None)
        self._base.row_factory = sqlite3.Row
        # 16 MB in memory and no journal: what a crash leaves behind nobody reads.
        self._base.execute("PRAGMA cache_size = -16000")
        self._base.execute("PRAGMA journal_mode = OFF")
        # The same span may be exported twice; its id is unique within its trace only.
        self._base.execute(f"CREATE TABLE span (seq INTEGER PRIMARY KEY, {', '.join(_COLUMNS)}, UNIQUE (trace, id))")
        self._pending: list[tuple[Any, ...]] = []
        self.duplicates = 0
        """Spans whose id was there already in the same trace; the first is kept."""

    def add(self, span: Span, role: Role) -> None:
        """Take a span."""
        requested = call_list(role.requested) if role.requested else None
        row = (
            span.trace, span.id, span.parent, span.name, role.kind, role.agent, role.name, role.target, span.start,
            span.end, span.ok, role.arguments, role.result, role.text, role.error, role.input_tokens,
            role.output_tokens, role.cached_tokens, role.written_tokens, role.cost, requested, span.scope, role.conversation,
        )  # fmt: skip
        # Half characters (a lone \\ud800) are valid JSON and no text that can be stored.
        self._pending.append(
            tuple(
                value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else value for value in row
            )
        )
        if len(self._pending) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        """Write what is held back; `duplicates` is complete after it."""
        before = self._base.total_changes
        marks = ", ".join("?" * len(_COLUMNS))
        # One transaction for the whole batch, where SQLite would else write each row by itself.
        self._base.execute("BEGIN")
        self._base.executemany(
            f"INSERT OR IGNORE INTO span ({', '.join(_COLUMNS)}) VALUES ({marks})",  # noqa: S608 - our own column names
            self._pending,
        )
        self._base.execute("COMMIT")
        self.duplicates += len(self._pending) - (self._base.total_changes - before)
        self._pending.clear()

    def runs(self) -> Iterator[tuple[str, int]]:
        """Yield each run's key and its number of spans, in the order in which the file first shows them.

        Traces of one conversation are one run: a chat has a trace a turn.
        """
        self.flush()
        self._base.execute("CREATE TABLE run (trace PRIMARY KEY, key)")
        self._base.execute(
            "INSERT INTO run SELECT trace, COALESCE((SELECT conversation FROM span AS own WHERE own.trace = span.trace"
            " AND conversation != '' ORDER BY start, seq LIMIT 1), trace) FROM span GROUP BY trace"
        )
        self._base.execute("CREATE INDEX by_key ON run (key)")
        cursor = self._base.execute(
            "SELECT key, COUNT(*) AS n FROM run JOIN span USING (trace) GROUP BY key ORDER BY MIN(seq)"
        )
        for row in cursor:
            yield str(row["key"]), int(row["n"])

    def spans(self, key: str) -> list[sqlite3.Row]:
        """Return a run's spans by start time, at most `MAX_SPANS`; those without a time come last."""
        return self._base.execute(
            "SELECT span.* FROM run JOIN span USING (trace) WHERE key = ? ORDER BY start IS NULL, start, seq LIMIT ?",
            (key, MAX_SPANS),
        ).fetchall()

    def totals(self, key: str) -> dict[str, int | None]:
        """Return counts over all spans of a run, for one that is larger than `MAX_SPANS`.

        A model span with a model span right inside it that carries tokens is its wrapper and is not counted.
        """
        row = self._base.execute(
            "SELECT SUM(kind = ?) AS tools, SUM(kind = ?) AS models, SUM(CASE WHEN kind = ? THEN tokens_in END) AS tin,"
            " SUM(CASE WHEN kind = ? THEN tokens_out END) AS tout FROM run JOIN span USING (trace) WHERE key = ?"
            " AND NOT (kind = ? AND EXISTS (SELECT 1 FROM span AS inside WHERE inside.trace = span.trace"
            " AND inside.parent = span.id AND inside.kind = ? AND COALESCE(inside.tokens_in, inside.tokens_out) IS NOT NULL))",
            (TOOL, MODEL, MODEL, MODEL, key, MODEL, MODEL),
        ).fetchone()
        return {
            "tool_calls": row["tools"] or 0,
            "messages": row["models"] or 0,
            "input_tokens": row["tin"],
            "output_tokens": row["tout"],
        }

    def index_parents(self) -> None:
        """Make `totals` quick; worth it only for a run beyond the limit."""
        self._base.execute("CREATE INDEX IF NOT EXISTS by_parent ON span (trace, parent)")

    def close(self) -> None:
        """Remove the database."""
        self._base.close()


# The spans of one huge document, one at a time, in flat memory.

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
                yield from inside_all(array(reader), problems)
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


def inside_all(values: Iterable[object], problems: Counter[str]) -> Iterator[Found]:
    """Yield the spans of decoded values; what is not an object is counted."""
    for value in values:
        if isinstance(value, dict):
            yield from inside(value, {})
        else:
            problems["not an object"] += 1


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
