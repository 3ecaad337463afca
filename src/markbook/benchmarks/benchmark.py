"""Benchmarks of code problems: one file or a folder, the format known by its content.

A format is a plugin of the group `markbook.loaders` with the members of `BenchmarkFormat`. Each that is installed,
built in or not, is asked how sure it is of a file's first row; the surest reads the file. `--format` asks nobody.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from markbook import plugins
from markbook.benchmarks.problems import Benchmark, RowError
from markbook.errors import ConfigError, DataError, UsageError, os_errors_as, suggest_path
from markbook.files.content import first_byte, is_zip
from markbook.files.jsonl import Rejection, read_jsonl
from markbook.files.tables import read_table, suffix
from markbook.testcode import programs
from markbook.testcode.extraction import is_begun
from markbook.types import Sample, Test, names_python

_log = logging.getLogger(__name__)

_SUFFIXES = (".jsonl", ".jsonl.gz", ".json", ".json.gz")


@dataclass(frozen=True, slots=True)
class BenchmarkProbe:
    """What detection may look at."""

    path: Path
    record: Mapping[str, Any]


class BenchmarkFormat(Protocol):
    """How one kind of benchmark row becomes a sample."""

    keys: tuple[str, ...]
    """What its rows hold, for the message about a file that is of no known format."""
    repeats_are_samples: bool
    """Whether answers repeat a task id to give several samples."""

    def sniff(self, probe: BenchmarkProbe) -> int:
        """Return how sure it is that the file is its own, 0 to 100."""

    def to_sample(self, record: Mapping[str, object], at: str) -> Sample:
        """Return the problem of a row; raise RowError if it is none."""


_MEMBERS = ("keys", "repeats_are_samples", "sniff", "to_sample")


def load_benchmark(path: Path, format_name: str = "auto") -> Benchmark:
    """Return the benchmark in a file or folder.

    Raises:
        DataError: there is nothing there, nothing valid in it, task ids repeat, or a folder mixes benchmarks.
        UsageError: the format is unknown.
    """
    # Before the search for data files: a package may hold `.json` files that are not its problems.
    if path.exists() and format_name == "auto" and is_package(path):
        from markbook.benchmarks.packages import package_benchmark

        return package_benchmark(path)
    if not path.exists():
        from markbook.files.hub import KNOWN

        name = path.name.removesuffix(".jsonl")
        hint = f"`markbook get {name}` downloads it as {name}.jsonl" if name in KNOWN else suggest_path(path)
        raise DataError("the benchmark does not exist", at=str(path), hint=hint)
    files = [path]
    if path.is_dir():
        files = [
            file
            for file in [*data_files(path), *data_files(path, (".parquet",))]
            # A `.json` file in a folder may be anything, such as a configuration; only a list can hold problems.
            if not file.name.endswith((".json", ".json.gz")) or first_byte(file) == b"["
        ]
    if not files:
        raise DataError("No valid benchmark problems found: the folder holds no .jsonl file", at=str(path))
    digest = hashlib.sha256()
    read = {file: _read_file(file, format_name, digest) for file in files}
    read = {file: file_read for file, file_read in read.items() if file_read.samples or file_read.rejections}
    formats = sorted({file_read.format for file_read in read.values() if file_read.samples})
    if not formats:
        rejections = [rejection for file_read in read.values() for rejection in file_read.rejections]
        first = (
            f"; the first of {len(rejections)} rejected rows, {rejections[0].at}: {rejections[0].reason}"
            if rejections
            else ""
        )
        raise DataError(
            f"No valid benchmark problems found{first}", at=str(path), hint="--format overrides what was detected"
        )
    # A benchmark has one format, which decides among others whether repeated answers are samples.
    if len(formats) > 1:
        names = ", ".join(f"{file.name} ({file_read.format})" for file, file_read in read.items() if file_read.samples)
        raise DataError("this folder holds more than one benchmark", at=str(path), hint=f"name one file: {names}")
    samples = [sample for file_read in read.values() for sample in file_read.samples]
    lines: dict[str, str] = {}
    for sample in samples:
        # Answers are matched by id, so with two problems of one id it is open which of them is answered.
        if sample.id in lines:
            raise DataError(
                f"the task id {sample.id!r} stands twice; the other is at {lines[sample.id]}",
                at=sample.source,
                hint="give each problem an id of its own",
            )
        lines[sample.id] = sample.source
    return Benchmark(
        name=path.name.partition(".")[0] or path.resolve().name,
        format=formats[0],
        samples=tuple(samples),
        rejections=tuple(rejection for file_read in read.values() for rejection in file_read.rejections),
        digest=digest.hexdigest(),
        repeats_are_samples=_format(formats[0]).repeats_are_samples,
        files=tuple(str(file) for file, file_read in read.items() if file_read.samples),
    )


def is_package(path: Path) -> bool:
    """Return whether this is a problem package: a zip, or a folder with its `problem.yaml`."""
    return (path / "problem.yaml").is_file() if path.is_dir() else path.is_file() and is_zip(path)


@dataclass(frozen=True, slots=True)
class _File:
    format: str
    samples: list[Sample]
    rejections: list[Rejection]


def data_files(folder: Path, suffixes: tuple[str, ...] = _SUFFIXES) -> list[Path]:
    """Return the data files directly in a folder, by name; hidden files are none."""
    with os_errors_as(DataError, "the folder cannot be read", folder):
        names = sorted(folder.iterdir())
    return [file for file in names if file.name.endswith(suffixes) and not file.name.startswith(".") and file.is_file()]


def _read_file(file: Path, format_name: str, digest: hashlib._Hash) -> _File:
    content = _File(format_name, [], [])
    reader: BenchmarkFormat | None = None if format_name == "auto" else _format(format_name)
    read = read_table if suffix(file) == ".parquet" else read_jsonl
    for row in read(file, digest=digest):
        if isinstance(row, Rejection):
            content.rejections.append(row)
            continue
        # The first row that is known decides for the whole file; later rows of another format are rejected one by one.
        if reader is None:
            name = detect(BenchmarkProbe(file, row.record))
            if name is None:
                keys = ", ".join(sorted(row.record)[:8]) or "none"
                keys_by_format = {name: reader_.keys for name, reader_ in _readers().items()}
                # The format that shares the most keys: a row that is nearly right is likely a misspelt one.
                nearest = max(keys_by_format, key=lambda name: len(set(keys_by_format[name]) & row.record.keys()))
                hint = (
                    f"; a row of {nearest} has {', '.join(keys_by_format[nearest])}" if keys_by_format[nearest] else ""
                )
                if row.record.keys() & {"completion", "candidate_solution", "solution"} and "test" not in row.record:
                    hint = "; it looks like an answer: --solutions takes those"
                reason = f"not a problem of a known format (its keys: {keys}){hint}"
                content.rejections.append(Rejection(row.at, reason))
                continue
            reader, content = _format(name), replace(content, format=name)
        try:
            content.samples.append(
                without_python(_check_sample_type(reader.to_sample(row.record, row.at), row.at, content.format))
            )
        except RowError as error:
            content.rejections.append(Rejection(row.at, str(error)))
    return content


def detect(probe: BenchmarkProbe) -> str | None:
    """Return the name of the format that is the surest that a file is its own, None if none takes it.

    Raises:
        DataError: several are equally sure.
    """
    best = plugins.detect("loaders", _readers(), probe)
    if len(best) > 1:
        raise DataError(
            f"the loaders {' and '.join(map(repr, best))} claim this file alike",
            at=str(probe.path),
            hint=f"choose one with --format, such as --format {best[0]}",
        )
    return best[0] if best else None


@functools.cache
def _readers() -> Mapping[str, BenchmarkFormat]:
    """Return every format that can be detected, by name; a plugin that cannot be made is named and left out."""
    readers: dict[str, BenchmarkFormat] = {}
    # ours of papers read no benchmark, and their records take longer to make than those of all that do
    for name, reader in plugins.load_all("loaders", ("generated_reviews", "peerread")).items():
        lacking = _lacking(reader)
        if not lacking:
            readers[name] = reader
        # A loader of papers or samples lacks all members and is left out in silence: the group holds other kinds, too.
        elif len(lacking) < len(_MEMBERS):
            _log.warning("the loader %r lacks %s: it reads no benchmark", name, ", ".join(lacking))
    return readers


def _lacking(reader: object) -> list[str]:
    """Return which members of a format an object lacks; all of them if it loads something else, such as papers."""
    return [member for member in _MEMBERS if not hasattr(reader, member)]


def _format(name: str) -> BenchmarkFormat:
    reader: BenchmarkFormat = _readers().get(name) or plugins.create_typed("loaders", name)
    if lacking := _lacking(reader):
        raise UsageError(
            f"the loader {name!r} does not read benchmarks: it lacks {', '.join(lacking)}",
            hint=f"one of {', '.join(_readers())}",
        )
    return reader


_FIELDS = {
    "object": "problem_type, and tests that are programs",
    **{name: name for name in ("canonical", "context", "preloaded", "problem_type", "prompt_code", "row", "system")},
    "doc_id": "row",
}
"""What has a field of its own in a sample, by the key of `meta` under which loaders once put it."""


def _check_sample_type(sample: Sample, at: str, name: str) -> Sample:
    """Return a loader's sample if it says in fields what has one (under a key of `meta` nobody would read it), else ConfigError."""
    if misplaced := sorted(sample.meta.keys() & _FIELDS):
        raise ConfigError(
            f"the loader {name!r} puts {', '.join(map(repr, misplaced))} into a sample's meta, where nobody reads it",
            at=at,
            hint="Sample has fields for it: " + "; ".join(dict.fromkeys(_FIELDS[key] for key in misplaced)),
        )
    return sample


