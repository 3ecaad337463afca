"""The span reader: OTLP JSON and every list of spans, with `gen_ai.*`, OpenInference, pydantic-ai and ADK attributes.

One object, one a line, or an array of flat spans; a gigabyte is read as a stream and spooled to disk.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from markbook.files.stream import Source
from markbook.trace import Trace
from markbook.traces import Probe, is_tempo
from markbook.traces.plain import record, rows
from markbook.traces.span_spool import inside_all, open_spool, spans
from markbook.traces.span_tree import build_traces
from markbook.traces.spans import detect_role, read_span


class Otlp:
    """Reads spans; a file with several traces yields a run for each, a conversation's traces together."""

    name = "otlp"

    def sniff(self, probe: Probe) -> int:
        """Return 100 for OTLP objects, 90 for flat spans."""
        if any(key in probe.head[:4096] for key in ('"resourceSpans"', '"resource_spans"')):
            return 100
        if any("resourceSpans" in row or "resource_spans" in row for row in probe.sample):
            return 100
        if is_tempo(probe.head):
            return 100
        for row in probe.sample[:5]:
            batches = rows(row.get("batches")) or rows(record(row.get("trace")).get("batches"))
            if batches and {"scopeSpans", "instrumentationLibrarySpans", "resource"} & set(batches[0]):
                return 100
        if any(read_span(row, {}) is not None for row in probe.sample[:5]):
            return 90
        return 80 if '"span_id"' in probe.head or '"spanId"' in probe.head else 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield the runs in the order in which the file first shows them."""
        problems = source.problems
        problems.clear()  # what detection stumbled over is met and counted again
        if source.is_lines:
            objects = (value if isinstance(value, list) else [value] for value in source.lines())
            pairs = inside_all(itertools.chain.from_iterable(objects), problems)
        else:
            pairs = spans(source.chunks(), problems)
        with open_spool(source.path) as spool:
            for raw, around in pairs:
                span = read_span(raw, around)
                if span is None:
                    problems["objects that are not a span"] += 1
                else:
                    spool.add(span, detect_role(span))
            spool.flush()
            if spool.duplicates:
                problems["duplicate span ids: the first is kept"] = spool.duplicates
            yield from self._drop_empty(build_traces(spool, self.name), problems)

    @staticmethod
    def _drop_empty(traces: Iterator[Trace], problems: Counter[str]) -> Iterator[Trace]:
        """Yield the runs; a trace of other spans only (a web server's, say) is none where there are others."""
        empty: Trace | None = None
        has_run = False
        for trace in traces:
            if trace.steps or trace.agents or trace.clipped:
                has_run = True
                yield trace
                continue
            empty = empty or trace
            problems["traces without a step of any agent"] += 1
            problems.update(trace.unrecognised)
        if empty is not None and not has_run:
            # It is the only kind there is: one run in which nothing happened, and the counts say why.
            yield replace(empty, unrecognised={})
