"""Marking many rows in one go: what metrics share that compute on arrays instead of row by row.

A metric supplies one function from a block of rows to their scores. This module cuts the batch into blocks, finds
each distinct text of a block once, and makes the measurements; a block that crashes is halved until the row that
does it is alone, so the border that turns a crash into a reason is still around a single row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from markbook.metrics.pairs import (
    NO_STATS,
    Score,
    drop_missing_references,
    is_plain,
    measurement,
    missing_error,
    problem,
)
from markbook.types import Item, Measurement, Missing

_CHARACTERS = 1 << 18
"""About how many characters of distinct text a block holds, so that its arrays stay in the processor's cache."""

Pair = tuple[str, tuple[str, ...]]
"""A candidate and at least one reference."""


@dataclass(frozen=True, slots=True)
class Block:
    """Rows that are scored together."""

    texts: list[str]
    """The distinct texts of all rows."""
    rows: list[tuple[int, tuple[int, ...]]]
    """Each row's candidate and references, as indices of `texts`."""


Columns = Sequence[Sequence[Score]]
"""For each metric its scores, one a row."""


def measure_blocks(
    metrics: Sequence[tuple[str, str]], items: Sequence[Item], score: Callable[[Block], Columns]
) -> list[list[Measurement]]:
    """Return each metric's measurements, one an item, in order.

    Args:
        metrics: each metric's name and signature.
        items: the rows.
        score: returns for each metric one score a row of a block.
    """
    pairs: list[Pair] = []
    problems: list[Missing | None] = []
    for item in items:
        text, references = item.attempt.text, item.sample.references
        if is_plain(text, references):
            problems.append(None)
            pairs.append((text, references))
        elif (why := problem(text, references)) is not None:
            problems.append(why)
        else:
            problems.append(None)
            pairs.append((text, drop_missing_references(references)))
    columns: list[list[Score]] = [[] for _ in metrics]
    for piece in _pieces(pairs):
        for column, scored in zip(columns, _score_blocks(len(metrics), piece, score), strict=True):
            column.extend(scored)
    return [
        _measurements(name, signature, items, problems, column)
        for (name, signature), column in zip(metrics, columns, strict=True)
    ]


def _pieces(pairs: list[Pair]) -> Iterator[list[Pair]]:
    start = size = 0
    texts_read: set[str] = set()
    for stop, (candidate, references) in enumerate(pairs):
        fresh = [text for text in (candidate, *references) if text not in texts_read]
        more = sum(map(len, fresh))
        if size and size + more > _CHARACTERS:
            yield pairs[start:stop]
            start, size = stop, 0
            texts_read.clear()
            more = len(candidate) + sum(map(len, references))
        size += more
        texts_read.update((candidate, *references))
    if start < len(pairs):
        yield pairs[start:]


def _score_blocks(n_metrics: int, pairs: list[Pair], score: Callable[[Block], Columns]) -> Columns:
    try:
        return score(_block(pairs))
    except Exception as error:  # noqa: BLE001 - the measurement border: a crash becomes a record, the run goes on
        if len(pairs) == 1:
            return [[(missing_error(error), NO_STATS)]] * n_metrics
    middle = len(pairs) // 2
    halves = [_score_blocks(n_metrics, half, score) for half in (pairs[:middle], pairs[middle:])]
    return [[*first, *second] for first, second in zip(*halves, strict=True)]


def _block(pairs: Sequence[Pair]) -> Block:
    numbers: dict[str, int] = {}
    number = numbers.setdefault
    rows = [
        (number(candidate, len(numbers)), tuple([number(reference, len(numbers)) for reference in references]))
        for candidate, references in pairs
    ]
    return Block(list(numbers), rows)


def _measurements(
    name: str, signature: str, items: Sequence[Item], problems: Sequence[Missing | None], scores: Sequence[Score]
) -> list[Measurement]:
    remaining = iter(scores)
    measurements = []
    for item, why in zip(items, problems, strict=True):
        value, stats = next(remaining) if why is None else (why, NO_STATS)
        measurements.append(measurement(name, signature, item, value, stats))
    return measurements
