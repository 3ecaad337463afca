"""Answers that exist already, in every shape that people keep them in."""

import json

import pytest

from markbook.datasets.predictions import find_file, read_answers
from markbook.errors import DataError
from markbook.types import Sample, TaskRow

SAMPLES = [Sample(id=name, row=TaskRow({}, place)) for place, name in enumerate(("a", "b", "c"))]


def write(folder, rows, name="p.jsonl"):
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def texts(answers):
    return {name: [each.text for each in several] for name, several in answers.attempts.items()}


def read(folder, rows, *, several=False, shared=False):
    return read_answers(write(folder, rows), "demo", SAMPLES, several=several, shared=shared)


@pytest.mark.parametrize(
    "rows",
    [
        [{"id": "a", "prediction": "1"}, {"id": "b", "prediction": "2"}, {"id": "c", "prediction": "3"}],
        [{"doc_id": 2, "text": "3"}, {"doc_id": 0, "text": "1"}, {"doc_id": 1, "text": "2"}],
        [{"prediction": "1"}, {"prediction": "2"}, {"prediction": "3"}],
        [
            {"doc_id": n, "doc": {}, "resps": [[str(n + 1)]], "filtered_resps": ["?"], "filter": "none"}
            for n in range(3)
        ],
        [{"doc_id": n, "filtered_resps": [str(n + 1)]} for n in range(3)],
        [
            {"id": "a", "completion": "1", "task": "demo"},
            {"id": "a", "completion": "9", "task": "other"},
            {"id": "b", "completion": "2"},
            {"id": "c", "completion": "3"},
        ],
    ],
)
def test_rows_are_matched_by_id_by_place_or_by_order(tmp_path, rows):
    assert texts(read(tmp_path, rows)) == {"a": ["1"], "b": ["2"], "c": ["3"]}


def test_columns_of_a_json_object_are_rows(tmp_path):
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"predictions": ["1", "2", "3"], "references": ["x", "y", "z"]}), encoding="utf-8")

    assert texts(read_answers(path, "demo", SAMPLES, several=False)) == {"a": ["1"], "b": ["2"], "c": ["3"]}


def test_a_key_without_a_name_is_not_the_rows_name(tmp_path):
    rows = [{"": number, "id": name, "prediction": name} for number, name in enumerate("cba")]

    assert texts(read(tmp_path, rows)) == {"a": ["a"], "b": ["b"], "c": ["c"]}


def test_several_answers_to_a_row_keep_their_order(tmp_path):
    rows = [
        {"id": "a", "prediction": ["1", "2"]},
        {"id": "b", "prediction": "x", "index": 1},
        {"id": "b", "prediction": "y", "index": 0},
    ]

    assert texts(read(tmp_path, rows, several=True)) == {"a": ["1", "2"], "b": ["y", "x"]}
    assert texts(read(tmp_path, [{"id": "a", "prediction": t} for t in "xyx"], several=True)) == {"a": ["x", "y", "x"]}


def test_a_second_answer_that_differs_is_refused_with_both_places(tmp_path):
    with pytest.raises(DataError, match=r"p\.jsonl:2: a second answer to 'a'.*p\.jsonl:1"):
        read(tmp_path, [{"id": "a", "prediction": "1"}, {"id": "a", "prediction": "2"}])


def test_a_second_answer_that_is_the_same_counts_once(tmp_path):
    found = read(tmp_path, [{"id": "a", "prediction": "1"}, {"id": "a", "prediction": "1"}])

    assert texts(found) == {"a": ["1"]}
    assert "it counts once" in found.warnings[0]


def test_the_rows_of_a_second_filter_pipeline_are_the_same_replies(tmp_path):
    rows = [{"doc_id": 0, "resps": [["1"]], "filter": name} for name in ("strict", "loose")]

    assert texts(read(tmp_path, rows, several=True)) == {"a": ["1"]}


def test_answers_to_rows_that_the_task_lacks_are_listed(tmp_path):
    found = read(tmp_path, [{"id": "a", "prediction": "1"}, {"id": "zz", "prediction": "1"}])

    assert found.unknown == [f"{tmp_path}/p.jsonl:2"]


