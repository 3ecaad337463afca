"""The chat-completions protocol as it is spoken everywhere: what goes to a server and what its reply says."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

from markbook.model.budget import Weight, count_tokens
from markbook.model.http import BadStatus, Garbled, RequestFault
from markbook.testcode.extraction import without_thoughts
from markbook.types import Missing, MissingKind

# What is asked and what comes back.


@dataclass(frozen=True, slots=True)
class GenerationSettings:
    """What a model is told beside the prompt; None leaves it to the server."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    """Answer number i is asked for with seed + i."""


@dataclass(frozen=True, slots=True)
class PromptRequest:
    """One question."""

    key: tuple[str | int, ...]
    """What its answer is kept under."""
    prompt: str
    system: str = ""
    settings: GenerationSettings = field(default_factory=GenerationSettings)
    turns: tuple[tuple[str, str], ...] = ()
    """Worked examples put before the prompt, where they are turns of their own: each a question and its answer."""
    continuation: str | None = None
    """Set where the answer is how likely this text is behind the prompt."""

    @property
    def seed(self) -> int | None:
        """The seed of this answer among several to one question."""
        index, seed = self.key[-1], self.settings.seed
        return seed + index if seed is not None and isinstance(index, int) else seed

    @property
    def size(self) -> int:
        """How many UTF-8 bytes it asks with."""
        texts = (self.prompt, self.system, self.continuation or "", *(text for turn in self.turns for text in turn))
        return sum(len(text.encode("utf-8", "replace")) for text in texts)


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What became of one question: a text, or the reason why there is none."""

    key: tuple[str | int, ...]
    text: str = ""
    """Cut at the first stop text."""
    raw: str = ""
    """As it came, where that differs."""
    missing: Missing | None = None
    finish: str = ""
    """Why the model stopped: `stop`, `length`, `content_filter`."""
    input_tokens: int | None = None
    """None where the server did not say."""
    output_tokens: int | None = None
    cost: float | None = None
    """US dollars over all its requests; None where that is not known (no price, a request that timed out)."""
    cost_at_most: float | None = None
    """The same with requests of unknown cost at their dearest; None where no price is known."""
    requests: int = 0
    """How many requests it took."""
    seconds: float = 0.0
    """From the first request to the answer; kept out of the deterministic files."""

    def as_record(self) -> dict[str, object]:
        """Return an answered question as JSON."""
        return {
            "text": self.text,
            "raw": self.raw,
            "finish": self.finish,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost": self.cost,
            "cost_at_most": self.cost_at_most,
            "requests": self.requests,
            "seconds": round(self.seconds, 6),
        }


class Generator(Protocol):
    """Answers questions; a factory with keyword options in the group `markbook.generators` makes it."""

    def generate(self, requests: Sequence[PromptRequest], on_reply: Callable[[ModelReply], None]) -> None:
        """Call `on_reply` once for every request, in any order, from this thread."""
        ...


MOST_STOPS = 4
"""So many stop texts a server takes, by OpenAI's rules; the reply is cut at all of them when it is here."""
_FINISHES = {"tool_calls": "tool_call", "function_call": "tool_call"}
_SUCCESSES = range(200, 300)
_NOTHING: AbstractAsyncContextManager[None] = nullcontext()


@dataclass(frozen=True, slots=True)
class ReplyTokens:
    """What a server says that a reply took."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    """Of those read, how many it had read before."""


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """One answer."""

    text: str
    finish: str


@dataclass(frozen=True, slots=True)
class ChatReply:
    """What one request brought: the answers, and their bill together."""

    answers: tuple[ChatAnswer, ...]
    usage: ReplyTokens = field(default_factory=ReplyTokens)


class ChatServer(Protocol):
    """Takes questions over HTTP."""

    name: str
    """The model's."""
    takes_several: bool
    """Whether it gives several answers to one request (`n`), as far as is known."""

    async def post(self, what: str, payload: Mapping[str, object]) -> Mapping[str, object]:
        """Return the JSON that an endpoint gives for some JSON."""
        ...


