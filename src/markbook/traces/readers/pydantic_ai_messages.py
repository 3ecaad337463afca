"""pydantic-ai's message history (`result.all_messages_json()`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from markbook.files.stream import Source
from markbook.trace import Step, StepKind, Trace
from markbook.traces import Probe
from markbook.traces.plain import make_trace, moment, number, parse_arguments, read_name, read_text, record, rows, whole
from markbook.types import Record

_QUIET = frozenset({"user-prompt", "system-prompt", "instructions", "text", "thinking", "file", "compaction"})
_BUILTIN = {"builtin-tool-call": "tool-call", "builtin-tool-return": "tool-return"}


class PydanticAIMessages:
    """Reads a list of requests and responses."""

    name = "pydantic-ai"

    def sniff(self, probe: Probe) -> int:
        """Return 90 for messages with `kind` and `parts`."""
        first = probe.sample[0] if probe.sample else {}
        return 90 if first.get("kind") in ("request", "response") and "parts" in first else 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield one run for each list."""
        items = source.items()
        lists = [item for item in items if isinstance(item, list)] or [items]
        if lists[0] is not items and len(lists) < len(items):
            source.problems["not a list of messages"] += len(items) - len(lists)
        for messages in lists:
            yield _Run().read(messages, self.name)


class _Run:
    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.unrecognised: Counter[str] = Counter()
        self.waiting: dict[str, int] = {}

    def read(self, messages: list[Any], reader: str) -> Trace:
        identity = ""
        for message in messages:
            if not isinstance(message, dict) or message.get("kind") not in ("request", "response"):
                self.unrecognised["not a pydantic-ai message"] += 1
                continue
            identity = identity or read_name(message.get("run_id"))
            self._message(message)
        return make_trace(self.steps, reader=reader, id=identity, unrecognised=dict(self.unrecognised))

    def _message(self, message: Record) -> None:
        parts = rows(message.get("parts"))
        texts = [read_text(part.get("content")) for part in parts if str(part.get("part_kind")) in _QUIET]
        usage = record(message.get("usage"))
        time = moment(message.get("timestamp"))
        is_reply = message["kind"] == "response"
        self.steps.append(
            Step(
                StepKind.MESSAGE, "agent" if is_reply else "", "assistant" if is_reply else "user", start=time,
                text=read_text("\n".join(filter(None, texts))),
                input_tokens=whole(usage.get("input_tokens", usage.get("request_tokens"))) if is_reply else None,
                output_tokens=whole(usage.get("output_tokens", usage.get("response_tokens"))) if is_reply else None,
                cost=number(record(message.get("provider_details")).get("cost")),
            )
        )  # fmt: skip
        for part in parts:
            self._part(part, time)

    def _part(self, part: Record, time: float | None) -> None:
        kind = _BUILTIN.get(str(part.get("part_kind")), str(part.get("part_kind")))
        call = read_text(part.get("tool_call_id"), 200)
        if kind == "tool-call":
            self.waiting[call] = len(self.steps)
            self.steps.append(
                Step(StepKind.TOOL, "agent", read_name(part.get("tool_name")), id=call, start=time,
                     arguments=parse_arguments(part.get("args")))
            )  # fmt: skip
        elif kind in ("tool-return", "retry-prompt"):
            at = self.waiting.pop(call, None)
            failed = kind == "retry-prompt" or part.get("outcome") in ("failed", "denied")
            if at is not None:
                self.steps[at] = replace(
                    self.steps[at], ok=not failed, error="retry" if failed else "", result=read_text(part.get("content")),
                    end=moment(part.get("timestamp")),
                )  # fmt: skip
            elif kind == "tool-return":
                self.unrecognised["tool returns without a call"] += 1
        elif kind not in _QUIET:
            self.unrecognised[f"parts of kind {kind[:40]!r}"] += 1
