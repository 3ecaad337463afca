"""How much of the talk between agents was about coordinating, and how much about the work."""

from __future__ import annotations

from markbook.metrics.graph.measuring import GraphMetric, Marker
from markbook.trace import Trace
from markbook.types import Measurement, MissingKind

COORDINATION = frozenset({"coordination", "status_update", "handoff", "delegation"})
"""Types of messages that coordinate. The document's list lacks `delegation`, which real traces use."""
PRODUCTIVE = frozenset({"task_request", "result_delivery", "data_transfer"})

METRICS = (
    GraphMetric("communication_overhead", (0, 1), "lower", "coordinating messages over those of a known type"),
    GraphMetric("communication_quality", (0, 1), "higher", "1 - communication overhead"),
    GraphMetric("communication_unknown_share", (0, 1), "lower", "share of messages whose type is in neither list"),
)


def measure_communication(
    trace: Trace,
    marker: Marker,
    coordination: frozenset[str] = COORDINATION,
    productive: frozenset[str] = PRODUCTIVE,
) -> dict[str, Measurement]:
    """Return overhead, quality and the share of unknown types over the messages from one agent to another.

    Corrected: coordinating over classified messages, `delegation` counts as coordinating. Documented: the document's
    three types over all messages, and 0 for no message at all.

    Missing: not applicable where no agent speaks to another, undefined where no message has a known type.
    """
    types = [step.name for step in trace.interactions()]
    measurements = _unknown_share(types, coordination | productive, marker)
    if marker.profile == "documented":
        from markbook.metrics.graph.documented import calculate_communication_overhead

        overhead = calculate_communication_overhead([{"type": name} for name in types])
        return measurements | {
            "communication_overhead": marker.measure("communication_overhead", overhead, messages=len(types)),
            "communication_quality": marker.measure("communication_quality", 1 - overhead, messages=len(types)),
        }
    if not types:
        return marker.none_apply((metric.name for metric in METRICS), "no agent speaks to another")
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


def _unknown_share(types: list[str], known_types: frozenset[str], marker: Marker) -> dict[str, Measurement]:
    name = "communication_unknown_share"
    if not types:
        return marker.none_apply([name], "no agent speaks to another")
    unknown = sum(kind not in known_types for kind in types)
    return {name: marker.measure(name, unknown / len(types), unknown=unknown, messages=len(types))}
