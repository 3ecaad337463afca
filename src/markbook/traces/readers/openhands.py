"""OpenHands: trajectories and the rows of its evaluations, with the events of either generation.

The first generation writes an `action` or an `observation` a row, the second a `kind`. Events come as a list or as
lines, or under `history`, `events`, `items` or `trajectory` of an object.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from markbook.files.stream import Source
from markbook.trace import Trace, add_known
from markbook.traces import Probe
from markbook.traces.chat import RunSteps
from markbook.traces.plain import moment, number, parse_arguments, read_name, read_text, record, rows, to_list, whole
from markbook.types import Record

_HOLDERS = ("history", "events", "items", "trajectory")
_SOURCES = frozenset({"agent", "user", "environment", "hook"})
_KINDS = frozenset({"ActionEvent", "ObservationEvent", "MessageEvent", "SystemPromptEvent", "AgentErrorEvent",
                    "ConversationStateUpdateEvent", "ACPToolCallEvent", "UserRejectObservation"})  # fmt: skip
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
            yield self._run(events, {})
        source.problems["not an event"] += len(loose) - len(events)
        source.problems["not an object"] += sum(not isinstance(item, dict | list) for item in items)
        source.problems += Counter()  # what is 0 goes
        for item in items:
            if _events(item):
                yield self._run(_flat(_events(item)), item)

    def _run(self, events: Iterable[Record], around: Record) -> Trace:
        conversation = _Conversation()
        for event in events:
            conversation.add(event)
        sums = _spent(conversation.sums.values()) | _spent([record(around.get("metrics"))])
        task = read_name(around.get("instance_id"))
        facts = {"cached_tokens": add_known(conversation.cached)} | sums
        return conversation.to_trace(self.name, id=task or read_name(around.get("conversation_id")), task=task, **facts)


def _events(item: object) -> list[Any]:
    return next((events for name in _HOLDERS if (events := to_list(record(item).get(name)))), [])


def _flat(events: Iterable[object]) -> list[Record]:
    """Return the events of a list; older histories pair each action with its observation."""
    return [row for event in events for row in (rows(event) if isinstance(event, list) else rows([event]))]


def _is_event(row: Record) -> bool:
    if isinstance(row.get("kind"), str):
        return row["kind"] in _KINDS and ("source" in row or "timestamp" in row)
    named = isinstance(row.get("action"), str) or isinstance(row.get("observation"), str)
    return named and ("args" in row or "extras" in row or read_name(row.get("source")) in _SOURCES)


def _spent(metrics: Iterable[Record]) -> dict[str, Any]:
    """Return tokens and cost over several models' running sums; a sum of 0 stands where nothing was counted."""
    sums = list(metrics)
    usages = [record(running.get("accumulated_token_usage")) for running in sums]
    keys = {"input_tokens": "prompt_tokens", "output_tokens": "completion_tokens",
            "cached_tokens": "cache_read_tokens", "cache_written_tokens": "cache_write_tokens"}  # fmt: skip
    facts: dict[str, Any] = {
        name: add_known(whole(usage.get(key)) for usage in usages if whole(usage.get("prompt_tokens")))
        for name, key in keys.items()
    }
    costs = [cost for running in sums if (cost := number(running.get("accumulated_cost")))]
    facts["cost"] = sum(costs) if costs else None
    return {name: value for name, value in facts.items() if value is not None}


