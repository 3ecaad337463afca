"""What several runs of the same thing, or the repeats of one run, say of its noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markbook.errors import DataError
from markbook.results.alignment import merged
from markbook.results.compare import RunLike, opened, sheets_of
from markbook.results.sheet import Sheet
from markbook.results.signatures import check_signatures
from markbook.stats.noise import Noise, noise_of, pass_hat_of, repeats_needed
from markbook.stats.records import Estimate
from markbook.text import Table
from markbook.text.numbers import Scale, format_number, format_percent
from markbook.types import Interval

_DIFFERENCES = (0.01, 0.02, 0.05, 0.1)


@dataclass(frozen=True, slots=True)
class ModelNoise:
    """One model's noise."""

    model: str
    noise: Noise
    n_single: int
    """Items with one value only, which say nothing of noise."""
    n_missing: int
    """Values that are missing."""
    pass_hat: dict[int, Estimate]
    """pass^k by k with its interval, where all values are 0 or 1 and every item has as many."""
    repeats: dict[float, int]
    """How many repeats show a difference, by the difference (a share of the range)."""

    def to_record(self) -> dict[str, object]:
        """Return plain JSON values."""
        return {
            "model": self.model,
            **self.noise.to_record(),
            "n_single": self.n_single,
            "n_missing": self.n_missing,
            "pass_hat": {str(k): found.value for k, found in self.pass_hat.items()},
            "pass_hat_intervals": {
                str(k): None if found.interval is None else found.interval.to_record()
                for k, found in self.pass_hat.items()
            },
            "repeats_needed": {f"{gap:g}": count for gap, count in self.repeats.items()},
        }


def noise(runs: Sequence[RunLike], *, metric: str | Sequence[str] | None = None, seed: int = 0) -> list[ModelNoise]:
    """Return the noise of each model; a model of several runs is taken for the same one, run again.

    Raises:
        DataError: no item has two values.
    """
    sheets = sheets_of(opened(runs), metric)
    check_signatures(sheets)
    sheet = merged(sheets)
    found = [
        _of_model(model, _repeats(sheet, model), sheet, seed)
        for model in dict.fromkeys(name for _, name in sheet.origins.values())
    ]
    if not any(one.noise.n_items for one in found):
        raise DataError(
            "no item was run twice, so nothing shows how far a run is from the next",
            hint="name two runs of the same model or more, or one with repeats",
        )
    return found


def _repeats(sheet: Sheet, model: str) -> dict[str, tuple[list[float], int]]:
    """Return each item's values by a model in all runs, and how many are missing."""
    found: dict[str, tuple[list[float], int]] = {}
    for title, (_, name) in sheet.origins.items():
        if name != model:
            continue
        for sample, cell in sheet.marks[title].items():
            values, lost = found.get(sample, ([], 0))
            values += cell.values or ([] if cell.value is None else [cell.value])
            found[sample] = values, lost + sum(cell.gaps.values())
    return found


def _of_model(model: str, items: dict[str, tuple[list[float], int]], sheet: Sheet, seed: int) -> ModelNoise:
    values = [one for one, _ in items.values()]
    made = noise_of(values, seed=seed)
    several = [one for one in values if len(one) >= 2]
    is_binary = all(value in (0.0, 1.0) for one in several for value in one)
    counts = [(len(one), int(sum(one))) for one in several] if is_binary else []
    most = min((n for n, _ in counts), default=0)
    width = sheet.range[1] - sheet.range[0]
    needed = {}
    if made.within is not None and width < float("inf"):
        needed = {gap: repeats_needed(made.within, made.n_items, gap * width) for gap in _DIFFERENCES}
    hats = {k: pass_hat_of(counts, k, seed=seed) for k in range(1, min(most, 64) + 1)}
    single = sum(len(one) == 1 for one in values)
    missing = sum(lost for _, lost in items.values())
    return ModelNoise(
        model, made, single, missing, {k: hat for k, hat in hats.items() if hat.value is not None}, needed
    )


_PERCENT, _PLAIN = Scale((0.0, 1.0)), Scale((0.0, 0.0))


def tables(found: Sequence[ModelNoise], metric: str) -> list[Table]:
    """Return what people read."""
    made = [_noise_table(found, metric)]
    if any(one.pass_hat for one in found):
        most = max(max(one.pass_hat, default=0) for one in found)
        ks = [k for k in range(1, most + 1) if k <= 8 or k == most]
        hats = tuple((one.model, *(_estimate(one.pass_hat.get(k)) for k in ks)) for one in found)
        heads = ("Model", *(f"k = {k}" for k in ks))
        made.append(Table("pass^k: all of k repeats pass", heads, hats, frozenset(range(1, len(ks) + 1))))
    if any(one.repeats for one in found):
        gaps = list(dict.fromkeys(gap for one in found for gap in one.repeats))
        needed = tuple((one.model, *(str(one.repeats.get(gap, "")) for gap in gaps)) for one in found)
        heads = ("Model", *(f"{100 * gap:g} points" for gap in gaps))
        note = "Of every item, for each of two systems, at 80 % power; the noise of repeating only."
        made.append(Table("Repeats that show a difference", heads, needed, frozenset(range(1, len(gaps) + 1)), note))
    return made


def _noise_table(found: Sequence[ModelNoise], metric: str) -> Table:
    rows = tuple(
        (
            one.model,
            f"{one.noise.n_items} (+{one.n_single} single, {one.n_missing} missing)",
            _share(one.noise.mixed, one.noise.intervals.get("mixed")),
            _share(one.noise.flip, one.noise.intervals.get("flip")),
            format_number(one.noise.difference),
            _number(one.noise.reliability, one.noise.intervals.get("reliability")),
        )
        for one in found
    )
    headers = (
        "Model",
        "Items run again",
        "Not always equal",
        "Differs between two runs",
        "Two runs must differ by",
        "Split-half reliability",
    )
    note = (
        "In brackets the 95 % intervals over the items. Two runs must differ: beyond it (95 %) repeating alone does not "
        "explain a difference of two single runs."
    )
    return Table(f"Noise of {metric}", headers, rows, frozenset({2, 3, 4, 5}), note)


def _share(value: float | None, interval: Interval | None) -> str:
    """Return a share in percent, with its interval if it has one."""
    return " ".join([format_percent(value), *([_PERCENT.spread(interval.low, interval.high)] if interval else [])])


def _number(value: float | None, interval: Interval | None) -> str:
    """Return a number, with its interval if it has one."""
    return _PLAIN.with_spread(value, *((interval.low, interval.high) if interval else (None, None)))


def _estimate(found: Estimate | None) -> str:
    return format_number(None) if found is None else _number(found.value, found.interval)
