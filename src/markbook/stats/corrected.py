"""A judge's mean put right by people's labels of some items: prediction-powered inference (PPI++).

The labels say what the judge gets wrong on average, the judge says how the many without a label differ from the few with
one. How much the judge is heeded (`weight`) follows from how well it goes with the labels: a useless judge changes nothing.

Source: Angelopoulos, Duchi, Zrnic 2023, PPI++, arXiv 2311.01453; unequal probabilities: Zrnic, Candes 2024, arXiv
2403.03208; strata: Fisch et al. 2024, arXiv 2406.04291. With `method="ppi++"` the numbers are those of the package
ppi-python: normal quantiles and variances over n. The default counts two degrees of freedom for mean and weight and
takes Student's quantile, which holds its promise with few labels.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from markbook.measurements import CONFIDENCE
from markbook.stats.arrays import check_confidence, finite, normal_quantile, t_quantile
from markbook.stats.intervals import describe_clusters, sum_clusters
from markbook.stats.records import Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from markbook.stats.arrays import Floats, Ints

    Mask = NDArray[np.bool_]

FEWEST = 10
"""Labels, in all: fewer do not tell how far the judge is off."""
MANY = 30
"""Labels, in all: with fewer the interval covers 88 to 93 % where the judge errs on one kind of item only."""
FEWEST_IN_STRATUM = 5
FEWEST_CLUSTERS = 8
FEWEST_CLUSTERS_IN_STRATUM = 4
Method = Literal["ppi++t", "ppi++"]


@dataclass(frozen=True, slots=True)
class _Part:
    """One stratum, or all."""

    value: float
    variance: float
    degrees: float
    weight: float

    def reach(self, confidence: float, *, is_t: bool = True) -> float:
        """Return the half-width of the interval."""
        quantile = t_quantile(confidence, self.degrees) if is_t and self.degrees < 1e6 else normal_quantile(confidence)
        return quantile * math.sqrt(self.variance)


def corrected_mean(
    scores: Sequence[float],
    labels: Sequence[float | None],
    *,
    probabilities: Sequence[float] | None = None,
    clusters: Sequence[Hashable] | None = None,
    strata: Sequence[Hashable] | None = None,
    settled: Sequence[bool] | None = None,
    confidence: float = CONFIDENCE,
    method: Method = "ppi++t",
) -> Estimate:
    """Return the mean that people's labels would have over all judged items, with its interval.

    It has no value where the labels cannot support one; `note` says why. `stats` hold the judge's weight, its plain mean,
    the labels' own mean and interval width, and the correlation.

    Args:
        scores: the judge's score of every item; of a paired comparison the differences.
        labels: people's for some items, on the same scale; None for the others.
        probabilities: with which each item was drawn for labelling; None: all the same.
        clusters: what items share (a document, a user): such items are not independent.
        strata: parts of the items in each of which labels were drawn.
        settled: which items could not be drawn because their score is what people would say (answers that are empty).
        confidence: between 0 and 1.
        method: `ppi++t`, or `ppi++` as the package ppi-python computes it (no clusters or strata).

    Raises:
        ValueError: sequences of unequal length, a score that is not a number, a probability outside (0, 1], a label of a
            settled item.
    """
    import numpy as np

    check_confidence(confidence)
    f = finite(scores, "scores")
    is_labelled = np.array([label is not None for label in labels], dtype=bool)
    y = finite([0.0 if label is None else label for label in labels], "labels")
    w = _inverse(probabilities, is_labelled)
    columns: dict[str, Sequence[object] | None] = {
        "clusters": clusters,
        "strata": strata,
        "labels": labels,
        "settled": settled,
    }
    for name, column in columns.items():
        if column is not None and len(column) != f.size:
            raise ValueError(f"{name}: {len(column)} for {f.size} scores")
    fixed = np.zeros(f.size, dtype=bool) if settled is None else np.array(settled, dtype=bool)
    if (fixed & is_labelled).any():
        raise ValueError("an item is settled and has a label")
    if method == "ppi++" and (clusters is not None or strata is not None):
        raise ValueError("ppi++ as published knows neither clusters nor strata")
    groups, parts = _codes(clusters), _codes(strata)
    reason = _refusal(y, is_labelled, groups, parts, strata, fixed)
    if not reason and w is not None and (size := effective_size(w[is_labelled])) < FEWEST:
        n_labels = int(is_labelled.sum())
        reason = f"by their probabilities the {n_labels} labels count as {size:.1f}: {FEWEST} is the least"
    if reason:
        return Estimate(None, n=int(is_labelled.sum()), method=method, confidence=confidence, note=reason)
    chosen = [~fixed] if parts is None else [(parts == code) & ~fixed for code in range(int(parts.max()) + 1)]
    chosen = [here for here in chosen if here.any()]

    def estimate(scores: Floats, method: Method) -> _Part:
        strata_parts = [_part(scores, y, is_labelled, w, groups, here, method) for here in chosen]
        shares = [float(here.mean()) for here in chosen]
        if fixed.any():
            strata_parts.append(_settled_part(scores, groups, fixed))
            shares.append(float(fixed.mean()))
        return _combine_strata(strata_parts, shares, f.size)

    result = estimate(f, method)
    reach = result.reach(confidence, is_t=method == "ppi++t")
    # What the labels alone say is what they say beside a judge that says nothing, by the same design.
    alone, judged = estimate(np.where(fixed, f, 0.0), "ppi++t"), _settled_part(f, groups, np.ones(f.size, dtype=bool))
    stats = {"judge_weight": result.weight, "half_width": reach} | _stats(f, y, is_labelled, w, groups)
    for name, side in (("judge", judged), ("labels", alone)):
        away = side.reach(confidence)
        stats |= {f"{name}_mean": side.value, f"{name}_low": side.value - away, f"{name}_high": side.value + away}
    if alone.variance > 0:
        stats["width_of_labels_alone"] = reach / alone.reach(confidence)
    return Estimate(result.value, result.value - reach, result.value + reach, math.sqrt(result.variance),
                    n=int(is_labelled.sum()), method=method, confidence=confidence,
                    note=_drift_note(f, is_labelled, w, groups) or _weight_note(w, is_labelled), stats=stats)  # fmt: skip


def _combine_strata(parts: Sequence[_Part], shares: Sequence[float], n: int) -> _Part:
    """Return the estimate over all strata, with Satterthwaite's degrees of freedom."""
    value = math.fsum(share * part.value for share, part in zip(shares, parts, strict=True))
    terms = [(share**2 * part.variance, part.degrees) for share, part in zip(shares, parts, strict=True)]
    # The shares of the strata are themselves seen in these items only.
    spread = math.fsum(share * (part.value - value) ** 2 for share, part in zip(shares, parts, strict=True)) / n
    variance = math.fsum(term for term, _ in terms) + spread
    small = math.fsum(term**2 / degrees for term, degrees in terms)
    weight = math.fsum(share * part.weight for share, part in zip(shares, parts, strict=True))
    return _Part(value, variance, variance**2 / small if small else math.inf, weight)


