"""One number over many measurements of one metric: `markbook.summarise`."""

from __future__ import annotations

import dataclasses
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set  # noqa: PYI025 - of types only
from typing import TYPE_CHECKING, Any, overload

from markbook import plugins
from markbook.errors import UsageError
from markbook.results.summary import Policy, summarise_values
from markbook.types import Interval, Measurement, Metric, MissingKind, Summary, missing_kinds

if TYPE_CHECKING:
    from markbook.stats.arrays import Ints

_RESAMPLES = 1000
_INT = 1 << 31


def summarise(
    metric: str,
    measurements: Sequence[Measurement],
    *,
    policy: Policy = "exclude",
    confidence: float = 0.95,
    seed: int = 0,
    **options: object,
) -> Summary:
    """Return the metric's number over these measurements, with its interval, its n and what was missing.

    For most metrics that is the mean. Where it is not (`corpus_bleu`), it is computed from the measurements'
    stats, the interval is a percentile bootstrap over them, and there are no bounds.

    Args:
        metric: the name that the measurements were made under.
        measurements: of `markbook.measure`.
        policy: `exclude` leaves missing out; `worst` and `fail` count each as the worst value (means only).
        confidence: of the interval.
        seed: of the bootstrap.
        options: the metric's own, as they were given to `markbook.measure`.

    The summary's signature is that of the measurements.

    Raises:
        UsageError: an unknown metric, measurements of another metric or made with other options than these, or with
            several, or a policy that it cannot honour.
        ConfigError: an option that the metric does not take.
    """
    metric_made = plugins.make("metrics", metric, options, allow_code=True)
    return summarise_with(metric_made, measurements, policy=policy, confidence=confidence, seed=seed)


def summarise_with(
    metric: Metric,
    measurements: Sequence[Measurement],
    *,
    group: str = "total",
    policy: Policy = "exclude",
    confidence: float = 0.95,
    seed: int = 0,
) -> Summary:
    """As `summarise`, with a metric that was made before."""
    signature = _signature(
        metric, {measurement.metric for measurement in measurements}, _collect_signatures(measurements)
    )
    if metric.averages:
        values = [measurement.value for measurement in measurements if measurement.value is not None]
        summary = summarise_values(
            values,
            metric=metric.name,
            group=group,
            range=metric.range,
            direction=metric.direction,
            n_missing=missing_kinds(measurements),
            policy=policy,
            confidence=confidence,
            seed=seed,
        )
        return dataclasses.replace(summary, signature=signature)
    if policy != "exclude":
        raise UsageError(f"{metric.name} is no mean, so a missing row has no worst value", hint="use policy exclude")
    return summarise_rows(
        metric, [[measurement] for measurement in measurements], group=group, confidence=confidence, seed=seed
    )


def summarise_rows(
    metric: Metric,
    rows: Sequence[Sequence[Measurement]],
    *,
    group: str = "total",
    confidence: float = 0.95,
    seed: int = 0,
) -> Summary:
    """Return the number of a metric that is no mean; `n` and `n_items` count rows, and whole rows are resampled.

    Args:
        metric: one that computes its own number.
        rows: the measurements of each row's answers.
        group: as `summarise_with`, and so are the others.
        confidence: see there.
        seed: see there.
    """
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
    """One metric's measurements, taken batch by batch: 8 bytes a row, and the counts of a metric that is no mean."""

    def __init__(self, metric: Metric) -> None:
        """Start with none."""
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

    def summary(self, *, confidence: float = 0.95, seed: int = 0) -> Summary:
        """Return what `summarise` returns for all of them."""
        metric, signature = self.metric, _signature(self.metric, self._names, self._signed)
        if metric.averages:
            summary = summarise_values(
                self._values, metric=metric.name, range=metric.range, direction=metric.direction,
                n_missing=self.n_missing, confidence=confidence, seed=seed,
            )  # fmt: skip
            return dataclasses.replace(summary, signature=signature)
        interval, note = _bootstrap(metric, self._scored, None, confidence=confidence, seed=seed)
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
        self._numbers: array[Any] = array("i")
        self._others: list[Measurement] = []
        """All of them, once one has other stats than the first."""

    def append(self, measurement: Measurement) -> None:
        shape = tuple((key, len(part) if isinstance(part, list) else -1) for key, part in measurement.stats.items())
        numbers: list[Any] = [
            x for part in measurement.stats.values() for x in (part if isinstance(part, list) else [part])
        ]
        fits = all(type(x) in (int, float) for x in numbers) and shape == (self._shape or shape)
        if fits and self._numbers.typecode == "i" and not all(type(x) is int and -_INT <= x < _INT for x in numbers):
            self._numbers = array("d", self._numbers)
        if self._others or not fits:
            self._others = self._others or list(self)
            self._others.append(measurement)
            return
        self._shape = shape
        self._values.append(measurement.value or 0.0)
        self._numbers.extend(numbers)

    def __len__(self) -> int:
        return len(self._others or self._values)

    @overload
    def __getitem__(self, place: int) -> Measurement: ...
    @overload
    def __getitem__(self, place: slice) -> list[Measurement]: ...
    def __getitem__(self, place: int | slice) -> Measurement | list[Measurement]:
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(len(self)))]
        if self._others:
            return self._others[place]
        place = range(len(self))[place]
        stats: dict[str, object] = {}
        at = place * (len(self._numbers) // len(self._values))
        for key, size in self._shape or ():
            stats[key] = self._numbers[at] if size < 0 else self._numbers[at : at + size].tolist()
            at += 1 if size < 0 else size
        return Measurement(self._metric, self._values[place], stats=stats)


def _collect_signatures(measurements: Iterable[Measurement]) -> set[str]:
    return {
        measurement.signature for measurement in measurements if measurement.signature and measurement.missing is None
    }


def _signature(metric: Metric, names: Set[str], signatures: Set[str]) -> str:
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
    """Return the percentile interval over resampled rows, or why there is none.

    Args:
        metric: what is resampled.
        measurements: of all rows.
        counts: how many of them each row has; None for one each.
        confidence: of the interval.
        seed: of the draws.
    """
    import numpy as np

    n = len(measurements) if counts is None else len(counts)
    if n < 2:
        return None, "fewer than two values: no interval"
    rng = np.random.default_rng(seed)
    # One resample at a time: all of them at once would take 8 kB a row.
    draws: Iterator[Ints] = (rng.integers(0, n, size=n) for _ in range(_RESAMPLES))
    if counts is not None and any(count != 1 for count in counts):
        sizes = np.array(counts)
        starts = np.cumsum(sizes) - sizes
        draws = (_members(starts[draw], sizes[draw]) for draw in draws)
    values = metric.resample(measurements, draws)
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2]) if values else (0.0, 0.0)
    if len(values) < _RESAMPLES or low == high:
        return None, "no variation between resamplings: no interval"
    return Interval(float(low), float(high), f"bootstrap[{_RESAMPLES}, seed {seed}]", confidence), ""


def _members(starts: Ints, sizes: Ints) -> Ints:
    """Return the places of all measurements of rows, each of which has so many from its start on."""
    import numpy as np

    ends = np.cumsum(sizes)
    return np.repeat(starts - (ends - sizes), sizes) + np.arange(ends[-1])
