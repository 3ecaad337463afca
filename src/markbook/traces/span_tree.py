"""Spans as a tree, and the tree as the events of a run."""

from __future__ import annotations

import sqlite3
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from markbook.files.stream import Source
from markbook.trace import Step, StepKind, Trace, add_known
from markbook.traces.plain import make_trace, maybe_call, parse_arguments, read_name, record, rows, whole
from markbook.traces.span_spool import MAX_SPANS, SpanSpool, open_spool
from markbook.traces.spans import (
    AGENT,
    DECLARES,
    DEFERRED,
    HANDOFF,
    MODEL,
    OUTPUT_TOOL,
    PLACEHOLDERS,
    STRUCTURE,
    TOOL,
    UNKNOWN,
    Role,
    Span,
)
from markbook.types import Record

# Spans to steps: who did what for whom, read from the tree of one run's spans. Parents are indexes, and every climb is a loop:
# a file may nest spans deeper than Python recurses, or let them be parents of one another.

_NANO = 1e9
_NOBODY = -1
_MAX_LOOKED = 5_000_000
"""Rows that may be looked at to find callers by time."""


class RunTree:
    """The spans of one run as a tree that holds whatever the file says: cycles and missing parents are cut."""

    def __init__(self, rows: Sequence[sqlite3.Row]) -> None:
        self.rows = rows
        self.kinds = [int(row["kind"]) for row in rows]
        self.notes: Counter[str] = Counter()
        positions = {(row["trace"], row["id"]): index for index, row in enumerate(rows)}
        self.parents = [positions.get((row["trace"], row["parent"]), _NOBODY) for row in rows]
        orphans = sum(bool(row["parent"]) for row, up in zip(rows, self.parents, strict=True) if up == _NOBODY)
        if orphans:
            self.notes["spans whose parent is not in the file"] = orphans
        self._looked = 0
        self._cut_cycles()
        self._drop_wrappers()
        self.owners = [self._owner(index) for index in range(len(rows))]
        self._give_to_askers()

    def _cut_cycles(self) -> None:
        done = bytearray(len(self.rows))
        for first in range(len(self.rows)):
            path: list[int] = []
            at = first
            while at != _NOBODY and not done[at]:
                done[at] = 2  # on the path under way; 1 below: seen to end at a root
                path.append(at)
                up = self.parents[at]
                if up != _NOBODY and done[up] == 2:
                    self.parents[at] = _NOBODY
                    self.notes["parent cycles, cut"] += 1
                    break
                at = up
            for index in path:
                done[index] = 1

    def _near(self) -> list[int]:
        """Return for each span the nearest agent span above it."""
        # What a climb finds holds for all that it passed, so a chain of n spans takes n steps and not n squared.
        near: list[int | None] = [None] * len(self.rows)
        for first in range(len(self.rows)):
            path = []
            at = first
            while near[at] is None:
                path.append(at)
                up = self.parents[at]
                if up == _NOBODY:
                    near[at] = _NOBODY
                    path.pop()
                elif self.kinds[up] == AGENT:
                    near[at] = up
                    path.pop()
                else:
                    at = up
            for index in path:
                near[index] = near[at]
        return [_NOBODY if agent is None else agent for agent in near]

    def _drop_wrappers(self) -> None:
        """Take what only wraps for structure: model spans around model spans, nameless agents around agents."""
        # A span that reports tokens is the call itself; the model spans around it would count the same tokens again.
        climbed = bytearray(len(self.rows))
        for index, row in enumerate(self.rows):
            if row["kind"] != MODEL or (row["tokens_in"] is None and row["tokens_out"] is None):
                continue
            up = self.parents[index]
            while up != _NOBODY and self.kinds[up] not in (TOOL, AGENT) and not climbed[up]:
                climbed[up] = 1
                if self.kinds[up] == MODEL:
                    self.kinds[up] = STRUCTURE
                up = self.parents[up]
        near = self._near()
        works = {near[index] for index, kind in enumerate(self.kinds) if kind in (TOOL, MODEL)}
        leads = {near[index] for index, kind in enumerate(self.kinds) if kind == AGENT}
        for index in (leads - works) - {_NOBODY}:
            if not self._own_name(index):
                self.kinds[index] = STRUCTURE
        self.near = self._near()

    def agent_name(self, index: int) -> str:
        """Return an agent span's name: what it was started as, its own attribute, or the span's name."""
        row = self.rows[index]
        up = self.parents[index]
        if up != _NOBODY and self.kinds[up] == TOOL:
            started_as = record(parse_arguments(self.rows[up]["arguments"])).get("subagent_type")
            if isinstance(started_as, str) and started_as:
                return started_as[:200]
        label = str(row["label"]).removeprefix("invoke_agent ").removesuffix(".agent")
        return self._own_name(index) or label or "agent"

    def _own_name(self, index: int) -> str:
        """Return the agent that a span names itself, empty for a placeholder."""
        own = str(self.rows[index]["agent"])
        return "" if own in PLACEHOLDERS else own

    def _owner(self, index: int) -> str:
        if self.kinds[index] == AGENT:
            return self.agent_name(index)
        own = self._own_name(index)
        if own:
            return own
        if self.near[index] != _NOBODY:
            return self.agent_name(self.near[index])
        return str(self.rows[index]["agent"])  # a placeholder is better than nobody

    def _give_to_askers(self) -> None:
        """Give tool calls that stand below no agent to the one whose model asked for them last.

        LangGraph runs tools in a node of their own, beside the agents'.
        """
        askers: dict[str, str] = {}
        last = ""
        for index, row in enumerate(self.rows):
            owner = self.owners[index]
            if self.kinds[index] == MODEL and owner:
                last = owner
                if row["requested"]:
                    askers |= {call.name: owner for call in maybe_call(row["requested"])}
            elif self.kinds[index] == TOOL and not owner:
                asker = askers.get(row["name"], last)
                if asker:
                    self.owners[index] = asker
                    self.notes["tool calls given to the agent whose model spoke before them"] += 1

    def caller(self, index: int) -> str:
        """Return who started an agent span; by the call that contains it in time where the tree does not say."""
        if self.near[index] != _NOBODY:
            return self.owners[self.near[index]]
        start, stop = self.rows[index]["start"], self.rows[index]["stop"]
        self._looked += len(self.rows)
        if start is None or stop is None or self._looked > _MAX_LOOKED:
            if self._looked > _MAX_LOOKED:
                self.notes["agents whose caller was not looked for by time: there are too many"] += 1
            return ""
        around = [
            (row["stop"] - row["start"], self.owners[at])
            for at, row in enumerate(self.rows)
            if self.kinds[at] == TOOL and row["start"] is not None and row["stop"] is not None
            and row["start"] <= start and stop <= row["stop"]
        ]  # fmt: skip
        if not around:
            return ""
        caller = min(around)[1]
        if caller and caller != self.owners[index]:
            self.notes["hand-offs known only from the times"] += 1
        return caller