_DEFINITION = re.compile(r"^(?:(?:async )?def|class) (\w+)", re.MULTILINE)


def find_entry_point(prompt: str) -> str:
    """Return the last definition of a prompt, or the last that does nothing yet: an answer is to complete it. Empty if it has none."""
    names = _DEFINITION.findall(prompt)[::-1]
    return next((name for name in names if is_begun(prompt, name)), next(iter(names), ""))


def without_python(sample: Sample) -> Sample:
    """Return a problem that names Python as one that names no language: the examiner meets both alike.

    A judge asks programs in an interpreter of their own, and what stands before an answer is part of it: such a
    problem stays as it is.
    """
    is_program = sample.judge is not None or sample.group is not None or any(test.setup for test in sample.tests)
    if not sample.language or not names_python(sample.language) or is_program:
        return sample
    name = sample.entry_point or find_entry_point(sample.prompt_code)
    return replace(sample, language="", canonical_language="", entry_point=name)


# Broken tests: those that no answer can pass, that every answer passes, or that would never end.

# Tests in other languages than Python that nobody can be marked by.


def language_fault(name: str, test: Test) -> str:
    """Return why nothing can be marked by a test in a language, empty if something can; so for an unknown language."""
    from markbook.languages import language

    try:
        return language(name).find_fault(test.program)
    except UsageError:
        return ""


