"""Which languages can be marked and run: what callers write, and the toolchain of this machine that it means."""

from __future__ import annotations

from markbook.errors import EnvironmentUnfitError, UsageError
from markbook.languages import Toolchain, find, versions

_PYTHON = frozenset(("", "python", "python3", "py"))
"""What is marked by the examiner that answers in Python meet, and run by the server's own interpreter."""
_OTHERS = {"nodejs": "javascript", "go_test": "go"}
"""What SandboxFusion's callers write for a language that goes by another name here."""


class UnsupportedLanguage(UsageError):  # noqa: N818 - the word that the field uses
    """There is nothing here that runs it."""


def toolchain(name: str) -> Toolchain | None:
    """Return the toolchain of a language, None for Python as an exam marks it.

    Raises:
        UnsupportedLanguage: there is none, or it is not here.
    """
    if name.lower() in _PYTHON:
        return None
    return installed(_OTHERS.get(name.lower(), name))


def installed(name: str) -> Toolchain:
    """Return the toolchain of a language that a benchmark's task names; that may be Python's interpreter, too.

    Raises:
        UnsupportedLanguage: there is none, or it is not here.
    """
    try:
        return find(name)
    except EnvironmentUnfitError as error:
        raise UnsupportedLanguage(error.message, hint=error.hint.partition(";")[0]) from None
    except UsageError:
        here = [known for known, version in versions().items() if version]
        raise UnsupportedLanguage(f"unsupported language {name[:40]!r}", hint=f"known: {', '.join(here)}") from None
