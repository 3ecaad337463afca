"""What a test reads again of what it lends, and which of its functions change nothing: read off its text, once a test.

Theory of operation. A solution that empties `items` in `assert f(items) == sorted(items)` has the test expect what it
gives. Such a write counts against a `separated` pass (`Policy.note_write`) unless the text shows that the test cannot see
it. That is shown by a list of what is allowed, not by following what may lead where: whatever is not listed here counts as
read again, and as a function that changes something.

A text reads nothing again if it is *linear*: each value that may be lent is a temporary, or stands in one variable that is
read at most once after it was bound, in no deeper loop and in the same function. Then nothing leads to it once it was handed
over. Read as often as one likes are variables of immutable constants, modules, functions, and what the solution itself
returned where it was given nothing that can change. A function of the test's that compares (`assertion(out, expected)`) may
read its parameters often, since it calls nothing of the solution's: what an operator of the solution's objects changes
meanwhile always counts, by whatever text.
"""

from __future__ import annotations

import ast
import builtins

from ..exchange.lent import GENERATED, READING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (*_FUNCTIONS, *_COMPREHENSIONS, ast.ClassDef)
_BUILTINS = frozenset(vars(builtins))
_DISPLAYS = frozenset((ast.List, ast.Tuple, ast.Set, ast.Dict))
_EAGER = frozenset(("all", "any", "frozenset", "list", "max", "min", "set", "sorted", "sum", "tuple"))
"""What has gone through all that it was given when it returns."""
_CALLABLE = _EAGER | {
    "abs", "bin", "bool", "bytearray", "bytes", "callable", "chr", "complex", "dict", "divmod", "enumerate", "float", "hash",
    "hex", "id", "int", "isinstance", "issubclass", "iter", "len", "oct", "ord", "pow", "print", "range", "repr", "reversed", "round",
    "str", "type", "zip",
}  # fmt: skip
"""Builtin functions that call nothing but operators of what they are given, and keep nothing."""
_LASTING = frozenset(("enumerate", "iter", "reversed", "zip", "print", "id"))
"""Of these the ones that no function of the test's may use and still be one that changes nothing."""
_TYPES = frozenset(name for name in _BUILTINS if isinstance(vars(builtins)[name], type)) - {
    "super", "memoryview", "map", "filter",
}  # fmt: skip
_LIBRARY = {
    "math": None,
    "numpy": frozenset(
        ["all", "allclose", "array", "array_equal", "isclose", "isinf", "isnan", "ndarray", "nan", "inf", "pi", "bool_"]
        + [f"{kind}{size}" for kind in ("int", "uint", "float") for size in (8, 16, 32, 64)]
    ),
    "copy": frozenset(["deepcopy"]),
    "collections": frozenset(["Counter", "OrderedDict", "deque"]),
    "decimal": frozenset(["Decimal"]),
    "fractions": frozenset(["Fraction"]),
    "datetime": frozenset(["date", "datetime", "time", "timedelta"]),
    "io": frozenset(["StringIO", "BytesIO"]),
    "random": frozenset(["Random"]),
    "sys": frozenset(["maxsize", "float_info"]),
}
"""What a test may use of a module: it keeps nothing of what it is given, and calls none of it. None: all of it."""
_RAISING = frozenset(("assertRaises", "assertRaisesRegex", "raises"))
_COMPARING = frozenset(
    [
        "assertEqual", "assertNotEqual", "assertTrue", "assertFalse", "assertIs", "assertIsNot", "assertIsNone",
        "assertIsNotNone", "assertIn", "assertNotIn", "assertIsInstance", "assertAlmostEqual", "assertGreater",
        "assertGreaterEqual", "assertLess", "assertLessEqual", "assertListEqual", "assertDictEqual", "assertTupleEqual",
    ]
)  # fmt: skip
_DECORATORS = frozenset(("property", "staticmethod", "classmethod"))
_CONSTRUCTORS = frozenset(("__init__", "__post_init__", "__new__"))
_CALLED_BY_WRITES = frozenset(
    [
        "__setitem__", "__delitem__", "__setattr__", "__delattr__", "__set__", "__delete__", "__set_name__", "__iadd__",
        "__isub__", "__imul__", "__ior__", "__iand__", "__ixor__",
    ]
)  # fmt: skip
"""Special methods that only statements call which count as writes themselves."""
_NOT_PURE = (
    ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom, ast.Await, ast.With, ast.AsyncWith, ast.AsyncFor, ast.Import,
    ast.ImportFrom, ast.Delete, ast.NamedExpr, ast.ClassDef, ast.Match, *_FUNCTIONS,
)  # fmt: skip
_SIMPLE: dict[type, tuple[str, ...]] = {
    ast.Pass: (), ast.Break: (), ast.Continue: (), ast.Import: (), ast.Expr: ("value",), ast.Return: ("value",),
    ast.Assert: ("test", "msg"),
}  # fmt: skip
_PARTS: dict[type, tuple[str, ...]] = {
    ast.Constant: (), ast.List: ("elts",), ast.Tuple: ("elts",), ast.Set: ("elts",), ast.Dict: ("keys", "values"),
    ast.JoinedStr: ("values",), ast.FormattedValue: ("value", "format_spec"), ast.Starred: ("value",),
    ast.UnaryOp: ("operand",), ast.BinOp: ("left", "right"), ast.BoolOp: ("values",), ast.IfExp: ("test", "body", "orelse"),
    ast.Subscript: ("value", "slice"), ast.Slice: ("lower", "upper", "step"),
}  # fmt: skip
"""Of statements and expressions that are listed, what stands in them."""
_CONSTANT, _LINEAR, _FUNCTION, _MODULE, _OWN, _CALLED, _CASE, _CLASS = range(8)
"""What a variable is: of immutable constants; read once; a function; a module or a part of one; the solution's answer or a
name of the solution's; a parameter that is only called; the test case of a method; a class of the test's."""


