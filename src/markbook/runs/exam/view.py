"""An exam run as its journal tells it: problems, models, and every attempt in benchmark order.

Theory of operation
-------------------
The same view serves a run that is just finishing and one that is read back years later, so that a report is a pure
function of the journal. The journal is in the order in which work was done; reports want benchmark order. So one pass
(`_read`) decodes the small rows and notes of each attempt only where it lies: 8 bytes for the key (place of the problem
in the high half, number of the attempt in the low one, so that sorting the numbers sorts the attempts) and 8 for the
location. In memory stay 16 bytes an attempt and 32 a problem and model, whatever the answers' size.

The first attempts (`KEPT`) stay decoded and graded, because a small exam is gone through several times: for the tallies,
the rows, the times and the page. Later ones are read again from their location. Either way an attempt carries its grade
(`MarkedAttempt.mark`), so that no reader grades it anew.

A run that broke off shows only problems whose planned attempts are all there (`_settled_places`): an attempt that was not
reached must not look like one that was absent, which scores 0. A repaired journal may have lost rows at its end and got
them again later; therefore rows are known by number and name, not by their order, and an attempt may come before its
problem (`early`).
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, cast

from markbook.runs.exam.exam_options import ErrorPolicy
from markbook.runs.exam.grading import Mark, Tally, mark
from markbook.text import cut
from markbook.types import Attempt, Key, Outcome, ProblemType, Sample, Test

if TYPE_CHECKING:
    from markbook.results.stopping import StoppedRecord
    from markbook.store import Run, RunWriter, StoredRow


# What an exam's journal keeps of models, problems and answers.


class ModelRecord(TypedDict):
    """What the journal keeps of a model."""

    source: str
    attempts: int
    planned: list[int]
    """Attempts at each problem, in the benchmark's order."""
    lacking: NotRequired[list[int]]
    """Of each problem how many answers of those asked for are not there."""


SAMPLE, MODEL, OUTCOME, FAULT, STOPPED = "sample", "model", "outcome", "fault", "stopped"
"""The kinds of journal row that an exam writes."""
ANSWERS = "answers.jsonl"
"""The file in the run folder that holds what a model replied: `--solutions` takes it, so that the exam can be held without
the model."""
_KEPT_BYTES, KEPT = 8 << 20, 10_000
"""So much of the journal and so many attempts stay decoded; they are a few times as large then."""
STREAM_KEPT = 400
"""Characters of what a program reads and is to print that the journal keeps."""
_FEW = 20_000
"""Up to here Python sorts attempts sooner than numpy can be imported."""


@dataclass(frozen=True, slots=True)
class MarkedAttempt:
    """One attempt with what became of it."""

    model: str
    sample: Sample
    index: int
    outcome: Outcome
    mark: Mark
    score: float | None
    """The mark's score under the exam's policy; None where nothing can be said of the answer."""
    code: str
    step: str | None
    """How the code was found in the reply."""
    form: str | None


@dataclass(slots=True)
class _Journal:
    """A journal, read once from end to end."""

    samples: list[Sample] = field(default_factory=list)
    models: dict[str, ModelRecord] = field(default_factory=dict)
    faults: list[dict[str, Any]] = field(default_factory=list)
    keys: dict[str, tuple[array[int], array[int]]] = field(default_factory=dict)
    """For each model the attempts' places and numbers in one number, and their locations."""
    kept: dict[int, MarkedAttempt] = field(default_factory=dict)
    """What was decoded first, by location."""
    isolation: str = ""
    """The weakest level of any attempt."""
    stopped: StoppedRecord | None = None
    """How an exam ended that had seen enough; None of one that did not stop by itself."""

    def add(self, location: int, row: StoredRow, place_of: Mapping[str, int]) -> None:
        """Take up where an attempt lies."""
        model, task, index = row.key
        keys, locations = self.keys[str(model)]
        # One number to sort by: the problem's place in the high half, the attempt's number in the low one.
        keys.append(place_of[str(task)] << 32 | int(index))
        locations.append(location)
        self.isolation = max(self.isolation, row.data["isolation"])


