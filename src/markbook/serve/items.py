"""Items that a trainer sends: programs with tests, or ids of problems of a benchmark that is loaded."""

from __future__ import annotations

import ast
import re
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from markbook.benchmarks.assembly import assemble, begins_definition, behind
from markbook.benchmarks.benchmark import (
    data_files,
    find_entry_point,
    find_fault,
    is_package,
    language_fault,
    load_benchmark,
    without_faults,
)
from markbook.errors import DataError, EnvironmentUnfitError, UsageError, suggest
from markbook.files.archive import refuse_link_out
from markbook.languages import Toolchain, find, versions
from markbook.option import TIME_LIMIT
from markbook.row_keys import ITEM_KEYS
from markbook.runs.exam.exam_options import ErrorPolicy
from markbook.serve import requests
from markbook.serve.records import Order, UnmarkableError
from markbook.testcode import programs
from markbook.testcode.extraction import compiles, defines, may_go_on
from markbook.types import Limits, Missing, MissingKind, ProblemType, Sample, Test, names_python

# Which languages can be marked and run: what callers write, and the toolchain of this machine that it means.


class UnsupportedLanguage(UsageError):
    """There is nothing here that runs it."""


def toolchain(name: str) -> Toolchain | None:
    """Return the toolchain of a language, None for Python as an exam marks it.

    Raises:
        UnsupportedLanguage: there is none, or it is not here.
    """
    if names_python(name):
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
            DataError: the folder cannot be read, or a benchmark in it is a link that leads out of it.
        """
        self._folder = folder and folder.resolve()
        paths = list(files)
        if folder is not None:
            if not folder.is_dir():
                what = "is not a folder" if folder.exists() else "does not exist"
                raise DataError(f"the folder of benchmarks {what}", at=str(folder))
            inner = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
            paths += [*data_files(folder), *(path for path in inner if is_package(path))]
            paths += [path for path in inner if path.is_dir() and not is_package(path) and data_files(path)]
            for path in paths[len(files) :]:
                self._refuse_links_out(path)
        self._places = {path.name: path for path in paths}
        stems = Counter(path.name.partition(".")[0] for path in paths)
        for path in paths:
            # a whole name goes before a short one, and what is short for several is the name of none
            if stems[stem := path.name.partition(".")[0]] == 1:
                self._places.setdefault(stem, path)
        self._loaded: dict[Path, dict[str, Sample]] = {}
        self._lock = threading.Lock()

    def _refuse_links_out(self, path: Path) -> None:
        if self._folder is not None:  # else the user has named the file
            for entry in [path, *(path.iterdir() if path.is_dir() else ())]:
                refuse_link_out(entry, self._folder)

    @property
    def names(self) -> list[str]:
        """The shortest name of each."""
        return sorted({path: name for name, path in self._places.items()}.values())

    def is_loaded(self, name: str) -> bool:
        """Whether asking for a sample of it takes no time; so for an unknown name."""
        return name not in self._places or self._places[name] in self._loaded

    def load(self, name: str) -> dict[str, Sample]:
        """Return the samples of a benchmark by id, those tests set aside that an exam sets aside.

        Raises:
            DataError: it cannot be read.
            UnmarkableError: there is none of this name.
        """
        path = self._places.get(name)
        if path is None:
            raise UnmarkableError(f"there is no benchmark {name[:80]!r} here", hint=suggest(name[:80], self.names))
        if path in self._loaded:  # without the lock, which another thread holds for as long as it reads a large one
            return self._loaded[path]
        with self._lock:
            if path not in self._loaded:
                try:
                    self._refuse_links_out(path)  # again, since the folder may have changed
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
            UnmarkableError: there is none, or it has no such task.
        """
        samples = self.load(name)
        if task_id not in samples:
            # the id is compared with every other, so in a large benchmark nothing near is looked for
            near = suggest(task_id[:80], list(samples)) if len(samples) < 2000 else ""
            hint = near if near.startswith("did") else f"it has {len(samples)}, such as {next(iter(samples))!r}"
            raise UnmarkableError(f"{name!r} has no task {task_id[:80]!r}", hint=hint)
        return samples[task_id]


# An item's own tests.

MAX_TESTS = 1000
MAX_TEXT = 4 << 20
MAX_STREAMS = 32 << 20
"""Characters of all tests of an item."""
_SYNONYMS = {"ctx": "setup", "keyword": "pattern"}
"""The benchmark's own words for parts of a test."""


