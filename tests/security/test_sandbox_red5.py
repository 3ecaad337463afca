"""What a third red team found against the rule about what a solution changes, and about what it is told.

Each solution passed as `separated` though it is wrong: it has the test expect what it gives, or was told what a test expects.
"""

import pytest

from markbook.sandbox import Job
from markbook.types import Limits, Sample, Test

RAW = """
import sys
def raw(*request):
    frame = sys._getframe()
    while "peer" not in frame.f_locals: frame = frame.f_back
    return frame.f_locals["peer"].request(*request)
"""
"""Comes for `RAW` in an attack: what asks for any operation by the solution's own end of the exchange."""
HOLES = {
    "bound list.count": (
        (
            "LOG = []\nclass Key:\n    def __hash__(self): return 1\n    def __eq__(self, o):\n        LOG.append(1)\n        return True\nassert f([Key()].count) == len(LOG)",
        ),
        "def f(*a): return 0\n",
        "def f(c):\n    c(1)\n    return 1\n",
        "f",
        "",
    ),
    "bound list.index": (
        (
            "LOG = []\nclass Key:\n    def __hash__(self): return 1\n    def __eq__(self, o):\n        LOG.append(1)\n        return True\nassert f([Key()].index) == len(LOG)",
        ),
        "def f(*a): return 0\n",
        "def f(c):\n    c(1)\n    return 1\n",
        "f",
        "",
    ),
    "bound dict.get": (
        (
            "LOG = []\nclass Key:\n    def __hash__(self): return 1\n    def __eq__(self, o):\n        LOG.append(1)\n        return True\nassert f({Key(): 1}.get) == len(LOG)",
        ),
        "def f(*a): return 0\n",
        "def f(c):\n    c(1)\n    return 1\n",
        "f",
        "",
    ),
    "bound list.__contains__": (
        (
            "LOG = []\nclass Key:\n    def __hash__(self): return 1\n    def __eq__(self, o):\n        LOG.append(1)\n        return True\nassert f([Key()].__contains__) == len(LOG)",
        ),
        "def f(*a): return 0\n",
        "def f(c):\n    c(1)\n    return 1\n",
        "f",
        "",
    ),
    "bound set.isdisjoint": (
        (
            "LOG = []\nclass Key:\n    def __hash__(self): return 1\n    def __eq__(self, o):\n        LOG.append(1)\n        return True\nassert f({Key()}.isdisjoint) == len(LOG)",
        ),
        "def f(*a): return 0\n",
        "def f(c):\n    c([1])\n    return 1\n",
        "f",
        "",
    ),
    "ordereddict subclass constructor": (
        (
            "LOG = []\nfrom collections import OrderedDict\nclass K(OrderedDict):\n    def __setitem__(self, k, v): LOG.append(k)\nassert f(K) == len(LOG)",
        ),
        "def f(*a): return 0\n",
        "def f(K):\n    K({1: 2})\n    return 1\n",
        "f",
        "",
    ),
    "enum by value": (
        (
            "LOG = []\nimport enum\nclass V:\n    def __eq__(self, o):\n        LOG.append(1)\n        return o == 5\nclass E(enum.Enum):\n    A = V()\nLOG.clear()\nassert f(E) == len(LOG)",
        ),
        "def f(*a): return 0\n",
        "def f(E):\n    E(5)\n    return 1\n",
        "f",
        "",
    ),
    "metaclass property": (
        (
            "LOG = []\nclass M(type):\n    @property\n    def x(cls):\n        LOG.append(1)\n        return 5\nclass D(metaclass=M): pass\nassert f(D) == len(LOG)",
        ),
        "def f(*a): return 0\n",
        "def f(D):\n    D.x\n    return 1\n",
        "f",
        "",
    ),
    "datetime with a zone of the test's": (
        (
            "LOG = []\nimport datetime as dt\nclass Z(dt.tzinfo):\n    def utcoffset(self, d):\n        LOG.append(1)\n        return dt.timedelta(0)\nd = dt.datetime(2020, 1, 2, tzinfo=Z())\nassert f(d) == len(LOG)",
        ),
        "def f(*a): return 0\n",
        "def f(d):\n    d.utcoffset()\n    return 1\n",
        "f",
        "",
    ),
    "date subclass replace": (
        (
            "LOG = []\nimport datetime as dt\nclass D(dt.date):\n    def __new__(cls, *a):\n        LOG.append(1)\n        return dt.date.__new__(cls, *a)\nd = D(2020, 1, 2)\nassert f(d) == len(LOG)",
        ),
        "def f(*a): return 1\n",
        "def f(d):\n    d.replace(day=3)\n    return 2\n",
        "f",
        "",
    ),
    "date subclass add": (
        (
            "LOG = []\nimport datetime as dt\nclass D(dt.date):\n    def __new__(cls, *a):\n        LOG.append(1)\n        return dt.date.__new__(cls, *a)\nd = D(2020, 1, 2)\nassert f(d) == len(LOG)",
        ),
        "def f(*a): return 1\n",
        "import datetime as dt\ndef f(d):\n    d + dt.timedelta(1)\n    return 2\n",
        "f",
        "",
    ),
    "namespace repr": (
        (
            "LOG = []\nimport types\nclass K:\n    def __repr__(self):\n        LOG.append(1)\n        return 'k'\nn = types.SimpleNamespace(k=K())\nassert f(n) == len(LOG)",
        ),
        "def f(*a): return 0\n",
        "def f(n):\n    str(n)\n    return 1\n",
        "f",
        "",
    ),
    "enum repr of value": (
        (
            "LOG = []\nimport enum\nclass V:\n    def __repr__(self):\n        LOG.append(1)\n        return 'v'\nclass E(enum.Enum):\n    A = V()\nassert f(E.A) == len(LOG)",
        ),
        "def f(*a): return 0\n",
        "def f(e):\n    repr(e)\n    return 1\n",
        "f",
        "",
    ),
    "enum format": (
        (
            "LOG = []\nimport enum\nclass E(enum.Enum):\n    A = 1\n    def __str__(self):\n        LOG.append(1)\n        return 'v'\nassert f(E.A) == len(LOG)",
        ),
        "def f(*a): return 0\n",
        "def f(e):\n    f'{e}'\n    return 1\n",
        "f",
        "",
    ),
    "str of repr": (
        (
            "LOG = []\nclass K:\n    def __repr__(self):\n        LOG.append(1)\n        return 'v'\nassert f(K()) == len(LOG)",
        ),
        "def f(*a): return 0\n",
        "def f(e):\n    str(e)\n    return 1\n",
        "f",
        "",
    ),
    "raw ne": (
        (
            "LOG = []\nclass K:\n    def __eq__(self, o):\n        LOG.append(1)\n        return True\nassert f(K()) == len(LOG)",
        ),
        "def f(*a): return 0\n",
        "RAW\ndef f(e):\n    raw('d', e, '__ne__', 1)\n    return 1\n",
        "f",
        "",
    ),
    "raw format": (
        (
            "LOG = []\nclass K:\n    def __str__(self):\n        LOG.append(1)\n        return 'v'\nassert f(K()) == len(LOG)",
        ),
        "def f(*a): return 0\n",
        "RAW\ndef f(e):\n    raw('d', e, '__format__', '')\n    return 1\n",
        "f",
        "",
    ),
    "raw contains of list subclass": (
        (
            "LOG = []\nclass Key:\n    def __hash__(self): return 1\n    def __eq__(self, o):\n        LOG.append(1)\n        return True\nclass K(list): pass\nassert f(K([Key()])) == len(LOG)",
        ),
        "def f(*a): return 0\n",
        "RAW\ndef f(e):\n    raw('d', e, '__contains__', 1)\n    return 1\n",
        "f",
        "",
    ),
    "raw eq of list subclass": (
        (
            "LOG = []\nclass Key:\n    def __hash__(self): return 1\n    def __eq__(self, o):\n        LOG.append(1)\n        return True\nclass K(list): pass\nassert f(K([Key()])) == len(LOG)",
        ),
        "def f(*a): return 0\n",
        "RAW\ndef f(e):\n    raw('d', e, '__eq__', [1])\n    return 1\n",
        "f",
        "",
    ),
    "raw count of namedtuple": (
        (
            "LOG = []\nclass Key:\n    def __hash__(self): return 1\n    def __eq__(self, o):\n        LOG.append(1)\n        return True\nfrom collections import namedtuple\nP = namedtuple('P', 'a b')\nassert f(P(Key(), 2)) == len(LOG)",
        ),
        "def f(*a): return 0\n",
        "RAW\ndef f(e):\n    raw('g', e, 'count')(7)\n    return 1\n",
        "f",
        "",
    ),
    "deque subclass copy": (
        (
            "LOG = []\nfrom collections import deque\nclass D(deque):\n    def __init__(self, *a):\n        LOG.append(1)\n        deque.__init__(self, *a)\nd = D([1])\nassert f(d) == len(LOG)",
        ),
        "def f(*a): return 1\n",
        "RAW\ndef f(d):\n    raw('g', d, 'copy')()\n    return 2\n",
        "f",
        "",
    ),
    "flag invert": (
        (
            "LOG = []\nimport enum\nclass P(enum.Flag):\n    R = 1\n    W = 2\n    X = 4\n    @classmethod\n    def _missing_(cls, v):\n        LOG.append(v)\n        return enum.Flag._missing_.__func__(cls, v)\nassert f(P.R) == len(LOG)",
        ),
        "def f(*a): return 0\n",
        "def f(p):\n    ~p\n    return 1\n",
        "f",
        "",
    ),
    "stream closed property": (
        (
            "LOG = []\nimport io\nclass S(io.StringIO):\n    @property\n    def closed(self):\n        LOG.append(1)\n        return False\ns = S('a')\nassert f(s) == len(LOG)",
        ),
        "def f(*a): return 0\n",
        "def f(s):\n    iter(s)\n    return 1\n",
        "f",
        "",
    ),
    "partition of an array": (
        ("import numpy as np\na = np.array([3, 9, 1, 7])\nassert f(a.partition) == a[0]",),
        "def f(p):\n    p(2)\n    return 1 if False else __import__('numpy').sort([3, 9, 1, 7])[0]\n",
        "def f(p):\n    p(3)\n    p(3)\n    return 3\n",
        "f",
        "",
    ),
    "partial told by str": (
        ("import functools, operator\ncheck = functools.partial(operator.eq, 41257)\nassert check(f(check))",),
        "def f(c): return 41257\n",
        "import re\ndef f(c): return int(re.findall(r'\\d+', str(c))[-1])\n",
        "f",
        "",
    ),
    "count told by str": (
        ("import itertools\nc = itertools.count(41257)\nassert f(c) == next(c)",),
        "def f(c): return 41257\n",
        "import re\ndef f(c): return int(re.findall(r'\\d+', str(c))[-1])\n",
        "f",
        "",
    ),
    "private told by namespace": (
        ("import types\nn = types.SimpleNamespace(n=3, _want=41257)\nassert f(n) == n._want",),
        "def f(c): return 41257\n",
        "import re\ndef f(c): return int(re.findall(r'_want=(\\d+)', str(c))[-1])\n",
        "f",
        "",
    ),
    "another test reads": (
        ("class H: n = 7\no = H()\nassert f(o) == 7", "assert g(3) == o.n"),
        "def f(o): return 7\ndef g(n): return 7\n",
        "def f(o):\n    o.n = 0\n    return 7\ndef g(n): return 0\n",
        "f",
        "",
    ),
    "listed test between": (
        ("class H: n = 7\no = H()\nassert f(o) == 7", "assert f([1]) == 7", "assert g(3) == o.n"),
        "def f(o): return 7\ndef g(n): return 7\n",
        "S = []\ndef f(o):\n    S.append(o)\n    if len(S) > 1: S[0].n = 0\n    return 7\ndef g(n): return 0\n",
        "f",
        "",
    ),
    "another test reads list": (
        ("o = [3, 1, 2]\nassert f(o) == [1, 2, 3]", "assert g(3) == sum(o)"),
        "def f(o): return sorted(o)\ndef g(n): return 6\n",
        "def f(o):\n    o.clear()\n    return [1, 2, 3]\ndef g(n): return 0\n",
        "f",
        "",
    ),
    "generator earlier step": (
        ("class H: n = 7\no = H()\ng = f(o)\nassert next(g) == o.n\nassert next(g) == o.n",),
        "def f(o):\n    yield 7\n    o.n = 0\n    yield 0\n",
        "def f(o):\n    o.n = 0\n    yield 0\n    yield 0\n",
        "f",
        "",
    ),
    "aliased rows": (
        ("class H: pass\no = H()\nf(o)\no.rows[0][0] = 5\nassert g(o) == sum(map(sum, o.rows))",),
        "def f(o): o.rows = [[0], [0]]\ndef g(o): return 5\n",
        "def f(o):\n    r = [0]\n    o.rows = [r, r]\ndef g(o): return 10\n",
        "f",
        "",
    ),
    "own node written back": (
        ("nodes = []\nassert f(nodes, 3) == nodes[-1].value * 2",),
        "class Node:\n    def __init__(self, v): self.value = v\ndef f(nodes, n):\n    nodes.append(Node(7))\n    return 14\n",
        "class Node:\n    def __init__(self, v): self.value = v\ndef f(nodes, n):\n    nodes.append(Node(0))\n    return 0\n",
        "f",
        "",
    ),
    "numbers swapped in another test": (
        (
            "class N:\n    def __init__(self, n): self.n = n\nclass Box: pass\nbox = Box()\nbox.a, box.b = N(7), N(7)\nassert f(box) == 1",
            "assert g(2) == box.a.n",
        ),
        "S = []\ndef f(box):\n    S[:] = [box.a, box.b]\n    return 1\ndef g(n):\n    S[1].n = 0\n    return 7\n",
        "S = []\ndef f(box):\n    b = box.b\n    S[:] = [box.a, b]\n    return 1\ndef g(n):\n    S[0].n = 0\n    return 0\n",
        "f",
        "",
    ),
    "error text tells another test": (
        (
            "import unittest\ncase = unittest.TestCase()\ndef each(v): case.assertEqual(v, 41257)\nf(4, each)",
            "assert f(4) == 41257",
        ),
        "def f(n, each=None):\n    if each: each(41257)\n    return 41257\n",
        "import re\nS = [0]\ndef f(n, each=None):\n    if each:\n        try: each(1)\n        except BaseException as e: S[0] = int(re.findall(r'!= (\\d+)', str(e))[0])\n    return S[0]\n",
        "f",
        "",
    ),
    "exit is told": (
        (
            "import unittest\ncase = unittest.TestCase()\nwith f(3) as m:\n    case.assertEqual(m.area(), 41257)",
            "assert f(3).area() == 41257",
        ),
        "class M:\n    def __enter__(self): return self\n    def __exit__(self, *e): return None\n    def area(self): return 41257\ndef f(n): return M()\n",
        "import re\nS = [0]\nclass M:\n    def __enter__(self): return self\n    def __exit__(self, k, e, t):\n        S[0] = int(re.findall(r'!= (\\d+)', str(e))[0])\n    def area(self): return S[0]\ndef f(n): return M()\n",
        "f",
        "",
    ),
    "step: len": (
        (
            "class H:\n    def __init__(self, n=7): self.n = n\no = H()\nk = f(o)\nassert len(k) == o.n\nassert len(k) == o.n",
        ),
        "class K:\n    def __init__(s, o): s.o, s.t = o, 0\n    def __len__(s):\n        s.t += 1\n        if s.t == 2: s.o.n = 0\n        return 7 if s.t == 1 else 0\ndef f(o): return K(o)\n",
        "class K:\n    def __init__(s, o): s.o, s.t = o, 0\n    def __len__(s):\n        s.t += 1\n        if s.t == 1: s.o.n = 0\n        return 0\ndef f(o): return K(o)\n",
        "f",
        "",
    ),
    "step: property": (
        ("class H:\n    def __init__(self, n=7): self.n = n\no = H()\nk = f(o)\nassert k.x == o.n\nassert k.x == o.n",),
        "class K:\n    def __init__(s, o): s.o, s.t = o, 0\n    @property\n    def x(s):\n        s.t += 1\n        if s.t == 2: s.o.n = 0\n        return 7 if s.t == 1 else 0\ndef f(o): return K(o)\n",
        "class K:\n    def __init__(s, o): s.o, s.t = o, 0\n    @property\n    def x(s):\n        s.t += 1\n        if s.t == 1: s.o.n = 0\n        return 0\ndef f(o): return K(o)\n",
        "f",
        "",
    ),
    "step: exit at enter": (
        ("class H:\n    def __init__(self, n=7): self.n = n\no = H()\nwith f(o) as m:\n    assert m.total == o.n",),
        "class M:\n    def __init__(s, o): s.o, s.total = o, 7\n    def __enter__(s): return s\n    def __exit__(s, *e): s.o.n = 0\ndef f(o): return M(o)\n",
        "class M:\n    def __init__(s, o): s.o, s.total = o, 0\n    def __enter__(s):\n        s.o.n = 0\n        return s\n    def __exit__(s, *e): pass\ndef f(o): return M(o)\n",
        "f",
        "",
    ),
    "step: for loop": (
        ("class H:\n    def __init__(self, n=7): self.n = n\no = H()\nfor x in f(o):\n    assert x == o.n",),
        "def f(o):\n    yield 7\n    o.n = 0\n    yield 0\n",
        "def f(o):\n    o.n = 0\n    yield 0\n    yield 0\n",
        "f",
        "",
    ),
    "step: send": (
        (
            "class H:\n    def __init__(self, n=7): self.n = n\no = H()\ng = f(o)\nnext(g)\nassert g.send(1) == o.n\nassert g.send(2) == o.n",
        ),
        "def f(o):\n    x = yield\n    x = yield 7\n    o.n = 0\n    yield 0\n",
        "def f(o):\n    x = yield\n    o.n = 0\n    x = yield 0\n    yield 0\n",
        "f",
        "",
    ),
    "step: operator with a list": (
        ("items = [3, 1, 2]\na = f()\nassert (a + items) == items[0]\nassert (a + items) == items[0]",),
        "class A:\n    t = 0\n    def __add__(s, i):\n        s.t += 1\n        if s.t == 2: i.sort()\n        return i[0]\ndef f(): return A()\n",
        "class A:\n    t = 0\n    def __add__(s, i):\n        s.t += 1\n        if s.t == 1: i.sort()\n        return i[0]\ndef f(): return A()\n",
        "f",
        "",
    ),
    "set order": (
        ("class H: pass\no = H()\nassert f(o) == list(o.s)[0]",),
        "def f(o):\n    o.s = {1, 9}\n    return 1\n",
        "def f(o):\n    o.s = {9, 1}\n    return 9\n",
        "f",
        "",
    ),
    "argument swapped": (
        (
            "class H:\n    def __init__(self, n=7): self.n = n\nclass B: pass\nb = B()\nb.x, b.y = H(7), H(5)\nassert f(b) == b.best.n",
        ),
        "def f(b):\n    b.best = b.x\n    return 7\n",
        "def f(b):\n    b.best = b.y\n    return 5\n",
        "f",
        "",
    ),
    "no restore in the next call": (
        ("class H:\n    def __init__(self, n=7): self.n = n\no = H()\nf(o)\nassert g(o) == o.n",),
        "def f(o): o.n = 5\ndef g(o):\n    o.n = 7\n    return 7\n",
        "def f(o): o.n = 5\ndef g(o): return 5\n",
        "f",
        "",
    ),
    "no second step": (
        ("class H:\n    def __init__(self, n=7): self.n = n\no = H()\ng = f(o)\nnext(g)\nassert next(g) == o.n",),
        "def f(o):\n    o.n = 5\n    yield 5\n    o.n = 7\n    yield 7\n",
        "def f(o):\n    o.n = 5\n    yield 5\n    yield 5\n",
        "f",
        "",
    ),
    "coroutine half": (
        (
            "class H:\n    def __init__(self, n=7): self.n = n\nimport asyncio\no = H()\nasync def c():\n    o.n = 0\n    await asyncio.sleep(0.05)\n    o.n = 7\nasync def t():\n    k = c()\n    assert await f(k) == o.n\nasyncio.run(t())",
        ),
        "async def f(k):\n    await k\n    return 7\n",
        "RAW\nasync def f(k):\n    a = raw('await', k)\n    raw('step', a, 0.0)\n    import asyncio\n    await asyncio.sleep(0)\n    raw('step', a, 0.0)\n    return 0\n",
        "f",
        "",
    ),
    "attrs factory": (
        (
            "LOG = []\nimport attr\ndef mk():\n    LOG.append(1)\n    return 1\n@attr.s(auto_attribs=True)\nclass K:\n    x: list = attr.Factory(mk)\nassert f(K) == len(LOG)",
        ),
        "def f(*a): return 0\n",
        "def f(K):\n    K()\n    return 1\n",
        "f",
        "",
    ),
    "attrs post init": (
        (
            "LOG = []\nimport attr\n@attr.define\nclass K:\n    x: int = 1\n    def __attrs_post_init__(self): LOG.append(1)\nassert f(K) == len(LOG)",
        ),
        "def f(*a): return 0\n",
        "def f(K):\n    K()\n    return 1\n",
        "f",
        "",
    ),
    "attrs validator": (
        (
            "LOG = []\nimport attr\ndef v(i, a, x): LOG.append(x)\n@attr.s\nclass K:\n    x = attr.ib(validator=v)\nassert f(K) == len(LOG)",
        ),
        "def f(*a): return 0\n",
        "def f(K):\n    K(1)\n    return 1\n",
        "f",
        "",
    ),
    "attrs converter on set": (
        (
            "LOG = []\nimport attr\ndef v(x):\n    LOG.append(x)\n    return x\n@attr.define\nclass K:\n    x: int = attr.field(converter=v)\nassert f(K) == len(LOG)",
        ),
        "def f(*a): return 0\n",
        "def f(K):\n    K(1)\n    return 1\n",
        "f",
        "",
    ),
    "attrs eq": (
        (
            "LOG = []\nimport attr\nclass V:\n    def __eq__(s, o):\n        LOG.append(1)\n        return True\n@attr.s(auto_attribs=True)\nclass K:\n    x: int = 1\nk = K(V())\nassert f(k) == len(LOG)",
        ),
        "def f(*a): return 0\n",
        "def f(k):\n    repr(k)\n    k == type(k)(1)\n    return 1\n",
        "f",
        "",
    ),
    "prompt dataclass factory": (
        ("assert f(K) == len(LOG)",),
        "def f(*a): return 0\n",
        "def f(K):\n    K()\n    return 1\n",
        "f",
        "from dataclasses import dataclass, field\nLOG = []\ndef mk():\n    LOG.append(1)\n    return 1\n@dataclass\nclass K:\n    x: int = field(default_factory=mk)\ndef f(K):\n",
    ),
    "prompt dataclass post init": (
        ("assert f(K) == len(LOG)",),
        "def f(*a): return 0\n",
        "def f(K):\n    K()\n    return 1\n",
        "f",
        "from dataclasses import dataclass\nLOG = []\n@dataclass\nclass K:\n    x: int = 1\n    def __post_init__(self): LOG.append(1)\ndef f(K):\n",
    ),
    "eq is told and tells": (
        ("assert f(3) == 41257", "assert g(3) == 41257"),
        "class R:\n    def __init__(s, n): s.n = n\n    def __eq__(s, o): return s.n == o\ndef f(n): return R(41257)\ndef g(n): return 41257\n",
        "S = [0]\nclass R:\n    def __eq__(s, o):\n        S[0] = o\n        return True\ndef f(n): return R()\ndef g(n): return S[0]\n",
        "f",
        "",
    ),
    "eq is told and tells, same attempt twice": (
        ("assert f(3) == 41257", "assert f(3) == 41257"),
        "class R:\n    def __init__(s, n): s.n = n\n    def __eq__(s, o): return s.n == o\ndef f(n): return R(41257)\n",
        "S = []\nclass R:\n    def __eq__(s, o):\n        S.append(o)\n        return True\ndef f(n): return S[0] if S else R()\n",
        "f",
        "",
    ),
    "numpy error tells": (
        ("import numpy as np\ndef each(v): np.testing.assert_equal(v, 41257)\nf(4, each)", "assert f(4) == 41257"),
        "def f(n, each=None):\n    if each: each(41257)\n    return 41257\n",
        "import re\nS = [0]\ndef f(n, each=None):\n    if each:\n        try: each(1)\n        except BaseException as e: S[0] = int(re.findall(r'\\d+', str(e))[-1])\n    return S[0]\n",
        "f",
        "",
    ),
    "assert message tells": (
        ("def each(v): assert v == 41257, f'{v} is not 41257'\nf(4, each)", "assert f(4) == 41257"),
        "def f(n, each=None):\n    if each: each(41257)\n    return 41257\n",
        "import re\nS = [0]\ndef f(n, each=None):\n    if each:\n        try: each(1)\n        except BaseException as e: S[0] = int(re.findall(r'\\d+', str(e))[-1])\n    return S[0]\n",
        "f",
        "",
    ),
    "own error tells": (
        (
            "def each(v):\n    if v != 41257: raise ValueError(f'{v} instead of 41257')\nf(4, each)",
            "assert f(4) == 41257",
        ),
        "def f(n, each=None):\n    if each: each(41257)\n    return 41257\n",
        "import re\nS = [0]\ndef f(n, each=None):\n    if each:\n        try: each(1)\n        except BaseException as e: S[0] = int(re.findall(r'\\d+', str(e))[-1])\n    return S[0]\n",
        "f",
        "",
    ),
    "str of partial, another test": (
        (
            "import functools, operator\ncheck = functools.partial(operator.eq, 41257)\nf(check)\nassert f(1) >= 0",
            "assert f(4) == 41257",
        ),
        "def f(c): return 41257\n",
        "import re\nS = [0]\ndef f(c):\n    if not isinstance(c, int): S[0] = int(re.findall(r'\\d+', str(c))[-1])\n    return S[0]\n",
        "f",
        "",
    ),
    "str of count, another test": (
        ("import itertools\nc = itertools.count(41257)\nf(c)\nassert f(1) >= 0", "assert f(4) == 41257"),
        "def f(c): return 41257\n",
        "import re\nS = [0]\ndef f(c):\n    if not isinstance(c, int): S[0] = int(re.findall(r'\\d+', str(c))[-1])\n    return S[0]\n",
        "f",
        "",
    ),
    "intflag or": (
        (
            "LOG = []\nimport enum\nclass P(enum.IntFlag):\n    R = 1\n    W = 2\n    @classmethod\n    def _missing_(cls, v):\n        LOG.append(v)\n        return super(P, cls)._missing_(v)\nassert f(P.R) == len(LOG)",
        ),
        "def f(*a): return 0\n",
        "RAW\ndef f(p):\n    raw('d', p, '__or__', 8)\n    return 1\n",
        "f",
        "",
    ),
    "generator of another test": (
        ("def gen():\n    yield 3\n    yield 4\ng = gen()\nassert f(g) == 7", "assert h(1) == sum(g)"),
        "def f(g): return 7\ndef h(n): return 7\n",
        "def f(g): return sum(g)\ndef h(n): return 0\n",
        "f",
        "",
    ),
    "enum value eq": (
        (
            "LOG = []\nimport enum\nclass V:\n    def __eq__(self, o):\n        LOG.append(1)\n        return True\nclass E(enum.Enum):\n    A = V()\nLOG.clear()\nassert f(E) == len(LOG)",
        ),
        "def f(*a): return 0\n",
        "def f(E):\n    E(5)\n    return 1\n",
        "f",
        "",
    ),
    "note digest function target": (
        ("a = [1]\nx = f()\nx.p(a)\nassert x.q(a) == a[0]",),
        "class X:\n    def p(s, a): a[0] = 5\n    def q(s, a): return a[0]\ndef f(): return X()\n",
        "class X:\n    def p(s, a): pass\n    def q(s, a):\n        a[0] = 5\n        return 5\ndef f(): return X()\n",
        "f",
        "",
    ),
}
"""The tests, the right answer, the attack, the name of what is tested, and the prompt."""


@pytest.mark.parametrize("known", [True, False], ids=["known", "alone"])
@pytest.mark.parametrize("name", HOLES)
def test_none_of_them_passes_as_separated(box, name, known):
    programs, right, attack, entry, prompt = HOLES[name]
    sample = Sample(
        id=name,
        tests=tuple(Test(program=program) for program in programs),
        entry_point=entry,
        references=(right,) if known else (),
        prompt_code=prompt,
    )
    answers = {"attack": attack.replace("RAW\n", RAW), "right": f"{right}# again\n"}

    outcomes = {
        job.key: out for job, out in box.run(Job(k, c, sample, Limits(seconds=3.0)) for k, c in answers.items())
    }

    last = outcomes["attack"].tests[-1]
    assert not (last.passed and last.verdict == "separated"), last
    assert all(test.passed for test in outcomes["right"].tests)
