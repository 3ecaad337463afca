"""The exam's sections: each a table, most with the chart that shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markbook.report import charts, planes
from markbook.report.drawing import Picture
from markbook.report.page import Chart, Section
from markbook.results.comparison import Comparison
from markbook.results.comparison_tables import shown_pairs, tables
from markbook.results.summary import methods_note
from markbook.runs.exam.marks import GROUPINGS, Grouping
from markbook.runs.exam.tally import Tally
from markbook.text import Table, terminal
from markbook.text.numbers import NOTHING, Scale
from markbook.types import ErrorKind, Interval, Summary

SERIES_SHOWN = 8
"""Lines in one chart; the table has every model."""
LINES_SHOWN = 40
"""Rows of a heat map; the table has every group."""
_TITLES: dict[Grouping, str] = {"topic": "Topics", "complexity": "Complexity", "problem_type": "Kinds of problem"}
_SCALE = Scale((0.0, 1.0))
_SCORE_HEADERS = (
    "Model", "Score", "95 % interval", "Attempted score", "Answered", "Error rate", "Separated verdicts", "Unchecked",
)  # fmt: skip


def exam_sections(tallies: Sequence[Tally], comparison: Comparison | None) -> list[Section]:
    """Return the sections in the order in which people look.

    Args:
        tallies: the models, best first.
        comparison: of the same models; None if there is only one.
    """
    sections = [_scores(tallies, comparison)]
    if comparison is not None:
        sections.append(_differences(comparison))
    sections += [section for grouping in GROUPINGS if (section := _groups(tallies, grouping)) is not None]
    passes = _passes(tallies)
    if passes is not None:
        sections.append(passes)
    sections.append(_errors(tallies))
    if any(tally.results for tally in tallies):
        sections.append(_programs(tallies))
    if comparison is not None:
        sections.append(_build_differences(comparison))
    return sections


def _points(value: float | None) -> float | None:
    """Return a 0..1 score as 0..100 for a chart."""
    return None if value is None else round(100 * value, 2)


def _span(interval: Interval | None) -> str:
    return _SCALE.spread(interval.low, interval.high) if interval else NOTHING


def _format_score(summary: Summary) -> str:
    """Return a score with its interval in one cell."""
    low, high = (None, None) if summary.interval is None else (summary.interval.low, summary.interval.high)
    return _SCALE.with_spread(summary.value, low, high)


def _scores(tallies: Sequence[Tally], comparison: Comparison | None) -> Section:
    groups = {standing.model: " ".join(standing.group) for standing in comparison.standings} if comparison else {}
    methods = methods_note(
        score_interval.method for tally in tallies if (score_interval := tally.exam_score().interval)
    )
    rows, marks = [], []
    for tally in tallies:
        total, attempted = tally.exam_score(), tally.attempted_score()
        share = tally.separated_share
        row = (
            tally.model, _SCALE.value(total.value), _span(total.interval), _SCALE.value(attempted.value),
            f"{tally.n_answered} of {len(tally.samples)}", _SCALE.value(tally.error_rate), _SCALE.value(share),
            f"{tally.unchecked:,}",
        )  # fmt: skip
        rows.append((*row, groups[tally.model]) if groups else row)
        interval = total.interval
        low, high = (interval.low, interval.high) if interval else (total.value, total.value)
        marks.append({"name": tally.model, "value": _points(total.value), "low": _points(low), "high": _points(high)})
    note = "Models that share a group letter are not distinguishable." if groups else ""
    table = Table(
        title="Scores, 0 to 100",
        headers=(*_SCORE_HEADERS, "Group") if groups else _SCORE_HEADERS,
        rows=tuple(rows),
        numeric=frozenset(range(1, 8)),
        note=" ".join(part for part in (note, methods) if part),
    )
    order = [tally.model for tally in tallies]
    alt = "Exam score of each model with its 95 % interval: " + "; ".join(
        f"{row[0]} {row[1]} {row[2]}" for row in rows[:SERIES_SHOWN]
    )
    return Section(
        id="scores",
        title="Scores",
        lead="The mean over all problems; an absent answer counts 0. The attempted score leaves absent answers out.",
        tables=(table,),
        chart=Chart(charts.intervals(marks, order, "Exam score"), alt),
    )


def _differences(comparison: Comparison) -> Section:
    comparison_tables = tables(comparison)
    pairs = shown_pairs(comparison, all_pairs=False)
    rows: list[dict[str, object]] = []
    order: list[str] = []
    for pair in pairs:
        name = f"{terminal(pair.first, limit=24)} − {terminal(pair.second, limit=24)}"  # noqa: RUF001 - a minus sign
        if name in order:
            name = f"{name} ({len(order) + 1})"
        gap = pair.difference
        order.append(name)
        rows.append(
            {
                "name": name,
                "value": _points(gap.value),
                "low": _points(gap.low if gap.low is not None else gap.value),
                "high": _points(gap.high if gap.high is not None else gap.value),
                "verdict": "distinguishable" if pair.distinguishable else "not distinguishable",
            }
        )
    n_different = sum(pair.distinguishable for pair in comparison.pairs)
    alt = f"Paired difference of each two models with its interval; {n_different} of {len(comparison.pairs)} are distinguishable."
    return Section(
        id="differences",
        title="Are the models different?",
        lead=(
            "Two models are compared on the same problems, so that hard and easy ones weigh on both alike. Where the "
            "interval holds 0 or the adjusted p is not small, the order of the two may be chance."
        ),
        tables=[table for table in comparison_tables if table.title in ("Paired differences", "Wins")],
        chart=Chart(charts.forest(rows, order, "Difference in points"), alt),
    )


def _groups(tallies: Sequence[Tally], grouping: Grouping) -> Section | None:
    groups = tallies[0].groups(grouping)
    if not groups:
        return None
    if grouping == "complexity":
        groups = sorted(groups, key=lambda group: (len(group), group))
    title = _TITLES[grouping]
    rows, cells = [], []
    for group in groups:
        places = tallies[0].places(grouping, group)
        scores = [(tally, tally.exam_score(places, group=group)) for tally in tallies]
        rows.append((group, str(len(places)), *(_format_score(score) for _, score in scores)))
        for tally, score in scores:
            low, high = (score.interval.low, score.interval.high) if score.interval else (score.value, score.value)
            cells.append(
                {
                    "line": group, "x": group.removeprefix("level_"), "column": tally.model, "series": tally.model,
                    "value": _points(score.value), "low": _points(low), "high": _points(high),
                    "shown": _SCALE.value(score.value),
                }
            )  # fmt: skip
    models = [tally.model for tally in tallies]
    table = Table(
        title=f"{title}: score by model",
        headers=(title if grouping != "problem_type" else "Kind", "Problems", *models),
        rows=tuple(rows),
        numeric=frozenset(range(1, len(models) + 2)),
        note="In brackets the 95 % intervals.",
    )
    if grouping == "complexity":
        levels = [group.removeprefix("level_") for group in groups]
        picture = _curves(cells, models, ("Complexity", "Score"), levels, band=False)
        lead = "Harder problems to the right; bars are 95 % intervals, wide where a level has few problems."
    else:
        groups_shown = set(groups[:LINES_SHOWN])
        picture = charts.heat_map(
            [c for c in cells if c["line"] in groups_shown], models, groups[:LINES_SHOWN], "Score"
        )
        lead = "Score of each model in each group, 0 to 100. Small groups say little: look at their number of problems."
    alt = f"Scores by {title.lower()} for {len(models)} models; the table below has the same numbers."
    return Section(grouping.replace("_", "-"), title, lead, (table,), Chart(picture, alt))


def _curves(
    cells: Sequence[Mapping[str, object]],
    models: Sequence[str],
    titles: tuple[str, str],
    order: Sequence[str],
    *,
    band: bool,
) -> Picture:
    """Return the lines of the first models; the table has every model."""
    first = models[:SERIES_SHOWN]
    lines = [cell for cell in cells if cell["series"] in first]
    return planes.curves(lines, first, x_title=titles[0], y_title=titles[1], band=band, x_order=order)


def _passes(tallies: Sequence[Tally]) -> Section | None:
    """Return the pass@k curve, where some problem was attempted more than once."""
    most = max((max(tally.attempts, default=0) for tally in tallies), default=0)
    if most < 2:
        return None
    steps = [k for k in (1, 2, 3, 5, 10, 20, 50, 100, 200) if k < most] + [most]
    rows: list[tuple[str, ...]] = []
    cells = []
    for tally in tallies:
        line = [tally.model]
        for k in steps:
            estimate = tally.pass_at(k)
            line.append(_SCALE.with_spread(estimate.value, estimate.low, estimate.high))
            if estimate.value is not None:
                low, high = (
                    (estimate.low, estimate.high) if estimate.low is not None else (estimate.value, estimate.value)
                )
                cells.append(
                    {"series": tally.model, "x": str(k), "value": _points(estimate.value), "low": _points(low), "high": _points(high)}
                )  # fmt: skip
        rows.append(tuple(line))
    models = [tally.model for tally in tallies]
    table = Table(
        title="pass@k with 95 % intervals",
        headers=("Model", *(f"pass@{k}" for k in steps)),
        rows=tuple(rows),
        numeric=frozenset(range(1, len(steps) + 1)),
        note=f"{NOTHING}: a problem has fewer than k attempts. A problem without an attempt counts as unsolved.",
    )
    picture = _curves(cells, models, ("k", "pass@k"), [str(k) for k in steps], band=True)
    lead = "The chance that at least one of k attempts passes every test; the band is the error over problems."
    return Section("passes", "pass@k", lead, (table,), Chart(picture, "pass@k against k, one line a model"))


def _errors(tallies: Sequence[Tally]) -> Section:
    kinds = [kind.value for kind in ErrorKind]
    rows, cells = [], []
    for tally in tallies:
        counts = [tally.errors[kind] for kind in kinds]
        grades = [tally.grades[grade] for grade in ("fully_correct", "partially_correct", "incorrect")]
        rate = _SCALE.value(tally.error_rate)
        rows.append((tally.model, *(str(count) for count in (*grades, *counts)), str(tally.n_evaluated), rate))
        for index, (kind, count) in enumerate(zip(kinds, counts, strict=True)):
            share = 100 * count / tally.n_evaluated if tally.n_evaluated else 0.0
            cells.append({"name": tally.model, "kind": kind, "value": round(share, 2), "place": index})
    table = Table(
        title="What became of the attempts",
        headers=("Model", "All tests passed", "Some passed", "None passed", *kinds, "Attempts", "Error rate"),
        rows=tuple(rows),
        numeric=frozenset(range(1, len(kinds) + 6)),
        note="A failed test is no error. The error rate is errors over attempts, 0 to 100.",
    )
    order = [tally.model for tally in tallies]
    picture = charts.stack_bars(cells, order, kinds, "Share of attempts, %")
    lead = "Attempts that raised an error, by kind."
    return Section(
        "errors", "Errors", lead, (table,), Chart(picture, "Share of attempts with an error, by kind and model")
    )


_RESULTS = {
    "AC": "Right",
    "WA": "Wrong answer",
    "TLE": "Too slow",
    "MLE": "Too much memory",
    "RTE": "Crashed",
    "OLE": "Printed too much",
    "CE": "No program",
    "JE": "Judge's fault",
    "-": "Not run",
}


def _programs(tallies: Sequence[Tally]) -> Section:
    """Return what became of the single tests of programs that read and write."""
    rows = tuple((tally.model, *(f"{tally.results[name]:,}" for name in _RESULTS)) for tally in tallies)
    table = Table(
        title="Tests of programs that read and write",
        headers=("Model", *(words if name == "-" else f"{words} ({name})" for name, words in _RESULTS.items())),
        rows=rows,
        numeric=frozenset(range(1, len(_RESULTS) + 1)),
        note="Without --all-tests those behind a program's first failed test are not run.",
    )
    lead = "Each test is a process of its own; what it printed was compared outside of it."
    return Section("programs", "Programs", lead, (table,))


def _build_differences(comparison: Comparison) -> Section:
    solved_tables = [table for table in tables(comparison) if table.title == "Solved by one model only"]
    if not solved_tables:
        none = f"No problem was solved by one model alone; {len(comparison.solved_by_none)} were solved by no model."
        return Section("only", "Where they differ", none)
    lead = "Problems whose tests one model alone passed. Choose “models differ” below to read them."
    return Section("only", "Where they differ", lead, solved_tables)
