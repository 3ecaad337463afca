"""Results of other tools as rows of our own, and which reader a file needs."""

from __future__ import annotations

import functools
import json
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from markbook import plugins
from markbook.errors import DataError, MarkbookError, UsageError
from markbook.files.content import MAX_DOCUMENT, MAX_VALUE, SPACE, is_zip, pieces, whole
from markbook.files.jsonl import Line, Rejection, parse_object, read_jsonl
from markbook.files.spool import Spool
from markbook.files.tables import read_table
from markbook.marks import OTHER_TOOL, RIGHT_ANSWER, Column, Row
from markbook.measurements import choose_direction, note_direction
from markbook.text import cut
from markbook.types import Direction, Missing, MissingKind, digest_text

# What a reader of another tool's results sees of a file, and what it gives.

SHOWN = 2_000
"""Characters of an input and of an answer that are kept to be shown; what they are known by is made of the whole."""
HEAD = 1 << 16
_WIDE = 4 << 20
"""Bytes that are looked into where the first of them say a part of what is looked for: a first row may be long."""
_MOST_ABSENT = 1_000_000
PLACE = re.compile(r"(?:.*_)?(?:path|dir|directory|folder|file(?:path|name)?)s?(?:_name|_to_.*)?")
"""Names of settings that say where something lay."""
UNBOUNDED = (-math.inf, math.inf)


@dataclass(frozen=True)
class ResultsProbe:
    """A file that may hold results."""

    path: Path
    columns: Mapping[str, str] | None = None
    """Which column says what, where the user told it."""

    @cached_property
    def head(self) -> str:
        """The first characters; empty for a zip."""
        return self._start(HEAD)

    @property
    def opening(self) -> str:
        """The first character that is not white space: `{` of an object, `[` of an array."""
        return self.head.lstrip()[:1]

    @cached_property
    def _wide(self) -> str:
        return self._start(_WIDE)

    def _start(self, size: int, end: bytes | None = None) -> str:
        """Return the first characters: so many bytes of them, or up to an end that comes earlier."""
        if self.is_zip:
            return ""
        read_pieces: list[bytes] = []
        # In pieces and decompressed as far as needed: detection must not read a gigabyte to see a key.
        for piece in pieces(self.path, size=min(size, HEAD), damage=lambda _: None):
            read_pieces.append(piece)
            size -= len(piece)
            if size <= 0 or (end is not None and end in piece):
                break
        return b"".join(read_pieces).decode("utf-8-sig", errors="replace")

    @cached_property
    def is_zip(self) -> bool:
        """Whether it is a zip with something in it."""
        return is_zip(self.path)

    @cached_property
    def first(self) -> Mapping[str, object]:
        """The object on the first line, where there is one."""
        head = self.head
        # A first row may be longer than the head: JSON Lines are then read up to their first line break.
        if "\n" not in head and self.path.name.removesuffix(".gz").endswith(".jsonl"):
            head = self._start(MAX_VALUE, b"\n")
        parsed = parse_object(head.partition("\n")[0].strip().encode(), "", numbers="open")
        return parsed.record if isinstance(parsed, Line) else {}

    def has(self, *keys: str) -> bool:
        """Whether all these keys stand in the first characters; some of them may stand behind a long value."""
        lacking = [key for key in keys if f'"{key}"' not in self.head]
        # Where none of the keys is in the head the file is of another sort, and no more of it is read.
        if not lacking or len(lacking) == len(keys):
            return not lacking
        return all(f'"{key}"' in self._wide for key in lacking)

    def has_rows(self, columns: Mapping[str, str]) -> bool:
        """Whether a row has both the item and the score that were named: in JSON Lines it need not be the first."""
        wanted = {columns[role] for role in ("item", "score") if role in columns}
        lines = read_table(self.path, numbers="open")
        try:
            return any(isinstance(line, Line) and wanted <= line.record.keys() for line in lines)
        except MarkbookError:  # a document or a zip has no rows of columns
            return False

    @cached_property
    def document(self) -> Any:
        """The whole file as one JSON value; NaN and the infinities are None.

        Raises:
            DataError: it is not JSON or UTF-8, too large or nested too deeply, or an object holds a key twice.
        """
        content = whole(self.path, limit=MAX_DOCUMENT).strip(SPACE)
        is_object = content.startswith(b"{")
        # `parse_object` takes objects only, so an array is read as the one value of an object.
        parsed = parse_object(content if is_object else b'{"":' + content + b"}", str(self.path), numbers="open")
        if isinstance(parsed, Rejection):
            raise DataError(parsed.reason, at=str(self.path), hint="is the file complete?")
        return parsed.record if is_object else parsed.record[""]


