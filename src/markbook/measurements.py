"""Numbers and what stands in their place: a measurement, the reason for having none, a summary; and each as JSON."""

from __future__ import annotations

import copyreg
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Literal, Self, TypedDict

Direction = Literal["higher", "lower"]
"""Which way is better."""


class MeasurementRecord(TypedDict):
    """A `Measurement` as JSON."""

    metric: str
    value: float | None
    missing: MissingRecord | None
    sample_id: str
    index: int
    model: str
    stats: dict[str, object]
    signature: str


class MissingRecord(TypedDict):
    """A `Missing` as JSON."""

    kind: MissingKind
    detail: str


class IntervalRecord(TypedDict):
    """An `Interval` as JSON."""

    low: float
    high: float
    method: str
    confidence: float


class SummaryRecord(TypedDict):
    """A `Summary` as JSON: the one form in which every command and file shows a number."""

    metric: str
    group: str
    value: float | None
    n: int
    n_items: int
    n_partial: int
    n_missing: dict[str, int]
    interval: IntervalRecord | None
    bounds: list[float] | None
    range: list[float | None]
    """An end that is open is null."""
    direction: Direction
    policy: str
    note: str
    signature: str


_NOTHING: Mapping[str, object] = MappingProxyType({})


def _read_only(plain: dict[str, object]) -> MappingProxyType[str, object]:
    return MappingProxyType(plain)


# Python cannot pickle or copy a read-only mapping by itself; records hold some, and travel to worker processes.
copyreg.pickle(MappingProxyType, lambda mapping: (_read_only, (dict(mapping),)))


def nothing() -> Mapping[str, object]:
    """Return the empty read-only mapping that every `meta` and `stats` starts from."""
    return _NOTHING


class MissingKind(StrEnum):
    """Why there is no value."""

    ABSENT = "absent"
    """Nobody attempted it: the sample has no attempt."""
    NO_COMPLETION = "no_completion"
    """An attempt was made and its text is empty."""
    NOT_APPLICABLE = "not_applicable"
    """The metric has no meaning here, such as a graph metric of a single agent."""
    UNDEFINED = "undefined"
    """The formula has no value for this input, such as an empty reference."""
    UNAVAILABLE = "unavailable"
    """What the metric needs is not here: an extra, a model file, a server."""
    FAILED = "failed"
    """The metric raised; the detail has the error's type and message."""
    TIMEOUT = "timeout"
    """The work did not finish in its time."""
    BUDGET = "budget"
    """The user's cost or call limit was reached first."""

    @property
    def is_ours(self) -> bool:
        """Whether the reason lies in what should have worked, not in the data: with one such a run is incomplete."""
        return self in (self.UNAVAILABLE, self.FAILED, self.TIMEOUT, self.BUDGET)


@dataclass(frozen=True, slots=True)
class Missing:
    """A reason in the place of a value: never 0.0, never NaN, never a bare None."""

    kind: MissingKind
    detail: str = ""
    """One sentence for a person: what was missing, and where it helps, what to do."""

    def to_record(self) -> MissingRecord:
        """Return it as JSON."""
        return {"kind": self.kind, "detail": self.detail}

    @classmethod
    def from_record(cls, record: Mapping[str, object]) -> Self:
        """Return what `to_record` was made of.

        Raises:
            ValueError: there is no such kind.
        """
        return cls(MissingKind(str(record["kind"])), str(record.get("detail", "")))


@dataclass(frozen=True, slots=True)
class Measurement:
    """One metric of one attempt: a finite value, or the reason why there is none."""

    metric: str
    value: float | None = None
    missing: Missing | None = None
    sample_id: str = ""
    index: int = 0
    model: str = ""
    stats: Mapping[str, object] = field(default_factory=nothing)
    """What the value was computed from (precision and recall, counts, points with their evidence)."""
    signature: str = ""
    """Everything that can change the number, such as `rougeL|stem:yes|tok:google|v1`."""

    def __post_init__(self) -> None:
        """Hold the rule that there is exactly one of value and missing.

        Raises:
            ValueError: both or neither are given, or the value is not finite.
        """
        if (self.value is None) == (self.missing is None):
            raise ValueError(f"{self.metric}: a measurement has a value or a reason, exactly one of them")
        if self.value is not None and not math.isfinite(self.value):
            raise ValueError(f"{self.metric}: {self.value!r} is not a value; say why it is missing")

    @property
    def result(self) -> float | Missing:
        """The value, or the reason why there is none."""
        return self.missing if self.value is None else self.value  # type: ignore[return-value]  # exactly one is None

    def to_record(self) -> MeasurementRecord:
        """Return it as JSON."""
        return {
            "metric": self.metric,
            "value": self.value,
            "missing": None if self.missing is None else self.missing.to_record(),
            "sample_id": self.sample_id,
            "index": self.index,
            "model": self.model,
            "stats": dict(self.stats),
            "signature": self.signature,
        }

    @classmethod
    def from_record(cls, record: MeasurementRecord) -> Self:
        """Return what `to_record` was made of."""
        missing = record["missing"]
        fields: dict[str, Any] = {**record, "missing": None if missing is None else Missing.from_record(missing)}
        return cls(**fields)


