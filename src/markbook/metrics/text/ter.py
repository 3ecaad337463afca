"""TER: how many edits, shifts of whole phrases among them, turn a text into a reference; sacrebleu's own."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

from markbook.metrics.text.summed import Summed
from markbook.plugins import need
from markbook.types import Missing, MissingKind

_PARTS = re.compile(r"\w+|[^\w\s]")
_MOST_CELLS = 4_000_000
"""Words of a text times words of a reference: two texts of 2,000 words."""


def ter(
    *, normalized: bool = False, no_punct: bool = False, asian_support: bool = False, case_sensitive: bool = False
) -> Summed:
    """Return TER of each text, from 0, lower is better; its summary is the mean, which is not the corpus' TER.

    Edits (words put in, left out, replaced, phrases shifted) over the reference's words; above 1 where a text needs
    more edits than the reference has words. Several references: the fewest edits, over their mean length. Computed by
    sacrebleu (extra `translation`), whose search for shifts is the definition. Missing: no reference; texts whose lengths
    in words multiply to more than 4 million (kind `budget`).

    Args:
        normalized: split punctuation off first.
        no_punct: leave punctuation out.
        asian_support: split Asian characters too.
        case_sensitive: compare without lower case.

    Raises:
        ExtraMissingError: sacrebleu is not installed.
    """
    return _make_metric("ter", normalized, no_punct, asian_support, case_sensitive, averages=True)


def corpus_ter(
    *, normalized: bool = False, no_punct: bool = False, asian_support: bool = False, case_sensitive: bool = False
) -> Summed:
    """Return TER over all texts together: all edits over all words. Otherwise as `ter`."""
    return _make_metric("corpus_ter", normalized, no_punct, asian_support, case_sensitive, averages=False)


def _make_metric(name: str, *options: bool, averages: bool) -> Summed:
    need("sacrebleu", extra="translation")
    words = "|".join(
        f"{key}:{'yes' if value else 'no'}"
        for key, value in zip(("norm", "punct", "asian", "case"), options, strict=True)
    )
    return Summed(
        name,
        f"{name}|{words}|v1".replace("punct", "nopunct"),
        functools.partial(_counts, options=options),
        _rate,
        averages,
        range=(0.0, float("inf")),
        direction="lower",
    )


def _counts(candidate: str, references: tuple[str, ...], *, options: tuple[bool, ...]) -> list[float] | Missing:
    own, longest = _size(candidate, options), max(_size(reference, options) for reference in references)
    if own * longest > _MOST_CELLS:  # it makes a table of them, again and again
        detail = f"texts of {own} and {longest} words: the search for shifts takes minutes"
        return Missing(MissingKind.BUDGET, detail)
    score = _metric(options).sentence_score(candidate, list(references))
    return [float(score.num_edits), float(score.ref_length)]


def _size(text: str, options: tuple[bool, ...]) -> int:
    """Return how many words a text has at most, as it is split."""
    normalized, _, asian_support, _ = options
    if asian_support:
        return len("".join(text.split()))
    return len(_PARTS.findall(text)) if normalized else len(text.split())


@functools.cache
def _metric(options: tuple[bool, ...]) -> Any:
    from sacrebleu.metrics.ter import TER

    normalized, no_punct, asian_support, case_sensitive = options
    return TER(normalized, no_punct, asian_support, case_sensitive)


def _rate(sums: Sequence[float]) -> float:
    edits, length = sums
    if length > 0:
        return edits / length
    return 1.0 if edits else 0.0
