"""Running compiled tests in a namespace and saying what became of each. The same code on either side of the wall.

A compiled test is a tuple `(kind, setup, body, n_parts)`; kind is `a` (an expression that must be true) or `p` (a
program that must not raise, whose assert statements report to `__markbook_part__`).
"""

from __future__ import annotations

import sys
from types import CodeType

from . import wire

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any


MESSAGE_LENGTH = 500
CUT = -1
"""Among how often parts went well, what says that one began and was never heard of again."""
SWALLOWED = -2
"""Among them, what says that a verdict of the test's own went through the solution and was never heard of again."""
PART = "__markbook_part__"
"""The name under which an instrumented program reports its assert statements."""

OTHER = "__markbook_other__"
"""The name under which a test with wrong expectations finds `other`."""

Compiled = tuple[str, CodeType | None, CodeType | None, int]
Result = dict[str, "Any"]


def other(value: Any, by: int) -> Any:
    """Return something of the type of a value that is not equal to it: what an honest comparison tells from it.

    Args:
        value: the value.
        by: how much another one it is, from 1 to 9; by less than nothing, one near by.
    """
    kind = type(value)
    if kind is bool:
        return not value
    if kind in (int, float, complex):
        changed = value + by + (abs(value) if by > 0 else 0)  # farther than any tolerance that is relative
        return float(by) if changed == value else changed  # where it is infinite
    if kind is str:
        return value[:-1] + chr(ord(value[-1]) - by) if by < 0 and value else value + "abcdefghij"[by]
    if kind is bytes:
        return value + bytes((96 + by,))
    if kind in (list, tuple):
        return value[:-1] + kind((other(value[-1], by) if value else by,))
    if kind in (set, frozenset):
        return value | {1000 + by}
    if kind is dict:
        return {**value, 1000 + by: by}
    numpy = sys.modules.get("numpy")
    if numpy is not None and kind is getattr(numpy, "ndarray", None) and value.dtype.kind in "iufc":
        changed = value + by + abs(value)
        return object() if (changed == value).all() else changed  # empty, infinite, or back where it began
    return object()


_EXECUTE, _EVALUATE, _EXIT = exec, eval, sys.exit
"""Held before any solution is there that might put something in their place; running code is what they are for."""


class Sticky(BaseException):
    """Ends an attempt whatever the test code catches; see `Parts.__call__` and `mark`."""


def error_text(error: BaseException) -> str:
    """Return the error's text, short. It may run the candidate's `__str__`, so only call it where that is harmless."""
    try:
        text = str(error)
        return text[:MESSAGE_LENGTH] if type(text) is str else ""
    except Exception:
        return ""


def error_name(error: BaseException) -> str:
    """Return the name of the error's class."""
    name = type.__dict__["__name__"].__get__(type(error))
    return name[:MESSAGE_LENGTH] if type(name) is str else "Error"


def failure(error: BaseException) -> Result:
    """Return the result of a test that this error ended."""
    kind = "o"
    if isinstance(error, AssertionError) and type(error) is AssertionError:
        kind = "a"
    elif type(error) is NameError:
        kind = "n"
    elif isinstance(error, MemoryError):
        kind = "m"
    return {"p": False, "k": kind, "t": error_name(error), "m": error_text(error)}


def receive_result(form: Any, parts: int = 0) -> Result:
    """Return a result that another process sent, of a test with so many parts: nothing in it that no result has.

    Raises:
        Gone: it is not a result.
    """
    if type(form) is not dict or type(form.get("p")) is not bool:
        raise wire.Gone("no result")
    # the named fields alone: whatever else that process sends would stand in the record of the attempt
    texts = {name: form[name][:MESSAGE_LENGTH] for name in ("k", "t", "m") if type(form.get(name)) is str}
    result = {"p": form["p"], **texts}
    if form.get("parts"):
        if type(form["parts"]) is not list or len(form["parts"]) != parts:
            raise wire.Gone("no parts of this test")
        result["parts"] = list(map(receive_result, form["parts"]))
    return result


