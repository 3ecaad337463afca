"""What of a program of tests can make it fail, and of which of its parts an honest pass has executed some.

A test that nobody runs claims nothing. So the functions that look like tests are groups of parts: where none of a group was
executed, nothing says that the solution would have passed it. What cannot be seen to run is a group without parts.
"""

from __future__ import annotations

import ast
import re

from . import expressions
from .expressions import LOOKS_UP, collect_bound_names, collect_traced, flows, get_called_name
from .programs import is_claiming, is_claiming_name, list_asserting, list_entered, list_parts, never_goes_well

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_GIVEN = frozenset(("self", "cls", "candidate"))
"""What a function may want that is called by nobody but a runner of tests."""
_ELSEWHERE = frozenset(("testmod", "testfile", "DocTestSuite", "DocTestFinder", "run_docstring_examples"))
"""What looks for tests where there are none: the solution's module is another one."""
_TESTS = re.compile(r"\b(?:def\s+test|class\s+Test)")
_RUNS_TEXT = frozenset(("eval", "exec", "compile"))


def list_inert(nodes: list[ast.AST]) -> dict[str, bool]:
    """Return what asserts by its name, or is a test that compares, and claims nothing, each with whether it keeps what it found.

    One that is given what it calls may assert by that, and so is none.
    """
    functions: dict[str, list[_Function]] = {}
    for node in nodes:
        if isinstance(node, _Function):
            functions.setdefault(node.name, []).append(node)
    inert = {name for name in functions if is_claiming_name(name)}
    inside = {name: [part for helper in functions[name] for part in expressions.nodes(helper)] for name in functions}
    inert |= {name for name in functions if name.startswith("test") and ast.Compare in set(map(type, inside[name]))}
    # what is called by another name is the solution's
    unknown = {*functions, *_RUNS_TEXT}
    unknown |= {getattr(node, "asname", None) or node.name for node in nodes if isinstance(node, ast.alias)}
    unknown |= {node.arg for node in nodes if isinstance(node, ast.arg)} - _GIVEN
    unknown |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    harmless, size = set(inside), -1
    while size != len(harmless):
        size = len(harmless)
        harmless = {name for name in harmless if not any(_may_claim(part, harmless, unknown) for part in inside[name])}
    return {name: any(map(_keeps, inside[name])) for name in inert & harmless}


def _may_claim(part: ast.AST, harmless: set[str], unknown: set[str]) -> bool:
    if not isinstance(part, ast.Call):
        return isinstance(part, ast.Assert | ast.Raise)
    name = get_called_name(part)
    return name not in harmless and (not name or name in unknown or is_claiming_name(name))


def _keeps(part: ast.AST) -> bool:
    if isinstance(part, ast.Call):
        return get_called_name(part) in expressions.FILL
    is_outer = isinstance(part, ast.Attribute | ast.Subscript) and not isinstance(part.ctx, ast.Load)
    return is_outer or isinstance(part, ast.Global | ast.Nonlocal)


def find_claim(node: ast.AST, inert: dict[str, bool]) -> str:
    """Return by what a part of a test fails: an `assert`, a `call` that asserts, or a `failure`; empty if it does not.

    A `raise` of anything but an AssertionError is an `error`: an object that the test makes for the solution may do that.
    """
    if isinstance(node, ast.Assert):
        return "failure" if never_goes_well(node) else "assert"
    if isinstance(node, ast.Raise):
        return "failure" if never_goes_well(node) else "error"
    if not isinstance(node, ast.Call) or (name := get_called_name(node)) in inert or not is_claiming_name(name):
        return ""
    return "failure" if never_goes_well(node) else "" if _ends_well(node) else "call"


def _ends_well(node: ast.Call) -> bool:
    """Whether a call ends a program as one that succeeded, whatever came before."""
    is_end = get_called_name(node) in ("exit", "quit", "_exit")
    return is_end and all(isinstance(status, ast.Constant) and not status.value for status in node.args)


