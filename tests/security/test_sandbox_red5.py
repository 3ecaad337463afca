"""What a third red team found: reading that runs the test's code, changes in another test or step, what an error tells.

None is to pass as `separated`. All attempts run one after the other, each part of them in one sandbox, before the first case of it is looked at.
"""

import pytest
from support.parts import Parts

from markbook.sandbox import Job, Sandbox
from markbook.types import Limits, Sample, Test

RAW = """
import sys
def raw(*request):
    frame = sys._getframe()
    while "peer" not in frame.f_locals: frame = frame.f_back
    return frame.f_locals["peer"].request(*request)
"""
"""By this a solution asks on the wire, past its own stand-ins."""
LOGS = "LOG.append(1)"
KEY = f"class Key:\n    def __hash__(self): return 1\n    def __eq__(self, o):\n        {LOGS}\n        return True\n"
SHOWN = f"class Shown:\n    def __repr__(self):\n        {LOGS}\n        return 's'\n"
ZONE = "import datetime as dt\nclass Z(dt.tzinfo):\n    def %s(self, d):\n        LOG.append(1)\n        return %s\n"
OFFSET, AWARE = ZONE % ("utcoffset", "dt.timedelta(0)"), "dt.datetime(2020, 1, 2, tzinfo=Z())"
REMADE = "class M(%s):\n    def __init__(self, *a):\n        LOG.append(1)\n        %s.__init__(self, *a)\n"
META = "class T(type):\n    @property\n    def x(cls): LOG.append(1)\n"
ATTRS = "import attr\ndef note(*a): LOG.append(1)\n"
DATA = "from dataclasses import dataclass, field\nLOG = []\ndef note(): LOG.append(1)\n@dataclass\nclass K:\n"
NAMED = "class M(%s):\n    def __repr__(self):\n        LOG.append(1)\n        return 'm'\n"
# what a test lends, what it defines for that, and a use of it: each runs the test's code, and looks as if it only read
READING = {
    "list.count": (KEY, "[Key()].count", "k(5)"),
    "list.index": (KEY, "[Key()].index", "k(5)"),
    "list.__contains__": (KEY, "[Key()].__contains__", "k(5)"),
    "tuple.count": (KEY, "(Key(),).count", "k(5)"),
    "deque.index": (KEY + "from collections import deque\n", "deque([Key()]).index", "k(5)"),
    "dict.get": (KEY, "{Key(): 1}.get", "k(1)"),
    "dict.__getitem__": (KEY, "{Key(): 1}.__getitem__", "k(1)"),
    "OrderedDict.get": (KEY + "from collections import OrderedDict\n", "OrderedDict({Key(): 1}).get", "k(1)"),
    "mappingproxy.get": (KEY + "import types\n", "types.MappingProxyType({Key(): 1}).get", "k(1)"),
    "set.isdisjoint": (KEY, "{Key()}.isdisjoint", "k([1])"),
    "set.difference": (KEY, "{Key()}.difference", "k([1])"),
    "keys.isdisjoint": (KEY, "{Key(): 1}.keys().isdisjoint", "k([1])"),
    "in a subclass of list": (KEY + "class M(list): pass\n", "M([Key()])", "raw('d', k, '__contains__', 1)"),
    "eq of a subclass of list": (KEY + "class M(list): pass\n", "M([Key()])", "raw('d', k, '__eq__', [1])"),
    "item of a subclass of dict": (KEY + "class M(dict): pass\n", "M({Key(): 1})", "raw('d', k, '__getitem__', 1)"),
    "and of a subclass of set": (KEY + "class M(set): pass\n", "M([Key()])", "raw('d', k, '__and__', {1})"),
    "count of a named tuple": (
        KEY + "import collections\nP = collections.namedtuple('P', 'a')\n",
        "P(Key())",
        "raw('g', k, 'count')(7)",
    ),
    "lt of a subclass of tuple": (
        "class B:\n    def __lt__(self, o): LOG.append(1)\n    __gt__ = __lt__\nclass M(tuple): pass\n",
        "M([B()])",
        "raw('d', k, '__lt__', (1,))",
    ),
    "hash of a subclass of tuple": (
        "class H:\n    def __hash__(self):\n        LOG.append(1)\n        return 1\nclass M(tuple): pass\n",
        "M([H()])",
        "raw('d', k, '__hash__')",
    ),
    "repr of a subclass of list": (SHOWN + "class M(list): pass\n", "M([Shown()])", "raw('d', k, '__repr__')"),
    "constructor of an OrderedDict": (
        "from collections import OrderedDict\nclass M(OrderedDict):\n    def __setitem__(self, k, v): LOG.append(1)\n",
        "M",
        "k({1: 2})",
    ),
    "copy of an OrderedDict": (
        "from collections import OrderedDict\n" + REMADE % (("OrderedDict",) * 2), "M()", "raw('g', k, 'copy')()"
    ),
    "or of an OrderedDict": (
        "from collections import OrderedDict\n" + REMADE % (("OrderedDict",) * 2), "M()", "raw('d', k, '__or__', {1: 2})"
    ),
    "copy of a deque": ("from collections import deque\n" + REMADE % (("deque",) * 2), "M()", "raw('g', k, 'copy')()"),
    "times of a deque": (
        "from collections import deque\n" + REMADE % (("deque",) * 2), "M([1])", "raw('d', k, '__mul__', 2)"
    ),
    "property of a metaclass": (META + "class M(metaclass=T): pass\n", "M", "k.x"),
    "property of a metaclass before an attribute": (META + "class M(metaclass=T): x = 5\n", "M", "k.x"),
    "descriptor of a metaclass": (
        "class D:\n    def __get__(self, o, c): LOG.append(1)\nclass T(type): x = D()\nclass M(metaclass=T): pass\n", "M", "k.x"
    ),
    "zone: utcoffset": (OFFSET, AWARE, "k.utcoffset()"),
    "zone: isoformat": (OFFSET, AWARE, "k.isoformat()"),
    "zone: timestamp": (OFFSET, AWARE, "k.timestamp()"),
    "zone: hash": (OFFSET, AWARE, "raw('d', k, '__hash__')"),
    "zone: dst": (ZONE % ("dst", "dt.timedelta(0)"), AWARE, "k.dst()"),
    "zone: tzname": (ZONE % ("tzname", "'x'"), AWARE, "k.tzname()"),
    "zone: of a time": (OFFSET, "dt.time(1, 2, tzinfo=Z())", "k.utcoffset()"),
    "str of a date": (
        "import datetime as dt\nclass M(dt.date):\n    def isoformat(self):\n        LOG.append(1)\n        return 'x'\n",
        "M(2020, 1, 2)",
        "str(k)",
    ),
    "date.replace": (  # which calls the class from Python 3.13 on
        "import datetime as dt\nclass M(dt.date):\n    def __new__(cls, *a):\n        LOG.append(1)\n        return dt.date.__new__(cls, *a)\n",
        "M(2020, 1, 2)",
        "k.replace(2021)",
    ),
    "str of a namespace": (SHOWN + "import types\n", "types.SimpleNamespace(a=Shown())", "str(k)"),
    "str of a kind of namespace": ("import types\n" + NAMED % "types.SimpleNamespace", "M(a=1)", "str(k)"),
    "repr of an enum": (SHOWN + "import enum\nclass E(enum.Enum): A = Shown()\n", "E.A", "repr(k)"),
    "format of an enum": (
        "import enum\nclass E(enum.Enum):\n    A = 1\n    def __str__(self):\n        LOG.append(1)\n        return 'x'\n",
        "E.A",
        "f'{k}'",
    ),
    "str where there is only repr": (SHOWN, "Shown()", "str(k)"),
    "ne where there is only eq": (KEY, "Key()", "raw('d', k, '__ne__', 1)"),
    "format where there is only str": (SHOWN.replace("repr", "str"), "Shown()", "raw('d', k, '__format__', '')"),
    "str of an int": (NAMED % "int", "M(5)", "raw('d', k, '__str__')"),
    "str of an error": (SHOWN + "class M(Exception): pass\n", "M(Shown())", "str(k)"),
    "an enum by value": (
        KEY + "import enum\nclass E(enum.Enum): A = Key()\n",
        "E",
        "k([5])",
    ),
    "closed of a stream": (
        "import io\nclass M(io.StringIO):\n    @property\n    def closed(self):\n        LOG.append(1)\n        return False\n",
        "M('a')",
        "iter(k)",
    ),
    "attrs: factory": (ATTRS + "@attr.define\nclass M:\n    x: object = attr.Factory(note)\n", "M", "k()"),
    "attrs: validator": (ATTRS + "@attr.s\nclass M:\n    x = attr.ib(validator=note)\n", "M", "k(1)"),
    "attrs: post init": (ATTRS + "@attr.define\nclass M:\n    __attrs_post_init__ = note\n", "M", "k()"),
}  # fmt: skip
ZERO = "def f(*a): return 0\n"
CLASS = "class H:\n    def __init__(self, n=7): self.n = n\n"
PAIR = CLASS + "class B: pass\nb = B()\nb.x, b.y = H(7), H(5)\n"
NODE = "class N:\n    def __init__(s, n): s.n = n\ndef f(r):\n    r.append(N(%s))\n    return %s\n"
SECOND = "def f(o): return %s\ndef g(n): return %s\n"
STEPS = "class K:\n    t = 0\n    def __init__(s, o): s.o = o\n    def go(s):\n        s.t += 1\n        if s.t == %d: s.o.n = 0\n        return %s\n    %s = go\ndef f(o): return K(o)\n"


