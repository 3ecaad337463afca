"""What a solution may ask of an object that a test lent it, by what the object is. Only the examiner imports this.

Theory of operation. A request of the solution's names an operation, an object of the test's and arguments. It is run in
the examiner, beside the expected values, so it is answered only if it is known to be harmless:

* the object is of an exact standard type (or the operation is inherited from one), and the operation stands in
  `_REVIEWED`: none of these reads an attribute by a text, formats by a template, opens, imports, calls by name, or hands
  out functions, frames, modules, globals or classes;
* or the test program itself defines what would run: a function of its own, a method or an attribute of a class of its
  own, a constructor of its own. What that returns is lent in turn, and asked under the same rule.

Arguments are part of the rule, and so is what the solution's own functions and objects answer while such a request runs. A
function or a class may not be handed to a function of the test's, which would call it, unless the solution could call it
too or it stands in `_ONLY_TAKES_VALUES`: with `map`, `zip` and `type` one builds classes here. A text that spells a special
attribute (`__globals__`, `gi_frame`) does not come in at all, be it as bytes, in a container or as an object that crossed
before: a harmless function of the test's may be one that formats.

Everything else needs the right answer's own run as a witness (`Policy.check_use`), or the test is decided beside.
"""

from __future__ import annotations

import collections
import collections.abc
import contextlib
import enum
import functools
import io
import operator
import re
import sys
import types

from . import names
from .plain_values import ATOMS, OPERATORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HOME = "solution"
"""What a test program is called: the name of the module in which its classes and functions are defined."""

_OBJECT = frozenset(
    ["__repr__", "__str__", "__hash__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__bool__"]
)
_ITERATED = frozenset(["__iter__", "__next__", "__reversed__", "__length_hint__"])
_SEQUENCE = frozenset(
    [
        "__len__", "__iter__", "__getitem__", "__contains__", "__reversed__", "index", "count", "__add__", "__mul__",
        "__rmul__",
    ]
)  # fmt: skip
_CHANGED = frozenset(["__setitem__", "__delitem__", "clear", "pop", "remove"])
_NUMBER = frozenset(
    {name for name, kind in OPERATORS.items() if kind not in ("order", "eq", "in", "isinstance")}
    | {
        "__abs__", "__neg__", "__pos__", "__invert__", "__round__", "__trunc__", "__floor__", "__ceil__", "__int__",
        "__float__", "__complex__",
    }
    | {"__index__", "__format__", "real", "imag", "numerator", "denominator", "conjugate", "bit_length", "is_integer"}
)  # fmt: skip
_SETS = frozenset(
    [
        "__len__", "__iter__", "__contains__", "__and__", "__or__", "__sub__", "__xor__", "__rand__", "__ror__",
        "__rsub__", "__rxor__", "union", "intersection", "difference", "symmetric_difference", "isdisjoint",
        "issubset", "issuperset",
    ]
)  # fmt: skip
_MAPPING = frozenset(
    [
        "__len__", "__iter__", "__getitem__", "__contains__", "__reversed__", "__or__", "__ror__", "get", "keys",
        "values", "items",
    ]
)  # fmt: skip
_WORDS = frozenset(
    [
        "capitalize", "casefold", "center", "count", "encode", "endswith", "expandtabs", "find", "index", "isalnum",
        "isalpha", "isascii", "isdecimal", "isdigit", "isidentifier", "islower", "isnumeric", "isprintable",
        "isspace", "istitle", "isupper", "join", "ljust", "lower", "lstrip", "partition", "removeprefix",
        "removesuffix", "replace", "rfind", "rindex", "rjust", "rpartition", "rsplit", "rstrip", "split",
        "splitlines", "startswith", "strip", "swapcase", "title", "upper", "zfill",
    ]
)  # fmt: skip
"""Neither `format` nor `format_map`, which read attributes, nor `%` and `translate`, which ask their arguments."""
_STREAM = frozenset(
    [
        "read", "readline", "readlines", "write", "writelines", "getvalue", "seek", "tell", "truncate", "close",
        "flush", "readable", "writable", "seekable", "isatty", "closed", "__iter__", "__next__", "__enter__",
        "__exit__",
    ]
)  # fmt: skip
_CLOCK = frozenset(
    [
        "year", "month", "day", "hour", "minute", "second", "microsecond", "fold", "days", "seconds", "microseconds",
        "isoformat", "weekday", "isoweekday", "isocalendar", "toordinal", "timetuple", "utctimetuple", "timestamp",
        "date", "time", "timetz", "utcoffset", "tzname", "dst", "total_seconds", "replace", "astimezone", "__add__",
        "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__", "__floordiv__", "__mod__",
        "__divmod__", "__neg__", "__pos__", "__abs__",
    ]
)  # fmt: skip

