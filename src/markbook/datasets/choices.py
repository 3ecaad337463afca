"""Questions with choices, and the likelihoods that another harness recorded for them."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markbook.config import Task, Text
from markbook.datasets.prompts import RenderError, compile_template, join_example, join_question, render
from markbook.datasets.rows import Row
from markbook.datasets.user_code import Find, ForeignError, call_user_function, to_plain
from markbook.errors import ConfigError, DataError
from markbook.types import Sample, digest_text

# From a row to what a model is asked to weigh, by lm-evaluation-harness's rules for the types of what tasks name.

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

    @property
    def golds(self) -> list[object]:
        """What is right, one by one; what says nothing (null, no text, -1 of files without answers) is left out."""
        several = self.gold if isinstance(self.gold, list) else [self.gold]
        silent = (None, "", -1, *(["-1"] if "-1" not in self.choices else []))  # a template makes a text of it
        return [gold for gold in map(to_place, several) if gold not in silent]


def to_place(gold: object) -> object:
    """Return a right answer; a whole number that was written as a decimal one, as columns with gaps have it, is a place."""
    return int(gold) if isinstance(gold, float) and gold.is_integer() else gold


class Weigher:
    """Makes weighings out of the rows of a task."""

    def __init__(self, task: Task, find: Find) -> None:
        """Find the task's functions.

        Raises:
            ConfigError: a template that does not parse, a function that may not be called.
        """
        self.task = task
        self._own: dict[str, Callable[..., Any]] = {}
        for text in (task.prompt, task.references, task.choices, task.few_shot.prompt, task.few_shot.references):
            if text is not None and text.template is not None:
                compile_template(text.template, text.at)
            elif text is not None and text.function is not None:
                own = find(text.function)
                if own is None:
                    raise ConfigError(
                        f"!function {text.function.name} is not a registered function",
                        at=text.function.at,
                        hint="--allow-code runs the Python file beside the task",
                    )
                self._own[text.function.name] = own

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
        """Return the right answers as texts.

        Raises:
            RenderError: a reply is generated, and the right one is null or a place that is none of the choices.
        """
        gold, question = self._gold(row, self.task.references), self._question(row, self.task.prompt)
        gold = question if isinstance(question, int) else gold
        choices = self._choices(row)
        several = list(map(to_place, gold if isinstance(gold, list) else [gold]))
        # rows without a right answer have -1 or null, which a reply must not match as a text
        if self.task.output == "generate_until":
            return tuple(_at(choices, gold) if isinstance(gold, int | float) else _text(gold) for gold in several)
        return tuple(
            choices[choice] if isinstance(choice, int) and 0 <= choice < len(choices) else str(choice)
            for choice in several
        )

    def weighing(self, row: Row, before: str) -> Weighing:
        """Return what is asked about a row, behind the description and the worked examples.

        Raises:
            RenderError: the row lacks what is needed, or its choices are not texts.
        """
        gold = self._gold(row, self.task.references)
        if self.task.output == "loglikelihood_rolling":
            # A text as a whole is weighed with nothing before it.
            return Weighing((("", _text(gold)),), gold=str(gold))
        question, between = self._question(row, self.task.prompt), self.task.delimiters[0]
        prefix = self._prefix(row, self.task.prefix)
        if self.task.output == "loglikelihood":
            return Weighing(((before + join_question(str(question), prefix, between), _text(gold)),), gold=str(gold))
        choices = self._choices(row)
        # A question that is a number is the place of the right choice: the choices are then beginnings, and what is
        # right follows each.
        if isinstance(question, int):
            pairs = [(before + join_question(choice, prefix, ""), f"{between}{_text(gold)}") for choice in choices]
            gold = question
        else:
            pairs = [(before + join_question(question, prefix, between), between + choice) for choice in choices]
        # Each choice once more without its question: mutual information compares the two likelihoods.
        if any(use.name == "acc_mutual_info" for use in self.task.metrics):
            pairs += [("", between + choice) for choice in choices]
        return Weighing(tuple(pairs), choices, gold)

    def _prefix(self, row: Row, source: str) -> str:
        return render_prefix(source, row, self.task.prompt.at)

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
            raise RenderError(f"its choices are not a list of texts but {value!r:.100}")
        if not all(value):
            raise RenderError("one of its choices is empty")
        return tuple(value)

    def _value(self, row: Row, text: Text) -> Any:
        """Return what a constant, a field, a function or a template stands for; digits stand for a place."""
        if text.constant is not None:
            return text.constant
        if text.function is not None:
            try:
                value = call_user_function(text.function, self._own[text.function.name], dict(row))
                # A number or an array of numpy as plain values: its whole numbers are not of the type int.
                return to_plain(value)
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


def render_prefix(source: str, row: Row, at: str) -> str:
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
        # Literals are parsed and nothing is called.
        return ast.literal_eval(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return text


def _text(gold: object) -> str:
    if gold is None:
        raise RenderError("its right answer is null")
    return str(gold)


def _at(choices: tuple[str, ...], index: float) -> str:
    if not isinstance(index, int) or not 0 <= index < len(choices):
        raise RenderError(f"place {index} is none of its {len(choices)} choices")
    return choices[index]


# Whether recorded answers were given to the rows that they are marked against.
#
# Files of lm-evaluation-harness and of our own runs say what was asked and what was right. A task may draw its choices or
# rows, a file of rows may have changed: such an answer belongs to another question, and a mark of it would mean nothing.


@dataclass(frozen=True, slots=True)
class RecordedQuestion:
    """What a row of answers says about the question it answers."""

    prompts: tuple[str, ...] = ()
    """What was asked; of weighed texts one for each."""
    continuations: tuple[str, ...] = ()
    """The weighed texts themselves."""
    prompt_hash: str = ""
    """SHA-256 of the prompt, where its text is not there."""
    target: tuple[str, ...] | None = None
    """The right answers; None where the row does not say them."""
    target_hash: str = ""
    """SHA-256 of the right answer as text, where that is not there."""
    has_turns: bool = False
    """Whether worked examples were turns of their own, which `prompts` leave out."""
    is_chat: bool = False
    """Whether the prompts were written as a chat in JSON."""


class ChatTemplate:
    """What a chat template puts around the prompts of a file of answers: the same around each of them."""

    def __init__(self) -> None:
        self._around: list[tuple[str, str]] | None = None
        """What may stand before and after; several where a prompt occurs in what is around it."""

    def holds(self, recorded: str, prompt: str, *, is_chat: bool, has_turns: bool) -> bool:
        """Return whether a recorded text is a prompt, alone or in the template that all texts before were in.

        `is_chat`: it was recorded as a chat in JSON; `has_turns`: worked examples stand before the prompt as turns of
        their own.
        """
        recorded, prompt = recorded.strip(), prompt.strip()
        if not prompt:
            return True
        around = _find_around(recorded, prompt) if self._around is None else self._around
        fitting = []
        for before, after in around:
            body = recorded.removesuffix(after).rstrip()
            stands_between = recorded.endswith(after) and body.endswith(prompt)
            if stands_between and (has_turns or body.removesuffix(prompt).rstrip() == before):
                # A template closes the turn. Where nothing follows, what stands before are worked examples.
                fitting += [(before, after)] if after or not before or is_chat else []
        if fitting:
            self._around = fitting
        return bool(fitting)


_MOST_PLACES = 100
"""So many places of a prompt in a recorded text are looked at, from the end."""


def _find_around(recorded: str, prompt: str) -> list[tuple[str, str]]:
    """Return what stands before and after each place of a prompt, without the white space between."""
    around: list[tuple[str, str]] = []
    start = recorded.rfind(prompt)
    while start >= 0 and len(around) < _MOST_PLACES:
        around.append((recorded[:start].rstrip(), recorded[start + len(prompt) :].lstrip()))
        start = recorded.rfind(prompt, 0, start + len(prompt) - 1)
    return around


def recorded_question(record: Mapping[str, object]) -> RecordedQuestion | None:
    """Return what a row says about its question; None where it is neither the harness's nor one of our own results.

    Raises:
        ValueError: it says what was asked in a form that is not the harness's.
    """
    if isinstance(record.get("pipeline"), str) and isinstance(record.get("references"), list):
        prompt = record.get("prompt")
        return RecordedQuestion(
            prompts=(prompt,) if isinstance(prompt, str) and prompt else (),
            target=_texts(record["references"]),
            has_turns=bool(record.get("turns")),
        )
    keys = {"arguments", "prompt_hash", "target_hash"} & record.keys()
    if not keys:
        return None
    pairs = _argument_pairs(record.get("arguments"))
    return RecordedQuestion(
        prompts=tuple(_turns_as_text(context) for context, _ in pairs),
        is_chat=any(_turns_as_text(context) != context for context, _ in pairs),
        continuations=tuple(text for _, text in pairs if text is not None),
        prompt_hash="" if pairs else str(record.get("prompt_hash") or ""),
        target=_texts(record["target"]) if "target" in record else None,
        target_hash="" if "target" in record else str(record.get("target_hash") or ""),
    )


def check_recorded(
    question: RecordedQuestion, sample: Sample, weighing: Weighing | None, at: str, template: ChatTemplate
) -> None:
    """Refuse an answer that was given to another question than a sample's.

    Raises:
        DataError: its prompt or its right answer is another one.
    """
    if not _is_same_prompt(question, sample, weighing, template):
        what, fields = "prompt", "`arguments` and `prompt_hash`"
    elif not _is_same_target(question, sample, weighing):
        what, fields = "right answer", "`target` and `target_hash`"
    else:
        return
    if question.has_turns or not (question.continuations or question.prompt_hash or question.target_hash):
        fields = {"prompt": "`prompt` or `arguments`", "right answer": "`references` or `target`"}[what]
    raise DataError(
        f"this answer was given to another {what} than row {sample.id!r} of the task has",
        at=at,
        hint=f"use the rows and options of the run that recorded it (such as --turns), or remove {fields} from the file"
        " to mark its answers all the same",
    )


def _argument_pairs(arguments: object) -> list[tuple[str, str | None]]:
    """Return what the harness asked: a mapping since 0.4.4, before that a list of pairs; ValueError if it cannot be compared."""
    requests: object = arguments or []
    if isinstance(arguments, Mapping):
        requests = [
            [argument.get("arg_0"), argument.get("arg_1")] if isinstance(argument, Mapping) else argument
            for argument in arguments.values()
        ]
    pairs: list[tuple[str, str | None]] = []
    for request in requests if isinstance(requests, list) else [requests]:
        context, *others = request if isinstance(request, list) and request else [None]
        if isinstance(context, list) and context:
            # a chat as a list of turns, or one text in a list
            context = json.dumps(context) if isinstance(context[0], Mapping) else context[0]
        text = others[0] if others and isinstance(others[0], str) else None
        match context:
            case str():
                pairs.append((context, text))
            case _:
                raise ValueError("`arguments` do not say what was asked in the form of lm-evaluation-harness")
    return pairs


def _turns_as_text(prompt: str) -> str:
    """Return a prompt, of a chat written as JSON the turns' texts."""
    if not prompt.startswith('[{"') or len(prompt) > _MAX_LITERAL:
        return prompt
    try:
        turns = json.loads(prompt)
    except (ValueError, RecursionError):
        return prompt
    contents = [turn.get("content") for turn in turns if isinstance(turn, dict)]
    return "\n".join(text for text in contents if isinstance(text, str)) or prompt


