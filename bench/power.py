"""How often a comparison finds what it says it would: `python -m bench.power [--trials 2000]`.

Ten regimes of paired differences. For each: how many samples `compare` says would settle the two, and how often that many
do; then, at several sizes, the difference it calls detectable and how often one of that size is found. The decision is that
of `compare`: Holm's adjusted p of the sign-flip test below .05, and an interval of the difference that leaves out 0. A dash:
nothing is printed, for no difference could be shown. Asked are 80 %; with 2,000 trials the standard error is .9 points.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from markbook.results.pairs import estimate_difference
from markbook.stats.difference import sign_flip_ps
from markbook.stats.power import Differences, detectable_difference, items_to_show

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    Draw = Callable[[Generator, float, tuple[int, int]], NDArray[np.float64]]

ALPHA = 0.05
SIZES = (4, 6, 8, 10, 20, 50, 100, 300)
FLIPS = 10_000
MOST = 100_000


@dataclass(frozen=True, slots=True)
class Regime:
    """Paired differences whose mean can be set."""

    draw: Draw
    """Takes a mean and a shape."""
    gap: float
    """That is to be settled."""
    pairs: int = 1
    """Among so many pairs that nothing tells apart."""
    largest: float = 1.0


def _signs(differing: float) -> Draw:
    """Return differences of all-or-nothing marks: so many differ, and more where the mean asks for it."""

    def draw(rng: Generator, mean: float, shape: tuple[int, int]) -> NDArray[np.float64]:
        share = max(differing, mean)
        u = rng.random(shape)
        return np.where(u < (share + mean) / 2, 1.0, np.where(u < share, -1.0, 0.0))

    return draw


def _partial(rng: Generator, mean: float, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return differences of partial credit: near normal, of a standard deviation of .25."""
    return mean + 0.25 * rng.standard_normal(shape)


def _some(rng: Generator, mean: float, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return differences of which 60 % are 0 and the others between -.5 and .5, about their own mean; never above 1."""
    share = max(0.4, mean)
    return np.where(rng.random(shape) < share, np.clip(mean / share + rng.uniform(-0.5, 0.5, shape), -1, 1), 0.0)


def _far(rng: Generator, mean: float, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return differences of which one in ten lies far off against the mean, by eight standard deviations of the others."""
    return mean + 0.08 + np.where(rng.random(shape) < 0.1, -0.8, 0.1 * rng.standard_normal(shape))


def _skewed(rng: Generator, mean: float, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return differences with a long tail against the mean: gamma of skewness 1, standard deviation .2."""
    return mean + 0.4 - rng.gamma(4, 0.1, shape)


REGIMES: Mapping[str, Regime] = {
    "all differ, gap .8": Regime(_signs(1.0), 0.8),
    "40 % differ, all to one side": Regime(_signs(0.4), 0.4),
    "half differ, gap .3": Regime(_signs(0.5), 0.3),
    "30 % differ, gap .1": Regime(_signs(0.3), 0.1),
    "30 % differ, gap .05": Regime(_signs(0.3), 0.05),
    "partial credit, gap .1": Regime(_partial, 0.1, largest=math.inf),
    "partial credit, 60 % alike, gap .1": Regime(_some, 0.1),
    "long tail against the gap, gap .1": Regime(_skewed, 0.1, largest=math.inf),
    "one in ten far off against the gap, gap .1": Regime(_far, 0.1, largest=math.inf),
    "30 % differ, gap .2, one pair of ten": Regime(_signs(0.3), 0.2, pairs=10),
}


def differences_of(gaps: NDArray[np.float64], largest: float) -> Differences:
    """Return what `compare` would know of such differences: from many, so that only the power is measured."""
    moving = np.abs(gaps[gaps != 0])
    size = float(moving.mean())
    is_one_size = bool(np.ptp(moving) < 1e-9)
    share = moving.size / gaps.size
    apart = gaps[gaps != 0] - gaps[gaps != 0].mean()
    skew = 0.0 if is_one_size else float((apart**3).mean() / (apart**2).mean() ** 1.5)
    return Differences(gaps.size, float(gaps.mean()), float(gaps.std()), share, size, is_one_size, largest, skew=skew)


def found(regime: Regime, mean: float, n: int, trials: int, seed: int) -> float:
    """Return the share of trials in which n samples tell the two apart."""
    rng = np.random.default_rng(seed)
    gaps = regime.draw(rng, mean, (n, trials))
    ps = sign_flip_ps(gaps, n_resamples=FLIPS)
    hits = 0
    for column, p in enumerate(ps):
        if p * regime.pairs >= ALPHA:
            continue
        one = estimate_difference(list(gaps[:, column]), [0.0] * n, regime.largest, 1 - ALPHA)
        hits += one.low is not None and one.high is not None and (one.low > 0 or one.high < 0)
    return hits / trials


def measure(name: str, trials: int) -> tuple[int | None, float | None, dict[int, tuple[float | None, float | None]]]:
    """Return the advised size with the share it settles, and by size the detectable difference with its share."""
    regime = REGIMES[name]
    rng = np.random.default_rng(sum(map(ord, name)))
    seen = regime.draw(rng, regime.gap, (200_000, 1)).ravel()
    level = ALPHA / regime.pairs
    n = items_to_show(differences_of(seen, regime.largest), regime.gap, alpha=level, most=MOST)
    settled = None if n is None else found(regime, regime.gap, n, trials, 1)
    alike = differences_of(regime.draw(rng, 0.0, (200_000, 1)).ravel(), regime.largest)
    by_size = {}
    for size in SIZES:
        known = replace(alike, n=size)
        least = detectable_difference(known, alpha=level)
        by_size[size] = (least, None if least is None else found(regime, least, size, trials, size))
    return n, settled, by_size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=2000)
    trials = parser.parse_args().trials
    print("| differences | settled by | found in | " + " | ".join(f"n = {n}" for n in SIZES) + " |")
    print("|---" * (3 + len(SIZES)) + "|")
    for name in REGIMES:
        n, share, by_size = measure(name, trials)
        cells = ["-" if gap is None else f"{gap:.2f}: {100 * (hit or 0):.0f} %" for gap, hit in by_size.values()]
        print(f"| {name} | {n} | {100 * (share or 0):.0f} % | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
