"""A page as Markdown: the same sections and tables as the HTML, with pictures beside it where they can be drawn."""

from __future__ import annotations

from collections.abc import Mapping

from markbook.errors import ExtraMissingError
from markbook.report.page import Page, Section
from markbook.report.pictures import INSTALL, png
from markbook.results.headline import Headline
from markbook.text import markdown


def render_markdown(page: Page, *, pictures: bool = True) -> Mapping[str, str | bytes]:
    """Return `report.md` and its pictures by path.

    Args:
        page: what to show.
        pictures: draw the charts as PNG files; without the renderer a line says how to get it.
    """
    files: dict[str, str | bytes] = {}
    parts = [f"# {markdown(page.title)}\n"]
    parts += [f"{line}\n" for line in _headline(page.headline)]
    parts.append("\n".join(f"- {markdown(name)}: {markdown(value)}" for name, value in page.facts) + "\n")
    parts += [f"> {markdown(warning)}\n" for warning in page.warnings]
    for section in page.sections:
        parts.append(f"## {markdown(section.title)}\n\n{markdown(section.lead)}\n")
        if section.chart is not None and pictures:
            parts.append(_picture(section, files))
        parts += [table.markdown(level=3) for table in section.tables]
    files["report.md"] = "\n".join(parts)
    return files


def _headline(headline: Headline) -> list[str]:
    return [line for line in (headline.text and f"**{markdown(headline.text)}**", markdown(headline.step)) if line]


def _picture(section: Section, files: dict[str, str | bytes]) -> str:
    assert section.chart is not None
    name = f"report-{section.id}.png"
    try:
        files[name] = png(section.chart.picture)
    except ExtraMissingError:
        return f"The chart needs an extra package: `{INSTALL}`\n"
    return f"![{markdown(section.chart.alt)}]({name})\n"
