"""One sample's tests, compiled once."""

from __future__ import annotations

import ast
import builtins
import signal
from collections import Counter

from .. import wire
from ..marking import Compiled
from . import expressions, rules
from .claims import find_claim, list_inert, required_parts, unheard_parts
from .expressions import LOOKS_UP, flows, get_called_name, parse, trace_names
from .lending import Lending
from .programs import BrokenTest, compile_test, portable, repeated_parts
from .separation import leaves_traces, names_used, own_random, runs_beside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, NotRequired, TypedDict

    from .mutation_canary import Canary
    from .separation import Plan

    class ExaminerJob(TypedDict):
        """One attempt to examine, as the host's `sandbox.job` writes it."""

        id: str
        code: str
        limits: list[float]
        task: NotRequired[str]
        compiled: NotRequired[str]
        """What the examiner that calibrated made of the task."""
        preload: NotRequired[list[str]]
        imports: NotRequired[list[str]]
        calibrate: NotRequired[bool]
        plan: NotRequired[Plan]
        defers: NotRequired[bool]
        """Whether what is to be decided beside the solution is handed back, to be decided later."""
        later: NotRequired[dict[str, Any]]
        """What was handed back."""
        explain: NotRequired[bool]
        all: NotRequired[bool]
        """Whether a program that reads and writes meets its further tests once it has failed one."""
        stdin: NotRequired[str]
        """Of a program without tests, whose output is judged elsewhere: its input, a character a byte."""


_MOST_COMPILED = 1 << 18
"""Bytes of compiled tests that are worth keeping."""
STDIN = "stdin"
"""The kind of a task whose solutions are programs that read and write."""


