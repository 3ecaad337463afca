"""Honest numbers: intervals, differences, rankings and agreement. Pure functions, seeded, no global state.

Scores are 0..1 unless a function says otherwise; what is undefined is None with a note, never 0 and never NaN.
numpy is imported at the first call, scipy only where its import is worth a third of a second. A wrong argument raises ValueError.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markbook.stats.agreement import (
        cohen_kappa as cohen_kappa,
        fleiss_kappa as fleiss_kappa,
        icc as icc,
        krippendorff_alpha as krippendorff_alpha,
    )
    from markbook.stats.corrected import corrected_mean as corrected_mean, labels_needed as labels_needed
    from markbook.stats.difference import (
        benjamini_hochberg as benjamini_hochberg,
        holm as holm,
        items_needed as items_needed,
        mcnemar_exact as mcnemar_exact,
        minimum_detectable_effect as minimum_detectable_effect,
        newcombe_difference as newcombe_difference,
        paired_difference as paired_difference,
        sign_flip_test as sign_flip_test,
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
    from markbook.stats.passes import pass_at_k as pass_at_k, pass_at_k_summary as pass_at_k_summary
    from markbook.stats.ranking import bradley_terry as bradley_terry, weight_sensitivity as weight_sensitivity
    from markbook.stats.records import Estimate as Estimate, Ranking as Ranking, WeightSensitivity as WeightSensitivity
    from markbook.stats.sequential import anytime_difference

_HOMES = {
    "Estimate": "markbook.stats.records",
    "Ranking": "markbook.stats.records",
    "WeightSensitivity": "markbook.stats.records",
    "anytime_difference": "markbook.stats.sequential",
    "anytime_mean": "markbook.stats.sequential",
    "benjamini_hochberg": "markbook.stats.difference",
    "bootstrap_mean": "markbook.stats.intervals",
    "bradley_terry": "markbook.stats.ranking",
    "clustered_standard_error": "markbook.stats.intervals",
    "cohen_kappa": "markbook.stats.agreement",
    "corrected_mean": "markbook.stats.corrected",
    "fleiss_kappa": "markbook.stats.agreement",
    "holm": "markbook.stats.difference",
    "icc": "markbook.stats.agreement",
    "items_needed": "markbook.stats.difference",
    "jeffreys_interval": "markbook.stats.intervals",
    "krippendorff_alpha": "markbook.stats.agreement",
    "labels_needed": "markbook.stats.corrected",
    "mcnemar_exact": "markbook.stats.difference",
    "mean_interval": "markbook.stats.intervals",
    "minimum_detectable_effect": "markbook.stats.difference",
    "newcombe_difference": "markbook.stats.difference",
    "paired_difference": "markbook.stats.difference",
    "pass_at_k": "markbook.stats.passes",
    "pass_at_k_summary": "markbook.stats.passes",
    "score_interval": "markbook.stats.intervals",
    "sequential_sign_test": "markbook.stats.sequential",
    "sign_flip_test": "markbook.stats.difference",
    "t_interval": "markbook.stats.intervals",
    "weight_sensitivity": "markbook.stats.ranking",
    "wilson_interval": "markbook.stats.intervals",
}
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
