"""A finished exam, or one that broke off, as every command and report reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from markbook.errors import DataError, UsageError
from markbook.plugins import suggest
from markbook.results.kind import Case, Content, Entry, Shown, Value, no_files
from markbook.runs.exam.view import ExamView

if TYPE_CHECKING:
    from markbook.report.page import Page
    from markbook.results.sheet import Sheet
    from markbook.runs.exam.pages.browse import SampleFinder
    from markbook.store import Run, RunWriter
    from markbook.types import Direction


class ExamResults(ExamView):
    """The results of an exam; what each method gives is made in a module of its own, when it is asked for."""

    def __init__(self, run: Run | RunWriter, manifest: Mapping[str, Any]) -> None:
        """Read a run, or one that is being written.

        Args:
            run: where the journal is.
            manifest: what run.json holds, or will hold.
        """
        super().__init__(run, manifest["config"])
        self._run = run
        self._manifest = manifest

    @property
    def manifest(self) -> Mapping[str, Any]:
        """What run.json holds."""
        return self._manifest

    def overview(self) -> dict[str, object]:
        """Return the exam's main numbers, model by model."""
        from markbook.runs.exam.pages.overview import overview

        return overview(self)

    def flat_rows(self) -> Iterator[Mapping[str, Value]]:
        """Yield one flat row an attempt."""
        from markbook.runs.exam.pages.flat import exam_rows

        return exam_rows(self)

    def cases(self) -> Iterator[Case]:
        """Yield one case an attempt, and a skipped one for each problem that a model did not attempt."""
        from markbook.runs.exam.pages.flat import exam_cases

        return exam_cases(self)

    def sheet(self, metric: str | None) -> Sheet:
        """Return the problems' scores.

        Raises:
            UsageError: another metric than `exam_score` is asked for.
        """
        from markbook.results.stopping import STOPPED_NOTE
        from markbook.runs.exam.sheet import exam_sheet, exam_signatures

        if metric not in (None, "exam_score"):
            raise UsageError(f"an exam has no metric {metric!r}", hint=suggest(str(metric), ["exam_score"]))
        sheet = exam_sheet(list(self.tallies.values()))
        sheet = replace(sheet, signatures=exam_signatures(self.config))
        return replace(sheet, notes=(STOPPED_NOTE,)) if self.stop_record else sheet

    def page(self) -> Page:
        """Return everything that an exam's report shows."""
        from markbook.report.page import of_run
        from markbook.runs.exam.pages.page import exam_page

        return of_run(exam_page(self), self.manifest)

    def files(self, name: str) -> Mapping[str, Content]:
        """Return the documented files, or those of lm-evaluation-harness.

        Raises:
            UsageError: an exam has no files of that format.
            DataError: the documented files are asked for and the exam is not finished.
        """
        if name == "lm-eval":
            from markbook.runs.exam.pages.lm_eval import exam_files as harness_files

            return harness_files(self, self._manifest.get("started"))
        if name != "documented":
            raise no_files("exam", name)
        if note := self.partial_note():
            raise DataError(
                f"the documented files appear only when complete. {note}",
                at=str(self._run.folder),
                hint="finish it with --resume, or ask for another format",
            )
        from markbook.runs.exam.pages.documented import exam_files

        return exam_files(self)

    @property
    def direction(self) -> Direction:
        """Which way is better: a higher score."""
        return "higher"

    def entries(self) -> Iterator[Entry]:
        """Yield every attempt in journal order."""
        from markbook.runs.exam.pages.browse import entries

        return entries(self._run, self.config.get("error_policy", "zero"))

    def show_attempt(self, location: int) -> Shown:
        """Return the attempt at a location of the journal.

        Raises:
            ValueError: there is none.
        """
        from markbook.runs.exam.pages.browse import show_attempt

        return show_attempt(self._run, location, self._finder)

    @cached_property
    def _finder(self) -> SampleFinder:
        from markbook.runs.exam.pages.browse import SampleFinder

        return SampleFinder(self._run)
