"""A trace in the terminal. Every word of it is foreign: controls are spelled out and nothing is read as markup."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from markbook.metrics.graph.all_metrics import PRIMARY, AcrossRuns
from markbook.report.item import order_steps
from markbook.text import terminal
from markbook.text.format import NOTHING, format_number, format_sum
from markbook.trace import CostSum, Step, StepKind, Trace, add_known
from markbook.types import Measurement, Profile, missing_kinds

# A trace file's runs as one view: totals, numbers and the first run's picture, in memory that does not grow with it.

MAX_LISTED = 1_000
"""Names, edges and runs that are listed one by one; totals count all."""
MAX_NAMES = 100_000
"""Agent names that are told apart."""


class TraceSum:
    """What is shown of a file; `run_name` is the run whose steps are shown, by its id or its number, the first if empty."""

    def __init__(self, name: str, profile: str, run_name: str = "") -> None:
        self.name = name
        self.profile: Profile = "documented" if profile == "documented" else "corrected"
        self.first: Trace | None = None
        self.shown: Trace | None = None
        """The run whose steps are shown."""
        self.is_found = self._is_named = False
        self._run_name = run_name
        self.outcomes: Counter[bool | None] = Counter()
        self.agents: dict[str, None] = {}
        self.declared: dict[str, None] = {}
        self.edges: Counter[tuple[str, str]] = Counter()
        self.tools: Counter[tuple[str, str]] = Counter()
        self.unrecognised: Counter[str] = Counter()
        self.notes: dict[str, None] = {}
        self.references: Counter[str] = Counter()
        self.runs: list[dict[str, Any]] = []
        self.tool_calls = self.messages = self.clipped = 0
        self.input_tokens: int | None = None
        self.output_tokens: int | None = None
        self.cached_tokens: int | None = None
        self.cache_written_tokens: int | None = None
        self._costs = CostSum("runs")
        self.seconds: float | None = None
        self.partial: list[Mapping[str, tuple[int, int]]] = []
        """For each of `runs` which of its sums lack some model calls."""
        self._known: Counter[str] = Counter()
        self._across = AcrossRuns(self.profile)
        self._only: Mapping[str, Measurement] = {}

    @property
    def count(self) -> int:
        """How many runs the file holds."""
        return self._across.runs

    @property
    def metrics(self) -> Mapping[str, Measurement]:
        """The numbers: of the run, or the means over the runs."""
        return self._only if self.count == 1 else self._across.results()

    @property
    def cost(self) -> float | None:
        """What all runs cost; unknown where one's cost is."""
        return self._costs.total

    @property
    def all_notes(self) -> list[str]:
        """What a reader has to know: first, how many runs have a price where not all have one."""
        return list(filter(None, (self._costs.note, *self.notes)))

    def add(self, run: Trace, measured: Mapping[str, Measurement]) -> None:
        """Take one run."""
        self._across.add(run, measured)
        if self.first is None:
            self.first, self._only, self.shown = run, measured, run
        # One run alone is kept whole: the one whose timeline is shown.
        # An id may look like a number; it goes before the number of another run, wherever that stands.
        is_named = bool(self._run_name) and run.id == self._run_name and not self._is_named
        if is_named or (not self.is_found and str(self.count) == self._run_name):
            self.shown, self.is_found, self._is_named = run, True, is_named
        self.outcomes[run.success] += 1
        self.tool_calls += run.tool_calls
        self.messages += run.messages
        self.clipped += run.clipped
        self.input_tokens = add_known((self.input_tokens, run.input_tokens))
        self.output_tokens = add_known((self.output_tokens, run.output_tokens))
        self.cached_tokens = add_known((self.cached_tokens, run.cached_tokens))
        self.cache_written_tokens = add_known((self.cache_written_tokens, run.cache_written_tokens))
        self._costs.add(run.cost)
        self.seconds = run.seconds if self.seconds is None else self.seconds + (run.seconds or 0.0)
        for name in ("input_tokens", "output_tokens", "seconds"):
            self._known[name] += getattr(run, name) is not None and name not in run.partial
        self.unrecognised.update(run.unrecognised)
        for counts, names in ((self.agents, run.agents), (self.declared, run.declared)):
            # A log can name a new agent in every step: memory stays bounded, whatever the file holds.
            if len(counts) < MAX_NAMES:
                counts.update(dict.fromkeys(names))
        if len(self.notes) < MAX_LISTED:
            self.notes |= dict.fromkeys(run.notes)
        accuracy = measured.get("tool_selection_accuracy")
        source = str(accuracy.stats.get("source", "")) if accuracy else ""
        if source and len(self.references) < MAX_LISTED:
            self.references[source] += 1
        if len(self.runs) < MAX_LISTED:
            self.partial.append(run.partial)
            self.runs.append({
                "id": run.id, "task": run.task, "trial": run.trial, "success": run.success, "agents": len(run.agents),
                "tool_calls": run.tool_calls, "messages": run.messages, "input_tokens": run.input_tokens,
                "output_tokens": run.output_tokens, "seconds": run.seconds,
                "metrics": {metric.name: measured[metric.name].value for metric in PRIMARY if metric.name in measured},
            })  # fmt: skip
        # Count edges and tools; new ones are left out once there are too many to show.
        for step in run.steps:
            if step.is_interaction:
                pair, pairs = (step.agent, step.target), self.edges
            elif step.kind == "tool":
                pair, pairs = (step.agent, step.name), self.tools
            else:
                continue
            # Pairs that are known are counted on; only new ones are left out.
            if pair in pairs or len(pairs) < MAX_NAMES:
                pairs[pair] += 1

    def say_total(self, name: str, form: str = ",") -> str:
        """Return a sum over the runs, or over a single run's model calls, with how many of them it lacks."""
        counts = (self._known[name], self.count) if self.count > 1 else self.partial[0].get(name, (1, 1))
        return format_sum(getattr(self, name), counts, "runs" if self.count > 1 else "model calls", form)

    def as_json(self) -> dict[str, object]:
        """Return the object that `--json` prints; every value stands beside its n and n_missing."""
        assert self.first is not None  # a file without a run is an error of its own
        edges, tools = self.edges.most_common(MAX_LISTED), self.tools.most_common(MAX_LISTED)
        return {
            "file": self.name,
            "format": self.first.format,
            "profile": self.profile,
            "runs": self.count,
            "agents": len(self.agents),
            "agent_names": list(self.agents)[:MAX_LISTED],
            "declared_agents": list(self.declared)[:MAX_LISTED],
            "tool_calls": self.tool_calls,
            "messages": self.messages,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cached_tokens": self.cached_tokens,
            "cache_written_tokens": self.cache_written_tokens,
            "cost": self.cost,
            "seconds": self.seconds,
            "unrecognised": sum(self.unrecognised.values()),
            "unrecognised_reasons": dict(self.unrecognised.most_common(MAX_LISTED)),
            "spans_beyond_limit": self.clipped,
            "notes": self.all_notes,
            "references": dict(self.references),
            "graph": {
                "edges": [{"from": sender, "to": other, "messages": n} for (sender, other), n in edges],
                "tools": [{"agent": agent, "tool": tool, "calls": n} for (agent, tool), n in tools],
            },
            "metrics": {name: _metric(metric) for name, metric in self.metrics.items()},
            "run_list": self.runs if self.count > 1 else [],
        }


