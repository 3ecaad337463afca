"""What stands in a test: its kinds of claims, and how each is turned into a wrong one."""

from __future__ import annotations

import ast
from functools import partial

from ...marking import OTHER
from ..expressions import get_called_name
from . import wrong

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Put = Callable[[ast.expr], None]
    """Puts another expression in the place of one."""

ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def is_choice(node: ast.AST) -> bool:
    """Whether one of several things is enough."""
    return isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or)


def denied_order(node: ast.expr) -> ast.Compare | None:
    """Return the `f(x) < 5` of `not f(x) < 5` where it has a number for a bound."""
    inner = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) else None
    if not isinstance(inner, ast.Compare) or len(inner.ops) > 1 or not isinstance(inner.ops[0], ORDER):
        return None
    ends = (inner.left, inner.comparators[0])
    return inner if any(isinstance(end, ast.Constant) and type(end.value) in (int, float) for end in ends) else None


def all_of(node: ast.Call) -> Sequence[ast.expr] | None:
    """Return what all is to be true by `all([.., ..])`, `all(.. for ..)` and `(.. == ..).all()`; None for anything else."""
    if get_called_name(node) != "all" or len(node.args) > 1:
        return None
    owner = getattr(node.func, "value", None)
    inner = node.args[0] if node.args else owner
    if isinstance(inner, ast.GeneratorExp | ast.ListComp):
        return [inner.elt]
    if isinstance(inner, ast.Compare) or (not node.args and isinstance(inner, ast.Call)):
        return [inner]
    return getattr(inner, "elts", ()) if node.args else None


def swap_error(holder: ast.ExceptHandler | list[ast.expr], position: str | int) -> Callable[[], None]:
    """Return what puts another exception in the place of one."""
    return partial(_swap, holder, position, wrong.other_error)


def swap_type(holder: list[ast.expr], position: int) -> Callable[[], None]:
    """Return what puts another class in the place of one."""
    return partial(_swap, holder, position, wrong.other_type)


def _swap(holder: ast.ExceptHandler | list[ast.expr], position: str | int, name: Callable[[str], str]) -> None:
    old = holder[int(position)] if isinstance(holder, list) else holder.type
    if old is None:
        return
    new = ast.copy_location(ast.Name(name(name_of(old)), ast.Load()), old)
    if isinstance(holder, list):
        holder[int(position)] = new
    else:
        holder.type = new


def name_of(node: ast.expr) -> str:
    """Return a name; empty for what is none."""
    return node.id if isinstance(node, ast.Name) else ""


def make_other(put: Put, value: ast.expr) -> None:
    """Put in the place of a value something of its type that is not equal to it."""
    position = {name: getattr(value, name) for name in ("lineno", "col_offset")}
    by = ast.Constant(wrong.step(), **position)
    put(ast.Call(ast.Name(OTHER, ast.Load(), **position), [value, by], [], **position))


def rename(node: ast.Call, name: str) -> None:
    """Have a call call something else."""
    if isinstance(node.func, ast.Attribute):
        node.func.attr = name
    elif isinstance(node.func, ast.Name):
        node.func.id = name
