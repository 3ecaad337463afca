"""tau-bench's trajectories, and the results of tau2-bench."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from markbook.files.stream import Source
from markbook.trace import ExpectedCall, Reference, Trace
from markbook.traces import Probe
from markbook.traces.chat import RunSteps, chat_steps, objects_with
from markbook.traces.plain import bound_value, moment, number, read_name, read_text, record, rows, whole
from markbook.types import Record


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
        for item in objects_with("traj", source, "trajectory"):
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
