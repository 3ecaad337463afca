"""Attempts of a finished run in an order that does not depend on which was done first."""

from __future__ import annotations

from collections.abc import Iterable

from markbook.results.kind import Entry, Results


def in_benchmark_order(results: Results, entries: Iterable[Entry]) -> list[Entry]:
    """Return entries model by model, in the order of the benchmark's samples and their attempts."""
    sheet = results.sheet(None)
    models = {model: index for index, model in enumerate(sheet.models)}
    samples = {sample: index for index, sample in enumerate(sheet.samples)}

    def sort_key(entry: Entry) -> tuple[int, int, int]:
        return models.get(entry.model, len(models)), samples.get(entry.sample, len(samples)), entry.attempt

    return sorted(entries, key=sort_key)
