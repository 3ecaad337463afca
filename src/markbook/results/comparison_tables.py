"""The tables of a comparison, in the order in which a reader wants them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from markbook.results.pairs import Pair
from markbook.results.summary import methods_note, sentences, warnings_of
from markbook.text import Table
from markbook.text.numbers import NOTHING, Scale, format_p

if TYPE_CHECKING:
    from markbook.results.comparison import Comparison

PAIRS_SHOWN = 21
"""All pairs up to 7 models; above that, a table for people shows neighbours and the pairs with the best."""
_IDS_SHOWN = 12


def tables(comparison: Comparison, *, all_pairs: bool = False, narrow: bool = False) -> list[Table]:
    """Return ranking, pairs, samples that one model alone solved, and topics.

    Args:
        comparison: what to show.
        all_pairs: show every pair however many there are.
        narrow: keep to what fits 80 columns.
    """
    tables = [_ranking(comparison), _pairs(comparison, all_pairs=all_pairs, narrow=narrow)]
    if len(comparison.standings) > 2:
        tables.append(_wins(comparison))
    if any(comparison.only_solved_by.values()):
        tables.append(_only(comparison))
    if comparison.by_topic:
        tables.append(_topics(comparison))
    return tables


def _ranking(comparison: Comparison) -> Table:
    scale = Scale(comparison.range)
    rows = []
    for standing in comparison.standings:
        summary = standing.summary
        interval = summary.interval
        span = scale.spread(interval.low, interval.high) if interval else NOTHING
        ranks = f"{standing.rank_low}-{standing.rank_high}" if standing.rank_low is not None else NOTHING
        group = " ".join(standing.group)
        rows.append(
            (str(standing.rank), standing.model, scale.value(summary.value), span, f"{summary.n} of {summary.n_items}",
             ranks, group)
        )  # fmt: skip
    level = f"{100 * (1 - comparison.alpha):g} %"
    intervals = (standing.summary.interval for standing in comparison.standings)
    methods = methods_note(interval.method for interval in intervals if interval)
    warning = warnings_of((standing.model, standing.summary.note) for standing in comparison.standings)
    note = sentences(("Models that share a letter are not distinguishable.", methods, warning, *comparison.notes))
    better = "" if comparison.direction == "higher" else ", lower is better"
    return Table(
        title=f"Ranking by {comparison.metric}{better}",
        headers=("#", "Model", "Score", f"{level} interval", "Scored", "Plausible ranks", "Group"),
        rows=tuple(rows),
        numeric=frozenset({0, 2, 3, 4, 5}),
        note=note,
    )


def shown_pairs(comparison: Comparison, *, all_pairs: bool) -> Sequence[Pair]:
    """Return the pairs to show: all if they are few, else each neighbour and each pair with the best model."""
    if all_pairs or len(comparison.pairs) <= PAIRS_SHOWN:
        return comparison.pairs
    names = [standing.model for standing in comparison.standings]
    near = set(itertools.pairwise(names)) | {(names[0], name) for name in names[1:]}
    return [pair for pair in comparison.pairs if (pair.first, pair.second) in near]


def _pairs(comparison: Comparison, *, all_pairs: bool, narrow: bool) -> Table:
    scale = Scale(comparison.range)
    pairs = shown_pairs(comparison, all_pairs=all_pairs)
    rows = []
    for pair in pairs:
        difference = pair.difference
        only = NOTHING if pair.only_first is None else f"{pair.only_first} / {pair.only_second}"
        rows.append(
            (pair.first, pair.second, scale.gap(difference.value), scale.gap_spread(difference.low, difference.high), format_p(pair.p),
             format_p(pair.p_adjusted), only, format_p(pair.mcnemar_p), scale.value(pair.mde), pair.verdict())
        )  # fmt: skip
    remaining = len(comparison.pairs) - len(pairs)
    unit = "points" if comparison.range == (0.0, 1.0) else "the metric's unit"
    note = (
        f"First minus second, in {unit}, over the samples both have. Detectable: the smallest true difference that this "
        "many samples show in 80 % of cases. Adjusted by Holm."
    )
    if remaining:
        note += f" {remaining} more pairs: --all-pairs or --json."
    level = f"{100 * (1 - comparison.alpha):g} % interval"
    if narrow:
        short = (
            (f"{row[0]} − {row[1]}", f"{row[2]} {row[3]}", row[5], row[7], row[9].replace(" is better", " better"))  # noqa: RUF001 - a minus sign
            for row in rows
        )
        headers = ("Pair", f"Difference, {level}", "p adj.", "McNemar", "Verdict")
        return Table(
            "Paired differences", headers, tuple(short), frozenset({1, 2, 3}), "First minus second. Adjusted by Holm."
        )
    return Table(
        title="Paired differences",
        headers=("First", "Second", "Difference", level, "p", "p adjusted",
                 "Only first / second", "McNemar p", "Detectable", "Verdict"),
        rows=tuple(rows),
        numeric=frozenset(range(2, 9)),
        note=note,
    )  # fmt: skip


def _wins(comparison: Comparison) -> Table:
    names = [standing.model for standing in comparison.standings]
    rows = []
    for row in names:
        cells = (str(comparison.wins[row][column]) if row != column else "" for column in names)
        rows.append((row, *cells))
    return Table(
        title="Wins",
        headers=("Row beats column", *names),
        rows=tuple(rows),
        numeric=frozenset(range(1, len(names) + 1)),
        note="Samples on which the row's model scored strictly better.",
    )


def _only(comparison: Comparison) -> Table:
    rows = []
    for standing in comparison.standings:
        ids = comparison.only_solved_by.get(standing.model, ())
        if ids:
            more = f" and {len(ids) - _IDS_SHOWN} more" if len(ids) > _IDS_SHOWN else ""
            rows.append((standing.model, str(len(ids)), ", ".join(ids[:_IDS_SHOWN]) + more))
    note = f"{len(comparison.solved_by_none)} samples were solved by no model."
    return Table(
        title="Solved by one model only",
        headers=("Model", "Samples", "Which"),
        rows=tuple(rows),
        numeric=frozenset({1}),
        note=note,
    )


def _topics(comparison: Comparison) -> Table:
    scale = Scale(comparison.range)
    names = [standing.model for standing in comparison.standings]
    rows = []
    for topic, by_model in comparison.by_topic.items():
        n = max((mean.n for mean in by_model.values()), default=0)
        estimates = (by_model[name] for name in names)
        rows.append(
            (topic, str(n), *(scale.with_spread(estimate.value, estimate.low, estimate.high) for estimate in estimates))
        )
    return Table(
        title="By topic",
        headers=("Topic", "Samples", *names),
        rows=tuple(rows),
        numeric=frozenset(range(1, len(names) + 2)),
        note=f"In brackets the {100 * (1 - comparison.alpha):g} % intervals.",
    )
