"""Values as JSON and back: exact types, structure kept, shared and cyclic containers numbered. No pickle, no code.

A scalar is itself; everything else is a list that begins with a tag. A `Transfer` is one conversation (a request, its
reply, and what the call changed in its arguments) and numbers containers in the order in which they are met, the same
on both sides.
"""

from __future__ import annotations

import sys
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, UserString, defaultdict, deque
from operator import is_
from types import MappingProxyType

from .plain_values import (
    ATOMS,
    LATE,
    MUTABLE,
    SCALARS,
    WORD,
    Malformed,
    Uncrossable,
    contents,
    get_late,
    ordered_set,
    pairs,
    put_late,
    read_text,
    refill,
)

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any, Protocol

    class Handles(Protocol):
        """What puts objects that have no value form on the wire, and takes them off it."""

        def export(self, value: Any, transfer: Transfer, depth: int) -> Any:
            """Return the wire form of an object that is not a plain value."""

        def resolve(self, form: list[Any], transfer: Transfer) -> Any:
            """Return the object for such a wire form."""

        def by_name(self, name: str) -> Any:
            """Return what the other side means by a name."""

        def refuse(self, what: str) -> Any:
            """Say that something stays on this side."""

        has_run: bool
        """Whether the test's code may have run by what came."""

        @property
        def examines(self) -> bool:
            """Whether this is the examiner's side."""


# NumPy's arrays and scalars as values: their bytes, with what they are made of. Imported only where one is met.

_KINDS = "biufcmMSU"
"""The kinds of data type whose bytes are the whole value."""


