"""One number over many values, with its interval, its count, and what was missing."""

from __future__ import annotations

import dataclasses
import itertools
import math
from array import array
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, overload

from markbook import plugins
from markbook.errors import UsageError
from markbook.results.sheet import Cell, Policy, Sheet, best_end, make_cell
from markbook.stats.intervals import NARROW, clustered_interval, mean_interval
from markbook.stats.records import Estimate
from markbook.types import CONFIDENCE, Direction, Interval, Measurement, Metric, MissingKind, Summary, missing_kinds

if TYPE_CHECKING:
    from markbook.stats.arrays import Ints

_WARNS = (NARROW, "the interval may be too short")
"""How a warning begins: here, and in the files of runs of earlier versions."""

_LEFT_OUT = " missing left out: "
"""How a note goes on that says that a policy which counts missing values could not."""


def methods_note(methods: Iterable[str]) -> str:
    """Return which methods made the intervals of a table, in words; empty if there is none."""
    names = sorted({method for method in methods if method})
    return f"Intervals: {', '.join(names)}." if names else ""


def sentences(parts: Iterable[str]) -> str:
    """Return the parts as sentences of one text, each with a full stop; empty ones are left out."""
    return " ".join(part if part.endswith((".", "!", "?")) else f"{part}." for part in parts if part)


def worst_end(limits: tuple[float, float], direction: Direction) -> float:
    """Return the worst value of a range: the bottom where higher is better, else the top."""
    return best_end(limits, "lower" if direction == "higher" else "higher")


