"""How work and talk are spread over agents, also by the documented formulas."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from markbook.metrics import clamp
from markbook.metrics.graph.paths import GraphMetric, Marker, leaf_intervals
from markbook.metrics.graph.tools import tool_for
from markbook.plugins import need
from markbook.trace import StepKind, Trace
from markbook.types import Measurement, MissingKind

# Tier 3 under the document's own names, arguments and arithmetic, to the letter.
#
# Three pieces that the document calls and does not define are defined here as its text suggests: the actual steps, the
# optimal tool, and nothing else. Where the arithmetic leaves its stated range (a centrality above 1) the value is
# returned as it comes; `trace_metrics` has the corrected ones.

__all__ = [
    "calculate_communication_overhead",
    "calculate_coordination_centrality",
    "calculate_path_convergence",
    "calculate_task_distribution_balance",
    "calculate_tool_selection_accuracy",
]


def calculate_path_convergence(tool_graph: Any, start_node: str, end_node: str) -> float:
    """Return minimum_required_steps / actual_steps_taken.

    The document leaves `calculate_actual_steps` undefined. Here it is the transitions observed between the two nodes:
    the edges that lie on a way from start to end, each counted as often as its `count` (or `weight`) says, once if it
    says nothing.

    Args:
        tool_graph: a networkx digraph of tool calls, an edge for each observed transition.
        start_node: the first tool.
        end_node: the goal.

    Returns:
        0..1, higher is better; 0.0 where no way leads from start to end, and where start and end are the same.

    Raises:
        networkx.NodeNotFound: a node is not in the graph; the document does not catch this.
        ExtraMissingError: networkx is not installed.
    """
    nx = need("networkx", extra="agents")
    try:
        minimum = len(nx.shortest_path(tool_graph, start_node, end_node)) - 1
    except nx.NetworkXNoPath:
        return 0.0
    if not minimum:
        return 0.0
    # An edge lies on a way from start to end if the start reaches its beginning and its end reaches the goal.
    ahead = {start_node} | nx.descendants(tool_graph, start_node)
    behind = {end_node} | nx.ancestors(tool_graph, end_node)
    actual = sum(
        attributes.get("count", attributes.get("weight", 1))
        for source, other, attributes in tool_graph.edges(data=True)
        if source in ahead and other in behind
    )
    return float(minimum / actual) if actual > 0 else 0.0


def calculate_tool_selection_accuracy(
    tool_calls: Sequence[Mapping[str, object]], optimal_tools: Mapping[str, object]
) -> float:
    """Return correct_tool_selections / total_tool_selections.

    The document leaves `determine_optimal_tool` undefined. Here a context's tool is the one under that very context,
    else under the first key that matches it as a shell pattern or is a part of it, else under `default`.

    Args:
        tool_calls: calls with `context` and `tool_name`.
        optimal_tools: context to tool, or to a list of acceptable tools.

    Returns:
        0..1, higher is better; 0.0 without a call.
    """
    if not tool_calls:
        return 0.0
    right = 0
    for call in tool_calls:
        optimal = tool_for(str(call.get("context", "")), optimal_tools)
        accepted = optimal if isinstance(optimal, list | tuple | set | frozenset) else (optimal,)
        right += call.get("tool_name", "") in accepted
    return right / len(tool_calls)


def calculate_communication_overhead(agent_interactions: Sequence[Mapping[str, object]]) -> float:
    """Return coordination_messages / total_messages.

    Args:
        agent_interactions: messages with a `type`; `coordination`, `status_update` and `handoff` are coordination.

    Returns:
        0..1, lower is better; 0.0 without a message.
    """
    if not agent_interactions:
        return 0.0
    types = [message.get("type") for message in agent_interactions]
    return sum(name in ("coordination", "status_update", "handoff") for name in types) / len(types)


def calculate_coordination_centrality(interaction_graph: Any) -> dict[Any, float]:
    """Return (betweenness + closeness + degree) / 3 of each agent.

    Args:
        interaction_graph: a networkx digraph of agent interactions.

    Returns:
        Agent to value. The document says 0..1; a two-way star's hub reaches 4/3, since a directed graph's degree
        counts in and out.

    Raises:
        ExtraMissingError: networkx is not installed.
    """
    nx = need("networkx", extra="agents")
    betweenness = nx.betweenness_centrality(interaction_graph)
    closeness = nx.closeness_centrality(interaction_graph)
    degree = nx.degree_centrality(interaction_graph)
    return {node: (betweenness[node] + closeness[node] + degree[node]) / 3.0 for node in interaction_graph.nodes()}


def calculate_task_distribution_balance(agent_tasks: Mapping[Any, float]) -> float:
    """Return 1 - standard deviation (sample) / mean of the task counts, at least 0.

    Args:
        agent_tasks: agent to number of tasks.

    Returns:
        0..1, higher is more balanced; 1.0 for fewer than two agents and without any task.
    """
    counts = list(agent_tasks.values())
    if len(counts) < 2 or all(count == 0 for count in counts):
        return 1.0
    mean = statistics.mean(counts)
    if mean == 0:
        return 1.0
    return float(max(0.0, 1 - statistics.stdev(counts) / mean))


# How much of the talk between agents was about coordinating, and how much about the work.

COORDINATION = frozenset({"coordination", "status_update", "handoff", "delegation"})
"""Types of messages that coordinate. The document's list lacks `delegation`, which real traces use."""
PRODUCTIVE = frozenset({"task_request", "result_delivery", "data_transfer"})

