"""Spans on disk until their run is complete: a child is exported before its parent, and runs interleave.

The spool is a temporary SQLite database that the system removes by itself; SQLite keeps a bounded part of it in memory.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from markbook.errors import StorageError
from markbook.traces.plain import call_list
from markbook.traces.spans.roles import MODEL, TOOL, Role
from markbook.traces.spans.span import Span

MAX_SPANS = 200_000
"""Spans of one run that are turned into steps. Totals count the rest too, and the trace says how many were left."""
_BATCH = 2_000
_COLUMNS = (
    "trace", "id", "parent", "label", "kind", "agent", "name", "target", "start", "stop", "ok", "arguments", "result",
    "text", "error", "tokens_in", "tokens_out", "tokens_cached", "tokens_written", "cost", "requested", "scope", "conversation",
)  # fmt: skip


@contextmanager
def spool_of(path: Path) -> Iterator[SpanSpool]:
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
        self._base.execute("PRAGMA cache_size = -16000")
        self._base.execute("PRAGMA journal_mode = OFF")
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
        self._pending.append(tuple(_whole(value) if isinstance(value, str) else value for value in row))
        if len(self._pending) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        """Write what is held back; `duplicates` is complete after it."""
        before = self._base.total_changes
        marks = ", ".join("?" * len(_COLUMNS))
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


def _whole(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
