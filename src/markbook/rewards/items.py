"""From what a caller sends to an order: every field checked, and every refusal a sentence that says where."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markbook.errors import UsageError
from markbook.load.assembly import RowText, assemble
from markbook.load.faults import fault_of
from markbook.plugins import suggest
from markbook.rewards.languages import language
from markbook.rewards.records import Order
from markbook.rewards.shelf import Shelf
from markbook.runs.exam.marks import ErrorPolicy
from markbook.text import python
from markbook.types import Limits, Missing, MissingKind, ProblemType, Sample, Test

MAX_CODE = 1 << 20
"""Characters of one program."""
MAX_TESTS = 1000
MAX_TEXT = 4 << 20
"""Characters of all tests of an item."""
_FIELDS = (
    "id", "code", "completion", "language", "timeout", "deadline", "memory_mb",
    "tests", "entry_point", "canonical", "prompt", "kind", "benchmark", "task_id",
)  # fmt: skip
_OWN = ("tests", "entry_point", "canonical", "prompt", "kind")
_KINDS = (ProblemType.FUNCTION, ProblemType.CLASS, ProblemType.TEXT)
"""What an item with tests of its own may be; programs that read and write come from a benchmark."""
_SYNONYMS = {"ctx": "setup", "keyword": "pattern"}
"""The benchmark's own words for parts of a test."""
_PARTS = ("setup", "assertion", "inspection", "pattern", "program", *_SYNONYMS)


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


def read_items(values: object, shelf: Shelf, defaults: Defaults, most: int) -> list[Order]:
    """Return the orders of a batch; nothing of it is taken if anything is wrong with it.

    Raises:
        UsageError: what is wrong, and in which item.
    """
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise UsageError("'items' is no list", hint='send {"items": [{"id": .., "code": .., "tests": ..}]}')
    if not values:
        raise UsageError("'items' is empty")
    if len(values) > most:
        raise UsageError(f"{len(values)} items are too many at once", hint=f"send at most {most}")
    return [read_item(value, f"items[{number}]", shelf, defaults) for number, value in enumerate(values)]


def read_item(value: object, at: str, shelf: Shelf, defaults: Defaults) -> Order:
    """Return the order of one item.

    Raises:
        UsageError: what is wrong with it.
    """
    if not isinstance(value, Mapping):
        raise UsageError("it is no object", at=at)
    for name in value:
        if name not in _FIELDS:
            raise UsageError(f"unknown field {str(name)[:40]!r}", at=at, hint=suggest(str(name)[:40], list(_FIELDS)))
    item = _Item(value, at)
    language(item.text("language") or "python")
    sample = _sample(item, shelf, defaults)
    missing, code = _code(item, sample)
    limits = Limits(
        seconds=item.number("timeout", defaults.timeout, defaults.most_timeout),
        memory_bytes=int(item.number("memory_mb", defaults.memory_mb, defaults.most_memory_mb, least=64)) << 20,
    )
    seconds = item.number("deadline", 0.0, 86_400.0) if value.get("deadline") is not None else None
    name = value.get("id", at)
    if not isinstance(name, str | int) or isinstance(name, bool) or len(str(name)) > 200:
        raise UsageError("'id' is neither a short string nor a whole number", at=at)
    return Order(str(name), code, sample, limits, defaults.policy, seconds, missing)


class _Item:
    """One item, and where it stands."""

    def __init__(self, value: Mapping[str, Any], at: str) -> None:
        self.value = value
        self.at = at

    def text(self, key: str, most: int = MAX_CODE) -> str:
        found = self.value.get(key)
        if found is None:
            return ""
        if not isinstance(found, str):
            raise UsageError(f"{key!r} is no string", at=self.at)
        if len(found) > most:
            raise UsageError(f"{key!r} has {len(found)} characters", at=self.at, hint=f"at most {most}")
        return found

    def number(self, key: str, default: float, most: float, *, least: float = 0.0) -> float:
        found = self.value.get(key)
        if found is None:
            return default
        is_number = isinstance(found, int | float) and not isinstance(found, bool) and math.isfinite(found)
        if not is_number or not least <= found <= most or found == 0:
            span = f"from {least:g} to {most:g}" if least else f"above 0 and at most {most:g}"
            raise UsageError(f"{key!r} is {str(found)[:40]}, and has to be a number {span}", at=self.at)
        return float(found)


