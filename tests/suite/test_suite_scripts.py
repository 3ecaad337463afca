"""The scripts that measure the suite: assertions counted, and changes of the product made."""

import ast
import importlib.util
import json
import subprocess
import sys

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


def test_an_unknown_package_is_refused(mutants):
    with pytest.raises(SystemExit, match="no such package: nothing"):
        mutants.drawn(1, "seed", ["nothing"])


def test_an_attempt_of_an_exam_passes_few_modules_and_types_and_is_graded_once():
    command = [sys.executable, str(SCRIPTS / "attempt_path.py"), "--json"]

    figures = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=300).stdout)

    assert figures["graded"] == 1
    assert figures["modules"] <= 20, figures["names"]["modules"]
    # From Python 3.14 on, the profiler also sees a record that is made and given back within one function.
    assert figures["types"] <= 14 + (sys.version_info >= (3, 14)), figures["names"]["types"]
    assert {"markbook.runs.exam.view", "markbook.sandbox.job"} < set(figures["names"]["modules"])
    assert {"Attempt", "Outcome", "Mark", "Summary"} < set(figures["names"]["types"])
