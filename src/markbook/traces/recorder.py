"""Record a run without any tracing set up: a context manager that writes OTLP JSON, one span a line.

    with Recorder("run.jsonl") as record:
        with record.agent("manager"):
            with record.tool("search", {"q": "bleu"}) as call:
                call.result = search("bleu")

`instrument` does the same for pydantic-ai through its own OpenTelemetry spans.
"""

from __future__ import annotations

import functools
import inspect
import json
import math
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Self

from markbook.errors import OutputError, os_errors_as
from markbook.plugins import need
from markbook.traces.plain import dump
from markbook.types import Record

_SCOPE = "markbook.recorder"


@dataclass(eq=False)
class Recorded:
    """A span under way; set `result` before it ends."""

    name: str
    trace: str
    parent: str
    attributes: dict[str, object]
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    result: object = None
    """What the call returned; written as text or JSON."""
    start: int = field(default_factory=time.time_ns)


class Recorder:
    """Writes what agents do to a file that `read_trace` reads; safe in threads and tasks.

    Args:
        path: the file; an existing one is replaced.

    Raises:
        OutputError: the file cannot be written.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._trace = secrets.token_hex(16)
        self._lock = threading.Lock()
        self._file: IO[str] | None = None
        # Context variables and not a stack: each thread and each task has its own current span.
        self._current: ContextVar[Recorded | None] = ContextVar("markbook_recorded", default=None)
        self._agent: ContextVar[str] = ContextVar("markbook_agent", default="")

    def __enter__(self) -> Self:
        self._file = open_for_spans(self.path)
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    @contextmanager
    def agent(self, name: str) -> Iterator[Recorded]:
        """Record an agent's run; one inside another's is a hand-off."""
        attributes: dict[str, object] = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
        token = self._agent.set(name)
        try:
            with self._span(f"invoke_agent {name}", attributes) as span:
                yield span
        finally:
            self._agent.reset(token)

    @contextmanager
    def tool(self, name: str, arguments: Record | None = None) -> Iterator[Recorded]:
        """Record a tool call; set `result` on what it gives."""
        attributes: dict[str, object] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
        if arguments is not None:
            attributes["gen_ai.tool.call.arguments"] = dump(arguments)
        with self._span(f"execute_tool {name}", attributes) as span:
            yield span
            # Reached only where the call ended well: an exception leaves before this line.
            if span.result is not None:
                text = span.result if isinstance(span.result, str) else dump(span.result)
                span.attributes["gen_ai.tool.call.result"] = text

    @contextmanager
    def model(
        self, name: str, *, input_tokens: int | None = None, output_tokens: int | None = None
    ) -> Iterator[Recorded]:
        """Record a model call; tokens that are known only afterwards go into `attributes` of what it gives."""
        attributes: dict[str, object] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": name}
        usage = {"input_tokens": input_tokens, "output_tokens": output_tokens}
        attributes |= {f"gen_ai.usage.{key}": count for key, count in usage.items() if count is not None}
        with self._span(f"chat {name}", attributes) as span:
            yield span

    def trace_tool(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, plain or async, recorded as a tool call with its keyword and positional arguments."""
        inner = function.func if isinstance(function, functools.partial) else function
        name, arguments = str(getattr(inner, "__name__", type(inner).__name__)), _binder(function)

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def recorded_async(*args: Any, **kwargs: Any) -> Any:
                with self.tool(name, arguments(args, kwargs)) as call:
                    call.result = await function(*args, **kwargs)
                return call.result

            return recorded_async

        @functools.wraps(function)
        def call_recorded(*args: Any, **kwargs: Any) -> Any:
            with self.tool(name, arguments(args, kwargs)) as call:
                call.result = function(*args, **kwargs)
            return call.result

        return call_recorded

    traced = trace_tool
    """The name that it had in 0.1."""

    @contextmanager
    def _span(self, name: str, attributes: dict[str, object]) -> Iterator[Recorded]:
        above = self._current.get()
        if self._agent.get():
            attributes.setdefault("gen_ai.agent.name", self._agent.get())
        span = Recorded(name, self._trace, above.id if above else "", attributes)
        token = self._current.set(span)
        failed = ""
        try:
            yield span
        # A span also ends with Ctrl-C or a cancelled task.
        except BaseException as error:
            failed = type(error).__name__
            attributes["error.type"] = failed
            raise
        finally:
            self._current.reset(token)
            self._write(span, failed=failed)

    def _write(self, span: Recorded, *, failed: str) -> None:
        ids, times = (span.trace, span.id, span.parent), (span.start, time.time_ns())
        line = span_line(ids, span.name, times, span.attributes, status=2 if failed else 1, scope=_SCOPE)
        # One line a span, written whole under the lock: threads end their spans at the same time.
        with self._lock:
            if self._file is None:
                raise OutputError("the recorder is closed", at=str(self.path), hint="use it inside `with Recorder(..)`")
            self._file.write(line)
            self._file.flush()


