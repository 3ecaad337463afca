"""Tables: CSV, TSV, Parquet, Arrow."""

from __future__ import annotations

import csv
import hashlib
import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from markbook.errors import DataError
from markbook.files.content import (
    FREE_BYTES,
    MAX_RATIO,
    MAX_UNPACKED,
    MAX_VALUE,
    SPACE,
    first_byte,
    open_input,
    pieces,
    whole,
)
from markbook.files.jsonl import Line, Numbers, Rejection, parse_object, read_jsonl
from markbook.plugins import need

# Records out of what pyarrow reads: Parquet, Arrow files and streams, and folders that `datasets` saved to disk.

Record = tuple[Mapping[str, object], str]
"""A row, and where it stands."""

_ROWS = 1024
_FEW = 16
_AT_ONCE = 256 << 20
"""Bytes that the texts of one batch may come to."""
_FILE_MAGIC = b"ARROW1"
_STATE, _SPLITS = "state.json", "dataset_dict.json"
"""What `save_to_disk` writes beside a data set's files, and beside the folders of several splits."""
_MOST_STATE = 1 << 20
_MOST_FILES = 10_000


def parquet_records(path: Path, digest: hashlib._Hash | None) -> Iterator[Record]:
    """Yield the rows of a Parquet file.

    Raises:
        DataError: it is none, or damaged.
        ExtraMissingError: the extra `parquet` is not installed.
    """
    arrow, parquet = need("pyarrow", extra="parquet"), need("pyarrow.parquet", extra="parquet")
    _feed(path, digest)
    try:
        with path.open("rb") as raw:
            about = parquet.read_metadata(raw)
            # A value that a column's dictionary holds once may stand in every row: a few kilobytes would unfold to
            # gigabytes. So such columns are kept by reference while they are read, and of nested ones few rows at once.
            short, largest = set(), 0
            for group, index in itertools.product(range(about.num_row_groups), range(about.num_columns)):
                column = about.row_group(group).column(index)
                if column.physical_type != "BYTE_ARRAY" or not column.has_dictionary_page:
                    continue
                if "." not in column.path_in_schema:
                    short.add(column.path_in_schema)
                else:
                    largest = max(largest, column.total_uncompressed_size)
            many = max(1, min(_ROWS, _AT_ONCE // max(1, largest)))
            file = parquet.ParquetFile(raw, metadata=about, read_dictionary=sorted(short))
            batches = file.iter_batches(batch_size=many)
            parts = (batch.slice(at, _FEW) for batch in batches for at in range(0, batch.num_rows, _FEW))
            yield from _bound_unfolded_size(_number_rows(parts, path), path)
    except (arrow.ArrowException, OSError, OverflowError, ValueError) as error:
        raise DataError(f"not a readable Parquet file: {error}", at=str(path)) from error


def arrow_records(path: Path, digest: hashlib._Hash | None) -> Iterator[Record]:
    """Yield the rows of an Arrow file or stream; it is mapped, so that memory does not follow its size.

    Raises:
        DataError: it is none, or damaged.
        ExtraMissingError: the extra `parquet` is not installed.
    """
    arrow, ipc = need("pyarrow", extra="parquet"), need("pyarrow.ipc", extra="parquet")
    _feed(path, digest)
    with open_input(path) as file:
        is_file = file.read(len(_FILE_MAGIC)) == _FILE_MAGIC
    try:
        with arrow.memory_map(str(path)) as raw:
            if is_file:
                reader = ipc.open_file(raw)
                batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
            else:
                batches = iter(ipc.open_stream(raw))
            yield from _number_rows(_check_batches(batches), path)
    except (arrow.ArrowException, OSError, OverflowError, ValueError) as error:
        raise DataError(f"not a readable Arrow file: {error}", at=str(path)) from error


def saved_records(folder: Path, digest: hashlib._Hash | None) -> Iterator[Record]:
    """Yield the rows of a data set that `save_to_disk` wrote.

    Raises:
        DataError: the folder holds something else, several splits, or something damaged.
        ExtraMissingError: the extra `parquet` is not installed.
    """
    for path in _files(folder):
        yield from arrow_records(path, digest)


def is_saved(path: Path) -> bool:
    """Whether a folder is one that `save_to_disk` wrote."""
    return path.is_dir() and ((path / _STATE).is_file() or (path / _SPLITS).is_file())


def _files(folder: Path) -> list[Path]:
    """Return a saved data set's files, in the order of its rows."""
    if not is_saved(folder):
        hint = "a folder of rows is what save_to_disk of `datasets` writes; else name a file"
        raise DataError("this folder holds no data set", at=str(folder), hint=hint)
    if not (folder / _STATE).is_file():
        splits = sorted(path.parent.name for path in folder.glob(f"*/{_STATE}"))
        if len(splits) != 1:
            hint = f"name one of them, such as {folder / splits[0]}" if splits else ""
            raise DataError(f"this data set has the splits {', '.join(splits) or 'none'}", at=str(folder), hint=hint)
        return _files(folder / splits[0])
    state = folder / _STATE
    parsed = parse_object(whole(state, limit=_MOST_STATE).strip(SPACE), str(state))
    if isinstance(parsed, Rejection):
        raise DataError(parsed.reason, at=str(state))
    about = parsed.record
    if about.get("_indices_data_files"):
        raise DataError(
            "this dataset is saved with a selection of rows", at=str(folder), hint="flatten_indices(), save it again"
        )
    listed = about.get("_data_files")
    listed = listed if isinstance(listed, list) else []
    names = [entry.get("filename") if isinstance(entry, dict) else None for entry in listed]
    are_inside = all(
        isinstance(name, str) and name not in ("", ".", "..") and not any(sign in name for sign in "/\\\0")
        for name in names
    )
    if not names or len(names) > _MOST_FILES or not are_inside:
        raise DataError("the list of its files is damaged", at=str(folder / _STATE))
    return [folder / str(name) for name in names]


def _feed(path: Path, digest: hashlib._Hash | None) -> None:
    for piece in pieces(path):
        if digest is not None:
            digest.update(piece)


def _check_batches(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield batches in small parts, once they are checked: an offset out of bounds would be followed."""
    for batch in batches:
        batch.validate(full=True)
        yield from (batch.slice(start, _ROWS) for start in range(0, batch.num_rows, _ROWS))


def _bound_unfolded_size(records: Iterator[Record], path: Path) -> Iterator[Record]:
    """Yield rows until their texts come to more than any compressed file may unfold to."""
    limit = remaining = min(MAX_UNPACKED, FREE_BYTES + MAX_RATIO * path.stat().st_size)
    for record, at in records:
        remaining -= _length(record)
        if remaining < 0:
            raise DataError(f"the file unfolds to more than {limit} bytes: refused", at=at)
        yield record, at


def _length(value: object) -> int:
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, Mapping):
        return sum(map(_length, value.values()))
    return sum(map(_length, value)) if isinstance(value, list | tuple) else 0


def _number_rows(batches: Iterator[Any], path: Path) -> Iterator[Record]:
    number = 0
    for batch in batches:
        for record in batch.to_pylist():
            number += 1
            yield record, f"{path}[{number}]"


# Rows out of the files that people keep them in: JSON Lines, JSON, CSV, Parquet, Arrow.

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

    A `.json` file is an array of objects, or one object of equally long columns. A CSV file's first line names its
    columns; its values stay text. A folder is a data set that `save_to_disk` wrote. `digest` and `numbers` are those
    of `read_jsonl`.

    Raises:
        DataError: it cannot be read, its ending is unknown, or it is damaged as a whole.
        ExtraMissingError: Parquet or Arrow without the extra `parquet`.
    """
    kind = suffix(path)
    if path.is_dir():
        yield from (_row(record, at, numbers) for record, at in saved_records(path, digest))
    elif kind in (".jsonl", ".json"):
        if kind == ".jsonl" or first_byte(path) != b"{":
            yield from read_jsonl(path, digest=digest, numbers=numbers)
            return
        # one object of columns, as metric libraries write
        parsed = parse_object(whole(path, digest).strip(SPACE), str(path), numbers=numbers)
        if isinstance(parsed, Rejection):
            hint = "a .json file holds an array of objects, or one of columns"
            raise DataError(parsed.reason, at=str(path), hint=hint)
        columns = {name: values for name, values in parsed.record.items() if isinstance(values, list)}
        lengths = {len(values) for values in columns.values()}
        if len(lengths) != 1 or len(columns) != len(parsed.record):
            raise DataError("an object whose values are not lists of one length", at=str(path), hint="use JSON Lines")
        for row in range(lengths.pop()):
            yield Line({name: values[row] for name, values in columns.items()}, f"{path}[{row + 1}]")
    elif kind in _SEPARATORS:
        yield from _read_csv(path, _SEPARATORS[kind], digest)
    elif kind in _BINARY:
        yield from (_row(record, at, numbers) for record, at in _BINARY[kind](path, digest))
    else:
        raise DataError("what kind of file is this?", at=str(path), hint=f"name it {', '.join(SUFFIXES)}")


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