def read_tests(value: object, at: str, *, elsewhere: bool, entry: str = "") -> tuple[Test, ...]:
    """Return an item's tests.

    Args:
        value: what the item has as `tests`.
        at: where the item stands.
        elsewhere: whether they are in another language than Python.
        entry: the function that they call, where it is named.

    Raises:
        UnmarkableError: nobody can be marked by them.
        UsageError: what is wrong, and with which of them.
    """
    if value is None:
        raise UsageError("it has no tests", at=at, hint="give 'tests', or 'benchmark' with 'task_id'")
    value = list(value) if isinstance(value, tuple) else value  # as JSON makes it
    if value in ([], ""):
        raise UnmarkableError("'tests' is empty", at=at)
    for number, test in enumerate(value if isinstance(value, list) else ()):
        if isinstance(test, str) and not test.strip():
            raise UnmarkableError(f"'tests[{number}]' is empty", at=at)
    if isinstance(value, str):
        claim = {"program": value} if elsewhere else _claim(value)
        if "assertion" in claim and (tree := programs.parse(value)) is not None:
            node = tree.body[0]
            # a program that is a comparison and nothing else is what it claims; a lone call may be what runs the tests
            if not isinstance(node, ast.Expr) or isinstance(node.value, ast.Call):
                claim = {"program": value}
        value = [claim]
    if not isinstance(value, list):
        raise UsageError("'tests' is neither a list nor a string", at=at)
    if len(value) > MAX_TESTS:
        raise UsageError(f"{len(value)} tests are too many", at=at, hint=f"at most {MAX_TESTS}")
    # before any of it is parsed, which takes a hundred times the memory; what is read and printed is not parsed
    most = MAX_STREAMS if all(isinstance(test, Mapping) and "stdout" in test for test in value) else MAX_TEXT
    if _length(value) > most:
        raise UsageError("the tests are too long", at=at, hint=f"at most {most} characters together")
    tests = tuple(
        _read_test(test, f"{at}.tests[{number}]", elsewhere=elsewhere, entry=entry) for number, test in enumerate(value)
    )
    if len({test.stdin is None for test in tests}) > 1:
        hint = "a program reads and writes, or has tests that call it"
        raise UsageError("some of its tests have 'stdin' and others have not", at=at, hint=hint)
    return tests


def _length(value: object, depth: int = 3) -> int:
    """Return the characters of all texts in a list of tests, and in their own lists."""
    if isinstance(value, str):
        return len(value)
    if not depth:
        return 0
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return sum(_length(part, depth - 1) for part in parts)


def _read_test(value: object, at: str, *, elsewhere: bool, entry: str) -> Test:
    if isinstance(value, str):
        value = {"program": value} if elsewhere else _claim(value)
    if not isinstance(value, Mapping):
        raise UsageError("it is neither a string nor an object", at=at)
    value = {key: part for key, part in value.items() if part is not None}  # as tables fill what a row has not
    is_stream = "stdout" in value
    model = requests.StreamTest if is_stream else requests.ProgramTest if elsewhere else requests.PythonTest
    fields = requests.check(model, value, at)
    parts: dict[str, Any] = {_SYNONYMS.get(name, name): getattr(fields, name) for name in fields.model_fields_set}
    if "inspection" in parts:
        parts["inspection"] = tuple(parts["inspection"])
    if is_stream:
        parts.setdefault("stdin", "")
    test = Test(**parts)
    if elsewhere and not is_stream:
        if not test.program:
            raise UsageError("it has no 'program'", at=at, hint="the code that stands behind the answer and tests it")
        return test
    if test == Test():
        raise UsageError("it is empty", at=at)
    if test.program and (test.setup or test.assertion):
        raise UsageError("it has a 'program' beside 'setup' or 'assertion'", at=at, hint="a program stands alone")
    if fault := find_fault(test, "" if is_stream else entry):
        raise UnmarkableError(fault, at=at)
    return test


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

_OWN = ("tests", "entry_point", "canonical", "prompt", "kind")
_KINDS = (ProblemType.FUNCTION, ProblemType.CLASS, ProblemType.TEXT)
"""What an item with tests in Python may be; one whose tests have `stdout` is a program that reads and writes."""


