"""The main metric's value or none, never another's; its better end; what is missing is no 0."""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
import time
import xml.etree.ElementTree as ET

import pytest
from click.testing import CliRunner
from support.load import PATIENCE

from markbook import open_run
from markbook.cli import cli
from markbook.errors import DataError, RunInUseError
from markbook.report.run_index import Index
from markbook.report.run_pages import build_matrix, describe_run
from markbook.results.kind import open_results
from markbook.store.disk import FolderLock


def run_cli(*args):
    return CliRunner().invoke(cli, [str(arg) for arg in args], catch_exceptions=True)


def task(folder, metrics, references, answers):
    rows = [{"id": f"q{at}", "q": f"What {at}?", "a": text} for at, text in enumerate(references, 1)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "t.yaml").write_text(
        f"name: t\ndata: {{path: rows.jsonl}}\nprompt: '{{{{ q }}}}'\nreference: '{{{{ a }}}}'\nmetrics: {metrics}\n"
    )
    said = [{"doc_id": at, "prediction": text} for at, text in enumerate(answers)]
    (folder / "said.jsonl").write_text("".join(json.dumps(row) + "\n" for row in said))
    result = run_cli("run", folder / "t.yaml", "--predictions", folder / "said.jsonl", "--output", folder / "run")
    assert result.exit_code in (0, 3), result.output
    return next((folder / "run").glob("*/run.json")).parent


def evaluations(run, out):
    result = run_cli("report", run, "--format", "every-eval-ever", "--output", out)
    assert result.exit_code == 0, result.output
    (path,) = (out / "every_eval_ever").glob("*.jsonl")
    lines = map(json.loads, path.read_text().splitlines())
    return {line["sample_id"]: (line["evaluation"]["score"], line["evaluation"]["is_correct"]) for line in lines}


def index_of(run):
    index = Index(open_results(open_run(run)))
    index.start()
    index.wait(10**9, PATIENCE)
    assert index.failure == ""
    return index


def marks_file(folder, lines):
    path = folder / "marks.csv"
    path.write_text("item,model,score\n" + "\n".join(lines) + "\n")
    return path


def test_a_missing_main_metric_is_not_replaced_by_another(tmp_path):
    run = task(tmp_path, "[numeric, edit_distance]", ["5", "beta"], ["6", "zzzz"])

    scores = [entry.score for entry in open_results(open_run(run)).entries()]

    assert scores == [
        0.0,
        None,
    ]  # numeric of "6" is 0; of "beta" there is none, and its edit distance of 1 is not a score
    assert list(evaluations(run, tmp_path / "out").values()) == [(0.0, False)]


def test_of_a_distance_the_low_end_is_correct(tmp_path):
    run = task(tmp_path, "[edit_distance]", ["alpha", "gamma"], ["alpha", "zzzzz"])

    assert list(evaluations(run, tmp_path / "out").values()) == [(0.0, True), (1.0, False)]


def test_worst_first_heeds_the_direction(tmp_path):
    run = task(tmp_path, "[edit_distance]", ["alpha", "gamma"], ["alpha", "zzzzz"])
    index = index_of(run)

    worst = [item for item, _ in build_matrix(index, "worst", 0, 9).rows]
    scores = {entry.sample: entry.score for entry in open_results(open_run(run)).entries()}

    assert [scores[item] for item in worst] == [1.0, 0.0]


def test_a_missing_mark_neither_flips_nor_differs_nor_is_worst(tmp_path):
    # q1: A once right and once missing; q2: A right and wrong; q3: A missing, B .5; q4: both bad, one a little less
    lines = ["q4,B,0", "q1,A,1", "q1,A,", "q2,A,1", "q2,A,0", "q3,A,", "q3,B,0.5", "q1,B,1", "q2,B,0", "q4,A,0.25"]
    index = index_of(marks_file(tmp_path, lines))

    def items(order):
        return [item for item, _ in build_matrix(index, order, 0, 9).rows]

    assert items("flaky") == ["q2"]
    assert items("differ") == ["q4", "q2"]
    assert items("worst") == ["q4", "q2", "q3", "q1"]  # means over models with marks: .125, .25, .5, 1
    assert build_matrix(index, "worst", 0, 9).models == ["A", "B"]  # means over items: A (1 + .5 + .25) / 3, B 1.5 / 4


def test_junit_has_one_suite_a_model_also_where_rows_alternate(tmp_path):
    path = marks_file(tmp_path, ["q1,A,1", "q1,B,1", "q2,A,0", "q2,B,0", "q3,A,", "q3,B,1"])
    result = run_cli("report", path, "--format", "junit", "--output", tmp_path / "out")

    assert result.exit_code == 0, result.output
    (file,) = (tmp_path / "out").rglob("*.xml")
    suites = ET.parse(file).getroot().findall("testsuite")
    assert [(one.get("name"), one.get("tests"), one.get("skipped"), len(one)) for one in suites] == [
        ("A", "3", "1", 3),
        ("B", "3", "0", 3),
    ]


