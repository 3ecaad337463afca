"""Checks that an answer passes or fails: texts, numbers, patterns, schemas, and combinations of them."""

from __future__ import annotations

import decimal
import inspect
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any, Literal

from markbook.errors import ConfigError, UsageError, suggest
from markbook.files import jsonl
from markbook.metrics import Score, UnitMetric, drop_missing_references, measure_each, missing_undefined
from markbook.plugins import example, need
from markbook.text.child import Helper
from markbook.types import Item, Measurement, Missing, MissingKind, digest_text

# What every check is: a metric that says 1 or 0 of an answer, or why it cannot say.

_SHOWN = 80
MOST_TEXTS = 1_000


@dataclass(frozen=True, slots=True)
class Check(UnitMetric):
    """A yes or no about each answer: 1 if it holds, 0 if it does not."""

    name: str
    signature: str
    holds: Callable[[str, tuple[str, ...], Helper], Score]
    """Takes the answer, the references and a helper for what may run away."""
    needs_reference: bool = False

    def measure(self, items: Sequence[Item]) -> list[Measurement]:
        """Return one measurement an item, in order."""
        with Helper() as helper:

            def score(item: Item) -> Score:
                return self.holds(item.attempt.text, drop_missing_references(item.sample.references), helper)

            return measure_each(self.name, self.signature, items, score, needs_reference=self.needs_reference)


def build_signature(name: str, options: Mapping[str, object]) -> str:
    """Return a signature that tells all options; what is long is told by its digest."""
    parts = []
    for key, value in options.items():
        text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
        # A bar separates the parts of a signature, so a text that holds one is told by its digest.
        if len(text) > _SHOWN or "|" in text:
            text = "sha256-" + digest_text(text)[:16]
        parts.append(f"{key}:{text}")
    return "|".join((name, *parts, "v1"))


def read_texts(name: str, option: str, value: object) -> tuple[str, ...]:
    """Return an option that is a text or a list of texts.

    Raises:
        ConfigError: it is something else, empty, or holds an empty text, which stands in every answer.
    """
    texts = [value] if isinstance(value, str) else value
    hint = "a number or a yes must stand in quotes"
    if not isinstance(texts, list | tuple) or not texts or not all(isinstance(text, str) for text in texts):
        raise ConfigError(f"{name}: {option} must be a text or a list of texts, not {value!r:.60}", hint=hint)
    if not all(texts):
        raise ConfigError(f"{name}: {option} contains an empty string")
    if len(texts) > MOST_TEXTS:
        raise ConfigError(f"{name}: {option} holds {len(texts)} texts, and {MOST_TEXTS} is the most")
    return tuple(texts)


def truth(name: str, option: str, value: object) -> bool:
    """Return an option that is true or false.

    Raises:
        ConfigError: it is something else.
    """
    if not isinstance(value, bool):
        raise ConfigError(f"{name}: {option} must be true or false, not {value!r:.60}")
    return value


# A number near another one: `numeric`.

_NUMBER = re.compile(
    r"(?<![\w.,])[-+\u2212]?(?:(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?(?!\w|[.,][0-9])"
)
"""Nothing that a letter, a digit or a further point sticks to: no version, no date with points, no `2nd`."""
_LONGEST = 400
_PICKS = ("only", "first", "last")
# With the widest exponents: an infinite allowance would let every number pass, and inf - inf is near to nothing.
_EXACT = decimal.Context(prec=60, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[])


