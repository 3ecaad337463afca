"""The one codec between the processes: frames of a length and bytes; records as JSON, compiled tests as `marshal`, never pickle.

JSON goes wherever the reader trusts the writer less than itself. Reading `marshal` can crash a process, so a child's is never
read: it goes from the examiner to the child, and with a plan to a later examiner of the same problem, behind the same walls.
"""

from __future__ import annotations

import marshal
import os
import struct
from types import CodeType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    class Ends(Protocol):
        """What frames are sent and received through, by two that speak in turn."""

        def send(self, payload: bytes, /) -> None:
            """Send one frame."""

        def receive(self) -> bytes:
            """Return the payload of the next frame."""

    class ReadableStream(Protocol):
        """What a stream reads from."""

        def recv_into(self, buffer: memoryview, /) -> int:
            """Put what has arrived into the buffer; return how many bytes, 0 when the other side has closed."""

    class WritableStream(Protocol):
        """What a record is written to."""

        def sendall(self, data: bytes, /) -> None:
            """Send all of it."""


MAX_RECORD = 64 << 20
"""Bytes of one record; a longer one is the sender's failure."""

_LENGTH = struct.Struct("<I")
_PACK, _UNPACK = _LENGTH.pack, _LENGTH.unpack_from
PROMPT_SECONDS = 300.0
"""By the clock, after which a prompt's code is taken for one that sleeps; the host waits so much longer for its problem."""
CHUNK = 1 << 16
"""Bytes that are asked for at once."""
_SMALL = 1 << 12
"""Bytes that are asked for first where frames are small: room for a whole chunk would each time make the heap grow and shrink,
with two system calls and new pages that the kernel has to clear."""


class _Scanned:
    """What the scanner is to make of a text."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int = float, int
    parse_constant = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}.__getitem__


def _codec() -> tuple[Callable[[Any], str], Callable[[str, int], tuple[Any, int]]]:
    """Return what writes and what scans JSON: the C half of `json`, without the half that sets it up for every text."""
    try:
        from _json import encode_basestring_ascii, make_encoder, make_scanner
    except ImportError:  # an interpreter that has only the other half
        import json

        encoder = json.JSONEncoder(ensure_ascii=True, check_circular=False, separators=(",", ":"))
        return encoder.encode, json.JSONDecoder().scan_once  # type: ignore[attr-defined]  # public, not in the stubs
    # nothing looks for cycles; after the separators: unsorted keys, none left out, and NaN is written
    parts = make_encoder(None, _no_json, encode_basestring_ascii, None, ":", ",", False, False, True)
    scan = make_scanner(_Scanned)  # type: ignore[arg-type]  # the stubs want one of itself
    return lambda value: "".join(parts(value, 0)), scan


def _no_json(value: Any) -> Any:
    raise TypeError(f"no JSON for {type(value).__name__}")


encode, _scan = _codec()


def decode(text: str) -> Any:
    """Return the value of a JSON text that has nothing around it.

    Raises:
        ValueError: it is none.
    """
    try:
        value, end = _scan(text, 0)
    except (StopIteration, SystemError):  # the second where the class of its own error is not loaded
        raise ValueError("not JSON") from None
    if end != len(text):
        raise ValueError("more than one value")
    return value


# Compiled code as bytes without slices, which the one version of `marshal` that says nothing of sharing does not know.

MARKED = "slices"
"""What a message begins with in which slices were taken out; behind it comes their mark, and then what it says."""


def replace_slices(value: Any, mark: str) -> Any:
    """Return the same with each slice as a tuple that begins with the mark."""
    if isinstance(value, slice):
        return (mark, value.start, value.stop, value.step)
    if isinstance(value, CodeType):
        return value.replace(co_consts=replace_slices(value.co_consts, mark))
    return type(value)(replace_slices(item, mark) for item in value) if type(value) in (tuple, list) else value


def load_code(payload: bytes) -> Any:
    """Return what bytes of the examiner's hold: compiled code, in tuples and lists."""
    value = marshal.loads(payload)
    if type(value) is tuple and value[0] == MARKED:
        return _restore_slices(value[2], value[1])
    return value


def _restore_slices(value: Any, mark: str) -> Any:
    if isinstance(value, CodeType):
        return value.replace(co_consts=_restore_slices(value.co_consts, mark))
    if type(value) is tuple and value[:1] == (mark,):
        return slice(*value[1:])
    return type(value)(_restore_slices(item, mark) for item in value) if type(value) in (tuple, list) else value


