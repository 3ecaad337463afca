"""The composite score of a review and its recommendation: where the tiers meet and missing parts are settled.

    score = sum of weight x metric over six metrics, weights normalised to 1, every metric 0..1 and higher better

A missing metric never counts as 0. Whatever the policy, the interval says what the score could be: all that is missing
at 0, and all at 1. Formula source: spec 002, "Composite Scoring Implementation"; `profile="documented"` is that code.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from markbook.errors import ConfigError, suggest
from markbook.metrics import clamp
from markbook.types import Missing, MissingKind, Profile

# The scores of tier 1 that are arithmetic on times and similarities.

SIMILARITY_WEIGHTS: Mapping[str, float] = {"semantic": 0.5, "cosine": 0.3, "jaccard": 0.2}
"""As documented, for the overall similarity and for task success."""
THRESHOLD = 0.8
"""The documented threshold of task success. No human review reaches it: see the human-against-human yardstick."""


def time_score(seconds: float | None, *, profile: str = "corrected") -> float | Missing:
    """Return the score of an execution time; None if it is unknown.

    Corrected: 1 for t <= 1 s, else 1 / (1 + ln t), so in (0, 1] and never rising. Documented: 1 / (1 + ln(max(0.1,
    t))), which is negative below 1/e s, has a pole there, and exceeds 1 up to 1 s.
    """
    if seconds is None:
        return Missing(MissingKind.ABSENT, "no execution time was given")
    if not math.isfinite(seconds) or seconds < 0:
        return Missing(MissingKind.UNDEFINED, f"an execution time of {seconds:g} s is not a time")
    if profile == "documented":
        bottom = 1 + math.log(max(0.1, seconds))
        return 1 / bottom if bottom else Missing(MissingKind.UNDEFINED, "the documented formula has a pole at 1/e s")
    return 1.0 if seconds <= 1 else 1 / (1 + math.log(seconds))


def combine(scores: Mapping[str, float | Missing], weights: Mapping[str, float]) -> float | Missing:
    """Return the weighted mean of similarities; missing if one with a weight is missing.

    A single similarity at weight 0 is not looked at.
    """
    used = {name: weight for name, weight in weights.items() if weight > 0}
    total = math.fsum(used.values())
    parts = []
    for name, weight in used.items():
        value = scores.get(name, Missing(MissingKind.ABSENT, "not measured"))
        if isinstance(value, Missing):
            # The other weights are not scaled up: a mean of other parts is another number under the same name.
            return Missing(value.kind, f"{name} is missing: {value.detail}")
        parts.append(weight * value)
    return math.fsum(parts) / total


@dataclass(frozen=True, slots=True)
class Best:
    """Which reference a review was closest to."""

    reference: int
    """Its place among the human reviews."""
    mean: Mapping[str, float]
    """The mean over all references of every similarity that all have."""


def choose_reference(
    references: Sequence[Mapping[str, float | Missing]], weights: Mapping[str, float]
) -> Best | Missing:
    """Return the reference with the largest combined score, the first of equals.

    The score combines the similarities that every reference has; so without a semantic score it is
    .3 cosine + .2 Jaccard.
    """
    if not references:
        return Missing(MissingKind.UNDEFINED, "the paper has no human review to compare with")
    shared = {
        name: weight
        for name, weight in weights.items()
        if weight > 0 and all(not isinstance(row.get(name, _NONE), Missing) for row in references)
    }
    # No similarity that all references have: which is closest cannot be said, and the first reason is why.
    if not shared:
        first = next((row[name] for name in weights for row in references[:1] if name in row), _NONE)
        reason = first if isinstance(first, Missing) else _NONE
        return Missing(reason.kind, reason.detail)
    values = [combine(row, shared) for row in references]
    numbers = [value for value in values if not isinstance(value, Missing)]
    # `numbers` has a value for each reference, since `shared` holds what all of them have: places are those of
    # `references`.
    best = numbers.index(max(numbers))
    means = {
        name: math.fsum(value for row in references if not isinstance(value := row[name], Missing)) / len(references)
        for name in shared
    }
    return Best(best, means)


_NONE = Missing(MissingKind.ABSENT, "not measured")


def task_success(similarity: float | Missing, threshold: float = THRESHOLD) -> float | Missing:
    """Return 1.0 if the overall similarity reaches the threshold, else 0.0; missing with the similarity."""
    return similarity if isinstance(similarity, Missing) else float(similarity >= threshold)


Policy = Literal["require_complete", "renormalise", "bounds"]

METRICS = (
    "time_taken",
    "task_success",
    "coordination_quality",
    "tool_efficiency",
    "planning_rationality",
    "output_similarity",
)
"""The six documented metrics. Where each comes from: docs/reviews.md."""
ALIASES = {"planning_rational": "planning_rationality"}
"""The document spells one metric two ways."""
DOCUMENTED_WEIGHT = 0.167
THRESHOLDS: Mapping[str, float] = {"accept": 0.8, "weak_accept": 0.6, "weak_reject": 0.4, "reject": 0.0}
LABEL_WEIGHTS: Mapping[str, float] = {"accept": 1.0, "weak_accept": 0.7, "weak_reject": -0.7, "reject": -1.0}
LABELS = tuple(THRESHOLDS)

_DIGITS = 12
NEAR = 50.0
"""Concentration of the Dirichlet around the stated weights: about a fifth of a weight up or down."""


@dataclass(frozen=True, slots=True)
class LabelScale:
    """From a score to a label."""

    thresholds: Mapping[str, float]
    """The least score for each label; `reject` takes what is below the others."""
    weights: Mapping[str, float]

    def label(self, score: float) -> tuple[str, float]:
        """Return the label of a score, compared as it is, not rounded, and the label's weight."""
        for name in LABELS[:-1]:
            if score >= self.thresholds[name]:
                return name, self.weights[name]
        return LABELS[-1], self.weights[LABELS[-1]]


