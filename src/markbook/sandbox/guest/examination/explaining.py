"""Why tests failed: the attempt is run once more with tests that say what they compare. The verdict is given by then.

A test that was decided apart from the solution is looked at apart from it: here, over the same stand-ins and by the same
policy. What it expects never enters the solution's process, which could leave it for the next attempt.
"""

from __future__ import annotations

import ast
import marshal
import re
import signal

from .. import explained, wire
from ..exchange.policy import Policy
from ..explained import APART, EXPLAIN, FAILED, SEEN
from ..marking import Sticky
from . import expressions
from .expressions import expression_key, get_called_name
from .programs import FILE, allow_deep_trees
from .separation import Hall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    from .tasks import CompiledTests, ExaminerJob

    class ExplainedAttempt(Protocol):
        """A child, as the examiner starts and ends it."""

        link: wire.PipePair

        def end(self) -> dict[str, Any]:
            """End it; return how it ended."""

    Begin = Callable[..., ExplainedAttempt]
    """Starts one for a job; `beside`: one beside which tests run."""

SECONDS = 1.0
"""Processor time of the second run at most: one that reached its limit is only looked at for where it was."""
OURS = 4 * SECONDS
"""Seconds of the examiner's own processor time beyond the attempt's limit: the solution reaches its limit first."""
_LONGER = 3.0
"""So many times as long as the first run the second may take, where that came to its end."""
_SLEEPS = 12.0
"""Seconds after which one that sleeps is ended."""
_MESSAGES = 400
"""More than these are not listened to: one comes after each test."""
_SOURCE = 300
_TRACED = re.compile(r'^  File "<solution>", line (\d{1,6}), in (.{1,100})$', re.MULTILINE)
_LINE = re.compile(r"\(<solution>, line (\d+)\)")
_OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "is",
    ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_COMPARING = frozenset(("isclose", "allclose", "array_equal"))


def explain(
    task: CompiledTests, job: ExaminerJob, code: Any, record: dict[str, Any], begin: Begin
) -> dict[str, Any] | None:
    """Return why tests of an attempt failed, None where there is nothing to say.

    Args:
        task: its tests.
        job: the attempt.
        code: its solution, compiled or as text; None where it is not Python.
        record: what became of it.
        begin: starts a child.
    """
    failed = [
        index
        for index, test in enumerate(record["tests"])
        if not test["p"] and not task.faults[index] and test.get("v") != "flagged"
    ]
    if task.kind == "text":
        failed = [index for index in failed if not task.beside[index]]
    if not failed:
        return None
    if task.kind != "text" and (code is None or (record.get("error") or {}).get("k") == "s"):
        error = record.get("error") or {}
        message = str(error.get("m", ""))
        line_match = _LINE.search(message)
        explanation: dict[str, Any] = {
            "error": f"{error.get('t', '')}: {message}",
            "lines": [[int(line_match[1]), ""]] if line_match else [],
        }
    elif task.kind == "text":
        # Look at tests of a text, in which nothing of the candidate's runs
        watch = explained.Watch()
        namespace: dict[str, Any] = {"text": job["code"], "candidate_solution": job["code"], "__name__": "test"}
        for _ in explained.run(watch_tests(task, failed), namespace, watch):
            pass
        explanation = _add_sources(task, {"tests": watch.found, "left_out": watch.left_out})
    else:
        plan = job.get("plan") or {"tests": [None] * len(task.tests)}
        apart = [
            index for index in failed if plan["tests"][index] is not None and record["tests"][index]["v"] == "separated"
        ]
        limits = list(job["limits"])
        seconds = SECONDS if record.get("hit") else max(SECONDS, _LONGER * record.get("cpu", 0.0))
        # from outside it is ended later than it ends itself, which says where it was
        limits[0], limits[1] = min(limits[0], seconds) + 1, min(limits[1], _SLEEPS)
        explanation = _run_apart(task, job, code, apart, limits, begin) if apart else {}
        there = [index for index in failed if index not in apart]
        if not apart or (there and record["error"] is None):
            other = _run(task, job, code, there, limits, begin)
            merged = {**other, **{name: value for name, value in explanation.items() if value}}
            if explanation:  # two looks at different tests: the first says what is said once, such as the limit
                merged["tests"] = [*explanation["tests"], *other["tests"]]
                counts = [part.get("left_out") for part in (explanation, other)]
                merged["left_out"] = sum(count for count in counts if type(count) is int)
            explanation = merged
    return with_lines(explanation, job["code"]) if explanation else None


