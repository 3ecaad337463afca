"""Tier 3 under the document's own names, arguments and arithmetic, to the letter.

Three pieces that the document calls and does not define are defined here as its text suggests: the actual steps, the
optimal tool, and nothing else. Where the arithmetic leaves its stated range (a centrality above 1) the value is
returned as it comes; `trace_metrics` has the corrected ones.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from markbook.metrics.graph.tools import tool_for
from markbook.plugins import need

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
