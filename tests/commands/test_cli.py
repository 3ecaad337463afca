"""The command line: one module a command, quick help, documented exit codes, clear messages."""

import contextlib
import importlib
import json
import re
import shlex
import subprocess
import sys

import pytest
from support import review_kit
from support.exam_kit import answer, problem, write_rows

import markbook
from markbook.cli import _COMMANDS, cli
from markbook.sandbox import scheduler

GOOD = "def f(x):\n    return x\n"


def run(*args, cwd="."):
    """Run the command line in this process, as `subprocess.run` would."""
    with contextlib.chdir(cwd):
        return subprocess.CompletedProcess(args, *review_kit.markbook(*args))


@pytest.fixture
def paper(tmp_path):
    return write_rows(tmp_path / "benchmark.jsonl", [problem("a"), problem("b")])


@pytest.fixture
def solutions(tmp_path):
    return write_rows(tmp_path / "gpt" / "rows.jsonl", [answer("a", GOOD)]).parent


def test_public_names_are_what_is_declared_and_can_be_had():
    assert markbook.__all__ == sorted(markbook.__all__)
    assert len(markbook.__all__) <= 20
    for name in markbook.__all__:
        assert getattr(markbook, name) is not None


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom markbook.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'scipy', 'pydantic', 'rich', 'jinja2', 'networkx', 'torch'} & set(sys.modules)\n"
        "print('heavy:', sorted(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.endswith("heavy: []\n")
    assert "markbook COMMAND --help" in done.stdout


@pytest.mark.parametrize("name", sorted(_COMMANDS))
def test_every_command_has_help(name):
    done = run(name, "--help")

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"Usage: markbook {name}")


def test_unknown_command_gets_a_suggestion():
    done = run("exma")

    assert done.returncode == 2
    assert "did you mean 'exam'" in done.stderr


def test_exam_prints_tables_and_paths(paper, solutions, tmp_path):
    exam = ["exam", "--benchmark", paper, "--solutions", solutions, "--output", tmp_path / "out", "--isolation", "weak"]
    done = subprocess.run([sys.executable, "-m", "markbook", *exam], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "50.0" in done.stdout
    assert str(tmp_path / "out" / "evaluation_") in done.stdout.replace("\n", "")
    assert "1/1 marked, 1 passed" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


def test_exam_json_is_json_alone_on_stdout(paper, solutions, tmp_path):
    done = run(
        "exam", "--benchmark", paper, "--solutions", solutions, "--output", tmp_path, "--isolation", "weak", "--json"
    )

    record = json.loads(done.stdout)
    assert record["models"]["gpt"]["scores"]["total"] == 50.0
    assert record["models"]["gpt"]["scores"]["statistics"]["total"]["n_missing"] == 1


def test_solutions_take_several_values_or_repeat(paper, tmp_path):
    folders = [write_rows(tmp_path / name / "r.jsonl", [answer("a", GOOD, name)]).parent for name in ("x", "y")]

    spread = run(
        "exam", "--benchmark", paper, "--solutions", *folders, "--output", tmp_path / "1", "--isolation=weak", "--json"
    )
    again = run(
        "exam", "--solutions", folders[0], "--benchmark", paper, "--solutions", folders[1],
        "--output", tmp_path / "2", "--isolation=weak", "--json",
    )  # fmt: skip

    assert list(json.loads(spread.stdout)["models"]) == list(json.loads(again.stdout)["models"]) == ["x", "y"]


def test_verbose_names_each_skipped_row(paper, tmp_path):
    path = write_rows(tmp_path / "rows.jsonl", [answer("a", GOOD), answer("zz", GOOD), {"task_id": "a"}])
    command = ("exam", "--benchmark", paper, "--solutions", path, "--output", tmp_path / "out", "--isolation", "weak")

    quiet, verbose = run(*command), run(*command, "--verbose")

    assert "skipped 1 answers to unknown tasks (--verbose names them)" in quiet.stderr
    assert "rows.jsonl:2: the benchmark has no task 'zz'" in verbose.stderr
    assert "rows.jsonl:3: neither candidate_solution" in verbose.stderr


@pytest.mark.parametrize(
    ("benchmark", "answers", "code", "message"),
    [
        ("nowhere", "gpt", 2, "the benchmark does not exist"),
        ("benchmark.jsonl", "nowhere", 2, "the solutions do not exist"),
        ("array.jsonl", "gpt", 2, "one JSON array, not JSON Lines"),
        ("twice.jsonl", "gpt", 2, "stands twice"),
        ("latin.jsonl", "gpt", 2, "not UTF-8"),
        ("benchmark.jsonl", "empty", 2, "holds no .jsonl file"),
        ("benchmark.jsonl", "other.jsonl", 2, "none of 1 answers match a task"),
    ],
)
def test_bad_input_is_explained_and_leaves_nothing(tmp_path, paper, solutions, benchmark, answers, code, message):
    (tmp_path / "array.jsonl").write_text(json.dumps([problem("a")], indent=2))
    write_rows(tmp_path / "twice.jsonl", [problem("a"), problem("a")])
    (tmp_path / "latin.jsonl").write_bytes(json.dumps(problem("a", topic="é"), ensure_ascii=False).encode("latin-1"))
    (tmp_path / "empty").mkdir()
    write_rows(tmp_path / "other.jsonl", [answer("zz", GOOD)])

    done = run("exam", "--benchmark", benchmark, "--solutions", answers, "--isolation", "weak", cwd=tmp_path)

    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "generated").exists()


