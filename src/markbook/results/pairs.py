"""Two models on the same samples: the difference, its interval, its p, and what the samples could have shown.

Theory of operation
-------------------
Pairing. Only samples for which both models have a value are compared, each with itself: the difference of a sample leaves out
how hard the sample is, which varies far more than the models do. What cannot be paired is counted (`n_missing`) and never
becomes 0. `compare_pairs` needs no equal sets: every pair has its own common samples, and its own n.

From marks to a verdict, for the pairs of one comparison:

1. `_common` gives the values a, b of shape (n,) over the common samples.
2. `estimate_difference` gives the mean of a - b with a confidence interval: Tango's where samples are right or wrong, t, or
   cluster-robust, clipped to the range.
3. A p: random sign flips up to `FLIP_UP_TO` samples (exact where few differences are not 0), the t test above. Where samples
   belong together (clusters) their signs are not independent, so the p is that of the cluster-robust interval.
4. Holm adjusts the p values of *all* pairs: the family is everything that one table claims, so the chance of any false
   "is better" in it is at most alpha, however many models there are.
5. `judge_pairs`: better only where the adjusted p is below alpha *and* the interval leaves out 0. Two methods that disagree
   say "not distinguishable".
6. `mde`: the smallest difference that this many samples show in 80 % of cases, at the level that Holm leaves to the pair.

McNemar's test on all-tests-passed stands beside it for readers who expect it; it decides nothing. Differences by topic have
intervals only: to judge each would make another, larger family.

Pairs over the same samples share the drawn signs (`_flip_ps`: gaps of shape (samples, pairs)), which makes it cheap and
deterministic for a seed, and independent of the order of the models.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING

from markbook.errors import DataError
from markbook.measurements import SIGNIFICANCE
from markbook.results.sheet import Sheet
from markbook.results.summary import sentences
from markbook.stats.arrays import finite, has_variation
from markbook.stats.difference import (
    EXACT_FLIPS,
    equal_differences_p,
    holm,
    mcnemar_exact,
    paired_difference,
    sign_flip_ps,
    tango_interval,
)
from markbook.stats.intervals import FEWEST_AT_ENDS, NARROW, few_differing, wilson_interval
from markbook.stats.power import Differences, detectable_difference
from markbook.stats.records import Estimate

if TYPE_CHECKING:
    from markbook.stats.arrays import Floats

FLIP_UP_TO = 2_000
"""With more common samples than this the t test's p is used: there it is as good, and no signs need drawing."""
_DRAWS = 100_000


_FEW_DIFFER = 5
"""So many differences of one size at least show that all are of that size."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The comparison of two models; every difference is first - second, in the metric's unit."""

    first: str
    second: str
    difference: Estimate
    """Mean difference with its interval; `n` is the number of common samples."""
    p: float | None
    """Two-sided p of no difference: sign flips, or the t test for very many samples."""
    p_method: str
    p_adjusted: float | None
    """Holm's, over all pairs."""
    distinguishable: bool
    """Whether the adjusted p is below alpha and the interval leaves out 0."""
    better: str | None
    """The better model, None where the two are not distinguishable."""
    n_missing: int
    """Samples of either that could not be paired."""
    mcnemar_p: float | None
    """Exact McNemar on all-tests-passed; None without tests, or samples belong together."""
    only_first: int | None
    """Samples whose tests only the first model passed all; None without tests."""
    only_second: int | None
    mde: float | None
    """The smallest true difference that this many samples would show in 80 % of cases, by the test that decides and at the
    level that Holm leaves to it; None where these samples could show none, without an error, or where a few differ by far more than
    the others."""
    by_topic: Mapping[str, Estimate] = field(default_factory=dict)
    n_partial: int = 0
    """Common samples that have a value for a part of their answers only, by either model."""
    lacking: tuple[int, int] = (0, 0)
    """How many samples the first, and the second, lacks a measured value for where the other has one."""
    n_counted: int = 0
    """Common samples for which either has no measured value, only the worst one by the policy of its run."""

    @property
    def n(self) -> int:
        """Common samples."""
        return self.difference.n

    @property
    def sd(self) -> float | None:
        """What the difference varies by from sample to sample, of related ones as their clusters do; None without an error."""
        return self.difference.se * math.sqrt(self.n) if self.difference.se else None

    def differences(self, width: float) -> Differences | None:
        """Return how the differences vary over the metric's range, as far as it decides what could be shown; None without an error."""
        stats, sd, mean = self.difference.stats, self.sd, self.difference.value
        if sd is None or mean is None or self.n < 2 or "size" not in stats:
            return None
        return Differences(
            n=self.n,
            mean=mean,
            sd=sd,
            differing=1 - stats["n_equal"] / self.n,
            size=stats["size"],
            # few differences are soon of one size; the next may be of any, unless each is the whole range
            is_one_size=bool(stats["is_one_size"])
            and (math.isclose(stats["size"], width) or stats["n_better"] + stats["n_worse"] >= _FEW_DIFFER),
            largest=width,
            clusters=stats["degrees"] + 1 if "degrees" in stats else None,
            skew=stats.get("skew", 0.0),
        )

    def swap(self) -> Pair:
        """Return the same comparison with first and second exchanged."""
        return replace(
            self,
            first=self.second,
            second=self.first,
            difference=_negate(self.difference),
            only_first=self.only_second,
            only_second=self.only_first,
            lacking=(self.lacking[1], self.lacking[0]),
            by_topic={topic: _negate(estimate) for topic, estimate in self.by_topic.items()},
        )

    def verdict(self) -> str:
        """Return the finding in words."""
        return f"{self.better} is better" if self.better is not None else "not distinguishable"

    def to_record(self) -> dict[str, object]:
        """Return it as JSON."""
        difference = self.difference
        return {
            "model_a": self.first,
            "model_b": self.second,
            "n": difference.n,
            "n_missing": self.n_missing,
            "n_partial": self.n_partial,
            "difference": difference.value,
            "interval": difference.to_record()["interval"],
            "note": difference.note,
            "se": difference.se,
            "p": self.p,
            "p_method": self.p_method,
            "p_adjusted": self.p_adjusted,
            "mcnemar_p": self.mcnemar_p,
            "only_a": self.only_first,
            "only_b": self.only_second,
            "minimum_detectable_effect": self.mde,
            "distinguishable": self.distinguishable,
            "better": self.better,
            "verdict": self.verdict(),
            "by_topic": {topic: gap.to_record() for topic, gap in self.by_topic.items()},
        }


