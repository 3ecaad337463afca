"""What agent frameworks keep of a run themselves: Google ADK, pydantic-ai, smolagents, agno."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from markbook.files.stream import Source
from markbook.trace import Step, StepKind, Trace, add_known
from markbook.traces import Probe
from markbook.traces.chat import ROLES, RunSteps
from markbook.traces.plain import (
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

# Google ADK's sessions and the event lists that its server answers with, in either spelling of the keys.


class AdkSession:
    """Reads a session, a list of sessions, or the events of one."""

    name = "adk"

    def sniff(self, probe: Probe) -> int:
        """Return 90 for events with an author and an invocation, alone or in a session."""
        for row in probe.sample[:3]:
            events = rows(row.get("events")) or [row]
            if "author" in events[0] and _get_either(events[0], "invocation_id") is not None:
                return 90
        return 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield one run for each session."""
        items = source.items()
        loose = [item for item in rows(items) if "author" in item]
        if loose:
            yield self._run(loose, "")
        for item in items:
            if isinstance(item, dict) and isinstance(item.get("events"), list):
                yield self._run(rows(item["events"]), read_name(item.get("id")))
            elif not isinstance(item, dict) or "author" not in item:
                source.problems["not an event or a session"] += 1

    def _run(self, events: Sequence[Record], identity: str) -> Trace:
        run = _AdkRun()
        for event in events:
            if not event.get("partial"):  # a piece of a reply that comes whole later
                run.add(event)
        return run.to_trace(self.name, id=identity, cached_tokens=add_known(run.cached))


def _get_either(row: Record, name: str) -> Any:
    """Return a value under its Python name or its JSON name."""
    if name in row:
        return row[name]
    first, *rest = name.split("_")
    return row.get(first + "".join(part.title() for part in rest))


class _AdkRun(RunSteps):
    def add(self, event: Record) -> None:
        author = read_name(event.get("author"))
        if not author:
            self.unrecognised["events without an author"] += 1
            return
        time, parts = moment(event.get("timestamp")), rows(record(event.get("content")).get("parts"))
        usage = record(_get_either(event, "usage_metadata"))
        answers = any(_get_either(part, "function_response") is not None for part in parts)
        agent = "" if author == "user" or answers else author
        self.cached.append(whole(_get_either(usage, "cached_content_token_count")))
        if parts or usage:
            written = ("candidates_token_count", "thoughts_token_count")
            self.add_message(
                agent, "tool" if answers else "assistant" if agent else "user", start=time,
                text=read_text("\n".join(read_text(part.get("text")) for part in parts if part.get("text"))),
                error=read_text(_get_either(event, "error_message") or _get_either(event, "error_code"), 200),
                input_tokens=whole(_get_either(usage, "prompt_token_count")),
                output_tokens=add_known(whole(_get_either(usage, key)) for key in written),
            )  # fmt: skip
        for part in parts:
            call = record(_get_either(part, "function_call"))
            if name := read_name(call.get("name")):
                identity = read_text(call.get("id"), 200)
                self.open.add(len(self.steps), identity, name)
                self.add_call(author, name, identity, bound_value(call.get("args")), time)
            self._answer(record(_get_either(part, "function_response")), time)
        if target := read_name(_get_either(record(event.get("actions")), "transfer_to_agent")):
            self.add_handoff(author, "handoff", target, start=time)

    def _answer(self, answer: Record, time: float | None) -> None:
        name, identity = read_name(answer.get("name")), read_text(answer.get("id"), 200)
        if not name:
            return
        at = self.open.answer(identity, "" if identity else name)
        if at is None:  # a long call answers twice: that it runs, and what came of it
            at = self.open.find_answered(identity or name)
        response = answer.get("response")
        error = record(response).get("error")
        failed = bool(error) or record(response).get("status") == "error"
        self.answer(at, response, ok=not failed, error=read_text(error, 200), end=time)


# pydantic-ai's message history (`result.all_messages_json()`).

_QUIET = frozenset({"user-prompt", "system-prompt", "instructions", "text", "thinking", "file", "compaction"})
_BUILTIN = {"builtin-tool-call": "tool-call", "builtin-tool-return": "tool-return"}


