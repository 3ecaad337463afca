"""Asking a model through pydantic-ai: the only module of this folder that knows it.

One reply costs as many requests as it takes, within bounds: a total deadline a request, retries with backoff that
honours Retry-After, a rate, a number at a time, a budget. What fails for good is a reason, never an empty text.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from markbook.errors import UsageError
from markbook.generate.faults import Fault, fault_of
from markbook.generate.pace import Breaker, Budget, Pace, backoff
from markbook.generate.records import Reply, Request
from markbook.plugins import need
from markbook.prices import Price, listed_price, parse_price
from markbook.providers import not_set_up
from markbook.text import redact
from markbook.types import Missing, MissingKind

_LONGEST_PAUSE = 300.0
"""A server that asks for a longer pause is one to come back to with --resume."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How much is done for one answer."""

    concurrency: int = 8
    """Requests at a time."""
    per_minute: float | None = None
    """The most requests a minute."""
    retries: int = 5
    """Further requests after the first."""
    seconds: float = 120.0
    """The deadline of one request as a whole, however slowly bytes drip in."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What one request brought."""

    text: str
    finish: str
    input_tokens: int | None
    output_tokens: int | None


class ModelGenerator:
    """Asks one model."""

    def __init__(
        self, name: str, base_url: str, patience: Patience, price: Price | None, max_cost: float | None
    ) -> None:
        """Use `model_generator`."""
        provider, _, short = name.partition(":")
        self.name = name
        self.patience = patience
        self.price = price
        self._provider, self._short = provider, short
        self._base_url = base_url
        self._max_cost = max_cost
        self.spent = 0.0
        """US dollars known to be spent, a resumed run's earlier ones included: set it before `generate`."""

    def check(self) -> None:
        """Find out before any work whether the model can be set up; nothing is asked.

        Raises:
            UsageError: an unknown provider, no key, an address that is none.
        """
        if self._base_url and not self._base_url.startswith(("http://", "https://")):
            raise UsageError(f"{self._base_url!r} is no address of a server", hint="http://127.0.0.1:8000/v1")
        if self._provider == "openai":
            self._key()
        else:
            self._inferred()

    def generate(self, requests: Sequence[Request], on_reply: Callable[[Reply], None]) -> None:
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

    def _run(self, requests: Sequence[Request], on_reply: Callable[[Reply], None]) -> None:
        try:
            asyncio.run(self._all(requests, on_reply))
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from group  # what the caller's own function raised, such as a full disk

    async def _all(self, requests: Sequence[Request], on_reply: Callable[[Reply], None]) -> None:
        waiting = iter(requests)
        budget = Budget(self._max_cost, self.price, self.spent)
        async with AsyncExitStack() as stack:
            asker = _Asker(await self._client(stack), self.patience, self.price, budget)

            async def work() -> None:
                for request in waiting:  # one iterator for all: each takes the next
                    on_reply(await asker.reply(request))

            async with asyncio.TaskGroup() as group:
                for _ in range(min(self.patience.concurrency, len(requests))):
                    group.create_task(work())
        self.spent = budget.spent

    async def _client(self, stack: AsyncExitStack) -> Any:
        if self._provider == "openai":
            return await self._openai(stack)
        return self._inferred()

    def _inferred(self) -> Any:
        models = need("pydantic_ai.models", extra="judge")
        try:
            return models.infer_model(self.name)
        except Exception as error:  # the plugin border: a provider's own set-up fails in its own ways
            raise not_set_up("model", self.name, redact(str(error))) from error

    async def _openai(self, stack: AsyncExitStack) -> Any:
        openai = need("openai", extra="judge")
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        key = self._key()
        # The client's own retries would multiply with ours.
        client = openai.AsyncOpenAI(
            base_url=self._base_url or None, api_key=key or "none", max_retries=0, timeout=self.patience.seconds
        )
        await stack.enter_async_context(client)
        # OpenAI's own servers want `max_completion_tokens`; others know the older `max_tokens` only.
        profile: Any = {"openai_chat_supports_max_completion_tokens": False} if self._base_url else None
        return OpenAIChatModel(self._short, provider=OpenAIProvider(openai_client=client), profile=profile)

    def _key(self) -> str:
        key = os.environ.get("OPENAI_API_KEY", "")
        if not key and not self._base_url and not os.environ.get("OPENAI_BASE_URL"):
            raise UsageError("the model needs a key", hint="set OPENAI_API_KEY, or name a local server with --base-url")
        return key


