"""A run of tasks from files to files."""

import contextlib
import hashlib
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
import zlib
from datetime import datetime
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.browsers import Watched, chromium
from support.fake_openai import FAULTS, FakeOpenAI, Reply as Wire, text
from support.load import PATIENCE

import markbook
from markbook.cli import cli, main
from markbook.errors import ConfigError, DataError, OutputError, StrictDataError, UsageError
from markbook.results.compare import read_sheet

TASK = """\
name: demo
version: 3
data: {path: rows.jsonl}
prompt: "Say {{ word }}.{% if context %} {{ context }}{% endif %}"
reference: "{{ word }}"
metrics:
  - exact_match
  - bleu
  - rouge1
  - rouge2
  - edit_distance
"""
WORDS = ["one two three four", "five six seven eight", "nine ten eleven twelve"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    rows = [{"word": word, "context": f"Rule {n}. You must obey."} for n, word in enumerate(WORDS)]
    write(tmp_path / "rows.jsonl", rows)
    (tmp_path / "task.yaml").write_text(TASK, encoding="utf-8")
    return tmp_path


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def answers(folder, texts, name="answers.jsonl", **more):
    return write(folder / name, [{"doc_id": n, "prediction": one, **more} for n, one in enumerate(texts)])


def numbers(run, task="demo"):
    metrics = json.loads(run.read("summary.json"))["tasks"][task]["metrics"]
    return {name: record["value"] for name, record in metrics.items()}


def rows_of(run):
    return [json.loads(line) for line in run.read("results.jsonl").splitlines()]


def call(*args):
    return CliRunner().invoke(cli, [str(arg) for arg in args], standalone_mode=False)


def test_perfect_answers_score_one(folder):
    run = markbook.run_task("task.yaml", predictions=answers(folder, WORDS))

    assert numbers(run) == {"exact_match": 1, "bleu": 1, "rouge1": 1, "rouge2": 1, "edit_distance": 0}
    assert run.status == "done"
    row = rows_of(run)[0]
    assert row["prompt"] == "Say one two three four. Rule 0. You must obey."
    assert (row["doc_id"], row["references"], row["text"]) == (0, [WORDS[0]], WORDS[0])


def test_an_absent_answer_is_missing_and_not_zero(folder):
    run = markbook.run_task("task.yaml", predictions=answers(folder, WORDS[:2]))

    record = json.loads(run.read("summary.json"))["tasks"]["demo"]["metrics"]["exact_match"]
    assert (record["value"], record["n"], record["n_missing"]) == (1.0, 2, {"absent": 1})
    assert record["bounds"] == [pytest.approx(2 / 3), 1.0]
    assert rows_of(run)[2]["missing"]["bleu"]["kind"] == "absent"
    assert run.status == "done"


def test_the_worst_policy_counts_it_as_the_worst_end(folder):
    run = markbook.run_task("task.yaml", predictions=answers(folder, WORDS[:2]), missing="worst")

    found = numbers(run)
    assert found["exact_match"] == pytest.approx(2 / 3)
    assert found["edit_distance"] == pytest.approx(1 / 3)


def test_several_answers_to_a_row_count_as_one_row(folder):
    rows = [
        {"doc_id": 0, "prediction": [WORDS[0], "x"]},
        {"doc_id": 1, "prediction": [WORDS[1]]},
        {"doc_id": 2, "prediction": ["x"]},
    ]
    run = markbook.run_task("task.yaml", predictions=write(folder / "a.jsonl", rows), samples=2)

    record = json.loads(run.read("summary.json"))["tasks"]["demo"]["metrics"]["exact_match"]
    assert (record["value"], record["n"]) == (pytest.approx((0.5 + 1 + 0) / 3), 3)
    assert len(rows_of(run)) == 4


def test_two_runs_give_the_same_bytes(folder):
    path = answers(folder, ["one two", "five", ""])

    runs = [markbook.run_task("task.yaml", predictions=path) for _ in range(2)]

    for name in ("results.jsonl", "summary.json", "summary.md"):
        assert runs[0].read(name) == runs[1].read(name)


def test_rows_in_another_order_give_the_same_numbers(folder):
    (folder / "own.py").write_text("def length(references, predictions):\n    return len(predictions[0])\n")
    found = []
    for name, order in (("one", range(20)), ("two", [n * 7 % 20 for n in range(20)])):
        texts = [" ".join(["one two three four", "five", "six seven"][: n % 4]) + " end" * (n % 7) for n in order]
        write(folder / f"{name}.jsonl", [{"word": f"one two three four five {n}"} for n in order])
        (folder / f"{name}.yaml").write_text(
            f"task: demo\ndataset_path: json\ndataset_kwargs: {{data_files: {name}.jsonl}}\ntest_split: train\n"
            "doc_to_text: word\ndoc_to_target: word\nmetric_list:\n"
            "- {metric: !function own.length, aggregation: median, higher_is_better: true}\n"
            "- {metric: bleu, aggregation: bleu, higher_is_better: true}\n"
        )
        rows = [{"doc_id": n, "prediction": text} for n, text in enumerate(texts)]

        run = markbook.run_task(f"{name}.yaml", predictions=write(folder / f"{name}-a.jsonl", rows), allow_code=True)

        metrics = json.loads(run.read("summary.json"))["tasks"]["demo"]["metrics"].items()
        found.append({metric: (summary["value"], summary["interval"]) for metric, summary in metrics})

    assert all(interval for _, interval in found[0].values())
    assert found[0] == found[1]


def test_every_filter_pipeline_has_its_own_marks(folder):
    (folder / "lm.yaml").write_text(
        "task: demo\ndataset_path: json\ndataset_kwargs: {data_files: rows.jsonl}\ntest_split: train\n"
        "doc_to_text: word\ndoc_to_target: word\nrepeats: 2\n"
        "filter_list:\n"
        "  - {name: first, filter: [{function: take_first}]}\n"
        "  - {name: quoted, filter: [{function: regex, regex_pattern: '<(.*)>'}, {function: take_first}]}\n"
        "metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]\n",
        encoding="utf-8",
    )
    rows = [{"doc_id": n, "prediction": [f"<{word}>", word]} for n, word in enumerate(WORDS)]

    run = markbook.run_task("lm.yaml", predictions=write(folder / "a.jsonl", rows))

    assert numbers(run) == {"exact_match,first": 0, "exact_match,quoted": 1}


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("blue", r"task\.yaml:7:5: unknown metric 'blue' \(did you mean 'bleu'"),
        ("{name: rouge1, options: {stem: true}}", r"task\.yaml:7:30: .*no option 'stem' \(did you mean 'stemmer'"),
        ("path_convergence", r"task\.yaml:7:5: path_convergence does not mark texts"),
        ("{name: rouge2}", "two metrics are named 'rouge2'"),
        (
            "{name: chrf, options: {lowercase: no}}",
            r"task\.yaml:7:5: metric 'chrf': lowercase must be true or false, not 'no'",
        ),
    ],
)
def test_a_metric_that_does_not_fit_is_named_and_nothing_is_written(folder, metric, words):
    (folder / "task.yaml").write_text(TASK.replace("exact_match", metric), encoding="utf-8")

    with pytest.raises(ConfigError, match=words):
        markbook.run_task("task.yaml", predictions=answers(folder, WORDS))
    assert not (folder / "generated").exists()


