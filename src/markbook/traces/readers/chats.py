"""Chats: OpenAI-style messages, Who&When's failure logs, AutoGen's messages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from markbook.files.stream import Source
from markbook.trace import Step, StepKind, Trace
from markbook.traces import Probe
from markbook.traces.chat import ROLES, chat_steps, message_lists, with_listeners
from markbook.traces.plain import (
    make_trace,
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
        for item in source.items():
            if isinstance(item, dict) and isinstance(item.get("history"), list):
                yield self._run(item)
            else:
                source.problems["not a log"] += 1

    def _run(self, item: Record) -> Trace:
        unrecognised: Counter[str] = Counter()
        steps = []
        for entry in to_list(item.get("history")):
            if isinstance(entry, dict):
                # A speaker is `name`, or `role` with an aside: `Orchestrator (-> WebSurfer)`, `Orchestrator (thought)`
                speaker = read_name(entry.get("name")) or read_name(entry.get("role"))
                text = read_text(entry.get("content"))
                kind, target = "message", ""
                split = None if entry.get("name") else _ASIDE.match(speaker)
                if split:
                    speaker, aside = read_name(split["agent"]), split["aside"].strip()
                    if aside.startswith("->"):
                        kind, target = "task_request", read_name(aside.removeprefix("->"))
                    else:
                        kind, target = aside, speaker  # a thought goes to nobody else
                agent = "" if speaker.lower() in _PEOPLE else speaker
                steps.append(Step(StepKind.MESSAGE, agent, kind if agent else "user", target, text=text))
            else:
                unrecognised["history entries that are no object"] += 1
        correct = item.get("is_correct", item.get("is_corrected"))
        meta = {key: read_text(item.get(key)) for key in ("mistake_agent", "mistake_step", "mistake_reason")}
        return make_trace(
            with_listeners(steps), reader=self.name, id=read_name(item.get("question_ID")), meta=meta,
            success=correct if isinstance(correct, bool) else None, task=read_text(item.get("question")),
            declared=tuple(read_name(name) for name in record(item.get("system_prompt"))),
            unrecognised=dict(unrecognised),
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
            yield _AutogenRun().read(messages, self.name)


def _is_autogen(row: Record) -> bool:
    return "source" in row and isinstance(row.get("type"), str) and bool(_AUTOGEN.search(str(row["type"])))


class _AutogenRun:
    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.unrecognised: Counter[str] = Counter()
        self.calls: dict[str, int] = {}

    def read(self, messages: Sequence[Record], reader: str) -> Trace:
        for message in messages:
            self._message(message)
        return make_trace(with_listeners(self.steps), reader=reader, unrecognised=dict(self.unrecognised))

    def _message(self, message: Record) -> None:
        kind, speaker = str(message.get("type") or ""), read_name(message.get("source"))
        if not _AUTOGEN.search(kind):
            self.unrecognised["messages of an unknown type"] += 1
            return
        agent = "" if speaker.lower() in _PEOPLE else speaker
        usage = record(message.get("models_usage"))
        spent: dict[str, Any] = {
            "input_tokens": whole(usage.get("prompt_tokens")),
            "output_tokens": whole(usage.get("completion_tokens")),
        }
        if kind == "ToolCallExecutionEvent":
            self._results(rows(message.get("content")))
            return
        if kind == "HandoffMessage":
            target = read_name(message.get("target"))
            text = read_text(message.get("content"))
            self.steps.append(Step(StepKind.HANDOFF, agent, "handoff", target, text=text, **spent))
            return
        asks = kind == "ToolCallRequestEvent"
        text = "" if asks else read_text(message.get("content"))
        # A request goes to the agent's own tools, so it is said to itself.
        target = agent if asks or kind in ("ToolCallSummaryMessage", "ThoughtEvent") else ""
        name = "message" if agent else "user"
        self.steps.append(Step(StepKind.MESSAGE, agent, name, target, text=text, **spent))
        for call in rows(message.get("content")) if asks else ():
            identity = read_text(call.get("id"), 200)
            self.calls[identity] = len(self.steps)
            tool, arguments = read_name(call.get("name")), parse_arguments(call.get("arguments"))
            self.steps.append(Step(StepKind.TOOL, agent, tool, id=identity, arguments=arguments))

    def _results(self, results: list[Record]) -> None:
        for result in results:
            at = self.calls.get(read_text(result.get("call_id"), 200))
            if at is None:
                self.unrecognised["tool results without a call"] += 1
                continue
            failed = result.get("is_error") is True
            self.steps[at] = replace(
                self.steps[at], ok=not failed, error="error" if failed else "", result=read_text(result.get("content"))
            )
