"""OpenAI Codex: the session logs that it keeps (`rollout-*.jsonl`), and the events of `codex exec --json`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from markbook.files.stream import Source
from markbook.trace import Step, StepKind, Trace
from markbook.traces import Probe
from markbook.traces.plain import (
    bound_value,
    make_trace,
    moment,
    parse_arguments,
    read_name,
    read_text,
    record,
    rows,
    whole,
)
from markbook.types import Record

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
        if any(row.get("type") in _ROWS and isinstance(row.get("payload"), dict) for row in _list_typed_rows(probe)):
            return 95
        kinds = {row["type"] for row in _list_typed_rows(probe)}
        return 90 if "thread.started" in kinds or {"turn.started", "item.completed"} <= kinds else 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield the session as one run."""
        session = _Session()
        for row in source.items():
            session.add(record(row))
        yield make_trace(
            session.steps, reader=self.name, unrecognised=dict(session.unrecognised), **session.known,
        )  # fmt: skip


def _list_typed_rows(probe: Probe) -> list[Record]:
    return [row for row in probe.sample if isinstance(row.get("type"), str)]


class _Session:
    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.unrecognised: Counter[str] = Counter()
        self.known: dict[str, Any] = {}
        self._agent = "codex"
        self._calls: dict[str, int] = {}

    def add(self, row: Record) -> None:
        kind, payload, time = str(row.get("type")), record(row.get("payload")), moment(row.get("timestamp"))
        if kind == "session_meta" and "id" not in self.known:
            self._meta(payload)
        elif kind == "response_item":
            self._item(payload, time)
        elif kind == "event_msg" and payload.get("type") == "token_count":
            self._totals(record(record(payload.get("info")).get("total_token_usage")))
        elif kind == "thread.started":
            self.known["id"] = read_name(row.get("thread_id"))
        elif kind == "item.completed":
            self._done(record(row.get("item")))
        elif kind == "turn.completed":
            self._turn(record(row.get("usage")))
        elif not (kind in _ROWS or kind in ("compacted", "error") or kind.startswith(("turn.", "item."))):
            self.unrecognised[f"rows of type {kind[:40]!r}"] += 1

    def _meta(self, payload: Record) -> None:
        self.known["id"] = read_name(payload.get("id"))
        spawned = record(record(record(payload.get("source")).get("subagent")).get("thread_spawn"))
        self._agent = read_name(spawned.get("agent_nickname") or spawned.get("agent_role")) or self._agent

    def _item(self, payload: Record, time: float | None) -> None:
        kind, call = str(payload.get("type")), read_text(payload.get("call_id"), 200)
        if kind == "message":
            role = read_name(payload.get("role")) or "message"
            agent = self._agent if role == "assistant" else ""
            self.steps.append(Step(StepKind.MESSAGE, agent, role, start=time, text=read_text(payload.get("content"))))
        elif kind in _CALLS:
            name = read_name(payload.get("name")) or kind.removesuffix("_call")
            if call:
                self._calls[call] = len(self.steps)
            arguments = parse_arguments(payload.get(_CALLS[kind]))
            self.steps.append(Step(StepKind.TOOL, self._agent, name, id=call, arguments=arguments, start=time))
        elif kind in _OUTPUTS:
            at = self._calls.get(call)
            if at is None:
                self.unrecognised["tool results without a call"] += 1
                return
            # What a server's tool gives back is a foreign text, not a command's outcome.
            is_command = not self.steps[at].name.startswith("mcp")
            text, ok = _outcome(payload.get("output"), is_command=is_command)
            error = "error" if ok is False else ""
            self.steps[at] = replace(self.steps[at], result=text, ok=ok, error=error, end=time)

    def _totals(self, usage: Record) -> None:
        """Take the session's running sums: the last ones count."""
        for key, name in (("input", "input_tokens"), ("output", "output_tokens"), ("cached", "cached_input_tokens")):
            count = whole(usage.get(name))
            if count is not None:
                self.known[f"{key}_tokens"] = count

    def _turn(self, usage: Record) -> None:
        """Add a turn's own counts."""
        for key, name in (("input", "input_tokens"), ("output", "output_tokens"), ("cached", "cached_input_tokens")):
            count = whole(usage.get(name))
            if count is not None:
                self.known[f"{key}_tokens"] = (self.known.get(f"{key}_tokens") or 0) + count

    def _done(self, item: Record) -> None:
        kind = str(item.get("type") or item.get("item_type"))
        if kind in ("agent_message", "assistant_message"):
            self.steps.append(Step(StepKind.MESSAGE, self._agent, "assistant", text=read_text(item.get("text"))))
        elif kind in _RUN_ITEMS:
            code, status = item.get("exit_code"), item.get("status")
            ok = code == 0 if isinstance(code, int) else {"completed": True, "failed": False}.get(str(status))
            self.steps.append(
                Step(
                    StepKind.TOOL, self._agent, read_name(item.get("tool")) or kind, id=read_text(item.get("id"), 200),
                    arguments=bound_value(item.get(_RUN_ITEMS[kind])), ok=ok, error="" if ok is not False else "failed",
                    result=read_text(item.get("aggregated_output") or item.get("result")),
                )
            )  # fmt: skip
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
    for line in text.split("\n", _MOST_HEADERS)[:_MOST_HEADERS] if is_command else ():
        if match := _CODE.match(line):
            return text, int(match[1]) == 0
        if not _HEADER.match(line):
            break
    return text, None
