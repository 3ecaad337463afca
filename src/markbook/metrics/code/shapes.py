"""Numbers for the shapes of syntax trees: two sub-trees have one number exactly if they have one shape.

A shape is what tree-sitter writes as an S-expression: a node's kind, and the fields and shapes of its named children;
names, numbers and operators do not matter. Numbering them from the leaves up (hash-consing) compares two sub-trees in
one step, where the published package compares their texts.
"""

from __future__ import annotations

import itertools

MAX_DEPTH = 400
"""Deeper trees are not compared: no program that a person wrote is, and Python's own stack ends at 1,000."""
MAX_NODES = 200_000
MAX_SHAPES = 100_000
"""A table that has more is given up with all that was numbered by it, so that a long run needs no more memory."""

Key = tuple["str | int", ...]
"""A kind, then each named child's number, after the name of its field if it stands in one."""

_NUMBERS = itertools.count(1)
"""Never the same number twice in a process, so that numbers of two tables are never taken for one another."""


class Shapes(dict[Key, int]):
    """A table from keys to numbers that grows as it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self._depths: dict[int, int] = {}

    def __missing__(self, key: Key) -> int:
        number, depths, deepest = next(_NUMBERS), self._depths, 0
        for child in key:
            if child.__class__ is int and depths[child] > deepest:
                deepest = depths[child]
        depths[number] = deepest + 1
        return self.setdefault(key, number)  # another thread may have been first; then all take its number

    def depth(self, number: int) -> int:
        """Return the number of nodes on the longest way down, literal tokens of the grammar not counted."""
        return self._depths[number]

    @property
    def is_full(self) -> bool:
        """Whether it has grown beyond what is worth keeping."""
        return len(self) > MAX_SHAPES
