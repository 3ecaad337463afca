"""Tier 3 by hand on small traces, its laws by hypothesis, and every case without a value."""

import itertools
import math
import random

import networkx as nx
import pytest
from hypothesis import given, settings, strategies as st

from markbook import plugins
from markbook.errors import UsageError
from markbook.metrics.graph import PRIMARY, trace_metrics
from markbook.metrics.graph.all_metrics import METRICS, AcrossRuns, best_run_references
from markbook.metrics.graph.balance import indices
from markbook.metrics.graph.centrality import betweenness, closeness
from markbook.metrics.measure import measure_together
from markbook.stats.passes import pass_hat_k
from markbook.trace import ExpectedCall, Reference, Step, StepKind, Trace, join
from markbook.traces.plain import make_trace
from markbook.types import Attempt, Item, MissingKind, Sample


def call(tool, agent="a", **more):
    return Step(StepKind.TOOL, agent, tool, **more)


def said(one, other, kind="message"):
    return Step(StepKind.MESSAGE, one, kind, other)


def walk(*tools):
    return make_trace([call(tool) for tool in tools], reader="t")


def wanted(*tools, length=None):
    calls = tuple(ExpectedCall(tool if isinstance(tool, tuple) else (tool,)) for tool in tools)
    return Reference(calls, length, source="test")


def value(trace, name, *args, **options):
    return trace_metrics(trace, *args, **options)[name].value


def why(trace, name, *args, **options):
    return trace_metrics(trace, *args, **options)[name].missing.kind


def test_a_walk_with_a_detour():
    # s a b a b t: five edges walked, s-a-b-t is three
    assert value(walk("s", "a", "b", "a", "b", "t"), "path_convergence") == pytest.approx(3 / 5)


def test_a_straight_walk_is_one_and_a_circle_has_no_value():
    assert value(walk("s", "a", "t"), "path_convergence") == 1
    assert why(walk("s", "a", "s"), "path_convergence") is MissingKind.NOT_APPLICABLE
    assert why(walk(), "path_convergence") is MissingKind.NOT_APPLICABLE
    assert value(walk("s", "a", "s"), "path_convergence", profile="documented") == 0


def test_revisits_loops_and_waste():
    trace = make_trace(
        [
            call("a", arguments={"q": 1}, ok=True),
            call("b", arguments={}, ok=False),
            call("a", arguments={"q": 1}, ok=True),  # an exact repetition
            call("b", arguments={}, ok=True),  # a retry of a failed call is none
            call("c"),
            call("c"),  # unknown arguments are no repetition
        ],
        reader="t",
    )
    found = trace_metrics(trace)

    assert found["revisit_ratio"].value == pytest.approx(1 - 3 / 6)
    assert found["loop_count"].value == 2  # a-b, and c after itself
    assert found["wasted_steps"].value == pytest.approx(2 / 6)
    assert found["tool_success_rate"].value == pytest.approx(3 / 4)


def test_convergence_against_a_reference():
    trace = walk("a", "b", "c", "d")
    failed = make_trace([call("a")], reader="t", success=False)

    assert value(trace, "convergence_reference", wanted(length=3)) == 0.75
    assert value(trace, "convergence_reference", wanted("a", "b")) == 0.5
    assert value(walk("a"), "convergence_reference", wanted("a", "b")) == 1
    assert value(failed, "convergence_reference", wanted("a")) == 0
    assert why(trace, "convergence_reference") is MissingKind.NOT_APPLICABLE


def test_critical_path_and_parallelism_leave_the_waiting_out():
    # delegate 0-10 waits for x 1-4 and y 2-6, then z 7-9: busy 1-6 and 7-9, longest chain y then z
    trace = make_trace(
        [
            call("delegate", start=0.0, end=10.0),
            call("x", "b", start=1.0, end=4.0),
            call("y", "c", start=2.0, end=6.0),
            call("z", "b", start=7.0, end=9.0),
        ],
        reader="t",
    )
    found = trace_metrics(trace)

    assert found["critical_path_seconds"].value == 6
    assert found["parallelism"].value == pytest.approx(9 / 7)
    # b worked 3 + 2 seconds, c 4, and a only waited
    assert found["balance_jain_seconds"].value == pytest.approx(81 / (3 * (25 + 16)))


