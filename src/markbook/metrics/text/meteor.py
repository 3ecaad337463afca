"""METEOR as NLTK computes it: words matched exactly, by stem, by synonym, with a penalty for fragments."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

import numpy as np
import numpy.typing as npt

from markbook.errors import ConfigError
from markbook.metrics import Score, UnitMetric
from markbook.metrics.overlaps import Block, measure_blocks, tables
from markbook.metrics.text import tokenizers
from markbook.metrics.text.porter import stem
from markbook.metrics.text.tokenizers import version
from markbook.metrics.tokens import FIRST, Numbers, Tokens, Vocabulary
from markbook.types import Item, Measurement

# The synonyms of a word, read from the table that the package ships (WordNet 3.0; see data/WORDNET-LICENSE).

_SUFFIXES = {
    "n": (
        *(("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z")),
        *(("ches", "ch"), ("shes", "sh"), ("men", "man"), ("ies", "y")),
    ),
    "v": (*(("s", ""), ("ies", "y"), ("es", "e"), ("es", "")), *(("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", ""))),
    "a": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "r": (),
}
"""WordNet's detachment rules (morphy), by part of speech."""


_RULES: dict[str, list[tuple[str, str, str]]] = {}
"""The same by the last letter of what is detached: no other rule can fit a word."""
for _part, _rules in _SUFFIXES.items():
    for _old, _new in _rules:
        _RULES.setdefault(_old[-1], []).append((_part, _old, _new))


@lru_cache(maxsize=1)
def _table() -> tuple[str, list[bytes]]:
    """Return the table's digest and its lines, sorted by word."""
    data = resources.files("markbook.metrics.text").joinpath("data", "synonyms.tsv").read_bytes()
    return hashlib.sha256(data).hexdigest()[:8], data.split(b"\n")


@lru_cache(maxsize=1 << 16)
def synonyms(word: str) -> frozenset[str]:
    """Return the one-word synonyms of a word over all its parts of speech and base forms, and the word itself."""
    own = _entry(word)
    words_found = {word}
    for part, words in own.items():
        if part in _SUFFIXES:
            _add(words_found, word, words)
        else:  # the part in capitals: base forms that no rule gives
            for form in words:
                _add(words_found, form, _entry(form).get(part.lower(), ()))
    for part, old, new in _RULES.get(word[-1:], ()):
        # As in WordNet's own lookup, a form in the list of exceptions rules out the suffix rules of that part of
        # speech.
        if word.endswith(old) and part.upper() not in own:
            form = word[: -len(old)] + new
            _add(words_found, form, _entry(form).get(part, ()))
    return frozenset(words_found)


def _add(words_found: set[str], form: str, words: Iterable[str]) -> None:
    words_found.update([form if word == "=" else word for word in words])


@lru_cache(maxsize=1 << 16)
def _entry(form: str) -> dict[str, tuple[str, ...]]:
    # The table is ASCII, and a tab or a line break in a word would match its structure instead of a word.
    if not form.isascii() or "\t" in form or "\n" in form:
        return {}
    key = form.encode("ascii") + b"\t"
    lines = _table()[1]
    at = bisect_left(lines, key)
    # The line must begin with the word and a tab: `bisect` returns the next greater line where the word is absent.
    if at == len(lines) or not lines[at].startswith(key):
        return {}
    fields = lines[at].decode("ascii").split("\t")[1:]
    return {field[0]: tuple(field[2:].split()) for field in fields}


# METEOR's alignment of many pairs of texts at once: words matched exactly, by stem, by synonym.
#
# Greedy matching from the end pairs the last of a word's occurrences on one side with the last on the other, the last
# but one with the last but one, and so on. So a line that holds the words of both texts, sorted by word and place,
# has each match at a known distance, and no loop over words is needed.

Flags = npt.NDArray[np.bool_]


