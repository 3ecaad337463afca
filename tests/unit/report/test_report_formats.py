"""A new report from an old run, in every format."""

import csv
import io
import json
import xml.etree.ElementTree as ET

import pytest
from click.testing import CliRunner
from support.made_files import review_row, review_run, task_row, task_run
from support.payloads import HTML

import markbook
from markbook import plugins
from markbook.cli import cli, show
from markbook.cli.report import command
from markbook.errors import DataError, UsageError
from markbook.report.exports import write_report
from markbook.report.formats import numbers
from markbook.results.compare import compare
from markbook.results.kind import open_results
from markbook.types import Summary

FORMATS = {"html": "report.html", "md": "report.md", "csv": "report.csv", "json": "report.json",
           "junit": "report.junit.xml", "parquet": "report.parquet"}  # fmt: skip


@pytest.fixture
def runs(exam_run, tmp_path):
    """Return a run of each command."""
    tests = {"verdict": "separated", "error": "", "detail": "", "fault": ""}
    passed, failed = {**tests, "passed": True}, {**tests, "passed": False, "error": "Error", "detail": "boom"}
    rows = [
        task_row(0, 0.5), task_row(1, 0.9, tests=passed), task_row(2, None, text=None), task_row(3, 0.1, tests=failed)
    ]  # fmt: skip
    reviews = [
        review_row(f"p{at}", system, 0.2 + at / 10, None if at else 0.8)
        for at in range(3)
        for system in ("mas", "single")
    ]
    return {
        "exam": exam_run(absent=0.1, attempts=2),
        "run": task_run(tmp_path / "task", rows, contexts=True),
        "review": review_run(tmp_path / "review", reviews),
    }


@pytest.mark.parametrize("name", list(FORMATS))
@pytest.mark.parametrize("kind", ["exam", "run", "review"])
def test_every_kind_of_run_has_every_report(runs, tmp_path, name, kind):
    written = write_report(runs[kind], name, tmp_path / "out")

    assert (tmp_path / "out" / FORMATS[name]) in written
    assert all(path.stat().st_size > 100 for path in written)


def test_csv_has_one_row_an_attempt_with_formulas_quoted(exam_run, tmp_path):
    run = exam_run(models={"=HYPERLINK(1)": 0.5, "b": 0.5}, problems=6, attempts=2)

    (path,) = write_report(run, "csv", tmp_path)

    rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
    assert len(rows) == 24
    assert {row["model"] for row in rows} == {"'=HYPERLINK(1)", "b"}
    assert all(0 <= float(row["score"]) <= 1 for row in rows)


def test_json_has_summaries_and_rows(exam_run, tmp_path):
    (path,) = write_report(exam_run(), "json", tmp_path)

    record = json.loads(path.read_text(encoding="utf-8"))
    assert len(record["rows"]) == 72
    total = record["models"]["strong"]["exam_score"]
    assert (total["n"], total["n_missing"]) == (24, {})
    assert total["interval"]["low"] <= total["value"] <= total["interval"]["high"]
    assert Summary.from_record(total).to_record() == total


def test_junit_tells_failure_from_error_and_absent(exam_run, tmp_path):
    run = exam_run(models={"a": 0.3, "b": 0.3}, problems=40, absent=0.2)

    (path,) = write_report(run, "junit", tmp_path)

    root = ET.parse(path).getroot()
    assert [suite.get("name") for suite in root] == ["a", "b"]
    for suite in root:
        counted = {state: len(suite.findall(f"testcase/{state}")) for state in ("failure", "error", "skipped")}
        assert {state: int(suite.get(f"{state}s" if state != "skipped" else state)) for state in counted} == counted
        assert all(counted.values())
        assert len(suite) == int(suite.get("tests")) == 40


