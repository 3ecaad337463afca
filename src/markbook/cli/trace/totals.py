"""A trace file's runs as one view: totals, numbers and the first run's picture, in memory that does not grow with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from markbook.metrics.graph.across import AcrossRuns
from markbook.trace import Trace, add_known
from markbook.types import Measurement, missing_kinds

if TYPE_CHECKING:
    from markbook.metrics.graph.measuring import Profile

MAX_LISTED = 1_000
"""Names, edges and runs that are listed one by one; totals count all."""
MAX_NAMES = 100_000
"""Agent names that are told apart."""


class TraceSum:
    """What is shown of a file."""

    def __init__(self, name: str, profile: str) -> None:
        self.name = name
        self.profile: Profile = "documented" if profile == "documented" else "corrected"
        self.first: Trace | None = None
        self.agents: dict[str, None] = {}
        self.declared: dict[str, None] = {}
        self.edges: Counter[tuple[str, str]] = Counter()
        self.tools: Counter[tuple[str, str]] = Counter()
        self.unrecognised: Counter[str] = Counter()
        self.notes: dict[str, None] = {}
        self.references: Counter[str] = Counter()
        self.runs: list[dict[str, Any]] = []
        self.tool_calls = self.messages = self.clipped = 0
        self.input_tokens: int | None = None
        self.output_tokens: int | None = None
        self.cached_tokens: int | None = None
        self.cache_written_tokens: int | None = None
        self.cost: float | None = None
        self.seconds: float | None = None
        self._across = AcrossRuns(self.profile)
        self._only: Mapping[str, Measurement] = {}

    @property
    def count(self) -> int:
        """How many runs the file holds."""
        return self._across.runs

    @property
    def metrics(self) -> Mapping[str, Measurement]:
        """The numbers: of the run, or the means over the runs."""
        return self._only if self.count == 1 else self._across.results()

    def add(self, run: Trace, measured: Mapping[str, Measurement]) -> None:
        """Take one run."""
        self._across.add(run, measured)
        if self.first is None:
            self.first, self._only = run, measured
        self.tool_calls += run.tool_calls
        self.messages += run.messages
        self.clipped += run.clipped
        self.input_tokens = add_known((self.input_tokens, run.input_tokens))
        self.output_tokens = add_known((self.output_tokens, run.output_tokens))
        self.cached_tokens = add_known((self.cached_tokens, run.cached_tokens))
        self.cache_written_tokens = add_known((self.cache_written_tokens, run.cache_written_tokens))
        self.cost = _add(self.cost, run.cost)
        self.seconds = _add(self.seconds, run.seconds)
        self.unrecognised.update(run.unrecognised)
        for counts, names in ((self.agents, run.agents), (self.declared, run.declared)):
            if len(counts) < MAX_NAMES:
                counts.update(dict.fromkeys(names))
        if len(self.notes) < MAX_LISTED:
            self.notes |= dict.fromkeys(run.notes)
        self._draw(run)
        accuracy = measured.get("tool_selection_accuracy")
        source = str(accuracy.stats.get("source", "")) if accuracy else ""
        if source and len(self.references) < MAX_LISTED:
            self.references[source] += 1
        if len(self.runs) < MAX_LISTED:
            self.runs.append(_row(run, measured))

    def _draw(self, run: Trace) -> None:
        """Count edges and tools; new ones are left out once there are too many to show."""
        for step in run.steps:
            if step.is_interaction:
                pair, counts = (step.agent, step.target), self.edges
            elif step.kind == "tool":
                pair, counts = (step.agent, step.name), self.tools
            else:
                continue
            if pair in counts or len(counts) < MAX_NAMES:
                counts[pair] += 1

    def as_json(self) -> dict[str, object]:
        """Return the object that `--json` prints; every value stands beside its n and n_missing."""
        assert self.first is not None  # a file without a run is an error of its own
        return {
            "file": self.name,
            "format": self.first.format,
            "profile": self.profile,
            "runs": self.count,
            "agents": len(self.agents),
            "agent_names": list(self.agents)[:MAX_LISTED],
            "declared_agents": list(self.declared)[:MAX_LISTED],
            "tool_calls": self.tool_calls,
            "messages": self.messages,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cached_tokens": self.cached_tokens,
            "cache_written_tokens": self.cache_written_tokens,
            "cost": self.cost,
            "seconds": self.seconds,
            "unrecognised": sum(self.unrecognised.values()),
            "unrecognised_reasons": dict(self.unrecognised.most_common(MAX_LISTED)),
            "spans_beyond_limit": self.clipped,
            "notes": list(self.notes),
            "references": dict(self.references),
            "graph": {
                "edges": [
                    {"from": sender, "to": other, "messages": n}
                    for (sender, other), n in self.edges.most_common(MAX_LISTED)
                ],
                "tools": [
                    {"agent": agent, "tool": tool, "calls": n}
                    for (agent, tool), n in self.tools.most_common(MAX_LISTED)
                ],
            },
            "metrics": {name: _metric(metric) for name, metric in self.metrics.items()},
            "run_list": self.runs if self.count > 1 else [],
        }


def _row(run: Trace, measured: Mapping[str, Measurement]) -> dict[str, object]:
    from markbook.metrics.graph import PRIMARY

    return {
        "id": run.id, "task": run.task, "trial": run.trial, "success": run.success, "agents": len(run.agents),
        "tool_calls": run.tool_calls, "messages": run.messages, "input_tokens": run.input_tokens,
        "output_tokens": run.output_tokens, "seconds": run.seconds,
        "metrics": {metric.name: measured[metric.name].value for metric in PRIMARY if metric.name in measured},
    }  # fmt: skip


def _metric(measurement: Measurement) -> dict[str, object]:
    stats = dict(measurement.stats)
    n = stats.pop("n", int(measurement.missing is None))
    none = stats.pop("n_missing", missing_kinds([measurement]))
    return {**measurement.to_record(), "stats": stats, "n": n, "n_missing": none}


def _add(first: float | None, other: float | None) -> float | None:
    return other if first is None else first if other is None else first + other
