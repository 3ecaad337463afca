"""From a task's rows to samples: which rows, what to ask, what is right."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from markbook.config import ContextMode, Task, Text
from markbook.config.loading import load
from markbook.config.tree import Function
from markbook.datasets.choices import Weigher, Weighing, render_prefix
from markbook.datasets.filters import PROMPTS, SELECTIONS, TARGETS, last, unregistered_error
from markbook.datasets.prompts import (
    Examples,
    RenderError,
    as_references,
    beside,
    compile_template,
    field_texts,
    is_equal,
    join_example,
    join_question as joined,
    render,
    render_field,
    right_answers,
    shown_context,
)
from markbook.datasets.rows import Numbered, Reading, Row, check_fields, data_file, read_rows, read_task_rows
from markbook.datasets.user_code import Find, ForeignError, call_user_function, nothing, select_rows
from markbook.errors import ConfigError, DataError
from markbook.files.jsonl import Rejection, check_whole, may_be_halved
from markbook.files.spool import Spool, SpooledMap
from markbook.types import Sample, TaskRow, Test


@dataclass(frozen=True, slots=True)
class TaskRows:
    """The samples of a task, and what could not become one."""

    samples: Sequence[Sample]
    rejections: tuple[Rejection, ...]
    inputs: Mapping[str, str]
    """SHA-256 of each file that was read, by its name."""
    mode: ContextMode
    """How much of the rows' context the prompts show."""
    notes: tuple[str, ...] = ()
    """What the user should know about the prompts."""
    weighings: Mapping[str, Weighing] = field(default_factory=dict)
    """By sample id, in tasks that are answered by log-likelihoods."""
    turns: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    """By sample id the worked examples, where they are asked as turns of their own: questions and answers."""
    unsure: str = ""
    """The first line of which nobody knows whether it is one of the task's rows: places after it would be guesses."""
    has_references: bool = False
    """Whether any sample has a right answer."""
    has_tests: bool = False
    """Whether any has tests."""
    digest: str = ""
    """SHA-256 over what is asked and what is right, row by row: answers belong to these rows alone."""


def load_samples(
    task: Task,
    *,
    data: Path | None = None,
    limit: int | None = None,
    mode: ContextMode | None = None,
    find: Find = nothing,
    documented: bool = False,
    turns: bool = False,
    fetches: bool = False,
) -> TaskRows:
    """Return the samples of a task.

    A sample's id is the row's own (`data.id`), or its place among the task's rows, from 0; `row` holds the row.

    Args:
        task: the task.
        data: a file to read instead of the one that the task names.
        limit: take this many rows at most.
        mode: how much of each row's context the prompt shows, instead of what the task says.
        find: finds functions of a Python file beside the task, where the user allowed to run it.
        turns: keep worked examples as turns of their own and the description as the system message, not in the prompt.
        documented: compare the answers of a task with tests to the text of those, as the documented suite's program does.
        fetches: fetch the data set of the hub that the task names, where the user allowed it.

    Raises:
        ConfigError: a name or template that stands for nothing, or a data file that is not there.
        IncompleteError: the hub cannot be reached, or refuses.
        DataError: no row could be used; the first reason is the message.
    """
    builder = _Builder(task, find, mode, documented=documented, turns=turns)
    reading = read_task_rows(task, data, builder.select, selects=builder.selects, fetches=fetches)
    _refuse_bare_field(task, reading)
    examples, notes = _examples(task, builder, reading)
    samples = _read_samples(builder, reading, examples, limit)
    if not samples:
        if not reading.rejections:
            files = ", ".join(reading.inputs)
            hint = "is its row selection right for this file?"
            raise DataError(f"task {task.name!r} has no rows", at=files, hint=hint)
        first, others = reading.rejections[0], len(reading.rejections) - 1
        more = f", and {others} more rows" if others else ""
        raise DataError(f"task {task.name!r} has no usable row: {first.reason}{more}", at=first.at)
    return TaskRows(
        samples,
        tuple(reading.rejections),
        MappingProxyType(reading.inputs),
        builder.mode,
        (*task.notes, *notes),
        builder.weighings,
        builder.turns,
        reading.unsure,
        builder.has_references,
        builder.has_tests,
        builder.digest.hexdigest(),
    )


