"""Tests of one answer that share a process: nothing of one is there in the next, and the limits are those of each test."""

import pytest
from support.exam_kit import answer, hold, rows

from markbook.sandbox import Job, Sandbox
from markbook.sandbox.guest.examination.stateless import leaves_nothing
from markbook.types import Limits, ProblemType, Sample, Test

# Each says `later` if it finds what an earlier test has left, and leaves it.
CHANNELS = {
    "global": "try:\n    seen\nexcept NameError:\n    seen = 0\nprint('later' if seen else 'first')\nseen = 1",
    "default": "def f(a=[]):\n    a.append(1)\n    return len(a)\nprint('first' if f() == 1 else 'later')",
    "class": "class A:\n    seen = []\nprint('later' if A.seen else 'first')\nA.seen.append(1)",
    "cache": "from functools import lru_cache\nnew = []\n@lru_cache\ndef f():\n    new.append(1)\nf()\nprint('first' if new else 'later')",
    "recursion": "import sys\nprint('later' if sys.getrecursionlimit() == 4321 else 'first')\nsys.setrecursionlimit(4321)",
    "digits": "import sys\ntry:\n    str(10 ** 9000)\n    print('later')\nexcept ValueError:\n    print('first')\nsys.set_int_max_str_digits(0)",
    "stdin": "import sys\nprint(getattr(sys.stdin, 'seen', 'first'))\nsys.stdin.seen = 'later'",
    "stream": "import sys\nsys.stdout.seen = 'later'\ntry:\n    print(sys.stderr.seen)\nexcept AttributeError:\n    print('first')",
    "replaced": "import sys, io\nold = sys.stdout\nsys.stdout = io.StringIO()\nold.write('first' if input() else 'later')",
    "closed": "import sys\nprint('first' if input() else 'later')\nsys.stdin.close()\nsys.stdout.flush()\nsys.stdout.close()",
    "descriptor": "data = open(0)\nprint('first' if data.read() else 'later')\ndel data",
    "unread": "import sys\nprint('first' if sys.stdin.readline() == 'a\\n' else 'later')",
    "printed": "import sys\nsys.stdout.write('first\\n')\nloop = []\nloop.append((loop, sys.stdout.write))",
    "garbage": "loop = []\nloop.append(loop)\ndef g():\n    yield loop\nheld = g()\nnext(held)\nloop.append(held)\nprint('first')",
    "built-in": "print(input.__self__.seen if hasattr(input.__self__, 'seen') else 'first')\ninput.__self__.seen = 'later'",
    "name": "print('first')\nprint = input = None\nexit(0)",
    "module": "import math\nprint(getattr(math, 'seen', 'first'))\nmath.seen = 'later'",
    "library": "from collections import Counter\ntry:\n    print(Counter.seen)\nexcept AttributeError:\n    print('first')\nCounter.seen = 'later'",
    "default of a library": "import copy\nclass M(dict):\n    def get(self, key, nil=None):\n        if isinstance(nil, list):\n"
    "            print('later' if nil else 'first')\n            nil.append(1)\n            raise SystemExit\ncopy.deepcopy([], M())",
    "tuple of a library": "from functools import cache\nd = cache(print).cache_info()._field_defaults\nprint('later' if d else 'first')\nd[1] = 1",
    "patterns": "import re\nprint('later' if re._cache else 'first')\nre.compile('a+b')",
    "types": "from typing import List\nA = List[int]\nprint(A._name if A._name != 'List' else 'first')\nA._name = 'later'",
    "finalizer": "class A:\n    def __del__(self):\n        print('later')\na = A()\na.a = a\nprint('first')",
    "generator": "def g():\n    try:\n        yield\n    finally:\n        print('later')\na = [g()]\nnext(a[0])\na.append(a)\nprint('first')",
    "group of errors": "try:\n    print(ExceptionGroup.seen)\nexcept AttributeError:\n    print('first')\nExceptionGroup.seen = 'later'",
    "kept by a stream": "import sys\ntry:\n    print('first' if input() else '')\nexcept OSError:\n    print('later')\n    exit()\n"
    "sys.stdin.seen = open(0)",
    "known text": "import sys, collections\ns = ''.join(['se', 'en', 'x'])\nn = collections.namedtuple('P', [s])._fields[0]\n"
    "print('first' if n is s else 'later')\nsys.stdin.seen = [sys.stdin, n]",
    "slots": "import copy\nclass S(str):\n    n = 0\n    def __hash__(self):\n        S.n += 1\n"
    "        return ('__reduce_ex__' if S.n < 2 else 'f').__hash__()\n    def __eq__(self, other):\n"
    "        return str.__eq__('__reduce_ex__' if S.n < 2 else 'f', other)\nclass A:\n    pass\nA.__slots__ = [S('f')]\n"
    "f = copy.copy(A()).f(2)[0]\ntry:\n    print(f.seen)\nexcept AttributeError:\n    print('first')\nf.seen = 'later'",
    "depth": "import re\ndef at(n, f):\n    return f() if n <= 0 else at(n - 1, f)\ndef works(n, f):\n    try:\n"
    "        return at(n, f) is not None\n    except RecursionError:\n        return False\n"
    "n = max(n for n in range(900, 1000) if works(n, lambda: re.I | re.I))\n"
    "print('later' if works(n, lambda: re.I | 123456) else 'first')\nre.I | 123456",
    "low limit": "import sys\ntry:\n    sys.setrecursionlimit(80)\n    print('first')\nexcept ValueError:\n    print('later')",
    "thread": "import threading, time\nprint('first', flush=True)\n"
    "threading.Thread(target=lambda: (time.sleep(.05), print('later')), daemon=True).start()",
}  # fmt: skip


