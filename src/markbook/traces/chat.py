"""What readers share that build a run step by step: its steps with their calls and answers, and chats of any dialect."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from markbook.files.stream import Source
from markbook.trace import Step, StepKind, Trace
from markbook.traces.plain import make_trace, parse_arguments, read_name, read_text, record, rows, to_list
from markbook.types import Record


class RunSteps:
    """The steps of one run while its log is read, with what was not understood."""

    def __init__(self, agent: str = "") -> None:
        self.agent = agent
        """Who acts where the log names nobody."""
        self.steps: list[Step] = []
        self.calls: dict[str, int] = {}
        """Where the call of an id stands among the steps."""
        self.cached: list[int | None] = []
        """Of each reply the tokens that came from a cache."""
        self.open = OpenCalls()
        """The calls that wait for an answer, where ids may lack or come twice."""
        self.known: dict[str, Any] = {}
        """What the log says of the run as a whole: fields of `Trace`."""
        self.unrecognised: Counter[str] = Counter()
        self.notes: Counter[str] = Counter()

    def add_message(self, agent: str, role: str, text: str = "", **facts: Any) -> None:
        """Add a message; the facts are further fields of `Step`."""
        self.steps.append(Step(StepKind.MESSAGE, agent, role, text=text, **facts))

    def add_handoff(self, agent: str, name: str, target: str, **facts: Any) -> None:
        """Add that an agent gives work to another."""
        self.steps.append(Step(StepKind.HANDOFF, agent, name, target, **facts))

    def add_call(self, agent: str, name: str, call: str, arguments: object, start: float | None = None) -> None:
        """Add a tool call under its id; its answer comes later."""
        self.calls[call] = len(self.steps)
        self.steps.append(Step(StepKind.TOOL, agent, name, id=call, arguments=arguments, start=start))

    def answer(
        self, at: int | None, result: object, *, ok: bool | None, error: str = "", end: float | None = None
    ) -> None:
        """Put an outcome beside the call at a place; None is a call that the log does not hold."""
        if at is None:
            self.unrecognised["tool results without a call"] += 1
            return
        error = error or ("error" if ok is False else "")
        self.steps[at] = replace(self.steps[at], ok=ok, error=error, result=read_text(result), end=end)

    def to_trace(self, reader: str, **facts: Any) -> Trace:
        """Return the run; the facts are further fields of `Trace`."""
        notes = tuple(f"{count} {what}" for what, count in sorted(self.notes.items()))
        facts = {"notes": notes} | self.known | facts
        return make_trace(self.steps, reader=reader, unrecognised=dict(self.unrecognised), **facts)


class OpenCalls:
    """The calls of one run that wait for an answer. One id or name may stand for several: the oldest is answered first."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[int]] = defaultdict(deque)
        self._nameless: deque[int] = deque()
        self._answered: set[int] = set()
        self._last: dict[str, int] = {}

    def add(self, place: int, identity: str, name: str) -> None:
        """Note the call at a place among the steps; one without an id is found by its tool's name."""
        self._waiting[identity or name].append(place)
        if not identity:
            self._nameless.append(place)

    def answer(self, identity: str, name: str) -> int | None:
        """Return the place of the call that an answer is for; the oldest without an id where it says neither id nor name."""
        for key in (identity, name):
            if key and (index := self._oldest(self._waiting.get(key))) is not None:
                self._last[key] = index
                return index
        return None if identity or name else self._oldest(self._nameless)

    def find_answered(self, key: str) -> int | None:
        """Return the place of the call of this id or name that was answered last: some tools answer twice."""
        return self._last.get(key)

    def _oldest(self, places: deque[int] | None) -> int | None:
        # A call without an id waits in two queues, under its name and among the nameless: what one gave out the other skips.
        while places:
            index = places.popleft()
            if index not in self._answered:
                self._answered.add(index)
                return index
        return None


ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})


