"""What a test says and does not mean: messages and docstrings, in which the value that it expects may stand once more."""

from __future__ import annotations

import ast

from .expressions import called

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_OPEN, _CLOSE = "\ue000", "\ue001"
_ONE = frozenset(("assertTrue", "assertFalse", "assertIsNone", "assertIsNotNone", "fail"))
"""Calls whose message comes second; that of `fail` is its only argument."""
_TWO = frozenset(
    f"assert{name}"
    for name in (
        "Equal", "NotEqual", "Is", "IsNot", "In", "NotIn", "IsInstance", "NotIsInstance", "Greater", "GreaterEqual",
        "Less", "LessEqual", "ListEqual", "TupleEqual", "SetEqual", "DictEqual", "CountEqual", "MultiLineEqual",
    )
)  # fmt: skip
"""Calls whose message comes third."""
_NAMED = frozenset(("msg", "err_msg"))
_HEARD = frozenset(("raises", "assertRaises", "assertRaisesRegex"))
_READ = frozenset(("__doc__", "getdoc", "doctest"))
_HOLDERS = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def hide(trees: list[ast.AST]) -> list[str]:
    """Put numbers in the place of such texts, unless the test reads them itself; return the texts by their numbers."""
    nodes = [node for tree in trees for node in ast.walk(tree)]
    hidden: list[str] = []
    if not any(map(_hears, nodes)):
        for node in nodes:
            for message in _messages(node):
                _number(message, hidden)
    if not any(getattr(node, name, None) in _READ for node in nodes for name in ("attr", "id", "name")):
        for node in nodes:
            if isinstance(node, _HOLDERS) and ast.get_docstring(node, clean=False) is not None:
                _number(node.body[0], hidden)
    return hidden


def shown(text: str, hidden: list[str]) -> str:
    """Return a text with what was hidden in it."""
    for number, words in enumerate(hidden):
        text = text.replace(f"{_OPEN}{number}{_CLOSE}", words)
    return text


def _hears(node: ast.AST) -> bool:
    """Whether a test looks at an error, in which a message of its own may stand."""
    return isinstance(node, ast.ExceptHandler) or (isinstance(node, ast.Call) and called(node) in _HEARD)


def _messages(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Assert) and node.msg is not None:
        yield node.msg
    elif isinstance(node, ast.Call):
        name = called(node)
        at = 0 if name == "fail" else 1 if name in _ONE else 2 if name in _TWO else len(node.args)
        yield from node.args[at:]
        yield from (keyword.value for keyword in node.keywords if keyword.arg in _NAMED)


def _number(tree: ast.AST, hidden: list[str]) -> None:
    for part in ast.walk(tree):
        if isinstance(part, ast.Constant) and type(part.value) is str and part.value:
            hidden.append(part.value)
            part.value = f"{_OPEN}{len(hidden) - 1}{_CLOSE}"
