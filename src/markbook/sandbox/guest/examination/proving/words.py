"""What a test says and does not mean: messages and docstrings, in which the value that it expects may stand once more."""

from __future__ import annotations

import ast

from ..expressions import get_called_name, key_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_OPEN, _CLOSE = "\ue000", "\ue001"
_ONE = frozenset(("assertTrue", "assertFalse", "assertIsNone", "assertIsNotNone", "fail"))
"""Methods whose message comes second; that of `fail` is its only argument."""
MESSAGE_THIRD = frozenset(
    f"assert{name}"
    for name in (
        "Equal", "NotEqual", "Is", "IsNot", "In", "NotIn", "IsInstance", "NotIsInstance", "Greater", "GreaterEqual",
        "Less", "LessEqual", "ListEqual", "TupleEqual", "SetEqual", "DictEqual", "CountEqual", "MultiLineEqual",
    )
)  # fmt: skip
"""Methods whose message comes third."""
_NAMED = frozenset(("msg", "err_msg"))
_HEARD = frozenset(("raises", "assertRaises", "assertRaisesRegex"))
_READ = frozenset(("__doc__", "getdoc", "doctest"))
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def hide(trees: list[ast.AST]) -> list[str]:
    """Put numbers in the place of such texts, unless the test reads them itself; return the texts by their numbers.

    A message is what an assert statement says, or a method of a test case or a function of numpy's or pytest's is given
    for it: what the solution's own functions are given is an argument, whatever it is called. The docstring of a function
    that the test hands over or decorates is the solution's to read.
    """
    nodes = [node for tree in trees for node in ast.walk(tree)]
    hidden: list[str] = []
    if not any(map(_hears, nodes)):
        for node in nodes:
            if isinstance(node, ast.Assert) and node.msg is not None:
                _number(node.msg, hidden)
        for call in _asserting(nodes):
            for message in _messages(call):
                _number(message, hidden)
    if not any(getattr(node, name, None) in _READ for node in nodes for name in ("attr", "id", "name")):
        for node in _find_documented(trees, nodes):
            if ast.get_docstring(node, clean=False) is not None:  # type: ignore[arg-type]  # of the kinds that have one
                _number(node.body[0], hidden)  # type: ignore[attr-defined]
    return hidden


def restore_hidden(text: str, hidden: list[str]) -> str:
    """Return a text with what was hidden in it."""
    for number, words in enumerate(hidden):
        text = text.replace(f"{_OPEN}{number}{_CLOSE}", words)
    return text


def _hears(node: ast.AST) -> bool:
    """Whether a test looks at an error, in which a message of its own may stand."""
    return isinstance(node, ast.ExceptHandler) or (isinstance(node, ast.Call) and get_called_name(node) in _HEARD)


def _is_case(node: ast.AST) -> bool:
    """Whether this is the class of a test case."""
    return isinstance(node, ast.ClassDef) and any(key_of(base).endswith("TestCase") for base in node.bases)


def _asserting(nodes: list[ast.AST]) -> Iterator[ast.Call]:
    """Yield the calls of what asserts by the name that it has in unittest, numpy.testing and pytest."""
    imported = {
        alias.asname or alias.name
        for node in nodes
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in ("numpy", "pytest", "pandas")
        for alias in node.names
    }
    cases = {
        key_of(target)
        for node in nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and get_called_name(node.value) == "TestCase"
        for target in node.targets
    }
    within = {id(part) for node in nodes if _is_case(node) for part in ast.walk(node)}
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Name):
            is_known = function.id in imported
        else:
            owner = key_of(getattr(function, "value", function))
            is_known = (
                (owner in ("self", "cls") and id(node) in within) or owner in (".testing", "pytest") or owner in cases
            )
        if is_known:
            yield node


def _messages(call: ast.Call) -> Iterator[ast.AST]:
    name = get_called_name(call)
    at = 0 if name == "fail" else 1 if name in _ONE else 2 if name in MESSAGE_THIRD else len(call.args)
    yield from call.args[at:]
    yield from (keyword.value for keyword in call.keywords if keyword.arg in _NAMED)


def _find_documented(trees: list[ast.AST], nodes: list[ast.AST]) -> Iterator[ast.AST]:
    """Yield what has a docstring that no solution is meant to read: modules, test cases, functions that nobody names."""
    named = {node.id for node in nodes if isinstance(node, ast.Name)}
    for tree in trees:
        if isinstance(tree, ast.Module):
            yield tree
            yield from _iterate_cases(tree.body, named)


def _iterate_cases(body: list[ast.stmt], named: set[str]) -> Iterator[ast.AST]:
    for node in body:
        if _is_case(node):
            yield node
            yield from _iterate_cases(node.body, named)  # type: ignore[attr-defined]  # a class
        elif isinstance(node, _FUNCTIONS) and node.name not in named and not node.decorator_list:
            yield node


def _number(tree: ast.AST, hidden: list[str]) -> None:
    for part in ast.walk(tree):
        if isinstance(part, ast.Constant) and type(part.value) is str and part.value:
            hidden.append(part.value)
            part.value = f"{_OPEN}{len(hidden) - 1}{_CLOSE}"
