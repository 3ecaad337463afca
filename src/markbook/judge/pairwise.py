"""Two texts before a judge, in both orders: what it prefers, and whether the order alone decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from markbook.judge.assess import JudgeSettings
from markbook.judge.prompts import SYSTEM, Call, block
from markbook.judge.reply import Violation, parse_object

Winner = Literal["A", "B", "tie"]
WINNERS: tuple[Winner, ...] = ("A", "B", "tie")

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "reason": {"type": "string", "description": "One or two sentences: why."},
        "winner": {"type": "string", "enum": list(WINNERS), "description": "The better text, or tie."},
    },
    "required": ["reason", "winner"],
    "additionalProperties": False,
}
QUESTION = "Which of the two reviews, A or B, is the more constructive one: specific, balanced, useful to the authors?"


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """What both orders together say."""

    winner: Literal["first", "second", "tie"]
    """The order decides nothing: two orders that disagree are a tie."""
    flipped: bool
    """Whether the same position won in both orders."""
    position: Literal["A", "B", ""]
    """The position that won both times, if it flipped."""


def compare_prompt(first: str, second: str, *, questions: Sequence[str] = (QUESTION,), name: str = "review") -> str:
    """Return the prompt that puts `first` in place A and `second` in place B; all judges and samples share it.

    Args:
        first: one text.
        second: the other.
        questions: what is asked, a paragraph each, with whatever both are judged by.
        name: of the two texts.
    """
    return "\n\n".join((*questions, block(f"{name}-A", first), block(f"{name}-B", second)))


def compare_call(
    prompt: str,
    model: str,
    settings: JudgeSettings,
    *,
    sample: int = 0,
    rubric: str = "pairwise",
    system: str = SYSTEM,
) -> Call:
    """Return the call that compares two texts.

    Args:
        prompt: as `compare_prompt` returns it.
        model: the judge.
        settings: how it is asked.
        sample: which of several answers this is.
        rubric: its name, for a reader.
        system: what the judge is told beforehand.
    """
    wire = {"temperature": settings.temperature, "max_tokens": settings.max_tokens, "seed": settings.seed + sample}
    return Call(model, rubric, system, prompt, SCHEMA, wire, sample, settings.mode)


def parse_winner(payload: str) -> Winner:
    """Return which place a reply prefers.

    Raises:
        Violation: it is no object, or names no place.
    """
    winner_name = parse_object(payload).get("winner")
    for winner in WINNERS:
        if winner_name == winner:
            return winner
    raise Violation("the reply names no winner")


def both_orders(forward: Winner, backward: Winner) -> PairVerdict:
    """Return the verdict over both orders; `backward` is what was said with the two texts exchanged.

    >>> both_orders("A", "B")
    PairVerdict(winner='first', flipped=False, position='')
    >>> both_orders("A", "A")
    PairVerdict(winner='tie', flipped=True, position='A')
    """
    if forward == backward and forward != "tie":
        return PairVerdict("tie", flipped=True, position=forward)
    swapped: Mapping[Winner, Literal["first", "second", "tie"]] = {"A": "second", "B": "first", "tie": "tie"}
    straight: Mapping[Winner, Literal["first", "second", "tie"]] = {"A": "first", "B": "second", "tie": "tie"}
    if straight[forward] == swapped[backward]:
        return PairVerdict(straight[forward], flipped=False, position="")
    return PairVerdict("tie", flipped=False, position="")
