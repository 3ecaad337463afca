"""Edit distance and edit similarity."""

import json

import pytest
from hypothesis import given, strategies as st
from rapidfuzz.distance import Levenshtein

from markbook.metrics.text.edit_distance import edit_distance, edit_similarity
from markbook.types import Attempt, Item, Sample


def item(candidate, *references):
    return Item(Sample("s", references=references), Attempt("s", candidate))


def value(metric, candidate, *references):
    return metric.measure([item(candidate, *references)])[0].value


def test_one_substitution_in_four_letters_is_a_quarter():
    # fest -> test: one of four letters
    assert value(edit_distance(), "fest", "test") == 0.25
    assert value(edit_similarity(), "fest", "test") == 0.75


def test_the_nearest_reference_counts():
    assert value(edit_distance(), "test", "xxxx", "test") == 0.0


def test_two_empty_texts_have_no_distance():
    assert value(edit_distance(), "", "") == 0.0
    assert value(edit_distance(), "", "abc") == 1.0


def test_composed_and_decomposed_spellings_differ():
    assert value(edit_distance(), "caf\u00e9", "cafe\u0301") == pytest.approx(2 / 5)


def test_no_reference_is_missing_with_the_reason():
    (found,) = edit_distance().measure([item("text")])

    assert found.value is None
    assert found.missing.kind == "undefined"
    assert found.missing.detail == "no reference"


@pytest.mark.parametrize("bad", [3, 2.5, b"x", ["x"]])
def test_what_is_no_text_is_missing_for_that_row_alone(bad):
    one, two = edit_distance().measure([item(bad, "x"), item("x", "x")])

    assert one.missing.kind == "undefined"
    assert "not a text" in one.missing.detail
    assert two.value == 0.0


@given(st.text(), st.text())
def test_it_is_symmetric_within_its_range_and_zero_only_for_equals(a, b):
    distance = value(edit_distance(), a, b)

    assert 0 <= distance <= 1
    assert distance == value(edit_distance(), b, a)
    assert (distance == 0) == (a == b)
    assert value(edit_similarity(), a, b) == 1 - distance
    assert distance == pytest.approx(Levenshtein.normalized_distance(a, b), abs=1e-12)


def test_it_equals_the_reference_values(shared_data):
    for line in (shared_data / "metric-fixtures" / "text.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        expected = row["expected"]["rapidfuzz"]["normalized_distance"]
        for reference, distance in zip(row["references"], expected, strict=True):
            assert value(edit_distance(), row["candidate"], reference) == pytest.approx(distance, abs=1e-12)
