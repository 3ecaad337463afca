"""How often the 95 % interval of a mean of partial credit holds the true mean, for few values, by simulation.

python -m bench.coverage [--trials 3000] [--resamples 999] [--n 2 3 4 5 ...] [--every] [--all] [--chosen] [--table]

Each line is a shape of scores at a number of values: the method that Markbook chooses and its coverage, then those of
the methods that it could have chosen. Samples whose values are all equal inside the range have no interval and are left
out; with 3,000 trials the standard error of a coverage of 95 % is .4 points. `--every` takes each n from 2 to 60,
`--all` adds the shapes for which nothing covers, `--chosen` leaves out the other methods. `--table` prints the table of
docs/statistics.md instead: coverage in percent of every regime at the sizes of `TABLE`, related items too, with the share of
samples beside whose number a warning stands, where that is 5 % or more. Below it stand the cells in which the intervals without a
warning cover less than 93 %, where some have one and 100 or more have none.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from markbook.results.pairs import estimate_difference
from markbook.results.summary import estimate_mean
from markbook.stats import (
    Estimate,
    bootstrap_mean,
    mean_interval,
    pass_at_k,
    pass_at_k_summary,
    score_interval,
    t_interval,
)
from markbook.stats.intervals import NARROW

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    Draw = Callable[[Generator, int], NDArray[np.float64]]

NS = (2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 15, 17, 20, 25, 30, 40, 50, 59, 60)


@dataclass(frozen=True, slots=True)
class Shape:
    """A distribution of scores in 0..1 whose mean is known."""

    draw: Draw
    mean: float
    words: str
    worth: NDArray[np.float64] | None = None
    """Of pass@k: what so many right attempts are worth, by their number."""
    k: int = 1


def _with_ends(zeros: float, ones: float, between: Draw) -> Draw:
    """Return a distribution that is 0 or 1 with these probabilities, else something between."""

    def draw(rng: Generator, n: int) -> NDArray[np.float64]:
        place = rng.random(n)
        return np.where(place < zeros, 0.0, np.where(place < zeros + ones, 1.0, between(rng, n)))

    return draw


def _pass_at(attempts: int, k: int, a: float = 4.0, b: float = 0.4) -> Shape:
    """Return pass@k of problems whose chances are Beta(a, b)."""
    worth = np.array([pass_at_k(attempts, right, k).value for right in range(attempts + 1)])
    all_wrong = math.prod((b + at) / (a + b + at) for at in range(k))  # E (1 - p)^k of a Beta(a, b)
    words = f"pass@{k} of {attempts} attempts, chances Beta({a:g}, {b:g})".replace("0.", ".")
    return Shape(lambda rng, n: worth[rng.binomial(attempts, rng.beta(a, b, n))], 1 - all_wrong, words, worth, k)


SHAPES: Mapping[str, Shape] = {
    "uniform": Shape(lambda rng, n: rng.random(n), 0.5, "uniform on 0..1"),
    "u-shaped": Shape(lambda rng, n: rng.beta(0.5, 0.5, n), 0.5, "Beta(.5, .5)"),
    "skewed": Shape(lambda rng, n: rng.beta(1, 4, n), 0.2, "Beta(1, 4)"),
    "bimodal": Shape(_with_ends(0.4, 0.4, lambda rng, n: rng.random(n)), 0.5, "40 % at 0, 40 % at 1, the rest uniform"),
    "ceiling": Shape(_with_ends(0.0, 0.6, lambda rng, n: rng.beta(4, 1, n)), 0.92, "60 % at 1, the rest Beta(4, 1)"),
}
HARD: Mapping[str, Shape] = {
    "solved": Shape(lambda rng, n: rng.beta(0.5, 0.05, n), 0.5 / 0.55, "Beta(.5, .05): nearly all 1, a few near 0"),
    "97 % at 1": Shape(_with_ends(0.0, 0.97, lambda rng, n: rng.random(n)), 0.985, "97 % at 1, the rest uniform"),
    "95 % at 0": Shape(_with_ends(0.95, 0.0, lambda rng, n: rng.random(n)), 0.025, "95 % at 0, the rest uniform"),
    "pass@5 of 10": _pass_at(10, 5),
    "pass@10 of 20": _pass_at(20, 10),
    "pass@2 of 10": _pass_at(10, 2, 2, 1),
    "pass@5 of 10, any chance": _pass_at(10, 5, 1, 1),
    "pass@3 of 5": _pass_at(5, 3, 2, 1),
    "pass@2 of 5": _pass_at(5, 2, 0.2, 0.02),
}
"""What few values cannot show: most samples hold none of the rare low marks."""
OPEN: Mapping[str, Shape] = {
    "normal": Shape(lambda rng, n: rng.normal(1, 0.3, n), 1.0, "unbounded range: normal"),
    "gamma": Shape(lambda rng, n: rng.gamma(1, 1, n), 1.0, "unbounded range: Gamma(1)"),
    "lognormal": Shape(lambda rng, n: rng.lognormal(0, 1, n), math.exp(0.5), "unbounded range: lognormal"),
}
WHOLE: Mapping[str, Shape] = {
    "half": Shape(lambda rng, n: (rng.random(n) < 0.5).astype(float), 0.5, "right or wrong, half right"),
    "most": Shape(lambda rng, n: (rng.random(n) < 0.9).astype(float), 0.9, "right or wrong, 90 % right"),
}
"""All or nothing: Wilson's interval, whose coverage swings with n."""
TABLE = (3, 4, 5, 10, 20, 30, 60, 100, 200, 500)
CLUSTERS = (4, 6, 10, 20, 40)
PAIRED = (4, 6, 8, 10, 20, 30, 60, 100, 200, 500)


