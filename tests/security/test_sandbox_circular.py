"""Tests that expect what the solution itself makes: who makes everything equal does not pass them as `separated`."""

import pytest
from support.verdict_kit import labels

from markbook.types import Test

CANONICAL = "from dataclasses import dataclass\n@dataclass\nclass Point:\n    a: int\n    b: int\ndef f(n): return Point(n, n * n)\n"
TESTS = {
    "loop": "for n in range(4):\n    assert f(n) == Point(n, n * n)\n",
    "literal": "assert f(3) == Point(3, 9)\n",
    "list": "assert [f(n) for n in range(3)] == [Point(n, n * n) for n in range(3)]\n",
    "all": "assert all(f(n) == Point(n, n * n) for n in range(4))\n",
    "check": "def check(candidate):\n    for n in range(4):\n        assert candidate(n) == Point(n, n * n)\ncheck(f)\n",
    "name": "for n in range(4):\n    want = Point(n, n * n)\n    assert f(n) == want\n",
    "keywords": "for n in range(4):\n    assert f(n) == Point(a=n, b=n * n)\n",
    "class body": "class Want:\n    point = Point(3, 9)\nassert f(3) == Want.point\n",
    "pair in a class body": "class Want:\n    n, point = 3, Point(3, 9)\nassert f(Want.n) == Want.point\n",
    "class body of a case": (
        "import unittest\nclass T(unittest.TestCase):\n    want = Point(3, 9)\n"
        "    def test_a(self): self.assertEqual(f(3), self.want)\nT('test_a').debug()\n"
    ),
    "case": (
        "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        for n in range(4):\n"
        "            self.assertEqual(f(n), Point(n, n * n))\nT('test_a').debug()\n"
    ),
}
RIGHT = {
    "same": CANONICAL + "# again\n",
    "own equality": (
        "class Point:\n    def __init__(self, a, b): self.a, self.b = a, b\n"
        "    def __eq__(self, o): return isinstance(o, Point) and (self.a, self.b) == (o.a, o.b)\n"
        "def f(n): return Point(n, n * n)\n"
    ),
    "named tuple": "from collections import namedtuple\nPoint = namedtuple('Point', 'a b')\ndef f(n): return Point(n, n * n)\n",
    "function": "def Point(a, b): return (a, b)\ndef f(n): return (n, n * n)\n",
}
FORGED = {
    "always": "class Point:\n    def __init__(s, *a, **b): pass\n    def __eq__(s, o): return True\ndef f(n): return Point()\n",
    "kind": (
        "class Point:\n    def __init__(s, *a, **b): pass\n    def __eq__(s, o): return isinstance(o, Point)\n"
        "def f(n): return Point()\n"
    ),
    "constant": "def Point(*a, **b): return 0\ndef f(n): return 0\n",
    "single": "class P: pass\nONE = P()\ndef Point(*a, **b): return ONE\ndef f(n): return ONE\n",
}


ROUNDABOUT = {
    "alias": "P = Point\nfor n in range(4):\n    assert f(n) == P(n, n * n)\n",
    "append": "w = []\nfor n in range(4):\n    w.append(Point(n, n * n))\nfor n in range(4):\n    assert f(n) == w[n]\n",
    "item": "w = {}\nw[3] = Point(3, 9)\nassert f(3) == w[3]\n",
    "parameter": "def c(n, want):\n    assert f(n) == want\nc(3, Point(3, 9))\nc(2, want=Point(2, 4))\n",
    "default": "def c(n, want=Point(3, 9)):\n    assert f(n) == want\nc(3)\n",
    "helper": "def make(n): return Point(n, n * n)\nassert f(3) == make(3)\n",
    "generator": "def pairs():\n    yield 3, Point(3, 9)\nfor n, want in pairs():\n    assert f(n) == want\n",
    "map": "assert [f(2), f(3)] == list(map(Point, [2, 3], [4, 9]))\n",
    "index": "assert [f(3)].index(Point(3, 9)) == 0\n",
    "count": "assert [f(3)].count(Point(3, 9)) == 1\n",
    "operator": "from operator import eq\nassert eq(f(3), Point(3, 9))\n",
}


