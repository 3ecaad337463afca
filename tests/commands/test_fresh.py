"""Tests of functions with a solution each, beside all with one."""

from support.exam_kit import answer, hold, problem, rows

TESTS = [{"assertion": "func(1) == 1"}, {"assertion": "func(2) == 2"}, {"assertion": "func(3) == 3"}]
ANSWERS = {
    "honest": "def f(x):\n    return x\n",
    "counts": "calls = []\ndef f(x):\n    calls.append(x)\n    return len(calls)\n",
    "breaks": "calls = []\ndef f(x):\n    calls.append(x)\n    return x if len(calls) == 1 else 0\n",
    "raises": "def f(x):\n    return x if x < 3 else 1 / 0\n",
}


def marked(tmp_path, **options):
    given = [answer("p", text, name) for name, text in ANSWERS.items()]
    run = hold(tmp_path, [problem("p", tests=TESTS)], given, **options)
    found = {name: rows(run, name)[0] for name in ANSWERS}
    return {
        name: ([test["passed"] for test in row["test_details"]], row.get("flags", []), row["error_type"])
        for name, row in found.items()
    }


def test_a_solution_that_counts_its_calls_is_caught(tmp_path):
    assert marked(tmp_path / "usual")["counts"] == ([True, True, True], [], None)
    assert marked(tmp_path / "fresh", fresh_tests=True) == {
        "honest": ([True, True, True], [], None),
        "counts": ([True, False, False], ["order"], "AssertionError"),
        "breaks": ([True, True, True], ["order"], None),
        "raises": ([True, True, False], [], "Error"),
    }


def test_it_is_recorded_and_changes_no_program_that_reads_and_writes(tmp_path):
    program = {"task_id": "s", "tests": [{"stdin": "1", "stdout": "1"}, {"stdin": "2", "stdout": "2"}]}
    run = hold(tmp_path, [program], [answer("s", "print(input())")], fresh_tests=True)

    assert run.manifest["config"]["fresh_tests"] is True
    assert [test["result"] for test in rows(run)[0]["test_details"]] == ["AC", "AC"]