def test_a_metric_without_anything_to_compare_with_is_refused(folder):
    (folder / "task.yaml").write_text(TASK.replace('reference: "{{ word }}"\n', ""), encoding="utf-8")

    with pytest.raises(ConfigError, match="compares with a right answer, and this task has none"):
        markbook.run_task("task.yaml", predictions=answers(folder, WORDS))


def test_a_direction_that_is_upside_down_is_refused(folder):
    (folder / "lm.yaml").write_text(
        "task: demo\ndataset_path: json\ndataset_kwargs: {data_files: rows.jsonl}\ntest_split: train\n"
        "doc_to_text: word\ndoc_to_target: word\n"
        "metric_list: [{metric: !function utils.edit_distance, higher_is_better: true}]\n",
        encoding="utf-8",
    )

    with pytest.raises(ConfigError, match=r"lm\.yaml:7:55: higher_is_better: true contradicts edit_distance"):
        markbook.run_task("lm.yaml", predictions=answers(folder, WORDS))


def test_an_unregistered_function_is_refused_and_its_file_never_runs(folder):
    (folder / "utils.py").write_text(
        "open('canary', 'w').close()\ndef own(references, predictions): return 0.25\n", encoding="utf-8"
    )
    (folder / "lm.yaml").write_text(
        "task: demo\ndataset_path: json\ndataset_kwargs: {data_files: rows.jsonl}\ntest_split: train\n"
        "doc_to_text: word\ndoc_to_target: word\nmetric_list: [{metric: !function utils.own}]\n",
        encoding="utf-8",
    )
    path = answers(folder, WORDS)

    with pytest.raises(ConfigError, match=r"!function utils\.own is not a registered metric .*--allow-code"):
        markbook.run_task("lm.yaml", predictions=path)
    assert not (folder / "canary").exists()

    run = markbook.run_task("lm.yaml", predictions=path, allow_code=True)
    assert numbers(run) == {"own": 0.25}
    assert (folder / "canary").exists()


def test_allowed_code_brings_rows_prompts_targets_and_filters(folder):
    (folder / "utils.py").write_text(
        "def docs(dataset):\n    return dataset.filter(lambda row: 'five' in row['word']).map(lambda row: {'n': len(row['word'])})\n"
        "def ask(row):\n    return f\"{row['n']} letters\"\n"
        "def target(row):\n    return row['word'].upper()\n"
        "def shout(resps, docs):\n    return [[each.upper() for each in several] for several in resps]\n"
        "def both(pair):\n    return {'both': float(pair[0] == pair[1])}\n",
        encoding="utf-8",
    )
    (folder / "lm.yaml").write_text(
        "task: demo\ndataset_path: json\ndataset_kwargs: {data_files: rows.jsonl}\ntest_split: train\n"
        "process_docs: !function utils.docs\ndoc_to_text: !function utils.ask\ndoc_to_target: !function utils.target\n"
        "filter_list: [{name: f, filter: [{function: custom, filter_fn: !function utils.shout}, {function: take_first}]}]\n"
        "metric_list: [{metric: !function utils.both}, {metric: exact_match}]\n",
        encoding="utf-8",
    )

    run = markbook.run_task("lm.yaml", predictions=answers(folder, [WORDS[1]]), allow_code=True)

    assert numbers(run) == {"both": 1, "exact_match": 1}
    assert rows_of(run)[0]["prompt"] == "20 letters"


def test_code_outside_the_tasks_folder_is_refused(folder):
    outside = folder.parent / f"{folder.name}_outside.py"
    outside.write_text("def own(references, predictions): return 1.0\n", encoding="utf-8")
    (folder / "utils.py").symlink_to(outside)
    (folder / "lm.yaml").write_text(
        "task: demo\ndataset_path: json\ndataset_kwargs: {data_files: rows.jsonl}\ntest_split: train\n"
        "doc_to_text: word\ndoc_to_target: word\nmetric_list: [{metric: !function utils.own}]\n",
        encoding="utf-8",
    )

    with pytest.raises(ConfigError, match="leads out of the task's folder"):
        markbook.run_task("lm.yaml", predictions=answers(folder, WORDS), allow_code=True)


