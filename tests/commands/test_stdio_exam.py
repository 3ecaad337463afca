"""`markbook exam` on programs that read and write, from the files to the reports."""

# ruff: noqa: ISC004 - programs are lines beside one another

import json
import subprocess
import sys

import pytest
from support.exam_kit import answer, hold, rows, scores, write_rows

from markbook.benchmarks.benchmark import load_benchmark
from markbook.programs import program_language, streams

pytestmark = pytest.mark.usefixtures("kept_workers")

SUM = "print(sum(map(int, input().split())))"
LATE = "n = input()\nprint(sum(map(int, n.split())) if n != '5 5' else 11)"


def program(task_id, *, tests=(("1 2\n", "3\n"), ("5 5", "10"), ("2 2", "4")), **more):
    return {"task_id": task_id, "problem": "Add.", "tests": [{"stdin": a, "stdout": b} for a, b in tests], **more}


def results(row):
    return [test["result"] for test in row["test_details"]]


ANSWERS = {
    "right": (SUM, ["AC", "AC", "AC"], None),
    "late": (LATE, ["AC", "WA", "-"], "WrongAnswer"),
    "fenced": (f"Here it is:\n```python\n{SUM}\n```\n", ["AC", "AC", "AC"], None),
    "loop": ("while True: pass", ["TLE", "-", "-"], "TimeoutError"),
    "crash": ("1 / 0", ["RTE", "-", "-"], "Error"),
    "syntax": ("def :", ["CE", "CE", "CE"], "SyntaxError"),
    "empty": ("", ["", "", ""], "NoCompletionError"),
}


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    problems = [program(name, time_limit=0.5) for name in ANSWERS]
    return hold(tmp_path_factory.mktemp("x"), problems, [answer(name, text) for name, (text, _, _) in ANSWERS.items()])


def test_each_answer_gets_the_verdicts_of_its_tests(held):
    found = {row["task_id"]: row for row in rows(held)}

    assert {name: [result or "" for result in map(_result, found[name]["test_details"])] for name in ANSWERS} == {
        name: wanted for name, (_, wanted, _) in ANSWERS.items()
    }
    assert {name: found[name]["error_type"] for name in ANSWERS} == {
        name: kind for name, (_, _, kind) in ANSWERS.items()
    }
    assert {row["object_type"] for row in found.values()} == {"stdin"}


def _result(test):
    return test.get("result")


def test_a_program_is_right_in_all_its_tests_or_wrong(held):
    found = {row["task_id"]: (row["total_tests"], row["tests_passed"], row["score"]) for row in rows(held)}

    assert (found["right"], found["late"]) == ((1, 1, 100.0), (1, 0, 0.0))
    assert scores(held)["total"] == round(100 * 2 / 7, 2)


def test_the_first_difference_and_the_rule_stand_in_the_row(held):
    late = next(row for row in rows(held) if row["task_id"] == "late")["test_details"]

    assert late[1]["error_message"] == "line 1: expected '10', got '11'"
    assert [test["rule"] for test in late] == ["tokens", "tokens", None]
    assert [test["verdict"] for test in late] == ["separated"] * 3


def test_the_report_counts_the_results(held):
    assert scores(held)["verdicts"]["results"] == {"-": 5, "AC": 7, "CE": 3, "RTE": 1, "TLE": 1, "WA": 1}
    assert "Tests of programs that read and write" in held.read("report.html")


def test_all_tests_goes_on_behind_a_failure_and_is_recorded(tmp_path):
    run = hold(tmp_path, [program("p")], [answer("p", LATE)], all_tests=True)

    assert results(rows(run)[0]) == ["AC", "WA", "AC"]
    assert run.manifest["config"]["all_tests"] is True


def test_points_are_earned_one_by_one(tmp_path):
    tests = [{"stdin": "1", "stdout": "1", "points": 30}, {"stdin": "0", "stdout": "x", "points": 50},
             {"stdin": "2", "stdout": "2", "points": 20}]  # fmt: skip
    problem = {"task_id": "p", "tests": tests}
    run = hold(tmp_path, [problem], [answer("p", "n = int(input())\nprint(n // n * n)")])

    assert results(rows(run)[0]) == ["AC", "RTE", "AC"]
    assert (rows(run)[0]["score"], rows(run)[0]["all_tests_passed"]) == (50.0, False)


def test_the_same_bytes_for_any_number_of_workers(tmp_path):
    problems = [program(str(number), time_limit=0.5) for number in range(6)]
    answers = [answer(str(number), text) for number in range(6) for text in (SUM, LATE, "1 / 0")]
    found = [hold(tmp_path / str(n), problems, answers, workers=n).read("gpt/test_results.jsonl") for n in (1, 2)]

    assert found[0] == found[1]


