"""Run folders that were written before: finding them, and reading one that is finished or broken off."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from markbook.errors import DataError, StorageError, UsageError, os_errors_as, suggest_path
from markbook.files.content import looking_into
from markbook.plugins import factory, names, need
from markbook.store.disk import Disk
from markbook.store.integrity import FINISHED, find_damage
from markbook.store.journal import StoredRow, encode, locate, read, row_at
from markbook.types import Summary

# Reading a run back from its folder.

SCHEMA = 1
"""The version of run.json and the journal's rows."""


@dataclass(frozen=True, slots=True, repr=False)
class Run:
    """A run read back from its folder."""

    folder: Path
    manifest: Mapping[str, Any]
    """What run.json holds."""

    @property
    def status(self) -> str:
        """running, done, incomplete or interrupted; `running` without a living owner means killed."""
        return str(self.manifest.get("status", "unknown"))

    @property
    def command(self) -> str:
        """exam, run or review."""
        return str(self.manifest.get("command", ""))

    def check(self) -> None:
        """Hold a run's config against its identity, and a finished run's journal and published files against its seal.

        Raises:
            DataError: run.json is damaged.
            StorageError: another file is.
        """
        own = digest_identity(self.manifest.get("command"), self.manifest.get("config"), self.manifest.get("inputs"))
        if self.manifest.get("identity", own) != own:
            path = self.folder / "run.json"
            raise DataError("run.json is damaged: its config is not the one that the run was made with", at=str(path))
        with os_errors_as(StorageError, "the journal cannot be read", self.folder):
            damage = find_damage(Disk(), self.folder, self.manifest)
        if damage is not None:
            raise damage.error()

    def rows(self, kind: str) -> Iterator[StoredRow]:
        """Yield the journal's acknowledged rows of a kind, in order, one at a time."""
        return (
            row
            for row in read(Disk(), self.folder / "journal", is_finished=self.status in FINISHED)
            if row.kind == kind
        )

    def locate_all(self) -> Iterator[tuple[int, StoredRow]]:
        """Yield the rows of every kind in journal order, each with its location for `row_at`."""
        return locate(Disk(), self.folder / "journal", is_finished=self.status in FINISHED)

    def row_at(self, location: int) -> StoredRow:
        """Return the row at a location."""
        return row_at(Disk(), self.folder / "journal", location)

    def to_pandas(self) -> Any:
        """Return one row an attempt as a pandas data frame.

        `exam(..).to_pandas().groupby("model").score.mean()`; the columns are those of `markbook report RUN --format csv`.

        Raises:
            ExtraMissingError: pandas is not installed.
        """
        return need("pandas", extra="notebook").DataFrame(self._flat_rows())

    def to_polars(self) -> Any:
        """Return one row an attempt as a polars data frame.

        Raises:
            ExtraMissingError: polars is not installed.
        """
        return need("polars", extra="notebook").DataFrame(self._flat_rows(), infer_schema_length=None)

    @property
    def scores(self) -> Mapping[str, Summary]:
        """Each model's score by the run's first metric, best first: a value with its n, its interval and what is missing.

        Raises:
            DataError: the run is not finished.
        """
        return self._scores(None)

    def score(self, model: str, metric: str | None = None) -> Summary:
        """Return one model's score.

        Args:
            model: its name in the run.
            metric: by which metric; the run's first when None.

        Raises:
            UsageError: the run has no such model, or no such metric.
            DataError: the run is not finished.
        """
        summaries = self._scores(metric)
        if model not in summaries:
            raise UsageError(f"this run has no model {model!r}", hint=f"it has {', '.join(summaries)}")
        return summaries[model]

    def failures(self, model: str | None = None) -> Iterator[Any]:
        """Yield the answers that did not pass, model by model in the order of the benchmark, each as `view` shows it.

        Each has `model`, `sample`, `status`, `prompt`, `text`, `error` and `tests`. What is marked by a number alone, such as
        a similarity, neither passes nor fails, and is left out.

        Args:
            model: of this model alone; of all when None.

        Raises:
            DataError: the run is not finished.
        """
        failures: Iterator[Any] = factory("reports", "markbook.report.notebook:failures", allow_code=True)(self, model)
        return failures

    def _scores(self, metric: str | None) -> Mapping[str, Summary]:
        summaries: Mapping[str, Summary] = factory("reports", "markbook.report.notebook:scores", allow_code=True)(
            self, metric
        )
        return summaries

    def __repr__(self) -> str:
        """Say what it is, and each model's score by its main metric; `scores` has the numbers."""
        described: str = factory("reports", "markbook.report.notebook:describe", allow_code=True)(self)
        return described

    def _flat_rows(self) -> list[dict[str, object]]:
        rows: list[dict[str, Any]] = factory("reports", "markbook.report.notebook:rows", allow_code=True)(self)
        return rows

    def _repr_html_(self) -> str:
        """Show the run's tables in a notebook."""
        page: str = factory("reports", "markbook.report.notebook:tables", allow_code=True)(self)
        return page

    def __rich_console__(self, _console: object, _options: object) -> Iterator[Any]:
        """Show the run's result, scores and tables on a rich console: `rich.print(run)`."""
        yield from factory("reports", "markbook.report.notebook:render_run", allow_code=True)(self)

    def read(self, name: str) -> str:
        """Return the text of a report.

        Raises:
            DataError: the run has no such report, because it is partial or of another command.
        """
        return "".join(self.lines(name))

    def lines(self, name: str) -> Iterator[str]:
        """Yield the lines of a report one at a time, however long it is.

        Raises:
            DataError: as `read`.
        """
        path = self._report(name)
        try:
            with path.open(encoding="utf-8", newline="\n") as file:
                yield from file
        except UnicodeDecodeError as error:
            raise DataError(f"{name} is damaged: it is not UTF-8", at=str(path)) from error
        except OSError as error:
            raise StorageError(f"{name} cannot be read: {error.strerror}", at=str(path)) from error

    def _report(self, name: str) -> Path:
        path = self.folder / PurePosixPath(name)
        if not path.is_file():
            raise DataError(f"the run has no {name}", at=str(self.folder), hint=f"its status is {self.status!r}")
        return path