def test_answers_to_nothing_are_an_error_with_the_ids(folder):
    with pytest.raises(DataError, match="3 answers name other rows"):
        markbook.run_task(
            "task.yaml", predictions=write(folder / "a.jsonl", [{"id": f"x{n}", "prediction": ""} for n in range(3)])
        )
    assert not (folder / "generated").exists()


def test_strict_refuses_what_would_be_skipped(folder):
    path = write(folder / "a.jsonl", [{"doc_id": 0, "prediction": "x"}, {"doc_id": 1}])

    with pytest.raises(StrictDataError, match=r"a\.jsonl:2"):
        markbook.run_task("task.yaml", predictions=path, strict=True)
    assert markbook.run_task("task.yaml", predictions=path).manifest["skipped"] == {"rows_and_answers": 1}


def test_neither_or_both_sources_of_answers_are_refused(folder):
    with pytest.raises(UsageError, match="one of --predictions and --model"):
        markbook.run_task("task.yaml")
    with pytest.raises(UsageError, match="one of --predictions and --model"):
        markbook.run_task("task.yaml", predictions="x", model="openai:m")


def test_an_output_that_cannot_be_written_is_found_before_anything_is_asked(folder):
    (folder / "taken").write_text("", encoding="utf-8")
    with FakeOpenAI(lambda _r, _n: text("x")) as server:
        with pytest.raises(OutputError):
            markbook.run_task("task.yaml", model="openai:m", base_url=server.base_url, output="taken")
        assert server.calls == 0


def test_context_modes_are_compared_row_by_row(folder):
    def script(request, _number):
        asked = request["messages"][-1]["content"]
        word = asked.removeprefix("Say ").partition(".")[0]
        return text(word if "Rule" in asked else word if "one" in asked and "must" in asked else "no idea")

    with FakeOpenAI(script) as server:
        run = markbook.run_task(
            "task.yaml", model="openai:m", base_url=server.base_url, contexts=("full", "minimal", "none")
        )

    summary = json.loads(run.read("summary.json"))
    assert list(summary["tasks"]) == ["demo", "demo_minimal_context", "demo_no_context"]
    found = {tuple(each["contexts"]): each for each in summary["comparisons"] if each["metric"] == "exact_match"}
    assert found["full", "none"]["difference"] == 1
    assert found["full", "minimal"]["difference"] == pytest.approx(2 / 3)
    assert found["full", "minimal"]["n"] == 3
    assert found["full", "minimal"]["verdict"] == "not distinguishable"
    assert found["full", "minimal"]["p_adjusted"] >= found["full", "minimal"]["p"]
    assert "Context modes compared" in run.read("summary.md")


def test_context_modes_are_compared_by_the_test_and_the_interval_of_compare(folder):
    """Five rows, all right with the context and one without: t said [+24.5, +135.5] and p = .016."""
    write(folder / "rows.jsonl", [{"word": f"word {n}", "context": f"It must be {n}. More."} for n in range(5)])
    (folder / "preds").mkdir()
    answers(folder / "preds", [f"word {n}" for n in range(5)], "demo.jsonl")
    answers(folder / "preds", ["word 0", "no", "no", "no", "no"], "demo_no_context.jsonl")

    both = call("run", "task.yaml", "--predictions", "preds", "--context", "full", "none", "--json", "-o", "both")
    for name, file in (("full", "demo"), ("none", "demo_no_context")):
        call("run", "task.yaml", "--predictions", f"preds/{file}.jsonl", "-o", name)
    compared = json.loads(call("compare", "full", "none", "--metric", "exact_match", "--json").output)

    gaps = {gap["metric"]: gap for gap in json.loads(both.stdout)["comparisons"]}
    gap, (pair,) = gaps["exact_match"], compared["pairs"]
    assert (gap["p"], gap["verdict"], gap["n"]) == (0.125, "not distinguishable", 5)
    assert gap["interval"]["method"] == "tango"
    assert 0 < gap["interval"]["low"] < gap["difference"] == 0.8 < gap["interval"]["high"] <= 1
    assert [gap[name] for name in ("interval", "p", "note")] == [pair[name] for name in ("interval", "p", "note")]
    assert all(-1 <= gap["interval"]["low"] <= gap["interval"]["high"] <= 1 for gap in gaps.values())


def test_context_modes_without_a_common_row_are_not_equal(folder):
    (folder / "preds").mkdir()
    write(folder / "preds" / "demo.jsonl", [{"doc_id": 0, "prediction": WORDS[0]}])
    write(folder / "preds" / "demo_no_context.jsonl", [{"doc_id": 1, "prediction": WORDS[1]}])

    found = call("run", "task.yaml", "--predictions", "preds", "--context", "full", "none", "--json")

    for gap in json.loads(found.stdout)["comparisons"]:
        assert (gap["difference"], gap["p"], gap["n"], gap["n_left_out"]) == (None, None, 0, 3)
        assert gap["verdict"] == "no row has a value in both"


def test_context_modes_count_what_is_missing_as_the_run_does(folder):
    """Without the context one of three rows is answered, rightly: by the policy `worst` the other two are wrong."""
    (folder / "preds").mkdir()
    answers(folder / "preds", WORDS, "demo.jsonl")
    answers(folder / "preds", WORDS[:1], "demo_no_context.jsonl")
    command = ("run", "task.yaml", "--predictions", "preds", "--context", "full", "none", "--json")

    gaps = {}
    for policy in ("exclude", "worst"):
        found = json.loads(call(*command, "--missing", policy).stdout)
        gaps[policy] = next(gap for gap in found["comparisons"] if gap["metric"] == "exact_match")

    assert (gaps["exclude"]["difference"], gaps["exclude"]["n"], gaps["exclude"]["n_left_out"]) == (0, 1, 2)
    assert gaps["worst"]["difference"] == pytest.approx(2 / 3)
    assert (gaps["worst"]["n"], gaps["worst"]["n_left_out"]) == (3, 0)


