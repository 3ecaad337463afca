"""Agents that solve issues of repositories: SWE-agent and mini-swe-agent."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from markbook.files.stream import Source
from markbook.trace import Step, StepKind, Trace, add_known
from markbook.traces import Probe
from markbook.traces.chat import ROLES
from markbook.traces.plain import (
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

# SWE-agent's `.traj`: a history of messages with one action each.


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


# mini-swe-agent's `.traj.json`: a chat whose replies run one shell command or several.

_AGENT, _TOOL = "main", "bash"
_BLOCK = re.compile(r"```(?:bash|mswea_bash_command)[ \t]*\n(.*?)\n?```", re.DOTALL)
_RETURNED = re.compile(r"<returncode>\s*(-?\d{1,9})\s*</returncode>")


class MiniSweAgent:
    """Reads one trajectory; the tool is `bash`, or the function that a reply calls."""

    name = "mini-swe-agent"

    def sniff(self, probe: Probe) -> int:
        """Return 95 for a chat whose format or version says mini-swe-agent."""
        first = probe.sample[0] if probe.sample else {}
        named = str(first.get("trajectory_format")).startswith("mini-swe-agent")
        return 95 if "messages" in first and (named or "mini_version" in record(first.get("info"))) else 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield each trajectory as one run."""
        for item in source.items():
            if isinstance(item, dict) and isinstance(item.get("messages"), list):
                yield self._run(item)
            else:
                source.problems["not a trajectory"] += 1

    def _run(self, item: Record) -> Trace:
        mini_steps = _MiniRun()
        for message in rows(item["messages"]):
            mini_steps.add(message)
        info = record(item.get("info"))
        return make_trace(
            mini_steps.steps, reader=self.name, id=read_name(item.get("instance_id")), unrecognised=dict(mini_steps.unrecognised),
            cost=number(record(info.get("model_stats")).get("instance_cost")), cached_tokens=add_known(mini_steps.cached),
            meta={"exit_status": read_text(info.get("exit_status"))},
        )  # fmt: skip


class _MiniRun:
    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.unrecognised: Counter[str] = Counter()
        self.cached: list[int | None] = []
        self._waiting: list[int] = []

    def add(self, message: Record) -> None:
        role, extra = read_name(message.get("role")).lower(), record(message.get("extra"))
        if role not in ROLES and role != "exit":
            self.unrecognised["messages with an unknown role"] += 1
            return
        is_reply = role == "assistant"
        usage = record(record(extra.get("response")).get("usage")) if is_reply else {}
        self.cached.append(whole(record(usage.get("prompt_tokens_details")).get("cached_tokens")))
        time, text = moment(extra.get("timestamp")), read_text(message.get("content"))
        self.steps.append(
            Step(
                StepKind.MESSAGE, _AGENT if is_reply else "", role, text=text, start=time,
                input_tokens=whole(usage.get("prompt_tokens")), output_tokens=whole(usage.get("completion_tokens")),
                cost=number(extra.get("cost")),
            )
        )  # fmt: skip
        if is_reply:
            self._ask(_list_calls(message, extra), time)
        elif role in ("user", "tool"):
            self._answer(message, extra, time)

    def _ask(self, calls: Sequence[tuple[str, str, object]], time: float | None) -> None:
        # What the reply before asked for and nothing answered was not run: its answer can come no more.
        self._waiting = []
        for call, name, arguments in calls:
            self._waiting.append(len(self.steps))
            self.steps.append(Step(StepKind.TOOL, _AGENT, name, id=call, arguments=arguments, start=time))

    def _answer(self, message: Record, extra: Record, time: float | None) -> None:
        call = read_text(message.get("tool_call_id"), 200)
        at = next((at for at in self._waiting if call and self.steps[at].id == call), None)
        if at is None and self._waiting and not call:
            at = self._waiting[0]
        if at is None:
            return
        self._waiting.remove(at)
        text = read_text(message.get("content"))
        code = whole(extra.get("returncode"))
        returned = _RETURNED.search(text)
        exit_code = code if code is not None or returned is None else int(returned[1])
        ok = None if exit_code is None and extra.get("returncode") is None else exit_code == 0
        self.steps[at] = replace(
            self.steps[at], result=text, ok=ok, error="" if ok is not False else f"returncode {exit_code}", end=time
        )


def _list_calls(message: Record, extra: Record) -> list[tuple[str, str, object]]:
    """Return id, tool and arguments of the calls of a reply: as functions, as parsed actions, or in its text."""
    calls: list[tuple[str, str, object]] = []
    for call in rows(message.get("tool_calls")):
        function = record(call.get("function"))
        name = read_name(function.get("name")) or _TOOL
        calls.append((read_text(call.get("id"), 200), name, parse_arguments(function.get("arguments"))))
    if calls:
        return calls
    for action in to_list(extra.get("actions")):
        command = record(action).get("command") if isinstance(action, dict) else action
        if isinstance(command, str):
            calls.append(
                (read_text(record(action).get("tool_call_id"), 200), _TOOL, {"command": read_text(command, 65_536)})
            )
    if calls:
        return calls
    content = message.get("content")
    blocks = _BLOCK.findall(content) if isinstance(content, str) else []
    # Older versions run a reply with exactly one block and refuse any other.
    return [("", _TOOL, {"command": blocks[0][:65_536]})] if len(blocks) == 1 else []
