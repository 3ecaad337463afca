"""The folder that attempts write to: how much is in it, and how it is emptied, whatever was made there.

Folders are opened one below the other, never by a path: no nesting is too deep, and no link is followed.
"""

from __future__ import annotations

import os
import stat

BYTES = 64 << 20
ENTRIES = 4096
"""What all files of an attempt may have together, as the private file system of level A has it."""
_MODE = stat.S_IRWXU
_TIME = 946_684_800
"""What every file of an attempt has: 1 January 2000, which all formats of archives know."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""How that is opened which has to be a folder."""


def is_full(folder: str) -> bool:
    """Whether a folder holds more than it may; it is looked through no further than that.

    An attempt that still runs can mislead the count, by moving things about and by closing folders to itself.
    """
    entries = blocks = 0
    walk = _Walk(folder)
    try:
        while (name := walk.next()) is not None:
            if not name:
                continue
            entries += 1
            try:
                status = os.stat(name, dir_fd=walk.here, follow_symlinks=False)
                # what it takes, not its size: a file with holes may be said to be of any
                blocks += status.st_blocks
                if stat.S_ISDIR(status.st_mode):
                    walk.enter(name)
            except OSError:
                continue  # it is gone
            if entries > ENTRIES or blocks * 512 > BYTES:
                return True
    except OSError:
        return True  # the way back is gone: nobody moves folders about in this moment without meaning to
    finally:
        walk.close()
    return False


def empty(folder: str) -> None:
    """Remove all that is in a folder, where nobody adds to it any more.

    Raises:
        OSError: something cannot be removed; what comes after it is still there too.
    """
    walk = _Walk(folder, opens=True)
    try:
        while (name := walk.next()) is not None:
            if not name:
                os.rmdir(walk.left, dir_fd=walk.here)
            elif stat.S_ISDIR(os.stat(name, dir_fd=walk.here, follow_symlinks=False).st_mode):
                walk.enter(name)
            else:
                os.unlink(name, dir_fd=walk.here)
    finally:
        walk.close()


def restore(folder: str) -> None:
    """Give a folder and all that is in it one mode and one time, where nobody changes it any more.

    Nothing is done to a file that has a second name, which may be elsewhere.

    Raises:
        OSError: something cannot be changed.
    """
    walk = _Walk(folder, opens=True)
    try:
        while (name := walk.next()) is not None:
            if not name:
                _same(walk.left, walk.here)
                continue
            status = os.stat(name, dir_fd=walk.here, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                walk.enter(name)
            elif status.st_nlink == 1:
                _same(name, walk.here, is_link=stat.S_ISLNK(status.st_mode))
    finally:
        walk.close()
    if os.stat(folder).st_uid == os.geteuid():  # else nobody can change it
        _same(folder)


def _same(name: str, where: int | None = None, *, is_link: bool = False) -> None:
    if not is_link:  # a link has no mode
        os.chmod(name, _MODE, dir_fd=where)
    os.utime(name, (_TIME, _TIME), dir_fd=where, follow_symlinks=False)


class _Walk:
    """A way through a tree with one folder open at a time."""

    def __init__(self, top: str, *, opens: bool = False) -> None:
        """Open the top folder; with `opens`, those that are closed to their owner are opened to him."""
        self._opens = opens
        self.here = -1
        self.left = ""
        """The name of the folder that was left last, in the one that is open now."""
        self._way: list[str] = []
        self._todo: list[list[str]] = []
        self.enter(top)

    def next(self) -> str | None:
        """Return the next name in the open folder; an empty one after a folder was left; None at the end."""
        if self._todo[-1]:
            return self._todo[-1].pop()
        self._todo.pop()
        self.left = self._way.pop()
        if not self._todo:
            return None
        self._go(os.open("..", _FOLDER, dir_fd=self.here))
        return ""

    def enter(self, name: str) -> None:
        """Go down into a folder."""
        where = self.here if self.here >= 0 else None
        if self._opens and os.stat(name, dir_fd=where, follow_symlinks=False).st_mode & stat.S_IRWXU != stat.S_IRWXU:
            os.chmod(name, stat.S_IRWXU, dir_fd=where)
        self._go(os.open(name, _FOLDER, dir_fd=where))
        self._todo.append(os.listdir(self.here))
        self._way.append(name)

    def _go(self, there: int) -> None:
        self.close()
        self.here = there

    def close(self) -> None:
        """Close what is open."""
        if self.here >= 0:
            os.close(self.here)
            self.here = -1