def _inverse(probabilities: Sequence[float] | None, is_labelled: Mask) -> Floats | None:
    """Return 1 / probability, 1 on average over the labelled items."""
    if probabilities is None:
        return None
    values = finite(probabilities, "probabilities")
    if values.size != is_labelled.size:
        raise ValueError(f"probabilities: {values.size} for {is_labelled.size} scores")
    if values.size and not (values.min() > 0 and values.max() <= 1):
        raise ValueError("probabilities must lie above 0 and be at most 1")
    inverse: Floats = 1 / values
    return inverse / inverse[is_labelled].mean() if is_labelled.any() else inverse


def _codes(names: Sequence[Hashable] | None) -> Ints | None:
    import numpy as np

    if names is None:
        return None
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names])


def _refusal(
    y: Floats,
    is_labelled: Mask,
    groups: Ints | None,
    parts: Ints | None,
    strata: Sequence[Hashable] | None,
    settled: Mask,
) -> str:
    import numpy as np

    n = int(is_labelled.sum())
    if n < FEWEST:
        return f"{n} labels are too few: {FEWEST} is the least"
    if float(np.ptp(y[is_labelled])) == 0.0:
        return f"all {n} labels are {float(y[is_labelled][0]):g}: how far the mean may be off cannot be told"
    if groups is not None and (n_clusters := len(np.unique(groups[is_labelled]))) < FEWEST_CLUSTERS:
        return f"the labels lie in {n_clusters} clusters: {FEWEST_CLUSTERS} is the least"
    if parts is not None and strata is not None:
        for code, name in enumerate(dict.fromkeys(strata)):
            if not ((parts == code) & ~settled).any():
                continue
            if (n_clusters := int((is_labelled & (parts == code)).sum())) < FEWEST_IN_STRATUM:
                return f"the stratum {str(name)[:60]!r} has {n_clusters} labels: {FEWEST_IN_STRATUM} is the least"
            # One cluster alone says nothing of how far clusters differ, however many labels lie in it.
            clusters = 0 if groups is None else len(np.unique(groups[is_labelled & (parts == code)]))
            if groups is not None and clusters < FEWEST_CLUSTERS_IN_STRATUM:
                least = FEWEST_CLUSTERS_IN_STRATUM
                return f"the labels of the stratum {str(name)[:60]!r} lie in {clusters} clusters: {least} is the least"
    return ""


