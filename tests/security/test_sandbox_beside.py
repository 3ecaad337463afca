"""Beside the candidate there is nothing to read and nothing to recognise, and each label says what it promises."""

import ast
import itertools
import json
import random
from collections import Counter, deque
from decimal import Decimal

import pytest
from support.verdict_kit import labels, run

from markbook.sandbox import Sandbox
from markbook.sandbox.guest.examination.expressions import evaluate_literal, is_computed
from markbook.sandbox.guest.examination.in_process_tests import Right, canaries, prove_passes, try_mutations
from markbook.sandbox.guest.examination.mutated_expectations import ExpectationFinder
from markbook.sandbox.guest.examination.mutated_values import draw_from
from markbook.sandbox.guest.examination.mutation_canary import Canary
from markbook.sandbox.guest.examination.mutation_operators import (
    OPERATOR,
    SURE,
    ExpectedValues,
    Near,
    replace,
    replace_all,
)
from markbook.sandbox.guest.examination.tasks import CompiledTests
from markbook.sandbox.guest.marking import mark
from markbook.types import Isolation, Test

LEVELS = [Isolation.A, Isolation.B]
CLOCK = "import time"
"""Makes a test run beside the candidate."""
LIE = "class L:\n    def __eq__(self, o): return True\n    def __getattr__(self, n): return self\n"


PROVED, OPEN, FORGED = (True, "in_process"), (True, "unchecked"), (False, "flagged")

READS = """
import gc, re, sys

def texts(one, seen):
    if id(one) in seen or len(seen) > 300_000:
        return
    seen.add(id(one))
    if isinstance(one, (str, bytes)):
        yield from re.findall('secret-[0-9]+', str(one))
    elif hasattr(one, 'f_locals'):
        for part in (one.f_back, dict(one.f_locals), one.f_code):
            yield from texts(part, seen)
    elif isinstance(one, dict):
        for part in list(one.items()):
            yield from texts(part, seen)
    elif isinstance(one, (list, tuple, set)) or hasattr(one, 'co_consts'):
        for part in list(getattr(one, 'co_consts', one)):
            yield from texts(part, seen)

def read():
    sys.setrecursionlimit(5000)
    seen = set()
    return sorted({word for one in [sys._getframe(), *gc.get_objects()] for word in texts(one, seen)})

"""


def test_before_a_solution_has_loaded_nothing_of_its_tests_is_in_its_process(box):
    code = READS + "found = read()\ndef f(n):\n    return found if n else read()\n"
    tests = [(CLOCK, "func(1) == ['secret-1']"), (CLOCK, "func(1) == []"), (CLOCK, "len(func(0)) == len(['secret-2'])")]

    found = run(box, code, *tests, canonical="def f(n): return []\n")

    # the last one shows that it can read, and that of the tests before it nothing is left
    assert [result.passed for result in found.tests] == [False, True, True]


def test_tests_that_are_kept_apart_never_enter_the_process_of_the_solution(box):
    code = READS + "def f(n):\n    return read()\n"
    tests = [("", "func(3) == ['secret-1']"), (CLOCK, "func('secret-2') == ['secret-2']")]
    canonical = "def f(n): return ['secret-1'] if n == 3 else [n]\n"

    # what reads frames may have changed what the test expects
    assert labels(box, code, *tests, canonical=canonical) == [(False, "separated"), (True, "unchecked")]


def test_a_test_that_needs_what_another_sets_up_takes_it_along(box):
    tests = [("shared = func()", "shared == 1"), (CLOCK, "shared + 1 == 2")]

    assert labels(box, "def f(): return 1\n", *tests) == [PROVED, PROVED]


@pytest.mark.parametrize(
    "test",
    [
        "self.assertEqual(f(1), g(1))",
        "self.assertEqual(f(1), 2)",
        "expected = [2, 3]\n        self.assertEqual([f(1), f(2)], expected)",
        "np.testing.assert_array_equal(np.array([f(1), f(2)]), np.array([2, 3]))",
        "self.assertAlmostEqual(f(1.5), 2.5)",
        "self.assertIs(f(1), 2)",
        "self.assertDictEqual({'a': f(1)}, {'a': 2})",
        "assert f(1) is 2",
        "assert not f(1) != g(1)",
        "with self.assertRaises(TypeError):\n            f('a')",
        "for a, e in [(1, 2), (2, 3)]:\n            self.assertEqual(f(a), e)",
        "cases = [(1, 2), (2, 3)]\n        for a, e in cases:\n            assert f(a) == e",
        "assert all(f(a) == e for a, e in zip([1, 2], [2, 3]))",
    ],
)
def test_an_assertion_of_any_kind_can_be_made_wrong(box, test):
    program = (
        "import unittest\ntry:\n    import numpy as np\nexcept ImportError:\n    np = None\ng = lambda x: x + 1\n"
        f"class T(unittest.TestCase):\n    def test_it(self):\n        {test}\n"
        "import time\nimport io\n"
        "result = unittest.TextTestRunner(io.StringIO()).run(unittest.defaultTestLoader.loadTestsFromTestCase(T))\n"
        "assert result.wasSuccessful(), result.failures + result.errors\n"
    )
    patched = (
        "import unittest\nunittest.TestCase.run = lambda self, result=None: result.startTest(self)\ndef f(x): pass\n"
    )

    assert labels(box, "def f(x): return x + 1\n", Test(program=program), kind="program") == [PROVED]
    assert labels(box, patched, Test(program=program), kind="program", canonical="def f(x): return x + 1\n")[0] in (
        FORGED,
        OPEN,
    )


