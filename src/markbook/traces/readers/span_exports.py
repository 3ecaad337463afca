"""Spans as other tools than OpenTelemetry export them: Jaeger, Langfuse, LangSmith, MLflow, the OpenAI Agents SDK."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from markbook.files.stream import Source
from markbook.trace import Trace, add_known
from markbook.traces import Probe
from markbook.traces.plain import (
    dump,
    moment,
    number,
    parse_arguments,
    read_name,
    read_text,
    record,
    rows,
    to_list,
    whole,
    write_arguments,
)
from markbook.traces.span_tree import group_runs, nanoseconds, requested_in
from markbook.traces.spans import (
    AGENT,
    HANDOFF,
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


class _SpanExport:
    """A reader of spans: a format says which ones a file holds, with the role of each."""

    name: str

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield one run for each trace."""
        yield from group_runs(self._spans(source), source, self.name)

    def _spans(self, source: Source) -> Iterator[tuple[Span, Role]]:
        raise NotImplementedError


# Jaeger's JSON, as its API and its page export it: spans with tags, times in microseconds.


class Jaeger(_SpanExport):
    """Reads traces; what a span is, its tags say in the words of OpenTelemetry's attributes."""

    name = "jaeger"

    def sniff(self, probe: Probe) -> int:
        """Return 95 for traces with Jaeger's spelling of ids."""
        return 95 if any(_traces(row) for row in probe.sample[:3]) else 0

    def _spans(self, source: Source) -> Iterator[tuple[Span, Role]]:
        for item in source.items():
            traces = _traces(record(item))
            if not traces:
                source.problems["objects that are not a trace"] += 1
            for trace in traces:
                for raw in rows(trace["spans"]):
                    span = _jaeger_span(raw, read_text(trace.get("traceID"), 200))
                    if span is None:
                        source.problems["objects that are not a span"] += 1
                    else:
                        yield span, detect_role(span)


def _traces(row: Record) -> list[Record]:
    """Return the traces of an answer (`data`), or the trace that an object is."""
    traces = rows(row.get("data")) or [row]
    return [trace for trace in traces if "traceID" in trace and isinstance(trace.get("spans"), list)]


def _jaeger_span(raw: Record, trace: str) -> Span | None:
    identity = read_text(raw.get("spanID"), 200)
    if not identity:
        return None
    tags = _tags(raw.get("tags"))
    start, took = whole(raw.get("startTime")), whole(raw.get("duration"))
    status = str(tags.get("otel.status_code") or "").upper()
    failed = status == "ERROR" or str(tags.get("error")).lower() == "true"
    # Reversed, so that of several references of one sort the first remains.
    parents = {str(reference.get("refType")): reference for reference in reversed(rows(raw.get("references")))}
    # What it only follows from is the second choice.
    parent = parents.get("CHILD_OF") or parents.get("FOLLOWS_FROM")
    events: list[Record] = []
    for log in rows(raw.get("logs")):
        fields = _tags(log.get("fields"))
        events.append({"name": fields.pop("event", ""), "attributes": fields})
    return Span(
        trace=read_text(raw.get("traceID"), 200) or trace, id=identity,
        parent=read_text(raw.get("parentSpanID") if parent is None else parent.get("spanID"), 200),
        name=read_name(raw.get("operationName")), start=_nanoseconds(start),
        end=None if start is None or took is None else _nanoseconds(start + took),
        ok=False if failed else (True if status == "OK" else None),
        message=read_text(tags.get("otel.status_description"), 500), attributes=tags, events=events,
        scope=read_name(tags.get("otel.scope.name") or tags.get("otel.library.name")),
    )  # fmt: skip


def _nanoseconds(micros: int | None) -> int | None:
    """Return a time in nanoseconds, None for one that 64 bits do not hold: such a file does not count in microseconds."""
    return None if micros is None or not 0 <= micros * 1_000 < 1 << 63 else micros * 1_000


def _tags(value: object) -> dict[str, object]:
    return {str(tag["key"]): tag.get("value") for tag in rows(value) if "key" in tag}


# Langfuse's exports: a trace with its observations, a page or lines of observations, in either spelling of the keys.

_LANGFUSE_KINDS = {"GENERATION": MODEL, "TOOL": TOOL, "AGENT": AGENT}
_CACHED = frozenset({"input_cached_tokens", "input_cache_read", "cache_read_input_tokens", "input_cached"})
_WRITTEN = frozenset({"input_cache_creation", "cache_creation_input_tokens", "input_cache_write"})


