"""What can be compared: one cell for each model and sample, wherever it came from.

An exam's task scores, a task's metric and a review's composite all become a `Sheet`; the comparison and the charts
know nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from markbook.types import Direction, Missing

_NOTHING: Mapping[str, Mapping[str, str]] = MappingProxyType({})


def _nothing() -> Mapping[str, Mapping[str, str]]:
    return _NOTHING


@dataclass(frozen=True, slots=True)
class Cell:
    """One model's result on one sample: a value or the reason why there is none."""

    value: float | None
    """In the metric's unit and range; the mean where the model made several attempts."""
    missing: Missing | None = None
    """Set exactly where there is no value."""
    passed: bool | None = None
    """Whether all tests passed, in every attempt; None where there are no tests."""
    seconds: float | None = None
    """How long the model took, where known."""
    cost: float | None = None
    """US dollars, where known."""

    def __post_init__(self) -> None:
        """Hold the rule that there is exactly one of value and reason."""
        if (self.value is None) == (self.missing is None):
            raise ValueError("a cell has a value or a reason, exactly one of them")


@dataclass(frozen=True, slots=True)
class Sheet:
    """All marks of several models by one metric."""

    metric: str
    marks: Mapping[str, Mapping[str, Cell]]
    """marks[model][sample_id], models in the order of the input, samples in the benchmark's order."""
    range: tuple[float, float] = (0.0, 1.0)
    direction: Direction = "higher"
    meta: Mapping[str, Mapping[str, str]] = field(default_factory=_nothing)
    """meta[sample_id]: topic, complexity and the like, the same for every model."""
    origins: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    """origins[model]: which run it came from, by position, and its name there; empty for a single run."""

    @property
    def models(self) -> list[str]:
        """The models' names, in order."""
        return list(self.marks)

    @property
    def samples(self) -> list[str]:
        """Every sample that any model has a mark for, in order of first appearance."""
        return list(dict.fromkeys(sample for marks in self.marks.values() for sample in marks))
