"""Programs whose outcome is known already: from equal ones in this run, and on request from earlier runs."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest
from support.exam_kit import hold, rows

from markbook.languages import find
from markbook.programs import verdict_cache
from markbook.runs.kind import Watcher

PROBLEMS = {
    "linked": {"task_id": "a", "language": "bash", "tests": "set -e\n[[ $(twice 2) = 4 ]]\n"},
    "stdin": {"task_id": "a", "problem": "", "language": "bash", "tests": [{"stdin": "2 3\n", "stdout": "5"}]},
}
ANSWERS = {
    "linked": ("twice() { echo $((2 * $1)); }\n", "twice() { echo 3; }\n", "if\n"),
    "stdin": ("read a b; echo $((a + b))\n", "echo 6\n", "if\n"),
}
SAID = "3 answers took the outcome that they had in an earlier run"


@pytest.fixture
def held(tmp_path, monkeypatch):
    """Hold an exam in a cache of the test's own; return what it says of kept outcomes, and every model's row."""
    monkeypatch.setenv("MARKBOOK_CACHE", str(tmp_path / "cache"))

    def hold_it(name, kind, **more):
        lines = []

        class Lines(Watcher):
            def on_note(self, line, *, topic=""):
                lines.append(line)

        answers = [
            {"task_id": "a", "model": f"m{number}", "candidate_solution": text}
            for number, text in enumerate(ANSWERS[kind])
        ]
        run = hold(tmp_path / name, [{**PROBLEMS[kind], **more}], answers, watcher=Lines(), reuse_verdicts=True)
        return [line for line in lines if "earlier run" in line], [rows(run, f"m{number}")[0] for number in range(3)]

    return hold_it


@pytest.mark.parametrize("kind", PROBLEMS)
def test_programs_take_the_outcome_that_they_had_in_an_earlier_run(held, kind):
    first, second = held("one", kind), held("two", kind)

    assert (first[0], second[0]) == ([], [SAID])
    assert second[1] == first[1]
    assert [row["score_zero"] for row in second[1]] == [100, 0, 0]


def test_other_tests_and_another_toolchain_are_run_anew(held, monkeypatch):
    held("one", "stdin")
    tests = [*PROBLEMS["stdin"]["tests"], {"stdin": "1 1\n", "stdout": "2"}]

    assert held("two", "stdin", tests=tests)[0] == []
    monkeypatch.setattr(verdict_cache, "identity", lambda tool: f"{tool.version} newer")
    assert held("three", "stdin")[0] == []


def test_a_toolchain_is_another_one_once_its_commands_or_its_language_change(tmp_path):
    tool = find("bash")
    compiler = tmp_path / "bash"
    compiler.write_text("one", encoding="utf-8")
    moved = replace(tool, places=replace(tool.places, commands={"bash": str(compiler)}))
    before = verdict_cache.identity(moved)
    os.utime(compiler, ns=(1, 1))
    other = replace(tool, language=replace(tool.language, prelude="# more\n"))

    found = [
        verdict_cache.identity(tool),
        verdict_cache.identity(tool),
        verdict_cache.identity(other),
        before,
        verdict_cache.identity(moved),
    ]

    assert found[0] == found[1]
    assert len(set(found[1:])) == 4


def test_a_toolchain_has_one_name_in_every_process():
    code = "from markbook.languages import find, language; from markbook.programs.verdict_cache import identity; from dataclasses import replace; "
    code += "print(identity(replace(find('bash'), language=language('cpp'))))"
    found = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in "12"
    }

    assert len(found) == 1