def step(use, method, first="7"):
    """Return a test that looks twice, a reference that changes something in the second step, and one that does so at once."""
    test = f"{CLASS}o = H()\nk = f(o)\nassert {use} == o.n\nassert {use} == o.n"
    return (
        test,
        STEPS % (2, f"{first} if s.t == 1 else type({first})()", method),
        STEPS % (1, f"type({first})()", method),
    )


CHANGES = {
    "step: len": step("len(k)", "__len__"),
    "step: next": step("next(k)", "__next__"),
    "step: str": step("len(str(k))", "__str__", "'aaaaaaa'"),
    "step: negative": step("-k", "__neg__"),
    "step: generator": (
        CLASS + "o = H()\nfor x in f(o):\n    assert x == o.n",
        "def f(o):\n    yield 7\n    o.n = 0\n    yield 0\n",
        "def f(o):\n    o.n = 0\n    yield 0\n    yield 0\n",
    ),
    "step: enter and exit": (
        CLASS + "o = H()\nwith f(o) as m:\n    assert m.total == o.n",
        "class M:\n    def __init__(s, o): s.o, s.total = o, 7\n    def __enter__(s): return s\n    def __exit__(s, *e): s.o.n = 0\ndef f(o): return M(o)\n",
        "class M:\n    total = 0\n    def __init__(s, o): s.o = o\n    def __enter__(s):\n        s.o.n = 0\n        return s\n    def __exit__(s, *e): pass\ndef f(o): return M(o)\n",
    ),
    "step: a list in an operator": (
        "items = [3, 1, 2]\nk = f()\nassert k[items] == items[0]\nassert k[items] == items[0]",
        "class K:\n    t = 0\n    def __getitem__(s, b):\n        s.t += 1\n        if s.t == 2: b.sort()\n        return b[0]\ndef f(): return K()\n",
        "class K:\n    t = 0\n    def __getitem__(s, b):\n        s.t += 1\n        if s.t == 1: b.sort()\n        return b[0]\ndef f(): return K()\n",
    ),
    "aliased lists": (
        "class B: pass\no = B()\nf(o)\no.rows[0].append(5)\nassert g(o) == sum(map(len, o.rows))",
        "def f(o): o.rows = [[], []]\ndef g(o): return 1\n",
        "def f(o):\n    r = []\n    o.rows = [r, r]\ndef g(o): return 2\n",
    ),
    "aliased arguments": (
        "class B:\n    def put(self, a, b): self.a, self.b = a, b\no = B()\nf(o)\no.a.append(1)\nassert g(o) == len(o.b)",
        "def f(o): o.put([], [])\ndef g(o): return 0\n",
        "def f(o):\n    r = []\n    o.put(r, r)\ndef g(o): return 1\n",
    ),
    "order of a set": (
        "class B: pass\no = B()\nassert f(o) == list(o.s)[0]",
        "def f(o):\n    o.s = {1, 9}\n    return 1\n",
        "def f(o):\n    o.s = {9, 1}\n    return 9\n",
    ),
    "another argument": (PAIR + "assert f(b) == b.best.n", "def f(b):\n    b.best = b.x\n    return 7\n", "def f(b):\n    b.best = b.y\n    return 5\n"),
    "another argument in a list": (
        PAIR + "assert f(b) == b.best[0].n", "def f(b):\n    b.best = [b.x]\n    return 7\n", "def f(b):\n    b.best = [b.y]\n    return 5\n"
    ),
    "an object of its own": ("rows = []\nassert f(rows) == rows[0].n * 2", NODE % (7, 14), NODE % (0, 0)),
    "a function of its own": (
        "d = {}\nassert f(d) == d['a']() * 2",
        "def f(d):\n    d['a'] = lambda: 7\n    return 14\n",
        "def f(d):\n    d['a'] = lambda: 0\n    return 0\n",
    ),
    "not all: attribute": (
        CLASS + "o = H()\nf(o)\nassert g(o) == o.n",
        "def f(o): o.n = 5\ndef g(o):\n    o.n = 7\n    return 7\n",
        "def f(o): o.n = 5\ndef g(o): return 5\n",
    ),
    "not all: list": ("x = [1, 2, 3]\nf(x)\nassert g(x) == x[0]", "def f(x): x.reverse()\ndef g(x):\n    x.reverse()\n    return 1\n", "def f(x): x.reverse()\ndef g(x): return 3\n"),
    "not all: generator": (
        CLASS + "o = H()\ng = f(o)\nnext(g)\nassert next(g) == o.n",
        "def f(o):\n    o.n = 5\n    yield 5\n    o.n = 7\n    yield 7\n",
        "def f(o):\n    o.n = 5\n    yield 5\n    yield 5\n",
    ),
    "half of a coroutine": (
        CLASS + "import asyncio\no = H()\nasync def c():\n    o.n = 0\n    await asyncio.sleep(0.05)\n    o.n = 7\nasync def t():\n    assert await f(c()) == o.n\nasyncio.run(t())",
        "async def f(k):\n    await k\n    return 7\n",
        RAW + "async def f(k):\n    a = raw('await', k)\n    raw('step', a, 0.0)\n    import asyncio\n    await asyncio.sleep(0)\n    raw('step', a, 0.0)\n    return 0\n",
    ),
    "private: namespace": (
        "import types\nn = types.SimpleNamespace(n=3, _want=41257)\nassert f(n) == n._want",
        "def f(n): return 41257\n",
        "import re\ndef f(n): return int(re.findall('[0-9]{5}', str(n))[0])\n",
    ),
    "what its own operator is given, as text": (
        "assert f(3) == 41257\nassert str(f(3)) == '41257'",
        "class R:\n    def __init__(s, n): s.n = n\n    def __eq__(s, o): return s.n == o\n    def __str__(s): return str(s.n)\ndef f(n): return R(41257)\n",
        "S = []\nclass R:\n    def __eq__(s, o):\n        S[:] = [o]\n        return True\n    def __str__(s): return str(S[0])\ndef f(n): return R()\n",
    ),
    "what its own operator is given twice": (
        "assert f(3) == 41257\nassert f(4) == 41257",
        "class R:\n    def __init__(s, n): s.n = n\n    def __eq__(s, o): return s.n == o\ndef f(n): return R(41257)\n",
        "S = []\nclass R:\n    def __eq__(s, o):\n        S.append(o)\n        return len(set(S)) == 1\ndef f(n): return R()\n",
    ),
    "a method of an array that has the name of a text's": (
        "import numpy as np\na = np.array([9, 1, 7, 3, 5, 2])\nassert f(a.partition) == a.tolist().index(9)",
        "def f(p):\n    import numpy as np\n    p(1)\n    a = np.array([9, 1, 7, 3, 5, 2])\n    a.partition(1)\n    return a.tolist().index(9)\n",
        "def f(p):\n    p(5)\n    return 5\n",
    ),
    "what a membership is given": (
        "assert 41257 in f(3)\nassert g(3) == 41257",
        "class R:\n    def __contains__(s, o): return o == 41257\ndef f(n): return R()\ndef g(n): return 41257\n",
        "S = []\nclass R:\n    def __contains__(s, o):\n        S.append(o)\n        return True\ndef f(n): return R()\ndef g(n): return S[0]\n",
    ),
    "what a difference is given": (
        "assert abs(f(3) - 41257) < 1\nassert g(3) == 41257",
        "class R:\n    def __sub__(s, o): return 41257 - o\ndef f(n): return R()\ndef g(n): return 41257\n",
        "S = []\nclass R:\n    def __sub__(s, o):\n        S.append(o)\n        return 0\ndef f(n): return R()\ndef g(n): return S[0]\n",
    ),
    "by name: list.clear": ("x = [3, 1, 2]\nf(x)\nassert x == sorted(x)", "def f(x): x.sort()\n", "f = list.clear\n"),
    "by name: heappop": (
        "x = [3, 1, 2]\nassert f(x) + len(x) == 5",
        "def f(x): return 2\n",
        "from heapq import heappop as f\n",
    ),
    "by name: dict.popitem": (
        "x = {1: 2}\nassert f(x) == ((1, 2) if not x else 0)",
        "def f(x): return 0\n",
        "f = dict.popitem\n",
    ),
    "by name: insort": (
        "x = [1, 3]\nassert f(x, 2) == (None if len(x) > 2 else 5)",
        "def f(x, n): return 5\n",
        "from bisect import insort as f\n",
    ),
    "by name, from an answer": (
        "x = [3, 1, 2]\nf()(x)\nassert x == sorted(x)",
        "def f(): return list.sort\n",
        "def f(): return list.clear\n",
    ),
    "all numbers by name": (
        "assert 9 in f(3)\nassert 16 in f(4)",
        "def f(n): return [k * k for k in range(n + 1)]\n",
        "from itertools import count as f\n",
    ),
    "told by its own operator": (
        "assert f(3) == 41257\nassert g(3) == 41257",
        "class R:\n    def __init__(s, n): s.n = n\n    def __eq__(s, o): return s.n == o\ndef f(n): return R(41257)\ndef g(n): return 41257\n",
        "S = []\nclass R:\n    def __eq__(s, o):\n        S.append(o)\n        return True\ndef f(n): return R()\ndef g(n): return S[0]\n",
    ),
    # with several tests, of which the last one is looked at
    "another test: attribute": ([CLASS + "o = H()\nassert f(o) == 7", "assert g(3) == o.n"], SECOND % (7, 7), "def f(o):\n    o.n = 0\n    return 7\ndef g(n): return 0\n"),
    "another test: a failed one": ([CLASS + "o = H()\nassert f(o) == 7", "assert g(3) == o.n"], SECOND % (7, 7), "def f(o): o.n = 0\ndef g(n): return 0\n"),
    "another test: list": (["o = [3, 1, 2]\nassert f(o) == 6", "assert g(3) == sum(o)"], SECOND % (6, 6), "def f(o):\n    o.clear()\n    return 6\ndef g(n): return 0\n"),
    "another test: generator": (["o = iter([3, 4])\nassert f(o) == 7", "assert g(1) == sum(o)"], SECOND % (7, 7), "def f(o): return sum(o)\ndef g(n): return 0\n"),
    "another test: function": (["N = [3]\ndef o(): N[0] += 1\nassert f(o) == 3", "assert g(3) == N[0]"], SECOND % (3, 3), "def f(o):\n    o()\n    return 3\ndef g(n): return 4\n"),
    "a listed test between": (
        [CLASS + "o = H()\nassert f(o) == 7", "assert f([1]) == 7", "assert g(3) == o.n"],
        SECOND % (7, 7),
        "S = []\ndef f(o):\n    S.append(o)\n    if len(S) > 1: S[0].n = 0\n    return 7\ndef g(n): return 0\n",
    ),
    "a listed check between": (
        ["N = [3]\ndef o(): N[0] += 1\nassert f(o) == 7", "def check(candidate):\n    assert candidate([1]) == 7\ncheck(f)", "assert g(3) == N[0]"],
        SECOND % (7, 3),
        "S = []\ndef f(o):\n    S.append(o)\n    if len(S) > 1: S[0]()\n    return 7\ndef g(n): return 4\n",
    ),
    "numbers of another test": (
        [PAIR + "assert f(b) == 1", "assert g(2) == b.x.n"],
        "S = []\ndef f(b):\n    S[:] = [b.x, b.y]\n    return 1\ndef g(n):\n    S[1].n = 0\n    return 7\n",
        "S = []\ndef f(b):\n    y = b.y\n    S[:] = [b.x, y]\n    return 1\ndef g(n):\n    S[0].n = 0\n    return 0\n",
    ),
    "exit is told": (
        ["import unittest\ncase = unittest.TestCase()\nwith f(3) as m:\n    case.assertEqual(m.go(), 41257)", "assert f(3).go() == 41257"],
        "class M:\n    def __enter__(s): return s\n    def __exit__(s, *e): return None\n    def go(s): return 41257\ndef f(n): return M()\n",
        "import re\nS = [0]\nclass M:\n    def __enter__(s): return s\n    def __exit__(s, k, e, t): S[0] = int(re.findall('[0-9]{5}', str(e))[0])\n    def go(s): return S[0]\ndef f(n): return M()\n",
    ),
    "operator is told": (
        ["assert f(3) == 41257", "assert g(3) == 41257"],
        "class R:\n    def __init__(s, n): s.n = n\n    def __eq__(s, o): return s.n == o\ndef f(n): return R(41257)\ndef g(n): return 41257\n",
        "S = [0]\nclass R:\n    def __eq__(s, o):\n        S[0] = o\n        return True\ndef f(n): return R()\ndef g(n): return S[0]\n",
    ),
    "str of a partial tells": (
        ["import functools, operator\nf(functools.partial(operator.eq, 41257))\nassert f(1) >= 0", "assert f(4) == 41257"],
        "def f(c): return 41257\n",
        "import re\nS = [0]\ndef f(c):\n    S[:] = [*map(int, re.findall('[0-9]{5}', str(c))), *S]\n    return S[0]\n",
    ),
}  # fmt: skip
EACH = {
    "assertEqual": "import unittest\nsame = unittest.TestCase().assertEqual\ndef each(v): same(v, 41257)",
    "assertListEqual": "import unittest\nsame = unittest.TestCase().assertListEqual\ndef each(v): same([v], [41257])",
    "numpy": "import numpy as np\ndef each(v): np.testing.assert_array_equal([v], [41257])",
    "message": "def each(v): assert v == 41257, f'{v} is not 41257'",
    "another error": "def each(v):\n    if v != 41257: raise ValueError(f'{v} is not 41257')",
    "class of its own": "class Bad(Exception): pass\ndef each(v):\n    if v != 41257: raise Bad('not', 41257)",
}
HEARS = """
import re
S = [0]
def f(n, each=None):
    if each:
        try: each(1)
        except BaseException as error: S[0] = int(re.findall('[0-9]{5}', str(error))[-1])
    return S[0]
"""
TELLS = "def f(n, each=None):\n    if each: each(41257)\n    return 41257\n"
PROGRAMS = {
    **{
        name: (f"LOG = []\n{made}thing = {thing}\nLOG.clear()\nassert f(thing) == len(LOG)", ZERO, f"{RAW}def f(k):\n    {use}\n    return 1\n")
        for name, (made, thing, use) in READING.items()
    },
    **CHANGES,
    **{f"error text: {name}": ([f"{each}\nf(4, each)", "assert f(4) == 41257"], TELLS, HEARS) for name, each in EACH.items()},
}  # fmt: skip
MADE = {
    "factory": "    x: object = field(default_factory=note)\n",
    "post init": "    __post_init__ = lambda s: note()\n",
}


