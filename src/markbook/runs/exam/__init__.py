"""Everything that only an exam needs, and what the rest of the house sees of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markbook.runs.exam.finished import ExamResults
    from markbook.store import Run


class Exam:
    """The kind of run that `markbook exam` makes."""

    reads_partial = True

    def results(self, run: Run) -> ExamResults:
        """Return what there is to say of an exam, also of one that broke off."""
        from markbook.runs.exam.finished import ExamResults

        return ExamResults(run, run.manifest)
