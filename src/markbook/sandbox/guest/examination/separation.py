"""Running tests here while what they test stays in the candidate's process; and which tests that suits."""

from __future__ import annotations

import ast
import builtins
import collections
import re
import sys
import types
from _thread import get_ident
from collections import Counter
from contextlib import contextmanager
from sys import _getframe

from .. import explained, wire
from ..child import seed_numpy
from ..exchange import (
    lent as _lent,  # noqa: F401 - while files can be read: a policy asks it later
    names,
)
from ..exchange.peer import MANY, Peer
from ..exchange.plain_values import SPECIAL
from ..exchange.policy import Policy
from ..exchange.standin import get_token, is_module
from ..marking import SWALLOWED, Compiled, Result, Sticky, failure, mark, receive_result
from . import expressions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

Plan = dict[str, "Any"]
"""`tests`: for each test the operators that it forwards, None where it must run beside the candidate; `pins`: names
that mean the standard library's object whatever the candidate defines; `sure`: whether a right answer showed it."""

_EXECUTES = frozenset(
    [
        "CodeType", "DictConfigurator", "EntryPoint", "ForwardRef", "Formatter", "FunctionType", "ImportString", "LambdaType", "__import__", "compile_command", "dictConfig", "eval", "exec", "exec_module", "fileConfig",
        "get_type_hints", "import_module", "load_module", "loadTestsFromName", "loadTestsFromNames", "new_class",
        "parse_expr", "resolve_name", "sympify",
    ]
)  # fmt: skip
"""Names of what executes a text or data, makes code of it, or calls what it names."""
_EXECUTING_MODULES = frozenset(
    [
        "cPickle", "cProfile", "cloudpickle", "code", "codeop", "ctypes", "dill", "doctest", "imp", "importlib", "joblib",
        "interpreters", "jsonpickle", "marshal", "numexpr", "pdb", "pickle", "pkgutil", "profile", "pydoc", "runpy", "shelve", "timeit", "trace",
        "yaml", "zipimport", "_interpreters", "_xxsubinterpreters",
    ]
)  # fmt: skip
"""Modules that do so; their names may be those of variables."""
_BESIDE = frozenset(
    [
        "inspect", "dataclasses", "fields", "is_dataclass", "asdict", "astuple", "mock", "patch", "MagicMock",
        "monkeypatch", "perf_counter", "monotonic", "process_time", "timeit", "time_ns", "getcontext",
        "setcontext", "localcontext", "gc", "weakref", "getrefcount", "globals", "locals", "vars", "eval",
        "exec", "compile", "open", "tempfile", "shutil", "pathlib", "subprocess", "threading",
        "multiprocessing", "concurrent", "signal", "socket", "warnings", "logging", "importlib", "traceback",
        "super", "setattr_static", "getsource", "tracemalloc", "sqlite3", "pickle", "__import__", "input",
        "settrace", "now", "today", "utcnow", *_EXECUTES,
    ]
)  # fmt: skip
"""Names in a test that need the candidate's own process: clocks, patches, introspection, files, process-wide state."""
_BESIDE_MODULES = frozenset(("sys", "os", "time", "builtins"))
_UNCHANGING: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        (
            "__future__", "abc", "array", "bisect", "cmath", "collections", "collections.abc", "functools", "heapq",
            "itertools", "math", "numbers", "operator", "random", "string", "types",
        ),
        frozenset(),
    ),
    "copy": frozenset(("copy", "deepcopy")),
    "datetime": frozenset(("date", "datetime", "time", "timedelta", "timezone")),
    "decimal": frozenset(("Decimal", "InvalidOperation")),
    "enum": frozenset(("Enum", "Flag", "IntEnum", "IntFlag", "auto", "unique")),
    "fractions": frozenset(("Fraction",)),
    "json": frozenset(("dumps", "loads", "JSONDecodeError")),
    "numpy": frozenset(
        [
            "abs", "all", "allclose", "any", "arange", "array", "array_equal", "float32", "float64", "inf", "int32", "int64",
            "isclose", "isnan", "linspace", "max", "mean", "min", "nan", "ndarray", "ones", "round", "std", "sum", "testing",
            "zeros",
        ]
    ),
    "pytest": frozenset(("approx", "fail", "mark", "raises")),
    "re": frozenset(("findall", "fullmatch", "match", "search", "sub")),
    "typing": frozenset(("Any", "Callable", "Dict", "Generic", "Iterable", "Iterator", "List", "Optional", "Set", "Tuple", "Union")),
    "unittest": frozenset(("TestCase", "main")),
}  # fmt: skip
"""Modules of which nothing can be changed that a test takes from there: these names, or where there are none, all."""
_PACKAGE = f"{wire.__package__}."
_OWN_NAMES = frozenset((*SPECIAL, "__class__", "__doc__", "__init__", "__name__", "__qualname__"))


