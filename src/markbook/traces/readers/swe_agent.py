"""Agents that solve issues of repositories: SWE-agent and mini-swe-agent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from markbook.files.stream import Source
from markbook.trace import Step, StepKind, Trace, add_known
from markbook.traces import Probe
from markbook.traces.chat import ROLES, RunSteps, read_objects
from markbook.traces.plain import moment, number, parse_arguments, read_name, read_text, record, rows, to_list, whole
from markbook.types import Record

# SWE-agent's `.traj`: a history of messages with one action each.


class SweAgent:
    """Reads one trajectory; a tool is the function called, or the first word of the action."""

    name = "swe-agent"

    def sniff(self, probe: Probe) -> int:
        """Return 85 for a history whose entries name their agent, or a trajectory of actions."""
        first = probe.first
        history, trajectory = rows(first.get("history")), rows(first.get("trajectory"))
        if trajectory and "action" in trajectory[0]:
            return 85
        return 85 if history and "agent" in history[0] and "role" in history[0] else 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield the trajectory as one run."""
        for item in read_objects(source, "trajectory"):
            yield self._run(item)

    def _run(self, item: Record) -> Trace:
        run, history = RunSteps("main"), rows(item.get("history"))
        for at, entry in enumerate(history):
            role = read_name(entry.get("role"))
            if not role:
                run.unrecognised["history entries without a role"] += 1
                continue
            agent = read_name(entry.get("agent")) or run.agent
            is_reply = role == "assistant"
            run.add_message(agent if is_reply else "", role, read_text(entry.get("content")))
            if is_reply and not entry.get("is_demo"):
                following = history[at + 1] if at + 1 < len(history) else {}
                answer = "" if following.get("role") == "assistant" else read_text(following.get("content"))
                run.steps.extend(_calls(entry, agent, answer))
        for entry in [] if history else rows(item.get("trajectory")):
            run.add_message(run.agent, "assistant", read_text(entry.get("response") or entry.get("thought")))
            run.steps.extend(_calls(entry, run.agent, read_text(entry.get("observation"))))
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
        return run.to_trace(self.name, id=read_name(item.get("environment")), meta=meta, **facts)


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


# mini-swe-agent's `.traj.json`: a chat whose replies run one shell command or several.

_TOOL = "bash"
_BLOCK = re.compile(r"```(?:bash|mswea_bash_command)[ \t]*\n(.*?)\n?```", re.DOTALL)
_RETURNED = re.compile(r"<returncode>\s*(-?\d{1,9})\s*</returncode>")


class MiniSweAgent:
    """Reads one trajectory; the tool is `bash`, or the function that a reply calls."""

    name = "mini-swe-agent"

    def sniff(self, probe: Probe) -> int:
        """Return 95 for a chat whose format or version says mini-swe-agent."""
        first = probe.first
        named = str(first.get("trajectory_format")).startswith("mini-swe-agent")
        return 95 if "messages" in first and (named or "mini_version" in record(first.get("info"))) else 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield each trajectory as one run."""
        for item in read_objects(source, "trajectory", "messages"):
            run = _MiniRun("main")
            for message in rows(item["messages"]):
                run.add(message)
            info = record(item.get("info"))
            yield run.to_trace(
                self.name, id=read_name(item.get("instance_id")), cached_tokens=add_known(run.cached),
                cost=number(record(info.get("model_stats")).get("instance_cost")),
                meta={"exit_status": read_text(info.get("exit_status"))},
            )  # fmt: skip


class _MiniRun(RunSteps):
    def __init__(self, agent: str) -> None:
        super().__init__(agent)
        self._waiting: list[int] = []

    def add(self, message: Record) -> None:
        role, extra = read_name(message.get("role")).lower(), record(message.get("extra"))
        if role not in ROLES and role != "exit":
            self.unrecognised["messages with an unknown role"] += 1
            return
        is_reply = role == "assistant"
        usage = record(record(extra.get("response")).get("usage")) if is_reply else {}
        self.cached.append(whole(record(usage.get("prompt_tokens_details")).get("cached_tokens")))
        time = moment(extra.get("timestamp"))
        self.add_message(
            self.agent if is_reply else "", role, read_text(message.get("content")), start=time,
            input_tokens=whole(usage.get("prompt_tokens")), output_tokens=whole(usage.get("completion_tokens")),
            cost=number(extra.get("cost")),
        )  # fmt: skip
        if is_reply:
            # What the reply before asked for and nothing answered was not run: its answer can come no more.
            self._waiting = []
            for call, name, arguments in _list_calls(message, extra):
                self._waiting.append(len(self.steps))
                self.add_call(self.agent, name, call, arguments, time)
        elif role in ("user", "tool"):
            self._observe(message, extra, time)

    def _observe(self, message: Record, extra: Record, time: float | None) -> None:
        call = read_text(message.get("tool_call_id"), 200)
        at = next((at for at in self._waiting if call and self.steps[at].id == call), None)
        if at is None and self._waiting and not call:
            at = self._waiting[0]
        if at is None:
            return  # a message of a person, which answers no call
        self._waiting.remove(at)
        text = read_text(message.get("content"))
        code = whole(extra.get("returncode"))
        returned = _RETURNED.search(text)
        exit_code = code if code is not None or returned is None else int(returned[1])
        ok = None if exit_code is None and extra.get("returncode") is None else exit_code == 0
        self.answer(at, text, ok=ok, error="" if ok is not False else f"returncode {exit_code}", end=time)


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