def test_tool_selection_by_hand():
    # made a b b c, wanted a b d: a and one b match
    found = trace_metrics(walk("a", "b", "b", "c"), wanted("a", "b", "d"))

    assert found["tool_selection_accuracy"].value == found["tool_precision"].value == 0.5
    assert found["tool_recall"].value == pytest.approx(2 / 3)
    assert found["tool_f1"].value == pytest.approx(4 / 7)
    assert found["tool_in_order_f1"].value == pytest.approx(4 / 7)
    assert found["tool_edit_similarity"].value == 0.5  # b to nothing, c to d: 2 edits of 4


def test_order_matters_only_where_it_is_said_to():
    found = trace_metrics(walk("c", "b", "a"), wanted("a", "b", "c"))

    assert found["tool_f1"].value == 1
    assert found["tool_in_order_f1"].value == pytest.approx(1 / 3)
    assert found["tool_order_tau"].value == pytest.approx(-1)
    modes = [found[f"tool_match_{mode}"].value for mode in ("strict", "unordered", "subset", "superset")]
    assert modes == [0, 1, 1, 1]


@pytest.mark.parametrize(
    ("made", "modes"),
    [(("a", "b"), [1, 1, 1, 1]), (("a",), [0, 0, 1, 0]), (("a", "b", "c"), [0, 0, 0, 1]), (("c",), [0, 0, 0, 0])],
)
def test_match_modes(made, modes):
    found = trace_metrics(walk(*made), wanted("a", "b"))

    assert [found[f"tool_match_{mode}"].value for mode in ("strict", "unordered", "subset", "superset")] == modes


def test_a_step_may_accept_several_tools_without_taking_anothers():
    # greedy pairing would give (a or b) the a and leave b unmatched against a
    found = trace_metrics(walk("a", "b"), wanted(("a", "b"), "a"))

    assert found["tool_f1"].value == 1
    assert found["tool_match_strict"].value == 0  # in order, b does not fit the second step


def test_arguments_are_paired_optimally():
    one, other = {"q": 1, "n": 5}, {"q": 2, "n": 5}
    reference = Reference((ExpectedCall(("look",), one), ExpectedCall(("look",), other)), source="t")
    swapped = make_trace([call("look", arguments=other), call("look", arguments=one)], reader="t")
    half = make_trace([call("look", arguments={"q": 1, "n": 6}), call("look")], reader="t")

    assert value(swapped, "tool_argument_f1", reference) == 1
    assert value(half, "tool_argument_f1", reference) == pytest.approx(0.25)  # one of two arguments, of two calls


def test_no_calls_against_references():
    nothing, expected = wanted(), wanted("a")

    assert value(walk(), "tool_selection_accuracy", nothing) == 1
    assert why(walk(), "tool_selection_accuracy", expected) is MissingKind.UNDEFINED
    assert value(walk(), "tool_selection_accuracy", expected, profile="documented") == 0
    assert value(walk(), "tool_recall", expected) == 0
    assert why(walk(), "tool_precision", expected) is MissingKind.UNDEFINED
    assert value(walk("a"), "tool_precision", nothing) == 0
    assert why(walk("a"), "tool_recall", nothing) is MissingKind.UNDEFINED
    assert why(walk("a"), "tool_selection_accuracy") is MissingKind.NOT_APPLICABLE


def test_too_large_a_comparison_is_a_budget(monkeypatch):
    monkeypatch.setattr("markbook.metrics.graph.tools.MAX_CELLS", 5)

    assert why(walk("a", "b", "c"), "tool_argument_f1", wanted("a", "b")) is MissingKind.BUDGET
    assert value(walk("a", "b", "c"), "tool_f1", wanted("a", "b")) == pytest.approx(4 / 5)
    assert why(walk("a", "b", "c"), "tool_f1", wanted(("a", "x"), "b")) is MissingKind.BUDGET