def _right_or_wrong(plus: float, minus: float) -> Draw:
    """Return differences of pairs of which so many are 1 and so many -1; the others are 0."""

    def draw(rng: Generator, n: int) -> NDArray[np.float64]:
        place = rng.random(n)
        return np.where(place < plus, 1.0, np.where(place < plus + minus, -1.0, 0.0))

    return draw


def _one_sided(differing: float) -> Draw:
    return lambda rng, n: np.where(rng.random(n) < differing, rng.random(n), 0.0)


PAIRS: Mapping[str, tuple[Draw, float]] = {
    "right or wrong, 50 % better, 50 % worse": (_right_or_wrong(0.5, 0.5), 0.0),
    "right or wrong, 65 % better, 35 % worse": (_right_or_wrong(0.65, 0.35), 0.3),
    "right or wrong, 40 % better": (_right_or_wrong(0.4, 0.0), 0.4),
    "right or wrong, 20 % better, 10 % worse": (_right_or_wrong(0.2, 0.1), 0.1),
    "right or wrong, 3 % better": (_right_or_wrong(0.03, 0.0), 0.03),
    "partial credit, normal": (lambda rng, n: np.clip(rng.normal(0.1, 0.2, n), -0.7, 0.9), 0.1),
    "partial credit, 40 % better, uniform": (_one_sided(0.4), 0.2),
    "partial credit, 5 % better, uniform": (_one_sided(0.05), 0.025),
}
"""Differences of two models on the same samples, and their mean."""


@dataclass(frozen=True, slots=True)
class Covered:
    """What a method did at one shape and n."""

    covered: float
    width: float
    """Its mean width, clipped into the range."""
    methods: str
    """The names that it gave itself."""


@dataclass(slots=True)
class Tally:
    """How many intervals held the truth, those with a warning and those without."""

    n_warned: int = 0
    n_quiet: int = 0
    hits_warned: int = 0
    hits_quiet: int = 0

    def add(self, *, is_hit: bool, is_warned: bool) -> None:
        """Count one interval."""
        if is_warned:
            self.n_warned += 1
            self.hits_warned += is_hit
        else:
            self.n_quiet += 1
            self.hits_quiet += is_hit

    @property
    def covered(self) -> float:
        """The share that held the truth."""
        return (self.hits_warned + self.hits_quiet) / (self.n_warned + self.n_quiet)

    @property
    def warned(self) -> float:
        """The share with a warning."""
        return self.n_warned / (self.n_warned + self.n_quiet)

    @property
    def quiet(self) -> float | None:
        """The share of those without a warning that held the truth; None of fewer than 100."""
        return self.hits_quiet / self.n_quiet if self.n_quiet >= 100 else None


def _clipped(found: Estimate) -> tuple[float, float] | None:
    if found.low is None or found.high is None:
        return None
    return max(0.0, found.low), min(1.0, found.high)


