"""The report plugins `html` and `markdown`: a page for any kind of run."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from markbook.aggregate.exam_view import ExamView
from markbook.report.page import Page
from markbook.report.records import Files

View = ExamView | Files


def page_of(view: View) -> Page:
    """Return the page of a run."""
    if isinstance(view, ExamView):
        from markbook.report.exam_page import exam_page

        return exam_page(view)
    if view.manifest.get("command") == "review":
        from markbook.report.review_page import review_page

        return review_page(view)
    from markbook.report.task_page import task_page

    return task_page(view)


def html() -> Callable[[View], Mapping[str, str]]:
    """Return the renderer of `report.html`: the factory of the report plugin `html`."""
    return _Html()


class _Html:
    def __call__(self, view: View) -> Mapping[str, str]:
        from markbook.report.html import render

        return {"report.html": render(page_of(view))}

    @staticmethod
    def prepare() -> None:
        """Load the template: a caller with nothing to do meanwhile saves a tenth of a second."""
        from markbook.report.html import render
        from markbook.report.page import Page

        render(Page(title="", facts=(), warnings=(), sections=()))


def markdown() -> Callable[[View], Mapping[str, str | bytes]]:
    """Return the renderer of `report.md` and its pictures: the factory of the report plugin `markdown`."""
    from markbook.report.markdown import render_markdown

    return lambda view: render_markdown(page_of(view))
