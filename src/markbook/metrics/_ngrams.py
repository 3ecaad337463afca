"""How many n-grams of one sequence of numbers occur in others: clipped counts, as BLEU needs them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import LCSseq

_SHORT = 150
"""Below this many tokens plain lists are faster than numpy."""
_LARGEST = 1 << 61
"""n-grams are integers below this: they fit into 64 bits with one to spare, and no two have the same hash."""


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
    if max(length, *sizes) < _SHORT or not length:
        matches = _by_bags(candidate, references, order)
    else:
        matches = _by_sorting(candidate, references, order)
    return matches, totals, length, sizes


def _by_bags(candidate: Segment, references: Sequence[Segment], order: int) -> list[int]:
    """Spell each n-gram as one integer; what two sorted sequences share in order, two bags have in common."""
    if len(references) > 1 or not candidate.tokens or not references[0].tokens:
        return _by_dict(candidate, references, order)
    ours, theirs = candidate.tokens, references[0].tokens
    width = max(*ours, *theirs) + 1
    if width**order >= _LARGEST:
        return _by_dict(candidate, references, order)
    left, right = ours, theirs
    matches = []
    for n in range(order):
        if n:
            left = [key * width + token for key, token in zip(left, ours[n:], strict=False)]
            right = [key * width + token for key, token in zip(right, theirs[n:], strict=False)]
        matches.append(LCSseq.similarity(sorted(left), sorted(right)))
    return matches


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
    """Spell each n-gram as one integer and sort the candidate's together with a reference's.

    The last bit says whose it is, so that equal n-grams of the two stand side by side. Tokens are renumbered
    first where four of them would not fit into 62 bits.
    """
    if not candidate.tokens:
        return [0] * order
    texts = [segment.array for segment in (candidate, *references) if segment.tokens]
    width = max(int(text.max()) for text in texts) + 1
    if width**order >= _LARGEST:
        texts = _renumbered(texts)
        width = max(int(text.max()) for text in texts) + 1
        if width**order >= _LARGEST:
            return _by_dict(candidate, references, order)
    keys = texts
    matches: list[int] = []
    for n in range(order):
        if n:
            # A text of n tokens has no n-gram of one more.
            keys = [key[:-1] * width + text[n:] for key, text in zip(keys, texts, strict=True) if len(text) > n]
            texts = [text for text in texts if len(text) > n]
        if len(candidate.tokens) <= n or len(texts) < 2:
            return matches + [0] * (order - n)
        matches.append(_clipped(keys[0], keys[1:]))
    return matches


def _renumbered(texts: Sequence[npt.NDArray[np.int64]]) -> list[npt.NDArray[np.int64]]:
    _, numbers = np.unique(np.concatenate(texts), return_inverse=True)
    ends = np.cumsum([len(text) for text in texts])[:-1]
    return np.split(numbers.astype(np.int64), ends)


def _clipped(ours: npt.NDArray[np.int64], theirs: Sequence[npt.NDArray[np.int64]]) -> int:
    """Count how many of our keys have a partner in the other array that has most of that key."""
    if len(theirs) == 1:
        return _shared(ours, theirs[0])
    distinct, counts = np.unique(ours, return_counts=True)
    most = np.zeros_like(counts)
    for other in theirs:
        keys, their_counts = np.unique(other, return_counts=True)
        places = np.minimum(np.searchsorted(keys, distinct), len(keys) - 1)
        most = np.maximum(most, np.where(keys[places] == distinct, their_counts[places], 0))
    return int(np.minimum(counts, most).sum())


def _shared(ours: npt.NDArray[np.int64], theirs: npt.NDArray[np.int64]) -> int:
    both = np.concatenate((ours * 2, theirs * 2 + 1))
    both.sort()
    starts = np.flatnonzero(np.concatenate(([True], both[1:] != both[:-1])))
    keys = both[starts]
    counts = np.diff(starts, append=len(both))
    partner = (keys[:-1] | 1) == keys[1:]
    partner &= (keys[:-1] & 1) == 0
    return int(np.minimum(counts[:-1][partner], counts[1:][partner]).sum())