def _metric(measurement: Measurement) -> dict[str, object]:
    stats = dict(measurement.stats)
    n = stats.pop("n", int(measurement.missing is None))
    none = stats.pop("n_missing", missing_kinds([measurement]))
    return {**measurement.to_record(), "stats": stats, "n": n, "n_missing": none}


_WIDTH = 110
_MOST = 30
"""Agents, tools of an agent and edges that are drawn."""


def show(total: TraceSum, steps: int) -> None:
    """Print summary, timeline, agent graph and numbers to stdout."""
    # A trace's words are foreign: rich would read "[red]" as a style and ":smile:" as a picture.
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console = Console(highlight=False, markup=False, emoji=False, width=_WIDTH)
    first = total.first
    assert first is not None  # a file without a run is an error of its own
    run = total.shown or first
    summary = (
        f"{terminal(total.name)}  ({first.format}, {total.count} run{'s' * (total.count != 1)})\n"
        f"agents {len(total.agents)}   tool calls {total.tool_calls:,}   messages {total.messages:,}   "
        f"tokens in {total.say_total('input_tokens')}, out {total.say_total('output_tokens')}"
    )
    summary += "" if total.cost is None else f"   cost ${total.cost:.4f}"
    summary += "" if total.seconds is None else f"   time {total.say_total('seconds', '.2f')} s"
    console.print(Text(summary))
    for source, count in total.references.most_common(5):
        console.print(Text(f"reference: {terminal(source)} ({count} run{'s' * (count != 1)})"))
    lines = [f"{count} not understood: {terminal(reason)}" for reason, count in total.unrecognised.most_common(10)]
    notes = total.all_notes
    lines += [f"note: {terminal(note)}" for note in notes[:10]]
    if len(notes) > 10:
        lines.append(f"note: {len(notes) - 10} more notes (--json has them)")
    if total.clipped:
        lines.append(f"{total.clipped} spans lie beyond the limit of one run: counted, not marked")
    for line in lines:
        console.print(Text(line, style="yellow"))
    console.print()
    which = f" of {'the first run' if run is first else 'run'} {terminal(run.id, limit=60)} (--run shows another)"
    title = f"Timeline{which}" if total.count > 1 else "Timeline"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("at", justify="right", width=9, no_wrap=True)
    table.add_column("took", justify="right", width=8, no_wrap=True)
    for name, wide in (("agent", 18), ("step", 32), ("detail", max(20, console.width - 76))):
        table.add_column(name, overflow="ellipsis", no_wrap=True, width=wide)
    begin, ordered = order_steps(run)
    steps_listed = ordered[: max(0, steps)]
    for step in steps_listed:
        at = NOTHING if step.start is None or begin is None else f"{step.start - begin:.2f}"
        took = NOTHING if step.seconds is None else f"{step.seconds:.2f}"
        table.add_row(at, took, _word(step.agent, 24), _what(step), _word(_detail(step), 300, "dim"))
    if len(ordered) > len(steps_listed):
        table.add_row("", "", Text(f"... {len(ordered) - len(steps_listed):,} more steps (--steps)"), "", "")
    console.print(table)
    console.print(_graph(total))
    console.print()
    title = "Numbers" if total.count == 1 else f"Numbers (means over {total.count} runs)"
    numbers = Table(title=f"{title}, profile {total.profile}", title_justify="left", box=None, pad_edge=False)
    for name, numeric in (("metric", False), ("value", True), ("n", True)):
        numbers.add_column(name, justify="right" if numeric else "left")
    reasons: dict[str, list[str]] = {}
    for name, metric in total.metrics.items():
        if metric.value is not None:
            numbers.add_row(name, format_number(metric.value), str(metric.stats.get("n", 1)))
        if metric.missing is not None:
            reasons.setdefault(metric.missing.detail, []).append(name)
    console.print(numbers)
    if reasons:
        console.print(Text("Not applicable here"))
        for reason, names in reasons.items():
            console.print(Text(f"  {terminal(reason)}: {', '.join(names)}", style="dim"))


