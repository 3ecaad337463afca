"""One writer a run folder: a lock that the system drops when its owner dies."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from markbook.errors import EnvironmentUnfitError, RunInUseError

_held: set[str] = set()  # a POSIX record lock does not keep out its own process


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
        try:
            import fcntl
        except ImportError as error:
            raise EnvironmentUnfitError(
                "this system has no POSIX file locks, so a run folder cannot be protected", hint="use Linux or macOS"
            ) from error
        self._path = folder / "lock"
        self._name = os.path.realpath(self._path)
        if self._name in _held:
            raise RunInUseError("this run folder is in use by this very process", at=str(folder))
        self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        try:
            fcntl.lockf(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = os.read(self._handle, 200).decode(errors="replace").strip() or "an unknown process"
            os.close(self._handle)
            raise RunInUseError(
                f"this run folder is in use by {owner}", at=str(folder), hint="wait for it or end it, then try again"
            ) from error
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, f"pid {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        _held.add(self._name)

    def release(self) -> None:
        """Give the lock back; doing so twice does no harm."""
        if self._name in _held:
            _held.discard(self._name)
            os.ftruncate(self._handle, 0)
            os.close(self._handle)
