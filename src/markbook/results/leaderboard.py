"""Many models on one benchmark: their standings, and which of them cannot be told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markbook.results.pairs import compare_pairs
from markbook.results.sheet import Sheet
from markbook.results.standing import Standing, in_groups, standings
from markbook.stats.difference import equal_differences_p, holm

PAIRED_UP_TO = 20
"""Up to this many models every pair is compared as `compare` does it, and where samples belong together; beyond, by the
paired t test, all at once."""


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """The standings with their letters, best first."""

    standings: tuple[Standing, ...]
    method: str
    """How the pairs were told apart."""

    def groups(self) -> list[list[str]]:
        """Return the sets of models that cannot be told apart, best first; a model may be in several."""
        models_by_letter: dict[str, list[str]] = {}
        for standing in self.standings:
            for letter in standing.group:
                models_by_letter.setdefault(letter, []).append(standing.model)
        return [
            models_by_letter[letter] for letter in sorted(models_by_letter, key=lambda letter_: (len(letter_), letter_))
        ]


def leaderboard(sheet: Sheet, *, alpha: float = 0.05, seed: int = 0) -> Leaderboard:
    """Return the leaderboard of a sheet; two models without a letter in common differ at `alpha` over all pairs (Holm).

    Raises:
        DataError: no two models share a sample with a value.
    """
    order = standings(sheet, alpha=alpha, seed=seed)
    names = [standing.model for standing in order]
    is_clustered = sheet.clusters_of(sheet.samples) is not None
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
    n = has_value.T @ has_value
    total = values.T @ has_value - has_value.T @ values
    squares = (values**2).T @ has_value + has_value.T @ (values**2) - 2 * values.T @ values
    rows, columns = np.triu_indices(len(names), 1)
    n, total, squares = n[rows, columns], total[rows, columns], squares[rows, columns]
    with np.errstate(divide="ignore", invalid="ignore"):
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
