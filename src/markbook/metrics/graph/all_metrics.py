"""The metrics of agents' traces: by name, of one trace and across several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from markbook.errors import UsageError
from markbook.metrics.graph import balance, centrality, paths, tools
from markbook.metrics.graph.paths import INFINITY, VERSION, GraphMetric, Marker
from markbook.stats.passes import pass_hat_k
from markbook.trace import Reference, Trace
from markbook.types import Item, Measurement, Metric, MissingKind, Profile

# Several runs: of one task, or of a whole file.


@dataclass(slots=True)
class AcrossRuns:
    """Gathers runs one by one and keeps only sums: a file of any number of runs is marked in flat memory.

    Each metric is the mean over the runs that have a value; `stats` has how many, and why the others have none.
    """

    profile: Profile = "corrected"
    runs: int = 0
    _names: dict[str, None] = field(default_factory=dict)
    _sums: dict[str, float] = field(default_factory=dict)
    _counts: Counter[str] = field(default_factory=Counter)
    _missing: dict[str, Counter[str]] = field(default_factory=dict)
    _details: dict[str, Measurement] = field(default_factory=dict)
    _lengths: dict[str, list[int]] = field(default_factory=dict)
    _trials: dict[str, list[bool]] = field(default_factory=dict)

    def add(self, trace: Trace, measured: Mapping[str, Measurement]) -> None:
        """Take one run with its metrics."""
        self.runs += 1
        self._names |= dict.fromkeys(measured)
        for name, measurement in measured.items():
            if measurement.value is not None:
                self._sums[name] = self._sums.get(name, 0.0) + measurement.value
                self._counts[name] += 1
            elif measurement.missing is not None:
                self._missing.setdefault(name, Counter())[measurement.missing.kind] += 1
                self._details.setdefault(name, measurement)
        # Runs without a task's name may be of different tasks: they are not trials of one.
        if trace.task and trace.success is not None:
            self._trials.setdefault(trace.task, []).append(trace.success)
            if trace.success and trace.tool_calls:
                self._lengths.setdefault(trace.task, []).append(trace.tool_calls)

    def results(self) -> dict[str, Measurement]:
        """Return the means, then what needs all runs: `convergence_across_runs` and `pass^k`."""
        marker = Marker(profile=self.profile)
        means = {}
        for name in self._names:
            missing = dict(self._missing.get(name, {}))
            n = self._counts[name]
            if n:
                means[name] = marker.measure(name, self._sums[name] / n, n=n, n_missing=missing, runs=self.runs)
            else:
                first = self._details[name].missing
                assert first is not None
                means[name] = marker.lacking(name, first.kind, f"in no run: {first.detail}", n_missing=missing)
        # The mean over tasks of mean_i(min_j L_j / L_i), over the successful runs of each task.
        name = "convergence_across_runs"
        several = [lengths for lengths in self._lengths.values() if len(lengths) > 1]
        if several:
            values = [sum(min(lengths) / length for length in lengths) / len(lengths) for lengths in several]
            means[name] = marker.measure(name, sum(values) / len(values), n=len(several))
        else:
            detail = "no task has two successful runs with tool calls"
            means[name] = marker.lacking(name, MissingKind.NOT_APPLICABLE, detail)
        # pass^k, how likely k runs of a task all succeed, for every k that each task has trials for.
        counts = [(len(trials), sum(trials)) for trials in self._trials.values()]
        most = min((n for n, _ in counts), default=0)
        for k in range(1, min(most, 16) + 1):
            value = pass_hat_k(counts, k)
            if value is not None:
                means[f"pass^{k}"] = marker.measure(f"pass^{k}", value, n=len(counts), trials=most)
        return means


def best_run_references(runs: Iterable[Trace]) -> dict[str, Reference]:
    """Return, for each task, the calls of its successful run with the fewest of them as the reference.

    The reference says so: such a run is known to work, not to be the best there could be.
    """
    best: dict[str, Trace] = {}
    for run in runs:
        if run.success and (run.task not in best or run.tool_calls < best[run.task].tool_calls):
            best[run.task] = run
    return {task: Reference.from_trace(run, "the task's shortest successful run") for task, run in best.items()}


# All metrics of a trace at once.

WEIGHTS = {
    "path_convergence": 0.3,
    "tool_selection_accuracy": 0.25,
    "coordination_centrality": 0.25,
    "task_distribution_balance": 0.2,
}
"""What `overall_score` weighs; the config's names are path_convergence, tool_accuracy, coordination_quality and
task_balance."""

PRIMARY = (
    GraphMetric("path_convergence", (0, 1), "higher", "smallest number of steps divided by steps taken"),
    GraphMetric("tool_selection_accuracy", (0, 1), "higher", "correct tool calls divided by all tool calls"),
    GraphMetric("coordination_centrality", (0, 1), "higher", "largest mean of betweenness, closeness and degree"),
    GraphMetric("task_distribution_balance", (0, 1), "higher", "1 - (standard deviation / mean) of tasks per agent"),
    GraphMetric("overall_score", (0, 1), "higher", "weighted mean of these four"),
    GraphMetric("graph_complexity", (0, INFINITY), "lower", "agents plus different tools"),
)
"""The metrics of the review's tier 3, in its order."""

