"""Items that a trainer sends: programs with tests, or ids of problems of a benchmark that is loaded."""

from __future__ import annotations

import ast
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from markbook.benchmarks.assembly import RowText, assemble
from markbook.benchmarks.benchmark import data_files, is_package, load_benchmark
from markbook.benchmarks.faults import find_fault, language_fault, without_faults
from markbook.errors import DataError, EnvironmentUnfitError, UsageError, suggest
from markbook.languages import Toolchain, find, versions
from markbook.row_keys import ITEM_KEYS
from markbook.runs.exam.grading import ErrorPolicy
from markbook.serve.records import Order, UnmarkableError
from markbook.testcode import programs
from markbook.types import PYTHON, Limits, Missing, MissingKind, ProblemType, Sample, Test

# Which languages can be marked and run: what callers write, and the toolchain of this machine that it means.


class UnsupportedLanguage(UsageError):
    """There is nothing here that runs it."""


def toolchain(name: str) -> Toolchain | None:
    """Return the toolchain of a language, None for Python as an exam marks it.

    Raises:
        UnsupportedLanguage: there is none, or it is not here.
    """
    if name.lower() in ("", *PYTHON):
        return None
    return find_installed(name)


def find_installed(name: str) -> Toolchain:
    """Return the toolchain of a language that a benchmark's task names; that may be Python's interpreter, too.

    Raises:
        UnsupportedLanguage: there is none, or it is not here.
    """
    try:
        return find(name)
    except EnvironmentUnfitError as error:
        raise UnsupportedLanguage(error.message, hint=error.hint.partition(";")[0]) from None
    except UsageError:
        here = [language_name for language_name, version in versions().items() if version]
        raise UnsupportedLanguage(f"unsupported language {name[:40]!r}", hint=f"known: {', '.join(here)}") from None


# Benchmarks by name, each loaded once: the only files that a caller can name.


class BenchmarkShelf:
    """What benchmarks there are. A name is one that was found in the folder: nothing in it is taken for a path."""

    def __init__(self, folder: Path | None = None, *files: Path) -> None:
        """List the benchmarks of a folder, and single ones.

        Raises:
            DataError: the folder cannot be read.
        """
        self._places: dict[str, Path] = {}
        paths = list(files)
        if folder is not None:
            if not folder.is_dir():
                what = "is not a folder" if folder.exists() else "does not exist"
                raise DataError(f"the folder of benchmarks {what}", at=str(folder))
            inner = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
            paths += [*data_files(folder), *(path for path in inner if is_package(path))]
            paths += [path for path in inner if path.is_dir() and not is_package(path) and data_files(path)]
        for path in paths:
            for name in (path.name, path.name.partition(".")[0]):
                self._places.setdefault(name, path)
        self._loaded: dict[Path, dict[str, Sample]] = {}
        self._lock = threading.Lock()

    @property
    def names(self) -> list[str]:
        """The names without their suffixes."""
        return sorted({path.name.partition(".")[0] for path in self._places.values()})

    def is_loaded(self, name: str) -> bool:
        """Whether asking for a sample of it takes no time; so for an unknown name."""
        return name not in self._places or self._places[name] in self._loaded

    def load(self, name: str) -> dict[str, Sample]:
        """Return the samples of a benchmark by id, those tests set aside that an exam sets aside.

        Raises:
            DataError: it cannot be read.
            UsageError: there is none of this name.
        """
        path = self._places.get(name)
        if path is None:
            raise UsageError(f"there is no benchmark {name[:80]!r} here", hint=suggest(name[:80], self.names))
        with self._lock:
            if path not in self._loaded:
                try:
                    sound, _ = without_faults(load_benchmark(path), language_fault)
                except DataError as error:  # where its files lie is nothing for whoever asks over the network
                    message = error.message.replace(str(path), name)
                    raise DataError(message, at=name, hint=error.hint) from None
                for language in {sample.language for sample in sound.samples} - {""}:
                    with suppress(UsageError):  # said of each of its tasks when it is asked for
                        find_installed(language)  # looked for here, where nothing else waits for it
                self._loaded[path] = {sample.id: sample for sample in sound.samples}
            return self._loaded[path]

    def sample(self, name: str, task_id: str) -> Sample:
        """Return a task of a benchmark.

        Raises:
            DataError: the benchmark cannot be read.
            UsageError: there is none.
            UnmarkableError: it has no such task.
        """
        samples = self.load(name)
        if task_id not in samples:
            near = suggest(task_id[:80], list(samples)) if len(samples) < 2000 else ""
            hint = near if near.startswith("did") else f"it has {len(samples)}, such as {next(iter(samples))!r}"
            raise UnmarkableError(f"{name!r} has no task {task_id[:80]!r}", hint=hint)
        return samples[task_id]


