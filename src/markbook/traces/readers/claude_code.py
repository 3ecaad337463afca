"""Claude Code: `--output-format stream-json` and the session logs that it keeps, one event a line.

A stream names the call that started a sub-agent on each of its rows (`parent_tool_use_id`). A session log marks them
with `isSidechain`; newer ones add an `agentId`, which the call's result names too, in older ones the rows hang together
by `parentUuid` and the first repeats the call's prompt.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from markbook.files.stream import Source
from markbook.trace import Step, StepKind, Trace
from markbook.traces import Probe
from markbook.traces.plain import bound_value, make_trace, moment, number, read_name, read_text, record, rows, whole
from markbook.types import Record

_MAIN = "main"
_SPAWN = frozenset({"Agent", "Task"})
"""The tools that start a sub-agent."""
_STRUCTURE = frozenset({
    "system", "rate_limit_event", "stream_event", "control_request", "control_response", "summary", "attachment",
    "file-history-snapshot", "queue-operation", "ai-title", "custom-title", "agent-name", "last-prompt", "progress",
    "permission-mode",
})  # fmt: skip
"""Rows that hold no message."""
_OTHERS = frozenset({"message", "tool_call", "tool_use", "tool_result", "completion"})
"""Rows of streams that begin alike and are not Claude Code's."""


class ClaudeCode:
    """Reads one session; sub-agents are told apart by the tool call that started them."""

    name = "claude-code"

    def sniff(self, probe: Probe) -> int:
        """Return 95 for lines with a type and a session id, and none that only other agents write."""
        if any(row.get("type") in _OTHERS for row in probe.sample):
            return 0
        kinds = {str(row.get("type")) for row in probe.sample if "session_id" in row or "sessionId" in row}
        return 95 if kinds & {"system", "assistant", "user", "result"} else 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield the session as one run."""
        events = [record(row) for row in source.items()]
        session = _Session(_Sidechains(events))
        for row in events:
            session.add(row)
        yield session.trace(self.name)


class _Sidechains:
    """Which call started the sub-agent of each row of a session log, as far as the whole log tells."""

    def __init__(self, events: Sequence[Record]) -> None:
        self._by_agent: dict[str, str] = {}
        self._by_row: dict[str, str] = {}
        prompts: dict[str, list[str]] = {}
        for row in events:
            blocks = rows(record(row.get("message")).get("content"))
            started = read_name(record(row.get("toolUseResult")).get("agentId"))
            for block in blocks:
                if block.get("type") == "tool_result" and started:
                    self._by_agent[started] = read_text(block.get("tool_use_id"), 200)
                if block.get("type") == "tool_use" and read_name(block.get("name")) in _SPAWN:
                    prompt = read_text(record(block.get("input")).get("prompt"))
                    prompts.setdefault(prompt, []).append(read_text(block.get("id"), 200))
        for row in events:
            if row.get("isSidechain") is True:
                self._follow(row, prompts)

    def _follow(self, row: Record, prompts: dict[str, list[str]]) -> None:
        agent, above = read_name(row.get("agentId")), read_name(row.get("parentUuid"))
        agent_found = self._by_agent.get(agent, "") or self._by_row.get(above, "")
        if not agent_found:
            waiting = prompts.get(read_text(record(row.get("message")).get("content")), [])
            agent_found = waiting.pop(0) if waiting else ""
        if agent_found and agent:
            self._by_agent[agent] = agent_found
        if agent_found:
            self._by_row[read_name(row.get("uuid"))] = agent_found

    def call(self, row: Record) -> str:
        """Return the id of the call that started a row's agent, empty where nothing says."""
        return self._by_agent.get(read_name(row.get("agentId")), "") or self._by_row.get(read_name(row.get("uuid")), "")


