"""Claude Code's `--output-format stream-json`: one event a line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from markbook.trace import Step, StepKind, Trace
from markbook.traces.plain import bounded, make_trace, name_of, number, record, rows, text_of, whole
from markbook.traces.reading import Probe
from markbook.traces.source import Source

_MAIN = "main"
_SPAWN = frozenset({"Agent", "Task"})
"""The tools that start a sub-agent."""
_STRUCTURE = frozenset({"system", "rate_limit_event", "stream_event", "control_request", "control_response"})


class ClaudeCode:
    """Reads one session; sub-agents are told apart by the tool call that started them."""

    name = "claude-code"

    def sniff(self, probe: Probe) -> int:
        """Return 95 for lines with a type and a session id."""
        kinds = {str(row.get("type")) for row in probe.sample if "session_id" in row or "sessionId" in row}
        return 95 if kinds & {"system", "assistant", "user", "result"} else 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield the session as one run."""
        session = _Session()
        document = source.document()
        for row in document if isinstance(document, list) else [document]:
            session.add(record(row))
        yield session.trace(self.name)


class _Session:
    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.unrecognised: Counter[str] = Counter()
        self.names: dict[str, str] = {}
        self.replies: dict[str, int] = {}
        self.calls: dict[str, int] = {}
        self.cached: dict[str, int] = {}
        self.known: dict[str, Any] = {}

    def add(self, row: Mapping[str, Any]) -> None:
        kind = str(row.get("type"))
        if kind == "assistant":
            self._assistant(record(row.get("message")), self._agent(row))
        elif kind == "user":
            self._user(record(row.get("message")), row)
        elif kind == "result":
            self.known["cost"] = number(row.get("total_cost_usd"))
            self.known["success"] = None if row.get("is_error") is None else not row.get("is_error")
        elif kind not in _STRUCTURE:
            self.unrecognised[f"events of type {kind[:40]!r}"] += 1
        if kind == "system" and row.get("subtype") == "init":
            self.known["id"] = name_of(row.get("session_id"))

    def _agent(self, row: Mapping[str, Any]) -> str:
        started_by = text_of(row.get("parent_tool_use_id"), 200)
        return self.names.get(started_by, "sub-agent") if started_by else _MAIN

    def _assistant(self, message: Mapping[str, Any], agent: str) -> None:
        """Take one content block: a reply comes in several events that repeat its id and its usage."""
        identity = text_of(message.get("id"), 200) or f"reply {len(self.replies)}"
        usage = record(message.get("usage"))
        if identity not in self.replies:
            self.replies[identity] = len(self.steps)
            self.steps.append(Step(StepKind.MESSAGE, agent, "assistant", id=identity))
        at = self.replies[identity]
        had = self.steps[at]
        self.steps[at] = replace(
            had,
            text=had.text or text_of([block for block in rows(message.get("content")) if block.get("type") == "text"]),
            input_tokens=_largest(had.input_tokens, whole(usage.get("input_tokens"))),
            output_tokens=_largest(had.output_tokens, whole(usage.get("output_tokens"))),
        )
        read = whole(usage.get("cache_read_input_tokens"))
        if read is not None:
            self.cached[identity] = max(read, self.cached.get(identity, 0))
        for block in rows(message.get("content")):
            if block.get("type") == "tool_use":
                self._call(block, agent)

    def _call(self, block: Mapping[str, Any], agent: str) -> None:
        call, name = text_of(block.get("id"), 200), name_of(block.get("name"))
        if call in self.calls:
            return
        self.calls[call] = len(self.steps)
        given = record(bounded(block.get("input")))
        self.steps.append(Step(StepKind.TOOL, agent, name, id=call, arguments=given))
        if name in _SPAWN:
            self.names[call] = name_of(given.get("subagent_type")) or "sub-agent"
            text = text_of(given.get("prompt"))
            self.steps.append(Step(StepKind.HANDOFF, agent, "delegation", self.names[call], parent=call, text=text))

    def _user(self, message: Mapping[str, Any], row: Mapping[str, Any]) -> None:
        content = message.get("content")
        self.steps.append(Step(StepKind.MESSAGE, "", "user", text=text_of(content), id=text_of(row.get("uuid"), 200)))
        for block in rows(content):
            if block.get("type") != "tool_result":
                continue
            at = self.calls.get(text_of(block.get("tool_use_id"), 200))
            if at is None:
                self.unrecognised["tool results without a call"] += 1
                continue
            failed = block.get("is_error") is True
            self.steps[at] = replace(
                self.steps[at], ok=not failed, error="error" if failed else "", result=text_of(block.get("content"))
            )

    def trace(self, reader: str) -> Trace:
        notes: tuple[str, ...] = ()
        if self.cached:
            notes = ("input tokens are those outside the cache, as this log counts them",)
        return make_trace(
            self.steps, reader=reader, notes=notes, unrecognised=dict(self.unrecognised),
            cached_tokens=sum(self.cached.values()) if self.cached else None, **self.known,
        )  # fmt: skip


def _largest(one: int | None, other: int | None) -> int | None:
    """A stream repeats a reply's usage, and the last is the largest: take it once."""
    if one is None or other is None:
        return other if one is None else one
    return max(one, other)
