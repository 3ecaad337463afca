"""A task's data files: its rows in order, each at its place whatever happened to the lines before it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markbook.config import Task
from markbook.errors import ConfigError
from markbook.files.arrow import is_saved
from markbook.files.jsonl import Rejection
from markbook.files.spool import Spool
from markbook.files.tables import read_table

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Numbered:
    """A row that belongs to the task."""

    row: Row
    at: str
    number: int
    """Its place among the task's rows, from 0; a line that cannot be read keeps its own."""


@dataclass(slots=True)
class Reading:
    """What reading the files gave."""

    rows: Spool[Numbered] = field(default_factory=Spool)
    rejections: list[Rejection] = field(default_factory=list)
    inputs: dict[str, str] = field(default_factory=dict)
    lines: int = 0
    """Rows and rejections so far."""
    unsure: str = ""
    """Where the first line stands that cannot be read, if only some rows belong to the task: is it one of them?"""


def read_task_rows(
    task: Task, data: Path | None, select: Callable[[Sequence[Numbered]], Iterable[Numbered]], *, selects: bool
) -> Reading:
    """Return a task's rows.

    Args:
        task: the task.
        data: a file to read instead of the one that it names.
        select: keeps the rows that belong to the task.
        selects: whether it may leave any out or bring others.

    Raises:
        ConfigError: a file is not there, or would have to be fetched.
    """
    reading = Reading()
    for path in [data] if data is not None else _paths(task):
        read_rows(path, reading)
    if selects:
        chosen = select(reading.rows)
        reading.rows = Spool(Numbered(each.row, each.at, number) for number, each in enumerate(chosen))
        reading.unsure = reading.rejections[0].at if reading.rejections else ""
    return reading


def read_rows(path: Path, reading: Reading) -> None:
    """Add the rows of a file."""
    digest = hashlib.sha256()
    for found in read_table(path, digest=digest):
        if isinstance(found, Rejection):
            reading.rejections.append(found)
        else:
            reading.rows.append(Numbered(found.record, found.at, reading.lines))
        reading.lines += 1
    reading.inputs[path.name] = digest.hexdigest()


def data_file(task: Task, name: str) -> Path:
    """Return the file that a task means: beside the task file, else in the working folder.

    Raises:
        ConfigError: it is an address in the network, a pattern, or not there.
    """
    if "://" in name:
        raise ConfigError(
            f"{name!r} would have to be fetched over the network, which is never done unasked",
            at=task.data.at,
            hint="download it, and name the file",
        )
    if any(sign in name for sign in "*?["):
        raise ConfigError(f"{name!r} is a pattern", at=task.data.at, hint="list the files one by one")
    beside = task.data.folder / name
    path = beside if beside.is_file() or is_saved(beside) else Path(name)
    if not path.is_file() and not is_saved(path):
        near = sorted(each.name for each in task.data.folder.glob("*") if each.suffix == beside.suffix)[:5]
        hint = f"beside the task there is {', '.join(near)}; " if near else ""
        raise ConfigError(f"there is no data file {str(beside)!r}", at=task.data.at, hint=hint + "--data names another")
    return path


def _paths(task: Task) -> list[Path]:
    if task.data.remote:
        raise ConfigError(
            f"data set {task.data.remote!r} would have to be fetched over the network, which is never done unasked",
            at=task.data.at,
            hint="save its rows to a file and name it with --data, or in the task as `dataset_path: json` with data_files",
        )
    return [data_file(task, name) for name in task.data.paths]
