"""An answer that is null is missing, an empty one is empty: in every format, of one or of several answers, and back."""

import csv
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from support.review_kit import GENERATED, markbook as command, only_run, papers, reviews, rows_of

import markbook
from markbook.cli import cli
from markbook.types import Summary

TASK = """\
name: demo
data: {{path: rows.jsonl}}
prompt: "Say {{{{ word }}}}."
reference: "{{{{ word }}}}"
metrics: [{metrics}]
"""
WORDS = ["a b", "c d", "e f", "g h"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "rows.jsonl", [{"word": word} for word in WORDS])
    task(tmp_path, "exact_match")
    return tmp_path


def task(folder, metrics, more=""):
    (folder / "task.yaml").write_text(TASK.format(metrics=metrics) + more, encoding="utf-8")


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def call(*args):
    found = CliRunner().invoke(cli, [str(arg) for arg in args], standalone_mode=False)
    if found.exception is not None:
        raise found.exception
    assert found.return_value in (0, None), found.output
    return found.output


def newest(folder):
    return max(folder.glob("evaluation_*"), key=lambda path: (path.stat().st_mtime_ns, path.name))


def run(folder, predictions, output="out", *more):
    call("run", "task.yaml", "--predictions", predictions, "--output", folder / output, *more)
    return newest(folder / output)


def metric(path, name="exact_match"):
    return json.loads((path / "summary.json").read_text(encoding="utf-8"))["tasks"]["demo"]["metrics"][name]


def numbers(path, name="exact_match"):
    found = metric(path, name)
    return found["value"], found["n"], found["n_missing"]


GIVEN = ["a b", None, "", "g h"]
WANTED = (pytest.approx(2 / 3), 3, {"absent": 1})


def as_columns(folder):
    path = folder / "a.json"
    path.write_text(json.dumps({"doc_id": [0, 1, 2, 3], "prediction": GIVEN}), encoding="utf-8")
    return path


def as_parquet(folder):
    pq.write_table(pa.table({"doc_id": [0, 1, 2, 3], "prediction": GIVEN}), folder / "a.parquet")
    return folder / "a.parquet"


def rows_under(key):
    return lambda folder: write(folder / "a.jsonl", [{"doc_id": n, key: one} for n, one in enumerate(GIVEN)])


FORMATS = {
    "prediction": rows_under("prediction"),
    "completion": rows_under("completion"),
    "extracted solution": rows_under("extracted_solution"),
    "without ids": lambda folder: write(folder / "a.jsonl", [{"prediction": one} for one in GIVEN]),
    "harness": lambda folder: write(
        folder / "a.jsonl", [{"doc_id": n, "resps": [[one]], "filtered_resps": [one]} for n, one in enumerate(GIVEN)]
    ),
    "harness, filtered": lambda folder: write(
        folder / "a.jsonl", [{"doc_id": n, "filtered_resps": [one]} for n, one in enumerate(GIVEN)]
    ),
    "columns": as_columns,
    "parquet": as_parquet,
}


@pytest.mark.parametrize("kind", FORMATS)
def test_null_is_missing_and_empty_is_empty_in_every_format(folder, kind):
    assert numbers(run(folder, FORMATS[kind](folder))) == WANTED


@pytest.mark.parametrize(("ending", "comma"), [("csv", ","), ("tsv", "\t")])
def test_an_empty_cell_is_an_empty_answer_and_a_row_left_out_is_missing(folder, ending, comma):
    rows = [("0", "a b"), ("1", ""), ("3", "g h")]
    table = "".join(f"{place}{comma}{said}\n" for place, said in [("doc_id", "prediction"), *rows])
    (folder / f"said.{ending}").write_text(table, encoding="utf-8")

    # Two of the three answers are right, the empty one is wrong; the third row has none.
    assert numbers(run(folder, f"said.{ending}")) == WANTED


def test_measure_and_score_agree_with_run(folder):
    found = markbook.measure("exact_match", GIVEN, WORDS)
    rows = write(folder / "s.jsonl", [{"candidate": c, "reference": r} for c, r in zip(GIVEN, WORDS, strict=True)])
    scored = json.loads(call("score", "exact_match", rows, "--json"))["metrics"]["exact_match"]

    assert [one.value for one in found] == [1.0, None, 0.0, 1.0]
    assert (scored["value"], scored["n"], scored["n_missing"]) == WANTED


