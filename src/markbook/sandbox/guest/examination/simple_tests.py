"""Whether a solution decides nothing in a test but the answers that it compares: read off its text, by a list of forms.

Theory of operation. Through the objects of a prompt a solution could say what a test expects, or judge for it. To follow where a
value comes from was tried twice, and attackers found hundreds of ways past it. So this is a closed list of forms, as in `lending`:
what is not listed is not simple, and a pass of such a test is `unchecked`.

An expression is the test's *own* (literals, imports, builtin functions, copies of the prompt's objects, and names that hold nothing
else), or an *answer*: a chain of attributes, items and calls that begins with the entry point or a name that holds an answer, and
what operators and pure builtin functions make of it and of constants. Everything else, such as what two answers make together, is
neither. A claim compares one answer with what is the test's own, or says of one whether it is true; a row of answers is compared
item by item. Neither code that the prompt writes out nor a copy of its objects may decide: a solution has other code there, and
the copy never changes. What runs, and how often, depends on the test alone.

An own object that can be changed and is handed to the solution is an answer from then on and before, and so is all that may be the
same object. Each name that a test of any other form mentions is unknown. Since one may lead to another, the tests are read again until
nothing is new.
"""

from __future__ import annotations

import ast
from collections import Counter

from .claims import compares
from .expressions import DEFINITION, collect_bound_names, expression_key, get_called_name, walk_all
from .lending import BUILTINS, COMPUTING, DISPLAYS, NotListedError, visit_computation
from .prompts import BUILTIN_ERRORS, collect_words, list_bound_outside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_CLOSE = frozenset(("allclose", "array_equal", "isclose"))
_PURE = COMPUTING | frozenset(("bytes", "callable", "chr", "complex", "divmod", "hex", "ord", "pow", "range"))
"""Builtin functions of which what they give depends on what they are given alone, and which keep nothing of it."""
_FIXED_RESULTS = frozenset(
    [
        "bool", "bytes", "chr", "complex", "float", "hex", "int", "len", "ord", "range", "repr", "str",
    ]
)  # fmt: skip
_PAIRS = frozenset(
    [
        "assertAlmostEqual", "assertCountEqual", "assertDictEqual", "assertEqual", "assertGreater", "assertGreaterEqual",
        "assertIn", "assertIs", "assertIsNot", "assertLess", "assertLessEqual", "assertListEqual", "assertMultiLineEqual",
        "assertNotAlmostEqual", "assertNotEqual", "assertNotIn", "assertSequenceEqual", "assertSetEqual", "assertTupleEqual",
    ]
)  # fmt: skip
"""Methods of a `TestCase` that compare the first two values that they are given."""
_EQUAL_ROWS = frozenset(("assertDictEqual", "assertEqual", "assertListEqual", "assertTupleEqual"))
"""Those that compare containers item by item, in order."""
_SINGLE = frozenset(("assertFalse", "assertIsNone", "assertIsNotNone", "assertTrue"))
_RAISES = frozenset(("assertRaises", "assertRaisesRegex", "raises"))
BY_NAME = frozenset(
    [
        "__builtins__", "__dict__", "__getattribute__", "__globals__", "__import__", "__setattr__", "__subclasses__", "_getframe",
        "attrgetter", "builtins", "currentframe", "delattr", "eval", "exec", "f_back", "f_globals", "f_locals", "gc", "getattr",
        "getclosurevars", "gi_frame", "globals", "import_module", "locals", "modules", "monkeypatch", "patch", "redirect_stderr",
        "redirect_stdout", "setattr", "stack", "stderr", "stdout", "tb_frame", "vars",
    ]
)  # fmt: skip
"""What reads or sets by a name in a text, or what others use."""
_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
_MOST_NESTED = 8
_TEXTS = frozenset(("repr", "str"))
_SHOWN = frozenset(("__format__", "__repr__", "__str__"))
"""Methods that a text of an object is made by."""
_ERRORS = BUILTIN_ERRORS - {"AssertionError", "Exception"}


