"""Rules that stand in one place: what is a right attempt, how an error reads, pass@k and pass^k, and one grade an attempt."""

import inspect
import re
from dataclasses import fields
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.exam_kit import answer, hold, problem
from support.paths import ROOT

import markbook
from markbook.cli import cli
from markbook.model.generator import model_generator
from markbook.option import JUDGE_PATIENCE, PATIENCE
from markbook.runs.exam import grading, view, work
from markbook.runs.exam.grading import mark
from markbook.runs.options import AskingOptions
from markbook.runs.pass_at_k import pass_at_k
from markbook.runs.reviews.config import ReviewConfig
from markbook.runs.tasks.grading import read_tested
from markbook.stats import pass_at_k as estimate, passes
from markbook.types import Attempt, ErrorKind, Item, Outcome, Sample, Test, TestResult, Verdict

SOURCES = Path(markbook.__file__).parent
PASSED, FAILED = TestResult(True, Verdict.SEPARATED), TestResult(False, Verdict.SEPARATED)
FLAGGED = TestResult(False, Verdict.FLAGGED)
OUTCOMES = {
    "all pass": (Outcome((PASSED, PASSED)), True),
    "one fails": (Outcome((PASSED, FAILED)), False),
    "one is flagged": (Outcome((PASSED, FLAGGED)), False),
    "flagged, though it says passed": (Outcome((TestResult(True, Verdict.FLAGGED),)), False),
    "no tests": (Outcome(()), False),
    "an error beside tests that pass": (Outcome((PASSED,), error=ErrorKind.TIMEOUT), False),
}


@pytest.mark.parametrize("name", OUTCOMES)
def test_exam_task_and_pass_at_k_agree_on_what_is_right(name):
    outcome, is_right = OUTCOMES[name]
    sample = Sample("a", tests=tuple(Test(program="x") for _ in outcome.tests) or (Test(program="x"),))

    (measured,) = pass_at_k().measure([Item(sample, Attempt("a", "x"), outcome)])

    assert outcome.is_right is is_right
    assert mark(sample, outcome).all_passed is is_right
    assert read_tested(outcome).passed is is_right
    assert measured.value == float(is_right)


@pytest.mark.parametrize(
    ("error_type", "message", "words"),
    [("TypeError", "no", "TypeError: no"), ("TypeError", "", "TypeError"), ("", "no", "no"), ("", "", "")],
)
def test_an_error_reads_as_its_type_and_its_message(error_type, message, words):
    assert Outcome((), error_type=error_type, error_message=message).error_words == words


def test_pass_hat_k_is_the_chance_that_none_of_k_fails():
    # 3 of 5 are right: of the 10 pairs 3 have two right ones.
    assert passes.pass_hat_k([(5, 3)], 2) == 0.3
    assert passes.pass_hat_k([(5, 3)], 6) is None
    assert passes.pass_hat_k([(5, 3)], 2) == pytest.approx(1 - estimate(5, 2, 2).value)


@pytest.mark.parametrize(
    ("rule", "pattern", "places"),
    [
        ("a right attempt", r"all\([^\n]*\.passed and [^\n]*FLAGGED", {"types.py"}),
        ("an error in words", r"error_type\}: \{\w+\.error_message|join\([^\n]*error_type", set()),
        ("pass@k and pass^k", r"math\.comb\(", {"stats/passes.py"}),
    ],
)
def test_a_rule_has_one_place(rule, pattern, places):
    found = {
        path.relative_to(SOURCES).as_posix()
        for path in SOURCES.rglob("*.py")
        if re.search(pattern, path.read_text(encoding="utf-8"))
    }

    assert found == places, rule


def test_an_attempt_is_graded_once_when_it_has_run(tmp_path, monkeypatch):
    grades = []
    for module in (work, view, grading):
        monkeypatch.setattr(module, "mark", lambda *args: grades.append(args) or mark(*args))

    hold(
        tmp_path,
        [problem("a"), problem("b")],
        [answer(name, f"def f(x):\n    return {n}", sample=n) for n in (1, 2) for name in "ab"],
    )

    assert len(grades) == 4  # documented files, timings, page and scores take the grade with the attempt


def test_code_and_pages_agree_on_how_patiently_a_model_is_asked():
    patience, page = PATIENCE, (ROOT / "docs" / "generation.md").read_text("utf-8")
    defaults = {name: each.default for name, each in inspect.signature(model_generator).parameters.items()}
    names = {"concurrency": "concurrency", "retries": "retries", "seconds": "request_seconds"}
    options = {field.name: field.default for field in fields(AskingOptions)}

    for name, option in names.items():
        assert getattr(patience, name) == defaults[name] == options[option]
    assert [re.search(rf"`--{flag}` \| (\S+) ", page)[1] for flag in ("concurrency", "retries", "request-timeout")] == [
        f"{getattr(patience, name):g}" for name in names
    ]


def test_code_and_pages_agree_on_how_patiently_a_judge_is_asked():
    page, config = (ROOT / "docs" / "judge.md").read_text("utf-8"), ReviewConfig()

    assert (config.max_retries, config.judge_seconds) == (JUDGE_PATIENCE.retries, JUDGE_PATIENCE.seconds)
    assert f"`--judge-retries {JUDGE_PATIENCE.retries}`" in page
    assert f"`--judge-timeout {JUDGE_PATIENCE.seconds:g}`" in page
    for command, words in (
        ("review", r"judgement\s+\(default\s+(\d+)\)"),
        ("run", r"judgement\s+\[default:\s+(\d+)\]"),
    ):
        help_text = CliRunner().invoke(cli, [command, "--help"], env={"COLUMNS": "200"}).output
        assert re.findall(words, help_text) == [str(JUDGE_PATIENCE.retries)]
