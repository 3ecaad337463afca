"""A finished run of reviews, as every command and report reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markbook import plugins
from markbook.errors import MarkbookError
from markbook.results.files_view import read_part
from markbook.results.headline import run_headline
from markbook.results.kind import Entry, Shown, Status
from markbook.results.rows import reasons_text
from markbook.runs.reviews.scoring.records import ReviewsView, tier_of
from markbook.text import cut
from markbook.text.numbers import format_number

if TYPE_CHECKING:
    from markbook.report.page import Page
    from markbook.results.sheet import Sheet
    from markbook.types import Direction

_TEXT_CAP = 200_000
_TIERS = ("tier1", "tier2", "tier3", "composite")


class ReviewResults(ReviewsView):
    """The results of a run of reviews."""

    def sheet(self, metric: str | None) -> Sheet:
        """Return one number's marks by system and paper, the composite if none is named.

        Raises:
            UsageError: a review has no such number.
        """
        from markbook.runs.reviews.sheet import review_sheet

        return review_sheet(self, metric)

    def page(self) -> Page:
        """Return everything that a review's report shows."""
        from markbook.report.page import of_run
        from markbook.runs.reviews.pages.run_page import review_page

        return of_run(replace(review_page(self), headline=run_headline(self, "papers")), self.manifest)

    @property
    def direction(self) -> Direction:
        """Which way is better: a higher score."""
        return "higher"

    def entries(self) -> Iterator[Entry]:
        """Yield every review."""
        for location, row in self.located_rows():
            score = row["composite"].get("composite_score")
            status: Status = "scored" if score is not None else "partial"
            yield Entry(location, str(row["system"]), str(row["paper_id"]), status, score)

    def show_attempt(self, location: int) -> Shown:
        """Return the review whose row begins at a place of results.jsonl.

        Raises:
            ValueError: none begins there.
        """
        from markbook.runs.reviews.pages.reasons import judges_said

        row = self.row_at(location)
        facts = tuple(
            (f"{tier} {name}", format_number(value) if isinstance(value, float) else str(value))
            for tier in _TIERS
            for name, value in tier_of(row, tier).items()
            if isinstance(value, int | float | str)
        )
        text = self._texts.get((str(row["paper_id"]), str(row["system"]), int(row.get("index") or 0)), "")
        return Shown(
            str(row["system"]), str(row["paper_id"]), "scored", facts, "", cut(text, _TEXT_CAP), reasons_text(row),
            evidence=judges_said(row["tier2"]),
        )  # fmt: skip

    @cached_property
    def _texts(self) -> Mapping[tuple[str, str, int], str]:
        """The reviews themselves, which no run keeps: out of the file that was named, while it is what it was."""
        named = read_part(self.run, "asked", dict[str, Any], {}).get("reviews")
        if not isinstance(named, str):
            return {}
        try:
            generated = plugins.create("loaders", "generated_reviews").load(Path(named))
        except MarkbookError:
            return {}
        inputs = self.manifest.get("inputs") or {}
        if any(inputs.get(f"reviews/{name}") != digest for name, digest in generated.digests.items()):
            return {}
        return {(attempt.sample_id, attempt.model, attempt.index): attempt.text for attempt in generated.attempts}