def test_the_command_works_from_files_to_rows(tmp_path):
    benchmark = write_rows(
        tmp_path / "b.jsonl", [program("p", canonical_solution=SUM), program("q", canonical_solution="1")]
    )
    given = write_rows(tmp_path / "a.jsonl", [answer("p", LATE), answer("q", SUM)])

    def command(*more):
        arguments = [
            sys.executable,
            "-m",
            "markbook",
            "exam",
            "--benchmark",
            benchmark,
            "--isolation",
            "weak",
            "--workers",
            "1",
        ]
        return subprocess.run([*arguments, *more, "--json"], capture_output=True, text=True, check=False, cwd=tmp_path)

    done = command("--solutions", given, "--all-tests", "--output", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "out").glob("evaluation_*")
    lines = [json.loads(line) for line in (folder / "gpt" / "test_results.jsonl").read_text().splitlines()]
    assert [results(line) for line in lines] == [["AC", "WA", "AC"], ["AC", "AC", "AC"]]

    checked = command("--check-benchmark")
    assert checked.returncode == 1
    assert [(one["task_id"], one["kind"]) for one in json.loads(checked.stdout)["problems"]] == [("q", "fails")]


# What a program may try, where the right answer is 42 and nothing says so.
ATTACKS = [
    "import os\nfor n in range(3, 64):\n    try: print(os.read(n, 99).decode(), end='')\n    except OSError: pass",
    "import os\nfor n in range(3, 64):\n    try: os.write(n, b'\\x10\\x00\\x00\\x00' + b'AC' * 8)\n    except OSError: pass",
    "import glob\nfor f in glob.glob('/proc/*/environ') + glob.glob('/proc/*/cmdline') + glob.glob('/proc/*/mem'):\n"
    "    try: print(open(f, 'rb').read(99))\n    except Exception: pass",
    "import gc\nfor o in gc.get_objects():\n    if isinstance(o, dict) and 'stdout' in o: print(o['stdout'])",
    "import sys\nfor m in list(sys.modules.values()):\n    for v in vars(m).values():\n"
    "        if isinstance(v, (str, bytes)) and len(v) < 9 and '42' in str(v): print(v)",
    "import os\nos._exit(0)",
    "import os, signal\nfor p in range(1, 50):\n    try: os.kill(p, signal.SIGKILL)\n    except OSError: pass",
    "import os\nos.close(1)\nos.close(2)\nos._exit(0)",
    "import os\nif os.fork() == 0: print(42)",
    "import threading, os, time\nthreading.Thread(target=lambda: (time.sleep(1), print(42)), daemon=True).start()",
    "import sys\nsys.stdout = None",
    "import sys\nsys.exit(0)",
    "raise SystemExit",
    "import builtins\nbuiltins.exec = builtins.compile = None\nimport os\nos.abort()",
    "import sys\nfrom guest.examination import rules, stdin\nrules.Rule.judge = lambda *a: True",
    "import sys\nsys.modules['guest.zygote'].Zygote._attempt = None",
    "import os\nprint(os.listdir('/tmp'), os.listdir('.'))",
    "import sys\nf = sys._getframe()\nwhile f:\n    print({k: v for k, v in f.f_locals.items() if k == 'seed'})\n    f = f.f_back",
    "import os\nos.dup2(0, 1)\nprint(42)",
    "import os\nfor n in range(1 << 10): os.open('/dev/null', os.O_RDONLY)",
    "import os\nos.set_blocking(1, False)\nos.write(1, b'4' * (1 << 20))",
    "import resource\nresource.setrlimit(resource.RLIMIT_CPU, (999, 999))\nwhile True: pass",
    "import socket\ns = socket.socket()\ns.connect(('127.0.0.1', 80))\nprint(42)",
    "import subprocess\nprint(subprocess.run(['echo', '42'], capture_output=True).stdout.decode())",
    "import os\nos.execv('/bin/echo', ['echo', '42'])",
    "import ctypes\nctypes.string_at(0)",
    "import sys\nsys.setrecursionlimit(10**9)\ndef f(): f()\nf()",
    "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nsignal.alarm(1)\ntime.sleep(50)",
    "print('43\\0' * 10 + '\\x1b[2J42')",
    "import atexit, os\natexit.register(lambda: [None for _ in iter(int, 1)])",
    "class A:\n    def __del__(self):\n        while True: pass\na = A()",
    "import threading\nthreading.Thread(target=lambda: [None for _ in iter(int, 1)]).start()",
    "print('9' * 3_000_000)",
    "print('\\n' * 1_000_000)",
    "print(float('nan'), '1e999999999')",
    "import sys\nsys.stdout.buffer.write(b'\\xff' * 100000)",
    "import sys\nsys.excepthook = lambda *a: print(42)\n1 / 0",
    "import os\nos.unlink('solution.py')\nprint(42)",
    "import os\nos.mkdir('x')\nos.chmod('x', 0)\nopen('y', 'w').write('42')",
    "import os\nos.symlink('/etc/passwd', 'stdout')\nprint(open('stdout').read())",
    "import mmap\nm = mmap.mmap(-1, 1 << 33)",
]  # fmt: skip


