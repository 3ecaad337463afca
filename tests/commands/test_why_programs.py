"""Why programs failed that no second run is made for: in other languages, reading and writing, and the tests of a task."""

import json

import pytest
from support.exam_kit import answer, hold, rows
from test_languages import LIMITS, here, language

import markbook
from markbook.programs.marker import ProgramMarker
from markbook.sandbox import Job
from markbook.types import Sample, Test

SUM = {"task_id": "sum", "tests": [{"stdin": "1 2\n", "stdout": "3\n4\n"}, {"stdin": "2 2\n", "stdout": "4\n"}]}
CPP = '#include <cstdio>\nint main() { int a, b; scanf("%%d%%d", &a, &b); %s printf("3\\n%%d\\n", a %s b); }\n'


def explained(name, tests, code, **options):
    here(name)
    sample = Sample("one", tests=(Test(program=tests),), language=name)
    marker = ProgramMarker([name], workers=1, isolation="weak", explain=options.pop("explain", True), **options)
    try:
        ((_, found),) = marker.run([Job("a", code, sample, LIMITS)])
        return found.why
    finally:
        marker.close()


def streamed(tmp_path, code, problem=SUM, **more):
    run = hold(tmp_path, [problem], [answer("sum", code, **{"language": "cpp", **more})])
    (row,) = rows(run)
    return row


def test_a_program_in_another_language_shows_both_outputs_and_their_first_difference(tmp_path):
    here("cpp")
    why = streamed(tmp_path, CPP % ('fputs("oh\\n", stderr);', "*"))["test_details"][0]["why"]

    assert (why["source"], why["expected"], why["got"]) == ("1 2\n", "3\n4\n", "3\n2\n")
    assert why["difference"] == "first differs in line 2: '2' instead of '4'"
    assert why["printed"] == "oh\n"


def test_a_compile_error_names_file_and_line(tmp_path):
    here("cpp")
    why = streamed(tmp_path, "int main() {\n  return x;\n}\n")["why"]

    assert "main.cpp:2:10: error: " in why["error"]
    assert why["lines"] == [[2, "", "return x;"]]


def test_a_program_that_crashes_names_its_own_line(tmp_path):
    why = streamed(
        tmp_path,
        "def f(x):\n    return [][x]\na = 1\nprint(f(a))\n",
        language="python3",
        problem={**SUM, "memory_limit_mb": 256},
    )

    found = why["test_details"][0]["why"]
    assert found["lines"] == [[4, "<module>", "print(f(a))"], [2, "f", "return [][x]"]]
    assert "IndexError: list index out of range" in found["printed"]


def test_python_that_reads_and_writes_names_the_line_that_differs(tmp_path):
    (row,) = rows(hold(tmp_path, [SUM], [answer("sum", "print(3)\nprint(5)")]))

    assert row["test_details"][0]["why"]["difference"] == "first differs in line 2: '5' instead of '4'"


def test_lines_are_counted_in_the_answer_and_not_in_the_program_around_it():
    why = explained("cpp", language("cpp").self_test[2], "int twice(int x) {\n  return y;\n}\n")

    assert "error: " in why.failures[0].error
    assert [(one.number, one.text) for one in why.failures[0].lines] == [(2, "return y;")]


def test_what_a_failing_program_says_is_shown_and_never_the_words_of_its_run():
    tests = language("javascript").self_test[2]
    code = "function twice(x) {\n  console.log('hm');\n  throw new Error('no ' + x);\n}\n"
    why = explained("javascript", tests, code)

    assert why.stdout == "hm"
    assert "Error: no " in why.failures[0].error
    assert [one.number for one in why.failures[0].lines][:1] == [3]
    assert explained("javascript", tests, code) == why


def test_nothing_is_explained_where_nobody_asked_and_where_it_passed():
    right, wrong, tests = language("bash").self_test

    assert explained("bash", tests, wrong, explain=False) is None
    assert explained("bash", tests, right) is None


@pytest.mark.parametrize(
    "code", ["echo $'\\033[2J\\033]0;x\\007' >&2; exit 3", "head -c 100000 /dev/zero | tr '\\0' x >&2; exit 3"]
)
def test_what_programs_say_is_bounded_and_cannot_move_a_terminal(code):
    why = explained("bash", language("bash").self_test[2], f"twice() {{ {code}; }}")

    assert len(str(why)) < 4_000
    assert "\x1b" not in str(why)


TASK = """\
name: t
data: {path: rows.jsonl}
prompt: "{{ q }}"
tests: check
metrics: [pass_at_k]
"""


def test_tests_of_a_task_say_why_in_rows_page_view_and_show(tmp_path, monkeypatch):
    from click.testing import CliRunner

    from markbook.cli.show import command as show

    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.yaml").write_text(TASK)
    (tmp_path / "rows.jsonl").write_text(json.dumps({"q": "?", "check": "assert f(1) == 2"}) + "\n")
    (tmp_path / "a.jsonl").write_text(
        json.dumps({"doc_id": 0, "prediction": "def f(x):\n    print('hm')\n    return x\n"}) + "\n"
    )
    run = markbook.run_task("t.yaml", predictions="a.jsonl", isolation="weak")

    row = json.loads(run.read("results.jsonl"))
    failure = row["tests"]["why"]["failures"][0]
    assert (failure["got"], failure["expected"], row["tests"]["why"]["stdout"]) == ("1", "2", "hm\n")
    said = CliRunner().invoke(show, [str(run.folder), "0"], standalone_mode=False).output
    for text in (said, (run.folder / "report.html").read_text()):
        assert "Why it failed" in text
        assert "assert f(1) == 2" in text
