"""Stand-ins: objects that look like one in the other process and hand every use of it over.

For each class over there one is made here, with the special methods that it has there and no other, so that what must
raise `TypeError` does. A class that extends a plain type (a namedtuple, an IntEnum) has a stand-in that extends the
same type and holds the value itself, and the base type decides every name that it has: what the class says instead is asked
for only where the right answer's run needed it.
"""

from __future__ import annotations

import types
from collections import deque

from .plain_values import (
    ASKED_FOR,
    BASE_DECIDES,
    BINDING,
    CLASS_OWN,
    COROUTINE,
    DOING,
    EXCEPTION_OWN,
    MUTATING,
    MUTATORS,
    OPERATORS,
    STEPS,
    WITHOUT_OPERAND,
    Shape,
    contents,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PLAIN_BASES = (int, str, float, complex, bytes, tuple, frozenset, list, dict, set, bytearray, deque)
"""Types whose subclasses cross as their contents and a handle."""
MUTABLE_BASES = (list, dict, set, bytearray, deque)
TOKEN, PEER, BASE, CLAIM = "_markbook_token", "_markbook_peer", "_markbook_base", "_markbook_claim"
OWN, KIND, METHOD = "_markbook_own", "_markbook_kind", "_markbook_method"


def get_peer(value: Any) -> Any:
    """Return the peer whose stand-in this is; raises `AttributeError` for what is none."""
    cls = type(value)
    if issubclass(cls, Meta):  # not `isinstance`, which would ask the stand-in what class it says it is of
        # past `Meta.__getattribute__`, which would ask the other side
        return type.__getattribute__(value, PEER)
    return type.__getattribute__(cls, PEER) or object.__getattribute__(value, "__dict__")[PEER]


def get_token(value: Any) -> int | None:
    """Return the number under which the other side knows what this stands for; None for what is not a stand-in."""
    cls = type(value)
    if issubclass(cls, Meta):
        token: int | None = type.__getattribute__(value, "__dict__").get(TOKEN)
        return token
    if issubclass(type(cls), Meta):
        return object.__getattribute__(value, "__dict__").get(TOKEN)  # type: ignore[no-any-return]  # an int of ours
    return None


def is_module(value: Any) -> bool:
    """Whether this stands for a module over there."""
    cls = type(value)
    return issubclass(type(cls), Meta) and type.__getattribute__(cls, CLAIM) is types.ModuleType


def get_kind(value: Any) -> str:
    """Return of what type a stand-in says that what it stands for is: `solution`, or `module:class`."""
    cls = type(value)
    kind: str = type.__getattribute__(value if issubclass(cls, Meta) else cls, KIND)
    return kind


class Meta(type):
    """The class of classes that stand for one in the other process."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, object], **options: Any) -> Any:
        """Have the other side make a class of which a base is over there: a `class` statement in a test."""
        if "__classcell__" in body:
            raise TypeError("super() in a class whose base is in another process")
        base = next(base for base in bases if isinstance(base, Meta))
        return get_peer(base).request("class", name, tuple(bases), _without_cell(dict(body)), **options)

    def __init__(cls, *_arguments: Any, **_options: Any) -> None:
        """Do nothing: the other side has made the class."""

    def __call__(cls, *arguments: Any, **options: Any) -> Any:
        """Make an instance, over there."""
        if len(arguments) == 3 and type(arguments[2]) is dict:  # perhaps a class, where this is a metaclass
            arguments = (*arguments[:2], _without_cell(arguments[2]))
        return get_peer(cls).request("c", cls, *arguments, **options)

    def __getattribute__(cls, name: str) -> Any:
        if name in CLASS_OWN or name in (TOKEN, PEER, BASE, CLAIM, OWN, KIND):
            return type.__getattribute__(cls, name)
        return _got(get_peer(cls), cls, name, type.__getattribute__(cls, KIND))

    def __setattr__(cls, name: str, value: Any) -> None:
        get_peer(cls).request("s", cls, name, value)

    def __delattr__(cls, name: str) -> None:
        get_peer(cls).request("x", cls, name)

    def __instancecheck__(cls, value: Any) -> bool:
        return type.__instancecheck__(cls, value)

    def __subclasscheck__(cls, kind: type) -> bool:
        return type.__subclasscheck__(cls, kind)

    def __hash__(cls) -> int:
        return type.__hash__(cls)

    def __eq__(cls, other: object) -> bool:
        return cls is other

    def __repr__(cls) -> str:
        return f"<class {type.__getattribute__(cls, '__name__')!r}>"


def _without_cell(body: dict[str, object]) -> dict[str, object]:
    """Return a class body without the cell that leads to itself, for annotations, which it has from Python 3.14 on."""
    if type(body.get("__classdictcell__")) is not types.CellType:
        return body
    return {key: value for key, value in body.items() if key != "__classdictcell__"}


def _get(self: Any, name: str) -> Any:
    cls = type(self)
    if name == "__class__":
        return type.__getattribute__(cls, CLAIM) or cls
    if name in ("__deepcopy__", "__copy__"):
        return lambda *_memo: get_peer(self).request("copy", self, name == "__deepcopy__")
    base = type.__getattribute__(cls, BASE)
    if base is None:
        if name in COROUTINE and type.__getattribute__(cls, CLAIM) is types.CoroutineType:
            attributes = object.__getattribute__(self, "__dict__")
            if "_markbook_driver" not in attributes:
                attributes["_markbook_driver"] = get_peer(self).wait_for(self)
            return getattr(attributes["_markbook_driver"], name)
    elif issubclass(base, BaseException):
        if name in EXCEPTION_OWN:
            return object.__getattribute__(self, name)
    elif name not in _OF_OBJECTS and any(name in vars(kind) for kind in base.__mro__):
        peer = get_peer(self)
        if name in type.__getattribute__(cls, OWN) and peer.may_own(name, self, operands=name not in WITHOUT_OPERAND):
            return peer.request("g", self, name)
        if name in MUTATORS and issubclass(base, MUTABLE_BASES):
            return _mutator(name).__get__(self) if peer.examines else peer.request("g", self, name)
        return object.__getattribute__(self, name)
    return _got(get_peer(self), self, name, type.__getattribute__(cls, KIND))


def _got(peer: Any, value: Any, name: str, kind: str) -> Any:
    """Return an attribute of what is over there.

    Of a function it is noted that it was got as a method, by what name and of what type. Whatever else can be called
    may be one too, and one that does not say when it is given something to judge: it counts as if it had been.
    """
    if name[:2] == "__" == name[-2:] and name not in ASKED_FOR:
        peer.keep_out()
        raise AttributeError(name)
    attribute = peer.request("g", value, name)
    if type(attribute) in _CALLED_CLASSES:
        object.__getattribute__(attribute, "__dict__")[METHOD] = f"{name}:{kind}"
    elif callable(attribute):
        peer.use_method(f"{name}:{kind}")
    return attribute


_OF_OBJECTS = ("__dict__", "__doc__", "__module__")


def _mutator(name: str) -> Any:
    """Return the method that changes the copy here as the plain type does, and then what it is a copy of."""

    def change(self: Any, *arguments: Any, **options: Any) -> Any:
        peer = get_peer(self)
        if not peer.examines:
            return peer.request("d", self, name, *arguments, **options)
        cls = type(self)
        if name in type.__getattribute__(cls, OWN) and peer.may_own(name, self, operands=True):
            return peer.request("d", self, name, *arguments, **options)
        base = type.__getattribute__(cls, BASE)
        try:
            return getattr(base, name)(self, *arguments, **options)
        finally:
            peer.request("refill", self, contents(self))

    return change


def _set(self: Any, name: str, value: Any) -> None:
    if name in EXCEPTION_OWN:
        object.__setattr__(self, name, value)
    else:
        get_peer(self).request("s", self, name, value)


def _delete(self: Any, name: str) -> None:
    get_peer(self).request("x", self, name)


def _forward(name: str) -> Any:
    def forward(self: Any, *arguments: Any, **options: Any) -> Any:
        return get_peer(self).request("d", self, name, *arguments, **options)

    return forward


def is_verdict(error: object) -> bool:
    """Whether an error is how a test says that it failed: an assertion's, or that of `pytest.fail` and `pytest.raises`."""
    return isinstance(error, AssertionError) or type(error).__name__ == "Failed"


def _leave(self: Any, kind: Any = None, error: Any = None, *more: Any) -> Any:
    """Leave a `with` statement; who takes a verdict of the test's there has swallowed it."""
    peer = get_peer(self)
    try:
        verdict = peer.request("d", self, "__exit__", kind, error, *more)
    except BaseException as other:
        verdict = other is not error
        raise
    finally:
        if verdict and peer.examines and is_verdict(error):
            peer.escaped.append(error)
    return verdict


def _call(self: Any, *arguments: Any, **options: Any) -> Any:
    """Call what is not an object of a class of the candidate's: its own `__call__` is Python's."""
    attributes = object.__getattribute__(self, "__dict__")
    if METHOD in attributes:
        if arguments or options:
            attributes[PEER].use_method(attributes[METHOD])
        if attributes[METHOD].partition(":")[0] in STEPS:
            return attributes[PEER].request("step by", self, *arguments, **options)
    if options:
        return attributes[PEER].request("c", self, *arguments, **options)
    result = attributes[PEER].call(attributes[TOKEN], arguments)
    if len(arguments) in (3, 4) and result and attributes[PEER].examines and is_verdict(arguments[-2]):
        attributes[PEER].escaped.append(arguments[-2])  # an `__exit__` that is called as a function, bound or not
    return result


def _operator(name: str, kind: str) -> Any:
    def operate(self: Any, other: Any, *more: Any) -> Any:
        peer = get_peer(self)
        if peer.may(kind, self, other):
            return peer.request("d", self, name, other, *more)
        # Answer an operator that the candidate must not answer: by the base type, by identity, or not at all
        if isinstance(self, Meta):
            return type.__getattribute__(Meta, name)(self, other) if kind == "isinstance" else NotImplemented
        base = type.__getattribute__(type(self), BASE)
        if base is not None and hasattr(base, name):
            return getattr(base, name)(self, other)
        # as objects of a class without operators compare; the second half turns it round for `__ne__`
        if kind == "eq":
            return (self is other) == (name == "__eq__")
        if kind == "in":
            return any(item is other or item == other for item in iter(self))
        return NotImplemented

    return operate


def _contains(self: Any, value: Any) -> bool:
    """Look for something in what can only be gone through: whoever yields everything that it is looked for decides it."""
    get_peer(self).may("in", self, value)
    return any(item is value or item == value for item in iter(self))


def _binding(name: str) -> Any:
    """Return what Python calls of an object that stands in a class, which hands over what the test has not."""

    def bind(self: Any, *arguments: Any) -> Any:
        peer = get_peer(self)
        if peer.may_bind(name, self):
            return peer.request("d", self, name, *arguments)
        if name in ("__set__", "__delete__"):
            raise AttributeError(name)
        return self if name == "__get__" else None

    return bind


def _await(self: Any) -> Any:
    return get_peer(self).wait_for(self)


def _deciding(name: str, base: Any) -> Any:
    """Return a special method that the plain type has and the class over there too: which one answers is the peer's."""
    native = getattr(base, name)

    def decide(self: Any, *arguments: Any, **options: Any) -> Any:
        peer = get_peer(self)
        if peer.may_own(name, self, operands=bool(arguments)):
            return peer.request("d", self, name, *arguments, **options)
        return native(self, *arguments, **options)

    return decide


_METHODS: dict[str, Any] = {name: _forward(name) for name in DOING}
_METHODS.update({name: _operator(name, kind) for name, kind in OPERATORS.items()})
_METHODS.update({name: _binding(name) for name in BINDING})
_METHODS["__await__"] = _await
_METHODS["__exit__"] = _leave


def _bind(self: Any, instance: Any, _owner: Any = None) -> Any:
    return self if instance is None else types.MethodType(self, instance)


_CALLED: dict[type | None, Any] = {}
_CALLED_CLASSES: set[type] = set()


def _is_gone_through(body: dict[str, Any]) -> bool:
    """Whether Python looks for something in such an object by going through it, from item to item or from index to index."""
    return "__contains__" not in body and ("__iter__" in body or "__getitem__" in body)


def make_class(peer: Any, token: int | None, shape: Shape) -> Any:
    """Return a new class that stands for one over there; with no peer, that of things that are only called."""
    base = shape.base
    body: dict[str, Any] = {
        TOKEN: token, PEER: peer, BASE: base, CLAIM: shape.claim, OWN: frozenset(shape.own), KIND: shape.kind,
        "__getattribute__": _get, "__setattr__": _set, "__delattr__": _delete, "__module__": "solution",
    }  # fmt: skip
    plain = base is not None and not issubclass(base, BaseException)
    if base is None:
        body.update({name: _METHODS[name] for name in ("__str__", "__repr__")})
    for method in shape.methods:
        name = method.lstrip("!")
        if plain and name in BASE_DECIDES:
            continue
        body[name] = None if method[0] == "!" else _METHODS[name]
        if plain and method[0] != "!" and name not in OPERATORS and hasattr(base, name):
            body[name] = _deciding(name, base)
    if not plain and _is_gone_through(body):
        body["__contains__"] = _contains
    if base is not None and issubclass(base, MUTABLE_BASES):
        body.update({name: _mutator(name) for name in MUTATING if hasattr(base, name)})
    if "__eq__" in body and "__hash__" not in body:
        body["__hash__"] = None
    if peer is None:
        body["__call__"] = _call
    if "__call__" in body and shape.claim is types.FunctionType:
        body["__get__"] = _bind
    meta: type = Meta
    special = {name: _METHODS[name] for name in sorted(set(shape.special)) if name in _METHODS}
    if _is_gone_through(special):
        special["__contains__"] = _contains
    if special:  # one for all classes of a peer that have the same: bases and what extends them must agree
        meta = peer.metas.get(tuple(special)) or type("Meta", (Meta,), special)
        peer.metas[tuple(special)] = meta
    kinds = shape.bases or ((base,) if base is not None else ())
    if base is not None and not any(issubclass(kind, base) for kind in kinds):
        kinds = (*kinds, base)
    # the bases of a class over there need not fit together here: then it has only its plain one, or none
    for attempt in (kinds, (base,) if base is not None else ()):
        try:
            return type.__new__(meta, shape.name, attempt, dict(body))
        except TypeError:
            continue
    return type.__new__(Meta, shape.name, (), body)


def make_called(peer: Any, token: int, claim: type | None) -> Any:
    """Return what stands for a function or a method, which says it is of the class `claim`.

    Their classes are made once for all peers: every attempt has such a thing, and making a class is slow.
    """
    cls = _CALLED.get(claim)
    if cls is None:
        cls = _CALLED[claim] = make_class(None, None, Shape(claim=claim))
        _CALLED_CLASSES.add(cls)
    stand_in = object.__new__(cls)
    object.__getattribute__(stand_in, "__dict__").update({TOKEN: token, PEER: peer})
    return stand_in
