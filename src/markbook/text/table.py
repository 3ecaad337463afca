"""One table for terminal, Markdown and HTML: the same words in each."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markbook.text.escape import markdown, terminal, visible

if TYPE_CHECKING:
    from rich.table import Table as RichTable

_NAME = 24
"""Characters of a row's name that stay together on a narrow terminal."""
NOTHING = "\u2013"
"""Shown where there is no value; never 0."""


@dataclass(frozen=True, slots=True)
class Table:
    """Finished cells under headers. Cells may hold foreign words: each rendering escapes them in its own way."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int] = frozenset()
    """Columns that are aligned to the right."""
    note: str = ""
    """One line below the table."""

    def markdown(self, *, level: int = 2) -> str:
        """Return the table with its title as a heading of this level."""
        lines = [f"{'#' * level} {markdown(self.title)}", ""]
        if self.rows:
            lines.append(_markdown_row(self.headers))
            marks = ("---:" if at in self.numeric else "---" for at in range(len(self.headers)))
            lines.append("| " + " | ".join(marks) + " |")
            lines += [_markdown_row(row) for row in self.rows]
        else:
            lines.append("Nothing to show.")
        if self.note:
            lines += ["", markdown(self.note)]
        return "\n".join(lines) + "\n"

    def html(self) -> str:
        """Return the table as an HTML element with its title as caption."""
        head = "".join(f'<th scope="col">{_words(one)}</th>' for one in self.headers)
        body = "".join("<tr>" + self._cells(row) + "</tr>" for row in self.rows)
        note = f"<p>{_words(self.note)}</p>" if self.note else ""
        caption = f"<caption>{_words(self.title)}</caption>"
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"

    def _cells(self, row: Sequence[str]) -> str:
        cells = []
        for at, cell in enumerate(row):
            align = ' style="text-align:right"' if at in self.numeric else ""
            cells.append(f"<td{align}>{_words(cell)}</td>")
        return "".join(cells)

    def rich(self) -> RichTable:
        """Return the table for a rich console; cells are plain text, so that no markup in them is obeyed."""
        from rich import box
        from rich.table import Table as RichTable
        from rich.text import Text

        made = RichTable(title=Text(terminal(self.title), style="bold"), title_justify="left", box=box.SIMPLE_HEAD)
        for at, header in enumerate(self.headers):
            names = (len(row[0]) for row in self.rows) if at == 0 else ()
            made.add_column(
                Text(terminal(header)),
                justify="right" if at in self.numeric else "left",
                overflow="fold",
                min_width=min(_NAME, max(names, default=0)) or None,  # a name in two parts is none
            )
        for row in self.rows:
            made.add_row(*(Text(terminal(cell)) for cell in row))
        if self.note:
            made.caption = Text(terminal(self.note), style="dim")
            made.caption_justify = "left"
        return made


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(markdown(cell) or " " for cell in cells) + " |"


def _words(text: str) -> str:
    return html.escape(visible(text))
