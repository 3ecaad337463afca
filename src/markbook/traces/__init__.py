"""Agent runs from any framework's log, as one `Trace`.

Readers are plugins of the group `markbook.traces`. A reader is an object with

- `name`: what `--format` and `Trace.format` call it;
- `sniff(probe) -> int`: 0 (not mine) to 100 (certainly mine), from the content alone;
- `read(source) -> Iterator[Trace]`: the runs that the file holds, one by one.

What a reader does not understand it counts in `Trace.unrecognised`; it never drops a thing silently.

Theory of operation
-------------------
A log is hostile: it holds what a model wrote, it may come from a stranger, and it may be larger than memory or cut off in the
middle. Four parts share the work.

- `files.stream` reads the file in pieces (plain, gzip, Zstandard, a zip's member), bounds what is unpacked, and yields the
  values of an array, of lines, or of one document after another. What breaks off is a `problem` with its count, not an end.
- `make_probe` shows each reader the first characters and the first objects. Readers answer with how sure they are; the surest
  one reads. Detection looks at content only: a file's name says nothing.
- A reader yields runs one by one, so memory follows the largest run. Formats that scatter the spans of a run over the file
  use `span_spool`, which sorts them on disk.
- `plain` turns every value into one that has a bound: text is cut, nesting beyond a depth becomes "...", numbers that no
  count or time can be become None. Readers take no value from a log in another way, so no metric meets what it cannot
  bear: recursion, integers of a million digits, NaN, a list that holds itself.

An error inside a reader's code is a bug of that reader: it is raised with the reader's name, and no other reader is tried.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from markbook import plugins
from markbook.errors import DataError, UsageError, suggest
from markbook.files.jsonl import BAD, decode_json
from markbook.files.stream import Source, elements, values
from markbook.trace import Trace, join

# Which reader a file needs, and its runs.

_SAMPLE = 50


@dataclass(frozen=True, slots=True)
class Probe:
    """What detection may look at."""

    head: str
    """The first characters."""
    sample: list[dict[str, object]]
    """The document where it is one object; else the first objects of its array or lines."""
    is_lines: bool
    is_zip: bool

    @property
    def first(self) -> dict[str, object]:
        """The document, or the first object; an empty one where there is none."""
        return self.sample[0] if self.sample else {}


class Reader(Protocol):
    """One trace format."""

    name: str

    def sniff(self, probe: Probe) -> int:
        """Return how sure it is that the file is its own, 0 to 100."""

    def read(self, source: Source) -> Iterator[Trace]:
        """Yield the file's runs. What cannot be understood is counted, never dropped."""


def make_probe(source: Source) -> Probe:
    """Return what detection sees of a file."""
    if source.is_zip:
        return Probe("", [], is_lines=False, is_zip=True)
    head = source.head.lstrip()
    is_lines = source.is_lines
    if is_lines:
        documents: Any = [decode_json(line) for line in head.split("\n")[:_SAMPLE] if line.strip()]
    elif head[:1] == "{" and ('"resourceSpans"' in head or '"resource_spans"' in head or is_tempo(head)):
        documents = None  # spans, perhaps a gigabyte of them: the head alone must do
    elif head[:1] == "[":
        documents = list(itertools.islice(elements(source.chunks(), Counter()), _SAMPLE))
        if not documents:
            documents = source.document()  # says what is wrong
    else:
        # The object that the file holds, or the first two where it holds one after another
        problems: Counter[str] = Counter()
        documents = list(itertools.islice(values(source.chunks(), problems), 2))
        if len(documents) == 1:
            source.problems.update(problems)
            source.remember(documents[0])
            documents = documents[0]
        elif not documents:
            # One that is cut in its first span holds no value: the span reader says so.
            is_spans = '"span_id"' in source.head or '"spanId"' in source.head
            documents = None if is_spans else source.document()
    items = documents if isinstance(documents, list) else [documents]
    sample = [item for item in items[:_SAMPLE] if item is not BAD and isinstance(item, dict)]
    if isinstance(documents, list) and not sample and documents and isinstance(documents[0], list):
        sample = [item for item in documents[0][:_SAMPLE] if isinstance(item, dict)]
    return Probe(head, sample, is_lines=is_lines, is_zip=False)


def is_tempo(head: str) -> bool:
    """Return whether a file begins as an answer of Tempo, whose `batches` hold spans as OTLP's `resourceSpans` do."""
    return '"batches"' in head and ('"scopeSpans"' in head or '"instrumentationLibrarySpans"' in head)


def detect(path: str | Path) -> str:
    """Return the name of the reader that a file's content asks for.

    Raises:
        DataError: no reader knows it, or it is not a readable file of a known kind.
        UsageError: the file does not exist.
    """
    return _reader_for(Source(Path(path)))[1].name


def _reader_for(source: Source) -> tuple[str, Reader]:
    """Return the reader that a file's content asks for, with the name that it is registered under."""
    probe = make_probe(source)
    readers: dict[str, Reader] = plugins.load_all("traces")
    best = plugins.detect("traces", readers, probe)  # a reader that fails to answer is told and passed over
    if not best:
        formats = ", ".join(sorted(readers))
        raise DataError("no trace reader knows this file", at=str(source.path), hint=f"known formats: {formats}")
    return best[0], readers[best[0]]


def read_traces(path: str | Path, format: str | None = None) -> Iterator[Trace]:
    """Yield the runs of a trace file one by one; memory follows the largest run, not the file.

    Args:
        path: the file, in any format that a reader knows; gzip is undone.
        format: a reader's name; None detects it from the content.

    Raises:
        DataError: nothing in it can be read as a run.
        UsageError: no such file or format.
    """
    source = Source(Path(path))
    name, reader = (format, plugins.create("traces", format)) if format else _reader_for(source)
    last: Trace | None = None
    with plugins.plugin_errors("traces", name):
        for trace in reader.read(source):
            if last is not None:
                yield last
            last = trace
    if last is None:
        what = "; ".join(f"{count} x {reason}" for reason, count in source.problems.items())
        raise DataError(f"no run in this {reader.name} file{': ' + what if what else ''}", at=str(source.path))
    if source.problems:
        # What could not be read is known when all is read: it goes with the last run.
        counts = dict(last.unrecognised)
        for reason, count in source.problems.items():
            counts[reason] = counts.get(reason, 0) + count
        last = replace(last, unrecognised=counts)
    yield last


def read_trace(path: str | Path, format: str | None = None) -> Trace:
    """Return a trace file as one trace; several runs are joined, and kept apart in `runs`.

    Args:
        path: the file, in any format that a reader knows; gzip is undone.
        format: a reader's name; None detects it from the content.

    Raises:
        DataError: nothing in it can be read as a run.
        UsageError: no such file or format.
    """
    return join(read_traces(path, format))


def check_format(name: str) -> None:
    """Raise a usage error, with the nearest names, for a format that no reader has."""
    if name not in plugins.names("traces"):
        raise UsageError(f"unknown trace format {name!r}", hint=suggest(name, plugins.names("traces")))


__all__ = ["detect", "read_trace", "read_traces"]