def test_no_attack_is_right_and_no_neighbour_changes(tmp_path):
    problems = [
        {
            "task_id": "p",
            "time_limit": 0.3,
            "tests": [{"stdin": "6 7", "stdout": "42"}, {"stdin": "1 1", "stdout": "1"}],
        }
    ]
    honest = "a, b = map(int, input().split())\nprint(a * b)"
    answers = [answer("p", text, sample=number) for number, text in enumerate(ATTACKS)]
    answers += [answer("p", f"{honest}  # {number}", "honest") for number in range(len(ATTACKS))]
    run = hold(tmp_path, problems, answers, workers=2)

    passed = [ATTACKS[row["sample"]] for row in rows(run) if row["all_tests_passed"]]
    assert passed == []
    assert len(rows(run)) == len(ATTACKS)
    assert {row["all_tests_passed"] for row in rows(run, "honest")} == {True}


LCB = {
    "question_id": "q", "question_content": "Count.", "starter_code": "",
    "public_test_cases": json.dumps([{"input": "a b a", "output": "2.0", "testtype": "stdin"}]), "private_test_cases": "[]",
    "metadata": "{}",
}  # fmt: skip
CALLED = {
    **LCB,
    "question_id": "f",
    "starter_code": "class Solution:\n    def f(self, a: List[int]) -> int:\n",
    "public_test_cases": json.dumps([{"input": "[1, 2]\n3", "output": "[2, 3]", "testtype": "functional"}]),
    "metadata": json.dumps({"func_name": "f"}),
}


def test_an_answer_to_livecodebench_has_what_its_own_runner_imports(tmp_path):
    deep = "def g(n): return n and g(n - 1)\ng(9000)\n"
    answers = [
        answer("q", deep + "print(max(Counter(input().split()).values()), pow(2, 3, 7) and '')"),
        answer("q", "print(math.floor(inf > 0) + 1)", "modules"),
        answer("q", "from __future__ import annotations\nprint(2)", "future"),
        answer("q", "print(Contra)", "unknown"),
        answer(
            "f", "class Solution:\n    def f(self, a: List[int], k: int):\n        return tuple(accumulate([k - 1, 1]))"
        ),
        answer("f", "class Solution:\n    def f(self, a, k):\n        return k", "modules"),
    ]
    run = hold(tmp_path, [LCB, CALLED], answers)

    assert [results(row) for row in rows(run)[:1]] == [["AC"]]
    assert [results(rows(run, name)[0]) for name in ("modules", "future", "unknown")] == [["AC"], ["AC"], ["RTE"]]
    assert [rows(run, name)[1]["all_tests_passed"] for name in ("gpt", "modules")] == [True, False]


CLASS = "class Solution:\n    def twice(self, x):\n        return 2 * x\n"
FUNCTION = "def twice(x):\n    return 2 * x\n"


@pytest.mark.parametrize("starter", ["", "class Solution:\n    def twice(self, x):\n"])
def test_apps_goes_by_what_an_answer_defines(tmp_path, starter):
    calls = {"fn_name": "twice", "inputs": [[2], [0]], "outputs": [4, [0]]}
    row = {"problem_id": 1, "question": "Twice?", "starter_code": starter, "input_output": json.dumps(calls),
           "solutions": json.dumps([FUNCTION])}  # fmt: skip
    given = {"class": CLASS, "function": FUNCTION, "name": "twice = lambda x: 2 * x\n", "wrong": FUNCTION.replace("2", "3"),
             "wrong-class": CLASS.replace("2", "3"), "neither": "def f(x):\n    return 2 * x\n"}  # fmt: skip
    run = hold(tmp_path, [row], [answer("1", text, model) for model, text in given.items()])

    found = {row["model"]: row["all_tests_passed"] for model in given for row in rows(run, model)}
    assert found == {name: name in ("class", "function", "name") for name in given}


