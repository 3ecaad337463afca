"""The scripts that measure the suite: assertions counted, and changes of the product made."""

import ast
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.paths import ROOT

SCRIPTS = ROOT / "scripts"


def script(name):
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)  # where a dataclass is looked up
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def counter():
    yield script("count_assertions")
    del sys.modules["count_assertions"]


@pytest.fixture
def mutants():
    yield script("mutants")
    del sys.modules["mutants"]


def test_assertions_of_every_kind_are_counted(counter):
    text = (
        "assert a\nwith pytest.raises(E):\n    b\npytest.warns(W)\npytest.fail()\nnp.testing.assert_allclose(a, b)\n"
        "raises(E)\npytest.skip()\nc.fail()\n"
    )

    assert counter.count(text) == 5


def test_programs_of_a_corpus_are_not_counted(counter):
    assert [counter.is_ours(path) for path in ("tests/test_a.py", "tests/security/honest/a.py", "tests/a.txt")] == [
        True,
        False,
        False,
    ]


def test_a_moved_file_is_compared_with_itself_and_a_lost_one_with_nothing(counter):
    old = {"tests/test_a.py": 3, "tests/test_b.py": 2, "tests/test_c.py": 1}
    new = {"tests/unit/test_a.py": 2, "tests/test_b.py": 2}

    assert counter.follow_moves(old, new) == {"tests/unit/test_a.py": 3, "tests/test_b.py": 2, "tests/test_c.py": 1}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a < b", {"(a <= b)"}),
        ("a and b", {"((a) or (b))"}),
        ("not a", {"bool(a)"}),
        ("a + b", {"((a) - (b))"}),
        ("True", {"False"}),
        ("7", {"(7 + 1)"}),
        ("a if b else c", {"((c) if (b) else (a))"}),
        ("'text'", set()),
        ("a < b < c", set()),
    ],
)
def test_an_expression_becomes_another(mutants, text, found):
    assert set(mutants.changes(ast.parse(text, mode="eval").body)) == found


def test_every_change_leaves_a_module_that_can_be_read_and_is_drawn_the_same_again(mutants):
    drawn = mutants.drawn(2, "seed", ["stats", "text"])

    assert drawn == mutants.drawn(2, "seed", ["stats", "text"]) != mutants.drawn(2, "other", ["stats", "text"])
    assert [mutants.package_of(one.path) for one in drawn] == ["stats"] * 2 + ["text"] * 2
    for one in drawn:
        source = (mutants.ROOT / one.path).read_bytes()
        changed = source[: one.begin] + one.new.encode() + source[one.end :]
        assert source[one.begin : one.end].decode() == one.old
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source))


def test_what_runs_inside_the_sandbox_is_left_without_a_mark_that_nothing_would_see(mutants, tmp_path):
    one = mutants.mutants(mutants.GUEST / "scratch.py")[-1]

    assert mutants.mark({7: one}, tmp_path) == [7]


@pytest.mark.parametrize(
    ("line", "place"),
    [(1, None), (2, None), (3, (3, 4)), (4, (3, 4)), (5, (5, 8)), (6, (3, 4)), (7, (7, 8)), (9, (9, 4)), (10, (9, 4))],
)
def test_a_mark_stands_before_the_statement_that_evaluates_a_mutant(mutants, line, place):
    text = (
        "LIMIT = 3\ndef f(x=1):\n    if (x >\n            2):\n        x = 1\n    elif x < 3:\n        x = 2\n"
        "    y = 1; z = 2\n    return (x +\n            1)\n"
    )

    assert mutants.place_of_mark(mutants.Mutant(Path("a.py"), line, 0, 0, "", ""), text) == place


def test_a_mark_says_where_it_stands_and_changes_nothing_else(mutants, tmp_path, monkeypatch):
    path = Path("src/markbook/a.py")
    text = "def f(x):\n    if x:\n        return 1\n    return 2\n"
    for root in ("before", "after"):
        (tmp_path / root / path.parent).mkdir(parents=True)
        (tmp_path / root / path).write_text(text)
    monkeypatch.setattr(mutants, "ROOT", tmp_path / "before")
    reached = set()
    monkeypatch.setattr("builtins._reach", reached.add, raising=False)

    unmarked = mutants.mark(
        {3: mutants.Mutant(path, 3, 0, 0, "", ""), 7: mutants.Mutant(path, 4, 0, 0, "", "")}, tmp_path / "after"
    )
    names = {}
    exec((tmp_path / "after" / path).read_text(), names)

    assert unmarked == []
    assert (names["f"](1), reached) == (1, {3})
    assert (names["f"](0), reached) == (2, {3, 7})


def test_a_process_that_sets_its_own_path_has_the_changed_product(mutants, tmp_path):
    (tmp_path / "src/markbook").mkdir(parents=True)
    (tmp_path / "src/markbook/__init__.py").write_text("")
    (tmp_path / "src/markbook/cli.py").write_text("def main(): print('changed')")

    mutants.make_environment(tmp_path, Path(sys.prefix))

    done = subprocess.run(
        [".venv/bin/python", "-c", "import markbook, pytest; print(markbook.__file__)"],
        cwd=tmp_path, env={"PYTHONPATH": str(SCRIPTS)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == str(tmp_path / "src/markbook/__init__.py")
    assert subprocess.run([tmp_path / ".venv/bin/markbook"], capture_output=True, check=True).stdout == b"changed\n"


def test_an_unknown_package_is_refused(mutants):
    with pytest.raises(SystemExit, match="no such package: nothing"):
        mutants.drawn(1, "seed", ["nothing"])


def test_an_attempt_of_an_exam_passes_few_modules_and_types_and_is_graded_once():
    command = [sys.executable, str(SCRIPTS / "attempt_path.py"), "--json"]

    figures = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=300).stdout)

    assert figures["graded"] == 1
    assert figures["modules"] <= 20, figures["names"]["modules"]
    # From Python 3.13 on, the profiler also sees a record that is made and given back within one function.
    assert figures["types"] <= 14 + (sys.version_info >= (3, 13)), figures["names"]["types"]
    assert {"markbook.runs.exam.view", "markbook.sandbox.job"} < set(figures["names"]["modules"])
    assert {"Attempt", "Outcome", "Mark", "Summary"} < set(figures["names"]["types"])
