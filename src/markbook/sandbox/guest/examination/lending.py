"""Whether a test reads again what it lends: read off its text, once a test, where a solution has changed something.

Theory of operation. A solution that empties `items` in `assert f(items) == sorted(items)` has the test expect what it
gives. Such a change counts against a `separated` pass (`Policy.note_change`) unless the text shows that the test cannot see
it. To follow what may lead where in any Python was tried twice, and both times an attacker targets more than a hundred ways
past it. So this is a short list of forms instead, in which whatever is handed over stands there as a literal, or is one
item of a literal that a loop goes through and names once. No name leads to it, so nothing can read it again. All other
texts count as such that do.

    assert f([3, 1], key=lambda n: -n) == [3, 1]
    for items, want in [([3, 1], [1, 3]), ([], [])]:
        assert f(items) == want
    def check(candidate):
        assert abs(candidate([1.5]) - 1.5) < 1e-6
    check(f)

What an operator of the solution's objects changes counts in any text (`Policy.note_written`).
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

BUILTINS = frozenset(vars(builtins))
DISPLAYS = frozenset((ast.List, ast.Tuple, ast.Set, ast.Dict))
COMPUTING = frozenset(
    [
        "abs", "all", "any", "bool", "dict", "float", "frozenset", "int", "isinstance", "len", "list", "max", "min", "repr",
        "round", "set", "sorted", "str", "sum", "tuple", "type",
    ]
)  # fmt: skip
"""Builtin functions that use nothing but operators of what they are given, and keep nothing."""
_TYPES = frozenset(("bool", "bytes", "complex", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple"))
_OF_MATH = frozenset(("ceil", "fabs", "floor", "isclose", "isinf", "isnan", "sqrt"))
_NUMBERS = frozenset(("e", "inf", "nan", "pi", "tau"))
_PARTS: dict[type, tuple[str, ...]] = {
    ast.UnaryOp: ("operand",), ast.BinOp: ("left", "right"), ast.BoolOp: ("values",), ast.Constant: (),
    ast.Tuple: ("elts",), ast.List: ("elts",),
}  # fmt: skip
"""Of expressions that are listed, what stands in them."""


class NotListedError(Exception):
    """Something stands in a text that is not among what is allowed."""


class Lending:
    """What the text of one test says of what it lends."""

    def __init__(self, trees: Iterable[ast.AST | None], nodes: list[ast.AST], tested: set[str]) -> None:
        """Read the parts of a test.

        Args:
            trees: its parts, which share their variables.
            nodes: all of their nodes, parents first.
            tested: by which names it calls what is tested.
        """
        self._tested = tested
        self._literals = _find_literals(nodes)
        self._stores: Counter[str] = Counter()
        self._loads: Counter[str] = Counter()
        self._has_math = False
        self._is_closed = True
        """Whether every name that it binds stands in its text."""
        for node in nodes:
            self._note_names(node)
        self.bound = frozenset(self._stores)
        """The names that it binds anywhere, which the tests after it may read."""
        self.unbound = frozenset(self._loads) - self.bound
        """Names that it reads and does not bind: the solution's, Python's, the prompt's, or another test's."""
        self._called: set[str] = set()
        """Parameters that stand for what is tested."""
        self._checks: set[str] = set()
        """Functions that are given it."""
        self._items: set[str] = set()
        """Items of the loop around."""
        self._is_listed = False
        try:
            for tree in trees:
                for statement in getattr(tree, "body", [tree] if tree is not None else []):
                    self._visit_statement(statement)
            self._is_listed = self._is_closed
        except (NotListedError, RecursionError):  # a sum of a thousand terms: such a text says nothing
            pass

    def reads_again(self) -> bool:
        """Whether it may read anything a second time that leads to what it lends."""
        return not self._is_listed

    def _note_names(self, node: Any) -> None:
        if isinstance(node, ast.Name):
            (self._loads if isinstance(node.ctx, ast.Load) else self._stores)[node.id] += 1
        elif isinstance(node, ast.alias):
            self._stores[(node.asname or node.name).partition(".")[0]] += 1
            self._is_closed = self._is_closed and node.name != "*"
            self._has_math = self._has_math or (node.name == "math" and node.asname is None)
        elif isinstance(node, ast.arg):
            self._stores[node.arg] += 1
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            self._stores[node.name] += 1
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar | ast.MatchMapping):
            name = node.rest if isinstance(node, ast.MatchMapping) else node.name
            self._stores.update([name] if name else [])

    # statements

    def _visit_statement(self, node: Any) -> None:
        match node:
            case ast.Pass() | ast.Expr(value=ast.Constant()) | ast.Import() | ast.ImportFrom():
                return
            case ast.Assert(test=test, msg=None | ast.Constant()):
                self._visit(test)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if not self._loads[name] and self._is_literal(
                value
            ):
                return
            case ast.For(target=target, iter=source, body=body, orelse=[]) if not self._items:
                self._items = self._find_items(target, source)
                for part in body:
                    self._visit_statement(part)
                self._items = set()
            case ast.FunctionDef(
                args=ast.arguments(args=[ast.arg(arg=name, annotation=None)]), decorator_list=[], returns=None
            ):
                self._visit_check(node, name)
            case ast.Expr(value=ast.Call(func=ast.Name(id=name), args=[ast.Name(id=argument)], keywords=[])):
                if not (name in self._checks and self._is_solutions(argument)):
                    raise NotListedError
            case _:
                raise NotListedError

    def _visit_check(self, node: ast.FunctionDef, name: str) -> None:
        """Allow a function that is given what is tested, and is called with that alone."""
        parameters = node.args
        is_plain = not (
            parameters.posonlyargs
            or parameters.kwonlyargs
            or parameters.vararg
            or parameters.kwarg
            or parameters.defaults
        )
        if not is_plain or self._stores[name] > 1 or self._called or self._items or self._stores[node.name] > 1:
            raise NotListedError
        self._called = {name}
        for part in node.body:
            self._visit_statement(part)
        self._called = set()
        self._checks.add(node.name)

    def _find_items(self, target: Any, source: Any) -> set[str]:
        """Return the names of a loop through a literal, each of which stands for one item and is read once at most."""
        rows = source.elts if isinstance(source, ast.List | ast.Tuple) and self._is_literal(source) else []
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        targets = {name.id for name in names if isinstance(name, ast.Name)}
        is_once = len(targets) == len(names) and all(self._stores[name] == 1 >= self._loads[name] for name in targets)
        if isinstance(target, ast.Tuple):
            is_once &= all(isinstance(row, ast.List | ast.Tuple) and len(row.elts) == len(names) for row in rows)
        if not (rows and is_once):
            raise NotListedError
        return targets

    # expressions

    def _is_literal(self, node: Any) -> bool:
        return isinstance(node, ast.Constant) or id(node) in self._literals

    def _is_solutions(self, name: str) -> bool:
        return name in self._called or (name not in self.bound and (name in self._tested or name not in BUILTINS))

    def _is_math(self, name: str) -> bool:
        return name == "math" and self._has_math and self._stores["math"] == 1

    def _visit_all(self, nodes: Iterable[Any]) -> None:
        for node in nodes:
            self._visit(node)

    def _visit(self, node: Any) -> None:
        if self._is_literal(node):
            return
        if type(node) in _PARTS:
            for field in _PARTS[type(node)]:
                value = getattr(node, field)
                self._visit_all(value if isinstance(value, list) else [value])
            return
        match node:
            case ast.Name(id=name) if name in self._items or (name in _TYPES and name in self.unbound):
                return
            case ast.Compare(left=left, comparators=[right]):  # a chain reads what stands in its middle twice
                self._visit_all((left, right))
            case ast.Subscript(value=ast.Call() as value, slice=index) if self._is_index(index):
                self._visit(value)
            case ast.Attribute(value=ast.Name(id=base), attr=name) if name in _NUMBERS and self._is_math(base):
                return
            case ast.Call(func=function, args=values, keywords=options):
                self._visit_function(function, options)
                self._visit_all(values)
                self._visit_all(option.value for option in options)
            case ast.Lambda(
                args=ast.arguments(
                    args=[*parameters], posonlyargs=[], kwonlyargs=[], vararg=None, kwarg=None, defaults=[]
                )
            ):
                visit_computation(node.body, {parameter.arg for parameter in parameters})
            case _:
                raise NotListedError

    def _visit_function(self, function: Any, options: list[Any]) -> None:
        """Allow to call what is tested, a method of its answer, or what computes with operators alone."""
        match function:
            case ast.Name(id=name) if self._is_solutions(name):
                return
            case ast.Name(id=name) if name in COMPUTING and name in self.unbound and not options:
                return
            case ast.Attribute(value=ast.Name(id=base), attr=name) if name in _OF_MATH and self._is_math(base):
                return
            case ast.Attribute(value=ast.Call(func=ast.Name(id=name)) as value, attr=method):
                if method[:1] == "_" or not self._is_solutions(name):
                    raise NotListedError
                self._visit(value)
            case _:
                raise NotListedError

    @staticmethod
    def _is_index(node: Any) -> bool:
        parts = [node.lower, node.upper, node.step] if isinstance(node, ast.Slice) else [node]
        return all(part is None or isinstance(part, ast.Constant | ast.UnaryOp) for part in parts)


def visit_computation(node: Any, parameters: set[str]) -> None:
    """Allow a function's body that computes from what it is given, by operators and nothing else."""
    match node:
        case ast.Constant():
            return
        case ast.Name(id=name) if name in parameters:
            return
        case ast.UnaryOp(operand=operand):
            visit_computation(operand, parameters)
        case ast.BinOp(left=left, right=right) | ast.Compare(left=left, comparators=[right]):
            visit_computation(left, parameters)
            visit_computation(right, parameters)
        case _:
            raise NotListedError


def _find_literals(nodes: list[ast.AST]) -> set[int]:
    """Return the containers that hold constants and such containers alone, by id; some tests have a megabyte of them."""
    plain: set[int] = set()
    literals: set[int] = set()
    for node in reversed(nodes):  # parts before what they are part of
        kind = type(node)
        if kind is ast.Constant:
            plain.add(id(node))
        elif kind in DISPLAYS:
            parts: list[Any] = [*node.keys, *node.values] if isinstance(node, ast.Dict) else node.elts  # type: ignore[attr-defined]
            if all(id(part) in plain for part in parts):
                plain.add(id(node))
                literals.add(id(node))
        elif kind is ast.UnaryOp and id(node.operand) in plain:  # type: ignore[attr-defined]  # it is one
            plain.add(id(node))
    return literals