def required_parts(program: ast.Module, inert: dict[str, bool]) -> list[frozenset[int]]:
    """Return groups of a program's parts of which an honest pass executes at least one each.

    They are the assertions of a function that is called a test, that something names or decorates, or that only a runner
    could call: a list of tests that nobody runs names them, and so do a thread, a suite or an iterator that is only made.
    Where such a function may fail by other means, it counts that it was entered. What a decorator skips in any case is no
    group.

    Args:
        program: the tests.
        inert: what `list_inert` says of them.
    """
    nodes = expressions.nodes(program)
    parts, entered = list_parts(program), list_entered(program)
    numbers = {id(node): number for number, node in enumerate([*parts, *entered])}
    asserting = {id(claim) for part in parts for claim in (part, *list_asserting(part))}
    able = {
        id(part)
        for part in parts
        if not (isinstance(part, ast.Raise) or never_goes_well(part))
        and (isinstance(part, ast.Assert) or any(get_called_name(call) not in inert for call in list_asserting(part)))
    }
    named = {getattr(node, "id", "") or getattr(node, "attr", "") for node in nodes}
    named |= {node.value for node in nodes if isinstance(node, ast.Constant) and type(node.value) is str}
    kinds = {kind for node in nodes if (kind := find_claim(node, inert))}
    is_plain = kinds <= {"assert", "failure"} and not any(isinstance(node, ast.Raise) for node in nodes)
    groups = [frozenset(numbers[part] for part in able)] if is_plain else []
    groups += [frozenset((numbers[id(node)],)) for node in entered if isinstance(node, ast.Lambda)]
    pending: list[ast.AST] = [*program.body]
    while pending:
        node = pending.pop()
        if isinstance(node, _Function | ast.ClassDef) and any(map(_is_skip, node.decorator_list)):
            continue
        pending += [part for part in ast.iter_child_nodes(node) if not isinstance(part, ast.expr)]
        if not isinstance(node, _Function) or not (node.name in named or node.decorator_list or _is_for_runner(node)):
            continue
        inside = expressions.nodes(node)
        if id(node) in numbers:
            groups.append(frozenset((numbers[id(node)],)))
        elif all(id(part) in asserting for part in inside if find_claim(part, inert)):
            groups.append(frozenset(numbers[id(part)] for part in inside if id(part) in able))
    groups = [group for group in groups if group]
    unheard = unheard_parts(program)
    # `except Exception` catches the `assert False` before it, too
    is_hidden = any(number in unheard and never_goes_well(part) for number, part in enumerate(parts))
    return [*groups, frozenset()] if is_hidden or _hides_tests(nodes, inert) else groups


def _is_skip(decorator: ast.expr) -> bool:
    """Whether a decorator skips what it decorates, under no condition."""
    call = decorator.func if isinstance(decorator, ast.Call) else decorator
    return expressions.expression_key(call).removeprefix(".") == "skip"


def _is_for_runner(node: _Function) -> bool:
    """Whether a function that nothing names can only be meant for a runner of tests."""
    if node.name.startswith(("test", "check")) or node.name == "load_tests":
        return True
    arguments = node.args.posonlyargs + node.args.args
    needed = {argument.arg for argument in arguments[: len(arguments) - len(node.args.defaults)]}
    return needed <= _GIVEN and not node.name.startswith("_")


def _hides_tests(nodes: list[ast.AST], inert: dict[str, bool]) -> bool:
    """Whether a program has tests that cannot be seen to run: made of texts, looked for elsewhere, or of no consequence."""
    runs_text = any(isinstance(node, ast.Name) and node.id in _RUNS_TEXT for node in nodes)
    has_mocks = any(_MOCKS.search(getattr(node, "id", "") or str(getattr(node, "name", ""))) for node in nodes)
    # what is compared may be meant to raise
    caught = [
        part
        for node in nodes
        if isinstance(node, ast.Try) or list_asserting(node)
        for part in getattr(node, "body", ())
    ]
    excused = {id(part) for statement in caught for part in expressions.nodes(statement)}
    truths = list_truths(nodes)
    for node in nodes:
        if id(node) not in excused and _claims_nothing(node, inert, truths, has_mocks=has_mocks):
            return True
        if isinstance(node, ast.Constant):
            if runs_text and type(node.value) is str and _TESTS.search(node.value):
                return True
        elif isinstance(node, ast.Call) and get_called_name(node) in _ELSEWHERE:
            return True
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            # of one that keeps what it found it may be read later
            is_lost = inert.get(get_called_name(node.value)) is False
            if is_lost:
                return True
    return False


_MOCKS = re.compile(r"[Mm]ock|patch|create_autospec")
_NO_METHODS = frozenset(("called_once", "called_once_with", "called_with", "has_calls", "any_call", "not_called"))
"""What a mock is asked for by mistake: it has no such methods, and is true whatever it is asked."""