def test_context_modes_that_change_nothing_are_refused(folder):
    write(folder / "rows.jsonl", [{"word": word} for word in WORDS])

    with pytest.raises(UsageError, match="the same in two context modes"):
        markbook.run_task("task.yaml", model="openai:m", base_url="http://127.0.0.1:9/v1", contexts=("full", "none"))


def test_a_group_sums_up_by_rows_or_by_tasks(folder):
    write(folder / "more.jsonl", [{"word": "x"}])
    (folder / "two.yaml").write_text("extends: task.yaml\nname: two\ndata: {path: more.jsonl}\n", encoding="utf-8")
    (folder / "all.yaml").write_text(
        "group: all\ntasks: [demo, two]\nsummarise: [{metric: exact_match}, {metric: bleu, weight_by_size: false}]\n",
        encoding="utf-8",
    )
    (folder / "preds").mkdir()
    answers(folder / "preds", WORDS, "demo.jsonl")
    answers(folder / "preds", ["y"], "samples_two.jsonl")

    run = markbook.run_task("all.yaml", predictions="preds")

    group = json.loads(run.read("summary.json"))["groups"]["all"]["metrics"]
    assert (group["exact_match"]["value"], group["exact_match"]["n"]) == (0.75, 4)
    assert group["bleu"]["value"] == pytest.approx(0.5)
    assert group["bleu"]["interval"] is None


@pytest.mark.parametrize("weight", ["true", "false"])
def test_a_group_says_which_of_its_tasks_measure_in_other_ways(folder, weight, capsys):
    metrics = "metrics: [exact_match, {name: bleu, options: {smooth_method: exp}}]\n"
    (folder / "two.yaml").write_text("extends: task.yaml\nname: two\n" + metrics, encoding="utf-8")
    metrics = "metrics: [exact_match, {name: bleu, options: {smooth_method: none}}]\n"
    (folder / "one.yaml").write_text("extends: task.yaml\nname: one\n" + metrics, encoding="utf-8")
    (folder / "all.yaml").write_text(
        f"group: all\ntasks: [one, two]\nsummarise: [{{metric: exact_match}}, {{metric: bleu, weight_by_size: {weight}}}]\n",
        encoding="utf-8",
    )
    (folder / "preds").mkdir()
    for name, words in (("one", WORDS), ("two", ["x"] * 3)):
        answers(folder / "preds", words, f"{name}.jsonl")

    run = markbook.run_task("all.yaml", predictions="preds")
    with pytest.raises(SystemExit):
        main(["run", "all.yaml", "--predictions", "preds"])

    words = "'bleu' was measured differently: one by smooth:none; two by smooth:exp"
    group = json.loads(run.read("summary.json"))["groups"]["all"]["metrics"]
    assert group["bleu"]["value"] == pytest.approx(0.5)
    assert words in group["bleu"]["note"]
    assert "smooth:none" in group["bleu"]["signature"]
    assert "smooth:exp" in group["bleu"]["signature"]
    assert "measured differently" not in group["exact_match"]["note"]
    assert words in " ".join(capsys.readouterr().out.split())
    sheet = read_sheet(run, metric="bleu")
    assert f"{words}." in sheet.notes


OWN_LENGTH = """\
task: NAME
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: "{{ word }}"
process_results: !function own.score
metric_list: [{metric: own_length, aggregation: mean, higher_is_better: false}]
"""


@pytest.mark.parametrize(
    ("answered", "weight", "value", "note"),
    [
        (2, "true", 9 / 5, "1 missing left out: the range has no worst value"),
        (2, "false", 7 / 4, "1 missing left out: the range has no worst value"),
        (0, "true", None, "no value: two has none"),
    ],
)
def test_a_group_of_numbers_without_a_worst_value_says_what_it_leaves_out(
    folder, capsys, answered, weight, value, note
):
    (folder / "own.py").write_text("def score(doc, results):\n    return {'own_length': len(results[0])}\n")
    for name in ("one", "two"):
        (folder / f"{name}.yaml").write_text(OWN_LENGTH.replace("NAME", name))
    aggregates = f"aggregate_metric_list: [{{metric: own_length, weight_by_size: {weight}}}]\n"
    (folder / "all.yaml").write_text(f"group: all\ntask: [one, two]\n{aggregates}")
    (folder / "preds").mkdir()
    answers(folder / "preds", ["a", "bb", "ccc"], "one.jsonl")
    answers(folder / "preds", ["a", "bb"][:answered] or [None], "two.jsonl")

    with pytest.raises(SystemExit):
        main(["run", "all.yaml", "--predictions", "preds", "--allow-code", "--output", "out", "--missing", "worst"])

    told = " ".join(capsys.readouterr().out.split())
    run = markbook.open_run(next((folder / "out").glob("evaluation_*")))
    record = json.loads(run.read("summary.json"))["groups"]["all"]["metrics"]["own_length"]
    assert record["value"] == (None if value is None else pytest.approx(value))
    assert note in record["note"]
    assert note in told.partition("Groups")[2]
    assert f"{3 - answered} missing left out: the range has no worst value" in told.partition("Groups")[0]


CHOICES = """\
task: chosen
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: "{{ word }}"
doc_to_target: 0
doc_to_choice: [right, wrong]
output_type: multiple_choice
metric_list: [{metric: acc}]
"""
OWN_ACC = """\
task: own
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: "{{ word }}"
doc_to_target: "{{ word }}"
output_type: generate_until
process_results: !function own_acc.score
metric_list: [{metric: acc, aggregation: mean, higher_is_better: true}]
"""


