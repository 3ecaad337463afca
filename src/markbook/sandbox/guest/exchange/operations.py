"""What one end of the wall does with an object of its own when the other asks for it, by the name of the operation."""

from __future__ import annotations

import types

from .. import awaiting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _special(value: Any, name: str, *arguments: Any, **options: Any) -> Any:
    return getattr(type(value), name)(value, *arguments, **options)


def _new_class(name: str, bases: tuple[type, ...], body: dict[str, object], **options: Any) -> Any:
    return types.new_class(name, bases, options, lambda space: space.update(body))


def _copy(value: Any, deep: bool) -> Any:  # noqa: FBT001 - from the wire, by position
    import copy

    return copy.deepcopy(value) if deep else copy.copy(value)


def _next(value: Any) -> Any:
    return value.send(None) if isinstance(value, types.CoroutineType) else next(value)


def _seed(*arguments: Any) -> None:
    import random

    random.seed(*arguments)


OPERATIONS: dict[str, Callable[..., Any]] = {
    "c": lambda _target, *arguments, **options: _target(*arguments, **options),
    "step by": lambda _target, *arguments, **options: _target(*arguments, **options),
    "g": getattr,
    "s": setattr,
    "x": delattr,
    "d": _special,
    "class": _new_class,
    "copy": _copy,
    "seed": _seed,
    "await": awaiting.Awaited,
    "step": awaiting.Awaited.step,
    "cancel": awaiting.Awaited.cancel,
    "n": _next,
    "send": lambda target, value: target.send(value),
    "throw": lambda target, error: target.throw(error),
    "close": lambda target: target.close(),
}
