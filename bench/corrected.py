"""How often the interval of a corrected mean holds the true one, and how wide it is, by simulation.

python -m bench.corrected [--trials 2000] [--only "as `label"]

Regimes: n labels among N items, what people and judge say drawn together. Each line of the table of docs/judge.md: coverage
of 95 %, beside how many of the intervals a warning stands, how often there is none, the mean width over that of the labels
alone, and the judge's correlation with the labels. With 2,000 trials the standard error of a coverage is .5 points.
"""

from __future__ import annotations

import argparse

import numpy as np

from markbook.judge import labels as sampling
from markbook.judge.labels import LabelItem
from markbook.stats import corrected_mean, t_interval

REGIMES = {
    "strong judge": {"n": 100, "N": 2000, "r": 0.9},
    "good judge": {"n": 100, "N": 2000, "r": 0.8},
    "middling judge": {"n": 100, "N": 2000, "r": 0.5},
    "useless judge": {"n": 100, "N": 2000, "r": 0.0},
    "biased judge": {"n": 100, "N": 2000, "r": 0.85, "bias": 0.3},
    "contrary judge": {"n": 100, "N": 2000, "r": -0.5},
    "few labels": {"n": 40, "N": 2000, "r": 0.85},
    "many labels": {"n": 500, "N": 2000, "r": 0.85},
    "shares": {"n": 120, "N": 3000, "r": 0.85, "kind": "share"},
    "clusters of five": {"n": 200, "N": 3000, "r": 0.8, "kind": "cluster"},
    "three strata": {"n": 150, "N": 3000, "r": 0.85, "kind": "strata"},
    "unequal probabilities": {"n": 150, "N": 3000, "r": 0.85, "kind": "probability"},
    "most items labelled": {"n": 160, "N": 200, "r": 0.9, "kind": "nearly equal"},
    "probability by square of score": {"n": 200, "N": 2000, "r": 0.0, "kind": "square"},
    "drawn as `label` draws": {"n": 150, "N": 3000, "r": 0.0, "kind": "label"},
    "drawn as `label` draws, 60 of 300": {"n": 60, "N": 300, "r": 0.0, "kind": "label"},
    "drawn as `label` draws, 150 of 300": {"n": 150, "N": 300, "r": 0.0, "kind": "label"},
    "drawn as `label` draws, 250 of 300": {"n": 250, "N": 300, "r": 0.0, "kind": "label"},
    "drawn as `label` draws, clusters of five, 60 of 300": {"n": 60, "N": 300, "r": 0.0, "kind": "label clusters"},
    "drawn as `label` draws, clusters of five, 150 of 300": {"n": 150, "N": 300, "r": 0.0, "kind": "label clusters"},
    "drawn as `label` draws, clusters of five, 250 of 300": {"n": 250, "N": 300, "r": 0.0, "kind": "label clusters"},
    "drawn as `label` draws, three strata, 60 of 300": {"n": 60, "N": 300, "r": 0.0, "kind": "label strata"},
    "drawn as `label` draws, three strata, 150 of 300": {"n": 150, "N": 300, "r": 0.0, "kind": "label strata"},
    "drawn as `label` draws, three strata, 250 of 300": {"n": 250, "N": 300, "r": 0.0, "kind": "label strata"},
    "drawn as `label --pair` draws, 60 of 300": {"n": 60, "N": 300, "r": 0.0, "kind": "label duels"},
    "drawn as `label --pair` draws, 150 of 300": {"n": 150, "N": 300, "r": 0.0, "kind": "label duels"},
    "drawn as `label --pair` draws, 250 of 300": {"n": 250, "N": 300, "r": 0.0, "kind": "label duels"},
    "two systems marked one by one, 300 of 600": {"n": 300, "N": 600, "r": 0.0, "kind": "label difference"},
    "drawn as `label` draws, 40 % empty, 60 of 180": {"n": 60, "N": 300, "r": 0.0, "kind": "label empty"},
    "probabilities 1 to 3, 20 labels": {"n": 20, "N": 1000, "r": 0.8, "kind": "one to three"},
    "probabilities 1 to 3, 100 labels": {"n": 100, "N": 1000, "r": 0.8, "kind": "one to three"},
    "judge misses half of the bad answers, 10 labels": {"n": 10, "N": 100, "r": 0.0, "kind": "half"},
    "judge misses half of the bad answers, 20 labels": {"n": 20, "N": 100, "r": 0.0, "kind": "half"},
    "judge misses half of the bad answers, 50 labels": {"n": 50, "N": 100, "r": 0.0, "kind": "half"},
}
MEANS = {
    "share": 0.7,
    "half": 0.7,
    "label": 4 / 11,
    "label clusters": 4 / 11,
    "label strata": 5 / 11,
    "label duels": 4 / 11,
    "label difference": 4 / 11 - 0.5,
    "label empty": 0.6 * 4 / 11,
    "square": 0.35,
}
"""0 for all other kinds."""


