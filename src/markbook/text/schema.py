"""JSON schemas of records that are declared as TypedDicts: the declaration that the readers and writers share is the source."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Mapping
from enum import Enum
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

DIALECT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def make_schema(title: str, *records: type, closed: bool = False) -> Schema:
    """Return the JSON schema of a record, or of any of several TypedDicts; `closed`: a key that is not declared is refused.

    A text in a field's `Annotated` is its description, a pair goes into its schema as it is, and a TypedDict stands
    for what the code takes for a plain mapping.
    """
    schemas = [_record(record, closed=closed) for record in records]
    schema = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    return {"$schema": DIALECT, "title": title, **schema}


def _record(record: type, *, closed: bool) -> Schema:
    hints = get_type_hints(record, include_extras=True)
    own: frozenset[str] = getattr(record, "__required_keys__", frozenset())
    about = (record.__doc__ or "").partition("\n")[0]
    schema: Schema = {"type": "object", **({"description": about} if about else {})}
    schema["properties"] = {name: _kind(hint, closed=closed) for name, hint in hints.items()}
    if needed := [name for name, hint in hints.items() if _is_required(hint, name in own)]:
        schema["required"] = needed
    return schema | ({"additionalProperties": False} if closed else {})


def _is_required(hint: Any, in_class: bool) -> bool:  # noqa: FBT001 - what the class says of the key
    """Whether a key must be there; the class itself does not see into annotations that are texts."""
    origin = get_origin(hint)
    return origin is Required or (in_class and origin is not NotRequired)


def _kind(hint: Any, *, closed: bool) -> Schema:
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        schema = _kind(_find_declared(args), closed=closed)
        for note in (note for note in args[1:] if not is_typeddict(note)):
            schema |= {"description": note} if isinstance(note, str) else dict([note])
        return schema
    if origin in (Required, NotRequired):
        return _kind(args[0], closed=closed)
    if origin is Literal:
        return {"enum": list(args)}
    if origin in (Union, types.UnionType):
        kinds = [_kind(arg, closed=closed) for arg in args]
        if all(set(kind) == {"type"} for kind in kinds):
            return {"type": [kind["type"] for kind in kinds]}
        return {"anyOf": kinds}
    if origin is list:
        return {"type": "array", "items": _kind(args[0], closed=closed)}
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": _kind(args[1], closed=closed)}
    if is_typeddict(hint):
        return _record(hint, closed=closed)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [member.value for member in hint]}
    return {"type": _PLAIN[hint]} if hint in _PLAIN else {}


def _find_declared(args: tuple[Any, ...]) -> Any:
    """Return what a field is held against: the record that its annotation names, where the code takes it for a plain mapping."""
    return next((note for note in args[1:] if is_typeddict(note)), args[0])


Check = Callable[[object], str | None]


@functools.cache
def make_check(hint: Any) -> Check:
    """Return what says where a value read from JSON is not of a type (`.metrics.score`; empty: itself), None where it is."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Annotated, Required, NotRequired):
        return make_check(_find_declared(args))
    if origin is Literal:
        return _leaf(lambda value: value in args)
    if origin in (Union, types.UnionType):
        return _check_any([make_check(arg) for arg in args])
    if origin is list:
        return _check_list(make_check(args[0]))
    if origin in (dict, Mapping):
        return _check_object({}, frozenset(), make_check(args[1]))
    if is_typeddict(hint):
        hints = get_type_hints(hint, include_extras=True)
        required = {name for name, of in hints.items() if _is_required(of, name in hint.__required_keys__)}
        return _check_object({name: make_check(of) for name, of in hints.items()}, frozenset(required), make_check(Any))
    if isinstance(hint, type) and issubclass(hint, Enum):
        members = [member.value for member in hint]  # a list: what was read may be one itself, which has no hash
        return _leaf(lambda value: value in members)
    return _SCALARS.get(hint, _accept_any)


_LARGEST = sys.float_info.max
"""JSON has whole numbers of any length; what is larger is not a number to reckon with."""
_SCALARS: dict[Any, Check] = {
    str: lambda value: None if isinstance(value, str) else "",
    bool: lambda value: None if isinstance(value, bool) else "",
    int: lambda value: None if type(value) is int else "",
    float: lambda value: None if type(value) in (float, int) and -_LARGEST <= value <= _LARGEST else "",  # type: ignore[operator]
    type(None): lambda value: None if value is None else "",
}


def _leaf(fits: Callable[[object], bool]) -> Check:
    return lambda value: None if fits(value) else ""


def _accept_any(_value: object) -> None:
    """Say of no value that it is wrong."""


# Every row of every run goes through these: plain loops, which end at the first that fits or does not.


def _check_any(checks: list[Check]) -> Check:
    def check(value: object) -> str | None:
        longest = ""
        for check_part in checks:
            problem = check_part(value)
            if problem is None:
                return None
            longest = max(longest, problem, key=len)
        return longest

    return check


def _check_list(inner: Check) -> Check:
    def check(value: object) -> str | None:
        if not isinstance(value, list):
            return ""
        for at, item in enumerate(value if inner is not _accept_any else ()):
            if (problem := inner(item)) is not None:
                return f"[{at}]{problem}"
        return None

    return check


def _check_object(checks: Mapping[str, Check], required: frozenset[str], other: Check) -> Check:
    is_open = other is _accept_any

    def check(value: object) -> str | None:
        if not isinstance(value, dict):
            return ""
        if not required <= value.keys():
            return f".{min(required - value.keys())}"
        for name in value if checks or not is_open else ():
            part = checks.get(name, other)
            if part is not _accept_any and (problem := part(value[name])) is not None:
                return f".{name}{problem}"
        return None

    return check
