"""What either side may ask of the other's objects: the one rule of the exchange.

Theory of operation. The examiner and the candidate hold stand-ins for each other's objects (`peer`, `objects`, `standin`).
Every use of a stand-in is a request to the process that owns the object. There are two directions, and each has its risk:

*The test asks the solution.* The code runs in the solution's process, so it can do no harm. But the answer may decide a
comparison: an object could claim to equal everything. So an operator, a method of a class that extends a plain type, or a
method that judges is forwarded only where the reference's own run forwarded it, for objects of the same type. All other
questions are answered here, by plain Python's rules.

*The solution asks the test.* The code runs in the examiner, beside the expected values. A request is answered only if

1. it is harmless whoever asks (`lent`): a reviewed operation of an exact standard type, or what the test program itself
   defines, called with values; or
2. the reference's own run asked the same: the operation, the name, the kind of the object and of each argument, and the
   very texts among them, since a text may be a template or a name.

What the solution's own objects answer while such a request runs is under the same rule as its arguments (`check_answer`).

Never answered, whoever asked for it: attributes that begin with an underscore (special methods but for the listed ones),
functions of a test's other than by calling them, copies, classes, namespaces, frames, modules. A refusal is an error of
that one request in the solution, and is noted: a test that fails after one is decided beside the solution (`in_process`).

A third thing is noted: that the solution may have changed something of the test's, a list that it was given or an object that
it asked (`note_change`; all but `lent.is_certain`). It may thereby choose what the test expects of it. A pass after that is not
`separated`, unless every message that came from it is one of the reference's (`note_end`), or the text of the test shows that it
reads nothing of that again (`examination.lending`).

How the reference is a witness: its run has a policy that is `learning`. That one allows what it is asked and writes it
down as entries. The entries travel with the plan, and every attempt at the problem starts from them. Without a reference
the policy has no entries: nothing is forwarded, and only 1 holds. The flags of a `Policy` say afterwards what a verdict rests on.
"""

from __future__ import annotations

import types

from .objects import CALLABLE
from .plain_values import OPERATORS, SPECIAL
from .standin import get_token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_STEPPED = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)
_STEPS = frozenset(("iter", "n", "send", "close", "throw", "await"))
_STEP_METHODS = frozenset(
    [
        "__iter__", "__next__", "__aiter__", "__anext__", "__await__", "send", "close", "throw", "asend", "athrow",
        "aclose",
    ]
)  # fmt: skip
_SPECIAL = frozenset(SPECIAL)
_FRAMEWORKS = ("unittest.", "_pytest.", "pytest", "doctest", "hypothesis.")
_NEVER = frozenset(("class", "copy", "refill", "seed", "names", "held", "rebound"))
"""What only the examiner asks for."""
_CALLS = frozenset(("c", "step by"))
"""Requests of the test's whose arguments stand in its text as those of a call."""


