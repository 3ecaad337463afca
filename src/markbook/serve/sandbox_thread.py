"""A thread with a sandbox of one worker: takes work, runs it, says what became of it, whatever happens to the worker."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from markbook.engine import lost_workers, other_engine
from markbook.errors import EnvironmentUnfitError, MarkbookError
from markbook.programs import languages_for, program_language
from markbook.programs.sandboxes import BoxSettings, RemoteSandbox
from markbook.sandbox import Job, Sandbox, Stopped
from markbook.sandbox.job import LOST
from markbook.serve.work_queue import SharedWork, State, WorkQueue
from markbook.types import Isolation, Missing, MissingKind, Outcome

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from markbook.programs.marker import ProgramMarker


# Telling a thread that waits for a worker that nobody wants its work any more.


class Bell:
    """A pipe: rung by one thread, heard by another that selects on it."""

    def __init__(self) -> None:
        self.heard, self._rung = os.pipe()
        """The descriptor that becomes readable."""
        for descriptor in (self.heard, self._rung):
            os.set_blocking(descriptor, False)

    def ring(self) -> None:
        """Make it readable."""
        with contextlib.suppress(BlockingIOError):  # then it is
            os.write(self._rung, b"x")

    def hush(self) -> None:
        """Make it wait for the next ring."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.heard, 1 << 16)

    def close(self) -> None:
        """Give both ends back."""
        for descriptor in (self.heard, self._rung):
            os.close(descriptor)


# Marking on an engine's workers, each piece of work in a sandbox of a worker's own process.


class EngineSandboxes:
    """Sandboxes behind an engine, for all lanes of a pool."""

    def __init__(self, engine: str, settings: BoxSettings) -> None:
        self._engine = engine
        self._settings = settings
        self._open = ExitStack()
        self._executor: Executor | None = None
        self._boxes: dict[tuple[str, ...], RemoteSandbox] = {}
        """By languages."""
        self._lock = threading.Lock()

    @property
    def level(self) -> Isolation:
        """The level of isolation that the first worker reached."""
        return self._boxes[()].level

    def start(self) -> None:
        """Join the engine, and see that a worker can isolate.

        Raises:
            EnvironmentUnfitError: it cannot.
            ExtraMissingError: the engine's package is not installed.
            IncompleteError: the engine cannot be joined.
            UsageError: the engine is unknown.
        """
        self._executor = self._open.enter_context(other_engine(self._engine, self._settings.workers))
        self._box(())

    def outcome(self, job: Job) -> Outcome:
        """Return what a job comes to.

        Raises:
            EnvironmentUnfitError: the worker cannot isolate, or lacks the language's toolchain.
            IncompleteError: its worker was lost.
        """
        with lost_workers():
            ((_, outcome),) = self._box(languages_for(job.sample)).run([job])
        return outcome

    def _box(self, languages: tuple[str, ...]) -> RemoteSandbox:
        with self._lock:
            if languages not in self._boxes:
                if self._executor is None:
                    raise EnvironmentUnfitError("the engine has ended")
                settings = replace(self._settings, languages=languages)
                self._boxes[languages] = RemoteSandbox(self._executor, settings)
            return self._boxes[languages]

    def close(self) -> None:
        """Leave the engine."""
        self._executor = None
        self._open.close()


if TYPE_CHECKING:
    Said = Callable[[SharedWork, Outcome | Missing], None]

_log = logging.getLogger(__name__)

_AHEAD = 8
"""Pieces of work that a lane takes at once, where plenty waits: one that is given up has the others run once more."""
_LONG = 0.25
"""Seconds: after a piece that took longer, they are taken one by one, for those behind a long one wait in vain."""
_CALM = 16
"""Pieces of work that have to end sooner before several are taken again."""
_PLANS = 4096
"""Tasks of which a lane remembers how their tests are kept apart."""
_LOOK = 200
"""Pieces of work between two looks at a worker's memory."""
_AGAIN = 0.5
"""Seconds after which a worker that does not start is tried once more."""