LOOKS = """
import os, tempfile
def f():
    with tempfile.TemporaryFile(dir='.') as file:
        inode = os.fstat(file.fileno()).st_ino
    raise ValueError(os.getpid(), inode, os.stat('.').st_mtime_ns)
"""


@pytest.mark.parametrize("level", LEVELS)
def test_runs_beside_cannot_be_told_apart_by_what_earlier_ones_left(level):
    with Sandbox(workers=1, isolation="weak", at_most=level, dedupe=False) as box:
        if box.level != level:
            pytest.skip(f"this machine reaches level {box.level} at most")
        seen = [run(box, LOOKS, (CLOCK, "func() == 1"), canonical="def f(): return 1\n") for _ in range(8)]

    marks = [ast.literal_eval(outcome.tests[0].error_message) for outcome in seen]
    steps = [[late[place] - early[place] for early, late in itertools.pairwise(marks)] for place in range(3)]
    assert len(set(steps[0])) > 1  # 1 and again 1 without noise; 8 like steps of 8 possible ones: once in two millions
    assert all(step > 0 for step in steps[2])
    if level == Isolation.A:
        assert len(set(steps[1])) > 1


def test_the_true_and_the_wrong_run_come_in_an_order_drawn_by_lot():
    program = "import time\nassert f() == 5"
    orders = []
    task = CompiledTests(json.dumps({"object": "program", "name": "f", "tests": [{"program": program}]}))
    for _ in range(40):
        runs = []

        def child(compiled, which, runs=runs):
            runs.append(compiled[0] is canaries(task)[0].as_shown())
            return {"error": None, "hit": "", "tests": [{"p": runs[-1], "v": "in_process"}]}

        assert prove_passes(task, child, {0}, Right([None]))["tests"] == [{"p": True, "v": "in_process"}]
        orders.append(runs)

    assert {order[0] for order in orders} == {True, False}
    assert all(sum(order) > 1 for order in orders)  # one that passes only sometimes has failed


@pytest.mark.parametrize(
    ("claim", "place", "often", "label"),
    [
        ("len(f()) > 2", 0, 2, "unchecked"),
        ("len(f()) > 2", 0, 9, "in_process"),
        ("len(f()) > 2", 0, 7, "unchecked"),
        ("check(f(3))", 0, 2, "unchecked"),
        ("check(f(3))", 0, 9, "in_process"),
        ("f() == 2", 0, 9, "in_process"),
        ("f() == 2", 0, 7, "flagged"),
        ("f() == 2", 1, 9, "unchecked"),
        ("f() == 2", 1, 7, "flagged"),
    ],
)
def test_one_that_passes_some_of_the_wrong_runs_has_not_been_proved(claim, place, often, label):
    task = CompiledTests(
        json.dumps({"object": "program", "name": "f", "tests": [{"program": f"import time\nassert {claim}"}]})
    )
    wrong = itertools.count(1)

    def child(compiled, which):
        passes = compiled[0] is canaries(task)[0].as_shown() or next(wrong) % often == 0
        return {"error": None, "hit": "", "tests": [{"p": passes, "v": "in_process"}]}

    assert prove_passes(task, child, {0}, Right([[[place, 7]]]))["tests"][0]["v"] == label


@pytest.mark.parametrize(
    "text",
    [
        "sorted([3, 1, 2])", "set([1, 2, 2])", "{1, 2}", "frozenset({1, 2, 3})", "Counter([1, 1, 2])", "Counter('aab')",
        "set('aab')", "sorted('cab')", "{'a': 1, 'b': 2}", "[True, False]", "-1", "None", "[]", "Decimal('1.50')",
        "tuple([1, 'a', None])", "deque([1, 2])", "int('12')", "float(2)",
    ],
)  # fmt: skip
def test_a_literal_that_is_surely_wrong_never_comes_to_the_right_value(text):
    namespace = {"Counter": Counter, "Decimal": Decimal, "deque": deque}
    right = eval(text, namespace)

    for _ in range(500):
        tree = ast.parse(text, mode="eval")
        assert not is_computed(tree.body)
        replace(tree.body)
        assert eval(compile(ast.fix_missing_locations(tree), "test", "eval"), namespace) != right


@pytest.mark.parametrize("text", ["[1, 2]", "(3, 4, 5)", "'ab'", "{1: 2}"])
def test_nothing_that_was_in_a_wrong_container_is_in_it_still(text):
    right = {node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)}

    for _ in range(300):
        tree = ast.parse(text, mode="eval")
        replace_all(tree.body, Near(ExpectedValues()))
        assert not right & {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}


