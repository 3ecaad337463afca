"""An exam run as its journal tells it: problems, models, and every attempt in benchmark order.

The same view serves a run that is just finishing and one that is read back years later, so that a report is a pure
function of the journal. In memory stay 16 bytes an attempt and 32 a problem and model.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from markbook.aggregate.exam import Tally, outcome_of, outcome_record
from markbook.types import Attempt, Outcome, Sample, Test

SAMPLE, MODEL, OUTCOME, FAULT = "sample", "model", "outcome", "fault"
"""The kinds of journal row that an exam writes."""


class Row(Protocol):
    """A journal row, as the store gives it."""

    @property
    def key(self) -> tuple[str | int, ...]:
        """Its name within its kind."""
        ...

    @property
    def data(self) -> Mapping[str, Any]:
        """What it holds."""
        ...


class Journal(Protocol):
    """What the view needs of a run: it reads, whoever wrote."""

    def rows(self, kind: str) -> Iterator[Row]:
        """Yield the rows of a kind in journal order."""
        ...

    def locate(self, kind: str) -> Iterator[tuple[int, Row]]:
        """Yield them with their locations."""
        ...

    def row_at(self, location: int) -> Row:
        """Return the row at a location."""
        ...


@dataclass(frozen=True, slots=True)
class Marked:
    """One attempt with what became of it."""

    sample: Sample
    index: int
    outcome: Outcome
    data: Mapping[str, Any]
    """The rest of its journal row: code, step, form, source."""


@dataclass
class ExamView:
    """An exam run, read from its journal."""

    journal: Journal
    config: Mapping[str, Any]
    """The run's resolved options."""

    @cached_property
    def samples(self) -> tuple[Sample, ...]:
        """The benchmark's problems in file order, without their canonical solutions.

        Of a run that broke off, only those whose planned attempts are all marked: every number is then exact for
        them, and nothing that was not reached yet counts as absent.
        """
        return tuple(sample for place, sample in enumerate(self._all_samples) if place in self._settled)

    @cached_property
    def _all_samples(self) -> tuple[Sample, ...]:
        # By number: a repaired journal has rows that were lost at its end.
        return tuple(sample_of(row.data) for row in sorted(self.journal.rows(SAMPLE), key=_number))

    @cached_property
    def models(self) -> dict[str, Mapping[str, Any]]:
        """What is known of each model (source, attempts), in the order in which they were named."""
        found = {str(row.key[0]): row.data for row in self.journal.rows(MODEL)}
        named = [model for model in self.config.get("models", ()) if model in found]
        return {model: found[model] for model in (*named, *found)}

    @cached_property
    def faults(self) -> list[dict[str, Any]]:
        """Tests of the benchmark that are broken in themselves; they are not charged to anybody."""
        return [dict(row.data) for row in sorted(self.journal.rows(FAULT), key=_number)]

    @property
    def planned(self) -> int:
        """How many attempts there are to mark."""
        return sum(int(about["attempts"]) for about in self.models.values())

    @property
    def marked(self) -> int:
        """How many of them are marked."""
        return sum(len(order.places) for order in self._orders.values())

    @cached_property
    def _settled(self) -> frozenset[int]:
        """The problems whose planned attempts are all marked."""
        places = set(range(len(self._all_samples)))
        if self.marked == self.planned:
            return frozenset(places)
        for model, about in self.models.items():
            counts = Counter(self._orders[model].places)
            places -= {place for place, planned in enumerate(about["planned"]) if counts[place] < planned}
        return frozenset(places)

    def partial_note(self) -> str:
        """Return what to say of a run that broke off, empty for a whole one."""
        if self.marked == self.planned:
            return ""
        return (
            f"This run broke off: scored {self.marked} of {self.planned} attempts. Every number is over the "
            f"{len(self.samples)} of {len(self._all_samples)} problems whose attempts are all marked; "
            "those reached first may not be typical."
        )

    @cached_property
    def tallies(self) -> dict[str, Tally]:
        """What each model's marked attempts come to, in the order of `models`."""
        policy, seed = self.config.get("error_policy", "zero"), int(self.config.get("seed", 0))
        tallies = {model: Tally(model, self.samples, policy, seed) for model in self.models}
        for model, tally in tallies.items():
            for place, location in self._places(model):
                tally.add(place, outcome_of(self.journal.row_at(location).data))
        return tallies

    @cached_property
    def isolation(self) -> str:
        """The weakest level under which any attempt ran; empty before the first."""
        return max((row.data["isolation"] for row in self.journal.rows(OUTCOME)), default="")

    def attempts(self, model: str, places: Collection[int] | None = None) -> Iterator[Marked]:
        """Yield a model's marked attempts in benchmark order, read one at a time; only those at `places` if given."""
        for place, location in self._places(model):
            if places is not None and place not in places:
                continue
            row = self.journal.row_at(location)
            yield Marked(self.samples[place], int(row.key[2]), outcome_of(row.data), row.data)

    def _places(self, model: str) -> Iterator[tuple[int, int]]:
        """Yield (place among `samples`, location) of a model's marked attempts in benchmark order."""
        new_place = {old: new for new, old in enumerate(sorted(self._settled))}
        order = self._orders[model]
        for place, location in zip(order.places, order.locations, strict=True):
            if place in new_place:
                yield new_place[place], location

    @cached_property
    def _orders(self) -> dict[str, _Order]:
        place_of = {sample.id: place for place, sample in enumerate(self._all_samples)}
        found = {model: (array("Q"), array("Q")) for model in self.models}
        for location, row in self.journal.locate(OUTCOME):
            model, task, index = row.key
            keys, locations = found[str(model)]
            keys.append(place_of[str(task)] << 32 | int(index))
            locations.append(location)
        return {model: _sorted(*found.pop(model)) for model in self.models}


