"""Where each model stands among several, and with which others it shares its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from markbook.results.sheet import Sheet
from markbook.results.summary import mean_of, summarise_cells
from markbook.types import Summary

if TYPE_CHECKING:
    from markbook.stats.arrays import Floats

_DRAWS = 2000
_SLACK = 1e-11
"""What means of equal marks may differ by, of sums in another order: so much of the largest."""
_MOST_GROUPS = 200
_MOST_MODELS = 60
"""Up to here every set of models that cannot be told apart is found; it takes time that grows with the cube."""


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

    def in_group(self, group: tuple[str, ...]) -> Standing:
        """Return the standing with its letters."""
        return replace(self, group=group)

    def to_record(self) -> dict[str, object]:
        """Return plain JSON values."""
        return {
            "model": self.model,
            "rank": self.rank,
            "rank_range": None if self.rank_low is None else [self.rank_low, self.rank_high],
            "group": list(self.group),
            "summary": self.summary.to_record(),
        }


def summaries(sheet: Sheet, *, alpha: float = 0.05, seed: int = 0) -> dict[str, Summary]:
    """Return every model's summary, best first, ties in the order of the input."""
    summaries = {model: _summary(sheet, model, alpha, seed) for model in sheet.models}
    sign = -1 if sheet.direction == "higher" else 1

    def sort_key(model: str) -> tuple[bool, float]:
        value = summaries[model].value
        return (value is None, sign * (value or 0.0))

    return {model: summaries[model] for model in sorted(sheet.models, key=sort_key)}


def standings(sheet: Sheet, *, alpha: float = 0.05, seed: int = 0) -> list[Standing]:
    """Return every model's summary and rank, best first, ties in the order of the input."""
    found_summaries = summaries(sheet, alpha=alpha, seed=seed)
    order = list(found_summaries)
    valued = [model for model in order if found_summaries[model].value is not None]
    ranges = dict(zip(valued, _rank_ranges(sheet, valued, alpha, seed), strict=False))
    standings: list[Standing] = []
    for at, model in enumerate(order):
        same = at > 0 and found_summaries[model].value == found_summaries[order[at - 1]].value
        rank = standings[-1].rank if same else at + 1
        low, high = ranges.get(model, (None, None))
        standings.append(Standing(model, rank, found_summaries[model], low, high))
    return standings


def _summary(sheet: Sheet, model: str, alpha: float, seed: int) -> Summary:
    summary = summarise_cells(
        list(sheet.marks[model].values()),
        metric=sheet.metric,
        group=model,
        range=sheet.range,
        direction=sheet.direction,
        confidence=1 - alpha,
        seed=seed,
    )
    values = {sample: cell.value for sample, cell in sheet.marks[model].items() if cell.value is not None}
    clusters = sheet.clusters_of(list(values))
    if clusters is None:
        return summary
    clustered = mean_of(list(values.values()), clusters, limits=sheet.range, confidence=1 - alpha, seed=seed)
    if clustered.interval is None:
        return replace(summary, interval=None, note=clustered.note)
    return replace(summary, interval=clustered.interval, note=clustered.note)


def _rank_ranges(sheet: Sheet, order: Sequence[str], alpha: float, seed: int) -> list[tuple[int, int]]:
    """Return the plausible ranks of each model, from means over resampled samples; nothing where these say nothing."""
    import numpy as np

    means = _resample_means(sheet, order, seed)
    if means is None:
        return []
    if sheet.direction == "higher":
        means = -means
    # A tie takes the better rank, so that models with equal marks share it.
    better = means - _SLACK * np.abs(means).max()
    # Counted in each resample's order: a table of every model against every other does not fit for thousands.
    ranks = np.stack([np.searchsorted(np.sort(row), bound) for row, bound in zip(means, better, strict=True)]) + 1
    low = np.quantile(ranks, alpha / 2, axis=0, method="lower")
    high = np.quantile(ranks, 1 - alpha / 2, axis=0, method="higher")
    return [(int(a), int(b)) for a, b in zip(low, high, strict=True)]


def _resample_means(sheet: Sheet, order: Sequence[str], seed: int) -> Floats | None:
    """Return the models' means over resamples of what all have a value for: of samples, or of clusters of them.

    None without a model, below two of these, or where clusters leave every difference between models the same.
    """
    import numpy as np

    if not order:
        return None
    values_by_sample = {}
    for sample in sheet.samples:
        marks = [sheet.marks[model].get(sample) for model in order]
        values = [mark.value for mark in marks if mark is not None and mark.value is not None]
        if len(values) == len(order):
            values_by_sample[sample] = values
    clusters = sheet.clusters_of(list(values_by_sample))
    numbers: dict[str, int] = {}
    units = [numbers.setdefault(name, len(numbers)) for name in clusters or values_by_sample]
    if len(numbers) < 2:
        return None
    table, sizes = np.zeros((len(numbers), len(order))), np.bincount(units).astype(np.float64)
    np.add.at(table, units, np.array(list(values_by_sample.values())))
    rng, n = np.random.default_rng(seed), len(numbers)
    draws, step = max(200, min(_DRAWS, 20_000_000 // n)), max(1, 4_000_000 // n)
    drawn = (rng.multinomial(n, np.full(n, 1 / n), min(step, draws - at)) for at in range(0, draws, step))
    means: Floats = np.concatenate([(counts @ table) / (counts @ sizes)[:, None] for counts in drawn])
    same = np.ptp(means - means[:, :1], axis=0).max() <= _SLACK * np.abs(means).max()
    return None if clusters is not None and same else means


def in_groups(order: Sequence[Standing], different: Collection[tuple[str, str]]) -> tuple[Standing, ...]:
    """Return the standings with their letters; a model without any value has none.

    What resampling leaves open of a rank is widened to what the letters leave open: with few samples it leaves out ranks of
    models that nothing tells apart.

    Args:
        order: best first.
        different: the distinguishable pairs.
    """
    names = [standing.model for standing in order if standing.summary.value is not None]
    letters_by_model = letters(names, different)
    positions = {name: at for at, name in enumerate(names)}
    above, below = Counter[str](), Counter[str]()
    for pair in different:
        better, worse = sorted(pair, key=positions.__getitem__)
        above[worse] += 1
        below[better] += 1
    return tuple(
        _widen_ranks(standing, 1 + above[standing.model], len(names) - below[standing.model]).in_group(
            letters_by_model.get(standing.model, ())
        )
        for standing in order
    )


def _widen_ranks(standing: Standing, low: int, high: int) -> Standing:
    """Return the standing with a range of ranks that holds this one; without a range where it has none."""
    if standing.rank_low is None or standing.rank_high is None:
        return standing
    return replace(standing, rank_low=min(low, standing.rank_low), rank_high=max(high, standing.rank_high))


def letters(names: Sequence[str], different: Collection[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Return the letters of each model: two share one exactly if they are not distinguishable.

    Insert and absorb (Piepho 2004). Beyond 200 sets, which takes a very odd pattern of differences, or 60 models they are
    grouped by runs of neighbours instead; sharing a letter then still means not distinguishable.

    Args:
        names: best first.
        different: the distinguishable pairs, in either order.
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
    for at, group in enumerate(sets):
        for member in sorted(group):
            letters_by_model[names[member]] = (*letters_by_model[names[member]], _letter(at))
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


def _letter(at: int) -> str:
    """Return a, b, ..., z, aa, ab, ..."""
    word = ""
    at += 1
    while at:
        at, rest = divmod(at - 1, 26)
        word = chr(97 + rest) + word
    return word
