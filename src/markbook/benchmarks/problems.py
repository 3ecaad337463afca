"""What a benchmark is made of: its problems, rows that are none, and the parts that contest formats share."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markbook.files.jsonl import Rejection
from markbook.types import ProblemType, Sample, Test

MAX_TESTS = 10_000
"""Of one problem."""
MAX_TEXT = 48 << 20
"""Bytes of all tests of one problem, as JSON: they travel to a worker in one piece."""
_SURELY_SMALL = MAX_TEXT // 12
"""Characters that surely fit: as JSON one takes at most 12 bytes (two escapes, beyond the basic plane)."""
MAX_SECONDS = 3600.0
MIB = 1 << 20


class RowError(ValueError):
    """A row cannot be a problem; the text says why."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """The exam paper."""

    name: str
    """The file's or folder's name, without suffixes."""
    format: str
    samples: tuple[Sample, ...]
    """In file order; ids are unique."""
    rejections: tuple[Rejection, ...]
    """Rows that are not a problem, each with its place."""
    digest: str
    """SHA-256 over the content of every file."""

    repeats_are_samples: bool = True
    """Whether answers to this benchmark repeat a task id to give several samples (all but CodeEval)."""
    files: tuple[str, ...] = ()
    """The files that hold its problems."""
    left_out: frozenset[str] = frozenset()
    """Ids of problems that this machine cannot mark: answers to them are not a mistake."""


def text_field(record: Mapping[str, object], key: str, *, required: bool = True) -> str:
    """Return a string of a row.

    Raises:
        RowError: it is absent or empty although required, or no string.
    """
    value = record.get(key)
    if value is None and not required:
        return ""
    if not isinstance(value, str):
        raise RowError(f"{key!r} is missing" if value is None else f"{key!r} is not a string")
    if required and not value.strip():
        raise RowError(f"{key!r} is empty")
    return value


def text_list(record: Mapping[str, object], key: str) -> list[str]:
    """Return a list of strings of a row, empty if it is absent; RowError if it is anything else."""
    value = record.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        raise RowError(f"{key!r} is not a list of strings")
    return value


def program_tests(pairs: Iterable[tuple[object, object]], checker: str = "") -> tuple[Test, ...]:
    """Return the tests of pairs of an input and the expected output, each a text or a list of lines.

    Raises:
        RowError: one is neither, or there are too many or too large ones.
    """
    tests = tuple(
        Test(stdin=_text(stdin, "input", number), stdout=_text(expected, "output", number), checker=checker)
        for number, (stdin, expected) in enumerate(pairs, start=1)
    )
    return check_test_limits(tests)


def check_test_limits(tests: tuple[Test, ...]) -> tuple[Test, ...]:
    """Return the tests of a problem if they are neither none, too many nor too large; RowError if they are."""
    if not tests:
        raise RowError("there is no test")
    if len(tests) > MAX_TESTS:
        raise RowError(f"more than {MAX_TESTS} tests")
    # Counting characters is cheap: most problems are so small that they need not be encoded to know it.
    if sum(len(test.stdin or "") + len(test.stdout) for test in tests) > _SURELY_SMALL:
        size = sum(len(json.dumps([test.stdin, test.stdout])) for test in tests)
        if size > MAX_TEXT:
            raise RowError(f"the tests together are larger than {MAX_TEXT >> 20} MiB")
    return tests


def _text(value: object, what: str, number: int) -> str:
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "\n".join(value)
    if not isinstance(value, str):
        raise RowError(f"the {what} of test {number} is neither a text nor a list of lines")
    return value


def pair_lists(value: object, first: str, second: str) -> list[tuple[Any, Any]]:
    """Return the pairs of an object with two lists of one length, which may be absent; RowError if they are not."""
    if value is None:
        return []
    if not isinstance(value, Mapping):
        raise RowError("the tests are not an object")
    first_values, right = value.get(first) or [], value.get(second) or []
    if (
        not isinstance(first_values, Sequence)
        or not isinstance(right, Sequence)
        # Texts are sequences as well: two texts of one length would become pairs of letters.
        or str in (type(first_values), type(right))
    ):
        raise RowError(f"{first!r} or {second!r} is not a list")
    if len(first_values) != len(right):
        raise RowError(f"{len(first_values)} {first} and {len(right)} {second}")
    return list(zip(first_values, right, strict=True))


def parse_json_field(value: object, what: str) -> Any:
    """Return the value of a field that holds JSON as a text, or itself; RowError if it is not JSON."""
    if not isinstance(value, str):
        return value
    if not value.strip():
        return None
    try:
        return json.loads(value)
    # Deeply nested JSON raises RecursionError, which is as much a broken row as a syntax error.
    except (ValueError, RecursionError):
        raise RowError(f"{what!r} is not JSON") from None


def read_seconds(value: object) -> float | None:
    """Return a time limit in seconds: a number, a text such as `2.0 seconds`, or seconds and nanoseconds; None if unsaid."""
    if isinstance(value, Mapping):
        # As protobuf writes a duration: CodeContests comes from there.
        whole_seconds, nanos = read_number(value.get("seconds") or 0), read_number(value.get("nanos") or 0)
        value = None if whole_seconds is None or nanos is None else whole_seconds + nanos * 1e-9
    if isinstance(value, str):
        # The unit in a text such as `2.0 seconds` is taken to be seconds.
        value = value.strip().partition(" ")[0]
        try:
            value = float(value) if value else None
        except ValueError:
            return None
    number = read_number(value)
    return number if number is not None and 0 < number <= MAX_SECONDS else None


def read_number(value: object) -> float | None:
    """Return a finite number, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # JSON as Python reads it may hold NaN and Infinity; both fail this comparison.
    return float(value) if abs(value) < 1e300 else None


def program_sample(
    name: str,
    statement: str,
    tests: tuple[Test, ...],
    at: str,
    *,
    right: Sequence[str] = (),
    seconds: float | None = None,
    memory_bytes: int | None = None,
    meta: Mapping[str, object] | None = None,
) -> Sample:
    """Return the problem of a program that reads and writes; `right` are programs that are right, in Python."""
    return Sample(
        id=name,
        input=statement,
        references=tuple(right),
        tests=tests,
        source=at,
        problem_type=ProblemType.STDIN,
        meta=dict(meta or {}),
        seconds=seconds,
        memory_bytes=memory_bytes,
    )


def function_test(call: str, arguments: Sequence[object], expected: object) -> Test:
    """Return the test of a function by its arguments and what it is to return; a tuple is as good as a list."""
    # `repr` of a value that was read as JSON is a literal, so no code of the data set enters the test program.
    arguments_text = ", ".join(map(repr, arguments))
    program = f"_given = {call}({arguments_text})\nassert (list(_given) if isinstance(_given, tuple) else _given) == {expected!r}\n"
    return Test(program=program)


def read_name(record: Mapping[str, object], *keys: str) -> str:
    """Return the id of a row: the first of these keys that it has, a text or a number; RowError if it has none."""
    for key in keys:
        value = record.get(key)
        if isinstance(value, str) and value.strip():
            return value
        # A number is as good as a text, but True is not an id.
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    raise RowError(f"the row has no id ({', '.join(keys)})")