def test_nothing_of_a_test_is_there_in_the_next(tmp_path):
    expected = ("first", "later", "later", "first")
    tests = [{"stdin": f"a\nb\n{number}", "stdout": word} for number, word in enumerate(expected)]
    answers = [answer("p", text, name) for name, text in CHANNELS.items()]
    run = hold(tmp_path, [{"task_id": "p", "problem": "x", "tests": tests}], answers, all_tests=True)
    results = {name: [test["result"] for test in row["test_details"]] for name in CHANNELS for row in rows(run, name)}
    assert {name: result for name, result in results.items() if result != ["AC", "WA", "WA", "AC"]} == {}


def test_the_order_of_freed_memory_tells_nothing_of_a_test_with_the_same_input(box):
    code = """
def addresses(xs):
    return [int(repr(x)[18:-1], 16) for x in xs]
def look():
    ns = addresses([object() for _ in range(600)])
    return sum(p > q for p, q in zip(ns, ns[1:])) > 560
seen = look()
print(2 if seen else 1)
xs = [object() for _ in range(60000)]
xs = [x for _, x in sorted(zip(addresses(xs), xs), reverse=seen)]
for i in range(len(xs)):
    xs[i] = None
"""
    tests = tuple(Test(stdin="x", stdout=f"{1 + number % 2}\n") for number in range(6))
    sample = Sample(id="x", tests=tests, problem_type=ProblemType.STDIN)
    ((_, outcome),) = box.run([Job("k", code, sample, Limits(seconds=3.0), all_tests=True)])

    assert leaves_nothing(code)
    assert len({test.result for test in outcome.tests[::2]}) == len({test.result for test in outcome.tests[1::2]}) == 1
    assert outcome.tests[0].result != outcome.tests[1].result


@pytest.fixture(scope="module")
def box():
    with Sandbox(workers=1, isolation="weak") as sandbox:
        yield sandbox


def meet(box, code, numbers, **limits):
    tests = tuple(Test(stdin=f"{number}\n", stdout=f"{number}\n") for number in numbers)
    sample = Sample(id="x", tests=tests, problem_type=ProblemType.STDIN)
    ((_, outcome),) = box.run([Job("k", code, sample, Limits(**{"seconds": 1.0, **limits}), all_tests=True)])
    return outcome


@pytest.mark.parametrize(
    ("bad", "result", "limit"),
    [
        ("while n == 3: pass", "TLE", "cpu"),
        ("while n == 3: print('x' * 9999)", "OLE", "output"),
        ("bytearray(4 << 30 if n == 3 else 1)", "MLE", "memory"),
        ("1 / (n - 3)", "RTE", ""),
        ("if n == 3: exit(3)", "RTE", ""),
        ("def f(n): return f(n + 1)\nif n == 3: f(0)", "RTE", ""),
        ("if n == 3: print(4)", "WA", ""),
        ("def f(k): return f(k - 1) if k else b'a'.decode('cp437')\nf(992 if n == 3 else 0)", "RTE", ""),
    ],
)
def test_a_test_that_fails_ends_as_by_itself_and_changes_no_other(box, bad, result, limit):
    shared = meet(box, f"n = int(input())\n{bad}\nprint(n)", range(1, 6))
    alone = meet(box, f"import os\nn = int(input())\n{bad}\nprint(n)", range(1, 6))

    assert [test.result for test in shared.tests] == ["AC", "AC", result, "AC", "AC"]
    assert (shared.limit, shared.error_type) == (limit, alone.error_type)
    assert shared.tests == alone.tests


def test_each_test_has_the_whole_limit(box):
    loop = "n = int(input())\nfor _ in range(7_000_000): pass\nprint(n)"
    outcome = meet(box, loop, range(16), seconds=0.8)

    assert {test.result for test in outcome.tests} == {"AC"}
    assert outcome.seconds > 0.8


def test_tests_of_an_answer_share_a_process_where_they_may(box):
    code = "print(int(input()))"
    shared, alone = meet(box, code, range(100)), meet(box, f"import os\n{code}", range(100))

    assert shared.passed
    assert alone.passed
    assert shared.seconds * 2 < alone.seconds
