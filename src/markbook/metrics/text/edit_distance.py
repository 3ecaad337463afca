"""Texts compared as they stand: edit distance, exact match, and the Jaccard index of their words."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from markbook.errors import ConfigError
from markbook.metrics import PairMetric, Score, drop_missing_references, measure_each
from markbook.text.child import Helper
from markbook.types import Item, Measurement, Missing, MissingKind, digest_text

# Comparing two sequences: how much work is too much, and which words are in a longest common subsequence.

MAX_CELLS = 10**12
"""The largest product of two texts' lengths that is compared: about ten seconds of bit-parallel work."""

MAX_TABLE_CELLS = 2 * 10**9
"""The largest product for which the rows of the table are kept: about 250 MB."""


def positions(reference: Sequence[int], candidate: Sequence[int]) -> list[int]:
    """Return the indices in the reference of one longest common subsequence, the last index first.

    Of several it is the one that ROUGE's implementations read out: from the end, along the candidate only where
    that keeps more. Each row of the table is one integer whose zero bits mark where the length grows (Hyyrö 2004),
    so a row costs a few operations on machine words instead of a loop over the candidate.
    """
    places: dict[int, int] = {}
    for j, word in enumerate(candidate):
        places[word] = places.get(word, 0) | (1 << j)
    row = (1 << len(candidate)) - 1
    full = row
    grown = [0]
    for word in reference:
        hits = row & places.get(word, 0)
        row = ((row + hits) | (row - hits)) & full
        grown.append(row ^ full)
    indices = []
    i, j = len(reference), len(candidate)
    length = grown[i].bit_count()  # of the common subsequence of what is left of both
    while i and j and length:
        if reference[i - 1] == candidate[j - 1]:
            indices.append(i - 1)
            i, j, length = i - 1, j - 1, length - 1
            continue
        length_left = length - (grown[i] >> (j - 1) & 1)
        above = (grown[i - 1] & ((1 << j) - 1)).bit_count()
        if length_left > above:
            j, length = j - 1, length_left
        else:
            i, length = i - 1, above
    return indices


_SHORT = 64
"""Texts that fit into one machine word need no band."""
_BAND = 5
"""The share of the longer text, a fifth, that the first band is wide."""


def edit_distance() -> PairMetric:
    """Return the Levenshtein distance over the longer length, 0 (equal) to 1; lower is better.

    Unit: Unicode code points, so NFC and NFD spellings differ and a line ending of CRLF is two. Several
    references: the nearest counts. Two empty texts have distance 0. Source: Levenshtein 1966, normalised as
    in `rapidfuzz.distance.Levenshtein.normalized_distance`.
    Missing: no reference; texts whose lengths multiply to more than 10^12 (kind `budget`).
    """
    return PairMetric(
        name="edit_distance",
        signature="edit_distance|unit:codepoint|norm:max|multi:min|v1",
        score=_distance,
        direction="lower",
    )


def edit_similarity() -> PairMetric:
    """Return 1 minus the edit distance, 0 to 1 (equal); higher is better. As `edit_distance` otherwise."""
    return PairMetric(
        name="edit_similarity",
        signature="edit_similarity|unit:codepoint|norm:max|multi:max|v1",
        score=_similarity,
        direction="higher",
    )


def _distance(candidate: str, references: tuple[str, ...]) -> Score:
    from rapidfuzz.distance import Levenshtein  # `jaccard` and whoever cuts texts by these rules do without it

    nearest: tuple[float, int, int] | None = None
    for reference in references:
        if len(candidate) * len(reference) > MAX_CELLS and candidate != reference:
            n_theirs = max(map(len, references))
            detail = f"texts of {len(candidate)} and {n_theirs} characters: their distance takes minutes"
            return Missing(MissingKind.BUDGET, detail), {}
        longest = max(len(candidate), len(reference))
        # The hint is where the search starts: texts that differ by less are done in a band of the table, others double
        # it. The distance is the same; edited texts take a third to two thirds of the time, unrelated ones a tenth more.
        # Lengths that differ by more say already that the band is too small.
        hint: int | None = longest // _BAND
        if longest <= _SHORT or abs(len(candidate) - len(reference)) >= longest // _BAND:
            hint = None
        edits = Levenshtein.distance(candidate, reference, score_hint=hint)
        distance = (edits / longest if longest else 0.0), edits, longest
        if nearest is None or distance < nearest:
            nearest = distance
    assert nearest is not None
    return nearest[0], {"edits": nearest[1], "longest": nearest[2]}


