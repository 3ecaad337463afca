"""Were the right tools chosen: the calls that were made against those that a reference asks for."""

from __future__ import annotations

import fnmatch
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeVar

from markbook.metrics.graph.paths import GraphMetric, Marker
from markbook.trace import ExpectedCall, Reference, Step, Trace
from markbook.types import Measurement, MissingKind

T = TypeVar("T")

MAX_CELLS = 1_000_000
"""Calls made times calls expected, for what needs the whole table: arguments, and steps that accept several tools."""

METRICS = (
    GraphMetric("tool_precision", (0, 1), "higher", "share of the calls made that the reference asks for"),
    GraphMetric("tool_recall", (0, 1), "higher", "share of the calls asked for that were made"),
    GraphMetric("tool_f1", (0, 1), "higher", "harmonic mean of the two"),
    GraphMetric("tool_in_order_f1", (0, 1), "higher", "the same over the longest common subsequence"),
    GraphMetric("tool_edit_similarity", (0, 1), "higher", "1 - edit distance over the longer sequence"),
    GraphMetric("tool_argument_f1", (0, 1), "higher", "best one-to-one pairing with credit for equal arguments"),
    GraphMetric("tool_match_strict", (0, 1), "higher", "1 if the same tools were called in the same order"),
    GraphMetric("tool_match_unordered", (0, 1), "higher", "1 if the same tools were called in any order"),
    GraphMetric("tool_match_subset", (0, 1), "higher", "1 if nothing beyond the reference was called"),
    GraphMetric("tool_match_superset", (0, 1), "higher", "1 if all that the reference asks for was called"),
    GraphMetric("tool_order_tau", (-1, 1), "higher", "Kendall's tau-b of the order, where both sides are permutations"),
)
_NAMES = tuple(metric.name for metric in METRICS)


def count_matches(calls: Sequence[str], expected: Sequence[ExpectedCall]) -> int:
    """Return how many calls can be paired with an expected one, each used once.

    The pairing is a maximum one, so that a step which accepts several tools does not take another's.
    """
    if _is_plain(expected):
        expected_counts = Counter(call.tools[0] for call in expected)
        return (Counter(calls) & expected_counts).total()
    import numpy as np
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_bipartite_matching

    if not calls or not expected:
        return 0
    table = csr_matrix([[call in expected_call.tools for expected_call in expected] for call in calls], dtype=np.int8)
    return int((maximum_bipartite_matching(table, perm_type="column") >= 0).sum())


def measure_tools(trace: Trace, reference: Reference | None, marker: Marker) -> dict[str, Measurement]:
    """Return the companions of tool selection accuracy; all are not applicable without a reference."""
    if reference is None or reference.calls is None:
        return marker.none_apply(_NAMES, "there is no reference that names tools")
    steps, expected = trace.tools(), reference.calls
    calls = [step.name for step in steps]
    is_large = len(calls) * len(expected) > MAX_CELLS
    detail = _too_many(calls, expected)
    if _is_too_large(calls, expected):
        return marker.all_lacking(_NAMES, MissingKind.BUDGET, detail)
    both = count_matches(calls, expected)
    measurements = {"tool_f1": marker.measure("tool_f1", _f1(both, len(calls), len(expected)), matched=both)}
    for name, total, what in (("tool_precision", len(calls), "made"), ("tool_recall", len(expected), "expected")):
        if total or not (calls or expected):  # nothing expected and nothing called agree
            measurements[name] = marker.measure(name, both / total if total else 1.0, matched=both, of=total)
        else:
            measurements[name] = marker.lacking(name, MissingKind.UNDEFINED, f"no tool call was {what}")
    common, edits = _align_calls(calls, expected)
    name = "tool_in_order_f1"
    measurements[name] = marker.measure(name, _f1(common, len(calls), len(expected)), common=common)
    name, longest = "tool_edit_similarity", max(len(calls), len(expected))
    measurements[name] = marker.measure(name, 1 - edits / longest if longest else 1.0, edits=edits)
    name = "tool_argument_f1"
    if is_large:
        measurements[name] = marker.lacking(name, MissingKind.BUDGET, detail)
    else:
        credit = _assign_calls(steps, expected)
        measurements[name] = marker.measure(name, _f1(credit, len(calls), len(expected)), credit=credit)
    for name, holds in (
        ("tool_match_strict", common == len(calls) == len(expected)),
        ("tool_match_unordered", both == len(calls) == len(expected)),
        ("tool_match_subset", both == len(calls)),
        ("tool_match_superset", both == len(expected)),
    ):
        measurements[name] = marker.measure(name, float(holds))
    measurements["tool_order_tau"] = _tau(calls, expected, marker)
    return measurements


