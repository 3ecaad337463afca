"""From the rows of a review run to its summary: by system, with what is missing, beside the human yardstick."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from markbook.judge.cases import panel_agreement
from markbook.judge.rubrics import RUBRICS, TECHNICAL_ACCURACY
from markbook.results.files_view import SCHEMA
from markbook.results.summary import summarise_values
from markbook.runs.reviews.config import ReviewConfig
from markbook.runs.reviews.scoring.composite import LABELS, label_stability
from markbook.runs.reviews.scoring.lacking import lacking
from markbook.runs.reviews.scoring.records import (
    HumanYardstick,
    OwnRecommendation,
    PaperRead,
    ReviewRow,
    ReviewSummary,
    SpreadRecord,
    SystemSummary,
    Tier,
    WeightSensitivityRecord,
)
from markbook.runs.reviews.scoring.rows import read_value
from markbook.runs.reviews.scoring.yardstick import Spread, Yardstick
from markbook.stats import clustered_standard_error, t_interval
from markbook.stats.records import Estimate
from markbook.types import Missing, MissingKind, Summary

FIELDS: tuple[tuple[Tier, str], ...] = (
    ("tier1", "cosine_score"),
    ("tier1", "jaccard_score"),
    ("tier1", "semantic_score"),
    ("tier1", "time_score"),
    ("tier1", "task_success"),
    ("tier1", "overall_score"),
    ("tier2", "technical_accuracy"),
    ("tier2", "constructiveness"),
    ("tier2", "planning_rationality"),
    ("tier2", "overall_score"),
    ("tier3", "path_convergence"),
    ("tier3", "tool_selection_accuracy"),
    ("tier3", "coordination_centrality"),
    ("tier3", "task_distribution_balance"),
    ("tier3", "overall_score"),
    ("composite", "composite_score"),
)


def summarise(
    rows: Sequence[ReviewRow], config: ReviewConfig, *, papers: Sequence[str], yardstick: Yardstick, threshold_from: str
) -> ReviewSummary:
    """Return summary.json's content; the same rows give the same bytes."""
    systems = sorted({str(row["system"]) for row in rows})
    return {
        "schema": SCHEMA,
        "papers": len(papers),
        "paper_ids": list(papers),
        "reviews": len(rows),
        "systems": {system: _system(system, rows, config, papers) for system in systems},
        "human_yardstick": _yardstick(yardstick, config),
        "task_success_threshold": {"value": config.threshold, "from": threshold_from},
        "weight_sensitivity": _sensitivity(rows, systems, config),
        "judge_agreement": _agreement(rows),
        "policy": config.policy,
        "profile": config.profile,
    }


def add_label_stability(rows: Sequence[ReviewRow], config: ReviewConfig) -> None:
    """Set in every complete composite how often each label comes out when the weights are uncertain."""
    complete = [row for row in rows if row["composite"]["evaluation_complete"]]
    scores = [row["composite"]["metric_scores"] for row in complete]
    for row, shares in zip(
        complete, label_stability(scores, config.weights, seed=config.seed, scale=config.scale), strict=True
    ):
        row["composite"]["label_stability"] = shares


def _system(system: str, rows: Sequence[ReviewRow], config: ReviewConfig, papers: Sequence[str]) -> SystemSummary:
    mine = [row for row in rows if row["system"] == system]
    reviewed = {row["paper_id"] for row in mine}
    absent = sum(paper not in reviewed for paper in papers)
    labels = Counter(row["composite"]["recommendation"] or "missing" for row in mine)
    return {
        "reviews": len(mine),
        "papers_reviewed": len(reviewed),
        "papers_without_review": absent,
        "metrics": {f"{tier}.{name}": _metric(mine, tier, name, absent, config).to_record() for tier, name in FIELDS},
        "recommendations": {label: labels[label] for label in (*LABELS, "missing") if labels[label]},
        "lacking": lacking(mine, config.weights),
        "own_recommendation": _summarise_recommendations(mine),
        "paper_read": _paper_read(mine),
    }


def _paper_read(rows: Sequence[ReviewRow]) -> PaperRead:
    """Return how many reviews were judged beside their paper, how many beside a part of it, and the least share."""
    details = [row["tier2"].get("details", {}).get(TECHNICAL_ACCURACY.name) for row in rows]
    shares = [detail["coverage"] for detail in details if detail and detail["coverage"] is not None]
    return {"n": len(shares), "in_part": sum(share < 1 for share in shares), "least_share": min(shares, default=None)}


