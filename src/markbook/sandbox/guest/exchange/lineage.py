"""What a class has of its own, read without running its code."""

from __future__ import annotations

from . import names
from .attributes import SPECIAL
from .standin import PLAIN_BASES


def own_special(cls: type, base: type | None) -> list[str]:
    """Return the special methods of a class that neither its plain base nor `object` gave it."""
    lineage = type.__dict__["__mro__"].__get__(cls)
    base_lineage = set(type.__dict__["__mro__"].__get__(base)) if base is not None else {object}
    methods = []
    for name in SPECIAL:
        owner = next((kind for kind in lineage if name in type.__dict__["__dict__"].__get__(kind)), None)
        if owner is not None and owner not in base_lineage and owner is not object:
            value = type.__dict__["__dict__"].__get__(owner)[name]
            methods.append(f"!{name}" if value is None else name)
    return methods


def plain_base(cls: type) -> type | None:
    """Return the plain type, or the exception class of Python's own, that a class extends; None for neither."""
    lineage = type.__dict__["__mro__"].__get__(cls)
    for kind in lineage:
        if kind in PLAIN_BASES:
            plain: type = kind
            return plain
        if issubclass(kind, BaseException) and names.name_for(kind) is not None:
            return kind  # type: ignore[no-any-return]  # an element of a tuple of classes
    return None
