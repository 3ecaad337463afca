"""Charts as files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath

from markbook import plugins
from markbook.errors import ExtraMissingError, OutputError, os_errors_as
from markbook.plugins import need
from markbook.report.charts import Picture
from markbook.report.page import Page
from markbook.results.kind import Content, Results, open_results
from markbook.store import Run
from markbook.text import markdown
from markbook.text.escape import latex
from markbook.text.table import latex_table

INSTALL = "pip install 'markbook[report]'"


def png(picture: Picture) -> bytes:
    """Return the chart as a PNG on white, dark text.

    Raises:
        ExtraMissingError: what makes PNG of SVG is not installed.
    """
    image: bytes = need("vl_convert", extra="report").svg_to_png(_on_white(picture), scale=2.0)
    return image


def svg(picture: Picture) -> str:
    """Return the chart as a whole SVG file on white, dark text."""
    return _on_white(picture) + "\n"


def _on_white(picture: Picture) -> str:
    """Return the drawing with the page's colours settled, since a picture has no page to take them from."""
    # A file has no page around it: `currentColor` would be black on whatever a viewer shows behind it.
    drawn = picture.wide.replace('"currentColor"', '"#222222"')  # words cannot hold the marks around it
    head, _, rest = drawn.partition(">")
    return f'{head}><rect width="100%" height="100%" fill="#ffffff"/>{rest}'


# A page's tables and charts as files for papers: LaTeX, SVG, PNG.


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


# A page as Markdown: the same sections and tables as the HTML, with pictures beside it where they can be drawn.


def render_markdown(page: Page) -> Mapping[str, str | bytes]:
    """Return `report.md` and its pictures by path; without the renderer of PNG a line says how to get it."""
    files: dict[str, str | bytes] = {}
    parts = [f"# {markdown(page.title)}\n"]
    lines = (page.headline.text and f"**{markdown(page.headline.text)}**", markdown(page.headline.step))
    parts += [f"{line}\n" for line in lines if line]
    parts.append("\n".join(f"- {markdown(name)}: {markdown(value)}" for name, value in page.facts) + "\n")
    parts += [f"> {markdown(warning)}\n" for warning in page.warnings]
    for section in page.sections:
        parts.append(f"## {markdown(section.title)}\n\n{markdown(section.lead)}\n")
        if section.chart is not None:
            name = f"report-{section.id}.png"
            try:
                files[name] = png(section.chart.picture)
            except ExtraMissingError:
                parts.append(f"The chart needs an extra package: `{INSTALL}`\n")
            else:
                parts.append(f"![{markdown(section.chart.alt)}]({name})\n")
        parts += [table.markdown(level=3) for table in section.tables]
    files["report.md"] = "\n".join(parts)
    return files


# The report plugins `html` and `markdown`: a page for any kind of run; and those whose files only some kinds have.

Render = Callable[[Results], Mapping[str, Content]]


def html() -> Render:
    """Return the renderer of `report.html`: the factory of the report plugin `html`."""
    from markbook.report.html import render

    return lambda results: {"report.html": render(results.page())}


def markdown_report() -> Render:
    """Return the renderer of `report.md` and its pictures: the factory of the report plugin `markdown`."""
    return lambda results: render_markdown(results.page())


def documented() -> Render:
    """Return the renderer of the files that the exam's document names: the factory of the report plugin `documented`."""
    return lambda results: results.files("documented")


def lm_eval() -> Render:
    """Return the renderer of lm-evaluation-harness's own files: the factory of the report plugin `lm-eval`."""
    return lambda results: results.files("lm-eval")


# A new report from an old run: nothing is executed again.

NAMES = {"md": "markdown"}
"""Short names of formats."""


def write_report(run: Run, name: str, output: Path) -> list[Path]:
    """Write a report of a finished run by a report plugin into a folder, which is made if it is not there, and return its files.

    Raises:
        DataError: the run is not finished.
        UsageError: no report has this name, or none of this kind of run.
        ExtraMissingError: it needs a package that is not installed.
        OutputError: a file cannot be written.
    """
    return _write_all(render_report(name, open_results(run, partial=True)), output)


def render_report(name: str, results: Results) -> Mapping[str, Content]:
    """Return the files of a report.

    Raises:
        UsageError: no report has this name, or none of this kind of run.
        ExtraMissingError: it needs a package that is not installed.
        IncompleteError: a report of another package failed.
    """
    plugin = NAMES.get(name, name)
    render: Callable[[Results], Mapping[str, Content]] = plugins.create_typed("reports", plugin)
    with plugins.plugin_errors("reports", plugin):
        files = render(results)
        if not isinstance(files, Mapping):
            raise TypeError(f"a report gives a mapping of paths to contents, not {type(files).__name__}")
        for path in files:
            # Reports may come from other packages: a path must not write over what lies elsewhere.
            if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
                raise ValueError(f"the path {path!r} leads out of the report's folder")
        return files


def write_figures(run: Run, output: Path) -> tuple[list[Path], bool]:
    """Write the charts of a run's report as files for papers; return them, and whether PNG could be made.

    Raises:
        DataError: the run is not finished.
        OutputError: a file cannot be written.
    """
    files, is_whole = figures(open_results(run, partial=True).page())
    return _write_all(files, output), is_whole


def _write_all(files: Mapping[str, Content], output: Path) -> list[Path]:
    written = []
    for path, content in files.items():
        target = output / path
        with os_errors_as(OutputError, "the report cannot be written", target):
            target.parent.mkdir(parents=True, exist_ok=True)
            _write(target, content)
        written.append(target)
    return written


def _write(path: Path, content: Content) -> None:
    """Write beside and put in place, so that a reader never sees half a report."""
    # In the same folder, because only within one file system a file is replaced in one step.
    temporary = path.with_name(f".{path.name}.tmp")
    pieces = [content] if isinstance(content, str | bytes) else content
    with temporary.open("wb") as file:
        for piece in pieces:
            # A damaged run.json may hold half of a surrogate pair, which no file can.
            file.write(piece.encode("utf-8", "replace") if isinstance(piece, str) else piece)
    temporary.replace(path)


_MARKER = 'content="markbook site"'


def new_site(output: Path, pages: Iterable[tuple[str, str]]) -> int:
    """Write pages into a folder, in the place of an earlier site's, and return how many there are.

    Raises:
        OutputError: the folder holds something else, or a page cannot be written.
    """
    with os_errors_as(OutputError, "the site cannot be written", output):
        old: set[Path] = set()
        if output.exists() and not (output.is_dir() and not any(output.iterdir())):
            # Only a site's own pages are ever taken away: whatever else lies there is somebody's.
            index = output / "index.html"
            if not index.is_file() or _MARKER not in index.read_text(encoding="utf-8", errors="replace")[:100_000]:
                raise OutputError(
                    "this holds something else than a site", at=str(output), hint="name a new or empty folder"
                )
            old = {index, *output.glob("models/*.html"), *output.glob("items/*.html")}
        written = set()
        for path, content in pages:
            target = output / path
            target.parent.mkdir(parents=True, exist_ok=True)
            _write(target, content)
            written.add(target)
        # Last, so that a site whose writing broke off still has its earlier pages.
        for page in old - written:
            page.unlink()
    return len(written)