class Policy:
    """What the candidate may decide in one test, as the canonical solution's run showed.

    An entry is `KIND:OPERAND:TYPE`: an operator of objects of that type with a handle or a plain value; or
    `own:NAME:TYPE`: a method that a class extending a plain type has of its own; or `bind:NAME:TYPE`: what Python asks of
    an object that stands in a class; or `use:OPERATION:NAME` of a test case; or `method:NAME:TYPE`, `stop`, `write:class`; or
    `ask:OPERATION:OBJECT:ARGUMENTS`, what a solution asked of an object of the test's; or `change:DIGEST`, all that it sent.
    """

    def __init__(self, allowed: list[str] | None) -> None:
        """Begin with what the reference needed; None for the run of the reference itself."""
        self.learning = allowed is None
        self._changes: set[bool] = set()
        """Of what may have been changed, whether a call of the test's was under way."""
        self._frames: set[str] = set()
        """Digests of all that came from the candidate, one for each run."""
        self.written = False
        """Whether the test may expect what the candidate has changed, and not the right answer."""
        self.allowed = set(allowed or ())
        self.own = False
        """Whether the candidate's own classes took part in a comparison."""
        self.told = 0
        """How many requests of the test's have come since the candidate's own operator was given a value of the test's."""
        self.operands: list[str] = []
        """The values of the test's with which the candidate's own operators were to compare."""
        self.answered = False
        """Whether something was answered here that the candidate's own process might have answered otherwise."""
        self.based = False
        """Whether a plain type answered for a class that extends it and has an answer of its own."""
        self.judged = False
        """Whether an object of the candidate's was given something to judge by a method that the right answer's had
        not, or of which nobody knows whether it would have."""
        self.refused = False
        """Whether something could not be done from here: a test that fails after it has to be seen there."""
        self.denied = False
        """Whether the candidate was denied what it asked of an object of the test's: it may have failed by that alone."""

        self.borrows = False
        """Whether the test ran with a module of the solution's."""
        self.stopped = False
        """Whether a call ended in a StopIteration that would have ended a loop of the test's instead of the test."""
        self.copied = False
        """Whether what each side has a copy of was changed on one side and seen on the other: a container, or what a name is."""
        self.takes_values = False
        """Whether the test has values of the solution's under names that the solution may give other ones meanwhile."""

    @property
    def is_witness(self) -> bool:
        """Whether the run shows what a run beside the candidate would show: nothing in it was stale, or a module of the solution's."""
        return not (self.borrows or self.copied)

    def _grants(self, key: str) -> bool:
        if self.learning:
            self.allowed.add(key)
        if key in self.allowed:
            return True
        self.answered = True
        return False

    def may(self, kind: str, owner: str, *, is_handle: bool) -> bool:
        """Whether the candidate is asked about an operator of its objects of this type; a run that learns asks always."""
        if not self._grants(f"{kind}:{'handle' if is_handle else 'plain'}:{owner}"):
            return False
        self.own = True
        self.told = self.told or int(not is_handle)
        return True

    def note_asking(self) -> None:
        """Note that the test asks something: what an operator was given before may be in the answer."""
        self.answered = self.answered or self.told > 1
        self.told += bool(self.told)

    def may_own(self, name: str, owner: str, *, operands: bool) -> bool:
        """Whether a class that extends a plain type answers by a method of its own where the plain type has one too."""
        key = f"own:{name}:{owner}"
        if not self.learning and key not in self.allowed:
            self.based = True
            return False
        self.allowed.add(key)
        if operands:
            self.own = True
        return True

    def may_bind(self, name: str, owner: str) -> bool:
        """Whether an object of this type that stands in a class of the test's is told of that class and its objects."""
        return self._grants(f"bind:{name}:{owner}")

    def use_method(self, what: str) -> None:
        """Note that the candidate's object was given something by a method of its own: `NAME:TYPE`."""
        self.told = self.told or int(what.partition(":")[0] in OPERATORS)
        if self.learning:
            self.allowed.add(f"method:{what}")
        elif f"method:{what}" not in self.allowed:
            self.judged = True
            return
        if what.partition(":")[2].partition("<")[0] != "solution":
            self.own = True  # what is over there says itself that it is a library's

    def may_stop(self) -> bool:
        """Whether a StopIteration may come out of a call that does not ask for the next of something."""
        if self.learning:
            self.allowed.add("stop")
        self.stopped = self.stopped or "stop" not in self.allowed
        return "stop" in self.allowed

    def note_change(self, during: str) -> None:
        """Note that something of the test's may have been changed, by what the test asks for now."""
        self._changes.add(during in _CALLS)

    @property
    def has_changed(self) -> bool:
        """Whether something of the test's may have been changed."""
        return bool(self._changes)

    def note_unfinished(self, steps: int) -> None:
        """Note that the test went so far through what the candidate gives it one by one, and asks for something else now."""
        if not self._grants(f"unfinished:{steps}"):
            self.told = self.told or 1  # where it stopped says what it looked for

    def note_end(self, frames: str) -> None:
        """Note that the test has come to its end, and a digest of all that came from the candidate."""
        self._frames.add(f"change:{frames[:32]}")
        if self.learning and self._changes:
            self.allowed |= self._frames

    @property
    def is_changing(self) -> bool:
        """Whether the right answer changes something of the test's."""
        return any(key.startswith("change:") for key in self.allowed)

    def note_written(self, *, was_changed: bool, reads_again: Callable[[], bool]) -> bool:
        """Note whether the test may expect what was changed; return whether anything was that may be read again.

        Args:
            was_changed: whether something was in a test before, whoever has changed it.
            reads_again: returns whether the test may read again what is changed by its calls.
        """
        # after the same frames from the first one on all is the same here as after the right answer's
        is_same = bool(self._frames) and self._frames <= self.allowed
        is_changed = False in self._changes or (True in self._changes and reads_again())
        self.written = not is_same and (is_changed or (was_changed and self.is_changing))
        return is_changed or was_changed

    def check_use(
        self, operation: str, arguments: list[Any], options: dict[str, Any], handed: list[Any], *, spells: bool
    ) -> None:
        """Let the solution ask of what a test lent it only what the rule of this module names.

        Args:
            operation: what it asks for.
            arguments: the object of the test's, and what goes with the operation.
            options: its keyword arguments.
            handed: the objects of the test's among all of these, at any depth.
            spells: whether the message holds a text that may name a special attribute.

        Raises:
            AttributeError: it asked for more.
        """
        target = arguments[0]
        try:
            _check_use(operation, target, arguments)
            self._check_rule(operation, arguments, options, handed, spells=spells)
            if operation != "step by" and is_of_a_framework(target):
                name = arguments[1] if operation in ("g", "s", "x", "d") else ""
                if not self._grants(f"use:{operation}:{name}"):
                    raise AttributeError("a test case is the test's own")
            if operation in ("s", "x"):
                self._check_write(target, arguments[1])
        except AttributeError:
            self.refused = self.denied = True  # an honest solution may need it, and is then to be seen beside the test
            raise

    def _check_rule(
        self, operation: str, arguments: list[Any], options: dict[str, Any], handed: list[Any], *, spells: bool
    ) -> None:
        from . import lent  # there since the examiner began; the candidate's process has no use for it

        others = [value for value in handed if value is not arguments[0]]
        # only what the general rule does not allow becomes an entry, so that plans stay short
        if (
            not spells
            and lent.is_harmless(operation, arguments[0], [*arguments, *options.values()])
            and all(lent.is_free_to_call(value) for value in others if callable(value))
        ):
            return
        if not self._grants(lent.entry(operation, arguments, options, is_stand_in=_is_stand_in)):
            raise AttributeError("the test's objects are asked only for what a right answer asks of them")

    def check_answer(self, handed: list[Any], *, spells: bool) -> None:
        """Let what the solution's objects answer, while a request of its own runs here, be only what may come with one.

        Raises:
            AttributeError: it is a text, a function or a class that a request could not bring.
        """
        from . import lent

        if spells or not all(lent.is_free_to_call(value) for value in handed if callable(value)):
            self.refused = self.denied = True
            raise AttributeError("what the test's objects are given by the solution is values")

    def _check_write(self, target: Any, name: str) -> None:
        """Let it write to objects of classes that the test made, and not over what such a class can do."""
        is_class = isinstance(target, type)
        made_by = target if is_class else type(target)
        own = made_by.__module__ == "solution" or (made_by is types.SimpleNamespace and not is_class)
        if not own or (is_class and not self._grants("write:class")):
            raise AttributeError(f"{name!r} cannot be set from there")
        # a method written over would be called by the test as if it were its own
        if not is_class and (callable(getattr(made_by, name, None)) or callable(own_attributes(target).get(name))):
            raise AttributeError(f"{name!r} is a method of the test's object")