def missing_kinds(measurements: Iterable[Measurement]) -> dict[str, int]:
    """Return how many measurements have no value, by the kind of reason."""
    counts: dict[str, int] = {}
    for measurement in measurements:
        if measurement.missing is not None:
            kind = measurement.missing.kind.value
            counts[kind] = counts.get(kind, 0) + 1
    return dict(sorted(counts.items()))


@dataclass(frozen=True, slots=True)
class Interval:
    """A range that holds the true value with the stated confidence."""

    low: float
    high: float
    method: str
    """Such as `wilson`, `t`, `bca`."""
    confidence: float = 0.95

    def to_record(self) -> IntervalRecord:
        """Return it as JSON."""
        return {"low": self.low, "high": self.high, "method": self.method, "confidence": self.confidence}

    @classmethod
    def from_record(cls, record: IntervalRecord) -> Self:
        """Return what `to_record` was made of."""
        return cls(record["low"], record["high"], record["method"], record["confidence"])


def range_record(limits: tuple[float, float]) -> list[float | None]:
    """Return a range as JSON, which knows no infinity: an open end is null."""
    return [end if math.isfinite(end) else None for end in limits]


def read_range(record: Sequence[float | None]) -> tuple[float, float]:
    """Return the range of `range_record`."""
    low, high = record
    return -math.inf if low is None else low, math.inf if high is None else high


@dataclass(frozen=True, slots=True)
class Summary:
    """One number over many measurements, with everything needed to read it honestly."""

    metric: str
    group: str
    """`total`, or the name of the part (a topic, a level)."""
    value: float | None
    """None if nothing could be scored."""
    n: int
    """How many values went into it."""
    n_missing: Mapping[str, int]
    """How many did not, by missing kind, also those that a policy turned into the worst value."""
    interval: Interval | None
    """None when n < 2 or there is no variation to estimate from; `note` then says so."""
    bounds: tuple[float, float] | None
    """The value if all that is missing were worst, and if it were best."""
    policy: str
    """What was done about missing values: exclude, worst, fail, exam."""
    range: tuple[float, float] = (0.0, 1.0)
    """Of a single value; an end may be infinite."""
    direction: Direction = "higher"
    note: str = ""
    signature: str = ""
    n_items: int = 0
    """How many samples there are, with and without a value."""
    n_partial: int = 0
    """How many of the n have a value for a part of their answers only; the others are in `n_missing`."""

    def to_record(self) -> SummaryRecord:
        """Return it as JSON: the one form in which every command and file shows a number."""
        return {
            "metric": self.metric,
            "group": self.group,
            "value": self.value,
            "n": self.n,
            "n_items": self.n_items,
            "n_partial": self.n_partial,
            "n_missing": dict(self.n_missing),
            "interval": None if self.interval is None else self.interval.to_record(),
            "bounds": None if self.bounds is None else list(self.bounds),
            "range": range_record(self.range),
            "direction": self.direction,
            "policy": self.policy,
            "note": self.note,
            "signature": self.signature,
        }

    @classmethod
    def from_record(cls, record: SummaryRecord) -> Self:
        """Return what `to_record` was made of; other keys beside its own are left alone."""
        interval, bounds = record["interval"], record["bounds"]
        fields: Mapping[str, Any] = record
        changed = {
            "interval": None if interval is None else Interval.from_record(interval),
            "bounds": None if bounds is None else (bounds[0], bounds[1]),
            "range": read_range(record["range"]),
        }
        return cls(**{name: changed.get(name, fields[name]) for name in cls.__slots__})