def test_too_large_a_graph_is_a_budget(monkeypatch):
    monkeypatch.setattr("markbook.metrics.graph.centrality.MAX_WORK", 20)

    for profile in ("corrected", "documented"):
        assert why(star(), "coordination_centrality", profile=profile) is MissingKind.BUDGET
    assert why(star(), "hub_share") is MissingKind.BUDGET


def test_communication_overhead_counts_delegation_and_shows_the_unknown():
    trace = make_trace(
        [
            said("a", "b", "delegation"),
            said("b", "a", "result_delivery"),
            said("a", "b", "gossip"),
            said("b", "b", "handoff"),
        ],
        reader="t",
    )
    found = trace_metrics(trace)

    assert found["communication_overhead"].value == found["communication_quality"].value == 0.5
    assert found["communication_unknown_share"].value == pytest.approx(1 / 3)
    assert value(trace, "communication_overhead", profile="documented") == 0
    assert why(make_trace([said("a", "b", "gossip")], reader="t"), "communication_overhead") is MissingKind.UNDEFINED
    assert why(walk("a"), "communication_overhead") is MissingKind.NOT_APPLICABLE


def test_message_types_are_the_users_to_say():
    trace = make_trace([said("a", "b", "gossip"), said("b", "a", "task_request")], reader="t")

    assert value(trace, "communication_overhead", message_types={"coordination": ["gossip"]}) == 0.5
    with pytest.raises(UsageError, match="coordination or productive"):
        trace_metrics(trace, message_types={"chatter": []})


def star(leaves=3, *, both=True):
    steps = [said("hub", f"leaf{at}") for at in range(leaves)]
    return make_trace(steps + [said(step.target, "hub") for step in steps if both], reader="t")


def test_a_two_way_star_is_at_the_top_of_both_profiles():
    found = trace_metrics(star())

    # betweenness 1, closeness 1, degree (3 + 3) / 3 = 2, halved in the corrected profile
    assert value(star(), "coordination_centrality", profile="documented") == pytest.approx(4 / 3)
    assert found["coordination_centrality"].value == pytest.approx(1)
    assert found["coordination_centrality"].stats["agent"] == "hub"
    assert found["centrality_normalised"].value == pytest.approx(1)
    assert found["centralisation_freeman"].value == pytest.approx(1)
    assert (found["hub_share"].value, found["reciprocity"].value, found["density"].value) == (1, 1, 0.5)


def test_a_hub_that_only_sends_is_seen_by_the_normalised_form():
    found = trace_metrics(star(both=False))

    # documented: betweenness 0, incoming closeness 0, degree 1: a third, the least that the formula knows of a hub
    assert value(star(both=False), "coordination_centrality", profile="documented") == pytest.approx(1 / 3)
    # normalised: betweenness 0, harmonic (out 1 + in 0) / 2, degree 3 / 6
    assert found["centrality_normalised"].value == pytest.approx((0 + 0.5 + 0.5) / 3)
    assert found["reciprocity"].value == 0


def test_often_used_ways_are_short():
    # a-b-c is walked ten times, a-d-c once: b lies between, d does not
    often = [said("a", "b"), said("b", "c")] * 10
    found = trace_metrics(make_trace([*often, said("a", "d"), said("d", "c")], reader="t"))
    each = found["centrality_normalised"].stats["agents"]

    assert each["b"] > each["d"]


def test_too_few_agents_have_no_centre():
    assert why(make_trace([said("a", "b")], reader="t"), "coordination_centrality") is MissingKind.NOT_APPLICABLE
    silent = make_trace([call("x", agent) for agent in "abc"], reader="t")
    assert why(silent, "coordination_centrality") is MissingKind.NOT_APPLICABLE
    assert why(walk(), "coordination_centrality", profile="documented") is MissingKind.UNDEFINED
    assert value(
        make_trace([said("a", "b")], reader="t"), "coordination_centrality", profile="documented"
    ) == pytest.approx(2 / 3)


