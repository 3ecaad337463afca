"""What a model is asked to weigh instead of to write: texts with what may follow them, and which of those is right."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Weighing:
    """One row of a task that is answered by log-likelihoods."""

    pairs: tuple[tuple[str, str], ...]
    """Each a context and its continuation, in the order in which lm-evaluation-harness asks them."""
    choices: tuple[str, ...] = ()
    """The texts to choose from, where there is a choice."""
    gold: object = None
    """What is right: a place among the choices, one of their texts, or a list of places."""
