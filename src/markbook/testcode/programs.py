"""Test programs of benchmarks: reading them as Python, making a program out of a benchmark's parts, and whether one can fail at all.

Theory of operation
-------------------
Benchmarks write their tests for some runner. HumanEval defines `check(candidate)`, BigCodeBench a `unittest.TestCase`,
others functions for pytest or a script under `if __name__ == "__main__":`. Run as they stand, such programs define
tests, call none, end well, and every answer passes. Three steps prevent that, all on the syntax tree; nothing is run.

1. *As a script* (`_as_script`). What stands under the main guard is made to run, runners (`unittest.main()`) are left
   out, and a last `sys.exit(status)` becomes the claim that it is success. These are edits of the text, from the last
   to the first, and each keeps the number of lines, so that a traceback points at the benchmark's own line.
2. *Completed* (`complete_program`). Calls of what is defined as a test and that nothing in the program reaches are
   appended: `check(entry)`, functions named `test...`, methods of `Test...` classes, and one suite of all test cases
   whose result is asserted: each has succeeded, or was skipped by a decorator or `self.skipTest`, and not all were. "Reaches" is
   the closure over names spoken where the program is executed (`Suites.collect_spoken`), but for tests that are only named
   (`tests = [test_b]`) in a program that calls nothing that they could be.
3. *Judged* (`fault`, `find_fault`). Of the completed program is asked whether anything that is reached can fail: an
   `assert` that is not always true, an `assert...` method, a `raise`. If not, the test is broken and is excluded for
   all models; a comparison whose value is dropped gets a message of its own. Tests that need pytest itself (fixtures,
   parameters, marks) are broken too, for here nobody would call them.

The analysis errs to one side only: a test is called broken only if no part that is reached could fail, and where names
are looked up in texts (`globals()`, `eval`) everything counts as reached. What it lets pass wrongly is found at run
time, where a pass in which no `assert` was reached, or a test was never entered, is `unchecked`.

Texts are hostile: they may be deep or long enough to exhaust the parser. Every such error is one of `UNPARSABLE`, and
what cannot be parsed is returned as it is and fails when it is run.
"""

from __future__ import annotations

import ast
import codeop
import re
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache
from types import CodeType
from typing import TypeGuard

from markbook.types import Test

# Other people's Python: parsed without a word about it, for a bad escape in their text is not this user's to be warned of.

UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What a text that is not Python raises; ValueError for NUL bytes, the last two for one that is nested too deeply."""

_LOCK = threading.RLock()
"""Two threads at a time neither may hide warnings, which are the process's, nor build trees: Python 3.11.7 and others
count how deep they are for both together, and fail."""


def parse_python(text: str, mode: str = "exec") -> ast.Module:
    """Return the syntax tree of a text, that of an expression with `mode="eval"`.

    Raises:
        SyntaxError: it is not Python; like the others of `UNPARSABLE`.
    """
    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree: ast.Module = ast.parse(text, mode=mode)  # type: ignore[assignment]  # of an expression it is an Expression
    return tree


def compile_tree(tree: ast.Module) -> CodeType:
    """Return the code of a syntax tree, which is not run.

    Raises:
        SyntaxError: it stands for no program (`return` outside a function); like the others of `UNPARSABLE`.
    """
    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code: CodeType = compile(tree, "<text>", "exec")
    return code


def parse(text: str) -> ast.Module | None:
    """Return the syntax tree of a text, None if it is not Python."""
    try:
        return parse_python(text)
    except UNPARSABLE:
        return None


def ends_early(text: str) -> bool:
    """Whether a text is Python as far as it goes: a module, or one that only its end breaks off."""
    try:
        with _LOCK, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "<text>", "exec", ast.PyCF_ONLY_AST | codeop.PyCF_ALLOW_INCOMPLETE_INPUT)  # type: ignore[attr-defined]  # the stubs lack it
    except UNPARSABLE as error:
        return getattr(error, "msg", "") == "incomplete input"
    return True


# Tests that would pass whatever is tested, and tests that only pytest can run as they are meant.

_SHOWN = 60
"""Characters of a test that are quoted."""


def find_fault(test: Test, entry: str = "") -> str:
    """Return why nobody can be marked by a test, empty if somebody can: a part is not Python, or would always pass.

    The one rule for exams, tasks, the API and the server; `program_fault` and `fault` are its part about programs. Of
    a test that compares what a program prints only the code beside it is looked at.
    """
    trees: dict[str, ast.Module] = {}
    for name, source, mode in (
        ("ctx", test.setup, "exec"),
        ("assertion", test.assertion.strip(), "eval"),
        ("program", complete_program(test.program, entry), "exec"),
    ):
        try:
            if source:
                trees[name] = parse_python(source, mode)
        except UNPARSABLE as error:
            return f"the {name} does not parse: {getattr(error, 'msg', error)}"
    if test.stdin is not None:
        return ""
    if "assertion" in trees:
        if is_always_true(trees["assertion"].body):  # type: ignore[arg-type]  # that of an expression
            return "the assertion is a list, a tuple, a function or the like, and always true"
        if not test.setup and _is_constant(trees["assertion"].body):  # type: ignore[arg-type]  # likewise
            return "the assertion is a constant: it would pass whatever is tested"
    elif "program" in trees:
        if claim_fault := fault(trees["program"]):
            return claim_fault
    elif "ctx" in trees and not (test.inspection or test.pattern) and (claim_fault := fault(trees["ctx"])):
        return claim_fault
    try:
        re.compile(test.pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return f"the keyword is not a regular expression: {error}"
    return ""


def program_fault(program: str, entry: str = "") -> str:
    """Return what `fault` says of a program of tests once it is completed; empty if it is not Python."""
    tree = parse(complete_program(program, entry))
    return "" if tree is None else fault(tree)


def fault(tree: ast.Module) -> str:
    """Return why nobody can be marked by completed tests, empty if somebody can.

    They would pass whatever is tested, need another runner, or end before it is seen that they passed.
    """
    is_plain = any(isinstance(node, ast.Assert) and _may_fail(node.test) for node in tree.body)
    suites = Suites(tree)
    try:
        unfit = suites.needs_pytest() or suites.find_unrun() or _early_end(tree)
        return unfit or ("" if is_plain else _without_claims(suites))
    except UNPARSABLE:
        return ""  # too deep to be gone through


def _early_end(tree: ast.Module) -> str:
    """Return that a program ends itself by its last statement, empty if it does not."""
    last = tree.body[-1] if tree.body else None
    ends = last.value if isinstance(last, ast.Expr) else last.exc if isinstance(last, ast.Raise) else None
    words = "" if ends is None else ast.unparse(ends)
    if not re.match(r"os\._exit\(|SystemExit\b", words):
        return ""
    quoted = words[:_SHOWN]
    return f"the program ends with {quoted}, before it is seen that its tests passed: assert what they expect instead"


def _without_claims(suites: Suites) -> str:
    """Return why tests claim nothing, though they say something that looks like it; empty if they claim something."""
    dropped, is_calling, asserts = 0, False, False
    for node in suites.walk_reached():
        # A text that should have been code is true, also for unittest.
        is_call = isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "assertTrue" and bool(node.args)
        claim = node.test if isinstance(node, ast.Assert) else node.args[0] if is_call else None  # type: ignore[attr-defined]
        if claim is not None:
            if _may_fail(claim):
                return ""
            asserts = asserts or is_call or is_always_true(claim)
        elif isinstance(node, ast.Raise) or _asserts(node):
            return ""
        elif isinstance(node, Dropped):
            dropped = min(dropped or node.lineno, node.lineno)
        is_calling = is_calling or isinstance(node, ast.Call)
    if asserts:
        return "it asserts what is always true, such as a list or a function: it would pass whatever is tested"
    if dropped:
        return f"line {dropped} compares and does not assert it: it would pass whatever is tested"
    nodes = list(ast.walk(suites.tree))
    if any(map(_asserts, nodes)) or any(isinstance(node, ast.Assert) and not _is_constant(node.test) for node in nodes):
        return "none of what it asserts is reached: it would pass whatever is tested"
    return "" if is_calling else "it calls and asserts nothing: it would pass whatever is tested"


def _may_fail(claim: ast.expr) -> bool:
    """Whether an assertion may fail by what is tested; those that complete a suite hold what its own tests claim."""
    names = (part.id for part in ast.walk(claim) if isinstance(part, ast.Name))
    return not (is_always_true(claim) or _is_constant(claim) or any(name.startswith("markbook_") for name in names))


def _asserts(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = getattr(node.func, "attr", None) or getattr(node.func, "id", "")
    return str(name).lower().startswith("assert") or name in ("fail", "raises", "exit", "_exit")


# Tests that only define what a test runner would call: they are completed by the calls; and tests that check nothing.
#
# A program of tests is run as it stands. One of pytest's or unittest's, or HumanEval's `check(candidate)`, defines its
# tests and leaves the calls to somebody else; without them it would pass whatever is tested.

_LOOKS = re.compile(
    r"(?:^|[\n\r;])[ \t]*(?:class\b|(?:async[ \t]+)?def[ \t]+test|if\b[^\n\r]*__name__)"
    r"|\b(?:unittest|pytest|exit|quit|SystemExit)\b"
)
"""What a program has that may have to be completed, but for a `check`."""
_IN_LOOKS = ("class", "test", "__name__", "exit", "Exit", "quit")
"""Of these it has one where it has that: a program is searched for words in a fifth of the time."""
_CHECK = re.compile(r"^def[ \t]+check\b", re.MULTILINE)
_CHECKED = re.compile(r"^check\(", re.MULTILINE)
_RUNNERS = frozenset(("unittest.main", "pytest.main"))
_EXITS = frozenset(("sys.exit", "exit", "quit", "SystemExit"))
_LINES = "\0"
"""In a text that is put in the place of another: as many line ends as that had more."""
_NOTHING = f"(None{_LINES})"
_AROUND = frozenset(
    f"{when}{what}" for when in ("setup", "teardown") for what in ("_module", "_function", "_class", "")
)
"""What pytest calls around tests, beside what is called here."""
_MARKS = re.compile(r"\b(?:parametrize|fixture|usefixtures|xfail|skip\w*)\b")
_SUITE = """\
import unittest as markbook_unittest
markbook_skips = []
def markbook_skip(case, reason=""):
    markbook_skips.append(reason)
    markbook_unittest.TestCase.skipTest(case, reason)