class _Asked:
    """Says of every function that it is in it, and keeps which it was asked for."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def __contains__(self, name: str) -> bool:
        self.names.add(name)
        return True


class _NotListedError(Exception):
    """Something stands in a text that is not among what is allowed."""


class _Variable:
    """What a scope binds a name to."""

    def __init__(self, kind: int, value: Any = None) -> None:
        self.kind, self.value = kind, value
        self.block, self.loads = 0, 1
        self.loops: tuple[int, ...] = ()
        """Where it was bound last, in which loops, and how often it was read since: not at all before it is bound."""


class _Scope:
    """A function or the test itself, with its variables."""

    def __init__(self, variables: dict[str, _Variable], *, is_body: bool) -> None:
        self.variables, self.is_body = variables, is_body  # a comprehension belongs to the body around it


class Lending:
    """What the text of one test says of what it lends."""

    def __init__(self, trees: Iterable[ast.AST | None], nodes: list[ast.AST], tested: set[str]) -> None:
        """Read the parts of a test.

        Args:
            trees: its parts, which share their variables.
            nodes: all of their nodes, parents first.
            tested: by which names it calls what is tested.
        """
        parts: list[Any] = [tree for tree in trees if tree is not None]
        self._tested = tested
        self._literals = _find_literals(nodes)
        every = self._walk(*parts)
        self._functions: dict[str, list[Any]] = {}
        for node in every:
            if isinstance(node, _FUNCTIONS):
                self._functions.setdefault(getattr(node, "name", "<lambda>"), []).append(node)
        self._classes = {node.name for node in every if isinstance(node, ast.ClassDef)}
        self._factories = [
            node.value for node in every if isinstance(node, ast.keyword) and node.arg == "default_factory"
        ]
        self._rebound = {getattr(node, part, "") or "" for node in every for part in ("name", "asname")} | {
            name for functions in self._functions.values() for node in functions for name in _parameters(node)
        }
        self._rebound |= {node.id for node in every if isinstance(node, ast.Name) and not _is_read(node)}
        """Names that it binds anywhere."""
        bindings = self._find_bindings(parts)
        self._rebound |= bindings.keys()
        self.bound = set(bindings) | {name for node in every if isinstance(node, ast.Global) for name in node.names}
        """The variables of the test itself, which the tests after it can read."""
        read = {node.id for node in every if isinstance(node, ast.Name) and _is_read(node)}
        self.unbound = read - self.bound - _BUILTINS
        """Names that it reads and does not bind itself: the solution's, the prompt's, or another test's."""
        self._block = 0
        self._loops: tuple[int, ...] = ()
        self._comparing: dict[int, bool] = {}
        self._scopes: list[_Scope] = []
        self._pure: frozenset[str] = frozenset()
        self._is_linear = False
        try:
            # in no scope of its own a name of the test's means what the test binds it to
            self._scopes = [_Scope(self._make_variables(bindings), is_body=True)]
            self._pure = self._find_pure()
            for part in parts:
                self._visit_block(part.body if isinstance(part, ast.Module) else [part])
            self._is_linear = True
        except _NotListedError:
            pass
        except RecursionError:  # a sum of a thousand terms: such a text says nothing
            self._pure = frozenset()

    def reads_again(self) -> bool:
        """Whether it may read anything a second time that leads to what it lends."""
        return not self._is_linear

    def find_pure(self) -> frozenset[str]:
        """Return the names of those of its functions that change nothing, whoever calls them with plain values."""
        return self._pure

    # variables

    def _find_bindings(self, nodes: list[Any]) -> dict[str, list[tuple[str, Any]]]:
        """Return each name that statements bind, with what binds it, but for what scopes among them bind within."""
        bindings: dict[str, list[tuple[str, Any]]] = {}

        def bind(name: str, how: str, value: Any = None) -> None:
            bindings.setdefault(name, []).append((how, value))

        queue, known = list(nodes), set()
        for node in queue:  # which grows meanwhile
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                bind(node.targets[0].id, "value", node.value)
                known.add(id(node.targets[0]))
            elif isinstance(node, ast.For | ast.comprehension):
                for target, value in _items(node.target, node.iter, self._rebound):
                    if isinstance(target, ast.Name):
                        bind(target.id, "item", value)
                        known.add(id(target))
            elif isinstance(node, ast.Import | ast.ImportFrom):
                for name, value in _imported(node):
                    bind(name, "module" if value else "other", value)
            elif isinstance(node, ast.FunctionDef):
                bind(node.name, "function", node)
            elif isinstance(node, ast.AsyncFunctionDef | ast.ClassDef):
                bind(node.name, "class" if isinstance(node, ast.ClassDef) else "other", node)
            elif isinstance(node, ast.Name) and not _is_read(node) and id(node) not in known:
                bind(node.id, "other")
            elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
                bind(node.name, "other")
            if not isinstance(node, _SCOPES) and id(node) not in self._literals:
                queue.extend(ast.iter_child_nodes(node))
        return bindings

    def _make_variables(self, bindings: dict[str, list[tuple[str, Any]]]) -> dict[str, _Variable]:
        variables: dict[str, _Variable] = {}
        for name, ways in bindings.items():
            how, value = ways[0]
            if all(how in ("value", "item") and self._is_immutable(value) for how, value in ways):
                variables[name] = _Variable(_CONSTANT)
            elif all(how == "value" and self._is_answer(value, variables) for how, value in ways):
                variables[name] = _Variable(_OWN)
            elif len(ways) == 1 and how in ("function", "module", "class"):
                kind = _FUNCTION if how == "function" else _MODULE if how == "module" else _CLASS
                variables[name] = _Variable(kind, value)
            else:
                variables[name] = _Variable(_LINEAR)
        return variables

    def _is_answer(self, value: Any, variables: dict[str, _Variable]) -> bool:
        """Whether this is what the solution returned.

        It says what it is, so that it changes it later gives it no power over the test that it has not anyway; even if it
        has returned what it was lent, since nothing else of the test's leads there any more.
        """
        if not isinstance(value, ast.Call):
            return False
        while isinstance(value, ast.Call | ast.Attribute):
            value = value.func if isinstance(value, ast.Call) else value.value
        if not isinstance(value, ast.Name):
            return False
        known = variables.get(value.id)
        is_own = known is not None and known.kind == _OWN
        return is_own or value.id in self._tested or value.id not in self._rebound | _BUILTINS

    def _is_immutable(self, node: Any) -> bool:
        """Whether nothing about the value of this can change."""
        match node:
            case ast.Constant():
                return True
            case ast.Tuple(elts=parts):
                return all(map(self._is_immutable, parts))
            case ast.UnaryOp(operand=operand):
                return self._is_immutable(operand)
            case ast.BinOp(left=left, right=right):
                return self._is_immutable(left) and self._is_immutable(right)
        return False

    def _find(self, name: str) -> tuple[_Scope | None, _Variable]:
        for scope in reversed(self._scopes):
            if name in scope.variables:
                return scope, scope.variables[name]
        if name in _BUILTINS and name not in self._tested:
            if name in _TYPES or name in _CALLABLE or name == "__name__":
                return None, _Variable(_CONSTANT)
            raise _NotListedError
        return None, _Variable(_OWN)  # the solution's, or another test's, for which `tasks` looks

    def _bind(self, target: Any) -> None:
        """Note that a variable has a new value; of several places to bind one, which comes last is not known."""
        for part in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
            if isinstance(part, ast.Tuple | ast.List):
                self._bind(part)
                continue
            if not isinstance(part, ast.Name):
                raise _NotListedError
            variable = self._scopes[-1].variables[part.id]
            if variable.kind in (_FUNCTION, _MODULE, _CASE, _CLASS, _CALLED) or variable.block not in (0, self._block):
                raise _NotListedError
            variable.block, variable.loops, variable.loads = self._block, self._loops, 0

    def _load(self, name: str) -> _Variable:
        scope, variable = self._find(name)
        if variable.kind == _LINEAR:
            at = self._scopes.index(scope) if scope else 0
            if (
                any(inner.is_body for inner in self._scopes[at + 1 :])
                or variable.loops != self._loops
                or variable.loads
            ):
                raise _NotListedError
            variable.loads += 1
        return variable

    # statements

    def _visit_block(self, statements: list[Any], target: Any = None) -> None:
        outer, self._block = self._block, id(statements)
        if target is not None:
            self._bind(target)
        for statement in statements:
            self._visit_statement(statement)
        self._block = outer

    def _visit_statement(self, node: Any) -> None:
        if type(node) in _SIMPLE:
            self._visit_parts(node, _SIMPLE[type(node)])
            return
        match node:
            case ast.ImportFrom(names=aliases) if all(alias.name != "*" for alias in aliases):
                return
            case ast.Assign(targets=[target], value=value):
                self._visit_assignment(target, value)
            case ast.If(test=test, body=body, orelse=orelse):
                self._visit(test)
                self._visit_block(body)
                self._visit_block(orelse)
            case ast.For(target=target, iter=source, body=body, orelse=[]):
                self._visit_source(source)
                outer, self._loops = self._loops, (*self._loops, id(node))
                self._visit_block(body, target)
                self._loops = outer
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=[]):
                self._visit_block(body)
                for handler in handlers:
                    self._visit_handler(handler)
                self._visit_block(orelse)
            case ast.Raise(exc=ast.Call(func=ast.Name(id=name), args=values, keywords=[]), cause=None) if (
                name in _TYPES
            ):
                self._visit_all(values)
            case ast.With(items=[ast.withitem(context_expr=ast.Call() as call, optional_vars=None)], body=body):
                if _name(call.func) not in _RAISING or not self._is_framework(call.func):
                    raise _NotListedError
                self._visit_all(_arguments(call))
                self._visit_block(body)
            case ast.FunctionDef():
                self._visit_function(node)
            case ast.ClassDef(keywords=[], decorator_list=[]):
                self._visit_class(node)
            case _:
                raise _NotListedError

    def _visit_assignment(self, target: Any, value: Any) -> None:
        self._visit(value)
        # a call may give one object for several names
        if isinstance(target, ast.Tuple) and not (isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts)):
            raise _NotListedError
        self._bind(target)

    def _visit_handler(self, handler: ast.ExceptHandler) -> None:
        if handler.name:
            raise _NotListedError
        if handler.type is not None:
            self._visit(handler.type)
        self._visit_block(handler.body)

    def _visit_class(self, node: ast.ClassDef) -> None:
        """Allow a class whose methods change nothing, or a case of `unittest` itself."""
        if node.bases and not (len(node.bases) == 1 and self._is_test_case(node.bases[0])):
            raise _NotListedError
        for part in node.body:
            if node.bases and isinstance(part, ast.FunctionDef) and len(_parameters(part)) == 1:
                self._visit_body(part, {_parameters(part)[0]: _Variable(_CASE)})
            elif not (_is_text(part) or (not node.bases and self._is_plain_part(part))):
                raise _NotListedError

    def _is_plain_part(self, node: Any) -> bool:
        """Whether this in a class is a method that changes nothing, or a constant."""
        if isinstance(node, ast.FunctionDef):
            return node.name in self._pure
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            return self._is_immutable(node.value)
        return isinstance(node, ast.Pass | ast.AnnAssign) or _is_text(node)

    def _visit_function(self, node: ast.FunctionDef) -> None:
        """Allow a function that only compares, or one whose parameters are what it calls."""
        if not (self._compares(node) or self._is_generator(node)):
            self._visit_body(node, {name: _Variable(_CALLED) for name in _parameters(node)})

    def _visit_body(self, node: ast.FunctionDef, parameters: dict[str, _Variable]) -> None:
        if not _is_plain(node):
            raise _NotListedError
        variables = self._make_variables(self._find_bindings(node.body))
        if not variables.keys().isdisjoint(parameters):
            raise _NotListedError
        outer, self._loops = self._loops, (id(node),)
        self._scopes.append(_Scope(variables | parameters, is_body=True))
        self._visit_block(node.body)
        self._scopes.pop()
        self._loops = outer

    def _compares(self, node: ast.FunctionDef) -> bool:
        """Whether a function of the test's calls nothing of the solution's, and keeps nothing."""
        if id(node) not in self._comparing:
            self._comparing[id(node)] = False  # while it is looked at: one that calls itself is not listed
            self._comparing[id(node)] = _is_plain(node) and self._only_computes(node, self._compares_by_name)
        return self._comparing[id(node)]

    def _is_generator(self, node: ast.FunctionDef) -> bool:
        """Whether it yields literals, each of which is a new object in each of its runs."""
        parts = [
            part.value.value if isinstance(part, ast.Expr) and isinstance(part.value, ast.Yield) else None
            for part in node.body
        ]
        is_literal = all(isinstance(part, ast.Constant) or id(part) in self._literals for part in parts)
        return _is_plain(node) and not _parameters(node) and is_literal

    def _compares_by_name(self, name: str) -> bool:
        functions = self._functions.get(name, ())
        return len(functions) == 1 and isinstance(functions[0], ast.FunctionDef) and self._compares(functions[0])

    def _is_test_case(self, base: Any) -> bool:
        names = _name(base.value) if isinstance(base, ast.Attribute) else "", _name(base)
        variable = self._scopes[0].variables.get(names[0] or names[1])
        expected = ("unittest", "") if names[0] else ("unittest", "TestCase")
        return (
            names[1] == "TestCase" and variable is not None and (variable.kind, variable.value) == (_MODULE, expected)
        )

    def _is_framework(self, function: Any) -> bool:
        """Whether this is a method of a test case or a function of pytest."""
        if not (isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)):
            return False
        variable = self._find(function.value.id)[1]
        return variable.kind == _CASE or (variable.kind == _MODULE and variable.value == ("pytest", ""))

    # expressions

    def _visit_all(self, nodes: Iterable[Any]) -> None:
        for node in nodes:
            self._visit(node)

    def _visit_source(self, node: Any) -> None:
        """Visit what is gone through, whose items have to be objects of their own."""
        if any(isinstance(part, ast.BinOp | ast.IfExp | ast.BoolOp) for part in self._walk(node)):
            raise _NotListedError
        self._visit(node)

    def _visit_parts(self, node: Any, fields: tuple[str, ...]) -> None:
        for field in fields:
            value = getattr(node, field)
            self._visit_all(filter(None, value if isinstance(value, list) else [value]))

    def _visit(self, node: Any) -> None:
        if id(node) in self._literals:
            return
        if type(node) in _PARTS:
            self._visit_parts(node, _PARTS[type(node)])
            return
        match node:
            case ast.Name(id=name):
                variable = self._load(name)
                is_pure = variable.kind == _FUNCTION and name in self._pure
                is_part = variable.kind == _MODULE and self._is_listed(variable, "")
                if variable.kind in (_CALLED, _CASE, _CLASS, _MODULE, _FUNCTION) and not (is_pure or is_part):
                    raise _NotListedError
            case ast.Compare(left=left, comparators=[right]):  # a chain reads what stands in its middle twice
                self._visit_all((left, right))
            case ast.Attribute(value=value):
                self._visit_attribute(node, value)
            case ast.Lambda() if self._is_pure(node, self._pure):
                return
            case ast.ListComp() | ast.SetComp() | ast.DictComp():
                self._visit_comprehension(node)
            case ast.Call():
                self._visit_call(node)
            case _:
                raise _NotListedError

    def _visit_attribute(self, node: ast.Attribute, value: Any) -> None:
        if isinstance(value, ast.Name):
            variable = self._find(value.id)[1]
            if variable.kind == _MODULE:
                if not self._is_listed(variable, node.attr):
                    raise _NotListedError
                return
            if node.attr[:1] == "_":
                raise _NotListedError
        self._visit(value)

    @staticmethod
    def _is_listed(variable: _Variable, attribute: str) -> bool:
        module, name = variable.value
        if (name and attribute) or module not in _LIBRARY:
            return False
        allowed = _LIBRARY[module]
        return bool(name or attribute) and (allowed is None or (name or attribute) in allowed)

    def _visit_comprehension(self, node: Any) -> None:
        bindings, outer = self._find_bindings(node.generators), self._loops
        for index, generator in enumerate(node.generators):
            if generator.is_async:
                raise _NotListedError
            if index == 0:  # read outside the scope of the comprehension, as Python does it
                self._visit_source(generator.iter)
                self._scopes.append(_Scope(self._make_variables(bindings), is_body=False))
            else:
                self._visit_source(generator.iter)
            self._loops = (*self._loops, id(generator))
            self._bind(generator.target)
            self._visit_all(generator.ifs)
        self._visit_all((node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,))
        self._loops = outer
        self._scopes.pop()

    def _visit_call(self, node: ast.Call) -> None:
        function, values = node.func, _arguments(node)
        if isinstance(function, ast.Name):
            variable = self._load(function.id)
            if variable.kind == _FUNCTION:
                self._visit_own(variable.value, node)
            elif variable.kind == _MODULE:
                if not self._is_listed(variable, ""):
                    raise _NotListedError
                self._visit_all(values)
            elif function.id in _BUILTINS and variable.kind == _CONSTANT:
                self._visit_builtin(function.id, node)
            elif variable.kind in (_OWN, _CALLED, _CLASS):
                self._visit_all(values)
            else:
                raise _NotListedError
            return
        if isinstance(function, ast.Attribute):
            name = function.attr
            if self._is_framework(function):
                if name not in _RAISING | _COMPARING:
                    raise _NotListedError
                self._visit_all(values)
                return
            if isinstance(function.value, ast.Name) and self._find(function.value.id)[1].kind == _MODULE:
                is_main = self._find(function.value.id)[1].value == ("unittest", "") and name == "main"
                if not is_main:
                    self._visit_attribute(function, function.value)
                self._visit_all(values)
                return
        # a method of what the solution returned, or a function that it returned
        self._visit(function)
        self._visit_all(values)

    def _visit_own(self, function: ast.FunctionDef, node: ast.Call) -> None:
        """Visit a call of a function of the test's: one that compares takes values, another one takes what it calls."""
        if self._compares(function) or self._is_generator(function):
            self._visit_all(_arguments(node))
            return
        for value in _arguments(node):
            if not (isinstance(value, ast.Name) and self._find(value.id)[1].kind in (_OWN, _CALLED)):
                raise _NotListedError

    def _visit_builtin(self, name: str, node: ast.Call) -> None:
        values = node.args
        if name not in _CALLABLE and not (name in _TYPES and issubclass(vars(builtins)[name], BaseException)):
            raise _NotListedError
        for keyword in node.keywords:
            is_named = isinstance(keyword.value, ast.Name) and keyword.value.id in _CALLABLE - self._rebound
            if not (keyword.arg and (is_named or isinstance(keyword.value, ast.Constant | ast.Lambda))):
                raise _NotListedError
            self._visit(keyword.value)
        if name in _EAGER and len(values) == 1 and isinstance(values[0], ast.GeneratorExp):
            self._visit_comprehension(values[0])
        elif name in _EAGER and len(values) == 1 and self._is_map(values[0]):
            self._visit_all(values[0].args[1:])  # type: ignore[attr-defined]  # it is a call
        else:
            self._visit_all(values)

    def _is_map(self, value: Any) -> bool:
        """Whether this calls a function of the solution's with each item."""
        if not (isinstance(value, ast.Call) and _name(value.func) == "map" and isinstance(value.func, ast.Name)):
            return False
        first = value.args[0] if value.args else None
        is_solutions = isinstance(first, ast.Name) and self._find(first.id)[1].kind in (_OWN, _CALLED)
        return "map" not in self._rebound and not value.keywords and is_solutions

    # functions that change nothing

    def _find_pure(self) -> frozenset[str]:
        needs: dict[str, set[str]] = {}
        impure = set()
        for name, functions in self._functions.items():
            asked = _Asked()
            if not all(self._is_pure(node, asked) for node in functions):
                impure.add(name)
            for other in asked.names & self._functions.keys():
                needs.setdefault(other, set()).add(name)
        queue = list(impure)
        for name in queue:  # which grows meanwhile: who calls one that is not pure is not pure
            queue += needs.get(name, set()) - impure
            impure |= needs.get(name, set())
        pure = frozenset(self._functions) - impure
        if any(name[:1] == "_" == name[-1:] for name in impure - _CONSTRUCTORS - _CALLED_BY_WRITES):
            return frozenset()  # an operator may call that one
        if impure & _CALLED_BY_WRITES:
            return pure - _CONSTRUCTORS  # which set attributes
        is_filled = all(_name(value) in ("list", "dict", "set") for value in self._factories)
        return pure | {GENERATED} if is_filled else pure

    def _is_pure(self, function: Any, pure: frozenset[str] | _Asked) -> bool:
        """Whether a function of the test's changes nothing but what it has made itself."""
        parameters = function.args
        defaults = [value for value in (*parameters.defaults, *parameters.kw_defaults) if value is not None]
        decorators = getattr(function, "decorator_list", ())
        is_constructor = getattr(function, "name", "") in ("__init__", "__post_init__")
        return (
            isinstance(function, ast.FunctionDef | ast.Lambda)
            and all(map(self._is_immutable, defaults))
            and {_name(decorator) for decorator in decorators} <= _DECORATORS - self._rebound
            and self._only_computes(function, pure.__contains__, pure, is_constructor=is_constructor)
        )

    def _only_computes(
        self, function: Any, may_call: Any, pure: frozenset[str] | _Asked | None = None, *, is_constructor: bool = False
    ) -> bool:
        """Whether the body of a function calls and reads only what is listed, and writes to its own variables alone.

        Args:
            function: the function.
            may_call: whether it may call a function of the test's, by its name.
            pure: the names of methods that it may call or read; None: it may call no method.
            is_constructor: whether it may set attributes of its first parameter, which nobody else has yet.
        """
        names = _parameters(function)
        own = names[0] if is_constructor and names else ""
        body = [function.body] if isinstance(function, ast.Lambda) else function.body
        nodes = self._walk(*body)
        stored = {node.id for node in nodes if isinstance(node, ast.Name) and not _is_read(node)}
        local = stored | set(names)
        called = set() if function.args.defaults or any(function.args.kw_defaults) else set(names) - stored
        callees = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
        for node in nodes:
            if isinstance(node, _NOT_PURE):
                return False
            if isinstance(node, ast.Name) and _is_read(node) and node.id not in local and id(node) not in callees:
                if not self._may_read(node.id, may_call):
                    return False
            elif isinstance(node, ast.Attribute | ast.Subscript) and not _is_read(node):
                is_own = isinstance(node, ast.Attribute) and own and _name(node.value) == own
                if not is_own or node.attr in self._functions:  # type: ignore[union-attr]  # it is an attribute
                    return False
            elif isinstance(node, ast.Attribute) and id(node) not in callees:
                if node.attr[:1] == "_" or not self._may_read_attribute(node, pure):
                    return False
            elif isinstance(node, ast.AugAssign):
                if not (isinstance(node.target, ast.Name) and self._is_counter(node.target.id, nodes, names)):
                    return False
            elif isinstance(node, ast.Call) and not self._may_call(node, local, called, may_call, pure):
                return False
        return True

    def _is_counter(self, name: str, nodes: list[Any], parameters: list[str]) -> bool:
        """Whether a variable only ever holds a number or a text, which `+=` does not change."""
        values = [node.value for node in nodes if isinstance(node, ast.Assign) and name in map(_name, node.targets)]
        stores = [node for node in nodes if isinstance(node, ast.Name) and node.id == name and not _is_read(node)]
        more = [node for node in nodes if isinstance(node, ast.AugAssign) and _name(node.target) == name]
        is_plain = all(isinstance(value, ast.Constant) for value in values)
        return bool(values) and is_plain and name not in parameters and len(stores) == len(values) + len(more)

    def _may_read(self, name: str, may_call: Any) -> bool:
        variable = self._scopes[0].variables.get(name)
        if variable is None:
            return name in _TYPES | _CALLABLE and name not in self._rebound | self._tested
        if variable.kind == _MODULE:
            return variable.value[0] in _LIBRARY
        return variable.kind == _CONSTANT or (variable.kind == _FUNCTION and may_call(name))

    def _may_read_attribute(self, node: ast.Attribute, pure: frozenset[str] | _Asked | None) -> bool:
        variable = self._scopes[0].variables.get(_name(node.value))
        if variable is not None and variable.kind == _MODULE:
            return self._is_listed(variable, node.attr)
        return node.attr not in self._functions or (pure is not None and node.attr in pure)

    def _may_call(
        self, node: ast.Call, local: set[str], parameters: set[str], may_call: Any, pure: frozenset[str] | _Asked | None
    ) -> bool:
        function = node.func
        if not all(isinstance(keyword.value, ast.Constant | ast.Name) for keyword in node.keywords):
            return False
        base = function.value if isinstance(function, ast.Attribute) else function
        variable = self._scopes[0].variables.get(_name(base))
        if isinstance(function, ast.Name):
            if function.id in local:
                # of what it is given to call, `Policy` looks at what is the test's
                return pure is not None and function.id in parameters
            if variable is None:
                is_error = function.id in _TYPES and issubclass(vars(builtins)[function.id], BaseException)
                listed = function.id in (_CALLABLE if pure is None else _CALLABLE - _LASTING) or is_error
                return listed and function.id not in self._rebound | self._tested
            if variable.kind == _MODULE:
                return self._is_listed(variable, "")
            if variable.kind == _CLASS:
                return (
                    all(name in pure for name in _CONSTRUCTORS & self._functions.keys()) if pure is not None else False
                )
            return variable.kind == _FUNCTION and bool(may_call(function.id))
        if not isinstance(function, ast.Attribute):
            return False
        if variable is not None and variable.kind == _MODULE and _name(function.value) not in local:
            return self._is_listed(variable, function.attr)
        if pure is None:
            return False
        return function.attr in pure if function.attr in self._functions else function.attr in READING

    # going through trees without their literals, of which some tests have a megabyte

    def _walk(self, *nodes: Any) -> list[Any]:
        """Return nodes and all that is in them, parents first, but for what such containers hold."""
        queue = list(nodes)
        for node in queue:  # which grows meanwhile
            if id(node) not in self._literals:
                queue.extend(ast.iter_child_nodes(node))
        return queue


