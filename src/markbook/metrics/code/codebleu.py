"""CodeBLEU: how much code resembles a reference in its tokens, its syntax and its data flow.

Theory of operation
-------------------
The score is a weighted mean of four parts, each 0..1:

- n-gram match: BLEU-4 over white-space tokens;
- weighted n-gram match: the same as a recall of the reference, in which a single keyword counts 1 and another word 0.2;
- syntax match: the share of the reference's sub-trees that the candidate has too. `parsers.py` gives each sub-tree shape a
  number, so that trees are compared as multisets of numbers;
- data-flow match: the share of the reference's edges "this variable comes from those" that the candidate has (`flow.py`).

Both n-gram parts need the n-grams that candidate and reference have in common, which are counted once. With one reference
(the usual case) they are sorted lists of integers, remembered with the reference, and the longest common subsequence of two sorted
lists is their common multiset; with several, or long texts, `markbook.metrics.overlaps` counts, as it does for BLEU.

A text is read once into a `CodeShape` (sub-trees and edges), and references are remembered, because many candidates are marked
against each. Numbers of sub-trees belong to the `CodeReader` that gave them: the shapes of two readers cannot be compared, so
all texts of a row come from one reader, and a reader whose table has grown too large is replaced between rows only.

A part that the reference does not define (no data flow in it, code that does not parse) is dropped and the other weights are
scaled up; it is never 0. Of a candidate that does not parse, the sub-trees and edges that the parser recovers count.

Source: Ren et al. 2020, arXiv 2009.10297.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from rapidfuzz.distance import LCSseq

from markbook import plugins
from markbook.errors import UsageError, suggest
from markbook.languages import language
from markbook.metrics import (
    NO_STATS,
    PairMetric,
    Score,
    clamp,
    drop_missing_references,
    measure_each,
    missing_undefined,
)
from markbook.metrics.code import parsers
from markbook.metrics.code.flow import Edge, edges
from markbook.metrics.code.parsers import GRAMMARS, KEYWORDS, Shapes
from markbook.metrics.overlaps import overlaps
from markbook.metrics.tokens import Vocabulary
from markbook.types import Attempt, Item, Measurement, Sample

# Texts as CodeBLEU compares them, each read once: a reference is marked against many candidates.

CACHED_CHARACTERS = 50_000
"""Longer texts are not remembered."""


@dataclass(frozen=True, slots=True)
class CodeShape:
    """What is compared of one text beyond its words. Numbers are those of the reader that made it."""

    syntax: Counter[int] = field(default_factory=Counter)
    """How often each sub-tree occurs; empty where the parser refuses the text."""
    flow: Counter[Edge] = field(default_factory=Counter)
    parses: bool = False


class CodeReader:
    """Reads the texts of one language. Short ones are remembered, references apart from candidates."""

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self.shapes = Shapes()
        self._reference = functools.lru_cache(maxsize=1024)(self._read)
        self._candidate = functools.lru_cache(maxsize=256)(self._read)

    def reference(self, text: str) -> CodeShape:
        """Return what is compared of a reference."""
        return self._reference(text) if len(text) <= CACHED_CHARACTERS else self._read(text)

    def candidate(self, text: str) -> CodeShape:
        """Return what is compared of a candidate."""
        return self._candidate(text) if len(text) <= CACHED_CHARACTERS else self._read(text)

    def _read(self, text: str) -> CodeShape:
        read = parsers.read(self.lang, text, self.shapes)
        if isinstance(read, str) or not read.counted:
            return CodeShape()
        return CodeShape(Counter(read.counted), edges(read.program), read.parses)


_READERS: dict[str, CodeReader] = {}


def reader(lang: str) -> CodeReader:
    """Return the reader of a language; a new one where the table of the last has grown too large."""
    code_reader = _READERS.get(lang)
    if code_reader is None or code_reader.shapes.is_full:
        code_reader = _READERS[lang] = CodeReader(lang)
    return code_reader


def forget() -> None:
    """Start anew, as a new process would."""
    _READERS.clear()
    _read_cached.cache_clear()


# N-grams of white-space words that a candidate has in common with a reference.

_SHORT = 2_000
"""Up to this many words sorted lists are faster than arrays."""
_LARGEST = 1 << 61
"""n-grams are integers below this, so that no two have the same hash."""


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
    return _read_cached(text, lang, order) if len(text) <= CACHED_CHARACTERS else _read(text, lang, order)


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
    unknown = len(other.numbers)  # one number for all words that the reference lacks: none of them can match
    number = other.numbers.get
    mine = _keys([number(word, unknown) for word in words], unknown + 1, order)
    return [LCSseq.similarity(ours, theirs) for ours, theirs in zip(mine, other.keys, strict=True)]


def clip_ngram_counts(words: Sequence[str], others: Sequence[Words], order: int) -> list[int]:
    """Return how many n-grams of a text several references have, each as often as the one that has most of it."""
    vocabulary = Vocabulary(lambda words: [(word,) for word in words])
    tokens = vocabulary.tokens([words, *[other.words for other in others]])
    counts: list[int] = overlaps(tokens, [(0, tuple(range(1, len(others) + 1)))], order)[0].tolist()
    return counts


PARTS = ("ngram", "weighted_ngram", "syntax", "dataflow")
_GRAMMAR_NAMES = {"csharp": "c_sharp"}
"""What a grammar is called where tree-sitter has another word for the language than `markbook.languages`."""
_ORDER = 4
_EPSILON = 0.1
"""Count of an order without a match (smoothing method 1 of Chen and Cherry 2014)."""
_AHEAD = 100
"""How many rows are read before they are compared; fewer than a reader remembers."""
_KEYWORD_WEIGHT, _WORD_WEIGHT = 1.0, 0.2


@dataclass(frozen=True, slots=True)
class CodeBleu(PairMetric):
    """CodeBLEU of pairs. A batch is read text by text before it is compared: each stage stays in the processor's caches."""

    lang: str = field(kw_only=True)

    def measure(self, items: Sequence[Item]) -> list[Measurement]:
        """Return one measurement an item, in order."""
        measurements: list[Measurement] = []
        # Reading all before comparing any would push references out of the reader's memory again.
        for start in range(0, len(items), _AHEAD):
            some = items[start : start + _AHEAD]
            # What a row raises here it raises again below, where it is recorded.
            measure_each(self.name, self.signature, some, self._read)
            measurements += measure_each(self.name, self.signature, some, self._score)
        return measurements

    def _read(self, item: Item) -> Score:
        """Read the texts of one row, which are remembered; the score is nobody's."""
        code_reader = reader(self.lang)
        if len(item.attempt.text) <= CACHED_CHARACTERS:
            code_reader.candidate(item.attempt.text.strip())
        for reference in drop_missing_references(item.sample.references):
            if len(reference) <= CACHED_CHARACTERS:
                code_reader.reference(reference.strip())
        return 0.0, NO_STATS


