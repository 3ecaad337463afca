"""One end of the wall between the examiner and the candidate: requests, replies, handles.

Both ends run the same code. The examiner's end has a guard (what the candidate may ask of the test's objects) and a
policy (which operators with a value of the test's own the candidate may answer).

A request is `["q", operation, arguments, options, wants output]`, a reply `["v" or "x", value, changes, output...]`,
with a capital letter where containers of earlier conversations have changed since.
"""

from __future__ import annotations

import _thread
import sys
import types
from collections import Counter, deque
from operator import is_

from .. import awaiting, wire
from . import names
from .objects import MAX_NAME, Arrived, Objects
from .plain_values import ATOMS, MUTABLE, OPERATORS, SCALARS, STEPS, Malformed, Uncrossable, contents, is_word
from .policy import Policy
from .standin import get_kind, get_token, is_verdict
from .values import Transfer, is_array

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


# Containers of which both sides hold a copy: noticing where one of them changes and the other one does not.
#
# Within one conversation what a call changes in its arguments is written back. Afterwards each side has a container of
# its own. An honest solution that keeps what it was given, or hands out what it goes on changing, then behaves otherwise
# than it would beside the test; such a test is decided there.

MANY = 100_000
"""Items that are kept in mind; what crosses after so many is not watched."""
_LOOKED_AT = 4_000
"""Items that are looked at a call, those of the newest containers first, then of those whose turn it is."""


class Crossed:
    """The containers that crossed in one test and that somebody on this side still holds."""

    def __init__(self, values: Sequence[Any] = ()) -> None:
        self.known: dict[int, tuple[Any, list[Any]]] = {}
        """Each with what it held when both sides agreed on it."""
        self._turns: deque[int] = deque()
        """Their keys, in the order in which they are looked at."""
        self._size = 0
        self._add(values)

    def add(self, transfer: Transfer) -> None:
        """Watch the containers of a conversation, on which both sides agree now."""
        self._add(transfer.numbered)

    def _add(self, values: Sequence[Any]) -> None:
        for value in values:
            is_list = type(value) is list
            if is_list or type(value) in MUTABLE or is_array(value):
                items, key = value[:] if is_list else _parts(value), id(value)
                if key in self.known:
                    self._note(value, items)
                elif self._size + (weight := _weigh(items)) < MANY:
                    self._turns.appendleft(key)
                    self._size += weight
                    self.known[key] = (value, items)

    def _note(self, value: Any, items: list[Any]) -> None:
        self._size += _weigh(items) - _weigh(self.known[id(value)][1])
        self.known[id(value)] = (value, items)

    def has_changed(self, most: int = _LOOKED_AT) -> bool:
        """Return whether one has changed on this side since both sides agreed on it.

        What nobody holds any more can be neither changed nor seen from now on, and is forgotten. Of very many, those with
        so many items are looked at by each call.
        """
        has_changed = False
        for _ in range(len(self._turns)):
            if most <= 0:
                break
            key = self._turns.popleft()
            # counted before the entry is unpacked, which would add one more reference
            is_held = _references(self.known, key) > _ALONE
            value, before = self.known[key]
            most -= _weigh(before)
            now = value if type(value) is list else _parts(value)
            if len(now) != len(before) or not (all(map(is_, now, before)) or all(map(is_same, now, before))):
                self._note(value, _parts(value))
                has_changed = True
            # what an array shows may be held by another one
            if is_held or (now is not value and is_array(value) and value.base is not None):
                self._turns.append(key)
            else:
                self._size -= _weigh(self.known.pop(key)[1])
        return has_changed

    def is_holding(self) -> bool:
        """Return whether this side still holds one, if only perhaps."""
        # A container that only another watched one holds is out of reach. They are counted within an expression: a
        # variable of this function would hold the last of them, which would then seem to be held by the test.
        within = Counter(id(item) for value, before in self.known.values() for item in (*before, *_parts(value)))
        return any(
            _references(self.known, key) > _ALONE + within[key] or getattr(self.known[key][0], "base", None) is not None
            for key in self.known
        )


def _parts(value: Any) -> list[Any]:
    if type(value) is bytearray or is_array(value):
        return [bytes(value) if type(value) is bytearray else value.tobytes()]
    return contents(value)