markbook_cases = ({cases},)
for markbook_case in markbook_cases:
    markbook_case.skipTest = markbook_skip
markbook_load = markbook_unittest.defaultTestLoader.loadTestsFromTestCase
markbook_suite = markbook_unittest.TestSuite([markbook_load(case) for case in markbook_cases])
for markbook_group in markbook_suite:
    for markbook_case in markbook_group:
        markbook_test = getattr(markbook_case, markbook_case._testMethodName)
        if any(getattr(one, "__unittest_skip__", False) for one in (type(markbook_case), markbook_test)):
            markbook_skips.append("declared")
markbook_count = markbook_suite.countTestCases()
markbook_result = markbook_unittest.TestResult()
markbook_ended = []
markbook_result.addSuccess = markbook_ended.append
markbook_suite.run(markbook_result)
markbook_whole = [case for case, _ in markbook_result.skipped if not hasattr(case, "test_case")]
assert len(markbook_whole) < markbook_count, "all tests are skipped"
markbook_failed = markbook_result.failures + markbook_result.errors
assert not markbook_failed, [text.splitlines()[-1] for _, text in markbook_failed]
assert not markbook_result.unexpectedSuccesses
markbook_ended += [case for case, _ in markbook_result.expectedFailures + markbook_result.skipped]
markbook_ended = {{getattr(case, "test_case", case) for case in markbook_ended}}
assert len(markbook_ended) >= markbook_count, "a test neither passed nor failed"
assert len(markbook_result.skipped) <= len(markbook_skips), "a test was skipped by what it tests"
"""
_LONG = 1 << 16
"""Characters of a program that is not remembered."""
_BY_NAME = frozenset(("globals", "locals", "vars", "exec", "eval"))
_VERDICTS = frozenset(("wasSuccessful", "failures", "errors"))
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def complete_program(program: str, entry: str = "") -> str:
    """Return a program of tests with the calls of what it defines as tests and does not call itself.

    Those are test cases of unittest, functions named `test...` and methods of classes named `Test...` as pytest takes
    them, and a function `check`, which is given the `entry` that is tested. What stands under `if __name__ ==
    "__main__":` is run as in a script, `unittest.main()` and `pytest.main()` are left out. A last `sys.exit(status)`
    becomes the claim that this is success. All other programs, and what is not Python, are returned as they are.
    Lines keep their numbers.
    """
    is_checked = not entry or not _CHECK.search(program) or _CHECKED.search(program)
    if is_checked and not (any(word in program for word in _IN_LOOKS) and _LOOKS.search(program)):
        return program
    return _remembered(program, entry) if len(program) < _LONG else _complete_unittest(program, entry)


def _complete_unittest(program: str, entry: str) -> str:
    try:
        tree = parse_python(program)
        text, has_runner = _as_script(program, tree)
        if text != program:
            tree = parse_python(text)
        tail = "".join(Suites(tree).calls(entry, all_cases=has_runner))
    except UNPARSABLE:
        return program
    return f"{text.rstrip()}\n{tail}" if tail else text


_remembered = lru_cache(maxsize=256)(_complete_unittest)


class Dropped(ast.expr):
    """Stands for a comparison of which nobody takes the result, and for all in it."""


def is_always_true(node: ast.expr) -> bool:
    """Whether an expression is a function, a generator, or a list or tuple with something in it: true, whatever is in there."""
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
        return any(is_always_true(value) or _is_constant(value) for value in node.values)
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return not all(isinstance(part, ast.Starred) for part in node.elts)
    if isinstance(node, ast.Dict):
        return any(key is not None for key in node.keys)
    return isinstance(node, ast.Lambda | ast.GeneratorExp)


def _is_constant(node: ast.expr) -> bool:
    """Whether an expression is a text, a number or the like that is true: a test has it where nothing is claimed."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        return bool(node.operand.value) != isinstance(node.op, ast.Not)
    if isinstance(node, ast.JoinedStr):
        return any(map(_is_constant, node.values))
    return isinstance(node, ast.Constant) and bool(node.value)


