"""OpenHands: trajectories and the rows of its evaluations, with the events of either generation.

The first generation writes an `action` or an `observation` a row, the second a `kind`. Events come as a list or as
lines, or under `history`, `events`, `items` or `trajectory` of an object.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from markbook.files.stream import Source
from markbook.trace import Step, StepKind, Trace, add_known
from markbook.traces import Probe
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

_HOLDERS = ("history", "events", "items", "trajectory")
_SOURCES = frozenset({"agent", "user", "environment", "hook"})
_KINDS = frozenset({"ActionEvent", "ObservationEvent", "MessageEvent", "SystemPromptEvent", "AgentErrorEvent",
                    "ConversationStateUpdateEvent"})  # fmt: skip
_QUIET = frozenset({
    "null", "recall", "change_agent_state", "agent_state_changed", "condensation", "condensation_request", "condense",
    "pause", "resume", "stop", "success", "loop_recovery", "loop_detection",
    "Condensation", "CondensationRequest", "CondensationSummaryEvent", "PauseEvent", "InterruptEvent", "TokenEvent",
    "LLMCompletionLogEvent", "HookExecutionEvent", "StreamingDeltaEvent", "ConversationErrorEvent",
})  # fmt: skip
"""Events of the program itself: no call, no message."""


class OpenHands:
    """Reads the events of one conversation, or of each row of an evaluation."""

    name = "openhands"

    def sniff(self, probe: Probe) -> int:
        """Return 95 for events of either generation, alone or held by an object."""
        for row in probe.sample[:5]:
            if any(_is_event(event) for event in [row, *_flat(_events(row)[:5])]):
                return 95
        return 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield one run for each object that holds events, and one for events that stand outside of any."""
        items = source.items()
        loose = [event for event in _flat(items) if not _events(event)]
        events = [event for event in loose if _is_event(event)]
        if events:
            yield _run(events, {}, self.name)
        source.problems["not an event"] += len(loose) - len(events)
        source.problems["not an object"] += sum(not isinstance(item, dict | list) for item in items)
        source.problems += Counter()  # what is 0 goes
        for item in items:
            if _events(item):
                yield _run(_flat(_events(item)), item, self.name)


def _events(item: object) -> list[Any]:
    """Return the events that an object holds."""
    return next((events for name in _HOLDERS if (events := to_list(record(item).get(name)))), [])


def _flat(events: Iterable[object]) -> list[Record]:
    """Return the events of a list; older histories pair each action with its observation."""
    return [row for event in events for row in (rows(event) if isinstance(event, list) else rows([event]))]


def _is_event(row: Record) -> bool:
    if isinstance(row.get("kind"), str):
        return row["kind"] in _KINDS and ("source" in row or "timestamp" in row)
    named = isinstance(row.get("action"), str) or isinstance(row.get("observation"), str)
    return named and ("args" in row or "extras" in row or read_name(row.get("source")) in _SOURCES)


def _run(events: Iterable[Record], around: Record, reader: str) -> Trace:
    conversation = _Conversation()
    for event in events:
        conversation.add(event)
    known = conversation.totals() | _spent([record(around.get("metrics"))])
    identity = read_name(around.get("instance_id")) or read_name(around.get("conversation_id"))
    return make_trace(
        conversation.steps, reader=reader, id=identity, task=read_name(around.get("instance_id")),
        unrecognised=dict(conversation.unrecognised), **known,
    )  # fmt: skip


def _spent(metrics: Iterable[Record]) -> dict[str, Any]:
    """Return tokens and cost over several models' running sums; a sum of 0 stands where nothing was counted."""
    sums = list(metrics)
    usages = [record(held.get("accumulated_token_usage")) for held in sums]
    keys = {"input_tokens": "prompt_tokens", "output_tokens": "completion_tokens",
            "cached_tokens": "cache_read_tokens", "cache_written_tokens": "cache_write_tokens"}  # fmt: skip
    known: dict[str, Any] = {
        name: add_known(whole(usage.get(key)) for usage in usages if whole(usage.get("prompt_tokens")))
        for name, key in keys.items()
    }
    costs = [cost for held in sums if (cost := number(held.get("accumulated_cost")))]
    known["cost"] = sum(costs) if costs else None
    return {name: value for name, value in known.items() if value is not None}


