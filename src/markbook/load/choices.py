"""From a row to what a model is asked to weigh, by lm-evaluation-harness's rules for the types of what tasks name."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from markbook.config import Task, Text
from markbook.errors import ConfigError
from markbook.load.foreign import Find, ForeignError, call_user_function
from markbook.load.joining import join_example, join_question
from markbook.load.rows import Row
from markbook.load.templates import RenderError, check_template, render

_MAX_LITERAL = 200_000
"""The longest text that is read as a list, in characters."""


@dataclass(frozen=True, slots=True)
class Weighing:
    """One row of a task that is answered by log-likelihoods: texts with what may follow them, and which of those is right."""

    pairs: tuple[tuple[str, str], ...]
    """Each a context and its continuation, in the order in which lm-evaluation-harness asks them."""
    choices: tuple[str, ...] = ()
    """The texts to choose from, where there is a choice."""
    gold: object = None
    """What is right: a place among the choices, one of their texts, or a list of places."""


class Weigher:
    """Makes weighings out of the rows of a task."""

    def __init__(self, task: Task, find: Find) -> None:
        """Find the task's functions.

        Raises:
            ConfigError: a template that does not parse, a function that may not be called.
        """
        self.task = task
        self._find = find
        self._own: dict[str, Callable[..., Any]] = {}
        for text in (task.prompt, task.references, task.choices, task.few_shot.prompt, task.few_shot.references):
            if text is not None and text.template is not None:
                check_template(text.template, text.at)
            elif text is not None and text.function is not None:
                self._own[text.function.name] = self._function(text)

    def question(self, row: Row) -> str:
        """Return what is asked about a row; nothing where every choice is a question of its own."""
        question = self._question(row, self.task.prompt)
        if isinstance(question, int):
            return ""
        return join_question(question, self._prefix(row, self.task.prefix), self.task.delimiters[0])

    def shot(self, row: Row) -> str:
        """Return a worked example: question and answer; one without an answer is a question alone."""
        few, task = self.task.few_shot, self.task
        between, after = few.delimiters or task.delimiters
        question = self._question(row, few.prompt or task.prompt)
        gold = self._gold(row, few.references or task.references)
        if isinstance(question, int):
            question = _at(self._choices(row), question)
        elif isinstance(gold, int) and not isinstance(gold, bool) and task.choices is not None:
            gold = _at(self._choices(row), gold)
        answer = gold[0] if isinstance(gold, list) and gold else gold
        prefix = self._prefix(row, task.prefix if few.prefix is None else few.prefix)
        return join_example(question, prefix, "" if answer is None else str(answer), (between, after))

    def references(self, row: Row) -> tuple[str, ...]:
        """Return the right answers as texts."""
        gold, question = self._gold(row, self.task.references), self._question(row, self.task.prompt)
        gold = question if isinstance(question, int) else gold
        choices = self._choices(row)
        several = gold if isinstance(gold, list) else [gold]
        return tuple(
            choices[choice] if isinstance(choice, int) and 0 <= choice < len(choices) else str(choice)
            for choice in several
        )

    def weighing(self, row: Row, before: str) -> Weighing:
        """Return what is asked about a row.

        Args:
            row: it.
            before: the description and the worked examples.

        Raises:
            RenderError: the row lacks what is needed, or its choices are no texts.
        """
        gold = self._gold(row, self.task.references)
        if self.task.output == "loglikelihood_rolling":
            return Weighing((("", str(gold)),), gold=str(gold))
        question, between = self._question(row, self.task.prompt), self.task.delimiters[0]
        prefix = self._prefix(row, self.task.prefix)
        if self.task.output == "loglikelihood":
            return Weighing(((before + join_question(str(question), prefix, between), str(gold)),), gold=str(gold))
        choices = self._choices(row)
        if isinstance(question, int):
            pairs = [(before + join_question(choice, prefix, ""), f"{between}{gold}") for choice in choices]
            gold = question
        else:
            pairs = [(before + join_question(question, prefix, between), between + choice) for choice in choices]
        if any(use.name == "acc_mutual_info" for use in self.task.metrics):
            pairs += [("", between + choice) for choice in choices]
        return Weighing(tuple(pairs), choices, gold)

    def _prefix(self, row: Row, source: str) -> str:
        return prefix_of(source, row, self.task.prompt.at)

    def _question(self, row: Row, text: Text) -> str | int:
        value = self._value(row, text)
        return value if isinstance(value, int) and self.task.choices is not None else str(value)

    def _gold(self, row: Row, text: Text | None) -> Any:
        assert text is not None  # the task file was refused without
        value = self._value(row, text)
        return _parse_list(value) if isinstance(value, str) and text.template is not None else value

    def _choices(self, row: Row) -> tuple[str, ...]:
        text = self.task.choices
        if text is None:
            return ()
        value = self._value(row, text)
        if isinstance(value, str):
            value = _parse_list(value)
        if isinstance(value, Mapping):
            value = list(value.values())
        if not isinstance(value, list | tuple) or not value or not all(isinstance(choice, str) for choice in value):
            raise RenderError(f"its choices are no list of texts but {value!r:.100}")
        if not all(value):
            raise RenderError("one of its choices is empty")
        return tuple(value)

    def _value(self, row: Row, text: Text) -> Any:
        """Return what a constant, a field, a function or a template stands for; digits stand for a place."""
        if text.constant is not None:
            return text.constant
        if text.function is not None:
            try:
                return call_user_function(text.function, self._own[text.function.name], dict(row))
            except ForeignError as error:
                raise RenderError(f"the function {error}") from error
        name = text.fields[0] if text.fields else text.template or ""
        if name in row:
            return row[name]
        if text.fields:
            raise RenderError(f"the row has no field {name!r} (it has {', '.join(sorted(row))})")
        rendered = render(name, row, text.at)
        return (
            int(rendered) if rendered.isdecimal() and len(rendered) < 10 and self.task.choices is not None else rendered
        )

    def _function(self, text: Text) -> Callable[..., Any]:
        assert text.function is not None
        own = self._find(text.function)
        if own is None:
            raise ConfigError(
                f"!function {text.function.name} is no registered function",
                at=text.function.at,
                hint="--allow-code runs the Python file beside the task",
            )
        return own


def prefix_of(source: str, row: Row, at: str) -> str:
    """Return how a row's reply begins: a field's value, or what a template makes of the row."""
    if not source:
        return ""
    if source in row:
        return "" if row[source] is None else str(row[source])
    return render(source, row, at)


def _parse_list(text: str) -> Any:
    """Return the list that a text spells, as a template's text of a list does; else the text."""
    if len(text) < 2 or text[0] != "[" or text[-1] != "]" or len(text) > _MAX_LITERAL:
        return text
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return text


def _at(choices: tuple[str, ...], index: int) -> str:
    if not 0 <= index < len(choices):
        raise RenderError(f"place {index} is none of its {len(choices)} choices")
    return choices[index]
