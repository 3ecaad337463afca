"""Gemini CLI: the sessions that it keeps (`session-*.json` and `.jsonl`), and `--output-format stream-json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from markbook.files.stream import Source
from markbook.trace import Step, StepKind, Trace, add_known
from markbook.traces import Probe
from markbook.traces.plain import bound_value, make_trace, moment, read_name, read_text, record, rows, whole
from markbook.types import Record

_AGENT, _HELPER = "gemini", "sub-agent"
_NOTES = frozenset({"info", "warning", "error"})
"""Messages of the program to its user: no part of the chat."""
_OUTCOMES = {"success": True, "error": False, "cancelled": False}
_EVENTS = frozenset({"init", "message", "tool_use", "tool_result", "error", "result"})


class GeminiCli:
    """Reads one session; the program keeps a file of its own for each sub-agent."""

    name = "gemini-cli"

    def sniff(self, probe: Probe) -> int:
        """Return 95 for a session, as one object or as lines, and for the events of a run."""
        for row in probe.sample[:20]:
            if "projectHash" in row and "sessionId" in row:
                return 95
            if row.get("type") == "init" and {"session_id", "model", "timestamp"} <= set(row):
                return 95
        return 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield the session as one run."""
        session = _Session()
        for item in source.items():
            session.add(record(item))
        yield session.trace(self.name)