BACK = {
    "run folder": lambda path: path,
    "harness": lambda path: report(path, "lm-eval", "samples_demo_*.jsonl"),
    "csv": lambda path: report(path, "csv", "report.csv"),
    "parquet": lambda path: report(path, "parquet", "report.parquet"),
}


def report(path, kind, name):
    call("report", path, "--format", kind)
    return next(path.glob(name))


@pytest.mark.parametrize("way", BACK)
def test_the_way_back_loses_no_missing_answer(folder, way):
    path = run(folder, FORMATS["prediction"](folder))

    assert numbers(run(folder, BACK[way](path), "again")) == WANTED


def several(folder, rows):
    path = write(folder / "a.jsonl", [{"doc_id": n, "prediction": row} for n, row in enumerate(rows)])
    return run(folder, path, "out", "--samples", "4")


def test_missing_answers_of_a_row_stay_counted(folder):
    path = several(folder, [[word, None, None, None] for word in WORDS])
    found = metric(path)

    # The one answer to each row is right; were the other three of four wrong, each row would have a quarter.
    assert (found["value"], found["n"], found["n_items"], found["n_partial"]) == (1.0, 4, 4, 4)
    assert found["n_missing"] == {"absent": 12}
    assert found["bounds"] == [0.25, 1.0]
    assert "4 of 4 have a value for a part of their answers" in found["note"]
    assert "12 absent" in (path / "summary.md").read_text(encoding="utf-8")
    assert "12 absent" in (path / "report.html").read_text(encoding="utf-8")


def test_missing_answers_are_bounded_row_by_row(folder):
    # Rows: 1/2 of the two answered, of four .25 to .75; nothing; all four right; all four wrong.
    found = metric(several(folder, [["a b", "x", None, None], [None] * 4, ["e f"] * 4, ["x", "x", "x", "x"]]))

    assert found["value"] == pytest.approx((0.5 + 1 + 0) / 3)
    assert (found["n"], found["n_items"], found["n_partial"]) == (3, 4, 1)
    assert found["n_missing"] == {"absent": 6}
    assert found["bounds"] == [pytest.approx((0.25 + 0 + 1 + 0) / 4), pytest.approx((0.75 + 1 + 1 + 0) / 4)]


def test_the_worst_policy_reaches_into_a_row(folder):
    path = write(folder / "a.jsonl", [{"doc_id": n, "prediction": [w, None]} for n, w in enumerate(WORDS)])

    assert metric(run(folder, path, "out", "--samples", "2", "--missing", "worst"))["value"] == 0.5


def test_a_missing_answer_of_a_distance_is_worst_at_one(folder):
    task(folder, "edit_distance")
    path = write(folder / "a.jsonl", [{"doc_id": n, "prediction": [w, None]} for n, w in enumerate(WORDS)])
    found = metric(run(folder, path, "out", "--samples", "2"), "edit_distance")

    assert (found["value"], found["bounds"]) == (0.0, [0.0, 0.5])


def test_the_harness_files_count_them_and_bring_them_back(folder):
    path = several(folder, [[word, None, None, None] for word in WORDS])
    samples = report(path, "lm-eval", "samples_demo_*.jsonl")
    rows = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()]
    results = json.loads(next(path.glob("results_*.json")).read_text(encoding="utf-8"))["results"]["demo"]
    back = run(folder, samples, "again", "--samples", "4")

    assert rows[0]["resps"] == [["a b", None, None, None]]
    assert rows[0]["n_missing"] == {"exact_match": 3}
    assert results["n_missing"] == {"exact_match": {"absent": 12}}
    assert results["exact_match_bounds,none"] == [0.25, 1.0]
    assert metric(back) == metric(path)


