"""`markbook schema NAME`: what a schema accepts is what the reader accepts, and every row that is written fits its schema."""

import json

import pytest
from support import review_kit
from support.command_kit import MAKERS
from support.exam_kit import answer, hold, problem
from support.fake_openai import FakeOpenAI
from support.review_kit import markbook, only_run

from markbook.benchmarks.answers import answers_schema
from markbook.benchmarks.assembly import find_text
from markbook.benchmarks.codeeval import CodeEval
from markbook.benchmarks.contests import StdinPrograms
from markbook.benchmarks.problems import RowError
from markbook.cli.schema import SCHEMAS
from markbook.config import native
from markbook.errors import ConfigError
from markbook.measurements import MissingRecord
from markbook.row_keys import CODE_KEYS
from markbook.runs.reviews.config_file import read_config
from markbook.text.schema import make_check

jsonschema = pytest.importorskip("jsonschema")
PROGRAM = {"task_id": "s", "problem": "Add.", "tests": [{"stdin": "1", "stdout": "1", "points": 2}], "time_limit": 2}


def validator(name):
    schema = json.loads(markbook("schema", name)[1])
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("name", list(SCHEMAS))
def test_each_is_a_schema(name):
    assert validator(name).schema["title"].startswith("Markbook")


def test_a_mistyped_name_is_answered_with_the_nearest():
    code, _, err = markbook("schema", "benchmrk")

    assert code == 2
    assert "there is no schema 'benchmrk' (did you mean 'benchmark'" in err


WRONG = [None, "", " ", 7, True, [], {}, ["x"], [{}], [{"assertion": 1}], [7]]


def read_by(reader, row):
    try:
        reader.to_sample(row, "x:1")
    except RowError:
        return False
    return True


@pytest.mark.parametrize(
    ("row", "reader"), [(problem("p"), CodeEval()), (PROGRAM, StdinPrograms())], ids=["codeeval", "programs"]
)
def test_the_schema_of_a_benchmark_accepts_no_row_that_the_reader_refuses(row, reader):
    """And the other way round but for what no schema can say: an expression in a text, a number in one."""
    held = validator("benchmark").schema["anyOf"][0 if isinstance(reader, CodeEval) else 1]
    check = jsonschema.Draft202012Validator(held)
    assert check.is_valid(row)
    assert read_by(reader, row)
    assert set(held["properties"]) == set(reader.keys)
    for key in held["properties"]:
        lacking = {name: value for name, value in row.items() if name != key}
        if not (isinstance(reader, StdinPrograms) and key == "task_id"):  # `id` would do as well
            assert check.is_valid(lacking) == read_by(reader, lacking), key
        for wrong in WRONG:
            changed = {**row, key: wrong}
            if read_by(reader, changed):
                assert check.is_valid(changed) or wrong in ("", " ", [], {}), (key, wrong)
            elif (key, str(wrong)) not in ACCEPTED:
                assert not check.is_valid(changed), (key, wrong)


ACCEPTED = {(key, str(wrong)) for key, wrongs in {
    "tests": ["", " ", [{}]], "task_id": ["", " ", None], "time_limit": ["", " "], "memory_limit_mb": ["", " "],
}.items() for wrong in wrongs}  # fmt: skip
"""What only the reader can tell: a text that holds no tests, an empty test, and the like."""


def test_the_schema_of_answers_has_every_key_that_is_read():
    check = validator("answers")
    for key in CODE_KEYS:
        row = {"task_id": "p", key: "x", "sample": 0}
        assert check.is_valid(row)
        assert find_text(row) == (key, "x")
    assert not check.is_valid({"task_id": "p", "answer": "x"})
    assert not check.is_valid({"task_id": "p", "candidate_solution": 7})
    assert not check.is_valid({"candidate_solution": "x"})
    assert answers_schema() == check.schema


