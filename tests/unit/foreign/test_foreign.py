"""Other tools' results through the door: each format read as it lies, compared with any other, never changed."""

from __future__ import annotations

import json
import math
import re
import statistics
import zipfile

import pytest
from support.foreign_files import (
    BROKEN,
    FORMATS,
    ITEMS,
    deepeval,
    evalplus,
    every_eval_ever,
    human_eval,
    inspect_log,
    lm_eval,
    mark,
    prompt,
    promptfoo,
    table,
)
from support.made_files import task_row, task_run

from markbook import compare, open_run
from markbook.cli import cli
from markbook.errors import DataError, UsageError
from markbook.foreign.reading import read
from markbook.results.kind import open_results
from markbook.results.leaderboard import standings
from markbook.testing import assert_marks


def run_cli(*args):
    from click.testing import CliRunner

    return CliRunner().invoke(cli, [str(arg) for arg in args], catch_exceptions=True)


SCORED = [item for item in range(ITEMS) if item not in BROKEN]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_n_missing_and_bounds(tmp_path, name):
    run = open_run(FORMATS[name](tmp_path, 0))
    sheet = open_results(run).sheet(None)
    (one,) = standings(sheet)
    total = sum(mark(0, item) for item in SCORED)
    assert (one.model, one.summary.n, one.summary.n_items) == ("model-0", 18, 20)
    assert sum(one.summary.n_missing.values()) == 2
    assert one.summary.value == pytest.approx(total / 18, abs=1e-12)
    assert one.summary.bounds == pytest.approx((total / 20, (total + 2) / 20))


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_compared_in_pairs(tmp_path, name):
    found = compare([FORMATS[name](tmp_path, 0), FORMATS[name](tmp_path, 1)])
    pair = found.pair("model-1", "model-0")
    gaps = [mark(1, item) - mark(0, item) for item in SCORED]
    assert pair.n == 18
    assert pair.difference.value == pytest.approx(statistics.mean(gaps), abs=1e-12)
    assert pair.difference.se == pytest.approx(statistics.stdev(gaps) / math.sqrt(18), abs=1e-9)
    better, worse = sum(gap > 0 for gap in gaps), sum(gap < 0 for gap in gaps)
    exact = min(
        1.0, 2 * sum(math.comb(better + worse, k) for k in range(min(better, worse) + 1)) / 2 ** (better + worse)
    )
    assert pair.p == pytest.approx(exact, abs=1e-9)


def test_a_mixture_is_paired_by_id(tmp_path):
    found = compare(
        [lm_eval(tmp_path, 0), inspect_log(tmp_path, 1), evalplus(tmp_path, 2), human_eval(tmp_path, 3)],
        metric=["acc", "match", "plus", "passed"],
    )
    assert found.n_common == 18
    assert found.metric == "acc / match / plus / passed"
    assert {pair.n for pair in found.pairs} == {18}


def test_what_is_marked_by_different_metrics_is_refused_with_the_way_out(tmp_path):
    result = run_cli("compare", lm_eval(tmp_path, 0), inspect_log(tmp_path, 1))
    assert result.exit_code
    assert "acc, match" in str(result.exception)
    assert "--metric acc --metric match" in str(result.exception)


def test_items_without_a_common_id_are_paired_by_what_was_asked(tmp_path):
    for model, name in ((0, "a"), (1, "b")):
        rows = [{"item": f"{name}{item}", "input": prompt(item), "score": mark(model, item)} for item in range(ITEMS)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[model:]))
    found = compare([tmp_path / "a.jsonl", tmp_path / "b.jsonl"])
    assert found.n_common == 19
    assert found.alignment["runs"][0]["n_unpaired"] == 1


