"""Tokenisers of text metrics: those of sacrebleu's BLEU, and the Penn Treebank rules of NLTK that METEOR uses.

NLTK and sacrebleu see Unicode's character classes through the package `regex`. The table of classes that is shipped here is
of one version of Unicode, so that a value does not depend on the Python that computes it. Python's own `re` differs: a fraction is a word character and a combining mark is none, the four
separators below the space are white space, and characters that are newer than the Python are of no class at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import resources
from itertools import chain
from typing import NamedTuple

from markbook.metrics.tokens import Vocabulary


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


# The tokenisers of BLEU, equal to sacrebleu's of the same names: 13a, none, char, zh, intl.
#
# 13a looks one character to each side and treats white space as any other non-digit, so it is exact on each piece
# between white space; a piece is split once in a batch. Source: mteval-v13a.pl and mteval-v14.pl (NIST).

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
    return Vocabulary(_split if name == "13a" else lambda pieces: zip(pieces, strict=True))


def cutter(name: str, *, lowercase: bool, keep_end: bool) -> Callable[[str], list[str]]:
    """Return what cuts a text into the pieces that the vocabulary of this tokeniser takes.

    `keep_end`: white space at the end stays before the tokeniser sees it (Hugging Face keeps it).
    """

    def pieces(text: str) -> list[str]:
        text = text.lower() if lowercase else text
        text = text if keep_end else text.rstrip()
        if name == "char":
            return [character for character in text if not character.isspace()]
        if name == "zh":
            return _space_dashes(_CJK.sub(r" \1 ", text.strip())).split()
        if name == "intl":
            for pattern, replacement in _intl_rules():
                text = pattern.sub(replacement, text)
        elif name == "13a":
            text = text.replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
            for entity, character in _ENTITIES if "&" in text else ():
                text = text.replace(entity, character)
        return text.split()

    return pieces


def words(name: str, text: str, *, lowercase: bool, keep_end: bool) -> list[str]:
    """Return a text's tokens as words; the arguments are those of `cutter`."""
    pieces = cutter(name, lowercase=lowercase, keep_end=keep_end)(text)
    return [token for some in _split(pieces) for token in some] if name == "13a" else pieces


def _split(pieces: list[str]) -> list[Sequence[str]]:
    """Apply the rules to all pieces at once: between spaces, none of them reaches over the end of a line."""
    lines = " \n ".join([piece for piece in pieces if not piece.isalnum()])
    ruled = iter(_space_dashes(f" {lines} ").split("\n"))
    return [(piece,) if piece.isalnum() else next(ruled).split() for piece in pieces]


def _space_dashes(text: str) -> str:
    text = text.translate(_SYMBOLS)
    text = _AFTER_NON_DIGIT.sub(r"\1 \2 ", text)
    text = _BEFORE_NON_DIGIT.sub(r" \1 \2", text)
    return _DASH.sub(r"\1 \2 ", text)


