"""Which languages can be marked and run: the one place that more of them extend."""

from __future__ import annotations

from markbook.errors import UsageError

SPELLINGS = {"python": "python", "python3": "python", "py": "python"}
"""What callers write, and the language that it means."""


class UnsupportedLanguage(UsageError):  # noqa: N818 - the word that the field uses
    """There is nothing here that runs it."""


def language(name: str) -> str:
    """Return the language that a name means.

    Raises:
        UnsupportedLanguage: none that is here.
    """
    found = SPELLINGS.get(name.lower())
    if found is None:
        raise UnsupportedLanguage(
            f"unsupported language {name[:40]!r}", hint=f"known: {', '.join(sorted(set(SPELLINGS.values())))}"
        )
    return found
