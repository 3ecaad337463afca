"""Corners of marking programs: groups that end early, and runs in which no two models share a value."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from support.exam_kit import write_rows

from markbook.cli import cli
from markbook.programs.checkers import Checked, Group, grade, next_test

PACKAGE = {
    "problem.yaml": "problem_format_version: 2025-09\nname: Sum\ntype: scoring\nlimits: {time_limit: 2}\n",
    "data/test_group.yaml": "max_score: 200\n",
    "data/secret/test_group.yaml": "max_score: 200\nscore_aggregation: min\n",
    "data/secret/g1/a.in": "1 2\n",
    "data/secret/g1/a.ans": "3\n",
    "data/secret/g1/test_group.yaml": "max_score: 100\n",
    "data/secret/g2/b.in": "2 2\n",
    "data/secret/g2/b.ans": "4\n",
    "data/secret/g2/test_group.yaml": "max_score: 100\n",
}
CUSTOM = {
    "problem.yaml": "problem_format_version: 2023-07-draft\nname: C\nvalidation: custom\nlimits: {time_limit: 2}\n",
    "output_validator/v.py": "import sys\nsys.exit(42 if sys.stdin.read().strip() == 'good' else 7)\n",
    "data/secret/a.in": "1\n",
    "data/secret/a.ans": "x\n",
}


def folder(tmp_path, files):
    for place, text in files.items():
        path = tmp_path / "sum" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "sum"


def exam(tmp_path, files, answers):
    rows = [{"task_id": "sum", "model": model, "completion": text} for model, text in answers.items()]
    solutions = write_rows(tmp_path / "answers.jsonl", rows)
    args = [
        "exam",
        "--benchmark",
        folder(tmp_path, files),
        "--solutions",
        solutions,
        "--workers",
        1,
        "--output",
        tmp_path / "out",
    ]
    result = CliRunner().invoke(cli, [str(arg) for arg in args], catch_exceptions=True)
    (run,) = (tmp_path / "out").glob("*/run.json")
    return result, run.parent


@pytest.mark.parametrize("aggregation", ["min", "pass-fail"])
def test_a_wrong_answer_to_the_first_of_several_groups_earns_nothing(tmp_path, aggregation):
    files = PACKAGE | {"data/secret/test_group.yaml": f"max_score: 200\nscore_aggregation: {aggregation}\n"}
    result, run = exam(tmp_path, files, {"wrong": "print('no')"})

    assert result.exit_code == 0, result.output
    (row,) = map(json.loads, (run / "wrong" / "test_results.jsonl").read_text().splitlines())
    assert (row["score"], row.get("benchmark_fault", "")) == (0.0, "")


def group(aggregation, *parts):
    return Group(name="secret", groups=parts, aggregation=aggregation, most=200.0)


def part(name, aggregation="sum", n=1, **more):
    return Group(name=name, tests=tuple(f"{name}/{at}" for at in range(n)), aggregation=aggregation, most=100.0, **more)


def marked(whole, verdicts):
    """Mark tests in the order that is asked for, until none is."""
    found = {}
    while (name := next_test(whole, found)) is not None:
        found[name] = Checked(verdicts[name])
    return grade(whole, found), len(found)


def test_a_group_that_is_rejected_with_points_does_not_settle_the_least():
    whole = group("min", part("g1", n=2), part("g2"))

    graded, n = marked(whole, {"g1/0": "AC", "g1/1": "WA", "g2/0": "WA"})
    assert (graded.result, graded.score, n) == ("WA", 0.0, 3)
    graded, n = marked(whole, {"g1/0": "AC", "g1/1": "WA", "g2/0": "AC"})
    assert (graded.result, graded.score, n) == ("WA", 50.0, 3)
    graded, n = marked(whole, {"g1/0": "WA", "g1/1": "WA", "g2/0": "AC"})
    assert (graded.result, graded.score, graded.fault, n) == ("WA", 0.0, "", 2)


def test_a_rejected_sample_that_ends_the_marking_is_no_pass():
    whole = group("pass-fail", part("sample"), part("g1"))

    graded, n = marked(whole, {"sample/0": "WA"})

    assert (graded.result, graded.score, graded.fault, n) == ("WA", 0.0, "", 1)


def test_models_that_share_no_value_have_their_reports_all_the_same(tmp_path):
    result, run = exam(tmp_path, CUSTOM, {"one": "print('good')", "two": "print('bad')"})

    assert result.exit_code == 0, (result.exception, result.output)
    record = json.loads((run / "run.json").read_text())
    assert record["status"] == "done"
    assert "The models are not compared" in (run / "report.html").read_text()