class _Session:
    def __init__(self) -> None:
        self.messages: dict[str, Record] = {}
        self.known: dict[str, Any] = {}
        self.steps: list[Step] = []
        self.cached: list[int | None] = []
        self.unrecognised: Counter[str] = Counter()
        self.notes: Counter[str] = Counter()
        self._agent = _AGENT
        self._calls: dict[str, int] = {}
        self._goes_on = False

    def add(self, row: Record) -> None:
        """Take a line of a session, a whole session, or an event of a run."""
        if read_name(row.get("type")) in _EVENTS and isinstance(row.get("timestamp"), str) and "id" not in row:
            self._event(row)
        elif "$rewindTo" in row:
            self._rewind(row["$rewindTo"])
        elif isinstance(row.get("$set"), dict):
            self._session(record(row["$set"]))
        elif "sessionId" in row or "messages" in row:
            self._session(row)
        elif identity := read_name(row.get("id")):
            # A message is written again as it grows: the last one is whole.
            self.messages[identity] = row
        else:
            self.unrecognised["rows of an unknown kind"] += 1

    def trace(self, reader: str) -> Trace:
        """Return what the session holds."""
        for message in self.messages.values():
            self._message(message)
        if self.cached:
            self.known["cached_tokens"] = add_known(self.cached)
        return make_trace(
            self.steps, reader=reader, unrecognised=dict(self.unrecognised),
            notes=tuple(f"{count} {what}" for what, count in sorted(self.notes.items())), **self.known,
        )  # fmt: skip

    def _session(self, row: Record) -> None:
        identity = read_name(row.get("sessionId"))
        if identity:
            self.known["id"] = identity
        if row.get("kind") == "subagent":
            self._agent = _HELPER
        for place, message in enumerate(rows(row.get("messages"))):
            # A list that takes the place of an earlier one (a summary, cut results) takes nothing back that was done.
            self.messages.setdefault(read_name(message.get("id")) or f"#{len(self.messages)}.{place}", message)

    def _rewind(self, identity: object) -> None:
        """Leave out a message and what followed; an unknown one stands for the start, as it does for the program."""
        ids = list(self.messages)
        place = ids.index(identity) if identity in ids else 0
        for taken_back in ids[place:]:
            del self.messages[taken_back]
        self.notes["messages taken back by the user, left out"] += len(ids) - place

    def _message(self, row: Record) -> None:
        kind, time = read_name(row.get("type")), moment(row.get("timestamp"))
        if kind in _NOTES:
            self.notes["messages of the program to its user, no step"] += 1
            return
        if kind not in ("user", "gemini"):
            self.unrecognised["messages of an unknown type"] += 1
            return
        is_reply = kind == "gemini"
        usage = record(row.get("tokens")) if is_reply else {}
        if not whole(usage.get("total")):
            usage = {}  # an unknown count is written as 0
        self.cached.append(whole(usage.get("cached")))
        self.steps.append(
            Step(
                StepKind.MESSAGE, self._agent if is_reply else "", "assistant" if is_reply else "user", start=time,
                text=_text(row.get("content")), input_tokens=add_known(whole(usage.get(key)) for key in ("input", "tool")),
                output_tokens=add_known(whole(usage.get(key)) for key in ("output", "thoughts")),
            )
        )  # fmt: skip
        for call in rows(row.get("toolCalls")) if is_reply else ():
            self._call(call)

    def _call(self, call: Record) -> None:
        name = read_name(call.get("name"))
        if not name:
            self.unrecognised["tool calls without a name"] += 1
            return
        status = read_name(call.get("status"))
        ok = _OUTCOMES.get(status)
        self.steps.append(
            Step(
                StepKind.TOOL, self._agent, name, id=read_text(call.get("id"), 200), arguments=bound_value(call.get("args")),
                ok=ok, error=status if ok is False else "", result=_text(call.get("result")),
                end=moment(call.get("timestamp")),  # it is noted when it has ended
            )
        )  # fmt: skip

    def _event(self, row: Record) -> None:
        """Take an event of a run; a reply comes in pieces."""
        kind, time = row["type"], moment(row["timestamp"])
        goes_on, self._goes_on = self._goes_on, False
        if kind == "init":
            self.known["id"] = read_name(row.get("session_id"))
        elif kind == "message":
            is_reply = row.get("role") == "assistant"
            text = read_text(row.get("content"))
            self._goes_on = is_reply and row.get("delta") is True
            if goes_on and self._goes_on:
                self.steps[-1] = replace(self.steps[-1], text=(self.steps[-1].text + text)[:2_000])
                return
            agent, role = (self._agent, "assistant") if is_reply else ("", read_name(row.get("role")) or "message")
            self.steps.append(Step(StepKind.MESSAGE, agent, role, start=time, text=text))
        elif kind == "tool_use":
            identity = read_text(row.get("tool_id"), 200)
            self._calls[identity] = len(self.steps)
            name, given = read_name(row.get("tool_name")) or "unknown tool", bound_value(row.get("parameters"))
            self.steps.append(Step(StepKind.TOOL, self._agent, name, id=identity, start=time, arguments=given))
        elif kind == "tool_result":
            self._answer(row, time)
        elif kind == "result":
            stats = record(row.get("stats"))
            for key, name in (("input", "input_tokens"), ("output", "output_tokens"), ("cached", "cached")):
                self.known[f"{key}_tokens"] = whole(stats.get(name)) if whole(stats.get("total_tokens")) else None
        else:
            self.notes["messages of the program to its user, no step"] += 1

    def _answer(self, row: Record, time: float | None) -> None:
        place = self._calls.get(read_text(row.get("tool_id"), 200))
        if place is None:
            self.unrecognised["tool results without a call"] += 1
            return
        problem, ok = record(row.get("error")), _OUTCOMES.get(read_name(row.get("status")))
        error = read_name(problem.get("type")) or "error" if ok is False else ""
        result = read_text(row.get("output") or problem.get("message"))
        self.steps[place] = replace(self.steps[place], ok=ok, error=error, result=result, end=time)


def _text(content: object) -> str:
    """Return the text of a message or result: a string, or parts with a text or a function's response."""
    if not isinstance(content, dict | list):
        return read_text(content)
    texts = []
    for part in rows(content) if isinstance(content, list) else [content]:
        response = record(part.get("functionResponse")).get("response")
        if response is not None:
            texts.append(read_text(record(response).get("output") or record(response).get("error") or response))
        elif part.get("thought") is not True:
            texts.append(read_text(part.get("text")))
    return "\n".join(text for text in texts if text)[:2_000]
