"""The objects of both sides of the wall: ours by number, and stand-ins for theirs."""

from __future__ import annotations

import itertools
import sys
import types

from . import names
from .plain_values import SPECIAL, Malformed, Shape, Uncrossable, contents, refill
from .standin import MUTABLE_BASES, PLAIN_BASES, TOKEN, Meta, get_token, make_called, make_class
from .values import Transfer

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any


# What a class has of its own, read without running its code.


def own_special(cls: type, base: type | None) -> list[str]:
    """Return the special methods of a class that neither its plain base nor `object` gave it."""
    lineage = type.__dict__["__mro__"].__get__(cls)
    base_lineage = set(type.__dict__["__mro__"].__get__(base)) if base is not None else {object}
    methods = []
    for name in SPECIAL:
        owner = next((kind for kind in lineage if name in type.__dict__["__dict__"].__get__(kind)), None)
        if owner is not None and owner not in base_lineage and owner is not object:
            # `__hash__ = None` says that there is none, which has to cross as well
            value = type.__dict__["__dict__"].__get__(owner)[name]
            methods.append(f"!{name}" if value is None else name)
    return methods


def plain_base(cls: type) -> type | None:
    """Return the plain type, or the exception class of Python's own, that a class extends; None for neither."""
    lineage = type.__dict__["__mro__"].__get__(cls)
    for kind in lineage:
        if kind in PLAIN_BASES:
            plain: type = kind
            return plain
        if issubclass(kind, BaseException) and names.name_for(kind) is not None:
            return kind  # type: ignore[no-any-return]  # an element of a tuple of classes
    return None


MAX_NAME = 200
CALLABLE = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.MethodWrapperType)
_ARGS: Any = BaseException.args
_INSIDE = (types.FrameType, types.CodeType, types.CellType)
_POWERS = frozenset(
    [
        "eval", "exec", "compile", "open", "input", "getattr", "setattr", "delattr", "vars", "globals", "locals", "dir",
        "__import__", "__build_class__", "breakpoint"
    ]
)  # fmt: skip
"""Built-in functions through which whoever calls them gets at more than he was given."""
_SPECIAL = frozenset(SPECIAL)
_SPELLED = ("__", "gi_", "cr_", "ag_")
"""What names a special attribute or a frame."""
_OTHER_SPELLINGS = (*_SPELLED[1:], *(f"\\u00{digit}" for digit in range(2, 8)))
"""What names a frame, and how plain letters are spelled in another way."""
_BYTES = ('"B"', '"Y"', '"M"', '"A"')
"""The tags of what crosses as bytes."""
# an underscore at either edge of the bytes, and each word as it stands there in UTF-8, UTF-16 and UTF-32
_IN_BYTES = frozenset(
    ['"5f', '5f"']
    + [gap.join(f"{ord(letter):x}" for letter in word) for word in _SPELLED for gap in ("", "00", "000000")]
)


class Arrived:
    """A message from there, and what came in with it."""

    def __init__(self, text: str = "") -> None:
        self.text = text
        self.handed: list[Any] = []
        """The objects of this side, by number or by name."""
        self.described: list[str] = []
        """The names in descriptions of classes, which no test can read."""
        self.is_spelled = False
        """Whether there is an object in it that crossed earlier and holds a text which may name a special attribute."""

    def spells(self, *, is_special_method: bool = False) -> bool:
        """Whether it holds a text that may name a special attribute, or be a part of such a name, but for what it asks for.

        Args:
            is_special_method: it asks for a special method, whose name stands in it once.
        """
        if self.is_spelled or any(spelled in self.text for spelled in _OTHER_SPELLINGS):
            return True
        expected = [*self.described, *(["__len__"] if is_special_method else ())]
        if "_" in self.text and _count_edges(self.text, is_message=True) > sum(_count_edges(name) for name in expected):
            return True
        if not any(tag in self.text for tag in _BYTES):
            return False
        # hexadecimal digits may be capitals and may have blanks between them
        digits = "".join(self.text.lower().split())
        return any(spelled in digits for spelled in _IN_BYTES)


