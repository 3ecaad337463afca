"""Everything that only a review of generated peer reviews needs, and what the rest of the house sees of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markbook.runs.kind import Kind, Machines, Watcher, WorkEnd

if TYPE_CHECKING:
    from markbook.runs.reviews.finished import ReviewResults
    from markbook.runs.reviews.review import ReviewPlan
    from markbook.runs.reviews.review_options import ReviewOptions
    from markbook.store import Run, RunWriter


class Reviews(Kind["ReviewOptions", "ReviewPlan"]):
    """The kind of run that `markbook review` makes."""

    answers = r"reviews/|traces\Z"
    """The generated reviews, and the traces of those who wrote them."""

    def plan(self, request: ReviewOptions, machines: Machines) -> ReviewPlan:
        """Read papers and generated reviews, and check the judges."""
        from markbook.runs.reviews.review import plan_review

        return plan_review(request)

    def start(self, plan: ReviewPlan, machines: Machines) -> None:
        """Start the workers that were asked for."""
        machines.start_executor()

    def work(self, plan: ReviewPlan, journal: RunWriter, machines: Machines, watch: Watcher) -> WorkEnd:
        """Measure, ask the judges, and score."""
        from markbook.runs.reviews.review import ReviewWork

        review = ReviewWork(plan, journal, machines.executor, watch)
        review.measure()
        return review.finish()

    def results(self, run: Run) -> ReviewResults:
        """Return what there is to say of a finished run of reviews."""
        from markbook.runs.reviews.finished import ReviewResults

        return ReviewResults(run)
