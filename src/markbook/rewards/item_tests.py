"""The fields of one item, and its own tests."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from markbook.errors import UsageError
from markbook.load.faults import fault_of
from markbook.plugins import suggest
from markbook.rewards.records import UnmarkableError
from markbook.text import python
from markbook.types import Test

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
            raise UsageError(f"{key!r} is no string", at=self.at)
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
    if fault := fault_of(test, entry):
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
    if fault := fault_of(test):
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
        raise UsageError(f"{key!r} is no string", at=at)
    return writable(part, str(key), at)


def _comparison(text: str) -> dict[str, str]:
    """Return a test program; one that is a comparison and nothing else is what it claims."""
    claim = _claim(text)
    node = python.parse(text) if "assertion" in claim else None
    is_claim = node is not None and isinstance(node.body[0], ast.Expr) and not isinstance(node.body[0].value, ast.Call)
    return claim if is_claim else {"program": text}


def _claim(text: str) -> dict[str, str]:
    """Return a test that is one expression or `assert` as what it claims, so that each counts for itself."""
    tree = python.parse(text)
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