@dataclass(slots=True)
class ServerQuestion:
    """A question on its way to a server that may be asked for several answers at once."""

    server: ChatServer
    request: PromptRequest
    count: int = 1
    """How many answers are asked for."""
    faults: int = 0
    is_reduced: bool = False
    """Whether several were asked for in vain."""

    @property
    def weight(self) -> Weight:
        """What decides the most that it may cost."""
        return Weight(self.request.size, self.request.settings.max_tokens, self.count)

    def ready(self) -> AbstractAsyncContextManager[None]:
        """There is nothing to wait for."""
        return _NOTHING

    def settings(self) -> dict[str, object]:
        """Return what is sent beside the question."""
        return list_settings(self.request) | ({"n": self.count} if self.count > 1 else {})

    def adapt(self, fault: RequestFault, /) -> bool:
        """Return whether one answer will be asked for, because the server may not give several."""
        self.faults += 1
        is_refused = fault.unsupported or fault.kind is MissingKind.TIMEOUT or (fault.wait is None and self.faults > 1)
        if self.count == 1 or fault.fatal or not is_refused:
            return False
        self.count, self.is_reduced = 1, True
        return True

    def heard(self, answers: Sequence[ChatAnswer], usage: ReplyTokens) -> ChatReply:
        """Return the answers, and keep in mind whether the server gave as many as it was asked for."""
        if any(answer.finish == "error" for answer in answers):
            raise RequestFault("the server reports an error in its reply")
        if self.is_reduced or len(answers) < self.count:
            self.server.takes_several = False
        return ChatReply(tuple(answers[: self.count]), usage)


class Talk(ServerQuestion):
    """A request on its way to a chat-completions server."""

    __slots__ = ()

    async def send(self) -> ChatReply:
        """Send it once."""
        reply = await self.server.post("chat/completions", self.payload())
        return ChatReply(tuple(map(_read_choice, read_choices(reply)[: self.count])), read_usage(reply))

    def payload(self) -> dict[str, object]:
        """Return what is sent."""
        request = self.request
        messages = [{"role": "system", "content": request.system}] if request.system else []
        for question, answer in request.turns:
            messages.append({"role": "user", "content": question})
            if answer:  # an example without an answer is a question alone, as in the harness
                messages.append({"role": "assistant", "content": answer})
        messages.append({"role": "user", "content": request.prompt})
        return {"model": self.server.name, "messages": messages, **self.settings()}

    def read(self, response: ChatReply) -> ChatReply:
        """Return what a reply holds."""
        return self.heard(response.answers, response.usage)


def list_settings(request: PromptRequest) -> dict[str, object]:
    """Return the settings that are stated, in the protocol's words."""
    settings = request.settings
    values = {
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "max_tokens": settings.max_tokens,
        "stop": list(settings.stop[:MOST_STOPS]) or None,
        "seed": request.seed,
    }
    return {name: value for name, value in values.items() if value is not None}


def encode_payload(payload: Mapping[str, object]) -> bytes:
    """Return a body of JSON; half a character, which no JSON can hold, becomes a question mark."""
    try:
        return json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def decode_reply(status: int, headers: Mapping[str, str], body: bytes) -> Mapping[str, object]:
    """Return the JSON of a reply.

    Raises:
        BadStatus: it is not a success.
        Garbled: it is no JSON object.
    """
    try:
        parsed: Any = json.loads(body)
    except (ValueError, RecursionError):
        parsed = None
    if status not in _SUCCESSES:
        raise BadStatus(status, body.decode("utf-8", "replace") if parsed is None else parsed, headers)
    if not isinstance(parsed, dict):
        raise Garbled(f"the reply is no JSON object: {body[:100].decode('utf-8', 'replace')!r}")
    return parsed


def read_choices(reply: Mapping[str, object]) -> list[Mapping[str, object]]:
    """Return a reply's choices.

    Raises:
        Garbled: it has none.
    """
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices or not all(isinstance(choice, dict) for choice in choices):
        raise Garbled("the reply holds no answer")
    return choices


def read_usage(reply: Mapping[str, object]) -> ReplyTokens:
    """Return a reply's bill; what it does not say counts as nothing."""
    usage = reply.get("usage")
    if not isinstance(usage, dict):
        return ReplyTokens()
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    return ReplyTokens(
        count_tokens(usage.get("prompt_tokens")), count_tokens(usage.get("completion_tokens")), count_tokens(cached)
    )


def read_finish_reason(choice: Mapping[str, object]) -> str:
    """Return why the model stopped."""
    reason = choice.get("finish_reason")
    return _FINISHES.get(reason, reason) if isinstance(reason, str) else ""


def whole_text(text: str) -> str:
    """Return a text in which half a surrogate pair, which no file can hold, is replaced."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _read_choice(choice: Mapping[str, object]) -> ChatAnswer:
    message = choice.get("message")
    if not isinstance(message, dict):
        raise Garbled("the reply holds no message")
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    if content is not None and not isinstance(content, str):
        raise Garbled("the reply's message holds no text")
    return ChatAnswer(whole_text(without_thoughts(content or "")), read_finish_reason(choice))
