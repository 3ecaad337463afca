"""Everything that only a run of tasks needs, and what the rest of the house sees of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markbook.runs.tasks.finished import TaskResults
    from markbook.store import Run


class Tasks:
    """The kind of run that `markbook run` makes."""

    reads_partial = False

    def results(self, run: Run) -> TaskResults:
        """Return what there is to say of a finished run of tasks."""
        from markbook.runs.tasks.finished import TaskResults

        return TaskResults(run)
