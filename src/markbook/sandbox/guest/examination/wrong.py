"""Wrong values that look like right ones: what a test expects is replaced by these."""

from __future__ import annotations

import ast
import builtins
import os
from _random import Random

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_LITERAL = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Constant, ast.UnaryOp, ast.USub, ast.UAdd, ast.Load)
_MADE = (*_LITERAL, ast.Call, ast.Name, ast.Attribute, ast.keyword)
_FRESH = 20
"""So many times a value is drawn that stands nowhere else in a literal."""
_ERRORS = (
    "ArithmeticError", "AttributeError", "EOFError", "FileNotFoundError", "ImportError", "IndexError", "KeyError",
    "LookupError", "NotImplementedError", "OSError", "OverflowError", "PermissionError", "RuntimeError", "StopIteration",
    "TypeError", "UnicodeError", "ValueError", "ZeroDivisionError",
)  # fmt: skip
_TYPES = ("bool", "bytes", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple")
"""What tests name: a solution is not to tell a wrong one by how seldom it is expected."""
_FAR = 50
"""A number of the test takes the place of another only if it is farther from it than this part of it: some tests round."""
_WAYS = 5
"""Of making something wrong: a swap, what is asked, twice what is expected elsewhere, and anything else."""
_SCALES = 6
"""A bound is moved by about as much as it is large, or by so many times twice as much."""
_NUMBERS = frozenset(("Decimal", "Fraction", "complex", "float", "int"))
_DIGITS, _LOWER, _UPPER = "0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


_values_drawn = Random()


def below(number: int) -> int:
    """Return a number from 0 up to this one that nobody can guess."""
    return int.from_bytes(os.urandom(7), "little") % number


def new_seed() -> int:
    """Return a number that says which wrong values are drawn, and that nobody can guess."""
    return below(1 << 52)


def draw_from(seed: int) -> None:
    """Draw the wrong values from here on as this number says: the same ones each time."""
    _values_drawn.seed(seed)


def _draw(number: int) -> int:
    return _values_drawn.getrandbits(56) % number


def shuffled(items: list[Any]) -> list[Any]:
    """Return the items in an order that nobody can guess."""
    left = list(items)
    return [left.pop(below(len(left))) for _ in items]


def constants(node: ast.expr) -> list[ast.Constant]:
    """Return the constants of an expression that can be replaced without making it another expression.

    Left alone are indices, keyword arguments and the way in which values are formatted.
    """
    found: list[ast.Constant] = []
    if isinstance(node, ast.Constant):
        return [node] if node.value is not ... else []
    if isinstance(node, ast.Call):
        return [part for argument in _values(node) for part in constants(argument)]
    for name, value in ast.iter_fields(node):
        if name in ("slice", "format_spec", "generators"):
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.expr):
                found += constants(part)
    return found


def _values(node: ast.Call) -> list[ast.expr]:
    """Return the arguments of a constructor that are a value: no type code, no encoding, no `float("inf")`."""
    first = node.args[:1]
    if first and isinstance(first[0], ast.Constant) and isinstance(first[0].value, str):
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if name == "array":
            return node.args[1:2]
        if name in _NUMBERS and not set(first[0].value) <= set("0123456789.-+"):
            return []
    return first


def is_computed(node: ast.expr) -> bool:
    """Whether an expression computes with its literals, so that another literal in it may come to the same value."""
    return not all(isinstance(part, _MADE) for part in ast.walk(node))


def replace(node: ast.expr, wanted: Iterable[Any] = (), asked: Iterable[Any] = (), *, ordered: bool = False) -> bool:
    """Make a literal another one: one of its constants, all of them where it computes with them.

    What takes the place of one stands nowhere else in the literal: sorted or as a set it would be the same one else. As
    often as not it is a value that an answer could be taken in by: one that the test expects elsewhere, or a piece of
    what it asks; and of a literal that is compared as it stands, two parts that have changed places.

    Args:
        node: the literal.
        wanted: what the test expects elsewhere, where no other value than this one is right here.
        asked: what it asks here.
        ordered: whether the order of its parts counts.

    Returns:
        Whether it became such a likely value, which an answer with an `==` of its own may rightly take for the same.
    """
    found = constants(node)
    useful = [part for part in found if part.value is not None] or found
    if useful and is_computed(node):
        for part in useful:
            part.value = other(part.value)
        return False
    values = [constant.value for constant in found]
    if useful:
        way = _draw(_WAYS)
        if way == 0 and ordered and _swap(node):
            return True
        part = useful[_draw(len(useful))]
        likely = _likely(part.value, values, asked if way == 1 else wanted) if way < _WAYS - 1 else []
        part.value = likely[_draw(len(likely))] if likely else _fresh(part.value, values)
        return bool(likely)
    likely = _likely(None, values, [*wanted, *asked])
    value = likely[_draw(len(likely))] if likely else 2 + _draw(7)
    extra = ast.Constant(value, lineno=node.lineno, col_offset=node.col_offset)
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        node.elts.append(extra)
    elif isinstance(node, ast.Dict):
        node.keys.append(extra)
        node.values.append(extra)
    return False


