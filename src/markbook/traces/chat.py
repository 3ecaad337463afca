"""Chat messages to steps: what the OpenAI-style, Inspect and SWE-agent logs share."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from markbook.files.stream import Source
from markbook.trace import Step, StepKind
from markbook.traces.plain import parse_arguments, read_name, read_text, record, rows, to_list
from markbook.types import Record

# Which call an answer belongs to: what the readers of logs share whose answers stand apart from their calls.


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
        while places:
            index = places.popleft()
            if index not in self._answered:
                self._answered.add(index)
                return index
        return None


ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})


class ChatSteps:
    """The steps of one chat, filled message by message."""

    def __init__(self, agent: str = "assistant", error_prefix: str = "") -> None:
        self.steps: list[Step] = []
        self.unrecognised: Counter[str] = Counter()
        self._agent = agent
        self._prefix = error_prefix
        self._open = OpenCalls()

    def add(self, message: Record) -> None:
        """Take one message with its tool calls, or one item of the Responses form."""
        kind = message.get("type")
        if kind in ("function_call", "function_call_output"):
            self._add_item(message, str(kind))
            return
        role = read_name(message.get("role")).lower()
        if role not in ROLES:
            self.unrecognised["messages with an unknown role"] += 1
            return
        agent = read_name(message.get("agent") or message.get("name")) or self._agent if role == "assistant" else ""
        call = read_text(message.get("tool_call_id"), 200)
        text = read_text(message.get("content"))
        self.steps.append(Step(StepKind.MESSAGE, agent, role, text=text, parent=call))
        if role in ("tool", "function"):
            self._answer(call, message, text)
        for tool_call in rows(message.get("tool_calls")):
            function = record(tool_call.get("function"))
            name = function.get("name") or tool_call.get("name") or tool_call.get("function")
            arguments = function.get("arguments") if function else tool_call.get("arguments")
            self._call(agent, read_name(name), read_text(tool_call.get("id"), 200), arguments)
        for block in rows(message.get("content")):
            self._block(agent or self._agent, block)
        legacy = record(message.get("function_call"))
        if legacy:
            self._call(agent, read_name(legacy.get("name")), "", legacy.get("arguments"))

    def _block(self, agent: str, block: Record) -> None:
        """Take a call or an answer that stands in a message's content, as Anthropic writes them."""
        if block.get("type") == "tool_use":
            arguments = block.get("input", block.get("arguments"))
            self._call(agent, read_name(block.get("name")), read_text(block.get("id"), 200), arguments)
        elif block.get("type") == "tool_result":
            self._answer(read_text(block.get("tool_use_id"), 200), block, read_text(block.get("content")))

    def _add_item(self, item: Record, kind: str) -> None:
        call = read_text(item.get("call_id"), 200)
        if kind == "function_call":
            self._call(self._agent, read_name(item.get("name")), call, item.get("arguments"))
        else:
            self._answer(call, item, read_text(item.get("output")))

    def _call(self, agent: str, name: str, call: str, arguments: object) -> None:
        if not name:
            self.unrecognised["tool calls without a name"] += 1
            return
        self._open.add(len(self.steps), call, name)
        self.steps.append(Step(StepKind.TOOL, agent, name, id=call, arguments=parse_arguments(arguments)))

    def _answer(self, call: str, message: Record, text: str) -> None:
        name = read_name(message.get("name") or message.get("tool_name") or message.get("function"))
        at = self._open.answer(call, name)
        error = _error(message)
        if not error and self._prefix and text.startswith(self._prefix):
            error = text[:200]
        ok = False if error else (True if self._prefix or "error" in message or "is_error" in message else None)
        if at is not None:
            self.steps[at] = replace(self.steps[at], result=text, error=error, ok=ok)
        else:
            # The log shows the answer alone: the call was made all the same.
            tool_name = name or "unknown tool"
            self.steps.append(Step(StepKind.TOOL, self._agent, tool_name, id=call, result=text, error=error, ok=ok))


def _error(message: Record) -> str:
    error = message.get("error")
    if isinstance(error, dict):
        return read_name(error.get("type")) or "error"
    if isinstance(error, str) and error:
        return error[:200]
    return "error" if message.get("is_error") is True else ""


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


def chat_steps(messages: Iterable[Record], agent: str = "assistant", error_prefix: str = "") -> ChatSteps:
    """Return the steps of a chat.

    Args:
        messages: OpenAI-style messages.
        agent: the name of an assistant that has none.
        error_prefix: how a failed tool's answer begins, where the format says; without one a call's success is unknown.
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
