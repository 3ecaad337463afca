"""A failing attempt that is run once more: what looks at what its tests compare, and decides nothing.

Tests whose verdict was given apart from the solution are looked at apart, too, by the examiner: what they expect is never
in the solution's process. Those that were decided beside it are looked at there. Nothing that the solution's process says
is believed further than that it is shown: the verdict is given before, by others.
"""

from __future__ import annotations

import _operator
import sys
import time

from .marking import Sticky, error_name, error_text, failure
from .wire import Gone

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


# What tests that run in a solution's process have by name.

MODULE = "solution"
"""The name of the module that a solution becomes."""
SAVED = "_given_"
"""What stands before a name of the solution's while the prompt's code binds it."""


class Living(dict[str, "Any"]):
    """Names of a solution that gives them other values: each is what it is there now, until it is given one here."""

    def __init__(self, visible: dict[str, Any], there: dict[str, Any]) -> None:
        super().__init__(visible)
        self.names: set[str] = set()
        self._there = there

    def __getitem__(self, name: str) -> Any:
        return self._there[name] if name in self.names and name in self._there else super().__getitem__(name)

    def __setitem__(self, name: str, value: Any) -> None:
        self.names.discard(name)
        super().__setitem__(name, value)


def build_namespace(
    there: dict[str, Any],
    pythons: dict[str, Any],
    text: str,
    entry: str,
    aliases: Sequence[str],
    before: Sequence[Any],
    living: Sequence[str],
) -> dict[str, Any]:
    """Return where tests run: what they define does not reach the solution's own functions.

    What they call by a name of Python's own is Python's, as it is apart. Their classes say that they are of the
    solution's module, in which they are found by name from now on.

    Args:
        there: the names of the solution's module.
        pythons: Python's own.
        text: the solution.
        entry: what the tested object is called there.
        aliases: what else tests call it.
        before: helpers from the benchmark's prompt, compiled.
        living: names that the solution may give other values meanwhile.
    """
    names = {name for code in before for name in code.co_names if name.startswith(SAVED)}
    hidden = pythons.keys() - {entry, *(name.removeprefix(SAVED) for name in names)}
    visible = {name: value for name, value in there.items() if name not in hidden}
    namespace = Living(visible, there) if living else visible
    namespace.update({"__name__": MODULE, "__builtins__": pythons, "candidate_solution": text})

    def find(name: str) -> Any:
        try:
            return namespace[name]
        except KeyError:
            raise AttributeError(f"module {MODULE!r} has no attribute {name!r}") from None

    there.setdefault("__getattr__", find)
    if there.get(entry) is not None:
        namespace.update(dict.fromkeys(aliases, there[entry]))
    for code in before:
        exec(code, namespace)
    if isinstance(namespace, Living):
        namespace.names.update(living)
    return namespace


if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterator
    from types import CodeType, FrameType
    from typing import Any

    Test = tuple[int, CodeType | None, CodeType | None, bool]
    """Its number, its setup, its body, and whether that is an expression."""
else:
    import _signal as signal

EXPLAIN = 2
"""What stands in a request where 0 and 1 say whether tests run beside the solution."""
APART = 3
"""What stands there where the tests that are looked at stay with the examiner."""
SEEN, FAILED = "__markbook_seen__", "__markbook_failed__"
"""The names under which a test finds what it reports to."""
VALUE = 400
"""Characters of a value that are shown, around the first difference."""
TEXT = 2_000
"""Characters of standard output, of standard error and of a message that are shown."""
BUDGET = 12_000
"""Characters that are shown of all tests of an attempt together."""
MOST = 60
"""Failed assertions of an attempt that are explained."""
_PLAIN = (str, bytes, int, float, complex, bool, type(None))
_LOOKED_AT = 100_000
"""Parts of a value beyond which nobody says where it differs."""
_FRAMES = 4
"""Lines of a traceback that are kept at each of its ends."""
_FILE = "<solution>"
_PACKAGE = __name__.rpartition(".")[0]
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": _operator.eq, "!=": _operator.ne, "<": _operator.lt, "<=": _operator.le, ">": _operator.gt,
    ">=": _operator.ge, "is": _operator.is_, "is not": _operator.is_not,
    "in": lambda one, many: one in many, "not in": lambda one, many: one not in many,
}  # fmt: skip


class LimitReached(BaseException):
    """A limit of the second run is reached."""


_NOT_CAUGHT = (LimitReached, Sticky, Gone)
"""What ends a run whatever the tests catch."""


