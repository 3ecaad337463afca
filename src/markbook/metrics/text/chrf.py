"""chrF: how many runs of characters two texts share, by sacrebleu's conventions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

from markbook.errors import ConfigError
from markbook.metrics.text.summed import Summed
from markbook.types import Missing, MissingKind

_MOST_ORDER = 20
MAX_CHARACTERS = 1_000_000
"""Of one text."""


def chrf(*, char_order: int = 6, beta: float = 2.0, lowercase: bool = False) -> Summed:
    """Return chrF of each text, 0 to 1, higher is better; its summary is the mean, which is not the corpus' chrF.

    F_beta of mean precision and mean recall of character n-grams, n = 1..6, white space left out, over those orders of which
    both texts have any. Several references: the one with the largest F. Source: Popovic 2015 as in sacrebleu 2.6.
    Missing: no reference; a text of more than a million characters (`budget`).

    Args:
        char_order: the longest runs of characters.
        beta: how many times as much recall counts as precision.
        lowercase: compare in lower case.

    Raises:
        ConfigError: an order or a beta out of range.
    """
    return _make_metric("chrf", char_order, beta, lowercase=lowercase, averages=True)


def corpus_chrf(*, char_order: int = 6, beta: float = 2.0, lowercase: bool = False) -> Summed:
    """Return chrF over all texts together: `summarise` adds up the texts' counts. Otherwise as `chrf`."""
    return _make_metric("corpus_chrf", char_order, beta, lowercase=lowercase, averages=False)


def _make_metric(name: str, order: int, beta: float, *, lowercase: bool, averages: bool) -> Summed:
    if not 1 <= order <= _MOST_ORDER or not 0 < beta < float("inf"):
        raise ConfigError(f"{name}: char_order is 1 to {_MOST_ORDER} and beta above 0, not {order} and {beta}")
    case = "lc" if lowercase else "mixed"
    return Summed(
        name,
        f"{name}|nc:{order}|nw:0|beta:{beta:g}|case:{case}|eff:yes|space:no|v1",
        partial(_counts, order=order, beta=beta, lowercase=lowercase),
        partial(_f_score, beta=beta),
        averages,
    )


def _counts(
    candidate: str, references: tuple[str, ...], *, order: int, beta: float, lowercase: bool
) -> list[float] | Missing:
    """Return for each order how many n-grams the candidate has, the reference has, and both have."""
    if (longest := max(map(len, (candidate, *references)))) > MAX_CHARACTERS:
        return Missing(MissingKind.BUDGET, f"a text of {longest} characters is too long to compare")
    text, *others = ("".join((text_.lower() if lowercase else text_).split()) for text_ in (candidate, *references))
    rows: list[list[float]] = [[] for _ in others]
    for n in range(1, order + 1):  # one order at a time, for a text has about as many long n-grams as characters
        mine = _grams(text, n)
        for counts, other in zip(rows, others, strict=True):
            counts.extend(_against(mine, _grams(other, n)))
    return max(rows, key=partial(_f_score, beta=beta))


def _grams(text: str, n: int) -> Counter[str]:
    return Counter(text[at : at + n] for at in range(len(text) - n + 1))


def _against(mine: Counter[str], other: Counter[str]) -> list[float]:
    shared = sum(min(count, other[gram]) for gram, count in mine.items() if gram in other)
    return [mine.total() if other else 0, other.total(), shared]


def _f_score(sums: Sequence[float], *, beta: float) -> float:
    orders = [(sums[at], sums[at + 1], sums[at + 2]) for at in range(0, len(sums), 3)]
    ratios = [(shared / ours, shared / theirs) for ours, theirs, shared in orders if ours > 0 and theirs > 0]
    if not ratios:
        return 0.0
    precision = sum(ratio for ratio, _ in ratios) / len(ratios)
    recall = sum(ratio for _, ratio in ratios) / len(ratios)
    factor = beta**2
    return (1 + factor) * precision * recall / (factor * precision + recall) if precision + recall else 0.0
