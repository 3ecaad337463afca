"""Chats: OpenAI-style messages, Who&When's failure logs, AutoGen's messages, the trajectories of tau-bench and tau2-bench."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from markbook.files.stream import Source
from markbook.trace import ExpectedCall, Reference, Trace
from markbook.traces import Probe
from markbook.traces.chat import ROLES, RunSteps, chat_steps, message_lists, read_objects, with_listeners
from markbook.traces.plain import (
    bound_value,
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
        first = probe.first
        return 95 if "history" in first and ("mistake_agent" in first or "mistake_step" in first) else 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield one run for each log."""
        for item in read_objects(source, "log", "history"):
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
        first = probe.first
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


# tau-bench's trajectories, and the results of tau2-bench.


def _expect_actions(actions: object, key: str, source: str, read: Callable[[object], object]) -> Reference | None:
    """Return the actions of a task as what is expected; a task that lists none says nothing about calls."""
    if not isinstance(actions, list):
        return None
    calls = (ExpectedCall((read_name(action.get("name")),), record(read(action.get(key)))) for action in rows(actions))
    return Reference(tuple(calls), source=source)


class TauBench:
    """Reads tau-bench trajectories: the messages, the reward, and the ground-truth actions as the reference."""

    name = "tau-bench"

    def sniff(self, probe: Probe) -> int:
        """Return 95 for objects with a trajectory and a reward."""
        return 95 if any("traj" in row and "reward" in row for row in probe.sample[:3]) else 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield one run for each trajectory."""
        for item in read_objects(source, "trajectory", "traj"):
            # tau-bench's tools answer a failed call with a text that begins with "Error".
            chat = chat_steps(rows(item["traj"]), agent="agent", error_prefix="Error")
            info = record(item.get("info"))
            error = info.get("error")
            reward = None if error else number(item.get("reward"))  # a crash is noted as 0.0
            actions = record(info.get("task")).get("actions")
            task, trial = str(item.get("task_id", "")), whole(item.get("trial"))
            yield chat.to_trace(
                self.name, id=f"task {task} trial {trial}", task=task, trial=trial, score=reward,
                success=None if reward is None else reward >= 1,
                reference=_expect_actions(actions, "kwargs", "data: the task's ground-truth actions", record),
                notes=(f"the trajectory ended in an error: {read_text(error, 200)}",) if error else (),
            )  # fmt: skip


class Tau2Bench:
    """Reads the simulations of a file; the simulated user is an agent where it calls tools."""

    name = "tau2-bench"

    def sniff(self, probe: Probe) -> int:
        """Return 95 for an object with simulations, or for simulations alone."""
        return 95 if any(_simulations(row) for row in probe.sample[:3]) else 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield one run for each simulation."""
        for item in source.items():
            simulations = _simulations(record(item))
            if not simulations:
                source.problems["objects without a simulation"] += 1
            tasks = {str(task.get("id")): task for task in rows(record(item).get("tasks"))}
            for simulation in simulations:
                yield self._run(simulation, tasks.get(str(simulation.get("task_id")), {}))

    def _run(self, item: Record, task: Record) -> Trace:
        chat = _Simulation("agent")
        for message in rows(item["messages"]):
            chat.add(message)
        reward, cost = number(record(item.get("reward_info")).get("reward")), number(item.get("agent_cost"))
        name, trial = str(item.get("task_id")), whole(item.get("trial"))
        facts: dict[str, Any] = {} if cost is None else {"cost": cost}
        actions = record(task.get("evaluation_criteria")).get("actions")
        return chat.to_trace(
            self.name, id=f"task {name} trial {trial}"[:200], task=name, trial=trial, score=reward,
            success=None if reward is None else reward >= 1,
            reference=_expect_actions(actions, "arguments", "data: the task's expected actions", bound_value),
            notes=("the simulated user's tokens and cost are left out",) if chat.has_user_tokens else (),
            meta={"termination_reason": read_text(item.get("termination_reason"))}, **facts,
        )  # fmt: skip


def _simulations(item: Record) -> list[Record]:
    simulations = rows(item.get("simulations")) or [item]
    return [
        simulation
        for simulation in simulations
        if "task_id" in simulation and "reward_info" in simulation and isinstance(simulation.get("messages"), list)
    ]


class _Simulation(RunSteps):
    has_user_tokens = False

    def add(self, message: Record) -> None:
        role = read_name(message.get("role"))
        if role not in ("system", "user", "assistant", "tool"):
            self.unrecognised["messages with an unknown role"] += 1
            return
        if several := rows(message.get("tool_messages")):  # the answers to parallel calls come in one message
            for answer in several:
                self.add({"role": "tool", **answer})
            return
        is_agent, usage = role == "assistant", record(message.get("usage"))
        self.has_user_tokens |= role == "user" and bool(usage)
        time = moment(message.get("timestamp"))
        self.add_message(
            self.agent if is_agent else "", role, read_text(message.get("content")), start=time,
            input_tokens=whole(usage.get("prompt_tokens")) if is_agent else None,
            output_tokens=whole(usage.get("completion_tokens")) if is_agent else None,
            cost=number(message.get("cost")) if is_agent else None,
        )  # fmt: skip
        if role == "tool":
            at = self.calls.get(read_text(message.get("id"), 200))
            self.answer(at, message.get("content"), ok=message.get("error") is not True, end=time)
        for call in rows(message.get("tool_calls")):
            caller = "user" if call.get("requestor") == "user" or role == "user" else self.agent
            identity, arguments = read_text(call.get("id"), 200), bound_value(call.get("arguments"))
            self.add_call(caller, read_name(call.get("name")), identity, arguments, time)
