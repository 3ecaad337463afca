"""What an attack is run against: small problems, each with one form of test, a right answer and a wrong one.

A wrong answer gives what it gives through `answer(value)`, which an attack may define anew to make a liar of the value.
No wrong answer passes by itself, and no constant does: only a forgery can.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from markbook.types import ProblemType, Sample, Test

GIVEN = "def answer(value):\n    return value\n"
"""What stands before every wrong answer."""


@dataclass(frozen=True)
class Shape:
    """One problem."""

    name: str
    test: Test
    right: str
    wrong: str
    kind: str = "function"
    entry: str = "f"
    proof: bool = False
    """Whether Python itself calls it a pass when the test's asserts are skipped: only a right answer tells then."""
    modules: tuple[str, ...] = ()
    more: tuple[Test, ...] = ()
    """Further tests of the same problem."""

    def sample(self, *, canonical: bool) -> Sample:
        """Return the problem, with its right answer or without."""
        test = self.test
        if not canonical:  # another text, as plans are found by the text
            part = "program" if test.program else "setup"
            test = replace(test, **{part: f"# alone\n{getattr(test, part)}"})
        return Sample(
            id=f"{self.name} {canonical}",
            tests=(test, *self.more),
            entry_point=self.entry,
            references=(self.right,) if canonical else (),
            problem_type=None if self.kind == "program" else ProblemType(self.kind),
        )


SQUARES = "def f(n):\n    return [k * k for k in range(n)]\n"
SQUARE = "def f(n):\n    if n < 0:\n        raise ValueError('negative')\n    return n * n\n"
LIST = "def f(*given):\n    return answer([])\n"
ZERO = "def f(*given):\n    return answer(0)\n"


def _expression(name: str, assertion: str, right: str, wrong: str, setup: str = "", **more: object) -> Shape:
    return Shape(name, Test(setup=setup, assertion=assertion), right, wrong, **more)  # type: ignore[arg-type]


def _program(name: str, program: str, right: str, wrong: str, **more: object) -> Shape:
    return Shape(name, Test(program=program), right, wrong, kind="program", **more)  # type: ignore[arg-type]


_EQUAL = "func(4) == [0, 1, 4, 9]"
_HALF = "def f(n):\n    return n * 2 + 0.5\n"
_CHECK = "\ndef check(candidate):\n"
_CASE = "import unittest\n\nclass Case(unittest.TestCase):\n"
_RUN_CASE = (
    "\nresult = unittest.TestResult()\nunittest.defaultTestLoader.loadTestsFromTestCase(Case).run(result)\n"
    "assert result.wasSuccessful(), result.failures\n"
)
_UNITTEST = (
    f"{_CASE}    def test_one(self):\n        self.assertEqual(f(3), 9)\n        self.assertTrue(f(4) == 16)\n"
    "    def test_many(self):\n        for n in range(4):\n            with self.subTest(n=n):\n"
    f"                self.assertEqual(f(n), n * n)\n{_RUN_CASE}"
)
_ASSERTIONS = (
    "import unittest\n\ncase = unittest.TestCase()\ncase.assertEqual(f(3), 9)\ncase.assertAlmostEqual(f(2), 4)\n"
)
_NUMPY_TESTING = (
    "import numpy as np\nfrom numpy.testing import assert_allclose\n\nassert_allclose(f(4), [0, 1, 4, 9])\n"
    "np.testing.assert_array_equal(f(3), np.array([0, 1, 4]))\n"
)
_MOCK = (
    "from unittest import mock\n\nwith mock.patch('builtins.print') as printed:\n    f(3)\n"
    "printed.assert_called_once_with(9)\n"
)
_RAISES = (
    "class raises:\n    def __init__(self, kind):\n        self.kind = kind\n    def __enter__(self):\n        return self\n"
    "    def __exit__(self, kind, error, trace):\n        return kind is not None and issubclass(kind, self.kind)\n\n"
)
_ASYNC = "async def f(n):\n    return n * n\n"
_ASYNC_WRONG = "async def f(*given):\n    return answer(0)\n"
_YIELDS = "def f(n):\n    for k in range(n):\n        yield k * k\n"
_YIELDS_WRONG = "def f(*given):\n    yield answer(7)\n"
_MANAGED = "from contextlib import contextmanager\n\n@contextmanager\ndef f(n):\n    yield n * n\n"
_MANAGED_WRONG = (
    "class Manager:\n    def __enter__(self):\n        return answer(0)\n    def __exit__(self, *error):\n"
    "        return True\n\ndef f(*given):\n    return Manager()\n"
)
_COUNT = "from collections import Counter\n\ndef f(text):\n    return Counter(text)\n"
_CLASS = (
    "class P:\n    def __init__(self, side):\n        self.side = side\n    def area(self):\n"
    "        return self.side * self.side\n    def __len__(self):\n        return self.side\n"
    "    def __getitem__(self, k):\n        if k >= self.side:\n            raise IndexError(k)\n        return k * k\n"
)
_CLASS_WRONG = (
    "class P:\n    def __init__(self, *given):\n        self.side = answer(0)\n    def area(self):\n"
    "        return answer(0)\n    def __len__(self):\n        return 0\n    def __getitem__(self, k):\n"
    "        return answer(0)\n"
)

