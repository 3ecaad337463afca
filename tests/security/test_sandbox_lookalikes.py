"""Wrong runs that nobody tells from the true one, verdicts that nobody swallows, and honest answers that look into things."""

import ast
import json
import marshal
from collections import Counter

import pytest
from support.verdict_kit import run

from markbook.sandbox.guest import wire
from markbook.sandbox.guest.examination.in_process_tests import canaries
from markbook.sandbox.guest.examination.mutated_expectations import ExpectationFinder
from markbook.sandbox.guest.examination.mutated_values import draw_from
from markbook.sandbox.guest.examination.mutation_canary import deals, list_claims, partition_claims
from markbook.sandbox.guest.examination.mutation_operators import SURE, ExpectedValues
from markbook.sandbox.guest.examination.programs import portable
from markbook.sandbox.guest.examination.tasks import CompiledTests
from markbook.types import Test

KNOWN = pytest.mark.parametrize("known", [True, False])
READS = """
import dis, sys
def frame():
    found = sys._getframe(1)
    while found is not None and found.f_code.co_filename != '<test>':
        found = found.f_back
    return found
def constants(code):
    for value in code.co_consts:
        if hasattr(value, 'co_consts'): yield from constants(value)
        else: yield value
def names(code):
    yield from code.co_names
    for value in code.co_consts:
        if hasattr(value, 'co_consts'): yield from names(value)
class Never:
    def __eq__(self, other): return False
    __hash__ = None
"""


def becomes(program, literal, draws=180):
    """Return what a literal of a test of `f` becomes that is made wrong, by how often it does."""
    found = Counter()
    for seed in range(draws):
        draw_from((seed << 6) + seed % 60)
        tree = ast.parse(program)
        site = next(
            site for site in ExpectationFinder([tree], {"f"}).sites if site.node and ast.unparse(site.node) == literal
        )
        site.change()
        found[ast.unparse(site.node)] += 1
    return found


@pytest.mark.parametrize(
    ("program", "literal", "likely"),
    [
        ("for given, want in [('()', 'Yes'), ('(', 'No')]:\n    assert f(given) == want, given", "'Yes'", ["'No'"]),
        ("inputs = ['()', '(']\nresults = ['Yes', 'No']\nfor a, b in zip(inputs, results):\n    assert f(a) == b", "'Yes'", ["'No'"]),
        ("case.assertEqual(f('()'), 'Yes', 'balanced')\ncase.assertEqual(f('('), 'No', 'open')", "'Yes'", ["'No'"]),
        ("assert f([[1, 2], [3, 4]]) == [[1, 3], [2, 4]]", "[[1, 3], [2, 4]]", ["[[2, 4], [1, 3]]", "[[1, 4], [2, 3]]"]),
        ("assert f([2.5, 0.5]) == [0.5, 2.5]", "[0.5, 2.5]", ["[2.5, 0.5]"]),
        ("assert f([-2, -9]) == [-9, -2]", "[-9, -2]", ["[-2, -9]"]),
        ("assert f('three one') == 'one three'", "'one three'", ["'three one'"]),
        ("assert f('ab', [1, 2]) == {'a': 1, 'b': 2}", "{'a': 1, 'b': 2}", ["{'a': 2, 'b': 1}"]),
        ("assert f([]) == []\nassert f('ba') == [('a', 1), ('b', 1)]", "[]", ["[('a', 1)]", "[('b', 1)]"]),
        ("assert f('disk error') == 3\nassert f('x') == 7", "3", ["7"]),
    ],
)  # fmt: skip
def test_wrong_values_are_such_as_are_right_elsewhere(program, literal, likely):
    found = becomes(program, literal)

    assert sum(found[text] for text in likely) > 15


def test_what_looks_for_something_looks_for_what_is_asked_or_looked_for_elsewhere():
    program = "assert 'error' in f('disk error at 5')\nassert 'warning' in f('a warning here')"
    found = Counter()
    for seed in range(180):
        draw_from((seed << 6) + seed % 60)
        tree = ast.parse(program)
        ExpectationFinder([tree], {"f"}).sites[0].change()
        found[tree.body[0].test.left.value] += 1

    assert found["warning"] > 15
    assert found["disk"] > 5


def test_a_share_stays_a_share_and_is_far_enough_away_to_be_told():
    exact = [float(text) for text in becomes("assert f(3) == 0.6667", "0.6667")]
    near = [float(text) for text in becomes("assert abs(f(3) - 0.6667) < 0.25", "0.6667")]

    assert all(0 < value < 1 and abs(value - 0.6667) > 0.06 for value in exact)
    assert all(abs(value - 0.6667) > 0.25 for value in near)


