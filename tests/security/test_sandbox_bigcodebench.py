"""BigCodeBench's problems, functions tested by unittest: right in both directions, with and without a right answer."""

import ast
import gzip
import json
import warnings
from importlib.util import find_spec

import pytest

from markbook.sandbox import Job, Sandbox
from markbook.types import Limits, Sample, Test

RUN = """
_suite = unittest.defaultTestLoader.loadTestsFromTestCase(TestCases)
_result = unittest.TestResult()
_suite.run(_result)
assert _result.testsRun == {count}
assert not _result.failures + _result.errors, [text.splitlines()[-1] for _, text in _result.failures + _result.errors]
"""
LIMITS = Limits(seconds=60.0)
BROKEN = "    return None\n"
ONLINE = {"BigCodeBench/101", "BigCodeBench/1006"}
"""Their tests fetch from the network, where nothing of ours may go: a right answer fails them too."""

SLOW = {"BigCodeBench/0"}
"""A right answer takes eleven seconds a run: once is enough, and `make test` leaves that to `make test-all`."""


@pytest.fixture(scope="module")
def rows(shared_data, part):
    path = shared_data / "programs" / "bigcodebench.jsonl.gz"
    if not path.is_file():
        pytest.skip("BigCodeBench is not beside this checkout")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    usable = [row for row in found if all(map(find_spec, imported(row))) and (part.is_whole or row["id"] not in SLOW)]
    if not usable:
        pytest.skip(f"none of the packages that {len(found)} problems need is installed")
    return usable


def imported(row):
    """Return the packages that a row's solution and tests import."""
    names = set()
    for node in nodes(solution(row) + "\n" + row["test"]):
        if isinstance(node, ast.Import):
            names |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module.partition(".")[0])
    return names


def nodes(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some of its strings have escapes that Python warns of
        return list(ast.walk(ast.parse(text)))


def solution(row):
    return row["content"] + row["canonical_solution"]


def sample(row, *, canonical):
    count = sum(isinstance(node, ast.FunctionDef) and node.name.startswith("test") for node in nodes(row["test"]))
    return Sample(
        id=row["id"],
        tests=(Test(program=f"{row['test']}\nimport unittest\n{RUN.format(count=count)}"),),
        entry_point=json.loads(row["labels"])["entry_point"],
        references=(solution(row),) if canonical else (),
    )


def marked(rows, body=None, *, canonical):
    """Return the one test's result of each row, with its own body or this one."""
    jobs = [
        Job(row["id"], row["content"] + (body or row["canonical_solution"]), sample(row, canonical=canonical), LIMITS)
        for row in rows
    ]
    with Sandbox(isolation="weak") as box:
        return {job.key: outcome.tests[0] for job, outcome in box.run(jobs)}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("canonical", [True, False])
def test_canonical_solutions_pass(rows, canonical):
    left = ONLINE if canonical else ONLINE | SLOW
    found = marked([row for row in rows if row["id"] not in left], canonical=canonical)

    assert {key: (one.verdict.value, one.error_message) for key, one in found.items() if not one.passed} == {}
    assert found


@pytest.mark.slow
@pytest.mark.parametrize("canonical", [True, False])
def test_broken_solutions_fail(rows, canonical):
    found = marked(rows, BROKEN, canonical=canonical)

    assert [key for key, result in found.items() if result.passed] == []
    assert len(found) == len(rows)
