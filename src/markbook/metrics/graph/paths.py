"""Paths through a trace's graph of agents, and how a number of it is measured."""

from __future__ import annotations

import itertools
import json
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markbook.trace import Reference, StepKind, Trace
from markbook.types import Direction, Measurement, Missing, MissingKind, Profile

# How a graph metric answers: a value or a reason, with what it was computed from.

INFINITY = float("inf")
VERSION = 1


@dataclass(frozen=True, slots=True)
class GraphMetric:
    """What a reader must know of a metric to read its number."""

    name: str
    range: tuple[float, float]
    direction: Direction
    meaning: str


@dataclass(frozen=True, slots=True)
class Marker:
    """Makes the measurements of one trace, each with the same sample and signature."""

    sample_id: str = ""
    profile: Profile = "corrected"

    def measure(self, name: str, value: float, **stats: object) -> Measurement:
        """Return a value."""
        return Measurement(name, float(value), sample_id=self.sample_id, stats=stats, signature=self.signature(name))

    def lacking(self, name: str, kind: MissingKind, detail: str, **stats: object) -> Measurement:
        """Return the reason why a value is missing."""
        missing = Missing(kind, detail)
        return Measurement(name, missing=missing, sample_id=self.sample_id, stats=stats, signature=self.signature(name))

    def all_lacking(self, names: Iterable[str], kind: MissingKind, detail: str) -> dict[str, Measurement]:
        """Return all these metrics as missing for one reason."""
        return {name: self.lacking(name, kind, detail) for name in names}

    def none_apply(self, names: Iterable[str], detail: str) -> dict[str, Measurement]:
        """Return all these metrics as not applicable for one reason."""
        return self.all_lacking(names, MissingKind.NOT_APPLICABLE, detail)

    def signature(self, name: str) -> str:
        """Return what can change the number."""
        return f"{name}|profile:{self.profile}|v{VERSION}"


# How straight the way was: the walk over (agent, tool) states, and the time it took.
#
# A walk is the sequence of executed tool calls; its states are pairs of agent and tool, so that repeated calls are
# revisits of one node and not new nodes. The document's graph has the tools alone as nodes.

State = tuple[str, str]

METRICS = (
    GraphMetric("convergence_reference", (0, 1), "higher", "reference steps over walked steps, 0 if the run failed"),
    GraphMetric("revisit_ratio", (0, 1), "lower", "share of calls that return to a state seen before"),
    GraphMetric("loop_count", (0, INFINITY), "lower", "groups of states that the walk can circle in"),
    GraphMetric("wasted_steps", (0, 1), "lower", "share of calls that failed or repeat an earlier call exactly"),
    GraphMetric("tool_success_rate", (0, 1), "higher", "share of calls that succeeded, among those whose end is known"),
    GraphMetric("critical_path_seconds", (0, INFINITY), "lower", "longest chain of steps that follow one another"),
    GraphMetric("parallelism", (1, INFINITY), "higher", "time spent in steps over the time in which any step ran"),
)


def list_walk(trace: Trace) -> list[State]:
    """Return the states in the order of the calls."""
    return [(step.agent, step.name) for step in trace.tools()]


def transitions(walk: Sequence[State]) -> dict[tuple[State, State], int]:
    """Return how often each state followed another."""
    return Counter(itertools.pairwise(walk))


def shortest(edges: Iterable[tuple[State, State]], start: State, goal: State) -> int | None:
    """Return the fewest edges from start to goal, None if no way leads there."""
    following: dict[State, list[State]] = {}
    for source, other in edges:
        following.setdefault(source, []).append(other)
    reached = {start: 0}
    waiting = deque([start])
    while waiting:
        at = waiting.popleft()
        if at == goal:
            return reached[at]
        for other in following.get(at, ()):
            if other not in reached:
                reached[other] = reached[at] + 1
                waiting.append(other)
    return None


def path_convergence(walk: Sequence[State], marker: Marker) -> Measurement:
    """Return L*/L: the fewest edges from the first state to the last, over the edges walked.

    The optimum is taken from what was walked, so it cannot see a better way that was not tried: the value is an upper
    bound on the efficiency, and a failed run can reach 1. Range (0, 1], higher is better.

    Missing: not applicable without a call, and where the walk ends in the state in which it began (no way to measure).
    """
    name = "path_convergence"
    if not walk:
        return marker.lacking(name, MissingKind.NOT_APPLICABLE, "the trace has no tool call")
    if walk[0] == walk[-1]:
        return marker.lacking(name, MissingKind.NOT_APPLICABLE, "the walk ends in the state in which it began")
    edges = transitions(walk)
    fewest = shortest(edges, walk[0], walk[-1])
    assert fewest is not None  # the walk itself is a way
    walked = len(walk) - 1
    return marker.measure(name, fewest / walked, minimum_steps=fewest, actual_steps=walked, states=len(set(walk)))


def loops(walk: Sequence[State]) -> int:
    """Return the strongly connected groups of more than one state, plus states that follow themselves alone."""
    edges = transitions(walk)
    states = list(dict.fromkeys(walk))
    ahead: dict[State, list[State]] = {state: [] for state in states}
    back: dict[State, list[State]] = {state: [] for state in states}
    for source, other in edges:
        ahead[source].append(other)
        back[other].append(source)
    group: dict[State, State] = {}
    # Kosaraju's second pass: against the edges, in the reverse order of finishing, each search stays within one group.
    for root in reversed(_order_by_finish(states, ahead)):
        waiting = [root]
        while waiting:
            at = waiting.pop()
            if at not in group:
                group[at] = root
                waiting.extend(other for other in back[at] if other not in group)
    # Not by scipy's graphs: a command that shows one trace would take a second for the import alone.
    return sum(size > 1 or (root, root) in edges for root, size in Counter(group.values()).items())


