"""Time, similarity and success: the arithmetic of tier 1."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from markbook.runs.reviews.composite import (
    SIMILARITY_WEIGHTS,
    Best,
    choose_reference,
    combine,
    task_success,
    time_score,
)
from markbook.runs.reviews.config import default_config
from markbook.runs.reviews.review_rows import JournaledReview, build_row
from markbook.runs.reviews.summary import measure_yardstick, percentile
from markbook.types import Missing, MissingKind

GAP = Missing(MissingKind.UNAVAILABLE, "no model")


@pytest.mark.parametrize(
    ("seconds", "score"),
    [(0, 1), (0.05, 1), (0.3, 1), (0.367, 1), (0.5, 1), (1, 1), (math.e, 0.5), (5, 0.383), (68, 0.1916)],
)
def test_time_score_is_one_up_to_a_second_and_falls_after(seconds, score):
    assert time_score(seconds) == pytest.approx(score, abs=5e-4)


@given(st.floats(0, 1e9), st.floats(0, 1e9))
def test_a_faster_run_never_scores_less(one, other):
    fast, slow = sorted((one, other))

    assert 0 < time_score(slow) <= time_score(fast) <= 1


@pytest.mark.parametrize("seconds", [-1, -1e-9, math.inf, math.nan])
def test_what_is_no_time_has_no_score(seconds):
    assert time_score(seconds).kind is MissingKind.UNDEFINED


def test_an_unknown_time_is_absent():
    assert time_score(None).kind is MissingKind.ABSENT


def test_combining_uses_the_documented_weights():
    # .5 x .6 + .3 x .2 + .2 x .1
    assert combine({"semantic": 0.6, "cosine": 0.2, "jaccard": 0.1}, SIMILARITY_WEIGHTS) == pytest.approx(0.38)


def test_combining_with_a_gap_is_missing_and_names_it():
    found = combine({"semantic": GAP, "cosine": 1.0, "jaccard": 1.0}, SIMILARITY_WEIGHTS)

    assert found == Missing(MissingKind.UNAVAILABLE, "semantic is missing: no model")


def test_the_best_reference_is_the_one_with_the_best_combination():
    # Different references win by cosine and by Jaccard: .5 x .2 + ... decides.
    rows = [{"semantic": 0.5, "cosine": 0.9, "jaccard": 0.1}, {"semantic": 0.9, "cosine": 0.3, "jaccard": 0.2}]

    found = choose_reference(rows, SIMILARITY_WEIGHTS)

    # .25 + .27 + .02 = .54 against .45 + .09 + .04 = .58
    assert found.reference == 1
    assert found.mean == {"semantic": pytest.approx(0.7), "cosine": pytest.approx(0.6), "jaccard": pytest.approx(0.15)}


def test_without_a_semantic_score_cosine_and_jaccard_choose():
    rows = [{"semantic": GAP, "cosine": 0.2, "jaccard": 0.5}, {"semantic": GAP, "cosine": 0.3, "jaccard": 0.4}]

    # .06 + .10 = .16 against .09 + .08 = .17
    assert choose_reference(rows, SIMILARITY_WEIGHTS).reference == 1


def test_equal_references_go_to_the_first():
    assert choose_reference([{"cosine": 0.5}] * 3, {"cosine": 1}).reference == 0


def test_no_reference_and_no_similarity_are_missing():
    assert choose_reference([], SIMILARITY_WEIGHTS).kind is MissingKind.UNDEFINED
    assert choose_reference([dict.fromkeys(SIMILARITY_WEIGHTS, GAP)], SIMILARITY_WEIGHTS) == GAP


@pytest.mark.parametrize(("similarity", "success"), [(0.8, 1.0), (0.79999, 0.0), (1.0, 1.0), (0.0, 0.0)])
def test_success_is_all_or_nothing(similarity, success):
    assert task_success(similarity) == success


def test_success_of_a_missing_similarity_is_missing():
    assert task_success(GAP) == GAP


def test_the_yardstick_of_one_paper_by_hand():
    # Three reviews, pairs (0,1) .2, (0,2) .4, (1,2) .6: the closest other of 0 is 2, of 1 is 2, of 2 is 1.
    rows = [{"cosine": value} for value in (0.2, 0.4, 0.6)]

    found = measure_yardstick([(3, rows)], {"cosine": 1.0})

    assert found.pairs["cosine"]["median"] == 0.4
    assert sorted(found.combined) == [0.4, 0.6, 0.6]
    assert found.best_of_paper["cosine"] == {"n": 1, "median": 0.6, "min": 0.6, "max": 0.6}
    assert found.success_rate(0.5) == pytest.approx(2 / 3)


def test_the_yardstick_says_what_is_possible_without_a_semantic_score():
    rows = [{"semantic": GAP, "cosine": 0.38, "jaccard": 0.2}]

    found = measure_yardstick([(2, rows)], SIMILARITY_WEIGHTS)

    # .5 x 1 + .3 x .38 + .2 x .2
    assert found.most_possible == pytest.approx(0.654)
    assert found.success_rate(0.8) is None


@pytest.mark.parametrize(("percent", "value"), [(0, 1.0), (50, 2.5), (100, 4.0), (25, 1.75)])
def test_percentiles(percent, value):
    assert percentile([4.0, 2.0, 1.0, 3.0], percent) == value


def test_best_is_a_plain_record():
    assert Best(0, {}) == Best(0, {})


@pytest.mark.parametrize(
    ("weights", "own"),
    [
        ({}, (1.0, 0.85, 0.15, 0.0)),  # the documented ones: 1, .7, -.7, -1
        ({"accept": 10, "weak_accept": 7, "weak_reject": -7, "reject": -10}, (1.0, 0.85, 0.15, 0.0)),
        ({"accept": 4, "weak_accept": 3, "weak_reject": 2, "reject": 0}, (1.0, 0.75, 0.5, 0.0)),
    ],
)
def test_a_label_is_compared_on_the_scale_of_the_labels_own_weights(weights, own):
    config = replace(default_config(), label_weights={**default_config().label_weights, **weights})

    found = tuple(
        build_row(JournaledReview("p", "s", 0, tier1={"recommendation": label}), config, judge_asked=False, models=())[
            "own_recommendation"
        ]["own"]
        for label in ("accept", "weak_accept", "weak_reject", "reject")
    )

    assert found == pytest.approx(own)


def test_labels_that_all_weigh_the_same_say_nothing():
    config = replace(default_config(), label_weights=dict.fromkeys(default_config().label_weights, 1.0))

    row = build_row(
        JournaledReview("p", "s", 0, tier1={"recommendation": "accept"}), config, judge_asked=False, models=()
    )

    assert row["own_recommendation"]["own"] is None
    assert row["own_recommendation"]["missing"]["own"]["kind"] == "absent"