def summarise_values(  # noqa: PLR0913 - each is a fact about the values that only the caller knows
    values: Sequence[float],
    *,
    metric: str = "score",
    group: str = "total",
    range: tuple[float, float] = (0.0, 1.0),
    direction: Direction = "higher",
    n_missing: Mapping[str, int] | None = None,
    policy: Policy = "exclude",
    clusters: Sequence[Hashable] | None = None,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Summary:
    """Return the mean of the values as a `Summary`.

    The interval is clustered (CR2) if clusters are given, else as
    `stats.mean_interval`, which warns in the note where it may be too narrow; always inside the range. With fewer than two values there is none, and the note says so.

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
    if policy not in ("exclude", "worst", "fail", "exam"):
        raise ValueError(f"unknown policy {policy!r}: exclude, worst, fail or exam")
    for value in values:
        # Written so that NaN, which is not comparable with anything, fails it too.
        if not range[0] <= value <= range[1]:
            raise ValueError(f"{metric}: {value!r} lies outside {range[0]:g}..{range[1]:g}")
    missing = {kind: count for kind, count in sorted((n_missing or {}).items()) if count}
    worst, done, settled = worst_end(range, direction), "", list(values)
    covered = sum(missing.values()) if policy in ("worst", "fail") else 0
    if policy == "exam":
        # What the model owed counts against it; what broke on our side does not.
        covered = missing.get(MissingKind.ABSENT, 0) + missing.get(MissingKind.NO_COMPLETION, 0)
    if covered and math.isfinite(worst):
        settled, done = settled + [worst] * covered, f"{covered} missing counted as {worst:g}"
    elif covered:
        done = f"{covered}{_LEFT_OUT}the range has no worst value"
    if clusters is not None and len(settled) > len(values):
        raise ValueError("clusters need the policy `exclude`: what is missing belongs to no cluster")
    estimate = estimate_mean(settled, clusters, limits=range, confidence=confidence, seed=seed)
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


def estimate_mean(
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
    return clustered_interval(values, clusters, limits=limits, confidence=confidence)


def summarise_warnings(notes: Iterable[tuple[str, str]]) -> str:
    """Return in a sentence whose intervals may be too narrow, and what a policy could not count; empty if there is none.

    The notes come with what each number is called.
    """
    named: dict[str, list[str]] = {}
    for name, note in notes:
        for part in note.split("; "):
            if part.startswith(_WARNS) or _LEFT_OUT in part:
                named.setdefault(part, []).append(name)
    return sentences(
        f"{', '.join(names[:4])}{' and others' if len(names) > 4 else ''}: {why}" for why, names in named.items()
    )


def summarise_cells(
    cells: Sequence[Cell],
    *,
    metric: str,
    group: str,
    range: tuple[float, float],
    direction: Direction,
    policy: Policy,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Summary:
    """Return the mean of the cells that have a value; what is missing inside a cell stays counted and bounded.

    There is one cell a sample: `n` counts those with a value, `n_missing` every missing answer. The options are those of
    `summarise_values`; under `worst` and `fail` also the missing answers of a cell with a value are at the worst end.
    """
    cells_with_value = [cell for cell in cells if cell.value is not None]
    partial = [cell for cell in cells_with_value if cell.is_partial]
    missing_kinds: Counter[str] = Counter(cell.missing.kind.value for cell in cells if cell.missing is not None)
    end = 0 if direction == "higher" else 1
    counts_all = policy in ("worst", "fail")
    # `or 0.0` is for the type checker alone: the cells were chosen by having a value.
    values = [cell.span[end] if counts_all and cell.span else cell.value or 0.0 for cell in cells_with_value]
    summary = summarise_values(
        values, metric=metric, group=group, range=range, direction=direction, n_missing=missing_kinds, policy=policy,
        confidence=confidence, seed=seed,
    )  # fmt: skip
    gaps: Counter[str] = Counter()
    for cell in cells:
        gaps.update(cell.gaps)
    spans = [cell.span or (cell.value or 0.0, cell.value or 0.0) for cell in cells_with_value]
    # Such a cell's range has an infinite end, so what its missing answers could have scored has no bound.
    is_open = any(cell.n_missing and cell.span is None for cell in cells_with_value)
    words = f"{len(partial)} of {len(cells)} have a value for a part of their answers" if partial else ""
    return dataclasses.replace(
        summary,
        n_items=len(cells),
        n_partial=len(partial),
        n_missing=dict(sorted(gaps.items())),
        bounds=None if is_open else _bounds(spans, len(cells) - len(cells_with_value), range),
        note="; ".join(part for part in (summary.note, words) if part),
    )


def count_missing(sheet: Sheet, policy: Policy) -> Sheet:
    """Return a sheet whose missing values count as `summarise_cells` counts them under a policy; a note says how many."""
    n_missing = sum(sum(cell.gaps.values()) for cells in sheet.marks.values() for cell in cells.values())
    if policy not in ("worst", "fail") or not n_missing:
        return dataclasses.replace(sheet, policy=policy)
    worst = worst_end(sheet.range, sheet.direction)
    if not math.isfinite(worst):
        note = f"{n_missing} missing values are left out: the range has no worst value"
        return dataclasses.replace(sheet, policy=policy, notes=(*sheet.notes, note))
    is_judged = any(cell.passed is not None for cells in sheet.marks.values() for cell in cells.values())
    limits = sheet.range if math.isfinite(sheet.range[1] - sheet.range[0]) else None
    end = 0 if sheet.direction == "higher" else 1

    def count(cell: Cell) -> Cell:
        if not cell.gaps:
            return cell
        passed = False if is_judged else None
        if cell.value is None:
            return Cell(worst, passed=passed, n_missing=cell.gaps, span=limits, is_counted_missing=True)
        return dataclasses.replace(cell, value=cell.span[end] if cell.span else cell.value, passed=passed)

    marks = {model: {sample: count(cell) for sample, cell in cells.items()} for model, cells in sheet.marks.items()}
    note = f"{n_missing} missing values count as {worst:g}, the worst, as in the run's own numbers"
    return dataclasses.replace(sheet, marks=marks, policy=policy, notes=(*sheet.notes, note))


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


# One number over many measurements of one metric: `markbook.summarise`.

_RESAMPLES = 1000
_WIDER = {"h": (1 << 15, "i"), "i": (1 << 31, "d")}
"""By the type of an array: what its whole numbers are below, and the type of one that holds more."""


def summarise(
    metric: str,
    measurements: Sequence[Measurement],
    *,
    policy: Policy = "exclude",
    confidence: float = CONFIDENCE,
    seed: int = 0,
    **options: object,
) -> Summary:
    """Return the metric's number over these measurements, with its interval, its n and what was missing.

    Those of one sample with different `index` are attempts at it, and count as one: by their mean, or resampled together. For most metrics that is the mean. Where it is not (`corpus_bleu`), it is computed from the measurements'
    stats, the interval is a percentile bootstrap over them, and bounds are left out.

    Args:
        metric: the name that the measurements were made under.
        measurements: of `markbook.measure`.
        policy: `exclude` leaves missing out; `worst` and `fail` count each as the worst value (means only).
        confidence: of the interval.
        seed: of the bootstrap.
        options: the metric's own, as they were given to `markbook.measure`.

    The summary's signature is that of the measurements.

    Raises:
        UsageError: an unknown metric, measurements of another metric, of several models, or made with other options than these, or
            with several, or a policy that it cannot honour.
        ConfigError: an option that the metric does not take.
    """
    metric_made = plugins.make("metrics", metric, options, allow_code=True)
    signature = _signature(
        metric_made, {measurement.metric for measurement in measurements}, _collect_signatures(measurements)
    )
    models = sorted({measurement.model for measurement in measurements} - {""})
    if len(models) > 1:
        raise UsageError(
            f"the measurements are of several models: {' and '.join(models[:3])}",
            hint="summarise those of one at a time",
        )
    rows: dict[Hashable, list[Measurement]] = {}
    count: Counter[Hashable] = Counter()
    for number, measurement in enumerate(measurements):
        attempt = measurement.sample_id, measurement.index
        # What bears the number of an attempt that was met before is of another sample: `measure` numbers the rows of each call alike.
        rows.setdefault((measurement.sample_id, count[attempt]) if measurement.sample_id else number, []).append(
            measurement
        )
        count[attempt] += 1
    if metric_made.averages:
        summary = summarise_cells(
            [make_cell([measurement.result for measurement in row], metric_made.range) for row in rows.values()],
            metric=metric_made.name, group="total", range=metric_made.range, direction=metric_made.direction, policy=policy,
            confidence=confidence, seed=seed,
        )  # fmt: skip
        return dataclasses.replace(summary, signature=signature)
    if policy != "exclude":
        raise UsageError(
            f"{metric_made.name} is not a mean, so a missing row has no worst value", hint="use policy exclude"
        )
    return summarise_rows(metric_made, list(rows.values()), confidence=confidence, seed=seed)


def summarise_rows(
    metric: Metric,
    rows: Sequence[Sequence[Measurement]],
    *,
    group: str = "total",
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Summary:
    """Return the number of a metric that is not a mean; `n` and `n_items` count rows, and whole rows are resampled."""
    measurements = [measurement for row in rows for measurement in row]
    rows_measured = [[measurement for measurement in row if measurement.value is not None] for row in rows]
    scored = [row for row in rows_measured if row]
    flat = [measurement for row in scored for measurement in row]
    interval, note = _bootstrap(metric, flat, [len(row) for row in scored], confidence=confidence, seed=seed)
    return Summary(
        metric=metric.name,
        group=group,
        value=metric.summarise(flat),
        n=len(scored),
        n_items=len(rows),
        n_missing=missing_kinds(measurements),
        n_partial=sum(0 < len(some) < len(row) for some, row in zip(rows_measured, rows, strict=True)),
        interval=interval,
        bounds=None,
        policy="exclude",
        range=metric.range,
        direction=metric.direction,
        note=note,
        signature=_signature(
            metric, {measurement.metric for measurement in measurements}, _collect_signatures(measurements)
        ),
    )


class MeasurementTally:
    """One metric's measurements, taken batch by batch: 8 bytes a row, and the counts of a metric that is not a mean."""

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self.count = 0
        self.n_missing: Counter[str] = Counter()
        self.failures = 0
        self.first_failure = ""
        self.broken: dict[str, None] = {}
        """Why rows lack what is ours to bring (a judge that is down), each reason once."""
        self._values = array("d")
        self._scored = _CountedMeasurements(metric.name)
        self._names: set[str] = set()
        self._signed: set[str] = set()

    def add(self, measured: Sequence[Measurement]) -> None:
        """Take the measurements of the next rows."""
        self.count += len(measured)
        self.n_missing.update(missing_kinds(measured))
        self._names |= {measurement.metric for measurement in measured}
        self._signed |= _collect_signatures(measured)
        for measurement in measured:
            if measurement.value is not None:
                if self.metric.averages:
                    self._values.append(measurement.value)
                else:
                    self._scored.append(measurement)
            elif measurement.missing is not None and measurement.missing.kind is MissingKind.FAILED:
                self.failures += 1
                self.first_failure = self.first_failure or measurement.missing.detail
            elif measurement.missing is not None and measurement.missing.kind.is_ours:
                self.broken[measurement.missing.detail] = None

    def summary(self, *, seed: int = 0) -> Summary:
        """Return what `summarise` returns for all of them."""
        metric, signature = self.metric, _signature(self.metric, self._names, self._signed)
        if metric.averages:
            summary = summarise_values(
                self._values, metric=metric.name, range=metric.range, direction=metric.direction,
                n_missing=self.n_missing, seed=seed,
            )  # fmt: skip
            return dataclasses.replace(summary, signature=signature)
        interval, note = _bootstrap(metric, self._scored, None, confidence=CONFIDENCE, seed=seed)
        return Summary(
            metric=metric.name, group="total", value=metric.summarise(self._scored), n=len(self._scored), n_items=self.count,
            n_missing={kind: count for kind, count in sorted(self.n_missing.items()) if count}, interval=interval, bounds=None,
            policy="exclude", range=metric.range, direction=metric.direction, note=note, signature=signature,
        )  # fmt: skip


class _CountedMeasurements(Sequence[Measurement]):
    """Measurements of which only their value and the numbers of their stats are kept, where all have the same."""

    def __init__(self, metric: str) -> None:
        self._metric = metric
        self._shape: tuple[tuple[str, int], ...] | None = None
        self._values = array("d")
        self._numbers: array[Any] = array("h")
        self._others: list[Measurement] = []
        """All of them, once one has other stats than the first."""

    def append(self, measurement: Measurement) -> None:
        shape = tuple((key, len(part) if isinstance(part, list) else -1) for key, part in measurement.stats.items())
        numbers: list[Any] = [
            x for part in measurement.stats.values() for x in (part if isinstance(part, list) else [part])
        ]
        # A first row without stats has the shape (), which is one like any other and not "no shape yet".
        # `type` and not `isinstance`: a bool is an int, and would come back out of the array as a number.
        # A double holds whole numbers to 2^53 only.
        fits = self._shape in (None, shape) and all(
            type(x) is float or (type(x) is int and abs(x) <= 1 << 53) for x in numbers
        )
        # Counts need 2 bytes each until the first number that is too large for that, or not whole.
        while fits and self._numbers.typecode in _WIDER:
            bound, wider = _WIDER[self._numbers.typecode]
            if all(type(x) is int and -bound <= x < bound for x in numbers):
                break
            self._numbers = array(wider, self._numbers)
        if self._others or not fits:
            # `list(self)` makes measurements of all that lies in the arrays; from here on the list is what counts.
            self._others = self._others or list(self)
            self._others.append(measurement)
            return
        self._shape = shape
        self._values.append(measurement.value or 0.0)
        self._numbers.extend(numbers)

    def __len__(self) -> int:
        return len(self._others or self._values)

    @overload
    def __getitem__(self, index: int) -> Measurement: ...
    @overload
    def __getitem__(self, index: slice) -> list[Measurement]: ...
    def __getitem__(self, index: int | slice) -> Measurement | list[Measurement]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        if self._others:
            return self._others[index]
        # Turns a negative index round and raises the IndexError by which iteration over a sequence ends.
        index = range(len(self))[index]
        stats: dict[str, object] = {}
        # All rows have one shape, so each has the same share of the numbers.
        at = index * (len(self._numbers) // len(self._values))
        for key, size in self._shape or ():
            stats[key] = self._numbers[at] if size < 0 else self._numbers[at : at + size].tolist()
            at += 1 if size < 0 else size
        return Measurement(self._metric, self._values[index], stats=stats)


def _collect_signatures(measurements: Iterable[Measurement]) -> set[str]:
    return {
        measurement.signature for measurement in measurements if measurement.signature and measurement.missing is None
    }


def _signature(metric: Metric, names: AbstractSet[str], signatures: AbstractSet[str]) -> str:
    """Return the one signature of the measurements, the metric's own if they have none.

    A metric that reads a model learns only then what it is: such a signature says more than the metric's.

    Raises:
        UsageError: they are another metric's, have several signatures, or one of other options than the metric's.
    """
    others = names - {metric.name}
    if others:
        raise UsageError(f"measurements of {', '.join(sorted(others))} cannot be summarised as {metric.name}")
    signed = sorted(signatures)
    if len(signed) > 1:
        raise UsageError(
            "the measurements were made with different options: " + " and ".join(signed[:3]),
            hint="summarise those of one signature at a time",
        )
    if not signed:
        return metric.signature
    if not metric.signs(signed[0]):
        raise UsageError(
            f"the measurements are {signed[0]}, and {metric.signature} is asked for",
            hint="give `summarise` the options that `measure` was given",
        )
    return signed[0]


def _bootstrap(
    metric: Metric, measurements: Sequence[Measurement], counts: Sequence[int] | None, *, confidence: float, seed: int
) -> tuple[Interval | None, str]:
    """Return the percentile interval over resampled rows, or why there is none; rows have `counts` measurements, or one each."""
    import numpy as np

    n = len(measurements) if counts is None else len(counts)
    if n < 2:
        return None, "fewer than two values: no interval"
    rng, members = np.random.default_rng(seed), iter(measurements)
    # Rows are drawn by what was measured of them: their order is not to matter.
    rows_measured = (itertools.islice(members, count) for count in counts or itertools.repeat(1, n))
    # The texts of a million rows would take more memory than all else.
    keys = (repr([(measurement.value, [*measurement.stats.values()]) for measurement in row]) for row in rows_measured)
    digests = (int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big") for key in keys)
    order = np.argsort(np.fromiter(digests, np.uint64, n), kind="stable")
    # One resample at a time: all of them at once would take 8 kB a row.
    draws: Iterator[Ints] = (order[rng.integers(0, n, size=n)] for _ in range(_RESAMPLES))
    if counts is not None and any(count != 1 for count in counts):
        sizes = np.array(counts)
        starts = np.cumsum(sizes) - sizes

        def list_members(rows: Ints) -> Ints:
            """Return the places of all measurements of rows, each of which has so many from its start on."""
            # One run of numbers through all drawn rows at once; the repeated term moves each row's part to that row's
            # start.
            ends = np.cumsum(sizes[rows])
            return np.repeat(starts[rows] - (ends - sizes[rows]), sizes[rows]) + np.arange(ends[-1])

        draws = map(list_members, draws)
    values = metric.resample(measurements, draws)
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2]) if values else (0.0, 0.0)
    # Percentiles over only those resamples that have a number would pass for those of all.
    if len(values) < _RESAMPLES or low == high:
        return None, "no variation between resamplings: no interval"
    return Interval(float(low), float(high), f"bootstrap[{_RESAMPLES}, seed {seed}]", confidence), ""
