"""A trace file as bytes that cannot hurt: sizes capped, compression undone within bounds, decoded as a stream."""

from __future__ import annotations

import codecs
import json
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from markbook.errors import DataError, UsageError

MAX_DOCUMENT = 256 << 20
"""Bytes of a file that is read whole; larger ones are read as a stream of spans or lines, or refused."""
MAX_VALUE = 64 << 20
"""Characters of one span, line or array element."""
MAX_INFLATED = 64 << 30
"""Bytes that a compressed file may unfold to."""
MAX_RATIO = 400
"""How much larger than its compressed form a file may be, once it exceeds `FREE_BYTES`; text stays below 100."""
FREE_BYTES = 64 << 20
CHUNK = 1 << 20
HEAD = 1 << 16
_GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"
_GZIP_WINDOW = 31
"""zlib's way to say: a gzip header, the largest window."""


class Source:
    """One file that is to be read as a trace."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_file():
            raise UsageError(f"no such file: {path}")
        self.size = path.stat().st_size
        if not self.size:
            raise DataError("the file is empty", at=str(path))
        self.problems: Counter[str] = Counter()
        """What could not be read, by reason."""
        with path.open("rb") as file:
            magic = file.read(4)
        self.is_gzip = magic[:2] == _GZIP
        self.is_zip = magic == ZIP
        self._loaded = False
        self._document: Any = None
        self.head = "" if self.is_zip else next(self.chunks(HEAD), "")
        """The first characters, for detection."""

    def chunks(self, size: int = CHUNK) -> Iterator[str]:
        """Yield the text in pieces.

        Raises:
            DataError: it unfolds to far more than its size, or the compressed data is damaged.
        """
        decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
        with self.path.open("rb") as raw:
            pieces = self._inflated(raw, size) if self.is_gzip else iter(lambda: raw.read(size), b"")
            for piece in pieces:
                text = decoder.decode(piece)
                if text:
                    yield text
            text = decoder.decode(b"", final=True)
            if text:
                yield text

    def _inflated(self, raw: IO[bytes], size: int) -> Iterator[bytes]:
        """Undo gzip piece by piece, so that what lies before a damaged place comes through."""
        total, held = 0, b""
        unpacker = zlib.decompressobj(_GZIP_WINDOW)
        while True:
            held = held or raw.read(size)
            if not held:
                if not unpacker.eof:
                    self.problems["compressed data that is cut off"] += 1
                return
            try:
                piece = unpacker.decompress(held, size)
            except zlib.error:
                self.problems["damaged compressed data: the rest was not read"] += 1
                return
            held = unpacker.unconsumed_tail
            total += len(piece)
            if total > MAX_INFLATED or (total > FREE_BYTES and total > MAX_RATIO * self.size):
                raise DataError(
                    f"{self.size} compressed bytes unfold to more than {total}: refused as a compression bomb",
                    at=str(self.path),
                )
            if piece:
                yield piece
            if unpacker.eof and (unpacker.unused_data or (held := raw.read(size))):
                # gzip files may be joined: the next member begins where one ends.
                held = unpacker.unused_data + held
                unpacker = zlib.decompressobj(_GZIP_WINDOW)

    @property
    def is_lines(self) -> bool:
        """Whether it is one JSON value a line (more than one, or one without a line end inside)."""
        first, newline, rest = self.head.lstrip().partition("\n")
        if not newline or not first.strip():
            return False
        try:
            json.loads(first)
        except (ValueError, RecursionError):
            return False
        return bool(rest.strip())

    @property
    def is_small(self) -> bool:
        """Whether it may be read whole."""
        return self.size <= (FREE_BYTES // 4 if self.is_gzip else MAX_DOCUMENT)

    def lines(self) -> Iterator[tuple[int, Any]]:
        """Yield line number and value of every line; what is no JSON is counted in `problems`."""
        for number, line in enumerate(self._raw_lines(), 1):
            if not line.strip():
                continue
            value = decoded(line)
            if value is BAD:
                self.problems["not JSON (line)"] += 1
            else:
                yield number, value

    def _raw_lines(self) -> Iterator[str]:
        kept: list[str] = []
        length = 0
        for chunk in self.chunks():
            *whole, tail = chunk.split("\n")
            for piece in whole:
                if length <= MAX_VALUE:
                    yield "".join([*kept, piece])
                kept, length = [], 0
            length += len(tail)
            if length > MAX_VALUE and kept:
                self.problems["longer than the limit (line)"] += 1
                kept = []
            if length <= MAX_VALUE:
                kept.append(tail)
        if kept:
            yield "".join(kept)

    def document(self) -> Any:
        """Return the whole file as one JSON value, or as the list of its lines.

        Raises:
            DataError: it is too large for that, or no JSON.
        """
        if self._loaded:
            return self._document
        if not self.is_small:
            raise DataError(
                f"{self.size} bytes are too many to read whole ({MAX_DOCUMENT} at most) in this format",
                at=str(self.path),
                hint="only OTLP files and lines of spans are read as a stream",
            )
        if self.is_lines:
            self._document = [value for _, value in self.lines()]
        else:
            self._document = self._whole()
        self._loaded = True
        return self._document

    def remember(self, document: Any) -> None:
        """Keep the document that detection has decoded already."""
        self._document, self._loaded = document, True

    def _whole(self) -> Any:
        text = "".join(self.chunks())
        value = decoded(text)
        if value is not BAD:
            return value
        if text.lstrip()[:1] == "[":
            # Half a file is still half the evidence: keep the elements that are complete.
            from markbook.traces.scan import elements

            found = list(elements(iter([text]), self.problems))
            if found:
                return found
        try:
            json.loads(text)
        except RecursionError:
            reason = "it is nested too deeply"
        except ValueError as error:
            reason = str(error)
        raise DataError(f"not a JSON document: {reason}", at=str(self.path), hint="is the file complete?")


def integer(digits: str) -> int | None:
    """Return a JSON integer, None for one that no count or time can be: Python refuses to convert the longest."""
    return int(digits) if len(digits) <= 40 else None


def no_number(_name: str) -> None:
    """Stand in for NaN and the infinities, which are no JSON."""


BAD = object()
"""What `decoded` returns for text that is no JSON value."""


def decoded(text: str) -> Any:
    """Return the JSON value of a text, `BAD` if it is none (or nested too deeply); NaN, infinities and absurd integers become None."""
    try:
        return json.loads(text, parse_constant=no_number, parse_int=integer)
    except (ValueError, RecursionError):
        return BAD