def test_without_networkx_the_graph_is_unavailable_and_the_rest_is_there(monkeypatch):
    from markbook.errors import ExtraMissingError

    def refuse(module, *, extra):
        raise ExtraMissingError(f"this needs {module}", hint=f"pip install 'markbook[{extra}]'")

    monkeypatch.setattr("markbook.metrics.graph.centrality.need", refuse)
    found = trace_metrics(star())

    assert found["coordination_centrality"].missing.kind is MissingKind.UNAVAILABLE
    assert "markbook[agents]" in found["hub_share"].missing.detail
    assert found["communication_unknown_share"].value == 1


@pytest.mark.parametrize(
    ("loads", "seed", "population", "jain", "entropy"),
    [
        # mean 1.5, sample sd 1, population sd sqrt(3)/2; 36/(4*12); shares .5 and three of 1/6
        ((3, 1, 1, 1), 1 / 3, 2 / 3, 0.75, 0.896),
        # mean 5: sample sd 5.657, population sd 4; 100/(2*82)
        ((9, 1), 1 - math.sqrt(32) / 5, 0.2, 0.6098, 0.469),
        ((2, 2), 1, 1, 1, 1),
        ((10, 0), 1 - math.sqrt(50) / 5, 0, 0.5, 0),
    ],
)
def test_balance_by_hand(loads, seed, population, jain, entropy):
    found = indices(loads)

    assert found["balance_unclipped"] == pytest.approx(seed)
    assert found["balance_population"] == pytest.approx(population)
    assert found["balance_jain"] == pytest.approx(jain, abs=1e-4)
    assert found["balance_entropy"] == pytest.approx(entropy, abs=1e-3)
    assert found["balance_gini"] == pytest.approx(1 - (max(loads) - min(loads)) / sum(loads))


def test_idle_agents_count_where_the_log_declares_them():
    busy = make_trace([call("x", "a"), call("x", "b")], reader="t")
    idle = make_trace([call("x", "a"), call("x", "b")], reader="t", declared=("a", "b", "c"))

    assert value(busy, "task_distribution_balance") == 1
    # 1 1 0: mean 2/3, sample sd sqrt(1/3)
    assert value(idle, "task_distribution_balance") == pytest.approx(1 - math.sqrt(1 / 3) / (2 / 3))


def test_balance_without_agents_or_work_is_not_perfect():
    assert why(walk("a"), "task_distribution_balance") is MissingKind.NOT_APPLICABLE
    assert (
        why(make_trace([], reader="t", declared=("a", "b")), "task_distribution_balance") is MissingKind.NOT_APPLICABLE
    )
    assert value(walk("a"), "task_distribution_balance", profile="documented") == 1


def test_tokens_and_seconds_have_balances_of_their_own():
    steps = [
        Step(StepKind.MESSAGE, agent, "assistant", input_tokens=n, output_tokens=0) for agent, n in (("a", 9), ("b", 1))
    ]
    found = trace_metrics(make_trace(steps, reader="t"))

    assert found["balance_population_tokens"].value == pytest.approx(0.2)
    assert found["balance_population"].value == 1  # one message each
    assert found["balance_population_seconds"].missing.kind is MissingKind.UNAVAILABLE


def test_overall_is_the_weighted_mean_or_an_interval():
    steps = [call("x", "a"), call("y", "b"), call("z", "c"), said("a", "b"), said("a", "c")]
    trace = make_trace(steps, reader="t")
    found = trace_metrics(trace, wanted("x", "y"))
    parts = [
        found[name].value
        for name in (
            "path_convergence",
            "tool_selection_accuracy",
            "coordination_centrality",
            "task_distribution_balance",
        )
    ]
    by_hand = 0.3 * parts[0] + 0.25 * parts[1] + 0.25 * parts[2] + 0.2 * parts[3]
    without = trace_metrics(trace)["overall_score"]

    assert found["overall_score"].value == pytest.approx(by_hand)
    assert without.missing.kind is MissingKind.NOT_APPLICABLE
    assert without.stats["missing"] == ["tool_selection_accuracy"]
    assert without.stats["low"] == pytest.approx(by_hand - 0.25 * parts[1])
    assert without.stats["high"] == pytest.approx(without.stats["low"] + 0.25)
    assert without.stats["renormalised"] == pytest.approx(without.stats["low"] / 0.75)


