"""The code in a reply is found by steps that are recorded, and no step deletes a line of code."""

import pytest

from markbook.load.extraction import extract_code
from markbook.load.replies import answer_of

CODE = "def add(a, b):\n    print('solution')\n    assert a is not None\n    return a + b\n"


@pytest.mark.parametrize(
    ("reply", "step"),
    [
        (CODE, "as_is"),
        (f"Here is the solution:\n\n```python\n{CODE}```\nIt adds two numbers.", "fence"),
        (f"~~~\n{CODE}~~~", "fence"),
        (f"```python\n{CODE}", "fence"),
        (f"[PYTHON]\n{CODE}[/PYTHON]\nHope this helps you.", "markers"),
        (f"{CODE}[END]\n", "markers"),
        (f"{CODE}[END]\n1. What does the code do?\nThe code adds them.", "markers"),
        (f"{CODE}\nThis function adds two numbers, as asked.\n", "prose"),
        (f"Sure, here is the code for you\n\n{CODE}", "prose"),
    ],
)
def test_code_is_found_whole(reply, step):
    found = extract_code(reply, "add")

    assert found.step == step
    assert found.text.strip() == CODE.strip()


def test_block_that_defines_the_entry_point_wins_over_an_earlier_one():
    reply = f"Usage:\n```python\nadd(1, 2)\n```\nCode:\n```python\n{CODE}```\n"

    assert extract_code(reply, "add").text == CODE


@pytest.mark.parametrize(
    "reply", ["def add(a, b):", "def add(a, b:\n    return a", "x = = 1", "I cannot do that, sorry."]
)
def test_text_with_no_code_to_find_is_left_alone(reply):
    found = extract_code(reply, "add")

    assert (found.text, found.step) == (reply, "none")


def test_other_languages_fence_is_not_python():
    assert extract_code("```java\nint x = 1;\n```\n").step == "none"


def test_hostile_nesting_is_not_code():
    assert extract_code("(" * 50_000).step == "none"
    assert extract_code("-" * 200_000 + "1").step == "none"


@pytest.mark.parametrize("sign", ["`", "~"])
def test_a_reply_that_never_stops_to_open_a_fence_is_read_once(sign):
    """By a pattern that went back, a hundred thousand of them took twelve seconds, and a million half an hour."""
    text = sign * 300_000
    assert extract_code(text).step == "none"
    assert answer_of(text, "", "") == (text, "as_is", "whole")
