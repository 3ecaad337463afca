"""One rater's file of labels: only ever added to, each label on the disk before it is said to be saved."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from markbook.errors import DataError, StorageError, UsageError
from markbook.files.jsonl import Rejection, read_jsonl
from markbook.judge.drawing import Drawn
from markbook.judge.labels import Key, Label, is_id, label_of
from markbook.store.disk import Disk, RealDisk

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_OPENINGS = (b'{"draw": "', b'{"against": "')
"""How every line begins that this writes: keys are sorted, and of a pair the other system comes first."""


def check_rater(name: str) -> None:
    """Refuse a rater's name that is no file's.

    Raises:
        UsageError: it is none.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r:.60} is no rater's name", hint="letters, digits, dots and dashes, 40 at most")


class LabelBook:
    """What a rater has said, by item, and the file where it stands."""

    def __init__(self, folder: Path, rater: str, disk: Disk | None = None) -> None:
        """Open the rater's file in a folder, or make it; a last line that was not written whole is taken off.

        Raises:
            UsageError: a name that is no file's.
            DataError: the file holds something else than this rater's labels.
            StorageError: it cannot be written.
        """
        check_rater(rater)
        self.rater = rater
        self.path = folder / f"{rater}.jsonl"
        self.labels: dict[Key, Label] = {}
        self.disk = disk or RealDisk()
        try:
            self._open()
        except OSError as error:
            raise StorageError(f"the labels cannot be written: {error.strerror}", at=str(self.path)) from error

    def _open(self) -> None:
        if not self.disk.exists(self.path):
            self.disk.close(self.disk.create(self.path))
            self.disk.sync_folder(self.path.parent)
            self._size = 0
            return
        data = b"".join(self.disk.chunks(self.path))
        complete = data[: data.rfind(b"\n") + 1]
        torn = data[len(complete) :]
        if not any(torn.startswith(opening[: len(torn)]) for opening in _OPENINGS):
            raise DataError("this is no file of labels: its last line is not one of ours", at=str(self.path))
        self._read(is_torn=bool(torn))
        self._size = len(complete)
        if len(complete) < len(data):
            self.disk.truncate(self.path, len(complete))

    def _read(self, *, is_torn: bool) -> None:
        lines = list(read_jsonl(self.path))
        if is_torn:
            lines = lines[:-1]
        for line in lines:
            if isinstance(line, Rejection):
                raise DataError(f"this is no file of labels: {line.reason}", at=line.at)
            if not is_id(line.record.get("id")) or line.record.get("rater") != self.rater:
                raise DataError(f"this is no file of labels by {self.rater}", at=line.at, hint="name another --labels")
            label = label_of(line)
            self.labels.pop(label.key, None)  # the one labelled last stands last
            self.labels[label.key] = label

    def put(self, label: Label) -> None:
        """Write a label down; returning means that it is on the disk.

        Raises:
            StorageError: it is not, and the file is as it was before.
        """
        line = json.dumps(label.record(), ensure_ascii=False, allow_nan=False, sort_keys=True).encode() + b"\n"
        try:
            file = self.disk.append(self.path)
            try:
                self.disk.write(file, line)
                self.disk.sync(file)
            except OSError:
                self.disk.truncate(self.path, self._size)
                raise
            finally:
                self.disk.close(file)
        except OSError as error:
            raise StorageError(f"the label is not saved: {error.strerror}", at=str(self.path)) from error
        self._size += len(line)
        self.labels.pop(label.key, None)  # the one labelled last stands last
        self.labels[label.key] = label

    def join(self, drawn: Iterable[Drawn], draw: str, rubric: str) -> None:
        """Take up a draw: what is labelled already gets the probabilities of this one.

        Raises:
            UsageError: labelled items are not among those drawn, or were labelled by another rubric.
        """
        other = next((label.rubric for label in self.labels.values() if label.rubric not in ("", rubric)), None)
        if other is not None:
            raise UsageError(
                f"{self.rater} has labelled by another rubric or scale: {other:.80}, and {rubric:.80} is asked for",
                at=str(self.path),
                hint="name another --labels, or the rubric that was used",
            )
        chances = {drawn_item.item.key: drawn_item.probability for drawn_item in drawn}
        strangers = [key for key in self.labels if key not in chances]
        if strangers:
            raise UsageError(
                f"{len(strangers)} items that {self.rater} has labelled are not in this draw; the first is {strangers[0][0]!r:.60}",
                at=str(self.path),
                hint="keep --seed, --score and --pair, and let --count only grow; or name another --labels",
            )
        for key, label in list(self.labels.items()):
            if label.draw != draw:
                self.put(replace(label, probability=chances[key], draw=draw))
