"""The documented points, decided on the facts of one walk and one token pass."""

from __future__ import annotations

import functools
import io
import keyword
import tokenize
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from tokenize import DEDENT, INDENT, NAME, NEWLINE, NL, NUMBER, OP, STRING

from markbook.metrics import python_source
from markbook.metrics.quality.visit import Facts, Place, Walk

# One pass over the tokens for the two style points that a syntax tree cannot see: indents and operator spacing.

_BINARY = frozenset(
    ["+", "-", "*", "/", "//", "%", "@", "&", "|", "^", "<<", ">>", "<", ">", "<=", ">=", "==", "!=", "->", ":="]
) | frozenset(["=", "+=", "-=", "*=", "/=", "//=", "%=", "@=", "&=", "|=", "^=", "<<=", ">>=", "**="])
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
        line = start[0]
        state.layout.indents += 1
        if state.layout.bad_indent is None and (len(text) % 4 or text.strip(" ")):
            state.layout.bad_indent = (line, "a tab" if text.strip(" ") else f"{len(text)} spaces")
    elif kind == NEWLINE:
        state.is_operand = False
        state.line_start = True
    elif kind not in (NL, DEDENT, tokenize.COMMENT):
        state.is_operand = False


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


_CACHED_CHARACTERS = 50_000
DESCRIPTIVE_SHARE = 0.8
"""The document asks that 80 % of the names have more than two characters."""


