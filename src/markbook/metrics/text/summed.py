"""Metrics whose number over many texts comes of counts added up over them: no mean of the texts' own numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from markbook.metrics.pairs import Score, drop_missing_references, measure_each
from markbook.types import Direction, Item, Measurement, Metric, Missing

SUMS = "sums"
"""Where a measurement keeps its counts."""


@dataclass(frozen=True, slots=True)
class Summed(Metric):
    """A number made of counts; each text's own number is the mean's part where `averages` says so."""

    name: str
    signature: str
    count: Callable[[str, tuple[str, ...]], list[float] | Missing]
    """From a candidate and its references to counts, or to the reason why there are none."""
    value: Callable[[Sequence[float]], float]
    """From counts to the number."""
    averages: bool = True
    """Whether the number over many texts is their mean; else it is made of their added counts."""
    version: int = 1
    range: tuple[float, float] = (0.0, 1.0)
    direction: Direction = "higher"

    def measure(self, items: Sequence[Item]) -> list[Measurement]:
        """Return one measurement an item, in order."""
        return measure_each(self.name, self.signature, items, self._score)

    def _score(self, item: Item) -> Score:
        sums = self.count(item.attempt.text, drop_missing_references(item.sample.references))
        if isinstance(sums, Missing):
            return sums, {}
        return self.value(sums), {SUMS: sums}

    def summarise(self, measurements: Sequence[Measurement]) -> float | None:
        """Return the number over the texts, None if there is nothing."""
        rows = _rows(measurements)
        return self._of(rows, range(len(rows))) if len(rows) else None

    def resample(self, measurements: Sequence[Measurement], draws: Iterable[Iterable[int]]) -> list[float]:
        """Return the summary of each resampling; the measurements are read once."""
        rows = _rows(measurements)
        return [self._of(rows, draw) for draw in draws] if len(rows) else []

    def _of(self, rows: npt.NDArray[np.float64], draw: Iterable[int]) -> float:
        drawn = rows[np.asarray(list(draw))]
        if self.averages:
            return math.fsum(map(self.value, drawn.tolist())) / len(drawn)
        return self.value(drawn.sum(axis=0).tolist())


def _rows(measurements: Iterable[Measurement]) -> npt.NDArray[np.float64]:
    return np.array(
        [cast("list[float]", measurement.stats[SUMS]) for measurement in measurements if SUMS in measurement.stats]
    )
