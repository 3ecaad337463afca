"""Tests in other languages than Python that nobody can be marked by."""

from __future__ import annotations

from markbook.errors import UsageError
from markbook.languages import language
from markbook.types import Test


def language_fault(name: str, test: Test) -> str:
    """Return why nothing can be marked by a test in a language, empty if something can; so for an unknown language."""
    try:
        return language(name).fault_of(test.program)
    except UsageError:
        return ""
