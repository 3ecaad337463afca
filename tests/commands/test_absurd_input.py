"""Numbers too large to be any, halves of characters, and folders that hold nothing of use: a message or a missing value."""

import io
import json

import pytest
from rich.console import Console
from support import review_kit
from support.exam_kit import write_rows
from support.review_kit import markbook

from markbook.text import Table

BIG = 10**400
"""An integer that JSON can write and no float can be."""
TASK = (
    "name: demo\ndata: {path: rows.jsonl}\nprompt: 'Say {{ word }}.'\nreference: '{{ word }}'\nmetrics: [exact_match]\n"
)


def test_a_score_too_large_to_be_one_is_missing(tmp_path):
    rows = [{"item": at, "model": model, "score": BIG if at == 2 else at % 2} for at in range(6) for model in "ab"]
    write_rows(tmp_path / "t.jsonl", rows)

    code, out, err = markbook("compare", tmp_path / "t.jsonl", "--map", "item=item,model=model,score=score", "--json")

    assert code == 0, err
    assert [one["summary"]["n_missing"] for one in json.loads(out)["ranking"]] == [{"undefined": 1}] * 2


def test_marks_too_large_to_be_any_are_none_of_a_judge_and_refused_of_a_person(tmp_path):
    write_rows(tmp_path / "j.jsonl", [{"id": at, "score": BIG if at == 50 else at % 3 / 2} for at in range(60)])
    write_rows(tmp_path / "l.jsonl", [{"id": at, "label": None if at == 3 else at % 2} for at in range(20)])
    write_rows(tmp_path / "big.jsonl", [{"id": at, "label": BIG if at == 3 else at % 2} for at in range(20)])
    command = ("judge", "correct", "--judged", tmp_path / "j.jsonl", "--labels")

    code, out, err = markbook(*command, tmp_path / "l.jsonl", "--json")

    assert code == 0, err
    assert (json.loads(out)["items"], json.loads(out)["labels"], json.loads(out)["without_score"]) == (59, 19, 1)
    code, _, err = markbook(*command, tmp_path / "big.jsonl", "--json")
    assert (code, "big.jsonl:4: a label is 1000" in err) == (2, True), err


@pytest.mark.parametrize("where", ["prompt: 'Say {{ word }}.'", "name: demo"])
def test_half_a_character_in_a_task_is_refused_at_its_place(tmp_path, where):
    write_rows(tmp_path / "rows.jsonl", [{"word": "yes"}])
    write_rows(tmp_path / "said.jsonl", [{"prediction": "yes"}])
    key = where.partition(":")[0]
    (tmp_path / "t.yaml").write_text(TASK.replace(where, f'{key}: "\\uD800 {{{{ word }}}}"'))

    code, _, err = markbook("run", tmp_path / "t.yaml", "--predictions", tmp_path / "said.jsonl", "--output", tmp_path)

    assert code == 2
    assert "half a character" in err
    assert f"t.yaml:{TASK[: TASK.index(where)].count(chr(10)) + 1}:" in err


def test_a_folder_without_a_trace_of_any_paper_is_named(tmp_path):
    review_kit.papers(tmp_path)
    review_kit.reviews(tmp_path)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "other.json").write_text("{}")
    args = (
        "review",
        "--papers",
        tmp_path / "papers",
        "--reviews",
        tmp_path / "reviews.jsonl",
        "--similarity",
        "cosine",
    )

    empty, _, said = markbook(*args, "--traces", tmp_path / "logs", "--output", tmp_path / "o")
    code, _, file = markbook(*args, "--traces", tmp_path / "logs" / "other.json", "--output", tmp_path / "o")

    assert f"{tmp_path / 'logs'}: no trace is named after a reviewed paper, such as one.json" in said
    assert empty == 3
    assert "incomplete: tier3: no trace is named after a reviewed paper" in said
    assert code == 2
    assert "this is a file, and traces are a folder" in file


def test_traces_and_references_that_belong_to_no_review_are_named_beside_good_ones(tmp_path):
    review_kit.papers(tmp_path)
    review_kit.reviews(tmp_path)
    (tmp_path / "logs").mkdir()
    for name in ("one", "zzz"):
        (tmp_path / "logs" / f"{name}.json").write_text(json.dumps(review_kit.TRACE))
    (tmp_path / "tools.json").write_text('{"nope": {"calls": ["look"]}}')

    code, _, said = markbook(
        "review", "--papers", tmp_path / "papers", "--reviews", tmp_path / "reviews.jsonl", "--similarity", "cosine",
        "--traces", tmp_path / "logs", "--tool-reference", tmp_path / "tools.json", "--output", tmp_path / "o",
    )  # fmt: skip

    assert code == 0
    assert "named after no reviewed paper: zzz.json" in said
    assert "no reviewed paper belongs to the tool reference of nope" in said


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("{wrod: yes}", "no row has the field 'wrod' of `where` (did you mean 'word'?)"),
        ("{word: [yes, no]}", "'data.where.word' must be a single value, not a list"),
    ],
)
def test_a_row_selection_that_cannot_be_meant_is_said_in_a_line(tmp_path, where, told):
    write_rows(tmp_path / "rows.jsonl", [{"word": "yes"}, {"word": "no"}])
    write_rows(tmp_path / "said.jsonl", [{"prediction": "yes"}])
    (tmp_path / "t.yaml").write_text(TASK.replace("{path: rows.jsonl}", f"{{path: rows.jsonl, where: {where}}}"))

    code, _, err = markbook("run", tmp_path / "t.yaml", "--predictions", tmp_path / "said.jsonl", "--output", tmp_path)

    assert code == 2
    assert told in err
    assert len(err.splitlines()) == 1


def test_a_metrics_name_stays_whole_on_a_narrow_terminal_and_in_a_pipe(tmp_path):
    write_rows(tmp_path / "rows.jsonl", [{"word": "yes"}, {"word": "no"}])
    write_rows(tmp_path / "said.jsonl", [{"doc_id": 0, "prediction": "yes"}, {"doc_id": 1, "prediction": None}])
    (tmp_path / "t.yaml").write_text(TASK)
    _, out, _ = markbook("run", tmp_path / "t.yaml", "--predictions", tmp_path / "said.jsonl", "--output", tmp_path)
    narrow = Console(width=60, record=True, file=io.StringIO())
    cells = ("exact_match", "0.500", "[0.095, 0.905]", "wilson", "2 of 4", "2 undefined", "[0.250, 0.750]")
    narrow.print(
        Table("demo", ("metric", "value", "interval", "method", "scored", "missing", "bounds"), (cells,)).rich()
    )

    assert "exact_match" in out
    assert "exact_match" in narrow.export_text()
