"""ROUGE-1, ROUGE-2, ROUGE-L and ROUGE-Lsum, equal to the rouge-score package."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import LCSseq

from markbook.errors import ConfigError
from markbook.metrics._lcs import MAX_CELLS, MAX_TABLE_CELLS, positions
from markbook.metrics._pairwise import NO_STATS, Score, given, mean, measure_each
from markbook.metrics._porter import stem
from markbook.types import Direction, Item, Measurement, Missing, MissingKind

Kind = Literal["rouge1", "rouge2", "rougeL", "rougeLsum"]

_CJK = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
TOKENIZERS = {
    "ascii": re.compile(r"[a-z0-9]+"),
    # A CJK letter is a word by itself, since such text has no spaces between words.
    "unicode": re.compile(rf"[{_CJK}]|(?:(?![{_CJK}])[^\W_])+"),
}

_MAX_LINE_PAIRS = 4 * 10**6
_SHORT = 200
"""Below this many words plain lists are faster than numpy."""


def rouge1(*, stemmer: bool = True, tokenizer: str = "ascii") -> Rouge:
    """Return ROUGE-1 F1, the overlap of single words; options and missing cases as in `Rouge`."""
    return _make("rouge1", stemmer=stemmer, tokenizer=tokenizer)


def rouge2(*, stemmer: bool = True, tokenizer: str = "ascii") -> Rouge:
    """Return ROUGE-2 F1, the overlap of word pairs; options and missing cases as in `Rouge`."""
    return _make("rouge2", stemmer=stemmer, tokenizer=tokenizer)


def rouge_l(*, stemmer: bool = True, tokenizer: str = "ascii") -> Rouge:
    """Return ROUGE-L F1, the longest common subsequence of the whole texts; options as in `Rouge`."""
    return _make("rougeL", stemmer=stemmer, tokenizer=tokenizer)


def rouge_lsum(*, stemmer: bool = True, tokenizer: str = "ascii") -> Rouge:
    r"""Return ROUGE-Lsum F1, the union of common subsequences over lines (split at \n); options as in `Rouge`."""
    return _make("rougeLsum", stemmer=stemmer, tokenizer=tokenizer)


def _make(kind: Kind, *, stemmer: bool, tokenizer: str) -> Rouge:
    if tokenizer not in TOKENIZERS:
        raise ConfigError(f"{kind}: unknown tokenizer {tokenizer!r}", hint=f"one of {', '.join(TOKENIZERS)}")
    signature = f"{kind}|stem:{'porter-nltk' if stemmer else 'no'}|tok:{tokenizer}|multi:max-f|v1"
    return Rouge(name=kind, signature=signature, stemmer=stemmer, tokenizer=tokenizer)


@dataclass(frozen=True, slots=True)
class Rouge:
    """One of the ROUGE measures: F1 = 2 P R / (P + R), 0 to 1, higher is better.

    P is the overlap over the candidate's n-grams (words for L and Lsum), R over the reference's; both stand in
    the stats. Several references: the one with the largest F1. A text without any token scores 0 with the flag
    `tokens_empty` in the stats: the ASCII tokens of the original drop every other letter, so Greek, Arabic or
    Chinese text needs `tokenizer="unicode"`. Source: Lin 2004 as in rouge-score 0.1.2 (`use_stemmer=True`).
    Missing: no reference; texts so long that their common subsequence would take minutes (kind `budget`).
    """

    name: Kind
    signature: str
    stemmer: bool
    tokenizer: str
    version: int = 1
    range: tuple[float, float] = (0.0, 1.0)
    direction: Direction = "higher"

    def measure(self, items: Sequence[Item]) -> list[Measurement]:
        """Return one measurement an item, in order."""
        words = _Words(stemmer=self.stemmer, tokenizer=self.tokenizer)
        return measure_each(self.name, self.signature, items, partial(_best, self.name, words))

    def summarise(self, measurements: Sequence[Measurement]) -> float | None:
        """Return the mean F1 of the values there are, None if there is none."""
        return mean(measurements)

    @staticmethod
    def together(metrics: Sequence[Rouge], items: Sequence[Item]) -> list[list[Measurement]]:
        """Return each metric's measurements; those of equal options share one pass over each text's words."""
        shared = {
            options: _Words(stemmer=options[0], tokenizer=options[1])
            for options in {(metric.stemmer, metric.tokenizer) for metric in metrics}
        }
        scores = [partial(_best, metric.name, shared[metric.stemmer, metric.tokenizer]) for metric in metrics]
        found: list[list[Measurement]] = [[] for _ in metrics]
        for item in items:  # item by item, so that a text's words are still at hand for the next metric
            for i, metric in enumerate(metrics):
                found[i] += measure_each(metric.name, metric.signature, [item], scores[i])
        return found


class _Pieces(dict[str, tuple[int, ...]]):
    """The words of a piece between white space as numbers, one for each distinct stem; no word crosses a piece."""

    def __init__(self, *, stemmer: bool, tokenizer: str) -> None:
        super().__init__()
        self._stemmer = stemmer
        self._find = TOKENIZERS[tokenizer].findall
        self._stems: dict[str, int] = {}

    def __missing__(self, piece: str) -> tuple[int, ...]:
        # rouge-score stems words of more than three letters only.
        stems = (stem(word) if self._stemmer and len(word) > 3 else word for word in self._find(piece))
        found = self[piece] = tuple(self._stems.setdefault(one, len(self._stems)) for one in stems)
        return found


class _Text:
    """A text as numbers, and what was counted of it so far."""

    __slots__ = ("_grams", "_sorted", "numbers")

    def __init__(self, numbers: list[int]) -> None:
        self.numbers = numbers
        self._sorted: dict[int, list[int]] = {}
        self._grams: dict[int, tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]] = {}

    def sorted(self, n: int) -> list[int]:
        """Return the n-grams as sorted integers."""
        if n not in self._sorted:
            words = self.numbers
            keys = words if n == 1 else [(a << 30) + b for a, b in pairwise(words)]
            self._sorted[n] = sorted(keys)
        return self._sorted[n]

    def grams(self, n: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the distinct n-grams as sorted integers, and how often each occurs."""
        if n not in self._grams:
            words = np.array(self.numbers, dtype=np.int64)
            keys = words if n == 1 else (words[:-1] << 30) + words[1:]
            self._grams[n] = np.unique(keys, return_counts=True)
        return self._grams[n]


