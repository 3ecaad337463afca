"""`config_eval.json` in both known shapes."""

import json

import pytest
from support.review_kit import markbook, only_run, papers, reviews, rows_of

from markbook.errors import ConfigError
from markbook.runs.reviews.config import default_config
from markbook.runs.reviews.config_file import read_config

FLAT = {
    "metrics_and_weights": {
        "time_taken": 0.167,
        "task_success": 0.167,
        "coordination_quality": 0.167,
        "tool_efficiency": 0.167,
        "planning_rational": 0.167,
        "output_similarity": 0.167,
    },
    "evaluation": {
        "similarity_metrics": ["cosine", "jaccard", "semantic"],
        "default_metric": "semantic",
        "confidence_threshold": 0.7,
        "recommendation_weights": {"accept": 1.0, "weak_accept": 0.7, "weak_reject": -0.7, "reject": -1.0},
    },
}
TIERED = {
    "version": "1.2.0",
    "evaluation_system": {"tiers_enabled": [1, 3], "performance_targets": {"tier1_max_seconds": 2.0}},
    "tier1_traditional": {
        "similarity_metrics": ["cosine", "jaccard"],
        "tier1_weights": {"semantic": 0.4, "cosine": 0.3, "jaccard": 0.2, "time_taken": 0.1},
    },
    "tier2_llm_judge": {
        "model": "gpt-4o-mini",
        "max_retries": 1,
        "timeout_seconds": 12,
        "cost_budget_usd": 0.05,
        "paper_excerpt_length": 2000,
        "weights": {"technical_accuracy": 0.4, "constructiveness": 0.3, "planning_rationality": 0.3},
    },
    "tier3_graph": {
        "graph_weights": {"path_convergence": 1, "tool_accuracy": 1, "coordination_quality": 1, "task_balance": 1}
    },
    "composite_scoring": {
        "metrics_and_weights": {"planning_rationality": 1.0},
        "recommendation_thresholds": {"accept": 0.9, "weak_accept": 0.6, "weak_reject": 0.4, "reject": 0.0},
        "fallback_strategy": "tier1_only",
    },
    "observability": {"enabled": True},
}


def read(tmp_path, record):
    file = tmp_path / "config_eval.json"
    file.write_text(json.dumps(record))
    return read_config(file)


def test_the_flat_shape(tmp_path):
    config = read(tmp_path, FLAT)

    assert set(config.weights) == {
        "time_taken", "task_success", "coordination_quality", "tool_efficiency", "planning_rationality",
        "output_similarity",
    }  # fmt: skip
    assert config.threshold == 0.7
    assert config.similarity == ("semantic", "cosine", "jaccard")
    assert config.semantic_asked


def test_the_three_tier_shape(tmp_path):
    config = read(tmp_path, TIERED)

    assert config.weights == {"planning_rationality": 1.0}
    assert config.tiers == (1, 3)
    assert config.targets["tier1"] == 2.0
    assert config.active_similarity() == {"cosine": 0.3, "jaccard": 0.2}
    assert config.time_weight == pytest.approx(0.1)
    assert (config.max_retries, config.judge_seconds, config.cost_per_review) == (1, 12.0, 0.05)
    assert config.graph_weights["tool_selection_accuracy"] == 1
    assert config.scale.label(0.85)[0] == "weak_accept"
    assert config.fallback == "tier1_only"
    assert config.judge_name == "gpt-4o-mini"
    assert any("observability" in note for note in config.notes)
    assert any("paper_excerpt_length" in note for note in config.notes)


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"metrics_and_weights": []},
        {"metrics_and_weights": {"blue": 1}},
        {"metrics_and_weights": {"time_taken": 10**400}},
        {"evaluation": 3},
        {"evaluation": {"similarity_metrics": "cosine"}},
        {"evaluation": {"similarity_metrics": ["sine"]}},
        {"evaluation": {"similarity_metrics": []}},
        {"evaluation": {"confidence_threshold": -1}},
        {"evaluation": {"recommendation_weights": {"perhaps": 1}}},
        {"composite_scoring": {"recommendation_thresholds": {"accept": 0.1}}},
        {"composite_scoring": {"fallback_strategy": "guess"}},
        {"tier1_traditional": {"tier1_weights": {"time_taken": 1}}},
        {"tier2_llm_judge": {"timeout_seconds": 0}},
        {"tier2_llm_judge": {"max_retries": "many"}},
        {"tier2_llm_judge": {"weights": 3}},
        {"tier3_graph": {"graph_weights": {"blue": 1}}},
        {"evaluation_system": {"tiers_enabled": [4]}},
        {"evaluation_system": {"tiers_enabled": [[1]]}},
    ],
)
def test_what_cannot_be_honoured_is_refused(tmp_path, record):
    with pytest.raises(ConfigError):
        read(tmp_path, record)


def test_the_default_weighs_all_six_alike():
    assert set(default_config().weights.values()) == {1 / 6}
    assert set(default_config("documented").weights.values()) == {0.167}


def test_a_manifest_holds_the_config_without_what_changes_no_number(tmp_path):
    record = read(tmp_path, TIERED).as_record()

    json.dumps(record, allow_nan=False)
    assert "judge_seconds" not in record
    assert record["weights"] == {"planning_rationality": 1.0}


def test_how_often_a_label_changes_goes_by_the_thresholds_of_the_configuration(tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({
        "metrics_and_weights": {"time_taken": 1},
        "composite_scoring": {"recommendation_thresholds": {"accept": 0.9, "weak_accept": 0.7, "weak_reject": 0.3}},
    }))  # fmt: skip
    rows = [{"paper_id": "one", "system": "mas", "review": "Fine.", "execution_time": 5}]

    code, _, err = markbook("review", "--papers", papers(tmp_path), "--reviews", reviews(tmp_path, rows), "--config", config,
                            "--similarity", "cosine,jaccard", "--output", tmp_path / "out")  # fmt: skip

    assert code == 0, err
    run = only_run(tmp_path / "out")
    (row,) = rows_of(run).values()
    # 1 / (1 + ln 5) = .383; with a single weight there is none to draw, so the label never changes.
    assert row["composite"]["recommendation"] == "weak_reject"
    assert row["composite"]["label_stability"] == {"weak_reject": 1.0}
    assert json.loads((run / "summary.json").read_text())["weight_sensitivity"]["label_changes"] == 0.0
