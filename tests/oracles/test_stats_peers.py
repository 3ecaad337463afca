"""The same numbers as other packages give, where they are installed: statsmodels, truescore, confseq."""

from __future__ import annotations

import csv
import random

import numpy as np
import pytest

from markbook import compare
from markbook.stats.sequential import SHARES, anytime_difference

ITEMS, MODELS = 60, 7
"""Seven models are 21 pairs."""


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Half of the items have partial scores; every third one shares a passage with its neighbours."""
    rng = random.Random(5)
    path = tmp_path_factory.mktemp("peers") / "all.csv"
    scores = {}
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["item", "model", "score", "passage"])
        for item in range(ITEMS):
            ease = rng.random()
            for model in range(MODELS):
                score = float(rng.random() < ease * (0.6 + 0.05 * model)) if item % 2 else round(rng.random() * ease, 3)
                scores[f"m{model}", item] = score
                rows.writerow([item, f"m{model}", score, f"p{item // 3}"])
    return path, scores


def gaps(scores, pair):
    return np.array([scores[pair.first, item] - scores[pair.second, item] for item in range(ITEMS)])


def test_paired_intervals_and_the_t_test_are_those_of_statsmodels(table):
    weights = pytest.importorskip("statsmodels.stats.weightstats")
    path, scores = table
    pairs = compare(path).pairs
    assert len(pairs) == 21
    for pair in pairs:
        told = weights.DescrStatsW(gaps(scores, pair))
        assert (pair.difference.low, pair.difference.high) == pytest.approx(told.tconfint_mean(), abs=1e-9)
        assert (pair.difference.se, pair.difference.p) == pytest.approx(
            (told.std_mean, told.ttest_mean(0)[1]), abs=1e-9
        )


def test_clustered_intervals_and_p_are_those_of_statsmodels(table):
    sm = pytest.importorskip("statsmodels.api")
    path, scores = table
    from markbook import open_run
    from markbook.results.comparison import compare_sheet
    from markbook.results.kind import open_results

    columns = {"item": "item", "model": "model", "score": "score", "cluster": "passage"}
    found = compare_sheet(open_results(open_run(path, columns=columns)).sheet(None))
    groups = [item // 3 for item in range(ITEMS)]
    # Its factor is G/(G-1) * (n-1)/(n-k); with a mean alone (k = 1) that is CR1's, and CR2's for clusters of equal size.
    options = {"cov_type": "cluster", "cov_kwds": {"groups": groups}, "use_t": True}
    for pair in found.pairs:
        told = sm.OLS(gaps(scores, pair), np.ones(ITEMS)).fit(**options)
        assert (pair.difference.low, pair.difference.high) == pytest.approx(tuple(told.conf_int()[0]), abs=1e-9)
        assert (pair.p, pair.difference.se) == pytest.approx((told.pvalues[0], told.bse[0]), abs=1e-9)
        assert pair.p_method == "paired-cr2"


def test_exact_mcnemar_is_that_of_truescore_and_of_statsmodels():
    truescore = pytest.importorskip("truescore.compare")
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    from markbook.stats import mcnemar_exact

    rng = random.Random(6)
    for _ in range(20):
        a = [rng.random() < 0.7 for _ in range(40)]
        b = [rng.random() < 0.5 for _ in range(40)]
        only = (
            sum(x and not y for x, y in zip(a, b, strict=True)),
            sum(y and not x for x, y in zip(a, b, strict=True)),
        )
        ours = mcnemar_exact(*only).p
        assert ours == pytest.approx(tables.mcnemar([[0, only[0]], [only[1], 0]], exact=True).pvalue, abs=1e-9)
        assert ours == pytest.approx(truescore.mcnemar(a, b, midp=False).p_value, abs=1e-9)


def test_bets_are_those_of_confseq():
    try:
        betting = pytest.importorskip("confseq.betting")
    except AttributeError as error:  # its release of 2023 uses names that NumPy 2 has no more
        pytest.skip(f"confseq cannot be imported: {error}")
    rng = random.Random(7)
    for length in (5, 30, 80):
        differences = [rng.uniform(-1, 1) * (rng.random() < 0.5) + 0.1 for _ in range(length)]
        differences = [max(-1.0, min(1.0, gap)) for gap in differences]
        x = (np.array(differences) + 1) / 2
        ours = anytime_difference(differences)
        shares = [(at + 0.5) / SHARES for at in range(SHARES)]
        # Fixed shares of the capital: lambda = share / m on a higher mean, share / (1 - m) on a lower one.
        options = {
            "lambdas_fns_positive": [lambda x, m, s=s: np.repeat(s / m, len(x)) for s in shares],
            "lambdas_fns_negative": [lambda x, m, s=s: np.repeat(s / (1 - m), len(x)) for s in shares],
            "trunc_scale": 1,
        }
        capital = betting.diversified_betting_mart(x, 0.5, convex_comb=True, **options)[-1]
        assert ours.stats["e_value"] == pytest.approx(capital, rel=1e-9)
        for end in (ours.low, ours.high):
            if abs(end) < 1:
                assert betting.diversified_betting_mart(x, (end + 1) / 2, **options)[-1] == pytest.approx(20, rel=1e-6)
