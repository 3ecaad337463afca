"""The tokenisers of BLEU, equal to sacrebleu's of the same names: 13a, none, char, zh, intl.

13a looks one character to each side and treats white space as any other non-digit, so it is exact on each piece
between white space; a piece is split once in a batch. Source: mteval-v13a.pl and mteval-v14.pl (NIST).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from markbook.metrics.text.unicode import members
from markbook.metrics.tokens import Vocabulary

_SYMBOLS = str.maketrans({symbol: f" {symbol} " for symbol in ' !"#$%&()*+/:;<=>?@[\\]^_`{|}~'})
"""What 13a writes as `[\\{-\\~\\[-\\` -\\&\\(-\\+\\:-\\@\\/]`."""
_AFTER_NON_DIGIT = re.compile(r"([^0-9])([\.,])")
_BEFORE_NON_DIGIT = re.compile(r"([\.,])([^0-9])")
_DASH = re.compile(r"([0-9])(-)")
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


def vocabulary(name: str) -> Vocabulary:
    """Return an empty vocabulary of the tokeniser of this name."""
    return Vocabulary(_split if name == "13a" else _themselves)


def cutter(name: str, *, lowercase: bool, keep_end: bool) -> Callable[[str], list[str]]:
    """Return what cuts a text into the pieces that the vocabulary of this name takes.

    Args:
        name: of the tokeniser.
        lowercase: whether the text is lower-cased first.
        keep_end: whether white space at the end stays before the tokeniser sees it (Hugging Face keeps it).
    """
    cutters: dict[str, Callable[[str], list[str]]] = {"char": _char, "zh": _zh, "intl": _intl}
    cutters |= {"13a": _mteval_pieces, "none": str.split}
    cut = cutters[name]

    def pieces(text: str) -> list[str]:
        if lowercase:
            text = text.lower()
        return cut(text if keep_end else text.rstrip())

    return pieces


def words(name: str, text: str, *, lowercase: bool, keep_end: bool) -> list[str]:
    """Return a text's tokens as words; the arguments are those of `cutter`."""
    pieces = cutter(name, lowercase=lowercase, keep_end=keep_end)(text)
    return [token for some in _split(pieces) for token in some] if name == "13a" else pieces


def _themselves(pieces: list[str]) -> Iterable[tuple[str]]:
    return zip(pieces, strict=True)


def _mteval_pieces(text: str) -> list[str]:
    return _clean(text).split()


def _split(pieces: list[str]) -> list[Sequence[str]]:
    """Apply the rules to all pieces at once: between spaces, none of them reaches over the end of a line."""
    lines = " \n ".join([piece for piece in pieces if not piece.isalnum()])
    ruled = iter(_space_dashes(f" {lines} ").split("\n"))
    return [(piece,) if piece.isalnum() else next(ruled).split() for piece in pieces]


def _clean(text: str) -> str:
    text = text.replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    if "&" in text:
        for entity, character in _ENTITIES:
            text = text.replace(entity, character)
    return text


def _space_dashes(text: str) -> str:
    text = text.translate(_SYMBOLS)
    text = _AFTER_NON_DIGIT.sub(r"\1 \2 ", text)
    text = _BEFORE_NON_DIGIT.sub(r" \1 \2", text)
    return _DASH.sub(r"\1 \2 ", text)


def _char(text: str) -> list[str]:
    return [character for character in text if not character.isspace()]


def _zh(text: str) -> list[str]:
    return _space_dashes(_CJK.sub(r" \1 ", text.strip())).split()


def _intl(text: str) -> list[str]:
    for pattern, replacement in _intl_rules():
        text = pattern.sub(replacement, text)
    return text.split()


@lru_cache(maxsize=1)
def _intl_rules() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return the rules on the classes of numbers, punctuation and symbols."""
    number, mark, symbol = map(members, ("number", "mark", "symbol"))
    return (
        (re.compile(f"([^{number}])([{mark}])"), r"\1 \2 "),
        (re.compile(f"([{mark}])([^{number}])"), r" \1 \2"),
        (re.compile(f"([{symbol}])"), r" \1 "),
    )
