"""Members of a zip that are packed with Zstandard, which Python undoes itself only from 3.14 on."""

from __future__ import annotations

import functools
import importlib
import zipfile
import zlib
from collections.abc import Callable
from typing import IO, Any

from markbook.errors import ExtraMissingError

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
