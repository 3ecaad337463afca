"""The report plugins `html` and `markdown`: a page for any kind of run; and those whose files only some kinds have."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from markbook.results.kind import Content, Results

Render = Callable[[Results], Mapping[str, Content]]


def html() -> Render:
    """Return the renderer of `report.html`: the factory of the report plugin `html`."""
    return _Html()


class _Html:
    def __call__(self, results: Results) -> Mapping[str, str]:
        from markbook.report.html import render

        return {"report.html": render(results.page())}

    @staticmethod
    def prepare() -> None:
        """Load the template: a caller with nothing to do meanwhile saves a tenth of a second."""
        from markbook.report.html import render
        from markbook.report.page import Page

        render(Page(title="", facts=(), warnings=(), sections=()))


def markdown_report() -> Render:
    """Return the renderer of `report.md` and its pictures: the factory of the report plugin `markdown`."""
    from markbook.report.markdown import render_markdown

    return lambda results: render_markdown(results.page())


def documented() -> Render:
    """Return the renderer of the files that the exam's document names: the factory of the report plugin `documented`."""
    return lambda results: results.files("documented")


def lm_eval() -> Render:
    """Return the renderer of lm-evaluation-harness's own files: the factory of the report plugin `lm-eval`."""
    return lambda results: results.files("lm-eval")