_RAISING = {"raises": 2, "warns": 2, "assertRaises": 2, "assertWarns": 2, "assertRaisesRegex": 3, "assertWarnsRegex": 3}
"""How many arguments these need to call something themselves."""


def _claims_nothing(node: ast.AST, inert: dict[str, bool], truths: dict[str, bool | None], *, has_mocks: bool) -> bool:
    """Whether a part of a test looks like a claim and cannot fail by what is tested, by its own text."""
    if isinstance(node, ast.Expr):
        value = node.value
        # what is only made, and no `with` enters
        needed = _RAISING.get(get_called_name(value), 0) if isinstance(value, ast.Call) else 0
        return isinstance(value, ast.Compare) or (isinstance(value, ast.Call) and 0 < len(value.args) < needed)
    if isinstance(node, ast.Assert):
        return cannot_fail(node.test, truths)
    if isinstance(node, ast.Call):
        name, message = get_called_name(node), node.args[1] if len(node.args) > 1 else None
        is_text = not isinstance(message, ast.Constant | ast.List | ast.Tuple | ast.Dict) or (
            isinstance(message, ast.Constant) and isinstance(message.value, str | bool | None)
        )
        is_taken_for_value = name in ("assertTrue", "assertFalse") and not is_text
        first, second = node.args[:1] or [ast.Constant(None)], node.args[1:2] or [ast.Constant(0)]
        claims = {
            "assertTrue": first[0],
            "assertFalse": ast.UnaryOp(ast.Not(), first[0]),
            "assertIs": ast.Compare(first[0], [ast.Is()], second),
            "assertIsNotNone": ast.Compare(first[0], [ast.IsNot()], [ast.Constant(None)]),
        }
        if name in claims and cannot_fail(claims[name], truths):
            return True
        return is_taken_for_value or (has_mocks and isinstance(node.func, ast.Attribute) and name in _NO_METHODS)
    if isinstance(node, ast.comprehension):
        return _is_empty(node.iter, truths)
    if isinstance(node, _Function) and node.name.startswith("test") and inert.get(node.name) is False:
        return True
    statements = getattr(node, "body", None)
    body: list[ast.stmt] = statements if isinstance(statements, list) else []
    ends = (number for number, part in enumerate(body, 1) if isinstance(part, ast.Return | ast.Break | ast.Continue))
    dead = body[next(ends, len(body)) :]
    if isinstance(node, ast.For | ast.AsyncFor) and _is_empty(node.iter, truths):
        dead = body
    if isinstance(node, ast.If | ast.While) and fold_truth(node.test, truths) is False:
        dead = body
    return any(find_claim(part, inert) for statement in dead for part in expressions.nodes(statement))


def cannot_fail(claim: ast.expr, truths: dict[str, bool | None] | None = None) -> bool:
    """Whether a claim is true whatever is tested; a number or `True` alone only says that what is before it ran."""
    is_mark = isinstance(claim, ast.Constant) and not isinstance(claim.value, str | bytes)
    return not is_mark and fold_truth(claim, truths or {}) is True


_TRUE = frozenset(("enumerate", "filter", "iter", "map", "object", "reversed", "type", "zip"))
"""What is true whatever these are called with."""
_COMPREHENSION = ast.ListComp | ast.SetComp | ast.DictComp
_DISPLAY = ast.List | ast.Tuple | ast.Set | ast.Dict | _COMPREHENSION
_OBJECT = _DISPLAY | ast.Compare | ast.JoinedStr | ast.Lambda | ast.GeneratorExp
"""Expressions that are not None, whatever is in them; no text of them is empty, but for that of a text."""


def fold_truth(node: ast.expr, truths: dict[str, bool | None]) -> bool | None:
    """Return whether an expression is true or false whatever is tested; None where that may hang on the solution.

    Args:
        node: the expression.
        truths: what `list_truths` says of names.
    """
    try:
        return _fold_parts(node, truths)
    except RecursionError:  # six hundred `not` in a row: such a text says nothing
        return None


