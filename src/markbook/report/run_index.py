"""Where every attempt of a run lies, built in the background: about 64 bytes an attempt, whatever its size.

Theory of operation
-------------------
A run may have a million attempts, and its page has to open at once. So one thread (`Index._build`) walks through the journal
a single time and keeps a row of eight numbers an attempt; names (models, samples, errors, topics) are kept once and stand in
the row as numbers. The texts stay in the journal: the first number is the place where the attempt's row begins there, and
one attempt is read from it when its page is opened.

- The building thread appends chunks of shape (attempts, 8) under `_ready` and wakes whoever waits for so many rows. Chunks
  are never changed, so a reader that has one needs no lock.
- `table()` is a snapshot: it joins the chunks that are there under the lock and returns an array that nobody writes to again.
  A page takes one and works on it alone, so its counts agree with its rows while the thread goes on.
- Pages wait a moment (`wait`) and then show what is indexed so far; `is_done` says whether that is all. A page reads `is_done`
  *before* it counts: what is counted while the last rows come is then never called final.
- Filters and orders are masks and sorts over columns of the snapshot (`places`); orders and topics are remembered once
  everything is indexed.

A run that is still going on gets a new index after some seconds (`browser.RunSite.index`); the old one is dropped.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, NamedTuple

from markbook.measurements import CONFIDENCE
from markbook.results.comparison import run_headline
from markbook.results.kind import Entry, Results
from markbook.results.sheet import STATUSES
from markbook.results.summary import estimate_mean
from markbook.stats.records import Estimate
from markbook.text.format import Scale

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Table = NDArray[np.float64]
    Places = NDArray[np.int64]

_LOCATION, _MODEL, _SAMPLE, _STATUS, _SCORE, _ERROR, _TOPIC, _SECONDS = range(8)
SORTS = ("sample", "model", "status", "score", "error", "topic", "seconds")
"""What attempts can be sorted by; with a minus before it the other way round."""
_CHUNK = 2_000
FIRST_CHUNK = 200
_SMALL = 5_000
"""Attempts of a run whose sentence is worked out while it is looked at."""
_NUMBER = re.compile(r"(\d{1,18})")
WORST_TOPICS, TOPIC_MODELS = 12, 12
"""Topics and models whose means the page of a run shows."""
_OPEN = (-math.inf, math.inf)


class TopicMeans(NamedTuple):
    """What attempts of one topic came to."""

    name: str
    attempts: int
    means: Mapping[str, Estimate]
    """By model, of those that have a score there."""


class WorstTopics(NamedTuple):
    """The topics with the worst means, the worst first."""

    shown: Sequence[TopicMeans]
    total: int


@dataclass(frozen=True, slots=True)
class Query:
    """Which attempts, in which order; what is empty is not asked for."""

    model: str = ""
    status: str = ""
    sample: str = ""
    """A part of the sample's name, or with = before it the whole."""
    error: str = ""
    topic: str = ""
    at_least: str = ""
    at_most: str = ""
    """Scores as they are shown: of a metric from 0 to 1 in points of 100."""
    slower: str = ""
    sort: str = ""
    """One of `SORTS`; the order of the journal if empty."""

    @property
    def is_plain(self) -> bool:
        """Whether every attempt is asked for as it lies."""
        return not any(getattr(self, field.name) for field in fields(self))


