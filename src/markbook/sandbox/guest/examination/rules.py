"""Comparing what a program printed with what was expected, by rules that have names.

Both sides are bytes. The printed one is hostile: every rule takes time and memory in proportion to its length. White space is
what ASCII calls so, but in the rules of data sets, which follow their own programs to the letter.

| rule | what it compares |
|---|---|
| `tokens` | what stands between white space |
| `case` | the same, A and a being one |
| `lines` | line by line, without white space and empty lines at the end |
| `exact` | every byte |
| `float:ABS[,REL]` | tokens; numbers within either distance (REL is ABS where it is not given) |
| `icpc[:FLAGS]` | the default validator of problem packages, with its flags between commas |
| `livecodebench` | stripped lines, else a whole line as decimals |
| `apps` | as APPS does, which tries one looser form after the other; the verdict names the one that held |
"""

from __future__ import annotations

import itertools
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

DEFAULT = "tokens"
PLAIN = ("tokens", "case", "lines", "exact", "livecodebench", "apps")
"""The rules without arguments."""
SHOWN = 60
"""Characters that are shown of either side of a difference."""
_LONGEST_NUMBER = 4096
"""Characters of a token that may be a number: a longer one is a text."""
# without the underscores, the `nan` and the `inf` that Python's `float` takes as well
_NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_SPACES = re.compile(rb"\s+")
_FLOAT_FLAGS = ("float_tolerance", "float_absolute_tolerance", "float_relative_tolerance")


class OutputMatch:
    """Whether an output is accepted, by which form of the rule, and where it first differs."""

    __slots__ = ("accepted", "by", "expected", "got", "line")

    def __init__(
        self, by: str, *, accepted: bool = False, line: int = 0, expected: bytes | None = None, got: bytes | None = None
    ) -> None:
        self.accepted = accepted
        self.by = by
        self.line = line
        """Of the output, from 1; 0 where it is accepted."""
        self.expected = expected
        """What should have stood there; None: the output should have ended."""
        self.got = got
        """What stood there; None: it had ended."""

    @property
    def message(self) -> str:
        """One line for a person; empty if the output is accepted."""
        if self.accepted:
            return ""
        return f"line {self.line}: expected {_format_part(self.expected)}, got {_format_part(self.got)}"


class Rule:
    """One rule with its arguments; `parse` makes it."""

    __slots__ = ("absolute", "fold", "is_spaced", "kind", "name", "relative")

    def __init__(
        self, name: str, kind: str, *, fold: bool = False, is_spaced: bool = False,
        absolute: float | None = None, relative: float | None = None,
    ) -> None:  # fmt: skip
        self.name = name
        self.kind = kind
        self.fold = fold
        self.is_spaced = is_spaced
        """Whether a change of white space matters."""
        self.absolute = absolute
        self.relative = relative

    def judge(self, expected: bytes, got: bytes) -> OutputMatch:
        """Return what is to be said of an output."""
        if expected == got:
            return OutputMatch(self.name, accepted=True)
        return _KINDS[self.kind](self, expected, got)


def parse(name: str) -> Rule:
    """Return the rule of a name; the empty name is the default.

    Raises:
        ValueError: there is none; the text says what there is.
    """
    name = name.strip() or DEFAULT
    kind, _, rest = name.partition(":")
    if kind == "float" and rest:
        distances = [_distance(part) for part in rest.split(",")]
        if len(distances) <= 2:
            return Rule(name, "tokens", absolute=distances[0], relative=distances[-1])
    elif kind == "icpc":
        return _icpc(name, rest.replace(",", " ").replace("=", " ").split())
    elif kind in PLAIN and not rest:
        return Rule(name, "tokens" if kind == "case" else kind, fold=kind == "case")
    raise ValueError(
        f"unknown comparison {name[:SHOWN]!r}: one of {', '.join(PLAIN)}, float:ABS, float:ABS,REL, icpc:FLAGS"
    )


