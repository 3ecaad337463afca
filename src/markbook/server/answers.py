"""Answers as the server sends them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from markbook.server.guard import Refused

HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
}


def as_json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a value as JSON."""
    data = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    return Response(data, status, {**HEADERS, **(headers or {})}, "application/json")


def refusal(refused: Refused) -> Response:
    """Return a sentence that says what is wrong."""
    return as_json({"error": refused.message}, refused.status, refused.headers)
