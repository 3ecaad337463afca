"""The append-only journal: one row a line, each with a checksum, synced in groups.

Theory of operation
-------------------
A line is valid JSON and begins with its own checksum:

    {"crc":"1c291ca3","data":{...},"key":["gpt-4","dataclass_1",0],"kind":"outcome"}

The CRC-32 covers every byte after the comma that follows it. `kind` and `key` name the work, `data` is its result.

Writing. `Journal.add` puts a row into the group that waits in memory. A group is written by one `write` and one
`fdatasync`, after 100 rows or 50 ms, or by `commit`; then its rows are *acknowledged*. Rows that no later row pushes out
are synced by a thread of the journal's own, so that a slow run loses 50 ms of work and not an hour's. After 64 MiB a new
segment begins (`00000002.jsonl`): its entry in the folder is synced before the first row is written to it.

Failure. A write or sync that failed is never repeated: the kernel may have dropped the pages and would report success the
second time. The error is kept, and every later call raises it.

Reading. Rows are read in the order in which they were added. A line whose checksum does not fit is torn (the process or the
machine stopped while it was written) or damaged (the disk). Both are the same to a reader of a run that is under way: it
stops there, since nothing behind it has been acknowledged in its order. In a finished run it is an error, because a reader
would else report less than the run found; `integrity` compares whole files there.

Taking up again. `reopen` counts the whole rows, remembers their keys (16 bytes of digest each, so that ten million fit into
memory), and cuts off a torn end. Whole rows behind a damaged place are kept by writing the segment anew: each has its own
checksum and was paid for. What a lost row held is simply done again, because work is named by its key and results do not
depend on their order.

What is safe after a power cut follows from `disk`: its docstring has the crash model.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from markbook.errors import StorageError
from markbook.store.disk import Disk, replace_file
from markbook.types import Key

GROUP_ROWS = 100
GROUP_SECONDS = 0.05
SEGMENT_BYTES = 64 << 20
LINE_CAP = 64 << 20
OFFSET_BITS = 40
"""A row's location is its segment's number above these bits, and its offset in them."""
_PREFIX = b'{"crc":"'
_BODY = len(_PREFIX) + 8 + 2  # {"crc":"xxxxxxxx",

encode = json.JSONEncoder(
    ensure_ascii=False,
    allow_nan=False,
    sort_keys=True,
    separators=(",", ":"),
    check_circular=False,  # an eighth of the time, for what would end in a RecursionError anyway
).encode
"""JSON as the store writes it: sorted keys, no NaN, UTF-8."""


@dataclass(frozen=True, slots=True)
class StoredRow:
    """One thing that happened."""

    kind: str
    key: Key
    data: Mapping[str, Any]


def to_line(kind: str, key: Sequence[str | int], data: Mapping[str, object]) -> bytes:
    """Return the journal line of a row.

    Raises:
        ValueError: the data holds NaN, an infinity or a lone surrogate, which no reader could take back.
        StorageError: the row is longer than `LINE_CAP`.
    """
    body = encode({"data": data, "key": list(key), "kind": kind})[1:].encode() + b"\n"
    line = b'%s%08x",%s' % (_PREFIX, zlib.crc32(body), body)
    if len(line) > LINE_CAP:  # nobody could read it back, nor what follows it
        raise StorageError(f"a row of {len(line) >> 20} MiB is longer than the journal takes, {LINE_CAP >> 20} MiB")
    return line


def from_line(line: bytes) -> StoredRow | None:
    """Return the row of a whole line, or None if the line is torn, damaged or of another shape."""
    body = line[_BODY:]
    if not line.endswith(b"\n") or line[:_BODY] != b'%s%08x",' % (_PREFIX, zlib.crc32(body)):
        return None
    try:
        record = json.loads(b"{" + body)
    except (ValueError, RecursionError):
        return None
    # A right checksum says only that these bytes were meant.
    kind, key, data = record.get("kind"), record.get("key"), record.get("data")
    is_row = isinstance(kind, str) and isinstance(key, list) and isinstance(data, dict)
    if not is_row or not all(type(part) in (str, int) for part in key):
        return None
    return StoredRow(kind, tuple(key), data)


def lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Split pieces of a file at newlines, keeping them; the last line may lack one."""
    rest = b""
    for chunk in chunks:
        parts = (rest + chunk).split(b"\n")
        rest = parts.pop()
        for part in parts:
            yield part + b"\n"
        if len(rest) > LINE_CAP:
            break  # no row of ours is that long: damage, which the caller sees as a torn line
    if rest:
        yield rest


