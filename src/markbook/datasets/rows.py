"""A task's data files: its rows in order, each at its place whatever happened to the lines before it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markbook.config import Task
from markbook.errors import ConfigError, suggest, suggest_path
from markbook.files.jsonl import Rejection
from markbook.files.spool import Spool
from markbook.files.tables import is_saved, read_table

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
    task: Task,
    data: Path | None,
    select: Callable[[Sequence[Numbered]], Iterable[Numbered]],
    *,
    selects: bool,
    fetches: bool = False,
) -> Reading:
    """Return a task's rows, of `data` instead of its own file if that is given.

    `select` keeps the rows that belong to the task, and `selects` says whether it may leave any out or bring others;
    `fetches`: a data set of the hub may be fetched.

    Raises:
        ConfigError: a file is not there, or would have to be fetched and may not.
        IncompleteError: the hub cannot be reached, or refuses.
    """
    reading = Reading()
    if data is not None:
        read_rows(data, reading)
    elif task.data.remote and not fetches:
        raise ConfigError(
            f"data set {task.data.remote!r} would have to be fetched over the network, which is never done unasked",
            at=task.data.at,
            hint="--allow-download fetches it; `markbook get` saves it to a file, and --data names one",
        )
    elif task.data.remote:
        from markbook.files.hub import find

        fetched = find(task.data.remote, task.data.config, task.data.split)
        for path, name in zip(fetched.fetch(), fetched.files, strict=True):
            # its commit stands among the inputs: the rows of another one would be others
            read_rows(path, reading, f"{fetched.repository}@{fetched.revision}/{name}")
    else:
        for name in task.data.paths:
            read_rows(data_file(task, name), reading)
    if selects:
        chosen = select(reading.rows)
        reading.rows = Spool(Numbered(numbered.row, numbered.at, number) for number, numbered in enumerate(chosen))
        reading.unsure = reading.rejections[0].at if reading.rejections else ""
    return reading


def read_rows(path: Path, reading: Reading, name: str = "") -> None:
    """Add the rows of a file; `name` says where it lies, if that is not its path."""
    digest = hashlib.sha256()
    for row in read_table(path, digest=digest):
        if isinstance(row, Rejection):
            reading.rejections.append(row)
        else:
            at = row.at.replace(str(path), name, 1) if name else row.at
            reading.rows.append(Numbered(row.record, at, reading.lines))
        # A line that cannot be read counts as well, so that the rows behind it keep their places.
        reading.lines += 1
    reading.inputs[name or path.name] = digest.hexdigest()


def data_file(task: Task, name: str, folder: Path | None = None) -> Path:
    """Return the file that a task means: in this folder, by default beside the task file, else in the working folder.

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
    near = (folder or task.data.folder) / name
    path = near if near.is_file() or is_saved(near) else Path(name)
    if near.is_dir() and not is_saved(path):
        raise ConfigError(f"{str(near)!r} is a folder, and no data file", at=task.data.at, hint="name the file")
    if not path.is_file() and not is_saved(path):
        hint = "; ".join(part for part in (suggest_path(near), "--data names another") if part)
        raise ConfigError(f"there is no data file {str(near)!r}", at=task.data.at, hint=hint)
    return path


def check_fields(rows: Sequence[Numbered], names: Iterable[str], at: str) -> None:
    """Refuse a row selection by a field that no row has.

    Raises:
        ConfigError: there is one; `at` says where the selection stands.
    """
    for name in names if len(rows) else ():
        if not any(name in numbered.row for numbered in rows):
            hint = suggest(name, [*rows[0].row])
            raise ConfigError(f"no row has the field {name!r} of `where`", at=at, hint=hint)
