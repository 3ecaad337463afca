"""Away from Linux's own isolation, a run begins only where known programs get the marks that they deserve."""

import functools
import json
import os
from dataclasses import replace
from types import SimpleNamespace

import pytest
from support.exam_kit import answer, problem, rows, write_rows
from support.review_kit import markbook, papers, reviews

from markbook import programs
from markbook.errors import EnvironmentUnfitError
from markbook.programs import sandboxes
from markbook.runs.api import exam
from markbook.sandbox import Sandbox
from markbook.types import ErrorKind, Isolation, TestResult

GOOD = "def f(x):\n    return x\n"


def at_most(monkeypatch, level, box=Sandbox):
    """Let this machine look as if it had no layer above a level."""
    monkeypatch.setattr(sandboxes, "Sandbox", functools.partial(box, at_most=Isolation(level)))


class NothingPasses(Sandbox):
    """What a system is like that lacks something every solution needs."""

    def run(self, jobs_):
        for job, outcome in super().run(jobs_):
            failed = tuple(TestResult(passed=False) for _ in outcome.tests)
            lost = {"error": ErrorKind.OTHER, "error_type": "OSError", "error_message": "no such system call"}
            yield job, replace(outcome, tests=failed, **lost)


class EverythingPasses(Sandbox):
    """What a system is like whose failures are not seen."""

    def run(self, jobs_):
        for job, outcome in super().run(jobs_):
            yield job, replace(outcome, tests=tuple(TestResult(passed=True) for _ in outcome.tests), error=None)


@pytest.fixture
def files(tmp_path):
    benchmark = write_rows(tmp_path / "benchmark.jsonl", [problem("a"), problem("b")])
    solutions = write_rows(tmp_path / "answers.jsonl", [answer("a", GOOD), answer("b", "")])
    return benchmark, solutions


def command(files, tmp_path, *more):
    return markbook(
        "exam", "--benchmark", files[0], "--solutions", files[1], "--output", tmp_path / "out", "--isolation", "weak",
        *more,
    )  # fmt: skip


@pytest.mark.parametrize("level", ["C", "D"])
def test_a_lesser_machine_that_marks_rightly_may_mark(monkeypatch, tmp_path, files, level):
    at_most(monkeypatch, level)

    run = exam(*files, tmp_path / "out", isolation="weak", workers=1)

    assert run.manifest["isolation"] == level
    assert [row["all_tests_passed"] for row in rows(run)] == [True, False]


@pytest.mark.parametrize(("box", "words"), [(NothingPasses, "no such system call"), (EverythingPasses, "instead of 0")])
def test_a_machine_that_marks_wrongly_is_refused_before_anything_is_written(monkeypatch, tmp_path, files, box, words):
    at_most(monkeypatch, "D", box)

    code, _, err = command(files, tmp_path)

    assert code == 4
    assert "the sandbox marks wrongly here (isolation level D)" in err
    assert words in err
    assert not (tmp_path / "out").exists()


def test_gold_and_empty_are_what_is_tried():
    with Sandbox(workers=1, isolation="weak") as box:
        programs.check_marks(box)
    with NothingPasses(workers=1, isolation="weak") as box, pytest.raises(EnvironmentUnfitError) as refused:
        programs.check_marks(box)
    with EverythingPasses(workers=1, isolation="weak") as box, pytest.raises(EnvironmentUnfitError) as fooled:
        programs.check_marks(box)

    # Three right, three empty and four wrong programs: of the first sort none may fail, of the others none may pass.
    assert "3 of 10 known programs, first the right function" in str(refused.value)
    assert "7 of 10 known programs, first the empty function" in str(fooled.value)


@pytest.mark.parametrize(("platform", "checked"), [("linux", False), ("darwin", True), ("freebsd14", True)])
def test_other_systems_are_checked_at_every_level(monkeypatch, platform, checked):
    monkeypatch.setattr(programs, "sys", SimpleNamespace(platform=platform))
    seen = []
    monkeypatch.setattr(programs, "check_marks", seen.append)

    with Sandbox(workers=1, isolation="weak") as known:
        level = known.level
    with sandboxes.open_sandboxes("local", sandboxes.BoxSettings(workers=1, isolation="weak")) as box:
        assert seen == ([box] if checked or level > Isolation.B else [])


def test_a_system_without_fork_refuses_what_runs_programs_and_does_the_rest(monkeypatch, tmp_path, files):
    task = tmp_path / "task.yaml"
    task.write_text(
        'name: t\ndata: {path: rows.jsonl}\nprompt: "{{ q }}"\nreference: "{{ q }}"\nmetrics: [exact_match]\n'
    )
    coded = tmp_path / "coded.yaml"
    coded.write_text(
        'name: t\ndata: {path: rows.jsonl}\nprompt: "{{ q }}"\nreference: "{{ q }}"\n'
        "tests: t\nmetrics: [{name: pass_at_k, options: {k: [1]}}]\n"
    )
    (tmp_path / "rows.jsonl").write_text(json.dumps({"q": "a", "t": ["assert f(1) == 1"]}) + "\n")
    (tmp_path / "given.jsonl").write_text(json.dumps({"doc_id": 0, "prediction": "a"}) + "\n")
    monkeypatch.delattr(os, "fork")
    monkeypatch.setattr(programs, "sys", SimpleNamespace(platform="win32"))
    given = ("--predictions", tmp_path / "given.jsonl", "--output", tmp_path / "run")

    refused, _, err = command(files, tmp_path)
    graded = markbook("run", coded, *given)
    plain = markbook("run", task, *given)
    reviewed = markbook(
        "review", "--papers", papers(tmp_path), "--reviews", reviews(tmp_path), "--similarity", "cosine,jaccard",
        "--output", tmp_path / "review",
    )  # fmt: skip

    assert (refused, graded[0], plain[0], reviewed[0]) == (4, 4, 0, 0), (graded, plain, reviewed)
    assert "cannot be run on win32" in err
    assert not (tmp_path / "out").exists()
