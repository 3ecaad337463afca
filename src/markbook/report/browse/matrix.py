"""Items by models: who solved what, where models differ, and which items come out differently from time to time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from markbook.report.browse.index import Index
from markbook.results.kind import Entry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ORDERS = {"differ": "models differ most", "flaky": "answers flip most", "worst": "worst first", "item": "by name"}
"""In what order the items may stand, each in words."""
MODELS_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Square:
    """What one model made of one item."""

    first: Entry
    """The worst of its attempts: the one to look at."""
    mean: float | None
    count: int


@dataclass(frozen=True, slots=True)
class Matrix:
    """A part of the items by the models."""

    models: list[str]
    rows: list[tuple[str, list[Square | None]]]
    total: int
    n_models: int = 0
    """How many models there are; the first of them are shown."""


def matrix_of(index: Index, order: str, start: int, count: int) -> Matrix:
    """Return so many items from `start` on, in one of `ORDERS`."""
    import numpy as np

    table = index.table()
    models, samples = index.models[:MODELS_SHOWN], index.samples
    if not len(table):
        return Matrix(models, [], 0)
    cells = table[:, 2].astype(np.int64) * len(index.models) + table[:, 1].astype(np.int64)
    size = len(samples) * len(index.models)
    has_score = ~np.isnan(table[:, 4])  # a missing score is no 0: it neither flips nor differs
    cells, values = cells[has_score], table[has_score, 4]
    tries = np.bincount(cells, minlength=size).reshape(len(samples), -1)
    sums = np.bincount(cells, weights=values, minlength=size).reshape(len(samples), -1)
    squares = np.bincount(cells, weights=values**2, minlength=size).reshape(len(samples), -1)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums / tries
        spread = np.where(tries > 1, np.maximum(0.0, squares / tries - means**2), 0.0)
    sign = -1.0 if index.results.direction == "lower" else 1.0
    chosen = _order_items(order, sign * means, spread, samples)
    is_chosen = np.isin(table[:, 2], chosen[start : start + count])
    entries_by_square: dict[tuple[str, str], list[Entry]] = {}
    for row in np.flatnonzero(is_chosen):
        entry = index.get_entry(table, int(row))
        entries_by_square.setdefault((entry.sample, entry.model), []).append(entry)
    rows = [
        (samples[at], [_square(entries_by_square.get((samples[at], model)), sign) for model in models])
        for at in chosen[start : start + count]
    ]
    return Matrix(models, rows, len(chosen), len(index.models))


def _order_items(order: str, means: NDArray[np.float64], spread: NDArray[np.float64], samples: list[str]) -> list[int]:
    """Return the numbers of the items to show: of those that are asked to differ or to flip, those that do.

    Args:
        order: one of `ORDERS`.
        means: of each item and model, the higher the better; NaN where nothing is known.
        spread: of the scores of each item and model.
        samples: the items' names.
    """
    import numpy as np

    with np.errstate(all="ignore"):
        there = ~np.isnan(means)
        worth = np.where(there, means, 0.0).sum(axis=1) / there.sum(axis=1)  # NaN, and so last, without any score
        apart = np.where(np.isnan(means), -np.inf, means).max(axis=1) - np.where(np.isnan(means), np.inf, means).min(
            axis=1
        )
        flips = spread.max(axis=1)
    if order == "flaky":
        return [int(at) for at in np.argsort(-flips, kind="stable") if flips[at] > 0]
    if order == "worst":
        return [int(at) for at in np.argsort(worth, kind="stable")]
    if order == "item":
        from markbook.report.browse.index import natural

        return sorted(range(len(samples)), key=lambda at: natural(samples[at]))
    return [int(at) for at in np.argsort(-apart, kind="stable") if apart[at] > 0]


def _square(entries: list[Entry] | None, sign: float) -> Square | None:
    if not entries:
        return None
    scores = [entry.score for entry in entries if entry.score is not None]
    worst = min(entries, key=lambda entry: (entry.score is not None, sign * (entry.score or 0.0)))
    return Square(worst, sum(scores) / len(scores) if scores else None, len(entries))
