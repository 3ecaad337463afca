"""Spans of other tools than OpenTelemetry's own files: what their readers share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from markbook.files.source import Source
from markbook.trace import Trace
from markbook.traces.spans.roles import Role
from markbook.traces.spans.span import Span
from markbook.traces.spans.spool import MAX_SPANS, spool_of
from markbook.traces.spans.tree import trace_of

_NANO = 1_000_000_000


def runs_of(pairs: Iterable[tuple[Span, Role]], source: Source, reader: str) -> Iterator[Trace]:
    """Yield a run for each trace id of the spans."""
    with spool_of(source.path) as spool:
        for span, role in pairs:
            spool.add(span, role)
        spool.flush()
        if spool.duplicates:
            source.problems["duplicate ids: the first is kept"] = spool.duplicates
        for key, count in spool.runs():
            trace = trace_of(key, spool.spans(key), reader)
            if count > MAX_SPANS:
                spool.index_parents()
                trace = replace(trace, clipped=count - MAX_SPANS, **spool.totals(key))  # type: ignore[arg-type]  # counts
            yield trace


def nanoseconds(seconds: float | None) -> int | None:
    """Return a time in whole nanoseconds, None for one that is unknown or before 1970."""
    return None if seconds is None or seconds < 0 else min(int(seconds * _NANO), (1 << 63) - 1)