def effective_size(weights: Floats) -> float:
    """Return how many labels of equal weight say as much as these (Kish)."""
    return float(weights.sum() ** 2 / (weights**2).sum())


def _weight_note(w: Floats | None, is_labelled: Mask) -> str:
    """Return a warning where labels are few, or a few drawn with small probabilities outweigh the others."""
    n = int(is_labelled.sum())
    size = n if w is None else effective_size(w[is_labelled])
    if size < n / 2:
        return f"by their probabilities the {n} labels count as {size:.0f}: the interval may be too narrow"
    return f"{size:.0f} labels are few: the interval may be too narrow" if size < MANY else ""


def _part(
    f: Floats, y: Floats, is_labelled: Mask, w: Floats | None, groups: Ints | None, here: Mask, method: Method
) -> _Part:
    """Return the corrected mean of one stratum."""
    import numpy as np

    labelled = is_labelled & here
    # Drawn with unequal probabilities, what is left without a label is a skewed lot: then all items speak.
    rest = here if w is not None else here & ~is_labelled
    n, m = int(labelled.sum()), int(rest.sum())
    ones = np.ones(n) if w is None else w[labelled] / w[labelled].mean()
    label, score, others = y[labelled], f[labelled], f[rest]
    if method == "ppi++t" and float(np.ptp(f[here])) == 0.0:
        weight = 0.0  # a judge that always says the same is not heeded, and costs no degree of freedom
    elif w is not None and method == "ppi++t":
        weight = _weight_of_drawn(label, score, others, ones)
    else:
        weight = _weight(label, score, others, ones)
    imputed = weight * others if m else np.zeros(0)
    residual = label - weight * score
    # What the judge says of the items without a label, and by how much it errs on those with one.
    value = float((imputed.mean() if m else 0.0) + (ones * residual).mean())
    if method == "ppi++":
        second = ones * residual
        variance = (float(imputed.var()) / m if m else 0.0) + float(second.var()) / n
        return _Part(value, variance, math.inf, weight)
    centred = ones * (residual - (ones * residual).mean())
    counted = effective_size(ones)
    # The mean costs a degree, and the weight, which was chosen on the same labels, another.
    freedom = max(1.0, counted - (2 if weight else 1))
    if groups is None:
        first = float(imputed.var(ddof=1)) / m if m > 1 else 0.0
        second_term = float((centred**2).sum()) * counted / freedom / n**2
        small = second_term**2 / freedom + (first**2 / (m - 1) if m > 1 else 0.0)
        variance = first + second_term
        if w is not None:
            # The labelled items are among those whose scores are averaged, so the two terms go together.
            variance += 2 * float(((weight * score - imputed.mean()) * centred).sum()) / (m * n)
        return _Part(value, variance, variance**2 / small if small else float(freedom), weight)
    # Items of one cluster go together, labelled or not: their parts are added up before they are squared.
    size = int(groups.max()) + 1
    moved = [(groups[labelled], ones, centred / n)]
    if m:
        moved.append((groups[rest], np.ones(m), (imputed - imputed.mean()) / m))
    sums: Floats = np.sum([np.bincount(index, deviations, size) for index, _, deviations in moved], axis=0)
    variance, degrees = sum_clusters(sums, [describe_clusters(*part, size) for part in moved])
    return _Part(value, variance * max(1.0, counted - 1) / freedom, degrees, weight)