def draw(rng, n, N, r, bias=0.0, kind=""):  # noqa: N803 - the method's own letters
    """Return scores, labels, and what else `corrected_mean` takes; the true means are in `MEANS`."""
    if kind.startswith("label"):
        return drawn_by_label(rng, n, N, kind)
    if kind == "square":
        return drawn_by_square(rng, n, N)
    if kind == "half":
        # right of all good answers, and of every other bad one
        truth = (rng.random(N) < 0.7).astype(float)
        known = np.isin(np.arange(N), rng.choice(N, n, replace=False))
        return np.where((truth == 0) & (rng.random(N) < 0.5), 1.0, truth), truth, known, {}
    size = N // 5 if kind == "cluster" else N
    truth = rng.normal(size=N)
    groups = np.arange(N) // 5
    if kind == "cluster":
        truth = (rng.normal(size=size)[groups] + truth) / np.sqrt(2)
    score = r * truth + np.sqrt(1 - r * r) * rng.normal(size=N) + bias
    options, known = {}, np.zeros(N, dtype=bool)
    if kind == "share":
        truth, score = (truth < 0.5244005127).astype(float), -score
        score = 1 / (1 + np.exp(-2.5 * (score + 0.52)))
    if kind == "cluster":
        known[np.isin(groups, rng.choice(size, n // 5, replace=False))] = True
        options["clusters"] = groups.tolist()
    elif kind == "strata":
        parts = rng.integers(0, 3, N)
        shift = np.array([-0.5, 0.0, 0.5])[parts]
        truth, score = truth + shift, score + shift * (1 + parts)
        for part in range(3):
            known[rng.choice(np.flatnonzero(parts == part), n // 3, replace=False)] = True
        options["strata"] = parts.tolist()
    elif kind == "nearly equal":
        chance = n / N + rng.choice([-0.03, 0.03], N)
        known = rng.random(N) < chance
        options["probabilities"] = chance.tolist()
    elif kind == "one to three":
        chance = n / N * rng.choice([0.5, 1.5], N)
        known = rng.random(N) < chance
        options["probabilities"] = chance.tolist()
    elif kind == "probability":
        wanted = 0.4 + np.abs(score)
        chance = np.minimum(1, n * wanted / wanted.sum())
        known = rng.random(N) < chance
        options["probabilities"] = chance.tolist()
    else:
        known[rng.choice(N, n, replace=False)] = True
    return score, truth, known, options


def drawn_by_label(rng, n, N, kind):  # noqa: N803 - as above
    """Return chances that say too much of what is so, labelled as `markbook label` draws: by the judge's own doubt."""
    score = rng.beta(0.6, 0.6, N)
    options = {}
    if kind == "label clusters":
        score = np.repeat(score[: N // 5], 5)
        options["clusters"] = (np.arange(N) // 5).tolist()
    chance = score**2
    if kind == "label strata":
        parts = rng.integers(0, 3, N)
        chance = np.choose(parts, [score**2, score, 1 - score])
        options["strata"] = parts.tolist()
    if kind == "label difference":
        chance = np.where(np.arange(N) < N // 2, score**2, score)
    truth = (rng.random(N) < chance).astype(float)
    empty = rng.random(N) < 0.4 if kind == "label empty" else np.zeros(N, dtype=bool)
    items = [LabelItem(str(at), score=one) for at, one in enumerate(score.tolist()) if not empty[at]]
    drawn = sampling.draw(items, n, seed=int(rng.integers(1 << 60)))
    chances = {int(one.item.id): one.probability for one in drawn}
    known = np.isin(np.arange(N), list(chances))
    likely = np.array([chances.get(at, 1.0) for at in range(N)])
    if kind == "label empty":
        score, truth, options["settled"] = np.where(empty, 0.0, score), np.where(empty, 0.0, truth), empty.tolist()
    if kind == "label duels":
        score = (score > 0.5).astype(float)
    if kind == "label difference":
        half = N // 2
        score, truth = score[:half] - score[half:], truth[:half] - truth[half:]
        known, likely = known[:half] & known[half:], likely[:half] * likely[half:]
    return score, truth, known, {**options, "probabilities": np.where(known, likely, 1.0).tolist()}


def drawn_by_square(rng, n, N):  # noqa: N803 - as above
    """Return scores that are too high everywhere, labelled by chances of one's own: the good answers far more often."""
    score = rng.random(N)
    truth = score - 0.15 + rng.normal(0, 0.1, N)
    chance = np.clip(n * score**2 / (score**2).sum(), 1e-4, 1)
    return score, truth, rng.random(N) < chance, {"probabilities": chance.tolist()}


def measure(name, trials):
    """Return coverage, the shares of warned and of refused, relative width and correlation of a regime."""
    regime = REGIMES[name]
    rng = np.random.default_rng(sum(map(ord, name)))
    mean = MEANS.get(regime.get("kind"), 0.0)
    hits, warned, refused, widths, alone, rs = 0, 0, 0, [], [], []
    for _ in range(trials):
        score, truth, known, options = draw(rng, **regime)
        labels = [float(value) if here else None for value, here in zip(truth, known, strict=True)]
        found = corrected_mean(score, labels, **options)
        if found.low is None:
            refused += 1  # too few labels by their weights: no interval, so none to hold the mean
            continue
        hits += found.low <= mean <= found.high
        warned += bool(found.note)
        widths.append(found.high - found.low)
        if "clusters" in options or "probabilities" in options or "strata" in options:
            # The labels alone by the same design: a judge that says nothing.
            plain = corrected_mean(np.zeros(score.size), labels, **options)
        else:
            plain = t_interval(truth[known].tolist())
        if plain.high is None or "correlation" not in found.stats:
            widths.pop()
            continue
        alone.append(plain.high - plain.low)
        rs.append(found.stats["correlation"])
    counted = trials - refused
    return (
        hits / counted,
        warned / counted,
        refused / trials,
        float(np.mean(widths) / np.mean(alone)),
        float(np.mean(rs)),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--only", default="", help="regimes whose name holds this")
    asked = parser.parse_args()
    trials = asked.trials
    print("| regime | labelled items | coverage | with a warning | no interval | width | correlation |")
    print("|---|---|---|---|---|---|---|")
    for name, regime in REGIMES.items():
        if asked.only not in name:
            continue
        covered, warned, refused, width, r = measure(name, trials)
        shares = " | ".join(f"{100 * share:.1f} %" for share in (covered, warned, refused))
        print(f"| {name} | {regime['n']} of {regime['N']} | {shares} | {width:.2f} | {r:.2f} |", flush=True)


if __name__ == "__main__":
    main()
