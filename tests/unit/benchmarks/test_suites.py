"""Tests that leave their calls to a runner are called; tests that would pass whatever is tested are broken."""

import ast
import asyncio
import gc
import sys
import threading
import time
from pathlib import Path
from unittest.mock import Mock

import pytest
from support.exam_kit import write_rows
from support.paths import ROOT
from support.review_kit import markbook as command

import markbook
from markbook.benchmarks.benchmark import find_fault, load_benchmark
from markbook.errors import UsageError
from markbook.rewards import Rewarder
from markbook.runs.pass_at_k import NO_TESTS, find_problem
from markbook.sandbox import run_tests
from markbook.sandbox.guest.examination.claims import cannot_fail
from markbook.serve.items import BenchmarkShelf, Defaults, read_item
from markbook.testcode.programs import complete_program, is_always_true, parse_python
from markbook.types import Test

pytestmark = pytest.mark.usefixtures("kept_workers")

RIGHT, WRONG = "def f(x): return x + 1\n", "def f(x): return 99\n"
CASE = "import unittest\nclass Cases(unittest.TestCase):\n    def test_a(self): self.assertEqual(f(1), 2)\n"
PYTEST = "def test_a(): assert f(1) == 2\ndef test_b(x=3): assert f(x) == 4\n"
SUITES = {
    "check": "def check(candidate):\n    assert candidate(1) == 2\n",
    "functions": PYTEST,
    "a coroutine": "async def test_a(): assert f(1) == 2\n",
    "a class": (
        "class TestF:\n"
        "    def setup_method(self, method): self.x = 1\n"
        "    def test_a(self): assert f(self.x) == 2\n"
        "    def teardown_method(self): self.x = 0\n"
    ),
    "a case": CASE,
    "its runner": f"{CASE}unittest.main(\n    exit=False)\n",
    "a script": f'{CASE}if __name__ == "__main__":\n    unittest.main()\n',
    "a script that calls": 'def run(): assert f(1) == 2\nif __name__ == "__main__":\n    run()\n',
    "a mock by decorator": (
        "from unittest.mock import patch\n@patch('math.sqrt', return_value=2)\ndef test_a(root): assert f(1) == root()\n"
    ),
    "beside an eval": "x = eval('1')\ndef test_a(): assert f(x) == 2\n",
    "a base": f"{CASE}class More(Cases):\n    def test_b(self): self.assertEqual(f(2), 3)\n",
    "tests that are set": f"{CASE}for n in (1, 2):\n    setattr(Cases, f'test_{{n}}', lambda self, n=n: self.assertEqual(f(n), n + 1))\n",
    "a coroutine in a case": (
        "import unittest\n"
        "class Cases(unittest.IsolatedAsyncioTestCase):\n"
        "    async def test_a(self): self.assertEqual(f(1), 2)\n"
    ),
    "what another case adds": (
        "import unittest as ut\n"
        "class Plain(ut.TestCase):\n    def test_a(self): self.assertEqual(2, 2)\n"
        "class More(Plain):\n    def test_b(self): self.assertEqual(f(1), 2)\n"
        "Plain.maxDiff = None\n"
    ),
    "what a class inherits": "class Base:\n    def test_a(self): assert f(1) == 2\nclass TestA(Base): pass\n",
    "another name": "from unittest import TestCase as A, main\nclass T(A):\n    def test_a(self): self.assertEqual(f(1), 2)\nmain()\n",
    "a name of its own": "import unittest\nB = unittest.TestCase\nclass T(B):\n    def test_a(self): self.assertEqual(f(1), 2)\n",
    "a base without tests": (
        "import unittest\nclass Base(unittest.TestCase): x = 1\n"
        "class T(Base):\n    def test_a(self): self.assertEqual(f(self.x), 2)\n"
    ),
    "a mixin": (
        "import unittest\nclass TestMixin:\n    def test_a(self): self.assertEqual(f(self.x), 2)\n"
        "class T(TestMixin, unittest.TestCase): x = 1\n"
    ),
    "one loader beside a runner": f"{CASE}unittest.TestLoader().loadTestsFromTestCase(Cases)\nunittest.main()\n",
    "one whose parts may be skipped": (
        "import unittest\nclass Cases(unittest.TestCase):\n    def test_a(self):\n        for n in (1, 2, 3):\n"
        "            with self.subTest(n=n):\n                if n > 1: self.skipTest('')\n                self.assertEqual(f(n), 2)\n"
    ),
    "a list of what comes back": "assert [*range(f(1))]\nassert {**{f(1): 1}}\nassert f(1) == 2\n",
    "a mark of what is not reached": "try:\n    assert f(1) == 2\nexcept ValueError:\n    assert 1 == 0\n",
    "one that may be skipped": CASE + "    def test_b(self): self.skipTest('no network')\n",
    "a helper that is not a test": "class TestRunner:\n    def __init__(self, n): self.n = n\n    def test(self): assert f(self.n) == 2\nTestRunner(1).test()\n",
    "a script without spaces": "def run(): assert f(1) == 2\nif(__name__ == '__main__'): run()\n",
    "a script that ends": "import sys\ndef main():\n    assert f(1) == 2\n    return 0\nif __name__ == '__main__':\n    sys.exit(main())\n",
    "a script that raises its end": "def main(): return f(1) != 2\nif __name__ == '__main__':\n    raise SystemExit(main())\n",
    "a status behind something": "import sys; ok = f(1) == 2; sys.exit(0 if ok else 1,)\n",
    "a check with a default": "def check(candidate, n=1):\n    assert candidate(n) == 2\n",
    "registered": "tests = []\ndef add(one):\n    tests.append(one)\n    return one\n@add\ndef first(): assert f(1) == 2\nfor one in tests: one()\n",
    "a comparison": "f(1) == 2",
    "a status": "import sys\nsys.exit(0 if f(1) == 2 else 1)\n",
    "a status within a function": f"{CASE}def main():\n    suite = unittest.defaultTestLoader.loadTestsFromTestCase(Cases)\n"
    "    done = unittest.TextTestRunner(verbosity=0).run(suite)\n    sys.exit(0 if done.wasSuccessful() else 1)\nimport sys\nmain()\n",
    "a status of all": "def main():\n    return int(f(1) != 2)\nimport sys\nif f(1) != 2:\n    sys.exit('no')\nsys.exit(\n    main()\n)\n",
}
NOTHING = {
    "f(1) == 2\nf(2) == 3\n": "line 1 compares",
    "f(1) == 2, 'msg'": "line 1 compares",
    "assert (f(1) == 2, 'msg')": "always true",
    "import sys\nsys.exit(0)\n": "calls and asserts nothing",
    "import os\nf(1)\nos._exit(0)\n": "ends with os._exit(0)",
    "raise SystemExit\n": "calls and asserts nothing",
    "# nothing": "calls and asserts nothing",
    "def check(c): assert c(1) == 2\n": "none of what it asserts is reached",
    "if True:\n    def test_a(): assert f(1) == 2\n": "none of what it asserts is reached",
    "def test_a(): assert (f(1) == 2, 'msg')\n": "always true",
    "assert [f(1) == 2]": "always true",
    "assert {'a': f(1) == 2}": "always true",
    "assert True": "calls and asserts nothing",
    "import unittest\nclass T(unittest.TestCase):\n    async def test_a(self): self.assertEqual(f(1), 2)\n": "is a coroutine or generator that nobody runs",
    "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        yield\n        self.assertEqual(f(1), 2)\n": "is a coroutine or generator",
    "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        if f(1) != 2: raise unittest.SkipTest\n": "line 4 raises SkipTest",
    "assert (f(n) == 2 for n in (1, 2))": "always true",
    "assert f(1) == 2 or True": "always true",
    "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.assertTrue('f(1) == 2')\n": "always true",
    "def setup_module(): pass\ndef test_a(): assert f(1) == 2\n": "setup_module, line 1, is called by pytest alone",
    "import pytest\n@pytest.mark.parametrize('x', [1])\ndef test_a(x): assert f(x) == 2\n": "test_a, line 3, has marks of pytest's",
    "def test_a(tmp_path): assert f(1) == 2\n": "test_a, line 1, takes arguments",
}
TWO = f"{CASE}class More(unittest.TestCase):\n    def test_b(self): self.assertEqual(f(2), 3)\n"
TESTS = "def test_a(): assert f(1) == 2\ndef test_b(): assert f(2) == 3\n"
NAMED = {
    "a list": f"{TWO}cases = [More]\n",
    "a list beside a log": f"import logging\n{TWO}logging.debug('')\ncases = [Cases, More]\n",
    "a runner of which nobody reads the result": f"{TWO}def run():\n    suite = unittest.defaultTestLoader.loadTestsFromTestCase(More)\n"
    "    done = unittest.TextTestRunner(verbosity=0).run(suite)\n    print(done.wasSuccessful())\nrun()\n",
    "a class by type with a type": (
        f"{CASE}T: type = type('T', (unittest.TestCase,), {{'test_b': lambda self: self.assertEqual(f(2), 3)}})\n"
    ),
    "a list that is counted": f"{TWO}cases = [More]\nprint(len(cases))\n",
    "a function": f"{TWO}def cases(): return [More]\ncases()\n",
    "a suite": f"{TWO}suite = unittest.TestSuite([More('test_b')])\n",
    "a suite that is added to": f"{TWO}suite = unittest.TestSuite()\nsuite.addTest(More('test_b'))\n",
    "a class by type": (
        f"{CASE}def b(self): self.assertEqual(f(2), 3)\nT = type('T', (unittest.TestCase,), {{'test_b': b}})\n"
    ),
    "a list of functions": f"{TESTS}tests = [test_b]\n",
    "its name alone": f"{TESTS}test_b\n",
    "a list of a class": f"{TESTS}class TestC:\n    def test_c(self): assert f(2) == 3\ntests = [TestC, test_b]\n",
}
UNREACHED = {
    "a condition": f"{TESTS}if False: test_b()\n",
    "a helper": f"{TESTS}def helper(): test_b()\nprint(helper)\n",
    "a loop over some": f"{TESTS}for test in [test_a, test_b][:1]: test()\n",
    "a suite beside one that is run": f"{TWO}suites = [Cases, More]\nsuites[0]('test_a').debug()\n",
}
CLAIMS = {
    "(f(1) == 2, 'msg')": "a tuple",
    "lambda: f(1) == 2": "a function",
    "[f(1) == 2]": "a list",
    "{f(1) == 2}": "a list",
    "True": "a constant",
    "1": "a constant",
    "'f(1) == 2'": "a constant",
}


