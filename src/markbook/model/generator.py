"""Answers from a model: the generator that `--model` names."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, TypedDict, TypeGuard

from markbook.errors import UsageError
from markbook.model import connect
from markbook.model.asker import Asker, Question, QuestionEnd
from markbook.model.budget import Budget, Price, Weight, count_tokens
from markbook.model.chat import (
    ChatAnswer,
    ChatReply,
    ReplyTokens,
    ServerQuestion,
    Talk,
    list_settings,
    read_choices,
    read_finish_reason,
    read_usage,
    whole_text,
)
from markbook.model.connect import COMPLETIONS, check_reached, lean_address, lean_server
from markbook.model.http import Garbled, RequestFault
from markbook.model.requests import ModelReply, PromptRequest
from markbook.option import PATIENCE, Patience
from markbook.plugins import need
from markbook.types import Missing, MissingKind

# The completions protocol: a text that is continued, and how likely a given continuation is (`echo` with log-probabilities).
#
# vLLM, llama.cpp, TGI and lm-evaluation-harness use it so. Which tokens belong to the continuation is told by the places at
# which they begin: white space at the end of a context counts to what follows, as in the harness.

_HUGE = 1e300
_CERTAIN = 0.01
"""Logarithms of probabilities end at 0; rounding may lift one a little above it, and anything more is none."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What one request brought."""

    choices: Sequence[Mapping[str, Any]]
    usage: ReplyTokens


class Continue(ServerQuestion):
    """A text on its way to be continued, or to be weighed where the request names its continuation."""

    __slots__ = ()

    @property
    def weight(self) -> Weight:
        """What decides the most that it may cost."""
        return super().weight if self.request.continuation is None else Weight(self.request.size, 1)

    async def send(self) -> Answered:
        """Send it once."""
        reply = await self.server.post("completions", self.payload())
        return Answered(read_choices(reply)[: self.count], read_usage(reply))

    def payload(self) -> dict[str, object]:
        """Return what is sent."""
        request, name = self.request, self.server.name
        if request.continuation is None:
            return {"model": name, "prompt": request.system + request.prompt, **self.settings()}
        text = request.system + request.prompt + request.continuation
        return {"model": name, "prompt": text, "temperature": 0, "max_tokens": 1, "logprobs": 1, "echo": True}

    def read(self, response: Answered) -> ChatReply:
        """Return what a reply holds."""
        return self.accept_answers([self._read_choice(choice) for choice in response.choices], response.usage)

    def _read_choice(self, choice: Mapping[str, object]) -> ChatAnswer:
        request, finish = self.request, read_finish_reason(choice)
        if finish == "error" or request.continuation is None:
            text = choice.get("text", "" if finish == "error" else None)
            if not isinstance(text, str):
                raise RequestFault("the reply holds no text", is_free=False)
            return ChatAnswer(whole_text(text), finish)
        try:
            likelihood = read_likelihood(choice, request.system + request.prompt, request.continuation)
        except Garbled as error:
            raise RequestFault(str(error), is_free=False) from error
        return ChatAnswer(json.dumps(likelihood), "stop")