def _word(text: object, limit: int = 80, style: str = "") -> Text:
    return Text(terminal(str(text), limit=limit), style=style)


def _what(step: Step) -> Text:
    if step.kind is StepKind.TOOL:
        mark = {True: "ok", False: "failed", None: ""}[step.ok]
        return Text.assemble(_word(step.name, 40, "bold"), " ", (mark, "red" if step.ok is False else "green"))
    if step.kind is StepKind.HANDOFF or step.is_interaction:
        return Text.assemble("-> ", _word(step.target, 24), " ", _word(step.name, 20, "cyan"))
    return _word(step.name, 40, "cyan")


def _detail(step: Step) -> str:
    if step.kind is not StepKind.TOOL:
        return step.text
    from markbook.traces.plain import dump

    arguments = step.arguments or "" if isinstance(step.arguments, str | None) else dump(step.arguments)
    return f"{arguments}  {step.error}".strip()


def _graph(total: TraceSum) -> Tree:
    tree = Tree(Text("\nAgents"))
    for agent in list(total.agents)[:_MOST]:
        branch = tree.add(_word(agent, 60, "bold"))
        lines = [
            Text.assemble("-> ", _word(other, 60), f"  {count} message{'s' * (count != 1)}")
            for (sender, other), count in total.edges.most_common()
            if sender == agent
        ]
        lines += [
            Text.assemble(_word(tool, 60), f"  {count} call{'s' * (count != 1)}")
            for (user, tool), count in total.tools.most_common()
            if user == agent
        ]
        for line in lines[:_MOST]:
            branch.add(line)
        if len(lines) > _MOST:
            branch.add(Text(f"... {len(lines) - _MOST} more (--json has them)"))
    idle = [name for name in total.declared if name not in total.agents]
    for agent in idle[:_MOST]:
        tree.add(_word(f"{agent} (declared, idle)", 80, "dim"))
    if len(idle) > _MOST:
        tree.add(Text(f"... {len(idle) - _MOST} more declared agents"))
    if len(total.agents) > _MOST:
        tree.add(Text(f"... {len(total.agents) - _MOST} more agents"))
    return tree
