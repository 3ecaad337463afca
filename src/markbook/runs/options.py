"""What every kind of run may be asked, and the one way from names and values to a record of options."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, TypeVar

from markbook.errors import UnknownOptionError, UsageError, suggest

_T = TypeVar("_T")
ASKING = "asking"
"""Where run.json keeps how a model is asked."""
ASKS_MODELS = "model"
"""The generator that asks the model which is named; what is meant where no other is."""


def aside(default: Any, *, kept: str = "") -> Any:
    """Return a field of options that cannot change a result: a run may be resumed with another value of it.

    Args:
        default: its value if none is given.
        kept: under which name in run.json it is kept all the same, for whoever goes on with the run.
    """
    return dataclasses.field(default=default, metadata={"identity": False, "kept": kept})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What a run of any kind may be asked; a kind adds its inputs and what else it wants to know.

    A field can change a result unless it is made by `aside`.
    """

    output: str | os.PathLike[str] = aside("generated")
    """Where the run folder is made."""
    resume: str | os.PathLike[str] | None = aside(None)
    """A run folder to go on with instead; what can change a result must be what it was."""
    workers: int | None = aside(None)
    engine: str = aside("local")
    """Where the work runs: `local`, `ray`, or another of `markbook list engines`."""
    strict: bool = aside(False)
    """Refuse to work if any row of the inputs would be skipped."""
    reports: Sequence[str] = aside(("html",))
    """The report plugins that the finished run is given; `markbook report` makes others later."""

    name: str = aside("")
    """What the run is called in lists of runs."""
    tags: Sequence[str] = aside(())
    """Words to find it by."""
    notes: str = aside("")
    """What is to be remembered of it."""

    def identity(self) -> dict[str, object]:
        """Return the options that can change a result."""
        fields = dataclasses.fields(self)
        return {field.name: getattr(self, field.name) for field in fields if field.metadata.get("identity", True)}

    def collect_kept(self, part: str) -> dict[str, object]:
        """Return the options that run.json keeps under this name."""
        fields = dataclasses.fields(self)
        return {field.name: getattr(self, field.name) for field in fields if field.metadata.get("kept") == part}


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingOptions(RunOptions):
    """How a model is asked, whatever kind of run asks it. The first group can change a result."""

    samples: int | None = None
    """Answers per question; None for one, or what a task says."""
    gen_kwargs: str = ""
    """What a model is told beside the prompt, over what a task says: `temperature=0.7,max_gen_toks=100`."""
    system: str = ""
    """The system message, before what a task says; of a model that continues texts, their beginning."""

    model: str | None = aside(None)
    """`PROVIDER:NAME`; None where the answers exist."""
    generator: str = aside("")
    """Who answers instead of a model: a generator plugin; what it is called stands in the manifest's config."""
    base_url: str = aside("")
    concurrency: int = aside(8, kept=ASKING)
    per_minute: float | None = aside(None, kept=ASKING)
    retries: int = aside(5, kept=ASKING)
    request_seconds: float = aside(120.0, kept=ASKING)
    max_cost: float | None = aside(None, kept=ASKING)
    price: str = aside("", kept=ASKING)


_Asking = TypeVar("_Asking", bound=AskingOptions)


def with_answerer(options: _Asking, *, has_answers: bool, of: str) -> _Asking:
    """Return the options with a name for whoever answers where only a generator is named.

    Args:
        options: of the run.
        has_answers: whether there are answers already.
        of: the option that names such.

    Raises:
        UsageError: neither answers nor a model or generator, or both.
    """
    if options.generator == ASKS_MODELS:
        options = dataclasses.replace(options, generator="")
    if options.generator and options.model is None:
        options = dataclasses.replace(options, model=options.generator)
    if has_answers == (options.model is not None):
        raise UsageError(f"name the answers or the model: one of {of} and --model (or --generator)")
    return options


class RunSettings(TypedDict, total=False):
    """The fields of `RunOptions` as keyword arguments, but for those that a function names itself."""

    workers: int | None
    engine: str
    strict: bool
    name: str
    tags: Sequence[str]
    notes: str


class AskingSettings(RunSettings, total=False):
    """The fields of `AskingOptions` as keyword arguments, but for the model and its address."""

    samples: int | None
    gen_kwargs: str
    system: str
    generator: str
    concurrency: int
    per_minute: float | None
    retries: int
    request_seconds: float
    max_cost: float | None
    price: str


def make_options(kind: type[_T], options: Mapping[str, object], function: str) -> _T:
    """Return the record of these options.

    Raises:
        UnknownOptionError: it has no such option, with the nearest one.
    """
    refuse_unknown(options, _names(kind), function)
    return kind(**options)


def refuse_unknown(options: Iterable[str], known_names: Sequence[str], function: str) -> None:
    """Refuse keyword arguments that a function does not have.

    Raises:
        UnknownOptionError: there is one, with the nearest name.
    """
    for name in options:
        if name not in known_names:
            raise UnknownOptionError(f"{function}() has no option {name!r}", hint=suggest(name, list(known_names)))


def options_among(kind: type[_T], values: Mapping[str, object], **more: Any) -> _T:
    """Return the record of those values that are its options, such as a command's parameters, and of some more."""
    field_names = set(_names(kind))
    return kind(**{name: value for name, value in values.items() if name in field_names} | more)


def _names(kind: type[Any]) -> list[str]:
    return [field.name for field in dataclasses.fields(kind)]
