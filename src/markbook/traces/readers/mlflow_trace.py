"""MLflow's traces: `Trace.to_json`, the `traces.json` of a trace's artifacts, and rows of `search_traces`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from markbook.files.stream import Source
from markbook.trace import Trace
from markbook.traces import Probe
from markbook.traces.plain import number, read_name, read_text, record, rows, whole, write_arguments
from markbook.traces.span_tree import group_runs, requested_in
from markbook.traces.spans import (
    AGENT,
    MODEL,
    STRUCTURE,
    TOOL,
    UNKNOWN,
    Role,
    Span,
    detect_role,
    event_attributes,
    maybe_json,
)
from markbook.types import Record

_KINDS = {"AGENT": AGENT, "TOOL": TOOL, "LLM": MODEL, "CHAT_MODEL": MODEL}


class Mlflow:
    """Reads traces; what a span is, its type says, else the attributes that OpenTelemetry brought."""

    name = "mlflow"

    def sniff(self, probe: Probe) -> int:
        """Return 97 for traces whose spans carry MLflow's attributes."""
        return 97 if any(_spans_in(row) for row in probe.sample[:3]) else 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield one run for each trace."""
        yield from group_runs(_spans(source.items(), source), source, self.name)


def _spans_in(item: Record) -> list[Record]:
    """Return the spans of a trace: in its `data`, beside its other columns, or in a column of JSON text."""
    inner = record(maybe_json(item.get("trace")))
    for holder in (record(item.get("data")), item, record(inner.get("data")), inner):
        spans = rows(holder.get("spans"))
        keys = (key for span in spans for key in itertools.islice(record(span.get("attributes")), 100))
        if any(key.startswith("mlflow.") for key in keys):
            return spans
    return []


def _spans(items: list[Any], source: Source) -> Iterator[tuple[Span, Role]]:
    for index, item in enumerate(items):
        trace = record(item)
        spans = _spans_in(trace)
        if not spans:
            source.problems["objects that are no trace"] += 1
        info = record(trace.get("info"))
        named = info.get("trace_id") or info.get("request_id") or trace.get("trace_id") or trace.get("request_id")
        for raw in spans:
            span = _span(raw, read_text(named, 200), f"trace {index + 1}")
            if span is None:
                source.problems["objects that are no span"] += 1
            else:
                yield span, _role(span)


def _span(raw: Record, trace: str, unnamed: str) -> Span | None:
    """Return a span in the third version's words or the second's, whose ids stand in `context`."""
    context, status = record(raw.get("context")), record(raw.get("status"))
    identity = read_text(raw.get("span_id") or context.get("span_id"), 200)
    if not identity:
        return None
    # MLflow writes each value as JSON text of its own, a string too
    attributes = {str(key): maybe_json(value, scalars=True) for key, value in record(raw.get("attributes")).items()}
    code = str(status.get("code") or raw.get("status_code") or "").upper()
    own = attributes.get("mlflow.traceRequestId") or raw.get("trace_id") or context.get("trace_id")
    return Span(
        trace=trace or read_text(own, 200) or unnamed, id=identity,
        parent=read_text(raw.get("parent_span_id") or raw.get("parent_id"), 200), name=read_name(raw.get("name")),
        start=whole(raw.get("start_time_unix_nano", raw.get("start_time"))),
        end=whole(raw.get("end_time_unix_nano", raw.get("end_time"))),
        ok=False if code.endswith("ERROR") else True if code.endswith("OK") else None,
        message=read_text(status.get("message") or raw.get("status_message"), 500), attributes=attributes,
        events=rows(raw.get("events")), scope="",
    )  # fmt: skip


def _role(span: Span) -> Role:
    attributes = span.attributes
    role = detect_role(span)
    kind = read_name(attributes.get("mlflow.spanType")).upper()
    role.kind = _KINDS.get(kind, STRUCTURE if kind and role.kind == UNKNOWN else role.kind)
    if span.ok is False:
        events = [about for name, about in map(event_attributes, span.events) if name == "exception"]
        role.error = read_name(events[0].get("exception.type") if events else "") or role.error or "error"
    inputs, output = attributes.get("mlflow.spanInputs"), attributes.get("mlflow.spanOutputs")
    if role.kind == TOOL:
        role.name = read_name(attributes.get("gen_ai.tool.name")) or span.name or "unknown tool"
        if not role.arguments and inputs is not None:
            role.arguments = write_arguments(inputs)
        role.result = role.result or read_text(output)
    elif role.kind == MODEL:
        usage, cost = record(attributes.get("mlflow.chat.tokenUsage")), record(attributes.get("mlflow.llm.cost"))
        role.name = role.name or read_name(attributes.get("mlflow.llm.model"))
        counts = {
            "input_tokens": "input_tokens", "output_tokens": "output_tokens",
            "cached_tokens": "cache_read_input_tokens", "written_tokens": "cache_creation_input_tokens",
        }  # fmt: skip
        for name, key in counts.items():
            if (count := whole(usage.get(key))) is not None:
                setattr(role, name, count)
        if (total := number(cost.get("total_cost"))) is not None:
            role.cost = total
        role.requested = role.requested or requested_in(output)
        role.text = role.text or read_text(output)
    return role
