"""Whether the candidate is the reference, letter by letter."""

from __future__ import annotations

from functools import partial

from markbook.metrics._pairwise import PairMetric, Score


def exact_match(*, strip: bool = False, lowercase: bool = False) -> PairMetric:
    """Return 1 if the candidate equals a reference, else 0; higher is better.

    Texts are compared code point by code point, so NFC and NFD spellings differ. Two empty texts are equal.
    Missing: no reference.

    Args:
        strip: leave out white space at both ends.
        lowercase: compare in lower case.
    """
    signature = f"exact_match|strip:{'yes' if strip else 'no'}|case:{'lc' if lowercase else 'mixed'}|multi:any|v1"
    return PairMetric("exact_match", signature, partial(_equal, strip=strip, lowercase=lowercase))


def _equal(candidate: str, references: tuple[str, ...], *, strip: bool, lowercase: bool) -> Score:
    texts = [candidate, *references]
    if strip:
        texts = [text.strip() for text in texts]
    if lowercase:
        texts = [text.lower() for text in texts]
    return float(texts[0] in texts[1:]), {}
