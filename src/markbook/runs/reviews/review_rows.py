"""Scores of one review: its row, with a value or a reason for each part."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NotRequired, Required, TypedDict

from markbook.datasets.papers import read_scale
from markbook.judge.assess import aggregate_ratings
from markbook.judge.rubrics import RUBRICS
from markbook.measurements import MissingRecord
from markbook.results.files import FilesView, collect_reasons
from markbook.runs.reviews.composite import (
    METRICS,
    Best,
    Composite,
    choose_reference,
    combine,
    compose,
    task_success,
    time_score,
)
from markbook.runs.reviews.config import ReviewConfig
from markbook.runs.reviews.tiers import UNREAD, from_json, to_json
from markbook.types import IntervalRecord, Missing, MissingKind, SummaryRecord

# What summary.json and results.jsonl of a review run hold, by type: who reads a key that is not there hears it from mypy.
#
# They are what the files hold and nothing else, so `json` reads and writes them as they are.

Tier = Literal["tier1", "tier2", "tier3", "composite"]
Numbers = dict[str, Any]
"""Numbers by name, each null with its reason under `missing`."""


class _Part(TypedDict, total=False):
    """A part of a row; what was switched off, and what an earlier version did not write, is not there."""

    missing: Required[dict[str, MissingRecord]]
    overall_score: float | None


class Tier1Record(_Part, total=False):
    """Text against the human reviews, and time."""

    cosine_score: float | None
    jaccard_score: float | None
    semantic_score: float | None
    execution_time: float | None
    time_score: float | None
    similarity: float | None
    task_success: float | None
    best_reference: int
    mean_over_references: dict[str, float]
    semantic_unread_tokens: list[int]
    references: int


class JudgedRecord(TypedDict):
    """What the judges said by one rubric."""

    marks: dict[str, float]
    by_judge: dict[str, dict[str, float]]
    evidence: dict[str, dict[str, Any]]
    coverage: float | None
    deviation: float | None
    n: int
    n_missing: int
    quotes: NotRequired[int]
    quotes_found: NotRequired[int]


class Tier2Record(_Part, total=False):
    """What the judges said."""

    technical_accuracy: float | None
    constructiveness: float | None
    planning_rationality: float | None
    api_cost: float | None
    model_used: str
    fallback_used: bool
    details: dict[str, JudgedRecord]


class Tier3Record(_Part, total=False):
    """What the trace shows."""

    path_convergence: float | None
    tool_selection_accuracy: float | None
    coordination_centrality: float | None
    task_distribution_balance: float | None
    communication_overhead: float | None
    graph_complexity: float | None


class CompositeRecord(TypedDict, total=False):
    """All tiers by their weights."""

    missing: Required[dict[str, MissingRecord]]
    composite_score: float | None
    metric_scores: dict[str, float | None]
    weights_used: dict[str, float]
    interval: list[float]
    raw_score: float | None
    evaluation_complete: Required[bool]
    recommendation: str | None
    recommendation_weight: float | None
    possible_recommendations: list[str]
    policy: str
    tiers_enabled: list[int]
    config_version: str
    fallback_used: bool
    fallback_strategy: str
    tier1_only_score: float | None
    tier1_only_recommendation: str | None
    tier1_only_missing: MissingRecord | None
    tier1_score: float | None
    tier2_score: float | None
    tier3_score: float | None
    label_stability: dict[str, float]


class OwnRecord(TypedDict, total=False):
    """The review's own recommendation beside the human reviewers'."""

    missing: dict[str, MissingRecord]
    own: float | None
    human: float | None
    difference: float | None
    stated: Any
    accepted: bool | None
    humans: int


class ReviewRow(TypedDict):
    """One review: a row of results.jsonl."""

    paper_id: str
    system: str
    index: int
    tier1: Annotated[Numbers, Tier1Record]
    tier2: Annotated[Numbers, Tier2Record]
    tier3: Annotated[Numbers, Tier3Record]
    composite: Annotated[Numbers, CompositeRecord]
    own_recommendation: Annotated[Numbers, OwnRecord]
    missing: dict[str, MissingRecord]
    """Every reason once more, by its full name (`tier1.time_score`)."""


class Lack(TypedDict):
    """A metric that composites of a system lack."""

    metric: str
    reviews: int
    reason: str
    """The most frequent one."""
    give: str
    """What would help; empty where nothing is known to."""


class OwnRecommendation(TypedDict):
    """How far the reviews' own recommendations lie from the human mean, in shares of the scale."""

    n: int
    n_missing: int
    mean_difference: float | None
    mean_difference_interval: NotRequired[IntervalRecord | None]
    """Not in runs of earlier versions."""
    mean_absolute_difference: float | None
    mean_absolute_difference_interval: NotRequired[IntervalRecord | None]
    note: NotRequired[str]
    """Why the intervals are lacking."""


