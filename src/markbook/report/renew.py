"""A new report from an old run: nothing is executed again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath

from markbook import plugins
from markbook.errors import OutputError
from markbook.results.kind import Content, Results, results_of
from markbook.store import Run

NAMES = {"md": "markdown"}
"""Short names of formats."""


def write_report(run: Run, name: str, output: Path) -> list[Path]:
    """Write a report of a finished run and return its files.

    Args:
        run: any finished run.
        name: a report plugin, such as `html`, `md`, `junit`.
        output: the folder for it; made if it does not exist.

    Raises:
        DataError: the run is not finished.
        UsageError: there is no such report, or none of this kind of run.
        ExtraMissingError: it needs a package that is not installed.
        OutputError: a file cannot be written.
    """
    return _write_all(render_report(name, results_of(run, partial=True)), output)


def render_report(name: str, results: Results) -> Mapping[str, Content]:
    """Return the files of a report.

    Raises:
        UsageError: there is no such report, or none of this kind of run.
        ExtraMissingError: it needs a package that is not installed.
        IncompleteError: a report of another package failed.
    """
    plugin = NAMES.get(name, name)
    render: Callable[[Results], Mapping[str, Content]] = plugins.create_typed("reports", plugin)
    with plugins.plugin_errors("reports", plugin):
        return _check_files(render(results))


def _check_files(files: Mapping[str, Content]) -> Mapping[str, Content]:
    """Return what a report gave, if it is files by their paths inside the folder that is asked for."""
    if not isinstance(files, Mapping):
        raise TypeError(f"a report gives a mapping of paths to contents, not {type(files).__name__}")
    for path in files:
        if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
            raise ValueError(f"the path {path!r} leads out of the report's folder")
    return files


def write_figures(run: Run, output: Path) -> tuple[list[Path], bool]:
    """Write the charts of a run's report as files for papers; return them, and whether PNG could be made.

    Raises:
        DataError: the run is not finished.
        OutputError: a file cannot be written.
    """
    from markbook.report.figures import figures

    files, is_whole = figures(results_of(run, partial=True).page())
    return _write_all(files, output), is_whole


def _write_all(files: Mapping[str, Content], output: Path) -> list[Path]:
    written = []
    for path, content in files.items():
        target = output / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            _write(target, content)
        except OSError as error:
            raise OutputError(f"the report cannot be written: {error.strerror or error}", at=str(target)) from error
        written.append(target)
    return written


def _write(path: Path, content: Content) -> None:
    """Write beside and put in place, so that a reader never sees half a report."""
    temporary = path.with_name(f".{path.name}.tmp")
    pieces = [content] if isinstance(content, str | bytes) else content
    with temporary.open("wb") as file:
        for piece in pieces:
            file.write(piece.encode() if isinstance(piece, str) else piece)
    temporary.replace(path)


_MARKER = 'content="markbook site"'


def new_site(output: Path, pages: Iterable[tuple[str, str]]) -> int:
    """Write pages into a folder, in the place of an earlier site's, and return how many there are.

    Raises:
        OutputError: the folder holds something else, or a page cannot be written.
    """
    try:
        old = _site_pages(output)
        written = set()
        for path, content in pages:
            target = output / path
            target.parent.mkdir(parents=True, exist_ok=True)
            _write(target, content)
            written.add(target)
        for page in old - written:
            page.unlink()
    except OSError as error:
        raise OutputError(f"the site cannot be written: {error.strerror or error}", at=str(output)) from error
    return len(written)


def _site_pages(output: Path) -> set[Path]:
    """Return the pages of the site that lies there, none if the folder is new or empty."""
    if not output.exists() or (output.is_dir() and not any(output.iterdir())):
        return set()
    index = output / "index.html"
    if not index.is_file() or _MARKER not in index.read_text(encoding="utf-8", errors="replace")[:100_000]:
        raise OutputError("this holds something else than a site", at=str(output), hint="name a new or empty folder")
    return {index, *output.glob("models/*.html"), *output.glob("items/*.html")}