def read_likelihood(choice: Mapping[str, object], context: str, continuation: str) -> tuple[float, bool]:
    """Return a continuation's log-likelihood and whether a model that takes the likeliest token would write it.

    Raises:
        Garbled: the numbers do not belong to the text.
        RequestFault: the server does not say them.
    """
    logprobs = choice.get("logprobs")
    if not isinstance(logprobs, dict) or not isinstance(logprobs.get("token_logprobs"), list):
        detail = "the server gives no log-probabilities of the prompt (`echo` with `logprobs`)"
        raise RequestFault(detail, is_retryable=False, unsupported=True, fatal=True)
    numbers, tops = logprobs["token_logprobs"], logprobs.get("top_logprobs") or []
    offsets, tokens = logprobs.get("text_offset"), logprobs.get("tokens")
    if isinstance(offsets, list) and len(offsets) == len(numbers) and all(isinstance(at, int) for at in offsets):
        starts = [offset - offsets[0] for offset in offsets]
    elif isinstance(tokens, list) and len(tokens) == len(numbers) and all(isinstance(word, str) for word in tokens):
        starts = list(itertools.accumulate((len(token) for token in tokens[:-1]), initial=0))
    else:
        raise Garbled("the reply does not say which token is where")
    begin, end = len(context.rstrip()), len(context) + len(continuation)
    places = [index for index, start in enumerate(starts) if begin <= start < end]
    if context and not places:
        raise Garbled("no token of the reply is the continuation's")
    if not context and places and numbers[places[0]] is None:
        places = places[1:]  # nothing stands before a text's first token that it could follow from
    values = [numbers[index] for index in places]
    if not all(map(_is_logarithm, values)):
        raise Garbled("a token of the continuation has no log-probability")
    are_likeliest = True
    for index in places:  # where the server does not say whether another token was likelier, it counts as so
        top = tops[index] if isinstance(tops, list) and index < len(tops) else None
        are_likeliest &= (
            isinstance(top, dict)
            and bool(top)
            and all(map(_is_logarithm, top.values()))
            and bool(numbers[index] >= max(top.values()))
        )
    return math.fsum(values), are_likeliest


def _is_logarithm(stated: object) -> TypeGuard[float]:
    """Whether this can be a probability's logarithm: finite, and above 0 by rounding only."""
    return isinstance(stated, int | float) and not isinstance(stated, bool) and -_HUGE < stated < _CERTAIN


MOST_AT_ONCE = 32
"""So many answers are asked for in one request."""


class ModelGenerator:
    """Asks one model."""

    def __init__(self, name: str, base_url: str, patience: Patience, price: Price | None) -> None:
        """Use `model_generator`."""
        self.name = name
        self.patience = patience
        self.price = price
        self._base_url = base_url
        self._asker: Asker | None = None
        self.spent = 0.0
        """US dollars spent at most, a resumed run's earlier ones included: set it before `generate`."""

    def check(self) -> None:
        """Find out before any work whether the model can be set up; nothing is asked.

        Raises:
            UsageError: an unknown provider, no key, an address that is none or at which nothing listens.
        """
        address = lean_address(self.name, self._base_url)
        if address is None:
            connect.check(self.name, self._base_url)
        else:
            check_reached(address)

    def generate(self, requests: Sequence[PromptRequest], on_reply: Callable[[ModelReply], None]) -> None:
        """Ask every question and call `on_reply` once for each, in the order in which answers come.

        Raises:
            UsageError: the model cannot be set up: an unknown provider, no key.
        """
        if not requests:
            return
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            self._run(requests, on_reply)
            return
        # A notebook runs a loop of its own: in another thread there is none.
        ThreadPoolExecutor(1, thread_name_prefix="markbook-generate").submit(self._run, requests, on_reply).result()

    def _run(self, requests: Sequence[PromptRequest], on_reply: Callable[[ModelReply], None]) -> None:
        try:
            asyncio.run(self._all(requests, on_reply))
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from group  # what the caller's own function raised, such as a full disk

    async def _all(self, requests: Sequence[PromptRequest], on_reply: Callable[[ModelReply], None]) -> None:
        budget = Budget(self.patience.max_cost, self.price, self.spent)
        async with self._way() as way:
            asker = self._asker = Asker(self.name, self.patience, budget, self._asker)
            waiting = _bundles(requests, way.takes_several)

            async def ask(bundle: Sequence[PromptRequest]) -> None:
                replies = _replies(bundle, await asker.ask(way.question(bundle)))
                for reply in replies:
                    on_reply(reply)
                for request in bundle[len(replies) :]:
                    group.create_task(ask([request]))
                # What the caller does once for all replies of this turn is done before the next question goes out.
                await asyncio.sleep(0)

            async def work() -> None:
                for bundle in waiting:  # one iterator for all: each takes the next
                    await ask(bundle)

            async with asyncio.TaskGroup() as group:
                for _ in range(min(self.patience.concurrency, len(requests))):
                    group.create_task(work())
        self.spent = budget.spent

    @asynccontextmanager
    async def _way(self) -> AsyncIterator[_Way]:
        """Yield how the model is asked; leaving closes its connections."""
        address = lean_address(self.name, self._base_url)
        if address is None:
            async with connect.connect(self.name, self._base_url, self.patience.seconds) as client:
                yield _Way(lambda bundle: _Asked(client, bundle[0]), lambda: False)
        else:
            async with lean_server(self.name, address) as server:
                question_type = Continue if connect.split_name(self.name)[0] == COMPLETIONS else Talk
                yield _Way(lambda bundle: question_type(server, bundle[0], len(bundle)), lambda: server.takes_several)


