"""Plain values: which types are plain, what containers of them hold, and the description of a class that is not.

A `Shape` describes a class of the other side, of which a stand-in class is made here. The functions take contents out and
put them back by the base type's own methods, so that no code of the class runs.
"""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict, defaultdict, deque

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class Shape:
    """What is known of a class over there."""

    def __init__(
        self,
        name: str = "function",
        bases: tuple[type, ...] = (),
        base: type | None = None,
        methods: Sequence[str] = ("__call__",),
        own: Sequence[str] = (),
        claim: type | None = None,
        special: Sequence[str] = (),
        home: str = "",
    ) -> None:
        """Take it down.

        Args:
            name: its name.
            bases: stand-ins of its bases.
            base: the plain type or exception class that it extends.
            methods: its special methods; one that is None there begins with `!`.
            own: what a subclass of a plain type defines itself.
            claim: the class of Python's own that an instance says it is of.
            special: the special methods of its own class.
            home: the module and the name of a class that is not the solution's own.
        """
        self.name, self.bases, self.base, self.methods = name, bases, base, methods
        self.own, self.claim, self.special = own, claim, special
        self.kind = (home or "solution") + (f"<{base.__name__}" if base is not None else "")


# Values of classes that are imported only where they are met: decimals, fractions, arrays, dates and times.

_PARTS = frozenset((type(None), bool, str, float, int))


class Malformed(Exception):
    """What arrived is not a value."""


class Uncrossable(Malformed):
    """An honest value that cannot be made here: it is to be seen where it is."""


def read_text(form: list[Any], at: int = 1) -> str:
    """Return the text at a place of a wire form.

    Raises:
        Malformed: there is none.
    """
    if len(form) <= at or type(form[at]) is not str:
        raise Malformed("no text")
    text: str = form[at]
    return text


def get_late(form: list[Any]) -> Any:
    """Return a value of a class that is imported only where it is met."""
    kind, parts = read_text(form), form[2:]
    if any(type(part) not in _PARTS for part in parts):
        raise Malformed("no parts")
    if kind == "Decimal":
        import decimal

        return decimal.Decimal(read_text(form, 2))
    if kind == "Fraction":
        import fractions

        # in hexadecimal: Python reads and writes no more than 4,300 decimal digits of a number
        return fractions.Fraction(int(read_text(form, 2), 16), int(read_text(form, 3), 16))
    import datetime as dt

    if kind not in ("date", "datetime", "time", "timedelta"):
        raise Malformed("no such class")
    zone = None
    if kind in ("datetime", "time"):
        *parts, fold, aware = parts
        zone = dt.UTC if aware else None
        return getattr(dt, kind)(*parts, tzinfo=zone, fold=fold)
    return getattr(dt, kind)(*parts)


LATE = {"decimal": ("Decimal",), "fractions": ("Fraction",), "datetime": ("date", "datetime", "time", "timedelta")}
"""The classes by module."""


def put_late(value: Any, kind: type) -> Any:
    """Return the wire form of a value of such a class; None for what only has the name, or a zone that is not UTC."""
    name = kind.__name__
    if getattr(sys.modules.get(kind.__module__), name, None) is not kind:
        return None
    if name == "Decimal":
        return ["v", name, str(value)]
    if name == "Fraction":
        return ["v", name, hex(value.numerator), hex(value.denominator)]
    if name == "timedelta":
        return ["v", name, value.days, value.seconds, value.microseconds]
    if name == "date":
        return ["v", name, value.year, value.month, value.day]
    zone = value.tzinfo
    if zone is not None and zone is not sys.modules["datetime"].timezone.utc:
        return None
    clock = (value.hour, value.minute, value.second, value.microsecond, value.fold, zone is not None)
    return ["v", name, *((value.year, value.month, value.day) if name == "datetime" else ()), *clock]


# Which values are plain, and what containers hold: taken out and put back without running their classes' code.

WORD = 1 << 63
SCALARS = frozenset((type(None), bool, str, float))
ATOMS = frozenset((*SCALARS, int))
MUTABLE = frozenset((list, dict, set, bytearray, deque, Counter, OrderedDict, defaultdict))


def is_word(value: int) -> bool:
    """Whether an int crosses as it is."""
    return -WORD <= value < WORD


def contents(value: Any) -> list[Any]:
    """Return what a mutable container holds, keys and values in turn for mappings, without running its class's code."""
    if type(value) is list:
        return value[:]
    if isinstance(value, dict):
        base: Any = OrderedDict if isinstance(value, OrderedDict) else dict  # it keeps an order of its own
        return [part for pair in base.items(value) for part in pair]
    if isinstance(value, bytearray):
        return list(bytes(value))
    base = next(kind for kind in (list, set, deque) if isinstance(value, kind))
    return list(base.__iter__(value))


def refill(value: Any, items: list[Any]) -> None:
    """Replace what a mutable container holds."""
    if isinstance(value, dict):
        base: Any = OrderedDict if isinstance(value, OrderedDict) else dict
        base.clear(value)
        for key, item in pairs(items):
            base.__setitem__(value, key, item)
    elif isinstance(value, list):
        list.__setitem__(value, slice(None), items)
    elif isinstance(value, set):
        set.clear(value)
        set.update(value, items)
    elif isinstance(value, bytearray):
        try:
            data = bytes(items)
        except (TypeError, ValueError):
            raise Malformed("no bytes") from None
        bytearray.__setitem__(value, slice(None), data)
    else:
        deque.clear(value)
        deque.extend(value, items)