def is_array(value: Any) -> bool:
    """Whether this is an array of NumPy's own."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(value) is getattr(numpy, "ndarray", None)


def put_array(value: Any, kind: type) -> list[Any] | None:
    """Return the wire form of an array or a scalar; None for one that is more than its bytes."""
    numpy = sys.modules["numpy"]
    scalar = issubclass(kind, numpy.generic) and getattr(numpy, kind.__name__, None) is kind
    if not (scalar or kind is numpy.ndarray) or value.dtype.kind not in _KINDS or not value.dtype.itemsize:
        return None
    shape = None if scalar else list(value.shape)
    return ["A", value.dtype.str, shape, value.tobytes().hex()]


def get_array(form: list[Any]) -> Any:
    """Return the array or the scalar of a wire form.

    Raises:
        Malformed: it is none.
    """
    import numpy as np

    if len(form) != 4:
        raise Malformed("no array")
    dtype = np.dtype(read_text(form))
    shape, data = form[2], bytes.fromhex(read_text(form, 3))
    if dtype.kind not in _KINDS or not dtype.itemsize or dtype.names is not None or dtype.subdtype is not None:
        # the bytes of an array of objects would be addresses, for this process to follow
        raise Malformed("no data type of an array's")
    array_data = np.frombuffer(data, dtype)
    if shape is None:
        return array_data[0]
    if type(shape) is not list or not all(type(size) is int and size >= 0 for size in shape):
        raise Malformed("no shape")
    # a copy, because what lies in bytes cannot be written to
    return array_data.reshape(shape).copy()


def refill_array(value: Any, form: Any) -> None:
    """Give an array what the other side wrote into it."""
    array = get_array(form)
    if array.shape != value.shape or array.dtype != value.dtype:
        raise Uncrossable("another array")
    try:
        value[...] = array
    except ValueError:
        raise Uncrossable("an array that is not to be written to") from None


MAX_DEPTH = 80
"""Deeper containers are handed over by handle."""
_UNFINISHED = object()
_KEYED = (dict, Counter, OrderedDict)


class Transfer:
    """One conversation about values."""

    __slots__ = ("_open", "_snapshots", "handles", "index", "numbered")

    def __init__(self, handles: Handles) -> None:
        self.handles = handles
        self.numbered: list[Any] = []
        self.index: dict[int, int] = {}
        self._open: set[int] = set()
        self._snapshots: list[tuple[int, Any]] = []

    def put(self, value: Any, depth: int = 0) -> Any:
        """Return the wire form of a value."""
        kind = type(value)
        if kind in SCALARS:
            return value
        if kind is int:
            return value if -WORD <= value < WORD else ["I", hex(value)]
        put = _PUT.get(kind)
        if put is None:
            return self._other(value, kind, depth)
        if kind in _CONTAINERS:
            number = self.index.get(id(value))
            if number is not None:
                # what holds itself through a tuple goes by handle: a tuple is not there before its items are
                return ["r", number] if number not in self._open else self.handles.export(value, self, depth)
            if depth >= MAX_DEPTH:
                return self.handles.export(value, self, depth)
            self._number(value)
        return put(self, value, depth + 1)

    def _number(self, value: Any) -> int:
        number = len(self.numbered)
        self.numbered.append(value)
        # this also keeps it alive: until the conversation ends no other object can have its id
        self.index[id(value)] = number
        return number

    def _other(self, value: Any, kind: type, depth: int) -> Any:
        if type(kind) is type and kind.__module__ == "numpy":
            return self._array(value, kind, depth)
        if type(kind) is type and kind.__module__ in LATE and kind.__name__ in LATE[kind.__module__]:
            form = put_late(value, kind)
            if form is not None:
                return form
        return self.handles.export(value, self, depth)

    def _array(self, value: Any, kind: type, depth: int) -> Any:
        number = self.index.get(id(value))
        if number is not None:
            return ["r", number]
        form = put_array(value, kind)
        if form is None:
            return self.handles.export(value, self, depth)
        if form[2] is not None:
            self._number(value)
        return form

    def items(self, values: list[Any], depth: int) -> list[Any]:
        """Return the wire forms of many values."""
        kinds = set(map(type, values))
        if kinds <= SCALARS or (
            kinds <= ATOMS and all(-WORD <= value < WORD for value in values if type(value) is int)
        ):
            return values
        put = self.put
        return [put(value, depth) for value in values]

    def put_tuple(self, value: tuple[Any, ...], depth: int) -> Any:
        """Return the wire form of a tuple, which cannot be referred to before it is finished."""
        number = self.index[id(value)]
        self._open.add(number)
        form = ["T", self.items(list(value), depth)]
        self._open.discard(number)
        return form

    def get(self, form: Any) -> Any:
        """Return the value of a wire form.

        Raises:
            Malformed: it is none.
        """
        kind = type(form)
        if kind in ATOMS:
            return form
        if kind is not list or not form or type(form[0]) is not str:
            raise Malformed("no value")
        get = _GET.get(form[0])
        if get is None:
            return self.handles.resolve(form, self)
        return get(self, form)

    def all(self, forms: Any) -> list[Any]:
        """Return the values of many wire forms."""
        if type(forms) is not list:
            raise Malformed("no list")
        if set(map(type, forms)) <= ATOMS:
            return forms
        get = self.get
        return [get(form) for form in forms]

    def begin(self, value: Any) -> Any:
        """Number a container that is about to be filled."""
        self._number(value)
        return value

    def take_list(self, items: list[Any]) -> list[Any]:
        """Return a list that holds these scalars, received like one that `get` returns and noted like one by `snapshot`."""
        received, number = items[:], len(self.numbered)
        self.numbered.append(received)
        self.index[id(received)] = number
        self._snapshots.append((number, items))
        return received

    def snapshot(self) -> None:
        """Note what the mutable containers received so far hold."""
        for number, value in enumerate(self.numbered):
            if type(value) in MUTABLE:
                self._snapshots.append((number, contents(value)))
            elif type(value).__module__ == "numpy":
                self._snapshots.append((number, value.tobytes()))

    def changes(self) -> list[Any]:
        """Return the wire form of what has changed in the containers since the snapshot."""
        changes = []
        for number, before in self._snapshots:
            value = self.numbered[number]
            if type(before) is bytes:
                if value.tobytes() != before:
                    changes.append([number, put_array(value, type(value))])
                continue
            now = value if type(value) is list else contents(value)
            if len(now) != len(before) or not all(map(is_, now, before)):
                changes.append([number, self.items(now, 1)])
        return changes

    def apply(self, changes: Any) -> None:
        """Give the containers that were sent what the other side changed in them.

        Raises:
            Malformed: it changed something that it was not given.
        """
        if type(changes) is not list:
            raise Malformed("no changes")
        for change in changes:
            if type(change) is not list or len(change) != 2 or type(change[0]) is not int:
                raise Malformed("no change")
            number, forms = change
            if not 0 <= number < len(self.numbered):
                raise Malformed("no container of ours")
            if type(self.numbered[number]).__module__ == "numpy":
                refill_array(self.numbered[number], forms)
                continue
            if type(self.numbered[number]) not in MUTABLE:
                raise Malformed("no container of ours")
            refill(self.numbered[number], self.all(forms))


def _get_list(t: Transfer, form: list[Any]) -> Any:
    items: list[Any] = t.begin([])
    items.extend(t.all(form[1]))
    return items


def _get_finished(make: Any) -> Any:
    """Return what takes off the wire a container that cannot be referred to before all that it holds is there."""

    def get(t: Transfer, form: list[Any]) -> Any:
        number = len(t.numbered)
        # both sides number what they meet in the same order, so it takes its place before what it holds
        t.numbered.append(_UNFINISHED)
        items = t.numbered[number] = make(t.all(form[1]))
        t.index[id(items)] = number
        return items

    return get


def _get_mapping(make: Any) -> Any:
    def get(t: Transfer, form: list[Any]) -> Any:
        mapping = t.begin(make())
        for key, value in pairs(t.all(form[1])):
            (OrderedDict if make is OrderedDict else dict).__setitem__(mapping, key, value)
        return mapping

    return get


_FACTORIES = {kind.__name__: kind for kind in (bool, dict, float, int, list, set, str, tuple)}


def _get_default(t: Transfer, form: list[Any]) -> Any:
    mapping: defaultdict[Any, Any] = t.begin(defaultdict())
    if len(form) != 3:
        raise Malformed("no defaultdict")
    is_named = type(form[1]) is list and len(form[1]) == 2 and form[1][0] == "n" and type(form[1][1]) is str
    # as it is called without arguments, such a type can do nothing
    factory = _FACTORIES.get(form[1][1]) if is_named else None
    if factory is None and form[1] is not None:
        factory, t.handles.has_run = t.get(form[1]), True  # it may be one of the test's
    mapping.default_factory = factory if factory is None or callable(factory) else None
    for key, value in pairs(t.all(form[2])):
        dict.__setitem__(mapping, key, value)
    return mapping


def _get_deque(t: Transfer, form: list[Any]) -> Any:
    limit = form[2] if len(form) == 3 else None
    if limit is not None and (type(limit) is not int or limit < 0):
        raise Malformed("no deque")
    items: deque[Any] = t.begin(deque(maxlen=limit))
    items.extend(t.all(form[1]))
    return items


def _get_reference(t: Transfer, form: list[Any]) -> Any:
    if len(form) != 2 or type(form[1]) is not int or not 0 <= form[1] < len(t.numbered):
        raise Malformed("no such reference")
    value = t.numbered[form[1]]
    if value is _UNFINISHED:
        raise Uncrossable("a set that holds itself")
    return value


def _get_int(_t: Transfer, form: list[Any]) -> int:
    return int(read_text(form), 16)


def _get_complex(_t: Transfer, form: list[Any]) -> complex:
    if len(form) != 3 or type(form[1]) is not float or type(form[2]) is not float:
        raise Malformed("no complex number")
    return complex(form[1], form[2])


def _get_range(t: Transfer, form: list[Any]) -> range:
    parts = t.all(form[1])
    if len(parts) != 3 or any(type(part) is not int for part in parts):
        raise Malformed("no range")
    return range(*parts)


def _get_slice(t: Transfer, form: list[Any]) -> slice:
    parts = t.all(form[1])
    if len(parts) != 3:
        raise Malformed("no slice")
    return slice(*parts)


def _get_name(t: Transfer, form: list[Any]) -> Any:
    return t.handles.by_name(read_text(form))


def _put_dict(t: Transfer, value: dict[Any, Any], depth: int) -> Any:
    if t.handles.examines and ("__builtins__" in value or "__spec__" in value):
        # by the namespace of a module all that the test knows would be handed over
        return t.handles.refuse("a namespace")
    return ["D", t.items(contents(value), depth)]


def _get_array(t: Transfer, form: list[Any]) -> Any:
    array = get_array(form)
    return array if form[2] is None else t.begin(array)


def _put_view(which: int) -> Any:
    return lambda t, value, depth: ["W", which, t.items(list(value), depth)]


def _get_view(t: Transfer, form: list[Any]) -> Any:
    """Return a view of a dictionary that holds what the view of another one held."""
    if len(form) != 3 or form[1] not in (0, 1, 2):
        raise Malformed("no view")
    items = t.all(form[2])
    if form[1] == 0:
        return dict.fromkeys(items).keys()
    if form[1] == 1:
        # by number, since values need not be such that they could be keys
        return dict(enumerate(items)).values()
    if any(type(item) is not tuple for item in items):
        raise Malformed("no items")
    return dict(items).items()


def _put_wrapped(t: Transfer, value: Any, depth: int) -> Any:
    """Return the wire form of what wraps a mapping, list or text; one of the tests' own is not copied."""
    kind = type(value)
    if t.handles.examines and kind is not MappingProxyType:
        return t.handles.export(value, t, depth)
    content = dict(value) if kind is MappingProxyType else vars(value)["maps" if kind is ChainMap else "data"]
    if type(content) is not _WRAPPERS[kind.__name__][1]:
        return t.handles.export(value, t, depth)
    return ["U", kind.__name__, t.put(content, depth)]


