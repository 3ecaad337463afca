"""Where the work of a run is done; whatever is opened here ends with the run."""

from __future__ import annotations

from concurrent.futures import Executor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from markbook import plugins
from markbook.engine import lost_workers, other_engine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markbook.programs.marker import MixedBox
    from markbook.programs.sandboxes import BoxSettings, RemoteSandbox
    from markbook.sandbox import Sandbox

_T = TypeVar("_T")


class Machines:
    """The workers and sandboxes of one run; a context manager."""

    def __init__(self, engine: str, workers: int | None) -> None:
        """Start nothing.

        Args:
            engine: of `markbook list engines`.
            workers: how many; None for as many as whoever starts them thinks right.
        """
        self.engine = engine
        self.workers = workers
        self.executor: Executor | None = None
        """Where calls may run beside this process; None for this one alone."""
        self.renderer: Executor | None = None
        """A worker that sees the run folder and may make reports; None for this process."""
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
        """Let workers of a sandbox start while the inputs are still read.

        Args:
            settings: its own.
            most: how many; None for all, where there is work for all.

        Raises:
            EnvironmentUnfitError: this system cannot run solutions at all.
        """
        from markbook.programs.sandboxes import begin_sandbox

        self._begun = self.open(begin_sandbox(self.engine, settings, most))

    def start_sandbox(self, settings: BoxSettings, jobs: int | None = None) -> None:
        """Start the sandbox.

        Args:
            settings: its own.
            jobs: how many there will be at most.

        Raises:
            EnvironmentUnfitError: a machine cannot isolate the code well enough.
            ExtraMissingError: the engine's package is not installed.
        """
        from markbook.programs.sandboxes import open_sandboxes

        self.box = self.open(open_sandboxes(self.engine, settings, begun=self._begun, jobs=jobs))

    def start_executor(self) -> None:
        """Start the workers; on this machine those that are asked for by number, else none."""
        # A single worker could do no more than this process, and would have to be started first.
        if self.engine == "local" and self.workers not in (None, 1):
            self.executor = self.open(_local(self.workers))
        else:
            self.executor = self.open(other_engine(self.engine, self.workers))


@contextmanager
def _local(workers: int | None) -> Iterator[Executor]:
    executor: Executor = plugins.create("engines", "local", workers=workers)
    with lost_workers():
        try:
            yield executor
        finally:
            # Nobody wants what is still waiting: the run has ended, or has broken off.
            executor.shutdown(wait=False, cancel_futures=True)
