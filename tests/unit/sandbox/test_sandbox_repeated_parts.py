"""Which parts of a test program go well as often as the answer has it."""

import ast

import pytest

from markbook.sandbox.guest.examination.programs import repeated_parts


@pytest.mark.parametrize(
    ("loop", "repeats"),
    [
        ("for i in [1, 2]:", False),
        ("for i in range(3):", False),
        ("for i, j in zip([1], [2]):", False),
        ("for i, j in enumerate((1, 2)):", False),
        ("for i in cases:", False),
        ("for i in f(3):", True),
        ("for i in range(f(3)):", True),
        ("while f(3):", True),
    ],
)
def test_a_loop_over_what_is_written_down_does_not_repeat(loop, repeats):
    tree = ast.parse(f"cases = [1, 2]\n{loop}\n    assert f(1) == 2\nassert f(2) == 3\n")

    assert repeated_parts(tree) == (frozenset({0}) if repeats else frozenset())


def test_an_assertion_in_a_function_that_is_handed_over_repeats():
    own = "def check(x):\n    assert x == 1\n"

    assert repeated_parts(ast.parse(f"{own}check(f(1))\n")) == frozenset()
    assert repeated_parts(ast.parse(f"{own}f(check)\n")) == {0}