def codebleu(
    *, lang: str = "python", weights: Iterable[float] = (0.25, 0.25, 0.25, 0.25), profile: str = "corrected"
) -> PairMetric:
    """Return the weighted mean of four matches with the reference, 0 to 1; higher is better.

    The parts are BLEU-4 over white-space tokens, the same as a recall in which keywords weigh 1 and other words .2,
    the share of the reference's sub-trees that the candidate has, and the share of its data-flow edges. Part values
    stand in `stats`; a part that the reference does not define (no data flow in it, code that does not parse, a text
    of more than 400 levels) is dropped, listed in `stats["dropped"]`, and the weights of the others are scaled up
    (`stats["weights"]`). Of a candidate that does not parse, what the parser recovers counts. Several references:
    the best one for each part but the first, which clips against all of them. Source: Ren et al. 2020,
    arXiv 2009.10297, with the repairs that `docs/metrics/codebleu.md` lists.

    Args:
        lang: python, java, javascript, go, c, cpp, rust, c_sharp, php or ruby.
        weights: of the four parts.
        profile: `documented` is plain BLEU, as the document computes what it calls CodeBLEU.

    Raises:
        UsageError: an option has a value that it cannot have.
        ExtraMissingError: the extra `code` (tree-sitter and its grammars) is not installed.
    """
    if profile == "documented":
        metric: PairMetric = plugins.create("metrics", "bleu", convention="hf")
        return PairMetric(
            name="codebleu",
            signature=f"codebleu|profile:documented|{metric.signature}",
            score=functools.partial(_as_bleu, metric),
            direction="higher",
        )
    if profile != "corrected":
        raise UsageError(f"unknown profile {profile!r}", hint="corrected, documented")
    with contextlib.suppress(UsageError):  # of a language without programs there may still be a grammar
        lang = language(lang).name
    lang = _GRAMMAR_NAMES.get(lang.lower(), lang.lower())
    if lang not in GRAMMARS:
        raise UsageError(f"unknown language {lang!r}", hint=suggest(lang, sorted(GRAMMARS)))
    shares = tuple(float(weight) for weight in weights)
    if len(shares) != len(PARTS) or min(shares) < 0 or not math.isfinite(sum(shares)) or sum(shares) <= 0:
        raise UsageError(f"weights {shares} are not four shares", hint="four numbers of at least 0, not all 0")
    listed = ",".join(f"{weight:g}" for weight in shares)
    return CodeBleu(
        name="codebleu",
        signature=f"codebleu|lang:{lang}|parser:tree-sitter[{parsers.version(lang)}]|w:{listed}|df:renorm|multi:best|v2",
        score=functools.partial(_score, lang, shares),
        direction="higher",
        lang=lang,
        version=2,
    )


