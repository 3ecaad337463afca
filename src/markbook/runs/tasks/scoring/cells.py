"""Cells of one metric, 8 bytes each where they are bare numbers."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping

from markbook.results.sheet import Cell


class Marks(Mapping[str, Cell]):
    """Cells by sample id, most of which are a bare number."""

    def __init__(self, places: dict[str, int]) -> None:
        """Take where each sample's cell is; the mapping is shared by the columns of a task."""
        self._places = places
        self._values = array("d")
        self._others: dict[int, Cell] = {}

    def add(self, cell: Cell) -> None:
        """Take the next sample's cell."""
        if cell.value is None or cell != Cell(cell.value):
            self._others[len(self._values)] = cell
        self._values.append(0.0 if cell.value is None else cell.value)

    def __getitem__(self, sample: str) -> Cell:
        """Return a sample's cell."""
        index = self._places[sample]
        return self._others.get(index) or Cell(self._values[index])

    def __iter__(self) -> Iterator[str]:
        """Yield the samples in order."""
        return iter(self._places)

    def __len__(self) -> int:
        """Return how many samples there are."""
        return len(self._values)
