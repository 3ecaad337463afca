"""What of a program of tests can make it fail, and of which of its parts an honest pass has executed some.

A test that nobody runs claims nothing. So the functions that look like tests are groups of parts: where none of a group was
executed, nothing says that the solution would have passed it. What cannot be seen to run is a group without parts.
"""

from __future__ import annotations

import ast
import re

from . import expressions
from .expressions import get_called_name
from .programs import is_claiming, is_claiming_name, list_asserting, list_entered, list_parts, never_goes_well

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
    for node in nodes:
        if id(node) not in excused and _claims_nothing(node, inert, has_mocks=has_mocks):
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


def _claims_nothing(node: ast.AST, inert: dict[str, bool], *, has_mocks: bool) -> bool:
    """Whether a part of a test looks like a claim and cannot fail by what is tested, by its own text."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Compare)
    if isinstance(node, ast.Assert):
        return cannot_fail(node.test)
    if isinstance(node, ast.Call):
        name, message = get_called_name(node), node.args[1] if len(node.args) > 1 else None
        is_text = not isinstance(message, ast.Constant | ast.List | ast.Tuple | ast.Dict) or (
            isinstance(message, ast.Constant) and isinstance(message.value, str | bool | None)
        )
        is_taken_for_value = name in ("assertTrue", "assertFalse") and not is_text
        if name == "assertTrue" and any(map(cannot_fail, node.args[:1])):
            return True
        return is_taken_for_value or (has_mocks and isinstance(node.func, ast.Attribute) and name in _NO_METHODS)
    if isinstance(node, ast.comprehension):
        return _is_empty(node.iter)
    if isinstance(node, _Function) and node.name.startswith("test") and inert.get(node.name) is False:
        return True
    statements = getattr(node, "body", None)
    body: list[ast.stmt] = statements if isinstance(statements, list) else []
    ends = (number for number, part in enumerate(body, 1) if isinstance(part, ast.Return | ast.Break | ast.Continue))
    dead = body[next(ends, len(body)) :]
    if isinstance(node, ast.For | ast.AsyncFor) and _is_empty(node.iter):
        dead = body
    if isinstance(node, ast.If | ast.While) and isinstance(node.test, ast.Constant) and not node.test.value:
        dead = body
    return any(find_claim(part, inert) for statement in dead for part in expressions.nodes(statement))


def cannot_fail(claim: ast.expr) -> bool:
    """Whether a claim is true whatever is tested: what `testcode` refuses where it stands alone, which the guest cannot import."""
    if isinstance(claim, ast.BoolOp) and isinstance(claim.op, ast.Or):
        return any(cannot_fail(part) or (isinstance(part, ast.Constant) and bool(part.value)) for part in claim.values)
    if isinstance(claim, ast.Dict):
        return any(key is not None for key in claim.keys)
    parts = claim.elts if isinstance(claim, ast.Tuple | ast.List | ast.Set) else ()
    return isinstance(claim, ast.Lambda | ast.GeneratorExp) or any(not isinstance(part, ast.Starred) for part in parts)


def _is_empty(values: ast.expr) -> bool:
    """Whether nothing is gone through: an empty list, or such a one beside others."""
    if isinstance(values, ast.Call):
        name, args = get_called_name(values), values.args
        is_zero = name == "range" and len(args) == 1 and isinstance(args[0], ast.Constant) and not args[0].value
        return is_zero or (name in ("zip", "enumerate") and any(map(_is_empty, args)))
    return isinstance(values, ast.List | ast.Tuple) and not values.elts


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
