"""METEOR as NLTK computes it: words matched exactly, by stem, by synonym, with a penalty for fragments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter

import numpy as np

from markbook.errors import ConfigError
from markbook.metrics.blocks import Block, measure_blocks
from markbook.metrics.pairs import Score
from markbook.metrics.text import treebank
from markbook.metrics.text.alignment import Alignment
from markbook.metrics.text.synonyms import table_digest
from markbook.metrics.text.unicode import version
from markbook.metrics.tokens import Numbers, Vocabulary
from markbook.types import Direction, Item, Measurement, Metric

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
    table = f"wordnet-3.0#{table_digest()}" if synonyms else "none"
    tok = f"{tokenizer}-unicode{version()}" if tokenizer == "treebank" else tokenizer
    return Meteor(
        signature=f"meteor|a:.9|b:3|g:.5|tok:{tok}|stem:porter-nltk|syn:{table}|multi:max|v1",
        tokenizer=tokenizer,
        synonyms=synonyms,
    )


@dataclass(frozen=True, slots=True)
class Meteor(Metric):
    """METEOR with its options; made by `meteor`."""

    signature: str
    tokenizer: str
    synonyms: bool
    name: str = "meteor"
    version: int = 1
    range: tuple[float, float] = (0.0, 1.0)
    direction: Direction = "higher"

    def measure(self, items: Sequence[Item]) -> list[Measurement]:
        """Return one measurement an item, in order."""
        is_treebank = self.tokenizer == "treebank"
        vocabulary = Vocabulary(treebank.tokens if is_treebank else _lower)
        cut = treebank.pieces if is_treebank else str.split
        alignment = Alignment(vocabulary, synonyms=self.synonyms)

        def score(block: Block) -> list[list[Score]]:
            pairs = [(candidate, reference) for candidate, references in block.rows for reference in references]
            tokens = vocabulary.tokens(map(cut, block.texts))
            sizes = tokens.sizes[np.array(pairs)]
            scores = _scores(*alignment.count(tokens, pairs), sizes[:, 0], sizes[:, 1])
            if len(pairs) == len(block.rows):
                return [scores]
            remaining = iter(scores)
            return [[max(islice(remaining, len(refs)), key=itemgetter(0)) for _, refs in block.rows]]

        return measure_blocks([(self.name, self.signature)], items, score)[0]


def _lower(pieces: list[str]) -> list[tuple[str]]:
    return [(piece.lower(),) for piece in pieces]


def _scores(matches: Numbers, chunks: Numbers, n_candidate: Numbers, n_reference: Numbers) -> list[Score]:
    precision = matches / np.maximum(n_candidate, 1)
    recall = matches / np.maximum(n_reference, 1)
    divisor = _ALPHA * precision + (1 - _ALPHA) * recall
    fmean = np.divide(precision * recall, divisor, out=np.zeros(len(matches)), where=matches > 0)
    penalty = _GAMMA * (chunks / np.maximum(matches, 1)) ** _BETA
    values = np.clip((1 - penalty) * fmean, 0.0, 1.0)
    columns = (values, precision, recall, matches, chunks)
    return [
        (value, {"precision": p, "recall": r, "matches": n, "chunks": c})
        for value, p, r, n, c in zip(*(column.tolist() for column in columns), strict=True)
    ]