@pytest.mark.parametrize(
    ("claim", "operators"),
    [
        ("9 in f()", 1),
        ("9 not in f()", 0),
        ("not 9 in f()", 0),
        ("not 9 not in f()", 1),
        ("f() != 3", 0),
        ("not f() == 3", 0),
        ("not f() != 3", 1),
    ],
)
def test_what_differs_from_one_thing_may_differ_from_another(claim, operators):
    task = CompiledTests(
        json.dumps({"object": "program", "name": "f", "tests": [{"program": f"import time\nassert {claim}"}]})
    )

    assert canaries(task)[0].ranks.count(OPERATOR) == operators


@pytest.mark.parametrize("text", ["1 + 2", "[0] * 3", "1 if True else 2", "not 1", "[1, 2][0]", "[n for n in [1, 2]]"])
def test_what_computes_with_its_literals_is_not_surely_wrong(text):
    assert is_computed(ast.parse(text, mode="eval").body)


def test_an_honest_answer_to_a_computed_expectation_is_never_called_forged(box, part):
    test = Test(setup="import time\nwanted = sorted([3, 1, 2])", assertion="func([3, 1, 2]) == wanted")

    for number in range(20 if part.is_whole else 8):
        assert labels(box, f"f = sorted\n#{number}", test) == [PROVED]


@pytest.mark.parametrize(
    ("result", "hit", "label"),
    [
        ({"t": "AssertionError"}, "", "in_process"),
        ({"t": "AssertionError"}, "wall", "unchecked"),
        ({"t": "TimeoutError"}, "cpu", "unchecked"),
        ({"t": "NameError"}, "", "unchecked"),
        ({"t": "ProcessExited"}, "", "unchecked"),
    ],
)
def test_a_wrong_run_that_failed_for_another_reason_proves_nothing(result, hit, label):
    task = CompiledTests(
        json.dumps({"object": "program", "name": "f", "tests": [{"program": "import time\nassert f(4) == 16"}]})
    )

    def child(compiled, which):
        if compiled[0] is canaries(task)[0].as_shown():
            return {"error": None, "hit": "", "tests": [{"p": True, "v": "in_process"}]}
        return {"error": None, "hit": hit, "tests": [{"p": False, "v": "in_process", **result}]}

    assert prove_passes(task, child, {0}, Right([None]))["tests"] == [{"p": True, "v": label}]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("heads", [0.3, 0.5, 0.8])
@pytest.mark.parametrize("claim", ["f(4) == [0, 1]", "f(2) == 2 and f(3) == 3", "len(f(4)) > 2"])
def test_one_that_tosses_a_coin_for_every_run_is_hardly_ever_proved(claim, heads, known, part):
    task = CompiledTests(
        json.dumps({"object": "program", "name": "f", "tests": [{"program": f"import time\nassert {claim}"}]})
    )
    variants = [[place, seed] for place in range(len(canaries(task)[0].ranks)) for seed in range(6)] if known else None
    coin = random.Random(7)

    def child(compiled, which):
        return {"error": None, "hit": "", "tests": [{"p": coin.random() < heads, "v": "in_process"}]}

    tries = 1_000 if part.is_whole else 250
    found = [prove_passes(task, child, {0}, Right([variants]))["tests"][0] for _ in range(tries)]

    assert sum(one == {"p": True, "v": "in_process"} for one in found) <= max(1, tries / 500)


def test_of_several_tests_hardly_any_is_proved_by_a_coin(part):
    tests = [{"setup": "import time", "assertion": f"f({number}) == {number + 5}"} for number in range(5)]
    task = CompiledTests(json.dumps({"object": "expression", "name": "f", "tests": tests}))
    coin = random.Random(7)

    def child(compiled, which):
        passes = coin.random() < 0.5
        return {"error": None, "hit": "", "tests": [{"p": passes, "v": "in_process"} for _ in compiled]}

    found = [
        prove_passes(task, child, set(range(5)), Right([None] * 5))["tests"]
        for _ in range(1_000 if part.is_whole else 250)
    ]

    assert sum({"p": True, "v": "in_process"} in one for one in found) <= 1


def test_tests_that_only_run_along_are_made_wrong_where_they_say_the_same_and_are_not_proved(monkeypatch):
    # the third says what the first does; the others are what they are in every run
    tests = [{"assertion": f"f({number}) == {number + 5}"} for number in (3, 4, 3, 6)]
    task = CompiledTests(json.dumps({"object": "function", "name": "f", "tests": tests}))
    wrong, of_run, runs = Canary.wrong, {canary: n for n, canary in enumerate(canaries(task))}, []
    made_wrong = []
    monkeypatch.setattr(
        Canary, "wrong", lambda self, *given, **how: made_wrong.append(of_run[self]) or wrong(self, *given, **how)
    )
    shown = [canary.as_shown() for canary in canaries(task)]

    def child(compiled, which):
        assert which == {0, 1, 2, 3}
        runs.append([now is not before for now, before in zip(compiled, shown, strict=True)])
        return {"error": None, "hit": "", "tests": [{"p": not changed, "v": "in_process"} for changed in runs[-1]]}

    record = prove_passes(task, child, {0}, Right([None] * 4), beside={1, 2, 3})

    assert record["tests"][0] == {"p": True, "v": "in_process"}
    assert set(made_wrong) == {0}
    changes = set(map(tuple, runs))
    assert (True, False, True, False) in changes  # what is expected, and in other runs what is asked
    assert changes <= {(False,) * 4, (True, False, True, False), (True, False, False, False)}