def runs_beside(nodes: list[ast.AST], entry: str) -> bool:
    """Whether the nodes of a test say that it can only run in the candidate's process."""
    beside = (_BESIDE | _BESIDE_MODULES) - {entry}
    for node in nodes:
        kind = type(node)
        if kind is ast.Name:
            if node.id in beside:  # type: ignore[attr-defined]  # it is a name
                return True
        elif kind is ast.Attribute:
            if node.attr in _BESIDE and node.attr != entry:  # type: ignore[attr-defined]  # it is an attribute
                return True
        elif isinstance(node, ast.Import | ast.ImportFrom):
            modules = [getattr(node, "module", "") or "", *(alias.name for alias in node.names)]
            if any(part in _BESIDE or part in _BESIDE_MODULES for name in modules for part in name.split(".")):
                return True
    return may_execute(nodes)


def may_execute(nodes: Iterable[ast.AST]) -> bool:
    """Whether code may execute a text, call what a text names, or let it say what is read or written.

    That it only imports for others what does so shows nothing: the prompts of some benchmarks import for their solutions.
    """
    nodes = list(nodes)
    stored = [node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)]
    written = [
        target for node in nodes if isinstance(node, ast.Assign) and _is_written(node.value) for target in node.targets
    ]
    other_values = Counter(stored) - Counter(getattr(target, "id", "") for target in written)
    used, modules, handed_over = set[str](), dict[str, set[str]](), 0
    for node in nodes:
        name, method = getattr(node, "id", ""), getattr(node, "attr", "")
        used |= {name, method}
        handed_over += name in _BY_NAME
        if name == "compile" or (method == "compile" and getattr(node.value, "id", "") == "builtins"):  # type: ignore[attr-defined]
            return True
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = set((getattr(node, "module", "") or "").split("."))
            for alias in node.names:
                parts = module.union(alias.name.split("."))
                modules[alias.asname or (alias.name if module > {""} else alias.name.partition(".")[0])] = parts
        elif isinstance(node, ast.Attribute) and method in names.FORMATTING:
            template = getattr(node.value, "id", "")
            if not (_is_written(node.value) or (template in stored and template not in other_values)):
                return True
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "id", "") or getattr(node.func, "attr", "")
            handed_over -= getattr(node.func, "id", "") in _BY_NAME
            texts = node.args if name in ("attrgetter", "methodcaller") else node.args[1:2] * (name in _BY_NAME)
            is_chosen = name != "getattr" and not all(map(_is_written, texts))
            is_template = any(getattr(text, "value", "") in names.FORMATTING for text in texts)
            is_class_made = (
                name == "type" and len(node.args) > 1 and not all(map(_is_written, node.args[2:] or node.args))
            )
            if is_chosen or is_template or is_class_made:
                return True
    imported = set[str]().union(*(parts for name, parts in modules.items() if name in used or name == "*"))
    is_query = "query" in used and "pandas" in imported
    is_renamed = not (_BY_NAME & imported) <= used
    return bool(
        handed_over or is_query or is_renamed or (_EXECUTES & (used | imported)) or (_EXECUTING_MODULES & imported)
    )


def _is_written(node: ast.AST) -> bool:
    """Whether an expression stands as it is in the code: a constant, or a dictionary of such."""
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Dict) and all(map(_is_written, node.values)))


_BY_NAME = frozenset(("attrgetter", "getattr", "methodcaller", "setattr"))
"""Functions to which an attribute is named by a text."""


def names_used(nodes: list[ast.AST]) -> set[str]:
    """Return the identifiers in a test: all that the candidate learns of it before it runs."""
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return {name for name in names if not hasattr(builtins, name)}


