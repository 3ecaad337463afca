"""Models compared in pairs over the same samples: what may be said, the headline, and the tables.

Theory of operation
-------------------
A `Sheet` (one cell for each model and sample, whoever made it) goes in, a `Comparison` comes out, and every page, table, gate
and JSON file lays that out without computing anything anew.

- `leaderboard.standings` gives each model's own mean, interval and rank, over *its* samples.
- `pairs.compare_pairs` gives each two models' difference over *their common* samples, judged with Holm over all pairs.
- `leaderboard.in_groups` turns the judged pairs into letters: two models share one exactly if they are not distinguishable.
- `headline` says it in a sentence. It may claim only what the judged pairs bear: who leads by the mean but is not shown to
  be better "does not differ significantly". The mean over all of a model's samples and the paired difference can point in opposite
  directions where samples are missing; the pair decides then, and the sentence says so.

The number of pairs grows with the square of the models, so beyond `MOST_COMPARED` there are standings only.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

from markbook.errors import DataError, MarkbookError
from markbook.plugins import factory, need
from markbook.results.kind import Results, get_seed, get_sheet
from markbook.results.leaderboard import Standing, in_groups, standings, summaries
from markbook.results.pairs import Pair, compare_pairs, count_open, holm_level
from markbook.results.sheet import SOLVES, Headline, Sheet
from markbook.results.summary import estimate_mean, methods_note, sentences, summarise_warnings
from markbook.stats.power import items_to_show
from markbook.stats.records import Estimate, Ranking
from markbook.text import Table, terminal
from markbook.text.format import NOTHING, Scale, format_level, format_p
from markbook.text.table import as_text
from markbook.types import SIGNIFICANCE, Direction, Summary, range_record

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


# The tables of a comparison, in the order in which a reader wants them.


PAIRS_SHOWN = 21
"""All pairs up to 7 models; above that, a table for people shows neighbours and the pairs with the best."""
_IDS_SHOWN = 12
SOLVED = "Solved by one model only, or by none"
"""The title of the table of samples that one model alone solved, or no model."""


def tables(comparison: Comparison, *, all_pairs: bool = False, narrow: bool = False) -> list[Table]:
    """Return ranking, pairs, samples that one model alone solved, and topics.

    `all_pairs` shows every pair however many there are; `narrow` keeps to what fits 80 columns.
    """
    tables = [_ranking(comparison), _pairs(comparison, all_pairs=all_pairs, narrow=narrow)]
    names = [standing.model for standing in comparison.standings]
    if len(names) > 2:
        rows = tuple(
            (row, *(str(comparison.wins[row][column]) if row != column else "" for column in names)) for row in names
        )
        note = "Samples on which the row's model scored strictly better."
        tables.append(Table("Wins", ("Row beats column", *names), rows, frozenset(range(1, len(names) + 1)), note))
    if any(comparison.only_solved_by.values()) or comparison.solved_by_none:
        solved = []
        for name, ids in (*comparison.only_solved_by.items(), ("no model", comparison.solved_by_none)):
            if ids:
                more = f", and {len(ids) - _IDS_SHOWN} more" if len(ids) > _IDS_SHOWN else ""
                solved.append((name, str(len(ids)), ", ".join(ids[:_IDS_SHOWN]) + more))
        heads = ("Model", "Samples", "Which")
        tables.append(Table(SOLVED, heads, tuple(solved), frozenset({1}), SOLVES))
    if comparison.by_topic:
        scale = Scale(comparison.range)
        topics = []
        for topic, means in comparison.by_topic.items():
            n = max((mean.n for mean in means.values()), default=0)
            cells = (scale.with_interval(means[name].value, means[name].interval) for name in names)
            topics.append((topic, str(n), *cells))
        headers, level = ("Topic", "Samples", *names), format_level(usual=1 - comparison.alpha)
        note = f"{level} CI in brackets." if any("[" in cell for row in topics for cell in row[2:]) else ""
        tables.append(Table("By topic", headers, tuple(topics), frozenset(range(1, len(names) + 2)), note))
    return tables


def _ranking(comparison: Comparison) -> Table:
    scale = Scale(comparison.range)
    rows = []
    for standing in comparison.standings:
        summary = standing.summary
        group = " ".join(standing.group)
        rows.append(
            (str(standing.rank), standing.model, scale.value(summary.value), scale.interval(summary.interval), f"{summary.n} of {summary.n_items}",
             standing.ranks, group)
        )  # fmt: skip
    level = format_level(usual=1 - comparison.alpha)
    intervals = (standing.summary.interval for standing in comparison.standings)
    methods = methods_note(interval.method for interval in intervals if interval)
    warning = summarise_warnings((standing.model, standing.summary.note) for standing in comparison.standings)
    note = sentences(("Models that share a letter do not differ significantly.", methods, warning, *comparison.notes))
    better = "" if comparison.direction == "higher" else ", lower is better"
    headers = ("#", "Model", "Score", f"{level} CI", "Scored", "Plausible ranks", "Group")
    return Table(f"Ranking by {comparison.metric}{better}", headers, tuple(rows), frozenset({0, 2, 3, 4, 5}), note)


def choose_pairs(comparison: Comparison, *, all_pairs: bool) -> Sequence[Pair]:
    """Return the pairs to show: all if they are few, else each neighbour and each pair with the best model."""
    if all_pairs or len(comparison.pairs) <= PAIRS_SHOWN:
        return comparison.pairs
    names = [standing.model for standing in comparison.standings]
    # A pair's first is the one with the better place, so each pair need be named in one order only.
    near = set(itertools.pairwise(names)) | {(names[0], name) for name in names[1:]}
    return [pair for pair in comparison.pairs if (pair.first, pair.second) in near]


def _pairs(comparison: Comparison, *, all_pairs: bool, narrow: bool) -> Table:
    scale = Scale(comparison.range)
    pairs = choose_pairs(comparison, all_pairs=all_pairs)
    rows = []
    for pair in pairs:
        difference = pair.difference
        only = NOTHING if pair.only_first is None else f"{pair.only_first} / {pair.only_second}"
        rows.append(
            (pair.first, pair.second, scale.gap(difference.value), scale.interval(difference.interval, signed=True), format_p(pair.p),
             format_p(pair.p_adjusted), only, format_p(pair.mcnemar_p), scale.value(pair.mde), pair.verdict())
        )  # fmt: skip
    remaining = len(comparison.pairs) - len(pairs)
    unit = "points" if comparison.range == (0.0, 1.0) else "the metric's unit"
    note = (
        f"First minus second, in {unit}, over the samples both have. MDE: the minimum detectable effect at this number "
        "of samples (80 % power). Adjusted by Holm."
    )
    records = (pair.differences(comparison.range[1] - comparison.range[0]) for pair in pairs)
    if any(differences is not None and differences.is_lopsided for differences in records):
        note += " No MDE is given if a few samples differ by far more than the others."
    if remaining:
        note += f" {remaining} more pairs: --all-pairs or --json."
    level = f"{format_level(usual=1 - comparison.alpha)} CI"
    warning = summarise_warnings((f"{pair.first} − {pair.second}", pair.difference.note) for pair in pairs)
    note = sentences((note, warning))
    if narrow:
        # By its place in the row above: pair, difference with interval, adjusted p, McNemar and verdict are what 80
        # columns hold.
        short = (
            (f"{row[0]} − {row[1]}", f"{row[2]} {row[3]}", row[5], row[7], row[9].replace(" is better", " better"))
            for row in rows
        )
        headers = ("Pair", f"Difference, {level}", "p adj.", "McNemar", "Verdict")
        return Table(
            "Paired differences", headers, tuple(short), frozenset({1, 2, 3}),
            sentences(("First minus second. Adjusted by Holm", warning)),
        )  # fmt: skip
    columns = ("First", "Second", "Difference", level, "p", "p adjusted", "Solved by first / second only", "McNemar p",
               "MDE", "Verdict")  # fmt: skip
    return Table("Paired differences", columns, tuple(rows), frozenset(range(2, 9)), note)


# A comparison in one sentence that its statistics bear, and what would tell more.


_NAMED = 4
"""So many models are named in a sentence; of more their number is said."""
_HOPELESS = 100_000
"""So many more samples are not worth advising."""
_WIDE = 48


def headline(comparison: Comparison, samples: str = "samples") -> Headline:
    """Return the headline of a comparison, whose samples are called problems, rows or papers."""
    if len(comparison.standings) == 1:
        (only,) = comparison.standings
        return headline_of_one(only.model, only.summary, comparison.range, samples, comparison.metric)
    names, models = _together(comparison), [standing.model for standing in comparison.standings]
    scale = Scale(comparison.range)
    best, pairs = names[0], {frozenset((pair.first, pair.second)): pair for pair in comparison.pairs}

    def apart(first: str, other: str) -> bool:
        return pairs[frozenset((first, other))].distinguishable

    turned = next((pair for pair in comparison.pairs if pair.better == pair.second), None)
    # The means are over different samples where some are missing; the common ones decide.
    if turned is not None:
        better = "lower" if comparison.direction == "lower" else "higher"
        text = (
            f"On {_say_count(turned.n, samples, 'the')} that both have {turned.second} is better than {turned.first} by "
            f"{_span([turned], scale)}, though {turned.first} has the {better} mean over its own."
        )
        return Headline(_cut_names(text, models))
    tied = [best, *(name for name in names[1:] if not apart(best, name))]
    rest = [name for name in names if name not in tied]
    n = comparison.n_common
    # Samples that all models share may be none, though the two that the sentence is about have some.
    if not n and len(names) == 2:
        n = comparison.pair(*names).n
    on = _say_count(n, samples, "this" if n == 1 else "these") if n else f"the {samples} that they share"
    value = next(standing.summary.value for standing in comparison.standings if standing.model == best)
    score = f" ({scale.value(value)})" if value is not None else ""
    if len(tied) == 1:
        text = f"{_join_names([best])}{score} is better than {_say_beaten(best, rest, pairs, scale)} on {on}."
    else:
        text = f"{_say_tied(tied, apart)} on {on}"
        # "All are better" is claimed only if every one of the tied beats every other; else the best speaks for itself
        # alone.
        beats = bool(rest) and all(apart(first, other) for first in tied for other in rest)
        if beats:
            gaps = _span([pairs[frozenset((first, other))] for first in tied for other in rest], scale)
            text += f"; {'both' if len(tied) == 2 else 'all'} are better than {_join_names(rest)} by {gaps}."
        elif rest:
            text += f"; {_join_names([best])}{score} is better than {_say_beaten(best, rest, pairs, scale)}."
        else:
            text += "."
    excluded = [model for model in models if model not in names]
    if excluded:
        text += f" Not compared with these, for want of {samples} in common: {_join_names(excluded)}."
    step = _step(comparison, tied, rest, apart, pairs, samples)
    return Headline(_cut_names(text, models), _cut_names(step, models))


def _together(comparison: Comparison) -> list[str]:
    """Return the models, best first, of which every two share samples; what shares none with one before it is left out."""
    met = {frozenset((pair.first, pair.second)) for pair in comparison.pairs}
    names = {name for pair in met for name in pair}
    connected: list[str] = []
    # Greedy from the best down: a sentence about pairs is only true where every two of its models met.
    for name in (standing.model for standing in comparison.standings if standing.model in names):
        if all(frozenset((name, other)) in met for other in connected):
            connected.append(name)
    return connected


def make_headline(sheet: Sheet, samples: str, *, comparison: Comparison | None = None, seed: int = 0) -> Headline:
    """Return the headline of a sheet, an empty one where there is nothing to compare."""
    if not sheet.models:
        return Headline()
    if len(sheet.models) == 1:
        summary = summaries(sheet, seed=seed)[sheet.models[0]]
        single = headline_of_one(sheet.models[0], summary, sheet.range, samples, sheet.metric)
        return replace(single, scores=_scores([(sheet.models[0], summary)], Scale(sheet.range)))
    try:
        comparison = comparison or compare_sheet(sheet, seed=seed)
    except DataError:
        return Headline()  # no two share a sample: the tables say so
    ranked = [(standing.model, standing.summary) for standing in comparison.standings]
    return replace(headline(comparison, samples), scores=_scores(ranked, Scale(sheet.range)))


def _scores(ranked: Sequence[tuple[str, Summary]], scale: Scale) -> tuple[tuple[str, str, str], ...]:
    scores = []
    for model, summary in ranked[:_NAMED]:
        if summary.value is not None:
            spread = scale.interval(summary.interval) if summary.interval else ""
            scores.append((model, scale.value(summary.value), spread))
    return tuple(scores)


def run_headline(results: Results, samples: str) -> Headline:
    """Return the headline of a run by its main metric, an empty one where it has none."""
    try:
        return make_headline(get_sheet(results, None), samples, seed=get_seed(results))
    except (MarkbookError, ValueError):
        return Headline()  # tasks that share no metric


def headline_of_one(
    model: str, summary: Summary, limits: tuple[float, float], samples: str = "samples", metric: str = ""
) -> Headline:
    """Return the headline of a run of one model: its score and how sure it is."""
    scale, interval, by = Scale(limits), summary.interval, f" by {metric}" * (metric not in ("", "exam_score"))
    if summary.value is None:
        return Headline(
            f"{_cut_names(model, [model])} has no score: none of {summary.n_items:,} {samples} could be scored."
        )
    score = f"{_cut_names(model, [model])} scores {scale.value(summary.value)}{by} on {_say_count(summary.n, samples)}"
    if interval is None:
        return Headline(f"{score}.")
    width = scale.value(interval.high - interval.low)
    step = f"Four times as many {samples}, {_about(4 * summary.n)}, would halve the width of that interval ({width})."
    text = f"{score} ({format_level([interval])} CI {scale.value(interval.low)} to {scale.value(interval.high)})."
    return Headline(text, step if interval.high > interval.low else "")


def _say_count(n: int, samples: str, pointer: str = "") -> str:
    """Return how many samples, problems, rows or papers there are, in words for a sentence."""
    return f"{pointer} {f'one {samples[:-1]}' if n == 1 else f'{n:,} {samples}'}".lstrip()


def _join_names(names: Sequence[str], word: str = "and") -> str:
    """Return names for a sentence, or how many they are."""
    if len(names) > _NAMED:
        return f"{len(names)} others"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"


def _cut_names(text: str, names: Sequence[str]) -> str:
    """Return a sentence in which long names are cut, but for those that would then look alike."""
    cuts = {name: f"{name[: _WIDE - 1]}…" for name in sorted(names, key=len, reverse=True) if len(name) > _WIDE}
    for name, short in cuts.items():
        text = text.replace(name, short) if [*cuts.values()].count(short) == 1 else text
    return text


def _say_tied(tied: Sequence[str], apart: Callable[[str, str], bool]) -> str:
    if any(apart(first, other) for first, other in combinations(tied[1:], 2)):
        # The others can differ from one another: only the best is tied with all of them.
        return f"{_join_names(tied[:1])} does not differ significantly from {_join_names(tied[1:], 'or')}"
    if len(tied) > _NAMED:
        return f"{_join_names(tied[:1])} and {len(tied) - 1} others do not differ significantly"
    return f"{_join_names(tied)} do not differ significantly"


def _say_beaten(best: str, rest: Sequence[str], pairs: dict[frozenset[str], Pair], scale: Scale) -> str:
    return f"{_join_names(rest)} by {_span([pairs[frozenset((best, name))] for name in rest], scale)}"


def _span(pairs: Sequence[Pair], scale: Scale) -> str:
    """Return from the least to the most that the intervals of these differences leave open; each leaves out 0."""
    ends = [abs(end) for pair in pairs for end in (pair.difference.low, pair.difference.high) if end is not None]
    unit = " points" if scale.factor == 100 else ""
    low, high = (f"{scale.factor * end:.{0 if scale.factor == 100 else 3}f}" for end in (min(ends), max(ends)))
    # Less than a point would round to 0 points, and these intervals are known to leave out 0.
    if scale.factor == 100 and min(ends) < 0.01:
        low = scale.value(min(ends))
    return f"{low} to {high}{unit}"


def _step(
    comparison: Comparison, tied: Sequence[str], rest: Sequence[str], apart: Callable[[str, str], bool],
    pairs: dict[frozenset[str], Pair], samples: str,
) -> str:  # fmt: skip
    """Return how many samples would tell the best from the one it is nearest to, or else the first two that are tied."""
    nearest = (tied[0], tied[1]) if len(tied) > 1 else next(
        ((first, other) for first, other in pairwise(rest) if not apart(first, other)), None
    )  # fmt: skip
    if nearest is None:
        return ""
    pair = pairs[frozenset(nearest)]
    both = _join_names(nearest)
    gap = abs(pair.difference.value or 0.0)
    differences = pair.differences(comparison.range[1] - comparison.range[0])
    if gap == 0:
        return f"{both} have the same score here; more {samples} of this kind are unlikely to separate them, harder ones may."
    if differences is None:
        if pair.n < 2:
            return f"{both} share only one of the {samples}: too few to estimate the uncertainty of their difference."
        if "n_clusters" in pair.difference.stats:
            why = pair.difference.note.removesuffix(": no interval")
            return f"The uncertainty of the difference between {both} is unknown ({why}); {samples} of more clusters are needed."
        return f"{both} differ by the same amount on all {pair.n:,} shared {samples}: more are needed to estimate the uncertainty."
    # At Holm's level: more samples have to settle the pair in a table of as many pairs as this one.
    level = holm_level(pair, count_open(comparison.pairs, comparison.alpha), comparison.alpha)
    needed = items_to_show(differences, gap, alpha=level, most=_HOPELESS)
    if needed is None:
        return f"The difference between {both} is too small to confirm with more {samples} like these."
    scale = Scale(comparison.range)
    unit = " points" if scale.factor == 100 else ""
    # So many samples did not settle it, whatever the approximation says, so the advice is always for more.
    plan = _about(max(needed, pair.n + 1))
    return (
        f"To confirm a difference of {scale.value(gap)}{unit} between {both}, plan for {plan} {samples} (80 % power)."
    )


def _about(number: int) -> str:
    """Return a number of samples, rounded up to two digits: more would claim too much."""
    digits = max(0, int(math.log10(number)) - 1)
    return f"about {math.ceil(number / 10**digits) * 10**digits:,}"


# Several models on the same samples: what differs, by how much, and whether that can be told from chance.
#
# Always paired and always with an interval. "Not distinguishable" is a result, and is said.

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
    """Samples whose tests one model alone passed; empty without tests."""
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
        first = headline(self)
        return {
            "schema": 1,
            "metric": self.metric,
            "headline": first.text,
            "next_step": first.step or None,
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
        """Return the sets of models that do not differ significantly, best first; a model may be in several."""
        models_by_letter: dict[str, list[str]] = {}
        for standing in self.standings:
            for letter in standing.group:
                models_by_letter.setdefault(letter, []).append(standing.model)
        # By length first: the letters after z are aa, ab, ..., which come before b in the alphabet.
        return [models for _, models in sorted(models_by_letter.items(), key=lambda item: (len(item[0]), item[0]))]

    def rows(self) -> list[dict[str, object]]:
        """Return one flat row a pair, for tables and data frames."""
        rows = []
        for pair in self.pairs:
            row = pair.to_record()
            # Columns hold bare values: the interval comes back as four of them, and differences by topic stay in
            # `to_json`.
            del row["interval"], row["by_topic"]
            rows.append(
                row | {name: getattr(pair.difference, name) for name in ("method", "confidence", "low", "high")}
            )
        return rows

    def to_pandas(self) -> pd.DataFrame:
        """Return the pairs as a pandas data frame.

        Raises:
            ExtraMissingError: pandas is not installed.
        """
        frame: pd.DataFrame = need("pandas", extra="notebook").DataFrame(self.rows())
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Return the pairs as a polars data frame.

        Raises:
            ExtraMissingError: polars is not installed.
        """
        # polars takes a column's type from its first rows, in which a p may be missing throughout; None has it read
        # all.
        frame: pl.DataFrame = need("polars", extra="notebook").DataFrame(self.rows(), infer_schema_length=None)
        return frame

    def __repr__(self) -> str:
        """Show what came of it in a sentence and the ranking; `rows` and `to_json` have all of it."""
        return terminal(headline(self).text) + "\n" + as_text([_ranking(self).rich()], width=100)

    def _repr_html_(self) -> str:
        """Show the scores as a chart, the ranking and the pairs in a notebook."""
        # By name, through the plugin door: reports stand above results, and imports point down only.
        chart: str = factory("reports", "markbook.report.notebook:draw_scores", allow_code=True)(self.standings)
        return chart + "".join(table.html() for table in tables(self))

    def __rich_console__(self, _console: object, _options: object) -> Iterator[Any]:
        """Show the same on a rich console: `rich.print(comparison)`."""
        yield from factory("reports", "markbook.report.notebook:render_standings", allow_code=True)(self.standings)
        yield from (table.rich() for table in tables(self))