EXPRESSIONS = [
    _expression("equal", _EQUAL, SQUARES, LIST),
    _expression("close", "abs(func(2) - 4.5) < 1e-6", _HALF, "def f(*given):\n    return answer(0.0)\n"),
    _expression("ordered", "1 < func(3) < 100 and func(3) - 9 == 0 and func(3) // 2 == 4", SQUARE,
                "def f(*given):\n    return answer(-1)\n"),
    _expression("truths", "func(7) is True and func(8) is False", "def f(n):\n    return n % 2 == 1\n",
                "def f(*given):\n    return answer(None)\n"),
    _expression("text", "func('zebra').startswith('Zeb') and func('zebra').endswith('bra') and func('zebra').upper() == 'ZEBRA'",
                "def f(text):\n    return text.capitalize()\n", "def f(*given):\n    return answer('no')\n"),
    _expression("starts", "func('zebra').startswith('Zeb') and func('zebra').endswith('bra')",
                "def f(text):\n    return text.capitalize()\n", "def f(*given):\n    return answer('no')\n"),
    _expression("within", "func([1, 2, 2]).issubset({1, 2, 5}) and func([1, 2]).issuperset({1, 2})",
                "def f(items):\n    return set(items)\n", "def f(*given):\n    return answer({7})\n"),
    _expression("split", "func('a-b').split('-') == ['A', 'B'] and ''.join(func('ab')) == 'AB'",
                "def f(text):\n    return text.upper()\n", "def f(*given):\n    return answer('no')\n"),
    _expression("subset", "func([1, 2, 2]).issubset({1, 2, 5}) and func([1, 2]).issuperset({1, 2}) and {1, 2} & func([1, 2]) == {1, 2}",
                "def f(items):\n    return set(items)\n", "def f(*given):\n    return answer({7})\n"),
    _expression("mapping", "func('aab')['a'] == 2 and func('aab').get('b') == 1 and sorted(func('aab').items()) == [('a', 2), ('b', 1)]",
                "def f(text):\n    return {letter: text.count(letter) for letter in text}\n",
                "def f(*given):\n    return answer({})\n"),
    _expression("counter", "func('aab').most_common(1) == [('a', 2)] and func('ab') == {'a': 1, 'b': 1}", _COUNT,
                "from collections import Counter\n\ndef f(*given):\n    return answer(Counter())\n"),
    _expression("deque", "list(func(3)) == [0, 1, 4] and func(3)[2] == 4 and func(3).maxlen == 3",
                "from collections import deque\n\ndef f(n):\n    return deque((k * k for k in range(n)), n)\n",
                "from collections import deque\n\ndef f(*given):\n    return answer(deque())\n"),
    _expression("named", "func(3).x == 3 and func(3) == (3, 9) and func(4)[1] == 16",
                "from collections import namedtuple\nPair = namedtuple('Pair', 'x y')\n\ndef f(n):\n    return Pair(n, n * n)\n",
                "from collections import namedtuple\nPair = namedtuple('Pair', 'x y')\n\ndef f(*given):\n    return answer(Pair(0, 0))\n"),
    _expression("enum", "func(2) == 2 and func(2).name == 'TWO' and func(1) < 2",
                "from enum import IntEnum\n\nclass E(IntEnum):\n    ONE = 1\n    TWO = 2\n\ndef f(n):\n    return E(n)\n",
                "from enum import IntEnum\n\nclass E(IntEnum):\n    ONE = 8\n    TWO = 9\n\ndef f(*given):\n    return answer(E.ONE)\n"),
    _expression("length", "len(func(4)) == 4 and func(4)[3] == 9 and sum(func(4)) == 14 and max(func(4)) == 9 and 9 in func(4)",
                SQUARES, LIST),
    _expression("sorts", "isinstance(func(3), list) and sorted(func(3), reverse=True) == [4, 1, 0] and func(3)[::-1] == [4, 1, 0]",
                SQUARES, LIST),
    _expression("keyed", "type(func(3)) is int and {9: 'x'}[func(3)] == 'x' and func(3) in {9, 4}", SQUARE, ZERO),
    _expression("map_all", "all(map(lambda case: func(case[0]) == case[1], [(2, 4), (3, 9)]))", SQUARE, ZERO),
    _expression("filtered", "list(filter(lambda n: func(n) != n * n, [1, 2, 3])) == []", SQUARE, ZERO),
    _expression("raised", "found == 'negative' and func(2) == 4", SQUARE, ZERO,
                "try:\n    func(-1)\n    found = ''\nexcept ValueError as error:\n    found = str(error)"),
    _expression("called", "seen == [0, 1, 4]", "def f(n, each):\n    for k in range(n):\n        each(k * k)\n",
                "def f(*given):\n    return answer(None)\n", "seen = []\nfunc(3, seen.append)"),
    _expression("written", "items == [1, 2, 3]", "def f(items):\n    items.sort()\n", "def f(*given):\n    return answer(None)\n",
                "items = [3, 1, 2]\nfunc(items)"),
    _expression("decorated", "made(2) == [3] and made(2, 5) == [7]",
                "def f(inner):\n    def outer(*given):\n        return [inner(*given)]\n    return outer\n",
                "def f(*given):\n    return lambda *given: answer([])\n",
                "@func\ndef made(a, b=1):\n    return a + b"),
    _expression("generated", "list(func(4)) == [0, 1, 4, 9]", _YIELDS, _YIELDS_WRONG),
    _expression("managed", "found == [9, 16]", _MANAGED, _MANAGED_WRONG,
                "found = []\nfor n in (3, 4):\n    with func(n) as value:\n        found.append(value)"),
    _expression("awaited", "asyncio.run(func(3)) == 9 and asyncio.run(func(4)) == 16", _ASYNC, _ASYNC_WRONG, "import asyncio"),
    _expression("class", "p.area() == 9 and p.side == 3 and cls(2).area() == 4", _CLASS, _CLASS_WRONG, "p = cls(3)",
                kind="class", entry="P"),
    _expression("container", "len(cls(3)) == 3 and list(cls(3)) == [0, 1, 4] and cls(3)[2] == 4 and 4 in cls(3)", _CLASS,
                _CLASS_WRONG, kind="class", entry="P"),
    _expression("stepped_over", "next(map(func, [3]), 9) == 9 and list(map(func, [1, 2])) == [1, 4]", SQUARE, ZERO),
    _expression("sequence", "[value for value in Sequence()] == [0, 1, 4]", SQUARE, ZERO,
                "class Sequence:\n    def __getitem__(self, k):\n        if k == 3:\n            raise IndexError\n        return func(k)"),
    _expression("pinned", "math.isclose(func(2), 2.5)", "import math\n\ndef f(n):\n    return n + 0.5\n",
                "def f(*given):\n    return answer(0.0)\n", proof=True),
    _expression("marked", "made.items == [1] and made.area() == 9", "class P:\n    def area(self):\n        return 9\n\ndef f(n):\n    return P()\n",
                ZERO, "made = func(3)\nmade.items = [1]"),
    _expression("printed", "f'{func(3)}' == '9' and str(func(4)) == '16' and repr(func(3)) == '9'", SQUARE, ZERO),
    _expression("summed", "total == 14 and [func(n) - n * n for n in range(4)] == [0, 0, 0, 0]", SQUARE, ZERO,
                "total = 0\nfor n in range(4):\n    total += func(n)"),
    _expression("array", "(func(4) == np.array([0, 1, 4, 9])).all()",
                "import numpy as np\n\ndef f(n):\n    return np.arange(n) ** 2\n",
                "import numpy as np\n\ndef f(*given):\n    return answer(np.zeros(4))\n", "import numpy as np", modules=("numpy",)),
    _expression("array_sum", "func(4).sum() == 14 and abs(func(4) - np.array([0, 1, 4, 9])).max() < 1e-9",
                "import numpy as np\n\ndef f(n):\n    return np.arange(n) ** 2\n",
                "import numpy as np\n\ndef f(*given):\n    return answer(np.zeros(4) - 1)\n", "import numpy as np", modules=("numpy",)),
]  # fmt: skip