def _fold_parts(node: ast.expr, truths: dict[str, bool | None]) -> bool | None:
    def read(part: ast.expr) -> bool | None:
        return _fold_parts(part, truths)

    node = node.value if isinstance(node, ast.NamedExpr) else node
    if isinstance(node, ast.Constant | ast.Name):
        return bool(node.value) if isinstance(node, ast.Constant) else truths.get(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        truth = read(node.operand)
        return None if truth is None else not truth
    if isinstance(node, ast.BoolOp):
        return _fold_many(map(read, node.values), is_any=isinstance(node.op, ast.Or))
    if isinstance(node, ast.IfExp):
        test, truth, otherwise = map(read, (node.test, node.body, node.orelse))
        return truth if test or truth is otherwise else otherwise if test is False else None
    if isinstance(node, ast.JoinedStr):
        return any(map(_has_text, node.values)) or None
    if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict):
        items = node.keys if isinstance(node, ast.Dict) else node.elts
        truths_of_parts = {
            read(item.value) if isinstance(item, ast.Starred) else item is not None or None for item in items
        }
        return True if True in truths_of_parts else None if items else False
    if isinstance(node, _COMPREHENSION):
        return _has_items(node, truths)
    if isinstance(node, ast.Call | ast.Compare):
        return fold_call(node, truths)
    return isinstance(node, ast.Lambda | ast.GeneratorExp) or None


def _has_items(loop: _COMPREHENSION | ast.GeneratorExp, truths: dict[str, bool | None]) -> bool | None:
    """Return whether a comprehension makes anything; None where that may hang on the solution."""
    first = loop.generators[0]
    is_all = len(loop.generators) == 1 and not first.ifs and isinstance(first.iter, _DISPLAY | ast.Constant)
    read = [_fold_parts(part, truths) for part in (first.iter, *first.ifs)]
    return False if False in read else read[0] if is_all else None


def fold_call(node: ast.Call | ast.Compare, truths: dict[str, bool | None]) -> bool | None:
    """Return what `fold_truth` does, for a call or a comparison."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        side, operator, other_side = node.left, node.ops[0], node.comparators[0]
        value = other_side.value if isinstance(other_side, ast.Constant) else ...
        if value is None and isinstance(side, _OBJECT) and isinstance(operator, ast.Is | ast.IsNot):
            return isinstance(operator, ast.IsNot)
        if isinstance(operator, ast.GtE | ast.Gt):
            is_length = isinstance(side, ast.Call) and get_called_name(side) == "len"
            is_negative = isinstance(other_side, ast.UnaryOp) and isinstance(other_side.op, ast.USub)
            return (is_length and (is_negative or (value == 0 and isinstance(operator, ast.GtE)))) or None
        # not by `==`: what equals itself may be an object of the solution's
        values = [other_side] if isinstance(operator, ast.Is) else getattr(other_side, "elts", ())
        is_one = isinstance(side, ast.Name) and any(getattr(part, "id", "") == side.id for part in values)
        both = _is_truth(side) and {True, False} <= {getattr(part, "value", None) for part in values}
        return (isinstance(operator, ast.Is | ast.In) and (is_one or both)) or None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in truths:
        name, argument = node.func.id, node.args[0] if node.args else None
        if name in ("all", "any") and isinstance(argument, ast.List | ast.Tuple | ast.Set):
            return _fold_many((_fold_parts(part, truths) for part in argument.elts), is_any=name == "any")
        if name in ("all", "any") and isinstance(argument, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            # of none all are true, and not any
            truth, has_any = _fold_parts(argument.elt, truths), _has_items(argument, truths)
            if name == "any":
                return _fold_many((truth, has_any), is_any=False)
            return truth is True or has_any is False or None
        if name == "print":
            return False
        if name == "isinstance" and len(node.args) == 2:
            kinds = {getattr(kind, "id", "") for kind in getattr(node.args[1], "elts", node.args[1:])}
            return "object" in kinds or ("bool" in kinds and _is_truth(node.args[0])) or None
        return (name in _TRUE or (name in ("repr", "str") and argument is not None and _has_text(argument))) or None
    return (isinstance(node, ast.Call) and truths.get(f"{getattr(node.func, 'id', '')}()")) or None


def _fold_many(parts: Iterable[bool | None], *, is_any: bool) -> bool | None:
    """Return the truth of `any` or `all` of these."""
    truths = set(parts)
    return is_any if is_any in truths else None if None in truths else not is_any


def _has_text(node: ast.expr) -> bool:
    """Whether what `str` makes of an expression, or a text with it in braces, is not empty."""
    if isinstance(node, ast.FormattedValue):
        return not node.format_spec and _has_text(node.value)
    if isinstance(node, ast.Constant):
        return bool(str(node.value))
    is_negated = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return is_negated or (isinstance(node, _OBJECT) and not isinstance(node, ast.JoinedStr))


def _is_truth(node: ast.expr) -> bool:
    """Whether an expression is True or False: of two objects of a solution's, `==` may make another thing."""
    if not isinstance(node, ast.Compare):
        return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    sides = (node.left, *node.comparators)
    return len(node.ops) == 1 and any(isinstance(side, ast.Constant) for side in sides)