class CompiledTests:
    """One sample's tests, compiled once."""

    def __init__(self, text: str, compiled: str = "") -> None:
        """Take what the controller says of a sample, and compile it unless it comes with what `compiled_text` returned."""
        spec = wire.decode(text)
        self.size = len(text)
        self.kind: str = spec["object"]
        self.name: str = spec["name"]
        self.speaks_of_random = expressions.speaks_of_random(text)
        self.tests: list[dict[str, Any]] = spec["tests"]
        self.compiled: list[Compiled] = []
        self.faults: list[str] = []
        """Beside each test why it is broken, or an empty string."""
        self.patterns: list[Any] = []
        self.beside: list[bool] = []
        """Which tests say by their text that they need the candidate's process."""
        self.leaves_traces = False
        """Whether an attempt may change something here that the next one finds."""
        self.draws: list[bool] = []
        """Which tests draw random numbers."""
        self.silent: list[bool] = []
        """Which tests claim nothing: they pass wherever nothing is raised."""
        self.required: list[list[frozenset[int]]] = []
        """Of each test groups of parts: where none of a group was executed, a pass claims nothing that the group would."""
        self.unheard: list[frozenset[int]] = []
        """The parts of each that may fail where it passes."""
        self.repeated: list[frozenset[int]] = []
        """The parts of each that go well as often as the answer has it."""
        self.makers: list[set[str]] = []
        """By which names of the solution's each makes what it expects: such a pass is tried whatever the objects are."""
        self.canaries: list[Canary] | None = None
        """What of each test can be made wrong; looked for when first wanted."""
        self.watched: dict[int, tuple[Any, list[str]]] = {}
        """Tests that say what they compare, with the source of their assertions; see `explaining`."""
        self.rules: list[rules.Rule] = []
        """How the outputs of a program that reads and writes are compared."""
        self.asks: list[str] = []
        """What the tests may want of the solution: the identifiers that they use and the name of what they test."""
        self.before: list[Any] = []
        """Helpers from the prompt, compiled."""
        self.of_solution: list[str] = []
        """Names of the prompt whose objects are the solution's, where that has them."""
        self.doubtful: list[str] = []
        """Those of them that the tests' expectations may be made of: passes show nothing then."""
        self.changeable: list[str] = []
        """Names of the prompt whose objects a solution may change, as no right answer is known."""
        self._prompt: str = spec.get("prompt", "")
        self._again: list[bool] = []
        if not (compiled and self._take(compiled)):
            self._compile(self._prompt, spec.get("changed"))

    def _compile(self, prompt: str, changed: list[str] | None) -> None:
        used, own = {self.name}, set[str]()
        for test in self.tests:
            if self.kind == STDIN:
                self._add_rule(test)
            else:
                names = self._add(test)
                own |= list_imported(self._parse(test)) - used
                used |= names
        self.asks = sorted(used - own - {""})
        tree = parse_prompt(prompt) if prompt else None
        parts = [part for test in self.tests for part in self._parse(test) if part]
        if tree is None:
            return
        # every test of a class names it: only where it says what is right does that show nothing
        own_doubtful = [self.name] * expects_constants(tree, self.name, parts)
        self.doubtful = own_doubtful
        statements = list_given(tree, self.name)
        if not any(isinstance(node, _DEFINITION) or not used.isdisjoint(_list_bound(node)) for node in statements):
            return
        code, values = run_twice(statements)
        theirs, self.changeable = (
            leave_to_solutions(statements, values, parts, changed)
            if values
            else (sorted(_collect_bound_names([*_walk(statements)])), [])
        )
        reached = used - {self.name}
        for node in statements[::-1] * 2:  # what the tests name is made of others
            if not reached.isdisjoint({getattr(node, "name", ""), *_list_bound(node)}):
                reached |= _list_names(node)
        self.doubtful = sorted(reached.intersection(theirs).union(own_doubtful))
        if not values:
            return
        self.of_solution = theirs
        self.asks = sorted({*self.asks, *self.of_solution})
        self.leaves_traces |= leaves_traces(expressions.nodes(ast.Module(statements, [])))
        self.before = [code]
        # what the prompt brings along is not the solution's
        for maker_names in self.makers:
            maker_names.difference_update(set(self.before[0].co_names) - set(self.of_solution))

    def changed_by(self, code: str) -> set[str]:
        """Return which constants of the prompt a solution changes, where no right answer says whether it may."""
        tree = parse(code) if self.changeable else None
        asking = parse_prompt(self._prompt) if tree else None
        if not (tree and asking):
            return set()
        changed = list_changed(_walk(_list_own(tree, asking)), set())
        return set(self.changeable) & spread_changes(changed, list_given(asking, self.name), set())

    def helpers(self, code: str) -> list[Any]:
        """Return what puts the prompt's code before the tests, but for what is this solution's."""
        names = sorted(self.changed_by(code).union(self.of_solution))
        if not names:
            return self.before
        copy = "try: {} = {}\nexcept NameError: pass\n"
        names_saved = [(f"_given_{name}", name) for name in names]
        texts = ("".join(copy.format(*pair[::way]) for pair in names_saved) for way in (1, -1))
        save, restore = (compile(text, "<prompt>", "exec", dont_inherit=True) for text in texts)
        return [save, *self.before, restore]

    def compiled_text(self) -> str:
        """Return what another examiner needs to know this sample's tests without compiling them; empty if it has to."""
        if self.kind == STDIN:
            return ""
        # `portable` copies the texts of tuples, lists and frozen sets alone
        makers = [frozenset(names) for names in self.makers]
        facts = (
            self.faults,
            self.beside,
            self.draws,
            self.silent,
            self.required,
            self.unheard,
            self.repeated,
            makers,
            self.of_solution,
            self.doubtful,
            self.changeable,
        )
        data = portable((self.leaves_traces, self.compiled, self.before, self.asks, *facts))
        return data.hex() if len(data) < _MOST_COMPILED else ""

    def _take(self, compiled: str) -> bool:
        """Know the tests by what another examiner said of them; False if that cannot be read."""
        try:
            self.leaves_traces, self.compiled, self.before, self.asks, *facts = wire.load_code(bytes.fromhex(compiled))
            (
                self.faults, self.beside, self.draws, self.silent, self.required, self.unheard, self.repeated, makers,
                self.of_solution, self.doubtful, self.changeable,
            ) = facts  # fmt: skip
        except (ValueError, TypeError, EOFError):  # what was kept on a disk has suffered there
            return False
        self.makers = [set(names) for names in makers]
        # a compiled pattern is not among what `marshal` writes
        patterns = [test.get("pattern") for test in self.tests]
        self.patterns = [expressions.compile_pattern(pattern)[0] if pattern else None for pattern in patterns]
        return True

    @expressions.pause_clock
    def reads_again(self, index: int) -> bool:
        """Return whether a test may read again what it lends by calls.

        The tests share their variables, and those of the prompt: another one may read what this one has lent. Finding it
        takes as long as compiling the tests, so it waits for a solution that changes something: most change nothing.
        """
        if self.size > expressions.LONGEST:
            return True
        if not self._again:
            lendings = []
            for test in self.tests:
                trees = self._parse(test)
                nodes = [node for tree in trees if tree is not None for node in expressions.nodes(tree)]
                lendings.append(Lending(trees, nodes, self._entry))
            # what the prompt's code names or keeps is nobody's to say, and a name that two tests use may be either's
            helpers = {name for code in self.before for name in (*code.co_names, *code.co_varnames)}
            bound = Counter(name for lending in lendings for name in lending.bound)
            unbound = Counter(name for lending in lendings for name in lending.unbound)
            for lending in lendings:
                names = [*lending.bound, *lending.unbound]
                shares = any(
                    bound[name] > (name in lending.bound) or (name in lending.bound and unbound[name]) for name in names
                )
                self._again.append(shares or not (helpers - self._entry).isdisjoint(names) or lending.reads_again())
        return self._again[index]

    @property
    def _entry(self) -> set[str]:
        """What the tests call what is tested."""
        return {self.name, *self.aliases, "candidate"} - {""}

    @staticmethod
    def _parse(test: dict[str, Any]) -> list[ast.Module | None]:
        program = expressions.parse(test["program"]) if test.get("program") else None
        return [program, *(expressions.parse(test.get(part, "").strip()) for part in ("setup", "assertion"))]

    def _add_rule(self, test: dict[str, Any]) -> None:
        """Find how the output of a test is compared."""
        fault = ""
        try:
            self.rules.append(rules.parse(test["checker"]))
        except ValueError as error:
            # every list has an entry for each test, so a broken one gets a rule that is never asked
            self.rules.append(rules.parse(rules.DEFAULT))
            fault = str(error)
        self.faults.append(fault)
        self.patterns.append(None)

    def _add(self, test: dict[str, Any]) -> set[str]:
        """Compile a test; return the identifiers that it uses."""
        trees = self._parse(test)
        program = trees[0]
        nodes = [node for tree in trees if tree is not None for node in expressions.nodes(tree)]
        self.beside.append(runs_beside(nodes, self.name))
        self.leaves_traces |= not self.beside[-1] and leaves_traces(nodes)
        self.draws.append(any(map(_draws, nodes)))
        inert = list_inert(nodes)
        claims = any(test.get(part) for part in _CLAIMS) or any(find_claim(node, inert) for node in nodes)
        self.silent.append(not claims)
        self.required.append([] if program is None else required_parts(program, inert))
        self.unheard.append(frozenset() if program is None else unheard_parts(program))
        used = names_used(nodes)  # before the program is changed
        entry = self._entry
        self.makers.append(makers(nodes, used | entry if self.kind == "class" else used - entry, entry))
        self.repeated.append(repeated_parts(program) if program is not None else frozenset())
        fault = ""
        try:
            self.compiled.append(compile_test(test, program))
        except BrokenTest as error:
            self.compiled.append(("a", None, None, 0))
            fault = str(error)
        pattern, bad = expressions.compile_pattern(test["pattern"]) if test.get("pattern") else (None, "")
        self.patterns.append(pattern)
        self.faults.append(fault or bad)
        return used

    @property
    def sound(self) -> set[int]:
        """The numbers of the tests that are not broken."""
        return {index for index, fault in enumerate(self.faults) if not fault}

    @property
    def aliases(self) -> list[str]:
        """What tests may call the solution's object besides its name."""
        return {"function": ["func"], "class": ["cls"]}.get(self.kind, [])

    def asked_beside(self) -> list[str]:
        """Return what a solution beside which tests are to run is asked for: all that it learns before it is loaded."""
        return [self.name] if self.name else []

    def handed_over(self, code: str, entry: str, more: list[str]) -> tuple[str, list[str], list[Any]]:
        """Return what comes before the tests: what the object is called that they test, its other names, helpers."""
        return entry, [*self.aliases, *more], self.helpers(code)


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


