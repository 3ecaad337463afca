"""Spec 002's own formulas to the letter, and beside each fault the corrected value."""

import asyncio
import json
import math

import pytest
from support.fake_openai import FakeOpenAI, fill, schema_of, structured

from markbook.documented import (
    assess_constructiveness,
    assess_planning_rationality,
    assess_task_success,
    assess_technical_accuracy,
    calculate_composite_score,
    compute_cosine_similarity,
    compute_jaccard_similarity,
    extract_planning_decisions,
    map_score_to_recommendation,
    measure_execution_time,
)
from markbook.errors import IncompleteError
from markbook.runs.reviews.composite import METRICS, compose, equal_weights, time_score

JUDGE = "openai:gpt-4o-mini"


def document_time(seconds):
    """Say what the document's line says."""
    return 1 / (1 + math.log(max(0.1, seconds)))


@pytest.mark.parametrize(
    ("seconds", "documented", "corrected"),
    [
        (0.05, -0.7677, 1.0),
        (0.3, -4.9016, 1.0),
        (0.367, -417.71, 1.0),
        (0.368, 3049.0, 1.0),
        (0.5, 3.2589, 1.0),
        (1, 1.0, 1.0),
        (5, 0.38322, 0.38322),
        (68, 0.19160, 0.19160),
    ],
)
def test_time_score_to_the_letter_and_corrected(seconds, documented, corrected):
    assert time_score(seconds, profile="documented") == document_time(seconds)
    assert time_score(seconds, profile="documented") == pytest.approx(documented, rel=1e-3)
    assert time_score(seconds) == pytest.approx(corrected, rel=1e-4)


def test_the_pole_raises_in_the_document_and_has_a_reason_in_a_run():
    pole = 1 / math.e

    with pytest.raises(ZeroDivisionError):
        calculate_composite_score({"time_taken": pole})
    assert "pole" in time_score(pole, profile="documented").detail


def test_a_perfect_review_is_clamped_from_1_002():
    metrics = {**dict.fromkeys(METRICS, 1.0), "time_taken": 1.0}

    assert calculate_composite_score(metrics) == 1.0
    assert compose(metrics, equal_weights("documented"), profile="documented").raw == pytest.approx(1.002)
    assert compose(metrics, equal_weights()).raw == 1.0


def test_missing_counts_as_nought_in_the_document_and_is_missing_in_a_run():
    metrics = {"task_success": 1.0}

    assert calculate_composite_score(metrics) == pytest.approx(0.167)
    assert compose(metrics, equal_weights()).score is None
    assert compose(metrics, equal_weights()).interval == (pytest.approx(1 / 6), 1.0)


def test_scoring_twice_is_the_same_and_leaves_the_input():
    metrics = {"time_taken": 5.0}

    first = calculate_composite_score(metrics)

    assert metrics == {"time_taken": 5.0}
    assert calculate_composite_score(metrics) == first == pytest.approx(0.167 * 0.38322, rel=1e-4)


def test_both_spellings_of_planning_count():
    one = calculate_composite_score({"planning_rational": 1.0})
    other = calculate_composite_score({"planning_rationality": 1.0})

    assert one == other == pytest.approx(0.167)
    assert calculate_composite_score({"planning_rationality": 0.5}, {"planning_rational": 1.0}) == 0.5


def test_the_clamp_hides_a_negative_time():
    assert calculate_composite_score({"time_taken": 0.05}) == 0.0
    assert compose({"time_taken": time_score(0.05, profile="documented")}, equal_weights("documented"),
                   profile="documented").raw == pytest.approx(-0.1282, abs=1e-4)  # fmt: skip


@pytest.mark.parametrize(
    ("score", "expected"),
    [(0.8, ("accept", 1.0)), (0.6, ("weak_accept", 0.7)), (0.4, ("weak_reject", -0.7)), (0.39, ("reject", -1.0))],
)
def test_recommendations(score, expected):
    assert map_score_to_recommendation(score) == expected


def test_task_success_by_the_documented_weights():
    # Semantic 1, cosine .38 and Jaccard .20 were the best of the human reviews: .654, so no expert succeeds.
    best_human = {"semantic": 1.0, "cosine": 0.38, "jaccard": 0.20}

    assert assess_task_success(best_human) == 0.0
    assert assess_task_success(best_human, threshold=0.65) == 1.0
    assert assess_task_success(dict.fromkeys(best_human, 1.0)) == 1.0
    with pytest.raises(KeyError):
        assess_task_success({"cosine": 1.0})