def list_truths(nodes: list[ast.AST]) -> dict[str, bool | None]:
    """Return the names that a program binds with their truth, where what they stand for has the same in any case, else None.

    So it has where it is bound once, to a function, a class or what `fold_truth` knows; a list that more is done with than
    to go through it and to claim it may have been changed. Under `name()` stands that a call only makes a coroutine.
    """
    bindings: dict[str, list[ast.AST]] = {}
    values: dict[int, ast.expr] = {}
    looked_at: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            values[id(node.targets[0])] = node.value
        elif isinstance(node, ast.Assert):
            looked_at.add(id(node.test))
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            looked_at.add(id(node.iter))
        elif isinstance(node, ast.Call) and (is_claiming(node) or get_called_name(node) in ("enumerate", "zip")):
            looked_at |= set(map(id, node.args))
    for node in nodes:
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                bindings.setdefault(node.id, []).append(values.get(id(node), node))
            continue
        name = getattr(node, "asname", None) or getattr(node, "name", None)
        name = node.arg if isinstance(node, ast.arg) else str(name or "").partition(".")[0]
        bindings.setdefault(name, []).append(node)
    changeable = {
        node.id
        for node in nodes
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in looked_at
    }
    called = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    truths: dict[str, bool | None] = {}
    for name, binding in bindings.items():
        value, truths[name] = binding[0], None
        if len(binding) > 1:
            continue
        if isinstance(value, ast.arg) and name in called:
            truths[name] = True
        if isinstance(value, _Function | ast.ClassDef) and not value.decorator_list:
            truths[name] = True
            if isinstance(value, ast.AsyncFunctionDef):
                truths[f"{name}()"] = True
        elif isinstance(value, ast.expr) and not (
            isinstance(value, ast.Constant) or (isinstance(value, _DISPLAY) and name in changeable)
        ):  # a constant marks what was come by
            truths[name] = fold_truth(value, truths)
    return truths


def _is_empty(values: ast.expr, truths: dict[str, bool | None]) -> bool:
    """Whether nothing is gone through: an empty list, or such a one beside others."""
    if isinstance(values, ast.Call):
        name, args = get_called_name(values), values.args
        is_zero = name == "range" and len(args) == 1 and isinstance(args[0], ast.Constant) and not args[0].value
        return is_zero or (name in ("zip", "enumerate") and any(_is_empty(arg, truths) for arg in args))
    return fold_truth(values, truths) is False


_CAUGHT = frozenset(("", "AssertionError", "Exception", "BaseException"))
_STARTS = frozenset(("Thread", "start_new_thread", "submit", "map", "create_task", "ensure_future"))
"""What calls a function where nobody hears how it ends, unless its result is read."""
_VERDICTS = frozenset(("wasSuccessful", "failures", "errors"))


