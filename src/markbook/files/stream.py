"""Large JSON files, read piece by piece, and the source that a reader of any format is given."""

from __future__ import annotations

import codecs
import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from markbook.errors import DataError, UsageError, suggest_path
from markbook.files.content import MAX_DOCUMENT, MAX_UNPACKED, MAX_VALUE, is_zip, pieces
from markbook.files.jsonl import BAD, DECODER, decode_json

# JSON as a stream: the elements of one huge document, one at a time, in flat memory.
#
# Ours, not ijson's: on files that are cut off both read as many elements (300 of 300 random cuts), but ijson ends for
# good at the first NaN, at an integer of 20 digits and at any damaged place, where this reader goes on (`skip_to`), and
# it has no limit for one value.

_SPACE = re.compile(r"[ \t\r\n]*")
_OVERLAP = 64
"""Characters that are kept where a search goes on in the next chunk, so that a match across the border is found."""


class EndOfInput(Exception):
    """The text ended inside a value."""


class Damaged(Exception):
    """The text is not JSON here."""


class JsonReader:
    """A window on the text that grows where a value needs it and forgets what was read."""

    def __init__(self, chunks: Iterator[str]) -> None:
        self._chunks = chunks
        self._text = ""
        self._at = 0
        self._ended = False

    def _grow(self) -> bool:
        """Double the unread text, at least by a chunk, so that a long value is decoded a few times only."""
        if self._ended:
            return False
        pieces = [self._text[self._at :]]
        missing = max(1, len(pieces[0]))
        self._at = 0
        while missing > 0:
            piece = next(self._chunks, None)
            if piece is None:
                self._ended = True
                break
            pieces.append(piece)
            missing -= len(piece)
        self._text = "".join(pieces)
        return len(pieces) > 1

    def peek(self) -> str:
        """Return the next character that is not a space; empty at the end."""
        while True:
            match = _SPACE.match(self._text, self._at)
            assert match is not None
            self._at = match.end()
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._grow():
                return ""

    def take(self, expected: str) -> None:
        """Pass one of these characters.

        Raises:
            EndOfInput: there is nothing more.
            Damaged: something else stands there.
        """
        character = self.peek()
        if not character:
            raise EndOfInput
        if character not in expected:
            raise Damaged
        self._at += 1

    def value(self) -> Any:
        """Decode the next value whole.

        Raises:
            EndOfInput: the text ends inside it.
            Damaged: there is none, or it is longer than `MAX_VALUE`.
        """
        self.peek()
        while True:
            try:
                value, end = DECODER.raw_decode(self._text, self._at)
            except RecursionError:
                raise Damaged from None
            except ValueError:
                if len(self._text) - self._at > MAX_VALUE:
                    raise Damaged from None
            else:
                # A number at the very end of the window may go on in the next chunk.
                if end < len(self._text) or self._ended or isinstance(value, dict | list | str):
                    self._at = end
                    return value
            if not self._grow():
                raise EndOfInput

    def skip_to(self, pattern: re.Pattern[str]) -> bool:
        """Go to the end of the next match of a short pattern; False if there is none."""
        while True:
            match = pattern.search(self._text, self._at)
            if match:
                self._at = match.end()
                return True
            self._at = max(self._at, len(self._text) - _OVERLAP)
            if not self._grow():
                return False


def elements(chunks: Iterator[str], problems: Counter[str]) -> Iterator[Any]:
    """Yield the elements of a top-level array; what is behind a damaged place is counted and left."""
    reader = JsonReader(chunks)
    with _count_cut_off(problems):
        yield from array(reader)


@contextmanager
def _count_cut_off(problems: Counter[str]) -> Iterator[None]:
    """Count where the reading ends before the text does."""
    try:
        yield
    except EndOfInput:
        problems["cut off in the middle"] += 1
    except Damaged:
        problems["damaged JSON: the rest was not read"] += 1


def values(chunks: Iterator[str], problems: Counter[str]) -> Iterator[Any]:
    """Yield values that follow one another, as far as they are whole; what is behind a damaged place is counted and left."""
    reader = JsonReader(chunks)
    with _count_cut_off(problems):
        while reader.peek():
            yield reader.value()


