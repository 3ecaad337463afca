"""The chat-completions protocol as it is spoken everywhere: what goes to a server and what its reply says."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from markbook.model.budget import Weight, count_tokens
from markbook.model.http import BadStatus, Garbled, HttpClient, RequestFault
from markbook.model.requests import PromptRequest
from markbook.testcode.extraction import without_thoughts
from markbook.types import MissingKind

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


class LeanServer:
    """One model of an OpenAI-compatible server."""

    def __init__(self, name: str, http: HttpClient) -> None:
        self.name = name
        self.takes_several = True
        """Whether it gives several answers to one request (`n`), as far as is known."""
        self._http = http

    async def post(self, what: str, payload: Mapping[str, object]) -> Mapping[str, object]:
        """Return the JSON that an endpoint gives for some JSON.

        Raises:
            BadStatus: the server refuses.
            Garbled: what comes back is not JSON.
            Unreached: no connection came about.
        """
        path = f"{self._http.address.path.rstrip('/')}/{what}"
        response = await self._http.post(path, encode_payload(payload))
        return decode_reply(response.status, response.headers, response.body)


@dataclass(slots=True)
class ServerQuestion:
    """A question on its way to a server that may be asked for several answers at once."""

    server: LeanServer
    request: PromptRequest
    count: int = 1
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

    def accept_answers(self, answers: Sequence[ChatAnswer], usage: ReplyTokens) -> ChatReply:
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
        return self.accept_answers(response.answers, response.usage)


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
        Garbled: it is not a JSON object.
    """
    try:
        parsed: Any = json.loads(body)
    except (ValueError, RecursionError):
        parsed = None
    if status not in _SUCCESSES:
        raise BadStatus(status, body.decode("utf-8", "replace") if parsed is None else parsed, headers)
    if not isinstance(parsed, dict):
        raise Garbled(f"the reply is not a JSON object: {body[:100].decode('utf-8', 'replace')!r}")
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
