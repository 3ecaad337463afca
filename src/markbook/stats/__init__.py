"""Honest numbers: intervals, differences, rankings and agreement. Pure functions, seeded, no global state.

Scores are 0..1 unless a function says otherwise; what is undefined is None with a note, never 0 and never NaN.
numpy is imported at the first call, scipy only where its import is worth a third of a second. A wrong argument raises ValueError.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markbook.stats.agreement import cohen_kappa, fleiss_kappa, icc, krippendorff_alpha
    from markbook.stats.corrected import corrected_mean, labels_needed
    from markbook.stats.difference import (
        benjamini_hochberg,
        holm,
        items_needed,
        mcnemar_exact,
        minimum_detectable_effect,
        newcombe_difference,
        paired_difference,
        sign_flip_test,
    )
    from markbook.stats.intervals import (
        bootstrap_mean,
        clustered_standard_error,
        jeffreys_interval,
        mean_interval,
        score_interval,
        t_interval,
        wilson_interval,
    )
    from markbook.stats.passes import pass_at_k, pass_at_k_summary
    from markbook.stats.ranking import bradley_terry, weight_sensitivity
    from markbook.stats.records import Estimate, Ranking, WeightSensitivity
    from markbook.stats.sequential import anytime_difference, anytime_mean, sequential_sign_test

_NAMES = {
    "agreement": ("cohen_kappa", "fleiss_kappa", "icc", "krippendorff_alpha"),
    "corrected": ("corrected_mean", "labels_needed"),
    "difference": (
        *("benjamini_hochberg", "holm", "items_needed", "mcnemar_exact", "minimum_detectable_effect"),
        *("newcombe_difference", "paired_difference", "sign_flip_test"),
    ),
    "intervals": (
        *("bootstrap_mean", "clustered_standard_error", "jeffreys_interval", "mean_interval", "score_interval"),
        *("t_interval", "wilson_interval"),
    ),
    "passes": ("pass_at_k", "pass_at_k_summary"),
    "ranking": ("bradley_terry", "weight_sensitivity"),
    "records": ("Estimate", "Ranking", "WeightSensitivity"),
    "sequential": ("anytime_difference", "anytime_mean", "sequential_sign_test"),
}
_HOMES = {name: f"markbook.stats.{module}" for module, names in _NAMES.items() for name in names}
"""Where each name lives; it is imported from there at first use."""

__all__ = [
    "Estimate",
    "Ranking",
    "WeightSensitivity",
    "anytime_difference",
    "anytime_mean",
    "benjamini_hochberg",
    "bootstrap_mean",
    "bradley_terry",
    "clustered_standard_error",
    "cohen_kappa",
    "corrected_mean",
    "fleiss_kappa",
    "holm",
    "icc",
    "items_needed",
    "jeffreys_interval",
    "krippendorff_alpha",
    "labels_needed",
    "mcnemar_exact",
    "mean_interval",
    "minimum_detectable_effect",
    "newcombe_difference",
    "paired_difference",
    "pass_at_k",
    "pass_at_k_summary",
    "score_interval",
    "sequential_sign_test",
    "sign_flip_test",
    "t_interval",
    "weight_sensitivity",
    "wilson_interval",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'markbook.stats' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
