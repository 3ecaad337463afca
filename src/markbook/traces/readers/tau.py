"""tau-bench's trajectories, and the results of tau2-bench."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from markbook.files.stream import Source
from markbook.trace import ExpectedCall, Reference, Step, StepKind, Trace
from markbook.traces import Probe
from markbook.traces.chat import chat_steps
from markbook.traces.plain import bound_value, make_trace, moment, number, read_name, read_text, record, rows, whole
from markbook.types import Record

# tau-bench: the messages, the reward and the ground-truth actions of a task.


class TauBench:
    """Reads tau-bench trajectories: the messages, the reward, and the ground-truth actions as the reference."""

    name = "tau-bench"

    def sniff(self, probe: Probe) -> int:
        """Return 95 for objects with a trajectory and a reward."""
        return 95 if any("traj" in row and "reward" in row for row in probe.sample[:3]) else 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield one run for each trajectory."""
        for item in source.items():
            if not isinstance(item, dict) or not isinstance(item.get("traj"), list):
                source.problems["not a trajectory"] += 1
                continue
            yield self._run(item)

    def _run(self, item: Record) -> Trace:
        # tau-bench's tools answer a failed call with a text that begins with "Error".
        chat = chat_steps(rows(item["traj"]), agent="agent", error_prefix="Error")
        error = record(item.get("info")).get("error")
        reward = None if error else number(item.get("reward"))  # a crash is noted as 0.0
        actions = record(record(item.get("info")).get("task")).get("actions")
        reference = None
        if isinstance(actions, list):
            calls = tuple(
                ExpectedCall((read_name(action.get("name")),), record(action.get("kwargs"))) for action in rows(actions)
            )
            reference = Reference(calls, source="data: the task's ground-truth actions")
        task, trial = str(item.get("task_id", "")), whole(item.get("trial"))
        return make_trace(
            chat.steps, reader=self.name, id=f"task {task} trial {trial}", task=task, trial=trial, score=reward,
            success=None if reward is None else reward >= 1, reference=reference, unrecognised=dict(chat.unrecognised),
            notes=(f"the trajectory ended in an error: {read_text(error, 200)}",) if error else (),
        )  # fmt: skip


# tau2-bench's results: simulations of an agent and a user who may call tools too, with rewards and expected actions.

_AGENT, _USER = "agent", "user"


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
                yield _run(simulation, tasks.get(str(simulation.get("task_id")), {}), self.name)


def _simulations(item: Record) -> list[Record]:
    simulations = rows(item.get("simulations")) or [item]
    return [
        simulation
        for simulation in simulations
        if "task_id" in simulation and "reward_info" in simulation and isinstance(simulation.get("messages"), list)
    ]


def _run(item: Record, task: Record, reader: str) -> Trace:
    chat = _Simulation()
    for message in rows(item["messages"]):
        chat.add(message)
    reward = number(record(item.get("reward_info")).get("reward"))
    name, trial = str(item.get("task_id")), whole(item.get("trial"))
    notes = ("the simulated user's tokens and cost are left out",) if chat.has_user_tokens else ()
    facts: dict[str, Any] = {}
    if number(item.get("agent_cost")) is not None:
        facts["cost"] = number(item.get("agent_cost"))
    return make_trace(
        chat.steps, reader=reader, id=f"task {name} trial {trial}"[:200], task=name, trial=trial, score=reward,
        success=None if reward is None else reward >= 1, reference=_reference(task), notes=notes,
        unrecognised=dict(chat.unrecognised), meta={"termination_reason": read_text(item.get("termination_reason"))},
        **facts,
    )  # fmt: skip


def _reference(task: Record) -> Reference | None:
    """Return the actions that the task's criteria name; a task that names none says nothing about calls."""
    actions = record(task.get("evaluation_criteria")).get("actions")
    if not isinstance(actions, list):
        return None
    calls = tuple(
        ExpectedCall((read_name(action.get("name")),), record(bound_value(action.get("arguments"))))
        for action in rows(actions)
    )
    return Reference(calls, source="data: the task's expected actions")


class _Simulation:
    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.unrecognised: Counter[str] = Counter()
        self.has_user_tokens = False
        self._calls: dict[str, int] = {}

    def add(self, message: Record) -> None:
        role = read_name(message.get("role"))
        if role not in ("system", "user", "assistant", "tool"):
            self.unrecognised["messages with an unknown role"] += 1
            return
        several = rows(message.get("tool_messages"))  # the answers to parallel calls come in one message
        if several:
            for answer in several:
                self.add({"role": "tool", **answer})
            return
        is_agent, usage = role == "assistant", record(message.get("usage"))
        self.has_user_tokens |= role == "user" and bool(usage)
        time = moment(message.get("timestamp"))
        self.steps.append(
            Step(
                StepKind.MESSAGE, _AGENT if is_agent else "", role, start=time, text=read_text(message.get("content")),
                input_tokens=whole(usage.get("prompt_tokens")) if is_agent else None,
                output_tokens=whole(usage.get("completion_tokens")) if is_agent else None,
                cost=number(message.get("cost")) if is_agent else None,
            )
        )  # fmt: skip
        if role == "tool":
            self._answer(message, time)
        for call in rows(message.get("tool_calls")):
            identity, arguments = read_text(call.get("id"), 200), bound_value(call.get("arguments"))
            self._calls[identity] = len(self.steps)
            caller = _USER if call.get("requestor") == "user" or role == "user" else _AGENT
            name = read_name(call.get("name"))
            self.steps.append(Step(StepKind.TOOL, caller, name, id=identity, arguments=arguments, start=time))

    def _answer(self, message: Record, time: float | None) -> None:
        at = self._calls.get(read_text(message.get("id"), 200))
        if at is None:
            self.unrecognised["tool results without a call"] += 1
            return
        failed = message.get("error") is True
        self.steps[at] = replace(
            self.steps[at], ok=not failed, error="error" if failed else "", end=time,
            result=read_text(message.get("content")),
        )  # fmt: skip