def test_a_comparison_says_that_rows_are_marked_in_part(folder):
    one = several(folder, [[word, None, None, None] for word in WORDS])
    path = write(folder / "b.jsonl", [{"doc_id": n, "prediction": word, "model": "b"} for n, word in enumerate(WORDS)])
    two = run(folder, path, "two")
    found = json.loads(call("compare", one, two, "--json"))
    first = next(record for record in found["ranking"] if record["model"] != "b")
    words = call("compare", one, two)
    summary = Summary.from_record(first["summary"])

    assert (summary.n, summary.n_items, summary.n_partial, summary.n_missing) == (4, 4, 4, {"absent": 12})
    assert summary.bounds == (0.25, 1.0)
    assert summary.to_record() == first["summary"]
    assert found["pairs"][0]["n_partial"] == 4
    assert "4 of 4 samples have a value for a part of their answers only" in " ".join(words.split())


def test_every_answer_missing_is_no_value(folder):
    found = metric(several(folder, [[None] * 4] * 4))

    assert (found["value"], found["n"], found["n_items"], found["bounds"]) == (None, 0, 4, [0.0, 1.0])
    assert found["n_missing"] == {"absent": 16}


def test_what_a_filter_leaves_out_is_not_missing(folder):
    (folder / "task.yaml").write_text(
        "task: demo\ndataset_path: json\ndataset_kwargs: {data_files: rows.jsonl}\ntest_split: train\nrepeats: 3\n"
        "doc_to_text: word\ndoc_to_target: word\nfilter_list: [{name: first, filter: [{function: take_first}]}]\n"
        "metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]\n",
        encoding="utf-8",
    )
    path = write(folder / "a.jsonl", [{"doc_id": n, "prediction": [w, None, None]} for n, w in enumerate(WORDS)])
    found = metric(run(folder, path, "out", "--samples", "3"))

    assert (found["value"], found["n"], found["n_missing"], found["bounds"]) == (1.0, 4, {}, [1.0, 1.0])


def test_pass_at_k_is_bounded_by_its_missing_answers(folder):
    write(folder / "rows.jsonl", [{"word": "one", "test": "assert one() == 1"}])
    (folder / "task.yaml").write_text(
        "name: demo\ndata: {path: rows.jsonl}\nprompt: '{{ word }}'\ntests: test\nmetrics: [{name: pass_at_k, options: {k: [1]}}]\n",
        encoding="utf-8",
    )
    right, wrong = "def one():\n    return 1\n", "def one():\n    return 2\n"
    found = metric(several(folder, [[right, wrong, None, None]]), "pass@1")

    # Of two answers one passes; of four one to three would.
    assert (found["value"], found["n"], found["n_missing"]) == (0.5, 1, {"absent": 2})
    assert found["bounds"] == [0.25, 0.75]


def test_the_table_of_rows_tells_an_empty_answer_from_none(folder):
    path = run(folder, FORMATS["prediction"](folder))
    call("report", path, "--format", "csv")
    with (path / "report.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))

    assert [row["answered"] for row in rows] == ["True", "False", "True", "True"]


@pytest.mark.parametrize("nothing", [None, {"comments": None}])
def test_a_review_of_null_is_missing_and_an_empty_one_is_empty(tmp_path, nothing):
    rows = [
        {"paper_id": "one", "system": "a", "review": GENERATED},
        {"paper_id": "two", "system": "a", "review": nothing},
        {"paper_id": "two", "system": "b", "review": ""},
    ]
    code, _, err = command(
        "review", "--papers", papers(tmp_path), "--reviews", reviews(tmp_path, rows), "--similarity", "cosine",
        "--output", tmp_path / "out",
    )  # fmt: skip
    found = rows_of(only_run(tmp_path / "out"))
    summary = json.loads((only_run(tmp_path / "out") / "summary.json").read_text(encoding="utf-8"))

    assert code == 0, err
    assert found["two/a/0"]["tier1"]["missing"]["cosine_score"] == {
        "kind": "absent",
        "detail": "there is no review: it is null",
    }
    assert found["two/b/0"]["tier1"]["missing"]["cosine_score"]["kind"] == "no_completion"
    assert summary["systems"]["a"]["metrics"]["tier1.cosine_score"]["n_missing"] == {"absent": 2}