def test_junit_of_a_task_shows_rows_without_a_value_as_skipped(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [{"id": str(n), "word": "yes"} for n in range(4)]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    (tmp_path / "demo.yaml").write_text(
        "name: demo\ndata: {path: rows.jsonl, id: id}\nprompt: Say.\nreference: '{{ word }}'\nmetrics: [exact_match, bleu]\n",
        "utf-8",
    )
    said = [{"id": "0", "prediction": "yes"}, {"id": "1", "prediction": None}, {"id": "2", "prediction": "no"}]
    (tmp_path / "said.jsonl").write_text("\n".join(map(json.dumps, said)), "utf-8")
    run = markbook.run_task("demo.yaml", predictions="said.jsonl", output="out")

    (path,) = write_report(run, "junit", tmp_path)

    root = ET.parse(path).getroot()
    found = {case.get("name"): [part.tag for part in case] for case in root.iter("testcase")}
    assert found == {"demo/0": [], "demo/1": ["skipped"], "demo/2": [], "demo/3": ["skipped"]}
    assert sum(int(suite.get("skipped")) for suite in root) == 2
    (null, none) = root.iter("skipped")
    assert null.get("message").startswith("absent: ")
    assert "exact_match: absent: " in none.text


def test_junit_of_a_task_shows_failed_tests_and_missing_values(runs, tmp_path):
    (path,) = write_report(runs["run"], "junit", tmp_path)

    states = [next((child.tag for child in case), "passed") for case in ET.parse(path).getroot().iter("testcase")]
    assert states == ["passed", "passed", "error", "failure"]


def test_parquet_reads_back_with_types(exam_run, tmp_path):
    import pyarrow.parquet

    (path,) = write_report(exam_run(), "parquet", tmp_path)

    table = pyarrow.parquet.read_table(path)
    assert table.num_rows == 72
    assert str(table.schema.field("score").type) == "double"
    assert str(table.schema.field("all_tests_passed").type) == "bool"


def test_parquet_of_mixed_types_falls_back_to_what_holds_both(tmp_path):
    import pyarrow.parquet

    rows = [task_row(0, 1), task_row(1, 0.5), task_row(2, None)]
    rows[0]["doc"], rows[1]["doc"] = {"word": 7}, {"word": "text"}

    (path,) = write_report(task_run(tmp_path / "t", rows), "parquet", tmp_path)

    table = pyarrow.parquet.read_table(path).to_pylist()
    assert [row["metrics.bleu"] for row in table] == [1.0, 0.5, None]
    assert [row["doc.word"] for row in table] == ["7", "text", "two"]


def test_markdown_has_the_same_tables_and_pictures_beside_it(exam_run, tmp_path):
    written = write_report(exam_run(), "md", tmp_path)

    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "### Scores, 0 to 100" in text
    assert "### Paired differences" in text
    pictures = {path.name for path in written} - {"report.md"}
    assert pictures == {
        f"report-{name}.png" for name in ("scores", "differences", "topic", "complexity", "problem-type", "errors")
    }
    assert all(f"]({name})" in text for name in pictures)


def test_hostile_words_stay_words_in_every_format(tmp_path):
    rows = [
        task_row(at, None if at % 3 == 0 else 0.5, model=word, words=word, text=word) for at, word in enumerate(HTML)
    ]
    run = task_run(tmp_path / "t", rows, words=HTML[1])

    for name in FORMATS:
        write_report(run, name, tmp_path / "out")

    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert page.count("<script") == 1
    assert "<img" not in page
    text = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "<script" not in text
    assert len(list(ET.parse(tmp_path / "out" / "report.junit.xml").getroot().iter("testcase"))) == len(HTML)
    reviews = [review_row(word, HTML[0], 0.5, 0.5, words=word) for word in HTML]
    write_report(review_run(tmp_path / "r", reviews), "html", tmp_path / "out")
    assert (tmp_path / "out" / "report.html").read_text(encoding="utf-8").count("<script") == 1


def test_an_unfinished_exam_has_no_documented_files(exam_run, tmp_path):
    run = exam_run(finish="")
    assert open_results(run, partial=True).partial_note() == ""  # every planned attempt happens to be marked

    rows = (run.folder / "journal" / "00000001.jsonl").read_bytes().splitlines(keepends=True)
    (run.folder / "journal" / "00000001.jsonl").write_bytes(b"".join(rows[:-1]))

    with pytest.raises(DataError, match="appear only when complete"):
        write_report(run, "documented", tmp_path / "out")
    assert "This run broke off: scored" in write_report(run, "md", tmp_path / "out")[-1].read_text(encoding="utf-8")


def test_an_unfinished_run_of_tasks_has_no_report(tmp_path):
    with pytest.raises(DataError, match="--resume"):
        open_results(task_run(tmp_path, [task_row(0, 0.5)], finish=False))


def test_command_writes_prints_paths_and_pipes(exam_run):
    run = exam_run()

    written = CliRunner().invoke(command, [str(run.folder), "--format", "junit", "--json"])
    piped = CliRunner().invoke(command, [str(run.folder), "--format", "csv", "--output", "-"])
    several = CliRunner().invoke(command, [str(run.folder), "--format", "documented", "--output", "-"])

    assert json.loads(written.stdout)["files"] == [str(run.folder / "report.junit.xml")]
    assert piped.stdout.splitlines()[0].startswith("model,task_id,sample")
    assert isinstance(several.exception, UsageError)


def test_every_named_format_is_a_plugin():
    assert set(plugins.names("reports")) >= {"html", "markdown", "csv", "json", "junit", "parquet", "documented"}


def test_numbers_for_loggers_are_flat_and_finite(runs):
    flat = numbers(open_results(runs["exam"]))

    assert 0 <= flat["strong/exam_score/value"] <= 1
    assert numbers(open_results(runs["run"]))["tasks/demo/metrics/bleu/n"] == 3


def test_mlflows_own_store_has_every_number(exam_run, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed: the laws of reports read what it is sent")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file:{tmp_path / 'store'}")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    run = exam_run()

    write_report(run, "mlflow", tmp_path / "out")

    record = json.loads((tmp_path / "out" / "mlflow.json").read_text(encoding="utf-8"))
    kept = mlflow.MlflowClient().get_run(record["run_id"]).data.metrics
    assert {name.rpartition("/exam_score/")[2] for name in kept if "/exam_score/" in name} >= {"value", "n", "n_items"}
    assert sorted(kept.values()) == pytest.approx(sorted(numbers(open_results(run)).values()))


def test_tasks_and_reviews_are_compared(runs, tmp_path):
    other = task_run(tmp_path / "other", [task_row(at, 0.95, model="n") for at in range(4)])

    tasks = compare([runs["run"], other], metric="bleu")
    reviews = compare(runs["review"], metric="tier1.cosine_score")

    assert {standing.model for standing in tasks.standings} == {"m", "n"}
    assert (tasks.pairs[0].n, tasks.pairs[0].n_missing) == (3, 1)
    assert tasks.pair("m", "n").difference.value == pytest.approx((0.5 + 0.9 + 0.1) / 3 - 0.95)
    assert reviews.pairs[0].difference.value == 0.0
    assert compare(runs["review"]).pairs[0].n == 1
    with pytest.raises(UsageError, match="cosine"):
        compare(runs["review"], metric="tier1.cosine")
    with pytest.raises(DataError, match="different metrics"):
        compare([runs["run"], runs["review"]])


def test_a_review_shows_its_agents_and_its_time(tmp_path):
    rows = [review_row(f"p{at}", "mas", 0.4, 0.6) for at in range(3)]
    for row in rows:
        row["tier1"]["execution_time"] = 2.0
    run = review_run(tmp_path, rows, graph={"agents": {"<i>boss": 3, "worker": 1}, "edges": [["<i>boss", "worker", 2]]})

    write_report(run, "html", tmp_path / "out")

    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert 'id="agents-1"' in page
    assert "&lt;i&gt;boss" in page
    assert "<i>" not in page
    assert "2.00" in page


def test_show_says_how_many_attempts_it_leaves_out_and_its_json_has_all(exam_run, monkeypatch):
    folder = exam_run(models={"a": 0.5, "b": 0.5}, problems=2, attempts=3).folder
    monkeypatch.setattr(show, "_MOST", 4)
    item = next(open_results(markbook.open_run(folder)).entries()).sample

    text = CliRunner().invoke(cli, ["show", str(folder), item]).stdout
    record = json.loads(CliRunner().invoke(cli, ["show", str(folder), item, "--json"]).stdout)

    assert text.endswith("\n\n... and 2 more attempts: --json shows all, --model those of one model\n")
    assert text.count("Prompt\n") == 1
    assert [attempt["model"] for attempt in record] == ["a"] * 3 + ["b"] * 3


def test_of_several_answers_to_a_row_the_worst_stands_in_its_line(tmp_path):
    tests = {"verdict": "separated", "error": "", "detail": "", "fault": ""}
    passed, failed = ({**tests, "passed": is_right} for is_right in (True, False))
    rows = [task_row(0, 0.5, tests=tests) | {"index": at} for at, tests in enumerate((passed, failed, passed))]
    run = task_run(tmp_path, rows)

    (problem,) = open_results(run).page().problems

    assert problem.outcomes == (("m", "failed", ""),)