BURNS = "def f():\n    while time.process_time() < 0.25: pass\n    return 3\n"


@pytest.mark.parametrize(
    ("canonical", "label"), [("def f(): return 3\n", OPEN), ("", OPEN), (f"import time\n{BURNS}", PROVED)]
)
def test_one_that_uses_its_time_to_be_tried_less_often_is_not_proved(box, canonical, label):
    test = Test(program="import time\nassert f() == 3\n")

    assert labels(box, f"import time\n{BURNS}", test, kind="program", canonical=canonical) == [label]


LOOKS_AT_CODE = """
import builtins, sys
def below():
    frame, found = sys._getframe(2), []
    while frame is not None:
        found.append(frame.f_code)
        frame = frame.f_back
    return found
class L(list):
    kind = list
    def judge(self, other):
        return not any("other" in name for code in below() for name in code.co_names)
    def small(self, other):
        return abs(other) < 100
    __eq__ = __contains__ = judge
    __lt__ = __gt__ = __le__ = __ge__ = small
    __class__ = property(lambda self: self.kind)
def f(items):
    for code in below():
        for name in code.co_names:
            kind = getattr(builtins, name, None)
            if isinstance(kind, type) and issubclass(kind, Exception) and name[0] not in "BCFRU":
                raise kind
            if kind in (list, dict, int, str, float):
                L.kind = kind
    return L()
"""


@pytest.mark.parametrize(
    ("test", "canonical"),
    [
        ("assert f(items) == sorted(items)", "f = sorted"),
        ("assert f(items) == sorted(items) == sorted(items)", "f = sorted"),
        ("assert 3 in f(items)", "f = sorted"),
        ("assert f(items) > 5", "f = sum"),
        ("assert f(items) <= 7.5", "f = sum"),
        ("assert isinstance(f(items), list)", "f = sorted"),
        ("import unittest\nwith unittest.TestCase().assertRaises(ValueError): f(items)", "def f(x): raise ValueError"),
        ("import unittest\nunittest.TestCase().assertRaises(KeyError, f, items)", "def f(x): raise KeyError"),
        ("try: f(items)\nexcept TypeError: pass\nelse: assert False", "def f(x): raise TypeError"),
    ],
)
def test_a_wrong_expectation_looks_like_a_right_one(box, test, canonical, part):
    test = Test(program=f"import time\nitems = [3, 1, 2]\n{test}\n")

    tries = range(6 if part.is_whole else 3)
    found = {labels(box, f"{LOOKS_AT_CODE}#{n}", test, kind="program", canonical=canonical)[0] for n in tries}

    assert PROVED not in found
    assert labels(box, f"{canonical}\n", test, kind="program", canonical=canonical)[0][0]


def test_one_forged_assertion_among_honest_ones_is_found_as_often_as_it_is_the_wrong_one(box):
    code = "class L:\n    def __eq__(self, o): return True\ndef f(x): return x + 1 if x < 2 else L()\n"
    right = "def f(x): return x + 1\n"
    program = "import time\nassert f(1) == 2\nassert f(5) == 6\n"

    found = labels(box, code, Test(program=program), kind="program", canonical=right)

    assert found == [FORGED]  # two assertions, and each is the wrong one of a run


@pytest.mark.parametrize(
    ("test", "label"),
    [
        ("func(2) is not None", OPEN),
        ("func(2) or True", OPEN),
        ("len(func(2)) >= 0", OPEN),
        ("func(2) == [2]", PROVED),
        ("isinstance(func(2), list)", PROVED),
        ("func(2)", PROVED),
        ("(lambda got, right: got == right)(func(2), [[2], [3]][0]) or False", PROVED),
        ("any(v == 2 for v in func(2))", PROVED),
    ],
)
def test_a_pass_that_nothing_wrong_could_show_is_unchecked(box, test, label):
    assert labels(box, "def f(x): return [x] if x == 2 else []\n", (CLOCK, test)) == [label]


ARRAYS = """
import numpy as np
class Array(np.ndarray):
    __eq__ = lambda self, other: np.ones(4, bool)
    __sub__ = __rsub__ = __abs__ = __pow__ = __truediv__ = lambda self, *given: self
    sum = mean = max = lambda self, *given: 0
    all = equals = lambda self, *given: True
    __array_ufunc__ = lambda self, *given, **named: self
    __array_function__ = lambda self, function, *given: 0 if 'equal' not in function.__name__ else True
    __lt__ = __gt__ = lambda self, other: True
def f(n): return np.zeros(4).view(Array)
"""
SQUARES = "import numpy as np\ndef f(n): return np.arange(n) ** 2\n"


