"""Answers from a model: the generator that `--model` names."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from markbook.errors import UsageError
from markbook.model import connect
from markbook.model.asker import Asker, Patience, Question, QuestionEnd
from markbook.model.budget import Budget, Weight
from markbook.model.chat import ChatReply, ReplyTokens, Talk, stated, whole_text
from markbook.model.completions import Continue
from markbook.model.faults import RequestFault
from markbook.model.lean import COMPLETIONS, check_reached, lean_address, lean_server
from markbook.model.prices import Price
from markbook.model.records import ModelReply, PromptRequest
from markbook.plugins import need


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
        _in_thread(lambda: self._run(requests, on_reply))  # a notebook runs a loop of its own

    def _run(self, requests: Sequence[PromptRequest], on_reply: Callable[[ModelReply], None]) -> None:
        try:
            asyncio.run(self._all(requests, on_reply))
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from group  # what the caller's own function raised, such as a full disk

    async def _all(self, requests: Sequence[PromptRequest], on_reply: Callable[[ModelReply], None]) -> None:
        waiting = iter(requests)
        budget = Budget(self.patience.max_cost, self.price, self.spent)
        async with self._questions() as question_of:
            asker = self._asker = Asker(self.name, self.patience, budget, self._asker)

            async def work() -> None:
                for request in waiting:  # one iterator for all: each takes the next
                    on_reply(_reply(request, await asker.ask(question_of(request))))
                    # What the caller does once for all replies of this turn is done before the next question goes out.
                    await asyncio.sleep(0)

            async with asyncio.TaskGroup() as group:
                for _ in range(min(self.patience.concurrency, len(requests))):
                    group.create_task(work())
        self.spent = budget.spent

    @asynccontextmanager
    async def _questions(self) -> AsyncIterator[Callable[[PromptRequest], Question[ChatReply]]]:
        """Yield what makes a request into a question to the model; leaving closes its connections."""
        address = lean_address(self.name, self._base_url)
        if address is None:
            async with connect.connected(self.name, self._base_url, self.patience.seconds) as client:
                yield lambda request: _Asked(client, request)
        else:
            async with lean_server(self.name, address) as server:
                made = Continue if connect.split_name(self.name)[0] == COMPLETIONS else Talk
                yield lambda request: made(server, request)


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
            messages += [ModelRequest.user_text_prompt(question), ModelResponse(parts=[TextPart(answer)])]
        messages.append(ModelRequest.user_text_prompt(self.request.prompt, instructions=self.request.system or None))
        return await model_request(self.client, messages, model_settings=_settings(self.request))

    def read(self, response: Any) -> ChatReply:
        """Return a response's text; thoughts and tool calls are no part of it."""
        from pydantic_ai.messages import TextPart

        text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
        finish, usage = str(response.finish_reason or ""), response.usage
        if finish == "error":
            raise RequestFault("the server reports an error in its reply")
        return ChatReply(
            whole_text(text), finish, ReplyTokens(usage.input_tokens, usage.output_tokens, usage.cache_read_tokens)
        )

    def adapt(self, _fault: RequestFault, /) -> bool:
        """There is one way to ask for a text."""
        return False


def _settings(request: PromptRequest) -> Any:
    """Return the settings that are stated, in pydantic-ai's words."""
    found = {"max_retries": 0, **stated(request)}
    if "stop" in found:
        found["stop_sequences"] = found.pop("stop")
    return found


def _reply(request: PromptRequest, ended: QuestionEnd[ChatReply]) -> ModelReply:
    found = ended.value
    if found is None:
        return ModelReply(
            request.key,
            missing=ended.missing,
            cost=ended.cost,
            cost_at_most=ended.cost_at_most,
            requests=ended.requests,
            seconds=ended.seconds,
        )
    text, usage = found.text, found.usage
    known = bool(usage.input_tokens or usage.output_tokens)
    for stop in request.settings.stop:
        text = text.split(stop, 1)[0] if stop else text
    return ModelReply(
        request.key,
        text=text,
        raw=found.text if found.text != text else "",
        finish=found.finish,
        input_tokens=usage.input_tokens if known else None,
        output_tokens=usage.output_tokens if known else None,
        cost=ended.cost,
        cost_at_most=ended.cost_at_most,
        requests=ended.requests,
        seconds=ended.seconds,
    )


def _in_thread(work: Callable[[], None]) -> None:
    """Run in a thread of its own and raise here what it raised."""
    caught: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread, none is lost
            caught.append(error)

    thread = threading.Thread(target=run, name="markbook-generate")
    thread.start()
    thread.join()
    if caught:
        raise caught[0]


def model_generator(
    *,
    model: str,
    base_url: str = "",
    concurrency: int = 8,
    per_minute: float | None = None,
    retries: int = 5,
    seconds: float = 120.0,
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
        raise UsageError("concurrency, requests per minute and seconds must be above 0, retries not below")
    if lean_address(model, base_url) is None:
        need("pydantic_ai", extra="judge")
    found = connect.price_of(model, base_url, price)
    if max_cost is not None and found is None:
        raise UsageError(
            f"the price of {model!r} is unknown, so --max-cost cannot be kept",
            hint="state it with --price IN/OUT, in dollars for a million tokens",
        )
    return ModelGenerator(model, base_url, Patience(concurrency, per_minute, retries, seconds, max_cost), found)