def _negate(estimate: Estimate) -> Estimate:
    def minus(value: float | None) -> float | None:
        return None if value is None else 0.0 - value  # 0.0 - 0.0 is 0.0, where -0.0 would print as such

    return replace(estimate, value=minus(estimate.value), low=minus(estimate.high), high=minus(estimate.low))


def _common(
    sheet: Sheet, first: str, second: str, among: Iterable[str]
) -> tuple[list[str], list[float], list[float], int]:
    """Return which of some samples both have a value for, the values, and how many samples were left out."""
    samples, a, b, n_unpaired = [], [], [], 0
    for sample in among:
        first_cell, two = sheet.marks[first].get(sample), sheet.marks[second].get(sample)
        if first_cell is None or two is None or first_cell.value is None or two.value is None:
            # A sample that neither model has is another pair's, and not a gap in this one.
            n_unpaired += first_cell is not None or two is not None
            continue
        samples.append(sample)
        a.append(first_cell.value)
        b.append(two.value)
    return samples, a, b, n_unpaired


def _count_lacking(sheet: Sheet, model: str, other: str) -> int:
    """Return for how many samples a model has a measured value and another has none."""
    cells, others = sheet.marks[model], sheet.marks[other]
    return sum(
        cell.value is not None and not cell.is_counted_missing
        and ((two := others.get(sample)) is None or two.value is None or two.is_counted_missing)
        for sample, cell in cells.items()
    )  # fmt: skip


def estimate_difference(
    a: Sequence[float], b: Sequence[float], width: float, confidence: float, clusters: Sequence[str] | None = None
) -> Estimate:
    """Return the paired difference, with an interval inside what the range allows, also where all differences are equal.

    Where samples are right or wrong it is Tango's. The note warns where such intervals cover less than 93 %. n equal differences
    show that other behaviour is rare, not that it is absent: with u the Wilson upper end of 0 in n, a share u of samples could
    differ by anything the range allows. A finite `width` is needed for that, and samples that do not belong together.
    """
    estimate = paired_difference(a, b, clusters=clusters, confidence=confidence)
    n, stats, few = estimate.n, estimate.stats, ""
    is_whole = clusters is None and bool(stats.get("is_one_size")) and math.isclose(stats["size"], width)
    if is_whole and n < FEWEST_AT_ENDS and 2 * stats["n_equal"] <= n:
        few = f"{NARROW}: {n} samples are few where half or more differ"
    if estimate.low is not None and estimate.high is not None and width > 0:
        if is_whole:
            low, high = tango_interval(int(stats["n_better"]), int(stats["n_worse"]), n, confidence)
            return replace(estimate, low=width * low, high=width * high, method="tango", note=few)
        # Nothing can differ by more than the range is wide.
        low, high = max(-width, estimate.low), min(width, estimate.high)
        return replace(estimate, low=low, high=high, note=few_differing(finite(a) - finite(b), width, clusters))
    if n < 2 or estimate.se != 0 or estimate.value is None or not 0 < width < float("inf"):
        return estimate
    share = wilson_interval(0, n, confidence=confidence).high
    assert share is not None
    # A share u of the samples at -width (or at +width), all others at the value that was seen.
    low = estimate.value - share * (estimate.value + width)
    high = estimate.value + share * (width - estimate.value)
    note = "; ".join(filter(None, ("every difference is the same", few)))
    return replace(estimate, low=low, high=high, method="wilson-bound", note=note)


