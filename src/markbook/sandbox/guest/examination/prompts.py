"""Which of the names that a benchmark's prompt binds are the tests' own, whatever a solution calls so.

Theory of operation. Tests may use what a prompt makes: constants, helpers, classes, containers. The prompt's code runs here, twice,
without what it says of the entry point (`run_twice`). What is immutable and equal both times is the examiner's own copy to the tests.
The rest a right answer may change, so the tests have the solution's (`leave_to_solutions`), with all that is made of it
(`list_derived`). By such an object a solution could say what a test expects. Nobody can list all ways to read one: lists of harmless
forms of tests were tried three times, and attackers found a hundred ways past each. So a test shows something only if it mentions
none of these objects, and none does where a prompt makes classes or writes the entry point itself (`gives_objects`). And lest a
text was misread, such a test has nothing of the solution but a function that calls it (`CompiledTests.restrict_names`).
"""

from __future__ import annotations

import ast
import builtins
import re
import signal
import types
from contextlib import contextmanager

from .. import wire
from . import expressions
from .claims import SAME
from .expressions import (
    DEFINITION,
    collect_bound_names,
    find_base,
    get_called_name,
    list_bound,
    list_names,
    parse,
    walk_all,
)
from .separation import own_random, run_alone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any


_MAKERS = frozenset(
    [
        "__builtins__", "__dict__", "__import__", "eval", "exec", "globals", "import_module", "locals", "make_dataclass", "modules",
        "namedtuple", "new_class", "partial", "partialmethod", "setattr", "update_wrapper", "vars", "wraps",
    ]
)  # fmt: skip
"""What makes an object with attributes, beside classes, or binds a name that the text does not show."""
_PLAIN_CLASSES = frozenset(("Counter", "Decimal", "Fraction", "OrderedDict", "Path", "TypeVar", *vars(builtins)))
"""Classes whose objects have no attributes that a call chooses."""
_PLAIN_DECORATORS = frozenset(
    ("abstractmethod", "cache", "classmethod", "lru_cache", "overload", "property", "staticmethod")
)


_GIVING = ast.Return | ast.Yield | ast.YieldFrom | ast.Lambda | DEFINITION
"""What a function has that is more than begun."""


def gives_objects(prompt: ast.Module, entry: str) -> bool:
    """Whether a prompt's code may make objects with attributes of its own, beside methods to be written, or writes the entry point."""
    for node in ast.walk(prompt):
        if isinstance(node, ast.ClassDef):
            written = [part for part in node.body if not (isinstance(part, DEFINITION) and is_stub(part))]
            is_given = bool(node.bases or node.keywords) or not is_stub(ast.ClassDef("", [], [], written, []))
        elif isinstance(node, DEFINITION):
            is_given = node.name == entry and (
                bool(node.decorator_list) or any(isinstance(part, _GIVING) for part in walk_all(node.body))
            )
        elif isinstance(node, ast.Call):
            name = get_called_name(node)
            is_given = (name[:1].isupper() and name not in _PLAIN_CLASSES) or (name == "type" and len(node.args) > 1)
        else:
            is_given = isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)
        decorators = {
            expressions.expression_key(getattr(part, "func", part)) for part in getattr(node, "decorator_list", ())
        }
        decorators = {name.removeprefix(".") for name in decorators}
        names = {getattr(node, "id", ""), getattr(node, "attr", "")}
        if is_given or not decorators <= _PLAIN_DECORATORS or not names.isdisjoint(_MAKERS):
            return True
    return False


def has_code(prose: str, entry: str) -> bool:
    """Whether a prompt that is not Python has code in it beside the head of the entry point."""
    definitions = {*re.findall(r"\b(?:def|class)\s+(\w+)", prose)} - {entry}
    return bool(definitions) or re.search(r"\blambda\b|^[ \t]+(?:return|yield)\b", prose, re.MULTILINE) is not None


_SECONDS = 30.0
"""After so much processor time a prompt's code is taken for one that never ends."""


def list_given(prompt: ast.Module, entry: str) -> list[ast.stmt]:
    """Return the prompt's code without what names the entry point."""
    return [
        node
        for node in prompt.body
        if not (node.name == entry if isinstance(node, DEFINITION) else entry in list_names(node))
    ]


def make_namespace(seed: int = 0) -> dict[str, Any]:
    """Return where a prompt's code runs by itself."""
    own = {
        **vars(builtins),
        "__import__": lambda name, *more: own_random(seed=seed) if name == "random" else __import__(name, *more),
    }
    return {"__name__": "solution", "__builtins__": own}