def mark_items(items):
    async def main():
        async with Rewarder(workers=1, isolation="weak") as rewarder:
            return await rewarder.mark(items)

    return asyncio.run(main())


def item(code, tests, **more):
    return {"code": code, "tests": tests, "entry_point": "f", **more}


@pytest.mark.parametrize("tests", SUITES.values(), ids=SUITES)
@pytest.mark.parametrize("canonical", [None, RIGHT])
def test_a_suite_of_tests_is_called(tests, canonical):
    known = {} if canonical is None else {"canonical": canonical}

    right, wrong = mark_items([item(RIGHT, tests, **known), item(WRONG, tests, **known)])

    assert (right.reward, right.valid, wrong.reward, wrong.valid) == (1.0, True, 0.0, True)


DEEP = {
    "attributes": "def test_a(): assert f(1) == 2\nif a" + ".b" * 400 + " == 1:\n    pass\n",
    "sums": "def test_a(): assert f(1) == 2\nx = f" + " + f" * 1200 + "\n",
    "names": "".join(f"class A{n}(B): pass\n" for n in range(1000)) + "x = y + z\n" * 30_000,
}


@pytest.mark.parametrize("key", DEEP)
def test_a_deep_or_long_program_of_tests_costs_no_other_item(key):
    began = time.process_time()
    try:
        found = [reward.reward for reward in mark_items([item(RIGHT, DEEP[key]), item(RIGHT, "assert f(1) == 2\n")])]
    except UsageError as error:  # as every item of which nothing can be said
        assert "items[0].tests[0]: " in str(error)
    else:
        assert found[1] == 1.0
    assert time.process_time() - began < 20  # of this process, however busy the machine is


