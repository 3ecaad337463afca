"""How evenly the work was spread over the agents: by calls, by tokens, by time."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from markbook.metrics.graph.measuring import GraphMetric, Marker
from markbook.metrics.graph.paths import leaf_intervals
from markbook.trace import StepKind, Trace
from markbook.types import Measurement, MissingKind

_BASES = ("count", "tokens", "seconds")
_INDICES = {
    "balance_unclipped": "1 - sample sd / mean, below 0 where one agent did almost all",
    "balance_population": "1 - (population sd / mean) / sqrt(n - 1)",
    "balance_jain": "S^2 / (n * sum of squares), from 1/n to 1",
    "balance_jain_normalised": "Jain's index stretched to 0..1",
    "balance_gini": "1 - Gini * n / (n - 1)",
    "balance_entropy": "entropy of the shares over ln n",
}
METRICS = tuple(
    GraphMetric(
        name if base == "count" else f"{name}_{base}",
        (-math.inf if name == "balance_unclipped" else 0, 1),
        "higher",
        f"{meaning}; by {base}",
    )
    for base in _BASES
    for name, meaning in _INDICES.items()
)


def loads(trace: Trace) -> tuple[dict[str, float], str]:
    """Return the tasks of each agent and what a task is: tool calls, or messages where a trace has no tool call.

    Agents that the log defines and that did nothing count with 0.
    """
    kind = StepKind.TOOL if trace.tools() else StepKind.MESSAGE
    tasks = dict.fromkeys(trace.roster, 0.0)
    for step in trace.steps:
        if step.kind is kind and step.agent:
            tasks[step.agent] = tasks.get(step.agent, 0.0) + 1
    return tasks, "tool calls" if kind is StepKind.TOOL else "messages"


def distribution_balance(trace: Trace, marker: Marker) -> Measurement:
    """Return 1 - sample sd / mean of the tasks of each agent, at least 0: the documented balance.

    Range [0, 1], higher is more even. Under the documented profile fewer than two agents and no task are 1.

    Missing (corrected): not applicable for fewer than two agents, and without a task.
    """
    name = "task_distribution_balance"
    tasks, basis = loads(trace)
    stats = {"tasks": tasks, "basis": basis, "roster": "declared and observed" if trace.declared else "observed only"}
    if marker.profile == "documented":
        from markbook.metrics.graph.documented import calculate_task_distribution_balance

        return marker.measure(name, calculate_task_distribution_balance(tasks), **stats)
    if len(tasks) < 2:
        return marker.lacking(name, MissingKind.NOT_APPLICABLE, "fewer than two agents", **stats)
    if not any(tasks.values()):
        return marker.lacking(name, MissingKind.NOT_APPLICABLE, "no agent did anything", **stats)
    values = indices(list(tasks.values()))
    return marker.measure(name, max(0.0, values["balance_unclipped"]), **stats)


def indices(values: Sequence[float]) -> dict[str, float]:
    """Return every index of evenness for two or more loads that are not all 0.

    >>> {name: round(value, 3) for name, value in indices([3, 1, 1, 1]).items()}["balance_jain"]
    0.75
    """
    n, total = len(values), sum(values)
    shares = [value / total for value in values]
    mean = 1 / n
    squares = sum(share * share for share in shares)
    jain = min(1.0, 1 / (n * squares))
    ordered = sorted(shares)
    gini = sum((2 * rank - n - 1) * share for rank, share in enumerate(ordered, 1)) / n
    entropy = -sum(share * math.log(share) for share in shares if share > 0)
    return {
        "balance_unclipped": 1 - statistics.stdev(values) / statistics.mean(values),
        "balance_population": _within(1 - statistics.pstdev(shares) / mean / math.sqrt(n - 1)),
        "balance_jain": jain,
        "balance_jain_normalised": _within((jain - 1 / n) / (1 - 1 / n)),
        "balance_gini": _within(1 - gini * n / (n - 1)),
        "balance_entropy": _within(entropy / math.log(n)),
    }


def _within(value: float) -> float:
    """Take back what rounding put outside 0..1."""
    return min(1.0, max(0.0, value))


def measure_balance(trace: Trace, marker: Marker) -> dict[str, Measurement]:
    """Return the indices by count, tokens and seconds; each is missing where the log holds no such load."""
    measurements: dict[str, Measurement] = {}
    for base in _BASES:
        names = [name if base == "count" else f"{name}_{base}" for name in _INDICES]
        load = loads(trace)[0] if base == "count" else _measure_agents(trace, base)
        if load is None:
            measurements |= {
                name: marker.lacking(name, MissingKind.UNAVAILABLE, f"the log holds no {base} of the agents")
                for name in names
            }
        elif len(load) < 2 or not any(load.values()):
            measurements |= marker.none_apply(
                names, "fewer than two agents" if len(load) < 2 else "no agent did anything"
            )
        else:
            indices_found = indices(list(load.values()))
            measurements |= {
                name: marker.measure(name, value, load=load)
                for name, value in zip(names, indices_found.values(), strict=True)
            }
    return measurements


def _measure_agents(trace: Trace, base: str) -> Mapping[str, float] | None:
    """Return tokens or seconds of each agent; None where no step of any agent has them."""
    amounts: dict[str, float] = dict.fromkeys(trace.roster, 0.0)
    has_amount = False
    # A call that delegates lasts as long as the work inside it: that time is the other agent's.
    own = leaf_intervals(trace) if base == "seconds" else frozenset()
    for step in trace.steps:
        amount: float | None = None
        if base == "seconds":
            amount = step.seconds if step.kind is not StepKind.HANDOFF and (step.start, step.end) in own else None
        elif step.input_tokens is not None or step.output_tokens is not None:
            amount = (step.input_tokens or 0) + (step.output_tokens or 0)
        if amount is not None and step.agent:
            has_amount = True
            amounts[step.agent] = amounts.get(step.agent, 0.0) + amount
    return amounts if has_amount else None
