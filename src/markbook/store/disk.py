"""The few file operations that a run needs, small enough for a crash model to stand in for.

Theory of operation
-------------------
Everything that must survive a power cut goes through `Disk`. Each of its methods is one step that can fail, or be the last
one before a crash. The tests have a second one, which keeps what a disk would and can stop the run
before and after every step. It models what POSIX leaves open:

- Bytes that were written and not synced may be there, may be missing, or may be there in part (a torn last write).
- A file that was created is there after a crash only once its folder was synced, and so is a rename. Before that, the old
  name may still have the old content.
- A sync that failed says nothing about a later one: the pages may have been dropped. So no caller repeats a sync.
- A full disk fails in the middle of a write; what was written stands there.

Two ways to write follow, and the store uses no other. An append-only file: write, sync, then acknowledge; a reader must
recognise a torn end (the journal's checksums). A file that is replaced (`replace_file`): a temporary file beside it, write,
sync, rename, sync the folder; a reader sees the old content or the new, never a mixture.

Links are not followed at the last step of a path: a run folder may come from somebody else, and a link in it would else have
us write to a place of their choice. One writer at a time has a folder, by a lock that the system drops when the process ends.
"""

from __future__ import annotations

import os
import socket
import stat
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from markbook.errors import EnvironmentUnfitError, RunInUseError

# One writer a run folder: a lock that the system drops when its owner dies.

_held: set[str] = set()  # a POSIX record lock does not keep out its own process
_taking = threading.Lock()
"""Looking into `_held`, locking and noting it is one step: two threads would else both get one folder."""


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
            try:
                import fcntl
            except ImportError as error:
                raise EnvironmentUnfitError(
                    "this system has no POSIX file locks, so a run folder cannot be protected",
                    hint="use Linux or macOS",
                ) from error
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
            try:
                fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                owner = os.read(handle, 200).decode(errors="replace").strip() or "an unknown process"
                os.close(handle)
                raise RunInUseError(
                    f"this run folder is in use by {owner}",
                    at=str(self._path.parent),
                    hint="wait for it or end it, then try again",
                ) from error
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"pid {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
            self._handle = handle
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


READ_SIZE = 1 << 20
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_TEXT = 0o644


class Disk:
    """What the store does to files. Each call is one step that can fail or be the last one before a crash.

    Links are never followed at the last step of a path.
    """

    def lock(self, folder: Path) -> FolderLock:
        """Take the right to write in a folder, or raise RunInUseError."""
        return FolderLock(folder)

    def make_parents(self, path: Path) -> None:
        """Make a folder with its parents, if it is not there."""
        os.makedirs(path, exist_ok=True)

    def make_folder(self, path: Path) -> None:
        """Make a folder that does not exist; its parent does."""
        os.mkdir(path)

    def create(self, path: Path) -> BinaryIO:
        """Open a new file for writing; it must not exist."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK
        return os.fdopen(os.open(path, flags, _TEXT), "wb", buffering=0)

    def append(self, path: Path) -> BinaryIO:
        """Open an existing file for appending."""
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | _NO_LINK), "ab", buffering=0)

    def write(self, file: BinaryIO, data: bytes) -> None:
        """Write all of the data; it is safe only after `sync`."""
        view = memoryview(data)
        while view:  # a raw write may be short, most of all on a disk that is filling up
            view = view[file.write(view) :]

    def sync(self, file: BinaryIO) -> None:
        """Return when everything written to the file would survive a power cut."""
        getattr(os, "fdatasync", os.fsync)(file.fileno())

    def close(self, file: BinaryIO) -> None:
        """Close without syncing."""
        file.close()

    def truncate(self, path: Path, size: int) -> None:
        """Cut a file to a size, and sync it."""
        handle = os.open(path, os.O_WRONLY | _NO_LINK)
        try:
            os.ftruncate(handle, size)
            os.fsync(handle)
        finally:
            os.close(handle)

    def rename(self, old: Path, new: Path) -> None:
        """Put one file in the place of another; it is safe only after `sync_folder`."""
        os.replace(old, new)

    def remove(self, path: Path) -> None:
        """Remove a file."""
        os.unlink(path)

    def sync_folder(self, path: Path) -> None:
        """Return when the folder's entries would survive a power cut."""
        if os.name == "nt":
            return  # Windows has no handle on a folder to sync
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def chunks(self, path: Path) -> Iterator[bytes]:
        """Read a file from its start, a piece at a time."""
        with os.fdopen(os.open(path, os.O_RDONLY | _NO_LINK), "rb", buffering=0) as file:
            while data := file.read(READ_SIZE):
                yield data

    def line_at(self, path: Path, offset: int) -> bytes:
        """Read the line that begins at an offset."""
        with os.fdopen(os.open(path, os.O_RDONLY | _NO_LINK), "rb") as file:
            file.seek(offset)
            return file.readline()

    def names(self, path: Path) -> list[str]:
        """Return the names in a folder, sorted."""
        return sorted(os.listdir(path))

    def exists(self, path: Path) -> bool:
        """Whether there is a file or folder of this name, not counting what a link points to."""
        return os.path.lexists(path)

    def is_folder(self, path: Path) -> bool:
        """Whether there is a folder of this name, and no link in its place."""
        return os.path.lexists(path) and stat.S_ISDIR(os.lstat(path).st_mode)


def replace_file(disk: Disk, path: Path, content: Iterable[bytes]) -> None:
    """Put a whole file in place, or leave what was there: temporary file, sync, rename, folder sync."""
    temporary = path.with_name(f".{path.name}.tmp")
    if disk.exists(temporary):
        disk.remove(temporary)  # left by a run that was killed between create and rename
    file = disk.create(temporary)
    try:
        for data in content:
            disk.write(file, data)
        disk.sync(file)
    finally:
        disk.close(file)
    disk.rename(temporary, path)
    disk.sync_folder(path.parent)
