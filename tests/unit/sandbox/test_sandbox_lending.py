"""What the text of a test says of what it lends: whether it reads it again, and which of its functions change nothing."""

import ast
import time

import pytest

from markbook.sandbox.guest.examination import expressions
from markbook.sandbox.guest.examination.lending import Lending

AGAIN = {
    "a test case of the solution's": "class T(TestCase):\n    def test(self): self.assertEqual(f([1]), 1)",
    "a name that somebody else's module binds": "from keyword import *\nassert f(kwlist) == sorted(kwlist)",
    "the middle of a chain": "assert f(1) == [3, 1] == f(2)",
    "an object for several names": "a, b = f([3, 1])\nassert f(a) == sorted(b)",
    "a variable of a function around it": "items = [3, 1]\ndef t(): assert f(items) == 4\nt()",
    "a generator that lends one object twice": "def g(x):\n    yield x\n    yield sorted(x)\nassert f(*g([3, 1])) == 1",
    "an argument": "items = [3, 1]\nassert f(items) == sorted(items)",
    "a walrus": "assert f(a := [3, 1]) == sorted(a)",
    "two names": "a = b = [3, 1]\nassert f(a) == sorted(b)",
    "two names of one item": "a, b = [[3, 1]] * 2\nassert f(a) == sorted(b)",
    "two names in a loop": "for a, b in [([3, 1],) * 2]:\n    assert f(a) == sorted(b)",
    "an item": "inner = [3, 1]\nouter = [inner]\nassert f(outer[0]) == sorted(inner)",
    "what was appended": "rows, items = [], [3, 1]\nrows.append(items)\nassert f(items) == sorted(rows[0])",
    "a closure": (
        "def outer():\n    items = [3, 1]\n    def want(): return sorted(items)\n    assert f(items) == want()\nouter()"
    ),
    "a default": "def t(items=[3, 1]):\n    return f(items)\nassert t() == sorted(t.__defaults__[0])",
    "a class attribute": "class C:\n    items = [3, 1]\nassert f(C().items) == sorted(C().items)",
    "what a generator yields": "D = [3, 1]\ndef g():\n    yield D\n    yield D\nx, y = g()\nassert f(x) == sorted(y)",
    "pairs": "D = [[3, 1]]\nfor a, b in zip(D, D):\n    assert f(a) == sorted(b)",
    "a copy that shares its items": "rows = [[3, 1]]\nassert f(list(rows)[0]) == sorted(rows[0])",
    "a helper": "def run(call, items): return call(items), sorted(items)\na, b = run(f, [3, 1])\nassert a == b",
    "a lambda": "run = lambda call, items: (call(items), sorted(items))\na, b = run(f, [3, 1])\nassert a == b",
    "a lambda that is mapped": "rows = [[3, 1]]\nassert all(map(lambda x: f(x) == sorted(x), rows))",
    "starred arguments": "args = ([3, 1],)\nassert f(*args) == sorted(args[0])",
    "keyword arguments": "words = {'items': [3, 1]}\nassert f(**words) == sorted(words['items'])",
    "a partial function": "import functools\np = functools.partial(f, [3, 1])\nassert p() == sorted(p.args[0])",
    "a method": "class C:\n    run = f\n    def __init__(self): self.n = 7\nc = C()\nassert c.run() == c.n * 2",
    "a property": "class C:\n    run = property(f)\n    def __init__(self): self.n = 7\nc = C()\nassert c.run == c.n * 2",
    "a method that is set": "class C:\n    n = 7\nC.run = f\nc = C()\nassert c.run() == c.n * 2",
    "a decorated function": "seen = [3, 1]\n@f\ndef g(x): return sum(x)\nassert g(seen) == sum(seen)",
    "a function bound again": "seen = [3, 1]\ndef g(x): return sum(x)\ng = f(g)\nassert g(seen) == sum(seen)",
    "a class that counts": "class C:\n    n = 7\n    def __init__(self): C.n = 0\nassert f(C) == C.n * 2",
    "a loop after another one": "for x in [[3, 1]]:\n    pass\nfor _ in range(2):\n    assert f(x) == 4",
    "a range of the test's": "def range(n): return [[3, 1]] * n\nfor x in range(2):\n    assert f(x) == sorted(x)",
    "a loop in a loop": "for x in [[3, 1]]:\n    for y in (1, 2):\n        assert f(x) == y",
    "a loop": "items = [3, 1]\nfor _ in range(2):\n    assert f(items) == 4",
    "a later name in a loop": "x = f(1)\nfor _ in range(2):\n    assert f(x) == sorted(x)\n    x = [3, 1]",
    "a pattern": "rows = [[3, 1]]\nmatch rows:\n    case [row]:\n        assert f(row) == sorted(rows[0])",
    "an exception": "try:\n    raise E([3, 1])\nexcept E as error:\n    assert f(error.args[0]) == sorted(error.args[0])",
    "a global": "def fill():\n    global items\n    items = [3, 1]\nfill()\nassert f(items) == sorted(items)",
    "a test case": "class T(TestCase):\n    def test(self): self.assertEqual(f(self.items), sorted(self.items))",
}  # fmt: skip
ONCE = {
    "a literal": "assert f([3, 1]) == [1, 3]",
    "cases": "for items, want in [([3, 1], [1, 3]), ([], [])]:\n    assert f(items) == want",
    "items": "for items in ([3, 1], [4]):\n    assert len(f(items)) > 0",
    "a check": "def check(candidate):\n    assert candidate([3, 1]) == [1, 3]\n    assert candidate([2]) == [2]\ncheck(f)",
    "a key": "assert f([3, 1], lambda n: -n) == [3, 1]",
    "a keyword": "assert f([3, 1], key=lambda n: n % 2 == 0) == [3, 1]",
    "a library": "import math\nassert math.isclose(f([3.0]), math.pi) and math.isclose(f([4.0]), 4)",
    "a method of the solution's": "assert f().sort([3, 1])[0] == 1",
    "what computes": "assert sorted(set(f([3, 1]))) == list((1, 3)) and not isinstance(f([1]), str)",
    "what nothing reads": "METADATA = {'author': ['me']}\nassert f([1])",
}  # fmt: skip


def read(text):
    tree = expressions.parse(text)
    return Lending([tree, None], expressions.nodes(tree), {"f", "candidate"})


@pytest.mark.parametrize("name", AGAIN)
def test_what_leads_to_an_argument_and_is_read_twice_is_read_again(name):
    assert read(AGAIN[name]).reads_again()


@pytest.mark.parametrize("name", ONCE)
def test_what_is_lent_as_a_literal_alone_is_not_read_again(name):
    assert not read(ONCE[name]).reads_again()


def test_names_that_another_test_may_have_bound_are_known():
    lending = read("assert f(DATA) == sorted(DATA)")

    assert "DATA" in lending.unbound
    assert read("DATA = [1]\ndef g(a):\n    for b in a: import c.d").bound == {"DATA", "g", "a", "b", "c"}


def test_a_text_that_is_too_deep_to_be_read_counts_as_read_again():
    lending = read(f"def g(): return 1\nassert f([1]) == {'+'.join(['x()'] * 2_000)}")

    assert lending.reads_again()


def test_a_megabyte_of_literals_or_of_lines_is_read_in_little_time():
    for text in (f"assert f({[[1, 2]] * 100_000}) == 1", "assert f([3, 1]) == [1, 3]\n" * 10_000):
        tree = ast.parse(text)
        nodes = expressions.nodes(tree)
        begun = time.process_time()

        assert not Lending([tree], nodes, {"f"}).reads_again()

        assert time.process_time() - begun < 10
