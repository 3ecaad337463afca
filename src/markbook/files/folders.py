"""Folders in which something may not be read: said with its path, never taken for empty."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from markbook.errors import StorageError


@contextmanager
def looking_into(folder: Path) -> Iterator[None]:
    """Turn a refusal of the system, where a folder is looked through, into an error of ours.

    Raises:
        StorageError: something in it may not be read.
    """
    try:
        yield
    except PermissionError as error:
        at = str(folder if error.filename is None else error.filename)
        raise StorageError("this may not be read", at=at, hint="change its permissions, or move it away") from error


def check_readable(folder: Path) -> None:
    """Find out that a folder and all below it can be looked through; a path that is no folder is left to its reader.

    Raises:
        StorageError: one may not be read.
    """

    def refuse(error: OSError) -> None:
        raise error

    with looking_into(folder):
        if folder.is_dir():
            for _ in os.walk(folder, onerror=refuse):
                pass
