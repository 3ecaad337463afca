"""What several runs of the same thing, or the repeats of one run, say of its noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markbook.errors import DataError
from markbook.results.alignment import merge_sheets
from markbook.results.compare import RunLike, check_signatures, find_other_asks, open_runs, read_titled_sheets
from markbook.results.sheet import Sheet
from markbook.stats.noise import Noise, estimate_noise, repeats_needed
from markbook.stats.passes import pass_hat_k_summary
from markbook.stats.records import Estimate
from markbook.store.reader import COMMAND as FOREIGN
from markbook.text import Table
from markbook.text.format import NOTHING, Scale, format_level, format_number, format_percent
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
    pass_hat: dict[int, Estimate]
    """pass^k by k with its interval, where all values are 0 or 1 and every item has as many."""
    repeats: dict[float, int]
    """How many repeats show a difference, by the difference (a share of the range); of repeats that were all equal, at most."""

    @property
    def is_still(self) -> bool:
        """Whether repeats were made and none was seen to vary."""
        return self.noise.mixed == 0

    def to_record(self) -> dict[str, object]:
        """Return plain JSON values."""
        repeats = {f"{gap:g}": count for gap, count in self.repeats.items()}
        return {
            "model": self.model,
            **self.noise.to_record(),
            "n_single": self.n_single,
            "n_missing": self.n_missing,
            "pass_hat": {str(k): estimate.value for k, estimate in self.pass_hat.items()},
            "pass_hat_intervals": {str(k): hat.to_record()["interval"] for k, hat in self.pass_hat.items()},
            "repeats_needed": {} if self.is_still else repeats,
            "most_repeats_needed": repeats if self.is_still else {},
        }


def noise(runs: Sequence[RunLike], *, metric: str | Sequence[str] | None = None, seed: int = 0) -> list[ModelNoise]:
    """Return the noise of each model; a model of several runs is taken for the same one, run again.

    Raises:
        DataError: no item has two values.
    """
    opened = open_runs(runs)
    for number, run in enumerate(opened):
        if any(run.folder.samefile(other.folder) for other in opened[:number]):
            raise DataError("the same run is named twice: it does not differ from itself", at=str(run.folder))
    sheets = read_titled_sheets(opened, metric)
    # Runs that were measured differently differ by more than their noise.
    check_signatures(sheets)
    own = [run.manifest for run in opened if run.command != FOREIGN]
    questions = {questions for manifest in own if (questions := manifest.get("inputs", {}).get("questions"))}
    asks = ["questions"] * (len(questions) > 1) + find_other_asks(
        [manifest.get("config", {}) for manifest in own], are_repeats=True
    )
    if asks:
        raise DataError(
            f"the models were not asked the same in all runs ({', '.join(asks)}): such runs differ by more than their noise",
            hint="`markbook compare` says by how much",
        )
    sheet = merge_sheets(sheets)
    noises = [
        noise_of_model(model, sheet, seed=seed) for model in dict.fromkeys(name for _, name in sheet.origins.values())
    ]
    if not any(model_noise.noise.n_items for model_noise in noises):
        raise DataError(
            "no sample was run twice, so nothing shows how far a run is from the next",
            hint="name two runs of the same model or more, or one with repeats",
        )
    return noises


def noise_of_model(model: str, sheet: Sheet, *, seed: int = 0) -> ModelNoise:
    """Return the noise of one model over all runs of a sheet that are its."""
    repeats: dict[str, list[float]] = {}
    missing = 0
    for title in (title for title, (_, name) in sheet.origins.items() if name == model):
        for sample, cell in sheet.marks[title].items():
            repeats.setdefault(sample, []).extend(cell.values or ([] if cell.value is None else [cell.value]))
            missing += sum(cell.gaps.values())
    width = sheet.range[1] - sheet.range[0]
    noise = estimate_noise([*repeats.values()], seed=seed, width=width)
    several = [values for values in repeats.values() if len(values) >= 2]
    # 1 of 0..5 is a bad mark, and of a metric where less is better 0 is what passes; of an open range nothing is known.
    is_pass_or_fail = sheet.range == (0.0, 1.0) or not math.isfinite(width)
    is_binary = is_pass_or_fail and all(value in (0.0, 1.0) for values in several for value in values)
    passed = 0.0 if sheet.direction == "lower" else 1.0
    counts = sorted((len(values), values.count(passed)) for values in several) if is_binary else []
    # Up to the fewest repeats of any item: beyond that k the mean would be over other items.
    most = min((n for n, _ in counts), default=0)
    hats = {k: pass_hat_k_summary(counts, k, seed=seed) for k in range(1, min(most, 64) + 1)}
    needed, within = {}, noise.largest_within if noise.mixed == 0 else noise.within
    if within is not None and math.isfinite(width):
        needed = {gap: repeats_needed(within, noise.n_items, gap * width) for gap in _DIFFERENCES}
    return ModelNoise(
        model,
        noise,
        n_single=sum(len(values) == 1 for values in repeats.values()),
        n_missing=missing,
        pass_hat={k: hat for k, hat in hats.items() if hat.value is not None},
        repeats=needed,
    )


_PERCENT, _PLAIN = Scale((0.0, 1.0)), Scale()


def tables(noises: Sequence[ModelNoise], metric: str) -> list[Table]:
    """Return what people read."""
    rows = []
    for model_noise in noises:
        noise = model_noise.noise
        items = f"{noise.n_items} (+{model_noise.n_single} single, {model_noise.n_missing} missing)"
        shares = (_share(getattr(noise, name), noise.intervals.get(name)) for name in ("mixed", "flip"))
        reliability = _PLAIN.with_interval(noise.reliability, noise.intervals.get("reliability"))
        largest = noise.largest_difference
        difference = format_number(noise.difference) if largest is None else f"at most {format_number(largest)}"
        rows.append((model_noise.model, items, *shares, difference, reliability))
    headers = ("Model", "Samples run again", "Not always equal", "Differs between two runs", "Two runs must differ by",
               "Split-half reliability")  # fmt: skip
    level = " or ".join(sorted({format_level(usual=model_noise.noise.confidence) for model_noise in noises}))
    note = (
        f"{level} CI over the samples in brackets. Two runs must differ: beyond it ({level}) repeating alone does not "
        "explain a difference of two single runs."
    )
    for model_noise in (model_noise for model_noise in noises if model_noise.is_still):
        noise = model_noise.noise
        note += f" {model_noise.model}: nothing was seen to vary in {noise.n_values} values of {noise.n_items} samples"
        # The limits come from the interval of the share, and so they exist where it does.
        bound = noise.intervals["mixed"]
        share = "" if bound is None else f"up to {format_percent(bound.high)} of all samples like these may vary"
        note += f"; {share}." if share else "."
    tables = [Table(f"Noise of {metric}", headers, tuple(rows), frozenset({2, 3, 4, 5}), note)]
    if any(model_noise.pass_hat for model_noise in noises):
        most = max(max(model_noise.pass_hat, default=0) for model_noise in noises)
        ks = [k for k in range(1, most + 1) if k <= 8 or k == most]
        hats = []
        for model_noise in noises:
            several = map(model_noise.pass_hat.get, ks)
            hats.append(
                (
                    model_noise.model,
                    *(_PLAIN.with_interval(hat.value, hat.interval) if hat else NOTHING for hat in several),
                )
            )
        heads = ("Model", *(f"k = {k}" for k in ks))
        tables.append(Table("pass^k: all of k repeats pass", heads, tuple(hats), frozenset(range(1, len(ks) + 1))))
    if any(model_noise.repeats for model_noise in noises):
        gaps = list(dict.fromkeys(gap for model_noise in noises for gap in model_noise.repeats))
        needed = tuple(
            (
                model_noise.model,
                *(f"{'at most ' if model_noise.is_still else ''}{count}" for count in model_noise.repeats.values()),
                *([""] * (len(gaps) - len(model_noise.repeats))),
            )
            for model_noise in noises
        )
        heads = ("Model", *(f"{100 * gap:g} points" for gap in gaps))
        note = "Repeats of every sample, for each of two systems, at 80 % power. Only the noise between repeats counts."
        tables.append(Table("Repeats that show a difference", heads, needed, frozenset(range(1, len(gaps) + 1)), note))
    return tables


def _share(value: float | None, interval: Interval | None) -> str:
    return " ".join([format_percent(value), *([_PERCENT.interval(interval)] if interval else [])])