def explain_output(index: int, fed: str, expected_output: str, output: bytes, errors: bytes) -> dict[str, Any]:
    """Return what a program that failed a test read, was to print and printed: of long ones the part that differs."""
    got, expected = output.decode("utf-8", "replace"), expected_output
    most = explained.VALUE
    apart = next(
        (at for at, (a, b) in enumerate(zip(got, expected, strict=False)) if a != b), min(len(got), len(expected))
    )
    begin = max(0, apart - most // 2) if max(len(got), len(expected)) > most else 0
    texts = {"got": explained.part(got, begin), "expected": explained.part(expected, begin), "source": fed[:_SOURCE]}
    # the line in which they first differ; spaces at the ends of lines do not count
    ours, theirs = got.rstrip().split("\n"), expected.rstrip().split("\n")
    difference = f"got {len(ours)} lines, expected {len(theirs)}" if len(ours) != len(theirs) else ""
    for number, (line, other) in enumerate(zip(ours, theirs, strict=False), 1):
        if line.rstrip() != other.rstrip():
            difference = f"first differs in line {number}: {line[:80]!r} instead of {other[:80]!r}"
            break
    heard = errors.decode("utf-8", "replace")
    lines = [[int(match[1]), match[2]] for match in _TRACED.finditer(heard)]
    return {"test": index, "part": -1, "op": "prints", **texts, "difference": difference, "err": heard, "lines": lines}


def _run_apart(
    task: CompiledTests, job: ExaminerJob, code: Any, which: list[int], limits: list[float], begin: Begin
) -> dict[str, Any]:  # fmt: skip
    """Look at tests that stay here. One that reaches a limit says nothing, those before it what they said."""
    tests = watch_tests(task, which)
    attempt = begin({**job, "limits": limits})
    hall = Hall(attempt.link, task, job["code"])
    watch = explained.Watch()
    watch.lines = hall.find_lines
    plan, facts, noted = job["plan"], {}, 0
    done = False
    try:
        request = (APART, code, expressions.speaks_of_random(job["code"]), limits[6], (limits[0] - 1, task.asks))
        attempt.link.send(marshal.dumps(request))
        if hall.enter(plan["pins"]) is not None:
            facts = _record(hall.why)
        else:
            for test in tests:
                noted = len(watch.found)
                facts = _record(hall.watch(test, Policy(plan["tests"][test[0]]), watch))
                if facts.get("limit"):
                    del watch.found[noted:]  # the limit ended it, not what it compares
                    break
                facts.pop("lines", None)
        done = True
    except wire.Gone:
        pass  # what was said before is what there is
    except Sticky:  # as if the solution had used the time up: between the two it is only who is first
        signal.setitimer(signal.ITIMER_PROF, 0)
        del watch.found[noted:]
        facts = {"limit": "cpu"}
    finally:
        end = attempt.end()
    if not done and not facts.get("limit"):
        facts["limit"] = end["hit"]
    return _add_sources(
        task, {**facts, **_bound_value({"tests": watch.found, "left_out": watch.left_out}), "again": True}
    )


def _record(record: Any) -> dict[str, Any]:
    """Return what a solution's process says of itself: a dict with these names in it and no others."""
    facts = record if type(record) is dict else {}
    return {
        name: _bound_value(facts[name]) for name in ("out", "err", "lines", "limit", "error", "kind") if name in facts
    }


def _run(
    task: CompiledTests, job: ExaminerJob, code: Any, failed: list[int], limits: list[float], begin: Begin
) -> dict[str, Any]:  # fmt: skip
    """Look at tests that go to the solution's process, as they did for their verdict."""
    request = (
        limits[0] - 1,
        job["code"],
        task.name,
        task.aliases,
        task.helpers(job["code"]),
        task.list_living(job["code"]),
        watch_tests(task, failed),
    )
    record: dict[str, Any] = {}
    attempt = begin({**job, "limits": limits}, beside=True)  # what comes before may fail, and this is to be ended
    try:
        attempt.link.send(marshal.dumps((EXPLAIN, code, expressions.speaks_of_random(job["code"]), limits[6], request)))
        stream = wire.Stream(attempt.link)
        for _ in range(_MESSAGES):  # each says all that is known by then, so the last one that came is enough
            message = stream.next()
            record = message or record
            if message is None or message.get("done"):
                break
    except wire.Gone:
        pass  # what was said before is what there is
    end = attempt.end()
    if not record.get("done") and not record.get("limit"):
        record["limit"] = end["hit"]
    return _add_sources(task, {**_bound_value(record), "again": True})


def watch_tests(task: CompiledTests, which: list[int]) -> list[explained.Test]:
    """Return tests that say what they compare, compiled once a task."""
    own = {task.name, "candidate", *task.aliases} - {""}
    with allow_deep_trees():
        for index in which:
            if index in task.watched:
                continue
            test = task.tests[index]
            text = test.get("setup", "")
            setup = compile(text, FILE, "exec", dont_inherit=True) if text.strip() else None
            body, sources = None, [""]
            if test.get("program"):
                program = ast.parse(test["program"], FILE)
                asserts = [node for node in expressions.nodes(program) if isinstance(node, ast.Assert)]
                asserts.sort(key=lambda node: (node.lineno, node.col_offset))
                sources = [(ast.get_source_segment(test["program"], node) or "")[:_SOURCE] for node in asserts]
                numbers = {id(node): number for number, node in enumerate(asserts)}
                program.body = _statements(program.body, numbers, own, goes_on=True)
                body = compile(ast.fix_missing_locations(program), FILE, "exec", dont_inherit=True)
            elif text := test.get("assertion", "").strip():
                tree = ast.parse(text, FILE, "eval")
                tree.body = _watch_expression(tree.body, -1, own)
                body, sources = (
                    compile(ast.fix_missing_locations(tree), FILE, "eval", dont_inherit=True),
                    [text[:_SOURCE]],
                )
            # the setup, the body and whether it is an expression; and the source of each assertion
            task.watched[index] = (setup, body, not test.get("program")), sources
    return [(index, *task.watched[index][0]) for index in which]


def _statements(body: list[ast.stmt], numbers: dict[int, int], own: set[str], *, goes_on: bool) -> list[ast.stmt]:
    """Return statements whose assertions report; those at the top and in `check` let the ones behind them run."""
    statements: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.Assert):
            statements.append(_report_assert(node, numbers[id(node)], own, goes_on=goes_on))
            continue
        # within a `try` of the test's an assertion has to raise, so that the handlers see it
        within = goes_on and not isinstance(node, ast.Try | ast.ClassDef)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            within = within and node.name == "check"
        for field in ("body", "orelse", "finalbody"):
            inner = getattr(node, field, None)
            if isinstance(inner, list) and inner and isinstance(inner[0], ast.stmt):
                setattr(node, field, _statements(inner, numbers, own, goes_on=within))
        for child in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            child.body = _statements(child.body, numbers, own, goes_on=False)
        statements.append(node)
    return statements