def _read_samples(builder: _Builder, reading: Reading, examples: Examples, limit: int | None) -> Spool[Sample]:
    """Return the samples of the rows; what cannot become one is rejected. DataError for two rows of one id."""
    samples: Spool[Sample] = Spool()
    ids: set[str] = set()
    for numbered in itertools.islice(reading.rows, limit):
        shots = examples.of(numbered.row)
        try:
            sample = builder.sample(numbered, shots)
            content = builder.content(sample)
        except RenderError as error:
            reading.rejections.append(Rejection(numbered.at, str(error)))
            continue
        # A place is unique by itself; only an id that the data state may stand twice.
        if builder.task.data.id_field:
            if sample.id in ids:
                first = next(earlier.source for earlier in samples if earlier.id == sample.id)
                raise DataError(f"two rows have the id {sample.id!r}", at=numbered.at, hint=f"the first is {first}")
            ids.add(sample.id)
        samples.append(sample)
        builder.digest.update(content.encode())
        builder.has_references = builder.has_references or bool(sample.references)
        builder.has_tests = builder.has_tests or bool(sample.tests)
    return samples


def check_sources(task: Task, find: Find = nothing) -> None:
    """Look up what makes samples out of a task's rows, and read no row.

    Raises:
        ConfigError: a name or template that stands for nothing.
    """
    builder = _Builder(task, find, None, documented=False)
    # A function of the user's own is not called for a mere check.
    if builder.process is None:
        builder.select([])


def _refuse_bare_field(task: Task, reading: Reading) -> None:
    """Refuse (ConfigError) a right answer that is the name of a field, the same for every row: its value is meant."""
    text = task.references
    if text is None or text.template is None or not reading.rows or task.output != "generate_until":
        return
    name = text.template.strip()
    if name in reading.rows[0].row:
        raise ConfigError(
            f"every row's right answer would be the word {name!r}",
            at=text.at,
            hint=f'for the field write "{{{{ {name} }}}}"',
        )


