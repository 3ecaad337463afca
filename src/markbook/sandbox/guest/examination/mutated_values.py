"""Plausible wrong values, and the messages and docstrings of a test in which its expected value may stand once more."""

from __future__ import annotations

import ast
import builtins
import os
from _random import Random

from .expressions import expression_key, get_called_name

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


# from Unicode's private use area: they stand for no letter of any language
_OPEN, _CLOSE = "\ue000", "\ue001"
_ONE = frozenset(("assertTrue", "assertFalse", "assertIsNone", "assertIsNotNone", "fail"))
"""Methods whose message comes second; that of `fail` is its only argument."""
MESSAGE_THIRD = frozenset(
    f"assert{name}"
    for name in (
        "Equal", "NotEqual", "Is", "IsNot", "In", "NotIn", "IsInstance", "NotIsInstance", "Greater", "GreaterEqual",
        "Less", "LessEqual", "ListEqual", "TupleEqual", "SetEqual", "DictEqual", "CountEqual", "MultiLineEqual",
    )
)  # fmt: skip
"""Methods whose message comes third."""
_NAMED = frozenset(("msg", "err_msg"))
_HEARD = frozenset(("raises", "assertRaises", "assertRaisesRegex"))
_READ = frozenset(("__doc__", "getdoc", "doctest"))
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def hide(trees: list[ast.AST]) -> list[str]:
    """Put numbers in the place of such texts, unless the test reads them itself; return the texts by their numbers.

    A message is what an assert statement says, or a method of a test case or a function of numpy's or pytest's is given
    for it: what the solution's own functions are given is an argument, whatever it is called. The docstring of a function
    that the test hands over or decorates is the solution's to read.
    """
    nodes = [node for tree in trees for node in ast.walk(tree)]
    hidden: list[str] = []
    if not any(map(_hears, nodes)):
        for node in nodes:
            if isinstance(node, ast.Assert) and node.msg is not None:
                _number(node.msg, hidden)
        for call in _asserting(nodes):
            name = get_called_name(call)
            at = 0 if name == "fail" else 1 if name in _ONE else 2 if name in MESSAGE_THIRD else len(call.args)
            for message in (*call.args[at:], *(word.value for word in call.keywords if word.arg in _NAMED)):
                _number(message, hidden)
    if not any(getattr(node, name, None) in _READ for node in nodes for name in ("attr", "id", "name")):
        # of modules, test cases and functions that nobody names: those that no solution is meant to read
        named = {node.id for node in nodes if isinstance(node, ast.Name)}
        modules = [tree for tree in trees if isinstance(tree, ast.Module)]
        for node in (part for module in modules for part in (module, *_iterate_cases(module.body, named))):
            if ast.get_docstring(node, clean=False) is not None:  # type: ignore[arg-type]  # of the kinds that have one
                _number(node.body[0], hidden)  # type: ignore[attr-defined]
    return hidden


def restore_hidden(text: str, hidden: list[str]) -> str:
    """Return a text with what was hidden in it."""
    for number, words in enumerate(hidden):
        text = text.replace(f"{_OPEN}{number}{_CLOSE}", words)
    return text


def _hears(node: ast.AST) -> bool:
    """Whether a test looks at an error, in which a message of its own may stand."""
    return isinstance(node, ast.ExceptHandler) or (isinstance(node, ast.Call) and get_called_name(node) in _HEARD)


def _is_case(node: ast.AST) -> bool:
    """Whether this is the class of a test case."""
    return isinstance(node, ast.ClassDef) and any(expression_key(base).endswith("TestCase") for base in node.bases)


def _asserting(nodes: list[ast.AST]) -> Iterator[ast.Call]:
    """Yield the calls of what asserts by the name that it has in unittest, numpy.testing and pytest."""
    imported = {
        alias.asname or alias.name
        for node in nodes
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in ("numpy", "pytest", "pandas")
        for alias in node.names
    }
    cases = {
        expression_key(target)
        for node in nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and get_called_name(node.value) == "TestCase"
        for target in node.targets
    }
    within = {id(part) for node in nodes if _is_case(node) for part in ast.walk(node)}
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Name):
            is_known = function.id in imported
        else:
            owner = expression_key(getattr(function, "value", function))
            is_known = (
                (owner in ("self", "cls") and id(node) in within) or owner in (".testing", "pytest") or owner in cases
            )
        if is_known:
            yield node


