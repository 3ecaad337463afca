"""Answers that change what their tests assert by, or hide the tests: none passes, a right answer beside them does."""

import pytest
from language_tampering import SETS
from test_languages import marked


@pytest.mark.parametrize("key", SETS)
def test_none_that_tampers_passes_and_a_right_answer_beside_it_does(key):
    one = SETS[key]

    found = marked(key.partition(" ")[0], one.tests, {**one.forgers, "right": one.right})

    assert {name for name, out in found.items() if out.passed} == {"right"}


@pytest.mark.parametrize("first", ["#!/usr/bin/env node\n", "'use strict'\n", '"use strict";\n'])
def test_what_has_to_stand_first_in_an_answer_does(first):
    one = SETS["javascript"]
    strict = "function twice(x) { return (function () { return this === undefined ? 2 * x : x; })(); }\n"

    found = marked("javascript", one.tests, {"right": first + (one.right if first.startswith("#") else strict)})

    assert found["right"].passed == 1, found["right"]
