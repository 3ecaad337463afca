"""What coding agents on a command line keep of a session: Claude Code, OpenAI Codex, Gemini CLI."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from markbook.files.stream import Source
from markbook.trace import Trace, add_known
from markbook.traces import Probe
from markbook.traces.chat import RunSteps
from markbook.traces.plain import (
    MAX_TEXT,
    bound_value,
    moment,
    number,
    parse_arguments,
    read_name,
    read_text,
    record,
    rows,
    whole,
)
from markbook.types import Record

# Claude Code: `--output-format stream-json` and the session logs that it keeps, one event a line.
#
# A stream names the call that started a sub-agent on each of its rows (`parent_tool_use_id`). A session log marks them
# with `isSidechain`; newer ones add an `agentId`, which the call's result names too, in older ones the rows hang together
# by `parentUuid` and the first repeats the call's prompt.

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
        if any(str(row.get("type")) in _OTHERS for row in probe.sample):
            return 0
        kinds = {str(row.get("type")) for row in probe.sample if "session_id" in row or "sessionId" in row}
        return 95 if kinds & {"system", "assistant", "user", "result"} else 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield the session as one run."""
        # The whole log is needed first: only the result of a call, further down, may say which sub-agent it started.
        events = [record(row) for row in source.items()]
        session = _ClaudeSession(_Sidechains(events))
        for row in events:
            session.add(row)
        yield session.to_trace(self.name, **session.facts())


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
            if row.get("isSidechain") is not True:
                continue
            agent, above = read_name(row.get("agentId")), read_name(row.get("parentUuid"))
            call = self._by_agent.get(agent, "") or self._by_row.get(above, "")
            if not call and (waiting := prompts.get(read_text(record(row.get("message")).get("content")), [])):
                call = waiting.pop(0)  # two calls with one prompt: the first rows are the first call's
            if call and agent:
                self._by_agent[agent] = call
            if call:
                self._by_row[read_name(row.get("uuid"))] = call

    def call(self, row: Record) -> str:
        """Return the id of the call that started a row's agent, empty where nothing says."""
        return self._by_agent.get(read_name(row.get("agentId")), "") or self._by_row.get(read_name(row.get("uuid")), "")


class _ClaudeSession(RunSteps):
    def __init__(self, sidechains: _Sidechains) -> None:
        super().__init__("main")
        self.sidechains = sidechains
        self.names: dict[str, str] = {}
        self.replies: dict[str, int] = {}
        self.cache: dict[str, dict[str, int]] = {"cached_tokens": {}, "cache_written_tokens": {}}

    def add(self, row: Record) -> None:
        kind, message, time = str(row.get("type")), record(row.get("message")), moment(row.get("timestamp"))
        if kind == "assistant":
            self._reply(message, self._name_agent(row), time)
        elif kind == "user":
            self.add_message(
                "", "user", read_text(message.get("content")), id=read_text(row.get("uuid"), 200), start=time
            )
            for block in rows(message.get("content")):
                if block.get("type") == "tool_result":
                    at = self.calls.get(read_text(block.get("tool_use_id"), 200))
                    self.answer(at, block.get("content"), ok=block.get("is_error") is not True, end=time)
        elif kind == "result":
            self.known["cost"] = number(row.get("total_cost_usd"))
            broke_off = row.get("is_error") or str(row.get("subtype")).startswith("error")
            # Without `is_error` nothing says how the session ended, and that is not a success.
            self.known["success"] = False if broke_off else None if row.get("is_error") is None else True
        elif kind not in _STRUCTURE:
            self.unrecognised[f"events of type {kind[:40]!r}"] += 1
        if kind == "system" and row.get("subtype") == "init":
            self.known["id"] = read_name(row.get("session_id"))
        elif not self.known.get("id"):
            self.known["id"] = read_name(row.get("sessionId"))

    def _name_agent(self, row: Record) -> str:
        started_by = read_text(row.get("parent_tool_use_id"), 200)
        if row.get("isSidechain") is True:
            started_by = started_by or self.sidechains.call(row)
            # What nothing ties to a call is still one agent for each id.
            return self.names.get(started_by) or " ".join(filter(None, ("sub-agent", read_name(row.get("agentId")))))
        return self.names.get(started_by, "sub-agent") if started_by else self.agent

    def _reply(self, message: Record, agent: str, time: float | None) -> None:
        """Take one content block: a reply comes in several events that repeat its id and its usage."""
        identity = read_text(message.get("id"), 200) or f"reply {len(self.replies)}"
        usage, blocks = record(message.get("usage")), rows(message.get("content"))
        if identity not in self.replies:
            self.replies[identity] = len(self.steps)
            self.add_message(agent, "assistant", id=identity, start=time)
        at = self.replies[identity]
        before, texts = self.steps[at], [block for block in blocks if block.get("type") == "text"]
        # A stream repeats a reply's usage as it grows: the largest count is that of the whole reply, and counts once.
        self.steps[at] = replace(
            before, text=before.text or (read_text(texts) if texts else ""),
            input_tokens=_largest(before.input_tokens, whole(usage.get("input_tokens"))),
            output_tokens=_largest(before.output_tokens, whole(usage.get("output_tokens"))),
        )  # fmt: skip
        for fact, key in (
            ("cached_tokens", "cache_read_input_tokens"),
            ("cache_written_tokens", "cache_creation_input_tokens"),
        ):
            if (count := whole(usage.get(key))) is not None:
                self.cache[fact][identity] = max(count, self.cache[fact].get(identity, 0))
        for block in blocks:
            call, name = read_text(block.get("id"), 200), read_name(block.get("name"))
            # Events of a stream repeat their blocks: a call that is known already is not a second one.
            if block.get("type") != "tool_use" or (call and call in self.calls):
                continue
            arguments = record(bound_value(block.get("input")))
            self.add_call(agent, name, call, arguments, time)
            if name in _SPAWN:
                target = self.names[call] = read_name(arguments.get("subagent_type")) or "sub-agent"
                text = read_text(arguments.get("prompt"))
                self.add_handoff(agent, "delegation", target, parent=call, start=time, text=text)

    def facts(self) -> dict[str, Any]:
        """Return what the session says as a whole."""
        sums = {fact: sum(counts.values()) if counts else None for fact, counts in self.cache.items()}
        is_beside = any(self.cache.values())
        note = {"notes": ("input tokens are those outside the cache, as this log counts them",)} if is_beside else {}
        return sums | note