def _iterate_cases(body: list[ast.stmt], named: set[str]) -> Iterator[ast.AST]:
    for node in body:
        if _is_case(node):
            yield node
            yield from _iterate_cases(node.body, named)  # type: ignore[attr-defined]  # a class
        elif isinstance(node, _FUNCTIONS) and node.name not in named and not node.decorator_list:
            yield node


def _number(tree: ast.AST, hidden: list[str]) -> None:
    for part in ast.walk(tree):
        if isinstance(part, ast.Constant) and type(part.value) is str and part.value:
            hidden.append(part.value)
            part.value = f"{_OPEN}{len(hidden) - 1}{_CLOSE}"


# Wrong values that look like right ones: what a test expects is replaced by these.

_FRESH = 20
"""So many times a value is drawn that stands nowhere else in a literal."""
_ERRORS = (
    "ArithmeticError", "AttributeError", "EOFError", "FileNotFoundError", "ImportError", "IndexError", "KeyError",
    "LookupError", "NotImplementedError", "OSError", "OverflowError", "PermissionError", "RuntimeError", "StopIteration",
    "TypeError", "UnicodeError", "ValueError", "ZeroDivisionError",
)  # fmt: skip
_TYPES = ("bool", "bytes", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple")
"""What tests name: a solution is not to tell a wrong one by how seldom it is expected."""
_TINY = 1e-3
"""Numbers nearer to nothing than this are compared by what tolerance there is."""
_SCALES = 4
"""A bound is moved by about as much as it is large, or by so many times four times as much."""
_DIGITS, _LOWER, _UPPER = "0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_values_drawn = Random()
_turn = [0]


def below(number: int) -> int:
    """Return a number from 0 up to this one that nobody can guess."""
    return int.from_bytes(os.urandom(7), "little") % number


def new_seed(turn: int) -> int:
    """Return a number that says which wrong values are drawn, and that nobody can guess but for the way of its turn."""
    # 60 fits into the six bits and is a multiple of the number of ways, so the way can be read off the seed
    return (below(1 << 46) << 6) + turn % 60


def draw_from(seed: int) -> None:
    """Draw the wrong values from here on as this number says: the same ones each time."""
    _values_drawn.seed(seed)
    _turn[0] = seed & 63


def way() -> int:
    """Return which of six ways of making something wrong has its turn."""
    return _turn[0] % 6


def draw(number: int) -> int:
    """Return a number from 0 up to this one, as the seed says that was given."""
    return _values_drawn.getrandbits(56) % number


def shuffle_items(items: list[Any]) -> list[Any]:
    """Return the items in an order that nobody can guess."""
    remaining = list(items)
    return [remaining.pop(below(len(remaining))) for _ in items]


def other(value: Any, far: float | None = None) -> Any:
    """Return another value of the type: none that is merely a rounding away, and none that is out of place.

    Args:
        value: the value.
        far: within which distance of a number another one is as good; None where nobody knows.
    """
    if value is None:
        return 1 + draw(9)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        by = 1 + int(2 * (far or 0)) + draw(3 + abs(value) // 3)
        return value - by if value - by >= 0 and draw(2) else value + by
    if isinstance(value, float):
        if value - value != 0:  # infinite, or no number
            return 1.5 + draw(9)
        places = _places(value)
        size = max(abs(value) * (10 + draw(40)) / 100, 10.0**-places)
        if far is not None and abs(value) > _TINY and size > 2 * far:
            number = round(value - size if draw(2) else value + size, places)
            if 0 < value < 1 <= number:  # a share stays one
                number = round(value - size, places)
            if number != value:
                return number
        return round(value + (1 + draw(100) / 8) * max(1.0, abs(value) / 4, 3 * (far or 0)), places)
    if isinstance(value, complex):
        return complex(other(value.real), value.imag) if draw(2) else complex(value.real, other(value.imag))
    if isinstance(value, str):
        return _other_text(value)
    if isinstance(value, bytes):
        return _other_text(value.decode("latin-1")).encode("latin-1")
    return value


def fresh(value: Any, values: list[Any], far: float | None = None) -> Any:
    """Return another value of the type, none of these if there is one."""
    for _ in range(_FRESH):
        candidate = other(value, far)
        # a test may look at the letters sorted or as a set, and then nothing would be wrong
        same_letters = isinstance(candidate, str | bytes) and set(candidate) == set(value)
        if candidate not in values and not same_letters:
            break
    return candidate


def _places(value: float) -> int:
    """Return how many digits behind the point a number is written with, so that another has no more."""
    text = repr(value)
    # with an exponent, infinite or NaN: such a text has no places that could be counted
    return len(text.partition(".")[2]) if "e" not in text and "n" not in text else 6


def _other_text(text: str) -> str:
    places = [index for index, letter in enumerate(text) if letter.isascii() and letter.isalnum()]
    if not places:
        return text + _LOWER[draw(26)]
    index = places[draw(len(places))]
    kind = next(kind for kind in (_DIGITS, _LOWER, _UPPER) if text[index] in kind)
    letter = kind[(kind.index(text[index]) + 1 + draw(len(kind) - 1)) % len(kind)]
    return text[:index] + letter + text[index + 1 :]


def shift(node: ast.Constant, *, up: bool) -> None:
    """Move a bound to where what lay on its right side may lie on its wrong one."""
    value: Any = node.value
    # each scale has its turn, the second exactly: whether a right answer passes a third of them is then no chance
    scale = _turn[0] % _SCALES
    far = (abs(value) + 1) * 4**scale
    if isinstance(value, int):
        far += draw(far) if scale != 1 else 0
    elif 0 < value < 1 and way() % 2:  # a share stays one
        far = (1 - value if up else value) * (3 + draw(6)) / 10
    else:
        far = round(far * (1 + (draw(100) if scale != 1 else 0) / 100), _places(value))
    node.value = value + far if up else value - far


def prefix(node: ast.Constant) -> None:
    """Have a pattern begin with two more letters, which hardly any answer has there. One letter less may match it too."""
    text: Any = node.value
    start = len(text) - len(text.lstrip("^"))
    node.value = text[:start] + _LOWER[draw(26)] + _LOWER[draw(26)] + text[start:]


def neighbour(node: ast.Constant) -> None:
    """Make an index that of the place beside it."""
    value: Any = node.value
    node.value = value - 1 if value > 0 else value + 1


def step(*, near: bool) -> int:
    """Return by how much a value is to differ that is only known when the test runs: every second two turns near by."""
    size = 1 + _turn[0] % 9
    return -size if near and size % 4 in (1, 2) else size


def other_error(name: str) -> str:
    """Return the name of an exception of Python's that says nothing of the one with this name."""
    return _draw_unrelated(name, _ERRORS)


def other_type(name: str) -> str:
    """Return the name of a class of Python's whose objects are none of the class with this name."""
    return _draw_unrelated(name, _TYPES)


def is_told_apart(name: str) -> bool:
    """Whether it is certain that what raises or is the class with this name neither raises nor is another one."""
    builtin = getattr(builtins, name, None)
    return isinstance(builtin, type) and builtin not in (BaseException, Exception, object)


def _draw_unrelated(name: str, names: tuple[str, ...]) -> str:
    builtin = getattr(builtins, name, None) if is_told_apart(name) else None
    if builtin is not None:
        classes = {other: getattr(builtins, other) for other in names}
        others = [
            other for other, kind in classes.items() if not (issubclass(builtin, kind) or issubclass(kind, builtin))
        ]
        names = tuple(others) or names
    return names[draw(len(names))]