def _count_edges(text: str, *, is_message: bool = False) -> int:
    """Count the underscores that do not join two letters or digits.

    A special name has such, and so has a part of one that a function of the test's may put together. (Written out, because
    every attempt would carry the modules of a regular expression.) Of a message it is at least as many as in what it says:
    there a line break is a backslash and an `n`.
    """
    edges = 0
    for before, behind in itertools.pairwise(text.split("_")):
        last = before[-1:]
        if is_message and before[-2:-1] == "\\":
            last = ""
        elif is_message and before[-6:-4] == "\\u":
            try:
                last = chr(int(before[-4:], 16))
            except ValueError:  # letters that stand behind a backslash and a `u`
                last = ""
        edges += not (last.isalnum() and behind[:1].isalnum())
    return edges


class Objects:
    """What either side knows the other's objects by. `request` is what a stand-in is used through."""

    def __init__(self, *, examines: bool) -> None:
        self.examines = examines
        self.is_opening = False
        """Whether what comes in is what tests call by name, where a module or a function of Python's own may stand."""
        self.has_run = False
        """Whether the test's code may have run while a message of the solution's was read, checked or answered."""
        self.metas: dict[tuple[str, ...], type] = {}
        """The classes of classes over there, by the special methods that they have."""
        self._mine: list[Any] = []
        self._tokens: dict[int, int] = {}
        self._classes: dict[int, int] = {}
        self._theirs: dict[int, Any] = {}
        self._stubs: dict[int, int] = {}
        self.arrived = Arrived()
        """The last message."""
        self.has_named = False
        """Whether anything came by a name: a module or class of Python's, which may hold what lasts."""
        self.named: list[Any] = []
        """What came by a name and can be called."""
        self.has_copies = False
        """Whether this side has a copy of what an object over there holds."""
        self._spelled: set[int] = set()
        """What is over there and holds such a text."""
        self._shared: list[tuple[int, Any, list[Any]]] = []
        """Mutable subclasses of plain types that the other side holds a copy of, and what the copy holds."""

    def request(self, operation: str, *arguments: Any, **options: Any) -> Any:
        """Have the other side do something; return or raise what came of it."""
        raise NotImplementedError

    def export(self, value: Any, transfer: Transfer, depth: int) -> Any:
        """Return the wire form of an object that is not a plain value."""
        token = get_token(value)
        if token is None:
            token = self._stubs.get(id(value))
        if token is not None:
            return ["b", token]
        cls = type(value)
        if (
            isinstance(value, type)
            or cls in CALLABLE
            or cls in (types.MethodDescriptorType, types.WrapperDescriptorType)
        ):
            name = names.name_for(value) if self.examines or cls is not types.FunctionType else None
            if name is not None:
                return ["n", name]
        elif isinstance(value, types.ModuleType):
            name = names.module_name(value) if self.examines else None
            if name is not None:
                return ["n", f"module {name}"]
        elif isinstance(value, BaseException) and names.name_for(cls) is not None and not vars(value):
            return self._put_error(value, transfer)
        if self.examines:
            return self._lend(value, transfer, depth)
        return self._handle(value, transfer, depth)

    def by_name(self, name: str) -> Any:
        """Return what the other side means by a name.

        Raises:
            LookupError: nothing that may cross in this way.
        """
        if not self.examines:
            return names.find_named(name)
        self.has_named = True
        received = names.lent(names.find_named(name)) if self.is_opening else names.receive_named(name)
        if callable(received) and not self.is_opening:
            self.arrived.handed.append(received)
        if names.acts(received):
            self.named.append(received)
            if not self.is_opening:
                self.keep_beside()
        return received

    def keep_out(self) -> None:
        """Note that something is not there as it would be beside: a test that fails is to be seen there."""

    def keep_beside(self) -> None:
        """Note that what the solution meant by a name may be called here: the test is to be decided beside it."""

    def refuse(self, what: str) -> Any:
        """Say that something stays on this side.

        Raises:
            TypeError: always.
        """
        raise TypeError(f"{what} cannot be given to the solution, which runs in another process")

    def _lend(self, value: Any, transfer: Transfer, depth: int) -> Any:
        """Hand over an object of the tests', unless it is a way to what is not theirs."""
        kind = type(value)
        if kind is types.TracebackType:
            return ["t"]
        if kind is types.ModuleType:
            return self.refuse("a module of the test's own")
        if kind in _INSIDE:
            return self.refuse(f"a {kind.__name__} object of the test")
        if kind is types.BuiltinFunctionType and value.__name__ in _POWERS:
            return self.refuse(f"{value.__name__}()")
        self.keep_out()  # who looks into it there sees a stand-in
        return self._handle(value, transfer, depth)

    def _handle(self, value: Any, transfer: Transfer, depth: int) -> list[Any]:
        own_token = self._tokens.get(id(value))
        if own_token is not None:
            return ["h", own_token]
        token = self._keep(value)
        return ["h", token, self._describe(value, transfer, depth)]

    def _keep(self, value: Any) -> int:
        self._mine.append(value)
        self._tokens[id(value)] = len(self._mine) - 1
        return len(self._mine) - 1

    def _put_error(self, error: BaseException, transfer: Transfer, depth: int = 0) -> Any:
        name = names.name_for(type(error))
        if name is None or vars(error) or depth > 5 or get_token(error) is not None:
            return transfer.put(error)
        cause = error.__cause__
        form = ["e", name, transfer.items(list(error.args), 1)]
        if cause is not None:
            form.append(self._put_error(cause, transfer, depth + 1))
        return form

    def _describe(self, value: Any, transfer: Transfer, depth: int) -> Any:
        if isinstance(value, type):
            return ["c", *self._class(value, transfer)]
        cls = type(value)
        if cls in CALLABLE:
            # CO_COROUTINE and CO_ASYNC_GENERATOR
            flags = value.__code__.co_flags & 0x280 if cls is types.FunctionType else 0
            doc = value.__doc__ if type(value.__doc__) is str else None
            return ["f", _short(value.__name__), doc, flags, names.claim_for(cls)]
        if isinstance(value, types.ModuleType):
            return ["i", self._class_form(cls, transfer)]
        base = plain_base(cls)
        form = ["i", self._class_form(cls, transfer)]
        if base is None:
            return form
        if issubclass(base, BaseException):
            return [*form, transfer.items(list(_ARGS.__get__(value)), depth + 1)]
        items = contents(value) if issubclass(base, MUTABLE_BASES) else list(_plain(base, value))
        if issubclass(base, MUTABLE_BASES):
            self._shared.append((self._tokens[id(value)], value, items))
        return [*form, transfer.items(items, depth + 1)]

    def _class_form(self, cls: type, transfer: Transfer) -> Any:
        token = self._classes.get(id(cls))
        if token is not None:
            return ["h", token]
        token_known = self._tokens.get(id(cls))
        token = self._classes[id(cls)] = token_known if token_known is not None else self._keep(cls)
        return ["h", token] if token_known is not None else ["h", token, ["c", *self._class(cls, transfer)]]

    def _class(self, cls: type, transfer: Transfer) -> list[Any]:
        token = self._tokens[id(cls)]
        self._classes[id(cls)] = token
        base = plain_base(cls)
        parents = type.__dict__["__bases__"].__get__(cls)
        bases_kept = (kind for kind in parents if kind is not object and names.name_for(kind) is None)
        bases = [self._class_form(kind, transfer) for kind in bases_kept if not isinstance(kind, Meta)]
        methods = own_special(cls, base)
        own: list[str] = []
        if base is not None and not issubclass(base, BaseException):
            lineage = type.__dict__["__mro__"].__get__(cls)
            base_lineage = set(type.__dict__["__mro__"].__get__(base))
            extending = (kind for kind in lineage if kind not in base_lineage)
            own = sorted({name for kind in extending for name in type.__dict__["__dict__"].__get__(kind)})
        meta = type(cls)
        special = [] if meta is type else [name for name in own_special(meta, type) if name[0] != "!"]
        exported = names.name_for(base) if base is not None else ""
        name = type.__dict__["__name__"].__get__(cls)
        module = type.__dict__["__module__"].__get__(cls)
        is_own = type(module) is not str or module == "solution"
        home = "" if is_own else f"{module}:{name}"[:MAX_NAME]  # where a class of a library's comes from
        return [_short(name), bases, exported or "", methods, own, names.claim_for(cls), special, home]

    def resolve(self, form: list[Any], transfer: Transfer) -> Any:
        """Return the object for the wire form of one that is not a plain value.

        Raises:
            Malformed: it is none.
        """
        tag = form[0]
        if tag == "e":
            return self._get_error(form, transfer)
        if tag == "t" and not self.examines:
            return types.TracebackType(None, sys._getframe(), 0, 1)  # noqa: SLF001 - any frame does
        if len(form) < 2 or type(form[1]) is not int:
            raise Malformed("no handle")
        token = form[1]
        if tag == "b":
            if not 0 <= token < len(self._mine):
                raise Malformed("no such object")
            self.arrived.handed.append(self._mine[token])
            return self._mine[token]
        if tag != "h":
            raise Malformed("unknown tag")
        resolved = self._theirs.get(token)
        if resolved is None:
            if token in self._theirs:
                raise Uncrossable("a value that holds itself")
            if len(form) != 3 or type(form[2]) is not list or len(form[2]) < 2:
                raise Malformed("an unknown handle")
            self._make(token, form[2], transfer)
            resolved = self._theirs[token]
        if token in self._spelled:
            self.arrived.is_spelled = True
        return resolved

    def _get_error(self, form: list[Any], transfer: Transfer) -> BaseException:
        if len(form) not in (3, 4) or type(form[1]) is not str:
            raise Malformed("no exception")
        kind = names.find_named(form[1])
        n_handed = len(self.arrived.handed)
        arguments = transfer.all(form[2])
        # to be made, an error may go through what it is of
        self.has_run = self.has_run or len(self.arrived.handed) > n_handed
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            raise Malformed("no exception")
        try:
            error = kind(*arguments)
        except Exception:
            # its constructor wants something else than what `args` holds
            error = kind.__new__(kind)
            error.args = tuple(arguments)
        if len(form) == 4:
            cause = transfer.get(form[3])
            if not isinstance(cause, BaseException):
                raise Malformed("no cause")
            error.__cause__ = cause
        return error

    def _make(self, token: int, form: list[Any], transfer: Transfer) -> None:
        kind = form[0]
        if kind == "c":
            self._make_class(token, form, transfer)
        elif kind == "f" and len(form) == 5:
            self._theirs[token] = self._function(token, form)
        elif kind == "i":
            cls = transfer.get(form[1])
            if not isinstance(cls, Meta) or token in self._theirs:
                raise Malformed("no class")
            self._theirs[token] = None  # a value that holds itself cannot be made from what it holds
            n_handed = len(self.arrived.handed)
            items = transfer.all(form[2]) if len(form) > 2 else []
            if issubclass(cls, BaseException):
                self.keep_out()  # its cause and its notes stay there
                self.has_run = self.has_run or len(self.arrived.handed) > n_handed
            self.has_copies = self.has_copies or len(form) > 2
            self._theirs[token] = _instance(cls, token, items)
            self._note(token, items)
        else:
            raise Malformed("no description")

    def _make_class(self, token: int, form: list[Any], transfer: Transfer) -> None:
        if len(form) != 9:
            raise Malformed("no class")
        _, name, bases, base, methods, own, claim, special, home = form
        texts = (name, base, claim, home)
        if any(type(text) is not str for text in texts) or not all(map(_is_texts, (methods, own, special))):
            raise Malformed("no class")
        parents: list[type] = [parent for parent in transfer.all(bases) if isinstance(parent, Meta)]
        real = names.find_named(base) if base else None
        if real is not None and not (
            isinstance(real, type) and (real in PLAIN_BASES or issubclass(real, BaseException))
        ):
            raise Malformed("no base")
        if self.examines and (not name.isidentifier() or any(special in name for special in _SPELLED)):
            self.keep_out()
            name = "object"  # a test can read it, and its functions may format by it
        self.arrived.described += [*methods, *own, *special]
        special_names = [name for name in methods if name.lstrip("!") in _SPECIAL]
        shape = Shape(
            _short(name),
            tuple(parents),
            real,
            special_names,
            own,
            names.find_claimed_class(claim),
            special,
            home=home[:MAX_NAME],
        )
        self._theirs[token] = make_class(self, token, shape)

    def _function(self, token: int, form: list[Any]) -> Any:
        _, name, doc, flags, claim = form
        if (
            type(claim) is not str
            or type(name) is not str
            or not (doc is None or type(doc) is str)
            or type(flags) is not int
        ):
            raise Malformed("no function")
        if self.examines:
            return make_called(self, token, names.find_claimed_class(claim))
        return self._stub(token, name, doc, flags)

    def _stub(self, token: int, name: str, doc: str | None, flags: int) -> Any:
        """Return a real function that calls one over there."""

        def call(*arguments: Any, **options: Any) -> Any:
            return self.request("c", stub, *arguments, **options)

        async def call_and_wait(*arguments: Any, **options: Any) -> Any:
            return await self.request("c", stub, *arguments, **options)

        stub: Any = call_and_wait if flags & 0x80 else call
        stub.__name__ = stub.__qualname__ = _short(name)
        stub.__doc__ = doc
        stub.__module__ = "solution"
        self._stubs[id(stub)] = token
        return stub

    # copies of mutable subclasses of plain types

    def _stale(self, transfer: Transfer) -> list[Any]:
        stale: list[Any] = []
        for position, (token, value, before) in enumerate(self._shared):
            now = contents(value)
            if len(now) != len(before) or any(a is not b for a, b in zip(now, before, strict=True)):
                self._shared[position] = (token, value, now)
                stale.append([token, transfer.items(now, 1)])
        return stale

    def refill_mine(self, value: Any, items: list[Any]) -> None:
        """Give an object of this side what the other side's copy of it holds now."""
        for position, (token, shared, _) in enumerate(self._shared):
            if shared is value:
                refill(value, items)
                self._shared[position] = (token, value, contents(value))

    def _refresh(self, changes: Any, transfer: Transfer) -> None:
        if type(changes) is not list:
            raise Malformed("no changes")
        for change in changes:
            if type(change) is not list or len(change) != 2 or type(change[0]) is not int:
                raise Malformed("no change")
            value = self._theirs.get(change[0])
            if not isinstance(value, MUTABLE_BASES):
                raise Malformed("no copy of ours")
            items = transfer.all(change[1])
            refill(value, items)
            self._note(change[0], items)

    def _note(self, token: int, items: list[Any]) -> None:
        """Remember of an object over there of which this side has a copy whether the copy holds a text of that kind."""
        if not self.examines:
            return
        # what containers hold at any depth, each container once
        parts, met = list(items), set()
        for part in parts:  # which grows meanwhile
            kind = type(part)
            if id(part) in met or kind is bytearray:
                continue
            met.add(id(part))
            if issubclass(kind, MUTABLE_BASES):
                parts += contents(part)
            elif issubclass(kind, tuple | frozenset):
                parts += _plain(tuple if issubclass(kind, tuple) else frozenset, part)
        parts.append(self._theirs[token])  # of bytes the items are numbers
        if any(spells(part) or get_token(part) in self._spelled for part in parts):
            self._spelled.add(token)


