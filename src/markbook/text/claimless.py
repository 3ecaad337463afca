"""Tests that would pass whatever is tested, and tests that only pytest can run as they are meant."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from markbook.text import python
from markbook.text.suites import Dropped, Suites, complete_program, is_always_true

_SHOWN = 60
"""Characters of a test that are quoted."""


def program_fault(program: str, entry: str = "") -> str:
    """Return what `fault` says of a program of tests once it is completed; empty if it is no Python."""
    tree = python.parse(complete_program(program, entry))
    return "" if tree is None else fault(tree)


def fault(tree: ast.Module) -> str:
    """Return why nobody can be marked by completed tests, empty if somebody can.

    They would pass whatever is tested, need another runner, or end before it is seen that they passed.
    """
    is_plain = any(isinstance(node, ast.Assert) and not is_always_true(node.test) for node in tree.body)
    suites = Suites(tree)
    try:
        return suites.needs_pytest() or _early_end(tree.body[-1:]) or ("" if is_plain else _without_claims(suites))
    except python.UNPARSABLE:
        return ""  # too deep to be gone through


def _early_end(last: Sequence[ast.stmt]) -> str:
    for statement in last:
        ends = (
            statement.value
            if isinstance(statement, ast.Expr)
            else statement.exc
            if isinstance(statement, ast.Raise)
            else None
        )
        ends_text = ast.unparse(ends) if ends is not None else ""
        if re.match(r"os\._exit\(|SystemExit\b", ends_text):
            return (
                f"the program ends with {ends_text[:_SHOWN]}, before it is seen that its tests passed: assert what they "
                "expect instead"
            )
    return ""


def _without_claims(suites: Suites) -> str:
    """Return why tests claim nothing, though they say something that looks like it; empty if they claim something."""
    dropped, is_calling, asserts = 0, False, False
    for node in suites.walk_reached():
        if isinstance(node, ast.Raise) or _asserts(node):
            return ""
        if isinstance(node, ast.Assert):
            if not is_always_true(node.test):
                return ""
            asserts = True
        elif isinstance(node, Dropped):
            dropped = min(dropped or node.lineno, node.lineno)
        is_calling = is_calling or isinstance(node, ast.Call)
    if asserts:
        return "it asserts what is always true, a tuple or a function: it would pass whatever is tested"
    if dropped:
        return f"line {dropped} compares and does not assert it: it would pass whatever is tested"
    if any(isinstance(node, ast.Assert) or _asserts(node) for node in ast.walk(suites.tree)):
        return "none of what it asserts is reached: it would pass whatever is tested"
    return "" if is_calling else "it calls and asserts nothing: it would pass whatever is tested"


def _asserts(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = getattr(node.func, "attr", None) or getattr(node.func, "id", "")
    return str(name).lower().startswith("assert") or name in ("fail", "raises", "exit", "_exit")
