"""Parts, samples, panels and token probabilities: from answers to marks."""

import json
import math

import pytest
from hypothesis import given, strategies as st

from markbook.judge.assess import (
    JudgeInput,
    JudgeSettings,
    aggregate_ratings,
    find_missing_text,
    find_unreadable_rubrics,
    make_questions,
    make_review_questions,
)
from markbook.judge.client import reduce_logprobs, weigh
from markbook.judge.rubrics import CONSTRUCTIVENESS, TECHNICAL_ACCURACY, Cut, cut
from markbook.types import MissingKind

NAMES = [criterion.name for criterion in CONSTRUCTIVENESS.criteria]


def row(score, *, model="a", sample=0, part=1, chars=1, rubric=CONSTRUCTIVENESS, **extra):
    payload = json.dumps({criterion.name: score for criterion in rubric.criteria})
    base = {"model": model, "sample": sample, "part": part, "chars": chars, "coverage": 1.0, "payload": payload}
    return {**base, **extra}


def gap(**place):
    made = row(1, **place)
    del made["payload"]
    return {**made, "missing": {"kind": "timeout", "detail": "too slow"}}


def test_one_answer_is_its_mark():
    found = aggregate_ratings(CONSTRUCTIVENESS, [row(4)])

    assert (found.value, found.n, found.deviation) == (0.75, 1, None)
    assert found.marks == dict.fromkeys(NAMES, 4)


def test_samples_are_averaged_with_their_deviation():
    found = aggregate_ratings(CONSTRUCTIVENESS, [row(2, sample=0), row(4, sample=1)])

    # .25 and .75
    assert found.value == pytest.approx(0.5)
    assert found.deviation == pytest.approx(math.sqrt(0.125))


def test_a_panel_takes_the_median():
    found = aggregate_ratings(CONSTRUCTIVENESS, [row(1, model="a"), row(4, model="b"), row(5, model="c")])

    assert found.value == 0.75
    assert set(found.by_judge) == {"a", "b", "c"}


def test_the_reason_is_the_first_judges_in_any_order():
    payloads = {
        model: json.dumps(dict.fromkeys(NAMES, 4) | {f"{name}_reason": f"{model} says" for name in NAMES})
        for model in ("b", "a")
    }
    rows = [row(4, model=model, payload=payload) for model, payload in payloads.items()]

    for answers in (rows, rows[::-1]):
        evidence = aggregate_ratings(CONSTRUCTIVENESS, answers).evidence
        assert {mark["reason"] for mark in evidence.values()} == {"a says"}


def test_parts_weigh_by_their_length():
    found = aggregate_ratings(TECHNICAL_ACCURACY, [row(5, part=1, chars=30, rubric=TECHNICAL_ACCURACY),
                                        row(1, part=2, chars=10, rubric=TECHNICAL_ACCURACY)])  # fmt: skip

    # (5 x 30 + 1 x 10) / 40 = 4
    assert found.value == pytest.approx(0.75)


def test_a_sample_with_a_missing_part_does_not_count():
    rows = [row(5, part=1), gap(part=2), row(3, part=1, sample=1), row(3, part=2, sample=1)]

    found = aggregate_ratings(CONSTRUCTIVENESS, rows)

    assert (found.value, found.n, found.n_missing) == (0.5, 1, 1)


def test_nothing_answered_is_missing_with_the_reason():
    found = aggregate_ratings(CONSTRUCTIVENESS, [gap()])

    assert found.value is None
    assert (found.missing.kind, found.missing.detail) == (MissingKind.TIMEOUT, "too slow")


def test_a_kept_reply_is_checked_again():
    found = aggregate_ratings(CONSTRUCTIVENESS, [row(7)])

    assert found.missing.kind is MissingKind.FAILED


def test_the_order_of_rows_does_not_matter():
    rows = [row(score, model=model, sample=sample) for model in "ab" for sample, score in enumerate((2, 5, 3))]

    assert aggregate_ratings(CONSTRUCTIVENESS, rows) == aggregate_ratings(CONSTRUCTIVENESS, rows[::-1])


def test_what_cannot_be_read_is_not_asked():
    review = JudgeInput.from_review("A review.")
    asked, missing = make_review_questions(review, JudgeSettings(("openai:m",))), find_unreadable_rubrics(review)

    assert {question.rubric.name for question in asked} == {"constructiveness"}
    assert {name: gap.kind.value for name, gap in missing.items()} == {
        "technical_accuracy": "not_applicable",
        "planning_rationality": "not_applicable",
    }


def test_an_empty_review_is_asked_about_planning_only():
    review = JudgeInput.from_review("  ", ["Text."], "1. a | tool")
    asked, missing = make_review_questions(review, JudgeSettings(("openai:m",))), find_unreadable_rubrics(review)

    assert {question.rubric.name for question in asked} == {"planning_rationality"}
    assert missing["constructiveness"].kind is MissingKind.NO_COMPLETION


def test_a_200_page_paper_is_read_whole_in_parts():
    sections = [f"Section {number}. " + "word " * 1200 for number in range(80)]
    review = JudgeInput.from_review("A review.", sections)

    asked = make_questions(TECHNICAL_ACCURACY, review, JudgeSettings(("openai:m",)))

    assert len(asked) > 5
    assert {question.coverage for question in asked} == {1.0}
    assert "part 1 of" in asked[0].call.prompt
    for number in range(80):
        assert sum(f"Section {number}. " in question.call.prompt for question in asked) == 1


