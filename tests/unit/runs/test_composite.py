"""The composite score, its interval, and its label."""

import copy
import math

import pytest
from hypothesis import given, strategies as st

from markbook.errors import ConfigError
from markbook.runs.reviews.composite import (
    DOCUMENTED_SCALE,
    LABEL_WEIGHTS,
    METRICS,
    THRESHOLDS,
    LabelScale,
    compose,
    equal_weights,
    label_stability,
    read_weights,
)
from markbook.types import Missing, MissingKind

GAP = Missing(MissingKind.UNAVAILABLE, "no judge")
PERFECT = dict.fromkeys(METRICS, 1.0)


def test_equal_weights_give_the_mean():
    scores = dict(zip(METRICS, (1.0, 0.0, 0.5, 0.5, 0.25, 0.75), strict=True))

    found = compose(scores, equal_weights())

    # The six add up to 3.
    assert found.score == pytest.approx(0.5)
    assert found.interval == (pytest.approx(0.5), pytest.approx(0.5))
    assert (found.label, found.label_weight, found.complete) == ("weak_reject", -0.7, True)


def test_a_perfect_review_reaches_exactly_one():
    assert compose(PERFECT, equal_weights()).score == 1.0


def test_documented_weights_overshoot_before_the_clamp():
    found = compose(PERFECT, equal_weights("documented"), profile="documented")

    assert found.raw == pytest.approx(1.002)
    assert found.score == 1.0


def test_a_missing_metric_makes_the_composite_missing_with_its_interval():
    found = compose({**PERFECT, "planning_rationality": GAP}, equal_weights())

    assert found.score is None
    assert found.missing.kind is MissingKind.UNAVAILABLE
    assert "planning_rationality: no judge" in found.missing.detail
    assert found.interval == (pytest.approx(5 / 6), 1.0)


def test_renormalise_takes_what_is_there_and_says_so():
    found = compose(
        {**PERFECT, "task_success": 0.0, "planning_rationality": GAP}, equal_weights(), policy="renormalise"
    )

    # 4 of 5 present metrics are 1.
    assert found.score == pytest.approx(0.8)
    assert set(found.weights_used) == set(METRICS) - {"planning_rationality"}
    assert math.fsum(found.weights_used.values()) == pytest.approx(1)
    assert not found.complete


def test_bounds_give_a_label_only_if_the_whole_interval_has_one():
    sure = compose({**PERFECT, "planning_rationality": GAP}, equal_weights(), policy="bounds")
    unsure = compose({**PERFECT, "task_success": 0.0, "planning_rationality": GAP}, equal_weights(), policy="bounds")

    assert (sure.score, sure.label) == (None, "accept")
    assert (unsure.score, unsure.label) == (None, None)
    assert unsure.possible_labels == ("weak_accept", "accept")


def test_nothing_at_all_is_missing_under_every_policy():
    for policy in ("require_complete", "renormalise", "bounds"):
        found = compose({}, equal_weights(), policy=policy)
        assert found.score is None
        assert found.interval == (0.0, 1.0)


def test_documented_profile_counts_missing_as_zero():
    found = compose({**PERFECT, "planning_rationality": GAP}, equal_weights("documented"), profile="documented")

    assert found.score == pytest.approx(5 * 0.167)


def test_inputs_stay_and_scoring_twice_is_the_same():
    scores, weights = {**PERFECT, "time_taken": 0.383}, equal_weights()
    before = copy.deepcopy((scores, weights))

    first, second = compose(scores, weights), compose(scores, weights)

    assert first == second
    assert (scores, weights) == before


@pytest.mark.parametrize(
    ("score", "label", "weight"),
    [
        (1.0, "accept", 1.0),
        (0.8, "accept", 1.0),
        (math.nextafter(0.8, 0), "weak_accept", 0.7),
        (0.6, "weak_accept", 0.7),
        (0.5999, "weak_reject", -0.7),
        (0.4, "weak_reject", -0.7),
        (0.3999999, "reject", -1.0),
        (0.0, "reject", -1.0),
    ],
)
def test_labels_at_their_edges(score, label, weight):
    assert LabelScale(THRESHOLDS, LABEL_WEIGHTS).label(score) == (label, weight)


