"""Jinja templates of task files, in a sandbox: they see one row and nothing else."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, UndefinedError
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from markbook.errors import ConfigError

MAX_TEXT = 4 << 20
"""The longest text a template may make, in characters."""

_EXPRESSION = re.compile(r"\{\{-?((?:(?!\}\}|\{\{).)*?)-?\}\}", re.DOTALL)


_FAILURES = (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError, MemoryError)
"""What a template may raise; MemoryError for a text of more than there is room for, such as `q|center(10**11)`."""


class _Environment(ImmutableSandboxedEnvironment):
    """Also refuses `*` and `**` that would blow a value up: `'a' * 10**10` is one line of YAML."""

    intercepted_binops = frozenset({"*", "**"})

    def call_binop(self, context: Any, operator: str, left_value: Any, right: Any) -> Any:
        plain = isinstance(left_value, int | float) and isinstance(right, int | float)
        if not plain or operator == "**":
            raise SecurityError(f"{operator} is not allowed on these values in a template")
        return super().call_binop(context, operator, left_value, right)


def _regex_replace(text: str, pattern: str, repl: str, count: int = 0) -> str:
    """Replace by a regular expression, as templates of lm-evaluation-harness may."""
    return re.sub(pattern, repl, text, count=count)


@functools.cache
def _environment() -> _Environment:
    environment = _Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)
    environment.filters["regex_replace"] = _regex_replace
    environment.globals.clear()
    environment.globals["range"] = range
    return environment


class RenderError(Exception):
    """A template that has no value for a row."""


@functools.lru_cache(maxsize=256)
def _compile_template(source: str, at: str) -> Any:
    try:
        return _environment().from_string(source)
    except TemplateSyntaxError as error:
        message = (error.message or "").rstrip(".")
        raise ConfigError(f"the template does not parse: {message} (line {error.lineno} of it)", at=at) from error


@functools.lru_cache(maxsize=256)
def _expression(source: str) -> Any:
    return _environment().compile_expression(source, undefined_to_none=False)


def check_template(source: str, at: str) -> None:
    """Parse a template.

    Raises:
        ConfigError: it does not parse.
    """
    _compile_template(source, at)


def render(source: str, row: Mapping[str, object], at: str) -> str:
    """Return a template's text for a row.

    Raises:
        ConfigError: it does not parse.
        RenderError: it names an unknown field, fails, or makes too long a text.
    """
    template = _compile_template(source, at)
    parts: list[str] = []
    length = 0
    try:
        for part in template.generate(**row):
            length += len(part)
            if length > MAX_TEXT:
                raise RenderError(f"the template makes more than {MAX_TEXT >> 20} Mi characters")
            parts.append(part)
    except UndefinedError as error:
        raise RenderError(_explain_undefined(error, row) + _name_template(at)) from error
    except _FAILURES as error:
        raise RenderError(f"the template fails: {type(error).__name__}: {error}{_name_template(at)}") from error
    return "".join(parts)


def _name_template(at: str) -> str:
    return f", in the template at {at}" if at else ""


def render_references(source: str, row: Mapping[str, object], at: str, *, exact: bool = False) -> tuple[str, ...]:
    """Return the right answers that a template stands for: several where it is one expression with a list.

    Args:
        source: the template.
        row: its fields.
        at: where it stands.
        exact: whether white space around the expression is part of the answer, as lm-evaluation-harness has it.

    Raises:
        ConfigError, RenderError: as `render`.
    """
    alone = _EXPRESSION.fullmatch(source if exact else source.strip())
    field = row.get(alone[1].strip()) if alone else None
    if isinstance(field, str):
        return (field,)  # the common case, without a template: a field alone
    if alone:
        _compile_template(source, at)
        try:
            value = _expression(alone[1])(**row)
        except _FAILURES as error:
            raise RenderError(f"the template fails: {type(error).__name__}: {error}") from error
        if isinstance(value, list):
            return tuple(str(item) for item in value if item is not None)
        if value is None:
            return ()
    return (render(source, row, at),)


def _explain_undefined(error: UndefinedError, row: Mapping[str, object]) -> str:
    import difflib

    message = str(error.message or error)
    named = re.match(r"'(\w+)' is undefined", message)
    if not named:
        return message
    near = difflib.get_close_matches(named[1], list(row), n=2, cutoff=0.6)
    hint = "did you mean " + " or ".join(map(repr, near)) + "?" if near else "it has " + ", ".join(sorted(row))
    return f"the row has no field {named[1]!r} ({hint})"
