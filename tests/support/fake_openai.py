"""A chat-completions server on the loopback interface that says what a test tells it to, and can misbehave.

    with FakeOpenAI(lambda request, n: text("hello")) as server:
        ask(base_url=server.base_url)
    assert server.calls == 1

A script is a function of the request's body and its number (from 0), or a list of replies of which the last repeats.
`FAULTS` names every way in which a real server has been seen to fail; each entry is such a function.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from support.load import PATIENCE

MODEL = "fake-model"


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back over the wire."""

    body: bytes = b""
    status: int = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    """Wait before the first byte."""
    drip: float = 0.0
    """Seconds between single bytes: a server that is alive and useless."""
    cut: int | None = None
    """Close the connection after this many bytes, though more were promised."""


Script = Callable[[dict[str, Any], int], Reply] | Sequence[Reply]


def completion(message: Mapping[str, object], *, finish: str = "stop", **extra: object) -> Reply:
    """Wrap a message in the protocol's envelope, with token counts."""
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", **message}, **extra}
    return Reply(
        json.dumps(
            {
                "id": "chatcmpl-fake",
                "object": "chat.completion",
                "created": 1_700_000_000,
                "model": MODEL,
                "choices": [choice],
                "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
            }
        ).encode()
    )


def text(content: str, **extra: object) -> Reply:
    """Answer with plain text."""
    return completion({"content": content}, **extra)


def tool_call(arguments: str, name: str = "final_result") -> Reply:
    """Answer with a call of the output tool; `arguments` is sent as it stands, also where it is no JSON."""
    call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}
    return completion({"content": None, "tool_calls": [call]}, finish="tool_calls")


def structured(request: Mapping[str, Any], payload: str) -> Reply:
    """Answer with this JSON in the way that the request asked for: a tool call, or the content."""
    tools = request.get("tools") or []
    if tools:
        return tool_call(payload, tools[0]["function"]["name"])
    return text(payload)


