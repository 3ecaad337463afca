"""Agreement between judges: Cohen's and Fleiss' kappa, Krippendorff's alpha, the intraclass correlation.

A missing rating is None or a value that is not equal to itself (NaN, numpy's and pandas'), by one rule for all of them.
Intervals are percentile bootstraps over the judged units; there is none where resamples do not differ, as at perfect
agreement. Where no rating varies the coefficient is 0/0: no value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Literal

from markbook.measurements import CONFIDENCE
from markbook.stats.arrays import check_confidence, has_variation, is_missing
from markbook.stats.records import Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from markbook.stats.arrays import Floats, Ints

    Mask = NDArray[np.bool_]
    Statistic = Callable[[Ints], float | None]
    Disagreement = Callable[[Floats, Floats], tuple[float, float]]
    """Takes a weight for each unit and how often each value occurs; returns what was seen and what chance would make."""

ONE_CATEGORY = "no variation: every rating is the same, the coefficient is 0/0"
ALL_ALIKE = "no variation between resamples: no interval"
_LEAST_UNITS = 5
_NO_NUMBER = "a rating must be a finite number, or None or NaN where it is missing"


def _is_infinite(label: object) -> bool:
    return isinstance(label, Real) and not math.isfinite(label)


def _left_out(count: int) -> str:
    return f"{count} units with a missing rating left out" if count else ""


def _with_interval(
    statistic: Statistic, units: int, method: str, *, confidence: float, n_resamples: int, seed: int, note: str = "",
    clusters: Sequence[Hashable] | None = None,
) -> Estimate:  # fmt: skip
    """Return the statistic of all units, with the interval of its values on resampled units, or clusters of them."""
    import numpy as np

    check_confidence(confidence)
    value = statistic(np.arange(units)) if units else None
    if value is None:
        why = ONE_CATEGORY if units else "nothing was rated twice"
        return Estimate(None, n=units, method=method, confidence=confidence, note=_join_notes(note, why))
    drawn_of, of = (units, "units") if clusters is None else (len(set(clusters)), "clusters")
    if drawn_of < _LEAST_UNITS or n_resamples < 1:
        few = f"n < {_LEAST_UNITS} {of}: no interval" if drawn_of < _LEAST_UNITS else "no interval asked for"
        return Estimate(value, n=units, method=method, confidence=confidence, note=_join_notes(note, few))
    # A resample whose ratings are all alike has no coefficient. Where half of them are so, what is left would be the interval
    # of the others only, and too narrow.
    drawn = [statistic(chosen) for chosen in _draws(units, clusters, n_resamples, seed)]
    statistics = np.array([statistic_value for statistic_value in drawn if statistic_value is not None])
    if statistics.size < n_resamples / 2:
        few = f"{n_resamples - statistics.size} of {n_resamples} resamples have no variation: no interval"
        return Estimate(value, n=units, method=method, confidence=confidence, note=_join_notes(note, few))
    low, high = np.quantile(statistics, [(1 - confidence) / 2, (1 + confidence) / 2])
    if not has_variation(np.array([low, high])):
        return Estimate(value, n=units, method=method, confidence=confidence, note=_join_notes(note, ALL_ALIKE))
    if statistics.size < n_resamples:
        note = _join_notes(
            note, f"{n_resamples - statistics.size} of {n_resamples} resamples had no variation and were left out"
        )
    se = float(statistics.std(ddof=1))
    return Estimate(value, float(low), float(high), se, n=units, method=method, confidence=confidence, note=note)


def _draws(units: int, clusters: Sequence[Hashable] | None, n_resamples: int, seed: int) -> Iterator[Ints]:
    """Yield the units of each resample; those of one cluster come together or not at all."""
    import numpy as np

    rng = np.random.default_rng(seed)
    if clusters is None:
        for _ in range(n_resamples):
            yield rng.integers(0, units, units)
        return
    members: dict[Hashable, list[int]] = {}
    for unit, cluster in enumerate(clusters):
        members.setdefault(cluster, []).append(unit)
    groups = [np.array(some) for some in members.values()]
    for _ in range(n_resamples):
        yield np.concatenate([groups[at] for at in rng.integers(0, len(groups), len(groups))])


def _join_notes(*notes: str) -> str:
    return "; ".join(note for note in notes if note)


def _distances(labels: Sequence[Hashable], weights: str | None) -> Floats:
    """Return the disagreement table: 0/1, or by the distance of the labels (their position if not numbers)."""
    import numpy as np

    if weights is None:
        table: Floats = 1.0 - np.eye(len(labels))
        return table
    numeric = all(isinstance(label, Real) for label in labels)  # numpy's whole numbers are Real too, and no int
    places = np.array(labels if numeric else range(len(labels)), dtype=np.float64)
    gap = np.abs(places[:, None] - places[None, :])
    if weights == "linear":
        return gap
    if weights == "quadratic":
        return gap**2
    raise ValueError(f"unknown weights {weights!r}: None, linear or quadratic")


def cohen_kappa(
    a: Sequence[Hashable],
    b: Sequence[Hashable],
    weights: Literal["linear", "quadratic"] | None = None,
    *,
    n_resamples: int = 1000,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Return Cohen's kappa of two raters: 1 - observed/expected disagreement, -1..1, 0 is chance.

    Args:
        a: one rater's labels, one per unit; None or NaN is a missing rating and drops the unit (the note counts them).
        b: the other's, in the same order.
        weights: None, or how much a near miss counts; `quadratic` suits 1 to 5 scales. Numbers are compared by
            value, other labels by their sorted position.
        n_resamples: for the interval; 0 leaves it out.
        seed: of the resampling.
        confidence: between 0 and 1.
    """
    import numpy as np

    if len(a) != len(b):
        raise ValueError(f"{len(a)} and {len(b)} ratings: both raters must judge the same units")
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if not (is_missing(x) or is_missing(y))]
    if any(_is_infinite(label) for pair in pairs for label in pair):
        raise ValueError(_NO_NUMBER)
    labels: list[Hashable] = list({label for pair in pairs for label in pair})
    try:
        labels.sort()  # type: ignore[call-arg]  # labels of one kind sort; mixed kinds fall through
    except TypeError:
        labels.sort(key=lambda label: (type(label).__name__, str(label)))
    positions = {label: index for index, label in enumerate(labels)}
    size = len(labels)
    cells = np.array([positions[x] * size + positions[y] for x, y in pairs], dtype=np.int64)
    cost = _distances(labels, weights)

    def statistic(units: Ints) -> float | None:
        table = np.bincount(cells[units], minlength=size * size).reshape(size, size) / units.size
        expected = float((cost * np.outer(table.sum(axis=1), table.sum(axis=0))).sum())
        return None if expected <= 0 else 1 - float((cost * table).sum()) / expected

    method = "cohen-kappa" + (f"-{weights}" if weights else "")
    note = _left_out(len(a) - len(pairs))
    return _with_interval(
        statistic, len(pairs), method, confidence=confidence, n_resamples=n_resamples, seed=seed, note=note
    )