# The fields of one item, and its own tests.

MAX_CODE = 1 << 20
"""Characters of one program."""
MAX_TESTS = 1000
MAX_TEXT = 4 << 20
MAX_STREAMS = 32 << 20
"""Characters of all tests of an item."""
_SYNONYMS = {"ctx": "setup", "keyword": "pattern"}
"""The benchmark's own words for parts of a test."""
_STREAMS = ("stdin", "stdout", "checker", "points")
"""Parts of a test that feeds a program and compares what it prints."""
_MUCH = 1e9
_IN_PYTHON = ("setup", "assertion", "inspection", "pattern", "program", *_SYNONYMS)
_ELSEWHERE = ("setup", "program")
"""Parts of a test in another language: what stands before the answer, and what stands behind it."""


class PlacedItem:
    """One item, and where it stands."""

    def __init__(self, value: Mapping[str, object], at: str) -> None:
        self.value = value
        self.at = at

    def text(self, key: str, most: int = MAX_CODE) -> str:
        """Return a field that is a string; empty if it is not there."""
        value = self.value.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise UsageError(f"{key!r} is not a string", at=self.at)
        if len(value) > most:
            raise UsageError(f"{key!r} has {len(value)} characters", at=self.at, hint=f"at most {most}")
        return writable(value, key, self.at)

    def number(self, key: str, default: float, most: float, *, least: float = 0.0) -> float:
        """Return a field that is a number within bounds."""
        value = self.value.get(key)
        if value is None:
            return default
        if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most or value == 0:
            span = f"from {least:g} to {most:g}" if least else f"above 0 and at most {most:g}"
            raise UsageError(f"{key!r} is {str(value)[:40]}, and has to be a number {span}", at=self.at)
        return float(value)


