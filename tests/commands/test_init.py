"""What a newcomer starts from runs as it is: the starters, and the blocks of the page on benchmarks."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.exam_kit import answer, hold, problem
from support.paths import ROOT
from support.review_kit import markbook, only_run

import markbook as markbook_api
from markbook.errors import UsageError
from markbook.runs.exam.results import ExamResults

PAGE = ROOT / "docs" / "benchmarks.md"


def start(tmp_path, what):
    """Make a starter and run the command that it names; return the run's folder."""
    code, said, _ = markbook("init", what, tmp_path / "my own")
    assert code == 0
    words = shlex.split(said.strip().splitlines()[-1])
    assert words[0] == "markbook"
    isolation = ("--isolation", "weak") if what == "exam" else ()
    assert markbook(*words[1:], "--output", tmp_path / "out", *isolation)[0] == 0
    return only_run(tmp_path / "out")


def test_the_exam_that_init_writes_can_be_held(tmp_path):
    run = start(tmp_path, "exam")

    totals = [
        json.loads((run / model / "test_results_score.json").read_text())["total"] for model in ("first", "second")
    ]
    assert totals == [100.0, pytest.approx(100 / 3, abs=0.01)]


def test_the_task_that_init_writes_can_be_run(tmp_path):
    run = start(tmp_path, "task")

    rows = [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]
    assert len(rows) == 3
    text = (run / "summary.json").read_text()
    assert "0.666" in text  # two of three are exactly the reference
    assert "names_it" in text


def test_the_reviews_that_init_writes_can_be_scored(tmp_path):
    run = start(tmp_path, "review")

    assert len((run / "results.jsonl").read_text().splitlines()) == 4


