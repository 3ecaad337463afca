"""A test with wrong expectations: what passes it too was not decided by the test."""

from __future__ import annotations

import ast
import os

from .marking import Compiled
from .programs import BrokenTest, compile_test

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_CLOSE = ("isclose", "approx", "assertEqual", "assertAlmostEqual")


def perturbed(test: dict[str, Any]) -> Compiled | None:
    """Return the test compiled with every expected literal replaced by a random wrong one of its type.

    An assertion without one is negated. None where there is nothing to make wrong.
    """
    changed = dict(test)
    part = "program" if test.get("program") else "assertion"
    text = test.get(part, "").strip()
    try:
        tree: Any = ast.parse(text, mode="exec" if part == "program" else "eval")
        if part == "assertion":
            tree.body = _wrong(tree.body)
        elif not _wrong_program(tree):
            return None
        changed[part] = ast.unparse(ast.fix_missing_locations(tree))
        return compile_test(changed) if text else None
    except (SyntaxError, ValueError, RecursionError, MemoryError, BrokenTest):
        return None


def _wrong_program(tree: ast.Module) -> bool:
    """Make every assert statement of a program wrong; whether there was one."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    for node in found:
        node.test = _wrong(node.test)
    return bool(found)


def _wrong(node: ast.expr) -> ast.expr:
    """Return an expression that an honest answer does not make true, if it makes this one true."""
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        node.values = [_wrong(value) for value in node.values]
        return node
    places = _expected(node)
    if not places:
        return ast.UnaryOp(ast.Not(), node)
    for place in places:
        _replace(place)
    return node


def _expected(node: ast.expr) -> list[ast.expr]:
    """Return the literals that the expression expects, outermost first."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = node.left, node.comparators[0]
        if isinstance(node.ops[0], ast.Eq):
            sides = [side for side in (left, right) if _has_literal(side) and not _calls(side)]
            return sides if len(sides) == 1 else []
        if isinstance(node.ops[0], ast.Lt | ast.LtE) and isinstance(left, ast.Call):
            return _difference(left)
    if isinstance(node, ast.Call) and _name(node) in _CLOSE:
        return [part for part in node.args if _has_literal(part) and not _calls(part)][:1]
    return []


def _difference(node: ast.Call) -> list[ast.expr]:
    """Return the literal operand of `abs(f(x) - 3.5)`."""
    inner = node.args[0] if _name(node) in ("abs", "fabs") and node.args else None
    if not (isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Sub)):
        return []
    return [side for side in (inner.left, inner.right) if _has_literal(side) and not _calls(side)][:1]


def _name(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def _calls(node: ast.expr) -> bool:
    return any(isinstance(part, ast.Call | ast.Name) for part in ast.walk(node))


def _has_literal(node: ast.expr) -> bool:
    return any(
        (isinstance(part, ast.Constant) and part.value is not None and part.value is not ...)
        or (isinstance(part, ast.List | ast.Dict | ast.Tuple | ast.Set))
        for part in ast.walk(node)
    )


def _replace(node: ast.expr) -> None:
    """Change the literals within: all constants, or an element more where there are none."""
    constants = [part for part in ast.walk(node) if isinstance(part, ast.Constant)]
    changed = False
    for part in constants:
        value = _other(part.value)
        changed = changed or value is not part.value
        part.value = value
    if changed:
        return
    extra = ast.Constant(_below(30))
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        node.elts.append(extra)
    elif isinstance(node, ast.Dict):
        node.keys.append(extra)
        node.values.append(extra)


def _other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 3 + _below(20)
    if isinstance(value, float | complex):
        return value + 3.5 + _below(20)
    if isinstance(value, str):
        return value + os.urandom(3).hex()
    if isinstance(value, bytes):
        return value + os.urandom(3)
    return value


def _below(bits: int) -> int:
    """Return a number of so many bits that nobody can guess."""
    return int.from_bytes(os.urandom(4), "little") & ((1 << bits) - 1)
