"""The span reader: OTLP JSON and every list of spans, with `gen_ai.*`, OpenInference, pydantic-ai and ADK attributes.

One object, one a line, or an array of flat spans; a gigabyte is read as a stream and spooled to disk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from markbook.files.stream import Source
from markbook.trace import Trace
from markbook.traces import Probe, is_tempo
from markbook.traces.plain import record, rows
from markbook.traces.span_spool import MAX_SPANS, Found, SpanSpool, inside, open_spool, spans
from markbook.traces.span_tree import build_trace
from markbook.traces.spans import detect_role, read_span
from markbook.types import Record


class Otlp:
    """Reads spans; a file with several traces yields a run for each, a conversation's traces together."""

    name = "otlp"

    def sniff(self, probe: Probe) -> int:
        """Return 100 for OTLP objects, 90 for flat spans."""
        if any(key in probe.head[:4096] for key in ('"resourceSpans"', '"resource_spans"')):
            return 100
        if any("resourceSpans" in row or "resource_spans" in row for row in probe.sample):
            return 100
        if is_tempo(probe.head) or any(_holds_batches(row) for row in probe.sample[:5]):
            return 100
        if any(read_span(row, {}) is not None for row in probe.sample[:5]):
            return 90
        return 80 if '"span_id"' in probe.head or '"spanId"' in probe.head else 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield the runs in the order in which the file first shows them."""
        source.problems.clear()  # what detection stumbled over is met and counted again
        with open_spool(source.path) as spool:
            self._fill(spool, source)
            spool.flush()
            if spool.duplicates:
                source.problems["duplicate span ids: the first is kept"] = spool.duplicates
            yield from self._runs(spool, source)

    def _runs(self, spool: SpanSpool, source: Source) -> Iterator[Trace]:
        """Yield the runs; a trace of other spans only (a web server's, say) is none where there are others."""
        empty: Trace | None = None
        has_run = False
        for key, count in spool.runs():
            trace = build_trace(key, spool.spans(key), self.name)
            if count > MAX_SPANS:
                spool.index_parents()
                trace = replace(trace, clipped=count - MAX_SPANS, **spool.totals(key))  # type: ignore[arg-type]  # counts
            if not trace.steps and not trace.agents and not trace.clipped:
                empty = empty or trace
                source.problems["traces without a step of any agent"] += 1
                source.problems.update(trace.unrecognised)
                continue
            has_run = True
            yield trace
        if empty is not None and not has_run:
            # It is the only kind there is: one run in which nothing happened, and the counts say why.
            yield replace(empty, unrecognised={})

    @staticmethod
    def _fill(spool: SpanSpool, source: Source) -> None:
        problems: Counter[str] = source.problems
        if source.is_lines:
            pairs: Iterator[Found] = (pair for _, value in source.lines() for pair in _pairs(value, problems))
        else:
            pairs = spans(source.chunks(), problems)
        for raw, around in pairs:
            span = read_span(raw, around)
            if span is None:
                problems["objects that are no span"] += 1
            else:
                spool.add(span, detect_role(span))


def _holds_batches(row: Record) -> bool:
    batches = rows(row.get("batches")) or rows(record(row.get("trace")).get("batches"))
    return bool(batches) and bool(_TEMPO & set(batches[0]))


_TEMPO = frozenset({"scopeSpans", "instrumentationLibrarySpans", "resource"})


def _pairs(value: object, problems: Counter[str]) -> Iterator[Found]:
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            yield from inside(item, {})
        else:
            problems["not an object"] += 1
