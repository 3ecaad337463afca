"""Published rows as other programs take them, and the values in them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, TypeVar, get_args

from markbook.errors import DataError, os_errors_as
from markbook.results.kind import Case, Content, Value, no_files
from markbook.text import cut
from markbook.text.schema import Check, make_check
from markbook.types import Missing, MissingKind

if TYPE_CHECKING:
    from markbook.store import Run


def collect_reasons(row: Mapping[str, object]) -> dict[str, Missing]:
    """Return why values of a row, or of a part of one, are missing: by the name of the value."""
    return {name: Missing.from_record(record) for name, record in _lost(row).items()}


def _lost(row: Mapping[str, object]) -> Mapping[str, Mapping[str, object]]:
    missing = row.get("missing")
    return missing if isinstance(missing, Mapping) else {}


def reasons_text(row: Mapping[str, object]) -> str:
    """Return why values of a row are missing, in one line."""
    return "; ".join(
        f"{name}: {reason.detail} ({reason.kind.replace('_', ' ')})" for name, reason in collect_reasons(row).items()
    )


def get_value(values: Mapping[str, object], name: str, row: Mapping[str, object]) -> float | Missing:
    """Return a value, or the reason that its row gives for having none."""
    value = values.get(name)
    if isinstance(value, int | float):
        # Whole numbers come back from JSON as int, and a mark is a float.
        return float(value)
    record = _lost(row).get(name)
    return Missing(MissingKind.ABSENT, "the row gives no reason") if record is None else Missing.from_record(record)


def flat_rows(rows: Iterable[Mapping[str, object]]) -> Iterator[dict[str, Value]]:
    """Yield published rows with nested fields joined by dots and lists as JSON."""
    for row in rows:
        flat: dict[str, Value] = {}
        _flatten("", row, flat)
        if "text" in row and "reply" in row:
            flat["answered"] = row["text"] is not None  # CSV has no word for null: an empty cell may be an empty answer
        yield flat


def _flatten(name: str, value: Any, flat: dict[str, Value]) -> None:
    if isinstance(value, dict) and len(name.split(".")) <= 4:
        for key, part in value.items():
            _flatten(f"{name}.{key}" if name else str(key), part, flat)
    else:
        own, count = name, 1
        while own in flat:  # a key may hold the dot that joins keys
            count += 1
            own = f"{name} ({count})"
        flat[own] = json.dumps(value, ensure_ascii=False, allow_nan=False) if isinstance(value, dict | list) else value


def _list_reasons(reasons: Mapping[str, Missing]) -> str:
    return "\n".join(f"{field}: {reason.kind}: {reason.detail}" for field, reason in reasons.items())


# A finished run of tasks or reviews, as its published files tell it.

SCHEMA = 2
"""The version of summary.json and results.jsonl."""


R = TypeVar("R", bound=Mapping[str, object])
S = TypeVar("S", bound=Mapping[str, object])


@dataclass
class FilesView(Generic[R, S]):
    """Rows (of the type R) and summary (S) of a run that publishes `results.jsonl` and `summary.json`."""

    run: Run
    _checked: tuple[int, int, int] | None = field(default=None, init=False, repr=False, compare=False)
    """Size, time and number of the file whose rows were all found to be of their type."""

    @property
    def manifest(self) -> Mapping[str, Any]:
        """What run.json holds."""
        return self.run.manifest

    @cached_property
    def summary(self) -> S:
        """What summary.json holds.

        Raises:
            DataError: another version of Markbook wrote it in another form.
        """
        path = self.run.folder / "summary.json"
        summary: S = _object(self.run.read("summary.json"), path, "")
        if summary.get("schema") != SCHEMA:
            raise DataError(
                f"another version of Markbook wrote this file: it has schema {summary.get('schema')}, and {SCHEMA} is read here",
                at=str(path),
                hint="mark the same inputs again with this version",
            )
        _check(summary, self._checks[1], path, "")
        return summary

    @cached_property
    def _checks(self) -> tuple[Check, Check]:
        """What rows and summary are held against: the types that this view has for them."""
        # Made as `FilesView[R, S](run)` the object knows its types; made by a subclass, the class does.
        own: Any = self.__dict__.get("__orig_class__") or type(self).__orig_bases__[0]  # type: ignore[attr-defined]  # of Generic
        row, summary = get_args(own)
        return make_check(row), make_check(summary)

    @property
    def command(self) -> str:
        """Which command made the run."""
        return str(self.manifest.get("command", "run"))

    def partial_note(self) -> str:
        """Return nothing: a run that broke off has published nothing."""
        return ""

    def overview(self) -> dict[str, object]:
        """Return what the run is and its main numbers as plain JSON."""
        return {
            "schema": 1,
            "command": self.command,
            "config": self.manifest.get("config", {}),
            "summary": self.summary,
        }

    def flat_rows(self) -> Iterator[Mapping[str, Value]]:
        """Yield the rows of results.jsonl, nested fields joined by dots, lists as JSON."""
        return flat_rows(self.rows())

    def cases(self) -> Iterator[Case]:
        """Yield one case a row: an error where a value is missing because something failed, skipped without any value."""
        for row in self.rows():
            reasons = collect_reasons(row)
            broken = {field: reason for field, reason in reasons.items() if reason.kind.is_ours}
            suite = str(row.get("model") or row.get("system") or self.command)
            name = str(row.get("id") or row.get("paper_id") or "")
            name = f"{row['task']}/{name}" if row.get("task") else name
            # The first attempt, number 0, goes by the sample's name alone.
            name += f" [{row['index']}]" if row.get("index") else ""
            detail = _list_reasons(broken)
            tests, metrics = row.get("tests"), row.get("metrics")
            metrics = metrics if isinstance(metrics, Mapping) else {}
            if broken:
                yield Case(suite, name, "error", f"{len(broken)} values are missing", detail)
            elif isinstance(tests, dict) and not tests.get("passed"):
                words = str(tests.get("error") or "the tests failed")
                yield Case(suite, name, "failure", words, str(tests.get("detail") or ""))
            elif not isinstance(tests, dict) and metrics and all(value is None for value in metrics.values()):
                first = next(iter(reasons.values()), Missing(MissingKind.ABSENT, "the row gives no reason"))
                yield Case(suite, name, "skipped", f"{first.kind}: {first.detail}", _list_reasons(reasons))
            else:
                yield Case(suite, name, "passed")

    def files(self, name: str) -> Mapping[str, Content]:
        """Return the files of a format that is not every run's.

        Raises:
            UsageError: this kind of run has none.
        """
        raise no_files(self.command, name)

    def located_rows(self, offset: int = 0) -> Iterator[tuple[int, R]]:
        """Yield the rows of results.jsonl from this place on, each with its own place in bytes."""
        with self._open_file() as file:
            file.seek(offset)
            for line in file:
                yield offset, self._row(line, f" at byte {offset}")
                offset += len(line)

    def row_at(self, offset: int) -> R:
        """Return the row that begins at this place.

        Raises:
            ValueError: none begins there.
        """
        with self._open_file() as file:
            # An address may be made up: a row read from its middle could look like another row.
            if offset < 0 or (offset > 0 and (file.seek(offset - 1), file.read(1))[1] != b"\n"):
                raise ValueError("no row begins there")
            file.seek(offset)
            return self._row(file.readline(), f" at byte {offset}")

    def _open_file(self) -> BinaryIO:
        with os_errors_as(DataError, f"{self._path.name} cannot be read", self._path):
            return self._path.open("rb")

    @cached_property
    def _path(self) -> Path:
        return self.run.folder / "results.jsonl"

    def rows(self) -> Iterator[R]:
        """Yield the rows of results.jsonl in order; what went through once is not checked again."""
        state = None
        with suppress(OSError):  # what cannot be read is reported by `lines`
            stat = self._path.stat()
            state = stat.st_size, stat.st_mtime_ns, stat.st_ino
        is_checked = state is not None and state == self._checked
        for number, line in enumerate(self.run.lines("results.jsonl"), 1):
            if line.strip():
                yield self._row(line, f" in line {number}", is_checked=is_checked)
        self._checked = state

    def _row(self, line: str | bytes, where: str, *, is_checked: bool = False) -> R:
        record: R = _object(line, self._path, where)
        if not is_checked:
            _check(record, self._checks[0], self._path, where)
        return record


def read_record(run: Run, name: str, kind: Any) -> Any:
    """Return what a published JSON file holds.

    Raises:
        DataError: it is not of this type.
    """
    path = run.folder / name
    record = _object(run.read(name), path, "")
    _check(record, make_check(kind), path, "")
    return record


def read_part(run: Run, name: str, kind: Any, default: Any) -> Any:
    """Return what run.json has under a key, the default where it has nothing.

    Raises:
        DataError: it is not of this type.
    """
    value = run.manifest.get(name)
    if value is None:
        return default
    if make_check(kind)(value) is not None:
        raise DataError(f"run.json is damaged: {name!r} is not what stands there", at=str(run.folder / "run.json"))
    return value


def _object(text: str | bytes, path: Path, where: str) -> Any:
    """Return the object that a text of a published file holds; DataError, with `where` as its place, if it holds none."""
    try:
        record = json.loads(text)
        # A half surrogate is valid JSON and cannot be encoded: every report of the run would break at it later.
        half = (b"\\ud", b"\\uD") if isinstance(text, bytes) else ("\\ud", "\\uD")
        if any(start in text for start in half):  # type: ignore[operator]  # both are of one kind
            json.dumps(record, ensure_ascii=False).encode()  # half a surrogate pair, which no report can hold
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path.name} is damaged{where}: {error}", at=str(path), hint=_AGAIN) from error
    if not isinstance(record, dict):
        raise DataError(f"{path.name} is damaged{where}: this is not an object", at=str(path), hint=_AGAIN)
    return record


def _check(record: object, check: Check, path: Path, where: str) -> None:
    """Raise a data error where an object of a published file is not of its type."""
    if (problem_path := check(record)) is not None:
        raise DataError(
            f"{path.name} is damaged{where}: {cut(problem_path.removeprefix('.'), 80)!r} is not what stands there", at=str(path),
            hint=_AGAIN,
        )  # fmt: skip


_AGAIN = "the command that made the run, with --resume, writes it again"