def numeric(
    *,
    value: float | None = None,
    absolute: float = 0.0,
    relative: float = 0.0,
    pick: Literal["only", "first", "last"] = "only",
) -> Check:
    """Return 1 if the answer's number is near enough to the right one, else 0; higher is better.

    Near enough: |answer - right| is at most `absolute`, or at most `relative` times |right|; computed in decimals, so
    that 1.1 is within .1 of 1. An answer without a number is wrong. Missing: no reference, or one that is not a number.

    Args:
        value: the right number; without it the references, of which any will do.
        absolute: the distance that is allowed.
        relative: the same as a share of the right number.
        pick: which number of the answer counts: `only` (there must be exactly one), `first`, `last`.

    Raises:
        ConfigError: a value or tolerance that is not a number, or a negative tolerance.
    """
    if pick not in _PICKS:
        raise ConfigError(f"numeric: pick must be one of {', '.join(_PICKS)}, not {pick!r:.40}")
    for name, tolerance in (("absolute", absolute), ("relative", relative)):
        # `_decimal` refuses NaN and infinity: an allowance of either would let everything pass or nothing.
        if _decimal(tolerance) is None or tolerance < 0:
            raise ConfigError(f"numeric: {name} must be a number of at least 0, not {tolerance!r:.40}")
    right = None if value is None else _decimal(value)
    if value is not None and right is None:
        raise ConfigError(f"numeric: value must be a number, not {value!r:.40}")
    options = {"value": "references" if value is None else value, "absolute": absolute, "relative": relative}
    holds = partial(_near, right=right, allowed=(Decimal(str(absolute)), Decimal(str(relative))), pick=pick)
    return Check("numeric", build_signature("numeric", {**options, "pick": pick}), holds, needs_reference=value is None)


def _near(
    answer: str,
    references: tuple[str, ...],
    _helper: Helper,
    *,
    right: Decimal | None,
    allowed: tuple[Decimal, Decimal],
    pick: str,
) -> Score:
    right_numbers = [] if right is None else [right]
    for text in references if right is None else ():
        reference_numbers = numbers_in(text)
        # A reference with several different numbers does not say which of them is right.
        if len(set(reference_numbers)) == 1:
            right_numbers.append(reference_numbers[0])
    if not right_numbers:
        return missing_undefined(f"the reference {references[0]!r:.60} is not a number"), {}
    numbers = numbers_in(answer)
    if not numbers:
        return 0.0, {"why": "the answer has no number"}
    if pick == "only" and len(set(numbers)) > 1:  # the same number said twice is one
        return 0.0, {"why": f"the answer has {len(numbers)} numbers"}
    number = numbers[0] if pick == "first" else numbers[-1]
    absolute, relative = allowed
    gaps = [(_EXACT.abs(_EXACT.subtract(number, reference)), _EXACT.abs(reference)) for reference in right_numbers]
    is_near = any(gap <= absolute or gap <= _EXACT.multiply(relative, size) for gap, size in gaps)
    return float(is_near), {"number": str(number)}


def numbers_in(text: str) -> list[Decimal]:
    """Return the numbers of a text in order: signs, decimals, exponents, commas between groups of three.

    >>> numbers_in("from -1,200.5 to 3e2, in 2nd place")
    [Decimal('-1200.5'), Decimal('3E+2')]
    """
    numbers = []
    for match in _NUMBER.finditer(text):
        written = match.group().replace(",", "").replace("\u2212", "-")
        number = _decimal(written) if len(written) <= _LONGEST else None
        if number is not None:
            numbers.append(number)
    return numbers


def _decimal(value: object) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = Decimal(str(value))
    except decimal.InvalidOperation:
        return None
    return number if number.is_finite() else None


# Checks that may run away and are bounded in time: `regex` and `json_schema`.

LONGEST_PATTERN = 10_000
LARGEST_SCHEMA = 200_000


