"""Marks in a test suite, in a notebook, in a tracker, on a build server."""

import io
import json
import sys
from types import SimpleNamespace

import pytest
from rich.console import Console
from ruamel.yaml import YAML
from support.made_files import review_row, review_run, task_row, task_run
from support.paths import ROOT

import markbook
from markbook.errors import DataError, IncompleteError, UsageError
from markbook.report.exports import write_report

EXAMPLE = ROOT / "examples" / "github-actions" / "markbook.yml"


def test_good_marks_pass(exam_run):
    run = exam_run(models={"a": 1.0, "b": 1.0})

    markbook.assert_marks(run, at_least=0.9)
    markbook.assert_marks(run.folder, at_least={"a": 1.0}, surely=False)


def test_bad_marks_fail_with_all_that_is_wrong(exam_run):
    run = exam_run(models={"good": 1.0, "bad": 0.0, "none": -1.0})

    with pytest.raises(AssertionError) as caught:
        markbook.assert_marks(run, at_least=0.8)

    assert [line.split(":")[0] for line in str(caught.value).splitlines()] == ["bad", "none"]
    assert "wanted at least 0.8" in str(caught.value)


def test_surely_asks_the_interval(exam_run):
    run = exam_run(models={"a": 1.0}, problems=10)

    markbook.assert_marks(run, at_least=0.95)
    # Wilson's lower end at 10 of 10 is .722.
    markbook.assert_marks(run, at_least=0.72, surely=True)
    with pytest.raises(AssertionError, match="surely at least"):
        markbook.assert_marks(run, at_least=0.73, surely=True)


def test_a_missing_mark_fails(tmp_path):
    run = task_run(tmp_path, [task_row(0, None)])

    with pytest.raises(AssertionError, match="missing"):
        markbook.assert_marks(run, at_least=0.0, metric="bleu")


def test_not_worse_than_a_baseline(exam_run):
    old, new = exam_run("old", models={"m": 0.95}), exam_run("new", models={"m": 0.0})

    markbook.assert_marks(old, not_worse_than=new)
    with pytest.raises(AssertionError, match="is worse than"):
        markbook.assert_marks(new, not_worse_than=old)


def test_an_unknown_model_is_a_mistake_and_no_failed_mark(exam_run):
    with pytest.raises(UsageError, match="strong"):
        markbook.assert_marks(exam_run(), at_least={"strnog": 0.1})


def test_a_run_shows_as_tables_in_a_notebook(exam_run, tmp_path):
    shown = exam_run(models={"<b>bold": 0.9, "plain": 0.2})._repr_html_()

    assert "Scores, 0 to 100" in shown
    assert "Paired differences" in shown
    assert "<b>bold" not in shown
    assert "<svg" in shown
    assert "<svg" in markbook.compare([exam_run(models={"a": 0.9, "b": 0.2})])._repr_html_()
    assert "Metrics" in task_run(tmp_path / "t", [task_row(0, 0.5)])._repr_html_()
    assert "Composite" in review_run(tmp_path / "r", [review_row("p", "s", 0.5, 0.5)])._repr_html_()


def test_a_run_shows_its_scores_in_the_python_shell(exam_run, tmp_path):
    run = exam_run(models={"a\x1b[1m": 0.9, "plain": 0.2})

    first, *rest = repr(run).splitlines()

    assert first == f"<Run exam done {run.folder}>"
    assert [line.split() for line in rest if "plain" in line] == [
        ["plain", "29.2", "[15.5,", "48.0]", "24", "of", "24"]
    ]
    assert "\x1b" not in repr(run) + run._repr_html_()
    compared = markbook.compare([run])
    assert "\x1b" not in repr(compared) + compared._repr_html_()
    unfinished = repr(task_run(tmp_path, [task_row(0, 0.5)], finish=False))
    assert "<Run run running " in unfinished
    assert "this run is running" in unfinished


def test_a_measurement_and_a_summary_show_their_value_in_the_python_shell(exam_run):
    marks = markbook.measure("rougeL", ["the cat sat", None] * 5000, ["the cat", "the dog"] * 5000)
    mark, none, *_ = marks

    lines = repr(marks).splitlines()
    assert [line.split() for line in (lines[0], *lines[2:4], lines[-1])] == [
        ["Row", "rougeL", "Missing"],
        ["0", "0.80"],
        ["1", "\u2013", "no", "candidate"],
        ["9,990", "more", "rows"],
    ]
    assert marks._repr_html_().count("<tr>") == 11
    assert repr(markbook.measure("rougeL", [], [])) == "[]"
    assert repr(mark) == "<Measurement 'rougeL' 0.8>"
    assert repr(none) == "<Measurement 'rougeL' missing (absent): 'no candidate'>"
    assert repr(exam_run(models={"a": 0.5}).scores["a"]) == (
        "<Summary 'exam_score' of 'a': 0.527778 [0.3487, 0.7], 24 of 24 scored>"
    )