@pytest.mark.parametrize("canonical", [SQUARES, ""])
@pytest.mark.parametrize(
    "test",
    [
        "abs(func(4) - np.array([0, 1, 4, 9])).max() < 1e-9",
        "np.abs(np.array([0, 1, 4, 9]) - func(4)).sum() < 1e-9",
        "1e-9 > np.max(np.abs(func(4) - [0, 1, 4, 9]))",
        "np.linalg.norm(func(4) - wanted) < 1e-9",
        "((func(4) - wanted) ** 2).mean() <= 0.1",
        "np.sqrt(np.mean((func(4) - wanted) ** 2)) < 1e-6",
        "(abs(func(4) - wanted) / 4).max() < 1e-6",
        "(func(4) == wanted).all()",
        "np.all(func(4) == np.array([0, 1, 4, 9]))",
        "np.array_equal(func(4), wanted)",
        "np.allclose(func(4), np.arange(4) * np.arange(4))",
    ],
)
def test_how_far_two_arrays_are_apart_is_not_for_the_class_of_one_to_say(box, test, canonical):
    setup = "import time, numpy as np\nwanted = np.array([0, 1, 4, 9])"

    assert labels(box, SQUARES, (setup, test), canonical=canonical) == [PROVED]
    assert labels(box, ARRAYS, (setup, test), canonical=canonical)[0] in (FORGED, OPEN, (False, "in_process"))


@pytest.mark.parametrize("delta", [1, 5, 9, 100])
def test_a_value_within_a_wide_tolerance_is_not_called_forged(box, delta):
    program = f"{CLOCK}\nimport unittest\nunittest.TestCase().assertAlmostEqual(f(3), 9, delta={delta})\nassert abs(f(4) - 16) < {delta}"

    found = [labels(box, "def f(n): return n * n\n", Test(program=program), kind="program")[0] for _ in range(3)]

    assert {passed for passed, _ in found} == {True}


def test_without_a_right_answer_a_wrong_run_that_fails_is_the_proof(box):
    same = "class P:\n    def __init__(self, x): self.x = x\n    def __eq__(self, o): return self.x == o.x\n"
    honest = same + "def f(x): return P(x)\n"

    assert labels(box, honest, (CLOCK, "func(2).x == 2"), canonical="") == [PROVED]
    assert labels(box, honest, (CLOCK, "func(2) == func(2)"), canonical="") == [PROVED]
    assert labels(box, LIE + "def f(x): return L()\n", (CLOCK, "func(2) == 2"), canonical="") == [FORGED]
    assert labels(box, LIE + "def f(x): return L()\n", (CLOCK, "func(2) == func(2)"), canonical="") == [FORGED]


def test_names_that_are_made_of_each_other_over_and_over_are_followed_once(box):
    names = ["a", "b", "c", "d"]
    lines = [f"{one} = [{', '.join(names)}, {place}][-1]" for place in range(30) for one in names]
    asserts = [f"assert f({place}) == a + {place} - 29" for place in range(30)]
    program = "\n".join([CLOCK, "a = b = c = d = 0", *lines, *asserts])

    assert labels(box, "def f(x):\n    return x\n", Test(program=program))[0][0]


def test_an_honest_wrong_answer_is_never_called_forged(box):
    found = [
        labels(box, f"def f(): return {n}\n", (CLOCK, "func() == 3"), canonical="def f(): return 3\n") for n in range(8)
    ]

    assert [one == [PROVED] for one in found] == [n == 3 for n in range(8)]
    assert not any(one == [FORGED] for one in found)


def test_a_test_that_only_asks_whether_a_line_is_reached_is_tried_with_another_input(box):
    code = "import contextlib\ndef f(*kinds):\n    return contextlib.suppress(*kinds)\n"
    test = ("import time\nreached = False\nwith func(KeyError):\n    {}['x']\nreached = True", "reached")

    assert labels(box, code, test) == [PROVED]