@pytest.mark.parametrize("order", ["chosen, own", "own, chosen"])
@pytest.mark.parametrize("by_size", ["true", "false"])
@pytest.mark.parametrize(
    ("gives", "change", "value", "reason"),
    [
        ("0.5", "", 0.75, ""),
        ("85.0", "", None, "own gives 85, and chosen lies in 0..1"),
        ("0.5", "higher_is_better: false", None, "more is better in chosen, less in own"),
    ],
)
def test_a_group_pools_only_numbers_of_one_scale_and_direction(
    folder, capsys, order, by_size, gives, change, value, reason
):
    (folder / "chosen.yaml").write_text(CHOICES, encoding="utf-8")
    own = OWN_ACC.replace("higher_is_better: true", change) if change else OWN_ACC
    (folder / "own.yaml").write_text(own, encoding="utf-8")
    (folder / "own_acc.py").write_text(f"def score(doc, results):\n    return {{'acc': {gives}}}\n", encoding="utf-8")
    (folder / "all.yaml").write_text(
        f"group: all\ntask: [{order}]\naggregate_metric_list: [{{metric: acc, weight_by_size: {by_size}}}]\n",
        encoding="utf-8",
    )
    (folder / "preds").mkdir()
    weighed = [{"doc_id": n, "likelihoods": [[-1.0, True], [-2.0, False]]} for n in range(3)]
    write(folder / "preds" / "chosen.jsonl", weighed)
    answers(folder / "preds", WORDS, "own.jsonl")
    command = ["run", "all.yaml", "--predictions", "preds", "--allow-code", "--output", "out"]

    with pytest.raises(SystemExit) as stopped:
        main([*command, "--fail-under", "all/acc=0.7"])

    told, code = capsys.readouterr(), stopped.value.code
    run = markbook.open_run(next((folder / "out").glob("evaluation_*")))
    record = json.loads(run.read("summary.json"))["groups"]["all"]["metrics"]["acc"]
    assert (code, run.status) == (0 if value else 1, "done"), told.err
    assert (record["value"], record["n_items"]) == (value, 6)
    assert reason == "" or (record["n"], record["interval"], record["bounds"]) == (0, None, None)
    assert reason in record["note"]
    assert reason in " ".join(told.out.split())
    if value:
        assert read_sheet(run, metric="acc").range == (0.0, 1.0)
    else:
        with pytest.raises(UsageError, match="'acc' is two measures in this run"):
            read_sheet(run, metric="acc")


@pytest.mark.parametrize(("policy", "value", "code"), [("exclude", None, 1), ("worst", 0.5, 0)])
def test_a_group_has_no_number_where_one_of_its_tasks_has_none(group, capsys, policy, value, code):
    answers(group / "preds", [None] * 3, "two.jsonl")

    with pytest.raises(SystemExit) as stopped:
        main(
            [
                "run",
                "all.yaml",
                "--predictions",
                "preds",
                "--missing",
                policy,
                "--fail-under",
                "all/exact_match=40%",
                "--json",
            ]
        )

    told = capsys.readouterr()
    record = json.loads(told.out)["groups"]["all"]["metrics"]["exact_match"]
    assert (stopped.value.code, record["value"]) == (code, value), told.err
    assert value or "two has none" in record["note"]


GROUP = "group: all\ntasks: [demo, two]\nsummarise: [{metric: METRIC}]\n"


@pytest.fixture
def group(folder):
    """Return a group of two tasks, of which one is answered all right and the other all wrong."""
    (folder / "two.yaml").write_text("extends: task.yaml\nname: two\n", encoding="utf-8")
    (folder / "preds").mkdir()
    answers(folder / "preds", WORDS, "demo.jsonl")
    answers(folder / "preds", ["x"] * 3, "two.jsonl")
    (folder / "all.yaml").write_text(GROUP.replace("METRIC", "exact_match"), encoding="utf-8")
    return folder


def test_a_groups_metric_that_no_task_has_is_refused_before_anything_is_written(group):
    (group / "all.yaml").write_text(GROUP.replace("METRIC", "exact_mach"), encoding="utf-8")

    with pytest.raises(
        ConfigError, match=r"all\.yaml:3:22: no task of the group 'all' has .*'exact_mach'.*'exact_match'"
    ):
        markbook.run_task("all.yaml", predictions="preds")
    assert not (group / "generated").exists()


@pytest.mark.parametrize(
    ("gate", "code", "words"),
    [
        ("all/exact_match=50%", 0, ""),
        ("all/exact_match=51%", 1, "all/exact_match is 50%"),
        ("all/bleu=10%", 2, "is called 'all/bleu'"),
        ("two/exact_match=10%", 1, "two/exact_match is 0%"),
    ],
)
def test_a_gate_holds_a_groups_number(group, capsys, gate, code, words):
    with pytest.raises(SystemExit) as stopped:
        main(["run", "all.yaml", "--predictions", "preds", "--fail-under", gate])

    assert stopped.value.code == code
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("file", ["{}.jsonl", "samples_{}.jsonl"])
def test_a_folder_with_a_file_for_each_task_is_one_model(folder, file):
    (folder / "two.yaml").write_text("extends: task.yaml\nname: two\n", encoding="utf-8")
    (folder / "all.yaml").write_text("group: all\ntasks: [demo, two]\n", encoding="utf-8")
    (folder / "preds").mkdir()
    for task in ("demo", "two"):
        answers(folder / "preds", WORDS, file.format(task))
    old, new = (markbook.run_task("all.yaml", predictions="preds", output=name) for name in ("old", "new"))

    found = call("compare", old.folder, new.folder, "--json")
    held = call("run", "all.yaml", "--predictions", "preds", "-o", "held", "--fail-if-worse", old.folder)

    assert {row["model"] for row in rows_of(new)} == {"preds"}
    assert [pair["n"] for pair in json.loads(found.output)["pairs"]] == [6]
    assert (found.return_value or 0, held.return_value or 0, held.exception) == (0, 0, None)


