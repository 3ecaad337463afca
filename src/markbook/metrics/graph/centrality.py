"""Who stands in the middle: centrality in the directed graph of messages between agents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markbook.errors import ExtraMissingError
from markbook.metrics.graph.paths import GraphMetric, Marker
from markbook.plugins import need
from markbook.trace import Trace
from markbook.types import Measurement, MissingKind

FAST_FROM = 300
"""Nodes from which rustworkx is used where it is installed."""
SAMPLED_FROM = 1_000
"""Nodes from which networkx betweenness is estimated from `SAMPLES` sources (with rustworkx it stays exact)."""
WEIGHTED_SAMPLED_FROM = 500
"""The same for weighted betweenness, which rustworkx does not have."""
MAX_WORK = 400_000_000
"""Nodes times edges up to which a graph is measured: some ten seconds."""
SAMPLES = 100
SEED = 0
_SHOWN = 100
"""Agents whose own values stand in the stats, the most central first."""

METRICS = (
    GraphMetric("centrality_normalised", (0, 1), "higher", "best mean of weighted betweenness, harmonic and degree"),
    GraphMetric("centralisation_freeman", (0, 1), "lower", "Freeman's degree centralisation: 1 is a star"),
    GraphMetric("hub_share", (0, 1), "lower", "share of the messages that the busiest agent sends or receives"),
    GraphMetric("reciprocity", (0, 1), "higher", "share of edges whose reverse exists"),
    GraphMetric("density", (0, 1), "higher", "edges over possible edges"),
)
_NAMES = tuple(metric.name for metric in METRICS)


def interaction_graph(trace: Trace) -> Any:
    """Return the agents as a networkx digraph; an edge's `weight` is its number of messages.

    Raises:
        ExtraMissingError: networkx is not installed.
    """
    nx = need("networkx", extra="agents")
    graph = nx.DiGraph()
    graph.add_nodes_from(trace.roster)
    for step in trace.interactions():
        if graph.has_edge(step.agent, step.target):
            graph[step.agent][step.target]["weight"] += 1
        else:
            graph.add_edge(step.agent, step.target, weight=1)
    return graph


def betweenness(graph: Any) -> tuple[dict[Any, float], dict[str, object]]:
    """Return each node's normalised betweenness without weights, and how it was computed."""
    if _is_fast(graph):
        rx = need("rustworkx", extra="agents")
        values = rx.digraph_betweenness_centrality(rx.networkx_converter(graph), normalized=True)
        return dict(zip(graph, values.values(), strict=True)), {"library": "rustworkx"}
    nx = need("networkx", extra="agents")
    if len(graph) >= SAMPLED_FROM:
        how: dict[str, object] = {"library": "networkx", "sampled": SAMPLES, "seed": SEED}
        return nx.betweenness_centrality(graph, k=SAMPLES, seed=SEED), how
    return nx.betweenness_centrality(graph), {"library": "networkx"}


def closeness(graph: Any) -> dict[Any, float]:
    """Return each node's closeness by incoming distance, scaled by the part of the graph that reaches it."""
    if _is_fast(graph):
        rx = need("rustworkx", extra="agents")
        values = rx.closeness_centrality(rx.networkx_converter(graph), wf_improved=True)
        return dict(zip(graph, values.values(), strict=True))
    centrality: dict[Any, float] = need("networkx", extra="agents").closeness_centrality(graph)
    return centrality


def _is_fast(graph: Any) -> bool:
    if len(graph) < FAST_FROM:
        return False
    try:
        need("rustworkx", extra="agents")
    except ExtraMissingError:
        return False
    return True


def coordination_centrality(trace: Trace, marker: Marker) -> Measurement:
    """Return the largest (betweenness + closeness + degree) / 3 over the agents.

    Corrected: the degree of a directed graph counts in and out and reaches 2, so it is halved, and the value stays in
    [0, 1]. Documented: as it is written, up to 4/3. Messages of an agent to itself are not edges. Each agent's value
    stands in the stats. Higher means that one agent coordinates more.

    Missing: corrected, not applicable below three agents or without a message between agents; documented, undefined
    without an agent; unavailable without networkx.
    """
    name = "coordination_centrality"
    graph, why = _graph(trace, marker, name)
    if why is not None:
        return why
    between, how = betweenness(graph)
    close = closeness(graph)
    share = 1.0 if marker.profile == "documented" else 0.5
    degree = need("networkx", extra="agents").degree_centrality(graph)
    scores = {node: (between[node] + close[node] + share * degree[node]) / 3 for node in graph}
    hub = max(scores, key=lambda node: scores[node])
    return marker.measure(name, scores[hub], agent=hub, agents=_list_largest(scores), nodes=len(graph), **how)


