"""Standard output and error as a command wants them: whoever stops reading ends no run, and what cannot be written is said."""

from __future__ import annotations

import io
import logging
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

from markbook.errors import StorageError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class LineFormatter(logging.Formatter):
    """Writes what is logged as one line: foreign words in it cannot move the cursor or begin another."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        """Return the line; a traceback behind it keeps its lines."""
        from markbook.text import terminal

        return terminal(super().formatMessage(record))


class _Stream(io.FileIO):
    """A stream whose reader may leave: what comes after goes nowhere, and gates are held all the same."""

    def write(self, data: ReadableBuffer, /) -> int:
        """Write; what nobody reads any more counts as written, and so does progress that cannot be shown.

        Raises:
            StorageError: standard output has a reader and cannot be written.
        """
        try:
            return super().write(data)
        except BlockingIOError:
            raise
        except OSError as error:
            # The reader has left (`markbook ... | head`): the run goes on, since gates and reports do not depend on who watches.
            self._leave()
            if self.fileno() == 1 and not isinstance(error, BrokenPipeError):
                raise StorageError(f"standard output cannot be written: {error.strerror or error}") from error
            # All of it counts as written, or the buffer above would try the rest again.
            return memoryview(data).nbytes

    def _leave(self) -> None:
        with suppress(OSError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            # In place of the old one: whatever is still in a buffer above then goes nowhere instead of failing again.
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)


def prepare() -> None:
    """Put both streams in place of Python's, as far as these are the process's own.

    A character that the terminal's encoding lacks, or half of one out of a foreign file, is written by its number.
    """
    # Let nothing of ours get the number of a standard stream that the caller has closed
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
    sys.stdout = _prepare_stream(sys.stdout, 1)
    sys.stderr = _prepare_stream(sys.stderr, 2)


def _prepare_stream(stream: TextIO | None, number: int) -> TextIO:
    if stream is None:  # closed by the caller
        # `closefd=False`: the number belongs to the process, and a wrapper that is thrown away must not close it.
        return io.TextIOWrapper(io.BufferedWriter(_Stream(number, "w", closefd=False)), encoding="utf-8")
    try:
        is_own = isinstance(stream, io.TextIOWrapper) and stream.fileno() == number
    except (OSError, ValueError):
        is_own = False
    if not isinstance(stream, io.TextIOWrapper) or not is_own:
        return stream  # somebody else's, who catches what is written
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Stream(number, "w", closefd=False)),
        encoding=stream.encoding,
        errors="backslashreplace",
        # Errors and progress are seen when they are written, also where stderr is a file.
        line_buffering=stream.line_buffering or number == 2,
    )
