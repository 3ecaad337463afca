"""The document's tier 3 to the letter, on graphs worked out by hand."""

import math

import networkx as nx
import pytest

from markbook.metrics.graph.balance import (
    calculate_communication_overhead,
    calculate_coordination_centrality,
    calculate_path_convergence,
    calculate_task_distribution_balance,
    calculate_tool_selection_accuracy,
)


def test_path_convergence_counts_the_transitions_observed():
    chain = nx.DiGraph([("a", "b"), ("b", "c"), ("c", "d")])
    assert calculate_path_convergence(chain, "a", "d") == 1

    # s a b a b t: a to b was walked twice; three of five
    walked = nx.DiGraph()
    walked.add_weighted_edges_from([("s", "a", 1), ("a", "b", 2), ("b", "a", 1), ("b", "t", 1)])
    assert calculate_path_convergence(walked, "s", "t") == pytest.approx(3 / 5)

    # an edge off every way from start to end took no part
    chain.add_edge("a", "aside")
    assert calculate_path_convergence(chain, "a", "d") == 1


def test_path_convergence_without_a_way():
    graph = nx.DiGraph([("a", "b"), ("c", "b")])

    assert calculate_path_convergence(graph, "a", "c") == 0
    assert calculate_path_convergence(graph, "a", "a") == 0
    with pytest.raises(nx.NodeNotFound):
        calculate_path_convergence(graph, "a", "elsewhere")


def test_tool_selection_by_context():
    optimal = {"find paper": "search", "write*": ["save", "store"], "default": "think"}
    calls = [
        {"context": "find paper", "tool_name": "search"},
        {"context": "write review", "tool_name": "store"},
        {"context": "find paper again", "tool_name": "search"},  # contains the key
        {"context": "ponder", "tool_name": "think"},
        {"context": "find paper", "tool_name": "save"},
    ]

    assert calculate_tool_selection_accuracy(calls, optimal) == pytest.approx(4 / 5)
    assert calculate_tool_selection_accuracy([], optimal) == 0
    assert calculate_tool_selection_accuracy([{"context": "x", "tool_name": "y"}], {}) == 0


def test_communication_overhead_knows_three_types():
    messages = [{"type": kind} for kind in ("coordination", "status_update", "handoff", "delegation", "task_request")]

    assert calculate_communication_overhead(messages) == pytest.approx(3 / 5)
    assert calculate_communication_overhead([]) == 0


def test_centrality_leaves_its_stated_range_on_a_two_way_star():
    star = nx.DiGraph([edge for leaf in "abc" for edge in (("hub", leaf), (leaf, "hub"))])
    found = calculate_coordination_centrality(star)

    # hub: betweenness 1, closeness 1, degree 6/3; a leaf: 0, 3/(1+2+2), 2/3
    assert found["hub"] == pytest.approx(4 / 3)
    assert found["a"] == pytest.approx((0 + 3 / 5 + 2 / 3) / 3)


@pytest.mark.parametrize(
    ("tasks", "balance"),
    [
        ({"a": 3, "b": 1, "c": 1, "d": 1}, 1 - 1 / 1.5),
        ({"a": 4, "b": 1}, 1 - math.sqrt(4.5) / 2.5),
        ({"a": 10, "b": 0}, 0),  # 1 - sqrt(50)/5 is below 0
        ({"a": 5}, 1),
        ({}, 1),
        ({"a": 0, "b": 0}, 1),
    ],
)
def test_task_distribution_balance(tasks, balance):
    assert calculate_task_distribution_balance(tasks) == pytest.approx(balance)
