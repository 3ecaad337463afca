"""What a sixth red team found: names that let others in, modules imported by a text, an examiner without memory."""

import pytest

from markbook.benchmarks.humaneval import EvalPlus
from markbook.sandbox import Job, run_tests
from markbook.sandbox.guest.exchange import lent
from markbook.types import Limits, Sample, Test

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


class Text(str):
    """A test's own."""

    __slots__ = ()


class Octets(bytes):
    """The same of bytes."""

    __slots__ = ()


Text.__module__ = Octets.__module__ = "solution"


@pytest.mark.parametrize(
    ("method", "arguments", "may"),
    [
        (Text("a").encode, [], True),
        (Text("a").encode, ["utf-8", "replace"], True),
        (Text("a").encode, ["idna"], False),  # imports `encodings.idna`, and what that imports
        (Octets(b"a").decode, ["latin-1"], True),
        (Octets(b"a").decode, ["any_name"], False),
        (Octets(b"a").decode, [1], False),
    ],
)
def test_no_text_of_the_solution_names_a_module_to_import(method, arguments, may):
    assert lent.is_harmless("c", method, [method, *arguments]) is may


FILLS = """
import sys
objects = next(m for n, m in list(sys.modules.items()) if n.endswith("exchange.objects"))
describe = objects.Objects._class
LONG = "x" * 10_000_000 + "\\U0001F600"
def heavy(self, cls, transfer):
    form = describe(self, cls, transfer)
    form[4] = [*form[4], LONG]
    return form
def peer():
    frame = sys._getframe()
    while "peer" not in frame.f_locals: frame = frame.f_back
    return frame.f_locals["peer"]
def f(n):
    objects.Objects._class = heavy
    for _ in range(18 if n == 1 else 0):
        try: peer().request("c", 5, type("Heavy", (int,), {}))
        except AttributeError: pass
    return n if n == 1 else 0
"""
"""A right answer to 1 alone: it fills the examiner's memory by what is refused only when it has been read."""
COMPUTES = """
try:
    want = len(bytearray(3500 << 20)) // (1750 << 20)
except Exception:
    want = None
assert want is None or f(2) == want
"""
"""A test that passes if what it expects cannot be computed, as those of EvalPlus' inputs on which the reference fails."""


def test_what_evalplus_expects_is_not_left_out_for_want_of_memory():
    row = {
        "task_id": "HumanEval/0",
        "prompt": "def f(n):\n",
        "entry_point": "f",
        "base_input": [[1]],
        "plus_input": [[2]],
    }
    sample = EvalPlus().to_sample({**row, "canonical_solution": "    raise MemoryError\n"}, "here")

    with pytest.raises(MemoryError):
        exec(sample.tests[1].program, {"f": lambda n: n})


@pytest.mark.parametrize("known", [True, False], ids=["with a reference", "alone"])
def test_who_fills_the_memory_in_which_a_test_computes_does_not_pass_separated(box, known):
    tests = (Test(program="assert f(1) == 1"), Test(program=COMPUTES))
    sample = Sample(id="full", tests=tests, entry_point="f", references=("def f(n): return n\n",) if known else ())

    ((_, outcome),) = box.run([Job("one", FILLS, sample, Limits(seconds=20.0))])

    result = outcome.tests[-1]
    assert not (result.passed and result.verdict == "separated"), result
