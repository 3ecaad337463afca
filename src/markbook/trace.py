"""What agents did, as records: the one shape that every trace reader fills and every graph metric reads.

    Trace -> steps (tool calls, messages, hand-offs), agents, tokens, what was not understood

Frozen, slotted, standard library only. Times are seconds, tokens are counts, money is US dollars. A number that the
log does not hold is None, never 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Self, TypeVar

_N = TypeVar("_N", int, float)
_NOTHING: Mapping[str, int] = MappingProxyType({})
_NO_META: Mapping[str, object] = MappingProxyType({})


class StepKind(StrEnum):
    """What a step is."""

    TOOL = "tool"
    """One executed tool call. Where a log holds only what the model asked for, that, and the trace notes it."""
    MESSAGE = "message"
    """One message: a model's reply, a chat turn, or a note from one agent to another."""
    HANDOFF = "handoff"
    """One agent gives work to another."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened, in order."""

    kind: StepKind
    agent: str = ""
    """Who acted; empty where the log does not say."""
    name: str = ""
    """The tool's name, or the message's type (assistant, user, delegation, result_delivery, ...)."""
    target: str = ""
    """The agent that a message or hand-off goes to; empty where it goes to nobody in particular."""
    id: str = ""
    parent: str = ""
    start: float | None = None
    end: float | None = None
    ok: bool | None = None
    """Whether it succeeded; None where the log does not say."""
    arguments: object = None
    """A tool call's arguments as plain JSON values; None where the log holds none."""
    result: str = ""
    """The beginning of what came back."""
    text: str = ""
    """The beginning of a message."""
    error: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None

    @property
    def seconds(self) -> float | None:
        """How long it took; None without both times, or where the clock ran backwards."""
        if self.start is None or self.end is None or self.end < self.start:
            return None
        return self.end - self.start

    @property
    def is_interaction(self) -> bool:
        """Whether it went from one known agent to another."""
        return self.kind is not StepKind.TOOL and bool(self.agent and self.target) and self.agent != self.target


@dataclass(frozen=True, slots=True)
class ExpectedCall:
    """A tool call that a reference asks for."""

    tools: tuple[str, ...]
    """The acceptable tools, the preferred one first."""
    arguments: Mapping[str, object] | None = None
    """The right arguments; None if any will do."""


@dataclass(frozen=True, slots=True)
class Reference:
    """What a good run would have done."""

    calls: tuple[ExpectedCall, ...] | None = None
    """The tool calls in order; None if the reference names none (an empty tuple expects that none is made)."""
    path_length: int | None = None
    """The number of steps from start to goal; the number of calls less one where it is not given."""
    source: str = ""
    """Where it comes from: `data`, a file, or `best run ...`."""
    tools: Mapping[str, tuple[str, ...]] | None = None
    """The right tools by the context of a call, `default` for the rest; None if the reference has no such map."""

    @classmethod
    def from_trace(cls, trace: Trace, source: str) -> Self:
        """Return a run's calls as the reference for others."""
        return cls(
            tuple(
                ExpectedCall((step.name,), step.arguments if isinstance(step.arguments, dict) else None)
                for step in trace.tools()
            ),
            source=source,
        )


