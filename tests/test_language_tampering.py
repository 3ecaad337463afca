"""Answers that change what their tests assert by, or hide the tests: none passes, a right answer beside them does."""

import pytest
from language_tampering import SETS
from test_languages import marked


@pytest.mark.parametrize("key", SETS)
def test_none_that_tampers_passes_and_a_right_answer_beside_it_does(key):
    one = SETS[key]

    found = marked(key.partition(" ")[0], one.tests, {**one.forgers, "right": one.right})

    assert {name for name, out in found.items() if out.passed} == {"right"}