def _report_assert(node: ast.Assert, number: int, own: set[str], *, goes_on: bool) -> ast.stmt:
    part, condition = ast.Constant(number), ast.UnaryOp(ast.Not(), _watch_expression(node.test, number, own))
    if not goes_on:
        error = ast.Call(ast.Name("AssertionError", ast.Load()), [node.msg] if node.msg else [], [])
        return ast.copy_location(ast.If(condition, [ast.Raise(error, None)], []), node)
    words = [ast.keyword("words", node.msg)] if node.msg else []
    failed = ast.Expr(ast.Call(ast.Name(FAILED, ast.Load()), [part], words))
    caught = ast.Expr(ast.Call(ast.Name(FAILED, ast.Load()), [part, ast.Name("__markbook_error__", ast.Load())], []))
    handler = ast.ExceptHandler(ast.Name("BaseException", ast.Load()), "__markbook_error__", [caught])
    return ast.copy_location(ast.Try([ast.If(condition, [failed], [])], [handler], [], []), node)


def _watch_expression(node: ast.expr, number: int, own: set[str]) -> ast.expr:
    """Return an expression of the same value that reports what it compares where it is false."""
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        return ast.copy_location(
            ast.BoolOp(node.op, [_watch_expression(part, number, own) for part in node.values]), node
        )
    part = ast.Constant(number)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        operator = ast.Constant(_OPERATORS[type(node.ops[0])])
        left_side, right = node.left, node.comparators[0]
        match left_side:
            case ast.Call(func=ast.Name(id="abs"), args=[ast.BinOp(op=ast.Sub()) as apart]) if operator.value in (
                "<",
                "<=",
            ):
                return _report("near", [part, operator, *_order_operands(apart.left, apart.right, own)[0], right], node)
        (actual, other), turned = _order_operands(left_side, right, own)
        if turned and operator.value in ("==", "!=", "is", "is not"):
            return _report("compared", [part, operator, actual, other], node)
        return _report("compared", [part, operator, left_side, right], node)
    if (
        isinstance(node, ast.Call)
        and get_called_name(node) in _COMPARING
        and len(node.args) >= 2
        and not (
            any(isinstance(argument, ast.Starred) for argument in node.args)
            or any(keyword.arg is None for keyword in node.keywords)
        )
    ):
        (actual, other), _ = _order_operands(node.args[0], node.args[1], own)
        arguments = [part, ast.Constant(get_called_name(node)), node.func, actual, other, *node.args[2:]]
        return _report("called", arguments, node, node.keywords)
    return _report("value", [part, node], node)