class _Asker:
    """What the workers of one run share."""

    def __init__(self, client: Any, patience: Patience, price: Price | None, budget: Budget) -> None:
        self._client = client
        self._patience = patience
        self._price = price
        self._budget = budget
        self._pace = Pace(patience.per_minute)
        self._breaker = Breaker()

    async def reply(self, request: Request) -> Reply:
        """Return what became of a question."""
        start = time.monotonic()
        fault = Fault("never asked")
        number = 0
        for number in range(1, self._patience.retries + 2):
            stop = self._breaker.missing
            reserved = None if stop else self._budget.reserve(request)
            if reserved is None:
                missing = stop or Missing(
                    MissingKind.BUDGET, f"the budget of ${self._budget.limit:g} would be exceeded"
                )
                return Reply(request.key, missing=missing, requests=number - 1)
            cost: float | None = 0.0
            try:
                await self._pace.turn()
                found = await self._once(request)
                if isinstance(found, _Answer):
                    cost = self._cost(found)
                    self._breaker.note(None, fatal=False)
                    return _reply(request, found, cost, number, time.monotonic() - start)
            finally:
                self._budget.settle(reserved, cost)
            fault = found
            if not await self._again(fault, number):
                break
        missing = Missing(_kind(fault), fault.detail)
        self._breaker.note(missing, fatal=fault.fatal)
        return Reply(request.key, missing=missing, requests=number, seconds=time.monotonic() - start)

    async def _again(self, fault: Fault, number: int) -> bool:
        """Wait before asking again; return False if it cannot help."""
        wait = backoff(number - 1) if fault.wait is None else fault.wait
        if not fault.again or number > self._patience.retries or wait > _LONGEST_PAUSE:
            return False
        if fault.wait is not None:
            self._pace.close_for(fault.wait)
        await asyncio.sleep(wait)
        return True

    async def _once(self, request: Request) -> _Answer | Fault:
        """Send one request."""
        from pydantic_ai.direct import model_request
        from pydantic_ai.messages import ModelRequest

        message = ModelRequest.user_text_prompt(request.prompt, instructions=request.system or None)
        try:
            async with asyncio.timeout(self._patience.seconds):
                response = await model_request(self._client, [message], model_settings=_settings(request))
        except TimeoutError:
            return Fault(f"{_TIMEOUT} {self._patience.seconds:g} s")
        except Exception as error:  # noqa: BLE001 - the border of one request: clients fail in many ways, IndexError among them
            return fault_of(error)
        return _read(response)

    def _cost(self, answer: _Answer) -> float | None:
        if self._price is None or answer.input_tokens is None or answer.output_tokens is None:
            return None
        return self._price.of(answer.input_tokens, answer.output_tokens)


_TIMEOUT = "no answer within"


def _kind(fault: Fault) -> MissingKind:
    return MissingKind.TIMEOUT if fault.detail.startswith(_TIMEOUT) else MissingKind.UNAVAILABLE


def _settings(request: Request) -> Any:
    """Return the settings that are stated, in pydantic-ai's words."""
    given = request.settings
    index = request.key[-1]
    seed = given.seed
    if seed is not None and isinstance(index, int):
        seed += index
    stated = {
        "temperature": given.temperature,
        "top_p": given.top_p,
        "max_tokens": given.max_tokens,
        "stop_sequences": list(given.stop) or None,
        "seed": seed,
        "max_retries": 0,
    }
    return {name: value for name, value in stated.items() if value is not None}


def _read(response: Any) -> _Answer | Fault:
    """Return a response's text; thoughts and tool calls are no part of it."""
    from pydantic_ai.messages import TextPart

    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    # Half a surrogate pair cannot be written to any file.
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    finish = str(response.finish_reason or "")
    usage = response.usage
    known = bool(usage.input_tokens or usage.output_tokens)
    if finish == "error":
        return Fault("the server reports an error in its reply")
    return _Answer(text, finish, usage.input_tokens if known else None, usage.output_tokens if known else None)


def _reply(request: Request, found: _Answer, cost: float | None, number: int, seconds: float) -> Reply:
    text = found.text
    for stop in request.settings.stop:
        text = text.split(stop, 1)[0] if stop else text
    return Reply(
        request.key,
        text=text,
        raw=found.text if found.text != text else "",
        finish=found.finish,
        input_tokens=found.input_tokens,
        output_tokens=found.output_tokens,
        cost=cost,
        requests=number,
        seconds=seconds,
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
        base_url: where that protocol is spoken, if not at the provider's own address.
        concurrency: requests at a time.
        per_minute: the most requests a minute.
        retries: further requests after the first, for one answer.
        seconds: the deadline of one request as a whole.
        max_cost: US dollars that the whole run may cost.
        price: `IN/OUT` in US dollars for a million tokens, where the listed one is wrong or there is none.

    Raises:
        UsageError: no provider in the name, a limit out of range, a budget for a model of unknown price.
        ExtraMissingError: the extra `judge` is not installed.
    """
    provider, _, short = model.partition(":")
    if not provider or not short:
        raise UsageError(f"{model!r} names no model", hint="PROVIDER:NAME, such as openai:gpt-4o-mini")
    if base_url and provider != "openai":
        raise UsageError(f"--base-url goes with openai:NAME only, not with {provider}:", hint=f"openai:{short}")
    if concurrency < 1 or retries < 0 or seconds <= 0 or (per_minute is not None and per_minute <= 0):
        raise UsageError("concurrency, requests per minute and seconds must be above 0, retries not below")
    need("pydantic_ai", extra="judge")
    # At another address the name says nothing about the price.
    found = parse_price(price) if price else None if base_url else listed_price(provider, short)
    if max_cost is not None and found is None:
        raise UsageError(
            f"the price of {model!r} is unknown, so --max-cost cannot be kept",
            hint="state it with --price IN/OUT, in dollars for a million tokens",
        )
    return ModelGenerator(model, base_url, Patience(concurrency, per_minute, retries, seconds), found, max_cost)
