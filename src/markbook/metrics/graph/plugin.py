"""The graph metrics as plugins: an attempt carries its trace in `meta["trace"]`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from markbook.metrics.graph.all_metrics import METRICS, trace_metrics
from markbook.metrics.graph.measuring import VERSION, Marker, Profile
from markbook.trace import Reference, Trace
from markbook.types import Item, Measurement, Metric, MissingKind

_BY_NAME = {metric.name: metric for metric in METRICS}


class TraceMetric(Metric):
    """One metric of the run that stands in `attempt.meta["trace"]`; a reference may stand in `meta["reference"]`.

    Missing: not applicable for an attempt without a trace, and as the metric itself says.
    """

    needs_reference = False
    needs_trace = True

    def __init__(self, name: str, *, profile: Profile = "corrected") -> None:
        entry = _BY_NAME[name]
        self.name = name
        self.version = VERSION
        self.range = entry.range
        self.direction = entry.direction
        self.profile: Profile = profile
        self.signature = Marker(profile=profile).signature(name)

    def measure(self, items: Sequence[Item]) -> list[Measurement]:
        """Return one measurement an item."""
        return [self._one(item) for item in items]

    def _one(self, item: Item) -> Measurement:
        trace, reference = item.attempt.meta.get("trace"), item.attempt.meta.get("reference")
        identity = {"sample_id": item.attempt.sample_id, "index": item.attempt.index, "model": item.attempt.model}
        if not isinstance(trace, Trace):
            marker = Marker(profile=self.profile)
            measurement = marker.lacking(self.name, MissingKind.NOT_APPLICABLE, "the attempt has no trace")
        else:
            reference_given = reference if isinstance(reference, Reference) else None
            measurement = trace_metrics(trace, reference_given, self.profile)[self.name]
        return replace(measurement, **identity)  # type: ignore[arg-type]  # the fields' own types


def path_convergence(*, profile: Profile = "corrected") -> TraceMetric:
    """Return the metric `path_convergence`."""
    return TraceMetric("path_convergence", profile=profile)


def tool_selection_accuracy(*, profile: Profile = "corrected") -> TraceMetric:
    """Return the metric `tool_selection_accuracy`."""
    return TraceMetric("tool_selection_accuracy", profile=profile)


def communication_overhead(*, profile: Profile = "corrected") -> TraceMetric:
    """Return the metric `communication_overhead`."""
    return TraceMetric("communication_overhead", profile=profile)


def coordination_centrality(*, profile: Profile = "corrected") -> TraceMetric:
    """Return the metric `coordination_centrality`."""
    return TraceMetric("coordination_centrality", profile=profile)


def task_distribution_balance(*, profile: Profile = "corrected") -> TraceMetric:
    """Return the metric `task_distribution_balance`."""
    return TraceMetric("task_distribution_balance", profile=profile)
