"""The share of words that two texts have in common."""

from __future__ import annotations

from markbook.metrics.pairs import PairMetric, Score


def jaccard() -> PairMetric:
    """Return the Jaccard index of the two texts' sets of words, 0 to 1, higher is better.

    Words are what white space separates in the lower-cased text. |A and B| / |A or B|; 1 if neither text has a
    word, 0 if only one has. Several references: the most similar. Source: Jaccard 1912, with the tokens of the
    documented `compute_jaccard_similarity`. Missing: no reference.
    """
    return PairMetric("jaccard", "jaccard|case:lc|tok:whitespace|multi:max|v1", _index)


def _index(candidate: str, references: tuple[str, ...]) -> Score:
    ours = set(candidate.lower().split())
    best, shared, union = max(_against(ours, set(reference.lower().split())) for reference in references)
    return best, {"shared": shared, "union": union}


def _against(ours: set[str], theirs: set[str]) -> tuple[float, int, int]:
    shared = len(ours & theirs)
    union = len(ours) + len(theirs) - shared
    return (shared / union if union else 1.0), shared, union