def _metric(rows: Sequence[ReviewRow], tier: Tier, name: str, absent: int, config: ReviewConfig) -> Summary:
    values: list[float] = []
    clusters: list[str] = []
    gaps: Counter[str] = Counter({MissingKind.ABSENT.value: absent} if absent else {})
    for row in rows:
        value = read_value(row[tier], name)
        if isinstance(value, Missing):
            gaps[value.kind.value] += 1
        else:
            values.append(value)
            clusters.append(row["paper_id"])
    # The document's formulas leave 0..1, so there the range is what was seen.
    limits = (min([0.0, *values]), max([1.0, *values]))
    summary = summarise_values(
        values,
        metric=f"{tier}.{name}",
        group=str(rows[0]["system"]),
        range=limits,
        n_missing=gaps,
        clusters=_find_repeated_papers(clusters),
        seed=config.seed,
    )
    return summary if config.profile == "corrected" else replace(summary, bounds=None)


def _find_repeated_papers(papers: Sequence[str]) -> Sequence[str] | None:
    """Return the papers of reviews as their clusters; None where no paper has two."""
    return papers if len(set(papers)) < len(papers) else None


def _summarise_recommendations(rows: Sequence[ReviewRow]) -> OwnRecommendation:
    gaps = [(row["own_recommendation"]["difference"], row["paper_id"]) for row in rows]
    gaps_known = [(gap, paper) for gap, paper in gaps if gap is not None]
    papers = _find_repeated_papers([paper for _, paper in gaps_known])
    signed = _mean([gap for gap, _ in gaps_known], papers)
    absolute = _mean([abs(gap) for gap, _ in gaps_known], papers)
    between, away = signed.interval, absolute.interval
    return {
        "n": len(gaps_known),
        "n_missing": len(rows) - len(gaps_known),
        "note": signed.note,
        "mean_difference": signed.value,
        "mean_difference_interval": None if between is None else between.to_record(),
        "mean_absolute_difference": absolute.value,
        "mean_absolute_difference_interval": None if away is None else away.to_record(),
    }


def _mean(values: Sequence[float], clusters: Sequence[str] | None) -> Estimate:
    return t_interval(values) if clusters is None else clustered_standard_error(values, clusters)


def _yardstick(yardstick: Yardstick, config: ReviewConfig) -> HumanYardstick:
    def spreads(part: Mapping[str, Spread]) -> dict[str, SpreadRecord]:
        return {name: spread.as_record() for name, spread in part.items()}

    return {
        "papers": yardstick.papers,
        "reviews": yardstick.reviews,
        "every_pair": spreads(yardstick.pairs),
        "closest_other": spreads(yardstick.best),
        "closest_pair_of_paper": spreads(yardstick.best_of_paper),
        "success_rate": yardstick.success_rate(config.threshold),
        "most_possible_combined": yardstick.most_possible,
    }


def _sensitivity(rows: Sequence[ReviewRow], systems: Sequence[str], config: ReviewConfig) -> WeightSensitivityRecord:
    """Return how the order of systems and the labels depend on the weights; only complete composites take part."""
    complete = [row for row in rows if row["composite"]["evaluation_complete"]]
    stable = [
        row["composite"]["label_stability"].get(row["composite"]["recommendation"], 0.0)
        for row in complete
        if "label_stability" in row["composite"]
    ]
    result: WeightSensitivityRecord = {
        "reviews": len(complete),
        "label_changes": 1 - math.fsum(stable) / len(stable) if stable else None,
        "ranks": None,
    }
    names = [name for name, weight in config.weights.items() if weight > 0]
    ranked = [system for system in systems if any(row["system"] == system for row in complete)]
    if len(ranked) > 1:
        from markbook.stats import weight_sensitivity

        table = [_means([row for row in complete if row["system"] == system], names) for system in ranked]
        sensitivity = weight_sensitivity(table, [config.weights[name] for name in names], seed=config.seed)
        result["ranks"] = {
            system: {
                "rank": sensitivity.ranks[index] + 1,
                "rank_shares": list(sensitivity.rank_probability_near[index]),
            }
            for index, system in enumerate(ranked)
        }
    return result


def _means(rows: Sequence[ReviewRow], names: Sequence[str]) -> list[float]:
    return [math.fsum(row["composite"]["metric_scores"][name] for row in rows) / len(rows) for name in names]


def _agreement(rows: Sequence[ReviewRow]) -> dict[str, object]:
    """Return Krippendorff's ordinal alpha over a panel's marks, by rubric; nothing for a single judge."""
    agreements: dict[str, Any] = {}
    for name, rubric in RUBRICS.items():
        panels = [d["by_judge"] for row in rows if (d := row["tier2"].get("details", {}).get(name)) and d["by_judge"]]
        agreement = panel_agreement(panels, [criterion.name for criterion in rubric.criteria])
        if agreement is not None:
            agreements[name] = agreement
    return agreements
