"""The cosine of two texts' TF-IDF vectors: over the pair as documented, or over the whole batch."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import resources
from itertools import chain, pairwise
from operator import itemgetter

import numpy as np

from markbook.metrics import Score, UnitMetric, clamp, drop_missing_references, measure_each, problem
from markbook.metrics.overlaps import Block, count_groups, measure_blocks, ngram_tables
from markbook.metrics.tokens import FIRST, Vocabulary
from markbook.types import Item, Measurement

_WORD = re.compile(r"\b\w\w+\b")

Term = str | tuple[str, str]
"""A word, or two neighbours."""

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
class TfidfCosine(UnitMetric):
    """TF-IDF cosine; made by `tfidf_cosine` or `tfidf_cosine_corpus`."""

    name: str
    signature: str
    whole_batch: bool
    """Whether idf is fitted on the batch instead of on each pair."""

    def measure(self, items: Sequence[Item]) -> list[Measurement]:
        """Return one measurement an item, in order."""
        if not self.whole_batch:
            vocabulary = Vocabulary(partial(map, _terms))
            return measure_blocks([(self.name, self.signature)], items, partial(_scores, vocabulary))[0]
        counts = lru_cache(maxsize=64)(_count_terms)  # references are scored against often
        frequencies: Counter[Term] = Counter()
        n = 0
        for item in items:
            if problem(item.attempt.text, item.sample.references) is None:
                for text in (item.attempt.text, *drop_missing_references(item.sample.references)):
                    frequencies.update(counts(text).keys())
                    n += 1
        idf = {term: 1.0 + math.log((1 + n) / (1 + df)) for term, df in frequencies.items()}

        def score(item: Item) -> Score:
            candidate, references = item.attempt.text, drop_missing_references(item.sample.references)
            scores = []
            for reference in references:
                ours, theirs = counts(candidate), counts(reference)
                if not ours or not theirs:
                    scores.append(_score_without_terms(candidate, reference, both=not ours and not theirs))
                    continue
                # An exact sum is the same for every order of the terms and of the rows.
                weights = [{term: idf[term] * many for term, many in side.items()} for side in (ours, theirs)]
                shared = weights[0].keys() & weights[1].keys()
                dot = math.fsum(weights[0][term] * weights[1][term] for term in shared)
                lengths = math.prod(math.fsum(weight * weight for weight in side.values()) for side in weights)
                scores.append((clamp(dot / math.sqrt(lengths)), {"shared_terms": len(shared)}))
            return max(scores, key=itemgetter(0))

        return measure_each(self.name, self.signature, items, score)


def _terms(text: str) -> list[str]:
    stop = _stop_words()
    return [word for word in _WORD.findall(text) if word not in stop]


def _count_terms(text: str) -> Counter[Term]:
    words = _terms(text.lower())
    return Counter[Term](chain(words, pairwise(words)))


@lru_cache(maxsize=1)
def _stop_words() -> frozenset[str]:
    text = resources.files("markbook.metrics.text").joinpath("data", "stop_words.txt").read_text("ascii")
    return frozenset(text.split())


def _score_without_terms(candidate: str, reference: str, *, both: bool) -> Score:
    """Return the score of two texts one of which has no term, or both."""
    if both:
        return float(candidate.lower().split() == reference.lower().split()), {"empty_vocabulary": True}
    return 0.0, {"shared_terms": 0}


def _scores(vocabulary: Vocabulary, block: Block) -> list[list[Score]]:
    """Return the pairwise cosine of each row: the most similar reference counts."""
    pairs = block.pairs
    tokens = vocabulary.tokens(text.lower().split() for text in block.texts)
    # Of each pair's terms: squares of ours, of theirs, products, squares of the shared ones of both, how many are shared.
    sums = np.zeros((6, len(pairs)), dtype=np.int64)
    for chosen, table in ngram_tables(tokens, [(ours, (theirs,)) for ours, theirs in pairs], 2, 1):
        lines, columns = table.shape
        for n, (starts, (ours, theirs)) in enumerate(count_groups(table, 2, tokens.width, 1, 1), 1):
            terms = table.ravel()[starts]
            is_term = terms != np.iinfo(table.dtype).max
            if n == 2:  # the last word of a text is followed by an end
                is_term &= ((terms >> 1) & ((1 << tokens.width) - 1)) >= FIRST
            a, b = np.where(is_term, ours, 0).astype(np.int64), np.where(is_term, theirs, 0).astype(np.int64)
            shared = (a > 0) & (b > 0)
            summands = np.stack((a * a, b * b, a * b, a * a * shared, b * b * shared, shared))
            sums[:, chosen] += np.add.reduceat(summands, np.searchsorted(starts, np.arange(lines) * columns), axis=1)
    own = _ONE_OF_TWO * sums[0] + (1 - _ONE_OF_TWO) * sums[3]
    other = _ONE_OF_TWO * sums[1] + (1 - _ONE_OF_TWO) * sums[4]
    has_terms = (sums[0] > 0) & (sums[1] > 0)
    values = np.clip(sums[2] / np.sqrt(np.where(has_terms, own * other, 1.0)), 0.0, 1.0)
    scores: list[Score] = [
        (value, {"shared_terms": n}) for value, n in zip(values.tolist(), sums[5].tolist(), strict=True)
    ]
    for i in np.flatnonzero(~has_terms).tolist():
        candidate, reference = (block.texts[text] for text in pairs[i])
        scores[i] = _score_without_terms(candidate, reference, both=not sums[0, i] and not sums[1, i])
    return [block.best(scores)]