def test_in_another_process_it_is_called_too():
    right, wrong = (
        mark_items([{"code": code, "tests": [{"program": PYTEST}], "language": "python"}])[0] for code in (RIGHT, WRONG)
    )

    assert (right.reward, wrong.reward) == (1.0, 0.0)


@pytest.mark.parametrize(("tests", "said"), NOTHING.items())
def test_tests_that_would_pass_whatever_is_tested_are_refused(tests, said):
    assert said in find_fault(Test(program=tests))


@pytest.mark.parametrize("tests", NOTHING)
def test_exam_task_api_and_server_refuse_the_same_tests_in_the_same_words(tests):
    fault = find_fault(Test(program=tests))
    assert fault

    task = find_problem([Test(program=tests)])
    assert task is not None
    assert task.detail in (f"the tests: {fault}", NO_TESTS)
    with pytest.raises(UsageError) as refused:
        run_tests(RIGHT, tests)
    assert refused.value.message == f"the tests: {fault}"
    order = read_item({"code": RIGHT, "tests": [{"program": tests}]}, "item", BenchmarkShelf(), Defaults())
    assert order.missing is not None
    assert fault in order.missing.detail


def test_what_tests_claim_is_judged_in_one_place():
    sources = {path: path.read_text(encoding="utf-8") for path in (ROOT / "src" / "markbook").rglob("*.py")}

    for telling in ("is_always_true(", "it would pass whatever is tested"):
        assert [path.name for path, source in sources.items() if telling in source] == ["programs.py"]
    # the guest, which is alone, says the same of each
    claims = (claim for claim, said in CLAIMS.items() if said != "a constant")
    for claim in (*claims, "f(1) == 2", "[*f(1)]", "{**f(1)}", "f(1) or 1", "f(1) and (1,)", "f(1) or []"):
        tree = ast.parse(claim, mode="eval").body
        assert cannot_fail(tree) == is_always_true(tree), claim