class Langfuse(_SpanExport):
    """Reads observations; their type says what they are, else the attributes that OpenTelemetry brought."""

    name = "langfuse"

    def sniff(self, probe: Probe) -> int:
        """Return 95 for observations, alone, in a trace or in a page."""
        return 95 if any(_observations(row) for row in probe.sample[:3]) else 0

    def _spans(self, source: Source) -> Iterator[tuple[Span, Role]]:
        for item in source.items():
            observation = record(item)
            observations = _observations(observation)
            if not observations:
                source.problems["objects that hold no observation"] += 1
            trace = read_text(record(observation.get("trace")).get("id") or observation.get("id"), 200)
            for row in observations:
                yield _langfuse_span(row, trace)


def _get_either(row: Record, name: str) -> Any:
    """Return a value under the API's name or the name that exports to files use."""
    if (value := row.get(name)) is not None:
        return value
    return row.get("".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name))


def _observations(item: Record) -> list[Record]:
    """Return the observations that an object holds, or that it is."""
    for value in (item.get("observations"), item.get("data"), record(item.get("trace")).get("observations")):
        observations = [row for row in rows(value) if _is_observation(row)]
        if observations:
            return observations
    return [item] if _is_observation(item) and _get_either(item, "traceId") else []


def _is_observation(row: Record) -> bool:
    return bool(row.get("id")) and isinstance(row.get("type"), str) and _get_either(row, "startTime") is not None


def _langfuse_span(row: Record, trace: str) -> tuple[Span, Role]:
    metadata = record(parse_arguments(row.get("metadata")))
    attributes = dict(record(parse_arguments(metadata.get("attributes"))))
    failed = str(row.get("level")).upper() == "ERROR"
    span = Span(
        trace=read_text(_get_either(row, "traceId"), 200) or trace, id=read_text(row.get("id"), 200),
        parent=read_text(_get_either(row, "parentObservationId"), 200), name=read_name(row.get("name")),
        start=nanoseconds(moment(_get_either(row, "startTime"))), end=nanoseconds(moment(_get_either(row, "endTime"))),
        ok=False if failed else None, message=read_text(_get_either(row, "statusMessage"), 500),
        attributes=attributes, events=[], scope=read_name(record(parse_arguments(metadata.get("scope"))).get("name")),
    )  # fmt: skip
    role = detect_role(span)
    role.conversation = ""  # a session of Langfuse holds many traces, each a run
    kind = _LANGFUSE_KINDS.get(str(row.get("type")).upper())
    if kind is not None and role.kind != HANDOFF:
        role.kind = kind
    elif role.kind == UNKNOWN:
        role.kind = STRUCTURE
    node = read_name(metadata.get("agent_name") or metadata.get("lc_agent_name") or metadata.get("langgraph_node"))
    role.agent = role.agent or ("" if node == "tools" else node)  # LangGraph's tool node is not an agent
    output = parse_arguments(row.get("output"))
    if role.kind == AGENT:
        role.agent = role.agent or _bare(span.name)
    elif role.kind == TOOL:
        role.name = read_name(span.attributes.get("gen_ai.tool.name")) or _bare(span.name)
        role.arguments = role.arguments or write_arguments(parse_arguments(row.get("input")))
        role.result = role.result or read_text(output)
    elif role.kind == MODEL:
        _fill_usage(role, row)
        role.text = role.text or read_text(record(output).get("content") or output)
        role.requested = (
            role.requested or requested_in(output) or requested_in({"tool_calls": _get_either(row, "toolCalls")})
        )
    return span, role


def _bare(name: str) -> str:
    """Return the name in `invoke_agent x`, `execute_tool x`, `agent_run [x]`."""
    for prefix in ("invoke_agent ", "execute_tool ", "running tool: "):
        name = name.removeprefix(prefix)
    return name.removeprefix("agent_run [").removesuffix("]") if name.startswith("agent_run [") else name


def _fill_usage(role: Role, row: Record) -> None:
    """Take the tokens. Parts of the input stand beside it where all add up to the total, else inside it."""
    details = {
        str(key): whole(count) for key, count in record(parse_arguments(_get_either(row, "usageDetails"))).items()
    }
    legacy = record(row.get("usage"))
    parts = {key: count for key, count in details.items() if key != "total" and count is not None}
    are_beside = details.get("total") == sum(parts.values())
    read, written = (
        [n for key, n in parts.items() if key == side or (are_beside and side in key)] for side in ("input", "output")
    )
    role.input_tokens = sum(read) if read else whole(legacy.get("input", _get_either(row, "promptTokens")))
    role.output_tokens = sum(written) if written else whole(legacy.get("output", _get_either(row, "completionTokens")))
    role.cached_tokens = add_known(n for key, n in parts.items() if key in _CACHED)
    role.written_tokens = add_known(n for key, n in parts.items() if key in _WRITTEN)
    cost = number(_get_either(row, "totalCost"))
    cost = number(_get_either(row, "calculatedTotalCost")) if cost is None else cost
    # 0 stands for a model without a price, unless the parts of the cost are there
    role.cost = cost if cost or record(parse_arguments(_get_either(row, "costDetails"))) else None


