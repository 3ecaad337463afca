"""Many models on one benchmark: their standings, and which of them do not differ significantly."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from markbook.results.kind import Entry, Results
from markbook.results.pairs import compare_pairs
from markbook.results.sheet import Sheet
from markbook.results.summary import estimate_mean, summarise_cells
from markbook.stats.difference import equal_differences_p, holm
from markbook.text.format import NOTHING
from markbook.types import SIGNIFICANCE, Summary

if TYPE_CHECKING:
    from markbook.stats.arrays import Floats


# Where each model stands among several, and with which others it shares its place.

_DRAWS = 2000
_SLACK = 1e-11
"""What means of equal marks may differ by, of sums in another order: so much of the largest."""
_MOST_GROUPS = 200
_MOST_MODELS = 60
"""Up to here every set of models without a significant difference is found; it takes time that grows with the cube."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One model's place."""

    model: str
    rank: int
    """1 is best; equal means share a rank."""
    summary: Summary
    rank_low: int | None
    """The best rank that resampling the common samples or the letters leave plausible, among the models that have values;
    None if these share no sample, or it has none."""
    rank_high: int | None
    group: tuple[str, ...] = ()
    """Letters: two models without a letter in common are distinguishable."""

    @property
    def ranks(self) -> str:
        """The plausible ranks as a page shows them."""
        return NOTHING if self.rank_low is None else "-".join(map(str, sorted({self.rank_low, self.rank_high or 0})))

    def to_record(self) -> dict[str, object]:
        """Return plain JSON values."""
        return {
            "model": self.model,
            "rank": self.rank,
            "rank_range": None if self.rank_low is None else [self.rank_low, self.rank_high],
            "group": list(self.group),
            "summary": self.summary.to_record(),
        }


def summaries(sheet: Sheet, *, alpha: float = SIGNIFICANCE, seed: int = 0) -> dict[str, Summary]:
    """Return every model's summary, best first, ties by name."""
    summaries = {}
    for model, marks in sheet.marks.items():
        cells = dict(sorted(marks.items()))  # no order of rows moves a last digit
        summary = summarise_cells(
            list(cells.values()),
            metric=sheet.metric,
            group=model,
            range=sheet.range,
            direction=sheet.direction,
            policy=sheet.policy,
            confidence=1 - alpha,
            seed=seed,
        )
        values = {sample: cell.value for sample, cell in cells.items() if cell.value is not None}
        if (clusters := sheet.get_clusters(list(values))) is not None:
            mean = estimate_mean(list(values.values()), clusters, limits=sheet.range, confidence=1 - alpha, seed=seed)
            summary = replace(summary, interval=mean.interval, note=mean.note)
        summaries[model] = summary
    sign = -1 if sheet.direction == "higher" else 1

    def sort_key(model: str) -> tuple[bool, float, str]:
        # Summed exactly: equal marks in another order have one mean. By name, for the order of the input says nothing.
        values = [cell.value for cell in sheet.marks[model].values() if cell.value is not None]
        return not values, sign * math.fsum(values) / max(1, len(values)), model

    return {model: summaries[model] for model in sorted(sheet.models, key=sort_key)}


def standings(sheet: Sheet, *, alpha: float = SIGNIFICANCE, seed: int = 0) -> list[Standing]:
    """Return every model's summary and rank, best first, ties by name."""
    import numpy as np

    summary_by_model = summaries(sheet, alpha=alpha, seed=seed)
    valued = [model for model, summary in summary_by_model.items() if summary.value is not None]
    ranges: dict[str, tuple[int, int]] = {}
    if (means := _resample_means(sheet, valued, seed)) is not None:
        means = -means if sheet.direction == "higher" else means
        # A tie takes the better rank, so that models with equal marks share it.
        better = means - _SLACK * np.abs(means).max()
        # Counted in each resample's order: a table of every model against every other does not fit for thousands.
        ranks = np.stack([np.searchsorted(np.sort(row), bound) for row, bound in zip(means, better, strict=True)]) + 1
        # Ranks are whole numbers: rounded outwards, so that the range never claims more than its level.
        low = np.quantile(ranks, alpha / 2, axis=0, method="lower")
        high = np.quantile(ranks, 1 - alpha / 2, axis=0, method="higher")
        ranges = {model: (int(a), int(b)) for model, a, b in zip(valued, low, high, strict=True)}
    standings: list[Standing] = []
    for position, (model, summary) in enumerate(summary_by_model.items(), start=1):
        before = standings[-1].summary.value if standings else None
        is_tied = bool(standings) and (
            before == summary.value  # also where both have none
            or (
                before is not None and summary.value is not None and math.isclose(before, summary.value, rel_tol=_SLACK)
            )
        )
        rank = standings[-1].rank if is_tied else position
        standings.append(Standing(model, rank, summary, *ranges.get(model, (None, None))))
    return standings


