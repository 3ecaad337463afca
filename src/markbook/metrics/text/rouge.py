"""ROUGE-1, ROUGE-2, ROUGE-L and ROUGE-Lsum, equal to the rouge-score package."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Any, Literal, Self

import numpy as np
from rapidfuzz.distance import LCSseq

from markbook.errors import ConfigError
from markbook.metrics import NO_STATS, Score, UnitMetric
from markbook.metrics.overlaps import Block, measure_blocks, overlaps
from markbook.metrics.text.edit_distance import MAX_CELLS, MAX_TABLE_CELLS, positions
from markbook.metrics.text.porter import stem
from markbook.metrics.tokens import Numbers, Tokens, Vocabulary
from markbook.types import Item, Measurement, Missing, MissingKind

Kind = Literal["rouge1", "rouge2", "rougeL", "rougeLsum"]

_CJK = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
TOKENIZERS = {
    "ascii": re.compile(r"[a-z0-9]+"),
    # A CJK letter is a word by itself, since such text has no spaces between words.
    "unicode": re.compile(rf"[{_CJK}]|(?:(?![{_CJK}])[^\W_])+"),
}

_MAX_LINE_PAIRS = 4 * 10**6


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
class Rouge(UnitMetric):
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

    def measure(self, items: Sequence[Item]) -> list[Measurement]:
        """Return one measurement an item, in order."""
        return self.together([self], items)[0]

    @classmethod
    def together(cls, metrics: Sequence[Self], items: Sequence[Item]) -> list[list[Measurement]]:
        """Return each metric's measurements; those of equal options share one pass over each text's words."""
        families: dict[tuple[bool, str], list[int]] = {}
        for i, metric in enumerate(metrics):
            families.setdefault((metric.stemmer, metric.tokenizer), []).append(i)
        columns: list[list[Measurement]] = [[] for _ in metrics]
        for (stemmer, tokenizer), members in families.items():
            chosen = [metrics[i] for i in members]
            score = partial(
                _scores, [metric.name for metric in chosen], _vocabulary(stemmer=stemmer, tokenizer=tokenizer)
            )
            measured = measure_blocks([(metric.name, metric.signature) for metric in chosen], items, score)
            for i, column in zip(members, measured, strict=True):
                columns[i] = column
        return columns


def _vocabulary(*, stemmer: bool, tokenizer: str) -> Vocabulary:
    find = TOKENIZERS[tokenizer].findall

    def words(piece: str) -> Sequence[str]:
        # In such a piece the pattern would find the piece itself.
        return (piece,) if piece.isascii() and piece.isalnum() else find(piece)

    def stems(piece: str) -> Sequence[str]:
        # rouge-score stems words of more than three letters only.
        return [stem(word) if len(word) > 3 else word for word in words(piece)]

    return Vocabulary(partial(map, stems if stemmer else words))


def compared_words(text: str, *, stemmer: bool, tokenizer: str) -> list[tuple[str, str]]:
    """Return each of a text's words in small letters, beside what is compared of it."""
    words = [word for piece in _pieces(text) for word in TOKENIZERS[tokenizer].findall(piece)]
    return [(word, stem(word) if stemmer and len(word) > 3 else word) for word in words]


def _pieces(text: str) -> list[str]:
    """Return what no word crosses: a text's pieces between white space."""
    return text.lower().split()


def _scores(kinds: Sequence[Kind], vocabulary: Vocabulary, block: Block) -> list[list[Score]]:
    """Return the scores of each kind, one a row: the reference with the largest F1 counts."""
    tokens = vocabulary.tokens(map(_pieces, block.texts))
    against = _Against(block, tokens, vocabulary)
    columns = [block.best(against.scores(kind)) for kind in kinds]
    sizes = tokens.sizes.tolist()
    for row, (candidate, references) in enumerate(block.rows):
        if not sizes[candidate] or not any(sizes[reference] for reference in references):
            for column in columns:
                value, stats = column[row]
                column[row] = value, {**stats, "tokens_empty": True}
    return columns


class _Against:
    """Pairs of one candidate and one reference, and what was counted of them so far."""

    def __init__(self, block: Block, tokens: Tokens, vocabulary: Vocabulary) -> None:
        self._texts = block.texts
        self._pairs = block.pairs
        self._tokens = tokens
        self._vocabulary = vocabulary
        self._sizes = tokens.sizes[np.array(self._pairs)]
        self._overlaps: Numbers | None = None

    def scores(self, kind: Kind) -> list[Score]:
        """Return one score a pair."""
        if kind in ("rouge1", "rouge2"):
            if self._overlaps is None:  # of words and of pairs of words, shape (pairs, 2): one count serves both kinds
                rows = [(candidate, (reference,)) for candidate, reference in self._pairs]
                self._overlaps = overlaps(self._tokens, rows, 2)
            shorter = int(kind == "rouge2")
            return self._f1(self._overlaps[:, shorter], shorter)
        limit = MAX_CELLS if kind == "rougeL" else MAX_TABLE_CELLS
        too_long = self._sizes[:, 0] * self._sizes[:, 1] > limit
        if kind == "rougeL":
            texts: Sequence[Any] = self._tokens.strings()
            count: Callable[[Any, Any], int] = LCSseq.similarity
        else:
            lines = [text.count("\n") + 1 for text in self._texts]
            too_long |= np.array([lines[a] * lines[b] > _MAX_LINE_PAIRS for a, b in self._pairs])
            skipped = {text for pair, cut in zip(self._pairs, too_long.tolist(), strict=True) if cut for text in pair}
            texts = self._lines(skipped)
            count = _summary_hits
        # Refused by their lengths, before anything is compared: the reason costs nothing.
        skip = too_long.tolist()
        hits = [0 if cut else count(texts[a], texts[b]) for (a, b), cut in zip(self._pairs, skip, strict=True)]
        scores = self._f1(np.array(hits), 0)
        for i in np.flatnonzero(too_long).tolist():
            ours, theirs = self._sizes[i].tolist()
            detail = f"texts of {ours} and {theirs} words: their common subsequence would take minutes"
            scores[i] = Missing(MissingKind.BUDGET, detail), NO_STATS
        return scores

    def _lines(self, skipped: Collection[int]) -> list[list[list[int]]]:
        """Return the words of each text's lines; none for those that are not compared."""
        split = [
            [] if i in skipped else [_pieces(line) for line in text.split("\n") if line]
            for i, text in enumerate(self._texts)
        ]
        tokens = self._vocabulary.tokens(chain.from_iterable(split))
        lines = iter(tokens.lists())
        return [list(islice(lines, len(line_words))) for line_words in split]

    def _f1(self, hits: Numbers, shorter: int) -> list[Score]:
        """Return F1 = 2 P R / (P + R) of the matches of each pair, shape (pairs,); a text has `shorter` fewer n-grams than words."""
        possible = np.maximum(self._sizes - shorter, 1)
        precision, recall = hits / possible[:, 0], hits / possible[:, 1]
        total = precision + recall
        f1 = np.divide(2 * precision * recall, total, out=np.zeros(len(hits)), where=total > 0)
        return [
            (value, {"precision": p, "recall": r})
            for value, p, r in zip(f1.tolist(), precision.tolist(), recall.tolist(), strict=True)
        ]


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
        for other, word_set in zip(candidate, as_sets, strict=True):
            if not words.isdisjoint(word_set):
                union.update(positions(line, other))
        # A word counts as often as both texts have it, however many lines it was matched in.
        for i in sorted(union):
            word = line[i]
            if ours[word] > 0 and theirs[word] > 0:
                hits += 1
                ours[word] -= 1
                theirs[word] -= 1
    return hits
