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
from markbook.traces.plain import make_trace, maybe_call, parse_arguments, read_name, record
from markbook.traces.span_spool import MAX_SPANS, open_spool
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

# Spans to steps: who did what for whom, read from the tree of one run's spans.

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
                done[at] = 2  # on the path under way
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
    placed: list[tuple[int, Step]] = []
    unrecognised: Counter[str] = Counter()
    for index, row in enumerate(rows):
        step = _step(tree, index)
        if step is not None:
            placed.append((index, step))
        elif tree.kinds[index] == UNKNOWN:
            unrecognised["spans without agent, model or tool attributes"] += 1
        if row["start"] is None:
            tree.notes["spans without a start time"] += 1
        elif row["stop"] is not None and row["stop"] < row["start"]:
            tree.notes["spans that end before they start"] += 1
    steps = [step for _, step in placed]
    if not any(step.kind is StepKind.TOOL for step in steps):
        steps = _merge_requests(tree, placed)
    for kind, reason in ((OUTPUT_TOOL, "output tools, no step"), (DEFERRED, "deferred calls, no step")):
        if kind in tree.kinds:
            tree.notes[reason] = tree.kinds.count(kind)
    if all(step.input_tokens is None for step in steps):
        reported = sum(row["tokens_in"] or 0 for at, row in enumerate(tree.rows) if tree.kinds[at] == AGENT)
        if reported:
            tree.notes["input tokens on agent spans, left out: no model span carries a count"] = reported
    notes = tuple(f"{count} {reason}" for reason, count in sorted(tree.notes.items()))
    agents = [tree.owners[at] for at, kind in enumerate(tree.kinds) if kind == AGENT]
    declared = (row["agent"] for row in rows if row["kind"] == STRUCTURE and row["name"] == DECLARES and row["agent"])
    models = [row for at, row in enumerate(rows) if tree.kinds[at] == MODEL]
    return make_trace(
        steps, reader=reader, agents=agents, id=key, unrecognised=dict(unrecognised), notes=notes,
        declared=tuple(dict.fromkeys(declared)),
        cached_tokens=add_known(row["tokens_cached"] for row in models),
        cache_written_tokens=add_known(row["tokens_written"] for row in models),
        start=_seconds(min((row["start"] for row in rows if row["start"] is not None), default=None)),
        end=_seconds(max((row["stop"] for row in rows if row["stop"] is not None), default=None)),
    )  # fmt: skip


def _step(tree: RunTree, index: int) -> Step | None:
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


def _merge_requests(tree: RunTree, placed: list[tuple[int, Step]]) -> list[Step]:
    """Return the steps with the calls that the models asked for, where no span shows an executed one."""
    requested_steps: dict[int, list[Step]] = {}
    for index, row in enumerate(tree.rows):
        if tree.kinds[index] == MODEL and row["requested"]:
            requested_steps[index] = [
                Step(StepKind.TOOL, tree.owners[index], call.name, id=call.id, parent=row["id"],
                     start=_seconds(row["stop"]), arguments=call.arguments)
                for call in maybe_call(row["requested"])
            ]  # fmt: skip
    if requested_steps:
        reason = "tool calls as the models asked for them: no span shows their execution"
        tree.notes[reason] = sum(map(len, requested_steps.values()))
    return [tree_step for index, step in placed for tree_step in (step, *requested_steps.get(index, ()))]


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
    while waiting and looked < _MOST:
        value, depth = waiting.popleft()
        looked += 1
        if depth > _DEEPEST:
            continue
        if isinstance(value, dict):
            records = _calls(value.get("tool_calls"))
            if records:
                return records
            waiting.extend(
                (inner, depth + 1) for inner in islice(value.values(), _MOST) if isinstance(inner, dict | list)
            )
        elif isinstance(value, list):
            # The last message is the reply.
            waiting.extend((inner, depth + 1) for inner in value[:-_MOST:-1] if isinstance(inner, dict | list))
    return []


def _calls(value: object) -> list[Record]:
    records: list[Record] = []
    for call in value if isinstance(value, list) else []:
        call_record = record(call)
        function = record(call_record.get("function"))
        name = read_name(call_record.get("name")) or read_name(function.get("name"))
        if name:
            arguments = call_record.get("args", call_record.get("arguments", function.get("arguments")))
            records.append({"name": name, "id": call_record.get("id"), "arguments": arguments})
    return records


# Spans of other tools than OpenTelemetry's own files: what their readers share.

_RUNS_NANO = 1_000_000_000


def group_runs(pairs: Iterable[tuple[Span, Role]], source: Source, reader: str) -> Iterator[Trace]:
    """Yield a run for each trace id of the spans."""
    with open_spool(source.path) as spool:
        for span, role in pairs:
            spool.add(span, role)
        spool.flush()
        if spool.duplicates:
            source.problems["duplicate ids: the first is kept"] = spool.duplicates
        for key, count in spool.runs():
            trace = build_trace(key, spool.spans(key), reader)
            if count > MAX_SPANS:
                spool.index_parents()
                trace = replace(trace, clipped=count - MAX_SPANS, **spool.totals(key))  # type: ignore[arg-type]  # counts
            yield trace


def nanoseconds(seconds: float | None) -> int | None:
    """Return a time in whole nanoseconds, None for one that is unknown or before 1970."""
    return None if seconds is None or seconds < 0 else min(int(seconds * _RUNS_NANO), (1 << 63) - 1)
