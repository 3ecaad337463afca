"""Options that a caller passes by keyword."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

from markbook.errors import UsageError
from markbook.plugins import suggest

_T = TypeVar("_T")


def options_of(kind: type[_T], options: Mapping[str, Any], function: str) -> _T:
    """Return the record of these options.

    Raises:
        UsageError: it has no such option, with the nearest one.
    """
    known = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]  # a record of options
    for name in options:
        if name not in known:
            raise UsageError(f"{function}() has no option {name!r}", hint=suggest(name, known))
    return kind(**options)