@dataclass(frozen=True, slots=True)
class Trace:
    """One run of one or more agents, from whatever framework."""

    id: str = ""
    format: str = ""
    """The reader that read it."""
    agents: tuple[str, ...] = ()
    """The agents that did something, in the order in which they first appear."""
    declared: tuple[str, ...] = ()
    """The agents that the log defines, also those that stayed idle; empty where it defines none."""
    steps: tuple[Step, ...] = ()
    input_tokens: int | None = None
    """What the models read, over all model calls, each counted once; None where the log holds no count."""
    output_tokens: int | None = None
    cached_tokens: int | None = None
    """What came from a cache, where the log says; most logs count it in the input, and notes tell where one does not."""
    cache_written_tokens: int | None = None
    """What was written into a cache, where the log says; counted in the input or beside it as `cached_tokens` is."""
    partial: Mapping[str, tuple[int, int]] = field(default_factory=lambda: MappingProxyType({}))
    """For a sum of tokens that lacks some model calls: how many of how many calls have the number."""
    cost: float | None = None
    start: float | None = None
    end: float | None = None
    unrecognised: Mapping[str, int] = field(default_factory=lambda: _NOTHING)
    """What could not be understood or used, counted by reason."""
    notes: tuple[str, ...] = ()
    """How the reader had to read it, one sentence each."""
    clipped: int = 0
    """How many spans lie beyond the limit and are in no step; the totals still count them."""
    tool_calls: int = 0
    messages: int = 0
    """Messages and hand-offs together."""
    reference: Reference | None = None
    """What the data set says that a good run does."""
    success: bool | None = None
    score: float | None = None
    task: str = ""
    trial: int | None = None
    runs: tuple[Trace, ...] = ()
    """The single runs, where one file holds several and this is their sum."""
    meta: Mapping[str, object] = field(default_factory=lambda: _NO_META)

    @property
    def roster(self) -> tuple[str, ...]:
        """Return declared and observed agents together, the declared first."""
        return tuple(dict.fromkeys((*self.declared, *self.agents)))

    @property
    def seconds(self) -> float | None:
        """Wall time from the first start to the last end; None where the log holds no times."""
        if self.start is None or self.end is None or self.end < self.start:
            return None
        return self.end - self.start

    def tools(self) -> list[Step]:
        """Return the tool calls in order."""
        return [step for step in self.steps if step.kind is StepKind.TOOL]

    def interactions(self) -> list[Step]:
        """Return the messages and hand-offs from one agent to another, in order."""
        return [step for step in self.steps if step.is_interaction]


def add_known(values: Iterable[_N | None]) -> _N | None:
    """Return the sum of what is known; None if nothing is.

    >>> add_known([3, None, 4]), add_known([None])
    (7, None)
    """
    numbers = [value for value in values if value is not None]
    return sum(numbers) if numbers else None


class CostSum:
    """A sum of costs that is unknown where one of them is.

    >>> CostSum("model calls", [0.25, None]).note
    'the cost is unknown: 1 of 2 model calls have a price, $0.2500 together'
    """

    def __init__(self, what: str, costs: Iterable[float | None] = ()) -> None:
        self.what, self.n, self.n_priced, self.priced = what, 0, 0, 0.0
        for cost in costs:
            self.add(cost)

    def add(self, cost: float | None) -> None:
        """Take one more."""
        is_priced = cost is not None and cost >= 0
        self.n, self.n_priced, self.priced = (
            self.n + 1,
            self.n_priced + is_priced,
            self.priced + is_priced * (cost or 0.0),
        )

    @property
    def total(self) -> float | None:
        """The sum; None where one is unknown, and where there is nothing to add."""
        return self.priced if self.n == self.n_priced > 0 else None

    @property
    def note(self) -> str:
        """How many are known; empty if all or none are."""
        words = f"{self.n_priced} of {self.n} {self.what} have a price, ${self.priced:.4f} together"
        return f"the cost is unknown: {words}" if 0 < self.n_priced < self.n else ""