class Parts:
    """What the assert statements of one program reported."""

    def __init__(self, count: int, done: dict[int, int]) -> None:
        self.failed: dict[int, Result] = {}
        self.begun: dict[int, int] = {}
        self.done = done
        self.count = count
        self.current = -1
        self.end: SystemExit | None = None
        """By what the program ended itself as one that succeeded."""

    def leave(self, how: Any, *status: Any) -> Any:
        """End the program as its `sys.exit(status)` does, and remember by what: the end of a solution is none of its own."""
        if not (how is _EXIT or how is SystemExit or type(how).__name__ == "Quitter"):
            return how(*status)  # the test has put something else in its place
        error = SystemExit(*status)
        if not status or status[0] is None or (type(status[0]) in (int, bool) and not status[0]):
            self.end = error
        raise error

    def __call__(self, index: int, error: BaseException | None = None, *, begin: bool = False) -> None:
        """Note that a part begins, went well, or ended in an error."""
        if begin:
            if index < self.count:
                self.current = index
            self.begun[index] = self.begun.get(index, 0) + 1
        elif error is None:
            self.done[index] = self.done.get(index, 0) + 1
            self.current = -1
        elif isinstance(error, Exception | SystemExit | KeyboardInterrupt | GeneratorExit):
            if index < 0:  # a compound statement: the error belongs to the assert that was under way, if any was
                index = self.current
            if index < 0:
                raise error
            self.failed.setdefault(index, failure(error))
            self.current = -1
        else:
            raise error

    def is_cut(self) -> bool:
        """Whether a part began and neither went well nor is known to have failed: something swallowed how it ended."""
        return any(count > self.done.get(index, 0) and index not in self.failed for index, count in self.begun.items())

    def results(self, *, passed: bool, stopped: Result | None) -> list[Result]:
        """Return one result a part, in source order."""
        results = []
        for index in range(self.count):
            if index in self.failed:
                results.append(self.failed[index])
            elif passed or (index in self.done and index != self.current):
                results.append({"p": True})
            else:
                results.append(dict(stopped) if stopped else {"p": False, "k": "a", "t": "", "m": "not reached"})
        return results


def mark(test: Compiled, namespace: dict[str, object], done: dict[int, int] | None = None) -> Result:
    """Run one compiled test and return what became of it.

    Args:
        test: the test.
        namespace: where it runs.
        done: is given how often each part of the test went well: its assert statements by their numbers and, from the
            number of those on, its calls of what is named `assert...`; `CUT` where a part or a `raise` of the test's
            began and something swallowed how it ended.

    Raises:
        BaseException: whatever is neither an `Exception` nor one of Python's own three, such as `Sticky`.
    """
    kind, setup, body, count = test
    parts = Parts(count, {} if done is None else done)
    namespace[OTHER] = other
    if kind == "p":
        namespace[PART] = parts
    result: Result
    try:
        if setup is not None:
            _EXECUTE(setup, namespace)
        if kind == "p":
            if body is not None:
                _EXECUTE(body, namespace)
            result = {"p": True}  # and so did every part
            if parts.failed:
                first = next(iter(parts.failed.values()))
                result = {**first, "parts": parts.results(passed=False, stopped=None)}
            if parts.is_cut():
                parts.done[CUT] = 1
        elif body is None or _EVALUATE(body, namespace):
            result = {"p": True}
        else:
            result = {"p": False, "k": "a", "t": "AssertionError", "m": ""}
    except (Exception, SystemExit, KeyboardInterrupt, GeneratorExit) as error:
        result = {"p": True} if error is parts.end and not parts.failed else failure(error)
        if kind == "p" and not result["p"]:
            result["parts"] = parts.results(passed=False, stopped=result)
            if parts.failed:  # an earlier assert is what the test failed by
                first = next(iter(parts.failed.values()))
                result = {**first, "parts": result["parts"]}
    return result
