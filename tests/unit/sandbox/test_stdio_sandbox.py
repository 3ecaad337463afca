"""Programs that read and write: each verdict, what a fresh interpreter would do, and what a program cannot reach."""

# ruff: noqa: ISC004 - programs are lines beside one another
import pytest

from markbook.sandbox import Job, Sandbox
from markbook.types import ErrorKind, Limits, ProblemType, Sample, Test


@pytest.fixture(scope="module")
def box():
    with Sandbox(workers=1, isolation="weak") as found:
        yield found


def ask(box, code, *tests, all_tests=False, **limits):
    found = tuple(test if isinstance(test, Test) else Test(stdin=test[0], stdout=test[1]) for test in tests)
    sample = Sample(id="x", tests=found, problem_type=ProblemType.STDIN)
    ((_, outcome),) = box.run([Job("k", code, sample, Limits(**{"seconds": 1.0, **limits}), all_tests=all_tests)])
    return outcome


def said(outcome):
    return [result.result for result in outcome.tests]


@pytest.mark.parametrize(
    ("code", "result", "error", "kind", "limit"),
    [
        ("print(sum(map(int, input().split())))", "AC", None, "", ""),
        ("print(4)", "WA", None, "WrongAnswer", ""),
        ("while True: pass", "TLE", ErrorKind.TIMEOUT, "TimeoutError", "cpu"),
        ("import time; time.sleep(100)", "TLE", ErrorKind.TIMEOUT, "TimeoutError", "wall"),
        ("bytearray(4 << 30)", "MLE", ErrorKind.OTHER, "MemoryError", "memory"),
        ("1 / 0", "RTE", ErrorKind.OTHER, "ZeroDivisionError", ""),
        ("print(3); undefined", "RTE", ErrorKind.NAME, "NameError", ""),
        ("print(3); raise SystemExit(7)", "RTE", ErrorKind.OTHER, "ProcessExited", ""),
        ("import os; os.abort()", "RTE", ErrorKind.OTHER, "ProcessExited", ""),
        ("while True: print('x' * 10000)", "OLE", ErrorKind.OTHER, "OutputLimitError", "output"),
        ("import sys\nwhile True: sys.stderr.write('x' * 10000)", "OLE", ErrorKind.OTHER, "OutputLimitError", "output"),
        ("print(3", "CE", ErrorKind.SYNTAX, "SyntaxError", ""),
        ("print(3" + " " * 30_000, "CE", ErrorKind.SYNTAX, "SyntaxError", ""),
        ("open('big', 'wb').write(bytes(100 << 20)); print(3)", "RTE", ErrorKind.OTHER, "OSError", "file"),
    ],
    ids=["right", "wrong", "loop", "sleep", "memory", "raise", "name", "exit", "signal", "flood", "errors", "syntax", "long", "file"],
)  # fmt: skip
def test_each_verdict_has_its_kind(box, code, result, error, kind, limit):
    found = ask(box, code, ("1 2\n", "3\n"), wall_seconds=1.5)

    assert (said(found), found.error, found.tests[0].error_type, found.limit) == ([result], error, kind, limit)
    assert found.tests[0].verdict == "separated"
    assert found.passed == (result == "AC")


def test_a_wrong_answer_shows_its_first_difference_and_the_rule(box):
    found = ask(box, "print(1); print(5)", Test(stdin="", stdout="1\n2\n", checker="lines"))

    assert (found.tests[0].error_message, found.tests[0].rule) == ("line 2: expected '2', got '5'", "lines")


def test_tests_behind_the_first_failure_are_run_only_if_all_are_asked_for(box):
    tests = [("1", "1"), ("2", "9"), ("3", "3")]

    assert said(ask(box, "print(input())", *tests)) == ["AC", "WA", "-"]
    assert said(ask(box, "print(input())", *tests, all_tests=True)) == ["AC", "WA", "AC"]


def test_a_program_that_never_ends_costs_ten_limits_at_most(box):
    found = ask(box, "while True: pass", *[("", "")] * 12, all_tests=True, seconds=0.1)

    assert said(found) == ["TLE"] * 10 + ["-"] * 2


@pytest.mark.parametrize(
    "code",
    [
        "import sys\nprint(sys.stdin.read(), end='')",
        "import sys\nsys.stdout.write(sys.stdin.buffer.read().decode())",
        "import os\nos.write(1, os.read(0, 100))",
        "print(open(0).read(), end='')",
        "import sys\nfor line in sys.stdin: print(line, end='')",
        "import sys\nif __name__ == '__main__':\n    print(*sys.stdin.readlines(), sep='', end='')",
        "import sys, threading\ndef main():\n    print(sys.stdin.read(), end='')\nsys.setrecursionlimit(10**6)\n"
        "threading.stack_size(1 << 26)\nthreading.Thread(target=main).start()",
        "import sys, atexit, io\nout = io.StringIO()\natexit.register(lambda: sys.__stdout__.write(out.getvalue()))\n"
        "out.write(sys.stdin.read())",
        "import sys\nout = open(1, 'w')\nout.write(sys.stdin.read())",
        "import sys\nprint(sys.stdin.read(), end='')\nsys.exit()",
        "import sys\nassert sys.argv == ['solution.py'] and sys.modules['__main__'].sys is sys\n"
        "print(sys.stdin.read(), end='')",
        "import sys\ninput = sys.stdin.readline\nprint(input(), input(), sep='', end='')",
        "try:\n    while True: print(input())\nexcept EOFError: pass",
        "import sys\nprint(sys.stdin.read(), end='')\nsys.stdout.close()",
        "import sys\ndef r(n): return n and 1 + r(n - 1)\nassert r(997) == 997 and sys.getrecursionlimit() == 1000\n"
        "assert [sys.stdin.name, sys.stdout.name, sys.stderr.name] == ['<stdin>', '<stdout>', '<stderr>']\n"
        "print(sys.stdin.read(), end='')",
        "# coding: latin-1\nassert len('\u00fc') == 2\nimport sys\nprint(sys.stdin.read(), end='')",
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\nimport pickle, sys\n"
        "assert pickle.loads(pickle.dumps(P(1))) == P(1)\nprint(sys.stdin.read(), end='')",
    ],
)
def test_a_program_reads_and_writes_as_in_a_fresh_interpreter(box, code):
    found = ask(box, code, Test(stdin="a b\nü\n", stdout="a b\nü\n", checker="exact"))

    assert said(found) == ["AC"], found.tests


