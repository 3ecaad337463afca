"""One table for terminal, Markdown and HTML: the same words in each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markbook.text.escape import latex, markdown, terminal, visible
from markbook.text.format import format_number
from markbook.types import digest_text

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.table import Table as RichTable

_NAME, _NARROW = 24, 4
"""Characters of a row's name that stay together, and to which other columns give way before it does."""


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
            marks = ("---:" if at in self.numeric else "---" for at in range(len(self.headers)))
            cells = ([markdown(cell) or " " for cell in row] for row in (self.headers, *self.rows))
            lines += markdown_table(next(cells), cells, rule="| " + " | ".join(marks) + " |")
        else:
            lines.append("Nothing to show.")
        if self.note:
            lines += ["", markdown(self.note)]
        return "\n".join(lines) + "\n"

    def html(self) -> str:
        """Return the table as an HTML element with its title as caption."""
        head = "".join(f'<th scope="col">{_words(header)}</th>' for header in self.headers)
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
        from rich.cells import cell_len
        from rich.table import Table as RichTable
        from rich.text import Text

        columns = [[terminal(cell) for cell in column] for column in zip(self.headers, *self.rows, strict=True)]
        longest = [max(map(cell_len, column)) for column in columns]
        words = [max((cell_len(word) for cell in column for word in cell.split()), default=1) for column in columns]

        class Fitted(RichTable):
            """Shares the console's width so that no column is cut off: rich's own way keeps names whole at the price of others."""

            def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
                frame = 3 * len(columns) + 1
                for column, width in zip(
                    self.columns, shared_widths(longest, words, options.max_width - frame), strict=True
                ):
                    column.width = width
                yield from super().__rich_console__(console, options)

        table = Fitted(title=Text(terminal(self.title), style="bold"), title_justify="left", box=box.SIMPLE_HEAD)
        for at, header in enumerate(self.headers):
            table.add_column(Text(terminal(header)), justify="right" if at in self.numeric else "left", overflow="fold")
        for row in self.rows:
            table.add_row(*(Text(terminal(cell)) for cell in row))
        if self.note:
            table.caption = Text(terminal(self.note), style="dim")
            table.caption_justify = "left"
        return table


def as_text(parts: Iterable[RenderableType], width: int = 80) -> str:
    """Return what a rich console would show of these, without colours."""
    from io import StringIO

    from rich.console import Console

    file = StringIO()
    console = Console(file=file, width=width, emoji=False, markup=False, highlight=False, color_system=None)
    for part in parts:
        console.print(part)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()).strip("\n")


def shared_widths(longest: Sequence[int], words: Sequence[int], room: int) -> list[int]:
    """Return a width for each column: its longest cell if there is room for all, else its longest word, else what is left.

    >>> shared_widths([4, 20, 15], [4, 10, 15], 80), shared_widths([4, 20, 15], [4, 10, 15], 33)
    ([4, 20, 15], [4, 14, 15])
    >>> shared_widths([22, 22], [22, 22], 30), shared_widths([22, 22], [22, 22], 20)
    ([22, 8], [16, 4])
    """
    widths = [max(1, word) for word in words]
    while sum(widths) > max(room, len(widths)):
        others = max(widths[1:], default=0)  # the first column holds names, which are read whole as long as can be
        first = widths[0] > _NAME or others <= _NARROW
        widths[0 if first and widths[0] >= others else widths.index(others, 1)] -= 1
    for _ in range(room - sum(widths)):
        lacking = [longest_width - width for longest_width, width in zip(longest, widths, strict=True)]
        if max(lacking, default=0) <= 0:
            break
        widths[lacking.index(max(lacking))] += 1
    return widths


def markdown_table(headers: Sequence[str], rows: Iterable[Sequence[str]], *, rule: str = "") -> list[str]:
    """Return the lines of a table whose cells are Markdown already: links and emphasis in them stay.

    `rule` is the line below the headers, one that aligns nothing if empty.
    """
    lines = ["| " + " | ".join(row) + " |" for row in (headers, *rows)]
    return [lines[0], rule or "|" + "---|" * len(headers), *lines[1:]]


def _words(text: str) -> str:
    from html import escape  # late: its table of 2,231 names is for reports alone

    return escape(visible(text))


# The same table in LaTeX: nothing in it is a command.

_NO_LABEL = re.compile(r"[^A-Za-z0-9@_.:-]+")


def latex_table(table: Table, label: str) -> str:
    """Return a table for a paper, to refer to by its label; it needs the package booktabs.

    Where a label holds more than plain letters, digits and hyphens, a digest stands for the rest.
    """
    columns = "".join("r" if at in table.numeric else "l" for at in range(len(table.headers)))
    note = f" {latex(table.note)}" if table.note else ""
    # A label must not be a command, and names that differ in other characters get labels that differ.
    plain = _NO_LABEL.sub("-", label)
    if plain != label:
        plain = f"{plain.strip('-')[:60]}-{digest_text(label)[:8]}"
    lines = [
        r"\begin{table}[t]", r"\centering\small", rf"\caption{{{latex(table.title)}.{note}}}", rf"\label{{tab:{plain}}}",
        rf"\begin{{tabular}}{{{columns}}}", r"\toprule", _latex_row(table.headers), r"\midrule", *map(_latex_row, table.rows),
        r"\bottomrule", r"\end{tabular}", r"\end{table}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(map(latex, cells)) + r" \\"


# A chart in characters: values with their intervals along one line each.

WIDTH = 40


@dataclass(frozen=True, slots=True)
class Spot:
    """One value with its interval."""

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None


def plot(title: str, spots: Sequence[Spot], ends: tuple[float, float], *, width: int = WIDTH) -> Table:
    """Return a table whose last column draws each value as a dot on its interval, between the two ends of a scale.

    >>> print(plot("Score", [Spot("a", 0.5, 0.25, 0.75)], (0, 1), width=9).rows[0][2])
      |-o-|
    """
    rows = []
    for spot in spots:
        cells = [" "] * width
        if spot.value is not None:
            low = spot.value if spot.low is None else spot.low
            high = spot.value if spot.high is None else spot.high
            first, last = (_place(end, ends, width) for end in (low, high))
            cells[first:last] = "-" * (last - first)
            cells[first] = cells[last] = "|"
            cells[_place(spot.value, ends, width)] = "o"
        rows.append((spot.name, format_number(spot.value), "".join(cells).rstrip()))
    scale = f"{ends[0]:g}".ljust(width - len(f"{ends[1]:g}")) + f"{ends[1]:g}"
    return Table(title, ("", "Value", scale), tuple(rows), frozenset({1}))


def _place(value: float, ends: tuple[float, float], width: int) -> int:
    share = (value - ends[0]) / (ends[1] - ends[0])
    return round(min(1.0, max(0.0, share)) * (width - 1))