def _likely(value: Any, values: list[Any], near: Iterable[Any]) -> list[Any]:
    """Return those of the values of a test that may stand for this one: of its type, and none of these."""
    found: list[Any] = []
    for other in near:
        if value is None:
            found += [other] if type(other) in (int, str) else []
        elif type(other) is not type(value):
            continue
        elif type(value) is str:
            found += [other, *other.split()]
        elif type(value) is bytes or (type(value) is int and abs(other - value) > abs(value) // _FAR):
            found.append(other)
    kept = [one for one in dict.fromkeys(found) if one not in values and one != ""]
    return [one for one in kept if not isinstance(one, str | bytes) or value is None or set(one) != set(value)]


def _swap(node: ast.expr) -> bool:
    """Have two unequal parts of a list, or two letters of a text, change places; return whether there are such."""
    if isinstance(node, ast.Constant) and type(node.value) is str:
        text = node.value
        pairs = [place for place in range(len(text) - 1) if text[place] != text[place + 1]]
        if not pairs:
            return False
        place = pairs[_draw(len(pairs))]
        node.value = text[:place] + text[place + 1] + text[place] + text[place + 2 :]
        return True
    parts = node.elts if isinstance(node, ast.List | ast.Tuple) else []
    plain = [part for part in parts if isinstance(part, ast.Constant) and type(part.value) in (int, str)]
    pairs = [place for place in range(len(plain) - 1) if plain[place].value != plain[place + 1].value]
    if not pairs:
        return False
    one, other = plain[pairs[_draw(len(pairs))] :][:2]
    one.value, other.value = other.value, one.value
    return True


def copy_values(changed: ast.expr, node: ast.expr) -> None:
    """Make of a literal, which was as another one, what was made of that; where it stands is left as it is."""
    pairs = list(zip(ast.walk(changed), ast.walk(node), strict=False))
    for one, same in pairs:
        if isinstance(one, ast.Constant) and isinstance(same, ast.Constant):
            same.value = one.value
    extra = changed.elts[-1:] if isinstance(changed, ast.List | ast.Tuple | ast.Set) else []
    if isinstance(node, ast.List | ast.Tuple | ast.Set) and len(node.elts) < len(changed.elts):  # type: ignore[attr-defined]  # of the same class
        value = extra[0].value  # type: ignore[attr-defined]  # a constant, as `replace` puts it there
        node.elts.append(ast.Constant(value, lineno=node.lineno, col_offset=node.col_offset))
    elif isinstance(node, ast.Dict) and len(node.keys) < len(changed.keys):  # type: ignore[attr-defined]
        value = changed.keys[-1].value  # type: ignore[attr-defined]
        more = ast.Constant(value, lineno=node.lineno, col_offset=node.col_offset)
        node.keys.append(more)
        node.values.append(more)


def replace_all(node: ast.expr) -> None:
    """Make every constant of a literal another one that stands nowhere in it: what was in it is not in what comes."""
    found = constants(node)
    values = [part.value for part in found]
    for part in found:
        part.value = _fresh(part.value, values)


def other(value: Any) -> Any:
    """Return another value of the type: none that is merely a rounding away, and none that is out of place."""
    if value is None:
        return 1 + _draw(9)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        by = 1 + _draw(3 + abs(value) // 3)
        return value - by if value - by >= 0 and _draw(2) else value + by
    if isinstance(value, float):
        if value - value != 0:  # infinite, or no number
            return 1.5 + _draw(9)
        return round(value + (1 + _draw(100) / 8) * max(1.0, abs(value) / 4), _places(value))
    if isinstance(value, complex):
        return complex(other(value.real), value.imag)
    if isinstance(value, str):
        return _other_text(value)
    if isinstance(value, bytes):
        return _other_text(value.decode("latin-1")).encode("latin-1")
    return value


def _fresh(value: Any, values: list[Any]) -> Any:
    """Return another value of the type, none of these if there is one."""
    for _ in range(_FRESH):
        made = other(value)
        same_letters = isinstance(made, str | bytes) and set(made) == set(value)
        if made not in values and not same_letters:
            break
    return made


def _places(value: float) -> int:
    """Return how many digits behind the point a number is written with, so that another has no more."""
    text = repr(value)
    return len(text.partition(".")[2]) if "e" not in text and "n" not in text else 6


def _other_text(text: str) -> str:
    places = [place for place, letter in enumerate(text) if letter.isascii() and letter.isalnum()]
    if not places:
        return text + _LOWER[_draw(26)]
    place = places[_draw(len(places))]
    kind = next(kind for kind in (_DIGITS, _LOWER, _UPPER) if text[place] in kind)
    letter = kind[(kind.index(text[place]) + 1 + _draw(len(kind) - 1)) % len(kind)]
    return text[:place] + letter + text[place + 1 :]


def shift(node: ast.Constant, *, up: bool) -> None:
    """Move a bound to where what lay on its right side may lie on its wrong one."""
    value: Any = node.value
    far = (abs(value) + 1) * 2 ** _draw(_SCALES)
    if isinstance(value, int):
        far += _draw(far)
    else:
        far = round(far * (1 + _draw(100) / 100), _places(value))
    node.value = value + far if up else value - far


def neighbour(node: ast.Constant) -> None:
    """Make an index that of the place beside it."""
    value: Any = node.value
    node.value = value - 1 if value > 0 else value + 1


def step() -> int:
    """Return by how much a value is to differ that is only known when the test runs."""
    return 1 + _draw(9)


def other_error(name: str) -> str:
    """Return the name of an exception of Python's that says nothing of the one with this name."""
    return _unrelated(name, _ERRORS)


def other_type(name: str) -> str:
    """Return the name of a class of Python's whose objects are none of the class with this name."""
    return _unrelated(name, _TYPES)


def is_told_apart(name: str) -> bool:
    """Whether it is certain that what raises or is the class with this name neither raises nor is another one."""
    known = getattr(builtins, name, None)
    return isinstance(known, type) and known not in (BaseException, Exception, object)


def _unrelated(name: str, names: tuple[str, ...]) -> str:
    known = getattr(builtins, name, None) if is_told_apart(name) else None
    if known is not None:
        others = [other for other in names if not _related(known, getattr(builtins, other))]
        names = tuple(others) or names
    return names[_draw(len(names))]


def _related(one: type, other: type) -> bool:
    return issubclass(one, other) or issubclass(other, one)
