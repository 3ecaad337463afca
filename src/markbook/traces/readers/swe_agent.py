"""SWE-agent's `.traj`: a history of messages with one action each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from markbook.files.stream import Source
from markbook.trace import Step, StepKind, Trace
from markbook.traces import Probe
from markbook.traces.plain import make_trace, number, parse_arguments, read_name, read_text, record, rows, whole
from markbook.types import Record


class SweAgent:
    """Reads one trajectory; a tool is the function called, or the first word of the action."""

    name = "swe-agent"

    def sniff(self, probe: Probe) -> int:
        """Return 85 for a history whose entries name their agent, or a trajectory of actions."""
        first = probe.sample[0] if probe.sample else {}
        history, trajectory = rows(first.get("history")), rows(first.get("trajectory"))
        if trajectory and "action" in trajectory[0]:
            return 85
        return 85 if history and "agent" in history[0] and "role" in history[0] else 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield the trajectory as one run."""
        for item in source.items():
            if isinstance(item, dict):
                yield self._run(item)
            else:
                source.problems["not a trajectory"] += 1

    def _run(self, item: Record) -> Trace:
        history, trajectory = rows(item.get("history")), rows(item.get("trajectory"))
        unrecognised: Counter[str] = Counter()
        if history:
            steps = _from_history(history, unrecognised)
        else:
            steps = [step for entry in trajectory for step in _from_turn(entry)]
        info = record(item.get("info"))
        stats = record(info.get("model_stats"))
        facts: dict[str, Any] = {}
        if whole(stats.get("api_calls")):
            facts["input_tokens"] = whole(stats.get("tokens_sent"))
            facts["output_tokens"] = whole(stats.get("tokens_received"))
            facts["cost"] = number(stats.get("instance_cost"))
        elif stats:
            facts["notes"] = ("the log counts no model call, so its token count of 0 is not a count",)
        meta = {"exit_status": read_text(info.get("exit_status"))}
        identity = read_name(item.get("environment"))
        return make_trace(steps, reader=self.name, id=identity, unrecognised=dict(unrecognised), meta=meta, **facts)


def _from_history(history: list[Record], unrecognised: Counter[str]) -> list[Step]:
    steps: list[Step] = []
    for at, entry in enumerate(history):
        role = read_name(entry.get("role"))
        if not role:
            unrecognised["history entries without a role"] += 1
            continue
        agent = read_name(entry.get("agent")) or "main"
        is_reply = role == "assistant"
        text = read_text(entry.get("content"))
        steps.append(Step(StepKind.MESSAGE, agent if is_reply else "", role, text=text))
        if is_reply and not entry.get("is_demo"):
            following = history[at + 1] if at + 1 < len(history) else {}
            answer = "" if following.get("role") == "assistant" else read_text(following.get("content"))
            steps.extend(_calls(entry, agent, answer))
    return steps


def _calls(entry: Record, agent: str, answer: str) -> list[Step]:
    calls = rows(entry.get("tool_calls"))
    if calls:
        return [
            Step(
                StepKind.TOOL, agent, read_name(record(call.get("function")).get("name")), id=read_text(call.get("id"), 200),
                arguments=parse_arguments(record(call.get("function")).get("arguments")), result=answer,
            )
            for call in calls
        ]  # fmt: skip
    action = read_text(entry.get("action"), 65_536).strip()
    if not action:
        return []
    tool, _, rest = action.partition(" ")
    return [Step(StepKind.TOOL, agent, read_name(tool.split("\n")[0]), arguments=rest, result=answer)]


def _from_turn(entry: Record) -> list[Step]:
    text = read_text(entry.get("response") or entry.get("thought"))
    return [Step(StepKind.MESSAGE, "main", "assistant", text=text),
            *_calls(entry, "main", read_text(entry.get("observation")))]  # fmt: skip