def _number(row: Row) -> int:
    return int(row.key[0])


@dataclass(frozen=True, slots=True)
class _Order:
    """A model's attempts in benchmark order: 12 bytes each."""

    places: array[int]
    locations: array[int]


def _sorted(keys: array[int], locations: array[int]) -> _Order:
    """Return the order of these keys; `keys` is used up. Copies are kept few: they are the peak of a large run."""
    import numpy as np

    places, found = array("I"), array("Q")
    if keys:
        view = np.frombuffer(keys, dtype=np.uint64)
        order = np.argsort(view, kind="stable").astype(np.uint32)
        view >>= np.uint64(32)
        places.frombytes(view.astype(np.uint32)[order].data.cast("B"))
        found.frombytes(np.frombuffer(locations, dtype=np.uint64)[order].data.cast("B"))
    return _Order(places, found)


def sample_record(sample: Sample) -> dict[str, Any]:
    """Return what the journal keeps of a problem."""
    return {
        "id": sample.id,
        "input": sample.input,
        "entry_point": sample.entry_point,
        "meta": {name: value for name, value in sample.meta.items() if value != sample.input},
        "tests": [
            {name: value for name in Test.__dataclass_fields__ if (value := _plain(getattr(test, name)))}
            for test in sample.tests
        ],
        "source": sample.source,
    }


def attempt_record(attempt: Attempt, outcome: Outcome) -> dict[str, Any]:
    """Return what the journal keeps of an attempt."""
    return {
        **outcome_record(outcome),
        "code": attempt.text,
        "step": attempt.meta.get("step"),
        "form": attempt.meta.get("form"),
        "source": attempt.source,
    }


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def sample_of(data: Mapping[str, Any]) -> Sample:
    """Return the problem of a journal record."""
    tests = tuple(
        Test(
            setup=test.get("setup", ""),
            assertion=test.get("assertion", ""),
            inspection=tuple(test.get("inspection", ())),
            pattern=test.get("pattern", ""),
            program=test.get("program", ""),
        )
        for test in data["tests"]
    )
    return Sample(data["id"], data["input"], (), tests, data["entry_point"], data["meta"], data["source"])
