"""A cassette: what judges answered, kept so that a run can be repeated without them.

Theory of operation
-------------------
A file of JSON Lines: a header, one answer a line by the key of its call, and a last line once the recording was whole. The key is
the digest of everything that decides an answer (model, texts, schema, settings, mode, number of the sample, version of the
prompts), so a changed rubric or text finds nothing instead of an answer to another question.

The file says by itself in which of three states it is:

- not there: it is recorded;
- broken off (no last line): what it holds is replayed and the rest is asked and recorded further;
- whole: it is only replayed. A call that it lacks is missing, never asked: a replay needs no key, no network and no money, and
  says the same on every machine.

A line is appended and the file closed before an answer counts, so a killed run loses none that was paid for. A kill can tear
only the line that was being written, so a torn last line is cut off and any other bad line is an error. When the recording is
complete, the file is written anew, sorted by key and with its last line, under another name and moved into place: the order in
which judges answered leaves no trace, two recordings of the same answers are equal byte by byte, and a kill leaves either the
broken-off file or the whole one. Only lasting answers are recorded, those that asking again would bring again; a server that
was down is asked again by the next run.

A recorded answer is checked as strictly as a fresh one (`judge.client`): a cassette edited by hand earns no mark that a
judge could not have given.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from markbook.errors import DataError, OutputError, StorageError, os_errors_as

FORMAT = "markbook-cassette"
VERSION = 1
_CAP = 512 << 20
_LAST_LINE = 4096


def is_whole(path: Path) -> bool:
    """Return whether a file ends as a finished recording does, without reading the rest of it."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _LAST_LINE))
            last = file.read().rstrip().rpartition(b"\n")[2]
        record = json.loads(last)
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(record, dict) and record.get("whole") is True


class Cassette:
    """Answers by call key, kept in one file."""

    def __init__(self, path: Path) -> None:
        """Read a cassette, or start one.

        Raises:
            DataError: the file is not a cassette.
            OutputError: a new one cannot be written.
        """
        self.path = path
        self.recorded = 0
        self._answers: dict[str, Mapping[str, object]] = {}
        self._glue = ""
        """What has to come before the next line: a recording killed between a line and its end left none."""
        self.is_whole = False
        """Whether it is replayed only."""
        # A name that is too long, or a folder that nobody may look into.
        with os_errors_as(OutputError, "the cassette cannot be written", path):
            is_there = path.exists()
        if is_there:
            self._load()
        else:
            self._write_new()

    def find(self, key: str) -> Mapping[str, object] | None:
        """Return the recorded answer of a call."""
        return self._answers.get(key)

    def record(self, key: str, answer: Mapping[str, object]) -> None:
        """Keep an answer; the system has it when this returns. The first one for a key stands.

        Raises:
            StorageError: it cannot be written; what was recorded before stands.
        """
        if self.is_whole or key in self._answers:
            return
        self._answers[key] = dict(answer)
        self.recorded += 1
        with _storage(self.path), self.path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(self._glue + _line({"key": key, "answer": answer}))
        self._glue = ""

    def close(self, *, is_complete: bool) -> None:
        """Finish a recording; if it is whole, sort it and mark it so.

        Raises:
            StorageError: it cannot be written; what was recorded stands.
        """
        if self.is_whole or not is_complete:
            return
        lines = [_line({"key": key, "answer": self._answers[key]}) for key in sorted(self._answers)]
        text = "".join((_header(), *lines, _line({"whole": True, "answers": len(lines)})))
        with _storage(self.path):
            handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=self.path.name, suffix=".new")
            try:
                with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                    file.write(text)
                    file.flush()
                    os.fsync(file.fileno())
                Path(name).replace(self.path)
            finally:
                Path(name).unlink(missing_ok=True)
        self.is_whole = True

    def _write_new(self) -> None:
        with os_errors_as(OutputError, "the cassette cannot be written", self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(_header(), encoding="utf-8", newline="\n")

    def _load(self) -> None:
        with os_errors_as(DataError, "the cassette cannot be read", self.path):
            if self.path.stat().st_size > _CAP:
                raise DataError("this cassette is larger than 512 MiB", at=str(self.path))
            lines = self.path.read_bytes().split(b"\n")
        if _header().encode().startswith(b"\n".join(lines)):
            self._write_new()  # the recording was killed in its very first line
            return
        for number, raw in enumerate(lines, start=1):
            if not raw.strip():
                continue
            try:
                record = json.loads(raw)
            except (ValueError, RecursionError) as error:
                # Only the last line may be torn: the recording was killed while writing it.
                if number >= len(lines) and number > 1:
                    self._cut(len(raw))
                    lines[-1] = b""
                    break
                raise DataError(f"this is not a line of a cassette: {error}", at=f"{self.path}:{number}") from error
            at = f"{self.path}:{number}"
            if not isinstance(record, dict):
                raise DataError("this is not a line of a cassette", at=at)
            if number == 1:
                if record.get("format") != FORMAT or record.get("version") != VERSION:
                    raise DataError("this file is not a cassette of this version", at=at)
            elif record.get("whole") is True:
                self.is_whole = True
            elif isinstance(record.get("key"), str) and isinstance(record.get("answer"), dict):
                self._answers.setdefault(record["key"], record["answer"])
            else:
                raise DataError("this is not a line of a cassette", at=at)
        self._glue = "\n" if lines[-1] else ""

    def _cut(self, length: int) -> None:
        with self.path.open("rb+") as file:
            file.seek(-length, os.SEEK_END)
            file.truncate()


@contextlib.contextmanager
def _storage(path: Path) -> Iterator[None]:
    """Turn an error of the disk into ours, with the path."""
    try:
        yield
    except OSError as error:
        hint = "mend the disk, then run again: what was recorded is replayed"
        raise StorageError(
            f"the cassette cannot be written: {error.strerror or error}", at=str(path), hint=hint
        ) from error


def _header() -> str:
    return _line({"format": FORMAT, "version": VERSION})


def _line(record: Mapping[str, object]) -> str:
    return json.dumps(record, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
