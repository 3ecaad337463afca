"""What programs that read and write are given: files that the examiner writes, and of which they can only read."""

from __future__ import annotations

import os


class GivenFile:
    """A file in memory, another one's content for every program.

    A standard input is a file where people run programs by hand: its size is known, and it can be read again.
    """

    def __init__(self) -> None:
        """Make it, before this process may no longer make any."""
        self._written = os.memfd_create("stdin")
        os.fchmod(self._written, 0o444)  # opened anew it is not to be written either
        self.descriptor = os.open(f"/proc/self/fd/{self._written}", os.O_RDONLY)
        """From where it is read."""

    def hold(self, data: bytes) -> None:
        """Let it hold this, to be read from the beginning."""
        os.ftruncate(self._written, 0)
        os.lseek(self._written, 0, os.SEEK_SET)
        left = memoryview(data)
        while left:
            left = left[os.write(self._written, left) :]
        os.lseek(self.descriptor, 0, os.SEEK_SET)


class Given:
    """What one program is given."""

    def __init__(self) -> None:
        self.code = GivenFile()
        """What it executes, with what else is to be known before."""
        self.input = GivenFile()
        """Its standard input."""