class PydanticAIMessages:
    """Reads a list of requests and responses."""

    name = "pydantic-ai"

    def sniff(self, probe: Probe) -> int:
        """Return 90 for messages with `kind` and `parts`."""
        first = probe.first
        return 90 if first.get("kind") in ("request", "response") and "parts" in first else 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield one run for each list."""
        items = source.items()
        lists = [item for item in items if isinstance(item, list)] or [items]
        if lists[0] is not items and len(lists) < len(items):
            source.problems["not a list of messages"] += len(items) - len(lists)
        for messages in lists:
            run, identity = _PydanticRun("agent"), ""
            for message in messages:
                if not isinstance(message, dict) or message.get("kind") not in ("request", "response"):
                    run.unrecognised["not a pydantic-ai message"] += 1
                    continue
                identity = identity or read_name(message.get("run_id"))
                run.add(message)
            yield run.to_trace(self.name, id=identity)


class _PydanticRun(RunSteps):
    def add(self, message: Record) -> None:
        parts, usage = rows(message.get("parts")), record(message.get("usage"))
        texts = [read_text(part.get("content")) for part in parts if str(part.get("part_kind")) in _QUIET]
        time, is_reply = moment(message.get("timestamp")), message["kind"] == "response"
        self.add_message(
            self.agent if is_reply else "", "assistant" if is_reply else "user", start=time,
            text=read_text("\n".join(filter(None, texts))),
            input_tokens=whole(usage.get("input_tokens", usage.get("request_tokens"))) if is_reply else None,
            output_tokens=whole(usage.get("output_tokens", usage.get("response_tokens"))) if is_reply else None,
            cost=number(record(message.get("provider_details")).get("cost")),
        )  # fmt: skip
        for part in parts:
            kind = _BUILTIN.get(str(part.get("part_kind")), str(part.get("part_kind")))
            call, name = read_text(part.get("tool_call_id"), 200), read_name(part.get("tool_name"))
            if kind == "tool-call":
                self.open.add(len(self.steps), call, name)
                self.add_call(self.agent, name, call, parse_arguments(part.get("args")), time)
            elif kind in ("tool-return", "retry-prompt"):
                at = self.open.answer(call, "" if call else name) if call or name else None
                failed = kind == "retry-prompt" or part.get("outcome") in ("failed", "denied")
                if at is not None:
                    end = moment(part.get("timestamp"))
                    self.answer(at, part.get("content"), ok=not failed, error="retry" if failed else "", end=end)
                elif kind == "tool-return":  # a retry without a call asks for another reply
                    self.unrecognised["tool returns without a call"] += 1
            elif kind not in _QUIET:
                self.unrecognised[f"parts of kind {kind[:40]!r}"] += 1


# smolagents: a run's result (`RunResult.dict`), or the steps of an agent's memory, as a list or as lines.

_RAN = "AgentToolExecutionError"
"""The error of a call that was run and failed; calls of other failed steps were never run."""


class Smolagents:
    """Reads one agent's memory; what an agent that it manages did stands in that agent's own memory."""

    name = "smolagents"

    def sniff(self, probe: Probe) -> int:
        """Return 95 for steps of a memory, alone or in a result."""
        for row in probe.sample[:3]:
            if any(_is_memory_step(step) for step in [row, *rows(row.get("steps"))[:3]]):
                return 95
        return 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield one run for each result, and one for the steps that stand outside of any."""
        items = source.items()
        loose = [item for item in items if isinstance(item, dict) and _is_memory_step(item)]
        if loose:
            yield self._run(loose, {})
        for item in items:
            steps = record(item).get("steps")
            if isinstance(steps, list):
                yield self._run(steps, item)
            elif not _is_memory_step(record(item)):
                source.problems["not a step"] += 1

    def _run(self, steps: Sequence[object], result: Record) -> Trace:
        memory = _Memory("agent")  # a memory does not say whose it is
        for step in steps:
            memory.add(record(step))
        usage, timing = record(result.get("token_usage")), record(result.get("timing"))
        starts = (moment(timing.get("start_time")), *memory.starts)
        facts: dict[str, Any] = {"start": next((time for time in starts if time is not None), None)}
        facts["end"] = moment(timing.get("end_time")) if timing else max(memory.ends, default=None)
        for name in ("input_tokens", "output_tokens"):
            counts = [getattr(step, name) for step in memory.steps]
            facts[name] = add_known(counts) if any(count is not None for count in counts) else whole(usage.get(name))
        state = read_name(result.get("state"))
        return memory.to_trace(self.name, meta={"state": state} if state else {}, **facts)


def _is_memory_step(row: Record) -> bool:
    """Return whether it is a task, a plan or an action as a memory writes them."""
    is_action = ("step_number" in row or "step" in row) and "model_output" in row and "observations" in row
    return is_action or "task_images" in row or ("plan" in row and "model_output_message" in row)


