"""One number over many measurements of one metric: `markbook.summarise`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from markbook import plugins
from markbook.errors import UsageError
from markbook.results.summary import Policy, summarise_values
from markbook.types import Interval, Measurement, Metric, Summary, missing_kinds

if TYPE_CHECKING:
    from markbook.stats.arrays import Ints

_RESAMPLES = 1000


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
    made = plugins.make("metrics", metric, options, allow_code=True)
    return summarise_with(made, measurements, policy=policy, confidence=confidence, seed=seed)


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
    signature = _signature(metric, measurements)
    if metric.averages:
        values = [one.value for one in measurements if one.value is not None]
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
    return summarise_rows(metric, [[one] for one in measurements], group=group, confidence=confidence, seed=seed)


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
    measurements = [one for row in rows for one in row]
    known = [[one for one in row if one.value is not None] for row in rows]
    scored = [row for row in known if row]
    interval, note = _bootstrap(metric, scored, confidence=confidence, seed=seed)
    return Summary(
        metric=metric.name,
        group=group,
        value=metric.summarise([one for row in scored for one in row]),
        n=len(scored),
        n_items=len(rows),
        n_missing=missing_kinds(measurements),
        n_partial=sum(0 < len(some) < len(row) for some, row in zip(known, rows, strict=True)),
        interval=interval,
        bounds=None,
        policy="exclude",
        range=metric.range,
        direction=metric.direction,
        note=note,
        signature=_signature(metric, measurements),
    )


def _signature(metric: Metric, measurements: Sequence[Measurement]) -> str:
    """Return the one signature of the measurements, the metric's own if they have none.

    A metric that reads a model learns only then what it is: such a signature says more than the metric's.

    Raises:
        UsageError: they are another metric's, have several signatures, or one of other options than the metric's.
    """
    others = {one.metric for one in measurements} - {metric.name}
    if others:
        raise UsageError(f"measurements of {', '.join(sorted(others))} cannot be summarised as {metric.name}")
    signed = sorted({one.signature for one in measurements if one.signature and one.missing is None})
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
    metric: Metric, rows: Sequence[Sequence[Measurement]], *, confidence: float, seed: int
) -> tuple[Interval | None, str]:
    """Return the percentile interval over resampled rows, or why there is none."""
    import numpy as np

    n = len(rows)
    if n < 2:
        return None, "fewer than two values: no interval"
    sizes = np.array([len(row) for row in rows])
    starts = np.cumsum(sizes) - sizes
    rng = np.random.default_rng(seed)
    # One resample at a time: all of them at once would take 8 kB a row.
    draws = (rng.integers(0, n, size=n) for _ in range(_RESAMPLES))
    chosen = (_members(starts[draw], sizes[draw]) for draw in draws)
    values = metric.resample([one for row in rows for one in row], chosen)
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2]) if values else (0.0, 0.0)
    if len(values) < _RESAMPLES or low == high:
        return None, "no variation between resamplings: no interval"
    return Interval(float(low), float(high), f"bootstrap[{_RESAMPLES}, seed {seed}]", confidence), ""


def _members(starts: Ints, sizes: Ints) -> Ints:
    """Return the places of all measurements of rows, each of which has so many from its start on."""
    import numpy as np

    ends = np.cumsum(sizes)
    return np.repeat(starts - (ends - sizes), sizes) + np.arange(ends[-1])
