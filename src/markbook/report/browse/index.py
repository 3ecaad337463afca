"""Where every attempt of a run lies, built in the background: 40 bytes an attempt, whatever its size.

The page opens at once and shows what has been indexed so far; a million attempts take some seconds to be all there.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from markbook.results.kind import Entry, Results, Status

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

STATUSES: tuple[Status, ...] = ("passed", "scored", "partial", "failed", "error", "empty", "absent")
_CHUNK = 2_000
FIRST_CHUNK = 200


@dataclass
class Index:
    """The attempts of one run, filled by a thread of its own."""

    results: Results
    models: list[str] = field(default_factory=list)
    samples: list[str] = field(default_factory=list)
    is_done: bool = False
    failure: str = ""
    """What stopped the indexing, if something did."""
    _model_of: dict[str, int] = field(default_factory=dict)
    _sample_of: dict[str, int] = field(default_factory=dict)
    _chunks: list[NDArray[np.float64]] = field(default_factory=list)
    _ready: threading.Condition = field(default_factory=threading.Condition)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to index, once."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._build, name="index", daemon=True)
            self._thread.start()

    def wait(self, rows: int, seconds: float) -> None:
        """Return when so many rows are indexed, or all, or the time is up."""
        with self._ready:
            self._ready.wait_for(lambda: self.is_done or len(self) >= rows, seconds)

    def __len__(self) -> int:
        return sum(map(len, self._chunks))

    def _build(self) -> None:
        import numpy as np

        rows: list[tuple[float, ...]] = []
        try:
            for entry in self.results.entries():
                rows.append(self._numbered(entry))
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

    def _add(self, chunk: NDArray[np.float64]) -> None:
        with self._ready:
            self._chunks.append(chunk)
            self._ready.notify_all()

    def _number(self, name: str, names: list[str], known: dict[str, int]) -> int:
        number = known.get(name)
        if number is None:
            number = known[name] = len(names)
            names.append(name)
        return number

    def _numbered(self, entry: Entry) -> tuple[float, ...]:
        return (
            entry.location,
            self._number(entry.model, self.models, self._model_of),
            self._number(entry.sample, self.samples, self._sample_of),
            STATUSES.index(entry.status),
            float("nan") if entry.score is None else entry.score,
        )

    def search(
        self, *, model: str = "", status: str = "", sample: str = "", start: int = 0, count: int = 50
    ) -> tuple[list[Entry], int]:
        """Return a page of the attempts that fit, and how many fit of those indexed so far."""
        import numpy as np

        with self._ready:
            table = np.concatenate(self._chunks) if self._chunks else np.empty((0, 5))
            self._chunks = [table] if len(table) else []
        keep = np.ones(len(table), dtype=bool)
        if model:
            keep &= table[:, 1] == self._model_of.get(model, -1)
        if status in STATUSES:
            keep &= table[:, 3] == STATUSES.index(status)
        if sample:
            wanted = [number for number, name in enumerate(list(self.samples)) if sample.casefold() in name.casefold()]
            keep &= np.isin(table[:, 2], wanted)
        places = np.flatnonzero(keep)
        return [self._found(table[at]) for at in places[start : start + count]], int(places.size)

    def of_sample(self, sample: str) -> list[Entry]:
        """Return every attempt at a sample, indexed so far."""
        number = self._sample_of.get(sample, -1)
        with self._ready:
            chunks = list(self._chunks)
        return [self._found(row) for chunk in chunks for row in chunk[chunk[:, 2] == number]]

    def _found(self, row: NDArray[np.float64]) -> Entry:
        score = None if row[4] != row[4] else float(row[4])
        return Entry(int(row[0]), self.models[int(row[1])], self.samples[int(row[2])], STATUSES[int(row[3])], score)