@dataclass(frozen=True, slots=True)
class Point:
    """One documented point."""

    id: str
    passed: bool
    vacuous: bool = False
    """Passed only because there was nothing in the code that could have failed it."""
    line: int | None = None
    """The line in the answer that decided it, from 1."""
    evidence: str = ""

    def as_dict(self) -> dict[str, object]:
        """Return the point as it stands in `stats["points"]`."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class ParsedCode:
    """An answer that parses, read once for all four scores."""

    facts: Facts
    layout: Layout
    rung: str
    offset: int
    lines: tuple[int, int]
    """The longest line in code points, and its number."""

    @property
    def is_body(self) -> bool:
        """Whether `return` may stand outside every function: the head of the function is in the prompt."""
        return self.rung != "fenced" and self.facts.functions == 0


@dataclass(frozen=True, slots=True)
class PointLimits:
    """The numbers that the points depend on."""

    line_length: int = 80
    """In code points; the documented number (PEP 8 has 79)."""
    loop_names: frozenset[str] = frozenset()
    """Short names that count as descriptive, such as i, j and k."""


def read(text: str) -> ParsedCode | str:
    """Return the facts about an answer, or why it cannot be parsed. Short answers are remembered for the next score."""
    return _read_cached(text) if len(text) <= _CACHED_CHARACTERS else _read(text)


def _read(text: str) -> ParsedCode | str:
    source = python_source.read(text)
    if isinstance(source, str):
        return source
    facts = Walk(source.tree, wrapped=source.rung == "body").facts
    layout = examine(source.text)
    lines = source.text.split("\n")
    longest = max(range(len(lines)), key=lambda index: len(lines[index]))
    return ParsedCode(facts, layout, source.rung, source.line_offset, (len(lines[longest]), longest + 1))


_read_cached = functools.lru_cache(maxsize=512)(_read)

Decide = Callable[[ParsedCode, PointLimits], Point]


def _present(name: str, places: Sequence[Place]) -> Point:
    """Return a point for something that must be there."""
    return _point_at(name, places, passed=True) if places else Point(name, passed=False, evidence="none")


def _absent(name: str, places: Sequence[Place], *, judged: int) -> Point:
    """Return a point for something that must not be there; vacuous where nothing could have been it."""
    return _point_at(name, places, passed=False) if places else Point(name, passed=True, vacuous=not judged)


def _point_at(name: str, places: Sequence[Place], *, passed: bool) -> Point:
    line, what = places[0]
    more = f" and {len(places) - 1} more" if len(places) > 1 else ""
    return Point(name, passed=passed, line=line, evidence=what + more)


def names(answer: ParsedCode, limits: PointLimits) -> Point:
    """At least 80 % of the bound names have more than two characters; without a name there is none to describe."""
    bound = answer.facts.names
    short = [(line, name) for line, name in bound if len(name) <= 2 and name not in limits.loop_names]
    if not bound:
        return Point("names", passed=False, evidence="no name is bound")
    passed = len(bound) - len(short) >= DESCRIPTIVE_SHARE * len(bound)
    evidence = f"{len(bound) - len(short)} of {len(bound)} have more than 2 characters"
    listed = ", ".join(dict.fromkeys(name for _, name in short[:20]))
    line = short[0][0] if short and not passed else bound[0][0]
    return Point("names", passed=passed, line=line, evidence=evidence + (f"; short: {listed}" if listed else ""))


def hints(answer: ParsedCode, limits: PointLimits) -> Point:
    """Any parameter, return value or variable carries a type hint."""
    return _present("hints", answer.facts.hints)


def docstring(answer: ParsedCode, limits: PointLimits) -> Point:
    """A module, class or function has a docstring."""
    return _present("docstring", answer.facts.docstrings)


def every_hint(answer: ParsedCode, limits: PointLimits) -> Point:
    """Every parameter and return value has a hint."""
    facts = answer.facts
    if facts.hinted < facts.hintable:
        return Point("hints", passed=False, evidence=f"{facts.hinted} of {facts.hintable} are hinted")
    return hints(answer, limits)


def every_docstring(answer: ParsedCode, limits: PointLimits) -> Point:
    """Every definition has a docstring."""
    missing = [(line, f"{name} has none") for line, name, has in answer.facts.documentable if not has]
    if missing:
        return Point("docstring", passed=False, line=missing[0][0], evidence=missing[0][1])
    return docstring(answer, limits)


def lines(answer: ParsedCode, limits: PointLimits) -> Point:
    """No line is longer than the limit."""
    length, line = answer.lines
    evidence = f"the longest line has {length} of {limits.line_length} characters"
    return Point("lines", passed=length <= limits.line_length, vacuous=length == 0, line=line, evidence=evidence)


def structure(answer: ParsedCode, limits: PointLimits) -> Point:
    """A function returns or yields a value."""
    places = [(line, f"in {name}") for line, name in answer.facts.returning if name]
    if not places and answer.is_body:
        places = [(line, "in a function body") for line, _ in answer.facts.returning]
    return _present("structure", places)


def indentation(answer: ParsedCode, limits: PointLimits) -> Point:
    """Every indent is a multiple of four spaces."""
    bad = answer.layout.bad_indent
    return _absent("indentation", [bad] if bad else [], judged=answer.layout.indents)


def operators(answer: ParsedCode, limits: PointLimits) -> Point:
    """Every binary and assignment operator but `**` has a space on both sides; there is at least one."""
    bad, count = answer.layout.bad_operator, answer.layout.operators
    if bad:
        return Point("operators", passed=False, line=bad[0], evidence=bad[1])
    return Point("operators", passed=bool(count), evidence=f"{count} spaced" if count else "no operator")


def validation(answer: ParsedCode, limits: PointLimits) -> Point:
    """Input is checked: isinstance, a raise under an if, an assert, or a call that promises validation."""
    return _present("validation", answer.facts.validations)


def errors(answer: ParsedCode, limits: PointLimits) -> Point:
    """A try has a handler; a handler that swallows everything is named."""
    point = _present("errors", answer.facts.handlers)
    weak = answer.facts.weak_handlers
    if not weak:
        return point
    return Point("errors", passed=True, line=weak[0][0], evidence=f"{point.evidence}; weak: {weak[0][1]}")


def credentials(answer: ParsedCode, limits: PointLimits) -> Point:
    """No text constant is bound to a name that secrets are bound to."""
    return _absent("credentials", answer.facts.secrets, judged=answer.facts.bound_strings)


def unsafe_calls(answer: ParsedCode, limits: PointLimits) -> Point:
    """Neither eval, exec nor compile of the built-ins is used."""
    return _absent("unsafe_calls", answer.facts.unsafe, judged=answer.facts.calls)


def comprehension(answer: ParsedCode, limits: PointLimits) -> Point:
    """A list, set or dict comprehension is used."""
    return _present("comprehension", answer.facts.comprehensions)


def generator(answer: ParsedCode, limits: PointLimits) -> Point:
    """A generator expression is used."""
    return _present("generator", answer.facts.generators)


def nested_loops(answer: ParsedCode, limits: PointLimits) -> Point:
    """No loop stands in a loop of the same function, and no comprehension has two `for`."""
    facts = answer.facts
    judged = facts.loops + len(facts.comprehensions) + len(facts.generators)
    return _absent("nested_loops", facts.nested_loops, judged=judged)


def built_ins(answer: ParsedCode, limits: PointLimits) -> Point:
    """One of sum, max, min, any, all, enumerate, zip is called and is the built-in."""
    return _present("built_ins", answer.facts.fast)


def context_manager(answer: ParsedCode, limits: PointLimits) -> Point:
    """A with statement is used."""
    places = answer.facts.withs
    if not places:
        return Point("context_manager", passed=False, evidence="none")
    return Point("context_manager", passed=True, line=places[0][0], evidence=places[0][1])


POINTS: dict[str, tuple[Decide, ...]] = {
    "context_adherence": (names, hints, docstring, lines, structure),
    "style_compliance": (indentation, names, docstring, hints, lines, operators),
    "security_compliance": (validation, errors, credentials, unsafe_calls),
    "performance_awareness": (comprehension, generator, nested_loops, built_ins),
}
"""The documented points of each score: 5, 6, 4 and 4."""
