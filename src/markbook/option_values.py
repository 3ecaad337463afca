"""What the options of a part may be, by what the signature of its factory says of them."""

from __future__ import annotations

import functools
import inspect
import json
import math
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral, Real
from typing import Any

from markbook.errors import ConfigError


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_nothing(value: object) -> bool:
    return value is None


def _each(is_one: Callable[[object], bool], value: object) -> bool:
    """Whether it is several of a kind; what can be read only once is left to who reads it."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        return False
    return not isinstance(value, list | tuple) or all(map(is_one, value))


_KINDS: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    "bool": ("true or false", _is_bool),
    "int": ("a whole number", _is_whole),
    "float": ("a number", _is_number),
    "str": ("a text", _is_text),
    "None": ("", _is_nothing),
    "Iterable[float]": ("a list of numbers", functools.partial(_each, _is_number)),
    "Iterable[str]": ("a list of texts", functools.partial(_each, _is_text)),
    "Sequence[int]": ("a list of whole numbers", functools.partial(_each, _is_whole)),
    "Sequence[str]": ("a list of texts", functools.partial(_each, _is_text)),
}
"""What an annotation means: in words, and what is of its kind."""


def kinds_of(build: Callable[..., Any]) -> dict[str, tuple[str, ...]]:
    """Return the kinds that a factory's options may have, for those that state nothing but kinds known here."""
    try:
        parameters = inspect.signature(build).parameters
    except (TypeError, ValueError):
        return {}  # a callable that does not say what it takes
    stated = {
        name: _list_literals(parameter.annotation)
        for name, parameter in parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD
    }
    return {name: kinds for name, kinds in stated.items() if all(kind in _KINDS for kind in kinds)}


def _list_literals(annotation: object) -> tuple[str, ...]:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return tuple(part.strip() for part in text.split("|"))


def refuse_others(what: str, build: Callable[..., Any], options: Mapping[str, object]) -> None:
    """Refuse an option whose value is of another kind than its factory takes; numbers are finite.

    What may be a text is left to the factory, which knows what the text has to say.

    Raises:
        ConfigError: it names the option and what it may be.
    """
    for name, kinds in kinds_of(build).items():
        if name in options and "str" not in kinds and not _fits(options[name], kinds):
            kinds_wanted = " or ".join(filter(None, (_KINDS[kind][0] for kind in kinds)))
            raise ConfigError(f"{what}: {name} must be {kinds_wanted}, not {options[name]!r:.60}")


def _fits(value: object, kinds: Iterable[str]) -> bool:
    return any(_KINDS[kind][1](value) for kind in kinds)


def from_text(text: str, kinds: Iterable[str]) -> object:
    """Return what a text on a command line says for an option of some kinds; of none: JSON where it is that, else a text."""
    kinds = tuple(kinds)
    if "bool" in kinds and text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return text if "str" in kinds and not _fits(value, kinds) else value