def test_strict_refuses_with_65(paper, tmp_path):
    path = write_rows(tmp_path / "rows.jsonl", [answer("a", GOOD), answer("zz", GOOD)])

    done = run("exam", "--benchmark", paper, "--solutions", path, "--strict", "--isolation", "weak", cwd=tmp_path)

    assert done.returncode == 65
    assert "rows.jsonl:2" in done.stderr


@pytest.mark.parametrize(
    ("gate", "code"), [("gpt=0.4", 0), ("gpt=60%", 1), ("exam_score=0.6", 1), ("claude=0.1", 2), ("x", 2)]
)
def test_gate_decides_the_exit_code(paper, solutions, tmp_path, gate, code):
    done = run(
        "exam", "--benchmark", paper, "--solutions", solutions, "--output", tmp_path / "out", "--isolation", "weak",
        "--fail-under", gate,
    )  # fmt: skip

    assert done.returncode == code, done.stderr
    if code == 1:
        assert "gpt is " in done.stderr


def test_unwritable_output_is_73(paper, solutions, tmp_path):
    (tmp_path / "file").write_text("in the way")

    done = run(
        "exam",
        "--benchmark",
        paper,
        "--solutions",
        solutions,
        "--output",
        tmp_path / "file" / "x",
        "--isolation",
        "weak",
    )

    assert done.returncode == 73
    assert "the output cannot be written" in done.stderr


def test_check_benchmark_lists_what_fails(tmp_path):
    bad = problem("b", canonical="def f(x):\n    return 0\n")
    clock = problem("c", tests=[{"ctx": "import time", "assertion": "func(1) == 1"}, {"assertion": "func(2) == 2"}])
    path = write_rows(tmp_path / "benchmark.jsonl", [problem("a"), bad, clock])
    check = ["exam", "--benchmark", path, "--check-benchmark", "--isolation", "weak"]

    record = json.loads(run(*check, "--json").stdout)

    assert record["total"] == 3
    assert [(found["task_id"], found["kind"]) for found in record["problems"]] == [("b", "fails")]
    assert {label: count for label, count in record["verdicts"].items() if count} == {"separated": 3, "in_process": 1}
    assert record["separated_share"] == 3 / 4
    assert "75.0 % of tests separated, 1 in process)" in run(*check).stdout


def test_check_benchmark_hints_at_tests_that_a_constant_passes(tmp_path):
    rows = [
        problem("plain", tests=[{"assertion": "func(1) == 1"}, {"assertion": "func(2) == 2"}]),
        problem("zip", canonical="def f(n):\n    return [n]\n", tests=[{"assertion": "all(a == b for a, b in zip(func(4), [4]))"}]),
        problem("near", canonical="def f(n):\n    return n * n\n", tests=[{"assertion": "func(2) == 4"}, {"assertion": "not abs(func(3) - 9.0) > 1e-6"}]),
    ]  # fmt: skip
    path = write_rows(tmp_path / "benchmark.jsonl", rows)
    check = ["exam", "--benchmark", path, "--check-benchmark", "--isolation", "weak"]

    done = run(*check, "--json")
    record = json.loads(done.stdout)

    assert done.returncode == 0
    assert [(one["task_id"], one["answer"], one["tests"], one["total"]) for one in record["weak"]] == [
        ("zip", "''", [0], 1),
        ("near", "float('nan')", [1], 2),
    ]
    said = run(*check).stdout
    assert "hint: zip: an answer that always returns '' passes every test" in said
    assert "hint: near: an answer that always returns float('nan') passes tests 1" in said


