"""Benchmarks of every dialect are known by their content, and each bad row is named."""

import gzip
import json

import pytest
from support.exam_kit import problem, write_rows

from markbook.benchmarks.benchmark import find_fault, load_benchmark, without_faults
from markbook.errors import DataError, UsageError
from markbook.types import Test

HUMANEVAL = {
    "task_id": "HumanEval/0",
    "prompt": "def inc(x):\n    '''Add one.'''\n",
    "entry_point": "inc",
    "canonical_solution": "    return x + 1\n",
    "test": "def check(candidate):\n    assert candidate(1) == 2\n",
}
EVALPLUS = {
    "task_id": "HumanEval/0",
    "prompt": "def inc(x):\n",
    "entry_point": "inc",
    "canonical_solution": "    return x + 1\n",
    "base_input": [[1]],
    "plus_input": [[2], [3]],
    "atol": 0,
}
MBPP = {
    "task_id": 7,
    "text": "Add one.",
    "code": "def inc(x):\r\n    return x + 1",
    "test_setup_code": "",
    "test_list": ["assert inc(1) == 2"],
    "challenge_test_list": [],
}
SANITIZED = {
    "task_id": 7,
    "prompt": "Add one.",
    "code": "def inc(x): return x + 1",
    "test_imports": ["import math"],
    "test_list": ["assert inc(1) == 2"],
}


@pytest.mark.parametrize(
    ("row", "name", "task_id"),
    [
        (problem("a"), "codeeval", "a"),
        (HUMANEVAL, "humaneval", "HumanEval/0"),
        (EVALPLUS, "evalplus", "HumanEval/0"),
        (MBPP, "mbpp", "Mbpp/7"),
        (SANITIZED, "mbpp-sanitized", "Mbpp/7"),
    ],
)
def test_format_is_known_by_content(tmp_path, row, name, task_id):
    benchmark = load_benchmark(write_rows(tmp_path / "any.jsonl", [row]))

    assert (benchmark.format, benchmark.samples[0].id) == (name, task_id)


def test_codeeval_row_becomes_a_sample(tmp_path):
    tests = [{"ctx": "p = func(1)", "assertion": "p == 1"}, {"inspection": "yield from"}]
    row = problem("a", name="f", tests=json.dumps(tests), topic="generator", level=3)

    (sample,) = load_benchmark(write_rows(tmp_path / "b.jsonl", [row])).samples

    assert sample.tests == (Test(setup="p = func(1)", assertion="p == 1"), Test(inspection=("yield from",)))
    assert sample.meta == {"topic": "generator", "complexity": 3}
    assert (sample.problem_type, sample.is_program) == ("function", False)
    assert sample.source.endswith("b.jsonl:1")


def test_older_dialect_is_read(tmp_path):
    row = problem("a", tests=repr([{"assertion": 'func("x") == None'}, {"keyword": r"asyncio\.run"}]))

    (sample,) = load_benchmark(write_rows(tmp_path / "b.jsonl", [row])).samples

    assert sample.tests == (Test(assertion='func("x") == None'), Test(pattern=r"asyncio\.run"))
    assert sample.preloaded == ("json",)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"task_id": ""}, "'task_id' is empty"),
        ({"task_id": None}, "'task_id' is missing"),
        ({"canonical_solution": 3}, "'canonical_solution' is not a string"),
        ({"object": "method"}, "unknown object 'method': one of function, class, text"),
        ({"complexity": 4}, "unknown complexity 4: one of 1, 2, 3"),
        ({"complexity": True}, "unknown complexity True: one of 1, 2, 3"),
        ({"complexity": "2"}, "unknown complexity '2': one of 1, 2, 3"),
        ({"tests": "[{'assertion': open('x')}]"}, "'tests' is neither JSON nor a Python literal"),
        ({"tests": []}, "'tests' is empty"),
        ({"tests": {"assertion": "1"}}, "'tests' is not a list"),
        ({"tests": [{}]}, "test 1 has neither ctx, assertion nor inspection"),
        ({"tests": [{"assertion": 1}]}, "'assertion' of test 1 is not a string"),
        ({"tests": [[1]]}, "test 1 is not an object"),
        ({"tests": [{"ctxt": "x = 1", "assertion": "x == 1"}]}, "unknown key 'ctxt' of test 1: did you mean 'ctx'?"),
        ({"assertion": "func(1) == 1"}, "'assertion' is read in each of its 'tests', not here"),
    ],
)
def test_bad_row_is_named_and_the_others_stand(tmp_path, change, reason):
    path = write_rows(tmp_path / "b.jsonl", [problem("a"), {**problem("b"), **change}, problem("c")])

    benchmark = load_benchmark(path)

    assert [sample.id for sample in benchmark.samples] == ["a", "c"]
    (rejection,) = benchmark.rejections
    assert (rejection.at, rejection.reason) == (f"{path}:2", reason)