def _weigh(parts: list[Any]) -> int:
    """Return how many items these are, the container itself one of them; eight bytes of an array are one."""
    return 1 + (len(parts[0]) // 8 if len(parts) == 1 and type(parts[0]) is bytes else len(parts))


def is_same(part: Any, before: Any) -> bool:
    """Whether a part of a container is what was there before: the same object, or the same bytes."""
    return part is before or (type(part) is type(before) is bytes and part == before)


def _references(watched: dict[int, tuple[Any, list[Any]]], key: int) -> int:
    """Return how many references there are to a watched container, with those that come from watching it."""
    value, _ = watched[key]
    return sys.getrefcount(value)


_ALONE = _references({0: ([], [])}, 0)
"""How many there are to one that nobody else holds."""


# What one end of the wall does with an object of its own when the other asks for it, by the name of the operation.


def _special(value: Any, name: str, *arguments: Any, **options: Any) -> Any:
    return getattr(type(value), name)(value, *arguments, **options)


def _new_class(name: str, bases: tuple[type, ...], body: dict[str, object], **options: Any) -> Any:
    return types.new_class(name, bases, options, lambda space: space.update(body))


def _copy(value: Any, deep: bool) -> Any:
    import copy

    return copy.deepcopy(value) if deep else copy.copy(value)


def _next(value: Any) -> Any:
    # a coroutine is advanced as a generator is, but `next` does not take one
    return value.send(None) if isinstance(value, types.CoroutineType) else next(value)


def _seed(*arguments: Any) -> None:
    import random

    random.seed(*arguments)


OPERATIONS: dict[str, Callable[..., Any]] = {
    "c": lambda _target, *arguments, **options: _target(*arguments, **options),
    # named so because the options are the caller's own, among which may well be a `target`
    "step by": lambda _target, *arguments, **options: _target(*arguments, **options),
    "g": getattr,
    "s": setattr,
    "x": delattr,
    "d": _special,
    "class": _new_class,
    "copy": _copy,
    "seed": _seed,
    "await": awaiting.Awaited,
    "step": awaiting.Awaited.step,
    "cancel": awaiting.Awaited.cancel,
    "n": _next,
    "send": lambda target, value: target.send(value),
    "throw": lambda target, error: target.throw(error),
    "close": lambda target: target.close(),
}


if TYPE_CHECKING:
    Listeners = tuple[Callable[[str], object], ...] | None
    """Who hears what is printed over there on standard output and standard error; None where nobody does."""


_NEXT = frozenset(("n", "send", "throw", "close", "step", "step by"))
"""What is answered with a StopIteration where there is no more."""
_GOING, _THROUGH = frozenset(("n", "send", "throw", "step by")), frozenset((*STEPS, "__getitem__"))
"""Operations and special methods by which something is gone through."""
_COMPARING = frozenset(name for name, kind in OPERATORS.items() if kind in ("eq", "order", "in"))
_NAN = "NaN"
"""In a message it says that what is equal to nothing but itself has crossed, and is another one now."""
_SPECIAL_METHOD = '["q","d"'
_PACKAGE = f"{__package__.rpartition('.')[0]}."
_KEEPS_NOTHING = frozenset(
    [
        "_collections_abc", "_frozen_importlib", "abc", "collections", "enum", "fractions", "importlib._bootstrap", "numbers",
        "re", "types",
    ]
)  # fmt: skip
"""Modules of Python's whose code runs while values come and go, and which neither keep nor change what they are given.

The machinery of imports has one name until `importlib` is imported, and another from then on.
"""
_CONFUSING = Uncrossable, TypeError
"""What honest values come to that cannot be made here; a TypeError is a key's that its own class alone can hash."""
_NESTED = 400
"""Requests of the solution's that may be answered one within the other: a call of the test's that calls the solution, and so on.
Each takes some of the C stack as well, of which Python's own limit knows nothing: after about 5,700 the examiner would die."""
_DEEPER = 15
"""Frames of ours that a call which crosses the wall takes on either side, on top of the one it would take without."""


class Peer(Objects):
    """One end."""

    def __init__(self, link: wire.Ends, *, examines: bool) -> None:
        super().__init__(examines=examines)
        self.link = link
        self.dead = ""
        """Why nothing more can come of this attempt; it never becomes empty again."""
        self.is_confused = False
        """Whether that is because of an honest value that cannot cross, and not because the other side ended or lied."""
        self.policy = Policy([])
        self.frames: Any = None
        """A digest of what has come since the first test began; None where nobody asks for it."""
        self._at_opening: list[Any] = []
        """The containers among the solution's global variables."""
        self._is_opened = True
        """Whether no test has begun yet."""
        self._unfinished: tuple[int | None, int] = None, 0
        """The number of what the test goes through, one by one, and how far it went, if it has not come to the end."""
        self._own_code: set[int] = set()
        """The globals of code that is not the test's."""
        self.wants_output: Callable[[], Listeners] = lambda: None
        self.crossed = Crossed()
        own: dict[str, Callable[..., Any]]
        own = {"refill": self.refill_mine, "held": self.crossed.is_holding, "rebound": self.tell_rebound}
        self.operations = OPERATIONS if examines else OPERATIONS | own
        self._bound: tuple[dict[str, Any], dict[str, Any]] = {}, {}
        """The names of this side that the other one was told of, with what they stood for, and where they stand."""
        self._rebound: set[str] = set()  # those that have come to stand for something else
        self.outputs: tuple[Any, ...] = ()
        """What is printed here: standard output and standard error, each with what it has kept."""
        self.escaped: list[BaseException] = []
        """By what the test said that it failed while the other side had called it, and of what nothing has come back."""
        self._raised_there: BaseException | None = None
        """The last error that the other side answered with."""
        self.noted: Callable[[BaseException], None] | None = None
        """Is told of what is answered with an error."""
        self._serving = 0
        """How many requests of the solution's are being answered, one within the other."""
        self._turn = _thread.RLock()
        """Whose turn it is: threads of a solution speak one after the other."""

    def begin(self, policy: Policy) -> None:
        """Have what comes from here on belong to a test with this policy."""
        self.policy = policy
        # with what the tests before have kept
        self.crossed = Crossed([*self._at_opening, *(value for value, _ in self.crossed.known.values())])
        self.escaped.clear()
        if self.frames is not None and self._is_opened and not self.has_copies:
            self.frames = type(self.frames)()  # what functions are called and say of themselves is each solution's own
        self._is_opened = False

    def export(self, value: Any, transfer: Transfer, depth: int) -> Any:
        """Return the wire form of an object that is not a plain value."""
        return super().export(self._conceal(value), transfer, depth)

    def _put_error(self, error: BaseException, transfer: Transfer, depth: int = 0) -> Any:
        return super()._put_error(self._conceal(error), transfer, depth)

    def _conceal(self, value: Any) -> Any:
        """Return what may cross of this: of a verdict of the test's not its text, which may say what a test expects."""
        if not (self.examines and issubclass(type(value), BaseException) and is_verdict(value)):
            return value
        if get_token(value) is not None or value is self._raised_there:
            return value
        self.policy.answered = True
        return AssertionError()

    # asking

    def is_from_there(self, error: BaseException) -> bool:
        """Whether this is the last error that the other side answered with."""
        return error is self._raised_there

    def may(self, kind: str, one: Any, other: Any) -> bool:
        """Whether the other side is asked about an operator of its object with this operand."""
        return not self.examines or self.policy.may(kind, get_kind(one), is_handle=get_token(other) is not None)

    def may_own(self, name: str, operand: Any, *, operands: bool) -> bool:
        """Whether the class of an object that extends a plain type is asked, where the plain type has an answer."""
        return not self.examines or self.policy.may_own(name, get_kind(operand), operands=operands)

    def may_bind(self, name: str, operand: Any) -> bool:
        """Whether the other side's object is told of the class that it stands in, and of that class's objects."""
        return not self.examines or self.policy.may_bind(name, get_kind(operand))

    def use_method(self, what: str) -> None:
        """Note that a method of an object over there is given something to judge."""
        if self.examines:
            self.policy.use_method(what)

    def note_kept(self, most: int = _LOOKED_AT) -> None:
        """Note whether the test has changed what the other side still holds a copy of: beside it that would be one with it."""
        if self.crossed.known and self.crossed.has_changed(most):
            self.policy.copied = self.policy.copied or self._ask_state("held") is not False

    def list_rebound(self, names: list[str]) -> set[str]:
        """Return which of these names have come to stand for something else over there since this was asked last."""
        answer = self._ask_state("rebound", ["L", names])
        is_honest = type(answer) is list and all(type(name) is str for name in answer)
        return set(names).intersection(answer) if is_honest else set(names)

    def _ask_state(self, operation: str, *forms: Any) -> Any:
        """Return what the other side says of itself; None if it answers with an error, where an honest one has none."""
        try:
            return self._ask_peer(["q", operation, [*forms], [], False], None, None)
        except wire.Gone:
            raise
        except (Exception, SystemExit, KeyboardInterrupt, GeneratorExit):
            return None

    def tell_rebound(self, names: list[str]) -> list[str]:
        """Say which of these names of this side have come to stand for something else since it was asked last."""
        bound, space = self._bound
        changed = [
            name for name in names if name in self._rebound or space.get(name, self) is not bound.get(name, self)
        ]
        self._rebound.clear()
        bound.clear()
        bound.update({name: space[name] for name in names if name in space})
        return changed

    def _has_changed(self) -> bool:
        """Return whether a container has changed on this side, and note which names stand for something else now."""
        bound, space = self._bound
        self._rebound.update(name for name in bound if space.get(name, self) is not bound[name])
        return bool(self.crossed.known) and self.crossed.has_changed()

    def keep_out(self) -> None:
        """Note that something is not there as it would be beside: a test that fails is to be seen beside the candidate."""
        self.policy.refused = True

    def keep_beside(self) -> None:
        """Note that what the solution meant by a name may be called here: the test is to be decided beside it."""
        self.policy.answered = True

    def refuse(self, what: str) -> Any:
        """Say that something stays on this side; the test that wanted it is to be seen beside the candidate."""
        self.policy.refused = True
        return super().refuse(what)

    def wait_for(self, awaitable: Any) -> Any:
        """Return what an `await` of something over there goes through."""
        self.policy.refused = True  # two loops are not one: a test that fails has to be seen with one
        return awaiting.steps(self, awaitable)

    def request(self, operation: str, *arguments: Any, **options: Any) -> Any:
        """Have the other side do something; return or raise what came of it.

        Raises:
            Gone: the other side has ended.
        """
        if self.dead:
            raise wire.Gone(self.dead)
        transfer = None
        listen = self.wants_output()
        forms = _simple_forms(arguments) if not options else None
        named: list[Any] = []
        if forms is None:
            transfer = Transfer(self)
            forms = transfer.items(list(arguments), 0)
            named = [[name, transfer.put(value)] for name, value in options.items()]
        return self._answer(["q", operation, forms, named, listen is not None], transfer, listen)

    def _answer(self, request: list[Any], transfer: Transfer | None, listen: Listeners) -> Any:
        if not self.examines:
            with self._turn:
                return self._ask_peer(request, transfer, listen)
        self.note_kept()
        self.policy.note_asking()
        token, (last, steps) = _find_stepped(request), self._unfinished
        if steps > 1 and last != token:  # of one step no more can be told than that its item was wanted
            self.policy.note_unfinished(steps)
        self._unfinished = token, steps + 1 if token == last else 1
        return self._ask_peer(request, transfer, listen)

    def _ask_peer(self, request: list[Any], transfer: Transfer | None, listen: Listeners) -> Any:
        text = wire.encode(request)
        if _NAN in text:
            self.keep_out()
        if (
            self.examines
            and request[1] == "d"
            and request[2][1] in _COMPARING
            and not (type(request[2][2]) is list and request[2][2][0] == "b")
        ):
            self.policy.operands.append(repr(request[2][2]))
        outer = self.arrived  # which may be half read
        self.link.send(text.encode("ascii"))
        while True:
            frame = self._check_frame(self._receive())
            if frame[0] == "q":
                self.serve(frame, request[1])
                continue
            if len(frame) > 2 and frame[2] and self.examines:
                self.policy.note_change(request[1])
            try:
                return self._watch(request[1], self._settle, frame, transfer, listen)
            except Exception as error:
                if isinstance(error, StopIteration | StopAsyncIteration | LookupError):
                    self._unfinished = None, 0  # the end says nothing
                self.escaped = [error_kept for error_kept in self.escaped if error_kept is not error]
                self._raised_there = error
                if not isinstance(error, StopIteration | StopAsyncIteration):
                    raise
                # by a request for the next of something, that is how it says that there is no more
                is_asked = request[1] in _NEXT or (request[1] == "d" and request[2][1] in STEPS)
                if self.examines and not is_asked and not self.policy.may_stop():
                    raise RuntimeError(f"the solution raised {type(error).__name__}") from None
                raise
            finally:
                self.arrived = outer

    def call(self, token: int, arguments: tuple[Any, ...]) -> Any:
        """Have a function over there called; return or raise what came of it. Most requests are this one.

        Raises:
            Gone: the other side has ended.
        """
        if self.dead:
            raise wire.Gone(self.dead)
        transfer, forms = None, _simple_forms(arguments)
        if forms is None:
            transfer = Transfer(self)
            forms = transfer.items(list(arguments), 0)
        listen = self.wants_output()
        return self._answer(["q", "c", [["b", token], *forms], [], listen is not None], transfer, listen)

    def open(self, objects: dict[str, object], space: dict[str, object]) -> None:
        """Say unasked what there is in this namespace: the reply that the other side's `opening` waits for.

        Raises:
            Gone: the other side has ended.
        """
        transfer = Transfer(self)
        transfer.numbered.append(objects)  # as it is the first container of the reply
        forms: list[Any] = []
        for name, value in objects.items():
            kind = type(value)
            object_name = None
            if kind is types.FunctionType:
                object_name = names.name_for(value) if value.__module__ in names.HOMES else None
                forms += (name, self._handle(value, transfer, 1) if object_name is None else ["n", object_name])
                continue
            if kind is types.ModuleType:
                object_name = names.module_name(value)
            forms += (name, transfer.put(value, 1) if object_name is None else ["n", f"module {object_name}"])
        del transfer.numbered[0]  # the names themselves are nobody's container
        self._bound = objects, space
        self.crossed.add(transfer)
        self.link.send(wire.encode(["v", ["D", forms]]).encode("ascii"))

    def opening(self, names: list[str]) -> tuple[Any, dict[str, object]]:
        """Return what the other side says unasked at the beginning: that it cannot, or what it has of what is asked for.

        Raises:
            Gone: the other side has ended, or says something else.
        """
        frame = self._receive()
        if type(frame) is dict:
            return frame, {}
        self.is_opening = True
        transfer = Transfer(self)
        objects = self._settle(self._check_frame(frame), transfer, None)
        self.is_opening = False
        self._at_opening = [value for value in transfer.numbered if value is not objects]
        return None, self.only(objects, names)

    def also(self, asked: list[str]) -> dict[str, object]:
        """Return what it has of further names.

        Raises:
            Gone: the other side has ended, or says something else.
        """
        self.is_opening = True
        objects = self.request("names", asked)
        self.is_opening = False
        return self.only(objects, asked)

    def only(self, found: Any, asked: list[str]) -> dict[str, Any]:
        """Return names and objects that the other side said it has, none of which is more than was asked for.

        Raises:
            Gone: it has said more.
        """
        if type(found) is not dict or not all(type(name) is str and name in asked for name in found):
            self._fail("names that nobody asked for")
        return found  # type: ignore[no-any-return]  # checked above

    def _receive(self) -> Any:
        try:
            message = self.link.receive()
            if self.frames is not None:
                self.frames.update(message)
            text = message.decode("utf-8")
            if _NAN in text:
                self.keep_out()
            self.arrived = Arrived(text)
            return wire.decode(text)
        except wire.Gone as error:
            self.dead = self.dead or str(error)
            raise
        except (ValueError, RecursionError, MemoryError):
            self._fail("not a frame")

    def _check_frame(self, frame: Any) -> list[Any]:
        if type(frame) is not list or len(frame) < 2 or frame[0] not in ("q", "v", "x", "V", "X"):
            self._fail("not a frame")
        return frame  # type: ignore[no-any-return]  # checked above

    def _settle(self, frame: list[Any], transfer: Transfer | None, listen: Listeners) -> Any:
        if len(frame) == 2 and frame[0] == "v" and type(frame[1]) in ATOMS:
            if self._serving:
                self._check_answer()
            if transfer is not None:
                self.crossed.add(transfer)
            return frame[1]
        transfer = transfer or Transfer(self)
        how = frame[0].lower()
        if how != frame[0] and self.examines and self.crossed.is_holding():
            self.policy.copied = True  # one has changed over there that the test has a copy of
        try:
            value = transfer.get(frame[1])
            if len(frame) > 2:
                transfer.apply(frame[2])
            if len(frame) > 3:
                self._refresh(frame[3], transfer)
            texts = frame[4:6]
            if any(type(text) is not str for text in texts) or (how == "x" and not isinstance(value, BaseException)):
                raise Malformed("no reply")
        except (wire.Gone, KeyboardInterrupt):
            raise
        except Exception as error:
            self._fail(f"{type(error).__name__}: {error}"[:MAX_NAME], confused=isinstance(error, _CONFUSING))
        if self._serving:
            self._check_answer()
        self.crossed.add(transfer)
        for text, hear in zip(texts, listen or (), strict=False):
            if text:
                hear(text)
        if how == "x":
            raise value
        return value

    def _check_answer(self) -> None:
        """Let nothing come in by an answer, while a request of the solution's runs, that could not come with the request.

        Raises:
            AttributeError: it would.
        """
        self.policy.check_answer(self.arrived.handed, spells=self.arrived.spells())

    def _fail(self, reason: str, *, confused: bool = False) -> Any:
        self.is_confused = confused and not self.dead
        self.dead = self.dead or reason
        raise wire.Gone(reason) from None

    # answering

    def serve(self, frame: list[Any], during: str = "") -> None:
        """Do what the other side asks, and reply.

        Args:
            frame: the request.
            during: the operation of this side's that is under way.

        Raises:
            Gone: it asked for what cannot be asked for.
        """
        if len(frame) != 5 or type(frame[1]) is not str or type(frame[3]) is not list:
            self._fail("not a request")
        arrived = self.arrived
        arguments, options, transfer = self._take_call(frame, during)
        if frame[4]:
            for output in self.outputs:
                output.kept = []
        limit, serves, is_certain = sys.getrecursionlimit(), False, False
        try:
            # a call that crosses takes frames of ours, of which a solution near the limit should notice nothing
            sys.setrecursionlimit(limit + _DEEPER)
            if self.examines:
                is_certain = self._check(frame[1], arguments, options, arrived, during)
                self._serving += 1
                serves = True
            operation = self.operations[frame[1]]
            value: Any = self._watch(during, operation, *arguments) if is_certain else operation(*arguments, **options)
            kind = type(value)
            if kind in SCALARS or (kind is int and is_word(value)):
                reply = ["v", value]
            else:
                transfer = transfer or Transfer(self)
                reply = ["v", self._watch(during, transfer.put, value) if is_certain else transfer.put(value)]
        except wire.Gone:
            raise
        except BaseException as error:
            if self.examines and error is not self._raised_there and is_verdict(error):
                self.escaped.append(error)
            if self.examines and not isinstance(error, Exception | SystemExit | KeyboardInterrupt | GeneratorExit):
                raise
            if self.noted is not None:
                self.noted(error)
            transfer = transfer or Transfer(self)
            reply = ["x", self._put_error(error, transfer)]
        finally:
            self._serving -= serves
            _lower_recursion_limit(limit)
        if not self.examines and self._has_changed():
            reply[0] = reply[0].upper()
        if transfer is not None or self._shared or frame[4]:
            self._watch(during, self._add_changes, reply, transfer or Transfer(self), heard=bool(frame[4]))
            if transfer is not None:
                self.crossed.add(transfer)
        with self._turn:
            self.link.send(wire.encode(reply).encode("ascii"))

    def _watch(self, during: str, do: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Return what this comes to, with a message of the solution's; if the test's code runs meanwhile, that counts as a change.

        An object of the test's can have code run wherever it is looked at: by a property `__class__`, as a key, as a part of
        an error. So nothing is said of what may run, but what does run is seen.
        """
        if not (self.examines and self._mine):
            return do(*arguments, **options)
        outer, self.has_run = self.has_run, False
        profile = sys.getprofile()
        sys.setprofile(self._see)
        try:
            return do(*arguments, **options)
        finally:
            sys.setprofile(profile)
            if self.has_run:
                self.policy.note_change(during)
            self.has_run = outer

    def _see(self, frame: types.FrameType, event: str, _argument: object) -> None:
        if event == "call" and id(frame.f_globals) not in self._own_code:
            self.has_run = self.has_run or not self._is_own_code(frame.f_globals)

    def _is_own_code(self, space: dict[str, Any]) -> bool:
        """Whether code with these globals is ours, or of a module of Python's that keeps nothing; remember it if so."""
        name: object = space.get("__name__")
        if type(name) is not str or not (name in _KEEPS_NOTHING or name.startswith(_PACKAGE)):
            return False
        is_own = getattr(sys.modules.get(name), "__dict__", None) is space
        if is_own:
            self._own_code.add(id(space))
        return is_own

    def _check(
        self, operation: str, arguments: list[Any], options: dict[str, object], arrived: Arrived, during: str
    ) -> bool:
        """Let the solution ask this; return whether that is certain to change nothing.

        Raises:
            AttributeError: it may not be asked.
        """
        from . import lent  # there since the examiner began; the candidate's process has no use for it

        if self._serving == _NESTED:
            self.keep_out()  # an honest answer may need more, and is then to be seen beside the test
            raise RecursionError(f"{_NESTED} requests within one another")
        target = arguments[0] if arguments else None
        if id(target) not in self._tokens:
            # only what was handed out under a number can be asked for something
            raise AttributeError("no object of the test's")
        is_awaited = operation in ("step", "cancel") and type(target) is awaiting.Awaited
        is_certain = (
            not is_awaited and not options and self._watch(during, lent.is_certain, operation, target, arguments[1:])
        )
        if not is_certain:
            # before it is refused: to look whether it may be asked can run the test's code
            self.policy.note_change(during)
        if is_awaited:
            return False
        spells = arrived.spells(is_special_method=arrived.text.startswith(_SPECIAL_METHOD))
        self._watch(during, self.policy.check_use, operation, arguments, options, arrived.handed, spells=spells)
        return bool(is_certain)

    def _take_call(self, frame: list[Any], during: str) -> tuple[list[Any], dict[str, object], Transfer | None]:
        transfer = Transfer(self)
        simple = self._simple_values(frame[2], transfer) if not frame[3] else None
        if simple is not None:
            return simple, {}, transfer if transfer.numbered else None
        transfer = Transfer(self)
        try:
            arguments = self._watch(during, transfer.all, frame[2])
            options = {name: self._watch(during, transfer.get, form) for name, form in frame[3]}
        except (wire.Gone, KeyboardInterrupt):
            raise
        except Exception as error:
            self._fail(f"{type(error).__name__}: {error}"[:MAX_NAME], confused=isinstance(error, _CONFUSING))
        transfer.snapshot()
        return arguments, options, transfer

    def _add_changes(self, reply: list[Any], transfer: Transfer, *, heard: bool) -> None:
        """Add what the call changed in what it was given, and what it printed, as far as there is any."""
        changes, shared = transfer.changes(), self._stale(transfer) if self._shared else []
        texts: list[str] = []
        if heard:
            texts = ["".join(output.kept or ()) for output in self.outputs]
            for output in self.outputs:
                output.kept = output.at_rest
        if any(texts):
            reply += [changes, shared, *texts]
        elif shared:
            reply += [changes, shared]
        elif changes:
            reply.append(changes)

    def _simple_values(self, forms: Any, transfer: Transfer) -> list[Any] | None:
        """Return the values of wire forms that are scalars or objects of this side; None if there are others.

        Over there lists of scalars are read here too: each function that a fresh process runs costs it copied pages.
        """
        if type(forms) is not list:
            return None
        values: list[Any] = []
        for form in forms:
            if type(form) in ATOMS:
                values.append(form)
            elif type(form) is not list or len(form) != 2:
                return None
            elif form[0] == "b" and type(form[1]) is int:
                # `Transfer` refuses it, with the reason
                if not 0 <= form[1] < len(self._mine):
                    return None
                values.append(self._mine[form[1]])
                self.arrived.handed.append(values[-1])
            elif form[0] == "L" and not self.examines and ATOMS.issuperset(map(type, form[1])):
                values.append(transfer.take_list(form[1]))
            else:
                return None
        return values


def _find_stepped(request: list[Any]) -> int | None:
    """Return the number of what a request goes one step further through; None if it is another request."""
    operation, forms = request[1], request[2]
    if operation in _GOING or (operation == "d" and forms[1] in _THROUGH):
        return forms[0][1]  # type: ignore[no-any-return]  # what is asked is always an object over there
    return None


def _simple_forms(values: tuple[Any, ...]) -> list[Any] | None:
    """Return the wire forms of scalars and of objects of the other side; None if there are other values.

    Most calls are of this kind, and need no account of what they may change.
    """
    forms: list[Any] = []
    for value in values:
        kind = type(value)
        if kind in SCALARS or (kind is int and is_word(value)):
            forms.append(value)
        elif (token := get_token(value)) is not None:
            forms.append(["b", token])
        else:
            return None
    return forms


def _lower_recursion_limit(limit: int) -> None:
    try:
        sys.setrecursionlimit(limit)
    except RecursionError:  # deeper than that at this moment: whoever returns to above does it
        return
