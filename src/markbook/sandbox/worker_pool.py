"""The workers of a sandbox: started at the best isolation that this machine allows, replaced, and ended."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from markbook.errors import EnvironmentUnfitError
from markbook.sandbox.worker import Interpreter, Worker, WorkerLost
from markbook.types import Isolation

if TYPE_CHECKING:
    from markbook.sandbox.guest.wire_records import Hello

_STARTS = 3
"""How often a worker is started that is to take another's place."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of the isolation, as it was found by trying."""

    name: str
    ok: bool
    detail: str = ""
    """The errno and what was attempted, where it failed."""


class WorkerPool:
    """So many workers, at one level of isolation."""

    def __init__(
        self,
        *,
        count: int | None,
        isolation: Literal["auto", "strict", "weak"],
        interpreter: Interpreter,
        at_most: Isolation,
        pinned: bool,
        first: int = 0,
        main: str = "supervisor",
        folders: Sequence[str] = (),
    ) -> None:
        """Set up, starting nothing; the arguments are those of `Sandbox` and `Worker`."""
        self._main = main
        self._folders = folders
        self._processors = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        self._count = count or max(1, len(self._processors) or (os.cpu_count() or 1))
        if not pinned:
            self._processors = []
        self._first = first
        self._isolation = isolation
        self._interpreter = interpreter
        self._at_most = at_most
        self.workers: list[Worker] = []
        self.layers: list[Layer] = []
        self.level = self._target = Isolation.D

    @property
    def count(self) -> int:
        """How many workers there are to be."""
        return self._count

    @property
    def is_pinned(self) -> bool:
        """Whether each keeps to a processor."""
        return bool(self._processors)

    def begin(self, most: int | None = 1) -> None:
        """Let workers start while the caller prepares the work, at most so many of them; `start` waits for them."""
        if not self.workers:
            self._target = next(level for level in Isolation if level >= self._at_most)
            self._begin_all(self._count if most is None else min(self._count, most))

    def start(self, most: int | None = None) -> None:
        """Start the workers, at most so many; does nothing if they run.

        Raises:
            EnvironmentUnfitError: the isolation that this machine allows is below what was asked for.
        """
        if self.workers and self.workers[0].hello:
            return
        count = self._count if most is None else max(1, min(self._count, most))
        for level in (level for level in Isolation if level >= self._at_most):
            self._target = self.level = level
            self._begin_all(count)
            hello = self._first_hello()
            self.layers = [Layer(layer["name"], layer["ok"], layer["detail"]) for layer in hello["layers"]]
            if "unfit" not in hello:
                break
            self.close()
        else:
            raise EnvironmentUnfitError("the sandbox's workers do not start", hint="markbook doctor says more")
        self.level = reduce_level(level, self.layers)
        self._refuse_below()
        try:
            for worker in self.workers[1:]:
                self._greet(worker)
        except WorkerLost as error:
            self.close()
            raise EnvironmentUnfitError(f"a worker of the sandbox does not start: {error}") from None

    def _begin_all(self, count: int) -> None:
        """Have so many workers start side by side."""
        try:
            while len(self.workers) < count:
                self.workers.append(self._worker(len(self.workers)))
        except EnvironmentUnfitError:
            self.close()
            raise

    def _greet(self, worker: Worker) -> None:
        """Wait for a worker that joins others, and refuse one that is less isolated than they are.

        Raises:
            EnvironmentUnfitError: it is; what it ran would be reported at a level that it does not have.
            WorkerLost: it does not start.
        """
        layers = [Layer(layer["name"], layer["ok"], layer["detail"]) for layer in worker.greet()["layers"]]
        level = reduce_level(self._target, layers)
        if level > self.level:
            self.close()
            lost = "; ".join(f"{layer.name} ({layer.detail})" for layer in layers if not layer.ok)
            raise EnvironmentUnfitError(
                f"a worker that takes another's place reaches isolation level {level}, where {self.level} was: {lost}",
                hint="markbook doctor says what this machine allows now; --resume goes on with the run",
            )

    def _first_hello(self) -> Hello:
        try:
            return self.workers[0].greet()
        except WorkerLost as error:
            return {"unfit": str(error), "layers": [{"name": "start", "ok": False, "detail": str(error)}]}

    def _refuse_below(self) -> None:
        least = {"strict": Isolation.A, "auto": Isolation.B, "weak": Isolation.D}[self._isolation]
        if self.level <= least:
            return
        failed = "; ".join(f"{layer.name} ({layer.detail})" for layer in self.layers if not layer.ok)
        self.close()
        raise EnvironmentUnfitError(
            f"isolation level {least} is wanted and this machine allows {self.level}: {failed or 'not Linux'}",
            hint="--isolation weak runs the code all the same; only for code that you trust",
        )

    def close(self) -> None:
        """End the workers and everything in them."""
        for worker in self.workers:
            worker.close()
        self.workers = []

    def replace(self, worker: Worker) -> Worker:
        """End a worker and return the one that takes its place.

        Raises:
            EnvironmentUnfitError: none starts, though it was tried again.
        """
        worker.close()
        index = self.workers.index(worker)
        for _ in range(_STARTS):
            replacement = self.workers[index] = self._worker(worker.number)
            try:
                self._greet(replacement)
            except WorkerLost as lost:
                replacement.close()
                error = lost
            else:
                return replacement
        self.close()
        raise EnvironmentUnfitError(f"a worker of the sandbox does not start any more: {error}")

    def _worker(self, number: int) -> Worker:
        processor = self._processors[(self._first + number) % len(self._processors)] if self._processors else None
        return Worker(
            self._interpreter,
            self._target,
            number=number,
            processor=processor,
            main=self._main,
            folders=self._folders,
        )


def reduce_level(target: Isolation, layers: list[Layer]) -> Isolation:
    """Return the level that these layers amount to."""
    good = {layer.name for layer in layers if layer.ok}
    bad = {layer.name for layer in layers if not layer.ok}
    if "seccomp" not in good or "limits" not in good or "self-test" in bad:
        return Isolation.D
    files = "landlock" in good or "private root" in good
    if not files:
        return Isolation.C
    layers_needed = {"namespaces", "private root", "landlock", "capabilities", "no new privileges"}
    return Isolation.A if target == Isolation.A and layers_needed <= good else Isolation.B
