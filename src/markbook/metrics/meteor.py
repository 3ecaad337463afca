"""METEOR as NLTK computes it: words matched exactly, by stem, by synonym, with a penalty for fragments."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from markbook.errors import ConfigError
from markbook.metrics._pairwise import Score, clamp, given, mean, measure_each
from markbook.metrics._porter import stem
from markbook.metrics._synonyms import synonyms as synonyms_of, table_digest
from markbook.metrics._treebank import Treebank
from markbook.types import Direction, Item, Measurement

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
    return Meteor(
        signature=f"meteor|a:.9|b:3|g:.5|tok:{tokenizer}|stem:porter-nltk|syn:{table}|multi:max|v1",
        tokenizer=tokenizer,
        synonyms=synonyms,
    )


@dataclass(frozen=True, slots=True)
class Meteor:
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
        treebank = Treebank()
        tokens = treebank.tokens if self.tokenizer == "treebank" else _whitespace

        def score(item: Item) -> Score:
            candidate = tokens(item.attempt.text)
            references = [tokens(reference) for reference in given(item.sample.references)]
            return max(
                (_against(candidate, reference, synonyms=self.synonyms) for reference in references),
                key=lambda scored: scored[0],
            )

        return measure_each(self.name, self.signature, items, score)

    def summarise(self, measurements: Sequence[Measurement]) -> float | None:
        """Return the mean of the values there are, None if there is none."""
        return mean(measurements)


def _whitespace(text: str) -> list[str]:
    return [token.lower() for token in text.split()]


def _against(candidate: list[str], reference: list[str], *, synonyms: bool) -> tuple[float, dict[str, object]]:
    matches = _align(candidate, reference, synonyms=synonyms)
    n_matched = len(matches)
    if not n_matched:
        return 0.0, {"precision": 0.0, "recall": 0.0, "matches": 0, "chunks": 0}
    precision = n_matched / len(candidate)
    recall = n_matched / len(reference)
    fmean = (precision * recall) / (_ALPHA * precision + (1 - _ALPHA) * recall)
    chunks = 1
    for (i, j), (next_i, next_j) in pairwise(matches):
        if next_i != i + 1 or next_j != j + 1:
            chunks += 1
    penalty = _GAMMA * (chunks / n_matched) ** _BETA
    score = clamp((1 - penalty) * fmean)
    return score, {"precision": precision, "recall": recall, "matches": n_matched, "chunks": chunks}


def _align(candidate: list[str], reference: list[str], *, synonyms: bool) -> list[tuple[int, int]]:
    """Match greedily from the end, stage by stage; what a stage leaves over goes on as its stem.

    The synonym stage looks up the stems, not the words: that is what NLTK does, so it is what the name means.
    """
    matches: list[tuple[int, int]] = []
    left, right = _match(candidate, range(len(candidate)), reference, range(len(reference)), matches)
    our_stems = {i: stem(candidate[i]) for i in left}
    their_stems = {j: stem(reference[j]) for j in right}
    left, right = _match(our_stems, left, their_stems, right, matches)
    if synonyms and left and right:
        _match_synonyms([(i, our_stems[i]) for i in left], [(j, their_stems[j]) for j in right], matches)
    matches.sort()
    return matches


_Words = Sequence[str] | Mapping[int, str]
"""Words by their place in the text."""


def _match(
    ours: _Words, left: Sequence[int], theirs: _Words, right: Sequence[int], matches: list[tuple[int, int]]
) -> tuple[list[int], list[int]]:
    """Match equal words at these places, each to the latest free one on the right; return the places left over."""
    free: defaultdict[str, list[int]] = defaultdict(list)
    for j in right:
        free[theirs[j]].append(j)
    unmatched = []
    for i in reversed(left):
        places = free.get(ours[i])
        if places:
            matches.append((i, places.pop()))
        else:
            unmatched.append(i)
    unmatched.reverse()
    return unmatched, sorted(chain.from_iterable(free.values()))


def _match_synonyms(left: list[tuple[int, str]], right: list[tuple[int, str]], matches: list[tuple[int, int]]) -> None:
    """Match each word to the latest free word on the right that is one of its synonyms."""
    free: dict[str, list[int]] = {}
    for j, word in right:
        free.setdefault(word, []).append(j)
    for i, word in reversed(left):
        nearest = max(synonyms_of(word) & free.keys(), key=lambda synonym: free[synonym][-1], default=None)
        if nearest is not None:
            matches.append((i, free[nearest].pop()))
            if not free[nearest]:
                del free[nearest]
