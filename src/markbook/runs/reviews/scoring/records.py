"""What summary.json and results.jsonl of a review run hold, by type: who reads a key that is not there hears it from mypy.

They are what the files hold and nothing else, so `json` reads and writes them as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypedDict

from markbook.measurements import MissingRecord
from markbook.results.files_view import FilesView
from markbook.types import IntervalRecord, SummaryRecord

Tier = Literal["tier1", "tier2", "tier3", "composite"]
Numbers = dict[str, Any]
"""Numbers by name, each null with its reason under `missing`."""


class ReviewRow(TypedDict):
    """One review: a row of results.jsonl."""

    paper_id: str
    system: str
    index: int
    tier1: Numbers
    tier2: Numbers
    tier3: Numbers
    composite: Numbers
    own_recommendation: Numbers
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
