"""The cosine of two texts' TF-IDF vectors: over the pair as documented, or over the whole batch."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from itertools import pairwise

from markbook.metrics._pairwise import Score, clamp, given, mean, measure_each, problem
from markbook.types import Direction, Item, Measurement

_WORD = re.compile(r"\b\w\w+\b")

_ONE_OF_TWO = (1.0 + math.log(1.5)) ** 2
"""The squared weight of a term that one of two texts has: idf = 1 + ln((1 + 2) / (1 + 1)). Of both: 1."""

Term = str | tuple[str, str]


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
    return TfidfCosine("tfidf_cosine", "tfidf_cosine|idf:pair|ngrams:1-2|stop:english-318|multi:max|v1", fitted=False)


def tfidf_cosine_corpus() -> TfidfCosine:
    """Return the cosine with idf fitted on every text of the batch: all candidates and all references.

    As `tfidf_cosine` otherwise. A value depends on the batch it stands in, so a batch is never divided; it
    equals scikit-learn's vectoriser fitted once on candidates and references together.
    """
    signature = "tfidf_cosine_corpus|idf:batch|ngrams:1-2|stop:english-318|multi:max|v1"
    return TfidfCosine("tfidf_cosine_corpus", signature, fitted=True)


@dataclass(frozen=True, slots=True)
class TfidfCosine:
    """TF-IDF cosine; made by `tfidf_cosine` or `tfidf_cosine_corpus`."""

    name: str
    signature: str
    fitted: bool
    """Whether idf is fitted on the batch instead of on each pair."""
    version: int = 1
    range: tuple[float, float] = (0.0, 1.0)
    direction: Direction = "higher"

    @property
    def whole_batch(self) -> bool:
        """Whether dividing a batch would change its values."""
        return self.fitted

    def measure(self, items: Sequence[Item]) -> list[Measurement]:
        """Return one measurement an item, in order."""
        terms = _Terms()
        idf = _fit(terms, items) if self.fitted else None

        def score(item: Item) -> Score:
            scored = [_cosine(terms, item.attempt.text, other, idf) for other in given(item.sample.references)]
            return max(scored, key=lambda one: one[0])

        return measure_each(self.name, self.signature, items, score)

    def summarise(self, measurements: Sequence[Measurement]) -> float | None:
        """Return the mean of the values there are, None if there is none."""
        return mean(measurements)


class _Terms:
    """The terms of texts; the latest are remembered, for references are scored against often."""

    def __init__(self) -> None:
        self._recent: dict[str, Counter[Term]] = {}

    def of(self, text: str) -> Counter[Term]:
        found = self._recent.get(text)
        if found is None:
            if len(self._recent) >= 64:
                del self._recent[next(iter(self._recent))]
            found = self._recent[text] = _count(text)
        return found


def _count(text: str) -> Counter[Term]:
    stop = _stop_words()
    words = [word for word in _WORD.findall(text.lower()) if word not in stop]
    counts: Counter[Term] = Counter(words)
    counts.update(pairwise(words))
    return counts


@lru_cache(maxsize=1)
def _stop_words() -> frozenset[str]:
    text = resources.files("markbook.metrics").joinpath("data", "stop_words.txt").read_text("ascii")
    return frozenset(text.split())


def _fit(terms: _Terms, items: Iterable[Item]) -> dict[Term, float]:
    found: Counter[Term] = Counter()
    n = 0
    for item in items:
        if problem(item.attempt.text, item.sample.references) is None:
            for text in (item.attempt.text, *given(item.sample.references)):
                found.update(terms.of(text).keys())
                n += 1
    return {term: 1.0 + math.log((1 + n) / (1 + df)) for term, df in found.items()}


def _cosine(
    terms: _Terms, candidate: str, reference: str, idf: dict[Term, float] | None
) -> tuple[float, dict[str, object]]:
    ours, theirs = terms.of(candidate), terms.of(reference)
    if not ours and not theirs:
        same = candidate.lower().split() == reference.lower().split()
        return float(same), {"empty_vocabulary": True}
    if not ours or not theirs:
        return 0.0, {"shared_terms": 0}
    shared = ours.keys() & theirs.keys()
    if idf is None:
        products = [(ours[term], theirs[term]) for term in shared]
        dot = sum([a * b for a, b in products])
        own = _ONE_OF_TWO * sum([n * n for n in ours.values()]) + (1 - _ONE_OF_TWO) * sum([a * a for a, _ in products])
        other = _ONE_OF_TWO * sum([n * n for n in theirs.values()]) + (1 - _ONE_OF_TWO) * sum(
            [b * b for _, b in products]
        )
        return clamp(dot / math.sqrt(own * other)), {"shared_terms": len(shared)}
    dot_fitted = math.fsum(ours[term] * theirs[term] * idf[term] ** 2 for term in shared)
    own_fitted = math.fsum((count * idf[term]) ** 2 for term, count in ours.items())
    other_fitted = math.fsum((count * idf[term]) ** 2 for term, count in theirs.items())
    return clamp(dot_fitted / math.sqrt(own_fitted * other_fitted)), {"shared_terms": len(shared)}