def _settled_part(f: Floats, groups: Ints | None, here: Mask) -> _Part:
    """Return the mean of the scores that stand as they are."""
    import numpy as np

    scores = f[here]
    names = np.arange(scores.size) if groups is None else groups[here]
    index: Ints = np.unique(names, return_inverse=True)[1]
    size, centred = int(index.max()) + 1, (scores - scores.mean()) / scores.size
    if size < 2:
        return _Part(float(scores.mean()), float(centred.sum() ** 2), 1.0, 1.0)
    part = describe_clusters(index, np.ones(scores.size), centred, size)
    variance, degrees = sum_clusters(np.bincount(index, centred).astype(np.float64), [part])
    return _Part(float(scores.mean()), variance, degrees, 1.0)


def _weight(label: Floats, score: Floats, others: Floats, ones: Floats) -> float:
    """Return how much the judge is heeded, 0 to 1: what makes the interval shortest."""
    import numpy as np

    n, m = label.size, others.size
    if m < 2:
        return 0.0
    centre = float(others.mean() + (ones * (label - score)).mean())
    label_gap, score_gap = ones * (label - centre), ones * (score - centre)
    covariance = float(((label_gap - label_gap.mean()) * (score_gap - score_gap.mean())).mean())
    spread = float(np.concatenate([score_gap, others - centre]).var(ddof=1))
    return min(1.0, max(0.0, covariance / ((1 + n / m) * spread))) if spread else 0.0


def _weight_of_drawn(label: Floats, score: Floats, everything: Floats, ones: Floats) -> float:
    """Return the weight, 0 to 1, that makes the interval shortest where all items speak, the labelled ones too.

    An item moves the result by `alone + weight * change`: its share in the labels' weighted mean, and what heeding the
    judge changes in it. Each side is centred at its own weighted mean, for a judge may be off by the same everywhere.
    """
    n, m = label.size, everything.size
    alone = ones * (label - (ones * label).mean()) / n
    drawn = ones * (score - (ones * score).mean()) / n
    middle = float(everything.mean())
    change = (score - middle) / m - drawn
    spread = float((change**2).sum() + ((everything - middle) ** 2).sum() / m**2 - ((score - middle) ** 2).sum() / m**2)
    return min(1.0, max(0.0, -float((alone * change).sum()) / spread)) if spread > 0 else 0.0