def compare_sheet(sheet: Sheet, *, alpha: float = SIGNIFICANCE, seed: int = 0, least: int = 2) -> Comparison:
    """Return the comparison of the models of a sheet.

    Args:
        sheet: marks of two models or more.
        alpha: family-wise error of all "distinguishable" claims; intervals have confidence 1 - alpha.
        seed: of whatever is drawn (sign flips, bootstrap ranks).
        least: how many models there must be; 1 where their scores are held to gates.

    Raises:
        DataError: fewer models, more than `MOST_COMPARED`, or no two that share a sample with a value.
    """
    if len(sheet.models) < least:
        raise DataError(
            f"there is nothing to compare with: only the model {sheet.models[0]!r} is here"
            if sheet.models
            else "there is no model to compare",
            hint="name a second run, or a run of several models",
        )
    if len(sheet.models) > MOST_COMPARED:
        raise DataError(too_many(len(sheet.models)), hint="compare some of them, or rank all with `markbook site`")
    order = standings(sheet, alpha=alpha, seed=seed)
    names = [standing.model for standing in order]
    pairs = compare_pairs(sheet, names, alpha=alpha, seed=seed)
    different = {(pair.first, pair.second) for pair in pairs if pair.distinguishable}
    met = {(pair.first, pair.second) for pair in pairs}
    unpaired = tuple(pair for pair in combinations(names, 2) if pair not in met)
    wins = _comparison_wins(sheet, names)
    only, none = _find_solved_alone(sheet, names)
    n_common = 0
    for sample in sheet.samples:
        cells = (sheet.marks[model].get(sample) for model in names)
        n_common += all(cell is not None and cell.value is not None for cell in cells)
    return Comparison(
        metric=sheet.metric,
        direction=sheet.direction,
        range=sheet.range,
        alpha=alpha,
        standings=in_groups(order, different),
        pairs=tuple(pairs),
        unpaired=unpaired,
        wins=wins,
        strengths=_strengths(wins, pairs, names, seed) if len(names) > 1 else None,
        only_solved_by=only,
        solved_by_none=none,
        by_topic=_by_topic(sheet, names, alpha, seed),
        n_common=n_common,
        notes=_notes(sheet, n_common, unpaired),
        alignment=sheet.alignment,
    )