_REVIEWED: dict[type, frozenset[str]] = {
    object: _OBJECT,
    **dict.fromkeys((int, float, complex, bool), _NUMBER),
    str: _WORDS | {"__len__", "__iter__", "__getitem__", "__contains__", "__add__", "__mul__", "__rmul__"},
    bytes: (_WORDS - {"encode"}) | {"__len__", "__iter__", "__getitem__", "__contains__", "__add__", "decode", "hex"},
    tuple: _SEQUENCE,
    range: _SEQUENCE | {"start", "stop", "step"},
    list: _SEQUENCE | _CHANGED | {"append", "extend", "insert", "sort", "reverse", "copy", "__iadd__", "__imul__"},
    bytearray: _SEQUENCE | _CHANGED | {"append", "extend", "insert", "reverse", "copy", "__iadd__", "__imul__"},
    collections.deque: _SEQUENCE | _CHANGED | {
        "append", "appendleft", "extend", "extendleft", "insert", "popleft", "reverse", "rotate", "copy", "maxlen", "__iadd__",
    },
    set: _SETS | {
        "add", "clear", "copy", "discard", "pop", "remove", "update", "difference_update", "intersection_update",
        "symmetric_difference_update", "__iand__", "__ior__", "__isub__", "__ixor__",
    },
    frozenset: _SETS | {"copy"},
    dict: _MAPPING | _CHANGED | {"copy", "popitem", "setdefault", "update", "__ior__"},
    collections.OrderedDict: _MAPPING | _CHANGED | {"copy", "popitem", "setdefault", "update", "move_to_end", "__ior__"},
    collections.defaultdict: frozenset(("copy", "__missing__", "__or__", "__ror__")),
    collections.Counter: _MAPPING | _CHANGED | {
        "copy", "elements", "most_common", "subtract", "total", "update", "__missing__", "__add__", "__sub__", "__and__",
        "__iadd__",
    },
    types.MappingProxyType: _MAPPING,
    type({}.keys()): _SETS,
    type({}.values()): _ITERATED | {"__len__"},
    type({}.items()): _SETS,
    types.SimpleNamespace: frozenset(("__eq__", "__ne__")),
    io.StringIO: _STREAM,
    io.BytesIO: _STREAM,
    **{base: _STREAM for base in (*io.StringIO.__mro__, *io.BytesIO.__mro__) if base.__module__ == "_io"},
    re.Match: frozenset(
        [
            "group", "groups", "groupdict", "start", "end", "span", "string", "pos", "endpos", "lastindex",
            "lastgroup", "__getitem__",
        ]
    ),
    re.Pattern: frozenset(
        [
            "search", "match", "fullmatch", "findall", "finditer", "split", "sub", "subn", "pattern", "flags",
            "groups", "groupindex",
        ]
    ),
    operator.itemgetter: frozenset(("__call__",)),
    type(functools.cmp_to_key(max)): frozenset(("__call__",)),
    contextlib.nullcontext: frozenset(("__enter__", "__exit__", "enter_result")),
    contextlib._GeneratorContextManager: frozenset(("__enter__", "__exit__")),  # noqa: SLF001 - a decorator's objects
    enum.Enum: frozenset(["name", "value", "__format__", "__iter__", "__len__", "__contains__"]),
    enum.Flag: frozenset(
        [
            "__or__", "__and__", "__xor__", "__invert__", "__ror__", "__rand__", "__rxor__", "__iter__", "__len__",
            "__contains__",
        ]
    ),
    enum.EnumType: frozenset(("__iter__", "__len__", "__contains__", "__getitem__", "__reversed__", "__call__")),
    BaseException: frozenset(("args",)),
    OSError: frozenset(("errno", "strerror", "filename")),
    StopIteration: frozenset(("value",)),
    SystemExit: frozenset(("code",)),
}  # fmt: skip
# iterators have types without a name, so an example stands for each; two of them depend on what they go through:
# a text beyond ASCII has another one than a plain text, and a range beyond a machine word another than a short one
_made: Any
for _made in (
    iter([]), iter(()), iter({}), iter({}.values()), iter({}.items()), iter(set()), iter(""), iter("é"), iter(b""),
    iter(range(0)), iter(range(1 << 70)), reversed([]), reversed({}), reversed(()), enumerate(()), zip(), map(str, ()),
    filter(None, ()), iter(bytearray()), iter(collections.deque()), re.finditer("a", ""),
):  # fmt: skip
    _REVIEWED[type(_made)] = _ITERATED

