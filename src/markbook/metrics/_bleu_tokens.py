"""The tokenisers of BLEU, equal to sacrebleu's of the same names: 13a, none, char, zh, intl.

13a looks one character to each side and treats white space as any other non-digit, so it is exact on each piece
between white space; a piece is split once in a batch. Source: mteval-v13a.pl and mteval-v14.pl (NIST).
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from itertools import chain

_SYMBOL = re.compile(r"([\{-\~\[-\` -\&\(-\+\:-\@\/])")
_AFTER_NON_DIGIT = re.compile(r"([^0-9])([\.,])")
_BEFORE_NON_DIGIT = re.compile(r"([\.,])([^0-9])")
_DASH = re.compile(r"([0-9])(-)")
_PLAIN = re.compile(r"[0-9A-Za-z\x80-\U0010ffff]+")
_PLAIN_AND_MARK = re.compile(r"([0-9A-Za-z\x80-\U0010ffff]+)([,.;:!?)/=(\]\[+*\"])")
"""A word with one mark behind it: most pieces are this or a plain word, and need no rule."""
_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))

_CJK_RANGES = (
    *((0x3400, 0x4DB5), (0x4E00, 0x9FA5), (0x9FA6, 0x9FBB), (0xF900, 0xFA2D), (0xFA30, 0xFA6A), (0xFA70, 0xFAD9)),
    # sacrebleu writes the next two as four-digit escapes with a digit behind, which makes these other ranges of them.
    *((0x2001, 0x2A6D), (0x2F81, 0x2FA1)),
    *((0xFF00, 0xFFEF), (0x2E80, 0x2EFF), (0x3000, 0x303F), (0x31C0, 0x31EF), (0x2F00, 0x2FDF), (0x2FF0, 0x2FFF)),
    *((0x3100, 0x312F), (0x31A0, 0x31BF), (0xFE10, 0xFE1F), (0xFE30, 0xFE4F), (0x2600, 0x26FF), (0x2700, 0x27BF)),
    *((0x3200, 0x32FF), (0x3300, 0x33FF)),
)
_CJK = re.compile("([" + "".join(f"{chr(low)}-{chr(high)}" for low, high in _CJK_RANGES) + "])")

NAMES = ("13a", "none", "char", "zh", "intl")


class Tokens:
    """Texts as lists of numbers, one a distinct token; make one for a batch, so that it is bounded by it."""

    def __init__(self, name: str, *, lowercase: bool, keep_end: bool) -> None:
        """Take the tokeniser's name, and whether white space at the end is kept before it (Hugging Face does)."""
        self._numbers: dict[str, int] = {}
        self._pieces = _Pieces(self._number)
        self._split: Callable[[str], list[str]] | None = {"char": _char, "zh": _zh, "intl": _intl}.get(name)
        self._by_piece = name == "13a"
        self._lowercase = lowercase
        self._keep_end = keep_end

    def of(self, text: str) -> list[int]:
        """Return a text's tokens as numbers."""
        if self._lowercase:
            text = text.lower()
        if not self._keep_end:
            text = text.rstrip()
        if self._by_piece:
            return list(chain.from_iterable(map(self._pieces.__getitem__, _clean(text).split())))
        return list(map(self._number, self._split(text) if self._split else text.split()))

    def _number(self, token: str) -> int:
        return self._numbers.setdefault(token, len(self._numbers))


class _Pieces(dict[str, tuple[int, ...]]):
    def __init__(self, number: Callable[[str], int]) -> None:
        super().__init__()
        self._number = number

    def __missing__(self, piece: str) -> tuple[int, ...]:
        if _PLAIN.fullmatch(piece):
            tokens = [piece]
        elif simple := _PLAIN_AND_MARK.fullmatch(piece):
            tokens = list(simple.groups())
        else:
            tokens = _mteval(f" {piece} ")
        found = self[piece] = tuple(map(self._number, tokens))
        return found


def _clean(text: str) -> str:
    text = text.replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    if "&" in text:
        for entity, character in _ENTITIES:
            text = text.replace(entity, character)
    return text


def _mteval(text: str) -> list[str]:
    text = _SYMBOL.sub(r" \1 ", text)
    text = _AFTER_NON_DIGIT.sub(r"\1 \2 ", text)
    text = _BEFORE_NON_DIGIT.sub(r" \1 \2", text)
    return _DASH.sub(r"\1 \2 ", text).split()


def _char(text: str) -> list[str]:
    return [character for character in text if not character.isspace()]


def _zh(text: str) -> list[str]:
    return _mteval(_CJK.sub(r" \1 ", text.strip()))


def _intl(text: str) -> list[str]:
    for pattern, replacement in _intl_rules():
        text = pattern.sub(replacement, text)
    return text.split()


@lru_cache(maxsize=1)
def _intl_rules() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Build the classes of numbers, punctuation and symbols from Python's own Unicode tables."""
    ranges: dict[str, list[str]] = {"N": [], "P": [], "S": []}
    start, kind = 0, ""
    for point in range(sys.maxunicode + 2):
        now = unicodedata.category(chr(point))[0] if point <= sys.maxunicode else ""
        if now != kind:
            if kind in ranges:
                ranges[kind].append(f"\\U{start:08x}-\\U{point - 1:08x}")
            start, kind = point, now
    number, mark, symbol = ("".join(ranges[kind]) for kind in "NPS")
    return (
        (re.compile(f"([^{number}])([{mark}])"), r"\1 \2 "),
        (re.compile(f"([{mark}])([^{number}])"), r" \1 \2"),
        (re.compile(f"([{symbol}])"), r" \1 "),
    )