METRICS = (
    *PRIMARY, *balance.COMMUNICATION_METRICS, *paths.METRICS, *tools.METRICS, *centrality.METRICS, *balance.METRICS,
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
        UsageError: `message_types` has another key, or the weights add up to nothing.
    """
    weights = weights or WEIGHTS
    if not (min(weights.values()) >= 0 and 0 < sum(weights.values()) < INFINITY):
        raise UsageError(f"weights {weights} are not shares", hint="numbers of at least 0, not all 0")
    if trace.runs:
        gathered = AcrossRuns(profile)
        for run in trace.runs:
            gathered.add(run, trace_metrics(run, reference, profile, weights, message_types))
        return gathered.results()
    marker = Marker(trace.id, profile)
    if trace.clipped:
        detail = f"{trace.clipped} spans lie beyond the limit: a number from a part of the run would mislead"
        return marker.all_lacking(_BY_NAME, MissingKind.BUDGET, detail)
    reference = reference if reference is not None else trace.reference
    unknown = set(message_types or ()) - {"coordination", "productive"}
    if unknown:
        raise UsageError(f"unknown kind of message {min(unknown)!r}", hint="coordination or productive")
    walk = paths.list_walk(trace)
    if profile == "documented":  # whoever made the calls: the nodes of the document's `tool_graph` are tools
        walk = [("", tool) for _, tool in walk]
    measurements = {
        "path_convergence": paths.path_convergence(walk, marker),
        "tool_selection_accuracy": tools.selection_accuracy(trace, reference, marker),
        "coordination_centrality": centrality.coordination_centrality(trace, marker),
        "task_distribution_balance": balance.distribution_balance(trace, marker),
    }
    if profile == "documented" and walk and walk[0] == walk[-1]:  # 0 / x, as the document computes it
        measurements["path_convergence"] = marker.measure("path_convergence", 0.0, minimum_steps=0)
    measurements["overall_score"] = overall_score(measurements, weights, marker)
    n_agents, n_tools = len(trace.roster), len({step.name for step in trace.tools()})
    complexity = marker.measure("graph_complexity", n_agents + n_tools, agents=n_agents, tools=n_tools)
    measurements["graph_complexity"] = complexity
    types = {kind: frozenset(names) for kind, names in (message_types or {}).items()}
    measurements |= balance.measure_communication(trace, marker, **types)
    measurements |= paths.measure_walk(trace, reference, marker)
    measurements |= paths.measure_time(trace, marker)
    measurements |= tools.measure_tools(trace, reference, marker)
    measurements |= centrality.measure_centrality(trace, marker)
    return measurements | balance.measure_balance(trace, marker)


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


# The graph metrics as plugins: an attempt carries its trace in `meta["trace"]`.

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
        # As documented, a directed graph's degree counts in and out: a two-way star's hub has 4/3, and lifts the mean.
        if profile == "documented" and name in ("coordination_centrality", "overall_score"):
            self.range = (0.0, 4 / 3)
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
