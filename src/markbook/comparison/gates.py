"""Gates for a build server: a score that must be reached, a baseline that must not be fallen behind."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markbook.aggregate.comparison import Comparison
from markbook.aggregate.comparison_tables import Scale
from markbook.aggregate.pairs import Pair
from markbook.errors import GateFailed, UsageError
from markbook.plugins import suggest


def parse_threshold(text: str) -> tuple[str, float]:
    """Return name and threshold of `NAME=X`, X in the metric's unit or with a percent sign.

    Raises:
        UsageError: it has another form.
    """
    name, sign, value = text.rpartition("=")
    try:
        number = float(value.removesuffix("%")) / (100 if value.endswith("%") else 1)
    except ValueError:
        number = math.nan
    if not (sign and name) or not math.isfinite(number):
        raise UsageError(f"{text!r} is no threshold", hint="write NAME=X, such as gpt-4=0.8 or exam_score=80%")
    return name, number


def check_under(comparison: Comparison, thresholds: Sequence[tuple[str, float]]) -> None:
    """Hold models' means against thresholds; a name is a model, or the metric for all models.

    Where lower is better, a mean above the threshold fails.

    Raises:
        GateFailed: at least one mean does not reach its threshold, or has no value.
        UsageError: no such model or metric, or a threshold outside the metric's range.
    """
    scale = Scale(comparison.range)
    models = {standing.model: standing for standing in comparison.standings}
    failed = []
    for name, threshold in thresholds:
        if name != comparison.metric and name not in models:
            raise UsageError(f"no model or metric {name!r}", hint=suggest(name, [comparison.metric, *models]))
        low, high = comparison.range
        if not low <= threshold <= high:
            raise UsageError(
                f"the threshold {threshold:g} lies outside {low:g}..{high:g}", hint="0.8 and 80% are the same"
            )
        for model in models if name == comparison.metric else [name]:
            value = models[model].summary.value
            above = value is not None and (value - threshold if comparison.direction == "higher" else threshold - value)
            if value is None or above < 0:
                failed.append(f"{model} has {scale.value(value)}, and {scale.value(threshold)} is asked for")
    if failed:
        raise GateFailed("; ".join(failed))


def check_worse(comparison: Comparison, pairs: Sequence[tuple[str, str]]) -> list[Pair]:
    """Hold candidates against their baselines: a candidate fails if the whole interval of the difference is worse.

    Args:
        comparison: of all the models.
        pairs: (candidate, baseline) names.

    Returns:
        The pairs, turned to candidate - baseline.

    Raises:
        GateFailed: at least one candidate is worse than chance can explain.
    """
    scale = Scale(comparison.range)
    turned = [comparison.pair(candidate, baseline) for candidate, baseline in pairs]
    failed = []
    for pair in turned:
        found = pair.difference
        if found.low is None or found.high is None:
            continue
        is_worse = found.high < 0 if comparison.direction == "higher" else found.low > 0
        if is_worse:
            gap = f"{scale.gap(found.value)} {scale.gap_spread(found)}"
            failed.append(f"{pair.first} is worse than {pair.second}: {gap} over {found.n} samples")
    if failed:
        raise GateFailed("; ".join(failed))
    return turned
