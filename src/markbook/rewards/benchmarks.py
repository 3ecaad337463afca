"""Benchmarks by name, each loaded once: the only files that a caller can name."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

from markbook.errors import DataError, UsageError
from markbook.load.benchmark import data_files, is_package, load_benchmark
from markbook.load.faults import without_faults
from markbook.plugins import suggest
from markbook.rewards.languages import find_installed
from markbook.rewards.records import UnmarkableError
from markbook.runs.programs.unending import language_fault
from markbook.types import Sample


class BenchmarkShelf:
    """What benchmarks there are. A name is one that was found in the folder: nothing in it is taken for a path."""

    def __init__(self, folder: Path | None = None, *files: Path) -> None:
        """List the benchmarks of a folder, and single ones.

        Raises:
            DataError: the folder cannot be read.
        """
        self._places: dict[str, Path] = {}
        paths = list(files)
        if folder is not None:
            if not folder.is_dir():
                what = "is no folder" if folder.exists() else "does not exist"
                raise DataError(f"the folder of benchmarks {what}", at=str(folder))
            inner = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
            paths += [*data_files(folder), *(path for path in inner if is_package(path))]
            paths += [path for path in inner if path.is_dir() and not is_package(path) and data_files(path)]
        for path in paths:
            for name in (path.name, path.name.partition(".")[0]):
                self._places.setdefault(name, path)
        self._loaded: dict[Path, dict[str, Sample]] = {}
        self._lock = threading.Lock()

    @property
    def names(self) -> list[str]:
        """The names without their suffixes."""
        return sorted({path.name.partition(".")[0] for path in self._places.values()})

    def is_loaded(self, name: str) -> bool:
        """Whether asking for a sample of it takes no time; so for an unknown name."""
        return name not in self._places or self._places[name] in self._loaded

    def load(self, name: str) -> dict[str, Sample]:
        """Return the samples of a benchmark by id, those tests set aside that an exam sets aside.

        Raises:
            DataError: it cannot be read.
            UsageError: there is none of this name.
        """
        path = self._places.get(name)
        if path is None:
            raise UsageError(f"there is no benchmark {name[:80]!r} here", hint=suggest(name[:80], self.names))
        with self._lock:
            if path not in self._loaded:
                try:
                    sound, _ = without_faults(load_benchmark(path), language_fault)
                except DataError as error:  # where its files lie is nothing for whoever asks over the network
                    message = error.message.replace(str(path), name)
                    raise DataError(message, at=name, hint=error.hint) from None
                for language in {sample.language for sample in sound.samples} - {""}:
                    with suppress(UsageError):  # said of each of its tasks when it is asked for
                        find_installed(language)  # looked for here, where nothing else waits for it
                self._loaded[path] = {sample.id: sample for sample in sound.samples}
            return self._loaded[path]

    def sample(self, name: str, task_id: str) -> Sample:
        """Return a task of a benchmark.

        Raises:
            DataError: the benchmark cannot be read.
            UsageError: there is none.
            UnmarkableError: it has no such task.
        """
        samples = self.load(name)
        if task_id not in samples:
            near = suggest(task_id[:80], list(samples)) if len(samples) < 2000 else ""
            hint = near if near.startswith("did") else f"it has {len(samples)}, such as {next(iter(samples))!r}"
            raise UnmarkableError(f"{name!r} has no task {task_id[:80]!r}", hint=hint)
        return samples[task_id]