@example(pattern="(a|b)+")
def regex(
    *,
    pattern: str,
    whole: bool = False,
    ignore_case: bool = False,
    multiline: bool = False,
    dot_all: bool = False,
    absent: bool = False,
) -> Check:
    """Return 1 if a pattern is found in the answer, else 0; higher is better.

    Missing: `timeout` where the pattern takes more than a second of processor time on an answer.

    Args:
        pattern: a regular expression as Python's `re` has them.
        whole: the pattern must match the whole answer.
        ignore_case: do not tell upper from lower case.
        multiline: `^` and `$` match at every line.
        dot_all: `.` matches a line break too.
        absent: 1 if the pattern is not found.

    Raises:
        ConfigError: no pattern, or one that does not compile.
    """
    options = {"whole": whole, "ignore_case": ignore_case, "multiline": multiline, "dot_all": dot_all, "absent": absent}
    for option, value in options.items():
        truth("regex", option, value)
    if not isinstance(pattern, str) or not pattern:
        raise ConfigError(f"regex: pattern must be a text, not {pattern!r:.60}")
    if len(pattern) > LONGEST_PATTERN:
        raise ConfigError(f"regex: the pattern is longer than {LONGEST_PATTERN} characters")
    flags = (re.IGNORECASE * ignore_case) | (re.MULTILINE * multiline) | (re.DOTALL * dot_all)
    # Compiled where it can be given up, too: a short pattern can take long to compile.
    with Helper() as helper:
        tried = helper.ask("regex", pattern=pattern, flags=int(flags), whole=whole, text="")
    if isinstance(tried, Missing):
        raise ConfigError(f"regex: the pattern cannot be used: {tried.detail}")
    signature = build_signature("regex", {"pattern": pattern, **{key: on for key, on in options.items() if on}})
    return Check(
        "regex",
        signature,
        partial(_search_pattern, pattern=pattern, flags=int(flags), is_full_match=whole, absent=absent),
    )


def _search_pattern(
    answer: str,
    _references: tuple[str, ...],
    helper: Helper,
    *,
    pattern: str,
    flags: int,
    is_full_match: bool,
    absent: bool,
) -> Score:
    reply = helper.ask("regex", pattern=pattern, flags=flags, whole=is_full_match, text=answer)
    if isinstance(reply, Missing):
        return reply, {}
    return float(reply["holds"] != absent), {}


def json_schema(*, schema: Mapping[str, object] | bool | None = None) -> Check:
    """Return 1 if the answer is one JSON value that fits a schema, else 0; higher is better.

    The whole answer must be JSON, white space and one Markdown code block around it aside; NaN, infinities and a key that
    stands twice are not JSON. Missing: `timeout` where it takes more than a second of processor time, `budget` where it is
    nested more deeply, or holds an integer of more digits, than Python reads.

    Args:
        schema: a JSON schema, draft 2020-12; without it any JSON will do. What it refers to must be in it.

    Raises:
        ConfigError: it is not a schema.
        ExtraMissingError: the extra `checks` is not installed and there is a schema.
    """
    if schema is None:
        return Check("json_schema", build_signature("json_schema", {"schema": "any"}), partial(_fits, schema=None))
    try:
        text = json.dumps(schema, allow_nan=False, sort_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"json_schema: the schema is not JSON: {error}") from error
    if len(text) > LARGEST_SCHEMA:
        raise ConfigError(f"json_schema: the schema is larger than {LARGEST_SCHEMA} characters")
    validators = need("jsonschema", extra="checks")
    try:
        validators.Draft202012Validator.check_schema(schema)
    except (validators.exceptions.SchemaError, RecursionError) as error:
        raise ConfigError(f"json_schema: this is not a schema: {getattr(error, 'message', error)}"[:500]) from error
    return Check("json_schema", build_signature("json_schema", {"schema": schema}), partial(_fits, schema=schema))


def _fits(
    answer: str, _references: tuple[str, ...], helper: Helper, *, schema: Mapping[str, object] | bool | None
) -> Score:
    # The block is taken off only where it is the whole answer; JSON within prose is not JSON.
    text = answer.strip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        text = text[text.index("\n") + 1 : -3].strip()
    try:
        value = jsonl.parse_json(text)
    except RecursionError:
        # A text that ends within a value is not JSON at any depth; only one that is closed may be.
        if text[-1] not in "]}":
            return 0.0, {"why": "no JSON: it ends within a value"}
        return Missing(MissingKind.BUDGET, "the answer is nested too deeply to be read"), {}
    except jsonl.TooManyDigits as error:
        return Missing(MissingKind.BUDGET, str(error)), {}
    except ValueError as error:
        return 0.0, {"why": f"no JSON: {error}"[:300]}
    if schema is None:
        return 1.0, {}
    # Written anew from what the strict parser read, so that the child's parser has no say in what is JSON.
    reply = helper.ask("schema", schema=schema, text=json.dumps(value), path=sys.path)
    if isinstance(reply, Missing):
        return reply, {}
    return float(reply["holds"]), {key: reply[key] for key in ("why", "where") if key in reply}


