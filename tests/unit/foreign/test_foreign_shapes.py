"""What the real tools write that a description of their formats does not say: each shape was found in a file of theirs."""

from __future__ import annotations

import json
import os

import pytest

from markbook import open_run
from markbook.errors import DataError
from markbook.files import content
from markbook.results.kind import open_results
from markbook.results.leaderboard import standings


def figures(path, metric=None):
    """Each model's value, n and missing values."""
    sheet = open_results(open_run(path)).sheet(metric)
    return {one.model: (one.summary.value, one.summary.n, dict(one.summary.n_missing)) for one in standings(sheet)}


def promptfoo_test(number, n, *, output, error=None):
    asserts = [{"type": "equals", "value": str(2 * n), "metric": "right"}]
    right = output == str(2 * n)
    return {
        "provider": {"id": "file://provider.js", "label": "m"}, "prompt": {"raw": f"{n}?", "label": "{{n}}?"},
        "promptIdx": 0, "testIdx": number, "vars": {"n": n}, "testCase": {"vars": {"n": n}, "assert": asserts},
        "response": {"output": output}, "error": error, "failureReason": 2 if error else 0 if right else 1,
        "success": right and not error, "score": int(right and not error),
        "namedScores": {} if error else {"right": int(right)}, "gradingResult": None if error else {"pass": right},
    }  # fmt: skip


@pytest.mark.parametrize("provider", [{"id": "file://provider.js", "label": "m"}, "m"])
def test_promptfoos_repeats_are_repeats_though_each_has_a_number_of_its_own(tmp_path, provider):
    rows = [
        promptfoo_test(0, 4, output="8"), promptfoo_test(1, 4, output="9"),
        promptfoo_test(2, 5, output="10"), promptfoo_test(3, 5, output="10"),
        promptfoo_test(4, 6, output="", error="API error: 500"), promptfoo_test(5, 6, output="12"),
    ]  # fmt: skip
    rows = [row | {"provider": provider} for row in rows]
    path = tmp_path / "out.json"
    path.write_text(json.dumps({"evalId": "e", "results": {"version": 3, "prompts": [], "results": rows}}))

    sheet = open_results(open_run(path)).sheet("score")
    assert {name: cell.values for name, cell in sheet.marks["m"].items()} == {
        "0": (1.0, 0.0), "2": (1.0, 1.0), "4": (1.0,),
    }  # fmt: skip
    # What broke off is missing by the named score too, which promptfoo leaves out there.
    assert figures(path, "right") == {"m": ((0.5 + 1 + 1) / 3, 3, {"failed": 1})}


def test_an_inspect_sample_that_broke_off_lacks_the_metrics_that_others_have_and_no_more(tmp_path):
    scores = [{"name": "style", "scorer": "rubric"}, {"name": "match", "scorer": "match"}]
    samples = [
        {"id": 1, "epoch": 1, "input": "q", "scores": {"match": {"value": "C"}, "rubric": {"value": {"style": 0.5}}}},
        {"id": 2, "epoch": 1, "input": "r", "scores": {}, "error": {"message": "gone"}},
    ]
    samples.append(samples[0] | {"id": 3, "invalidation": {"author": "a", "reason": "leaked"}})
    about = {"model": "m", "dataset": {"sample_ids": [1, 2, 3]}, "config": {"epochs": 1}}
    log = {"version": 2, "status": "success", "eval": about, "results": {"scores": scores}, "samples": samples}
    (tmp_path / "log.json").write_text(json.dumps(log))

    assert list(open_results(open_run(tmp_path / "log.json")).columns) == ["match", "rubric/style"]
    assert figures(tmp_path / "log.json", "rubric/style") == {"m": (0.5, 1, {"failed": 2})}


def helm_run(folder, stats, instances):
    (folder / "run_spec.json").write_text(json.dumps({"name": "s", "adapter_spec": {"model": "m"}}))
    if instances is not None:
        (folder / "instances.json").write_text(json.dumps(instances))
    path = folder / "per_instance_stats.json"
    path.write_text(json.dumps(stats))
    return path


def helm_stat(item, perturbation=None, **values):
    stats = [{"name": {"name": name, "split": "test"}, "count": 1, "sum": value} for name, value in values.items()]
    found = {"instance_id": item, "train_trial_index": 0, "stats": stats}
    return found | ({"perturbation": {"name": perturbation}} if perturbation else {})