def measure(shape: str, n: int, *, trials: int, n_resamples: int, only: Collection[str] = ()) -> dict[str, Covered]:
    """Return the coverage of each method, or of `only` these: `chosen` is `mean_interval`."""
    known = {**SHAPES, **HARD}[shape]
    rng = np.random.default_rng([n, len(shape), ord(shape[0])])
    ways: dict[str, Callable[[list[float], int], Estimate]] = {
        "chosen": lambda values, seed: mean_interval(values, seed=seed, n_resamples=n_resamples),
        "t": lambda values, _: t_interval(values),
        "wilson-t": lambda values, _: score_interval(values),
    }
    if n >= 5:
        for method in ("bca", "bca-expanded"):
            ways[method] = lambda values, seed, method=method: bootstrap_mean(
                values, method=method, seed=seed, n_resamples=n_resamples
            )
    ways = {way: make for way, make in ways.items() if way in (only or ways)}
    hits = dict.fromkeys(ways, 0)
    widths = dict.fromkeys(ways, 0.0)
    names: dict[str, set[str]] = {way: set() for way in ways}
    counted = 0
    for trial in range(trials):
        values = known.draw(rng, n).tolist()
        chosen = mean_interval(values, seed=trial, n_resamples=n_resamples)
        if chosen.low is None:
            continue
        counted += 1
        for way, make in ways.items():
            # All 0 or 1: that is a share, and Wilson's interval whatever the others would do.
            found = chosen if way == "chosen" or chosen.method == "wilson" else make(values, trial)
            span = _clipped(found)
            assert span is not None
            hits[way] += span[0] - 1e-12 <= known.mean <= span[1] + 1e-12
            widths[way] += span[1] - span[0]
            names[way].add(found.method)
    return {
        way: Covered(hits[way] / counted, widths[way] / counted, "+".join(sorted(names[way], reverse=True)))
        for way in ways
    }


def covered(shape: Shape, n: int, *, trials: int, n_resamples: int, is_open: bool) -> Tally:
    """Return how often the truth lies in a shape's chosen interval."""
    rng = np.random.default_rng([n, *map(ord, shape.words)])
    limits = (-math.inf, math.inf) if is_open else (0.0, 1.0)
    tally = Tally()
    for trial in range(trials):
        values = shape.draw(rng, n)
        if shape.worth is None:
            found = mean_interval(values.tolist(), limits=limits, seed=trial, n_resamples=n_resamples)
        else:  # as a run sums its problems up: pass@k warns earlier than marks do
            right = np.searchsorted(shape.worth, values).tolist()
            found = pass_at_k_summary([shape.worth.size - 1] * n, right, shape.k)
        if found.low is None or found.high is None:
            continue
        tally.add(is_hit=found.low - 1e-12 <= shape.mean <= found.high + 1e-12, is_warned=NARROW in found.note)
    return tally


def _clusters(rng: Generator, groups: int, kind: str) -> tuple[NDArray[np.float64], NDArray[np.int64], float]:
    """Return values, the cluster of each and the true mean."""
    sizes = np.full(groups, 10) if kind != "unequal" else rng.integers(1, 30, groups)
    index = np.repeat(np.arange(groups), sizes)
    own = rng.normal(size=groups)[index]
    if kind == "rare":
        # three of a hundred are wrong, most of them in the same clusters
        chance = rng.beta(0.1, 3.2333, groups)[index]
        return (rng.random(index.size) >= chance).astype(float), index, 0.97
    related = 0.6 if kind == "ceiling" else 0.3
    level = np.sqrt(related) * own + np.sqrt(1 - related) * rng.normal(size=index.size)
    if kind == "ceiling":
        # 60 % at 1, the rest Beta(4, 1) by the quantiles of a normal level
        below = np.array([math.erfc(-z / math.sqrt(2)) / 2 for z in level]) / 0.4
        return np.where(below > 1, 1.0, below**0.25), index, 0.92
    return (level > 0).astype(float), index, 0.5


def covered_clusters(groups: int, kind: str, *, trials: int) -> Tally:
    """Return how often the truth lies in the interval of related items."""
    rng = np.random.default_rng([groups, *map(ord, kind)])
    tally = Tally()
    for _ in range(trials):
        values, index, mean = _clusters(rng, groups, kind)
        found = estimate_mean(values.tolist(), index.tolist(), limits=(0.0, 1.0), confidence=0.95, seed=0)
        if found.low is None or found.high is None:
            continue
        tally.add(is_hit=found.low <= mean <= found.high, is_warned=NARROW in found.note)
    return tally


