"""One writer a run folder: a lock that the system drops when its owner dies."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

from markbook.errors import EnvironmentUnfitError, RunInUseError

_held: set[str] = set()  # a POSIX record lock does not keep out its own process
_taking = threading.Lock()
"""Looking into `_check_options`, locking and noting it is one step: two threads would else both get one folder."""


class FolderLock:
    """The right to write in a folder, held until `release` or the end of the process.

    A POSIX record lock, because a child that a library forks does not inherit it, and because it works on NFS.
    The lock file stays behind, empty of meaning once its owner is gone.
    """

    def __init__(self, folder: Path) -> None:
        """Take the lock.

        Raises:
            RunInUseError: another process or another writer of this process holds it; names its pid and host.
        """
        self._path = folder / "lock"
        self._name = os.path.realpath(self._path)
        with _taking:
            if self._name in _held:
                raise RunInUseError("this run folder is in use by this very process", at=str(folder))
            self._handle = _take(self._path)
            self._is_held = True
            _held.add(self._name)

    def release(self) -> None:
        """Give the lock back; doing so twice does no harm."""
        with _taking:
            if not self._is_held:
                return
            self._is_held = False
            try:
                os.ftruncate(self._handle, 0)
            finally:
                # Any close drops all locks of this process on the file: nobody may take it before that.
                os.close(self._handle)
                _held.discard(self._name)


def _take(path: Path) -> int:
    """Return the descriptor of the lock's file, locked and with our name in it."""
    try:
        import fcntl
    except ImportError as error:
        raise EnvironmentUnfitError(
            "this system has no POSIX file locks, so a run folder cannot be protected", hint="use Linux or macOS"
        ) from error
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    try:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        owner = os.read(handle, 200).decode(errors="replace").strip() or "an unknown process"
        os.close(handle)
        raise RunInUseError(
            f"this run folder is in use by {owner}", at=str(path.parent), hint="wait for it or end it, then try again"
        ) from error
    os.ftruncate(handle, 0)
    os.pwrite(handle, f"pid {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
    return handle