def _largest(first: int | None, other: int | None) -> int | None:
    return max((count for count in (first, other) if count is not None), default=None)


# OpenAI Codex: the session logs that it keeps (`rollout-*.jsonl`), and the events of `codex exec --json`.

_ROWS = frozenset({"session_meta", "response_item", "event_msg", "turn_context"})
_CALLS = {"function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action",
          "web_search_call": "action"}  # fmt: skip
"""Items that are tool calls, and where their arguments stand."""
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
_RUN_ITEMS = {"command_execution": "command", "mcp_tool_call": "arguments", "file_change": "changes",
              "web_search": "query"}  # fmt: skip
"""Items of `codex exec` that are tool calls, and where their arguments stand."""
_CODE = re.compile(r"(?:Exit code:|Process exited with code) (-?\d{1,9})\b")
_HEADER = re.compile(
    r"(?:Exit code|Process exited|Chunk ID|Wall time|Command|Original token count|Total output lines)\b"
)
"""What a line says that Codex itself writes above the output of a command."""
_MOST_HEADERS = 12


class Codex:
    """Reads one session; Codex writes a file for each of its sub-agents."""

    name = "codex"

    def sniff(self, probe: Probe) -> int:
        """Return 95 for rows with a type and payload of Codex, 90 for the events of a run."""
        if any(str(row.get("type")) in _ROWS and isinstance(row.get("payload"), dict) for row in probe.sample):
            return 95
        kinds = {str(row.get("type")) for row in probe.sample}
        return 90 if "thread.started" in kinds or {"turn.started", "item.completed"} <= kinds else 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield the session as one run."""
        session = _CodexSession("codex")
        for row in source.items():
            session.add(record(row))
        yield session.to_trace(self.name)


class _CodexSession(RunSteps):
    def add(self, row: Record) -> None:
        kind, payload = str(row.get("type")), record(row.get("payload"))
        if kind == "session_meta" and "id" not in self.known:
            self.known["id"] = read_name(payload.get("id"))
            spawned = record(record(record(payload.get("source")).get("subagent")).get("thread_spawn"))
            self.agent = read_name(spawned.get("agent_nickname") or spawned.get("agent_role")) or self.agent
        elif kind == "response_item":
            self._item(payload, moment(row.get("timestamp")))
        elif kind == "event_msg" and payload.get("type") == "token_count":
            # The session's running sums: the last ones count
            self._count(record(record(payload.get("info")).get("total_token_usage")), adds=False)
        elif kind == "thread.started":
            self.known["id"] = read_name(row.get("thread_id"))
        elif kind == "item.completed":
            self._done(record(row.get("item")))
        elif kind == "turn.completed":
            # These count one turn each, where a session's log has running sums.
            self._count(record(row.get("usage")), adds=True)
        elif not (kind in _ROWS or kind in ("compacted", "error") or kind.startswith(("turn.", "item."))):
            self.unrecognised[f"rows of type {kind[:40]!r}"] += 1

    def _item(self, payload: Record, time: float | None) -> None:
        kind, call = str(payload.get("type")), read_text(payload.get("call_id"), 200)
        if kind == "message":
            role = read_name(payload.get("role")) or "message"
            agent = self.agent if role == "assistant" else ""
            self.add_message(agent, role, read_text(payload.get("content")), start=time)
        elif kind in _CALLS:
            name = read_name(payload.get("name")) or kind.removesuffix("_call")
            self.add_call(self.agent, name, call, parse_arguments(payload.get(_CALLS[kind])), time)
        elif kind in _OUTPUTS:
            at = self.calls.get(call) if call else None  # searches have no id, and no output either
            # What a server's tool gives back is a foreign text, not a command's outcome.
            is_command = at is not None and not self.steps[at].name.startswith("mcp")
            text, ok = _outcome(payload.get("output"), is_command=is_command)
            self.answer(at, text, ok=ok, end=time)

    def _count(self, usage: Record, *, adds: bool) -> None:
        for key, name in (("input", "input_tokens"), ("output", "output_tokens"), ("cached", "cached_input_tokens")):
            if (count := whole(usage.get(name))) is not None:
                before = self.known.get(f"{key}_tokens") or 0
                self.known[f"{key}_tokens"] = before + count if adds else count

    def _done(self, item: Record) -> None:
        kind = str(item.get("type") or item.get("item_type"))
        if kind in ("agent_message", "assistant_message"):
            self.add_message(self.agent, "assistant", read_text(item.get("text")))
        elif kind in _RUN_ITEMS:
            code, status = item.get("exit_code"), item.get("status")
            ok = code == 0 if isinstance(code, int) else {"completed": True, "failed": False}.get(str(status))
            at = len(self.steps)
            arguments = bound_value(item.get(_RUN_ITEMS[kind]))
            self.add_call(self.agent, read_name(item.get("tool")) or kind, read_text(item.get("id"), 200), arguments)
            self.answer(
                at, item.get("aggregated_output") or item.get("result"), ok=ok, error="failed" if ok is False else ""
            )
        elif kind not in ("reasoning", "todo_list", "error"):
            self.unrecognised[f"items of type {kind[:40]!r}"] += 1


def _outcome(output: object, *, is_command: bool) -> tuple[str, bool | None]:
    """Return the text of a call's output and whether the call succeeded, where the output says it."""
    parsed_output = parse_arguments(output)
    if isinstance(parsed_output, dict):
        success, code = parsed_output.get("success"), record(parsed_output.get("metadata")).get("exit_code")
        ok = success if isinstance(success, bool) else code == 0 if isinstance(code, int) else None
        return read_text(parsed_output.get("output") or parsed_output.get("content") or parsed_output), ok
    text = read_text(
        "\n".join(read_text(row.get("text")) for row in rows(output)) if isinstance(output, list) else output
    )
    # Only the lines on top, which Codex itself writes: a command's own output may hold the same words.
    for line in text.split("\n", _MOST_HEADERS)[:_MOST_HEADERS] if is_command else ():
        if match := _CODE.match(line):
            return text, int(match[1]) == 0
        if not _HEADER.match(line):
            break
    return text, None


