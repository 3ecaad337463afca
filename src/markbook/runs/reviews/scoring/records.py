"""What summary.json and results.jsonl of a review run hold, by type: who reads a key that is not there hears it from mypy.

They are what the files hold and nothing else, so `json` reads and writes them as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, Required, TypedDict

from markbook.measurements import MissingRecord
from markbook.results.files_view import FilesView
from markbook.types import IntervalRecord, SummaryRecord

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
    """Why there is no interval."""


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


def tier_of(row: ReviewRow, name: str) -> Mapping[str, object]:
    """Return one tier of a row, or its composite, by name."""
    fields: Mapping[str, object] = row
    tier = fields[name]
    assert isinstance(tier, dict)
    return tier


ReviewsView = FilesView[ReviewRow, ReviewSummary]
"""A finished run of reviews."""