def test_the_first_value_of_a_key_that_comes_again_is_never_made_wrong():
    found = becomes("assert f(3) == {'a': 5, 'b': 2, 'a': 1}", "{'a': 5, 'b': 2, 'a': 1}")

    right = {"a": 1, "b": 2}
    assert all(ast.literal_eval(text) != right for text in found)


def test_the_cases_of_a_loop_are_expected_for_certain_unless_one_may_be_passed_by():
    sure = "for given, want in [(1, 1), (2, 4)]:\n    {}assert f(given) == want"
    ranks = [
        [site.rank for site in ExpectationFinder([ast.parse(sure.format(text))], {"f"}).sites if site.node]
        for text in ("", "if given > 1: continue\n    ")
    ]

    assert ranks[0] == [SURE, SURE]
    assert SURE not in ranks[1]


def task_of(*tests):
    return CompiledTests(
        json.dumps({"object": "function", "name": "f", "tests": [{"assertion": test} for test in tests]})
    )


def test_what_can_be_seen_to_be_wrong_has_runs_of_its_own_and_few_tests_are_wrong_at_once():
    task = task_of(*(f"func({number}) == {number * number}" for number in range(3, 15)))
    found = canaries(task)

    hidden, shown = partition_claims({index: list_claims(canary, None) for index, canary in enumerate(found)}, found)
    dealt = deals(hidden, 8, 0)
    seen = deals(shown, 8, 0)

    assert len(dealt) == len(seen) == 4
    assert [len(deal) for deal in dealt] == [3, 3, 3, 3]
    assert not any(found[index].shown[place] for deal in dealt for index, (place, _) in deal.items())
    assert all(found[index].shown[place] for deal in seen for index, (place, _) in deal.items())


LONG = """cases = [[1, 2, 4], [2, 3, 9], [5, 1, 7], ['a', 'b', 'ab']]
answers = [case[-1] for case in cases]

def same(got, right):
    'Compares.'
    return got == right

for number, case in enumerate(cases):
    assert same(func(*case[:2]), answers[number]), 'another'
assert func(3, 4) == 7 and not func(1, 1) > 9
assert func(1, 2) in (3, 4)
assert isinstance(func(1, 2), int)
"""


@pytest.mark.parametrize(
    "test",
    [{"program": LONG}, {"assertion": "func(7, [1, 2]) == [49, {'a': 1.5}]"}, {"assertion": "func(7) == int(2.9)"}],
)
def test_a_test_made_wrong_again_and_again_is_parsed_once_and_what_was_wrong_before_leaves_no_trace(monkeypatch, test):
    spec = json.dumps({"object": "program" if "program" in test else "function", "name": "f", "tests": [test]})
    places = range(len(canaries(CompiledTests(spec))[0].ranks))
    variants = [(place, seed, seed % 2 == 1) for seed in range(4) for place in places]

    def wrong(canary, place, seed, alike):
        return canary.wrong(place, seed, alike=alike)

    alone = [wrong(*canaries(CompiledTests(spec)), *variant) for variant in variants]
    (canary,) = canaries(CompiledTests(spec))
    parse, parses = ast.parse, []
    monkeypatch.setattr(ast, "parse", lambda *given, **options: parses.append(given) or parse(*given, **options))

    assert [wrong(canary, *variant) for variant in variants] == alone
    assert len(parses) == sum(1 for text in test.values() if text)
    assert len({marshal.dumps(compiled[1:3]) for compiled in alone if compiled}) > 3


def test_what_two_tests_say_alike_is_made_wrong_in_both():
    first, second, third = canaries(task_of("func(7) == 49", "func(7) == 49", "func(9) == 81"))

    first.wrong(next(place for place, seen in enumerate(first.shown) if not seen), 5)
    followed = second.following(first)

    assert followed is not None
    assert 49 not in followed[2].co_consts
    assert third.following(first) is None