class MarkedRows(Spool[Row]):
    """A file's rows in their order; where there are many, they lie in a temporary file."""

    def __init__(self, rows: Iterable[Row] = (), *, counts: bool = False) -> None:
        """Take the first rows.

        Args:
            rows: the first of them.
            counts: whether the attempts of one model at one sample are counted, because the format does not number them.
        """
        self._seen: Counter[tuple[str, str]] | None = Counter() if counts else None
        self._scores: dict[int, int] = {}
        self.nameless = 0
        """Rows that do not say which sample they are of: they are left out, for together they would be one."""
        self.repeated = 0
        """Rows of an attempt that there is a row of already: they are left out."""
        self.contradiction = ""
        """The first attempt of which one of these has other scores than its first row, in words; empty if none has."""
        self.inside: dict[str, bool] = {}
        """Of each metric whether all its values lie in 0..1."""
        self.covered: Counter[str] = Counter()
        """Of each metric how many rows have it, or a reason for its absence."""
        super().__init__(rows)

    def append(self, record: Row) -> None:
        """Add a row."""
        if not record.id.strip():
            self.nameless += 1
            return
        if self._seen is not None:
            at = (record.model, record.id)
            if index := self._seen[at]:
                record = replace(record, index=index)
            self._seen[at] += 1
        else:
            # 64 bits of each, so that memory does not follow the names
            key = hash((record.model, record.id, record.index))
            scores = hash(repr([(name, getattr(value, "kind", value)) for name, value in record.metrics.items()]))
            if key in self._scores:
                self.repeated += 1
                if self._scores[key] != scores and not self.contradiction:
                    self.contradiction = f"model {record.model!r}, item {record.id!r}, attempt {record.index + 1}"
                return
            self._scores[key] = scores
        _note_range(self.inside, record)
        self.covered.update(list(record.metrics))
        super().append(record)


def _note_range(inside: dict[str, bool], row: Row) -> None:
    for name, value in row.metrics.items():
        inside[name] = inside.get(name, True) and (isinstance(value, Missing) or 0 <= value <= 1)


@dataclass(frozen=True)
class Marked:
    """What another tool's file holds."""

    rows: Sequence[Row]
    columns: Mapping[str, Column]
    """Its metrics, the main one first."""
    version: str = ""
    """Which form of the format it is."""
    lost: Mapping[str, int] = field(default_factory=dict)
    """What could not be read, by reason."""
    notes: tuple[str, ...] = ()
    signatures: Mapping[str, str] = field(default_factory=dict)
    """By task what the tool says of how it was measured, to be held against another file of the same tool."""
    metric_signatures: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By metric, then by task, what it says beside that of this metric alone."""

    @cached_property
    def models(self) -> list[str]:
        """The models' names, in order."""
        return list(dict.fromkeys(row.model for row in self.rows))


class ResultsReader(Protocol):
    """One format."""

    name: str

    def sniff(self, probe: ResultsProbe) -> int:
        """Return how sure it is that the file is its own, 0 to 100; from its beginning only."""

    def read(self, probe: ResultsProbe) -> Marked:
        """Return what the file holds. A row without a value has a reason instead."""


_HUGE = 1e300
_DESCRIBED = 40
"""Characters of a setting that a signature holds as they are."""
_MOST_NAMED = 10
"""Metrics that a note names."""