WRAPPED = """
import sys
from io import IOBase
class Wrapper(IOBase):
    def __init__(self, file):
        self.held, self.fd = [], file.fileno()
    def write(self, text):
        self.held.append(text.encode())
    def flush(self):
        os.write(self.fd, b"".join(self.held))
        self.held.clear()
import os
sys.stdout = Wrapper(sys.stdout)
"""


@pytest.mark.parametrize(
    "code",
    [
        "print(sum(map(int, input().split()))); exit()",
        "print(sum(map(int, input().split()))); quit(0)",
        WRAPPED + "print(sum(map(int, input().split())))\nsys.stdout.flush()",
        "import atexit, io, sys\nheld = sys.stdout = io.StringIO()\n"
        "atexit.register(lambda: sys.__stdout__.write(held.getvalue()))\nprint(sum(map(int, input().split())))",
        "import os\nprint(sum(map(int, os.read(0, os.fstat(0).st_size).split())))",
        "import mmap\nprint(sum(map(int, mmap.mmap(0, 0, access=mmap.ACCESS_READ).read().split())))",
        "import sys\ninput()\nsys.stdin.seek(0)\nprint(sum(map(int, sys.stdin.read().split())))",
    ],
    ids=["exit", "quit", "wrapped", "at the end", "size", "mapped", "read again"],
)
def test_a_program_has_what_an_interpreter_gives_that_reads_a_file(box, code):
    assert said(ask(box, code, ("1 2\n", "3\n"), ("40 2", "42\n"))) == ["AC", "AC"]


def test_no_program_writes_to_what_it_is_given(box):
    code = """
import os
for write in (lambda: os.write(0, b"5"), lambda: os.ftruncate(0, 9), lambda: os.open("/proc/self/fd/0", os.O_RDWR)):
    try:
        write()
        print("written")
    except OSError:
        print("refused")
"""
    assert said(ask(box, code, ("1", "refused\n" * 3))) == ["AC"]


def test_no_test_sees_what_another_left(box):
    code = (
        "import builtins, os, random, sys\n"
        "seen = getattr(builtins, 'seen', 0), hasattr(random, 'mark'), os.listdir('.'), 'left' in globals()\n"
        "builtins.seen = 1; random.mark = 1; open('left', 'w').close(); left = 1\n"
        "print(seen)"
    )
    tests = [("", "(0, False, [], False)")] * 3

    assert said(ask(box, code, *tests)) == ["AC"] * 3


@pytest.mark.parametrize("size", [1 << 16, 3 << 20])
def test_large_inputs_arrive_whole(box, size):
    text = "7" * size

    assert said(ask(box, "print(len(input()))", (text, str(size)))) == ["AC"]
    assert said(ask(box, "print(1)", (text, "1"))) == ["AC"]
    assert said(ask(box, "import os; os.close(0); print(1)", (text, "1"))) == ["AC"]
    assert said(ask(box, "print(input())", (text, text))) == ["AC"]


def test_a_program_that_closes_its_output_and_goes_on_is_waited_for(box):
    late = "import os\nprint(1, flush=True)\nos.close(1); os.close(2)\nwhile True: pass"

    assert said(ask(box, late, ("", "1"))) == ["TLE"]
    assert said(ask(box, "import os\nprint(1, flush=True)\nos.close(1)\nos._exit(0)", ("", "1"))) == ["AC"]


def test_output_that_could_not_be_written_is_no_right_answer(box):
    assert said(ask(box, "import os\nprint(1)\nos.close(1)", ("", "1"))) == ["RTE"]


def test_a_test_whose_comparison_is_none_is_the_judges_fault(box):
    found = ask(box, "print(1)", Test(stdin="", stdout="1", checker="nonsense"))

    assert said(found) == ["JE"]
    assert found.benchmark_fault.startswith("unknown comparison 'nonsense'")


def test_many_tests_keep_their_order_for_any_number_of_workers():
    tests = [(f"{number}\n", f"{number % 7}\n") for number in range(40)]
    found = []
    for workers in (1, 2):
        with Sandbox(workers=workers, isolation="weak") as box:
            found.append(said(ask(box, "n = int(input())\nprint(n % 7 if n != 30 else 9)", *tests)))

    assert found[0] == found[1] == ["AC"] * 30 + ["WA"] + ["-"] * 9


def test_functions_after_programs_are_marked_as_ever(box):
    program = Sample(id="p", tests=(Test(stdin="", stdout="1"),), problem_type=ProblemType.STDIN)
    right = "def f(x): return x + 1"
    function = Sample(id="f", tests=(Test(assertion="f(2) == 3"),), entry_point="f", references=(right,))
    jobs = [Job("a", "print(1)", program), Job("b", right, function), Job("c", "print(1)\n", program)]

    found = {job.key: (outcome.passed, outcome.tests[0].verdict) for job, outcome in box.run(jobs)}
    assert found == dict.fromkeys("abc", (1, "separated"))