def schema_of(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema that the request wants its answer in; empty if it states none."""
    for tool in request.get("tools") or []:
        return dict(tool["function"]["parameters"])
    wanted = (request.get("response_format") or {}).get("json_schema") or {}
    return dict(wanted.get("schema") or {})


def fill(schema: Mapping[str, Any], integer: object = 4, string: str = "because of the text") -> dict[str, Any]:
    """Return an object that satisfies a schema of integers, strings, lists and objects."""
    definitions = schema.get("$defs", {})

    def value(part: Mapping[str, Any]) -> Any:
        if "$ref" in part:
            return value(definitions[part["$ref"].rsplit("/", 1)[-1]])
        if "enum" in part:
            return part["enum"][0]
        if "anyOf" in part:
            return value(part["anyOf"][0])
        kind = part.get("type")
        if kind == "object" or "properties" in part:
            return {name: value(inner) for name, inner in part.get("properties", {}).items()}
        if kind == "array":
            return []
        return {"integer": integer, "number": integer, "string": string, "boolean": True}.get(str(kind))

    filled = value(schema)
    return filled if isinstance(filled, dict) else {}


def good(request: dict[str, Any], _n: int = 0) -> Reply:
    """Answer with an object that fits what was asked: every integer 4."""
    return structured(request, json.dumps(fill(schema_of(request))))


def _date_retry(_request: dict[str, Any], _n: int) -> Reply:
    return Reply(
        b'{"error": {"message": "slow down"}}', 429, headers={"Retry-After": formatdate(time.time(), usegmt=True)}
    )


def _scores(value: object) -> Callable[[dict[str, Any], int], Reply]:
    def reply(request: dict[str, Any], _n: int) -> Reply:
        return structured(request, json.dumps(fill(schema_of(request), integer=value)))

    return reply


def _truncated(request: dict[str, Any], _n: int) -> Reply:
    whole = json.dumps(fill(schema_of(request)))
    return structured(request, whole[: len(whole) // 2])


FAULTS: dict[str, Callable[[dict[str, Any], int], Reply]] = {
    "429_seconds": lambda _r, _n: Reply(b'{"error": {"message": "slow down"}}', 429, headers={"Retry-After": "0"}),
    "429_date": _date_retry,
    "500": lambda _r, _n: Reply(b'{"error": {"message": "oops"}}', 500),
    "401": lambda _r, _n: Reply(b'{"error": {"message": "no such key"}}', 401),
    "slow_drip": lambda request, n: replace(good(request, n), drip=0.2),
    "html_200": lambda _r, _n: Reply(b"<html><body>Log in: score 5</body></html>", 200, "text/html"),
    "broken_body": lambda _r, _n: Reply(b'{"id": "x", "choices": [{"message": '),
    "broken_json": lambda request, _n: structured(request, "{'score': 5,,"),
    "truncated_json": _truncated,
    "wrong_schema": lambda request, _n: structured(request, '{"stars": 5, "verdict": "great"}'),
    "seven_of_five": _scores(7),
    "string_five": _scores("5"),
    "nan": _scores(float("nan")),
    "prose": lambda _r, _n: text('I would give it a score of 5 out of 5: {"score": 5}.'),
    "empty": lambda _r, _n: text(""),
    "no_choices": lambda _r, _n: Reply(
        b'{"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": []}'
    ),
    "refusal": lambda _r, _n: completion({"content": None, "refusal": "I cannot help with that."}),
    "cut": lambda request, n: replace(good(request, n), cut=40),
}
"""Every fault by name. None of them holds a score that may be believed."""


class _Server(ThreadingHTTPServer):
    """Knows how many connections it has not done with."""

    daemon_threads = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.open = 0
        self.done = threading.Condition()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self.done:
            self.open += 1
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        with self.done:
            self.open -= 1
            self.done.notify_all()


class FakeOpenAI:
    """The server; a context manager. It listens on 127.0.0.1 only and stops, with its threads, at the end."""

    def __init__(self, script: Script = good, *, path: str = "/v1") -> None:
        self._script = script
        self._path = path
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self.requests: list[dict[str, Any]] = []
        """The bodies received, in order of arrival."""
        self.keys: list[str] = []
        """What each request was authorized by."""
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def base_url(self) -> str:
        """What a client takes as its base URL."""
        return f"http://127.0.0.1:{self._server.server_address[1]}{self._path}"

    @property
    def calls(self) -> int:
        """How many requests have come in."""
        return len(self.requests)

    def settle(self) -> None:
        """Return when what anybody has sent until now has come in, also what the system has taken from one killed since."""
        with socket.create_connection(self._server.server_address[:2], timeout=PATIENCE) as last:
            last.sendall(b"GET / HTTP/1.0\r\n\r\n")  # connections are taken in order
            last.recv(1)
        with self._server.done:
            assert self._server.done.wait_for(lambda: not self._server.open, timeout=PATIENCE)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=PATIENCE)

    def _reply(self, request: dict[str, Any]) -> Reply:
        with self._lock:
            number = len(self.requests)
            self.requests.append(request)
        if callable(self._script):
            return self._script(request, number)
        return self._script[min(number, len(self._script) - 1)]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: object) -> None:
                pass

            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                request = json.loads(self.rfile.read(length) or b"{}")
                # The client may give up first, which is what some tests are about.
                fake.keys.append(self.headers.get("Authorization") or "")
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    fake._send(self, fake._reply(request))

        return Handler

    def _send(self, handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        self._stopping.wait(reply.seconds)
        handler.send_response(reply.status)
        handler.send_header("Content-Type", reply.content_type)
        handler.send_header("Content-Length", str(len(reply.body)))
        handler.send_header("Connection", "close")
        for name, value in reply.headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        body = reply.body if reply.cut is None else reply.body[: reply.cut]
        if not reply.drip:
            handler.wfile.write(body)
        else:
            for position in range(len(body)):
                if self._stopping.wait(reply.drip):
                    break
                handler.wfile.write(body[position : position + 1])
                handler.wfile.flush()
        handler.close_connection = True