def test_a_run_and_a_comparison_print_with_a_chart_on_a_rich_console(exam_run, tmp_path):
    def printed(shown):
        console = Console(file=io.StringIO(), width=80)
        console.print(shown)
        return console.file.getvalue()

    run = exam_run(models={"[red]bold": 0.9, "plain": 0.2})
    for told in (printed(run), printed(markbook.compare([run]))):
        line = next(line for line in told.splitlines() if "[red]bold" in line and "|" in line)
        assert "o" in line.partition("[red]bold")[2]
        assert max(map(len, told.splitlines())) <= 80
    assert "0.50" in printed(task_run(tmp_path / "t", [task_row(0, 0.5)]))
    assert "running" in printed(task_run(tmp_path, [task_row(0, 0.5)], finish=False))


def test_an_unfinished_run_of_tasks_says_so_in_a_notebook(tmp_path):
    assert "running" in task_run(tmp_path, [task_row(0, 0.5)], finish=False)._repr_html_()


def test_frames_have_one_row_an_attempt(exam_run, tmp_path):
    pytest.importorskip("pandas", reason="pandas is not installed")
    polars = pytest.importorskip("polars", reason="polars is not installed")
    run = exam_run(attempts=2)

    assert len(run.to_pandas()) == 144
    frame = run.to_polars()
    assert frame.filter(polars.col("model") == "strong").height == 48
    with pytest.raises(DataError):
        task_run(tmp_path, [task_row(0, 0.5)], finish=False).to_pandas()


def test_mlflow_keeps_the_numbers_in_a_local_store(exam_run, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "store").as_uri())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")

    (path,) = write_report(exam_run(models={"a": 0.8, "b": 0.2}), "mlflow", tmp_path)

    record = json.loads(path.read_text(encoding="utf-8"))
    kept = mlflow.MlflowClient((tmp_path / "store").as_uri()).get_run(record["run_id"]).data
    assert kept.params["error_policy"] == "zero"
    assert kept.metrics["a/exam_score/value"] > kept.metrics["b/exam_score/value"]
    assert kept.metrics["a/exam_score/n"] == 24


def test_wandb_keeps_the_numbers_offline(exam_run, tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb", reason="wandb is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WANDB_MODE", raising=False)
    monkeypatch.setenv("WANDB_SILENT", "true")

    (path,) = write_report(exam_run(models={"a": 0.8, "b": 0.2}), "wandb", tmp_path)

    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["mode"] == "offline"
    files = list((tmp_path / "wandb").glob(f"offline-run-*-{record['run_id']}/*.wandb"))
    assert files
    wandb.teardown()  # ends W&B's own process, which writes the file
    assert b"a/exam_score/value" in files[0].read_bytes()


class _Refusing:
    """A tracker that fails where it is told to, and remembers what it was told."""

    def __init__(self, where):
        self.where, self.ended = where, []

    def __getattr__(self, name):
        def call(*args, **_options):
            if name == self.where:
                raise RuntimeError("no store at http://me:hunter22@host")
            if name == "set_terminated":
                self.ended.append(args)
            return SimpleNamespace(experiment_id="1", info=SimpleNamespace(run_id="r1"), id="1", dir=".")

        return call


@pytest.mark.parametrize("where", ["get_experiment_by_name", "create_run", "log_metric", "set_terminated"])
def test_what_mlflow_raises_is_a_message(exam_run, tmp_path, monkeypatch, where):
    client = _Refusing(where)
    monkeypatch.setitem(sys.modules, "mlflow", SimpleNamespace(MlflowClient=lambda _uri: client))

    with pytest.raises(IncompleteError, match="MLflow did not take the run: RuntimeError: no store at") as caught:
        write_report(exam_run(models={"a": 0.8}), "mlflow", tmp_path)

    assert "hunter22" not in str(caught.value)
    assert client.ended == ([("r1", "FAILED")] if where == "log_metric" else [])


def test_what_wandb_raises_is_a_message(exam_run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", _Refusing("init"))

    with pytest.raises(IncompleteError, match=r"W&B did not take the run: RuntimeError: .*WANDB_MODE=offline"):
        write_report(exam_run(models={"a": 0.8}), "wandb", tmp_path)


def test_the_workflow_example_is_whole_and_uses_real_options():
    steps = YAML(typ="safe").load(EXAMPLE)["jobs"]["marks"]["steps"]

    from click.testing import CliRunner

    from markbook.cli import cli

    lines = [line.split() for step in steps for line in str(step.get("run", "")).splitlines() if "markbook " in line]
    used = [(words[1], [word for word in words if word.startswith("--")]) for words in lines if words[0] == "markbook"]
    assert {name for name, _ in used} == {"exam", "report", "compare"}
    for name, options in used:
        shown = CliRunner().invoke(cli, [name, "--help"]).output
        assert all(option in shown for option in options), name
