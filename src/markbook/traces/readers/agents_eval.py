"""Agents-eval's `trace.json`: interactions, tool calls and coordination events of one run."""

from __future__ import annotations

from collections.abc import Iterator

from markbook.files.stream import Source
from markbook.trace import Step, StepKind, Trace
from markbook.traces import Probe
from markbook.traces.plain import make_trace, number, parse_arguments, read_name, read_text, record, rows, to_list
from markbook.types import Record

_KEYS = ("agent_interactions", "tool_calls", "coordination_events")


class AgentsEval:
    """Reads the documented trace: `agent_interactions`, `tool_calls`, `coordination_events`."""

    name = "agents-eval"

    def sniff(self, probe: Probe) -> int:
        """Return 90 for an object with interactions beside tool calls."""
        first = probe.sample[0] if probe.sample else {}
        return 90 if "agent_interactions" in first and isinstance(first.get("tool_calls"), list) else 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield one run for each object."""
        for item in source.items():
            if isinstance(item, dict):
                yield self._run(item)
            else:
                source.problems["not a trace"] += 1

    def _run(self, item: Record) -> Trace:
        unrecognised = {}
        for key in _KEYS:
            value = item.get(key)
            strays = len(value) - len(rows(value)) if isinstance(value, list) else int(value is not None)
            if strays:
                unrecognised[f"{key} that are no object"] = strays
        messages = [_message(row) for row in rows(item.get("agent_interactions"))]
        called = [_call(row) for row in rows(item.get("tool_calls"))]
        called.sort(key=lambda step: (step.start is None, step.start or 0.0))
        events = rows(item.get("coordination_events"))
        agents = [read_name(name) for row in events for name in to_list(row.get("target_agents"))]
        return make_trace(
            [*messages, *called], reader=self.name, id=read_name(item.get("execution_id")), agents=agents,
            unrecognised=unrecognised,
            # The log's own clock: a hand-off has no time of its own in this format.
            start=number(item.get("start_time")), end=number(item.get("end_time")),
            meta={"coordination_events": len(events), "performance_metrics": dict(record(item.get("performance_metrics")))},
        )  # fmt: skip


def _message(row: Record) -> Step:
    kind = read_name(row.get("type")) or "message"
    shape = StepKind.HANDOFF if kind in ("delegation", "handoff") else StepKind.MESSAGE
    text = read_text(row.get("query") or row.get("content"))
    time = number(row.get("timestamp"))
    return Step(shape, read_name(row.get("from")), kind, read_name(row.get("to")), start=time, text=text)


def _call(row: Record) -> Step:
    # The time stamp is written when the call returns: a delegating call's lies behind the calls made inside it.
    end, took = number(row.get("timestamp")), number(row.get("duration"))
    start = None if end is None else end - max(took or 0.0, 0.0)
    success = row.get("success")
    ok = success if isinstance(success, bool) else None
    return Step(
        StepKind.TOOL, read_name(row.get("agent_id")), read_name(row.get("tool_name")), start=start, end=end, ok=ok,
        error="" if ok is not False else "failed", arguments=parse_arguments(row.get("context")),
    )  # fmt: skip
