"""Reading the expressions of a test: what a name stands for, what is a literal, how far two values are apart."""

from __future__ import annotations

import ast
import collections
import re
import signal
from opcode import opmap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, ParamSpec, TypeVar

    K = TypeVar("K")
    P = ParamSpec("P")
    T = TypeVar("T")

DEFINITION = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_LITERAL = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Constant, ast.UnaryOp, ast.USub, ast.UAdd, ast.Load)
_MADE = (*_LITERAL, ast.Call, ast.Name, ast.Attribute, ast.keyword)
_NUMBERS = frozenset(("Decimal", "Fraction", "complex", "float", "int"))
_BUILT = frozenset(
    [
        "Counter", "DataFrame", "Decimal", "Fraction", "Index", "OrderedDict", "Series", "approx", "array",
        "complex", "deque", "dict", "float", "frozenset", "int", "list", "set", "sorted", "str", "tuple",
    ]
)  # fmt: skip
"""Calls that make a value of literals, whatever these are."""
_KEEPING = frozenset(
    [
        "DataFrame", "Decimal", "Fraction", "Index", "Series", "approx", "array", "deque", "frozenset", "list", "set",
        "sorted", "tuple",
    ]
)  # fmt: skip
"""Those of them in which nothing is lost of the literals."""
_LOSSY = frozenset(
    ["", "Counter", "OrderedDict", "collections", "complex", "deque", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple"]
)  # fmt: skip
"""Names in a literal whose value hangs on nothing but its constants."""
_MEASURES = frozenset(("abs", "absolute", "fabs", "norm", "square"))
"""Calls that make a size of a difference."""
_OF_MANY = {
    "average": False, "float": True, "item": True, "max": True, "amax": True, "mean": False, "sqrt": True, "sum": True,
}  # fmt: skip
"""Calls that make one size of many, each with whether a large one stays large."""
_PLACES, _ABSOLUTE, _RELATIVE = ("places", "decimal"), ("delta", "abs", "abs_tol", "atol"), ("rel", "rel_tol", "rtol")
TOLERANCE = frozenset((*_PLACES, *_ABSOLUTE, *_RELATIVE))
"""What a call is told of how near is near enough."""
_PASSED_BY = (ast.If, ast.IfExp, ast.Continue, ast.Break, ast.Return, ast.Try, ast.While, ast.BoolOp)
"""By what a case of a loop may be passed by."""
FILL = frozenset(("append", "appendleft", "add", "extend", "insert", "setdefault", "update"))
"""Methods that put something into what they belong to."""
LOOKS_UP = frozenset(("index", "count", "remove", "__contains__"))
"""Methods that compare what they are given with what they belong to has."""
LONGEST = 1 << 16
"""Characters of a test that is read for more than what it needs to run: it takes minutes to read one of a megabyte."""
_NESTED = 4
"""So many names and calls are followed from a loop to what it goes through."""
_ROUNDED, _PERCENT, _HALF = 1e-4, 0.01, 0.5
"""What compares numbers nearly takes no farther ones than this for equal unless it is told to."""


def constants(node: ast.expr) -> list[ast.Constant]:
    """Return the constants of an expression that can be replaced without making it another expression.

    Left alone are indices, keyword arguments and the way in which values are formatted.
    """
    if isinstance(node, ast.Constant):
        return [node] if node.value is not ... else []
    parts: list[ast.expr | None] = []
    if isinstance(node, ast.Call):
        # the argument of a constructor that is a value: no type code, no encoding, no `float("inf")`
        parts += node.args[:1]
        if parts and isinstance(parts[0], ast.Constant) and isinstance(parts[0].value, str):
            name = get_called_name(node)
            if name == "array":
                parts[:] = node.args[1:2]
            elif name in _NUMBERS and not set(parts[0].value) <= set("0123456789.-+"):
                return []
    elif isinstance(node, ast.Dict):
        # without the pairs of a key that comes again: nothing of them is in the dict; 1, True and 1.0 are one key
        last: dict[object, tuple[ast.expr | None, ast.expr]] = {}
        for position, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
            dumped = ast.dump(key) if key is not None else position
            last[("constant", key.value) if isinstance(key, ast.Constant) else dumped] = key, value
        parts += [part for pair in last.values() for part in pair]
    else:
        for name, value in ast.iter_fields(node):
            if name not in ("slice", "format_spec", "generators"):
                parts += value if isinstance(value, list) else [value]
    return [constant for part in parts if isinstance(part, ast.expr) for constant in constants(part)]


def keeps_values(node: ast.expr) -> bool:
    """Whether a literal with another constant in it is another value, whatever stands in its place.

    It need not be where a call says how the value is made (`approx(3, rel=.2)`, `deque([1, 2, 3], maxlen=2)`) or leaves
    some of it out (`int(2.9)`, `Counter(a=0)`).
    """
    for call in ast.walk(node):
        if not isinstance(call, ast.Call):
            continue
        name = get_called_name(call)
        # the first argument of `array("i", [..])` says of what type the values are
        has_code = name == "array" and bool(call.args) and isinstance(call.args[0], ast.Constant)
        if name not in _KEEPING or call.keywords or len(call.args) - has_code > 1:
            return False
    return True


def evaluate_literal(node: ast.expr | None) -> tuple[object, ...]:
    """Return what a literal comes to that may be the same with other constants; nothing for any other expression."""
    if node is None or (keeps_values(node) and not is_computed(node)):
        return ()
    # with other names in it, to evaluate it could do anything, outside of its test
    if not {name for part in ast.walk(node) for name in (getattr(part, "id", ""), getattr(part, "attr", ""))} <= _LOSSY:
        return ()
    try:
        code = compile(ast.Expression(node), "<literal>", "eval")
        # what the compiler does not compute itself may take for ever
        if opmap["BINARY_OP"] in code.co_code[::2] or any(isinstance(part, ast.JoinedStr) for part in ast.walk(node)):
            return ()
        return (eval(code, {**vars(collections), "collections": collections}),)
    except Exception:  # not a value of theirs
        return ()


def is_computed(node: ast.expr) -> bool:
    """Whether an expression computes with its literals, so that another literal in it may come to the same value."""
    return not all(isinstance(part, _MADE) for part in ast.walk(node))


def assignments(nodes: list[ast.AST]) -> dict[str, list[ast.expr]]:
    """Return for each name (`.name` for attributes) the expressions that it is assigned."""
    assigned: dict[str, list[ast.expr]] = {}
    loops: list[tuple[ast.expr, ast.expr]] = []
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                _assign(assigned, target, node.value)
        elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value is not None:
            _assign(assigned, node.target, node.value)
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            loops.append((node.target, node.iter))
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            _assign(assigned, node.optional_vars, node.context_expr)
    # loops come last, since what they go through may be assigned further down
    for target, source in loops:
        # what the loop goes through where that is written down, else the whole of it
        items = _list_literal_items(source, assigned, _NESTED)
        if items is None:
            key = expression_key(source)
            items = [
                ast.Tuple(value.args, ast.Load())
                if isinstance(value, ast.Call) and get_called_name(value) == "zip"
                else value
                for value in (assigned.get(key, [source]) if key else [source])
            ]
        for item in items:
            _assign(assigned, target, item)
    return assigned


def cases(nodes: list[ast.AST], assigned: dict[str, list[ast.expr]]) -> set[str]:
    """Return the names that only a loop gives values, every one of which is written down and looked at."""
    counts: dict[str, int] = {}
    for node in nodes:
        if isinstance(node, ast.For) and not any(
            isinstance(part, _PASSED_BY) for body in node.body for part in ast.walk(body)
        ):
            items = _list_literal_items(node.iter, assigned, _NESTED) or ()
            for target in ast.walk(node.target):
                if key := expression_key(target):
                    counts[key] = counts.get(key, 0) + len(items)
    return {name for name, count in counts.items() if count == len(assigned.get(name, ()))}


def _list_literal_items(source: ast.expr, assigned: dict[str, list[ast.expr]], steps: int) -> list[ast.expr] | None:
    """Return what a loop over this goes through; None where that is not written down, or not within so many steps."""
    if isinstance(source, ast.List | ast.Tuple | ast.Set):
        return source.elts
    if not steps:
        return None
    if isinstance(source, ast.Name | ast.Attribute):
        values = assigned.get(expression_key(source), [])
        return _list_literal_items(values[0], assigned, steps - 1) if len(values) == 1 else None
    if not isinstance(source, ast.Call) or get_called_name(source) not in ("enumerate", "zip") or not source.args:
        return None
    sides = [_list_literal_items(argument, assigned, steps - 1) for argument in source.args]
    if get_called_name(source) == "enumerate":
        return None if sides[0] is None else [ast.Tuple([source, item], ast.Load()) for item in sides[0]]
    iterables = [side for side in sides if side is not None]
    return (
        [ast.Tuple(list(row), ast.Load()) for row in zip(*iterables, strict=False)]
        if len(iterables) == len(sides)
        else None
    )


def _assign(assigned: dict[str, list[ast.expr]], target: ast.expr, value: ast.expr) -> None:
    if isinstance(target, ast.Tuple | ast.List):
        same = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
        for position, part in enumerate(target.elts):
            _assign(assigned, part, value.elts[position] if same else value)  # type: ignore[attr-defined]  # `same` says so
    elif key := expression_key(target):
        assigned.setdefault(key, []).append(value)


def _as_attribute(target: ast.expr) -> ast.expr:
    """Return the target of an assignment in a class body as other code names it."""
    if isinstance(target, ast.Tuple | ast.List):
        return ast.Tuple([_as_attribute(part) for part in target.elts], ast.Store())
    return ast.Attribute(target, target.id, ast.Store()) if isinstance(target, ast.Name) else target


def expression_key(node: ast.AST) -> str:
    """Return a name for a variable: attributes by theirs alone, whatever they belong to."""
    if isinstance(node, ast.Name):
        return node.id
    return "." + node.attr if isinstance(node, ast.Attribute) else ""


_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def list_function_flows(nodes: list[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    """Yield names with what calls give them, what parameters are by default, and what functions give."""
    methods = {id(part): node.name for node in nodes if isinstance(node, ast.ClassDef) for part in node.body}
    defined: dict[str, list[_Function]] = {}
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            # a class is called with what this method wants
            name = methods.get(id(node), node.name) if node.name == "__init__" else node.name
            defined.setdefault(name, []).append(node)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            for target in node.targets:
                defined.setdefault(expression_key(target).removeprefix("."), []).append(node.value)
    for call in nodes if defined else ():
        for function in defined.get(get_called_name(call), ()) if isinstance(call, ast.Call) else ():
            yield from pair_arguments(call, function.args, is_method=id(function) in methods)  # type: ignore[arg-type]  # a call
    for name, function in ((name, function) for name, functions in defined.items() for function in functions):
        for part in ast.walk(function) if not isinstance(function, ast.Lambda) else ():
            if isinstance(part, ast.Return | ast.Yield) and part.value:
                yield name, part.value
                if id(function) in methods:
                    yield f".{name}", part.value
        for parameter, value in zip(reversed(function.args.args), reversed(function.args.defaults), strict=False):
            yield parameter.arg, value


def flows(nodes: list[ast.AST]) -> dict[str, list[ast.expr]]:
    """Return for each name all that it may hold or lead to, as far as the text says it.

    To what it is assigned come what is put into it (`append`, `w[3] = ..`), what a function of the test's is called with and
    gives, and what its parameters are by default.
    """
    values_by_name = {name: list(values) for name, values in assignments(nodes).items()}
    # Read as `Case.want` or `self.want`. Only here: a solution can read its class, so nothing to try a pass by stands there.
    for part in (part for node in nodes if isinstance(node, ast.ClassDef) for part in node.body):
        if isinstance(part, ast.Assign | ast.AnnAssign) and part.value is not None:
            for target in part.targets if isinstance(part, ast.Assign) else [part.target]:
                _assign(values_by_name, _as_attribute(target), part.value)
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Subscript) and (key := expression_key(target.value)):
                    values_by_name.setdefault(key, []).append(node.value)
        elif isinstance(node, ast.Call):
            key = expression_key(node.func.value) if isinstance(node.func, ast.Attribute) else ""
            if key and get_called_name(node) in FILL:
                values_by_name.setdefault(key, []).extend(node.args)
    for name, value in list_function_flows(nodes):
        values_by_name.setdefault(name, []).append(value)
    return values_by_name


def pair_arguments(call: ast.Call, parameters: ast.arguments, *, is_method: bool) -> Iterator[tuple[str, ast.expr]]:
    """Yield the parameters of a function with what a call gives them."""
    names = [parameter.arg for parameter in (*parameters.posonlyargs, *parameters.args)]
    if is_method and names[:1] in (["self"], ["cls"]):
        del names[0]
    rest = [parameter.arg for parameter in (parameters.vararg,) if parameter]
    for at, value in enumerate(call.args):
        is_many = isinstance(value, ast.Starred)
        yield from ((name, value) for name in ([*names[at:], *rest] if is_many else names[at : at + 1] or rest))
    yield from ((keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg)


def trace_names(nodes: list[ast.expr], assigned: dict[str, list[ast.expr]]) -> list[ast.expr]:
    """Return expressions and those that the names in them were given, and the names in these, so many steps back."""
    expressions, new = [*nodes], nodes
    names_seen: set[str] = set()
    for _ in range(_NESTED):
        names = {
            key for expression in new for part in ast.walk(expression) if (key := expression_key(part)) in assigned
        } - names_seen
        names_seen |= names
        new = [value for name in sorted(names) for value in assigned[name]]
        expressions += new
    return expressions


def collect_traced(
    node: ast.expr,
    assigned: dict[str, list[ast.expr]],
    find: Callable[[ast.AST], set[T]],
    collected: dict[tuple[str, int], set[T]],
) -> set[T]:
    """Return what is found in the parts of the expressions that `trace_names` returns, of which `collected` takes down each name's."""

    def read(values: list[ast.expr], steps: int) -> tuple[set[tuple[str, int]], set[T]]:
        parts = [part for value in values for part in ast.walk(value)]
        names = {key for part in parts if (key := expression_key(part)) in assigned} if steps else set[str]()
        return {(name, steps - 1) for name in names}, {fact for part in parts for fact in find(part)}

    links, facts = read([node], _NESTED)
    return facts.union(
        *(collect_reached(link, lambda key: read(assigned[key[0]], key[1]), collected) for link in links)
    )


def collect_reached(start: K, read: Callable[[K], tuple[set[K], set[T]]], collected: dict[K, set[T]]) -> set[T]:
    """Return the facts of a key and of all that it leads to.

    Args:
        start: the key.
        read: returns what a key itself leads to, and its facts; called once for each.
        collected: what was collected before, to which what is found here is added.
    """
    if start in collected:
        return collected[start]
    keys = [start]
    leading: dict[K, list[K]] = {start: []}
    facts: dict[K, set[T]] = {}
    for key in keys:  # it grows meanwhile
        links, own = read(key)
        facts[key] = own.union(*(collected[link] for link in links & collected.keys()))
        for link in links - collected.keys():
            if link not in leading:
                leading[link] = []
                keys.append(link)
            leading[link].append(key)
    while keys:
        key = keys.pop()
        for other in leading[key]:
            if not facts[key] <= facts[other]:
                facts[other] |= facts[key]
                keys.append(other)
    collected |= facts
    return collected[start]


def mentions(node: ast.AST, names: set[str]) -> bool:
    """Whether one of these names stands in an expression."""
    return any(expression_key(part) in names for part in ast.walk(node) if isinstance(part, ast.Name | ast.Attribute))


def get_called_name(node: ast.Call) -> str:
    """Return the name of the function or method that a call calls."""
    return expression_key(node.func).removeprefix(".")


def is_literal(node: ast.expr) -> bool:
    """Whether an expression is made of literals, and of calls that take any."""
    calls = [part for part in ast.walk(node) if isinstance(part, ast.Call)]
    if any(get_called_name(call) not in _BUILT for call in calls):
        return False
    inner = {id(within) for call in calls for within in ast.walk(call.func)}
    free = [part for part in ast.walk(node) if isinstance(part, ast.Name | ast.Lambda) and id(part) not in inner]
    empty = isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict)
    return not free and bool(constants(node) or empty)


_EQUALITY = frozenset(("__eq__", "__ne__", "addTypeEqualityFunc"))


def sets_equality(node: ast.AST) -> bool:
    """Whether a piece of a test names what decides equality: two literals may then be equal to the same thing."""
    words = (getattr(node, field, None) for field in ("name", "id", "attr", "value"))
    return any(type(word) is str and word in _EQUALITY for word in words)


def distance(node: ast.Call, *, exact: bool) -> float | None:
    """Return within which distance two numbers may be equal to a call that compares them; None where nobody knows."""
    name = get_called_name(node)
    if exact:
        return 0.0 if name.endswith(("Equal", "Equals")) else _ROUNDED
    names = ("rel", "abs") if name == "approx" else ("places",) if "almost" in name.lower() else ("rtol", "atol")
    options = [*zip(names, node.args[1 if name == "approx" else 2 :], strict=False)]
    options += [(keyword.arg, keyword.value) for keyword in node.keywords if keyword.arg in TOLERANCE]
    literals: list[Any] = [part.value for side in node.args[:2] if is_literal(side) for part in constants(side)]
    size = max((abs(value) for value in literals if type(value) in (int, float)), default=None)
    distances = [_ROUNDED]
    for option, expression in options:
        value: Any = getattr(expression, "value", None)
        if type(value) not in (int, float) or (option in _RELATIVE and value > _PERCENT and size is None):
            return None
        if option in _PLACES:
            distances.append(10.0**-value)
        elif option in _ABSOLUTE:
            distances.append(float(value))
        elif value > _PERCENT:  # what takes more than half as much again for the same takes anything
            distances.append(value * size / (1 - value) if value <= _HALF else float("inf"))
    return max(distances) if options else None


def difference(node: ast.expr) -> tuple[ast.BinOp, bool] | None:
    """Return the `f(x) - y` of `abs(f(x) - y)`, `np.abs(f(x) - y).max()` and `((f(x) - y) ** 2).sum()`.

    Returns:
        It, and whether the whole is as large where only one of many differs; None where the size of no difference is meant.
    """
    measured, is_exact = False, True
    while True:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            return (node, is_exact) if measured else None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow | ast.Div):
            measured = measured or isinstance(node.op, ast.Pow)
            is_exact = is_exact and isinstance(node.op, ast.Pow)
            node = node.left
        elif isinstance(node, ast.Call) and get_called_name(node) in {*_MEASURES, *_OF_MANY}:
            measured = measured or get_called_name(node) in _MEASURES
            is_exact = is_exact and _OF_MANY.get(get_called_name(node), True)
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            if isinstance(owner, ast.Call | ast.BinOp):
                node = owner
            elif node.args:
                node = node.args[0]
            else:
                return None
        else:
            return None


def pause_clock(function: Callable[P, T]) -> Callable[P, T]:
    """Have a function take nothing of an attempt's time: how long a test is that it reads says nothing of the solution."""

    def read(*arguments: P.args, **options: P.kwargs) -> T:
        clocks = [(kind, signal.setitimer(kind, 0)) for kind in (signal.ITIMER_PROF, signal.ITIMER_VIRTUAL)]
        try:
            return function(*arguments, **options)
        finally:
            for kind, seconds in clocks:
                signal.setitimer(kind, *seconds)

    return read


# What is decided about a solution's text, away from the process in which the solution runs.


def parse(text: str) -> ast.Module | None:
    """Return the syntax tree, or None if the text is not Python."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


_PLACE = frozenset(("ctx", "lineno", "col_offset", "end_lineno", "end_col_offset"))


def nodes(tree: ast.AST) -> list[ast.AST]:
    """Return the nodes of a tree, parents first, but for those that say how a name is used. Faster than `ast.walk`."""
    found_nodes = [tree]
    # it grows meanwhile
    for node in found_nodes:
        for name, value in vars(node).items():
            if name in _PLACE:
                continue
            if type(value) is list:
                found_nodes.extend(part for part in value if isinstance(part, ast.AST))
            elif isinstance(value, ast.AST):
                found_nodes.append(value)
    return found_nodes


def defined_names(text: str, *, kind: str) -> list[str]:
    """Return the public names that the solution itself defines at top level: functions, or for `class` classes."""
    tree = parse(text)
    kinds = (ast.ClassDef,) if kind == "class" else (ast.FunctionDef, ast.AsyncFunctionDef)
    names_defined = [node.name for node in (tree.body if tree else []) if isinstance(node, kinds)]
    return list(dict.fromkeys(name for name in names_defined if not name.startswith("_")))


def uses(tree: ast.Module, names: list[str]) -> str:
    """Return the first of the names that the solution does not use, or an empty string.

    A name is a keyword (`lambda`, `yield from`), a called or imported name, or `module.attribute` of an import.
    """
    names_used = _collect_used_names(tree)
    return next((name for name in names if " ".join(name.split()) not in names_used), "")


_KEYWORDS: dict[type[ast.AST], tuple[str, ...]] = {
    ast.YieldFrom: ("yield from",), ast.Yield: ("yield",), ast.Lambda: ("lambda",), ast.Await: ("await",),
    ast.AsyncFunctionDef: ("async", "async def", "def"), ast.AsyncFor: ("async", "async for", "for"),
    ast.AsyncWith: ("async", "async with", "with"), ast.FunctionDef: ("def",), ast.ClassDef: ("class",),
    ast.With: ("with",), ast.For: ("for",), ast.comprehension: ("for", "in"), ast.While: ("while",), ast.If: ("if",),
    ast.IfExp: ("if", "else"), ast.Try: ("try",), ast.ExceptHandler: ("except",), ast.Raise: ("raise",),
    ast.Return: ("return",), ast.Assert: ("assert",), ast.Global: ("global",), ast.Nonlocal: ("nonlocal",),
    ast.Delete: ("del",), ast.Pass: ("pass",), ast.Break: ("break",), ast.Continue: ("continue",),
    ast.Import: ("import",), ast.ImportFrom: ("from", "import"), ast.Match: ("match", "case"), ast.And: ("and",),
    ast.Or: ("or",), ast.Not: ("not",), ast.In: ("in",), ast.NotIn: ("not in",), ast.Is: ("is",),
    ast.IsNot: ("is not",),
}  # fmt: skip


def _collect_used_names(tree: ast.Module) -> set[str]:
    names_used: set[str] = set()
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        names_used.update(_KEYWORDS.get(type(node), ()))
        if isinstance(node, ast.Import):
            for alias in node.names:
                names_used.add(alias.name)
                local = alias.asname or alias.name.partition(".")[0]
                # `import a.b` binds `a` alone
                modules[local] = alias.name if alias.asname else local
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                names_used.update((alias.name, f"{node.module or ''}.{alias.name}"))
                modules[alias.asname or alias.name] = f"{node.module or ''}.{alias.name}"
        elif isinstance(node, ast.If | ast.For | ast.While | ast.Try) and node.orelse:
            names_used.add("else")
        if isinstance(node, ast.Try) and node.finalbody:
            names_used.add("finally")
    # only now, since an import may stand behind the function that uses it
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            _add_name(node.func, modules, names_used)
        for decorator in getattr(node, "decorator_list", ()):
            _add_name(decorator, modules, names_used)
        if isinstance(node, ast.Attribute):
            dotted = join_dotted(node)
            head, _, rest = dotted.partition(".")
            if head in modules:
                names_used.update((dotted, f"{modules[head]}.{rest}"))
    return names_used


def _add_name(node: ast.expr, modules: dict[str, str], names_used: set[str]) -> None:
    dotted = join_dotted(node)
    if dotted:
        names_used.update((dotted, dotted.rpartition(".")[2], modules.get(dotted, dotted)))
    elif isinstance(node, ast.Attribute):
        names_used.add(node.attr)


def join_dotted(node: ast.expr) -> str:
    """Return the name of a variable or, with dots, of an attribute of one; empty for other expressions."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def compile_pattern(pattern: str) -> tuple[re.Pattern[str] | None, str]:
    """Return the pattern compiled, or None and why it is broken."""
    try:
        return re.compile(pattern), ""
    except (re.error, RecursionError, OverflowError) as error:
        return None, f"bad pattern {pattern!r}: {error}"


def inspect(text: str, tree: ast.Module | None, names: list[str], pattern: re.Pattern[str] | None) -> str:
    """Return why the text fails the inspection, or an empty string."""
    absent = names and (uses(tree, names) if tree is not None else names[0])
    if absent:
        return f"the solution does not use {absent!r}"
    if pattern is not None and not pattern.search(text):
        return f"the solution does not match {pattern.pattern!r}"
    return ""


def speaks_of_random(text: str) -> bool:
    """Whether a text names a module of Python's that draws numbers, by itself or by another."""
    return "random" in text or "statistics" in text


def list_imported(trees: list[ast.Module | None]) -> set[str]:
    """Return the names that a test imports before it mentions them: whatever the solution calls so is not asked for."""
    imported: set[str] = set()
    mentioned: set[str] = set()
    for statement in (statement for tree in trees if tree for statement in tree.body):
        if isinstance(statement, ast.Import | ast.ImportFrom):
            names = {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
            imported |= names - mentioned
        mentioned |= {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    return imported


def collect_bound_names(nodes: list[ast.AST]) -> set[str]:
    """Return the names that a test gives a meaning itself."""
    names_bound: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names_bound.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names_bound.add(node.name)
        elif isinstance(node, ast.arg):
            names_bound.add(node.arg)
        elif isinstance(node, ast.alias):
            names_bound.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar | ast.MatchMapping):
            names_bound.add(getattr(node, "name", None) or getattr(node, "rest", None) or "")
    return names_bound


def list_free(text: str) -> set[str]:
    """Return the names that code takes from elsewhere: what a scope reads that neither it nor the module binds."""
    import symtable  # late: few tests ask for it

    try:
        tables = [symtable.symtable(text, "<test>", "exec")]
    except (SyntaxError, ValueError, RecursionError):
        return set(re.findall(r"\w+", text))
    names_read, own = set[str](), set[str]()
    for table in tables:  # it grows meanwhile
        tables += table.get_children()
        is_module = table.get_type() == "module"
        for symbol in table.get_symbols():
            if is_module and (symbol.is_assigned() or symbol.is_imported()):
                own.add(symbol.get_name())
            elif symbol.is_referenced() and (symbol.is_global() or is_module or table.get_type() == "class"):
                names_read.add(symbol.get_name())
    tree = ast.parse(text)
    # from Python 3.12 on the names of a comprehension stand in the table around it
    local = list_local([tree])
    names_around, names_local = (
        {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and (id(node) in local) is is_local}
        for is_local in (False, True)
    )
    return ((names_read - own) | (own & _Reads(tree.body).unbound)) - (names_local - names_around)


def list_certain(statements: list[ast.stmt]) -> set[str]:
    """Return the names that a module has bound once its statements have run to their end, whichever branches they took."""
    return _Reads(statements).bound


class _Reads:
    """What the statements of a module may read before they have bound it, or though they bind it in a branch alone."""

    def __init__(self, statements: list[ast.stmt]) -> None:
        self.unbound = set[str]()
        self._later = set[str]()
        """What functions read, whenever they are called."""
        self.bound = self._run(statements, set())
        """What is bound after them."""
        self.unbound |= self._later - self.bound

    def _run(self, statements: list[ast.stmt], bound: set[str]) -> set[str]:
        """Go through statements; return what is bound after them."""
        for node in statements:
            if isinstance(node, _BRANCHING):
                bound = self._branch(node, bound)
            elif isinstance(node, ast.ClassDef):
                self._read([*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)], bound)
                self._run(node.body, bound)
                bound = bound | {node.name}
            elif isinstance(node, DEFINITION):
                self._later |= list_names(ast.Module(node.body, []))
                self._read([*node.decorator_list, node.args], bound)  # type: ignore[union-attr]  # a function
                bound = bound | {node.name}
            else:
                self._read([node], bound)
                bound = bound - list_names(node) if isinstance(node, ast.Delete) else bound | _list_certain(node)
        return bound

    def _branch(self, node: Any, bound: set[str]) -> set[str]:
        parts = [
            part
            for part in ast.iter_child_nodes(node)
            if not isinstance(part, ast.stmt | ast.ExceptHandler | ast.match_case)
        ]
        self._read(parts, bound)
        # of a loop the body sees what it binds, and what comes after may not
        within = bound.union(*map(_list_certain, parts))
        if isinstance(node, ast.With | ast.AsyncWith):
            self._run(node.body, within)  # its manager may end it early: `suppress`, `raises`
            return within
        for case in getattr(node, "cases", ()):
            self._run(case.body, within | collect_bound_names(list(ast.walk(case.pattern))))
        after = self._run(getattr(node, "body", []), within)
        handled = [self._run(part.body, bound | {part.name or ""}) for part in getattr(node, "handlers", ())]
        otherwise = self._run(getattr(node, "orelse", []), after if handled else bound)
        if isinstance(node, ast.If):
            bound = after & otherwise
        elif isinstance(node, ast.Try):
            bound = otherwise.intersection(*handled) if handled else after
        return self._run(getattr(node, "finalbody", []), bound)

    def _read(self, parts: list[Any], bound: set[str]) -> None:
        nodes = list(walk_all(parts))
        names = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store)}
        names |= {getattr(node.target, "id", "") for node in nodes if isinstance(node, ast.AugAssign)}
        if any(isinstance(node, ast.Call) for node in nodes):
            names |= self._later
        self.unbound |= names - bound


