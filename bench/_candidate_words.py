"""What hostile candidates are made of: names, types, methods, errors, and places in modules that can be replaced."""

from __future__ import annotations

import asyncio
import builtins
import random
import string
import unittest

BASES = [
    "int", "float", "str", "bytes", "list", "tuple", "dict", "set", "frozenset", "object", "Exception", "kind", "kind",
    "collections.Counter", "collections.deque", "collections.UserList", "collections.UserDict", "fractions.Fraction",
    "decimal.Decimal", "enum.Enum", "type",
]  # fmt: skip
METHODS = [
    *(name for kind in (int, str, list, dict, set) for name in vars(kind) if name not in ("__new__", "__init__", "__class_getitem__")),
    "__call__", "__enter__", "__exit__", "__await__", "__next__", "__bool__", "__instancecheck__", "__class__", "__del__",
    "__array__", "__array_ufunc__", "__array_function__", "__getattr__", "all", "any", "max", "min", "sum", "most_common", "area",
    "side", "items", "result", "x", "name", "maxlen", "send", "throw", "close",
]  # fmt: skip
COMPARING = [
    "__eq__",
    "__ne__",
    "__lt__",
    "__gt__",
    "__le__",
    "__ge__",
    "__contains__",
    "__sub__",
    "__rsub__",
    "__abs__",
    "__bool__",
    "all",
]
ASKED = [
    "startswith", "endswith", "upper", "split", "issubset", "issuperset", "__and__", "__rand__", "most_common", "items", "get", "sum",
    "max", "all",
]  # fmt: skip
CONSTANTS = [
    "True",
    "False",
    "0",
    "0.0",
    "None",
    "''",
    "[]",
    "()",
    "-1",
    "{}",
    "NotImplemented",
    "...",
    "self",
    "self",
    "True",
    "iter(())",
]
ERRORS = [
    *(name for name, value in sorted(vars(builtins).items()) if isinstance(value, type) and issubclass(value, BaseException)
      and "Group" not in name and "Unicode" not in name),
    "asyncio.CancelledError", "unittest.SkipTest", "unittest.case._ShouldStop",
]  # fmt: skip
PLACES = {
    "random": [name for name in dir(random) if name[0] in string.ascii_letters],
    "random.Random": ["random", "randint", "choice", "getrandbits", "seed", "_randbelow"],
    "asyncio": [name for name in dir(asyncio) if name[0] in string.ascii_letters],
    "builtins": [name for name in dir(builtins) if name not in ("__builtins__", "__debug__", "True", "False", "None")],
    "unittest.TestCase": [name for name in dir(unittest.TestCase) if name[0] in string.ascii_letters],
    "unittest.TestResult": [name for name in dir(unittest.TestResult) if name[0] in string.ascii_letters],
    "unittest.TestLoader": ["loadTestsFromTestCase", "getTestCaseNames"],
    "unittest.mock.NonCallableMock": ["assert_called_once_with", "assert_called_with", "call_count"],
    "math": ["sqrt", "isclose", "floor"],
    "contextlib": ["suppress", "contextmanager"],
    "marshal": ["loads", "dumps"], "os": ["write", "read", "_exit"], "json": ["dumps", "loads"],
    "sys": ["modules", "meta_path", "stdout", "exc_info"], "gc": ["get_objects"], "time": ["time", "sleep", "monotonic"],
}  # fmt: skip
NAMES = [
    name for name in dir(builtins) if name not in ("__doc__", "copyright", "credits", "license", "exit", "quit", "help")
]
CALLED = [
    "abs",
    "len",
    "range",
    "sum",
    "sorted",
    "isinstance",
    "all",
    "map",
    "zip",
    "round",
    "enumerate",
    "max",
    "type",
    "str",
    "list",
]
SPACE = [
    "__markbook_part__", "__markbook_error__", "f", "P", "func", "cls", "candidate", "check", "main", "each", "Case", "result", "wanted",
    "AssertionError", "BaseException", "candidate_solution", "__builtins__", "__name__", "n", "found", "math", "unittest", "asyncio",
]  # fmt: skip
OPERATIONS = ["c", "g", "s", "x", "d", "class", "copy", "import", "await", "n", "send", "throw", "close", "names", "zz"]
TAGS = ["L", "T", "D", "S", "F", "B", "Y", "C", "R", "Z", "Q", "N", "O", "E", "I", "r", "v", "n", "b", "h", "e", "zz"]
