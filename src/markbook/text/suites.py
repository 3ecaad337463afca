"""Tests that only define what a test runner would call: they are completed by the calls; and tests that check nothing.

A program of tests is run as it stands. One of pytest's or unittest's, or HumanEval's `check(candidate)`, defines its
tests and leaves the calls to somebody else; without them it would pass whatever is tested.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TypeGuard

from markbook.text import python

_LOOKS = re.compile(
    r"^(?:class |(?:async )?def test|if __name__|(?:unittest|pytest)\.main|(?:sys\.)?(?:exit|quit)\()", re.MULTILINE
)
_CHECK = re.compile(r"^def check\(", re.MULTILINE)
_CHECKED = re.compile(r"^check\(", re.MULTILINE)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_NOTHING = "(None\n)"
"""In the place of a statement, over as many lines."""
_EXITS = frozenset(("sys.exit", "exit", "quit"))
_RUNNERS = frozenset(("unittest.main", "pytest.main", "sys.exit(pytest.main)", "sys.exit(unittest.main)"))
_SUITE = """\
import unittest as markbook_unittest
markbook_suite = markbook_unittest.TestSuite(
    [markbook_unittest.defaultTestLoader.loadTestsFromTestCase(one) for one in ({cases},)]
)
markbook_count = markbook_suite.countTestCases()
markbook_result = markbook_unittest.TestResult()
markbook_suite.run(markbook_result)
assert markbook_result.testsRun == markbook_count > 0
markbook_failed = markbook_result.failures + markbook_result.errors
assert not markbook_failed, [text.splitlines()[-1] for _, text in markbook_failed]
assert not markbook_result.unexpectedSuccesses
assert len(markbook_result.skipped) <= {skipped}
"""


@lru_cache(maxsize=256)
def completed(program: str, entry: str = "") -> str:
    """Return a program of tests with the calls of what it defines as tests and does not call itself.

    Those are test cases of unittest, functions named `test...` and methods of classes named `Test...` as pytest takes
    them, and a function `check`, which is given what is tested. What stands under `if __name__ == "__main__":` is run
    as in a script, `unittest.main()` and `pytest.main()` are left out. All other programs, and what is no Python,
    are returned as they are. A last `sys.exit(status)` becomes the claim that this is success. Lines keep their numbers.

    Args:
        program: the tests.
        entry: what they test is called; `check` is not called without.
    """
    is_checked = not entry or not _CHECK.search(program) or _CHECKED.search(program)
    if is_checked and not _LOOKS.search(program):
        return program
    tree = python.parse(program)
    if tree is None:
        return program
    text = _as_script(program, tree)
    tree = python.parse(text) or tree
    tail = "".join(_calls(tree, entry))
    return f"{text.rstrip()}\n{tail}" if tail else text


def program_fault(program: str, entry: str = "") -> str:
    """Return what `fault` says of a program of tests once it is completed; empty if it is no Python."""
    tree = python.parse(completed(program, entry))
    return "" if tree is None else fault(tree)


def fault(tree: ast.Module) -> str:
    """Return why completed tests would pass whatever is tested, or need another runner; empty if they do not."""
    asked = _asks_for_arguments(tree)
    if asked is not None:
        return f"{asked.name}, line {asked.lineno}, takes arguments of pytest's: write out its calls"
    dropped = None
    for node in _executed(tree.body):
        if isinstance(node, ast.Call | ast.Raise) or (isinstance(node, ast.Assert) and _says_something(node.test)):
            return ""
        if isinstance(node, _Dropped):
            dropped = dropped or node
    if dropped is not None:
        return f"line {dropped.lineno} compares and does not assert it: it would pass whatever is tested"
    if any(isinstance(node, ast.Assert) for node in _executed(tree.body)):
        return "it asserts what is always the same: it would pass whatever is tested"
    return "it calls and asserts nothing: it would pass whatever is tested"


def is_always_true(node: ast.expr) -> bool:
    """Whether an expression is a tuple with something in it or a function: true, whatever is in there."""
    return isinstance(node, ast.Lambda) or (isinstance(node, ast.Tuple) and bool(node.elts))


def _says_something(node: ast.expr) -> bool:
    return not is_always_true(node) and any(isinstance(part, ast.Name) for part in ast.walk(node))


class _Dropped(ast.expr):
    """Stands for a comparison of which nobody takes the result, and for all in it."""


def _executed(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield what is executed when a program is, without the insides of its functions."""
    for node in body:
        if isinstance(node, ast.Expr) and _is_comparison(node.value):
            yield ast.copy_location(_Dropped(), node)
        elif isinstance(node, ast.Assert) and is_always_true(node.test):
            yield node
        elif isinstance(node, ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _executed([*getattr(node, "decorator_list", ()), *node.args.defaults])
        else:
            yield node
            yield from _executed(ast.iter_child_nodes(node))


def _is_comparison(node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple):
        return bool(node.elts) and _is_comparison(node.elts[0])
    if isinstance(node, ast.BoolOp):
        return any(map(_is_comparison, node.values))
    return isinstance(node, ast.Compare)


def _as_script(program: str, tree: ast.Module) -> str:
    """Return a program in which what a script does at its end is done, but for the runners of its tests."""
    edits: list[tuple[ast.expr, str]] = []
    for node in tree.body:
        if isinstance(node, ast.If) and _is_main(node.test):
            edits.append((node.test, "(True\n)"))
            edits += [(one.value, _NOTHING) for one in node.body if _is_runner(one)]  # type: ignore[attr-defined]
        elif _is_runner(node):
            edits.append((node.value, _NOTHING))  # type: ignore[attr-defined]
        elif node is tree.body[-1] and _is_exit(node):
            edits.append((node.value.func, "assert not "))  # type: ignore[attr-defined]
    lines = program.encode().splitlines(keepends=True) if edits else []
    for part, instead in reversed(edits):
        first, last = part.lineno - 1, (part.end_lineno or part.lineno) - 1
        head, rest = lines[first][: part.col_offset], lines[last][part.end_col_offset :]
        lines[first : last + 1] = [head + instead.replace("\n", "\n" * (last - first)).encode() + rest]
    return b"".join(lines).decode() if edits else program


def _is_main(node: ast.expr) -> bool:
    return isinstance(node, ast.Compare) and ast.unparse(node) in ("__name__ == '__main__'", "'__main__' == __name__")


def _is_runner(node: ast.stmt) -> bool:
    """Whether a statement only starts the runner of the tests that stand before it."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    name = ast.unparse(node.value.func)
    inner = node.value.args[0] if node.value.args else None
    return name in _RUNNERS or (isinstance(inner, ast.Call) and f"{name}({ast.unparse(inner.func)})" in _RUNNERS)


def _is_exit(node: ast.stmt) -> bool:
    """Whether a statement ends a script with a status."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and ast.unparse(node.value.func) in _EXITS


def _calls(tree: ast.Module, entry: str) -> Iterator[str]:
    """Yield the calls of tests that nothing in the program speaks of outside of its functions."""
    spoken = _spoken(tree)
    idle = [node for node in tree.body if isinstance(node, (*_FUNCTIONS, ast.ClassDef)) and node.name not in spoken]
    cases = [node for node in idle if isinstance(node, ast.ClassDef) and _is_case(node)]
    for node in idle:
        if isinstance(node, ast.ClassDef):
            if node not in cases and node.name.startswith("Test"):
                yield from _calls_of_class(node)
        elif node.name == "check" and entry and len(node.args.args) == 1:
            yield f"check({entry})\n"
        elif _is_test(node) and not _needed(node):
            yield _call(node, node.name)
    if cases:
        yield _SUITE.format(cases=", ".join(node.name for node in cases), skipped=sum(map(_skipped, cases)))


def _spoken(tree: ast.Module) -> set[str]:
    """Return the names that are spoken where a program is executed, and in the functions that are named there."""
    spoken = {node.id for node in _executed(tree.body) if isinstance(node, ast.Name) and not _is_base(node, tree)}
    left = {node.name: node for node in tree.body if isinstance(node, _FUNCTIONS)}
    while reached := spoken & left.keys():
        for name in reached:
            spoken |= {node.id for node in ast.walk(left.pop(name)) if isinstance(node, ast.Name)}
    return spoken


def _is_base(name: ast.Name, tree: ast.Module) -> bool:
    """Whether a name is spoken only as what a class is made of, as a class of tests is of another."""
    return any(isinstance(node, ast.ClassDef) and name in node.bases for node in tree.body)


def _is_case(node: ast.ClassDef) -> bool:
    return any(ast.unparse(base).endswith("TestCase") for base in node.bases)


def _is_test(node: ast.AST) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    return isinstance(node, _FUNCTIONS) and node.name.startswith("test")


def _needed(node: ast.FunctionDef | ast.AsyncFunctionDef, own: int = 0) -> bool:
    """Whether a function has to be given something beside its object, and by no decorator such as a mock's."""
    if any("pytest" not in ast.unparse(mark) for mark in node.decorator_list):
        return False
    given = node.args
    without = len(given.posonlyargs) + len(given.args) - len(given.defaults) - own
    return without > 0 or any(default is None for default in given.kw_defaults)


def _call(node: ast.FunctionDef | ast.AsyncFunctionDef, of: str) -> str:
    return f"import asyncio\nasyncio.run({of}())\n" if isinstance(node, ast.AsyncFunctionDef) else f"{of}()\n"


def _calls_of_class(node: ast.ClassDef) -> Iterator[str]:
    own = {one.name: one for one in node.body if isinstance(one, _FUNCTIONS)}
    around = {name: own[name] for name in ("setup_method", "teardown_method") if name in own}
    hooks = {name: f"markbook_case.{name}({'None' if _needed(one, 1) else ''})\n" for name, one in around.items()}
    for one in own.values():
        if _is_test(one) and not _needed(one, 1):
            yield f"markbook_case = {node.name}()\n" + hooks.get("setup_method", "")
            yield _call(one, f"markbook_case.{one.name}") + hooks.get("teardown_method", "")


def _asks_for_arguments(tree: ast.Module) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Return a test function that nothing calls and that pytest would give something."""
    places: list[tuple[list[ast.stmt], int]] = [(tree.body, 0)]
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name.startswith("Test")]
    places += [(node.body, 1) for node in classes if not node.bases]
    asking = [node for body, own in places for node in body if _is_test(node) and _needed(node, own)]
    if not asking:
        return None
    spoken = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    called = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)} | spoken
    return next((node for node in asking if node.name not in called), None)


def _skipped(case: ast.ClassDef) -> int:
    """Return how many tests of a case say by a decorator that they may be skipped."""
    tests = [one for one in case.body if _is_test(one)]
    if any("skip" in ast.unparse(mark) for mark in case.decorator_list):
        return len(tests)
    return sum(any("skip" in ast.unparse(mark) for mark in getattr(one, "decorator_list", ())) for one in tests)
