"""Everything that only a review of generated peer reviews needs, and what the rest of the house sees of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markbook.runs.reviews.finished import ReviewResults
    from markbook.store import Run


class Reviews:
    """The kind of run that `markbook review` makes."""

    reads_partial = False

    def results(self, run: Run) -> ReviewResults:
        """Return what there is to say of a finished run of reviews."""
        from markbook.runs.reviews.finished import ReviewResults

        return ReviewResults(run)