@dataclass(frozen=True, slots=True)
class _Way:
    """How a model is asked."""

    question: Callable[[Sequence[PromptRequest]], Question[ChatReply]]
    """Makes requests for several answers to one question into what is sent."""
    takes_several: Callable[[], bool]


def _bundles(requests: Sequence[PromptRequest], takes_several: Callable[[], bool]) -> Iterator[list[PromptRequest]]:
    """Yield what is asked in one request each: alone, or with others that differ in their answer's number only."""
    for _, alike in itertools.groupby(requests, key=_build_question_key):
        waiting = list(alike)
        while waiting:
            count = MOST_AT_ONCE if takes_several() else 1
            yield waiting[:count]
            waiting = waiting[count:]


def _build_question_key(request: PromptRequest) -> tuple[object, ...]:
    """Return what is equal for requests for several answers to one question; a seed is each answer's own."""
    if request.continuation is not None or request.settings.seed is not None or not isinstance(request.key[-1], int):
        return request.key
    return (request.key[:-1], request.prompt, request.system, request.turns, request.settings)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request on its way."""

    client: Any
    request: PromptRequest

    @property
    def weight(self) -> Weight:
        """What decides the most that it may cost."""
        return Weight(self.request.size, self.request.settings.max_tokens)

    def ready(self) -> AbstractAsyncContextManager[None]:
        """There is nothing to wait for."""
        return nullcontext()

    async def send(self) -> Any:
        """Send it once."""
        from pydantic_ai.direct import model_request
        from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart

        messages: list[Any] = []
        for question, answer in self.request.turns:
            messages.append(ModelRequest.user_text_prompt(question))
            if answer:
                messages.append(ModelResponse(parts=[TextPart(answer)]))
        messages.append(ModelRequest.user_text_prompt(self.request.prompt, instructions=self.request.system or None))
        settings: Any = {"max_retries": 0, **list_settings(self.request)}
        if "stop" in settings:
            settings["stop_sequences"] = settings.pop("stop")  # pydantic-ai's word for it
        return await model_request(self.client, messages, model_settings=settings)

    def read(self, response: Any) -> ChatReply:
        """Return a response's text; thoughts and tool calls do not belong to it."""
        from pydantic_ai.messages import TextPart

        text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
        finish, usage = str(response.finish_reason or ""), response.usage
        if finish == "error":
            raise RequestFault("the server reports an error in its reply")
        tokens = ReplyTokens(*map(count_tokens, (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens)))
        return ChatReply((ChatAnswer(whole_text(text), finish),), tokens)

    def adapt(self, _fault: RequestFault, /) -> bool:
        """There is one way to ask for a text."""
        return False


class _Bill(TypedDict):
    """What an answer took."""

    cost: float | None
    cost_at_most: float | None
    requests: int
    seconds: float