def walk_executed(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield what is executed when a program is, without the insides of its functions, in no order."""
    pending = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Expr) and _is_comparison(node.value):
            node = ast.copy_location(Dropped(), node)
        elif isinstance(node, ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef):
            pending += [*getattr(node, "decorator_list", ()), *node.args.defaults]
        elif not (isinstance(node, ast.Assert) and is_always_true(node.test)):
            pending += ast.iter_child_nodes(node)
        yield node


def _is_comparison(node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple):
        return bool(node.elts) and _is_comparison(node.elts[0])
    if isinstance(node, ast.BoolOp):
        return any(map(_is_comparison, node.values))
    return isinstance(node, ast.Compare)


def _as_script(program: str, tree: ast.Module) -> tuple[str, bool]:
    """Return a program in which what a script does at its end is done, but for the runners of its tests; and whether it had one."""
    dotted = _resolve_imports(tree)
    edits = list(list_aliases(program, tree))
    runners = 0
    for statements in _scripts(tree, edits):
        for node in statements:
            if _is_runner(node, dotted):
                edits.append((node, _NOTHING))
                runners += 1
        last = statements[-1]
        if not _is_runner(last, dotted) and (claim := _claim_of_exit(last, program, dotted)):
            edits.append((last, claim))
    lines = program.encode().splitlines(keepends=True) if edits else []
    for part, instead in sorted(edits, key=lambda edit: (edit[0].lineno, edit[0].col_offset), reverse=True):  # type: ignore[attr-defined]
        first, last_line = part.lineno - 1, part.end_lineno - 1  # type: ignore[attr-defined]  # a statement or an expression
        head, rest = lines[first][: part.col_offset], lines[last_line][part.end_col_offset :]  # type: ignore[attr-defined]
        text = instead.replace(_LINES, "\n" * (last_line - first - instead.count("\n")))
        lines[first : last_line + 1] = [head + text.encode() + rest]
    return (b"".join(lines).decode() if edits else program), bool(runners)


_ALIAS = re.compile(r"=[ \t]*\w+\.assert\w*[ \t]*(?:#|;|$)", re.MULTILINE)
"""What a program has that calls a method of a test case by a name of its own."""


def list_aliases(program: str, tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """Yield what calls an assertion by a variable, with what it stands for: `eq = self.assertEqual`."""
    functions = [node for node in ast.walk(tree) if isinstance(node, _Function)] if _ALIAS.search(program) else []
    bound = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    bound += [node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)]
    for function in functions:
        for node in function.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and len(node.targets) == 1:
                name, value = node.targets[0].id, ast.unparse(node.value)
                if re.fullmatch(r"\w+\.assert\w+", value) and bound.count(name) == 1:
                    calls = (part.func for part in ast.walk(function) if isinstance(part, ast.Call))
                    yield from ((part, value) for part in calls if isinstance(part, ast.Name) and part.id == name)


def _scripts(tree: ast.Module, edits: list[tuple[ast.AST, str]]) -> Iterator[list[ast.stmt]]:
    """Yield the statements of a program, and those under its `if __name__ == "__main__":`, which is edited to hold."""
    if tree.body:
        yield tree.body
    for node in tree.body:
        test = ast.unparse(node.test) if isinstance(node, ast.If) and isinstance(node.test, ast.Compare) else ""
        if isinstance(node, ast.If) and test in ("__name__ == '__main__'", "'__main__' == __name__"):
            edits.append((node.test, f"(True{_LINES})"))
            yield node.body


def _resolve_imports(tree: ast.Module) -> Callable[[ast.AST], str]:
    """Return what says of an expression by which name of a module it goes, whatever it was imported as."""
    aliases: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Import):
            aliases |= {alias.asname: alias.name for alias in node.names if alias.asname}
        elif isinstance(node, ast.ImportFrom) and node.module:
            aliases |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}

    def join_dotted(node: ast.AST) -> str:
        if isinstance(node, ast.Attribute):
            return f"{join_dotted(node.value)}.{node.attr}"
        return aliases.get(node.id, node.id) if isinstance(node, ast.Name) else ""

    return join_dotted


def _find_call(node: ast.stmt) -> ast.Call | None:
    """Return the call that a statement is, or whose error it raises; `raise SystemExit` calls it without arguments."""
    expression = node.value if isinstance(node, ast.Expr) else node.exc if isinstance(node, ast.Raise) else None
    if isinstance(node, ast.Raise) and isinstance(expression, ast.Name):
        return ast.Call(expression, [], [])
    return expression if isinstance(expression, ast.Call) else None


def _is_runner(node: ast.stmt, dotted: Callable[[ast.AST], str]) -> bool:
    """Whether a statement only starts the runner of the tests that stand before it."""
    call = _find_call(node)
    if call is None:
        return False
    if dotted(call.func) in _EXITS and len(call.args) == 1 and isinstance(call.args[0], ast.Call):
        call = call.args[0]
    return dotted(call.func) in _RUNNERS


def _claim_of_exit(node: ast.stmt, program: str, dotted: Callable[[ast.AST], str]) -> str:
    """Return the claim that a script's last statement makes by the status that it gives; empty if it gives none."""
    call = _find_call(node)
    if call is None or dotted(call.func) not in _EXITS or len(call.args) > 1 or call.keywords:
        return ""
    if not call.args or (isinstance(call.args[0], ast.Constant) and not call.args[0].value):
        return _NOTHING  # it says that all went well
    status = None if isinstance(call.args[0], ast.Starred) else ast.get_source_segment(program, call.args[0])
    return f"assert not ({status}{_LINES})" if status else ""


class Suites:
    """What a program defines, and which of it is named where it is executed."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self._dotted = _resolve_imports(tree)
        self._are_cases: dict[ast.ClassDef, bool] = {}
        self._methods: dict[ast.ClassDef, dict[str, _Function]] = {}
        self.classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        self._bases = {id(base) for node in self.classes.values() for base in node.bases}
        self._names: set[str] = set()
        self._given = {
            target.id: self._dotted(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        """What names were given: `Base = unittest.TestCase`."""

    def calls(self, entry: str, *, all_cases: bool) -> Iterator[str]:
        """Yield the calls of tests that nothing speaks of where the program is executed; a class's also where another inherits them."""
        spoken = self.collect_spoken()
        runs_cases, idle = self._find_idle(spoken)
        all_cases = all_cases or (runs_cases and self._drops_verdict())
        case_classes = [node for node in self.classes.values() if self.is_case(node)]
        mixed_in = {getattr(base, "id", "") for node in case_classes for base in node.bases}
        cases = [node.name for node in case_classes if all_cases or not runs_cases or node.name not in spoken]
        if all_cases or not runs_cases:
            cases += self._cases_by_type()
        spoken -= idle
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef):
                if node.name not in spoken | mixed_in and self.is_collected(node):
                    yield from self._calls_of_class(node)
            elif isinstance(node, _Function) and node.name not in spoken:
                if node.name == "check" and entry and _count_required(node) == 1:
                    yield f"check({entry})\n"
                elif _is_test(node) and not _needs_arguments(node):
                    yield _call(node, node.name)
        if cases:
            yield _SUITE.format(cases=", ".join(cases))

    def _find_idle(self, spoken: set[str]) -> tuple[bool, set[str]]:
        """Return whether a program may run its test cases itself, and which of the names that it speaks it calls nowhere."""
        reached = (node for node in self.tree.body if isinstance(node, _Function) and node.name in spoken)
        classes = (node for node in self.classes.values() if node.name in spoken and not self.is_case(node))
        nodes = [*self._list_executed, *(part for node in (*reached, *classes) for part in ast.walk(node))]
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        bound = {node.arg for node in nodes if isinstance(node, ast.arg)}
        bound |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        # what is called there may be any test: `for test in tests: test()`
        if any(
            not isinstance(call.func, ast.Attribute) and getattr(call.func, "id", "") in {*bound, ""} for call in calls
        ):
            return True, set()
        modules = {alias.name for node in self.tree.body if isinstance(node, ast.Import) for alias in node.names}
        attributes = {
            call.func.attr
            for call in calls
            if isinstance(call.func, ast.Attribute) and self._dotted(call.func.value) not in modules  # `logging.debug`
        }
        called = {part.id for call in calls for part in ast.walk(call) if isinstance(part, ast.Name)}
        runs_cases = any(name in ("run", "debug") or name.startswith(("test", "runTest")) for name in attributes)
        return runs_cases or not spoken.isdisjoint(_BY_NAME), spoken - called - _BY_NAME

    def _drops_verdict(self) -> bool:
        """Whether a program runs its test cases by a runner of unittest's, and at most prints how they fared."""
        nodes = list(ast.walk(self.tree))
        prints = [node for node in nodes if isinstance(node, ast.Call) and self._dotted(node.func) == "print"]
        printed = {id(part) for call in prints for part in ast.walk(call)}
        read = {getattr(node, "attr", "") or getattr(node, "id", "") for node in nodes if id(node) not in printed}
        return "TextTestRunner" in read and read.isdisjoint(_VERDICTS)

    def _cases_by_type(self) -> Iterator[str]:
        """Yield the names of test cases that are made by `type(name, (unittest.TestCase,), members)`."""
        for node in self.tree.body:
            created = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
            if not (isinstance(created, ast.Call) and len(created.args) == 3):
                continue
            bases = list(getattr(created.args[1], "elts", ()))
            if self._dotted(created.func) == "type" and self.is_case(ast.ClassDef("", bases, [], [], [])):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]  # type: ignore[attr-defined]
                yield from (target.id for target in targets if isinstance(target, ast.Name))

    @cached_property
    def _list_executed(self) -> list[ast.AST]:
        return list(walk_executed(self.tree.body))

    def collect_spoken(self) -> set[str]:
        """Return the names that are spoken where a program is executed, and in the functions and classes that are named there.

        A name of which only an attribute is taken is not: `Cases.maxDiff = None` runs no test.
        """
        spoken = set(self._names_outside)
        unreached = {node.name: node for node in self._list_executed if isinstance(node, _Function | ast.ClassDef)}
        while reached := spoken & unreached.keys():
            for name in reached:
                spoken |= {node.id for node in ast.walk(unreached.pop(name)) if isinstance(node, ast.Name)}
        return spoken

    @cached_property
    def _names_outside(self) -> set[str]:
        """The names that are spoken where the program is executed, outside of all functions."""
        nodes = self._list_executed
        looked = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
        # Who sets an attribute runs no test either: `setattr(Cases, "test_b", ..)`.
        looked |= {
            id(node.args[0])
            for node in nodes
            if isinstance(node, ast.Call) and node.args and ast.unparse(node.func) == "setattr"
        }
        return {
            node.id
            for node in nodes
            if isinstance(node, ast.Name) and id(node) not in self._bases and id(node) not in looked
        }

    def walk_reached(self) -> Iterator[ast.AST]:
        """Yield what is executed, and all of the functions and classes that are named there, as they are met.

        Decorated functions are among them, and all where they are looked up by name: somebody else may call them.
        """
        yield from self._list_executed
        definitions = [node for node in self._list_executed if isinstance(node, _Function | ast.ClassDef)]
        last = {node.name: node for node in definitions}  # what a name means in the end
        spoken, walked = set(self._names_outside), set[str]()
        decorated = {node.name for node in definitions if isinstance(node, _Function) and node.decorator_list}
        for more in (set[str](), decorated):
            spoken |= more
            # Who looks for a claim stops at the first, which is usually in the first function: so no closure beforehand.
            while reached := spoken & (last.keys() - walked):
                walked |= reached
                for node in definitions:
                    for part in ast.walk(node) if node.name in reached else ():
                        if isinstance(part, ast.Name) and node is last[node.name]:
                            spoken.add(part.id)
                        yield part
            if more is not decorated and spoken & _BY_NAME:
                spoken |= last.keys()

    def is_case(self, node: ast.ClassDef) -> bool:
        """Whether a class is a test case of unittest, by itself or by what it is made of."""
        if node not in self._are_cases:
            self._are_cases[node] = False  # classes may be made of one another
            self._are_cases[node] = any(
                self._dotted(base).endswith("TestCase")
                or self._given.get(getattr(base, "id", ""), "").endswith("TestCase")
                or ((of := self.classes.get(self._dotted(base))) is not None and self.is_case(of))
                for base in node.bases
            )
        return self._are_cases[node]

    def is_collected(self, node: ast.ClassDef) -> bool:
        """Whether pytest would take a class for tests."""
        own = {member.name for member in node.body if isinstance(member, _Function)} | {
            target.id
            for part in node.body
            if isinstance(part, ast.Assign)
            for target in part.targets
            if isinstance(target, ast.Name)
        }
        return node.name.startswith("Test") and not self.is_case(node) and not own & {"__init__", "__new__", "__test__"}

    def methods(self, node: ast.ClassDef) -> dict[str, _Function]:
        """Return the methods of a class, those of what it is made of among them."""
        if node not in self._methods:
            methods = self._methods[node] = {}
            for base in node.bases:
                of = self.classes.get(self._dotted(base))
                if of is not None:
                    methods |= self.methods(of)
            methods |= {method.name: method for method in node.body if isinstance(method, _Function)}
        return self._methods[node]

    def _calls_of_class(self, node: ast.ClassDef) -> Iterator[str]:
        own = self.methods(node)
        around = {name: own[name] for name in ("setup_method", "teardown_method") if name in own}
        hooks = {
            name: f"markbook_case.{name}({'None' if _needs_arguments(method, 1) else ''})\n"
            for name, method in around.items()
        }
        for method in own.values():
            if _is_test(method) and not _needs_arguments(method, 1):
                yield f"markbook_case = {node.name}()\n" + hooks.get("setup_method", "")
                yield _call(method, f"markbook_case.{method.name}") + hooks.get("teardown_method", "")

    def needs_pytest(self) -> str:
        """Return which of the tests only pytest can run as they are meant; empty if none."""
        functions = [(function, 0) for function in self.tree.body if isinstance(function, _Function)]
        for node in self.classes.values():
            if self.is_collected(node):
                functions += [(function, 1) for function in node.body if isinstance(function, _Function)]
        tests = [function for function, _ in functions if _is_test(function)]
        for function, own in functions:
            marks = " ".join(map(ast.unparse, function.decorator_list))
            if _is_test(function) and _MARKS.search(marks):
                return f"{function.name}, line {function.lineno}, has marks of pytest's: write out its calls"
            if tests and "fixture" in marks:
                return f"{function.name}, line {function.lineno}, is a fixture of pytest's: write out its calls"
            if tests and function.name in _AROUND and not self._is_spoken(function):
                return f"{function.name}, line {function.lineno}, is called by pytest alone: call it"
            if _is_test(function) and _needs_arguments(function, own) and not self._is_spoken(function):
                return f"{function.name}, line {function.lineno}, takes arguments of pytest's: write out its calls"
        return ""

    def find_unrun(self) -> str:
        """Return which part of a test case unittest never runs, or would skip at a solution's word; empty if none."""
        for case in filter(self.is_case, self.classes.values()):
            for part in ast.walk(case):
                if isinstance(part, ast.Raise) and part.exc is not None and "SkipTest" in ast.unparse(part.exc):
                    return f"line {part.lineno} raises SkipTest, as a solution could: call self.skipTest"
            for method in filter(_is_test, case.body):
                is_lost = isinstance(method, ast.AsyncFunctionDef) and not self._is_awaited(case)
                if is_lost or any(isinstance(part, ast.Yield | ast.YieldFrom) for part in walk_executed(method.body)):
                    return f"{method.name}, line {method.lineno}, is a coroutine or generator that nobody runs"
        return ""

    def _is_awaited(self, case: ast.ClassDef) -> bool:
        names = [self._given.get(getattr(base, "id", ""), "") + self._dotted(base) for base in case.bases]
        bases = (self.classes.get(self._dotted(base)) for base in case.bases)
        return any("Async" in name for name in names) or any(of is not None and self._is_awaited(of) for of in bases)

    def _is_spoken(self, function: _Function) -> bool:
        """Whether anything in the program names a function."""
        if not self._names:
            nodes = ast.walk(self.tree)
            self._names = {str(getattr(node, "attr", None) or getattr(node, "id", "")) for node in nodes}
        return function.name in self._names


def _is_test(node: ast.AST) -> TypeGuard[_Function]:
    return isinstance(node, _Function) and node.name.startswith("test")


def _count_required(node: _Function, own: int = 0) -> int:
    """Return how many arguments a function has to be given beside its object."""
    arguments = node.args
    without = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults) - own
    return without + sum(default is None for default in arguments.kw_defaults)


def _needs_arguments(node: _Function, own: int = 0) -> bool:
    """Whether a function has to be given something beside its object, and by no decorator such as a mock's."""
    if any(not _MARKS.search(ast.unparse(mark)) for mark in node.decorator_list):
        return False
    return _count_required(node, own) > 0


def _call(node: _Function, of: str) -> str:
    return f"import asyncio\nasyncio.run({of}())\n" if isinstance(node, ast.AsyncFunctionDef) else f"{of}()\n"
