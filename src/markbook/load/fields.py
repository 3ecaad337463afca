"""What a row's field or a template over its fields stands for."""

from __future__ import annotations

import re

from markbook.config import ContextMode, Text
from markbook.load.rows import Row
from markbook.load.templates import RenderError, render, render_references

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_DEMAND = re.compile(r"\b(?:must|required)\b", re.IGNORECASE)


def shown_context(context: object, mode: ContextMode) -> object:
    """Return what of a row's context reaches the prompt.

    Args:
        context: the row's; None counts as none.
        mode: `full` shows it whole, whatever it is; `minimal` of a text its first sentence with "must" or "required",
            else its first, of anything else nothing; `none` nothing.
    """
    if mode == "full":
        return "" if context is None else context
    if not isinstance(context, str) or mode == "none":
        return ""
    sentences = _SENTENCE.split(context.strip())
    return next((sentence for sentence in sentences if _DEMAND.search(sentence)), sentences[0])


def asked_of(text: Text, row: Row) -> str:
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
        import difflib

        near = difflib.get_close_matches(name, list(row), n=2, cutoff=0.6)
        hint = "did you mean " + " or ".join(map(repr, near)) + "?" if near else "it has " + ", ".join(sorted(row))
        raise RenderError(f"the row has no field {name!r} ({hint})")
    references = as_references(row[name])
    if not references:
        raise RenderError(f"the row's field {name!r} is empty")
    return references


def as_references(value: object) -> tuple[str, ...]:
    """Return a value as texts: of a list each that is not null, of nothing none."""
    if value is None:
        return ()
    if isinstance(value, list | tuple):
        return tuple(str(item) for item in value if item is not None)
    return (str(value),)


def is_equal(value: object, expected: object) -> bool:
    """Whether a field has a value; CSV knows text only."""
    return value == expected or (isinstance(value, str) and not isinstance(expected, str) and value == str(expected))