_DRAWN = frozenset(("random", "secrets", "uuid", "uuid4", "urandom", "default_rng", "RandomState", "randint", "randn"))
"""What gives numbers that nobody wrote into a test."""
_CLAIMS = ("assertion", "inspection", "pattern")
_CALLING = frozenset(("map", "starmap", "partial", "reduce", "filter"))
"""What calls its first argument."""
_SAME = frozenset(("assertIs", "assertIsNot"))
"""What asks whether two things are one: what is made of other arguments may rightly be the same one again."""


def makers(nodes: list[ast.AST], names: set[str], tested: set[str]) -> set[str]:
    """Return by which of these names, as far as they are the solution's, a test makes what it compares with.

    Args:
        nodes: of the test.
        names: those that it uses.
        tested: what the tested object is called there.
    """
    maker_names: set[str] = set()
    theirs = names - _collect_bound_names(nodes)
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
    for node in nodes:
        sides: list[ast.expr] = []
        if isinstance(node, ast.Compare) and not isinstance(node.ops[0], ast.Is | ast.IsNot):
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and _compares(get_called_name(node)):
            sides = node.args
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LOOKS_UP:
            sides = [node.func.value, *node.args]
        if len(sides) > 1:
            calls = [
                {
                    name
                    for expression in trace_names(side, values_by_name)
                    for part in ast.walk(expression)
                    for name in _called_name(part)
                }
                for side in sides
            ]
            if sum(not side.isdisjoint(names | tested) for side in calls) > 1:
                maker_names.update(*calls)
    return maker_names & names


