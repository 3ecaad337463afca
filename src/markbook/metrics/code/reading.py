"""Texts as CodeBLEU compares them, each read once: a reference is marked against many candidates."""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import dataclass, field

from markbook.metrics.code import ngrams, parsers
from markbook.metrics.code.flow import Edge, edges
from markbook.metrics.code.shapes import Shapes

CACHED_CHARACTERS = 50_000
"""Longer texts are not remembered."""


@dataclass(frozen=True, slots=True)
class CodeShape:
    """What is compared of one text beyond its words. Numbers are those of the reader that made it."""

    syntax: Counter[int] = field(default_factory=Counter)
    """How often each sub-tree occurs; empty where the text does not parse."""
    flow: Counter[Edge] = field(default_factory=Counter)
    parses: bool = False


class CodeReader:
    """Reads the texts of one language. Short ones are remembered, references apart from candidates."""

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self.shapes = Shapes()
        self._reference = functools.lru_cache(maxsize=1024)(self._read)
        self._candidate = functools.lru_cache(maxsize=256)(self._read)

    def reference(self, text: str) -> CodeShape:
        """Return what is compared of a reference."""
        return self._reference(text) if len(text) <= CACHED_CHARACTERS else self._read(text)

    def candidate(self, text: str) -> CodeShape:
        """Return what is compared of a candidate."""
        return self._candidate(text) if len(text) <= CACHED_CHARACTERS else self._read(text)

    def _read(self, text: str) -> CodeShape:
        read = parsers.read(self.lang, text, self.shapes)
        if isinstance(read, str) or not read.counted:
            return CodeShape()
        return CodeShape(Counter(read.counted), edges(read.program), read.parses)


_READERS: dict[str, CodeReader] = {}


def reader(lang: str) -> CodeReader:
    """Return the reader of a language; a new one where the table of the last has grown too large."""
    reader_ = _READERS.get(lang)
    if reader_ is None or reader_.shapes.is_full:
        reader_ = _READERS[lang] = CodeReader(lang)
    return reader_


def forget() -> None:
    """Start anew, as a new process would."""
    _READERS.clear()
    ngrams.forget()