def attempt(name, code, *, known, prompt=""):
    tests, right, _ = PROGRAMS.get(name, ("assert f(K) == len(LOG)", ZERO, ""))
    tests = [tests] if isinstance(tests, str) else tests
    sample = Sample(
        id=f"{name} {known}", tests=tuple(Test(program=test) for test in tests), entry_point="f",
        references=(right,) if known else (), prompt_code=prompt,
    )  # fmt: skip
    return Job(f"{name} {known}", code, sample, Limits(seconds=3.0))


@pytest.fixture(scope="module")
def results(request):
    """Return what became of the last test of the attempts that the chosen cases ask for."""
    chosen = {
        (item.callspec.params["name"], item.callspec.params["known"])
        for item in request.session.items
        if item.path == request.node.path and "known" in getattr(item, "callspec", item).params
    }

    def run(part):
        jobs = [attempt(name, PROGRAMS[name][2], known=known) for name, known in part]
        with Sandbox(workers=1, isolation="weak", dedupe=False) as box:
            by_key = {job.key: outcome.tests[-1] for job, outcome in box.run(jobs)}
        return {case: by_key[job.key] for case, job in zip(part, jobs, strict=True)}

    return Parts(chosen, run)


@pytest.mark.parametrize("known", [True, False], ids=["with a reference", "alone"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_only_seems_to_read_or_to_be_the_right_answers_is_not_separated(results, name, known):
    for module in ("numpy", "attr"):
        if f"import {module}" in str(PROGRAMS[name][0]):
            pytest.importorskip(module)

    result = results[name, known]

    assert not (result.passed and result.verdict == "separated"), result


@pytest.mark.parametrize("name", MADE)
def test_what_a_class_of_the_prompts_makes_is_seen(box, name):
    attack = "def f(K):\n    K()\n    return 1\n"

    ((_, outcome),) = box.run(
        [attempt(name, attack, known=False, prompt=f"{DATA}    y: int = 0\n{MADE[name]}def f(K):\n")]
    )

    assert not (outcome.tests[0].passed and outcome.tests[0].verdict == "separated"), outcome.tests[0]


SHARED = (
    "keyword.kwlist",
    "calendar.mdays",
    "urllib.parse.uses_netloc",
    "html.entities.html5",
    "token.tok_name",
    "json.encoder.ESCAPE_DCT",
)


@pytest.mark.parametrize("shared", SHARED)
def test_what_an_attempt_changes_in_a_module_is_as_it_was_for_the_next(box, shared):
    right = "def f(k): return len(k)\n"
    program = f"import {shared.rpartition('.')[0]}\nk = {shared}\nassert f(k) == f(type(k)(k)) > 0\n"
    sample = Sample(id=shared, tests=(Test(program=program),), entry_point="f", references=(right,))
    clears = "def f(k):\n    n = len(k)\n    k.clear()\n    return n\n"

    jobs = [
        Job(key, code, sample, Limits(seconds=3.0)) for key, code in (("clears", clears), ("next", right + "# again\n"))
    ]
    outcomes = {job.key: outcome.tests[0] for job, outcome in box.run(jobs)}

    assert (outcomes["next"].passed, outcomes["next"].verdict.value) == (True, "separated")