# LangSmith runs, as its API and its exports write them: a list, lines, or a tree of `child_runs`.

_DEEPEST = 200


class LangSmith(_SpanExport):
    """Reads runs; an agent is a run whose metadata names one."""

    name = "langsmith"

    def sniff(self, probe: Probe) -> int:
        """Return 90 for objects with a run type and the times of a run."""
        first = probe.first
        return 90 if "run_type" in first and ("start_time" in first or "dotted_order" in first) else 0

    def _spans(self, source: Source) -> Iterator[tuple[Span, Role]]:
        return (_langsmith_span(run) for item in source.items() for run in _flat(item, source))


def _flat(item: Any, source: Source) -> Iterator[Record]:
    """Yield a run and all runs below it; the tree is walked without recursion."""
    waiting: list[tuple[Any, str, str, int]] = [(item, "", "", 0)]
    while waiting:
        run, trace, parent, depth = waiting.pop()
        if not isinstance(run, dict) or not run.get("id") or "run_type" not in run or depth > _DEEPEST:
            source.problems["objects that are not a run"] += 1
            continue
        trace = str(run.get("trace_id") or trace or run["id"])
        # What a run says of its parent goes before its place in the tree.
        yield {"parent_run_id": parent, **run, "trace_id": trace}
        children = to_list(run.get("child_runs"))
        waiting.extend((child, trace, str(run["id"]), depth + 1) for child in reversed(children))


def _langsmith_span(run: Record) -> tuple[Span, Role]:
    start, end = moment(run.get("start_time")), moment(run.get("end_time"))
    error = read_text(run.get("error"), 200)
    metadata = record(record(run.get("extra")).get("metadata"))
    agent = read_name(metadata.get("lc_agent_name") or metadata.get("agent_name") or metadata.get("langgraph_node"))
    agent = "" if agent == "tools" else agent  # LangGraph's tool node is not an agent
    kind = {"llm": MODEL, "chat_model": MODEL, "tool": TOOL}.get(str(run.get("run_type")), STRUCTURE)
    name = read_name(run.get("name"))
    if kind == STRUCTURE and agent and agent == name:
        kind = AGENT
    span = Span(
        trace=str(run["trace_id"]), id=str(run["id"])[:200], parent=str(run.get("parent_run_id") or "")[:200],
        name=name, start=nanoseconds(start), end=nanoseconds(end), ok=False if error else None if end is None else True, message=error, attributes={}, events=[], scope="",
    )  # fmt: skip
    role = Role(kind, agent, name, error=error)
    if kind == TOOL:
        inputs = run.get("inputs")
        only = record(inputs).get("input") if set(record(inputs)) == {"input"} else inputs
        role.arguments = only if isinstance(only, str) else dump(only)
        role.result = read_text(record(run.get("outputs")).get("output") or run.get("outputs"))
    if kind == MODEL:
        outputs = record(run.get("outputs"))
        usage = record(outputs.get("usage_metadata"))
        # LangChain's generations state the counts in their messages: over all of them they are the run's.
        several = [row for generations in to_list(outputs.get("generations")) for row in rows(generations)]
        usages = [record(record(record(row.get("message")).get("kwargs")).get("usage_metadata")) for row in several]
        for fact, key, in_usage in (
            ("input_tokens", "prompt_tokens", "input_tokens"), ("output_tokens", "completion_tokens", "output_tokens"),
        ):  # fmt: skip
            total = add_known(whole(stated.get(in_usage)) for stated in usages)
            counts = map(whole, (run.get(key), usage.get(in_usage), total))
            setattr(role, fact, next((count for count in counts if count is not None), None))
        role.cost = number(run.get("total_cost"))
        role.requested = requested_in(outputs)
    return span, role


# MLflow's traces: `Trace.to_json`, the `traces.json` of a trace's artifacts, and rows of `search_traces`.