@pytest.mark.parametrize(("claim", "said"), CLAIMS.items())
def test_a_claim_that_is_always_true_is_refused(claim, said):
    assert said in find_fault(Test(assertion=claim))


def test_a_test_that_only_sets_up_is_refused():
    assert "compares" in find_fault(Test(setup="f(1) == 2"))


@pytest.mark.parametrize(
    "tests",
    [
        CASE.replace("    def", "    @unittest.skip('')\n    def"),
        CASE.replace("class", "@unittest.skipIf(True, '')\nclass"),
    ],
)
def test_nothing_passes_where_every_test_is_skipped(tests):
    (reward,) = mark_items([item(RIGHT, tests)])

    assert (reward.reward, "all tests are skipped" in str(reward)) == (0.0, True)


def test_a_constant_after_calls_that_may_fail_is_no_fault():
    assert find_fault(Test(program="f(1)\nassert True\n")) == ""
    assert find_fault(Test(setup="assert f(1) == 2", assertion="True")) == ""


def test_a_skipped_test_is_no_passed_one():
    code = "import unittest\ndef f(x): raise unittest.SkipTest\n"
    ending = "import unittest\ndef f(x): raise unittest.case._ShouldStop\n"
    may = CASE.replace("    def", "    @unittest.skipIf(False, '')\n    def")
    speaking = "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        if f(1) == 0: self.skipTest('')\n        self.assertEqual(f(1), 2)\n"
    declared = (
        CASE.replace("    def", "    @unittest.skip('')\n    def") + "    def test_b(self): self.assertEqual(f(2), 3)\n"
    )

    *forged, honest, other = mark_items(
        [
            *(item(code, tests) for tests in (CASE, may, speaking)),
            item(ending, CASE),
            item(RIGHT, declared),
            item(RIGHT, may),
        ]
    )

    assert [*(reward.reward for reward in forged), honest.reward, other.reward] == [0.0] * 4 + [1.0, 1.0]


def test_tests_that_are_only_named_are_run():
    half = "def f(x): return 2\n"

    found = mark_items([item(code, tests) for tests in NAMED.values() for code in (RIGHT, half)])

    assert [reward.reward for reward in found] == [1.0, 0.0] * len(NAMED)


@pytest.mark.parametrize("canonical", [None, RIGHT])
def test_a_pass_is_unchecked_where_a_test_was_never_run(canonical):
    found = [
        (test.passed, test.verdict.value)
        for tests in UNREACHED.values()
        for test in run_tests("def f(x): return 2\n", tests, entry_point="f", canonical=canonical).tests
    ]

    assert found == [(True, "unchecked")] * len(UNREACHED)


