"""Whose fault it is that a judge broke: its own, or that of an output that breaks a judge which is right."""

import pytest
from support.exam_kit import answer, hold, rows, scores, write_rows
from test_languages import here
from test_rewards import marked as rewarded
from test_stdio_turns import marked

FLOATS = "def check(stdin, stdout, expected):\n    return abs(float(stdout) - float(expected)) < 1e-6\n"
NUMBERS = """import sys
wanted = open(sys.argv[2]).read().split()
found = [int(word) for word in sys.stdin.read().split()]
sys.exit(42 if found == [int(word) for word in wanted] else 43)
"""
LISTENER = """import sys
secret = int(open(sys.argv[1]).read())
print("guess", flush=True)
sys.exit(42 if int(input()) == secret else 43)
"""
SLOW = """def check(stdin, stdout, expected):
    seen = []
    for word in stdout.split():
        if word not in seen:
            seen = seen + [word]
    return seen == expected.split()
"""
LOUD = "import sys\nwords = open(sys.argv[2]).read().split()\nsys.exit(0 if words == ['7'] else 3 if words == ['8'] else 9)\n"
RIGHT = "print(7)"


def problem(name, source, convention, stdout="7", **more):
    checker = {"language": "python", "source": source, "convention": convention}
    if more.pop("interactive", False):
        checker["interactive"] = True
    tests = [{"stdin": "7", "stdout": stdout}, {"stdin": "7", "stdout": stdout}]
    return {"task_id": name, "time_limit": 1.0, "tests": tests, "checker": checker, **more}


TALK = problem("talk", LISTENER, "icpc", "", interactive=True, canonical_solution="input()\nprint(7)")
EASY = {"task_id": "easy", "tests": [{"stdin": "", "stdout": "7"}]}
BREAKING = [
    (problem("function", FLOATS, "function"), "print('x')"),
    (problem("validator", NUMBERS, "icpc"), "import sys; sys.stdout.buffer.write(b'\\xff\\0')"),
    (problem("checker", LOUD, "testlib"), "print(9)"),
    (TALK, "print('x')"),
]


@pytest.mark.parametrize(
    ("task", "breaks"), BREAKING, ids=lambda value: value["task_id"] if type(value) is dict else ""
)
def test_an_output_that_breaks_a_right_judge_is_wrong(tmp_path, task, breaks):
    given = [answer("easy", RIGHT, model) for model in ("right", "wrong", "breaks")]
    given += [answer(task["task_id"], text, model) for model, text in
              (("right", "print(7)"), ("wrong", "print(5)"), ("breaks", breaks))]  # fmt: skip
    if task["task_id"] == "checker":
        given = [one for one in given if one["model"] != "wrong"]
    run = hold(tmp_path, [EASY, task], given)

    assert scores(run, "right")["total"] == 100.0
    assert scores(run, "breaks")["total"] == 50.0
    assert scores(run, "breaks")["benchmark_faults"] == []
    row = next(row for row in rows(run, "breaks") if row["task_id"] == task["task_id"])
    assert [test["result"] for test in row["test_details"]] == ["WA", "-"]
    assert row["test_details"][0]["error_message"].startswith("the judge ended in an error on this output")
    if task["task_id"] != "checker":
        assert scores(run, "wrong")["total"] == 50.0


def test_a_judge_that_an_output_keeps_busy_beyond_its_limit_is_not_at_fault(tmp_path, monkeypatch):
    from markbook.programs import streams
    from markbook.types import Limits

    monkeypatch.setattr(streams, "JUDGE_LIMITS", Limits(seconds=0.3))
    found = marked(tmp_path, problem("slow", SLOW, "function"), [("long", "print(*range(200000))", {})])

    assert found == {"long": ["WA", "-"]}


def test_an_answer_in_another_language_goes_on_after_the_canonical_answer_was_asked(tmp_path):
    here("cpp")
    cpp = '#include <cstdio>\nint main() { char s[9]; scanf("%%8s", s); puts("%s"); }\n'
    found = marked(
        tmp_path,
        TALK,
        [("breaks", cpp % "x", {"language": "cpp"}), ("right", cpp % "7", {"language": "cpp"})],
        all_tests=True,
    )

    assert found == {"breaks": ["WA", "WA"], "right": ["AC", "AC"]}


def test_where_nothing_is_known_to_be_right_a_judge_that_breaks_is_charged_to_nobody(tmp_path):
    unknown = {**TALK, "canonical_solution": ""}
    outdated = {**TALK, "canonical_solution": "print('seven')"}
    empty = problem("empty", FLOATS, "function", "")

    assert marked(tmp_path / "a", unknown, [("breaks", "print('x')", {})]) == {"breaks": ["JE", "-"]}
    assert marked(tmp_path / "b", outdated, [("breaks", "print('x')", {})]) == {"breaks": ["JE", "-"]}
    assert marked(tmp_path / "c", empty, [("breaks", "print('x')", {})]) == {"breaks": ["JE", "-"]}


def test_a_judge_that_says_it_is_at_fault_itself_is_believed(tmp_path):
    assert marked(tmp_path, problem("checker", LOUD, "testlib"), [("better", "print(8)", {})]) == {
        "better": ["JE", "-"]
    }


@pytest.mark.parametrize("language", ["python", "cpp"])
def test_breaking_a_right_judge_is_worth_no_more_than_a_wrong_answer_as_a_reward(tmp_path, language):
    if language == "cpp":
        here(language)
    path = write_rows(tmp_path / "b.jsonl", [problem("function", FLOATS, "function"), TALK])
    texts = {
        "python": ["print(7)", "print(8)", "print('x')"],
        "cpp": [f'#include <cstdio>\nint main() {{ puts("{word}"); }}\n' for word in "78x"],
    }[language]
    items = [{"task_id": name, "code": text, "language": language} for name in ("function", "talk") for text in texts]

    assert [one.reward for one in rewarded(items, benchmark=path)] == [1, 0, 0] * 2
