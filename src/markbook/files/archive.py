"""The members of a zip, bounded: their number, and what each of them unfolds to."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from markbook.errors import DataError
from markbook.files import zstd
from markbook.files.limits import FREE_BYTES, MAX_DOCUMENT, MAX_MEMBERS, MAX_RATIO, MAX_UNPACKED


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
                    content = _unpack_member(archive, member, path)
                    remaining -= len(content)
                    if remaining < 0:
                        raise DataError(f"the zip unfolds to more than {limit} bytes: refused", at=str(path))
                    yield content
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise DataError(f"the zip cannot be read: {error}", at=str(path)) from error


def _unpack_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> bytes:
    """Return a member's content. The declared size may lie, so the reading itself is bounded."""
    if member.compress_type == zstd.METHOD:
        content = zstd.unpack(archive, member, MAX_DOCUMENT)
    else:
        with archive.open(member) as stream:
            content = stream.read(MAX_DOCUMENT + 1)
    if len(content) > MAX_DOCUMENT:
        raise DataError(f"{member.filename} unfolds to more than {MAX_DOCUMENT} bytes: refused", at=str(path))
    return content
