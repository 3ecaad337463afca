"""Formats made for exchange: ATIF, and the documented trace of agents-eval."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from markbook.files.stream import Source
from markbook.trace import Step, StepKind, Trace, add_known
from markbook.traces import Probe
from markbook.traces.chat import RunSteps, read_objects
from markbook.traces.plain import (
    bound_value,
    make_trace,
    moment,
    number,
    parse_arguments,
    read_name,
    read_text,
    record,
    rows,
    to_list,
    whole,
)
from markbook.types import Record

# ATIF, the Agent Trajectory Interchange Format that Harbor writes: steps with calls, observations and metrics.

_DEEPEST = 20


class Atif:
    """Reads trajectories; the sub-agents that a file embeds are agents of the same run."""

    name = "atif"

    def sniff(self, probe: Probe) -> int:
        """Return 95 for objects whose schema version is ATIF's."""
        trajectories = [row for row in probe.sample[:3] if str(row.get("schema_version")).startswith("ATIF")]
        return 95 if trajectories and isinstance(trajectories[0].get("steps"), list) else 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield one run for each trajectory."""
        for item in read_objects(source, "trajectory", "steps"):
            yield self._run(item)

    def _run(self, item: Record) -> Trace:
        run, final = _AtifRun(item), record(item.get("final_metrics"))
        sums = {
            "input_tokens": ("prompt", add_known(step.input_tokens for step in run.steps)),
            "output_tokens": ("completion", add_known(step.output_tokens for step in run.steps)),
            "cached_tokens": ("cached", add_known(run.cached)),
        }
        # Sums that the trajectory states stand where its steps have none.
        facts: dict[str, Any] = {
            fact: whole(final.get(f"total_{name}_tokens")) if count is None else count
            for fact, (name, count) in sums.items()
        }
        if (cost := number(final.get("total_cost_usd"))) is not None:
            facts["cost"] = cost
        return run.to_trace(self.name, id=read_name(item.get("session_id") or item.get("trajectory_id")), **facts)


class _AtifRun(RunSteps):
    def __init__(self, item: Record) -> None:
        super().__init__()
        self.names: dict[str, str] = {}
        self._add(item, read_name(record(item.get("agent")).get("name")) or "agent", 0)

    def _add(self, item: Record, agent: str, depth: int) -> None:
        children = rows(item.get("subagent_trajectories"))
        if children and depth >= _DEEPEST:
            self.unrecognised["sub-agents nested too deeply"] += len(children)
            children = []
        names = []
        for child in children:
            identity = read_name(child.get("trajectory_id"))
            name = read_name(record(child.get("agent")).get("name")) or "sub-agent"
            # Agents of one program share its name: the id tells them apart.
            names.append(f"{name} {identity}".strip() if name == agent else name)
            if identity:
                self.names[identity] = names[-1]
        for row in rows(item.get("steps")):
            if row.get("is_copied_context") is True:
                self.notes["steps copied from an earlier context, left out"] += 1
            else:
                self._step(row, agent)
        for child, name in zip(children, names, strict=True):
            self._add(child, name, depth + 1)

    def _step(self, row: Record, agent: str) -> None:
        kind = read_name(row.get("source"))
        if kind not in ("user", "agent", "system"):
            self.unrecognised["steps of an unknown source"] += 1
            return
        spent, time = record(row.get("metrics")), moment(row.get("timestamp"))
        self.cached.append(whole(spent.get("cached_tokens")))
        self.add_message(
            agent if kind == "agent" else "", "assistant" if kind == "agent" else kind, read_text(row.get("message")),
            start=time, input_tokens=whole(spent.get("prompt_tokens")), output_tokens=whole(spent.get("completion_tokens")),
            cost=number(spent.get("cost_usd")),
        )  # fmt: skip
        self.calls.clear()  # ids are those of one step
        for call in rows(row.get("tool_calls")):
            identity, arguments = read_text(call.get("tool_call_id"), 200), bound_value(call.get("arguments"))
            self.add_call(agent, read_name(call.get("function_name")), identity, arguments, time)
        for result in rows(record(row.get("observation")).get("results")):
            at = self.calls.get(read_text(result.get("source_call_id"), 200))
            if at is None and len(self.calls) == 1 and not result.get("source_call_id"):
                at = next(iter(self.calls.values()))
            if at is not None:
                self.answer(at, result.get("content"), ok=None)
            elif self.calls:
                self.unrecognised["results without a call"] += 1
            for reference in rows(result.get("subagent_trajectory_ref")):
                if target := self.names.get(read_name(reference.get("trajectory_id"))):
                    self.add_handoff(agent, "delegation", target)
                else:
                    self.notes["sub-agents whose trajectories are not in the file"] += 1


# Agents-eval's `trace.json`: interactions, tool calls and coordination events of one run.

_KEYS = ("agent_interactions", "tool_calls", "coordination_events")


class AgentsEval:
    """Reads the documented trace: `agent_interactions`, `tool_calls`, `coordination_events`."""

    name = "agents-eval"

    def sniff(self, probe: Probe) -> int:
        """Return 90 for an object with interactions beside tool calls."""
        first = probe.first
        return 90 if "agent_interactions" in first and isinstance(first.get("tool_calls"), list) else 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield one run for each object."""
        for item in read_objects(source, "trace"):
            yield self._run(item)

    def _run(self, item: Record) -> Trace:
        unrecognised = {}
        for key in _KEYS:
            value = item.get(key)
            strays = len(value) - len(rows(value)) if isinstance(value, list) else int(value is not None)
            if strays:
                unrecognised[f"{key} that are not an object"] = strays
        messages: list[Step] = []
        for row in rows(item.get("agent_interactions")):
            kind = read_name(row.get("type")) or "message"
            shape = StepKind.HANDOFF if kind in ("delegation", "handoff") else StepKind.MESSAGE
            source, target, time = read_name(row.get("from")), read_name(row.get("to")), number(row.get("timestamp"))
            text = read_text(row.get("query") or row.get("content"))
            messages.append(Step(shape, source, kind, target, start=time, text=text))
        called: list[Step] = []
        for row in rows(item.get("tool_calls")):
            # The time stamp is written when the call returns: a delegating call's lies behind the calls made inside it.
            end, took = number(row.get("timestamp")), number(row.get("duration"))
            success = row.get("success")
            called.append(
                Step(
                    StepKind.TOOL, read_name(row.get("agent_id")), read_name(row.get("tool_name")),
                    start=None if end is None else end - max(took or 0.0, 0.0), end=end,
                    ok=success if isinstance(success, bool) else None, error="failed" if success is False else "",
                    arguments=parse_arguments(row.get("context")),
                )
            )  # fmt: skip
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