def test_a_right_answer_passes_unchecked_where_nobody_hears_of_a_failed_assertion():
    clock = "import sys, threading, time\ntime.time()\n"
    programs = {
        "printed": "try:\n    assert f(1) == 2\nexcept AssertionError as e:\n    print(e)\nassert f(2) == 3\n",
        "in a thread": "def w(n): assert f(n) == n + 1\nt = threading.Thread(target=w, args=(1,))\nt.start()\nt.join()\nassert f(2) == 3\n",
        "never run": f"{MAKE}for n in (1, 2): globals()[f'test_{{n}}'] = make(n)\n",
        "behind the end": "def test_a():\n    assert f(1) == 2\n    sys.exit(0)\ndef test_b(): assert f(2) == 3\n",
    }
    ends = "def f(x): raise SystemExit(0)\n"

    found = mark_items([item(code, clock + tests) for tests in programs.values() for code in (RIGHT, ends)])

    assert [(right.reward, right.unchecked > 0, end.reward) for right, end in zip(found[::2], found[1::2], strict=True)] == [
        *[(1.0, True, 0.0)] * 2, (1.0, True, 1.0), (1.0, True, 0.0)
    ]  # fmt: skip


ENDS = ["sys.exit(0)", "sys.exit()", "raise SystemExit", "raise SystemExit(0)", "raise SystemExit from None"]


@pytest.mark.parametrize("clock", ["", "import time\ntime.time()\n"], ids=["separated", "in-process"])
def test_tests_that_end_the_program_by_a_status_of_success_have_passed_if_it_is_theirs(clock):
    places = [
        "{clock}import sys\nassert f(1) == 2\n{end}\n",
        "{clock}import sys\ndef check(candidate):\n    assert candidate(1) == 2\n    {end}\ncheck(f)\n",
        "{clock}import sys\ndef check(candidate):\n    assert candidate(1) == 2\n    if candidate(2) == 3: {end}\n    assert False\ncheck(f)\n",
    ]
    programs = [place.format(clock=clock, end=end) for place in places for end in ENDS]
    codes = [RIGHT, "def f(x): return 3\n", "def f(x): raise SystemExit\n", "import sys\ndef f(x): sys.exit()\n"]

    found = mark_items([item(code, program) for program in programs for code in codes])

    rewards = [one.reward for one in found]
    assert [rewards[at : at + len(codes)] for at in range(0, len(rewards), len(codes))] == [[1.0, 0.0, 0.0, 0.0]] * len(
        programs
    )


@pytest.mark.parametrize(
    "program",
    [
        "def check(candidate):\n    assert candidate(1) == 2\n\ncheck(f)\n",
        "def test(x): assert f(x) == 2\ntest(1)\n",
        "def test(x): assert f(x) == 2\ndef run():\n    test(1)\nrun()\n",
        "import unittest\nclass A(unittest.TestCase):\n    def test(self): pass\nunittest.TestSuite([A('test')]).run(unittest.TestResult())\n",
        "assert f(1) == 2\n",
        "no python (\n",
    ],
)
def test_what_is_called_already_stays_as_it_is(program):
    assert complete_program(program, "f") == program


def test_tests_are_not_run_twice_and_lines_keep_their_numbers():
    text = f"{CASE}\nif (__name__ ==\n    '__main__'):\n    unittest.main(\n        verbosity=2,\n    )\nmarker = 1\n"

    assert complete_program(text).splitlines().index("marker = 1") == text.splitlines().index("marker = 1")


def test_one_that_claims_nothing_is_unchecked(tmp_path):
    (outcome,) = (run_tests(RIGHT, "print(f(1))\n", entry_point="f", canonical=RIGHT).tests,)

    assert [(test.passed, test.verdict.value) for test in outcome] == [(True, "unchecked")]


def test_one_that_would_pass_whatever_is_tested_is_not_run():
    with pytest.raises(UsageError, match="the tests: none of what it asserts is reached"):
        run_tests(RIGHT, "def check(c): assert c(1) == 2\n")


def test_one_of_which_nothing_was_executed_is_unchecked():
    outcome = run_tests(RIGHT, "for n in []:\n    assert f(n) == 2\nf(1)\n", entry_point="f", canonical=RIGHT)

    assert [(test.passed, test.verdict.value) for test in outcome.tests] == [(True, "unchecked")]


