"""Rankings of several models: Bradley-Terry from wins, and how a composite's ranking hangs on its weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from markbook.measurements import CONFIDENCE
from markbook.stats.arrays import check_confidence, normal_quantile
from markbook.stats.records import Ranking, WeightSensitivity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from markbook.stats.arrays import Floats

_STEPS = 200
NEAR = 50.0
"""Concentration of the Dirichlet around the stated weights: a weight of 1/6 then moves by about +- 0.05."""


def bradley_terry(
    wins: Sequence[Sequence[float]],
    *,
    prior: float = 0.0,
    confidence: float = CONFIDENCE,
    draws: int = 10_000,
    seed: int = 0,
) -> Ranking:
    """Return each model's strength: P(i beats j) = 1/(1 + exp(s_j - s_i)), by maximum likelihood.

    Strengths are log-odds, centred on 0; errors come from the inverse Fisher information under that centring.
    Where some models never lose to others (or never meet them) the maximum is infinite: then every value is None
    and `note` says so. A `prior` keeps it finite, and is named in the method.

    Args:
        wins: wins[i][j] is how often i beat j; count a tie as half a win to each.
        prior: wins added to every ordered pair, such as 0.5.
        confidence: between 0 and 1.
        draws: for the rank probabilities.
        seed: of those draws.
    """
    import numpy as np

    table = np.array(wins, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or table.shape[0] < 2:
        raise ValueError("wins must be a square table of two models or more")
    if not np.isfinite(table).all() or (table < 0).any():
        raise ValueError("wins must be finite and not negative")
    np.fill_diagonal(table, 0.0)
    check_confidence(confidence)
    if prior < 0:
        raise ValueError(f"the prior cannot be negative, got {prior}")
    size = table.shape[0]
    method = "bradley-terry" + (f"+prior {prior:g}" if prior else "")
    if prior:
        table = table + prior * (1 - np.eye(size))
    nothing: tuple[float | None, ...] = (None,) * size
    # Unless every model can be reached from every other along wins the likelihood has no maximum (Ford 1957).
    reached = (table > 0) | np.eye(size, dtype=bool)
    for middle in range(size):
        reached |= reached[:, [middle]] & reached[[middle], :]
    if not reached.all():
        note = "unbounded: some models are never beaten by others; a prior would keep the strengths finite"
        return Ranking(nothing, nothing, nothing, nothing, (), (), method, confidence, note)
    strength, covariance = _maximise(table)
    errors = np.sqrt(np.diag(covariance))
    reach = normal_quantile(confidence) * errors
    # Drawn by eigenvectors: centred strengths have a covariance of rank size - 1, which a Cholesky factor does not take.
    drawn = np.random.default_rng(seed).multivariate_normal(strength, covariance, draws, method="eigh")
    strengths, ses, low, high = (
        tuple(map(float, column)) for column in (strength, errors, strength - reach, strength + reach)
    )
    rows = tuple(tuple(map(float, row)) for row in covariance)
    return Ranking(strengths, ses, low, high, rows, _rank_shares(drawn), method, confidence)


def _maximise(table: Floats) -> tuple[Floats, Floats]:
    """Return centred strengths and their covariance by Newton's method; the likelihood is concave."""
    import numpy as np

    games = table + table.T
    strength: Floats = np.zeros(table.shape[0])
    shift = np.full_like(games, 1 / table.shape[0])
    covariance = np.zeros_like(table)
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(strength[None, :] - strength[:, None]))
        slope = (table - games * chance).sum(axis=1)
        weight = games * chance * chance.T  # not 1 - chance, which is rounded otherwise: this must be symmetric
        information = np.diag(weight.sum(axis=1)) - weight
        # The pseudo-inverse, which centres. The shift of all together, of which games say nothing, is filled in and taken
        # out again by name: a general pseudo-inverse takes it for information where rounding leaves a trace of it.
        covariance[:] = np.linalg.inv(information + shift) - shift
        step = covariance @ slope
        longest = float(np.abs(step).max())
        strength = strength + step / max(1.0, longest)  # damped: a full step may overshoot far from the maximum
        if longest < 1e-10:
            break
    return strength - strength.mean(), covariance


def _rank_shares(scores: Floats) -> tuple[tuple[float, ...], ...]:
    """Return [model][rank] shares of a draws x models table, highest score rank 0, ties by position."""
    import numpy as np

    draws, size = scores.shape
    order: NDArray[np.int64] = np.argsort(-scores, axis=1, kind="stable")
    shares = np.stack([np.bincount(order[:, rank], minlength=size) for rank in range(size)], axis=1) / draws
    return tuple(tuple(map(float, row)) for row in shares)


def weight_sensitivity(
    scores: Sequence[Sequence[float]], weights: Sequence[float], draws: int = 20_000, seed: int = 0
) -> WeightSensitivity:
    """Return how likely each model takes each rank when the weights of a composite are uncertain.

    Args:
        scores: scores[model][metric], higher better, no missing values.
        weights: the stated weights, not negative, normalised here.
        draws: how many weight vectors are drawn.
        seed: of the draws.
    """
    import numpy as np

    table = np.array(scores, dtype=np.float64)
    stated = np.array(weights, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != stated.size or table.size == 0:
        raise ValueError("scores must be models x metrics, with one weight a metric")
    if not np.isfinite(table).all():
        raise ValueError("scores must be finite; leave out what is missing")
    if not np.isfinite(stated).all() or (stated < 0).any() or stated.sum() <= 0:
        raise ValueError("weights must be finite, not negative, and not all zero")
    share = stated / stated.sum()
    composite = table @ share
    ranks = np.argsort(np.argsort(-composite, kind="stable"), kind="stable")
    rng = np.random.default_rng(seed)
    any_weights = rng.dirichlet(np.ones(share.size), draws) @ table.T
    near_weights = rng.dirichlet(np.maximum(NEAR * share, 1e-6), draws) @ table.T
    first, second = np.triu_indices(composite.size, 1)  # the pairs of models, of which Kendall's tau-a is the mean
    stated_order = np.sign(composite[first] - composite[second])
    drawn_order = np.sign(any_weights[:, first] - any_weights[:, second])
    tau = float((drawn_order * stated_order).mean()) if first.size else None
    values, places = tuple(map(float, composite)), tuple(map(int, ranks))
    return WeightSensitivity(values, places, _rank_shares(any_weights), _rank_shares(near_weights), tau, draws, seed)