def _graph(trace: Trace, marker: Marker, name: str) -> tuple[Any, Measurement | None]:
    try:
        graph = interaction_graph(trace)
    except ExtraMissingError as error:
        return None, marker.lacking(name, MissingKind.UNAVAILABLE, str(error))
    if marker.profile == "documented":
        if not len(graph):
            return graph, marker.lacking(name, MissingKind.UNDEFINED, "the trace has no agent")
        return graph, _too_large(graph, marker, name)
    if len(graph) < 3:
        return graph, marker.lacking(name, MissingKind.NOT_APPLICABLE, f"needs 3 agents, has {len(graph)}")
    if not graph.number_of_edges():
        return graph, marker.lacking(name, MissingKind.NOT_APPLICABLE, "no agent speaks to another")
    return graph, _too_large(graph, marker, name)


def _too_large(graph: Any, marker: Marker, name: str) -> Measurement | None:
    """Return the refusal of a graph that would take minutes; a quarter of the limit without rustworkx."""
    n, edges = len(graph), graph.number_of_edges()
    if n * edges <= MAX_WORK // (1 if n < FAST_FROM or _is_fast(graph) else 4):
        return None
    return marker.lacking(name, MissingKind.BUDGET, f"{n} agents with {edges} edges are too many to measure")


def _list_largest(scores: Mapping[Any, float]) -> dict[str, float]:
    return {str(node): scores[node] for node in sorted(scores, key=lambda node: -scores[node])[:_SHOWN]}


def measure_centrality(trace: Trace, marker: Marker) -> dict[str, Measurement]:
    """Return the well-defined companions, under the same conditions as the corrected centrality."""
    graph, why = _graph(trace, Marker(marker.sample_id), _NAMES[0])
    if why is not None:
        assert why.missing is not None
        return marker.all_lacking(_NAMES, why.missing.kind, why.missing.detail)
    n, edges = len(graph), graph.number_of_edges()
    strength = {node: float(graph.degree(node, weight="weight")) for node in graph}
    total = sum(strength.values()) / 2
    neighbours = {node: len(set(graph.successors(node)) | set(graph.predecessors(node))) for node in graph}
    largest = max(neighbours.values())
    spread = sum(largest - count for count in neighbours.values())
    back = sum(graph.has_edge(other, source) for source, other in graph.edges())
    hub = max(strength, key=lambda node: strength[node])
    return {
        "centrality_normalised": _normalise_value(graph, strength, marker),
        "centralisation_freeman": marker.measure("centralisation_freeman", spread / ((n - 1) * (n - 2)), nodes=n),
        "hub_share": marker.measure("hub_share", strength[hub] / total, agent=hub, messages=total),
        "reciprocity": marker.measure("reciprocity", back / edges, edges=edges),
        "density": marker.measure("density", edges / (n * (n - 1)), nodes=n, edges=edges),
    }


def _normalise_value(graph: Any, strength: Mapping[Any, float], marker: Marker) -> Measurement:
    """Return the largest mean of three values that are each within 0..1.

    Betweenness with distance 1 / messages, the mean of harmonic centrality in and out over n - 1, degree over 2(n - 1).
    """
    nx = need("networkx", extra="agents")
    n = len(graph)
    for _, _, attributes in graph.edges(data=True):
        attributes["distance"] = 1 / attributes["weight"]
    how: dict[str, object] = {}
    if n >= WEIGHTED_SAMPLED_FROM:
        how = {"sampled": SAMPLES, "seed": SEED}
        between = nx.betweenness_centrality(graph, k=min(SAMPLES, n), seed=SEED, weight="distance")
    else:
        between = nx.betweenness_centrality(graph, weight="distance")
    import numpy as np
    from scipy.sparse.csgraph import dijkstra

    table = nx.to_scipy_sparse_array(graph, weight=None)
    total = np.zeros(n)
    block = max(1, 4_000_000 // n)  # distances held at a time: 32 MB
    for first in range(0, n, block):
        sources = np.arange(first, min(first + block, n))
        hops = dijkstra(table, unweighted=True, indices=sources)
        hops[np.arange(len(sources)), sources] = np.inf
        near = 1 / hops  # unreachable is infinitely far: 0
        total[sources] += near.sum(axis=1)
        total += near.sum(axis=0)  # in and out: who is reached by others counts as who reaches them
    scores = {
        # A sampled betweenness is scaled up and may pass 1.
        node: (min(1.0, between[node]) + float(harmonic / (2 * (n - 1))) + graph.degree(node) / (2 * (n - 1))) / 3
        for node, harmonic in zip(graph, total, strict=True)
    }
    hub = max(scores, key=lambda node: scores[node])
    rank = nx.pagerank(graph, weight="weight")
    return marker.measure(
        "centrality_normalised", min(1.0, scores[hub]), agent=hub, agents=_list_largest(scores), pagerank=_list_largest(rank),
        strength=_list_largest(strength), **how,
    )  # fmt: skip