def open_run(path: str | os.PathLike[str], *, check: bool = True, columns: Mapping[str, str] | None = None) -> Run:
    """Return the run of a folder, of the run.json in it, of a folder that holds one run, or the `latest`.

    Args:
        path: the folder or file; `latest` is the newest run in `generated`, `DIR/latest` the newest in DIR. Another
            tool's file of results is a run too.
        check: whether a finished run's journal is held against its seal, which reads it once (a second or two a GB).
        columns: which column of a plain table says what: `{"item": "id", "score": "accuracy"}`.

    Raises:
        DataError: no run is here, or several are, or its run.json is damaged.
        StorageError: the run is finished, and its journal is not what was written.
    """
    folder = find_run(path, columns)
    if folder.name == "run.json":
        folder = folder.parent
    if folder.is_file() and (other := foreign_run(folder, columns)) is not None:
        return other
    record = read_manifest(Disk(), folder)
    if record is None:
        raise DataError("this is not a run folder: it has no run.json", at=str(folder))
    run = Run(folder, record)
    if check:
        run.check()
    return run


def open_manifest(path: str | os.PathLike[str]) -> dict[str, object] | None:
    """Return what the run.json of a folder holds, None if there is none; its journal is not looked at.

    Raises:
        DataError: it is damaged, or of another version.
    """
    return read_manifest(Disk(), Path(path))


def read_manifest(disk: Disk, folder: Path) -> dict[str, object] | None:
    """Return what run.json holds, None if there is none.

    Raises:
        DataError: it is damaged, or of another version.
    """
    path = folder / "run.json"
    if not disk.exists(path):
        return None
    try:
        record = json.loads(b"".join(disk.chunks(path)))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"run.json is damaged: {error}", at=str(path)) from error
    if not isinstance(record, dict) or record.get("schema") != SCHEMA:
        raise DataError("run.json was not written by this version of Markbook", at=str(path))
    for name in ("config", "inputs"):
        if not isinstance(record.get(name, {}), dict):
            raise DataError(f"run.json is damaged: {name!r} is not an object", at=str(path))
    return record


def digest_identity(command: object, config: object, inputs: object) -> str:
    """Return one digest over what makes a run the same run."""
    # What of a file's name is not UTF-8 is a question mark in run.json.
    text = encode({"command": command, "config": config, "inputs": inputs}).encode(errors="replace")
    return hashlib.sha256(text).hexdigest()


# Another tool's results as a run: read where they lie, never changed.

COMMAND = "import"
"""The kind of run that reads them, and that keeps them where that is asked for."""


@dataclass(frozen=True, slots=True)
class ForeignRun(Run):
    """A file that another tool wrote; `folder` is that file."""

    columns: Mapping[str, str] | None = None
    """Which column of a table says what, where the user told it."""

    def check(self) -> None:
        """Do nothing: nobody sealed it."""

    def rows(self, kind: str) -> Iterator[StoredRow]:
        """Yield nothing: it has no journal."""
        return iter(())

    def locate_all(self) -> Iterator[tuple[int, StoredRow]]:
        """Yield nothing: it has no journal."""
        return iter(())

    def _report(self, name: str) -> Path:
        raise DataError(f"another tool's results have no {name}", at=str(self.folder))


def foreign_run(path: Path, columns: Mapping[str, str] | None = None) -> ForeignRun | None:
    """Return a file of another tool as a run; None if no reader knows it."""
    from markbook.foreign.reading import find_reader  # late: a run of our own needs no reader

    if (reader := find_reader(path, columns)) is None:
        return None
    config = {"format": reader.name, "benchmark_name": reader.name}
    manifest = {"schema": SCHEMA, "command": COMMAND, "status": "done", "config": config, "inputs": {}}
    return ForeignRun(path, manifest, columns)


