"""How many n-grams of one text occur in others: clipped counts for BLEU, ROUGE and CodeBLEU, for many rows at once.

Theory of operation
-------------------
BLEU's clipped matches and ROUGE-1's and ROUGE-2's hits are the same number: for each n-gram of the candidate, as many
as occur in the reference that has most of it. So one function, `overlaps`, counts for all of them; a metric brings its own
tokeniser and makes its own formula out of the counts.

1. A `Vocabulary` turns the texts of a block into `Tokens`: one array of numbers, a number per distinct token, with
   `GAP` ends between texts so that no n-gram reaches from one text into the next.
2. Every n-gram becomes one integer: its tokens' bits side by side, then the number of the text that it comes from (0 the
   candidate, 1.. the references). All of a row (candidate and references) stand in one line of a table, shape
   (rows, positions), padded to the longest.
3. The lines are sorted. Equal n-grams now stand together; n-grams with equal beginnings do too, so one sort serves every n = 1..4.
4. Runs of equal n-grams are counted by side and clipped, giving counts of shape (rows, order).

Sorting many short lines takes a few nanoseconds a number, a tenth of what counting in a dict takes. A table holds `_CELLS`
numbers at most, to stay in the processor's cache. An integer has 63 bits: where a block's vocabulary is too large for n tokens
and the side, the block is halved (fewer rows have fewer tokens), and a single row, or one with more than
`_MOST_REFERENCES` references, is searched instead (`_Search`). Both ways give the same counts, which a test compares.

Nothing is shared between rows but the numbering of tokens, so a value does not depend on which rows are measured together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from markbook.metrics import NO_STATS, Score, drop_missing_references, is_plain, measurement, missing_error, problem
from markbook.metrics.tokens import FIRST, GAP, Numbers, Tokens, runs
from markbook.types import Item, Measurement, Missing

Row = tuple[int, tuple[int, ...]]
"""A candidate and its references, as indices of texts."""

_CELLS = 1 << 16
"""How many numbers a table holds, so that it stays in the processor's cache."""
_MOST_REFERENCES = 7
"""More than this many references leave too few bits for the tokens, and are searched for the candidate's n-grams."""


