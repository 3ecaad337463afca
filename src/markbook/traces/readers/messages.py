"""OpenAI-style message lists, alone or as tau-bench's trajectories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from markbook.files.stream import Source
from markbook.trace import ExpectedCall, Reference, Trace
from markbook.traces import Probe
from markbook.traces.chat import ROLES, chat_steps, message_lists
from markbook.traces.plain import make_trace, number, read_name, read_text, record, rows, whole
from markbook.types import Record


def is_message(row: Record) -> bool:
    """Return whether an object is an OpenAI-style message."""
    return row.get("role") in ROLES and bool({"content", "tool_calls", "function_call"} & set(row))


class OpenAIMessages:
    """Reads a list of messages, objects with `messages`, or lines of either."""

    name = "openai-messages"

    def sniff(self, probe: Probe) -> int:
        """Return 50 where the first object is a message or holds a list of them."""
        for row in probe.sample[:3]:
            messages = rows(row.get("messages"))
            if is_message(row) or (messages and is_message(messages[0])):
                return 50
        return 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield one run for a list of messages, or one for each object that holds a list."""
        for around, messages in message_lists(source):
            yield self._run(messages, around)

    def _run(self, messages: Sequence[Record], around: Record) -> Trace:
        chat = chat_steps(messages)
        usage = record(around.get("usage"))
        facts: dict[str, Any] = {}
        if usage:
            facts["input_tokens"] = whole(usage.get("prompt_tokens", usage.get("input_tokens")))
            facts["output_tokens"] = whole(usage.get("completion_tokens", usage.get("output_tokens")))
        identity = read_name(around.get("id"))
        return make_trace(chat.steps, reader=self.name, id=identity, unrecognised=dict(chat.unrecognised), **facts)


class TauBench:
    """Reads tau-bench trajectories: the messages, the reward, and the ground-truth actions as the reference."""

    name = "tau-bench"

    def sniff(self, probe: Probe) -> int:
        """Return 95 for objects with a trajectory and a reward."""
        return 95 if any("traj" in row and "reward" in row for row in probe.sample[:3]) else 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield one run for each trajectory."""
        for item in source.items():
            if not isinstance(item, dict) or not isinstance(item.get("traj"), list):
                source.problems["not a trajectory"] += 1
                continue
            yield self._run(item)

    def _run(self, item: Record) -> Trace:
        # tau-bench's tools answer a failed call with a text that begins with "Error".
        chat = chat_steps(rows(item["traj"]), agent="agent", error_prefix="Error")
        error = record(item.get("info")).get("error")
        reward = None if error else number(item.get("reward"))  # a crash is noted as 0.0
        actions = record(record(item.get("info")).get("task")).get("actions")
        reference = None
        if isinstance(actions, list):
            calls = tuple(
                ExpectedCall((read_name(action.get("name")),), record(action.get("kwargs"))) for action in rows(actions)
            )
            reference = Reference(calls, source="data: the task's ground-truth actions")
        task, trial = str(item.get("task_id", "")), whole(item.get("trial"))
        return make_trace(
            chat.steps, reader=self.name, id=f"task {task} trial {trial}", task=task, trial=trial, score=reward,
            success=None if reward is None else reward >= 1, reference=reference, unrecognised=dict(chat.unrecognised),
            notes=(f"the trajectory ended in an error: {read_text(error, 200)}",) if error else (),
        )  # fmt: skip