@lru_cache(maxsize=1)
def _intl_rules() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return the rules on the classes of numbers, punctuation and symbols."""
    number, mark, symbol = map(members, ("number", "mark", "symbol"))
    return (
        (re.compile(f"([^{number}])([{mark}])"), r"\1 \2 "),
        (re.compile(f"([{mark}])([^{number}])"), r" \1 \2"),
        (re.compile(f"([{symbol}])"), r" \1 "),
    )


# Word tokens by the Penn Treebank rules, equal to NLTK's `NLTKWordTokenizer`, without sentence splitting.
#
# Source: the rules of R. MacIntyre's tokenizer.sed (1995), with the Unicode quotes, dashes and clitics that NLTK's
# `word_tokenize` adds; what a word character, a digit and white space are, NLTK (from 3.10 on) asks the package `regex`. Every rule looks one character to each side, so a text
# is tokenised piece by piece between its spaces and each distinct piece only once. Two things look further and
# are kept exact: the rules at the start and the end of a text, and a closing quote that takes the space which the
# next piece's opening quote would need.

_SPACE, _DIGIT = f"[{members('space')}]", members("digit")
_OPENING = (
    (re.compile(r"([«“‘„]|`+)"), r" \1 "),
    (re.compile(r"(``)"), r" \1 "),
    (re.compile(r"([ (\[{<])(\"|'{2})"), r"\1 `` "),
)
_LAST_PERIOD = re.compile(r"([^.])(\.)([\])}>\"'»”’ ]*+)" + _SPACE + "*$")
_COLON = re.compile(rf"([:,])([^{_DIGIT}])")
_COLON_AT_END = re.compile(r"([:,])$")
_ELLIPSIS = re.compile(r"\.{2,}")
_PADDED_FIRST, _PADDED_NEXT, _PADDED_LAST = ";@#$%&\u2012\u2013\u2014\u2015", "?!", "*[](){}<>"
"""Marks that stand alone wherever they stand, in the order in which the other rules come between."""
_FINAL_PERIOD = re.compile(r"([^.])(\.)([\])}>\"']*)" + _SPACE + "*$")
_QUOTE_AT_END = re.compile(r"([^'])' ")
_CLOSING = (
    (re.compile(f"{_SPACE}+"), " "),
    (re.compile(r"([^' ])('[sS]|'[mM]|'[dD]|') "), r"\1 \2 "),
    (re.compile(r"([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) "), r"\1 \2 "),
)
_CONTRACTIONS = tuple(
    (re.compile(rf"(?i){pattern}"), r" \1 \2 ")
    for pattern in (
        *(r"\b(can)(not)\b", r"\b(d)('ye)\b", r"\b(gim)(me)\b", r"\b(gon)(na)\b", r"\b(got)(ta)\b"),
        *(r"\b(lem)(me)\b", r"\b(more)('n)\b", r"\b(wan)(na)(?=\s)", r" ('t)(is)\b", r" ('t)(was)\b"),
    )
)
_CONTRACTED_PARTS = ("cannot", "'ye", "gimme", "gonna", "gotta", "lemme", "e'n", "wanna", "'tis", "'twas")
_LIKE_ASCII = frozenset("\u0130\u0131\u017f\u212a")
"""No contraction is matched without its part, or a letter that is one of ASCII's where case does not count."""
_QUOTES = frozenset("'\"`«»“”‘’„")
_SIMPLE = re.compile(r"(\(?)([A-Za-z0-9]+(?:[.,][0-9]+)*\.?)([,;:?!)]?)")
"""Most pieces: a word or number, perhaps with a mark at an end; no rule but the obvious one applies."""
_SIMPLE_END = re.compile(rf"([A-Za-z0-9]+)([.,;:?!)]?){_SPACE}*")
_CONTRACTED_WORDS = frozenset({"cannot", "gimme", "gonna", "gotta", "lemme", "wanna"})
_CONTRACTED = re.compile("|".join(_CONTRACTED_WORDS))
_AFTER_LAST = "])}>" + "".join(letter for letter in map(chr, range(0x3001)) if letter.isspace())
"""What may stand behind the last word of a text without quotes."""
_BETWEEN = "\0"
"""What stands between pieces with quotes: of no class that a rule asks for."""
_ENDS = frozenset("])}>\"'»”’«“‘„`")
"""What may stand between the last period and the end of a text."""


class Piece(NamedTuple):
    """A piece that needs more rules than one between two spaces, with the spaces that belong to it."""

    text: str
    start: bool
    """Whether it stands at the start of the text."""
    end: bool
    """Whether it stands at the end of the text."""


def pieces(text: str) -> list[str | Piece]:
    """Cut a text into pieces, each of which `tokens` can take without a look at the others."""
    if not any(quote in text for quote in _QUOTES):
        # Only the rules of quotes tell a space from other white space, or look at the start of a text.
        body = text.rstrip(_AFTER_LAST)
        parts_found: list[str | Piece] = [*body.split()]
        if len(parts_found) < 2:
            return [Piece(text, start=True, end=True)]
        parts_found[-1] = Piece(f" {parts_found[-1]}{text[len(body) :]}", start=False, end=True)
        return parts_found
    # What stands at both sides of a space between two quotes stays together: the closing one takes that space.
    parts = text.split(" ")
    if "' '" in text:
        runs: list[list[str]] = []
        for part in parts:
            if runs and part.startswith("'") and runs[-1][-1].endswith("'"):
                runs[-1].append(part)
            else:
                runs.append([part])
        parts = [" ".join(run) for run in runs]
    last = len(parts) - 1
    while last > 0 and _ENDS.issuperset("".join(parts[last].split())):
        last -= 1
    if last < 2:
        return [Piece(text, start=True, end=True)]
    tail = " ".join(parts[last:])
    # Code is full of spaces side by side, between which stands nothing.
    middle = filter(None, parts[1:last])
    return [Piece(f"{parts[0]} ", start=True, end=False), *middle, Piece(f" {tail}", start=False, end=True)]