@pytest.mark.parametrize("check", [["--check-benchmark"], []])
def test_an_interpreter_that_is_none_is_a_wrong_argument(tmp_path, check):
    path = write_rows(tmp_path / "benchmark.jsonl", [problem("a")])
    answers = write_rows(tmp_path / "model.jsonl", [{"task_id": "a", "completion": "def f(x):\n    return x\n"}])
    old = tmp_path / "old python"
    old.write_text("#!/bin/sh\necho '{\"release\": [3, 9]}'\n", encoding="utf-8")
    old.chmod(0o755)

    for interpreter, said in ((tmp_path / "nothing", "cannot be run as a Python"), (old, "is Python 3.9")):
        options = ["--isolation", "weak", "--python", interpreter, "--output", tmp_path / "out", *check]
        done = run("exam", "--benchmark", path, *([] if check else ["--solutions", answers]), *options)

        assert done.returncode == 2, done.stderr
        assert said in done.stderr
    assert not list((tmp_path / "out").glob("*/*.json"))


def test_demo_marks_the_bundled_exam(tmp_path, monkeypatch):
    monkeypatch.setattr(scheduler, "ADAPTIVE_LEAST", 0.3)  # what its endless answers use up
    done = run("demo", "--output", tmp_path / "out", "--isolation", "weak")

    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "out").iterdir()
    totals = {}
    for model in ("scholar-70b", "apprentice-13b", "novice-1b"):
        totals[model] = json.loads((folder / model / "test_results_score.json").read_text())["total"]
    assert totals["scholar-70b"] > totals["apprentice-13b"] + 15 > totals["novice-1b"] + 30
    kinds = json.loads((folder / "novice-1b" / "test_results_errors.json").read_text())["error_counts"]
    assert {"SyntaxError", "NameError", "TimeoutError", "NoCompletionError", "Error"} == set(kinds)
    assert "unchecked" not in done.stdout  # each pass of the example can be proved
    assert sorted(totals, key=done.stdout.index) == ["scholar-70b", "apprentice-13b", "novice-1b"]  # the best one first


def test_the_demos_own_command_can_be_copied_from_any_folder(tmp_path, monkeypatch):
    bundled = tmp_path / "my tools" / "exam"
    write_rows(bundled / "benchmark" / "lists.jsonl", [problem("a")])
    for model in ("scholar-70b", "apprentice-13b", "novice-1b"):
        write_rows(bundled / model / "solutions.jsonl", [answer("a", GOOD, model)])
    monkeypatch.setattr("markbook.installed.example", lambda _name: bundled)

    code, out, messages = review_kit.markbook("demo", "--output", tmp_path / "out", "--isolation", "weak")

    results, _, rest = out.partition("The same, written out:\n")
    assert re.search(r"scholar-70b\W+100\.0", results)
    assert "read " not in messages  # the files are named with --verbose alone
    said = shlex.split(rest.splitlines()[0])
    assert code == 0
    assert said[:4] == ["markbook", "exam", "--benchmark", str(bundled / "benchmark")]
    assert str(bundled / "novice-1b") in said


@pytest.mark.parametrize(
    ("args", "begun", "wanted"),
    [
        ([], "sco", ["score"]),
        (["score"], "rougeL", ["rougeL", "rougeLsum"]),
        (["score"], "bleu,edit_d", ["bleu,edit_distance"]),
        (["run"], "python_coding_c", ["python_coding_context_comparison"]),
        (["list"], "eng", ["engines"]),
        (["exam"], "--in-p", ["--in-process"]),
    ],
)
def test_a_shell_completes_commands_options_and_names(args, begun, wanted):
    from click.shell_completion import BashComplete

    importlib.import_module("markbook.cli.list")  # its name is one of Python's, too
    found = BashComplete(cli, {}, "markbook", "_MARKBOOK_COMPLETE").get_completions(args, begun)

    assert [item.value for item in found if item.type == "plain"] == wanted
