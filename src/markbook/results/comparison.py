"""Several models on the same samples: what differs, by how much, and whether that can be told from chance.

Always paired and always with an interval. "Not distinguishable" is a result, and is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

from markbook.errors import DataError
from markbook.results.headline import headline
from markbook.results.pairs import Pair, compare_pairs
from markbook.results.sheet import Sheet
from markbook.results.standing import Standing, in_groups, standings
from markbook.results.summary import mean_of
from markbook.stats.records import Estimate, Ranking
from markbook.types import Direction, range_record

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

MOST_COMPARED = 200
"""Models that are compared two by two: 19,900 pairs. Both the work and what is written grow with the square."""
_UNPAIRED_NAMED = 4
"""So many pairs that share nothing are named in the note."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The whole comparison; `to_json` has everything, `pairs` one entry for each two models."""

    metric: str
    direction: Direction
    range: tuple[float, float]
    alpha: float
    """A pair is distinguishable where its p, adjusted by Holm over all pairs, is below this."""
    standings: tuple[Standing, ...]
    """Best first."""
    pairs: tuple[Pair, ...]
    """In the order of the standings: the first of a pair has the better mean. Only such as share a sample with a value."""
    wins: Mapping[str, Mapping[str, int]]
    """wins[a][b]: on how many common samples a scored better than b."""
    strengths: Ranking | None
    """Bradley-Terry over the wins (a tie is half a win), in the order of the standings; None for n < 2 models."""
    only_solved_by: Mapping[str, tuple[str, ...]]
    """Samples whose tests one model alone passed; empty where there are no tests."""
    solved_by_none: tuple[str, ...]
    by_topic: Mapping[str, Mapping[str, Estimate]]
    """by_topic[topic][model]: the mean; empty where samples have no topic."""
    n_common: int
    """Samples for which every model has a mark."""
    notes: tuple[str, ...] = ()
    unpaired: tuple[tuple[str, str], ...] = ()
    """The other pairs: of these two nothing can be said."""
    alignment: Mapping[str, object] = field(default_factory=dict)
    """How the samples of several runs were paired and how many were not; empty for a single run."""

    def pair(self, first: str, second: str) -> Pair:
        """Return the pair of these two models, turned so that the difference is first - second.

        Raises:
            KeyError: one of them is not part of the comparison, or the two share no sample with a value.
        """
        for pair in self.pairs:
            if (pair.first, pair.second) == (first, second):
                return pair
            if (pair.first, pair.second) == (second, first):
                return pair.swap()
        raise KeyError((first, second))

    def to_json(self) -> dict[str, object]:
        """Return plain JSON values: `ranking` one record a model, `pairs` one record a pair; never NaN."""
        return {
            "schema": 1,
            "metric": self.metric,
            "headline": headline(self).text,
            "next_step": headline(self).step or None,
            "direction": self.direction,
            "range": range_record(self.range),
            "alpha": self.alpha,
            "adjustment": "holm",
            "n_common": self.n_common,
            "ranking": [standing.to_record() for standing in self.standings],
            "groups": self.groups(),
            "pairs": [pair.to_record() for pair in self.pairs],
            "unpaired": [list(pair) for pair in self.unpaired],
            "win_matrix": {model: dict(row) for model, row in self.wins.items()},
            "only_solved_by": {model: list(ids) for model, ids in self.only_solved_by.items()},
            "solved_by_none": list(self.solved_by_none),
            "by_topic": {
                topic: {model: mean.to_record() for model, mean in means.items()}
                for topic, means in self.by_topic.items()
            },
            "notes": list(self.notes),
            "alignment": dict(self.alignment),
        }

    def groups(self) -> list[list[str]]:
        """Return the sets of models that cannot be told apart, best first; a model may be in several."""
        models_by_letter: dict[str, list[str]] = {}
        for standing in self.standings:
            for letter in standing.group:
                models_by_letter.setdefault(letter, []).append(standing.model)
        return [
            models_by_letter[letter] for letter in sorted(models_by_letter, key=lambda letter_: (len(letter_), letter_))
        ]

    def rows(self) -> list[dict[str, object]]:
        """Return one flat row a pair, for tables and data frames."""
        rows = []
        for pair in self.pairs:
            row = pair.to_record()
            del row["interval"], row["by_topic"]
            difference = pair.difference
            rows.append(
                row
                | {
                    "method": difference.method,
                    "confidence": difference.confidence,
                    "low": difference.low,
                    "high": difference.high,
                }
            )
        return rows

    def to_pandas(self) -> pd.DataFrame:
        """Return the pairs as a pandas data frame.

        Raises:
            ExtraMissingError: pandas is not installed.
        """
        from markbook.plugins import need

        frame: pd.DataFrame = need("pandas", extra="notebook").DataFrame(self.rows())
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Return the pairs as a polars data frame.

        Raises:
            ExtraMissingError: polars is not installed.
        """
        from markbook.plugins import need

        frame: pl.DataFrame = need("polars", extra="notebook").DataFrame(self.rows(), infer_schema_length=None)
        return frame

    def _repr_html_(self) -> str:
        """Show the scores as a chart, the ranking and the pairs in a notebook."""
        from markbook.plugins import factory
        from markbook.results.comparison_tables import tables

        chart: str = factory("reports", "markbook.report.notebook:chart_of", allow_code=True)(self.standings)
        return chart + "".join(table.html() for table in tables(self))

    def __rich_console__(self, _console: object, _options: object) -> Iterator[Any]:
        """Show the same on a rich console: `rich.print(comparison)`."""
        from markbook.plugins import factory
        from markbook.results.comparison_tables import tables

        yield from factory("reports", "markbook.report.notebook:render_standings", allow_code=True)(self.standings)
        yield from (table.rich() for table in tables(self))


def compare_sheet(sheet: Sheet, *, alpha: float = 0.05, seed: int = 0) -> Comparison:
    """Return the comparison of the models of a sheet.

    Args:
        sheet: marks of two models or more.
        alpha: family-wise error of all "distinguishable" claims; intervals have confidence 1 - alpha.
        seed: of whatever is drawn (sign flips, bootstrap ranks).

    Raises:
        DataError: fewer than two models, more than `MOST_COMPARED`, or no two that share a sample with a value.
    """
    _need_two(sheet)
    if len(sheet.models) > MOST_COMPARED:
        raise DataError(too_many(len(sheet.models)), hint="compare some of them, or rank all with `markbook site`")
    order = standings(sheet, alpha=alpha, seed=seed)
    names = [standing.model for standing in order]
    pairs = compare_pairs(sheet, names, alpha=alpha, seed=seed)
    different = {(pair.first, pair.second) for pair in pairs if pair.distinguishable}
    met = {(pair.first, pair.second) for pair in pairs}
    unpaired = tuple(pair for pair in combinations(names, 2) if pair not in met)
    wins = _wins(sheet, names)
    only, none = _find_solved_alone(sheet)
    common = [s for s in sheet.samples if all(_has_value(sheet, model, s) for model in names)]
    return Comparison(
        metric=sheet.metric,
        direction=sheet.direction,
        range=sheet.range,
        alpha=alpha,
        standings=in_groups(order, different),
        pairs=tuple(pairs),
        wins=wins,
        strengths=_strengths(wins, pairs, names, seed),
        only_solved_by=only,
        solved_by_none=none,
        by_topic=_by_topic(sheet, names, alpha, seed),
        n_common=len(common),
        notes=_notes(sheet, len(common), unpaired),
        unpaired=unpaired,
        alignment=sheet.alignment,
    )


def too_many(models: int) -> str:
    """Return in words that so many models are not compared two by two."""
    return f"{models:,} models are not compared two by two: {MOST_COMPARED} are the most"


def _need_two(sheet: Sheet) -> None:
    if len(sheet.models) < 2:
        raise DataError(
            f"there is nothing to compare with: only the model {sheet.models[0]!r} is here"
            if sheet.models
            else "there is no model to compare",
            hint="name a second run, or a run of several models",
        )


def _has_value(sheet: Sheet, model: str, sample: str) -> bool:
    mark = sheet.marks[model].get(sample)
    return mark is not None and mark.value is not None


def _wins(sheet: Sheet, names: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return wins[a][b] over the samples that both have a value for."""
    sign = 1 if sheet.direction == "higher" else -1
    table: dict[str, dict[str, int]] = {name: {} for name in names}
    for a in names:
        for b in names:
            if a == b:
                continue
            count = 0
            for sample, mark in sheet.marks[a].items():
                other = sheet.marks[b].get(sample)
                if mark.value is not None and other is not None and other.value is not None:
                    count += sign * (mark.value - other.value) > 1e-12
            table[a][b] = count
    return table