def build_trace(key: str, rows: Sequence[sqlite3.Row], reader: str) -> Trace:
    """Return the trace of one run's spans."""
    tree = RunTree(rows)
    steps: list[Step] = []
    unrecognised: Counter[str] = Counter()
    # Where no span shows an executed call, what the models asked for stands in their place.
    requests = {} if any(kind == TOOL for kind in tree.kinds) else _list_requests(tree)
    for index, row in enumerate(rows):
        step = _make_step(tree, index)
        if step is not None:
            steps += [step, *requests.get(index, ())]
        elif tree.kinds[index] == UNKNOWN:
            unrecognised["spans without agent, model or tool attributes"] += 1
        if row["start"] is None:
            tree.notes["spans without a start time"] += 1
        elif row["stop"] is not None and row["stop"] < row["start"]:
            tree.notes["spans that end before they start"] += 1
    for kind, reason in ((OUTPUT_TOOL, "output tools, no step"), (DEFERRED, "deferred calls, no step")):
        if kind in tree.kinds:
            tree.notes[reason] = tree.kinds.count(kind)
    if all(step.input_tokens is None for step in steps):
        reported = sum(row["tokens_in"] or 0 for at, row in enumerate(rows) if tree.kinds[at] == AGENT)
        if reported:
            tree.notes["input tokens on agent spans, left out: no model span carries a count"] = reported
    declared = (row["agent"] for row in rows if row["kind"] == STRUCTURE and row["name"] == DECLARES and row["agent"])
    models = [row for at, row in enumerate(rows) if tree.kinds[at] == MODEL]
    return make_trace(
        steps, reader=reader, id=key, unrecognised=dict(unrecognised), declared=tuple(dict.fromkeys(declared)),
        model_calls=[step for step in steps if step.kind is StepKind.MESSAGE],
        agents=[tree.owners[at] for at, kind in enumerate(tree.kinds) if kind == AGENT],
        notes=tuple(f"{count} {reason}" for reason, count in sorted(tree.notes.items())),
        cached_tokens=add_known(row["tokens_cached"] for row in models),
        cache_written_tokens=add_known(row["tokens_written"] for row in models),
        start=_seconds(min((row["start"] for row in rows if row["start"] is not None), default=None)),
        end=_seconds(max((row["stop"] for row in rows if row["stop"] is not None), default=None)),
    )  # fmt: skip


