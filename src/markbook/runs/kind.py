"""What a kind of run has to offer to be conducted, the records in which it and its conductor talk, and where its work is done."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar

from markbook.runs.options import RunOptions

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from markbook.files.jsonl import Rejection
    from markbook.programs.marker import MixedBox
    from markbook.programs.sandboxes import BoxSettings, RemoteSandbox
    from markbook.results.kind import Content, Results
    from markbook.sandbox import Sandbox
    from markbook.store import Manifest, Run, RunWriter


@dataclass(frozen=True, slots=True)
class Skipped:
    """What of the inputs cannot be used."""

    count: int
    first: Rejection | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What a run will do, everything read and checked; a kind adds what its work needs."""

    manifest: Manifest
    skipped: Skipped = Skipped(0, None)


@dataclass(frozen=True, slots=True)
class Start:
    """How much there is to do."""

    total: int
    """Pieces of work."""
    done: int = 0
    """How many of them a resumed run had done."""
    good: int = 0
    """How many of those went well."""
    about: str = ""
    """What is done, in words."""
    doing: str = "marking"
    did: str = "marked"
    well: str = "passed"
    """What is done with each piece, what has been done with those behind, and what those that went well did."""


@dataclass(frozen=True, slots=True)
class Progress:
    """One more piece of work that is done."""

    name: str
    is_good: bool = True
    trouble: str = ""
    """What went wrong; also beside a good one, if anything did."""
    detail: str = ""
    """What it came to, for callers who want to be told of everything."""


class Watcher:
    """What a caller may follow a run of any kind with; this one ignores everything."""

    def on_plan(self, plan: Planned) -> None:
        """Be told what will be done, before anything is written, run or asked; what this raises ends it there."""

    def on_start(self, folder: Path, start: Start) -> None:
        """Be told that the work begins, and where it is kept."""

    def did(self, step: Progress) -> None:
        """Be told of one more piece of work."""

    def on_note(self, line: str, *, topic: str = "") -> None:
        """Be told something in a line; of a topic there may be many."""

    def on_interrupt(self, folder: Path) -> None:
        """Be told that the user broke the run off, and where it can be taken up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkEnd:
    """How the work ended."""

    status: Literal["done", "incomplete"] = "done"
    """Incomplete where something that was asked for could not do its work: a resumed run tries again."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What run.json says of it."""
    files: Mapping[str, Content] = field(default_factory=dict)
    """The kind's own files, by path in the run folder."""
    results: Results | None = None
    """What reports are made of, where it is at hand; else it is read from the folder."""
    withheld: Sequence[str] = ()
    """Reports that a run which ends so is not given."""


R = TypeVar("R", bound=RunOptions)
P = TypeVar("P", bound=Planned)


class Kind(ABC, Generic[R, P]):
    """A kind of run; its name in the entry points `markbook.runs` is what its manifests carry as `command`.

    One that publishes `results.jsonl` and `summary.json` by `markbook.runs.rows.render_rows` needs `plan` and `work`
    only: comparison, reports, pages and gates are then made of those files.
    """

    reads_partial = False
    """Whether the results of a run that broke off say what there is, and how much is lacking."""
    answers = "answers/"
    """How the names of those inputs in run.json begin that are what models gave: a regular expression."""

    @abstractmethod
    def plan(self, request: R, machines: Machines) -> P:
        """Read and check everything, and refuse what cannot be done: nothing is written yet, nothing paid."""

    def start(self, plan: P, machines: Machines) -> None:
        """Start what the work needs, and refuse what this machine cannot do: still nothing is written."""

    @abstractmethod
    def work(self, plan: P, journal: RunWriter, machines: Machines, watch: Watcher) -> WorkEnd:
        """Do what the journal lacks, each piece kept there before the next."""

    def results(self, run: Run) -> Results:
        """Return what there is to say of a run of this kind."""
        from markbook.runs.rows import RowsResults

        return RowsResults(run)

    def is_answer(self, name: str) -> bool:
        """Whether an input of this name in run.json is what models gave, which may differ between compared runs."""
        return re.match(self.answers, name) is not None


# Where the work of a run is done; whatever is opened here ends with the run.

_T = TypeVar("_T")


class Machines:
    """The workers and sandboxes of one run; a context manager."""

    def __init__(self, engine: str, workers: int | None) -> None:
        """Start nothing; `workers` is None for as many as whoever starts them thinks right."""
        self.engine = engine
        self.workers = workers
        self.executor: Executor | None = None
        """Where calls may run beside this process; None for this one alone."""
        self.box: Sandbox | MixedBox | RemoteSandbox | None = None
        """What executes solutions, once it is started."""
        self._begun: Sandbox | None = None
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        return bool(self._opened.__exit__(kind, error, trace))

    def open(self, context: AbstractContextManager[_T]) -> _T:
        """Enter something that is left when the run ends, and return what it gives."""
        return self._opened.enter_context(context)

    def begin_sandbox(self, settings: BoxSettings, most: int | None = 1) -> None:
        """Let so many workers of a sandbox start while the inputs are still read; None for all, where there is work for all.

        Raises:
            EnvironmentUnfitError: this system cannot run solutions at all.
        """
        from markbook.programs.sandboxes import begin_sandbox

        self._begun = self.open(begin_sandbox(self.engine, settings, most))

    def start_sandbox(self, settings: BoxSettings, jobs: int | None = None) -> None:
        """Start the sandbox for at most so many jobs.

        Raises:
            EnvironmentUnfitError: a machine cannot isolate the code well enough.
            ExtraMissingError: the engine's package is not installed.
        """
        from markbook.programs.sandboxes import open_sandboxes

        self.box = self.open(open_sandboxes(self.engine, settings, begun=self._begun, jobs=jobs))

    def start_executor(self) -> None:
        """Start the workers; on this machine those that are asked for by number, else none."""
        from markbook.engine import open_engine, other_engine  # late: the page of a command's options needs none

        if self.engine == "local" and self.workers not in (None, 1):
            self.executor = self.open(open_engine(self.engine, self.workers))
        else:
            self.executor = self.open(other_engine(self.engine, self.workers))
