"""Where every attempt of a run lies, built in the background: 40 bytes an attempt, whatever its size.

The page opens at once and shows what has been indexed so far; a million attempts take some seconds to be all there.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from markbook.aggregate.exam import is_all_or_nothing
from markbook.aggregate.exam_view import MODEL, OUTCOME, SAMPLE, sample_of
from markbook.report.page import Status
from markbook.store import Run
from markbook.types import ErrorKind, Sample

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

STATUSES: tuple[Status, ...] = ("passed", "scored", "partial", "failed", "error", "empty", "absent")
_CHUNK = 2_000
FIRST_CHUNK = 200
_RESULTS = "results.jsonl"

Entry = tuple[int, int, int, int, float]
"""Location, model, sample, status, score (nan where there is none: this table never leaves the process)."""


@dataclass(frozen=True, slots=True)
class Found:
    """One line of the list of attempts."""

    location: int
    model: str
    sample: str
    status: Status
    score: float | None


@dataclass
class Index:
    """The attempts of one run, filled by a thread of its own."""

    run: Run
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

        rows: list[Entry] = []
        try:
            entries = self._exam() if self.run.command == "exam" else self._files()
            for entry in entries:
                rows.append(entry)
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

    def _entry(self, location: int, model: str, sample: str, status: Status, score: float | None) -> Entry:
        return (
            location,
            self._number(model, self.models, self._model_of),
            self._number(sample, self.samples, self._sample_of),
            STATUSES.index(status),
            float("nan") if score is None else score,
        )

    def _exam(self) -> Iterator[Entry]:
        whole: dict[str, bool] = {}
        policy = self.run.manifest["config"].get("error_policy", "zero")
        for location, row in self.run.locate_all():
            if row.kind == SAMPLE:
                whole[row.data["id"]] = is_all_or_nothing(sample_of(row.data))
            elif row.kind == MODEL:
                self._number(str(row.key[0]), self.models, self._model_of)
            elif row.kind == OUTCOME:
                model, task = str(row.key[0]), str(row.key[1])
                status, score = _exam_status(row.data, whole=whole.get(task, False), policy=policy)
                yield self._entry(location, model, task, status, score)

    def _files(self) -> Iterator[Entry]:
        path = self.run.folder / _RESULTS
        offset = 0
        with path.open("rb") as file:
            for line in file:
                row = json.loads(line)
                yield self._entry(offset, *_row_facts(row))
                offset += len(line)

    def search(
        self, *, model: str = "", status: str = "", sample: str = "", start: int = 0, count: int = 50
    ) -> tuple[list[Found], int]:
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

    def of_sample(self, sample: str) -> list[Found]:
        """Return every attempt at a sample, indexed so far."""
        number = self._sample_of.get(sample, -1)
        with self._ready:
            chunks = list(self._chunks)
        return [self._found(row) for chunk in chunks for row in chunk[chunk[:, 2] == number]]

    def _found(self, row: NDArray[np.float64]) -> Found:
        score = None if row[4] != row[4] else float(row[4])
        return Found(int(row[0]), self.models[int(row[1])], self.samples[int(row[2])], STATUSES[int(row[3])], score)

    def sample(self, name: str) -> Sample | None:
        """Return a problem of an exam by its id."""
        rows = (row.data for row in self.run.rows(SAMPLE) if row.data["id"] == name)
        found = next(rows, None)
        return None if found is None else sample_of(found)

    def row(self, location: int) -> dict[str, Any]:
        """Return a published row of a run of tasks or reviews.

        Raises:
            ValueError: no row begins there.
        """
        with (self.run.folder / _RESULTS).open("rb") as file:
            if location < 0 or (location > 0 and (file.seek(location - 1), file.read(1))[1] != b"\n"):
                raise ValueError("no row begins there")
            file.seek(location)
            found: dict[str, Any] = json.loads(file.readline())
            return found


def _exam_status(data: Mapping[str, Any], *, whole: bool, policy: str) -> tuple[Status, float]:
    """Return the status and score of a journal's outcome, by the exam's own rules."""
    passed = sum(int(test[0]) for test in data["tests"])
    total = len(data["tests"])
    share = passed / total if total else 0.0
    if whole:
        share = float(passed == total > 0 and not data["error"])
    if data["error"]:
        score = 0.0 if policy == "zero" else share
        return ("empty" if data["error"] == ErrorKind.NO_COMPLETION.value else "error"), score
    return ("passed" if share == 1 else "partial" if share > 0 else "failed"), share


def _row_facts(row: Mapping[str, Any]) -> tuple[str, str, Status, float | None]:
    """Return model, sample, status and score of a published row."""
    from markbook.report.task_page import answer_status

    if "paper_id" in row:
        score = row["composite"].get("composite_score")
        return str(row["system"]), str(row["paper_id"]), "scored" if score is not None else "partial", score
    value = next((value for value in row["metrics"].values() if value is not None), None)
    return str(row.get("model") or "answer"), f"{row['task']}/{row['id']}", answer_status(row), value