def _make_step(tree: RunTree, index: int) -> Step | None:
    row, kind, owner = tree.rows[index], tree.kinds[index], tree.owners[index]
    is_under_way = row["ok"] is None and row["start"] is not None and row["stop"] is None
    shared: dict[str, Any] = {
        "id": row["id"],
        "parent": row["parent"],
        "start": _seconds(row["start"]),
        "end": _seconds(row["stop"]),
        # An unset status means that no error was recorded; of what has not ended it says nothing.
        "ok": None if is_under_way and not row["error"] else not row["error"] and row["ok"] != 0,
        "error": row["error"],
    }
    if kind == TOOL:
        arguments = parse_arguments(row["arguments"]) if row["arguments"] else None
        return Step(StepKind.TOOL, owner, row["name"], arguments=arguments, result=row["result"], **shared)
    if kind == MODEL:
        return Step(
            StepKind.MESSAGE, owner, "assistant", text=row["text"], input_tokens=row["tokens_in"],
            output_tokens=row["tokens_out"], cost=row["cost"], **shared,
        )  # fmt: skip
    if kind == HANDOFF and row["target"]:
        return Step(StepKind.HANDOFF, owner, "handoff", row["target"], **shared)
    if kind == AGENT:
        caller = tree.caller(index)
        if caller and caller != owner:
            return Step(StepKind.HANDOFF, caller, "delegation", owner, **shared)
    return None


def _list_requests(tree: RunTree) -> dict[int, list[Step]]:
    """Return the calls that each model span asked for."""
    requests = {
        index: [
            Step(StepKind.TOOL, tree.owners[index], call.name, id=call.id, parent=row["id"],
                 start=_seconds(row["stop"]), arguments=call.arguments)
            for call in maybe_call(row["requested"])
        ]
        for index, row in enumerate(tree.rows) if tree.kinds[index] == MODEL and row["requested"]
    }  # fmt: skip
    if requests:
        reason = "tool calls as the models asked for them: no span shows their execution"
        tree.notes[reason] = sum(map(len, requests.values()))
    return requests


def _seconds(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / _NANO


# The tool calls that a model's reply asks for, wherever a framework's log puts them.

_DEEPEST = 8
_MOST = 2_000
"""How many values are looked at."""


def requested_in(output: object) -> list[Record]:
    """Return name, id and arguments of the calls in the first list called `tool_calls` that names any.

    LangChain nests the reply in `generations`, `messages`, `kwargs`; the calls have `args`, or a `function` with
    `arguments`.
    """
    waiting: deque[tuple[object, int]] = deque([(output, 0)])
    looked = 0
    # By breadth and not by recursion: the reply's own calls stand nearer to the top than those of a history inside it.
    while waiting and looked < _MOST:
        value, depth = waiting.popleft()
        looked += 1
        if depth > _DEEPEST:
            continue
        inner: Iterable[object] = ()
        if isinstance(value, dict):
            requests: list[Record] = []
            for call in rows(value.get("tool_calls")):
                function = record(call.get("function"))
                if name := read_name(call.get("name")) or read_name(function.get("name")):
                    arguments = call.get("args", call.get("arguments", function.get("arguments")))
                    requests.append({"name": name, "id": call.get("id"), "arguments": arguments})
            if requests:
                return requests
            inner = islice(value.values(), _MOST)
        elif isinstance(value, list):
            inner = value[:-_MOST:-1]  # the last message is the reply
        waiting.extend((item, depth + 1) for item in inner if isinstance(item, dict | list))
    return []


# From the spans of a file to its runs: what the readers of spans share.


def group_runs(pairs: Iterable[tuple[Span, Role]], source: Source, reader: str) -> Iterator[Trace]:
    """Yield a run for each trace id of the spans."""
    with open_spool(source.path) as spool:
        for span, role in pairs:
            spool.add(span, role)
        spool.flush()
        if spool.duplicates:
            source.problems["duplicate ids: the first is kept"] = spool.duplicates
        yield from build_traces(spool, reader)


def build_traces(spool: SpanSpool, reader: str) -> Iterator[Trace]:
    """Yield the traces of all runs; of one that is too long the totals count what its steps leave out."""
    for key, count in spool.runs():
        trace = build_trace(key, spool.spans(key), reader)
        if count > MAX_SPANS:
            spool.index_parents()
            trace = replace(trace, clipped=count - MAX_SPANS, **spool.totals(key))  # type: ignore[arg-type]  # counts
        yield trace


def nanoseconds(seconds: float | None) -> int | None:
    """Return a time in whole nanoseconds, None for one that is unknown, before 1970 or more than 64 bits hold."""
    return None if seconds is None else whole(int(seconds * _NANO))
