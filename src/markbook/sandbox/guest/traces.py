"""What one attempt could leave in the folder that the next one writes to, besides files.

Files are removed, and memory is a copy. There are still the mode, the times and the attributes of the folder itself,
given back after every attempt, and the counters of processes and of inodes: what of them can be seen is made noisy before
an attempt that tests run beside.
"""

from __future__ import annotations

import os
import stat

_PROCESSES = 8
_FILES = 32


class Folder:
    """The folder that attempts write to, as it was before the first of them."""

    def __init__(self, path: str) -> None:
        self._path = path
        status = os.stat(path)
        self._mode = stat.S_IMODE(status.st_mode)
        self._is_ours = status.st_uid == os.geteuid()  # else nobody can change its mode and attributes
        self._attributes = set(os.listxattr(path))

    def renew(self) -> None:
        """Make it a folder that was changed just now, whether anybody changed it or not, in all else as it was.

        Raises:
            OSError: something of it cannot be given back.
        """
        status = os.stat(self._path)
        if self._is_ours:
            if stat.S_IMODE(status.st_mode) != self._mode:
                os.chmod(self._path, self._mode)
            for attribute in os.listxattr(self._path):
                if attribute not in self._attributes:
                    os.removexattr(self._path, attribute)
        os.utime(self._path)
        if os.stat(self._path).st_mtime_ns <= status.st_mtime_ns:  # where times are only said to be changed
            _make_files(self._path, 1)


def blur(folder: str) -> None:
    """Move the counters of process and inode numbers by amounts that nobody can guess."""
    processes, files = os.urandom(2)
    for _ in range(processes % _PROCESSES):
        try:  # of a program that is not there: unlike a fork it copies nothing of what this process has loaded
            os.posix_spawn("", ["none"], {})
        except OSError:
            continue
    _make_files(folder, 1 + files % _FILES)


def _make_files(folder: str, count: int) -> None:
    for _ in range(count):
        name = f"{folder}/{os.urandom(8).hex()}"
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        os.unlink(name)