def test_livecodebench_goes_by_what_an_answer_defines(tmp_path):
    texts = {"right": "def f(a, k):\n    return [k - 1, k]\n", "wrong": "def f(a, k):\n    return [k]\n"}
    run = hold(tmp_path, [CALLED], [answer("f", text, model) for model, text in texts.items()])

    assert [rows(run, name)[0]["all_tests_passed"] for name in texts] == [True, False]


def test_naming_python_changes_no_verdict_and_no_path(tmp_path):
    ways = {"none": {}, "named": {"language": "python"}, "alias": {"language": "Python3"}}
    problems = [program(f"{name}_{way}", time_limit=0.5, **more) for name in ANSWERS for way, more in ways.items()]
    answers = [answer(f"{name}_{way}", ANSWERS[name][0], **more) for name in ANSWERS for way, more in ways.items()]

    found = {row["task_id"]: row for row in rows(hold(tmp_path, problems, answers))}

    loaded = load_benchmark(tmp_path / "in" / "benchmark.jsonl").samples
    assert {(program_language(sample), sample.canonical_language) for sample in loaded} == {("", "")}
    for name in ANSWERS:
        same = [([test.get("result") for test in row["test_details"]], row["error_type"], [test["verdict"] for test in row["test_details"]])
                for row in (found[f"{name}_{way}"] for way in ways)]  # fmt: skip
        assert same[1:] == same[:1] * 2


def test_a_function_in_python_is_met_by_the_examiner_also_where_its_row_says_so(tmp_path):
    problems = [
        {"task_id": "own", "language": "python", "prompt_code": "def f(x):\n", "tests": "assert f(1) == 2"},
        {"task_id": "whole", "language": "py", "tests": ["assert f(1) == 2", "assert f(2) == 3"]},
    ]
    code = "def f(x):\n    import numpy\n    return x + 1\n"

    run = hold(tmp_path, problems, [answer("own", code), answer("whole", code)])

    details = [test for row in rows(run) for test in row["test_details"]]
    assert [(test["passed"], test["verdict"]) for test in details] == [(True, "separated")] * 3


def test_problems_with_and_without_a_judge_of_their_own_are_marked_in_one_exam(tmp_path):
    judge = {"source": "import sys\nsys.exit(42)\n", "language": "python", "convention": "icpc"}

    run = hold(
        tmp_path,
        [program("judged", checker=judge), program("plain")],
        [answer("judged", "print(3)"), answer("plain", SUM)],
    )

    assert {row["task_id"]: results(row) for row in rows(run)} == dict.fromkeys(("judged", "plain"), ["AC"] * 3)


FORKS = "import os\nif os.fork():\n    os.wait()\n    print(sum(map(int, input().split())))\n"


@pytest.mark.parametrize("name", [*ANSWERS, "forks"])
def test_a_judged_answer_in_python_starts_an_interpreter_only_where_it_fails_by_itself(tmp_path, monkeypatch, name):
    source = "import sys\nsys.exit(42 if sys.stdin.read().split() == open(sys.argv[2]).read().split() else 43)\n"
    problem = program("a", time_limit=0.5, checker={"source": source, "language": "python", "convention": "icpc"})
    go_on, started = streams._going_on, []
    monkeypatch.setattr(streams, "_going_on", lambda *given: started.append(1) or go_on(*given))

    def hold_once(folder):
        folder.mkdir()
        [row] = rows(hold(folder, [problem], [answer("a", ANSWERS[name][0] if name in ANSWERS else FORKS)]))
        return [results(row) if name != "empty" else [], row["error_type"], row["tests_passed"], row["score"]]

    forked, interpreters = hold_once(tmp_path / "forked"), len(started)
    monkeypatch.setattr(streams, "is_plain_python", lambda _job: False)

    assert hold_once(tmp_path / "interpreters") == forked
    assert interpreters == {"crash": 1, "syntax": 1, "forks": 3}.get(name, 0)
    assert len(started) - interpreters == {"empty": 0, "loop": 1, "crash": 1, "syntax": 1, "late": 2}.get(name, 3)


def test_a_judge_in_python_has_the_packages_of_this_interpreter(tmp_path):
    judge = {"source": "import sys, numpy\nsys.exit(42)\n", "language": "python", "convention": "icpc"}

    run = hold(tmp_path, [program("a", checker=judge)], [answer("a", "import numpy\nprint(3)")])

    assert results(rows(run)[0]) == ["AC", "AC", "AC"]
