"""A disk that can lose power: what was not synced may be gone, torn or zeroed, and unsynced renames undone."""

from __future__ import annotations

import io
import itertools
from dataclasses import dataclass, field
from pathlib import Path


class PowerCutError(BaseException):
    """The machine stops here; no handler of the program runs after it."""


@dataclass
class _File:
    data: bytearray = field(default_factory=bytearray)
    safe: int = 0
    """So many bytes would survive."""


class _Handle(io.RawIOBase):
    def __init__(self, file: _File) -> None:
        super().__init__()
        self.file = file


class _NoLock:
    def release(self) -> None:
        pass


class CrashDisk:
    """Files in memory. After `cut_at` operations the power is cut; `states` then gives every disk that may be found."""

    def __init__(self, cut_at: int | None = None) -> None:
        self.now: dict[Path, _File | None] = {}
        """Entries as the program sees them; None is a folder."""
        self.safe: dict[Path, _File | None] = {}
        """Entries that would survive."""
        self.pending: list[tuple[str, Path, Path | None]] = []
        """Entry changes since their folder was synced."""
        self.cut_at = cut_at
        self.count = 0
        self.is_dead = False

    def _step(self) -> None:
        if self.is_dead:
            raise OSError("no power")
        if self.cut_at is not None and self.count >= self.cut_at:
            self.is_dead = True
            raise PowerCutError
        self.count += 1

    def lock(self, _folder):
        return _NoLock()

    def make_parents(self, path):
        for folder in reversed([path, *path.parents]):
            self.now.setdefault(folder, None)
            self.safe.setdefault(folder, None)

    def make_folder(self, path):
        self._step()
        if path in self.now:
            raise FileExistsError(path)
        self.now[path] = None
        self.pending.append(("add", path, None))

    def create(self, path):
        self._step()
        if path in self.now:
            raise FileExistsError(path)
        self.now[path] = _File()
        self.pending.append(("add", path, None))
        return _Handle(self.now[path])

    def append(self, path):
        self._step()
        return _Handle(self.now[path])

    def write(self, file, data):
        self._step()
        file.file.data += data

    def sync(self, file):
        self._step()
        file.file.safe = len(file.file.data)

    def close(self, file):
        pass

    def truncate(self, path, size):
        self._step()
        del self.now[path].data[size:]
        self.now[path].safe = size

    def rename(self, old, new):
        self._step()
        self.now[new] = self.now.pop(old)
        self.pending.append(("rename", old, new))

    def remove(self, path):
        self._step()
        del self.now[path]
        self.pending.append(("remove", path, None))

    def sync_folder(self, path):
        self._step()
        kept = []
        for change in self.pending:
            if change[1].parent == path:
                _apply(self.safe, change, self.now)
            else:
                kept.append(change)
        self.pending = kept

    def chunks(self, path):
        yield bytes(self.now[path].data)

    def line_at(self, path, offset):
        return bytes(self.now[path].data[offset:]).split(b"\n", 1)[0] + b"\n"

    def names(self, path):
        return sorted(entry.name for entry in self.now if entry.parent == path and entry != path)

    def exists(self, path):
        return path in self.now

    def is_folder(self, path):
        return path in self.now and self.now[path] is None

    def states(self):
        """Yield every disk that may be found after the cut: how many pending entry changes held, and what became of
        the unsynced ends of files."""
        for held in range(len(self.pending) + 1):
            entries = dict(self.safe)
            for change in self.pending[:held]:
                _apply(entries, change, self.now)
            if any(path.parent not in entries for path in entries if path != path.parent):
                continue  # a file whose folder is not there cannot be found
            for tail in ("none", "one", "half", "most", "all", "zeros"):
                disk = CrashDisk()
                copies: dict[int, _File] = {}
                for path, file in entries.items():
                    if file is not None and id(file) not in copies:
                        copies[id(file)] = _after(file, tail)
                    disk.now[path] = None if file is None else copies[id(file)]
                disk.safe = dict(disk.now)
                yield disk


def _apply(entries, change, now):
    kind, path, target = change
    if kind == "remove":
        entries.pop(path, None)
    elif kind == "rename":
        if path in entries:
            entries[target] = entries.pop(path)
        elif target in now:
            entries[target] = now[target]
    elif path in now:
        entries[path] = now[path]
    else:  # made and renamed since: its content is under the new name
        entries[path] = next(iter_renamed(path, now), None)


def iter_renamed(path, now):
    """Yield the file that a temporary name was renamed to."""
    final = path.with_name(path.name.removeprefix(".").removesuffix(".tmp"))
    if final in now:
        yield now[final]


def _after(file, tail):
    unsynced = len(file.data) - file.safe
    kept = {"none": 0, "one": min(1, unsynced), "half": unsynced // 2, "most": max(0, unsynced - 1)}.get(tail, unsynced)
    data = bytearray(file.data[: file.safe + kept])
    if tail == "zeros":
        data[file.safe :] = bytes(unsynced)
    return _File(data, len(data))


def points(run):
    """Yield (number, disk) for every operation at which the power could be cut, until the run gets through."""
    for number in itertools.count():
        disk = CrashDisk(cut_at=number)
        try:
            run(disk)
        except PowerCutError:
            yield number, disk
        else:
            return
