"""The page about a first part of one's own, followed as it stands."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib

import pytest
from support.paths import ROOT

PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
QUIZ = {
    "qid": "q1",
    "asks": "Double x.",
    "checks": ["func(2) == 4", "func(0) == 0"],
    "answer": "def answer(x): return 2 * x",
}


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def follow(tmp_path_factory):
    """Return what runs a command where the package of the page is installed."""
    site, here = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("here")
    (site / "mine.py").write_text("\n".join(blocks("python")), encoding="utf-8")
    info = site / "mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n", encoding="utf-8")
    points = tomllib.loads("".join(blocks("toml")))["project"]["entry-points"]
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in of.items()) for group, of in points.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    (here / "quiz.jsonl").write_text(json.dumps(QUIZ) + "\n", encoding="utf-8")
    (here / "answers.jsonl").write_text(
        '{"task_id": "q1", "solution": "def answer(x): return x + x"}\n', encoding="utf-8"
    )
    (here / "texts.jsonl").write_text(
        '{"candidate": "one two"}\n{"candidate": "four"}\n{"candidate": ""}\n', encoding="utf-8"
    )
    (here / "diary.json").write_text('{"diary": [{"who": "ann", "did": "search"}]}', encoding="utf-8")

    sums = {"task_id": "twice", "language": "awk", "tests": "BEGIN { if (twice(2) != 4) exit 1 }\n"}
    (here / "sums.jsonl").write_text(json.dumps(sums) + "\n", encoding="utf-8")
    answers = ["function twice(x) { return x + x }\n", "function twice(x) { return x }\n", "BEGIN { exit 0 }\n"]
    lines = [json.dumps({"task_id": "twice", "completion": text}) for text in answers]
    (here / "sums_answers.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def run(*command):
        environment = {**os.environ, "PYTHONPATH": str(site)}
        done = subprocess.run(
            [sys.executable, "-m", "markbook", *command],
            check=False,
            cwd=here,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run.here = here
    return run


def test_a_metric_of_ones_own(follow):
    assert re.search(r"^word_count .* mine$", follow("list", "metrics"), re.MULTILINE)

    found = json.loads(follow("score", "word_count", "texts.jsonl", "--json"))

    (one,) = found["metrics"] if isinstance(found["metrics"], list) else found["metrics"].values()
    assert (one["value"], one["n"], one["n_missing"], one["direction"]) == (1.5, 2, {"undefined": 1}, "lower")


def test_a_benchmark_of_ones_own_and_a_report(follow):
    follow(
        "exam", "--benchmark", "quiz.jsonl", "--solutions", "answers.jsonl", "--isolation", "weak", "--output", "out"
    )
    follow("report", "out/latest", "--format", "one-line", "--output", "said")

    assert (follow.here / "said" / "one_line.txt").read_text() == "answers: 1 samples by exam_score\n"
    (score,) = (follow.here / "out").glob("*/answers/test_results_score.json")
    assert json.loads(score.read_text())["total"] == 100.0


def test_a_trace_reader_of_ones_own(follow):
    found = follow("trace", "diary.json")

    assert "diary, 1 run" in found
    assert "tool calls 1" in found


@pytest.mark.skipif(shutil.which("awk") is None, reason="no awk here")
def test_a_language_of_ones_own(follow):
    assert re.search(r"^awk +mine +Awk ", follow("list", "languages"), re.MULTILINE)

    follow(
        "exam",
        "--benchmark",
        "sums.jsonl",
        "--solutions",
        "sums_answers.jsonl",
        "--isolation",
        "weak",
        "--output",
        "awk",
    )

    (results,) = (follow.here / "awk").glob("*/sums_answers/test_results_score.json")
    assert json.loads(results.read_text())["total"] == pytest.approx(100 / 3, abs=0.1)