class SimpleTests:
    """Which tests of a problem have a simple form, in which a solution decides nothing but the answers that they compare."""

    def __init__(
        self, tests: list[ast.Module], own: set[str], entry: set[str], classes: set[str], prompt: set[str], imported: set[str],
        attributes: tuple[set[str] | None, set[str]], copies: frozenset[str] = frozenset(),
    ) -> None:  # fmt: skip
        """Read the tests of one problem, which share their variables.

        Args:
            tests: their syntax trees.
            own: names of the prompt's objects of which the tests have copies.
            entry: what the tests call what they test.
            classes: names of the prompt's classes, of which a test may make objects for the solution.
            prompt: all names that the prompt binds; none of these is Python's.
            imported: which of these it imports: where a test of another form may have changed a module, they are not the tests' own.
            attributes: which an answer may be asked for (None: all), and which not (`list_attributes`).
            copies: which of `own` a solution may change; a claim is about an answer, and never about one of these.

        Raises:
            RecursionError: a test is too deep to say it.
        """
        self._own, self._entry, self._classes, self._copies = own, entry, classes, set(copies)
        self._prompt, self._imported = prompt | entry, imported
        self._pythons = BUILTINS - own - entry - prompt
        self._attributes, self._judging = attributes
        self._keys: dict[int, str] = {}
        """For each name and attribute of `self` in a tree, by its `id`, which variable it is."""
        self._functions = Counter(node.name for node in walk_all(tests) if isinstance(node, DEFINITION))
        self._scopes = 0
        self._module = {name for test in tests for name in list_bound_outside(test.body)}
        self._stores: dict[str, dict[int, ast.expr]] = {}
        self._loads: Counter[str] = Counter()
        """For each variable what is assigned to it, and how often it is read."""
        for test in tests:
            self._resolve_all(test.body, [])
        self._answers: set[str] = set()
        """Variables that hold answers of what is tested, or an object of the test's that the solution was given."""
        self._unknown: set[str] = set()
        """Variables that may hold something else that is not the test's own, or that are not followed."""
        self._bound_elsewhere: set[str] = set()
        """Names that a test of another form binds."""
        self._changed_packages: set[str] = set()
        """Packages that such a test imports, and may leave in another state."""
        self._constructed: dict[str, bool] = {}
        """Variables that hold objects of the solution, and whether all of them are made by the test of what is its own."""
        self._changing: set[str] = set(copies)
        """Variables that may hold an object of the test's own that can be changed."""
        self._links: dict[str, set[str]] = {name: set(copies) for name in copies}
        """Variables that may lead to the same object."""
        is_known = BY_NAME.isdisjoint(collect_words(tests))
        self.simple: list[bool] = [False] * len(tests)
        """Beside each test, whether it has a simple form."""
        groups = (self._answers, self._unknown, self._copies, self._changing, self._changed_packages)
        before: Any = None
        while is_known and before != (
            before := (*map(len, groups), sum(map(len, self._links.values())), sum(self._constructed.values()))
        ):
            self._checks: dict[str, str] = {}
            """Functions that are given what is tested, each with its parameter."""
            self.simple = [self._visit_test(test) for test in tests]

    def _visit_test(self, test: ast.Module) -> bool:
        self._bound: set[str] = set()  # that of another test may be in another process
        try:
            for node in ast.walk(test):
                _require(not isinstance(node, ast.NamedExpr))
                if isinstance(node, _COMPREHENSIONS):  # each is read twice, and so is what stands in it
                    _require(sum(isinstance(part, _COMPREHENSIONS) for part in ast.walk(node)) < _MOST_NESTED)
                _require("self" not in collect_bound_names([node]) or isinstance(node, ast.arg))
            self._defined_functions: set[str] = set()
            self._visit_all(test.body)
        except NotListedError:
            nodes = [*ast.walk(test)]
            self._bound_elsewhere |= collect_bound_names(nodes)
            self._changed_packages |= _list_roots(nodes)
            self._own = self._own - self._imported
            self._unknown |= self._bound_elsewhere | {self._keys.get(id(node), "") for node in nodes}
            return False
        return True

    # which variable a name is

    def _resolve_all(self, nodes: Iterable[ast.AST], scopes: list[tuple[int, set[str]]]) -> None:
        for node in nodes:
            self._resolve(node, scopes)

    def _resolve(self, node: ast.AST, scopes: list[tuple[int, set[str]]]) -> None:
        outside: list[ast.AST] = []
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.alias(asname=str(name)) | ast.alias(name=name):
                name = name.partition(".")[0]
                within = (f"{number}.{name}" for number, names in reversed(scopes) if name in names)
                self._keys[id(node)] = key = next(within, name)
                self._loads[key] += isinstance(getattr(node, "ctx", None), ast.Load)
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if any("self" in names for _, names in scopes):
                self._keys[id(node)] = f"self.{name}"
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                parameters = {part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)}
                outside = [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]
                scopes = self._open_scope(scopes, parameters | list_bound_outside(node.body))
            case ast.Lambda():
                scopes = self._open_scope(
                    scopes, {part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)}
                )
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                outside = [node.generators[0].iter]
                targets = [part for around in node.generators for part in ast.walk(around.target)]
                scopes = self._open_scope(scopes, collect_bound_names(targets))
        self._resolve_all(outside, scopes[:-1])
        self._resolve_all((part for part in ast.iter_child_nodes(node) if part not in outside), scopes)

    def _open_scope(self, scopes: list[tuple[int, set[str]]], names: set[str]) -> list[tuple[int, set[str]]]:
        self._scopes += 1
        return [*scopes, (self._scopes, names)]

    def _find_key(self, node: ast.AST) -> str:
        return self._keys.get(id(node), "")

    def _is_free(self, node: ast.AST) -> bool:
        """Whether a name is one that no test binds where it is read."""
        is_read_alone = isinstance(node, ast.Name) and self._find_key(node) == node.id
        return is_read_alone and node.id not in self._module | self._bound_elsewhere  # type: ignore[attr-defined]  # it is one

    def _is_python(self, node: ast.AST, names: frozenset[str] = BUILTINS) -> bool:
        """Whether a name is one of Python's own, and one of these."""
        return isinstance(node, ast.Name) and self._is_free(node) and node.id in names & self._pythons

    # statements

    def _visit_all(self, nodes: Iterable[Any]) -> None:
        for node in nodes:
            self._visit(node)

    def _visit(self, node: Any) -> None:
        match node:
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                return
            case ast.Import() | ast.ImportFrom(level=0):
                names = [getattr(node, "module", ""), *(alias.name for alias in node.names)]
                _require(
                    "*" not in names
                    and "solution" not in names
                    and self._changed_packages.isdisjoint(_list_roots([node]))
                )
                aliases = {alias.asname for alias in node.names} | (set() if names[0] == "pytest" else {*names[1:]})
                _require(aliases.isdisjoint(_RAISES))
                self._bound.update(map(self._find_key, node.names))
            case ast.Assert(test=test):
                _require(self._is_claim(test))
            case ast.Expr(value=ast.Call() as call):
                self._visit_call(call)
            case ast.Assign(targets=[target], value=value):
                self._assign(target, value)
            case ast.AnnAssign(target=target, annotation=annotation, value=ast.expr() as value):
                _require(self._is_own(annotation))
                self._assign(target, value)
            case ast.For(target=target, iter=source, body=body, orelse=[]):
                self._go_through(target, source)
                self._visit_all(body)
            case ast.With(items=[ast.withitem(context_expr=ast.Call() as call, optional_vars=target)], body=body):
                self._visit_with(call, target, body)
            case ast.FunctionDef(decorator_list=[], args=parameters):
                self._visit_function(node, parameters)
            case ast.ClassDef(decorator_list=[], keywords=[], bases=[base], body=body):
                _require("TestCase" in (getattr(base, "attr", ""), getattr(base, "id", "")) and self._is_imported(base))
                for part in body:
                    _require(isinstance(part, ast.FunctionDef | ast.Pass | ast.Expr))
                    if isinstance(part, ast.FunctionDef):
                        _require(not part.decorator_list)
                        self._visit_function(part, part.args, is_method=True)
                    else:
                        self._visit(part)
            case ast.If(
                test=ast.Compare(left=ast.Name(id="__name__"), ops=[ast.Eq()], comparators=[ast.Constant("__main__")]),
                orelse=[],
            ):
                return  # it never is
            case _:
                raise NotListedError

    def _visit_function(self, node: ast.FunctionDef, parameters: ast.arguments, *, is_method: bool = False) -> None:
        """Allow a function without parameters, a method of a case, and one that is given what is tested alone."""
        names = [parameter.arg for parameter in parameters.args]
        others = [parameters.posonlyargs, parameters.kwonlyargs, parameters.defaults]
        _require(not (any(others) or parameters.vararg or parameters.kwarg) and len(names) < 2)
        _require((names == ["self"]) is is_method and (is_method or self._functions[node.name] == 1))
        annotations = [node.returns, *(parameter.annotation for parameter in parameters.args)]
        _require(all(map(self._is_own, filter(None, annotations))))
        if names and not is_method:
            key = self._find_key(parameters.args[0])
            self._checks[node.name] = key
            self._answers.add(key)
            self._constructed.setdefault(key, True)
        self._visit_all(node.body)
        self._defined_functions |= set() if is_method else {node.name}

    def _visit_call(self, call: ast.Call) -> None:
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)) if self._find_key(
                call.func
            ) and name.startswith(("assert", "fail")):
                _require(self._is_case_claim(call, name))
            case ast.Call(func=ast.Name() as function, args=[argument], keywords=[]) if (
                function.id in self._defined_functions - self._prompt and function.id in self._checks
            ):
                _require(self._is_answer(argument))
                self._constructed[self._checks[function.id]] &= self._is_constructed(argument)
            case ast.Call(func=ast.Name() as function, args=[], keywords=[]) if (
                function.id in self._defined_functions - self._prompt
            ):
                _require(function.id not in self._checks)
            case ast.Call(func=ast.Name(id="print"), args=values):
                _require(self._is_python(call.func, frozenset(("print",))) and all(map(self._is_own, values)))
                _require(self._is_free_of_copies(call))
            case _:
                # an assertion of the solution's own says nothing
                is_own = self._is_own(call) and self._is_free_of_copies(call)
                _require(is_own or (self._is_answer(call) and not compares(get_called_name(call))))

    def _visit_with(self, call: ast.Call, target: ast.expr | None, body: list[ast.stmt]) -> None:
        name = get_called_name(call)
        _require(isinstance(call.func, ast.Name | ast.Attribute))
        if name in _RAISES:
            _require(self._is_of_case(call.func, imported=("raises",)) and self._is_error(call.args[:1]))
            _require(all(map(self._is_own, [*call.args[1:], *_list_options(call)])))
            if target is not None:
                self._assign_answer(target)
            for part in body:  # how much of it runs, the solution decides
                value = part.value if isinstance(part, ast.Expr | ast.Assign) else None
                _require(value is not None and self._is_answer(value) and self._is_still(value))
                for name_bound in getattr(part, "targets", ()):
                    self._assign_answer(name_bound)
        else:
            _require(name == "subTest" and self._is_of_case(call.func) and target is None)
            _require(all(map(self._is_own, [*call.args, *_list_options(call)])))
            self._visit_all(body)

    def _is_of_case(self, function: ast.expr, imported: tuple[str, ...] = ()) -> bool:
        """Whether a function is a method of the `TestCase` around it, or imported and called so."""
        base = function.value if isinstance(function, ast.Attribute) else function
        is_self = isinstance(function, ast.Attribute) and isinstance(base, ast.Name) and base.id == "self"
        return is_self or (expression_key(function).removeprefix(".") in imported and self._is_imported(function))

    def _is_error(self, nodes: list[ast.expr]) -> bool:
        errors = nodes[0].elts if nodes and isinstance(nodes[0], ast.Tuple) else nodes
        return bool(errors) and all(self._is_python(error, _ERRORS) for error in errors)

    # variables

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            rows = value.elts if isinstance(value, ast.Tuple | ast.List) else []
            _require(bool(rows) or self._is_free_of_copies(value))  # that would be a claim about its length
            is_row = len(rows) == len(target.elts) and not any(isinstance(row, ast.Starred) for row in rows)
            for at, part in enumerate(target.elts):
                self._assign(part, rows[at] if is_row else value)
                if not is_row:  # it holds a part of that
                    self._stores.setdefault(self._find_key(part), {})[id(part)] = part
            return
        key = self._find_key(target)
        _require(bool(key) and not key.startswith(("self.assert", "self.fail", "self.skip", "self.subTest")))
        if self._is_own(value):
            _require(self._is_free_of_copies(value) or self._is_of_copy(value))
            self._bound.add(key)
            self._constructed[key] = False
            self._stores.setdefault(key, {})[id(value)] = value
            if not self._is_free_of_copies(value):
                self._copies.add(key)
            if not self._is_fixed(value):
                self._changing.add(key)
                self._link({key} | self._list_changing(value))
        elif self._is_answer(value):
            self._assign_answer(target, is_constructed=self._is_constructed(value))
        else:
            _require(self._is_constructed(value))
            self._unknown.add(key)
            self._constructed[key] = self._constructed.get(key, True)

    def _assign_answer(self, target: ast.expr, *, is_constructed: bool = False) -> None:
        key = self._find_key(target)
        _require(bool(key))
        self._answers.add(key)
        self._constructed[key] = is_constructed and self._constructed.get(key, True)

    def _go_through(self, target: ast.expr, source: ast.expr) -> None:
        """Have a loop's variables hold the items of what is the test's own, column by column where they are written down."""
        _require(self._is_own(source) or self._is_source(source))
        rows = self._list_rows(source)
        for row in rows:
            self._assign(target, row)
        if not rows:
            _require(self._is_free_of_copies(source) or self._is_of_copy(source))
            for part in (part for part in ast.walk(target) if isinstance(part, ast.Name)):
                key = self._find_key(part)
                _require("." in key)  # outside of functions a name that a loop does not bind is the solution's
                self._bound.add(key)
                self._constructed[key] = False
                self._changing.add(key)
                self._copies |= set() if self._is_free_of_copies(source) else {key}
                self._link({key} | self._list_changing(source))

    def _list_rows(self, node: ast.expr) -> list[ast.expr]:
        """Return what a loop goes through where it is written down, one for a range; none where nobody knows whether there is one."""
        # a literal under a name that nothing else reads is as good as one that stands here
        stored = list(self._stores.get(self._find_key(node), {}).values())
        if len(stored) == 1 and self._loads[self._find_key(node)] == 1:
            return self._list_rows(stored[0])
        match node:
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return [] if any(isinstance(item, ast.Starred) for item in items) else items
            case ast.Call(func=ast.Attribute(value=ast.Dict(keys=keys, values=values), attr="items"), args=[]):
                return [ast.Tuple([key, value]) for key, value in zip(keys, values, strict=True) if key]
            case ast.Call(func=ast.Name() as function, args=inputs) if self._is_python(function):
                rows = [self._list_rows(part) for part in inputs]
                match function.id, inputs, rows:
                    case "range", [ast.Constant(value=int(count))], _:
                        return [ast.Constant(0)] if count > 0 else []
                    case "enumerate", _, [items, *_]:
                        return [ast.Tuple([ast.Constant(0), item]) for item in items]
                    case "reversed" | "sorted", _, [items]:
                        return items
                    case "zip", _, _:
                        return [ast.Tuple(list(row)) for row in zip(*rows, strict=False)]
        return []

    def _is_source(self, node: ast.expr) -> bool:
        """Whether a loop goes through what is the test's own, in one of the ways of Python's."""
        return (
            isinstance(node, ast.Call)
            and self._is_python(node.func, frozenset(("enumerate", "reversed", "zip")))
            and all(map(self._is_own, [*node.args, *_list_options(node)]))
        )

    def _link(self, keys: set[str]) -> None:
        for key in keys:
            self._links[key] = self._links.get(key, set()) | keys

    def _list_changing(self, node: ast.AST) -> set[str]:
        """Return the variables in an expression that may hold what can be changed."""
        return {self._find_key(part) for part in ast.walk(node)} & self._changing

    def _expose(self, node: ast.AST) -> None:
        """Take in that a solution is given an own value."""
        pending = list(self._list_changing(node))
        for key in pending:  # it grows meanwhile
            self._answers.add(key)
            pending += self._links.get(key, set()) - self._answers

    # expressions

    def _is_fixed(self, node: ast.expr) -> bool:
        """Whether a value of the test's own can certainly not be changed."""
        match node:
            case ast.Constant() | ast.JoinedStr():
                return True
            case ast.Name():
                return self._find_key(node) not in self._changing
            case ast.Attribute(value=ast.Name() as base):
                return self._is_imported(base)
            case ast.UnaryOp(operand=operand):
                return self._is_fixed(operand)
            case ast.BinOp(left=left, right=right):
                return self._is_fixed(left) and self._is_fixed(right)
            case ast.Tuple(elts=parts):
                return all(map(self._is_fixed, parts))
            case ast.Call(func=function):
                return self._is_python(function, _FIXED_RESULTS)
        return False

    def _is_plain(self, node: ast.expr) -> bool:
        """Whether an own value is a constant or a builtin class or function, or several."""
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        return all(
            isinstance(part.operand if isinstance(part, ast.UnaryOp) else part, ast.Constant)
            or self._is_python(part, _PURE)
            for part in parts
        )

    def _is_imported(self, node: ast.expr) -> bool:
        """Whether a name, or that in front of an attribute, is one of the test's own that stands for one thing."""
        key = self._find_key(node.value if isinstance(node, ast.Attribute) else node)
        return key in self._bound and key not in self._answers | self._unknown | self._changing

    def _is_own(self, node: ast.expr) -> bool:
        """Whether an expression is the test's own: no value of the solution's is in it."""
        match node:
            case ast.Name():
                key = self._find_key(node)
                if self._is_free(node):
                    is_kept = key not in self._changing & (self._answers | self._unknown)
                    return (node.id in self._own and is_kept) or self._is_python(node)
                return key in self._bound - self._answers - self._unknown
            case ast.Attribute(value=ast.Name(id="self")):
                return self._find_key(node) in self._bound - self._answers - self._unknown
            case ast.Call():
                return self._is_own_call(node)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                for around in node.generators:
                    if not (self._is_own(around.iter) or self._is_source(around.iter)):
                        return False
                    self._go_through(around.target, around.iter)
                    if not all(map(self._is_own, around.ifs)):
                        return False
                values = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
                return all(map(self._is_own, values))
            case (
                ast.Attribute() | ast.BinOp() | ast.BoolOp() | ast.Compare() | ast.Constant() | ast.Dict()
                | ast.FormattedValue() | ast.IfExp() | ast.JoinedStr() | ast.List() | ast.Set() | ast.Slice() | ast.Starred()
                | ast.Subscript() | ast.Tuple() | ast.UnaryOp()
            ):  # fmt: skip
                return all(self._is_own(part) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr))
        return False

    def _is_own_call(self, node: ast.Call) -> bool:
        """Whether a call is one of own functions with own values, which may keep what they are given."""
        values = [*node.args, *_list_options(node)]
        if self._is_python(node.func):
            inputs = [part for part in values if not self._is_source(part)]
            return self._is_python(node.func, _PURE | {"sorted"}) and all(map(self._is_own, inputs))
        if not (isinstance(node.func, ast.Name | ast.Attribute) and all(map(self._is_own, [node.func, *values]))):
            return False
        changing = set[str]().union(*map(self._list_changing, [node.func, *values]))
        self._link(changing | self._copies)
        if not self._is_free_of_copies(node):
            self._copies |= changing
        return True

    def _is_answer(self, node: ast.expr) -> bool:
        """Whether an expression is one value of the solution's, or what constants and pure functions make of it."""
        match node:
            case ast.Name():
                is_tested = self._is_free(node) and node.id in self._entry
                return is_tested or self._find_key(node) in self._answers - self._unknown
            case ast.Attribute(value=ast.Name(id="self")):
                return self._find_key(node) in self._answers - self._unknown
            case ast.Attribute(value=value, attr=name):
                is_listed = name not in self._judging and (self._attributes is None or name in self._attributes)
                return is_listed and self._is_answer(value)
            case ast.UnaryOp(operand=value):
                return self._is_answer(value)
            case ast.Subscript(value=value, slice=index):
                return self._is_answer(value) and self._is_own(index) and not self._list_changing(index)
            case ast.BinOp(left=left, right=right):
                answer, other = (right, left) if self._is_own(left) else (left, right)
                if isinstance(node.op, ast.Mod) and not self._judging.isdisjoint(_SHOWN):
                    return False  # it may make a text of it
                return self._is_answer(answer) and self._is_own(other) and self._is_fixed(other)
            case ast.Call(func=ast.Attribute(value=ast.Constant(), attr="join"), args=[value], keywords=[]):
                return self._is_answer(value)
            case ast.Call(func=function):
                values = [*node.args, *_list_options(node)]
                is_close = isinstance(function, ast.Attribute) and function.attr in _CLOSE and self._is_own(function)
                if is_close or self._is_python(function, _PURE):
                    not_own = [value for value in values if not self._is_own(value)]
                    others = [value for value in values if self._is_own(value)]
                    is_known = is_close or all(map(self._is_plain, others))
                    is_known &= get_called_name(node) not in _TEXTS or self._judging.isdisjoint(_SHOWN)
                    return is_known and len(not_own) == 1 and self._is_answer(not_own[0])
                return self._is_answer(function) and all(map(self._is_input, values))
            case ast.JoinedStr(values=parts):
                not_own = [part for part in parts if not self._is_own(part)]
                part = not_own[0] if len(not_own) == 1 else node
                if not isinstance(part, ast.FormattedValue) or part.format_spec:
                    return False
                return self._judging.isdisjoint(_SHOWN) and self._is_answer(part.value)
            case (
                ast.ListComp(generators=[around])
                | ast.SetComp(generators=[around])
                | ast.GeneratorExp(generators=[around])
            ):
                return self._is_list_of_parts(node.elt, around)
        return False

    def _is_list_of_parts(self, item: ast.expr, around: ast.comprehension, *, is_row: bool = False) -> bool:
        """Whether a comprehension goes through one answer and makes a value of each item, and nothing else."""
        if around.is_async or not self._is_answer(around.iter):
            return False
        for part in around.target.elts if isinstance(around.target, ast.Tuple) else [around.target]:
            self._assign_answer(part)
        is_still = all(map(self._is_still, [item, *around.ifs]))
        is_known = isinstance(item, ast.Constant) or self._is_answer(item) or (is_row and self._is_row(item))
        return is_still and (is_known or self._is_claim(item)) and all(map(self._is_claim, around.ifs))

    def _is_still(self, node: ast.expr) -> bool:
        """Whether nothing of the test's own changes where an expression runs."""
        calls = [part.func for part in ast.walk(node) if isinstance(part, ast.Call)]
        return not self._list_changing(node) and all(
            self._is_python(function, _PURE) or self._is_answer(function) for function in calls
        )

    def _is_input(self, node: ast.expr) -> bool:
        """Whether what a solution is given is the test's own, or an object of the solution's that the test makes of such."""
        if self._is_own(node):
            self._expose(node)
            return True
        if isinstance(node, ast.Lambda):
            names = node.args
            _require(not (names.posonlyargs or names.kwonlyargs or names.vararg or names.kwarg or names.defaults))
            visit_computation(node.body, {parameter.arg for parameter in names.args})
            return True
        if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Starred):
            return all(map(self._is_input, [node.value] if isinstance(node, ast.Starred) else node.elts))
        return self._is_constructed(node)

    def _is_constructed(self, node: ast.expr) -> bool:
        """Whether an expression is an object that the solution has made of what the test has given it."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            is_maker = self._is_free(node.func) and node.func.id in self._entry | self._classes
            is_maker |= self._find_key(node.func) != node.func.id and self._constructed.get(
                self._find_key(node.func), False
            )
            return is_maker and all(map(self._is_input, [*node.args, *_list_options(node)]))
        if isinstance(node, ast.Name) and self._is_free(node):
            return node.id in self._entry
        return self._constructed.get(self._find_key(node), False)

    # claims

    def _is_claim(self, node: ast.expr, *, is_negated: bool = False) -> bool:
        """Whether an expression says of one value of the solution's what the test itself knows."""
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self._is_claim(operand, is_negated=True)
            case ast.BoolOp(op=ast.And(), values=values):
                return not is_negated and all(map(self._is_claim, values))
            case ast.Compare(left=left, ops=operators, comparators=others):
                is_single = len(others) == 1
                is_row = is_single and not is_negated and isinstance(operators[0], ast.Eq)
                is_inside = any(isinstance(how, ast.In | ast.NotIn) for how in operators)
                return (is_single or not (is_negated or is_inside)) and self._compares(
                    [left, *others], is_row=is_row, is_inside=is_inside
                )
            case ast.Call(func=ast.Name() as function, args=[ast.GeneratorExp(generators=[around], elt=claim)]) if (
                self._is_python(function, frozenset(("all",))) and self._is_own(around.iter)
            ):
                self._go_through(around.target, around.iter)
                return not is_negated and all(map(self._is_own, around.ifs)) and self._is_claim(claim)
            case ast.Call(func=ast.Name() as function, args=[value, kind]) if self._is_python(
                function, frozenset(("isinstance",))
            ):
                kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
                return self._is_answer(value) and all(map(self._is_python, kinds))
        return self._is_answer(node) or (self._is_own(node) and self._is_free_of_copies(node))

    def _compares(self, sides: list[ast.expr], *, is_row: bool, is_inside: bool = False) -> bool:
        """Whether one of the sides is an answer, or a row of answers where that is compared item by item, and all others own."""
        not_own = [side for side in sides if not self._is_own(side)]
        if not not_own:
            return all(map(self._is_free_of_copies, sides))
        if is_inside and not_own[0] is sides[0]:  # what is looked into is to stay as it is, and an iterator does not
            is_made = isinstance(sides[1], ast.Call) and self._is_python(sides[1].func, _PURE)
            if not (is_made or isinstance(sides[1], (*DISPLAYS, ast.Constant, ast.ListComp))):
                return False
        if len(not_own) > 1:
            return False
        if not all(map(self._is_free_of_copies, sides)):
            # else it could be what a copy is, or is not, that is claimed: `f(3) - 9 == len(LOG) - 2`, `f(3) != LOG[-1]`
            others = [part for side in sides if side is not not_own[0] for part in _list_items(side)]
            is_known = all(self._is_of_copy(part) or self._is_free_of_copies(part) for part in others)
            if not (is_row and is_known) or any(isinstance(part, ast.BinOp) for part in ast.walk(not_own[0])):
                return False
        return self._is_answer(not_own[0]) or (is_row and self._is_row(not_own[0]))

    def _is_row(self, node: ast.expr) -> bool:
        """Whether an expression is a list, tuple or dictionary of answers and what is the test's own, in an order of its own."""
        match node:
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return all(map(self._is_item, parts))
            case ast.Dict(keys=keys, values=parts):
                return all(key and self._is_own(key) and self._is_fixed(key) for key in keys) and all(
                    map(self._is_item, parts)
                )
            case ast.ListComp(generators=[around], elt=item):
                if self._is_own(around.iter):
                    self._go_through(around.target, around.iter)
                    return all(map(self._is_own, around.ifs)) and self._is_item(item)
                return self._is_list_of_parts(item, around, is_row=True)
        return False

    def _is_item(self, node: ast.expr) -> bool:
        # beside copies an item of the test's own would be compared with one, and so with what never changes
        return (self._is_own(node) and not self._copies) or self._is_answer(node) or self._is_row(node)

    def _is_case_claim(self, call: ast.Call, name: str) -> bool:
        """Whether a method of a `TestCase` claims something of one answer."""
        values, options = call.args, _list_options(call)
        if not all(map(self._is_own, options)):
            return False
        if name in _PAIRS and len(values) > 1:
            is_inside = name in ("assertIn", "assertNotIn")
            return self._compares(values[:2], is_row=name in _EQUAL_ROWS, is_inside=is_inside) and all(
                map(self._is_own, values[2:])
            )
        if name in _SINGLE and values and all(map(self._is_own, values[1:])):
            is_negated = name == "assertFalse"
            claims = name in ("assertFalse", "assertTrue") and self._is_claim(values[0], is_negated=is_negated)
            return claims or self._is_answer(values[0])
        if name == "assertIsInstance" and len(values) == 2:
            kinds = values[1].elts if isinstance(values[1], ast.Tuple) else [values[1]]
            return self._is_answer(values[0]) and all(map(self._is_python, kinds))
        if name == "assertRaises" and len(values) > 1:
            return self._is_error(values[:1]) and self._is_answer(values[1]) and all(map(self._is_input, values[2:]))
        return False

    def _is_of_copy(self, node: ast.expr) -> bool:
        """Whether an expression is a chain that begins with a copy, perhaps multiplied or added to: it ends by no error of its own."""
        match node:
            case ast.Name():
                return not self._is_free_of_copies(node)
            case ast.Attribute(value=value):
                return self._is_of_copy(value)
            case ast.Subscript(value=value, slice=index):
                return self._is_of_copy(value) and self._is_free_of_copies(index)
            case ast.Call(func=function):
                return self._is_of_copy(function) and all(
                    map(self._is_free_of_copies, [*node.args, *_list_options(node)])
                )
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult(), right=right):
                return all(self._is_of_copy(part) or isinstance(part, ast.Constant) for part in (left, right))
        return False

    def _is_free_of_copies(self, node: ast.AST) -> bool:
        return self._copies.isdisjoint(map(self._find_key, ast.walk(node)))


def _require(condition: bool) -> None:
    if not condition:
        raise NotListedError


def _list_items(node: ast.expr) -> list[ast.expr]:
    """Return the items of a list or tuple that is written down, or the expression itself."""
    if isinstance(node, ast.List | ast.Tuple):
        return [part for item in node.elts for part in _list_items(item)]
    return [node]


def _list_roots(nodes: list[Any]) -> set[str]:
    """Return the packages that are imported."""
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    names = [getattr(node, "module", None) or alias.name for node in imports for alias in node.names]
    return {name.partition(".")[0] for name in names}


def _list_options(call: ast.Call) -> list[ast.expr]:
    return [keyword.value for keyword in call.keywords]
