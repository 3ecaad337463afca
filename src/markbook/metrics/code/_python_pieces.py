"""The children that tree-sitter's grammar gives an expression of Python, as far as pairing needs to know them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from markbook.metrics.code._python_parentheses import Parentheses

Piece = Sequence["ast.expr | int"]
"""One child: the expressions in it, and how many names stand beside them (none: an operator, a bracket)."""

_TOKEN: Piece = (0,)


def pieces(parentheses: Parentheses, node: ast.expr | ast.Assign) -> list[Piece]:
    """Return the children of a node, commas left out; none for a name, a number, a text."""
    if parentheses.before and isinstance(node, ast.expr) and parentheses.around(node):
        return [_TOKEN, (node,), _TOKEN]
    find = _PIECES.get(node.__class__)
    return find(parentheses, node) if find is not None else []


def _each(nodes: Sequence[ast.expr]) -> list[Piece]:
    return [(one,) for one in nodes]


def _tuple(parentheses: Parentheses, node: ast.Tuple) -> list[Piece]:
    inner = _each(node.elts)
    return [_TOKEN, *inner, _TOKEN] if parentheses.is_bracketed(node) else inner


def _display(_: Parentheses, node: ast.List | ast.Set) -> list[Piece]:
    return [_TOKEN, *_each(node.elts), _TOKEN]


def _attribute(_: Parentheses, node: ast.Attribute) -> list[Piece]:
    return [(node.value,), _TOKEN, (1,)]


def _subscript(parentheses: Parentheses, node: ast.Subscript) -> list[Piece]:
    return [(node.value,), _TOKEN, *_each(parentheses.between(node)), _TOKEN]


def _assign(_: Parentheses, node: ast.Assign) -> list[Piece]:
    first, *others = node.targets
    return [(first,), _TOKEN, (*others, node.value)]


def _call(_: Parentheses, node: ast.Call) -> list[Piece]:
    keywords = sum(one.arg is not None for one in node.keywords)
    return [(node.func,), (*node.args, *[one.value for one in node.keywords], keywords)]


def _binary(_: Parentheses, node: ast.BinOp) -> list[Piece]:
    return [(node.left,), _TOKEN, (node.right,)]


def _bool(_: Parentheses, node: ast.BoolOp) -> list[Piece]:
    return [(*node.values[:-1],), _TOKEN, (node.values[-1],)]


def _compare(_: Parentheses, node: ast.Compare) -> list[Piece]:
    found: list[Piece] = [(node.left,)]
    for one in node.comparators:
        found += _TOKEN, (one,)
    return found


def _prefixed(_: Parentheses, node: ast.UnaryOp | ast.Await | ast.Starred) -> list[Piece]:
    return [_TOKEN, (node.operand if isinstance(node, ast.UnaryOp) else node.value,)]


def _conditional(_: Parentheses, node: ast.IfExp) -> list[Piece]:
    return [(node.body,), _TOKEN, (node.test,), _TOKEN, (node.orelse,)]


def _lambda(_: Parentheses, node: ast.Lambda) -> list[Piece]:
    given = node.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, *[one for one in (given.vararg, given.kwarg) if one]]
    listed: Piece = (len(every), *given.defaults, *[one for one in given.kw_defaults if one is not None])
    return [_TOKEN, *([listed] if every else []), _TOKEN, (node.body,)]


def _dict(_: Parentheses, node: ast.Dict) -> list[Piece]:
    pairs = zip(node.keys, node.values, strict=True)
    return [_TOKEN, *[(value,) if key is None else (key, value) for key, value in pairs], _TOKEN]


def _comprehension(_: Parentheses, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> list[Piece]:
    found: list[Piece] = [_TOKEN, (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)]
    for one in node.generators:
        found += (one.target, one.iter), *_each(one.ifs)
    return [*found, _TOKEN]


def _yield(_: Parentheses, node: ast.Yield | ast.YieldFrom) -> list[Piece]:
    words = [_TOKEN, _TOKEN] if isinstance(node, ast.YieldFrom) else [_TOKEN]
    return [*words, (node.value,)] if node.value is not None else words


_PIECES: dict[type[ast.AST], Callable[[Parentheses, Any], list[Piece]]] = {
    ast.Tuple: _tuple, ast.List: _display, ast.Set: _display, ast.Attribute: _attribute, ast.Subscript: _subscript,
    ast.Starred: _prefixed, ast.Assign: _assign, ast.Call: _call, ast.BinOp: _binary, ast.BoolOp: _bool,
    ast.Compare: _compare, ast.UnaryOp: _prefixed, ast.Await: _prefixed, ast.IfExp: _conditional, ast.Lambda: _lambda,
    ast.Dict: _dict, ast.ListComp: _comprehension, ast.SetComp: _comprehension, ast.DictComp: _comprehension,
    ast.GeneratorExp: _comprehension, ast.Yield: _yield, ast.YieldFrom: _yield,
}  # fmt: skip