def segments(disk: Disk, folder: Path) -> list[Path]:
    """Return the journal's files in order."""
    if not disk.exists(folder):
        return []
    return [folder / name for name in disk.names(folder) if name.endswith(".jsonl") and not name.startswith(".")]


def read(disk: Disk, folder: Path, *, is_finished: bool = False) -> Iterator[StoredRow]:
    """Yield the acknowledged rows in the order in which they were added; see `locate`."""
    return (row for _, row in locate(disk, folder, is_finished=is_finished))


def locate(disk: Disk, folder: Path, *, is_finished: bool = False) -> Iterator[tuple[int, StoredRow]]:
    """Yield each acknowledged row with a number by which `row_at` finds it again; stop where a segment is damaged.

    Raises:
        StorageError: the run is finished and a segment cannot be read to its end.
    """
    for path in segments(disk, folder):
        offset = int(path.stem) << OFFSET_BITS
        for line in lines(disk.chunks(path)):
            row = from_line(line)
            if row is None and is_finished:
                at = offset & ((1 << OFFSET_BITS) - 1)
                raise StorageError(f"the journal of this finished run cannot be read from byte {at} on", at=str(path))
            if row is None:
                break
            yield offset, row
            offset += len(line)


def row_at(disk: Disk, folder: Path, location: int) -> StoredRow:
    """Return the row at a location given by `locate`.

    Raises:
        StorageError: what lies there now is not a whole row.
    """
    path = folder / f"{location >> OFFSET_BITS:08d}.jsonl"
    row = from_line(disk.line_at(path, location & ((1 << OFFSET_BITS) - 1)))
    if row is None:
        raise StorageError("the journal was damaged while it was read", at=str(path))
    return row


class KeySet:
    """Which keys were there at the start: 16 bytes a key, whatever its length."""

    def __init__(self, keys: Iterable[tuple[str, Key]]) -> None:
        self._digests = b"".join(sorted({_digest(kind, key) for kind, key in keys}))

    def __len__(self) -> int:
        return len(self._digests) // 16

    def __contains__(self, entry: tuple[str, Key]) -> bool:
        digest = _digest(*entry) if self._digests else b""  # a run that begins has none
        index = bisect_left(range(len(self)), digest, key=self._at)
        return index < len(self) and self._at(index) == digest

    def _at(self, index: int) -> bytes:
        return self._digests[16 * index : 16 * index + 16]


def _digest(kind: str, key: Key) -> bytes:
    return hashlib.blake2b(encode([kind, *key]).encode(), digest_size=16).digest()