class Alignment:
    """Aligns texts of one vocabulary; make one for a batch, so that what it remembers is bounded by it."""

    def __init__(self, vocabulary: Vocabulary, *, synonyms: bool) -> None:
        self._vocabulary = vocabulary
        self._synonyms = synonyms
        self._stems: dict[int, int] = {}
        self._related: dict[int, frozenset[int]] = {}

    def count(self, tokens: Tokens, pairs: Sequence[tuple[int, int]]) -> tuple[Numbers, Numbers]:
        """Return of each pair (candidate, reference) how many words match, and in how many chunks.

        A chunk is a run of matches that are adjacent on both sides. Both arrays have the shape (pairs,).
        """
        matches, chunks = (np.zeros(len(pairs), dtype=np.int64) for _ in range(2))
        names = self._vocabulary.names()
        both = np.array(pairs, dtype=np.int64).reshape(len(pairs), 2)
        # Texts of similar length share a table, so that short ones are not padded to the longest.
        for chosen, width in tables(tokens, [(ours, (theirs,)) for ours, theirs in pairs]):
            lines = _Lines(tokens, both[chosen], width)
            lines.match_words()
            lines.match_stems(self._number_stems(tokens, lines, names))
            if self._synonyms:
                self._match_synonyms(lines)
            matches[chosen], chunks[chosen] = lines.counts()
        return matches, chunks

    def _number_stems(self, tokens: Tokens, lines: _Lines, names: list[str]) -> Numbers:
        """Return the stem's number at each token's place, for those tokens that are left over."""
        is_remaining = np.zeros(len(tokens.words) + FIRST, dtype=np.bool_)
        is_remaining[lines.words] = True
        places = np.flatnonzero(is_remaining)
        stems = self._stems
        number = self._vocabulary.number
        numbers = []
        for word in tokens.words[places - FIRST].tolist():
            # Remembered by word over the whole batch, since stemming is a loop in Python.
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
                others = synonyms(word) - {word}
                related[stem_number] = frozenset(map(self._vocabulary.number, others))
        for line, ours, theirs in lines.left_over():
            free = {word for _, word in theirs}
            # Words without any free synonym are sorted out before the search for places.
            hopeful = [(at, related[word]) for at, word in ours if not related[word].isdisjoint(free)]
            if not hopeful:
                continue
            places: dict[int, list[int]] = {}
            for at, word in theirs:
                places.setdefault(word, []).append(at)
            # From the end, as NLTK's loop runs: another order would pair other occurrences and change the chunks.
            for at, synonym_numbers in reversed(hopeful):
                # The latest place wins, and the word's number decides nothing: no two words stand at one place.
                nearest = max(((places[word][-1], word) for word in synonym_numbers if word in places), default=None)
                if nearest is not None:
                    lines.partners[line, at] = places[nearest[1]].pop()
                    if not places[nearest[1]]:
                        del places[nearest[1]]


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
        """The place in the reference that each word of the candidate is matched to, -1 for none: shape (lines, words)."""
        self.words: Numbers
        """The words that are left over, sorted by line, word, side and place; the next three have its shape, (words,)."""
        self.is_reference: Flags
        self._line: Numbers
        self._place: Numbers

    def match_words(self) -> None:
        """Match equal words."""
        # Word and place share one number, so that one sort puts equal words side by side in the order of their places.
        size = self._tokens.width + self._place_bits
        # 32 bits where they suffice take half the memory.
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
        """Match words with equal stems among those that are left over, where each word's stem takes its place."""
        stemmed = stems[self.words]
        bits = int(stemmed.max(initial=0)).bit_length()
        keys = (((self._line << bits) | stemmed) << self._place_bits) | self._place
        keys.sort()
        rest = keys >> self._place_bits
        self._match(rest >> bits, rest & ((1 << bits) - 1), keys & ((1 << self._place_bits) - 1))

    def _match(self, line: Numbers, words: Numbers, positions: Numbers) -> None:
        """Match equal words of a line, given sorted by line, word and place; keep what is left over.

        The three arrays have the shape (words,).
        """
        # The candidate's words stand first in a line, so a position from its size on is the reference's.
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
        order = np.lexsort((self._place, self._line))  # by line, then by place: the candidate's words come first
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
        """Return how many words of each line are matched, and in how many chunks: both of shape (lines,)."""
        flat = self.partners.ravel()
        at = np.flatnonzero(flat >= 0)
        line = at // self.partners.shape[1]
        to = flat[at]
        starts = np.ones(len(at), dtype=np.bool_)
        # A chunk ends where either side jumps; the spare column keeps lines apart.
        starts[1:] = (np.diff(at) != 1) | (np.diff(to) != 1)
        n = len(self._pairs)
        return np.bincount(line, minlength=n), np.bincount(line[starts], minlength=n)


