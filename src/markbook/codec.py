"""The JSON form of records: one pair of functions for all of them, read from their fields.

Theory of operation
-------------------
A record is a frozen dataclass that derives from `JsonRecord[Shape]`. `Shape` is the `TypedDict` that callers see, and the
only thing that a record has to say about its JSON form:

- the keys of `Shape` are written, in its order; a field that it does not name is in no file;
- a key that `Shape` marks `NotRequired` is left out while the field has its default;
- a shape of `dict` means every field that differs from its default, in the order of the fields.

How a value is written follows from the field's type: a nested record by its own form, an enum by its value, a tuple as a list,
a mapping as a dict. A field whose JSON form its type does not tell (a range with open ends, the verdicts of tests, which
stand in the journal by position because their keys would be most of it) names two functions with `as_json`.

Reading is the same plan in the other direction. A key that is absent takes the field's default, and keys that are unknown are
ignored, so files of older and of newer versions can be read. What a shape cannot say, such as "a value or a reason, exactly
one", the record's own `__post_init__` refuses.

The plan of a class is computed once, at its first use, because type hints cannot be resolved while modules are being imported.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import cache
from types import UnionType
from typing import Any, Generic, NotRequired, Self, TypeVar, Union, get_args, get_origin, get_type_hints

Shape = TypeVar("Shape")
_Convert = Callable[[Any], Any]
_ALWAYS = object()
"""Equal to no value: such a field is always written."""


class JsonRecord(Generic[Shape]):
    """A dataclass with a JSON form; see the theory of operation above."""

    __slots__ = ()

    def to_record(self) -> Shape:
        """Return it as JSON."""
        record: Any = {}
        for name, default, write in _writing_plan(type(self)):  # type: ignore[arg-type]  # mypy takes a generic class for unhashable
            value = getattr(self, name)
            if value != default:
                record[name] = value if write is None or value is None else write(value)
        return record  # type: ignore[no-any-return]  # its keys are those of Shape

    @classmethod
    def from_record(cls, record: Shape | Mapping[str, object]) -> Self:
        """Return what `to_record` was made of; unknown keys are ignored.

        Raises:
            KeyError: a field without a default is absent.
            ValueError: a value that its field cannot have, such as an unknown kind.
        """
        keys: Any = record
        fields = {}
        for name, read, is_required in _reading_plan(cls):  # type: ignore[arg-type]  # mypy takes a generic class for unhashable
            if name in keys:
                value = keys[name]
                fields[name] = value if read is None or value is None else read(value)
            elif is_required:
                raise KeyError(name)
        return cls(**fields)


def as_json(write: _Convert, read: _Convert) -> Mapping[str, object]:
    """Return the metadata of a field whose JSON form its type does not tell."""
    return {"as_json": (write, read)}


@cache
def _writing_plan(cls: type) -> tuple[tuple[str, object, _Convert | None], ...]:
    """Return each key with the value for which it is left out, and how any other value than None is written."""
    return tuple((name, default, write) for name, default, write, _ in _keys(cls))


@cache
def _reading_plan(cls: type) -> tuple[tuple[str, _Convert | None, bool], ...]:
    """Return each key with how any other value than None is read, and whether it must be there."""
    required = {field.name for field in dataclasses.fields(cls) if _default(field) is _ALWAYS}
    return tuple((name, read, name in required) for name, _, _, read in _keys(cls))


def _keys(cls: type) -> Iterator[tuple[str, object, _Convert | None, _Convert | None]]:
    shape = next(get_args(base)[0] for base in cls.__orig_bases__ if get_origin(base) is JsonRecord)  # type: ignore[attr-defined]  # Generic sets it
    fields = {field.name: field for field in dataclasses.fields(cls)}
    if hasattr(shape, "__total__"):
        hints = get_type_hints(shape, include_extras=True)
        optional = {name: get_origin(hint) is NotRequired or not shape.__total__ for name, hint in hints.items()}
    else:
        optional = dict.fromkeys(fields, True)
    types = get_type_hints(cls)
    for name, is_optional in optional.items():
        field = fields[name]
        write, read = field.metadata.get("as_json") or _converters(types[name])
        yield name, _default(field) if is_optional else _ALWAYS, write, read


def _default(field: dataclasses.Field[Any]) -> object:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return _ALWAYS if field.default is dataclasses.MISSING else field.default


def _converters(hint: Any) -> tuple[_Convert | None, _Convert | None]:
    """Return how a value of this type is written and read; None stands for "as it is"."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        (inner,) = (arg for arg in args if arg is not type(None))
        return _converters(inner)
    if hint is str:
        return None, str
    if origin is tuple:
        write, read = _converters(args[0])
        return (
            list if write is None else lambda values: [write(value) for value in values],
            tuple if read is None else lambda values: tuple(read(value) for value in values),
        )
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return dict, dict
    if isinstance(hint, type) and issubclass(hint, Enum):
        return lambda member: member.value, hint
    if isinstance(hint, type) and issubclass(hint, JsonRecord):
        return hint.to_record, hint.from_record
    return None, None