def overlaps(tokens: Tokens, rows: Sequence[Row], order: int) -> Numbers:
    """Return how many of each candidate's n-grams match, for n = 1..order (at most 4): shape (rows, order).

    An n-gram of the candidate matches as often as it occurs in the reference that has most of it.
    """
    assert order <= GAP + 1
    counts = np.zeros((len(rows), order), dtype=np.int64)
    few = [i for i, (_, references) in enumerate(rows) if len(references) <= _MOST_REFERENCES]
    if len(few) < len(rows):
        if few:
            counts[few] = overlaps(tokens, [rows[i] for i in few], order)
        search = _Search(tokens, order)
        for i in set(range(len(rows))) - set(few):
            counts[i] = search.matches(*rows[i])
        return counts
    n_references = max((len(references) for _, references in rows), default=0)
    side_bits = n_references.bit_length()
    if order * tokens.width + side_bits > 63:
        # Compute for fewer rows, which have fewer tokens and so shorter numbers; a single row is searched
        if len(rows) == 1:
            return np.array([_Search(tokens, order).matches(*rows[0])], dtype=np.int64)
        parts = []
        for half in (rows[: len(rows) // 2], rows[len(rows) // 2 :]):
            texts = sorted({text for candidate, references in half for text in (candidate, *references)})
            positions = {text: i for i, text in enumerate(texts)}
            moved = [
                (positions[candidate], tuple(positions[reference] for reference in references))
                for candidate, references in half
            ]
            parts.append(overlaps(tokens.of(texts), moved, order))
        return np.concatenate(parts)
    for chosen, table in ngram_tables(tokens, rows, order, side_bits):
        lines, columns = table.shape
        for n, (starts, group_counts) in enumerate(count_groups(table, order, tokens.width, side_bits, n_references)):
            most = group_counts[1]
            for other in group_counts[2:]:
                np.maximum(most, other, out=most)
            np.minimum(most, group_counts[0], out=most)
            # Every line begins a group, so sums from each line's first group on are sums of its own.
            counts[chosen, n] = np.add.reduceat(most, np.searchsorted(starts, np.arange(lines) * columns))
    return counts


def ngram_tables(
    tokens: Tokens, rows: Sequence[Row], order: int, side_bits: int
) -> Iterator[tuple[Numbers, npt.NDArray[Any]]]:
    """Yield the indices of some rows, and their n-grams, its own and then those of its references: shape (rows, width).

    An n-gram is one integer, whose lowest bits say which text of the row it is of: 0 the candidate, from 1 on the references.
    """
    size = len(tokens.numbers) - order + 1
    numbers: npt.NDArray[Any] = tokens.numbers
    if order * tokens.width + side_bits <= 31:  # half the memory, twice the speed
        numbers = numbers.astype(np.int32)
    # A candidate's texts end with 0, a reference's with 1, so that n-grams that reach over an end never match.
    ngrams = []
    for side, marked in enumerate((numbers, np.maximum(numbers, 1))):
        keys = marked[:size]
        for n in range(1, order):
            keys = (keys << tokens.width) | marked[n : n + size]
        ngrams.append((keys << side_bits) | side)
    ours, theirs = ngrams
    starts, sizes = tokens.starts.tolist(), tokens.sizes.tolist()
    for chosen, width in tables(tokens, rows):
        # No n-gram is spelled with ones alone: what stays empty is a group of its own at the end of a line.
        table = np.full((len(chosen), width), np.iinfo(ours.dtype).max, dtype=ours.dtype)
        for line, i in zip(table, chosen.tolist(), strict=True):
            candidate, references = rows[i]
            at, end = starts[candidate], sizes[candidate]
            line[:end] = ours[at : at + end]
            for side, reference in enumerate(references):
                at, size = starts[reference], sizes[reference]
                line[end : end + size] = theirs[at : at + size]
                if side:
                    line[end : end + size] += side
                end += size
        yield chosen, table


class _Search:
    """Finds the candidate's n-grams in its references, however many there are, row by row.

    Only where an n-gram of the candidate was found can one of n + 1 begin, so each order looks at fewer places.
    """

    def __init__(self, tokens: Tokens, order: int) -> None:
        self._tokens = tokens
        self._order = order
        self._ranks = np.full(len(tokens.words) + FIRST, -1, dtype=np.int64)
        """The place of each word among those of the candidate at hand, -1 for one that it has not."""

    def matches(self, candidate: int, references: Sequence[int]) -> list[int]:
        """Return how many of the candidate's n-grams match, for each n."""
        tokens, order = self._tokens, self._order
        start = int(tokens.starts[candidate])
        words, ours = np.unique(tokens.numbers[start : start + int(tokens.sizes[candidate])], return_inverse=True)
        texts = np.unique(np.array(references))
        extents = tokens.sizes[texts] + 1  # with an end, over which no n-gram reaches
        self._ranks[words] = np.arange(len(words))
        theirs = np.append(self._ranks[tokens.numbers[runs(tokens.starts[texts], extents)]], [-1] * order)
        self._ranks[words] = -1  # clean for the next row: a new table each time would cost more than the search
        sides = np.repeat(np.arange(len(texts)), extents)
        places = np.flatnonzero(theirs >= 0)
        grams, own = theirs[places], ours
        counts = [_count_clipped(own, sides[places], grams)]
        for n in range(1, order):
            following = theirs[places + n]
            go_on = following >= 0
            prefixes, own = np.unique(own[:-1] * len(words) + ours[n:], return_inverse=True)
            spelled = grams[go_on] * len(words) + following[go_on]
            grams = np.searchsorted(prefixes, spelled)
            grams[grams == len(prefixes)] = 0
            hits = prefixes[grams] == spelled if len(prefixes) else np.zeros(len(spelled), dtype=np.bool_)
            places, grams = places[go_on][hits], grams[hits]
            counts.append(_count_clipped(own, sides[places], grams))
        return counts


def _count_clipped(own: Numbers, sides: Numbers, grams: Numbers) -> int:
    """Count the candidate's n-grams, each at most as often as the text has it that has most of it.

    `own` is each n-gram of the candidate by number; `sides` and `grams`, of one shape, say of
    each hit which reference it is in, and which n-gram it is.
    """
    if not len(grams):
        return 0
    counts = np.bincount(own)
    most = np.zeros(len(counts), dtype=np.int64)
    keys = sides * len(counts) + grams
    keys.sort()
    # Sorted by text and n-gram, each group is how often one text has one n-gram.
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    np.maximum.at(most, keys[starts] % len(counts), np.diff(starts, append=len(keys)))
    return int(np.minimum(counts, most).sum())


def tables(tokens: Tokens, rows: Sequence[Row]) -> Iterator[tuple[Numbers, int]]:
    """Yield the indices of the rows to put into one table, and its width: rows of like size, so that little is empty."""
    sizes = tokens.sizes.tolist()
    widths = np.array([sizes[candidate] + sum([sizes[other] for other in others]) for candidate, others in rows])
    by_width = np.argsort(widths, kind="stable")
    ordered = widths[by_width].tolist()
    start = 0
    while start < len(rows):
        stop = start + 1
        least = ordered[start] * 5 // 4 + 16
        while (
            stop < len(rows)
            and ordered[stop] * (stop + 1 - start) <= _CELLS
            and (ordered[stop] <= least or stop - start < 8)
        ):
            stop += 1
        yield by_width[start:stop], max(ordered[stop - 1], 1)
        start = stop


def count_groups(
    table: npt.NDArray[Any], order: int, width: int, side_bits: int, n_references: int
) -> Iterator[tuple[Numbers, list[npt.NDArray[np.int32]]]]:
    """Yield for n = 1..order where the groups of equal n-grams start in the flat table, and each side's count in each.

    Args:
        table: n-grams, shape (rows, positions); it is sorted in place.
        order: the longest n-gram, whose bits the numbers hold.
        width: bits of a token.
        side_bits: the lowest bits, which say which text of the row an n-gram is of.
        n_references: the most that a row has.
    """
    table.sort(axis=1)
    sides = (table & ((1 << side_bits) - 1)).ravel()
    # How many n-grams of each side stand before each position, and of all at the end: shape (positions + 1,) a side.
    before = np.zeros((n_references + 1, sides.size + 1), dtype=np.int32)
    for side, totals in enumerate(before):
        np.cumsum(sides == side, dtype=np.int32, out=totals[1:])
    fresh = np.ones(table.shape, dtype=np.bool_)
    for n in range(1, order + 1):
        beginnings = table >> (side_bits + width * (order - n))
        np.not_equal(beginnings[:, 1:], beginnings[:, :-1], out=fresh[:, 1:])
        starts = np.flatnonzero(fresh)
        yield starts, [np.diff(running[starts], append=running[-1]) for running in before]


# Marking many rows in one go: what metrics share that compute on arrays instead of row by row.
#
# A metric supplies one function from a block of rows to their scores. This module cuts the batch into blocks, finds
# each distinct text of a block once, and makes the measurements; a block that crashes is halved until the row that
# does it is alone, so the border that turns a crash into a reason is still around a single row.

_CHARACTERS = 1 << 18
"""About how many characters of distinct text a block holds, so that its arrays stay in the processor's cache."""

Pair = tuple[str, tuple[str, ...]]
"""A candidate and at least one reference."""


@dataclass(frozen=True, slots=True)
class Block:
    """Rows that are scored together."""

    texts: list[str]
    rows: list[tuple[int, tuple[int, ...]]]
    """Each row's candidate and references, as indices of `texts`."""

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Each row's candidate with each of its references, in order."""
        return [(candidate, reference) for candidate, references in self.rows for reference in references]

    def best(self, scores: list[Score]) -> list[Score]:
        """Return each row's best score out of those of the pairs; of a row with a missing one that, for it leaves open which is best."""
        if len(scores) == len(self.rows):
            return scores
        remaining = iter(scores)
        column = []
        for _, references in self.rows:
            row_scores = list(islice(remaining, len(references)))
            missing = next((score for score in row_scores if isinstance(score[0], Missing)), None)
            column.append(missing or max(row_scores, key=itemgetter(0)))
        return column


Columns = Sequence[Sequence[Score]]
"""For each metric its scores, one a row."""


def measure_blocks(
    metrics: Sequence[tuple[str, str]], items: Sequence[Item], score: Callable[[Block], Columns]
) -> list[list[Measurement]]:
    """Return each metric's measurements, one an item, in order.

    `score` returns for each metric one score a row of a block.
    """
    pairs: list[Pair] = []
    problems: list[Missing | None] = []
    for item in items:
        text, references = item.attempt.text, item.sample.references
        if is_plain(text, references):
            problems.append(None)
            pairs.append((text, references))
        elif (why := problem(text, references)) is not None:
            problems.append(why)
        else:
            problems.append(None)
            pairs.append((text, drop_missing_references(references)))
    columns: list[list[Score]] = [[] for _ in metrics]
    for piece in _pieces(pairs):
        for column, scored in zip(columns, _score_blocks(len(metrics), piece, score), strict=True):
            column.extend(scored)
    measured = []
    for (name, signature), column in zip(metrics, columns, strict=True):
        scores = iter(column)  # of the rows without a problem only
        rows = (
            (item, next(scores) if why is None else (why, NO_STATS)) for item, why in zip(items, problems, strict=True)
        )
        measured.append([measurement(name, signature, item, value, stats) for item, (value, stats) in rows])
    return measured


def _pieces(pairs: list[Pair]) -> Iterator[list[Pair]]:
    # A text that several rows share is counted once: it is in the block's arrays once.
    start = size = 0
    texts_read: set[str] = set()
    for stop, (candidate, references) in enumerate(pairs):
        fresh = [text for text in (candidate, *references) if text not in texts_read]
        more = sum(map(len, fresh))
        if size and size + more > _CHARACTERS:
            yield pairs[start:stop]
            start, size = stop, 0
            texts_read.clear()
            more = len(candidate) + sum(map(len, references))
        size += more
        texts_read.update((candidate, *references))
    if start < len(pairs):
        yield pairs[start:]


def _score_blocks(n_metrics: int, pairs: list[Pair], score: Callable[[Block], Columns]) -> Columns:
    try:
        numbers: dict[str, int] = {}
        number = numbers.setdefault
        rows = [
            (number(candidate, len(numbers)), tuple([number(reference, len(numbers)) for reference in references]))
            for candidate, references in pairs
        ]
        return score(Block(list(numbers), rows))
    except Exception as error:  # noqa: BLE001 - the measurement border: a crash becomes a record, the run goes on
        if len(pairs) == 1:
            return [[(missing_error(error), NO_STATS)]] * n_metrics
    # Halved, not row by row: one bad row in n costs 2 log n passes and not n.
    middle = len(pairs) // 2
    halves = [_score_blocks(n_metrics, half, score) for half in (pairs[:middle], pairs[middle:])]
    return [[*first, *second] for first, second in zip(*halves, strict=True)]