_ALPHA, _BETA, _GAMMA = 0.9, 3.0, 0.5

TOKENIZERS = ("treebank", "whitespace")


def meteor(tokenizer: str = "treebank", *, synonyms: bool = True) -> Meteor:
    """Return METEOR, 0 to 1, higher is better; several references: the best one.

    With m matched words, P = m / words of the candidate, R = m / words of the reference and c runs of matches
    that are adjacent on both sides: F = P R / (.9 P + .1 R), score = F (1 - .5 (c / m)^3); 0 where nothing
    matches. Identical texts score less than 1 (one word: 0.5), because the penalty never vanishes.
    Source: Banerjee and Lavie 2005, parameters and greedy alignment as `nltk.translate.meteor_score`; it is not
    METEOR 1.5. Missing: no reference.

    Args:
        tokenizer: `treebank` (Penn Treebank rules on the whole text) or `whitespace`.
        synonyms: whether WordNet synonyms match; the signature says `syn:none` when off.

    Raises:
        ConfigError: an unknown tokenizer.
    """
    if tokenizer not in TOKENIZERS:
        raise ConfigError(f"meteor: unknown tokenizer {tokenizer!r}", hint=f"one of {', '.join(TOKENIZERS)}")
    table = f"wordnet-3.0#{_table()[0]}" if synonyms else "none"
    tok = f"{tokenizer}-unicode{version()}" if tokenizer == "treebank" else tokenizer
    return Meteor(
        signature=f"meteor|a:.9|b:3|g:.5|tok:{tok}|stem:porter-nltk|syn:{table}|multi:max|v1",
        tokenizer=tokenizer,
        synonyms=synonyms,
    )


@dataclass(frozen=True, slots=True)
class Meteor(UnitMetric):
    """METEOR with its options; made by `meteor`."""

    signature: str
    tokenizer: str
    synonyms: bool
    name: str = "meteor"

    def measure(self, items: Sequence[Item]) -> list[Measurement]:
        """Return one measurement an item, in order."""
        is_treebank = self.tokenizer == "treebank"
        vocabulary = Vocabulary(
            tokenizers.tokens if is_treebank else lambda pieces: [(piece.lower(),) for piece in pieces]
        )
        cut = tokenizers.pieces if is_treebank else str.split
        alignment = Alignment(vocabulary, synonyms=self.synonyms)

        def score(block: Block) -> list[list[Score]]:
            pairs = block.pairs
            tokens = vocabulary.tokens(map(cut, block.texts))
            sizes = tokens.sizes[np.array(pairs)]
            return [block.best(_scores(*alignment.count(tokens, pairs), sizes))]

        return measure_blocks([(self.name, self.signature)], items, score)[0]


def _scores(matches: Numbers, chunks: Numbers, sizes: Numbers) -> list[Score]:
    """Return each pair's score; matches and chunks have the shape (pairs,), the texts' sizes (pairs, 2)."""
    precision, recall = (matches / np.maximum(sizes[:, side], 1) for side in (0, 1))
    divisor = _ALPHA * precision + (1 - _ALPHA) * recall
    fmean = np.divide(precision * recall, divisor, out=np.zeros(len(matches)), where=matches > 0)
    penalty = _GAMMA * (chunks / np.maximum(matches, 1)) ** _BETA
    values = np.clip((1 - penalty) * fmean, 0.0, 1.0)
    columns = (values, precision, recall, matches, chunks)
    return [
        (value, {"precision": p, "recall": r, "matches": n, "chunks": c})
        for value, p, r, n, c in zip(*(column.tolist() for column in columns), strict=True)
    ]
