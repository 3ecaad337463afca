"""LangSmith runs, as its API and its exports write them: a list, lines, or a tree of `child_runs`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from markbook.files.stream import Source
from markbook.trace import Trace, add_known
from markbook.traces import Probe
from markbook.traces.plain import dump, moment, number, read_name, read_text, record, rows, to_list, whole
from markbook.traces.span_tree import group_runs, nanoseconds, requested_in
from markbook.traces.spans import AGENT, MODEL, STRUCTURE, TOOL, Role, Span
from markbook.types import Record

_DEEPEST = 200


class LangSmith:
    """Reads runs; an agent is a run whose metadata names one."""

    name = "langsmith"

    def sniff(self, probe: Probe) -> int:
        """Return 90 for objects with a run type and the times of a run."""
        first = probe.sample[0] if probe.sample else {}
        return 90 if "run_type" in first and ("start_time" in first or "dotted_order" in first) else 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield one run for each trace id."""
        items = source.items()
        yield from group_runs((_span(run) for item in items for run in _flat(item, source)), source, self.name)


def _flat(item: Any, source: Source) -> Iterator[Record]:
    """Yield a run and all runs below it; the tree is walked without recursion."""
    waiting: list[tuple[Any, str, str, int]] = [(item, "", "", 0)]
    while waiting:
        run, trace, parent, depth = waiting.pop()
        if not isinstance(run, dict) or not run.get("id") or "run_type" not in run or depth > _DEEPEST:
            source.problems["objects that are no run"] += 1
            continue
        trace = str(run.get("trace_id") or trace or run["id"])
        yield {"parent_run_id": parent, **run, "trace_id": trace}
        children = to_list(run.get("child_runs"))
        waiting.extend((child, trace, str(run["id"]), depth + 1) for child in reversed(children))


def _span(run: Record) -> tuple[Span, Role]:
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
        usage = record(record(run.get("outputs")).get("usage_metadata"))
        read, written = _generated_tokens(record(run.get("outputs")))
        role.input_tokens = _first_count(run.get("prompt_tokens"), usage.get("input_tokens"), read)
        role.output_tokens = _first_count(run.get("completion_tokens"), usage.get("output_tokens"), written)
        role.cost = number(run.get("total_cost"))
        role.requested = requested_in(run.get("outputs"))
    return span, role


def _generated_tokens(outputs: Record) -> tuple[int | None, int | None]:
    """Return the tokens read and written that the messages of LangChain's generations state, over all of them."""
    messages = [
        record(record(row.get("message")).get("kwargs"))
        for several in to_list(outputs.get("generations"))
        for row in rows(several)
    ]
    usages = [record(message.get("usage_metadata")) for message in messages]
    read, written = ([whole(usage.get(key)) for usage in usages] for key in ("input_tokens", "output_tokens"))
    return add_known(read), add_known(written)


def _first_count(*values: object) -> int | None:
    return next((count for value in values if (count := whole(value)) is not None), None)
