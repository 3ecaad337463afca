"""The cosine of two texts' TF-IDF vectors: over the pair as documented, or over the whole batch."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from itertools import chain

import numpy as np

from markbook.metrics import Score, clamp, drop_missing_references, measure_each, problem
from markbook.metrics.tokens import Numbers
from markbook.types import Direction, Item, Measurement, Metric

_WORD = re.compile(r"\b\w\w+\b")

_ONE_OF_TWO = (1.0 + math.log(1.5)) ** 2
"""The squared weight of a term that one of two texts has: idf = 1 + ln((1 + 2) / (1 + 1)). Of both: 1."""


def tfidf_cosine() -> TfidfCosine:
    """Return the cosine of the TF-IDF vectors fitted on the two texts alone, 0 to 1, higher is better.

    Terms are words of two or more letters in lower case without English stop words, and pairs of neighbours
    among them; weights are counts times idf = 1 + ln((1 + n) / (1 + df)) with n = 2. So a shared term weighs 1
    and any other 1 + ln 1.5, which gives the closed form used here. It equals scikit-learn's
    `TfidfVectorizer(stop_words="english", ngram_range=(1, 2))` fitted on the pair, the documented call. Where
    neither text has a term it is 1 for texts equal but for case and white space, else 0, with the flag
    `empty_vocabulary` in the stats (scikit-learn raises). Several references: the most similar. Missing: no
    reference.
    """
    return TfidfCosine(
        "tfidf_cosine", "tfidf_cosine|idf:pair|ngrams:1-2|stop:english-318|multi:max|v1", whole_batch=False
    )


def tfidf_cosine_corpus() -> TfidfCosine:
    """Return the cosine with idf fitted on every text of the batch: all candidates and all references.

    As `tfidf_cosine` otherwise. A value depends on the batch it stands in, so a batch is never divided; it
    equals scikit-learn's vectoriser fitted once on candidates and references together.
    """
    signature = "tfidf_cosine_corpus|idf:batch|ngrams:1-2|stop:english-318|multi:max|v1"
    return TfidfCosine("tfidf_cosine_corpus", signature, whole_batch=True)


@dataclass(frozen=True, slots=True)
class TfidfCosine(Metric):
    """TF-IDF cosine; made by `tfidf_cosine` or `tfidf_cosine_corpus`."""

    name: str
    signature: str
    whole_batch: bool
    """Whether idf is fitted on the batch instead of on each pair."""
    version: int = 1
    range: tuple[float, float] = (0.0, 1.0)
    direction: Direction = "higher"

    def measure(self, items: Sequence[Item]) -> list[Measurement]:
        """Return one measurement an item, in order."""
        terms = _Terms()
        idf: dict[int, float] | None = None
        if self.whole_batch:
            frequencies: Counter[int] = Counter()
            n = 0
            for item in items:
                if problem(item.attempt.text, item.sample.references) is None:
                    for text in (item.attempt.text, *drop_missing_references(item.sample.references)):
                        frequencies.update(terms.of(text).terms.tolist())
                        n += 1
            idf = {term: 1.0 + math.log((1 + n) / (1 + df)) for term, df in frequencies.items()}

        def score(item: Item) -> Score:
            scored = [
                _cosine(terms, item.attempt.text, other, idf)
                for other in drop_missing_references(item.sample.references)
            ]
            return max(scored, key=lambda pair: pair[0])

        return measure_each(self.name, self.signature, items, score)


@dataclass(frozen=True, slots=True)
class _Counts:
    """A text's distinct terms as sorted integers (a word's number, or two of them), and how often each occurs: one shape."""

    terms: Numbers
    counts: Numbers


class _Terms:
    """The terms of a batch's texts; the latest are remembered, for references are scored against often."""

    def __init__(self) -> None:
        self._pieces = _Pieces()
        self._recent: dict[str, _Counts] = {}

    def of(self, text: str) -> _Counts:
        counts = self._recent.get(text)
        if counts is None:
            if len(self._recent) >= 64:
                del self._recent[next(iter(self._recent))]
            words = list(chain.from_iterable(map(self._pieces.__getitem__, text.lower().split())))
            numbers = np.array(words, dtype=np.int64)
            pairs = ((numbers[:-1] + 1) << 32) + numbers[1:]  # above 2^32, where no single word's number lies
            counts = self._recent[text] = _Counts(*np.unique(np.concatenate((numbers, pairs)), return_counts=True))
        return counts


class _Pieces(dict[str, tuple[int, ...]]):
    """The numbers of the words in a piece between white space; stop words have none."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers: dict[str, int] = {}

    def __missing__(self, piece: str) -> tuple[int, ...]:
        stop = _stop_words()
        words = [word for word in _WORD.findall(piece) if word not in stop]
        numbers = self[piece] = tuple(self._numbers.setdefault(word, len(self._numbers)) for word in words)
        return numbers


@lru_cache(maxsize=1)
def _stop_words() -> frozenset[str]:
    text = resources.files("markbook.metrics.text").joinpath("data", "stop_words.txt").read_text("ascii")
    return frozenset(text.split())


def _cosine(
    terms: _Terms, candidate: str, reference: str, idf: dict[int, float] | None
) -> tuple[float, dict[str, object]]:
    ours, theirs = terms.of(candidate), terms.of(reference)
    if not len(ours.terms) and not len(theirs.terms):
        same = candidate.lower().split() == reference.lower().split()
        return float(same), {"empty_vocabulary": True}
    if not len(ours.terms) or not len(theirs.terms):
        return 0.0, {"shared_terms": 0}
    # Both lists of terms are sorted, so what they share is found by searching one in the other.
    places = np.searchsorted(ours.terms, theirs.terms)
    places[places == len(ours.terms)] = 0
    shared = ours.terms[places] == theirs.terms
    a, b = ours.counts[places[shared]], theirs.counts[shared]
    if idf is None:
        own = _ONE_OF_TWO * int(ours.counts @ ours.counts) + (1 - _ONE_OF_TWO) * int(a @ a)
        other = _ONE_OF_TWO * int(theirs.counts @ theirs.counts) + (1 - _ONE_OF_TWO) * int(b @ b)
        return clamp(int(a @ b) / math.sqrt(own * other)), {"shared_terms": len(a)}
    weights = [np.array([idf[term] for term in counts.terms.tolist()]) * counts.counts for counts in (ours, theirs)]
    # Terms are numbered in the batch's order, so only an exact sum is the same for every order of the rows.
    dot = math.fsum((weights[0][places[shared]] * weights[1][shared]).tolist())
    lengths = math.sqrt(math.prod(math.fsum((vector * vector).tolist()) for vector in weights))
    return clamp(dot / lengths), {"shared_terms": len(a)}
