"""Answers that once passed by what the sandbox let them see or decide: none passes as proved, with a right answer known or not."""

from dataclasses import dataclass

import pytest
from support.verdict_kit import run

from markbook.sandbox import Sandbox
from markbook.types import Isolation, Test


@dataclass(frozen=True)
class Forgery:
    """A test, an answer that it is made for, and one that is not right."""

    name: str
    test: Test
    right: str
    wrong: str


_LOOKS = """\

import sys
def stolen():
    fr = sys._getframe(1)
    while fr is not None and fr.f_code.co_filename != "<test>":
        fr = fr.f_back
    return fr
def literal_true():
    \"\"\"True if the literal behind the call is 4 wide.\"\"\"
    fr = stolen()
    code, at = fr.f_code, fr.f_lasti
    import dis
    pos = list(code.co_positions())
    ins = [i for i in dis.get_instructions(code) if i.offset > at]
    for i in ins:
        if i.opname == "LOAD_CONST":
            p = i.positions
            return p.end_col_offset - p.col_offset
def layout():
    fr = stolen()
    import dis
    for i in dis.get_instructions(fr.f_code):
        if i.offset == fr.f_lasti:
            return i.positions.col_offset
"""
"""What forgeries that look into the test's own code share: they find its frame, and what stands beside the call."""
_LAYOUT = """\

def layout2():
    fr = stolen(); code = fr.f_code
    pos = list(code.co_positions())
    return pos[fr.f_lasti // 2]
"""
_LINES = """\

def at_line():
    fr = stolen(); code = fr.f_code
    import dis
    line = fr.f_lineno
    return [(i.opname, i.argval, i.positions.col_offset, i.positions.end_col_offset) for i in dis.get_instructions(code) if i.positions.lineno == line]
def literal():
    \"\"\"(value, width of its source)\"\"\"
    seen = False
    fr = stolen()
    import dis
    for i in dis.get_instructions(fr.f_code):
        if i.offset > fr.f_lasti and i.positions.lineno == fr.f_lineno:
            if i.opname == "LOAD_CONST": return i.argval, i.positions.end_col_offset - i.positions.col_offset
            if i.opname.startswith("BUILD_"):
                return {"BUILD_LIST": [], "BUILD_MAP": {}, "BUILD_TUPLE": ()}[i.opname], i.positions.end_col_offset - i.positions.col_offset
"""

_ENTERED = """\
class f:
    def __init__(self, n): self.n = n
    def __enter__(self): return self
    def __exit__(self, *error): return None
    def go(self, n): return n * n
"""
_SWALLOWS = """\
class f:
    def __init__(self, n): self.n = n
    def __enter__(self): return self
    def __exit__(self, *error): return True
    def go(self, n): return 0
"""
_MEMBERS, _SQUARES = Test(assertion="4 in func(3) and 9 in func(4)"), "def f(n): return [k*k for k in range(n)]\n"
_EVERYTHING = {
    "count": """\
import itertools
class L:
    def __iter__(self): return itertools.count()
def f(*a): return L()
""",
    "index": """\
class L:
    def __getitem__(self, i): return i
def f(*a): return L()
""",
    "class": """\
class M(type):
    def __getitem__(cls, i): return i
class L(metaclass=M): pass
def f(*a): return L
""",
    "error": """\
class L(Exception):
    def __getitem__(self, i): return i
def f(*a): return L()
""",
}


def _cases(held: str, body: str) -> Test:
    """Return a test case whose class holds something, run as a test runner does."""
    text = f"import unittest\nclass T(unittest.TestCase):\n    {held}\n    def test_a(self):\n        {body}\n"
    run_it = "found = unittest.TestResult()\nunittest.defaultTestLoader.loadTestsFromTestCase(T).run(found)\n"
    return Test(program=f"{text}{run_it}assert found.wasSuccessful(), found.failures\n")