def _compares(name: str) -> bool:
    """Whether what is called so compares what it is given."""
    return (name.lower().startswith("assert") and name not in _SAME) or name == "eq"


def _called_name(node: ast.AST) -> set[str]:
    """Return the names that a call calls: its function's, and what it hands over to be called (`map(Point, ..)`)."""
    if not isinstance(node, ast.Call):
        return set()
    return {
        part.id for part in (node.func, *node.args[: get_called_name(node) in _CALLING]) if isinstance(part, ast.Name)
    }


def _collect_bound_names(nodes: list[ast.AST]) -> set[str]:
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
    return names_bound


def _draws(node: ast.AST) -> bool:
    """Whether a part of a test speaks of what, beside a solution, gives the solution's numbers."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        names = (getattr(node, "module", "") or "", *(alias.name for alias in node.names))
        return any(part in _DRAWN for name in names for part in name.split("."))
    return getattr(node, "attr", None) in _DRAWN or (isinstance(node, ast.Name) and node.id in _DRAWN)


# Which of the names that a benchmark's prompt binds are the tests' own, whatever a solution calls so.


def expects_constants(prompt: ast.Module, entry: str, tests: list[ast.Module]) -> bool:
    """Whether tests compare what a solution does with a constant of the class that they test, or one made of it: the solution's, too."""
    classes = {node.name: node for node in prompt.body if isinstance(node, ast.ClassDef)}
    others = [node for node in prompt.body if not isinstance(node, _DEFINITION) and entry in _list_names(node)]
    constants, methods, names = set[str]().union(*map(_list_bound, others)), set[str](), [entry]
    for name in names:  # and of those that it is based on
        if definition := classes.pop(name, None):
            is_record = "dataclass" in "".join(
                map(ast.dump, definition.decorator_list)
            )  # its fields are of its objects
            values = [node for node in definition.body if not (is_record and isinstance(node, ast.AnnAssign))]
            constants.update(name for node in values if getattr(node, "value", None) for name in _list_targets(node))
            own = (node for node in ast.walk(definition) if isinstance(node, ast.Attribute) and node.attr.isupper())
            constants.update(node.attr for node in own if isinstance(node.ctx, ast.Store))
            methods.update(node.name for node in definition.body if isinstance(node, _DEFINITION))
            names += [_find_base(base) for base in definition.bases]
    if not constants:
        return False
    functions = {node.name for node in prompt.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    known = functions.union(*map(_list_bound, prompt.body), vars(builtins), list_imported(list(tests)))
    everywhere = flows(list(_walk(tests)))
    for test in tests:
        nodes = list(ast.walk(test))
        values_by_name = {**everywhere, **flows(nodes)}
        for node in nodes:
            sides: list[ast.expr] = []
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
            elif isinstance(node, ast.Call) and (_compares(get_called_name(node)) or get_called_name(node) in _CLOSE):
                sides = node.args
            looker = _Looker([*names, "candidate", "cls"], constants, methods, known, values_by_name)
            try:
                for side in sides:
                    looker.look(side)
            except RecursionError:  # a sum of a thousand terms: such a text says nothing
                return True
            if looker.reads_constant and looker.asks_solution:
                return True
    return False


_CLOSE = frozenset(("allclose", "array_equal", "isclose"))


class _Looker:
    """What a comparison of a test is made of."""

    def __init__(
        self,
        classes: list[str],
        constants: set[str],
        methods: set[str],
        known: set[str],
        values: dict[str, list[ast.expr]],
    ) -> None:
        self._classes, self._constants, self._methods = classes, constants, methods
        self._known, self._values = known, values
        self._seen: set[tuple[str, bool]] = set()
        self.reads_constant = self.asks_solution = False

    def look(self, node: ast.AST, *, is_argument: bool = False) -> None:
        """Note what a part of it is: what a solution is called with is not what it is compared with."""
        key = expressions.expression_key(node)
        if isinstance(node, ast.Attribute) and node.attr in self._constants:
            is_state = not node.attr.isupper() and _find_base(node) not in self._classes
            self.reads_constant |= not (is_argument or is_state)
            self.asks_solution |= is_state
        elif key in self._values:
            values = self._values[key] if (key, is_argument) not in self._seen else []
            self._seen.add((key, is_argument))
            for value in values:
                self.look(value, is_argument=is_argument)
        elif isinstance(node, ast.Name):
            self.reads_constant |= node.id in self._constants and not is_argument
            self.asks_solution |= node.id not in self._known
        elif isinstance(node, ast.Attribute) and node.attr in self._methods:
            self.asks_solution = True
        else:
            is_call = isinstance(node, ast.Call) and _find_base(node.func) not in self._known
            for part in ast.iter_child_nodes(node):
                self.look(part, is_argument=is_argument or (is_call and part is not node.func))  # type: ignore[attr-defined]


_SECONDS = 30.0
"""After so much processor time a prompt's code is taken for one that never ends."""


def list_given(prompt: ast.Module, entry: str) -> list[ast.stmt]:
    """Return the prompt's code without what names the entry point."""
    return [
        node
        for node in prompt.body
        if not (node.name == entry if isinstance(node, _DEFINITION) else entry in _list_names(node))
    ]


def run_twice(statements: list[ast.stmt]) -> tuple[Any, dict[str, tuple[Any, bool]]]:
    """Return a prompt's code compiled, and what it makes, each with whether it is equal when the code runs again.

    Nothing is made if it cannot be compiled or run. An iterator, a function or `object()` is not equal: it is not what a
    solution has under this name either. A class is made only where the solution has none of that name: a second one is
    another one, to `isinstance`, to `except` and to `==`.
    """
    guarded = list(statements)
    for at, node in enumerate(statements):
        if isinstance(node, ast.ClassDef):
            guarded[at] = ast.parse(f"try:\n    {node.name}\nexcept NameError:\n    pass").body[0]
            guarded[at].handlers[0].body = [node]  # type: ignore[attr-defined]  # of the `try`
    own = {
        **vars(builtins),
        "__import__": lambda name, *more: own_random() if name == "random" else __import__(name, *more),
    }
    first, again = ({"__name__": "solution", "__builtins__": own} for _ in range(2))
    handlers = {number: signal.signal(number, _give_up) for number in (signal.SIGPROF, signal.SIGALRM)}
    try:
        code = compile(ast.Module(guarded, []), "<prompt>", "exec", dont_inherit=True)
        signal.setitimer(signal.ITIMER_PROF, _SECONDS, 1)
        signal.setitimer(signal.ITIMER_REAL, wire.PROMPT_SECONDS, 1)
        exec(code, first)
        again |= {name: value for name, value in first.items() if isinstance(value, type)}
        exec(code, again)
        return code, {name: (value, _is_same(value, again.get(name))) for name, value in first.items()}
    except BaseException:
        return None, {}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _give_up(_number: int, _frame: object) -> None:
    raise TimeoutError


def _is_same(value: Any, other: Any) -> bool:
    if type(value).__eq__ is vars(object)["__eq__"]:  # the same one is imported, or a member of an enumeration
        return value is other and value is not ...
    try:
        return bool(value == other)
    except Exception:  # of arrays, say
        return False


def _is_fixed(value: Any) -> bool:
    """Whether a value can be replaced but not changed."""
    try:
        hash(value)
    except Exception:
        return False
    return True


def leave_to_solutions(
    prompt: list[ast.stmt], values: dict[str, tuple[Any, bool]], tests: list[ast.Module], reassigned: list[str] | None
) -> tuple[list[str], list[str]]:
    """Return which names of the prompt are the solution's, and which are if it changes their objects.

    Args:
        prompt: its statements.
        values: what they make.
        tests: their syntax trees.
        reassigned: what a right answer changes; None if none is known: then what is empty may be there to be filled.
    """
    definitions = [node for node in prompt if isinstance(node, _DEFINITION)]
    others = [node for node in prompt if not isinstance(node, _DEFINITION)]
    fixed = {name for name, (value, _) in values.items() if _is_fixed(value)}
    theirs = list_changed(_walk((*definitions, *tests)), fixed)
    theirs.update(reassigned or ())
    if reassigned is None:
        theirs.update(name for name, (value, is_same) in values.items() if is_same and not value)
    theirs = spread_changes(theirs, others, fixed)
    theirs.update(name for name, (_, is_same) in values.items() if not is_same)
    theirs.update(node.name for node in definitions if isinstance(node, ast.ClassDef))
    names = values.keys() & set[str]().union(*map(_list_names, (*prompt, *tests)))
    names -= {node.name for node in definitions if not isinstance(node, ast.ClassDef)}
    return sorted(names & theirs), sorted(names - theirs - fixed) if reassigned is None else []


def spread_changes(changed: set[str], prompt: list[ast.stmt], fixed: set[str]) -> set[str]:
    """Return the names whose objects change, too, where those of these do: what holds them, and what they hold or are made of."""
    changed = set(changed)
    for statement in reversed(prompt):
        if not changed.isdisjoint(_list_bound(statement)):
            changed |= _list_names(statement) - fixed
    for statement in prompt * 2:
        if not changed.isdisjoint(_list_names(statement)):
            changed |= _list_bound(statement)
    return changed


_FILLING = frozenset(
    [
        *("appendleft", "extendleft", "move_to_end", "popleft", "rotate", "subtract"),
        *("add", "append", "clear", "difference_update", "discard", "extend", "insert", "intersection_update", "pop"),
        *("popitem", "remove", "reverse", "setdefault", "sort", "symmetric_difference_update", "update"),
    ]
)
"""Methods that change their object."""
_ARRANGING = frozenset(
    [
        *("heapify", "heappop", "heappush", "heappushpop", "heapreplace", "insort", "insort_left", "insort_right"),
        "shuffle",
    ]
)
"""Functions that change the first thing that they are given."""
_READING = frozenset(("get", "items", "setdefault", "values"))
"""Methods that return a part of their object."""
_DEFINITION = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def list_changed(nodes: Iterable[ast.AST], fixed: set[str]) -> set[str]:
    """Return the names whose objects a program changes, replaces from inside a function or identifies.

    For these it matters whose object it is: a constant that is equal is another one. What is added to another object
    is not changed by that, nor is what a prompt writes down as a number or a text.
    """
    identified, changed = set[str](), set[str]()
    parts = list(nodes)
    for node in parts:
        operands: list[ast.expr] = []
        if isinstance(node, ast.Global):
            identified.update(node.names)
        elif isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
            operands = [node.value]
        elif isinstance(node, ast.AugAssign):
            operands = [node.target]
        elif isinstance(node, ast.Compare) and any(isinstance(how, ast.Is | ast.IsNot) for how in node.ops):
            sides = [node.left, *node.comparators]
            identified.update(() if any(isinstance(side, ast.Constant) for side in sides) else map(_find_base, sides))
        elif isinstance(node, ast.Call):
            called = get_called_name(node)
            if called in _ARRANGING or (called in _FILLING and hasattr(builtins, _find_base(node.func))):
                operands = node.args[:1]  # `list.append(items, 1)`, too
            elif called in _FILLING:
                operands = [node.func]
            elif called in _SAME or called == "id":
                identified.update(map(_find_base, node.args))
        changed.update(map(_find_base, operands))
        changed.update(part.attr for side in operands for part in ast.walk(side) if isinstance(part, ast.Attribute))
    for name, base in _list_aliases(parts)[::-1] * 3:
        if name in changed:
            changed.add(base)
    return identified | (changed - fixed)


def _list_aliases(nodes: list[ast.AST]) -> list[tuple[str, str]]:
    """Return pairs of names of which the first, a variable, an attribute or a parameter, may be the second one's object or a part of it."""
    aliases: list[tuple[str, str]] = []
    functions = {node.name: node.args for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    for node in nodes:
        pairs: list[tuple[str, ast.expr]] = []
        if isinstance(node, ast.Assign):
            attributes = [target.attr for target in node.targets if isinstance(target, ast.Attribute)]
            pairs = [(name, node.value) for name in (*_list_targets(node), *attributes)]
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            aliases += [(name, base) for name in _list_names(node.target) for base in _list_names(node.iter)]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            parameters, defaults = node.args.args[::-1], node.args.defaults[::-1]
            pairs = [(parameter.arg, value) for parameter, value in zip(parameters, defaults, strict=False)]
        elif isinstance(node, ast.Call) and get_called_name(node) in functions:
            names = [parameter.arg for parameter in functions[get_called_name(node)].args]
            pairs = [*zip(names[isinstance(node.func, ast.Attribute) :], node.args, strict=False)]
            pairs += [(option.arg, option.value) for option in node.keywords if option.arg]
        aliases += [(name, _find_base(value)) for name, value in pairs]
    return aliases


_DEEP = 64 * " "
"""An indentation that is deeper than that of any method whose head ends a prompt."""


def parse_prompt(prompt: str) -> ast.Module | None:
    """Return the syntax tree of a prompt, which may end with the head of the function that is to be completed."""
    return parse(prompt) or parse(f"{prompt.rstrip()}\n{_DEEP}pass\n")


def list_reassigned(reference: str, prompt: str) -> list[str] | None:
    """Return the names of constants that a right answer changes, or assigns otherwise than the prompt; None if not Python."""
    tree, asking = parse(reference), parse_prompt(prompt)
    if tree is None or asking is None:
        return None
    own = _list_own(tree, asking)
    literals = (node for node in asking.body if isinstance(getattr(node, "value", None), ast.Constant))
    fixed = set[str]().union(*map(_list_targets, literals))
    return sorted(list_changed(_walk(own), fixed).union(*map(_list_targets, own)))


def _list_own(tree: ast.Module, prompt: ast.Module) -> list[ast.stmt]:
    """Return the statements of a solution that are not word for word its prompt's."""
    of_prompt = {ast.dump(statement) for statement in prompt.body}
    return [statement for statement in tree.body if ast.dump(statement) not in of_prompt]


def _walk(trees: Iterable[ast.AST]) -> Iterator[ast.AST]:
    return (node for tree in trees for node in ast.walk(tree))


def _list_bound(statement: ast.AST) -> set[str]:
    """Return the names that a statement other than a definition may bind."""
    if isinstance(statement, _DEFINITION):
        return set()
    return _collect_bound_names(list(ast.walk(statement)))


def _list_names(statement: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}


def _list_targets(statement: ast.AST) -> list[str]:
    """Return the names that an assignment binds; none of another statement."""
    targets = getattr(statement, "targets", None) or [getattr(statement, "target", ast.Pass())]
    return [
        node.id
        for target in targets
        for node in ast.walk(target)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]


def _find_base(expression: ast.expr) -> str:
    """Return the name whose object, or a part of it, an expression is; empty for others."""
    while isinstance(expression, ast.Subscript | ast.Attribute | ast.Call):
        if isinstance(expression, ast.Call):
            if get_called_name(expression) not in _READING:
                break
            expression = expression.func
        else:
            expression = expression.value
    return expression.id if isinstance(expression, ast.Name) else ""
