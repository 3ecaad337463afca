"""A new report from an old run: nothing is executed again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from markbook import plugins
from markbook.errors import OutputError
from markbook.results.kind import Content, results_of
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
    render: Callable[[Any], Mapping[str, Content]] = plugins.create_typed("reports", NAMES.get(name, name))
    results = results_of(run, partial=True)
    written = []
    for path, content in render(results).items():
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