class _Memory(RunSteps):
    def __init__(self, agent: str) -> None:
        super().__init__(agent)
        self.starts: list[float] = []
        self.ends: list[float] = []

    def add(self, row: Record) -> None:
        """Take a step of the memory: a task, a plan, an action, or the system's prompt."""
        timing = record(row.get("timing")) or row
        start, end = moment(timing.get("start_time")), moment(timing.get("end_time"))
        self.starts += [] if start is None else [start]
        self.ends += [] if end is None else [end]
        if not _is_memory_step(row):
            if "system_prompt" in row:
                self.add_message("", "system", read_text(row["system_prompt"]))
            elif set(row) != {"output"}:  # the last step of a stream repeats the answer
                self.unrecognised["steps of an unknown kind"] += 1
            return
        if "task_images" in row:
            self.add_message("", "user", read_text(row.get("task")))
            return
        reply, usage = record(row.get("model_output_message")), record(row.get("token_usage"))
        self.add_message(
            self.agent, "assistant", read_text(row.get("plan") or row.get("model_output") or reply.get("content")),
            start=start, input_tokens=whole(usage.get("input_tokens")), output_tokens=whole(usage.get("output_tokens")),
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
            at = len(self.steps)
            self.add_call(self.agent, name, read_text(call.get("id"), 200), parse_arguments(function.get("arguments")))
            ok = True if not failure else False if is_single else None
            result = (row.get("observations") or record(error).get("message")) if is_single else ""
            self.answer(at, result, ok=ok, error=failure if is_single else "")


# agno's runs (`RunOutput.to_dict()`), of an agent or of a team with the runs of its members inside.

_DEEPEST_TEAM = 20


class Agno:
    """Reads runs; a member's run is work that its team has handed over."""

    name = "agno"

    def sniff(self, probe: Probe) -> int:
        """Return 92 for objects with a run's id, who ran, and its messages."""
        return 92 if any(_is_agno(row) for row in probe.sample[:3]) else 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield one run for each object."""
        for item in source.items():
            if not isinstance(item, dict) or not _is_agno(item):
                source.problems["not a run"] += 1
                continue
            run = _AgnoRun()
            run.add(item, 0)
            facts: dict[str, Any] = {"cached_tokens": add_known(run.cached)}
            metrics = record(item.get("metrics"))
            for name in ("input_tokens", "output_tokens"):
                # The run's own sum stands in where no message has a count; it knows nothing of members.
                if all(getattr(step, name) is None for step in run.steps) and not item.get("member_responses"):
                    facts[name] = whole(metrics.get(name))
            yield run.to_trace(self.name, id=read_name(item.get("run_id")), **facts)


def _is_agno(row: Record) -> bool:
    return "run_id" in row and bool({"agent_id", "team_id"} & set(row)) and isinstance(row.get("messages"), list)


class _AgnoRun(RunSteps):
    def add(self, item: Record, depth: int) -> str:
        """Take a run with those of its members, and return who ran."""
        named = item.get("agent_name") or item.get("team_name") or item.get("agent_id") or item.get("team_id")
        agent = read_name(named) or "agent"
        for message in rows(item.get("messages")):
            if message.get("from_history") is True:
                self.notes["messages of earlier runs, left out"] += 1
            else:
                self._message(message, agent)
        members = rows(item.get("member_responses"))
        if members and depth >= _DEEPEST_TEAM:
            self.unrecognised["members nested too deeply"] += len(members)
            members = []
        for member in members:
            at = len(self.steps)
            name = self.add(member, depth + 1)
            self.steps.insert(at, Step(StepKind.HANDOFF, agent, "delegation", name))
            self.calls.clear()  # the places behind the hand-off have moved, and its calls are answered
        return agent

    def _message(self, message: Record, agent: str) -> None:
        role, metrics = read_name(message.get("role")).lower(), record(message.get("metrics"))
        if role not in ROLES:
            self.unrecognised["messages with an unknown role"] += 1
            return
        is_reply, time = role == "assistant", moment(message.get("created_at"))
        self.cached.append(whole(metrics.get("cache_read_tokens")) if is_reply else None)
        self.add_message(
            agent if is_reply else "", role, read_text(message.get("content")), start=time,
            input_tokens=whole(metrics.get("input_tokens")) if is_reply else None,
            output_tokens=whole(metrics.get("output_tokens")) if is_reply else None,
        )  # fmt: skip
        if role == "tool":
            failed = message.get("tool_call_error")
            ok = not failed if isinstance(failed, bool) else None
            at = self.calls.get(read_text(message.get("tool_call_id"), 200))
            self.answer(at, message.get("content"), ok=ok, end=time)
        for call in rows(message.get("tool_calls")) if is_reply else ():
            function = record(call.get("function"))
            arguments = parse_arguments(function.get("arguments"))
            self.add_call(agent, read_name(function.get("name")), read_text(call.get("id"), 200), arguments, time)
