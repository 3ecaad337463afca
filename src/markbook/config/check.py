"""From a tree to a pydantic model, with every complaint at its place in the file."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from markbook.config.tree import Node, find, plain
from markbook.errors import ConfigError

ModelT = TypeVar("ModelT", bound=BaseModel)

_MOST = 20
"""How many complaints are listed."""


def check(model: type[ModelT], node: Node) -> ModelT:
    """Return the node as a model.

    Raises:
        ConfigError: with one line a complaint, each with `file:line:column`, unknown keys with the nearest known.
    """
    if not isinstance(node.value, dict):
        raise ConfigError(f"a mapping is needed here, not {_kind(node)}", at=node.at)
    try:
        return model.model_validate(plain(node))
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False)
        complaints = list(dict.fromkeys(_complaint(model, node, each["loc"], each) for each in found))
        first, rest = complaints[0], complaints[1:_MOST]
        raise ConfigError("\n".join([first[1], *(f"{at}: {text}" for at, text in rest)]), at=first[0]) from None


def _complaint(model: type[BaseModel], node: Node, loc: Sequence[int | str], error: Any) -> tuple[str, str]:
    """Return where and what."""
    shown = ".".join(str(part) for part in loc if not _is_tag(part))
    steps = [part for part in loc if not _is_tag(part)]
    if error["type"] == "extra_forbidden":
        parent = find(node, steps[:-1])
        key = str(steps[-1])
        known = _fields_at(model, loc[:-1])
        near = difflib.get_close_matches(key, known, n=2, cutoff=0.6)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"known: {', '.join(known)}"
        return parent.key_at(key), f"unknown key {shown!r} ({hint})"
    place = find(node, steps)
    if error["type"] == "missing":
        return place.at, f"{shown!r} is missing"
    return place.at, f"{shown}: {error['msg'].removeprefix('Value error, ')}"


def _is_tag(part: object) -> bool:
    """Whether a step is pydantic's name for a branch of a union, not a key of the file."""
    return isinstance(part, str) and (part.endswith("]") or part in _BRANCHES or part.startswith("function-"))


_BRANCHES = {"str", "int", "float", "bool", "list", "is-instance[Function]"}


def _fields_at(model: type[BaseModel], loc: Sequence[int | str]) -> list[str]:
    """Return the keys that a nested model knows; `loc` may name union branches by the model's class name."""
    current: list[type[BaseModel]] = [model]
    for step in loc:
        if isinstance(step, int):
            continue
        by_class = [each for each in current if each.__name__ == step]
        nested = [
            inner
            for each in current
            for name, info in each.model_fields.items()
            if step in (name, info.alias)
            for inner in _models_in(info.annotation)
        ]
        current = by_class or nested or current
    names = {info.alias or name for each in current for name, info in each.model_fields.items()}
    return sorted(names)


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    """Return the models that an annotation mentions."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in getattr(annotation, "__args__", ()) for model in _models_in(argument)]


def _kind(node: Node) -> str:
    return {list: "a list", str: "a text", type(None): "nothing"}.get(type(node.value), type(node.value).__name__)