def fleiss_kappa(
    counts: Sequence[Sequence[int]], *, n_resamples: int = 1000, seed: int = 0, confidence: float = CONFIDENCE
) -> Estimate:
    """Return Fleiss' kappa of many raters: (observed - expected agreement) / (1 - expected).

    Args:
        counts: counts[unit][category], how many raters chose it; every unit with the same number of raters, two or
            more.
        n_resamples: for the interval; 0 leaves it out.
        seed: of the resampling.
        confidence: between 0 and 1.
    """
    import numpy as np

    table = np.array(counts, dtype=np.float64)
    if table.size == 0:
        return Estimate(None, n=0, method="fleiss-kappa", confidence=confidence, note="no units")
    raters = table.sum(axis=1) if table.ndim == 2 else np.zeros(1)
    if (raters != raters[0]).any() or raters[0] < 2 or (table < 0).any():
        raise ValueError("counts must be units x categories with the same number of raters, two or more, in each row")
    m = float(raters[0])
    # Of each unit the share of pairs of raters that agree.
    agreement = ((table**2).sum(axis=1) - m) / (m * (m - 1))

    def statistic(units: Ints) -> float | None:
        share = table[units].sum(axis=0) / (units.size * m)
        expected = float((share**2).sum())
        return None if 1 - expected < 1e-12 else (float(agreement[units].mean()) - expected) / (1 - expected)

    return _with_interval(
        statistic, len(table), "fleiss-kappa", confidence=confidence, n_resamples=n_resamples, seed=seed
    )


