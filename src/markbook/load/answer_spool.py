"""Answers put aside in a temporary file, so that memory does not grow with them."""

from __future__ import annotations

import json
import tempfile
from typing import TypedDict


class SpooledAnswer(TypedDict):
    """What is put aside of an answer."""

    text: str
    step: str
    form: str
    at: str
    n: int | None
    language: str


class AnswerSpool:
    """Answers in a temporary file, by where they lie in it."""

    def __init__(self) -> None:
        """Make the file."""
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as this object

    def put(self, row: SpooledAnswer) -> int:
        """Put an answer aside; return where it lies."""
        offset = self._file.seek(0, 2)
        self._file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
        return offset

    def row(self, offset: int) -> SpooledAnswer:
        """Return the answer that lies there."""
        self._file.seek(offset)
        row: SpooledAnswer = json.loads(self._file.readline())
        return row

    def close(self) -> None:
        """Drop the file."""
        self._file.close()
