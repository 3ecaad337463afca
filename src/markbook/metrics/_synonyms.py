"""The synonyms of a word, read from the table that the package ships (WordNet 3.0; see data/WORDNET-LICENSE)."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from functools import lru_cache
from importlib import resources

_SUFFIXES = {
    "n": (
        *(("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z")),
        *(("ches", "ch"), ("shes", "sh"), ("men", "man"), ("ies", "y")),
    ),
    "v": (
        *(("s", ""), ("ies", "y"), ("es", "e"), ("es", "")),
        *(("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    ),
    "a": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "r": (),
}
"""WordNet's detachment rules (morphy), by part of speech."""


@lru_cache(maxsize=1)
def _lines() -> list[bytes]:
    return _bytes().split(b"\n")


def _bytes() -> bytes:
    return resources.files("markbook.metrics").joinpath("data", "synonyms.tsv").read_bytes()


@lru_cache(maxsize=1)
def table_digest() -> str:
    """Return the first eight hex digits of the table's SHA-256, which METEOR's signature carries."""
    return hashlib.sha256(_bytes()).hexdigest()[:8]


@lru_cache(maxsize=1 << 16)
def synonyms(word: str) -> frozenset[str]:
    """Return the one-word synonyms of a word over all its parts of speech and base forms, and the word itself."""
    found = {word}
    own = _entry(word)
    for part, rules in _SUFFIXES.items():
        exceptions = own.get(part.upper())
        if exceptions is None:
            forms = [word[: -len(old)] + new for old, new in rules if word.endswith(old)]
        else:
            forms = list(exceptions)
        for form in (word, *forms):
            found.update(form if synonym == "=" else synonym for synonym in _entry(form).get(part, ()))
    return frozenset(found)


@lru_cache(maxsize=1 << 16)
def _entry(form: str) -> dict[str, tuple[str, ...]]:
    if not form.isascii() or "\t" in form or "\n" in form:
        return {}
    key = form.encode("ascii") + b"\t"
    lines = _lines()
    at = bisect_left(lines, key)
    if at == len(lines) or not lines[at].startswith(key):
        return {}
    fields = lines[at].decode("ascii").split("\t")[1:]
    return {field[0]: tuple(field[2:].split()) for field in fields}
