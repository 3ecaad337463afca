"""Corners of other tools' files: ids and names that repeat, long first rows, plans, NaN, and what is left out."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.foreign_files import inspect_log, lm_eval

from markbook import open_run
from markbook.cli import cli
from markbook.errors import DataError, StorageError
from markbook.files.spool import Spool
from markbook.files.tables import read_table
from markbook.foreign.reading import read
from markbook.results.kind import open_results
from markbook.results.leaderboard import standings


def run_cli(*args):
    return CliRunner().invoke(cli, [str(arg) for arg in args], catch_exceptions=True)


def sheet_of(path, metric=None, columns=""):
    """Return the sheet of a file that `import` has read."""
    out = path.with_name(f"{path.name}-run")
    result = run_cli("import", path, *(["--map", columns] if columns else []), "-o", out)
    assert result.exit_code == 0, result.output
    return open_results(open_run(max(out.glob("*/run.json")).parent)).sheet(metric)


def figures(path, metric=None, columns=""):
    sheet = sheet_of(path, metric, columns)
    return {one.model: (one.summary.value, one.summary.n, one.summary.n_missing) for one in standings(sheet)}


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_two_perturbations_of_one_name_are_two_samples(tmp_path):
    def stats(value, **perturbation):
        stat = {"name": {"name": "exact_match"}, "count": 1, "sum": value}
        return {"instance_id": "id1", "train_trial_index": 0, "stats": [stat], "perturbation": perturbation}

    path = tmp_path / "per_instance_stats.json"
    path.write_text(json.dumps([stats(1.0, name="misspellings", prob=0.1), stats(0.0, name="misspellings", prob=0.5)]))

    sheet = sheet_of(path)

    assert sorted(cell.value for cell in sheet.marks[sheet.models[0]].values()) == [0.0, 1.0]


def test_of_chosen_samples_none_is_absent(tmp_path):
    path = lm_eval(tmp_path, 0)
    samples = next(path.parent.glob("samples_*"))
    rows = [json.loads(line) for line in samples.read_text().splitlines()]
    lines(samples, [row for row in rows if row["doc_id"] in (5, 10, 15)])
    document = json.loads(path.read_text())
    document["n-samples"]["sums"]["effective"] = 1319  # lm_eval writes the number of all documents with --samples
    document["results"]["sums"]["samples"] = 3  # and how many were scored
    path.write_text(json.dumps(document))

    (found,) = figures(path).values()

    assert found[1:] == (3, {})


@pytest.mark.parametrize(
    ("there", "key", "planned", "absent"),
    [
        ([5, 10, 15], None, 1319, 0),  # chosen by --samples, by a version that does not write how many
        ([5, 10, 15], "sample_len", 3, 0),
        ([0, 1, 2], None, 9, 6),  # the file ends early
        ([0, 1, 2, 3, 5, 6], None, 9, 3),
        ([20, 21, 22], None, 9, 0),  # not the plan's numbers
    ],
)
def test_what_is_absent_is_named_only_where_that_is_known(tmp_path, there, key, planned, absent):
    path = lm_eval(tmp_path, 0)
    samples = next(path.parent.glob("samples_*"))
    rows = [json.loads(line) for line in samples.read_text().splitlines()][: len(there)]
    lines(samples, [{**row, "doc_id": doc} for row, doc in zip(rows, there, strict=True)])
    document = json.loads(path.read_text())
    document["n-samples"]["sums"]["effective"] = 1319 if key else planned
    document["results"]["sums"] = {key: planned} if key else {}
    path.write_text(json.dumps(document))

    sheet = sheet_of(path)
    (cells,) = sheet.marks.values()

    assert len(cells) == len(there) + absent
    words = f"sums: {len(there)} of {planned} samples have rows; the file does not say whether the others were to be answered."
    assert (words in " ".join(sheet.notes)) == (not absent and key is None)


def test_a_plan_of_absurd_size_is_refused(tmp_path):
    path = inspect_log(tmp_path, 0, form="json")
    log = json.loads(path.read_text())
    log["eval"]["dataset"]["sample_ids"] = list(range(10_000))
    log["eval"]["config"]["epochs"] = 10_000
    path.write_text(json.dumps(log))

    result = run_cli("import", path, "-o", tmp_path / "out")

    assert isinstance(result.exception, DataError), result.exception
    assert "more than 1,000,000" in str(result.exception)


@pytest.mark.parametrize("form", ["jsonl", "json", "columns", "parquet"])
def test_nan_in_a_table_is_undefined(tmp_path, form):
    scores = {"a": 1.0, "b": float("nan"), "d": 0.0}
    rows = [{"item": item, "score": score} for item, score in scores.items()]
    if form == "jsonl":
        path = lines(tmp_path / "t.jsonl", rows)
    elif form == "json":
        path = tmp_path / "t.json"
        path.write_text(json.dumps(rows))
    elif form == "columns":
        path = tmp_path / "t.json"
        path.write_text(json.dumps({"item": list(scores), "score": list(scores.values())}))
    else:
        pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        path = tmp_path / "t.parquet"
        parquet.write_table(pyarrow.Table.from_pylist(rows), path)

    (found,) = figures(path, columns="item=item,score=score").values()

    assert found == (0.5, 2, {"undefined": 1})


def test_of_a_zips_members_with_one_name_the_last_counts(tmp_path):
    path = inspect_log(tmp_path, 0)
    with zipfile.ZipFile(path) as archive:
        name = next(name for name in archive.namelist() if name.startswith("samples/"))
        sample = json.loads(archive.read(name))
    before = next(iter(figures(path).values()))
    turned = "I" if sample["scores"]["match"]["value"] == "C" else "C"
    sample["scores"]["match"]["value"] = turned
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr(name, json.dumps(sample))

    after = next(iter(figures(path).values()))

    assert after[1:] == before[1:]
    assert after[0] - before[0] == pytest.approx((1 if turned == "C" else -1) / before[1])


@pytest.mark.parametrize("labels", [("0.0", "1.0"), ("seed-1", "seed-2"), (0.0, 1.0)])
def test_repeats_are_attempts_whatever_they_are_called(tmp_path, labels):
    rows = [{"item": item, "repeat": label, "score": at} for item in "ab" for at, label in enumerate(labels)]
    sheet = sheet_of(lines(tmp_path / "t.jsonl", rows))

    assert {item: (cell.value, cell.values) for item, cell in sheet.marks["t"].items()} == {
        "a": (0.5, (0.0, 1.0)),
        "b": (0.5, (0.0, 1.0)),
    }


def test_a_second_row_of_one_attempt_is_counted_and_left(tmp_path):
    rows = [
        {"item": "a", "repeat": 0, "score": 1},
        {"item": "a", "repeat": 0, "score": 1},
        {"item": "b", "repeat": 0, "score": 0},
    ]
    path = lines(tmp_path / "t.jsonl", rows)

    assert figures(path) == {"t": (0.5, 2, {})}
    assert any("a second row of one attempt" in note for note in sheet_of(path).notes)


def tau_trial(folder, rewards):
    rows = [{"task_id": 1, "reward": reward, "info": {}, "traj": [], "trial": 2} for reward in rewards]
    (folder / "m.json").write_text(json.dumps(rows))
    return folder / "m.json"


def inspect_epoch(folder, rewards):
    samples = [{"id": "q", "epoch": 3, "input": "q", "scores": {"match": {"value": reward}}} for reward in rewards]
    header = {"version": 2, "status": "success", "eval": {"model": "m", "dataset": {}, "task": "t"}, "plan": {}}
    (folder / "log.json").write_text(json.dumps({**header, "samples": samples}))
    return folder / "log.json"


def helm_trial(folder, rewards):
    stats = [{"stats": [{"name": {"name": "exact_match"}, "count": 1, "sum": reward}]} for reward in rewards]
    rows = [{"instance_id": "id1", "train_trial_index": 2, **stat} for stat in stats]
    (folder / "per_instance_stats.json").write_text(json.dumps(rows))
    return folder / "per_instance_stats.json"


@pytest.mark.parametrize("make", [tau_trial, inspect_epoch, helm_trial])
def test_two_rows_of_one_numbered_attempt_are_one_where_they_agree_and_refused_where_they_do_not(tmp_path, make):
    (value, n, _), *_ = figures(make(tmp_path, [1.0, 1.0])).values()
    refused = run_cli("compare", make(tmp_path, [1.0, 0.0]))

    assert (value, n) == (1.0, 1)
    assert isinstance(refused.exception, DataError)
    assert "two rows of one attempt have different scores" in str(refused.exception)


def test_two_metrics_of_one_name_are_two(tmp_path):
    marks = [{"name": "Correctness", "score": score} for score in (1.0, 0.0)]
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"testCases": [{"input": "q", "metricsData": marks}]}))

    assert figures(path, "Correctness") == {"run": (1.0, 1, {})}
    assert figures(path, "Correctness (2)") == {"run": (0.0, 1, {})}


def test_long_first_rows_hide_no_results(tmp_path):
    text = "x" * 70_000
    row = {"schema_version": "0.2.1", "evaluation_id": "e", "model_id": "A", "evaluation_name": "n", "sample_id": "1",
           "input": {"raw": text}, "output": {"raw": ["x"]}, "evaluation": {"score": 1.0}}  # fmt: skip
    lines(tmp_path / "eee.jsonl", [row, row | {"sample_id": "2"}])
    sample = {
        "doc_id": 0,
        "doc": {"q": text},
        "target": "x",
        "arguments": [["q", {}]],
        "resps": [["x"]],
        "filtered_resps": ["x"],
        "acc": 1.0,
    }
    lines(tmp_path / "samples_t.jsonl", [sample])
    case = {"input": "q", "retrievalContext": [text], "metricsData": [{"name": "m", "score": 1.0}]}
    (tmp_path / "deepeval.json").write_text(json.dumps({"testCases": [case]}))

    for name in ("eee.jsonl", "samples_t.jsonl", "deepeval.json"):
        assert next(iter(figures(tmp_path / name).values()))[0] == 1.0, name
    result = run_cli("import", tmp_path, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert len(list((tmp_path / "out").glob("*/run.json"))) == 3


def test_tasks_that_a_metric_does_not_cover_are_named(tmp_path):
    path = lm_eval(tmp_path, 0)
    samples = next(path.parent.glob("samples_sums_*"))
    rows = [json.loads(line) for line in samples.read_text().splitlines()]
    both = [row | {"filter": name} for row in rows for name in ("strict", "flexible")]
    lines(samples.with_name(samples.name.replace("sums", "words")), both)

    notes = sheet_of(path, "acc").notes

    assert any("acc: of the tasks sums, not of words" in note for note in notes)


def test_metrics_that_not_every_row_has_are_named(tmp_path):
    def case(at, name):
        return {"name": f"case {at}", "input": f"q{at}", "metricsData": [{"name": name, "score": 1.0}]}

    cases = [case(0, "Relevance"), case(1, "Relevance"), case(2, "Tone")]
    path = tmp_path / "cases.json"
    path.write_text(json.dumps({"testRunData": {"testCases": cases}}))

    assert read(path)[1].notes == ("Not every row has every metric: Relevance 2 of 3, Tone 1 of 3.",)
    assert "Not every row has every metric" in " ".join(run_cli("compare", path, path).output.split())


def test_parts_of_every_eval_ever_of_another_direction_are_named(tmp_path):
    kinds = [{"evaluation_name": name, "metric_config": {"lower_is_better": name == "wer"}} for name in ("acc", "wer")]
    about = {"schema_version": "0.2.1", "evaluation_id": "e", "model_info": {"id": "m"}, "evaluation_results": kinds}
    (tmp_path / "m.json").write_text(json.dumps(about))
    rows = [{"evaluation_id": "e", "model_id": "m", "evaluation_name": name, "sample_id": "1", "evaluation": {"score": 0.5}}
            for name in ("acc", "wer")]  # fmt: skip

    (note,) = read(lines(tmp_path / "m.jsonl", rows))[1].notes

    assert note == "Not every row has every metric: score 1 of 2, score (lower is better) 1 of 2."


def test_what_lies_deep_in_a_folder_is_found(tmp_path):
    deep = tmp_path / "r" / "a/b/c/d/e/f/g"
    deep.mkdir(parents=True)
    lines(deep / "t.jsonl", [{"item": "a", "score": 1}])
    inspect_log(deep, 0)

    result = run_cli("import", tmp_path / "r", "-o", tmp_path / "out")

    assert result.exit_code == 0, result.output


def test_a_folder_of_too_many_files_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr("markbook.foreign.reading._MOST", 3)
    for at in range(5):
        (tmp_path / f"{at}.txt").write_text("x")
    inspect_log(tmp_path, 0)

    result = run_cli("compare", tmp_path)

    assert isinstance(result.exception, DataError)
    assert "more than 3 files and folders" in str(result.exception)


def test_a_full_temporary_folder_ends_with_a_sentence(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.pwrite", full)
    with pytest.raises(StorageError, match="No space left"):
        Spool("x" * 1000 for _ in range(5_000))


def test_two_csv_files_with_long_fields_are_read_at_once(tmp_path):
    for name in ("1.csv", "2.csv"):
        (tmp_path / name).write_text("a\n" + f"{'x' * 200_000}\n" * 3)
    first, second = read_table(tmp_path / "1.csv"), read_table(tmp_path / "2.csv")
    next(second)
    next(first)
    assert len(list(second)) == 2
    assert len(list(first)) == 2


@pytest.mark.parametrize("nested", [False, True])
def test_a_parquet_bomb_is_refused(tmp_path, nested):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "bomb.parquet"
    text = "x" * (1 << 20)
    column = pyarrow.array([[text] if nested else text] * 128)
    table = pyarrow.table({"item": [str(at) for at in range(128)], "input": column, "score": [1.0] * 128})
    parquet.write_table(table, path, compression="zstd", use_dictionary=True)
    assert path.stat().st_size < 20_000

    with pytest.raises(DataError, match="unfolds to more than"):
        list(read_table(path))


def test_rows_of_every_eval_ever_that_name_no_model_are_called_after_their_file(tmp_path):
    row = {"evaluation_id": "e", "model_id": "A", "sample_id": "1", "evaluation": {"score": 1.0}}
    path = tmp_path / "sums.jsonl"
    path.write_text(json.dumps({**row, "model_id": None}) + "\n" + json.dumps({**row, "model_id": ""}) + "\n")

    assert read(path)[1].models == ["sums"]


@pytest.mark.parametrize("kind", ["helm", "lm-eval"])
def test_results_named_from_inside_their_folder_are_called_after_it(tmp_path, monkeypatch, kind):
    folder = tmp_path / "llama"
    folder.mkdir()
    if kind == "helm":
        stat = {"name": {"name": "exact_match"}, "count": 1, "sum": 1.0}
        name, row = "per_instance_stats.json", [{"instance_id": "a", "train_trial_index": 0, "stats": [stat]}]
    else:
        name, row = "samples_sums.jsonl", {"doc_id": 0, "doc": {}, "arguments": [], "filtered_resps": [], "acc": 1.0}
    (folder / name).write_text(json.dumps(row) + "\n")
    monkeypatch.chdir(folder)

    assert read(Path(name))[1].models == read(folder / name)[1].models == ["llama"]


def promptfoo_columns(path, columns, *, in_head=False):
    """Write ten tests of each (place, configuration, score) of one provider; promptfoo itself has configurations in its head."""
    head = (
        {"providers": [{"id": "openai:gpt", "config": config} for _, config, _ in sorted(columns)]} if in_head else {}
    )
    results = [
        {"provider": {"id": "openai:gpt", "label": ""} | ({} if in_head else {"config": config}), "promptIdx": place, "testIdx": at, "vars": {"q": at},
         "prompt": {"raw": f"q{at}", "label": "ask"}, "score": score, "success": score > 0.5, "failureReason": 0, "namedScores": {},
         "response": {"output": "x"}, "gradingResult": {}, "testCase": {"vars": {"q": at}, "assert": []}}
        for at in range(10) for place, config, score in columns
    ]  # fmt: skip
    path.write_text(json.dumps({"evalId": "e", "results": {"version": 3, "results": results}, "config": head}))
    return path


@pytest.mark.parametrize("in_head", [False, True])
def test_two_configurations_of_one_provider_are_two_models_whatever_their_order(tmp_path, in_head):
    cold, hot = ({"temperature": 0}, 1.0), ({"temperature": 1}, 0.0)
    path = promptfoo_columns(tmp_path / "two.json", [(1, *hot), (0, *cold)], in_head=in_head)
    turned = promptfoo_columns(tmp_path / "turned.json", [(0, *hot), (1, *cold)], in_head=in_head)
    alike = promptfoo_columns(tmp_path / "alike.json", [(1, {}, 0.0), (0, {}, 1.0)], in_head=in_head)
    repeated = promptfoo_columns(tmp_path / "one.json", [(0, {}, 1.0), (0, {}, 0.0)])

    assert figures(path) == figures(turned)
    assert sorted(figures(path).values()) == [(0.0, 10, {}), (1.0, 10, {})]
    result = run_cli("compare", path, turned, "--fail-if-worse", turned, "--json")
    assert result.exit_code == 0, result.exception
    (order,) = (note for note in json.loads(result.stdout)["notes"] if note.startswith("two.json: "))
    assert [f"openai:gpt {name}" for name in order.rstrip(".").rpartition(": ")[2].split(", ")] == sorted(
        figures(path), key=lambda name: -figures(path)[name][0]
    )
    assert figures(alike) == {"openai:gpt #1": (1.0, 10, {}), "openai:gpt #2": (0.0, 10, {})}
    assert figures(repeated) == {"openai:gpt": (0.5, 10, {})}  # --repeat: two attempts of one column


@pytest.mark.parametrize(("named", "samples"), [(False, 20), (True, 10)])
def test_rows_of_two_evaluations_are_two_samples_or_noted_as_attempts(tmp_path, named, samples):
    rows = [
        {"schema_version": "0.2.1", "evaluation_id": name, "model_id": "m", "sample_id": str(at), "input": {"raw": f"{name} {at}"},
         "output": {"raw": ["x"]}, "evaluation": {"score": score}, **({"evaluation_name": "mmlu"} if named else {})}
        for name, score in (("mmlu/1", 1.0), ("gsm/2", 0.0)) for at in range(10)
    ]  # fmt: skip
    path = lines(tmp_path / "e.jsonl", rows)
    alone = lines(tmp_path / "alone.jsonl", [{**row, "model_id": "other"} for row in rows[:10]])

    sheet = sheet_of(path)
    pair = json.loads(run_cli("compare", path, alone, "--json").stdout)["pairs"][0]

    assert len(sheet.marks["m"]) == samples
    assert (
        any("m: rows of 2 evaluations called mmlu are attempts at the same samples" in note for note in sheet.notes)
        == named
    )
    assert (pair["n"], abs(pair["difference"])) == (10, 0.5 if named else 0.0)


@pytest.mark.parametrize("name", ["test_case_{}", "test_translation"])
def test_cases_of_one_input_and_other_expectations_are_samples_of_their_own(tmp_path, name):
    paths = []
    for model, right, places in (
        ("a", range(4), range(8)),
        ("b", range(4, 8), range(8)),
        ("c", range(1), range(1)),
        ("d", (), [9]),
    ):
        cases = [{"name": name.format(at), "input": "translate", "expectedOutput": f"x{at}", "actualOutput": "x",
                  "metricsData": [{"name": "G", "score": float(at in right), "success": at in right, "threshold": 0.5}]}
                 for at in places]  # fmt: skip
        paths.append(tmp_path / f"{model}.json")
        paths[-1].write_text(json.dumps({"testCases": cases, "hyperparameters": {"model": model}}))

    found = json.loads(run_cli("compare", *paths[:2], "--json").stdout)
    lone = json.loads(run_cli("compare", *paths[1:3], "--json").stdout)
    other = run_cli("compare", *paths[2:])

    assert (found["n_common"], found["win_matrix"]) == (8, {"a": {"b": 4}, "b": {"a": 4}})
    # What a case is does not depend on what else stands in its file.
    assert (lone["n_common"], lone["win_matrix"]) == (1, {"b": {"c": 0}, "c": {"b": 1}})
    assert "share no sample" in str(other.exception)


def test_another_judge_of_deepeval_is_another_measure(tmp_path):
    paths = []
    for judge in ("gpt-4o", "gpt-4o-mini", "gpt-4o"):
        cases = [{"name": f"c{at}", "input": f"q{at}", "actualOutput": "x",
                  "metricsData": [{"name": "G", "score": at / 10, "evaluationModel": judge}]} for at in range(10)]  # fmt: skip
        paths.append(tmp_path / f"{len(paths)}.json")
        paths[-1].write_text(json.dumps({"testCases": cases}))

    assert "by judge of G:gpt-4o;" in str(run_cli("compare", *paths[:2]).exception)
    assert run_cli("compare", paths[0], paths[2]).exit_code == 0
