"""What one attempt could leave for the next to recognise it by: made noisy before an attempt that tests run beside."""

from __future__ import annotations

import os

_PROCESSES = 8
_FILES = 32


def blur(folder: str) -> None:
    """Move the counters of process and inode numbers by amounts that nobody can guess, and renew the folder's times.

    Nothing else is shared by two attempts: files are removed, and memory is a copy.
    """
    processes, files = os.urandom(2)
    for _ in range(processes % _PROCESSES):
        try:  # of a program that is not there: unlike a fork it copies nothing of what this process has loaded
            os.posix_spawn("", ["none"], {})
        except OSError:
            continue
    for _ in range(1 + files % _FILES):  # one at least: it makes the folder changed now, whatever was said before
        name = f"{folder}/{os.urandom(8).hex()}"
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        os.unlink(name)
    try:
        os.utime(folder)
        for attribute in os.listxattr(folder):
            os.removexattr(folder, attribute)
    except OSError:
        return  # where this is refused it is refused to candidates too
