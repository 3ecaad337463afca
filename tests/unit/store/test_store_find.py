"""`latest` and a folder of runs are understood wherever a RUN is."""

import json
import os
import shlex
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import review_kit
from support.exam_kit import answer, problem, write_rows
from support.review_kit import markbook

import markbook as api
from markbook.errors import DataError, StorageError
from markbook.report.browser import find_runs as browsed_runs
from markbook.store.reader import find_run, find_runs
from markbook.testing import assert_marks

GOOD, BAD = "def f(x):\n    return x\n", "def f(x):\n    return -x\n"


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Return the command of an exam, and two finished runs of it in the folder `generated`: good, then bad."""
    monkeypatch.chdir(tmp_path)
    benchmark = write_rows(tmp_path / "b.jsonl", [problem(f"p{n}") for n in range(12)])
    args = ["exam", "--benchmark", benchmark, "--isolation", "weak"]
    for number, (model, text) in enumerate((("good", GOOD), ("bad", BAD))):
        said = write_rows(tmp_path / f"{model}.jsonl", [answer(f"p{n}", text, model) for n in range(12)])
        monkeypatch.setattr("time.time", lambda at=number: 1790000000.0 + at)
        assert markbook(*args, "--solutions", said)[0] == 0
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    return args, [tmp_path / "generated" / f"evaluation_{1790000000 + n}" for n in range(2)]


def test_a_folder_of_runs_is_compared(runs):
    code, out, told = markbook("compare", "generated", "--format", "csv")

    assert code == 0, told
    assert "good" in out
    assert "bad" in out
    assert api.compare("generated").pairs[0].n == 12


def test_latest_is_the_newest_run(runs, tmp_path):
    folders = runs[1]

    assert [path.name for path in find_runs("generated")] == [folder.name for folder in folders]
    assert api.open_run("latest").folder.name == folders[1].name
    assert api.open_run(tmp_path / "generated" / "latest").folder == folders[1]
    code, out, _ = markbook("report", "latest", "--output", "new")
    assert (code, out) == (0, "new/report.html\n")
    assert markbook("compare", folders[0], "latest")[0] == 0
    assert markbook("compare", "latest", "generated/evaluation_1790000000", "--fail-under", "bad=50%")[0] == 1
    with pytest.raises(AssertionError, match="bad"):
        assert_marks("latest", at_least=0.5)


def test_latest_may_hold_the_answers_of_a_task(tmp_path):
    code, said, _ = markbook("init", "task", tmp_path / "mine")
    words = shlex.split(said.strip().splitlines()[-1])
    assert (code, words[1]) == (0, "run")
    assert markbook(*words[1:], "-o", tmp_path / "out")[0] == 0
    (first,) = find_runs(tmp_path / "out")

    for _ in range(2):  # the second time a newer run is the latest: its own answers are no other
        code, _, told = markbook("run", words[2], "--predictions", tmp_path / "out" / "latest", "-o", tmp_path / "out")
        assert code == 0, told
    again = find_runs(tmp_path / "out")

    assert len(again) == 3
    assert len({(run / "results.jsonl").read_bytes() for run in again}) == 1
    sources = json.loads((again[1] / "run.json").read_text())["sources"]
    assert sources["predictions"] == str(first)


def test_latest_is_resolved_before_a_new_run_is_made(runs, tmp_path):
    args, folders = runs

    code, _, told = markbook(*args, "--solutions", tmp_path / "bad.jsonl", "--fail-if-worse", "latest")
    worse, _, why = markbook(*args, "--solutions", tmp_path / "bad.jsonl", "--fail-if-worse", folders[0])

    assert (code, "not shown to be worse" in told) == (0, True)
    assert (worse, "is worse than" in why) == (1, True)
    assert markbook("exam", "--resume", "latest", "--isolation", "weak")[0] == 0


def test_of_several_runs_a_command_for_one_asks_which(runs, tmp_path):
    code, _, told = markbook("report", "generated")

    assert code == 2
    assert "generated: this folder holds 2 runs (name one of them, such as " in told
    assert "generated/latest)" in told
    assert markbook("report", "nowhere")[0] == 2
    (tmp_path / "empty").mkdir()
    assert "no run lies in it" in markbook("compare", "empty")[2]
    with pytest.raises(DataError, match="none is the latest"):
        find_run("empty/latest")


def test_runs_of_one_second_are_in_their_order(tmp_path):
    names = ["evaluation_9", "evaluation_10", "evaluation_10_2", "evaluation_10_10"]
    for name in reversed(names):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text("{}")

    assert [path.name for path in find_runs(tmp_path)] == names


@contextmanager
def nobody():
    """Be a user whom closed doors stop."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


@pytest.fixture
def half_closed():
    """Return a folder that anybody may look into, and in it one that nobody may."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    (folder / "closed").mkdir(mode=0)
    yield folder
    (folder / "closed").chmod(0o700)
    shutil.rmtree(folder)


def refused(*args):
    """Return what a command says to nobody; what it imports may be another user's."""
    markbook(*args)
    with nobody():
        code, out, err = markbook(*args)
    assert (code, out) == (74, "")
    return err


@pytest.mark.parametrize("words", ["compare {}", "show {} a", "site {} -o {}/new", "report {}", "noise {}/closed"])
def test_a_folder_with_runs_that_may_not_be_read_is_refused_by_name(half_closed, words):
    (half_closed / "open").mkdir()
    (half_closed / "open" / "run.json").write_text("{}")
    err = refused(*words.format(*[half_closed] * 2).split())

    assert f"{half_closed}/closed" in err
    assert "may not be read" in err
    with nobody(), pytest.raises(StorageError):
        browsed_runs(half_closed)


@pytest.mark.parametrize("words", [
    "review --papers {} --reviews {}/reviews.jsonl",
    "review --papers {}/papers --reviews {}",
    "review --papers {}/papers --reviews {}/reviews.jsonl --similarity cosine --traces {} -o {}",
    "judge correct --judged {}/reviews.jsonl --labels {}/closed --score x",
])  # fmt: skip
def test_a_folder_of_inputs_that_may_not_be_read_is_not_taken_for_empty(half_closed, words):
    review_kit.papers(half_closed)
    review_kit.reviews(half_closed)
    half_closed.chmod(0o777)
    with (half_closed / "reviews.jsonl").open("a") as file:
        file.write('{"id": "a", "x": 1}\n')
    err = refused(*words.format(*[half_closed] * 4).split())

    assert f"{half_closed}/closed" in err