def test_both_spellings_of_planning_are_one_metric():
    assert read_weights({"planning_rational": 1}) == read_weights({"planning_rationality": 1})


@pytest.mark.parametrize(
    "weights",
    [
        {"blue": 1},
        {"time_taken": -1},
        {"time_taken": math.nan},
        {"time_taken": "1"},
        {"time_taken": True},
        {"time_taken": 0},
        {},
        {"planning_rational": 1, "planning_rationality": 1},
    ],
)
def test_weights_that_cannot_be_honoured_are_refused(weights):
    with pytest.raises(ConfigError):
        read_weights(weights)


def test_an_unknown_weight_gets_a_suggestion():
    with pytest.raises(ConfigError, match="time_taken"):
        read_weights({"time_take": 1})


values = st.one_of(st.floats(0, 1), st.just(GAP))


@given(
    st.fixed_dictionaries(dict.fromkeys(METRICS, values)),
    st.dictionaries(st.sampled_from(METRICS), st.floats(0.01, 9), min_size=1),
)
def test_the_interval_always_holds_the_score(scores, weights):
    for policy in ("require_complete", "renormalise", "bounds"):
        found = compose(scores, weights, policy=policy)
        low, high = found.interval
        assert 0 <= low <= high <= 1
        if found.score is not None:
            assert low - 1e-9 <= found.score <= high + 1e-9


@given(st.fixed_dictionaries(dict.fromkeys(METRICS, st.floats(0, 1))), st.sampled_from(METRICS), st.floats(0, 1))
def test_a_better_metric_never_lowers_the_score(scores, name, better):
    raised = {**scores, name: max(scores[name], better)}

    assert compose(raised, equal_weights()).score >= compose(scores, equal_weights()).score - 1e-12


def test_stability_is_certain_where_weights_cannot_matter_and_not_at_an_edge():
    flat, edge = (
        dict.fromkeys(METRICS, 0.9),
        {name: float(place < 3) * 1.2 * 0.99 for place, name in enumerate(METRICS)},
    )

    certain, open_ = label_stability([flat, edge], equal_weights(), draws=500)

    assert certain == {"accept": 1.0}
    # 3 of 6 metrics at 1.188 average to .594, just below the threshold of .6: both labels must come out.
    assert set(open_) >= {"weak_reject", "weak_accept"}
    assert math.fsum(open_.values()) == pytest.approx(1)


def test_weights_are_as_uncertain_as_the_documented_distribution_says():
    weights = {"output_similarity": 0.8, "time_taken": 0.2}

    (shares,) = label_stability([{"output_similarity": 1.0, "time_taken": 0.0}], weights, draws=20_000)

    # the score is the first weight, which is drawn from Beta(40, 10): above .8 with probability .5283
    assert shares["accept"] == pytest.approx(0.5283, abs=0.01)


def test_stability_goes_by_the_thresholds_of_the_run():
    scale = LabelScale(
        {"accept": 0.95, "weak_accept": 0.7, "weak_reject": 0.1, "reject": 0.0}, DOCUMENTED_SCALE.weights
    )

    (shares,) = label_stability([dict.fromkeys(METRICS, 0.9)], equal_weights(), draws=500, scale=scale)

    assert (compose(dict.fromkeys(METRICS, 0.9), equal_weights(), scale=scale).label, shares) == (
        "weak_accept",
        {"weak_accept": 1.0},
    )


@pytest.mark.parametrize("score", [0.8, 0.6, 0.4])
def test_six_equal_scores_on_a_threshold_keep_their_label_whatever_the_weights(score):
    (shares,) = label_stability([dict.fromkeys(METRICS, score)], equal_weights())

    assert shares == {compose(dict.fromkeys(METRICS, score), equal_weights()).label: 1.0}
