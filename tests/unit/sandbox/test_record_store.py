"""What a sandbox keeps for the next run."""

import ast
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

import markbook
from markbook.programs import verdict_cache
from markbook.sandbox import CacheFiles, Job, Sandbox
from markbook.sandbox.guest.examination.tasks import CompiledTests
from markbook.sandbox.job import may_be_remembered
from markbook.sandbox.record_store import RecordStore
from markbook.types import Limits, Outcome, Sample, Test

CODE = "def f(a):\n    return a + 1\n"
SAMPLE = Sample(
    id="one", tests=(Test(program="assert f(1) == 2\nassert f(2) == 3"),), entry_point="f", references=(CODE,),
)  # fmt: skip


def run(cache, *codes, sample=SAMPLE, **options):
    with Sandbox(workers=1, isolation="weak", cache=cache, **options) as box:
        outcomes = {job.key: found for job, found in box.run([Job(code, code, sample, Limits(5)) for code in codes])}
        return [outcomes[code] for code in codes], box


def rows(path):
    with closing(sqlite3.connect(path)) as base:
        return base.execute("SELECT count(*) FROM kept").fetchone()[0]


def test_a_plan_is_found_out_once(tmp_path, monkeypatch):
    cache = CacheFiles(plans=tmp_path / "new" / "plans")
    first, _ = run(cache, CODE)

    def refuse(*_, **__):
        raise AssertionError("the plan was there already")

    monkeypatch.setattr("markbook.sandbox.scheduler.Scheduler._calibrate", refuse)

    second, _ = run(cache, CODE)

    assert rows(cache.plans) == 1
    assert [test.verdict for test in second[0].tests] == ["separated"] == [test.verdict for test in first[0].tests]


def test_another_right_answer_needs_another_plan(tmp_path):
    cache = CacheFiles(plans=tmp_path / "plans")
    run(cache, CODE)

    run(cache, CODE, sample=Sample(**{**fields(SAMPLE), "references": (CODE + "\n",)}))

    assert rows(cache.plans) == 2


def test_an_outcome_is_reused_where_everything_is_the_same(tmp_path):
    cache = CacheFiles(verdicts=tmp_path / "verdicts")
    wrong = "def f(a):\n    return 2"
    before, box = run(cache, CODE, wrong)
    assert box.reused == 0

    after, box = run(cache, CODE, wrong, CODE + "# new")

    assert box.reused == 2
    assert after[:2] == before
    assert [found.passed for found in after] == [1, 0, 1]


@pytest.mark.parametrize("other", [{"separate": False}, {"adaptive": True}])
def test_an_outcome_is_not_reused_for_another_way_of_running(tmp_path, other):
    cache = CacheFiles(verdicts=tmp_path / "verdicts")
    run(cache, CODE)

    _, box = run(cache, CODE, **other)

    assert box.reused == 0


def test_what_ran_into_the_wall_clock_is_run_again(tmp_path):
    cache = CacheFiles(verdicts=tmp_path / "verdicts")
    sleeps = "import time\ntime.sleep(60)\n"
    sample = Sample(id="two", tests=(Test(program="pass"),))
    with Sandbox(workers=1, isolation="weak", cache=cache) as box:
        ((_, found),) = box.run([Job("", sleeps, sample, Limits(1.0, wall_seconds=1.0))])

    assert found.limit == "wall"
    assert rows(cache.verdicts) == 0


@pytest.mark.parametrize("bad", ["a folder", "not a database"])
def test_a_file_that_is_none_costs_only_time_and_is_named(tmp_path, bad, caplog):
    path = tmp_path / "plans"
    if bad == "a folder":
        path.mkdir()
    else:
        path.write_text("no database" * 1000)

    found, _ = run(CacheFiles(plans=path, verdicts=path), CODE)

    assert found[0].passed == 1
    assert f"{path} cannot be used" in caplog.text


def fields(sample):
    return {name: getattr(sample, name) for name in type(sample).__dataclass_fields__}


def test_two_runs_use_the_file_at_once(tmp_path, caplog):
    first, second = RecordStore(tmp_path / "plans.sqlite"), RecordStore(tmp_path / "plans.sqlite")
    first.put("a", {"n": 1})
    second.put("b", {"n": 2})
    assert (first.get("a"), second.get("b"), second.get("a")) == ({"n": 1}, {"n": 2}, None)
    second.close()
    first.close()

    third = RecordStore(tmp_path / "plans.sqlite")
    assert (third.get("a"), third.get("b")) == ({"n": 1}, {"n": 2})
    third.close()
    assert not caplog.records


