"""What a fifth red team found: containers that cross again, views, what an earlier test has set up, and what going through costs.

None of `WRONG` is to pass as `separated`: plain Python fails it, or the test computes what it expects from what the solution has
changed. All of `RIGHT` is to pass, as in plain Python, and of `SEPARATED` as `separated`.
"""

import pytest

from markbook.sandbox import Job
from markbook.types import Limits, Sample, Test

RAW = """
import sys
def peer():
    frame = sys._getframe()
    while "peer" not in frame.f_locals: frame = frame.f_back
    return frame.f_locals["peer"]
def b(lent): return ["b", object.__getattribute__(lent, "__dict__")["_markbook_token"]]
class Wire:
    def __init__(self, form): self.form = form
next(m for n, m in list(sys.modules.items()) if n.endswith("exchange.values"))._PUT[Wire] = lambda t, w, d: w.form
"""
"""By this a solution speaks on the wire, past its own stand-ins."""
WRONG = {
    "same list yielded": ("assert list(f(3)) == [[0], [0, 1], [0, 1, 2]]\n", "def f(n):\n    r = []\n    for i in range(n):\n        r.append(i)\n        yield list(r)\n", "def f(n):\n    r = []\n    for i in range(n):\n        r.append(i)\n        yield r\n"),
    "permutations yielded": ("assert sorted(f([1, 2])) == [[1, 2], [2, 1]]\n", "def f(a, k=0):\n    if k == len(a):\n        yield list(a)\n    for i in range(k, len(a)):\n        a[k], a[i] = a[i], a[k]\n        yield from f(a, k + 1)\n        a[k], a[i] = a[i], a[k]\n", "def f(a, k=0):\n    if k == len(a):\n        yield a\n    for i in range(k, len(a)):\n        a[k], a[i] = a[i], a[k]\n        yield from f(a, k + 1)\n        a[k], a[i] = a[i], a[k]\n"),
    "buffer reused": ("a = f(1)\nb = f(2)\nassert a == [1] and b == [2]\n", "def f(n): return [n]\n", "B = []\ndef f(n):\n    B[:] = [n]\n    return B\n"),
    "buffer reused, in one expression": ("assert [f(1), f(2)] == [[1], [2]]\n", "def f(n): return [n]\n", "B = []\ndef f(n):\n    B[:] = [n]\n    return B\n"),
    "mutable default": ("a = f(1)\nb = f(2)\nassert (a, b) == ([1], [2])\n", "def f(n, acc=None):\n    acc = acc or []\n    acc.append(n)\n    return acc\n", "def f(n, acc=[]):\n    acc.clear()\n    acc.append(n)\n    return acc\n"),
    "history in one": ("c = C()\nh = [c.step(i) for i in range(3)]\nassert h == [[0], [0, 1], [0, 1, 2]]\n", "class C:\n    def __init__(self): self.s = []\n    def step(self, i):\n        self.s.append(i)\n        return list(self.s)\n", "class C:\n    def __init__(self): self.s = []\n    def step(self, i):\n        self.s.append(i)\n        return self.s\n", "C"),
    "dict rows reused": ("assert list(f('ab')) == [{'c': 'a'}, {'c': 'b'}]\n", "def f(s):\n    for c in s: yield {'c': c}\n", "def f(s):\n    d = {}\n    for c in s:\n        d['c'] = c\n        yield d\n"),
    "numpy buffer reused": ("a = f(1)\nb = f(2)\nassert a[0] == 1 and b[0] == 2\n", "import numpy as np\ndef f(n): return np.full(3, n)\n", "import numpy as np\nB = np.zeros(3)\ndef f(n):\n    B[:] = n\n    return B\n"),
    "given again": ("rows = [1]\nput(rows)\nrows.append(2)\nassert size(rows) == 1\n", "K = []\ndef put(r): K.append(list(r))\ndef size(r): return len(K[0])\n", "K = []\ndef put(r): K.append(r)\ndef size(r): return len(K[0])\n", "put"),
    "array view, at once": ("import numpy as np\ng = G(3)\nrow = g.row(0)\ng.put(0, 0, 5)\nassert row[0] == 0\n", "import numpy as np\nclass G:\n    def __init__(self, n): self.a = np.zeros((n, n))\n    def row(self, i): return self.a[i].copy()\n    def size(self): return len(self.a)\n    def put(self, i, j, v): self.a[i, j] = v\n", "import numpy as np\nclass G:\n    def __init__(self, n): self.a = np.zeros((n, n))\n    def row(self, i): return self.a[i]\n    def size(self): return len(self.a)\n    def put(self, i, j, v): self.a[i, j] = v\n", "G"),
    "array view, a call between": ("import numpy as np\ng = G(3)\nrow = g.row(0)\ng.size()\ng.put(0, 0, 5)\nassert row[0] == 0\n", "import numpy as np\nclass G:\n    def __init__(self, n): self.a = np.zeros((n, n))\n    def row(self, i): return self.a[i].copy()\n    def size(self): return len(self.a)\n    def put(self, i, j, v): self.a[i, j] = v\n", "import numpy as np\nclass G:\n    def __init__(self, n): self.a = np.zeros((n, n))\n    def row(self, i): return self.a[i]\n    def size(self): return len(self.a)\n    def put(self, i, j, v): self.a[i, j] = v\n", "G"),
    "array view of the test's": ("import numpy as np\na = np.zeros(4)\nput(a[:2])\nsize()\na[0] = 9\nassert best() == 0\n", "import numpy as np\nK = []\ndef put(v): K.append(v.copy())\ndef size(): return 2\ndef best(): return K[0].max()\n", "import numpy as np\nK = []\ndef put(v): K.append(v)\ndef size(): return 2\ndef best(): return K[0].max()\n", "put"),
    "the test's callback as a factory": ("S = [1, 2, 3]\nr = f(S.pop)\nassert r['a'] == max(S) + 1\n", "def f(cb): return {'a': 4}\n", "from collections import defaultdict\ndef f(cb): return defaultdict(cb)\n"),
}  # fmt: skip
"""By name the tests, a right answer and a wrong one, and what is tested if it is not `f`."""
RIGHT = {
    "array view of the test's": ("import numpy as np\na = np.zeros(4)\nput(a[:2])\nsize()\na[0] = 9\nassert best() == 9\n", "import numpy as np\nK = []\ndef put(v): K.append(v)\ndef size(): return 2\ndef best(): return K[0].max()\n", "import numpy as np\nK = {}\ndef put(v): K['v'] = v\ndef size(): return 2\ndef best(): return max(K['v'])\n", "put"),
    "test changes an array answer": ("import numpy as np\na = f(3)\na[0] = 9\nassert a.sum() == 9 + 1 + 2\n", "import numpy as np\ndef f(n): return np.arange(n)\n", "import numpy as np\ndef f(n): return np.array(range(n))\n"),
    "test sorts an array answer": ("import numpy as np\na = f(3)\na.sort()\nassert list(a) == [0, 1, 2]\n", "import numpy as np\ndef f(n): return np.arange(n)[::-1]\n", "import numpy as np\ndef f(n): return np.array([2, 0, 1])\n"),
    "test changes its array": ("import numpy as np\na = np.arange(3)\ns = f(a)\na[0] = 9\nassert s == 3 and a[0] == 9\n", "import numpy as np\ndef f(a): return int(a.sum())\n", "import numpy as np\ndef f(a): return int(sum(a))\n"),
    "array and list changed": ("import numpy as np\na = np.arange(3)\nr = f(a)\nr.append(9)\nassert r == [0, 1, 2, 9]\n", "import numpy as np\ndef f(a): return a.tolist()\n", "import numpy as np\ndef f(a): return [int(x) for x in a]\n"),
    "match captures": (["match f([1, 2]), [3, 1]:\n    case (3, data): pass\nassert data == [3, 1]\n", "class H: n = 0\no = H()\ng(o, data)\nassert o.n == 4\n"], "def f(x): return sum(x)\ndef g(o, d): o.n = sum(d)\n", "def f(x): return sum(x)\ndef g(o, d):\n    for x in d: o.n += x\n", "f"),
    "match star": (["match [3, 1, 2]:\n    case [x, *data]: pass\nassert f(data) == 3\n", "class H: n = 0\no = H()\ng(o, data)\nassert o.n == 3\n"], "def f(x): return sum(x)\ndef g(o, d): o.n = sum(d)\n", "def f(x): return sum(x)\ndef g(o, d):\n    for x in d: o.n += x\n", "f"),
    "match mapping rest": (["match {'a': 1, 'b': 2}:\n    case {'a': x, **rest}: pass\nassert f([x]) == 1\n", "class H: n = 0\no = H()\ng(o, list(rest.values()))\nassert o.n == 2\n"], "def f(x): return sum(x)\ndef g(o, d): o.n = sum(d)\n", "def f(x): return sum(x)\ndef g(o, d):\n    for x in d: o.n += x\n", "f"),
    "match as": (["match [3, 1]:\n    case [_, _] as data: pass\nassert f(data) == 4\n", "class H: n = 0\no = H()\ng(o, data)\nassert o.n == 4\n"], "def f(x): return sum(x)\ndef g(o, d): o.n = sum(d)\n", "def f(x): return sum(x)\ndef g(o, d):\n    for x in d: o.n += x\n", "f"),
    "class changed by a middle test": (["class Box: items = [3]\nassert f(Box.items) == 3\n", "Box.items.append(1)\nassert f(Box.items) == 4\n", "class H: n = 0\no = H()\ng(o, Box.items)\nassert o.n == 4\n"], "def f(x): return sum(x)\ndef g(o, d): o.n = sum(d)\n", "def f(x): return sum(x)\ndef g(o, d):\n    for x in d: o.n += x\n", "f"),
    "class attribute set by a middle test": (["class Box: items = [3]\nassert f(Box.items) == 3\n", "Box.items = [3, 1]\nassert f(Box.items) == 4\n", "class H: n = 0\no = H()\ng(o, Box.items)\nassert o.n == 4\n"], "def f(x): return sum(x)\ndef g(o, d): o.n = sum(d)\n", "def f(x): return sum(x)\ndef g(o, d):\n    for x in d: o.n += x\n", "f"),
    "function's list by a middle test": (["def rows(r=[3]): return r\nassert f(rows()) == 3\n", "rows().append(1)\nassert f(rows()) == 4\n", "class H: n = 0\no = H()\ng(o, rows())\nassert o.n == 4\n"], "def f(x): return sum(x)\ndef g(o, d): o.n = sum(d)\n", "def f(x): return sum(x)\ndef g(o, d):\n    for x in d: o.n += x\n", "f"),
    "import changed by a middle test": (["import collections\nassert f([1]) == 1\n", "collections.Zed = [3, 1]\nassert f([2]) == 2\n", "class H: n = 0\no = H()\ng(o, collections.Zed)\nassert o.n == 4\n"], "def f(x): return sum(x)\ndef g(o, d): o.n = sum(d)\n", "def f(x): return sum(x)\ndef g(o, d):\n    for x in d: o.n += x\n", "f"),
    "alias of a list changed": (["data = [3]\nalias = data\nassert f(data) == 3\n", "alias.append(1)\nassert f(alias) == 4\n", "class H: n = 0\no = H()\ng(o, data)\nassert o.n == 4\n"], "def f(x): return sum(x)\ndef g(o, d): o.n = sum(d)\n", "def f(x): return sum(x)\ndef g(o, d):\n    for x in d: o.n += x\n", "f"),
    "held in an object changed": (["data = [3]\nbox = {'d': data}\nassert f(data) == 3\n", "box['d'].append(1)\nassert f(box['d']) == 4\n", "class H: n = 0\no = H()\ng(o, data)\nassert o.n == 4\n"], "def f(x): return sum(x)\ndef g(o, d): o.n = sum(d)\n", "def f(x): return sum(x)\ndef g(o, d):\n    for x in d: o.n += x\n", "f"),
    "changed by a helper": (["data = [3]\ndef more(): data.append(1)\nassert f(data) == 3\n", "more()\nassert f([5]) == 5\n", "class H: n = 0\no = H()\ng(o, data)\nassert o.n == 4\n"], "def f(x): return sum(x)\ndef g(o, d): o.n = sum(d)\n", "def f(x): return sum(x)\ndef g(o, d):\n    for x in d: o.n += x\n", "f"),
    "changed by a helper of a helper": (["data = [3]\ndef more(): data.append(1)\ndef most(): more()\nassert f(data) == 3\n", "most()\nassert f([5]) == 5\n", "class H: n = 0\no = H()\ng(o, data)\nassert o.n == 4\n"], "def f(x): return sum(x)\ndef g(o, d): o.n = sum(d)\n", "def f(x): return sum(x)\ndef g(o, d):\n    for x in d: o.n += x\n", "f"),
    "changed through a name of a middle test": (["rows = [[3], [5]]\nassert f(rows[0]) == 3\n", "first = rows[0]\nassert f(first) == 3\n", "first.append(1)\nassert f([1]) == 1\n", "class H: n = 0\no = H()\ng(o, rows[0])\nassert o.n == 4\n"], "def f(x): return sum(x)\ndef g(o, d): o.n = sum(d)\n", "def f(x): return sum(x)\ndef g(o, d):\n    for x in d: o.n += x\n", "f"),
    "state of the solution": (["assert f(3) == 1\n", "class H: n = 0\no = H()\ng(o, 5)\nassert o.n == 8\n"], "T = []\ndef f(x):\n    T.append(x)\n    return len(T)\ndef g(o, x):\n    f(x)\n    o.n = sum(T)\n", "T = []\ndef f(x):\n    T.append(x)\n    return len(T)\ndef g(o, x):\n    f(x)\n    for v in T: o.n += v\n", "f"),
    "registry of the solution": (["assert put('a', 3) is None\n", "class H: n = 0\no = H()\nfill(o)\nassert o.n == 3\n"], "D = {}\ndef put(k, v): D[k] = v\ndef fill(o): o.n = sum(D.values())\n", "D = {}\ndef put(k, v): D[k] = v\ndef fill(o):\n    for v in D.values(): o.n += v\n", "put"),
    "class state of the solution": (["a = C()\nassert a.id == 1\n", "class H: n = 0\no = H()\nb = C()\nb.fill(o)\nassert o.n == 2\n"], "class C:\n    N = 0\n    def __init__(self):\n        C.N += 1\n        self.id = C.N\n    def fill(self, o): o.n = self.id\n", "class C:\n    N = 0\n    def __init__(self):\n        C.N += 1\n        self.id = C.N\n    def fill(self, o):\n        for _ in range(self.id): o.n += 1\n", "C"),
    "from import star": (["from collections import *\nassert f([1]) == 1\n", "class H: n = 0\no = H()\ng(o, list(Counter('aab').values()))\nassert o.n == 3\n"], "def f(x): return sum(x)\ndef g(o, d): o.n = sum(d)\n", "def f(x): return sum(x)\ndef g(o, d):\n    for x in d: o.n += x\n", "f"),
    "prompt's list": (["HIST.append(3)\nassert f(HIST) == 3\n", "class H: n = 0\no = H()\ng(o, HIST)\nassert o.n == 3\n"], "def f(x): return sum(x)\ndef g(o, d): o.n = sum(d)\n", "def f(x): return sum(x)\ndef g(o, d):\n    for x in d: o.n += x\n", "f", "HIST = []\ndef helper(): return HIST\ndef f(x):\n    pass\n"),
}  # fmt: skip
"""The same with another right answer."""
SEPARATED = {
    "import Counter": ("from collections import Counter\nassert Counter(f('aab')) == {'a': 2, 'b': 1}\n", "def f(s): return list(s)\n", "from collections import Counter\ndef f(s): return list(Counter(s).elements())\n"),
    "import deque": ("from collections import deque\nassert f(deque([1, 2, 3])) == 6\n", "def f(s): return sum(s)\n", "from collections import deque\ndef f(s):\n    d, t = deque(s), 0\n    while d: t += d.pop()\n    return t\n"),
    "import Decimal": ("from decimal import Decimal\nassert f(1) == Decimal('1.5')\n", "import decimal\ndef f(n): return decimal.Decimal('1.5') * n\n", "from decimal import Decimal\ndef f(n): return Decimal(3) / 2 * n\n"),
    "import datetime": ("from datetime import date, timedelta\nassert f(date(2024, 1, 1)) == date(2024, 1, 2)\n", "import datetime\ndef f(d): return d + datetime.timedelta(1)\n", "from datetime import date, timedelta\ndef f(d): return date.fromordinal(d.toordinal() + 1)\n"),
    "import defaultdict": ("from collections import defaultdict\nd = defaultdict(int)\nfor k in f('aab'): d[k] += 1\nassert d == {'a': 2, 'b': 1}\n", "def f(s): return s\n", "from collections import defaultdict\ndef f(s): return ''.join(s)\n"),
    "first of many generators": ("for i in range(4000): assert next(f(i)) == i\n", "def f(i):\n    while True:\n        yield i\n        i += 1\n", "import itertools\ndef f(i): return itertools.count(i)\n"),
}  # fmt: skip
"""The same of tests that import what the other answer imports too, and of one that begins much and ends nothing."""
ASKED = {
    "an error": "def boom(): raise KeyError(1)",
    "an error of its own": "class E(Exception): pass\ndef boom(): raise E(1)",
    "an end": "def boom(): raise SystemExit(1)",
}
"""What the solution's process answers when it is asked whether it still holds something."""