class Printed:
    """What is kept of a stream: its beginning."""

    def __init__(self, most: int) -> None:
        self.text, self._left = "", most

    def append(self, text: str) -> None:
        """Take what was printed.

        Raises:
            LimitReached: it is more than may be.
        """
        self._left -= len(text)
        if len(self.text) < TEXT:
            self.text += text[: TEXT - len(self.text)]
        if self._left < 0:
            raise LimitReached("output")


class Watch:
    """What the tests of an attempt report to."""

    def __init__(self) -> None:
        self.test = self.last = -1
        self.found: list[dict[str, Any]] = []
        self.left_out = 0
        self.lines: Callable[[BaseException], Any] = traceback_lines
        """Gives the solution's lines through which an error came."""
        self._left = BUDGET
        self._known: set[tuple[int, int]] = set()

    def compare(self, part: int, operator: str, left: Any, right: Any) -> Any:
        """Compare as the test does; note both sides where it is false."""
        truth = _OPERATORS[operator](left, right)
        if not truth:
            self._note(part, {"op": operator, **sides(left, right)})
        return truth

    def near(self, part: int, operator: str, left_side: Any, right: Any, most: Any) -> Any:
        """Compare the size of a difference with the most that it may be."""
        truth = _OPERATORS[operator](abs(left_side - right), most)
        if not truth:
            self._note(part, {"op": f"within {format_value(most)}", **sides(left_side, right)})
        return truth

    def call_watched(self, part: int, name: str, function: Any, left: Any, right: Any, *more: Any, **named: Any) -> Any:
        """Call what compares two values."""
        truth = function(left, right, *more, **named)
        if not truth:
            self._note(part, {"op": name, **sides(left, right)})
        return truth

    def value(self, part: int, value: Any) -> Any:
        """Note a value that is to be true and is not."""
        if not value:
            self._note(part, {"op": "true", "got": format_value(value), "got_type": type_name(value)})
        return value

    def fail(self, part: int, error: BaseException | None = None, words: Any = None) -> None:
        """Note how a part failed: by an error, or as an assertion with these words."""
        if isinstance(error, _NOT_CAUGHT):
            raise error
        facts: dict[str, Any] = {} if error is None else describe_error(error, self.lines)
        if words is not None:
            facts["error"] = f"AssertionError: {error_text(AssertionError(words))}"[:TEXT]
        self._note(part, facts, adds=True)

    def end(self, error: BaseException) -> None:
        """Note what ended a test: it belongs to the part that was noted last, if any was."""
        part = self.last if type(error) is AssertionError else -1
        self._note(part, describe_error(error, self.lines), adds=True)

    def _note(self, part: int, what: dict[str, Any], *, adds: bool = False) -> None:
        self.last = part
        key = (self.test, part)
        if key in self._known:
            if adds and self.found and (self.found[-1]["test"], self.found[-1]["part"]) == key:
                self.found[-1] = {**what, **self.found[-1]}
            return
        self._known.add(key)
        self._left -= sum(len(text) for text in what.values() if isinstance(text, str))
        if self._left < 0 or len(self.found) >= MOST:
            self.left_out += 1
        else:
            self.found.append({"test": self.test, "part": part, **what})


def run(tests: list[Test], namespace: dict[str, Any], watch: Watch) -> Iterator[list[dict[str, Any]]]:
    """Run tests; yield after each what is known by then.

    Raises:
        LimitReached: a limit of this run is reached.
    """
    calls = {"compared": watch.compare, "near": watch.near, "called": watch.call_watched, "value": watch.value}
    for number, setup, body, is_expression in tests:
        watch.test, watch.last = number, -1
        namespace[SEEN], namespace[FAILED] = calls, watch.fail
        try:
            if setup is not None:
                exec(setup, namespace)
            if is_expression and body is not None:
                eval(body, namespace)
            elif body is not None:
                exec(body, namespace)
        except _NOT_CAUGHT:
            raise
        except BaseException as error:
            watch.end(error)
        yield watch.found


def serve(say: Callable[[dict[str, Any]], None], stage: Any, code: Any, seed: bool, request: Any) -> None:
    """Run a failing attempt once more and say what was seen, after each step anew: the next may be the last."""
    seconds, text, entry, aliases, before, living, tests = request
    out, err = stage.output.kept, sys.stderr.kept = Printed(stage.output.left), Printed(stage.output.left)  # type: ignore[union-attr]  # it is ours
    # `Printed` counts from here on: it ends the run, where the output's own limit would end the process
    stage.output.left = 1 << 62
    _arm(seconds)
    watch = Watch()
    answer: dict[str, Any] = {}

    def tell(**more: Any) -> None:
        answer.update(more, out=out.text, err=err.text, left_out=watch.left_out)
        say(answer)

    try:
        load(stage, code, seed)
        namespace = build_namespace(stage.namespace, stage.builtins, text, entry, aliases, before, living)
        for results in run(tests, namespace, watch):
            tell(tests=results)
    except LimitReached as limit:
        # what is said from here on is not to be interrupted
        _arm(0)
        answer["limit"] = str(limit)
        tell(tests=watch.found, lines=traceback_lines(limit))
    except BaseException as error:
        _arm(0)
        tell(**describe_error(error))
    tell(done=True)


