"""Sandboxes on an engine's workers, behind what one sandbox here offers: jobs go out in shards, outcomes come back."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from markbook.engine import other_engine
from markbook.programs import ensure_marks, refuse_unsupported
from markbook.sandbox import Job, Sandbox
from markbook.sandbox.record_store import default_cache
from markbook.types import Isolation, Outcome

if TYPE_CHECKING:
    from markbook.programs.marker import MixedBox, ProgramMarker

SHARD = 16
"""Jobs that travel together: a hundredth of their work goes into sending them."""
_IN_FLIGHT = 64
"""Shards given to the engine at a time; memory does not grow beyond them."""


@dataclass(frozen=True, slots=True)
class BoxSettings:
    """How a sandbox is set up, wherever it runs."""

    workers: int | None = None
    isolation: Literal["auto", "strict", "weak"] = "auto"
    python: str = ""
    separate: bool = True
    dedupe: bool = True
    adaptive: bool = False
    reuse_verdicts: bool = False
    explain: bool = False
    languages: tuple[str, ...] = ()
    """Those of the samples whose answers are programs."""

    def wrap_box(self, box: Sandbox, *, workers: int | None, pinned: bool = True) -> Sandbox | MixedBox:
        """Return what executes every job, those in other languages too.

        Raises:
            EnvironmentUnfitError: the toolchain of one of them is not here.
        """
        if not self.languages:
            return box
        from markbook.programs.marker import MixedBox  # late: an exam in Python needs nothing of other languages

        return MixedBox(box, self.marker(workers=workers, pinned=pinned))

    def marker(self, *, workers: int | None, pinned: bool = True, stop: int | None = None) -> ProgramMarker:
        """Return what marks programs in its languages, not started.

        `stop` is a descriptor; once it is readable, what runs is ended, and the marker is of no use any more.

        Raises:
            EnvironmentUnfitError: the toolchain of one of them is not here.
        """
        from markbook.programs.marker import ProgramMarker

        marker = ProgramMarker(
            self.languages,
            workers=workers,
            isolation=self.isolation,
            pinned=pinned,
            proves=self.separate,
            dedupe=self.dedupe,
            cache=default_cache(verdicts=self.reuse_verdicts),
            explain=self.explain,
        )
        if stop is not None:
            marker.end_on(stop)
        return marker

    def sandbox(self, *, workers: int | None, pinned: bool = True, first: int = 0) -> Sandbox:
        """Return one, not started; the arguments are those of `Sandbox`."""
        return Sandbox(
            workers=workers,
            isolation=self.isolation,
            python=Path(self.python) if self.python else None,
            separate=self.separate,
            dedupe=self.dedupe,
            adaptive=self.adaptive,
            explain=self.explain,
            cache=default_cache(verdicts=self.reuse_verdicts),
            pinned=pinned,
            first=first,
        )


@contextmanager
def begin_sandbox(engine: str, settings: BoxSettings, most: int | None = 1) -> Iterator[Sandbox | None]:
    """Yield a sandbox of this machine whose first workers start meanwhile, None where another engine does the work.

    Raises:
        EnvironmentUnfitError: this system cannot run solutions at all.
    """
    if engine != "local":
        yield None
        return
    refuse_unsupported()
    box = settings.sandbox(workers=settings.workers)
    try:
        box.begin(most)
        yield box
    finally:
        box.close()


@contextmanager
def open_sandboxes(
    engine: str, settings: BoxSettings, *, begun: Sandbox | None = None, jobs: int | None = None
) -> Iterator[Sandbox | MixedBox | RemoteSandbox]:
    """Yield what executes at most so many jobs: a sandbox of this machine for the local engine, else sandboxes on its workers.

    `begun` is the one that `begin_sandbox` gave.

    Raises:
        EnvironmentUnfitError: a machine cannot isolate the code well enough.
        ExtraMissingError: the engine's package is not installed.
    """
    if engine == "local":
        with nullcontext(begun) if begun else begin_sandbox(engine, settings) as box:
            assert box is not None
            if settings.languages:
                with closing(settings.wrap_box(box, workers=settings.workers)) as opened:
                    opened.start()
                    yield opened
                return
            box.start(jobs)
            ensure_marks(box)
            yield box
        return
    with other_engine(engine, settings.workers) as executor:
        assert executor is not None
        yield RemoteSandbox(executor, settings)


class RemoteSandbox:
    """Executes jobs on an engine's workers, each in a sandbox of its own process and never in the worker itself."""

    def __init__(self, executor: Executor, settings: BoxSettings) -> None:
        """Start a sandbox on one worker, so that a machine that cannot isolate is found out before any work."""
        self._executor = executor
        self._settings = settings
        self.level: Isolation = executor.submit(_level, settings).result()

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Outcome]]:
        """Execute every job; yield each with its outcome, in no promised order.

        Raises:
            IncompleteError: a worker was lost again and again.
        """
        source = iter(jobs)
        flying: dict[Future[list[Outcome]], list[Job]] = {}
        while True:
            while len(flying) < _IN_FLIGHT and (shard := list(itertools.islice(source, SHARD))):
                # no test reads a task's whole row or what else the user's data say: they need not travel
                light = [replace(job, sample=replace(job.sample, row=None, meta={})) for job in shard]
                future = self._executor.submit(_execute, self._settings, light)
                flying[future] = shard
            if not flying:
                return
            for future in wait(flying, return_when=FIRST_COMPLETED).done:
                yield from zip(flying.pop(future), future.result(), strict=True)


_IDLE: dict[BoxSettings, list[Sandbox | MixedBox]] = {}
_LOCK = threading.Lock()


@contextmanager
def _sandbox(settings: BoxSettings) -> Iterator[Sandbox | MixedBox]:
    """Yield a sandbox of this worker process, started once and kept for its next shard."""
    with _LOCK:
        idle = _IDLE.setdefault(settings, [])
        sandbox = None if idle else settings.sandbox(workers=1, pinned=False)
        box = idle.pop() if sandbox is None else settings.wrap_box(sandbox, workers=1, pinned=False)
    try:
        yield box
    except BaseException:
        box.close()
        raise
    with _LOCK:
        idle.append(box)


def _level(settings: BoxSettings) -> Isolation:
    with _sandbox(settings) as box:
        if not isinstance(box, Sandbox):
            box.start()
        else:
            ensure_marks(box)
        return box.level


def _execute(settings: BoxSettings, jobs: Sequence[Job]) -> list[Outcome]:
    """Run a shard in a worker and return the outcomes in the jobs' order."""
    with _sandbox(settings) as box:
        outcomes = {job.key: outcome for job, outcome in box.run(jobs)}
    return [outcomes[job.key] for job in jobs]