class PaperRead(TypedDict):
    """How much of the papers the judges read."""

    n: int
    in_part: int
    least_share: float | None


class SystemSummary(TypedDict):
    """One system's part of the summary."""

    reviews: int
    papers_reviewed: int
    papers_without_review: int
    metrics: dict[str, SummaryRecord]
    """By `tier.name`."""
    recommendations: dict[str, int]
    lacking: NotRequired[list[Lack]]
    own_recommendation: OwnRecommendation
    paper_read: NotRequired[PaperRead]


class SpreadRecord(TypedDict):
    """Where similarities of human reviews lie."""

    n: int
    median: float
    min: float
    max: float


class HumanYardstick(TypedDict):
    """Human against human."""

    papers: int
    reviews: int
    every_pair: dict[str, SpreadRecord]
    closest_other: dict[str, SpreadRecord]
    closest_pair_of_paper: dict[str, SpreadRecord]
    success_rate: float | None
    most_possible_combined: float | None


Threshold = TypedDict("Threshold", {"value": float, "from": str})
"""From where on a similarity counts as a success, and who says so."""


class SystemPlace(TypedDict):
    """A system's rank, and how often it has each rank when the weights are uncertain."""

    rank: int
    rank_shares: list[float]


class WeightSensitivityRecord(TypedDict):
    """How the order of systems and the labels depend on the weights."""

    reviews: int
    label_changes: float | None
    ranks: dict[str, SystemPlace] | None


class ReviewSummary(TypedDict):
    """The content of summary.json."""

    schema: int
    papers: int
    paper_ids: list[str]
    reviews: int
    systems: dict[str, SystemSummary]
    human_yardstick: HumanYardstick
    task_success_threshold: Threshold
    weight_sensitivity: WeightSensitivityRecord
    judge_agreement: dict[str, Any]
    policy: str
    profile: str


def get_tier(row: ReviewRow, name: str) -> Mapping[str, object]:
    """Return one tier of a row, or its composite, by name."""
    fields: Mapping[str, object] = row
    tier = fields[name]
    assert isinstance(tier, dict)
    return tier


ReviewsView = FilesView[ReviewRow, ReviewSummary]
"""A finished run of reviews."""


# What keeps a composite from being complete, and what the user would have to give.

NO_TRACE = "there is no trace of the run"
NOT_ASKED = "no judge was asked"
NO_TIME = "no execution time was given"
NO_TOOLS = "there is no reference that names tools"
NO_MODEL = "no model was named"

_TRACES, _JUDGE, _TOOLS = "--traces DIR", "--judge PROVIDER:NAME", "--tool-reference FILE"
_TEXTS = "--similarity cosine,jaccard, or bertscore_model in --config"
_GIVE: tuple[tuple[str, str, str], ...] = (
    ("time_taken", NO_TIME, f"execution_time in the rows of --reviews, or {_TRACES} with times"),
    ("task_success", NO_MODEL, _TEXTS),
    ("output_similarity", NO_MODEL, _TEXTS),
    ("planning_rationality", NOT_ASKED, _JUDGE),
    ("planning_rationality", NO_TRACE, _TRACES),
    ("coordination_quality", NO_TRACE, _TRACES),
    ("tool_efficiency", NO_TRACE, f"{_TRACES} and {_TOOLS}"),
    ("tool_efficiency", NO_TOOLS, _TOOLS),
)
"""By metric and the words of a reason: what would give it a value."""


