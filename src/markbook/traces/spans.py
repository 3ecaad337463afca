"""Spans of OpenTelemetry and its dialects: one record for all, and what each span's role is."""

from __future__ import annotations

import base64
import contextlib
import json
from dataclasses import dataclass, field
from typing import Any

from markbook.traces.plain import (
    MAX_DEPTH,
    dump,
    moment,
    number,
    read_name,
    read_text,
    record,
    rows,
    whole,
    write_arguments,
)
from markbook.types import Record

# One span, from OTLP JSON or from the flat dictionaries that exporters and test kits write.

_NANO = 1_000_000_000
_SECONDS_BELOW = 1e11
"""A bare number of time below this is in seconds, above it in nanoseconds: 1e11 s is the year 5138."""


@dataclass(slots=True)
class Span:
    """A span with its attributes as one flat mapping of plain values."""

    trace: str
    id: str
    parent: str
    name: str
    start: int | None
    """Nanoseconds."""
    end: int | None
    ok: bool | None
    message: str
    attributes: dict[str, object]
    events: list[Record]
    scope: str


_SHAPES = {
    f"{kind}{ending}": kind
    for kind in ("string", "bool", "int", "double", "array", "kvlist", "bytes")
    for ending in ("Value", "_value")
}


def any_value(value: Any, depth: int = MAX_DEPTH) -> Any:
    """Return the plain value of an OTLP `AnyValue`; a value that is plain already is returned as it is."""
    if not isinstance(value, dict) or depth <= 0:
        return value
    # The wire has one key; exporters write it in camel case, others in snake case.
    shape = next((name for name in value if name in _SHAPES), "")
    if not shape:
        return value
    content = value[shape]
    match _SHAPES[shape]:
        case "int":
            # 64-bit integers are strings in OTLP JSON; parsers must take numbers too
            if isinstance(content, str) and len(content) <= 20:
                try:
                    return int(content)
                except ValueError:
                    return content
            return content
        case "array":
            items = record(content).get("values")
            return [any_value(item, depth - 1) for item in items] if isinstance(items, list) else []
        case "kvlist":
            return attributes(record(content).get("values"), depth - 1)
        case _:
            return content


def attributes(value: Any, depth: int = MAX_DEPTH) -> dict[str, object]:
    """Return attributes as a mapping, from a list of key and value or from a mapping."""
    if isinstance(value, dict):
        return {str(key): any_value(item, depth) for key, item in value.items()}
    return {str(item["key"]): any_value(item.get("value"), depth) for item in rows(value) if "key" in item}


def nanoseconds(value: Any) -> int | None:
    """Return a time in nanoseconds from nanoseconds, seconds or an ISO string; None for what is not a time."""
    count = whole(value)
    if count is not None and count >= _SECONDS_BELOW:
        return count
    seconds = moment(value)
    if seconds is None or not 0 <= seconds < _SECONDS_BELOW or not seconds:
        return None
    return whole(int(seconds * _NANO))


def read_span(raw: Record, around: Record) -> Span | None:
    """Return a span, or None where the object is none: it has neither an id nor a name with attributes."""
    context = record(raw.get("context") or raw.get("span_context"))
    identity = _id(_first(raw, "spanId", "span_id", "id") or context.get("span_id"))
    raw_attributes = raw.get("attributes")
    if not identity or not (isinstance(raw_attributes, list | dict) or "startTimeUnixNano" in raw):
        return None
    status = raw.get("status")
    code = str(
        _first(record(status), "code", "status_code", "statusCode") if isinstance(status, dict) else status or ""
    )
    # 0, 1, 2 on the wire; names occur
    name = code.upper().removeprefix("STATUS_CODE_").removeprefix("STATUSCODE.")
    scope = _first(raw, "scope", "instrumentation_scope", "instrumentationScope") or around.get("scope")
    merged = attributes(raw_attributes)
    return Span(
        trace=_id(_first(raw, "traceId", "trace_id") or context.get("trace_id")),
        id=identity,
        parent=_id(_first(raw, "parentSpanId", "parent_span_id", "parent_id", "parentId")),
        name=read_name(raw.get("name")),
        start=nanoseconds(_first(raw, "startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime")),
        end=nanoseconds(_first(raw, "endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime")),
        ok=False if name in {"2", "ERROR"} else True if name in {"1", "OK"} else None,
        message=str(_first(record(status), "message", "description") or "")[:500],
        attributes=merged,
        events=rows(_first(raw, "events", "span_events")),
        scope=read_name(record(scope).get("name")),
    )


def _first(source: Record, *keys: str) -> Any:
    return next((value for key in keys if (value := source.get(key)) is not None), None)


