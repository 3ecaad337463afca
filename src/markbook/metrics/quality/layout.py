"""One pass over the tokens for the two style points that a syntax tree cannot see: indents and operator spacing."""

from __future__ import annotations

import io
import keyword
import tokenize
from dataclasses import dataclass, field
from tokenize import DEDENT, INDENT, NAME, NEWLINE, NL, NUMBER, OP, STRING

_BINARY = frozenset(
    [
        "+",
        "-",
        "*",
        "/",
        "//",
        "%",
        "@",
        "&",
        "|",
        "^",
        "<<",
        ">>",
        "<",
        ">",
        "<=",
        ">=",
        "==",
        "!=",
        "->",
        ":=",
        "=",
        "+=",
        "-=",
        "*=",
        "/=",
        "//=",
        "%=",
        "@=",
        "&=",
        "|=",
        "^=",
        "<<=",
        ">>=",
        "**=",
    ]
)
_OPERAND_ENDS = frozenset(")]}")
_NOT_OPERANDS = frozenset(keyword.kwlist) - {"None", "True", "False"}
_SOFT = frozenset({"match", "case"})
_MAY_BE_UNARY = frozenset(["+", "-", "*", "@", "/"])
"""Also the markers `*` and `/` of a parameter list and the `@` of a decorator."""
# From 3.12 on the inside of an f-string is tokens too; the score must not depend on the interpreter.
_FSTRING_START = getattr(tokenize, "FSTRING_START", -1)
_FSTRING_END = getattr(tokenize, "FSTRING_END", -1)


@dataclass(slots=True)
class Layout:
    """What the tokens say about layout."""

    indents: int = 0
    bad_indent: tuple[int, str] | None = None
    operators: int = 0
    """Binary and assignment operators that need a space on both sides."""
    bad_operator: tuple[int, str] | None = None
    is_complete: bool = True
    """False when the tokenizer gave up, which a source that parses does not make it do."""


@dataclass(slots=True)
class _State:
    layout: Layout
    lines: list[str]
    depth: int = 0
    lambdas: list[int] = field(default_factory=list)
    """The bracket depths of the lambda heads that are open."""
    in_fstring: int = 0
    is_operand: bool = False
    line_start: bool = True


def examine(source: str) -> Layout:
    """Return the layout facts of a source that parses."""
    state = _State(Layout(), source.split("\n"))
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            _take(state, token)
    except (tokenize.TokenError, SyntaxError):
        state.layout.is_complete = False
    return state.layout


def _take(state: _State, token: tokenize.TokenInfo) -> None:
    kind, text, start, end, _ = token
    if kind == _FSTRING_START:
        state.in_fstring += 1
    elif kind == _FSTRING_END:
        state.in_fstring -= 1
        state.is_operand = True
        return
    if state.in_fstring:
        return
    if kind == OP:
        _operator(state, text, start, end[1])
        state.is_operand = text in _OPERAND_ENDS
        state.line_start = False
    elif kind == NAME:
        if text == "lambda":
            state.lambdas.append(state.depth)
        soft = state.line_start and text in _SOFT
        state.is_operand = text not in _NOT_OPERANDS and not soft
        state.line_start = False
    elif kind in (NUMBER, STRING):
        state.is_operand = True
        state.line_start = False
    elif kind == INDENT:
        _indent(state.layout, text, start[0])
    elif kind == NEWLINE:
        state.is_operand = False
        state.line_start = True
    elif kind not in (NL, DEDENT, tokenize.COMMENT):
        state.is_operand = False


def _indent(layout: Layout, text: str, line: int) -> None:
    layout.indents += 1
    if layout.bad_indent is None and (len(text) % 4 or text.strip(" ")):
        layout.bad_indent = (line, "a tab" if text.strip(" ") else f"{len(text)} spaces")


def _operator(state: _State, text: str, start: tuple[int, int], end: int) -> None:
    if text in "([{":
        state.depth += 1
        return
    if text in ")]}":
        state.depth -= 1
        return
    if state.lambdas and state.lambdas[-1] == state.depth:
        if text == ":":
            state.lambdas.pop()
            return
        if text == "=":
            return
    if text not in _BINARY or (text == "=" and state.depth) or (text in _MAY_BE_UNARY and not state.is_operand):
        return
    state.layout.operators += 1
    line = state.lines[start[0] - 1]
    if state.layout.bad_operator is None and not (_is_space(line, start[1] - 1) and _is_space(line, end)):
        state.layout.bad_operator = (start[0], line.strip()[:80])


def _is_space(line: str, column: int) -> bool:
    return not 0 <= column < len(line) or line[column] in " \t\n\\"