# Checks by plain texts: `contains`, `not_contains`, `length`.

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
    texts = () if text is None else read_texts(name, "text", text)
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
    # `casefold` and not `lower`, so that ß and SS are the same letter.
    body = answer.casefold() if lowercase else answer
    # the empty text stands in every answer
    looked_for = texts or tuple(reference for reference in references if reference)
    if not looked_for:
        return missing_undefined("no reference but the empty text"), {}
    matches = [text for text in looked_for if _stands(text.casefold() if lowercase else text, body, words=words)]
    holds = len(matches) == len(looked_for) if every else bool(matches)
    return float(holds != is_not), {"found": [text[:200] for text in matches[:20]]}


def _stands(text: str, body: str, *, words: bool) -> bool:
    return re.search(rf"(?<!\w){re.escape(text)}(?!\w)", body) is not None if words else text in body


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
        ConfigError: no limit, one that is not a whole number from 0 up, or a least above the most.
    """
    if unit not in _UNITS:
        raise ConfigError(f"length: unit must be one of {', '.join(_UNITS)}, not {unit!r:.40}")
    limits = {key: value for key, value in (("at_least", at_least), ("at_most", at_most)) if value is not None}
    if not limits:
        raise ConfigError("length needs at_least or at_most")
    for key, value in limits.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise ConfigError(f"length: {key} must be a whole number of at least 0, not {value!r:.40}")
    if at_least is not None and at_most is not None and at_least > at_most:
        raise ConfigError(f"length: at_least {at_least} is above at_most {at_most}")
    holds = partial(_texts_fits, at_least=at_least or 0, at_most=at_most, unit=unit)
    return Check("length", build_signature("length", {**limits, "unit": unit}), holds)


def _texts_fits(
    answer: str, _references: tuple[str, ...], _helper: Helper, *, at_least: int, at_most: int | None, unit: str
) -> Score:
    count = len(answer if unit == "characters" else answer.split() if unit == "words" else answer.splitlines())
    return float(count >= at_least and (at_most is None or count <= at_most)), {unit: count}


# Several checks as one: `one_of` and `all_of`.

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
        texts = read_texts("one_of", "values", values)
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
    # More or deeper checks than anybody writes are refused before any is made: a file may describe them without end.
    level, count = list(checks), 0
    # A loop and not a recursion: a file may nest checks more deeply than Python recurses.
    for _ in range(DEEPEST):
        count += len(level)
        if count > MOST_CHECKS:
            raise ConfigError(f"{name}: more than {MOST_CHECKS} checks")
        options = [check.get("options") for check in level if isinstance(check, Mapping)]
        inner = [option.get("checks") for option in options if isinstance(option, Mapping)]
        level = [check for some in inner if isinstance(some, list | tuple) for check in some]
    if level:
        raise ConfigError(f"{name}: checks are nested deeper than {DEEPEST} levels")
    checks_made = tuple(_make(name, check) for check in checks)
    signature = f"{name}|checks:{build_signature('', {'of': [check.signature for check in checks_made]})}|v1"
    needs = all(check.needs_reference for check in checks_made)  # where some do, those alone have no value without
    return Check(name, signature, partial(_decide, checks=checks_made, is_all=name == "all_of"), needs_reference=needs)


def _make(owner: str, described: object) -> Check:
    record: Mapping[str, Any] = {"name": described} if isinstance(described, str) else described  # type: ignore[assignment]  # looked at below
    if not isinstance(record, Mapping) or set(record) - {"name", "options"} or not isinstance(record.get("name"), str):
        raise ConfigError(f"{owner}: a check is a name, or a mapping of name and options, not {described!r:.80}")
    name, options = record["name"], record.get("options") or {}
    if name not in _CHECKS:
        raise ConfigError(f"{owner}: {name!r:.60} is not a check", hint=suggest(name, sorted(_CHECKS)))
    if not isinstance(options, Mapping):
        raise ConfigError(f"{owner}: the options of {name} must be a mapping, not {options!r:.60}")
    # Looked up before the call, since the TypeError of a call would name no suggestion.
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
    # Without a decisive check a missing value leaves the outcome open.
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
