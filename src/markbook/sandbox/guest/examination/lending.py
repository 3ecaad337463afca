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

`Origins` asks the same of all that a test has from the solution, where a prompt makes objects by which that could say what the
test expects. It follows values instead, and takes for the solution's what it cannot follow.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter

from .claims import compares
from .expressions import (
    DEFINITION,
    FILL,
    collect_bound_names,
    expression_key,
    flows,
    get_called_name,
    list_names,
    walk_all,
)
from .prompts import collect_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_BUILTINS = frozenset(vars(builtins))
_DISPLAYS = frozenset((ast.List, ast.Tuple, ast.Set, ast.Dict))
_COMPUTING = frozenset(
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


class _NotListedError(Exception):
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
        except (_NotListedError, RecursionError):  # a sum of a thousand terms: such a text says nothing
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
                    raise _NotListedError
            case _:
                raise _NotListedError

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
            raise _NotListedError
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
            raise _NotListedError
        return targets

    # expressions

    def _is_literal(self, node: Any) -> bool:
        return isinstance(node, ast.Constant) or id(node) in self._literals

    def _is_solutions(self, name: str) -> bool:
        return name in self._called or (name not in self.bound and (name in self._tested or name not in _BUILTINS))

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
                self._visit_lambda(node.body, {parameter.arg for parameter in parameters})
            case _:
                raise _NotListedError

    def _visit_function(self, function: Any, options: list[Any]) -> None:
        """Allow to call what is tested, a method of its answer, or what computes with operators alone."""
        match function:
            case ast.Name(id=name) if self._is_solutions(name):
                return
            case ast.Name(id=name) if name in _COMPUTING and name in self.unbound and not options:
                return
            case ast.Attribute(value=ast.Name(id=base), attr=name) if name in _OF_MATH and self._is_math(base):
                return
            case ast.Attribute(value=ast.Call(func=ast.Name(id=name)) as value, attr=method):
                if method[:1] == "_" or not self._is_solutions(name):
                    raise _NotListedError
                self._visit(value)
            case _:
                raise _NotListedError

    @staticmethod
    def _is_index(node: Any) -> bool:
        parts = [node.lower, node.upper, node.step] if isinstance(node, ast.Slice) else [node]
        return all(part is None or isinstance(part, ast.Constant | ast.UnaryOp) for part in parts)

    def _visit_lambda(self, node: Any, parameters: set[str]) -> None:
        """Allow a function that computes from what it is given, by operators and nothing else."""
        match node:
            case ast.Constant():
                return
            case ast.Name(id=name) if name in parameters:
                return
            case ast.UnaryOp(operand=operand):
                self._visit_lambda(operand, parameters)
            case ast.BinOp(left=left, right=right) | ast.Compare(left=left, comparators=[right]):
                self._visit_lambda(left, parameters)
                self._visit_lambda(right, parameters)
            case _:
                raise _NotListedError


def _find_literals(nodes: list[ast.AST]) -> set[int]:
    """Return the containers that hold constants and such containers alone, by id; some tests have a megabyte of them."""
    plain: set[int] = set()
    literals: set[int] = set()
    for node in reversed(nodes):  # parts before what they are part of
        kind = type(node)
        if kind is ast.Constant:
            plain.add(id(node))
        elif kind in _DISPLAYS:
            parts: list[Any] = [*node.keys, *node.values] if isinstance(node, ast.Dict) else node.elts  # type: ignore[attr-defined]
            if all(id(part) in plain for part in parts):
                plain.add(id(node))
                literals.add(id(node))
        elif kind is ast.UnaryOp and id(node.operand) in plain:  # type: ignore[attr-defined]  # it is one
            plain.add(id(node))
    return literals


_CLOSE = frozenset(("allclose", "array_equal", "isclose"))
_IMMUTABLE_RESULTS = frozenset(
    ["abs", "bool", "bytes", "chr", "float", "frozenset", "int", "len", "ord", "range", "repr", "round", "str", "sum"]
)


def _list_inputs(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _list_items(node: ast.expr) -> list[ast.expr]:
    """Return the items of a row or table that is written down, or the expression itself."""
    if isinstance(node, ast.Dict):
        return [part for item in (*node.keys, *node.values) if item for part in _list_items(item)]
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [part for item in node.elts for part in _list_items(item)]
    return [node]


def _list_heads(node: ast.AST) -> list[ast.expr]:
    """Return what a statement goes through, or goes on by."""
    if isinstance(node, ast.For | ast.AsyncFor):
        return [node.iter]
    return [node.test] if isinstance(node, ast.If | ast.While) else []


_ONLY_COMPUTES = (ast.AnnAssign, ast.Assign, ast.AugAssign, ast.Expr, ast.For, ast.If, ast.Pass, ast.While)
"""Statements that neither claim anything nor end what is around them, but for calls that claim."""
_STORING = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr
_BY_NAME = frozenset(
    ["__dict__", "__setattr__", "attrgetter", "delattr", "getattr", "globals", "locals", "setattr", "vars"]
)
"""What reads or sets by a name in a text."""


class Origins:
    """What in a problem's tests may come from the solution; and which tests let it decide nothing but what they compare.

    A name's value may come from the solution if it is one of the solution's names or made of one, or if a solution has had it and
    it can be changed. Whatever is not known to be the test's own counts as the solution's.
    """

    def __init__(
        self, tests: list[ast.Module], theirs: set[str], entry: set[str], classes: set[str], copies: set[str]
    ) -> None:
        """Take tests and names in them: the solution's, the entry point's, those of classes, and copies of what a solution may change."""
        self._nodes = list(walk_all(tests))
        self._classes = classes
        self._sources: dict[str, list[ast.expr]] = {}
        """What a name stands for a part of, or beside."""
        for node in self._nodes:
            if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
                self._add_sources([node.target], [node.iter])
            elif isinstance(node, ast.Assign) and node.targets[1:]:
                self._add_sources(node.targets, node.targets)
        self._entry, self._values = entry, flows(self._nodes)
        self._definitions = {node.name: node for node in self._nodes if isinstance(node, DEFINITION)}
        aliases = [node for node in self._nodes if isinstance(node, ast.Import | ast.ImportFrom)]
        self._imported = collect_bound_names([alias for node in aliases for alias in node.names])
        # what a `with`, an `except` or a `match` binds, and parameters that no call here gives a value
        bound = [node.optional_vars for node in self._nodes if isinstance(node, ast.withitem) and node.optional_vars]
        self._bound = collect_bound_names(
            [node for node in self._nodes if isinstance(node, ast.ExceptHandler | ast.pattern)]
        )
        self._bound |= (
            {node.arg for node in self._nodes if isinstance(node, ast.arg)} - self._values.keys() - {"self", "cls"}
        )
        self._bound = self._bound.union(*map(list_names, bound)) - {""}
        self._theirs = self._copies = copies
        self._close_over()
        self._copies = self._theirs
        self._answers = self._spread(self._bound | entry)
        """What may come from the entry point, or from what it has had."""
        of_solution = [
            node
            for node in aliases
            if "solution" in (getattr(node, "module", ""), *(alias.name for alias in node.names))
        ]
        theirs = theirs | collect_bound_names([alias for node in of_solution for alias in node.names])
        self._theirs = self._spread(theirs | self._bound | entry)

    def _add_sources(self, targets: list[ast.expr], sources: list[ast.expr]) -> None:
        for part in walk_all(targets):
            if key := expression_key(part):
                self._sources.setdefault(key, []).extend(sources)

    def _spread(self, names: set[str]) -> set[str]:
        """Return names with what is made of them, and what a solution gets with one of these and can change."""
        self._theirs, self._exposed, self._handed, before = set(names), set[str](), set[str](), -1
        self._close_over()
        self._first = set(self._theirs)
        """What comes from the solution, without what it has had."""
        while before != len(self._theirs):
            before = len(self._theirs)
            self._close_over()
            for node in self._nodes:
                is_decided = isinstance(node, ast.With | ast.AsyncWith | ast.Try) and self._is_theirs(node)
                if is_decided or any(self._is_theirs(head) and not self._is_row(head) for head in _list_heads(node)):
                    # how far it comes, the solution may decide, by an error too
                    self._expose([item.context_expr for item in getattr(node, "items", ())])
                    self._note_stores(node)
                elif (value := getattr(node, "value", None)) and isinstance(node, _STORING) and self._is_theirs(value):
                    targets = [part for part in ast.iter_child_nodes(node) if part is not value]
                    self._theirs |= {expression_key(part) for part in walk_all(targets)} - {"", "self", "cls"}
                    self._expose(targets)
                elif (
                    isinstance(node, ast.Call)
                    and self._is_theirs(node)
                    and getattr(node.func, "id", "") not in self._definitions
                ):
                    name = get_called_name(node)
                    is_pure = isinstance(node.func, ast.Name) and not node.keywords
                    is_pure &= name not in ("filter", "map", "setattr", *self._imported)
                    if self._is_theirs(node.func) or not (is_pure or compares(name) or name in _CLOSE):
                        receiver = [node.func.value] if isinstance(node.func, ast.Attribute) else []
                        self._expose([*receiver, *_list_inputs(node)])
        return self._theirs

    def _close_over(self) -> None:
        """Take in what is made of what comes from the solution."""
        before = -1
        while before != len(self._theirs):
            before = len(self._theirs)
            self._theirs = self._theirs | {
                key for key, values in self._values.items() if any(map(self._is_theirs, values))
            }
            for name, node in self._definitions.items():
                self._theirs |= {name} if self._is_theirs(node) else set()
                if isinstance(node, ast.ClassDef):  # what its body binds in a branch is read as an attribute, too
                    self._theirs |= {f".{part}" for part in self._theirs & set(collect_bound_names([*ast.walk(node)]))}

    def _is_theirs(self, node: ast.AST) -> bool:
        return any(expression_key(part) in self._theirs for part in ast.walk(node))

    def _expose(self, nodes: Iterable[ast.AST], *, is_part: bool = False) -> None:
        """Take in what can be changed of what a solution gets, or gets a part of, also by the functions that it gets."""
        nodes = list(nodes)
        functions = {name for name, node in self._definitions.items() if not isinstance(node, ast.ClassDef)}
        calls = [part.func for part in walk_all(nodes) if isinstance(part, ast.Call)]
        called = {id(function) for function in calls if getattr(function, "id", "") in functions}
        keys = {expression_key(part) for part in walk_all(nodes) if id(part) not in called} - {"", "self", "cls"}
        self._handed |= set() if is_part else keys
        for key in keys - self._exposed:
            self._exposed.add(key)
            values, sources = self._values.get(key, []), self._sources.get(key, [])
            if key in self._copies or any(self._can_change(value, set()) for value in values):
                self._theirs.add(key)
            self._expose(values, is_part=is_part)
            self._expose(sources, is_part=True)
            if (definition := self._definitions.get(key.removeprefix("."))) is not None:
                self._note_stores(definition)
                self._expose(definition.body)

    def _note_stores(self, node: ast.AST) -> None:
        """Take in what is set within, or may be changed by a call."""
        for part in ast.walk(node):
            if isinstance(part, ast.Name | ast.Attribute) and not isinstance(part.ctx, ast.Load):
                self._theirs |= {expression_key(part)} - {"self", "cls"}
            elif isinstance(part, ast.Subscript) and not isinstance(part.ctx, ast.Load):
                self._expose([part.value])
            elif isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and get_called_name(part) in FILL:
                self._expose([part.func.value])

    def _can_change(self, value: ast.expr, names: set[str]) -> bool:
        """Whether a value may be one that can be changed; `names` are those that it was followed through."""
        key = expression_key(value)
        if key in self._values and key not in names:
            names.add(key)
            return any(self._can_change(other, names) for other in self._values[key])
        if isinstance(value, ast.Tuple | ast.BinOp | ast.UnaryOp):
            return any(
                self._can_change(part, names) for part in ast.iter_child_nodes(value) if isinstance(part, ast.expr)
            )
        is_fixed = isinstance(value, ast.Call) and getattr(value.func, "id", "") in _IMMUTABLE_RESULTS
        return not (is_fixed or isinstance(value, ast.Constant | ast.JoinedStr | ast.Compare))

    def lets_answer(self, test: ast.Module) -> bool:
        """Whether the solution decides nothing in a test but the values that the test compares with its own.

        Raises:
            RecursionError: the test is too deep to say it.
        """
        return _BY_NAME.isdisjoint(collect_words([test])) and all(map(self._is_plain, test.body))

    def _is_plain(self, node: ast.AST) -> bool:
        """Whether a statement, or an `except` in one, uses what comes from the solution in one of the known ways.

        A copy that never changes is compared with nothing else than an answer.
        """
        if not (isinstance(node, DEFINITION) or self._is_theirs(node)):
            is_kept = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
            return is_kept or isinstance(node, ast.Return) or self._is_free_of_copies([node])
        heads: list[ast.expr | None] = []  # which are to be the test's own
        match node:
            case ast.Assert():
                return self._is_claim(node.test)
            case ast.Expr(value=ast.Call() as call) if not self._is_theirs(call.func):
                # a function of a library may keep what it is told: `random.seed`
                name = get_called_name(call)
                is_known = (
                    compares(name) or name in _CLOSE or (isinstance(call.func, ast.Name) and name not in self._imported)
                )
                return is_known and self._is_claim(call)
            case ast.Expr():
                return not (
                    isinstance(node.value, ast.Call) and compares(get_called_name(node.value))
                ) and self._is_claim(node.value)
            case ast.Assign() | ast.AnnAssign() | ast.Return():
                targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
                is_known = node.value is None or self._is_answer(node.value) or self._is_input(node.value)
                return is_known and all(map(self._is_target, targets))
            case ast.For() | ast.If() | ast.While():
                head = _list_heads(node)[0]
                if self._is_theirs(head) and not (isinstance(node, ast.For) and self._is_row(head)):
                    inside = list(walk_all([*node.body, *node.orelse]))
                    called = {get_called_name(part) for part in inside if isinstance(part, ast.Call)}
                    claims = any(map(compares, called)) or not called.isdisjoint(self._definitions)
                    return not claims and all(
                        not isinstance(part, ast.stmt) or isinstance(part, _ONLY_COMPUTES) for part in inside
                    )
            case ast.With() | ast.AsyncWith():
                return all(map(self._is_first, (item.context_expr for item in node.items))) and all(
                    map(self._is_plain, node.body)
                )
            case ast.ExceptHandler():
                heads = [node.type]
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                heads = [*node.decorator_list, *node.args.defaults, *node.args.kw_defaults]
            case ast.ClassDef():
                heads = [*node.decorator_list, *node.bases]
            case ast.Try():
                pass
            case _:
                return False
        parts = [part for field in ("body", "handlers", "orelse", "finalbody") for part in getattr(node, field, ())]
        return not any(head and self._is_theirs(head) for head in heads) and all(map(self._is_plain, parts))

    def _is_first(self, node: ast.expr) -> bool:
        return not any(expression_key(part) in self._first for part in ast.walk(node))

    def _is_row(self, node: ast.expr) -> bool:
        """Whether the solution had parts of what a loop goes through, but not the row itself."""
        return self._is_first(node) and self._handed.isdisjoint(map(expression_key, ast.walk(node)))

    def _is_target(self, target: ast.expr | None) -> bool:
        if isinstance(target, ast.Tuple | ast.List):
            return all(map(self._is_target, target.elts))
        return target is None or isinstance(target, ast.Name) or self._is_answer(target)

    def _is_claim(self, node: ast.expr) -> bool:
        """Whether an expression says of one value of the solution's what the test itself knows."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self._is_claim(node.operand)
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            return all(map(self._is_claim, node.values))
        sides = [node]
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and (compares(get_called_name(node)) or get_called_name(node) in _CLOSE):
            sides = [node.func, *_list_inputs(node)]
            if get_called_name(node) in ("assertFalse", "assertTrue") and not self._is_theirs(node.func):
                return self._is_claim(node.args[0]) if node.args else False
        match node:
            case ast.Call(func=ast.Name(id="all"), args=[ast.GeneratorExp() as claims]):
                return self._is_claim(claims.elt) and not any(map(self._is_theirs, claims.generators))
        theirs = list(filter(self._is_theirs, sides))
        keys = {expression_key(part) for part in walk_all(theirs)}
        if not theirs:
            return self._is_free_of_copies(sides)
        # by `in` or `<` a row of two answers is compared with itself: `(s.size(), s.limit) in [(0, 0), (1, 1)]`
        is_equal = isinstance(node, ast.Compare) and all(isinstance(how, ast.Eq) for how in node.ops)
        is_equal |= isinstance(node, ast.Call) and "Equal" in get_called_name(node)
        parts = _list_items(theirs[0]) if is_equal and len(theirs) == 1 else theirs
        # an item of the test's own may stand beside a copy
        is_known = all(self._is_answer(part) and (self._is_theirs(part) or not self._copies) for part in parts)
        return len(theirs) == 1 and is_known and not keys.isdisjoint(self._answers)

    def _is_free_of_copies(self, nodes: list[Any]) -> bool:
        return self._copies.isdisjoint(map(expression_key, walk_all(nodes)))

    def _is_answer(self, node: ast.expr) -> bool:
        """Whether an expression is the test's own, or one value of the solution's, or a row of such, as it came."""
        if not self._is_theirs(node):
            return True
        match node:
            case ast.Name():
                return node.id in self._entry | self._bound | self._values.keys()
            case ast.Attribute() | ast.Await():
                return self._is_answer(node.value)
            case ast.Subscript():
                return self._is_answer(node.value) and not self._is_theirs(node.slice)
            case ast.Call():
                inputs = _list_inputs(node)
                if self._is_theirs(node.func):
                    is_tested = getattr(node.func, "id", "") in self._answers
                    return (is_tested or self._is_answer(node.func)) and all(map(self._is_input, inputs))
                theirs = list(filter(self._is_theirs, inputs))
                return len(theirs) == 1 and self._is_answer(theirs[0])
            case ast.List() | ast.Tuple() | ast.Set():
                theirs = list(filter(self._is_theirs, node.elts))
                return len(theirs) == 1 and self._is_answer(theirs[0]) and not self._copies
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp():
                filters = [part for around in node.generators for part in around.ifs]
                sources = [around.iter for around in node.generators if self._is_theirs(around.iter)]
                bound = collect_bound_names([part for around in node.generators for part in ast.walk(around.target)])
                others = {expression_key(part) for part in ast.walk(node.elt)} & self._theirs - bound
                is_single = not sources or (len(sources) == 1 and not others)
                return (
                    is_single
                    and not any(map(self._is_theirs, filters))
                    and all(map(self._is_answer, [node.elt, *sources]))
                )
        return False

    def _is_input(self, node: ast.expr, names: frozenset[str] = frozenset()) -> bool:
        """Whether what a solution is given is the test's own, or was made by the solution of what is: `Node(1, Node(2))`."""
        key = expression_key(node)
        if not self._is_theirs(node) or key in names or key in self._entry:
            return True
        if key:
            values = self._values.get(key, [])
            return bool(values) and all(self._is_input(value, names | {key}) for value in values)
        if isinstance(node, ast.Call):
            key = expression_key(node.func)
            is_made = key in self._entry | self._classes or (
                key in self._definitions and self._is_input(node.func, names)
            )
            return is_made and all(self._is_input(value, names) for value in _list_inputs(node))
        parts = node.elts if isinstance(node, ast.List | ast.Tuple | ast.Set) else []
        return bool(parts) and all(self._is_input(part, names) for part in parts)
