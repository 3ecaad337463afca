"""Which reader a file needs, what it holds, and which files of a folder hold results."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from markbook import plugins
from markbook.errors import DataError, MarkbookError
from markbook.foreign.records import Marked, MarkedRows, Probe, Reader

SUFFIXES = (".json", ".jsonl", ".eval", ".csv", ".tsv", ".parquet", ".gz")
_DEPTH = 50
_MOST = 20_000
SURE = 50
"""From here on a file in a folder is taken for results without having been named."""


@functools.cache
def _readers() -> Mapping[str, Reader]:
    return plugins.load_all("foreign")


def reader_of(path: Path, columns: Mapping[str, str] | None = None) -> Reader | None:
    """Return the reader that a file's content asks for; None if it is nobody's."""
    return _reader(_probe(path, columns), least=1)


def _probe(path: Path, columns: Mapping[str, str] | None) -> Probe:
    """Return a file to look at, with the named columns only where it is a plain table.

    One `--map` is said of all inputs, and a file of a format of its own says itself what its parts are.
    """
    probe = Probe(path)
    if columns is None or _reader(probe, SURE) is not None:
        return probe
    return Probe(path, columns)


def _reader(probe: Probe, least: int) -> Reader | None:
    try:
        sure = [(plugins.sureness("foreign", name, reader, probe), reader) for name, reader in _readers().items()]
    except MarkbookError:
        return None
    best = max(sure, key=lambda pair: pair[0], default=None)
    return best[1] if best is not None and best[0] >= least else None


def read(path: Path, columns: Mapping[str, str] | None = None) -> tuple[str, Marked]:
    """Return the format's name and what a file holds.

    Raises:
        DataError: no reader knows it, it is damaged, or it holds no row.
    """
    probe = _probe(path, columns)
    reader = _reader(probe, least=1)
    if reader is None:
        formats = ", ".join(plugins.names("foreign"))
        raise DataError("no reader knows these results", at=str(path), hint=f"known: {formats}; a table with --map")
    try:
        marked = reader.read(probe)
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise DataError(
            f"this is no {reader.name} file of a known version: {type(error).__name__}: {error}", at=str(path)
        ) from error
    if isinstance(marked.rows, MarkedRows):
        dropped = {"no item": marked.rows.nameless, "a second row of one attempt": marked.rows.repeated}
        marked = replace(marked, lost={**marked.lost, **{reason: count for reason, count in dropped.items() if count}})
    if not marked.rows:
        why = "; ".join(f"{count} x {reason}" for reason, count in marked.lost.items())
        raise DataError(f"no result of a sample in this {reader.name} file{': ' + why if why else ''}", at=str(path))
    if not marked.columns:
        raise DataError(
            f"no sample in this {reader.name} file has a score", at=str(path), hint="mark it, then compare it"
        )
    return reader.name, marked


def results_in(folder: Path, columns: Mapping[str, str] | None = None) -> list[Path]:
    """Return the files below a folder that hold results, by path; links are not followed, runs of our own left out.

    Raises:
        DataError: there is too much in it to look at all of it.
    """
    paths: list[Path] = []
    waiting, looked = [(folder, 0)], 0
    while waiting:
        here, depth = waiting.pop()
        for path in sorted(here.iterdir()):
            looked += 1
            if looked > _MOST or depth > _DEPTH:
                much = f"more than {_MOST} files and folders" if looked > _MOST else f"folders more than {_DEPTH} deep"
                raise DataError(f"{much} are too many to look for results in", at=str(folder), hint="name the files")
            if path.is_symlink() or path.name.startswith("."):
                continue
            if path.is_dir():
                if not (path / "run.json").is_file():
                    waiting.append((path, depth + 1))
            elif path.suffix in SUFFIXES and _reader(_probe(path, columns), SURE) is not None:
                paths.append(path)
    return sorted(paths)
