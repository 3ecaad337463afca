"""All metrics of a trace at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from markbook.errors import UsageError
from markbook.metrics.graph import balance, centrality, communication, paths, tools
from markbook.metrics.graph.across import AcrossRuns
from markbook.metrics.graph.measuring import INFINITY, GraphMetric, Marker, Profile
from markbook.trace import Reference, Trace
from markbook.types import Measurement, MissingKind

WEIGHTS = {
    "path_convergence": 0.3,
    "tool_selection_accuracy": 0.25,
    "coordination_centrality": 0.25,
    "task_distribution_balance": 0.2,
}
"""What `overall_score` weighs; the config's names are path_convergence, tool_accuracy, coordination_quality and
task_balance."""

PRIMARY = (
    GraphMetric("path_convergence", (0, 1), "higher", "fewest steps over walked steps"),
    GraphMetric("tool_selection_accuracy", (0, 1), "higher", "right tool calls over tool calls made"),
    GraphMetric("coordination_centrality", (0, 1), "higher", "largest mean of betweenness, closeness and degree"),
    GraphMetric("task_distribution_balance", (0, 1), "higher", "1 - deviation over mean of the tasks of each agent"),
    GraphMetric("overall_score", (0, 1), "higher", "weighted mean of these four"),
    GraphMetric("graph_complexity", (0, INFINITY), "lower", "agents plus different tools"),
)
"""The metrics of the review's tier 3, in its order."""

METRICS = (
    *PRIMARY, *communication.METRICS, *paths.METRICS, *tools.METRICS, *centrality.METRICS, *balance.METRICS,
)  # fmt: skip
"""Every metric of a single run."""


def trace_metrics(
    trace: Trace,
    reference: Reference | None = None,
    profile: Profile = "corrected",
    weights: dict[str, float] | None = None,
    message_types: Mapping[str, Collection[str]] | None = None,
) -> dict[str, Measurement]:
    """Return every graph metric of a trace by name, each a value or a reason.

    Args:
        trace: one run, or several joined: then each value is the mean over the runs that have one.
        reference: what a good run does; None takes what the data set says (`trace.reference`).
        profile: `documented` computes the documented metrics to the letter; companions are the same in both.
        weights: of `overall_score` by metric name, in place of `WEIGHTS`.
        message_types: the types of messages that are `coordination` and those that are `productive`, in place of the
            lists in `communication`; a missing key keeps its list.

    Returns:
        Name to measurement: first those of `PRIMARY`, then the companions.

    Raises:
        UsageError: `message_types` has another key.
    """
    if trace.runs:
        gathered = AcrossRuns(profile)
        for run in trace.runs:
            gathered.add(run, trace_metrics(run, reference, profile, weights, message_types))
        return gathered.results()
    marker = Marker(trace.id, profile)
    if trace.clipped:
        detail = f"{trace.clipped} spans lie beyond the limit: a number from a part of the run would mislead"
        return {metric.name: marker.lacking(metric.name, MissingKind.BUDGET, detail) for metric in METRICS}
    reference = reference if reference is not None else trace.reference
    measurements = _primary(trace, reference, marker, weights or WEIGHTS)
    measurements |= communication.measure_communication(trace, marker, **_types(message_types))
    measurements |= paths.measure_walk(trace, reference, marker)
    measurements |= paths.measure_time(trace, marker)
    measurements |= tools.measure_tools(trace, reference, marker)
    measurements |= centrality.measure_centrality(trace, marker)
    return measurements | balance.measure_balance(trace, marker)


def _primary(
    trace: Trace, reference: Reference | None, marker: Marker, weights: dict[str, float]
) -> dict[str, Measurement]:
    """Return the metrics of `PRIMARY`, in its order."""
    measurements = {
        "path_convergence": _path(trace, marker),
        "tool_selection_accuracy": tools.selection_accuracy(trace, reference, marker),
        "coordination_centrality": centrality.coordination_centrality(trace, marker),
        "task_distribution_balance": balance.distribution_balance(trace, marker),
    }
    measurements["overall_score"] = overall_score(measurements, weights, marker)
    tools_used = {step.name for step in trace.tools()}
    nodes = len(trace.roster) + len(tools_used)
    measurements["graph_complexity"] = marker.measure(
        "graph_complexity", nodes, agents=len(trace.roster), tools=len(tools_used)
    )
    return measurements


def _types(types_by_kind: Mapping[str, Collection[str]] | None) -> dict[str, frozenset[str]]:
    """Return the lists of message types that are given; a name other than the two is the caller's mistake."""
    unknown = set(types_by_kind or ()) - {"coordination", "productive"}
    if unknown:
        raise UsageError(f"unknown kind of message {min(unknown)!r}", hint="coordination or productive")
    return {kind: frozenset(names) for kind, names in (types_by_kind or {}).items()}


def _path(trace: Trace, marker: Marker) -> Measurement:
    if marker.profile == "corrected":
        return paths.path_convergence(paths.walk_of(trace), marker)
    walk = paths.tool_walk_of(trace)
    if walk and walk[0] == walk[-1]:
        return marker.measure("path_convergence", 0.0, minimum_steps=0)  # 0 / x, as the document computes it
    return paths.path_convergence(walk, marker)


def overall_score(parts: dict[str, Measurement], weights: dict[str, float], marker: Marker) -> Measurement:
    """Return the weighted mean of the four parts.

    Missing where a part is: the stats then have the mean over the parts that there are (`renormalised`) and what the
    value would be with the missing ones at 0 and at 1 (`low`, `high`).
    """
    name = "overall_score"
    total = sum(weights.values())
    weighted: list[tuple[float, float]] = []
    gone = []
    for part, weight in weights.items():
        value = parts[part].value if part in parts else None
        if value is None:
            gone.append(part)
        else:
            weighted.append((value, weight))
    score = sum(value * weight for value, weight in weighted)
    weight_known = sum(weight for _, weight in weighted)
    stats: dict[str, object] = {"weights": dict(weights), "missing": gone}
    if not gone:
        return marker.measure(name, score / total, **stats)
    stats |= {"low": score / total, "high": (score + total - weight_known) / total}
    if weight_known:
        stats["renormalised"] = score / weight_known
    kind = MissingKind.NOT_APPLICABLE
    return marker.lacking(name, kind, f"without {', '.join(gone)} there is no weighted mean", **stats)