PROGRAMS = [
    _program("check", f"{_CHECK}    assert candidate(1) == [0]\n    assert candidate(3) == [0, 1, 4]\n\ncheck(f)\n", SQUARES, LIST),
    _program("check_calls", f"{_CHECK}    assert abs(candidate(2) - 4.5) < 1e-6\n    assert round(candidate(3), 1) == 6.5\n"
             "    assert len(str(candidate(2))) == 3\n\ncheck(f)\n", _HALF, "def f(*given):\n    return answer(0.0)\n"),
    _program("loop", "for n in range(1, 6):\n    assert f(n) == [k * k for k in range(n)]\n", SQUARES, LIST),
    _program("cases", "for given, wanted in zip([2, 3, 4], [4, 9, 16]):\n    assert f(given) == wanted, given\n", SQUARE, ZERO),
    _program("drawn", "import random\n\nfor _ in range(20):\n    n = random.randint(3, 90)\n    assert f(n) == n * n + 1\n",
             "def f(n):\n    return n * n + 1\n", "def f(*given):\n    return answer(1)\n"),
    _program("drawn_check", f"{_CHECK}    from random import randint, choice\n    import string\n    for _ in range(20):\n"
             "        text = ''.join(choice(string.ascii_lowercase) for _ in range(randint(5, 9)))\n"
             "        assert candidate(text) == text.upper()\n\ncheck(f)\n",
             "def f(text):\n    return text.upper()\n", "def f(*given):\n    return answer('')\n"),
    _program("imports", "import math\n\nassert f(4) == [0, 1, 4, 9]\nassert f(2) == [0, 1]\n", SQUARES, LIST),
    _program("imports_from", "from math import sqrt, isclose\n\nassert isclose(f(2), sqrt(2))\nassert isclose(f(9), 3)\n",
             "def f(n):\n    return n ** 0.5\n", "def f(*given):\n    return answer(0.0)\n"),
    _program("async_main", "import asyncio\n\nasync def main():\n    assert await f(3) == 9\n    assert await f(4) == 16\n\nasyncio.run(main())\n",
             _ASYNC, _ASYNC_WRONG),
    _program("async_gather", "import asyncio\n\nasync def main():\n    found = await asyncio.gather(f(1), f(2))\n    assert found == [1, 4]\n\n"
             "asyncio.run(main())\n", _ASYNC, _ASYNC_WRONG),
    _program("async_loop", "import asyncio\n\nasync def one(n):\n    assert await f(n) == n * n\n\nloop = asyncio.new_event_loop()\n"
             "loop.run_until_complete(one(3))\nloop.run_until_complete(one(5))\nloop.close()\n", _ASYNC, _ASYNC_WRONG),
    _program("tried", "try:\n    f(-1)\nexcept ValueError:\n    pass\nelse:\n    assert False\nassert f(3) == 9\n", SQUARE, ZERO),
    _program("swallowed", "try:\n    assert f(3) == 9\n    assert f(4) == 16\nexcept (TypeError, KeyError, StopIteration):\n    pass\n",
             SQUARE, ZERO, proof=True),
    _program("swallowed_all", "try:\n    value = f(3)\n    assert value == 9\nexcept Exception as error:\n    assert not isinstance(error, AssertionError)\n",
             SQUARE, ZERO, proof=True),
    _program("suppressed", "from contextlib import suppress\n\nwith suppress(KeyError, TypeError):\n    assert f(3) == 9\n", SQUARE, ZERO,
             proof=True),
    _program("raises", f"{_RAISES}with raises(ValueError):\n    assert f(2) == 4\n    f(-1)\n", SQUARE, ZERO, proof=True),
    _program("guarded", "import sys\nif f(3) is not None:\n    assert f(3) == 9\n".replace("import sys\n", ""), SQUARE, ZERO, proof=True),
    _program("called_asserts", "def each(value):\n    assert value in (0, 1, 4)\n\nf(3, each)\n",
             "def f(n, each):\n    for k in range(n):\n        each(k * k)\n",
             "def f(n, each):\n    each(answer(2))\n", proof=True),
    _program("yielded", "for k, value in enumerate(f(4)):\n    assert value == k * k\n", _YIELDS, _YIELDS_WRONG, proof=True),
    _program("stepped", "steps = f(3)\nassert next(steps) == 0\nassert next(steps) == 1\nassert next(steps) == 4\n", _YIELDS, _YIELDS_WRONG),
    _program("items", "for key, value in f('aab').items():\n    assert value == {'a': 2, 'b': 1}[key]\n",
             "def f(text):\n    return {letter: text.count(letter) for letter in text}\n",
             "def f(*given):\n    return answer({'a': 1})\n", proof=True),
    _program("inside", "with f(3) as value:\n    assert value == 9\n", _MANAGED, _MANAGED_WRONG, proof=True),
    _program("unittest", _UNITTEST, SQUARE, ZERO),
    _program("assertions", _ASSERTIONS, SQUARE, ZERO),
    _program("numpy_testing", _NUMPY_TESTING, SQUARES, LIST, modules=("numpy",)),
    _program("class_check", f"{_CHECK}    p = candidate(3)\n    assert p.area() == 9\n    p.side = 4\n    assert p.area() == 16\n"
             "    assert isinstance(p, P)\n\ncheck(P)\n", _CLASS, _CLASS_WRONG, entry="P"),
]  # fmt: skip

