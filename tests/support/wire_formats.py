"""Replies as the providers' own SDKs know them: each is made of the SDK's types, so that no field is a guess of ours.

A provider's `reply` takes what a judge says, in pieces: `{"tool": {...}}` for a call of the output tool, `{"text": ".."}`, and
`{"thinking": ".."}`.
"""

import json
from dataclasses import dataclass

import pytest

from support.fake_openai import Reply

TOOL = "final_result"


@dataclass(frozen=True)
class Provider:
    """How a provider is called, and how it says things."""

    model: str
    key: str
    path: str
    reply: object
    refusal: object
    """Replies that refuse, each as the provider words it."""
    error: object
    """From status and message to an error."""

    def __str__(self):
        return self.model.partition(":")[0]


def _bytes(model, **options):
    return Reply(model.model_dump_json(**options).encode())


def openai_reply(*pieces, finish=None, refusal=None):
    """Return a chat completion."""
    types = pytest.importorskip("openai.types.chat")
    calls = [
        {"id": f"call_{n}", "type": "function", "function": {"name": TOOL, "arguments": json.dumps(piece["tool"])}}
        for n, piece in enumerate(pieces)
        if "tool" in piece
    ]
    said = "".join(piece["text"] for piece in pieces if "text" in piece) or None
    message = {"role": "assistant", "content": said, "refusal": refusal, "annotations": []}
    message |= {"tool_calls": calls} if calls else {}
    usage = {
        "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 64, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 8, "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0, "audio_tokens": 0},
    }  # fmt: skip
    return _bytes(
        types.ChatCompletion.model_validate(
            {
                "id": "chatcmpl-1", "object": "chat.completion", "created": 1_750_000_000, "model": "gpt-4o-mini-2024-07-18",
                "service_tier": "default", "system_fingerprint": "fp_1", "usage": usage,
                "choices": [{"index": 0, "logprobs": None, "message": message, "finish_reason": finish or ("tool_calls" if calls else "stop")}],
            }
        )
    )  # fmt: skip


def anthropic_reply(*pieces, stop=None):
    """Return a message."""
    types = pytest.importorskip("anthropic.types")
    content = []
    for number, piece in enumerate(pieces):
        if "tool" in piece:
            content.append({"type": "tool_use", "id": f"toolu_{number}", "name": TOOL, "input": piece["tool"]})
        elif "thinking" in piece:
            content.append({"type": "thinking", "thinking": piece["thinking"], "signature": "c2ln"})
        else:
            content.append({"type": "text", "text": piece["text"], "citations": None})
    has_tool = any(part["type"] == "tool_use" for part in content)
    usage = {"input_tokens": 36, "output_tokens": 20, "cache_read_input_tokens": 64, "cache_creation_input_tokens": 0}
    return _bytes(
        types.Message.model_validate(
            {
                "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-haiku-4-5", "content": content,
                "stop_reason": stop or ("tool_use" if has_tool else "end_turn"), "stop_sequence": None, "usage": usage,
            }
        )
    )  # fmt: skip


def google_reply(*pieces, finish="STOP", block=None):
    """Return a GenerateContentResponse."""
    types = pytest.importorskip("google.genai.types")
    parts = []
    for piece in pieces:
        if "tool" in piece:
            parts.append({"functionCall": {"name": TOOL, "args": piece["tool"]}})
        elif "thinking" in piece:
            parts.append({"text": piece["thinking"], "thought": True})
        else:
            parts.append({"text": piece["text"]})
    body = {
        "usageMetadata": {
            "promptTokenCount": 100, "candidatesTokenCount": 12, "thoughtsTokenCount": 8, "totalTokenCount": 120,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 100}],
        },
        "modelVersion": "gemini-2.5-flash", "responseId": "r1",
    }  # fmt: skip
    if block:
        body["promptFeedback"] = {"blockReason": block}
    else:
        candidate = {
            "finishReason": finish,
            "index": 0,
            **({"content": {"role": "model", "parts": parts}} if parts else {}),
        }
        body["candidates"] = [candidate]
    return _bytes(types.GenerateContentResponse.model_validate(body), by_alias=True, exclude_none=True)


def _openai_error(status, message):
    body = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}
    return Reply(json.dumps(body).encode(), status)


def _anthropic_error(status, message):
    kind = {401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}.get(status, "api_error")
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    return Reply(json.dumps(body).encode(), status)


def _google_error(status, message):
    words = {401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}.get(status, "INTERNAL")
    retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0s"}
    body = {"error": {"code": status, "message": message, "status": words, "details": [retry]}}
    return Reply(json.dumps(body).encode(), status)


PROVIDERS = (
    Provider(
        "openai:gpt-4o-mini", "OPENAI_API_KEY", "/v1", openai_reply,
        (lambda: openai_reply(refusal="I'm sorry, I can't assist with that."), lambda: openai_reply(finish="content_filter")),
        _openai_error,
    ),
    Provider(
        "anthropic:claude-haiku-4-5", "ANTHROPIC_API_KEY", "", anthropic_reply,
        (lambda: anthropic_reply(stop="refusal"), lambda: anthropic_reply({"text": "I can't help with that."}, stop="refusal")),
        _anthropic_error,
    ),
    Provider(
        "google:gemini-2.5-flash", "GOOGLE_API_KEY", "", google_reply,
        (lambda: google_reply(finish="SAFETY"), lambda: google_reply(block="PROHIBITED_CONTENT")),
        _google_error,
    ),
)  # fmt: skip
