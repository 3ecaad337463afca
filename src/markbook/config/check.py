"""From a YAML tree to a pydantic model, with every complaint at its place in the file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from markbook.config.tree import Node, find, plain
from markbook.errors import ConfigError, suggest

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
        problems = error.errors(include_url=False, include_context=False)
        paths: list[tuple[int | str, ...]] = []
        for problem in problems:
            # pydantic puts its own names for the branches of a union into the path; the file holds none of them
            at, steps, location = node, list[int | str](), problem["loc"]
            for position, step in enumerate(location):
                inner = find(at, (step,))
                is_absent = problem["type"] == "missing" and position == len(location) - 1
                if inner is not at or is_absent:
                    steps.append(step)
                at = inner
            paths.append(tuple(steps))
        # Where a value may be of two kinds, every kind complains; the complaint that goes deepest is meant.
        problems_kept = [
            (path, problem)
            for path, problem in zip(paths, problems, strict=True)
            if not any(len(other) > len(path) and other[: len(path)] == path for other in paths)
        ]
        # a misspelt key explains a missing one
        problems_kept.sort(key=lambda pair: pair[1]["type"] != "extra_forbidden")
        complaints = list(dict.fromkeys(_complaint(model, node, path, problem) for path, problem in problems_kept))
        first, rest = complaints[0], complaints[1:_MOST]
        raise ConfigError("; ".join([first[1], *(f"{spot}: {text}" for spot, text in rest)]), at=first[0]) from None


_PLAIN = frozenset({"string_type", "int_type", "float_type", "bool_type"})
"""Complaints of a value that may be text, a number or true and false: of a list, all of them say the same."""


def _complaint(model: type[BaseModel], node: Node, steps: Sequence[int | str], error: Any) -> tuple[str, str]:
    key_path = ".".join(str(part) for part in steps)
    if error["type"] == "extra_forbidden":
        parent = find(node, steps[:-1])
        key = str(steps[-1])
        loc = error["loc"][:-1]
        current: list[type[BaseModel]] = [model]
        for step in loc:
            if isinstance(step, int):
                continue
            by_class = [cls for cls in current if cls.__name__ == step]
            nested = [
                inner
                for cls in current
                for name, info in cls.model_fields.items()
                if step in (name, info.alias)
                for inner in _models_in(info.annotation)
            ]
            current = by_class or nested or current
        names = {info.alias or name for cls in current for name, info in cls.model_fields.items()}
        return parent.key_at(key), f"unknown key {key_path!r} ({suggest(key, sorted(names))})"
    target = find(node, steps)
    if error["type"] == "missing":
        return target.at, f"{key_path!r} is missing"
    if error["type"] == "list_type":
        return target.at, f"{key_path!r} must be a list, not {_kind(target)}"
    if error["type"] in _PLAIN and isinstance(target.value, list | dict):
        return target.at, f"{key_path!r} must be a single value, not {_kind(target)}"
    return target.at, f"{key_path}: {error['msg'].removeprefix('Value error, ')}".removeprefix(": ")


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in getattr(annotation, "__args__", ()) for model in _models_in(argument)]


def _kind(node: Node) -> str:
    return {list: "a list", str: "a text", type(None): "nothing"}.get(type(node.value), type(node.value).__name__)
