"""Edit distance and edit similarity."""

import json
import time

import pytest
from hypothesis import given, strategies as st
from rapidfuzz.distance import Levenshtein

import markbook
from markbook.errors import ConfigError
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


def test_what_is_left_out_by_patterns_is_bounded_in_time():
    """2^26 ways to cut the text: the row has a reason, and the others have their value."""
    started = time.process_time()

    slow, plain = markbook.measure("exact_match", ["a" * 26 + "b", "aac"], [["x"], [""]], regexes_to_ignore=["(a|a)+c"])

    assert slow.missing is not None
    assert (slow.value, slow.missing.kind) == (None, "timeout")
    assert plain.value == 1.0
    assert time.process_time() - started < 1


def test_patterns_are_applied_one_after_the_other_to_both_sides():
    left = markbook.measure(
        "exact_match",
        ["The $1,200.", "so#### 7"],
        [["The 1200"], ["7"]],
        regexes_to_ignore=[",", r"\$", "(?s).*#### ", r"\.$"],
    )

    assert [measurement.value for measurement in left] == [1.0, 1.0]


@pytest.mark.parametrize("pattern", ["(", "(?<=a+)b"])
def test_a_pattern_that_does_not_compile_is_said_so(pattern):
    with pytest.raises(ConfigError, match="exact_match: regexes_to_ignore: "):
        markbook.measure("exact_match", ["a"], ["a"], regexes_to_ignore=[pattern])