def walk_module(statements: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield the nodes of statements, and of definitions nothing but themselves."""
    pending = list(statements)
    for node in pending:  # it grows meanwhile
        yield node
        if not isinstance(node, DEFINITION):
            pending += ast.iter_child_nodes(node)


def run_twice(statements: list[ast.stmt]) -> tuple[Any, dict[str, tuple[Any, bool]]]:
    """Return a prompt's code compiled, and what it makes, each with whether it is equal when the code runs again.

    Nothing is made if it cannot be compiled or run. An iterator, a function or `object()` is not equal: it is not what a
    solution has under this name either. A class is made only where the solution has none of that name: a second one is
    another one, to `isinstance`, to `except` and to `==`.
    """
    guarded = list(statements)
    for at, node in enumerate(statements):
        if isinstance(node, ast.ClassDef):
            guarded[at] = ast.parse(f"if {node.name!r} not in globals():\n    pass").body[0]
            guarded[at].body = [node]  # type: ignore[attr-defined]  # of the `if`
    first, again = make_namespace(), make_namespace(seed=1)  # what is drawn may be something else
    try:
        code = compile(ast.Module(guarded, []), "<prompt>", "exec", dont_inherit=True)
        with _limit():
            with run_alone(first):
                exec(code, first)
            again |= {name: value for name, value in first.items() if isinstance(value, type)}
            with run_alone(again):
                exec(code, again)
        del first["__name__"], first["__builtins__"]
        return code, {name: (value, _is_same(value, again.get(name))) for name, value in first.items()}
    except BaseException:
        return None, {}


@contextmanager
def _limit() -> Iterator[None]:
    """Have a prompt's code interrupted that never ends."""
    handlers = {number: signal.signal(number, _give_up) for number in (signal.SIGPROF, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_PROF, _SECONDS, 1)
    signal.setitimer(signal.ITIMER_REAL, wire.PROMPT_SECONDS, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _give_up(_number: int, _frame: object) -> None:
    raise TimeoutError


def _is_same(value: Any, other: Any) -> bool:
    if not is_immutable(value):  # nobody asks, and containers that hold one another may take for ever to compare
        return False
    return value is other if is_code(value) else bool(value == other and value is not ...)


def is_immutable(value: Any) -> bool:
    """Whether an object is immutable; False also for tuples and frozen sets of very many parts."""
    parts = [value]
    for part in parts:  # it grows meanwhile
        kind = type(part)
        if kind in (tuple, frozenset) and len(parts) + len(part) < _MOST_PARTS:
            parts += part
        elif kind.__hash__ is None or not (kind in _IMMUTABLE or is_code(part) or kind.__module__ in _FROZEN_MODULES):
            return False
    return True


_IMMUTABLE = frozenset(
    (
        bool, bytes, complex, float, int, range, str, types.EllipsisType, types.GenericAlias, types.NoneType, types.UnionType,
    )
)  # fmt: skip
_FROZEN_MODULES = frozenset(("datetime", "decimal", "fractions", "re", "typing", "uuid"))
"""Whose hashable objects are immutable."""
_MOST_PARTS = 10_000


def is_code(value: Any) -> bool:
    """Whether an object is a module, a class or a function."""
    if isinstance(value, types.BuiltinFunctionType):
        return isinstance(value.__self__, types.ModuleType)  # else it is a method of some object
    return isinstance(value, types.ModuleType | type | types.FunctionType)


def is_plain_function(value: Any) -> bool:
    """Whether a function keeps nothing from one call to the next: not in its attributes, defaults or closure."""
    defaults = (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()) if callable(value) else ()
    return not (value.__closure__ or vars(value)) and all(map(is_immutable, defaults))


def leave_to_solutions(
    prompt: list[ast.stmt],
    values: dict[str, tuple[Any, bool]],
    tests: list[ast.Module],
    reassigned: list[str] | None,
    left_out: list[ast.stmt],
    entry: str,
) -> set[str]:
    """Return which names of the prompt stand for objects that a solution may change, or makes, so that right tests have its own.

    Args:
        prompt: its statements.
        values: what they make.
        tests: their syntax trees.
        reassigned: what a right answer replaces; None if none is known: then what is empty may be there to be filled.
        left_out: statements of the prompt that are not run.
        entry: what is tested.
    """
    imported = list_import_names(prompt, values)
    rebound = list_rebound([*prompt, *left_out, *tests]).union(reassigned or ()) & values.keys() - imported
    if reassigned is None:
        rebound |= {name for name, (value, _) in values.items() if is_immutable(value) and not value}
    theirs = rebound | (list_replaced([*prompt, *left_out, *tests]) & values.keys() - imported)
    # what a function of the prompt notes of its calls is noted by the solution's
    names_with_attributes = {find_base(node) for node in walk_all([*prompt, *tests]) if isinstance(node, ast.Attribute)}
    names_not_called = list_not_called(prompt, tests)
    for node in prompt:
        is_stateful = any(isinstance(part, ast.Global) for part in ast.walk(node))
        is_open = isinstance(node, DEFINITION) and (is_stub(node) or (reassigned is None and reads_nothing(node)))
        if is_stateful or is_open or isinstance(node, ast.ClassDef):
            theirs.add(getattr(node, "name", ""))
    for name, (value, is_same) in values.items():
        if is_function_of_prompt(value):
            is_own = is_plain_function(value) and name not in names_with_attributes | names_not_called
        else:
            is_own = is_same and bool(reassigned is not None or value)
        if not (is_own or name in imported):
            theirs.add(name)
    readers = list_readers(values)
    theirs = (theirs | close_over(rebound, readers)).union(*map(list_bound, left_out))
    drawing = list_drawing(prompt)
    sources = close_over(theirs | drawing | {entry}, readers) - drawing
    drawing_statements = [node for node in prompt if not drawing.isdisjoint(collect_words([node], texts=False))]
    drawn = set[str]().union(*map(list_bound, drawing_statements)) - imported
    return ((list_derived(sources | drawn, prompt) - sources) & values.keys() - imported) | theirs


DRAWING = frozenset(("RandomState", "default_rng", "randint", "randn", "random", "secrets", "urandom", "uuid", "uuid4"))
"""What gives numbers that nobody wrote."""
_DIFFERING = DRAWING | frozenset(
    [
        "SystemRandom", "getpid", "id", "mkdtemp", "mktemp", "monotonic", "now", "perf_counter", "process_time", "tempfile", "time", "time_ns",
        "today", "uuid1",
    ]
)  # fmt: skip
"""What gives something else each time, if not every time."""


def list_drawing(statements: Iterable[ast.AST]) -> set[str]:
    """Return the names by which code has what gives something else each time: by chance it gives the same twice."""
    names = set(_DIFFERING)
    for node in (node for node in walk_all(statements) if isinstance(node, ast.Import | ast.ImportFrom)):
        for alias in node.names:
            if not _DIFFERING.isdisjoint(f"{getattr(node, 'module', '')}.{alias.name}".split(".")):
                names.add((alias.asname or alias.name).partition(".")[0])
    return names


def list_derived(names: set[str], statements: list[ast.stmt]) -> set[str]:
    """Return names with those whose objects a statement makes of one of them as it is executed, such as a default of a function."""
    derived, before = set(names), -1
    while len(derived) != before:
        before = len(derived)
        for node in statements:
            executed: list[ast.AST] = [node]
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                executed = [node.args, *node.decorator_list]
            if not derived.isdisjoint(collect_words(executed)):
                derived |= {node.name} if isinstance(node, DEFINITION) else list_bound(node)
    return derived


def list_import_names(prompt: list[ast.stmt], values: dict[str, tuple[Any, bool]]) -> set[str]:
    """Return the names of a prompt that only its imports bind, but for those of objects that can be changed."""
    nodes = list(walk_module(prompt))
    aliases = [alias for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names]
    imported = collect_bound_names([*aliases])
    others = collect_bound_names([node for node in nodes if not isinstance(node, ast.alias)])
    if "*" in imported:
        imported |= {name for name, (value, _) in values.items() if getattr(value, "__module__", "") != "solution"}
    return {
        name
        for name in (imported & values.keys()) - others
        if callable(values[name][0]) or is_code(values[name][0]) or is_immutable(values[name][0])
    }


def list_not_called(prompt: list[ast.stmt], tests: list[ast.Module]) -> set[str]:
    """Return the names that stand for an object of which it matters which it is: not called by the tests, but handed over or compared.

    So are those that the functions of the prompt compare, or return; a name that the tests bind themselves stands for none of its objects.
    """
    nodes = list(walk_all(tests))
    own = collect_bound_names(nodes)
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    nodes = [node for node in nodes if getattr(node, "id", "") not in own]
    for node in walk_all(prompt):
        if isinstance(node, ast.Compare | ast.Return):
            parts = list(ast.walk(node))
            calls = [part for part in parts if isinstance(part, ast.Call)]
            called |= {id(part) for call in calls for part in (call.func, *call.args)}
            nodes += parts
    names = {node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return {node.id for node in names if id(node) not in called}


def is_function_of_prompt(value: Any) -> bool:
    """Whether an object is a function that the prompt's code has made."""
    return isinstance(value, types.FunctionType) and value.__module__ == "solution"


def list_readers(values: dict[str, tuple[Any, bool]]) -> list[list[str]]:
    """Return the prompt's functions, each with the names that it, or a function in it, reads."""
    readers = []
    for name, (value, _) in values.items():
        if is_function_of_prompt(value):
            defaults = [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
            for part in defaults:  # it grows meanwhile
                defaults += part if type(part) in (tuple, frozenset) else ()
            codes = [value.__code__, *(part.__code__ for part in defaults if is_function_of_prompt(part))]
            kinds = [part.__name__ for part in defaults if isinstance(part, type)]
            for code in codes:  # it grows meanwhile
                codes += [part for part in code.co_consts if isinstance(part, types.CodeType)]
            readers.append([name, *kinds, *sorted({read for code in codes for read in code.co_names})])
    return readers


def close_over(names: set[str], readers: list[list[str]]) -> set[str]:
    """Return names with the functions that read one of them, and those that read these, and so on."""
    closed, before = set(names), -1
    while len(closed) != before:
        before = len(closed)
        closed |= {name for name, *read in readers if not closed.isdisjoint(read)}
    return closed


def reads_nothing(definition: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Whether a function reads neither what it is called with nor anything else, so that it may be there to be written: `return 0`."""
    names = {part for part in walk_all(definition.body) if isinstance(part, ast.Name)}
    parameters = {part.arg for part in ast.walk(definition) if isinstance(part, ast.arg)}
    own = {part.id for part in names if isinstance(part.ctx, ast.Store)} - parameters
    read = {part.id for part in names} - own - {"print", "NotImplemented", "NotImplementedError"}
    return not (read or isinstance(definition, ast.ClassDef))


def is_stub(definition: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Whether a definition is there to be written: nothing is in it but a docstring, `pass`, `...` or `raise`."""
    return all(
        isinstance(part, ast.Pass | ast.Raise) or (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
        for part in definition.body
    )


_CALLERS = {"assertRaises": 1, "assertRaisesRegex": 1, "filter": 0, "map": 0, "raises": 1}
"""Functions that only call what they are given, with the place from which on they do."""


def looks_into(test: ast.Module, entry: set[str]) -> bool:
    """Whether a test does anything with the entry point but call it, or give it to a function that does, alone."""
    nodes = [*ast.walk(test)]
    definitions = [node for node in nodes if isinstance(node, DEFINITION)]
    calls_only, before = set[int](), -1
    for node in definitions:  # another function by its name, as in the references of EvalPlus
        own = {part.name for part in node.body if isinstance(part, DEFINITION)}
        calls_only |= {id(part) for part in walk_all(node.body) if getattr(part, "id", "") in own}
    while before != len(calls_only):
        before = len(calls_only)
        for call in (node for node in nodes if isinstance(node, ast.Call)):
            name = get_called_name(call)
            called = [node for node in definitions if node.name == name]
            if isinstance(call.func, ast.Name) and name in entry:
                calls_only.add(id(call.func))
            elif called:
                is_alone = len(call.args) == 1 and not call.keywords and getattr(call.args[0], "id", "") in entry
                parameters = [
                    [part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)]
                    if isinstance(node, ast.FunctionDef)
                    else []
                    for node in called
                ]
                if is_alone and all(len(names) == 1 for names in parameters):
                    calls_only.add(id(call.args[0]))
                    entry = entry.union(*parameters)
            elif name in _CALLERS:
                calls_only |= {id(part) for part in call.args[_CALLERS[name] :]}
    names = [node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    return any(node.id in entry and id(node) not in calls_only for node in names)


def list_heads(tree: ast.Module, entry: str) -> list[ast.stmt]:
    """Return what the head of the entry point's definition binds, by `:=` in a default, a decorator or a base."""
    definitions = (node for node in tree.body if isinstance(node, DEFINITION) and node.name == entry)
    heads = (part for node in definitions for part in ast.iter_child_nodes(node) if not isinstance(part, ast.stmt))
    return [ast.Expr(node) for node in walk_all(heads) if isinstance(node, ast.NamedExpr)]


def collect_words(trees: Iterable[ast.AST], *, texts: bool = True) -> set[str]:
    """Return the names that code uses or binds, and the words of its texts (`globals()['LIMIT']`) unless these are not asked for."""
    words = set[str]()
    for node in walk_all(trees):
        words.update(getattr(node, field, None) or "" for field in ("id", "name", "attr"))
        if isinstance(node, ast.Global):
            words.update(node.names)
        elif texts and isinstance(node, ast.Constant) and isinstance(node.value, str):
            words.update(re.findall(r"\w+", node.value))
    return words


def list_connected(names: set[str], statements: list[ast.stmt], values: dict[str, tuple[Any, bool]]) -> set[str]:
    """Return names with all that a statement of the prompt mentions beside one of them, and so on; modules connect nothing."""
    modules = {name for name, (value, _) in values.items() if isinstance(value, types.ModuleType)}
    links = [collect_words([node]) | list_bound(node) for node in statements]
    pythons = vars(builtins).keys() - values.keys() - set[str]().union(*map(list_bound, statements))
    links = [link - modules - pythons - {""} for link in links]
    reached, before = set(names), -1
    while len(reached) != before:
        before = len(reached)
        reached = reached.union(*(link for link in links if not reached.isdisjoint(link)))
    return reached


def list_rebound(trees: Iterable[ast.AST]) -> set[str]:
    """Return the names that a function rebinds: it declares them `global`, or sets them in `globals()`."""
    rebound = set[str]()
    for tree in trees:
        nodes = list(ast.walk(tree))
        declared = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
        rebound |= declared & collect_bound_names(nodes)
        for node in nodes:
            if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
                is_namespace = isinstance(node.value, ast.Call) and get_called_name(node.value) == "globals"
                rebound |= {str(getattr(node.slice, "value", ""))} if is_namespace else set()
    return rebound


def list_replaced(trees: Iterable[ast.AST]) -> set[str]:
    """Return the names that a function rebinds, or that code compares by identity.

    For these it matters whose object it is, even if it is immutable.
    """
    trees = list(trees)
    replaced = list_rebound(trees)
    for node in walk_all(trees):
        if isinstance(node, ast.Compare) and any(isinstance(how, ast.Is | ast.IsNot) for how in node.ops):
            sides = [node.left, *node.comparators]
            if not any(isinstance(side, ast.Constant) for side in sides):
                replaced.update(*map(list_names, sides))
        elif isinstance(node, ast.Call) and get_called_name(node) in (*SAME, "id"):
            replaced.update(*map(list_names, node.args))
    return replaced


def make_clearing(names: list[str]) -> Any:
    """Return code by which a name that a solution has, too, does not keep the prompt's code from making its own."""
    text = "".join(f"try: del {name}\nexcept NameError: pass\n" for name in names)
    return compile(text, "<prompt>", "exec", dont_inherit=True)


_DEEP = 64 * " "
"""An indentation that is deeper than that of any method whose head ends a prompt."""


def parse_prompt(prompt: str, entry: str = "") -> ast.Module | None:
    """Return the syntax tree of a prompt, which may end with the head of the function that is to be completed.

    Left out is a definition of the entry point in a branch (`if ..:`, `try:`).
    """
    tree = parse(prompt) or parse(f"{prompt.rstrip()}\n{_DEEP}pass\n")
    for node in (
        walk_module(statement for statement in tree.body if not isinstance(statement, DEFINITION)) if tree else ()
    ):
        for field in ("body", "orelse", "finalbody"):
            body = getattr(node, field, None)
            if isinstance(body, list) and not isinstance(node, DEFINITION):
                is_entry = [isinstance(part, DEFINITION) and part.name == entry for part in body]
                body[:] = [
                    ast.Pass(lineno=1, col_offset=0) if at else part for at, part in zip(is_entry, body, strict=True)
                ]
    return tree


def list_reassigned(reference: str, prompt: str) -> list[str] | None:
    """Return the names that a right answer assigns otherwise than its prompt does, or replaces; None if it is not Python."""
    tree, asking = parse(reference), parse_prompt(prompt)
    if tree is None or asking is None:
        return None
    of_prompt = {_dump(statement) for statement in asking.body} - {""}
    own = [statement for statement in tree.body if _dump(statement) not in of_prompt]
    declared = {name for node in walk_all(own) if isinstance(node, ast.Global) for name in node.names}
    defined = {node.name for node in own if isinstance(node, DEFINITION)}
    return sorted(declared.union(defined, list_replaced(own), *map(expressions.list_targets, own)))


def _dump(statement: ast.stmt) -> str:
    try:
        return ast.dump(statement)
    except RecursionError:  # a chain of hundreds of `elif`
        return ""


def is_idle(statement: ast.stmt, named: set[str]) -> bool:
    """Whether a statement of a prompt makes nothing that tests name, themselves or by what else it makes."""
    is_import = isinstance(statement, ast.Import | ast.ImportFrom) and statement.names[0].name != "*"
    is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return is_text or (is_import and named.isdisjoint(list_bound(statement)))
