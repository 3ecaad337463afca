"""Word tokens by the Penn Treebank rules, equal to NLTK's `NLTKWordTokenizer`, without sentence splitting.

Source: the rules of R. MacIntyre's tokenizer.sed (1995), with the Unicode quotes, dashes and clitics that NLTK's
`word_tokenize` adds. Every rule looks one character to each side, so a text
is tokenised piece by piece between its spaces and each distinct piece only once. Two things look further and
are kept exact: the rules at the start and the end of a text, and a closing quote that takes the space which the
next piece's opening quote would need.
"""

from __future__ import annotations

import re
from itertools import chain

_OPENING = (
    (re.compile(r"([«“‘„]|`+)"), r" \1 "),  # noqa: RUF001 - the quotes are the rule
    (re.compile(r"(``)"), r" \1 "),
    (re.compile(r"([ (\[{<])(\"|'{2})"), r"\1 `` "),
    (re.compile(r"(?i)(?<!\w)(')(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)"), r"\1 "),
)
_LAST_PERIOD = re.compile(r"([^.])(\.)([\])}>\"'»”’ ]*+)\s*$")  # noqa: RUF001 - the quotes are the rule
_COLON = re.compile(r"([:,])([^\d])")
_COLON_AT_END = re.compile(r"([:,])$")
_INSIDE = (
    (re.compile(r"\.{2,}"), r" \g<0> "),
    (re.compile(r"[;@#$%&]"), r" \g<0> "),
    (re.compile(r"[\u2012-\u2015]"), r" \g<0> "),
)
_FINAL_PERIOD = re.compile(r"([^.])(\.)([\])}>\"']*)\s*$")
_LATE = (
    (re.compile(r"[?!]"), r" \g<0> "),
    (re.compile(r"([^'])' "), r"\1 ' "),
    (re.compile(r"[*\]\[(){}<>]"), r" \g<0> "),
    (re.compile(r"--"), " -- "),
)
_CLOSING = (
    (re.compile(r"([»”’])"), r" \1 "),  # noqa: RUF001 - the quotes are the rule
    (re.compile(r"''"), " '' "),
    (re.compile(r'"'), " '' "),
    (re.compile(r"\s+"), " "),
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
_QUOTES = frozenset("'\"`«»“”‘’„")  # noqa: RUF001 - the quotes are the rule
_SIMPLE = re.compile(r"(\(?)([A-Za-z0-9]+(?:[.,][0-9]+)*\.?)([,;:?!)]?)")
"""Most pieces: a word or number, perhaps with a mark at an end; no rule but the obvious one applies."""
_SIMPLE_END = re.compile(r"([A-Za-z0-9]+)([.,;:?!)]?)\s*")
_CONTRACTED = re.compile(r"cannot|gimme|gonna|gotta|lemme|wanna")
_ENDS = frozenset("])}>\"'»”’«“‘„`")  # noqa: RUF001 - the quotes are the rule
"""What may stand between the last period and the end of a text."""


class Treebank:
    """A tokeniser that remembers each piece it has seen; make one for a batch, so that it is bounded by it."""

    def __init__(self) -> None:
        self._pieces = _Pieces()

    def tokens(self, text: str) -> list[str]:
        """Return the tokens of a text in lower case, which METEOR compares."""
        pieces = text.split(" ")
        last = len(pieces) - 1
        while last > 0 and _ENDS.issuperset(pieces[last].strip()):
            last -= 1
        if last < 2 or "' '" in text:
            return [token.lower() for token in _split(text, start=True, end=True)]
        tokens = list(_simple(pieces[0]) or _lowered(_split(pieces[0] + " ", start=True, end=False)))
        tokens += chain.from_iterable(map(self._pieces.__getitem__, pieces[1:last]))
        tail = " ".join(pieces[last:])
        simple = _SIMPLE_END.fullmatch(tail)
        if simple and not _CONTRACTED.search(tail.lower()):
            tokens += [token.lower() for token in simple.groups() if token]
        else:
            tokens += _lowered(_split(f" {tail}", start=False, end=True))
        return tokens


def _lowered(tokens: list[str]) -> tuple[str, ...]:
    return tuple(token.lower() for token in tokens)


def _simple(piece: str) -> tuple[str, ...]:
    """Return the tokens of a piece that needs no rule, nothing if it may need one."""
    lowered = piece.lower()
    simple = _SIMPLE.fullmatch(lowered)
    if simple is None or _CONTRACTED.search(lowered):
        return ()
    return tuple(token for token in simple.groups() if token)


class _Pieces(dict[str, tuple[str, ...]]):
    """The tokens of a piece that stands between two spaces."""

    def __missing__(self, piece: str) -> tuple[str, ...]:
        parts = piece.split()
        if len(parts) > 1 and _QUOTES.isdisjoint(piece):
            # Only the rules of quotes tell a space from other white space.
            found = tuple(chain.from_iterable(self[part] for part in parts))
        else:
            found = _simple(piece) or _lowered(_split(f" {piece} ", start=False, end=False))
        self[piece] = found
        return found


def _split(text: str, *, start: bool, end: bool) -> list[str]:
    present = set(text)
    if not present.isdisjoint(_QUOTES):
        text = _open_quotes(text, start=start)
    if end:
        text = _LAST_PERIOD.sub(r"\1 \2 \3 ", text)
    text = _COLON.sub(r" \1 \2", text)
    if end:
        text = _COLON_AT_END.sub(r" \1 ", text)
    for pattern, replacement in _INSIDE:
        text = pattern.sub(replacement, text)
    if end:
        text = _FINAL_PERIOD.sub(r"\1 \2\3 ", text)
    for pattern, replacement in _LATE:
        text = pattern.sub(replacement, text)
    text = f" {text} "
    quoted = not present.isdisjoint(_QUOTES)
    if quoted:
        for pattern, replacement in _CLOSING:
            text = pattern.sub(replacement, text)
    if quoted or _CONTRACTED.search(text.lower()):
        for pattern, replacement in _CONTRACTIONS:
            text = pattern.sub(replacement, text)
    return text.split()


def _open_quotes(text: str, *, start: bool) -> str:
    pattern, replacement = _OPENING[0]
    text = pattern.sub(replacement, text)
    if start and text.startswith('"'):
        text = "``" + text[1:]
    for pattern, replacement in _OPENING[1:]:
        text = pattern.sub(replacement, text)
    return text
