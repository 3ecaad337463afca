"""A trace in the terminal. Every word of it is foreign: controls are spelled out and nothing is read as markup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from markbook.text import terminal
from markbook.trace import Step, StepKind

if TYPE_CHECKING:
    from markbook.cli.trace.totals import TraceSum

_WIDTH = 110
_MOST = 30
"""Agents, tools of an agent and edges that are drawn."""


def show(total: TraceSum, steps: int) -> None:
    """Print summary, timeline, agent graph and numbers to stdout."""
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console = Console(highlight=False, markup=False, emoji=False, width=_WIDTH)
    console.print(_summary(total))
    for source, count in total.references.most_common(5):
        console.print(Text(f"reference: {terminal(source)} ({count} run{'s' * (count != 1)})"))
    for line in _caveats(total):
        console.print(Text(line, style="yellow"))
    console.print()
    console.print(_timeline(total, steps, console.width))
    console.print(_graph(total))
    console.print()
    console.print(_numbers(total))
    reasons = _reasons(total)
    if reasons:
        console.print(Text("Not applicable here"))
        for reason, names in reasons.items():
            console.print(Text(f"  {terminal(reason)}: {', '.join(names)}", style="dim"))


def _word(text: object, limit: int = 80, style: str = "") -> Text:
    return Text(terminal(str(text), limit=limit), style=style)


def _summary(total: TraceSum) -> Text:
    assert total.first is not None
    unknown = "unknown"
    tokens = unknown if total.input_tokens is None else f"{total.input_tokens:,}"
    out = unknown if total.output_tokens is None else f"{total.output_tokens:,}"
    line = (
        f"{terminal(total.name)}  ({total.first.format}, {total.count} run{'s' * (total.count != 1)})\n"
        f"agents {len(total.agents)}   tool calls {total.tool_calls:,}   messages {total.messages:,}   "
        f"tokens in {tokens}, out {out}"
    )
    if total.cost is not None:
        line += f"   cost ${total.cost:.4f}"
    if total.seconds is not None:
        line += f"   time {total.seconds:.2f} s"
    return Text(line)


def _caveats(total: TraceSum) -> list[str]:
    lines = [f"{count} not understood: {terminal(reason)}" for reason, count in total.unrecognised.most_common(10)]
    lines += [f"note: {terminal(note)}" for note in list(total.notes)[:10]]
    if len(total.notes) > 10:
        lines.append(f"note: {len(total.notes) - 10} more notes (--json has them)")
    if total.clipped:
        lines.append(f"{total.clipped} spans lie beyond the limit of one run: counted, not marked")
    return lines


def _timeline(total: TraceSum, steps: int, width: int) -> Table:
    first = total.first
    assert first is not None
    title = "Timeline" if total.count == 1 else f"Timeline of the first run ({terminal(first.id, limit=60)})"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("at", justify="right", width=9, no_wrap=True)
    table.add_column("took", justify="right", width=8, no_wrap=True)
    for name, wide in (("agent", 18), ("step", 32), ("detail", max(20, width - 76))):
        table.add_column(name, overflow="ellipsis", no_wrap=True, width=wide)
    steps_listed = first.steps[: max(0, steps)]
    begin = first.start
    for step in steps_listed:
        at = "" if step.start is None or begin is None else f"{step.start - begin:.3f}"
        took = "" if step.seconds is None else f"{step.seconds:.3f}"
        table.add_row(at, took, _word(step.agent, 24), _what(step), _word(_detail(step), 300, "dim"))
    if len(first.steps) > len(steps_listed):
        table.add_row("", "", Text(f"... {len(first.steps) - len(steps_listed):,} more steps (--steps)"), "", "")
    return table


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

    details = (
        "" if step.arguments is None else step.arguments if isinstance(step.arguments, str) else dump(step.arguments)
    )
    return f"{details}  {step.error}".strip()


def _graph(total: TraceSum) -> Tree:
    tree = Tree(Text("Agents"))
    for agent in list(total.agents)[:_MOST]:
        branch = tree.add(_word(agent, 60, "bold"))
        for (sender, other), count in total.edges.most_common():
            if sender == agent and len(branch.children) < _MOST:
                branch.add(Text.assemble("-> ", _word(other, 60), f"  {count} message{'s' * (count != 1)}"))
        for (agent_name, tool), count in total.tools.most_common():
            if agent_name == agent and len(branch.children) < _MOST:
                branch.add(Text.assemble(_word(tool, 60), f"  {count} call{'s' * (count != 1)}"))
    for agent in [name for name in total.declared if name not in total.agents][:_MOST]:
        tree.add(_word(f"{agent} (declared, idle)", 80, "dim"))
    if len(total.agents) > _MOST:
        tree.add(Text(f"... {len(total.agents) - _MOST} more agents"))
    return tree


def _numbers(total: TraceSum) -> Table:
    title = "Numbers" if total.count == 1 else f"Numbers (means over {total.count} runs)"
    table = Table(title=f"{title}, profile {total.profile}", title_justify="left", box=None, pad_edge=False)
    table.add_column("metric")
    table.add_column("value", justify="right")
    table.add_column("n", justify="right")
    for name, metric in total.metrics.items():
        if metric.value is not None:
            n: Any = metric.stats.get("n", 1)
            table.add_row(name, f"{metric.value:.4g}", str(n))
    return table


def _reasons(total: TraceSum) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for name, metric in total.metrics.items():
        if metric.missing is not None:
            reasons.setdefault(metric.missing.detail, []).append(name)
    return reasons