def _strengths(
    wins: Mapping[str, Mapping[str, int]], pairs: Sequence[Pair], names: Sequence[str], seed: int
) -> Ranking | None:
    """Return the Bradley-Terry ranking, a tie counting half; a prior only where it would be unbounded."""
    from markbook.stats.ranking import bradley_terry

    met = {frozenset((pair.first, pair.second)): pair.n for pair in pairs}
    table = []
    for a in names:
        row = []
        for b in names:
            if a == b:
                row.append(0.0)
                continue
            ties = met.get(frozenset((a, b)), 0) - wins[a][b] - wins[b][a]
            row.append(wins[a][b] + ties / 2)
        table.append(row)
    ranking = bradley_terry(table, seed=seed)
    return ranking if ranking.value[0] is not None else bradley_terry(table, prior=0.5, seed=seed)


def _find_solved_alone(sheet: Sheet) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Return the samples that one model alone solved, by model, and those that none did."""
    only: dict[str, list[str]] = {model: [] for model in sheet.models}
    none: list[str] = []
    for sample in sheet.samples:
        verdicts = {model: marks[sample].passed for model, marks in sheet.marks.items() if sample in marks}
        verdicts_known = {model: passed for model, passed in verdicts.items() if passed is not None}
        if len(verdicts_known) < 2:
            continue
        solvers = [model for model, passed in verdicts_known.items() if passed]
        if len(solvers) == 1:
            only[solvers[0]].append(sample)
        elif not solvers:
            none.append(sample)
    return {model: tuple(ids) for model, ids in only.items()}, tuple(none)


def _by_topic(sheet: Sheet, names: Sequence[str], alpha: float, seed: int) -> dict[str, dict[str, Estimate]]:
    """Return each model's mean in each topic, with the interval that a report of the same samples gives it."""
    topics: dict[str, list[str]] = {}
    for sample in sheet.samples:
        topic = sheet.meta.get(sample, {}).get("topic", "")
        if topic:
            topics.setdefault(topic, []).append(sample)
    table: dict[str, dict[str, Estimate]] = {}
    for topic, samples in sorted(topics.items()):
        table[topic] = {}
        for model in names:
            marks = ((sample, sheet.marks[model].get(sample)) for sample in samples)
            values = {sample: mark.value for sample, mark in marks if mark is not None and mark.value is not None}
            table[topic][model] = mean_of(
                list(values.values()),
                sheet.clusters_of(list(values)),
                limits=sheet.range,
                confidence=1 - alpha,
                seed=seed,
            )
    return table


def _notes(sheet: Sheet, common: int, unpaired: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    notes = list(sheet.notes)
    total = len(sheet.samples)
    if unpaired:
        named = [f"{first!r} and {second!r}" for first, second in unpaired[:_UNPAIRED_NAMED]]
        more = len(unpaired) - len(named)
        words = "; ".join(named) + (f"; and {more} more" if more else "")
        notes.append(f"Not compared, because they share no sample with a value: {words}")
    if common < total:
        notes.append(
            f"{total - common} of {total} samples lack a value for at least one model; pairs use what both have"
        )
    partial = sum(any(cells[s].is_partial for cells in sheet.marks.values() if s in cells) for s in sheet.samples)
    if partial:
        notes.append(f"{partial} of {total} samples have a value for a part of their answers only")
    return tuple(notes)