def _replies(bundle: Sequence[PromptRequest], ended: QuestionEnd[ChatReply]) -> list[ModelReply]:
    """Return what became of the first requests of a bundle; what is behind them has yet to be asked for, one by one."""
    chat_reply = ended.value
    if chat_reply is None:
        is_dear = ended.missing is not None and ended.missing.kind is MissingKind.BUDGET and len(bundle) > 1
        lost = bundle[: min(1, ended.requests)] if is_dear else bundle  # one answer may still fit
        return [
            ModelReply(request_lost.key, missing=ended.missing, **_bill(ended, index, len(lost)))
            for index, request_lost in enumerate(lost)
        ]
    count, usage = len(chat_reply.answers), chat_reply.usage
    has_usage = bool(usage.input_tokens or usage.output_tokens)
    replies = []
    for index, (request, answer) in enumerate(zip(bundle, chat_reply.answers, strict=False)):
        text = answer.text
        for stop in request.settings.stop:
            text = text.split(stop, 1)[0] if stop else text
        reply = ModelReply(
            request.key,
            text=text,
            raw=answer.text if answer.text != text else "",
            finish=answer.finish,
            input_tokens=_share(usage.input_tokens, index, count) if has_usage else None,
            output_tokens=_share(usage.output_tokens, index, count) if has_usage else None,
            **_bill(ended, index, count),
        )
        replies.append(reply)
    return replies


def _bill(ended: QuestionEnd[ChatReply], index: int, count: int) -> _Bill:
    """Return an answer's part of what was spent on several; requests are counted at the first."""
    return _Bill(
        cost=None if ended.cost is None else ended.cost / count,
        cost_at_most=None if ended.cost_at_most is None else ended.cost_at_most / count,
        requests=0 if index else ended.requests,
        seconds=ended.seconds,
    )


def _share(total: int, index: int, count: int) -> int:
    """Return one of so many whole parts of a total."""
    return total // count + (index < total % count)


def model_generator(
    *,
    model: str,
    base_url: str = "",
    concurrency: int = PATIENCE.concurrency,
    per_minute: float | None = None,
    retries: int = PATIENCE.retries,
    seconds: float = PATIENCE.seconds,
    max_cost: float | None = None,
    price: str = "",
) -> ModelGenerator:
    """Return a generator that asks a model.

    Args:
        model: `PROVIDER:NAME`; `openai` speaks the chat-completions protocol, also of local servers.
        base_url: where the provider's protocol is spoken, if not at its own address.
        concurrency: requests at a time.
        per_minute: the most requests a minute.
        retries: further requests after the first, for one answer, redirects included.
        seconds: the deadline of one request as a whole.
        max_cost: US dollars that the whole run may cost.
        price: `IN/OUT` in US dollars for a million tokens, where the listed one is wrong or there is none.

    Raises:
        UsageError: no provider in the name, a limit out of range, a budget for a model of unknown price.
        ExtraMissingError: the extra `judge` is not installed.
    """
    connect.split_name(model)
    if concurrency < 1 or retries < 0 or seconds <= 0 or (per_minute is not None and per_minute <= 0):
        raise UsageError("concurrency, requests per minute and seconds must be above 0, retries at least 0")
    if lean_address(model, base_url) is None:
        need("pydantic_ai", extra="judge")
    price_found = connect.find_price(model, base_url, price)
    if max_cost is not None and price_found is None:
        raise UsageError(
            f"the price of {model!r} is unknown, so --max-cost cannot be kept",
            hint="state it with --price IN/OUT, in dollars for a million tokens",
        )
    return ModelGenerator(model, base_url, Patience(concurrency, per_minute, retries, seconds, max_cost), price_found)


# Answers that exist already, behind the same door as a model.


class Replay:
    """Answers from a table; a question that it lacks is absent, not empty."""

    def __init__(self, texts: Mapping[tuple[str | int, ...], str]) -> None:
        self._texts = texts

    def generate(self, requests: Sequence[PromptRequest], on_reply: Callable[[ModelReply], None]) -> None:
        """Call `on_reply` once for every request, in order."""
        for request in requests:
            text = self._texts.get(request.key)
            if text is None:
                on_reply(ModelReply(request.key, missing=Missing(MissingKind.ABSENT, "nobody answered it")))
            else:
                on_reply(ModelReply(request.key, text=text, raw=text))


def replay(*, texts: Mapping[tuple[str | int, ...], str]) -> Replay:
    """Return a generator that answers from a table: the answers by the key of their request."""
    return Replay(texts)