_BRANCHING = (
    ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.Match, ast.With, ast.AsyncWith, getattr(ast, "TryStar", ast.Try),
)  # fmt: skip
_CONDITIONAL = (
    ast.Assert, ast.BoolOp, ast.Compare, ast.DictComp, ast.GeneratorExp, ast.IfExp, ast.Lambda, ast.ListComp, ast.SetComp,
)  # fmt: skip
"""In which a part may not be executed."""


def _list_certain(statement: ast.AST) -> set[str]:
    """Return the names that a statement without branches, or the head of one with some, binds if it is executed to its end."""
    if isinstance(statement, ast.AnnAssign):
        return set(list_targets(statement)) if statement.value is not None else set()
    pending = [statement]
    for node in pending:  # it grows meanwhile
        if not isinstance(node, _CONDITIONAL):
            pending += ast.iter_child_nodes(node)
    return collect_bound_names(pending)


def walk_all(trees: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield all nodes of several trees."""
    return (node for tree in trees for node in ast.walk(tree))


def list_bound(statement: ast.AST) -> set[str]:
    """Return the names that a statement other than a definition may bind."""
    if isinstance(statement, DEFINITION):
        return set()
    return collect_bound_names(list(ast.walk(statement)))


def list_local(trees: Iterable[ast.AST]) -> set[int]:
    """Return which names in trees are those of a comprehension or parameter around them, by their `id`."""
    local = set[int]()
    for node in walk_all(trees):
        if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            bound = set[str]().union(*(list_names(part.target) for part in node.generators))
            outside: list[ast.expr] = [node.generators[0].iter]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            bound = {part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)}
            outside = [*node.args.defaults, *(part for part in node.args.kw_defaults if part)]
        else:
            continue
        inside = {id(part) for part in ast.walk(node) if isinstance(part, ast.Name) and part.id in bound}
        local |= inside.difference(map(id, walk_all(outside)))
    return local


def list_names(statement: ast.AST) -> set[str]:
    """Return the names that a statement mentions."""
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}


def list_targets(statement: ast.AST) -> list[str]:
    """Return the names that an assignment binds; none of another statement."""
    targets = getattr(statement, "targets", None) or [getattr(statement, "target", ast.Pass())]
    return [
        node.id
        for target in targets
        for node in ast.walk(target)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]


def find_base(expression: ast.expr) -> str:
    """Return the name whose object, or a part of it, an expression is; empty for others."""
    while isinstance(expression, ast.Subscript | ast.Attribute | ast.Call):
        if isinstance(expression, ast.Call):
            if get_called_name(expression) not in ("get", "items", "setdefault", "values"):
                break
            expression = expression.func
        else:
            expression = expression.value
    return expression.id if isinstance(expression, ast.Name) else ""
