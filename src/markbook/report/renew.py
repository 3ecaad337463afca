"""A new report from an old run: nothing is executed again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from markbook import plugins
from markbook.aggregate.exam_view import ExamView
from markbook.aggregate.files_view import FilesView
from markbook.errors import DataError, OutputError, UsageError
from markbook.report.records import Files
from markbook.store import Run

NAMES = {"md": "markdown"}
"""Short names of formats."""

Content = str | bytes | Iterable[str] | Iterable[bytes]


def view_of(run: Run) -> ExamView | Files:
    """Return what a run's reports are made from; of an exam that broke off, what is marked.

    Raises:
        DataError: the run is no exam and not finished.
    """
    if run.command == "exam":
        return ExamView(run, run.manifest["config"])
    if run.status not in ("done", "incomplete"):
        raise DataError(
            f"this run is {run.status}: a report of it would count what is not marked yet as absent",
            at=str(run.folder),
            hint="finish it with --resume",
        )
    return FilesView(run)


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
    render: Callable[[Any], Mapping[str, Content]] = plugins.create_typed("reports", NAMES.get(name, name))
    view = view_of(run)
    if name == "documented" and not isinstance(view, ExamView):
        raise UsageError(
            f"the documented files are an exam's, and this run was made by `markbook {run.command}`",
            at=str(run.folder),
            hint="its own files are in its folder; html, md, csv and json can be made anew",
        )
    if isinstance(view, ExamView) and view.partial_note() and name == "documented":
        raise DataError(
            f"the documented files appear only when complete. {view.partial_note()}",
            at=str(run.folder),
            hint="finish it with --resume, or ask for another format",
        )
    written = []
    for path, content in render(view).items():
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
