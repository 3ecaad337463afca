"""What a sixth red team found: names in a description that let others in, and an underscore behind a line break."""

import pytest

from markbook.sandbox import run_tests

PERSON = """
class Person:
    def __init__(self, age): self.age, self._pin = age, 41257
    def older(self): return self.age + 1
"""
SHOW = "lambda text, p, *more: text.format(p)"
GET = "lambda text, p, *more: getattr(p, text.strip())"
PATH = "{0.older.__globals__[check].__code__.co_consts}"
LEARNS = {
    "names of a class": (SHOW, f'show("{PATH}", p, Wide("a"))', r'f"\n_a{i}"'),
    "names behind a wide space": (SHOW, f'show("{PATH}", p, Wide("a"))', r'f"\u3000_a{i}"'),
    "names behind a backslash": (SHOW, f'show("{PATH}", p, Wide("a"))', r'f"\\é_a{i}"'),
    "a line break": (GET, r'show("\n_pin", p)', "str(i)"),
    "a wide space": (GET, r'show("\u3000_pin", p)', "str(i)"),
    "a zero": (GET.replace(".strip()", ".strip('\\0')"), r'show("\0_pin", p)', "str(i)"),
}
"""What a test lends, what a solution asks of it, and what its class's attributes are called."""
MODEST = {
    "a word behind a letter": "é_a",
    "a word behind a backslash": "\\\\x a_b",
    "words of two alphabets": "größe_ж_1",
}
"""Texts in which no underscore stands at the edge of a word."""


@pytest.mark.parametrize("known", [True, False], ids=["with a reference", "alone"])
@pytest.mark.parametrize("name", LEARNS)
def test_no_underscore_comes_in_unseen(name, known):
    lent, ask, attribute = LEARNS[name]
    test = f"{PERSON}\ndef check(f):\n    assert f({lent}, Person(3)) == 41257\ncheck(f)\n"
    attack = (
        f'import os\nWide = type("Wide", (str,), {{{attribute}: 1 for i in range(60)}})\n'
        f'def f(show, p):\n    try:\n        found = {ask}\n    except Exception as error:\n        found = error\n'
        '    os._exit(93 if "41257" in str(found) else 7)\n'
    )  # fmt: skip
    right = "def f(show, p): return 41257\n" if known else ""

    outcome = run_tests(attack, test, entry_point="f", canonical=right)

    (result,) = outcome.tests
    # what it learns beside the test is of no use to it
    assert not result.passed
    assert not (result.verdict == "separated" and "93" in result.error_message), result


@pytest.mark.parametrize("text", MODEST.values(), ids=list(MODEST))
def test_what_joins_words_comes_in(text):
    test = f"assert f(lambda text: text.upper()) == {text.upper()!r}\n"
    right = f"def f(up): return up({text!r})\n"
    other = f"def f(up): return up(str({text!r}))\n# again\n"

    outcome = run_tests(other, test, entry_point="f", canonical=right)

    assert [(result.passed, str(result.verdict)) for result in outcome.tests] == [(True, "separated")]