def leaves_traces(nodes: list[ast.AST]) -> bool:
    """Whether a test, or a solution that it lends something, may change what is still there when its variables are gone.

    That is a part of a module or of a class of Python's own, which may have come by a name of the solution's.
    """
    modules = {name: name for name in (*names.OWN_MODULES, "delattr", "setattr")}
    bound: set[str] = set()
    written: set[str] = set()
    owners: dict[int, ast.Attribute] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            modules |= {alias.asname or alias.name.partition(".")[0]: alias.name for alias in node.names}
            if not all(alias.name in _UNCHANGING for alias in node.names):
                return True
        elif isinstance(node, ast.ImportFrom):
            if not all(_is_unchanging(node.module or "", alias.name) for alias in node.names):
                return True
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound.add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.Attribute):
            owners[id(node.value)] = node
            owner: ast.AST = node
            while isinstance(owner, ast.Attribute):
                owner = owner.value
            if not isinstance(node.ctx, ast.Load):
                written.add(getattr(owner, "id", "self"))
            if node.attr[:2] == "__" and node.attr not in _OWN_NAMES:
                return True
    used = [node for node in nodes if isinstance(node, ast.Name) and node.id not in bound]
    return bool(written - bound - {"self"}) or not all(
        node.id not in modules
        or ((attribute := owners.get(id(node))) is not None and _is_unchanging(modules[node.id], attribute.attr))
        for node in used
    )


def _is_unchanging(module: str, name: str) -> bool:
    names_listed = _UNCHANGING.get(module)
    # What a module imports for itself may be changed: `collections.abc.sys` is there from Python 3.14 on.
    is_listed = names_listed is not None and (name in names_listed if names_listed else name not in _BESIDE_MODULES)
    return is_listed and name[0] not in "_*"


_REACHING = re.compile(
    r"\b(?:(?:f|tb|gi|cr|ag)_(?:back|frame|globals|locals|builtins)|_current_frames|_getframe|currentframe|getgeneratorlocals"
    r"|get(?:inner|outer)frames|get_(?:objects|referents|referrers)|set(?:profile|trace)|walk_(?:stack|tb)|sys\.monitoring"
    r"|__(?:builtins|closure|dict|globals|import|subclasses)__|cell_contents|delattr|exec|import_module|setattr)\b"
)
"""Words of a solution by which frames, namespaces and modules are reached or changed. They count in a string too, as it may be executed."""
_REACHING_NAMES = frozenset(("__main__", "ctypes", "inspect.stack", "inspect.trace", "mock", "modules", "vars"))


@expressions.pause_clock
def may_change_tests(code: str) -> bool:
    """Whether a solution may change what its process shares with the tests: a part of a module, or the tests' variables.

    A module used as a value counts, too: the text does not say under which name a part of it is replaced later.
    """
    tree = expressions.parse(code)
    if tree is None or _REACHING.search(code):
        return True
    nodes = expressions.nodes(tree)
    meanings: dict[str, str] = {}
    modules = set(sys.modules)
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            source = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                name = alias.asname or (alias.name if source else alias.name.partition(".")[0])
                meanings[name] = source + (alias.name if alias.asname else name)
                modules |= set() if source else {meanings[name]}
    parts = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    stored: list[str] = []
    mentioned = [*meanings.values()]
    for node in nodes:
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            stored.append(expressions.find_base(node))
        elif isinstance(node, ast.Name | ast.Attribute) and id(node) not in parts:
            head, dot, rest = expressions.join_dotted(node).partition(".")
            meaning = f"{meanings.get(head, head)}{dot}{rest}"
            mentioned.append(meaning or getattr(node, "attr", ""))
            if head in meanings and meaning in modules and isinstance(node.ctx, ast.Load):
                return True
    if any(meaning in _REACHING_NAMES or not _REACHING_NAMES.isdisjoint(meaning.split(".")) for meaning in mentioned):
        return True
    own = expressions.collect_bound_names(nodes) - meanings.keys()
    values = expressions.flows(nodes) if stored else {}
    for name in stored:  # it grows meanwhile
        if name and name not in own:
            return True
        if name not in ("self", "cls"):  # in calls of methods, no argument stands for these
            stored += {expressions.find_base(value) for value in values.get(name, ())}.difference(stored)
    return False


class Sink:
    """An output of tests that nobody reads."""

    encoding = "utf-8"
    errors = "replace"
    closed = False

    def write(self, text: str) -> int:
        """Take the text and forget it."""
        return len(text)

    def flush(self) -> None:
        """Do nothing."""

    def isatty(self) -> bool:
        """Return False."""
        return False


