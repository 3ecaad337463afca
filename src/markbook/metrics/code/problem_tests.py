"""Whether the tests of a problem can say anything about an answer, found out before one runs."""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence

from markbook.metrics.pairs import missing_undefined
from markbook.text import claimless, python, suites
from markbook.types import Missing, Test

NO_TESTS = "the problem has no tests"


def problem_of(tests: Sequence[Test], language: str = "") -> Missing | None:
    """Return why no answer can be marked by these tests, None if they can be run.

    Args:
        tests: the problem's.
        language: what they are written in; empty for Python. Of other languages only blank texts are seen.
    """
    programs = [test.program for test in tests if test == Test(program=test.program)]
    if language not in ("", "python"):
        texts = ["" if program.strip() else NO_TESTS for program in programs]
    else:
        texts = list(map(_problem_of, programs))
    broken = next((text for text in texts if text not in ("", NO_TESTS)), "")
    if broken:
        return missing_undefined(broken)
    if len(programs) == len(tests) and all(texts):
        return missing_undefined(NO_TESTS)
    return None


@functools.lru_cache(maxsize=1024)
def _problem_of(program: str) -> str:
    try:
        tree = python.parse_python(suites.complete_program(program))
        python.compile_tree(tree)
    except python.UNPARSABLE as error:
        line = f" (line {error.lineno})" if isinstance(error, SyntaxError) and error.lineno else ""
        message = error.msg if isinstance(error, SyntaxError) else str(error)
        return f"the tests are broken: {type(error).__name__}: {message}{line}"
    if all(map(_says_nothing, tree.body)):
        return NO_TESTS
    return f"the tests: {fault}" if (fault := claimless.fault(tree)) else ""


def _says_nothing(statement: ast.stmt) -> bool:
    """Whether a statement is `pass` or a constant alone, such as a docstring."""
    is_constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return is_constant or isinstance(statement, ast.Pass)