def join(runs: Iterable[Trace]) -> Trace:
    """Return several runs as one trace: steps in sequence, totals added, the runs kept in `runs`.

    A single run is returned as it is.
    """
    parts = tuple(runs)
    if len(parts) == 1:
        return parts[0]
    unrecognised: Counter[str] = Counter()
    for part in parts:
        unrecognised.update(part.unrecognised)
    cost = CostSum("runs", (part.cost for part in parts))
    notes = [*(note for part in parts for note in part.notes), *([cost.note] if cost.note else [])]
    return Trace(
        id=f"{len(parts)} runs",
        format=parts[0].format if parts else "",
        agents=tuple(dict.fromkeys(agent for part in parts for agent in part.agents)),
        declared=tuple(dict.fromkeys(agent for part in parts for agent in part.declared)),
        steps=tuple(step for part in parts for step in part.steps),
        input_tokens=add_known(part.input_tokens for part in parts),
        output_tokens=add_known(part.output_tokens for part in parts),
        cached_tokens=add_known(part.cached_tokens for part in parts),
        cache_written_tokens=add_known(part.cache_written_tokens for part in parts),
        cost=cost.total,
        start=min((part.start for part in parts if part.start is not None), default=None),
        end=max((part.end for part in parts if part.end is not None), default=None),
        unrecognised=dict(unrecognised),
        notes=tuple(dict.fromkeys(notes)),
        clipped=sum(part.clipped for part in parts),
        tool_calls=sum(part.tool_calls for part in parts),
        messages=sum(part.messages for part in parts),
        runs=parts,
    )


@dataclass(frozen=True, slots=True)
class PlanningSummary:
    """A run told in short, for a judge of its planning."""

    text: str
    coverage: float
    """Share of the steps that a line stands for, 0..1; 1 where nothing was left out."""
    steps: int


def planning_summary(trace: Trace, characters: int = 12_000) -> PlanningSummary:
    """Return the run as one line a step of at most so many characters, by rules that do not hide a step where it can be helped.

    1. Every tool call, hand-off and message between agents is a line: number, agent, what, arguments, outcome.
       Replies to nobody in particular are left out where there are others: they are how, not what.
    2. Where that is too long, lines lose their arguments and results.
    3. Where it still is, equal lines that follow one another become one with their number.
    4. Where it still is, the end is cut, the text says how many steps are missing, and `coverage` falls.
    """
    acts = [step for step in trace.steps if step.kind is not StepKind.MESSAGE or step.is_interaction]
    acts = acts or list(trace.steps)
    lines = [(_format_step(step, details=True), 1) for step in acts]
    if _length(lines) > characters:
        lines = [(_format_step(step, details=False), 1) for step in acts]
    if _length(lines) > characters:
        lines = _fold_lines(lines)
    n_lines, used = 0, 0
    while n_lines < len(lines) and used + len(lines[n_lines][0]) + _EXTRA <= max(characters, _EXTRA):
        used += len(lines[n_lines][0]) + _EXTRA
        n_lines += 1
    summary_lines, at = [], 1
    for line, count in lines[:n_lines]:
        summary_lines.append(f"{at}. {line}" if count == 1 else f"{at}-{at + count - 1}. {line} ({count} times)")
        at += count
    if at - 1 < len(acts):
        summary_lines.append(f"[{len(acts) - at + 1} more steps are not shown]")
    return PlanningSummary("\n".join(summary_lines), (at - 1) / len(acts) if acts else 1.0, len(acts))


_EXTRA = 24
"""Characters that a line's number, count and end may take."""


def _length(lines: list[tuple[str, int]]) -> int:
    return sum(len(line) + _EXTRA for line, _ in lines)


def _format_step(step: Step, *, details: bool) -> str:
    outcome = {True: "ok", False: f"failed {step.error}".strip(), None: ""}[step.ok]
    who = step.agent or "someone"
    if step.kind is StepKind.TOOL:
        line = f"{who} calls {step.name}"
        extra = "" if step.arguments is None else f" with {_short(str(step.arguments), 160)}"
        extra += f": {_short(step.result, 120)}" if step.result else ""
    else:
        line = f"{who} sends {step.name} to {step.target}" if step.target else f"{who} says"
        extra = f": {_short(step.text, 200)}" if step.text else ""
    return f"{line}{extra if details else ''}{f' [{outcome}]' if outcome else ''}"


def _short(text: str, limit: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def _fold_lines(lines: list[tuple[str, int]]) -> list[tuple[str, int]]:
    folded: list[tuple[str, int]] = []
    for line, count in lines:
        if folded and folded[-1][0] == line:
            folded[-1] = (line, folded[-1][1] + count)
        else:
            folded.append((line, count))
    return folded
