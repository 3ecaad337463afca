"""Which values are plain, and what containers hold: taken out and put back without running their classes' code."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque

from .library_values import Malformed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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
        bytearray.__setitem__(value, slice(None), _bytes(items))
    else:
        deque.clear(value)
        deque.extend(value, items)


def _bytes(items: list[Any]) -> bytes:
    try:
        return bytes(items)
    except (TypeError, ValueError):
        raise Malformed("no bytes") from None


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
    for source in (items, frozenset(items), dict.fromkeys(items)):
        ordered = set(source)
        if list(map(id, ordered)) == order:
            return ordered
    ordered = set()
    for item in items:
        ordered.add(item)
    return ordered