def test_the_same_id_with_another_question_is_not_paired_and_counted(tmp_path):
    for name, word in (("a", "plus"), ("b", "times")):
        rows = [{"item": str(at), "input": f"{at} {word if at < 3 else 'and'} 1", "score": at % 2} for at in range(9)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = compare([tmp_path / "a.jsonl", tmp_path / "b.jsonl"])
    assert found.n_common == 6
    assert found.alignment["n_same_id_other_content"] == 3


def test_repeats_are_kept_as_repeats(tmp_path):
    rows = [{"task_id": f"t{at}", "completion": "x", "result": "", "passed": bool(go <= at % 3)} for at in range(6) for go in range(3)]  # fmt: skip
    path = tmp_path / "m_results.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    sheet = open_results(open_run(path)).sheet(None)
    assert [cell.value for cell in sheet.marks["m"].values()] == pytest.approx([1 / 3, 2 / 3, 1] * 2)


def test_samples_that_the_tool_planned_and_did_not_log_are_absent(tmp_path):
    path = lm_eval(tmp_path, 0)
    samples = next(path.parent.glob("samples_*"))
    samples.write_text("\n".join(samples.read_text().splitlines()[:15]) + "\n")
    (one,) = standings(open_results(open_run(path)).sheet(None))
    assert one.summary.n_missing == {"absent": 5, "undefined": 2}
    log = json.loads(inspect_log(tmp_path, 1, form="json").read_text())
    log["samples"] = log["samples"][:15]
    (tmp_path / "cut.json").write_text(json.dumps(log))
    (one,) = standings(open_results(open_run(tmp_path / "cut.json")).sheet(None))
    assert one.summary.n_missing == {"absent": 5, "failed": 2}


def test_a_folder_means_all_results_below_it(tmp_path):
    lm_eval(tmp_path, 0)
    lm_eval(tmp_path, 1)
    result = run_cli("compare", tmp_path, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["n_common"] == 18


def test_columns_of_a_table_are_named(tmp_path):
    (tmp_path / "all.csv").write_text("q,who,right\n1,a,1\n2,a,0\n3,a,nan\n1,b,1\n2,b,1\n3,b,\n")
    result = run_cli("compare", tmp_path / "all.csv", "--map", "item=q,model=who,score=right", "--json")
    assert result.exit_code == 0
    ranking = {one["model"]: one["summary"] for one in json.loads(result.stdout)["ranking"]}
    assert ranking["a"]["n_missing"] == {"undefined": 1}
    assert ranking["b"]["n_missing"] == {"absent": 1}
    missing = run_cli("compare", tmp_path / "all.csv", "--map", "item=q,score=rihgt")
    assert "no column 'rihgt'" in str(missing.exception)
    assert "'right'" in str(missing.exception)


@pytest.mark.parametrize("text", ["item", "item=a", "itm=a,score=b", "score=a,score=b", "score="])
def test_a_map_that_says_nothing_is_refused(tmp_path, text):
    result = run_cli("compare", table(tmp_path, 0), "--map", text)
    assert isinstance(result.exception, UsageError)


def test_parquet_is_a_table(tmp_path):
    pytest.importorskip("pyarrow")
    columns = {"item": "item", "model": "model", "score": "score", "error": "error"}
    (one,) = standings(open_results(open_run(table(tmp_path, 0, suffix="parquet"), columns=columns)).sheet(None))
    assert (one.summary.n, one.summary.n_items) == (18, 20)


def test_gates_hold_other_tools_results(tmp_path):
    paths = evalplus(tmp_path, 0), evalplus(tmp_path, 2)
    assert run_cli("compare", *paths, "--fail-under", "plus=10%").exit_code == 0
    assert run_cli("compare", *paths, "--fail-under", "plus=90%").exception.exit_code == 1
    assert_marks(paths[1], at_least=0.5, not_worse_than=paths[0])
    with pytest.raises(AssertionError, match="model-0"):
        assert_marks(paths[0], at_least=0.9)


@pytest.mark.parametrize("format_name", ["html", "md", "csv", "json", "junit"])
def test_reports_are_made_of_them_and_nothing_is_written_beside(tmp_path, format_name):
    path = evalplus(tmp_path, 0)
    refused = run_cli("report", path, "--format", format_name)
    assert "--output" in str(refused.exception)
    result = run_cli("report", path, "--format", format_name, "--output", tmp_path / "out")
    assert result.exit_code == 0, result.exception
    assert [one.name for one in tmp_path.iterdir() if one.name != "out"] == [path.name]


def test_view_shows_them(tmp_path):
    from markbook.report.browser import RunSite

    inspect_log(tmp_path, 0)
    site = RunSite(tmp_path)
    listed = site.page("/", {})
    assert "log-0.eval" in listed
    (number,) = set(re.findall(r"/run/(\d+)", listed))
    assert "sums/19" in site.page(f"/run/{number}", {})
    assert "the sandbox went away" in site.page(f"/attempt/{number}/3", {})


def test_import_keeps_them_as_a_run(tmp_path):
    paths = lm_eval(tmp_path, 0), lm_eval(tmp_path, 1)
    result = run_cli("import", *paths, "-o", tmp_path / "kept")
    assert result.exit_code == 0, result.exception
    kept = compare(result.stdout.split())
    read = compare(paths)
    assert kept.pairs == read.pairs
    assert kept.to_json()["ranking"] == read.to_json()["ranking"]


def test_every_eval_ever_is_written_and_read_back(tmp_path):
    path = evalplus(tmp_path, 0)
    result = run_cli("report", path, "--format", "every-eval-ever", "--output", tmp_path / "out")
    assert result.exit_code == 0, result.exception
    record = json.loads((tmp_path / "out/every_eval_ever/model-0.json").read_text())
    (found,) = record["evaluation_results"]
    assert found["score_details"]["details"] == {"n_scored": "18", "n_items": "20", "missing_failed": "2"}
    (again,) = standings(open_results(open_run(tmp_path / "out/every_eval_ever/model-0.jsonl")).sheet(None))
    assert again.summary.n == 18
    assert again.summary.value == found["score_details"]["score"]

    # by another metric, of whose levels -1 stands for what is unknown
    found["metric_config"] |= {"evaluation_description": "base", "has_unknown_level": True}
    (tmp_path / "other.json").write_text(json.dumps(record))
    rows = [json.loads(line) for line in (tmp_path / "out/every_eval_ever/model-0.jsonl").read_text().splitlines()]
    rows[0]["evaluation"]["score"] = -1
    (tmp_path / "other.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    refused = run_cli("compare", tmp_path / "other.json", tmp_path / "out/every_eval_ever/model-0.json").exception
    (other,) = standings(open_results(open_run(tmp_path / "other.json")).sheet(None))
    assert "other.json by metric:base; model-0.json by metric:plus" in str(refused)
    assert (other.summary.n, dict(other.summary.n_missing), other.summary.range) == (17, {"undefined": 1}, (0, 1))


def _zip(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("m_eval_results.json", b'{"eval": {"a": [{"base_status": "pass"}], "a": []}}', "stands twice"),
        ("m_eval_results.json", b'{"eval": {"a": [{"base_status": "pass"' + b"}]}" + b"[" * 100_000, "not JSON|nested"),
        ("m_eval_results.json", b'{"eval": {"base_status": ' + b"[" * 100_000, "nested too deeply"),
        ("m_eval_results.json", b'{"eval": {"a": [{"base_status": "\xff"}]}}', "not UTF-8"),
        ("m_eval_results.json", b'{"eval": {"a": [{"base_status": "\\ud800"}]}}', "lone surrogate"),
        ("m_eval_results.json", b'{"eval": {"a": ["base_status"]}}', "not of a known version of evalplus"),
        (
            "m_results.jsonl",
            b'{"task_id": 1, "passed": true, "result": ""}\n'[:-4] + b"\n",
            "neither a run nor results",
        ),
        ("log.eval", b"PK\x03\x04 and no more", "cannot be read"),
        ("results_x.json", b"{}", "neither a run nor results"),
        ("t.csv", "item,score\na,1\n".encode("utf-16"), "this file is not UTF-8"),
    ],
)
def test_a_damaged_file_is_refused_in_words(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=words):
        open_results(open_run(tmp_path / name)).sheet(None)


def test_a_log_without_a_score_is_refused_and_not_called_a_wrong_metric(tmp_path):
    about = {"model": "m", "dataset": {}, "config": {}}
    log = {
        "version": 2,
        "status": "error",
        "eval": about,
        "samples": [{"id": 1, "epoch": 1, "input": "q", "scores": {}}],
    }
    (tmp_path / "log.json").write_text(json.dumps(log))
    with pytest.raises(DataError, match="no sample in this inspect file has a score"):
        open_results(open_run(tmp_path / "log.json")).sheet(None)


def test_a_run_of_ours_is_compared_with_another_tools(tmp_path):
    run = task_run(tmp_path / "ours", [task_row(at, at % 2) for at in range(8)])
    ours = open_results(run).sheet(None)
    lines = [f"{sample},other,{(at // 2) % 2}" for at, sample in enumerate(ours.samples)]
    (tmp_path / "t.csv").write_text("\n".join(["item,model,score", *lines]) + "\n")
    found = compare([run, tmp_path / "t.csv"], metric=[ours.metric, "score"])
    assert found.n_common == 8
    assert found.metric == f"{ours.metric} / score"


def test_a_line_that_cannot_be_read_is_counted_and_said(tmp_path):
    path = human_eval(tmp_path, 0)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:9], lines[9][:-5], '{"task_id": 1, "task_id": 2}']) + "\n")
    sheet = open_results(open_run(path)).sheet(None)
    assert len(sheet.samples) == 9
    assert any("stands twice" in note for note in sheet.notes)
    found = compare([path, human_eval(tmp_path, 1)])
    assert any("was left out: " in note for note in found.notes)
    report = run_cli("report", path, "--format", "md", "--output", "-").stdout
    assert "was left out: " in report
    assert "may be too narrow: only" in report


