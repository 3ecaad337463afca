"""How many n-grams of one sequence of numbers occur in others: clipped counts, as BLEU needs them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_SHORT = 120
"""Below this many tokens a dict counts faster than numpy sorts."""


class Segment:
    """A text's tokens as numbers, and its n-gram counts once they were asked for."""

    __slots__ = ("_array", "_counters", "tokens")

    def __init__(self, tokens: list[int]) -> None:
        self.tokens = tokens
        self._array: npt.NDArray[np.int64] | None = None
        self._counters: list[Counter[tuple[int, ...]]] | None = None

    @property
    def array(self) -> npt.NDArray[np.int64]:
        """The tokens as an array."""
        if self._array is None:
            self._array = np.array(self.tokens, dtype=np.int64)
        return self._array

    def counters(self, order: int) -> list[Counter[tuple[int, ...]]]:
        """Return the counts of n-grams for n = 1..order."""
        if self._counters is None:
            shifted = [self.tokens[n:] for n in range(order)]
            self._counters = [Counter(zip(*shifted[:n], strict=False)) for n in range(1, order + 1)]
        return self._counters


def compare(
    candidate: Segment, references: Sequence[Segment], order: int
) -> tuple[list[int], list[int], int, list[int]]:
    """Return matches and totals for n = 1..order, the candidate's length and the references' lengths.

    An n-gram of the candidate matches as often as it occurs in the reference that has most of it.
    """
    length = len(candidate.tokens)
    totals = [max(length - n, 0) for n in range(order)]
    sizes = [len(reference.tokens) for reference in references]
    if max(length, *sizes) < _SHORT:
        matches = _by_dict(candidate, references, order)
    else:
        matches = _by_sorting(candidate, references, order)
    return matches, totals, length, sizes


def _by_dict(candidate: Segment, references: Sequence[Segment], order: int) -> list[int]:
    theirs = [reference.counters(order) for reference in references]
    matches = []
    for n, ours in enumerate(candidate.counters(order)):
        if len(theirs) == 1:
            other = theirs[0][n]
            found = sum([min(count, other[gram]) for gram, count in ours.items() if gram in other])
        else:
            found = sum(min(count, max(counts[n][gram] for counts in theirs)) for gram, count in ours.items())
        matches.append(found)
    return matches


def _by_sorting(candidate: Segment, references: Sequence[Segment], order: int) -> list[int]:
    """Number the n-grams of all texts together, order by order.

    An n-gram can only match if its first n - 1 tokens did, so the others are dropped before the next sort.
    """
    segments = [candidate, *references]
    bounds = np.cumsum([0, *(len(segment.tokens) for segment in segments)])
    tokens = np.concatenate([segment.array for segment in segments])
    owner = np.repeat(np.arange(len(segments)), np.diff(bounds))
    ends = bounds[1:][owner]
    places = np.arange(len(tokens))
    keys = tokens
    width = int(tokens.max()) + 1 if len(tokens) else 1
    matches = []
    for n in range(1, order + 1):
        if n > 1:
            inside = places + (n - 1) < ends[places]
            places, keys = places[inside], keys[inside]
            keys = keys * width + tokens[places + (n - 1)]
        distinct, numbers = np.unique(keys, return_inverse=True)
        per_text = [np.bincount(numbers[owner[places] == i], minlength=len(distinct)) for i in range(len(segments))]
        clipped = np.minimum(per_text[0], np.maximum.reduce(per_text[1:]))
        matches.append(int(clipped.sum()))
        kept = (clipped > 0)[numbers]
        places, keys = places[kept], numbers[kept]
    return matches