def _as_bleu(metric: PairMetric, candidate: str, references: tuple[str, ...]) -> Score:
    measurements = metric.measure([Item(Sample("", references=references), Attempt("", candidate))])[0]
    value = measurements.value if measurements.value is not None else measurements.missing
    assert value is not None
    return value, measurements.stats


def _score(lang: str, weights: tuple[float, ...], candidate: str, references: tuple[str, ...]) -> Score:
    texts = [reference.strip() for reference in references if reference.strip()]
    if not texts:
        return missing_undefined("the reference is empty"), {}
    candidate = candidate.strip()
    ngram, weighted = _word_parts(candidate, texts, lang)
    parts: dict[str, float | None] = {"ngram": ngram, "weighted_ngram": weighted}
    # All texts of one row are read by one reader: numbers of two readers do not compare.
    code_reader = reader(lang)
    shape, shapes = code_reader.candidate(candidate), [code_reader.reference(text) for text in texts]
    parts["syntax"] = _best([_syntax(shape, other) for other in shapes])
    parts["dataflow"] = _best([_flow(shape, other) for other in shapes])
    stats: dict[str, object] = {name: value for name, value in parts.items() if value is not None}
    stats["dropped"] = [name for name in PARTS if name not in stats]
    stats["candidate_parses"] = shape.parses
    used = [weight for name, weight in zip(PARTS, weights, strict=True) if name in stats]
    total = math.fsum(used)
    if not total:
        return missing_undefined("no part with a weight is defined for this reference"), stats
    defined = [(name, value) for name, value in parts.items() if value is not None]
    shares = [weight / total for weight in used]
    stats["weights"] = {name: share for (name, _), share in zip(defined, shares, strict=True)}
    return clamp(math.fsum([share * value for (_, value), share in zip(defined, shares, strict=True)])), stats


def _best(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None) if len(values) > 1 else values[0]


def _word_parts(candidate: str, references: list[str], lang: str) -> tuple[float, float]:
    """Return BLEU-4 clipped against all references, and the best reference's recall in which keywords weigh more."""
    words = candidate.split()
    counts = Counter(words)
    others = [read(text, lang, _ORDER) for text in references]
    recalled = [count_shared_ngrams(words, other, _ORDER) for other in others]
    matches = recalled[0] if len(others) == 1 else clip_ngram_counts(words, others, _ORDER)
    nearest = min((len(other.words) for other in others), key=lambda size: (abs(size - len(words)), size))
    ratios = [(float(matched), float(max(1, len(words) - n))) for n, matched in enumerate(matches)]
    ngram = _geometric(ratios, _penalty(len(words), nearest))
    # A recall already falls with what is missing, so length is punished only below two words, as everywhere published.
    penalty = _penalty(len(words), 2)
    weighted = []
    for shared, other in zip(recalled, others, strict=True):
        most = _weigh(sum(other.keywords.values()), len(other.words))
        keywords = sum([min(many, counts[word]) for word, many in other.keywords.items() if word in counts])
        ratios = [(_weigh(keywords, shared[0]), max(1.0, most))]
        ratios += [(float(many), float(max(1, len(other.words) - n))) for n, many in enumerate(shared[1:], 1)]
        weighted.append(_geometric(ratios, penalty))
    return ngram, max(weighted)


def _weigh(keywords: int, words: int) -> float:
    return _KEYWORD_WEIGHT * keywords + _WORD_WEIGHT * (words - keywords)


def _penalty(length: int, reference: int) -> float:
    if length > reference:
        return 1.0
    return math.exp(1 - reference / length) if length else 0.0


def _geometric(matches: Sequence[tuple[float, float]], penalty: float) -> float:
    if matches[0][0] == 0:
        return 0.0
    logs = [math.log((matched or _EPSILON) / most) / _ORDER for matched, most in matches]
    return penalty * math.exp(math.fsum(logs))


def _syntax(mine: CodeShape, other: CodeShape) -> float | None:
    """Return the share of the reference's sub-trees that the candidate has; None where the reference has none."""
    if not other.syntax:
        return None
    have = mine.syntax
    return sum([many for shape, many in other.syntax.items() if shape in have]) / other.syntax.total()


def _flow(mine: CodeShape, other: CodeShape) -> float | None:
    if not other.flow:
        return None
    have = mine.flow
    return sum([min(many, have[edge]) for edge, many in other.flow.items() if edge in have]) / other.flow.total()