_DRAWING = frozenset(
    [
        "random", "seed", "getrandbits", "randint", "randrange", "choice", "choices", "shuffle", "sample", "uniform",
        "triangular", "gauss", "normalvariate", "betavariate", "expovariate", "gammavariate", "lognormvariate",
        "paretovariate", "weibullvariate", "vonmisesvariate",
    ]
)  # fmt: skip
_REVIEWED_OF_MODULES: dict[tuple[str, str], frozenset[str]] = {
    **{("datetime", name): _CLOCK for name in ("date", "datetime", "time", "timedelta")},
    ("datetime", "timezone"): frozenset(("utcoffset", "tzname", "dst")),
    ("random", "Random"): _DRAWING,
    ("_random", "Random"): frozenset(("random", "seed", "getrandbits")),
}
"""The same of modules that are imported only where a test does: each mapping of theirs makes every later fork dearer,
and `random` seeds itself anew in every child."""

_ENCODINGS = frozenset(
    ("ascii", "latin-1", "utf-8", "utf-16", "utf-16-be", "utf-16-le", "utf-32", "utf8", "ignore", "replace", "strict")
)
"""With what `encode` and `decode` may be asked: of any other name Python imports the module."""
_CONSTRUCTED = frozenset(
    (
        object, int, float, complex, tuple, list, dict, set, frozenset, collections.deque, collections.OrderedDict,
        enum.Enum,
    )
)  # fmt: skip
"""Classes whose own constructors only take values; a text's is not among them, since a text may be a template."""
_ONLY_TAKES_VALUES = frozenset(
    [
        "int", "float", "complex", "bool", "str", "bytes", "bytearray", "list", "tuple", "dict", "set",
        "frozenset", "range", "object", "NoneType", "len", "abs", "sum", "max", "min", "any", "all", "round",
        "ord", "chr", "sorted", "hash", "callable", "divmod", "pow", "str.lower", "str.upper", "str.title",
        "str.strip", "str.casefold", "str.capitalize", "str.swapcase", "str.split", "str.isdigit",
        "str.isalpha", "collections:deque", "collections:Counter", "collections:OrderedDict",
        "collections:defaultdict", "decimal:Decimal", "fractions:Fraction", "datetime:date",
        "datetime:datetime", "datetime:time", "datetime:timedelta", "operator:lt", "operator:le",
        "operator:gt", "operator:ge", "operator:eq", "operator:ne", "operator:sub", "operator:truediv",
        "operator:floordiv", "operator:neg",
    ]
)  # fmt: skip
"""What a solution may hand over by its name to what calls it: none of these calls by text, builds a class or a function, puts
texts together, or calls later what it was given."""
_METACLASSES = frozenset((type, type(collections.abc.Hashable), enum.EnumType))
_DECORATED = contextlib.contextmanager(lambda: iter(())).__code__
"""The code of every function that `contextlib.contextmanager` returns."""
_PLAIN = frozenset((io.StringIO, io.BytesIO, re.Match, re.Pattern))
_READ = frozenset(
    [
        "__len__", "__getitem__", "closed", "end", "findall", "fullmatch", "getvalue", "group", "groupdict", "groups", "match",
        "search", "span", "start", "tell",
    ]
)  # fmt: skip
"""What only reads an object of one of these types."""
_ASKING = {"__str__": "__repr__", "__ne__": "__eq__"}
"""Methods of `object` that ask others of the class."""
_WRAPPER = types.WrapperDescriptorType
_DESCRIPTORS = (types.GetSetDescriptorType, types.MemberDescriptorType)
_FIELD: type = vars(collections)["_tuplegetter"]
"""What reads a field of a named tuple."""
_LONG = 400
"""Characters of an entry; of a longer one its digest is kept."""
_BY_NAME = (type, types.BuiltinFunctionType, types.MethodDescriptorType)
_STEPPED = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)
# the descriptors of `type` itself: a class of the test's may have a metaclass that answers otherwise
_MRO: Any = type.__dict__["__mro__"]
_DICT: Any = type.__dict__["__dict__"]
_HOME: Any = type.__dict__["__module__"]
_NAME: Any = type.__dict__["__name__"]


