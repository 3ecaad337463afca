"""The synonyms of a word, read from the table that the package ships (WordNet 3.0; see data/WORDNET-LICENSE)."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterable
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


def _by_last_letter() -> dict[str, list[tuple[str, str, str]]]:
    by_letter: dict[str, list[tuple[str, str, str]]] = {}
    for part, rules in _SUFFIXES.items():
        for old, new in rules:
            by_letter.setdefault(old[-1], []).append((part, old, new))
    return by_letter


_RULES = _by_last_letter()


@lru_cache(maxsize=1)
def _lines() -> list[bytes]:
    return _bytes().split(b"\n")


def _bytes() -> bytes:
    return resources.files("markbook.metrics.text").joinpath("data", "synonyms.tsv").read_bytes()


@lru_cache(maxsize=1)
def table_digest() -> str:
    """Return the first eight hex digits of the table's SHA-256, which METEOR's signature carries."""
    return hashlib.sha256(_bytes()).hexdigest()[:8]


@lru_cache(maxsize=1 << 16)
def synonyms(word: str) -> frozenset[str]:
    """Return the one-word synonyms of a word over all its parts of speech and base forms, and the word itself."""
    own = _entry(word)
    words_found = {word}
    for part, words in own.items():
        if part in _SUFFIXES:
            _add(words_found, word, words)
        else:  # the part in capitals: base forms that no rule gives
            for form in words:
                _add(words_found, form, _entry(form).get(part.lower(), ()))
    for part, old, new in _RULES.get(word[-1:], ()):
        if word.endswith(old) and part.upper() not in own:
            form = word[: -len(old)] + new
            _add(words_found, form, _entry(form).get(part, ()))
    return frozenset(words_found)


def _add(words_found: set[str], form: str, words: Iterable[str]) -> None:
    words_found.update([form if word == "=" else word for word in words])


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