def test_helms_metrics_note_an_instance_one_after_the_other(tmp_path):
    stats = [
        helm_stat("id1", exact_match=1), helm_stat("id2", exact_match=0),
        helm_stat("id1", f1_score=0.5), helm_stat("id2", f1_score=0.25), helm_stat("id2", num_output_tokens=3),
    ]  # fmt: skip
    path = helm_run(tmp_path, stats, None)
    assert figures(path) == {"m": (0.5, 2, {})}
    assert figures(path, "f1_score") == {"m": (0.375, 2, {})}


def test_what_helm_leaves_out_as_nan_is_missing_and_an_instance_without_stats_absent(tmp_path):
    instances = [{"id": f"id{at}", "input": {"text": f"q{at}"}, "split": "test"} for at in (1, 2, 3)]
    stats = [helm_stat("id1", exact_match=1, f1_score=0.5), helm_stat("id2", exact_match=0)]
    path = helm_run(tmp_path, stats, instances)
    assert figures(path) == {"m": (0.5, 2, {"absent": 1})}
    assert figures(path, "f1_score") == {"m": (0.5, 1, {"absent": 1, "undefined": 1})}


def test_helms_inputs_are_read_out_of_the_scenario_where_nobody_summarised(tmp_path):
    path = helm_run(tmp_path, [helm_stat("id1", exact_match=1), helm_stat("id1", "typos", exact_match=0)], None)
    asked = [
        {"id": "id1", "input": {"text": "plain"}, "split": "test"},
        {"id": "id1", "input": {"text": "plian"}, "split": "test", "perturbation": {"name": "typos"}},
    ]
    states = {"request_states": [{"instance": one} for one in asked]}
    (tmp_path / "scenario_state.json").write_text(json.dumps(states))
    rows = {row["id"]: row["prompt"] for row in open_results(open_run(path)).rows()}
    assert rows == {"id1": "plain", "id1 (typos)": "plian"}


def test_items_of_one_cluster_are_not_taken_for_as_many_by_themselves(tmp_path):
    # Two passages of four questions each: 4 right and 4 wrong is one passage understood and one not.
    rows = [("item,model,score,passage"), *(f"{at},m,{int(at < 4)},p{at // 4}" for at in range(8))]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    columns = {"item": "item", "model": "model", "score": "score", "cluster": "passage"}
    (one,) = standings(open_results(open_run(tmp_path / "t.csv", columns=columns)).sheet(None))
    assert one.summary.value == 0.5
    assert one.summary.interval.method == "cluster-wilson-t"
    # se = sqrt(2 / 1) * sqrt(2^2 + 2^2) / 8 = .5, times t(1) = 12.7: nothing is known.
    assert one.summary.interval.low < 0.01
    assert one.summary.interval.high > 0.99


def test_evalplus_of_a_folder_is_called_after_it_and_one_failed_half_fails(tmp_path):
    statuses = [("pass", "pass"), ("fail", None), (None, "fail"), (None, "pass")]
    tried = {f"t/{at}": [{"base_status": base, "plus_status": plus}] for at, (base, plus) in enumerate(statuses)}
    tried["t/1"][0]["plus_status"] = "error"
    (tmp_path / "gpt").mkdir()
    path = tmp_path / "gpt" / "eval_results.json"
    path.write_text(json.dumps({"date": "2026-01-02", "hash": "h", "eval": tried}))
    assert figures(path, "plus") == {"gpt": (1 / 3, 3, {"failed": 1})}


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("p.json", b'{"evalId": "x", "results": {"version": 3, "results": ['),
        ("d.json", b'{"testCases": [{"metricsData": ['),
        ("per_instance_stats.json", b'[{"instance_id": "a", "train_trial_index": 0, "stats": ['),
        ("m_eval_results.json", b'{"eval": {"a": [{"base_status": "pass"'),
        ("log.json", b'{"status": "success", "eval": {"dataset": {}, "model": "m"'),
    ],
)
def test_a_document_of_two_gigabytes_is_refused_by_its_size_unread(tmp_path, monkeypatch, name, start):
    path = tmp_path / name
    path.write_bytes(start)
    os.truncate(path, 2 << 30)  # a hole: it takes no place on the disk
    read = []
    pieces = content.pieces
    monkeypatch.setattr(
        content, "pieces", lambda *args, **options: (read.append(len(one)) or one for one in pieces(*args, **options))
    )

    with pytest.raises(DataError, match="larger than 256 MiB"):
        open_results(open_run(path)).sheet(None)

    assert sum(read) < 1 << 20


