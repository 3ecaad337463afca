"""One sample's tests, compiled once."""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from functools import lru_cache
from itertools import chain

from .. import wire
from ..exchange.standin import get_token
from ..explained import SAVED
from ..marking import Compiled
from . import expressions, rules
from .claims import cannot_fail, find_claim, list_inert, makers, required_parts, unheard_parts
from .expressions import DEFINITION, list_bound, list_names, parse, walk_all
from .lending import Lending
from .programs import BrokenTest, compile_test, portable, repeated_parts
from .prompts import (
    DRAWING,
    close_over,
    collect_words,
    gives_objects,
    has_code,
    is_code,
    is_idle,
    leave_to_solutions,
    list_connected,
    list_given,
    list_heads,
    list_readers,
    list_replaced,
    looks_into,
    make_clearing,
    parse_prompt,
    run_twice,
)
from .separation import leaves_traces, may_execute, names_used, runs_beside

TYPE_CHECKING = False
if TYPE_CHECKING:
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
_COMPILED = (
    "leaves_traces", "compiled", "before", "asks", "faults", "beside", "draws", "silent", "required", "unheard", "repeated",
    "makers", "of_solution", "open", "tests_class", "replaceable", "given", "readers", "_living",
)  # fmt: skip
"""What an examiner tells another one of a sample's tests."""
STDIN = "stdin"
"""The kind of a task whose solutions are programs that read and write."""