@pytest.mark.parametrize(
    "text",
    [
        "assert f(7) == 49123",
        "assert f('a b') == ['hello there', 'two', 3.25, (1, 2)]",
        "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(3), {'a b': 9.5, 'c': [7, 700]})",
        "def check(c):\n    assert c(300) == 90000\n    assert c(20) == 400\n    assert c('é x') == b'xyz'\ncheck(f)",
        "@staticmethod\ndef g(a):\n    for n, want in [(1, 1000), (20, 4000)]:\n        assert f(n) == want, n\ng(1)",
    ],
)
def test_a_wrong_test_is_byte_for_byte_the_true_one_of_a_task_that_expects_that(text):
    def task(program):
        return CompiledTests(json.dumps({"object": "function", "name": "f", "tests": [{"program": program}]}))

    text = ast.unparse(ast.parse(text))
    (found,) = canaries(task(text))
    compared = 0
    for seed in range(40):
        for place, seen in enumerate(found.shown):
            draw_from((seed << 6) + seed)
            tree = ast.parse(text)
            ExpectationFinder([tree], {"f"}, (), ExpectedValues(found.expected)).sites[place].change()
            (same,) = canaries(task(ast.unparse(tree)))
            wrong = found.wrong(place, (seed << 6) + seed)
            if not seen and wrong is not None:
                compared += 1
                assert portable(wrong) == portable(same.as_shown())

    assert compared >= 40


@pytest.mark.parametrize(
    "value",
    [
        (1, "a", [2.5, None]),
        (slice(1, None, 2), "a", [slice("a", "b")]),  # what code holds from Python 3.14 on
    ],
)
def test_compiled_code_is_read_as_it_was_sent(value):
    code = compile("x = y[1:2]", "<test>", "exec").replace(co_consts=value)

    assert wire.load_code(portable(value)) == value
    assert wire.load_code(portable([code]))[0].co_consts == value


def test_no_line_says_that_parts_have_changed_places():
    text = "assert f(3) == [\n    f(1),\n    [1,\n 2],\n    [3,\n 4],\n]\nassert f(4) == {\n 'a': 1,\n 'b': 2}\n"
    (found,) = canaries(CompiledTests(json.dumps({"object": "function", "name": "f", "tests": [{"program": text}]})))
    lines = {line for _, _, line in found.as_shown()[2].co_lines()}
    wrongs = [
        found.wrong(place, (seed << 6) + seed)
        for seed in range(36)
        for place, seen in enumerate(found.shown)
        if not seen
    ]

    assert lines - {0, None} == {1, 8}
    assert all({line for _, _, line in wrong[2].co_lines()} == lines for wrong in wrongs)


SQUARE = "def f(n): return n * n\n"
TELLS = {
    "what an earlier test of the run shows": (
        [Test(assertion=f"func({n}) == {n * n}") for n in (3, 4, 5, 6, 7, 8, 9, 10, 3, 4, 5, 6)],
        """
SEEN, TOLD = {}, []
def f(*a):
    if frame() is None: return Never()
    code = frame().f_code
    asked, wanted = [i.argval for i in dis.get_instructions(code) if i.opname == 'LOAD_CONST'][:2]
    if '__markbook_other__' in names(code) or SEEN.setdefault(asked, wanted) != wanted: TOLD.append(1)
    return Never() if TOLD else wanted
""",
    ),
    "how its bytes are written": (
        [Test(assertion="func(7) == 49123"), Test(assertion="func(9) == 81456")],
        """
import marshal
RAW, load = [b''], marshal.loads
def loads(data):
    RAW.append(bytes(data))
    return load(data)
marshal.loads = loads
def f(*a):
    if frame() is None: return Never()
    wanted = [v for v in constants(frame().f_code) if type(v) is int and v not in a]
    if len(wanted) != 1: return Never()
    written = marshal.dumps(wanted[0])
    return Never() if bytes([written[0] | 128]) + written[1:] in RAW[-1] else wanted[0]
""",
    ),
    "what the true run hides": (
        [Test(program=f"import time\nassert f({n}) == {n * n}, '{n} squared'\n") for n in (7, 9, 4)],
        """
TOLD = []
def f(*a):
    found = [*constants(frame().f_code)]
    if any('squared' in text for text in found if isinstance(text, str)): TOLD.append(1)
    wanted = [v for v in found if type(v) is int and v > 9]
    return -1 if TOLD or not wanted else wanted[0]
""",
    ),
}


@KNOWN
@pytest.mark.parametrize("name", TELLS)
def test_nothing_tells_a_wrong_run_from_the_true_one(box, name, known):
    tests, forger = TELLS[name]
    kind = "program" if tests[0].program else "function"
    found = run(box, READS + forger, *tests, canonical=SQUARE if known else "", kind=kind)

    assert not any(test.passed and test.verdict == "in_process" for test in found.tests)