SQUARE = "def f(n): return n * n\n"
CASE = "import unittest\nclass TestIt(unittest.TestCase):\n    def setUp(self): self.n = 3\n"
RUN = "\nfound = unittest.TestResult()\nunittest.defaultTestLoader.loadTestsFromTestCase(TestIt).run(found)\nassert found.wasSuccessful()"
HONEST = {
    "a keyword called msg": ("assert f(msg='hello', key=1) == 'ifmmp'", "def f(msg, key): return ''.join(chr(ord(c) + key) for c in msg)"),
    "a method called fail": ("cb = f()\ncb.fail('timeout')\nassert cb.reason == 'timeout'", "class B:\n    def fail(s, r): s.reason = r\ndef f(): return B()"),
    "a method called assertIn": ("v = f()\nv.assertIn('a', 'abc', 'why')\nassert v.log == [('a', 'abc', 'why')]", "class V:\n    log = []\n    def assertIn(s, *a): s.log.append(a)\ndef f(): return V()"),
    "a helper that asserts": ("def assertEqual(a, b, how):\n    if how == 'sorted': a = sorted(a)\n    assert a == b\nassertEqual(f(3), [0, 1, 4], 'sorted')", "def f(n): return [k * k for k in range(n)][::-1]"),
    "a docstring that is read": ("@f\ndef g():\n    'adds'\nassert f.registry == {'g': 'adds'}", "def f(g):\n    f.registry = {g.__name__: g.__doc__}\n    return g"),
    "another branch": ("import sys\nif sys.version_info >= (3, 99):\n    assert f(3) == [9]\nelse:\n    assert f(3) == 9\nassert f(2) == 4", SQUARE),
    "a test that is skipped": (CASE + "    @unittest.skip('later')\n    def test_a(self):\n        self.assertEqual(f(3), 10)\n    def test_b(self):\n        self.assertEqual(f(self.n), 9)" + RUN, SQUARE),
    "code that is dead": ("def check(candidate):\n    assert candidate(3) == 9\n    return\n    assert candidate(4) == 17\ncheck(f)", SQUARE),
    "an assert that is to raise": ("try:\n    assert f(-1) == 0\nexcept ValueError:\n    pass\nassert f(3) == 9", "def f(n):\n    if n < 0: raise ValueError\n    return n * n"),
    "a call that is to raise": (CASE + "    def test_a(self):\n        with self.assertRaises(ValueError):\n            self.assertEqual(f(-1), 0)\n        self.assertEqual(f(3), 9)" + RUN, "def f(n):\n    if n < 0: raise ValueError\n    return n * n"),
    "infinity": ("assert f([]) == float('inf')\nassert f([2, 1]) == 1", "def f(x): return min(x, default=float('inf'))"),
}  # fmt: skip
"""Tests that run beside the candidate, and right answers that once failed them."""


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("name", HONEST)
def test_a_right_answer_passes_beside_a_test_that_means_something_else(box, name, known):
    program, right = HONEST[name]
    test = Test(program=f"{CLOCK}\n{program}\n")

    found = run(box, right + "\n", test, canonical=right + "\n" if known else "", kind="program")

    assert [result.passed for result in found.tests] == [True]


def test_a_wrong_answer_that_hides_a_part_of_the_test_is_not_proved(box):
    program = f"{CLOCK}\nassert f(3) == 9\nassert f(4) == 16\n"
    hides = (
        "import sys\n"
        "class L:\n"
        "    def __eq__(self, o):\n"
        "        parts = sys._getframe(1).f_globals['__markbook_part__']\n"
        "        parts.done = type('D', (dict,), {'__setitem__': lambda s, k, v: None})()\n"
        "        return True\n"
        "def f(n): return n * n if n == 3 else L()\n"
    )

    found = run(box, hides, Test(program=program), canonical="", kind="program").tests[0]

    assert not found.passed or found.verdict == "unchecked"


def wrong_texts(program, name, count=200):
    """Return what a literal becomes that is made wrong, in so many draws, as text."""
    found = Counter()
    for seed in range(count):
        draw_from(seed)
        tree = ast.parse(program)
        site = next(
            site for site in ExpectationFinder([tree], {"f"}).sites if site.node and ast.unparse(site.node) == name
        )
        site.change()
        found[ast.unparse(site.node)] += 1
    return found


def test_wrong_values_look_like_what_the_test_expects_or_asks():
    words = wrong_texts("assert f('()') == 'Yes'\nassert f('(') == 'No'\n", "'Yes'")
    picked = wrong_texts("assert f([4, 9, 700]) == 700\nassert f([35, 7]) == 35\n", "700")
    moved = wrong_texts("assert f([3, 1, 2]) == [1, 2, 3]\n", "[1, 2, 3]")
    filled = wrong_texts("assert f([]) == []\nassert f(['b', 'a']) == ['a', 'b']\n", "[]")

    assert words["'No'"] > 50
    assert sum(picked[text] for text in ("4", "9", "35", "7")) > 50
    assert sum(moved[text] for text in ("[2, 1, 3]", "[1, 3, 2]", "[3, 2, 1]")) > 15
    assert set(filled) == {"['b']", "['a']"}


def test_what_a_comparison_without_order_takes_for_equal_is_not_wrong():
    program = "import unittest\ncase = unittest.TestCase()\ncase.assertCountEqual(f(3), [1, 2, 3])\nassert sorted(f(3)) == sorted('abc')\n"

    assert not {"[2, 1, 3]", "[1, 3, 2]"} & wrong_texts(program, "[1, 2, 3]").keys()
    assert all(sorted(eval(text)) != ["a", "b", "c"] for text in wrong_texts(program, "sorted('abc')"))