def test_init_overwrites_nothing(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").write_text("precious")

    code, _, told = markbook("init", "exam", tmp_path / "mine")

    assert code == 2
    assert "not empty" in told
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes"]


def test_the_problems_of_the_page_on_benchmarks_are_sound_and_its_answers_are_marked(tmp_path):
    blocks = re.findall(r"```json (\w+)\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    for kind in ("benchmark", "answers"):
        rows = [json.dumps(json.loads(text)) for name, text in blocks if name == kind]
        (tmp_path / f"{kind}.jsonl").write_text("\n".join(rows))
    given = ("--benchmark", tmp_path / "benchmark.jsonl", "--isolation", "weak")

    assert [name for name, _ in blocks] == ["benchmark", "benchmark", "answers"]
    assert markbook("exam", *given, "--check-benchmark")[0] == 0
    marked = ("--solutions", tmp_path / "answers.jsonl", "--output", tmp_path / "out", "--error-policy", "partial")
    assert markbook("exam", *given, *marked)[0] == 0
    score = json.loads((only_run(tmp_path / "out") / "first" / "test_results_score.json").read_text())
    assert score["total"] == 25.0  # of two problems one was answered, and one of its two tests passed


def test_the_steps_of_the_action_mark_report_and_hold_the_gate(tmp_path):
    root = PAGE.parents[1]
    start = root / "examples" / "start" / "exam"
    output, summary = tmp_path / "output", tmp_path / "summary.md"
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "BENCHMARK": str(start / "benchmark.jsonl"),
        "SOLUTIONS": str(start / "answers.jsonl"),
        "BASELINE": "",
        "FAIL_UNDER": "second=90%",
        "GITHUB_OUTPUT": str(output),
        "GITHUB_STEP_SUMMARY": str(summary),
    }

    found = subprocess.run(
        ["bash", root / "scripts" / "action.sh"],
        cwd=tmp_path,
        env={**os.environ, **environment},
        capture_output=True,
        check=False,
    )

    assert found.returncode == 1, found.stderr.decode()  # the gate that was set
    assert b"second is 33.33%, and at least 90% is asked for" in found.stderr
    assert "first" in summary.read_text()
    assert output.read_text().startswith("run=markbook-runs/evaluation_")
    assert "![" not in summary.read_text()

    (run,) = (tmp_path / "markbook-runs").iterdir()
    rows = [line for line in (start / "answers.jsonl").read_text().splitlines() if '"second"' in line]
    (tmp_path / "one.jsonl").write_text("\n".join(rows) + "\n")
    alone = {"SOLUTIONS": str(tmp_path / "one.jsonl"), "GITHUB_STEP_SUMMARY": str(tmp_path / "alone.md")}
    second = {"BASELINE": str(run), "FAIL_UNDER": "", "GITHUB_STEP_SUMMARY": str(tmp_path / "second.md")}
    second |= {"GITHUB_RUN_ID": "7", "GITHUB_SERVER_URL": "https://git.example", "GITHUB_REPOSITORY": "a/b"}
    absent = {"BASELINE": str(tmp_path / "nothere"), "FAIL_UNDER": ""}
    ended = []
    for more in (second, absent, alone):
        made = subprocess.run(
            ["bash", root / "scripts" / "action.sh"],
            cwd=tmp_path,
            env={**os.environ, **environment, **more},
            capture_output=True,
            check=False,
        )
        ended.append((made.returncode, b"marked" in made.stderr))

    assert ended == [(0, True), (2, False), (1, True)]  # the last by its gate: one model needs no other
    comment = (tmp_path / "second.md").read_text()
    assert "First minus second" in comment
    assert "artefact `markbook-report` of [this run](https://git.example/a/b/actions/runs/7)." in comment
    pages = {path.name: path.read_text() for path in (tmp_path / "markbook-report").glob("*.html")}
    assert sorted(pages) == ["comparison.html", "report.html"]
    assert "What changed" in pages["comparison.html"]


FAKE_GH = """#!{python}
import json, pathlib, sys
store = pathlib.Path("comments.json")
comments = json.loads(store.read_text())
method = sys.argv[sys.argv.index("--method") + 1] if "--method" in sys.argv else "GET"
path = next(word for word in sys.argv if word.startswith("repos/"))
if method == "GET":
    print(*(f"{{id}} {{body.splitlines()[0]}}" for id, kind, body in comments if kind == "Bot"), sep="\\n")
else:
    body = pathlib.Path(sys.argv[-1].removeprefix("body=@")).read_text()
    if method == "POST":
        comments.append([len(comments), "Bot", body])
    else:
        comments[int(path.rsplit("/")[-1])][2] = body
store.write_text(json.dumps(comments))
"""


def test_the_action_updates_the_comment_of_its_own_job_and_no_other(tmp_path):
    (tmp_path / "gh").write_text(FAKE_GH.format(python=sys.executable))
    (tmp_path / "gh").chmod(0o755)
    (tmp_path / "markbook-report").mkdir()
    others = [[0, "User", "<!-- markbook: CI-2 marks -->\nnot ours"], [1, "Bot", "coverage"]]
    (tmp_path / "comments.json").write_text(json.dumps(others))

    for workflow, report in (("CI 2", "first"), ("nightly", "other"), ("CI 2", "second")):
        (tmp_path / "report.md").write_text(report)
        environment = {
            "PATH": f"{tmp_path}:{os.environ['PATH']}", "GITHUB_WORKFLOW": workflow, "GITHUB_JOB": "marks",
            "GITHUB_REPOSITORY": "a/b", "NUMBER": "3", "REPORT": "report.md",
        }  # fmt: skip
        script = ["bash", ROOT / "scripts" / "comment.sh"]
        subprocess.run(script, cwd=tmp_path, env={**os.environ, **environment}, check=True)

    assert json.loads((tmp_path / "comments.json").read_text()) == [
        *others,
        [2, "Bot", "<!-- markbook: CI-2 marks -->\nsecond"],
        [3, "Bot", "<!-- markbook: nightly marks -->\nother"],
    ]
    assert "scripts/comment.sh" in (ROOT / "action.yml").read_text()


def test_a_run_in_python_has_scores_and_failures(tmp_path):
    start(tmp_path, "exam")
    run = markbook_api.open_run(only_run(tmp_path / "out"))

    assert {model: round(summary.value, 4) for model, summary in run.scores.items()} == {"first": 1.0, "second": 0.3333}
    assert run.score("second").n == 3
    assert sorted((each.model, each.sample, each.status) for each in run.failures()) == [
        ("second", "lists/1", "partial"),
        ("second", "text/1", "partial"),
    ]
    assert list(run.failures("first")) == []
    assert "exam done" in repr(run)
    with pytest.raises(UsageError, match="no model 'third'"):
        run.score("third")


def test_failures_come_in_the_order_of_the_benchmark_whatever_was_done_first(tmp_path, monkeypatch):
    names, wrong = ["p2", "p1", "p3"], ["def f(x):\n    return -x\n", "def f(x):\n    return x + 1\n"]
    answers = [answer(name, text, model, sample=n) for name in names for model in "ba" for n, text in enumerate(wrong)]
    run = hold(tmp_path, [problem(name) for name in names], answers)
    entries = ExamResults.entries
    monkeypatch.setattr(ExamResults, "entries", lambda self: reversed(list(entries(self))))

    found = [(each.model, each.sample, dict(each.facts)["Attempt"]) for each in run.failures()]

    assert found == [(model, name, number) for model in "ba" for name in names for number in "12"]


def test_a_full_disk_is_said_and_leaves_no_half_starter(tmp_path, monkeypatch):
    def full(_from, to, **_options):
        Path(to).mkdir(parents=True)
        (Path(to) / "task.yaml").write_text("")
        raise shutil.Error([("task.yaml", str(to), "[Errno 28] No space left on device: 'task.yaml'")])

    monkeypatch.setattr(shutil, "copytree", full)
    code, _, err = markbook("init", "task", tmp_path / "mine")

    assert code == 73
    assert "No space left on device" in err
    assert not (tmp_path / "mine").exists()


def test_the_action_takes_solutions_in_lines_and_keeps_a_comment_short(tmp_path):
    root = PAGE.parents[1]
    start = root / "examples" / "start" / "exam"
    answer = json.loads((start / "answers.jsonl").read_text().splitlines()[0])
    names = [f"{at:02}{'m' * 240}" for at in range(30)]
    for name, models in (("few.jsonl", ["only"]), ("many.jsonl", names)):
        rows = [json.dumps(answer | {"model": model}) + "\n" for model in models]
        (tmp_path / name).write_text("".join(rows), encoding="utf-8")
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "BENCHMARK": str(start / "benchmark.jsonl"),
        "SOLUTIONS": "few.jsonl\nmany.jsonl\n", "BASELINE": "", "FAIL_UNDER": "", "GITHUB_STEP_SUMMARY": "summary.md",
        "GITHUB_RUN_ID": "7", "GITHUB_SERVER_URL": "https://git.example", "GITHUB_REPOSITORY": "a/b",
    }  # fmt: skip

    made = subprocess.run(
        ["bash", root / "scripts" / "action.sh"],
        cwd=tmp_path,
        env={**os.environ, **environment},
        capture_output=True,
        check=False,
    )

    assert made.returncode == 0, made.stderr.decode()
    comment = (tmp_path / "markbook-report" / "report.md").read_text(encoding="utf-8", errors="replace")
    assert "only" in comment
    assert names[-1][:20] in comment
    assert len(comment) < 65_536
    assert comment.partition("The rest is left out: a comment holds no more.")[2].startswith(
        "\n\nCharts, and the answers"
    )


def test_what_all_systems_lack_is_said_once_and_the_starter_has_a_trace(tmp_path):
    assert markbook("init", "review", tmp_path / "mine")[0] == 0
    files = "--papers", tmp_path / "mine" / "papers", "--reviews", tmp_path / "mine" / "reviews.jsonl"
    code, _, told = markbook("review", *files, "--similarity", "cosine,jaccard", "--output", tmp_path / "out")

    assert code == 0, told
    page = (only_run(tmp_path / "out") / "report.html").read_text(encoding="utf-8")
    assert page.count("no composite is complete") == 1
    assert re.findall(r"overall_score [\d.]+|similarity [\d.]+", page) == [
        "overall_score 20.0",
        "overall_score 10.4",
        "overall_score 25.3",
        "overall_score 0.0",
    ]  # on 0..100, as all of the page
    assert "<li>first, second: no composite is complete" in page
    code, out, _ = markbook("trace", tmp_path / "mine" / "traces" / "p1.json", "--json")
    assert (code, json.loads(out)["tool_calls"]) == (0, 2)
