"""Rows out of the files that people keep them in: JSON Lines, JSON, CSV, Parquet, Arrow."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from markbook.errors import DataError
from markbook.files.arrow import arrow_records, parquet_records, saved_records
from markbook.files.content import SPACE, first_byte, pieces, whole
from markbook.files.jsonl import Line, Numbers, Rejection, parse_object, read_jsonl
from markbook.files.limits import MAX_VALUE

SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".arrow")
"""What is read; the texts also with `.gz` behind."""

_BINARY = {".parquet": parquet_records, ".arrow": arrow_records}
_SEPARATORS = {".csv": ",", ".tsv": "\t"}


def suffix(path: Path) -> str:
    """Return what kind of file a name promises, such as `.jsonl`; empty if it is none that is read."""
    ending = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    return ending.lower() if ending.lower() in SUFFIXES else ""


def read_table(
    path: Path, *, digest: hashlib._Hash | None = None, numbers: Numbers = "strict"
) -> Iterator[Line | Rejection]:
    """Yield the rows of a file in order, each with its place, and what could not be used.

    A `.json` file is an array of objects, or one object of equally long columns. A CSV file's first line names
    its columns; its values stay text. A folder is a data set that `save_to_disk` wrote.

    Args:
        path: a regular file, whose name's ending says what it is, or such a folder.
        digest: is fed the content.
        numbers: `open` where another program writes NaN, infinities and absurd integers: each is None.

    Raises:
        DataError: it cannot be read, its ending is unknown, or it is damaged as a whole.
        ExtraMissingError: Parquet or Arrow without the extra `parquet`.
    """
    kind = suffix(path)
    if path.is_dir():
        yield from (_row(record, at, numbers) for record, at in saved_records(path, digest))
    elif kind in (".jsonl", ".json"):
        columns = _columns(path, digest, numbers) if kind == ".json" else None
        yield from read_jsonl(path, digest=digest, numbers=numbers) if columns is None else columns
    elif kind in _SEPARATORS:
        yield from _read_csv(path, _SEPARATORS[kind], digest)
    elif kind in _BINARY:
        yield from (_row(record, at, numbers) for record, at in _BINARY[kind](path, digest))
    else:
        raise DataError("what kind of file is this?", at=str(path), hint=f"name it {', '.join(SUFFIXES)}")


def _columns(path: Path, digest: hashlib._Hash | None, numbers: Numbers) -> list[Line | Rejection] | None:
    """Return the rows of a file with one object of columns, as metric libraries write; None if it is an array."""
    if first_byte(path) != b"{":
        return None
    parsed = parse_object(whole(path, digest).strip(SPACE), str(path), numbers=numbers)
    if isinstance(parsed, Rejection):
        raise DataError(parsed.reason, at=str(path), hint="a .json file holds an array of objects, or one of columns")
    columns = {name: values for name, values in parsed.record.items() if isinstance(values, list)}
    lengths = {len(values) for values in columns.values()}
    if len(lengths) != 1 or len(columns) != len(parsed.record):
        raise DataError("an object whose values are not lists of one length", at=str(path), hint="use JSON Lines")
    rows = range(lengths.pop())
    return [Line({name: values[row] for name, values in columns.items()}, f"{path}[{row + 1}]") for row in rows]


def _read_csv(path: Path, separator: str, digest: hashlib._Hash | None) -> Iterator[Line | Rejection]:
    reader = csv.reader(_text_lines(path, digest), delimiter=separator, strict=True)
    # A field may be as long as a line of JSON Lines; the standard library stops at 128 KiB. The limit is the process's: two
    # files that are read at the same time would set it back for one another.
    csv.field_size_limit(max(MAX_VALUE, csv.field_size_limit()))
    try:
        header = next(reader, None)
        if not header or len(set(header)) < len(header) or not all(header):
            raise DataError("the first line must name the columns, each once", at=f"{path}:1")
        while (start := reader.line_num + 1) and (row := next(reader, None)) is not None:
            at = f"{path}:{start}"
            if not row:
                continue
            if len(row) != len(header):
                yield Rejection(at, f"{len(row)} values for {len(header)} columns")
                continue
            yield Line(dict(zip(header, row, strict=True)), at)
    except csv.Error as error:
        raise DataError(f"not CSV: {error}", at=f"{path}:{reader.line_num}") from error


def _text_lines(path: Path, digest: hashlib._Hash | None) -> Iterator[str]:
    """Yield a file's lines with their ends, decoded."""
    import codecs

    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    rest = ""
    try:
        for piece in pieces(path, digest):
            *complete, rest = (rest + decoder.decode(piece)).split("\n")
            yield from (line + "\n" for line in complete)
            if len(rest) > MAX_VALUE:
                raise DataError(f"a line longer than {MAX_VALUE >> 20} MiB", at=str(path))
        rest += decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8: byte 0x{error.object[error.start]:02x}", at=str(path)) from error
    if rest:
        yield rest


def _row(record: Mapping[str, object], at: str, numbers: Numbers) -> Line | Rejection:
    """Return a row if JSON could hold it, by the same rules as a line of JSON Lines."""
    import json

    try:
        text = json.dumps(record, allow_nan=numbers == "open")
    except (TypeError, ValueError) as error:
        return Rejection(at, f"a value that JSON has no word for: {error}")
    return parse_object(text.encode(), at, numbers=numbers)