SWALLOWED = {
    "by the end of a generator": (
        "case = unittest.TestCase()\nit = f(lambda x: case.assertEqual(x, 9))\nassert next(it) == 'start'\nassert next(it, 'end') == 'end'\n",
        "def f(cb):\n    yield 'start'\n    cb(9)\n",
        "def f(cb):\n    yield 'start'\n    try: cb(0)\n    except BaseException: pass\n",
    ),
    "by another error on leaving": (
        "case = unittest.TestCase()\ntry:\n    with f(3) as got:\n        [case.assertEqual(got, 9)]\nexcept RuntimeError:\n    pass\nassert f is not None\n",
        "class f:\n    def __init__(s, n): s.n = n\n    def __enter__(s): return s.n * s.n\n    def __exit__(s, *e): return False\n",
        "class f:\n    def __init__(s, n): s.n = n\n    def __enter__(s): return 0\n    def __exit__(s, *e): raise RuntimeError\n",
    ),
    "by a way out that is called as a function": (
        "import contextlib\ncase = unittest.TestCase()\nwith contextlib.ExitStack() as stack:\n    m = f(3)\n    stack.push(m)\n    [case.assertEqual(m.go(), 9)]\nassert m is not None\n",
        "class f:\n    def __init__(s, n): s.n = n\n    def __exit__(s, *e): return None\n    def go(s): return s.n * s.n\n",
        "class f:\n    def __init__(s, n): s.n = n\n    def __exit__(s, *e): return True\n    def go(s): return 0\n",
    ),
}  # fmt: skip


@KNOWN
@pytest.mark.parametrize("name", SWALLOWED)
def test_a_verdict_that_is_swallowed_is_no_proved_pass(box, name, known):
    program, right, forger = SWALLOWED[name]
    test = Test(program="import unittest\n" + program)
    canonical = right if known else ""

    good = run(box, right, test, canonical=canonical, kind="program").tests[0]
    bad = run(box, forger, test, canonical=canonical, kind="program").tests[0]

    # a function of the test's that the solution calls counts as a change, which only the reference's own call excuses
    is_called = "lambda" in program and not known
    assert (good.passed, good.verdict) == (True, "in_process" if is_called else "separated")
    assert not bad.passed or bad.verdict == "unchecked"


HONEST = {
    "a signature": (
        "assert f(lambda a, b, c: a + b + c)(1)(2)(3) == 6\n",
        "def f(fn): return lambda a: lambda b: lambda c: fn(a, b, c)\n",
        """
import inspect
def f(fn):
    n = len(inspect.signature(fn).parameters)
    def g(*a): return fn(*a) if len(a) == n else lambda x: g(*a, x)
    return g
""",
    ),
    "a class": (
        "import enum\nclass Color(enum.Enum):\n    RED = 1\nassert f(Color.RED) == 1\nassert f(7) == 7\n",
        "def f(x): return getattr(x, 'value', x)\n",
        "import enum\ndef f(x): return x.value if isinstance(x, enum.Enum) else x\n",
    ),
    "a cause": (
        "try:\n    f()\nexcept ValueError as error:\n    seen = type(error.__cause__).__name__\nassert seen == 'KeyError'\n",
        "def f():\n    try: {}[1]\n    except KeyError as error: raise ValueError('x') from error\n",
        "class Own(ValueError): pass\ndef f():\n    try: {}[1]\n    except KeyError as error: raise Own('x') from error\n",
    ),
    "an error of two kinds": (
        "import pytest\nwith pytest.raises(ValueError):\n    f(-1)\n",
        "def f(n): raise ValueError(n)\n",
        "class Both(ValueError, KeyError): pass\ndef f(n): raise Both(n)\n",
    ),
    "as many as it found": (
        "found = f(12)\nassert sum(found) == 12\nfor number in found:\n    assert number in (2, 3, 5, 7)\n",
        "def f(n): return [5, 7]\n",
        "def f(n): return [2, 3, 7]\n",
    ),
    "a class of its own where the right answer's is a list": (
        "for data in ([1, 2, 3], 'abc', [None]):\n    s = f()\n    for x in data: s.push(x)\n    assert len(s) == len(data)\n    assert data[0] in s\n    assert list(s) == list(data)\n",
        "class f(list):\n    def push(self, x): self.append(x)\n",
        """
class f:
    def __init__(self): self.l = []
    def push(self, x): self.l.append(x)
    def __len__(self): return len(self.l)
    def __contains__(self, x): return x in self.l
    def __iter__(self): return iter(self.l)
""",
    ),
    "a class of its own where the right answer's holds functions": (
        "import random\na, m = f(), []\nfor x in random.sample(range(100), 10):\n    a.push(x); m.append(x)\n    assert a.last(1) == m[-1]\n",
        "from types import SimpleNamespace\ndef f():\n    l = []\n    return SimpleNamespace(push=lambda x: l.append(x), last=lambda k: l[-k])\n",
        "class f:\n    def __init__(self): self.l = []\n    def push(self, x): self.l.append(x)\n    def last(self, k): return self.l[-k]\n",
    ),
    "what is gone through where the right answer's is a range": (
        "c = f(3)\nassert list(c) == [3, 2, 1] and 2 in c\n",
        "def f(n): return range(n, 0, -1)\n",
        "class f:\n    def __init__(self, n): self.n = n\n    def __iter__(self): return iter(range(self.n, 0, -1))\n",
    ),
    "a name of the module that both are in": (
        "import logging\nfrom unittest.mock import patch\nwith patch(f'{__name__}.g', return_value=5):\n    assert f(3) == 5\nassert f.__module__ == __name__\n",
        "def g(n): return n\ndef f(n): return g(n)\n",
        "def g(n):\n    return n\nf = lambda n: g(n)\n",
    ),
    "objects of a class of the test's that are written down and read": (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\np = P(1)\nq = f(p)\nassert q == p and q is not p\n",
        "import copy\ndef f(o): return copy.deepcopy(o)\n",
        "import pickle\ndef f(o): return pickle.loads(pickle.dumps(o))\n",
    ),
    "a global name of its own that it gives another value": (
        "before = count\nf(3)\nf(4)\nassert count == before + 2\ndef check():\n    count = 0\n    f(5)\n    assert seen[-1] == 5\ncheck()\n",
        "count, seen = 0, []\ndef f(n):\n    global count\n    count += 1\n    seen.append(n)\n",
        "count, seen = 0, []\ndef f(n):\n    global count, seen\n    count, seen = count + 1, [*seen, n]\n",
    ),
    "bytes on standard output": (
        "assert f('x') == 1\n",
        "def f(x): return len(x)\n",
        "import sys\ndef f(x):\n    sys.stdout.reconfigure(line_buffering=True)\n    return sys.stdout.buffer.write(x.encode())\n",
    ),
}