def array(reader: JsonReader) -> Iterator[Any]:
    """Yield the elements of the array that comes next; raise what its damage is."""
    reader.take("[")
    while reader.peek() != "]":
        yield reader.value()
        if reader.peek() != "]":
            reader.take(",")
    reader.take("]")


# A file that is read as far as it can be: what is damaged is counted, what is too large is refused.

CHUNK = 1 << 20
HEAD = 1 << 16


class Source:
    """One file that holds JSON, perhaps a gigabyte of it, perhaps half of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_file():
            raise UsageError("there is no such file", at=str(path), hint=suggest_path(path))
        self.size = path.stat().st_size
        if not self.size:
            raise DataError("the file is empty", at=str(path))
        self.problems: Counter[str] = Counter()
        """What could not be read, by reason."""
        self.is_zip = is_zip(path)
        self._loaded = False
        self._document: Any = None
        self.head = "" if self.is_zip else next(self.chunks(HEAD), "")
        """The first characters, for detection."""

    def chunks(self, size: int = CHUNK, *, limit: int = MAX_UNPACKED) -> Iterator[str]:
        """Yield the text in pieces.

        Raises:
            DataError: it is larger than the limit, or a compression bomb.
        """
        decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
        total = 0
        for piece in pieces(self.path, size=size, damage=self._count):
            total += len(piece)
            if total > limit:
                raise self._too_large()
            text = decoder.decode(piece)
            if text:
                yield text
        text = decoder.decode(b"", final=True)
        if text:
            yield text

    def _count(self, reason: str) -> None:
        self.problems[reason] += 1

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
        return self.size <= MAX_DOCUMENT

    def lines(self, *, limit: int = MAX_UNPACKED) -> Iterator[Any]:
        """Yield the value of every line; what is not JSON is counted in `problems`."""
        for line in self._raw_lines(limit):
            if not line.strip():
                continue
            value = decode_json(line)
            if value is BAD:
                self.problems["not JSON (line)"] += 1
            else:
                yield value

    def _raw_lines(self, limit: int) -> Iterator[str]:
        pieces: list[str] = []
        length = 0
        for chunk in self.chunks(limit=limit):
            *ended, tail = chunk.split("\n")
            for piece in ended:
                if length <= MAX_VALUE:
                    yield "".join([*pieces, piece])
                pieces, length = [], 0
            length += len(tail)
            if length > MAX_VALUE and pieces:
                self.problems["longer than the limit (line)"] += 1
                pieces = []
            if length <= MAX_VALUE:
                pieces.append(tail)
        if pieces:
            yield "".join(pieces)

    def document(self) -> Any:
        """Return the whole file as one JSON value, or as the list of its lines.

        Raises:
            DataError: it is too large for that, or no JSON.
        """
        if self._loaded:
            return self._document
        if not self.is_small:
            raise self._too_large()
        if self.is_lines:
            self._document = list(self.lines(limit=MAX_DOCUMENT))
        else:
            self._document = self._whole()
        self._loaded = True
        return self._document

    def items(self) -> list[Any]:
        """Return the elements of the document; where it is not a list, the document itself as the only one.

        Raises:
            DataError: as `document`.
        """
        document = self.document()
        return document if isinstance(document, list) else [document]

    def remember(self, document: Any) -> None:
        """Keep the document that detection has decoded already."""
        self._document, self._loaded = document, True

    def _too_large(self) -> DataError:
        return DataError(
            f"more than {MAX_DOCUMENT >> 20} MiB are too many to read whole in this format",
            at=str(self.path),
            hint="only OTLP files and lines of spans are read as a stream",
        )

    def _whole(self) -> Any:
        text = "".join(self.chunks(limit=MAX_DOCUMENT))
        value = decode_json(text)
        if value is not BAD:
            return value
        if text.lstrip()[:1] == "[":
            # Half a file is still half the evidence: keep the elements that are complete.
            values = list(elements(iter([text]), self.problems))
            if values:
                return values
        try:
            json.loads(text)
        except RecursionError:
            reason = "it is nested too deeply"
        except ValueError as error:
            reason = str(error)
        raise DataError(f"not a JSON document: {reason}", at=str(self.path), hint="is the file complete?")