class _Names:
    """Names by number."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._known: dict[str, int] = {}

    def number(self, name: str) -> int:
        """Return the number of a name, a new one where it is new."""
        number = self._known.get(name)
        if number is None:
            number = self._known[name] = len(self.all)
            self.all.append(name)
        return number

    def find(self, name: str) -> int:
        """Return the number of a name, -1 if it has none."""
        return self._known.get(name, -1)

    def ranks(self) -> Table:
        """Return the place of each name when they are sorted as people do: 2 before 10."""
        import numpy as np

        names = list(self.all)
        ranks = np.zeros(len(names) + 1)
        for rank, number in enumerate(sorted(range(len(names)), key=lambda at: natural(names[at]))):
            ranks[number] = rank
        return ranks


def natural(name: str) -> list[tuple[int, int, str]]:
    """Return what names are sorted by where 2 is to come before 10."""
    return [(0, int(part), "") if part.isdecimal() and part.isascii() else (1, 0, part) for part in _NUMBER.split(name)]


@dataclass
class Index:
    """The attempts of one run, filled by a thread of its own."""

    results: Results
    is_done: bool = False
    failure: str = ""
    """What stopped the indexing, if something did."""
    headline: str = ""
    """What the run says in one sentence, once it is read; of a large one its report has it."""
    _names: dict[int, _Names] = field(
        default_factory=lambda: {at: _Names() for at in (_MODEL, _SAMPLE, _ERROR, _TOPIC)}
    )
    _chunks: list[Table] = field(default_factory=list)
    _topics: WorstTopics | None = None
    _orders: dict[str, Places] = field(default_factory=dict)
    _ready: threading.Condition = field(default_factory=threading.Condition)
    _thread: threading.Thread | None = None
    _is_told: bool = False
    """Whether the headline is there, or there will be none."""

    @property
    def models(self) -> list[str]:
        """The models, as they came."""
        return list(self._names[_MODEL].all)

    @property
    def samples(self) -> list[str]:
        """The samples, as they came."""
        return list(self._names[_SAMPLE].all)

    @property
    def topics(self) -> list[str]:
        """The topics, sorted."""
        return sorted(filter(None, self._names[_TOPIC].all))

    @property
    def errors(self) -> list[str]:
        """The kinds of error that occur, sorted."""
        return sorted(filter(None, self._names[_ERROR].all))

    def start(self) -> None:
        """Begin to index, once."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._build, name="index", daemon=True)
            self._thread.start()

    def wait(self, rows: int, seconds: float) -> None:
        """Return when so many rows are indexed, or all, or the time is up."""
        with self._ready:
            self._ready.wait_for(lambda: self.is_done or len(self) >= rows, seconds)

    def wait_for_headline(self, seconds: float) -> None:
        """Return when the run's sentence is there, or will not come, or the time is up."""
        with self._ready:
            self._ready.wait_for(lambda: self._is_told or self.failure, seconds)

    def __len__(self) -> int:
        return sum(map(len, self._chunks))

    def _build(self) -> None:
        import numpy as np

        rows: list[tuple[float, ...]] = []
        try:
            for entry in self.results.entries():
                rows.append(self._make_sort_key(entry))
                # The first chunk is a small one, so that a page that waits for its first rows has them soon.
                if len(rows) >= (_CHUNK if self._chunks else FIRST_CHUNK):
                    self._add(np.array(rows))
                    rows = []
        except Exception as error:  # noqa: BLE001 - a thread's border: the page shows what stopped it
            self.failure = f"{type(error).__name__}: {error}"
        if rows:
            self._add(np.array(rows))
        with self._ready:
            self.is_done = True
            self._ready.notify_all()
        # After `is_done`: pages need not wait for the sentence, which compares all models.
        if 0 < len(self) <= _SMALL and not self.failure:
            try:
                self.headline = run_headline(self.results, "samples").text
            except Exception as error:  # noqa: BLE001 - as above
                self.failure = f"{type(error).__name__}: {error}"
        with self._ready:
            self._is_told = True
            self._ready.notify_all()

    def _add(self, chunk: Table) -> None:
        with self._ready:
            self._chunks.append(chunk)
            self._ready.notify_all()

    def _make_sort_key(self, entry: Entry) -> tuple[float, ...]:
        names = self._names
        return (
            entry.location,
            names[_MODEL].number(entry.model),
            names[_SAMPLE].number(entry.sample),
            STATUSES.index(entry.status),
            # A missing score is NaN in this table and nowhere else: no comparison with it holds, so filters leave it out.
            float("nan") if entry.score is None else float(entry.score),
            names[_ERROR].number(entry.error),
            names[_TOPIC].number(entry.topic),
            float("nan") if entry.seconds is None else float(entry.seconds),
        )

    def table(self) -> Table:
        """Return a row of numbers an attempt indexed so far."""
        import numpy as np

        with self._ready:
            table = np.concatenate(self._chunks) if self._chunks else np.empty((0, 8))
            # The joined table takes the place of its chunks, so that the next call need not join them again.
            self._chunks = [table] if len(table) else []
        return table

    def limits(self) -> tuple[float, float] | None:
        """Return the range of the scores: what never left 0..1 is taken for a share, as the journal does not say; None without any."""
        import numpy as np

        scores = self.table()[:, _SCORE]
        if np.isnan(scores).all():
            return None
        low, high = float(np.nanmin(scores)), float(np.nanmax(scores))
        return (0.0, 1.0) if 0 <= low <= high <= 1 else (low, high)

    def scale(self) -> Scale:
        """Return how scores are shown: as the list of runs shows those of the whole run, where the run has any."""
        scores = self.results.manifest.get("scores")
        scores = scores if isinstance(scores, list) else ()
        ends = [score.get("range") for score in scores if isinstance(score, Mapping)]
        return Scale(*(ends or [self.limits()]))

    def search(self, *, start: int = 0, count: int = 50, **words: str) -> tuple[list[Entry], int]:
        """Return a page of the attempts that a `Query` of these words asks for, and how many fit of those indexed so far."""
        table, places = self.places(Query(**words))
        return [self.get_entry(table[at]) for at in places[start : start + count]], int(places.size)

    def places(self, query: Query) -> tuple[Table, Places]:
        """Return the table, and the rows of it that are asked for in the order that is asked for."""
        import numpy as np

        table = self.table()
        keep = np.ones(len(table), dtype=bool)
        for name, column in (("model", _MODEL), ("error", _ERROR), ("topic", _TOPIC)):
            if value := getattr(query, name):
                # A name that is unknown has the number -1, which no row holds: then nothing fits.
                keep &= table[:, column] == self._names[column].find(value)
        if query.status in STATUSES:
            keep &= table[:, _STATUS] == STATUSES.index(query.status)
        if query.sample:
            keep &= np.isin(table[:, _SAMPLE], self._samples_like(query.sample))
        factor = self.scale().factor if query.at_least or query.at_most else 1.0
        bounds: tuple[tuple[str, int, float, Callable[[Table, float], NDArray[np.bool_]]], ...] = (
            (query.at_least, _SCORE, factor, np.greater_equal),
            (query.at_most, _SCORE, factor, np.less_equal),
            (query.slower, _SECONDS, 1.0, np.greater_equal),
        )
        for text, column, unit, holds in bounds:
            if (bound := _number(text)) is not None:
                keep &= holds(table[:, column], bound / unit)
        if not query.sort:
            return table, np.flatnonzero(keep)
        order = self._order(query.sort, table)
        return table, order[keep[order]]

    def _samples_like(self, words: str) -> list[int]:
        if words.startswith("="):
            return [self._names[_SAMPLE].find(words[1:])]
        folded = words.casefold()
        return [number for number, name in enumerate(self.samples) if folded in name.casefold()]

    def _order(self, sort: str, table: Table) -> Places:
        """Return the rows in order; what has no value comes last either way. Kept once everything is indexed."""
        import numpy as np

        # An order from before the last rows came is shorter than the table and is made anew.
        if sort in self._orders and len(self._orders[sort]) == len(table):
            return self._orders[sort]
        name = sort.removeprefix("-")
        column = dict(zip(SORTS, (_SAMPLE, _MODEL, _STATUS, _SCORE, _ERROR, _TOPIC, _SECONDS), strict=True)).get(name)
        if column is None:
            return np.arange(len(table))
        values = self._rank_column(table, column)
        # Ties go by name, so that two looks at the same page have one order.
        then = self._rank_column(table, _SAMPLE if column != _SAMPLE else _MODEL)
        # NaN sorts last in numpy, also with a minus before it.
        order = np.lexsort((then, -values if sort.startswith("-") else values))
        if self.is_done:
            self._orders[sort] = order
        return order

    def _rank_column(self, table: Table, column: int) -> Table:
        return self._names[column].ranks()[table[:, column].astype(int)] if column in self._names else table[:, column]

    def of_sample(self, sample: str) -> list[Entry]:
        """Return every attempt at a sample, indexed so far."""
        number = self._names[_SAMPLE].find(sample)
        table = self.table()
        return [self.get_entry(row) for row in table[table[:, _SAMPLE] == number]]

    def beside(self, query: Query, location: int) -> tuple[int, int, int | None, int | None]:
        """Return an attempt's place among those asked for, their number, and the locations before and after it."""
        import numpy as np

        table, places = self.places(query)
        matches = np.flatnonzero(table[places, _LOCATION] == location)
        if not len(matches):
            return -1, len(places), None, None
        at = int(matches[0])
        before = int(table[places[at - 1], _LOCATION]) if at else None
        after = int(table[places[at + 1], _LOCATION]) if at + 1 < len(places) else None
        return at, len(places), before, after

    def counts(self) -> dict[str, int]:
        """Return how many attempts ended in each kind of error, the most frequent first."""
        import numpy as np

        names = list(self._names[_ERROR].all)
        counts = zip(names, np.bincount(self.table()[:, _ERROR].astype(int), minlength=len(names)), strict=False)
        return {name: int(n) for name, n in sorted(counts, key=lambda pair: (-pair[1], pair[0])) if name and n}

    def statuses(self) -> dict[str, int]:
        """Return how many attempts have each status."""
        import numpy as np

        counts = np.bincount(self.table()[:, _STATUS].astype(int), minlength=len(STATUSES))
        return {name: int(count) for name, count in zip(STATUSES, counts, strict=True) if count}

    def by_topic(self) -> WorstTopics:
        """Return the topics with the worst mean scores, with each model's; kept once all attempts are indexed."""
        import numpy as np

        if self._topics is not None:
            return self._topics
        table, names, models = self.table(), list(self._names[_TOPIC].all), self.models
        table = table[~np.isnan(table[:, _SCORE])]
        # One number for each cell of the table of topics by models lets one `bincount` fill all of it.
        cells = (table[:, _TOPIC] * len(models) + table[:, _MODEL]).astype(np.int64)
        size = len(names) * len(models)
        counts = np.bincount(cells, minlength=size).reshape(-1, max(1, len(models)))
        sums = np.bincount(cells, weights=table[:, _SCORE], minlength=size).reshape(counts.shape)
        there = [at for at, name in enumerate(names) if name and counts[at].any()]
        sign = -1 if self.results.direction == "lower" else 1
        there.sort(key=lambda at: sign * float(np.mean(sums[at][counts[at] > 0] / counts[at][counts[at] > 0])))
        limits = (0.0, 1.0) if self.limits() == (0.0, 1.0) else _OPEN
        models_shown = models[:TOPIC_MODELS]
        topics = [
            TopicMeans(names[at], int(counts[at].sum()), {
                model: _mean(table[cells == at * len(models) + of], limits) for of, model in enumerate(models_shown) if counts[at, of]
            })
            for at in there[:WORST_TOPICS]
        ]  # fmt: skip
        worst = WorstTopics(topics, len(there))
        self._topics = worst if self.is_done else None
        return worst

    def get_entry(self, row: Table) -> Entry:
        """Return the attempt in a row of the table."""
        names = self._names
        return Entry(
            int(row[_LOCATION]),
            names[_MODEL].all[int(row[_MODEL])],
            names[_SAMPLE].all[int(row[_SAMPLE])],
            STATUSES[int(row[_STATUS])],
            _to_known(row[_SCORE]),
            names[_ERROR].all[int(row[_ERROR])],
            names[_TOPIC].all[int(row[_TOPIC])],
            _to_known(row[_SECONDS]),
        )


def _mean(rows: Table, limits: tuple[float, float]) -> Estimate:
    """Return the mean score of attempts; several at one sample belong together."""
    samples = rows[:, _SAMPLE].tolist()
    clusters = samples if len(set(samples)) < len(samples) else None
    return estimate_mean(rows[:, _SCORE].tolist(), clusters, limits=limits, confidence=CONFIDENCE, seed=0)


def _to_known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _number(text: str) -> float | None:
    try:
        number = float(text) if text else None
    except ValueError:
        return None
    return None if number is None or math.isnan(number) else number
