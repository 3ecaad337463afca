"""Corners of reports: names that fall together, numbers that are long, what a reader must not be told."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from support.load import PATIENCE
from support.made_files import review_row, review_run, task_row, task_run

from markbook import open_run
from markbook.cli import cli
from markbook.report.exports import write_report
from markbook.report.formats import _clean_names
from markbook.report.html import highlight
from markbook.report.run_index import Index
from markbook.report.run_pages import Side, compare_page, matrix_page
from markbook.results.files import flat_rows
from markbook.results.kind import Shown, open_results


def run_cli(*args):
    return CliRunner().invoke(cli, [str(arg) for arg in args], catch_exceptions=True)


def task(folder, answers, extra=""):
    rows = [{"q": f"What {at}?", "a": "alpha"} for at in range(len(answers))]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "t.yaml").write_text(
        "name: t\ndata: {path: rows.jsonl}\nprompt: '{{ q }}'\nreference: '{{ a }}'\nmetrics: [exact_match]\n" + extra
    )
    said = [{"doc_id": at, "prediction": text} for at, text in enumerate(answers)]
    (folder / "said.jsonl").write_text("".join(json.dumps(row) + "\n" for row in said))
    result = run_cli("run", folder / "t.yaml", "--predictions", folder / "said.jsonl", "--output", folder / "run")
    assert result.exit_code in (0, 3), result.output
    return next((folder / "run").glob("*/run.json")).parent


def test_instances_hold_what_was_asked_and_said_and_the_reference_apart(tmp_path):
    reply = "Sure! Here it is:\n```python\nx = 5\n```"
    run = task(tmp_path, [reply], "system: Be brief.\nextract: code\n")
    assert run_cli("report", run, "--format", "every-eval-ever", "--output", tmp_path / "out").exit_code == 0

    (path,) = (tmp_path / "out" / "every_eval_ever").glob("*.jsonl")
    (line,) = map(json.loads, path.read_text().splitlines())

    assert line["input"] == {"raw": "Be brief.\n\nWhat 0?", "reference": ["alpha"]}
    assert line["output"] == {"raw": [reply]}


def test_names_that_a_tracker_writes_alike_keep_their_numbers():
    found = _clean_names({"模型/score": 0.9, "数据/score": 0.1, "a:b/score": 0.5, "a_b/score": 0.2, "c": 0.3})

    assert sorted(found.values()) == [0.1, 0.2, 0.3, 0.5, 0.9]
    assert found["c"] == 0.3


def test_a_key_with_a_dot_costs_no_other_value():
    (row,) = flat_rows([{"doc": {"a.b": 1, "a": {"b": 2}}}])

    assert sorted(row.values()) == [1, 2]


def test_long_integers_keep_their_digits_in_parquet(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    docs = [{"big": 10**30, "mixed": 9007199254740993, "plain": 1}, {"big": 1, "mixed": 0.5, "plain": 0.5}]
    run = task_run(tmp_path / "task", [task_row(at, 0.5) | {"doc": doc} for at, doc in enumerate(docs)])

    (path,) = write_report(run, "parquet", tmp_path / "out")
    rows = parquet.read_table(path).to_pylist()

    assert [row["doc.big"] for row in rows] == [str(10**30), "1"]
    assert [row["doc.mixed"] for row in rows] == ["9007199254740993", "0.5"]
    assert [row["doc.plain"] for row in rows] == [1.0, 0.5]


def index_of(path):
    index = Index(open_results(open_run(path)))
    index.start()
    index.wait(10**9, PATIENCE)
    return index


def test_the_matrix_says_how_many_models_it_leaves_out(tmp_path):
    path = tmp_path / "marks.csv"
    lines = [f"q{item},m{model:02},{(item + model) % 2}" for item in range(2) for model in range(14)]
    path.write_text("item,model,score\n" + "\n".join(lines) + "\n")

    assert "The best 12 of 14 models are shown" in matrix_page(index_of(path), 0, "marks", {})


def side(text):
    return Side(0, 0, Shown("m", "q", "scored", (), "", text, ""))


def test_answers_that_differ_behind_what_is_compared_are_not_called_the_same():
    same = "line\n" * 2_000
    assert "The two answers are the same" not in compare_page([side(same + "right"), side(same + "WRONG")])
    assert "The first 2,000 lines are the same" in compare_page([side(same + "right"), side(same + "WRONG")])
    assert "The two answers are the same" in compare_page([side(same + "right"), side(same + "right")])


def test_answers_that_are_cut_before_they_differ_are_not_called_the_same(tmp_path):
    path = tmp_path / "marks.csv"
    path.write_text("item,model,score,output\n" + "".join(f"q,{model},1,{'a' * 9_000}{model}\n" for model in "AB"))
    index = index_of(path)
    shown = [Side(0, at, index.results.show_attempt(at)) for at in range(2)]

    page = compare_page(shown)

    assert "The two answers are the same" not in page
    assert "The shown parts of the two answers are the same; text after the … was not compared." in page


@pytest.mark.parametrize("sign", ["\x1b", "\u202e"])
def test_no_chart_holds_signs_that_control(tmp_path, sign):
    path = tmp_path / "marks.csv"
    lines = [f"q{item},{model},{item % 2}" for item in range(4) for model in "AB"]
    path.write_text(f"item,model,sc{sign}o<re\n" + "\n".join(lines) + "\n")
    result = run_cli("site", path, "--map", f"item=item,model=model,score=sc{sign}o<re", "-o", tmp_path / "pub")

    assert result.exit_code == 0, result.exception
    pages = [page.read_text() for page in (tmp_path / "pub").rglob("*.html")]
    assert pages
    assert not any(sign in page for page in pages)


@pytest.mark.parametrize(("code", "shown"), [
    ("x = 'a'", 'x = <span class="s">&#x27;a&#x27;</span>'),
    ("don't <b>", "don&#x27;t &lt;b&gt;"),
    ('"""open', '<span class="s">&quot;&quot;&quot;open</span>'),
    ("'''open \\", "open"),
])  # fmt: skip
def test_texts_without_an_end_are_still_shown(code, shown):
    assert shown in highlight(code)


def test_reviews_that_the_page_has_no_room_for_count_in_what_it_says_of_their_system(tmp_path):
    rows = [review_row("p1", "a", 0.5, 0.9 if at else 0.3, index=at) for at in range(40)]
    rows += [review_row("p1", "b", 0.5, 0.7, index=0), review_row("p1", "c", 0.5, 0.8, index=0)]
    rows += [review_row("p1", "c", 0.5, None, index=1), review_row("p2", "a", 0.5, 0.9)]
    first, other = open_results(review_run(tmp_path, rows)).page().problems

    assert len(first.answers) == 40
    assert first.outcomes == (
        ("a", "scored", "30.0 accept"),  # the worst of its forty, not the last
        ("b", "scored", "70.0 accept"),
        ("c", "partial", "composite missing"),
    )
    assert other.outcomes[1:] == (("b", "absent", ""), ("c", "absent", ""))
