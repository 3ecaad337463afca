"""Inspect's evaluation logs: `.json`, and `.eval` (a zip of JSON)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from markbook.files.archive import members
from markbook.files.jsonl import BAD, decode_json
from markbook.files.stream import Source
from markbook.trace import Step, StepKind, Trace, add_known
from markbook.traces import Probe
from markbook.traces.chat import OpenCalls, chat_steps
from markbook.traces.plain import moment, number, parse_arguments, read_name, read_text, record, rows, to_list, whole
from markbook.types import Record


class InspectLog:
    """Reads the samples of an evaluation: each sample and epoch is a run."""

    name = "inspect"

    def sniff(self, probe: Probe) -> int:
        """Return 60 for a zip, 90 for an object with `eval` and `samples`."""
        if probe.is_zip:
            return 60
        first = probe.first
        return 90 if isinstance(first.get("eval"), dict) and ("samples" in first or "plan" in first) else 0

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield one run for each sample.

        Raises:
            DataError: the zip is damaged, packed in a way that this Python cannot undo, or a bomb.
        """
        samples: Iterable[Any] = (
            _read_zipped(source) if source.is_zip else to_list(record(source.document()).get("samples"))
        )
        for sample in samples:
            if isinstance(sample, dict):
                yield self._run(sample)
            else:
                source.problems["samples that are not an object"] += 1

    def _run(self, sample: Record) -> Trace:
        chat = chat_steps(rows(sample.get("messages")))
        events = rows(sample.get("events")) or rows(record(sample.get("transcript")).get("events"))
        spans = {str(event.get("id")): event for event in events if event.get("event") == "span_begin"}
        # Tool events know the times and the agent, and calls of sub-agents, which no message holds.
        tools, waiting = [event for event in events if event.get("event") == "tool"], OpenCalls()
        for index, event in enumerate(tools):
            waiting.add(index, read_text(event.get("id"), 200), "")
        unmatched = set(range(len(tools)))
        for place, step in enumerate(chat.steps):
            at = waiting.answer(step.id, "") if step.kind is StepKind.TOOL and step.id else None
            if at is not None:
                chat.steps[place] = _tool(tools[at], spans, step.agent)
                unmatched.discard(at)
        chat.steps += [_tool(tools[at], spans, "assistant") for at in sorted(unmatched)]
        usages = [record(record(event.get("output")).get("usage")) for event in events if event.get("event") == "model"]
        if not any(usages):
            usages = [record(usage) for usage in record(sample.get("model_usage")).values()]
        if not any(usages):
            usages = [record(record(sample.get("output")).get("usage"))]
        first = next((record(score).get("value") for score in record(sample.get("scores")).values()), None)
        times = [time for event in events if (time := moment(event.get("timestamp"))) is not None]
        error, score = sample.get("error"), number(first)
        # Inspect marks C for correct, I for incorrect, N for no answer; a number is a success from 1 on
        success = {"C": True, "True": True, "I": False, "N": False, "False": False}.get(str(first))
        if success is None and score is not None:
            success = score >= 1
        return chat.to_trace(
            self.name, id=f"sample {sample.get('id')} epoch {sample.get('epoch')}"[:200],
            task=str(sample.get("id"))[:200], trial=whole(sample.get("epoch")), success=success, score=score,
            input_tokens=add_known(whole(usage.get("input_tokens")) for usage in usages),
            output_tokens=add_known(whole(usage.get("output_tokens")) for usage in usages),
            agents=[read_name(span.get("name")) for span in spans.values() if span.get("type") == "agent"],
            start=min(times, default=None), end=max(times, default=None),
            notes=(f"the sample ended in an error: {read_text(record(error).get('message'), 200)}",) if error else (),
        )  # fmt: skip


def _read_zipped(source: Source) -> Iterator[Any]:
    for content in members(source.path, lambda name: name.startswith("samples/") and name.endswith(".json")):
        value = decode_json(content.decode("utf-8", errors="replace"))
        if value is BAD:
            source.problems["samples that are not JSON"] += 1
        else:
            yield value


def _tool(event: Record, spans: Mapping[str, Record], asker: str) -> Step:
    agent, above = "", str(event.get("span_id"))
    for _ in spans:  # the nearest span of an agent around the event; spans that hold one another end the search
        if agent or above not in spans:
            break
        agent = read_name(spans[above].get("name")) if spans[above].get("type") == "agent" else ""
        above = str(spans[above].get("parent_id"))
    error = read_name(record(event.get("error")).get("type")) or ("failed" if event.get("failed") else "")
    return Step(
        StepKind.TOOL, agent or asker, read_name(event.get("function")), id=read_text(event.get("id"), 200),
        start=moment(event.get("timestamp")), end=moment(event.get("completed")), ok=not error, error=error,
        arguments=parse_arguments(event.get("arguments")), result=read_text(event.get("result")),
    )  # fmt: skip