def _is_same_prompt(
    question: RecordedQuestion, sample: Sample, weighing: Weighing | None, template: ChatTemplate
) -> bool:
    expected = [sample.input] if weighing is None else [context for context, _ in weighing.pairs]
    if question.prompt_hash:
        return question.prompt_hash == digest_text(expected[0])
    if weighing is not None and question.continuations:
        texts = [text for _, text in weighing.pairs]
        if _strip_texts(question.continuations) != _strip_texts(texts):
            return False
    elif weighing is not None:
        expected = [sample.input]  # our own results keep the row's question, and a whole text has nothing before it
    has_turns = sample.row is not None and sample.row.has_turns
    # a chat template puts words around a prompt, and turns of their own leave out what stands before it
    return all(
        template.holds(recorded, text, is_chat=question.is_chat, has_turns=has_turns)
        for recorded, text in zip(question.prompts, expected, strict=False)
    )


def _is_same_target(question: RecordedQuestion, sample: Sample, weighing: Weighing | None) -> bool:
    if question.target is None and not question.target_hash:
        return True
    if weighing is not None:
        if question.target is None:
            texts = {text for _, text in weighing.pairs}
            # where what follows is the same for all, its text is what the harness holds for right
            targets = [
                str(weighing.gold),
                *sample.references,
                *(texts | set(map(str.lstrip, texts)) if len(texts) == 1 else ()),
            ]
            return question.target_hash in map(digest_text, targets)
        gold = weighing.gold if isinstance(weighing.gold, list) else [weighing.gold]
        if _places(question.target, weighing.choices) == _places(list(map(str, gold)), weighing.choices):
            return True
        texts = {text.strip() for _, text in weighing.pairs} | {str(weighing.gold).strip()}
        # where what follows is the same for all, and what stands before differs, its text names the right one
        is_one_text = len({text for _, text in weighing.pairs}) == 1
        is_named = is_one_text and " ".join(question.target).strip() in texts
        return is_named or _strip_texts(question.target) == _strip_texts(sample.references)
    if not sample.references:
        return True  # the task takes its right answers from elsewhere
    if question.target is None:
        # The harness hashes the right answer, or a list of them as Python spells it.
        spelled = {sample.references[0], str(list(sample.references))}
        return question.target_hash in {digest_text(text) for text in spelled}
    targets = [sample.references, sample.canonical, tuple(test.program for test in sample.tests)]
    return any(_strip_texts(question.target) == _strip_texts(texts) for texts in targets if texts) or (
        len(sample.references) == 1 and question.target == _texts(sample.references[0])
    )


def _places(texts: Sequence[str], choices: tuple[str, ...]) -> list[object]:
    """Return places among the choices for what names one by its text or number."""
    return [
        choices.index(text) if text in choices else int(text) if text.isdecimal() and len(text) < 10 else text
        for text in texts
    ]


def _strip_texts(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(text.strip() for text in texts)


def _texts(target: object) -> tuple[str, ...]:
    """Return a right answer as texts; the harness writes a list as Python spells it."""
    if isinstance(target, str) and target[:1] == "[" and target[-1:] == "]" and len(target) <= _MAX_LITERAL:
        try:
            target = ast.literal_eval(target)
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            return (str(target),)
    if isinstance(target, list):
        return tuple(str(part) for part in target if part is not None)
    return (str(target),)
