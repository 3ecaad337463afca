"""A page's tables and charts as files for papers: LaTeX, SVG, PNG."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from markbook.errors import ExtraMissingError
from markbook.report.page import Page
from markbook.report.pictures import png, svg
from markbook.results.kind import Results
from markbook.text.latex import latex, latex_table


def as_latex() -> Callable[[Results], Mapping[str, str]]:
    """Return the renderer of `report.tex`: the factory of the report plugin `latex`."""
    return lambda results: {"report.tex": render_latex(results.page())}


def render_latex(page: Page) -> str:
    """Return every table of a page, to be taken into a paper; what it needs stands in its first lines."""
    parts = [r"% \usepackage[T1]{fontenc} \usepackage{textcomp,booktabs}", f"% {latex(page.title)}"]
    if page.headline.text:
        parts.append(f"% {latex(page.headline.text)}")
    for section in page.sections:
        tables = list(section.tables)
        parts += [
            latex_table(table, section.id if len(tables) == 1 else f"{section.id}-{number}")
            for number, table in enumerate(tables, start=1)
        ]
    return "\n".join(parts)


def figures(page: Page) -> tuple[dict[str, str | bytes], bool]:
    """Return each chart of a page by file name, as SVG and, where that can be made here, as PNG; and whether it could."""
    files: dict[str, str | bytes] = {}
    is_whole = True
    for section in page.sections:
        if section.chart is None:
            continue
        files[f"{section.id}.svg"] = svg(section.chart.picture)
        try:
            files[f"{section.id}.png"] = png(section.chart.picture)
        except ExtraMissingError:
            is_whole = False
    return files, is_whole