def writable(text: str, key: str, at: str) -> str:
    """Return a text that can be written as UTF-8, as all that is executed has to be.

    Raises:
        UsageError: it cannot.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{key!r} holds half a character, at {error.start}", at=at, hint="a lone surrogate") from None
    return text


def read_tests(item: PlacedItem, *, elsewhere: bool) -> tuple[Test, ...]:
    """Return an item's tests; `elsewhere` says that they are in another language than Python.

    Raises:
        UsageError: what is wrong, and with which of them.
    """
    value = item.value.get("tests")
    if value is None or value in ([], ""):
        raise UsageError("it has no tests", at=item.at, hint="give 'tests', or 'benchmark' with 'task_id'")
    if isinstance(value, str):
        value = [{"program": value} if elsewhere else _comparison(value)]
    if not isinstance(value, list):
        raise UsageError("'tests' is neither a list nor a string", at=item.at)
    if len(value) > MAX_TESTS:
        raise UsageError(f"{len(value)} tests are too many", at=item.at, hint=f"at most {MAX_TESTS}")
    # before any of it is parsed, which takes a hundred times the memory; what is read and printed is not parsed
    most = MAX_STREAMS if all(isinstance(test, Mapping) and "stdout" in test for test in value) else MAX_TEXT
    if _length(value) > most:
        raise UsageError("the tests are too long", at=item.at, hint=f"at most {most} characters together")
    entry = "" if elsewhere else item.text("entry_point", 200)
    tests = tuple(_test(test, f"{item.at}.tests[{number}]", elsewhere, entry) for number, test in enumerate(value))
    if len({test.stdin is None for test in tests}) > 1:
        hint = "a program reads and writes, or has tests that call it"
        raise UsageError("some of its tests have 'stdin' and others have not", at=item.at, hint=hint)
    return tests


def _length(value: object, depth: int = 3) -> int:
    """Return the characters of all texts in a list of tests, and in their own lists."""
    if isinstance(value, str):
        return len(value)
    if not depth:
        return 0
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return sum(_length(part, depth - 1) for part in parts)


def _test(value: object, at: str, elsewhere: bool, entry: str) -> Test:  # noqa: FBT001 - a part of `read_tests`
    if isinstance(value, str):
        value = {"program": value} if elsewhere else _claim(value)
    if not isinstance(value, Mapping):
        raise UsageError("it is neither a string nor an object", at=at)
    value = {key: part for key, part in value.items() if part is not None}  # as tables fill what a row has not
    if "stdout" in value:
        return _of_streams(value, at)
    fields_known = _ELSEWHERE if elsewhere else _IN_PYTHON
    test = Test(
        **{_SYNONYMS.get(str(key), str(key)): _part(key, part, at, fields_known) for key, part in value.items()}
    )
    if elsewhere:
        if not test.program:
            raise UsageError("it has no 'program'", at=at, hint="the code that stands behind the answer and tests it")
        return test
    if test == Test():
        raise UsageError("it is empty", at=at)
    if test.program and (test.setup or test.assertion):
        raise UsageError("it has a 'program' beside 'setup' or 'assertion'", at=at, hint="a program stands alone")
    if fault := find_fault(test, entry):
        raise UnmarkableError(fault, at=at)
    return test


def _of_streams(value: Mapping[Any, Any], at: str) -> Test:
    """Return a test of a program that reads and writes."""
    texts = {str(key): _part(key, part, at, _STREAMS) for key, part in value.items() if key != "points"}
    points = value.get("points")
    if points is not None and (
        isinstance(points, bool) or not isinstance(points, int | float) or not 0 <= points < _MUCH
    ):
        raise UsageError(f"'points' is {str(points)[:40]}, and has to be a number of 0 or more", at=at)
    test = Test(**{"stdin": "", **texts}, points=None if points is None else float(points))
    if fault := find_fault(test):
        raise UnmarkableError(fault, at=at)
    return test


def _part(key: object, part: object, at: str, fields_known: tuple[str, ...]) -> Any:
    if key not in fields_known:
        raise UsageError(f"unknown field {str(key)[:40]!r}", at=at, hint=suggest(str(key)[:40], list(fields_known)))
    if key == "inspection":
        words = [part] if isinstance(part, str) else part
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise UsageError("'inspection' is neither a string nor a list of strings", at=at)
        return tuple(writable(word, key, at) for word in words)
    if not isinstance(part, str):
        raise UsageError(f"{key!r} is not a string", at=at)
    return writable(part, str(key), at)


def _comparison(text: str) -> dict[str, str]:
    """Return a test program; one that is a comparison and nothing else is what it claims."""
    claim = _claim(text)
    node = programs.parse(text) if "assertion" in claim else None
    is_claim = node is not None and isinstance(node.body[0], ast.Expr) and not isinstance(node.body[0].value, ast.Call)
    return claim if is_claim else {"program": text}


def _claim(text: str) -> dict[str, str]:
    """Return a test that is one expression or `assert` as what it claims, so that each counts for itself."""
    tree = programs.parse(text)
    if tree is not None and len(tree.body) == 1:
        (node,) = tree.body
        if isinstance(node, ast.Assert):
            try:
                return {"assertion": ast.unparse(node.test)}
            except RecursionError:  # too deep to be written anew: it is run as it stands
                return {"program": text}
        if isinstance(node, ast.Expr):
            return {"assertion": text.strip()}
    return {"program": text}


# From what a caller sends to an order: every field checked, and every refusal a sentence that says where.

_FIELDS = (
    "id", *ITEM_KEYS, "language", "timeout", "deadline", "memory_mb",
    "tests", "entry_point", "canonical", "prompt", "kind", "benchmark", "task_id",
)  # fmt: skip
_OWN = ("tests", "entry_point", "canonical", "prompt", "kind")
_KINDS = (ProblemType.FUNCTION, ProblemType.CLASS, ProblemType.TEXT)
"""What an item with tests in Python may be; one whose tests have `stdout` is a program that reads and writes."""


@dataclass(frozen=True, slots=True)
class Defaults:
    """What holds where an item does not say."""

    timeout: float = 60.0
    """CPU seconds, as in an exam."""
    most_timeout: float = 600.0
    memory_mb: int = 2048
    most_memory_mb: int = 8192
    benchmark: str = ""
    policy: ErrorPolicy = "zero"


def read_items(values: object, shelf: BenchmarkShelf, defaults: Defaults, most: int) -> list[Order]:
    """Return the orders of a batch; nothing of it is taken if anything is wrong with how it is written.

    An item whose tests are broken, or whose task is unknown, is an order without anything to run: `missing_undefined`.

    Raises:
        UsageError: what is wrong, and in which item.
    """
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise UsageError("'items' is not a list", hint='send {"items": [{"id": .., "code": .., "tests": ..}]}')
    if not values:
        raise UsageError("'items' is empty")
    if len(values) > most:
        raise UsageError(f"{len(values)} items are too many at once", hint=f"send at most {most}")
    return [read_item(value, f"items[{number}]", shelf, defaults) for number, value in enumerate(values)]


def read_item(value: object, at: str, shelf: BenchmarkShelf, defaults: Defaults) -> Order:
    """Return the order of one item.

    Raises:
        UsageError: what is wrong with it.
    """
    if not isinstance(value, Mapping):
        raise UsageError("it is not an object", at=at)
    for name in value:
        if name not in _FIELDS:
            raise UsageError(f"unknown field {str(name)[:40]!r}", at=at, hint=suggest(str(name)[:40], list(_FIELDS)))
    item = PlacedItem(value, at)
    try:
        sample = _sample(item, shelf, defaults)
        missing, code = _code(item, sample)
    except UnmarkableError as error:
        sample, missing, code = Sample(id=""), Missing(MissingKind.UNDEFINED, str(error)), ""
    limits = Limits(
        seconds=item.number("timeout", defaults.timeout, defaults.most_timeout),
        memory_bytes=int(item.number("memory_mb", defaults.memory_mb, defaults.most_memory_mb, least=64)) << 20,
    )
    seconds = item.number("deadline", 0.0, 86_400.0) if value.get("deadline") is not None else None
    name = at if value.get("id") is None else value["id"]
    if not isinstance(name, str | int) or isinstance(name, bool) or len(str(name)) > 200:
        raise UsageError("'id' is neither a short string nor a whole number", at=at)
    return Order(str(name), code, sample, limits, defaults.policy, seconds, missing)


def _sample(item: PlacedItem, shelf: BenchmarkShelf, defaults: Defaults) -> Sample:
    """Return the task that an item is an answer to."""
    name = item.text("benchmark", 200) or ("" if "tests" in item.value else defaults.benchmark)
    if not name:
        if item.value.get("task_id") is not None:
            raise UsageError("'task_id' without 'benchmark'", at=item.at, hint="name the benchmark too")
        return _by_test(_own_sample(item)) if defaults.policy == "partial" else _own_sample(item)
    if own := [key for key in _OWN if item.value.get(key) is not None]:
        raise UsageError(f"{own[0]!r} beside 'benchmark'", at=item.at, hint="an item has one or the other")
    task = item.value.get("task_id")
    if not isinstance(task, str) or not task:
        raise UsageError("'task_id' is missing or no string", at=item.at)
    try:
        sample = shelf.sample(name, task)
    except UsageError as error:
        raise type(error)(error.message, at=item.at, hint=error.hint) from None
    try:
        return _in_language(sample, item.text("language", 80))
    except UsageError as error:
        raise UsageError(error.message, at=item.at, hint=error.hint) from None


def _in_language(sample: Sample, name: str) -> Sample:
    """Return a benchmark's task as it is answered: programs that read and write may be in any language.

    Raises:
        UsageError: its language, or that of its judge, is not here; or it is to be answered in another one.
    """
    for language in sample.judge.languages if sample.judge is not None else ():
        find_installed(language)
    if sample.language:
        find_installed(sample.language)
        return sample
    tool = toolchain(name)
    if tool is None:
        return sample
    if sample.problem_type is not ProblemType.STDIN:
        raise UsageError(f"{sample.id!r} is answered in Python, not in {name!r}")
    return replace(sample, language=tool.language.name)


def _code(item: PlacedItem, sample: Sample) -> tuple[Missing | None, str]:
    """Return the program of an item, assembled as an exam does, or why there is none."""
    keys = [key for key in ITEM_KEYS if key in item.value]
    if len(keys) != 1:
        what = "it has 'code' and 'completion'" if keys else "it has neither 'code' nor 'completion'"
        raise UsageError(what, at=item.at, hint="an item has one of them")
    (key,) = keys
    if item.value[key] is None:
        return Missing(MissingKind.ABSENT, "nobody answered: the code is null"), ""
    row = RowText(item.text(key), "completion" if key == "completion" else "candidate_solution")
    return None, assemble(row, sample).text


def _own_sample(item: PlacedItem) -> Sample:
    try:
        tool = toolchain(item.text("language", 80))
    except UsageError as error:
        raise UsageError(error.message, at=item.at, hint=error.hint) from None
    tests = read_tests(item, elsewhere=tool is not None)
    canonical = item.text("canonical")
    sample = Sample(id="", tests=tests, references=(canonical,) if canonical else (), prompt_code=item.text("prompt"))
    if tests[0].stdin is not None:
        if item.text("kind", 20) not in ("", ProblemType.STDIN):
            raise UsageError(f"'kind' is {item.text('kind')!r}", at=item.at, hint="its tests are of 'stdin'")
        if sample.prompt_code:
            raise UsageError(
                "'prompt' beside tests with 'stdout'", at=item.at, hint="such an answer is a whole program"
            )
        seconds = item.value.get("timeout")
        return replace(
            sample,
            problem_type=ProblemType.STDIN,
            language="" if tool is None else tool.language.name,
            seconds=float(seconds) if isinstance(seconds, int | float) else None,
        )
    if tool is not None:
        if item.value.get("kind") is not None:
            raise UsageError("'kind' is for answers in Python", at=item.at, hint="leave it out")
        return replace(sample, language=tool.language.name)
    kind = item.text("kind", 20)
    if kind and kind not in _KINDS:
        raise UsageError(f"'kind' is {kind!r}", at=item.at, hint=f"one of {', '.join(_KINDS)}")
    return replace(sample, entry_point=item.text("entry_point", 200), problem_type=ProblemType(kind) if kind else None)


def _by_test(sample: Sample) -> Sample:
    """Return a program that reads and writes with a point for each test where its tests have none, which stand or fall together."""
    if sample.problem_type is not ProblemType.STDIN or any(test.points is not None for test in sample.tests):
        return sample
    return replace(sample, tests=tuple(replace(test, points=1.0) for test in sample.tests))