def _similarity(candidate: str, references: tuple[str, ...]) -> Score:
    best, stats = _distance(candidate, references)
    return (best if isinstance(best, Missing) else 1.0 - best), stats


# Whether the candidate is the reference, letter by letter.


def exact_match(
    *,
    strip: bool = False,
    lowercase: bool = False,
    ignore_punctuation: bool = False,
    ignore_numbers: bool = False,
    regexes_to_ignore: Sequence[str] = (),
) -> PairMetric:
    """Return 1 if the candidate equals a reference, else 0; higher is better.

    Texts are compared code point by code point, so NFC and NFD spellings differ. Two empty texts are equal.
    Missing: no reference; `timeout` where a pattern takes more than a second of processor time on a row.

    Args:
        strip: leave out white space at both ends.
        lowercase: compare in lower case.
        ignore_punctuation: leave out ASCII punctuation.
        ignore_numbers: leave out ASCII digits.
        regexes_to_ignore: leave out what these match, one after the other, before anything else.

    Raises:
        ConfigError: a regular expression that does not compile.
    """
    signature = f"exact_match|strip:{'yes' if strip else 'no'}|case:{'lc' if lowercase else 'mixed'}|multi:any|v1"
    dropped = (string.punctuation if ignore_punctuation else "") + (string.digits if ignore_numbers else "")
    if dropped or regexes_to_ignore:
        left_out = [name for name, on in (("punct", ignore_punctuation), ("numbers", ignore_numbers)) if on]
        without = ",".join([*left_out, *map(repr, regexes_to_ignore)])
        # A bar separates the parts of a signature, so patterns that hold one are told by their digest.
        without = f"sha256-{digest_text(without)[:16]}" if "|" in without else without
        signature = f"{signature.removesuffix('|v1')}|without:{without}|v1"
    if regexes_to_ignore:
        # Compiled where it can be given up, too: a short pattern can take long to compile.
        with Helper() as helper:
            tried = helper.ask("removal", patterns=list(regexes_to_ignore), texts=[""])
        if isinstance(tried, Missing):
            raise ConfigError(f"exact_match: regexes_to_ignore: {tried.detail}")
    score = partial(_equal, strip=strip, lowercase=lowercase, dropped=dropped)
    return _ExactMatch("exact_match", signature, score, "higher", patterns=tuple(regexes_to_ignore))


@dataclass(frozen=True, slots=True)
class _ExactMatch(PairMetric):
    """Takes off what patterns match where a pattern that runs away can be given up."""

    patterns: tuple[str, ...] = ()

    def measure(self, items: Sequence[Item]) -> list[Measurement]:
        if not self.patterns:
            return PairMetric.measure(self, items)
        with Helper() as helper:

            def score(item: Item) -> Score:
                texts = [item.attempt.text, *drop_missing_references(item.sample.references)]
                reply = helper.ask("removal", patterns=self.patterns, texts=texts)
                if isinstance(reply, Missing):
                    return reply, {}
                return self.score(reply["texts"][0], tuple(reply["texts"][1:]))

            return measure_each(self.name, self.signature, items, score)


def _equal(candidate: str, references: tuple[str, ...], *, strip: bool, lowercase: bool, dropped: str) -> Score:
    texts = [candidate, *references]
    if dropped:
        table = str.maketrans("", "", dropped)
        texts = [text.translate(table) for text in texts]
    if strip:
        texts = [text.strip() for text in texts]
    if lowercase:
        texts = [text.lower() for text in texts]
    return float(texts[0] in texts[1:]), {}


# The share of words that two texts have in common.


def jaccard() -> PairMetric:
    """Return the Jaccard index of the two texts' sets of words, 0 to 1, higher is better.

    Words are what white space separates in the lower-cased text. |A and B| / |A or B|; 1 if neither text has a
    word, 0 if only one has. Several references: the most similar. Source: Jaccard 1912, with the tokens of the
    documented `compute_jaccard_similarity`. Missing: no reference.
    """
    return PairMetric("jaccard", "jaccard|case:lc|tok:whitespace|multi:max|v1", _index, "higher")


def _index(candidate: str, references: tuple[str, ...]) -> Score:
    ours = set(candidate.lower().split())
    results = []
    for reference in references:
        theirs = set(reference.lower().split())
        shared = len(ours & theirs)
        union = len(ours) + len(theirs) - shared
        results.append((shared / union if union else 1.0, shared, union))
    best, shared, union = max(results)
    return best, {"shared": shared, "union": union}
