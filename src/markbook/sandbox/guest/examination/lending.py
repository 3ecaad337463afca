"""What a test reads again of what it lends, and which of its functions change nothing: read off its text, once a test.

Theory of operation. A solution that empties `items` in `assert f(items) == sorted(items)` has the test expect what it
gives. Such a write counts against a `separated` pass (`Policy.note_write`), but only where the test can see it again: where
a variable leads to something that it lends, and it reads that variable a second time. Whatever is not understood here
counts as read again, and as a function that changes something.

A *root* is a variable, known by the scope that binds it. What it was bound to leads to further roots (`same = items`,
`for row in rows`, the argument behind a parameter, what the body of a function reads). Only calls are looked at: what a
solution changes while an operator or an attribute of its objects is used always counts, since that lends as well.
"""

from __future__ import annotations

import ast
import builtins

from ..exchange.lent import READING, WRITING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Root = tuple[int, str]

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_BUILTINS = frozenset(vars(builtins))
_SCALAR = frozenset(
    [
        "all", "any", "bool", "callable", "deepcopy", "float", "hash", "id", "int", "isinstance", "issubclass", "len",
        "range", "repr", "str",
    ]
)  # fmt: skip
"""Functions that hand nothing over by a call, and return nothing through which what they were given can be changed."""
_ONLY_READ = _SCALAR | {
    "abs", "frozenset", "list", "max", "min", "print", "round", "set", "sorted", "sum", "tuple", "type",
}  # fmt: skip
"""Functions that hand nothing over by a call, as long as they are given no function by a keyword."""
_CALLING = frozenset(
    (
        "assertRaises",
        "assertRaisesRegex",
        "assertWarns",
        "assertWarnsRegex",
        "assert_raises",
        "assert_raises_regex",
        "assert_warns",
        "assert_no_warnings",
        "assert_no_gc_cycles",
    )
)
"""Assertions that call what they are given."""
_COMPARING = frozenset(
    [
        "assertEqual", "assertNotEqual", "assertTrue", "assertFalse", "assertIs", "assertIsNot", "assertIsNone",
        "assertIsNotNone", "assertIn", "assertNotIn", "assertIsInstance", "assertAlmostEqual", "assertGreater",
        "assertGreaterEqual", "assertLess", "assertLessEqual", "assertListEqual", "assertDictEqual", "assertTupleEqual",
    ]
)  # fmt: skip
"""Assertions that compare what they are given, and call nothing but its operators."""
_OF_TEST_CASES = frozenset(("subTest", "fail", "skipTest"))
_WRITES = frozenset(("__dict__", "vars", "globals", "locals"))
_DECORATORS = frozenset(("property", "staticmethod", "classmethod", "contextmanager"))
_CONTAINERS = frozenset(("dict", "deque", "Counter", "OrderedDict", "defaultdict", "bytearray", "bytes"))
"""What gives a container that is not used up by reading it."""
_CONSTRUCTORS = frozenset(("__init__", "__post_init__", "__new__"))
_CALLED_BY_WRITES = frozenset(
    [
        "__setitem__", "__delitem__", "__setattr__", "__delattr__", "__set__", "__delete__", "__iadd__",
        "__isub__", "__ior__",
    ]
)  # fmt: skip
"""Special methods that only statements call which count as writes themselves."""
_MOST_ALIKE = 20
"""Functions of one name whose calls are looked at."""
_PARTS = (ast.Tuple, ast.List, ast.Constant, ast.Name, ast.Attribute, ast.Subscript)
_DISPLAYS = frozenset((ast.List, ast.Tuple, ast.Set, ast.Dict))
_CONSTANTS = frozenset(("pi", "e", "tau", "inf", "nan"))
_LIBRARY_READS = frozenset(
    ("allclose", "isclose", "array_equal", "isnan", "isinf", "sqrt", "fabs", "floor", "ceil", "array")
)
"""Functions of libraries that only read numbers."""


