"""Which constants of a benchmark's prompt are the tests' own, whatever a solution calls by their names."""

from __future__ import annotations

import ast
import builtins

from .expressions import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_MAKING = frozenset(
    [
        "abs", "bytes", "chr", "dict", "enumerate", "float", "frozenset", "int", "len", "list", "max", "min", "ord", "range",
        "reversed", "round", "set", "sorted", "str", "sum", "tuple", "zip",
    ]
)  # fmt: skip
"""Builtin functions that make equal values of equal ones."""
_FILLING = frozenset(
    [
        *("add", "append", "clear", "difference_update", "discard", "extend", "insert", "intersection_update", "pop"),
        *("popitem", "remove", "reverse", "setdefault", "sort", "symmetric_difference_update", "update"),
        *(
            "heapify",
            "heappop",
            "heappush",
            "heappushpop",
            "heapreplace",
            "insort",
            "insort_left",
            "insort_right",
            "shuffle",
        ),
    ]
)
"""Methods that change their object, and functions that change what they are given."""
_SAME = frozenset(("assertIs", "assertIsNot"))
_OPAQUE = ast.Lambda | ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom


def list_changed(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names whose objects a program changes, replaces from inside a function or identifies.

    For these it matters whose object it is: a constant that is equal is another one.
    """
    changed: set[str] = set()
    aliases: list[tuple[str, str]] = []
    for node in nodes:
        operands: list[ast.expr] = []
        if isinstance(node, ast.Global):
            changed.update(node.names)
        elif isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
            operands = [node.value]
        elif isinstance(node, ast.AugAssign):
            operands = [node.target]
        elif isinstance(node, ast.Assign):
            aliases += [(name, _find_base(node.value)) for name in _list_targets(node)]
        elif isinstance(node, ast.Compare) and any(isinstance(how, ast.Is | ast.IsNot) for how in node.ops):
            operands = [node.left, *node.comparators]
        elif isinstance(node, ast.Call):
            called = getattr(node.func, "attr", "") or getattr(node.func, "id", "")
            if called in _FILLING:
                operands = [node.func, *node.args]
            elif called in _SAME:
                operands = node.args
        changed.update(map(_find_base, operands))
    for name, base in reversed(aliases):
        if name in changed:
            changed.add(base)
    return changed


def parse_prompt(prompt: str) -> ast.Module | None:
    """Return the syntax tree of a prompt, which may end with the head of the function that is to be completed."""
    return parse(prompt) or parse(prompt.rstrip() + "\n    pass\n")


def list_reassigned(reference: str, prompt: str) -> list[str] | None:
    """Return the names of constants that a right answer changes, or assigns otherwise than the prompt; None if not Python."""
    tree, asking = parse(reference), parse_prompt(prompt)
    if tree is None or asking is None:
        return None
    asked = {ast.dump(statement) for statement in asking.body}
    own = (
        statement
        for statement in tree.body
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign) and ast.dump(statement) not in asked
    )
    inside = (node for top in tree.body if ast.dump(top) not in asked for node in ast.walk(top))
    return sorted(list_changed(inside).union(*map(_list_targets, own)))


def find_constants(
    prompt: ast.Module, used: set[str], tests: Iterable[ast.AST | None], reassigned: list[str] | None
) -> list[ast.stmt]:
    """Return the statements of a prompt that make the constants which its tests name and do not change, with what they need.

    Args:
        prompt: its syntax tree.
        used: the names that the tests use.
        tests: their syntax trees.
        reassigned: what a right answer changes; None if none is known: then what is empty may be there to be filled.
    """
    if not any(isinstance(statement, ast.Assign | ast.AnnAssign) for statement in prompt.body):
        return []
    changed = list_changed(node for tree in tests if tree for node in ast.walk(tree)).union(reassigned or ())
    needed: dict[str, set[int]] = {}
    constants: set[str] = set()
    for number, statement in enumerate(prompt.body):
        if isinstance(statement, ast.Import | ast.ImportFrom):
            needed |= {(alias.asname or alias.name).partition(".")[0]: {number} for alias in statement.names}
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            loads, targets = _list_loads(statement.value, is_known=reassigned is not None), _list_targets(statement)
            is_constant = all(name in needed or hasattr(builtins, name) for name in loads or ())
            if loads is not None and is_constant and changed.isdisjoint(targets):
                needed |= dict.fromkeys(targets, {number}.union(*(needed.get(name, ()) for name in loads)))
                constants.update(targets)
            else:
                for name in targets:
                    needed.pop(name, None)
        elif not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for node in ast.walk(statement):  # whatever it makes of them, they are no constants
                needed.pop(getattr(node, "id", ""), None)
    taken = set[int]().union(*(needed.get(name, ()) for name in used & constants))
    return [prompt.body[number] for number in sorted(taken)]


def _list_targets(statement: ast.AST) -> list[str]:
    """Return the names that an assignment binds."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]  # type: ignore[attr-defined]
    return [
        node.id
        for target in targets
        for node in ast.walk(target)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]


def _find_base(expression: ast.expr) -> str:
    """Return the name whose object, or a part of it, an expression is; empty for others."""
    while isinstance(expression, ast.Subscript | ast.Attribute):
        expression = expression.value
    return expression.id if isinstance(expression, ast.Name) else ""


def _list_loads(value: ast.expr | None, *, is_known: bool) -> set[str] | None:
    """Return the names that an expression needs to make an equal value wherever it is evaluated; None if it may not.

    Where it is not known what a right answer changes, an empty value is none: `None`, 0, `...`, empty texts and containers.
    """
    try:
        literal = value and ast.literal_eval(value)
        is_empty = literal is ... or not literal
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        is_empty = isinstance(value, ast.Call) and not (value.args or value.keywords)
    if value is None or (is_empty and not is_known):
        return None
    loads, stores = set[str](), set[str]()
    for node in ast.walk(value):
        if isinstance(node, ast.Name):
            (loads if isinstance(node.ctx, ast.Load) else stores).add(node.id)
        is_text = isinstance(node, ast.Call) and isinstance(getattr(node.func, "value", None), ast.Constant)
        is_made = isinstance(node, ast.Call) and getattr(node.func, "id", "") in _MAKING
        if isinstance(node, _OPAQUE) or (isinstance(node, ast.Call) and not (is_text or is_made)):
            return None
    return loads - stores