Binder = Callable[[tuple[Any, ...], dict[str, object]], dict[str, object]]


def _binder(function: Callable[..., Any]) -> Binder:
    """Return what names the arguments of a call; those that the function will refuse by place and keyword as given."""
    try:
        signature = inspect.signature(function)
    except ValueError:  # some built-in functions have none
        signature = None

    def arguments(args: tuple[Any, ...], kwargs: dict[str, object]) -> dict[str, object]:
        try:
            if signature is not None:
                return dict(signature.bind(*args, **kwargs).arguments)
        except TypeError:
            pass  # the call itself says so, inside its span
        return {str(index): value for index, value in enumerate(args)} | kwargs

    return arguments


def open_for_spans(path: Path) -> IO[str]:
    """Return a new file for spans.

    Raises:
        OutputError: it cannot be written.
    """
    with os_errors_as(OutputError, "the trace cannot be written", path):
        return path.open("w", encoding="utf-8", newline="\n")


def span_line(
    ids: tuple[str, str, str], name: str, times: tuple[int, int], attributes: Record, *, status: int, scope: str
) -> str:
    """Return one span as a line of OTLP JSON: 64-bit integers as strings, ids (trace, span, parent) in hex."""
    trace, identity, parent = ids
    span = {
        "traceId": trace, "spanId": identity, "parentSpanId": parent, "name": name, "kind": 1,
        "startTimeUnixNano": str(times[0]), "endTimeUnixNano": str(times[1]), "status": {"code": status},
        "attributes": [{"key": key, "value": _any_value(value)} for key, value in attributes.items()],
    }  # fmt: skip
    document = {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": scope}, "spans": [span]}]}]}
    return json.dumps(document) + "\n"


def _any_value(value: object) -> dict[str, object]:
    # Before the integers, since True is one for Python.
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        # as protobuf's JSON spells them: a bare NaN is not JSON
        return {
            "doubleValue": value
            if math.isfinite(value)
            else str(value).replace("inf", "Infinity").replace("nan", "NaN")
        }
    if isinstance(value, list | tuple):
        return {"arrayValue": {"values": [_any_value(item) for item in value]}}
    return {"stringValue": value if isinstance(value, str) else dump(value)}


@contextmanager
def instrument(path: str | Path) -> Iterator[None]:
    """Write the spans of every pydantic-ai agent that runs inside to a file as OTLP JSON.

    Args:
        path: the file; an existing one is replaced.

    Raises:
        ExtraMissingError: pydantic-ai or the OpenTelemetry SDK is not installed.
        OutputError: the file cannot be written.
    """
    agents = need("pydantic_ai", extra="judge")
    settings = need("pydantic_ai.models.instrumented", extra="judge")
    trace = need("opentelemetry.sdk.trace", extra="agents")
    export: Any = need("opentelemetry.sdk.trace.export", extra="agents")
    lock = threading.Lock()

    class LineExporter(export.SpanExporter):  # type: ignore[misc]  # the base class is known only at run time
        def export(self, spans: Any) -> Any:
            with lock:
                for span in spans:
                    parent = format(span.parent.span_id, "016x") if span.parent else ""
                    ids = (format(span.context.trace_id, "032x"), format(span.context.span_id, "016x"), parent)
                    status = {"OK": 1, "ERROR": 2}.get(span.status.status_code.name, 0)
                    times, scope = (span.start_time, span.end_time), span.instrumentation_scope.name
                    file.write(span_line(ids, span.name, times, span.attributes or {}, status=status, scope=scope))
                file.flush()
            return export.SpanExportResult.SUCCESS

    with open_for_spans(Path(path)) as file:
        provider = trace.TracerProvider(shutdown_on_exit=False)
        # Each span is written when it ends and not in batches, so that a crash loses none that had ended.
        provider.add_span_processor(export.SimpleSpanProcessor(LineExporter()))
        agents.Agent.instrument_all(settings.InstrumentationSettings(tracer_provider=provider))
        try:
            yield
        finally:
            agents.Agent.instrument_all(False)
            provider.shutdown()