def _id(value: Any) -> str:
    """Ids are hex whose case varies, or base64 (Tempo, by the letter of JSON protobuf); all zeros means none."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = format(value, "x")
    if not isinstance(value, str):
        return ""
    value = value.strip()
    if value.endswith("=") and len(value) in (12, 24):  # 8 and 16 bytes
        with contextlib.suppress(ValueError):
            value = base64.b64decode(value, validate=True).hex()
    digits = value.lower().removeprefix("0x")[:128]
    return digits if digits.strip("0") else ""


def event_attributes(event: Record) -> tuple[str, dict[str, object]]:
    """Return an event's name and attributes."""
    return read_name(_first(event, "name", "event_name")), attributes(event.get("attributes"))


def maybe_json(value: Any, *, scalars: bool = False) -> Any:
    """Return the value of a JSON string of an object or array, with `scalars` of any value; anything else as it is."""
    if isinstance(value, str) and (scalars or value[:1] in "{[") and len(value) <= 1 << 22:
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


# What a span is: an agent's run, a model call, a tool call, or structure; decided by attributes, not by names.
#
# Conventions read: OpenTelemetry `gen_ai.*` (current and older names), OpenInference, pydantic-ai, ADK, Traceloop.

AGENT, MODEL, TOOL, HANDOFF, STRUCTURE, OUTPUT_TOOL, DEFERRED, UNKNOWN = range(8)
"""A span's role. Output tools and deferred calls are tool spans in which no tool was run."""

DECLARES = "create_agent"
"""The operation that puts an agent on the roster, whether it ever runs or not."""

PLACEHOLDERS = frozenset({"OpenAI Agent"})
"""What instrumentations write as the agent of every span: OpenTelemetry's of the OpenAI Agents SDK. It is nobody's name
where an agent span stands above."""

_MODEL_OPERATIONS = {"chat", "generate_content", "text_completion", "completion", "responses"}
_STRUCTURE_OPERATIONS = {"embeddings", "invoke_workflow", "plan", "retrieval", DECLARES, "handoff"}
_OPENINFERENCE = {"AGENT": AGENT, "TOOL": TOOL, "LLM": MODEL}
_TRACELOOP = {"agent": AGENT, "tool": TOOL}
_FRAMEWORK_KEYS = ("gen_ai.", "openinference.", "traceloop.", "llm.", "gcp.vertex.agent.", "logfire.")

_TOKEN_KEYS = (
    ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"),
    ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"),
    ("gen_ai.usage.cache_read.input_tokens", "llm.token_count.prompt_details.cache_read"),
    (
        "gen_ai.usage.cache_write.input_tokens",
        "gen_ai.usage.cache_creation.input_tokens",
        "llm.token_count.prompt_details.cache_write",
    ),
)
"""Where the conventions say how many tokens were read, written, read from a cache and put into one."""


@dataclass(slots=True)
class Role:
    """What one span says about the run."""

    kind: int
    agent: str = ""
    """Its own agent name, empty if it says none."""
    name: str = ""
    target: str = ""
    conversation: str = ""
    arguments: str = ""
    result: str = ""
    text: str = ""
    error: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    written_tokens: int | None = None
    cost: float | None = None
    requested: list[Record] = field(default_factory=list)
    """The tool calls that a model reply asks for: name, id, arguments."""


def detect_role(span: Span) -> Role:
    """Return a span's role with what belongs to it."""
    attributes = span.attributes
    kind = _kind(span)
    agent = attributes.get("gen_ai.agent.name") or attributes.get("agent_name") or attributes.get("graph.node.id")
    error = read_name(attributes.get("error.type")) or (span.message or "error" if span.ok is False else "")
    for event in span.events if not error else ():
        name, inner = event_attributes(event)
        if name == "exception":
            error = read_name(inner.get("exception.type")) or "exception"
            break
    role = Role(
        kind=kind,
        agent=read_name(agent) or (read_name(attributes.get("agent.name")) if kind != TOOL else ""),
        conversation=read_name(attributes.get("gen_ai.conversation.id") or attributes.get("session.id")),
        error=error,
    )
    if kind in (TOOL, OUTPUT_TOOL, DEFERRED):
        _fill_tool(role, span)
    elif kind == MODEL:
        _fill_model(role, span)
    elif attributes.get("gen_ai.operation.name") == DECLARES:
        role.name = DECLARES
    elif kind == HANDOFF:
        role.target = read_name(
            attributes.get("gen_ai.transfer.target.name") or attributes.get("gen_ai.handoff.to_agent")
        )
        # Who hands over is said here; the agent of the span itself may be a placeholder.
        role.agent = (
            read_name(attributes.get("gen_ai.caller.name") or attributes.get("gen_ai.handoff.from_agent")) or role.agent
        )
    return role