def test_a_zip_bomb_is_refused(tmp_path):
    header = json.dumps({"version": 2, "status": "success", "eval": {"model": "m"}})
    bomb = b'{"id": "' + b"0" * (2 << 20)
    path = _zip(tmp_path / "log.eval", {"header.json": header} | {f"samples/{at}.json": bomb for at in range(20)})
    with pytest.raises(DataError, match="unfolds to more than"):
        open_results(open_run(path)).sheet(None)


def test_names_that_lead_elsewhere_lead_nowhere(tmp_path):
    sample = {"id": "../../x", "epoch": 1, "input": "q", "scores": {"match": {"value": "C"}}}
    header = {"version": 2, "status": "success", "eval": {"model": "../../<script>", "dataset": {}}}
    members = {"header.json": json.dumps(header), "samples/../../../etc/x.json": json.dumps(sample)}
    path = _zip(tmp_path / "in" / "log.eval", members) if (tmp_path / "in").mkdir() is None else None
    result = run_cli("report", path, "--format", "every-eval-ever", "--output", tmp_path / "out")
    assert result.exit_code == 0
    assert {one.name for one in tmp_path.iterdir()} == {"in", "out"}
    run_cli("report", path, "--output", tmp_path / "out")
    assert "<script>&" not in (tmp_path / "out/report.html").read_text()
    assert "../../<script>" not in (tmp_path / "out/report.html").read_text()


def test_an_aggregate_without_samples_is_refused_with_the_way_out(tmp_path):
    path = lm_eval(tmp_path, 0)
    next(path.parent.glob("samples_*")).unlink()
    with pytest.raises(DataError, match="--log_samples"):
        compare([path, lm_eval(tmp_path, 1)])


def test_two_filters_are_two_metrics_of_one_sample(tmp_path):
    path = lm_eval(tmp_path, 0)
    samples = next(path.parent.glob("samples_*"))
    lines = [json.loads(line) for line in samples.read_text().splitlines()]
    both = [line | {"filter": name, "acc": 1.0 if name == "flexible" else line["acc"]} for line in lines for name in ("strict", "flexible")]  # fmt: skip
    samples.write_text("\n".join(map(json.dumps, both)) + "\n")
    results = open_results(open_run(path))
    assert list(results.columns) == ["acc,strict", "acc,flexible"]
    assert standings(results.sheet("acc,flexible"))[0].summary.value == 1.0
    assert standings(results.sheet("acc,strict"))[0].summary.n == 18