def test_rows_without_ids_must_be_as_many_as_the_tasks(tmp_path):
    with pytest.raises(DataError, match="2 rows of answers without ids for 3 rows"):
        read(tmp_path, [{"prediction": "1"}, {"prediction": "2"}])


def test_a_row_without_an_id_beside_rows_with_one_is_left_out_by_its_place(tmp_path):
    found = read(tmp_path, [{"id": "a", "prediction": "1"}, {"predictions": ["2", "3"]}])

    assert texts(found) == {"a": ["1"]}
    assert [(row.at, "it does not say what it answers" in row.reason) for row in found.rejections] == [
        (f"{tmp_path}/p.jsonl:2", True)
    ]


@pytest.mark.parametrize(
    "row",
    [{"id": "a"}, {"id": "a", "prediction": 7}, {"id": 1.5, "prediction": "x"}, {"doc_id": "x", "prediction": ""}],
)
def test_a_row_without_a_usable_answer_is_rejected_and_the_rest_counts(tmp_path, row):
    found = read(tmp_path, [row, {"id": "b", "prediction": "2"}])

    assert texts(found) == {"b": ["2"]}
    assert found.rejections[0].at.endswith("p.jsonl:1")


def test_no_answer_at_all_is_an_error(tmp_path):
    with pytest.raises(DataError, match=r"p\.jsonl:1: no row holds an answer"):
        read(tmp_path, [{"id": "a"}])


def test_a_null_is_an_empty_answer_and_an_extracted_solution_wins(tmp_path):
    rows = [{"id": "a", "prediction": None}, {"id": "b", "extracted_solution": "", "completion": "x"}]

    found = read(tmp_path, rows)

    assert texts(found) == {"a": [""], "b": [""]}
    assert found.attempts["b"][0].meta["filtered"]


def test_a_file_for_several_tasks_must_name_them(tmp_path):
    rows = [{"id": "a", "prediction": "1", "task": "demo"}, {"id": "b", "prediction": "2"}]

    found = read(tmp_path, rows, shared=True)

    assert texts(found) == {"a": ["1"]}
    assert "names no `task`" in found.rejections[0].reason


@pytest.mark.parametrize(
    "name",
    [
        "demo.jsonl",
        "samples_demo.jsonl",
        "samples_demo_2026-01-02T03-04-05.678.jsonl",
        "model/samples_demo.jsonl",
        "demo.csv",
    ],
)
def test_a_folder_has_a_file_for_the_task(tmp_path, name):
    (tmp_path / "model").mkdir()
    path = write(tmp_path, [], name)
    write(tmp_path, [], "samples_demo_no_context_2026-01-02.jsonl")

    assert find_file(tmp_path, "demo", alone=False) == path


def test_two_files_that_could_be_meant_are_named(tmp_path):
    write(tmp_path, [], "samples_demo_2026-01-02.jsonl")
    write(tmp_path, [], "samples_demo_2026-01-03.jsonl")

    with pytest.raises(DataError, match="several files could be the answers to 'demo'"):
        find_file(tmp_path, "demo", alone=True)


def test_a_folder_with_one_file_needs_no_name_for_one_task(tmp_path):
    path = write(tmp_path, [], "any.jsonl")

    assert find_file(tmp_path, "demo", alone=True) == path
    assert find_file(tmp_path, "demo", alone=False) is None
    with pytest.raises(DataError, match="no such file"):
        find_file(tmp_path / "none", "demo", alone=True)


@pytest.mark.parametrize("depth", [100, 900])
def test_an_answer_in_lists_in_lists_is_a_row_that_holds_none(tmp_path, depth):
    path = write(tmp_path, [{"id": "a", "prediction": [["x"]]}, {"id": "c", "prediction": "y"}])
    with path.open("a") as file:
        file.write('{"id": "b", "prediction": ' + "[" * depth + '"x"' + "]" * depth + "}\n")

    answers = read_answers(path, "demo", SAMPLES, several=False)

    assert texts(answers) == {"a": ["x"], "c": ["y"]}
    assert [rejection.reason for rejection in answers.rejections] == [
        "an answer must be text, not lists in lists in lists"
    ]
