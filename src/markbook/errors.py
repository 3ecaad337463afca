"""Every mistake that a user can mend, as one tree.

    MarkbookError                 2
    |-- UsageError                2    a wrong argument, an unknown name
    |   `-- UnknownOptionError    2    a keyword argument that a function does not have; a TypeError too
    |-- ConfigError               2    a task or config file that cannot be honoured
    |-- DataError                 2    input in which nothing can be marked
    |   |-- DamagedError          2    a file that breaks off: how much it lacks is not known
    |   `-- StrictDataError      65    bad input under --strict
    |-- GateFailed                1    a threshold that the user set was not met
    |-- IncompleteError           3    the run, or a part the user named, could not do its work
    |   `-- ExtraMissingError     3    an optional package is not installed
    |-- EnvironmentUnfitError     4    isolation below the minimum, Python too old
    |-- OutputError              73    the output cannot be written, seen before any work
    |-- StorageError             74    an I/O error during the run
    `-- RunInUseError            75    another process works in the run folder

Each carries where it happened and what to do. Anything else that is raised is our bug and flies.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


class MarkbookError(Exception):
    """The root: what went wrong, where, and what to do about it."""

    exit_code = 2

    def __init__(self, message: str, *, at: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.at = at
        """`file:line:column`, as far as it is known."""
        self.hint = hint
        """What the user can do."""

    def __str__(self) -> str:
        prefix = f"{self.at}: " if self.at else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{prefix}{self.message}{hint}"


class UsageError(MarkbookError):
    """A wrong argument or an unknown name."""


class UnknownOptionError(UsageError, TypeError):
    """A keyword argument that a function does not have."""


class ConfigError(MarkbookError):
    """A task or config file that cannot be honoured as it stands."""


class DataError(MarkbookError):
    """Input in which nothing can be marked."""


class DamagedError(DataError):
    """A file that breaks off: what is whole of it is not taken for all of it."""


class StrictDataError(DataError):
    """Bad input, and the user asked for `--strict`."""

    exit_code = 65


class GateFailed(MarkbookError):
    """A threshold that the user set was not met."""

    exit_code = 1


class IncompleteError(MarkbookError):
    """The run, or a part that the user named, could not do its work."""

    exit_code = 3


class ExtraMissingError(IncompleteError):
    """An optional package is not installed; the hint has the install line."""


class EnvironmentUnfitError(MarkbookError):
    """This machine cannot do it: isolation below the minimum, Python too old."""

    exit_code = 4


class OutputError(MarkbookError):
    """The output cannot be written; found out before any work was done."""

    exit_code = 73


class StorageError(MarkbookError):
    """An I/O error during the run; what was acknowledged before is safe."""

    exit_code = 74


class RunInUseError(MarkbookError):
    """Another process works in this run folder."""

    exit_code = 75


_ALIKE = 0.6
"""From this likeness on, a known name is suggested for an unknown one."""
_MISSPELT = 0.83
"""From this likeness on, an unknown key can only be a known one misspelt, and is refused where others are let pass.

`check` and `checker` are so alike, `problem_id` and `problem` are not.
"""


_SHORT = 3
"""Names of so many letters are alike by chance."""


@contextmanager
def os_errors_as(kind: type[MarkbookError], words: str, at: object) -> Iterator[None]:
    """Raise an error of this kind where the system refuses what is done within: the words, and the system's own."""
    try:
        yield
    except OSError as error:
        raise kind(f"{words}: {error.strerror or error}", at=str(at)) from error


def suggest(name: str, known_names: Iterable[str], *, there_is: str = "known:") -> str:
    """Return a did-you-mean for an unknown name, or the list of what there is, introduced by `there_is`.

    >>> suggest("blue", ["bleu", "rouge1"])
    "did you mean 'bleu'?"
    >>> suggest("x", ["bleu", "rouge1"])
    'known: bleu, rouge1'
    """
    names = list(known_names)
    if near := _nearest(name, names, _ALIKE, most=3):
        return _did_you_mean(near)
    return f"{there_is} {', '.join(names)}" if names else "there is none"


def misspelt(key: str, known_names: Iterable[str]) -> str:
    """Return the known name that a key can only have been meant for; empty if it is a name of its own.

    In a short name one wrong letter weighs more than the likeness lets pass: `callz` is `calls` all the same.
    """
    names = list(known_names)
    for name in names:
        if len(name) == len(key) > _SHORT and sum(map(str.__ne__, name, key)) == 1:
            return name
    return next(iter(_nearest(key, names, _MISSPELT, most=1)), "")


def _nearest(name: str, names: Sequence[str], likeness: float, *, most: int) -> list[str]:
    """Return the names that are at least so like another, the most alike first; the one place that compares spellings."""
    import difflib  # late: a command without a mistake needs none of it

    return difflib.get_close_matches(name, names, n=most, cutoff=likeness)


def _did_you_mean(names: Iterable[str]) -> str:
    """Return the question that a hint asks."""
    return "did you mean " + " or ".join(map(repr, names)) + "?"


def suggest_path(path: str | os.PathLike[str]) -> str:
    """Return what to say of a path at which nothing is: the nearest name in its folder, else what lies there."""
    missing_path = Path(path)
    folder = missing_path.parent
    if not folder.is_dir():
        return f"there is no folder {str(folder)!r}"
    try:
        names = sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))
    except OSError:
        return ""
    if near := _nearest(missing_path.name, names, _ALIKE, most=2):
        return _did_you_mean(str(folder / name) for name in near)
    alike = [repr(name) for name in names if missing_path.suffix and name.endswith(missing_path.suffix)][:5]
    where = "here" if folder == Path() else f"in {str(folder)!r}"
    return f"{where} there is {', '.join(alike)}" if alike else ""