def _resample_means(sheet: Sheet, order: Sequence[str], seed: int) -> Floats | None:
    """Return the models' means over resamples of what all have a value for: of samples, or of clusters of them.

    None without a model, below two of these, or where clusters leave every difference between models the same.
    """
    import numpy as np

    if not order:
        return None
    values_by_sample = {}
    for sample in sorted(sheet.samples):
        marks = [sheet.marks[model].get(sample) for model in order]
        values = [mark.value for mark in marks if mark is not None and mark.value is not None]
        if len(values) == len(order):
            values_by_sample[sample] = values
    clusters = sheet.get_clusters(list(values_by_sample))
    numbers: dict[str, int] = {}
    units = [numbers.setdefault(name, len(numbers)) for name in clusters or values_by_sample]
    if len(numbers) < 2:
        return None
    table, sizes = np.zeros((len(numbers), len(order))), np.bincount(units).astype(np.float64)
    # `table[units] += ...` would add only one sample of each cluster: with a repeated index the last one wins.
    np.add.at(table, units, np.array(list(values_by_sample.values())))
    rng, n = np.random.default_rng(seed), len(numbers)
    # Fewer draws of very many samples, and in pieces of 4 million numbers: time and memory stay bounded.
    draws, step = max(200, min(_DRAWS, 20_000_000 // n)), max(1, 4_000_000 // n)
    # How often each unit is drawn is all that a mean needs, so one matrix product gives the means of all models.
    drawn = (rng.multinomial(n, np.full(n, 1 / n), min(step, draws - at)) for at in range(0, draws, step))
    # Divided by the samples drawn, of which a resample of clusters has no fixed number.
    means: Floats = np.concatenate([(counts @ table) / (counts @ sizes)[:, None] for counts in drawn])
    same = np.ptp(means - means[:, :1], axis=0).max() <= _SLACK * np.abs(means).max()
    return None if clusters is not None and same else means


def in_groups(order: Sequence[Standing], different: Collection[tuple[str, str]]) -> tuple[Standing, ...]:
    """Return the standings, best first, with their letters; a model without any value has none.

    What resampling leaves open of a rank is widened to what the letters leave open: with few samples it leaves out
    ranks of models that do not differ significantly. `different` are the distinguishable pairs.
    """
    names = [standing.model for standing in order if standing.summary.value is not None]
    letters_by_model = letters(names, different)
    positions = {name: at for at, name in enumerate(names)}
    above, below = Counter[str](), Counter[str]()
    for pair in different:
        better, worse = sorted(pair, key=positions.__getitem__)
        above[worse] += 1
        below[better] += 1
    standings = []
    for standing in order:
        model, low, high = standing.model, standing.rank_low, standing.rank_high
        if low is not None and high is not None:
            low, high = min(low, 1 + above[model]), max(high, len(names) - below[model])
        standings.append(replace(standing, rank_low=low, rank_high=high, group=letters_by_model.get(model, ())))
    return tuple(standings)


def letters(names: Sequence[str], different: Collection[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Return the letters of each model, best first: two share one exactly if they are not `different`, in either order.

    Insert and absorb (Piepho 2004). Beyond 200 sets, which takes a very odd pattern of differences, or 60 models they
    are grouped by runs of neighbours instead; sharing a letter then still means not distinguishable.
    """
    if not names:
        return {}
    positions = {name: at for at, name in enumerate(names)}
    apart = sorted(tuple(sorted((positions[a], positions[b]))) for a, b in different)
    many = len(names) > _MOST_MODELS
    sets = _runs(len(names), {(a, b) for a, b in apart}) if many else [frozenset(range(len(names)))]
    for first, two in () if many else apart:
        split = [s for s in sets if not {first, two} <= s]
        for both in (s for s in sets if {first, two} <= s):
            # Insert: a set that holds both of a distinguishable pair becomes two sets, each without one of them.
            split += [both - {first}, both - {two}]
        unique = sorted(set(split), key=lambda s: (-len(s), sorted(s)))
        sets = []
        for candidate in unique:  # larger ones first, so that only a subset of a kept one can turn up
            if not any(candidate <= other_set for other_set in sets):
                sets.append(candidate)
        if len(sets) > _MOST_GROUPS:
            sets = _runs(len(names), {(a, b) for a, b in apart})
            break
    sets.sort(key=lambda s: (min(s), max(s), sorted(s)))
    letters_by_model: dict[str, tuple[str, ...]] = dict.fromkeys(names, ())
    for number, group in enumerate(sets, start=1):
        letter, rest = "", number
        while rest:  # a, b, ..., z, aa, ab, ...
            rest, digit = divmod(rest - 1, 26)
            letter = chr(97 + digit) + letter
        for member in sorted(group):
            letters_by_model[names[member]] = (*letters_by_model[names[member]], letter)
    return letters_by_model


def _runs(size: int, apart: Collection[tuple[int, int]]) -> list[frozenset[int]]:
    """Return the longest runs of neighbours without a distinguishable pair."""
    groups: list[frozenset[int]] = []
    for start in range(size):
        stop = start
        while stop + 1 < size and all((first, stop + 1) not in apart for first in range(start, stop + 1)):
            stop += 1
        if not groups or stop not in groups[-1]:
            groups.append(frozenset(range(start, stop + 1)))
    return groups


# Attempts of a finished run in an order that does not depend on which was done first.


def in_benchmark_order(results: Results, entries: Iterable[Entry]) -> list[Entry]:
    """Return entries model by model, in the order of the benchmark's samples and their attempts."""
    sheet = results.sheet(None)
    models = {model: index for index, model in enumerate(sheet.models)}
    samples = {sample: index for index, sample in enumerate(sheet.samples)}

    def sort_key(entry: Entry) -> tuple[int, int, int]:
        return models.get(entry.model, len(models)), samples.get(entry.sample, len(samples)), entry.attempt

    return sorted(entries, key=sort_key)


PAIRED_UP_TO = 20
"""Up to this many models every pair is compared as `compare` does it, and where samples belong together; beyond, by the
paired t test, all at once."""


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """The standings with their letters, best first."""

    standings: tuple[Standing, ...]
    method: str
    """The test that decided the pairs."""


def leaderboard(sheet: Sheet, *, alpha: float = SIGNIFICANCE, seed: int = 0) -> Leaderboard:
    """Return the leaderboard of a sheet; two models without a letter in common differ at `alpha` over all pairs (Holm).

    Raises:
        DataError: no two models share a sample with a value.
    """
    order = standings(sheet, alpha=alpha, seed=seed)
    names = [standing.model for standing in order]
    is_clustered = sheet.get_clusters(sheet.samples) is not None
    if is_clustered or len(names) <= PAIRED_UP_TO:
        pairs = compare_pairs(sheet, names, alpha=alpha, seed=seed)
        apart = {(pair.first, pair.second) for pair in pairs if pair.distinguishable}
        how = "errors of clusters of" if is_clustered else "sign flips on"
        method = f"{how} common samples, as markbook compare does"
    else:
        apart = _apart(sheet, names, alpha)
        method = "paired t tests on common samples"
    return Leaderboard(in_groups(order, apart), method)


def _apart(sheet: Sheet, names: Sequence[str], alpha: float) -> set[tuple[str, str]]:
    """Return the pairs that differ, from sums over the samples that both have a value for."""
    import numpy as np
    from scipy.special import stdtr

    rows_of = {sample: at for at, sample in enumerate(sheet.samples)}
    values = np.zeros((len(rows_of), len(names)))
    has_value = np.zeros_like(values)
    for column, name in enumerate(names):
        for sample, cell in sheet.marks[name].items():
            if cell.value is not None:
                values[rows_of[sample], column], has_value[rows_of[sample], column] = cell.value, 1.0
    # The difference does not depend on what is taken from both sides; small numbers keep their digits.
    centre = values.sum() / max(1.0, has_value.sum())
    values = (values - centre) * has_value
    # Sums over common samples for all pairs at once: (a - b)² = a² + b² - 2ab, each term one matrix product.
    n = has_value.T @ has_value
    total = values.T @ has_value - has_value.T @ values
    squares = (values**2).T @ has_value + has_value.T @ (values**2) - 2 * values.T @ values
    rows, columns = np.triu_indices(len(names), 1)
    n, total, squares = n[rows, columns], total[rows, columns], squares[rows, columns]
    with np.errstate(divide="ignore", invalid="ignore"):
        # Rounding can leave a variance of 0 a little below it, and a negative number has no root.
        spread = np.sqrt(np.maximum(squares - total**2 / n, 0.0) / (n - 1) / n)
        p = 2 * stdtr(n - 1, -np.abs(total / n) / spread)
    is_known = (n >= 2) & (spread > 1e-12)
    p_values = [float(p_value) if ok else None for p_value, ok in zip(p, is_known, strict=True)]
    # Where every difference is the same the t test has no p, and yet nothing speaks more clearly.
    for index in np.flatnonzero((n >= 2) & ~is_known & (np.abs(total) > 1e-12 * n)):
        p_values[index] = equal_differences_p(int(n[index]))
    adjusted = holm(p_values)
    pairs = zip(rows.tolist(), columns.tolist(), adjusted, strict=True)
    return {(names[a], names[b]) for a, b, value in pairs if value is not None and value < alpha}
