"""A metric from outside as the pipeline knows it: what it leaves out has the defaults of `markbook.types.Metric`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

from markbook.errors import ConfigError
from markbook.types import Item, Measurement, Metric


def complete_metric(own_metric: Any) -> Metric:
    """Return a metric with every member: itself where it derives from `Metric`.

    Raises:
        ConfigError: its range is not a pair of numbers.
    """
    limits = own_metric.range
    is_pair = isinstance(limits, tuple | list) and len(limits) == 2
    if not is_pair or not all(isinstance(limit, int | float) for limit in limits):
        raise ConfigError(
            f"the metric {own_metric.name!r} states no range but {limits!r}", hint="range = (lowest, highest)"
        )
    if Metric in type(own_metric).__mro__:
        metric: Metric = own_metric
        return metric
    return PluginMetric(own_metric)


class PluginMetric(Metric):
    """A metric that does not derive from `Metric`, and the defaults of what it lacks."""

    def __init__(self, own: Any) -> None:
        self.own = own
        self.name, self.version, self.signature = own.name, own.version, own.signature
        self.range, self.direction = own.range, own.direction
        self.needs_reference = getattr(own, "needs_reference", Metric.needs_reference)
        self.needs_trace = getattr(own, "needs_trace", Metric.needs_trace)
        self.whole_batch = getattr(own, "whole_batch", Metric.whole_batch)
        self.averages = getattr(own, "averages", Metric.averages)
        self.assumes_direction = getattr(own, "assumes_direction", Metric.assumes_direction)

    def measure(self, items: Sequence[Item]) -> list[Measurement]:
        """Return what it measures."""
        measurements: list[Measurement] = self.own.measure(items)
        return measurements

    def measure_rows(
        self, candidates: Sequence[object], references: Sequence[object] | None
    ) -> list[Measurement] | None:
        """Return what it measures of raw rows, None if it reads items."""
        read = getattr(self.own, "measure_rows", super().measure_rows)
        measurements: list[Measurement] | None = read(candidates, references)
        return measurements

    @classmethod
    def together(cls, metrics: Sequence[Self], items: Sequence[Item]) -> list[list[Measurement]]:
        """Return the measurements of several, in one pass those of one class that has such a way."""
        columns: dict[int, list[Measurement]] = {}
        for kind in dict.fromkeys(type(metric.own) for metric in metrics):
            places = [index for index, metric in enumerate(metrics) if type(metric.own) is kind]
            measure = getattr(kind, "together", None)
            if measure is None:
                rows = [metrics[index].measure(items) for index in places]
            else:
                rows = measure([metrics[index].own for index in places], items)
            columns.update(zip(places, rows, strict=True))
        return [columns[index] for index in range(len(metrics))]

    def summarise(self, measurements: Sequence[Measurement]) -> float | None:
        """Return its own number over many measurements."""
        value: float | None = self.own.summarise(measurements)
        return value

    def resample(self, measurements: Sequence[Measurement], draws: Iterable[Iterable[int]]) -> list[float]:
        """Return the summary of each resampling, in its own way if it has one."""
        values: list[float] = getattr(self.own, "resample", super().resample)(measurements, draws)
        return values

    def signs(self, signature: str) -> bool:
        """Tell whether a measurement so signed was made with its options."""
        return bool(getattr(self.own, "signs", super().signs)(signature))