def _get_wrapped(t: Transfer, form: list[Any]) -> Any:
    if len(form) != 3:
        raise Malformed("nothing wrapped")
    wrapper, content = _WRAPPERS.get(read_text(form)), t.get(form[2])
    if type(content) is list and not MUTABLE.issuperset(map(type, content)):
        t.handles.has_run = True  # what is asked of a ChainMap it asks of its parts, whoever made these
    if wrapper is None or type(content) is not wrapper[1]:
        raise Malformed("nothing wrapped")
    return wrapper[0](*content) if type(content) is list and wrapper[0] is ChainMap else wrapper[0](content)


def _put_memory(t: Transfer, value: memoryview, depth: int) -> Any:
    if t.handles.examines or value.ndim != 1 or not value.contiguous:
        return t.handles.export(value, t, depth)
    return ["M", value.tobytes().hex(), value.format]


def _get_memory(_t: Transfer, form: list[Any]) -> Any:
    return memoryview(bytes.fromhex(read_text(form))).cast(read_text(form, 2))  # type: ignore[call-overload]  # checked there


_WRAPPERS: dict[str, tuple[Any, type]] = {
    "ChainMap": (ChainMap, list),
    "UserDict": (UserDict, dict),
    "UserList": (UserList, list),
    "UserString": (UserString, str),
    "mappingproxy": (MappingProxyType, dict),
}
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))

