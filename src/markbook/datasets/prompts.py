"""Prompts of tasks: templates, the fields of a row, and solved examples in front of the question."""

from __future__ import annotations

import functools
import itertools
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, UndefinedError
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment, safe_range

from markbook.config import ContextMode, FewShot, Text
from markbook.datasets.rows import Row
from markbook.errors import ConfigError, DataError, suggest

# Jinja templates of task files, in a sandbox: they see one row and nothing else.

MAX_TEXT = 4 << 20
"""The longest text a template may make, in characters."""

_EXPRESSION = re.compile(r"\{\{-?((?:(?!\}\}|\{\{).)*?)-?\}\}", re.DOTALL)


_FAILURES = (
    TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError, MemoryError, RecursionError, re.error,
)  # fmt: skip
"""What a template may raise; MemoryError for a text of more than there is room for, such as `q|center(10**11)`."""


class _Environment(ImmutableSandboxedEnvironment):
    """Also refuses `*` and `**` that would blow a value up: `'a' * 10**10` is one line of YAML."""

    intercepted_binops = frozenset({"*", "**"})

    def call_binop(self, context: Any, operator: str, left_value: Any, right: Any) -> Any:
        # `**` is refused for numbers too: the power of two short ones can fill the memory.
        plain = isinstance(left_value, int | float) and isinstance(right, int | float)
        if not plain or operator == "**":
            raise SecurityError(f"{operator} is not allowed on these values in a template")
        return super().call_binop(context, operator, left_value, right)


@functools.cache
def _environment() -> _Environment:
    # Prompts are plain text and never HTML.
    environment = _Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)
    # As templates of lm-evaluation-harness may.
    environment.filters["regex_replace"] = lambda text, pattern, repl, count=0: re.sub(pattern, repl, text, count=count)
    # Without Jinja's own globals a template sees one row and `range`, and no object that leads elsewhere.
    environment.globals.clear()
    environment.globals["range"] = safe_range  # of 100,000 numbers at most: a list of 10**10 takes all memory there is
    return environment


class RenderError(Exception):
    """A template that has no value for a row."""


@functools.lru_cache(maxsize=256)
def compile_template(source: str, at: str) -> Any:
    """Return a template, parsed; ConfigError if it does not parse."""
    try:
        return _environment().from_string(source)
    except RecursionError:
        raise ConfigError("the template is nested too deeply", at=at) from None
    except TemplateSyntaxError as error:
        message = (error.message or "").rstrip(".")
        raise ConfigError(f"the template does not parse: {message} (line {error.lineno} of it)", at=at) from error


@functools.lru_cache(maxsize=256)
def _expression(source: str) -> Any:
    return _environment().compile_expression(source, undefined_to_none=False)


def render(source: str, row: Mapping[str, object], at: str) -> str:
    """Return a template's text for a row.

    Raises:
        ConfigError: it does not parse.
        RenderError: it names an unknown field, fails, or makes too long a text.
    """
    template = compile_template(source, at)
    where = f", in the template at {at}" if at else ""
    parts: list[str] = []
    length = 0
    try:
        # Part by part, so that a template that makes too much is stopped at the limit and not after it.
        for part in template.generate(**row):
            length += len(part)
            if length > MAX_TEXT:
                raise RenderError(f"the template makes more than {MAX_TEXT >> 20} Mi characters")
            parts.append(part)
    except UndefinedError as error:
        message = str(error.message or error)
        if named := re.match(r"'(\w+)' is undefined", message):
            message = f"the row has no field {named[1]!r} ({suggest(named[1], sorted(row), there_is='it has')})"
        raise RenderError(message + where) from error
    except _FAILURES as error:
        raise RenderError(f"the template fails: {type(error).__name__}: {error}{where}") from error
    return "".join(parts)


def render_references(source: str, row: Mapping[str, object], at: str, *, exact: bool = False) -> tuple[str, ...]:
    """Return the right answers that a template stands for: several where it is one expression with a list.

    `exact`: white space around the expression is part of the answer, as lm-evaluation-harness has it.

    Raises:
        ConfigError, RenderError: as `render`.
    """
    alone = _EXPRESSION.fullmatch(source if exact else source.strip())
    field = row.get(alone[1].strip()) if alone else None
    if isinstance(field, str):
        return (field,)  # the common case, without a template: a field alone
    if alone:
        compile_template(source, at)
        try:
            value = _expression(alone[1])(**row)
        except _FAILURES as error:
            raise RenderError(f"the template fails: {type(error).__name__}: {error}") from error
        if isinstance(value, list):
            return tuple(str(item) for item in value if item is not None)
        if value is None:
            return ()
    return (render(source, row, at),)


# How lm-evaluation-harness puts a question, the beginning of a reply and an answer together.


def join_question(question: str, prefix: str, between: str) -> str:
    """Return a question with the beginning of its reply; white space already there stands for what comes between.

    >>> join_question("2+2?", "Answer:", " ")
    '2+2? Answer:'
    """
    if not prefix:
        return question
    return question + (between if question and not (question[-1].isspace() or prefix[0].isspace()) else "") + prefix


