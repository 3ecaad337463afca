"""Google ADK's sessions and the event lists that its server answers with, in either spelling of the keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from markbook.files.stream import Source
from markbook.trace import Step, StepKind, Trace, add_known
from markbook.traces import Probe
from markbook.traces.chat import OpenCalls
from markbook.traces.plain import bound_value, make_trace, moment, read_name, read_text, record, rows, whole
from markbook.types import Record


class AdkSession:
    """Reads a session, a list of sessions, or the events of one."""

    name = "adk"

    def sniff(self, probe: Probe) -> int:
        """Return 90 for events with an author and an invocation, alone or in a session."""
        for row in probe.sample[:3]:
            events = rows(row.get("events")) or [row]
            if "author" in events[0] and _get(events[0], "invocation_id") is not None:
                return 90
        return 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield one run for each session."""
        items = source.items()
        loose = [item for item in rows(items) if "author" in item]
        if loose:
            yield _Run().read(loose, "", self.name)
        for item in items:
            if isinstance(item, dict) and isinstance(item.get("events"), list):
                yield _Run().read(rows(item["events"]), read_name(item.get("id")), self.name)
            elif not isinstance(item, dict) or "author" not in item:
                source.problems["not an event or a session"] += 1


def _get(row: Record, name: str) -> Any:
    """Return a value under its Python name or its JSON name."""
    if name in row:
        return row[name]
    first, *rest = name.split("_")
    return row.get(first + "".join(part.title() for part in rest))


class _Run:
    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.cached: list[int | None] = []
        self.unrecognised: Counter[str] = Counter()
        self.calls = OpenCalls()

    def read(self, events: Sequence[Record], identity: str, reader: str) -> Trace:
        for event in events:
            if not event.get("partial"):  # a piece of a reply that comes whole later
                self._event(event)
        return make_trace(
            self.steps, reader=reader, id=identity, unrecognised=dict(self.unrecognised),
            cached_tokens=add_known(self.cached),
        )  # fmt: skip

    def _event(self, event: Record) -> None:
        author = read_name(event.get("author"))
        if not author:
            self.unrecognised["events without an author"] += 1
            return
        time, content = moment(event.get("timestamp")), record(event.get("content"))
        parts = rows(content.get("parts"))
        usage = record(_get(event, "usage_metadata"))
        answers = any(_get(part, "function_response") is not None for part in parts)
        agent = "" if author == "user" or answers else author
        kind = "tool" if answers else "assistant" if agent else "user"
        self.cached.append(whole(_get(usage, "cached_content_token_count")))
        if parts or usage:
            self.steps.append(
                Step(
                    StepKind.MESSAGE, agent, kind, start=time, text=read_text("\n".join(read_text(part.get("text")) for part in parts if part.get("text"))),
                    error=read_text(_get(event, "error_message") or _get(event, "error_code"), 200),
                    input_tokens=whole(_get(usage, "prompt_token_count")),
                    output_tokens=add_known(
                        whole(_get(usage, key)) for key in ("candidates_token_count", "thoughts_token_count")
                    ),
                )
            )  # fmt: skip
        for part in parts:
            self._call(record(_get(part, "function_call")), author, time)
            self._answer(record(_get(part, "function_response")), time)
        target = read_name(_get(record(event.get("actions")), "transfer_to_agent"))
        if target:
            self.steps.append(Step(StepKind.HANDOFF, author, "handoff", target, start=time))

    def _call(self, call: Record, agent: str, time: float | None) -> None:
        name = read_name(call.get("name"))
        if not name:
            return
        identity = read_text(call.get("id"), 200)
        self.calls.add(len(self.steps), identity, name)
        arguments = bound_value(call.get("args"))
        self.steps.append(Step(StepKind.TOOL, agent, name, id=identity, arguments=arguments, start=time))

    def _answer(self, answer: Record, time: float | None) -> None:
        name = read_name(answer.get("name"))
        if not name:
            return
        identity = read_text(answer.get("id"), 200)
        at = self.calls.answer(identity, "" if identity else name)
        if at is None:  # a long call answers twice: that it runs, and what came of it
            at = self.calls.find_answered(identity or name)
        if at is None:
            self.unrecognised["tool results without a call"] += 1
            return
        response = answer.get("response")
        error = record(response).get("error")
        failed = bool(error) or record(response).get("status") == "error"
        self.steps[at] = replace(
            self.steps[at], ok=not failed, error=read_text(error, 200) or ("error" if failed else ""), end=time,
            result=read_text(response),
        )  # fmt: skip