def pairs(items: list[Any]) -> list[tuple[Any, Any]]:
    """Return keys and values that came in turn as pairs."""
    if len(items) % 2:
        raise Malformed("a key without a value")
    return list(zip(items[::2], items[1::2], strict=True))


def ordered_set(items: list[Any]) -> set[Any]:
    """Return a set that iterates in the order of the items, as far as one can be made.

    The order of a set depends on how it grew; an answer such as `list(set)` must not become right or wrong by that.
    """
    order = list(map(id, items))
    # the ways in which a set grows: item by item, as a copy of another one, and from a dict, whose size is known before
    for source in (items, frozenset(items), dict.fromkeys(items)):
        ordered = set(source)
        if list(map(id, ordered)) == order:
            return ordered
    ordered = set()
    for item in items:
        ordered.add(item)
    return ordered


# Names of attributes and methods, by what is done about them between the two processes.

_ARITHMETIC = [
    "add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "matmul", "and", "or", "xor", "lshift",
    "rshift",
]  # fmt: skip
OPERATORS = {
    **{f"__{prefix}{name}__": name for name in _ARITHMETIC for prefix in ("", "r", "i")},
    **{f"__{name}__": "order" for name in ("lt", "le", "gt", "ge")},
    "__eq__": "eq",
    "__ne__": "eq",
    "__contains__": "in",
    "__instancecheck__": "isinstance",
    "__subclasscheck__": "isinstance",
}
"""Special methods that are given the other operand, by the name under which a test's policy allows them."""
DOING = [
    "__len__", "__bool__", "__str__", "__repr__", "__format__", "__bytes__", "__abs__", "__neg__", "__pos__",
    "__invert__", "__round__", "__trunc__", "__floor__", "__ceil__", "__int__", "__float__", "__complex__",
    "__index__", "__reversed__", "__iter__", "__next__", "__call__", "__getitem__", "__setitem__",
    "__delitem__", "__missing__", "__enter__", "__exit__", "__aenter__", "__aexit__", "__aiter__", "__anext__",
    "__hash__", "__length_hint__", "__fspath__", "__dir__",
]  # fmt: skip
"""Special methods in which nothing is judged."""
BINDING = ("__get__", "__set__", "__delete__", "__set_name__")
"""Special methods that are handed the class in which an object stands, or an object of it."""
SPECIAL = (*DOING, *BINDING, *OPERATORS, "__await__")
BASE_DECIDES = frozenset(("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__"))
"""What a subclass of a plain type is never asked."""
MUTATORS = frozenset(
    [
        "append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "update", "popitem",
        "setdefault", "add", "discard", "difference_update", "intersection_update",
        "symmetric_difference_update", "appendleft", "extendleft", "popleft", "rotate", "subtract",
        "move_to_end",
    ]
)  # fmt: skip
MUTATING = ("__setitem__", "__delitem__", "__iadd__", "__imul__", "__ior__", "__iand__", "__isub__", "__ixor__")
EXCEPTION_OWN = frozenset(
    [
        "args", "with_traceback", "add_note", "__traceback__", "__cause__", "__context__",
        "__suppress_context__", "__notes__", "__class__", "__setstate__",
    ]
)  # fmt: skip
CLASS_OWN = frozenset(
    [
        "__mro__", "__dict__", "__abstractmethods__", "__name__", "__qualname__", "__class__",
        "__subclasshook__", "__flags__", "__basicsize__", "__init_subclass__",
    ]
)  # fmt: skip
_SPOKEN_OF = (
    "abstractmethods", "all", "annotations", "args", "array", "base", "bases", "cached", "cause",
    "class_getitem", "closure", "code", "context", "copy", "dataclass_fields", "dataclass_params", "deepcopy",
    "defaults", "delattr", "doc", "file", "fields", "func", "getattr", "getattribute", "getnewargs",
    "getnewargs_ex", "getstate", "init", "isabstractmethod", "kwdefaults", "loader", "match_args", "members",
    "module", "new", "notes", "objclass", "optional_keys", "orig_bases", "orig_class", "origin", "package",
    "parameters", "path", "post_init", "reduce", "reduce_ex", "required_keys", "self", "setattr", "setstate",
    "signature", "sizeof", "slots", "spec", "static_attributes", "subclasses", "suppress_context",
    "text_signature", "thisclass", "total", "traceback", "type_params", "version", "wrapped",
)  # fmt: skip
ASKED_FOR = frozenset((*SPECIAL, *CLASS_OWN, *(f"__{name}__" for name in _SPOKEN_OF)))
"""Names between double underscores that an object over there is asked for. By others packages take memory from an object,
or have it decide for them (`__array_interface__`, `__array_function__`, `__dlpack__`): here that memory would be ours."""
WITHOUT_OPERAND = frozenset(
    ("__len__", "__bool__", "__str__", "__repr__", "__iter__", "__int__", "__float__", "__index__", "__reversed__")
)
COROUTINE = ("send", "throw", "close")
STEPS = frozenset(("__next__", "__anext__", "send", "throw", "asend", "athrow"))
"""Methods that end with a StopIteration where there is no more."""