class _Session:
    def __init__(self, sidechains: _Sidechains) -> None:
        self.sidechains = sidechains
        self.steps: list[Step] = []
        self.unrecognised: Counter[str] = Counter()
        self.names: dict[str, str] = {}
        self.replies: dict[str, int] = {}
        self.calls: dict[str, int] = {}
        self.cached: dict[str, int] = {}
        self.written: dict[str, int] = {}
        self.known: dict[str, Any] = {}

    def add(self, row: Record) -> None:
        kind = str(row.get("type"))
        if kind == "assistant":
            self._assistant(record(row.get("message")), self._agent(row), moment(row.get("timestamp")))
        elif kind == "user":
            self._user(record(row.get("message")), row)
        elif kind == "result":
            self.known["cost"] = number(row.get("total_cost_usd"))
            broke_off = row.get("is_error") or str(row.get("subtype")).startswith("error")
            self.known["success"] = False if broke_off else None if row.get("is_error") is None else True
        elif kind not in _STRUCTURE:
            self.unrecognised[f"events of type {kind[:40]!r}"] += 1
        if kind == "system" and row.get("subtype") == "init":
            self.known["id"] = read_name(row.get("session_id"))
        elif not self.known.get("id"):
            self.known["id"] = read_name(row.get("sessionId"))

    def _agent(self, row: Record) -> str:
        started_by = read_text(row.get("parent_tool_use_id"), 200)
        if row.get("isSidechain") is True:
            started_by = started_by or self.sidechains.call(row)
            # What nothing ties to a call is still one agent for each id.
            return self.names.get(started_by) or " ".join(filter(None, ("sub-agent", read_name(row.get("agentId")))))
        return self.names.get(started_by, "sub-agent") if started_by else _MAIN

    def _assistant(self, message: Record, agent: str, time: float | None) -> None:
        """Take one content block: a reply comes in several events that repeat its id and its usage."""
        identity = read_text(message.get("id"), 200) or f"reply {len(self.replies)}"
        usage = record(message.get("usage"))
        if identity not in self.replies:
            self.replies[identity] = len(self.steps)
            self.steps.append(Step(StepKind.MESSAGE, agent, "assistant", id=identity, start=time))
        at = self.replies[identity]
        had = self.steps[at]
        self.steps[at] = replace(
            had,
            text=had.text
            or read_text([block for block in rows(message.get("content")) if block.get("type") == "text"]),
            input_tokens=_largest(had.input_tokens, whole(usage.get("input_tokens"))),
            output_tokens=_largest(had.output_tokens, whole(usage.get("output_tokens"))),
        )
        for counts, key in ((self.cached, "cache_read_input_tokens"), (self.written, "cache_creation_input_tokens")):
            count = whole(usage.get(key))
            if count is not None:
                counts[identity] = max(count, counts.get(identity, 0))
        for block in rows(message.get("content")):
            if block.get("type") == "tool_use":
                self._call(block, agent, time)

    def _call(self, block: Record, agent: str, time: float | None) -> None:
        call, name = read_text(block.get("id"), 200), read_name(block.get("name"))
        if call in self.calls:
            return
        self.calls[call] = len(self.steps)
        arguments = record(bound_value(block.get("input")))
        self.steps.append(Step(StepKind.TOOL, agent, name, id=call, arguments=arguments, start=time))
        if name in _SPAWN:
            self.names[call] = read_name(arguments.get("subagent_type")) or "sub-agent"
            text = read_text(arguments.get("prompt"))
            target = self.names[call]
            self.steps.append(Step(StepKind.HANDOFF, agent, "delegation", target, parent=call, start=time, text=text))

    def _user(self, message: Record, row: Record) -> None:
        content, time = message.get("content"), moment(row.get("timestamp"))
        identity = read_text(row.get("uuid"), 200)
        self.steps.append(Step(StepKind.MESSAGE, "", "user", text=read_text(content), id=identity, start=time))
        for block in rows(content):
            if block.get("type") != "tool_result":
                continue
            at = self.calls.get(read_text(block.get("tool_use_id"), 200))
            if at is None:
                self.unrecognised["tool results without a call"] += 1
                continue
            failed = block.get("is_error") is True
            self.steps[at] = replace(
                self.steps[at], ok=not failed, error="error" if failed else "", end=time,
                result=read_text(block.get("content")),
            )  # fmt: skip

    def trace(self, reader: str) -> Trace:
        notes: tuple[str, ...] = ()
        if self.cached or self.written:
            notes = ("input tokens are those outside the cache, as this log counts them",)
        return make_trace(
            self.steps, reader=reader, notes=notes, unrecognised=dict(self.unrecognised),
            cached_tokens=sum(self.cached.values()) if self.cached else None,
            cache_written_tokens=sum(self.written.values()) if self.written else None, **self.known,
        )  # fmt: skip


def _largest(first: int | None, other: int | None) -> int | None:
    """A stream repeats a reply's usage, and the last is the largest: take it once."""
    if first is None or other is None:
        return other if first is None else first
    return max(first, other)
