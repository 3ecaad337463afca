"""What may cross the wall by its name alone: classes and pure functions of Python and its standard library.

The lists are closed. Nothing here evaluates text, opens a file, reads attributes by a computed name or builds code,
so a name that the candidate sends can do nothing in the examiner that a value could not. What a name stands for is
the examiner's own object: types and built-in functions come in as values, modules and functions only as what a test
calls by that name, and whatever of it can be written to is put back as it was after the attempt.
"""

from __future__ import annotations

import builtins
import sys
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OWN_MODULES = frozenset(
    [
        "math", "cmath", "collections", "itertools", "functools", "operator", "string", "re", "json", "copy",
        "heapq", "bisect", "statistics", "fractions", "decimal", "datetime", "typing", "types", "enum", "abc",
        "numbers", "textwrap", "contextlib", "collections.abc", "array", "asyncio", "random",
    ]
)  # fmt: skip
"""Modules of which each side has its own."""

_TYPES = [
    "int", "float", "complex", "bool", "str", "bytes", "bytearray", "list", "tuple", "dict", "set", "frozenset",
    "range", "slice", "object", "type", "map", "filter", "zip", "enumerate", "reversed",
]  # fmt: skip
_FUNCTIONS = [
    "len", "abs", "max", "min", "sum", "sorted", "any", "all", "round", "pow", "divmod", "ord", "chr", "repr",
    "hash", "iter", "next", "isinstance", "issubclass", "callable", "format", "ascii", "bin", "hex", "oct", "print",
]  # fmt: skip
_ERRORS = [
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)
]
_METHODS_OF = ("int", "float", "complex", "str", "bytes", "list", "tuple", "dict", "set", "frozenset")
FORMATTING = ("format", "format_map", "vformat")
"""They read attributes by a name that stands in the text."""
_MEMBERS: dict[str, tuple[str, ...] | None] = {
    "math": None,
    "cmath": None,
    "itertools": None,
    "heapq": None,
    "bisect": None,
    "statistics": None,
    "collections": ("deque", "Counter", "OrderedDict", "defaultdict", "ChainMap"),
    "functools": ("reduce", "partial", "cmp_to_key"),
    "fractions": ("Fraction",),
    "decimal": ("Decimal", "DecimalException", "InvalidOperation", "DivisionByZero", "Overflow", "Inexact", "Rounded"),
    "datetime": ("date", "datetime", "time", "timedelta", "timezone"),
    "json": ("JSONDecodeError",),
    "json.decoder": ("JSONDecodeError",),
    "re": ("error",),
    "array": ("array",),
    "asyncio.exceptions": ("CancelledError", "TimeoutError", "InvalidStateError", "IncompleteReadError"),
    "asyncio.queues": ("QueueEmpty", "QueueFull"),
    "queue": ("Empty", "Full"),
    "dataclasses": ("FrozenInstanceError",),
    "collections.abc": None,
    "contextlib": ("suppress", "nullcontext"),
    "copy": ("copy", "deepcopy"),
    "concurrent.futures._base": ("CancelledError", "TimeoutError"),
}
_OPERATOR = [
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "neg", "pos", "invert", "and_", "or_", "xor", "lt",
    "le", "eq", "ne", "gt", "ge", "not_", "truth", "is_", "is_not", "concat", "contains", "countOf", "indexOf",
    "lshift", "rshift", "matmul", "abs", "index",
]  # fmt: skip
_MEMBERS["operator"] = tuple(_OPERATOR)
HOMES = frozenset(_MEMBERS)
"""The modules some of whose members may cross by name."""

_BUILTIN: dict[str, Any] = {name: getattr(builtins, name) for name in (*_TYPES, *_FUNCTIONS, *_ERRORS)}
for _owner in _METHODS_OF:
    for _name in vars(getattr(builtins, _owner)):
        if not _name.startswith("_") and _name not in FORMATTING:
            _BUILTIN[f"{_owner}.{_name}"] = getattr(getattr(builtins, _owner), _name)
_BUILTIN["NoneType"] = type(None)
_BUILTIN["NotImplemented"] = NotImplemented
_BUILTIN["Ellipsis"] = ...
# reversed, so that an object with several names (`OSError`, `IOError`) goes by the first of them
_NAMES: dict[int, str] = {id(value): name for name, value in reversed(_BUILTIN.items())}

_CLAIMS = {
    "function": type(lambda: None),
    "generator": type(_ for _ in ()),
    "method": types.MethodType,
    "builtin": type(len),
    "module": type(sys),
}


async def _coroutine() -> None: ...


async def _asynchronous() -> Any:
    yield None