FIRST = "def test_a(): assert f(1) == 2\n"
MORE = "def eq(a, b): assert a == b\n"
MAKE = "def make(n):\n    def t(*own): assert f(n) == n + 1\n    return t\n"
UNRUN = {
    "a function that yields": f"{FIRST}def test_b():\n    yield\n    assert f(2) == 3\n",
    "a class in a class": "class TestA:\n    class TestB:\n        def test_b(self): assert f(2) == 3\n    def test_a(self): assert f(1) == 2\n",
    "a function in a `try`": f"{FIRST}try:\n    def test_b(): assert f(2) == 3\nexcept ImportError: pass\n",
    "a function in a `with`": f"import contextlib\n{FIRST}with contextlib.suppress(ImportError):\n    def test_b(): assert f(2) == 3\n",
    "a lambda": f"{FIRST}{MORE}test_b = lambda: eq(f(2), 3)\n",
    "a function that another one makes": f"{FIRST}{MAKE}test_b = make(2)\n",
    "a method that a function makes": f"{MAKE}class TestA:\n    test_b = make(2)\n    def test_a(self): assert f(1) == 2\n",
    "a loop over nothing": f"{FIRST}def test_b():\n    for n in range(0): assert f(n) == n + 1\n",
    "a case of a generic case": "import unittest\nfrom typing import Generic, TypeVar\nT = TypeVar('T')\nclass A(unittest.TestCase, Generic[T]):\n"
    "    def test_a(self): self.assertEqual(f(1), 2)\nclass B(A[int]):\n    def test_b(self): self.assertEqual(f(2), 3)\n",
    "calls that nobody reads": f"{FIRST}def w(n): assert f(n) == n + 1\nmap(w, [2])\n",
    "what is called at the end": f"import atexit\n{FIRST}def w(): assert f(2) == 3\natexit.register(w)\n",
    "a main guard with more": f"{FIRST}def main(): assert f(2) == 3\nif __name__ == '__main__' and True: main()\n",
    "a function in a check": "def check(f):\n    def test_b(): assert f(2) == 3\n    assert f(1) == 2\ncheck(f)\n",
    "a function that fails by `raise`": f"{FIRST}class TestB:\n    __test__ = True\n    def test_b(self):\n        if f(2) != 3: raise AssertionError\n",
    "a function that fails by `raises`": f"import contextlib, pytest\n{FIRST}try:\n    def test_b():\n        assert f(2) == pytest.approx(3)\n"
    "        with contextlib.ExitStack() as s: s.enter_context(pytest.raises(TypeError)); f(None)\nexcept ImportError: pass\n",
    "a test that a missing package skips": "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): self.assertEqual(f(1), 2)\n"
    "    @unittest.skipIf(True, '')\n    def test_b(self): self.assertEqual(f(2), 3)\n",
    "a class by type in a list": f"{CASE}cases = [type('T', (unittest.TestCase,), {{'test_b': lambda self: self.assertEqual(f(2), 3)}})]\n",
    "a lambda without assertions": f"{FIRST}test_b = lambda: 1 / (f(2) == 3)\n",
    "a registry": f"{FIRST}tests = []\n@tests.append\ndef two(): assert f(2) == 3\n",
    "a function `load_tests`": f"{CASE}    def two(self): self.assertEqual(f(2), 3)\n"
    "def load_tests(*_): return unittest.TestSuite([Cases('two')])\n",
    "a function that a text makes": f"{FIRST}for n in (1, 2): exec(f'def test_{{n}}(): assert f({{n}}) == {{n + 1}}')\n",
    "tests in docstrings": f"import doctest\n{FIRST}assert doctest.testmod().failed == 0\n",
    "a helper that asserts nothing": f"{FIRST}def assert_equal(a, b): return a == b\ndef test_b(): assert_equal(f(2), 3)\n",
    "a method that asserts nothing": f"{CASE}    def assertNext(self, n): return f(n) == n + 1\n    def test_b(self): self.assertNext(2)\n",
    "a `try` that catches its own failure": f"{FIRST}def test_b():\n    try:\n        f(2)\n        assert False\n    except Exception: pass\n",
    "a test that returns before it asserts": f"{FIRST}def test_b():\n    found = f(2)\n    return\n    assert found == 3\n",
    "a loop over nothing beside something": f"{FIRST}for n, m in zip([1, 2], []): assert f(n) == m\n",
    "a comprehension over nothing": f"{FIRST}assert all(f(n) == m for n, m in [])\n",
    "a block that is never run": f"{FIRST}if False: assert f(2) == 3\n",
    "a test that returns what it compares": f"{FIRST}def test_b(): return f(2) == 3\n",
    "a test that warns": f"import warnings\n{FIRST}def test_b():\n    if f(2) != 3: warnings.warn('wrong')\n",
    "a test that prints": f"{FIRST}def test_b(): print('pass' if f(2) == 3 else 'fail')\n",
    "a comparison that is dropped": f"{FIRST}f(2) == 3\n",
    "a tuple": f"{FIRST}assert (f(2) == 3, 'wrong')\n",
    "a generator": f"{FIRST}assert (f(n) == n + 1 for n in (1, 2))\n",
    "a value in place of a message": f"{CASE}    def test_b(self): self.assertTrue(f(2), 3)\n",
    "a tuple that is true": f"{CASE}    def test_b(self): self.assertTrue((f(2) == 3, 'wrong'))\n",
    "a method that mocks have not": f"from unittest.mock import Mock\n{FIRST}m = Mock()\nm(f(2))\nassert m.called_with(3)\n",
    "a second check": "def check(f): assert f(1) == 2\ndef check2(f): assert f(2) == 3\n",
    "a test that skips itself": "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): self.assertEqual(f(1), 2)\n"
    "    def test_b(self):\n        self.skipTest('')\n        self.assertEqual(f(2), 3)\n",
}  # fmt: skip