def icpc_name(flags: Sequence[str]) -> str:
    """Return the name of the rule that the default validator of problem packages is with these flags."""
    return "icpc:" + ",".join(flags) if flags else "icpc"


def _icpc(name: str, words: list[str]) -> Rule:
    fold, is_spaced, absolute, relative = True, False, None, None
    arguments = iter(words)
    for word in arguments:
        if word == "case_sensitive":
            fold = False
        elif word == "space_change_sensitive":
            is_spaced = True
        elif word in _FLOAT_FLAGS:
            distance = _distance(next(arguments, ""))
            absolute = distance if word != _FLOAT_FLAGS[2] else absolute
            relative = distance if word != _FLOAT_FLAGS[1] else relative
        else:
            raise ValueError(f"the default validator has no flag {word[:SHOWN]!r}")
    return Rule(name, "tokens", fold=fold, is_spaced=is_spaced, absolute=absolute, relative=relative)


def _distance(text: str) -> float:
    text = text.strip()
    if not _NUMBER.fullmatch(text.encode("utf-8", "replace")) or len(text) > SHOWN:
        raise ValueError(f"{text[:SHOWN]!r} is not a distance between numbers")
    number = float(text)
    if not 0 <= number < float("inf"):
        raise ValueError(f"{text!r} is not a distance between numbers")
    return number


def _format_part(part: bytes | None) -> str:
    if part is None:
        return "the end"
    text = part[: 4 * SHOWN].decode("utf-8", "replace")
    return repr(text) if len(text) <= SHOWN else repr(text[:SHOWN]) + "..."


def _exact(rule: Rule, expected: bytes, got: bytes) -> OutputMatch:
    return _by_lines(rule.name, expected.split(b"\n"), got.split(b"\n"))


def _lines(rule: Rule, expected: bytes, got: bytes) -> OutputMatch:
    sides = [[line.rstrip() for line in side.rstrip().split(b"\n")] for side in (expected, got)]
    return OutputMatch(rule.name, accepted=True) if sides[0] == sides[1] else _by_lines(rule.name, *sides)


def _by_lines(by: str, expected: Sequence[bytes], lines: Sequence[bytes]) -> OutputMatch:
    """Return the difference of two lists of lines that differ."""
    pairs = enumerate(zip(expected, lines, strict=False))
    at = next((at for at, (line, other) in pairs if line != other), min(len(expected), len(lines)))
    return OutputMatch(by, line=at + 1, expected=_at(expected, at), got=_at(lines, at))


def _at(parts: Sequence[bytes], at: int) -> bytes | None:
    return parts[at] if at < len(parts) else None


def _tokens(rule: Rule, expected: bytes, got: bytes) -> OutputMatch:
    expected_tokens, tokens = expected.split(), got.split()
    if expected_tokens != tokens:
        pairs = enumerate(zip(expected_tokens, tokens, strict=False))
        end = min(len(expected_tokens), len(tokens))
        at = next((at for at, (token, other) in pairs if token != other and not _is_same(rule, token, other)), end)
        if at < max(len(expected_tokens), len(tokens)):
            lines = got.split(b"\n")
            counts = itertools.accumulate(len(line.split()) for line in lines)
            # a token that is not there belongs to the last line
            line = next((number for number, count in enumerate(counts, 1) if at < count), len(lines))
            return OutputMatch(rule.name, line=line, expected=_at(expected_tokens, at), got=_at(tokens, at))
    if rule.is_spaced:
        gaps = [_SPACES.findall(side) for side in (expected, got)]
        starts = [side[:1].isspace() for side in (expected, got)]
        if gaps[0] != gaps[1] or starts[0] != starts[1]:
            return _by_lines(rule.name, expected.split(b"\n"), got.split(b"\n"))
    return OutputMatch(rule.name, accepted=True)


def _is_same(rule: Rule, expected_token: bytes, token: bytes) -> bool:
    if rule.fold and expected_token.lower() == token.lower():
        return True
    if rule.absolute is None and rule.relative is None:
        return False
    right, actual = _number(expected_token), _number(token)
    if right is None or actual is None:
        return False
    distance = abs(right - actual)  # of two infinities it is not a number, and so within nothing
    if rule.absolute is not None and distance <= rule.absolute:
        return True
    # of an infinite number every other one would be within any share
    return rule.relative is not None and distance <= rule.relative * abs(right) < float("inf")


