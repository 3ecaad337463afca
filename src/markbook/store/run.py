"""Writing a run, and taking one up again.

Theory of operation
-------------------
A run folder has three parts, written in this order:

- `run.json`, the manifest: command, config and the SHA-256 of every input, with one digest over them (`identity`). It is
  written first with the status `running`, so that a folder always says what made it.
- `journal/`, the results as they come in. Each is a row with a key, such as model, problem and number of the attempt.
- The reports and `summary.json`, each replaced as a whole (`publish`), and last `run.json` again with its final status and
  the *seal*: size, rows and checksum of each of the journal's files (`integrity`). This last rename is the moment at which
  the run is finished; before it the run is resumable, after it nothing of it changes.

Taking up again (`resume`) needs no other state than these files. The lock is taken first. The manifest must have the same
identity: the same rows would else be mixed with those of another config or of inputs that changed. A key that an
earlier version did not write is passed over, and that is said (`Manifest.recent`). If the run was finished, its journal is
compared with the seal, and damage is repaired by keeping the whole rows. Then the journal is reopened: its keys are what is
done, and a caller asks `has` before it does any work. Rows are added at most once for a key, also by several threads, so a
resumed run ends with the same rows as one that was never interrupted.

Leaving the writer by an exception syncs what waits and marks the run `interrupted`; a killed process leaves `running`. Both are
resumed in the same way, because only the journal says what is done.
"""

from __future__ import annotations

import json
import logging
import platform
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any, Self

from markbook.errors import OutputError, StorageError, UsageError
from markbook.installed import version
from markbook.store import integrity
from markbook.store.disk import Disk, FolderLock, replace_file
from markbook.store.journal import Journal, KeySet, StoredRow, encode, locate, read, row_at
from markbook.store.reader import SCHEMA, digest_identity, read_manifest
from markbook.types import Key

_log = logging.getLogger(__name__)

Content = str | bytes | Iterable[str] | Iterable[bytes]


@dataclass(frozen=True, slots=True)
class Manifest:
    """What makes a run the same run: resuming it needs the same command, config and inputs."""

    command: str
    """exam, run or review."""
    config: Mapping[str, Any]
    """Every option that can change a result, resolved; no secrets, and nothing like the number of workers."""
    inputs: Mapping[str, str]
    """What was read, each with the SHA-256 of its content."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What a reader wants to know and resuming does not depend on (isolation, paths, worker count)."""
    recent: Sequence[str] = ()
    """Keys of `config` and `inputs` that earlier versions did not write: a run without them is resumed, unchecked, and that is said."""

    @property
    def identity(self) -> str:
        """One digest over command, config and inputs."""
        return digest_identity(self.command, self.config, self.inputs)


