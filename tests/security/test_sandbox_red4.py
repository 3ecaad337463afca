"""What a second red team found against the search for what a test reads again, before it became a list of forms.

Each solution changes what its test lent it, so that the test expects what it gives. None is to pass as `separated`.
"""

import sys

import pytest
from support.load import PATIENCE

from markbook.sandbox import Job, run_tests
from markbook.types import Limits, Sample, Test

HOLES = {
    "ann dunder instance": (
        "class D:\n    x: [3, 1, 2] = 1\nassert f(D().__annotations__['x']) == sorted(D().__annotations__['x'])",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "ann param list": (
        "def g(a: [3, 1, 2]): return a\nassert f([g][0].__annotations__['a']) == sorted([g][0].__annotations__['a'])",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "ann walrus": (
        "def g(a: (y := [3, 1, 2])): return a\nassert f(y) == sorted(y)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "return ann walrus": (
        "def g() -> (y := [3, 1, 2]): return 1\nassert f(y) == sorted(y)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "ann walrus const": (
        "y = 1\ndef g(a: (y := [3, 1, 2])): return a\nassert f(y) == sorted(y)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "module from func all": (
        "import collections\ndef g(): return collections\nassert f(g().__all__) == sorted(g().__all__)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "from collections all": (
        "from collections import __all__ as names\ndef g(): return names\nassert f(g()) == sorted(g())",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "from fractions all": (
        "from fractions import __all__ as names\ndef g(): return names\nassert f(g()) == sorted(g())",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "pairs binop for": (
        "pairs = [[[3, 1, 2]] * 2]\nfor a, b in pairs:\n    assert f(a) == sorted(b)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "list target binop": (
        "[a, b] = [[3, 1, 2]] * 2\nassert f(a) == sorted(b)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "nested tuple target": (
        "a, (b, c) = 1, ([3, 1, 2],) * 2\nassert f(b) == sorted(c)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "fromkeys": (
        "d = dict.fromkeys('ab', [3, 1, 2])\nfor a, b in [d.values()]:\n    assert f(a) == sorted(b)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "zip star": (
        "z = zip(*[[[3, 1, 2]]] * 2)\nfor a, b in z:\n    assert f(a) == sorted(b)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "starred tuple": (
        "a, b = *[], *[[3, 1, 2]] * 2\nassert f(a) == sorted(b)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "two loops comp": (
        "for i in range(1):\n    x = [3, 1, 2]\n[a, b] = [[h][0](x) for h in (f, sorted)]\nassert a == b",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "two loops for2": (
        "for x in [[3, 1, 2]]:\n    pass\nr = [[h][0](x) for h in (f, sorted)]\nfor a, b in [r]:\n    assert a == b\n",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "entry rebound": (
        "def f(): return [3, 1, 2]\nx = f()\nassert g(x) == sorted(x)",
        "def f(x=None): return x\ndef g(items): return sorted(items)\n",
        "def f(x=None): return x\ndef g(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "nested fn": (
        "def check(candidate):\n    def items(): return [3, 1, 2]\n    x = items()\n    assert candidate(x) == sorted(x)\ncheck(f)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "nested import deque": (
        "def check(candidate):\n    from collections import deque\n    x = deque([3, 1, 2])\n    assert candidate(x) == sorted(x)\ncheck(f)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "nested import numpy": (
        "def check(candidate):\n    import numpy as np\n    x = np.array([3, 1, 2])\n    assert candidate(x) == sum(x)\ncheck(f)",
        "def f(x): return sum(x)\n",
        "def f(x):\n    x[:] = 0\n    return 0\n",
        "f",
    ),
    "nested class": (
        "def check(candidate):\n    class D:\n        n = 7\n    x = D()\n    assert candidate(x) == x.n\ncheck(f)",
        "def f(x): return x.n\n",
        "def f(x):\n    x.n = 0\n    return 0\n",
        "f",
    ),
    "closure shadow const": (
        "x = 1\ndef check(candidate):\n    x = [3, 1, 2]\n    def items(): return x\n    assert candidate(items()) == sorted(items())\ncheck(f)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "closure import builtin": (
        "def check(candidate):\n    from keyword import kwlist as tuple\n    def items(): return tuple\n    assert candidate(items()) == sorted(items())\ncheck(f)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "key param": (
        "def best(rows, k):\n    first = max(rows, key=k)\n    return first == max(rows, key=sum)\nassert best([[1, 2], [0, 9]], f)",
        "def f(r): return sum(r)\n",
        "def f(r):\n    r.clear()\n    return 0\n",
        "f",
    ),
    "lambda called": (
        "assert (lambda g, xs: g(xs) == sorted(xs))(f, [3, 1, 2])",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "class method calls": (
        "class K:\n    def run(self, g, xs): return g(xs) == sorted(xs)\nassert K().run(f, [3, 1, 2])",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "lambda var subscript": (
        "h = lambda g, xs: g(xs) == sorted(xs)\nassert [h][0](f, [3, 1, 2])",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "lambda count method": (
        "assert (lambda o, xs: o.count(xs) == sorted(xs))(f(), [3, 1, 2])",
        "class O:\n    def count(self, xs): return sorted(xs)\ndef f(): return O()\n",
        "class O:\n    def count(self, xs):\n        xs.clear()\n        return []\ndef f(): return O()\n",
        "f",
    ),
    "range rebound": (
        "def range(): return [[3, 1, 2]]\nfor x in range():\n    assert f(x) == sorted(x)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "enumerate rebound": (
        "def enumerate(): return [([3, 1, 2], 0)]\nfor x, y in enumerate():\n    assert f(x) == sorted(x)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "lambda globals": (
        "items = [3, 1, 2]\nassert f(items) == sorted((lambda: 0).__globals__['items'])",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "class descriptor": (
        "LOG = []\nclass E:\n    def __get__(self, o, c):\n        LOG.append(1)\n        return 5\nclass D:\n    x = E()\nassert f(D) == len(LOG)",
        "def f(k): return 0\n",
        "def f(D):\n    D.x\n    return 1\n",
        "f",
    ),
    "defaultdict in method": (
        "from collections import defaultdict\nclass K:\n    def __init__(self): self.d = defaultdict(int)\n    def peek(self, k): return self.d[k]\nk = K()\nassert f(k) == len(k.d)",
        "def f(k): return 0\n",
        "def f(k):\n    k.peek(1)\n    return 1\n",
        "f",
    ),
    "iterator in method": (
        "class K:\n    def __init__(self): self.it = iter([1, 2, 3])\n    def take(self): return sum(self.it)\nk = K()\nassert f(k) == k.take()",
        "def f(k): return 6\n",
        "def f(k):\n    k.take()\n    return 0\n",
        "f",
    ),
    "iterator in for": (
        "class K:\n    def __init__(self): self.it = iter([1, 2, 3])\n    def take(self):\n        for x in self.it: return x\nk = K()\nassert f(k) == k.take()",
        "def f(k): return 1\n",
        "def f(k):\n    k.take()\n    return 2\n",
        "f",
    ),
    "property assigned": (
        "LOG = []\ndef bump(self):\n    LOG.append(1)\n    return 1\nclass K:\n    total = property(bump)\n    def peek(self): return self.total\nassert f(K()) == len(LOG)",
        "def f(k): return 0\n",
        "def f(k):\n    k.peek()\n    return 1\n",
        "f",
    ),
    "eq assigned": (
        "LOG = []\ndef bump(self, o):\n    LOG.append(1)\n    return True\nclass K:\n    __eq__ = bump\n    def same(self, o): return self == o\nassert f(K()) == len(LOG)",
        "def f(k): return 0\n",
        "def f(k):\n    k.same(1)\n    return 1\n",
        "f",
    ),
    "reading name assigned": (
        "LOG = []\ndef bump(self):\n    LOG.append(1)\n    return 1\nclass K:\n    index = bump\n    def peek(self): return self.index()\nassert f(K()) == len(LOG)",
        "def f(k): return 0\n",
        "def f(k):\n    k.peek()\n    return 1\n",
        "f",
    ),
    "subclass defaultdict": (
        "from collections import defaultdict\nclass K(defaultdict):\n    def peek(self, k): return self[k]\nk = K(int)\nassert f(k) == len(k)",
        "def f(k): return 0\n",
        "def f(k):\n    k.peek(1)\n    return 1\n",
        "f",
    ),
    "subclass stringio": (
        "import io\nclass K(io.StringIO):\n    def all(self): return list(self)\nk = K('a\\nb')\nassert f(k) == len(k.all())",
        "def f(k): return 2\n",
        "def f(k):\n    k.all()\n    return 0\n",
        "f",
    ),
    "init rebinds self": (
        "class K:\n    def __init__(self, other=None):\n        self = other or self\n        self.n = 0\nclass H: n = 7\nh = H()\nassert f(K, h) == h.n",
        "def f(K, h): return 7\n",
        "def f(K, h):\n    K(h)\n    return 0\n",
        "f",
    ),
    "reset init": (
        "class K:\n    def __init__(self, n=7): self.n = n\n    def reset(self): self.__init__(0)\nk = K()\nassert f(k) == k.n",
        "def f(k): return 7\n",
        "def f(k):\n    k.reset()\n    return 0\n",
        "f",
    ),
    "local key": (
        "LOG = []\ndef bump(x):\n    LOG.append(x)\n    return x\nclass K:\n    def __init__(self, fn): self.fn = fn\n    def best(self):\n        k = self.fn\n        return max([1, 2], key=k)\nk = K(bump)\nassert f(k) == len(LOG)",
        "def f(k): return 0\n",
        "def f(k):\n    k.best()\n    return 2\n",
        "f",
    ),
    "starred row const": (
        "for a, b, c in [(*[], 1, *[[3, 1, 2], 5])]:\n    assert f(b) == sorted(b)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "ndarray overlap": (
        "import numpy as np\nfor a, b in np.ndarray((1, 2, 3), 'i8', np.array([3, 1, 2]), 0, (0, 0, 8)):\n    assert f(a) == sum(b)",
        "def f(a): return sum(a)\n",
        "def f(a):\n    a[:] = 0\n    return 0\n",
        "f",
    ),
    "pair function": (
        "def pair(x): return (x, x)\nfor a, b in [pair([3, 1, 2])]:\n    assert f(a) == sorted(b)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "pair lambda": (
        "for a, b in [(lambda x: (x, x))([3, 1, 2])]:\n    assert f(a) == sorted(b)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "stale iter lambda": (
        "for i in range(1):\n    x = [3, 1, 2]\nfor a, b in [[[h][0](x) for h in (f, sorted)]]:\n    assert a == b",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "iter class sentinel": (
        "[a, b] = [[o][0].items for o in zip(*[[(1,)]])] if 0 else [[3, 1, 2]] * 2\nassert f(a) == sorted(b)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "copy deepcopy alias": (
        "import copy\nz = copy.deepcopy([[3, 1, 2]] * 2)\nfor a, b in [z]:\n    assert f(a) == sorted(b)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "list target solution": (
        "class H: n = 7\nh = [H()] * 2\n[a, b] = h\nassert f(a) == b.n",
        "def f(a): return 7\n",
        "def f(a):\n    a.n = 0\n    return 0\n",
        "f",
    ),
    "bound getitem defaultdict": (
        "from collections import defaultdict\nd = defaultdict(int)\nassert f(d.__getitem__) == len(d)",
        "def f(k): return 0\n",
        "def f(g):\n    g(1)\n    return 1\n",
        "f",
    ),
    "set assigned": (
        "LOG = []\ndef bump(s, o, v): LOG.append(1)\nclass E:\n    __set__ = bump\nclass K:\n    n = E()\n    def __init__(self): self.n = 1\nassert f(K) == len(LOG)",
        "def f(k): return 0\n",
        "def f(K):\n    K()\n    return 1\n",
        "f",
    ),
    "property setter init": (
        "LOG = []\ndef bump(s, v): LOG.append(1)\nclass K:\n    n = property(None, bump)\n    def __init__(self): self.n = 1\nassert f(K) == len(LOG)",
        "def f(k): return 0\n",
        "def f(K):\n    K()\n    return 1\n",
        "f",
    ),
    "getattr assigned direct": (
        "LOG = []\ndef bump(s, n):\n    LOG.append(1)\n    return 1\nclass K:\n    __getattr__ = bump\n    def __getattribute__(self, n): return object.__getattribute__(self, n)\nassert f(K()) == len(LOG)",
        "def f(k): return 0\n",
        "def f(k):\n    k.zzz\n    return 1\n",
        "f",
    ),
    "getattr one impure": (
        "LOG = []\nclass A:\n    def __getattribute__(self, n): return 1\nclass K:\n    __getattr__ = lambda s, n: LOG.append(1)\nassert f(K()) == len(LOG)",
        "def f(k): return 0\n",
        "def f(k):\n    k.zzz\n    return 1\n",
        "f",
    ),
    "class descriptor list": (
        "class E:\n    n = 7\n    def __get__(self, o, c):\n        self.n -= 1\n        return 5\ne = E()\nclass D:\n    x = e\nassert f(D) == e.n",
        "def f(D): return 7\n",
        "def f(D):\n    D.x\n    return 6\n",
        "f",
    ),
    "cached attr key call": (
        "LOG = []\ndef bump(x):\n    LOG.append(x)\n    return x\nclass K:\n    fn = staticmethod(bump)\n    def best(self, xs):\n        k = self.fn\n        return sorted(xs, key=k)\nassert f(K()) == len(LOG)",
        "def f(k): return 0\n",
        "def f(k):\n    k.best([1])\n    return 1\n",
        "f",
    ),
    "zip attr": (
        "class K:\n    def __init__(self): self.z = zip([1, 2], [3, 4])\n    def has(self, x): return x in self.z\nk = K()\nassert f(k) == len(list(k.z))",
        "def f(k): return 2\n",
        "def f(k):\n    k.has(9)\n    return 0\n",
        "f",
    ),
    "generator attr max": (
        "class K:\n    def __init__(self): self.z = (i for i in [1, 2])\n    def top(self): return max(self.z, default=0)\nk = K()\nassert f(k) == len(list(k.z))",
        "def f(k): return 2\n",
        "def f(k):\n    k.top()\n    return 0\n",
        "f",
    ),
    "unpack iterator attr": (
        "class K:\n    def __init__(self): self.z = iter([1, 2])\n    def top(self):\n        a, *b = self.z\n        return a\nk = K()\nassert f(k) == len(list(k.z))",
        "def f(k): return 2\n",
        "def f(k):\n    k.top()\n    return 0\n",
        "f",
    ),
    "star iterator attr": (
        "class K:\n    def __init__(self): self.z = iter([1, 2])\n    def top(self): return [*self.z]\nk = K()\nassert f(k) == len(list(k.z))",
        "def f(k): return 2\n",
        "def f(k):\n    k.top()\n    return 0\n",
        "f",
    ),
    "init called on other": (
        "class K:\n    def __init__(self, n=7): self.n = n\n    def set(self, other): other.__init__(0)\nk = K()\nassert f(K, k) == k.n",
        "def f(K, k): return 7\n",
        "def f(K, k):\n    k.set(k)\n    return 0\n",
        "f",
    ),
    "init for rebind": (
        "class K:\n    def __init__(self, o):\n        for self in [o]:\n            self.n = 0\nclass H: n = 7\nh = H()\nassert f(K, h) == h.n",
        "def f(K, h): return 7\n",
        "def f(K, h):\n    K(h)\n    return 0\n",
        "f",
    ),
    "order swapped": (
        "LOG = []\nclass H: n = 7\no = H()\ndef tell(): LOG.append(o.n)\nassert f(o, tell) == LOG[0]",
        "def f(o, tell):\n    tell()\n    o.n = 0\n    return 7\n",
        "def f(o, tell):\n    o.n = 0\n    tell()\n    return 0\n",
        "f",
    ),
    "no restore": (
        "class H: n = 7\no = H()\nassert f(o) == o.n",
        "def f(o):\n    o.n = 5\n    o.n = 7\n    return 7\n",
        "def f(o):\n    o.n = 5\n    return 5\n",
        "f",
    ),
    "no restore method": (
        "class H:\n    def __init__(self): self.s = [1]\n    def push(self, x): self.s = self.s + [x]\n    def pop(self): self.s = self.s[:-1]\no = H()\nassert f(o) == sum(o.s)",
        "def f(o):\n    o.push(2)\n    o.pop()\n    return 1\n",
        "def f(o):\n    o.push(2)\n    return 3\n",
        "f",
    ),
    "no rewind": (
        "import io\ns = io.StringIO('hello')\nassert f(s) == len(s.read())",
        "def f(s):\n    n = len(s.read())\n    s.seek(0)\n    return n\n",
        "def f(s):\n    s.read()\n    return 0\n",
        "f",
    ),
    "order set twice": (
        "class H: n = 7\no = H()\nassert f(o) == o.n",
        "def f(o):\n    o.n = 5\n    o.n = 7\n    return 7\n",
        "def f(o):\n    o.n = 7\n    o.n = 5\n    return 5\n",
        "f",
    ),
    "two objects order list": (
        "class H: n = 7\na, b = H(), H()\ndef swap(x, y): x.n, y.n = y.n, x.n\nassert f(a, b, swap) == b.n",
        "def f(a, b, swap):\n    a.n = 1\n    swap(a, b)\n    return 1\n",
        "def f(a, b, swap):\n    swap(a, b)\n    a.n = 1\n    return 7\n",
        "f",
    ),
    "before and after call": (
        "class H: n = 7\no = H()\ndef seen(g): return g(), o.n\ndef top(k):\n    return o.n + k\nR = []\ndef rec(): R.append(o.n)\nassert f(o, rec) == sum(R)",
        "def f(o, rec):\n    rec()\n    o.n = 0\n    return 7\n",
        "def f(o, rec):\n    o.n = 0\n    rec()\n    return 0\n",
        "f",
    ),
    "write class linear": (
        "class D:\n    n = 7\n    m = 7\nf(type(D()))\nassert g(7) == D().m",
        "def f(D): D.n = 1\ndef g(x): return x\n",
        "def f(D): D.m = 0\ndef g(x): return 0\n",
        "f",
    ),
    "fn dict": (
        "def g(): return 1\nassert f([g][0].__dict__) == len([g][0].__dict__)",
        "def f(k): return 0\n",
        "def f(d):\n    d['x'] = 1\n    return 1\n",
        "f",
    ),
    "method func ann": (
        "class D:\n    def m(self, x: [3, 1, 2]): return x\nassert f(D().m.__annotations__['x']) == sorted(D().m.__annotations__['x'])",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "class dict ann": (
        "class D:\n    x: [3, 1, 2] = 1\nassert f(type(D()).__annotations__['x']) == sorted(type(D()).__annotations__['x'])",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "candidate shadow": (
        "f = [3, 1, 2]\nx = f.copy()\nassert g(x) == sorted(x)",
        "def f(x=None): return x\ndef g(items): return sorted(items)\n",
        "def f(x=None): return x\ndef g(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "candidate var": (
        "candidate = [3, 1, 2]\nx = candidate.copy()\nassert f(x) == sorted(x)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "candidate class": (
        "class candidate:\n    n = 7\nx = candidate()\nassert f(x) == x.n",
        "def f(x): return 7\n",
        "def f(x):\n    x.n = 0\n    return 0\n",
        "f",
    ),
    "nested import counter": (
        "def check(candidate):\n    from collections import Counter\n    x = Counter('aab')\n    assert candidate(x) == sorted(x)\ncheck(f)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "nested import copy": (
        "def check(candidate):\n    import copy\n    x = copy.deepcopy([3, 1, 2])\n    assert candidate(x) == sorted(x)\ncheck(f)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "nested import random": (
        "def check(candidate):\n    from random import Random\n    x = Random(1).sample([1, 2, 3], 3)\n    assert candidate(x) == sorted(x)\ncheck(f)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "nested helper tree": (
        "def check(candidate):\n    class Node:\n        def __init__(self, v): self.v = v\n    t = Node(7)\n    assert candidate(t) == t.v\ncheck(f)",
        "def f(t): return t.v\n",
        "def f(t):\n    t.v = 0\n    return 0\n",
        "f",
    ),
    "nested generator": (
        "def check(candidate):\n    def rows():\n        yield 1\n        yield 2\n    x = rows()\n    assert candidate(x) == sum(x)\ncheck(f)",
        "def f(x): return 3\n",
        "def f(x):\n    list(x)\n    return 0\n",
        "f",
    ),
    "nested in method": (
        "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        from collections import deque\n        x = deque([3, 1, 2])\n        self.assertEqual(f(x), sorted(x))\nT('test_a').debug()",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "nested fn in method": (
        "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        def items(): return [3, 1, 2]\n        x = items()\n        self.assertEqual(f(x), sorted(x))\nT('test_a').debug()",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "key param lambda": (
        "def best(rows, k): return max(rows, key=k) == max(rows, key=sum)\nassert best([[1, 2], [0, 9]], f)",
        "def f(r): return sum(r)\n",
        "def f(r):\n    r.clear()\n    return 0\n",
        "f",
    ),
    "key param sorted": (
        "def order(rows, k): return sorted(rows, key=k) == sorted(rows)\nassert order([[2], [1]], f)",
        "def f(r): return r[0]\n",
        "def f(r):\n    r.clear()\n    return 0\n",
        "f",
    ),
    "key handle class": (
        "class H:\n    def __init__(self, n): self.n = n\ndef top(rows, k):\n    m = max(rows, key=k)\n    return m.n == max([r.n for r in rows])\nassert top([H(1), H(2)], f)",
        "def f(r): return r.n\n",
        "def f(r):\n    r.n = 0\n    return 0\n",
        "f",
    ),
    "staticmethod calls": (
        "class K:\n    @staticmethod\n    def run(g, xs): return g(xs) == sorted(xs)\nassert K().run(f, [3, 1, 2])",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "property pure own": (
        "class K:\n    def __init__(self, xs): self.xs = xs\n    def check(self, g): return g(self.xs) == sorted(self.xs)\nassert K([3, 1, 2]).check(f)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "method key": (
        "class K:\n    def best(self, rows, k): return max(rows, key=k) == max(rows, key=sum)\nassert K().best([[1, 2], [0, 9]], f)",
        "def f(r): return sum(r)\n",
        "def f(r):\n    r.clear()\n    return 0\n",
        "f",
    ),
    "lambda bound in list": (
        "for h in [lambda g, xs: g(xs) == sorted(xs)]:\n    assert [h][0](f, [3, 1, 2])",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "pure fn as value": (
        "class K:\n    def pair(self, x): return x, x\nfor a, b in [K().pair([3, 1, 2])]:\n    assert f(a) == sorted(b)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "for in comprehension pairs": (
        "rows = [[[3, 1, 2]] * 2]\nassert all(f(a) == sorted(b) for a, b in rows)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "zip iter twice": (
        "its = [[[3, 1, 2]]] * 2\nfor a, b in zip(*its):\n    assert f(a) == sorted(b)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "dict mul values": (
        "d = dict(zip('ab', [[3, 1, 2]] * 2))\nfor a, b in [d.values()]:\n    assert f(a) == sorted(b)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "matrix mul": (
        "grid = [[1, 2]] * 2\nfor a, b in [grid]:\n    f(a)\n    assert g(3) == sum(b)",
        "def f(a): pass\ndef g(n): return n\n",
        "def f(a): a.clear()\ndef g(n): return 0\n",
        "f",
    ),
    "list target call": (
        "def two(): return [[3, 1, 2]] * 2\n[a, b] = two()\nassert f(a) == sorted(b)",
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
    ),
    "dataclass method default": (
        "from collections import defaultdict\nclass G:\n    def __init__(self): self.e = defaultdict(list)\n    def add(self, a, b): self.e[a].append(b)\n    def near(self, a): return sorted(self.e[a])\ng = G()\ng.add(1, 2)\nassert f(g) == len(g.e)",
        "def f(g): return 1\n",
        "def f(g):\n    g.near(9)\n    return 2\n",
        "f",
    ),
    "stream attr": (
        "import io\nclass K:\n    def __init__(self): self.s = io.StringIO('a\\nb\\n')\n    def lines(self): return [x for x in self.s]\nk = K()\nassert f(k) == len(k.lines())",
        "def f(k): return 2\n",
        "def f(k):\n    k.lines()\n    return 0\n",
        "f",
    ),
    "contains dunder assigned": (
        "LOG = []\ndef bump(s, x):\n    LOG.append(1)\n    return True\nclass K:\n    __contains__ = bump\n    def has(self, x): return x in self\nassert f(K()) == len(LOG)",
        "def f(k): return 0\n",
        "def f(k):\n    k.has(1)\n    return 1\n",
        "f",
    ),
    "hash lambda": (
        "LOG = []\nclass K:\n    __hash__ = lambda s: len(LOG.append(1) or [])\n    def key(self): return hash(self)\nassert f(K()) == len(LOG)",
        "def f(k): return 0\n",
        "def f(k):\n    k.key()\n    return 1\n",
        "f",
    ),
    "iter lambda": (
        "LOG = []\nclass K:\n    __iter__ = lambda s: LOG.append(1) or iter([])\n    def all(self): return list(self)\nassert f(K()) == len(LOG)",
        "def f(k): return 0\n",
        "def f(k):\n    k.all()\n    return 1\n",
        "f",
    ),
    "property lambda": (
        "LOG = []\nclass K:\n    total = property(lambda s: LOG.append(1))\n    def peek(self): return self.total\nassert f(K()) == len(LOG)",
        "def f(k): return 0\n",
        "def f(k):\n    k.peek()\n    return 1\n",
        "f",
    ),
    "cached property assigned": (
        "import functools\nLOG = []\ndef bump(s): LOG.append(1)\nclass K:\n    total = functools.cached_property(bump)\n    def peek(self): return self.total\nassert f(K()) == len(LOG)",
        "def f(k): return 0\n",
        "def f(k):\n    k.peek()\n    return 1\n",
        "f",
    ),
    "init called by method": (
        "class K:\n    def __init__(self): self.seen = []\n    def reset(self): return self.__init__()\nk = K()\nk.seen = [7]\nassert f(k) == sum(k.seen)",
        "def f(k): return 7\n",
        "def f(k):\n    k.reset()\n    return 0\n",
        "f",
    ),
    "defaultdict get subscript del": (
        "from collections import defaultdict\nd = defaultdict(int)\nassert f(d.__contains__, d.__getitem__) == len(d)",
        "def f(c, g): return 0\n",
        "def f(c, g):\n    g(5)\n    return 1\n",
        "f",
    ),
    "patched method": (
        "LOG = []\ndef bump(*a):\n    LOG.append(1)\n    return 1\nclass K:\n    def peek(self): return 0\n    def top(self): return self.peek()\nK.peek = bump\nassert f(K()) == len(LOG)",
        "def f(k): return 0\n",
        "def f(k):\n    k.top()\n    return 1\n",
        "f",
    ),
    "patched instance": (
        "LOG = []\ndef bump(*a):\n    LOG.append(1)\n    return 1\nclass K:\n    def peek(self): return 0\n    def top(self): return self.peek()\nk = K()\nk.peek = bump\nassert f(k) == len(LOG)",
        "def f(k): return 0\n",
        "def f(k):\n    k.top()\n    return 1\n",
        "f",
    ),
    "patched dunder": (
        "LOG = []\ndef bump(*a):\n    LOG.append(1)\n    return 1\nclass K:\n    def __len__(self): return 0\n    def size(self): return len(self)\nK.__len__ = bump\nassert f(K()) == len(LOG)",
        "def f(k): return 0\n",
        "def f(k):\n    k.size()\n    return 1\n",
        "f",
    ),
    "patched late len": (
        "LOG = []\ndef bump(*a):\n    LOG.append(1)\n    return 1\nclass K:\n    def size(self): return len(self)\nsetattr(K, '__len__', bump)\nassert f(K()) == len(LOG)",
        "def f(k): return 0\n",
        "def f(k):\n    k.size()\n    return 1\n",
        "f",
    ),
    "queue get": (
        "from queue import Queue\nclass K:\n    def __init__(self):\n        self.q = Queue()\n        self.q.put(7)\n    def take(self): return self.q.get()\nk = K()\nassert f(k) == k.q.qsize()",
        "def f(k): return 1\n",
        "def f(k):\n    k.take()\n    return 0\n",
        "f",
    ),
    "iter protocol attr": (
        "class It:\n    def __init__(self): self.xs = [1, 2]\n    def __iter__(self): return self\n    __next__ = lambda self: self.xs.pop()\nclass K:\n    def __init__(self): self.it = It()\n    def any(self): return 1 in self.it\nk = K()\nassert f(k) == len(k.it.xs)",
        "def f(k): return 2\n",
        "def f(k):\n    k.any()\n    return 0\n",
        "f",
    ),
    "call assigned": (
        "LOG = []\ndef bump(*a):\n    LOG.append(1)\n    return 1\nclass K:\n    __call__ = bump\n    def best(self, xs):\n        k = self\n        return max(xs, key=k)\nassert f(K()) == len(LOG)",
        "def f(k): return 0\n",
        "def f(k):\n    k.best([1])\n    return 1\n",
        "f",
    ),
    "key named class": (
        "LOG = []\ndef bump(*a):\n    LOG.append(1)\n    return 1\nclass K:\n    def __init__(self, x): LOG.append(x)\nclass S:\n    cls = K\n    def best(self):\n        k = self.cls\n        return len(sorted([1], key=k))\nassert f(S()) == len(LOG)",
        "def f(k): return 0\n",
        "def f(s):\n    s.best()\n    return 1\n",
        "f",
    ),
    "descriptor instance bound": (
        "LOG = []\ndef bump(*a):\n    LOG.append(1)\n    return 1\nclass E:\n    __get__ = bump\nclass K:\n    x = E()\n    def peek(self): return self.x\nassert f(K()) == len(LOG)",
        "def f(k): return 0\n",
        "def f(k):\n    k.peek()\n    return 1\n",
        "f",
    ),
    "class descriptor lambda": (
        "LOG = []\nclass E:\n    __get__ = lambda s, o, c: LOG.append(1)\nclass D:\n    x = E()\nassert f(D) == len(LOG)",
        "def f(k): return 0\n",
        "def f(D):\n    D.x\n    return 1\n",
        "f",
    ),
    "pure eq of attr": (
        "LOG = []\ndef bump(*a):\n    LOG.append(1)\n    return 1\nclass C:\n    __eq__ = bump\nclass K:\n    def __init__(self): self.c = C()\n    def same(self): return self.c == 1\nassert f(K()) == len(LOG)",
        "def f(k): return 0\n",
        "def f(k):\n    k.same()\n    return 1\n",
        "f",
    ),
    "pure in list of attr": (
        "LOG = []\ndef bump(*a):\n    LOG.append(1)\n    return 1\nclass C:\n    __eq__ = bump\nclass K:\n    def __init__(self): self.c = [C()]\n    def same(self): return 1 in self.c\nassert f(K()) == len(LOG)",
        "def f(k): return 0\n",
        "def f(k):\n    k.same()\n    return 1\n",
        "f",
    ),
    "namedtuple field": (
        "from collections import namedtuple, defaultdict\nP = namedtuple('P', 'd')\np = P(defaultdict(int))\nassert f(p.d.get, p.d.__getitem__) == len(p.d)",
        "def f(a, b): return 0\n",
        "def f(a, b):\n    b(1)\n    return 1\n",
        "f",
    ),
    "defaultdict attr in": (
        "from collections import defaultdict\nclass K:\n    def __init__(self): self.d = defaultdict(list)\n    def total(self, xs): return sum([len(self.d[x]) for x in xs])\nk = K()\nassert f(k) == len(k.d)",
        "def f(k): return 0\n",
        "def f(k):\n    k.total([1, 2])\n    return 2\n",
        "f",
    ),
    "restore list in obj": (
        "class K:\n    def __init__(self): self.v = 7\n    def add(self, n): self.v += n\nk = K()\nassert f(k) == k.v",
        "def f(k):\n    k.add(5)\n    k.add(-5)\n    return 7\n",
        "def f(k):\n    k.add(5)\n    return 12\n",
        "f",
    ),
    "node visited restore": (
        "class Node:\n    def __init__(self, v): self.v, self.next = v, None\na = Node(1)\na.next = Node(2)\ndef total(n):\n    s = 0\n    while n:\n        s += n.v\n        n = n.next\n    return s\nassert f(a) == total(a)",
        "def f(a):\n    b = a.next\n    a.next = None\n    s = a.v + b.v\n    a.next = b\n    return s\n",
        "def f(a):\n    b = a.next\n    a.next = None\n    return a.v\n",
        "f",
    ),
    "own identity": (
        "class H: n = 7\nx = f(H())\nassert g(x) == x.n",
        "def f(h): return h\ndef g(h): return h.n\n",
        "def f(h): return h\ndef g(h):\n    h.n = 0\n    return 0\n",
        "f",
    ),
    "for target object": (
        "class H: n = 7\nps = [[H()] * 2]\nfor a, b in ps:\n    assert f(a) == b.n",
        "def f(a): return a.n\n",
        "def f(a):\n    a.n = 0\n    return 0\n",
        "f",
    ),
    "restore edge": (
        "class T:\n    def __init__(self, v, l=None): self.v, self.l = v, l\nt = T(1, T(2))\ndef size(t): return 1 + size(t.l) if t else 0\nassert f(t) == size(t)",
        "def f(t):\n    l = t.l\n    t.l = None\n    t.l = l\n    return 2\n",
        "def f(t):\n    t.l = None\n    return 1\n",
        "f",
    ),
    "file reread": (
        "import io\ndef data(): return io.StringIO('1 2')\ns = data()\nassert f(s) == len(s.getvalue()) - s.tell()",
        "def f(s):\n    s.read()\n    s.seek(0)\n    return 3\n",
        "def f(s):\n    s.read()\n    return 0\n",
        "f",
    ),
}  # fmt: skip
"""A test, the right answer, the attack and what is called."""
if sys.version_info >= (3, 14):  # annotations are not evaluated there unless somebody asks a class for them
    HOLES = {name: hole for name, hole in HOLES.items() if "ann walrus" not in name and name != "ann dunder instance"}

SEVERAL = {
    "two tests star": (
        ["from keyword import *\nassert f([1]) == [1]", "assert f(kwlist) == sorted(kwlist)"],
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
        "",
    ),
    "two tests star2": (
        ["from keyword import *\nassert f([]) == []", "assert f(kwlist) == sorted(kwlist)"],
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
        "",
    ),
    "two tests walrus comp": (
        ["[data := [3, 1, 2] for _ in range(1)]\nassert f([]) == []", "assert f(data) == sorted(data)"],
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
        "",
    ),
    "two tests match rest": (
        ["match {'a': 3, 'b': 1}:\n    case {**rest}: pass\nassert f([]) == []", "assert f(rest) == sorted(rest)"],
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
        "",
    ),
    "two tests annotations": (
        ["x: [3, 1, 2] = 1\nassert f([]) == []", "assert f(__annotations__['x']) == sorted(__annotations__['x'])"],
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
        "",
    ),
    "two tests same fn name": (
        ["LOG = []\ndef g(): LOG.append(1)\nh = g\nassert f(abs) == 0", "def g(): return 0\nassert f(h) == len(LOG)"],
        "def f(h): return 0\n",
        "def f(h):\n    if h is abs: return 0\n    h()\n    return 1\n",
        "f",
        "",
    ),
    "prompt star kwlist": (
        ["assert f(kwlist) == sorted(kwlist)"],
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
        "from keyword import *\ndef helper(x): return x\ndef f(items):\n",
    ),
    "prompt lambda": (
        ["y = sorted([1], key=lambda v: v)\nassert f(tick) == len(LOG)"],
        "def f(k): return 0\n",
        "def f(t):\n    t()\n    return 1\n",
        "f",
        "LOG = []\ntick = lambda: LOG.append(1)\ndef helper(x): return x\ndef f(items):\n",
    ),
    "prompt walrus comp": (
        ["assert f(data) == sorted(data)"],
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
        "[data := [3, 1, 2] for _ in range(1)]\ndef helper(x): return x\ndef f(items):\n",
    ),
    "prompt same fn": (
        ["def tick(): return 0\nassert f(tock) == len(LOG)"],
        "def f(k): return 0\n",
        "def f(t):\n    t()\n    return 1\n",
        "f",
        "LOG = []\ndef tick(): LOG.append(1)\ntock = tick\ndef f(items):\n",
    ),
    "two tests fn annotation walrus": (
        ["def z(a=(data := [3, 1, 2])): return a\nassert f([]) == []", "assert f(data) == sorted(data)"],
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
        "",
    ),
    "two tests lambda walrus": (
        ["z = lambda a=(data := [3, 1, 2]): a\nassert f([]) == []", "assert f(data) == sorted(data)"],
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
        "",
    ),
    "two tests base walrus": (
        ["class Z((base := dict)): pass\ndef mk(g: (data := [3, 1, 2])): pass\nassert f([]) == []", "assert f(data) == sorted(data)"],
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
        "",
    ),
    "two tests two lambdas": (
        ["LOG = []\ntick = lambda: LOG.append(1)\nassert f(abs) == 0", "y = lambda: 0\nassert f(tick) == len(LOG)"],
        "def f(h): return 0\n",
        "def f(h):\n    if h is abs: return 0\n    h()\n    return 1\n",
        "f",
        "",
    ),
    "two tests init": (
        ["LOG = []\nclass K:\n    def __init__(self): LOG.append(1)\nassert f(abs) == 0", "class D:\n    def __init__(self): pass\nassert f(K) == len(LOG)"],
        "def f(h): return 0\n",
        "def f(h):\n    if h is abs: return 0\n    h()\n    return 1\n",
        "f",
        "",
    ),
    "two tests eq": (
        ["LOG = []\nclass K:\n    def bump(self):\n        LOG.append(1)\n        return 1\n    def peek(self): return self.bump()\nk = K()\nassert f(abs) == 0", "class D:\n    def peek(self): return 0\nassert f(k) == len(LOG)"],
        "def f(h): return 0\n",
        "def f(h):\n    if h is abs: return 0\n    h.peek()\n    return 1\n",
        "f",
        "",
    ),
    "two tests linear shared": (
        ["k = f\nassert f([3, 1]) == [1, 3]", "def g(a: (y := [3, 1, 2])): return a\nassert f(y) == sorted(y)"],
        "def f(items): return sorted(items)\n",
        "def f(items):\n    if len(items) < 3: return sorted(items)\n    items.clear()\n    return []\n",
        "f",
        "",
    ),
    "two tests list name": (
        ["list = [3, 1, 2]\nassert f([]) == []", "assert f(list) == sorted(list)"],
        "def f(items): return sorted(items)\n",
        "def f(items):\n    if len(items) < 3: return sorted(items)\n    items.clear()\n    return []\n",
        "f",
        "",
    ),
    "two tests id name": (
        ["id = [3, 1, 2]\nassert f([]) == []", "assert f(id) == sorted(id)"],
        "def f(items): return sorted(items)\n",
        "def f(items):\n    if len(items) < 3: return sorted(items)\n    items.clear()\n    return []\n",
        "f",
        "",
    ),
    "two tests max name": (
        ["for max in [[3, 1, 2]]: pass\nassert f([]) == []", "assert f(max) == sorted(max)"],
        "def f(items): return sorted(items)\n",
        "def f(items):\n    if len(items) < 3: return sorted(items)\n    items.clear()\n    return []\n",
        "f",
        "",
    ),
    "prompt list name": (
        ["assert f(list) == sorted(list)"],
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
        "list = [3, 1, 2]\ndef helper(x): return x\ndef f(items):\n",
    ),
    "prompt max function": (
        ["def go(): return max\nassert f(max) == sorted(max)"],
        "def f(items): return sorted(items)\n",
        "def f(items):\n    items.clear()\n    return []\n",
        "f",
        "max = [3, 1, 2]\ndef helper(x): return x\ndef f(items):\n",
    ),
    "two tests def len": (
        ["LOG = []\ndef len(x):\n    LOG.append(1)\n    return 0\nassert f(abs) == 0", "class K:\n    def peek(self): return len(self)\nassert f(K()) == sum(LOG)"],
        "def f(h): return 0\n",
        "def f(h):\n    if h is abs: return 0\n    h.peek()\n    return 1\n",
        "f",
        "",
    ),
    "two tests math attr": (
        ["import math\nmath.data = [3, 1, 2]\nassert f([]) == []", "import math\nassert f(math.data) == sorted(math.data)"],
        "def f(items): return sorted(items)\n",
        "def f(items):\n    if len(items) < 3: return sorted(items)\n    items.clear()\n    return []\n",
        "f",
        "",
    ),
    "two tests math object": (
        ["import math\nclass H: n = 7\nmath.h = H()\nassert f(abs) == 0", "import math\nassert f(math.h) == math.h.n"],
        "def f(h): return 0 if h is abs else 7\n",
        "def f(h):\n    if h is abs: return 0\n    h.n = 1\n    return 1\n",
        "f",
        "",
    ),
}  # fmt: skip
"""The same with several tests, of which the last one expects what the solution gives, or with the code of a prompt."""


@pytest.mark.parametrize("known", [True, False], ids=["with a reference", "alone"])
@pytest.mark.parametrize("name", HOLES)
def test_no_other_form_hides_a_change_either(name, known):
    test, right, attack, entry = HOLES[name]

    outcome = run_tests(attack, test, entry_point=entry, canonical=right if known else "")

    (result,) = outcome.tests
    assert not (result.passed and result.verdict == "separated"), result


@pytest.mark.parametrize("name", HOLES)
def test_the_right_answer_there_is_separated_by_the_changes_of_the_reference(name):
    test, right, _, entry = HOLES[name]

    outcome = run_tests(right + "# again\n", test, entry_point=entry, canonical=right)

    assert [(result.passed, result.verdict.value) for result in outcome.tests] == [(True, "separated")]


@pytest.mark.parametrize("name", SEVERAL)
def test_nor_does_another_test_or_the_prompt(box, name):
    tests, right, attack, entry, prompt = SEVERAL[name]
    sample = Sample(
        id=name,
        tests=tuple(Test(program=test) for test in tests),
        entry_point=entry,
        references=(right,),
        prompt_code=prompt,
    )

    ((_, outcome),) = box.run([Job(name, attack, sample, Limits(seconds=PATIENCE))])

    assert not (outcome.tests[-1].passed and outcome.tests[-1].verdict == "separated"), outcome.tests[-1]
