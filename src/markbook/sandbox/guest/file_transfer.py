"""What programs are handed beside their command: files where they run, files that they leave, pipes to another worker's."""

from __future__ import annotations

import _socket
import os
import select
import stat
import struct

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping


MOST_FILES = 64
MOST_BYTES = 16 << 20
"""What is taken of the files that a program leaves, together."""
_PIECE = 1 << 16
_ENDS = struct.Struct("<3i")
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def put(folder: str, files: Mapping[str, str]) -> None:
    """Write files, with the folders that their names want; a name that ends in a slash is a folder alone."""
    for name, text in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        if name.endswith("/"):
            continue
        with open(path, "wb") as file:
            # a record is JSON and holds no bytes: each of them crosses as the character of its number
            file.write(text.encode("latin-1"))


def collect_files(folder: str) -> dict[str, str]:
    """Return the regular files that lie directly in a folder, as far as they are neither too many nor too large."""
    files: dict[str, str] = {}
    remaining = MOST_BYTES
    handle = _open_folder([folder])
    if handle is None:
        return files
    try:
        # in order, so that of too many files the same ones are taken in every run
        for name in sorted(os.listdir(handle))[:MOST_FILES]:
            data = _content(name, handle, remaining)
            if data is not None:
                files[name] = data.decode("latin-1")
                remaining -= len(data)
    finally:
        os.close(handle)
    return files


def fetch_files(folder: str, names: list[str]) -> dict[str, str]:
    """Return those of these files below a folder that are there, as far as they are not too large; no link is followed."""
    files: dict[str, str] = {}
    remaining = MOST_BYTES
    for name in names:
        *inner, last = name.split("/")
        handle = _open_folder([folder, *inner])
        if handle is None:
            continue
        try:
            data = _content(last, handle, remaining)
        finally:
            os.close(handle)
        if data is not None:
            files[name] = data.decode("latin-1")
            remaining -= len(data)
    return files


def _open_folder(path: list[str]) -> int | None:
    """Open a folder, one step after the other."""
    handle: int | None = None
    # never by the whole path: O_NOFOLLOW holds for its last part alone, and a link before that would lead out
    for step in path:
        try:
            inner = os.open(step, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=handle)
        except OSError:
            inner = None
        if handle is not None:
            os.close(handle)
        handle = inner
        if handle is None:
            return None
    return handle


def _content(name: str, folder: int, most: int) -> bytes | None:
    try:
        descriptor = os.open(name, _READ, dir_fd=folder)
    except OSError:
        return None
    try:
        # looked at once it is open: by its name it could be another file by then
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode) or about.st_size > most:
            return None
        parts = []
        while part := os.read(descriptor, 1 << 20):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)


class StreamRelay:
    """What a program reads from one in another worker, what is passed on to that, and a pipe that is closed to stop it.

    What it prints goes through here: it is counted, and the other side sees the end of it only when it is known how the
    program ended. So whoever ended first is known, however busy the machine is.
    """

    def __init__(self, control: _socket.socket) -> None:
        """Receive the three; who sends them has been told that they are awaited."""
        # Close-on-exec: a program that held them could write past its count, and the other's end would not be seen.
        _, ancillary, _, _ = control.recvmsg(1, _socket.CMSG_SPACE(_ENDS.size), _socket.MSG_CMSG_CLOEXEC)
        ends: tuple[int, int, int] = _ENDS.unpack(ancillary[0][2])
        self.reader, self._writer, self.stop = ends
        os.set_blocking(self._writer, False)
        self._gone = False
        self.closed = 0.0
        """When the program closed what it prints to; 0 while it has not."""

    @property
    def writer(self) -> int:
        """The descriptor to wait for while something is left to pass on."""
        return self._writer

    def forward(self, data: bytearray) -> None:
        """Pass on as much as the pipe takes, and leave the rest; nothing is left for one who does not read any more."""
        try:
            while data and not self._gone:
                del data[: os.write(self._writer, data[:_PIECE])]
        except BlockingIOError:
            return
        except OSError:
            self._gone = True
        if self._gone:
            data.clear()

    def flush(self, data: bytearray, seconds: float) -> None:
        """Pass on the rest of what a program printed that has ended."""
        self.forward(data)
        if not data:
            return
        poll = select.poll()
        poll.register(self._writer, select.POLLOUT)
        poll.register(self.stop, select.POLLIN)
        while data:
            ready = [descriptor for descriptor, _ in poll.poll(1000 * seconds)]
            if not ready or self.stop in ready:
                return
            self.forward(data)

    def shut(self) -> None:
        """Let the other side see the end of what is printed."""
        if self._writer >= 0:
            os.close(self._writer)
        self._writer, self._gone = -1, True

    def close(self) -> None:
        """Close all that is left."""
        self.shut()
        os.close(self.stop)
