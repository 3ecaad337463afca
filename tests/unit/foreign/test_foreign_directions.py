"""Other tools' runs in which less is better of one part and more of another, and other corners of their files."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from support.foreign_files import promptfoo

from markbook import open_run
from markbook.cli import cli
from markbook.errors import DataError
from markbook.results.kind import open_results
from markbook.results.leaderboard import standings


def run_cli(*args):
    return CliRunner().invoke(cli, [str(arg) for arg in args], catch_exceptions=True)


def numbers(path, metric):
    sheet = open_results(open_run(path)).sheet(metric)
    return sheet.direction, {one.model: (one.summary.value, one.summary.n) for one in standings(sheet)}


def eee(folder, model, scores):
    """Write ten instances an evaluation: acc, of which more is better, and wer, of which less is."""
    kinds = [{"evaluation_name": name, "metric_config": {"lower_is_better": name == "wer"}} for name in scores]
    record = {"schema_version": "0.2.1", "evaluation_id": "e", "model_info": {"id": model}, "evaluation_results": kinds}
    path = folder / f"{model}.json"
    path.write_text(json.dumps(record))
    rows = [
        {"schema_version": "0.2.1", "evaluation_id": "e", "model_id": model, "evaluation_name": name, "sample_id": str(at),
         "input": {"raw": f"{name} {at}"}, "output": {"raw": ["x"]}, "evaluation": {"score": score}}
        for name, score in scores.items() for at in range(10)
    ]  # fmt: skip
    path.with_suffix(".jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_every_eval_ever_of_both_directions_has_two_metrics(tmp_path):
    first, second = eee(tmp_path, "A", {"wer": 0.1, "acc": 0.9}), eee(tmp_path, "B", {"wer": 0.8, "acc": 0.9})

    assert numbers(first, None) == ("higher", {"A": (0.9, 10)})
    assert numbers(second, "score (lower is better)") == ("lower", {"B": (0.8, 10)})
    result = run_cli("compare", first, second, "--metric", "score (lower is better)")
    assert "A (10.0) is better than B" in result.output


@pytest.mark.parametrize(("turned", "record"), [(False, None), (True, None), (True, ["acc"])])
def test_without_a_record_the_name_of_the_evaluation_says_the_direction(tmp_path, turned, record):
    """Nor does a record that names other evaluations only."""
    pairs = [{"wer": 0.1}, {"wer": 0.8}], [{"wer": 0.1, "acc": 0.9}, {"wer": 0.8, "acc": 0.9}]
    for number, (one, other) in enumerate(pairs):
        folder = tmp_path / str(number)
        folder.mkdir()
        first, second = eee(folder, "A", one), eee(folder, "B", other)
        for path in (first, second):
            path.write_text(json.dumps({"evaluation_results": [{"evaluation_name": name} for name in record or ()]}))
        files = [path.with_suffix(".jsonl") for path in ((second, first) if turned else (first, second))]
        metric = ["--metric", "score (lower is better)"] if number else []

        result = run_cli("compare", *files, *metric, "--fail-if-worse", first.with_suffix(".jsonl"), "--json")

        assert "B is worse than A" in str(result.exception or result.output)
        assert "wer: lower is assumed to be better, from its name." in " ".join(json.loads(result.stdout)["notes"])


@pytest.mark.parametrize("name", ["DROP", "HELM drop", "TimeQA", "ToxicChat"])
@pytest.mark.parametrize("metric", ["", "accuracy"])
def test_a_benchmark_whose_name_holds_an_errors_word_is_ranked_by_what_is_right(tmp_path, name, metric):
    paths = [eee(tmp_path, model, {name: score}) for model, score in (("A", 0.8), ("B", 0.2))]
    for path in paths:
        about = {"evaluation_name": name, "metric_config": {"metric_name": metric}}
        path.write_text(json.dumps({"evaluation_results": [about] if metric else []}))

    found = json.loads(run_cli("compare", *(path.with_suffix(".jsonl") for path in paths), "--json").stdout)

    assert [row["model"] for row in found["ranking"]] == ["A", "B"]
    assert any("its name may mean the opposite" in note for note in found["notes"]) is not bool(metric)


@pytest.mark.parametrize(
    ("name", "reached", "way"),
    [
        ("Bias", lambda score: score <= 0.5, "lower"),  # as DeepEval says before version 4.2
        ("Toxicity", lambda score: score <= 0.5, "lower"),
        ("Toxicity", lambda score: score >= 0.5, "higher"),  # and since: the share of what is not toxic
        (
            "Hallucination",
            lambda _: None,
            "lower",
        ),  # where no case says whether it reached its threshold, the name does
        ("Correctness", lambda _: None, "higher"),
        ("Bias", lambda score, at: (score <= 0.5) != (at == 3), "lower"),  # one case says the opposite of the others
    ],
)
def test_deepevals_thresholds_say_which_way_is_better(tmp_path, name, reached, way):
    paths = []
    is_mixed = reached.__code__.co_argcount > 1
    for model, score in (("low", 0.1), ("high", 0.9)):
        cases = [{"name": f"case {at}", "input": f"q{at}", "actualOutput": "x",
                  "metricsData": [{"name": name, "threshold": 0.5, "score": score,
                                   "success": reached(score, *([at] if is_mixed else []))}]}
                 for at in range(10)]  # fmt: skip
        # What broke off has a verdict too, which says nothing.
        broken = {"name": name, "threshold": 0.5, "score": 0, "success": way == "higher", "error": "timeout"}
        cases.append({"name": "case 10", "input": "q10", "metricsData": [broken]})
        paths.append(tmp_path / f"{model}.json")
        paths[-1].write_text(json.dumps({"testCases": cases}))

    found = json.loads(run_cli("compare", *paths, "--json").stdout)

    assert found["direction"] == way
    assert found["pairs"][0]["better"] == ("low" if way == "lower" else "high")
    note = "In 1 of 10 cases the verdict on Bias contradicts the others: lower is assumed to be better."
    assert any(note in one for one in found["notes"]) is is_mixed
    report = run_cli("report", paths[0], "--format", "md", "--output", "-").stdout
    assert (note in report) is is_mixed


@pytest.mark.parametrize("name", ["hallucinations", "violation_rate"])
@pytest.mark.parametrize(
    ("tool", "is_stated"), [("inspect", True), ("inspect", False), ("promptfoo", True), ("promptfoo", False)]
)
def test_what_letters_and_assertions_say_wins_over_the_name(tmp_path, tool, is_stated, name):
    """Correct is C and an assertion that holds scores 1: only of other numbers the name says which way is better."""
    paths = []
    for model, best in (("good", 9), ("bad", 2)):
        marks = [float(at < best) for at in range(10)]
        values = ["IC"[int(mark)] for mark in marks] if is_stated else marks
        log = {
            "version": 2,
            "status": "success",
            "eval": {"model": model, "dataset": {}},
            "samples": [
                {"id": str(at), "epoch": 1, "scores": {name: {"value": value}}} for at, value in enumerate(values)
            ],
        }
        assertions = [{"type": "llm-rubric", "metric": name if is_stated else "other"}]
        tests = {"evalId": "e", "results": {"version": 3, "results": [
            {"provider": {"id": model}, "vars": {"n": at}, "testIdx": at, "success": True, "score": 1, "namedScores": {name: mark},
             "testCase": {"assert": [{"type": "assert-set", "assert": assertions}]}} for at, mark in enumerate(marks)
        ]}}  # fmt: skip
        paths.append(tmp_path / f"{model}.json")
        paths[-1].write_text(json.dumps(log if tool == "inspect" else tests))

    found = json.loads(run_cli("compare", *paths, "--metric", name, "--json").stdout)

    is_lower = not is_stated and name == "hallucinations"
    assert (found["direction"], found["pairs"][0]["better"]) == (("lower", "bad") if is_lower else ("higher", "good"))
    words = (
        "lower is assumed to be better, from its name"
        if is_lower
        else "higher is assumed to be better, but its name may mean"
    )
    assert any(words in note for note in found["notes"]) is not is_stated


def test_lm_eval_of_both_directions_has_two_metrics(tmp_path):
    stamp = "2026-01-02T03-04-05.678901"
    for task, value in {"t": 1.0, "u": 0.25}.items():
        rows = [
            {"doc_id": at, "doc": {"q": f"{task}{at}"}, "target": "x", "arguments": {"gen_args_0": {"arg_0": "q"}},
             "resps": [["x"]], "filtered_resps": ["x"], "filter": "none", "doc_hash": f"{task}{at}", "score": value}
            for at in range(4)
        ]  # fmt: skip
        (tmp_path / f"samples_{task}_{stamp}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = tmp_path / f"results_{stamp}.json"
    about = {
        "results": {"t": {}, "u": {}}, "config": {}, "model_name": "A", "versions": {},
        "higher_is_better": {"t": {"score": True}, "u": {"score": False}},
        "n-samples": {"t": {"effective": 4}, "u": {"effective": 4}},
    }  # fmt: skip
    path.write_text(json.dumps(about))

    assert numbers(path, "score") == ("higher", {"A": (1.0, 4)})
    assert numbers(path, "score (lower is better)") == ("lower", {"A": (0.25, 4)})


def test_promptfoos_prompts_with_the_same_beginning_are_two_models(tmp_path):
    path = promptfoo(tmp_path, 0)
    document = json.loads(path.read_text())
    results = document["results"]["results"]
    twins = []
    for place, ending in enumerate(("Think first.", "Answer at once.")):
        for row in results:
            text = "You are careful and honest. " * 4 + ending
            twins.append(row | {"prompt": {"raw": text, "label": text}, "promptIdx": place})
    document["results"]["results"] = twins
    path.write_text(json.dumps(document))

    sheet = open_results(open_run(path)).sheet(None)

    assert len(sheet.models) == 2


def test_a_crashed_tau_bench_trajectory_has_no_score(tmp_path):
    path = tmp_path / "tau.json"
    rows = [
        {"task_id": 0, "reward": 1.0, "info": {}, "traj": [], "trial": 0},
        {"task_id": 1, "reward": 0.0, "info": {"error": "RateLimitError: slow down", "traceback": "x"}, "traj": [], "trial": 0},
    ]  # fmt: skip
    path.write_text(json.dumps(rows))

    sheet = open_results(open_run(path)).sheet(None)
    (standing,) = standings(sheet)

    assert (standing.summary.value, standing.summary.n, standing.summary.n_missing) == (1.0, 1, {"failed": 1})


def test_a_time_beyond_the_year_9999_in_parquet_ends_with_a_sentence(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "ts.parquet"
    times = pyarrow.array([1 << 50, 1], pyarrow.timestamp("s"))
    parquet.write_table(pyarrow.table({"item": ["a", "b"], "score": [1.0, 0.0], "at": times}), path)

    result = run_cli("import", path, "--map", "item=item,score=score", "-o", tmp_path / "out")

    assert isinstance(result.exception, DataError), result.exception
    assert "not a readable Parquet file" in str(result.exception)


def test_jaegers_times_in_nanoseconds_are_unknown_times(tmp_path):
    span = {"traceID": "t", "spanID": "s", "operationName": "chat", "duration": 10, "startTime": 1_700_000_000_000_000_000,
            "tags": [{"key": "gen_ai.operation.name", "type": "string", "value": "chat"}]}  # fmt: skip
    path = tmp_path / "jg.json"
    path.write_text(json.dumps({"data": [{"traceID": "t", "spans": [span], "processes": {}}]}))

    result = run_cli("trace", path)

    assert not isinstance(result.exception, OverflowError)
    assert result.exit_code == 0, result.output


def two_metrics(folder, model, acc, f1, *, name="bench", lower=False):
    """Write an evaluation whose record has two results, and of each sample an instance of each."""
    about = {"acc": ("accuracy", False), "f1": ("edit_distance" if lower else "f1", lower)}
    record = {"schema_version": "0.2.2", "evaluation_id": "e", "model_info": {"id": model}, "evaluation_results": [
        {"evaluation_result_id": f"{model}#{own}", "evaluation_name": name, "metric_config": {"metric_name": metric, "lower_is_better": way}}
        for own, (metric, way) in about.items()
    ]}  # fmt: skip
    path = folder / f"{model}.json"
    path.write_text(json.dumps(record))
    rows = [
        {"schema_version": "0.2.2", "evaluation_id": "e", "model_id": model, "evaluation_name": name, "sample_id": str(at),
         "evaluation_result_id": f"{model}#{own}", "input": {"raw": f"q{at}"}, "output": {"raw": ["x"]}, "evaluation": {"score": score}}
        for at in range(10) for own, score in (("acc", acc), ("f1", f1))
    ]  # fmt: skip
    path.with_suffix(".jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("lower", [False, True])
def test_two_metrics_of_one_evaluation_are_two_metrics_and_no_attempts(tmp_path, lower):
    paths = [two_metrics(tmp_path, "A", 0.5, 0.9, lower=lower), two_metrics(tmp_path, "B", 0.25, 0.1, lower=lower)]
    second = "edit_distance" if lower else "f1"

    first, other = (json.loads(run_cli("compare", *paths, *by, "--json").stdout) for by in ((), ("--metric", second)))

    assert [(row["model"], row["summary"]["value"], row["summary"]["n"]) for row in first["ranking"]] == [
        ("A", 0.5, 10),
        ("B", 0.25, 10),
    ]
    assert (first["metric"], other["metric"], other["direction"]) == (
        "accuracy",
        second,
        "lower" if lower else "higher",
    )
    assert other["ranking"][0]["model"] == ("B" if lower else "A")
    assert {row["summary"]["value"] for row in other["ranking"]} == {0.1, 0.9}


@pytest.mark.parametrize("described", [True, False])
@pytest.mark.parametrize("turn", [False, True])
def test_two_results_of_one_metrics_name_are_two_metrics(tmp_path, described, turn):
    """Strict A .5, B .25; flexible A .9, B .1: their means, .7 and .175, say nothing."""
    paths = [two_metrics(tmp_path, "A", 0.5, 0.9), two_metrics(tmp_path, "B", 0.25, 0.1)]
    for path in paths:
        record = json.loads(path.read_text())
        for result, words in zip(record["evaluation_results"], ("strict", "flexible"), strict=True):
            result["metric_config"] |= {"metric_name": "accuracy"} | (
                {"evaluation_description": words} if described else {}
            )
        if turn and path is paths[1]:
            record["evaluation_results"].reverse()
        path.write_text(json.dumps(record))

    if not described:
        assert "marked by different metrics" in str(run_cli("compare", *paths).exception)
        return
    found = [
        json.loads(run_cli("compare", *paths, "--metric", f"accuracy ({kind})", "--json").stdout)
        for kind in ("strict", "flexible")
    ]
    assert [[row["summary"]["value"] for row in one["ranking"]] for one in found] == [[0.5, 0.25], [0.9, 0.1]]


def test_two_metrics_of_one_evaluation_are_held_by_their_own_settings_and_parameters(tmp_path):
    paths = [two_metrics(tmp_path, "A", 0.5, 0.9), two_metrics(tmp_path, "B", 0.25, 0.1)]
    for kind, ways in (("score_type", ("binary", "continuous")), ("metric_parameters", ({"k": 5}, {"k": 5}))):
        for path, way in zip(paths, ways, strict=True):
            record = json.loads(path.read_text())
            record["evaluation_results"][1]["metric_config"] |= {
                kind: way,
                "metric_name": "accuracy" if kind[0] == "m" else "f1",
            }
            path.write_text(json.dumps(record))
        metric = "accuracy (k=5)" if kind[0] == "m" else "f1"

        assert run_cli("compare", *paths).exit_code == 0
        assert "score_type:binary" in str(run_cli("compare", *paths, "--metric", metric).exception)


@pytest.mark.parametrize(
    "name",
    ["wrong_answers", "fpr", "fnr", "miss_rate", "timeouts", "crash_rate", "exceptions", "invalid_rate", "inaccuracy",
     "incorrectness", "duration", "response_time", "runtime", "time_to_first_token", "bpb", "losses", "crps", "mase", "rmsd", "fid"],
)  # fmt: skip
def test_of_a_metric_that_is_named_after_errors_less_is_better_with_a_note(tmp_path, name):
    for model, start in (("a", 1), ("b", 5)):
        log = {"version": 2, "status": "success", "eval": {"task": "t", "model": model, "dataset": {}}, "samples": [
            {"id": at, "epoch": 1, "input": f"q{at}", "scores": {name: {"value": start + at % 3}}} for at in range(12)]}  # fmt: skip
        (tmp_path / f"{model}.json").write_text(json.dumps(log))

    found = json.loads(run_cli("compare", tmp_path / "a.json", tmp_path / "b.json", "--json").stdout)

    assert (found["direction"], found["ranking"][0]["model"]) == ("lower", "a")
    assert f"{name}: lower is assumed to be better, from its name." in found["notes"][0]