class _Position:
    """Where in a test a node stands."""

    def __init__(
        self,
        scopes: tuple[int, ...] = (0,),
        loops: tuple[set[str], ...] = (),
        owners: tuple[tuple[int, Root], ...] = (),  # the functions and classes around it, each with how deep they stand
        lambdas: frozenset[int] = frozenset(),
        *,
        in_class: bool = False,
    ) -> None:
        self.scopes, self.loops, self.owners, self.lambdas, self.in_class = scopes, loops, owners, lambdas, in_class

    def enter_loop(self, names: set[str]) -> _Position:
        return _Position(self.scopes, (*self.loops, names), self.owners, self.lambdas, in_class=self.in_class)

    def leave_lambdas(self) -> _Position:
        return _Position(self.scopes, self.loops, self.owners, in_class=self.in_class) if self.lambdas else self

    def enter(self, scope: int, owner: Root | None, *, is_class: bool = False, is_lent: bool = False) -> _Position:
        outer = self.scopes[:-1] if self.in_class else self.scopes  # a method does not see the names of its class
        owners = self.owners if owner is None else (*self.owners, (len(outer), owner))
        lambdas = self.lambdas | {scope} if is_lent else self.lambdas
        return _Position((*outer, scope), (), owners, lambdas, in_class=is_class)