def beside(first: str, second: str, between: str) -> str:
    """Return two texts one behind the other; white space at the seam stands for what comes between.

    >>> beside("Be brief.", "You add numbers.", "; ")
    'Be brief.; You add numbers.'
    """
    if not first or not second:
        return first or second
    return first + ("" if first[-1].isspace() or second[0].isspace() else between) + second


def join_example(question: str, prefix: str, answer: str, ends: tuple[str, str]) -> str:
    """Return a worked example; one without an answer is a question alone.

    >>> join_example("2+2?", "Answer:", "4", (" ", ";"))
    '2+2? Answer: 4;'
    """
    between, after = ends
    if not answer:
        return join_question(question, prefix, between)
    if not prefix:
        return question + between + answer + after
    gap = "" if prefix[-1].isspace() or answer[0].isspace() else " "
    return join_question(question, prefix, between) + gap + answer + after


# What a row's field or a template over its fields stands for.

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_DEMAND = re.compile(r"\b(?:must|required)\b", re.IGNORECASE)


def shown_context(context: object, mode: ContextMode) -> object:
    """Return what of a row's context reaches the prompt; None counts as none.

    `full` shows it whole, whatever it is; `minimal` of a text its first sentence with "must" or "required", else its
    first, of anything else nothing; `none` nothing.
    """
    if mode == "full":
        return "" if context is None else context
    if not isinstance(context, str) or mode == "none":
        return ""
    sentences = _SENTENCE.split(context.strip())
    return next((sentence for sentence in sentences if _DEMAND.search(sentence)), sentences[0])


def render_field(text: Text, row: Row) -> str:
    """Return what a field or template makes of a row."""
    if text.fields:
        return "".join(field_texts(row, text.fields[0])[:1])
    return render(text.template or "", row, text.at)


def right_answers(text: Text, row: Row, *, exact: bool) -> tuple[str, ...]:
    """Return the texts that a field or template stands for in a row; `exact` keeps white space around a template."""
    if text.fields:
        return field_texts(row, text.fields[0])
    return render_references(text.template or "", row, text.at, exact=exact)


def field_texts(row: Row, name: str) -> tuple[str, ...]:
    """Return a field's value as texts.

    Raises:
        RenderError: the row lacks it, or it is empty.
    """
    if name not in row:
        raise RenderError(f"the row has no field {name!r} ({suggest(name, sorted(row), there_is='it has')})")
    references = as_references(row[name])
    if not references:
        raise RenderError(f"the row's field {name!r} is empty")
    return references


def as_references(value: object) -> tuple[str, ...]:
    """Return a value as texts: of a list each that is not null, of nothing none."""
    if value is None:
        return ()
    if isinstance(value, list | tuple | Iterator):  # a function of a task's own may yield them
        return tuple(str(item) for item in value if item is not None)
    return (str(value),)


def is_equal(value: object, expected: object) -> bool:
    """Whether a field has a value; CSV knows text only."""
    return value == expected or (isinstance(value, str) and not isinstance(expected, str) and value == str(expected))


# Worked examples before a question: which rows they come from, and which of those are taken.
#
# lm-evaluation-harness draws them with one stream of random numbers a task, row after row; this does the same, so that the
# prompts are the same.

SEED = 1234
"""lm-evaluation-harness's own for worked examples."""


class Examples:
    """Takes the examples of one row after the other; the order of the calls matters where they are drawn."""

    def __init__(self, few: FewShot, pool: Sequence[Row]) -> None:
        """Take the settings and the rows to choose from.

        Raises:
            DataError: there are too few.
        """
        self._few = few
        self._pool = list(pool)
        self._random = random.Random(SEED)  # noqa: S311 - the harness's numbers, not a secret
        is_of_own = few.excludes_self and not (few.paths and few.sampler == "first_n")
        needed = few.count + is_of_own  # a row that is asked about is not an example of itself
        if few.count and len(self._pool) < needed:
            raise DataError(
                f"{len(self._pool)} rows to take {few.count} worked examples from, and {needed} are needed", at=few.at
            )

    def of(self, row: Row) -> list[Row]:
        """Return the examples for a row.

        Raises:
            DataError: too few rows differ from it.
        """
        few = self._few
        if not few.count:
            return []
        if few.sampler == "first_n":
            examples = list(
                itertools.islice((other for other in self._pool if not few.excludes_self or other != row), few.count)
            )
        elif not few.excludes_self:
            return self._random.sample(self._pool, few.count)
        else:
            # One more than needed is drawn, in case the row itself is among them.
            examples = [example for example in self._random.sample(self._pool, few.count + 1) if example != row][
                : few.count
            ]
            if len(examples) < few.count:  # rows equal to this one were drawn, more than once
                others = [example for example in self._pool if example != row]
                examples = self._random.sample(others, few.count) if len(others) >= few.count else others
        if len(examples) < few.count:
            raise DataError(f"fewer than {few.count} rows differ from one that needs worked examples", at=few.at)
        return examples
