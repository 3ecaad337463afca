"""JSON and JSONL as files and models write them: strict where a duplicate or NaN matters, lenient where a log was cut off; a bad line is a counted rejection."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal, NoReturn

from markbook.errors import DamagedError, DataError
from markbook.files.content import BOM, MAX_VALUE, SPACE, pieces, whole

# JSON as other programs write it: what no count or time can be becomes None instead of an error.


def integer(digits: str) -> int | None:
    """Return a JSON integer, None for one that no count or time can be: Python refuses to convert the longest."""
    return int(digits) if len(digits) <= 40 else None


def no_number(_name: str) -> None:
    """Stand in for NaN and the infinities, which are not JSON."""


BAD = object()
"""What `decoded` returns for text that is not a JSON value."""

DECODER = json.JSONDecoder(parse_constant=no_number, parse_int=integer)
"""Made once: `json.loads` with options makes one for every text."""


_ANY_INTEGER = json.JSONDecoder(parse_constant=no_number)


def decode_json(text: str, *, any_integer: bool = False) -> Any:
    """Return the JSON value of a text, `BAD` if it is none (or nested too deeply).

    NaN and the infinities become None, and so do absurd integers unless `any_integer` lets them be.
    """
    try:
        return (_ANY_INTEGER if any_integer else DECODER).decode(text)
    except (ValueError, RecursionError):
        return BAD


# JSON by the letter of its standard: no NaN, no infinity, and no key that stands twice, of which the last would win.

DEEPEST = 950
"""Levels of nesting that are read. Python's own limit differs between its versions, from some hundreds to 60,000."""
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_BRACKET = re.compile(r"[][{}]")
_STEP = {"[": 1, "{": 1, "]": -1, "}": -1}
_MOST_DIGITS = 4_300
"""Python's own limit."""


def no_constant(name: str) -> NoReturn:
    """Refuse NaN and the infinities, which Python's parser takes."""
    raise ValueError(f"{name} is not a JSON number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, object]:
    """Return an object whose keys stand there once: of two, one reader takes the first and another the last."""
    record = dict(pairs)
    if len(record) < len(pairs):
        keys: set[str] = set()
        twice = next(key for key, _ in pairs if key in keys or keys.add(key))  # type: ignore[func-returns-value]  # add returns None on purpose
        raise ValueError(f"the key {twice[:40]!r} stands twice in one object")
    return record


class TooManyDigits(ValueError):
    """An integer is longer than Python converts: JSON all the same."""


def _integer(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise TooManyDigits(f"an integer of {len(digits)} digits cannot be read")
    return int(digits)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:20]} is out of range")
    return value


def check_depth(text: str) -> None:
    """Hold that a JSON text, which has been parsed, is nested no deeper than `DEEPEST`.

    Raises:
        RecursionError: it is, as Python's parser raises it at its own limit.
    """
    if text.count("[") + text.count("{") <= DEEPEST:
        return
    brackets = _BRACKET.findall(_STRING.sub("", text))
    if max(accumulate(map(_STEP.__getitem__, brackets)), default=0) > DEEPEST:
        raise RecursionError(f"nested deeper than {DEEPEST} levels")


def parse_json(text: str, *, finite: bool = True) -> object:
    """Return the JSON value of a text.

    A number beyond the largest is an error, or else (not `finite`) infinite, for a caller who checks bounds.

    Raises:
        ValueError: it is none, or `TooManyDigits`.
        RecursionError: it is nested too deeply.
    """
    value: object = json.loads(
        text,
        parse_constant=no_constant,
        parse_int=_integer,
        parse_float=_finite if finite else None,
        object_pairs_hook=_unique,
    )
    check_depth(text)
    return value


# A strict reader of JSON Lines: one bad line is a counted rejection with its place, never the end of the run.
#
# The standard parser takes NaN, lets the last of two equal keys win, turns 1e999 into infinity, and fails with
# three different exceptions; `str.splitlines` splits inside strings (U+2028). This reader splits bytes at newlines
# and refuses each of those by name.

Numbers = Literal["strict", "open"]


