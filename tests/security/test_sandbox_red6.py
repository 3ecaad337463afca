"""What a fourth red team found: messages that run the test's code, names of Python's own, right and wrong answers mistaken.

None of `PROGRAMS` is to pass as `separated`; their attempts run in one sandbox, one after the other. Of the others the right
answers are to pass and the wrong ones to fail, as in plain Python.
"""

import pytest

from markbook.sandbox import Job, Sandbox
from markbook.types import Limits, Sample, Test

RAW = """
import sys
def peer():
    frame = sys._getframe()
    while "peer" not in frame.f_locals: frame = frame.f_back
    return frame.f_locals["peer"]
def raw(*request): return peer().request(*request)
def b(lent): return ["b", object.__getattribute__(lent, "__dict__")["_markbook_token"]]
class Wire:
    def __init__(self, form): self.form = form
next(m for n, m in list(sys.modules.items()) if n.endswith("exchange.values"))._PUT[Wire] = lambda t, w, d: w.form
"""
"""By this a solution speaks on the wire, past its own stand-ins: by requests, and by forms in its answers."""
GETATTR = "    def __getattr__(self, n):\n        LOG.append(n)\n        return 5\n"
CONTAINS = "    def __contains__(self, k):\n        LOG.append(k)\n        return dict.__contains__(self, k)\n"
SUNDER = (
    "import enum\nclass M:\n    @property\n    def %s(self):\n        LOG.append(1)\n        return 3\n    @%s.setter\n    def %s(self, v): pass\n"
    "class E(M, enum.Enum): A = 1\n"
)
CLASS = "class K:\n    def __init__(self): self.x = 3\n    @property\n    def __class__(self):\n        LOG.append(1)\n        return K\n"
PROXY = "class K:\n    def __getattribute__(self, n):\n        LOG.append(n)\n        return object.__getattribute__(self, n)\n"
PART = "class B: pass\nb = B()\nb.part = %s\n"
VIEW = (
    "import types, collections\nclass M(collections.UserDict):\n    def %s:\n        LOG.append(1)\n        return %s\n"
    + PART % "types.MappingProxyType(M(a=1))"
)
# what a test defines and lends, and a use of it that looks as if it only read: each runs the test's code
READING = {
    "empty slot": ("class K:\n    __slots__ = ('x', '__dict__')\n" + GETATTR, "K()", "k.x"),
    "empty slot of a subclass": ("class K(list):\n    __slots__ = ('x', '__dict__')\n" + GETATTR, "K()", "k.x"),
    "attributes in a dictionary of its own": (
        "class D(dict):\n" + CONTAINS + "class K:\n    def __init__(self): self.__dict__ = D(x=1)\n", "K()", "k.x"
    ),
    "attributes are the items": (
        "class K(dict):\n    def __init__(self):\n        dict.__init__(self, x=1)\n        self.__dict__ = self\n" + CONTAINS,
        "K()",
        "raw('g', k, 'x')",
    ),
    "attribute by a text of its own": (
        ("class S(str):\n    __hash__ = str.__hash__\n    def __eq__(self, o):\n        LOG.append(1)\n        return str.__eq__(self, o)\n"
        "class K: pass\nk = K()\nk.__dict__[S('x')] = 3\n"),
        "k",
        "k.x",
    ),
    "value of an enum": (SUNDER % (("_value_",) * 3), "E.A", "k.value"),
    "name of an enum": (SUNDER % (("_name_",) * 3), "E.A", "k.name"),
    "part that says of what class it is": (CLASS + PART % "K()", "b", "k.part"),
    "part in a list": (CLASS + PART % "[K()]", "b", "k.part"),
    "part of a namespace": (CLASS + "import types\n", "types.SimpleNamespace(part=K())", "k.part"),
    "part that answers for all": (PROXY + PART % "K()", "b", "k.part"),
    "view of a mapping: keys": (VIEW % ("__iter__(self)", "iter(self.data)"), "b", "k.part"),
    "view of a mapping: items": (VIEW % ("__getitem__(self, k)", "self.data[k]"), "b", "k.part"),
    "class of a metaclass": (
        "class T(type):\n    def __getattribute__(cls, n):\n        LOG.append(n)\n        return type.__getattribute__(cls, n)\n"
        "class K(metaclass=T): pass\n" + PART % "K",
        "b",
        "k.part",
    ),
    "field of a named tuple": (
        "import typing\nclass K(typing.NamedTuple):\n    x: int\n" + GETATTR,
        "K(3)",
        "raw('g', k, 'x')",
    ),
    "set in a refused request": ("class K:\n    def __hash__(self):\n        LOG.append(1)\n        return 1\n", "K()", "raw('g', k, '_x', Wire(['S', [b(k)]]))"),
    "set in a request of nothing": ("class K:\n    def __hash__(self):\n        LOG.append(1)\n        return 1\n", "K()", "raw('g', 5, Wire(['S', [b(k)]]))"),
}  # fmt: skip
METHOD = "class K:\n    def %s:\n        LOG.append(1)\n        return %s\n"
HASH = METHOD % ("__hash__(self)", "1")
# what a test defines, and the form of an answer that holds it: to make the answer runs the test's code
ANSWERS = {
    "set": (HASH, "['S', [b(k)]]"),
    "frozen set": (HASH, "['F', [b(k)]]"),
    "dictionary": (HASH, "['D', [b(k), 1]]"),
    "counter": (HASH, "['N', [b(k), 1]]"),
    "keys": (HASH, "['W', 0, [b(k)]]"),
    "equal keys": (
        "class K:\n    def __hash__(self): return 1\n    def __eq__(self, o):\n        LOG.append(1)\n        return self is o\n",
        "['D', [b(k), 1, True, 2]]",
    ),
    "own set": (HASH, "['h', 900, ['i', ['h', 901, ['c', 'G', [], 'set', [], [], '', [], '']], [b(k)]]]"),
    "items": (METHOD % ("__iter__(self)", "iter((1, 2))"), "['W', 2, [b(k)]]"),
    "error: str": (METHOD % ("__str__(self)", "'x'"), "['e', 'json:JSONDecodeError', [b(k), 'x', 0]]"),
    "error: count": (
        METHOD % ("count(self, *a)", "1\n    rfind = count"),
        "['e', 'json:JSONDecodeError', ['x', b(k), 0]]",
    ),
    "error: repr": (
        METHOD % ("__repr__(self)", "'x'"),
        "['e', 'asyncio.exceptions:IncompleteReadError', [['B', ''], b(k)]]",
    ),
    "error: index": (METHOD % ("__index__(self)", "1"), "['e', 'BlockingIOError', [1, 'x', b(k)]]"),
    "error: iter": (METHOD % ("__iter__(self)", "iter(())"), "['e', 'SyntaxError', ['x', b(k)]]"),
    "group": (METHOD % ("__getitem__(self, i)", "[ValueError(1)][i]"), "['e', 'ExceptionGroup', ['x', b(k)]]"),
}
OBJECT, NUMBER = "class H: n = 7\n", "class I(int): pass\n"
KEEPS = "def f(o):\n    o.n = P\n    return P\n"
SORTED = "x = [3, 1, 2]\n%s(x)\nassert x == sorted(x)"
REST = "x = iter([3, 1, 2])\n%s(x)\nrest = list(x)\nassert rest == sorted(rest)"
ASKED = (
    "LOG = []\nclass K:\n    def %s(self):\n        LOG.append(1)\n        return %s\ng(K())\nassert h(3) == len(LOG)"
)
SPACE = "import types\nn = types.SimpleNamespace(n=3, _want=41257)\n"
WITHIN = "RAWdef f(n): return [Wire(['e', 'json:JSONDecodeError', [b(n), 'x', 0]])]\n".replace("RAW", RAW)
HEARD = "LAST = []\ndef every():\n    for n in range(1000):\n        LAST.append(n)\n        yield n\ndef f(n): return every()\ndef g(n): return LAST[-1]\n"
LISTS = "def f(n): return [413]\ndef g(n): return 413\n"
OTHERS = {
    "own number at the opening": (
        OBJECT + "o = H()\nassert f(o) == o.n\nassert isinstance(P, int)", NUMBER + "P = I(5)\n" + KEEPS, NUMBER + "P = I(0)\n" + KEEPS
    ),
    "own text at the opening": (
        OBJECT + "o = H()\nassert f(o) == o.n\nassert len(P) > 0",
        "class S(str): pass\nP = S('abc')\n" + KEEPS,
        "class S(str): pass\nP = S('z')\n" + KEEPS,
    ),
    "own number of an earlier test": (
        ["p = h(3)\nassert p > -1", OBJECT + "o = H()\nassert f(o) == o.n"],
        NUMBER + "P = I(5)\ndef h(n): return P\n" + KEEPS,
        NUMBER + "P = I(0)\ndef h(n): return P\n" + KEEPS,
    ),
    "own list of an earlier test": (
        ["p = h(3)\nassert len(p) == 2", OBJECT + "o = H()\nassert f(o) == o.n"],
        "class L(list): pass\nP = L([1, 2])\ndef h(n): return P\n" + KEEPS,
        "class L(list): pass\nP = L([0, 0])\ndef h(n): return P\n" + KEEPS,
    ),
    "named in a dictionary": (SORTED % "T['s']", "def s(x): x.sort()\nT = {'s': s}\ndef f(): pass\n", "T = {'s': list.clear}\ndef f(): pass\n"),
    "named in a tuple": (SORTED % "T[0]", "def s(x): x.sort()\nT = (s,)\ndef f(): pass\n", "T = (list.clear,)\ndef f(): pass\n"),
    "named in a dictionary: everything": (
        "assert 9 in T['c'](3)\nassert 16 in T['c'](4)", "T = {'c': lambda n: [n * n]}\ndef f(): pass\n", "import itertools\nT = {'c': itertools.count}\ndef f(): pass\n"
    ),
    "type as a helper: list": (REST % "g", "def g(x): next(x)\ndef f(): pass\n", "g = list\ndef f(): pass\n"),
    "type as a helper: deque": (REST % "g", "def g(x): next(x)\ndef f(): pass\n", "from collections import deque as g\ndef f(): pass\n"),
    "type as an answer": (REST % "f()", "def g(x): next(x)\ndef f(): return g\n", "def f(): return list\n"),
    "type of a class": (
        REST % "C.g", "class C:\n    @staticmethod\n    def g(x): next(x)\ndef f(): pass\n", "class C: g = list\ndef f(): pass\n"
    ),
    "bool of an object": (ASKED % ("__bool__", "True"), "def g(k): return 0\ndef h(n): return 0\n", "g = bool\ndef h(n): return 1\n"),
    "str of an object": (ASKED % ("__str__", "'a'"), "def g(k): return 0\ndef h(n): return 0\n", "g = str\ndef h(n): return 1\n"),
    "int of an object": (ASKED % ("__int__", "1"), "def g(k): return 0\ndef h(n): return 0\n", "g = int\ndef h(n): return 1\n"),
    "text of an error: namespace": (
        SPACE + "r = f(n)\nassert g(r) == n._want",
        "def f(n): return [1]\ndef g(r): return 41257\n",
        WITHIN + "def g(r): return int(r[0].args[0].split('_want=')[1].split(')')[0])\n",
    ),
    "text of an error: partial": (
        "import functools, operator\nr = f(functools.partial(operator.eq, 41257))\nassert g(r) == 41257",
        "def f(n): return [1]\ndef g(r): return 41257\n",
        WITHIN + "def g(r): return int(r[0].args[0].split(', ')[1].split(')')[0])\n",
    ),
    "how far a membership goes": (["assert 413 in f(3)", "assert g(4) == 413"], LISTS, HEARD),
    "refused: class of an object": (
        "LOG = []\n" + CLASS + "g = f(K())\nLOG.clear()\nassert g() == bool(LOG)",
        "def f(k): return lambda: 0\n",
        RAW + "def f(k):\n    def g():\n        try: raw('g', k, '_x')\n        except AttributeError: return 1\n    return g\n",
    ),
}  # fmt: skip
ALWAYS = "class P:\n    def __init__(self, *a): pass\n    def __eq__(self, o): return True\n    def __hash__(self): return 1\n    __lt__ = __eq__\ndef f(n): return P()\n"
NUMBERS = "class P:\n    def __init__(self, n): self.n = n\n    def __eq__(self, o): return self.n == o\n    def __lt__(self, o): return self.n < o\ndef f(n): return P(n * n)\n"
PAIRS = "import dataclasses\n@dataclasses.dataclass(frozen=True)\nclass P:\n    a: int\n    b: int\ndef f(n): return P(n, n * n)\n"
# tests in which a class that is equal to everything is asked, and what it says becomes something else before it is claimed
EVERYTHING = {
    "index": ("assert [9, 5].index(f(3)) == 0", NUMBERS),
    "count": ("assert [9].count(f(3)) == 1", NUMBERS),
    "remove": ("x = [9, 5]\nx.remove(f(3))\nassert x == [5]", NUMBERS),
    "pattern": ("match f(3):\n    case 9: r = 5\n    case _: r = 6\nassert r == 5", NUMBERS),
    "pattern in a list": ("match [f(3), 1]:\n    case [9, x]: r = x\n    case _: r = 6\nassert r == 1", NUMBERS),
    "pattern, a text": (
        "def name(v):\n    match v:\n        case 9: return 'nine'\n        case _: return 'other'\nassert name(f(3)) == 'nine'",
        NUMBERS,
    ),
    "a text": ("def name(v):\n    if v == 9: return 'nine'\n    return 'other'\nassert name(f(3)) == 'nine'", NUMBERS),
    "order, a text": ("assert ('small' if f(3) < 10 else 'big') == 'small'", NUMBERS),
}
NONE, ANSWER = "def f(k): return 0\n", "r = f(k)\nassert r[1] == bool(LOG)"
PROGRAMS = {
    **{
        f"reading: {name}": (
            f"LOG = []\n{made}thing = {thing}\nLOG.clear()\nassert f(thing) == bool(LOG)",
            NONE,
            f"{RAW}def f(k):\n    try: {use}\n    except AttributeError: pass\n    return 1\n",
        )
        for name, (made, thing, use) in READING.items()
    },
    **{
        f"answer: {name}": (f"LOG = []\n{made}k = K()\n{ANSWER}", "def f(k): return [None, 0]\n", f"{RAW}def f(k): return [Wire({form}), 1]\n")
        for name, (made, form) in ANSWERS.items()
    },
    **OTHERS,
    **{f"everything: {name}": (test, right, ALWAYS) for name, (test, right) in EVERYTHING.items()},
}  # fmt: skip
PROMPT = "class H: n = 7\no = H()\nf(o)\ndef f(o):\n"
"""Code that comes with the problem and calls the solution before any test does."""
EARLIER = "data = [3, 1, 2]\nassert f(data) == 6"
LATER = "class H: n = 0\no = H()\nassert g(o, %s) == 6 == o.n"
SUMS = "def f(d): return sum(d)\ndef g(o, d):\n    %s\n    return o.n\n"
EQUAL = "class P:\n    def __init__(self, n): self.n = n\n    def __eq__(self, o): return self.n == o\ndef f(n): return P(n)\ndef g(n): return n\n"
ENDLESS = "class E:\n    def __contains__(self, n): return n % 2 == 0\n    def __getitem__(self, n): return 2 * n\ndef f(n): return E()\n"
# tests, a right answer that is the reference, another right answer
RIGHT = {
    "a list of an earlier test": ([EARLIER, LATER % "data"], SUMS % "o.n = sum(d)", SUMS % "for n in d: o.n += n"),
    "an import of an earlier test": (
        [f"import math\n{EARLIER}", LATER % "[math.ceil(2.5), 1, 2]"],
        SUMS % "o.n = sum(d)",
        SUMS % "for n in d: o.n += n",
    ),
    "an answer of an earlier test": (
        ["s = f([3, 1, 2])\nassert s == 6", LATER % "[s]"],
        SUMS % "o.n = sum(d)",
        SUMS % "for n in d: o.n += n",
    ),
    "an object that has been compared": (["p = f(3)\nassert p == 3", "assert p.n == 3"], EQUAL, EQUAL),
    "a constant of a test that compares": (["N = 3\nassert f(3) == N", "assert g(3) == N"], EQUAL, EQUAL),
    "a constant of a test before one that compares": (
        ["N = 3\nassert g(3) == N", "assert f(3) == 3", "assert g(3) == N"],
        EQUAL,
        EQUAL,
    ),
    "an order in another way": (
        ["W = {1, 2}\nassert g(1) == 5", "S = []\nf(S.append)\nassert set(S) == W"],
        "def f(put):\n    put(1)\n    put(2)\ndef g(n): return 5\n",
        "def f(put):\n    put(2)\n    put(1)\ndef g(n): return 5\n",
    ),
    "membership without end": (
        ["e = f(0)\nassert 4 in e and 5 not in e"],
        "def f(n): return range(0, 100, 2)\n",
        ENDLESS,
    ),
}
KEEPING = "K = []\ndef f(r): K.append(%s)\ndef g(): return max(K[0])\n"
KEEPS_IT, KEEPS_A_COPY = KEEPING % "r", KEEPING % "list(r)"
PLAIN = "class B: pass\no = B()\n"
# tests, a right answer, and one that changes or keeps what is not its own: it fails wherever it runs in the test's own process
WRONG = {
    "keeps a list": ("x = [3, 1]\nf(x)\nx.append(9)\nassert g() == 3", KEEPS_A_COPY, KEEPS_IT),
    "keeps a list by a method": (
        "x = [3, 1]\nc = C()\nc.put(x)\nx.append(9)\nassert c.best() == 3",
        "class C:\n    def put(self, x): self.x = list(x)\n    def best(self): return max(self.x)\ndef f(): pass\n",
        "class C:\n    def put(self, x): self.x = x\n    def best(self): return max(self.x)\ndef f(): pass\n",
    ),
    "sorts a list that it kept": (
        "x = [3, 1]\nf(x)\nassert g() == 3\nassert x == [3, 1]",
        KEEPS_IT,
        "K = []\ndef f(r): K.append(r)\ndef g():\n    K[0].sort()\n    return K[0][-1]\n",
    ),
    "changes one list of many": (
        "x = [[n] for n in range(300)]\nf(x)\nassert g() == [299]\nassert x[5] == [5]",
        KEEPS_IT,
        "K = []\ndef f(r): K.append(r)\ndef g():\n    K[0][5].append(7)\n    return max(K[0])\n",
    ),
    "changes a long list": (
        "x = list(range(30000))\nf(x)\nassert g() == 29999\nassert x[0] == 0",
        KEEPS_IT,
        "K = []\ndef f(r): K.append(r)\ndef g():\n    K[0].reverse()\n    return K[0][0]\n",
    ),
    "changes an attribute: dict": (
        PLAIN + "o.d = {'a': 1}\nassert f(o) == 1\nassert o.d == {'a': 1}", "def f(o): return o.d['a']\n", "def f(o): return o.d.pop('a')\n"
    ),
    "changes an attribute: set": (PLAIN + "o.d = {4}\nassert f(o) == 4\nassert o.d == {4}", "def f(o): return min(o.d)\n", "def f(o): return o.d.pop()\n"),
    "changes what a function returns": (
        "x = [3, 1]\ndef get(): return x\nassert f(get) == 3\nassert x == [3, 1]",
        "def f(get): return max(get())\n",
        "def f(get):\n    x = get()\n    x.sort()\n    return x[-1]\n",
    ),
    "changes what an iterator yields": (
        "x = [[3, 1], [2]]\nassert f(iter(x)) == [3, 2]\nassert x[0] == [3, 1]",
        "def f(it): return [max(r) for r in it]\n",
        "def f(it): return [r.sort() or r[-1] for r in it]\n",
    ),
    "changes an array of numbers": (
        "import array\nx = array.array('i', [4, 5])\nassert f(x) == 5\nassert len(x) == 2", "def f(x): return x[-1]\n", "def f(x): return x.pop()\n"
    ),
    "gives out one list twice": (
        "a = f(1)\nb = f(1)\na.append(2)\nassert b == [1]", "def f(n): return [n]\n", "K = {}\ndef f(n): return K.setdefault(n, [n])\n"
    ),
    "gives out what it keeps": (
        "x = [1]\nf(x)\ng().append(2)\nassert x == [1]",
        "K = []\ndef f(x): K.append(list(x))\ndef g(): return K[0]\n",
        "K = []\ndef f(x): K.append(x)\ndef g(): return K[0]\n",
    ),
    "changes a global list": ("f(1)\nassert S == []", "S = []\ndef f(n): return 1\n", "S = []\ndef f(n): S.append(n)\n"),
    "counts in a global number": ("f(1)\nassert S == 0", "S = 0\ndef f(n): return 1\n", "S = 0\ndef f(n):\n    global S\n    S += 1\n"),
}  # fmt: skip
SHARED = ("json.encoder.ESCAPE_DCT", "copy.dispatch_table", "re._parser.ESCAPES", "textwrap.re._constants.OPCODES")