def lacking(rows: Sequence[ReviewRow], weights: Mapping[str, float]) -> list[Lack]:
    """Return each metric that some composite lacks: of how many reviews, the most frequent reason, what to give.

    `give` is empty where nothing that one could give is known to help.
    """
    lacks: list[Lack] = []
    for metric in (name for name, weight in weights.items() if weight > 0):
        gone = [row for row in rows if metric in collect_reasons(row["composite"])]
        if not gone:
            continue
        reasons = Counter(collect_reasons(row["composite"])[metric].detail for row in gone)
        reason = reasons.most_common(1)[0][0]
        give = next((words for name, part, words in _GIVE if name == metric and part in reason), "")
        graphs = (collect_reasons(row["tier3"]).get("path_convergence") for row in gone)
        # Naming a judge alone would bring the user here a second time.
        if give == _JUDGE and any(graph is not None and graph.detail == NO_TRACE for graph in graphs):
            give += f" and {_TRACES}"  # a judge of planning reads the trace
        lacks.append({"metric": metric, "reviews": len(gone), "reason": reason, "give": give})
    return lacks


RENORMALISE = "--policy renormalise makes a composite of what there is"


def describe_lacks(system: SystemSummary) -> list[str]:
    """Return in words what a system's composites lack; nothing where all are complete."""
    return [
        f"{lack['metric']} is missing for {lack['reviews']} of {system['reviews']} reviews ({lack['reason']})"
        + (f": give {lack['give']}" if lack["give"] else "")
        for lack in system.get("lacking") or []
    ]


def lines(system: SystemSummary) -> list[str]:
    """Return the same, and what makes a composite where there is none."""
    sentences = describe_lacks(system)
    is_none = system["metrics"]["composite.composite_score"]["value"] is None
    return [*sentences, RENORMALISE] if sentences and is_none else sentences


# From what the journal keeps of a review to its row of results.jsonl. Pure: re-scoring runs this and nothing else.

Value = float | Missing
_TIER3 = ("path_convergence", "tool_selection_accuracy", "coordination_centrality", "task_distribution_balance")
_NO_TRACE = Missing(MissingKind.NOT_APPLICABLE, NO_TRACE)
_NOT_ASKED = Missing(MissingKind.ABSENT, NOT_ASKED)


@dataclass(slots=True)
class JournaledReview:
    """What the journal holds of one review."""

    paper_id: str
    system: str
    index: int
    tier1: Mapping[str, Any] = field(default_factory=dict)
    tier3: Mapping[str, Any] | None = None
    judgements: list[Mapping[str, Any]] = field(default_factory=list)
    unanswerable: Mapping[str, Any] = field(default_factory=dict)
    """By rubric: why it could not be asked."""

    @property
    def gap(self) -> Missing | None:
        """Why nothing was written that could be scored, though the time may be known and the agents have a trace; None otherwise."""
        reason = self.tier1.get("reason")
        gap = None if reason is None else from_json(reason)
        return gap if isinstance(gap, Missing) and gap.kind in (MissingKind.ABSENT, MissingKind.NO_COMPLETION) else None


class Fields:
    """A record in which each null stands beside its reason."""

    def __init__(self) -> None:
        self.record: dict[str, Any] = {}
        self.missing: dict[str, Any] = {}

    def put(self, name: str, value: Value) -> None:
        """Set a number, or null with its reason."""
        if isinstance(value, Missing):
            self.record[name] = None
            self.missing[name] = to_json(value)
        else:
            self.record[name] = value

    def done(self) -> Numbers:
        """Return the record, the reasons under `missing`."""
        return {**self.record, "missing": self.missing}