class Lending:
    """What the text of one test says of what it lends."""

    def __init__(self, trees: Iterable[ast.AST | None], nodes: list[ast.AST], tested: set[str]) -> None:
        """Read the parts of a test.

        Args:
            trees: its parts, which share their variables.
            nodes: all of their nodes, parents first.
            tested: by which names it calls what is tested.
        """
        parts = [tree for tree in trees if tree is not None]
        self._tested = tested
        self._drop_literals(nodes)
        self._bound: dict[int, set[str]] = {0: self._bound_names(parts)}
        self._values: dict[Root, set[Root]] = {}
        self._loads: dict[Root, int] = {}
        self._lent: set[Root] = set()
        self._changeable: set[Root] = set()
        """Variables that may hold what can change."""
        self._iterators: set[str] = set()
        """Variables that may hold what is used up by reading it."""
        self._is_unclear = False
        """Whether something is lent of which the text does not say what it is."""
        self.unbound: set[str] = set()
        """Names that it reads and does not bind: the solution's, the prompt's, or another test's."""
        every = [node for tree in parts for node in self._walk(tree)]
        self._classes = {node.name for node in every if isinstance(node, ast.ClassDef)}
        self._imported = {(node.asname or node.name).partition(".")[0] for node in every if isinstance(node, ast.alias)}
        random = {
            (alias.asname or alias.name).partition(".")[0]
            for node in every
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
            if "random" in (getattr(node, "module", None) or alias.name)
        }
        self._functions: dict[str, list[Any]] = {}
        for node in every:
            if isinstance(node, _FUNCTIONS):
                self._functions.setdefault(getattr(node, "name", "<lambda>"), []).append(node)
        # `global x` in a function binds a variable of the test itself
        self._bound[0].update(name for node in every if isinstance(node, ast.Global) for name in node.names)
        callees = {id(node.func): _name(node.func) for node in every if isinstance(node, ast.Call)}
        called = set(callees.values())
        handed = {
            node.id for node in every if isinstance(node, ast.Name) and _is_read(node) and id(node) not in callees
        }
        stores = [node.id for node in every if isinstance(node, ast.Name) and not _is_read(node)]
        stored = set(stores)
        self._cases = {
            node.targets[0].id
            for node in every
            if isinstance(node, ast.Assign)
            and _is_test_case(node.value)
            and isinstance(node.targets[0], ast.Name)
            and stores.count(node.targets[0].id) == 1
            and "unittest" in self._imported - stored
        }
        """Names of test cases of `unittest` itself."""
        self._plain = {
            name
            for name, functions in self._functions.items()
            if name not in stored and all(map(_is_undecorated, functions))
        }
        """Names of functions that are what their text says."""
        self._generators = {
            name
            for name, functions in self._functions.items()
            for part in self._walk(*functions)
            if isinstance(part, ast.Yield | ast.YieldFrom)
        }
        methods = {id(part) for node in every if isinstance(node, ast.ClassDef) for part in node.body}
        self._unknown = {
            (id(function), name)
            for functions in self._functions.values()
            for function in functions
            if len(functions) > 1
            or id(function) in methods
            or (called_as := getattr(function, "name", "<lambda>")) in handed
            or called_as not in called
            for name in _parameters(function)
            if name not in tested
        }
        """Parameters of which no call in the text says what they are."""
        self._changeable |= self._unknown
        # a module's list or generator of numbers can change; a function of a module's that is only called cannot
        modules = {
            node.value.id
            for node in every
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and (id(node) not in callees or node.attr == "random")
            and node.attr not in _CONSTANTS
        }
        bases = {id(node.value) for node in every if isinstance(node, ast.Attribute)}
        bare = {
            node.id
            for node in every
            if isinstance(node, ast.Name) and _is_read(node) and id(node) not in callees and id(node) not in bases
        }
        self._stateful = self._imported & (modules | bare | random)
        try:
            for _ in range(2):  # what a variable is bound to later in a loop is known by the second time
                self._loads.clear()
                for tree in parts:
                    self._visit(tree, _Position())
                # what one pass has seen, a second one does not take back
                if self.reads_again():
                    break
        except RecursionError:  # a sum of a thousand terms: such a text says nothing
            self._is_unclear = True
            # with no function known, none is called pure
            self._functions.clear()

    @property
    def bound(self) -> set[str]:
        """The variables of the test itself, which the tests after it can read."""
        return self._bound[0]

    def reads_again(self) -> bool:
        """Whether it reads anything a second time that leads to what it lends."""
        if self._is_unclear:
            return True
        self._changeable.update((scope, name) for scope in self._bound for name in self._stateful)
        roots = list(self._lent)
        for root in roots:  # which grows meanwhile
            roots += [other for other in self._values.get(root, ()) if other not in roots]
        return any(self._loads.get(root, 0) > 1 and root in self._changeable for root in roots)

    def find_pure(self) -> frozenset[str]:
        """Return the names of those of its functions that change nothing, whoever calls them."""
        writing = {name for name, nodes in self._functions.items() if any(map(self._writes, nodes))}
        words_by_name = {name: set[str]().union(*map(self._words, nodes)) for name, nodes in self._functions.items()}
        if writing & _CALLED_BY_WRITES:
            writing |= _CONSTRUCTORS & self._functions.keys()  # which set attributes
        # a function that calls one that writes writes too, so until no further one is met
        while True:
            if any(name[:2] == "__" == name[-2:] for name in writing - _CONSTRUCTORS - _CALLED_BY_WRITES):
                return frozenset()  # an operator in any of them may be that one
            # one that calls a class may run its constructor
            words = writing | (self._bound[0] if writing & _CONSTRUCTORS else set())
            more = {name for name, own in words_by_name.items() if name not in writing and not own.isdisjoint(words)}
            if not more:
                return frozenset(self._functions) - writing
            writing |= more

    def _writes(self, function: Any) -> bool:
        """Whether a function of the test's may change something by itself."""
        own_calls = _called_parameters(function)  # `Policy` looks at the functions that it is given
        is_constructor = getattr(function, "name", "") in _CONSTRUCTORS
        own = function.args.args[0].arg if is_constructor and function.args.args else ""  # nobody else holds it yet
        for node in self._walk(function):
            if isinstance(node, ast.Global | ast.Nonlocal | ast.AugAssign | ast.With | ast.AsyncWith | ast.Await):
                return True
            if isinstance(node, ast.Call) and not (_name(node.func) in own_calls or self._only_reads(node)):
                return True
            is_write = isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load)
            if is_write and not (isinstance(node, ast.Attribute) and own and _name(node.value) == own):
                return True
        return not self._words(function).isdisjoint(_WRITES | (self._iterators - self._cases))

    def _only_reads(self, call: ast.Call) -> bool:
        """Whether a call in a function of the test's changes nothing, but for what the functions that it names change."""
        name = _name(call.func)
        handed = [keyword.value for keyword in call.keywords]
        if any(not (_is_constant(value) or _name(value) in self._plain) for value in handed):
            return False
        if isinstance(call.func, ast.Attribute):
            base = _name(call.func.value)
            is_library = base in self._imported and (base == "math" or name in _LIBRARY_READS)
            is_own = name in self._plain and name not in WRITING and base not in self._imported
            # what the operators of the solution's objects change meanwhile is noted as they change it
            is_assertion = base in self._cases and name in _COMPARING
            return name in READING or is_own or is_library or is_assertion
        if name in self._plain or name in self._classes:
            return not any(map(_called_parameters, self._functions.get(name, ())))
        return name in _SCALAR | _ONLY_READ and name not in self._tested and name not in self._bound[0] - self._imported

    # variables

    def _find_root(self, name: str, position: _Position) -> Root | None:
        for scope in reversed(position.scopes):
            if name in self._bound[scope]:
                return scope, name
        return None

    def _load(self, name: str, position: _Position, *, is_lent: bool) -> None:
        root = self._find_root(name, position)
        if root is None:
            if name not in _BUILTINS:
                self.unbound.add(name)
                # a function of the solution's that stands in a class is given that class's objects, by no visible call
                self._is_unclear = self._is_unclear or position.in_class
            return
        # a loop or a function that does not bind it may read it any number of times
        again = root[0] != position.scopes[-1] or any(name not in names for names in position.loops)
        self._loads[root] = self._loads.get(root, 0) + 1 + again
        # calling a function lends what it reads of the scopes around it
        for depth, owner in position.owners:
            if position.scopes.index(root[0]) < depth:
                self._values.setdefault(owner, set()).add(root)
        if is_lent and root[0] not in position.lambdas:
            self._lent.add(root)
            self._is_unclear = self._is_unclear or root in self._unknown

    def _bind(self, target: ast.AST, value: ast.AST, position: _Position) -> None:
        """Note what a variable is bound to, or what is put into what it holds."""
        if self._holds_iterator(value) and (name := _name(target)):
            self._iterators.add(name)
        if isinstance(target, ast.Tuple | ast.List):
            parts = target.elts
            values = value.elts if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(parts) else None
            for index, part in enumerate(parts):
                self._bind(part, values[index] if values is not None else value, position)
            return
        base = target
        while isinstance(base, ast.Attribute | ast.Subscript | ast.Starred):
            base = base.value
        root = self._find_root(base.id, position) if isinstance(base, ast.Name) else None
        if root is None:
            return
        self._lead(root, value, position)
        if base is not target:
            return
        if not (_is_constant(value) or self._is_of_solution(value, position)):
            self._changeable.add(root)

    def _lead(self, root: Root, value: ast.AST, position: _Position) -> None:
        """Note that a variable leads to all that an expression reads."""
        roots = self._values.setdefault(root, set())
        for part in self._walk(value):
            if isinstance(part, ast.Name) and (other := self._find_root(part.id, position)) is not None:
                roots.add(other)
            elif isinstance(part, (*_COMPREHENSIONS, ast.Lambda)):
                roots.update((id(part), name) for name in self._bound.get(id(part), ()))

    def _holds_iterator(self, value: ast.AST) -> bool:
        """Whether this may hold what is used up by reading it."""
        return any(
            isinstance(part, ast.GeneratorExp) or (isinstance(part, ast.Call) and self._gives_iterator(part))
            for part in self._walk(value)
        )

    def _gives_iterator(self, call: ast.Call) -> bool:
        name = _name(call.func)
        if isinstance(call.func, ast.Name) and name in self._classes | _SCALAR | _ONLY_READ | _CONTAINERS:
            return False
        if name in self._plain:
            return name in self._generators
        return name not in READING | _LIBRARY_READS

    def _is_of_solution(self, value: ast.AST, position: _Position) -> bool:
        """Whether this is what a function or a class of the solution's returned: what it changes there is its own answer."""
        if not isinstance(value, ast.Call):
            return False
        base = value.func
        while isinstance(base, ast.Attribute):
            base = base.value
        if not isinstance(base, ast.Name):
            return False
        root = self._find_root(base.id, position)
        return base.id in self._tested or (root is None and base.id not in _BUILTINS)

    # going through trees without their literals, of which some tests have a megabyte

    def _drop_literals(self, nodes: list[ast.AST]) -> None:
        """Find the containers that hold constants alone."""
        plain: set[int] = set()
        self._literals: set[int] = set()
        for node in reversed(nodes):  # parts before what they are part of
            kind = type(node)
            if kind is ast.Constant:
                plain.add(id(node))
            elif kind in _DISPLAYS:
                if all(id(item) in plain for item in _items(node)):
                    plain.add(id(node))
                    self._literals.add(id(node))
            elif kind is ast.UnaryOp and id(node.operand) in plain:  # type: ignore[attr-defined]  # it is one
                plain.add(id(node))

    def _walk(self, *nodes: Any) -> list[Any]:
        """Return nodes and all that is in them, parents first, but for what such containers hold."""
        queue = list(nodes)
        for node in queue:  # which grows meanwhile
            if id(node) not in self._literals:
                queue.extend(ast.iter_child_nodes(node))
        return queue

    def _words(self, function: ast.AST) -> set[str]:
        """Return the names and attributes that a function speaks of."""
        return {_name(node) for node in self._walk(function)} - {""}

    def _bound_names(self, nodes: list[Any]) -> set[str]:
        """Return the names that statements bind, but for those that functions and classes among them bind within."""
        names: set[str] = set()
        outside: set[str] = set()
        queue = list(nodes)
        for node in queue:  # which grows meanwhile
            if isinstance(node, ast.Name):
                if not _is_read(node):
                    names.add(node.id)
            elif isinstance(node, ast.alias):
                names.add((node.asname or node.name).partition(".")[0])
            elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
                names.add(node.name)
            elif isinstance(node, ast.Global | ast.Nonlocal):
                outside.update(node.names)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(node.name)
            elif not isinstance(node, ast.Lambda) and id(node) not in self._literals:
                queue.extend(ast.iter_child_nodes(node))
        return names - outside

    # what is lent and what is bound, in the order of the text

    def _visit(self, node: ast.AST | None, position: _Position, *, is_lent: bool = False) -> None:
        if node is None or id(node) in self._literals:
            return
        kind = type(node)
        if kind is ast.Name:
            if _is_read(node):
                self._load(node.id, position, is_lent=is_lent)  # type: ignore[attr-defined]  # it is a name
        elif kind is ast.Call:
            self._visit_call(node, position, is_lent=is_lent)  # type: ignore[arg-type]  # it is a call
        elif isinstance(node, _FUNCTIONS):
            self._visit_function(node, position, is_lent=is_lent)
        elif kind is ast.ClassDef:
            self._visit_class(node, position)  # type: ignore[arg-type]  # it is a class
        elif isinstance(node, _COMPREHENSIONS):
            self._visit_comprehension(node, position, is_lent=is_lent)
        elif isinstance(node, ast.For | ast.AsyncFor | ast.While):
            self._visit_loop(node, position)
        else:
            self._note_binding(node, position, is_lent=is_lent)
            # an object of the solution's may keep what it is given by an operator or as an attribute
            is_lent = is_lent or _hands_over(node)
            for name, part in ast.iter_fields(node):
                if name == "annotation":
                    continue
                for child in part if isinstance(part, list) else [part]:
                    if isinstance(child, ast.AST):
                        self._visit(child, position, is_lent=is_lent)

    def _note_binding(self, node: ast.AST, position: _Position, *, is_lent: bool) -> None:
        self._note_part(node, position)
        if isinstance(node, ast.Assign):
            self._note_assignment(node, position)
        elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value is not None:
            self._bind(node.target, node.value, position)
            if not isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                self._load(node.target.id, position, is_lent=is_lent)
        elif isinstance(node, ast.BinOp):
            displays = [side for side in (node.left, node.right) if type(side) in _DISPLAYS]
            if isinstance(node.op, ast.Mult) and not all(
                _is_constant(item) for side in displays for item in _items(side)
            ):
                self._is_unclear = True  # one object in several places
        elif isinstance(node, ast.Match):
            self._is_unclear = True  # its patterns bind parts of what they match
        elif isinstance(node, ast.ExceptHandler) and node.name:
            self._changeable.add(self._find_root(node.name, position) or (0, node.name))
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            self._bind(node.optional_vars, node.context_expr, position)
        elif isinstance(node, ast.Return | ast.Yield | ast.YieldFrom) and node.value is not None:
            for _, owner in position.owners:
                self._lead(owner, node.value, position)

    def _note_assignment(self, node: ast.Assign, position: _Position) -> None:
        for target in node.targets:
            self._bind(target, node.value, position)
            if isinstance(target, ast.Tuple | ast.List) and not isinstance(node.value, _PARTS):
                for part in target.elts:
                    if isinstance(part, ast.Name):
                        self._load(part.id, position, is_lent=False)  # a call may give one object for several names
            if len(node.targets) > 1 and isinstance(target, ast.Name):
                self._load(target.id, position, is_lent=False)  # one object by several names
            hands_over = any(self._names_solution(part, position) for part in _arguments(node.value))
            if isinstance(target, ast.Attribute) and (hands_over or self._names_solution(node.value, position)):
                self._is_unclear = True  # it may become a method
            elif hands_over and isinstance(target, ast.Name) and (root := self._find_root(target.id, position)):
                self._lent.add(root)  # `partial(f, items)`: calling it lends what it holds

    def _note_part(self, node: ast.AST, position: _Position) -> None:
        """Note that a function, a class or a module of the test's has an attribute that can change."""
        if not isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            return
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            root = self._find_base(target, position) if isinstance(target, ast.Attribute | ast.Subscript) else None
            if root is not None and (root[1] in self._functions or root[1] in self._classes | self._imported):
                self._changeable.add(root)

    def _find_base(self, value: ast.AST, position: _Position) -> Root | None:
        """Return the variable of which this is a part."""
        while isinstance(value, ast.Attribute | ast.Subscript):
            value = value.value
        return self._find_root(value.id, position) if isinstance(value, ast.Name) else None

    def _names_solution(self, value: ast.AST, position: _Position) -> bool:
        called = {id(part.func) for part in self._walk(value) if isinstance(part, ast.Call)}
        return any(
            isinstance(part, ast.Name)
            and id(part) not in called
            and part.id not in _BUILTINS
            and (part.id in self._tested or self._find_root(part.id, position) is None)
            for part in self._walk(value)
        )

    def _visit_call(self, node: ast.Call, position: _Position, *, is_lent: bool) -> None:
        name = _name(node.func)
        values = [*node.args, *(keyword.value for keyword in node.keywords)]
        base = node.func.value if isinstance(node.func, ast.Attribute) else None
        root = self._find_root(name, position) if base is None else self._find_base(base, position)
        is_tested = base is None and name in self._tested
        is_builtin = base is None and name in _BUILTINS and root is None and not is_tested
        is_library = root is not None and root[1] in self._imported
        is_assertion = name.lower().startswith("assert") and name not in _CALLING and not is_tested
        if base is not None:
            is_assertion = is_assertion and (is_library or root is None or root in self._changeable)
        if name in _SCALAR and (is_builtin or (name == "deepcopy" and is_library)):
            lends = is_lent = False
        else:
            # what a function of the test's does with it stands in its body
            is_read = (name in _LIBRARY_READS and is_library) or (
                is_builtin and name in _ONLY_READ and not node.keywords
            )
            lends_here = not (is_assertion or is_read or (base is None and name in self._plain and not is_tested))
            lends = is_lent or lends_here
            if lends_here:  # whatever its own function hands over
                position = position.leave_lambdas()
        if base is None:
            self._visit(node.func, position, is_lent=is_lent)  # it may return what it leads to
        elif isinstance(base, ast.Name) and (is_assertion or name in _OF_TEST_CASES or name in _CALLING):
            pass  # the test case itself
        elif name in self._plain:
            self._visit(base, position, is_lent=is_lent)  # its body says what it lends
        else:
            is_answer = isinstance(base, ast.Name) and self._find_root(base.id, position) not in self._changeable
            self._visit(base, position, is_lent=is_lent or (bool(values) and not is_answer))
        for value in values:
            self._visit(value, position, is_lent=lends)
            if base is not None and not is_assertion:
                self._bind(ast.Attribute(base, "", ast.Load()), value, position)  # it may keep what it is given
        functions = self._functions.get(name, ())
        # of which of several functions of one name this is, the text does not say: their parameters are unknown
        for function in functions if len(functions) < _MOST_ALIKE else ():
            self._bind_parameters(function, node, position)

    def _bind_parameters(self, function: Any, node: ast.Call, position: _Position) -> None:
        names = _parameters(function)
        # with a star any parameter may have been given any of the values
        is_plain = not function.args.vararg and not any(isinstance(value, ast.Starred) for value in node.args)
        pairs = [(names[index : index + 1] if is_plain else names, value) for index, value in enumerate(node.args)]
        pairs += [([keyword.arg] if keyword.arg in names else names, keyword.value) for keyword in node.keywords]
        for name, value in ((name, value) for some, value in pairs for name in some):
            self._lead((id(function), name), value, position)
            if self._holds_iterator(value):
                self._iterators.add(name)
            if not (_is_constant(value) or (isinstance(value, ast.Name) and self._names_solution(value, position))):
                self._changeable.add((id(function), name))

    def _visit_function(self, node: Any, position: _Position, *, is_lent: bool) -> None:
        scope, parameters = id(node), node.args
        is_lambda = isinstance(node, ast.Lambda)
        body = [node.body] if is_lambda else node.body
        for decorator in [] if is_lambda else node.decorator_list:
            self._visit(decorator, position)
        owner = None if is_lambda else self._find_root(node.name, position)
        if not is_lambda and owner is not None:
            if not _is_undecorated(node):
                self._changeable.add(owner)  # a cache gives the same object child time
            if any(self._is_foreign(decorator, position) for decorator in node.decorator_list):
                self._lent.add(owner)
        defaults = [value for value in (*parameters.defaults, *parameters.kw_defaults) if value is not None]
        for value in defaults:
            self._visit(value, position)
        names = set(_parameters(node))
        self._bound[scope] = names | (set() if is_lambda else self._bound_names(body))
        if not all(map(_is_constant, defaults)):
            self._changeable |= {(scope, name) for name in names}
            if owner is not None:
                self._changeable.add(owner)
            self._is_unclear = True  # what is its default is the same object in every call
        inner = position.enter(scope, owner, is_lent=is_lambda and is_lent)
        for part in body:
            self._visit(part, inner, is_lent=is_lambda and is_lent)

    def _is_foreign(self, value: ast.AST, position: _Position) -> bool:
        """Whether a decorator or a base may be the solution's."""
        while isinstance(value, ast.Call):
            value = value.func
        if _name(value) == "TestCase" or (
            isinstance(value, ast.Name) and (value.id in _BUILTINS or value.id in self._plain | self._classes)
        ):
            return _name(value) in self._tested
        root = self._find_base(value, position)
        return root is None or not (root[1] in self._imported or root[1] in self._plain | self._classes)

    def _visit_class(self, node: ast.ClassDef, position: _Position) -> None:
        for expression in (*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)):
            self._visit(expression, position)
        owner = self._find_root(node.name, position)
        if any(self._is_foreign(base, position) for base in (*node.bases, *node.decorator_list)):
            self._is_unclear = True  # what the solution's class does calls the methods of this one
        for part in node.body:
            is_plain = isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.Pass | ast.Expr)
            if owner is not None and not (is_plain or (isinstance(part, ast.AnnAssign) and part.value is None)):
                self._changeable.add(owner)
        self._bound[id(node)] = self._bound_names(node.body)
        inner = position.enter(id(node), owner, is_class=True)
        for part in node.body:
            self._visit(part, inner)

    def _visit_comprehension(self, node: Any, position: _Position, *, is_lent: bool) -> None:
        names = {name for generator in node.generators for name in self._bound_names([generator.target])}
        scope = id(node)
        self._bound[scope] = names
        inner = _Position(
            (*position.scopes, scope),
            (*position.loops, names),
            position.owners,
            position.lambdas,
            in_class=position.in_class,
        )
        for index, generator in enumerate(node.generators):
            # the first source is read outside the scope of the comprehension, as Python does it
            around = position if index == 0 else inner
            self._visit(generator.iter, around, is_lent=is_lent)
            self._bind(generator.target, _item(generator.iter), inner)
            for condition in generator.ifs:
                self._visit(condition, inner)
        for part in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            self._visit(part, inner, is_lent=is_lent)

    def _visit_loop(self, node: Any, position: _Position) -> None:
        names = self._bound_names([node])
        inner = position.enter_loop(names)
        if isinstance(node, ast.While):
            self._visit(node.test, inner)
        else:
            # read once, before the loop begins
            self._visit(node.iter, position)
            self._bind(node.target, _item(node.iter), position)
        for part in (*node.body, *node.orelse):
            self._visit(part, inner)