class Journal:
    """The writing end. One process owns it; any of its threads may add rows, and one of ours syncs what waits.

    Raises:
        StorageError: from any method, once a write or sync failed. A failed sync is never tried again, because
            the kernel may have dropped the pages and would report success.
    """

    def __init__(self, disk: Disk, folder: Path) -> None:
        self._disk = disk
        self._folder = folder
        self._lock = threading.RLock()
        self._waiting: list[bytes] = []
        self._failure: StorageError | None = None
        self._closed = False
        self._file: BinaryIO | None = None
        self._number = self._size = self._rows = self._crc = 0
        self._full: list[tuple[int, int, int, int]] = []
        self._first_waiting = 0.0
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._syncer: threading.Thread | None = None

    @classmethod
    def start(cls, disk: Disk, folder: Path) -> Journal:
        """Open a new journal in a folder that does not exist yet."""
        disk.make_folder(folder)
        disk.sync_folder(folder.parent)
        return cls(disk, folder)

    @classmethod
    def reopen(cls, disk: Disk, folder: Path) -> tuple[Journal, KeySet, int]:
        """Open an old journal: drop what is not a whole row, and return it with its keys and the bytes dropped."""
        if not disk.exists(folder):
            return cls.start(disk, folder), KeySet(()), 0
        keys: list[tuple[str, Key]] = []
        cut = 0
        paths = segments(disk, folder)
        journal = cls(disk, folder)
        for path in paths:
            journal._begin(int(path.stem))
            total = 0
            has_rows_behind_damage = False
            for line in lines(disk.chunks(path)):
                total += len(line)
                row = from_line(line)
                if row is None:
                    continue
                has_rows_behind_damage |= journal._size < total - len(line)
                journal._count(line, 1)
                keys.append((row.kind, row.key))
            cut += total - journal._size
            if has_rows_behind_damage:  # each was paid for and carries its own checksum
                replace_file(disk, path, (line for line in lines(disk.chunks(path)) if from_line(line) is not None))
            elif journal._size < total:
                disk.truncate(path, journal._size)
        if paths:
            journal._file = disk.append(paths[-1])
        return journal, KeySet(keys), cut

    def add(self, kind: str, key: Key, data: Mapping[str, object]) -> None:
        """Append a row. It is acknowledged when its group is synced: after 100 rows or 50 ms, or by `commit`."""
        line = to_line(kind, key, data)
        with self._lock:
            self._check()
            if not self._waiting:
                self._first_waiting = time.monotonic()
            self._waiting.append(line)
            if len(self._waiting) >= GROUP_ROWS or time.monotonic() - self._first_waiting >= GROUP_SECONDS:
                self.commit()
            elif len(self._waiting) == 1:
                if self._syncer is None:
                    self._syncer = threading.Thread(target=self._sync_late_rows, name="markbook-journal", daemon=True)
                    self._syncer.start()
                self._wake.set()

    def commit(self) -> None:
        """Return when every row added so far is acknowledged."""
        with self._lock:
            self._check()
            if not self._waiting:
                return
            data = b"".join(self._waiting)
            rows = len(self._waiting)
            self._waiting.clear()
            try:  # under the lock, so that rows reach the file in the order in which they were added
                if self._file is None or self._size >= SEGMENT_BYTES:
                    self._next_segment()
                assert self._file is not None
                self._disk.write(self._file, data)
                self._disk.sync(self._file)
            except OSError as error:
                self._failure = StorageError(
                    f"the journal could not be written: {error.strerror or error}",
                    at=str(self._folder),
                    hint=f"free at least {len(data)} bytes or mend the disk, then run again with --resume",
                )
                raise self._failure from error
            self._count(data, rows)

    def contents(self) -> list[tuple[str, int, int, str]]:
        """Return what each file holds now: its name, bytes, rows and the CRC-32 over all of it."""
        with self._lock:
            files = [*self._full, (self._number, self._size, self._rows, self._crc)]
        return [(f"{number:08d}.jsonl", size, rows, f"{crc:08x}") for number, size, rows, crc in files if number]

    def _begin(self, number: int) -> None:
        """Count a file of its own from here on."""
        if self._number:
            self._full.append((self._number, self._size, self._rows, self._crc))
        self._number, self._size, self._rows, self._crc = number, 0, 0, 0

    def _count(self, data: bytes, rows: int) -> None:
        self._size += len(data)
        self._rows += rows
        self._crc = zlib.crc32(data, self._crc)

    def close(self) -> None:
        """Commit what waits and close; the journal stays readable."""
        self._stop.set()
        self._wake.set()
        with self._lock:
            if self._closed:
                return
            try:
                if self._failure is None:
                    self.commit()
            finally:
                self._closed = True
                if self._file is not None:
                    self._disk.close(self._file)

    def _next_segment(self) -> None:
        if self._file is not None:
            self._disk.close(self._file)
            self._file = None
        number = self._number + 1
        self._file = self._disk.create(self._folder / f"{number:08d}.jsonl")
        self._disk.sync_folder(self._folder)
        self._begin(number)

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self._closed:
            raise ValueError("the journal is closed")

    def _sync_late_rows(self) -> None:
        """Acknowledge rows that no further row pushes out, so that a slow run loses at most 50 ms."""
        while not self._closed:
            self._wake.wait()
            self._wake.clear()
            if self._stop.wait(GROUP_SECONDS):
                return
            with self._lock:
                if self._closed or self._failure is not None:
                    return
                try:  # an error here has no caller: the next one to add a row is told
                    self.commit()
                except StorageError:
                    return  # kept in self._failure: the owner meets it at its next call
