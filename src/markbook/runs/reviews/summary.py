"""Summaries of a run of reviews, made of its journal."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NotRequired, TypedDict

from markbook.errors import DataError
from markbook.judge.assess import panel_agreement
from markbook.judge.rubrics import RUBRICS, TECHNICAL_ACCURACY
from markbook.measurements import MissingRecord
from markbook.results.files import SCHEMA
from markbook.results.summary import summarise_values
from markbook.runs.reviews.composite import LABELS, THRESHOLD, Best, choose_reference, combine, label_stability
from markbook.runs.reviews.config import ReviewConfig
from markbook.runs.reviews.review_rows import (
    JournaledReview,
    ReviewRow,
    ReviewSummary,
    SpreadRecord,
    SystemSummary,
    Tier,
    WeightSensitivityRecord,
    build_row,
    lacking,
    read_value,
)
from markbook.runs.reviews.tiers import from_json
from markbook.stats import clustered_standard_error, t_interval
from markbook.stats.records import Estimate
from markbook.store import Run
from markbook.text import cut
from markbook.text.schema import make_check
from markbook.types import Key, Missing, MissingKind, Summary

# How similar human reviews of one paper are to one another: what a generated review can be held to.

Similarity = Mapping[str, float | Missing]
"""How similar two reviews are, by the name of the measure."""


@dataclass(frozen=True, slots=True)
class Yardstick:
    """Human against human."""

    papers: int
    """Papers with at least two human reviews."""
    reviews: int
    pairs: Mapping[str, SpreadRecord]
    """Every two reviews of a paper, by similarity."""
    best: Mapping[str, SpreadRecord]
    """Each review against its closest other one."""
    best_of_paper: Mapping[str, SpreadRecord]
    """The closest two reviews of each paper."""
    combined: tuple[float, ...]
    """For each review, the combined similarity to its closest other one; empty if a similarity is missing."""
    most_possible: float | None
    """The largest combined score if the semantic part were 1 everywhere; None where it is measured or not used."""

    def success_rate(self, threshold: float) -> float | None:
        """Return the share of human reviews that would count as a success."""
        return sum(value >= threshold for value in self.combined) / len(self.combined) if self.combined else None


def measure_yardstick(papers: Iterable[tuple[int, Sequence[Similarity]]], weights: Mapping[str, float]) -> Yardstick:
    """Return the yardstick of many papers.

    Of each paper: how many human reviews it has and their similarities in the order (0,1), (0,2), (1,2), ...
    """
    pairs: dict[str, list[float]] = {name: [] for name in weights}
    best: dict[str, list[float]] = {name: [] for name in weights}
    tops: dict[str, list[float]] = {name: [] for name in weights}
    combined: list[float] = []
    ceilings: list[float] = []
    counted = reviews = 0
    for count, rows in papers:
        counted += 1
        reviews += count
        for name in weights:
            values = _drop_missing(row[name] for row in rows)
            pairs[name] += values
            tops[name] += [max(values)] if values else []
        # The rows are in the order of `combinations`, as `human_rows` wrote them.
        pair_of = dict(zip(itertools.combinations(range(count), 2), rows, strict=True))
        for review in range(count):
            others = [pair_of[min(review, other), max(review, other)] for other in range(count) if other != review]
            chosen = choose_reference(others, weights)
            if not isinstance(chosen, Best):
                continue
            closest = others[chosen.reference]
            for name in weights:
                best[name] += _drop_missing([closest[name]])
            combined += _drop_missing([combine(closest, weights)])
            # What the best human review could reach if the part that was not measured were perfect.
            ceilings += _drop_missing([combine({**closest, "semantic": 1.0}, weights)])
    open_semantic = "semantic" in weights and not pairs["semantic"] and ceilings
    return Yardstick(
        counted,
        reviews,
        _spreads(pairs),
        _spreads(best),
        _spreads(tops),
        tuple(combined),
        max(ceilings) if open_semantic else None,
    )


def _drop_missing(values: Iterable[float | Missing]) -> list[float]:
    return [value for value in values if not isinstance(value, Missing)]


def percentile(values: Sequence[float], percent: float) -> float:
    """Return a percentile by linear interpolation between order statistics (type 7).

    >>> percentile([1.0, 2.0, 3.0, 4.0], 50)
    2.5
    """
    ordered = sorted(values)
    rank = (len(ordered) - 1) * percent / 100
    below = int(rank)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (rank - below)


def _spreads(columns: Mapping[str, Sequence[float]]) -> dict[str, SpreadRecord]:
    return {
        name: {"n": len(values), "median": statistics.median(values), "min": min(values), "max": max(values)}
        for name, values in columns.items()
        if values
    }


# From the rows of a review run to its summary: by system, with what is missing, beside the human yardstick.

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
    agreements: dict[str, Any] = {}  # a panel's; nothing for a single judge
    for name, rubric in RUBRICS.items():
        details = [row["tier2"].get("details", {}).get(name) for row in rows]
        panels = [detail["by_judge"] for detail in details if detail and detail["by_judge"]]
        agreement = panel_agreement(panels, [criterion.name for criterion in rubric.criteria])
        if agreement is not None:
            agreements[name] = agreement
    return {
        "schema": SCHEMA,
        "papers": len(papers),
        "paper_ids": list(papers),
        "reviews": len(rows),
        "systems": {system: _system(system, rows, config, papers) for system in systems},
        "human_yardstick": {
            "papers": yardstick.papers,
            "reviews": yardstick.reviews,
            "every_pair": dict(yardstick.pairs),
            "closest_other": dict(yardstick.best),
            "closest_pair_of_paper": dict(yardstick.best_of_paper),
            "success_rate": yardstick.success_rate(config.threshold),
            "most_possible_combined": yardstick.most_possible,
        },
        "task_success_threshold": {"value": config.threshold, "from": threshold_from},
        "weight_sensitivity": _sensitivity(rows, systems, config),
        "judge_agreement": agreements,
        "policy": config.policy,
        "profile": config.profile,
    }


def _system(system: str, rows: Sequence[ReviewRow], config: ReviewConfig, papers: Sequence[str]) -> SystemSummary:
    mine = [row for row in rows if row["system"] == system]
    reviewed = {row["paper_id"] for row in mine}
    # A system that reviewed only the papers that suit it is seen by this.
    absent = sum(paper not in reviewed for paper in papers)
    labels = Counter(row["composite"]["recommendation"] or "missing" for row in mine)
    own = [(row["own_recommendation"]["difference"], row["paper_id"]) for row in mine]
    gaps = [(gap, paper) for gap, paper in own if gap is not None]
    clusters = _find_repeated_papers([paper for _, paper in gaps])
    signed = _mean([gap for gap, _ in gaps], clusters)
    absolute = _mean([abs(gap) for gap, _ in gaps], clusters)
    between, away = signed.interval, absolute.interval
    details = [row["tier2"].get("details", {}).get(TECHNICAL_ACCURACY.name) for row in mine]
    shares = [detail["coverage"] for detail in details if detail and detail["coverage"] is not None]
    return {
        "reviews": len(mine),
        "papers_reviewed": len(reviewed),
        "papers_without_review": absent,
        "metrics": {f"{tier}.{name}": _metric(mine, tier, name, absent, config).to_record() for tier, name in FIELDS},
        "recommendations": {label: labels[label] for label in (*LABELS, "missing") if labels[label]},
        "lacking": lacking(mine, config.weights),
        "own_recommendation": {
            "n": len(gaps),
            "n_missing": len(mine) - len(gaps),
            "note": signed.note,
            "mean_difference": signed.value,
            "mean_difference_interval": None if between is None else between.to_record(),
            "mean_absolute_difference": absolute.value,
            "mean_absolute_difference_interval": None if away is None else away.to_record(),
        },
        "paper_read": {
            "n": len(shares),
            "in_part": sum(share < 1 for share in shares),
            "least_share": min(shares, default=None),
        },
    }


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
    # Reviews of one paper resemble one another: where a paper has several, the interval is clustered by papers.
    summary = summarise_values(
        values,
        metric=f"{tier}.{name}",
        group=str(rows[0]["system"]),
        range=limits,
        n_missing=gaps,
        clusters=_find_repeated_papers(clusters),
        seed=config.seed,
    )
    # A range that was only seen bounds nothing: what is missing could lie outside of it.
    return summary if config.profile == "corrected" else replace(summary, bounds=None)


def _find_repeated_papers(papers: Sequence[str]) -> Sequence[str] | None:
    """Return the papers of reviews as their clusters; None where no paper has two."""
    return papers if len(set(papers)) < len(papers) else None


def _mean(values: Sequence[float], clusters: Sequence[str] | None) -> Estimate:
    return t_interval(values) if clusters is None else clustered_standard_error(values, clusters, correction="CR2")


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

        table = []
        for system in ranked:
            scores = [row["composite"]["metric_scores"] for row in complete if row["system"] == system]
            # A system's mean of each metric; complete composites have them all, so every mean is over the same
            # reviews.
            table.append([math.fsum(score[name] for score in scores) / len(scores) for name in names])
        sensitivity = weight_sensitivity(table, [config.weights[name] for name in names], seed=config.seed)
        result["ranks"] = {
            system: {
                "rank": sensitivity.ranks[index] + 1,
                "rank_shares": list(sensitivity.rank_probability_near[index]),
            }
            for index, system in enumerate(ranked)
        }
    return result


# From a review run's journal to its rows and summary: pure, so a finished run is scored again without measuring anything.

Rows = Callable[[str], Iterator[Any]]


class HumanRecord(TypedDict):
    """What a journal keeps of a paper's human reviews."""

    reviews: int
    pairs: list[dict[str, float | MissingRecord]]
    """For each pair of two reviews its similarities, or the reasons for having none."""