def _hands_over(node: ast.AST) -> bool:
    """Whether this may give an object of the solution's something to keep, and is not a call."""
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets)
    if isinstance(node, ast.Subscript):
        return not _is_constant(node.slice)
    return isinstance(node, ast.BinOp | ast.AugAssign) and not isinstance(node.op, ast.Pow)


def _is_read(node: Any) -> bool:
    return isinstance(node.ctx, ast.Load)


def _is_test_case(value: ast.AST) -> bool:
    """Whether this makes a test case of `unittest`, which none of its users has changed."""
    is_call = isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "TestCase"
    return is_call and _name(value.func.value) == "unittest"  # type: ignore[attr-defined]  # it is such a call


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _arguments(value: ast.AST) -> list[ast.expr]:
    return [*value.args, *(keyword.value for keyword in value.keywords)] if isinstance(value, ast.Call) else []


def _items(display: Any) -> list[ast.expr]:
    return [*filter(None, display.keys), *display.values] if isinstance(display, ast.Dict) else display.elts


def _is_undecorated(function: Any) -> bool:
    decorators = {_name(decorator) for decorator in getattr(function, "decorator_list", ())}
    return decorators <= _DECORATORS


def _parameters(function: Any) -> list[str]:
    parameters = function.args
    more = [parameter for parameter in (parameters.vararg, parameters.kwarg) if parameter is not None]
    every = [*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs, *more]
    return [parameter.arg for parameter in every]


def _called_parameters(function: Any) -> set[str]:
    """Return the names of a function's parameters that it calls itself; none where one has a default."""
    parameters = function.args
    if parameters.defaults or any(parameters.kw_defaults):
        return set()
    called = {
        part.func.id for part in ast.walk(function) if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)
    }
    return called & set(_parameters(function))


def _is_constant(node: ast.AST) -> bool:
    """Whether nothing about the value of this can change."""
    if isinstance(node, ast.Tuple):
        return all(map(_is_constant, node.elts))
    if isinstance(node, ast.UnaryOp):
        return _is_constant(node.operand)
    if isinstance(node, ast.BinOp):
        return _is_constant(node.left) and _is_constant(node.right)
    return isinstance(node, ast.Constant | ast.JoinedStr | ast.Compare | ast.Lambda) or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _SCALAR - {"deepcopy"}
    )


def _item(source: ast.expr) -> ast.AST:
    """Return what one goes through in a loop, where its items stand there and are all of constants."""
    items = source.elts if isinstance(source, ast.List | ast.Tuple | ast.Set) else []
    if items and all(map(_is_constant, items)):
        return items[0]
    return source if _is_constant(source) else ast.Starred(source, ast.Load())
