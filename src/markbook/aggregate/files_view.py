"""A finished run of tasks or reviews, as its published files tell it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol


class Folder(Protocol):
    """What the view needs of a run."""

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


@dataclass
class FilesView:
    """Rows and summary of a run that publishes `results.jsonl` and `summary.json`."""

    run: Folder

    @property
    def manifest(self) -> Mapping[str, Any]:
        """What run.json holds."""
        return self.run.manifest

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What summary.json holds."""
        found: dict[str, Any] = json.loads(self.run.read("summary.json"))
        return found

    def kept(self, kind: str) -> Iterator[tuple[tuple[Any, ...], Mapping[str, Any]]]:
        """Yield key and data of the journal's rows of a kind."""
        return ((row.key, row.data) for row in self.run.rows(kind))

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of results.jsonl in order."""
        for line in self.run.lines("results.jsonl"):
            if line.strip():
                yield json.loads(line)