class _Said:
    """What an attempt whose tests are elsewhere says of itself."""

    def __init__(self, stage: Any) -> None:
        outputs = stage.peer.outputs
        for output in outputs:
            output.kept = output.at_rest = Printed(stage.output.left)
        self._printed = [output.kept for output in outputs]
        stage.output.left = 1 << 62
        self._peer = stage.peer
        self._peer.noted = self.note
        self._peer.operations = {**self._peer.operations, "said": self.say}
        self._lines: list[list[Any]] = []
        self._limit = ""

    def note(self, error: BaseException) -> None:
        """Note where an error came from."""
        if self._limit:
            return
        if isinstance(error, LimitReached):
            _arm(0)
            self._limit = str(error)
        self._lines = traceback_lines(error)

    def end(self, limit: str, frame: FrameType | None) -> None:
        """Note that a limit is reached, and where; end the solution's code, but no message that is half sent or read.

        Raises:
            LimitReached: at once where the solution's code runs. Where ours does, the next request or answer raises it.
        """
        if not self._limit:
            self._limit, self._lines = limit, _lines_at(frame)
            self._peer.wants_output = lambda: _raise(limit)
            self._peer.operations = _NoMore({"said": self.say})
        while frame is not None and frame.f_code.co_filename != _FILE:
            if str(frame.f_globals.get("__name__")).startswith(f"{_PACKAGE}."):
                return  # ours runs, or what ours has called: a message may be half sent or read
            frame = frame.f_back
        raise LimitReached(limit)

    def say(self) -> dict[str, Any]:
        """Return what was printed, the lines of the last error, and the limit that ended it all."""
        out, err = self._printed
        return {"out": out.text, "err": err.text, "lines": self._lines, "limit": self._limit}


class _NoMore(dict[str, "Any"]):
    """Operations of which only a few are left: a limit is reached."""

    def __missing__(self, name: str) -> Any:
        raise LimitReached(name)


def _raise(limit: str) -> Any:
    raise LimitReached(limit)


def load_apart(stage: Any, code: Any, seed: bool, seconds: float) -> dict[str, Any] | None:
    """Execute the solution of a failing attempt whose tests are elsewhere; return what went wrong if something did."""
    report = _Said(stage)
    _arm(seconds, report.end)
    try:
        load(stage, code, seed)
    except BaseException as error:
        report.note(error)
        record = report.say()
        return {"error": failure(error), "why": record if record["limit"] else {**describe_error(error), **record}}
    return None


def load(stage: Any, code: Any, seed: bool) -> None:
    """Execute the solution.

    Raises:
        BaseException: whatever it raises.
    """
    if seed:
        import random

        random.seed(0)
    if type(code) is str:
        code = compile(code, _FILE, "exec", dont_inherit=True)
    exec(code, stage.namespace)


def _arm(seconds: float, end: Callable[[str, FrameType | None], None] | None = None) -> None:
    """Have this process interrupted, wherever it is, after so many seconds of processor time, or asleep after ten times as many.

    Args:
        seconds: of processor time; 0 takes back what was armed.
        end: is given the limit and the frame that runs; without it `LimitReached` is raised there.
    """
    wall = 10 * seconds
    end = end or (lambda limit, _frame: _raise(limit))

    def spent(_number: int, frame: FrameType | None) -> None:
        end("cpu", frame)

    def wake(_number: int, frame: FrameType | None) -> None:
        if time.process_time() < 0.05 * wall:  # it sleeps, and does not only wait for a processor that others use
            end("wall", frame)

    try:
        signal.signal(signal.SIGPROF, spent)
        signal.signal(signal.SIGALRM, wake)
        # and then again and again, since the solution may swallow the first one
        signal.setitimer(signal.ITIMER_PROF, seconds, seconds / 10)
        signal.setitimer(signal.ITIMER_REAL, wall, max(seconds, 0.01))
    except (OSError, ValueError):
        return  # not allowed here: the limits from outside are there all the same


def describe_error(error: BaseException, lines: Callable[[BaseException], Any] | None = None) -> dict[str, Any]:
    """Return what an error says, and the solution's own lines through which it came."""
    message = error_text(error)
    return {
        "error": f"{error_name(error)}: {message}" if message else error_name(error),
        "kind": failure(error)["k"],
        "lines": (lines or traceback_lines)(error),
    }


