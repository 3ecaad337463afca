"""Other people's Python: parsed without a word about it, for a bad escape in their text is no warning of this user's."""

from __future__ import annotations

import ast
import threading
import warnings
from types import CodeType

UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What a text that is no Python raises; ValueError for NUL bytes, the last two for one that is nested too deeply."""

_LOCK = threading.RLock()
"""Two threads at a time neither may hide warnings, which are the process's, nor build trees: Python 3.11.7 and others
count how deep they are for both together, and fail."""


def parse_python(text: str, mode: str = "exec") -> ast.Module:
    """Return the syntax tree of a text, that of an expression with `mode="eval"`.

    Raises:
        SyntaxError: it is no Python; like the others of `UNPARSABLE`.
    """
    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree: ast.Module = ast.parse(text, mode=mode)  # type: ignore[assignment]  # of an expression it is an Expression
    return tree


def compile_tree(tree: ast.Module) -> CodeType:
    """Return the code of a syntax tree, which is not run.

    Raises:
        SyntaxError: it stands for no program (`return` outside a function); like the others of `UNPARSABLE`.
    """
    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code: CodeType = compile(tree, "<text>", "exec")
    return code


def parse(text: str) -> ast.Module | None:
    """Return the syntax tree of a text, None if it is no Python."""
    try:
        return parse_python(text)
    except UNPARSABLE:
        return None
