"""The seal of a finished run: what its journal held when run.json said that the run is done.

A killed run may end in a torn row, which a resume cuts off. A finished run cannot: whatever differs from its seal is
damage, and nothing is reported from it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from markbook.errors import DataError, StorageError
from markbook.store.disk import Disk, replace_file
from markbook.store.journal import from_line, lines, segments
from markbook.types import Key

KEY = "journal"
"""Where the seal stands in run.json."""
FILES = "published"
"""Where the files stand there that are read back: what they held."""
READ_BACK = frozenset({"summary.json", "results.jsonl"})
"""What a run publishes and readers of it read; reports may be written anew."""
FINISHED = ("done", "incomplete")
"""The states in which everything that a run did is acknowledged."""


@dataclass(frozen=True, slots=True)
class Segment:
    """What one of the journal's files held."""

    name: str
    bytes: int
    rows: int
    crc: str
    """CRC-32 of the whole file."""


@dataclass(frozen=True, slots=True)
class Damage:
    """Where a file of the run is not what was written."""

    path: Path
    byte: int
    why: str
    what: str = "the journal"

    def error(self) -> StorageError:
        """Return what is said of it where nothing can be done."""
        return StorageError(
            f"{self.what} of this finished run is damaged at byte {self.byte}: {self.why}",
            at=str(self.path),
            hint="nothing is reported from it; the command that made the run, with --resume, does what is lost again",
        )


def records(held: list[Segment]) -> list[dict[str, object]]:
    """Return the seal as run.json holds it."""
    return [asdict(segment) for segment in held]


def find_damage(disk: Disk, folder: Path, manifest: Mapping[str, object]) -> Damage | None:
    """Return the first damage of a finished run's journal; None of a whole one, and of a run that is not finished.

    Without a seal in the manifest, as before seals were written, rows are held against their own checksums.
    """
    if manifest.get("status") not in FINISHED:
        return None
    journal = folder / "journal"
    paths_by_name = {path.name: path for path in segments(disk, journal)}
    if KEY not in manifest:
        return next((damage for path in paths_by_name.values() if (damage := _bad_row(disk, path))), None)
    for segment in _segments(manifest[KEY], folder):
        damage = _compare(disk, paths_by_name.pop(segment.name, journal / segment.name), segment)
        if damage is not None:
            return damage
    for path in paths_by_name.values():
        return Damage(path, 0, "this file was not there when the run was done")
    published = [segment for segment in _segments(manifest.get(FILES, []), folder) if segment.name in READ_BACK]
    for segment in published:
        path = folder / segment.name
        if not disk.exists(path):
            continue  # the reader says which file it lacks
        try:
            now = Sealing(segment.name, disk.chunks(path))
            for _ in now:
                pass
        except OSError as error:
            return Damage(path, 0, f"it cannot be read: {error.strerror or error}", segment.name)
        if (now.segment.bytes, now.segment.crc) != (segment.bytes, segment.crc):
            return Damage(path, 0, "it is not what was written", segment.name)
    return None


def _segments(sealed: object, folder: Path) -> list[Segment]:
    try:
        sealed_segments = [Segment(**{name: item[name] for name in Segment.__dataclass_fields__}) for item in sealed]  # type: ignore[attr-defined]  # whatever it is, it is caught
    except (KeyError, TypeError, IndexError) as error:
        raise DataError(_NO_SEAL, at=str(folder)) from error
    if not all(
        isinstance(segment.name, str) and type(segment.bytes) is type(segment.rows) is int
        for segment in sealed_segments
    ):
        raise DataError(_NO_SEAL, at=str(folder))
    return sealed_segments


_NO_SEAL = "run.json is damaged: its seal of the journal is not as it was written"


class Sealing:
    """Takes the pieces of a file that is written, and knows what it held."""

    def __init__(self, name: str, pieces: Iterable[bytes]) -> None:
        self._name, self._pieces = name, pieces
        self._crc = self._size = self._rows = 0

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            self._crc, self._size = zlib.crc32(piece, self._crc), self._size + len(piece)
            self._rows += piece.count(b"\n")
            yield piece

    @property
    def segment(self) -> Segment:
        """What has been written so far."""
        return Segment(self._name, self._size, self._rows, f"{self._crc:08x}")


def repair(disk: Disk, folder: Path, manifest: Mapping[str, object]) -> tuple[int, int]:
    """Keep the whole rows of a damaged journal, each once and in their order; return how many, and of how many.

    Killed on the way, the run is still finished and damaged, and is repaired again.
    """
    rows_seen: set[tuple[str, Key]] = set()
    for path in segments(disk, folder / "journal"):
        replace_file(disk, path, _whole_rows(disk, path, rows_seen))
    sealed = manifest.get(KEY)
    return len(rows_seen), sum(record["rows"] for record in sealed) if isinstance(sealed, list) else len(rows_seen)


def _whole_rows(disk: Disk, path: Path, rows_seen: set[tuple[str, Key]]) -> Iterator[bytes]:
    for line in lines(disk.chunks(path)):
        row = from_line(line)
        if row is not None and (row.kind, row.key) not in rows_seen:
            rows_seen.add((row.kind, row.key))
            yield line


def _compare(disk: Disk, path: Path, sealed: Segment) -> Damage | None:
    """Return what makes a file another than it was; the common case reads it once, without looking at its rows."""
    if not disk.exists(path):
        return Damage(path, 0, "the file is missing")
    crc = size = 0
    for chunk in disk.chunks(path):
        crc, size = zlib.crc32(chunk, crc), size + len(chunk)
    if (size, f"{crc:08x}") == (sealed.bytes, sealed.crc):
        return None
    damage = _bad_row(disk, path)
    if damage is not None:
        return damage
    if size < sealed.bytes:
        return Damage(path, size, f"it ends here, and {sealed.bytes} bytes were written")
    if size > sealed.bytes:
        return Damage(path, sealed.bytes, f"rows follow that were not there when the run was done: {size} bytes in all")
    return Damage(path, 0, "its rows are whole, but not those that were written")


def _bad_row(disk: Disk, path: Path) -> Damage | None:
    """Return the first row of a file that is torn, does not match its checksum, or stands there twice."""
    offset = 0
    rows_seen: set[tuple[str, Key]] = set()
    for line in lines(disk.chunks(path)):
        row = from_line(line)
        if row is None:
            return Damage(path, offset, "a row does not match its checksum")
        if (row.kind, row.key) in rows_seen:
            return Damage(path, offset, "a row stands here a second time")
        rows_seen.add((row.kind, row.key))
        offset += len(line)
    return None