def _rectangle(ratings: Sequence[Sequence[float | None]]) -> Floats:
    """Return ratings[rater][unit] as units x raters with nan for missing."""
    import numpy as np

    if len(ratings) < 2 or len({len(row) for row in ratings}) != 1:
        raise ValueError("ratings must be raters x units, two raters or more, every row of the same length")
    table = np.array([[math.nan if is_missing(cell) else cell for cell in row] for row in ratings], dtype=np.float64)
    if np.isinf(table).any():
        raise ValueError(_NO_NUMBER)
    turned: Floats = table.T
    return turned


def _on_a_line(level: str, values: Floats, index: Ints, is_rated: Mask) -> Disagreement:
    """Return what sums Krippendorff's delta^2 over pairs where values are nominal, ordinal or interval.

    Sums of squared gaps follow from means and squares, and of nominal gaps from counts: no table of every value against
    every other, which for marks that are not whole has nearly as many rows as there are ratings.
    """
    import numpy as np

    raters = is_rated.sum(axis=1)
    # alpha has no unit, and squares of tiny gaps vanish
    scaled = (values - values[0]) / (values[-1] - values[0]) if values.size > 1 else values
    alike = [(row[rated][:, None] == row[rated][None, :]).sum() for row, rated in zip(index, is_rated, strict=True)]
    differing = raters**2 - np.array(alike, dtype=np.float64)

    def disagree(weights: Floats, totals: Floats) -> tuple[float, float]:
        n = float(totals.sum())
        if level == "nominal":
            return float(weights @ differing), n * n - float((totals**2).sum())
        # Ordinal values stand at the middle of the ranks that they take up.
        line = scaled if level == "interval" else (np.cumsum(totals) - totals / 2) / n
        mean = float((totals * line).sum()) / n
        marks = np.where(is_rated, line[index], 0.0)
        centres = marks.sum(axis=1) / raters
        within = (np.where(is_rated, marks - centres[:, None], 0.0) ** 2).sum(axis=1)
        return float(weights @ (2 * raters * within)), 2 * n * float((totals * (line - mean) ** 2).sum())

    return disagree


def _ratios(values: Floats, index: Ints, is_rated: Mask) -> Disagreement:
    """Return what sums Krippendorff's delta^2 over pairs of ratios."""
    import numpy as np

    total = values[:, None] + values[None, :]
    gaps = np.divide(values[:, None] - values[None, :], total, out=np.zeros_like(total), where=total != 0) ** 2
    pairs = [gaps[np.ix_(row[rated], row[rated])].sum() for row, rated in zip(index, is_rated, strict=True)]
    own = np.array(pairs, dtype=np.float64)

    def disagree(weights: Floats, totals: Floats) -> tuple[float, float]:
        return float(weights @ own), float(totals @ gaps @ totals)

    return disagree