def test_a_clipped_trace_has_no_numbers():
    found = trace_metrics(Trace(clipped=5))

    assert {measurement.missing.kind for measurement in found.values()} == {MissingKind.BUDGET}
    assert set(found) == {metric.name for metric in METRICS}


def test_joined_runs_are_means_with_their_n():
    both = join([walk("s", "a", "t"), walk("s", "a", "s"), walk("s", "a", "b", "a", "b", "t")])
    found = trace_metrics(both)["path_convergence"]

    assert found.value == pytest.approx((1 + 0.6) / 2)
    assert (found.stats["n"], found.stats["n_missing"]) == (2, {MissingKind.NOT_APPLICABLE: 1})


def test_convergence_across_runs_uses_the_minimum_over_all_successful_runs():
    gathered = AcrossRuns()
    for tools, success in (("abcd", True), ("ab", True), ("a", False)):
        run = make_trace([call(tool) for tool in tools], reader="t", task="1", success=success)
        gathered.add(run, trace_metrics(run))

    # the shortest success has two steps: (2/4 + 2/2) / 2
    assert gathered.results()["convergence_across_runs"].value == pytest.approx(0.75)
    assert gathered.results()["pass^2"].value == pytest.approx(1 / 3)


def test_pass_hat_k_is_the_share_of_k_subsets_that_all_succeed():
    trials = [True, True, False, True, False]
    for k in range(1, 6):
        subsets = list(itertools.combinations(trials, k))
        assert pass_hat_k([(len(trials), sum(trials))], k) == pytest.approx(
            sum(all(one) for one in subsets) / len(subsets)
        )


def test_the_best_run_becomes_the_reference_and_says_so():
    runs = [
        make_trace([call(tool) for tool in tools], reader="t", task=task, success=success)
        for task, tools, success in (("1", "abc", True), ("1", "ac", True), ("1", "a", False), ("2", "x", False))
    ]
    references = best_run_references(runs)

    assert set(references) == {"1"}
    assert [one.tools for one in references["1"].calls] == [("a",), ("c",)]
    assert "successful run" in references["1"].source


def random_graph(nodes, edges, seed):
    draw = random.Random(seed)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(nodes))
    graph.add_edges_from((draw.randrange(nodes), draw.randrange(nodes)) for _ in range(edges))
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    return graph


@pytest.mark.parametrize("seed", range(4))
def test_the_fast_path_equals_networkx(seed, monkeypatch):
    from markbook.metrics.graph import centrality

    graph = random_graph(60, 150, seed)

    for measure in (lambda: betweenness(graph)[0], lambda: closeness(graph)):
        monkeypatch.setattr(centrality, "FAST_FROM", 61)
        slow = measure()
        monkeypatch.setattr(centrality, "FAST_FROM", 60)
        fast = measure()
        assert max(abs(slow[node] - fast[node]) for node in graph) < 1e-9


def test_large_graphs_go_the_fast_way_and_without_it_are_sampled_with_a_seed(monkeypatch):
    from markbook.metrics.graph import centrality

    graph = random_graph(1100, 1500, 1)
    assert betweenness(graph)[1] == {"library": "rustworkx"}

    monkeypatch.setattr(centrality, "_is_fast", lambda _graph: False)
    one, how = betweenness(graph)
    assert how == {"library": "networkx", "sampled": 100, "seed": 0}
    assert one == betweenness(graph)[0]


AGENTS = st.sampled_from("abcd")
STEPS = st.lists(
    st.one_of(
        st.builds(call, st.sampled_from("xyz"), AGENTS, ok=st.sampled_from([True, False, None])),
        st.builds(said, AGENTS, AGENTS, st.sampled_from(["delegation", "task_request", "chat"])),
    ),
    max_size=12,
)


