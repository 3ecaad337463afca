"""Names of attributes and methods, by what is done about them between the two processes."""

from __future__ import annotations

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