@dataclass
class ExamView:
    """An exam run, read from its journal."""

    journal: Run | RunWriter
    """Of a run, or of one that is being written."""
    manifest: Mapping[str, Any]
    """What run.json holds, or will hold."""
    grades: Mapping[Key, Mark] = field(default_factory=dict)
    """Grades that whoever marked the attempts has at hand, by the keys of their rows: those are not graded again."""

    @property
    def config(self) -> Mapping[str, Any]:
        """The run's resolved options."""
        config: Mapping[str, Any] = self.manifest["config"]
        return config

    @cached_property
    def samples(self) -> tuple[Sample, ...]:
        """The benchmark's problems in file order, without their canonical solutions.

        Of a run that broke off, only those whose planned attempts are all marked: every number is then exact for
        them, and nothing that was not reached yet counts as absent.
        """
        return tuple(sample for index, sample in enumerate(self._all_samples) if index in self._settled_places)

    @cached_property
    def _all_samples(self) -> tuple[Sample, ...]:
        return tuple(self._read.samples)

    @property
    def models(self) -> dict[str, ModelRecord]:
        """What is known of each model (source, attempts), in the order in which they were named."""
        return self._read.models

    @property
    def faults(self) -> list[dict[str, object]]:
        """Tests of the benchmark that are broken in themselves; they are not charged to anybody."""
        return self._read.faults

    @property
    def n_planned(self) -> int:
        """How many attempts there are to mark."""
        return sum(about["attempts"] for about in self.models.values())

    @property
    def n_marked(self) -> int:
        """How many of them are marked."""
        return sum(len(places) for places, _ in self._orders.values())

    @cached_property
    def _settled_places(self) -> frozenset[int]:
        """The problems whose planned attempts are all marked."""
        places = set(range(len(self._all_samples)))
        # An exam that had seen enough has left out the rest on purpose: what it did is whole.
        if self.stop_record:
            settled_ids = set(self.stop_record["samples"])
            return frozenset(index for index in places if self._all_samples[index].id in settled_ids)
        if self.n_marked == self.n_planned:
            return frozenset(places)
        for model, about in self.models.items():
            counts = Counter(self._orders[model][0])
            # A problem that one model has not finished is left out for all, or models would be compared on different ones.
            places -= {index for index, planned in enumerate(about["planned"]) if counts[index] < planned}
        return frozenset(places)

    def partial_note(self) -> str:
        """Return what to say of a run that broke off, empty for a whole one."""
        if self.n_marked == self.n_planned or self.stop_record:
            return ""
        return (
            f"This run broke off: scored {self.n_marked} of {self.n_planned} attempts. Every number is over the "
            f"{len(self.samples)} of {len(self._all_samples)} problems whose attempts are all marked; "
            "those reached first may not be typical, and p values of an exam that is looked at while it grows err "
            "more often than they say."
        )

    @property
    def stop_record(self) -> StoppedRecord | None:
        """How an exam ended that stopped when it had seen enough (`results.stopping`); None of any other."""
        return self._read.stopped

    @cached_property
    def tallies(self) -> dict[str, Tally]:
        """What each model's marked attempts come to, in the order of `models`."""
        seed = int(self.config.get("seed", 0))
        tallies = {model: Tally(model, self.samples, self.policy, seed) for model in self.models}
        for model, about in self.models.items():
            if "lacking" in about:
                tallies[model].lacking = array("I", (about["lacking"][index] for index in sorted(self._settled_places)))
        for model, tally in tallies.items():
            for index, location in self._places(model):
                attempt = self._attempt(location, self.samples[index])
                tally.add(index, attempt.outcome, attempt.mark)
        return tallies

    @property
    def policy(self) -> ErrorPolicy:
        """What an error scores."""
        policy: ErrorPolicy = self.config.get("error_policy", "zero")
        return policy

    @property
    def isolation(self) -> str:
        """The weakest level under which any attempt ran; empty before the first."""
        return self._read.isolation

    def attempts(self, model: str, places: Collection[int] | None = None) -> Iterator[MarkedAttempt]:
        """Yield a model's marked attempts in benchmark order, read one at a time; only those at `places` if given."""
        for index, location in self._places(model):
            if places is None or index in places:
                yield self._attempt(location, self.samples[index])

    def _places(self, model: str) -> Iterator[tuple[int, int]]:
        """Yield (place among `samples`, location) of a model's marked attempts in benchmark order."""
        new_place = {old: new for new, old in enumerate(sorted(self._settled_places))}
        for index, location in zip(*self._orders[model], strict=True):
            # Problems that are not settled have attempts in the journal, too, and no place among those that are
            # shown.
            if index in new_place:
                yield new_place[index], location

    @cached_property
    def _orders(self) -> dict[str, tuple[array[int], array[int]]]:
        """Each model's attempts in benchmark order, their places and locations: 12 bytes each."""
        keys = self._read.keys
        # Popped: unsorted and sorted keys of a large run are never in memory at the same time.
        return {model: _sort_locations(*keys.pop(model)) for model in self.models}

    def _attempt(self, location: int, sample: Sample) -> MarkedAttempt:
        return self._read.kept.get(location) or self._mark_row(self.journal.row_at(location), sample)

    def _mark_row(self, row: StoredRow, sample: Sample) -> MarkedAttempt:
        """Return the attempt of a journal row, graded: whatever is made of the run later gets this grade with it."""
        data, outcome, (model, _, index) = row.data, Outcome.from_record(row.data), row.key
        grade = self.grades.get(row.key) or mark(sample, outcome)
        code, score = str(data.get("code") or ""), grade.score(self.policy)
        step, form = data.get("step"), data.get("form")
        return MarkedAttempt(str(model), sample, int(index), outcome, grade, score, code, step, form)

    @cached_property
    def _read(self) -> _Journal:
        journal = _Journal()
        samples: dict[int, Sample] = {}
        faults: dict[int, dict[str, Any]] = {}
        models: dict[str, ModelRecord] = {}
        place_of: dict[str, int] = {}
        early: list[tuple[int, StoredRow]] = []
        first: int | None = None
        for location, row in self.journal.locate_all():
            if row.kind == OUTCOME:
                first = location if first is None else first
                index = place_of.get(str(row.key[1]))
                if str(row.key[0]) not in models or index is None:
                    early.append((location, row))
                    continue
                # By place, not by time: what stays decoded is the same whoever reads, so the peak of memory is too.
                if location - first < _KEPT_BYTES and len(journal.kept) < KEPT:
                    journal.kept[location] = self._mark_row(row, samples[index])
                journal.add(location, row, place_of)
            elif row.kind == SAMPLE:
                sample = read_sample(row.data)
                samples[int(row.key[0])] = sample
                place_of[sample.id] = int(row.key[0])
            elif row.kind == MODEL:
                models[str(row.key[0])] = cast("ModelRecord", row.data)
                journal.keys.setdefault(str(row.key[0]), (array("Q"), array("Q")))
            elif row.kind == FAULT:
                faults[int(row.key[0])] = dict(row.data)
            elif row.kind == STOPPED:
                journal.stopped = cast("StoppedRecord", row.data)
        for location, row in early:
            journal.add(location, row, place_of)
        # By number and by name: a repaired journal has rows that were lost at its end.
        journal.samples = [samples[number] for number in sorted(samples)]
        journal.faults = [faults[number] for number in sorted(faults)]
        named = [model for model in self.config.get("models", ()) if model in models]
        journal.models = {model: models[model] for model in (*named, *models)}
        return journal