class _Conversation:
    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.unrecognised: Counter[str] = Counter()
        self._agents = ["agent"]
        self._calls: dict[str, int] = {}
        self._replies: set[str] = set()
        self._sums: dict[str, Record] = {}
        self._cached: list[int | None] = []

    def totals(self) -> dict[str, Any]:
        """Return the last of the running sums that the events carry, of each use of a model."""
        return {"cached_tokens": add_known(self._cached)} | _spent(self._sums.values())

    def add(self, row: Record) -> None:
        """Take one event."""
        kind, action, observation = row.get("kind"), row.get("action"), row.get("observation")
        if isinstance(row.get("llm_metrics"), dict):
            self._sums["agent"] = record(row["llm_metrics"])
        if isinstance(kind, str):
            self._add_second(row, kind)
        elif isinstance(action, str):
            self._action(row, action)
        elif isinstance(observation, str):
            self._observation(row, observation)
        else:
            self.unrecognised["events without a kind"] += 1

    def _who(self, row: Record) -> str:
        """Return the agent that an event is by, empty for people and the environment."""
        return self._agents[-1] if row.get("source", "agent") == "agent" else ""

    # The first generation.

    def _action(self, row: Record, kind: str) -> None:
        args, time, who = record(row.get("args")), moment(row.get("timestamp")), self._who(row)
        if kind == "system" and len(self._agents) == 1:
            self._agents = [read_name(args.get("agent_class")) or self._agents[0]]
        if kind in ("message", "system"):
            role = kind if kind == "system" else "assistant" if who else "user"
            tokens = record(record(record(row.get("tool_call_metadata")).get("model_response")).get("usage"))
            agent = "" if kind == "system" else who
            self._reply(agent, role, args.get("content") or row.get("message"), time, tokens)
            return
        if kind in _QUIET:
            return
        called = record(row.get("tool_call_metadata"))
        response = record(called.get("model_response"))
        message = record(next(iter(rows(response.get("choices"))), {}).get("message"))
        identity = read_name(response.get("id"))
        if identity not in self._replies and (identity or args.get("thought")):
            # One reply may call several tools: it is one message, and its tokens count once.
            self._replies |= {identity} if identity else set()
            text = message.get("content") or args.get("thought")
            self._reply(who, "assistant", text, time, record(response.get("usage")))
        if kind == "delegate":
            target = read_name(args.get("agent")) or "delegate"
            self.steps.append(Step(StepKind.HANDOFF, who, "delegation", target, start=time))
            self._agents.append(target)
            return
        call = read_text(called.get("tool_call_id"), 200)
        asked = next((one for one in rows(message.get("tool_calls")) if call and one.get("id") == call), {})
        given = record(asked.get("function")).get("arguments")
        self._call(
            row, who, read_name(called.get("function_name")) or kind[:200], call, args if given is None else given
        )

    def _observation(self, row: Record, kind: str) -> None:
        if kind == "delegate" and len(self._agents) > 1:
            self._agents.pop()
        place = self._calls.get(f"#{row.get('cause')}")
        if place is None:
            if kind not in _QUIET and kind not in ("delegate", "message", "error"):
                self.unrecognised["observations without a call"] += 1
            return
        extras = record(row.get("extras"))
        code = record(extras.get("metadata")).get("exit_code", extras.get("exit_code"))
        ok = False if kind in ("error", "user_rejected") else _success(code, row.get("success"))
        error = "" if ok is not False else kind if kind in ("error", "user_rejected") else f"exit code {code}"
        self._answer(place, (ok, error), read_text(row.get("content")), moment(row.get("timestamp")))

    # The second.

    def _add_second(self, row: Record, kind: str) -> None:
        time, who = moment(row.get("timestamp")), self._who(row)
        if kind == "MessageEvent":
            message = record(row.get("llm_message"))
            agent = (read_name(row.get("sender")) or who) if who else ""
            self._replies |= {read_name(row.get("llm_response_id"))} - {""}
            self._reply(agent, "assistant" if who else "user", message.get("content"), time, {})
        elif kind == "SystemPromptEvent":
            self._reply("", "system", record(row.get("system_prompt")).get("text"), time, {})
        elif kind in ("ActionEvent", "ACPToolCallEvent"):
            identity = read_name(row.get("llm_response_id"))
            if identity and identity not in self._replies:
                self._replies.add(identity)
                self._reply(who, "assistant", row.get("thought"), time, {})
            self._tool(row, who)
        elif kind in ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation"):
            self._result(row, kind, time)
        elif kind == "ConversationStateUpdateEvent":
            value = record(row.get("value"))
            stats = value if row.get("key") == "stats" else record(value.get("stats"))
            for use, metrics in record(stats.get("usage_to_metrics")).items():
                self._sums[str(use)] = record(metrics)
        elif kind not in _QUIET:
            self.unrecognised[f"events of kind {kind[:40]!r}"] += 1

    def _tool(self, row: Record, who: str) -> None:
        call = read_text(row.get("tool_call_id"), 200)
        if row["kind"] == "ActionEvent":
            asked = record(row.get("tool_call"))
            name = read_name(row.get("tool_name")) or read_name(asked.get("name")) or "unknown tool"
            self._call(row, who, name, call, asked.get("arguments", row.get("action")))
            return
        # A foreign program's call, which it tells again at each change.
        if call not in self._calls:
            self._call(
                row,
                who,
                read_name(row.get("tool_kind")) or read_name(row.get("title")) or "tool",
                call,
                row.get("raw_input"),
            )
        ok = {"completed": True, "failed": False}.get(str(row.get("status")))
        if ok is not None:
            text, time = read_text(row.get("raw_output") or row.get("content")), moment(row.get("timestamp"))
            self._answer(self._calls[call], (ok, "" if ok else "failed"), text, time)

    def _result(self, row: Record, kind: str, time: float | None) -> None:
        place = self._calls.get(read_text(row.get("tool_call_id"), 200), self._calls.get(f"#{row.get('action_id')}"))
        if place is None:
            self.unrecognised["observations without a call"] += 1
            return
        if kind != "ObservationEvent":
            error = "rejected" if kind == "UserRejectObservation" else "error"
            self._answer(place, (False, error), read_text(row.get("error") or row.get("rejection_reason")), time)
            return
        seen = record(row.get("observation"))
        code = seen.get("exit_code", record(seen.get("metadata")).get("exit_code"))
        failed = seen.get("is_error")
        ok = False if failed is True else _success(code, None if failed is None else not failed)
        error = "" if ok is not False else "error" if failed is True else f"exit code {code}"
        self._answer(place, (ok, error), read_text(seen.get("content") or seen.get("output")), time)

    # Both.

    def _reply(self, agent: str, role: str, text: object, time: float | None, usage: Record) -> None:
        self._cached.append(whole(record(usage.get("prompt_tokens_details")).get("cached_tokens")))
        self.steps.append(
            Step(
                StepKind.MESSAGE, agent, role, start=time, text=read_text(text),
                input_tokens=whole(usage.get("prompt_tokens")), output_tokens=whole(usage.get("completion_tokens")),
            )
        )  # fmt: skip

    def _call(self, row: Record, agent: str, name: str, call: str, arguments: object) -> None:
        for key in (call, f"#{row.get('id')}" if isinstance(row.get("id"), int | str) else ""):
            if key:
                self._calls[key] = len(self.steps)
        given = parse_arguments(arguments)
        time = moment(row.get("timestamp"))
        self.steps.append(Step(StepKind.TOOL, agent, name, id=call, arguments=given, start=time))

    def _answer(self, place: int, outcome: tuple[bool | None, str], result: str, time: float | None) -> None:
        ok, error = outcome
        self.steps[place] = replace(self.steps[place], ok=ok, error=error, result=result, end=time)


def _success(code: object, stated: object) -> bool | None:
    """Return whether a call succeeded: by a command's exit code, of which -1 says nothing, else as stated."""
    if isinstance(code, int) and not isinstance(code, bool):
        return None if code == -1 else code == 0
    return stated if isinstance(stated, bool) else None