def build_row(review: JournaledReview, config: ReviewConfig, *, judge_asked: bool, models: Sequence[str]) -> ReviewRow:
    """Return a review's row: three tiers, the composite, and every reason once more by its full name."""
    tier1 = _tier1(review, config)
    tier2 = _tier2(review, config, judge_asked=judge_asked, models=models)
    tier3 = _tier3(review, config)
    tiers = {"tier1": tier1, "tier2": tier2, "tier3": tier3}
    composite = _composite(tiers, config, review.gap)
    missing = {
        f"{name}.{part}": reason
        for name, record in (*tiers.items(), ("composite", composite))
        for part, reason in record["missing"].items()
    }
    return {
        "paper_id": review.paper_id,
        "system": review.system,
        "index": review.index,
        "tier1": tier1,
        "tier2": tier2,
        "tier3": tier3,
        "composite": composite,
        "own_recommendation": _read_recommendation(review, config),
        "missing": missing,
    }


def read_value(record: Numbers, name: str) -> Value:
    """Return a value of a finished record, or its reason."""
    value = record.get(name)
    return collect_reasons(record).get(name, _NOT_ASKED) if value is None else float(value)


def _tier1(review: JournaledReview, config: ReviewConfig) -> Numbers:
    fields = Fields()
    if 1 not in config.tiers:
        return _switched_off(1, ("cosine_score", "jaccard_score", "semantic_score", "time_score", "overall_score"))
    references = [{name: from_json(value) for name, value in row.items()} for row in review.tier1.get("references", [])]
    weights = config.active_similarity()
    reason = review.tier1.get("reason")
    # One reference for all similarities: the best of each by itself could be those of different human reviews.
    chosen = from_json(reason) if reason is not None else choose_reference(references, weights)
    assert not isinstance(chosen, float)
    best = references[chosen.reference] if isinstance(chosen, Best) else {}
    for name in ("cosine", "jaccard", "semantic"):
        off = Missing(MissingKind.NOT_APPLICABLE, "this similarity was switched off")
        lacking = chosen if isinstance(chosen, Missing) else _NOT_ASKED
        fields.put(f"{name}_score", best.get(name, lacking) if name in weights else off)
    # The row's own time counts; where it has none, that of the trace.
    stated = review.tier1.get("seconds")
    if stated is None and review.tier3 is not None:
        stated = review.tier3.get("seconds")
    seconds: Value = Missing(MissingKind.ABSENT, NO_TIME) if stated is None else float(stated)
    if stated is not None and stated < 0:
        seconds = Missing(MissingKind.UNDEFINED, f"an execution time of {stated:g} s is not a time")
    fields.put("execution_time", seconds)
    timed = seconds if isinstance(seconds, Missing) else time_score(seconds, profile=config.profile)
    fields.put("time_score", timed)
    similarity = chosen if isinstance(chosen, Missing) else combine(best, weights)
    fields.put("similarity", similarity)
    fields.put("task_success", task_success(similarity, config.threshold))
    share = config.time_weight
    both = {"similarity": similarity, "time_taken": timed}
    overall = combine(both, {"similarity": 1 - share, "time_taken": share}) if share else similarity
    fields.put("overall_score", overall)
    if isinstance(chosen, Best):
        fields.record["best_reference"] = chosen.reference
        fields.record["mean_over_references"] = dict(chosen.mean)
        if all(name in best for name in UNREAD):
            counts = [best[name] for name in UNREAD]
            fields.record["semantic_unread_tokens"] = [0 if isinstance(n, Missing) else int(n) for n in counts]
    fields.record["references"] = len(references)
    return fields.done()