# Gemini CLI: the sessions that it keeps (`session-*.json` and `.jsonl`), and `--output-format stream-json`.

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
        session = _GeminiSession("gemini")
        for item in source.items():
            session.add(record(item))
        session.add_messages()
        yield session.to_trace(self.name)


class _GeminiSession(RunSteps):
    def __init__(self, agent: str) -> None:
        super().__init__(agent)
        self.messages: dict[str, Record] = {}
        self._goes_on = False

    def add(self, row: Record) -> None:
        """Take a line of a session, a whole session, or an event of a run."""
        if read_name(row.get("type")) in _EVENTS and isinstance(row.get("timestamp"), str) and "id" not in row:
            self._event(row)
        elif "$rewindTo" in row:
            # Leave out a message and what followed; an unknown one stands for the start, as it does for the program
            ids = list(self.messages)
            place = ids.index(row["$rewindTo"]) if row["$rewindTo"] in ids else 0
            for taken_back in ids[place:]:
                del self.messages[taken_back]
            self.notes["messages taken back by the user, left out"] += len(ids) - place
        elif isinstance(row.get("$set"), dict):
            self._session(record(row["$set"]))
        elif "sessionId" in row or "messages" in row:
            self._session(row)
        elif identity := read_name(row.get("id")):
            # A message is written again as it grows: the last one is whole.
            self.messages[identity] = row
        else:
            self.unrecognised["rows of an unknown kind"] += 1

    def _session(self, row: Record) -> None:
        if identity := read_name(row.get("sessionId")):
            self.known["id"] = identity
        if row.get("kind") == "subagent":
            self.agent = "sub-agent"
        for place, message in enumerate(rows(row.get("messages"))):
            # A list that takes the place of an earlier one (a summary, cut results) takes nothing back that was done.
            self.messages.setdefault(read_name(message.get("id")) or f"#{len(self.messages)}.{place}", message)

    def add_messages(self) -> None:
        """Take the messages that stand when all is read: until then they are written again or taken back."""
        for row in self.messages.values():
            kind, time = read_name(row.get("type")), moment(row.get("timestamp"))
            if kind == "user":
                self.add_message("", "user", _gemini_text(row.get("content")), start=time)
            elif kind == "gemini":
                self._reply(row, time)
            elif kind in _NOTES:
                self.notes["messages of the program to its user, no step"] += 1
            else:
                self.unrecognised["messages of an unknown type"] += 1
        if self.cached:
            self.known["cached_tokens"] = add_known(self.cached)

    def _reply(self, row: Record, time: float | None) -> None:
        usage = record(row.get("tokens"))
        if not whole(usage.get("total")):
            usage = {}  # an unknown count is written as 0
        self.cached.append(whole(usage.get("cached")))
        self.add_message(
            self.agent, "assistant", _gemini_text(row.get("content")), start=time,
            input_tokens=add_known(whole(usage.get(key)) for key in ("input", "tool")),
            output_tokens=add_known(whole(usage.get(key)) for key in ("output", "thoughts")),
        )  # fmt: skip
        for call in rows(row.get("toolCalls")):
            name, status = read_name(call.get("name")), read_name(call.get("status"))
            if not name:
                self.unrecognised["tool calls without a name"] += 1
                continue
            at, ok = len(self.steps), _OUTCOMES.get(status)
            self.add_call(self.agent, name, read_text(call.get("id"), 200), bound_value(call.get("args")))
            ended = moment(call.get("timestamp"))  # a call is noted when it has ended
            self.answer(at, _gemini_text(call.get("result")), ok=ok, error=status if ok is False else "", end=ended)

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
                self.steps[-1] = replace(self.steps[-1], text=(self.steps[-1].text + text)[:MAX_TEXT])
                return
            agent, role = (self.agent, "assistant") if is_reply else ("", read_name(row.get("role")) or "message")
            self.add_message(agent, role, text, start=time)
        elif kind == "tool_use":
            name = read_name(row.get("tool_name")) or "unknown tool"
            self.add_call(
                self.agent, name, read_text(row.get("tool_id"), 200), bound_value(row.get("parameters")), time
            )
        elif kind == "tool_result":
            problem, ok = record(row.get("error")), _OUTCOMES.get(read_name(row.get("status")))
            error = read_name(problem.get("type")) if ok is False else ""
            at = self.calls.get(read_text(row.get("tool_id"), 200))
            self.answer(at, row.get("output") or problem.get("message"), ok=ok, error=error, end=time)
        elif kind == "result":
            stats = record(row.get("stats"))
            for key, name in (("input", "input_tokens"), ("output", "output_tokens"), ("cached", "cached")):
                self.known[f"{key}_tokens"] = whole(stats.get(name)) if whole(stats.get("total_tokens")) else None
        else:
            self.notes["messages of the program to its user, no step"] += 1


def _gemini_text(content: object) -> str:
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
    return "\n".join(text for text in texts if text)[:MAX_TEXT]