def spells(value: Any) -> bool:
    """Whether a text may name a special attribute or a frame, be it as bytes."""
    kind = type(value)
    if issubclass(kind, bytes | bytearray):
        # joined, because a subclass may answer for `decode`; without the zeros that UTF-16 and UTF-32 put in between
        value = b"".join([value]).decode("latin-1").replace("\0", "")
    elif not issubclass(kind, str):
        return False
    text = "".join(str.__iter__(value))
    return _count_edges(text) > 0 or any(special in text for special in _SPELLED)


def _plain(base: Any, value: Any) -> list[Any]:
    """Return what a value holds by its base type's own methods, as one item or, for a tuple, its items."""
    if base in (tuple, frozenset):
        return list(base.__iter__(value))
    if base is str:
        return ["".join(str.__iter__(value))]
    if base is bytes:
        return [b"".join([value])]
    # `+` of the base type returns the plain number; `int()` or `float()` would ask the subclass
    return [base.__pos__(value)]


def _instance(cls: Any, token: int, arguments: list[Any]) -> Any:
    base = type.__getattribute__(cls, "_markbook_base")
    if base is None:
        instance = object.__new__(cls)
    elif issubclass(base, BaseException):
        instance = base.__new__(cls, *arguments)
        _ARGS.__set__(instance, tuple(arguments))
    elif base in (tuple, frozenset):
        instance = base.__new__(cls, arguments)
    elif issubclass(base, MUTABLE_BASES):
        instance = base.__new__(cls)
        refill(instance, arguments)
    else:
        if len(arguments) != 1 or type(arguments[0]) is not base:
            raise Malformed("no value of that type")
        instance = base.__new__(cls, arguments[0])
    object.__getattribute__(instance, "__dict__")[TOKEN] = token
    return instance


def _is_texts(value: Any) -> bool:
    return type(value) is list and all(type(item) is str for item in value)


def _short(name: Any) -> str:
    text = name if type(name) is str else "object"
    # the name of a class can hold neither a zero nor half of a surrogate pair
    return text[:MAX_NAME].replace("\0", "").encode("utf-8", "replace").decode("utf-8")
