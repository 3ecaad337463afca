"""Between the context modes of a task: each metric's paired difference over the rows that both have a value for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from markbook.runs.tasks.summary import TaskColumn
from markbook.stats.power import Differences
from markbook.types import Direction, Interval

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class ContextGap:
    """One metric under two context modes of a task; every difference is first - second."""

    metric: str
    first: str
    """The name of the task in its fuller context."""
    second: str
    contexts: tuple[str, str]
    """Their modes."""
    direction: Direction
    difference: float | None
    """The mean over the rows; None where they share none."""
    interval: Interval | None
    p: float | None
    n: int
    n_left_out: int
    n_partial: int
    minimum_detectable_effect: float | None
    note: str
    p_adjusted: float | None = None
    """Holm's, over the whole family."""
    family: int = 1
    """How many differences p is adjusted over."""
    verdict: str = ""

    def to_record(self) -> dict[str, object]:
        """Return it as JSON."""
        return asdict(self) | {"contexts": list(self.contexts)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Return what `to_record` was made of."""
        first, second = record["contexts"]
        interval = None if record["interval"] is None else Interval.from_record(record["interval"])
        return cls(**{**record, "contexts": (first, second), "interval": interval})


def context_gap(
    first: TaskColumn, second: TaskColumn, contexts: tuple[str, str]
) -> tuple[ContextGap, Differences | None]:
    """Return the paired difference first - second over the rows that both have a value for, and how it varies, if it does."""
    from markbook.stats import paired_difference

    shared = [
        (mark, other)
        for sample, mark in first.marks.items()
        if mark.value is not None and (other := second.marks.get(sample)) is not None and other.value is not None
    ]
    a = [mark.value for mark, _ in shared if mark.value is not None]
    b = [other.value for _, other in shared if other.value is not None]
    estimate = paired_difference(a, b, confidence=CONFIDENCE)
    sd, n = estimate.stats.get("sd"), estimate.n
    # The t test decides here, as it does over clusters: each row is one of its own.
    differences = Differences(n, estimate.value, sd, clusters=n) if sd and estimate.value is not None else None
    gap = ContextGap(
        metric=first.key,
        first=first.task,
        second=second.task,
        contexts=contexts,
        direction=first.direction,
        difference=estimate.value,
        interval=estimate.interval,
        p=estimate.p,
        n=estimate.n,
        n_left_out=len({*first.marks, *second.marks}) - len(shared),
        n_partial=sum(mark.is_partial or other.is_partial for mark, other in shared),
        minimum_detectable_effect=None,
        note=estimate.note,
    )
    return gap, differences


def adjust_gaps(gaps: Sequence[tuple[ContextGap, Differences | None]]) -> list[ContextGap]:
    """Return the differences with Holm's p over the whole family, what could be shown, and in words what may be concluded."""
    from markbook.stats import holm
    from markbook.stats.power import detectable_difference

    ps = holm([gap.p for gap, _ in gaps])
    still_open = [p is not None and p >= 1 - CONFIDENCE for p in ps]
    adjusted_gaps = []
    for at, ((gap, differences), p) in enumerate(zip(gaps, ps, strict=True)):
        level = (1 - CONFIDENCE) / (1 + sum(still_open[:at]) + sum(still_open[at + 1 :]))
        least = None if differences is None else detectable_difference(differences, alpha=level)
        verdict = _verdict(gap, p)
        adjusted_gaps.append(
            replace(gap, p_adjusted=p, family=len(gaps), verdict=verdict, minimum_detectable_effect=least)
        )
    return adjusted_gaps


def _verdict(gap: ContextGap, p: float | None) -> str:
    if p is None or gap.difference is None:
        return "no error can be estimated" if gap.difference else "equal on every row"
    if p >= 1 - CONFIDENCE:
        return "not distinguishable"
    better = (gap.difference > 0) == (gap.direction == "higher")
    return f"{gap.first if better else gap.second} is better"