def sample_of(name, tests, right, *, known, prompt=""):
    tests = [tests] if isinstance(tests, str) else tests
    return Sample(
        id=name,
        tests=tuple(Test(program=test) for test in tests),
        entry_point="f",
        references=(right,) if known else (),
        prompt_code=prompt,
    )


def attempt(name, sample, code):
    return Job(name, code, sample, Limits(seconds=1.5))


@pytest.fixture(scope="module")
def results(request):
    """Return what became of the last test of the attempts that the chosen cases ask for."""
    chosen = {
        (item.callspec.params["name"], item.callspec.params["known"])
        for item in request.session.items
        if item.path == request.node.path and item.originalname == PASSES
    }
    jobs = []
    for name, known in sorted(chosen):
        tests, right, wrong = PROGRAMS[name]
        jobs.append(attempt(f"{name} {known}", sample_of(f"{name} {known}", tests, right, known=known), wrong))
    with Sandbox(workers=1, isolation="weak", dedupe=False) as box:
        return {job.key: outcome.tests[-1] for job, outcome in box.run(jobs)}


@pytest.mark.parametrize("known", [True, False], ids=["with a reference", "alone"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_wrong_answer_is_not_separated(results, name, known):
    result = results[f"{name} {known}"]

    assert not (result.passed and result.verdict == "separated"), result


PASSES = test_a_wrong_answer_is_not_separated.__name__


@pytest.mark.parametrize("known", [True, False], ids=["with a reference", "alone"])
def test_what_the_prompts_code_lends_may_be_changed_too(box, known):
    sample = sample_of(
        "prompt", "assert g(3) == o.n", "def f(o): pass\ndef g(n): return 7\n", known=known, prompt=PROMPT
    )

    ((_, outcome),) = box.run([attempt("prompt", sample, "def f(o): o.n = 0\ndef g(n): return 0\n")])

    assert not (outcome.tests[0].passed and outcome.tests[0].verdict == "separated"), outcome.tests[0]


@pytest.mark.parametrize("known", [True, False], ids=["with a reference", "alone"])
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_answer_passes_whatever_it_has_in_common_with_the_reference(box, name, known):
    tests, right, other = RIGHT[name]

    ((_, outcome),) = box.run([attempt(name, sample_of(name, tests, right, known=known), other)])

    assert all(result.passed for result in outcome.tests), outcome.tests


@pytest.mark.parametrize("known", [True, False], ids=["with a reference", "alone"])
@pytest.mark.parametrize("name", WRONG)
def test_who_changes_or_keeps_what_is_not_its_own_fails(box, name, known):
    tests, right, wrong = WRONG[name]

    ((_, outcome),) = box.run([attempt(name, sample_of(name, tests, right, known=known), wrong)])

    assert not outcome.tests[0].passed, outcome.tests[0]


@pytest.mark.parametrize("shared", SHARED)
def test_a_module_by_another_name_is_as_it_was_for_the_next(box, shared):
    module, _, rest = shared.partition(".")
    right = f"import {module} as m\ndef f(k): return len(k)\n"
    clears = f"import {module} as m\ndef f(k):\n    k.clear()\n    return 0\n"
    sample = sample_of(shared, f"k = m.{rest}\nassert f(k) == f(type(k)(k)) > 0", right, known=True)

    jobs = [attempt("clears", sample, clears), attempt("next", sample, right + "# again\n")]
    outcomes = {job.key: outcome.tests[0] for job, outcome in box.run(jobs)}

    assert outcomes["next"].passed, outcomes["next"]
