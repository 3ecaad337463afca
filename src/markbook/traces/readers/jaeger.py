"""Jaeger's JSON, as its API and its page export it: spans with tags, times in microseconds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from markbook.files.stream import Source
from markbook.trace import Trace
from markbook.traces import Probe
from markbook.traces.plain import read_name, read_text, record, rows, whole
from markbook.traces.span_tree import group_runs
from markbook.traces.spans import Role, Span, detect_role
from markbook.types import Record

_NANO_PER_MICRO = 1_000


class Jaeger:
    """Reads traces; what a span is, its tags say in the words of OpenTelemetry's attributes."""

    name = "jaeger"

    def sniff(self, probe: Probe) -> int:
        """Return 95 for traces with Jaeger's spelling of ids."""
        return 95 if any(_traces(row) for row in probe.sample[:3]) else 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield one run for each trace."""
        yield from group_runs(_spans(source.items(), source), source, self.name)


def _traces(row: Record) -> list[Record]:
    """Return the traces of an answer (`data`), or the trace that an object is."""
    traces = rows(row.get("data")) or [row]
    return [trace for trace in traces if "traceID" in trace and isinstance(trace.get("spans"), list)]


def _spans(items: list[Any], source: Source) -> Iterator[tuple[Span, Role]]:
    for item in items:
        traces = _traces(record(item))
        if not traces:
            source.problems["objects that are no trace"] += 1
        for trace in traces:
            for raw in rows(trace["spans"]):
                span = _span(raw, read_text(trace.get("traceID"), 200))
                if span is None:
                    source.problems["objects that are no span"] += 1
                else:
                    yield span, detect_role(span)


def _span(raw: Record, trace: str) -> Span | None:
    identity = read_text(raw.get("spanID"), 200)
    if not identity:
        return None
    tags = _tags(raw.get("tags"))
    start, took = whole(raw.get("startTime")), whole(raw.get("duration"))
    status = str(tags.get("otel.status_code") or "").upper()
    failed = status == "ERROR" or str(tags.get("error")).lower() == "true"
    begun = _nanoseconds(start)
    return Span(
        trace=read_text(raw.get("traceID"), 200) or trace, id=identity, parent=_parent(raw),
        name=read_name(raw.get("operationName")), start=begun,
        end=None if start is None or took is None else _nanoseconds(start + took),
        ok=False if failed else (True if status == "OK" else None),
        message=read_text(tags.get("otel.status_description"), 500), attributes=tags,
        events=[_event(log) for log in rows(raw.get("logs"))],
        scope=read_name(tags.get("otel.scope.name") or tags.get("otel.library.name")),
    )  # fmt: skip


def _nanoseconds(micros: int | None) -> int | None:
    """Return a time in nanoseconds, None for one that 64 bits do not hold: such a file does not count in microseconds."""
    if micros is None or not 0 <= micros * _NANO_PER_MICRO < 1 << 63:
        return None
    return micros * _NANO_PER_MICRO


def _parent(raw: Record) -> str:
    """Return what a span is a child of; what it only follows from is the second choice."""
    references = rows(raw.get("references"))
    for kind in ("CHILD_OF", "FOLLOWS_FROM"):
        for reference in references:
            if reference.get("refType") == kind:
                return read_text(reference.get("spanID"), 200)
    return read_text(raw.get("parentSpanID"), 200)


def _tags(value: object) -> dict[str, object]:
    return {str(tag["key"]): tag.get("value") for tag in rows(value) if "key" in tag}


def _event(log: Record) -> dict[str, object]:
    fields = _tags(log.get("fields"))
    return {"name": fields.pop("event", ""), "attributes": fields}