def read_value(value: object) -> float | Missing:
    """Return a number, 1 or 0 for true or false; a reason for whatever else stands there."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int | float):
        if abs(value) < _HUGE:  # an absurd integer would overflow as a float; NaN is below nothing
            return float(value)
        return Missing(MissingKind.UNDEFINED, f"the score is {cut(str(value), 60)}")
    if value is None:
        return Missing(MissingKind.UNDEFINED, "the file gives no number")
    return Missing(MissingKind.UNDEFINED, f"the score is not a number but {cut(str(value), 60)!r}")


def read_records(path: Path, lost: Counter[str]) -> Iterator[Mapping[str, object]]:
    """Yield the objects of a file of JSON Lines; lines that are none are counted among what is lost."""
    for line in read_jsonl(path, numbers="open"):
        if isinstance(line, Rejection):
            lost[line.reason] += 1
        else:
            yield line.record


def missing_failure(why: object) -> Missing:
    """Return the reason of a sample that broke off."""
    return Missing(MissingKind.FAILED, cut(" ".join(str(why).split()), 300))


def contradiction_error(attempt: str, at: str) -> DataError:
    """Return the error of a file in which two rows of one attempt have different scores: nothing tells which of them holds."""
    hint = "give each attempt a number of its own, or keep the row that holds"
    return DataError(f"two rows of one attempt have different scores: {attempt}", at=at, hint=hint)


def check_plan(absent: int, path: Path) -> None:
    """Raise a data error where a file says that more samples are absent than any run plans: each becomes a row."""
    if absent > _MOST_ABSENT:
        raise DataError(
            f"{absent:,} samples of its plan have no row, more than {_MOST_ABSENT:,}",
            at=str(path),
            hint="is it damaged?",
        )


ABSENT = Missing(MissingKind.ABSENT, "the tool planned this sample and gave no row for it")


def words(value: object) -> str:
    """Return what was asked or said as text: messages by their content."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(message, dict) and "content" in message for message in value):
        return "\n".join(words(message["content"]) for message in value)
    return "" if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)


def cut_text(value: object) -> str:
    """Return the part of a text that is kept."""
    return cut(words(value), SHOWN)


def digest_input(by: str, value: object) -> str:
    """Return what an input is known by; empty where there is none."""
    text = words(value)
    return f"{by}:{digest_text(text)}" if text else ""


def sign_measure(tool: str, facts: Mapping[str, object]) -> str:
    """Return the signature of what a tool's file says of how it measured; what is None it does not say."""
    return "|".join(filter(None, [f"{OTHER_TOOL}{tool}", sign_facts(facts)]))


def sign_metrics(facts: Mapping[str, Mapping[str, object]]) -> dict[str, dict[str, str]]:
    """Return what a file without tasks says of each metric alone, as a `Marked` has it."""
    return {metric: {"": sign_facts(own)} for metric, own in facts.items()}


def sign_facts(facts: Mapping[str, object]) -> str:
    """Return facts as parts of a signature."""
    parts = []
    for name, value in facts.items():
        # 1 and 1.0 are one number; a function is noted by its source, or by where it lay in memory.
        number = int(value) if isinstance(value, float) and value.is_integer() else value
        is_plain = isinstance(value, str) and value == " ".join(value.split()) != ""
        text = str(value) if is_plain else json.dumps(number, sort_keys=True, ensure_ascii=False)
        text = re.sub(r" at 0x[0-9a-fA-F]+", "", text)
        is_short = len(text) <= _DESCRIBED and "|" not in text
        if value is not None:
            parts.append(f"{re.sub('[|:]', ' ', name)}:{text if is_short else f'#{digest_text(text)[:8]}'}")
    return "|".join(parts)


RightAnswers = list[tuple[tuple[str, str], list[object]]]
"""By each sample's id and content, in the order of the file."""
Prompts = dict[tuple[str, str], dict[str, str]]
"""By each sample's id and content what is known of what was asked, by its kind."""
TEMPLATE = re.compile(
    r"<[|\uff5c](?!fim)[\w\u2581]+[|\uff5c]>|\[INST\]|<start_of_turn>|^\s*\[\{\W+(?:role|content)\W|\bUSER: [\s\S]*\bASSISTANT:\s*\Z"
)
"""What a chat template puts around a prompt."""


def sign_answers(
    tool: str, answers: RightAnswers, prompts: Mapping[tuple[str, str], Mapping[str, str]] = MappingProxyType({})
) -> dict[str, str]:
    """Return by sample the signature of its right answers and its prompt, which `Marked.signatures` holds as it does those of tasks."""
    texts: dict[tuple[str, str], set[str]] = {}
    for sample, right in answers:
        texts.setdefault(sample, set()).update(filter(None, map(words, right)))
    return {
        digest_text("\n".join(sample))[:16]: sign_measure(
            tool,
            {
                f"{RIGHT_ANSWER}{sample[0]}": sorted(right) or None,
                **{f"{kind} of {sample[0]}": digest or None for kind, digest in prompts.get(sample, {}).items()},
            },
        )
        for sample, right in texts.items()
        if right or any(prompts.get(sample, {}).values())
    }