def _kind(span: Span) -> int:
    attributes = span.attributes
    operation = str(attributes.get("gen_ai.operation.name") or "").lower()
    if attributes.get("gen_ai.transfer.target.name") or attributes.get("gen_ai.handoff.to_agent"):
        return HANDOFF
    if operation == "invoke_agent":
        return AGENT
    if operation == "execute_tool":
        if str(attributes.get("logfire.msg") or "").startswith("running output function"):
            return OUTPUT_TOOL
        return DEFERRED if attributes.get("pydantic_ai.tool.deferral.name") else TOOL
    if operation in _MODEL_OPERATIONS:
        return MODEL
    if operation in _STRUCTURE_OPERATIONS or operation.endswith("_memory"):
        return STRUCTURE
    kind = str(attributes.get("openinference.span.kind") or "").upper()
    if kind:
        return _OPENINFERENCE.get(kind, STRUCTURE)
    kind = str(attributes.get("traceloop.span.kind") or "").lower()
    if kind:
        return _TRACELOOP.get(kind, STRUCTURE)
    # Older instrumentations name no operation: go by the attributes that only one role has.
    if attributes.get("gen_ai.tool.name") or (
        span.name == "running tool" and attributes.get("tool_arguments") is not None
    ):
        return TOOL
    if attributes.get("gen_ai.request.model") and (
        "gen_ai.usage.input_tokens" in attributes or "gen_ai.system" in attributes
    ):
        return MODEL
    named = attributes.get("agent_name") or attributes.get("gen_ai.agent.name")
    if named and str(named) not in PLACEHOLDERS:  # what stands in every span says of none that an agent ran in it
        return AGENT
    if any(key.startswith(_FRAMEWORK_KEYS) for key in attributes):
        return STRUCTURE
    return UNKNOWN


def _fill_tool(role: Role, span: Span) -> None:
    attributes = span.attributes
    trimmed = span.name.removeprefix("execute_tool ").removeprefix("running tool: ").removesuffix(".tool")
    role.name = read_name(attributes.get("gen_ai.tool.name") or attributes.get("tool.name")) or trimmed
    arguments = _first(
        attributes, "gen_ai.tool.call.arguments", "tool_arguments", "gcp.vertex.agent.tool_call_args", "input.value",
        "tool.parameters",
    )  # fmt: skip
    role.arguments = write_arguments(arguments)
    result = _first(
        attributes, "gen_ai.tool.call.result", "tool_response", "gcp.vertex.agent.tool_response", "output.value"
    )
    role.result = read_text(result)
    if attributes.get("openinference.span.kind"):
        # OpenInference wraps keyword arguments in the call that it traced: `{"args": [], "kwargs": {..}}`.
        call = record(maybe_json(role.arguments))
        if set(call) <= {"args", "kwargs", "sanitize_inputs_outputs"} and call.get("kwargs"):
            role.arguments = dump(call["kwargs"])


def _fill_model(role: Role, span: Span) -> None:
    attributes = span.attributes
    role.name = read_name(_first(attributes, "gen_ai.response.model", "gen_ai.request.model", "llm.model_name"))
    role.input_tokens, role.output_tokens, role.cached_tokens, role.written_tokens = (
        whole(_first(attributes, *keys)) for keys in _TOKEN_KEYS
    )
    role.cost = number(_first(attributes, "operation.cost", "gen_ai.usage.cost", "llm.cost.total"))
    messages = maybe_json(attributes.get("gen_ai.output.messages"))
    for event in span.events:
        name, inner = event_attributes(event)
        if name == "gen_ai.client.inference.operation.details" and not messages:
            messages = maybe_json(inner.get("gen_ai.output.messages"))
    texts = []
    if messages:
        for part in (part for message in rows(messages) for part in rows(message.get("parts"))):
            if part.get("type") == "text":
                texts.append(read_text(part.get("content")))
            elif part.get("type") == "tool_call":
                role.requested.append({
                    "name": read_name(part.get("name")), "id": part.get("id"), "arguments": part.get("arguments"),
                })  # fmt: skip
    else:
        # OpenInference flattens lists into dotted keys: `llm.output_messages.N.message.tool_calls.M.tool_call...`
        calls: dict[str, dict[str, object]] = {}
        for key, value in attributes.items():
            if not key.startswith("llm.output_messages."):
                continue
            call_prefix, _, leaf = key.rpartition(".tool_call.")
            if call_prefix:
                field_name = {"function.name": "name", "function.arguments": "arguments", "id": "id"}.get(leaf)
                if field_name:
                    calls.setdefault(call_prefix, {})[field_name] = value
            elif ".content" in key and isinstance(value, str):
                texts.append(value)
        role.requested = [record(call) for call in calls.values() if read_name(call.get("name"))]
    role.text = read_text("\n".join(texts))