@dataclass(frozen=True, slots=True)
class Defaults:
    """What holds where an item does not say."""

    timeout: float = TIME_LIMIT
    """CPU seconds, as in an exam."""
    most_timeout: float = 600.0
    memory_mb: int = 2048
    most_memory_mb: int = 8192
    benchmark: str = ""
    policy: ErrorPolicy = "zero"


def read_items(values: object, shelf: BenchmarkShelf, defaults: Defaults, most: int) -> list[Order]:
    """Return the orders of a batch; nothing of it is taken if anything is wrong with how it is written.

    An item whose tests are broken or empty, whose benchmark or task is unknown or that holds half a character is an order without anything to run: `undefined`.

    Raises:
        UsageError: what is wrong, and in which item.
    """
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise UsageError(requests.NOT_A_LIST.text, hint=requests.NOT_A_LIST.hint)
    if not values:
        raise UsageError("'items' is empty")
    if len(values) > most:
        raise UsageError(f"{len(values)} items are too many at once", hint=f"send at most {most}")
    return [read_item(value, f"items[{number}]", shelf, defaults) for number, value in enumerate(values)]


def without_nulls(item: Mapping[str, object]) -> dict[str, object]:
    """Return what an item says: a table has null for what a row does not, but a null answer is one that nobody gave."""
    return {name: value for name, value in item.items() if value is not None or name in ITEM_KEYS}


_HEAD = re.compile(r"^(?:async\s+def|def|class)\s", re.MULTILINE)


def with_prompt(item: Mapping[str, object], prompt: object) -> dict[str, object]:
    """Return an item with the prompt that its model was asked with, where that begins a definition and the item says nothing else.

    A prompt that is not Python, and ends with the head of a definition that the answer goes on with, makes it undefined.
    """
    tests, text = item.get("tests"), prompt if isinstance(prompt, str) else ""
    is_stream = isinstance(tests, list | tuple) and any(
        isinstance(test, Mapping) and "stdout" in test for test in tests
    )
    says = not tests or is_stream or any(item.get(key) is not None for key in ("prompt", "benchmark"))
    if says or not names_python(str(item.get("language") or "")):
        return dict(item)
    if begins_definition(text):
        return {**item, "prompt": prompt}
    answer = next((value for key in ITEM_KEYS if isinstance(value := item.get(key), str)), "")
    starts = [match.start() for match in _HEAD.finditer(text)]
    if starts and not compiles(assemble(answer, Sample(id="")).text):
        head = text[starts[-1] :].partition("```")[0]
        sample = Sample(id="", prompt_code=head, entry_point=find_entry_point(head))
        if begins_definition(head) and compiles(assemble(answer, sample).text):
            return {**item, "prompt": prompt, "entry_point": None}
    return dict(item)


def read_item(value: object, at: str, shelf: BenchmarkShelf, defaults: Defaults) -> Order:
    """Return the order of one item.

    Raises:
        UsageError: what is wrong with it.
    """
    if not isinstance(value, Mapping):
        raise UsageError("it is not an object", at=at)
    bounds = {"timeout": defaults.most_timeout, "memory_mb": defaults.most_memory_mb}
    missing, code, item = None, "", requests.MarkItem()
    try:
        item = requests.check(requests.MarkItem, without_nulls(value), at, bounds)
        sample = _find_sample(item, at, shelf, defaults)
        is_stream = sample.problem_type is ProblemType.STDIN
        if defaults.policy == "partial" and is_stream and all(test.points is None for test in sample.tests):
            # tests without points stand or fall together: a point for each makes their share the reward
            sample = replace(sample, tests=tuple(replace(test, points=1.0) for test in sample.tests))
        keys = [key for key in ITEM_KEYS if key in item.model_fields_set]
        keys = [key for key in keys if getattr(item, key) is not None] or keys[:1]  # a table has null in the other one
        if len(keys) != 1:
            what = "it has 'code' and 'completion'" if keys else "it has neither 'code' nor 'completion'"
            raise UsageError(what, at=at, hint="an item has one of them")
        text = item.code if keys == ["code"] else item.completion
        if text is None:
            missing = Missing(MissingKind.ABSENT, "nobody answered: the code is null")
        else:  # assembled as an exam does
            code = assemble(text, sample, key=keys[0]).text
    except UnmarkableError as error:
        sample, missing = Sample(id=""), Missing(MissingKind.UNDEFINED, str(error))
    limits = Limits(
        seconds=defaults.timeout if item.timeout is None else item.timeout,
        memory_bytes=int(defaults.memory_mb if item.memory_mb is None else item.memory_mb) << 20,
    )
    name = at if value.get("id") is None else str(value["id"])
    name = at if requests.find_half(name) else name
    return Order(name, code, sample, limits, defaults.policy, item.deadline, missing)


