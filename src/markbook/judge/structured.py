"""One structured question to a judge: how it is put to pydantic-ai, and what of the response is its reply."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from markbook.judge.prompts import Call
from markbook.judge.reply import Violation
from markbook.judge.tokens import TokenRecord, reduce_logprobs

MODES = ("tool", "native", "prompted")
"""How the structure is asked for, from the most to the least reliable; `auto` starts at the first."""
TOOL = "final_result"


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """What came back, before anything of it is believed."""

    payload: str
    mode: str = ""
    logprobs: tuple[TokenRecord, ...] = ()
    """Per token as `tokens.reduce_logprobs` keeps it; empty where the server gives none."""


async def send(client: Any, call: Call, mode: str) -> Any:
    """Send a call once and return the response."""
    from pydantic_ai.direct import model_request
    from pydantic_ai.messages import ModelRequest

    system, prompt = call.add_fence()
    message = ModelRequest.user_text_prompt(prompt, instructions=system)
    # The client's own retries would multiply with ours.
    settings: Any = {**call.settings, "max_retries": 0}
    return await model_request(
        client, [message], model_settings=settings, model_request_parameters=_parameters(call, mode)
    )


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
    definition = OutputObjectDefinition(json_schema=schema, name="marks")
    if mode == "native":
        return ModelRequestParameters(output_mode="native", output_object=definition)
    return ModelRequestParameters(output_mode="prompted", output_object=definition)


def read(response: Any, mode: str) -> RawAnswer:
    """Return what a response replies.

    Raises:
        Violation: a refusal, nothing, or two results that contradict one another.
    """
    from pydantic_ai.messages import TextPart, ToolCallPart

    if response.finish_reason == "content_filter":
        raise Violation("it refused")
    calls = [part for part in response.parts if isinstance(part, ToolCallPart) and part.tool_name == TOOL]
    texts = [part.content for part in response.parts if isinstance(part, TextPart)]
    payload = _result([part.args for part in calls]) if calls else "".join(texts)
    if not payload.strip():
        raise Violation("the reply is empty")
    logprobs = (response.provider_details or {}).get("logprobs")
    return RawAnswer(
        # Half a surrogate pair cannot be written to any file.
        payload=payload.encode("utf-16", "surrogatepass").decode("utf-16", "replace"),
        mode=mode,
        logprobs=reduce_logprobs(logprobs) if isinstance(logprobs, list) else (),
    )


def _result(results: list[Any]) -> str:
    """Return the one result that a reply gives, however often it gives it."""
    payloads = [result if isinstance(result, str) else json.dumps(result or {}) for result in results]
    if len({_value(payload) for payload in payloads}) > 1:
        raise Violation(f"the reply gives {len(payloads)} results and not all alike: two results are none")
    return payloads[0]


def _value(payload: str) -> str:
    """Return what two payloads of equal meaning have in common."""
    try:
        return json.dumps(json.loads(payload), sort_keys=True)
    except (ValueError, RecursionError):
        return payload
