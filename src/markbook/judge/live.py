"""One request to a real judge, through pydantic-ai: the only module that knows it.

Retries, deadlines and budgets are `client`'s; here one call is exactly one request, and every way in which it can fail
becomes a `Fault` that says whether asking again can help.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any, Self

from markbook.errors import UsageError
from markbook.judge.prompts import Call
from markbook.judge.tokens import reduce_logprobs
from markbook.plugins import need
from markbook.providers import not_set_up
from markbook.text import redact
from markbook.types import MissingKind

MODES = ("tool", "native", "prompted")
"""How the structure is asked for, from the most to the least reliable; `auto` starts at the first."""
TOOL = "final_result"
_MAX_DETAIL = 300
_UNSUPPORTED = (400, 404, 415, 422, 501)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, before anything of it is believed."""

    payload: str
    mode: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    """US dollars; None where no price is known."""
    logprobs: tuple[Mapping[str, Any], ...] = ()
    """Per token as `tokens.reduce_logprobs` keeps it; empty where the server gives none."""
    refused: bool = False


class Fault(Exception):  # noqa: N818 - what a server did, not what a program did
    """A request that brought no answer."""

    def __init__(
        self,
        kind: MissingKind,
        detail: str,
        *,
        again: bool = True,
        wait: float | None = None,
        unsupported: bool = False,
        fatal: bool = False,
    ) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.again = again
        """Whether the same question may be asked once more."""
        self.wait = wait
        """How many seconds the server asked us to wait."""
        self.unsupported = unsupported
        """Whether the server may not know this output mode."""
        self.fatal = fatal
        """Whether no other question to this judge can succeed either (a refused key)."""


class LiveJudge:
    """A judge behind a provider's interface; an async context manager that closes its connections."""

    def __init__(self, model: str, *, base_url: str = "", seconds: float = 60.0) -> None:
        """Name the judge.

        Args:
            model: `PROVIDER:NAME`; `openai` speaks the chat-completions protocol, also of local servers.
            base_url: where that protocol is spoken, if not at the provider's own address.
            seconds: the longest wait for bytes.

        Raises:
            UsageError: the name has no provider.
            ExtraMissingError: the `judge` extra is not installed.
        """
        provider, _, name = model.partition(":")
        if not provider or not name:
            raise UsageError(f"{model!r} names no judge", hint="PROVIDER:NAME, such as openai:gpt-4o-mini")
        need("pydantic_ai", extra="judge")
        self.model = model
        self._provider, self._name = provider, name
        self._base_url, self._seconds = base_url, seconds
        self._stack = AsyncExitStack()
        self._made: Any = None

    async def __aenter__(self) -> Self:
        self._made = await self._make()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def _make(self) -> Any:
        if self._provider == "openai":
            return await self._make_openai()
        if self._base_url:
            raise UsageError("--base-url goes with an openai: judge only", hint=f"not with {self._provider}:")
        models = need("pydantic_ai.models", extra="judge")
        try:
            return models.infer_model(self.model)
        except Exception as error:  # the plugin border: a provider's own set-up fails in its own ways
            raise not_set_up("judge", self.model, redact(str(error))) from error

    async def _make_openai(self) -> Any:
        openai = need("openai", extra="judge")
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        key = os.environ.get("OPENAI_API_KEY", "")
        if not key and not self._base_url and not os.environ.get("OPENAI_BASE_URL"):
            raise UsageError("the judge needs a key", hint="set OPENAI_API_KEY, or name a local server with --base-url")
        # The client's own retries would multiply with ours.
        client = openai.AsyncOpenAI(
            base_url=self._base_url or None, api_key=key or "none", max_retries=0, timeout=self._seconds
        )
        await self._stack.enter_async_context(client)
        return OpenAIChatModel(self._name, provider=OpenAIProvider(openai_client=client))

    async def ask(self, call: Call, mode: str) -> Answer:
        """Send one request and return what came back.

        Raises:
            Fault: nothing usable came back.
        """
        from pydantic_ai.direct import model_request
        from pydantic_ai.messages import ModelRequest

        system, prompt = call.fenced()
        message = ModelRequest.user_text_prompt(prompt, instructions=system)
        settings: Any = dict(call.settings)
        try:
            response = await model_request(
                self._made,
                [message],
                model_settings=settings,
                model_request_parameters=_parameters(call, mode),
            )
        except asyncio.CancelledError:
            raise
        except Exception as error:  # the border of one measurement: clients fail in many ways, IndexError among them
            raise fault_of(error) from error
        return _read(response, mode)


def _parameters(call: Call, mode: str) -> Any:
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition
    from pydantic_ai.tools import ToolDefinition

    if not call.schema:
        return ModelRequestParameters()
    schema = dict(call.schema)
    if mode == "tool":
        tool = ToolDefinition(name=TOOL, description="Give your marks.", parameters_json_schema=schema, kind="output")
        return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)
    wanted = OutputObjectDefinition(json_schema=schema, name="marks")
    if mode == "native":
        return ModelRequestParameters(output_mode="native", output_object=wanted)
    return ModelRequestParameters(output_mode="prompted", output_object=wanted)


def _read(response: Any, mode: str) -> Answer:
    from pydantic_ai.messages import TextPart, ToolCallPart

    calls = [part for part in response.parts if isinstance(part, ToolCallPart) and part.tool_name == TOOL]
    texts = [part.content for part in response.parts if isinstance(part, TextPart)]
    if calls:
        arguments = calls[0].args
        payload = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    else:
        payload = "".join(texts)
    details = response.provider_details or {}
    logprobs = details.get("logprobs")
    return Answer(
        # Half a surrogate pair cannot be written to any file.
        payload=payload.encode("utf-16", "surrogatepass").decode("utf-16", "replace"),
        mode=mode,
        input_tokens=response.usage.input_tokens or None,
        output_tokens=response.usage.output_tokens or None,
        cost=_cost(response),
        logprobs=reduce_logprobs(logprobs) if isinstance(logprobs, list) else (),
        refused=response.finish_reason == "content_filter",
    )


def _cost(response: Any) -> float | None:
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        return None  # no price is known for this model: unknown, which is not free


def fault_of(error: Exception) -> Fault:
    """Return what a client's exception means for the next step."""
    from pydantic_ai import exceptions

    what = redact(f"{type(error).__name__}: {error}")[:_MAX_DETAIL]
    if isinstance(error, exceptions.ModelHTTPError):
        status = error.status_code
        if status in (401, 403):
            return Fault(MissingKind.UNAVAILABLE, f"the judge refused the key: {what}", again=False, fatal=True)
        if status == 429 or status >= 500 or status == 408:
            return Fault(MissingKind.UNAVAILABLE, what, wait=_wait(error), unsupported=status in _UNSUPPORTED)
        if isinstance(error, exceptions.ModelContextWindowExceededError):
            return Fault(MissingKind.UNAVAILABLE, f"too long for the judge: {what}", again=False)
        return Fault(MissingKind.UNAVAILABLE, what, again=status in _UNSUPPORTED, unsupported=status in _UNSUPPORTED)
    return Fault(MissingKind.UNAVAILABLE, what)


def _wait(error: Exception) -> float | None:
    """Return the seconds of a Retry-After header, given as seconds or as a date."""
    headers = getattr(getattr(error.__cause__, "response", None), "headers", None) or {}
    stated = headers.get("retry-after")
    if not isinstance(stated, str):
        return None
    try:
        seconds = float(stated)
    except ValueError:
        pass
    else:
        return seconds if 0 <= seconds < float("inf") else None
    try:
        moment = parsedate_to_datetime(stated)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