def is_harmless(operation: str, target: Any, arguments: list[Any]) -> bool:
    """Whether an operation may be asked of an object of the test's, whoever asks."""
    if operation in ("c", "step by") or (operation == "d" and arguments[1] == "__call__"):
        return is_free_to_call(target, arguments[2 if operation == "d" else 1 :])
    if operation == "n":
        return isinstance(target, _STEPPED) or _may(target, "__next__")
    if operation in ("send", "throw", "close"):
        return isinstance(target, _STEPPED) or _may(target, operation)
    if operation == "await":
        return isinstance(target, types.CoroutineType) or _may(target, "__await__")
    if isinstance(target, _STEPPED):
        return True  # `Policy` lets it be advanced and nothing else
    if operation in ("s", "x"):
        return True  # `Policy` lets objects of the test's own classes be written to, and nothing else
    if operation == "g":
        name = arguments[1]
        if isinstance(target, type):
            if not is_tests_class(target):
                return False
            owner = _owner(target, name)
            if owner is not None:
                return _is_allowed(owner, name)
            return _is_absent(type(target), name)
        cls = type(target)
        owner = _owner(cls, name)
        # what the test has put into an object of its own it has lent along with the object
        if cls is types.SimpleNamespace or any(map(is_tests_class, _MRO.__get__(cls))):
            attributes = getattr(target, "__dict__", None)
            if type(attributes) is dict and name in attributes:
                return True
            return _is_allowed(owner, name) if owner is not None else _is_absent(cls, name)
        return owner is not None and _is_allowed(owner, name)
    return operation == "d" and _may_do(target, arguments[1], arguments[2:])


def is_free_to_call(target: Any, arguments: Any = ()) -> bool:
    """Whether a call of this object of the test's runs only what the test program defines, or a reviewed operation."""
    kind = type(target)
    if kind is types.FunctionType:
        return is_tests_function(target)
    if kind in _BY_NAME and _only_takes_values(target):
        return True
    if kind is types.MethodType:
        return is_free_to_call(target.__func__) or _is_reviewed_method(target)
    if kind in (types.BuiltinFunctionType, types.MethodWrapperType):
        # of a function such as `eval` this is its module, of a class method the class: neither is an object's method
        owner = target.__self__
        return not isinstance(owner, types.ModuleType | type | None) and _may(owner, target.__name__, arguments)
    if kind is functools.partial:
        return is_free_to_call(target.func, (*target.args, *arguments))
    if kind is functools._lru_cache_wrapper:  # noqa: SLF001 - what the decorator returns
        return is_free_to_call(target.__wrapped__)
    if isinstance(target, type):
        if not is_tests_class(target) or not (type(target) in _METACLASSES or is_tests_class(type(target))):
            return False
        if isinstance(target, enum.EnumType) and len(arguments) != 1:
            return False  # with more it would make a class
        return all(_takes_values(_owner(target, name)) for name in ("__new__", "__init__"))
    return _may(target, "__call__")


