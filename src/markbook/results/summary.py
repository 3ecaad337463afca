"""One number over many values, with its interval, its count, and what was missing."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Literal

from markbook.results.sheet import Cell
from markbook.stats.arrays import finite
from markbook.stats.intervals import SHORT, clustered_standard_error, few_clusters, mean_interval
from markbook.stats.records import Estimate
from markbook.types import Direction, MissingKind, Summary

Policy = Literal["exclude", "worst", "fail", "exam"]


def methods_note(methods: Iterable[str]) -> str:
    """Return which methods made the intervals of a table, in words; empty if there is none."""
    names = sorted({method for method in methods if method})
    return f"Intervals: {', '.join(names)}." if names else ""


def sentences(parts: Iterable[str]) -> str:
    """Return the parts as sentences of one text, each with a full stop; empty ones are left out."""
    return " ".join(part if part.endswith((".", "!", "?")) else f"{part}." for part in parts if part)


def worst_end(limits: tuple[float, float], direction: Direction) -> float:
    """Return the worst value of a range: the bottom where higher is better, else the top."""
    return limits[0] if direction == "higher" else limits[1]


def _settle(
    values: Sequence[float], n_missing: Mapping[str, int], policy: Policy, worst: float
) -> tuple[list[float], str]:
    """Return the values after the policy turned what it covers into the worst end, and what it did."""
    covered = sum(n_missing.values()) if policy in ("worst", "fail") else 0
    if policy == "exam":
        covered = n_missing.get(MissingKind.ABSENT, 0) + n_missing.get(MissingKind.NO_COMPLETION, 0)
    if covered and not math.isfinite(worst):
        return list(values), f"{covered} missing left out: the range has no worst value"
    return [*values, *[worst] * covered], f"{covered} missing counted as {worst:g}" if covered else ""


def summarise_values(  # noqa: PLR0913 - each is a fact about the values that only the caller knows
    values: Sequence[float],
    *,
    metric: str = "score",
    group: str = "total",
    range: tuple[float, float] = (0.0, 1.0),  # noqa: A002 - the records' own word for it
    direction: Direction = "higher",
    n_missing: Mapping[str, int] | None = None,
    policy: Policy = "exclude",
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Summary:
    """Return the mean of the values as a `Summary`.

    The interval is clustered (CR1) if clusters are given, else as
    `stats.mean_interval`, which warns in the note where it may be too short; always inside the range. With fewer than two values there is none, and the note says so.

    Args:
        values: what could be scored, in the metric's unit, in any fixed order.
        metric: its name.
        group: `total` or the name of the part.
        range: of a single value.
        direction: which way is better.
        n_missing: how many have no value, by missing kind.
        policy: `exclude` leaves missing out; `worst` and `fail` count every one as the worst end; `exam` so counts
            the absent and empty ones only and leaves the others out.
        clusters: one per value, for related items or repeated samples; then the policy may only be `exclude`.
        confidence: of the interval.
        seed: for BCa.

    Raises:
        ValueError: a value outside the range, an unknown policy, clusters with a policy that adds values.
    """
    _check_values(values, metric, range, policy)
    missing = {kind: count for kind, count in sorted((n_missing or {}).items()) if count}
    settled, done = _settle(values, missing, policy, worst_end(range, direction))
    if clusters is not None and len(settled) > len(values):
        raise ValueError("clusters need the policy `exclude`: what is missing belongs to no cluster")
    estimate = mean_of(settled, clusters, limits=range, confidence=confidence, seed=seed)
    return Summary(
        metric=metric,
        group=group,
        value=estimate.value,
        n=len(settled),
        n_items=len(values) + sum(missing.values()),
        n_missing=missing,
        interval=estimate.interval,
        bounds=_bounds([(value, value) for value in values], sum(missing.values()), range),
        policy=policy,
        range=range,
        direction=direction,
        note="; ".join(part for part in (done, estimate.note) if part),
    )


def mean_of(
    values: Sequence[float],
    clusters: Sequence[Hashable] | None,
    *,
    limits: tuple[float, float],
    confidence: float,
    seed: int,
) -> Estimate:
    """Return the mean with the interval that suits the values: clustered where some belong together, inside the range."""
    if clusters is None:
        return mean_interval(values, limits=limits, confidence=confidence, seed=seed)
    estimate = _clip_interval(clustered_standard_error(values, clusters, confidence=confidence), limits)
    return (
        estimate
        if estimate.interval is None
        else dataclasses.replace(estimate, note=few_clusters(finite(values), clusters, limits))
    )


def warnings_of(notes: Iterable[tuple[str, str]]) -> str:
    """Return in a sentence whose intervals may be too short, and why; empty if none may.

    Args:
        notes: what each number is called, and its note.
    """
    named: dict[str, list[str]] = {}
    for name, note in notes:
        for part in note.split("; "):
            if part.startswith(SHORT):
                named.setdefault(part, []).append(name)
    return sentences(
        f"{', '.join(names[:4])}{' and others' if len(names) > 4 else ''}: {why}" for why, names in named.items()
    )


def _check_values(values: Sequence[float], metric: str, ends: tuple[float, float], policy: str) -> None:
    if policy not in ("exclude", "worst", "fail", "exam"):
        raise ValueError(f"unknown policy {policy!r}: exclude, worst, fail or exam")
    for value in values:
        if not ends[0] <= value <= ends[1]:
            raise ValueError(f"{metric}: {value!r} lies outside {ends[0]:g}..{ends[1]:g}")


def summarise_cells(
    cells: Sequence[Cell],
    *,
    metric: str = "score",
    group: str = "total",
    range: tuple[float, float] = (0.0, 1.0),  # noqa: A002 - the records' own word for it
    direction: Direction = "higher",
    policy: Policy = "exclude",
    confidence: float = 0.95,
    seed: int = 0,
) -> Summary:
    """Return the mean of the cells that have a value; what is missing inside a cell stays counted and bounded.

    Args:
        cells: one a sample. `n` counts those with a value, `n_missing` every missing answer.
        metric: as `summarise_values`, and so are the others.
        group: see there.
        range: see there.
        direction: see there.
        policy: under `worst` and `fail` also the missing answers of a cell with a value are at the worst end.
        confidence: see there.
        seed: see there.
    """
    cells_with_value = [cell for cell in cells if cell.value is not None]
    partial = [cell for cell in cells_with_value if cell.is_partial]
    missing_kinds: Counter[str] = Counter(cell.missing.kind.value for cell in cells if cell.missing is not None)
    end = 0 if direction == "higher" else 1
    counts_all = policy in ("worst", "fail")
    values = [cell.span[end] if counts_all and cell.span else cell.value or 0.0 for cell in cells_with_value]
    summary = summarise_values(
        values, metric=metric, group=group, range=range, direction=direction, n_missing=missing_kinds, policy=policy,
        confidence=confidence, seed=seed,
    )  # fmt: skip
    gaps: Counter[str] = Counter()
    for cell in cells:
        gaps.update(cell.gaps)
    spans = [cell.span or (cell.value or 0.0, cell.value or 0.0) for cell in cells_with_value]
    is_open = any(cell.is_partial and cell.span is None for cell in cells_with_value)
    words = f"{len(partial)} of {len(cells)} have a value for a part of their answers" if partial else ""
    return dataclasses.replace(
        summary,
        n_items=len(cells),
        n_partial=len(partial),
        n_missing=dict(sorted(gaps.items())),
        bounds=None if is_open else _bounds(spans, len(cells) - len(cells_with_value), range),
        note="; ".join(part for part in (summary.note, words) if part),
    )


def _bounds(
    spans: Sequence[tuple[float, float]], n_missing: int, limits: tuple[float, float]
) -> tuple[float, float] | None:
    """Return the mean of the low and of the high ends, with what is missing whole at the ends of the range.

    None if there is nothing, or an end that is needed is infinite.
    """
    n = len(spans) + n_missing
    if not n or (n_missing and not math.isfinite(limits[1] - limits[0])):
        return None
    low, high = (math.fsum(span[end] for span in spans) for end in (0, 1))
    if not n_missing:
        return low / n, high / n  # also where the range is infinite: nothing is left open
    return (low + n_missing * limits[0]) / n, (high + n_missing * limits[1]) / n


def _clip_interval(estimate: Estimate, limits: tuple[float, float]) -> Estimate:
    """Return the estimate with its interval clipped into the range."""
    if estimate.low is None or estimate.high is None:
        return estimate
    low, high = max(estimate.low, limits[0]), min(estimate.high, limits[1])
    return dataclasses.replace(estimate, low=low, high=high)
