"""The scores of tier 1 that are arithmetic on times and similarities."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markbook.types import Missing, MissingKind

SIMILARITY_WEIGHTS: Mapping[str, float] = {"semantic": 0.5, "cosine": 0.3, "jaccard": 0.2}
"""As documented, for the overall similarity and for task success."""
THRESHOLD = 0.8
"""The documented threshold of task success. No human review reaches it: see the human-against-human yardstick."""


def time_score(seconds: float | None, *, profile: str = "corrected") -> float | Missing:
    """Return the score of an execution time.

    Corrected: 1 for t <= 1 s, else 1 / (1 + ln t), so in (0, 1] and never rising. Documented: 1 / (1 + ln(max(0.1, t))),
    which is negative below 1/e s, has a pole there, and exceeds 1 up to 1 s.

    Args:
        seconds: the time; None if unknown.
        profile: `corrected` or `documented`.
    """
    if seconds is None:
        return Missing(MissingKind.ABSENT, "no execution time was given")
    if not math.isfinite(seconds) or seconds < 0:
        return Missing(MissingKind.UNDEFINED, f"an execution time of {seconds:g} s is no time")
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
    if not shared:
        first = next((row[name] for name in weights for row in references[:1] if name in row), _NONE)
        reason = first if isinstance(first, Missing) else _NONE
        return Missing(reason.kind, reason.detail)
    values = [combine(row, shared) for row in references]
    numbers = [value for value in values if not isinstance(value, Missing)]
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