def too_many(models: int) -> str:
    """Return in words that so many models are not compared two by two."""
    return f"{models:,} models are not compared two by two: {MOST_COMPARED} are the most"


def _comparison_wins(sheet: Sheet, names: Sequence[str]) -> dict[str, dict[str, int]]:
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
                    # A gap of rounding is a tie here, as it is for the sign flips.
                    count += sign * (mark.value - other.value) > 1e-12
            table[a][b] = count
    return table


def _strengths(
    wins: Mapping[str, Mapping[str, int]], pairs: Sequence[Pair], names: Sequence[str], seed: int
) -> Ranking | None:
    """Return the Bradley-Terry ranking, a tie counting half; a prior only where it would be unbounded."""
    from markbook.stats.ranking import bradley_terry

    met = {frozenset((pair.first, pair.second)): pair.n for pair in pairs}

    def count_wins(a: str, b: str) -> float:
        ties = met.get(frozenset((a, b)), 0) - wins[a][b] - wins[b][a]
        return wins[a][b] + ties / 2

    table = [[0.0 if a == b else count_wins(a, b) for b in names] for a in names]
    # A model that won or lost every time has no finite strength; half a win and half a loss against each make it one.
    ranking = bradley_terry(table, seed=seed)
    return ranking if ranking.value[0] is not None else bradley_terry(table, prior=0.5, seed=seed)


def _find_solved_alone(sheet: Sheet, names: Sequence[str]) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Return the samples that one model alone solved, by model, and those that none did."""
    only: dict[str, list[str]] = {model: [] for model in names}
    none: list[str] = []
    for sample in sheet.samples:
        verdicts = {model: marks[sample].passed for model, marks in sheet.marks.items() if sample in marks}
        verdicts_known = {model: passed for model, passed in verdicts.items() if passed is not None}
        # What one model alone was given, it alone can solve: that says nothing.
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
            scores, clusters = list(values.values()), sheet.get_clusters(list(values))
            mean = estimate_mean(scores, clusters, limits=sheet.range, confidence=1 - alpha, seed=seed)
            table[topic][model] = mean
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