def _order_operands(left_side: ast.expr, right: ast.expr, own: set[str]) -> tuple[tuple[ast.expr, ast.expr], bool]:
    """Return what the solution gave, what was wanted, and whether they stand the other way round."""

    def count_names(node: ast.expr) -> int:
        if any(expression_key(part).removeprefix(".") in own for part in ast.walk(node)):
            return 2
        return int(any(isinstance(part, ast.Name | ast.Call) for part in ast.walk(node)))

    turned = count_names(right) > count_names(left_side)
    return ((right, left_side) if turned else (left_side, right)), turned


def _report(how: str, arguments: list[ast.expr], node: ast.expr, named: list[ast.keyword] | None = None) -> ast.expr:
    calls = ast.Subscript(ast.Name(SEEN, ast.Load()), ast.Constant(how), ast.Load())
    return ast.copy_location(ast.Call(calls, arguments, named or []), node)


def _bound_value(value: Any, depth: int = 6) -> Any:
    """Return what a child said, as large as it may be."""
    if type(value) is str:
        return value[: explained.TEXT]
    if depth and type(value) is list:
        return [_bound_value(item, depth - 1) for item in value[: explained.MOST]]
    if depth and type(value) is dict:
        return {
            name[:20]: _bound_value(item, depth - 1) for name, item in list(value.items())[:20] if type(name) is str
        }
    return value if value is True or type(value) is int else None


def _add_sources(task: CompiledTests, explanation: dict[str, Any]) -> dict[str, Any]:
    """Put the source of its assertion to each test that is explained; leave out what names none."""
    tests = []
    tests_found = explanation.get("tests")
    for test in tests_found if type(tests_found) is list else ():
        index, part = (test.get("test"), test.get("part")) if type(test) is dict else (None, None)
        if type(index) is not int or type(part) is not int or index not in task.watched:
            continue
        sources = task.watched[index][1]
        at = max(part, 0) if part >= 0 or len(sources) == 1 else -1
        tests.append({**test, "source": sources[at] if 0 <= at < len(sources) else ""})
    return {**explanation, "tests": tests}


def _holds(node: Any, line: int) -> bool:
    return bool(node.lineno <= line <= (node.end_lineno or node.lineno))


def with_lines(explanation: dict[str, Any], code: str) -> dict[str, Any]:
    """Put the solution's own text to the lines that are named."""
    text = code.split("\n") if len(code) <= 1 << 20 else []
    if explanation.get("limit") and type(explanation.get("lines")) is list:
        # the same at every run: where a limit finds an attempt is chance, the first loop around that is not
        tree = expressions.parse(code)
        nodes = expressions.nodes(tree) if tree is not None else []
        functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)]
        loops = [node for node in nodes if isinstance(node, ast.For | ast.AsyncFor | ast.While)]
        until_loop: list[Any] = []
        for entry in explanation["lines"]:
            if type(entry) is not list or len(entry) != 2 or type(entry[0]) is not int:
                break
            within = max((node.lineno for node in functions if _holds(node, entry[0])), default=0)
            around = [node.lineno for node in loops if _holds(node, entry[0]) and node.lineno >= within]
            until_loop.append([min(around), entry[1]] if around else entry)
            if around:
                break
        explanation["lines"] = until_loop
    for record in (explanation, *explanation.get("tests", ())):
        lines = record.get("lines")
        if type(lines) is not list:
            continue
        record["lines"] = [
            [line[0], line[1], text[line[0] - 1].strip()[:200] if 0 < line[0] <= len(text) else ""]
            for line in lines[:8]
            if type(line) is list and len(line) == 2 and type(line[0]) is int and type(line[1]) is str
        ]
    return explanation