_PUT: dict[type, Any] = {
    list: lambda t, v, d: ["L", t.items(v, d)],
    tuple: Transfer.put_tuple,
    dict: _put_dict,
    set: lambda t, v, d: ["S", t.items(list(v), d)],
    frozenset: lambda t, v, d: ["F", t.items(list(v), d)],
    bytes: lambda _t, v, _d: ["B", v.hex()],
    bytearray: lambda _t, v, _d: ["Y", v.hex()],
    complex: lambda _t, v, _d: ["C", v.real, v.imag],
    range: lambda t, v, d: ["R", t.items([v.start, v.stop, v.step], d)],
    slice: lambda t, v, d: ["Z", t.items([v.start, v.stop, v.step], d)],
    deque: lambda t, v, d: ["Q", t.items(list(v), d), v.maxlen],
    Counter: lambda t, v, d: ["N", t.items(contents(v), d)],
    OrderedDict: lambda t, v, d: ["O", t.items(contents(v), d)],
    # first what is read first: there it is described
    defaultdict: lambda t, v, d: ["E", t.put(v.default_factory, d), t.items(contents(v), d)],
    memoryview: _put_memory,
    **{kind: _put_wrapped for kind, _ in _WRAPPERS.values()},
    **{kind: _put_view(which) for which, kind in enumerate(_VIEWS)},
    type(NotImplemented): lambda _t, _v, _d: ["n", "NotImplemented"],
    type(...): lambda _t, _v, _d: ["n", "Ellipsis"],
}
_CONTAINERS = frozenset((list, tuple, dict, set, frozenset, bytearray, deque, Counter, OrderedDict, defaultdict))
_GET: dict[str, Any] = {
    "L": _get_list,
    "T": _get_finished(tuple),
    "D": _get_mapping(dict),
    "S": _get_finished(ordered_set),
    "F": _get_finished(lambda items: frozenset(ordered_set(items))),
    "B": lambda _t, form: bytes.fromhex(read_text(form)),
    "Y": lambda t, form: t.begin(bytearray.fromhex(read_text(form))),
    "C": _get_complex,
    "R": _get_range,
    "Z": _get_slice,
    "Q": _get_deque,
    "N": _get_mapping(Counter),
    "O": _get_mapping(OrderedDict),
    "E": _get_default,
    "I": _get_int,
    "r": _get_reference,
    "v": lambda _t, form: get_late(form),
    "n": _get_name,
    "A": _get_array,
    "W": _get_view,
    "U": _get_wrapped,
    "M": _get_memory,
}
