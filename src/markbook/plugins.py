"""Parts by name: the one door through which built-ins and foreign plugins come in.

A plugin is an entry point in one of the groups below whose value is a factory that takes keyword options.
`package.module:factory` names one without packaging, and imports what it names: the door is closed to that form
unless a caller opens it, for a name that a person typed or for files under `--allow-code`. Listing reads metadata
only, so a broken plugin is listed as it is and breaks nothing until it is asked for.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from numbers import Integral, Real
from types import ModuleType
from typing import Any, Protocol, TypeVar

from markbook import installed
from markbook.errors import ConfigError, ExtraMissingError, IncompleteError, MarkbookError, UsageError, suggest

# What the options of a part may be, by what the signature of its factory says of them.


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _each(is_one: Callable[[object], bool], value: object) -> bool:
    """Whether it is several of a kind; what can be read only once is left to who reads it."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        return False
    return not isinstance(value, list | tuple) or all(map(is_one, value))


_KINDS: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    "bool": ("true or false", lambda value: isinstance(value, bool)),
    "int": ("a whole number", _is_whole),
    "float": ("a number", _is_number),
    "str": ("a text", _is_text),
    "None": ("", lambda value: value is None),
    "Iterable[float]": ("a list of numbers", functools.partial(_each, _is_number)),
    "Iterable[str]": ("a list of texts", functools.partial(_each, _is_text)),
    "Sequence[int]": ("a list of whole numbers", functools.partial(_each, _is_whole)),
    "Sequence[str]": ("a list of texts", functools.partial(_each, _is_text)),
}
"""What an annotation means: in words, and what is of its kind."""


def option_kinds(build: Callable[..., Any]) -> dict[str, tuple[str, ...]]:
    """Return the kinds that a factory's options may have, for those that state nothing but kinds known here."""
    try:
        parameters = inspect.signature(build).parameters
    except (TypeError, ValueError):
        return {}  # a callable that does not say what it takes
    stated = {}
    for name, parameter in parameters.items():
        if parameter.kind is not parameter.VAR_KEYWORD:
            annotation = parameter.annotation
            text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
            stated[name] = tuple(part.strip() for part in text.split("|"))
    return {name: kinds for name, kinds in stated.items() if all(kind in _KINDS for kind in kinds)}


def refuse_others(what: str, build: Callable[..., Any], options: Mapping[str, object]) -> None:
    """Refuse an option whose value is of another kind than its factory takes; numbers are finite.

    What may be a text is left to the factory, which knows what the text has to say.

    Raises:
        ConfigError: it names the option and what it may be.
    """
    for name, kinds in option_kinds(build).items():
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


KINDS = ("metrics", "loaders", "traces", "generators", "engines", "reports", "runs", "foreign", "languages", "tasks")
"""The kinds of part, each an entry-point group `markbook.<kind>`."""

_DOTTED = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_MEMBERS = {
    "metrics": ("name", "version", "range", "direction", "signature", "measure", "summarise"),
    "loaders": (),
    "traces": ("name", "sniff", "read"),
    "generators": ("generate",),
    "engines": ("submit", "shutdown"),
    "reports": ("__call__",),
    "foreign": ("name", "sniff", "read"),
    "languages": ("name", "title", "source", "commands", "package", "run", "ending", "program"),
    "runs": ("reads_partial", "plan", "start", "work", "results", "is_answer"),
    "tasks": ("__fspath__",),
}
"""What a part of each kind must have to be one."""
_MADE_BARE = ("loaders", "traces", "foreign", "languages", "tasks")
"""Kinds whose parts are made without options, and do nothing by being made."""


@functools.cache
def _entry_points(kind: str) -> dict[str, str]:
    if kind not in KINDS:
        raise UsageError(f"unknown kind of plugin {kind!r}", hint=f"one of {', '.join(KINDS)}")
    return installed.entry_points(f"markbook.{kind}")


def names(kind: str) -> list[str]:
    """Return the names of all parts of a kind, sorted, without importing any.

    Raises:
        UsageError: the kind is not one of `KINDS`.
    """
    return sorted(_entry_points(kind))