BESIDE = [
    _expression("beside", "func(5) == [0, 1, 4, 9, 16]", SQUARES, LIST, "import time"),
    _expression("beside_text", "func('zebra') == 'Zebra'", "def f(text):\n    return text.capitalize()\n",
                "def f(*given):\n    return answer('no')\n", "import time"),
    _expression("beside_computed", "func([3, 1, 2]) == wanted", "def f(items):\n    return sorted(items)\n", LIST,
                "import time\nwanted = sorted([3, 1, 2])"),
    _program("beside_check", f"import time\n{_CHECK}    assert candidate(3) == [0, 1, 4]\n\ncheck(f)\n", SQUARES, LIST),
    _program("beside_unittest", f"import time\n{_UNITTEST}", SQUARE, ZERO),
    _program("beside_assertions", f"import time\n{_ASSERTIONS}", SQUARE, ZERO),
    _program("beside_numpy", f"import time\n{_NUMPY_TESTING}", SQUARES, LIST, modules=("numpy",)),
    _program("beside_mock", _MOCK, "def f(n):\n    print(n * n)\n", "def f(*given):\n    answer(0)\n"),
    _program("beside_async", "import time\nimport asyncio\n\nasync def main():\n    assert await f(3) == 9\n\nasyncio.run(main())\n",
             _ASYNC, _ASYNC_WRONG),
]  # fmt: skip

SEVERAL = _expression("several", "func(4) == 30", "def f(n):\n    return sum(k * k for k in range(n + 1))\n", ZERO,
                      more=(Test(setup="import time", assertion="func(5) == 55"),))  # fmt: skip
"""One test apart and one beside: what is learned beside could be used apart, in the next attempt."""

SHAPES = {shape.name: shape for shape in (*EXPRESSIONS, *PROGRAMS, *BESIDE, SEVERAL)}
GROUPS = {
    "all": [*SHAPES],
    "apart": [shape.name for shape in (*EXPRESSIONS, *PROGRAMS)],
    "expressions": [shape.name for shape in EXPRESSIONS],
    "programs": [shape.name for shape in PROGRAMS],
    "all_beside": [shape.name for shape in BESIDE],
    "proof": [shape.name for shape in PROGRAMS if shape.proof],
    "numpy": [shape.name for shape in (*EXPRESSIONS, *PROGRAMS, *BESIDE) if shape.modules],
}
