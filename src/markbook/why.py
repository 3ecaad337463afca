"""Explanations for people: what a score rests on (`Evidence`), and why an attempt failed its tests (`Why`). They decide nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypedDict

from markbook.codec import JsonRecord, as_json

Change = Literal["same", "lost", "added", "gap"]
"""A part of both texts, of the reference alone, of the answer alone; `gap`: so much of both is left out."""


class FindingRecord(TypedDict):
    """A finding as JSON."""

    name: str
    verdict: str
    line: int | None
    words: str
    quotes: list[str]


def _write_lists(lists: tuple[tuple[str, tuple[str, ...]], ...]) -> dict[str, list[str]]:
    return {name: [*words] for name, words in lists}


def _read_lists(record: Mapping[str, Sequence[str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((name, tuple(words)) for name, words in record.items())


@dataclass(frozen=True, slots=True)
class Finding(JsonRecord[FindingRecord]):
    """One thing that was looked for, and what came of it."""

    name: str
    verdict: str
    """`passed` or `failed`, or a mark."""
    line: int | None = None
    """Of the answer, from 1."""
    words: str = ""
    quotes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence(JsonRecord[dict[str, object]]):
    """What one score rests on. Every word comes from the answer, the reference or a judge, and is bounded."""

    metric: str
    lead: str = ""
    """Its numbers."""
    findings: tuple[Finding, ...] = ()
    lists: tuple[tuple[str, tuple[str, ...]], ...] = field(default=(), metadata=as_json(_write_lists, _read_lists))
    """Words by what they are: matched, missed, not asked for."""
    edits: tuple[tuple[Change, str], ...] = ()
    """How the reference becomes the answer."""
    note: str = ""

    @property
    def size(self) -> int:
        """About how many characters it is."""
        return len(str(self.to_record()))


_SHORT, _LONG, _MANY = 300, 2_500, 60


@dataclass(frozen=True, slots=True)
class TracebackLine:
    """A line of the solution in a traceback."""

    number: int
    function: str
    text: str


def _list(value: object) -> Sequence[Any]:
    return value[:_MANY] if isinstance(value, list) else ()


def _whole(value: object, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31 else default


def _text(value: object, most: int) -> str:
    return value[:most].encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else ""


def _lines(value: object) -> tuple[TracebackLine, ...]:
    return tuple(
        TracebackLine(_whole(frame[0], 0), _text(frame[1], 100), _text(frame[2], 200))
        for frame in _list(value)[:10]
        if isinstance(frame, list) and len(frame) == 3
    )


def _write_lines(lines: Sequence[TracebackLine]) -> list[list[object]]:
    return [[line.number, line.function, line.text] for line in lines]


_AS_LISTS = as_json(_write_lines, _lines)


@dataclass(frozen=True, slots=True)
class Failure(JsonRecord[dict[str, object]]):
    """Why one test failed. Every word comes from the benchmark or from the solution."""

    test: int
    part: int = -1
    """Which assertion of the test; -1 where it has one, or the whole test ended."""
    source: str = ""
    """The assertion; of a program that reads and writes, what it read."""
    operator: str = ""
    got: str = ""
    expected: str = ""
    """Both in part only, where they are long: around their first difference."""
    got_type: str = ""
    expected_type: str = ""
    difference: str = ""
    """The first difference in words, where it is not plain to see."""
    error: str = ""
    lines: tuple[TracebackLine, ...] = field(default=(), metadata=_AS_LISTS)
    """The solution's own lines that the error came through, outermost first."""
    printed: str = ""
    """What a program wrote to standard error."""

    @property
    def has_sides(self) -> bool:
        """Whether two values were compared."""
        return bool(self.operator and self.operator != "true")

    @property
    def types_differ(self) -> bool:
        """Whether the two values are of different types."""
        return bool(self.got_type and self.expected_type and self.got_type != self.expected_type)


@dataclass(frozen=True, slots=True)
class Why(JsonRecord[dict[str, object]]):
    """Why an attempt failed."""

    failures: tuple[Failure, ...] = ()
    left_out: int = 0
    """So many more failed assertions are not explained: there is too much of them."""
    stdout: str = ""
    stderr: str = ""
    """The beginnings of both."""
    error: str = ""
    """What ended the loading of the solution."""
    lines: tuple[TracebackLine, ...] = field(default=(), metadata=_AS_LISTS)
    """The solution's own lines that it came through, or where it was when a limit was reached."""
    limit: str = ""
    """What the second run hit."""
    is_again: bool = False
    """Whether this was seen in a second run, made for it after the verdict."""

    def of(self, test: int, part: int = -1) -> Failure | None:
        """Return what is known of a test, or of one assertion of it."""
        return next((failure for failure in self.failures if (failure.test, failure.part) == (test, part)), None)

    @property
    def size(self) -> int:
        """About how many characters it is."""
        return len(str(self.to_record()))

    def brief(self, failures: int, printed: int) -> Why:
        """Return so many of the failures, and so many characters of what was printed."""
        left_out = self.left_out + len(self.failures[failures:])
        stdout, stderr = (
            text if len(text) <= printed else f"{text[: printed - 1]}…" for text in (self.stdout, self.stderr)
        )
        return replace(self, failures=self.failures[:failures], left_out=left_out, stdout=stdout, stderr=stderr)


def read_why(record: Mapping[str, object] | None) -> Why | None:
    """Return the record of its JSON form; nothing in it is larger or of another kind than it may be."""
    if not isinstance(record, Mapping):
        return None
    failures = []
    for failure in _list(record.get("failures")):
        test = _whole(failure.get("test"), -1) if isinstance(failure, Mapping) else -1
        if test >= 0:
            words = {name: _text(failure.get(name), _LONG) for name in ("got", "expected", "error", "printed")}
            words |= {name: _text(failure.get(name), _SHORT) for name in ("source", "operator", "difference")}
            words |= {name: _text(failure.get(name), _SHORT) for name in ("got_type", "expected_type")}
            failures.append(Failure(test, _whole(failure.get("part"), -1), lines=_lines(failure.get("lines")), **words))
    return Why(
        failures=tuple(failures),
        left_out=_whole(record.get("left_out"), 0),
        stdout=_text(record.get("stdout"), _LONG),
        stderr=_text(record.get("stderr"), _LONG),
        error=_text(record.get("error"), _LONG),
        lines=_lines(record.get("lines")),
        limit=_text(record.get("limit"), 20),
        is_again=record.get("is_again") is True,
    )
