"""Marking on an engine's workers, each piece of work in a sandbox of a worker's own process."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from markbook.errors import EnvironmentUnfitError
from markbook.runs.engines import lost_workers, other_engine
from markbook.runs.programs.streams import languages_for
from markbook.runs.sandboxes import BoxSettings, RemoteSandbox
from markbook.sandbox import Job
from markbook.types import Isolation, Outcome

if TYPE_CHECKING:
    from concurrent.futures import Executor


class EngineSandboxes:
    """Sandboxes behind an engine, for all lanes of a pool."""

    def __init__(self, engine: str, settings: BoxSettings) -> None:
        """Set up, starting nothing."""
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
            UsageError: there is no such engine.
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