class _Conversation(RunSteps):
    def __init__(self) -> None:
        super().__init__()
        self._agents = ["agent"]
        self._replies: set[str] = set()
        self.sums: dict[str, Record] = {}
        """The last of the running sums that the events carry, of each use of a model."""

    def add(self, row: Record) -> None:
        """Take one event."""
        if isinstance(row.get("llm_metrics"), dict):
            self.sums["agent"] = record(row["llm_metrics"])
        who = self._agents[-1] if row.get("source", "agent") == "agent" else ""  # not people, not the environment
        if isinstance(kind := row.get("kind"), str):
            self._add_second(row, kind, who)
        elif isinstance(action := row.get("action"), str):
            self._action(row, action, who)
        elif isinstance(observation := row.get("observation"), str):
            self._observation(row, observation)
        else:
            self.unrecognised["events without a kind"] += 1

    # The first generation.

    def _action(self, row: Record, kind: str, who: str) -> None:
        args, time, metadata = (
            record(row.get("args")),
            moment(row.get("timestamp")),
            record(row.get("tool_call_metadata")),
        )
        response = record(metadata.get("model_response"))
        if kind == "system" and len(self._agents) == 1:
            self._agents = [read_name(args.get("agent_class")) or self._agents[0]]
        if kind in ("message", "system"):
            agent, role = ("", kind) if kind == "system" else (who, "assistant" if who else "user")
            self._reply(agent, role, args.get("content") or row.get("message"), time, record(response.get("usage")))
            return
        if kind in _QUIET:
            return
        message = record(next(iter(rows(response.get("choices"))), {}).get("message"))
        identity = read_name(response.get("id"))
        if identity not in self._replies and (identity or args.get("thought")):
            # One reply may call several tools: it is one message, and its tokens count once.
            self._replies |= {identity} if identity else set()
            text = message.get("content") or args.get("thought")
            self._reply(who, "assistant", text, time, record(response.get("usage")))
        if kind == "delegate":
            target = read_name(args.get("agent")) or "delegate"
            self.add_handoff(who, "delegation", target, start=time)
            self._agents.append(target)  # until its observation comes, events are the delegate's
            return
        call = read_text(metadata.get("tool_call_id"), 200)
        request = next(
            (request for request in rows(message.get("tool_calls")) if call and request.get("id") == call), {}
        )
        arguments = record(request.get("function")).get("arguments")
        name = read_name(metadata.get("function_name")) or kind[:200]
        self._call(row, who, name, call, args if arguments is None else arguments)

    def _observation(self, row: Record, kind: str) -> None:
        if kind == "delegate" and len(self._agents) > 1:
            self._agents.pop()
        at = self.calls.get(f"#{row.get('cause')}")
        if at is None:
            if kind not in _QUIET and kind not in ("delegate", "message", "error"):
                self.unrecognised["observations without a call"] += 1
            return
        extras = record(row.get("extras"))
        code = record(extras.get("metadata")).get("exit_code", extras.get("exit_code"))
        is_failure = kind in ("error", "user_rejected")
        ok = False if is_failure else _success(code, row.get("success"))
        error = "" if ok is not False else kind if is_failure else f"exit code {code}"
        self.answer(at, row.get("content"), ok=ok, error=error, end=moment(row.get("timestamp")))

    # The second.

    def _add_second(self, row: Record, kind: str, who: str) -> None:
        time = moment(row.get("timestamp"))
        if kind == "MessageEvent":
            agent = (read_name(row.get("sender")) or who) if who else ""
            self._replies |= {read_name(row.get("llm_response_id"))} - {""}
            text = record(row.get("llm_message")).get("content")
            self._reply(agent, "assistant" if who else "user", text, time, {})
        elif kind == "SystemPromptEvent":
            self._reply("", "system", record(row.get("system_prompt")).get("text"), time, {})
        elif kind in ("ActionEvent", "ACPToolCallEvent"):
            identity = read_name(row.get("llm_response_id"))
            if identity and identity not in self._replies:
                self._replies.add(identity)
                self._reply(who, "assistant", row.get("thought"), time, {})
            self._tool(row, who, time)
        elif kind in ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation"):
            self._result(row, kind, time)
        elif kind == "ConversationStateUpdateEvent":
            value = record(row.get("value"))
            stats = value if row.get("key") == "stats" else record(value.get("stats"))
            for use, metrics in record(stats.get("usage_to_metrics")).items():
                self.sums[str(use)] = record(metrics)
        elif kind not in _QUIET:
            self.unrecognised[f"events of kind {kind[:40]!r}"] += 1

    def _tool(self, row: Record, who: str, time: float | None) -> None:
        call = read_text(row.get("tool_call_id"), 200)
        if row["kind"] == "ActionEvent":
            request = record(row.get("tool_call"))
            name = read_name(row.get("tool_name")) or read_name(request.get("name")) or "unknown tool"
            self._call(row, who, name, call, request.get("arguments", row.get("action")))
            return
        # A foreign program's call, which it tells again at each change.
        if not call or call not in self.calls:
            name = read_name(row.get("tool_kind")) or read_name(row.get("title")) or "tool"
            self._call(row, who, name, call, row.get("raw_input"))
        ok = {"completed": True, "failed": False}.get(str(row.get("status")))
        if ok is not None:
            result = row.get("raw_output") or row.get("content")
            self.answer(self.calls[call], result, ok=ok, error="" if ok else "failed", end=time)

    def _result(self, row: Record, kind: str, time: float | None) -> None:
        call = read_text(row.get("tool_call_id"), 200)
        at = self.calls.get(call if call in self.calls and call else f"#{row.get('action_id')}")
        if at is None:
            self.unrecognised["observations without a call"] += 1
            return
        if kind != "ObservationEvent":
            error = "rejected" if kind == "UserRejectObservation" else "error"
            self.answer(at, row.get("error") or row.get("rejection_reason"), ok=False, error=error, end=time)
            return
        observation = record(row.get("observation"))
        code = observation.get("exit_code", record(observation.get("metadata")).get("exit_code"))
        failed = observation.get("is_error")
        ok = False if failed is True else _success(code, None if failed is None else not failed)
        error = "" if ok is not False else "error" if failed is True else f"exit code {code}"
        self.answer(at, observation.get("content") or observation.get("output"), ok=ok, error=error, end=time)

    # Both.

    def _reply(self, agent: str, role: str, text: object, time: float | None, usage: Record) -> None:
        self.cached.append(whole(record(usage.get("prompt_tokens_details")).get("cached_tokens")))
        tokens = {"input_tokens": "prompt_tokens", "output_tokens": "completion_tokens"}
        counts = {name: whole(usage.get(key)) for name, key in tokens.items()}
        self.add_message(agent, role, read_text(text), start=time, **counts)

    def _call(self, row: Record, agent: str, name: str, call: str, arguments: object) -> None:
        # An observation names its call by the model's id for it or by the number of the event.
        if isinstance(row.get("id"), int | str):
            self.calls[f"#{row['id']}"] = len(self.steps)
        self.add_call(agent, name, call, parse_arguments(arguments), moment(row.get("timestamp")))


def _success(code: object, stated: object) -> bool | None:
    """Return whether a call succeeded: by a command's exit code, of which -1 says nothing, else as stated."""
    if isinstance(code, int) and not isinstance(code, bool):
        return None if code == -1 else code == 0
    return stated if isinstance(stated, bool) else None
