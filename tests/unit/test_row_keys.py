"""A row of answers means the same to `exam` and to `run`, whichever of the known keys it has."""

import pytest
from support.exam_kit import problem, write_rows
from support.paths import ROOT

from markbook.benchmarks.answers import load_answers
from markbook.benchmarks.benchmark import load_benchmark
from markbook.datasets.predictions import read_answers
from markbook.row_keys import CODE_KEYS, NAME_KEYS, NUMBER_KEYS, TEXT_KEYS, find_names, find_number
from markbook.types import Sample, TaskRow

CODE = ["def f(x):\n    return x\n", "def f(x):\n    return x + 0\n"]


@pytest.mark.parametrize(
    "keys",
    [
        [{"task_id": "a"}, {"task_id": "a"}],
        [{"sample_id": "a", "index": 0}, {"sample_id": "a", "index": 1}],
        [{"id": "a", "sample": 0}, {"id": "a", "sample": 1}],
        [{"task_id": "a", "sample_index": 0}, {"task_id": "a", "sample_index": 1}],
        [{"task_id": "a", "sample_id": 0}, {"task_id": "a", "sample_id": 1}],
        [{"task_id": "a", "sample_id": "a", "index": 0}, {"task_id": "a", "sample_id": "a", "index": 1}],
    ],
)
def test_exam_and_run_read_the_same_rows_alike(tmp_path, keys):
    paper = load_benchmark(write_rows(tmp_path / "paper.jsonl", [problem("a"), problem("b")]))
    rows = [{**row, "completion": text} for row, text in zip(keys, CODE, strict=True)]
    file = write_rows(tmp_path / "answers.jsonl", rows)
    samples = [Sample(id=name, row=TaskRow({}, place)) for place, name in enumerate("ab")]

    answers = load_answers([file], paper)
    examined = [(attempt.sample_id, attempt.text) for attempt in answers.attempts("answers")]
    predictions = read_answers(file, "demo", samples, several=True)

    assert examined == [("a", text) for text in CODE]
    assert [(attempt.sample_id, attempt.text) for attempt in predictions.attempts["a"]] == examined


def test_a_whole_number_as_sample_id_numbers_the_attempt_beside_a_task_id_only():
    assert (find_names({"task_id": "a", "sample_id": 2}), find_number({"task_id": "a", "sample_id": 2})) == (
        ["a"],
        ("sample_id", 2),
    )
    assert (find_names({"sample_id": 2}), find_number({"sample_id": 2})) == ([2], None)
    assert find_names({"id": "x", "task_id": "a"}, first="task_id") == ["a", "x"]
    assert find_names({"id": 3, "sample_id": 1}) == [3]
    assert find_names({"completion": "x"}) == []


def test_exam_and_run_take_a_row_that_failed_for_missing(tmp_path):
    paper = load_benchmark(write_rows(tmp_path / "paper.jsonl", [problem("a"), problem("b")]))
    rows = [
        {"task_id": "a", "completion": "", "error": "timeout"},
        {"task_id": "b", "completion": CODE[0], "error": ""},
    ]
    file = write_rows(tmp_path / "answers.jsonl", rows)
    samples = [Sample(id=name, row=TaskRow({}, place)) for place, name in enumerate("ab")]

    answers = load_answers([file], paper)
    examined = [attempt.sample_id for attempt in answers.attempts("answers")]
    predictions = read_answers(file, "demo", samples, several=False)

    assert examined == ["b"]
    assert [predictions.attempts[name][0].meta["absent"] for name in "ab"] == [True, False]


@pytest.mark.parametrize(
    ("row", "refused"),
    [
        ({"response": "A", "filtered_resps": ["B"]}, "'resps' and 'response'"),
        ({"completion": "A", "response": "B"}, "'completion' and 'response'"),
        ({"response": "it is B", "resps": [["it is B"]], "filtered_resps": ["C"]}, ""),
        ({"response": "it is B", "filtered_resps": ["B"]}, ""),
        ({"prediction": "B", "response": "the second"}, ""),
        ({"completion": "1", "completions": ["1", "2"]}, ""),
        ({"response": "A", "answer": "B", "solution": "C"}, ""),
    ],
)
def test_two_answers_in_a_row_are_refused_by_its_place(tmp_path, row, refused):
    samples = [Sample(id=name, row=TaskRow({}, place)) for place, name in enumerate("ab")]
    file = tmp_path / "answers.jsonl"
    write_rows(file, [{"id": "a", "prediction": "1"}, {"id": "b", **row}])

    rejections = read_answers(file, "demo", samples, several="completions" in row).rejections

    assert [(each.at.endswith("answers.jsonl:2"), refused in each.reason) for each in rejections] == [
        (True, True)
    ] * bool(refused)


@pytest.mark.parametrize(("solution", "count"), [("def f(x): return x + 1\n", 0), (f"import math\n{CODE[0]}", 1)])
def test_an_exam_leaves_out_a_row_with_two_solutions(tmp_path, solution, count):
    benchmark = load_benchmark(write_rows(tmp_path / "b.jsonl", [problem("a"), problem("b")]))
    rows = [{"task_id": "b", "completion": "x"}, {"task_id": "a", "completion": CODE[0], "solution": solution}]

    answers = load_answers([write_rows(tmp_path / "answers.jsonl", rows)], benchmark)
    examined = [attempt.sample_id for attempt in answers.attempts("answers")]

    assert examined == ["a", "b"][1 - count :]
    assert ["answers.jsonl:2" in each.at for each in answers.invalid.first] == [True] * (1 - count)


def test_a_column_without_a_name_names_nothing():
    assert find_names({"": 0, "task_id": "a"}) == ["a"]
    assert find_names({"": 0, "completion": "x"}, first="task_id") == []


def test_the_keys_stand_in_one_place():
    sources = {path: path.read_text(encoding="utf-8") for path in (ROOT / "src" / "markbook").rglob("*.py")}
    telling = {"sample_index", "gpt_solution", "generated_text", "extracted_solution"}

    assert telling <= {*CODE_KEYS, *TEXT_KEYS, *NAME_KEYS, *NUMBER_KEYS}
    lists = {path.name for path, source in sources.items() if any(f'"{key}",' in source for key in telling)}
    assert lists == {"row_keys.py"}
