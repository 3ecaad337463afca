"""Which languages can be marked and run: what callers write, and the toolchain of this machine that it means."""

from __future__ import annotations

from markbook.errors import EnvironmentUnfitError, UsageError
from markbook.languages import Toolchain, find, versions
from markbook.types import PYTHON


class UnsupportedLanguage(UsageError):  # noqa: N818 - the word that the field uses
    """There is nothing here that runs it."""


def toolchain(name: str) -> Toolchain | None:
    """Return the toolchain of a language, None for Python as an exam marks it.

    Raises:
        UnsupportedLanguage: there is none, or it is not here.
    """
    if name.lower() in ("", *PYTHON):
        return None
    return find_installed(name)


def find_installed(name: str) -> Toolchain:
    """Return the toolchain of a language that a benchmark's task names; that may be Python's interpreter, too.

    Raises:
        UnsupportedLanguage: there is none, or it is not here.
    """
    try:
        return find(name)
    except EnvironmentUnfitError as error:
        raise UnsupportedLanguage(error.message, hint=error.hint.partition(";")[0]) from None
    except UsageError:
        here = [language_name for language_name, version in versions().items() if version]
        raise UnsupportedLanguage(f"unsupported language {name[:40]!r}", hint=f"known: {', '.join(here)}") from None