def test_a_run_of_results_can_be_marked_again(folder):
    first = markbook.run_task("task.yaml", predictions=answers(folder, ["one two", "five", "nine ten eleven twelve"]))

    again = markbook.run_task("task.yaml", predictions=first.folder)

    assert numbers(again) == numbers(first)


@pytest.mark.parametrize("version", ["nan", "inf", "1e999"])
def test_a_version_that_is_a_number_without_json_is_a_name_in_the_harness_files(folder, version):
    (folder / "task.yaml").write_text(TASK.replace("version: 3", f"version: '{version}'"), encoding="utf-8")
    run = markbook.run_task("task.yaml", predictions=answers(folder, WORDS))

    assert call("report", run.folder, "--format", "lm-eval", "--output", "out").exception is None

    results = json.loads(next((folder / "out").glob("results_*.json")).read_text(encoding="utf-8"))
    assert results["versions"]["demo"] == version


def test_the_harness_files_are_written_and_read_back(folder):
    first = markbook.run_task("task.yaml", predictions=answers(folder, ["one two", "five", ""], model="m1"))

    assert call("report", first.folder, "--format", "lm-eval", "--output", "out").exception is None

    date = re.sub(r"\+00:00$", "", first.manifest["started"]).replace(":", "-")
    written = sorted((folder / "out").iterdir())
    assert [path.name for path in written] == [f"results_{date}.json", f"samples_demo_{date}.jsonl"]
    before = [path.read_bytes() for path in written]
    assert call("report", first.folder, "--format", "lm-eval", "--output", "out").exception is None
    assert [path.read_bytes() for path in sorted((folder / "out").iterdir())] == before
    results = json.loads(before[0])
    assert results["results"]["demo"]["bleu,none"] == numbers(first)["bleu"]
    assert results["higher_is_better"]["demo"] == {
        "exact_match": True, "bleu": True, "rouge1": True, "rouge2": True, "edit_distance": False,
    }  # fmt: skip
    assert results["n-samples"]["demo"] == {"original": 3, "effective": 3}
    assert results["versions"]["demo"] == 3
    assert results["model_name"] == "m1"
    values = [json.loads(line)["exact_match"] for line in before[1].splitlines()]
    assert results["results"]["demo"]["exact_match_stderr,none"] == pytest.approx(statistics.stdev(values) / 3**0.5)
    assert results["date"] == datetime.fromisoformat(first.manifest["started"]).timestamp()
    again = markbook.run_task("task.yaml", predictions="out")
    assert numbers(again) == numbers(first)


def test_two_runs_are_compared_on_the_same_rows(folder):
    first = markbook.run_task("task.yaml", predictions=answers(folder, WORDS, model="m1"))
    second = markbook.run_task("task.yaml", predictions=answers(folder, ["x", "y", WORDS[2]], "b.jsonl", model="m2"))

    found = call("compare", first.folder, second.folder, "--metric", "exact_match", "--json")

    assert found.exception is None
    (pair,) = json.loads(found.stdout)["pairs"]
    assert abs(pair["difference"]) == pytest.approx(2 / 3)


def test_measuring_in_workers_gives_the_same_bytes(folder, monkeypatch):
    monkeypatch.setattr("markbook.runs.tasks.grading.MANY", 2)
    monkeypatch.setattr("markbook.runs.tasks.grading._MANY_BYTES", 1)
    monkeypatch.setattr("markbook.runs.tasks.grading._PIECE", 1)
    path = answers(folder, ["one two", "", "nine ten eleven twelve"])

    alone = markbook.run_task("task.yaml", predictions=path)
    shared = markbook.run_task("task.yaml", predictions=path, workers=2)

    for name in ("results.jsonl", "summary.json"):
        assert alone.read(name) == shared.read(name)


def seconds_used(group):
    """Return the processor time of each process of a group that computes, itself and its workers."""
    used = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(") ")[2].split()
            used += [int(fields[11]) / os.sysconf("SC_CLK_TCK")] * (int(fields[2]) == group)
    return sorted(used)[-3:]


@pytest.mark.slow
def test_ctrl_c_ends_a_run_and_its_workers_in_one_line(folder):
    count = 8000  # half an hour of work for TER: a busy machine cannot come to the end before the signal
    write(folder / "rows.jsonl", [{"word": f"word number {n} of many more " * 12} for n in range(count)])
    (folder / "task.yaml").write_text(TASK.replace("- bleu", "- ter"), encoding="utf-8")
    path = answers(folder, ["another word of many more " * 12] * count)
    with subprocess.Popen(
        [sys.executable, "-m", "markbook", "run", "task.yaml", "--predictions", path, "--workers", "3"],
        stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - a build server may have it ignored; no threads here
    ) as process:  # fmt: skip
        deadline = time.monotonic() + PATIENCE
        try:
            # a piece of the work takes a worker minutes: by then each is at its first
            while len(used := seconds_used(process.pid)) < 3 or used[0] < 1.5:
                if time.monotonic() > deadline:
                    pytest.fail("the workers did not begin")
                time.sleep(0.1)
            os.killpg(process.pid, signal.SIGINT)
            told = process.communicate(timeout=PATIENCE / 4)[1]
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    assert process.returncode == 130
    assert re.fullmatch(
        r"(continue with: markbook run --resume generated/evaluation_\d+(_\d+)?\n+)?markbook: interrupted", told.strip()
    )


def say(request, _number):
    """Answer with something that depends on the question alone."""
    asked = request["messages"][-1]["content"]
    return text(hashlib.sha256(asked.encode()).hexdigest()[:8] + " " + asked)