NAMELESS = {
    "table.csv": "item,model,score\nx,A,1\n,A,0\n ,A,1\n",
    "tau.json": '[{"task_id": "x", "reward": 1, "traj": []}, {"task_id": null, "reward": 0, "traj": []}, {"task_id": " ", "reward": 0}]',
    "m_results.jsonl": '{"task_id": "x", "passed": true, "result": ""}\n{"task_id": null, "passed": false, "result": ""}\n'
    '{"passed": false, "result": "", "task_id": ""}\n',
    "eee.jsonl": "\n".join(
        json.dumps(
            {
                "evaluation_id": "e",
                "model_id": "m",
                "sample_id": one,
                "evaluation_name": "n",
                "evaluation": {"score": score},
            }
        )
        for one, score in (("x", 1), (None, 0), ("", 0))
    ),
    "samples_t.jsonl": "\n".join(
        json.dumps({"doc_id": one, "doc": {"q": one}, "resps": [["a"]], "filtered_resps": ["a"], "acc": score})
        for one, score in ((0, 1), (None, 0), (None, 0))
    ),
}


@pytest.mark.parametrize("name", NAMELESS)
def test_rows_that_name_no_item_are_counted_and_never_one_sample(tmp_path, name):
    (tmp_path / name).write_text(NAMELESS[name], encoding="utf-8")

    found = open_results(open_run(tmp_path / name))

    assert [value for value, _n, _missing in figures(tmp_path / name).values()] == [1.0]
    assert found.sheet(None).samples in (["x"], ["n/x"], ["t/0"])
    assert any(note.startswith("2 rows of this ") and "no item" in note for note in found.notes())


def test_a_table_in_which_no_row_names_an_item_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("item,model,score\n,A,1\n,B,0\n", encoding="utf-8")

    with pytest.raises(DataError, match="2 x no item"):
        figures(tmp_path / "t.csv")


def test_an_evalplus_entry_without_a_status_is_an_error_in_words(tmp_path):
    path = tmp_path / "m_eval_results.json"
    path.write_text(
        '{"eval": {"HumanEval/0": {"nfiles": 1, "base": [["success", []]], "plus": [[]]}}}', encoding="utf-8"
    )

    with pytest.raises(DataError, match="this file is not of a known version of evalplus"):
        figures(path)


def test_a_json_array_of_items_is_a_table_without_a_map(tmp_path):
    rows = [{"item": str(n), "model": "A", "score": n % 2} for n in range(4)]
    for name, indent in (("one.json", None), ("pretty.json", 2)):
        (tmp_path / name).write_text(json.dumps(rows, indent=indent), encoding="utf-8")

        assert figures(tmp_path / name) == {"A": (0.5, 4, {})}


def test_samples_of_lm_eval_named_alone_say_which_file_is_meant(tmp_path):
    row = {"doc_id": 0, "doc": {"q": 1}, "resps": [["a"]], "filtered_resps": ["a"], "acc": 1}
    path = tmp_path / "samples_t_2026-01-02T03-04-05.jsonl"
    path.write_text(json.dumps(row), encoding="utf-8")
    (tmp_path / "results_2026-01-02T03-04-05.json").write_text('{"results": {}, "config": {}}', encoding="utf-8")

    with pytest.raises(DataError, match=r"belong to the results beside them .*results_2026-01-02T03-04-05\.json"):
        figures(path)


@pytest.mark.parametrize("cell", ["1_0", "\u0663"])
def test_a_cell_that_is_no_number_to_a_reader_is_none(tmp_path, cell):
    (tmp_path / "t.csv").write_text(f"item,model,score\na,A,1\nb,A,{cell}\n", encoding="utf-8")

    assert figures(tmp_path / "t.csv") == {"A": (1.0, 1, {"undefined": 1})}
