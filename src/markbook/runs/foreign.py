"""Another tool's results: read where they lie, or kept as a run of our own by `markbook import`."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from markbook.files.content import pieces
from markbook.foreign.reading import Marked, read
from markbook.marks import Column, RowRecord
from markbook.option import option
from markbook.results.kind import Results
from markbook.runs.kind import Kind, Machines, Planned, Progress, Start, Watcher, WorkEnd
from markbook.runs.options import RunOptions
from markbook.runs.rows import RowRecords, RowsResults, RowsSummary, render_rows, summarise_rows
from markbook.store import Manifest, Run, RunWriter
from markbook.store.reader import COMMAND, ForeignRun


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions(RunOptions):
    """What is to be kept, and how a plain table is to be read."""

    columns: Mapping[str, str] = field(default_factory=dict)
    results: str | os.PathLike[str] = option("", changes_results=False)
    """Another tool's file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportPlan(Planned):
    """What was read."""

    marked: Marked
    source: str


class Import(Kind[ImportOptions, ImportPlan]):
    """Publishes the rows that a reader gives, as if a run of ours had made them."""

    answers = ""
    """Whatever another tool wrote is what models gave: it says nothing of the benchmark's own files."""

    def plan(self, request: ImportOptions, machines: Machines) -> ImportPlan:
        """Read the file whole."""
        path = Path(request.results)
        format_name, marked = read(path, request.columns or None)
        digest = hashlib.sha256()
        # Going through the pieces is what fills the digest; the rows have been read already.
        for _ in pieces(path, digest):
            pass
        config = {
            **request.identity(),
            "benchmark_name": format_name,
            "format": format_name,
            "version": marked.version,
            "models": marked.models,
            "lost": dict(marked.lost),
            "notes": list(marked.notes),
            "signatures": dict(marked.signatures),
            "metric_signatures": dict(marked.metric_signatures),
        }
        manifest = Manifest(COMMAND, config, {f"answers/{path.name}": digest.hexdigest()})
        return ImportPlan(manifest=manifest, marked=marked, source=path.name)

    def work(self, plan: ImportPlan, journal: RunWriter, machines: Machines, watch: Watcher) -> WorkEnd:
        """Publish what was read."""
        watch.on_start(journal.folder, Start(1, about=plan.source))
        watch.did(Progress(plan.source))
        return WorkEnd(
            files=render_rows(plan.marked.rows, plan.marked.columns), facts={"answers": len(plan.marked.rows)}
        )

    def results(self, run: Run) -> Results:
        """Return what the file says, or the run that keeps it."""
        return ForeignResults(run) if isinstance(run, ForeignRun) else ImportedResults(run)


class ImportedResults(RowsResults):
    """A run that keeps another tool's results."""

    def notes(self) -> tuple[str, ...]:
        """Return what a reader has to know: what could not be read, and what the tool says of its run."""
        config = self.manifest.get("config", {})
        return _notes(str(config.get("format")), config.get("lost", {}), config.get("notes", ()))

    def signatures(self, metric: str) -> Mapping[str, str]:
        """Return what the tool says of how each task was measured by a metric."""
        config = self.manifest.get("config", {})
        own = config.get("metric_signatures", {}).get(metric, {})
        return {
            task: "|".join([of_all, *filter(None, [own.get(task)])])
            for task, of_all in config.get("signatures", {}).items()
        }


class ForeignResults(ImportedResults):
    """Another tool's file, held in memory."""

    run: ForeignRun

    @cached_property
    def marked(self) -> Marked:
        """What the file holds."""
        return read(self.run.folder, self.run.columns)[1]

    @property
    def manifest(self) -> Mapping[str, Any]:
        """What run.json would hold."""
        marked = self.marked
        config = {"version": marked.version, "models": marked.models, "signatures": marked.signatures}
        config = {**self.run.manifest["config"], **config, "metric_signatures": marked.metric_signatures}
        return {**self.run.manifest, "config": config}

    def notes(self) -> tuple[str, ...]:
        """Return what a reader has to know."""
        return _notes(str(self.run.manifest["config"]["format"]), self.marked.lost, self.marked.notes)

    @property
    def columns(self) -> dict[str, Column]:
        """The metrics, the main one first."""
        return dict(self.marked.columns)

    @cached_property
    def summary(self) -> RowsSummary:
        """What summary.json would hold."""
        return summarise_rows(RowRecords(self.marked.rows), self.columns)

    def rows(self) -> Iterator[RowRecord]:
        """Yield the rows as results.jsonl would hold them."""
        return (row.record() for row in self.marked.rows)

    def located_rows(self, index: int = 0) -> Iterator[tuple[int, RowRecord]]:
        """Yield the rows from this one on, each with its place among them."""
        return enumerate((row.record() for row in itertools.islice(self.marked.rows, index, None)), index)

    def row_at(self, index: int) -> RowRecord:
        """Return the row at this place.

        Raises:
            ValueError: there is none.
        """
        if not 0 <= index < len(self.marked.rows):
            raise ValueError("no row is there")
        return self.marked.rows[index].record()


def _notes(format_name: str, lost: Mapping[str, int], notes: Any) -> tuple[str, ...]:
    unused = [
        f"{count} {'row' if count == 1 else 'rows'} of this {format_name} file {'was' if count == 1 else 'were'} left out: {why}."
        for why, count in lost.items()
    ]
    return (*map(str, notes), *unused)