_made = _coroutine()
_CLAIMS["coroutine"] = type(_made)
_made.close()
_CLAIMS["async_generator"] = type(_asynchronous())
_CLAIM_NAMES = {value: name for name, value in _CLAIMS.items()}
del _made


def name_for(value: Any) -> str | None:
    """Return the name by which this object may cross, None if it may not."""
    known_name = _NAMES.get(id(value))
    if known_name is not None:
        return known_name
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if type(module) is not str or type(name) is not str:
        return None
    # functions written in C say that they are from `_heapq` where programs know them from `heapq`
    for at in (module.lstrip("_"), module):
        # a solution can give a function of its own any name and module, but it cannot put it there
        if _is_listed(at, name) and getattr(sys.modules.get(at), name, None) is value:
            return f"{at}:{name}"
    return None


def _is_listed(module: str, name: str) -> bool:
    if module not in _MEMBERS:
        return False
    members = _MEMBERS[module]
    return name in members if members is not None else name.isidentifier() and not name.startswith("_")


def find_named(name: str) -> Any:
    """Return the object with such a name.

    Raises:
        LookupError: the list has no such name.
    """
    if name in _BUILTIN:
        return _BUILTIN[name]
    module, _, member = name.partition(":")
    if not member:
        return module_named(module.removeprefix("module "))
    if not _is_listed(module, member):
        raise LookupError(name)
    __import__(module)
    home = sys.modules[module]
    # where all of a module is listed, what it has imported itself is not meant
    target = getattr(home, member, None) if member in getattr(home, "__all__", (member,)) else None
    if target is None or isinstance(target, type(sys)):
        raise LookupError(name)
    return target


_UNCHANGING = (
    type,
    types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, type(NotImplemented), type(...),
)  # fmt: skip
_IMMUTABLE_TYPE = 1 << 8
"""The flag of classes that Python itself lets nobody write to."""


def receive_named(name: str) -> Any:
    """Return what the candidate may hand over by name as a value: a type, or what nobody can write to.

    Raises:
        LookupError: the list has no such name.
    """
    target = find_named(name)
    if not isinstance(target, _UNCHANGING):
        raise LookupError(name)  # noqa: TRY004 - as for a name that is not in the list
    return lent(target)


def acts(value: Any) -> bool:
    """Whether to call what was meant by a name may change or use up what it is given, or run code of that, or never come to an end."""
    return callable(value) and not (isinstance(value, type) and issubclass(value, BaseException))


_lent: dict[int, tuple[Any, dict[str, Any], tuple[Any, ...]]] = {}
"""What tests were given by name since `restore`, and what it held."""
_PARTS_OF_FUNCTIONS = ("__code__", "__defaults__", "__kwdefaults__")


def lent(value: Any) -> Any:
    """Return an object of ours that goes to a test by name, and remember what it holds if it can be written to."""
    kind = type(value)
    is_class = isinstance(value, type)
    if id(value) in _lent or not (is_class or kind in (types.FunctionType, types.ModuleType)):
        return value
    if is_class and value.__flags__ & _IMMUTABLE_TYPE:
        return value
    parts = tuple(getattr(value, name) for name in _PARTS_OF_FUNCTIONS) if kind is types.FunctionType else ()
    _lent[id(value)] = (value, dict(vars(value)), parts)
    return value


def restore() -> None:
    """Put what was lent back as it was: the next attempt is to find it so."""
    while _lent:
        value, before, parts = _lent.popitem()[1]
        now = vars(value)
        for name in [name for name in now if name not in before]:
            delattr(value, name)
        for name, saved in before.items():
            # `_lent` stands for "not there", since nothing that is lent holds it
            if now.get(name, _lent) is not saved:
                setattr(value, name, saved)
        for name, part in zip(_PARTS_OF_FUNCTIONS, parts, strict=False):
            if getattr(value, name) is not part:
                setattr(value, name, part)


def module_named(name: str) -> Any:
    """Return this side's own module of that name.

    Raises:
        LookupError: it is not in the list.
    """
    if name not in OWN_MODULES:
        raise LookupError(name)
    __import__(name)
    return sys.modules[name]


def module_name(value: Any) -> str | None:
    """Return the name of a pure module of the standard library, None for any other object."""
    if type(value) is not type(sys):
        return None
    name = value.__name__
    return name if type(name) is str and name in OWN_MODULES and sys.modules.get(name) is value else None


def claim_for(kind: type) -> str:
    """Return the name of the kind of Python object that a stand-in may claim to be; empty for none."""
    return _CLAIM_NAMES.get(kind, "")


def find_claimed_class(name: str) -> type | None:
    """Return the class that a stand-in claims to be."""
    return _CLAIMS.get(name)
