"""One end of the wall between the examiner and the candidate: requests, replies, handles.

Both ends run the same code. The examiner's end has a guard (what the candidate may ask of the test's objects) and a
policy (which operators with a value of the test's own the candidate may answer).

A request is `["q", operation, arguments, options, wants output]`, a reply `["v" or "x", value, changes, output...]`.
"""

from __future__ import annotations

import sys
import types

from . import names, wire
from .late import Malformed
from .objects import MAX_NAME, Objects
from .policy import Policy, check_use
from .standin import token_of
from .values import ATOMS, SCALARS, Transfer, is_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Peer(Objects):
    """One end."""

    def __init__(self, link: wire.Ends, *, examines: bool) -> None:
        super().__init__(examines=examines)
        self.link = link
        self.dead = ""
        """Why nothing more can come of this attempt; it never becomes empty again."""
        self.policy = Policy([])
        self.wants_output: Callable[[], Callable[[str], object] | None] = lambda: None
        self.operations = _OPERATIONS
        self.output: Any = None

    # asking

    def may(self, kind: str, other: Any) -> bool:
        """Whether the other side is asked about an operator with this operand."""
        return not self._examines or self.policy.may(kind, is_handle=token_of(other) is not None)

    def request(self, operation: str, *arguments: Any, **options: Any) -> Any:
        """Have the other side do something; return or raise what came of it.

        Raises:
            Gone: there is no other side any more.
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

    def _answer(self, asked: list[Any], transfer: Transfer | None, listen: Callable[[str], object] | None) -> Any:
        self.link.send(wire.encode(asked).encode("ascii"))
        while True:
            frame = self._checked(self._receive())
            if frame[0] == "q":
                self.serve(frame)
                continue
            return self._settle(frame, transfer, listen)

    def call(self, token: int, arguments: tuple[Any, ...]) -> Any:
        """Have a function over there called; return or raise what came of it. Most requests are this one.

        Raises:
            Gone: there is no other side any more.
        """
        if self.dead:
            raise wire.Gone(self.dead)
        transfer, forms = None, _simple_forms(arguments)
        if forms is None:
            transfer = Transfer(self)
            forms = transfer.items(list(arguments), 0)
        listen = self.wants_output()
        return self._answer(["q", "c", [["b", token], *forms], [], listen is not None], transfer, listen)

    def open(self, found: dict[str, Any]) -> None:
        """Say unasked what there is: the reply that the other side's `opening` waits for.

        Raises:
            Gone: there is no other side.
        """
        transfer = Transfer(self)
        transfer.begin(found)  # as it is the first container of the reply
        forms: list[Any] = []
        for name, value in found.items():
            plain = type(value) is types.FunctionType and value.__module__ not in names.HOMES
            forms += (name, self._handle(value, transfer, 1) if plain else transfer.put(value, 1))
        self.link.send(wire.encode(["v", ["D", forms]]).encode("ascii"))

    def opening(self) -> tuple[Any, Any]:
        """Return what the other side says unasked at the beginning: that it cannot, or the value of its reply.

        Raises:
            Gone: there is no other side, or it says neither.
        """
        frame = self._receive()
        if type(frame) is dict:
            return frame, None
        return None, self._settle(self._checked(frame), None, None)

    def _receive(self) -> Any:
        try:
            return wire.decode(self.link.receive().decode("utf-8"))
        except wire.Gone as error:
            self._fail(str(error))
        except (ValueError, RecursionError, MemoryError):
            self._fail("not a frame")

    def _checked(self, frame: Any) -> list[Any]:
        if type(frame) is not list or len(frame) < 2 or frame[0] not in ("q", "v", "x"):
            self._fail("not a frame")
        return frame  # type: ignore[no-any-return]  # checked above

    def _settle(self, frame: list[Any], transfer: Transfer | None, listen: Callable[[str], object] | None) -> Any:
        if len(frame) == 2 and frame[0] == "v" and type(frame[1]) in ATOMS:
            return frame[1]
        transfer = transfer or Transfer(self)
        try:
            value = transfer.get(frame[1])
            if len(frame) > 2:
                transfer.apply(frame[2])
            if len(frame) > 3:
                self._refresh(frame[3], transfer)
            text = frame[4] if len(frame) > 4 else ""
            if type(text) is not str or (frame[0] == "x" and not isinstance(value, BaseException)):
                raise Malformed("no reply")
        except (wire.Gone, KeyboardInterrupt):
            raise
        except Exception as error:
            self._fail(f"{type(error).__name__}: {error}"[:MAX_NAME])
        if text and listen is not None:
            listen(text)
        if frame[0] == "x":
            raise value
        return value

    def _fail(self, reason: str) -> Any:
        self.dead = self.dead or reason
        raise wire.Gone(reason) from None

    # answering

    def serve(self, frame: list[Any]) -> None:
        """Do what the other side asks, and reply.

        Raises:
            Gone: it asked for what cannot be asked for.
        """
        if len(frame) != 5 or type(frame[1]) is not str or type(frame[3]) is not list:
            self._fail("not a request")
        arguments, options, transfer = self._taken(frame)
        if frame[4] and self.output is not None:
            self.output.kept = []
        try:
            if self._examines:
                target = arguments[0] if arguments else None
                if id(target) not in self._tokens:
                    raise AttributeError("no object of the test's")
                check_use(frame[1], target, arguments)
            value = self.operations[frame[1]](*arguments, **options)
            kind = type(value)
            if kind in SCALARS or (kind is int and is_word(value)):
                reply = ["v", value]
            else:
                transfer = transfer or Transfer(self)
                reply = ["v", transfer.put(value)]
        except wire.Gone:
            raise
        except BaseException as error:
            if self._examines and not isinstance(error, Exception | SystemExit | KeyboardInterrupt | GeneratorExit):
                raise
            transfer = transfer or Transfer(self)
            reply = ["x", self._put_error(error, transfer)]
        if transfer is not None or self._shared or frame[4]:
            self._add_changes(reply, transfer or Transfer(self), heard=bool(frame[4]))
        self.link.send(wire.encode(reply).encode("ascii"))

    def _taken(self, frame: list[Any]) -> tuple[list[Any], dict[str, Any], Transfer | None]:
        simple = self._simple_values(frame[2]) if not frame[3] else None
        if simple is not None:
            return simple, {}, None
        transfer = Transfer(self)
        try:
            arguments = transfer.all(frame[2])
            options = {name: transfer.get(form) for name, form in frame[3]}
        except (wire.Gone, KeyboardInterrupt):
            raise
        except Exception as error:
            self._fail(f"{type(error).__name__}: {error}"[:MAX_NAME])
        transfer.snapshot()
        return arguments, options, transfer

    def _add_changes(self, reply: list[Any], transfer: Transfer, *, heard: bool) -> None:
        """Add what the call changed in what it was given, and what it printed, as far as there is any."""
        changes, shared = transfer.changes(), self._stale(transfer)
        text = ""
        if heard and self.output is not None:
            text, self.output.kept = "".join(self.output.kept or ()), None
        if text:
            reply += [changes, shared, text]
        elif shared:
            reply += [changes, shared]
        elif changes:
            reply.append(changes)

    def _simple_values(self, forms: Any) -> list[Any] | None:
        """Return the values of wire forms that are scalars or objects of this side; None if there are others."""
        if type(forms) is not list:
            return None
        found = []
        for form in forms:
            if type(form) in ATOMS:
                found.append(form)
            elif type(form) is list and len(form) == 2 and form[0] == "b" and type(form[1]) is int:
                if not 0 <= form[1] < len(self._mine):
                    return None
                found.append(self._mine[form[1]])
            else:
                return None
        return found


def _simple_forms(values: tuple[Any, ...]) -> list[Any] | None:
    """Return the wire forms of scalars and of objects of the other side; None if there are other values.

    Most calls are of this kind, and need no account of what they may change.
    """
    forms: list[Any] = []
    for value in values:
        kind = type(value)
        if kind in SCALARS or (kind is int and is_word(value)):
            forms.append(value)
        elif (token := token_of(value)) is not None:
            forms.append(["b", token])
        else:
            return None
    return forms


def _special(value: Any, name: str, *arguments: Any, **options: Any) -> Any:
    return getattr(type(value), name)(value, *arguments, **options)


def _new_class(name: str, bases: tuple[type, ...], body: dict[str, Any], **options: Any) -> Any:
    return types.new_class(name, bases, options, lambda space: space.update(body))


def _copy(value: Any, deep: bool) -> Any:  # noqa: FBT001 - from the wire, by position
    import copy

    return copy.deepcopy(value) if deep else copy.copy(value)


def _import(name: str) -> Any:
    __import__(name)
    return sys.modules[name]


def _await(value: Any) -> Any:
    return value if isinstance(value, types.CoroutineType) else type(value).__await__(value)


def _next(value: Any) -> Any:
    return value.send(None) if isinstance(value, types.CoroutineType) else next(value)


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "c": lambda _target, *arguments, **options: _target(*arguments, **options),
    "g": getattr,
    "s": setattr,
    "x": delattr,
    "d": _special,
    "class": _new_class,
    "copy": _copy,
    "import": _import,
    "await": _await,
    "n": _next,
    "send": lambda target, value: target.send(value),
    "throw": lambda target, error: target.throw(error),
    "close": lambda target: target.close(),
}
