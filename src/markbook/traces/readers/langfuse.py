"""Langfuse's exports: a trace with its observations, a page or lines of observations, in either spelling of the keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from markbook.files.stream import Source
from markbook.trace import Trace, add_known
from markbook.traces import Probe
from markbook.traces.plain import (
    moment,
    number,
    parse_arguments,
    read_name,
    read_text,
    record,
    rows,
    whole,
    write_arguments,
)
from markbook.traces.span_tree import group_runs, nanoseconds, requested_in
from markbook.traces.spans import AGENT, HANDOFF, MODEL, STRUCTURE, TOOL, UNKNOWN, Role, Span, detect_role
from markbook.types import Record

_KINDS = {"GENERATION": MODEL, "TOOL": TOOL, "AGENT": AGENT}
_CACHED = frozenset({"input_cached_tokens", "input_cache_read", "cache_read_input_tokens", "input_cached"})
_WRITTEN = frozenset({"input_cache_creation", "cache_creation_input_tokens", "input_cache_write"})


class Langfuse:
    """Reads observations; their type says what they are, else the attributes that OpenTelemetry brought."""

    name = "langfuse"

    def sniff(self, probe: Probe) -> int:
        """Return 95 for observations, alone, in a trace or in a page."""
        return 95 if any(_observations(row) for row in probe.sample[:3]) else 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield one run for each trace."""
        yield from group_runs(_spans(source.items(), source), source, self.name)


def _get(row: Record, name: str) -> Any:
    """Return a value under the API's name or the name that exports to files use."""
    value = row.get(name)
    return (
        row.get("".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name))
        if value is None
        else value
    )


def _observations(item: Record) -> list[Record]:
    """Return the observations that an object holds, or that it is."""
    for value in (item.get("observations"), item.get("data"), record(item.get("trace")).get("observations")):
        observations = [row for row in rows(value) if _is_observation(row)]
        if observations:
            return observations
    return [item] if _is_observation(item) and _get(item, "traceId") else []


def _is_observation(row: Record) -> bool:
    return bool(row.get("id")) and isinstance(row.get("type"), str) and _get(row, "startTime") is not None


def _spans(items: list[Any], source: Source) -> Iterator[tuple[Span, Role]]:
    for item in items:
        observation = record(item)
        observations = _observations(observation)
        if not observations:
            source.problems["objects that hold no observation"] += 1
        trace = read_text(record(observation.get("trace")).get("id") or observation.get("id"), 200)
        for row in observations:
            metadata = record(parse_arguments(row.get("metadata")))
            attributes = dict(record(parse_arguments(metadata.get("attributes"))))
            failed = str(row.get("level")).upper() == "ERROR"
            span = Span(
                trace=read_text(_get(row, "traceId"), 200) or trace, id=read_text(row.get("id"), 200),
                parent=read_text(_get(row, "parentObservationId"), 200), name=read_name(row.get("name")),
                start=nanoseconds(moment(_get(row, "startTime"))), end=nanoseconds(moment(_get(row, "endTime"))),
                ok=False if failed else None, message=read_text(_get(row, "statusMessage"), 500),
                attributes=attributes, events=[], scope=read_name(record(parse_arguments(metadata.get("scope"))).get("name")),
            )  # fmt: skip
            role = detect_role(span)
            role.conversation = ""  # a session of Langfuse holds many traces, each a run
            kind = _KINDS.get(str(row.get("type")).upper())
            if kind is not None and role.kind != HANDOFF:
                role.kind = kind
            elif role.kind == UNKNOWN:
                role.kind = STRUCTURE
            node = read_name(
                metadata.get("agent_name") or metadata.get("lc_agent_name") or metadata.get("langgraph_node")
            )
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
                    role.requested or requested_in(output) or requested_in({"tool_calls": _get(row, "toolCalls")})
                )
            yield (span, role)


def _bare(name: str) -> str:
    """Return the name in `invoke_agent x`, `execute_tool x`, `agent_run [x]`."""
    for prefix in ("invoke_agent ", "execute_tool ", "running tool: "):
        name = name.removeprefix(prefix)
    return name.removeprefix("agent_run [").removesuffix("]") if name.startswith("agent_run [") else name


def _fill_usage(role: Role, row: Record) -> None:
    """Take the tokens. Parts of the input stand beside it where all add up to the total, else inside it."""
    details = {str(key): whole(count) for key, count in record(parse_arguments(_get(row, "usageDetails"))).items()}
    legacy = record(row.get("usage"))
    parts = {key: count for key, count in details.items() if key != "total" and count is not None}
    beside = details.get("total") == sum(parts.values())
    read = [n for key, n in parts.items() if key == "input" or (beside and ("input" in key))]
    counts = [n for key, n in parts.items() if key == "output" or (beside and ("output" in key))]
    role.input_tokens = sum(read) if read else whole(legacy.get("input", _get(row, "promptTokens")))
    role.output_tokens = sum(counts) if counts else whole(legacy.get("output", _get(row, "completionTokens")))
    role.cached_tokens = add_known(n for key, n in parts.items() if key in _CACHED)
    role.written_tokens = add_known(n for key, n in parts.items() if key in _WRITTEN)
    cost = number(_get(row, "totalCost"))
    cost = number(_get(row, "calculatedTotalCost")) if cost is None else cost
    role.cost = (
        cost if cost or record(parse_arguments(_get(row, "costDetails"))) else None
    )  # 0 stands for a model without a price