def test_a_paper_beyond_the_most_parts_says_how_much_was_read():
    found = cut(["x" * 1000] * 100, size=1000, most=10)

    assert len(found.parts) == 10
    assert found.coverage == pytest.approx(0.1)
    assert {part.of for part in found.parts} == {100}


@pytest.mark.parametrize("sections", [[], [""]])
def test_an_empty_paper_has_no_parts_and_none_of_it_is_left_out(sections):
    assert cut(sections) == Cut((), 1.0)


@given(st.lists(st.text(min_size=1, max_size=300), max_size=20), st.integers(50, 200))
def test_cutting_loses_nothing_and_keeps_to_the_size(sections, size):
    found = cut(sections, size=size, most=10_000)

    assert all(len(part.text) <= size for part in found.parts)
    assert "".join(sections).replace("\n", "") == "".join(part.text for part in found.parts).replace("\n", "")


def test_the_documented_profile_reads_2000_characters_and_says_so():
    review = JudgeInput.from_review("A review.", ["y" * 8000])

    asked = make_review_questions(review, JudgeSettings(("openai:m",), profile="documented"))[0]

    assert asked.coverage == pytest.approx(0.25)


def test_a_long_review_does_not_make_its_trace_a_cut_one():
    review = JudgeInput.from_review("x" * 80_000, trace="1. a | tool")

    marks, planning = make_review_questions(review, JudgeSettings(("openai:m",)))

    assert ("The review is cut: you see its first 75%." in marks.call.prompt, marks.coverage) == (True, 0.75)
    assert ("is cut" in planning.call.prompt, planning.coverage) == (False, 1.0)


def test_reviews_and_answers_reach_a_judge_in_the_same_way():
    settings = JudgeSettings(("openai:m",), samples=2)
    review = JudgeInput.from_review("A review.", ["The paper."])
    answer = JudgeInput.from_answer("A review.", context="The paper.")

    for rubric in (CONSTRUCTIVENESS, TECHNICAL_ACCURACY):
        assert find_missing_text(rubric, review) is find_missing_text(rubric, answer) is None
        assert make_questions(rubric, review, settings) == make_questions(rubric, answer, settings)


@pytest.mark.parametrize("part", ["The {name} is cut", "statistics.median(", "_ALIASES = {"])
def test_cutting_aggregation_and_aliases_are_written_once(part):
    from pathlib import Path

    from markbook import judge

    sources = {path.name: path.read_text("utf-8") for path in Path(judge.__path__[0]).glob("*.py")}

    assert {name: text.count(part) for name, text in sources.items() if part in text} == {"assess.py": 1}


@pytest.mark.parametrize("alternatives", [7, "4", [3], None, {"token": "4"}])
def test_alternatives_that_are_none_leave_a_token_without_digits(alternatives):
    assert reduce_logprobs([{"token": "4", "top_logprobs": alternatives}]) == ({"token": "4", "digits": {}},)


def tokens(*spelled, alternatives=None):
    made = []
    for token in spelled:
        top = [{"token": token, "logprob": 0.0}]
        if alternatives and token.strip() in alternatives:
            top = [{"token": name, "logprob": math.log(p)} for name, p in alternatives[token.strip()].items()]
        made.append({"token": token, "logprob": 0.0, "top_logprobs": top})
    return reduce_logprobs(made)


def test_a_mark_is_weighed_by_what_could_have_stood_there():
    spelled = tokens('{"', "clarity", '":', " 4", "}", alternatives={"4": {"4": 0.6, " 4": 0.1, "3": 0.2, "x": 0.1}})

    expected, mass = weigh('{"clarity": 4}', spelled, "clarity")

    # (.7 x 4 + .2 x 3) / .9
    assert expected == pytest.approx(3.4 / 0.9)
    assert mass == pytest.approx(0.9)


def test_a_key_quoted_inside_a_reason_is_not_the_mark():
    payload = json.dumps({"reason": 'it says "clarity": 1 here', "clarity": 4})
    spelled = tokens(*payload, alternatives={"4": {"4": 1.0}, "1": {"1": 1.0}})

    assert weigh(payload, spelled, "clarity") == (pytest.approx(4), pytest.approx(1))


@pytest.mark.parametrize("payload", ['{"clarity": 7}', '{"clarity": "4"}', '{"clarity": 45}', '{"other": 4}'])
def test_no_mark_no_weight(payload):
    assert weigh(payload, tokens(*payload), "clarity") is None


def test_tokens_that_do_not_spell_the_reply_are_not_used():
    assert weigh('{"clarity": 4}', tokens(*'{"clarity": 5}'), "clarity") is None


def test_weighted_marks_replace_the_plain_ones():
    weighted = {key: [3.5, 0.9] for key in NAMES}

    assert aggregate_ratings(CONSTRUCTIVENESS, [row(4, weighted=weighted)]).value == pytest.approx(0.625)


def test_the_agreement_of_a_panel_is_known_as_well_as_its_texts_are_many():
    from markbook.judge.assess import panel_agreement

    marks = [(1, 1), (2, 3), (3, 3), (4, 4), (5, 4), (2, 2), (3, 1), (4, 4), (1, 2), (5, 5)]
    names = ["clarity", "depth", "tone", "use"]
    panels = [{"a": dict.fromkeys(names, one), "b": dict.fromkeys(names, two)} for one, two in marks]

    several, single = panel_agreement(panels, names), panel_agreement(panels, names[:1])

    assert (several["n"], single["n"]) == (40, 10)
    widths = [found["interval"]["high"] - found["interval"]["low"] for found in (several, single)]
    assert widths[0] == pytest.approx(widths[1], rel=0.1)
