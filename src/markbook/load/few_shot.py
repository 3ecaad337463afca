"""Worked examples before a question: which rows they come from, and which of those are taken.

lm-evaluation-harness draws them with one stream of random numbers a task, row after row; this does the same, so that the
prompts are the same.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from markbook.config import FewShot
from markbook.errors import DataError
from markbook.load.rows import Row

SEED = 1234
"""lm-evaluation-harness's own for worked examples."""


class Examples:
    """Takes the examples of one row after the other; the order of the calls matters where they are drawn."""

    def __init__(self, few: FewShot, pool: Sequence[Row]) -> None:
        """Take the settings and the rows to choose from.

        Raises:
            DataError: there are too few.
        """
        self._few = few
        self._pool = list(pool)
        self._random = random.Random(SEED)  # noqa: S311 - the harness's numbers, not a secret
        is_of_own = few.excludes_self and not (few.paths and few.sampler == "first_n")
        needed = few.count + is_of_own  # a row that is asked about is no example of itself
        if few.count and len(self._pool) < needed:
            raise DataError(
                f"{len(self._pool)} rows to take {few.count} worked examples from, and {needed} are needed", at=few.at
            )

    def of(self, row: Row) -> list[Row]:
        """Return the examples for a row.

        Raises:
            DataError: too few rows differ from it.
        """
        few = self._few
        if not few.count:
            return []
        if few.sampler == "first_n":
            examples = self._first(row)
        elif not few.excludes_self:
            return self._random.sample(self._pool, few.count)
        else:
            examples = [example for example in self._random.sample(self._pool, few.count + 1) if example != row][
                : few.count
            ]
            if len(examples) < few.count:  # rows equal to this one were drawn, more than once
                others = [example for example in self._pool if example != row]
                examples = self._random.sample(others, few.count) if len(others) >= few.count else others
        if len(examples) < few.count:
            raise DataError(f"fewer than {few.count} rows differ from one that needs worked examples", at=few.at)
        return examples

    def _first(self, row: Row) -> list[Row]:
        rows: list[Row] = []
        for candidate in self._candidates(row):
            rows.append(candidate)
            if len(rows) == self._few.count:
                break
        return rows

    def _candidates(self, row: Row) -> Iterator[Row]:
        return (candidate for candidate in self._pool if not self._few.excludes_self or candidate != row)
