"""Which items people should label: drawn at random, the more useful ones more often, each with a known probability.

Every item has a number of its own, drawn once from the seed and its name, and those with the smallest quotient of number
and weight are taken (Ohlsson 1998, sequential Poisson sampling). With the next quotient as the threshold, an item's
probability is weight times threshold, at most 1, and sums weighed by 1 / probability are unbiased (Duffield, Lund, Thorup
2007, priority sampling). A larger draw of the same seed holds the smaller one, so labelling can go on.

How useful a label is follows from the judge's own doubt: a score s in 0..1 is taken for a chance, with the deviation
sqrt(s (1 - s)); Zrnic, Candes 2024, arXiv 2403.03208.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

SHARE = 0.5
"""Of the weight that goes to usefulness; the rest is the same for all, so that no item's chance falls below half of it."""


@dataclass(frozen=True, slots=True)
class LabelItem:
    """Something that can be labelled."""

    id: str
    system: str = ""
    against: str = ""
    score: float | None = None
    """The judge's, on 0..1; in a comparison above .5 where `system` is the better one. None: nothing is known."""

    @property
    def key(self) -> tuple[str, str, str]:
        """Return what names it."""
        return (self.id, self.system, self.against)


@dataclass(frozen=True, slots=True)
class Drawn:
    """An item that is to be labelled."""

    item: LabelItem
    probability: float


def draw(items: Sequence[LabelItem], count: int, *, seed: int = 0, share: float = SHARE) -> list[Drawn]:
    """Return `count` of the items, the one to be labelled first in front; all of them where there are no more.

    Args:
        items: among which to draw.
        count: how many.
        seed: another one draws others.
        share: how much usefulness counts beside chance: 0 (all alike) to less than 1.
    """
    weights = _weights(items, share)
    places = [chance(seed, *item.key) / weight for item, weight in zip(items, weights, strict=True)]
    order = sorted(range(len(items)), key=places.__getitem__)
    threshold = places[order[count]] if count < len(order) else math.inf
    return [Drawn(items[at], min(1.0, weights[at] * threshold)) for at in order[:count]]


def _weights(items: Sequence[LabelItem], share: float) -> list[float]:
    useful = [0.5 if item.score is None else _doubt(item.score) for item in items]
    mean = math.fsum(useful) / len(useful) if useful else 0.0
    if mean == 0.0:
        return [1.0] * len(items)
    return [1.0 - share + share * use / mean for use in useful]


def _doubt(score: float) -> float:
    inside = min(1.0, max(0.0, score))
    return math.sqrt(inside * (1.0 - inside))


def chance(seed: int, *names: str) -> float:
    """Return a number above 0 and at most 1 that is always the same for a seed and names, and looks like chance."""
    text = "\x1f".join((str(seed), *(name.replace("\x1f", " ") for name in names)))
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
    return (int.from_bytes(digest) + 1) / 2**64


def draw_name(drawn: Sequence[Drawn]) -> str:
    """Return what tells this draw from others: whom it holds, and with what probabilities."""
    parts = sorted(f"{drawn_item.item.key}{drawn_item.probability:.9g}" for drawn_item in drawn)
    return hashlib.blake2b("\n".join(parts).encode("utf-8", "replace"), digest_size=6).hexdigest()
