"""A test of the tests' own with another expectation: what gets past it has tampered with what its tests assert by.

Only a comparison that cannot hold for a right answer will do: its left side is a call of constants, which nothing before it
can have changed, and its right side a constant, of which one word or digit is made another.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?!\w)(?!\s*(?:[(!<]|::))")
_TYPE = re.compile(
    r"bool|char|double|false|float|int|long|new|short|string|true|unsigned|None|String|[iu](?:8|16|32|64|size)|f64"
)
"""Names of what is no variable."""
_NUMBER = re.compile(r"(?<![\w.\\])(\d{0,5})(\d)(?![\dxXbo_])")
"""Of more digits than that a `float` might hold the same."""
_TRUTH = re.compile(r"\b(?:true|false)\b")
_PLAIN = re.compile(r'"([^"\\\n]*)"')
_OPEN, _CLOSE = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """How tests of a language say that two values are equal, on a line of their own."""

    statement: str
    """A pattern; `inner` is what holds both values."""
    separator: str
    """What stands between them."""
    claim: str
    """The claim in whose place it is put."""
    end: str = r"\s*"
    """What may stand behind the last one, so that its names are known where the tests end."""
    is_constant: bool = False
    """Whether the pattern itself lets nothing by but a call of constants."""


def contradiction(tests: str, comparison: Comparison) -> str | None:
    """Return the last comparison of the tests with another expectation; None if that is not sure to be wrong."""
    last = next(iter(reversed(list(re.finditer(comparison.statement, tests, re.MULTILINE)))), None)
    if last is None or not re.fullmatch(comparison.end, tests[last.end() :]):
        return None
    inner = last["inner"]
    sides = _split(inner, comparison.separator)
    if len(sides) != 2 or (not comparison.is_constant and any(_names(side) for side in sides)):
        return None
    other = _other(sides[1])
    if other is None:
        return None
    start, end = (position - last.start() for position in last.span("inner"))
    return f"{last[0][:start]}{sides[0]}{comparison.separator}{other}{last[0][end:]}".strip()


def _split(text: str, separator: str) -> list[str]:
    """Return what stands between separators that are in no text and no bracket."""
    bare = _bare(text)
    parts, depth, begun = [], 0, 0
    for at, sign in enumerate(bare):
        depth += (sign in _OPEN) - (sign in _CLOSE)
        if depth == 0 and at >= begun and bare.startswith(separator, at):
            parts.append(text[begun:at])
            begun = at + len(separator)
    return [*parts, text[begun:]]


def _bare(text: str) -> str:
    """Return a text with nothing in its strings, each sign where it was."""
    return _TEXT.sub(lambda match: '"' + "_" * (len(match[0]) - 2) + '"', text)


def _names(text: str) -> set[str]:
    """Return the variables of an expression, and every sign by which it is more than calls and constants."""
    bare = _TEXT.sub('""', text)
    variables = {name for name in _NAME.findall(bare) if not _TYPE.fullmatch(name)}
    return variables | set(re.findall(r"&&|\|\||[?;=]|'", bare))


def _other(expected: str) -> str | None:
    """Return another constant of the same type."""
    masked_text = expected
    while (masked := re.sub(r"<[^<>]*>", lambda match: "_" * len(match[0]), masked_text)) != masked_text:
        masked_text = masked  # a number among the arguments of a type is no value
    bare = _bare(masked_text)
    number = _NUMBER.search(bare)
    truth = _TRUTH.search(bare)
    text = _PLAIN.search(expected)
    if number is not None:
        digit = str(int(number[2]) - 1) if number[2] != "0" else "1"
        return expected[: number.start(2)] + digit + expected[number.end(2) :]
    if text is not None:
        return f'{expected[: text.start()]}"x{text[1]}"{expected[text.end() :]}'
    if truth is not None:
        return expected[: truth.start()] + {"true": "false", "false": "true"}[truth[0]] + expected[truth.end() :]
    return None
