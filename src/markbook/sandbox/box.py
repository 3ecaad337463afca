"""What every sandbox is, whatever it executes: workers that start on entry and end on exit, at one level of isolation."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from markbook.sandbox.worker_pool import Layer, WorkerPool
from markbook.types import Isolation


class WorkerBox:
    """Isolated workers as a context manager."""

    _worker_pool: WorkerPool

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def level(self) -> Isolation:
        """The level of isolation that was reached."""
        return self._worker_pool.level

    def layers(self) -> list[Layer]:
        """Return the isolation layer by layer, as the workers found it."""
        self.start()
        return list(self._worker_pool.layers)

    def start(self, most: int | None = None) -> None:
        """Start the workers, at most so many; does nothing if they run.

        Raises:
            EnvironmentUnfitError: the isolation that this machine allows is below what was asked for.
        """
        self._worker_pool.start(most)

    def close(self) -> None:
        """End the workers and everything in them."""
        self._worker_pool.close()