class CompiledTests:
    """One sample's tests, compiled once."""

    leaves_traces = False
    """Whether an attempt may change something here that the next one finds."""
    rebound = frozenset[str]()
    """Names to which the solution that is examined, or a right one, gives other objects when it is called."""
    open: list[bool]
    """Which tests let the solution decide more than its answer, by what it has in the place of the prompt's."""
    tests_class: bool
    """Whether the prompt begins a class that is tested."""
    _living: set[str] | None = None
    _replaced: tuple[Any, set[str]] = None, set()
    """The solution whose replacements were looked for last, and what they are."""

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
        """Names of the prompt whose objects are the solution's, where that has them, as it may change them."""
        self.replaceable: list[str] = []
        """Constants of the prompt: where no right answer is known, a solution may give them other values."""
        self.readers: list[list[str]] = []
        """Functions of the prompt that the tests have copies of, each with the names that it reads."""
        self.given: list[str] = []
        """Names that the prompt's code gives the tests."""
        self._prompt: str = spec.get("prompt", "")
        self._has_right_answer = spec.get("changed") is not None
        self._again: list[bool] = []
        if not (compiled and self._take(compiled)):
            used = self._compile_tests()
            if self._prompt:
                self._compile_prompt(self._prompt, spec.get("changed"), used)

    def _compile_tests(self) -> set[str]:
        """Return the names that the tests use."""
        used, own = {self.name}, set[str]()
        for test in self.tests:
            if self.kind == STDIN:
                self._add_rule(test)
            else:
                names = self._add(test)
                own |= expressions.list_imported(self._parse(test)) - used
                used |= names
        self.asks = sorted(used - own - {""})
        self.open, self.tests_class = [False] * len(self.tests), False
        return used

    def _compile_prompt(self, prompt: str, changed: list[str] | None, used: set[str]) -> None:
        """Find what the tests have of a prompt, and which of them it opens.

        Args:
            prompt: its text.
            changed: what a right answer replaces in it; None if none is known.
            used: names that the tests use.
        """
        tree, with_entry = parse_prompt(prompt, self.name), parse_prompt(prompt)
        by_test = [[tree for tree in self._parse(test) if tree] for test in self.tests]
        parts = [*chain(*by_test)]
        statements = list_given(tree, self.name) if tree else []
        others = [node for node in tree.body if node not in statements] if tree else []
        left_out = [node for node in others if getattr(node, "name", "") != self.name]
        left_out += list_heads(tree, self.name) if tree else []
        words = collect_words(parts)
        self.tests_class = any(isinstance(node, ast.ClassDef) and node.name == self.name for node in others)
        is_open = (
            has_code(prompt, self.name)
            if with_entry is None
            else bool(left_out) or gives_objects(with_entry, self.name)
        )
        is_open |= any(isinstance(node, DEFINITION) and self.name in list_names(node) for node in statements)
        if tree and not is_open and all(is_idle(node, used | vars(builtins).keys()) for node in statements):
            self.open = self._list_open(by_test, words, set().union(*map(list_bound, statements)), set())
            if not any(self.open):
                return
        code, values = run_twice(statements) if tree else (None, {})
        values.pop(self.name, None)
        if code is None or tree is None:  # prose makes nothing; of code that cannot run nobody says what it makes
            is_unknown = is_open or tree is not None
            self.open = [True] * len(self.tests) if is_unknown else self._list_open(by_test, words, set(), set())
            return
        if may_execute(walk_all(statements)):
            self.beside = [True] * len(self.tests)
        reached = list_connected(words, [*statements, *left_out], values)
        # of what is made of the tested class its objects are tested
        of_class = set[str]().union(*map(list_bound, left_out)) if self.tests_class else set()
        changing = leave_to_solutions(statements, values, parts, changed, left_out, self.name) - {self.name}
        theirs = (reached & changing) - of_class
        self.of_solution = sorted(theirs)
        self.asks = sorted({*self.asks, *self.of_solution})
        self.leaves_traces |= leaves_traces(expressions.nodes(ast.Module(statements, [])))
        mentioned = values.keys() & (used | words | collect_words(statements))
        self.given = sorted(mentioned - theirs)
        self.replaceable = sorted(name for name in mentioned if not is_code(values[name][0]))
        self.readers = [pair for pair in list_readers(values) if pair[0] in self.given]
        self.asks = sorted({*self.asks, *set[str]().union(*self.readers).intersection(self.replaceable)})
        # a copy of a function that reads what is the solution's gives what that makes of it
        self.open = self._list_open(by_test, words, set(values), close_over(changing, list_readers(values)))
        if is_open:
            self.open = [True] * len(self.tests)
        self.before = [make_clearing(self.given), code]
        # what the prompt brings along is not the solution's
        for maker_names in self.makers:
            maker_names.difference_update(values.keys() - theirs)

    def _list_open(
        self, by_test: list[list[ast.Module]], words: set[str], of_prompt: set[str], changing: set[str]
    ) -> list[bool]:
        """Return for each test whether it has more of the solution than the answers of what it tests.

        That is one of the prompt's objects which a solution may change (`changing`), an attribute of what is tested, or a name
        that neither the tests nor the prompt are certain to bind.
        """
        nodes = [*walk_all(chain(*by_test))]
        imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
        modules = {
            name for node in imports for name in (getattr(node, "module", ""), *(part.name for part in node.names))
        }
        bound, reads_more = of_prompt | self._entry | vars(builtins).keys(), False
        for test, trees in zip(self.tests, by_test, strict=True):
            reads_more |= bool(_list_free(_read_code(test)) - bound)
            bound |= expressions.list_certain([part for tree in trees for part in tree.body])
        if (
            reads_more
            or "solution" in modules
            or any(isinstance(node, ast.Attribute) and node.attr.startswith("__") for node in nodes)
            or not words.isdisjoint(_OF_FUNCTIONS)
            or any(looks_into(tree, self._entry) for tree in chain(*by_test))
        ):
            return [True] * len(by_test)
        return [not changing.isdisjoint(words)] * len(by_test)  # they share their variables

    def _list_taken(self) -> set[str]:
        """Return the names that the tests take from elsewhere, but for what they test."""
        return set[str]().union(*map(_list_free, map(_read_code, self.tests))) - self._entry

    @expressions.pause_clock
    def reads_more(self, index: int) -> bool:
        """Return whether a test reads more than what it tests: another one may have changed that."""
        return bool(_list_free(_read_code(self.tests[index])) - self._entry - vars(builtins).keys())

    @expressions.pause_clock
    def _list_read(self) -> set[str]:
        """Return the names that the tests, or the prompt's code for them, take from elsewhere, but for what they test."""
        if self._living is None:
            prompt = parse_prompt(self._prompt, self.name) if self.before else None
            statements = list_given(prompt, self.name) if prompt else []
            try:
                of_prompt = expressions.list_free(ast.unparse(ast.Module(statements, [])))
            except RecursionError:  # a text of four hundred parts
                of_prompt = collect_words(statements)
            pythons = vars(builtins).keys() - {*self.given, *self.of_solution}
            self._living = (self._list_taken() | of_prompt) - self._entry - pythons
        return self._living

    def list_living(self, code: str) -> list[str]:
        """Return the names that a solution may give other values while its tests, which take them from it, run."""
        read = self._list_read()
        return sorted(read - (set(self.given) - self.list_replaced(code)))

    def list_watched(self, code: str, *, learns: bool) -> list[str]:
        """Return the names of which a solution is asked whether they have become something else while its tests ran.

        They are also the prompt's constants where no right answer says whether they stay, or it is run to say so (`learns`).
        """
        with_constants = learns or not self._has_right_answer
        return sorted({*self.list_living(code), *self.replaceable * with_constants}.intersection(self.asks))

    def list_replaced(self, code: str) -> set[str]:
        """Return which names of the prompt a solution gives other objects, where no right answer says whether it may."""
        key = code, self.rebound
        if self.replaceable and self._replaced[0] != key:
            tree = None if self._has_right_answer else parse(code)
            names = list_replaced(tree.body if tree else []).union(self.rebound).intersection(self.replaceable)
            self._replaced = (key, close_over(names, self.readers))
        return self._replaced[1]

    def list_taken_from(self, code: str) -> set[str]:
        """Return the names of the prompt under which the tests have this solution's objects."""
        return self.list_replaced(code).union(() if self.has_answers_only else self.of_solution)

    @property
    def has_answers_only(self) -> bool:
        """Whether the tests have nothing of a solution but what they test, called: all else is the prompt's or their own."""
        return bool(self._prompt) and self.kind != "text" and not any(self.open)

    def restrict_names(self, objects: dict[str, Any], code: str) -> dict[str, Any]:
        """Return what the tests have of a solution, by name.

        Those that need its answers alone get no other name, even if they mention one that was taken for their own. They can
        call what is tested, and no more: an attribute could say what a test expects.
        """
        if not self.has_answers_only:
            return objects
        allowed = self.list_taken_from(code) | {self.name}
        shown = {name: value for name, value in objects.items() if name in allowed}
        if get_token(shown.get(self.name)) is not None and not self.tests_class:
            shown[self.name] = make_caller(shown[self.name], self.name)
        return shown

    def helpers(self, code: str) -> list[Any]:
        """Return what puts the prompt's code before the tests, but for what is this solution's."""
        if not self.before:
            return []
        clear, code_given = self.before
        names = self.list_taken_from(code)
        # so that the prompt's code does nothing once more to classes of the solution's; where an object of theirs is missing there,
        # it is made of them
        remade = names.intersection(code_given.co_names)
        names |= {self.name} if self.name.isidentifier() else set()
        saved = [(name, SAVED + name) for name in sorted(names)]
        save = "".join(f"if {name!r} in globals(): {other} = {name}\n" for name, other in saved)
        if remade:
            save += f"if {remade!r} <= globals().keys(): del {', '.join(sorted(remade))}\n"
        restore = "".join(f"if {other!r} in globals(): {name} = {other}\n" for name, other in saved)
        first, last = (compile(text, "<prompt>", "exec", dont_inherit=True) for text in (save, restore))
        return [first, clear, code_given, last]

    def compiled_text(self) -> str:
        """Return what another examiner needs to know this sample's tests without compiling them; empty if it has to."""
        if self.kind == STDIN:
            return ""
        self._list_read()
        data = portable([getattr(self, name) for name in _COMPILED])
        return data.hex() if len(data) < _MOST_COMPILED else ""

    def _take(self, compiled: str) -> bool:
        """Know the tests by what another examiner said of them; False if that cannot be read."""
        try:
            facts = dict(zip(_COMPILED, wire.load_code(bytes.fromhex(compiled)), strict=True))
        except (ValueError, TypeError, EOFError):  # what was kept on a disk has suffered there
            return False
        vars(self).update(facts)
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
        self.beside.append(may_execute(nodes) if self.kind == "text" else runs_beside(nodes, self.name))
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
        return [self.name] if self.name and self.kind != "text" else []

    def handed_over(self, code: str, entry: str, more: list[str]) -> tuple[str, list[str], list[Any], list[str]]:
        """Return what comes before the tests: what the object is called that they test, its other names, helpers, `list_living`."""
        return entry, [*self.aliases, *more], self.helpers(code), self.list_living(code)