def tool_for(context: str, tools: Mapping[str, T]) -> T | None:
    """Return what a map of contexts names: that very context's, else the first key's that matches, else `default`'s.

    A key matches as a shell pattern, or where it is a part of the context.
    """
    if context in tools:
        return tools[context]
    for pattern, tool in tools.items():
        if pattern and pattern != "default" and (fnmatch.fnmatchcase(context, pattern) or pattern in context):
            return tool
    return tools.get("default")


def read_context(step: Step) -> str:
    """Return what a call was made for: the log's `context`, else its arguments as JSON, empty without any."""
    arguments = step.arguments
    if isinstance(arguments, Mapping) and isinstance(arguments.get("context"), str):
        arguments = arguments["context"]
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    return json.dumps(arguments, ensure_ascii=False, default=str)


def selection_accuracy(trace: Trace, reference: Reference | None, marker: Marker) -> Measurement:
    """Return matched calls over calls made: the documented accuracy, read as precision over the multiset.

    Range [0, 1], higher is better. Nothing expected and nothing called is 1.

    A reference that maps contexts to tools decides each call by its own context, as documented.

    Missing: not applicable without a reference; undefined where calls were expected and none was made.
    """
    name = "tool_selection_accuracy"
    if reference is not None and reference.tools is not None:
        steps = trace.tools()
        about = {"calls": len(steps), "contexts": len(reference.tools), "source": reference.source}
        if not steps and marker.profile != "documented":
            return marker.lacking(name, MissingKind.UNDEFINED, "no tool call was made", **about)
        right = sum(step.name in (tool_for(read_context(step), reference.tools) or ()) for step in steps)
        return marker.measure(name, right / len(steps) if steps else 0.0, matched=right, **about)
    if reference is None or reference.calls is None:
        return marker.lacking(name, MissingKind.NOT_APPLICABLE, "there is no reference that names tools")
    calls = [step.name for step in trace.tools()]
    stats = {"calls": len(calls), "expected": len(reference.calls), "source": reference.source}
    if not calls and not reference.calls:
        return marker.measure(name, 1.0, matched=0, **stats)
    if not calls:
        if marker.profile == "documented":
            return marker.measure(name, 0.0, matched=0, **stats)
        return marker.lacking(name, MissingKind.UNDEFINED, "tool calls were expected and none was made", **stats)
    if _is_too_large(calls, reference.calls):
        return marker.lacking(name, MissingKind.BUDGET, _too_many(calls, reference.calls), **stats)
    both = count_matches(calls, reference.calls)
    return marker.measure(name, both / len(calls), matched=both, **stats)


def _is_too_large(calls: Sequence[str], expected: Sequence[ExpectedCall]) -> bool:
    """Whether pairing them needs a table that is larger than the budget; steps of one tool each need none."""
    return len(calls) * len(expected) > MAX_CELLS and not _is_plain(expected)


def _too_many(calls: Sequence[str], expected: Sequence[ExpectedCall]) -> str:
    return f"{len(calls)} calls against {len(expected)} expected ones are too many to compare"