class _Builder:
    """Makes samples out of rows by the task's templates and functions."""

    def __init__(
        self, task: Task, find: Find, mode: ContextMode | None, *, documented: bool, turns: bool = False
    ) -> None:
        self.task = task
        self.find = find
        self.process = None if task.process is None else find(task.process)
        self.asks = None if task.prompt.function is None else find(task.prompt.function)
        self.tests = task.tests
        self.has_own_target = False
        self.has_references = self.has_tests = False
        self.digest = hashlib.sha256()
        # Answers by log-likelihood are weighed by rules of their own, so a `Weigher` replaces the templates below.
        self.weigher = None if task.output == "generate_until" else Weigher(task, find)
        self.weighings: SpooledMap[Weighing] = SpooledMap()
        self.as_turns = turns and self.weigher is None
        self.turns: SpooledMap[tuple[tuple[str, str], ...]] = SpooledMap()
        own_mode: ContextMode = task.context
        self.prompt, self.system = task.prompt, task.system
        if self.weigher is None:
            self.prompt, own_mode, self.system = self._prompt()
        self.mode: ContextMode = mode or own_mode
        self.target: Callable[[Row], tuple[str, ...]] = (
            self._target() if self.weigher is None else self.weigher.references
        )
        # The right answer stays reachable where the documented profile replaces it by the text of the tests.
        self.canonical = self.target
        if documented and self.tests and not self.has_own_target:
            self.target = lambda row: ("\n".join(field_texts(row, self.tests)),)
        if self.weigher is not None:
            return  # it has parsed its templates
        self.shot_asks = self._own_function(task.few_shot.prompt, "prompt")
        self.shot_answers = self._own_function(task.few_shot.references, "target")
        for text in (self.prompt, task.references):
            if text is not None and text.template is not None:
                compile_template(text.template, text.at)

    def _own_function(self, text: Text | None, what: str) -> Callable[[Row], Any] | None:
        """Return what the file's own function says of a row, None where something else says it."""
        if text is None or text.function is None:
            return None
        function, own = text.function, self.find(text.function)
        if own is None:
            raise unregistered_error(what, function, [])
        return lambda row: _call_row_function(function, own, row)

    def given_examples(self, function: Function) -> list[Row]:
        """Return the rows that a function gives for worked examples; ConfigError if it does not, or may not be called."""
        own = self.find(function)
        if own is None:
            raise unregistered_error("list of examples", function, [])
        try:
            rows = call_user_function(function, own)
        except ForeignError as error:
            raise ConfigError(f"the function {error}", at=function.at) from error
        if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
            raise ConfigError(f"the function {function.name} gives no list of rows", at=function.at)
        return rows

    def _prompt(self) -> tuple[Text, ContextMode, str]:
        """Return the prompt's source and its context mode; a registered function is a ready task's prompt."""
        task = self.task
        function = task.prompt.function
        if function is None or self.asks is not None:
            return task.prompt, task.context, task.system
        entry = PROMPTS.get(last(function.name))
        if entry is None:
            raise unregistered_error("prompt", function, list(PROMPTS))
        name, mode = entry
        ready = load(name)
        assert isinstance(ready, Task)
        # A mode that the task states itself goes before the ready task's; `full` is what it has if it states none.
        return ready.prompt, task.context if task.context != "full" else mode, task.system or ready.system

    def _target(self) -> Callable[[Row], tuple[str, ...]]:
        text = self.task.references
        if text is None:
            return lambda _row: ()
        if self.task.choices is not None:
            return Weigher(self.task, self.find).references  # the right one's text is what a reply is held against
        function = text.function
        if function is not None:
            own = self.find(function)
            if own is None:
                target = TARGETS.get(last(function.name))
                if target is None:
                    raise unregistered_error("target", function, list(TARGETS))
                self.tests = self.tests or target.tests
                if target.optional:
                    return lambda row: as_references(row.get(target.reference))
                return lambda row: field_texts(row, target.reference)
            self.has_own_target = True
            return lambda row: tuple(_call_row_function(function, lambda own_row: as_references(own(own_row)), row))
        return lambda row: right_answers(text, row, exact=self.task.format == "lm-eval")

    def content(self, sample: Sample) -> str:
        """Return a sample's question and right answers as one JSON text that no other has; RenderError for half a character."""
        weighing = self.weighings.get(sample.id)
        content = [
            sample.id,
            sample.system,
            self.turns.get(sample.id),
            sample.input,
            sample.references,
            [test.program for test in sample.tests],
            # As text, since what is right may be a number, a text or a list.
            None if weighing is None else [weighing.pairs, weighing.choices, str(weighing.gold)],
        ]
        text = json.dumps(content)
        if may_be_halved(text):
            try:
                check_whole(content)
            except UnicodeEncodeError as error:
                raise RenderError("what it asks or what is right holds half a character") from error
        return text

    @property
    def selects(self) -> bool:
        """Whether rows of the files may be no rows of the task."""
        return bool(self.task.data.where or self.task.process)

    def select(self, rows: Sequence[Numbered]) -> Iterable[Numbered]:
        """Keep the rows that belong to the task."""
        if self.process is not None and self.task.process is not None:
            # A function of the user's own sees all rows at once, as the harness calls it, and may drop or change any.
            chosen = select_rows(self.task.process, self.process, [numbered.row for numbered in rows])
            return [Numbered(row, self.task.data.at, 0) for row in chosen]
        where = dict(self.task.data.where)
        check_fields(rows, where, self.task.data.at)
        if self.task.process is not None:
            selection = SELECTIONS.get(last(self.task.process.name))
            if selection is None:
                raise unregistered_error("row selection", self.task.process, list(SELECTIONS))
            where |= selection
        return (
            numbered for numbered in rows if all(is_equal(numbered.row.get(key), value) for key, value in where.items())
        )

    def text(self, row: Row) -> str:
        """Return what the model is asked about a row, without examples."""
        asks = self.asks
        if asks is not None and self.prompt.function is not None:
            return str(_call_row_function(self.prompt.function, lambda own_row: str(asks(own_row)), row))
        if self.prompt.fields:
            return render_field(self.prompt, row)
        # In the harness `context` is a field like any other, and null a word there.
        is_plain = self.mode == "full" and self.task.format == "lm-eval" and self.prompt is self.task.prompt
        context = row.get("context", "")
        row_shown = {**row, "context": context if is_plain else shown_context(context, self.mode)}
        return render(self.prompt.template or "", row_shown, self.prompt.at)

    def question(self, row: Row) -> str:
        """Return what the model is asked about a row, with the beginning of its reply."""
        if self.weigher is not None:
            return self.weigher.question(row)
        prefix = render_prefix(self.task.prefix, row, self.prompt.at)
        return joined(self.text(row), prefix, self.task.delimiters[0])

    def shot(self, row: Row) -> str:
        """Return a worked example: question and answer; one without an answer is a question alone."""
        if self.weigher is not None:
            return self.weigher.shot(row)
        few = self.task.few_shot
        question, prefix, answer = self._example(row)
        return join_example(question, prefix, answer, few.delimiters or self.task.delimiters)

    def turn(self, row: Row) -> tuple[str, str]:
        """Return a worked example as two turns."""
        question, prefix, answer = self._example(row)
        return question, beside(prefix, answer, " ")

    def _example(self, row: Row) -> tuple[str, str, str]:
        """Return a worked example's question, the beginning of its answer, and the rest of that."""
        few = self.task.few_shot
        if self.shot_asks is not None:
            question = str(self.shot_asks(row))
        else:
            question = self.text(row) if few.prompt is None else render_field(few.prompt, row)
        if self.shot_answers is not None:
            answers = as_references(self.shot_answers(row))
        else:
            answers = self.target(row) if few.references is None else right_answers(few.references, row, exact=True)
        prefix = render_prefix(self.task.prefix if few.prefix is None else few.prefix, row, self.prompt.at)
        return question, prefix, answers[0] if answers else ""

    def sample(self, numbered: Numbered, examples: Sequence[Row]) -> Sample:
        """Return a row as a sample; RenderError if it lacks what the task asks for."""
        task, row = self.task, numbered.row
        description = (
            render(task.description, row, task.prompt.at) if task.description and task.format == "lm-eval" else ""
        )
        system = self.system
        # As turns the examples travel outside the prompt, so they must not stand in it as well.
        before = "" if self.as_turns else description + "".join(map(self.shot, examples))
        entry_point = row.get(task.entry_point) if task.entry_point else None
        name = str(field_texts(row, task.data.id_field)[0]) if task.data.id_field else str(numbered.number)
        if self.weigher is not None:
            self.weighings.add(name, self.weigher.weighing(row, before))
        if self.as_turns:
            system = beside(system, description, task.delimiters[1])
            self.turns.add(name, tuple(map(self.turn, examples)))
        return Sample(
            id=name,
            input=before + self.question(row),
            references=self.target(row),
            tests=(Test(program="\n".join(field_texts(row, self.tests))),) if self.tests else (),
            entry_point="" if entry_point is None else str(entry_point),
            source=numbered.at,
            system=system,
            context=context if isinstance(context := row.get("context"), str) else "",
            canonical=self.canonical(row) if self.tests else (),
            row=TaskRow(row, numbered.number, has_turns=self.as_turns and bool(examples)),
        )