def _order_by_finish(states: Sequence[State], ahead: dict[State, list[State]]) -> list[State]:
    """Return the states in the order in which a depth-first search leaves them (Kosaraju's first pass)."""
    order: list[State] = []
    visited: set[State] = set()
    for first in states:
        # A stack of our own, since a walk may have more states than Python recurses.
        stack = [(first, iter(ahead[first]))] if first not in visited else []
        visited.add(first)
        while stack:
            at, rest = stack[-1]
            following = next((other for other in rest if other not in visited), None)
            if following is None:
                order.append(at)
                stack.pop()
            else:
                visited.add(following)
                stack.append((following, iter(ahead[following])))
    return order


def measure_walk(trace: Trace, reference: Reference | None, marker: Marker) -> dict[str, Measurement]:
    """Return the metrics of the walk; all are not applicable without a tool call."""
    calls = trace.tools()
    names = ("revisit_ratio", "loop_count", "wasted_steps", "tool_success_rate", "convergence_reference")
    if not calls:
        return marker.none_apply(names, "the trace has no tool call")
    walk = list_walk(trace)
    failed = [step.ok is False for step in calls]
    # A call repeats an earlier one of the same agent, tool and known arguments, but for a failed one: that is a retry.
    calls_before: set[tuple[str, str, str]] = set()
    repeated = []
    for step in calls:
        key = (step.agent, step.name, json.dumps(step.arguments, sort_keys=True, default=repr))
        repeated.append(step.arguments is not None and key in calls_before)
        if step.ok is not False:
            calls_before.add(key)
    wasted = sum(has_failed or other for has_failed, other in zip(failed, repeated, strict=True))
    outcomes = [step.ok for step in calls if step.ok is not None]
    stats = {"failed": sum(failed), "repeated": sum(repeated), "calls": len(calls)}
    measurements = [
        marker.measure("revisit_ratio", 1 - len(set(walk)) / len(walk), states=len(set(walk))),
        marker.measure("loop_count", loops(walk)),
        marker.measure("wasted_steps", wasted / len(calls), **stats),
    ]
    # min(1, L_ref/L), and 0 for a run that is known to have failed (the shape of SPL, arXiv 1807.06757)
    length_expected = None if reference is None else reference.path_length
    if reference is not None and length_expected is None and reference.calls is not None:
        length_expected = len(reference.calls)
    name = "convergence_reference"
    if reference is None or length_expected is None:
        detail = "there is no reference to compare with"
        measurements.append(marker.lacking(name, MissingKind.NOT_APPLICABLE, detail))
    else:
        value = 0.0 if trace.success is False else min(1.0, length_expected / len(calls))
        about = {"reference_steps": length_expected, "steps": len(calls), "reached": trace.success}
        measurements.append(marker.measure(name, value, **about, source=reference.source))
    name = "tool_success_rate"
    if outcomes:
        measurements.append(marker.measure(name, sum(outcomes) / len(outcomes), known=len(outcomes)))
    else:
        detail = "the log does not say which calls succeeded"
        measurements.append(marker.lacking(name, MissingKind.UNAVAILABLE, detail))
    return {measurement.metric: measurement for measurement in measurements}


def measure_time(trace: Trace, marker: Marker) -> dict[str, Measurement]:
    """Return critical path and parallelism over the timed steps that hold no other step inside."""
    leaves = leaf_intervals(trace)
    busy, reach = 0.0, -INFINITY
    for start, end in leaves:  # in the order of their starts: what two of them cover is counted once
        busy += max(0.0, end - max(start, reach))
        reach = max(reach, end)
    if not leaves or not busy:
        return marker.none_apply(("critical_path_seconds", "parallelism"), "no step has both its times")
    spent = sum(end - start for start, end in leaves)
    # The largest sum of seconds of intervals that do not overlap (weighted interval scheduling).
    ordered = sorted(leaves, key=lambda span: span[1])
    ends = [end for _, end in ordered]
    best = [0.0]
    for at, (start, end) in enumerate(ordered):
        # Of the spans that end earlier, those that have ended when this one starts may stand before it.
        before = bisect_right(ends, start, 0, at)
        best.append(max(best[-1], best[before] + end - start))
    return {
        "critical_path_seconds": marker.measure("critical_path_seconds", best[-1], steps=len(leaves)),
        "parallelism": marker.measure("parallelism", max(1.0, spent / busy), step_seconds=spent, busy_seconds=busy),
    }


def leaf_intervals(trace: Trace) -> list[tuple[float, float]]:
    """Return the steps' intervals that do not contain another: a delegating call lasts as long as the work inside it."""
    timed = [(step.start, step.end) for step in trace.steps if step.kind is not StepKind.HANDOFF]
    spans = [(start, end) for start, end in timed if start is not None and end is not None and end > start]
    # Of spans that start together the longest comes first, so that from the back the inner ones come before the outer.
    ordered = sorted(set(spans), key=lambda span: (span[0], -span[1]))
    counts = Counter(spans)
    leaves: list[tuple[float, float]] = []
    earliest_end = INFINITY
    for span in reversed(ordered):  # by start downwards, so all that could lie inside was seen before
        if span[1] < earliest_end:
            leaves.extend([span] * counts[span])
            earliest_end = span[1]
    return sorted(leaves)
