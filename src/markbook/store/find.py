"""Which run a path means: its folder, the `run.json` in it, a folder that holds runs, or `latest`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from markbook.errors import DataError, beside
from markbook.files.folders import looking_into
from markbook.plugins import names
from markbook.store.foreign import foreign_paths

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
        return [_newest(run_path.parent if run_path.parent != Path() else Path(HOME), run_path)]
    runs = runs_in(run_path) + foreign_paths(run_path, columns)
    if runs:
        return runs
    if run_path.is_file():
        raise DataError(
            "this is neither a run nor results that any reader knows", at=os.fspath(path), hint=_list_known_readers()
        )
    if not run_path.exists():
        raise DataError(
            "there is no run folder of this name", at=os.fspath(path), hint=_beside(run_path) or beside(run_path)
        )
    raise DataError("this is no run folder: it has no run.json, and no run lies in it", at=os.fspath(path))


def means_run(path: str | os.PathLike[str]) -> bool:
    """Whether a path means a run, a folder of runs or another tool's results, rather than a model's name."""
    run_path = Path(path)
    return (
        _is_run(run_path)
        or bool(runs_in(run_path))
        or bool(foreign_paths(run_path))
        or (run_path.name == LATEST and not run_path.exists())
    )


def existing_run(path: str | os.PathLike[str]) -> Path:
    """Return the folder that `latest`, or a folder with a single run in it, means; any other path as it is.

    A run that was killed before it wrote its `run.json` is found by its folder.

    Raises:
        DataError: there is no latest, or the folder holds several runs.
    """
    run_path = Path(path)
    is_folder = bool(runs_in(run_path)) or (run_path.name == LATEST and not run_path.exists())
    return find_run(run_path) if is_folder and not _is_run(run_path) else run_path


def latest_run(path: str | os.PathLike[str]) -> Path:
    """Return the folder that `latest` means, any other path as it is.

    Raises:
        DataError: there is no latest.
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


def _newest(folder: Path, path: Path) -> Path:
    runs = runs_in(folder)
    if not runs:
        raise DataError(f"there is no run in {folder}, so none is the latest", at=os.fspath(path))
    return runs[-1]


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


def _list_known_readers() -> str:
    return f"known: {', '.join(names('foreign'))}; of another table name the columns with --map"


def _beside(path: Path) -> str:
    runs: Sequence[Path] = runs_in(path.parent)
    return f"the newest beside it is {runs[-1]}" if runs else ""
