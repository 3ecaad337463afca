"""A finished run of tasks or reviews, as its published files tell it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Generic, Protocol, TypeVar

from markbook.errors import DataError
from markbook.results import rows
from markbook.results.kind import Case, Content, Value, no_files

SCHEMA = 2
"""The version of summary.json and results.jsonl."""


class Folder(Protocol):
    """What the view needs of a run."""

    @property
    def folder(self) -> Path:
        """Where it lies."""
        ...

    @property
    def manifest(self) -> Mapping[str, Any]:
        """What run.json holds."""
        ...

    def read(self, name: str) -> str:
        """Return the text of a report."""
        ...

    def lines(self, name: str) -> Iterator[str]:
        """Yield the lines of a report."""
        ...

    def rows(self, kind: str) -> Iterator[Any]:
        """Yield the journal's rows of a kind."""
        ...


R = TypeVar("R", bound=Mapping[str, object])
S = TypeVar("S", bound=Mapping[str, object])


@dataclass
class FilesView(Generic[R, S]):
    """Rows (of the type R) and summary (S) of a run that publishes `results.jsonl` and `summary.json`."""

    run: Folder

    @property
    def manifest(self) -> Mapping[str, Any]:
        """What run.json holds."""
        return self.run.manifest

    @cached_property
    def summary(self) -> S:
        """What summary.json holds.

        Raises:
            DataError: another version of Markbook wrote it in another form.
        """
        path = self.run.folder / "summary.json"
        found: S = _object(self.run.read("summary.json"), path, "")
        if found.get("schema") != SCHEMA:
            raise DataError(
                f"another version of Markbook wrote this file: it has schema {found.get('schema')}, and {SCHEMA} is read here",
                at=str(path),
                hint="mark the same inputs again with this version",
            )
        return found

    def kept(self, kind: str) -> Iterator[tuple[tuple[Any, ...], Mapping[str, Any]]]:
        """Yield key and data of the journal's rows of a kind."""
        return ((row.key, row.data) for row in self.run.rows(kind))

    @property
    def command(self) -> str:
        """Which command made the run."""
        return str(self.manifest.get("command", "run"))

    def partial_note(self) -> str:
        """Return nothing: a run that broke off has published nothing."""
        return ""

    def overview(self) -> dict[str, object]:
        """Return what the run is and its main numbers as plain JSON."""
        return {
            "schema": 1,
            "command": self.command,
            "config": self.manifest.get("config", {}),
            "summary": self.summary,
        }

    def flat_rows(self) -> Iterator[Mapping[str, Value]]:
        """Yield the rows of results.jsonl, nested fields joined by dots, lists as JSON."""
        return rows.flat_rows(self.rows())

    def cases(self) -> Iterator[Case]:
        """Yield one case a row: an error where a value is missing because something failed, skipped without any value."""
        return rows.cases(self.rows(), self.command)

    def files(self, name: str) -> Mapping[str, Content]:
        """Return the files of a format that is not every run's.

        Raises:
            UsageError: this kind of run has none.
        """
        raise no_files(self.command, name)

    def located_rows(self, place: int = 0) -> Iterator[tuple[int, R]]:
        """Yield the rows of results.jsonl from this place on, each with its own place in bytes."""
        with self._opened() as file:
            file.seek(place)
            for line in file:
                yield place, _object(line, self._path, f" at byte {place}")
                place += len(line)

    def row_at(self, place: int) -> R:
        """Return the row that begins at this place.

        Raises:
            ValueError: none begins there.
        """
        with self._opened() as file:
            if place < 0 or (place > 0 and (file.seek(place - 1), file.read(1))[1] != b"\n"):
                raise ValueError("no row begins there")
            file.seek(place)
            found: R = _object(file.readline(), self._path, f" at byte {place}")
            return found

    def _opened(self) -> BinaryIO:
        try:
            return self._path.open("rb")
        except OSError as error:
            raise DataError(f"{self._path.name} cannot be read: {error.strerror}", at=str(self._path)) from error

    @property
    def _path(self) -> Path:
        return self.run.folder / "results.jsonl"

    def rows(self) -> Iterator[R]:
        """Yield the rows of results.jsonl in order."""
        for number, line in enumerate(self.run.lines("results.jsonl"), 1):
            if line.strip():
                yield _object(line, self._path, f" in line {number}")


def _object(text: str | bytes, path: Path, where: str) -> Any:
    """Return the object that a text of a published file holds.

    Raises:
        DataError: it holds none; `where` says the place in words.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path.name} is damaged{where}: {error}", at=str(path), hint=_AGAIN) from error
    if not isinstance(found, dict):
        raise DataError(f"{path.name} is damaged{where}: this is no object", at=str(path), hint=_AGAIN)
    return found


_AGAIN = "the command that made the run, with --resume, writes it again"