def test_the_only_filter_of_a_file_is_told(tmp_path):
    path = tmp_path / "samples_sums_2026-01-02T03-04-05.678901.jsonl"
    rows = [{"doc_id": n, "doc": {"q": n}, "target": "x", "arguments": [["q", {}]], "resps": [["y"]], "filtered_resps": ["y"], "filter": "strict-match", "exact_match": 1.0} for n in range(3)]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    notes = open_results(open_run(path)).sheet(None).notes

    assert any("scored after the filter strict-match" in note for note in notes)


def test_files_after_different_filters_are_refused_as_measured_differently(tmp_path):
    paths = []
    for name in ("strict-match", "flexible-extract", "strict-match"):
        folder = tmp_path / str(len(paths))
        folder.mkdir()
        paths.append(folder / "samples_sums_2026-01-02T03-04-05.678901.jsonl")
        rows = [{"doc_id": n, "doc": {"q": n}, "target": "x", "arguments": [["q", {}]], "resps": [["y"]], "filtered_resps": ["y"], "filter": name, "exact_match": float(n > 1)} for n in range(9)]  # fmt: skip
        paths[-1].write_text("".join(json.dumps(row) + "\n" for row in rows))
    ours = tmp_path / "table.jsonl"
    ours.write_text("".join(json.dumps({"item": f"sums/{n}", "score": 1.0, "model": "t"}) + "\n" for n in range(9)))
    imported = run_cli("import", paths[1], "-o", tmp_path / "kept")

    strict, flexible, again = paths
    refused = [run_cli("compare", strict, other).exception for other in (flexible, *(tmp_path / "kept").iterdir())]

    assert imported.exit_code == 0
    for error in refused:
        assert "by filter:strict-match" in str(error)
        assert "by filter:flexible-extract" in str(error)
    assert run_cli("compare", strict, flexible, "--allow-different-measures").exit_code == 0
    assert run_cli("compare", strict, again).exit_code == 0
    assert run_cli("compare", strict, ours, "--metric", "exact_match", "--metric", "score").exit_code == 0


def samples_alone(folder, name, prompt, results=None, **row):
    """Write samples of lm-eval, with their results only where these are named."""
    here = folder / name
    here.mkdir()
    path = here / "samples_sums_2026-01-02T03-04-05.678901.jsonl"
    rows = [{"doc_id": n, "doc": {"q": n}, "target": "x", "arguments": [[prompt.format(n), {}]], "resps": [["y"]], "filtered_resps": ["y"], "filter": "none", "exact_match": float(n > 4), **row} for n in range(9)]  # fmt: skip
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    if results is None:
        return path
    other = here / "results_2026-01-02T03-04-05.678901.json"
    other.write_text(json.dumps({"results": {"sums": {}}, "config": {}, "model_name": name, **results}))
    return other


BARE, SHOWN, TEMPLATED = "Q{}", "Q7 A7 Q{}", "<|im_start|>user\nQ{}<|im_end|>\n<|im_start|>assistant\n"


@pytest.mark.parametrize(
    ("first", "second", "refused"),
    [
        ({"prompt": BARE}, {"prompt": SHOWN}, "prompt of sums/0:#"),
        ({"prompt": BARE, "target": None}, {"prompt": SHOWN, "target": None}, "prompt of sums/0:#"),
        ({"prompt": BARE, "results": {"chat_template": None}}, {"prompt": SHOWN}, "prompt of sums/0:#"),
        ({"prompt": BARE, "arguments": None, "prompt_hash": "a1" * 32}, {"prompt": BARE, "arguments": None, "prompt_hash": "b2" * 32},
         "prompt of sums/0:#a1a1a1a1"),
        ({"prompt": BARE}, {"prompt": TEMPLATED}, "chat_template:false"),
        ({"prompt": TEMPLATED}, {"prompt": TEMPLATED.replace("im_", "turn_")}, ""),
        ({"prompt": TEMPLATED}, {"prompt": "[INST] Q{} [/INST]", "results": {"chat_template": "t"}}, ""),
        ({"prompt": TEMPLATED}, {"prompt": "<\uff5cUser\uff5c>Q{}<\uff5cAssistant\uff5c>"}, ""),
        ({"prompt": TEMPLATED}, {"prompt": "Be kind. USER: Q{} ASSISTANT:"}, ""),
        ({"prompt": "fill <|fim|> {}"}, {"prompt": "FILL: <|fim|> {}"}, "prompt of sums/0:#"),
        ({"prompt": TEMPLATED}, {"prompt": '[{{"role": "user", "content": "Q{}"}}]'}, ""),
        ({"prompt": BARE}, {"prompt": BARE}, ""),
        ({"prompt": BARE, "arguments": None}, {"prompt": SHOWN}, ""),
    ],
)  # fmt: skip
def test_samples_without_their_results_are_held_against_other_prompts(tmp_path, first, second, refused):
    paths = [samples_alone(tmp_path, name, **about) for name, about in (("one", first), ("two", second))]

    for order in (paths, paths[::-1]):
        result = run_cli("compare", *order)

        assert (result.exit_code != 0) == bool(refused), result.output
        assert "was measured differently" in str(result.exception) or not refused
        assert refused in str(result.exception)
    assert run_cli("compare", *paths, "--allow-different-measures").exit_code == 0