def is_certain(operation: str, target: Any, values: list[Any]) -> bool:
    """Whether what is asked of an object of the test's changes nothing: all that this does not say counts as a change.

    Certain is to read an attribute that the object itself holds, and to read streams and matches.

    Args:
        operation: what the solution asks for.
        target: the object.
        values: what goes with the operation.
    """
    if operation == "c" and type(target) is types.BuiltinFunctionType:
        values = [target.__name__, *values]
        target = target.__self__
    elif operation not in ("g", "d"):
        return False
    cls, name = type(target), values[0]
    if cls in _PLAIN:
        return name in _READ and all(type(value) in ATOMS for value in values)
    if operation != "g" or type(cls) not in _METACLASSES or type(_find(cls, "__getattribute__")) is not _WRAPPER:
        return False
    attribute = _find(cls, name)
    is_held = type(attribute) in ATOMS and type(_find(cls, "__dict__")) in _DESCRIPTORS and name in target.__dict__
    if is_held and isinstance(target, type):  # what a class holds may answer itself when it is asked for
        return type(target.__dict__[name]) in ATOMS
    return is_held or type(attribute) in (_FIELD, types.MemberDescriptorType) or _owner(cls, name) is enum.Enum


def _find(cls: type, name: str) -> Any:
    owner = _owner(cls, name)
    return None if owner is None else _DICT.__get__(owner)[name]


def _only_takes_values(target: Any) -> bool:
    name = names.name_for(target)
    return name is not None and (
        name in _ONLY_TAKES_VALUES or (isinstance(target, type) and issubclass(target, BaseException))
    )


def is_tests_function(function: Any) -> bool:
    """Whether a function is one of the test program's own."""
    home: object = function.__globals__.get("__name__")
    if home == HOME:
        return True
    # with its code, because anybody can set a `__wrapped__`
    wrapped = getattr(function, "__wrapped__", None)
    return function.__code__ is _DECORATED and type(wrapped) is types.FunctionType and is_tests_function(wrapped)


def is_tests_class(cls: Any) -> bool:
    """Whether a class is one of the test program's own."""
    home: object = _DICT.__get__(cls).get("__module__")
    return home == HOME


def _is_reviewed_method(method: Any) -> bool:
    """Whether a bound method is a reviewed one of a standard class that is written in Python (`Random.choice`)."""
    name = method.__func__.__name__
    cls = type(method.__self__)
    # under the name of a reviewed method there may be another function
    owner = _owner(cls, name)
    return owner is not None and _DICT.__get__(owner)[name] is method.__func__ and _is_allowed(owner, name)


def _owner(cls: type, name: str) -> type | None:
    """Return the class from which objects of a class have an attribute, None for none."""
    return next((kind for kind in _MRO.__get__(cls) if name in _DICT.__get__(kind)), None)


def _is_allowed(owner: type, name: str) -> bool:
    if is_tests_class(owner):
        return True
    reviewed = _REVIEWED.get(owner) or _reviewed_of_module(owner)
    # what a namespace says of itself has its private names in it
    return reviewed is not None and (name in reviewed or (name in _OBJECT and owner is not types.SimpleNamespace))


def _reviewed_of_module(owner: type) -> frozenset[str] | None:
    """Return the reviewed operations of a class by its name, if it is the one that has this name in its module."""
    home, name = _HOME.__get__(owner), _NAME.__get__(owner)
    reviewed = _REVIEWED_OF_MODULES.get((home, name)) if type(home) is str else None
    return reviewed if reviewed and getattr(sys.modules.get(home), name, None) is owner else None