@dataclass(frozen=True, slots=True)
class Line:
    """One object of a file."""

    record: Mapping[str, Any]
    at: str
    """`file:line`."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """One line that could not be used, and why."""

    at: str
    reason: str


def read_jsonl(
    path: Path, *, digest: hashlib._Hash | None = None, numbers: Numbers = "strict"
) -> Iterator[Line | Rejection]:
    """Yield the objects of a JSON Lines file in order; plain or gzip, decided by content.

    BOM, CRLF and blank lines are fine. A file that ends in `.json` may also be one array of objects. `digest` is fed
    every byte of the unpacked content; `numbers` is `open` where another program writes NaN, infinities and absurd
    integers: each is None.

    Raises:
        DataError: the file cannot be read, breaks off (`DamagedError`), is one JSON array named as lines, or unpacks
            beyond the caps.
    """
    if path.suffix == ".json" or path.name.endswith(".json.gz"):
        yield from _read_array(path, digest, _DECODER if numbers == "strict" else _OPEN)
        return
    for number, raw in enumerate(_split(path, digest), start=1):
        at = f"{path}:{number}"
        line = raw.strip(SPACE)
        if number == 1:
            line = line.removeprefix(BOM)
            if line.startswith(b"["):
                raise DataError(
                    "this file is one JSON array, not JSON Lines",
                    at=at,
                    hint="write one object per line, or name the file .json",
                )
        if not line:
            continue
        if len(line) > MAX_VALUE:
            yield Rejection(at, f"the line is longer than {MAX_VALUE >> 20} MiB")
            continue
        yield parse_object(line, at, numbers=numbers)


def parse_object(line: bytes, at: str, *, numbers: Numbers = "strict") -> Line | Rejection:
    """Return the object of one line, or why there is none."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        return Rejection(at, f"not UTF-8: byte 0x{line[error.start]:02x} at column {error.start + 1}")
    try:
        record = (_DECODER if numbers == "strict" else _OPEN).decode(text)
        check_depth(text)
        if may_be_halved(text):
            check_whole(record)
    except json.JSONDecodeError as error:
        return Rejection(at, f"not JSON: {error.msg} at column {error.colno}")
    except UnicodeEncodeError:
        return Rejection(at, _HALVED)
    except RecursionError:
        return Rejection(at, "nested too deeply")
    except ValueError as error:
        return Rejection(at, str(error))
    if not isinstance(record, dict):
        return Rejection(at, f"not an object but {_kind(record)}")
    return Line(record, at)


def _split(path: Path, digest: hashlib._Hash | None) -> Iterator[bytes]:
    """Yield lines, of one beyond the cap the first part, enough to reject it; DamagedError names where a file breaks off."""
    rest: list[bytes] = []
    length = ended = 0
    try:
        for piece in pieces(path, digest):
            start = 0
            while (end := piece.find(b"\n", start)) >= 0:
                rest.append(piece[start:end])
                yield b"".join(rest)
                rest.clear()
                length = 0
                ended += 1
                start = end + 1
            tail = piece[start:]
            if tail and length <= MAX_VALUE:
                rest.append(tail)
                length += len(tail)
    except DamagedError as error:
        raise DamagedError(error.message, at=f"{path}:{ended + 1}", hint=error.hint) from None
    if rest:
        yield b"".join(rest)


def _read_array(path: Path, digest: hashlib._Hash | None, decoder: json.JSONDecoder) -> Iterator[Line | Rejection]:
    try:
        text = whole(path, digest).decode("utf-8")
        records = decoder.decode(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"not JSON: {error}", at=str(path)) from error
    if not isinstance(records, list):
        raise DataError(
            f"not an array of objects but {_kind(records)}",
            at=str(path),
            hint="one object a line is a .jsonl file; where a folder was named, name the files in it that hold rows",
        )
    halved = may_be_halved(text)
    for number, record in enumerate(records, start=1):
        at = f"{path}[{number}]"
        if not isinstance(record, dict):
            yield Rejection(at, f"not an object but {_kind(record)}")
            continue
        try:
            if halved:
                check_whole(record)
        except UnicodeEncodeError:
            yield Rejection(at, _HALVED)
        except RecursionError:
            yield Rejection(at, "nested too deeply")
        else:
            yield Line(record, at)


_HALVED = "a string holds a lone surrogate"


def may_be_halved(text: str) -> bool:
    """Whether a JSON text may hold half a character: a lone surrogate comes from an escape only."""
    return "\\ud" in text or "\\uD" in text


def check_whole(record: object) -> None:
    """Raise UnicodeEncodeError for half a character, which could not be written again."""
    json.dumps(record, ensure_ascii=False).encode()


def _finite_or_none(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def _kind(value: object) -> str:
    names = {
        dict: "an object",
        list: "an array",
        str: "a string",
        bool: "a boolean",
        int: "a number",
        float: "a number",
    }
    return names.get(type(value), "null")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=no_constant, parse_float=_finite)
"""Made once: `json.loads` with options makes one for every line."""
_OPEN = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=no_number, parse_float=_finite_or_none, parse_int=integer
)
