"""Spec 003, the single-turn metrics: each documented name, argument, key and range."""

import pytest

from markbook import documented

REFERENCE = "def add(first: int, second: int) -> int:\n    return first + second\n"
PREDICTION = "def add(a, b):\n    return a + b\n"
GOOD = '''def total_of(values: list) -> int:
    """Return the total amount: the values that were given are added."""
    if not isinstance(values, list):
        raise TypeError("values must be a list")
    try:
        total = sum(value for value in values)
        return total + max([one for one in values])
    except ValueError:
        return 0
'''

TEXT_FUNCTIONS = {
    "bleu_score": {"bleu"},
    "rouge_score": {"rouge1", "rouge2", "rougeL"},
    "meteor_score": {"meteor"},
    "code_bleu": {"code_bleu"},
    "edit_distance": {"edit_distance"},
    "context_adherence_score": {"context_adherence_score"},
    "style_compliance_score": {"style_compliance_score"},
    "security_compliance_score": {"security_compliance_score"},
    "performance_awareness_score": {"performance_awareness_score"},
}


@pytest.mark.parametrize(("name", "keys"), TEXT_FUNCTIONS.items())
@pytest.mark.parametrize("shape", ["text", "list"])
def test_takes_references_and_predictions_and_returns_its_keys_with_floats_in_range(name, keys, shape):
    pair = [REFERENCE, PREDICTION] if shape == "text" else [[REFERENCE], [PREDICTION]]

    found = getattr(documented, name)(pair)

    assert set(found) == keys
    assert all(isinstance(value, float) and 0.0 <= value <= 1.0 for value in found.values())


@pytest.mark.parametrize("name", ["bleu_score", "rouge_score", "code_bleu"])
def test_a_text_against_itself_has_the_highest_score(name):
    assert set(getattr(documented, name)([REFERENCE, REFERENCE]).values()) == {1.0}


def test_meteor_of_a_text_with_itself_stays_below_one():
    # One chunk of m matched words costs .5 * (1/m)^3.
    assert documented.meteor_score(["one two three four", "one two three four"])["meteor"] == pytest.approx(
        1 - 0.5 / 4**3
    )


def test_edit_distance_is_normalised_by_the_longer_and_lower_is_better():
    assert documented.edit_distance(["kitten", "sitting"]) == {"edit_distance": pytest.approx(3 / 7)}
    assert documented.edit_distance(["same", "same"]) == {"edit_distance": 0.0}
    assert documented.edit_distance(["", ""]) == {"edit_distance": 0.0}


def test_code_bleu_is_plain_bleu_as_the_document_says():
    pair = [REFERENCE, PREDICTION]

    assert documented.code_bleu(pair)["code_bleu"] == documented.bleu_score(pair)["bleu"]


def test_pass_at_k_takes_tests_and_lists_of_programs_and_counts_in_percentless_shares():
    tests = ["assert add(1, 2) == 3", "assert add(1, 2) == 4"]
    programs = [[PREDICTION], [PREDICTION]]

    assert documented.pass_at_k(tests, programs, k=[1], isolation="weak") == {"pass@1": 0.5}
    assert documented.pass_at_k(references=tests, predictions=programs, isolation="weak") == {"pass@1": 0.5}


def test_the_others_take_one_argument_so_the_harness_falls_back_to_it():
    # lm-evaluation-harness first calls fn(references=[gold], predictions=[result]) and, on TypeError, fn([gold, result]).
    for name in TEXT_FUNCTIONS:
        with pytest.raises(TypeError):
            getattr(documented, name)(references=[REFERENCE], predictions=[PREDICTION])


def test_code_with_every_documented_trait_has_every_point():
    for name in ("context_adherence_score", "style_compliance_score", "security_compliance_score"):
        assert getattr(documented, name)(["", GOOD]) == {name: 1.0}
    assert documented.performance_awareness_score(["", GOOD]) == {"performance_awareness_score": 1.0}


@pytest.mark.parametrize(
    ("name", "code", "points", "total"),
    [
        # a name of more than two characters, no hint, no docstring, short lines, def and return
        ("context_adherence_score", "def add(a, b):\n    return a + b", 3, 5),
        # fours; def, add and return of def, add, a, b, return, a, b are 3 of 7 names; no docstring, no hint, short, `a + b`
        ("style_compliance_score", "def add(a, b):\n    return a + b", 3, 6),
        # neither check nor handler, and nothing unsafe
        ("security_compliance_score", "def add(a, b):\n    return a + b", 2, 4),
        ("security_compliance_score", 'password = "hunter2"\neval(password)', 0, 4),
        # no loop that appends, no generator, no nested loop, no built-in
        ("performance_awareness_score", "def add(a, b):\n    return a + b", 2, 4),
        ("performance_awareness_score", "for a in b:\n    for c in a:\n        d.append(c)", 0, 4),
    ],
)
def test_the_points_are_the_documented_ones(name, code, points, total):
    found = getattr(documented, name)(["", code])[name]

    assert found == points / total


def test_failure_returns_the_default_and_breaks_no_pipeline():
    assert documented.bleu_score(["", ""]) == {"bleu": 0.0}
    assert documented.rouge_score(["", "x"])["rouge1"] == 0.0