def lm_eval_measured(folder, about):
    path = lm_eval(folder, len(list(folder.iterdir())))
    (samples,) = path.parent.glob("samples_*")
    asked = {"arguments": about["arguments"]} if "arguments" in about else {}
    rows = [json.loads(line) | {"target": about.get("target")} | asked for line in samples.read_text().splitlines()]
    samples.write_text("".join(json.dumps(row) + "\n" for row in rows))
    path.write_text(json.dumps(json.loads(path.read_text()) | about))
    return path


def inspect_measured(folder, about):
    path = inspect_log(folder, len(list(folder.iterdir())), form="json")
    log = json.loads(path.read_text())
    log["eval"] |= about.get("eval", {})
    log["results"]["scores"] = about.get("scores", log["results"]["scores"])
    for sample in log["samples"]:
        sample["scores"] = {about.get("scorer", "match"): score for score in sample["scores"].values()}
        sample.update({"target": None} | about.get("sample", {}))
    path.write_text(json.dumps(log | {"plan": {"steps": about.get("steps", [])}}))
    return path


def helm_measured(folder, about):
    here = folder / f"run-{len(list(folder.iterdir()))}"
    here.mkdir()
    stats = [{"instance_id": f"id{n}", "train_trial_index": 0, "stats": [{"name": {"name": "exact_match"}, "count": 1, "sum": n % 2}]}
             for n in range(9)]  # fmt: skip
    (here / "per_instance_stats.json").write_text(json.dumps(stats))
    correct = [
        {"output": {"text": about.pop("right", "")}, "tags": ["correct"]},
        {"output": {"text": here.name}, "tags": []},
    ]
    instances = [{"id": f"id{n}", "input": {"text": f"q{n}"}, "references": correct} for n in range(9)]
    (here / "instances.json").write_text(json.dumps(instances))
    more = about.pop("spec", {})
    spec = {"name": "r", "adapter_spec": {"model": here.name, **about}, **more}
    (here / "run_spec.json").write_text(json.dumps(spec))
    return here / "per_instance_stats.json"


def deepeval_measured(folder, about):
    path = deepeval(folder, len(list(folder.iterdir())))
    run = json.loads(path.read_text())
    for number, case in enumerate(run["testCases"]):
        case["metricsData"][0] |= {"threshold": None} | about | ({} if number else {"evaluationModel": None})
        case["metricsData"] += [{"name": about["more"], "score": 1}] if "more" in about else []
    path.write_text(json.dumps(run))
    return path


def promptfoo_measured(folder, about):
    """Write a test of each item by an assertion, beside one of `other` by another."""
    path = promptfoo(folder, len(list(folder.iterdir())))
    document = json.loads(path.read_text())
    asserted = {"metric": "quality", **about}
    other = {"type": "equals", "metric": "exact", "value": asserted.pop("other", "x")}
    of_test = asserted.pop("test", {})
    for row in document["results"]["results"]:
        row["vars"] |= {"rest": "ity"}
        row |= {
            "namedScores": {"quality": row["score"]},
            "gradingResult": {"componentResults": [{"assertion": asserted}, {"assertion": other}]},
            "testCase": {"vars": row["vars"], "assert": [asserted, other], **of_test},
        }
    path.write_text(json.dumps(document))
    return path


def every_eval_ever_measured(folder, about):
    path = every_eval_ever(folder, len(list(folder.iterdir())))
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    about = dict(about)
    reference, formatted, choices = about.pop("reference", []), about.pop("formatted", None), about.pop("choices", None)
    for row in rows:
        row["input"] |= {"reference": reference, "formatted": formatted, "choices": choices}
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    named = rows[0]
    record = {"evaluation_results": [{"evaluation_name": named.get("evaluation_name"), **about}]}
    path.with_suffix(".json").write_text(json.dumps(record))
    return path


def evalplus_measured(folder, about):
    path = evalplus(folder, len(list(folder.iterdir())))
    path.write_text(json.dumps(json.loads(path.read_text()) | {"hash": None} | about))
    return path


def judged_by(*judges):
    return {"spec": {"metric_specs": [{"class_name": "x.J", "args": {"judge": judge}} for judge in judges]}}