def _is_stand_in(value: Any) -> bool:
    return get_token(value) is not None


def is_of_a_framework(value: Any) -> bool:
    """Whether this decides about tests: a test case or its class, what runs such cases, what keeps their results."""
    cls = value if isinstance(value, type) else type(value)
    homes = (str(kind.__dict__.get("__module__", "")) for kind in type.__dict__["__mro__"].__get__(cls))
    return any(home.startswith(_FRAMEWORKS) and not home.startswith("unittest.mock") for home in homes)


def own_attributes(value: Any) -> dict[str, object]:
    """Return the attributes that an object holds itself."""
    attributes = getattr(value, "__dict__", None)
    return attributes if type(attributes) is dict else {}


def _check_use(operation: str, target: Any, arguments: list[Any]) -> None:
    # whether it may be called is for the rule to say (`_check_rule`)
    if operation in ("c", "step by"):
        return
    if operation in _NEVER:
        raise AttributeError(operation)
    if isinstance(target, CALLABLE):
        raise AttributeError("a function of the test's can only be called")  # noqa: TRY004 - as for a missing attribute
    name = arguments[1] if len(arguments) > 1 else ""
    if isinstance(target, _STEPPED):
        if operation in _STEPS or (operation in ("g", "d") and name in _STEP_METHODS):
            return
        raise AttributeError("a generator of the test's can only be advanced")
    if operation in ("g", "s", "x") and (type(name) is not str or name.startswith("_")):
        raise AttributeError(f"{name!r} of the test's objects is private")
    if operation == "d" and (type(name) is not str or name not in _SPECIAL):
        raise AttributeError(operation)