REFUSED = "refused"
"""What is said of tests that would execute a text."""
_refusals: list[str] = []
"""What was refused lately."""
_EXECUTING = frozenset(
    [
        "code.__new__", "cpython.PyInterpreterState_New", "exec", "function.__new__", "marshal.loads", "object.__setattr__",
        "pickle.find_class",
    ]
)  # fmt: skip
"""Audit events of what executes a text or data, or makes code of it."""
_alone: list[int] = []
"""Of which thread, while a prompt's code runs there by itself: nothing in it is a solution's."""


@contextmanager
def run_alone(space: dict[str, Any]) -> Iterator[None]:
    """Let code execute texts: it meets nothing of a solution's."""
    _alone.append(get_ident())
    try:
        with _provide_module(space):
            yield
    finally:
        _alone.pop()


class _Namespace:
    """What stands for the module `solution`, where a data class looks up what its annotations name."""


@contextmanager
def _provide_module(space: dict[str, Any]) -> Iterator[None]:
    """Have a module `solution` that is this namespace."""
    module: Any = _Namespace()
    module.__dict__ = space
    sys.modules["solution"] = module
    try:
        yield
    finally:
        sys.modules.pop("solution", None)


def refuse_execution() -> None:
    """Have nothing executed in this process but what the examiner has compiled: another text may be a solution's.

    A benchmark's helper may evaluate what a solution returns, and libraries do so unasked: `typing.get_type_hints`, `pickle`,
    sympy. Tests that would do it run beside the solution. It holds also when they are over, for what they have left behind.

    What counts is who executes: the examiner's own modules may, and the import of a module that lies in the interpreter's
    folders. The file that other code names says nothing, as whoever compiles a text names it. Two modules write code of their
    own: `collections.namedtuple` takes nothing but identifiers, `dataclasses` the names of fields.
    """
    folders = tuple(f"{folder.rstrip('/')}/" for folder in sys.path if folder.startswith("/"))
    sys.addaudithook(lambda event, arguments: _hear(event, arguments, folders))


def _hear(event: str, arguments: tuple[Any, ...], folders: tuple[str, ...]) -> None:
    if event not in _EXECUTING or get_ident() in _alone:
        return
    frame = _getframe(2)
    if event == "object.__setattr__" and arguments[1] != "__code__":
        return
    name = str(frame.f_globals.get("__name__"))
    if name.startswith(_PACKAGE) and name in sys.modules and frame.f_globals is vars(sys.modules[name]):
        return  # the examiner itself executes what it has compiled
    if frame.f_code is _COMPILED_BEFORE and _lies_in(str(frame.f_locals["bytecode_path"]), folders):
        return
    # the namespace is there when the names of the fields have been looked at
    if (
        (frame.f_code is _NAMED_TUPLE and "namespace" in frame.f_locals)
        or _writes_methods(frame)
        or _is_imported(frame, folders)
    ):
        return
    _refusals.append(event)
    raise RuntimeError("nothing is executed here")


@contextmanager
def heed_refusals() -> Iterator[None]:
    """Say of what runs inside that something was refused to it, whatever it made of that.

    Raises:
        Gone: something was to be executed.
    """
    _refusals.clear()
    try:
        yield
    finally:
        if _refusals:
            raise wire.Gone(REFUSED)


_NAMED_TUPLE = vars(collections)["namedtuple"].__code__
_IMPORTS = vars(sys.modules["_frozen_importlib"])["_call_with_frames_removed"].__code__
_COMPILED_BEFORE = vars(sys.modules["_frozen_importlib_external"])["_compile_bytecode"].__code__


def _writes_methods(frame: types.FrameType | None) -> bool:
    """Whether a data class is being made, all of whose fields are identifiers: its annotations or bases may give others."""
    module = sys.modules.get("dataclasses")
    while module is not None and frame is not None and frame.f_globals is vars(module):
        if frame.f_code is vars(module)["_process_class"].__code__:
            fields = frame.f_locals["fields"].values()
            return all(
                type(field) is module.Field and type(field.name) is str and field.name.isidentifier()
                for field in fields
            )
        frame = frame.f_back
    return False


def _is_imported(frame: types.FrameType | None, folders: tuple[str, ...]) -> bool:
    """Whether a module is being imported that lies where no solution can write."""
    while frame is not None:
        subject = frame.f_locals["args"][0] if frame.f_code is _IMPORTS else None
        if isinstance(subject, types.CodeType):
            return _lies_in(subject.co_filename, (*folders, "<frozen "))
        if frame.f_code is not _IMPORTS and not _lies_in(frame.f_code.co_filename, (*folders, "<frozen ")):
            return False  # a benchmark's own, such as a finder of modules
        if subject is not None and not isinstance(subject, str):  # a module that is not Python, or its specification
            origin = getattr(getattr(subject, "__spec__", subject), "origin", None)
            return isinstance(origin, str) and _lies_in(origin, (*folders, "built-in"))
        frame = frame.f_back
    return False


