"""What a run shows in a notebook; the run finds it here by name, because it stands below the reports."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from markbook.errors import DataError
from markbook.results.kind import Shown, results_of
from markbook.results.standing import standings
from markbook.store import Run
from markbook.text import Table, visible
from markbook.types import Summary


def rows(run: Run) -> list[dict[str, Any]]:
    """Return one flat row an attempt.

    Raises:
        DataError: the run is not finished.
    """
    return [dict(row) for row in results_of(run, partial=True).flat_rows()]


def scores(run: Run, metric: str | None) -> dict[str, Summary]:
    """Return each model's summary by a metric, the run's first when None, best first.

    Raises:
        DataError: the run is not finished.
        UsageError: it has no such metric.
    """
    return {place.model: place.summary for place in standings(results_of(run).sheet(metric))}


def failures(run: Run, model: str | None) -> Iterator[Shown]:
    """Yield the attempts, of one model or all, that did not pass or are not there.

    Raises:
        DataError: the run is not finished.
    """
    results = results_of(run)
    for entry in results.entries():
        if entry.status not in ("passed", "scored") and model in (None, entry.model):
            yield results.shown(entry.location)


def tables(run: Run) -> str:
    """Return the first tables of the run's page as HTML; of an unfinished run, what it is."""
    try:
        page = results_of(run, partial=True).page()
    except DataError as error:
        return Table(run.folder.name, ("Status", "Why"), ((run.status, error.message),)).html()
    facts = Table(page.title, tuple(name for name, _ in page.facts), (tuple(value for _, value in page.facts),))
    return (
        f"<p><strong>{escape(visible(page.headline.text))}</strong></p>"
        + facts.html()
        + "".join(table.html() for section in page.sections[:2] for table in section.tables)
    )