def run_one(box, known, code, tests, right, entry="f", prompt=""):
    tests = tuple(Test(program=test) for test in ([tests] if isinstance(tests, str) else tests))
    references = (right,) if known else ()
    sample = Sample(id="red7", tests=tests, entry_point=entry, references=references, prompt_code=prompt)
    ((_, outcome),) = box.run([Job("one", code, sample, Limits(seconds=3.0))])
    return outcome.tests


known = pytest.mark.parametrize("known", [True, False], ids=["with a reference", "alone"])


@known
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_answer_is_not_separated(box, name, known):
    tests, right, wrong, *more = WRONG[name]

    result = run_one(box, known, wrong, tests, right, *more)[-1]

    assert not (result.passed and result.verdict == "separated"), result


@known
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_answer_passes(box, name, known):
    tests, right, other, *more = RIGHT[name]

    results = run_one(box, known, other, tests, right, *more)

    assert all(result.passed for result in results), results


@known
@pytest.mark.parametrize("name", SEPARATED)
def test_a_right_answer_is_separated(box, name, known):
    tests, right, other = SEPARATED[name]

    (result,) = run_one(box, known, other, tests, right)

    assert (result.passed, result.verdict) == (True, "separated"), result


@known
@pytest.mark.parametrize("name", ASKED)
def test_whatever_is_answered_at_the_end_of_a_test_the_worker_goes_on(box, name, known):
    test = "r = f(3)\nr.append(1)\nassert r == [3, 1]"
    hostile = f"{RAW}{ASKED[name]}\ndef f(n):\n    peer().operations['held'] = boom\n    return [n]\n"

    (result,) = run_one(box, known, hostile, test, "def f(n): return [n]\n")

    assert "lost" not in result.error_message, result