def _stats(f: Floats, y: Floats, is_labelled: Mask, w: Floats | None, groups: Ints | None) -> dict[str, float]:
    """Return what is known of scores and labels beside the estimates."""
    import numpy as np

    label = y[is_labelled]
    inverse = np.ones(label.size) if w is None else w[is_labelled] / w[is_labelled].mean()
    around = label - float((inverse * label).mean())
    stats = {
        "items": float(f.size),
        "label_sd": math.sqrt(float((inverse * around**2).sum()) / (label.size - 1)),
        "score_sd": float(f.std(ddof=1)),
    }
    if groups is not None:
        stats["clusters"] = float(len(np.unique(groups[is_labelled])))
    if float(np.ptp(f[is_labelled])) > 0:
        stats["correlation"] = float(np.corrcoef(f[is_labelled], label)[0, 1])
    return stats


_DRIFT = 4.0
"""Standard errors, of normal quantiles, between labelled and other items from which on chance is not believed."""


def _drift_note(f: Floats, is_labelled: Mask, w: Floats | None, groups: Ints | None) -> str:
    """Return a warning where the labelled items are unlike the others: then they were hardly drawn at random."""
    import numpy as np

    labelled_scores, other = f[is_labelled], f[~is_labelled]
    if w is not None or other.size < 2 or labelled_scores.size < 2:
        return ""
    gap = float(labelled_scores.mean() - other.mean())
    if groups is None:
        reach = _DRIFT * math.sqrt(
            float(labelled_scores.var(ddof=1)) / labelled_scores.size + float(other.var(ddof=1)) / other.size
        )
    else:  # items of one cluster were drawn together, so that clusters and not items count
        shares = np.where(
            is_labelled, (f - labelled_scores.mean()) / labelled_scores.size, (other.mean() - f) / other.size
        )
        sums = np.bincount(groups, weights=shares)
        count = min(len(np.unique(groups[is_labelled])), len(np.unique(groups[~is_labelled])))
        if count < 2:
            return ""
        level = math.erf(_DRIFT / math.sqrt(2))
        reach = t_quantile(level, count - 1) * math.sqrt(float((sums**2).sum()) * count / (count - 1))
    if abs(gap) <= reach:
        return ""
    return f"the judge scores the labelled items {gap:+.3g} from the others: were they drawn at random, or with probabilities?"


def labels_needed(estimate: Estimate, half_width: float, *, items: int | None = None) -> Estimate:
    """Return how many labels in all would bring the interval of `corrected_mean` to this half-width.

    If they are drawn as those until now were. No value where even a label of every item would not do, and with clusters:
    more labels of the same clusters may change nothing.

    Args:
        estimate: what the labels until now have given.
        half_width: what is wanted.
        items: those that can have a label; None: all.

    Raises:
        ValueError: a half-width that is not above 0.
    """
    if half_width <= 0:
        raise ValueError("a half-width must be above 0")
    if estimate.value is None:
        return Estimate(None, note=estimate.note)
    stats = estimate.stats
    if "clusters" in stats:
        note = f"the labels lie in {stats['clusters']:.0f} clusters: how many more are needed is not computed"
        return Estimate(None, n=estimate.n, note=note)
    items, label, score = int(stats["items"]) if items is None else items, stats["label_sd"], stats["score_sd"]
    r = max(0.0, stats.get("correlation", 0.0))

    def spread(n: int) -> float:
        rest = max(1, items - n)
        # Variance of the best weight: the judge takes away r^2 of the labels' variance, less what it cannot know itself.
        explained = r * r * rest / (rest + n) if score else 0.0
        return label * math.sqrt((1 - explained) / n)

    def reach(n: int) -> float:
        # From the present half-width on, which holds what strata and unequal probabilities make of the labels.
        return stats["half_width"] * spread(n) / spread(estimate.n)

    low, high = 2, items
    if reach(high) > half_width:
        note = f"a label of each of the {items} items gives {reach(high) / half_width:.3g} times that: judge more items"
        return Estimate(None, n=items, method="planned", note=note)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if reach(middle) <= half_width else (middle + 1, high)
    return Estimate(float(low), n=low, method="planned", confidence=estimate.confidence)