def _lies_in(path: str, folders: tuple[str, ...]) -> bool:
    return path.startswith(folders) and ".." not in path.split("/")


class Hall:
    """One attempt's tests, run here against an attempt that runs there."""

    def __init__(self, link: wire.Ends, task: Any, text: str, *, learns: bool = False) -> None:
        self.peer = Peer(link, examines=True)
        self._task = task
        self._text = text
        self._sinks = (Sink(), Sink())
        self.namespace: dict[str, Any] = {}
        self.pins: dict[str, str] = {}
        """Names that this solution takes from the standard library."""
        self.flags: list[str] = []
        self._borrows = False
        """Whether the tests get a module from the solution that is not this side's own: what it decides, that decides."""
        self.is_beside = False
        """Whether what is tested is, or holds, a function or class of Python's own, which therefore runs here; or what the prompt's
        code does with the solution is not certain."""
        self._has_values = False
        """Whether a test names a value of the solution's that is not an object over there."""
        self._watched: list[str] = task.list_watched(text, learns=learns)
        self.has_changed = False
        """Whether the prompt's code has let the solution change something."""
        self._random: types.ModuleType | None = None
        self.done: dict[int, int] = {}
        """How often each part of the last test went well."""
        self.why: Any = None
        """What the solution's process says of why it could not be loaded."""

    def enter(self, pins: dict[str, str]) -> Result | None:
        """Wait for the solution to load and fill the namespace of the tests; return what went wrong if something did.

        Raises:
            Gone: it is not there any more, or says something else.
        """
        try:
            return self._enter(pins)
        except (wire.Gone, Sticky):
            raise
        except BaseException as error:  # the candidate's process answered with an error where an honest one has none
            raise wire.Gone(type(error).__name__) from None

    def _enter(self, pins: dict[str, str]) -> Result | None:
        task = self._task
        entry, aliases = task.name, task.aliases
        self.peer.wants_output = self._listeners
        refusal, objects = self.peer.opening(task.asks)
        if refusal is not None:
            self.why = refusal.get("why")
            return {**receive_result(refusal.get("error")), "p": False}
        if aliases and entry and entry not in objects:
            others = expressions.defined_names(self._text, kind=task.kind)
            if len(others) == 1:
                objects[entry] = self.peer.also(others).get(others[0])
                self.flags = ["name_mismatch"]
        for name, value in objects.items():
            if name != entry and get_token(value) is None:
                own = names.module_name(value) or names.name_for(value)
                if own is not None:
                    self.pins[name] = f"module {own}" if names.module_name(value) else own
        self._has_values = any(
            get_token(value) is None and not callable(value) and type(value) is not types.ModuleType
            for value in objects.values()
        )
        self._borrows = any(is_module(value) for value in objects.values())
        by_name = {name: value for name, value in objects.items() if callable(value) and get_token(value) is None}
        # more have come by a name than stand there by themselves: there are some in containers
        self.is_beside = len(self.peer.named) > sum(map(names.acts, by_name.values())) or any(
            name not in pins and (name in (entry, *aliases) or names.acts(value)) for name, value in by_name.items()
        )
        objects.update({name: names.lent(names.find_named(pin)) for name, pin in pins.items() if name in objects})
        objects = task.restrict_names(objects, self._text)
        space = self.namespace
        space.update(objects)
        space.update(
            {name: self._own_random() for name, value in objects.items() if value is sys.modules.get("random")}
        )
        # last, and from this side: whatever else may be in doubt, by these a test does what it says
        space.update({"__name__": "solution", "__builtins__": {**vars(builtins), "__import__": self._import}})
        if not task.has_answers_only:
            space["candidate_solution"] = self._text
        for alias in aliases:
            if entry in objects:
                space[alias] = objects[entry]
        with heed_refusals(), _provide_module(space):
            for code in task.helpers(self._text):
                exec(code, space)
        self.has_changed = self.peer.policy.has_changed
        self.is_beside |= self.has_changed or self.peer.policy.answered or self.peer.policy.told > 0
        return None

    def run(self, test: Compiled, policy: Policy) -> Result:
        """Run one test.

        Raises:
            Gone: the candidate is not there any more, whatever the test made of that.
        """
        self.done = {}
        policy.told, policy.operands = 0, []
        policy.takes_values = bool(self._watched) and self._has_values
        with self._prepare_policy(policy):
            try:
                result = mark(test, self.namespace, self.done)
            except (wire.Gone, Sticky):
                raise
            except BaseException as error:
                result = failure(error)
        if self.peer.escaped:
            self.done[SWALLOWED] = 1
        self.peer.note_kept(MANY)
        if self._random is not None and expressions.speaks_of_random(self._text):
            policy.refused = True  # two generators are not one: a test that fails has to be seen with one
        if self._watched:  # what they are was asked once
            rebound = self.peer.list_rebound(self._watched)
            policy.copied = policy.copied or bool(rebound)
            self._task.rebound = self._task.rebound | rebound
        if self.peer.frames is not None:
            policy.note_end(self.peer.frames.hexdigest())
        result["v"] = "separated"
        policy.borrows = self._borrows
        policy.answered = policy.answered or self.is_beside
        if policy.own:
            result["own"] = True
        return result

    @contextmanager
    def _prepare_policy(self, policy: Policy) -> Iterator[None]:
        """Have a test run by this policy, and nobody hear what it prints.

        Raises:
            Gone: the candidate is not there any more, whatever the test made of that.
        """
        self.peer.begin(policy)
        if self._task.speaks_of_random:
            seed_numpy()
        streams = sys.stdout, sys.stderr, sys.stdin
        sys.stdout, sys.stderr = self._sinks
        try:
            with heed_refusals():
                yield
        finally:
            sys.stdout, sys.stderr, sys.stdin = streams
        if self.peer.dead:
            raise wire.Gone(self.peer.dead)

    def watch(self, test: explained.Test, policy: Policy, watch: explained.Watch) -> dict[object, Any]:
        """Run one test that says what it compares; return what the solution's process says of it.

        Raises:
            Gone: the candidate is not there any more, whatever the test made of that.
        """
        with self._prepare_policy(policy):
            for _ in explained.run([test], self.namespace, watch):
                pass
            return self.ask_report()

    def find_lines(self, error: BaseException) -> Any:
        """Return the solution's lines through which an error came, as its process says them; none of one of the test's."""
        return self.ask_report().get("lines") if self.peer.is_from_there(error) else []

    def ask_report(self) -> dict[object, Any]:
        """Return what the solution's process says of itself; nothing where it answers as none of ours does.

        Raises:
            Gone: it is not there any more.
        """
        try:
            facts = self.peer.request("said")
        except (wire.Gone, Sticky):
            raise
        except BaseException:
            return {}
        return facts if type(facts) is dict else {}

    def _listeners(self) -> Any:
        streams = (sys.stdout, sys.stderr)
        # a test hears what the solution prints only where it has put an output of its own in place
        return None if streams == self._sinks else tuple(stream.write for stream in streams)

    def _import(
        self, name: str, _space: object = None, _local: object = None, from_list: Any = (), level: int = 0
    ) -> Any:
        """Import for a test: this side's own, whatever the candidate made of it over there."""
        if name == "random":
            return self._own_random()
        # as from the solution's module: a relative import is not to find this package
        return builtins.__import__(name, {"__name__": "solution"}, None, from_list, level)

    def _own_random(self) -> types.ModuleType:
        if self._random is None:
            speaks = expressions.speaks_of_random(self._text)
            self._random = own_random(self.peer.request if speaks else None)
        return self._random


def own_random(request: Any = None, seed: int = 0) -> types.ModuleType:
    """Return a `random` like that of a fresh process in which `random.seed(0)` was called, or seeded otherwise.

    Args:
        request: where a solution draws numbers too: by this its generator is seeded whenever the test's is.
        seed: what it is seeded with.
    """
    import random

    module = types.ModuleType("random")
    fresh = random.Random(seed)  # noqa: S311 - the tests' own numbers, the same in every run
    for name, value in vars(random).items():
        # the functions of the module are methods of one hidden generator: here they are those of a fresh one
        bound = type(value) in (types.MethodType, types.BuiltinMethodType) and hasattr(random.Random, name)
        if not name.startswith("__"):
            setattr(module, name, getattr(fresh, name) if bound else value)
    if request is not None:

        def seed_both(*arguments: Any) -> None:
            fresh.seed(*arguments)
            request("seed", *arguments)

        module.seed = seed_both  # type: ignore[attr-defined]  # as of any module
    return module
