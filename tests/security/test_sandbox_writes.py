"""A solution that changes what a test lent it, so that the test expects what the solution gives, is not `separated`."""

import pytest

from markbook.sandbox import run_tests

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
    "a name that is used once": (
        "items = [3, 1, 2]\nresult = f(items)\nassert result == [1, 2, 3]\nassert len(result) == 3",
        "def f(items):\n    items.sort()\n    return items\n",
    ),
    "cases": (
        "for items, want in [([3, 1], [1, 3]), ([], [])]:\n    assert f(items) == want",
        "def f(items):\n    items.sort()\n    return items\n",
    ),
    "a check": (
        "def check(candidate):\n    assert candidate([3, 1]) == [1, 3]\n    assert candidate([2]) == [2]\ncheck(f)",
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


@pytest.mark.parametrize("name", UNSEEN)
def test_what_the_test_never_reads_again_may_change(name):
    test, answer = UNSEEN[name]

    outcome = run_tests(answer, test, entry_point="f")

    assert {(result.passed, result.verdict.value) for result in outcome.tests} == {(True, "separated")}