class Tier1Measured(TypedDict, total=False):
    """What a journal keeps of a review's text and time."""

    references: list[dict[str, float | MissingRecord]]
    reason: MissingRecord
    seconds: float | None
    recommendation: Any
    recommendation_scale: list[float] | None
    human_recommendations: list[float]
    scale: list[float] | None
    accepted: bool | None


class Tier3Measured(TypedDict, total=False):
    """What a journal keeps of a trace, beside what is told of it."""

    metrics: dict[str, float | MissingRecord]
    reason: MissingRecord
    seconds: float | None


class Judgement(TypedDict):
    """What a journal keeps of a judge's answer, beside the answer itself (`judge.client.from_record`)."""

    rubric: str
    model: str
    sample: int
    part: int
    chars: int
    coverage: float
    weighted: NotRequired[dict[str, list[float]] | None]
    quotes: NotRequired[int]
    quotes_found: NotRequired[int]
    cost: NotRequired[float | None]


_HELD: Mapping[str, Any] = {
    "tier1": Tier1Measured,
    "tier3": Tier3Measured,
    "tier3_gap": Tier3Measured,
    "unanswerable": dict[str, MissingRecord],
    "judgement": Judgement,
    "judgement_gap": Judgement,
    "human": HumanRecord,
}
"""What a row of each kind is held against: a journal may come from anybody, and a checksum only says that it is whole."""