def _examples(task: Task, builder: _Builder, reading: Reading) -> tuple[Examples, tuple[str, ...]]:
    """Return where worked examples come from, and what the user should know about them; DataError if there are too few rows."""
    few = task.few_shot
    if not few.count:
        return Examples(few, ()), ()
    rows = [numbered.row for numbered in reading.rows]
    notes: list[str] = []
    if few.split:
        # A row must not show its own answer as a worked example.
        few = replace(few, excludes_self=True)
        notes.append(f"worked examples come from the task's own rows: the split {few.split!r} is not here")
    elif few.rows_by is not None:
        rows = builder.given_examples(few.rows_by)
    elif few.rows:
        rows = list(few.rows)
    elif few.paths:
        other = Reading(inputs=reading.inputs)
        for path in few.paths:
            read_rows(data_file(task, path, few.folder), other)
        reading.rejections += other.rejections
        # The same selection as for the task, since examples of another category would explain another task.
        rows = [numbered.row for numbered in builder.select(other.rows)]
    elif not few.excludes_self:
        notes.append("a row may be a worked example of itself, as in lm-evaluation-harness: no fewshot_split is named")
    return Examples(few, rows), tuple(notes)


def _call_row_function(function: Function, user_function: Callable[..., Any], row: Row) -> Any:
    """Return what a function of the user's own says of a row; RenderError if it raises."""
    try:
        return call_user_function(function, user_function, dict(row))
    except ForeignError as error:
        raise RenderError(f"the function {error}") from error
