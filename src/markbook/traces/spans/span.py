"""One span, from OTLP JSON or from the flat dictionaries that exporters and test kits write."""

from __future__ import annotations

import base64
import contextlib
import json
from dataclasses import dataclass
from typing import Any

from markbook.traces.plain import MAX_DEPTH, is_record, moment, name_of, record, rows, whole
from markbook.types import Record

_NANO = 1_000_000_000
_SECONDS_BELOW = 1e11
"""A bare number of time below this is in seconds, above it in nanoseconds: 1e11 s is the year 5138."""


@dataclass(slots=True)
class Span:
    """A span with its attributes as one flat mapping of plain values."""

    trace: str
    id: str
    parent: str
    name: str
    start: int | None
    """Nanoseconds."""
    end: int | None
    ok: bool | None
    message: str
    attributes: dict[str, object]
    events: list[Record]
    scope: str


_SHAPES = {
    f"{kind}{ending}": kind
    for kind in ("string", "bool", "int", "double", "array", "kvlist", "bytes")
    for ending in ("Value", "_value")
}


def any_value(value: Any, depth: int = MAX_DEPTH) -> Any:
    """Return the plain value of an OTLP `AnyValue`; a value that is plain already is returned as it is."""
    if not isinstance(value, dict) or depth <= 0:
        return value
    # The wire has one key; exporters write it in camel case, others in snake case.
    shape = next((name for name in value if name in _SHAPES), "")
    if not shape:
        return value
    content = value[shape]
    match _SHAPES[shape]:
        case "int":
            return _integer(content)
        case "array":
            items = record(content).get("values")
            return [any_value(item, depth - 1) for item in items] if isinstance(items, list) else []
        case "kvlist":
            return attributes(record(content).get("values"), depth - 1)
        case _:
            return content


def _integer(value: Any) -> Any:
    """64-bit integers are strings in OTLP JSON; parsers must take numbers too."""
    if isinstance(value, str) and len(value) <= 20:
        try:
            return int(value)
        except ValueError:
            return value
    return value


def attributes(value: Any, depth: int = MAX_DEPTH) -> dict[str, object]:
    """Return attributes as a mapping, from a list of key and value or from a mapping."""
    if isinstance(value, dict):
        return {str(key): any_value(item, depth) for key, item in value.items()}
    return {str(item["key"]): any_value(item.get("value"), depth) for item in rows(value) if "key" in item}


def nanoseconds(value: Any) -> int | None:
    """Return a time in nanoseconds from nanoseconds, seconds or an ISO string; None for what is no time."""
    count = whole(value)
    if count is not None and count >= _SECONDS_BELOW:
        return count
    seconds = moment(value)
    if seconds is None or not 0 <= seconds < _SECONDS_BELOW or not seconds:
        return None
    return min(int(seconds * _NANO), (1 << 63) - 1)


def span_of(raw: Record, around: Record) -> Span | None:
    """Return a span, or None where the object is none: it has neither an id nor a name with attributes."""
    context = record(raw.get("context") or raw.get("span_context"))
    identity = _id(_first(raw, "spanId", "span_id", "id") or context.get("span_id"))
    raw_attributes = raw.get("attributes")
    if not identity or not (isinstance(raw_attributes, list | dict) or "startTimeUnixNano" in raw):
        return None
    status = raw.get("status")
    code = str(_first(record(status), "code", "status_code", "statusCode") if is_record(status) else status or "")
    scope = _first(raw, "scope", "instrumentation_scope", "instrumentationScope") or around.get("scope")
    merged = attributes(raw_attributes)
    return Span(
        trace=_id(_first(raw, "traceId", "trace_id") or context.get("trace_id")),
        id=identity,
        parent=_id(_first(raw, "parentSpanId", "parent_span_id", "parent_id", "parentId")),
        name=name_of(raw.get("name")),
        start=nanoseconds(_first(raw, "startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime")),
        end=nanoseconds(_first(raw, "endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime")),
        ok=_status(code),
        message=str(_first(record(status), "message", "description") or "")[:500],
        attributes=merged,
        events=rows(_first(raw, "events", "span_events")),
        scope=name_of(record(scope).get("name")),
    )


def _first(source: Record, *keys: str) -> Any:
    for key in keys:
        value = source.get(key)
        if value is not None:
            return value
    return None


def _id(value: Any) -> str:
    """Ids are hex whose case varies, or base64 (Tempo, by the letter of JSON protobuf); all zeros means none."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = format(value, "x")
    if not isinstance(value, str):
        return ""
    value = value.strip()
    if value.endswith("=") and len(value) in (12, 24):  # 8 and 16 bytes
        with contextlib.suppress(ValueError):
            value = base64.b64decode(value, validate=True).hex()
    digits = value.lower().removeprefix("0x")[:128]
    return digits if digits.strip("0") else ""


def _status(code: str) -> bool | None:
    """Status codes are 0, 1, 2 on the wire; names occur."""
    name = code.upper().removeprefix("STATUS_CODE_").removeprefix("STATUSCODE.")
    if name in {"2", "ERROR"}:
        return False
    return True if name in {"1", "OK"} else None


def event_attributes(event: Record) -> tuple[str, dict[str, object]]:
    """Return an event's name and attributes."""
    return name_of(_first(event, "name", "event_name")), attributes(event.get("attributes"))


def maybe_json(value: Any) -> Any:
    """Return the value of a JSON string of an object or array; anything else as it is."""
    if isinstance(value, str) and value[:1] in "{[" and len(value) <= 1 << 22:
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value