def factory(kind: str, name: str, *, allow_code: bool = False) -> Callable[..., Any]:
    """Return the factory of a part.

    Args:
        kind: one of `KINDS`.
        name: a registered name, or `package.module:factory`.
        allow_code: whether the dotted form may be used; it imports what it names. Never for a name out of a file,
            unless the user said `--allow-code`.

    Raises:
        UsageError: no such name, with the nearest ones.
        ConfigError: the part exists and its import fails, or the dotted form is not allowed.
        ExtraMissingError: it needs a package that is not installed.
    """
    target = _entry_points(kind).get(name)
    if target is None and _DOTTED.fullmatch(name):
        if not allow_code:
            raise ConfigError(f"{name!r} names code to import", hint="pass --allow-code if you trust it")
        target = name
    if target is None:
        raise UsageError(f"unknown {kind.removesuffix('s')} {name!r}", hint=suggest(name, names(kind)))
    try:
        module, _, path = target.partition(":")
        part: Any = importlib.import_module(module.strip())
        for attribute in path.partition("[")[0].strip().split(".") if path else ():
            part = getattr(part, attribute)
    except ExtraMissingError:
        raise
    except Exception as error:  # the plugin border: whatever a plugin raises at import is its author's to read
        raise ConfigError(
            f"{kind.removesuffix('s')} {name!r} ({target}) cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    if not callable(part):
        raise ConfigError(f"{kind.removesuffix('s')} {name!r} ({target}) is not a factory")
    return part  # type: ignore[no-any-return]  # a plugin's type is unknown until it is called


def create(kind: str, name: str, /, **options: object) -> Any:
    """Return a part made with these options; its name is a registered one.

    Raises:
        ConfigError: the factory does not take an option, refuses its value, or makes something else; also as
            `factory`.
    """
    return make(kind, name, options)


def takes(function: Callable[..., Any], **options: object) -> bool:
    """Whether a function's signature takes these arguments; one that does not say what it takes is taken to."""
    with contextlib.suppress(ValueError):
        try:
            inspect.signature(function).bind(**options)
        except TypeError:
            return False
    return True


def create_typed(kind: str, name: str, /, **options: object) -> Any:
    """As `create`, for a name that a person typed or a program passed: `package.module:factory` may be used too."""
    return make(kind, name, options, allow_code=True)


def make(kind: str, name: str, options: Mapping[str, object], *, allow_code: bool = False) -> Any:
    """As `create`, with options that may have any name and the choice of `factory`."""
    build = factory(kind, name, allow_code=allow_code)
    what = f"{kind.removesuffix('s')} {name!r}"
    if kind == "metrics":
        refuse_others(what, build, options)
    try:
        part = build(**options)
    except MarkbookError:
        raise
    except Exception as error:  # the plugin border, as in `factory`
        if isinstance(error, TypeError) and not takes(build, **options):
            option_names = ", ".join(sorted(options)) or "none"
            raise ConfigError(f"{what} does not take these options ({option_names}): {error}") from error
        raise ConfigError(f"{what} cannot be made: {type(error).__name__}: {error}") from error
    lacking = [member for member in _MEMBERS[kind] if not hasattr(part, member)]
    if lacking:
        raise ConfigError(
            f"{what} makes no {kind.removesuffix('s')} but {type(part).__name__!r}",
            hint=f"it lacks {', '.join(lacking)}",
        )
    if kind == "metrics":
        from markbook.plugin_metric import complete_metric  # late: listing names needs none of the records

        return complete_metric(part)
    return part


class _Sniffs(Protocol):
    def sniff(self, probe: Any, /) -> int: ...


def load_all(kind: str, besides: Collection[str] = ()) -> dict[str, Any]:
    """Return every part of a kind that can be made, by name, but for some; one that cannot is warned of and left out."""
    parts = {}
    for name in [name for name in names(kind) if name not in besides]:
        try:
            parts[name] = create(kind, name)
        except MarkbookError as error:
            _warn("%s", error)
    return parts


def detect(kind: str, readers: Mapping[str, _Sniffs], probe: object, *, least: int = 1) -> list[str]:
    """Return the names of the readers that are the surest that something is their own; none if it is nobody's.

    Every kind of file that is known by its content (benchmarks, traces, other tools' results) is given to its reader
    by this rule. Several names mean that they are equally sure, in the order of `readers`: the caller takes the first
    or asks the user.

    Args:
        kind: of plugin.
        readers: all that can be made, by name; one that cannot say how sure it is is warned of and left out.
        probe: what they may look at.
        least: so sure one has to be, from 1 to 100.
    """
    sure = {name: _sureness(kind, name, reader, probe) for name, reader in readers.items()}
    most = max(sure.values(), default=0)
    return [name for name, confidence in sure.items() if confidence == most >= least]


def _sureness(kind: str, name: str, reader: _Sniffs, probe: object) -> int:
    """Return how sure a reader is that something is its own, 0 to 100; one that cannot say is warned of and is not."""
    try:
        confidence = reader.sniff(probe)
    except Exception as error:  # the plugin border: what a reader does not expect is none of its own
        if isinstance(error, MarkbookError) and is_own(kind, name):
            raise
        _warn("the %s %r cannot say whether this is its own: %s: %s", _word(kind), name, type(error).__name__, error)
        return 0
    if not isinstance(confidence, int) or not 0 <= confidence <= 100:
        _warn("the %s %r is %r sure of this, which is not a number from 0 to 100", _word(kind), name, confidence)
        return 0
    return confidence


@contextlib.contextmanager
def plugin_errors(kind: str, name: str) -> Iterator[None]:
    """Turn what another package's part raises into a message; what one of ours raises is our bug, and flies.

    Raises:
        IncompleteError: the part failed.
    """
    try:
        yield
    except MarkbookError:
        raise
    except Exception as error:  # the plugin border: a part's own failure is its author's to read
        if is_own(kind, name):
            raise
        hint = f"it comes from {_entry_points(kind).get(name, name)}, not from Markbook"
        raise IncompleteError(f"{_word(kind)} {name!r} failed: {type(error).__name__}: {error}", hint=hint) from error


def is_own(kind: str, name: str) -> bool:
    """Whether a part is one of Markbook's."""
    return _entry_points(kind).get(name, "").startswith("markbook.")


def find_problem(kind: str, name: str) -> str:
    """Return why a part cannot be used, empty if it can be loaded; for a listing, so nothing is raised."""
    try:
        if kind in _MADE_BARE:
            create(kind, name)
        else:
            factory(kind, name)
    except MarkbookError as error:
        return str(error)
    return ""


def _word(kind: str) -> str:
    return {"traces": "trace reader", "foreign": "reader of results", "tasks": "folder of tasks"}.get(
        kind, kind.removesuffix("s")
    )


def _warn(text: str, *values: object) -> None:
    import logging  # late: a command that has nothing to warn of needs none of it

    logging.getLogger(__name__).warning(text, *values)


_F = TypeVar("_F", bound=Callable[..., Any])


def example(**options: object) -> Callable[[_F], _F]:
    """Return a decorator for a factory that makes nothing without options: with these a listing shows it."""

    def mark(build: _F) -> _F:
        vars(build)["example"] = options
        return build

    return mark


def example_options(kind: str, name: str) -> Mapping[str, object]:
    """Return the options with which a part is shown; none for most."""
    example: Mapping[str, object] = getattr(factory(kind, name), "example", {})
    return example


def describe(kind: str) -> list[dict[str, str]]:
    """Return name, target and distribution of every part of a kind, from metadata alone."""
    from importlib import metadata

    names(kind)  # refuses an unknown kind
    points = {point.name: point for point in metadata.entry_points(group=f"markbook.{kind}")}
    return [
        {"name": name, "target": point.value, "package": point.dist.name if point.dist else ""}
        for name, point in sorted(points.items())
    ]


def need(module: str, *, extra: str) -> ModuleType:
    """Import an optional package, or say how to get it.

    Raises:
        ExtraMissingError: it is not installed; the hint is the exact command.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != module.partition(".")[0]:
            raise  # the package is there and something inside it is broken: not the user's missing extra
        raise ExtraMissingError(
            f"this needs the package {module!r}", hint=f"pip install 'markbook[{extra}]'"
        ) from error


def same_options(other: Callable[..., object]) -> Callable[[_F], _F]:
    """Return a decorator for a factory that passes its options on to another: a listing shows them as its own."""

    def mark(build: _F) -> _F:
        vars(build)["__wrapped__"] = other  # what `inspect.signature` follows
        return build

    return mark