def test_a_metrics_name_is_no_latex_command(tmp_path):
    name = "x}\\input{/etc/passwd}\\label{y"
    path = tmp_path / "marks.csv"
    path.write_text(f"item,model,{name}\nq1,A,1\nq1,B,0\nq2,A,1\nq2,B,0\n")
    columns = f"item=item,model=model,score={name}"
    result = run_cli("report", path, "--map", columns, "--format", "latex", "--output", tmp_path / "out")

    assert result.exit_code == 0, result.output
    text = next((tmp_path / "out").rglob("report.tex")).read_text()
    assert "\\input" not in text
    labels = re.findall(r"\\label\{([^}]*)\}", text)
    assert labels
    assert all(re.fullmatch(r"tab:[A-Za-z0-9@_.:-]+", label) for label in labels)


def test_two_threads_never_hold_one_folder(tmp_path, monkeypatch):
    write, barrier, got = os.pwrite, threading.Barrier(2), []

    def slowly(*args):
        time.sleep(0.2)  # the first has locked and is not noted yet: the other may come in here
        return write(*args)

    def take():
        barrier.wait()
        with contextlib.suppress(RunInUseError):
            got.append(FolderLock(tmp_path))

    monkeypatch.setattr(os, "pwrite", slowly)
    threads = [threading.Thread(target=take) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(got) == 1
    got[0].release()
    FolderLock(tmp_path).release()


@pytest.mark.parametrize("seal", [[1], [{"name": "x"}]])
def test_a_malformed_seal_ends_with_a_sentence(tmp_path, seal):
    run = task(tmp_path, "[exact_match]", ["a", "b"], ["a", "c"])
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(record | {"journal": seal}))

    result = run_cli("report", run)

    assert isinstance(result.exception, DataError)  # which the command's door says in a sentence
    assert "run.json is damaged" in str(result.exception)


@pytest.mark.parametrize("part", [{"config": None}, {"inputs": None}])
def test_a_run_whose_run_json_has_lost_a_part_is_damaged(tmp_path, part):
    folder = task(tmp_path, "[exact_match]", ["a", "b"], ["a", "c"])
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(record | part))

    with pytest.raises(DataError, match=r"run.json is damaged: '(config|inputs)' is not an object"):
        open_run(folder, check=False)


@pytest.mark.parametrize("part", [{"config": {"models": None, "tasks": 5}}, {"config": {}}])
def test_a_run_is_listed_whatever_its_config_holds(tmp_path, part):
    folder = task(tmp_path, "[exact_match]", ["a", "b"], ["a", "c"])
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(record | part))

    assert describe_run(0, "run", open_run(folder, check=False)).command == "run"


def test_the_worst_topics_are_those_with_the_longest_distances(tmp_path):
    for name, answer in (("near", "alpha"), ("far", "zzzzz")):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"q": name, "a": "alpha"}) + "\n")
        (tmp_path / f"{name}.yaml").write_text(
            f"name: {name}\ndata: {{path: {name}.jsonl}}\nprompt: '{{{{ q }}}}'\nreference: '{{{{ a }}}}'\n"
            "metrics: [edit_distance]\n"
        )
        said = {"task": name, "doc_id": 0, "prediction": answer}
        (tmp_path / f"{name}-said.jsonl").write_text(json.dumps(said) + "\n")
    both = tmp_path / "said.jsonl"
    both.write_text("".join((tmp_path / f"{name}-said.jsonl").read_text() for name in ("near", "far")))
    tasks = [tmp_path / "near.yaml", tmp_path / "far.yaml"]
    result = run_cli("run", *tasks, "--predictions", both, "--output", tmp_path / "run")
    assert result.exit_code in (0, 3), result.output
    index = index_of(next((tmp_path / "run").glob("*/run.json")).parent)

    assert [topic.name for topic in index.by_topic().shown] == ["far", "near"]


def test_a_header_of_csv_holds_no_control_signs(tmp_path):
    (tmp_path / "rows.jsonl").write_text(json.dumps({"q": "x", "a": "y", "\x1b[31m": "v"}) + "\n")
    (tmp_path / "t.yaml").write_text(
        "name: t\ndata: {path: rows.jsonl}\nprompt: '{{ q }}'\nreference: '{{ a }}'\nmetrics: [exact_match]\n"
    )
    (tmp_path / "said.jsonl").write_text(json.dumps({"doc_id": 0, "prediction": "y"}) + "\n")
    run_cli("run", tmp_path / "t.yaml", "--predictions", tmp_path / "said.jsonl", "--output", tmp_path / "run")
    run = next((tmp_path / "run").glob("*/run.json")).parent
    result = run_cli("report", run, "--format", "csv", "--output", tmp_path / "out")

    assert result.exit_code == 0, result.output
    (path,) = (tmp_path / "out").rglob("*.csv")
    header = path.read_text().splitlines()[0]
    assert "doc." in header
    assert "\x1b" not in header
