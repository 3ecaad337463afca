"""Tests as text into tests as code: compiled once a task, assert statements of programs made to report."""

from __future__ import annotations

import ast
import marshal
import os
import sys
from contextlib import contextmanager
from types import CodeType

from .. import wire
from ..marking import PART, Compiled
from . import expressions
from .expressions import assignments, is_literal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, TypeGuard

FILE = "<test>"
"""What tests are called in tracebacks."""


class BrokenTest(Exception):
    """The benchmark's own text does not compile."""


def compile_test(test: dict[str, Any], program: ast.Module | None = None) -> Compiled:
    """Return one test compiled; the tree of its program is changed if it is given.

    Raises:
        BrokenTest: a part of it is not Python.
    """
    text = test.get("setup", "")
    setup = _compile(text, "exec", "setup") if text.strip() else None
    if not test.get("program"):
        text = test.get("assertion", "").strip()
        return ("a", setup, _compile(text, "eval", "assertion") if text else None, 0)
    program = program or _compile(test["program"], "exec", "program", ast.PyCF_ONLY_AST)
    count = instrument(program)
    return ("p", setup, _compile(program, "exec", "program"), count)


def flatten(node: ast.AST, line: int = 1, column: int = 0) -> None:
    """Put all that a statement holds where it begins, so that nobody sees by its places that a part of it is another's."""
    if isinstance(node, ast.stmt):
        line, column = node.lineno, node.col_offset
    position = {"lineno": line, "col_offset": column, "end_lineno": line, "end_col_offset": column}
    vars(node).update(position)
    for child in ast.iter_child_nodes(node):
        flatten(child, line, column)


_WITHOUT_SHARING = 2
"""The version of `marshal` that says of no object whether another place, or another holder here, has it too."""


def portable(value: Any) -> bytes:
    """Return what holds compiled code as bytes that say what it says, and nothing of how it was made; `wire.load_code` reads them."""
    own = _copy_texts(value)
    try:
        return marshal.dumps(own, _WITHOUT_SHARING)
    except ValueError:  # from Python 3.14 on code holds slices, which that version of `marshal` does not know
        # drawn each time, so that no tuple of the code itself begins with it
        mark = os.urandom(8).hex()
        return marshal.dumps((wire.MARKED, mark, wire.replace_slices(own, mark)), _WITHOUT_SHARING)


def _copy_texts(value: Any) -> Any:
    """Return the same with texts that nobody else has: whether one is interned stands in the bytes, too."""
    if isinstance(value, CodeType):
        return value.replace(co_consts=_copy_texts(value.co_consts))
    if type(value) is str:
        return value.encode("utf-8", "surrogatepass").decode("utf-8", "surrogatepass")
    if type(value) in (tuple, list, set, frozenset):
        return type(value)(map(_copy_texts, value))
    if type(value) is dict:
        return dict(map(_copy_texts, value.items()))
    return value


_DEEP = 4_000
"""The recursion limit under which trees are compiled: that of texts is higher than the usual one of trees, 900 terms of a sum."""


