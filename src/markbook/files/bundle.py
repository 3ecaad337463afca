"""A folder or a zip of many files as one thing: names with slashes, content within limits, nothing outside of it."""

from __future__ import annotations

import hashlib
import os
import stat
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from markbook.errors import DataError
from markbook.files.content import is_zip, open_input
from markbook.files.limits import FREE_BYTES, MAX_RATIO

MAX_FILES = 20_000
MAX_FILE = 64 << 20
"""Bytes of one file."""
MAX_TOTAL = 512 << 20
"""Bytes of all files of a zip together; it is unpacked into memory."""
MAX_DEPTH = 32
"""Folders within one another."""


class Bundle:
    """The files of a folder or a zip, by name."""

    def __init__(self, path: Path, content: dict[str, Path | bytes]) -> None:
        self.path = path
        self._found = content

    @property
    def names(self) -> list[str]:
        """The names of all files, sorted."""
        return sorted(self._found)

    def __contains__(self, name: str) -> bool:
        """Whether there is a file of this name."""
        return name in self._found

    def below(self, folder: str) -> list[str]:
        """Return the names of the files below a folder, sorted."""
        return [name for name in self.names if name.startswith(f"{folder}/")]

    def at(self, name: str) -> str:
        """Return where a file is, for messages."""
        return f"{self.path}/{name}"

    def read(self, name: str) -> bytes:
        """Return the content of a file.

        Raises:
            DataError: it is too large or cannot be read.
        """
        stored = self._found[name]
        if isinstance(stored, bytes):
            return stored
        with open_input(stored) as file:
            content = file.read(MAX_FILE + 1)
        if len(content) > MAX_FILE:
            raise DataError(f"the file is larger than {MAX_FILE >> 20} MiB", at=str(stored))
        return content

    def digest(self, into: hashlib._Hash) -> None:
        """Feed the names and contents of all files."""
        for name in self.names:
            content = self.read(name)
            into.update(f"{len(name.encode())}:{len(content)}:".encode() + name.encode() + content)


def open_bundle(path: Path) -> Bundle:
    """Return the files of a folder, or of a zip; what all files of a zip have in common as their folder is left out.

    Raises:
        DataError: it cannot be read, is too large or a bomb, or a name or a link in it leads outside.
    """
    if path.is_dir():
        return Bundle(path, dict(_of_folder(path)))
    if not is_zip(path):
        raise DataError("this is neither a folder nor a zip", at=str(path))
    files = _of_zip(path)
    tops = {name.partition("/")[0] for name in files}
    if len(tops) == 1 and all("/" in name for name in files):
        files = {name.partition("/")[2]: content for name, content in files.items()}
    return Bundle(path, dict(files))


def _of_folder(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield the regular files below a folder; a link to a file within it is one, a link that leads outside is refused."""
    inside = root.resolve()
    count = 0
    for folder, folders, files in os.walk(root):
        here = Path(folder)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if len(here.relative_to(root).parts) > MAX_DEPTH:
            raise DataError(f"more than {MAX_DEPTH} folders within one another", at=folder)
        for name in [*folders, *files]:
            target = here / name
            if target.is_symlink() and not target.resolve().is_relative_to(inside):
                raise DataError("a link that leads out of its folder: refused", at=str(target))
        for name in files:
            target = here / name
            if not target.is_file():
                raise DataError("neither a file nor a folder: refused", at=str(target))
            count += 1
            if count > MAX_FILES:
                raise DataError(f"more than {MAX_FILES} files", at=str(root))
            yield target.relative_to(root).as_posix(), target


def _of_zip(path: Path) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            if len(members) > MAX_FILES:
                raise DataError(f"more than {MAX_FILES} files", at=str(path))
            limit = min(MAX_TOTAL, FREE_BYTES + MAX_RATIO * path.stat().st_size)
            files: dict[str, bytes] = {}
            remaining = limit
            for member in members:
                name = _safe(member, path)
                if name in files:
                    raise DataError(f"{name!r} is twice in the zip: refused", at=str(path))
                with archive.open(member) as stream:  # what it says of its size may be a lie
                    files[name] = stream.read(min(MAX_FILE, remaining) + 1)
                if len(files[name]) > MAX_FILE:
                    raise DataError(f"{name!r} is larger than {MAX_FILE >> 20} MiB", at=str(path))
                remaining -= len(files[name])
                if remaining < 0:
                    raise DataError(f"the zip unpacks to more than {limit >> 20} MiB: refused as a bomb", at=str(path))
            return files
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as error:
        raise DataError(f"the zip cannot be read: {error}", at=str(path)) from error


def _safe(member: zipfile.ZipInfo, path: Path) -> str:
    """Return the name of a member that stays where it is."""
    name = member.filename
    parts = PurePosixPath(name).parts
    mode = member.external_attr >> 16
    if stat.S_ISLNK(mode):
        raise DataError(f"{name[:80]!r} in the zip is a link: refused", at=str(path))
    odd = "\\" in name or not name.isprintable() or len(parts) > MAX_DEPTH or len(name) > 1000
    if odd or not parts or parts[0] == "/" or ".." in parts or ":" in parts[0]:
        raise DataError(f"the name {name[:80]!r} in the zip leads outside of it: refused", at=str(path))
    return PurePosixPath(*parts).as_posix()