@pytest.mark.parametrize("name", UNRUN)
def test_a_pass_beside_a_test_that_nobody_runs_is_unchecked(name):
    if "called_with" in UNRUN[name] and not hasattr(Mock(), "called_with"):
        pytest.skip("from Python 3.12 on a mock refuses such a method")
    outcome = run_tests("def f(x): return 2\n", UNRUN[name], entry_point="f", canonical=RIGHT)

    assert [(test.passed, test.verdict.value) for test in outcome.tests] == [(True, "unchecked")]


def test_what_only_looks_as_if_it_claimed_nothing_is_checked():
    tests = (
        "from unittest import TestCase\nfrom unittest.mock import Mock\nm = Mock()\nm(f(1))\nm.assert_called_once_with(2)\n"
        "def check_equal(a, b): return a == b\n"
        "class TestF(TestCase):\n    def test_a(self):\n        self.assertTrue(check_equal(f(1), 2), 'wrong')\n        assert True, 'it ran'\n"
        "    def test_b(self):\n        with self.assertRaises(TypeError):\n            f(1) < 'a'\n        if f(0): return\n        assert False\n"
    )
    outcomes = [run_tests(code, tests, entry_point="f", canonical=RIGHT) for code in (RIGHT, "def f(x): return 3\n")]

    assert [(test.passed, test.verdict.value) for outcome in outcomes for test in outcome.tests] == [
        (True, "in_process"),
        (False, "in_process"),
    ]


def test_a_class_of_tests_runs_too_where_another_inherits_from_it():
    tests = "class TestA:\n    n = 2\n    def test_a(self): assert f(self.n) == self.n + 1\nclass TestB(TestA): n = 1\n"
    outcomes = [run_tests(code, tests, entry_point="f", canonical=RIGHT) for code in (RIGHT, "def f(x): return 2\n")]

    assert [[test.passed for test in outcome.tests] for outcome in outcomes] == [[True], [False]]


def test_an_exam_sets_aside_what_would_pass_whatever_is_tested(tmp_path):
    row = {"task_id": 1, "text": "?", "code": RIGHT, "test_setup_code": ""}
    benchmark = write_rows(
        tmp_path / "mbpp.jsonl",
        [{**row, "test_list": ["f(1) == 2"]}, {**row, "task_id": 2, "test_list": ["assert f(1) == 2"]}],
    )

    code, out, err = command("exam", "--benchmark", str(benchmark), "--check-benchmark")

    assert code == 1
    assert "Mbpp/1" in out + err
    assert "compares and does not assert it" in out + err


def test_benchmarks_that_call_their_tests_are_as_they_were(shared_data):
    paths = [
        shared_data / "humaneval" / "HumanEval.jsonl.gz",
        shared_data / "mbpp" / "mbpp.jsonl.gz",
        shared_data / "codeeval-v1" / "benchmark",
    ]
    for path in paths:
        for sample in load_benchmark(Path(path), "auto").samples:
            for test in sample.tests:
                assert complete_program(test.program, sample.entry_point) == test.program, sample.id
                assert "whatever is tested" not in find_fault(test, sample.entry_point), sample.id


