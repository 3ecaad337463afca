"""How often looking after every sample errs, and what it saves: python -m bench.sequential [RUNS].

Differences are +1, 0 or -1 (all-or-nothing marks on common samples); 30 % of the samples differ. `signs` is what
`--stop-when decided` does, `bets` is `stats.anytime_difference`; beside them stands the naive z test, looked at as often from
the 10th sample on. `saved` is against the fixed size of 80 % power, at which an
undecided run ends; `shown` is how many runs found the difference by then.
"""

from __future__ import annotations

import math
import sys

import numpy as np

from markbook.stats.sequential import SHARES, SequentialSigns

DIFFERING = 0.3
NULL_SAMPLES = 1000
SIGN_SAMPLES = 300


def run(gap: float, n: int, runs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return when each run was decided by the bets and by the naive test; n + 1 for never."""
    rng = np.random.default_rng(seed)
    shares = (np.arange(SHARES) + 0.5) / SHARES
    logs = np.zeros((2, runs, SHARES))
    rise = np.stack([np.log1p(-shares), np.zeros(SHARES), np.log1p(shares)])
    limit = math.log(40)
    bets, naive = np.full(runs, n + 1), np.full(runs, n + 1)
    total, squares = np.zeros(runs), np.zeros(runs)
    for at in range(1, n + 1):
        u = rng.random(runs)
        move = np.where(u < (DIFFERING + gap) / 2, 1, np.where(u < DIFFERING, -1, 0))
        logs[0] += rise[move + 1]
        logs[1] += rise[1 - move]
        top = logs.max(axis=2)
        capital = top + np.log(np.exp(logs - top[:, :, None]).mean(axis=2))
        bets = np.where((bets > n) & (capital.max(axis=0) >= limit), at, bets)
        total, squares = total + move, squares + move * move
        if at >= 10:
            sd = np.sqrt(np.maximum(squares - total**2 / at, 1e-12) / (at - 1))
            naive = np.where((naive > n) & (np.abs(total) / np.sqrt(at) > 1.96 * sd) & (squares > 0), at, naive)
    return bets, naive


def signs(gap: float, n: int, runs: int, seed: int) -> np.ndarray:
    """Return when each run was decided by its signs; n + 1 for never."""
    rng = np.random.default_rng(seed)
    found = np.full(runs, n + 1)
    for at in range(runs):
        u = rng.random(n)
        test = SequentialSigns(n)
        for move in np.where(u < (DIFFERING + gap) / 2, 1.0, np.where(u < DIFFERING, -1.0, 0.0)):
            if test.add(float(move)):
                found[at] = test.seen
                break
    return found


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    bets, naive = run(0.0, NULL_SAMPLES, runs, 0)
    known = signs(0.0, SIGN_SAMPLES, runs, 2)
    wrong = (bets <= NULL_SAMPLES).mean(), (naive <= NULL_SAMPLES).mean()
    print(
        f"no difference, {runs} runs: wrong by signs {(known <= SIGN_SAMPLES).mean():.2%} ({SIGN_SAMPLES} samples), "
        f"by bets {wrong[0]:.2%}, by the naive test {wrong[1]:.2%} ({NULL_SAMPLES} samples)"
    )
    for gap in (0.1, 0.05):
        n = math.ceil((1.959964 + 0.841621) ** 2 * (DIFFERING - gap**2) / gap**2)
        bets, _ = run(gap, n, min(runs, 2_000), 1)
        used = np.minimum(bets, n).mean()
        known = signs(gap, n, min(runs, 500), 3)
        by_signs = 1 - np.minimum(known, n).mean() / n, (known <= n).mean()
        print(
            f"gap {gap:.0%}, fixed size {n}: signs saved {by_signs[0]:.0%}, shown {by_signs[1]:.0%}; "
            f"bets saved {1 - used / n:.0%}, shown {(bets <= n).mean():.0%}"
        )


if __name__ == "__main__":
    main()
