"""What is kept from run to run: how tests are kept apart from candidates, and on request verdicts.

Nothing here is needed: a file that cannot be read or written only means that the work is done once more.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markbook.sandbox.job import digest
from markbook.sandbox.worker import HERE, Interpreter

_log = logging.getLogger(__name__)

_AT_ONCE = 500
"""Records between two commits."""
_OFTEN = 5.0
"""Seconds after which what is new is committed all the same."""


@dataclass(frozen=True, slots=True)
class CacheFiles:
    """Files for what outlives a run; None keeps nothing."""

    plans: Path | None = None
    """How each benchmark's tests are kept apart from candidates, so that the next run need not find it out again."""
    verdicts: Path | None = None
    """Outcomes: a job whose code, tests, limits, interpreter or toolchain and isolation are the same gets the one that it had."""
    built: Path | None = None
    """A folder for what of toolchains takes long to build and serves every program."""


NO_CACHE = CacheFiles()


def default_cache(*, verdicts: bool = False) -> CacheFiles:
    """Return the files in the user's folder; that of verdicts only on request."""
    cache_path = folder()
    return CacheFiles(cache_path / "plans.sqlite", cache_path / "verdicts.sqlite" if verdicts else None, cache_path)


def folder() -> Path:
    """Return the folder for what is kept: `MARKBOOK_CACHE`, or `markbook` in the user's cache folder."""
    own = os.environ.get("MARKBOOK_CACHE")
    if own:
        return Path(own)
    general = os.environ.get("XDG_CACHE_HOME")
    return (Path(general) if general else Path.home() / ".cache") / "markbook"


def identity(interpreter: Interpreter) -> str:
    """Return a name for everything but the job that a verdict depends on: our code, the interpreter, its packages."""
    total = hashlib.blake2b(digest_size=20)
    # a folder is listed in any order
    for path in sorted(HERE.rglob("*.py")):
        total.update(path.read_bytes())
    # a package that is installed or removed changes the time of its folder
    places = [(path, Path(path).stat().st_mtime_ns) for path in interpreter.path if Path(path).exists()]
    return digest(total.hexdigest(), json.dumps([interpreter.python, interpreter.facts["version"], places]))


class RecordStore:
    """Records by key, in a file that several runs may use at once. Without a path it holds nothing."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._base: Any = None
        self._new: dict[str, str] = {}
        """What is not written yet: the file is locked only while it is written, for other runs want it too."""
        self._written = time.monotonic()

    @property
    def is_used(self) -> bool:
        """Whether anything is kept at all."""
        return self._path is not None

    def get(self, key: str) -> Any:
        """Return the record with this key, None if there is none or it cannot be read."""
        if key in self._new:
            return json.loads(self._new[key])
        base = self._open()
        if base is None:
            return None
        import sqlite3

        try:
            row = base.execute("SELECT record FROM kept WHERE key = ?", (key,)).fetchone()
            return json.loads(row[0]) if row is not None else None
        except (sqlite3.Error, ValueError) as error:
            self._forget(error)
            return None

    def put(self, key: str, record: Any) -> None:
        """Keep a record; nothing happens where that is not possible."""
        if self._path is None:
            return
        self._new[key] = json.dumps(record)
        if len(self._new) >= _AT_ONCE or time.monotonic() > self._written + _OFTEN:
            self._write()

    def _write(self) -> None:
        """Write what is new, in one transaction."""
        base = self._open() if self._new else None
        if base is None:
            return
        import sqlite3

        try:
            with base:
                base.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?)", self._new.items())
            self._new, self._written = {}, time.monotonic()
        except sqlite3.Error as error:
            self._forget(error)

    def close(self) -> None:
        """Write what is new and close the file."""
        self._write()
        if self._base is not None:
            self._base.close()
            self._base = None

    def _open(self) -> Any:
        if self._base is None and self._path is not None:
            import sqlite3

            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._base = sqlite3.connect(self._path, timeout=1.0, check_same_thread=False)
                self._base.execute("PRAGMA synchronous = OFF")  # losing it costs only time
                with self._base:
                    self._base.execute("CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, record TEXT)")
            except (OSError, sqlite3.Error) as error:
                self._forget(error)
        return self._base

    def _forget(self, error: Exception) -> None:
        _log.warning("%s cannot be used (%s): nothing is taken from it or kept in it", self._path, error)
        if self._base is not None:
            self._base.close()
        # without a path it says of itself that it is not used
        self._base, self._path, self._new = None, None, {}