def mapping(value: object) -> Mapping[str, object]:
    """Return an object, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def objects(value: object) -> list[Mapping[str, object]]:
    """Return the objects in an array."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def collect_columns(
    rows: Iterable[Row],
    *,
    first: Sequence[str] = (),
    directions: Mapping[str, Direction] | None = None,
    are_verdicts: bool = False,
    plain: Callable[[str], str] = str,
) -> dict[str, Column]:
    """Return the metrics of rows; the range is 0..1 where every value lies in it, else it has no ends.

    The metrics in `first` come first; `directions` says which way is better of those of which the file does, and the names of the
    others say it, as `plain` gives them; `are_verdicts` says that all are verdicts of tests.
    """
    ranges: dict[str, bool] = {}
    if isinstance(rows, MarkedRows):
        ranges = rows.inside
    else:
        for row in rows:
            _note_range(ranges, row)
    # A range is a fact of the values: 0..1 is claimed only where none of them lies outside.
    names = sorted(ranges, key=lambda name: first.index(name) if name in first else len(first))
    stated = directions or {}
    return {
        name: Column(
            (0.0, 1.0) if ranges[name] else UNBOUNDED, choose_direction(stated.get(name), plain(name)), are_verdicts,
            "" if name in stated else note_direction(plain(name)),
        )
        for name in names
    }  # fmt: skip


def names_apart(texts: Mapping[str, str]) -> dict[str, str]:
    """Return what each of several things is called: its name, and a digest of it behind a name that several have.

    Each thing is told apart by its whole text, which leads to its name.
    """
    several = Counter(texts.values())
    return {text: name if several[name] == 1 else f"{name} {digest_text(text)[:8]}" for text, name in texts.items()}


def lower_name(metric: str) -> str:
    """Return what a metric is called in those parts of a run where less of it is better, while elsewhere more of it is."""
    return f"{metric} (lower is better)"


def file_stem(path: Path, *ends: str) -> str:
    """Return a file's name without its endings: what a model is called where the file does not say."""
    name = os.fsencode(path.name).decode(errors="replace").removesuffix(".gz")  # it need not be UTF-8
    for end in ends:
        if name.endswith(end) and name != end:
            return name.removesuffix(end)
    return name.rpartition(".")[0] or name


# Which reader a file needs, what it holds, and which files of a folder hold results.

SUFFIXES = (".json", ".jsonl", ".eval", ".csv", ".tsv", ".parquet", ".gz")
_DEPTH = 50
_MOST = 20_000
TABLE = "table"
"""The name of the one format whose columns the user may name."""
_MAP_IS_FOR = "--map names the columns of plain tables, and this is "
_WAY_OUT = "leave --map out; beside a table, rename its columns or import it first"
SURE = 50
"""From here on a file in a folder is taken for results without having been named."""


@functools.cache
def _readers() -> Mapping[str, ResultsReader]:
    return plugins.load_all("foreign")


def find_reader(path: Path, columns: Mapping[str, str] | None = None) -> ResultsReader | None:
    """Return the reader that a file's content asks for; None if it is nobody's."""
    return _reader(_probe(path, columns), least=1)


def _probe(path: Path, columns: Mapping[str, str] | None) -> ResultsProbe:
    """Return a file to look at, with the named columns only where it is a plain table.

    One `--map` is said of all inputs, and a file of a format of its own says itself what its parts are.
    """
    probe = ResultsProbe(path)
    reader = _reader(probe, least=1) if columns else None
    return probe if reader is not None and reader.name != TABLE else ResultsProbe(path, columns)


def check_map(paths: Iterable[Path], columns: Mapping[str, str] | None) -> None:
    """Raise a usage error where columns are named and none of these runs and files is a plain table."""
    readers = {path: find_reader(path, columns) if path.is_file() else None for path in paths} if columns else {}
    if readers and not any(reader and reader.name == TABLE for reader in readers.values()):
        path, reader = next(iter(readers.items()))
        raise UsageError(_MAP_IS_FOR + (f"a file of {reader.name}" if reader else "a run"), at=str(path), hint=_WAY_OUT)