@contextmanager
def allow_deep_trees() -> Iterator[None]:
    """Have trees compiled that are as deep as those of the texts that Python compiles."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(_DEEP)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def _compile(source: Any, mode: str, what: str, flags: int = 0) -> Any:
    try:
        # the `__future__` import of this module is not the test's
        with allow_deep_trees():
            return compile(source, FILE, mode, flags, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise BrokenTest(f"{what} does not compile: {type(error).__name__}: {error}") from None


def instrument(tree: ast.Module) -> int:
    """Make the program's assert statements report to `PART`, numbered in source order; return how many there are.

    An assert that stands directly in the module or in a function `check` is guarded: the ones after it still run. So
    is a compound statement there that holds asserts. What else raises ends the program as it always did. By the numbers
    that follow, calls of functions named `assert...` and `with` such a call report that they begin and that they went
    well, and `raise` that it begins: what swallows how they end is seen by that.
    """
    parts, entered = list_parts(tree), list_entered(tree)
    tree.body = _guard_statements(tree.body, {id(node): index for index, node in enumerate(parts)})
    for index, node in enumerate(entered, len(parts)):
        _mark_entered(node, index)
    for statement in expressions.nodes(tree):
        _mark_exit(statement)
    return sum(isinstance(node, ast.Assert) for node in parts)


def list_parts(tree: ast.Module) -> list[ast.stmt]:
    """Return the parts of a program that report, in the order of their numbers."""
    nodes = expressions.nodes(tree)
    parts: list[ast.stmt] = [node for node in nodes if isinstance(node, ast.Assert)]
    calls: list[ast.stmt] = [node for node in nodes if _is_asserting(node)]
    raised: list[ast.stmt] = [node for node in nodes if isinstance(node, ast.Raise)]
    for same in (parts, calls, raised):
        same.sort(key=lambda node: (node.lineno, node.col_offset))
    # assert statements come first: by their numbers `mark` gives the results of parts
    return parts + calls + raised


def repeated_parts(tree: ast.Module) -> frozenset[int]:
    """Return the parts that go well as often as the answer has it.

    They stand in loops over what is not written down, and in functions that are handed over.
    """
    nodes = expressions.nodes(tree)
    numbers = {id(node): number for number, node in enumerate([*list_parts(tree), *list_entered(tree)])}
    assigned = assignments(nodes)
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    handed = {node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in called}
    own = {id(part) for node in nodes if isinstance(node, ast.ClassDef) for part in node.body}
    part_numbers: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.For | ast.AsyncFor):
            repeats = not _is_written(node.iter, assigned)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            repeats = node.name in handed and id(node) not in own
        else:
            repeats = isinstance(node, ast.While | ast.Lambda)
        if repeats:
            part_numbers |= {numbers[id(part)] for part in ast.walk(node) if id(part) in numbers}
    return frozenset(part_numbers)


def _is_written(node: ast.expr, assigned: dict[str, list[ast.expr]]) -> bool:
    """Whether what a loop goes through is written down in the test."""
    if isinstance(node, ast.Name):
        return node.id in assigned and all(is_literal(value) for value in assigned[node.id])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("enumerate", "range", "zip"):
        return all(_is_written(argument, assigned) for argument in node.args)
    return is_literal(node) or (isinstance(node, ast.List | ast.Tuple) and len(node.elts) > 0)


def _is_asserting(node: ast.AST) -> TypeGuard[ast.stmt]:
    """Whether a statement is a call that asserts, or goes `with` one."""
    return bool(list_asserting(node))


def list_asserting(node: ast.AST) -> list[ast.Call]:
    """Return the calls by which a statement asserts, as itself or with `with`.

    They are those of what is named so: `self.assertEqual(...)`, `np.testing.assert_allclose(...)`.
    """
    if isinstance(node, ast.With | ast.AsyncWith):
        values = [item.context_expr for item in node.items]
    else:
        values = [node.value] if isinstance(node, ast.Expr) else []
    calls = [value.value if isinstance(value, ast.Await) else value for value in values]
    return [
        call
        for call in calls
        if isinstance(call, ast.Call)
        and is_claiming_name(name := expressions.get_called_name(call))
        and name not in _FAILING
    ]


_FAILING = frozenset(("exit", "_exit", "quit", "fail"))
"""What a test calls where it has failed."""


def is_claiming_name(name: str) -> bool:
    """Whether what is called so makes a test fail."""
    return name.lower().startswith("assert") or name in ("raises", "warns") or name in _FAILING


def never_goes_well(node: ast.AST) -> bool:
    """Whether a part of a test is executed only where the test has failed: `assert False`, `self.fail()`."""
    if isinstance(node, ast.Assert):
        return isinstance(node.test, ast.Constant) and not node.test.value
    if isinstance(node, ast.Raise):
        error = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return isinstance(error, ast.Name) and error.id == "AssertionError"
    return isinstance(node, ast.Call) and expressions.get_called_name(node) == "fail"


def list_entered(tree: ast.Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda]:
    """Return the functions of a program that report that they are entered, in the order of their numbers, after its parts.

    They are tests, and functions that fail by a condition, which need not execute a part where they pass; not those that
    fail whenever they are called. A function without a name is one where it asserts, or where it is called a test.
    """
    tests = {
        id(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and any(getattr(name, "id", "").startswith("test") for name in node.targets)
    }
    nodes = expressions.nodes(tree)
    asserting = {id(call) for node in nodes for call in list_asserting(node)}
    entered: list[ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda] = []
    for node in nodes:
        if isinstance(node, ast.Lambda):
            is_test = id(node) in tests and len(node.args.args) == len(node.args.defaults)
            if is_test or any(map(is_claiming, ast.walk(node.body))):
                entered.append(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            other = [
                part
                for part in expressions.nodes(node)
                if isinstance(part, ast.Raise)
                or never_goes_well(part)
                or (is_claiming(part) and id(part) not in asserting)
            ]
            own = {id(part) for statement in node.body for part in (statement, getattr(statement, "value", None))}
            fails = [part for part in other if never_goes_well(part) or isinstance(part, ast.Call)]
            is_test = node.name.startswith("test") and bool(other)
            if is_test or node.name == "load_tests" or (fails and own.isdisjoint(map(id, fails))):
                entered.append(node)
    return entered


def is_claiming(node: ast.AST) -> bool:
    """Whether a part is a call that makes a test fail."""
    return isinstance(node, ast.Call) and is_claiming_name(expressions.get_called_name(node))


def _guard_statements(body: list[ast.stmt], numbers: dict[int, int]) -> list[ast.stmt]:
    statements: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.Assert):
            statements.append(_guard(node, numbers[id(node)], done=True))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = (
                _guard_statements(node.body, numbers) if node.name == "check" else _mark_statements(node.body, numbers)
            )
            statements.append(node)
        elif isinstance(node, ast.For | ast.AsyncFor | ast.While | ast.If | ast.With | ast.AsyncWith | ast.Try):
            within = set(map(type, expressions.nodes(node)))
            inner, leaves = ast.Assert in within, not within.isdisjoint((ast.Return, ast.Break, ast.Continue))
            _mark_within(node, numbers)
            # a statement that may leave the function keeps its meaning inside try, so only the guard matters
            statements += _count_statement(
                _guard(node, -1, done=False) if inner and not leaves else node, numbers.get(id(node))
            )
        else:
            _mark_within(node, numbers)
            statements += _count_statement(node, numbers.get(id(node)))
    return statements


def _count_statement(node: ast.stmt, index: int | None) -> list[ast.stmt]:
    """Return a statement, and where it has a number the reports that it begins and, unless it raises, went well."""
    if index is None:
        return [node]
    begun = [_report(index, node, begin=True), node]
    # what stands behind a `raise` is never reached
    return begun if isinstance(node, ast.Raise) else [*begun, _report(index, node)]


def _mark_statements(body: list[ast.stmt], numbers: dict[int, int]) -> list[ast.stmt]:
    statements: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.Assert):
            index = numbers[id(node)]
            statements += [_report(index, node, begin=True), node, _report(index, node)]
        else:
            _mark_within(node, numbers)
            statements += _count_statement(node, numbers.get(id(node)))
    return statements


def _mark_within(node: ast.AST, numbers: dict[int, int]) -> None:
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        inner = getattr(node, field, None)
        if not isinstance(inner, list):
            continue
        if field in ("handlers", "cases"):
            for child in inner:
                _mark_within(child, numbers)
        elif inner and isinstance(inner[0], ast.stmt):
            setattr(node, field, _mark_statements(inner, numbers))


def _mark_entered(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, index: int) -> None:
    if isinstance(node, ast.Lambda):
        position = _place(node.body)
        parts = ast.Tuple([_report(index, node.body).value, node.body], ast.Load(), **position)  # type: ignore[attr-defined]
        node.body = ast.Subscript(parts, ast.Constant(1, **position), ast.Load(), **position)
    else:
        has_words = ast.get_docstring(node, clean=False) is not None
        node.body.insert(has_words, _report(index, node.body[0]))


def _mark_exit(node: ast.AST) -> None:
    """Have the test's own `sys.exit(status)` or `raise SystemExit` go by `Parts.leave`."""
    call = node.value if isinstance(node, ast.Expr) else node.exc if isinstance(node, ast.Raise) else None
    ends = ("sys.exit", "exit", "quit") if isinstance(node, ast.Expr) else ("SystemExit",)
    if isinstance(node, ast.Raise) and isinstance(call, ast.Name) and call.id in ends:
        node.exc = call = ast.Call(call, [], [], **_place(call))
    if isinstance(call, ast.Call) and not call.keywords and ast.unparse(call.func) in ends:
        position = _place(call)
        call.args.insert(0, call.func)
        call.func = ast.Attribute(ast.Name(PART, ast.Load(), **position), "leave", ast.Load(), **position)


def _place(node: ast.stmt | ast.expr) -> dict[str, Any]:
    return {name: getattr(node, name) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset")}


def _report(index: int, node: ast.stmt | ast.expr, *caught: ast.expr, begin: bool = False) -> ast.stmt:
    position = _place(node)
    keywords = [ast.keyword("begin", ast.Constant(True, **position), **position)] if begin else []
    name = ast.Name(PART, ast.Load(), **position)
    return ast.Expr(ast.Call(name, [ast.Constant(index, **position), *caught], keywords, **position), **position)


def _guard(node: ast.stmt, index: int, *, done: bool) -> ast.stmt:
    position = _place(node)
    caught = _report(index, node, ast.Name("__markbook_error__", ast.Load(), **position))
    every = ast.Name("BaseException", ast.Load(), **position)
    handler = ast.ExceptHandler(every, "__markbook_error__", [caught], **position)
    return ast.Try([node], [handler], [_report(index, node)] if done else [], [], **position)