def foreign_paths(path: str | os.PathLike[str], columns: Mapping[str, str] | None = None) -> list[Path]:
    """Return the files of other tools that a path means: itself, or those below a folder."""
    from markbook.foreign.reading import find_reader, results_in

    source_path = Path(path)
    with looking_into(source_path):
        if source_path.is_dir():
            return results_in(source_path, columns)
        return [source_path] if source_path.is_file() and find_reader(source_path, columns) is not None else []


# Which run a path means: its folder, the `run.json` in it, a folder that holds runs, or `latest`.

LATEST = "latest"
"""The newest run in the folder that runs are written to; behind a folder (`mine/latest`), the newest in that one."""
HOME = "generated"
"""Where runs are written unless `--output` says otherwise."""
_NAMED = 3


def find_run(path: str | os.PathLike[str], columns: Mapping[str, str] | None = None) -> Path:
    """Return the folder of the one run that a path means, or another tool's file.

    Raises:
        DataError: there is none, or a folder holds several.
    """
    folders = find_runs(path, columns)
    if len(folders) == 1:
        return folders[0]
    names = ", ".join(str(folder) for folder in folders[-_NAMED:])
    raise DataError(
        f"this folder holds {len(folders)} runs",
        at=os.fspath(path),
        hint=f"name one of them, such as {names}, or {Path(path) / LATEST}",
    )


def find_runs(path: str | os.PathLike[str], columns: Mapping[str, str] | None = None) -> list[Path]:
    """Return the folders of all runs that a path means, oldest first, then other tools' results by path.

    Args:
        path: a run, a folder of runs, another tool's file or a folder with such files below.
        columns: which column of a table says what.

    Raises:
        DataError: there is none.
        StorageError: something in the folder may not be read, so that which runs it holds is not known.
    """
    run_path = Path(path)
    if _is_run(run_path) or run_path.name == "run.json":
        return [run_path]
    if run_path.name == LATEST and not run_path.exists():
        folder = run_path.parent if run_path.parent != Path() else Path(HOME)
        if not (runs := runs_in(folder)):
            raise DataError(f"there is no run in {folder}, so none is the latest", at=os.fspath(path))
        return [runs[-1]]
    runs = runs_in(run_path) + foreign_paths(run_path, columns)
    if runs:
        return runs
    if run_path.is_file():
        with run_path.open("rb") as file:
            if file.read(2) in (b"\xff\xfe", b"\xfe\xff"):
                raise DataError("this file is not UTF-8", at=os.fspath(path), hint="save it as UTF-8")
        hint = f"known: {', '.join(names('foreign'))}; of another table name the columns with --map, here or in `markbook import`"
        raise DataError("this is neither a run nor results that any reader knows", at=os.fspath(path), hint=hint)
    if not run_path.exists():
        neighbours = runs_in(run_path.parent)
        hint = f"the newest beside it is {neighbours[-1]}" if neighbours else suggest_path(run_path)
        raise DataError("there is no run folder of this name", at=os.fspath(path), hint=hint)
    raise DataError("this is not a run folder: it has no run.json, and no run lies in it", at=os.fspath(path))


def means_run(path: str | os.PathLike[str], columns: Mapping[str, str] | None = None) -> bool:
    """Whether a path means a run, a folder of runs or another tool's results, rather than a model's name."""
    run_path = Path(path)
    return (
        _is_run(run_path)
        or bool(runs_in(run_path))
        or bool(foreign_paths(run_path, columns))
        or (run_path.name == LATEST and not run_path.exists())
    )


def existing_run(path: str | os.PathLike[str]) -> Path:
    """Return the folder that `latest`, or a folder with a single run in it, means; any other path as it is.

    A run that was killed before it wrote its `run.json` is found by its folder.

    Raises:
        DataError: none is the latest, or the folder holds several runs.
    """
    run_path = Path(path)
    is_folder = bool(runs_in(run_path)) or (run_path.name == LATEST and not run_path.exists())
    return find_run(run_path) if is_folder and not _is_run(run_path) else run_path


def latest_run(path: str | os.PathLike[str]) -> Path:
    """Return the folder that `latest` means, any other path as it is.

    Raises:
        DataError: none is the latest.
    """
    run_path = Path(path)
    return find_run(run_path) if run_path.name == LATEST and not run_path.exists() else run_path


def runs_in(folder: Path) -> list[Path]:
    """Return the runs directly in a folder, oldest first; links are not followed."""
    if not folder.is_dir():
        return []
    with looking_into(folder):
        folders = [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink() and _is_run(path)]
    return sorted(folders, key=_age)


def _age(folder: Path) -> tuple[int, int, str]:
    """Sort by the second in the name, `_2` behind it within one second; what has another name comes first."""
    _, _, rest = folder.name.partition("evaluation_")
    second, _, number = rest.partition("_")
    if not second.isdecimal():
        return 0, 0, folder.name
    return int(second), int(number) if number.isdecimal() else 1, folder.name


def _is_run(folder: Path) -> bool:
    with looking_into(folder):
        return (folder / "run.json").is_file()
