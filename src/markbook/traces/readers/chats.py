"""Chats: OpenAI-style messages, Who&When's failure logs, AutoGen's messages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from markbook.files.stream import Source
from markbook.trace import Trace
from markbook.traces import Probe
from markbook.traces.chat import ROLES, RunSteps, chat_steps, message_lists, objects_with, with_listeners
from markbook.traces.plain import (
    parse_arguments,
    read_name,
    read_text,
    record,
    rows,
    to_list,
    whole,
)
from markbook.types import Record

# OpenAI-style message lists.


def is_message(row: Record) -> bool:
    """Return whether an object is an OpenAI-style message."""
    return str(row.get("role")) in ROLES and bool({"content", "tool_calls", "function_call"} & set(row))


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
            usage = record(around.get("usage"))
            facts: dict[str, Any] = {}
            if usage:
                facts["input_tokens"] = whole(usage.get("prompt_tokens", usage.get("input_tokens")))
                facts["output_tokens"] = whole(usage.get("completion_tokens", usage.get("output_tokens")))
            yield chat_steps(messages).to_trace(self.name, id=read_name(around.get("id")), **facts)


# Group chats: Who&When's failure logs and AutoGen's messages.

_PEOPLE = frozenset({"human", "user"})
_ASIDE = re.compile(r"^(?P<agent>[^(]+?)\s*\((?P<aside>.*)\)$", re.DOTALL)


class WhoAndWhen:
    """Reads a multi-agent chat with the agent and the step that a person found at fault."""

    name = "who-and-when"

    def sniff(self, probe: Probe) -> int:
        """Return 95 for a history with the annotated mistake."""
        first = probe.sample[0] if probe.sample else {}
        return 95 if "history" in first and ("mistake_agent" in first or "mistake_step" in first) else 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield one run for each log."""
        for item in objects_with("history", source, "log"):
            yield self._run(item)

    def _run(self, item: Record) -> Trace:
        run = RunSteps()
        for entry in to_list(item["history"]):
            if not isinstance(entry, dict):
                run.unrecognised["history entries that are not an object"] += 1
                continue
            # A speaker is `name`, or `role` with an aside: `Orchestrator (-> WebSurfer)`, `Orchestrator (thought)`
            speaker = read_name(entry.get("name")) or read_name(entry.get("role"))
            kind, target = "message", ""
            split = None if entry.get("name") else _ASIDE.match(speaker)
            if split:
                speaker, aside = read_name(split["agent"]), split["aside"].strip()
                if aside.startswith("->"):
                    kind, target = "task_request", read_name(aside.removeprefix("->"))
                else:
                    kind, target = aside, speaker  # a thought goes to nobody else
            agent = "" if speaker.lower() in _PEOPLE else speaker
            run.add_message(agent, kind if agent else "user", read_text(entry.get("content")), target=target)
        run.steps = with_listeners(run.steps)
        correct = item.get("is_correct", item.get("is_corrected"))
        return run.to_trace(
            self.name, id=read_name(item.get("question_ID")), task=read_text(item.get("question")),
            success=correct if isinstance(correct, bool) else None,
            declared=tuple(read_name(name) for name in record(item.get("system_prompt"))),
            meta={key: read_text(item.get(key)) for key in ("mistake_agent", "mistake_step", "mistake_reason")},
        )  # fmt: skip


_AUTOGEN = re.compile(r"(Message|Event|Response|Notification)$")


class Autogen:
    """Reads AutoGen's messages: `type`, `source`, `content`, `models_usage`."""

    name = "autogen"

    def sniff(self, probe: Probe) -> int:
        """Return 85 for messages with AutoGen's types and a source."""
        first = probe.sample[0] if probe.sample else {}
        messages = rows(first.get("messages"))
        return 85 if _is_autogen(first) or (messages and _is_autogen(messages[0])) else 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield one run for a list of messages, or one for each object that holds a list."""
        for _, messages in message_lists(source):
            run = _AutogenRun()
            for message in messages:
                run.add(message)
            run.steps = with_listeners(run.steps)
            yield run.to_trace(self.name)


def _is_autogen(row: Record) -> bool:
    return "source" in row and isinstance(row.get("type"), str) and bool(_AUTOGEN.search(str(row["type"])))


class _AutogenRun(RunSteps):
    def add(self, message: Record) -> None:
        kind, speaker = str(message.get("type") or ""), read_name(message.get("source"))
        if not _AUTOGEN.search(kind):
            self.unrecognised["messages of an unknown type"] += 1
            return
        content = message.get("content")
        if kind == "ToolCallExecutionEvent":
            for result in rows(content):
                at = self.calls.get(read_text(result.get("call_id"), 200))
                self.answer(at, result.get("content"), ok=result.get("is_error") is not True)
            return
        agent = "" if speaker.lower() in _PEOPLE else speaker
        usage = record(message.get("models_usage"))
        tokens = {"input_tokens": "prompt_tokens", "output_tokens": "completion_tokens"}
        counts = {name: whole(usage.get(key)) for name, key in tokens.items()}
        if kind == "HandoffMessage":
            self.add_handoff(agent, "handoff", read_name(message.get("target")), text=read_text(content), **counts)
            return
        asks = kind == "ToolCallRequestEvent"
        # A request goes to the agent's own tools, so it is said to itself.
        target = agent if asks or kind in ("ToolCallSummaryMessage", "ThoughtEvent") else ""
        name = "message" if agent else "user"
        self.add_message(agent, name, "" if asks else read_text(content), target=target, **counts)
        for call in rows(content) if asks else ():
            identity, arguments = read_text(call.get("id"), 200), parse_arguments(call.get("arguments"))
            self.add_call(agent, read_name(call.get("name")), identity, arguments)