def make_caller(function: Any, name: str) -> Any:
    """Return a function that calls another one and shows nothing of it."""

    def call(*arguments: Any, **named: Any) -> Any:
        return function(*arguments, **named)

    call.__name__ = call.__qualname__ = name
    return call


_CODE = ("setup", "program", "assertion")
"""Parts of a test that are Python, as they run."""
_CLAIMS = ("assertion", "inspection", "pattern")


_OF_FUNCTIONS = frozenset(("__annotations__", "__code__", "__defaults__", "__dict__", "__doc__", "__kwdefaults__"))


def _read_code(test: dict[str, Any]) -> str:
    return "\n".join(test[part].strip() for part in _CODE if test.get(part))


@lru_cache(maxsize=1024)
def _list_free(text: str) -> set[str]:
    """Return the names that a test takes from elsewhere; kept, as that takes a third of what compiling the test does."""
    return expressions.list_free(text)


def _draws(node: ast.AST) -> bool:
    """Whether a part of a test speaks of what, beside a solution, gives the solution's numbers."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        names = (getattr(node, "module", "") or "", *(alias.name for alias in node.names))
        return any(part in DRAWING for name in names for part in name.split("."))
    return getattr(node, "attr", None) in DRAWING or (isinstance(node, ast.Name) and node.id in DRAWING)