def _is_plain(expected: Sequence[ExpectedCall]) -> bool:
    return all(len(call.tools) == 1 for call in expected)


def _f1(both: float, calls: int, expected: int) -> float:
    return 2 * both / (calls + expected) if calls + expected else 1.0


def _align_calls(calls: Sequence[str], expected: Sequence[ExpectedCall]) -> tuple[int, int]:
    """Return the length of the longest common subsequence and the edit distance."""
    if _is_plain(expected):
        from rapidfuzz.distance import LCSseq, Levenshtein

        expected_tools = [expected_call.tools[0] for expected_call in expected]
        return int(LCSseq.similarity(calls, expected_tools)), int(Levenshtein.distance(calls, expected_tools))
    common = [0] * (len(expected) + 1)
    edits = list(range(len(expected) + 1))
    for row, call in enumerate(calls, 1):
        before_common, before_edits = common, edits
        common, edits = [0], [row]
        for column, expected_call in enumerate(expected, 1):
            same = call in expected_call.tools
            common.append(before_common[column - 1] + 1 if same else max(before_common[column], common[-1]))
            edits.append(min(before_edits[column] + 1, edits[-1] + 1, before_edits[column - 1] + (not same)))
    return common[-1], edits[-1]


def _assign_calls(steps: Sequence[Step], expected: Sequence[ExpectedCall]) -> float:
    """Return the largest sum of credit over one-to-one pairs: optimal, so no order of the calls changes it."""
    if not steps or not expected:
        return 0.0
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    credit = np.zeros((len(steps), len(expected)))
    for row, step in enumerate(steps):
        for column, expected_call in enumerate(expected):
            if step.name in expected_call.tools:
                credit[row, column] = argument_credit(step.arguments, expected_call)
    # A greedy pairing would give a call the first expected one that fits and take it from a call that fits it better.
    rows, columns = linear_sum_assignment(credit, maximize=True)
    return float(credit[rows, columns].sum())


def argument_credit(arguments: object, expected: ExpectedCall) -> float:
    """Return the share of argument names, over both sides, whose values are equal; 1 if the reference names none.

    >>> argument_credit({"a": 1, "b": 2}, ExpectedCall(("t",), {"a": 1}))
    0.5
    """
    if expected.arguments is None:
        return 1.0
    arguments_dict = arguments if isinstance(arguments, dict) else {}
    names = set(arguments_dict) | set(expected.arguments)
    if not names:
        return 1.0
    equal: int = sum(
        name in arguments_dict
        and name in expected.arguments
        and _is_same(arguments_dict[name], expected.arguments[name])
        for name in names
    )
    return equal / len(names)


def _is_same(first: object, other: object) -> bool:
    """Whether two JSON values are equal: 1 and 1.0 are, true and 1 are not."""
    if isinstance(first, dict) and isinstance(other, dict):
        return first.keys() == other.keys() and all(_is_same(value, other[name]) for name, value in first.items())
    if isinstance(first, list | tuple) and isinstance(other, list | tuple):
        return len(first) == len(other) and all(map(_is_same, first, other))
    return first == other and isinstance(first, bool) == isinstance(other, bool)


def _tau(calls: Sequence[str], expected: Sequence[ExpectedCall], marker: Marker) -> Measurement:
    name = "tool_order_tau"
    expected_tools = [expected_call.tools[0] for expected_call in expected if len(expected_call.tools) == 1]
    is_permutation = len(set(calls)) == len(calls) == len(expected_tools) == len(expected) and set(calls) == set(
        expected_tools
    )
    if not is_permutation or len(calls) < 2:
        return marker.lacking(name, MissingKind.NOT_APPLICABLE, "the two sides are not permutations of each other")
    from scipy.stats import kendalltau

    positions = {tool: at for at, tool in enumerate(expected_tools)}
    return marker.measure(name, float(kendalltau(range(len(calls)), [positions[call] for call in calls]).statistic))
