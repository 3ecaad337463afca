"""What the server offers, as OpenAPI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def document(version: str) -> dict[str, object]:
    """Return it."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "Markbook's reward server", "version": version},
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}, "schemas": _SCHEMAS},
        "security": [{"token": []}, {}],
        "paths": {
            "/v1/mark": _post("Mark a batch of programs by their tests.", "Batch", "Rewards"),
            "/v1/score": _post("Measure texts by metrics.", "Texts", "Scores"),
            "/run_code": _post("Run one program, as SandboxFusion does.", "Program", "Executed"),
            "/get_reward": _post("Reward queries, as OpenRLHF asks for it.", "Queries", "Numbers"),
            "/health": _get("Whether it takes work."),
            "/metrics": _get("Its figures, for Prometheus."),
        },
    }


def _post(words: str, request_schema: str, response_schema: str) -> dict[str, object]:
    def shape(name: str) -> dict[str, object]:
        return {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}

    refused = {"description": "A sentence that says what is wrong.", "content": shape("Refusal")}
    busy = {**refused, "headers": {"Retry-After": {"schema": {"type": "integer"}}}}
    codes = ("400", "401", "403", "408", "413", "415", "421")
    return {
        "post": {
            "summary": words,
            "requestBody": {"required": True, "content": shape(request_schema)},
            "responses": {
                "200": {"description": "Done.", "content": shape(response_schema)},
                **dict.fromkeys(codes, refused),
                "429": busy,
                "503": busy,
            },
        }
    }


def _get(words: str) -> dict[str, object]:
    return {"get": {"summary": words, "responses": {"200": {"description": "It."}}}}


_TEXT, _NUMBER, _WHOLE, _YES = {"type": "string"}, {"type": "number"}, {"type": "integer"}, {"type": "boolean"}
_MAYBE_NUMBER, _MAYBE_TEXT = {"type": ["number", "null"]}, {"type": ["string", "null"]}


def _many(items: Mapping[str, object]) -> dict[str, object]:
    return {"type": "array", "items": items}


def _object(required: tuple[str, ...] = (), /, **properties: object) -> dict[str, object]:
    return {"type": "object", "required": list(required), "properties": properties}


_PHASE = _object((), status=_TEXT, execution_time=_NUMBER, return_code=_WHOLE, stdout=_TEXT, stderr=_TEXT)
_ITEM = _object(
    (), id=_TEXT, code=_MAYBE_TEXT, completion=_MAYBE_TEXT, language=_TEXT, timeout=_NUMBER, deadline=_NUMBER,
    memory_mb=_NUMBER, benchmark=_TEXT, task_id=_TEXT, entry_point=_TEXT, canonical=_TEXT, prompt=_TEXT, kind=_TEXT,
    tests={"oneOf": [_TEXT, _many({"oneOf": [_TEXT, {"type": "object"}]})]},
)  # fmt: skip
_REWARD = _object(
    ("id", "reward", "valid", "reason"), id=_TEXT, reward=_MAYBE_NUMBER, valid=_YES, reason=_MAYBE_TEXT, passed=_WHOLE,
    total=_WHOLE, error=_MAYBE_TEXT, message=_TEXT, separated=_MAYBE_NUMBER, unchecked=_WHOLE, isolation=_TEXT,
    tests=_many({"type": "object"}),
)  # fmt: skip
_POLICY = {"enum": ["zero", "partial"]}
_SCHEMAS: dict[str, Any] = {
    "Batch": _object(("items",), items=_many(_ITEM), detail=_YES, deadline=_NUMBER, waited=_NUMBER, error_policy=_POLICY),
    "Rewards": _object(("results",), results=_many(_REWARD)),
    "Texts": _object(("metrics", "items"), metrics=_many(_TEXT), items=_many({"type": "object"})),
    "Scores": _object(("results",), results=_many({"type": "object"})),
    "Program": _object(
        ("code", "language"), code=_TEXT, language=_TEXT, stdin=_MAYBE_TEXT, compile_timeout=_NUMBER,
        run_timeout=_NUMBER, memory_limit_MB=_NUMBER, files={"type": "object"}, fetch_files=_many(_TEXT),
    ),
    "Executed": _object(
        ("status",), status={"enum": ["Success", "Failed", "SandboxError"]}, message=_TEXT, compile_result=_PHASE,
        run_result=_PHASE, executor_pod_name=_MAYBE_TEXT, files={"type": "object"},
    ),
    "Queries": _object(("query", "prompts", "labels"), query=_many(_TEXT), prompts=_many(_TEXT), labels=_many({})),
    "Numbers": _object(("rewards",), rewards=_many(_NUMBER), scores=_many(_NUMBER), extra_logs={"type": "object"}),
    "Refusal": _object(("error",), error=_TEXT),
}  # fmt: skip