def _tier2(review: JournaledReview, config: ReviewConfig, *, judge_asked: bool, models: Sequence[str]) -> Numbers:
    names = (*RUBRICS, "overall_score")
    if 2 not in config.tiers:
        return _switched_off(2, (*names, "api_cost"))
    fields = Fields()
    values: dict[str, Value] = {}
    details: dict[str, Any] = {}
    for name, rubric in RUBRICS.items():
        rows = [row for row in review.judgements if row["rubric"] == name]
        if rows:
            score = aggregate_ratings(rubric, rows, judges=models, profile=config.profile)
            values[name] = score.value if score.value is not None else score.missing or _NOT_ASKED
            details[name] = {
                "marks": dict(score.marks),
                "by_judge": {model: dict(marks) for model, marks in score.by_judge.items()},
                "evidence": {name: dict(words) for name, words in score.evidence.items()},
                "coverage": score.coverage,
                "deviation": score.deviation,
                "n": score.n,
                "n_missing": score.n_missing,
                "quotes": score.quotes,
                "quotes_found": score.quotes_found,
            }
        elif name in review.unanswerable and judge_asked:
            # A trace that is there and cannot be read says more than "no trace".
            trace_reason = (review.tier3 or {}).get("reason") if "trace" in rubric.reads else None
            values[name] = from_json(review.unanswerable[name] if trace_reason is None else trace_reason)
        else:
            values[name] = _NOT_ASKED
        fields.put(name, values[name])
    fields.put("overall_score", _over(values, config.rubric_weights, config))
    costs = [row.get("cost") for row in review.judgements]
    known_costs = [float(cost) for cost in costs if cost is not None]
    unpriced = Missing(MissingKind.UNAVAILABLE, "no price is known for the judge") if costs else _NOT_ASKED
    # A sum with an unknown part is unknown, and not the sum of the rest.
    fields.put("api_cost", math.fsum(known_costs) if costs and len(known_costs) == len(costs) else unpriced)
    fields.record["model_used"] = ", ".join(models) if judge_asked else ""
    fields.record["fallback_used"] = False
    fields.record["details"] = details
    return fields.done()


def _tier3(review: JournaledReview, config: ReviewConfig) -> Numbers:
    names = (*_TIER3, "communication_overhead", "graph_complexity")
    if 3 not in config.tiers:
        return _switched_off(3, (*names, "overall_score"))
    fields = Fields()
    metrics = (review.tier3 or {}).get("metrics", {})
    reason = (review.tier3 or {}).get("reason")
    # A trace that could not be read has a reason of its own; only where none was found is there no trace.
    lacking = from_json(reason) if reason is not None else _NO_TRACE
    values = {name: from_json(metrics[name]) if name in metrics else lacking for name in names}
    for name, value in values.items():
        fields.put(name, value)
    fields.put("overall_score", _over(values, config.graph_weights, config))
    return fields.done()


def _over(values: Mapping[str, Value], weights: Mapping[str, float], config: ReviewConfig) -> Value:
    """Return a tier's overall score under the policy."""
    if config.policy == "renormalise":
        present = {name: w for name, w in weights.items() if w > 0 and not isinstance(values.get(name), Missing)}
        # With nothing present all weights are kept, so that the reason names what is missing.
        return combine(values, present) if present else combine(values, weights)
    return combine(values, weights)


def _switched_off(tier: int, names: Sequence[str]) -> Numbers:
    fields = Fields()
    for name in names:
        fields.put(name, Missing(MissingKind.NOT_APPLICABLE, f"tier {tier} is not enabled"))
    return fields.done()


