"""A finished run of tasks, as every command and report reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from markbook.results.headline import run_headline
from markbook.results.kind import Content, Entry, Shown
from markbook.results.rows import reasons_text
from markbook.runs.tasks.published import TasksView
from markbook.text import cut
from markbook.text.numbers import format_number

if TYPE_CHECKING:
    from markbook.report.page import Page
    from markbook.results.sheet import Sheet
    from markbook.types import Direction

_TEXT_CAP = 200_000


class TaskResults(TasksView):
    """The results of a run of tasks."""

    def sheet(self, metric: str | None) -> Sheet:
        """Return one metric's marks on the rows of all tasks that have it.

        Raises:
            UsageError: no task of the run has this metric.
        """
        from markbook.runs.tasks.sheet import task_sheet

        return task_sheet(self, metric, name=self.run.folder.name)

    def page(self) -> Page:
        """Return everything that the report of a run of tasks shows."""
        from markbook.report.page import of_run
        from markbook.runs.tasks.pages.page import task_page

        return of_run(replace(task_page(self), headline=run_headline(self, "rows")), self.manifest)

    def files(self, name: str) -> Mapping[str, Content]:
        """Return the files of lm-evaluation-harness.

        Raises:
            UsageError: a run of tasks has no files of that format.
        """
        if name != "lm-eval":
            return super().files(name)
        from markbook.runs.tasks.pages.lm_eval import lm_eval_files

        return lm_eval_files(self)

    @property
    def direction(self) -> Direction:
        """Which way is better by the main metric."""
        from markbook.runs.tasks.sheet import main_metric

        return main_metric(self)[2]

    def entries(self) -> Iterator[Entry]:
        """Yield every answer, by the names that the sheet has for them."""
        from markbook.runs.tasks.pages.page import answer_status
        from markbook.runs.tasks.sheet import main_metric, sample_name

        several = len(self.summary["tasks"]) > 1
        main, pipeline, _ = main_metric(self)
        for location, row in self.located_rows():
            value = row["metrics"].get(main) if pipeline in ("", row["pipeline"]) else None
            model = str(row.get("model") or "answer")
            error = row["tests"]["error"] if "tests" in row else ""
            name = sample_name(row, several=several)
            yield Entry(location, model, name, answer_status(row), value, error, str(row["task"]))

    def show_attempt(self, location: int) -> Shown:
        """Return the answer whose row begins at a place of results.jsonl.

        Raises:
            ValueError: none begins there.
        """
        from markbook.runs.tasks.pages.page import answer_status, row_evidence, row_why
        from markbook.runs.tasks.sheet import asked_of, question, sample_name

        row = self.row_at(location)
        facts = tuple((name, format_number(value)) for name, value in row["metrics"].items())
        return Shown(
            str(row.get("model") or "answer"), sample_name(row, several=len(self.summary["tasks"]) > 1), answer_status(row),
            facts, question(row), cut(str(row.get("text") or ""), _TEXT_CAP), reasons_text(row),
            why=row_why(row), evidence=row_evidence(row), asked=asked_of(row), references=tuple(row["references"]),
            reply=None if row["reply"] is None else cut(row["reply"], _TEXT_CAP),
        )  # fmt: skip