def _reader(probe: ResultsProbe, least: int) -> ResultsReader | None:
    try:
        best = plugins.detect("foreign", _readers(), probe, least=least)
    except MarkbookError:
        return None
    return _readers()[best[0]] if best else None


def read(path: Path, columns: Mapping[str, str] | None = None) -> tuple[str, Marked]:
    """Return the format's name and what a file holds.

    Raises:
        DataError: no reader knows it, it is damaged, or it holds no row.
    """
    probe = _probe(path, columns)
    reader = _reader(probe, least=1)
    if reader is None:
        formats = ", ".join(plugins.names("foreign"))
        raise DataError("no reader knows these results", at=str(path), hint=f"known: {formats}; a table with --map")
    if columns and reader.name != TABLE and probe.has_rows(columns):
        raise DataError(f"{_MAP_IS_FOR}a file of {reader.name}", at=str(path), hint=_WAY_OUT)
    # A reader takes its format by its word; whatever breaks in it is a file of another version, and no traceback.
    try:
        marked = reader.read(probe)
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise DataError(
            f"this file is not of a known version of {reader.name}: {type(error).__name__}: {error}", at=str(path)
        ) from error
    if isinstance(marked.rows, MarkedRows):
        if marked.rows.contradiction:
            raise contradiction_error(marked.rows.contradiction, str(path))
        dropped = Counter({"no item": marked.rows.nameless, "a second row of one attempt": marked.rows.repeated})
        # The plus leaves out the reasons that did not occur.
        marked = replace(marked, lost={**marked.lost, **+dropped}, notes=(*marked.notes, *_note_coverage(marked)))
    if not marked.rows:
        why = "; ".join(f"{count} x {reason}" for reason, count in marked.lost.items())
        raise DataError(f"no result of a sample in this {reader.name} file{': ' + why if why else ''}", at=str(path))
    if not marked.columns:
        raise DataError(
            f"no sample in this {reader.name} file has a score", at=str(path), hint="mark it, then compare it"
        )
    return reader.name, marked


def _note_coverage(marked: Marked) -> Iterator[str]:
    """Yield a note on metrics that some rows are silent about: such a mean says nothing of the others."""
    rows = marked.rows
    if isinstance(rows, MarkedRows):
        # What the reader itself explains, such as which tasks a metric is of, is not said twice.
        parts = [
            f"{name} {rows.covered[name]} of {len(rows)}"
            for name in marked.columns
            if rows.covered[name] < len(rows) and not any(note.startswith(f"{name}: ") for note in marked.notes)
        ]
        if parts:
            more = f" and {len(parts) - _MOST_NAMED} more metrics" if len(parts) > _MOST_NAMED else ""
            yield f"Not every row has every metric: {', '.join(parts[:_MOST_NAMED])}{more}."


def results_in(folder: Path, columns: Mapping[str, str] | None = None) -> list[Path]:
    """Return the files below a folder that hold results, by path; links are not followed, runs of our own left out.

    Raises:
        DataError: there is too much in it to look at all of it.
    """
    files = files_in(folder, SUFFIXES)
    return sorted(path for path in files if _reader(_probe(path, columns), SURE) is not None)


def files_in(folder: Path, suffixes: Container[str]) -> Iterator[Path]:
    """Yield the files below a folder whose names end so; links are not followed, runs of our own left out.

    Raises:
        DataError: there is too much in it to look at all of it.
    """
    # A loop and two bounds: a folder may be a disk, or hold more levels than Python recurses.
    waiting, looked = [(folder, 0)], 0
    while waiting:
        here, depth = waiting.pop()
        for path in sorted(here.iterdir()):
            looked += 1
            if looked > _MOST or depth > _DEPTH:
                much = f"more than {_MOST} files and folders" if looked > _MOST else f"folders more than {_DEPTH} deep"
                raise DataError(f"{much} are too many to look for results in", at=str(folder), hint="name the files")
            if path.is_symlink() or path.name.startswith("."):
                continue
            if path.is_dir():
                if not (path / "run.json").is_file():
                    waiting.append((path, depth + 1))
            elif path.suffix in suffixes:
                yield path