@pytest.mark.parametrize(
    ("make", "first", "other", "told"),
    [
        (lm_eval_measured, {"versions": {"sums": 1}}, {"versions": {"sums": 2.0}}, ("version:1", "version:2")),
        (lm_eval_measured, {"n-shot": {"sums": 0}}, {"n-shot": {"sums": 5}}, ("num_fewshot:0", "num_fewshot:5")),
        (lm_eval_measured, {"chat_template": None}, {"chat_template": "<s>"}, ("chat_template:false", "chat_template:true")),
        (
            lm_eval_measured,
            *({"configs": {"sums": {"metric_list": [{"metric": "acc", "ignore_case": case}]}}} for case in (True, False)),
            ('metric acc:{"ignore_case": true}', 'metric acc:{"ignore_case": false}'),
        ),
        (
            lm_eval_measured,
            *({"configs": {"sums": {"target_delimiter": between}}} for between in (" ", "\n")),
            ('target_delimiter:" "', 'target_delimiter:"\\n"'),
        ),
        (
            inspect_measured,
            *({"eval": {"scorers": [{"name": "match", "options": {"location": where}}]}} for where in ("any", "exact")),
            ('scorer match:{"location": "any"}', 'scorer match:{"location": "exact"}'),
        ),
        (inspect_measured, {"eval": {"task_version": 0}}, {"eval": {"task_version": 2}}, ("task_version:0", "task_version:2")),
        (inspect_measured, {"steps": [{"solver": "generate"}]}, {"steps": [{"solver": "cot"}]}, ("solver:generate", "solver:cot")),
        (inspect_measured, {"eval": {"task_args": {"shots": 0}}}, {"eval": {"task_args": {"shots": 5}}}, ("shots:0", "shots:5")),
        (inspect_measured, {"sample": {"target": "x"}}, {"sample": {"target": ["y"]}},
         ('right answer of sums/0:["x"]', 'right answer of sums/0:["y"]')),
        (lm_eval_measured, {"target": "x"}, {"target": ["y"]}, ('right answer of sums/0:["x"]', 'right answer of sums/0:["y"]')),
        (lm_eval_measured, {"target": 0}, {"target": 1}, ('right answer of sums/0:["0"]', 'right answer of sums/0:["1"]')),
        (lm_eval_measured, *({"target": "x", "chat_template": None, "arguments": [[name, {}]]} for name in "ab"),
         ("prompt of sums/0:#ca978112", "prompt of sums/0:#3e23e816")),
        # without a right answer, and in what is asked after the first request
        *((lm_eval_measured, *({"target": right, "chat_template": None, "arguments": [[name, {}]]} for name in "ab"),
           ("prompt of sums/0:#ca978112", "prompt of sums/0:#3e23e816")) for right in ("", None)),
        (lm_eval_measured, *({"target": "x", "chat_template": None, "arguments": {
            "gen_args_0": {"arg_0": "Q", "arg_1": " A"}, "gen_args_1": {"arg_0": name, "arg_1": " B"}}} for name in "QR"),
         ("requests of sums/0:#",)),
        (lm_eval_measured, *({"target": "x", "chat_template": None, "arguments": [["Q", " A"], ["Q", name]]} for name in "BC"),
         ("requests of sums/0:#",)),
        (every_eval_ever_measured, {"reference": "x"}, {"reference": ["y"]},
         ('right answer of sums/0:["x"]', 'right answer of sums/0:["y"]')),
        (helm_measured, {"right": "x"}, {"right": "y"}, ('right answer of id0:["x"]', 'right answer of id0:["y"]')),
        (helm_measured, {"max_train_instances": 5}, {"max_train_instances": 0}, ("instances:5", "instances:0")),
        (helm_measured, {"method": "generation"}, {"method": "multiple_choice_joint"}, ("method:generation", "joint")),
        (lm_eval_measured, {"versions": {"sums": "1.0"}}, {"versions": {"sums": "2.0"}}, ("version:1", "version:2")),
        (lm_eval_measured, *({"versions": {}, "configs": {"sums": {"metadata": {"version": of}}}} for of in (1, "1.1.0")),
         ("version:1", "version:1.1.0")),
        (lm_eval_measured, *({"configs": {"sums": {"fewshot_config": {"sampler": name}}}} for name in ("first_n", "random")),
         ("sampler:first_n", "sampler:random")),
        (lm_eval_measured, *({"configs": {"sums": {"generation_kwargs": {"until": end}}}} for end in ("Q:", ["Q:", "."])),
         ('until:["Q:"]', 'until:["Q:", "."]')),
        ((inspect_measured, "graded", "match"), *({"scorer": "graded", "eval": {"model_roles": {"grader": {"model": name}}}} for name in "ab"),
         ("role grader:a", "role grader:b")),
        # each model graded by itself
        ((inspect_measured, "model_graded_qa", "match"), *({"scorer": "model_graded_qa", "eval": {
            "model": name, "scorers": [{"name": "model_graded_qa", "options": {}}]}} for name in "ab"),
         ("role grader:a", "role grader:b")),
        # as logs say it that have no `eval.scorers`
        ((inspect_measured, "model_graded_qa", "match"), *({"scorer": "model_graded_qa", "eval": {"model": name}, "scores": [
            {"name": "model_graded_qa", "scorer": "model_graded_qa", "params": {}}]} for name in "ab"),
         ("role grader:a", "role grader:b")),
        ((inspect_measured, "graded", "match"), *({"scorer": "graded", "scores": [
            {"name": "accuracy", "scorer": "graded", "params": {"model": name}}]} for name in "ab"),
         ('scorer graded:{"model": "a"}', 'scorer graded:{"model": "b"}')),
        # the first of two scorers of one kind
        ((inspect_measured, "model_graded_qa", "match"), *({"scorer": "model_graded_qa", "scores": [
            {"name": f"model_graded_qa{at}", "scorer": "model_graded_qa", "params": {"model": grader}}
            for at, grader in (("", name), ("1", "c"))]} for name in "ab"),
         ('scorer model_graded_qa:{"model": "a"}', 'scorer model_graded_qa:{"model": "b"}')),
        ((inspect_measured, "graded", "match"), *({"scorer": "graded", "eval": {"model_roles": {"grader": [name]}}} for name in "ab"),
         ('role grader:["a"]', 'role grader:["b"]')),
        (inspect_measured, *({"eval": {"task_args": {"profile": name, "data_file": name}}} for name in "ab"),
         ("profile:a", "profile:b")),
        (helm_measured, *({"spec": {"scenario_spec": {"class_name": "S", "args": {"subject": name}}}} for name in "ab"),
         ("subject:a", "subject:b")),
        (helm_measured, judged_by("a", "z"), judged_by("b", "z"), ('metric x.J:{"judge": "a"}', 'metric x.J:{"judge": "b"}')),
        (helm_measured, *({"spec": {"metric_specs": [{"class_name": name, "args": {"names": ["exact_match"]}}]}} for name in ("x.M", "x.N")),
         ('metric class:["x.M"]', 'metric class:["x.N"]')),
        # a class is not another one's because its name ends alike
        (helm_measured, *({"spec": {"metric_specs": [{"class_name": name, "args": {"names": ["exact_match"]}}]}} for name in ("x.M", "y.M")),
         ('metric class:["x.M"]', 'metric class:["y.M"]')),
        *((inspect_measured, *({"eval": {"config": {name: limit}}} for limit in (10, 50)), (f"{name}:10", f"{name}:50"))
          for name in ("message_limit", "token_limit", "time_limit", "working_limit", "cost_limit")),
        *((every_eval_ever_measured, *({"reference": right, "choices": choices} for choices in (["p", "q"], others)), ("choices of sums/0:#",))
          for right, others in (("p", ["p", "r"]), ("A", ["q", "p"]))),
        (deepeval_measured, *({"verboseLogs": f'Criteria:\n{name} \n \nEvaluation Steps:\n[\n    "do"\n]'} for name in "ab"),
         ("criteria of Correctness:a", "criteria of Correctness:b")),
        (deepeval_measured, *({"verboseLogs": f'Criteria:\nNone \n \nEvaluation Steps:\n[\n    "{name}"\n]'} for name in "ab"),
         ('criteria of Correctness:"[', '\\"a\\"', '\\"b\\"')),
        (deepeval_measured, *({"verboseLogs": f"Criteria:\nC \n \nEvaluation Steps:\nS \n \nRubric:\n{name} \n \nScore: 0.{at}"}
                              for at, name in enumerate(("0-4: bad", "0-6: bad"))),
         ("rubric of Correctness:0-4: bad", "rubric of Correctness:0-6: bad")),
        ((deepeval_measured, "success"), {"threshold": 0.05}, {"threshold": 0.95}, (":0.05", "threshold of Correctness:0.95")),
        (deepeval_measured, {"strictMode": True}, {"strictMode": False}, ("strictMode of Correctness:true", ":false")),
        (deepeval_measured, {"evaluationModel": "a"}, {"evaluationModel": "b"}, ("judge of Correctness:a", "Correctness:b")),
        ((promptfoo_measured, "pass"), {"threshold": 0.05}, {"threshold": 0.95}, ("assertion 2:0.05", "assertion 2:0.95")),
        ((promptfoo_measured, "quality"), {"value": "lenient"}, {"value": "strict"}, ("value of assertion 1:lenient", ":strict")),
        ((promptfoo_measured, "quality"), {"provider": "openai:a"}, {"provider": "openai:b"}, ("1:openai:a", "1:openai:b")),
        *(((promptfoo_measured, "quality"), *({"type": kind, "test": {"options": {"provider": name}}} for name in "ab"), ("1:a", "1:b"))
          for kind in ("similar:dot", "not-similar:euclidean", "trajectory:goal-success")),
        ((promptfoo_measured, "quality"), *({"test": {"options": {"postprocess": name}}} for name in "ab"),
         ("transform of assertion 1:a", "1:b")),
        ((promptfoo_measured, "quality"), {"type": "equals"}, {"type": "icontains"}, ("1:equals", "1:icontains")),
        ((promptfoo_measured, "quality"), *({"metric": "qual{{ rest }}", "type": name} for name in ("equals", "icontains")),
         ("1:equals", "1:icontains")),
        ((promptfoo_measured, "quality"), *({"test": {"options": {"transform": name}}} for name in "ab"),
         ("transform of assertion 1:a", "1:b")),
        ((promptfoo_measured, "quality"), *({"type": name, "test": {"assert": []}} for name in ("equals", "icontains")),
         ("1:equals", "1:icontains")),
        ((deepeval_measured, "success"), {}, {"more": "Bias"}, ('metrics:["Bias", "Correctness"]', 'metrics:["Correctness"]')),
        (every_eval_ever_measured, *({"metric_config": {"llm_scoring": {"judges": [name]}}} for name in "ab"),
         ('judge judges:["a"]', 'judge judges:["b"]')),
        (every_eval_ever_measured, *({"metric_config": {"metric_name": name}} for name in ("accuracy", "f1")),
         ("metric_name:accuracy", "metric_name:f1")),
        (every_eval_ever_measured, *({"metric_config": {"metric_parameters": {"k": k}}} for k in (1, 5)), ("parameter k:1", "parameter k:5")),
        (every_eval_ever_measured, {"formatted": "a"}, {"formatted": "b"}, ("prompt of sums/0:#ca978112", "prompt of sums/0:#3e23e816")),
        (every_eval_ever_measured, *({"generation_config": {"additional_details": {"num_fewshot": n}}} for n in "05"),
         ("num_fewshot:0", "num_fewshot:5")),
        (evalplus_measured, {"hash": "a"}, {"hash": "b"}, ("data set:a", "data set:b")),
    ],
)  # fmt: skip
def test_other_tools_runs_that_were_measured_differently_are_refused_in_either_order(
    tmp_path, make, first, other, told
):
    make, *metrics = make if isinstance(make, tuple) else (make,)
    by = [word for metric in metrics for word in ("--metric", metric)]
    paths = [make(tmp_path, json.loads(json.dumps(about))) for about in (first, other, first, {})]
    runs = [*paths[:2], *by]

    turned = [*runs[1::-1], *by]
    refused = [run_cli("compare", *order, "--fail-if-worse", order[1]).exception for order in (runs, turned)]
    noted = json.loads(run_cli("compare", *runs, "--allow-different-measures", "--json").stdout)["notes"]

    for error in refused:
        assert "was measured differently" in str(error)
        assert all(words in str(error) for words in told)
    assert any("was measured differently" in note for note in noted)
    # Measured alike, or saying nothing of it.
    assert [run_cli("compare", paths[0], path, *by).exit_code for path in paths[2:]] == [0, 0]