class RunWriter:
    """The one writer of a run folder; a context manager. Several threads of its process may add rows.

    Leaving it with an exception marks the run `on_interrupt`: everything acknowledged is kept and `resume` goes on.
    """

    def __init__(self, folder: Path, manifest: Manifest, lock: FolderLock, disk: Disk) -> None:
        """Use `create` or `resume`."""
        self.folder = folder
        self.manifest = manifest
        self.cut_bytes = 0
        """Bytes of the resumed run's journal that held no whole row."""
        self.was_done = False
        """Whether the resumed run had finished already."""
        self._lock = lock
        self._disk = disk
        self._started = _now()
        self._clock_start = time.monotonic()
        self._old = KeySet(())
        self._new: set[tuple[str, Key]] = set()
        self._adding = threading.Lock()
        self._published: dict[str, integrity.Segment] = {}
        self._journal: Journal

    @classmethod
    def create(cls, output: Path, manifest: Manifest, *, disk: Disk | None = None) -> Self:
        """Make a new run folder `<output>/evaluation_<unix seconds>` and open it.

        Raises:
            OutputError: the folder cannot be made or written; no work was done.
        """
        disk = disk or Disk()
        try:
            disk.make_parents(output)
            folder = stem = output / f"evaluation_{int(time.time())}"
            attempt = 1
            while True:
                try:
                    disk.make_folder(folder)
                    break
                except FileExistsError:  # another run of this second
                    attempt += 1
                    folder = stem.with_name(f"{stem.name}_{attempt}")
            disk.sync_folder(output)
            writer = cls(folder, manifest, disk.lock(folder), disk)
            try:
                writer._journal = Journal.start(disk, folder / "journal")
                writer._write_manifest("running", {})
            except BaseException:
                writer._lock.release()
                raise
        except OSError as error:
            raise OutputError(
                f"the output cannot be written: {error.strerror or error}",
                at=str(output),
                hint="name a folder you may write to with --output",
            ) from error
        return writer

    @classmethod
    def resume(cls, folder: Path, manifest: Manifest, *, disk: Disk | None = None) -> Self:
        """Open a run folder again; what its journal holds is done.

        Raises:
            UsageError: it is not a run folder, or another command, config or input made it.
            RunInUseError: another process works in it.
            OutputError: it cannot be written.
        """
        disk = disk or Disk()
        if not disk.is_folder(folder):
            raise UsageError("there is no such run folder to resume", at=str(folder))
        lock: FolderLock | None = None
        try:
            lock = disk.lock(folder)
            writer = cls(folder, manifest, lock, disk)
            old = read_manifest(disk, folder)
            if old is None and not folder.name.startswith("evaluation_"):
                raise UsageError("this is not a run folder: it has no run.json", at=str(folder))
            if old is not None:
                _check_same(old, manifest, folder)
                if isinstance(started := old.get("started"), str):
                    writer._started = started
                damage = integrity.find_damage(disk, folder, old)
                if damage is not None:
                    n_rows, written = integrity.repair(disk, folder, old)
                    lost = f"{written - n_rows} of {written} rows are lost and done again"
                    _log.warning(
                        "%s was damaged at byte %d: %s; %s",
                        damage.path,
                        damage.byte,
                        damage.why,
                        lost if n_rows < written else "all its rows are whole",
                    )
                writer.was_done = old.get("status") == "done" and damage is None
            if not writer.was_done:  # nothing of a finished run is done again: its seal stays
                writer._write_manifest("running", {})
            writer._journal, writer._old, writer.cut_bytes = Journal.reopen(disk, folder / "journal")
        except BaseException as error:
            if lock is not None:
                lock.release()
            if isinstance(error, OSError):
                raise OutputError(f"the run cannot be written: {error.strerror or error}", at=str(folder)) from error
            raise
        if writer.cut_bytes:
            _log.warning(
                "%s broke off: %d bytes of its journal hold no whole row; what they held is done again",
                folder,
                writer.cut_bytes,
            )
        return writer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self._journal.close()
            if kind is not None:
                self._write_manifest("interrupted", {"reason": kind.__name__})
        except (OSError, StorageError):
            if kind is None:
                raise  # with an exception on its way, the disk's fault must not hide it
        finally:
            self._lock.release()

    @property
    def is_resumed(self) -> bool:
        """Whether the journal held anything when it was opened."""
        return len(self._old) > 0

    def has(self, kind: str, key: Key) -> bool:
        """Whether a row of this key is in the journal, from before a resume or added now."""
        return (kind, key) in self._new or (kind, key) in self._old

    def was_there(self, kind: str, key: Key) -> bool:
        """Whether the resumed run had acknowledged a row of this key; 16 bytes a key, for very large runs."""
        return (kind, key) in self._old

    def add(self, kind: str, key: Key, data: Mapping[str, object], *, remember: bool = True) -> None:
        """Append a row, strings and whole numbers as its key within its kind, unless that is there already; no NaN.

        `remember`: keep the key for `has`; a caller that never adds a key twice may save the memory.

        Raises:
            StorageError: the journal cannot be written; what was acknowledged is safe.
        """
        with self._adding:  # two threads that have the same row to add may not both find it absent
            if self.has(kind, key):
                return
            self._journal.add(kind, key, data)
            if remember:
                self._new.add((kind, key))

    def commit(self) -> None:
        """Return when everything added so far would survive a power cut."""
        self._journal.commit()

    def rows(self, kind: str) -> Iterator[StoredRow]:
        """Yield the rows of a kind in journal order, read back from disk."""
        self.commit()
        return (row for row in read(self._disk, self.folder / "journal") if row.kind == kind)

    def locate_all(self) -> Iterator[tuple[int, StoredRow]]:
        """Yield the rows of every kind in journal order, each with its location for `row_at`."""
        self.commit()
        return locate(self._disk, self.folder / "journal")

    def row_at(self, location: int) -> StoredRow:
        """Return the row at a location, so that any order needs 8 bytes a row and not the rows."""
        return row_at(self._disk, self.folder / "journal", location)

    def publish(self, files: Mapping[str, Content]) -> None:
        """Write reports, each whole or not at all; the paths within the run folder are ours, never a model's words.

        Raises:
            StorageError: a file cannot be written; the others stand, and the run stays resumable.
        """
        self.commit()
        for name, content in files.items():
            path = self.folder / PurePosixPath(name)
            try:
                self._make_folders(path.parent)
                pieces = [content] if isinstance(content, bytes | str) else content
                written = integrity.Sealing(
                    name, (piece.encode() if isinstance(piece, str) else piece for piece in pieces)
                )
                replace_file(self._disk, path, written)
                if name in integrity.READ_BACK:
                    self._published[name] = written.segment
            except OSError as error:
                raise _storage_error("a report", path, error) from error

    def finish(self, status: str = "done", extra: Mapping[str, object] | None = None) -> None:
        """Write run.json with its final status: the mark that everything before it is complete.

        Raises:
            StorageError: it cannot be written; the run stays resumable.
        """
        self.commit()
        try:
            segments = [integrity.Segment(*segment) for segment in self._journal.contents()]
            sealed = {
                integrity.KEY: integrity.records(segments),
                integrity.FILES: integrity.records(list(self._published.values())),
            }
            self._write_manifest(status, {**(extra or {}), **sealed})
        except OSError as error:
            raise _storage_error("run.json", self.folder / "run.json", error) from error

    def _make_folders(self, folder: Path) -> None:
        if folder == self.folder:
            return
        self._make_folders(folder.parent)
        if not self._disk.exists(folder):
            self._disk.make_folder(folder)
            self._disk.sync_folder(folder.parent)
        elif not self._disk.is_folder(folder):
            raise OSError(f"{folder} is not a folder, and links are not followed inside a run")

    @property
    def facts(self) -> dict[str, Any]:
        """What run.json says of the run from its beginning on."""
        return {
            "schema": SCHEMA,
            "markbook": version(),
            "python": platform.python_version(),
            "platform": platform.platform(),
            "command": self.manifest.command,
            "config": dict(self.manifest.config),
            "inputs": dict(self.manifest.inputs),
            "identity": self.manifest.identity,
            "started": self._started,
            **self.manifest.extra,
        }

    def _write_manifest(self, status: str, extra: dict[str, object]) -> None:
        seconds = round(time.monotonic() - self._clock_start, 3)
        record = {**self.facts, "status": status, "updated": _now(), "seconds": seconds, **extra}
        text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        # A file's name need not be UTF-8: what of it is not becomes a question mark.
        replace_file(self._disk, self.folder / "run.json", [text.encode(errors="replace")])


