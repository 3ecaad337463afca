"""What a review run is asked to do: defaults, a `config_eval.json` in either known shape, then the command's options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from markbook.errors import ConfigError, suggest
from markbook.judge.rubrics import TIER_WEIGHTS
from markbook.metrics.graph.all_metrics import WEIGHTS
from markbook.option import JUDGE_PATIENCE
from markbook.runs.reviews.composite import (
    DOCUMENTED_SCALE,
    SIMILARITY_WEIGHTS,
    THRESHOLD,
    LabelScale,
    Policy,
    equal_weights,
)
from markbook.types import Profile, Record

TARGETS: Mapping[str, float] = {"tier1": 1.0, "tier2": 10.0, "tier3": 15.0, "total": 25.0}
"""Seconds for one review, as documented."""
GRAPH_NAMES = {
    "path_convergence": "path_convergence",
    "tool_accuracy": "tool_selection_accuracy",
    "coordination_quality": "coordination_centrality",
    "task_balance": "task_distribution_balance",
}


@dataclass(frozen=True, slots=True)
class ReviewConfig:
    """Everything that can change a number, resolved."""

    profile: Profile = "corrected"
    policy: Policy = "require_complete"
    weights: Mapping[str, float] = field(default_factory=equal_weights)
    thresholds: Mapping[str, float] = field(default_factory=lambda: dict(DOCUMENTED_SCALE.thresholds))
    label_weights: Mapping[str, float] = field(default_factory=lambda: dict(DOCUMENTED_SCALE.weights))
    fallback: str = ""
    """`tier1_only`: beside a missing composite, a score from tier 1 alone under its own name."""
    similarity: tuple[str, ...] = ("semantic", "cosine", "jaccard")
    similarity_weights: Mapping[str, float] = field(default_factory=lambda: dict(SIMILARITY_WEIGHTS))
    time_weight: float = 0.0
    """The share of the time score in tier 1's overall score; the documented later configuration gives it .1."""
    semantic_asked: bool = False
    """Whether the user named the semantic score: then a run without it is incomplete."""
    bertscore_model: str = ""
    threshold: float = THRESHOLD
    calibrate: float | None = None
    """Derive the threshold as this percentile of human against human."""
    tiers: tuple[int, ...] = (1, 2, 3)
    rubric_weights: Mapping[str, float] = field(default_factory=lambda: dict(TIER_WEIGHTS))
    graph_weights: Mapping[str, float] = field(default_factory=lambda: dict(WEIGHTS))
    targets: Mapping[str, float] = field(default_factory=lambda: dict(TARGETS))
    recommendation_scale: tuple[float, float] = (1.0, 5.0)
    """Of the generated reviews' own recommendation, where a row does not state its own."""
    tool_reference: Record | Path | None = None
    """Which tools are right: a map of contexts to tools (`default` for the rest) or expected calls, for all papers or
    by paper; or the file that holds it."""
    max_retries: int = JUDGE_PATIENCE.retries
    judge_seconds: float = JUDGE_PATIENCE.seconds
    cost_per_review: float | None = None
    """US dollars; times the number of reviews it is the run's limit."""
    judge_name: str = ""
    """The judge that the config names; asked only if the command says so."""
    seed: int = 0
    version: str = ""
    notes: tuple[str, ...] = ()
    """What of the config was not used, and why."""

    @property
    def scale(self) -> LabelScale:
        """Return the mapping from score to label."""
        return LabelScale(self.thresholds, self.label_weights)

    def active_similarity(self) -> dict[str, float]:
        """Return the weights of the similarities that are measured."""
        return {name: self.similarity_weights[name] for name in self.similarity if name in self.similarity_weights}

    def as_record(self) -> dict[str, object]:
        """Return it as JSON for the manifest."""
        record = asdict(self)
        # How long to wait and what is fast enough change no number, so a resumed run may change them. The reference of
        # tools is an input, known by its content.
        for name in ("notes", "judge_seconds", "targets", "tool_reference"):
            record.pop(name)
        return {name: list(value) if isinstance(value, tuple) else value for name, value in record.items()}


def default_config(profile: Profile = "corrected") -> ReviewConfig:
    """Return the configuration of a run without a file."""
    return ReviewConfig(profile=profile, weights=equal_weights(profile))


def parse_similarity(named: object, at: str = "") -> tuple[str, ...]:
    """Return the similarities by name, in the order of their weights.

    Raises:
        ConfigError: it is not a list of known names, or an empty one.
    """
    similarity_names = list(SIMILARITY_WEIGHTS)
    if not isinstance(named, list | tuple) or not named:
        raise ConfigError(
            "'similarity_metrics' must list at least one similarity", at=at, hint=", ".join(similarity_names)
        )
    for name in named:
        if name not in similarity_names:
            raise ConfigError(f"unknown similarity {name!r}", at=at, hint=suggest(str(name), similarity_names))
    return tuple(name for name in similarity_names if name in named)
