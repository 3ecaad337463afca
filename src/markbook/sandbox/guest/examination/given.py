"""What programs that read and write are given: files in memory that nobody can change once they are handed over."""

from __future__ import annotations

import fcntl
import os

_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE


class GivenFile:
    """A file in memory, another one for every program.

    A standard input is a file where people run programs by hand: its size is known, and it can be read again. Whatever
    a program does to it (flags, locks, mode, times, attributes) is gone with it.
    """

    def __init__(self) -> None:
        """Hold nothing yet."""
        self.descriptor = -1
        """From where it is read."""

    def hold(self, data: bytes) -> None:
        """Let it be a new file that holds this, to be read from the beginning."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor = os.memfd_create("stdin", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        remaining = memoryview(data)
        while remaining:
            remaining = remaining[os.write(self.descriptor, remaining) :]
        os.lseek(self.descriptor, 0, os.SEEK_SET)
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, _SEALS)


class Given:
    """What one program is given."""

    def __init__(self) -> None:
        self.code = GivenFile()
        """What it executes, with what else is to be known before."""
        self.input = GivenFile()
        """Its standard input."""