def traceback_lines(error: BaseException) -> list[list[Any]]:
    """Return the solution's lines of a traceback, outermost first, each with its function."""
    lines: list[list[Any]] = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == _FILE:
            lines.append([trace.tb_lineno, code.co_name[:100]])
        trace = trace.tb_next
    return _ends(lines)


def _lines_at(frame: FrameType | None) -> list[list[Any]]:
    """Return the solution's lines that lead to a frame, as `traceback_lines` does."""
    lines: list[list[Any]] = []
    while frame is not None:
        if frame.f_code.co_filename == _FILE:
            lines.append([frame.f_lineno, frame.f_code.co_name[:100]])
        frame = frame.f_back
    return _ends(lines[::-1])


def _ends(lines: list[list[Any]]) -> list[list[Any]]:
    return lines if len(lines) <= 2 * _FRAMES else [*lines[:_FRAMES], *lines[-_FRAMES:]]


def type_name(value: Any) -> str:
    """Return the name of a value's type."""
    # past a metaclass of the solution's, which could answer for the name
    name = type.__dict__["__name__"].__get__(type(value))
    return name[:100] if type(name) is str else "?"


def _text(value: Any) -> str:
    try:
        text = repr(value)
    except _NOT_CAUGHT:
        raise
    except BaseException as error:
        return f"<{type_name(value)} whose repr raises {error_name(error)}>"
    return text if type(text) is str else str(text)


def format_value(value: Any) -> str:
    """Return a value as text, its beginning."""
    text = _text(value)
    return text if len(text) <= VALUE else text[:VALUE] + "…"


def sides(got: Any, expected: Any) -> dict[str, Any]:
    """Return two values as texts: of long ones the part around the first difference."""
    got_text, other = _text(got), _text(expected)
    apart = next(
        (at for at, (a, b) in enumerate(zip(got_text, other, strict=False)) if a != b), min(len(got_text), len(other))
    )
    begin = max(0, apart - VALUE // 2) if max(len(got_text), len(other)) > VALUE else 0
    texts = {"got": part(got_text, begin), "expected": part(other, begin)}
    texts |= {"got_type": type_name(got), "expected_type": type_name(expected)}
    where = _difference(got, expected)
    return {**texts, "difference": where} if where else texts


def part(text: str, begin: int) -> str:
    """Return so much of a text as is shown."""
    end = begin + VALUE
    return ("…" if begin else "") + text[begin:end] + ("…" if end < len(text) else "")


def _difference(got: Any, expected: Any) -> str:
    """Say where two values of one plain type first differ; nothing where that is plain to see or cannot be said."""
    kind = type(got)
    if kind is not type(expected) or not (_is_plain(got) and _is_plain(expected)):
        return ""
    try:
        if kind in (list, tuple, str, bytes):
            unit = "character" if kind is str else "item"
            size, expected_size = len(got), len(expected)
            for at in range(min(size, expected_size)):
                if got[at] != expected[at]:
                    line = f" (line {got.count(chr(10), 0, at) + 1})" if unit == "character" and "\n" in got else ""
                    return f"first differs at {unit} {at}{line}: {format_value(got[at])[:80]} instead of {format_value(expected[at])[:80]}"
            return f"got {size} {unit}s, expected {expected_size}" if size != expected_size else ""
        if kind is dict:
            for key in expected:
                if key not in got:
                    return f"lacks the key {format_value(key)[:80]}"
                if got[key] != expected[key]:
                    return f"differs at key {format_value(key)[:80]}: {format_value(got[key])[:80]} instead of {format_value(expected[key])[:80]}"
            new = next((key for key in got if key not in expected), None)
            return f"also has the key {format_value(new)[:80]}" if len(got) > len(expected) else ""
        if kind in (set, frozenset):
            lacks, more = list(expected - got)[:3], list(got - expected)[:3]
            return ", ".join(
                f"{word} {format_value(some)[:80]}" for word, some in (("lacks", lacks), ("also has", more)) if some
            )
    except _NOT_CAUGHT:
        raise
    except BaseException:
        return ""
    return ""


def _is_plain(value: Any) -> bool:
    """Whether a value is made of Python's own plain types: an object that is asked again would learn how far it was right."""
    todo = [value]
    for _ in range(_LOOKED_AT):
        if not todo:
            return True
        item = todo.pop()
        kind = type(item)
        if kind in (list, tuple, set, frozenset):
            todo += item
        elif kind is dict:
            todo += [*item.keys(), *item.values()]
        elif kind not in _PLAIN:
            return False
    return False