@pytest.mark.parametrize(
    ("expected", "is_sure"),
    [
        ("pytest.approx(3.4, abs=0.5)", False),
        ("approx(101, rel=0.2)", False),
        ("deque([1, 2, 3], maxlen=2)", False),
        ("int(2.9)", False),
        ("np.array([1, 0, 1], dtype=bool)", False),
        ("np.array([1.5, 2.5], int)", False),
        ("Counter({'a': 0, 'b': 2})", False),
        ("Counter('aab')", False),
        ("[int('7'), 2]", False),
        ("approx(3.4)", True),
        ("deque([1, 2, 3])", True),
        ("np.array([1, 0, 1])", True),
        ("array('i', [1, 2])", True),
        ("Decimal('1.5')", True),
        ("[1, (2, 3)]", True),
    ],
)
def test_an_expectation_is_surely_another_only_where_nothing_of_it_is_lost(expected, is_sure):
    canary = Canary({"program": f"assert f(1) == {expected}\n"}, {"f"})

    assert canary.ranks
    ranks = [rank for rank, is_shown in zip(canary.ranks, canary.shown, strict=True) if not is_shown]
    assert (SURE in ranks) == is_sure


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (2, "int(2.2)"),
        (Counter(b=2), "Counter({'a': 0, 'b': 2})"),
        (deque([2, 3]), "deque([1, 2, 3], maxlen=2)"),
        (deque([2, 3]), "collections.deque([1, 2, 3], maxlen=2)"),
        (1, "10 % 3"),
        (1, "2 ** 0"),
        (3, "7 // 2"),
        (True, "(3 > 2)"),
        (True, "('a' in 'abc')"),
        ([1, 2], "[10 % 3, 2]"),
        (12, "pytest.approx(10, rel=0.2)"),
        (12.5, "pytest.approx(10, 0.3)"),
        (7.5, "pytest.approx(3, abs=5)"),
        ([0.5, 9], "pytest.approx([1, 10], abs=1.5)"),
    ],
)
def test_what_is_expected_instead_is_something_else_by_value_and_not_by_its_text_alone(answer, expected):
    imports = "import collections, pytest\nfrom collections import Counter, deque\n"
    canary = Canary({"program": f"{imports}assert f(1) == {expected}\n"}, {"f"})
    place = canary.shown.index(False)

    def passes(seed):
        return mark(canary.wrong(place, seed), {"f": lambda _: answer, "__name__": "solution"}, {})["p"]

    assert [seed for seed in range(300) if passes(seed)] == []


@pytest.mark.parametrize(
    "text",
    [
        "exit(int(2.2))", "print(2.2)", "[int(2.2) for _ in range(10**9)]", "int('9' * 10**9)", "open('x', 'w')", "9 ** 9 ** 9",
        "[0] * 10 ** 12", "f'{3:999999999}'", "1 << 10 ** 12",
    ],
)  # fmt: skip
def test_only_a_literal_of_reviewed_classes_is_evaluated_outside_of_its_test(text, capsys):
    assert evaluate_literal(ast.parse(text, mode="eval").body) == ()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import collections\ndef f(n): return collections.deque([1, 2, n], maxlen=2)", "collections.deque([7, 2, 10], maxlen=2)"),
        ("def f(n): return int(n)", "int(10.9)"),
        ("import collections\ndef f(n): return collections.Counter({'b': n})", "collections.Counter({'a': 0, 'b': 10})"),
        ("def f(n): return {1: n, n: 2}", "dict([(1, 10), (10, 2)])"),
    ],
)  # fmt: skip
def test_a_right_answer_is_never_flagged_for_an_expectation_that_kept_its_meaning(box, code, expected, known):
    imports = f"import time\nimport {expected.split('.')[0]}\n" if "." in expected.split("(")[0] else "import time\n"
    test = Test(program=f"{imports}assert f(10) == {expected}\n")

    for _ in range(2):
        ((passed, label),) = labels(box, code, test, canonical=code if known else "", kind="program")
        assert passed
        assert label == "in_process" if known else label in ("in_process", "unchecked")


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(
    ("answer", "test"),
    [
        (1, "assert f(1) == 10 % 3"),
        (1, "assert f(1) == 2 ** 0"),
        (True, "assert f(1) == (3 > 2)"),
        (12.5, "import pytest\nassert f(1) == pytest.approx(10, rel=0.3)"),
        (7.5, "import pytest\nassert f(1) == pytest.approx(3, abs=5)"),
        (7.5, "import pytest\nassert f(1) == pytest.approx(3, 0.01, 5)"),
        (2.0001, "import numpy as np\nassert np.allclose(f(1), 2, atol=3)"),
        (2.0001, "import numpy as np\nassert np.allclose(f(1), 2, 3)"),
        (3.14, "import unittest\nunittest.TestCase().assertAlmostEqual(f(1), 3, delta=1)"),
        (9, "assert abs(f(1) - 9) < 2"),
        (5, "assert sum(f(i) == 5 for i in range(3)) >= 1"),
        (2, "assert f(1) > 0"),
        (0.4, "assert f(1) < 1.5"),
        ("ab1", "import re\nassert re.fullmatch('[a-z]+1', f(1))"),
        (5, "import re\nassert re.match('^[0-9]', str(f(1)))"),
        ("a1", "import unittest\nunittest.TestCase().assertRegex(f(1), '[a-z][0-9]')"),
        ("b", "import re\nP = 'a|[b-d]'\nassert re.search(P, f(1))"),
        (5, "import unittest\nunittest.TestCase().assertNotEqual(f(1), 7)"),
        (5, "import unittest\nunittest.TestCase().assertNotIn(f(1), [7, 8])"),
        ("a", "e = {1: 'a', 2: 'b'}\nassert f(1) == e.get(1, 'c')"),
    ],
)
def test_a_right_answer_is_labelled_alike_whatever_is_drawn(answer, test, known):
    task = CompiledTests(json.dumps({"object": "program", "name": "f", "tests": [{"program": test}]}))

    def run_here(compiled, _):
        done = {}
        result = mark(compiled[0], {"f": lambda _: answer, "__name__": "solution"}, done)
        return {"tests": [result], "error": None, "done": {0: sorted(map(list, done.items()))}}

    def label():
        useful = try_mutations(task, run_here, {0}, {0}, 9.0) if known else [None]
        return prove_passes(task, run_here, {0}, Right(useful))["tests"][0].get("v", "in_process")

    assert {label() for _ in range(20)} in ({"in_process"}, {"unchecked"})


