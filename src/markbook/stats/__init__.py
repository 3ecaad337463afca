"""Honest numbers: intervals, differences, rankings and agreement. Pure functions, seeded, no global state.

Scores are 0..1 unless a function says otherwise; whatever is undefined is None with a note, never 0 and never NaN.
numpy and scipy are imported at the first call. A wrong argument raises ValueError.
"""

from __future__ import annotations

from markbook.stats.agreement import cohen_kappa, fleiss_kappa, icc, krippendorff_alpha
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

__all__ = [
    "Estimate",
    "Ranking",
    "WeightSensitivity",
    "benjamini_hochberg",
    "bootstrap_mean",
    "bradley_terry",
    "clustered_standard_error",
    "cohen_kappa",
    "fleiss_kappa",
    "holm",
    "icc",
    "items_needed",
    "jeffreys_interval",
    "krippendorff_alpha",
    "mcnemar_exact",
    "mean_interval",
    "minimum_detectable_effect",
    "newcombe_difference",
    "paired_difference",
    "pass_at_k",
    "pass_at_k_summary",
    "score_interval",
    "sign_flip_test",
    "t_interval",
    "weight_sensitivity",
    "wilson_interval",
]
