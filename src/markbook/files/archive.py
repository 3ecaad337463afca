"""Archives that a user names: zip, tar, Zstandard frames inside zip files, all within size limits."""

from __future__ import annotations

import functools
import hashlib
import importlib
import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any

from markbook.errors import DataError, ExtraMissingError
from markbook.files.content import FREE_BYTES, MAX_DOCUMENT, MAX_MEMBERS, MAX_RATIO, MAX_UNPACKED, is_zip, open_input

# Members of a zip that are packed with Zstandard, which Python undoes itself only from 3.14 on.

METHOD = 93
"""The zip format's number of Zstandard."""
_LOCAL_HEADER = 30
_CHUNK = 1 << 16


def unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo, limit: int) -> bytes:
    """Return a member's content, at most one byte more than the limit.

    Raises:
        ExtraMissingError: no decoder is installed.
        zipfile.BadZipFile: the member is damaged.
    """
    packed = archive.fp
    assert packed is not None
    packed.seek(member.header_offset)
    header = packed.read(_LOCAL_HEADER)
    if len(header) < _LOCAL_HEADER or header[:4] != b"PK\x03\x04":
        raise zipfile.BadZipFile(f"no member where the directory says {member.filename} is")
    packed.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), 1)
    unpacked, damaged = _decoder(str(archive.filename))
    try:
        content = unpacked(packed, member.compress_size, limit)
    except damaged as error:
        raise zipfile.BadZipFile(f"{member.filename}: {error}") from error
    if len(content) <= limit and zlib.crc32(content) != member.CRC:
        raise zipfile.BadZipFile(f"bad CRC-32 of {member.filename}")
    return content


_Decoder = Callable[[IO[bytes], int, int], bytes]


def _decoder(at: str) -> tuple[_Decoder, type[Exception]]:
    """Return what undoes the packing, and what it raises on damaged data."""
    for name in ("compression.zstd", "backports.zstd"):  # the standard library's from Python 3.14 on, and its backport
        module = _import_if_installed(name)
        if module is not None:
            return functools.partial(_by_standard, module.ZstdDecompressor()), module.ZstdError
    module = _import_if_installed("zstandard")
    if module is not None:
        return functools.partial(_by_package, module.ZstdDecompressor().stream_reader), module.ZstdError
    raise ExtraMissingError(
        "the log is packed with Zstandard, and no decoder of it is installed",
        at=at,
        hint="pip install 'markbook[inspect]', or write the log as JSON: inspect log convert --to json",
    )


def _import_if_installed(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return None


def _by_standard(decoder: Any, packed: IO[bytes], size: int, limit: int) -> bytes:
    pieces, total = [], 0
    while size > 0 and total <= limit and not decoder.eof:
        packed_bytes = packed.read(min(_CHUNK, size))
        if not packed_bytes:
            break
        size -= len(packed_bytes)
        piece = decoder.decompress(packed_bytes, limit + 1 - total)
        while piece:
            pieces.append(piece)
            total += len(piece)
            piece = (
                b""
                if total > limit or decoder.needs_input or decoder.eof
                else decoder.decompress(b"", limit + 1 - total)
            )
    return b"".join(pieces)


def _by_package(reader: Any, packed: IO[bytes], size: int, limit: int) -> bytes:
    with reader(_Bounded(packed, size), read_across_frames=True) as stream:
        return bytes(stream.read(limit + 1))


class _Bounded:
    """A file that ends where its member does."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file = file
        self._left = size

    def read(self, size: int = -1) -> bytes:
        size_wanted = self._left if size < 0 else min(size, self._left)
        data = self._file.read(size_wanted)
        self._left -= len(data)
        return data


# A folder or a zip of many files as one thing: names with slashes, content within limits, nothing outside of it.

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


def refuse_link_out(path: Path, folder: Path) -> None:
    """Raise DataError if this is a link that leads out of a folder, whose path is resolved."""
    if path.is_symlink() and not path.resolve().is_relative_to(folder):
        raise DataError("a link that leads out of its folder: refused", at=str(path))


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
            refuse_link_out(here / name, inside)
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
                listed = member.filename
                parts = PurePosixPath(listed).parts
                if stat.S_ISLNK(member.external_attr >> 16):
                    raise DataError(f"{listed[:80]!r} in the zip is a link: refused", at=str(path))
                odd = "\\" in listed or not listed.isprintable() or len(parts) > MAX_DEPTH or len(listed) > 1000
                if odd or not parts or parts[0] == "/" or ".." in parts or ":" in parts[0]:
                    raise DataError(f"the name {listed[:80]!r} in the zip leads outside of it: refused", at=str(path))
                name = PurePosixPath(*parts).as_posix()
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


# The members of a zip, bounded: their number, and what each of them unfolds to.


def members(path: Path, is_wanted: Callable[[str], bool]) -> Iterator[bytes]:
    """Yield the content of each member of a zip whose name is wanted, in the zip's order; of one name the last counts.

    All of them together may unfold to no more than any compressed file of that size may.

    Raises:
        DataError: the zip is damaged, packed in a way that this Python cannot undo, or a bomb.
        ExtraMissingError: a member is packed with Zstandard, and no decoder is installed.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            if len(entries) > MAX_MEMBERS:
                raise DataError(f"{len(entries)} files in the zip are too many", at=str(path))
            limit = remaining = min(MAX_UNPACKED, FREE_BYTES + MAX_RATIO * path.stat().st_size)
            last = {member.filename: member for member in entries}  # a zip is rewritten by adding to its end
            for member in entries:
                if is_wanted(member.filename) and last[member.filename] is member:
                    # The declared size may lie, so the reading itself is bounded.
                    if member.compress_type == METHOD:
                        content = unpack(archive, member, MAX_DOCUMENT)
                    else:
                        with archive.open(member) as stream:
                            content = stream.read(MAX_DOCUMENT + 1)
                    if len(content) > MAX_DOCUMENT:
                        message = f"{member.filename} unfolds to more than {MAX_DOCUMENT} bytes: refused"
                        raise DataError(message, at=str(path))
                    remaining -= len(content)
                    if remaining < 0:
                        raise DataError(f"the zip unfolds to more than {limit} bytes: refused", at=str(path))
                    yield content
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise DataError(f"the zip cannot be read: {error}", at=str(path)) from error
