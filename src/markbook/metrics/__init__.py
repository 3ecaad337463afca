"""Metrics, in packages that do not import one another: text, code, quality, graph; and what they share.

Each is a plugin: an object of `markbook.types.Metric` made by a factory with keyword options, which an entry point in
`markbook.metrics` names. `PairMetric` makes one out of a function from a candidate and its references to a score.
The modules beside the packages are shared by them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from types import MappingProxyType
from typing import Any

from markbook.measurements import choose_direction, note_direction
from markbook.types import Direction, Item, Measurement, Metric, Missing, MissingKind

# What every metric of a candidate text (against reference texts) shares.
#
# A metric module supplies one function from a pair to a score; this module adds what is the same everywhere:
# which rows have no value and why, one measurement an item, the border that turns a crash into a reason, and
# the mean. The function must be a module-level function or a `functools.partial` of one, so that a metric can
# travel to a worker process.

Score = tuple["float | Missing", Mapping[str, object]]
"""A value or the reason why there is none, and the stats that it was computed from."""

NO_STATS: Mapping[str, object] = MappingProxyType({})


def missing_undefined(detail: str) -> Missing:
    """Return the reason for a formula that has no value for its input."""
    return Missing(MissingKind.UNDEFINED, detail)


def problem(candidate: object, references: Sequence[object] | None, *, needs_reference: bool = True) -> Missing | None:
    """Return why a row cannot be scored, or None if it can; a candidate that is not a text is a problem of that row alone."""
    if candidate is None:
        return Missing(MissingKind.ABSENT, "no candidate")
    if not isinstance(candidate, str):
        return missing_undefined(f"the candidate is {_kind(candidate)}, not a text")
    for reference in references or ():
        if reference is not None and not isinstance(reference, str):
            return missing_undefined(f"a reference is {_kind(reference)}, not a text")
    if needs_reference and not any(reference is not None for reference in references or ()):
        return missing_undefined("no reference")
    return None


def drop_missing_references(references: Sequence[str]) -> tuple[str, ...]:
    """Return the references that are there: a None among others is left out."""
    if len(references) == 1 and type(references) is tuple and references[0] is not None:
        return references
    return tuple(reference for reference in references if reference is not None)


def measurement(
    metric: str, signature: str, item: Item, score: float | Missing, stats: Mapping[str, object]
) -> Measurement:
    """Return the measurement of one item; a value that is not finite becomes a reason."""
    attempt = item.attempt
    if isinstance(score, Missing):
        value, missing = None, score
    elif math.isfinite(score):
        value, missing = float(score), None
    else:
        value, missing = None, missing_undefined(f"the formula gives {score!r}")
    return Measurement(metric, value, missing, item.sample.id, attempt.index, attempt.model, stats, signature)


def measure_each(
    metric: str, signature: str, items: Sequence[Item], score: Callable[[Item], Score], *, needs_reference: bool = True
) -> list[Measurement]:
    """Return one measurement an item: the row's problem, what `score` says, or how it crashed."""
    measurements = []
    for item in items:
        text, references = item.attempt.text, item.sample.references
        value: float | Missing | None = None
        if not is_plain(text, references):
            value = problem(text, references, needs_reference=needs_reference)
        stats = NO_STATS
        if value is None:
            try:
                scored: Any = score(item)
                value, stats = scored if isinstance(scored, tuple) else (scored, NO_STATS)  # a bare number will do
                if not isinstance(value, Missing | Real):
                    raise TypeError(f"a metric gives a number, or a number and its stats, not {type(value).__name__}")
            except Exception as error:  # noqa: BLE001 - the measurement border: a crash becomes a record, the run goes on
                value, stats = missing_error(error), NO_STATS
        measurements.append(measurement(metric, signature, item, value, stats))
    return measurements


def is_plain(candidate: object, references: Sequence[object]) -> bool:
    """Return whether a row is the usual one, a text and one text: it has no problem, and a look tells."""
    return type(candidate) is str and len(references) == 1 and type(references[0]) is str


def missing_error(error: Exception) -> Missing:
    """Return the reason for a metric that raised, with the error's type and message."""
    return Missing(MissingKind.FAILED, f"{type(error).__name__}: {error}"[:500])


def held_to_range(limits: tuple[float, float], measurements: list[Measurement]) -> list[Measurement]:
    """Return the measurements, those with a value outside the range that their metric states as failed."""
    low, high = limits

    def fail_outside(measurement: Measurement) -> Measurement:
        if measurement.value is None or low <= measurement.value <= high:
            return measurement
        why = f"the metric gave {measurement.value:g}, outside its own range {low:g}..{high:g}"
        return replace(measurement, value=None, missing=Missing(MissingKind.FAILED, why))

    return [fail_outside(measurement) for measurement in measurements]


def clamp(value: float) -> float:
    """Return the value inside 0..1: rounding may carry a perfect score one bit past it."""
    return min(1.0, max(0.0, value))


class UnitMetric(Metric):
    """A metric in its first version whose values lie in 0..1, the higher the better, unless it says otherwise."""

    __slots__ = ()

    version: int = 1
    range: tuple[float, float] = (0.0, 1.0)
    direction: Direction = "higher"


@dataclass(frozen=True, slots=True)
class PairMetric(Metric):
    """A metric that scores one candidate text against its reference texts, independently of every other row."""

    name: str
    signature: str
    score: Callable[[str, tuple[str, ...]], Score]
    """Takes the candidate and at least one reference (none where `needs_reference` is off)."""
    direction: Direction = None  # type: ignore[assignment]  # what its name says is put there, or "higher"
    version: int = 1
    range: tuple[float, float] = (0.0, 1.0)
    needs_reference: bool = True
    assumes_direction: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        """Take a metric that states no direction and is called `error_rate` or `loss` for one of which less is better."""
        object.__setattr__(self, "assumes_direction", self.direction is None)
        object.__setattr__(self, "direction", choose_direction(self.direction, self.name))

    def measure(self, items: Sequence[Item]) -> list[Measurement]:
        """Return one measurement an item, in order."""
        return measure_each(self.name, self.signature, items, self._score, needs_reference=self.needs_reference)

    def _score(self, item: Item) -> Score:
        return self.score(item.attempt.text, drop_missing_references(item.sample.references))


def list_assumptions(metrics: Iterable[Metric]) -> list[str]:
    """Return what a reader has to know of those metrics of which the name alone says which way is better."""
    notes = [note_direction(metric.name) for metric in metrics if metric.assumes_direction]
    return [f"{note} `direction=` in its PairMetric decides." for note in notes if note]


def _kind(value: object) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"a number ({value!r:.40})" if number else f"of type {type(value).__name__}"


__all__ = ["Metric", "PairMetric", "Score"]