def _find_sample(item: requests.MarkItem, at: str, shelf: BenchmarkShelf, defaults: Defaults) -> Sample:
    """Return the task that an item is an answer to."""
    name = item.benchmark or ("" if "tests" in item.model_fields_set else defaults.benchmark)
    if not name:
        if item.task_id is not None:
            raise UsageError("'task_id' without 'benchmark'", at=at, hint="name the benchmark too")
        return _own_sample(item, at)
    if own := [key for key in _OWN if getattr(item, key) is not None]:
        raise UsageError(f"{own[0]!r} beside 'benchmark'", at=at, hint="an item has one or the other")
    if not item.task_id:
        raise UsageError("'task_id' is missing or no string", at=at)
    try:
        return _in_language(shelf.sample(name, item.task_id), item.language or "")
    except UsageError as error:
        raise type(error)(error.message, at=at, hint=error.hint) from None


def _in_language(sample: Sample, name: str) -> Sample:
    """Return a benchmark's task as it is answered: programs that read and write may be in any language.

    Raises:
        UsageError: its language, or that of its judge, is not here; or it is to be answered in another one.
    """
    for language in sample.judge.languages if sample.judge is not None else ():
        find_installed(language)
    if sample.language:
        own = find_installed(sample.language).language.name
        # marked as another language than its caller says it is, an answer would be wrong by no fault of its own
        if name:
            is_same = names_python(own) if names_python(name) else find_installed(name).language.name == own
            if not is_same:
                raise UsageError(f"{sample.id!r} is answered in {sample.language!r}, not in {name!r}")
        return sample
    tool = toolchain(name)
    if tool is None:
        return sample
    if sample.problem_type is not ProblemType.STDIN:
        raise UsageError(f"{sample.id!r} is answered in Python, not in {name!r}")
    return replace(sample, language=tool.language.name)


def _own_sample(item: requests.MarkItem, at: str) -> Sample:
    """Return the task that an item's own tests make."""
    try:
        tool = toolchain(item.language or "")
    except UsageError as error:
        raise UsageError(error.message, at=at, hint=error.hint) from None
    language = "" if tool is None else tool.language.name
    prompt = item.prompt or ""
    entry = "" if tool is not None else item.entry_point or find_entry_point(prompt)
    tests = read_tests(item.tests, at, elsewhere=tool is not None, entry=entry)
    canonical = item.canonical or ""
    if canonical and entry and not defines(canonical, entry):  # as an answer, it may only complete the prompt
        canonical = behind(prompt, canonical, entry)
    references = (canonical,) if canonical else ()
    sample = Sample(id="", tests=tests, references=references, prompt_code=prompt, language=language)
    if tests[0].stdin is not None:
        if item.kind not in (None, "", ProblemType.STDIN):
            raise UsageError(f"'kind' is {item.kind!r}", at=at, hint="its tests are of 'stdin'")
        if sample.prompt_code:
            raise UsageError("'prompt' beside tests with 'stdout'", at=at, hint="such an answer is a whole program")
        return replace(sample, problem_type=ProblemType.STDIN, seconds=item.timeout)
    if tool is not None:
        if item.kind is not None:
            raise UsageError("'kind' is for answers in Python", at=at, hint="leave it out")
        return sample
    if item.kind and item.kind not in _KINDS:
        raise UsageError(f"'kind' is {item.kind!r}", at=at, hint=f"one of {', '.join(_KINDS)}")
    if prompt and not (item.entry_point or (may_go_on(prompt, entry) if entry else compiles(prompt))):
        hint = "give the code that an answer goes on with, or 'entry_point'"
        what = "as far as it goes" if entry else "and begins no definition"
        raise UnmarkableError(f"'prompt' is not Python, {what}", at=at, hint=hint)
    return replace(sample, entry_point=entry, problem_type=ProblemType(item.kind) if item.kind else None)
