"""How many single-character edits turn the candidate into the reference."""

from __future__ import annotations

from rapidfuzz.distance import Levenshtein

from markbook.metrics.pairs import PairMetric, Score
from markbook.metrics.text.lcs import MAX_CELLS
from markbook.types import Missing, MissingKind

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
    )


def _distance(candidate: str, references: tuple[str, ...]) -> Score:
    nearest: tuple[float, int, int] | None = None
    for reference in references:
        if len(candidate) * len(reference) > MAX_CELLS and candidate != reference:
            longest = max(map(len, references))
            detail = f"texts of {len(candidate)} and {longest} characters: their distance takes minutes"
            return Missing(MissingKind.BUDGET, detail), {}
        distance = _against(candidate, reference)
        if nearest is None or distance < nearest:
            nearest = distance
    assert nearest is not None
    return nearest[0], {"edits": nearest[1], "longest": nearest[2]}


def _similarity(candidate: str, references: tuple[str, ...]) -> Score:
    best, stats = _distance(candidate, references)
    return (best if isinstance(best, Missing) else 1.0 - best), stats


def _against(candidate: str, reference: str) -> tuple[float, int, int]:
    n_ours, n_theirs = len(candidate), len(reference)
    longest = max(n_theirs, n_ours)
    # The hint is where the search starts: texts that differ by less are done in a band of the table, others double
    # it. The distance is the same; edited texts take a third to two thirds of the time, unrelated ones a tenth more.
    # Lengths that differ by more say already that the band is too small.
    hint = longest // _BAND
    if longest > _SHORT and abs(n_ours - n_theirs) < hint:
        edits = Levenshtein.distance(candidate, reference, score_hint=hint)
    else:
        edits = Levenshtein.distance(candidate, reference)
    return (edits / longest if longest else 0.0), edits, longest