def unheard_parts(program: ast.Module) -> frozenset[int]:
    """Return the parts of a program that may fail and the program pass, by its own text and whatever is tested.

    They stand where a failed assertion is caught and only printed, in functions that run in a thread, in test cases whose
    result nobody reads, and in functions within functions that nothing calls by their names.
    """
    nodes = expressions.nodes(program)
    numbers = {id(part): number for number, part in enumerate(list_parts(program))}
    printed = {
        id(part)
        for node in nodes
        if isinstance(node, ast.Call) and get_called_name(node) == "print"
        for part in ast.walk(node)
    }
    read = {
        getattr(node, "id", "") or getattr(node, "attr", "")
        for node in nodes
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load) and id(node) not in printed
    }
    functions = {node.name: node for node in nodes if isinstance(node, _Function)}
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    called = [node.func.id for node in calls if isinstance(node.func, ast.Name)]
    regions: list[ast.AST] = []
    for node in nodes:
        if isinstance(node, ast.Try | ast.With | ast.AsyncWith):
            regions += node.body if _swallows(node, read) else []
        elif isinstance(node, ast.ClassDef) and "run" in read and not read & _VERDICTS:
            regions.append(node)
        elif isinstance(node, _Function):
            within = (part for statement in node.body for part in expressions.nodes(statement))
            regions += [part for part in within if isinstance(part, _Function) and part.name not in called]
        elif isinstance(node, ast.Call) and get_called_name(node) in _STARTS and "result" not in read:
            arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
            names = [part.id for value in arguments for part in ast.walk(value) if isinstance(part, ast.Name)]
            regions += [functions[name] for name in names if name in functions]
    unheard: set[int] = set()
    for region in regions:  # it grows meanwhile
        inside = expressions.nodes(region)
        unheard |= {id(part) for part in inside}
        for name in {part.func.id for part in inside if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)}:
            heard = [call for call in calls if id(call) not in unheard and getattr(call.func, "id", "") == name]
            if name in functions and not heard and functions[name] not in regions:
                regions.append(functions[name])
    return frozenset(number for part, number in numbers.items() if part in unheard)


def _swallows(node: ast.Try | ast.With | ast.AsyncWith, read: set[str]) -> bool:
    """Whether a failed assertion ends in a `try` or a `suppress`, and nothing that it leaves behind is read."""
    if not isinstance(node, ast.Try):
        calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
        return any(get_called_name(call) == "suppress" and any(map(_catches, call.args)) for call in calls)
    inside = [part for child in ast.iter_child_nodes(node) for part in expressions.nodes(child)]
    assigned = {part.id for part in inside if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)}
    caught = [part for handler in node.handlers if _catches(handler.type) for part in expressions.nodes(handler)]
    ends = ast.Raise | ast.Assert | ast.Return | ast.Break | ast.Continue
    leaves = any(isinstance(part, ends) or is_claiming(part) for part in caught)
    return bool(caught) and not leaves and assigned.isdisjoint(read) and not any(map(_keeps, inside))


def _catches(kinds: ast.expr | None) -> bool:
    return any(getattr(kind, "id", "") in _CAUGHT for kind in getattr(kinds, "elts", [kinds]))


_CALLING = frozenset(("map", "starmap", "partial", "reduce", "filter"))
"""What calls its first argument."""
SAME = frozenset(("assertIs", "assertIsNot"))
"""What asks whether two things are one: what is made of other arguments may rightly be the same one again."""


def makers(nodes: list[ast.AST], names: set[str], tested: set[str]) -> set[str]:
    """Return by which of these names, as far as they are the solution's, a test makes what it compares with.

    Args:
        nodes: of the test.
        names: those that it uses.
        tested: what the tested object is called there.
    """
    maker_names: set[str] = set()
    theirs = names - collect_bound_names(nodes)
    if not theirs:
        return maker_names
    values_by_name = flows(nodes)
    # the solution's class or function by another name is one of these, too
    aliases = {
        name
        for name, values in values_by_name.items()
        if any(isinstance(value, ast.Name) and value.id in theirs for value in values)
    }
    names = theirs | aliases
    names_of_solution, calls_by_name = names | tested, dict[tuple[str, int], set[str]]()
    for node in nodes:
        sides: list[ast.expr] = []
        if isinstance(node, ast.Compare) and not isinstance(node.ops[0], ast.Is | ast.IsNot):
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and compares(get_called_name(node)):
            sides = node.args
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LOOKS_UP:
            sides = [node.func.value, *node.args]
        if len(sides) > 1:
            calls = [
                collect_traced(side, values_by_name, lambda part: _called_name(part) & names_of_solution, calls_by_name)
                for side in sides
            ]
            if sum(map(bool, calls)) > 1:
                maker_names.update(*calls)
    return maker_names & names


def compares(name: str) -> bool:
    """Whether what is called so compares what it is given."""
    return (name.lower().startswith("assert") and name not in SAME) or name == "eq"


def _called_name(node: ast.AST) -> set[str]:
    """Return the names that a call calls: its function's, and what it hands over to be called (`map(Point, ..)`)."""
    if not isinstance(node, ast.Call):
        return set()
    return {
        part.id for part in (node.func, *node.args[: get_called_name(node) in _CALLING]) if isinstance(part, ast.Name)
    }