class ChatSteps(RunSteps):
    """The steps of one chat, filled message by message."""

    def __init__(self, agent: str = "assistant", error_prefix: str = "") -> None:
        super().__init__(agent)
        self._prefix = error_prefix

    def add(self, message: Record) -> None:
        """Take one message with its tool calls, or one item of the Responses form."""
        kind = message.get("type")
        if kind == "function_call":
            self._call(self.agent, message.get("name"), message.get("call_id"), message.get("arguments"))
            return
        if kind == "function_call_output":
            self._answer(message.get("call_id"), message, read_text(message.get("output")))
            return
        role = read_name(message.get("role")).lower()
        if role not in ROLES:
            self.unrecognised["messages with an unknown role"] += 1
            return
        agent = read_name(message.get("agent") or message.get("name")) or self.agent if role == "assistant" else ""
        text = read_text(message.get("content"))
        self.add_message(agent, role, text, parent=read_text(message.get("tool_call_id"), 200))
        if role in ("tool", "function"):
            self._answer(message.get("tool_call_id"), message, text)
        for call in rows(message.get("tool_calls")):
            function = record(call.get("function"))
            name = function.get("name") or call.get("name") or call.get("function")
            self._call(agent, name, call.get("id"), (function or call).get("arguments"))
        for block in rows(message.get("content")):
            # Anthropic writes calls and answers into the content
            if block.get("type") == "tool_use":
                arguments = block.get("input", block.get("arguments"))
                self._call(agent or self.agent, block.get("name"), block.get("id"), arguments)
            elif block.get("type") == "tool_result":
                self._answer(block.get("tool_use_id"), block, read_text(block.get("content")))
        if legacy := record(message.get("function_call")):
            self._call(agent, legacy.get("name"), None, legacy.get("arguments"))

    def _call(self, agent: str, named: object, identity: object, arguments: object) -> None:
        name, call = read_name(named), read_text(identity, 200)
        if not name:
            self.unrecognised["tool calls without a name"] += 1
            return
        self.open.add(len(self.steps), call, name)
        self.add_call(agent, name, call, parse_arguments(arguments))

    def _answer(self, identity: object, message: Record, text: str) -> None:
        call, error = read_text(identity, 200), message.get("error")
        name = read_name(message.get("name") or message.get("tool_name") or message.get("function"))
        if isinstance(error, dict):
            why = read_name(error.get("type")) or "error"
        elif isinstance(error, str) and error:
            why = error[:200]
        elif message.get("is_error") is True:
            why = "error"
        else:
            why = text[:200] if self._prefix and text.startswith(self._prefix) else ""
        # Where neither the format nor the message speaks of errors, nobody says that the call succeeded.
        ok = False if why else (True if self._prefix or "error" in message or "is_error" in message else None)
        at = self.open.answer(call, name)
        if at is None:  # the log shows the answer alone: the call was made all the same
            at = len(self.steps)
            self.steps.append(Step(StepKind.TOOL, self.agent, name or "unknown tool", id=call))
        self.answer(at, text, ok=ok, error=why)


def message_lists(source: Source) -> Iterator[tuple[Record, list[Record]]]:
    """Yield the lists of messages in a file, each with the object that holds it; what is not a message is counted."""
    items = source.items()
    loose: list[Record] = [item for item in items if isinstance(item, dict) and "messages" not in item]
    if loose:
        yield {}, loose
    for item in items:
        if not isinstance(item, dict):
            source.problems["not a message"] += 1
        elif "messages" in item:
            messages = rows(item["messages"])
            lost = len(to_list(item["messages"])) - len(messages)
            if lost:
                source.problems["not a message"] += lost
            yield item, messages


def read_objects(source: Source, kind: str, key: str = "") -> Iterator[Record]:
    """Yield the objects of a file, those that hold a list under the key if one is given; anything else is counted as not of this kind."""
    for item in source.items():
        if isinstance(item, dict) and (not key or isinstance(item.get(key), list)):
            yield item
        else:
            source.problems[f"not a {kind}"] += 1


def chat_steps(messages: Iterable[Record], agent: str = "assistant", error_prefix: str = "") -> ChatSteps:
    """Return the steps of a chat.

    `agent` names an assistant that has no name. A failed tool's answer begins with `error_prefix`, where the format says; without one
    a call's success is unknown.
    """
    chat = ChatSteps(agent, error_prefix)
    for message in messages:
        chat.add(message)
    return chat


def with_listeners(steps: Sequence[Step]) -> list[Step]:
    """Return a group chat in which each agent's message goes to the next other agent that speaks.

    A group chat names no receiver; who speaks next is who took it up. Messages that name one keep it.
    """
    addressed = list(steps)
    following: Step | None = None
    # From the end, so that for each message it is known already who speaks next.
    for at in range(len(addressed) - 1, -1, -1):
        step = addressed[at]
        if step.kind is not StepKind.MESSAGE or not step.agent:
            continue
        if not step.target and following is not None:
            # The speaker's own next message knows already who comes after it.
            later = following.agent if following.agent != step.agent else following.target
            addressed[at] = replace(step, target=later)
        following = addressed[at]
    return addressed