def _storage_error(what: str, path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"{what} cannot be written: {error.strerror or error}",
        at=str(path),
        hint="mend the disk, then run again with --resume",
    )


def _check_same(old: Mapping[str, object], manifest: Manifest, folder: Path) -> None:
    if old.get("identity") == manifest.identity:
        return
    before, digests = (own if isinstance(own := old.get(part), Mapping) else {} for part in ("config", "inputs"))
    absent = [name for name in manifest.recent if name in manifest.config and name not in before]
    if not any(name in digests for name in manifest.recent):  # one that keeps some files' digests keeps all
        absent += [name for name in manifest.recent if name in manifest.inputs]
    config, inputs = ({key: new[key] for key in new if key not in absent} for new in (manifest.config, manifest.inputs))
    if absent and old.get("identity") == digest_identity(manifest.command, config, inputs):
        names = ", ".join(absent)
        _log.warning(
            "%s: an earlier version made this run and kept no %s: what belongs to it is not checked", folder, names
        )
        return
    if old.get("command") != manifest.command:
        what = f"it was made by `markbook {old.get('command')}`"
    else:
        changed: list[str] = []
        for part, own, new in (("config", before, manifest.config), ("inputs", digests, manifest.inputs)):
            both = sorted({*own, *new})
            changed += [f"{part}.{name}" for name in both if encode(own.get(name)) != encode(new.get(name))]
        what = "what differs: " + ", ".join(changed[:8])
    raise UsageError(
        f"this run cannot be resumed with these arguments; {what}",
        at=str(folder),
        hint="give the arguments it was started with, or leave out --resume for a new run",
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