def _sample(item: _Item, shelf: Shelf, defaults: Defaults) -> Sample:
    """Return the task that an item is an answer to."""
    name = item.text("benchmark", 200) or ("" if "tests" in item.value else defaults.benchmark)
    if not name:
        if item.value.get("task_id") is not None:
            raise UsageError("'task_id' without 'benchmark'", at=item.at, hint="name the benchmark too")
        return _own_sample(item)
    if own := [key for key in _OWN if item.value.get(key) is not None]:
        raise UsageError(f"{own[0]!r} beside 'benchmark'", at=item.at, hint="an item has one or the other")
    task = item.value.get("task_id")
    if not isinstance(task, str) or not task:
        raise UsageError("'task_id' is missing or no string", at=item.at)
    try:
        sample = shelf.sample(name, task)
    except UsageError as error:
        raise UsageError(error.message, at=item.at, hint=error.hint) from None
    try:
        language(sample.language or "python")
    except UsageError as error:
        raise UsageError(error.message, at=item.at, hint=error.hint) from None
    return sample


def _code(item: _Item, sample: Sample) -> tuple[Missing | None, str]:
    """Return the program of an item, assembled as an exam does, or why there is none."""
    keys = [key for key in ("code", "completion") if key in item.value]
    if len(keys) != 1:
        what = "it has 'code' and 'completion'" if keys else "it has neither 'code' nor 'completion'"
        raise UsageError(what, at=item.at, hint="an item has one of them")
    (key,) = keys
    if item.value[key] is None:
        return Missing(MissingKind.ABSENT, "nobody answered: the code is null"), ""
    row = RowText(item.text(key), "completion" if key == "completion" else "candidate_solution")
    return None, assemble(row, sample).text


def _own_sample(item: _Item) -> Sample:
    tests = _tests(item)
    kind = item.text("kind", 20)
    if kind and kind not in _KINDS:
        raise UsageError(f"'kind' is {kind!r}", at=item.at, hint=f"one of {', '.join(_KINDS)}")
    canonical = item.text("canonical")
    return Sample(
        id="",
        tests=tests,
        entry_point=item.text("entry_point", 200),
        references=(canonical,) if canonical else (),
        prompt_code=item.text("prompt"),
        problem_type=ProblemType(kind) if kind else None,
    )


def _tests(item: _Item) -> tuple[Test, ...]:
    value = item.value.get("tests")
    if value is None or value in ([], ""):
        raise UsageError("it has no tests", at=item.at, hint="give 'tests', or 'benchmark' with 'task_id'")
    if isinstance(value, str):
        value = [{"program": value}]
    if not isinstance(value, list):
        raise UsageError("'tests' is neither a list nor a string", at=item.at)
    if len(value) > MAX_TESTS:
        raise UsageError(f"{len(value)} tests are too many", at=item.at, hint=f"at most {MAX_TESTS}")
    found = tuple(_test(test, f"{item.at}.tests[{number}]") for number, test in enumerate(value))
    if sum(len(test.setup) + len(test.assertion) + len(test.program) for test in found) > MAX_TEXT:
        raise UsageError("the tests are too long", at=item.at, hint=f"at most {MAX_TEXT} characters together")
    return found


def _test(value: object, at: str) -> Test:
    if isinstance(value, str):
        value = _claim(value)
    if not isinstance(value, Mapping):
        raise UsageError("it is neither a string nor an object", at=at)
    test = Test(**{_SYNONYMS.get(str(key), str(key)): _part(key, part, at) for key, part in value.items()})
    if test == Test():
        raise UsageError("it is empty", at=at)
    if test.program and (test.setup or test.assertion):
        raise UsageError("it has a 'program' beside 'setup' or 'assertion'", at=at, hint="a program stands alone")
    if fault := fault_of(test):
        raise UsageError(fault, at=at)
    return test


def _part(key: object, part: object, at: str) -> Any:
    if key not in _PARTS:
        raise UsageError(f"unknown field {str(key)[:40]!r}", at=at, hint=suggest(str(key)[:40], list(_PARTS)))
    if key == "inspection":
        words = [part] if isinstance(part, str) else part
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise UsageError("'inspection' is neither a string nor a list of strings", at=at)
        return tuple(words)
    if not isinstance(part, str):
        raise UsageError(f"{key!r} is no string", at=at)
    return part


def _claim(text: str) -> dict[str, str]:
    """Return a test that is one expression or `assert` as what it claims, so that each counts for itself."""
    tree = python.parse(text)
    if tree is not None and len(tree.body) == 1:
        (node,) = tree.body
        if isinstance(node, ast.Assert):
            return {"assertion": ast.unparse(node.test)}
        if isinstance(node, ast.Expr):
            return {"assertion": text.strip()}
    return {"program": text}
