"""Another tool's results as a run: read where they lie, never changed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from markbook.errors import DataError
from markbook.files.folders import looking_into
from markbook.foreign.reading import reader_of, results_in
from markbook.store.finished import SCHEMA, Run
from markbook.store.journal import Row

COMMAND = "import"
"""The kind of run that reads them, and that keeps them where that is asked for."""


@dataclass(frozen=True, slots=True)
class ForeignRun(Run):
    """A file that another tool wrote; `folder` is that file."""

    columns: Mapping[str, str] | None = None
    """Which column of a table says what, where the user told it."""

    def check(self) -> None:
        """Do nothing: nobody sealed it."""

    def rows(self, kind: str) -> Iterator[Row]:  # noqa: ARG002 - a run's signature
        """Yield nothing: it has no journal."""
        return iter(())

    def locate_all(self) -> Iterator[tuple[int, Row]]:
        """Yield nothing: it has no journal."""
        return iter(())

    def _report(self, name: str) -> Path:
        raise DataError(f"another tool's results have no {name}", at=str(self.folder))


def foreign_run(path: Path, columns: Mapping[str, str] | None = None) -> ForeignRun | None:
    """Return a file of another tool as a run; None if no reader knows it."""
    if not path.is_file():
        return None
    reader = reader_of(path, columns)
    if reader is None:
        return None
    config = {"format": reader.name, "benchmark_name": reader.name}
    manifest = {"schema": SCHEMA, "command": COMMAND, "status": "done", "config": config, "inputs": {}}
    return ForeignRun(path, manifest, columns)


def foreign_paths(path: str | os.PathLike[str], columns: Mapping[str, str] | None = None) -> list[Path]:
    """Return the files of other tools that a path means: itself, or those below a folder."""
    source_path = Path(path)
    with looking_into(source_path):
        if source_path.is_dir():
            return results_in(source_path, columns)
        return [source_path] if source_path.is_file() and reader_of(source_path, columns) is not None else []
