"""The OpenAI Agents SDK's own export: traces and spans as its trace processors hand them on, one a line or in lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from markbook.files.stream import Source
from markbook.trace import Trace
from markbook.traces import Probe
from markbook.traces.plain import moment, read_name, read_text, record, rows, whole, write_arguments
from markbook.traces.span_tree import group_runs, nanoseconds, requested_in
from markbook.traces.spans import AGENT, HANDOFF, MODEL, STRUCTURE, TOOL, UNKNOWN, Role, Span
from markbook.types import Record

_KINDS = {"agent": AGENT, "function": TOOL, "generation": MODEL, "response": MODEL, "handoff": HANDOFF}
_STRUCTURE = frozenset({"custom", "guardrail", "mcp_tools", "speech", "speech_group", "task", "transcription", "turn"})
"""Spans that neither act nor count: sums over turns and tasks repeat what the model spans say."""


class OpenAIAgents:
    """Reads exported spans; what a span is, its `span_data.type` says."""

    name = "openai-agents"

    def sniff(self, probe: Probe) -> int:
        """Return 95 for objects that call themselves traces or spans of the SDK."""
        exported = [row for item in probe.sample[:10] for row in _exported(item)]
        return 95 if any(row.get("object") == "trace.span" or "workflow_name" in row for row in exported) else 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield one run for each trace."""
        yield from group_runs(_spans(source.items(), source), source, self.name)


def _exported(item: Record) -> list[Record]:
    """Return the traces and spans that an object holds under `data`, as they are sent, or that it is."""
    objects = ("trace", "trace.span")
    return [row for row in rows(item.get("data")) or [item] if row.get("object") in objects]


def _spans(items: list[Any], source: Source) -> Iterator[tuple[Span, Role]]:
    for item in items:
        exported = _exported(record(item))
        if not exported:
            source.problems["objects that are no span"] += 1
        for row in exported:
            if row["object"] == "trace":
                continue  # its name and group; what happened stands in its spans
            if isinstance(row.get("id"), str) and row["id"] and isinstance(row.get("span_data"), dict):
                yield _span(row)
            else:
                source.problems["objects that are no span"] += 1


def _span(row: Record) -> tuple[Span, Role]:
    data, error = record(row["span_data"]), row.get("error")
    kind = str(data.get("type"))
    span = Span(
        trace=read_text(row.get("trace_id"), 200), id=read_text(row["id"], 200), parent=read_text(row.get("parent_id"), 200),
        name=read_name(data.get("name")) or kind[:200], start=nanoseconds(moment(row.get("started_at"))),
        end=nanoseconds(moment(row.get("ended_at"))), ok=False if error else None,
        message=read_text(record(error).get("message") or error, 500), attributes={}, events=[], scope="",
    )  # fmt: skip
    role = Role(
        _KINDS.get(kind, STRUCTURE if kind in _STRUCTURE else UNKNOWN), error=span.message[:200] if error else ""
    )
    if role.kind == AGENT:
        role.agent = read_name(data.get("name"))
    elif role.kind == TOOL:
        role.name = read_name(data.get("name")) or "unknown tool"
        role.arguments = write_arguments(data.get("input"))
        role.result = read_text(data.get("output"))
    elif role.kind == HANDOFF:
        role.agent, role.target = read_name(data.get("from_agent")), read_name(data.get("to_agent"))
    elif role.kind == MODEL:
        # Take tokens, text and calls; a span of the Responses form names its reply and holds none of it
        usage = record(data.get("usage"))
        details = record(usage.get("input_tokens_details") or usage.get("prompt_tokens_details"))
        role.name = read_name(data.get("model"))
        role.input_tokens = whole(usage.get("input_tokens", usage.get("prompt_tokens")))
        role.output_tokens = whole(usage.get("output_tokens", usage.get("completion_tokens")))
        role.cached_tokens = whole(details.get("cached_tokens"))
        role.written_tokens = whole(details.get("cache_write_tokens"))
        replies = rows(data.get("output"))
        role.text = "\n".join(text for reply in replies if (text := read_text(reply.get("content"))))[:2_000]
        role.requested = requested_in(replies)
    return span, role