COMMUNICATION_METRICS = (
    GraphMetric("communication_overhead", (0, 1), "lower", "coordinating messages over those of a known type"),
    GraphMetric("communication_quality", (0, 1), "higher", "1 - communication overhead"),
    GraphMetric("communication_unknown_share", (0, 1), "lower", "share of messages whose type is in neither list"),
)


def measure_communication(
    trace: Trace, marker: Marker, coordination: frozenset[str] = COORDINATION, productive: frozenset[str] = PRODUCTIVE
) -> dict[str, Measurement]:
    """Return overhead, quality and the share of unknown types over the messages from one agent to another.

    Corrected: coordinating over classified messages, `delegation` counts as coordinating. Documented: the document's
    three types over all messages, and 0 for no message at all.

    Missing: not applicable where no agent speaks to another, undefined where no message has a known type.
    """
    types = [step.name for step in trace.interactions()]
    measurements: dict[str, Measurement] = {}
    if types:
        listed = coordination | productive
        unknown = sum(name not in listed for name in types)
        share_unknown = marker.measure(
            "communication_unknown_share", unknown / len(types), unknown=unknown, messages=len(types)
        )
        measurements["communication_unknown_share"] = share_unknown
    else:
        measurements |= marker.none_apply(["communication_unknown_share"], "no agent speaks to another")
    if marker.profile == "documented":
        overhead = calculate_communication_overhead([{"type": name} for name in types])
        return measurements | {
            "communication_overhead": marker.measure("communication_overhead", overhead, messages=len(types)),
            "communication_quality": marker.measure("communication_quality", 1 - overhead, messages=len(types)),
        }
    if not types:
        return marker.none_apply((metric.name for metric in COMMUNICATION_METRICS), "no agent speaks to another")
    # Messages of an unknown type count on neither side; how many they are is a measurement of its own.
    coordinating = sum(name in coordination for name in types)
    classified = coordinating + sum(name in productive for name in types)
    stats = {"coordination": coordinating, "productive": classified - coordinating, "messages": len(types)}
    for name in ("communication_overhead", "communication_quality"):
        if not classified:
            detail = "no message is of a known type"
            measurements[name] = marker.lacking(name, MissingKind.UNDEFINED, detail, **stats)
        else:
            share = coordinating / classified
            measurements[name] = marker.measure(name, share if name.endswith("overhead") else 1 - share, **stats)
    return measurements


# How evenly the work was spread over the agents: by calls, by tokens, by time.

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
    # Rounding may lift the index of equal loads above 1 by its last digit.
    jain = min(1.0, 1 / (n * squares))
    ordered = sorted(shares)
    gini = sum((2 * rank - n - 1) * share for rank, share in enumerate(ordered, 1)) / n
    # 0 times the logarithm of 0 is 0 in the limit, so an agent without a share adds nothing.
    entropy = -sum(share * math.log(share) for share in shares if share > 0)
    return {
        "balance_unclipped": 1 - statistics.stdev(values) / statistics.mean(values),
        # Where one agent did all, the population deviation is sqrt(n - 1) times the mean, the largest that there can
        # be.
        "balance_population": clamp(1 - statistics.pstdev(shares) / mean / math.sqrt(n - 1)),
        "balance_jain": jain,
        "balance_jain_normalised": clamp((jain - 1 / n) / (1 - 1 / n)),
        "balance_gini": clamp(1 - gini * n / (n - 1)),
        "balance_entropy": clamp(entropy / math.log(n)),
    }


def measure_balance(trace: Trace, marker: Marker) -> dict[str, Measurement]:
    """Return the indices by count, tokens and seconds; each is missing where the log holds no such load."""
    measurements: dict[str, Measurement] = {}
    for base in _BASES:
        names = [name if base == "count" else f"{name}_{base}" for name in _INDICES]
        load = loads(trace)[0] if base == "count" else _measure_agents(trace, base)
        if load is None:
            detail = f"the log holds no {base} of the agents"
            measurements |= marker.all_lacking(names, MissingKind.UNAVAILABLE, detail)
        elif len(load) < 2 or not any(load.values()):
            detail = "fewer than two agents" if len(load) < 2 else "no agent did anything"
            measurements |= marker.none_apply(names, detail)
        else:
            for name, value in zip(names, indices(list(load.values())).values(), strict=True):
                measurements[name] = marker.measure(name, value, load=load)
    return measurements


def _measure_agents(trace: Trace, base: str) -> Mapping[str, float] | None:
    """Return tokens or seconds of each agent; None where no step of any agent has them."""
    amounts: dict[str, float] = dict.fromkeys(trace.roster, 0.0)
    has_amount = False
    # A call that delegates lasts as long as the work inside it: that time is the other agent's.
    own = set(leaf_intervals(trace)) if base == "seconds" else set()
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
