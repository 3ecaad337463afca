"""What a run shows in a notebook; the run finds it here by name, because it stands below the reports."""

from __future__ import annotations

from typing import Any

from markbook.errors import DataError
from markbook.results.kind import results_of
from markbook.store import Run
from markbook.text import Table


def rows(run: Run) -> list[dict[str, Any]]:
    """Return one flat row an attempt.

    Raises:
        DataError: the run is not finished.
    """
    return [dict(row) for row in results_of(run, partial=True).flat_rows()]


def tables(run: Run) -> str:
    """Return the first tables of the run's page as HTML; of an unfinished run, what it is."""
    try:
        page = results_of(run, partial=True).page()
    except DataError as error:
        return Table(run.folder.name, ("Status", "Why"), ((run.status, error.message),)).html()
    facts = Table(page.title, tuple(name for name, _ in page.facts), (tuple(value for _, value in page.facts),))
    return facts.html() + "".join(table.html() for section in page.sections[:2] for table in section.tables)