def compare_pairs(sheet: Sheet, names: Sequence[str], *, alpha: float = SIGNIFICANCE, seed: int = 0) -> list[Pair]:
    """Return the pairs of the named models that share a sample with a value, in their order.

    Raises:
        DataError: no two models share any.
    """
    pairs = judge_pairs(estimate_pairs([(sheet, names)], alpha=alpha, seed=seed), alpha=alpha)
    if len(names) > 1 and not pairs:
        for name in names:
            cells = list(sheet.marks[name].values())
            reasons = [cell.missing.detail for cell in cells if cell.missing is not None]
            if cells and len(reasons) == len(cells):
                raise DataError(
                    f"{name!r} has no value in any of {len(cells)} samples: {reasons[0]}",
                    hint="scores must be numbers, or true and false",
                )
        who = f"{names[0]!r} and {names[1]!r} share no sample" if len(names) == 2 else "no two models share a sample"
        hint = sentences(("compare runs of the same benchmark or task", *sheet.notes)).removesuffix(".")
        raise DataError(f"{who} with a value", hint=hint)
    return pairs


def estimate_pairs(
    sheets: Sequence[tuple[Sheet, Sequence[str]]], *, alpha: float = SIGNIFICANCE, seed: int = 0
) -> list[tuple[Sheet, Pair]]:
    """Return the pairs of each sheet's named models that share a sample with a value, not judged yet."""
    raw = []
    for sheet, names in sheets:
        # Collected anew whenever it is asked for, which 19,900 pairs need not do; no order of rows moves a last digit.
        samples_of_all = sorted(sheet.samples)
        every = ((*two, *_common(sheet, *two, samples_of_all)) for two in combinations(names, 2))
        raw += [(sheet, candidate) for candidate in every if candidate[2]]
    clusters = [sheet.get_clusters(candidate[2]) for sheet, candidate in raw]
    # The signs of related samples are not drawn one by one.
    alone = [
        (tuple(candidate[2]), candidate[3], candidate[4])
        for (_, candidate), own in zip(raw, clusters, strict=True)
        if own is None
    ]
    flips = iter(_flip_ps(alone, seed))
    pairs = []
    for (sheet, (first, second, samples, a, b, n_unpaired)), own in zip(raw, clusters, strict=True):
        difference = estimate_difference(a, b, sheet.range[1] - sheet.range[0], 1 - alpha, own)
        p, method = (None, "") if own is not None else next(flips)
        used = (difference.p, difference.method) if p is None else (p, method)
        pairs.append((sheet, _pair(sheet, (first, second), samples, difference, used, n_unpaired)))
    return pairs


def judge_pairs(estimated: Sequence[tuple[Sheet, Pair]], *, alpha: float = SIGNIFICANCE) -> list[Pair]:
    """Return one family of pairs with what may be concluded of each: Holm's p over all of them, the better model, the MDE."""
    judged = []
    for (sheet, pair), p in zip(estimated, holm([pair.p for _, pair in estimated]), strict=True):
        difference, better = pair.difference, None
        # Test and interval must both say so: each rests on an approximation of its own, and one alone may be off.
        is_apart = (
            difference.low is not None and difference.high is not None and (difference.low > 0 or difference.high < 0)
        )
        is_different = is_apart and p is not None and p < alpha
        if is_different and difference.value is not None:
            better = pair.first if (difference.value > 0) == (sheet.direction == "higher") else pair.second
        judged.append(replace(pair, p_adjusted=p, distinguishable=is_different, better=better))
    # A second pass: the level of each pair depends on how many pairs Holm leaves open.
    n_open = count_open(judged, alpha)
    for at, ((sheet, _), pair) in enumerate(zip(estimated, judged, strict=True)):
        differences = pair.differences(sheet.range[1] - sheet.range[0])
        if differences is not None:
            judged[at] = replace(pair, mde=detectable_difference(differences, alpha=holm_level(pair, n_open, alpha)))
    return judged


