"""Programming languages: how an answer and its tests become a program, and what runs it; `definitions` has one file a language."""

from __future__ import annotations

from markbook.languages.language import Alone, Ending, Failures, Language, Library, Places
from markbook.languages.toolchain import Toolchain, find, language, names, versions

__all__ = [
    "Alone",
    "Ending",
    "Failures",
    "Language",
    "Library",
    "Places",
    "Toolchain",
    "find",
    "language",
    "names",
    "versions",
]
