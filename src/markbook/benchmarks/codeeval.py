"""The documented benchmark format of RunCodeEval, and its older dialect.

Tests are a list, or a string that holds one: JSON, or a Python literal in the older dialect, which also calls the
inspection `keyword` and means a regular expression over the source text by it.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal, Required, TypedDict

from markbook.benchmarks.benchmark import BenchmarkProbe
from markbook.benchmarks.problems import RowError, text_field
from markbook.errors import misspelt
from markbook.testcode import programs
from markbook.types import ProblemType, Sample, Test

# Keys of our own rows that are misspelt, or stand where nobody reads them; all others are the user's own.


def refuse_misspelt(
    row: Mapping[str, object], keys_known: Collection[str], *, of: str = "", elsewhere: Mapping[str, str] | None = None
) -> None:
    """Do nothing if every key of a row, or of its part `of`, is known or like none that it lacks; `elsewhere` says where others stand.

    Raises:
        RowError: a key is misspelt or misplaced; says what it was to be.
    """
    suffix = f" of {of}" if of else ""
    keys_given = {
        str(key) for key, value in row.items() if value is not None
    }  # null is what a table has instead of nothing
    for key in sorted(keys_given.difference(keys_known)):
        if elsewhere is not None and key in elsewhere:
            raise RowError(f"{key!r}{suffix} is read in {elsewhere[key]}, not here")
        # Only a key that the row lacks can have been meant; keys that resemble nothing are the user's own and stay.
        lacking = [name for name in keys_known if name not in keys_given]
        if meant := misspelt(key.lower(), lacking):
            raise RowError(f"unknown key {key!r}{suffix}: did you mean {meant!r}?")


OBJECTS = (ProblemType.FUNCTION, ProblemType.CLASS, ProblemType.TEXT)
LEVELS = (1, 2, 3)
MAX_TESTS = 10_000
_SOMETHING = ("pattern", r"\S")
PRELOADED = ("json",)
"""Modules that the older dialect's own runner had imported in the namespace in which it ran solutions and tests.

Its published results rest on that, so an answer to such a benchmark may use them without importing them.
"""


class TestRow(TypedDict, total=False):
    """One test: what is set up, what must be true then, and what must stand in the code; at least one of them."""

    ctx: Annotated[str | None, "Statements run before the assertion."]
    assertion: Annotated[str | None, "An expression that must be true; `func` or `cls` is what the answer defines."]
    inspection: Annotated[str | list[str] | None, "Words that must be in the code."]
    keyword: Annotated[str | None, "In the older dialect: a regular expression over the source text."]


class CodeEvalRow(TypedDict, total=False):
    """A problem that asks for a function, a class or a text, with tests that call it."""

    task_id: Required[Annotated[str, "Names the problem; answers name it too.", _SOMETHING]]
    name: Annotated[str | None, "The function or class that `func` and `cls` stand for."]
    problem: Annotated[str | None, "What a model is asked."]
    canonical_solution: Required[Annotated[str, "A right answer.", _SOMETHING]]
    tests: Required[Annotated[list[TestRow], ("minItems", 1), ("maxItems", MAX_TESTS)] | str]
    topic: Required[Annotated[str, "Scores are given by topic.", _SOMETHING]]
    object: Required[Annotated[Literal["function", "class", "text"], "What is asked for."]]
    complexity: Required[Annotated[Literal[1, 2, 3], "Scores are given by complexity."]]


_IN_TESTS = dict.fromkeys(("ctx", "assertion", "inspection"), "each of its 'tests'")


class CodeEval:
    """Reads rows with task_id, name, problem, canonical_solution, tests, topic, object and complexity."""

    keys = tuple(CodeEvalRow.__annotations__)
    repeats_are_samples = False

    def sniff(self, probe: BenchmarkProbe) -> int:
        """Return 90 for tests with a solution, a topic or an object beside them."""
        return 90 if "tests" in probe.record and probe.record.keys() & {"canonical_solution", "topic", "object"} else 0

    def to_sample(self, record: Mapping[str, object], at: str) -> Sample:
        """Return the problem of a row; RowError if it is none."""
        refuse_misspelt(record, CodeEvalRow.__annotations__, elsewhere=_IN_TESTS)
        kind = record.get("object")
        if kind not in OBJECTS:
            raise RowError(f"unknown object {repr(kind)[:40]}: one of {', '.join(OBJECTS)}")
        level = record.get("complexity")
        # `True in (1, 2, 3)` holds in Python.
        if isinstance(level, bool) or level not in LEVELS:
            raise RowError(f"unknown complexity {repr(level)[:40]}: one of 1, 2, 3")
        tests, is_older = _tests(record.get("tests"))
        canonical = text_field(record, "canonical_solution")
        return Sample(
            id=text_field(record, "task_id"),
            input=text_field(record, "problem", required=False),
            references=(canonical,),
            tests=tuple(_test(test, number) for number, test in enumerate(tests, start=1)),
            entry_point=_entry_point(text_field(record, "name", required=False), canonical),
            meta={"topic": text_field(record, "topic"), "complexity": int(level)},
            source=at,
            problem_type=ProblemType(str(kind)),
            preloaded=PRELOADED if is_older else (),
        )


def _entry_point(name: str, canonical: str) -> str:
    """Return the name that `func` and `cls` stand for: the row's, unless the canonical solution has another one alone.

    Some benchmarks put a title there.
    """
    tree = programs.parse(canonical.replace("\r\n", "\n"))
    nodes = tree.body if tree else []
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    defined = [node.name for node in nodes if isinstance(node, kinds)]
    is_bound = any(
        isinstance(part, ast.Name) and part.id == name
        for node in nodes
        if not isinstance(node, kinds)
        for part in ast.walk(node)
    )
    # The row's name stays where the solution uses it outside of definitions, as an assignment would.
    return name if is_bound or name in defined or len(set(defined)) != 1 else defined[0]


def _tests(value: object) -> tuple[list[Any], bool]:
    """Return the tests of a row, and whether they were written in the older dialect."""
    is_older = False
    if isinstance(value, str):
        text = value
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            is_older = True
            try:
                value = ast.literal_eval(text)  # parses literals only; it calls nothing
            except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
                raise RowError("'tests' is neither JSON nor a Python literal") from None
    if not isinstance(value, list | tuple):
        raise RowError("'tests' is not a list" if value is not None else "'tests' is missing")
    if not value:
        raise RowError("'tests' is empty")
    if len(value) > MAX_TESTS:
        raise RowError(f"more than {MAX_TESTS} tests")
    return list(value), is_older


def _test(value: object, number: int) -> Test:
    if not isinstance(value, Mapping):
        raise RowError(f"test {number} is not an object")
    refuse_misspelt(value, TestRow.__annotations__, of=f"test {number}")
    inspection = value.get("inspection") or ()
    if isinstance(inspection, str):
        inspection = (inspection,)
    if not isinstance(inspection, list | tuple) or not all(isinstance(word, str) for word in inspection):
        raise RowError(f"the inspection of test {number} is neither a string nor a list of strings")
    for key in ("ctx", "assertion", "keyword"):
        if not isinstance(value.get(key), str | None):
            raise RowError(f"{key!r} of test {number} is not a string")
    test = Test(
        setup=value.get("ctx") or "",
        assertion=value.get("assertion") or "",
        inspection=tuple(inspection),
        pattern=value.get("keyword") or "",
    )
    # A test that states nothing could not fail.
    if test == Test():
        raise RowError(f"test {number} has neither ctx, assertion nor inspection")
    return test