class SandboxThread:
    """One worker of the pool."""

    def __init__(
        self,
        number: int,
        desk: WorkQueue,
        settings: BoxSettings,
        callback: Said,
        *,
        pinned: bool,
        most_jobs: int,
        most_bytes: int,
        remote: EngineSandboxes | None = None,
    ) -> None:
        """Set up, starting nothing; `desk` is where its work waits, `callback` is told in this thread what became of each piece of it.

        Its worker is replaced after `most_jobs`, or beyond `most_bytes` of resident memory; `pinned`: it keeps to one
        processor, another than those of the lanes beside it. `remote` does the work instead of a worker of this
        machine; what runs there runs to its own time limit.
        """
        self._remote = remote
        self.number = number
        self._desk = desk
        self._said = callback
        self._most_jobs, self._most_bytes = most_jobs, most_bytes
        self._settings = settings
        self.box: Sandbox = settings.sandbox(workers=1, pinned=pinned, first=number)
        self._markers: dict[tuple[str, ...], ProgramMarker] = {}
        """What marks programs in other languages, by what that takes: each is started by its first program."""
        self._bell = Bell()
        self._lock = threading.Lock()
        self._under_way: list[SharedWork] = []
        self._in_box: dict[str, SharedWork] = {}
        """What the sandbox has been given, by key."""
        self._marks: tuple[SharedWork, float] | None = None
        """What a marker of programs is at, and since when."""
        self._calm = _CALM
        """How many pieces of work have ended since one took long."""
        self._ended = 0.0
        """When the last one ended, or its turn began."""
        self._done = self._counted = 0
        """Pieces of work that have ended, and how many of them the last look at the worker's age counted."""
        self.replaced: dict[str, int] = {"age": 0, "memory": 0, "fault": 0, "stopped": 0}
        """How often its worker was replaced, and why."""
        self._thread = threading.Thread(target=self._serve, name=f"markbook-lane-{number}", daemon=True)

    def start(self) -> None:
        """Begin; the sandbox has been started."""
        self._thread.start()

    def stop(self, work: SharedWork) -> None:
        """End a piece of work at once if this lane runs it."""
        with self._lock:
            if work in self._under_way:
                self._bell.ring()

    def since(self, work: SharedWork) -> float | None:
        """Return when (`time.monotonic`) a piece of work began to run; None where it still waits, or another machine has it."""
        marks = self._marks
        if marks is not None and marks[0] is work:
            return marks[1]
        return next((since for key, since in self.box.running.items() if self._in_box.get(key) is work), None)

    def join(self) -> None:
        """Wait for the thread, once its desk is closed, and end the worker."""
        if self._thread.ident is not None:
            self._thread.join()
        self._end_workers()
        self._bell.close()

    def _serve(self) -> None:
        while works := self._desk.take(self.number, _AHEAD if self._calm >= _CALM else 1):
            self._ended = time.monotonic()
            if len(works) > 1 and self._remote is None:
                works = self._run_together(works)
            for work in works:
                self._begin([work])
                self._end(work, self._run(work))
            self._age()

    def _begin(self, works: list[SharedWork]) -> None:
        with self._lock:
            self._under_way = works
            # a ring for what ran before is not for these
            self._bell.hush()

    def _end(self, work: SharedWork, outcome: Outcome | Missing) -> None:
        with self._lock:
            self._under_way.remove(work)
        work.state = State.OVER
        last, self._ended = self._ended, time.monotonic()
        self._calm = self._calm + 1 if self._ended - last < _LONG else 0
        self._done += 1
        self._said(work, outcome)

    def _run_together(self, works: list[SharedWork]) -> list[SharedWork]:
        """Run them in one pass, in which the worker never waits for the next; return those that are to be run alone.

        These are all that have not ended when somebody gives one of them up, or when the worker fails.
        """
        # other languages and problems with a judge or groups are marked one by one, by the marker of what they take
        together = {str(number): work for number, work in enumerate(works) if not program_language(work.order.sample)}
        jobs = [make_job(key, work) for key, work in together.items()]
        self._begin(list(together.values()))
        self._in_box = together
        before = self.box.pids
        try:
            for job, outcome in self.box.run(jobs, stop=self._bell.heard):
                self._end(together[job.key], outcome)
                if LOST in outcome.flags:
                    self.replaced["fault"] += 1
        except Stopped:
            self.replaced["stopped"] += 1
        except Exception as error:  # noqa: BLE001 - the thread's border: each by itself is told what happens to it
            _log.warning("a worker failed and is replaced: %s", error)
            self._replace("fault")
        else:
            self.replaced["fault"] += bool(before) and self.box.pids != before
        return [work for work in works if work.state is State.RUNS]

    def _run(self, work: SharedWork) -> Outcome | Missing:
        """Run the work, with another worker if this one fails."""
        # all who waited may have left since it was taken from the queue
        if not work.tickets:
            return _NOBODY
        try:
            return self._outcome(work)
        except Stopped:
            self._drop_markers()
            self.replaced["stopped"] += 1
            return _NOBODY
        except (MarkbookError, OSError) as error:
            _log.warning("a worker failed and is replaced: %s", error)
            self._replace("fault")
        except Exception as error:  # noqa: BLE001 - the thread's border: without it every later item would wait for ever
            return self._fault(error)
        return self._once_more(work)

    def _once_more(self, work: SharedWork) -> Outcome | Missing:
        try:
            time.sleep(_AGAIN)
            return self._outcome(work)
        except Stopped:
            self._drop_markers()
            return _NOBODY
        except (MarkbookError, OSError) as error:
            self._replace("fault")
            return Missing(MissingKind.UNAVAILABLE, f"no worker can be started: {error}")
        except Exception as error:  # noqa: BLE001 - as in `_run`
            return self._fault(error)

    def _outcome(self, work: SharedWork) -> Outcome:
        job = make_job("", work)
        if self._remote is not None:
            return self._remote.outcome(job)
        languages = languages_for(job.sample)
        if languages:
            marker = self._marker(languages)
            marker.start()
            self._marks = work, time.monotonic()
            try:
                ((_, outcome),) = marker.run([job])
            finally:
                self._marks = None
            return outcome
        before = self.box.pids
        self._in_box = {job.key: work}
        ((_, outcome),) = self.box.run([job], stop=self._bell.heard)
        if before and (LOST in outcome.flags or self.box.pids != before):
            self.replaced["fault"] += 1
        return outcome

    def _marker(self, names: tuple[str, ...]) -> ProgramMarker:
        if names not in self._markers:
            settings = replace(self._settings, languages=names, dedupe=False)  # the pool remembers verdicts
            self._markers[names] = settings.marker(workers=1, pinned=False, stop=self._bell.heard)
        return self._markers[names]

    def _fault(self, error: Exception) -> Missing:
        """Return that our own code failed, and begin anew: the number of others is not to depend on what is left."""
        _log.error("marking failed", exc_info=error)
        self._replace("fault")
        return Missing(MissingKind.FAILED, f"marking failed: {type(error).__name__}: {error}")

    def _age(self) -> None:
        """Replace the worker where it has done enough or holds too much."""
        self.box.forget(_PLANS)
        before, self._counted = self._counted, self._done
        # whether a multiple was passed, because several pieces may have ended since the last look
        if self._done // self._most_jobs > before // self._most_jobs:
            self._replace("age")
        elif self._done // _LOOK > before // _LOOK and sum(map(resident, self.box.pids)) > self._most_bytes:
            self._replace("memory")

    def _replace(self, why: str) -> None:
        """End the worker; the next piece of work starts another."""
        self.replaced[why] += 1
        self._end_workers()

    def _end_workers(self) -> None:
        self.box.close()
        self._drop_markers()

    def _drop_markers(self) -> None:
        """End them: each remembers what it had under way, so that a new one takes its place."""
        for marker in self._markers.values():
            marker.close()
        self._markers.clear()


def make_job(key: str, work: SharedWork) -> Job:
    """Return what a sandbox is to run; what examines a client's answers to a task examines no other's."""
    order = work.order
    return Job(key, order.code, order.sample, order.limits, model=work.client)


_NOBODY = Missing(MissingKind.UNAVAILABLE, "nobody waits for it any more")


def resident(pid: int) -> int:
    """Return the resident bytes of a process and of all below it; 0 where the system does not say."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_bytes().split()[1])
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(resident(int(child)) for child in children)