def count_open(pairs: Sequence[Pair], alpha: float) -> int:
    """Return how many pairs have no significant difference by Holm's p."""
    return sum(_is_open(pair, alpha) for pair in pairs)


def _is_open(pair: Pair, alpha: float) -> bool:
    return pair.p_adjusted is not None and pair.p_adjusted >= alpha


def holm_level(pair: Pair, n_open: int, alpha: float) -> float:
    """Return the level that Holm leaves to a pair: alpha over the number of pairs that are still to be decided, with it."""
    return alpha / (n_open if _is_open(pair, alpha) else n_open + 1)


def _flip_ps(
    items: Sequence[tuple[tuple[str, ...], list[float], list[float]]], seed: int
) -> list[tuple[float | None, str]]:
    """Return each pair's sign-flip p; pairs over the same samples share the drawn signs, which is much quicker."""
    import numpy as np

    p_values: list[tuple[float | None, str]] = [(None, "")] * len(items)
    together: dict[tuple[str, ...], list[int]] = {}
    for index, (samples, _, _) in enumerate(items):
        if len(samples) <= FLIP_UP_TO:
            # The samples themselves are the key: only pairs over exactly the same ones can share signs.
            together.setdefault(samples, []).append(index)
            continue
        long: Floats = np.subtract(items[index][1], items[index][2])
        if not has_variation(long) and abs(float(long[0])) > 1e-12:
            # the t test has no p without variation
            p_values[index] = (equal_differences_p(long.size), "sign-flip-exact")
    for indices in together.values():
        gaps: Floats = np.stack([np.subtract(items[i][1], items[i][2]) for i in indices], axis=1)
        # What differs by rounding only (0.1 + 0.2 against 0.3) has no sign that could be flipped.
        gaps[np.abs(gaps) <= 1e-12] = 0.0
        moving = np.count_nonzero(gaps, axis=0)
        for index, p, count in zip(indices, sign_flip_ps(gaps, n_resamples=_DRAWS, seed=seed), moving, strict=True):
            p_values[index] = (p, "sign-flip-exact" if count <= EXACT_FLIPS else "sign-flip")
    return p_values


def _pair(
    sheet: Sheet,
    names: tuple[str, str],
    samples: Sequence[str],
    difference: Estimate,
    p: tuple[float | None, str],
    n_unpaired: int,
) -> Pair:
    first, second = names
    passes = [(sheet.marks[first][s].passed, sheet.marks[second][s].passed) for s in samples]
    both_judged = [(first_passed, two) for first_passed, two in passes if first_passed is not None and two is not None]
    only = (
        sum(first_passed and not two for first_passed, two in both_judged),
        sum(two and not first_passed for first_passed, two in both_judged),
    )
    is_clustered = "n_clusters" in difference.stats
    n_counted = sum(
        sheet.marks[first][s].is_counted_missing or sheet.marks[second][s].is_counted_missing for s in samples
    )
    has_gaps = n_unpaired > 0 or n_counted > 0  # most pairs have none, and need not be walked through again
    samples_by_topic: dict[str, list[str]] = {}
    for sample in samples:
        if topic := sheet.meta.get(sample, {}).get("topic", ""):
            samples_by_topic.setdefault(topic, []).append(sample)
    width, by_topic = sheet.range[1] - sheet.range[0], {}
    for topic, ids in sorted(samples_by_topic.items()):
        _, a, b, _ = _common(sheet, first, second, ids)
        by_topic[topic] = estimate_difference(a, b, width, difference.confidence, sheet.get_clusters(ids))
    return Pair(
        first=first,
        second=second,
        difference=difference,
        p=p[0],
        p_method=p[1],
        p_adjusted=None,
        distinguishable=False,
        better=None,
        n_missing=n_unpaired,
        # McNemar's test takes each sample for independent of the others.
        mcnemar_p=mcnemar_exact(*only).p if both_judged and not is_clustered else None,
        only_first=only[0] if both_judged else None,
        only_second=only[1] if both_judged else None,
        mde=None,
        by_topic=by_topic,
        n_partial=sum(sheet.marks[first][s].is_partial or sheet.marks[second][s].is_partial for s in samples),
        lacking=(_count_lacking(sheet, second, first), _count_lacking(sheet, first, second)) if has_gaps else (0, 0),
        n_counted=n_counted,
    )