def read_journal(journaled: Rows) -> tuple[list[JournaledReview], dict[str, HumanRecord]]:
    """Return what a journal keeps of each review, in order of paper, system and index, and of human pairs.

    Raises:
        DataError: a row of it is not one of a review.
    """
    reviews: dict[Key, JournaledReview] = {}

    def rows(kind: str) -> Iterator[Any]:
        check = make_check(_HELD[kind])
        size = 1 if kind == "human" else 3
        for row in journaled(kind):
            # `type` and not `isinstance`: true would be taken for the review number 1.
            if len(row.key) < size or (size == 3 and type(row.key[2]) is not int):
                raise DataError(f"the journal is damaged: {cut(str(row.key), 80)} is not the key of a {kind}")
            if (damaged_key := check(row.data)) is not None:
                where = f"{kind} of {cut(', '.join(map(str, row.key)), 80)}"
                raise DataError(
                    f"the journal is damaged: {cut(damaged_key.removeprefix('.'), 80)!r} in the {where} is not what stands there"
                )
            yield row

    def at(key: Key) -> JournaledReview:
        paper, system, index = str(key[0]), str(key[1]), int(key[2])
        return reviews.setdefault((paper, system, index), JournaledReview(paper, system, index))

    for row in rows("tier1"):
        at(row.key).tier1 = row.data
    # The gap first, so that a trace which a resumed run could read takes its place.
    for kind in ("tier3_gap", "tier3"):
        for row in rows(kind):
            at(row.key).tier3 = row.data
    for row in rows("unanswerable"):
        at(row.key).unanswerable = row.data
    answered: set[Key] = set()
    for kind in ("judgement", "judgement_gap"):
        for row in rows(kind):
            # Answers that stand come first: the gap of a question that was answered when it was asked again counts no more.
            if row.key not in answered:
                answered.add(row.key)
                at(row.key).judgements.append(row.data)
    ordered = sorted(reviews.values(), key=lambda item: (item.paper_id, item.system, item.index))
    for item in ordered:
        # Answers arrive in any order; the reports must not show it.
        item.judgements.sort(key=lambda row: (row["rubric"], row["model"], row["sample"], row["part"]))
    return ordered, {str(row.key[0]): row.data for row in rows("human")}