CONFIGS = [
    ({"metrics_and_weights": {"planning_rational": 1}}, True),
    ({"metrics_and_weights": {"planing": 1}}, False),
    ({"metrics_and_weights": {"time_taken": -1}}, False),
    ({"tier1_traditional": {"similarity_metrics": ["cosine"], "tier1_weights": {"cosine": 1}}}, True),
    ({"tier1_traditional": {"similarity_metrics": ["cosin"]}}, False),
    ({"tier1_traditional": {"similarity_metrics": []}}, False),
    ({"tier2_llm_judge": {"timeout_seconds": 0}}, False),
    ({"tier2_llm_judge": {"timeout_seconds": 5, "weights": {"constructiveness": 1}}}, True),
    ({"tier3_graph": {"graph_weights": {"task_balance": 1}}}, True),
    ({"tier3_graph": {"graph_weights": {"balance": 1}}}, False),
    ({"evaluation_system": {"tiers_enabled": [1, 2]}}, True),
    ({"evaluation_system": {"tiers_enabled": [4]}}, False),
    ({"composite_scoring": {"fallback_strategy": "tier1_only", "recommendation_weights": {"accept": 2}}}, True),
    ({"composite_scoring": {"fallback_strategy": "guess"}}, False),
    ({"composite_scoring": {"recommendation_weights": {"perhaps": 2}}}, False),
    ({"unknown": {}}, False),
]


@pytest.mark.parametrize(("record", "is_good"), CONFIGS)
def test_the_schema_of_a_review_config_agrees_with_the_reader(tmp_path, record, is_good):
    path = tmp_path / "config_eval.json"
    path.write_text(json.dumps(record))
    try:
        read_config(path)
        was_read = True
    except ConfigError:
        was_read = False

    assert (was_read, validator("review").is_valid(record)) == (is_good, is_good)


def test_the_schema_of_a_review_config_states_no_default_and_no_name_twice():
    """What a file leaves out is decided by the profile, so a default here (a timeout of 1 s) would be a wrong one."""

    def walk(node):
        yield node
        for part in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
            yield from walk(part)

    nodes = [node for node in walk(validator("review").schema) if isinstance(node, dict)]
    enums = [node["enum"] for node in nodes if isinstance(node.get("enum"), list)]

    assert [node["default"] for node in nodes if "default" in node] == []
    assert sum("path_convergence" in names for names in enums) == 1
    assert all(len(names) == len(set(names)) for names in enums)


def test_the_schema_of_a_task_is_the_readers_own():
    assert validator("task").schema == native.json_schema()


def test_every_row_of_an_exam_fits_its_schema(tmp_path):
    tests = [{"assertion": "func(1) == 1"}, {"inspection": "return"}]
    problems = [
        problem("a", tests=tests),
        problem("b"),
        problem("c"),
        problem("t", kind="text", tests=[{"assertion": "text"}]),
    ]
    texts = ["def f(x):\n    return 2", "def f(x:", "", "x"]
    run = hold(tmp_path, problems, [answer(row["task_id"], text) for row, text in zip(problems, texts, strict=True)])

    rows = [json.loads(line) for line in run.lines("gpt/test_results.jsonl")]
    assert [list(validator("exam-result").iter_errors(row)) for row in rows] == [[]] * 4


@pytest.mark.parametrize("name", ["run", "review"])
def test_every_row_of_a_run_fits_its_schema(name, tmp_path):
    command = MAKERS[name](tmp_path)
    with FakeOpenAI(command.script) as command.server:
        assert command.run("--output", tmp_path / "out")[0] == 0

    rows = (only_run(tmp_path / "out") / "results.jsonl").read_text().splitlines()
    assert rows
    check = validator(f"{name}-result")
    assert [list(check.iter_errors(json.loads(row))) for row in rows] == [[]] * len(rows)
    assert review_kit.only_run(tmp_path / "out")


@pytest.mark.parametrize("kind", ["timeout", "no kind", [], {}, None])
def test_a_reason_of_another_kind_is_told_and_no_crash(kind):
    problem = make_check(MissingRecord)({"kind": kind, "detail": "d"})

    assert problem == (None if kind == "timeout" else ".kind")
