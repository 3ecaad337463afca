"""Rows put aside in a temporary file, so that memory does not grow with them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from typing import Any


class RowSpool:
    """Rows put aside in a temporary file, by where they lie in it."""

    def __init__(self) -> None:
        """Make the file."""
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as this object

    def put(self, row: Mapping[str, object]) -> int:
        """Put a row aside; return where it lies."""
        offset = self._file.seek(0, 2)
        self._file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
        return offset

    def row(self, offset: int) -> dict[str, Any]:
        """Return the row that lies there."""
        self._file.seek(offset)
        row: dict[str, Any] = json.loads(self._file.readline())
        return row

    def close(self) -> None:
        """Drop the file."""
        self._file.close()