def list_systems(run: Run) -> list[str]:
    """Return the systems that a run has measured anything of, by name."""
    reviews, _ = read_journal(run.rows)
    return sorted({item.system for item in reviews})


def score(
    journaled: Sequence[JournaledReview],
    human: Mapping[str, HumanRecord],
    config: ReviewConfig,
    papers: Sequence[str],
    *,
    judge_asked: bool,
    models: Sequence[str],
) -> tuple[list[ReviewRow], ReviewSummary]:
    """Return the rows and the summary of what was journaled. Pure and idempotent."""
    humans = []
    for paper in sorted(human):
        pairs = [{name: from_json(value) for name, value in row.items()} for row in human[paper]["pairs"]]
        humans.append((human[paper]["reviews"], pairs))
    yardstick = measure_yardstick(humans, config.active_similarity())
    threshold_from = "the configuration" if config.threshold != THRESHOLD else "the document"
    if config.calibrate is not None:
        if not yardstick.combined:
            raise DataError(
                "the threshold cannot be calibrated: no paper has two human reviews with every similarity",
                hint="leave out what is not available with --similarity cosine,jaccard",
            )
        config = replace(config, threshold=percentile(yardstick.combined, config.calibrate))
        threshold_from = (
            f"percentile {config.calibrate:g} of {len(yardstick.combined)} nearest human-human similarities"
        )
    rows = [build_row(item, config, judge_asked=judge_asked, models=models) for item in journaled]
    # Over all rows at once: the shares of two reviews can be compared only if the same weights were drawn for both.
    # Set in every complete composite how often each label comes out when the weights are uncertain.
    complete = [row for row in rows if row["composite"]["evaluation_complete"]]
    scores = [row["composite"]["metric_scores"] for row in complete]
    for row, shares in zip(
        complete, label_stability(scores, config.weights, seed=config.seed, scale=config.scale), strict=True
    ):
        row["composite"]["label_stability"] = shares
    summary = summarise(rows, config, papers=papers, yardstick=yardstick, threshold_from=threshold_from)
    return rows, summary
