"""What a run shows in a notebook; the run finds it here by name, because it stands below the reports."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from markbook.errors import DataError, MarkbookError
from markbook.report import charts
from markbook.report.exports import svg
from markbook.results.kind import Results, Shown, Value, get_seed, get_sheet, open_results
from markbook.results.leaderboard import Standing, in_benchmark_order, standings, summaries
from markbook.store import Run
from markbook.text import Table, terminal, visible
from markbook.text.format import Scale, format_level
from markbook.text.table import Spot, as_text, plot
from markbook.types import Summary

if TYPE_CHECKING:
    from rich.console import RenderableType


def rows(run: Run) -> list[dict[str, Value]]:
    """Return one flat row an attempt.

    Raises:
        DataError: the run is not finished.
    """
    return [dict(row) for row in open_results(run, partial=True).flat_rows()]


def scores(run: Run, metric: str | None) -> dict[str, Summary]:
    """Return each model's summary by a metric, the run's first when None, best first.

    Raises:
        DataError: the run is not finished.
        UsageError: it has no such metric.
    """
    return {standing.model: standing.summary for standing in _standings(open_results(run), metric)}


def _standings(results: Results, metric: str | None = None) -> list[Standing]:
    return standings(get_sheet(results, metric), seed=get_seed(results))


def failures(run: Run, model: str | None) -> Iterator[Shown]:
    """Yield the attempts, of one model or all, that did not pass or are not there, in the order of the benchmark.

    Raises:
        DataError: the run is not finished.
    """
    results = open_results(run)
    lost = (entry for entry in results.entries() if entry.status not in ("passed", "scored"))
    for entry in in_benchmark_order(results, (entry for entry in lost if model in (None, entry.model))):
        yield results.show_attempt(entry.location)


def tables(run: Run) -> str:
    """Return the first tables of the run's page as HTML; of an unfinished run, what it is."""
    try:
        page = open_results(run, partial=True).page()
    except DataError as error:
        return Table(run.folder.name, ("Status", "Why"), ((run.status, error.message),)).html()
    facts = Table(page.title, tuple(name for name, _ in page.facts), (tuple(value for _, value in page.facts),))
    parts = [f"<p><strong>{escape(visible(page.headline.text))}</strong></p>", facts.html()]
    for section in page.sections[:2]:
        if (chart := section.chart) is not None:
            parts.append(f'<figure role="img" aria-label="{escape(visible(chart.alt))}">{svg(chart.picture)}</figure>')
        parts += [table.html() for table in section.tables]
    return "".join(parts)


def describe(run: Run) -> str:
    """Return what a run is in a line and, if it can be read, each model's score by its main metric in a small table."""
    head = f"<Run {run.command} {run.status} {terminal(str(run.folder))}>"
    try:
        results = open_results(run, partial=True)
        sheet = get_sheet(results, None)
    except MarkbookError as error:
        return f"{head}\n{terminal(error.message)}"
    scale = Scale(sheet.range)
    model_summaries = summaries(sheet, seed=get_seed(results)).values()
    rows = tuple(
        (summary.group, scale.value(summary.value), scale.interval(summary.interval),
         f"{summary.n} of {summary.n_items}")
        for summary in model_summaries
    )  # fmt: skip
    level = format_level(summary.interval for summary in model_summaries)
    return f"{head}\n{as_text([Table('', ('Model', sheet.metric, f'{level} CI', 'Scored'), rows, frozenset({1, 2, 3})).rich()])}"


def render_run(run: Run) -> Iterator[RenderableType]:
    """Yield what a run shows on a rich console: its result in a sentence, its scores as a chart, and its first tables."""
    from rich.text import Text

    yield Text(f"{run.command} {run.status} {terminal(str(run.folder))}")
    try:
        results = open_results(run, partial=True)
        page = results.page()
        standings = _standings(results)
    except DataError as error:
        yield Text(terminal(error.message))
        return
    if page.headline.text:
        yield Text(terminal(page.headline.text), style="bold")
    yield from render_standings(standings)
    yield from (table.rich() for section in page.sections[:2] for table in section.tables)


def render_standings(standings: Sequence[Standing]) -> Iterator[RenderableType]:
    """Yield the scores of models as a chart of characters; nothing where their scale has no ends."""
    first = next(iter(standings), None)
    if first is None or not all(map(math.isfinite, first.summary.range)):
        return
    spots = []
    for standing in standings:
        ends = (interval.low, interval.high) if (interval := standing.summary.interval) else ()
        spots.append(Spot(standing.model, standing.summary.value, *ends))
    yield plot(first.summary.metric, spots, first.summary.range).rich()


def draw_scores(standings: Sequence[Standing]) -> str:
    """Return the scores of models with their intervals as a drawing; empty without any."""
    picture = charts.draw_summaries((standing.model, standing.summary) for standing in standings)
    if picture is None:
        return ""
    return f'<figure role="img" aria-label="Scores with their intervals">{svg(picture)}</figure>'
