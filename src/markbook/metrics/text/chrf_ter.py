"""Metrics whose number over many texts comes of counts added up over them: no mean of the texts' own numbers."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from markbook.errors import ConfigError
from markbook.metrics import Score, drop_missing_references, measure_each
from markbook.plugins import need
from markbook.types import Direction, Item, Measurement, Metric, Missing, MissingKind

Counts = npt.NDArray[np.number[Any]]
_CHUNK = 1 << 16

SUMS = "sums"
"""Where a measurement keeps its counts."""


@dataclass(frozen=True, slots=True)
class Summed(Metric):
    """A number made of counts; each text's own number is the mean's part where `averages` says so."""

    name: str
    signature: str
    count: Callable[[str, tuple[str, ...]], list[float] | Missing]
    """From a candidate and its references to counts, or to the reason why there are none."""
    value: Callable[[Sequence[float]], float]
    row_type: np.dtype[Any]
    """Of one text's counts as a row of an array; a text that is missing has none."""
    averages: bool = True
    """Whether the number over many texts is their mean; else it is made of their added counts."""
    version: int = 1
    range: tuple[float, float] = (0.0, 1.0)
    direction: Direction = "higher"

    def measure(self, items: Sequence[Item]) -> list[Measurement]:
        """Return one measurement an item, in order."""
        return measure_each(self.name, self.signature, items, self._score)

    def _score(self, item: Item) -> Score:
        sums = self.count(item.attempt.text, drop_missing_references(item.sample.references))
        if isinstance(sums, Missing):
            return sums, {}
        return self.value(sums), {SUMS: sums}

    def summarise(self, measurements: Sequence[Measurement]) -> float | None:
        """Return the number over the texts, None if there is nothing."""
        if self.averages:
            return Metric.summarise(self, measurements)
        rows = self._list_counts(measurements)
        return self.value(next(sum_draws(rows, [range(len(rows))]))) if len(rows) else None

    def resample(self, measurements: Sequence[Measurement], draws: Iterable[Iterable[int]]) -> list[float]:
        """Return the summary of each resampling; the measurements are read once."""
        if self.averages:
            return Metric.resample(self, measurements, draws)
        return [self.value(sums) for sums in sum_draws(self._list_counts(measurements), draws)]

    def _list_counts(self, measurements: Sequence[Measurement]) -> Counts:
        rows = (measurement.stats[SUMS] for measurement in measurements if SUMS in measurement.stats)
        return np.fromiter(rows, self.row_type)  # a list of them all would take five times as much


def sum_draws(rows: Counts, draws: Iterable[Iterable[int]]) -> Iterator[list[Any]]:
    """Yield the sums of each draw of rows, shape (texts, counts): the same to the last digit in whatever order they lie.

    `draws` holds for each the numbers of its rows.
    """
    if rows.dtype.kind == "f" and len(rows):  # a sum of fractions depends on their order: here it is that of their size
        rows, places = np.unique(rows, axis=0, return_inverse=True)
        draws = (places.ravel()[np.asarray(draw)] for draw in draws)
    starts = range(0, len(rows), _CHUNK)  # a product of both whole would first copy the rows as larger numbers
    for draw in draws if len(rows) else ():
        # How often each row is drawn, times its counts: the drawn rows themselves would take as much again as all.
        times = np.bincount(np.asarray(draw), minlength=len(rows))
        yield np.asarray(sum(times[at : at + _CHUNK] @ rows[at : at + _CHUNK] for at in starts)).tolist()


# chrF: how many runs of characters two texts share, by sacrebleu's conventions.

_MOST_ORDER = 20
MAX_CHARACTERS = 1_000_000


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
        np.dtype((np.int32, 3 * order)),
        averages,
    )


def _counts(
    candidate: str, references: tuple[str, ...], *, order: int, beta: float, lowercase: bool
) -> list[float] | Missing:
    """Return for each order how many n-grams the candidate has, the reference has, and both have."""
    if (longest := max(map(len, (candidate, *references)))) > MAX_CHARACTERS:
        return Missing(MissingKind.BUDGET, f"a text of {longest} characters is too long to compare")
    texts = [candidate, *references]
    text, *others = ("".join(words.split()) for words in (map(str.lower, texts) if lowercase else texts))
    rows: list[list[float]] = [[] for _ in others]
    for n in range(1, order + 1):  # one order at a time, for a text has about as many long n-grams as characters
        mine = _grams(text, n)
        for counts, other in zip(rows, others, strict=True):
            theirs = _grams(other, n)
            shared = sum(min(count, theirs[gram]) for gram, count in mine.items() if gram in theirs)
            counts += [mine.total() if theirs else 0, theirs.total(), shared]
    return max(rows, key=partial(_f_score, beta=beta))


def _grams(text: str, n: int) -> Counter[str]:
    return Counter(text[at : at + n] for at in range(len(text) - n + 1))


def _f_score(sums: Sequence[float], *, beta: float) -> float:
    orders = [(sums[at], sums[at + 1], sums[at + 2]) for at in range(0, len(sums), 3)]
    ratios = [(shared / ours, shared / theirs) for ours, theirs, shared in orders if ours > 0 and theirs > 0]
    if not ratios:
        return 0.0
    precision = sum(ratio for ratio, _ in ratios) / len(ratios)
    recall = sum(ratio for _, ratio in ratios) / len(ratios)
    factor = beta**2
    return (1 + factor) * precision * recall / (factor * precision + recall) if precision + recall else 0.0


# TER: how many edits, shifts of whole phrases among them, turn a text into a reference; sacrebleu's own.

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
    return _ter_make_metric("ter", normalized, no_punct, asian_support, case_sensitive, averages=True)


def corpus_ter(
    *, normalized: bool = False, no_punct: bool = False, asian_support: bool = False, case_sensitive: bool = False
) -> Summed:
    """Return TER over all texts together: all edits over all words. Otherwise as `ter`."""
    return _ter_make_metric("corpus_ter", normalized, no_punct, asian_support, case_sensitive, averages=False)


def _ter_make_metric(name: str, *options: bool, averages: bool) -> Summed:
    need("sacrebleu", extra="translation")
    words = "|".join(
        f"{key}:{'yes' if value else 'no'}"
        for key, value in zip(("norm", "punct", "asian", "case"), options, strict=True)
    )
    return Summed(
        name,
        f"{name}|{words}|v1".replace("punct", "nopunct"),
        partial(_ter_counts, options=options),
        _rate,
        np.dtype((np.float64, 2)),
        averages,
        range=(0.0, float("inf")),
        direction="lower",
    )


def _ter_counts(candidate: str, references: tuple[str, ...], *, options: tuple[bool, ...]) -> list[float] | Missing:
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
