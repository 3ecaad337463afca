"""Keys of our own rows that are misspelt, or stand where nobody reads them; all others are the user's own."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping

from markbook.load.benchmark import RowError

_ALIKE = 0.83
"""How alike two keys are that are taken for one: `check` and `checker` are, `problem_id` and `problem` are not."""


def refuse_misspelt(
    row: Mapping[str, object], keys_known: Collection[str], *, of: str = "", elsewhere: Mapping[str, str] | None = None
) -> None:
    """Do nothing if every key of a row is known, or like none that the row lacks.

    Args:
        row: a problem, or a part of one.
        keys_known: the keys that are read there.
        of: which part it is, for the message.
        elsewhere: keys that are read in another place, and where.

    Raises:
        RowError: a key is misspelt or misplaced; says what it was to be.
    """
    suffix = f" of {of}" if of else ""
    keys_given = {
        str(key) for key, value in row.items() if value is not None
    }  # null is what a table has instead of nothing
    for key in sorted(keys_given.difference(keys_known)):
        if elsewhere is not None and key in elsewhere:
            raise RowError(f"{key!r}{suffix} is read in {elsewhere[key]}, not here")
        lacking = [name for name in keys_known if name not in keys_given]
        near = difflib.get_close_matches(key.lower(), lacking, n=1, cutoff=_ALIKE)
        if near:
            raise RowError(f"unknown key {key!r}{suffix}: did you mean {near[0]!r}?")
