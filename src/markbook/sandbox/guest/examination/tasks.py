"""One sample's tests, compiled once."""

from __future__ import annotations

import ast
import builtins
import re
import signal
import types
from collections import Counter, OrderedDict, deque

from .. import wire
from ..marking import Compiled
from . import expressions, rules
from .claims import SAME, cannot_fail, compares, find_claim, list_inert, makers, required_parts, unheard_parts
from .expressions import DEFINITION, find_base, flows, get_called_name, list_bound, list_names, parse, walk_all
from .lending import Lending
from .programs import BrokenTest, compile_test, portable, repeated_parts
from .separation import leaves_traces, names_used, own_random, runs_beside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, NotRequired, TypedDict

    from .mutation_canary import Canary
    from .separation import Plan

    Links = list[tuple[set[str], set[str], bool]]
    """Of each statement what `link` says."""

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
        self.changeable: list[tuple[str, int]] = []
        """Names of the prompt whose objects a solution may change, as no right answer is known, each with its `measure_depth`."""
        self.given: list[str] = []
        """Names that the prompt's code certainly gives the tests."""
        self._living: set[str] | None = None
        self._prompt: str = spec.get("prompt", "")
        self._again: list[bool] = []
        if not (compiled and self._take(compiled)):
            self._compile(self._prompt, spec.get("changed"))

    def _compile(self, prompt: str, changed: dict[str, int] | None) -> None:
        used, own = {self.name}, set[str]()
        for test in self.tests:
            if self.kind == STDIN:
                self._add_rule(test)
            else:
                names = self._add(test)
                own |= expressions.list_imported(self._parse(test)) - used
                used |= names
        self.asks = sorted(used - own - {""})
        if not prompt:
            return
        tree = parse_prompt(prompt)
        statements = list_given(tree, self.name) if tree else []
        others = [node for node in tree.body if node not in statements] if tree else []
        left_out = [node for node in others if getattr(node, "name", "") != self.name]
        if tree and all(is_idle(node, used | vars(builtins).keys()) for node in (*statements, *left_out)):
            return
        named = self._list_taken()
        parts = self._parts()
        # every test of a class names it: only where it says what is right does that show nothing
        own_doubtful = [self.name] * bool(tree and expects_constants(tree, self.name, parts))
        code, values = run_twice(statements) if tree else (None, {})
        if code is None or tree is None:
            # where nobody can say what a prompt makes, it may be whatever it mentions
            calls = {get_called_name(node) for node in walk_all(parts) if isinstance(node, ast.Call)}
            theirs = set(re.findall(r"\w+", prompt)) - vars(builtins).keys() - (set() if self.name else calls)
            self.doubtful = sorted((named & theirs).union(own_doubtful))
            return
        theirs, self.changeable, links = leave_to_solutions(statements, values, parts, changed, left_out)
        is_class = any(isinstance(node, ast.ClassDef) and node.name == self.name for node in tree.body)
        # `expects_constants` says of objects of the tested class whether they are what is expected
        reached = spread(named.difference(*map(list_bound, left_out if is_class else ())), links)
        self.doubtful = sorted(reached.intersection(theirs).union(own_doubtful))
        self.of_solution = sorted(theirs)
        self.asks = sorted({*self.asks, *self.of_solution})
        self.leaves_traces |= leaves_traces(expressions.nodes(ast.Module(statements, [])))
        mentioned = values.keys() & named.union(*map(list_names, statements))
        self.given = sorted(mentioned - set(theirs))
        # a name that the solution has, too, is not to keep the prompt's code from making its own
        clear = "".join(f"try: del {name}\nexcept NameError: pass\n" for name in self.given)
        self.before = [compile(clear, "<prompt>", "exec", dont_inherit=True), code]
        # what the prompt brings along is not the solution's
        for maker_names in self.makers:
            maker_names.difference_update(set(self.before[1].co_names) - set(self.of_solution))

    def _parts(self) -> list[ast.Module]:
        return [part for test in self.tests for part in self._parse(test) if part]

    def _list_taken(self) -> set[str]:
        """Return the names that the tests take from elsewhere, but for what they test."""
        trees = ([part for part in self._parse(test) if part] for test in self.tests)
        return set[str]().union(*map(expressions.list_free, trees)) - self._entry

    @expressions.pause_clock
    def list_living(self, code: str) -> list[str]:
        """Return the names that a solution may give other values while its tests, which take them from it, run."""
        if "global" not in code:  # the statement, or `globals()`
            return []
        if self._living is None:
            prompt = parse_prompt(self._prompt) if self.before else None
            of_prompt = expressions.list_free(list_given(prompt, self.name)) if prompt else set()
            self._living = (self._list_taken() | of_prompt) - self._entry - vars(builtins).keys()
        return sorted(self._living.difference(self.given) | (self._living & self.changed_by(code)))

    def changed_by(self, code: str) -> set[str]:
        """Return which constants of the prompt a solution changes, where no right answer says whether it may."""
        tree = parse(code) if self.changeable else None
        asking = parse_prompt(self._prompt) if tree else None
        if not (tree and asking):
            return set()
        depths = dict(self.changeable)
        changed = {
            name for name, level in list_changed(_list_own(tree, asking)).items() if level < depths.get(name, -1)
        }
        if not changed:
            return set()
        fixed = {name for name, depth in self.changeable if not depth}
        return depths.keys() & spread(changed, link(list_given(asking, self.name), depths), fixed)

    @expressions.pause_clock
    def is_patched(self, code: str) -> bool:
        """Whether a solution may put something in the place of a part of a module, which its process shares with the tests."""
        tree = parse(code)
        nodes = expressions.nodes(tree) if tree else []
        if any(getattr(node, "id", getattr(node, "attr", "")) in _PATCHING for node in nodes):
            return True
        imports = expressions.collect_bound_names([node for node in nodes if isinstance(node, ast.alias)])
        own = expressions.collect_bound_names(nodes) - imports
        stored = (node for node in nodes if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load))
        return any((base := find_base(node)) and base not in own for node in stored)

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
            self.given,
        )
        data = portable((self.leaves_traces, self.compiled, self.before, self.asks, *facts))
        return data.hex() if len(data) < _MOST_COMPILED else ""

    def _take(self, compiled: str) -> bool:
        """Know the tests by what another examiner said of them; False if that cannot be read."""
        try:
            self.leaves_traces, self.compiled, self.before, self.asks, *facts = wire.load_code(bytes.fromhex(compiled))
            (
                self.faults, self.beside, self.draws, self.silent, self.required, self.unheard, self.repeated, makers,
                self.of_solution, self.doubtful, self.changeable, self.given,
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
        alone = trees[2].body if trees[2] else []
        self.silent.append(not claims or any(isinstance(part, ast.Expr) and cannot_fail(part.value) for part in alone))
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

    def handed_over(self, code: str, entry: str, more: list[str]) -> tuple[str, list[str], list[Any], list[str]]:
        """Return what comes before the tests: what the object is called that they test, its other names, helpers, `list_living`."""
        return entry, [*self.aliases, *more], self.helpers(code), self.list_living(code)


_DRAWN = frozenset(("random", "secrets", "uuid", "uuid4", "urandom", "default_rng", "RandomState", "randint", "randn"))
"""What gives numbers that nobody wrote into a test."""
_CLAIMS = ("assertion", "inspection", "pattern")
_PATCHING = frozenset(("__dict__", "__import__", "delattr", "import_module", "modules", "setattr", "vars"))
"""By what a part of a module can be replaced beside an assignment to it."""


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
    others = [node for node in prompt.body if not isinstance(node, DEFINITION) and entry in list_names(node)]
    constants, methods, names = set[str]().union(*map(list_bound, others)), set[str](), [entry]
    for name in names:  # and of those that it is based on
        if definition := classes.pop(name, None):
            is_record = "dataclass" in "".join(map(ast.dump, definition.decorator_list))  # fields are of its objects
            values = [node for node in definition.body if not (is_record and isinstance(node, ast.AnnAssign))]
            constants.update(
                name for node in values if getattr(node, "value", None) for name in expressions.list_targets(node)
            )
            own = (node for node in ast.walk(definition) if isinstance(node, ast.Attribute) and node.attr.isupper())
            constants.update(node.attr for node in own if isinstance(node.ctx, ast.Store))
            methods.update(node.name for node in definition.body if isinstance(node, DEFINITION))
            names += [find_base(base) for base in definition.bases]
    if not constants:
        return False
    functions = {node.name for node in prompt.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    known = functions.union(*map(list_bound, prompt.body), vars(builtins), expressions.list_imported(list(tests)))
    everywhere = flows(list(walk_all(tests)))
    for test in tests:
        nodes = list(ast.walk(test))
        values_by_name = {**everywhere, **flows(nodes)}
        for node in nodes:
            sides: list[ast.expr] = []
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
            elif isinstance(node, ast.Call) and (compares(get_called_name(node)) or get_called_name(node) in _CLOSE):
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
            is_state = not node.attr.isupper() and find_base(node) not in self._classes
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
            is_call = isinstance(node, ast.Call) and find_base(node.func) not in self._known
            for part in ast.iter_child_nodes(node):
                self.look(part, is_argument=is_argument or (is_call and part is not node.func))  # type: ignore[attr-defined]


_SECONDS = 30.0
"""After so much processor time a prompt's code is taken for one that never ends."""


def list_given(prompt: ast.Module, entry: str) -> list[ast.stmt]:
    """Return the prompt's code without what names the entry point."""
    return [
        node
        for node in prompt.body
        if not (node.name == entry if isinstance(node, DEFINITION) else entry in list_names(node))
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
        values = {name: (value, _is_same(value, again.get(name))) for name, value in first.items()}
        return code, {name: pair for name, pair in values.items() if name not in ("__name__", "__builtins__")}
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


_ENDLESS = 1 << 20


def measure_depth(value: Any) -> int:
    """Return how many steps into an object something may be that can be changed: none in what can only be replaced."""
    kind = type(value)
    if kind is types.FunctionType:
        return 1  # its attributes
    try:
        hash(value)
    except Exception:
        if kind.__module__ in ("array", "numpy") or kind is bytearray:
            return 1
        if kind in _SEQUENCES:
            parts = value
        elif kind in _MAPPINGS or (hasattr(value, "__dict__") and not hasattr(value, "__iter__")):
            parts = (value if kind in _MAPPINGS else vars(value)).values()
        else:
            return _ENDLESS
        try:
            return 1 + max(map(measure_depth, parts), default=0)
        except RecursionError:
            return _ENDLESS
    return 0


_MAPPINGS, _SEQUENCES = frozenset((dict, OrderedDict, Counter)), frozenset((list, set, tuple, deque))


def leave_to_solutions(
    prompt: list[ast.stmt],
    values: dict[str, tuple[Any, bool]],
    tests: list[ast.Module],
    reassigned: dict[str, int] | None,
    left_out: list[ast.stmt],
) -> tuple[set[str], list[tuple[str, int]], Links]:
    """Return which names of the prompt are the solution's, those that are if it changes their objects, and how names hang together.

    Args:
        prompt: its statements.
        values: what they make.
        tests: their syntax trees.
        reassigned: what a right answer changes; None if none is known: then what is empty may be there to be filled.
        left_out: statements of the prompt that are not run.
    """
    definitions = [node for node in prompt if isinstance(node, DEFINITION)]
    functions = {node.name for node in definitions if not isinstance(node, ast.ClassDef)}
    depths = {name: measure_depth(value) for name, (value, _) in values.items()}
    levels = [list_changed(definitions), list_changed(left_out), list_changed(tests, lends=True), reassigned or {}]
    theirs = {name for changes in levels for name, level in changes.items() if level < depths.get(name, -1)} - functions
    if reassigned is None:
        theirs.update(name for name, (value, is_same) in values.items() if is_same and not value)
    links = link(prompt, depths)
    theirs = spread(theirs, links, {name for name in depths if not depths[name] or name in functions})
    theirs.update(name for name, (_, is_same) in values.items() if not is_same and name not in functions)
    theirs.update(node.name for node in definitions if isinstance(node, ast.ClassDef))
    theirs &= values.keys() & set[str]().union(*map(list_names, (*prompt, *tests)))
    # what a function of the prompt notes of its calls is noted by the solution's
    theirs |= functions & {find_base(node) for node in walk_all(tests) if isinstance(node, ast.Attribute)}
    theirs = theirs.union(*map(list_bound, left_out))
    others = depths.keys() - theirs - functions if reassigned is None else set()
    changeable = sorted((name, depths[name]) for name in others)
    return theirs, [pair for pair in changeable if not isinstance(values[pair[0]][0], types.ModuleType | type)], links


def link(statements: list[ast.stmt], depths: dict[str, int]) -> Links:
    """Return for each statement which names it makes or changes, which it mentions, itself and by what it calls, and whether it is run."""
    definitions = {node.name: node for node in statements if isinstance(node, DEFINITION)}
    links: Links = []
    for statement in statements:
        parts, mentioned = [statement], set[str]()
        for part in parts:  # it grows meanwhile
            names = list_names(part) - mentioned
            mentioned |= names
            parts += [definitions[name] for name in names & definitions.keys() if definitions[name] not in parts]
        has_more = bool(getattr(statement, "decorator_list", ()) or getattr(statement, "bases", ()))
        is_run = has_more or not isinstance(statement, DEFINITION)
        changes = list_bound(statement) | {getattr(statement, "name", "")} - {""}
        if is_run:
            changes |= {name for name, level in list_changed(parts).items() if level < depths.get(name, 0)}
        links.append((changes, mentioned, is_run))
    return links


def spread(names: set[str], links: Links, fixed: set[str] | None = None) -> set[str]:
    """Return names with all that what they name is made of; given what cannot be changed, with all that changes when these do."""
    names, before = set(names), -1
    while len(names) != before:
        before = len(names)
        for changes, mentioned, is_run in links:
            if fixed is None:
                names |= mentioned | changes if not names.isdisjoint(changes) else set()
            elif is_run and not names.isdisjoint(changes | mentioned):
                names |= changes | (mentioned - fixed)
    return names


_LOOKING = frozenset(
    [
        *("all", "any", "bool", "hash", "isinstance", "len", "print", "repr", "str", "type"),
        *("count", "difference", "index", "isdisjoint", "issubset", "issuperset", "join", "keys", "split"),
    ]
)
"""Functions and methods that hand on nothing of an object; of what they hand on, `_TAKING` leave the object as it is."""
_TAKING = frozenset(
    [
        *("dict", "enumerate", "filter", "frozenset", "iter", "list", "map", "max", "min", "reversed", "set", "sorted"),
        *("sum", "tuple", "zip", "accumulate", "bisect", "bisect_left", "bisect_right", "chain", "choice"),
        *("combinations", "copy", "deepcopy", "dumps", "permutations", "product", "get", "intersection", "items"),
        *("union", "values"),
    ]
)
_ARRANGING = frozenset(
    [
        *("heapify", "heappop", "heappush", "heappushpop", "heapreplace", "insort", "insort_left", "insort_right"),
        *("setattr", "shuffle"),
    ]
)
"""Functions by which a test changes the first thing that it gives them."""
_METHODS = frozenset(name for kind in (*_MAPPINGS, *_SEQUENCES) for name in dir(kind))


def list_changed(trees: Iterable[ast.AST], *, lends: bool = False) -> dict[str, int]:
    """Return how many steps into the objects of names code may change something: anywhere but where it is known only to read.

    A step is an item or an attribute. -1 stands for what happens to an object that cannot be changed, too: it is replaced
    from inside a function by what is made of it, or identified. For these it matters whose object it is.

    Args:
        trees: of the code.
        lends: whether it may give what it names to others, as tests do.
    """
    levels: dict[str, int] = {}
    for tree in trees:
        nodes = list(ast.walk(tree))
        parents = {child: node for node in nodes for child in ast.iter_child_nodes(node)}
        declared = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
        reads = (_LOOKING | _TAKING) - expressions.collect_bound_names(nodes)
        for node in nodes:
            level: int | None = None
            name = getattr(node, "id", "")
            if isinstance(node, ast.Global):
                levels.update({name: min(levels.get(name, 0), 0) for name in node.names})
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                name, level = node.value, 0  # `globals()['LIMIT']`
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                level = find_level(node, parents, reads, lends=lends)
            elif isinstance(node, ast.Name) and isinstance(parents.get(node), ast.AugAssign):
                level = -1 if name in declared else 0
            if level is not None:
                levels[name] = min(levels.get(name, level), level)
    return levels


def find_level(node: ast.AST, parents: dict[ast.AST, ast.AST], reads: frozenset[str], *, lends: bool) -> int | None:
    """Return how many steps into an object something may be changed where its name stands; None if it is only read."""
    level = 0
    while True:
        outer = parents.get(node)
        if isinstance(outer, ast.Subscript | ast.Attribute) and outer.value is node:
            call = parents[outer]
            if not isinstance(outer.ctx, ast.Load) or (isinstance(call, ast.AugAssign) and call.target is outer):
                return level - 1
            is_called = isinstance(call, ast.Call) and call.func is outer
            if isinstance(outer, ast.Subscript) or (outer.attr not in _METHODS and not is_called):
                node = outer
            elif is_called and outer.attr in _LOOKING:
                return None
            elif is_called and outer.attr in _TAKING:
                node = call
            else:
                return level
            level += 1
        elif isinstance(outer, ast.Compare):
            sides = [outer.left, *outer.comparators]
            is_identified = any(isinstance(how, ast.Is | ast.IsNot) for how in outer.ops)
            return -1 if is_identified and not any(isinstance(side, ast.Constant) for side in sides) else None
        elif isinstance(outer, ast.BoolOp | ast.keyword) or (isinstance(outer, ast.IfExp) and node is not outer.test):
            node = outer
        elif isinstance(outer, ast.Call) and node is not outer.func:
            called = get_called_name(outer)
            if called in SAME or called == "id":
                return -1
            is_seen = called in _LOOKING & reads or (lends and called not in _ARRANGING)
            return None if is_seen else level + (called in _TAKING & reads)
        elif isinstance(outer, ast.BinOp | ast.Starred | ast.AugAssign) or (
            isinstance(outer, ast.For | ast.AsyncFor | ast.comprehension) and node is outer.iter
        ):
            return level + 1
        elif isinstance(outer, _ASKING) or outer is None:
            return None
        else:
            return level


_ASKING = (
    ast.Assert | ast.Expr | ast.FormattedValue | ast.If | ast.IfExp | ast.Slice | ast.Subscript | ast.UnaryOp | ast.While
    | ast.comprehension
)  # fmt: skip
"""What only looks at what is asked there."""


_DEEP = 64 * " "
"""An indentation that is deeper than that of any method whose head ends a prompt."""


def parse_prompt(prompt: str) -> ast.Module | None:
    """Return the syntax tree of a prompt, which may end with the head of the function that is to be completed."""
    return parse(prompt) or parse(f"{prompt.rstrip()}\n{_DEEP}pass\n")


def list_reassigned(reference: str, prompt: str) -> dict[str, int] | None:
    """Return `list_changed` of a right answer, and what it assigns otherwise than the prompt; None if not Python."""
    tree, asking = parse(reference), parse_prompt(prompt)
    if tree is None or asking is None:
        return None
    own = _list_own(tree, asking)
    replaced = [name for node in walk_all(own) if isinstance(node, ast.Global) for name in node.names]
    return list_changed(own) | dict.fromkeys(
        (*replaced, *(name for node in own for name in expressions.list_targets(node))), -1
    )


def is_idle(statement: ast.stmt, named: set[str]) -> bool:
    """Whether a statement of a prompt makes nothing that tests name, themselves or by what else it makes."""
    is_import = isinstance(statement, ast.Import | ast.ImportFrom) and statement.names[0].name != "*"
    is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return is_text or (is_import and named.isdisjoint(list_bound(statement)))


def _list_own(tree: ast.Module, prompt: ast.Module) -> list[ast.stmt]:
    """Return the statements of a solution that are not word for word its prompt's."""
    of_prompt = {ast.dump(statement) for statement in prompt.body}
    return [statement for statement in tree.body if ast.dump(statement) not in of_prompt]