def tokens(pieces: Sequence[str | Piece]) -> list[list[str]]:
    """Return the tokens of each piece in lower case, which METEOR compares."""
    # Only the rules of quotes tell a space from other white space.
    plain = [piece.split() if isinstance(piece, str) and _QUOTES.isdisjoint(piece) else None for piece in pieces]
    parts = dict.fromkeys(chain.from_iterable([parts for parts in plain if parts]))
    tokens_by_part = {part: [part.lower()] for part in parts if part.isalnum() and part.isascii()}
    for word in _CONTRACTED_WORDS.intersection(map(str.lower, tokens_by_part)):
        tokens_by_part = {part: part_tokens for part, part_tokens in tokens_by_part.items() if part_tokens != [word]}
    ruled = [part for part in parts if part not in tokens_by_part]
    if ruled:
        # Between spaces, no rule but those of quotes reaches over the end of a line.
        lines = _space_tokens(" " + " \n ".join(ruled) + " ").lower().split("\n")
        tokens_by_part.update(zip(ruled, map(str.split, lines), strict=True))
    # With a space at each side of each piece with quotes, no rule reaches over what is put between them.
    is_beside = [
        isinstance(piece, str) and parts is None and _BETWEEN not in piece
        for piece, parts in zip(pieces, plain, strict=True)
    ]
    beside = [str(piece) for piece, is_quoted in zip(pieces, is_beside, strict=True) if is_quoted]
    quoted = iter(_space_tokens(f" {f' {_BETWEEN} '.join(beside)} ").lower().split(_BETWEEN) if beside else ())
    token_lists = []
    for piece, parts_split, is_quoted in zip(pieces, plain, is_beside, strict=True):
        if is_quoted:
            token_lists.append(next(quoted).split())
        elif parts_split is None:
            token_lists.append([token.lower() for token in _alone(piece)])
        elif len(parts_split) == 1:
            token_lists.append(tokens_by_part[parts_split[0]])
        else:
            token_lists.append(list(chain.from_iterable([tokens_by_part[part] for part in parts_split])))
    return token_lists


def _alone(piece: str | Piece) -> list[str]:
    """Return the tokens of a piece at an end of the text, or of one that cannot stand beside others."""
    if isinstance(piece, str):
        return _space_tokens(f" {piece} ").split()
    if not piece.end:
        return _simple(piece.text[:-1]) or _space_tokens(piece.text, start=True).split()
    simple = None if piece.start else _SIMPLE_END.fullmatch(piece.text[1:])
    if simple and not _CONTRACTED.search(piece.text.lower()):
        return [token for token in simple.groups() if token]
    return _space_tokens(piece.text, start=piece.start, end=True).split()


def _simple(piece: str) -> list[str]:
    """Return the tokens of a piece that needs no rule, nothing if it may need one."""
    if piece.isalnum() and piece.isascii():
        return [] if piece.lower() in _CONTRACTED_WORDS else [piece]
    simple = _SIMPLE.fullmatch(piece)
    if simple is None or _CONTRACTED.search(piece.lower()):
        return []
    return [token for token in simple.groups() if token]


def _space_tokens(text: str, *, start: bool = False, end: bool = False) -> str:
    """Put spaces between the tokens of a text, which may be the start or the end of a longer one."""
    present = set(text)
    lower = text.lower()
    folded = not present.isdisjoint(_LIKE_ASCII)
    contractions = [
        rule for part, rule in zip(_CONTRACTED_PARTS, _CONTRACTIONS, strict=True) if folded or part in lower
    ]
    quoted = not present.isdisjoint(_QUOTES)
    if quoted:
        (first, first_replacement), *others = _OPENING
        text = first.sub(first_replacement, text)
        if start and text.startswith('"'):
            text = "``" + text[1:]
        for pattern, replacement in others:
            text = pattern.sub(replacement, text)
        text = _opening_apostrophe().sub(r"\1 ", text)
    if end and "." in present:
        text = _LAST_PERIOD.sub(r"\1 \2 \3 ", text)
    if ":" in present or "," in present:
        text = _COLON.sub(lambda match: f" {match[1]} {match[2]}", text)  # a template takes three times as long
        if end:
            text = _COLON_AT_END.sub(r" \1 ", text)
    if "." in present:
        text = _ELLIPSIS.sub(r" \g<0> ", text)
    text = _pad_marks(text, _PADDED_FIRST, present)
    if end and "." in present:
        text = _FINAL_PERIOD.sub(r"\1 \2\3 ", text)
    text = _pad_marks(text, _PADDED_NEXT, present)
    if quoted:
        text = _QUOTE_AT_END.sub(r"\1 ' ", text)
    text = f" {_pad_marks(text, _PADDED_LAST, present).replace('--', ' -- ')} "
    if quoted:
        text = _pad_marks(text, "»”’", present).replace("''", " '' ").replace('"', " '' ")
        for pattern, replacement in _CLOSING:
            text = pattern.sub(replacement, text)
    for pattern, replacement in contractions:
        text = pattern.sub(replacement, text)
    return text


def _pad_marks(text: str, marks: str, present: set[str]) -> str:
    """Put spaces around those of the marks that there are."""
    for mark in marks:
        if mark in present:
            text = text.replace(mark, f" {mark} ")
    return text


@lru_cache(maxsize=1)
def _opening_apostrophe() -> re.Pattern[str]:
    """Return the rule of an apostrophe before a word that is not a clitic; its large classes take a while to compile."""
    word = f"[{members('word')}]"
    # The apostrophe comes first, so that the search stops nowhere else.
    return re.compile(f"(')(?<!{word}')(?!(?i:re|ve|ll|m|t|s|d|n)(?!{word}))(?={word})")
