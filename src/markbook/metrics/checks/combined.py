"""Several checks as one: `one_of` and `all_of`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from markbook.errors import ConfigError, UsageError
from markbook.metrics.checks.bounded import Helper
from markbook.metrics.checks.check import Check, build_signature, texts_of, truth
from markbook.metrics.checks.numbers import numeric
from markbook.metrics.checks.patterns import json_schema, regex
from markbook.metrics.checks.texts import contains, length, not_contains
from markbook.metrics.pairs import Score, missing_undefined
from markbook.plugins import example, suggest
from markbook.types import Missing

MOST_CHECKS = 50
DEEPEST = 5

Described = str | Mapping[str, Any]
"""A check's name, or a mapping of its `name` and `options`."""


@example(values=["a b c a", "x"])
def one_of(
    *,
    values: str | Sequence[str] | None = None,
    checks: Sequence[Described] | None = None,
    strip: bool = True,
    lowercase: bool = False,
) -> Check:
    """Return 1 if the answer is one of some texts, or if at least one of some checks holds; else 0. Higher is better.

    Missing, with checks: none holds, and one that could hold has no value.

    Args:
        values: the texts.
        checks: names of checks, or mappings of `name` and `options`, instead of texts.
        strip: leave out white space at both ends of the answer and the texts.
        lowercase: compare without regard to case.

    Raises:
        ConfigError: neither or both of values and checks, an unknown check, an option that it does not take.
    """
    if (values is None) == (checks is None):
        raise ConfigError("one_of needs values or checks, exactly one of them")
    truth("one_of", "strip", strip)
    truth("one_of", "lowercase", lowercase)
    if values is not None:
        texts = texts_of("one_of", "values", values)
        plain_texts = frozenset(_plain(text, strip=strip, lowercase=lowercase) for text in texts)
        holds = partial(_is_one, plain_texts=plain_texts, strip=strip, lowercase=lowercase)
        options = {"values": list(texts), "strip": strip, "lowercase": lowercase}
        return Check("one_of", build_signature("one_of", options), holds)
    return _combine("one_of", checks)


@example(checks=["contains"])
def all_of(*, checks: Sequence[Described]) -> Check:
    """Return 1 if every check holds, else 0; higher is better.

    Missing: none fails, and one that could fail has no value.

    Args:
        checks: names of checks, or mappings of `name` and `options`.

    Raises:
        ConfigError: no check, an unknown one, an option that it does not take.
    """
    return _combine("all_of", checks)


def _plain(text: str, *, strip: bool, lowercase: bool) -> str:
    text = text.strip() if strip else text
    return text.casefold() if lowercase else text


def _is_one(
    answer: str,
    _references: tuple[str, ...],
    _helper: Helper,
    *,
    plain_texts: frozenset[str],
    strip: bool,
    lowercase: bool,
) -> Score:
    return float(_plain(answer, strip=strip, lowercase=lowercase) in plain_texts), {}


def _combine(name: Literal["one_of", "all_of"], checks: object) -> Check:
    if not isinstance(checks, list | tuple) or not checks:
        raise ConfigError(f"{name}: checks must be a list of checks, not {checks!r:.60}")
    _limit_checks(checks, name)
    checks_made = tuple(_make(name, check) for check in checks)
    signature = f"{name}|checks:{build_signature('', {'of': [check.signature for check in checks_made]})}|v1"
    needs = all(check.needs_reference for check in checks_made)  # where some do, those alone have no value without
    return Check(name, signature, partial(_decide, checks=checks_made, is_all=name == "all_of"), needs_reference=needs)


def _limit_checks(checks: Sequence[object], name: str) -> None:
    """Refuse more or deeper checks than anybody writes, before any is made."""
    level: list[object] = list(checks)
    count = 0
    for _ in range(DEEPEST):
        count += len(level)
        if count > MOST_CHECKS:
            raise ConfigError(f"{name}: more than {MOST_CHECKS} checks")
        level = [inner for check in level for inner in _inner(check)]
        if not level:
            return
    raise ConfigError(f"{name}: checks within checks, deeper than {DEEPEST}")


def _inner(check: object) -> list[object]:
    options = check.get("options") if isinstance(check, Mapping) else None
    inner = options.get("checks") if isinstance(options, Mapping) else None
    return list(inner) if isinstance(inner, list | tuple) else []


def _make(owner: str, described: object) -> Check:
    record: Mapping[str, Any] = {"name": described} if isinstance(described, str) else described  # type: ignore[assignment]  # looked at below
    if not isinstance(record, Mapping) or set(record) - {"name", "options"} or not isinstance(record.get("name"), str):
        raise ConfigError(f"{owner}: a check is a name, or a mapping of name and options, not {described!r:.80}")
    name, options = record["name"], record.get("options") or {}
    if name not in _CHECKS:
        raise ConfigError(f"{owner}: {name!r:.60} is no check", hint=suggest(name, sorted(_CHECKS)))
    if not isinstance(options, Mapping):
        raise ConfigError(f"{owner}: the options of {name} must be a mapping, not {options!r:.60}")
    parameters = inspect.signature(_CHECKS[name]).parameters
    for option in options:
        if option not in parameters:
            raise ConfigError(
                f"{owner}: {name} has no option {option!r:.60}", hint=suggest(str(option), list(parameters))
            )
    try:
        return _CHECKS[name](**options)
    except TypeError as error:
        raise ConfigError(f"{owner}: {name}: {error}") from error
    except UsageError as error:
        raise ConfigError(f"{owner}: {error.message}", hint=error.hint) from error


def _decide(
    answer: str, references: tuple[str, ...], helper: Helper, *, checks: tuple[Check, ...], is_all: bool
) -> Score:
    """Return what settles it: one that fails (for all) or holds (for one); else a reason, if there is any."""
    scores: list[float | Missing] = []
    for check in checks:
        lacks = check.needs_reference and not references
        value = missing_undefined("no reference") if lacks else check.holds(answer, references, helper)[0]
        scores.append(value)
        if not isinstance(value, Missing) and bool(value) != is_all:
            return float(not is_all), {"by": check.name}
    missing = next((value for value in scores if isinstance(value, Missing)), None)
    return (missing, {}) if missing is not None else (float(is_all), {})


_CHECKS: Mapping[str, Callable[..., Check]] = {
    "all_of": all_of,
    "contains": contains,
    "json_schema": json_schema,
    "length": length,
    "not_contains": not_contains,
    "numeric": numeric,
    "one_of": one_of,
    "regex": regex,
}