_MLFLOW_KINDS = {"AGENT": AGENT, "TOOL": TOOL, "LLM": MODEL, "CHAT_MODEL": MODEL}


class Mlflow(_SpanExport):
    """Reads traces; what a span is, its type says, else the attributes that OpenTelemetry brought."""

    name = "mlflow"

    def sniff(self, probe: Probe) -> int:
        """Return 97 for traces whose spans carry MLflow's attributes."""
        return 97 if any(_spans_in(row) for row in probe.sample[:3]) else 0

    def _spans(self, source: Source) -> Iterator[tuple[Span, Role]]:
        for index, item in enumerate(source.items()):
            trace = record(item)
            spans = _spans_in(trace)
            if not spans:
                source.problems["objects that are not a trace"] += 1
            info = record(trace.get("info"))
            named = info.get("trace_id") or info.get("request_id") or trace.get("trace_id") or trace.get("request_id")
            for raw in spans:
                span = _mlflow_span(raw, read_text(named, 200), f"trace {index + 1}")
                if span is None:
                    source.problems["objects that are not a span"] += 1
                else:
                    yield span, _mlflow_role(span)


def _spans_in(item: Record) -> list[Record]:
    """Return the spans of a trace: in its `data`, beside its other columns, or in a column of JSON text."""
    inner = record(maybe_json(item.get("trace")))
    for holder in (record(item.get("data")), item, record(inner.get("data")), inner):
        spans = rows(holder.get("spans"))
        # The first hundred attributes of a span tell, however many it holds.
        keys = (key for span in spans for key in itertools.islice(record(span.get("attributes")), 100))
        if any(key.startswith("mlflow.") for key in keys):
            return spans
    return []


def _mlflow_span(raw: Record, trace: str, unnamed: str) -> Span | None:
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


def _mlflow_role(span: Span) -> Role:
    attributes = span.attributes
    role = detect_role(span)
    kind = read_name(attributes.get("mlflow.spanType")).upper()
    role.kind = _MLFLOW_KINDS.get(kind, STRUCTURE if kind and role.kind == UNKNOWN else role.kind)
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


# The OpenAI Agents SDK's own export: traces and spans as its trace processors hand them on, one a line or in lists.

_AGENTS_KINDS = {"agent": AGENT, "function": TOOL, "generation": MODEL, "response": MODEL, "handoff": HANDOFF}
_STRUCTURE = frozenset({"custom", "guardrail", "mcp_tools", "speech", "speech_group", "task", "transcription", "turn"})
"""Spans that neither act nor count: sums over turns and tasks repeat what the model spans say."""


class OpenAIAgents(_SpanExport):
    """Reads exported spans; what a span is, its `span_data.type` says."""

    name = "openai-agents"

    def sniff(self, probe: Probe) -> int:
        """Return 95 for objects that call themselves traces or spans of the SDK."""
        exported = [row for item in probe.sample[:10] for row in _list_exported(item)]
        return 95 if any(row.get("object") == "trace.span" or "workflow_name" in row for row in exported) else 0

    def _spans(self, source: Source) -> Iterator[tuple[Span, Role]]:
        for item in source.items():
            exported = _list_exported(record(item))
            if not exported:
                source.problems["objects that are not a span"] += 1
            for row in exported:
                if row["object"] == "trace":
                    continue  # its name and group; what happened stands in its spans
                if isinstance(row.get("id"), str) and row["id"] and isinstance(row.get("span_data"), dict):
                    yield _agents_span(row)
                else:
                    source.problems["objects that are not a span"] += 1


def _list_exported(item: Record) -> list[Record]:
    """Return the traces and spans that an object holds under `data`, as they are sent, or that it is."""
    objects = ("trace", "trace.span")
    return [row for row in rows(item.get("data")) or [item] if row.get("object") in objects]


def _agents_span(row: Record) -> tuple[Span, Role]:
    data, error = record(row["span_data"]), row.get("error")
    kind = str(data.get("type"))
    span = Span(
        trace=read_text(row.get("trace_id"), 200), id=read_text(row["id"], 200), parent=read_text(row.get("parent_id"), 200),
        name=read_name(data.get("name")) or kind[:200], start=nanoseconds(moment(row.get("started_at"))),
        end=nanoseconds(moment(row.get("ended_at"))), ok=False if error else None,
        message=read_text(record(error).get("message") or error, 500), attributes={}, events=[], scope="",
    )  # fmt: skip
    role = Role(
        _AGENTS_KINDS.get(kind, STRUCTURE if kind in _STRUCTURE else UNKNOWN), error=span.message[:200] if error else ""
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
