"""Attempts are read once and put into benchmark order, and a small exam does without what only a large one needs."""

import json
import subprocess
import sys
from array import array
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from support import made_runs

import markbook.runs.exam.plan as pipeline
from markbook import exam
from markbook.benchmarks import answers
from markbook.errors import DataError
from markbook.runs.exam import grading as exam_numbers, view as exam_view
from markbook.runs.exam.grading import Tally
from markbook.runs.exam.results import ExamResults
from markbook.runs.exam.view import ExamView
from markbook.sandbox.worker import WorkerPool
from markbook.store import journal
from markbook.types import Outcome, Sample, Test, TestResult, Verdict

KEYS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), max_size=40)


@pytest.mark.parametrize("few", [0, 1000], ids=["numpy", "python"])
@given(keys=KEYS)
@settings(deadline=None)
def test_attempts_are_sorted_by_problem_then_number_then_place(few, keys):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exam_view, "_FEW", few)
        places, locations = exam_view._sort_locations(
            array("Q", [place << 32 | number for place, number in keys]),
            array("Q", [7 * at for at in range(len(keys))]),
        )

    wanted = sorted((place, number, 7 * at) for at, (place, number) in enumerate(keys))
    assert list(zip(places, locations, strict=True)) == [(place, at) for place, _, at in wanted]


@pytest.mark.parametrize("few", [0, 1000], ids=["numpy", "python"])
@given(keys=KEYS)
@settings(deadline=None)
def test_answers_are_sorted_by_problem_then_number_then_place(few, keys):
    index = answers._Index()
    index.problem.extend(place for place, _ in keys)
    index.number.extend(number for _, number in keys)
    index.slot.extend(range(len(keys)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answers, "_FEW", few)
        order = answers._benchmark_order(index)

    assert list(order) == [at for _, _, at in sorted((*key, at) for at, key in enumerate(keys))]


def test_an_exam_of_one_answer_loads_nothing_heavy(tmp_path):
    (tmp_path / "paper.jsonl").write_text(
        '{"task_id": "HumanEval/0", "prompt": "def f(x):\\n", "canonical_solution": "    return x\\n",'
        ' "test": "def check(f):\\n    assert f(1) == 1\\n", "entry_point": "f"}\n'
    )
    (tmp_path / "answers.jsonl").write_text('{"task_id": "HumanEval/0", "completion": "    return x\\n"}\n')
    code = (
        "import sys\nfrom markbook.cli import cli\n"
        "cli.main(['exam', '--benchmark', 'paper.jsonl', '--solutions', 'answers.jsonl'], standalone_mode=False)\n"
        "print(sorted(set(sys.modules) & {'numpy', 'scipy', 'vl_convert', 'asyncio', 'importlib.metadata', 'pydantic',"
        " 'rich.progress', 'zipfile', 'email', 'multiprocessing'}))"
    )

    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"


BODIES = ("return x", "return 1", "raise ValueError(x)", "return x + 0")


def small_exam(tmp_path, *, bodies=BODIES, problems=3, workers=1):
    paper, solutions = tmp_path / "paper.jsonl", tmp_path / "answers.jsonl"
    test = "def check(f):\n    assert f(1) == 1\n    assert f(2) == 2\n"
    paper.write_text(
        "".join(
            json.dumps(
                {
                    "task_id": f"HumanEval/{at}",
                    "prompt": "def f(x):\n",
                    "canonical_solution": "    return x\n",
                    "test": test,
                    "entry_point": "f",
                }
            )
            + "\n"
            for at in range(problems)
        )
    )
    solutions.write_text(
        "".join(
            json.dumps({"task_id": f"HumanEval/{at}", "completion": f"    {body}\n"}) + "\n"
            for at in range(problems)
            for body in bodies
        )
    )
    return exam(paper, solutions, tmp_path / "out", workers=workers)


def test_every_row_of_the_journal_is_decoded_once(tmp_path, monkeypatch):
    decoded = []
    real = journal.from_line
    monkeypatch.setattr(journal, "from_line", lambda line: decoded.append(line) or real(line))

    run = small_exam(tmp_path)

    rows = sum(len(path.read_bytes().splitlines()) for path in (run.folder / "journal").iterdir())
    assert rows == 3 + 1 + 12
    assert len(decoded) == rows


@pytest.mark.parametrize(("name", "value"), [("KEPT", 0), ("KEPT", 5), ("_KEPT_BYTES", 900)])
def test_reports_are_the_same_however_little_stays_decoded(tmp_path, monkeypatch, name, value):
    run = small_exam(tmp_path)
    whole = ExamView(run, run.manifest)
    assert len(whole._read.kept) == 12
    monkeypatch.setattr(exam_view, name, value)
    little = ExamView(run, run.manifest)

    assert list(little.attempts("answers")) == list(whole.attempts("answers"))
    assert little.tallies == whole.tallies
    assert (little.isolation, little.n_planned, little.n_marked) == (whole.isolation, 12, 12)
    assert len(little._read.kept) < 12


def test_the_list_of_attempts_grades_one_that_lies_before_its_problem_as_any_other(tmp_path, monkeypatch):
    run = made_runs.exam_run(tmp_path, models={"m": 0.5}, problems=6)
    entries = sorted(ExamResults(run, run.manifest).entries())
    rows = list(run.locate_all())
    monkeypatch.setattr(type(run), "locate_all", lambda _self: reversed(rows))

    repaired = sorted(ExamResults(run, run.manifest).entries())

    assert [entry.score for entry in repaired] == [entry.score for entry in entries]
    assert repaired == entries


def test_a_summary_is_computed_once_until_another_attempt_is_counted(monkeypatch):
    sample = Sample("a", tests=(Test(program="x"),))
    passed, failed = (Outcome((TestResult(one, Verdict.SEPARATED),)) for one in (True, False))
    tally = Tally("m", [sample, sample])
    tally.add(0, passed)
    asked = []
    real = exam_numbers.summarise_values
    monkeypatch.setattr(exam_numbers, "summarise_values", lambda *a, **k: asked.append(1) or real(*a, **k))

    assert tally.exam_score().value == tally.exam_score(group="g").value == 0.5
    assert (tally.exam_score().group, tally.exam_score(group="g").group) == ("total", "g")
    assert tally.exam_score([0]).value == 1.0
    assert tally.attempted_score().value == 1.0
    assert len(asked) == 3
    tally.add(0, failed)
    assert tally.exam_score().value == 0.25


def test_the_first_worker_starts_before_the_benchmark_is_read_and_no_more_than_there_is_work_for(tmp_path, monkeypatch):
    seen = []
    worker, load = WorkerPool._worker, pipeline.load_benchmark
    monkeypatch.setattr(
        WorkerPool, "_worker", lambda worker_pool, number: seen.append(number) or worker(worker_pool, number)
    )
    monkeypatch.setattr(pipeline, "load_benchmark", lambda *args: seen.append("read") or load(*args))

    small_exam(tmp_path, bodies=["return x"], problems=2, workers=5)

    assert seen == [0, "read", 1]


def test_a_benchmark_that_cannot_be_read_leaves_no_worker_behind(tmp_path, monkeypatch):
    made = []
    worker = WorkerPool._worker
    monkeypatch.setattr(
        WorkerPool, "_worker", lambda worker_pool, number: made.append(worker(worker_pool, number)) or made[-1]
    )

    with pytest.raises(DataError):
        exam(tmp_path / "none.jsonl", tmp_path / "none.jsonl", tmp_path / "out")

    assert [one._process.poll() is not None for one in made] == [True]
    assert not any(Path(one._scratch).exists() for one in made)
