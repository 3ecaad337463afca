"""The numbers that the RunCodeEval document works out, held against ours."""

import pytest
from support.exam_kit import problem

from markbook.benchmarks.codeeval import CodeEval
from markbook.runs.exam.grading import Tally
from markbook.types import ErrorKind, Outcome, TestResult


def outcome(passed, total, error=None):
    return Outcome(tuple(TestResult(i < passed) for i in range(total)), error=error)


def paper(count):
    return [CodeEval().to_sample(problem(f"p{i}"), "here:1") for i in range(count)]


def test_two_right_answers_to_ten_questions_are_20_percent():
    tally = Tally("m", paper(10))

    tally.add(0, outcome(3, 3))
    tally.add(1, outcome(1, 1))

    assert tally.exam_score().value == pytest.approx(0.20)
    assert tally.attempted_score().value == 1.0


def test_80_percent_on_100_of_602_problems_is_13_3_percent():
    # (100 x 80 %) / 602 = 8000 / 602 = 13.289...; the document's line says 80 / 602 and means this.
    tally = Tally("m", paper(602))

    for place in range(100):
        tally.add(place, outcome(4, 5))

    assert 100 * tally.exam_score().value == pytest.approx(8000 / 602)
    assert round(100 * tally.exam_score().value, 1) == 13.3


def test_all_problems_at_70_percent_beat_a_cherry_picked_tenth_at_90():
    steady, picky = Tally("steady", paper(100)), Tally("picky", paper(100))

    for place in range(100):
        steady.add(place, outcome(7, 10))
    for place in range(10):
        picky.add(place, outcome(9, 10))

    assert 100 * steady.exam_score().value == pytest.approx(70.0)
    assert 100 * picky.exam_score().value == pytest.approx(9.0)


def test_two_of_three_tests_are_66_7_percent_and_no_error():
    tally = Tally("m", paper(1))

    tally.add(0, outcome(2, 3))

    assert round(100 * tally.exam_score().value, 1) == 66.7
    assert not tally.errors


def test_every_error_kind_zeroes_the_problem_and_counts():
    tally = Tally("m", paper(5))

    for place, kind in enumerate(ErrorKind):
        tally.add(place, outcome(2, 3, kind))

    assert tally.exam_score().value == 0.0
    assert tally.error_rate == 1.0
    assert dict(tally.errors) == {kind.value: 1 for kind in ErrorKind}


def test_error_rate_is_over_attempts_and_absent_answers_are_in_neither():
    tally = Tally("m", paper(10))

    tally.add(0, outcome(0, 1, ErrorKind.NAME))
    tally.add(1, outcome(1, 1))

    assert tally.error_rate == 0.5