# Faults of a benchmark itself: tests that do not parse, would pass whatever is tested, or end before it is seen that they passed.
#
# They are set aside before anybody is marked by them.


@dataclass(frozen=True, slots=True)
class TestFault:
    """A test by which nobody can be marked because it is broken."""

    task_id: str
    test_index: int
    """From 0, in the benchmark's own numbering."""
    reason: str


def without_faults(
    benchmark: Benchmark, elsewhere: Callable[[str, Test], str] = lambda _language, _test: ""
) -> tuple[Benchmark, list[TestFault]]:
    """Return the benchmark without its broken tests, and without problems that have no other; and what was set aside.

    `elsewhere` says why a test in a language of its own is broken, empty if it is not.

    Raises:
        DataError: no test is left.
    """
    faults: list[TestFault] = []
    samples: list[Sample] = []
    for sample in benchmark.samples:
        test_faults = [
            TestFault(sample.id, index, reason)
            for index, test in enumerate(sample.tests)
            if (
                reason := elsewhere(sample.language, test)
                if sample.language and test.stdin is None
                else find_fault(test, sample.entry_point)
            )
        ]
        if not test_faults:
            samples.append(sample)
            continue
        faults += test_faults
        broken = {fault.test_index for fault in test_faults}
        sound = tuple(test for index, test in enumerate(sample.tests) if index not in broken)
        if sound:
            samples.append(replace(sample, tests=sound))
    if not samples:
        raise DataError(
            f"no problem has a test that can be passed; the first fault, in {faults[0].task_id}: {faults[0].reason}",
            at=benchmark.samples[0].source,
        )
    return replace(benchmark, samples=tuple(samples)), faults


def find_fault(test: Test, entry: str = "") -> str:
    """Return why a test of `entry` is broken, empty if it is not. Its code is parsed, never run."""
    fault = programs.find_fault(test, entry)
    if fault or test.stdin is None:
        return fault
    from markbook.sandbox.guest.examination import rules  # late: few benchmarks compare what programs print

    try:
        rules.parse(test.checker)
    except ValueError as error:
        return str(error)
    return ""
