"""Several runs: of one task, or of a whole file."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from markbook.metrics.graph.measuring import Marker, Profile
from markbook.trace import ExpectedCall, Reference, Trace
from markbook.types import Measurement, MissingKind


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
        means["convergence_across_runs"] = self._measure_convergence(marker)
        return means | self._reliable(marker)

    def _measure_convergence(self, marker: Marker) -> Measurement:
        """Return the mean over tasks of mean_i(min_j L_j / L_i), over the successful runs of each task."""
        name = "convergence_across_runs"
        several = {task: lengths for task, lengths in self._lengths.items() if len(lengths) > 1}
        if not several:
            detail = "no task has two successful runs with tool calls"
            return marker.lacking(name, MissingKind.NOT_APPLICABLE, detail)
        values = [sum(min(lengths) / length for length in lengths) / len(lengths) for lengths in several.values()]
        return marker.measure(name, sum(values) / len(values), n=len(several))

    def _reliable(self, marker: Marker) -> dict[str, Measurement]:
        """Return pass^k: how likely k runs of a task all succeed, for every k that each task has trials for."""
        if not self._trials:
            return {}
        most = min(len(trials) for trials in self._trials.values())
        return {
            f"pass^{k}": marker.measure(f"pass^{k}", pass_hat_k(self._trials, k), n=len(self._trials), trials=most)
            for k in range(1, min(most, 16) + 1)
        }


def pass_hat_k(trials: Mapping[str, Iterable[bool]], k: int) -> float:
    """Return the mean over tasks of C(successes, k) / C(trials, k): tau-bench's pass^k, unbiased.

    Every task needs at least k trials.

    >>> pass_hat_k({"a": [True, True, False, True], "b": [False, False, False, False]}, 2)
    0.25
    """
    shares = []
    for trial in trials.values():
        results = list(trial)
        shares.append(math.comb(sum(results), k) / math.comb(len(results), k))
    return sum(shares) / len(shares)


def best_run_references(runs: Iterable[Trace]) -> dict[str, Reference]:
    """Return, for each task, the calls of its successful run with the fewest of them as the reference.

    The reference says so: such a run is known to work, not to be the best there could be.
    """
    best: dict[str, Trace] = {}
    for run in runs:
        if run.success and (run.task not in best or run.tool_calls < best[run.task].tool_calls):
            best[run.task] = run
    return {task: reference_from(run, "the task's shortest successful run") for task, run in best.items()}


def reference_from(trace: Trace, source: str) -> Reference:
    """Return a trace's calls as a reference."""
    return Reference(
        tuple(
            ExpectedCall((step.name,), step.arguments if isinstance(step.arguments, dict) else None)
            for step in trace.tools()
        ),
        source=source,
    )
