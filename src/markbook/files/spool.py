"""Records that need not be in memory: the first thousands are, more of them lie in a temporary file, 8 bytes each here."""

from __future__ import annotations

import bisect
import os
import pickle
import tempfile
import weakref
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar, overload

from markbook.errors import StorageError

T = TypeVar("T")

HELD = 4_000
"""So many records are worth no file."""
_BUFFER = 1 << 18


class Spool(Sequence[T], Generic[T]):
    """A sequence that only grows; what is read of it is a copy. Its file is gone when it is."""

    def __init__(self, records: Iterable[T] = ()) -> None:
        self._held: list[T] = []
        self._ends = array("Q")
        self._waiting: list[bytes] = []
        self._size = self._written = 0
        self._file = -1
        self.extend(records)

    def append(self, record: T) -> None:
        """Add a record at the end."""
        if self._file < 0 and len(self._held) < HELD:
            self._held.append(record)
            return
        if self._file < 0:
            self._open()
        self._put(record)

    def extend(self, records: Iterable[T]) -> None:
        """Add records at the end."""
        for record in records:
            self.append(record)

    def _open(self) -> None:
        try:
            handle, name = tempfile.mkstemp(prefix="markbook-")
        except OSError as error:
            raise _full(error) from error
        os.unlink(name)  # noqa: PTH108 - a name: nobody else can open it from now on
        self._file = handle
        weakref.finalize(self, os.close, handle)
        records, self._held = self._held, []
        for record in records:
            self._put(record)

    def _put(self, record: T) -> None:
        data = pickle.dumps(record, pickle.HIGHEST_PROTOCOL)
        self._size += len(data)
        self._ends.append(self._size)
        self._waiting.append(data)
        if self._size - self._written >= _BUFFER:
            self._flush()

    def _flush(self) -> None:
        data = b"".join(self._waiting)
        self._waiting.clear()
        while data:
            try:
                count = os.pwrite(self._file, data, self._written)
            except OSError as error:
                raise _full(error) from error
            self._written += count
            data = data[count:]

    def __len__(self) -> int:
        return len(self._ends) if self._file >= 0 else len(self._held)

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> list[T]: ...
    def __getitem__(self, place: int | slice) -> T | list[T]:
        if isinstance(place, slice):
            return [self[index] for index in range(*place.indices(len(self)))]
        if self._file < 0:
            return self._held[place]
        place = place + len(self) if place < 0 else place
        if not 0 <= place < len(self):
            raise IndexError(place)
        if self._waiting:
            self._flush()
        start = self._ends[place - 1] if place else 0
        record: T = pickle.loads(os.pread(self._file, self._ends[place] - start, start))  # noqa: S301 - nobody else could write it
        return record

    def __iter__(self) -> Iterator[T]:
        """Yield every record in order that is there by now."""
        return iter(self._held[:]) if self._file < 0 else self._from_file(len(self))

    def _from_file(self, count: int) -> Iterator[T]:
        """Yield the first records, read many at a time."""
        if self._waiting:
            self._flush()
        index = start = 0
        while index < count:
            last = min(count, max(index + 1, bisect.bisect_right(self._ends, start + _BUFFER, index, count)))
            data = memoryview(os.pread(self._file, self._ends[last - 1] - start, start))
            begin = 0
            for position in range(index, last):
                end = self._ends[position] - start
                yield pickle.loads(data[begin:end])  # noqa: S301 - as above
                begin = end
            index, start = last, self._ends[last - 1]


def _full(error: OSError) -> StorageError:
    return StorageError(
        f"the records cannot be kept on disk while they are read: {error.strerror}",
        hint="is the folder for temporary files full? TMPDIR names another",
    )


class SpooledMap(Mapping[str, T], Generic[T]):
    """A mapping that only grows, its values in a `Spool`."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._values: Spool[T] = Spool()

    def add(self, key: str, value: T) -> None:
        """Set a key; an earlier value of it is no longer found."""
        self._places[key] = len(self._values)
        self._values.append(value)

    def __getitem__(self, key: str) -> T:
        return self._values[self._places[key]]

    def __iter__(self) -> Iterator[str]:
        """Yield the keys in the order in which they came."""
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