@pytest.mark.parametrize(
    ("make", "plain", "about"),
    [
        (lm_eval_measured,
         {"versions": {"sums": 1}, "chat_template": "own", "configs": {"sums": {"doc_to_text": "<function f at 0x81>"}}},
         {"date": 7, "config": {"model_args": "b", "batch_size": 8, "device": "cpu"}, "model_name": "b",
          "versions": {"sums": 1.0}, "chat_template": "other", "git_hash": "b", "random_seed": 7,
          "configs": {"sums": {"doc_to_text": "<function f at 0x7f>", "generation_kwargs": {"temperature": 1}}}}),
        (inspect_measured,
         {"eval": {"created": "a", "task_args": {"seed": 1, "data_dir": "a"}}, "steps": [{"solver": "generate"}]},
         {"eval": {"created": "b", "task_file": "b", "model_generate_config": {"temperature": 1, "seed": 7},
                   "task_args": {"seed": 7, "data_dir": "b"}}, "steps": [{"solver": "generate", "params": {"a": 1}}]}),
        (helm_measured, {"model_deployment": "a", "temperature": 0, "method": "generation"},
         {"model_deployment": "b", "temperature": 1, "random": "b", "max_eval_instances": 10, "method": "generation"}),
        (inspect_measured, {"sample": {"choices": ["p", "q"], "target": "A"}}, {"sample": {"choices": ["q", "p"], "target": ["B"]}}),
        (deepeval_measured, *({"verboseLogs": f'Criteria:\nC \n \nEvaluation Steps:\n[\n    "{name}"\n]'} for name in "ab")),
        ((promptfoo_measured, "quality"), *({"test": {"options": {name: "x"}}} for name in ("postprocess", "transform"))),
        (every_eval_ever_measured, *({"formatted": f"<|im_start|>{name}"} for name in "ab")),
        (every_eval_ever_measured, *({"reference": "p", "choices": choices} for choices in (["p", "q"], ["q", "p"]))),
        # where HELM has moved its own modules
        (helm_measured, *({"spec": {"metric_specs": [{"class_name": f"helm.benchmark.{name}", "args": {"names": ["exact_match"]}}]}}
                          for name in ("basic_metrics.BasicMetric", "metrics.basic_metrics.BasicMetric"))),
        # what another metric of the file was measured by
        (deepeval_measured, {"threshold": 0.05}, {"threshold": 0.95}),
        ((promptfoo_measured, "quality"), {"other": "x"}, {"other": "y"}),
        (inspect_measured, *({"scorer": "match", "eval": {
            "scorers": [{"name": "match", "options": {}}, {"name": "match", "options": {"to": name}}],
            "model_roles": {"grader": {"model": name}}}} for name in "ab")),
    ],
)  # fmt: skip
def test_dates_paths_seeds_other_metrics_and_the_models_own_settings_are_no_difference_of_measure(
    tmp_path, make, plain, about
):
    make, *metrics = make if isinstance(make, tuple) else (make,)
    by = [word for metric in metrics for word in ("--metric", metric)]

    result = run_cli("compare", make(tmp_path, plain), make(tmp_path, about), *by, "--json")

    assert result.exit_code == 0
    assert not any("differently" in note for note in json.loads(result.stdout)["notes"])


