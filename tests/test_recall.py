"""Programs whose outcome is known already: from equal ones in this run, and on request from earlier runs."""

import os
from dataclasses import replace

import pytest
from exam_kit import hold, rows

from markbook.languages import find
from markbook.runs import recall
from markbook.runs.kind import Watcher

PROBLEMS = [
    {"task_id": "twice", "language": "bash", "tests": "set -e\n[[ $(twice 2) = 4 ]]\n"},
    {"task_id": "sum", "problem": "", "language": "bash", "tests": [{"stdin": "2 3\n", "stdout": "5"}]},
]
ANSWERS = {
    "right": ("twice() { echo $((2 * $1)); }\n", "read a b; echo $((a + b))\n"),
    "wrong": ("twice() { echo 3; }\n", "echo 6\n"),
    "torn": ("if\n", "if\n"),
}
ROWS = [
    {"task_id": problem["task_id"], "model": model, "candidate_solution": text}
    for model, texts in ANSWERS.items()
    for problem, text in zip(PROBLEMS, texts, strict=True)
]
SAID = "{} answers took the outcome that they had in an earlier run"


@pytest.fixture
def held(tmp_path):
    """Hold the exam; return what it says of kept outcomes, and every model's rows."""

    def hold_it(name, problems=PROBLEMS):
        lines = []

        class Lines(Watcher):
            def noted(self, line, *, topic=""):  # noqa: ARG002 - as the watcher has it
                lines.append(line)

        run = hold(tmp_path / name, problems, ROWS, watcher=Lines(), reuse_verdicts=True)
        return [line for line in lines if "earlier run" in line], [rows(run, model) for model in ANSWERS]

    return hold_it


def test_programs_take_the_outcome_that_they_had_in_an_earlier_run(held):
    first, second = held("one"), held("two")

    assert (first[0], second[0]) == ([], [SAID.format(6)])
    assert second[1] == first[1]
    assert [[row["score_zero"] for row in model] for model in second[1]] == [[100, 100], [0, 0], [0, 0]]


def test_other_tests_and_another_toolchain_are_run_anew(held, monkeypatch):
    held("one")
    stricter = [PROBLEMS[0], {**PROBLEMS[1], "tests": [*PROBLEMS[1]["tests"], {"stdin": "1 1\n", "stdout": "2"}]}]

    assert held("two", stricter)[0] == [SAID.format(3)]
    monkeypatch.setattr(recall, "identity", lambda tool: f"{tool.version} newer")
    assert held("three")[0] == []


def test_a_toolchain_is_another_one_once_its_commands_or_its_language_change(tmp_path):
    tool = find("bash")
    compiler = tmp_path / "bash"
    compiler.write_text("one", encoding="utf-8")
    moved = replace(tool, places=replace(tool.places, commands={"bash": str(compiler)}))
    before = recall.identity(moved)
    os.utime(compiler, ns=(1, 1))
    other = replace(tool, language=replace(tool.language, prelude="# more\n"))

    found = [recall.identity(tool), recall.identity(tool), recall.identity(other), before, recall.identity(moved)]

    assert found[0] == found[1]
    assert len(set(found[1:])) == 4