def krippendorff_alpha(
    ratings: Sequence[Sequence[float | None]],
    level: Literal["nominal", "ordinal", "interval", "ratio"] = "ordinal",
    *,
    clusters: Sequence[Hashable] | None = None,
    n_resamples: int = 1000,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Return Krippendorff's alpha: 1 - observed/expected disagreement, for any number of raters and gaps.

    Args:
        ratings: ratings[rater][unit], None or NaN where a rater gave none; units rated less than twice do not count (the
            note says how many).
        level: how values differ: nominal, ordinal, interval or ratio.
        clusters: which cluster each unit belongs to, such as a text that is rated by several criteria; the interval then
            comes from resampled clusters.
        n_resamples: for the interval; 0 leaves it out.
        seed: of the resampling.
        confidence: between 0 and 1.
    """
    import numpy as np

    if level not in ("nominal", "ordinal", "interval", "ratio"):
        raise ValueError(f"unknown level {level!r}: nominal, ordinal, interval or ratio")
    table = _rectangle(ratings)
    if clusters is not None and len(clusters) != len(table):
        raise ValueError(f"{len(table)} units and {len(clusters)} clusters")
    stays = (~np.isnan(table)).sum(axis=1) >= 2
    table = table[stays]
    if clusters is not None:
        clusters = [cluster for cluster, is_in in zip(clusters, stays, strict=True) if is_in]
    dropped = len(ratings[0]) - len(table)
    is_rated = ~np.isnan(table)
    values, places = np.unique(table[is_rated], return_inverse=True)
    index = np.zeros(table.shape, dtype=np.int64)
    index[is_rated] = places.ravel()
    raters = is_rated.sum(axis=1)
    disagree = _ratios(values, index, is_rated) if level == "ratio" else _on_a_line(level, values, index, is_rated)

    def statistic(units: Ints) -> float | None:
        times = np.bincount(units, minlength=len(table)).astype(np.float64)
        totals: Floats = np.bincount(index[is_rated], np.repeat(times, raters), values.size).astype(np.float64)
        if np.count_nonzero(totals) < 2:
            return None
        # A unit of m ratings has m (m - 1) pairs and counts as m ratings, hence the weight 1 / (m - 1).
        observed, expected = disagree(times / (raters - 1), totals)
        return None if expected <= 0 else 1 - observed * (float(totals.sum()) - 1) / expected

    method = f"krippendorff-{level}"
    note = f"{dropped} units rated less than twice left out" if dropped else ""
    return _with_interval(
        statistic,
        len(table),
        method,
        confidence=confidence,
        n_resamples=n_resamples,
        seed=seed,
        note=note,
        clusters=clusters,
    )


def icc(
    ratings: Sequence[Sequence[float | None]],
    kind: Literal["ICC1", "ICC2", "ICC3"] = "ICC2",
    *,
    n_resamples: int = 1000,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Return the intraclass correlation of a single rating; ICC2 is the two-way random one, ICC(2,1).

    Args:
        ratings: ratings[rater][unit]; a unit with a missing rating is left out (the note counts them).
        kind: ICC1 one-way random, ICC2 two-way random with absolute agreement, ICC3 two-way mixed, consistency.
        n_resamples: for the interval; 0 leaves it out.
        seed: of the resampling.
        confidence: between 0 and 1.

    Source: Shrout and Fleiss 1979.
    """
    import numpy as np

    if kind not in ("ICC1", "ICC2", "ICC3"):
        raise ValueError(f"unknown kind {kind!r}: ICC1, ICC2 or ICC3")
    table = _rectangle(ratings)
    complete = table[~np.isnan(table).any(axis=1)]
    dropped = len(table) - len(complete)

    def statistic(units: Ints) -> float | None:
        table = complete[units]
        n, k = table.shape
        if n < 2 or not has_variation(table.ravel()):
            return None
        table = table - table.mean()
        table = table / abs(table).max()  # the coefficient has no unit: what counts as nothing must not have one either
        grand = table.mean()
        total = float(((table - grand) ** 2).sum())
        between = k * float(((table.mean(axis=1) - grand) ** 2).sum())
        raters = n * float(((table.mean(axis=0) - grand) ** 2).sum())
        rows, columns = between / (n - 1), raters / (k - 1)
        # Rounding may leave less than nothing where raters differ by the same everywhere.
        error = max(0.0, total - between - raters) / ((n - 1) * (k - 1))
        if kind == "ICC1":
            within = (total - between) / (n * (k - 1))
            top, bottom = rows - within, rows + (k - 1) * within
        elif kind == "ICC2":
            top, bottom = rows - error, rows + (k - 1) * error + k * (columns - error) / n
        else:
            top, bottom = rows - error, rows + (k - 1) * error
        return None if abs(bottom) <= 1e-12 else top / bottom

    return _with_interval(
        statistic,
        len(complete),
        kind.lower(),
        confidence=confidence,
        n_resamples=n_resamples,
        seed=seed,
        note=_left_out(dropped),
    )