class Gone(BaseException):
    """The other side closed, died, or sent what cannot be a frame.

    Not an `Exception`: a test that says `except Exception` must not swallow it.
    """


def pack(payload: bytes) -> bytes:
    """Return the payload with its length in front."""
    return _LENGTH.pack(len(payload)) + payload


class PipePair:
    """Two pipes by their descriptors: between processes on one processor they cost half of what a socket does."""

    __slots__ = ("_most", "_reader", "_writer")

    def __init__(self, reader: int, writer: int, most: int = 1 << 31) -> None:
        """Take two descriptors, and how many bytes a frame that is received may have."""
        self._reader = reader
        self._writer = writer
        self._most = most

    def send(self, payload: bytes) -> None:
        """Send one frame.

        Raises:
            Gone: the other side is not there.
        """
        data = _PACK(len(payload)) + payload
        try:
            sent = os.write(self._writer, data)
            while sent < len(data):
                sent += os.write(self._writer, data[sent:])
        except OSError as error:
            raise Gone(str(error)) from None

    def receive(self) -> bytes:
        """Return the payload of the next frame. For those who speak in turn: nothing is read ahead.

        Raises:
            Gone: the stream ended or failed, or the frame is longer than it may be.
        """
        try:
            data = os.read(self._reader, _SMALL)
            if len(data) < 4:
                data += self._exactly(4 - len(data)) if data else b""
                if not data:
                    raise Gone("closed")
            size = _UNPACK(data)[0]
            if size > self._most:
                raise Gone("frame too long")
            rest = size + 4 - len(data)
            if rest:
                if rest < 0:
                    # who speaks in turn never sends two: the second would be taken for an answer to what is asked next
                    raise Gone("more than one frame")
                data += self._exactly(rest)
        except OSError as error:
            raise Gone(str(error)) from None
        return data[4:]

    def _exactly(self, size: int) -> bytes:
        parts = []
        while size:
            part = os.read(self._reader, min(size, 1 << 20))
            if not part:
                raise Gone("closed")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def recv_into(self, buffer: memoryview) -> int:
        """Put what has arrived into the buffer; return how many bytes, 0 when the other side has closed."""
        return os.readv(self._reader, (buffer,))

    def close(self) -> None:
        """Close both, for good."""
        os.close(self._reader)
        os.close(self._writer)


class Stream:
    """Whole JSON records out of a byte stream that may carry several at once."""

    def __init__(self, source: ReadableStream, buffer: memoryview | None = None) -> None:
        self._source = source
        self._data = bytearray()
        self._part = memoryview(bytearray(CHUNK)) if buffer is None else buffer
        """Where what arrives is put: a new one for each time would be mapped and unmapped each time."""

    def feed(self) -> bool:
        """Read what is there; False when the other side has closed."""
        try:
            size = self._source.recv_into(self._part)
        # nothing is there at the moment, which is not the end
        except BlockingIOError:
            return True
        except OSError:
            return False
        self._data += self._part[:size]
        return size > 0

    def records(self) -> list[dict[str, object]]:
        """Return the whole records that have arrived.

        Raises:
            Gone: what arrived is not a record.
        """
        records = []
        while (record := self._one()) is not None:
            records.append(record)
        return records

    def next(self) -> dict[str, Any] | None:
        """Block for the next record; None when the other side has closed."""
        while True:
            record = self._one()
            if record is not None:
                return record
            if not self.feed():
                return None

    def _one(self) -> dict[str, object] | None:
        if len(self._data) < 4:
            return None
        (size,) = _LENGTH.unpack_from(self._data)
        # refused by its length alone: else who only says a large one has this side fill its memory
        if size > MAX_RECORD:
            raise Gone("frame too long")
        if len(self._data) < size + 4:
            return None
        record = read(bytes(self._data[4 : size + 4]))
        del self._data[: size + 4]
        return record


def read(payload: bytes) -> dict[str, Any]:
    """Return the record in a payload.

    Raises:
        Gone: it is not JSON, too deep, or not a mapping.
    """
    try:
        record = decode(payload.decode("utf-8"))
    except (ValueError, RecursionError, MemoryError):
        raise Gone("not a record") from None
    if not isinstance(record, dict):
        raise Gone("not a record")
    return record


def write(sink: WritableStream, record: dict[str, object]) -> None:
    """Send one record.

    Raises:
        Gone: the other side is not there.
    """
    payload = encode(record).encode("ascii")
    try:
        sink.sendall(_PACK(len(payload)) + payload)
    except OSError as error:
        raise Gone(str(error)) from None