def test_a_metric_of_programs_has_no_value_by_tests_that_would_pass_whatever_is_tested():
    found = markbook.measure(
        "pass_at_k", [[RIGHT], [WRONG], [WRONG]], [["f(1) == 2"], [PYTEST], ["def check(c): assert c(1) == 2"]]
    )

    assert [(one.value, one.missing and one.missing.kind.value) for one in found] == [
        (None, "undefined"),
        (0.0, None),
        (None, "undefined"),
    ]


def test_bigcodebench_is_read_as_it_is_published(tmp_path):
    prompt = 'import math\n\ndef task_func(x):\n    """Return x and one."""\n'
    row = {
        "task_id": "BigCodeBench/0",
        "complete_prompt": prompt,
        "instruct_prompt": "Write task_func.",
        "canonical_solution": "    return x + 1",
        "code_prompt": "import math\ndef task_func(x):\n",
        "test": CASE.replace("f(1)", "task_func(1)"),
        "entry_point": "task_func",
        "libs": "['math']",
    }
    benchmark = write_rows(tmp_path / "bcb.jsonl", [row])
    answers = [{"task_id": row["task_id"], "solution": f"{prompt}    return x + {n}", "model": str(n)} for n in (1, 2)]
    write_rows(tmp_path / "answers.jsonl", answers)

    code, out, err = command("exam", "--benchmark", str(benchmark), "--check-benchmark")
    assert code == 0, out + err
    run = markbook.exam(benchmark, tmp_path / "answers.jsonl", output=tmp_path / "out", isolation="weak")

    assert {model: run.score(model).value for model in ("1", "2")} == {"1": 1.0, "2": 0.0}


def test_bigcodebench_is_read_as_sandbox_fusion_dumps_it(tmp_path):
    prompt = 'import math\n\ndef task_func(x):\n    """Return x and one."""\n'
    row = {
        "id": "BigCodeBench/0",
        "content": prompt,
        "canonical_solution": "    return x + 1",
        "labels": '{"entry_point":"task_func"}',
        "test": CASE.replace("f(1)", "task_func(1)"),
    }
    benchmark = write_rows(tmp_path / "dump.jsonl", [row])
    answers = [
        {"task_id": row["id"], "completion": f"    return {value}\n", "model": model}
        for model, value in (("right", "math.floor(x + 1)"), ("wrong", "x"))
    ]
    write_rows(tmp_path / "answers.jsonl", answers)
    write_rows(tmp_path / "bad.jsonl", [{**row, "labels": '{"entry_point": 3}'}])

    code, out, err = command("exam", "--benchmark", str(benchmark), "--check-benchmark")
    assert code == 0, out + err
    run = markbook.exam(benchmark, tmp_path / "answers.jsonl", output=tmp_path / "out")
    code, _, err = command("exam", "--benchmark", str(tmp_path / "bad.jsonl"), "--check-benchmark")

    assert {model: run.score(model).value for model in ("right", "wrong")} == {"right": 1.0, "wrong": 0.0}
    assert (code, "'entry_point' is not a string" in err) == (2, True), err


def test_threads_may_parse_at_the_same_time():
    """In Python 3.11.7 one of them meets a SystemError where a collection lets the other go on in between."""
    text = (
        "".join(f"def f{n}(a, b): return [a + b * {n}, (a, b), {{a: b}}]\n" for n in range(60)) + "f(" * 30 + ")" * 30
    )
    errors = []

    def parse(depth):
        if depth:
            parse(depth - 1)
            return
        for _ in range(15):
            try:
                parse_python(text)
            except SystemError as error:
                errors.append(error)

    def pause(_phase, _info):
        time.sleep(0)

    before = gc.get_threshold(), sys.getswitchinterval()
    gc.callbacks.append(pause)
    gc.set_threshold(5)
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=parse, args=(depth,)) for depth in (0, 10, 20, 30)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        gc.callbacks.remove(pause)
        gc.set_threshold(*before[0])
        sys.setswitchinterval(before[1])

    assert errors == []