@pytest.mark.parametrize(
    ("change", "kept"),
    [({}, True), ({"limit": "cpu"}, True), ({"limit": "wall"}, False), ({"limit": "processes"}, False), ({"limit": "file"}, False),
     ({"flags": ("crash",)}, False), ({"benchmark_fault": "broken"}, False)],
)  # fmt: skip
def test_what_hung_on_the_machine_or_the_tests_is_remembered_nowhere(change, kept):
    assert may_be_remembered(replace(Outcome(()), **change)) is kept


def compiled_tests(program):
    return CompiledTests(
        json.dumps({"object": "program", "name": "f", "tests": [{"program": program}]})
    ).compiled_text()


@pytest.mark.parametrize(
    ("compiled", "passed"),
    [
        (compiled_tests("assert f(1) == 3\nassert f(2) == 4"), 0),  # shows that what is kept is what runs
        ("", 1),
        ("00", 1),
        ("not a number", 1),
        (compiled_tests("assert f(1) == 3")[:40], 1),
    ],
    ids=["of others", "nothing", "damaged", "no bytes", "cut off"],
)
def test_tests_are_compiled_once_and_anew_where_what_was_kept_is_damaged(tmp_path, compiled, passed):
    cache = CacheFiles(plans=tmp_path / "plans")
    run(cache, CODE)
    with closing(sqlite3.connect(cache.plans)) as base, base:  # the inner one commits
        key, text = base.execute("SELECT key, record FROM kept").fetchone()
        record = json.loads(text)
        base.execute("UPDATE kept SET record = ? WHERE key = ?", (json.dumps({**record, "compiled": compiled}), key))

    later, _ = run(cache, CODE)

    assert bytes.fromhex(record["compiled"]).count(b"__markbook_part__") > 0
    assert (later[0].passed, [test.verdict for test in later[0].tests]) == (passed, ["separated"])


TASKS = [
    {"tests": [{"program": "import random\nassert f(random.randint(1, 2)) == f(1)\nfor a in f(3):\n    assert a\n"}]},
    {"tests": [{"setup": "a = 1", "assertion": "f(a) == 2"}, {"program": "assert f(1) ==="}, {"program": "f(1)"}]},
    {"tests": [{"pattern": "a+b", "inspection": ["lambda"]}, {"pattern": "("}], "object": "function"},
    {
        "tests": [{"program": "import os\nassert os.getcwd() == f()"}],
        "prompt": "def g(a):\n    return a\n\ndef f(a):\n",
    },
]


@pytest.mark.parametrize("spec", TASKS)
def test_what_an_examiner_has_compiled_tells_the_next_all_that_compiling_does(spec):
    text = json.dumps({"object": "program", "name": "f", **spec})
    first = CompiledTests(text)

    second = CompiledTests(text, first.compiled_text())

    assert vars(second) == vars(first)
    assert second.compiled_text() == first.compiled_text() != ""


SOURCES = Path(markbook.__file__).parent
KEEPS_VERDICTS = {"sandbox/scheduler.py", "programs/verdict_cache.py", "serve/pool.py"}
"""All modules that cache outcomes for later jobs."""


def test_all_that_keep_verdicts_ask_one_rule():
    users = {
        path.relative_to(SOURCES).as_posix()
        for path in SOURCES.rglob("*.py")
        if "may_be_remembered(" in path.read_text(encoding="utf-8")
    }

    assert users == KEEPS_VERDICTS | {"sandbox/job.py"}


def test_no_second_list_says_which_limits_are_the_machines():
    """A copy of the rule would name the wall clock and the processes together, as the one in `sandbox/job.py` does."""
    lists = [
        path.relative_to(SOURCES).as_posix()
        for path in sorted(SOURCES.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Tuple | ast.List | ast.Set)
        and {"wall", "processes"} <= {item.value for item in node.elts if isinstance(item, ast.Constant)}
    ]

    assert lists == ["sandbox/job.py"]


def test_what_a_verdict_depends_on_are_packages_that_there_are():
    assert "programs" in verdict_cache._OURS
    assert [name for name in verdict_cache._OURS if not (SOURCES / name / "__init__.py").is_file()] == []