def _find_literals(nodes: list[ast.AST]) -> set[int]:
    """Return the containers that hold constants alone, by id."""
    plain: set[int] = set()
    literals: set[int] = set()
    for node in reversed(nodes):  # parts before what they are part of
        kind = type(node)
        if kind is ast.Constant:
            plain.add(id(node))
        elif kind in _DISPLAYS:
            parts = node.elts if kind is not ast.Dict else [*filter(None, node.keys), *node.values]  # type: ignore[attr-defined]
            if all(id(part) in plain for part in parts):
                plain.add(id(node))
                literals.add(id(node))
        elif kind is ast.UnaryOp and id(node.operand) in plain:  # type: ignore[attr-defined]  # it is one
            plain.add(id(node))
    return literals


def _items(target: Any, source: Any, rebound: set[str]) -> list[tuple[Any, Any]]:
    """Return each target of a loop with one of the values that it takes, where the text shows one that stands for all."""
    call = source.func.id if isinstance(source, ast.Call) and isinstance(source.func, ast.Name) else ""
    call = "" if call in rebound else call
    if call == "range" and isinstance(target, ast.Name):
        return [(target, ast.Constant(0))]
    if call == "enumerate" and isinstance(target, ast.Tuple) and len(target.elts) == 2:
        return [(target.elts[0], ast.Constant(0)), *((part, None) for part in _names(target.elts[1]))]
    rows = source.elts if isinstance(source, ast.List | ast.Tuple | ast.Set) else []
    if isinstance(target, ast.Name):
        return [(target, ast.Tuple(rows, ast.Load()) if rows else None)]
    if not all(isinstance(row, ast.List | ast.Tuple) and len(row.elts) == len(target.elts) for row in rows):
        rows = []
    return [
        pair
        for index, part in enumerate(target.elts if isinstance(target, ast.Tuple | ast.List) else [])
        for pair in _items(part, ast.List([row.elts[index] for row in rows], ast.Load()), rebound)  # type: ignore[attr-defined]
    ]


def _imported(node: Any) -> list[tuple[str, Any]]:
    """Return the names that an import binds, each with its module and the name there; None for a part of a package."""
    if isinstance(node, ast.ImportFrom):
        return [
            (alias.asname or alias.name, (node.module if not node.level else "", alias.name)) for alias in node.names
        ]
    return [
        (
            alias.asname or alias.name.partition(".")[0],
            (alias.name, "") if alias.asname or "." not in alias.name else None,
        )
        for alias in node.names
    ]


def _names(target: Any) -> list[Any]:
    return [part for part in ast.walk(target) if isinstance(part, ast.Name)]


def _is_read(node: Any) -> bool:
    return isinstance(node.ctx, ast.Load)


def _is_text(node: Any) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _is_plain(function: Any) -> bool:
    """Whether a function is what its text says, and is given what its callers name."""
    parameters = function.args
    has_more = parameters.defaults or any(parameters.kw_defaults) or parameters.vararg or parameters.kwarg
    return not function.decorator_list and not has_more


def _parameters(function: Any) -> list[str]:
    parameters = function.args
    more = [parameter for parameter in (parameters.vararg, parameters.kwarg) if parameter is not None]
    every = [*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs, *more]
    return [parameter.arg for parameter in every]
