"""What every kind of run may be asked, and the one way from names and values to a record of options."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from markbook.errors import UsageError
from markbook.plugins import suggest

_T = TypeVar("_T")


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

    def kept(self, part: str) -> dict[str, Any]:
        """Return the options that run.json keeps under this name."""
        fields = dataclasses.fields(self)
        return {field.name: getattr(self, field.name) for field in fields if field.metadata.get("kept") == part}


def options_of(kind: type[_T], options: Mapping[str, object], function: str) -> _T:
    """Return the record of these options.

    Raises:
        UsageError: it has no such option, with the nearest one.
    """
    known = _names(kind)
    for name in options:
        if name not in known:
            raise UsageError(f"{function}() has no option {name!r}", hint=suggest(name, known))
    return kind(**options)


def options_among(kind: type[_T], values: Mapping[str, object], **more: Any) -> _T:
    """Return the record of those values that are its options, such as a command's parameters, and of some more."""
    known = set(_names(kind))
    return kind(**{name: value for name, value in values.items() if name in known} | more)


def _names(kind: type[Any]) -> list[str]:
    return [field.name for field in dataclasses.fields(kind)]