class _Words:
    """The words of a batch's texts; the latest texts are remembered, for references are scored against often."""

    def __init__(self, *, stemmer: bool, tokenizer: str) -> None:
        self._pieces = _Pieces(stemmer=stemmer, tokenizer=tokenizer)
        self._recent: dict[str, _Text] = {}

    def of(self, text: str) -> _Text:
        found = self._recent.get(text)
        if found is None:
            if len(self._recent) >= 64:
                del self._recent[next(iter(self._recent))]
            found = self._recent[text] = _Text(self._split(text))
        return found

    def lines(self, text: str) -> list[list[int]]:
        return [self._split(line) for line in text.split("\n") if line]

    def _split(self, text: str) -> list[int]:
        return list(chain.from_iterable(map(self._pieces.__getitem__, text.lower().split())))


_Scores = tuple[float, float, float]
"""F1, precision, recall."""


def _best(kind: Kind, words: _Words, item: Item) -> Score:
    candidate, references = item.attempt.text, given(item.sample.references)
    best: _Scores | None = None
    for reference in references:
        scored = _against(kind, words, candidate, reference)
        if isinstance(scored, Missing):
            return scored, NO_STATS
        if best is None or scored[0] > best[0]:
            best = scored
    assert best is not None
    stats: dict[str, object] = {"precision": best[1], "recall": best[2]}
    if not words.of(candidate).numbers or not any(words.of(reference).numbers for reference in references):
        stats["tokens_empty"] = True
    return best[0], stats


def _against(kind: Kind, words: _Words, candidate: str, reference: str) -> _Scores | Missing:
    ours, theirs = words.of(candidate), words.of(reference)
    n_ours, n_theirs = len(ours.numbers), len(theirs.numbers)
    if kind == "rouge1":
        return _f1(_overlap(ours, theirs, 1), n_ours, n_theirs)
    if kind == "rouge2":
        return _f1(_overlap(ours, theirs, 2), n_ours - 1, n_theirs - 1)
    if kind == "rougeL":
        if n_ours * n_theirs > MAX_CELLS:
            return _too_long(n_ours, n_theirs)
        return _f1(LCSseq.similarity(ours.numbers, theirs.numbers), n_ours, n_theirs)
    our_lines, their_lines = words.lines(candidate), words.lines(reference)
    if n_ours * n_theirs > MAX_TABLE_CELLS or len(our_lines) * len(their_lines) > _MAX_LINE_PAIRS:
        return _too_long(n_ours, n_theirs)
    return _f1(_summary_hits(our_lines, their_lines), n_ours, n_theirs)


def _too_long(ours: int, theirs: int) -> Missing:
    detail = f"texts of {ours} and {theirs} words: their common subsequence would take minutes"
    return Missing(MissingKind.BUDGET, detail)


def _overlap(ours: _Text, theirs: _Text, n: int) -> int:
    if min(len(ours.numbers), len(theirs.numbers)) < n:
        return 0
    if len(ours.numbers) < _SHORT:
        # What two sorted sequences have in common, in order, is what two bags have in common.
        return LCSseq.similarity(ours.sorted(n), theirs.sorted(n))
    grams, counts = ours.grams(n)
    their_grams, their_counts = theirs.grams(n)
    places = np.searchsorted(grams, their_grams)
    places[places == len(grams)] = 0
    same = grams[places] == their_grams
    return int(np.minimum(counts[places[same]], their_counts[same]).sum())


def _f1(hits: int, n_candidate: int, n_reference: int) -> _Scores:
    precision = hits / max(n_candidate, 1)
    recall = hits / max(n_reference, 1)
    if precision + recall == 0:
        return 0.0, 0.0, 0.0
    return 2 * precision * recall / (precision + recall), precision, recall


def _summary_hits(candidate: list[list[int]], reference: list[list[int]]) -> int:
    """Count the words in the union of each reference line's common subsequences, none more often than it occurs."""
    ours: Counter[int] = Counter()
    theirs: Counter[int] = Counter()
    for line in candidate:
        ours.update(line)
    for line in reference:
        theirs.update(line)
    as_sets = [frozenset(line) for line in candidate]
    hits = 0
    for line in reference:
        words = frozenset(line)
        union: set[int] = set()
        for other, known in zip(candidate, as_sets, strict=True):
            if not words.isdisjoint(known):
                union.update(positions(line, other))
        for i in sorted(union):
            word = line[i]
            if ours[word] > 0 and theirs[word] > 0:
                hits += 1
                ours[word] -= 1
                theirs[word] -= 1
    return hits
