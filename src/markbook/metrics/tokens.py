"""Texts as arrays of numbers, one a distinct token: what all metrics that count words compute on."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]

END = 0
"""The number that stands behind each text; tokens count from `FIRST` on, the most frequent first."""
FIRST = 2
"""1 is left free, so that the ends of two texts can be told apart."""
GAP = 3
"""How many ends stand behind each text: as many as a 4-gram can reach over it."""

_LETTERS = 0x110000


@dataclass(frozen=True, eq=False, slots=True)
class Tokens:
    """The tokens of several texts, one text after the other with `GAP` ends between them; arrays of one dimension."""

    numbers: Numbers
    starts: Numbers
    """Where each text starts in `numbers`."""
    sizes: Numbers
    words: Numbers
    """The vocabulary's number of each distinct token, at its place counted from `FIRST`."""

    @property
    def width(self) -> int:
        """How many bits spell a token, so that the number of all ones is none."""
        return (len(self.words) + FIRST).bit_length()

    def lists(self) -> list[list[int]]:
        """Return each text as a list of numbers."""
        bounds = zip(self.starts.tolist(), (self.starts + self.sizes).tolist(), strict=True)
        numbers = self.numbers.tolist()
        return [numbers[start:stop] for start, stop in bounds]

    def strings(self) -> Sequence[Sequence[int] | str]:
        """Return each text spelled with a letter a token, which C++ code compares fastest.

        Where there are more tokens than letters, which takes a text of megabytes, they are lists of numbers.
        """
        if len(self.words) > _LETTERS:
            return self.lists()
        # The most frequent tokens get the letters below 256, for which rapidfuzz needs no hash table.
        spelled = (self.numbers - np.minimum(self.numbers, FIRST)).astype("<u4").tobytes()
        letters = spelled.decode("utf-32-le", "surrogatepass")
        bounds = zip(self.starts.tolist(), (self.starts + self.sizes).tolist(), strict=True)
        return [letters[start:stop] for start, stop in bounds]

    def of(self, texts: Sequence[int]) -> Tokens:
        """Return the tokens of some of the texts, numbered anew."""
        # Fewer texts have fewer distinct tokens, whose numbers need fewer bits.
        sizes = self.sizes[texts]
        extents = sizes + GAP
        numbers = self.numbers[runs(self.starts[texts], extents)]
        numbers -= np.minimum(numbers, FIRST - 1)
        return _number_tokens(numbers, np.cumsum(extents) - extents, sizes, self.words)


class Vocabulary(dict[Hashable, int]):
    """The tokens of each piece of text seen so far; make one for a batch, so that it is bounded by it.

    A piece is what can be split into tokens without a look at its neighbours. Each distinct one is split once.
    """

    def __init__(self, split: Callable[[list[Any]], Iterable[Sequence[str]]]) -> None:
        super().__init__()
        self._split = split
        self._known: dict[str, int] = {}
        self._fresh: list[Hashable] = []
        self._sizes = array("q", [GAP])
        self._tokens = array("q", [0] * GAP)
        self[None] = 0  # the piece that stands behind each text

    def __missing__(self, piece: Hashable) -> int:
        """Number a piece that was not seen before; `_learn` splits it with all others of its kind."""
        number = self[piece] = len(self)
        self._fresh.append(piece)
        return number

    def _learn(self) -> None:
        fresh, self._fresh = self._fresh, []
        numbers_known = self._known
        try:
            pieces_split = list(self._split(fresh))
            numbers = [
                numbers_known.setdefault(token, len(numbers_known) + 1) for tokens in pieces_split for token in tokens
            ]
        except BaseException:
            # A piece with a number and no tokens would make every later row of the batch wrong.
            for piece in fresh:
                del self[piece]
            raise
        self._sizes.extend(map(len, pieces_split))
        self._tokens.extend(numbers)

    def number(self, token: str) -> int:
        """Return the vocabulary's number of a token."""
        return self._known.setdefault(token, len(self._known) + 1)

    def names(self) -> list[str]:
        """Return the tokens in the order of their numbers, which count from 1."""
        return list(self._known)

    def tokens(self, texts: Iterable[Sequence[Hashable]]) -> Tokens:
        """Return the tokens of texts that are given as their pieces.

        Each distinct piece is looked up in a table of (start, size) into one flat array, so that no loop goes over tokens.
        """
        pieces: list[Hashable] = []
        stops = []
        for text in texts:
            pieces += text
            stops.append(len(pieces))
            pieces.append(None)
        numbers = np.fromiter(map(self.__getitem__, pieces), np.int64, len(pieces))
        self._learn()
        known_sizes = np.array(self._sizes)
        sizes = known_sizes[numbers]
        ends = np.cumsum(sizes)
        flat = np.array(self._tokens)[runs((np.cumsum(known_sizes) - known_sizes)[numbers], sizes)]
        stop = ends[np.array(stops, dtype=np.int64)] - GAP
        start = np.zeros_like(stop)
        start[1:] = stop[:-1] + GAP
        return _number_tokens(flat, start, stop - start, np.arange(1, len(self._known) + 1))


def runs(starts: Numbers, sizes: Numbers) -> Numbers:
    """Return the indices start, start + 1, ... of each run, one run after the other: shape (sum of sizes,)."""
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    indices: Numbers = np.repeat(starts - (ends - sizes), sizes)
    indices += np.arange(total)
    return indices


def _number_tokens(flat: Numbers, starts: Numbers, sizes: Numbers, words: Numbers) -> Tokens:
    """Number the tokens that occur from `FIRST` on by falling frequency; the end marks are 0 and stay it."""
    counts = np.bincount(flat, minlength=len(words) + 1)
    counts[END] = 0
    used = np.flatnonzero(counts)
    used = used[np.argsort(-counts[used], kind="stable")]
    new = np.zeros(len(counts), dtype=np.int64)
    new[used] = np.arange(FIRST, FIRST + len(used))
    return Tokens(new[flat], starts, sizes, words[used - 1])