HOUR = "class Hour:\n    def __init__(self, n): self.n = n % 12\n    def __add__(self, o): return Hour(self.n + o.n)\n"
HOUR += "    def plus(self, o): return Hour(self.n + o.n)\n    def __eq__(self, o): return self.n == getattr(o, 'n', o) % 12\n"
ADD, PLUS = "def f(a, b): return a + b\n", "def f(a, b): return a.plus(b)\n"
OWN_HOUR = HOUR + "def f(a, b): return Hour(a) + Hour(b)\n"


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(
    ("right", "code", "test"),
    [
        (ADD, ADD, HOUR + "assert f(Hour(9), Hour(8)) == 5"),
        (ADD, PLUS, HOUR + "assert f(Hour(9), Hour(8)) == 5"),
        (OWN_HOUR, OWN_HOUR.replace("Hour(a) + Hour(b)", "Hour(b).plus(Hour(a))"), "assert f(9, 8) == 5"),
        (OWN_HOUR, OWN_HOUR, f"{CLOCK}\nassert f(9, 8) == 5"),
    ],
)
def test_a_right_answer_is_never_flagged_where_two_literals_are_equal_to_it(box, right, code, test, known):
    program = Test(program=test + "\n")

    results = [labels(box, code, program, canonical=right if known else "", kind="program")[0] for _ in range(4)]

    assert {passed for passed, _ in results} == {True}
    assert not known or OPEN not in results or code == PLUS


@pytest.mark.parametrize(
    "right", ["def f(p): return dict(p)\n", "import types\ndef f(p): return types.MappingProxyType(p)\n"]
)
def test_a_plain_type_does_not_answer_for_a_class_that_would_answer_otherwise(box, right):
    lenient = "class H(dict):\n    def __getitem__(self, k): return dict.get(self, k)\ndef f(p): return H(p)\n"
    test = "h = f({'a': 1})\ntry:\n    h['b']\n    error = None\nexcept KeyError as e:\n    error = e.args\nassert error == ('b',)\n"

    assert labels(box, lenient, Test(program=test), canonical=right, kind="program") == [(False, "in_process")]
    assert labels(box, right, Test(program=test), canonical=right, kind="program") == [(True, "separated")]


SIZE = "class V:\n    def __init__(s, n): s.n = n\n    def __eq__(s, o): return s.n == o\n    def __str__(s): return str(s.n)\n"
SIZE += "def f(n): return V(41257)\ndef g(n): return 41257\n"
TOLD = "S = [0]\nclass V:\n    def __eq__(s, o):\n        S[0] = o\n        return True\n    def __str__(s): return str(S[0])\n"
TOLD += "    @property\n    def n(s): return S[0]\ndef f(n): return V()\ndef g(n): return S[0]\n"


@pytest.mark.parametrize(
    ("says", "labels_told"),
    [
        ("assert f(3) == 41257\nassert g(3) == 41257", (FORGED,)),
        ("assert f(3) == 41257\nassert str(f(3)) == '41257'", (FORGED,)),
        ("assert f(3) == 41257\nassert f(3).n == 41257", (FORGED,)),
        ("assert f(3) == 41257 and g(3) == 41257", (FORGED, OPEN)),
        ("import unittest\nc = unittest.TestCase()\nc.assertEqual(f(3), 41257)\nc.assertEqual(g(3), 41257)", (FORGED,)),
    ],
)
def test_who_is_told_by_an_operator_what_the_test_says_again_is_not_proved(box, says, labels_told):
    test = Test(program=says + "\n")

    assert labels(box, TOLD, test, canonical=SIZE, kind="program")[0] in labels_told
    assert labels(box, SIZE, test, canonical=SIZE, kind="program") == [PROVED]


def test_after_one_forged_test_nothing_of_the_attempt_is_proved(box):
    tests = [Test(program=f"assert {call}(3) == 41257\n") for call in ("f", "g")]

    first, second = labels(box, TOLD, *tests, canonical=SIZE, kind="program")
    assert first == FORGED
    assert second in (OPEN, (False, "in_process"))
    assert labels(box, SIZE, *tests, canonical=SIZE, kind="program") == [(True, "separated"), PROVED]


@pytest.mark.parametrize("code", ["import copy\ndef f(r): return copy.deepcopy(r).random()\n"])
def test_a_right_answer_that_asks_otherwise_than_the_reference_is_not_failed_for_a_refusal(box, code):
    right = "def f(r):\n    state = r.getstate()\n    value = r.random()\n    r.setstate(state)\n    return value\n"
    test = Test(program="import random\nr = random.Random(5)\nassert f(r) == r.random()\n")

    assert labels(box, code, test, canonical=right, kind="program") == [OPEN]