def drawn(part, answers, test):
    """Return the answers that are marked by a test, of each test others."""
    return [answers[name] for name in part.of(answers, 2, key=f"{test} {{}}".format)]


@pytest.mark.parametrize("known", [True, False], ids=["with a reference", "alone"])
@pytest.mark.parametrize("test", ROUNDABOUT)
def test_nor_where_it_is_expected_in_a_roundabout_way(box, test, known, part):
    reference = CANONICAL if known else ""
    for code in drawn(part, FORGED, test):
        ((passed, label),) = labels(box, code, Test(program=ROUNDABOUT[test]), canonical=reference, kind="program")
        assert (passed, label) not in ((True, "separated"), (True, "in_process")), code
    for code in drawn(part, RIGHT, test):
        ((passed, label),) = labels(box, code, Test(program=ROUNDABOUT[test]), canonical=reference, kind="program")
        assert (passed, label != "flagged") == (True, True), code


@pytest.mark.parametrize("known", [True, False], ids=["with a reference", "alone"])
@pytest.mark.parametrize("test", TESTS)
def test_who_makes_everything_equal_is_not_believed(box, test, known, part):
    for code in drawn(part, FORGED, test):
        ((passed, label),) = labels(
            box, code, Test(program=TESTS[test]), canonical=CANONICAL if known else "", kind="program"
        )
        assert (passed, label) != (True, "separated"), code
        assert not (known and passed), code


@pytest.mark.parametrize("test", TESTS)
def test_right_answers_are_proved_by_what_else_they_are_asked_for(box, test, part):
    for code in drawn(part, RIGHT, test):
        assert labels(box, code, Test(program=TESTS[test]), canonical=CANONICAL, kind="program") == [
            (True, "separated")
        ]


@pytest.mark.parametrize("test", TESTS)
def test_right_answers_pass_where_none_is_known(box, test, part):
    for code in drawn(part, RIGHT, test):
        ((passed, label),) = labels(box, code, Test(program=TESTS[test]), canonical="", kind="program")
        assert passed
        assert label != "flagged"


VECTOR = (
    "class V:\n    def __init__(self, x): self.x = x\n    def __eq__(self, o): return isinstance(o, V) and self.x == o.x\n"
    "    def __add__(self, o): return V(self.x + o.x)\n"
)
ZERO = "def V(*a): return 0\n"
LIES = "class V:\n    def __init__(self, x): pass\n    def __eq__(self, o): return True\n    def __add__(self, o): return self\n"


@pytest.mark.parametrize(
    ("code", "wanted"), [(VECTOR, True), (ZERO, False), (LIES, False)], ids=["right", "zero", "lies"]
)
def test_objects_of_a_tested_class_are_compared_with_such_objects(box, code, wanted):
    tests = [("", "cls(1) + cls(2) == cls(3)"), ("v = cls(5)", "v + cls(2) == cls(7)")]

    for known in (True, False):
        found = labels(box, code, *tests, canonical=VECTOR if known else "", kind="class", name="V")
        if wanted:
            assert all(passed for passed, _ in found)
            assert not known or found == [(True, "separated")] * 2
        else:
            assert (True, "separated") not in found


NEAR = {
    "third": "o.b % 3 == 0",
    "odd": "o.b % 2 == 1",
    "below": "o.b < 15",
    "above": "o.b > 5",
    "about": "abs(o.b - 8) < 4",
    "length": "len(o.b) == 3",
    "begin": "o.b[0] == 'x'",
}


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("takes", NEAR)
def test_who_takes_a_part_of_all_values_for_the_same_is_found_in_every_run(box, takes, known):
    code = "class Point:\n    def __init__(s, a=0, b=0): s.a, s.b = a, b\n    def __eq__(s, o): return s.a == o.a and {}\ndef f(n): return Point(n)\n"

    for number in range(4):
        is_text = takes in ("length", "begin")
        reference = CANONICAL.replace("n * n", "'xyz'" if is_text else "n * n") + f"#{number}\n" if known else ""
        test = Test(program=f"assert f(3) == Point(3, {'xyz' if is_text else 9!r})\n")
        ((passed, label),) = labels(box, code.format(NEAR[takes]), test, canonical=reference, kind="program")
        assert label in ("flagged", "unchecked")
        assert not passed or label == "unchecked"