def _sort_locations(keys: array[int], locations: array[int]) -> tuple[array[int], array[int]]:
    """Return the places of these keys in order, and their locations; `keys` is used up. Copies are kept few: they are the peak of a large run."""
    places, sorted_locations = array("I"), array("Q")
    if len(keys) <= _FEW:
        order = sorted(range(len(keys)), key=keys.__getitem__)
        places.extend(keys[at] >> 32 for at in order)
        sorted_locations.extend(locations[at] for at in order)
    else:
        import numpy as np

        view = np.frombuffer(keys, dtype=np.uint64)
        ranks = np.argsort(view, kind="stable").astype(np.uint32)
        # In place: a third copy of 8 bytes an attempt would be the peak of a large run.
        view >>= np.uint64(32)
        places.frombytes(view.astype(np.uint32)[ranks].data.cast("B"))
        sorted_locations.frombytes(np.frombuffer(locations, dtype=np.uint64)[ranks].data.cast("B"))
    return places, sorted_locations


def sample_record(sample: Sample) -> dict[str, object]:
    """Return what the journal keeps of a problem; of a test what is empty is not there."""
    tests: list[dict[str, object]] = []
    for test in sample.tests:
        values = {name: getattr(test, name) for name in Test.__dataclass_fields__}
        record = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items() if value}
        if test.stdin is not None:
            # What a program reads and prints may be megabytes, and the reports show its beginning. A test that is worth
            # 0 points is another than one that nobody gave points.
            record |= {} if test.points is None else {"points": test.points}
            record |= {"stdin": cut(test.stdin, STREAM_KEPT), "stdout": cut(test.stdout, STREAM_KEPT)}
        tests.append(record)
    return {
        "id": sample.id,
        "input": sample.input,
        "entry_point": sample.entry_point,
        "meta": {**sample.meta, **({"problem_type": sample.problem_type} if sample.problem_type else {})},
        "tests": tests,
        "source": sample.source,
        **({"language": sample.language} if sample.language else {}),
    }


def attempt_record(attempt: Attempt, outcome: Outcome) -> dict[str, object]:
    """Return what the journal keeps of an attempt."""
    return {
        **outcome.to_record(),
        "code": attempt.text,
        "step": attempt.meta.get("step"),
        "form": attempt.meta.get("form"),
        "source": attempt.source,
        **({"language": attempt.language} if attempt.language else {}),
    }


def read_sample(record: Mapping[str, Any]) -> Sample:
    """Return the problem of a journal record."""
    # Flags of a problem's own judge are needed to run it, and a report runs nothing.
    fields = [name for name in Test.__dataclass_fields__ if name != "judge_flags"]
    tests: list[dict[str, Any]] = [
        {name: tuple(test[name]) if name == "inspection" else test[name] for name in fields if name in test}
        for test in record["tests"]
    ]
    meta = dict(record["meta"])
    kind = meta.pop("problem_type", None)
    return Sample(
        record["id"],
        record["input"],
        tests=tuple(Test(**test) for test in tests),
        entry_point=record["entry_point"],
        meta=meta,
        source=record["source"],
        problem_type=next((problem_type for problem_type in ProblemType if problem_type == kind), None),
        language=record.get("language", ""),
    )