def test_epochs_and_scorers_of_several_keys(tmp_path):
    samples = [
        {"id": item, "epoch": epoch, "input": [{"role": "user", "content": "q"}], "scores": {"rubric": {"value": {"style": epoch / 2, "fact": "P"}}}}
        for item in (1, 2)
        for epoch in (1, 2)
    ]  # fmt: skip
    about = {"model": "m", "dataset": {"sample_ids": [1, 2, 3]}, "config": {"epochs": 2}}
    (tmp_path / "log.json").write_text(json.dumps({"version": 2, "status": "error", "eval": about, "samples": samples}))
    results = open_results(open_run(tmp_path / "log.json"))
    assert list(results.columns) == ["rubric/style", "rubric/fact"]
    sheet = results.sheet("rubric/style")
    assert sheet.marks["m"]["1"].value == 0.75
    assert sheet.marks["m"]["3"].n_missing == {"absent": 2}
    assert "error" in sheet.notes[0]


def test_a_file_of_no_known_format_is_refused_with_what_is_known(tmp_path):
    path = tmp_path / "odd.json"
    path.write_text('{"odd": [1]}')

    with pytest.raises(DataError, match="no reader knows these results") as refused:
        read(path)
    assert refused.value.hint.endswith("a table with --map")
    assert "evalplus" in refused.value.hint
