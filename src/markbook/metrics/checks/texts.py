"""Checks by plain texts: `contains`, `not_contains`, `length`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

from markbook.errors import ConfigError
from markbook.metrics.checks.bounded import Helper
from markbook.metrics.checks.check import Check, build_signature, texts_of, truth
from markbook.metrics.pairs import Score, missing_undefined
from markbook.plugins import example

_UNITS = ("characters", "words", "lines")


def contains(
    *, text: str | Sequence[str] | None = None, every: bool = False, lowercase: bool = False, words: bool = False
) -> Check:
    """Return 1 if the answer holds a text, else 0; higher is better.

    Missing: no reference, where `text` is not given.

    Args:
        text: what is looked for, one or several; without it the references.
        every: all of them must be there, not any one.
        lowercase: compare without regard to case.
        words: only where no letter, digit or underscore stands directly before or behind.

    Raises:
        ConfigError: no text, or an empty one.
    """
    return _make_check("contains", text, every=every, lowercase=lowercase, words=words)


def not_contains(
    *, text: str | Sequence[str] | None = None, every: bool = False, lowercase: bool = False, words: bool = False
) -> Check:
    """Return 1 if the answer holds none of the texts, else 0; higher is better. Options and Missing as `contains`.

    Args:
        text: what must not be there, one or several; without it the references.
        every: only an answer that holds all of them fails.
        lowercase: compare without regard to case.
        words: only where no letter, digit or underscore stands directly before or behind.

    Raises:
        ConfigError: no text, or an empty one.
    """
    return _make_check("not_contains", text, every=every, lowercase=lowercase, words=words)


def _make_check(name: str, text: str | Sequence[str] | None, *, every: bool, lowercase: bool, words: bool) -> Check:
    texts = () if text is None else texts_of(name, "text", text)
    flags = {"every": every, "lowercase": lowercase, "words": words}
    for option, value in flags.items():
        truth(name, option, value)
    signature = build_signature(
        name, {"text": list(texts) or "references", **{key: on for key, on in flags.items() if on}}
    )
    is_not = name == "not_contains"
    holds = partial(_holds, texts=texts, is_not=is_not, every=every, lowercase=lowercase, words=words)
    return Check(name, signature, holds, needs_reference=not texts)


def _holds(
    answer: str,
    references: tuple[str, ...],
    _helper: Helper,
    *,
    texts: tuple[str, ...],
    is_not: bool,
    every: bool,
    lowercase: bool,
    words: bool,
) -> Score:
    body = answer.casefold() if lowercase else answer
    looked_for = texts or tuple(
        reference for reference in references if reference
    )  # the empty text stands in every answer
    if not looked_for:
        return missing_undefined("no reference but the empty text"), {}
    matches = [text for text in looked_for if _stands(text.casefold() if lowercase else text, body, words=words)]
    holds = len(matches) == len(looked_for) if every else bool(matches)
    return float(holds != is_not), {"found": [text[:200] for text in matches[:20]]}


def _stands(text: str, body: str, *, words: bool) -> bool:
    if not words:
        return text in body
    position = body.find(text)
    while position >= 0:
        end = position + len(text)
        before, behind = body[position - 1 : position] if position else "", body[end : end + 1]
        if not _is_word(before) and not _is_word(behind):
            return True
        position = body.find(text, position + 1)
    return False


def _is_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


@example(at_most=10)
def length(
    *,
    at_least: int | None = None,
    at_most: int | None = None,
    unit: Literal["characters", "words", "lines"] = "characters",
) -> Check:
    """Return 1 if the answer is neither too short nor too long, else 0; higher is better.

    Args:
        at_least: the fewest that are allowed.
        at_most: the most that are allowed.
        unit: characters (code points), words (between white space) or lines.

    Raises:
        ConfigError: no limit, one that is no whole number from 0 up, or a least above the most.
    """
    if unit not in _UNITS:
        raise ConfigError(f"length: unit must be one of {', '.join(_UNITS)}, not {unit!r:.40}")
    limits = {key: value for key, value in (("at_least", at_least), ("at_most", at_most)) if value is not None}
    if not limits:
        raise ConfigError("length needs at_least or at_most")
    for key, value in limits.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise ConfigError(f"length: {key} must be a whole number from 0 up, not {value!r:.40}")
    if at_least is not None and at_most is not None and at_least > at_most:
        raise ConfigError(f"length: at_least {at_least} is above at_most {at_most}")
    holds = partial(_fits, at_least=at_least or 0, at_most=at_most, unit=unit)
    return Check("length", build_signature("length", {**limits, "unit": unit}), holds)


def _fits(
    answer: str, _references: tuple[str, ...], _helper: Helper, *, at_least: int, at_most: int | None, unit: str
) -> Score:
    count = len(answer if unit == "characters" else answer.split() if unit == "words" else answer.splitlines())
    return float(count >= at_least and (at_most is None or count <= at_most)), {unit: count}
