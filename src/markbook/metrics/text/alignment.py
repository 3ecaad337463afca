"""METEOR's alignment of many pairs of texts at once: words matched exactly, by stem, by synonym.

Greedy matching from the end pairs the last of a word's occurrences on one side with the last on the other, the last
but one with the last but one, and so on. So a line that holds the words of both texts, sorted by word and place,
has each match at a known distance, and no loop over words is needed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from markbook.metrics.overlaps import tables
from markbook.metrics.text.porter import stem
from markbook.metrics.text.synonyms import synonyms as synonyms_of
from markbook.metrics.tokens import FIRST, Numbers, Tokens, Vocabulary

Flags = npt.NDArray[np.bool_]


class Alignment:
    """Aligns texts of one vocabulary; make one for a batch, so that what it remembers is bounded by it."""

    def __init__(self, vocabulary: Vocabulary, *, synonyms: bool) -> None:
        """Take the vocabulary, and whether synonyms match."""
        self._vocabulary = vocabulary
        self._synonyms = synonyms
        self._stems: dict[int, int] = {}
        self._related: dict[int, frozenset[int]] = {}

    def count(self, tokens: Tokens, pairs: Sequence[tuple[int, int]]) -> tuple[Numbers, Numbers]:
        """Return of each pair (candidate, reference) how many words match, and in how many chunks.

        A chunk is a run of matches that are adjacent on both sides.
        """
        matches, chunks = (np.zeros(len(pairs), dtype=np.int64) for _ in range(2))
        names = self._vocabulary.names()
        both = np.array(pairs, dtype=np.int64).reshape(len(pairs), 2)
        for chosen, width in tables(tokens, [(ours, (theirs,)) for ours, theirs in pairs]):
            lines = _Lines(tokens, both[chosen], width)
            lines.match_words()
            lines.match_stems(self._stems_of(tokens, lines, names))
            if self._synonyms:
                self._match_synonyms(lines)
            matches[chosen], chunks[chosen] = lines.counts()
        return matches, chunks

    def _stems_of(self, tokens: Tokens, lines: _Lines, names: list[str]) -> Numbers:
        """Return the stem's number at each token's place, for those tokens that are left over."""
        is_remaining = np.zeros(len(tokens.words) + FIRST, dtype=np.bool_)
        is_remaining[lines.words] = True
        places = np.flatnonzero(is_remaining)
        stems = self._stems
        number = self._vocabulary.number
        numbers = []
        for word in tokens.words[places - FIRST].tolist():
            if word not in stems:
                stems[word] = number(stem(names[word - 1]))
            numbers.append(stems[word])
        table = np.zeros(len(is_remaining), dtype=np.int64)
        table[places] = numbers
        return table

    def _match_synonyms(self, lines: _Lines) -> None:
        """Match each word left over, from the end, to the latest free word that is one of its synonyms.

        It is the stems that are looked up, not the words: that is what NLTK does, so it is what the name means.
        """
        names = self._vocabulary.names()
        related = self._related
        for stem_number in np.unique(lines.words[~lines.is_reference]).tolist():
            if stem_number not in related:
                word = names[stem_number - 1]
                others = synonyms_of(word) - {word}
                related[stem_number] = frozenset(map(self._vocabulary.number, others))
        for line, ours, theirs in lines.left_over():
            free = {word for _, word in theirs}
            hopeful = [(at, related[word]) for at, word in ours if not related[word].isdisjoint(free)]
            if hopeful:
                _match_related(lines, line, hopeful, theirs)


def _match_related(
    lines: _Lines, line: int, ours: list[tuple[int, frozenset[int]]], theirs: list[tuple[int, int]]
) -> None:
    free: dict[int, list[int]] = {}
    for at, word in theirs:
        free.setdefault(word, []).append(at)
    for at, related in reversed(ours):
        nearest = max((word for word in related if word in free), key=lambda word: free[word][-1], default=None)
        if nearest is not None:
            lines.partners[line, at] = free[nearest].pop()
            if not free[nearest]:
                del free[nearest]


class _Lines:
    """Pairs of texts, a line each, and which words of them are matched so far."""

    def __init__(self, tokens: Tokens, pairs: Numbers, width: int) -> None:
        self._tokens = tokens
        self._pairs = pairs
        self._sizes = tokens.sizes[pairs]
        self._width = width
        self._place_bits = width.bit_length()
        # A column more than the longest candidate has keeps a line's last word apart from the next line's first.
        self.partners = np.full((len(pairs), int(self._sizes[:, 0].max()) + 1), -1, dtype=np.int64)
        """The place in the reference that each word of the candidate is matched to, -1 for none."""
        self.words: Numbers
        """The words that are left over, sorted by line, word, side and place."""
        self.is_reference: Flags
        self._line: Numbers
        self._place: Numbers

    def match_words(self) -> None:
        """Match equal words."""
        size = self._tokens.width + self._place_bits
        table = np.full((len(self._pairs), self._width), -1, dtype=np.int32 if size <= 31 else np.int64)
        spelled = self._tokens.numbers.astype(table.dtype) << self._place_bits
        starts = self._tokens.starts[self._pairs].tolist()
        places = np.arange(self._width, dtype=table.dtype)
        for line, (ours, theirs), (n_ours, n_theirs) in zip(table, starts, self._sizes.tolist(), strict=True):
            line[:n_ours] = spelled[ours : ours + n_ours]
            line[n_ours : n_ours + n_theirs] = spelled[theirs : theirs + n_theirs]
            line[: n_ours + n_theirs] += places[: n_ours + n_theirs]
        table.sort(axis=1)
        line, column = np.nonzero(table >= 0)
        keys = table[line, column].astype(np.int64)
        self._match(line, keys >> self._place_bits, keys & ((1 << self._place_bits) - 1))

    def match_stems(self, stems: Numbers) -> None:
        """Match words with equal stems among those that are left over.

        Args:
            stems: each word's stem, which takes its place in what is left over.
        """
        stemmed = stems[self.words]
        bits = int(stemmed.max(initial=0)).bit_length()
        keys = (((self._line << bits) | stemmed) << self._place_bits) | self._place
        keys.sort()
        rest = keys >> self._place_bits
        self._match(rest >> bits, rest & ((1 << bits) - 1), keys & ((1 << self._place_bits) - 1))

    def _match(self, line: Numbers, words: Numbers, positions: Numbers) -> None:
        """Match equal words of a line, given sorted by line, word and place; keep what is left over."""
        is_reference = positions >= self._sizes[line, 0]
        fresh = np.ones(len(words), dtype=np.bool_)
        fresh[1:] = (words[1:] != words[:-1]) | (line[1:] != line[:-1])
        starts = np.flatnonzero(fresh)
        group = np.cumsum(fresh) - 1
        behind = np.concatenate(([0], np.cumsum(is_reference)))
        n_theirs = np.diff(behind[starts], append=behind[-1])
        middle = np.append(starts[1:], len(words)) - n_theirs
        # The k-th last of ours stands as many places before the k-th last of theirs as there are theirs.
        partner = np.arange(len(words)) + n_theirs[group]
        ours = np.flatnonzero(~is_reference & (partner >= middle[group]))
        theirs = partner[ours]
        self.partners[line[ours], positions[ours]] = positions[theirs] - self._sizes[line[ours], 0]
        is_remaining = np.ones(len(words), dtype=np.bool_)
        is_remaining[ours] = is_remaining[theirs] = False
        self.words, self.is_reference = words[is_remaining], is_reference[is_remaining]
        self._line, self._place = line[is_remaining], positions[is_remaining]

    def left_over(self) -> list[tuple[int, list[tuple[int, int]], list[tuple[int, int]]]]:
        """Return of each line that has words left over on both sides these words with their places, in order."""
        order = np.lexsort((self._place, self._line))
        line, positions, words = self._line[order], self._place[order], self.words[order]
        positions = positions - np.where(self.is_reference[order], self._sizes[line, 0], 0)
        entries = list(zip(positions.tolist(), words.tolist(), strict=True))
        stops = np.searchsorted(line, np.arange(len(self._pairs)), side="right").tolist()
        n_ours = np.bincount(self._line[~self.is_reference], minlength=len(self._pairs)).tolist()
        leftovers = []
        start = 0
        for i, (stop, n) in enumerate(zip(stops, n_ours, strict=True)):
            if 0 < n < stop - start:
                leftovers.append((i, entries[start : start + n], entries[start + n : stop]))
            start = stop
        return leftovers

    def counts(self) -> tuple[Numbers, Numbers]:
        """Return how many words of each line are matched, and in how many chunks."""
        flat = self.partners.ravel()
        at = np.flatnonzero(flat >= 0)
        line = at // self.partners.shape[1]
        to = flat[at]
        starts = np.ones(len(at), dtype=np.bool_)
        starts[1:] = (np.diff(at) != 1) | (np.diff(to) != 1)
        n = len(self._pairs)
        return np.bincount(line, minlength=n), np.bincount(line[starts], minlength=n)
