"""A solution that changes what a test lent it, so that the test expects what the solution gives, is not `separated`."""

import ast
import time

import pytest

from markbook.sandbox import run_tests
from markbook.sandbox.guest.examination.lending import Lending

SORTS = "def f(items): return sorted(items)\n"
EMPTIES = "def f(items):\n    items.clear()\n    return type(items)() if type(items) is not list else []\n"
ATTACKS = {
    "a list": ("items = [3, 1, 2]\nassert f(items) == sorted(items)", SORTS, "def f(items):\n    items.clear()\n    return []\n"),
    "a list by another name": (
        "items = [3, 1, 2]\nsame = items\nassert f(same) == sorted(items)",
        SORTS,
        "def f(items):\n    del items[:]\n    return []\n",
    ),
    "a list of a list": (
        "rows = [[3, 1], [2, 5]]\nassert f(rows) == [sum(row) for row in rows]",
        "def f(rows): return [sum(row) for row in rows]\n",
        "def f(rows):\n    for row in rows: row.clear()\n    return [0, 0]\n",
    ),
    "a list that a function gives": (
        "DATA = [3, 1, 2]\ndef data(): return DATA\nassert f(data()) == sorted(data())",
        SORTS,
        "def f(items):\n    items.clear()\n    return []\n",
    ),
    "a list that a parameter holds": (
        "def check(items):\n    assert f(items) == sorted(items)\ncheck([3, 1, 2])",
        SORTS,
        "def f(items):\n    items.clear()\n    return []\n",
    ),
    "a list in a loop": (
        "items = [3, 1, 2]\nfor _ in range(2):\n    assert f(items) == sorted(items)",
        SORTS,
        "def f(items):\n    items.clear()\n    return []\n",
    ),
    "a list of a test case": (
        (
            "import unittest\nclass T(unittest.TestCase):\n    def setUp(self): self.items = [3, 1, 2]\n"
            "    def test_a(self): self.assertEqual(f(self.items), sorted(self.items))\nT('test_a').debug()"
        ),
        SORTS,
        "def f(items):\n    items.clear()\n    return []\n",
    ),
    "a list by map": (
        "cases = [[3, 1, 2], [5]]\nassert list(map(f, cases)) == [sorted(case) for case in cases]",
        SORTS,
        "def f(items):\n    items.clear()\n    return []\n",
    ),
    "a keyword": (
        "items = [3, 1, 2]\nassert f(items=items) == sorted(items)",
        SORTS,
        "def f(items):\n    items.clear()\n    return []\n",
    ),
    "a dictionary": (
        "words = {'a': 1, 'b': 2}\nassert f(words) == sum(words.values())",
        "def f(words): return sum(words.values())\n",
        "def f(words):\n    words.update(a=0, b=0)\n    return 0\n",
    ),
    "a set": (
        "items = {3, 1, 2}\nassert f(items) == sorted(items)",
        SORTS,
        "def f(items):\n    items.clear()\n    return []\n",
    ),
    "a deque": (
        "from collections import deque\nitems = deque([3, 1, 2])\nassert f(items) == sorted(items)",
        SORTS,
        "def f(items):\n    items.clear()\n    return []\n",
    ),
    "a bytearray": (
        "items = bytearray(b'cab')\nassert f(items) == sorted(items)",
        SORTS,
        "def f(items):\n    items.clear()\n    return []\n",
    ),
    "an attribute": (
        "class Case: pass\ncase = Case()\ncase.number = 7\nassert f(case) == case.number * 2",
        "def f(case): return case.number * 2\n",
        "def f(case):\n    case.number = 0\n    return 0\n",
    ),
    "a method": (
        ("class Case:\n    def __init__(self): self.number = 7\n    def set(self, number): self.number = number\n"
        "case = Case()\nassert f(case) == case.number * 2"),
        "def f(case): return case.number * 2\n",
        "def f(case):\n    case.set(0)\n    return 0\n",
    ),
    "an item of its own": (
        ("class Case:\n    def __init__(self): self.items = [3, 1]\n    def __len__(self): return len(self.items)\n"
        "    def __getitem__(self, at): return self.items[at]\n    def __setitem__(self, at, item): self.items[at] = item\n"
        "case = Case()\nassert f(case) == case[0] + case[1]"),
        "def f(case): return case[0] + case[1]\n",
        "def f(case):\n    case[0] = case[1] = 0\n    return 0\n",
    ),
    "a function of the test's": (
        "items = [3, 1, 2]\ndef drop(): items.clear()\nassert f(items, drop) == sorted(items)",
        "def f(items, drop): return sorted(items)\n",
        "def f(items, drop):\n    drop()\n    return []\n",
    ),
    "a function that calls another": (
        "items = [3, 1, 2]\ndef clear(): items.clear()\ndef drop(): clear()\nassert f(items, drop) == sorted(items)",
        "def f(items, drop): return sorted(items)\n",
        "def f(items, drop):\n    drop()\n    return []\n",
    ),
    "a method of a list": (
        "items = [3, 1, 2]\nassert f(items, items.clear) == sorted(items)",
        "def f(items, drop): return sorted(items)\n",
        "def f(items, drop):\n    drop()\n    return []\n",
    ),
    "a subclass of list": (
        "class Items(list): pass\nitems = Items([3, 1, 2])\nassert f(items) == sorted(items)",
        SORTS,
        "def f(items):\n    items.clear()\n    return []\n",
    ),
    "an iterator": (
        "items = iter([3, 1, 2])\nassert f(items) == list(items)",
        "def f(items):\n    return [3, 1, 2]\n",
        "def f(items):\n    for _ in items: pass\n    return []\n",
    ),
    "a stream": (
        "import io\nstream = io.StringIO('abc')\nassert f(stream) == stream.getvalue()[::-1]",
        "def f(stream): return stream.getvalue()[::-1]\n",
        "def f(stream):\n    stream.seek(0)\n    stream.truncate()\n    return ''\n",
    ),
    "a namespace": (
        "import types\ncase = types.SimpleNamespace(number=7)\nassert f(case) == case.number * 2",
        "def f(case): return case.number * 2\n",
        "def f(case):\n    case.number = 0\n    return 0\n",
    ),
    "by a property": (
        ("class Case:\n    number = 7\n    @property\n    def zero(self):\n        self.number = 0\n        return 0\n"
        "case = Case()\nassert f(case) == case.number * 2"),
        "def f(case): return case.number * 2\n",
        "def f(case):\n    return case.zero\n",
    ),
    "in an operator": (
        "items = [3, 1, 2]\nassert f(0) + items == sum(items)",
        "class A:\n    def __add__(self, items): return sum(items)\ndef f(n): return A()\n",
        "class A:\n    def __add__(self, items):\n        items.clear()\n        return 0\ndef f(n): return A()\n",
    ),
    "an array of numpy's": (
        "import numpy as np\nitems = np.array([3, 1, 2])\nassert f(items) == items.sum()",
        "def f(items): return int(items.sum())\n",
        "def f(items):\n    items[:] = 0\n    return 0\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("known", [True, False], ids=["with a reference", "alone"])
@pytest.mark.parametrize("name", ATTACKS)
def test_who_changes_what_a_test_expects_does_not_pass_separated(name, known):
    if "numpy" in ATTACKS[name][0]:
        pytest.importorskip("numpy")
    test, right, attack = ATTACKS[name]

    outcome = run_tests(attack, test, entry_point="f", canonical=right if known else "")

    (result,) = outcome.tests
    assert result.verdict != "separated", result


@pytest.mark.parametrize("name", ATTACKS)
def test_the_right_answer_still_passes_apart(name):
    if "numpy" in ATTACKS[name][0]:
        pytest.importorskip("numpy")
    test, right, _ = ATTACKS[name]

    outcome = run_tests(right + "# again\n", test, entry_point="f", canonical=right)

    assert [(result.passed, result.verdict.value) for result in outcome.tests] == [(True, "separated")]


# the reference changes its argument too, in its way
LIKE = {
    "a list that is sorted in place": (
        "items = [3, 1, 2]\nassert f(items) == sorted(items)",
        "def f(items):\n    items.sort()\n    return items\n",
        "def f(items):\n    items.clear()\n    return []\n",
    ),
    "the items of a list": (
        "items = [3, -1, 2]\nassert f(items) == [abs(item) for item in items]",
        "def f(items):\n    items[:] = [abs(item) for item in items]\n    return items\n",
        "def f(items):\n    items[:] = [0, 0, 0]\n    return items\n",
    ),
    "an attribute": (
        "class Case: pass\ncase = Case()\ncase.number, case.calls = 7, 0\nassert f(case) == case.number * 2\nassert case.calls == 1",
        "def f(case):\n    case.calls += 1\n    return case.number * 2\n",
        "def f(case):\n    case.calls = 1\n    case.number = 0\n    return 0\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LIKE)
def test_a_write_that_the_reference_has_not_made_is_not_excused_by_one_that_it_has(name):
    test, right, attack = LIKE[name]

    attacked, answered = (
        run_tests(code, test, entry_point="f", canonical=right) for code in (attack, right + "# again\n")
    )

    assert [result.verdict == "separated" for result in attacked.tests] == [False] * len(attacked.tests)
    assert {(result.passed, result.verdict.value) for result in answered.tests} == {(True, "separated")}


# nothing that a test reads later has changed there: such answers stay separated, without a reference too
UNSEEN = {
    "a literal": ("assert f([3, 1, 2]) == [1, 2, 3]", "def f(items):\n    items.sort()\n    return items\n"),
    "cases": (
        "for items, want in [([3, 1], [1, 3]), ([], [])]:\n    assert f(items) == want",
        "def f(items):\n    items.sort()\n    return items\n",
    ),
    "a check": (
        "def check(candidate):\n    assert candidate([3, 1]) == [1, 3]\n    assert candidate([2]) == [2]\ncheck(f)",
        "def f(items):\n    items.sort()\n    return items\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNSEEN)
def test_what_the_test_never_reads_again_may_change(name):
    test, answer = UNSEEN[name]

    outcome = run_tests(answer, test, entry_point="f")

    assert {(result.passed, result.verdict.value) for result in outcome.tests} == {(True, "separated")}


# nothing of it is read again, but a reader of the text would have to follow its names to know: decided beside instead
NAMED = {
    "a name that is used once": (
        "items = [3, 1, 2]\nresult = f(items)\nassert result == [1, 2, 3]\nassert len(result) == 3",
        "def f(items):\n    items.sort()\n    return items\n",
    ),
    "an object": (
        "stack = f()\nstack.push([1])\nassert stack.pop() == [1, 2]",
        (
            "class Stack:\n    def push(self, item):\n        item.append(2)\n        self.item = item\n"
            "    def pop(self): return self.item\ndef f(): return Stack()\n"
        ),
    ),
    "a callback that only reads": (
        "items = [3, 1, 2]\nkey = lambda n: -n\nassert f(items, key) == sorted(items, key=key)",
        "def f(items, key): return sorted(items, key=key)\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_a_right_answer_passes_where_a_name_leads_to_what_it_changes(name):
    test, answer = NAMED[name]

    alone, known = (run_tests(answer, test, entry_point="f", canonical=canonical) for canonical in ("", answer))

    assert [result.passed for result in alone.tests] == [True]
    assert alone.tests[0].verdict.value in ("in_process", "unchecked")
    assert [result.passed for result in known.tests] == [True]


# shapes of tests and kinds of changes that a reading of the text has to see, or the rule about the reference's own changes
HIDDEN = {
    "deepcopy name": (
        "from copy import deepcopy\nitems = deepcopy([3, 1, 2])\nassert f(items) == sorted(items)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "class attr later": (
        "class Data: pass\nData.items = [3, 1, 2]\nassert f(Data.items) == sorted(Data.items)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "class attr in if": (
        "class Data:\n    if True:\n        items = [3, 1, 2]\nassert f(Data.items) == sorted(Data.items)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "class attr in for": (
        "class Data:\n    for items in [[3, 1, 2]]: pass\nassert f(Data.items) == sorted(Data.items)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "function attr": (
        "def data(): pass\ndata.items = [3, 1, 2]\nassert f(data.items) == sorted(data.items)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "module attr": (
        "import math\nmath.items = [3, 1, 2]\nassert f(math.items) == sorted(math.items)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "module list": (
        "import keyword\nassert f(keyword.kwlist) == sorted(keyword.kwlist)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "imported list": (
        "from keyword import kwlist\nassert f(kwlist) == sorted(kwlist)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "imported calendar": (
        "from calendar import mdays\nassert f(mdays) == sorted(mdays)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "lru_cache": (
        "import functools\n@functools.lru_cache\ndef data(): return [3, 1, 2]\nassert f(data()) == sorted(data())",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "repeat pair": (
        "import itertools\na, b = itertools.repeat([3, 1, 2], 2)\nassert f(a) == sorted(b)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "cell times two": (
        "cell = [[3, 1, 2]]\na, b = cell * 2\nassert f(a) == sorted(b)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "lambda pair": (
        "a, b = (lambda r: (r, r))([3, 1, 2])\nassert f(a) == sorted(b)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "comprehension pair": (
        "a, b = [r for r in [[3, 1, 2]] for _ in range(2)]\nassert f(a) == sorted(b)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "comprehension pair 2": (
        "rows = [[3, 1, 2]]\na, b = [r for r in rows for _ in range(2)]\nassert f(a) == sorted(b)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "fromkeys": (
        "a, b = dict.fromkeys('ab', [3, 1, 2]).values()\nassert f(a) == sorted(b)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "comprehension inline": (
        "assert [f(a) == sorted(b) for a, b in [(r, r) for r in [[3, 1, 2]]]] == [True]",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "attribute set": (
        "class Case: pass\ncase = Case()\ncase.n = 7\no = f()\no.case = case\nassert o.run() == case.n * 2",
        "class O:\n    def run(self): return self.case.n * 2\ndef f(): return O()\n",
        "class O:\n    def run(self):\n        self.case.n = 0\n        return 0\ndef f(): return O()\n",
        "f",
    ),
    "item set": (
        "class Case: pass\ncase = Case()\ncase.n = 7\no = f()\no['x'] = case\nassert o.run() == case.n * 2",
        "class O:\n    def __setitem__(self, k, v): self.case = v\n    def run(self): return self.case.n * 2\ndef f(): return O()\n",
        "class O:\n    def __setitem__(self, k, v): self.case = v\n    def run(self):\n        self.case.n = 0\n        return 0\ndef f(): return O()\n",
        "f",
    ),
    "operator add": (
        "class Case: pass\ncase = Case()\ncase.n = 7\no = f() + case\nassert o.run() == case.n * 2",
        "class O:\n    def __add__(self, v):\n        self.case = v\n        return self\n    def run(self): return self.case.n * 2\ndef f(): return O()\n",
        "class O:\n    def __add__(self, v):\n        self.case = v\n        return self\n    def run(self):\n        self.case.n = 0\n        return 0\ndef f(): return O()\n",
        "f",
    ),
    "operator iadd": (
        "class Case: pass\ncase = Case()\ncase.n = 7\no = f()\no += case\nassert o.run() == case.n * 2",
        "class O:\n    def __iadd__(self, v):\n        self.case = v\n        return self\n    def run(self): return self.case.n * 2\ndef f(): return O()\n",
        "class O:\n    def __iadd__(self, v):\n        self.case = v\n        return self\n    def run(self):\n        self.case.n = 0\n        return 0\ndef f(): return O()\n",
        "f",
    ),
    "subscript": (
        "class Case: pass\ncase = Case()\ncase.n = 7\no = f()[case]\nassert o.run() == case.n * 2",
        "class O:\n    def __getitem__(self, v):\n        self.case = v\n        return self\n    def run(self): return self.case.n * 2\ndef f(): return O()\n",
        "class O:\n    def __getitem__(self, v):\n        self.case = v\n        return self\n    def run(self):\n        self.case.n = 0\n        return 0\ndef f(): return O()\n",
        "f",
    ),
    "decorator event": (
        "items = [3, 1, 2]\ne = f()\n@e.on('x')\ndef drop(): items.clear()\nassert e.total([3, 1, 2]) == sum(items)",
        "class E:\n    def on(self, n): return lambda g: g\n    def total(self, x): return sum(x)\ndef f(): return E()\n",
        "class E:\n    def on(self, n):\n        def d(g):\n            self.g = g\n            return g\n        return d\n    def total(self, x):\n        self.g()\n        return 0\ndef f(): return E()\n",
        "f",
    ),
    "base class no args": (
        "items = [3, 1, 2]\nclass A(Base):\n    def drop(self): items.clear()\nassert A().run() == sum(items)",
        "class Base:\n    def run(self): return 6\n",
        "class Base:\n    def run(self):\n        self.drop()\n        return 0\n",
        "Base",
    ),
    "entry assert_": (
        "items = [3, 1, 2]\nassert assert_it(items) == sorted(items)",
        "def assert_it(items): return sorted(items)\n",
        "def assert_it(items):\n    items.clear()\n    return []\n",
        "assert_it",
    ),
    "entry floor": (
        "items = [3, 1, 2]\nassert floor(items) == sorted(items)",
        "def floor(items): return sorted(items)\n",
        "def floor(items):\n    items.clear()\n    return []\n",
        "floor",
    ),
    "entry deepcopy": (
        "items = [3, 1, 2]\nassert deepcopy(items) == items",
        "def deepcopy(items): return list(items)\n",
        "def deepcopy(items):\n    items.clear()\n    return []\n",
        "deepcopy",
    ),
    "entry max": (
        "items = [3, 1, 2]\nassert max(items) == sum(items)",
        "def max(items): return 6\n",
        "def max(items):\n    items.clear()\n    return 0\n",
        "max",
    ),
    "method array": (
        "o = f()\nitems = [3, 1, 2]\nassert o.array(items) == sorted(items)",
        "class O:\n    def array(self, items): return sorted(items)\ndef f(): return O()\n",
        "class O:\n    def array(self, items):\n        items.clear()\n        return []\ndef f(): return O()\n",
        "f",
    ),
    "method deepcopy": (
        "o = f()\nitems = [3, 1, 2]\nassert o.deepcopy(items) == sorted(items)",
        "class O:\n    def deepcopy(self, items): return sorted(items)\ndef f(): return O()\n",
        "class O:\n    def deepcopy(self, items):\n        items.clear()\n        return []\ndef f(): return O()\n",
        "f",
    ),
    "method assert_": (
        "o = f()\nitems = [3, 1, 2]\nassert o.assert_in(items) == sorted(items)",
        "class O:\n    def assert_in(self, items): return sorted(items)\ndef f(): return O()\n",
        "class O:\n    def assert_in(self, items):\n        items.clear()\n        return []\ndef f(): return O()\n",
        "f",
    ),
    "no warnings": (
        "import numpy as np\nitems = [3, 1, 2]\nassert np.testing.assert_no_warnings(f, items) == sorted(items)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "heappush": (
        "import heapq\nitems = [3, 1, 2]\ndef drop(x): return heapq.heappush(items, x)\nassert f(drop) == sum(items)",
        "def f(drop): return 6\n",
        "def f(drop):\n    drop(-6)\n    return 0\n",
        "f",
    ),
    "heappop": (
        "import heapq\nitems = [3, 1, 2]\ndef drop(): return heapq.heappop(items)\nassert f(drop) == sum(items)",
        "def f(drop): return 6\n",
        "def f(drop):\n    [drop() for _ in range(3)]\n    return 0\n",
        "f",
    ),
    "setitem": (
        "import operator\nitems = [3, 1, 2]\ndef drop(i, x): return operator.setitem(items, i, x)\nassert f(drop) == sum(items)",
        "def f(drop): return 6\n",
        "def f(drop):\n    [drop(i, 0) for i in range(3)]\n    return 0\n",
        "f",
    ),
    "insort": (
        "import bisect\nitems = [3, 1, 2]\ndef drop(x): return bisect.insort(items, x)\nassert f(drop) == sum(items)",
        "def f(drop): return 6\n",
        "def f(drop):\n    drop(-6)\n    return 0\n",
        "f",
    ),
    "alias": (
        "wipe = list.clear\nitems = [3, 1, 2]\ndef drop(): return wipe(items)\nassert f(drop) == sum(items)",
        "def f(drop): return 6\n",
        "def f(drop):\n    drop()\n    return 0\n",
        "f",
    ),
    "alias bound": (
        "items = [3, 1, 2]\nwipe = items.clear\ndef drop(): return wipe()\nassert f(drop) == sum(items)",
        "def f(drop): return 6\n",
        "def f(drop):\n    drop()\n    return 0\n",
        "f",
    ),
    "alias table": (
        "items = [3, 1, 2]\nops = {'x': items.clear}\ndef drop(): return ops['x']()\nassert f(drop) == sum(items)",
        "def f(drop): return 6\n",
        "def f(drop):\n    drop()\n    return 0\n",
        "f",
    ),
    "import as": (
        "from heapq import heappop as take\nitems = [3, 1, 2]\ndef drop(): return take(items)\nassert f(drop) == sum(items)",
        "def f(drop): return 6\n",
        "def f(drop):\n    [drop() for _ in range(3)]\n    return 0\n",
        "f",
    ),
    "apply": (
        "items = [3, 1, 2]\ndef call(fn): return fn()\nassert f(call, items.clear) == sum(items)",
        "def f(call, clear): return 6\n",
        "def f(call, clear):\n    call(clear)\n    return 0\n",
        "f",
    ),
    "apply 2": (
        "items = [3, 1, 2]\ndef call(fn, x): return fn(x)\nassert f(call, items.append) == sum(items)",
        "def f(call, put): return 6\n",
        "def f(call, put):\n    call(put, -6)\n    return 0\n",
        "f",
    ),
    "list init": (
        "items = [3, 1, 2]\ndef drop(): return items.__init__()\nassert f(drop) == sum(items)",
        "def f(drop): return 6\n",
        "def f(drop):\n    drop()\n    return 0\n",
        "f",
    ),
    "print": (
        "import io\nb = io.StringIO()\ndef drop(x): print(x, file=b)\nassert f(drop) == len(b.getvalue())",
        "def f(drop): return 0\n",
        "def f(drop):\n    drop('abc')\n    return 4\n",
        "f",
    ),
    "object setattr": (
        "class K: pass\nk = K()\nk.n = 7\ndef drop(x): object.__setattr__(k, 'n', x)\nassert f(drop) == k.n",
        "def f(drop): return 7\n",
        "def f(drop):\n    drop(0)\n    return 0\n",
        "f",
    ),
    "queue": (
        "import queue\nq = queue.Queue()\nq.put(1)\ndef drop(): return q.get()\nassert f(drop) == q.qsize()",
        "def f(drop): return 1\n",
        "def f(drop):\n    drop()\n    return 0\n",
        "f",
    ),
    "contextvar": (
        "import contextvars\nv = contextvars.ContextVar('v', default=7)\ndef drop(x):\n    v.set(x)\nassert f(drop) == v.get()",
        "def f(drop): return 7\n",
        "def f(drop):\n    drop(0)\n    return 0\n",
        "f",
    ),
    "chain": (
        "import itertools\nit = itertools.chain([3, 1], [2])\ndef drop(): return list(it)\nassert f(drop) == sum(it)",
        "def f(drop): return 6\n",
        "def f(drop):\n    drop()\n    return 0\n",
        "f",
    ),
    "self it": (
        "class K:\n    def __init__(self): self.it = iter([3, 1, 2])\nk = K()\ndef drop(): return list(k.it)\nassert f(drop) == sum(k.it)",
        "def f(drop): return 6\n",
        "def f(drop):\n    drop()\n    return 0\n",
        "f",
    ),
    "in iterator": (
        "its = [iter([3, 1, 2])]\ndef drop(): return 9 in its[0]\nassert f(drop) == sum(its[0])",
        "def f(drop): return 6\n",
        "def f(drop):\n    drop()\n    return 0\n",
        "f",
    ),
    "random seed": (
        "import random\nrandom.seed(5)\ndef drop(x): random.seed(x)\nassert f(drop) == int(random.random() * 1000)",
        "def f(drop): return 622\n",
        "def f(drop):\n    drop(0)\n    return 844\n",
        "f",
    ),
    "random draw": (
        "import random\nrandom.seed(5)\ndef drop(): return random.random()\nassert f(drop) == int(random.random() * 1000)",
        "def f(drop): return 622\n",
        "def f(drop):\n    drop()\n    return 741\n",
        "f",
    ),
    "random bound": (
        "import random\nrandom.seed(5)\ndrop = random.random\nassert f(drop) == int(random.random() * 1000)",
        "def f(drop): return 622\n",
        "def f(drop):\n    drop()\n    return 741\n",
        "f",
    ),
    "Random lent": (
        "import random\nr = random.Random(5)\nassert f(r) == int(r.random() * 1000)",
        "def f(r): return 622\n",
        "def f(r):\n    r.random()\n    return 741\n",
        "f",
    ),
    "Random getrandbits": (
        "import random\nr = random.Random(5)\nassert f(r) == int(r.random() * 1000)",
        "def f(r): return 622\n",
        "def f(r):\n    r.getrandbits(64)\n    return 741\n",
        "f",
    ),
    "np fill": (
        "import numpy as np\nitems = np.array([3, 1, 2])\ndef drop(): items.fill(0)\nassert f(drop) == sum(items)",
        "def f(drop): return 6\n",
        "def f(drop):\n    drop()\n    return 0\n",
        "f",
    ),
    "np put": (
        "import numpy as np\nitems = np.array([3, 1, 2])\ndef drop(): np.put(items, [0, 1, 2], 0)\nassert f(drop) == sum(items)",
        "def f(drop): return 6\n",
        "def f(drop):\n    drop()\n    return 0\n",
        "f",
    ),
    "np out": (
        "import numpy as np\nitems = np.array([3, 1, 2])\ndef drop(): np.multiply(items, 0, out=items)\nassert f(drop) == sum(items)",
        "def f(drop): return 6\n",
        "def f(drop):\n    drop()\n    return 0\n",
        "f",
    ),
    "setattr hook": (
        "LOG = []\nclass K:\n    def __setattr__(self, k, v):\n        LOG.append(v)\n    def __init__(self, n): self.n = n\ndrop = K\nassert f(drop) == len(LOG)",
        "def f(drop): return 0\n",
        "def f(drop):\n    drop(1)\n    return 1\n",
        "f",
    ),
    "metaclass call": (
        "LOG = []\nclass M(type):\n    def __call__(cls):\n        LOG.append(1)\nclass K(metaclass=M): pass\ndrop = K\nassert f(drop) == len(LOG)",
        "def f(drop): return 0\n",
        "def f(drop):\n    drop()\n    return 1\n",
        "f",
    ),
    "array": (
        "import array\nitems = array.array('i', [3, 1, 2])\ndef drop(): items.fromlist([-6])\nassert f(drop) == sum(items)",
        "def f(drop): return 6\n",
        "def f(drop):\n    drop()\n    return 0\n",
        "f",
    ),
    "cover other function": (
        "items = [3, 1, 2]\nassert f(items) == items[0]\ng(items)\nassert items == [1, 2, 3]",
        "def f(items): return items[0]\ndef g(items): items.sort()\n",
        "def f(items):\n    items.sort()\n    return 1\ndef g(items): items.sort()\n",
        "f",
    ),
    "cover other method": (
        "o = f()\nitems = [3, 1, 2]\nassert o.first(items) == items[0]\no.sort(items)\nassert items == [1, 2, 3]",
        "class O:\n    def first(self, items): return items[0]\n    def sort(self, items): items.sort()\ndef f(): return O()\n",
        "class O:\n    def first(self, items):\n        items.sort()\n        return 1\n    def sort(self, items): items.sort()\ndef f(): return O()\n",
        "f",
    ),
    "cover other object": (
        "class K:\n    def __init__(self, n): self.n = n\na, b = K(7), K(5)\nassert f(a, b) == b.n * 2",
        "def f(a, b):\n    a.n = 0\n    return b.n * 2\n",
        "def f(a, b):\n    b.n = 0\n    return 0\n",
        "f",
    ),
    "cover other object 2": (
        "class K:\n    def __init__(self, n): self.n = n\na, b = K(7), K(5)\nassert f(a, b) == b.n * 2\nassert a.n == 0",
        "def f(a, b):\n    a.n = 0\n    return b.n * 2\n",
        "def f(a, b):\n    a.n = 0\n    b.n = 0\n    return 0\n",
        "f",
    ),
    "cover count iterator": (
        "it = iter([1, 5, 9])\nassert f(it) + sum(it) == 15",
        "def f(it): return next(it)\n",
        "def f(it):\n    s = 0\n    for x in it: s += x\n    return 15\n",
        "f",
    ),
    "cover count method": (
        "class K:\n    n = 7\n    def dec(self): self.n -= 1\nk = K()\nassert f(k) == k.n * 2",
        "def f(k):\n    k.dec()\n    return k.n * 2\n",
        "def f(k):\n    for _ in range(7): k.dec()\n    return 0\n",
        "f",
    ),
    "cover later": (
        "class K:\n    n = 7\n    def set(self, n): self.n = n\nk = K()\nassert f(k) == k.n * 2\ng(k)\nassert k.n == 0",
        "def f(k): return k.n * 2\ndef g(k): k.set(0)\n",
        "def f(k):\n    k.set(0)\n    return 0\ndef g(k): k.set(0)\n",
        "f",
    ),
}  # fmt: skip


@pytest.mark.parametrize("known", [True, False], ids=["with a reference", "alone"])
@pytest.mark.parametrize("name", HIDDEN)
def test_a_change_that_is_hard_to_see_in_the_text_counts_too(name, known):
    test, right, attack, entry = HIDDEN[name]
    if "numpy" in test:
        pytest.importorskip("numpy")

    outcome = run_tests(attack, test, entry_point=entry, canonical=right if known else "")

    (result,) = outcome.tests
    assert not (result.passed and result.verdict == "separated"), result


@pytest.mark.parametrize("name", HIDDEN)
def test_the_right_answer_passes_apart_there_too(name):
    test, right, _, entry = HIDDEN[name]
    if "numpy" in test:
        pytest.importorskip("numpy")

    outcome = run_tests(right + "# again\n", test, entry_point=entry, canonical=right)

    # whose operator was given a value may answer with it later, and nothing here can be made wrong
    label = "unchecked" if name in ("operator add", "operator iadd") else "separated"
    assert [(result.passed, result.verdict.value) for result in outcome.tests] == [(True, label)]


def test_texts_of_many_functions_are_read_in_little_time():
    count = 2_000
    chain = "".join(f"def h{index}(x): return h{index + 1}(x)\n" for index in range(count))
    alike = "def h(x): return f(x)\n" * count + "h(1)\n" * count
    for text in (f"{chain}def h{count}(x): return x.clear()\nassert f(h0) == 1", alike):
        tree = ast.parse(text)
        begun = time.process_time()

        assert Lending([tree], list(ast.walk(tree)), {"f"}).reads_again()

        assert time.process_time() - begun < 10
