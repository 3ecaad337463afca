"""A model server on the loopback interface that answers at once and always the same; not a real model.

python -m bench._model_server PORT [LOG [REPLIES]]

It speaks chat completions and completions, the latter with `echo` and log-probabilities, a token a character. With LOG each
request's body is appended to that file. REPLIES is a JSON file with an object from prompts to replies; other prompts get one of
their own words. GET /counts tells how many requests came and how often the most frequent one did.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import zlib
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

ENVELOPE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


REPLIES: dict[str, str] = {}
"""By prompt, where a reply is given."""


def answer(prompt: str) -> str:
    """Return the reply that stands for a prompt, else one of the prompt's own words, always the same."""
    if prompt in REPLIES:
        return REPLIES[prompt]
    words = re.findall(r"\w+", prompt[-400:]) or ["nothing"]
    return words[zlib.crc32(prompt.encode("utf-8", "replace")) % len(words)]


def weights(text: str) -> dict[str, Any]:
    """Return a log-probability for each character of a text but the first, by what stands before it."""
    numbers: list[float | None] = [None]
    tops: list[dict[str, float] | None] = [None]
    for place in range(1, len(text)):
        seen = zlib.crc32(text[max(0, place - 3) : place + 1].encode("utf-8", "replace"))
        number = -(seen % 97) / 20
        numbers.append(number)
        tops.append({"~": number + 0.5} if seen % 7 == 0 else {text[place]: number})
    offsets = list(range(len(text)))
    return {"tokens": list(text), "token_logprobs": numbers, "top_logprobs": tops, "text_offset": offsets}


def reply_to(body: dict[str, Any]) -> bytes:
    """Return what goes back."""
    if "messages" in body:
        message = {"role": "assistant", "content": answer(body["messages"][-1]["content"])}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        return json.dumps({"object": "chat.completion", "model": "m", "choices": [choice], "usage": USAGE}).encode()
    prompt = body["prompt"] if isinstance(body["prompt"], str) else body["prompt"][0]
    if body.get("echo"):
        choice = {"index": 0, "finish_reason": "length", "text": prompt + ".", "logprobs": weights(prompt + ".")}
    else:
        choice = {"index": 0, "finish_reason": "stop", "text": " " + answer(prompt)}
    return json.dumps({"object": "text_completion", "model": "m", "choices": [choice], "usage": USAGE}).encode()


class Line(asyncio.Protocol):
    """One connection."""

    asked: ClassVar[Counter[int]] = Counter()
    log: ClassVar[Any] = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport, self.held = transport, b""

    def data_received(self, data: bytes) -> None:
        self.held += data
        while (end := self.held.find(b"\r\n\r\n")) >= 0:
            found = re.search(rb"(?i)content-length: *(\d+)", self.held[:end])
            size = end + 4 + (int(found[1]) if found else 0)
            if len(self.held) < size:
                return
            head, body, self.held = self.held[:end], self.held[end + 4 : size], self.held[size:]
            said = self.counts() if head.startswith(b"GET") else self.told(body)
            self.transport.write(ENVELOPE % len(said) + said)

    def counts(self) -> bytes:
        return json.dumps({"requests": self.asked.total(), "most": max(self.asked.values(), default=0)}).encode()

    def told(self, body: bytes) -> bytes:
        self.asked[zlib.crc32(body)] += 1
        if self.log is not None:
            self.log.write(body.replace(b"\n", b" ") + b"\n")
            self.log.flush()
        return reply_to(json.loads(body))


async def serve(port: int) -> None:
    """Serve until the process is ended."""
    server = await asyncio.get_running_loop().create_server(Line, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    if len(sys.argv) > 2:
        Line.log = Path(sys.argv[2]).open("ab")  # noqa: SIM115 - until the process ends
    if len(sys.argv) > 3:
        REPLIES.update(json.loads(Path(sys.argv[3]).read_text(encoding="utf-8")))
    asyncio.run(serve(int(sys.argv[1])))
