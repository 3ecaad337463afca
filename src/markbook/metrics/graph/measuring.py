"""How a graph metric answers: a value or a reason, with what it was computed from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from markbook.types import Direction, Measurement, Missing, MissingKind

Profile = Literal["documented", "corrected"]
INFINITY = float("inf")
VERSION = 1


@dataclass(frozen=True, slots=True)
class GraphMetric:
    """What a reader must know of a metric to read its number."""

    name: str
    range: tuple[float, float]
    direction: Direction
    meaning: str


@dataclass(frozen=True, slots=True)
class Marker:
    """Makes the measurements of one trace, each with the same sample and signature."""

    sample_id: str = ""
    profile: Profile = "corrected"

    def measure(self, name: str, value: float, **stats: object) -> Measurement:
        """Return a value."""
        return Measurement(name, float(value), sample_id=self.sample_id, stats=stats, signature=self.signature(name))

    def lacking(self, name: str, kind: MissingKind, detail: str, **stats: object) -> Measurement:
        """Return the reason why there is no value."""
        missing = Missing(kind, detail)
        return Measurement(name, missing=missing, sample_id=self.sample_id, stats=stats, signature=self.signature(name))

    def none_apply(self, names: Iterable[str], detail: str) -> dict[str, Measurement]:
        """Return all these metrics as not applicable for one reason."""
        return {name: self.lacking(name, MissingKind.NOT_APPLICABLE, detail) for name in names}

    def signature(self, name: str) -> str:
        """Return what can change the number."""
        return f"{name}|profile:{self.profile}|v{VERSION}"


Part = Callable[..., dict[str, Measurement]]
"""A family of metrics of one trace."""