def test_jaccard_of_words():
    # {a, b, c} and {b, c, d}: 2 of 4.
    assert compute_jaccard_similarity("A b c", "b c D") == 0.5
    assert compute_jaccard_similarity("", " ") == 1.0
    assert compute_jaccard_similarity("", "a") == 0.0


def test_cosine_is_the_documented_call():
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.metrics.pairwise import cosine_similarity

    texts = ["The review finds the method sound and the results new.", "New results, sound method, weak baselines."]
    matrix = TfidfVectorizer(stop_words="english", ngram_range=(1, 2)).fit_transform(texts)

    assert compute_cosine_similarity(*texts) == pytest.approx(cosine_similarity(matrix[0:1], matrix[1:2])[0][0])


@pytest.mark.parametrize("texts", [("", ""), ("the and of", "of the")])
def test_cosine_of_nothing_raises_as_the_document_does(texts):
    with pytest.raises(ValueError, match="empty vocabulary"):
        compute_cosine_similarity(*texts)


def test_execution_time_comes_with_the_result():
    result, seconds = measure_execution_time(lambda x: x + 1)(1)

    assert result == 2
    assert seconds >= 0


def marks(**values):
    def script(request, _n):
        reply = fill(schema_of(request))
        reply.update(values)
        return structured(request, json.dumps(reply))

    return script


def test_technical_accuracy_sees_2000_characters_and_divides_by_five():
    given = {"factual_correctness": 5, "methodology_understanding": 3, "domain_knowledge": 1}
    with FakeOpenAI(marks(**given)) as server:
        found = asyncio.run(assess_technical_accuracy("x" * 3000, "A review.", judge=JUDGE, base_url=server.base_url))

    # (5 x .5 + 3 x .3 + 1 x .2) / 5
    assert found.overall_score == pytest.approx(0.72)
    assert found.factual_correctness == 5
    prompt = server.requests[0]["messages"][-1]["content"]
    assert "x" * 2000 + "..." in prompt
    assert "x" * 2001 not in prompt


def test_constructiveness_is_the_sum_over_fifteen():
    given = {"actionable_feedback": 2, "balanced_critique": 3, "improvement_guidance": 4}
    with FakeOpenAI(marks(**given)) as server:
        found = asyncio.run(assess_constructiveness("A review.", judge=JUDGE, base_url=server.base_url))

    assert found.overall_score == pytest.approx(9 / 15)


def test_planning_rationality_weighs_decisions_most():
    given = {"logical_flow": 1, "decision_quality": 5, "resource_efficiency": 3}
    trace = {"tool_calls": [{"tool_name": "search", "agent_id": "a", "timestamp": 2.0}],
             "agent_interactions": [{"from": "a", "to": "b", "type": "task_request", "timestamp": 1.0}]}  # fmt: skip
    with FakeOpenAI(marks(**given)) as server:
        found = asyncio.run(assess_planning_rationality(trace, judge=JUDGE, base_url=server.base_url))

    # (1 x .3 + 5 x .5 + 3 x .2) / 5
    assert found.overall_score == pytest.approx(0.68)
    assert "tool_name=search" in server.requests[0]["messages"][-1]["content"]


def test_planning_decisions_stand_in_order_of_time():
    trace = {"tool_calls": [{"tool_name": "b", "timestamp": 2}, {"tool_name": "a", "timestamp": 1}, "noise"]}

    assert extract_planning_decisions(trace) == "tool_call: tool_name=a\ntool_call: tool_name=b"


def test_a_failed_judge_raises_instead_of_half_a_point():
    with FakeOpenAI(marks(balanced_critique=7)) as server, pytest.raises(IncompleteError, match="7"):
        asyncio.run(assess_constructiveness("A review.", judge=JUDGE, base_url=server.base_url))


def test_a_trace_without_steps_cannot_be_judged():
    with pytest.raises(IncompleteError, match="no trace"):
        asyncio.run(assess_planning_rationality({}, judge=JUDGE, base_url="http://127.0.0.1:9/v1"))
