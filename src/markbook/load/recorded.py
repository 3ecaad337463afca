"""Whether recorded answers were given to the rows that they are marked against.

Files of lm-evaluation-harness and of our own runs say what was asked and what was right. A task may draw its choices or
rows, a file of rows may have changed: such an answer belongs to another question, and a mark of it would mean nothing.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markbook.errors import DataError
from markbook.load.choices import Weighing
from markbook.types import Sample

_MAX_LITERAL = 200_000
"""The longest text that is read as a list or as turns, in characters."""


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


def recorded_question(record: Mapping[str, object]) -> RecordedQuestion | None:
    """Return what a row says about its question; None where it is neither the harness's nor one of our own results."""
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
        prompts=tuple(context for context, _ in pairs),
        continuations=tuple(text for _, text in pairs if text is not None),
        prompt_hash="" if pairs else str(record.get("prompt_hash") or ""),
        target=_texts(record["target"]) if "target" in record else None,
        target_hash="" if "target" in record else str(record.get("target_hash") or ""),
    )


def check_recorded(question: RecordedQuestion, sample: Sample, weighing: Weighing | None, at: str) -> None:
    """Refuse an answer that was given to another question than a sample's.

    Raises:
        DataError: its prompt or its right answer is another one.
    """
    if not _is_same_prompt(question, sample, weighing):
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
    """Return what the harness asked: a mapping since 0.4.4, before that a list of pairs."""
    requests: Sequence[object] = ()
    if isinstance(arguments, Mapping):
        requests = [
            [argument.get("arg_0"), argument.get("arg_1")]
            for argument in arguments.values()
            if isinstance(argument, dict)
        ]
    elif isinstance(arguments, list):
        requests = arguments
    pairs: list[tuple[str, str | None]] = []
    for request in requests:
        if not isinstance(request, list) or not request:
            continue
        context = request[0][0] if isinstance(request[0], list) and request[0] else request[0]
        if isinstance(context, str):
            text = request[1] if len(request) > 1 and isinstance(request[1], str) else None
            pairs.append((_turns_as_text(context), text))
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


def _is_same_prompt(question: RecordedQuestion, sample: Sample, weighing: Weighing | None) -> bool:
    expected = [sample.input] if weighing is None else [context for context, _ in weighing.pairs]
    if question.prompt_hash:
        return question.prompt_hash == hashlib.sha256(expected[0].encode("utf-8", "surrogatepass")).hexdigest()
    if weighing is not None and question.continuations:
        texts = [text for _, text in weighing.pairs]
        if any(
            continuation.strip() != other.strip()
            for continuation, other in zip(question.continuations, texts, strict=False)
        ):
            return False
    elif weighing is not None:
        expected = [sample.input]  # our own results keep the row's question, and a whole text has nothing before it
    return all(_holds(recorded, text, question) for recorded, text in zip(question.prompts, expected, strict=False))


def _holds(recorded: str, expected: str, question: RecordedQuestion) -> bool:
    """Whether a recorded prompt is the expected one, or holds it: a chat template puts words around it."""
    if question.has_turns and expected.endswith(recorded):
        return True
    return recorded == expected or expected.strip() in recorded


def _is_same_target(question: RecordedQuestion, sample: Sample, weighing: Weighing | None) -> bool:
    if question.target is None and not question.target_hash:
        return True
    if weighing is not None:
        return question.target is None or _names_same_choice(question.target, weighing, sample.references)
    if not sample.references:
        return True  # the task takes its right answers from elsewhere
    if question.target is None:
        spelled = {sample.references[0], str(list(sample.references))}
        return question.target_hash in {hashlib.sha256(text.encode()).hexdigest() for text in spelled}
    targets = [sample.references, sample.canonical, tuple(test.program for test in sample.tests)]
    return any(_strip_texts(question.target) == _strip_texts(texts) for texts in targets if texts) or (
        len(sample.references) == 1 and question.target == _texts(sample.references[0])
    )


def _names_same_choice(target: tuple[str, ...], weighing: Weighing, references: tuple[str, ...]) -> bool:
    gold = weighing.gold if isinstance(weighing.gold, list) else [weighing.gold]
    if _places(target, weighing.choices) == _places([str(choice) for choice in gold], weighing.choices):
        return True
    texts = {text.strip() for _, text in weighing.pairs} | {str(weighing.gold).strip()}
    is_one_text = len({text for _, text in weighing.pairs}) == 1  # what follows is the same, what stands before differs
    return (is_one_text and " ".join(target).strip() in texts) or _strip_texts(target) == _strip_texts(references)


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
