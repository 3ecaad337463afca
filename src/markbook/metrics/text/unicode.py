"""Character classes by one version of Unicode, whatever Python runs: those that NLTK and sacrebleu see through `regex`.

Python's own `re` and tables differ from them: a fraction is a word character and a combining mark is none, the four
separators below the space are white space, and characters that are newer than the Python are of no class at all.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import resources


@lru_cache(maxsize=1)
def _table() -> dict[str, str]:
    text = resources.files("markbook.metrics.text").joinpath("data", "unicode.txt").read_text("ascii")
    return dict(line.split(" ", 1) for line in text.splitlines())


def version() -> str:
    """Return the version of Unicode."""
    return _table()["unicode"]


@lru_cache(maxsize=8)
def members(name: str) -> str:
    """Return a class (`word`, `space`, `digit`, `number`, `mark`, `symbol`) as it stands between a pattern's brackets."""
    return "".join(
        "-".join(f"\\U{int(point, 16):08x}" for point in part.split("-")) for part in _table()[name].split(" ")
    )
