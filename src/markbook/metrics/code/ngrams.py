"""N-grams of white-space words that a candidate has in common with a reference."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rapidfuzz.distance import LCSseq

from markbook.metrics.code.grammars import KEYWORDS
from markbook.metrics.overlaps import overlaps
from markbook.metrics.tokens import Vocabulary

_SHORT = 2_000
"""Up to this many words sorted lists are faster than arrays."""
_LARGEST = 1 << 61
"""n-grams are integers below this, so that no two have the same hash."""
_CACHED_CHARACTERS = 50_000


@dataclass(frozen=True, slots=True)
class Words:
    """A reference's words, with what its comparison needs of it alone."""

    words: list[str]
    keywords: dict[str, int]
    """How often each keyword of the language stands in it."""
    numbers: dict[str, int]
    """A number for each distinct word."""
    keys: list[list[int]]
    """For n = 1, 2, ...: its n-grams, each spelled as one integer, sorted. Empty for a long text."""


def read(text: str, lang: str, order: int) -> Words:
    """Return the words of a reference. Short ones are remembered: a reference is marked against many candidates."""
    return _read_cached(text, lang, order) if len(text) <= _CACHED_CHARACTERS else _read(text, lang, order)


def _read(text: str, lang: str, order: int) -> Words:
    words = text.split()
    counts = Counter(words)
    numbers = {word: number for number, word in enumerate(counts)}
    width = len(numbers) + 1
    is_short = len(words) <= _SHORT and width**order < _LARGEST
    keys = _keys([numbers[word] for word in words], width, order) if is_short else []
    keywords = {word: counts[word] for word in counts.keys() & KEYWORDS[lang]}
    return Words(words, keywords, numbers, keys)


_read_cached = functools.lru_cache(maxsize=1024)(_read)


def forget() -> None:
    """Start anew, as a new process would."""
    _read_cached.cache_clear()


def _keys(tokens: list[int], width: int, order: int) -> list[list[int]]:
    """Return the n-grams for n = 1..order, each spelled as one integer, sorted."""
    grams = keys = np.array(tokens, dtype=np.int64)
    out = [np.sort(keys).tolist()]
    for n in range(1, order):
        keys = keys[:-1] * width + grams[n:]
        out.append(np.sort(keys).tolist())
    return out


def count_shared_ngrams(words: Sequence[str], other: Words, order: int) -> list[int]:
    """Return how many n-grams two texts have in common for n = 1..order, each as often as both have it.

    A word that the reference lacks has one number more than all of its words, so that what it stands in never
    matches. What two sorted sequences have in common in order, two bags have in common.
    """
    if not other.keys or len(words) > _SHORT:
        return clip_ngram_counts(words, [other], order)
    unknown = len(other.numbers)
    number = other.numbers.get
    mine = _keys([number(word, unknown) for word in words], unknown + 1, order)
    return [LCSseq.similarity(ours, theirs) for ours, theirs in zip(mine, other.keys, strict=True)]


def clip_ngram_counts(words: Sequence[str], others: Sequence[Words], order: int) -> list[int]:
    """Return how many n-grams of a text several references have, each as often as the one that has most of it."""
    vocabulary = Vocabulary(lambda words: [(word,) for word in words])
    tokens = vocabulary.tokens([words, *[other.words for other in others]])
    counts: list[int] = overlaps(tokens, [(0, tuple(range(1, len(others) + 1)))], order)[0].tolist()
    return counts