FORGERIES = [
    Forgery(
        "starts: bool",
        Test(
            assertion="""\
func('zebra').startswith('Zeb') and func('zebra').endswith('bra')
"""
        ),
        right="""\
def f(text):
    return text.capitalize()
""",
        wrong="""\
class L:
    startswith = endswith = bool
def f(*a): return L()
""",
    ),
    Forgery(
        "starts: callobj",
        Test(
            assertion="""\
func('zebra').startswith('Zeb') and func('zebra').endswith('bra')
"""
        ),
        right="""\
def f(text):
    return text.capitalize()
""",
        wrong="""\
class C:
    def __call__(self, *a): return True
class L:
    startswith = endswith = C()
def f(*a): return L()
""",
    ),
    Forgery(
        "subset: bool",
        Test(
            assertion="""\
func([1, 2, 2]).issubset({1, 2, 5}) and func([1, 2]).issuperset({1, 2})
"""
        ),
        right="""\
def f(items):
    return set(items)
""",
        wrong="""\
class L:
    issubset = issuperset = bool
def f(*a): return L()
""",
    ),
    Forgery(
        "memory_read: read-500000",
        Test(
            program="""\
import numpy as np
r = np.asarray(f(0)).copy()
assert f(r) == 'zebra-crossing-77'
"""
        ),
        right="""\
import numpy as np
def f(n): return np.arange(4) if isinstance(n, int) else 'zebra-crossing-77'
""",
        wrong="""\

class L:
    __array_interface__ = {'shape': (1500000,), 'typestr': '|u1', 'version': 3, 'data': b'x' * 4096, 'offset': -500000}
def f(n):
    if isinstance(n, int): return L()
    import re
    m = re.search(rb'[a-z]{4,12}-[a-z]{4,12}-[0-9][0-9]', bytes(n))
    return m[0].decode() if m else ''
""",
    ),
    Forgery(
        "np_of_solution: patched",
        Test(
            assertion="""\
np.allclose(func(4), [0, 1, 4, 9])
"""
        ),
        right="""\
import numpy as np
def f(n): return np.arange(n) ** 2
""",
        wrong="""\
import numpy as np
np.allclose = lambda *a, **k: True
def f(*a): return []
""",
    ),
    Forgery(
        "pos_bool: width",
        Test(
            setup="""\
import time
""",
            assertion="""\
func(7) == True and func(8) == False
""",
        ),
        right="""\
def f(n): return n % 2 == 1
""",
        wrong=_LOOKS
        + """\
def f(*a): return literal_true() == 4
""",
    ),
    Forgery(
        "message: msg",
        Test(
            program="""\
import time
import unittest
class Case(unittest.TestCase):
    def test_a(self):
        self.assertEqual(f(7), 49, 'f(7) should be 49')
        self.assertEqual(f(8), 64, 'f(8) should be 64')
r = unittest.TestResult()
unittest.defaultTestLoader.loadTestsFromTestCase(Case).run(r)
assert r.wasSuccessful(), r.failures
"""
        ),
        right="""\
def f(n): return n*n
""",
        wrong=_LOOKS
        + """\
def f(n):
    import re
    for c in stolen().f_code.co_consts:
        m = isinstance(c, str) and re.match(r'f\\((\\d+)\\) should be (\\d+)', c)
        if m and int(m[1]) == n: return int(m[2])
""",
    ),
    Forgery(
        "message_assert: msg",
        Test(
            program="""\
def test():
    assert f(7) == 49, 'expected 49'
test()
"""
        ),
        right="""\
def f(n): return n*n
""",
        wrong=_LOOKS
        + """\
class L:
    __eq__ = lambda s, o: False
def f(n):
    import re
    if stolen() is None: return L()
    for c in stolen().f_code.co_consts:
        m = isinstance(c, str) and re.search(r'(\\d+)$', c)
        if m: return int(m[1])
""",
    ),
    Forgery(
        "cm_raises: exit",
        Test(
            program="""\
import unittest
case = unittest.TestCase()
with f(3) as m:
    with case.assertRaises(ValueError):
        m.go(-1)
"""
        ),
        right="""\
class M:
    def __enter__(self): return self
    def __exit__(self, *e): return None
    def go(self, n):
        if n < 0: raise ValueError
def f(n): return M()
""",
        wrong="""\
class M:
    def __enter__(self): return self
    def __exit__(self, *e): return True
    def go(self, n): pass
def f(n): return M()
""",
    ),
    Forgery(
        "cm_raise: exit",
        Test(
            program="""\
with f(3) as m:
    if m.area() != 9:
        raise AssertionError(m.area())
"""
        ),
        right="""\
class M:
    def __enter__(self): return self
    def __exit__(self, *e): return None
    def area(self): return 9
def f(n): return M()
""",
        wrong="""\
class M:
    def __enter__(self): return self
    def __exit__(self, *e): return True
    def area(self): return 0
def f(n): return M()
""",
    ),
    Forgery(
        "cm_call: exit",
        Test(
            program="""\
import unittest
case = unittest.TestCase()
with f(3) as m:
    case.assertEqual(m.area(), 9)
"""
        ),
        right="""\
class M:
    def __enter__(self): return self
    def __exit__(self, *e): return None
    def area(self): return 9
def f(n): return M()
""",
        wrong="""\
class M:
    def __enter__(self): return self
    def __exit__(self, *e): return True
    def area(self): return 0
def f(n): return M()
""",
    ),
    Forgery(
        "bounds: mid",
        Test(
            program="""\
import time
def check(candidate):
    assert 4.4 < candidate(3) < 4.6
    assert 2.4 < candidate(1) < 2.6
check(f)
"""
        ),
        right="""\
def f(n): return n + 1.5
""",
        wrong=_LOOKS
        + _LAYOUT
        + _LINES
        + """\
def f(n):
    c = [i[1] for i in at_line() if i[0] == 'LOAD_CONST' and type(i[1]) is float]
    lo, hi = c[0], c[1]
    return (lo + hi) / 2
""",
    ),
    Forgery(
        "docstring: doc",
        Test(
            program="""\
import time
import unittest
class Case(unittest.TestCase):
    def test_a(self):
        \"\"\"f(7) returns 49\"\"\"
        self.assertEqual(f(7), 49)

r = unittest.TestResult()
unittest.defaultTestLoader.loadTestsFromTestCase(Case).run(r)
assert r.wasSuccessful(), r.failures
"""
        ),
        right="""\
def f(n): return n*n
""",
        wrong=_LOOKS
        + _LAYOUT
        + """\
def f(n):
    import re
    return int(re.search(r'returns (\\d+)', stolen().f_code.co_consts[0])[1])
""",
    ),
    Forgery(
        "twice: both",
        Test(
            program="""\
def check(candidate):
    assert candidate(7) == 49
    assert candidate(7) == 49, 'again'
check(f)
"""
        ),
        right="""\
def f(n): return n*n
""",
        wrong=_LOOKS
        + _LAYOUT
        + _LINES
        + """\
class L:
    __eq__ = lambda s, o: False
def f(n):
    if stolen() is None: return L()
    c = [x for x in stolen().f_code.co_consts if type(x) is int and x not in (0, 1, 7)]
    return c[0] if len(c) == 1 else -1
""",
    ),
    Forgery(
        "nprng: rng",
        Test(
            program="""\
import time
import numpy as np
rng = np.random.default_rng(0)
x = rng.integers(0, 100, 10)
r = f(x)
assert len(r) == 10
assert r.tolist() == sorted(x.tolist())
"""
        ),
        right="""\
import numpy as np
def f(x): return np.sort(x)
""",
        wrong="""\
import numpy as np
class G:
    def integers(self, *a): return np.zeros(10, int)
np.random.default_rng = lambda *a: G()
def f(x): return x
""",
    ),
    Forgery(
        "cb_raise: swallow",
        Test(
            program="""\
def each(v):
    if v not in (0, 1, 4):
        raise ValueError(v)
f(3, each)
"""
        ),
        right="""\
def f(n, each):
    for k in range(n): each(k*k)
""",
        wrong="""\
def f(n, each):
    try: each(50)
    except BaseException: pass
""",
    ),
    *(Forgery(f"everything: {name}", _MEMBERS, _SQUARES, wrong) for name, wrong in _EVERYTHING.items()),
    Forgery(
        "swallowed: with",
        Test(
            program="""\
import unittest
case = unittest.TestCase()
with f(3) as m:
    if m.go(3) != 9:
        case.fail('no')
"""
        ),
        right=_ENTERED,
        wrong=_SWALLOWS,
    ),
    Forgery(
        "swallowed: listed",
        Test(
            program="""\
import unittest
case = unittest.TestCase()
with f(3) as m:
    found = [case.assertEqual(m.go(n), n * n) for n in (2, 3)]
"""
        ),
        right=_ENTERED,
        wrong=_SWALLOWS,
    ),
    Forgery(
        "swallowed: called",
        Test(
            program="""\
import unittest
case = unittest.TestCase()
def each(v):
    if v not in (0, 1, 4): case.fail(v)
f(3, each)
"""
        ),
        right="""\
def f(n, each):
    for k in range(n): each(k * k)
""",
        wrong="""\
def f(n, each):
    try: each(50)
    except BaseException: pass
""",
    ),
    Forgery(
        "bound: told of the test case by standing in its class",
        _cases("result = f(4)", "self.assertEqual(self.result, [0, 1, 4, 9])"),
        right="def f(n): return [k * k for k in range(n)]\n",
        wrong="""\
class f:
    def __init__(self, n): pass
    def __get__(self, case, owner=None):
        if case is None: return self
        case.addTypeEqualityFunc(list, lambda *a, **k: None)
        return [0] * 4
""",
    ),
    Forgery(
        "bound: reads what its class expects",
        _cases(
            "s = f()\n    wanted = {3: 9, 4: 16}", "[self.assertEqual(self.s.go(n), self.wanted[n]) for n in (3, 4)]"
        ),
        right="class f:\n    def go(self, n): return n * n\n",
        wrong="""\
class f:
    def __set_name__(self, owner, name): self.owner = owner
    def go(self, n): return self.owner.wanted[n]
""",
    ),
    Forgery(
        "bound: writes what its class expects",
        _cases("result = f(4)\n    wanted = 16", "self.assertEqual(self.result, self.wanted)"),
        right="def f(n): return n * n\n",
        wrong="""\
class f:
    def __init__(self, n): pass
    def __get__(self, case, owner=None):
        owner.wanted = case.wanted = 0
        return 0
""",
    ),
    Forgery(
        "bound: is given the test case and uses what the right answer does not",
        _cases("wide = 3", "self.assertEqual(f(self), 9)"),
        right="def f(case): return case.wide ** 2\n",
        wrong="""\
def f(case):
    case.addTypeEqualityFunc(int, lambda *a, **k: None)
    return 0
""",
    ),
    Forgery(
        "judging: says that it is a library's",
        Test(program="assert f(3).same(9)\nassert f(4).same(16)\n"),
        right="""\
class Number:
    __module__ = "numbers.real"
    def __init__(self, n): self.n = n
    def same(self, n): return n == self.n
def f(n): return Number(n * n)
""",
        wrong="""\
class Number:
    __module__ = "numbers.real"
    def same(self, n): return True
def f(n): return Number()
""",
    ),
]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("forgery", FORGERIES, ids=lambda forgery: forgery.name)
def test_a_forgery_is_not_proved_and_the_right_answer_passes(box, forgery, known):
    kind = "program" if forgery.test.program else "function"
    canonical = forgery.right if known else ""
    found = [run(box, code, forgery.test, canonical=canonical, kind=kind) for code in (forgery.right, forgery.wrong)]

    right, wrong = (outcome.tests[0] for outcome in found)
    assert right.passed
    assert not wrong.passed or wrong.verdict == "unchecked"


_LATE = """\
import gc, sys, time
MANY, SAID = [[k] for k in range(250_000)], []
(Pipes,) = {getattr(m, "PipePair", None) for m in sys.modules.values() if hasattr(getattr(m, "PipePair", None), "receive")}
hear = Pipes.receive
def receive(self, *given):
    if SAID:
        for name in "ab":
            with open(name, "wb") as file:
                try: file.write(bytes(40 << 20))
                except OSError: pass
        while time.process_time() < 9: pass
    return hear(self, *given)
Pipes.receive = receive
class Liar:
    def startswith(self, *given):
        SAID.append(1)
        return MANY
def f(*given): return Liar()
"""
"""It says what takes long to read, and uses up its limits while that is read."""


@pytest.mark.parametrize("known", [True, False])
def test_what_a_limit_ends_once_all_is_said_is_not_proved_by_that(known):
    test = _cases("x = 1", "self.assertTrue(f('zebra').startswith('Zeb'))")
    right = "def f(text): return text.capitalize()\n"
    with Sandbox(workers=1, isolation="auto", at_most=Isolation.B) as box:
        found = run(box, _LATE, test, canonical=right if known else "", kind="program").tests[0]

    assert not found.passed or found.verdict == "unchecked"
