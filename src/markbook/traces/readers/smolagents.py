"""smolagents: a run's result (`RunResult.dict`), or the steps of an agent's memory, as a list or as lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from markbook.files.stream import Source
from markbook.trace import Step, StepKind, Trace, add_known
from markbook.traces import Probe
from markbook.traces.plain import (
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

_AGENT = "agent"
"""A memory does not say whose it is."""
_RAN = "AgentToolExecutionError"
"""The error of a call that was run and failed; calls of other failed steps were never run."""


class Smolagents:
    """Reads one agent's memory; what an agent that it manages did stands in that agent's own memory."""

    name = "smolagents"

    def sniff(self, probe: Probe) -> int:
        """Return 95 for steps of a memory, alone or in a result."""
        for row in probe.sample[:3]:
            if any(_is_step(step) for step in [row, *rows(row.get("steps"))[:3]]):
                return 95
        return 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield one run for each result, and one for the steps that stand outside of any."""
        items = source.items()
        loose = [item for item in items if isinstance(item, dict) and _is_step(item)]
        if loose:
            yield _run(loose, {}, self.name)
        for item in items:
            steps = record(item).get("steps")
            if isinstance(steps, list):
                yield _run(steps, item, self.name)
            elif not _is_step(record(item)):
                source.problems["not a step"] += 1


def _is_step(row: Record) -> bool:
    """Return whether it is a task, a plan or an action as a memory writes them."""
    is_action = ("step_number" in row or "step" in row) and "model_output" in row and "observations" in row
    return is_action or "task_images" in row or ("plan" in row and "model_output_message" in row)


def _run(steps: Sequence[object], result: Record, reader: str) -> Trace:
    memory = _Memory()
    for step in steps:
        memory.add(record(step))
    usage, timing = record(result.get("token_usage")), record(result.get("timing"))
    starts = (moment(timing.get("start_time")), *memory.starts)
    known: dict[str, Any] = {"start": next((time for time in starts if time is not None), None)}
    known["end"] = moment(timing.get("end_time")) if timing else max(memory.ends, default=None)
    for name in ("input_tokens", "output_tokens"):
        counts = [getattr(step, name) for step in memory.steps]
        known[name] = add_known(counts) if any(count is not None for count in counts) else whole(usage.get(name))
    state = read_name(result.get("state"))
    return make_trace(
        memory.steps, reader=reader, unrecognised=dict(memory.unrecognised), meta=({"state": state} if state else {}),
        notes=tuple(f"{count} {what}" for what, count in sorted(memory.notes.items())), **known,
    )  # fmt: skip


class _Memory:
    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.starts: list[float] = []
        self.ends: list[float] = []
        self.notes: Counter[str] = Counter()
        self.unrecognised: Counter[str] = Counter()

    def add(self, row: Record) -> None:
        """Take a step of the memory: a task, a plan, an action, or the system's prompt."""
        timing = record(row.get("timing")) or row
        start, end = moment(timing.get("start_time")), moment(timing.get("end_time"))
        self.starts += [] if start is None else [start]
        self.ends += [] if end is None else [end]
        if not _is_step(row):
            if "system_prompt" in row:
                self.steps.append(Step(StepKind.MESSAGE, "", "system", text=read_text(row["system_prompt"])))
            elif set(row) != {"output"}:  # the last step of a stream repeats the answer
                self.unrecognised["steps of an unknown kind"] += 1
            return
        if "task_images" in row:
            self.steps.append(Step(StepKind.MESSAGE, "", "user", text=read_text(row.get("task"))))
            return
        reply, usage = record(row.get("model_output_message")), record(row.get("token_usage"))
        self.steps.append(
            Step(
                StepKind.MESSAGE, _AGENT, "assistant", start=start, input_tokens=whole(usage.get("input_tokens")),
                output_tokens=whole(usage.get("output_tokens")),
                text=read_text(row.get("plan") or row.get("model_output") or reply.get("content")),
            )
        )  # fmt: skip
        if "plan" not in row:
            self._calls(row, reply)

    def _calls(self, row: Record, reply: Record) -> None:
        """Take the calls of an action. Its times, its error and its observations are those of all its calls."""
        error = row.get("error")
        failure = read_name(record(error).get("type")) or ("error" if error else "")
        calls = rows(row.get("tool_calls"))
        if not calls and failure == _RAN:
            calls = rows(reply.get("tool_calls"))  # the memory lists only calls that came back
        is_single = len(calls) == 1
        if failure and len(calls) > 1:
            self.notes["calls of steps of which one failed: the memory does not say which"] += len(calls)
        for call in calls:
            function = record(call.get("function")) or call
            name = read_name(function.get("name"))
            if not name:
                self.unrecognised["tool calls without a name"] += 1
                continue
            self.steps.append(
                Step(
                    StepKind.TOOL, _AGENT, name, id=read_text(call.get("id"), 200),
                    arguments=parse_arguments(function.get("arguments")),
                    ok=True if not failure else False if is_single else None, error=failure if is_single else "",
                    result=read_text(row.get("observations") or record(error).get("message")) if is_single else "",
                )
            )  # fmt: skip