DOCUMENTED_SCALE = LabelScale(THRESHOLDS, LABEL_WEIGHTS)


@dataclass(frozen=True, slots=True)
class Composite:
    """One review's composite."""

    score: float | None
    """0..1; None if something is missing and the policy does not settle it."""
    missing: Missing | None
    raw: float | None
    """The weighted sum before it is held to 0..1."""
    interval: tuple[float, float]
    """The score with all that is missing at 0, and at 1."""
    metric_scores: Mapping[str, float | Missing]
    weights_used: Mapping[str, float]
    """What each metric counted; they add up to 1 unless the profile is the documented one."""
    label: str | None
    label_weight: float | None
    possible_labels: tuple[str, ...]
    """Every label from the interval's low end to its high end, worst first."""
    complete: bool
    policy: str


def read_weights(weights_given: Mapping[str, object]) -> dict[str, float]:
    """Return weights by metric name, as given (not normalised), with the document's two spellings made one.

    Raises:
        ConfigError: an unknown name, one metric under both names, a weight that is not a number, negative or not finite,
            or no weight above 0.
    """
    weights: dict[str, float] = {}
    for name, value in weights_given.items():
        metric = ALIASES.get(name, name)
        if metric not in METRICS:
            raise ConfigError(f"unknown metric {name!r} among the weights", hint=suggest(name, list(METRICS)))
        if metric in weights:
            other = next(other_name for other_name in weights_given if ALIASES.get(other_name, other_name) == metric)
            raise ConfigError(f"{metric!r} is given twice, as {other!r} and as {name!r}")
        # Written so that NaN fails it; the upper end keeps sums of weights finite.
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15:
            raise ConfigError(f"the weight of {name!r} must be a number of at least 0, not {value!r}")
        weights[metric] = float(value)
    if not sum(weights.values()) > 0:
        raise ConfigError("no metric has a weight above 0")
    return weights


def equal_weights(profile: Profile = "corrected") -> dict[str, float]:
    """Return the default: all six alike, 1/6 each; the document's .167 each (sum 1.002) under its own profile."""
    weight = DOCUMENTED_WEIGHT if profile == "documented" else 1 / len(METRICS)
    return dict.fromkeys(METRICS, weight)


def check_policy(policy: str) -> Policy:
    """Return a policy by name.

    Raises:
        ConfigError: it is not one of the three.
    """
    for policy_name in get_args(Policy):
        if policy == policy_name:
            return policy_name  # type: ignore[no-any-return]  # get_args has no narrower type
    raise ConfigError(f"unknown policy {policy!r}", hint=suggest(policy, list(get_args(Policy))))


