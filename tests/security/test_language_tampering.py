"""Answers that change what their tests assert by, or hide the tests: none passes, a right answer beside them does."""

import pytest
from support.language_tampering import SETS
from test_languages import marked

from markbook.languages import language


@pytest.mark.parametrize("key", SETS)
def test_none_that_tampers_passes_and_a_right_answer_beside_it_does(key, part):
    one = SETS[key]
    forgers = dict(part.of(one.forgers.items(), 6))
    name = key.partition(" ")[0]
    if any(library.word in one.tests and not library.places for library in language(name).libraries):
        pytest.skip("the library of these tests is not installed")

    found = marked(name, one.tests, {**forgers, "right": one.right})

    assert {name for name, out in found.items() if out.passed} == {"right"}


@pytest.mark.parametrize("first", ["#!/usr/bin/env node\n", "'use strict'\n", '"use strict";\n'])
def test_what_has_to_stand_first_in_an_answer_does(first):
    one = SETS["javascript"]
    strict = "function twice(x) { return (function () { return this === undefined ? 2 * x : x; })(); }\n"

    found = marked("javascript", one.tests, {"right": first + (one.right if first.startswith("#") else strict)})

    assert found["right"].passed == 1, found["right"]


HONEST = {
    "an assert of its own": ("javascript", "const assert = require('assert');\n", SETS["javascript"].tests),
    "a test of its own": ("javascript", "function test() { }\n", SETS["javascript"].tests),
    "what is printed is read": (
        "javascript",
        "",
        "let said = 0;\nconsole.log = x => { said = x; };\nshow(2);\nconsole.assert(said === 4);\n",
    ),
    "tests are run where they are the program": (
        "javascript",
        "",
        "const assert = require('assert');\nif (require.main !== module) throw new Error('another');\nassert(twice(2) === 4);\n",
    ),
    "tests import": (
        "typescript",
        "",
        "import * as assert from 'node:assert';\nimport {\n  join,\n} from 'node:path';\nassert.equal(twice(2), 4);\njoin('a', 'b');\n",
    ),
}


@pytest.mark.parametrize("key", HONEST)
def test_a_right_answer_passes_where(key):
    name, before, tests = HONEST[key]
    program = "function twice(x) { return 2 * x; }\nfunction show(x) { console.log(twice(x)); }\n"

    found = marked(name, tests, {"right": before + program, "wrong": before + program.replace("2 * x", "x")})

    assert {key: out.passed for key, out in found.items()} == {"right": 1, "wrong": 0}