@settings(max_examples=150, deadline=None)
@given(STEPS, st.lists(st.sampled_from("xyz"), max_size=5))
def test_every_value_lies_in_its_range_and_every_metric_answers(steps, tools):
    trace = make_trace(steps, reader="t")
    found = trace_metrics(trace, wanted(*tools))

    assert set(trace_metrics(trace, wanted(*tools), "documented")) == set(found)
    assert set(found) == {metric.name for metric in METRICS}
    for metric in METRICS:
        low, high = metric.range
        measured = found[metric.name].value
        assert measured is None or low - 1e-12 <= measured <= high + 1e-12, metric.name


@settings(max_examples=100, deadline=None)
@given(STEPS, st.permutations(["north", "south", "east", "west"]))
def test_names_of_agents_do_not_matter(steps, names):
    rename = dict(zip("abcd", names, strict=True)) | {"": ""}
    renamed = [Step(step.kind, rename[step.agent], step.name, rename[step.target], ok=step.ok) for step in steps]
    one = trace_metrics(make_trace(steps, reader="t"), wanted("x"))
    other = trace_metrics(make_trace(renamed, reader="t"), wanted("x"))

    for name, measured in one.items():
        assert other[name].value == (None if measured.value is None else pytest.approx(measured.value))


@settings(deadline=None)
@given(
    st.lists(st.sampled_from("xyz"), min_size=1, max_size=8), st.lists(st.sampled_from("xyz"), min_size=1, max_size=8)
)
def test_one_more_right_call_never_lowers_recall(made, expected):
    before = value(walk(*made), "tool_recall", wanted(*expected))

    assert value(walk(*made, expected[0]), "tool_recall", wanted(*expected)) >= before


@settings(deadline=None)
@given(st.lists(st.integers(0, 50), min_size=2, max_size=8).filter(any))
def test_taking_from_the_richest_and_giving_to_the_poorest_never_lowers_an_index(loads):
    rich, poor = loads.index(max(loads)), loads.index(min(loads))
    evener = list(loads)
    if loads[rich] - loads[poor] >= 2:
        evener[rich] -= 1
        evener[poor] += 1

    for name, measured in indices(loads).items():
        assert indices(evener)[name] >= measured - 1e-9


def test_the_plugins_measure_the_attempts_trace():
    names = {metric.name for metric in PRIMARY} & set(plugins.names("metrics"))
    attempt = Attempt("s", "", model="m", index=2, meta={"trace": walk("s", "a", "t"), "reference": wanted("s")})
    items = [Item(Sample("s"), attempt), Item(Sample("s"), Attempt("s", "text"))]

    assert len(names) == 4
    for name in names:
        metric = plugins.create("metrics", name)
        first, second = metric.measure(items)
        assert (first.metric, first.sample_id, first.index, first.model) == (name, "s", 2, "m")
        assert second.missing.kind is MissingKind.NOT_APPLICABLE
    [accuracy, none] = plugins.create("metrics", "tool_selection_accuracy").measure(items)
    assert accuracy.value == pytest.approx(1 / 3)
    assert plugins.create("metrics", "path_convergence").summarise([accuracy, none]) == pytest.approx(1 / 3)


def test_the_documented_centrality_of_a_star_is_a_value_although_it_passes_one():
    trace = make_trace([said("hub", "a"), said("a", "hub"), said("hub", "b"), said("b", "hub")], reader="t")
    item = Item(Sample("s"), Attempt("s", "", meta={"trace": trace}))

    measured = measure_together([plugins.create("metrics", "coordination_centrality", profile="documented")], [item])

    # the hub: betweenness 1, closeness 1, degree in and out 2; (1 + 1 + 2) / 3
    assert measured[0][0].value == 4 / 3


@pytest.mark.parametrize("weights", [{"path_convergence": 0.0}, {"path_convergence": 1.0, "graph_complexity": -1.0}])
def test_weights_that_are_not_shares_are_refused(weights):
    with pytest.raises(UsageError, match="are not shares"):
        trace_metrics(walk("search", "open"), weights=weights)