def compose(
    scores: Mapping[str, float | Missing],
    weights: Mapping[str, float],
    *,
    policy: Policy = "require_complete",
    profile: Profile = "corrected",
    scale: LabelScale = DOCUMENTED_SCALE,
) -> Composite:
    """Return the composite of one review. The inputs are not changed.

    Args:
        scores: values 0..1, higher better, or the reason why there is none, by metric; one that is absent is missing.
        weights: as `read_weights` returns them; a metric that has none is not used.
        policy: `require_complete`: no score unless all metrics have one. `renormalise`: over those that do, the rest
            listed. `bounds`: no single score, but the label if the whole interval has one.
        profile: `documented` counts a missing metric as 0 and takes the weights as they are.
        scale: from scores to labels.
    """
    policy = check_policy(policy)
    used = {name: weight for name, weight in weights.items() if weight > 0}
    parts = {name: scores.get(name, Missing(MissingKind.ABSENT, "not measured")) for name in used}
    present = {name: value for name, value in parts.items() if not isinstance(value, Missing)}
    shares = dict(used) if profile == "documented" else _over(used, used)
    # The low end counts all that is missing as 0, which is also what the document's own code makes of it.
    low = math.fsum(shares[name] * value for name, value in present.items())
    interval = (clamp(low), clamp(math.fsum(shares[name] * present.get(name, 1.0) for name in used)))
    complete = len(present) == len(parts)
    raw: float | None = low if complete or profile == "documented" else None
    # The weights of what is there are scaled up to 1; the interval above is still over all metrics.
    if raw is None and policy == "renormalise" and present:
        shares = _over(present, shares)
        raw = math.fsum(shares[name] * value for name, value in present.items())
    worst_first = tuple(reversed(LABELS))
    first, last = (worst_first.index(scale.label(end)[0]) for end in interval)
    possible = worst_first[first : last + 1]
    # Both ends have one label, so whatever the missing parts are, the label is this one.
    sure = interval[0] if policy == "bounds" and len(possible) == 1 else None
    at = sure if raw is None else clamp(raw)
    label = (None, None) if at is None else scale.label(at)
    missing = None
    if raw is None:  # one reason for the whole: the first missing part's kind, and every part by name
        gaps = {name: value for name, value in parts.items() if isinstance(value, Missing)}
        words = "; ".join(f"{name}: {gap.detail or gap.kind.value}" for name, gap in gaps.items())
        missing = Missing(next(iter(gaps.values())).kind, f"missing {words}")
    return Composite(
        score=None if raw is None else clamp(raw),
        missing=missing,
        raw=raw,
        interval=interval,
        metric_scores=parts,
        weights_used=shares,
        label=label[0],
        label_weight=label[1],
        possible_labels=possible,
        complete=complete,
        policy=policy,
    )


def _over(names: Iterable[str], shares: Mapping[str, float]) -> dict[str, float]:
    """Return the shares of these metrics, so that they add up to 1."""
    present = list(names)
    total = math.fsum(shares[name] for name in present)
    return {name: shares[name] / total for name in present}


def label_stability(
    scores: Sequence[Mapping[str, float]],
    weights: Mapping[str, float],
    *,
    draws: int = 2000,
    seed: int = 0,
    scale: LabelScale = DOCUMENTED_SCALE,
) -> list[dict[str, float]]:
    """Return, for each review, how often each label comes out when the weights are uncertain.

    Weights are drawn from a Dirichlet distribution around the stated ones (concentration `NEAR`), those of 0 stay 0;
    the same draws for all reviews, so shares can be compared. The scores are complete and 0..1.
    """
    import numpy as np

    names = [name for name, weight in weights.items() if weight > 0]
    if not scores:
        return []
    stated = np.array([weights[name] for name in names])
    # The same draws for every review, so that their shares can be compared.
    drawn = np.random.default_rng(seed).dirichlet(NEAR * stated / stated.sum(), draws)
    table = np.array([[row[name] for name in names] for row in scores], dtype=np.float64)
    edges = [scale.thresholds[name] for name in reversed(LABELS[:-1])]
    # Weights that add up to 1 but for rounding must not carry six equal scores below the threshold that they reach.
    bands = np.digitize(np.round(table @ drawn.T, _DIGITS), edges)
    order = tuple(reversed(LABELS))
    shares = [np.bincount(row, minlength=len(order)) / draws for row in bands]
    return [{name: float(share) for name, share in zip(order, row, strict=True) if share} for row in shares]