def test_a_run_killed_half_way_is_resumed_without_asking_twice(folder):
    write(folder / "rows.jsonl", [{"word": f"word number {n}", "context": None} for n in range(30)])
    stuck = threading.Event()
    replied = {"before": [], "after": []}
    phase = ["before"]

    def script(request, number):
        if phase[0] == "before" and number >= 12:
            stuck.set()
            return Wire(b"{}", seconds=30)  # these are under way when the run is killed: nobody ever gets their reply
        if number % 7 == 3:
            return FAULTS[["500", "429_seconds", "cut", "broken_body"][number // 7 % 4]](request, number)
        replied[phase[0]].append(request["messages"][-1]["content"])
        return say(request, number)

    with FakeOpenAI(script) as server:
        args = [
            "run",
            "task.yaml",
            "--model",
            "openai:m",
            "--base-url",
            server.base_url,
            "--concurrency",
            "3",
            "--retries",
            "6",
        ]
        command = [sys.executable, "-m", "markbook", *args]
        with subprocess.Popen(
            [*command, "--output", "broken"], stderr=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process:
            assert stuck.wait(PATIENCE)
            time.sleep(0.3)  # so that the replies that were sent are on disk
            os.kill(process.pid, signal.SIGKILL)
            process.communicate(timeout=PATIENCE)
        (run_folder,) = (folder / "broken").iterdir()
        kept = [row.key for row in markbook.open_run(run_folder).rows("completion")]
        phase[0] = "after"
        done = subprocess.run([*command, "--resume", run_folder], capture_output=True, timeout=PATIENCE, check=False)
        assert done.returncode == 0, done.stderr.decode()
        calls = server.calls
        again = subprocess.run([*command, "--resume", run_folder], capture_output=True, timeout=PATIENCE, check=False)
        assert (again.returncode, server.calls) == (0, calls)
        whole = markbook.run_task("task.yaml", model="openai:m", base_url=server.base_url, output="whole", retries=6)

    assert 0 < len(kept) < 30
    assert len(replied["before"]) == len(kept)
    assert set(replied["before"]).isdisjoint(replied["after"][: 30 - len(kept)])
    resumed = markbook.open_run(run_folder)
    for name in ("results.jsonl", "summary.json", "summary.md"):
        assert resumed.read(name) == whole.read(name)


WHOLE = {"kind": "completion", "key": ["demo", "0", 0], "data": {"text": WORDS[0]}}


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({"foo": 1}, ""),
        ({**WHOLE, "data": []}, ""),
        ({**WHOLE, "key": ["demo", "0", [0]]}, ""),
        ({**WHOLE, "key": "demo"}, ""),
        ({**WHOLE, "kind": ["completion"]}, ""),
        ({**WHOLE, "data": {}}, "text"),
        ({**WHOLE, "data": {"text": None}}, "text"),
        ({**WHOLE, "data": {"text": 5}}, "text"),
        ({**WHOLE, "data": {"text": "x", "input_tokens": "many"}}, "input_tokens"),
        ({**WHOLE, "data": {"text": "x", "cost_at_most": "x"}}, "cost_at_most"),
        ({**WHOLE, "kind": "unanswered", "data": {"cost_at_most": "x"}}, "cost_at_most"),
    ],
)
def test_a_row_of_another_shape_in_the_journal_is_done_again_or_named(folder, capsys, row, field):
    """Such a row ended every resume with a traceback, or counted as an empty answer."""
    with FakeOpenAI(say) as server:
        run = markbook.run_task("task.yaml", model="openai:m", base_url=server.base_url, output="out")
        record, before = json.loads((run.folder / "run.json").read_text()), numbers(run)
        kept = {name: value for name, value in record.items() if name not in ("journal", "published")}
        (run.folder / "run.json").write_text(json.dumps({**kept, "status": "running"}))
        body = json.dumps(row)[1:].encode() + b"\n"
        (run.folder / "journal" / "00000001.jsonl").write_bytes(b'{"crc":"%08x",%s' % (zlib.crc32(body), body))
        with pytest.raises(SystemExit) as stopped:
            main(["run", "--resume", str(run.folder)])

    told = capsys.readouterr().err
    assert stopped.value.code == (2 if field else 0), told
    assert field == "" or f"{field!r} is not what stands there" in told
    assert field or numbers(markbook.open_run(run.folder)) == before


def test_a_resumed_run_of_other_arguments_is_refused(folder):
    path = answers(folder, WORDS)
    run = markbook.run_task("task.yaml", predictions=path)

    with pytest.raises(UsageError, match=r"config\.seed"):
        markbook.run_task("task.yaml", predictions=path, resume=run.folder, seed=1)
    answers(folder, ["x", "y", "z"])
    with pytest.raises(UsageError, match=r"inputs\."):
        markbook.run_task("task.yaml", predictions=path, resume=run.folder)


def test_a_model_that_is_down_leaves_an_incomplete_run_that_can_be_taken_up(folder, capsys):
    with FakeOpenAI(FAULTS["500"]) as server:
        script = server
        with pytest.raises(SystemExit) as ended:
            main(
                [
                    "run",
                    "task.yaml",
                    "--model",
                    "openai:m",
                    "--base-url",
                    server.base_url,
                    "--retries",
                    "0",
                    "--output",
                    "out",
                ]
            )
        assert ended.value.code == 3
        (run_folder,) = (folder / "out").iterdir()
        run = markbook.open_run(run_folder)
        assert run.status == "incomplete"
        assert rows_of(run)[0]["metrics"]["bleu"] is None
        assert run.manifest["usage"]["cost"] is None
        script._script = say
        run = markbook.run_task("task.yaml", model="openai:m", base_url=server.base_url, retries=0, resume=run_folder)
    assert run.status == "done"
    assert "incomplete" in capsys.readouterr().err


def test_keys_are_written_nowhere(folder, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-4711")
    with FakeOpenAI(FAULTS["401"]) as server:
        url = server.base_url.replace("http://", "http://user:canary-password@")
        run = markbook.run_task("task.yaml", model="openai:m", base_url=url)

    for path in run.folder.rglob("*"):
        if path.is_file():
            assert b"canary" not in path.read_bytes(), path


def test_the_command_prints_tables_and_json(folder):
    path = answers(folder, WORDS)

    shown = call("run", "task.yaml", "--predictions", path)
    found = call("run", "task.yaml", "--predictions", path, "--json")

    assert "bleu" in shown.stdout
    assert "100.0" in shown.stdout
    record = json.loads(found.stdout)
    assert record["tasks"]["demo"]["metrics"]["bleu"]["value"] == 1
    assert (found.return_value, shown.return_value) == (0, 0)


def test_context_takes_several_values_as_users_write_them(folder):
    (folder / "preds").mkdir()
    answers(folder / "preds", WORDS, "demo.jsonl")
    answers(folder / "preds", ["x", *WORDS[1:]], "demo_no_context.jsonl")

    found = call("run", "task.yaml", "--predictions", "preds", "--context", "full", "none", "--json")

    assert found.exception is None
    differences = {each["metric"]: each["difference"] for each in json.loads(found.stdout)["comparisons"]}
    assert differences["exact_match"] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("gate", "code"),
    [
        ("bleu=0.5", 0),
        ("bleu=1.1", 2),
        ("edit_distance=0.1", 0),
        ("edit_distance=-1", 2),
        ("demo/bleu=0.5", 0),
        ("blue=1", 2),
        ("bleu", 2),
    ],
)
def test_gates_set_the_exit_code(folder, gate, code):
    path = answers(folder, WORDS)

    with pytest.raises(SystemExit) as ended:
        main(["run", "task.yaml", "--predictions", str(path), "--fail-under", gate])
    assert ended.value.code == code


def test_the_command_ends_with_the_documented_codes(folder):
    answers(folder, WORDS)
    for args, code in (
        (["run", "nope.yaml", "--predictions", "answers.jsonl"], 2),
        (["run", "task.yaml", "--predictions", "nope.jsonl"], 2),
        (["run", "task.yaml"], 2),
        (["run", "task.yaml", "--predictions", "answers.jsonl", "--output", "task.yaml"], 73),
    ):
        with pytest.raises(SystemExit) as ended:
            main(args)
        assert ended.value.code == code, args


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--model", "openai:x"], "needs a key"),
        (["--model", "nope:x"], "unknown provider"),
        (["--model", "openai:x", "--base-url", "localhost:8000"], "not an address of a server"),
        (["--predictions", "answers.jsonl", "--fail-under", "blue=1"], "no model or metric is called 'blue'"),
        (["--predictions", "answers.jsonl", "--engine", "raay"], "unknown engine 'raay'"),
        (["--predictions", "pipe.jsonl"], "not a regular file"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_written(folder, capsys, more, words):
    answers(folder, WORDS)
    os.mkfifo(folder / "pipe.jsonl")

    with pytest.raises(SystemExit) as stopped:
        main(["run", "task.yaml", *more])

    assert stopped.value.code == 2
    assert words in capsys.readouterr().err
    assert not (folder / "generated").exists()


def test_the_page_shows_score_against_cost_where_prices_are_known(folder):
    cheap = TASK.replace("name: demo", "name: cheap").replace("Say ", "Say it, ")
    (folder / "cheap.yaml").write_text(cheap, encoding="utf-8")

    def some_without_usage(request, number):
        wire = json.loads(say(request, number).body)
        if "Say it" not in json.dumps(request):
            del wire["usage"]
        return Wire(body=json.dumps(wire).encode())

    with FakeOpenAI(some_without_usage) as server:
        options = {"model": "openai:m", "base_url": server.base_url}
        priced = markbook.run_task(["task.yaml", "cheap.yaml"], price="2/10", **options)
        unpriced = markbook.run_task("task.yaml", **options)

    page = priced.read("report.html")
    row = page[page.index("Score and cost") :]
    # 100 tokens in at 2 dollars a million and 20 out at 10: 0.0004 an answer, 0.4 for a thousand.
    assert "0.4000" in row
    assert "3 of 3" in row
    assert "0 of 3" in row
    assert "Score against cost" not in unpriced.read("report.html")


def test_a_report_names_the_main_metric_and_what_the_answers_took_and_fits_a_phone(folder):
    with FakeOpenAI([text("def f(x):\n    return x")]) as server:
        run = markbook.run_task("python_code_repair", model="openai:m", base_url=server.base_url, output="out")
    path = run.folder / "report.html"
    page = path.read_text(encoding="utf-8")
    assert CliRunner().invoke(cli, ["report", str(run.folder)]).exit_code == 0

    n = page.count('class="problem"')
    assert (
        f"<dt>Model</dt><dd>{n} replies, {n} requests, tokens {100 * n:,} in, {20 * n} out, cost unknown</dd>" in page
    )
    assert "<dt>Answered by</dt><dd>openai:m</dd>" in page
    assert f"openai:m scores 0.0 by <span class=name>exact_match</span> on {n} rows" in page
    assert page.count("failed exact_match 0.0") == n
    assert path.read_text(encoding="utf-8") == page
    with chromium() as browser, Watched(browser, path.absolute().as_uri(), width=390) as watched:
        page = watched.page
        assert max(page.evaluate("[...document.querySelectorAll('.scroll tr')].map(one => one.offsetHeight)")) < 90
        text_of = "one => { const text = document.createRange(); text.selectNodeContents(one); return text; }"
        lines = f"[...document.querySelectorAll('.facts dt')].map({text_of}).map(one => one.getClientRects().length)"
        assert set(page.evaluate(lines)) == {1}