def covered_pairs(draw: Draw, mean: float, n: int, *, trials: int) -> Tally:
    """Return how often the truth lies in the interval that `compare` gives a difference."""
    rng = np.random.default_rng([n, round(1000 * mean)])
    tally = Tally()
    for _ in range(trials):
        gaps = draw(rng, n)
        found = estimate_difference(np.maximum(gaps, 0.0).tolist(), np.maximum(-gaps, 0.0).tolist(), 1.0, 0.95)
        if found.low is None or found.high is None:
            continue
        tally.add(is_hit=found.low - 1e-12 <= mean <= found.high + 1e-12, is_warned=NARROW in found.note)
    return tally


def _cell(tally: Tally, where: str, quiet: list[str]) -> str:
    """Return coverage and the share of warned; note a cell whose intervals without a warning cover too little."""
    if tally.warned >= 0.05 and tally.quiet is not None and tally.quiet < 0.93:
        quiet.append(f"- {where}: {100 * tally.quiet:.1f} % of {tally.n_quiet} without a warning")
    return f"{100 * tally.covered:.1f}" + (f" ({100 * tally.warned:.0f} %)" if tally.warned >= 0.05 else "")


def print_table(trials: int, n_resamples: int) -> None:
    """Print the tables of the documentation: a mark in brackets is the share of samples with a warning."""
    quiet: list[str] = []
    print("| scores | " + " | ".join(f"n = {n}" for n in TABLE) + " |")
    print("|---" * (1 + len(TABLE)) + "|")
    for shape in (*WHOLE.values(), *SHAPES.values(), *HARD.values(), *OPEN.values()):
        is_open = shape in OPEN.values()
        cells = [
            _cell(
                covered(shape, n, trials=trials, n_resamples=n_resamples, is_open=is_open), f"{shape.words}, {n}", quiet
            )
            for n in TABLE
        ]
        print(f"| {shape.words} | " + " | ".join(cells) + " |", flush=True)
    print("\n| clusters | " + " | ".join(f"{groups} of them" for groups in CLUSTERS) + " |")
    print("|---" * (1 + len(CLUSTERS)) + "|")
    for kind, words in {
        "equal": "ten items in each, half right, intraclass correlation .3 before the cut",
        "unequal": "1 to 29 items in each",
        "rare": "ten in each, 3 % wrong, most of these in the same clusters",
        "ceiling": "ten in each, 60 % at 1, the rest Beta(4, 1), correlation .6",
    }.items():
        cells = [_cell(covered_clusters(n, kind, trials=trials), f"{words}, {n} clusters", quiet) for n in CLUSTERS]
        print(f"| {words} | " + " | ".join(cells) + " |", flush=True)
    print("\n| differences of two models | " + " | ".join(f"n = {n}" for n in PAIRED) + " |")
    print("|---" * (1 + len(PAIRED)) + "|")
    for words, (draw, mean) in PAIRS.items():
        cells = [_cell(covered_pairs(draw, mean, n, trials=trials), f"{words}, {n}", quiet) for n in PAIRED]
        print(f"| {words} | " + " | ".join(cells) + " |", flush=True)
    print("\nWithout a warning below 93 %, where some have one:")
    print("\n".join(quiet) or "- none")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=3000)
    parser.add_argument("--resamples", type=int, default=999)
    parser.add_argument("--n", type=int, nargs="*", default=NS)
    parser.add_argument("--every", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--chosen", action="store_true")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if options.table:
        print_table(options.trials, options.resamples)
        return
    for name, shape in {**SHAPES, **(HARD if options.all else {})}.items():
        print(f"{name}: {shape.words}", flush=True)
        for n in range(2, 61) if options.every else options.n:
            only = ("chosen",) if options.chosen else ()
            found = measure(name, n, trials=options.trials, n_resamples=options.resamples, only=only)
            others = "  ".join(
                f"{way} {one.covered:.3f} ({one.width:.2f})" for way, one in found.items() if way != "chosen"
            )
            chosen = found["chosen"]
            print(f"  n {n:2}  {chosen.covered:.3f} ({chosen.width:.2f}) {chosen.methods:20}  {others}", flush=True)


if __name__ == "__main__":
    main()