def _number(token: bytes) -> float | None:
    return float(token) if len(token) <= _LONGEST_NUMBER and _NUMBER.fullmatch(token) else None


def _stripped_lines(data: bytes) -> list[str]:
    return [line.strip() for line in data.decode("utf-8", "surrogateescape").strip().split("\n")]


def _livecodebench(rule: Rule, expected: bytes, got: bytes) -> OutputMatch:
    """Compare as LiveCodeBench's runner does: stripped lines, and where two differ, all their words as decimals."""
    expected_lines, lines = _stripped_lines(expected), _stripped_lines(got)
    pairs = enumerate(zip(expected_lines, lines, strict=False))
    end = min(len(expected_lines), len(lines))
    at = next((at for at, (line, other) in pairs if line != other and not _are_decimals(line, other)), end)
    if at == len(expected_lines) == len(lines):
        return OutputMatch(rule.name, accepted=True)
    sides = [[_bytes(line) for line in side[at : at + 1]] for side in (expected_lines, lines)]
    return OutputMatch(rule.name, line=at + 1, expected=_at(sides[0], 0), got=_at(sides[1], 0))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _are_decimals(expected_line: str, line: str) -> bool:
    from decimal import Decimal, InvalidOperation

    try:
        sides = [[Decimal(word) for word in side.split()] for side in (expected_line, line)]
        return sides[0] == sides[1]
    except (InvalidOperation, ValueError):  # not a number, or one that cannot be compared
        return False


def _apps(rule: Rule, expected: bytes, got: bytes) -> OutputMatch:
    """Compare as APPS does, form after form, each looser than the one before."""
    expected_lines, lines = _stripped_lines(expected), _stripped_lines(got)
    if expected_lines == lines:
        return OutputMatch(f"{rule.name}/stripped", accepted=True)
    full, printed = [*filter(None, expected_lines)], [*filter(None, lines)]
    for form, holds in _APPS:
        if holds(full, printed):
            return OutputMatch(f"{rule.name}/{form}", accepted=True)
    return _by_lines(rule.name, [*map(_bytes, full)], [*map(_bytes, printed)])


def _are_close(expected_lines: list[str], lines: list[str]) -> bool:
    if len(expected_lines) != len(lines):
        return False
    sides = [[_number(_bytes(line)) for line in side] for side in (expected_lines, lines)]
    pairs = zip(*sides, strict=True)
    return all(
        # the tolerances of `numpy.allclose`
        first is not None and two is not None and abs(first - two) <= 1e-8 + 1e-5 * abs(first) < float("inf")
        for first, two in pairs
    )


def _are_rounded_sets(expected_lines: list[str], lines: list[str]) -> bool:
    try:
        return _sets(expected_lines, _round_number) == _sets(lines, _round_number)
    except ValueError:
        return False


def _sets(lines: list[str], value: Callable[[str], Any]) -> set[frozenset[Any]]:
    return {frozenset(map(value, set(line.split()))) for line in lines}


def _round_number(word: str) -> float:
    number = _number(_bytes(word))
    if number is None or number - number != 0:
        raise ValueError(word[:SHOWN])
    return round(number, 3)


_APPS: tuple[tuple[str, Callable[[list[str], list[str]], bool]], ...] = (
    ("lines", lambda wanted, lines: wanted == lines),
    ("floats", _are_close),
    ("sets", lambda wanted, lines: _sets(wanted, str) == _sets(lines, str)),
    ("rounded sets", _are_rounded_sets),
)
_KINDS: dict[str, Callable[[Rule, bytes, bytes], OutputMatch]] = {
    "tokens": _tokens, "lines": _lines, "exact": _exact, "livecodebench": _livecodebench, "apps": _apps,
}  # fmt: skip