def _composite(tiers: Mapping[str, Numbers], config: ReviewConfig, gap: Missing | None) -> Numbers:
    homes = {
        "time_taken": ("tier1", "time_score"),
        "task_success": ("tier1", "task_success"),
        "output_similarity": ("tier1", "overall_score"),
        "planning_rationality": ("tier2", "planning_rationality"),
        "coordination_quality": ("tier3", "coordination_centrality"),
        "tool_efficiency": ("tier3", "tool_selection_accuracy"),
    }
    scores = {name: read_value(tiers[homes[name][0]], homes[name][1]) for name in METRICS}
    if gap is not None and config.profile != "documented":
        scores = dict.fromkeys(METRICS, gap)  # how fast nothing came does not score a review
    composite = compose(scores, config.weights, policy=config.policy, profile=config.profile, scale=config.scale)
    fields = Fields()
    fields.put("composite_score", composite.score if composite.score is not None else composite.missing or _NOT_ASKED)
    scores_shown = Fields()
    for name, value in composite.metric_scores.items():
        scores_shown.put(name, value)
    record: dict[str, Any] = {
        "metric_scores": scores_shown.record,
        "weights_used": dict(composite.weights_used),
        "interval": list(composite.interval),
        "raw_score": composite.raw,
        "evaluation_complete": composite.complete,
        "recommendation": composite.label,
        "recommendation_weight": composite.label_weight,
        "possible_recommendations": list(composite.possible_labels),
        "policy": composite.policy,
        "tiers_enabled": list(config.tiers),
        "config_version": config.version,
        "fallback_used": False,
    }
    for tier in ("tier1", "tier2", "tier3"):
        fields.put(f"{tier}_score", read_value(tiers[tier], "overall_score"))
    no_score = to_json(
        Missing(composite.missing.kind if composite.missing else MissingKind.ABSENT, "there is no composite score")
    )
    if composite.label is None:
        fields.missing["recommendation"] = fields.missing["recommendation_weight"] = no_score
    if composite.raw is None:
        fields.missing["raw_score"] = no_score
    fields.missing.update(scores_shown.missing)
    if config.fallback == "tier1_only" and not composite.complete:
        # Under names of its own: the composite that the config asked for stays missing.
        record.update(_tier1_only(scores, config))
    return {**fields.record, **record, "missing": fields.missing}


def _tier1_only(scores: Mapping[str, Value], config: ReviewConfig) -> Numbers:
    """Return the fallback that the config asked for, under its own name; the composite stays missing."""
    names = ("time_taken", "task_success", "output_similarity")
    weights = {name: weight for name in names if (weight := config.weights.get(name, 0.0)) > 0}
    composite: Composite | None = None
    if weights:
        composite = compose(
            {name: scores[name] for name in weights}, weights, policy="require_complete", scale=config.scale
        )
    return {
        "fallback_used": True,
        "fallback_strategy": "tier1_only",
        "tier1_only_score": composite.score if composite else None,
        "tier1_only_recommendation": composite.label if composite else None,
        "tier1_only_missing": to_json(composite.missing) if composite and composite.missing else None,
    }


def _read_recommendation(review: JournaledReview, config: ReviewConfig) -> Numbers:
    """Return the review's own recommendation beside the human reviewers', both as 0..1 of their scales.

    The composite's label says how good the review is, this says whether it judges the paper as people did.
    """
    fields = Fields()
    stated = review.tier1.get("recommendation")
    # A journal may come from anybody, so its scales are read as those of a file are: their ends may be one.
    low, high = read_scale(review.tier1.get("recommendation_scale")) or config.recommendation_scale
    own: Value
    worst, best = (end(config.label_weights.values()) for end in (min, max))
    if isinstance(stated, str) and stated in config.label_weights and worst < best:
        # The labels' own scale, documented as -1 to 1: both sides are compared on 0..1.
        own = (config.label_weights[stated] - worst) / (best - worst)
    # A label that the configuration does not know says as little as none.
    elif not isinstance(stated, int | float):
        own = Missing(MissingKind.ABSENT, "the review states no recommendation")
    elif not low <= stated <= high:
        own = Missing(MissingKind.UNDEFINED, f"a recommendation of {stated:g} is outside {low:g}-{high:g}")
    else:
        own = (stated - low) / (high - low)
    fields.put("own", own)
    humans, scale = review.tier1.get("human_recommendations") or [], read_scale(review.tier1.get("scale"))
    people: Value
    if not humans:
        people = Missing(MissingKind.NOT_APPLICABLE, "no human recommendation is known")
    elif scale is None:
        people = Missing(MissingKind.UNDEFINED, "the venue's scale is not known")
    else:
        people = (math.fsum(humans) / len(humans) - scale[0]) / (scale[1] - scale[0])
    fields.put("human", people)
    # Of two reasons the review's own comes first.
    gap = next((value for value in (own, people) if isinstance(value, Missing)), None)
    fields.put("difference", gap if gap is not None else own - people)  # type: ignore[operator]  # neither is missing
    fields.record["stated"] = stated
    fields.record["accepted"] = review.tier1.get("accepted")
    fields.record["humans"] = len(humans)
    return fields.done()
