"""The one place that opens what a user names: size limits, folders, compressed files."""

from __future__ import annotations

import hashlib
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from markbook.errors import DamagedError, DataError, StorageError, suggest_path

# Every limit that a file of a user's meets, in one place.

MAX_VALUE = 64 << 20
"""The longest line, row, span or element that is read: bytes of it, or characters where it is decoded as it comes."""
MAX_DOCUMENT = 256 << 20
"""The largest file, or member of an archive, that is held in memory as one value, in bytes."""
MAX_UNPACKED = 64 << 30
"""The most that a compressed file may unpack to, in bytes."""
MAX_RATIO = 200
"""How much larger than its compressed form a file may be, beyond `FREE_BYTES`; text stays under 100."""
FREE_BYTES = 8 << 20
"""So much may come out of any compressed file."""
MAX_MEMBERS = 200_000
"""The most files in one archive."""


# Folders in which something may not be read: said with its path, never taken for empty.


@contextmanager
def looking_into(folder: Path) -> Iterator[None]:
    """Turn a refusal of the system, where a folder is looked through, into an error of ours.

    Raises:
        StorageError: something in it may not be read.
    """
    try:
        yield
    except PermissionError as error:
        at = str(folder if error.filename is None else error.filename)
        raise StorageError("this may not be read", at=at, hint="change its permissions, or move it away") from error


def check_readable(folder: Path) -> None:
    """Find out that a folder and all below it can be looked through; a path that is not a folder is left to its reader.

    Raises:
        StorageError: one may not be read.
    """

    def refuse(error: OSError) -> None:
        raise error

    with looking_into(folder):
        if folder.is_dir():
            for _ in os.walk(folder, onerror=refuse):
                pass


# A file's bytes, compression undone on the way: the one place that opens what a user names, and the one bomb check.

BOM = b"\xef\xbb\xbf"
SPACE = b"\r\n \t"
_PIECE = 1 << 18
_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
_GZIP_WINDOW = 31
"""zlib's way to say: a gzip header, the largest window."""

Damage = Callable[[str], None]
"""Is told why the rest of a file could not be read."""


def open_input(path: Path) -> IO[bytes]:
    """Open a regular file for reading.

    Raises:
        DataError: it does not exist, is not a regular file (a pipe would block for ever), or cannot be read.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise DataError("this is not a regular file", at=str(path), hint="name a file, or a folder that holds one")
        return path.open("rb")
    except FileNotFoundError as error:
        raise DataError("there is no such file", at=str(path), hint=suggest_path(path)) from error
    except OSError as error:
        raise DataError(f"the file cannot be read: {error.strerror}", at=str(path)) from error


def is_gzip(path: Path) -> bool:
    """Return whether a file begins as gzip does."""
    with open_input(path) as file:
        return file.read(len(_GZIP)) == _GZIP


def is_zip(path: Path) -> bool:
    """Return whether a file begins as a zip with something in it does."""
    with open_input(path) as file:
        return file.read(len(_ZIP)) == _ZIP


def pieces(
    path: Path, digest: hashlib._Hash | None = None, *, size: int = _PIECE, damage: Damage | None = None
) -> Iterator[bytes]:
    """Yield the content of a file in pieces of at most `size` bytes; gzip, known by its content, is undone.

    `digest` is fed every byte of the unpacked content. `damage` is told of damaged compressed data, whose sound
    beginning is then all there is; without it damage is an error.

    Raises:
        DataError: as `open_input`; also a compressed file that is damaged (`DamagedError`), or unpacks to more than the
            limits allow.
    """
    with open_input(path) as raw:
        packed = raw.read(len(_GZIP)) == _GZIP
        raw.seek(0)
        try:
            for piece in _unpack_gzip(raw, path, size, damage) if packed else iter(lambda: raw.read(size), b""):
                if digest is not None:
                    digest.update(piece)
                yield piece
        except OSError as error:
            raise DataError(f"the file cannot be read: {error.strerror}", at=str(path)) from error


def whole(path: Path, digest: hashlib._Hash | None = None, *, limit: int = MAX_DOCUMENT) -> bytes:
    """Return the content of a file at once, without a byte order mark.

    Raises:
        DataError: it is larger than the limit; also as `pieces`.
    """
    too_large = DataError(f"the file is larger than {limit >> 20} MiB", at=str(path), hint="use JSON Lines")
    if not is_gzip(path) and path.stat().st_size > limit:
        raise too_large  # its size says so, and nothing need be read
    content = bytearray()
    for piece in pieces(path, digest):
        content += piece
        if len(content) > limit:
            raise too_large
    return bytes(content.removeprefix(BOM))


def first_byte(path: Path) -> bytes:
    """Return the first byte of a file that is not a space; empty if there is none in its first piece."""
    return next(pieces(path), b"").removeprefix(BOM).lstrip(SPACE)[:1]


def _unpack_gzip(raw: IO[bytes], path: Path, size: int, damage: Damage | None) -> Iterator[bytes]:
    """Undo gzip piece by piece, so that what lies before a damaged place comes through."""
    limit = min(MAX_UNPACKED, FREE_BYTES + MAX_RATIO * path.stat().st_size)
    total, pending = 0, b""
    unpacker = zlib.decompressobj(_GZIP_WINDOW)
    while True:
        if unpacker.eof:
            # gzip files may be joined, and padded with zeros: the next member begins behind them.
            pending = (unpacker.unused_data or raw.read(size)).lstrip(b"\0")
            while not pending and (more := raw.read(size)):
                pending = more.lstrip(b"\0")
            if not pending:
                return
            unpacker = zlib.decompressobj(_GZIP_WINDOW)
        pending = pending or raw.read(size)
        if not pending:
            _report_damage("compressed data that is cut off", path, damage)
            return
        try:
            piece = unpacker.decompress(pending, size)
        except zlib.error:
            _report_damage("damaged compressed data: the rest was not read", path, damage)
            return
        pending = unpacker.unconsumed_tail
        total += len(piece)
        if total > limit:
            raise DataError(
                f"the file unpacks to more than {limit >> 20} MiB from {path.stat().st_size} bytes: "
                "refused as a compression bomb",
                at=str(path),
                hint="unpack it yourself if you trust it",
            )
        if piece:
            yield piece


def _report_damage(reason: str, path: Path, damage: Damage | None) -> None:
    if damage is None:
        raise DamagedError(f"the file is damaged: {reason}", at=str(path), hint="write or fetch it again")
    damage(reason)