def _may(target: Any, name: str, arguments: Any = ()) -> bool:
    """Whether a method that the class of an object has may be asked for."""
    owner = _owner(type(target), name)
    if owner is None:
        return False
    if owner is object and name in _ASKING:
        return _may(target, _ASKING[name], arguments)
    if is_tests_class(owner):
        method = _DICT.__get__(owner)[name]
        kind = type(method)
        if kind in (staticmethod, classmethod):
            return is_free_to_call(method.__func__)
        if kind in (types.MethodDescriptorType, types.WrapperDescriptorType):
            return _is_allowed(method.__objclass__, method.__name__)
        if kind is types.FunctionType:
            return True  # of its own, or of what makes methods for it: `dataclass`, `total_ordering`, `Enum`
        return is_free_to_call(method)
    if name in ("encode", "decode") and not all(type(value) is str and value in _ENCODINGS for value in arguments):
        return False
    if name == "__format__":
        # a width of up to three digits: with a long one a single request would fill the examiner's memory
        text = arguments[0] if len(arguments) == 1 else None
        return (
            type(text) is str
            and re.fullmatch(r"(.?[<>=^])?[-+ ]?#?0?\d{0,3}[,_]?(\.\d{1,2})?[bcdeEfFgGnosxX%]?", text) is not None
        )
    return _is_allowed(owner, name)


def _may_do(target: Any, name: str, arguments: Any) -> bool:
    if isinstance(target, type) and name in ("__instancecheck__", "__subclasscheck__"):
        return type(target) in _METACLASSES or _may(target, name)
    if isinstance(target, type) and not is_tests_class(target):
        return False
    return _may(target, name, arguments)


def _is_absent(cls: type, name: str) -> bool:
    """Whether only the test program's own code could still answer for an attribute that its class does not have."""
    if _owner(cls, name) is not None:
        return _is_allowed(_owner(cls, name) or cls, name)
    owner = _owner(cls, "__getattr__")
    return owner is None or is_tests_class(owner) or owner is enum.EnumType


def _takes_values(owner: type | None) -> bool:
    return owner is None or is_tests_class(owner) or owner in _CONSTRUCTED or issubclass(owner, BaseException)


def entry(operation: str, arguments: list[Any], options: dict[str, Any], *, is_stand_in: Any) -> str:
    """Return what a policy notes of a request: the operation, the kind of the object and of each argument."""
    kinds = [kind_of_argument(value, is_stand_in=is_stand_in) for value in arguments[1:]]
    kinds += [f"{name}={kind_of_argument(options[name], is_stand_in=is_stand_in)}" for name in sorted(options)]
    return shorten("ask", f"{operation}:{kind_of_target(arguments[0])}:{', '.join(kinds)}")


def shorten(kind: str, text: str) -> str:
    """Return an entry of a policy, or its digest where it is long."""
    if len(text) < _LONG:
        return f"{kind}:{text}"
    import hashlib  # only here: it brings a whole library of ciphers

    return f"{kind}:{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()}"


def kind_of_target(target: Any) -> str:
    """Return of what kind an object of the test's is, the same in every run."""
    if isinstance(target, type):
        return f"class {_qualified_name(target)}"
    if type(target) is types.MethodType:
        return f"{kind_of_target(target.__func__)} of {_qualified_name(type(target.__self__))}"
    if type(target) in (types.BuiltinFunctionType, types.MethodWrapperType) and not isinstance(
        target.__self__, types.ModuleType | None
    ):
        return f"{target.__name__} of {_qualified_name(type(target.__self__))}"
    if hasattr(type(target), "__get__") or type(target) is types.BuiltinFunctionType:
        return f"function {getattr(target, '__module__', '')}.{getattr(target, '__qualname__', '')}"
    return _qualified_name(type(target))


def _qualified_name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def kind_of_argument(value: Any, *, is_stand_in: Any) -> str:
    """Return what an argument is: of an object its kind, of a text the text itself, of a container what it holds."""
    if is_stand_in(value):
        return "theirs"
    kind = type(value)
    if kind in (str, bytes):
        return repr(value)
    if kind is dict:
        return kind_of_argument([*value, *value.values()], is_stand_in=is_stand_in).replace("list", "dict", 1)
    if kind in (list, tuple, set, frozenset):
        kinds = sorted({kind_of_argument(item, is_stand_in=is_stand_in) for item in value})
        return f"{kind.__name__}[{', '.join(kinds)}]"
    return kind_of_target(value)