@pytest.mark.parametrize(("key", "wrong"), [("object", "objekt"), ("complexity", "complexty")])
def test_a_misspelt_key_is_named_before_its_value_is_missed(tmp_path, key, wrong):
    row = {wrong if name == key else name: value for name, value in problem("b").items()}
    path = write_rows(tmp_path / "b.jsonl", [problem("a"), row])

    (rejection,) = load_benchmark(path).rejections
    assert rejection.reason == f"unknown key {wrong!r}: did you mean {key!r}?"


def test_duplicate_task_id_is_refused_with_both_places(tmp_path):
    path = write_rows(tmp_path / "b.jsonl", [problem("a"), problem("b"), problem("a")])

    with pytest.raises(DataError, match=r"b\.jsonl:3: the task id 'a' stands twice; the other is at .*b\.jsonl:1"):
        load_benchmark(path)


def test_folder_is_read_in_name_order_and_gzip_too(tmp_path):
    write_rows(tmp_path / "b.jsonl", [problem("b")])
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(json.dumps(problem("a")).encode()))
    (tmp_path / "notes.txt").write_text("not data")
    write_rows(tmp_path / "deeper" / "c.jsonl", [problem("c")])

    assert [sample.id for sample in load_benchmark(tmp_path).samples] == ["a", "b"]


def test_folder_with_two_benchmarks_is_refused_with_their_names(tmp_path):
    write_rows(tmp_path / "mbpp.jsonl", [MBPP])
    (tmp_path / "sanitized.json").write_text(json.dumps([SANITIZED]))

    with pytest.raises(DataError, match=r"name one file: mbpp\.jsonl \(mbpp\), sanitized\.json \(mbpp-sanitized\)"):
        load_benchmark(tmp_path)


@pytest.mark.parametrize("content", ["", "\n\n", '{"x": 1}\n', "{broken\n"])
def test_nothing_valid_is_refused(tmp_path, content):
    (tmp_path / "b.jsonl").write_text(content)

    with pytest.raises(DataError, match="No valid benchmark problems found"):
        load_benchmark(tmp_path / "b.jsonl")


def test_missing_and_empty_folders_are_refused(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        load_benchmark(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"holds no \.jsonl file"):
        load_benchmark(tmp_path)


def test_unknown_format_is_answered_with_the_known_ones(tmp_path):
    path = write_rows(tmp_path / "b.jsonl", [problem("a")])

    with pytest.raises(UsageError, match="humaneval"):
        load_benchmark(path, "humanevil")


def test_mbpp_takes_the_modules_of_its_set_up_for_granted(tmp_path):
    (tmp_path / "s.json").write_text(json.dumps([SANITIZED]))

    (sample,) = load_benchmark(tmp_path / "s.json").samples

    assert sample.preloaded == ("math",)
    assert sample.tests[0].setup == "import math"
    assert sample.entry_point == "inc"


@pytest.mark.parametrize(
    ("test", "reason"),
    [
        (Test(assertion="1 +"), "the assertion does not parse"),
        (Test(setup="if"), "the ctx does not parse"),
        (Test(program="assert f("), "the program does not parse"),
        (Test(pattern="("), "the keyword is not a regular expression"),
        (Test(assertion=" 1 == 1 "), ""),
    ],
)
def test_fault_of_a_test_is_found_without_running_it(test, reason):
    assert find_fault(test).startswith(reason)
    assert bool(find_fault(test)) == bool(reason)


def test_benchmark_of_faults_alone_is_refused(tmp_path):
    benchmark = load_benchmark(write_rows(tmp_path / "b.jsonl", [problem("a", tests=[{"assertion": "1 +"}])]))

    with pytest.raises(DataError, match="no problem has a test that can be passed"):
        without_faults(benchmark)