@KNOWN
@pytest.mark.parametrize("name", HONEST)
def test_an_honest_answer_of_another_make_passes(box, name, known):
    program, right, other = HONEST[name]
    test = Test(program=program)
    canonical = right if known else ""

    for answer in (right, other):
        assert run(box, answer, test, canonical=canonical, kind="program").tests[0].passed


@KNOWN
@pytest.mark.parametrize(
    "loop",
    [
        "cases = enumerate(cases)\nfor _, (given, want) in cases:",
        "for given, want in zip([2, 3], map(int, ['4', '9'])):",
        "cases = [*cases]\ncases = zip(*zip(*cases))\nfor given, want in cases:",
    ],
)
def test_loops_over_what_names_itself_are_read(box, loop, known):
    program = f"cases = [(2, 4), (3, 9)]\n{loop}\n    assert f(given) == want\n"

    assert run(box, SQUARE, Test(program=program), canonical=SQUARE if known else "", kind="program").tests[0].passed


def test_a_loop_that_would_double_with_every_name_is_not_followed(box):
    doubled = "".join(f"a{number + 1} = zip(a{number}, a{number})\n" for number in range(40))
    program = f"a0 = [1, 2]\n{doubled}for one in a40:\n    break\nassert f(2) == 4\n"

    assert run(box, SQUARE, Test(program=program), canonical=SQUARE, kind="program").tests[0].passed


SAYS = """
import os, sys
def f(n):
    at = sys._getframe(1)
    while at is not None and at.f_code.co_name != "_beside": at = at.f_back
    if at is None: return n * n
    here = at.f_locals
    record = {"nonce": here["nonce"], "i": here["index"], "left": here["remaining"] - 1, "r": {"p": True}, "done": SAID}
    at.f_globals["_say"](here["link"], record)
    os._exit(0)
"""


@pytest.mark.parametrize("said", ["5", "[5]", "[[1]]", "[[[1], 2]]", "{'a': 1}", "'ab'", "[[0, 'x']]"])
def test_parts_of_another_shape_end_the_attempt_and_nothing_else(box, said):
    test = Test(program="import time\nassert f(2) == 4\n")

    bad = run(box, SAYS.replace("SAID", said), test, canonical=SQUARE, kind="program").tests[0]
    good = run(box, SQUARE, test, canonical=SQUARE, kind="program").tests[0]

    assert (bad.passed, bad.error_type) == (False, "ProcessExited")
    assert good.passed
